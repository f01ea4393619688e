"""How a launch is described: one or more lines of text for every event."""

import math
import shlex
import signal
from collections.abc import Iterable

from smgcfg.environment import Environment
from smgcfg.launch import events
from smgcfg.launch.child import Child
from smgcfg.launch.events import Event
from smgcfg.launch.supervisor import Phase
from smgcfg.process import Plan, ProcessSpec


def duration(seconds: float) -> str:
    """Return a duration as people write it: "0.3 s", "41s", "1m12s", "6h02m"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest}s"
    if minutes < 60:
        return f"{minutes}m{rest:02}s" if rest else f"{minutes}m"
    return f"{minutes // 60}h{minutes % 60:02}m"


class Wording:
    """Puts the events of one launch into words.

    Args:
        plan: What is launched.
        environment: Says where launches are found by their names.
    """

    def __init__(self, plan: Plan, environment: Environment | None = None) -> None:
        self._plan = plan
        usual = (environment or Environment.current()).run_dirs(plan.name)
        self._found_by = plan.name if plan.run_dir in usual else shlex.quote(plan.run_dir)
        self._specs = {spec.name: spec for spec in plan.processes}
        self._width = max(map(len, self._specs)) + 1

    def begin(self) -> str:
        """Return the first line of a launch."""
        count = len(self._plan.workers)
        workers = f"{count} worker" + ("s" if count != 1 else "")
        return f"{self._plan.name}: starting {workers}, run dir {self._plan.run_dir}"

    def output(self, name: str, text: str) -> str:
        """Return a line that a process printed."""
        return f"{name:<{self._width}}| {text}"

    def about(self, name: str, text: str) -> str:
        """Return a line of the launcher's about one process."""
        return f"{name:<{self._width}} {text}"

    def under_way(self, child: Child, phase: Phase, now: float, last_line: str) -> str:
        """Return what a process is busy with, or empty.

        Args:
            child: The process.
            phase: The phase of the launch.
            now: The time.
            last_line: The last thing the process said.
        """
        pid = f"  pid {child.pid}" if child.pid is not None else ""
        if child.state == "starting":
            limit = duration(child.spec.ready.timeout)
            said = f'  last line: "{last_line}"' if last_line else ""
            return self.about(child.spec.name, f"loading {duration(now - child.started)} of at most {limit}{pid}{said}")
        if child.stop_asked is not None and child.there:
            of = f" of at most {duration(child.kill_at - child.stop_asked)}" if child.kill_at < math.inf else ""
            return self.about(child.spec.name, f"stopping {duration(now - child.stop_asked)}{of}{pid}")
        if child.state == "waiting" and child.returns and phase == "up":
            left = child.start_at - now
            what = f"restarts in {duration(left)}" if left > 0 else "restarts as soon as the gateway is ready for it"
            return self.about(child.spec.name, what)
        return ""

    def lines(self, event: Event) -> Iterable[str]:
        """Return what there is to say about an event."""
        match event:
            case events.Ready():
                word = "up" if self._specs[event.name].role == "gateway" else "ready"
                again = " again" if event.again else ""
                kept = f", {_kept(event.kept)} kept serving" if event.kept and word == "ready" else ""
                yield self.about(event.name, f"{word}{again} {duration(event.after)}  pid {event.pid}{kept}")
            case events.LaunchReady():
                how = f"stop: Ctrl-C   status: smgcfg status {self._found_by}"
                yield f"READY {self._plan.url}   model {self._plan.model}   {how}"
            case events.Checked():
                yield from (self.about("verify", line) for line in event.lines)
            case events.Died():
                yield from self._died(event)
            case events.StartFailed():
                yield self.about(event.name, f"NOT STARTED: {event.reason}{self._then(event)}")
            case events.StartTimedOut():
                pid = f" pid {event.pid}" if event.pid is not None else ""
                seen = f": {event.seen}" if event.seen else ""
                yield self.about(
                    event.name, f"NOT READY{pid} within {duration(event.timeout)}{seen}{self._then(event)}"
                )
            case events.PortTaken():
                yield self.about(event.name, f"NOT ITSELF pid {event.pid}: {event.owner}{self._then(event)}")
            case events.Hung():
                what = f"HANGS pid {event.pid} for {duration(event.after)}: {event.seen}; killed"
                yield self.about(event.name, f"{what}{_gpus(self._specs[event.name])}{self._then(event)}")
            case events.Unwell():
                patience = duration(event.patience)
                yield self.about(
                    event.name, f"unwell pid {event.pid}: {event.seen}; replaced in {patience} if it stays so"
                )
            case events.Well():
                yield self.about(event.name, f"well again after {duration(event.after)}  pid {event.pid}")
            case events.ProbeRefused():
                problem = f"the gateway takes no probes ({event.problem})"
                yield f"{self._plan.name}: {problem}: an engine that hangs may go unseen"
            case events.BudgetSpent():
                yield self.about(event.name, f"no restart left: {event.budget} in {_window(event.window)} were made")
            case events.RestartBegan():
                yield self.about(event.name, self._restart_text(event))
            case events.KeyRefused():
                yield f"{self._plan.name}: the gateway does not list its workers for this API key ({event.problem})"
            case events.StopBegan():
                yield f"{self._plan.name}: {self._stop_text(event)}"
            case events.StopRepeated():
                yield f"{self._plan.name}: {event.reason}: stopping already; another signal kills everything at once"
            case events.KillBegan():
                why = f"still there after {duration(event.after)}, " if event.reason == "grace" else ""
                yield self.about(event.name, f"{why}killed")
            case events.Stopped():
                yield self.about(event.name, f"stopped {duration(event.after)}  {event.exit}")
            case events.LeftBehind():
                yield self.about(event.name, f"LEFT BEHIND pid {event.pid}: it can not be killed")
            case events.LaunchStopped():
                yield f"{self._plan.name}: stopped{_whose(event)}"

    def _died(self, event: events.Died) -> Iterable[str]:
        spec = self._specs[event.name]
        when = "" if event.was_ready else ", before it was ready"
        # Who killed it, and why, is nowhere to be read.
        cause = ", cause not known" if event.exit.status == -signal.SIGKILL else ""
        what = f"DIED pid {event.pid} {event.exit} after {duration(event.after)}{when}{_gpus(spec)}{cause}"
        yield self.about(event.name, f"{what}{self._then(event)}")
        lines = event.last_lines
        if lines:
            yield f"  its last {len(lines)} lines:" if len(lines) > 1 else "  its last line:"
            yield from (f"    {line}" for line in lines)
        else:
            yield "  it printed nothing"

    def _then(self, event: events.Failed) -> str:
        """Return which restart follows from a failure."""
        if not event.restart:
            return ""
        settings = self._plan.settings
        when = f"in {duration(event.delay)}" if event.delay else "now"
        return f". Restart {event.restart} of {settings.restart_budget} in {_window(settings.restart_window)}, {when}"

    def _restart_text(self, event: events.RestartBegan) -> str:
        text = "restarting" if event.reason else ""
        if event.reason and event.reason != "asked":
            text += f": {event.reason}"
        if event.others:
            text += f"{'; ' if text else ''}its zmq workers restart with it: {', '.join(event.others)}"
        return text

    def _stop_text(self, event: events.StopBegan) -> str:
        if event.reason in self._specs:
            text = f"stopping because of {event.reason}"
        else:
            text = "stopping" if event.reason == "asked" else f"{event.reason}: stopping"
        if event.draining:
            text += ", the gateway finishes its requests first"
        return f"{text}; another signal kills everything at once" if event.kill_next else text


def _whose(event: events.LaunchStopped) -> str:
    """Return whose exit code the launcher's is, which may look like one of its own; empty if it was told to stop."""
    code, reason, how = event.exit_code, event.reason, event.exit
    if how is None and code != 1:
        return ""
    if how is None or how.status is None:
        return f" with exit code {code}, because of {reason}"
    if how.status < 0:
        return f" with exit code {code}, as {how} ended {reason}"
    return f" with exit code {code}, " + (f"that of {reason}" if how.status else f"as {reason} ended with 0")


def _kept(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{len(names)} others"


def _window(seconds: float) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


def _gpus(spec: ProcessSpec) -> str:
    return f" (GPU {','.join(spec.gpus)})" if spec.gpus else ""
