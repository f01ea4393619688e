"""How a launch is: what its state file says, held against what is there and what its gateway says."""

from typing import Any, Literal

from smgcfg.launch.alive import is_alive
from smgcfg.launch.client import NoAnswer
from smgcfg.launch.effects import GatewayView
from smgcfg.launch.running import Running, access, gateway_view, how_it_ended
from smgcfg.launch.state import is_state
from smgcfg.value import Value


class Status(Value):
    """How a launch is.

    Attributes:
        state: What its state file says.
        alive: Whether its launcher is there.
        view: What its gateway says.
        problem: What has to be said beside the table, or empty.
    """

    state: dict[str, Any]
    alive: bool
    view: GatewayView
    problem: str

    @property
    def processes(self) -> list[dict[str, Any]]:
        """Its processes, each with what the gateway says of it; a pid that is gone is not shown as one."""
        return [{**one, "gateway_says": self._said(one), **self._truth(one)} for one in self.state["processes"]]

    @property
    def workers(self) -> int:
        """How many workers it has."""
        return sum(one["role"] == "worker" for one in self.state["processes"])

    @property
    def ready(self) -> int:
        """How many workers are ready, by the launcher and by the gateway."""
        return sum(one["role"] == "worker" and self._serves(one) for one in self.processes)

    @property
    def answers(self) -> bool:
        """Whether requests are answered, as far as is known: without its key a gateway says no more than that."""
        return self.alive and self.view.ready and (self.ready > 0 or self.view.refused)

    @property
    def word(self) -> Literal["ready", "degraded", "starting", "stopping", "down"]:
        """How it is, in a word."""
        if not self.alive:
            return "down"
        if self.state["phase"] in ("new", "starting", "stopping"):
            return "stopping" if self.state["phase"] == "stopping" else "starting"
        if all(self._serves(one) for one in self.processes) and self.view.ready:
            return "ready"
        return "degraded" if self.answers else "down"

    @property
    def exit_code(self) -> int:
        """What `smgcfg status` exits with: 0 all ready, 1 degraded, 3 nothing answers requests."""
        if self.word == "ready":
            return 0
        return 1 if self.answers else 3

    def data(self) -> dict[str, Any]:
        """Return everything, as JSON shows it: the state file's content and more."""
        return {
            **self.state,
            "processes": self.processes,
            "launcher": {**self.state["launcher"], "alive": self.alive},
            "status": self.word,
            "ready_workers": self.ready,
            "workers": self.workers,
            "gateway": {"ready": self.view.ready, "problem": self.view.problem},
            "problem": self.problem,
            "exit_code": self.state["exit_code"],
        }

    def _said(self, one: dict[str, Any]) -> str | None:
        if one["seen_by"] != "gateway":
            return None
        status = next((worker.status for worker in self.view.workers if worker.url == one["url"]), None)
        if status or self.view.refused:
            return status or self.view.problem
        return "no answer" if self.view.problem else "not listed"

    def _serves(self, one: dict[str, Any]) -> bool:
        if one["state"] != "ready":
            return False
        return one["seen_by"] != "gateway" or any(w.url == one["url"] and w.healthy for w in self.view.workers)

    def _truth(self, one: dict[str, Any]) -> dict[str, Any]:
        """Return what is different from what the file says, as nobody keeps it up to date any more."""
        if self.alive or one["state"] == "down":
            return {}
        if is_alive(one["pid"], one["started"]):
            return {"state": "stopping"}  # by its guard, which outlives the launcher
        return {"state": "down", "pid": None, "since": self.state["written"]}


def status_of(running: Running) -> Status:
    """Return how a launch is, asking its launcher and its gateway.

    Args:
        running: The launch.
    """
    if not running.alive:
        view = GatewayView(False, problem="its launcher is gone")
        return Status(running.state, False, view, how_it_ended(running.state))
    problem = ""
    state, told = running.state, dict[str, Any]()
    try:
        told = access(running)
    except NoAnswer as silent:
        problem = str(silent)
    # What the launcher knows is newer than its file where that can not be written.
    if is_state(told.get("state")):
        state = told["state"]
    view = gateway_view(state["url"], told.get("workers_key"))
    if not problem and view.problem and state["phase"] == "up":
        problem = f"the gateway does not say how its workers are: {view.problem}"
    return Status(state, True, view, problem)
