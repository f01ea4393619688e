"""A launch inside a Python program, as a test harness wants it."""

import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, TextIO

from smgcfg.errors import LaunchError
from smgcfg.launch import events
from smgcfg.launch.effects import Check
from smgcfg.launch.events import Event
from smgcfg.launch.holdings import Holdings
from smgcfg.launch.limits import raise_limit
from smgcfg.launch.run import Session, check_host, refusals
from smgcfg.launch.run_dir import RunDir
from smgcfg.launch.signals import Waker
from smgcfg.launch.wording import Wording
from smgcfg.process import Plan


class Launch:
    """A launch that runs beside the program that made it.

        with Launch(plan) as launch:
            launch.wait_ready()
            ...  # requests to launch.url

    It has a thread of its own, so that the output of the processes is read while the program does something else. It
    takes no signals, is stopped when the block is left, and does not outlive the program, however that ends.

    Args:
        plan: What to launch; it has no errors.
        out: Where lines go; nowhere by default.
        check: Takes a last look before the launch is ready, or None.
        access: What other commands may ask for over the control socket, as JSON has it.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        out: TextIO | None = None,
        check: Check | None = None,
        access: Mapping[str, Any] | None = None,
    ) -> None:
        self.plan = plan
        self.exit_code: int | None = None
        self._out = out
        self._check = check
        self._access = access
        self._changed = threading.Condition()
        self._ready = False
        self._failures: list[str] = []
        self._wording = Wording(plan)
        self._pids: dict[str, int] = {}
        self._kill = False
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        """Where the gateway answers."""
        return self.plan.url

    def pid(self, name: str) -> int:
        """Return the process id of a process that became ready.

        Args:
            name: Its name in the plan.

        Raises:
            KeyError: There is no such process, or it has not become ready.
        """
        return self._pids[name]

    def wait_ready(self) -> None:
        """Wait until every process is ready; the startup timeouts of the plan bound it.

        Raises:
            LaunchError: A process failed, or the check, or the launch was stopped; what happened is in the message.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self.exit_code is not None)
        if self.exit_code is not None:
            raise LaunchError("\n".join(self._failures) or f"{self.plan.name} was stopped", self.exit_code or 1)

    def wait(self) -> int:
        """Wait until the launch has stopped for whatever reason, and return its exit code: 0 when it was asked to."""
        self._thread.join()
        assert self.exit_code is not None
        return self.exit_code

    def stop(self) -> int:
        """Stop the launch as `smgcfg serve` does, wait for the end, and return the exit code."""
        if self.exit_code is None:
            self._waker.wake_up()
        return self.wait()

    def kill(self) -> int:
        """Stop the launch without giving any process time, wait for the end, and return the exit code."""
        self._kill = True
        return self.stop()

    def __enter__(self) -> "Launch":
        """Start everything.

        The limit of files that the program may have open is raised where that is necessary, and not beyond.

        Raises:
            ConfigError: The machine is not fit for the plan; nothing was started.
            LaunchError: The system refuses what the launcher itself can not do without; nothing was started.
        """
        self._warnings = check_host(self.plan)
        raise_limit(self.plan)
        with refusals(self.plan), ExitStack() as stack:
            out = self._out or stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            self._session = stack.enter_context(
                Session(self.plan, out, out, self._watch, self._check, access=self._access)
            )
            self._held = stack.enter_context(RunDir(self.plan)), stack.enter_context(Holdings(self.plan))
            self._waker = Waker(self._stop_asked, self._session.selector)
            self._stack = stack.pop_all()
        # A daemon, as the program may end without leaving the block; the guards then stop everything.
        self._thread = threading.Thread(target=self._run, name=f"smgcfg {self.plan.name}", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._waker.close()

    def _run(self) -> None:
        exit_code = 1
        try:
            with refusals(self.plan), self._stack:
                exit_code = self._session.run(self._held, self._warnings)
        except LaunchError as problem:
            self._failures.append(str(problem))
        finally:
            with self._changed:
                self.exit_code = exit_code
                self._changed.notify_all()

    def _stop_asked(self) -> None:
        if self._kill:
            self._session.supervisor.kill()
        else:
            self._session.supervisor.stop()

    def _watch(self, told: list[Event]) -> None:
        for event in told:
            if isinstance(event, events.Ready):
                self._pids[event.name] = event.pid
            if isinstance(event, events.Failure | events.Checked):
                self._failures += self._wording.lines(event)
            if isinstance(event, events.LaunchReady):
                with self._changed:
                    self._failures.clear()  # what the check found is no failure then
                    self._ready = True
                    self._changed.notify_all()
