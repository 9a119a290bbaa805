"""Compile a thread: publish its next version once, even with several compilers (R10, R17).

Foreseeable failures are raised before anything is posted. A compiler that loses the race reads the
thread again, and publishes the next version or has nothing left to do.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.diff import Diff, changed_ids, diff
from brenner.artifact.model import ITEM_SECTIONS, Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome, Conflict, Entry, ledger_json
from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, Summary, worst_first
from brenner.diagnostics.truncate import truncate_for_messages
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.context import SourceText, read_source_text
from brenner.lint.linter import LintReport, lint
from brenner.mail.mailbox import Capability
from brenner.mail.model import SendResult, StoredMessage
from brenner.persist.artifact_file import VersionText
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.protocol.messages import Message
from brenner.protocol.thread_ids import cross_reference
from brenner.services.identity import unverified_ids
from brenner.services.persist import PersistOptions, PersistResult, check_persistable, persist
from brenner.services.publish import (
    MOST_TRIES,
    OvertakenError,
    check_preview_digest,
    check_preview_position,
    check_sound,
    compile_time,
    is_overtaken,
    post_version,
    publish_with_retry,
    recipients_of,
    send_if_absent,
    verify_before_posting,
)
from brenner.services.references import (
    SessionIndex,
    find_closed_cycles,
    has_references,
    load_external_references,
    reported_in_ledger,
    unresolved_references,
)
from brenner.services.session_status import load_status
from brenner.services.version_store import (
    load_ledger,
    require_thread_id,
    version_text,
    version_texts,
)
from brenner.services.workspace import Workspace
from brenner.session.compiled_message import (
    Contributor,
    compose_compiled,
    size_note,
    statistics,
    third_alternative,
)
from brenner.session.compiler import (
    Compiler,
    NextVersion,
    compile_next_version,
    compiled_content_of,
)
from brenner.session.rebuild import text_hash
from brenner.session.validation_reply import compose_block_errors
from brenner.session.versions import CachedHistory
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.versions import PersistableVersion


# One reply to each author of rejected blocks (message document, Error Responses)


def send_refusal_replies(
    workspace: Workspace, ledger: Iterable[Entry], latest: int
) -> tuple[SendResult, ...]:
    """Mail the Validation Error reply for every message with rejected blocks that has none yet.

    `latest` is the number of the latest version; 0 before the first.
    """
    by_message: dict[int, list[Entry]] = {}
    for entry in ledger:
        if entry.state is BlockOutcome.REFUSED:
            by_message.setdefault(entry.message_id, []).append(entry)
    replies = _ReplyIndex(workspace)
    sent = []
    for number, entries in by_message.items():
        posted = workspace.mailbox.message(number).posted
        reply = compose_block_errors(posted, tuple(entries), workspace.actor, latest)
        sent.append(_send_reply(workspace, number, reply, replies))
    return tuple(each for each in sent if each.is_new)


class _ReplyIndex:
    """An index of the replies in a thread. Each lookup reads only new messages."""

    def __init__(self, workspace: Workspace) -> None:
        self._mailbox = workspace.mailbox
        self._has_links = Capability.REPLY_LINKS not in workspace.mailbox.lacks
        self._arrival = 0
        self._found: dict[tuple[int | None, str], StoredMessage] = {}

    def to(self, message_id: int, reply: Message) -> StoredMessage | None:
        """Return the first reply to a message with that subject, of any sender.

        A store without reply links is searched by the subject alone, which names the message.
        """
        for stored in self._mailbox.thread_arrivals(reply.thread_id, self._arrival):
            self._arrival = stored.arrival
            about = stored.reply_to if self._has_links else None
            self._found.setdefault((about, stored.message.subject), stored)
        return self._found.get((message_id if self._has_links else None, reply.subject))


def _send_reply(
    workspace: Workspace, message_id: int, reply: Message, replies: _ReplyIndex
) -> SendResult:
    """Send the reply once. A message never changes, so neither do its rejected blocks."""
    return send_if_absent(
        workspace.mailbox,
        reply,
        lambda: replies.to(message_id, reply),
        key=f"validation error of message {message_id}",
        reply_to=message_id,
    )


# The project's source text, for anchors and excerpts (companion, Anchors)


MOST_SOURCE_BYTES = 4 * MOST_BODY_BYTES  # a book has about one megabyte


def read_project_source(project: Project) -> str | Diagnostic | None:
    """Return the project's source text, None if it has none, or why it cannot be read."""
    if project.source_text is None:
        return None
    file = project.folder / project.source_text
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_SOURCE_BYTES + 1)
        if len(raw) > MOST_SOURCE_BYTES:
            return _unreadable_source(project, f"it is larger than {MOST_SOURCE_BYTES} bytes")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _unreadable_source(project, "it is not UTF-8")
    except OSError as error:
        return _unreadable_source(project, (error.strerror or type(error).__name__).lower())


def load_source_text(project: Project) -> SourceText | None:
    """Return the sections of the source text for the linter. Raise if it cannot be read."""
    text = read_project_source(project)
    if isinstance(text, Diagnostic):
        raise RequestError(text)
    return read_source_text(text, project.source_text or "") if text is not None else None


def load_readable_source_text(project: Project) -> SourceText | None:
    """Return the same, or None if the source text cannot be read.

    Then only the form of anchors is checked.
    """
    text = read_project_source(project)
    return read_source_text(text, project.source_text or "") if isinstance(text, str) else None


def _unreadable_source(project: Project, reason: str) -> Diagnostic:
    reason_text = f"`source_text` names `{project.source_text}`, which cannot be read: {reason}"
    return stores_codes.INVALID_SETTINGS.at(
        path=str(project.folder / SETTINGS_FILE), reason=reason_text
    )


class CompileOptions(NamedTuple):
    """Options of a compile. `close` publishes the last version of the session.

    `position` is the number of messages in the thread at the time of the preview, and `seen` the
    digest of the previewed version. If either has changed, nothing is published.
    """

    dry_run: bool = False
    strict: bool = False
    reopen: bool = False
    notify: bool = False
    close: bool = False
    persist: PersistOptions | None = None
    position: int | None = None
    seen: str | None = None


class CompileStatus(StrEnum):
    """The status of a finished compile."""

    PUBLISHED = "published"
    NOTHING = "nothing_to_compile"
    DRY_RUN = "dry_run"
    REFUSED = "refused"


class CompileResult(NamedTuple):
    """The result of a compile.

    If nothing was published, the artifact is that of the latest version, or the one that would have
    been published. `failed` is an error after the version was posted; the version is still
    published. `unverified` are messages with applied blocks whose sender was not verified. `wish`
    is how a dry run would persist the version.
    """

    thread_id: str
    status: CompileStatus
    version: int | None
    previous_version: int | None
    message: StoredMessage | None
    artifact: Artifact
    text: str
    artifact_sha256: str
    diff: Diff
    ledger: tuple[Entry, ...]
    warnings: tuple[Diagnostic, ...]
    conflicts: tuple[Conflict, ...]
    not_contributed: tuple[Diagnostic, ...]
    lint: LintReport
    contributors: tuple[Contributor, ...]
    notes: tuple[Diagnostic, ...]
    persistence: Persistence
    left: int = 0
    persisted: PersistResult | None = None
    notified: tuple[SendResult, ...] = ()
    failed: BrennerError | None = None
    unverified: tuple[int, ...] = ()
    wish: PersistOptions | None = None


def compile_thread(workspace: Workspace, thread_id: str, options: CompileOptions) -> CompileResult:
    """Publish the next version of a thread, if there is one to publish."""
    require_thread_id(thread_id)

    def attempt(cached: CachedHistory) -> CompileResult:
        return _CompileAttempt(workspace, cached, options).run()

    done, in_vain = publish_with_retry(workspace, thread_id, attempt, dry_run=options.dry_run)
    lost = {each.message_id for each in in_vain}
    others = (each for each in done.notes if each.message_id not in lost)  # report each once
    return done._replace(notes=(*in_vain, *others))


class _CompileAttempt:
    """One attempt to compile, on a snapshot of the thread."""

    def __init__(
        self, workspace: Workspace, cached: CachedHistory, options: CompileOptions
    ) -> None:
        self.workspace = workspace
        self.cached = cached
        self.history = cached.history
        self.options = options
        self.sessions = SessionIndex(workspace)
        source = load_source_text(workspace.project)
        now = compile_time(self.history, self.history.number + 1)
        self.compiler = Compiler(workspace.actor, now, workspace.project.operator, source)

    def run(self) -> CompileResult:
        """Run all steps. A posted version stays, even if a later step fails."""
        history, options = self.history, self.options
        check_sound(history)
        check_preview_position(self.workspace.mailbox, history, options.position)
        if options.close and not history.versions:
            raise RequestError(publishing_codes.NO_VERSION_TO_CLOSE.at(thread_id=history.thread_id))
        proposal = self._propose()
        check_preview_digest(history.thread_id, proposal.artifact, options.seen)
        if options.strict and proposal.refused:
            return self._result(proposal, CompileStatus.REFUSED)
        if not proposal.applies_something and (history.is_closed or not options.close):
            return self._nothing_to_compile(proposal)
        if history.is_closed and not options.reopen:
            words = {"thread_id": history.thread_id, "version": str(history.number)}
            raise RequestError(publishing_codes.SESSION_CLOSED.at(None, **words))
        if options.strict and not proposal.lint.valid:
            return self._result(proposal, CompileStatus.REFUSED)
        recipients = recipients_of(self.workspace, history, proposal.artifact)
        publication = compiled_content_of(history, proposal, self.compiler, recipients)
        message = compose_compiled(publication)
        rebuilt = verify_before_posting(history, message)
        too_large = None if proposal.text in message.body else size_note(publication)
        persist_options = self._persist_options(proposal.number, is_end=proposal.status == "closed")
        if persist_options:
            version = version_text(history, proposal.number, 0, proposal.text, message)
            self._check_persistable(version, persist_options)
        if options.dry_run:
            return self._result(proposal, CompileStatus.DRY_RUN)._replace(wish=persist_options)
        # A preview covers all unread messages, and closing must leave none unread.
        is_all = options.position is not None or options.close
        stored, late = post_version(
            self.workspace, self.cached, message, rebuilt, contributions=is_all
        )
        done = self._result(proposal, CompileStatus.PUBLISHED)
        done = done._replace(message=stored, left=done.left + late)
        done = done._replace(notes=(*done.notes, *([too_large] if too_large else [])))
        version = version_text(history, proposal.number, stored.id, done.text, message)
        return self._with_new_cycles(self._persist_and_notify(done, version, persist_options))

    def _check_persistable(self, version: VersionText, options: PersistOptions) -> None:
        """Raise foreseeable failures, or `OvertakenError` if a newer version is the cause."""
        try:
            check_persistable(self.workspace, version, self._texts(version), options)
        except BrennerError:
            if is_overtaken(self.workspace, self.cached):
                raise OvertakenError from None
            raise

    def _propose(self) -> NextVersion:
        """Return the next version, given the current state of other sessions."""
        elsewhere = load_external_references(self.workspace, self.history, self.sessions)
        close = self.options.close
        proposal = compile_next_version(
            self.history, self.compiler, close=close, elsewhere=elsewhere
        )
        found = unresolved_references(self.workspace, proposal.artifact, self.sessions)
        return proposal._replace(unresolved=found, unverified=self._unverified(proposal))

    def _broken_references(self, proposal: NextVersion) -> tuple[Diagnostic, ...]:
        """Return the broken references that the ledger does not report, and unreadable files."""
        reported = reported_in_ledger(proposal.ledger, (filed.posted for filed in proposal.read))
        if not reported:
            return proposal.unresolved
        return unresolved_references(self.workspace, proposal.artifact, self.sessions, reported)

    def _persist_options(self, number: int, *, is_end: bool) -> PersistOptions | None:
        """Return the requested options, or the configured ones for a milestone or the end."""
        configured = self.workspace.project.persist
        is_milestone = configured.every is not None and number % configured.every == 0
        if self.options.persist or not (is_milestone or (is_end and configured.on_complete)):
            return self.options.persist
        return PersistOptions(
            commit=configured.commit or configured.push,
            push=configured.push,
            archive=configured.archive,
        )

    def _texts(self, new: VersionText) -> Callable[[int], str | None]:
        """Return a function from version numbers to texts, including the new version."""
        earlier = version_texts(
            self.workspace.mailbox, self.history, self.workspace.project.operator
        )
        return lambda number: new.text if number == new.number else earlier(number)

    def _nothing_to_compile(self, proposal: NextVersion) -> CompileResult:
        """Return the result without posting (R17), after finishing what was interrupted before."""
        history, latest = self.history, self.history.latest
        text = render_artifact(history.state.artifact)
        result = self._result(proposal, CompileStatus.NOTHING)._replace(
            version=history.number or None,
            previous_version=history.versions[-2].number if len(history.versions) > 1 else None,
            artifact=history.state.artifact,
            text=text,
            artifact_sha256=text_hash(text),
            diff=diff(history.state.artifact, history.state.artifact),
            conflicts=history.state.conflicts,
            lint=lint(history.state.artifact, self.compiler.source),
            contributors=(),
            persistence=self._persistence(text),
        )
        persist_options = (
            self._persist_options(history.number, is_end=history.is_closed)
            if latest
            else self.options.persist
        )
        if latest is None:
            path = cross_reference(history.thread_id).artifact_path
            found = NO_VERSION_YET.at(thread_id=history.thread_id, path=path)
            return self._persist_and_notify(result, None, None)._replace(
                notes=(*result.notes, *([found] if persist_options else []))
            )
        stored = self.workspace.mailbox.message(latest.message_id)
        version = version_text(history, latest.number, stored.id, text, stored.message)
        result = result._replace(message=stored)
        if self.options.dry_run:
            return result._replace(wish=persist_options)
        return self._persist_and_notify(result, version, persist_options)

    def _persist_and_notify(
        self,
        result: CompileResult,
        version: VersionText | None,
        persist_options: PersistOptions | None,
    ) -> CompileResult:
        """Persist and notify. Record a failure in the result, beside the steps done before it."""
        failed: BrennerError | None = None
        try:
            if version and persist_options:
                result = self._persist(result, version, persist_options)
            if self.options.notify:
                result = result._replace(
                    notified=send_refusal_replies(
                        self.workspace, self._open_refusals(result), result.version or 0
                    )
                )
        except BrennerError as error:
            failed = error
            result = result._replace(persistence=self._persistence(result.text))
        return result._replace(failed=failed)

    def _persist(
        self, result: CompileResult, version: VersionText, options: PersistOptions
    ) -> CompileResult:
        """Persist the version, or a newer one if that is in the way.

        The newer one's compiler may have been interrupted: then this finishes its work.
        """
        recipients = recipients_of(self.workspace, self.history, result.artifact)
        try:
            persisted = persist(self.workspace, version, self._texts(version), options, recipients)
            return result._replace(persisted=persisted, persistence=persisted.persistence)
        except BrennerError as error:
            persisted = self._persist_newer(version, options, error)
        return result._replace(persisted=persisted, persistence=self._persistence(result.text))

    def _persist_newer(
        self, version: VersionText, options: PersistOptions, error: BrennerError
    ) -> PersistResult:
        """Persist the latest version. Raise the error if the latest is the one that failed."""
        from brenner.services.versions import (
            persist_latest,
        )  # needed only if another compiler was first

        for _ in range(MOST_TRIES):
            latest = self._newer_version(version)
            if latest is None:
                break
            version = latest.version
            try:
                return persist_latest(self.workspace, latest, options)
            except BrennerError as another:
                error = another
        raise error

    def _newer_version(self, version: VersionText) -> "PersistableVersion | None":
        """Return the latest version; None if it is this one, or if there is none."""
        from brenner.services.versions import load_latest

        try:
            latest = load_latest(self.workspace, self.history.thread_id)
        except BrennerError:  # report the earlier failure instead
            return None
        return None if latest.version.message_id == version.message_id else latest

    def _with_new_cycles(self, done: CompileResult) -> CompileResult:
        """Add a note if another session has just published its half of a reference cycle.

        Each compiler checks after posting, so the later one sees the cycle. Only a new reference
        can close one.
        """
        if not has_references(filed.posted for filed in self.history.unread):
            return done
        try:
            found = find_closed_cycles(done.artifact, SessionIndex(self.workspace))
        except BrennerError as error:
            return done._replace(failed=done.failed or error)
        return done._replace(notes=(*done.notes, *found))

    def _open_refusals(self, result: CompileResult) -> tuple[Entry, ...]:
        """Return the open rejected blocks of this compile.

        If nothing was published, those of the latest version are included.

        Blocks that were corrected or dismissed since are left out.
        """
        ledger = result.ledger
        if result.status is not CompileStatus.PUBLISHED:
            earlier = load_ledger(self.workspace, self.history.thread_id, self.history.number)
            ledger = (*earlier, *ledger)
        refusals = load_status(self.workspace, self.history.thread_id).status.refusals
        still_open = {(each.message_id, each.block) for each in refusals}
        return tuple(each for each in ledger if (each.message_id, each.block) in still_open)

    def _persistence(self, text: str) -> Persistence:
        return persistence_of(self.workspace.project, self.history.thread_id, text)

    def _result(self, proposal: NextVersion, status: CompileStatus) -> CompileResult:
        return CompileResult(
            thread_id=self.history.thread_id,
            status=status,
            version=proposal.number,
            previous_version=self.history.number or None,
            message=None,
            artifact=proposal.artifact,
            text=proposal.text,
            artifact_sha256=proposal.sha256,
            diff=proposal.diff,
            ledger=proposal.ledger,
            warnings=(*proposal.merged.warnings, *self._broken_references(proposal)),
            conflicts=proposal.merged.conflicts,
            not_contributed=proposal.not_contributed,
            lint=proposal.lint,
            contributors=proposal.contributors,
            notes=(*self.history.new_void_messages(), *self._file_ahead()),
            persistence=Persistence("Draft", cross_reference(self.history.thread_id).artifact_path),
            left=proposal.left,
            unverified=proposal.unverified,
        )

    def _file_ahead(self) -> tuple[Diagnostic, ...]:
        """Return a note if the file is newer than the mail: a COMPILED message may be lost."""
        path = cross_reference(self.history.thread_id).artifact_path
        if not (self.workspace.project.folder / path).is_file():
            return ()
        from brenner.services.versions import file_ahead  # needed only if there is a file

        return tuple(file_ahead(self.workspace, self.history))

    def _unverified(self, proposal: NextVersion) -> tuple[int, ...]:
        applied = (each for each in proposal.ledger if each.state is BlockOutcome.APPLIED)
        return unverified_ids(self.workspace.mailbox, (each.message_id for each in applied))


# The result as JSON


def compile_result_json(done: CompileResult) -> dict[str, object]:
    """Return the result as JSON: the stable form; keys are only ever added."""
    of_mail = [*done.notes, *done.warnings, *done.not_contributed]
    of_mail += [each for entry in done.ledger for each in entry.diagnostics]
    diagnostics = [
        *truncate_for_messages(of_mail),
        *([done.failed.diagnostic] if done.failed else []),
    ]
    return {
        "thread_id": done.thread_id,
        "status": done.status.value,
        "version": done.version,
        "previous_version": done.previous_version,
        "message_id": done.message.id if done.message else None,
        "artifact_sha256": done.artifact_sha256 if done.version else None,
        "artifact_markdown": done.text if done.version else None,
        "counts": section_counts(done.artifact),
        "changes": changed_ids(done.diff),
        "ledger": ledger_json(done.ledger),
        "not_contributed": [each.to_json() for each in done.not_contributed],
        "conflicts": [conflict.to_json() for conflict in done.conflicts],
        "contributors": [
            {"agent": each.agent, "deltas": each.deltas, "items": list(each.items)}
            for each in done.contributors
        ],
        "lint": done.lint.to_json(),
        "third_alternative": third_alternative(done.artifact),
        "persistence": done.persistence._asdict(),
        "persisted": _persisted_json(done),
        "notified": [
            {"message_id": sent.stored.id, "to": list(sent.stored.message.recipients)}
            for sent in done.notified
        ],
        "left_unread": done.left,
        "unverified": list(done.unverified),
        "violations": [each.to_json() for each in sorted(diagnostics, key=worst_first)],
        "summary": Summary.of(diagnostics)._asdict(),
        "valid": done.status is not CompileStatus.REFUSED and done.failed is None,
    }


def _persisted_json(done: CompileResult) -> dict[str, object] | None:
    if done.persisted is None:
        return None
    info = done.persisted.info
    return {
        "words": done.persisted.words,
        "version": done.persisted.version,
        "message_id": info.id if info else None,
        "commit": done.persisted.commit,
        "archive": done.persisted.archive,
    }


def section_counts(artifact: Artifact) -> dict[str, int]:
    """Return the number of active items by section."""
    sections = (RESEARCH_THREAD, *ITEM_SECTIONS)
    numbers = statistics(artifact).values()
    return {section.id: number for section, number in zip(sections, numbers, strict=True)}


# The result in words


def compile_summary(done: CompileResult) -> str:
    """Return the result in one sentence."""
    thread = escape_control(done.thread_id)
    if done.status is CompileStatus.PUBLISHED and done.message:
        closed = ", and closed the session" if done.artifact.metadata.status == "closed" else ""
        return f"Published v{done.version} of {thread}, as message {done.message.id}{closed}."
    if done.status is CompileStatus.DRY_RUN:
        return f"This would be v{done.version} of {thread}; nothing was posted."
    if done.status is CompileStatus.REFUSED:
        why = "blocks are refused" if refused_entries(done) else "the linter finds errors"
        return f"v{done.version} of {thread} was not published, because {why} (--strict)."
    if done.artifact.metadata.status == "closed":
        return f"Nothing to compile in {thread}: it is closed, with v{done.version}."
    latest = f"the latest version is v{done.version}" if done.version else "it has no version yet"
    return f"Nothing to compile in {thread}: no unread delta applies; {latest}."


def refused_entries(done: CompileResult) -> list[Entry]:
    """Return the ledger entries of rejected blocks."""
    return [entry for entry in done.ledger if entry.state is BlockOutcome.REFUSED]


def persist_summary(persisted: PersistResult) -> str:
    """Return where a version is stored, in one sentence."""
    made = persisted.commit or persisted.persistence.commit
    commit = f", commit {made[:10]}" if made else ""
    archive = f"; {persisted.archive} holds its mail" if persisted.archive else ""
    note = f"; message {persisted.info.id} says so" if persisted.info else ""
    path = persisted.persistence.path
    return f"{persisted.words}: {path} holds v{persisted.version}{commit}{archive}{note}."
