"""Several sessions in one mailbox, and short ways to write to them."""

import json

from brenner.config import OPERATOR
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message, StoredMessage
from session.workspaces import ANN, BEA, KICKOFF

BODIES = {
    "BLOCKED": "# Blocked\n\n## Item\nT1\n\n## Blocker\nNo cells\n\n## Type\nDependency\n\n"
    "## Needed\nCells\n",
    "QUESTION": "# Question\n\n## Question\nWhich embryo?\n\n## Context\nThere are two.\n",
    "HANDOFF": "# Handoff\n\n## Item\nT1\n\n## Context\nIt is begun.\n\n## Next Steps\nEnd it.\n",
    "CRITIQUE": "# Critique\n\n## Target\nH1\n\n## Attack\nToo much.\n\n## Evidence\n§3\n",
    "INFO": "# Info\n\nNothing happens.\n",
}


def introduce(mailbox: Mailbox, operator: str = OPERATOR) -> None:
    """The operator and two agents."""
    known = {agent.name for agent in mailbox.agents()}
    for name in {operator, ANN, BEA} - known:
        mailbox.register(Profile(name))


def ask(
    mailbox: Mailbox, thread_id: str, question: str = "", operator: str = OPERATOR
) -> StoredMessage:
    """A kickoff to both."""
    body = KICKOFF.replace("What tells a cell where it is?", question) if question else KICKOFF
    kickoff = Message(thread_id, operator, (ANN, BEA), "KICKOFF: Cell fate", body)
    return mailbox.send(kickoff).stored


def acknowledge(mailbox: Mailbox, asked: StoredMessage, name: str) -> StoredMessage:
    """An ACK for a message."""
    to = (asked.message.sender,)
    ack = Message(asked.message.thread_id, name, to, "ACK: Received", "## Status\nReceived\n")
    return mailbox.send(ack, reply_to=asked.id).stored


def contribute(
    mailbox: Mailbox, thread_id: str, name: str, *blocks: object, to: str = OPERATOR
) -> StoredMessage:
    """A DELTA with these blocks."""
    body = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
    return mailbox.send(Message(thread_id, name, (to,), "DELTA[opus]: News", body)).stored


def say(
    mailbox: Mailbox, thread_id: str, kind: str, name: str = ANN, to: str = OPERATOR
) -> StoredMessage:
    """A message of a type that contributes nothing; of another subject it is not the protocol's."""
    body, subject = BODIES.get(kind, "Hello.\n"), f"{kind}: News" if kind in BODIES else kind
    return mailbox.send(Message(thread_id, name, (to,), subject, body)).stored
