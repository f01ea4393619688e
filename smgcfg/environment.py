"""What a plan takes from its surroundings, declared."""

import os
import sys

from smgcfg.value import Value


class Environment(Value):
    """All that a plan takes from its surroundings.

    Attributes:
        uid: The user's number; it keeps the run directories of users apart.
        python: The interpreter of the processes for which the deployment names none.
        cuda_visible_devices: The variable's value, or None where it is not set.
        xdg_runtime_dir: The variable's value, or None where it is not set.
        tmpdir: The variable's value, or None where it is not set.
    """

    uid: int
    python: str
    cuda_visible_devices: str | None = None
    xdg_runtime_dir: str | None = None
    tmpdir: str | None = None

    @classmethod
    def current(cls) -> "Environment":
        """Return this process's own."""
        return cls(
            uid=os.getuid(),
            python=sys.executable,
            cuda_visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
            xdg_runtime_dir=os.environ.get("XDG_RUNTIME_DIR"),
            tmpdir=os.environ.get("TMPDIR"),
        )

    def run_dir(self, name: str) -> str:
        """Return the directory of a deployment's sockets.

        It does not change from one launch to the next, so neither do the ports that follow from it.
        """
        return self.run_dirs(name)[0]

    def run_dirs(self, name: str) -> list[str]:
        """Return every directory that `run_dir` may return for this user, that of this environment first.

        A launch that was started elsewhere, as by a service manager, has another environment than the shell of whoever
        looks for it.
        """
        bases = (self.xdg_runtime_dir, self.tmpdir, "/tmp", f"/run/user/{self.uid}")
        usable = dict.fromkeys(base.rstrip("/") for base in bases if base and base.startswith("/"))
        return [f"{base}/smgcfg-{self.uid}/{name}" for base in usable]
