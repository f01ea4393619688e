"""The releases of the gateway that the declarations cover."""

from typing import Final

#: tokenspeed-smg 1.10.1 is the gateway that TokenSpeed 0.1.1 pins, smg 1.13.0 the one that smgcfg launches; the newest
#: last.
VERSIONS: Final = ("1.10.1", "1.13.0")

#: For settings that only the newer release has.
V1130: Final = ("1.13.0",)

#: The packages that bring the gateway: smg's own, and the build of it that TokenSpeed 0.1.1 pins.
DISTRIBUTIONS: Final = ("smg", "tokenspeed-smg")
