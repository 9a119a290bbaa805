"""A delta to fill in, made from the schema: nothing about a section is written twice."""

from brenner.delta.model import Delta
from brenner.delta.schema import RESEARCH_THREAD, Field, FieldKind, Operation, Section
from brenner.thread.types import placeholder

_SAMPLES: dict[FieldKind, object] = {
    FieldKind.ANCHORS: ["inference"],
    FieldKind.ITEMS: ["H1"],
}


def delta_to_fill_in(operation: Operation, section: Section) -> Delta:
    """A valid delta whose texts are placeholders."""
    if operation is Operation.KILL:
        payload: dict[str, object] = {"reason": placeholder("why the item is killed")}
    else:
        wanted = section.required if operation is Operation.ADD else {_first_text(section)}
        payload = {f.name: _sample(f) for f in section.fields.values() if f.name in wanted}
    target = None if operation is Operation.ADD else section.example_id
    return Delta(operation, section.id, target, payload, placeholder("why this change"))


def operations_of(section: Section) -> tuple[Operation, ...]:
    """What can be done to a section: the research thread is only edited."""
    return (Operation.EDIT,) if section is RESEARCH_THREAD else tuple(Operation)


def _first_text(section: Section) -> str:
    texts = [field.name for field in section.fields.values() if field.kind is FieldKind.TEXT]
    return next(name for name in texts if name != "name")


def _sample(field: Field) -> object:
    if field.kind is FieldKind.CHOICE:
        return field.choices[0]
    if field.kind is FieldKind.OUTCOMES:
        return {key: placeholder(f"what {key} lets one expect") for key in ("H1", "H2")}
    return _SAMPLES.get(field.kind, placeholder(field.asks))
