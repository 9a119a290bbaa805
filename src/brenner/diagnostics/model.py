"""Diagnostics and exceptions.

A `Code` is defined once, in `codes/`. A `Diagnostic` is one occurrence of it: the code, its
parameters and the location. Its words are made when it is shown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Self

from brenner.named_tuple import NamedTuple
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brenner.diagnostics.explanations import Example


class Severity(StrEnum):
    """The severity of a code. Only an error stops the message or block that it is about."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def shown_id(code_id: str) -> str:
    """Return the ID for people: `MB-004 (no delta block)`, or the ID alone if it is a word."""
    if code_id[2:3] != "-":
        return code_id
    from brenner.diagnostics.labels import LABELS  # most commands show no numbered code

    return f"{code_id} ({LABELS[code_id]})"


class Code(NamedTuple):
    """One entry of the catalogue. A published ID never changes its meaning.

    `message` and `fix` are templates. The rest, which people read, is in `catalogue.toml`.
    """

    id: str
    severity: Severity
    message: str
    fix: str
    spec: str
    also: tuple[str, ...] = ()
    retired: str | None = None

    @property
    def shown_id(self) -> str:
        """The ID with its label, for people: `MB-004 (no delta block)`."""
        return shown_id(self.id)

    @property
    def title(self) -> str:
        """What is wrong, in a few words."""
        return self._explanation["title"]

    @property
    def why(self) -> str:
        """The reason for the code."""
        return self._explanation["why"]

    @property
    def since(self) -> str:
        """The first release that has the code."""
        return self._explanation.get("since", "0.1.0")

    @property
    def example(self) -> Example:
        """A text that gets the code, and one that does not."""
        from brenner.diagnostics.explanations import example

        return example(self.id)

    @property
    def _explanation(self) -> dict[str, str]:
        from brenner.diagnostics.explanations import explanation  # reads a file; rarely needed

        return explanation(self.id)

    def at(self, line: int | None = None, **parameters: str | int | Diagnostic) -> Diagnostic:
        """Return an occurrence of this code, with the parameters of its message and fix."""
        meant = getattr(parameters.get("suggestion"), "meant", None)
        given = tuple(parameters.items())
        return Diagnostic(self, None, None, line, self.also, suggestion=meant, parameters=given)


def error(code_id: str, message: str, fix: str, spec: str, also: tuple[str, ...] = ()) -> Code:
    """Define the code of an error."""
    return Code(code_id, ERROR, message, fix, spec, also)


def warning(code_id: str, message: str, fix: str, spec: str, also: tuple[str, ...] = ()) -> Code:
    """Define the code of a warning."""
    return Code(code_id, WARNING, message, fix, spec, also)


def info(code_id: str, message: str, fix: str, spec: str, also: tuple[str, ...] = ()) -> Code:
    """Define the code of an info."""
    return Code(code_id, INFO, message, fix, spec, also)


# Parameters that templates got after diagnostics without them had been stored
OPTIONAL_PARAMETERS = {
    "known": "",
    "suggestion": "",
    "right": "`**Base Version**: vN`",
    "how": "Leave `{id}` out.",
    "session": "THREAD",
    "counts": "",
}


class _DiagnosticFields(NamedTuple):
    """The fields of a diagnostic as stored."""

    code: Code
    message: str | None  # None: made from the code's template and the parameters
    fix: str | None
    line: int | None = None
    also: tuple[str, ...] = ()
    block: int | None = None
    item: str | None = None
    field: str | None = None
    repaired: str | None = None
    suggestion: str | None = None
    message_id: int | None = None
    readings: tuple[str, ...] = ()  # complete blocks; the author has to choose one
    left_out: Summary | None = None  # for MORE_DIAGNOSTICS: how many were omitted
    fixable: bool = False  # whether a certain correction of the text removes it
    parameters: tuple[tuple[str, str | int | Diagnostic], ...] = ()


class Diagnostic(_DiagnosticFields):
    """What is wrong, where, and how to fix it."""

    __slots__ = ()

    @property
    def message(self) -> str:
        """What is wrong, safe to show."""
        return self._words(self[1], self.code.message)

    @property
    def fix(self) -> str:
        """What to do, safe to show."""
        return self._words(self[2], self.code.fix)

    def __str__(self) -> str:
        return self.message

    def _words(self, given: str | None, template: str) -> str:
        if given is not None:
            return given
        shown = {name: escape_control(str(value)) for name, value in self.parameters}
        return template.format_map(OPTIONAL_PARAMETERS | shown)

    @property
    def id(self) -> str:
        """The code's ID."""
        return self.code.id

    @property
    def shown_id(self) -> str:
        """The code's ID with its label, for people."""
        return shown_id(self.code.id)

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
            "fixable": self.fixable,
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

    def plus(self, other: Summary) -> Self:
        """Return the sums."""
        sums = (self.errors + other.errors, self.warnings + other.warnings, self.info + other.info)
        return type(self)(*sums)


def is_error(found: Diagnostic) -> bool:
    """Return whether it is an error, or represents omitted ones."""
    return found.severity is ERROR or (found.left_out is not None and found.left_out.errors > 0)


def are_fixable(found: Iterable[Diagnostic]) -> bool:
    """Return whether every error has a certain correction. Without an error, return False."""
    errors = [each for each in found if is_error(each)]
    return bool(errors) and all(each.fixable for each in errors)


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
    """An error that a command, page or tool shows as a diagnostic, never as a traceback.

    `details` are texts of several lines that belong to it, for people to read.
    """

    def __init__(self, diagnostic: Diagnostic, details: tuple[str, ...] = ()) -> None:
        super().__init__(f"{diagnostic.id}: {diagnostic.message}")
        self.diagnostic = diagnostic
        self.details = details


class RequestError(BrennerError):
    """A request that is not possible: an unknown name, an invalid setting, a changed thread."""


class AlteredError(RequestError):
    """A server stored a message differently from how it was sent. The message remains stored."""


class UnavailableError(BrennerError):
    """An external resource cannot be used now."""


class UnknownOutcomeError(UnavailableError):
    """A connection was lost after a request to store something; the outcome is unknown."""
