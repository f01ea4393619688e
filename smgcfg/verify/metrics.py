"""What `smgcfg watch` found, as Prometheus metrics. Needs the extra `smgcfg[watch]`."""

import time
from typing import Final

from smgcfg.errors import ConfigError, LaunchError, error, reason_of
from smgcfg.verify.report import Report

PREFIX: Final = "smgcfg_verify"

#: The name of the package that brings the metrics' format, and of the extra that brings the package.
PACKAGE, EXTRA = "prometheus-client", "smgcfg[watch]"


class Metrics:
    """The metrics of one watch: what the latest verification found, and how many there were.

    Args:
        url: The gateway.

    Raises:
        ConfigError: The package is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge
        except ModuleNotFoundError:
            message = f"metrics need {PACKAGE}, which is not installed"
            raise ConfigError([error("SMG032", "watch", message, hint=f"pip install '{EXTRA}'")]) from None
        self._url = url
        self._registry = registry = CollectorRegistry()
        gateway, each = ["gateway"], ["gateway", "kind", "worker"]
        self._reached = Gauge(
            f"{PREFIX}_gateway_reached", "1 if the gateway could be asked", gateway, registry=registry
        )
        self._ok = Gauge(f"{PREFIX}_ok", "1 if every promise is enforced", gateway, registry=registry)
        self._kept = Gauge(f"{PREFIX}_promise_kept", "1 if a worker enforces a kind", each, registry=registry)
        self._at = Gauge(f"{PREFIX}_last_time_seconds", "when it was last verified", gateway, registry=registry)
        self._took = Gauge(f"{PREFIX}_duration_seconds", "how long it took", gateway, registry=registry)
        self._rounds = Counter(f"{PREFIX}_rounds", "how often it was verified", [*gateway, "result"], registry=registry)
        self._answers = Counter(
            f"{PREFIX}_answers", "answers that were looked at", [*each, "verdict"], registry=registry
        )

    def take(self, report: Report | None) -> None:
        """Take in a verification.

        Args:
            report: What was found; None when there was no gateway to ask, of which no promise is known then.
        """
        # A worker or a kind that is no longer there must not keep its last value.
        self._kept.clear()
        self._reached.labels(self._url).set(report is not None)
        self._ok.labels(self._url).set(report is not None and report.ok)
        self._at.labels(self._url).set(time.time())
        result = "unreachable" if report is None else "ok" if report.ok else "broken"
        self._rounds.labels(self._url, result).inc()
        if report is None:
            return
        self._took.labels(self._url).set(report.seconds)
        for kind, column, cell in report.promises:
            self._kept.labels(self._url, kind, column).set(not cell.broken)
        for seen in report.observations:
            self._answers.labels(self._url, seen.check.kind, seen.worker or "", seen.verdict).inc()

    def text(self) -> str:
        """Return the metrics in the format that Prometheus reads."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry).decode()

    def expose(self, host: str, port: int) -> None:
        """Answer `GET /metrics` from now on, in a thread of its own.

        Args:
            host: The address to listen on.
            port: The port.

        Raises:
            LaunchError: The port can not be listened on.
        """
        from prometheus_client import start_http_server

        try:
            start_http_server(port, host, self._registry)
        except OSError as problem:
            raise LaunchError(f"metrics can not be shown at {host}:{port}: {reason_of(problem)}") from None
