"""Every example and every command of the README runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def smgcfg(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line from the root, as a reader of the README does."""
    return subprocess.run(
        [sys.executable, "-m", "smgcfg", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "files",
    [["standin.toml"], ["one-node.toml"], ["one-node.toml", "overlay-staging.toml"], ["two-pools.toml"], ["grpc.toml"]],
    ids="+".join,
)
def test_example_files_plan_without_a_finding(files: list[str]) -> None:
    """Each example is a deployment that a plan has nothing to say against."""
    done = smgcfg("plan", *(f"examples/{name}" for name in files), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["findings"] == []
    assert document["workers"]


def test_no_example_is_left_out() -> None:
    """Every file among the examples is run by some test here."""
    known = {"standin.toml", "one-node.toml", "overlay-staging.toml", "two-pools.toml", "grpc.toml", "in_python.py"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == known | {"test_my_deployment.py"}


def test_the_python_example_runs() -> None:
    """The example's own assertions hold, and it prints the commands of two workers."""
    done = subprocess.run([sys.executable, EXAMPLES / "in_python.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("chat-0 0,1 numactl --cpunodebind=0")


def test_the_users_own_property_test_passes() -> None:
    """The example of a user's test is collected and passes."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/test_my_deployment.py"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_readme_python_runs() -> None:
    """The Python in the README is what it says it is: it runs, assertions included."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_readme_deployment_is_an_example_of_what_it_says() -> None:
    """Each TOML block of the README plans."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        words = [sys.executable, "-m", "smgcfg", "plan", "-"]
        done = subprocess.run(words, input=block, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
