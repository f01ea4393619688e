"""Files that a deployment needs. These checks look at the machine, so they run in `smgcfg check` alone."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Final

from smgcfg.checks.subject import Subject
from smgcfg.errors import Finding
from smgcfg.planning.derive import GATEWAY
from smgcfg.schema import Path

#: The name of a model on a hub: an owner and a name, or a name alone.
_HUB_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", re.ASCII)

#: Settings of the gateway that name a file or a folder.
_NAMES_FILE: Final = (
    "chat_template",
    "tls_cert_path",
    "tls_key_path",
    "client_cert_path",
    "client_key_path",
    "ca_cert_paths",
    "mesh_tls_ca_cert",
    "mesh_tls_cert",
    "mesh_tls_key",
    "priority_scheduler_config",
    "tenant_rate_limit_config",
    "mcp_config_path",
    "storage_hook_wasm_path",
    "schema_config",
    "discovery_file",
    "oracle_wallet_path",
)


def model_missing(subject: Subject) -> Iterator[Finding]:
    """SMG064: the model is neither a folder that exists nor the name of a model on a hub."""
    for shape in subject.shapes:
        path = (*shape.path, "model") if shape.pool.model is not None else (*shape.path, "engine", "model")
        model = shape.model
        if model is None or os.path.isdir(model):
            continue
        if model.startswith("~"):
            message = f"{model!r}: only a shell knows what ~ stands for"
            yield subject.finding("error", "SMG064", path, message, f"write {os.path.expanduser(model)}")
        elif model.startswith(("/", "./", "../")) or not _HUB_NAME.fullmatch(model):
            what = "is no folder" if os.path.exists(model) else "does not exist"
            yield subject.finding("error", "SMG064", path, f"{model!r} {what}")


def tokenizer_missing(subject: Subject) -> Iterator[Finding]:
    """SMG065: the gateway finds no tokenizer where it looks for one, and does not start (smg 1.13.0, measured)."""
    found = _tokenizer(subject)
    if found is None or subject.gateway.disable_tokenizer_autoload:
        return
    path, folder = found
    names = set(os.listdir(folder))
    one_file = {name for name in names if name in ("tokenizer.json", "tiktoken.model") or name.endswith(".tiktoken")}
    if not one_file and not {"vocab.json", "merges.txt"} <= names:
        lacks = "tokenizer.json, tiktoken.model, *.tiktoken, nor vocab.json with merges.txt"
        message = f"no tokenizer in {str(folder)!r}: no {lacks}"
        yield subject.finding("error", "SMG065", path, message, "set the pool's tokenizer to a folder that has one")


def template_missing(subject: Subject) -> Iterator[Finding]:
    """SMG066: the gateway finds no chat template, so that every chat request is answered with HTTP 400 (measured)."""
    found = _tokenizer(subject)
    if found is None or subject.gateway.chat_template is not None:
        return
    path, folder = found
    own_file = any((folder / name).exists() for name in ("chat_template.json", "chat_template.jinja"))
    if not own_file and "chat_template" not in _config(folder / "tokenizer_config.json"):
        message = f"no chat template in {str(folder)!r}: chat requests are answered with HTTP 400"
        yield subject.finding("warning", "SMG066", path, message, "set the pool's chat_template to a file")


def file_missing(subject: Subject) -> Iterator[Finding]:
    """SMG067: a file that a setting of the gateway names does not exist."""
    for key in _NAMES_FILE:
        value = getattr(subject.gateway, key)
        for name in value if isinstance(value, tuple) else filter(None, (value,)):
            if not os.path.exists(name):
                yield subject.finding("error", "SMG067", _written(subject, key), f"{name!r} does not exist")


def _written(subject: Subject, key: str) -> Path:
    """Return where a setting of the gateway is written: for a fact about the model, on the pool."""
    path = (*GATEWAY, key)
    if path in subject.planned.derived and subject.shapes and hasattr(subject.shapes[0].pool, key):
        return (*subject.shapes[0].path, key)
    return path


def _tokenizer(subject: Subject) -> tuple[Path, FilePath] | None:
    """Return the key that says where the gateway has its tokenizer, and that folder; None where it is not here."""
    args = subject.gateway
    place = args.tokenizer_path or args.model_path
    if place is None or not os.path.isdir(place):
        return None
    key = "tokenizer_path" if args.tokenizer_path else "model_path"
    pool = subject.shapes[0].pool
    if (*GATEWAY, key) not in subject.planned.derived:
        return (*GATEWAY, key), FilePath(place)
    return ("pools", pool.name, "tokenizer" if pool.tokenizer == place else "model"), FilePath(place)


def _config(path: FilePath) -> dict[str, object]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
