"""Command lines that break TokenSpeed's rules across settings, each with one beside it that keeps them."""

from typing import Final

#: Version, a line that breaks a rule, a line that keeps it. Every line has a model, a meeting place and no grammars.
EXAMPLES: Final = (
    # ranks
    ("0.1.1", "--tp 2 --attn-tp-size 2", "--tp 2"),
    ("0.1.1", "--world-size 4 --tp 2 --data-parallel-size 1", "--world-size 4 --tp 2 --data-parallel-size 2"),
    ("0.1.1", "--world-size 4 --tp 3", "--world-size 4 --tp 2"),
    ("0.1.1", "--tp 4 --dense-tp-size 3", "--tp 4 --dense-tp-size 2"),
    ("0.1.1", "--tp 4 --ep-size 3 --moe-tp-size 1", "--tp 4 --ep-size 4"),
    ("0.1.1", "--tp 4 --ep-size 2", "--tp 4 --ep-size 2 --moe-tp-size 1"),
    ("0.1.1", "--tp 4 --nnodes 1 --nprocs-per-node 2", "--tp 4 --nnodes 1 --nprocs-per-node 4"),
    ("0.1.1", "--tp 4 --nnodes 3", "--tp 4 --nnodes 2"),
    ("0.1.1", "--data-parallel-size 4 --max-num-seqs 2", "--data-parallel-size 4 --max-num-seqs 4"),
    (
        "0.1.1",
        "--data-parallel-size 2 --chunked-prefill-size 9000",
        "--data-parallel-size 2 --chunked-prefill-size 9000 --max-prefill-tokens 9000",
    ),
    (
        "0.1.1",
        "--data-parallel-size 2 --disaggregation-mode prefill",
        "--data-parallel-size 2 --disaggregation-mode prefill --load-balance-method round_robin",
    ),
    ("0.1.1", "--data-parallel-size 2 --disaggregation-mode encode", "--disaggregation-mode encode"),
    ("0.1.0", "--tp 4 --dense-tp-size 3", "--tp 4 --dense-tp-size 2"),
    ("0.1.0", "--tp 2 --data-parallel-size 2 --world-size 2", "--tp 2 --data-parallel-size 2 --world-size 4"),
    # pipelines
    (
        "0.1.1",
        "--pipeline-parallel-size 2 --world-size 3 --disaggregation-mode prefill",
        "--pipeline-parallel-size 2 --world-size 4 --disaggregation-mode prefill",
    ),
    ("0.1.1", "--pipeline-parallel-size 2", "--pipeline-parallel-size 2 --disaggregation-mode prefill"),
    (
        "0.1.1",
        "--pipeline-parallel-size 2 --disaggregation-mode prefill --data-parallel-size 2"
        " --load-balance-method round_robin",
        "--pipeline-parallel-size 2 --disaggregation-mode prefill --data-parallel-size 1",
    ),
    (
        "0.1.1",
        "--pipeline-parallel-size 2 --disaggregation-mode prefill --speculative-algorithm EAGLE3",
        "--pipeline-parallel-size 2 --disaggregation-mode prefill --speculative-algorithm MTP",
    ),
    (
        "0.1.1",
        "--pipeline-parallel-size 2 --disaggregation-mode prefill --speculative-algorithm DSPARK --tp 2"
        " --dense-tp-size 1",
        "--pipeline-parallel-size 2 --disaggregation-mode prefill --speculative-algorithm DSPARK --tp 2",
    ),
    (
        "0.1.1",
        "--pp-layer-partition 2,2",
        "--pp-layer-partition 2,2 --pipeline-parallel-size 2 --disaggregation-mode prefill",
    ),
    (
        "0.1.1",
        "--pp-layer-partition 2,2,2 --pipeline-parallel-size 2 --disaggregation-mode prefill",
        "--pp-layer-partition 2,2 --pipeline-parallel-size 2 --disaggregation-mode prefill",
    ),
    # heads, output layer, context
    ("0.1.1", "--tp 4 --lm-head-tp-size 2", "--tp 4 --lm-head-tp-size 4"),
    (
        "0.1.1",
        "--tp 2 --data-parallel-size 2 --lm-head-tp-size 2",
        "--tp 1 --data-parallel-size 2 --lm-head-tp-size 2",
    ),
    ("0.1.1", "--data-parallel-size 4 --lm-head-tp-size 3", "--data-parallel-size 4 --lm-head-tp-size 2"),
    (
        "0.1.1",
        "--data-parallel-size 2 --lm-head-tp-size 2 --dp-sampling",
        "--data-parallel-size 2 --lm-head-tp-size 1 --dp-sampling",
    ),
    (
        "0.1.1",
        "--tp 4 --attn-head-tp-size 2 --disaggregation-mode decode",
        "--data-parallel-size 4 --attn-head-tp-size 2 --disaggregation-mode decode",
    ),
    (
        "0.1.1",
        "--tp 2 --data-parallel-size 1 --prefill-context-parallel-size 2 --attn-head-tp-size 4"
        " --disaggregation-mode prefill --disable-prefill-graph",
        "--tp 2 --data-parallel-size 1 --prefill-context-parallel-size 2 --attn-head-tp-size 2"
        " --disaggregation-mode prefill --disable-prefill-graph",
    ),
    (
        "0.1.1",
        "--data-parallel-size 4 --attn-head-tp-size 3 --disaggregation-mode decode",
        "--data-parallel-size 4 --attn-head-tp-size 4 --disaggregation-mode decode",
    ),
    (
        "0.1.1",
        "--data-parallel-size 2 --attn-head-tp-size 2",
        "--data-parallel-size 2 --attn-head-tp-size 2 --disaggregation-mode decode",
    ),
    (
        "0.1.1",
        "--tp-batch-invariant attn",
        "--tp-batch-invariant attn --data-parallel-size 2 --attn-head-tp-size 2 --disaggregation-mode decode",
    ),
    (
        "0.1.1",
        "--tp-batch-invariant attn+dense --data-parallel-size 2 --attn-head-tp-size 2 --disaggregation-mode decode",
        "--tp-batch-invariant attn+dense --data-parallel-size 2 --attn-head-tp-size 2 --disaggregation-mode decode"
        " --dense-tp-size 2",
    ),
    (
        "0.1.1",
        "--tp 4 --decode-context-parallel-size 3 --disable-kvstore",
        "--tp 4 --decode-context-parallel-size 2 --disable-kvstore",
    ),
    (
        "0.1.1",
        "--tp 4 --decode-context-parallel-size 2 --disable-kvstore --disaggregation-mode decode",
        "--tp 4 --decode-context-parallel-size 2 --disable-kvstore --disaggregation-mode prefill",
    ),
    (
        "0.1.1",
        "--tp 4 --decode-context-parallel-size 2",
        "--tp 4 --decode-context-parallel-size 2 --disable-kvstore",
    ),
    *(
        ("0.1.1", f"--disaggregation-mode prefill --disable-prefill-graph {bad}", good)
        for good in (
            "--disaggregation-mode prefill --disable-prefill-graph --tp 4 --prefill-context-parallel-size 4"
            " --attention-backend dsa --kv-cache-dtype bfloat16",
        )
        for bad in (
            "--tp 4 --prefill-context-parallel-size 2",
            "--tp 2 --data-parallel-size 2 --prefill-context-parallel-size 2 --load-balance-method round_robin",
            "--tp 4 --prefill-context-parallel-size 4 --dense-tp-size 2",
            "--tp 4 --prefill-context-parallel-size 4 --moe-tp-size 2",
            "--tp 4 --prefill-context-parallel-size 4 --decode-context-parallel-size 2 --disable-kvstore",
            "--tp 4 --prefill-context-parallel-size 4 --disaggregation-mode null",
            "--tp 4 --prefill-context-parallel-size 4 --enable-mixed-batch",
            "--tp 4 --prefill-context-parallel-size 4 --attention-backend mha",
            "--tp 4 --prefill-context-parallel-size 4 --kv-cache-dtype fp8",
            "--tp 4 --prefill-context-parallel-size 4 --kv-cache-quant-method per_token_head",
        )
    ),
    (
        "0.1.1",
        "--disaggregation-mode prefill --tp 4 --prefill-context-parallel-size 4",
        "--disaggregation-mode prefill --tp 4 --prefill-context-parallel-size 4 --disable-prefill-graph",
    ),
    # caches
    *(
        (version, f"{off} --disaggregation-mode prefill", f"{off} {kept}")
        for version, off in (("0.1.0", "--no-enable-prefix-caching"), ("0.1.1", "--disable-prefix-caching"))
        for kept in ("--disable-kvstore", "--disaggregation-mode decode", "--disaggregation-mode encode")
    ),
    ("0.1.1", "--kvstore-storage-backend memory --disable-kvstore", "--kvstore-storage-backend memory"),
    (
        "0.1.1",
        "--kvstore-storage-backend memory --disaggregation-mode encode",
        "--kvstore-storage-backend memory --disaggregation-mode decode",
    ),
    # speculative decoding
    (
        "0.1.1",
        """--speculative-config '{"method": "mtp", "num_speculative_tokens": "x"}'""",
        """--speculative-config '{"method": "mtp", "num_speculative_tokens": 4}'""",
    ),
    ("0.1.0", "--eagle3-layers-to-capture 1,x", "--eagle3-layers-to-capture 1,2"),
    *(
        (
            version,
            f"--speculative-algorithm {algorithm} --speculative-num-steps 5 --speculative-num-draft-tokens 5",
            f"--speculative-algorithm {algorithm} --speculative-num-steps {steps} --speculative-num-draft-tokens 5",
        )
        for version, algorithm in (("0.1.0", "DFLASH"), ("0.1.1", "DFLASH"), ("0.1.1", "DSPARK"))
        for steps in (4, 3)  # 3 is what the engine takes for "not given"
    ),
    (
        "0.1.1",
        "--speculative-algorithm EAGLE3 --speculative-num-draft-tokens 3",
        "--speculative-algorithm EAGLE3 --speculative-num-draft-tokens 4",
    ),
    (
        "0.1.1",
        """--speculative-config '{"method": "eagle3", "num_speculative_tokens": 4}' --speculative-num-draft-tokens 4""",
        """--speculative-config '{"method": "eagle3", "num_speculative_tokens": 4}' --speculative-num-draft-tokens 5""",
    ),
    ("0.1.1", "--speculative-eagle-topk 2 --speculative-num-draft-tokens 8", "--speculative-eagle-topk 1"),
    (
        "0.1.1",
        "--speculative-algorithm MTP --speculative-eagle-topk 2",
        "--speculative-algorithm MTP --speculative-eagle-topk 2 --speculative-num-draft-tokens 8",
    ),
    *(
        ("0.1.1", f"{tree} {bad}", f"{tree} {good}")
        for tree in ("--speculative-algorithm EAGLE3 --speculative-eagle-topk 2",)
        for good, *bads in (
            (
                "--speculative-num-draft-tokens 10",
                "--speculative-num-draft-tokens 8 --speculative-num-steps 11",
                "--speculative-num-draft-tokens 3",
                "--speculative-num-draft-tokens 12",
                "--speculative-num-draft-tokens 10 --data-parallel-size 2",
                "--speculative-num-draft-tokens 10 --grammar-backend xgrammar",
                "--speculative-num-draft-tokens 10 --disaggregation-mode decode",
                "--speculative-num-draft-tokens 10 --pipeline-parallel-size 2 --disaggregation-mode prefill",
                "--speculative-num-draft-tokens 10 --enable-mixed-batch",
            ),
        )
        for bad in bads
    ),
    *(
        ("0.1.1", f"--enable-speculative-sampling {bad}", f"--enable-speculative-sampling {good}")
        for good, *bads in (
            (
                "--speculative-algorithm EAGLE3 --sampling-backend flashinfer",
                "",
                "--speculative-algorithm DFLASH",
                "--speculative-algorithm EAGLE3 --speculative-eagle-topk 2 --speculative-num-draft-tokens 8",
                "--speculative-algorithm EAGLE3 --sampling-backend triton",
                "--speculative-algorithm EAGLE3 --disaggregation-mode prefill",
            ),
        )
        for bad in bads
    ),
    # experts
    *(
        ("0.1.1", f"--tp 2 {bad}", f"--tp 2 {good}")
        for good, *bads in (
            (
                "--ep-size 2 --enable-eplb --expert-distribution-recorder-mode stat --ep-dispatch-algorithm static"
                " --eplb-rebalance-num-iterations 9 --eplb-rebalance-layers-per-chunk 1",
                "--ep-size 2 --enable-eplb --ep-dispatch-algorithm static"
                " --eplb-rebalance-num-iterations 9 --eplb-rebalance-layers-per-chunk 1",
                "--ep-size 2 --enable-eplb --expert-distribution-recorder-mode stat --ep-dispatch-algorithm dynamic"
                " --eplb-rebalance-num-iterations 9 --eplb-rebalance-layers-per-chunk 1",
                "--ep-size 2 --enable-eplb --expert-distribution-recorder-mode stat --ep-dispatch-algorithm static"
                " --eplb-rebalance-layers-per-chunk 1",
                "--ep-size 2 --enable-eplb --expert-distribution-recorder-mode stat --ep-dispatch-algorithm static"
                " --eplb-rebalance-num-iterations 9",
                "--enable-eplb --expert-distribution-recorder-mode stat --ep-dispatch-algorithm static"
                " --eplb-rebalance-num-iterations 9 --eplb-rebalance-layers-per-chunk 1",
                "--eplb-rebalance-num-iterations 9",
                "--eplb-rebalance-layers-per-chunk 9",
            ),
            (
                "--ep-size 2 --ep-num-redundant-experts 2 --ep-dispatch-algorithm dynamic",
                "--ep-num-redundant-experts 2 --ep-dispatch-algorithm dynamic",
                "--ep-size 2 --ep-num-redundant-experts 2",
                "--ep-size 2 --ep-dispatch-algorithm dynamic",
                "--ep-size 2 --ep-num-redundant-experts 2 --ep-dispatch-algorithm dynamic --numerics rl-bitwise",
            ),
        )
        for bad in bads
    ),
    *(
        ("0.1.1", f"--moe-backend gluon_petit {bad}", good)
        for good in (
            "--moe-backend gluon_petit --all2all-backend gluon_petit --dtype bfloat16 --chunked-prefill-size 512"
            " --max-prefill-tokens 512",
        )
        for bad in (
            "--dtype bfloat16 --chunked-prefill-size 512 --max-prefill-tokens 512",
            "--all2all-backend gluon_petit --chunked-prefill-size 512 --max-prefill-tokens 512",
            "--all2all-backend gluon_petit --dtype bfloat16 --chunked-prefill-size 512 --max-prefill-tokens 512 --tp 2",
            "--all2all-backend gluon_petit --dtype bfloat16 --chunked-prefill-size 512 --max-prefill-tokens 512"
            " --max-num-seqs 2000",
            "--all2all-backend gluon_petit --dtype bfloat16 --max-prefill-tokens 512",
            "--all2all-backend gluon_petit --dtype bfloat16 --chunked-prefill-size 512",
        )
    ),
    ("0.1.1", "--all2all-backend gluon_petit", "--all2all-backend none"),
    # numerics
    ("0.1.1", "--numerics rl-bitwise --moe-backend triton", "--numerics rl-bitwise --moe-backend aok"),
    ("0.1.1", "--numerics rl-bitwise --draft-moe-backend triton", "--numerics rl-bitwise --draft-moe-backend auto"),
    ("0.1.1", "--numerics rl-bitwise --sampling-backend triton", "--numerics rl-bitwise --sampling-backend greedy"),
    ("0.1.1", "--numerics rl-bitwise --tp 2", "--numerics rl-bitwise --tp 2 --ep-size 2"),
    ("0.1.1", "--moe-combine-order slot --all2all-backend deepep", "--moe-combine-order slot"),
    # the rest
    (
        "0.1.0",
        "--mm-encoder-tp-mode data --disaggregation-mode prefill",
        "--mm-encoder-tp-mode data --disaggregation-mode null",
    ),
    ("0.1.0", "--mm-encoder-tp-mode data --tp 2 --nnodes 2", "--mm-encoder-tp-mode data --tp 2 --nnodes 1"),
    (
        "0.1.1",
        "--mm-encoder-tp-mode data --disaggregation-mode decode",
        "--mm-encoder-tp-mode data --disaggregation-mode prefill",
    ),
    ("0.1.1", "--device npu --disable-pdl", "--device npu --disable-pdl --disable-prefill-graph"),
    ("0.1.1", "--device npu --disable-prefill-graph", "--device npu --disable-pdl --disable-prefill-graph"),
    *(
        ("0.1.1", bad, f"--model-update-config '{{}}' {' '.join(companions)}")
        for companions in (
            (
                "--model-update-sdk-module m",
                "--model-update-engine-type e",
                "--model-update-draft-weights retain",
            ),
        )
        for one in companions
        for bad in (one, f"--model-update-config '{{}}' {' '.join(other for other in companions if other != one)}")
    ),
)

#: Lines that the engine takes although a part of them has no effect or can not be meant, each with one that is sound.
IDLE: Final = (
    ("0.1.0", "--gpu-memory-utilization 90", "--gpu-memory-utilization 0.9"),
    ("0.1.1", "--gpu-memory-utilization 0", "--gpu-memory-utilization 1"),
    ("0.1.1", "--disable-any-whitespace", "--disable-any-whitespace --grammar-backend xgrammar"),
    ("0.1.1", "--ext-yaml f", "--ext-yaml f --load-format extensible"),
    ("0.1.1", "--engram-host-table-dir d", "--engram-host-table-dir d --engram-host-table"),
    (
        "0.1.1",
        "--engram-host-table-dir d --engram-host-table --engram-host-table-layout sharded",
        "--engram-host-table-dir d --engram-host-table --engram-host-table-layout auto",
    ),
)
