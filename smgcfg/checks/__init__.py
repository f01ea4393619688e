"""Checks of a planned deployment that go beyond what planning itself finds: one module per concern."""

from collections.abc import Callable, Iterable
from typing import Final

from smgcfg.checks import answers, commands, exposure, files, secrets, surroundings, topology, unexpanded
from smgcfg.checks.subject import Subject
from smgcfg.errors import Finding
from smgcfg.value import Value


class Check(Value):
    """One check.

    Attributes:
        code: The code of everything it finds.
        find: Finds it.
        looks: It looks at files of the machine; every other check is a function of the plan and the environment.
    """

    code: str
    find: Callable[[Subject], Iterable[Finding]]
    looks: bool = False


#: Every check, in the order of the codes.
CHECKS: Final = (
    Check("SMG050", answers.constraints_off),
    Check("SMG051", answers.logprobs_off),
    Check("SMG052", answers.workers_differ),
    Check("SMG053", answers.parser_on_one_side),
    Check("SMG054", topology.gpus_overridden),
    Check("SMG055", topology.scheduler_disagrees),
    Check("SMG056", topology.ranks_disagree),
    Check("SMG057", exposure.unfit_address),
    Check("SMG058", exposure.open_port),
    Check("SMG059", secrets.in_process_list),
    Check("SMG060", secrets.in_clear),
    Check("SMG061", commands.repeated_flag),
    Check("SMG062", surroundings.injected),
    Check("SMG063", surroundings.set_by_environment),
    Check("SMG064", files.model_missing, looks=True),
    Check("SMG065", files.tokenizer_missing, looks=True),
    Check("SMG066", files.template_missing, looks=True),
    Check("SMG067", files.file_missing, looks=True),
    Check("SMG068", unexpanded.unexpanded),
    Check("SMG069", topology.gpus_idle),
)


def check(subject: Subject, *, look: bool = True) -> list[Finding]:
    """Return what all checks find.

    Args:
        subject: What to check.
        look: Also look at the files that the deployment names.
    """
    findings = [finding for one in CHECKS if look or not one.looks for finding in one.find(subject)]
    # A path that does not exist as it is written is one problem, whatever a shell would have made of it.
    missing = {finding.key for finding in findings if finding.code in ("SMG064", "SMG067")}
    return [finding for finding in findings if finding.code != "SMG068" or finding.key not in missing]
