"""Diagnostics and exceptions.

A `Code` is written once, in the catalogue, with everything that a person needs to understand it. A
`Diagnostic` is one occurrence of it, with its parameters filled in and its location.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple, Self

from brenner.text import escape_control


class Severity(StrEnum):
    """The severity of a code. Only an error stops the message or block that it is about."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

ExampleKind = Literal["thread_id", "subject", "message", "block", "text"]


class Example(NamedTuple):
    """A wrong text and its correction, side by side.

    A `message` omits irrelevant headers. A `block` is the content of a delta block. A `text` is
    only for reading; tests check all other kinds.
    """

    kind: ExampleKind
    wrong: str
    right: str


class Code(NamedTuple):
    """One entry of the catalogue. A published ID never changes its meaning."""

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
        """Return an occurrence of this code; `words` are the parameters of its message and fix."""
        shown = {name: escape_control(str(word)) for name, word in words.items()}
        message, fix = self.message.format_map(shown), self.fix.format_map(shown)
        meant = getattr(words.get("suggestion"), "meant", None)
        return Diagnostic(self, message, fix, line, self.also, suggestion=meant)


class Diagnostic(NamedTuple):
    """What is wrong, where, and how to fix it."""

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
    readings: tuple[str, ...] = ()  # complete blocks; the author has to choose one
    left_out: "Summary | None" = None  # for MORE_DIAGNOSTICS: how many were omitted

    @property
    def id(self) -> str:
        """The code's ID."""
        return self.code.id

    @property
    def severity(self) -> Severity:
        """The code's severity."""
        return self.code.severity

    def in_block(self, number: int, item: str | None = None, field: str | None = None) -> Self:
        """Return the diagnostic with its delta block, and the item and field there."""
        return self._replace(block=number, item=item, field=field)

    def moved(self, lines: int) -> Self:
        """Return the diagnostic for a text with `lines` more lines before it."""
        return self if self.line is None else self._replace(line=self.line + lines)

    def to_json(self) -> dict[str, object]:
        """Return the diagnostic as stable JSON: keys are only added, never changed."""
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
    """The number of diagnostics of each severity."""

    errors: int
    warnings: int
    info: int

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> Self:
        """Count the diagnostics.

        One that represents omitted ones counts as those, not as itself.
        """
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
_COUNT_RANK = 3  # the rank of a diagnostic that counts omitted ones
_AFTER_ALL_LINES = 2**62


def worst_first(diagnostic: Diagnostic) -> tuple[int, int]:
    """Return the sort key of every displayed list of diagnostics: severity, then line."""
    if diagnostic.left_out is not None:
        return (_COUNT_RANK, diagnostic.line or _AFTER_ALL_LINES)
    return (_RANK[diagnostic.severity], diagnostic.line or 0)


# Exceptions. Invalid text is never raised: parsers return diagnostics with what they could read.
#
#     BrennerError                has the diagnostic: what is wrong, where, and how to fix it
#     ├── RequestError            the request is not possible; nothing was done
#     │   └── AlteredError        it was done, but not exactly as requested
#     └── UnavailableError        no store, no disk, no server, no permission
#         └── UnknownOutcomeError the response was lost; the request may have been executed


class BrennerError(Exception):
    """An error that a command, page or tool shows as a diagnostic, never as a traceback."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.id}: {diagnostic.message}")
        self.diagnostic = diagnostic

    @property
    def details(self) -> tuple[str, ...]:
        """Texts of several lines that belong to the error, for people to read."""
        return ()


class RequestError(BrennerError):
    """A request that is not possible: an unknown name, an invalid setting, a changed thread."""


class AlteredError(RequestError):
    """A server stored a message differently from how it was sent. The message remains stored."""


class UnavailableError(BrennerError):
    """An external resource cannot be used now."""


class UnknownOutcomeError(UnavailableError):
    """A connection was lost after a request to store something; the outcome is unknown."""
