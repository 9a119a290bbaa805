"""Take over a thread that another program has compiled: its artifact as it is (R10)."""

from datetime import datetime
from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.lint.linter import lint
from brenner.mail.model import Stored
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import in_thread_order, iso
from brenner.session.compiled_message import Publication, compose_compiled, contributors_of
from brenner.session.compiler import base_of
from brenner.session.model import CompiledMessage, VersionRecord, render_record
from brenner.session.rebuild import (
    Candidate,
    Filed,
    UnsoundError,
    adopt,
    adopted_artifact,
    read_message,
    stamped,
    text_hash,
)
from brenner.session.versions import Chain, KeptChain, candidate_of
from brenner.workflows.attempts import until_published
from brenner.workflows.chains import check_usable
from brenner.workflows.desk import Desk
from brenner.workflows.publishing import compile_time, post, recipients_of, verified
from brenner.workflows.references import unresolved
from brenner.workflows.void_version import check_operator

MOST_VERSION = 999_999_999  # the highest number that a subject can give


class Adoption(NamedTuple):
    """The version that was published, which message it adopts, and what counts as read.

    `notes` are about the artifact, `in_vain` about messages of ours that are void; `unresolved`
    are the references that lead nowhere.
    """

    version: int
    adopted_message_id: int
    adopted_version: int
    taken_as_read: int
    message: Stored
    notes: tuple[Diagnostic, ...] = ()
    in_vain: tuple[Diagnostic, ...] = ()
    unresolved: tuple[Diagnostic, ...] = ()


def adopt_thread(desk: Desk, thread_id: str) -> Adoption:
    """Publish the next version from the latest COMPILED message that is no version."""
    check_usable(thread_id)
    check_operator(desk, "adopt a thread")
    done, in_vain = until_published(desk, thread_id, lambda known: _adopt(desk, known))
    return done._replace(in_vain=in_vain)


def _adopt(desk: Desk, known: KeptChain) -> Adoption:
    chain = known.chain
    for found in chain.altered_messages():
        raise Refused(found)
    compiled, number = _adoptable(chain)
    last = in_thread_order(compiled.posted)
    before = [each for each in chain.unread if in_thread_order(each.posted) < last]
    read = [each for each in before if _has_read(chain, compiled, each)]
    compiled_at = compile_time(chain, number + 1)
    record = VersionRecord(
        version=number + 1,
        base=base_of(chain),
        messages=tuple(map(read_message, read)),
        artifact_sha256="",
        compiled_at=compiled_at,
        compiled_by=desk.actor,
        operator=desk.project.operator,
        status="",
        adopted=CompiledMessage(
            number, compiled.content_hash, compiled.posted.id, iso(compiled.posted.at)
        ),
    )
    publication = _publication(desk, chain, record, compiled)
    message = compose_compiled(publication)
    stored = post(desk, known, message, verified(chain, message)).stored
    taken = len(record.messages)
    done = Adoption(number + 1, compiled.posted.id, number, taken, stored, publication.warnings)
    return done._replace(unresolved=publication.unresolved)


def _has_read(chain: Chain, compiled: Filed, message: Filed) -> bool:
    """Return whether the adopted message has read a message that came before it.

    Its record says so. A contribution that came in while it was compiled is in no artifact, and
    stays unread. A version that is missing has read what came before it, as far as is known. Of a
    message without a record nothing is known, and all that came before it counts as read.
    """
    found = candidate_of(compiled)
    record = found.record if isinstance(found, Candidate) else None
    if record is None:
        return True
    if any(each.content_hash == message.content_hash for each in record.messages):
        return True
    base = record.base
    if base is None or any(each.content_hash == base.content_hash for each in chain.versions):
        return False
    return in_thread_order(message.posted) < (datetime.fromisoformat(base.at), base.id)


def _adoptable(chain: Chain) -> tuple[Filed, int]:
    """The message to adopt, and the version that it calls itself."""
    found = [filed for filed, _ in chain.unrecorded]
    found += [chain.broken.candidate.filed] if chain.broken else []
    latest = chain.latest
    place = (latest.at, latest.message_id) if latest else None
    later = [each for each in found if place is None or in_thread_order(each.posted) > place]
    if not later:
        reason = "it has no COMPILED message without a record after its latest version"
        raise _refused(chain, reason)
    compiled = max(later, key=lambda filed: in_thread_order(filed.posted))
    number = _number(compiled, chain.number + 1)
    if number >= MOST_VERSION:
        raise _refused(chain, f"message {compiled.posted.id} calls itself v{number}")
    if number <= chain.number:
        reason = (
            f"message {compiled.posted.id} calls itself v{number}, and the thread has come to "
            f"v{chain.number}"
        )
        raise _refused(chain, reason)
    return compiled, number


def _number(compiled: Filed, otherwise: int) -> int:
    body = read_compiled(compiled.posted.message)
    return body.subject_version or body.version or body.title_version or otherwise


def _publication(desk: Desk, chain: Chain, record: VersionRecord, compiled: Filed) -> Publication:
    """What is published: the artifact in our own form, with nothing merged into it."""
    try:
        before = adopted_artifact(compiled, record.version - 1)
        state = adopt(chain.state, record, [compiled])
    except UnsoundError as error:
        raise _refused(chain, str(error)) from None
    finished = stamped(state.artifact, record.compiled_at, record.compiled_by, "active")
    status = "active" if lint(finished).valid else "draft"
    artifact = stamped(finished, record.compiled_at, record.compiled_by, status)
    text = render_artifact(artifact)
    record = record._replace(artifact_sha256=text_hash(text), status=status)
    return Publication(
        thread_id=chain.thread_id,
        sender=desk.actor,
        recipients=recipients_of(desk, chain, artifact),
        version=record.version,
        previous=record.version - 1,
        compiled_at=record.compiled_at,
        artifact=artifact,
        text=text,
        diff=diff(before, artifact),
        ledger=(),
        contributors=contributors_of((), artifact),
        lint=lint(artifact),
        conflicts=(),
        not_contributed=(),
        warnings=_remarks(compiled),
        record=render_record(record),
        artifact_sha256=record.artifact_sha256,
        adopted=compiled.posted.id,
        unresolved=unresolved(desk, artifact),
    )


def _remarks(compiled: Filed) -> tuple[Diagnostic, ...]:
    """What of the artifact departs from the format, or could not be read at all."""
    inline = read_compiled(compiled.posted.message).inline or ""
    found = parse_artifact(inline).diagnostics
    return tuple(each._replace(message_id=compiled.posted.id) for each in found)


def _refused(chain: Chain, reason: str) -> Refused:
    return Refused(codes.CANNOT_ADOPT.at(thread_id=chain.thread_id, reason=reason))
