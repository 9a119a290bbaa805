"""Validate a decoded JSON value as a delta: operation, section, target, payload (ruling R6).

All problems are collected. For a valid delta the checks only compare types and names; messages are
composed only if something is wrong.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes import deltas as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.protocol.delta.field_checks import (
    FIELD_CHECKS,
    WHITE_SPACE,
    is_blank,
    local_reference,
)
from brenner.protocol.delta.problems import (
    MOST_PROBLEMS,
    JsonPath,
    Problem,
    Problems,
    Repair,
    format_names,
    json_type_name,
    rename_key,
)
from brenner.protocol.delta.schema import (
    ADD,
    EDIT,
    KILL,
    OUTCOME_FIELDS,
    RECORD_FORMAT,
    RESEARCH_THREAD,
    SECTION_ALIASES,
    SECTIONS,
    TOP_LEVEL_KEYS,
    Delta,
    Field,
    Operation,
    Section,
    undeclared_outcomes,
)
from brenner.protocol.grammar import (
    ITEM_ID,
    LOCAL_ID,
    LOCAL_REFERENCE,
)
from brenner.text import closest, closest_certain, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The payload of each operation: required, optional and unknown fields (ruling R6)


_KILL_REASON_ASKS = "why the item is killed (a `rationale` also counts)"


def check_kill_payload(
    payload: dict[str, object], rationale: object, problems: Problems
) -> dict[str, object]:
    """Return the payload of a KILL. Its reason is `payload.reason`, or else the rationale."""
    reason = payload.get("reason")
    has_rationale = type(rationale) is str and not is_blank(rationale)
    needed = {} if has_rationale or reason is not None else {"reason": _KILL_REASON_ASKS}
    unknown = [key for key in payload if key != "reason"]
    if unknown or needed:
        known = {"reason": "reason" in payload}
        problems.wrong_names(("payload",), "a KILL's payload", unknown, known, needed)
    if type(reason) is str and not is_blank(reason):
        return {"reason": reason}
    if reason is not None and type(reason) is not str:
        problems.wrong_type(("payload", "reason"), reason, "a string")
    elif reason is not None and not has_rationale:
        problems.missing(("payload", "reason"), _KILL_REASON_ASKS, "is empty")
    return {"reason": rationale}


def check_payload_fields(
    payload: dict[str, object], operation: Operation, section: Section, problems: Problems
) -> dict[str, object]:
    """Check the fields of an ADD or EDIT, each by its kind.

    Return the payload, unknown fields included.
    """
    fields, texts = section.fields, section.texts
    unknown = []
    for name, content in payload.items():
        if name in texts and type(content) is str and content.strip(WHITE_SPACE):
            continue  # most fields: text that is not blank
        if name in fields:
            _check_field(fields[name], content, operation, problems)
        elif name not in section.replace_flags:
            unknown.append(name)
        elif type(content) is not bool:
            problems.wrong_type(("payload", name), content, "true or false")
    missing = {}
    if operation is ADD:
        if not section.required <= payload.keys():
            missing = _missing_fields(payload, section)
        payload = _drop_nulls(payload)
        _check_declared(payload, section, problems)
    elif fields.keys().isdisjoint(payload):
        unknown = _report_empty_edit(section, unknown, problems)
    if missing or unknown:
        known = {name: name in payload for name in fields}
        problems.wrong_names(("payload",), f"`{section.id}`", unknown, known, missing)
    return payload


def _check_declared(payload: dict[str, object], section: Section, problems: Problems) -> None:
    """Report the outcomes of a new item that are not among its declared ones (R27).

    For an EDIT the merge does that, since it knows the item.
    """
    if "outcomes" not in section.fields:
        return
    name = OUTCOME_FIELDS[SECTIONS[section.id]]
    declared, stated = payload.get("outcomes"), payload.get(name)
    if not declared or type(declared) is not dict or type(stated) is not dict:
        return
    texts = {key: value for key, value in stated.items() if type(value) is str and value.strip()}
    for hypothesis, outcome in undeclared_outcomes(declared, texts):
        path: JsonPath = ("payload", name, hypothesis)
        words = undeclared_words(outcome, declared)
        problems.report(codes.UNDECLARED_OUTCOME, path, None, **words)
        if problems.reach_limit:
            return


def undeclared_words(outcome: str, declared: Iterable[str]) -> dict[str, str]:
    """Return the words about an outcome that is not declared, with the closest key."""
    known = list(declared)
    hint = did_you_mean(closest(outcome, known))
    return {"value": outcome, "known": format_names(known), "suggestion": hint}


def _drop_nulls(payload: dict[str, object]) -> dict[str, object]:
    """Remove the null fields of a new item: they mean the same as absent ones."""
    if None not in payload.values():
        return payload
    return {name: content for name, content in payload.items() if content is not None}


def _missing_fields(payload: dict[str, object], section: Section) -> dict[str, str]:
    fields = section.fields
    return {name: fields[name].asks for name in fields if name in section.required - payload.keys()}


def _check_field(field: Field, content: object, operation: Operation, problems: Problems) -> None:
    if content is None and operation is ADD and not field.required:
        return
    before = len(problems)
    FIELD_CHECKS[field.kind](field, content, ("payload", field.name), problems)
    if field.required and is_blank(content) and len(problems) == before:
        reason = "is empty" if operation is ADD else "cannot be made empty"
        problems.missing(("payload", field.name), field.asks, reason)


def _report_empty_edit(section: Section, unknown: list[str], problems: Problems) -> list[str]:
    """Report an EDIT without known fields. Return the unknown names that remain to be reported."""
    near = closest(unknown[0], section.fields) if unknown else None
    problems.report(
        codes.EMPTY_EDIT,
        ("payload", unknown[0]) if near else ("payload",),
        rename_key(near) if near and closest_certain(unknown[0], [near]) else None,
        section=section.id,
        known=format_names(section.fields),
        suggestion=did_you_mean(near),
    )
    return unknown[1:] if near else unknown


_OPERATIONS = {operation.value: operation for operation in Operation}
# Other tools' names of the operations; suggested, never assumed
_OPERATION_SYNONYMS = {
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
# Other formats' names of the keys; suggested, never assumed
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
_TARGET_PATH: JsonPath = ("target_id",)
# The required keys of a delta, and a description of each
_KEY_ASKS = {
    "operation": "ADD, EDIT or KILL",
    "section": "one of " + format_names(SECTIONS),
    "target_id": "the item's ID",
    "payload": "an object with the fields of the section",
}


def validate_delta(
    value: object, names: tuple[str, ...] = (), record_format: int = RECORD_FORMAT
) -> tuple[Delta | None, list[Problem]]:
    """Return the delta, or None if it has an error, and all problems.

    `names` are the local IDs of the message, to recognise one that is written without its `@`.
    Fields that the record format does not know are unknown (R26).
    """
    problems = Problems()
    problems.names = names
    if type(value) is not dict or _is_a_list_of_deltas(value):
        what = json_type_name(value) if type(value) is not dict else "a list of deltas in an object"
        problems.report(codes.DELTA_NOT_AN_OBJECT, (), what=what)
        return None, problems
    if not TOP_LEVEL_KEYS.issuperset(value):
        value = _correct_keys(value, problems, record_format)
    name, section_id = value.get("operation"), value.get("section")
    operation = _OPERATIONS.get(name) if type(name) is str else None
    section = SECTIONS.get(section_id) if type(section_id) is str else None
    operation = operation or _correct_operation(name, problems)
    section = section or _correct_section(section_id, problems)
    if operation is None or section is None:
        return None, problems
    payload = value.get("payload")
    rationale = value.get("rationale")
    local_id = value.get("local_id")
    # An ADD of the research thread must be an EDIT, so do not report fields that only an ADD needs.
    filled = EDIT if section is RESEARCH_THREAD else operation
    known = section.in_format(record_format)
    delta = Delta(
        operation,
        section.id,
        _check_target(value.get("target_id"), operation, section, problems),
        check_payload_fields(payload, filled, known, problems)
        if type(payload) is dict and operation is not KILL
        else _check_payload(payload, rationale, operation, known, problems),
        rationale
        if type(rationale) is str and rationale.strip(WHITE_SPACE)
        else _check_rationale(rationale, operation, problems),
        None if local_id is None else _check_local_id(local_id, operation, problems),
    )
    if not problems:
        return delta, problems
    if problems.reach_limit:
        problems.report(codes.TOO_MANY_PROBLEMS, (), most=str(MOST_PROBLEMS))
    if problems.have_errors:
        return None, problems
    return delta._replace(payload=_drop_unknown_fields(delta.payload, problems)), problems


def _is_a_list_of_deltas(value: dict[str, object]) -> bool:
    """Match `{"deltas": [{…}, {…}]}`, with any key."""
    if len(value) != 1:
        return False
    (only,) = value.values()
    return isinstance(only, list) and any(
        type(each) is dict and "operation" in each for each in only
    )


def _correct_operation(name: object, problems: Problems) -> Operation | None:
    """Report an invalid operation.

    Return the one it certainly means, so that the rest is checked too.
    """
    if type(name) is str:
        meant = name.strip().upper()
        repair = Repair(json.dumps(meant)) if meant in _OPERATIONS else None
        hint = did_you_mean(meant if repair else _OPERATION_SYNONYMS.get(meant))
        problems.report(
            codes.INVALID_OPERATION, ("operation",), repair, value=name, suggestion=hint
        )
        return _OPERATIONS.get(meant)
    if name is None:
        problems.missing(("operation",), _KEY_ASKS["operation"])
    else:
        problems.wrong_type(("operation",), name, "ADD, EDIT or KILL")
    return None


def _correct_section(name: object, problems: Problems) -> Section | None:
    """Report an invalid section.

    Return the one it certainly means, so that the rest is checked too.
    """
    if type(name) is str:
        meant = section_meant(name)
        problems.report(
            codes.INVALID_SECTION,
            ("section",),
            Repair(json.dumps(meant)) if meant else None,
            value=name,
            known=format_names(SECTIONS),
            suggestion=did_you_mean(meant),
        )
        return SECTIONS[meant] if meant else None
    if name is None:
        problems.missing(("section",), _KEY_ASKS["section"])
    else:
        problems.wrong_type(("section",), name, "the name of a section")
    return None


def section_meant(name: str) -> str | None:
    """Return the ID of the section that another name certainly means, or None."""
    folded = name.strip().lower().replace(" ", "_").replace("-", "_")
    return SECTION_ALIASES.get(folded) or closest(folded, SECTIONS, most_edits=2)


def _check_target(
    target: object, operation: Operation, section: Section, problems: Problems
) -> str | None:
    if operation is ADD and target is None and section is not RESEARCH_THREAD:
        return None
    if section is RESEARCH_THREAD and operation is not EDIT:
        path: JsonPath = ("operation",)
        problems.report(codes.OPERATION_NOT_ALLOWED, path, operation=operation.value)
    elif operation is ADD:
        repair = Repair("null") if target == "" else None
        problems.report(codes.UNEXPECTED_TARGET, _TARGET_PATH, repair, target=str(target))
    elif target is None or target == "":
        repair = Repair('"RT"') if section is RESEARCH_THREAD else None
        words = {"operation": operation.value, "example": section.example_id, "suggestion": ""}
        problems.report(codes.MISSING_TARGET, _TARGET_PATH, repair, **words)
    elif type(target) is not str:
        problems.wrong_type(_TARGET_PATH, target, f"an item ID such as `{section.example_id}`")
    else:
        _check_target_item(target, section, problems)
        return target
    return None


def _check_target_item(target: str, section: Section, problems: Problems) -> None:
    match = ITEM_ID.fullmatch(target)
    if match is None:
        if not LOCAL_REFERENCE.fullmatch(target):
            _report_malformed_target(target, section, problems)
    elif (match[1] or "RT") != section.prefix:
        words = {"target": target, "section": section.id, "prefix": section.prefix}
        problems.report(codes.TARGET_SECTION_MISMATCH, _TARGET_PATH, None, **words)


def _report_malformed_target(target: str, section: Section, problems: Problems) -> None:
    tidy = target.strip().upper()
    is_ours = ITEM_ID.fullmatch(tidy) is not None and tidy.startswith(section.prefix)
    meant = tidy if is_ours else local_reference(target, problems)
    problems.report(
        codes.INVALID_TARGET,
        _TARGET_PATH,
        Repair(json.dumps(meant)) if meant else None,
        target=target,
        reason="is not a valid item ID",
        example=section.example_id,
        suggestion=did_you_mean(meant) if meant else _cell_hint(target),
    )


def _cell_hint(target: str) -> str:
    """Return a hint for `P1.H2`, a cell of the artifact: a delta can only edit the whole row."""
    row, _, cell = target.partition(".")
    if cell and ITEM_ID.fullmatch(row) and ITEM_ID.fullmatch(cell):
        return f' To edit a cell, target `{row}` and give `"predictions": {{"{cell}": "…"}}`.'
    return ""


def _check_payload(
    payload: object,
    rationale: object,
    operation: Operation,
    section: Section,
    problems: Problems,
) -> dict[str, object]:
    """Return the payload of a KILL; report an absent or wrong payload of any other operation."""
    if operation is KILL and (payload is None or type(payload) is dict):
        return check_kill_payload(payload or {}, rationale, problems)
    if payload is None:
        fields = section.required if operation is ADD else section.fields
        wanted = format_names(name for name in section.fields if name in fields)
        problems.missing(("payload",), f"an object with {wanted}")
    else:
        of_kill = ' such as {"reason": "…"}' if operation is KILL else ""
        problems.wrong_type(("payload",), payload, f"an object{of_kill}")
    return {}


def _check_rationale(rationale: object, operation: Operation, problems: Problems) -> str:
    if rationale is None or type(rationale) is str:
        if (
            operation is not KILL or not problems.have_errors
        ):  # else its absence is reported already
            problems.report(codes.MISSING_RATIONALE, ("rationale",))
    else:
        problems.wrong_type(("rationale",), rationale, "a string")
    return ""


def _check_local_id(name: object, operation: Operation, problems: Problems) -> str | None:
    valid = valid_local_id(name) if type(name) is str else None
    near = None
    if operation is not ADD:
        reason = f"is only allowed with ADD, not with {operation.value}"
    elif type(name) is str and LOCAL_ID.fullmatch(name):
        return name
    else:
        reason = f"is `{name}`, which is not a valid name"
        near = valid
    # Another name of the message that becomes the same would make the reference ambiguous.
    is_certain = near is not None and problems.names.count(near) <= 1
    problems.report(
        codes.INVALID_LOCAL_ID,
        ("local_id",),
        Repair(json.dumps(near)) if is_certain else None,
        reason=reason,
        suggestion=did_you_mean(near),
    )
    return None


def valid_local_id(written: str) -> str | None:
    """Return a name in its valid form if it differs only by spaces: `step counter`; else None."""
    name = local_id_from(written)
    if LOCAL_ID.fullmatch(written):
        return written
    return name if name and closest(written, [name], 0) else None


def local_id_from(words: str) -> str:
    """Return a valid local name made of the words, such as `step_counter`; empty if impossible."""
    parts = _NOT_IN_A_NAME.split(words.strip())
    return "_".join(filter(None, parts)).lstrip("_-0123456789")[:_MOST_LOCAL_ID].rstrip("_-")


_NOT_IN_A_NAME = lazy_pattern(r"[^A-Za-z0-9-]+")
_MOST_LOCAL_ID = 32


def _correct_keys(
    value: dict[str, object], problems: Problems, record_format: int
) -> dict[str, object]:
    """Return the delta with its misspelt keys corrected, so that the rest is checked.

    Each is reported once. Only required keys are corrected; a misspelt optional key is dropped like
    any unknown key.
    """
    corrected = _move_fields_to_payload(value, problems, record_format)
    for key in [key for key in corrected if key not in TOP_LEVEL_KEYS][:MOST_PROBLEMS]:
        absent = [name for name in _KEY_ASKS if name not in corrected]
        near = _KEY_ALIASES.get(key.casefold()) or closest(key, absent)
        if near not in absent or (near == "target_id" and value.get("operation") == ADD):
            if not _report_field_outside(key, value, problems, record_format):
                absent_keys = sorted(TOP_LEVEL_KEYS - value.keys())
                problems.unknown((key,), "a delta", sorted(TOP_LEVEL_KEYS), absent_keys)
            continue
        corrected[near] = corrected.pop(key)
        if near != "target_id":
            problems.misspelt((key,), near, _KEY_ASKS[near])
            continue
        repair = rename_key(near) if closest_certain(key, [near]) else None
        operation = value.get("operation")
        words = {
            "operation": operation if isinstance(operation, str) else "The delta",
            "example": "H1",
            "suggestion": f" Rename `{key}` to `target_id`.",
        }
        problems.report(codes.MISSING_TARGET, (key,), repair, **words)
    return corrected


def _report_field_outside(
    key: str, value: dict[str, object], problems: Problems, record_format: int
) -> bool:
    """Report a field that is next to the payload instead of in it. Return whether it is one."""
    if key not in _payload_fields(value, record_format):
        return False
    form = f'`{{"payload": {{"{key}": …}}}}`'
    problems.report(
        codes.UNKNOWN_FIELD,
        (key,),
        name=key,
        where="a delta",
        known=format_names(sorted(TOP_LEVEL_KEYS)),
        suggestion=f" To use it, move it into the payload: {form}.",
    )
    return True


def _payload_fields(value: dict[str, object], record_format: int) -> tuple[str, ...]:
    if value.get("operation") == KILL:
        return ("reason",)
    section = SECTIONS.get(str(value.get("section")))
    return tuple(section.in_format(record_format).fields) if section else ()


def _move_fields_to_payload(
    value: dict[str, object], problems: Problems, record_format: int
) -> dict[str, object]:
    """Move fields at the top level into the payload if there is none."""
    section = SECTIONS.get(str(value.get("section")))
    fields = {**section.in_format(record_format).fields, "reason": None} if section else {}
    flat = {key: content for key, content in value.items() if key in fields}
    if "payload" in value or not flat:
        return dict(value)
    only, content = next(iter(flat.items()))
    form = ", ".join(f'"{name}": …' for name in flat)
    content_text = json.dumps({only: content}, ensure_ascii=False)
    problems.report(
        codes.MISSING_REQUIRED_FIELD,
        (only,),
        Repair('"payload"', is_key=True, content=content_text) if len(flat) == 1 else None,
        name="payload",
        reason=f"is missing. It should contain {format_names(flat)}",
        asks=f'`"payload": {{{form}}}`',
        suggestion=f" Move {format_names(flat)} into it.",
    )
    return {key: content for key, content in value.items() if key not in flat} | {"payload": flat}


def _drop_unknown_fields(payload: Mapping[str, object], problems: Problems) -> Mapping[str, object]:
    """Return the payload without the fields that were reported as unknown, at any depth (R6)."""
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
