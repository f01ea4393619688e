"""smgcfg from Python: one engine's command for a harness, and a whole deployment's plan."""

from pathlib import Path

from smgcfg import Environment, TokenspeedArgs, load, plan, worker_command, worker_url

# One worker, as production starts it. What the wire needs is on; what you say wins.
args = TokenspeedArgs(model="Qwen/Qwen3-8B", tensor_parallel_size=2)
words = worker_command(args, port=31000, run_dir="/tmp/harness")
assert words[words.index("--grammar-backend") + 1] == "xgrammar"
assert worker_url(port=31000, run_dir="/tmp/harness") == "ipc:///tmp/harness/engine-31000"

# An operator's choices on top: words, or a mapping; None takes a default away.
assert args.overlay(["--grammar-backend", "none"]).grammar_backend == "none"
assert "--enable-output-logprobs" not in args.overlay({"enable_output_logprobs": None}).to_argv()
assert TokenspeedArgs.from_argv(args.to_argv()) == args

# A deployment file, with overrides as native values, planned for a machine that need not be this one.
here = Path(__file__).parent
deployment = load(here / "one-node.toml", overrides={"pools.chat.replicas": 2})
machine = Environment(uid=1000, python="/usr/bin/python3", cuda_visible_devices="0,1,2,3,4,5,6,7", tmpdir="/tmp")
planned = plan(deployment, machine)
assert planned.plan is not None, planned.findings

for worker in planned.plan.workers:
    print(worker.name, dict(worker.env)["CUDA_VISIBLE_DEVICES"], " ".join(worker.argv[:6]), "...")
print(planned.plan.url)
