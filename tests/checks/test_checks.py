"""All checks together, over deployments of every kind."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from planning import HERE

from smgcfg.checks import CHECKS, check
from smgcfg.checks.sarif import sarif_log
from smgcfg.checks.subject import Subject
from smgcfg.config import Deployment
from smgcfg.explain import Explainer
from smgcfg.overlay import Overlay
from smgcfg.planning.plan import plan
from smgcfg.testing import strategies

VARIABLES = st.dictionaries(
    st.sampled_from(["SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "REDIS_POOL_MAX", "SMG_PORT", "REDIS_URL"]),
    st.sampled_from(["", "2", "x", "tcp://10.0.0.1:80", "9" * 30]),
)


@settings(max_examples=150, deadline=None)
@given(strategies.deployments(), VARIABLES)
def test_no_deployment_breaks_a_check(deployment: Deployment, environ: dict[str, str]) -> None:
    """Whatever can be made can be checked and explained, with errors in its plan too; the report is plain data."""
    planned = plan(deployment, HERE)
    found = check(Subject(planned, environ), look=False)
    assert {finding.code for finding in found} <= {one.code for one in CHECKS if not one.looks}
    json.dumps(sarif_log(found, ["d.toml"], "1"))
    explainer = Explainer(planned, Overlay())
    for path in explainer.chosen():
        assert explainer.explain(path).path == path
