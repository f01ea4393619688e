"""What each code means, why it matters and what to do: the text of `smgcfg check --explain CODE`."""

from typing import Final

#: Per code of `errors.CODES` its explanation, in full sentences.
EXPLANATIONS: Final[dict[str, str]] = {
    "SMG001": (
        "The file is not there, is not UTF-8, or is not TOML; the line is that of the statement at fault. Nothing "
        "else of it could be checked."
    ),
    "SMG002": (
        "A key or a table has a name that smgcfg does not know, so that nothing would come of it. Look for a typing "
        "mistake, or for the table that the key belongs to. A flag of a program that is newer than smgcfg goes into "
        "extra."
    ),
    "SMG003": (
        "The value is of another type than the setting. Nothing is converted: write numbers and true or false without "
        "quotes, text with them, lists in brackets."
    ),
    "SMG004": "The setting takes one of a few words, and this is none of them. The message lists them all.",
    "SMG005": (
        "The number is outside what the program takes: its own parser, or the check it makes after parsing, would "
        "refuse it. The message says the range, and on which other setting it depends."
    ),
    "SMG006": (
        "No command line can carry this value to the program unchanged: a NUL, a lone surrogate, an empty list where "
        "the flag wants a word, or false for a switch that can only be turned on."
    ),
    "SMG007": (
        "Something has to be there and is not: a pool, its backend, its model, or a value that a command needs."
    ),
    "SMG008": (
        "The launcher decides this setting itself, so that ports, sockets and addresses fit together. Set the key "
        "that the hint names; it decides about this one."
    ),
    "SMG009": (
        "One setting has two values: under two of its names, by a fact on the pool and a setting of the engine, by a "
        "flag and a variable, or twice in a command line. Keep one of them."
    ),
    "SMG010": "No version of the program has a flag of this name. The hint is the nearest one.",
    "SMG011": (
        "A command line can not be understood: an option without its value, a word too many, or two that exclude."
    ),
    "SMG012": (
        "The version of the program that would run has no such flag and would end at once, or another version has it "
        "and this one may not. The hint says what became of it."
    ),
    "SMG013": (
        "The version of the program that would run knows the flag, and not this value of it: TokenSpeed 0.1.0 and "
        "0.1.1 take no llguidance as grammar_backend, for example. The program would end at once."
    ),
    "SMG014": (
        "The program refuses these settings together (a warning: it goes on, and not as they say). The rules are the "
        "program's own, of the version that would run."
    ),
    "SMG015": (
        "extra holds flags that smgcfg does not know, and only those: what has a key of its own is set by it, so that "
        "it is checked. A bare -- would end all flags."
    ),
    "SMG016": (
        "In wrapper, command and env, {name} is a placeholder, and there is none of this name. A brace itself is "
        "written twice."
    ),
    "SMG017": "smgcfg can not launch this yet, and says so instead of launching something else.",
    "SMG018": (
        'What { env = "NAME" } or { file = "PATH" } stands for is not there, can not be passed on, or is no value of '
        "the setting. Secrets are read right before a launch, everything else together with the file. What was read "
        "is never shown."
    ),
    "SMG019": (
        "The file holds a secret, and its permissions let every user of the machine read it. The launch goes on: a "
        "container's mounted secrets often look so."
    ),
    "SMG020": (
        "Two processes want one port, or a port would lie outside 1 to 65535. Ports follow from the file alone: "
        "worker i of a pool has the pool's port + i, and further ports follow from that."
    ),
    "SMG021": (
        "smg derives the port of a zmq worker's handshake from the path of its socket, and two paths gave the same. "
        "Another port for one of the pools, or another run directory, moves it."
    ),
    "SMG022": "A Unix socket's path has at most 107 bytes on Linux. Set launch.run_dir to a shorter directory.",
    "SMG023": (
        "The workers need more GPUs than there are, or two of them the same. Each takes the product of its parallel "
        "sizes, pool after pool, from gpus or from CUDA_VISIBLE_DEVICES."
    ),
    "SMG024": (
        "One gateway has one model, one tokenizer, one engine and one parser for all its workers (smg 1.13.0), and "
        "these pools want different ones."
    ),
    "SMG025": (
        "The deployment sets something against what would be derived: it is kept, and may not do what it seems to, as "
        "a policy that weighs workers where there is one, or a host that opens the gateway to the network."
    ),
    "SMG026": (
        "With --stand-in, CPU stand-ins take the place of the engines: what says how the real ones are started, on "
        "which GPUs, and with which tokenizer, is not used. Everything else holds as it does without."
    ),
    "SMG030": "Somebody listens on a port that the plan wants; the message says who, where that can be seen.",
    "SMG031": (
        "The run directory belongs to somebody else, is open to others, is no directory, or a launch is using it. Its "
        "sockets would not be safe."
    ),
    "SMG032": "An interpreter, a program or a package that would run is not there, can not be run, or does not answer.",
    "SMG033": (
        "The version that is installed is not the one that the file names, or what the file names or is installed is "
        "none whose flags smgcfg knows, so that checks are made against another."
    ),
    "SMG034": (
        "The launch would fail in the middle, as a limit of this process is too low for it. One that may be raised is "
        "raised, as far as it has to be."
    ),
    "SMG035": (
        "Another launch of this user has given this GPU to a worker. An engine takes most of a GPU's memory, so that "
        "the second would fail while it loads. It is a warning, as engines that leave each other room may share a GPU, "
        "and as the name may mean another one there, as in a container."
    ),
    "SMG040": "The gateway runs and refuses the request: it wants another key, or does not serve the model.",
    "SMG041": "No launch of this name is running here, and no file has the name.",
    "SMG050": (
        "Without a grammar backend TokenSpeed enforces nothing: a request with response_format, tool_choice required "
        "or a named tool, regex or ebnf is aborted, which reaches the client as HTTP 200 with content null and "
        'finish_reason "abort". The default, xgrammar, enforces all of them.'
    ),
    "SMG051": (
        "With output logprobs off, TokenSpeed aborts a request that asks for logprobs. Leave enable_output_logprobs "
        "alone: its default is true."
    ),
    "SMG052": (
        "Both pools answer under one name, and the gateway chooses between them for every request. What one enforces "
        "and the other does not then depends on chance: measured, the answers alternate. Make the pools the same, or "
        "two deployments of them. It is a warning where the answers only vary."
    ),
    "SMG053": (
        "The engine begins a grammar behind the reasoning, and the gateway takes the reasoning out of the answer; "
        "each needs to know the format. Say it once, as reasoning_parser of the pool, and both get it."
    ),
    "SMG054": (
        "The plan gives each worker its own GPUs by CUDA_VISIBLE_DEVICES, and env or wrapper sets that variable anew: "
        "workers share GPUs, or see fewer than they use. Set gpus of the pool instead, or use {gpus}."
    ),
    "SMG055": (
        "smgcfg starts everything on one machine. In a Slurm step of several nodes TokenSpeed 0.1.1 takes itself for "
        "a part of an engine that spans them, and waits for the others; in a step of several tasks each starts the "
        "whole deployment."
    ),
    "SMG056": (
        "The gateway is told to choose among the data-parallel ranks of a worker, and no worker has more than one. "
        "Leave that out, or set data_parallel_size of the engine."
    ),
    "SMG057": (
        "0.0.0.0 and :: are addresses to listen on and none to call; :: means those of IPv4 too; a name may be "
        "another address elsewhere; a link-local address needs its interface. Over zmq a worker has no address at "
        "all."
    ),
    "SMG058": (
        "Everybody who reaches the address may use the port: metrics tell what is asked and how much, a worker "
        "answers without the gateway, and the control port changes weights. Bind it to 127.0.0.1, or guard it "
        "otherwise."
    ),
    "SMG059": (
        "The words of a command are shown by ps to every user of the machine. smg 1.13.0 reads no variable for its "
        "API keys, so there is no other way for them; the secrets of its databases are passed by environment."
    ),
    "SMG060": (
        'A secret in a file is in its backups and its repository, one in a command line in ps. Write { env = "NAME" } '
        'or { file = "PATH" } in its place, in a file and behind --set.'
    ),
    "SMG061": (
        "Of a flag that stands twice, most programs take the last and say nothing. smg also takes the beginning of a "
        "flag for the flag, so that extra can set what smgcfg has set."
    ),
    "SMG062": (
        "Kubernetes puts variables like SMG_PORT=tcp://10.0.0.1:8080 into every pod for a Service named smg, and a "
        "program may read them as settings. smg makes numbers of REDIS_POOL_MAX and its like whatever the flags say, "
        "and ends when one is none."
    ),
    "SMG063": (
        "smg takes settings of its databases from variables where no flag says otherwise, so that the same file gives "
        "another gateway elsewhere. Say it in the file."
    ),
    "SMG064": (
        "The model is written like a path, and there is no such folder. A path begins with /, ./ or ../; anything "
        "else is the name of a model on a hub."
    ),
    "SMG065": (
        "At its start smg looks for tokenizer.json, tiktoken.model, *.tiktoken, or vocab.json with merges.txt, and "
        "ends without one. Set tokenizer of the pool where the model has none."
    ),
    "SMG066": (
        "Without a chat template (in tokenizer_config.json, chat_template.json or chat_template.jinja) the gateway "
        "answers every chat request with HTTP 400. Set chat_template of the pool."
    ),
    "SMG067": (
        "A setting of the gateway names a file or a folder that is not there; the gateway would end at its start."
    ),
    "SMG068": (
        "The value holds $NAME, ${NAME} or ~ as a shell would read it. No shell does: the program gets the very "
        'characters. Write { env = "NAME" } in place of the value, or write out what it stands for.'
    ),
    "SMG069": (
        "The pool lists GPUs, and its workers, each with the product of its parallel sizes, do not use all of them: "
        "those at the end stay idle. Have more replicas or larger ones, or leave the rest out for others."
    ),
}
