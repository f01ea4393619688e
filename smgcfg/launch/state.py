"""The state file of a launch: how it is, for whoever asks while its launcher lives, and for afterwards.

`state.json` in the run directory, readable by its owner alone, replaced as a whole at every change. It holds no secret.
One JSON object; times are seconds since 1970, starts are clock ticks as `alive.start_of` returns them:

    format      1; another number for anything that a reader of this one would misread
    name, run_dir, url, model
    launcher    {pid, started, namespace: `alive.namespace` of all pids here}
    phase       "starting", "up", "stopping", "stopped"
    began       when the launch began
    written     when the file was written
    reason      why it is being stopped: "SIGTERM", "asked", a process's name; null before
    exit_code   what the launcher exits with; null before it has stopped
    budget, window  how often one process is started again after failures, within how many seconds
    processes   one object for each, the gateway first:
        name, role ("gateway", "worker"), url, gpus (list of text)
        seen_by     who says that it is ready: "gateway" or "http"
        state       "starting", "ready", "restarting", "stopping", "down"
        since       when it came into that state
        pid         null while it has none
        started     the start of that pid
        restarts    how often it was started again
        failures    when it failed and was to be started again, within the window
        last_exit   null, or {how: "SIGKILL", status, at, asked: whether it was told to, lines: its last ones}
        last_lines  the last lines it had printed when the file was written, long ones cut
"""

import contextlib
import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from smgcfg.launch.locks import is_at

NAME: Final = "state.json"

#: What becomes the state file when it is written.
FRESH: Final = "state.new"

FORMAT: Final = 1

#: No state file of ours is larger, in bytes: some lines of a bounded length for each process.
_LIMIT: Final = 64 << 20


class StateFile:
    """The state file of a launch, written by its launcher.

    Args:
        run_dir: The run directory.
    """

    def __init__(self, run_dir: str) -> None:
        self._path = Path(run_dir, NAME)
        self._fresh = Path(run_dir, FRESH)
        self._written: os.stat_result | None = None

    def write(self, data: dict[str, Any]) -> None:
        """Replace the file.

        Args:
            data: What the module's text describes.

        Raises:
            OSError: It can not be written.
        """
        import json

        with contextlib.suppress(FileNotFoundError):
            self._fresh.unlink()
        with open(os.open(self._fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
            json.dump(data, file, separators=(",", ":"))
        self._written = os.lstat(self._fresh)
        self._fresh.replace(self._path)

    def is_there(self) -> bool:
        """Return whether what was written last is there."""
        return self._written is not None and is_at(self._path, self._written)

    def remove(self) -> None:
        """Remove the file."""
        for path in (self._fresh, self._path):
            with contextlib.suppress(OSError):
                path.unlink()


def read_state(run_dir: str) -> dict[str, Any] | None:
    """Return what the state file in a run directory says, or None when there is none that can be read.

    Args:
        run_dir: The run directory.
    """
    try:
        data = _read(run_dir)
    except (OSError, ValueError, RecursionError):
        return None
    return data if is_state(data) else None


def is_state(data: Any) -> bool:
    """Return whether something is the state of a launch, in the format of this version.

    Args:
        data: What JSON had.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT or not _whole(data, _SHAPE):
        return False
    return bool(data["processes"])


def is_replaceable(run_dir: str) -> bool:
    """Return whether a launch may write its state file: there is none, or one that a launch of any version wrote.

    Args:
        run_dir: The run directory.
    """
    try:
        data = _read(run_dir)
    except FileNotFoundError:
        return True
    except (OSError, ValueError, RecursionError):
        # After a loss of power a file may be there without its content.
        return os.path.getsize(Path(run_dir, NAME)) == 0
    return isinstance(data, dict) and "format" in data


def _read(run_dir: str) -> Any:
    import json

    fd = os.open(Path(run_dir, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, encoding="utf-8") as file:
        return json.loads(file.read(_LIMIT))


def _is_time(data: object) -> bool:
    return type(data) in (int, float) and 0 <= data <= _LATEST  # type: ignore[operator]


def _is_url(data: object) -> bool:
    try:
        return isinstance(data, str) and data.isprintable() and (urlsplit(data).port or 0) >= 0
    except ValueError:
        return False


def _is_exit(data: object) -> bool:
    return data is None or _whole(data, _EXIT)


def _is_text(data: object) -> bool:
    return isinstance(data, str)


#: No time of ours is later, in seconds since 1970; all before it are dates.
_LATEST: Final = 100_000_000_000

#: What a reader relies on, as types or tests; a file that lacks any of it is none of ours. What has `_is_text` is shown
#: as the lines of a process are, all other text has to be printable.
_EXIT: Final = {"how": str, "status": (int, type(None)), "at": _is_time, "asked": bool, "lines": [_is_text]}
_PROCESS: Final[dict[str, Any]] = {
    **dict.fromkeys(("name", "role", "url", "seen_by", "state"), str),
    "gpus": [str],
    "since": _is_time,
    "pid": (int, type(None)),
    "started": (int, type(None)),
    "restarts": int,
    "failures": [_is_time],
    "last_exit": _is_exit,
    "last_lines": [_is_text],
}
_SHAPE: Final[dict[str, Any]] = {
    **dict.fromkeys(("name", "run_dir", "model", "phase"), str),
    "url": _is_url,
    "launcher": {"pid": int, "started": (int, type(None)), "namespace": str},
    **dict.fromkeys(("began", "written"), _is_time),
    "reason": (str, type(None)),
    "exit_code": (int, type(None)),
    "budget": int,
    "window": (int, float),
    "processes": [_PROCESS],
}


def _whole(data: Any, shape: Any) -> bool:
    """Whether data has every part of a shape, and text that can be printed."""
    if isinstance(shape, dict):
        return isinstance(data, dict) and all(key in data and _whole(data[key], part) for key, part in shape.items())
    if isinstance(shape, list):
        return isinstance(data, list) and all(_whole(item, shape[0]) for item in data)
    if not isinstance(shape, (type, tuple)):
        return bool(shape(data))
    return isinstance(data, shape) and (not isinstance(data, str) or data.isprintable())
