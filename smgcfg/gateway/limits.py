"""Ranges that many settings of the gateway share; each is (lowest, highest), both inclusive."""

from typing import Final

NATURAL: Final = (0, None)
POSITIVE: Final = (1, None)
U32: Final = (0, 2**32 - 1)
POSITIVE_U32: Final = (1, 2**32 - 1)
I32_AT_MOST: Final = (None, 2**31 - 1)
PORT: Final = (1, 65535)
SHARE: Final = (0, 1)

#: Conditions of limits: the gateway checks a policy's or a storage's settings only where it is in use.
CACHE_AWARE: Final = (("policy", "cache_aware"),)
PREFIX_HASH: Final = (("policy", "prefix_hash"),)
LEAST_LOAD: Final = (("policy", "least_load"),)
ORACLE: Final = (("history_backend", "oracle"),)
POSTGRES: Final = (("history_backend", "postgres"),)
REDIS: Final = (("history_backend", "redis"),)
