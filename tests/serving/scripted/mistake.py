"""A mistake in a message: what is sent, what it must be told, and what was meant by it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from serving.scripted.contributions import Delta, body, fenced, proper, written

SUBJECT = "DELTA[gemini]: An attack on the framing"
REFUSED, APPLIED, ADVISED = "refused", "applied", "advised"


class Mistake(NamedTuple):
    """One attempt: what is sent, what it must be told, and the deltas that were meant.

    `outcome` is what becomes of the attempt itself. One that is refused or only stored is followed
    by another: with what `corrected` gives, where `has_correction`, else with what was meant.
    """

    name: str
    code: str
    meant: tuple[Delta, ...]
    body_md: str
    outcome: str = REFUSED
    has_correction: bool = False
    subject: str = SUBJECT
    base: int | None = None
    more: Mapping[str, Any] = MappingProxyType({})  # further arguments
    tool: str = "send_message"


def corrected(name: str, code: str, spoil: Callable[[str], str], delta: Delta) -> Mistake:
    """A block that is spoilt in one certain way."""
    return Mistake(name, code, (delta,), body(spoil(written(delta))), has_correction=True)


def in_block(spoil: Callable[[str], str]) -> Callable[[str], str]:
    """The block with its text spoilt."""
    return lambda text: fenced(spoil(text))


def replaced(old: str, new: str) -> Callable[[str], str]:
    """The block in which something stands for something else."""

    def spoil(text: str) -> str:
        assert old in text, text
        return fenced(text.replace(old, new, 1))

    return spoil


def meant_otherwise(
    name: str, code: str, wrong: Delta, meant: Delta, base: int | None = None
) -> Mistake:
    """A block that says something which cannot be, and what it should have said."""
    return Mistake(name, code, (meant,), proper(wrong, base=base), base=base)
