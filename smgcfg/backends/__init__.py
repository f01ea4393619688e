"""What smgcfg knows of each engine."""

from collections.abc import Mapping
from typing import Any, Final

from smgcfg.backends._base import Backend
from smgcfg.backends.tokenspeed.backend import TOKENSPEED

#: Every engine, by the word after `backend =`.
BACKENDS: Final[Mapping[str, Backend[Any]]] = {TOKENSPEED.name: TOKENSPEED}
