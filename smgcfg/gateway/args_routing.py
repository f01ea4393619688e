"""How the gateway chooses a worker for a request."""

from typing import Literal

from smgcfg.flags import flag
from smgcfg.gateway.limits import CACHE_AWARE, LEAST_LOAD, NATURAL, POSITIVE, POSITIVE_U32, PREFIX_HASH, SHARE, U32
from smgcfg.gateway.versions import V1130
from smgcfg.groups import group

# fmt: off
Policy = Literal[
    "random", "round_robin", "passthrough", "cache_aware", "power_of_two", "least_load", "manual", "consistent_hashing",
    "prefix_hash",
]
# fmt: on
PrefillPolicy = Literal[Policy, "bucket"]


@group(kw_only=True)
class RoutingSettings:
    """How the gateway chooses a worker for a request."""

    __slots__ = ()

    # policies
    policy: Policy | None = flag("how a worker is chosen for a request")
    encode_policy: Literal["random", "round_robin", "consistent_hashing"] | None = flag(
        "how an encode worker is chosen"
    )
    prefill_policy: PrefillPolicy | None = flag("how a prefill worker is chosen; unset is the policy")
    decode_policy: Policy | None = flag("how a decode worker is chosen; unset is the policy")
    assignment_mode: Literal["random", "min_load", "min_group", "delegate"] | None = flag(
        "how a new sticky key gets its worker"
    )
    max_idle_secs: int | None = flag(
        "seconds an unused sticky key is remembered", aliases=("--sticky-key-idle-secs",), limits=NATURAL
    )
    routing_key_override: bool | None = flag(
        "keep a conversation on one worker under any policy", aliases=("--sticky-sessions",)
    )
    routing_key_headers: tuple[str, ...] | None = flag(
        "headers that may carry the sticky key, the first one there wins", extends=True
    )
    dp_aware: bool | None = flag("choose among the data-parallel ranks of a worker")
    dp_minimum_tokens_scheduler: bool | None = flag("choose the data-parallel rank with the fewest tokens")
    enable_igw: bool | None = flag("serve several models through one gateway")

    # by prefix hash
    prefix_token_count: int | None = flag(
        "tokens of a prompt's beginning that are hashed", limits=POSITIVE, limits_when=PREFIX_HASH
    )
    prefix_hash_load_factor: float | None = flag(
        "multiple of the mean load above which the next worker is tried", limits=POSITIVE, limits_when=PREFIX_HASH
    )
    prefix_hash_balance_abs_threshold: int | None = flag(
        "requests above the mean that must be exceeded as well", limits=NATURAL
    )

    # by load
    least_load_kv_pressure_weight: float | None = flag(
        "seconds that a full cache counts for", limits=NATURAL, limits_when=LEAST_LOAD
    )
    least_load_default_throughput: float | None = flag(
        "tokens per second assumed of a worker that reports none", above=0, limits_when=LEAST_LOAD
    )
    least_load_mean_prefill_tokens: int | None = flag(
        "prompt tokens assumed of a request that is not tokenized", limits=POSITIVE_U32, limits_when=LEAST_LOAD
    )
    least_load_max_waiting_requests: int | None = flag(
        "waiting requests at which a worker is passed over; 0 passes none over", limits=U32
    )
    power_of_two_load_metric: Literal["expected_wait", "requests", "least_requests"] | None = flag(
        "what two workers are compared by", versions=V1130
    )

    # by cache
    cache_threshold: float | None = flag(
        "share of a prompt that must be cached to prefer a worker, 0 to 1",
        aliases=("--cache-match-threshold",),
        limits=SHARE,
        limits_when=CACHE_AWARE,
    )
    balance_abs_threshold: int | None = flag(
        "requests above the mean at which a preferred worker is passed over",
        aliases=("--spill-abs-threshold",),
        limits=NATURAL,
    )
    balance_rel_threshold: float | None = flag(
        "multiple of the mean load at which a preferred worker is passed over",
        aliases=("--spill-rel-threshold",),
        limits=POSITIVE,
        limits_when=CACHE_AWARE,
    )
    balance_token_usage_threshold: float | None = flag(
        "spread of cache usage above which load decides instead", above=0, limits_when=CACHE_AWARE
    )
    overload_token_usage_threshold: float | None = flag(
        "cache usage of a worker above which load decides instead", above=0, limits_when=CACHE_AWARE
    )
    kv_index: str | None = flag("the structure that knows what each worker has cached", versions=V1130)
    block_size: int | None = flag(
        "tokens in one block of the workers' caches", limits=POSITIVE, limits_when=CACHE_AWARE
    )
    cache_index: Literal["tree", "hash"] | None = flag("whether prefixes stand in a tree or in a hash map")
    cache_boundaries: tuple[int, ...] | None = flag(
        "prompt lengths at which the workers keep reusable state, ascending", style="csv"
    )
    cache_ttl_secs: int | None = flag(
        "seconds a placement is believed to be cached", limits=POSITIVE, limits_when=CACHE_AWARE
    )
    eviction_interval_secs: int | None = flag(
        "seconds between two clean-ups of the prefix tree", limits=POSITIVE, limits_when=CACHE_AWARE
    )
    max_tree_size: int | None = flag(
        "largest prefix tree of a model, in characters or tokens", limits=POSITIVE, limits_when=CACHE_AWARE
    )
    selection_policy: str | None = flag("how cache-aware routing decides", versions=V1130)
    selection_accounting_ttl_ms: int | None = flag(
        "milliseconds that an unreported dispatch counts", limits=NATURAL, versions=V1130
    )
    overlap_decay: float | None = flag(
        "how much a worker's backlog discounts its cached prefix", limits=NATURAL, limits_when=CACHE_AWARE
    )
    selection_temperature: float | None = flag(
        "how widely choices are spread; 0 takes the best", limits=NATURAL, limits_when=CACHE_AWARE
    )
    bucket_adjust_interval_secs: int | None = flag(
        "seconds between two adjustments of the length buckets",
        limits=POSITIVE_U32,
        limits_when=(("policy", "bucket"),),
    )

    # overload
    worker_overload_protection: bool | None = flag("leave overloaded workers out; on by default")
    disable_worker_overload_protection: bool | None = flag("leave no worker out for its load", versions=V1130)
    worker_overload_waiting_requests: int | None = flag(
        "waiting requests at which a worker is overloaded", limits=POSITIVE
    )
    worker_overload_token_usage: float | None = flag(
        "share of used cache at which a worker is overloaded", above=0, limits=(None, 1)
    )
    worker_overload_shed: bool | None = flag("refuse a request when every worker is overloaded", versions=V1130)

    # silence and warm-up
    worker_stall_secs: int | None = flag(
        "seconds of silence after which one failure excludes a worker", limits=NATURAL, versions=V1130
    )
    worker_wedge_secs: int | None = flag(
        "seconds without a token after which a worker gets no new requests", limits=NATURAL, versions=V1130
    )
    worker_stale_secs: int | None = flag(
        "seconds of silence after which a reporting worker is excluded", limits=NATURAL, versions=V1130
    )
    worker_warmup_secs: int | None = flag(
        "seconds a new worker is offered extra requests", limits=NATURAL, versions=V1130
    )
    worker_warmup_share: float | None = flag(
        "share of cache misses offered to new workers, 0 to 1", limits=SHARE, versions=V1130
    )
    worker_warmup_blocks: int | None = flag(
        "cached blocks after which a worker is no longer new", limits=NATURAL, versions=V1130
    )
    worker_warmup_thin_ratio: float | None = flag(
        "share of the median cache below which a worker counts as new", limits=SHARE, versions=V1130
    )
    worker_warmup_divert_every: int | None = flag(
        "one in this many cache hits goes to a new worker", limits=NATURAL, versions=V1130
    )
