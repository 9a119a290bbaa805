"""Threads with versions, made by the pure functions alone: what the laws of the chain are tried on.

Every version is composed, read back from its message and rebuilt from its record.
"""

from collections.abc import Iterable
from datetime import datetime

from brenner.protocol.messages import Message, StoredMessage, content_hash, iso
from brenner.session.compiled_message import CompiledVersion, compose_compiled
from brenner.session.compiler import Compiler, compile_next_version
from brenner.session.model import VersionRecord
from brenner.session.rebuild import CompiledCandidate
from brenner.session.versions import VersionHistory, advance, candidate_of, replay
from sample_messages import THREAD_ID

OPERATOR = "Operator"


def file(posted: StoredMessage, origin: int | None = None) -> StoredMessage:
    """A message as a store has it."""
    number = posted.id if origin is None else origin
    found = content_hash(posted.message)
    return posted._replace(content_hash=found, origin_id=number, arrival=posted.id)


def compiler(at: datetime, name: str = OPERATOR) -> Compiler:
    """Somebody who compiles at that time."""
    return Compiler(name, iso(at.replace(microsecond=0)), OPERATOR)


def chain_of(messages: Iterable[StoredMessage]) -> VersionHistory:
    """The chain of all these messages."""
    return replay(THREAD_ID, list(messages), OPERATOR)


def compiled(
    history: VersionHistory, number: int, at: datetime
) -> tuple[StoredMessage, CompiledVersion]:
    """The COMPILED message of the next version, stored."""
    proposal = compile_next_version(history, compiler(at))
    message, _ = compose_compiled(proposal, ("BlueLake",))
    return file(StoredMessage(number, at, message)), proposal


def candidate(stored: StoredMessage) -> CompiledCandidate:
    """A COMPILED message whose record can be read."""
    found = candidate_of(stored)
    assert isinstance(found, CompiledCandidate), found
    return found


def record_in(stored: StoredMessage) -> VersionRecord:
    """The record of a COMPILED message."""
    record = candidate(stored).record
    assert record
    return record


def advanced(history: VersionHistory, news: list[StoredMessage]) -> VersionHistory:
    """The chain with what came in since."""
    found = advance(history, news)
    assert found is not None
    return found


def foreign(
    number: int, at: datetime, subject: str, body: str, sender: str = "RedSky"
) -> StoredMessage:
    """A message that somebody else posted."""
    return file(StoredMessage(number, at, Message(THREAD_ID, sender, (OPERATOR,), subject, body)))
