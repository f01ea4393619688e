"""What a type checker says of args: this file only has to type-check, with unused ignores as errors."""

import attrs

from smgcfg.backends.tokenspeed import TokenspeedArgs
from smgcfg.gateway import GatewayArgs

good = TokenspeedArgs(max_num_seqs=256, grammar_backend="none", cudagraph_capture_sizes=(1, 2), extra=("--x", "1"))
seats: int | None = good.max_num_seqs
more: TokenspeedArgs = attrs.evolve(good, max_num_seqs=512)
gateway = GatewayArgs(policy="round_robin", prefill=(("http://a", "9000"), ("http://b",)))

TokenspeedArgs(max_num_seqs="x")  # type: ignore[arg-type]
TokenspeedArgs(grammar_backend="outlines")  # type: ignore[arg-type]
TokenspeedArgs(max_num_seq=1)  # type: ignore[call-arg]
TokenspeedArgs("model")  # type: ignore[call-arg]
GatewayArgs(policy="bucket")  # type: ignore[arg-type]
good.max_num_seqs = 1  # type: ignore[misc]
attrs.evolve(good, max_num_seqs="x")  # type: ignore[arg-type]
