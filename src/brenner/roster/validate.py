"""What the document asks of a roster: its rules 1 to 5, in its own words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.grammar import AGENT_NAME, ISO_TIME
from brenner.roster.heuristic import role_of_name
from brenner.roster.meant import meant
from brenner.roster.model import MODES, ROLES, Mode, Roster, Stated
from brenner.text import nearest, perhaps

_ANY_ROLE = (
    "In unified mode any of the three roles will do: all get the same prompt, but who stands in a "
    "roster has one."
)


class ValidationResult(NamedTuple):
    """Whether a roster is valid. `errors` are the messages of those violations that are errors."""

    valid: bool
    errors: tuple[str, ...]
    violations: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, violations: Iterable[Diagnostic]) -> "ValidationResult":
        """The result that these violations make."""
        found = tuple(violations)
        errors = tuple(each.message for each in found if each.severity is ERROR)
        return cls(not errors, errors, found)


def validate_roster(roster: Roster) -> ValidationResult:
    """Whether the roster can be used: names, roles, mode, and at least one entry."""
    return ValidationResult.of(_faults(roster))


def validate_roster_coverage(roster: Roster, recipients: Sequence[str]) -> ValidationResult:
    """Whether each recipient has an entry, or, in heuristic mode, a name that tells its role."""
    known = set(roster.names)
    missing = (name for name in dict.fromkeys(recipients) if name not in known)
    if roster.mode == Mode.HEURISTIC:
        return ValidationResult.of(
            sessions_codes.HEURISTIC_NAME_UNMATCHED.at(name=name)
            for name in missing
            if role_of_name(name) is None
        )
    found = (sessions_codes.MISSING_ROSTER_ENTRY.at(name=name) for name in missing)
    if roster.mode != Mode.UNIFIED:
        return ValidationResult.of(found)
    return ValidationResult.of(each._replace(fix=f"{each.fix} {_ANY_ROLE}") for each in found)


def _faults(roster: Roster) -> Iterator[Diagnostic]:
    yield from stated_faults(Stated(*roster))
    if roster.mode == Mode.HEURISTIC:
        yield sessions_codes.HEURISTIC_MODE_DEPRECATED.at()
    elif not roster.entries:
        yield sessions_codes.EMPTY_ROSTER.at(source="")


def stated_faults(stated: Stated) -> Iterator[Diagnostic]:
    """What is wrong with that which one source says of a roster."""
    seen: set[str] = set()
    for entry in stated.entries:
        if entry.agent_name in seen:
            yield sessions_codes.DUPLICATE_AGENT.at(name=entry.agent_name)
        elif not AGENT_NAME.fullmatch(entry.agent_name):
            yield messages_codes.INVALID_AGENT_NAME.at(name=entry.agent_name)
        seen.add(entry.agent_name)
        yield from role_faults(entry.agent_name, entry.role)
        yield from _unwritable(f" of {entry.agent_name}", entry._asdict())
    if stated.mode is not None and stated.mode not in MODES:
        near = perhaps(nearest(stated.mode, MODES))
        yield sessions_codes.UNKNOWN_ROSTER_MODE.at(value=stated.mode, suggestion=near)
    yield from _unwritable(" of the roster", {"name": stated.name})
    if stated.created_at is not None and not ISO_TIME.fullmatch(stated.created_at):
        yield sessions_codes.INVALID_ROSTER_TIME.at(value=stated.created_at)


def role_faults(name: str, role: str) -> Iterator[Diagnostic]:
    """Nothing, or that the role is not one of the three."""
    if role not in ROLES:
        near = perhaps(meant(role, ROLES))
        yield sessions_codes.INVALID_ROLE.at(name=name, role=role, suggestion=near)


def _unwritable(whose: str, values: Mapping[str, str | None]) -> Iterator[Diagnostic]:
    """Values that only a program can make, and that no kickoff could show as they are."""
    for field in ("name", "program", "model", "notes"):
        text = values.get(field)
        if text is None or (text and is_sound(text)):
            continue
        fault = "holds half of a character" if text else "is empty; leave it out"
        reason = f"`{field}`{whose} {fault}"
        yield sessions_codes.MALFORMED_ROSTER.at(source="a program", reason=reason)


def is_sound(text: str) -> bool:
    """Whether it can be written at all: JSON may spell out half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
