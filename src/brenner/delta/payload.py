"""The payload of each operation: which fields must, may and may not be there (ruling R6)."""

from brenner.delta.problems import MOST_PROBLEMS, Problems, RenameKey, listed, suggestion
from brenner.delta.schema import Field, FieldKind, Operation, Section
from brenner.delta.values import CHECKS, is_blank
from brenner.diagnostics.codes import delta_format as codes
from brenner.diagnostics.nearest import nearest

TEXT = FieldKind.TEXT
ADD = Operation.ADD


def kill_reason(
    payload: dict[str, object], rationale: object, problems: Problems
) -> dict[str, object]:
    """A KILL needs a reason: `payload.reason`, or else the rationale."""
    absent = [] if "reason" in payload else ["reason"]
    for key in payload:
        if key != "reason" and not problems.are_enough:
            problems.unknown(("payload", key), "a KILL's payload", ["reason"], absent)
    reason = payload.get("reason")
    if type(reason) is str and not is_blank(reason):
        return {"reason": reason}
    if reason is not None and type(reason) is not str:
        problems.wrong_type(("payload", "reason"), reason, "a text")
    elif type(rationale) is str and not is_blank(rationale):
        return {"reason": rationale}
    else:
        problems.missing(("payload", "reason"), "why the item is killed")
    return {}


def edit_fields(
    payload: dict[str, object], operation: Operation, section: Section, problems: Problems
) -> dict[str, object]:
    """The known fields of an ADD or EDIT, each checked by its kind."""
    fields = section.fields
    unknown = []
    for name, content in payload.items():
        field = fields.get(name)
        if field is not None:
            if field.kind is not TEXT or type(content) is not str or is_blank(content):
                _check_field(field, content, operation, problems)
        elif name not in section.replace_flags:
            unknown.append(name)
        elif type(content) is not bool:
            problems.wrong_type(("payload", name), content, "true or false")
    if operation is ADD:
        if not section.required <= payload.keys():
            unknown = _missing_fields(payload, section, unknown, problems)
    elif not fields.keys() & payload.keys():
        unknown = _empty_edit(section, unknown, problems)
    if not unknown:
        return payload
    _unknown_fields(payload, section, unknown, problems)
    return {name: content for name, content in payload.items() if name not in set(unknown)}


def _check_field(field: Field, content: object, operation: Operation, problems: Problems) -> None:
    before = len(problems)
    CHECKS[field.kind](field, content, ("payload", field.name), problems)
    if field.required and is_blank(content) and len(problems) == before:
        reason = "is blank" if operation is ADD else "cannot be blanked"
        problems.missing(("payload", field.name), field.asks, reason)


def _missing_fields(
    payload: dict[str, object], section: Section, unknown: list[str], problems: Problems
) -> list[str]:
    """Report what is missing; the unknown names that are not a missing one, misspelt."""
    rest = unknown[:MOST_PROBLEMS]
    for field in section.fields.values():
        if not field.required or field.name in payload:
            continue
        misspelt = nearest(field.name, rest)
        if misspelt is None:
            problems.missing(("payload", field.name), field.asks)
        else:
            problems.misspelt(("payload", misspelt), field.name, field.asks)
            rest.remove(misspelt)
    return rest + unknown[MOST_PROBLEMS:]


def _unknown_fields(
    payload: dict[str, object], section: Section, unknown: list[str], problems: Problems
) -> None:
    absent = [name for name in section.fields if name not in payload]
    for name in unknown:
        if problems.are_enough:
            return
        problems.unknown(("payload", name), f"`{section.id}`", section.fields, absent)


def _empty_edit(section: Section, unknown: list[str], problems: Problems) -> list[str]:
    """Report it, at the misspelt field if there is one; the other unknown names."""
    near = nearest(unknown[0], section.fields) if unknown else None
    problems.report(
        codes.EMPTY_EDIT,
        ("payload", unknown[0]) if near else ("payload",),
        RenameKey(near) if near else None,
        section=section.id,
        known=listed(section.fields),
        suggestion=suggestion(near),
    )
    return unknown[1:] if near else unknown
