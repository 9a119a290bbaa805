"""Conflicts: edits that displaced what another author had said meanwhile (R12)."""

from typing import NamedTuple

from brenner.artifact.blame import Path, Source
from brenner.artifact.model import Reference


class Displaced(NamedTuple):
    """A value that had to give way, and who had set it."""

    value: object
    source: Source


class Conflict(NamedTuple):
    """One field on which authors disagree, not having seen each other's edits.

    `value` stands (None where it was taken away), set by `source`; `version` is the one in which
    the conflict arose. It is open until somebody edits the field on a base that contains it.
    """

    item_id: str
    path: Path
    version: int
    value: object
    source: Source
    displaced: tuple[Displaced, ...]

    @property
    def field(self) -> str:
        """The field as people write it: `claim`, `predictions.H2`."""
        return ".".join(self.path)

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "item_id": self.item_id,
            "field": self.field,
            "version": self.version,
            "value": _plain(self.value),
            **_source(self.source),
            "displaced": [
                {"value": _plain(lost.value), **_source(lost.source)} for lost in self.displaced
            ],
        }


def _source(source: Source) -> dict[str, object]:
    return {"agent": source.agent, "message_id": source.message_id, "block": source.block}


def _plain(value: object) -> object:
    """A value as JSON has it: a list of texts, or of references as objects."""
    if not isinstance(value, tuple):
        return value
    return [each._asdict() if isinstance(each, Reference) else each for each in value]
