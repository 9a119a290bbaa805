"""Where a message goes, as a value, and the evidence that it is told from."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.state import Entry
from brenner.diagnostics.model import Diagnostic
from brenner.text import visible

_MOST_LISTED = 6
_MOST_CHARACTERS = 40  # of a name or an ID, which may be any text
_NOTHING: Mapping[str, int] = MappingProxyType({})
_NO_CHANGES: Mapping[str, list[str]] = MappingProxyType({})


class Step(StrEnum):
    """What is done with a message; the words are the stable ones of the JSON."""

    INITIALIZE = "session_initialization"
    MERGE = "merge"
    DISTRIBUTE = "render_and_distribute"
    REVIEW = "queue_for_review"
    SETTLE = "settle"
    WAIT = "wait"
    NOTE = "note"
    NOTHING = "nothing"


class Route(NamedTuple):
    """What a message means for its session.

    `model` is the shorthand in `DELTA[…]`. `blocks` are the fates of its delta blocks, `items` what
    they end on, `codes` why some are refused, or why it is no version.
    """

    type: str | None
    step: Step
    words: str
    items: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    blocks: Mapping[str, int] = _NOTHING
    model: str | None = None

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "type": self.type,
            "model": self.model,
            "step": self.step.value,
            "words": self.words,
            "items": list(self.items),
            "waiting_for": list(self.waiting_for),
            "codes": list(self.codes),
            "blocks": dict(self.blocks),
        }


class Evidence(NamedTuple):
    """What the chains of versions show of one message, beyond the status of its session.

    `entries` is what became, or would become, of its blocks; `changes` the IDs that its version
    added, modified and killed; `no_version` why a COMPILED message is none.
    """

    entries: tuple[Entry, ...] = ()
    changes: Mapping[str, list[str]] = _NO_CHANGES
    no_version: Diagnostic | None = None


NOTHING_MORE = Evidence()


def listed(words: Iterable[str]) -> str:
    """`H1, H2 and 4 more`; whatever they hold is made safe to show."""
    shown = [visible(word, _MOST_CHARACTERS) for word in words]
    if len(shown) > _MOST_LISTED:
        shown = [*shown[: _MOST_LISTED - 1], f"{len(shown) - _MOST_LISTED + 1} more"]
    *most, last = shown or ["nobody"]
    return f"{', '.join(most)} and {last}" if most else last
