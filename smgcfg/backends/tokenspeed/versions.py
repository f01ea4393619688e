"""The releases of TokenSpeed that the declarations cover."""

from typing import Final

#: Every release that ships a snapshot, the newest last.
VERSIONS: Final = ("0.1.0", "0.1.1")

#: For settings and spellings that only one release has.
V010: Final = ("0.1.0",)
V011: Final = ("0.1.1",)
