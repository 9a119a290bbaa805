"""Check the sections (§n) that a message or a version cites against the excerpts of its thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.mail.search import Query
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta.parse import read_blocks
from brenner.protocol.message_types import KICKOFF
from brenner.session.citations import (
    artifact_notes,
    cites_sections,
    excerpt_sections,
    unknown_in_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.artifact.model import Artifact
    from brenner.diagnostics.model import Diagnostic
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import Message, StoredMessage

_MOST_KICKOFFS = 200


def unknown_citations(mailbox: Mailbox, message: Message) -> Iterator[Diagnostic]:
    """Yield a warning for each cited section of a DELTA that no excerpt of its thread has.

    Line numbers count in the body. Without an excerpt nothing can be checked.
    """
    if not cites_sections(message.body):
        return
    excerpts = excerpt_sections(_kickoffs(mailbox, message.thread_id))
    if excerpts is not None:
        blocks = read_blocks(parse_blocks(message.body), message.thread_id)
        yield from unknown_in_blocks(blocks, excerpts)


def _kickoffs(mailbox: Mailbox, thread_id: str) -> list[StoredMessage]:
    """Return the kickoffs of a thread, oldest first, without reading its other messages."""
    if not mailbox.thread(thread_id, limit=1).position:
        return []
    query = Query(types=(KICKOFF.name,), threads=(thread_id,))
    return list(mailbox.search(query, limit=_MOST_KICKOFFS).messages)[::-1]


def citation_notes(mailbox: Mailbox, thread_id: str, artifact: Artifact) -> tuple[Diagnostic, ...]:
    """Return what the excerpts of a thread show about the cited sections of its artifact.

    A version whose mail is not in this store has none.
    """
    messages = mailbox.thread_arrivals(thread_id, 0)
    return artifact_notes(artifact, messages) if messages else ()
