"""What a diagnostic is: a code of the catalogue, and one place where it applies.

A `Code` is written once, in the catalogue, with everything that a person needs to understand it.
A `Diagnostic` is one occurrence of it: the words filled in, the place known.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple, Self

from brenner.text import escape_control


class Severity(StrEnum):
    """An error stops the message or the block that it is about; a warning or an info does not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

ExampleKind = Literal["thread_id", "subject", "message", "block", "text"]


class Example(NamedTuple):
    """The fault and its mending, side by side.

    A `message` leaves out the headers that do not matter; a `block` is the inside of a delta
    block; a `text` is for reading only, whereas all others are checked by the tests.
    """

    kind: ExampleKind
    wrong: str
    right: str


class Code(NamedTuple):
    """One entry of the catalogue. An id, once published, never changes its meaning."""

    id: str
    severity: Severity
    title: str
    message: str
    fix: str
    why: str
    spec: str
    example: Example
    also: tuple[str, ...] = ()
    since: str = "0.1.0"
    retired: str | None = None

    def at(self, line: int | None = None, **words: str | int) -> "Diagnostic":
        """An occurrence of this code; `words` fill the places in its message and fix."""
        shown = {name: escape_control(str(word)) for name, word in words.items()}
        message, fix = self.message.format_map(shown), self.fix.format_map(shown)
        meant = getattr(words.get("suggestion"), "meant", None)
        return Diagnostic(self, message, fix, line, self.also, suggestion=meant)


class Diagnostic(NamedTuple):
    """What is wrong, where, and how to mend it."""

    code: Code
    message: str
    fix: str
    line: int | None = None
    also: tuple[str, ...] = ()
    block: int | None = None
    item: str | None = None
    field: str | None = None
    repaired: str | None = None
    suggestion: str | None = None
    message_id: int | None = None
    readings: tuple[str, ...] = ()  # ready blocks, of which the author has to choose one
    left_out: "Summary | None" = None  # of MORE_DIAGNOSTICS: how many it stands for

    @property
    def id(self) -> str:
        """The code's id."""
        return self.code.id

    @property
    def severity(self) -> Severity:
        """The code's severity."""
        return self.code.severity

    def in_block(self, number: int, item: str | None = None, field: str | None = None) -> Self:
        """The same diagnostic, about a delta block, and there about an item and a field."""
        return self._replace(block=number, item=item, field=field)

    def moved(self, lines: int) -> Self:
        """The same diagnostic in a text that has so many lines more before it."""
        return self if self.line is None else self._replace(line=self.line + lines)

    def to_json(self) -> dict[str, object]:
        """The stable form of a diagnostic; keys are only ever added."""
        known: dict[str, object] = {
            "also": list(self.also) or None,
            "block": self.block,
            "item": self.item,
            "field": self.field,
            "spec": self.code.spec,
            "repaired": self.repaired,
            "suggestion": self.suggestion,
            "message_id": self.message_id,
            "readings": list(self.readings) or None,
            "left_out": self.left_out._asdict() if self.left_out else None,
        }
        return {
            "id": self.id,
            "severity": str(self.severity),
            "message": self.message,
            "fix": self.fix,
            "line": self.line,
        } | {key: value for key, value in known.items() if value is not None}


class Summary(NamedTuple):
    """How many diagnostics of each severity."""

    errors: int
    warnings: int
    info: int

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> Self:
        """Count them. One that stands for others counts as those, not as itself."""
        found = list(diagnostics)
        severities = [each.severity for each in found if each.left_out is None]
        counted = cls(severities.count(ERROR), severities.count(WARNING), severities.count(INFO))
        for each in found:
            counted = counted.plus(each.left_out) if each.left_out else counted
        return counted

    def plus(self, other: "Summary") -> Self:
        """Return the sums."""
        sums = (self.errors + other.errors, self.warnings + other.warnings, self.info + other.info)
        return type(self)(*sums)


_RANK = {ERROR: 0, WARNING: 1, INFO: 2}
_LAST = 3  # the rank of a diagnostic that counts others
_BEHIND_ALL_LINES = 2**62


def worst_first(diagnostic: Diagnostic) -> tuple[int, int]:
    """The sort key of every list of diagnostics that is shown: severity, then line."""
    if diagnostic.left_out is not None:
        return (_LAST, diagnostic.line or _BEHIND_ALL_LINES)
    return (_RANK[diagnostic.severity], diagnostic.line or 0)


# What is raised. A wrong text is never raised but returned, as diagnostics beside what was read.
#
# The tree:
#     BrennerError            carries the diagnostic that says what, where and how to mend it
#     ├── Refused             the request cannot be granted as things stand: nothing was done
#     │   └── Altered         it was done, but not as it was asked for
#     └── Unavailable         the world is broken: no store, no disk, no server, no permission
#         └── Uncertain       the answer got lost: it may have been done, or not


class BrennerError(Exception):
    """Something that a command, page or tool shows as a diagnostic, never as a traceback."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.id}: {diagnostic.message}")
        self.diagnostic = diagnostic

    @property
    def details(self) -> tuple[str, ...]:
        """Texts of several lines that belong to it, for people to read."""
        return ()


class RequestError(BrennerError):
    """The request contradicts what is stored: an unknown name, a thread that has moved."""


class AlteredError(RequestError):
    """A server stored a message otherwise than it was sent; it is there, and stays."""


class UnavailableError(BrennerError):
    """Something outside cannot be used now."""


class UnknownOutcomeError(UnavailableError):
    """A server was lost after it was asked to store something, and cannot be asked any more."""
