"""A TOML file as a source: every key checked against the schema, to a layer of choices."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from smgcfg.codec import Refused
from smgcfg.config import Pool
from smgcfg.errors import Finding, error
from smgcfg.flags import find_key
from smgcfg.origin import Origin
from smgcfg.overlay import UNSET, Layer
from smgcfg.schema import Leaf, Path, Schema, Table, dotted
from smgcfg.sources.document import Document

#: More problems than anybody reads: a table of that many is something else.
MOST_FINDINGS: Final = 1000

Entries = dict[Path, tuple[Any, Origin]]


def document_layer(document: Document, schema: Schema) -> tuple[Layer[Path], list[Finding]]:
    """Check every key of a file.

    Args:
        document: The file.
        schema: Where each key belongs.

    Returns:
        What could be read, and every problem found.
    """
    walk = Walk(schema, document.origin, document.anchored)
    walk.table(schema.top, document.data, ())
    return Layer(walk.entries), walk.findings


class Walk:
    """One pass over nested data: the choices it makes, and everything that is wrong with it.

    Args:
        schema: Where each key belongs.
        origin: The place of a key, by the path as it was written.
        anchored: Makes paths relative to where the command runs.
    """

    def __init__(
        self, schema: Schema, origin: Callable[[Path], Origin], anchored: Callable[[Any], Any] = lambda value: value
    ) -> None:
        self.schema = schema
        self.origin = origin
        self.anchored = anchored
        self.entries: Entries = {}
        self.findings: list[Finding] = []
        self.written: dict[Path, Path] = {}

    def table(self, table: Table, data: Mapping[str, Any], raw: Path) -> None:
        """Read a table whose keys were written at `raw`."""
        for key, value in data.items():
            path = (*raw, key)
            if key == "unset" and table.kind not in ("env", "pools"):
                self._unset(table, value, path)
                continue
            child = self.schema.child(table, key)
            if child is None:
                self.findings.append(self.schema.unknown(table, key, self.origin(path)))
            elif isinstance(child, Leaf):
                self.leaf(child, value, path)
            elif isinstance(value, dict):
                self.table(child, value, path)
            else:
                message = f"expected a table, got {_kind(value)}"
                hint = _table_hint(child, key, value)
                self.findings.append(error("SMG003", dotted(child.path), message, self.origin(path), hint))
            if len(self.findings) > MOST_FINDINGS:
                return
            if len(self.findings) == MOST_FINDINGS:
                message = f"there are {MOST_FINDINGS} problems up to here; what follows was not looked at"
                self.findings.append(error("SMG001", dotted(path), message, self.origin(path)))
                return

    def leaf(self, leaf: Leaf, value: Any, raw: Path) -> None:
        """Read one setting."""
        try:
            checked = leaf.checked(self.anchored(value))
        except Refused as refused:
            self.findings.append(error(refused.code, dotted(raw), str(refused), self.origin(raw), refused.hint))
            return
        self._choose(leaf, checked, raw)

    def _choose(self, leaf: Leaf, value: Any, raw: Path) -> None:
        before = self.written.setdefault(leaf.path, raw)
        if before != raw:
            message = f"the same setting as {dotted(before)}"
            self.findings.append(error("SMG009", dotted(raw), message, self.origin(raw), "keep one of the two"))
            return
        self.entries[leaf.path] = (value, self.origin(raw))

    def _unset(self, table: Table, value: Any, raw: Path) -> None:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            message = f"expected a list of keys, got {_kind(value)}"
            self.findings.append(error("SMG003", dotted(raw), message, self.origin(raw), 'unset = ["grammar_backend"]'))
            return
        for key in value:
            child = self.schema.resolve((*table.path, *key.split(".")))
            if isinstance(child, Leaf):
                self._choose(child, UNSET, raw)
            elif isinstance(child, Finding):
                self.findings.append(child.evolve(where=self.origin(raw)))
            else:
                what = "a table, not a setting" if isinstance(child, Table) else "inside a setting, which is one value"
                message = f"{dotted((*table.path, *key.split('.')))} is {what}"
                self.findings.append(error("SMG003", dotted(raw), message, self.origin(raw)))


def _table_hint(table: Table, key: str, value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "write [pools.NAME]" if table.kind == "pools" else f"write [{dotted(table.path)}]"
    return "it belongs to [pools.NAME]" if table.kind == "pool" and find_key(Pool, key) is not None else ""


def _kind(value: object) -> str:
    names = {dict: "a table", list: "a list", str: "text", bool: "true or false", int: "an integer", float: "a number"}
    return names.get(type(value), "a date or time")
