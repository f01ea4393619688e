"""The gateway's args as smg itself sees them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from smgcfg.rules import View


class GatewayView(View):
    """`GatewayArgs` as smg 1.13.0 and tokenspeed-smg 1.10.1 see them."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "history_backend": "memory",
        "mesh_host": "0.0.0.0",
        "oracle_pool_max": 16,
        "oracle_pool_min": 1,
        "otlp_traces_endpoint": "localhost:4317",
        "policy": "cache_aware",
        "prefill_max_inflight_requests_per_worker": -1,
        "priority_scheduler_default_max_class": "default",
        "queue_size": 100,
        "queue_timeout_secs": 60,
        "redis_retention_days": 30,
        "retry_initial_backoff_ms": 50,
        "retry_max_backoff_ms": 30000,
    }

    def holds(self, key: str, value: object) -> bool:
        """Whether a setting has a value; for the policy and the discovery, whether it is in use at all."""
        if key == "policy":
            return value in self.policies
        if key == "discovery_provider":
            return self.discovery == value
        return super().holds(key, value)

    @property
    def splits_prefill(self) -> bool:
        """Whether prefill has workers of its own."""
        return bool(self.pd_disaggregation or self.epd_disaggregation)

    @property
    def policies(self) -> tuple[str | None, ...]:
        """The policies in use; the general one is always checked as well."""
        return (self.policy, *((self.prefill_policy, self.decode_policy) if self.splits_prefill else ()))

    @property
    def discovery(self) -> str | None:
        """What workers are found through, or None where they are given."""
        provider: str | None = self.discovery_provider
        return "kubernetes" if provider is None and self.service_discovery else provider

    @property
    def selectors(self) -> tuple[bool, ...]:
        """For each selector that the discovery reads whether it selects anything."""
        roles = ("prefill_selector", "decode_selector") if self.splits_prefill else ("selector",)
        if self.epd_disaggregation:
            roles = ("encode_selector", *roles)
        return tuple(any("=" in word for item in getattr(self, key) or () for word in item.split()) for key in roles)

    @property
    def finds_workers(self) -> bool:
        """Whether the selectors are enough to find every kind of worker."""
        return all(self.selectors) if self.epd_disaggregation else any(self.selectors)

    @property
    def tenant_keys(self) -> list[str]:
        """The keys that let a client in, without their tenants."""
        shared = [] if self.api_key is None else [self.api_key]
        return shared + [entry.partition(":")[2] for entry in self.tenant_api_key or ()]

    @property
    def aliases(self) -> list[tuple[str, str]]:
        """The further names of models, each with the name it stands for."""
        return [(alias, name) for alias, _, name in (entry.partition("=") for entry in self.model_alias or ())]

    @property
    def limits_prefills(self) -> bool:
        """Whether prefills wait for their turn."""
        return bool(self.prefill_max_inflight_requests_per_worker > 0)
