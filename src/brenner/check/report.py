"""What a check found, as a value and as the stable JSON (design, JSON)."""

from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic, Summary
from brenner.limits import MOST_BLOCKS
from brenner.thread.ids import is_valid


class CheckedDelta(NamedTuple):
    """One delta block of the message: what it says, as written, and whether it would be applied.

    `code` is the first code of a block that would be refused, also where the report leaves its
    diagnostics out.
    """

    block: int
    line: int
    operation: str | None
    section: str | None
    target_id: str | None
    valid: bool
    code: str | None = None


def deltas_json(deltas: tuple[CheckedDelta, ...]) -> dict[str, object]:
    """Return the stable form of the blocks.

    Where there are too many, all are refused for that reason, and the first of them are listed.
    """
    listed = [delta._asdict() for delta in deltas[:MOST_BLOCKS]]
    return {"deltas": listed, "deltas_total": len(deltas)}


class Report(NamedTuple):
    """Everything that was found out about one message. Lines count in the text that was given.

    Of very many violations the worst are there and the number of the others
    (`MORE_DIAGNOSTICS`). The summary counts all.
    """

    type: str | None
    thread_id: str | None
    violations: tuple[Diagnostic, ...]
    deltas: tuple[CheckedDelta, ...] = ()
    corrected: str | None = None

    @property
    def summary(self) -> Summary:
        """How many of each severity."""
        return Summary.of(self.violations)

    @property
    def valid(self) -> bool:
        """Whether the message may be sent."""
        return self.summary.errors == 0

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        from brenner.thread.cross_reference import cross_reference

        thread = self.thread_id
        reference = cross_reference(thread)._asdict() if thread and is_valid(thread) else None
        return {
            "valid": self.valid,
            "type": self.type,
            "thread_id": thread,
            "summary": self.summary._asdict(),
            "violations": [violation.to_json() for violation in self.violations],
            **deltas_json(self.deltas),
            "corrected": self.corrected,
            "cross_reference": reference,
        }
