"""The next version of a thread, worked out and not yet posted (publish document, steps 1 to 5)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.artifact.diff import Diff, diff
from brenner.artifact.merge.draft import NOWHERE, Elsewhere
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.codes.messages import MB_004
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.truncate import of_messages
from brenner.limits import MOST_MESSAGES_OF_A_VERSION
from brenner.lint.context import SourceText
from brenner.lint.linter import LintReport, lint
from brenner.markdown.blocks import blocks
from brenner.protocol.delta.parse import could_hold_strays, is_delta_fence
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import iso
from brenner.protocol.subjects import parse_subject
from brenner.session.compiled_message import Contributor, Publication, contributors_of
from brenner.session.model import CompiledMessage, VersionRecord, render_record
from brenner.session.rebuild import ThreadMessage, open_conflicts, read_message, stamped, text_hash
from brenner.session.versions import VersionHistory


class Compiler(NamedTuple):
    """Who compiles, when (ISO 8601), and for whom; `source` is the project's source text."""

    name: str
    at: str
    operator: str
    source: SourceText | None = None


class ProposedVersion(NamedTuple):
    """A version that could be published. `left` is how many unread messages it leaves for later.

    `unresolved` is what only who knows other sessions can add: the references that lead nowhere.
    `unverified` is what only the mailbox knows: messages whose blocks apply, by nobody knows whom.
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
        """What became of every block."""
        return self.merged.ledger

    @property
    def refused(self) -> tuple[Entry, ...]:
        """The blocks that were refused."""
        return tuple(entry for entry in self.ledger if entry.state is Outcome.REFUSED)

    @property
    def applies_something(self) -> bool:
        """Whether any block was applied: else there is nothing to compile (R17)."""
        return any(entry.state is Outcome.APPLIED for entry in self.ledger)


def propose(
    history: VersionHistory,
    compiler: Compiler,
    *,
    close: bool = False,
    elsewhere: Elsewhere = NOWHERE,
) -> ProposedVersion:
    """Merge what no version has read into the next version, lint it and render it.

    A session is closed only by a version that leaves nothing unread. `elsewhere` are the references
    of other sessions, through which it is not to close a circle.
    """
    read, merged = _portion(history, compiler, elsewhere)
    left = len(history.unread) - len(read)
    close = close and not left
    finished = stamped(merged.artifact, compiler.at, compiler.name, "active")
    status = "closed" if close else ("active" if lint(finished).valid else "draft")
    artifact = stamped(finished, compiler.at, compiler.name, status)
    text = render_artifact(artifact)
    return ProposedVersion(
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
        not_contributed=of_messages(
            (*(aside.diagnostic for aside in history.aside), *_overlooked(read))
        ),
        left=left,
    )


def _portion(
    history: VersionHistory, compiler: Compiler, elsewhere: Elsewhere
) -> tuple[tuple[ThreadMessage, ...], Merge]:
    """As many messages as a version takes: the first ones of which any applies."""
    unread, most = history.unread, MOST_MESSAGES_OF_A_VERSION
    for start in range(0, max(len(unread), 1), most):
        read = unread[start : start + most]
        posted = [filed.posted for filed in read]
        merged = merge(history.state, posted, operator=compiler.operator, elsewhere=elsewhere)
        if any(entry.state is Outcome.APPLIED for entry in merged.ledger):
            break
    return read, merged


def _overlooked(read: Iterable[ThreadMessage]) -> Iterator[Diagnostic]:
    """What looks like a contribution in a DELTA message and stands outside of its blocks (R4)."""
    for filed in read:
        message = filed.posted.message
        subject = parse_subject(message.subject)
        if subject is None or subject.type != DELTA.name:
            continue
        body = blocks(message.body)
        found = [] if any(map(is_delta_fence, body)) else [MB_004.at(1)]
        if could_hold_strays(message.body, body):
            from brenner.protocol.delta.stray import find_strays

            found += [stray.diagnostic for stray in find_strays(message.body, body)]
        yield from (each._replace(message_id=filed.posted.id) for each in found)


def record_of(
    history: VersionHistory, proposal: ProposedVersion, compiler: Compiler
) -> VersionRecord:
    """The record with which the version can be rebuilt."""
    return VersionRecord(
        version=proposal.number,
        base=base_of(history),
        messages=tuple(map(read_message, proposal.read)),
        artifact_sha256=proposal.sha256,
        compiled_at=compiler.at,
        compiled_by=compiler.name,
        operator=compiler.operator,
        status=proposal.status,
        conflicts=open_conflicts(proposal.merged.conflicts),
        references_left_out=proposal.merged.left_out,
    )


def base_of(history: VersionHistory) -> CompiledMessage | None:
    """The latest version as this store has it: its COMPILED message, where it was first stored."""
    latest = history.latest
    if latest is None:
        return None
    place = history.state.versions[-1]
    return CompiledMessage(latest.number, latest.content_hash, place.message_id, iso(latest.at))


def publication_of(
    history: VersionHistory,
    proposal: ProposedVersion,
    compiler: Compiler,
    recipients: tuple[str, ...],
) -> Publication:
    """Everything that the COMPILED message says."""
    return Publication(
        thread_id=history.thread_id,
        sender=compiler.name,
        recipients=recipients,
        version=proposal.number,
        previous=history.number or None,
        compiled_at=compiler.at,
        artifact=proposal.artifact,
        text=proposal.text,
        diff=proposal.diff,
        ledger=proposal.ledger,
        contributors=proposal.contributors,
        lint=proposal.lint,
        conflicts=proposal.merged.conflicts,
        not_contributed=proposal.not_contributed,
        warnings=proposal.merged.warnings,
        record=render_record(record_of(history, proposal, compiler)),
        artifact_sha256=proposal.sha256,
        unresolved=proposal.unresolved,
        unverified=proposal.unverified,
    )
