"""Hypothesis strategies, derived from the declarations: what one line of `flag()` allows is what is generated."""

import functools
from typing import Any, TypeVar

from hypothesis import strategies as st

from smgcfg.args import Args, check_setting
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.codec import Refused
from smgcfg.config import Deployment, Gateway, Launch, Pool
from smgcfg.flags import FlagSpec, spec_of, specs_of
from smgcfg.gateway.args import GatewayArgs
from smgcfg.json_value import Json

A = TypeVar("A", bound=Args)

#: Text that has gone wrong somewhere before: dashes, blanks, quotes, line breaks, other alphabets, what JSON escapes.
AWKWARD = (
    *("", "-", "-x", "--port", "--port=1", "-1", "-1e5", " ", "a b", "\n", "\r\n", "'", '"', "\\", "=", "a=b"),
    *("none", "None", "null", "true", "é", "日本", "\U0001d518", "\u2028", "\x7f", "#", "[x]", "{}", "*", "~", "%"),
)

#: Numbers at the edges that machines, JSON and TOML have.
EDGES = (0, 1, -1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400)


def texts() -> st.SearchStrategy[str]:
    """Return text that a command line can carry, the awkward included."""
    plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
    return st.one_of(st.sampled_from(AWKWARD), plain)


def json_objects() -> st.SearchStrategy[Json]:
    """Return JSON objects of a modest size."""
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
    )
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    )
    return st.dictionaries(st.text(max_size=6), values, max_size=4).map(Json)


def _items(spec: FlagSpec, version: str | None) -> st.SearchStrategy[Any]:
    taken = spec.taken(version)
    if taken is not None:
        return st.sampled_from(taken)
    if spec.type is bool:
        return st.booleans()
    if spec.type is Json:
        return json_objects()
    low, high = spec.bounds
    if spec.type is int:
        free = st.integers(None if low is None else int(low), None if high is None else int(high))
        edges = [n for n in EDGES if (low is None or n >= low) and (high is None or n <= high)]
        return st.one_of(free, st.sampled_from(edges)) if edges else free
    if spec.type is float:
        return st.floats(low, high, allow_nan=False)
    return texts()


def values(spec: FlagSpec, version: str | None = None) -> st.SearchStrategy[Any]:
    """Return the values that a setting can have.

    Args:
        spec: The setting.
        version: Only what this version of the program takes; None is any shipped one.
    """
    one = _items(spec, version)
    strategy: st.SearchStrategy[Any] = one
    if spec.kind == "groups":
        strategy = st.lists(st.lists(one, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)
    elif spec.many:
        least = max(spec.least, 1 if spec.kind == "append" else 0)
        strategy = st.lists(one, min_size=least, max_size=4).map(tuple)

    def has_spelling(value: Any) -> bool:
        try:
            check_setting(spec, value)
        except Refused:
            return False
        return True

    return strategy.filter(has_spelling)


def settings(cls: type[A], version: str | None = None, most: int = 8) -> st.SearchStrategy[dict[str, Any]]:
    """Return choices of an operator: a few settings with values, as a mapping.

    Args:
        cls: An args class.
        version: Only settings, values and spellings that this version has; None is any shipped one.
        most: How many at most.
    """
    one = st.sampled_from([spec for spec in specs_of(cls) if spec.has(version)]).flatmap(
        lambda spec: st.tuples(st.just(spec.key), _values_in(spec, version))
    )
    return st.lists(one, max_size=most).map(lambda chosen: _without_rivals(cls, dict(chosen)))


def _without_rivals(cls: type[Args], chosen: dict[str, Any]) -> dict[str, Any]:
    """Return choices without those that the program's parser refuses beside another."""
    kept: dict[str, Any] = {}
    for key, value in chosen.items():
        if spec_of(cls, key).rivals not in kept:
            kept[key] = value
    return kept


@functools.cache
def _values_in(spec: FlagSpec, version: str | None) -> st.SearchStrategy[Any]:
    names, off = spec.spellings(version)
    if spec.kind != "pair" or (names and off):
        return values(spec, version)
    # A version may have only one of the two spellings.
    return st.just(bool(names))


def args(cls: type[A], version: str | None = None, *, extra: bool = False) -> st.SearchStrategy[A]:
    """Return objects of an args class, its defaults kept, replaced or taken away.

    Args:
        cls: The class.
        version: Only what this version has; None is any shipped one.
        extra: Also words in `extra`.
    """
    words = st.lists(st.sampled_from(["--not-known-yet", "--newer=1", "v"]), max_size=3)
    tails = words.filter(lambda found: not found or found[0].startswith("--")).map(tuple) if extra else st.just(())
    defaults = [spec for spec in specs_of(cls) if spec.default is not None]
    taken_away = st.fixed_dictionaries({}, optional={spec.key: st.none() for spec in defaults})
    return st.builds(
        lambda gone, chosen, tail: cls(**{**gone, **chosen, "extra": tail}), taken_away, settings(cls, version), tails
    )


def tokenspeed_args(version: str | None = "0.1.1", *, extra: bool = False) -> st.SearchStrategy[TokenspeedArgs]:
    """Return engine settings of TokenSpeed, the two defaults kept, replaced or taken away.

    Args:
        version: Only what this version has; None is any shipped one, and `llguidance`.
        extra: Also words in `extra`.
    """
    return args(TokenspeedArgs, version, extra=extra)


def gateway_args(version: str | None = "1.13.0", *, extra: bool = False) -> st.SearchStrategy[GatewayArgs]:
    """Return settings of the gateway.

    Args:
        version: Only what this version has; None is any shipped one.
        extra: Also words in `extra`.
    """
    return args(GatewayArgs, version, extra=extra)


def names() -> st.SearchStrategy[str]:
    """Return names of deployments and pools."""
    return st.from_regex(r"[a-z][a-z0-9-]{0,11}", fullmatch=True)


def _pools(transport: Any) -> st.SearchStrategy[Pool[TokenspeedArgs]]:
    engines = st.fixed_dictionaries(
        {},
        optional={
            "grammar_backend": st.sampled_from(["xgrammar", "none", None]),
            "enable_output_logprobs": st.sampled_from([True, None]),
            "tensor_parallel_size": st.sampled_from([1, 2, 4]),
            "max_num_seqs": st.integers(8, 512),
            "trust_remote_code": st.booleans(),
        },
    )
    return st.builds(
        lambda name, model, replicas, engine: Pool(
            name=name, backend="tokenspeed", transport=transport, model=model, replicas=replicas,
            engine=TokenspeedArgs(**engine),
        ),
        names(), st.sampled_from(["org/model", "/models/a"]), st.integers(1, 4), engines,
    )  # fmt: skip


def deployments(transport: str = "zmq") -> st.SearchStrategy[Deployment]:
    """Return small deployments of one TokenSpeed pool that can be planned on any machine.

    Args:
        transport: "zmq" or "grpc".
    """
    gateways = st.fixed_dictionaries({}, optional={"port": st.integers(8000, 8999), "log_level": st.just("warn")})
    unset = st.sampled_from([(), (("gateway", "policy"),), (("gateway", "health_check_interval_secs"),)])
    return st.builds(
        lambda name, pool, gateway, grace, unset: Deployment(
            name=name,
            pools=(pool,),
            gateway=Gateway(args=GatewayArgs(**gateway)),
            launch=Launch(grace=grace),
            unset=unset,
        ),
        names(), _pools(transport), gateways, st.floats(1, 60), unset,
    )  # fmt: skip
