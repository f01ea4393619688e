"""Did you mean: the nearest known names to one that is unknown."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "did you mean X?", or an empty text when nothing is near.

    Args:
        word: What arrived.
        known: The names there are.
    """
    near = nearest(word, known)
    return f"did you mean {near}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known name that is most like another, or an empty text when nothing is near.

    Args:
        word: What arrived.
        known: The names there are.
    """
    # Imported here: only a report needs it, and it is not cheap.
    import difflib

    names = {name.lower().replace("-", "_"): name for name in known}
    near = difflib.get_close_matches(word.lower().replace("-", "_"), names, n=1, cutoff=0.72)
    return names[near[0]] if near else ""
