"""A message of any type to fill in: valid as it stands, with warnings on what is left to do."""

from datetime import date
from typing import NamedTuple

from brenner.delta.render import render_delta
from brenner.delta.schema import HYPOTHESIS_SLATE, Operation, Section
from brenner.delta.template import delta_to_fill_in
from brenner.thread.messages import Message
from brenner.thread.new_ids import generate_thread_id
from brenner.thread.subjects import compose_subject
from brenner.thread.templates import compose_body
from brenner.thread.types import (
    COMPILED,
    DELTA,
    HANDOFF,
    KICKOFF,
    UNFILLED_NAME,
    UNFILLED_TOPIC,
    MessageType,
    placeholder,
)


class Known(NamedTuple):
    """What is known of the message already."""

    thread_id: str | None = None
    sender: str | None = None
    recipients: tuple[str, ...] = ()
    role: str | None = None
    question: str | None = None
    operation: Operation = Operation.ADD
    section: Section = HYPOTHESIS_SLATE


def new_message(message_type: MessageType, known: Known, today: date) -> Message:
    """A message of that type. Only a KICKOFF needs `today`, for the ID of its thread."""
    thread_id = known.thread_id
    if thread_id is None and known.question:
        thread_id = generate_thread_id(known.question, today)
    role = (known.role or "opus") if message_type is DELTA else None
    about = known.question or placeholder("what it is about")
    description = f"v1 {about}" if message_type is COMPILED else about
    thread_id = thread_id or f"RS-{today:%Y%m%d}-{UNFILLED_TOPIC}"
    sender = known.sender or UNFILLED_NAME
    body = _body(message_type, known)
    if message_type is COMPILED:
        # These are compared with the message, so that no placeholder can stand for them.
        said = {"{thread_id}": thread_id, "{sender}": sender, "{today}": f"{today:%Y-%m-%d}"}
        for place, value in said.items():
            body = body.replace(place, value)
    return Message(
        thread_id=thread_id,
        sender=sender,
        recipients=known.recipients or ("Operator",),
        subject=compose_subject(message_type.name, description, role),
        body=body,
    )


def _body(message_type: MessageType, known: Known) -> str:
    if message_type is DELTA:
        delta = delta_to_fill_in(known.operation, known.section)
        return f"# {DELTA.title}\n\n## Deltas\n\n{render_delta(delta)}"
    title = known.question if message_type is KICKOFF else None
    return compose_body(message_type, _values(message_type, known), title)


def _values(message_type: MessageType, known: Known) -> dict[str, str]:
    """The sections whose text is known already."""
    values = {"Research Question": known.question, "From": known.sender, "Agent": known.sender}
    if message_type is HANDOFF:
        values["To"] = next(iter(known.recipients), None)
    return {name: value for name, value in values.items() if value}
