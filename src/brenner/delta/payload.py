"""The payload of each operation: which fields must, may and may not be there (ruling R6)."""

from brenner.delta.problems import Problems, RenameKey, listed
from brenner.delta.schema import Field, Operation, Section
from brenner.delta.values import BLANKS, CHECKS, is_blank
from brenner.diagnostics.codes import deltas as codes
from brenner.text import nearest, perhaps, surely

ADD = Operation.ADD

_REASON = "why the item is killed; a `rationale` would do as well"


def kill_reason(
    payload: dict[str, object], rationale: object, problems: Problems
) -> dict[str, object]:
    """A KILL needs a reason: `payload.reason`, or else the rationale."""
    reason = payload.get("reason")
    has_rationale = type(rationale) is str and not is_blank(rationale)
    needed = {} if has_rationale or reason is not None else {"reason": _REASON}
    unknown = [key for key in payload if key != "reason"]
    if unknown or needed:
        known = {"reason": "reason" in payload}
        problems.names(("payload",), "a KILL's payload", unknown, known, needed)
    if type(reason) is str and not is_blank(reason):
        return {"reason": reason}
    if reason is not None and type(reason) is not str:
        problems.wrong_type(("payload", "reason"), reason, "a text")
    elif reason is not None and not has_rationale:
        problems.missing(("payload", "reason"), _REASON, "is blank")
    return {"reason": rationale}


def edit_fields(
    payload: dict[str, object], operation: Operation, section: Section, problems: Problems
) -> dict[str, object]:
    """Check the fields of an ADD or EDIT, each by its kind; the payload, unknown ones included."""
    fields, texts = section.fields, section.texts
    unknown = []
    for name, content in payload.items():
        if name in texts and type(content) is str and content.strip(BLANKS):
            continue  # what most fields are: text that says something
        if name in fields:
            _check_field(fields[name], content, operation, problems)
        elif name not in section.replace_flags:
            unknown.append(name)
        elif type(content) is not bool:
            problems.wrong_type(("payload", name), content, "true or false")
    missing = {}
    if operation is ADD:
        if not section.required <= payload.keys():
            missing = _missing(payload, section)
        payload = _without_nulls(payload)
    elif fields.keys().isdisjoint(payload):
        unknown = _empty_edit(section, unknown, problems)
    if missing or unknown:
        known = {name: name in payload for name in fields}
        problems.names(("payload",), f"`{section.id}`", unknown, known, missing)
    return payload


def _without_nulls(payload: dict[str, object]) -> dict[str, object]:
    """An optional field of a new item that is null says nothing, as if it were not there."""
    if None not in payload.values():
        return payload
    return {name: content for name, content in payload.items() if content is not None}


def _missing(payload: dict[str, object], section: Section) -> dict[str, str]:
    """The required fields that are not there, and what each asks for."""
    fields = section.fields
    return {name: fields[name].asks for name in fields if name in section.required - payload.keys()}


def _check_field(field: Field, content: object, operation: Operation, problems: Problems) -> None:
    if content is None and operation is ADD and not field.required:
        return
    before = len(problems)
    CHECKS[field.kind](field, content, ("payload", field.name), problems)
    if field.required and is_blank(content) and len(problems) == before:
        reason = "is blank" if operation is ADD else "cannot be blanked"
        problems.missing(("payload", field.name), field.asks, reason)


def _empty_edit(section: Section, unknown: list[str], problems: Problems) -> list[str]:
    """Report it, at the misspelt field if there is one; the other unknown names."""
    near = nearest(unknown[0], section.fields) if unknown else None
    problems.report(
        codes.EMPTY_EDIT,
        ("payload", unknown[0]) if near else ("payload",),
        RenameKey(near) if near and surely(unknown[0], [near]) else None,
        section=section.id,
        known=listed(section.fields),
        suggestion=perhaps(near),
    )
    return unknown[1:] if near else unknown
