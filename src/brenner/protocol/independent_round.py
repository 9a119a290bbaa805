"""The independent first round (R33): which kickoff states it, and what a sealed message shows.

Until v1 is published, the DELTA and CRITIQUE messages of the first round are sealed for all other
agents. A reply to a sealed message is sealed, too, because it may quote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import read_fields
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import find_section, normalise_heading, parse_sections
from brenner.protocol.message_types import ACK, COMPILED, CRITIQUE, DELTA, KICKOFF
from brenner.protocol.messages import thread_order_key
from brenner.protocol.subjects import compose_subject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from brenner.markdown.blocks import Block
    from brenner.protocol.messages import Message, StoredMessage

SECTION = "Independent First Round"
_FIELD, _VALUE = "Sealed Until", "v1"
# The section as a kickoff states it. The first line is for programs, the rest for agents.
STATEMENT = f"""**{_FIELD}**: {_VALUE}

All of you take your turn together. Until v1 is published, no agent can read the DELTA and CRITIQUE
messages of another agent: they are listed as sealed. Contribute what you think yourself. Name only
items that you add in the same message or have added before. IDs of other agents' items are
rejected in this round."""

SEALED_TYPES = (DELTA.name, CRITIQUE.name)
SEALED_DESCRIPTION = "sealed until v1"
_SEALED_SHORTHAND = "sealed"
_SEALED_BODY = (
    "This message is sealed until v1 is published: the session has an independent first round. "
    "Until then only its author and the operator can read it.\n"
)


def states_independence(body: Collection[Block]) -> bool:
    """Return whether the body of a KICKOFF states an independent first round."""
    section = find_section(parse_sections(list(body)), SECTION)
    fields = read_fields(list(section.contents)) if section else ()
    return any(
        normalise_heading(each.name) == normalise_heading(_FIELD)
        and each.value.strip().lower() == _VALUE
        for each in fields
    )


class IndependentRound(NamedTuple):
    """An independent first round. `sealed` counts its contributions while it lasts.

    `ended_by` is the message that published the first version; None while the round lasts.
    """

    sealed: int
    ended_by: StoredMessage | None = None


def independent_round(
    thread: Iterable[StoredMessage], versions: Collection[int]
) -> IndependentRound | None:
    """Return the independent first round of a thread; None if its first KICKOFF states none.

    `versions` are the IDs of the COMPILED messages that publish a version.
    """
    messages = sorted(thread, key=thread_order_key)
    first = next((each.message for each in messages if each.type == KICKOFF.name), None)
    if first is None or _FIELD.lower() not in first.body.lower():
        return None
    if not states_independence(parse_blocks(first.body)):
        return None
    ended_by = next((each for each in messages if each.id in versions), None)
    sealed = 0 if ended_by else sum(each.type in SEALED_TYPES for each in messages)
    return IndependentRound(sealed, ended_by)


def is_delayed(round_one: IndependentRound, message_type: str | None, sent: datetime) -> bool:
    """Return whether the deadline of an ACK starts with v1: that of a sealed CRITIQUE does."""
    end = round_one.ended_by
    return message_type == CRITIQUE.name and (end is None or sent < end.at)


def seal(stored: StoredMessage) -> StoredMessage:
    """Return the message without its subject and body. Of an ACK, what it acknowledges stays.

    The content hash stays, because it identifies the message; it is not shown.
    """
    kind, description = stored.type, SEALED_DESCRIPTION
    role = _SEALED_SHORTHAND if kind == DELTA.name else None
    subject = compose_subject(kind, description, role) if kind else description.capitalize()
    body = _SEALED_BODY
    if kind == ACK.name and stored.reply_to is not None:
        body = f"## Message ID\n{stored.reply_to}\n\n## Notes\n{_SEALED_BODY}"
    message = stored.message._replace(subject=subject, body=body)
    return stored._replace(message=message, is_sealed=True)


def is_version_claim(message: Message) -> bool:
    """Return whether a message would publish a version, which ends the round."""
    return message.type == COMPILED.name
