"""Templates for messages of every type: valid, with placeholders for unknown values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.markdown.escape import one_paragraph
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    POTENCIES,
    RESEARCH_THREAD,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.message_types import (
    COMPILED,
    DELTA,
    HANDOFF,
    KICKOFF,
    UNFILLED_NAME,
    UNFILLED_TOPIC,
    MessageType,
    placeholder,
)
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.protocol.thread_ids import generate_thread_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date


def compose_body(
    message_type: MessageType, values: Mapping[str, str] | None = None, title: str | None = None
) -> str:
    """Return a body with all sections of the type, each with its value or a placeholder.

    Each value becomes a single paragraph, so that no value can add a section.
    """
    texts = values or {}
    parts = [f"# {one_paragraph(title) if title else message_type.title}\n"]
    for rule in message_type.sections:
        text = one_paragraph(texts[rule.name]) if rule.name in texts else rule.placeholder
        parts.append(f"## {rule.name}\n{text}\n")
    if not message_type.sections:
        parts.append(placeholder("the information") + "\n")
    return "\n".join(parts)


# Delta templates, generated from the schema


_SAMPLES: dict[FieldKind, object] = {
    FieldKind.ANCHORS: ["inference"],
    FieldKind.ITEMS: ["H1"],
    FieldKind.DESCRIPTIONS: {"outcome_1": placeholder("what one sees")},
    FieldKind.RESULTS: [{"outcome": placeholder("what was observed"), "potency": POTENCIES[-1]}],
}


def delta_template(operation: Operation, section: Section) -> Delta:
    """Return a valid delta whose texts are placeholders."""
    if operation is Operation.KILL:
        payload: dict[str, object] = {"reason": placeholder("why the item is killed")}
    else:
        wanted = section.required if operation is Operation.ADD else {_first_text_field(section)}
        payload = {f.name: _sample_value(f) for f in section.fields.values() if f.name in wanted}
    target = None if operation is Operation.ADD else section.example_id
    return Delta(operation, section.id, target, payload, placeholder("why this change"))


def allowed_operations(section: Section) -> tuple[Operation, ...]:
    """Return the operations that a section allows: the research thread can only be edited."""
    return (Operation.EDIT,) if section is RESEARCH_THREAD else tuple(Operation)


def _first_text_field(section: Section) -> str:
    texts = [field.name for field in section.fields.values() if field.kind is FieldKind.TEXT]
    return next(name for name in texts if name != "name")


def _sample_value(field: Field) -> object:
    if field.kind is FieldKind.CHOICE:
        return field.choices[0]
    if field.kind is FieldKind.OUTCOMES:
        return {key: placeholder(f"what {key} predicts") for key in ("H1", "H2")}
    return _SAMPLES.get(field.kind, placeholder(field.asks))


# Message templates: valid, with a warning for each placeholder


def new_message(  # noqa: PLR0913  (one parameter per known value)
    message_type: MessageType,
    today: date,
    *,
    thread_id: str | None = None,
    sender: str | None = None,
    recipients: tuple[str, ...] = (),
    role: str | None = None,
    question: str | None = None,
    delta: Delta | None = None,
    base: int = 0,
) -> Message:
    """Return a template message of the type, with the values that are known.

    `today` is the date in a new thread ID and in a COMPILED. `delta` is the template of a delta,
    `base` the number of the version that it is based on.
    """
    if thread_id is None and question:
        thread_id = generate_thread_id(question, today)
    about = question or placeholder("what it is about")
    description = f"v1 {about}" if message_type is COMPILED else about
    thread_id = thread_id or f"RS-{today:%Y%m%d}-{UNFILLED_TOPIC}"
    if message_type is DELTA:
        delta = delta or delta_template(Operation.ADD, HYPOTHESIS_SLATE)
        stated = f"**{DELTA.version_field}**: v{base}\n\n" if base else ""
        body = f"# {DELTA.title}\n\n{stated}## Deltas\n\n{render_delta(delta)}"
    else:
        values = {"Research Question": question, "From": sender, "Agent": sender}
        if message_type is HANDOFF:
            values["To"] = next(iter(recipients), None)
        texts = {name: value for name, value in values.items() if value}
        body = compose_body(message_type, texts, question if message_type is KICKOFF else None)
    sender = sender or UNFILLED_NAME
    if message_type is COMPILED:
        # The check compares these with the message, so they cannot be placeholders.
        replacements = {
            "{thread_id}": thread_id,
            "{sender}": sender,
            "{today}": f"{today:%Y-%m-%d}",
        }
        for name, value in replacements.items():
            body = body.replace(name, value)
    return Message(
        thread_id=thread_id,
        sender=sender,
        recipients=recipients or ("Operator",),
        subject=compose_subject(
            message_type.name, description, (role or "opus") if message_type is DELTA else None
        ),
        body=body,
    )
