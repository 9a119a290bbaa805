"""Names as a sentence has them; texts cut to fit; threads and agents as a command has them."""

from collections.abc import Iterable
from shlex import quote

from brenner.diagnostics.visible import visible

_MOST_NAMES = 7


def joined(names: Iterable[str]) -> str:
    """Names as in a sentence: `BlueLake, GreenDog and RedCreek`."""
    shown = [visible(name) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def cut(text: str, most: int) -> str:
    """A text of at most so many characters; one that goes on says so."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def as_option(actor: str, operator: str) -> str:
    """What a command must say for somebody who is not the operator."""
    return "" if actor == operator else f" --as {quote(visible(actor))}"


def thread_argument(thread_id: str) -> str:
    """A thread ID as one types it; one that begins with a hyphen is no option."""
    return "-- " * thread_id.startswith("-") + quote(visible(thread_id, len(thread_id) + 1))
