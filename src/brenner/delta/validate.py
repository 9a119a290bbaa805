"""Whether a decoded JSON value is a delta: operation, section, target, payload (ruling R6).

Every problem is collected, none stops the search for others. On a sound delta the checks only
compare types and names; words are put together when something is wrong.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from brenner.delta.model import Delta
from brenner.delta.payload import edit_fields, kill_reason
from brenner.delta.problems import (
    MOST_PROBLEMS,
    Path,
    Problem,
    Problems,
    RenameKey,
    SetValue,
    listed,
    type_name,
)
from brenner.delta.schema import (
    RESEARCH_THREAD,
    SECTION_ALIASES,
    SECTIONS,
    TOP_LEVEL,
    Operation,
    Section,
)
from brenner.delta.values import BLANKS
from brenner.diagnostics.codes import deltas as codes
from brenner.grammar import ITEM_ID, LOCAL_ID, LOCAL_REFERENCE
from brenner.text import nearest, perhaps, surely

ADD, KILL = Operation.ADD, Operation.KILL
_OPERATIONS = {operation.value: operation for operation in Operation}
# What other tools call the operations; suggested, never assumed.
_SYNONYMS = {
    "CREATE": "ADD",
    "INSERT": "ADD",
    "NEW": "ADD",
    "UPDATE": "EDIT",
    "MODIFY": "EDIT",
    "CHANGE": "EDIT",
    "REPLACE": "EDIT",
    "DELETE": "KILL",
    "REMOVE": "KILL",
}
# What other formats call the keys; suggested, never assumed
_KEY_ALIASES = {
    "op": "operation",
    "action": "operation",
    "type": "operation",
    "target": "target_id",
    "id": "target_id",
    "item_id": "target_id",
    "data": "payload",
    "content": "payload",
}
_TARGET: Path = ("target_id",)
# The keys that a delta may not do without, and what each asks for
_ASKS = {
    "operation": "ADD, EDIT or KILL",
    "section": "one of " + listed(SECTIONS),
    "target_id": "the item's ID",
    "payload": "an object with the fields of the section",
}


def validate(value: object) -> tuple[Delta | None, list[Problem]]:
    """The delta, or None where something makes it unusable; and all problems."""
    problems = Problems()
    if type(value) is not dict or _is_a_list_of_deltas(value):
        what = type_name(value) if type(value) is not dict else "a list of deltas in an object"
        problems.report(codes.DELTA_NOT_AN_OBJECT, (), what=what)
        return None, problems
    if not TOP_LEVEL.issuperset(value):
        value = _with_keys_mended(value, problems)
    name, section_id = value.get("operation"), value.get("section")
    operation = _OPERATIONS.get(name) if type(name) is str else None
    section = SECTIONS.get(section_id) if type(section_id) is str else None
    operation = operation or _meant_operation(name, problems)
    section = section or _meant_section(section_id, problems)
    if operation is None or section is None:
        return None, problems
    payload = value.get("payload")
    rationale = value.get("rationale")
    local_id = value.get("local_id")
    # What an ADD of the research thread lacks is no second fault: the EDIT that is meant needs less
    filled = Operation.EDIT if section is RESEARCH_THREAD else operation
    delta = Delta(
        operation,
        section.id,
        _target(value.get("target_id"), operation, section, problems),
        edit_fields(payload, filled, section, problems)
        if type(payload) is dict and operation is not KILL
        else _payload(payload, rationale, operation, section, problems),
        rationale
        if type(rationale) is str and rationale.strip(BLANKS)
        else _rationale(rationale, operation, problems),
        None if local_id is None else _local_id(local_id, operation, problems),
    )
    if not problems:
        return delta, problems
    if problems.are_enough:
        problems.report(codes.TOO_MANY_PROBLEMS, (), most=str(MOST_PROBLEMS))
    if problems.are_fatal:
        return None, problems
    return delta._replace(payload=_known_only(delta.payload, problems)), problems


def _is_a_list_of_deltas(value: dict[str, object]) -> bool:
    """`{"deltas": [{…}, {…}]}`, under whatever name."""
    if len(value) != 1:
        return False
    (only,) = value.values()
    return isinstance(only, list) and any(
        type(each) is dict and "operation" in each for each in only
    )


def _meant_operation(name: object, problems: Problems) -> Operation | None:
    """The operation that a misspelt one is for certain, so that the rest is checked too."""
    if type(name) is str:
        meant = name.strip().upper()
        repair = SetValue(json.dumps(meant)) if meant in _OPERATIONS else None
        hint = perhaps(meant if repair else _SYNONYMS.get(meant))
        problems.report(
            codes.INVALID_OPERATION, ("operation",), repair, value=name, suggestion=hint
        )
        return _OPERATIONS.get(meant)
    if name is None:
        problems.missing(("operation",), _ASKS["operation"])
    else:
        problems.wrong_type(("operation",), name, "ADD, EDIT or KILL")
    return None


def _meant_section(name: object, problems: Problems) -> Section | None:
    """The section that a misspelt one is for certain, so that the rest is checked too."""
    if type(name) is str:
        folded = name.strip().lower().replace(" ", "_").replace("-", "_")
        meant = SECTION_ALIASES.get(folded) or nearest(folded, SECTIONS, most_edits=2)
        problems.report(
            codes.INVALID_SECTION,
            ("section",),
            SetValue(json.dumps(meant)) if meant else None,
            value=name,
            known=listed(SECTIONS),
            suggestion=perhaps(meant),
        )
        return SECTIONS[meant] if meant else None
    if name is None:
        problems.missing(("section",), _ASKS["section"])
    else:
        problems.wrong_type(("section",), name, "the name of a section")
    return None


def _target(
    target: object, operation: Operation, section: Section, problems: Problems
) -> str | None:
    if operation is ADD and target is None and section is not RESEARCH_THREAD:
        return None
    if section is RESEARCH_THREAD and operation is not Operation.EDIT:
        path: Path = ("operation",)
        problems.report(codes.OPERATION_NOT_ALLOWED, path, operation=operation.value)
    elif operation is ADD:
        repair = SetValue("null") if target == "" else None
        problems.report(codes.UNEXPECTED_TARGET, _TARGET, repair, target=str(target))
    elif target is None or target == "":
        repair = SetValue('"RT"') if section is RESEARCH_THREAD else None
        words = {"operation": operation.value, "example": section.example_id, "suggestion": ""}
        problems.report(codes.MISSING_TARGET, _TARGET, repair, **words)
    elif type(target) is not str:
        problems.wrong_type(_TARGET, target, f"an item's ID such as `{section.example_id}`")
    else:
        _check_target(target, section, problems)
        return target
    return None


def _check_target(target: str, section: Section, problems: Problems) -> None:
    match = ITEM_ID.fullmatch(target)
    if match is None:
        if not LOCAL_REFERENCE.fullmatch(target):
            _malformed_target(target, section, problems)
    elif (match[1] or "RT") != section.prefix:
        words = {"target": target, "section": section.id, "prefix": section.prefix}
        problems.report(codes.TARGET_SECTION_MISMATCH, _TARGET, None, **words)


def _malformed_target(target: str, section: Section, problems: Problems) -> None:
    tidy = target.strip().upper()
    is_ours = ITEM_ID.fullmatch(tidy) is not None and tidy.startswith(section.prefix)
    problems.report(
        codes.INVALID_TARGET,
        _TARGET,
        SetValue(json.dumps(tidy)) if is_ours else None,
        target=target,
        reason="is not an item's ID",
        example=section.example_id,
        suggestion=perhaps(tidy) if is_ours else _cell_hint(target),
    )


def _cell_hint(target: str) -> str:
    """`P1.H2` addresses a cell in the artifact's own words, but a delta edits the row."""
    row, _, cell = target.partition(".")
    if cell and ITEM_ID.fullmatch(row) and ITEM_ID.fullmatch(cell):
        return f' To edit a cell, target `{row}` and give `"predictions": {{"{cell}": "…"}}`.'
    return ""


def _payload(
    payload: object,
    rationale: object,
    operation: Operation,
    section: Section,
    problems: Problems,
) -> dict[str, object]:
    """The payload of a KILL; of any other operation it is wrong here."""
    if operation is KILL and (payload is None or type(payload) is dict):
        return kill_reason(payload or {}, rationale, problems)
    if payload is None:
        fields = section.required if operation is ADD else section.fields
        wanted = listed(name for name in section.fields if name in fields)
        problems.missing(("payload",), f"an object with {wanted}")
    else:
        problems.wrong_type(("payload",), payload, "an object")
    return {}


def _rationale(rationale: object, operation: Operation, problems: Problems) -> str:
    """What a blank rationale, or none, or something else in its place is worth."""
    if rationale is None or type(rationale) is str:
        if operation is not KILL or not problems.are_fatal:  # else its absence is reported already
            problems.report(codes.MISSING_RATIONALE, ("rationale",))
    else:
        problems.wrong_type(("rationale",), rationale, "a text")
    return ""


def _local_id(name: object, operation: Operation, problems: Problems) -> str | None:
    if operation is not ADD:
        reason = f"goes with ADD, not with {operation.value}"
    elif type(name) is str and LOCAL_ID.fullmatch(name):
        return name
    else:
        reason = f"`{name}` is not a name"
    problems.report(codes.INVALID_LOCAL_ID, ("local_id",), reason=reason)
    return None


def _with_keys_mended(value: dict[str, object], problems: Problems) -> dict[str, object]:
    """The delta with its misspelt keys put right, each reported once, so that the rest is checked.

    Only keys that must be there are put right; an optional one is left out like any unknown key.
    """
    mended = _with_payload_found(value, problems)
    for key in [key for key in mended if key not in TOP_LEVEL][:MOST_PROBLEMS]:
        absent = [name for name in _ASKS if name not in mended]
        near = _KEY_ALIASES.get(key.casefold()) or nearest(key, absent)
        if near not in absent or (near == "target_id" and value.get("operation") == ADD):
            problems.unknown((key,), "a delta", sorted(TOP_LEVEL), sorted(TOP_LEVEL - value.keys()))
            continue
        mended[near] = mended.pop(key)
        if near != "target_id":
            problems.misspelt((key,), near, _ASKS[near])
            continue
        repair = RenameKey(near) if surely(key, [near]) else None
        operation = str(value.get("operation"))
        words = {"operation": operation, "example": "H1", "suggestion": f" `{key}` is not it."}
        problems.report(codes.MISSING_TARGET, (key,), repair, **words)
    return mended


def _with_payload_found(value: dict[str, object], problems: Problems) -> dict[str, object]:
    """The delta with the fields that stand beside `section` put into the payload they belong to."""
    section = SECTIONS.get(str(value.get("section")))
    fields = {**section.fields, "reason": None} if section else {}
    flat = {key: content for key, content in value.items() if key in fields}
    if "payload" in value or not flat:
        return dict(value)
    problems.report(
        codes.MISSING_REQUIRED_FIELD,
        ("payload",),
        reason=f"is missing; {listed(flat)} belong into it",
        asks="an object with these fields",
        suggestion="",
    )
    return {key: content for key, content in value.items() if key not in flat} | {"payload": flat}


def _known_only(payload: Mapping[str, object], problems: Problems) -> Mapping[str, object]:
    """The payload without the fields, at any depth, that were found to be unknown (R6)."""
    unknown = [p.path for p in problems if p.code is codes.UNKNOWN_FIELD and len(p.path) > 1]
    if not unknown:
        return payload
    pruned: dict[str, object] = deepcopy(dict(payload))
    for _, *steps, last in unknown:
        inner: Any = pruned
        for step in steps:
            inner = inner[step]
        inner.pop(last, None)
    return pruned
