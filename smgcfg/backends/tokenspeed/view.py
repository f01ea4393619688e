"""TokenSpeed's args as the engine resolves them, as far as that follows from the args alone.

The engine's own words are `ServerArgs.__post_init__` and `Mapping` of TokenSpeed 0.1.0 and 0.1.1.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from smgcfg.rules import UndecidedError, View
from smgcfg.value import Value

#: Speculative algorithms that draft token by token.
CHAIN_ALGORITHMS: Final = ("EAGLE3", "MTP")
#: The number of steps that the engine takes for "not given".
DEFAULT_STEPS: Final = 3
#: What must be at least 1 for the ranks to be counted.
_SIZES: Final = (
    "attn_tp_size",
    "data_parallel_size",
    "dense_tp_size",
    "expert_parallel_size",
    "moe_tp_size",
    "nnodes",
    "nprocs_per_node",
    "pipeline_parallel_size",
    "tensor_parallel_size",
    "world_size",
)


class Layout(Value):
    """How many ranks share what.

    Attributes:
        stage: Ranks in one pipeline stage.
        attn_tp: Tensor-parallel width of the attention.
        attn_dp: Data-parallel width of the attention.
        dense_tp: Tensor-parallel width of the dense layers.
        moe_tp: Tensor-parallel width of the experts.
        moe_ep: Ranks that share the experts.
    """

    stage: int
    attn_tp: int
    attn_dp: int
    dense_tp: int
    moe_tp: int
    moe_ep: int


class Speculation(Value):
    """Speculative decoding, from its flags and its JSON.

    Attributes:
        algorithm: How drafts are made, or None where none are.
        steps: Draft steps before a verification.
        given_draft_tokens: Draft tokens that someone asked for, or None.
    """

    algorithm: str | None
    steps: int
    given_draft_tokens: int | None

    @property
    def draft_tokens(self) -> int:
        """Draft tokens verified at once."""
        return self.steps + 1 if self.given_draft_tokens is None else self.given_draft_tokens


class TokenspeedView(View):
    """`TokenspeedArgs` as the engine sees them."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "all2all_backend": "none",
        "chunked_prefill_size": 8192,
        "decode_context_parallel_size": 1,
        "device": "cuda",
        "disaggregation_mode": "null",
        "dtype": "auto",
        "enable_prefix_caching": True,
        "ep_num_redundant_experts": 0,
        "expert_parallel_size": 1,
        "grammar_backend": "none",
        "init_expert_location": "trivial",
        "kv_cache_dtype": "auto",
        "kv_cache_quant_method": "none",
        "load_balance_method": "shortest_queue",
        "load_format": "auto",
        "max_prefill_tokens": 8192,
        "mm_encoder_tp_mode": "weights",
        "moe_backend": "auto",
        "moe_combine_order": "rank",
        "numerics": "auto",
        "pipeline_parallel_size": 1,
        "prefill_context_parallel_size": 1,
        "speculative_eagle_topk": 1,
        "speculative_num_steps": DEFAULT_STEPS,
        "tp_batch_invariant": "none",
    }

    # --- ranks ---

    @property
    def tp(self) -> int | None:
        """The attention's tensor-parallel width that someone asked for; both flags set the same."""
        width: int | None = self.tensor_parallel_size
        return self.attn_tp_size if width is None else width

    @property
    def world(self) -> int:
        """Ranks in all."""
        sizes = [getattr(self, key) for key in _SIZES]
        if any(size is not None and size < 1 for size in sizes):
            raise UndecidedError
        asked: int | None = self.world_size
        if asked is None:
            asked = self.pipeline_parallel_size * (self.tp or 1) * (self.data_parallel_size or 1)
        return asked

    @property
    def stage(self) -> int:
        """Ranks in one pipeline stage."""
        if self.world % self.pipeline_parallel_size:
            raise UndecidedError
        return self.world // int(self.pipeline_parallel_size)

    @property
    def nodes_fit(self) -> bool:
        """Whether the processes and nodes that someone asked for make up all ranks."""
        given = [size for size in (self.nprocs_per_node, self.nnodes) if size is not None]
        product = math.prod(map(int, given))
        return self.world == product if len(given) == 2 else self.world % product == 0

    @property
    def attention_fits(self) -> bool:
        """Whether the widths that someone asked for make up a stage."""
        given = [size for size in (self.tp, self.data_parallel_size) if size is not None]
        return self.stage == math.prod(given) if len(given) == 2 else self.stage % math.prod(given) == 0

    @property
    def attn_tp(self) -> int:
        """The attention's tensor-parallel width."""
        if not self.attention_fits:
            raise UndecidedError
        return self.tp or self.stage // (self.data_parallel_size or 1)

    @property
    def dense_tp(self) -> int:
        """The dense layers' tensor-parallel width."""
        asked: int | None = self.dense_tp_size
        if asked is not None:
            return asked
        return self.stage if self.version == "0.1.0" else self.attn_tp

    @property
    def moe_ep(self) -> int:
        """Ranks that share the experts."""
        asked: int = self.expert_parallel_size
        return self.stage if asked == 1 and self.enable_expert_parallel else asked

    @property
    def moe_tp(self) -> int:
        """The experts' tensor-parallel width."""
        asked: int | None = self.moe_tp_size
        return self.stage // self.moe_ep if asked is None else asked

    @property
    def experts_fit(self) -> bool:
        """Whether the experts' widths tile a stage."""
        stage, width = self.stage, self.moe_tp * self.moe_ep
        return width > 0 and stage % width == 0

    @functools.cached_property
    def layout(self) -> Layout:
        """All widths, where they fit together."""
        if self.stage % self.dense_tp or not self.experts_fit:
            raise UndecidedError
        return Layout(self.stage, self.attn_tp, self.stage // self.attn_tp, self.dense_tp, self.moe_tp, self.moe_ep)

    @property
    def row_group(self) -> int:
        """Ranks of the attention that hold the same rows."""
        width, shards = self.layout.attn_tp, int(self.prefill_context_parallel_size)
        if shards not in (1, width):
            raise UndecidedError
        return width // shards

    @property
    def head_tp(self) -> int:
        """Ranks that share the attention's heads."""
        asked: int | None = self.attn_head_tp_size
        return self.row_group if asked is None else asked

    @property
    def shares_heads(self) -> bool:
        """Whether heads are shared by ranks that hold different rows."""
        return self.head_tp != self.row_group

    @property
    def shards_lm_head(self) -> bool:
        """Whether data-parallel ranks share the output layer."""
        return (self.lm_head_tp_size or 1) > 1 and self.layout.attn_dp > 1

    # --- speculative decoding ---

    @property
    def block_algorithms(self) -> tuple[str, ...]:
        """Speculative algorithms that draft a whole block at once."""
        return ("DFLASH",) if self.version == "0.1.0" else ("DFLASH", "DSPARK")

    @functools.cached_property
    def speculation(self) -> Speculation:
        """Speculative decoding; the JSON fills in what the flags leave open."""
        config = {} if self.speculative_config is None else self.speculative_config.value
        algorithm, draft_model = self.speculative_algorithm, self.speculative_draft_model_path
        if algorithm is None and config.get("method") is not None:
            algorithm = str(config["method"]).upper()
        if draft_model is None and config.get("model") is not None:
            draft_model = str(config["model"])
        steps, draft_tokens = self.speculative_num_steps, self.speculative_num_draft_tokens
        if config.get("num_speculative_tokens") is not None:
            tokens = self._configured_tokens
            own_model = self.draft_model_path_use_base or draft_model in (None, self.model)
            if algorithm in self.block_algorithms and (algorithm == "DFLASH" or not own_model):
                steps = max(tokens - 1, 0)
                draft_tokens = tokens if draft_tokens is None else draft_tokens
            else:
                steps = tokens
        return Speculation(algorithm, steps, draft_tokens)

    @property
    def _configured_tokens(self) -> int:
        try:
            return int(self.speculative_config.value["num_speculative_tokens"])
        except (OverflowError, TypeError, ValueError):
            raise UndecidedError from None

    @property
    def has_whole_tokens(self) -> bool:
        """Whether the draft tokens of the JSON, if it has any, are a number that the engine takes."""
        try:
            return self.speculation is not None
        except UndecidedError:
            return False

    @property
    def drafts_tree(self) -> bool:
        """Whether several drafts are followed at each step."""
        return self.speculation.algorithm is not None and self.speculative_eagle_topk != 1

    @property
    def most_nodes(self) -> int:
        """The most nodes that a tree of drafts has, as far as the engine can mask them."""
        topk, steps = int(self.speculative_eagle_topk), self.speculation.steps
        return min(64, topk + (steps - 1) * topk * topk + 1)

    # --- switches that follow from others ---

    @property
    def nodes(self) -> int:
        """Nodes in all."""
        return int(self.nnodes or 1)

    @property
    def kvstore(self) -> bool:
        """Whether there is a second tier of the KV cache."""
        without = ("decode", "encode") if self.version == "0.1.0" else ("encode",)
        return not self.disable_kvstore and self.disaggregation_mode not in without

    @property
    def is_bitwise(self) -> bool:
        """Whether results must be reproducible bit for bit."""
        return bool(self.numerics == "rl-bitwise")

    @property
    def combines_in_slot_order(self) -> bool:
        """Whether the experts' results are added in slot order."""
        return self.is_bitwise or self.moe_combine_order == "slot"

    @property
    def places_experts(self) -> bool:
        """Whether experts stand anywhere but where they stand by default."""
        return bool(
            self.ep_num_redundant_experts > 0
            or self.init_expert_location != "trivial"
            or self.expert_distribution_recorder_mode is not None
            or self.enable_eplb
        )

    @property
    def moe_backends(self) -> list[str]:
        """The experts' kernels in use: the model's, and the draft model's where there is one."""
        drafting = self.speculation.algorithm is not None
        return [self.moe_backend, *([self.draft_moe_backend or self.moe_backend] if drafting else [])]

    @property
    def uses_petit(self) -> bool:
        """Whether the fused Petit experts are in use."""
        return "gluon_petit" in self.moe_backends

    @property
    def requests(self) -> int:
        """Most requests at once."""
        asked: int | None = self.max_num_seqs
        if asked is not None:
            return asked
        return 160 if self.speculation.algorithm is None else 80

    @property
    def decode_tokens_per_rank(self) -> int:
        """Tokens that one rank decodes in a step."""
        drafting = self.speculation.algorithm is not None
        return self.requests // self.layout.attn_dp * (self.speculation.draft_tokens if drafting else 1)
