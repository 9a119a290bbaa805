"""Threads with versions, made by the pure functions alone: what the laws of the chain are tried on.

Every version is composed, read back from its message and rebuilt from its record.
"""

from collections.abc import Iterable
from datetime import datetime

from brenner.protocol.messages import Message, PostedMessage, content_hash, iso
from brenner.session.compiled_message import compose_compiled
from brenner.session.compiler import (
    Compiler,
    NextVersion,
    compile_next_version,
    compiled_content_of,
)
from brenner.session.model import VersionRecord
from brenner.session.rebuild import CompiledCandidate, ThreadMessage
from brenner.session.versions import VersionHistory, advance, candidate_of, replay
from sample_messages import THREAD_ID

OPERATOR = "Operator"


def file(posted: PostedMessage, origin: int | None = None) -> ThreadMessage:
    """A message as a store has it."""
    number = posted.id if origin is None else origin
    return ThreadMessage(posted, content_hash(posted.message), number, posted.id)


def compiler(at: datetime, name: str = OPERATOR) -> Compiler:
    """Somebody who compiles at that time."""
    return Compiler(name, iso(at.replace(microsecond=0)), OPERATOR)


def chain_of(messages: Iterable[ThreadMessage]) -> VersionHistory:
    """The chain of all these messages."""
    return replay(THREAD_ID, list(messages), OPERATOR)


def compiled(
    history: VersionHistory, number: int, at: datetime
) -> tuple[ThreadMessage, NextVersion]:
    """The COMPILED message of the next version, stored."""
    who = compiler(at)
    proposal = compile_next_version(history, who)
    message = compose_compiled(compiled_content_of(history, proposal, who, ("BlueLake",)))
    return file(PostedMessage(number, at, message)), proposal


def candidate(filed: ThreadMessage) -> CompiledCandidate:
    """A COMPILED message whose record can be read."""
    found = candidate_of(filed)
    assert isinstance(found, CompiledCandidate), found
    return found


def record_in(filed: ThreadMessage) -> VersionRecord:
    """The record of a COMPILED message."""
    record = candidate(filed).record
    assert record
    return record


def advanced(history: VersionHistory, news: list[ThreadMessage]) -> VersionHistory:
    """The chain with what came in since."""
    found = advance(history, news)
    assert found is not None
    return found


def foreign(
    number: int, at: datetime, subject: str, body: str, sender: str = "RedSky"
) -> ThreadMessage:
    """A message that somebody else posted."""
    return file(PostedMessage(number, at, Message(THREAD_ID, sender, (OPERATOR,), subject, body)))
