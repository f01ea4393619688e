"""smg 1.13.0's own job: read the words of `smg serve`, and build the command of the first worker."""

import sys
from collections.abc import Sequence

from smg import serve


def job(words: Sequence[str]) -> list[str]:
    """Return the command."""
    backend, args, rest = serve.parse_serve_args(list(words))
    launcher = serve.BACKEND_LAUNCHERS[backend]()
    command: list[str] = launcher.build_command(args, rest, args.worker_host, args.worker_base_port)
    return command


if __name__ == "__main__":
    print(*job(sys.argv[1:]))
