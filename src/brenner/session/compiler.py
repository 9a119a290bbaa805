"""Compile the next version of a thread, without posting it (publish document, steps 1 to 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.diff import diff
from brenner.artifact.merge.draft import NO_OTHER_SESSIONS, OtherSessions
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes.lint_structure import EP_P01
from brenner.diagnostics.codes.messages import MB_004
from brenner.diagnostics.model import ERROR
from brenner.diagnostics.truncate import truncate_for_messages
from brenner.limits import MOST_MESSAGES_OF_A_VERSION
from brenner.lint.linter import lint
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import is_delta_fence, may_contain_strays
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import StoredMessage, iso
from brenner.protocol.subjects import parse_subject
from brenner.session.compiled_message import CompiledVersion, contributors_of
from brenner.session.model import CompiledMessageRef, VersionRecord
from brenner.session.rebuild import message_ref, open_conflicts, stamp_metadata, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.artifact.model import Artifact
    from brenner.diagnostics.model import Diagnostic
    from brenner.lint.context import SourceText
    from brenner.session.versions import VersionHistory


class Compiler(NamedTuple):
    """The compiling agent, the time (ISO 8601), the operator, and the project's source text."""

    name: str
    at: str
    operator: str
    source: SourceText | None = None


def compile_next_version(
    history: VersionHistory,
    compiler: Compiler,
    *,
    close: bool = False,
    elsewhere: OtherSessions = NO_OTHER_SESSIONS,
) -> CompiledVersion:
    """Merge the unread messages into the next version, lint it and render it.

    Only a version that leaves nothing unread can close the session. `elsewhere` are the references
    of other sessions, used to avoid reference cycles. The caller adds `unresolved` and
    `unverified`.
    """
    return compile_batch(history, compiler, *merge_batch(history, compiler, elsewhere), close=close)


def compile_batch(
    history: VersionHistory,
    compiler: Compiler,
    read: tuple[StoredMessage, ...],
    merged: Merge,
    *,
    close: bool = False,
) -> CompiledVersion:
    """Return the next version, with messages that are already merged."""
    left = len(history.unread) - len(read)
    record = VersionRecord(
        version=merged.artifact.metadata.version or 0,
        base=base_of(history),
        messages=tuple(map(message_ref, read)),
        artifact_sha256="",
        compiled_at=compiler.at,
        compiled_by=compiler.name,
        operator=compiler.operator,
        status="closed" if close and not left else "",
        conflicts=open_conflicts(merged.conflicts),
        references_left_out=merged.left_out,
        format=merged.record_format,
    )
    version = finish_version(history.state.artifact, merged.artifact, record, compiler.source)
    return version._replace(
        thread_id=history.thread_id,
        previous_version=history.number or None,
        ledger=merged.ledger,
        contributors=contributors_of(merged.ledger, version.artifact),
        conflicts=merged.conflicts,
        not_contributed=not_contributed(history, read),
        warnings=merged.warnings,
        read=read,
        left=left,
    )


def finish_version(
    before: Artifact, artifact: Artifact, record: VersionRecord, source: SourceText | None = None
) -> CompiledVersion:
    """Lint an artifact, stamp and render it, and complete its record.

    Unless the record closes the session, lint errors make it a draft. The project's source text is
    not part of the thread, so citations of sections that it lacks do not count.
    """
    artifact = stamp_metadata(artifact, record.compiled_at, record.compiled_by, "active")
    report = lint(artifact, source)  # the same for every status
    errors = (each for each in report.violations if each.severity is ERROR)
    is_draft = any(each.code is not EP_P01 for each in errors)
    status = record.status or ("draft" if is_draft else "active")
    artifact = stamp_metadata(artifact, record.compiled_at, record.compiled_by, status)
    text = render_artifact(artifact)
    return CompiledVersion(
        thread_id=artifact.metadata.session_id or "",
        previous_version=record.version - 1,
        artifact=artifact,
        text=text,
        diff=diff(before, artifact),
        ledger=(),
        contributors=contributors_of((), artifact),
        lint=report,
        conflicts=(),
        not_contributed=(),
        warnings=(),
        record=record._replace(artifact_sha256=text_hash(text), status=status),
    )


def merge_batch(
    history: VersionHistory, compiler: Compiler, elsewhere: OtherSessions
) -> tuple[tuple[StoredMessage, ...], Merge]:
    """Merge the first batch of unread messages of which any block applies.

    A version takes a limited number of messages.
    """
    unread, most = history.unread, MOST_MESSAGES_OF_A_VERSION
    for start in range(0, max(len(unread), 1), most):
        read = unread[start : start + most]
        merged = merge(history.state, read, operator=compiler.operator, elsewhere=elsewhere)
        if any(entry.state is BlockOutcome.APPLIED for entry in merged.ledger):
            break
    return read, merged


def not_contributed(
    history: VersionHistory, read: Iterable[StoredMessage]
) -> tuple[Diagnostic, ...]:
    """Return diagnostics for what looks like a contribution to the next version and is none."""
    ignored = (found for _, found in history.ignored_blocks)
    return truncate_for_messages((*ignored, *_stray_contributions(read)))


def _stray_contributions(read: Iterable[StoredMessage]) -> Iterator[Diagnostic]:
    """Yield diagnostics for what looks like a contribution outside the blocks of a DELTA (R4)."""
    for stored in read:
        message = stored.message
        subject = parse_subject(message.subject)
        if subject is None or subject.type != DELTA.name:
            continue
        body = parse_blocks(message.body)
        found = [] if any(map(is_delta_fence, body)) else [MB_004.at(1)]
        if may_contain_strays(message.body, body):
            from brenner.protocol.delta.stray import find_strays

            found += [stray.diagnostic for stray in find_strays(message.body, body)]
        yield from (each._replace(message_id=stored.id) for each in found)


def base_of(history: VersionHistory) -> CompiledMessageRef | None:
    """Return a reference to the COMPILED message of the latest version, with its original id."""
    latest = history.latest
    if latest is None:
        return None
    base = history.state.versions[-1]
    return CompiledMessageRef(latest.number, latest.content_hash, base.message_id, iso(latest.at))
