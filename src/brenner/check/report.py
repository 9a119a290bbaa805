"""What a check found, as a value and as the stable JSON (design, JSON)."""

from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic, Summary
from brenner.thread.ids import is_valid


class CheckedDelta(NamedTuple):
    """One delta block of the message: what it says, as written, and whether it would be applied."""

    block: int
    line: int
    operation: str | None
    section: str | None
    target_id: str | None
    valid: bool


class Report(NamedTuple):
    """Everything that was found out about one message. Lines count in the text that was given."""

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
            "deltas": [delta._asdict() for delta in self.deltas],
            "corrected": self.corrected,
            "cross_reference": reference,
        }
