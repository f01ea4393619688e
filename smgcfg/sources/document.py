"""One TOML document: its data, the places of its keys, and the reading of a single table."""

import os
from typing import Any

from smgcfg.args import Args, mapping_layer
from smgcfg.errors import ConfigError, Finding, error, errors_in
from smgcfg.origin import FromFile
from smgcfg.overlay import Layer
from smgcfg.sources.toml_text import TomlProblem, read_toml


class Document:
    """A TOML file that could be read.

    Attributes:
        path: The file as the operator named it.
        data: What it says.
        text: Its text, for the lines of its keys.
    """

    def __init__(self, path: str, data: dict[str, Any], text: str) -> None:
        self.path = path
        self.data = data
        self.text = text
        self._lines: dict[tuple[str | int, ...], int] | None = None

    def origin(self, path: tuple[str, ...]) -> FromFile:
        """Return the place of a key, whose line is looked up when somebody asks for it."""
        return FromFile(self.path, lambda: self._line(path))

    def _line(self, path: tuple[str, ...]) -> int | None:
        if self._lines is None:
            # Imported here: only a report needs lines.
            from smgcfg.sources.toml_lines import key_lines

            self._lines = key_lines(self.text)
        return self._lines.get(path)

    def anchored(self, value: Any) -> Any:
        """Return a value with every text that begins with ./ or ../ made relative to where the command runs."""
        if isinstance(value, list):
            return [self.anchored(item) for item in value]
        if isinstance(value, dict) and value.keys() == {"file"}:
            return {"file": self.anchored(value["file"])}
        if not isinstance(value, str) or not value.startswith(("./", "../")):
            return value
        joined = os.path.normpath(os.path.join(os.path.dirname(self.path), value))
        # Without the dot, "models/a" would read as a name on a model hub, and "bin/python" as a word to look up.
        return joined if os.path.isabs(joined) or joined.startswith("..") else f"./{joined}"


def read_document(path: str, data: bytes) -> Document | Finding:
    """Parse a file, or return the finding that says why it can not be.

    Args:
        path: The file as the operator named it.
        data: Its bytes.
    """
    try:
        parsed, text = read_toml(data)
    except TomlProblem as problem:
        where = FromFile(path, problem.line)
        return error("SMG001", "", str(problem), where, problem.hint or "")
    return Document(path, parsed, text)


def table_layer(cls: type[Args], text: str) -> Layer[str]:
    """Read the text of one table of settings.

    Args:
        cls: The class of the settings.
        text: TOML, as it stands in an `[engine]` or `[gateway]` table.

    Raises:
        ConfigError: Every problem, each with its line.
    """
    document = read_document("<toml>", text.encode("utf-8", "surrogatepass"))
    if isinstance(document, Finding):
        raise ConfigError([document])
    data = dict(document.data)
    unset = data.pop("unset", [])
    layer, findings = mapping_layer(cls, data, lambda key: document.origin((key,)))
    if not isinstance(unset, list) or not all(isinstance(key, str) for key in unset):
        findings.append(error("SMG003", "unset", "expected a list of keys", document.origin(("unset",))))
    else:
        taken, more = mapping_layer(cls, dict.fromkeys(unset), lambda _: document.origin(("unset",)))
        both = [key for key, _ in taken.items() if key in dict(layer.items())]
        findings += more + [error("SMG009", key, "set and unset at once", document.origin(("unset",))) for key in both]
        layer += taken
    if errors_in(findings):
        raise ConfigError(findings)
    return layer
