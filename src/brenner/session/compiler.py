"""Compile the next version of a thread, without posting it (publish document, steps 1 to 5)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.artifact.diff import Diff, diff
from brenner.artifact.merge.draft import NO_OTHER_SESSIONS, OtherSessions
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes.messages import MB_004
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.truncate import truncate_for_messages
from brenner.limits import MOST_MESSAGES_OF_A_VERSION
from brenner.lint.context import SourceText
from brenner.lint.linter import LintReport, lint
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta.parse import is_delta_fence, may_contain_strays
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import iso
from brenner.protocol.subjects import parse_subject
from brenner.session.compiled_message import CompiledContent, Contributor, contributors_of
from brenner.session.model import CompiledMessageRef, VersionRecord, render_record
from brenner.session.rebuild import (
    ThreadMessage,
    message_ref,
    open_conflicts,
    stamp_metadata,
    text_hash,
)
from brenner.session.versions import VersionHistory


class Compiler(NamedTuple):
    """The compiling agent, the time (ISO 8601), the operator, and the project's source text."""

    name: str
    at: str
    operator: str
    source: SourceText | None = None


class NextVersion(NamedTuple):
    """The next version, compiled and not yet published.

    `left` is the number of unread messages that it leaves for later. The caller adds `unresolved`,
    the dangling references to other sessions, and `unverified`, the messages with applied blocks
    whose sender is not authenticated.
    """

    number: int
    artifact: Artifact
    text: str
    sha256: str
    merged: Merge
    diff: Diff
    lint: LintReport
    status: str
    read: tuple[ThreadMessage, ...]
    contributors: tuple[Contributor, ...]
    not_contributed: tuple[Diagnostic, ...]
    left: int
    unresolved: tuple[Diagnostic, ...] = ()
    unverified: tuple[int, ...] = ()

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """The outcome of every block."""
        return self.merged.ledger

    @property
    def refused(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.ledger if entry.state is BlockOutcome.REFUSED)

    @property
    def applies_something(self) -> bool:
        """Whether any block was applied: else there is nothing to compile (R17)."""
        return any(entry.state is BlockOutcome.APPLIED for entry in self.ledger)


def compile_next_version(
    history: VersionHistory,
    compiler: Compiler,
    *,
    close: bool = False,
    elsewhere: OtherSessions = NO_OTHER_SESSIONS,
) -> NextVersion:
    """Merge the unread messages into the next version, lint it and render it.

    Only a version that leaves nothing unread can close the session. `elsewhere` are the references
    of other sessions, used to avoid reference cycles.
    """
    read, merged = _merge_first_batch(history, compiler, elsewhere)
    left = len(history.unread) - len(read)
    close = close and not left
    finished = stamp_metadata(merged.artifact, compiler.at, compiler.name, "active")
    status = "closed" if close else ("active" if lint(finished).valid else "draft")
    artifact = stamp_metadata(finished, compiler.at, compiler.name, status)
    text = render_artifact(artifact)
    return NextVersion(
        number=artifact.metadata.version or 0,
        artifact=artifact,
        text=text,
        sha256=text_hash(text),
        merged=merged,
        diff=diff(history.state.artifact, artifact),
        lint=lint(artifact, compiler.source),
        status=status,
        read=read,
        contributors=contributors_of(merged.ledger, artifact),
        not_contributed=truncate_for_messages(
            (
                *(ignored.diagnostic for ignored in history.ignored_blocks),
                *_stray_contributions(read),
            )
        ),
        left=left,
    )


def _merge_first_batch(
    history: VersionHistory, compiler: Compiler, elsewhere: OtherSessions
) -> tuple[tuple[ThreadMessage, ...], Merge]:
    """Merge the first batch of unread messages of which any block applies.

    A version takes a limited number of messages.
    """
    unread, most = history.unread, MOST_MESSAGES_OF_A_VERSION
    for start in range(0, max(len(unread), 1), most):
        read = unread[start : start + most]
        posted = [filed.posted for filed in read]
        merged = merge(history.state, posted, operator=compiler.operator, elsewhere=elsewhere)
        if any(entry.state is BlockOutcome.APPLIED for entry in merged.ledger):
            break
    return read, merged


def _stray_contributions(read: Iterable[ThreadMessage]) -> Iterator[Diagnostic]:
    """Yield diagnostics for what looks like a contribution outside the blocks of a DELTA (R4)."""
    for filed in read:
        message = filed.posted.message
        subject = parse_subject(message.subject)
        if subject is None or subject.type != DELTA.name:
            continue
        body = parse_blocks(message.body)
        found = [] if any(map(is_delta_fence, body)) else [MB_004.at(1)]
        if may_contain_strays(message.body, body):
            from brenner.protocol.delta.stray import find_strays

            found += [stray.diagnostic for stray in find_strays(message.body, body)]
        yield from (each._replace(message_id=filed.posted.id) for each in found)


def record_of(
    history: VersionHistory, next_version: NextVersion, compiler: Compiler
) -> VersionRecord:
    """Return the record with which the version can be rebuilt."""
    return VersionRecord(
        version=next_version.number,
        base=base_of(history),
        messages=tuple(map(message_ref, next_version.read)),
        artifact_sha256=next_version.sha256,
        compiled_at=compiler.at,
        compiled_by=compiler.name,
        operator=compiler.operator,
        status=next_version.status,
        conflicts=open_conflicts(next_version.merged.conflicts),
        references_left_out=next_version.merged.left_out,
    )


def base_of(history: VersionHistory) -> CompiledMessageRef | None:
    """Return a reference to the COMPILED message of the latest version, with its original id."""
    latest = history.latest
    if latest is None:
        return None
    base = history.state.versions[-1]
    return CompiledMessageRef(latest.number, latest.content_hash, base.message_id, iso(latest.at))


def compiled_content_of(
    history: VersionHistory,
    next_version: NextVersion,
    compiler: Compiler,
    recipients: tuple[str, ...],
) -> CompiledContent:
    """Return the content of the COMPILED message."""
    return CompiledContent(
        thread_id=history.thread_id,
        sender=compiler.name,
        recipients=recipients,
        version=next_version.number,
        previous=history.number or None,
        compiled_at=compiler.at,
        artifact=next_version.artifact,
        text=next_version.text,
        diff=next_version.diff,
        ledger=next_version.ledger,
        contributors=next_version.contributors,
        lint=next_version.lint,
        conflicts=next_version.merged.conflicts,
        not_contributed=next_version.not_contributed,
        warnings=next_version.merged.warnings,
        record=render_record(record_of(history, next_version, compiler)),
        artifact_sha256=next_version.sha256,
        unresolved=next_version.unresolved,
        unverified=next_version.unverified,
    )
