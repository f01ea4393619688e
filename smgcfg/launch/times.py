"""Moments as text."""

import time


def stamp(moment: float) -> str:
    """Return a moment as ISO 8601 says it, in UTC: "2026-11-29T13:14:15.123Z".

    Args:
        moment: Seconds since 1970.
    """
    whole, thousandths = divmod(round(moment * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{thousandths:03}Z"
