"""Compile a thread: publish its next version, once, whoever else is compiling (R10, R17).

What can be known to fail is found out before anything is posted. Whoever loses the race reads the
thread again, and publishes the next version or finds nothing left to do.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.diff import Diff, changes, diff
from brenner.artifact.model import ITEM_SECTIONS, Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import Conflict, Entry, Outcome, ledger_json
from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, Summary, worst_first
from brenner.diagnostics.truncate import of_messages
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.context import SourceText, read_source_text
from brenner.lint.linter import LintReport, lint
from brenner.mail.mailbox import Capability
from brenner.mail.model import Sent, StoredMessage
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.protocol.messages import Message
from brenner.protocol.thread_ids import cross_reference
from brenner.services.identity import unverified
from brenner.services.persist import (
    Persisted,
    Persistence,
    PersistOptions,
    VersionText,
    check_persistable,
    persist,
    persistence_of,
)
from brenner.services.publish import (
    MOST_TRIES,
    OvertakenError,
    check_as_seen,
    check_proposed,
    check_sound,
    compile_time,
    is_overtaken,
    post,
    publish_with_retry,
    recipients_of,
    send_if_absent,
    verified,
)
from brenner.services.references import (
    Sessions,
    closed_circles,
    elsewhere_for,
    gives_references,
    told_in,
    unresolved,
)
from brenner.services.sessions import load_status
from brenner.services.version_store import check_usable, ledger_of, version_text, version_texts
from brenner.services.workspace import Workspace
from brenner.session.compiled_message import (
    Contributor,
    compose_compiled,
    size_note,
    statistics,
    third_alternative,
)
from brenner.session.compiler import Compiler, ProposedVersion, propose, publication_of
from brenner.session.rebuild import text_hash
from brenner.session.validation_reply import compose_refusal
from brenner.session.versions import KeptChain
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.versions import Latest


# Tell each author of refused blocks what is wrong with them, once (message document, Error
# Responses).


def notify(workspace: Workspace, ledger: Iterable[Entry], latest: int) -> tuple[Sent, ...]:
    """Mail the Validation Error reply for every message with refused blocks that has none yet.

    `latest` is the version that the thread has come to; 0 before the first.
    """
    by_message: dict[int, list[Entry]] = {}
    for entry in ledger:
        if entry.state is Outcome.REFUSED:
            by_message.setdefault(entry.message_id, []).append(entry)
    replies = _Replies(workspace)
    sent = []
    for number, entries in by_message.items():
        posted = workspace.mailbox.message(number).posted
        reply = compose_refusal(posted, tuple(entries), workspace.actor, latest)
        sent.append(_send(workspace, number, reply, replies))
    return tuple(each for each in sent if each.is_new)


class _Replies:
    """The answers in the thread, read once, and after that only what came in since."""

    def __init__(self, workspace: Workspace) -> None:
        self._mailbox = workspace.mailbox
        self._has_links = Capability.REPLY_LINKS not in workspace.mailbox.lacks
        self._arrival = 0
        self._found: dict[tuple[int | None, str], StoredMessage] = {}

    def to(self, message_id: int, reply: Message) -> StoredMessage | None:
        """The first answer to a message with that subject, whoever sent it.

        Where a home keeps no links the subject must do: it names the message.
        """
        for stored in self._mailbox.thread_arrivals(reply.thread_id, self._arrival):
            self._arrival = stored.arrival
            about = stored.reply_to if self._has_links else None
            self._found.setdefault((about, stored.message.subject), stored)
        return self._found.get((message_id if self._has_links else None, reply.subject))


def _send(workspace: Workspace, message_id: int, reply: Message, replies: _Replies) -> Sent:
    """What a message says never changes, so neither does what is refused in it: one reply does."""
    return send_if_absent(
        workspace.mailbox,
        reply,
        lambda: replies.to(message_id, reply),
        key=f"validation error of message {message_id}",
        reply_to=message_id,
    )


# The source text that a project names, for anchors and excerpts (companion, Anchors).


MOST_SOURCE_BYTES = 4 * MOST_BODY_BYTES  # a book has about one megabyte


def source_of(project: Project) -> str | Diagnostic | None:
    """The whole text; None where the project names none; or why it cannot be read."""
    if project.source_text is None:
        return None
    file = project.folder / project.source_text
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_SOURCE_BYTES + 1)
        if len(raw) > MOST_SOURCE_BYTES:
            return _unusable(project, f"it is larger than {MOST_SOURCE_BYTES} bytes")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _unusable(project, "it is not UTF-8")
    except OSError as error:
        return _unusable(project, (error.strerror or type(error).__name__).lower())


def source_text_of(project: Project) -> SourceText | None:
    """The sections that it has, for the linter; one that cannot be read is refused."""
    text = source_of(project)
    if isinstance(text, Diagnostic):
        raise RequestError(text)
    return read_source_text(text, project.source_text or "") if text is not None else None


def readable_source(project: Project) -> SourceText | None:
    """The same for who only looks: anchors are then checked for their form alone."""
    text = source_of(project)
    return read_source_text(text, project.source_text or "") if isinstance(text, str) else None


def _unusable(project: Project, reason: str) -> Diagnostic:
    said = f"`source_text` names `{project.source_text}`, which cannot be read: {reason}"
    return stores_codes.INVALID_SETTINGS.at(path=str(project.folder / SETTINGS_FILE), reason=said)


class CompileOptions(NamedTuple):
    """How to compile. `close` publishes the last version of the session.

    `position` is how many messages the thread had when somebody looked at what would be published,
    and `seen` the digest of that; where it is not that any more, nothing is.
    """

    dry_run: bool = False
    strict: bool = False
    reopen: bool = False
    notify: bool = False
    close: bool = False
    persist: PersistOptions | None = None
    position: int | None = None
    seen: str | None = None


class Status(StrEnum):
    """How a compile ended."""

    PUBLISHED = "published"
    NOTHING = "nothing_to_compile"
    DRY_RUN = "dry_run"
    REFUSED = "refused"


class CompileResult(NamedTuple):
    """What a compile did. Where nothing was published, the artifact is the one of the latest
    version, or the one that would have been published.

    `failed` is what went wrong after the version was posted: it is published all the same.
    `unverified` are the messages with blocks that apply which anybody may have sent. `wish` is how
    the version would be kept, of a dry run.
    """

    thread_id: str
    status: Status
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
    persisted: Persisted | None = None
    notified: tuple[Sent, ...] = ()
    failed: BrennerError | None = None
    unverified: tuple[int, ...] = ()
    wish: PersistOptions | None = None


def compile_thread(workspace: Workspace, thread_id: str, options: CompileOptions) -> CompileResult:
    """Publish the next version of a thread, if there is one to publish."""
    check_usable(thread_id)

    def attempt(known: KeptChain) -> CompileResult:
        return _Compile(workspace, known, options).run()

    done, in_vain = publish_with_retry(workspace, thread_id, attempt, dry_run=options.dry_run)
    lost = {each.message_id for each in in_vain}
    others = (each for each in done.notes if each.message_id not in lost)  # each is told once
    return done._replace(notes=(*in_vain, *others))


class _Compile:
    """One attempt, with the thread as it stood at one moment."""

    def __init__(self, workspace: Workspace, known: KeptChain, options: CompileOptions) -> None:
        self.workspace = workspace
        self.known = known
        self.history = known.history
        self.options = options
        self.sessions = Sessions(workspace)
        source = source_text_of(workspace.project)
        now = compile_time(self.history, self.history.number + 1)
        self.compiler = Compiler(workspace.actor, now, workspace.project.operator, source)

    def run(self) -> CompileResult:
        """Go through the steps; what was posted stays, whatever fails after it."""
        history, options = self.history, self.options
        check_sound(history)
        check_as_seen(self.workspace.mailbox, history, options.position)
        if options.close and not history.versions:
            raise RequestError(publishing_codes.NO_VERSION_TO_CLOSE.at(thread_id=history.thread_id))
        proposal = self._propose()
        check_proposed(history.thread_id, proposal.artifact, options.seen)
        if options.strict and proposal.refused:
            return self._result(proposal, Status.REFUSED)
        if not proposal.applies_something and (history.is_closed or not options.close):
            return self._nothing(proposal)
        if history.is_closed and not options.reopen:
            words = {"thread_id": history.thread_id, "version": str(history.number)}
            raise RequestError(publishing_codes.SESSION_CLOSED.at(None, **words))
        if options.strict and not proposal.lint.valid:
            return self._result(proposal, Status.REFUSED)
        recipients = recipients_of(self.workspace, history, proposal.artifact)
        publication = publication_of(history, proposal, self.compiler, recipients)
        message = compose_compiled(publication)
        rebuilt = verified(history, message)
        too_large = None if proposal.text in message.body else size_note(publication)
        wish = self._wish(proposal.number, is_end=proposal.status == "closed")
        if wish:
            version = version_text(history, proposal.number, 0, proposal.text, message)
            self._check_persistable(version, wish)
        if options.dry_run:
            return self._result(proposal, Status.DRY_RUN)._replace(wish=wish)
        # What was previewed must be all that is unread, and nothing unread may be left at the end.
        is_all = options.position is not None or options.close
        stored, late = post(self.workspace, self.known, message, rebuilt, contributions=is_all)
        done = self._result(proposal, Status.PUBLISHED)
        done = done._replace(message=stored, left=done.left + late)
        done = done._replace(notes=(*done.notes, *([too_large] if too_large else [])))
        version = version_text(history, proposal.number, stored.id, done.text, message)
        return self._looked_again(self._after(done, version, wish))

    def _check_persistable(self, version: VersionText, wish: PersistOptions) -> None:
        """Raise what can be known to fail, unless another version explains what is in the way."""
        try:
            check_persistable(self.workspace, version, self._texts(version), wish)
        except BrennerError:
            if is_overtaken(self.workspace, self.known):
                raise OvertakenError from None
            raise

    def _propose(self) -> ProposedVersion:
        """The next version, as other sessions stand at this moment."""
        elsewhere = elsewhere_for(self.workspace, self.history, self.sessions)
        close = self.options.close
        proposal = propose(self.history, self.compiler, close=close, elsewhere=elsewhere)
        found = unresolved(self.workspace, proposal.artifact, self.sessions)
        return proposal._replace(unresolved=found, unverified=self._unverified(proposal))

    def _nowhere(self, proposal: ProposedVersion) -> tuple[Diagnostic, ...]:
        """What leads nowhere, but for what the ledger tells itself, and files in the way."""
        told = told_in(proposal.ledger, (filed.posted for filed in proposal.read))
        if not told:
            return proposal.unresolved
        return unresolved(self.workspace, proposal.artifact, self.sessions, told)

    def _wish(self, number: int, *, is_end: bool) -> PersistOptions | None:
        """What is to be persisted: as asked for, or as configured for milestones and the end."""
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
        """The texts of all versions, the new one included."""
        earlier = version_texts(
            self.workspace.mailbox, self.history, self.workspace.project.operator
        )
        return lambda number: new.text if number == new.number else earlier(number)

    def _nothing(self, proposal: ProposedVersion) -> CompileResult:
        """Nothing is posted (R17). What was interrupted before is finished."""
        history, latest = self.history, self.history.latest
        text = render_artifact(history.state.artifact)
        result = self._result(proposal, Status.NOTHING)._replace(
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
        wish = (
            self._wish(history.number, is_end=history.is_closed) if latest else self.options.persist
        )
        if latest is None:
            path = cross_reference(history.thread_id).artifact_path
            found = NO_VERSION_YET.at(thread_id=history.thread_id, path=path)
            return self._after(result, None, None)._replace(
                notes=(*result.notes, *([found] if wish else []))
            )
        stored = self.workspace.mailbox.message(latest.message_id)
        version = version_text(history, latest.number, stored.id, text, stored.message)
        result = result._replace(message=stored)
        if self.options.dry_run:
            return result._replace(wish=wish)
        return self._after(result, version, wish)

    def _after(
        self, result: CompileResult, version: VersionText | None, wish: PersistOptions | None
    ) -> CompileResult:
        """Persist and notify; a failure is reported beside what was done before it."""
        failed: BrennerError | None = None
        try:
            if version and wish:
                result = self._persist(result, version, wish)
            if self.options.notify:
                result = result._replace(
                    notified=notify(self.workspace, self._refused(result), result.version or 0)
                )
        except BrennerError as error:
            failed = error
            result = result._replace(persistence=self._persistence(result.text))
        return result._replace(failed=failed)

    def _persist(
        self, result: CompileResult, version: VersionText, wish: PersistOptions
    ) -> CompileResult:
        """Persist the version; if a later one is in the way, persist that one.

        Its compiler may have been interrupted: then this finishes what is missing.
        """
        recipients = recipients_of(self.workspace, self.history, result.artifact)
        try:
            persisted = persist(self.workspace, version, self._texts(version), wish, recipients)
            return result._replace(persisted=persisted, persistence=persisted.persistence)
        except BrennerError as error:
            persisted = self._persist_later(version, wish, error)
        return result._replace(persisted=persisted, persistence=self._persistence(result.text))

    def _persist_later(
        self, version: VersionText, wish: PersistOptions, error: BrennerError
    ) -> Persisted:
        """Persist the latest version; raise the error where that is the one which failed."""
        from brenner.services.versions import persist_latest  # only a loser needs it

        for _ in range(MOST_TRIES):
            latest = self._later_than(version)
            if latest is None:
                break
            version = latest.version
            try:
                return persist_latest(self.workspace, latest, wish)
            except BrennerError as another:
                error = another
        raise error

    def _later_than(self, version: VersionText) -> "Latest | None":
        """Return the latest version; None where it is this one, or where there is none."""
        from brenner.services.versions import latest_of

        try:
            latest = latest_of(self.workspace, self.history.thread_id)
        except BrennerError:  # what failed before is the error to report
            return None
        return None if latest.version.message_id == version.message_id else latest

    def _looked_again(self, done: CompileResult) -> CompileResult:
        """Whether another session has published its half of a circle in the same moment.

        Each looks after it has posted, so the later one sees it; only a new reference closes one.
        """
        if not gives_references(filed.posted for filed in self.history.unread):
            return done
        try:
            found = closed_circles(done.artifact, Sessions(self.workspace))
        except BrennerError as error:
            return done._replace(failed=done.failed or error)
        return done._replace(notes=(*done.notes, *found))

    def _refused(self, result: CompileResult) -> tuple[Entry, ...]:
        """What of this compile is refused, and of the latest version where nothing was published.

        What its author has corrected meanwhile, or the operator has dismissed, is settled.
        """
        ledger = result.ledger
        if result.status is not Status.PUBLISHED:
            earlier = ledger_of(self.workspace, self.history.thread_id, self.history.number)
            ledger = (*earlier, *ledger)
        refusals = load_status(self.workspace, self.history.thread_id).status.refusals
        still_open = {(each.message_id, each.block) for each in refusals}
        return tuple(each for each in ledger if (each.message_id, each.block) in still_open)

    def _persistence(self, text: str) -> Persistence:
        return persistence_of(self.workspace.project, self.history.thread_id, text)

    def _result(self, proposal: ProposedVersion, status: Status) -> CompileResult:
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
            warnings=(*proposal.merged.warnings, *self._nowhere(proposal)),
            conflicts=proposal.merged.conflicts,
            not_contributed=proposal.not_contributed,
            lint=proposal.lint,
            contributors=proposal.contributors,
            notes=(*self.history.new_others(), *self._file_ahead()),
            persistence=Persistence("Draft", cross_reference(self.history.thread_id).artifact_path),
            left=proposal.left,
            unverified=proposal.unverified,
        )

    def _file_ahead(self) -> tuple[Diagnostic, ...]:
        """Say that the file holds a later version than the mail: a COMPILED message may be lost."""
        path = cross_reference(self.history.thread_id).artifact_path
        if not (self.workspace.project.folder / path).is_file():
            return ()
        from brenner.services.versions import file_ahead  # only who has persisted needs it

        return tuple(file_ahead(self.workspace, self.history))

    def _unverified(self, proposal: ProposedVersion) -> tuple[int, ...]:
        applied = (each for each in proposal.ledger if each.state is Outcome.APPLIED)
        return unverified(self.workspace.mailbox, (each.message_id for each in applied))


# What a compile did, as JSON: for scripts at the command line, and for the page.


def compiled_json(done: CompileResult) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    of_mail = [*done.notes, *done.warnings, *done.not_contributed]
    of_mail += [each for entry in done.ledger for each in entry.diagnostics]
    found = [*of_messages(of_mail), *([done.failed.diagnostic] if done.failed else [])]
    return {
        "thread_id": done.thread_id,
        "status": done.status.value,
        "version": done.version,
        "previous_version": done.previous_version,
        "message_id": done.message.id if done.message else None,
        "artifact_sha256": done.artifact_sha256 if done.version else None,
        "artifact_markdown": done.text if done.version else None,
        "counts": section_counts(done.artifact),
        "changes": changes(done.diff),
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
        "persisted": _persisted(done),
        "notified": [
            {"message_id": sent.stored.id, "to": list(sent.stored.message.recipients)}
            for sent in done.notified
        ],
        "left_unread": done.left,
        "unverified": list(done.unverified),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)],
        "summary": Summary.of(found)._asdict(),
        "valid": done.status is not Status.REFUSED and done.failed is None,
    }


def _persisted(done: CompileResult) -> dict[str, object] | None:
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
    """How many active items each section has."""
    sections = (RESEARCH_THREAD, *ITEM_SECTIONS)
    numbers = statistics(artifact).values()
    return {section.id: number for section, number in zip(sections, numbers, strict=True)}


# How a compile ended, in a sentence: for a terminal, and for the page.


def what_happened(done: CompileResult) -> str:
    """How it ended, in one sentence."""
    thread = escape_control(done.thread_id)
    if done.status is Status.PUBLISHED and done.message:
        closed = ", and closed the session" if done.artifact.metadata.status == "closed" else ""
        return f"Published v{done.version} of {thread}, as message {done.message.id}{closed}."
    if done.status is Status.DRY_RUN:
        return f"This would be v{done.version} of {thread}; nothing was posted."
    if done.status is Status.REFUSED:
        why = "blocks are refused" if refused_in(done) else "the linter finds errors"
        return f"v{done.version} of {thread} was not published, because {why} (--strict)."
    if done.artifact.metadata.status == "closed":
        return f"Nothing to compile in {thread}: it is closed, with v{done.version}."
    latest = f"the latest version is v{done.version}" if done.version else "it has no version yet"
    return f"Nothing to compile in {thread}: no unread delta applies; {latest}."


def refused_in(done: CompileResult) -> list[Entry]:
    """The blocks that it refused."""
    return [entry for entry in done.ledger if entry.state is Outcome.REFUSED]


def persisted_words(persisted: Persisted) -> str:
    """Where a version is now, in one sentence."""
    made = persisted.commit or persisted.persistence.commit
    commit = f", commit {made[:10]}" if made else ""
    archive = f"; {persisted.archive} holds its mail" if persisted.archive else ""
    told = f"; message {persisted.info.id} says so" if persisted.info else ""
    path = persisted.persistence.path
    return f"{persisted.words}: {path} holds v{persisted.version}{commit}{archive}{told}."
