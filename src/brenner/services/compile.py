"""Compile a thread: publish its next version once, even with several compilers (R10, R17).

Foreseeable failures are raised before anything is posted. A compiler that loses the race reads the
thread again, and publishes the next version or has nothing left to do.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

from brenner.artifact.diff import Diff, changed_ids, diff
from brenner.artifact.model import ITEM_SECTIONS, Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome, Conflict, Entry, ledger_json
from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, Summary, worst_first
from brenner.diagnostics.truncate import truncate_for_messages
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.context import SourceText, read_source_text
from brenner.lint.linter import LintReport, lint
from brenner.mail.mailbox import Capability
from brenner.mail.sealed import check_may_compile
from brenner.named_tuple import NamedTuple
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD
from brenner.protocol.messages import Message, Trust
from brenner.protocol.thread_ids import cross_reference
from brenner.services.persist import (
    COMMITTED,
    PUSHED,
    WRITTEN,
    PersistOptions,
    PersistResult,
    check_persistable,
    file_ahead,
    persist,
)
from brenner.services.publish import (
    MOST_TRIES,
    OvertakenError,
    cancelled_note,
    check_not_ended,
    check_operator,
    check_preview_digest,
    check_preview_position,
    check_publishable,
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
from brenner.session.compiled_message import (
    CompiledVersion,
    Contributor,
    compose_compiled,
    statistics,
    third_alternative,
)
from brenner.session.compiler import Compiler, compile_batch, merge_batch, not_contributed
from brenner.session.ledger_advice import with_advice
from brenner.session.overview import misplaced_json
from brenner.session.rebuild import text_hash
from brenner.session.status import find_unanswered
from brenner.session.validation_reply import compose_block_errors
from brenner.text import escape_control, short_commit, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from brenner.artifact.merge.engine import Merge
    from brenner.artifact.state import State
    from brenner.mail.model import SendResult
    from brenner.persist.artifact_file import VersionText
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.model import RefusedBlock
    from brenner.session.unanswered import UnansweredItem
    from brenner.session.versions import VersionHistory


# One reply to each author of rejected blocks (message document, Error Responses)


def send_refusal_replies(
    workspace: Workspace, refused: Iterable[Entry | RefusedBlock], latest: int
) -> tuple[SendResult, ...]:
    """Mail the Validation Error reply for every message with these blocks that has none yet.

    The blocks are rejected, or in a message that is no DELTA. `latest` is the number of the latest
    version; 0 before the first.
    """
    mailbox = workspace.mailbox
    has_links = Capability.REPLY_LINKS not in mailbox.lacks
    known: dict[tuple[int | None, str], StoredMessage] = {}
    arrival = 0

    def find(about: int, reply: Message) -> StoredMessage | None:
        """Find the first reply to a message with that subject; read only new messages.

        A store without reply links is searched by the subject alone, which names the message.
        """
        nonlocal arrival
        for stored in mailbox.thread_arrivals(reply.thread_id, arrival):
            arrival = stored.arrival
            reply_to = stored.reply_to if has_links else None
            known.setdefault((reply_to, stored.message.subject), stored)
        return known.get((about if has_links else None, reply.subject))

    by_message: dict[int, list[Entry | RefusedBlock]] = {}
    for block in refused:
        by_message.setdefault(block.message_id, []).append(block)
    sent = []
    for number, entries in by_message.items():
        stored = mailbox.message(number)
        reply = compose_block_errors(stored, tuple(entries), workspace.actor, latest)
        key = f"validation error of message {number}"  # the rejected blocks of it never change
        existing = partial(find, number, reply)
        sent.append(send_if_absent(mailbox, reply, existing, key=key, reply_to=number))
    return tuple(each for each in sent if each.is_new)


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
        if len(raw) <= MOST_SOURCE_BYTES:
            return raw.decode("utf-8-sig")
        reason = f"it is larger than {MOST_SOURCE_BYTES} bytes"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
    reason = f"cannot read `source_text`, `{project.source_text}`: {reason}"
    path = str(project.folder / SETTINGS_FILE)
    return stores_codes.INVALID_SETTINGS.at(path=path, reason=reason)


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


class CompileOptions(NamedTuple):
    """Options of a compile. `close` publishes the last version of the session.

    `position` is the number of messages in the thread at the time of the preview, and `seen` the
    digest of the previewed version. If either has changed, nothing is published. `anyway` closes a
    session in which items still ask for an answer (R28). `conclusion` is the text that a preview
    adds to the research thread; `complete_session` sends it (R29).
    """

    dry_run: bool = False
    strict: bool = False
    reopen: bool = False
    notify: bool = False
    close: bool = False
    persist: PersistOptions | None = None
    position: int | None = None
    seen: str | None = None
    anyway: bool = False
    conclusion: str = ""


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
    is how a dry run would persist the version. `misplaced` are the open delta blocks outside DELTA
    messages, of this and of earlier rounds. `unanswered` are the items that still ask for an answer
    in a session that this compile closes (R28).
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
    misplaced: tuple[RefusedBlock, ...] = ()
    unanswered: tuple[UnansweredItem, ...] = ()


def compile_thread(workspace: Workspace, thread_id: str, options: CompileOptions) -> CompileResult:
    """Publish the next version of a thread, if there is one to publish."""
    require_thread_id(thread_id)
    check_may_compile(workspace.mailbox, thread_id)
    if options.persist:
        check_operator(workspace, "save, commit or push a version")

    def attempt(history: VersionHistory) -> CompileResult:
        done = _CompileAttempt(workspace, history, options).run()
        return done._replace(misplaced=_open_misplaced(workspace, history))

    done, in_vain = publish_with_retry(workspace, thread_id, attempt, dry_run=options.dry_run)
    lost = {each.message_id for each in in_vain}
    others = (each for each in done.notes if each.message_id not in lost)  # report each once
    return done._replace(notes=(*in_vain, *others))


def _open_misplaced(workspace: Workspace, history: VersionHistory) -> tuple[RefusedBlock, ...]:
    """Return the open misplaced blocks after a compile, which cannot fail any more."""
    if not history.misplaced:
        return ()
    try:
        return load_status(workspace, history.thread_id).status.misplaced
    except BrennerError:
        return tuple(block for each in history.misplaced for block in each.blocks)


class _CompileAttempt:
    """One attempt to compile, on a snapshot of the thread."""

    def __init__(
        self, workspace: Workspace, history: VersionHistory, options: CompileOptions
    ) -> None:
        self.workspace = workspace
        self.history = history
        self.options = options
        self.sessions = SessionIndex(workspace)
        source = load_source_text(workspace.project)
        if options.conclusion:  # of a preview, which posts nothing
            from brenner.session.conclusion import with_conclusion

            blank = Message(history.thread_id, workspace.actor, (workspace.actor,), "", "")
            at = datetime.now(UTC).replace(microsecond=0)
            self.history = with_conclusion(history, blank, options.conclusion, at)
        now = compile_time(self.history, self.history.number + 1)
        self.compiler = Compiler(workspace.actor, now, workspace.project.operator, source)

    def run(self) -> CompileResult:
        """Run all steps. A posted version stays, even if a later step fails."""
        history, options = self.history, self.options
        check_sound(history)
        check_preview_position(self.workspace.mailbox, history, options.position)
        if options.close and not history.versions:
            raise RequestError(publishing_codes.NO_VERSION_TO_CLOSE.at(thread_id=history.thread_id))
        elsewhere = load_external_references(self.workspace, history, self.sessions)
        read, merged = merge_batch(history, self.compiler, elsewhere)
        outcomes = {entry.state for entry in merged.ledger}
        is_refused = options.strict and BlockOutcome.REFUSED in outcomes
        is_idle = history.is_closed or not options.close
        is_nothing = is_idle and BlockOutcome.APPLIED not in outcomes and not is_refused
        if is_nothing and options.seen is None:
            return self._nothing_to_compile(read, merged)
        proposal = self._propose(read, merged)
        check_preview_digest(history.thread_id, proposal.artifact, options.seen)
        if is_refused:
            return self._result(proposal, CompileStatus.REFUSED)
        late_deltas = () if is_nothing else self._late_deltas()
        if is_nothing or late_deltas:
            done = self._nothing_to_compile(read, merged)
            return done._replace(notes=(*done.notes, *late_deltas))
        if options.strict and not proposal.lint.valid:
            return self._result(proposal, CompileStatus.REFUSED)
        if options.close:
            proposal = proposal._replace(unanswered=self._check_answered(merged.state))
        recipients = recipients_of(self.workspace, history, proposal.artifact)
        message, too_large = compose_compiled(proposal, recipients)
        check_publishable(message)
        is_end = proposal.record.status == "closed"
        persist_options = self._persist_options(proposal.number, is_end=is_end)
        if persist_options:
            version = version_text(history, proposal.number, 0, proposal.text, message)
            self._check_persistable(version, persist_options)
        unsaved = self._unsaved_note(proposal.number, is_end=is_end)
        unsaved = (*unsaved, *self._no_conclusion_note(proposal.artifact, is_end=is_end))
        if options.dry_run:
            done = self._result(proposal, CompileStatus.DRY_RUN)._replace(wish=persist_options)
            return done._replace(notes=(*done.notes, *unsaved))
        # A preview covers all unread messages, and closing must leave none unread.
        is_all = options.position is not None or options.close
        rebuilt = verify_before_posting(history, message)
        stored, late = post_version(
            self.workspace, self.history, message, rebuilt, contributions=is_all
        )
        done = self._result(proposal, CompileStatus.PUBLISHED)
        done = done._replace(message=stored, left=done.left + late)
        done = done._replace(notes=(*done.notes, *([too_large] if too_large else []), *unsaved))
        version = version_text(history, proposal.number, stored.id, done.text, message)
        return self._with_new_cycles(self._persist_and_notify(done, version, persist_options))

    def _check_answered(self, state: State) -> tuple[UnansweredItem, ...]:
        """Return the items that ask for an answer. Raise if there are any, unless `anyway`."""
        history = self.history
        arrived = self.workspace.mailbox.thread_arrivals(history.thread_id, 0)
        thread = {each.id: each for each in (*arrived, *history.unread)}
        found = find_unanswered(history, list(thread.values()), state)
        if not found or self.options.anyway:
            return found
        raise unanswered_error(history.thread_id, found)

    def _no_conclusion_note(self, artifact: Artifact, *, is_end: bool) -> tuple[Diagnostic, ...]:
        """Return a warning if the last version has no conclusion (R29)."""
        if not is_end or artifact.research_thread.text("conclusion"):
            return ()
        options = "" if self.options.dry_run else "--reopen "
        words = {"thread_id": self.history.thread_id, "options": options}
        return (sessions_codes.NO_CONCLUSION.at(None, **words),)

    def _late_deltas(self) -> tuple[Diagnostic, ...]:
        """Return the warning that an ended session has unread deltas; empty if it is open.

        Raise unless its last version is to be saved: that must not depend on what came later.
        """
        history, options = self.history, self.options
        is_ended = history.is_closed or history.cancellation is not None
        if not is_ended or options.reopen:
            return ()
        if options.persist is None or not history.versions:
            check_not_ended(history)
        words = {"thread_id": history.thread_id, "version": str(history.number)}
        return (publishing_codes.LATE_DELTAS.at(None, **words),)

    def _check_persistable(self, version: VersionText, options: PersistOptions) -> None:
        """Raise foreseeable failures, or `OvertakenError` if a newer version is the cause."""
        try:
            texts, is_preview = self._texts(version), self.options.dry_run
            check_persistable(self.workspace, version, texts, options, is_preview=is_preview)
        except BrennerError:
            if is_overtaken(self.workspace, self.history):
                raise OvertakenError from None
            raise

    def _propose(self, read: tuple[StoredMessage, ...], merged: Merge) -> CompiledVersion:
        close = self.options.close
        proposal = compile_batch(self.history, self.compiler, read, merged, close=close)
        applied = (each for each in merged.ledger if each.state is BlockOutcome.APPLIED)
        ids = dict.fromkeys(each.message_id for each in applied)
        trust = {each.id: each.envelope.trust for each in read}
        is_open = (trust[each] is Trust.UNVERIFIED for each in ids)
        return proposal._replace(
            unresolved=unresolved_references(self.workspace, proposal.artifact, self.sessions),
            unverified=tuple(compress(ids, is_open)),
        )

    def _persist_options(self, number: int, *, is_end: bool) -> PersistOptions | None:
        """Return the requested options, or the configured ones for a milestone or the end.

        Only the operator saves, so that an agent's compile does not commit or push.
        """
        if self.options.persist or not self._is_saved_automatically(number, is_end=is_end):
            return self.options.persist
        configured = self.workspace.project.persist
        options = PersistOptions(
            commit=configured.commit or configured.push,
            push=configured.push,
            archive=configured.archive,
        )
        return options if self.workspace.is_operator else None

    def _is_saved_automatically(self, number: int, *, is_end: bool) -> bool:
        configured = self.workspace.project.persist
        is_milestone = configured.every is not None and number % configured.every == 0
        return is_milestone or (is_end and configured.on_complete)

    def _unsaved_note(self, number: int, *, is_end: bool) -> tuple[Diagnostic, ...]:
        """Return a warning if an agent compiles what the operator's compile would save."""
        workspace = self.workspace
        if workspace.is_operator or not self._is_saved_automatically(number, is_end=is_end):
            return ()
        configured = workspace.project.persist
        flags = ("commit", "push", "archive")
        wanted = "".join(f" --{name}" for name in flags if getattr(configured, name))
        return (
            publishing_codes.NOT_SAVED_FOR_AGENT.at(
                version=str(number),
                name=workspace.actor,
                thread_id=self.history.thread_id,
                options=f" --persist{wanted} --as {workspace.project.operator}",
            ),
        )

    def _texts(self, new: VersionText) -> Callable[[int], str | None]:
        earlier = version_texts(
            self.workspace.mailbox, self.history, self.workspace.project.operator
        )
        return lambda number: new.text if number == new.number else earlier(number)

    def _nothing_to_compile(self, read: tuple[StoredMessage, ...], merged: Merge) -> CompileResult:
        """Return the result without posting (R17), after finishing what was interrupted before."""
        history, latest = self.history, self.history.latest
        artifact = history.state.artifact
        text = render_artifact(artifact)
        broken = self._broken_references(artifact, merged.ledger, read)
        result = CompileResult(
            thread_id=history.thread_id,
            status=CompileStatus.NOTHING,
            version=history.number or None,
            previous_version=history.versions[-2].number if len(history.versions) > 1 else None,
            message=None,
            artifact=artifact,
            text=text,
            artifact_sha256=text_hash(text),
            diff=diff(artifact, artifact),
            ledger=merged.ledger,
            warnings=(*merged.warnings, *broken),
            conflicts=history.state.conflicts,
            not_contributed=not_contributed(history, read),
            lint=lint(artifact, self.compiler.source),
            contributors=(),
            notes=self._notes(),
            persistence=self._persistence(text),
            left=len(history.unread) - len(read),
        )
        result = result._replace(notes=(*result.notes, *cancelled_note(history)))
        if latest is None:
            path = cross_reference(history.thread_id).artifact_path
            found = NO_VERSION_YET.at(thread_id=history.thread_id, path=path)
            notes = (*result.notes, *([found] if self.options.persist else []))
            return self._persist_and_notify(result._replace(notes=notes), None, None)
        persist_options = self._persist_options(history.number, is_end=history.is_closed)
        stored = self.workspace.mailbox.message(latest.message_id)
        version = version_text(history, latest.number, stored.id, text, stored.message)
        return self._persist_and_notify(result._replace(message=stored), version, persist_options)

    def _persist_and_notify(
        self,
        result: CompileResult,
        version: VersionText | None,
        persist_options: PersistOptions | None,
    ) -> CompileResult:
        """Persist and notify. Record a failure in the result, beside the steps done before it."""
        if self.options.dry_run:
            return result._replace(wish=persist_options)
        try:
            if version and persist_options:
                result = self._persist(result, version, persist_options)
            if self.options.notify:
                refused, number = self._open_refusals(result), result.version or 0
                sent = send_refusal_replies(self.workspace, refused, number)
                result = result._replace(notified=sent)
        except BrennerError as error:
            persistence = self._persistence(result.text)
            result = result._replace(persistence=persistence, failed=error)
        return result

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
        # needed only if another compiler was first
        from brenner.services.versions import load_latest, persist_latest

        for _ in range(MOST_TRIES):
            try:
                history, latest = load_latest(self.workspace, self.history.thread_id)
            except BrennerError:  # report the earlier failure instead
                break
            if latest.message_id == version.message_id:
                break
            version = latest
            try:
                return persist_latest(self.workspace, history, version, options)
            except BrennerError as another:
                error = another
        raise error

    def _with_new_cycles(self, done: CompileResult) -> CompileResult:
        """Add a note if another session has just published its half of a reference cycle.

        Each compiler checks after posting, so the later one sees the cycle. Only a new reference
        can close one.
        """
        if not has_references(self.history.unread):
            return done
        try:
            found = find_closed_cycles(done.artifact, SessionIndex(self.workspace))
        except BrennerError as error:
            return done._replace(failed=done.failed or error)
        return done._replace(notes=(*done.notes, *found))

    def _open_refusals(self, result: CompileResult) -> tuple[Entry | RefusedBlock, ...]:
        """Return the open rejected blocks of this compile, and all open misplaced blocks.

        If nothing was published, those of the latest version are included.

        Blocks that were corrected or dismissed since are left out.
        """
        ledger = result.ledger
        if result.status is not CompileStatus.PUBLISHED:
            earlier = load_ledger(self.workspace, self.history.thread_id, self.history.number)
            ledger = (*earlier, *ledger)
        status = load_status(self.workspace, self.history.thread_id).status
        still_open = {(each.message_id, each.block) for each in status.refusals}
        refused = (each for each in ledger if (each.message_id, each.block) in still_open)
        return (*refused, *status.misplaced)

    def _persistence(self, text: str) -> Persistence:
        return persistence_of(self.workspace.project, self.history.thread_id, text)

    def _result(self, proposal: CompiledVersion, status: CompileStatus) -> CompileResult:
        broken = self._broken_references(proposal.artifact, proposal.ledger, proposal.read)
        thread_id = self.history.thread_id
        shared = proposal._replace(
            warnings=(*proposal.warnings, *broken),
            ledger=with_advice(proposal.ledger, proposal.artifact, thread_id),
        )._asdict()
        return CompileResult(
            status=status,
            version=proposal.number,
            message=None,
            artifact_sha256=proposal.record.artifact_sha256,
            notes=(*self._notes(), *self._resembling_killed(proposal)),
            persistence=Persistence("Draft", cross_reference(thread_id).artifact_path),
            **{name: shared[name] for name in shared if name in CompileResult._fields},
        )

    def _broken_references(
        self, artifact: Artifact, ledger: tuple[Entry, ...], read: tuple[StoredMessage, ...]
    ) -> tuple[Diagnostic, ...]:
        """Return the broken references that the ledger does not report, and unreadable files."""
        reported = reported_in_ledger(ledger, read)
        return unresolved_references(self.workspace, artifact, self.sessions, reported)

    def _resembling_killed(self, proposal: CompiledVersion) -> tuple[Diagnostic, ...]:
        """Return which new hypotheses resemble a killed one; empty if that cannot be read.

        It depends on other sessions, so it is shown beside the result only (R30).
        """
        slate, artifact, thread_id = HYPOTHESIS_SLATE, proposal.artifact, self.history.thread_id
        known = {item.id for item in self.history.state.artifact.sections[slate.id]}
        added = [item for item in artifact.active(slate) if item.id not in known]
        if not added:
            return ()
        from brenner.services.killed_hypotheses import compile_warnings  # reads all sessions

        try:
            return compile_warnings(self.workspace, thread_id, artifact, proposal.ledger, added)
        except BrennerError:
            return ()

    def _notes(self) -> tuple[Diagnostic, ...]:
        # If the file is newer than the mail, a COMPILED message may be lost.
        later = file_ahead(self.workspace.project, self.history)
        return (*self.history.new_void_messages(), *later)


def unanswered_error(thread_id: str, found: tuple[UnansweredItem, ...]) -> RequestError:
    """Return the error for completing a session in which items ask for an answer (R28)."""
    facts = "; ".join(each.fact for each in found)
    words = {"thread_id": thread_id, "facts": facts, "address": found[0].address}
    dismiss = f"brenner session dismiss {thread_argument(thread_id)}"
    details = [
        f"{each.request} (message {each.message_id})\n  {dismiss} {each.address} --reason TEXT"
        for each in found
    ]
    return RequestError(sessions_codes.STILL_UNANSWERED.at(None, **words), ("\n".join(details),))


# The result as JSON


def compile_result_json(done: CompileResult) -> dict[str, object]:
    """Return the result as JSON: the stable form; keys are only ever added."""
    kept = done.persisted
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
        "ledger": ledger_json(done.ledger) | {"misplaced": misplaced_json(done.misplaced)},
        "not_contributed": [each.to_json() for each in done.not_contributed],
        "conflicts": [conflict.to_json() for conflict in done.conflicts],
        "contributors": [
            each._asdict() | {"items": list(each.items)} for each in done.contributors
        ],
        "lint": done.lint.to_json(),
        "third_alternative": third_alternative(done.artifact),
        "persistence": done.persistence._asdict(),
        "persisted": {
            "words": kept.words,
            "version": kept.version,
            "message_id": kept.info.id if kept.info else None,
            "commit": kept.commit,
            "archive": kept.archive,
            "new": kept.is_new,
        }
        if kept
        else None,
        "notified": [
            {"message_id": sent.stored.id, "to": list(sent.stored.message.recipients)}
            for sent in done.notified
        ],
        "left_unread": done.left,
        "unverified": list(done.unverified),
        "unanswered": [each.to_json() for each in done.unanswered],
        "violations": [each.to_json() for each in sorted(diagnostics, key=worst_first)],
        "summary": Summary.of(diagnostics)._asdict(),
        "valid": done.status is not CompileStatus.REFUSED and done.failed is None,
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
        return f"Preview of v{done.version} of {thread}. Nothing was published."
    if done.status is CompileStatus.REFUSED:
        why = "blocks were rejected" if refused_entries(done) else "the linter found errors"
        return f"v{done.version} of {thread} was not published: {why} (--strict)."
    if any(each.id == publishing_codes.SESSION_CANCELLED.id for each in done.notes):
        return f"Nothing to compile in {thread}: the session is cancelled."
    if done.artifact.metadata.status == "closed":
        return f"Nothing to compile in {thread}: the session was closed with v{done.version}."
    latest = f"The latest version is v{done.version}" if done.version else "It has no version yet"
    return f"Nothing to compile in {thread}: no unread delta applies. {latest}."


def refused_entries(done: CompileResult | CompiledVersion) -> list[Entry]:
    """Return the ledger entries of rejected blocks."""
    return [entry for entry in done.ledger if entry.state is BlockOutcome.REFUSED]


_NOTHING_NEW = {
    WRITTEN: "No changes",
    COMMITTED: "Nothing to commit",
    PUSHED: "Pushed, without a new commit",
}


def persist_summary(persisted: PersistResult) -> str:
    """Return where a version is stored, in one sentence, and whether that is new."""
    made = persisted.commit or persisted.persistence.commit
    commit = f", commit {short_commit(made)}" if made else ""
    archive = f"; its mail is in {persisted.archive}" if persisted.archive else ""
    note = f"; announced in message {persisted.info.id}" if persisted.info else ""
    path = persisted.persistence.path
    where = f"in {path}{commit}{archive}{note}."
    if persisted.is_new:
        return f"{persisted.words}: v{persisted.version} is {where}"
    return f"{_NOTHING_NEW[persisted.words]}: v{persisted.version} was already {where}"
