"""Results of tests (R26): their payload form, their text form, and the verdict that is derived
from declared outcomes (R27).

A result changes nothing but its test: no hypothesis is killed because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brenner.artifact.format import format_list, read_list
from brenner.artifact.model import Result, item_sort_key
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.escape import character_reference, escape, unescape
from brenner.protocol.delta.schema import POTENCIES, POTENCY_FAILED, RESULT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# The payload form


def result_from_payload(given: Mapping[str, Any]) -> Result:
    """Return the result that a valid payload describes, before any verdict is derived.

    After a failed potency check there is no verdict, whatever the payload says.
    """
    values = {name: given[name] for name in RESULT_FIELDS if given.get(name)}
    for name in ("contradicts", "supports", "evidence"):
        if name in values:
            values[name] = tuple(dict.fromkeys(values[name]))
    result = Result(**values)
    return result.without_verdict() if result.potency == POTENCY_FAILED else result


def result_payload(result: Result) -> dict[str, object]:
    """Return the payload that records a result with its verdict."""
    values = result._asdict()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if name in RESULT_FIELDS and value
    }


# The verdict


def with_verdict(
    given: Result,
    known: Iterable[Result],
    declared: Mapping[str, str],
    expected: Mapping[str, str],
) -> Result:
    """Return the result with its verdict.

    A result that is known already keeps the verdict that it got when it was recorded. A stated
    verdict is taken as it is. Otherwise the verdict of a declared outcome is derived.
    """
    for each in known:
        if _is_same(given, each):
            return each
    is_stated = bool(given.contradicts or given.supports)
    if is_stated or given.potency == POTENCY_FAILED or given.outcome not in declared:
        return given
    names = sorted(expected, key=item_sort_key)
    stated = {name: expected[name] for name in names if expected[name] in declared}
    contradicts = tuple(name for name, key in stated.items() if key != given.outcome)
    supports = tuple(name for name, key in stated.items() if key == given.outcome)
    is_derived = bool(contradicts or supports)
    return given._replace(contradicts=contradicts, supports=supports, derived=is_derived)


def _is_same(given: Result, known: Result) -> bool:
    """Return whether a given result repeats a known one, with or without its verdict."""
    if known.derived and not (given.contradicts or given.supports):
        return given == known.without_verdict()
    return given == known._replace(derived=False)


# The text form: one entry of a list
#
# `- Outcome: slow; **potency**: passed; **contradicts**: H1; **evidence**: EV-001#E1`. An asterisk
# in a text is always escaped, so that no text can begin a part.

_OUTCOME = "Outcome: "
CLAIMED = "claimed"  # in place of evidence
_DERIVED = "derived"
_PART = lazy_pattern(r";[ \t]+\*\*([a-z]+)\*\*:[ \t]+")
_INDENT = "  "


def format_result(result: Result) -> str:
    """Return the entry of a result."""
    evidence = format_list(result.evidence)
    if evidence == CLAIMED:  # as a text, not as the word for no evidence
        evidence = f"{character_reference(CLAIMED[0])}{CLAIMED[1:]}"
    parts = {
        "potency": result.potency.replace("_", " "),
        "contradicts": format_list(result.contradicts),
        "supports": format_list(result.supports),
        "verdict": _DERIVED if result.derived else "",
        "observed": escape(result.observed_at or "", _INDENT),
        "evidence": evidence or CLAIMED,
        "note": escape(result.note or "", _INDENT),
    }
    written = "".join(f"; **{name}**: {text}" for name, text in parts.items() if text)
    return f"{_OUTCOME}{escape(result.outcome, _INDENT)}{written}"


def read_result(raw: str) -> Result | None:
    """Parse the entry of a result. Return None if it is unreadable."""
    first, *found = _PART.split(raw)
    names, texts = found[::2], found[1::2]
    if not first.startswith(_OUTCOME) or len(set(names)) < len(names):
        return None
    values: dict[str, Any] = {"outcome": unescape(first.removeprefix(_OUTCOME))}
    for name, text in zip(names, texts, strict=True):
        part = _PARTS.get(name)
        if part is None:
            return None
        field, read = part
        values[field] = read(text)
    is_valid = values["outcome"] and values.get("potency") in POTENCIES
    return Result(**values) if is_valid and values.get("derived", True) else None


def _read_evidence(raw: str) -> tuple[str, ...]:
    return () if raw == CLAIMED else read_list(raw)


_PARTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "potency": ("potency", lambda raw: raw.replace(" ", "_")),
    "contradicts": ("contradicts", read_list),
    "supports": ("supports", read_list),
    "verdict": ("derived", lambda raw: raw == _DERIVED),
    "observed": ("observed_at", unescape),
    "evidence": ("evidence", _read_evidence),
    "note": ("note", unescape),
}
