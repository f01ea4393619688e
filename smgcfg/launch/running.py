"""The launches of this user on this machine, as any other program sees them."""

import os
import selectors
import time
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, SmgcfgError
from smgcfg.launch.alive import is_alive, namespace
from smgcfg.launch.client import NoAnswer, asked
from smgcfg.launch.effects import GatewayView
from smgcfg.launch.probe import HttpProber, Place
from smgcfg.launch.run_dir import owner_of, run_dir_findings
from smgcfg.launch.state import NAME, read_state
from smgcfg.value import Value

#: How long the gateway may take to tell its view, in seconds: more than each of its two answers may.
_PATIENCE: Final = 5.0


class NoSuchLaunch(SmgcfgError):
    """No launch of that name is known on this machine."""

    exit_code = 4


class Down(SmgcfgError):
    """The launch is known, but its launcher is no longer there."""

    exit_code = 3


class Running(Value):
    """A launch that left its state.

    Attributes:
        run_dir: Its run directory.
        state: What its state file says: see `state`.
    """

    run_dir: str
    state: dict[str, Any]

    @property
    def name(self) -> str:
        """The deployment's name."""
        return str(self.state["name"])

    @property
    def alive(self) -> bool:
        """Whether its launcher is there."""
        launcher = self.state["launcher"]
        if launcher["namespace"] != namespace():
            # Its number says nothing here, but its lock does.
            return owner_of(self.run_dir) is not None
        return is_alive(launcher["pid"], launcher["started"])

    def ask(self, question: dict[str, object]) -> dict[str, Any]:
        """Ask its launcher, and return the first answer.

        Raises:
            NoAnswer: It does not answer, or does not do what it is asked to.
        """
        with asked(self.run_dir, question) as answers:
            return next(answers)

    def must_be_alive(self) -> None:
        """Raise unless its launcher is there.

        Raises:
            Down: It is not.
        """
        if not self.alive:
            raise Down(f"{self.name} is down: {how_it_ended(self.state)}")


def find(name: str, environment: Environment) -> Running:
    """Return the launch of a name.

    Args:
        name: The deployment's name, or the path of a run directory.
        environment: Where the run directories are.

    Raises:
        NoSuchLaunch: There is none; the message names one that is spelt alike.
        ConfigError: Its run directory can not be trusted.
    """
    places = [name.rstrip("/")] if "/" in name else environment.run_dirs(name)
    found = [one for place in places if (one := _look(place)) is not None]
    if not found:
        from smgcfg.suggest import did_you_mean

        near = did_you_mean(name.removesuffix(".toml"), [one.name for one in find_all(environment)])
        if not near and name.endswith(".toml"):
            near = "a launch goes by its name, not by its file"
        raise NoSuchLaunch(f"no launch {name!r}" + (f"; {near}" if near else ""))
    # One that runs before one that is only remembered.
    return next((one for one in found if one.alive), found[0])


def find_all(environment: Environment) -> list[Running]:
    """Return every launch in the usual places, by name.

    Two that run may have one name, in different places; one that is only remembered is left out where one of its name
    runs.

    Args:
        environment: Where the run directories are.
    """
    found: dict[str, Running] = {}
    for place in environment.run_dirs(""):
        for path in sorted(_inside(place)):
            try:
                one = _look(str(path))
            except ConfigError:
                continue  # not ours
            if one is not None:
                # A place may be reached by two ways.
                found.setdefault(one.state["run_dir"], one)
    running = [one for one in found.values() if one.alive]
    names = {one.name for one in running}
    remembered = {one.name: one for one in reversed(found.values()) if one.name not in names}
    return sorted([*running, *remembered.values()], key=attrgetter("name"))


def how_it_ended(state: dict[str, Any]) -> str:
    """Return what can be said about the end of a launch whose launcher is gone.

    Args:
        state: What its state file says.
    """
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state["written"]))
    if state["phase"] != "stopped":
        return f"its launcher (pid {state['launcher']['pid']}) is gone without a word; last heard of at {when}"
    return f"stopped at {when} because of {state['reason']}, exit code {state['exit_code']}"


def gateway_view(url: str, key: str | None) -> GatewayView:
    """Ask a gateway for its view, and wait for the answer.

    Args:
        url: Where it answers.
        key: The key that its list of workers wants, or None.
    """
    with selectors.DefaultSelector() as selector:
        prober = HttpProber(Place(url, api_key=key), selector)
        prober.ask_gateway()
        deadline = time.monotonic() + _PATIENCE
        try:
            while (now := time.monotonic()) < deadline:
                views = [view for view in prober.poll() if isinstance(view, GatewayView)]
                if views:
                    return views[-1]
                for chosen, mask in selector.select(max(0.0, min(deadline, prober.wake_at) - now)):
                    if selector.get_map().get(chosen.fd) is chosen:
                        chosen.data(mask)
        finally:
            prober.close()
    return GatewayView(False, problem=f"no answer in {_PATIENCE:g} s")


def access(running: Running) -> dict[str, Any]:
    """Return what it takes to use a launch's gateway, its keys too.

    Raises:
        NoAnswer: Its launcher does not answer.
    """
    told = running.ask({"do": "access"}).get("access")
    if not isinstance(told, dict):
        raise NoAnswer("the launcher does not say how to use its gateway")
    return told


def given(running: Running) -> dict[str, Any]:
    """Return what each process of a launch was given, as `smgcfg serve` told its launcher.

    Raises:
        NoAnswer: Its launcher does not answer, or does not know.
    """
    told = running.ask({"do": "given"}).get("given")
    if not isinstance(told, dict):
        raise NoAnswer("the launcher does not say what its processes were given")
    return told


def _look(run_dir: str) -> Running | None:
    # What can be no path, such as a word that is too long, is none that is there.
    if not os.path.exists(os.path.join(run_dir, NAME)):
        return None
    if findings := run_dir_findings(run_dir):
        raise ConfigError(findings)
    state = read_state(run_dir)
    return None if state is None else Running(run_dir, state)


def _inside(place: str) -> Iterable[Path]:
    try:
        return [Path(place, entry) for entry in os.listdir(place)]
    except OSError:
        return []
