"""What a launch is to the rest of the machine: its state file, control socket and log files, and systemd's service."""

import math
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smgcfg.errors import reason_of
from smgcfg.launch import events
from smgcfg.launch.control import Caller, Control, Refused
from smgcfg.launch.events import Event
from smgcfg.launch.log_files import LogFiles
from smgcfg.launch.notify import Notifier
from smgcfg.launch.recent import LAUNCHER, Recent
from smgcfg.launch.record import Record
from smgcfg.launch.state import StateFile
from smgcfg.launch.supervisor import Supervisor
from smgcfg.launch.wording import Wording
from smgcfg.process import Plan


class Outside:
    """Shows one launch to the rest of the machine, and takes its orders.

    Args:
        plan: What is launched; its run directory is ours while this is open.
        supervisor: The launch.
        selector: The loop's selector.
        last_lines: Returns the last lines of a process that runs.
        say: Says something about the launch as a whole.
        notifier: The service manager, or None.
        access: What other commands have to know to use the gateway, its keys too; it leaves this process only through
            the control socket.
        given: Returns what each process was given, as other commands compare it, or None where nobody knows.
        keep_failure: Leave the state file of a launch that failed, for `smgcfg status` to tell.
    """

    def __init__(
        self,
        plan: Plan,
        supervisor: Supervisor,
        selector: selectors.BaseSelector,
        last_lines: Callable[[str], tuple[str, ...]],
        say: Callable[[str], None],
        *,
        notifier: Notifier | None = None,
        access: Mapping[str, Any] | None = None,
        given: Callable[[], Mapping[str, Any]] | None = None,
        keep_failure: bool = False,
    ) -> None:
        self._plan = plan
        self._supervisor = supervisor
        self._say = say
        self._notifier = notifier
        own = {"url": plan.url, "model": plan.model, "workers_key": plan.api_key, "request_key": plan.request_key}
        self._access = dict(access or {}) | own
        self._given = given
        self._keep_failure = keep_failure
        self._wording = Wording(plan)
        self._recent = Recent()
        self._record = Record(plan, last_lines)
        self._state = StateFile(plan.run_dir)
        self._state_problem = False
        self._files: LogFiles | None = None
        self._control = Control(
            plan.run_dir,
            selector,
            {
                "stop": self._stop,
                "restart": self._restart,
                "logs": self._logs,
                "access": self._give_access,
                "given": self._give_given,
            },
        )

    def open(self) -> None:
        """Begin; what can not be shown is said, and no reason not to launch."""
        settings = self._plan.settings
        try:
            self._control.open()
        except OSError as problem:
            self._say(f"{self._plan.name}: no control socket: {reason_of(problem)}")
        if settings.log_dir is not None:
            try:
                self._files = LogFiles(settings.log_dir, settings.log_max_bytes, settings.log_backups)
            except OSError as problem:
                self._say(f"{self._plan.name}: no log files in {settings.log_dir!r}: {reason_of(problem)}")

    def line(self, process: str, stream: str, text: str) -> None:
        """Take a line that a process printed."""
        line = self._recent.add(time.time(), process, stream, text)
        self._control.line(line)
        if self._files is not None:
            self._files.add(line)

    def turn(self, told: Sequence[Event]) -> float:
        """Show what happened, and return when to be called again, on the monotonic clock.

        Args:
            told: What the supervisor told.
        """
        for event in told:
            for text in self._wording.lines(event):
                self.line(LAUNCHER, "event", text)
        if self._record.take(told, self._supervisor):
            self._write_state()
        if self._files is not None and (problem := self._files.problem()):
            self._say(f"{self._plan.name}: {problem}; going on without")
        return math.inf if self._notifier is None else self._notify(self._notifier, told)

    def keep(self) -> bool:
        """Make anew what somebody removed of the control socket and the state file, and return whether any was missing.

        A state file that could not be written, as on a full disk, is tried again.

        Raises:
            OSError: It can not be made.
        """
        missing = self._control.keep()
        unwritten = self._state_problem
        if unwritten or not self._state.is_there():
            self._write_state()
            # One that could not be written before was removed by nobody.
            missing |= not (unwritten or self._state_problem)
        return missing

    def close(self) -> None:
        """End what is shown."""
        code = self._supervisor.exit_code
        asked = self._record.data()["reason"] in ("asked", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
        if not (self._keep_failure and code and not asked):
            self._state.remove()
        self._control.close()
        if self._files is not None:
            self._files.close()

    def _write_state(self) -> None:
        try:
            self._state.write(self._record.data())
        except OSError as problem:
            if not self._state_problem:
                self._say(f"{self._plan.name}: the state file can not be written: {reason_of(problem)}")
            self._state_problem = True
        else:
            self._state_problem = False

    def _notify(self, notifier: Notifier, told: Sequence[Event]) -> float:
        for event in told:
            if isinstance(event, events.LaunchReady):
                notifier.ready()
            elif isinstance(event, events.StopBegan):
                notifier.stopping()
        ready, all_of_them = self._record.count("ready"), len(self._plan.workers)
        notifier.status(f"{self._supervisor.phase}: {ready} of {all_of_them} workers ready, {self._plan.url}")
        return notifier.tick(time.monotonic())

    # --- orders ------------------------------------------------------------------------------------------------------

    def _stop(self, question: dict[str, Any], caller: Caller) -> None:
        if question.get("kill"):
            self._supervisor.kill()
        else:
            self._supervisor.stop()
        caller.send({"ok": True})

    def _restart(self, question: dict[str, Any], caller: Caller) -> None:
        name = self._process(question)
        if name is None:
            raise Refused("which process?")
        if self._supervisor.phase in ("stopping", "stopped"):
            raise Refused("the launch is being stopped")
        if not self._supervisor.restart(name):
            raise Refused(f"{name} is not up: it is being started or stopped")
        caller.send({"ok": True})
        caller.finish()

    def _logs(self, question: dict[str, Any], caller: Caller) -> None:
        name = self._process(question, LAUNCHER)
        caller.send({"ok": True})
        if question.get("last_exit"):
            for one in self._supervisor.children if name is None else [name]:
                last = self._record.last_exit(one)
                for text in last["lines"] if last is not None else ():
                    caller.send({"time": last["at"] if last else None, "process": one, "stream": "out", "text": text})
        else:
            for line in self._recent.lines(name):
                caller.send(line.data())
        if question.get("follow"):
            caller.follow(name)
        else:
            caller.finish()

    def _give_access(self, _question: dict[str, Any], caller: Caller) -> None:
        # The file may be older, as on a full disk.
        caller.send({"ok": True, "access": {**self._access, "state": self._record.data()}})
        caller.finish()

    def _give_given(self, _question: dict[str, Any], caller: Caller) -> None:
        if self._given is None:
            raise Refused("it was started from a Python program, and knows no keys")
        caller.send({"ok": True, "given": self._given()})
        caller.finish()

    def _process(self, question: dict[str, Any], *more: str) -> str | None:
        name = question.get("process")
        if name is None:
            return None
        if isinstance(name, str) and (name in self._supervisor.children or name in more):
            return name
        raise Refused(f"no process of that name: {name!r}")
