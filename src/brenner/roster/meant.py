"""The key or role that was probably meant by another word."""

from collections.abc import Iterable

from brenner.text import nearest

_SHORTEST_PART = 4


def meant(word: str, known: Iterable[str]) -> str | None:
    """The one known word that is near, or that this is a part of: `generator`, `agent`."""
    names = tuple(known)
    near = nearest(word, names)
    if near is not None or len(word) < _SHORTEST_PART:
        return near
    holding = [name for name in names if word.casefold() in name.casefold()]
    return holding[0] if len(holding) == 1 else None
