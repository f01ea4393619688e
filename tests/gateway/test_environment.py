"""Settings that the gateway gets by its environment: the real parser reads them there."""

import json
import subprocess
import sys
from typing import Final

import pytest
from oracles import wheels
from planning import good

from smgcfg.flags import specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.planning.compose import by_environment

#: Every secret for which smg reads a variable, with a value that shows whether it is changed on the way.
SECRETS: Final = {spec.key: f"redis://{spec.key}:1/ä='x" for spec in specs_of(GatewayArgs) if spec.secret and spec.env}

_READ: Final = """
import argparse, json
from smg.router_args import RouterArgs
parser = argparse.ArgumentParser()
RouterArgs.add_cli_args(parser)
print(json.dumps({key: getattr(parser.parse_args([]), key) for key in %r}))
"""


@pytest.mark.parametrize("release", ["smg==1.13.0", "tokenspeed-smg==1.10.1.post20260920"])
def test_the_real_parser_reads_every_secret_from_its_variable(release: str) -> None:
    """Both releases have each secret, unchanged, from the environment of the plan, and none of it in their words."""
    gateway = good(gateway=SECRETS).gateway
    assert SECRETS.keys() == {"oracle_connect_descriptor", "oracle_password", "postgres_db_url", "redis_url"}
    assert by_environment(GatewayArgs(**SECRETS)).keys() == SECRETS.keys()
    assert not any("redis://" in word for word in gateway.argv)
    done = subprocess.run(
        [sys.executable, "-c", _READ % list(SECRETS)],
        env={"PYTHONPATH": str(wheels.unpacked(release)), "PYTHONUTF8": "1", **dict(gateway.env)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == SECRETS
