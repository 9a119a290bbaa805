"""Copy all mail of a project from one store to another, and compare the result.

A store that preserves messages takes all of them or none. To another one they are sent again, one
by one and in order. Such a copy can be interrupted; repeating the command continues it. The source
is only read.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, UnavailableError
from brenner.mail.mailbox import Capability, Mailbox, MissingCapabilities
from brenner.mail.model import Agent, MessageRecord, RestoreResult
from brenner.mail.open import store_of, store_option
from brenner.mail.rules import message_order, unregistered_agents
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import wants_ack
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.init_project import check_folder, mail_left_behind, project_store
from brenner.services.version_store import require_thread_id, verify_versions
from brenner.services.workspace import Workspace, store_identity
from brenner.text import grouped

if TYPE_CHECKING:
    from datetime import datetime

    from brenner.config import Project
    from brenner.protocol.messages import Importance
    from brenner.services.version_store import VerifiedVersion

# Copying to a store that cannot preserve messages: each is sent again, in order
#
# Messages get new ids and times, and so does everything that depends on them. Messages that were
# sent before an interruption stay, and are not sent again.


_TAKE_OVER = (
    "Stored mail keeps the names of its senders. If it is the same agent, take the name over with "
    "`brenner mail register NAME --update --store STORE`, then repeat the command. If not, keep "
    "the mail in another store."
)


def send_as_new(  # noqa: PLR0913
    mailbox: Mailbox,
    where: str,
    agents: Iterable[Agent],
    records: Collection[MessageRecord],
    known: int,
    *,
    skip_rejected: bool = False,
    on_sent: Callable[[int], None] | None = None,
) -> tuple[RestoreResult, list[Diagnostic]]:
    """Register all agents, then send the messages in the order of their threads (R9).

    `where` is the mailbox in messages to people. `known` other messages exist already. Return a
    diagnostic for each skipped message. A name that another project on that server has is rejected
    before anything is sent. `on_sent` gets the number of messages processed so far.
    """
    new_agents = _register_agents(mailbox, agents, records)
    renumbered: list[tuple[int, int]] = []
    rejected: list[Diagnostic] = []
    for count, record in enumerate(sorted(records, key=lambda each: message_order(each.stored)), 1):
        stored = record.stored
        try:
            sent = mailbox.send(stored.message, envelope=stored.envelope)
            renumbered.append((stored.id, sent.stored.id))
        except RequestError as refusal:
            reason, thread_id = refusal.diagnostic.message, stored.message.thread_id
            found = codes.MESSAGE_NOT_TAKEN.at(
                where=where, id=stored.id, thread_id=thread_id, reason=reason
            )._replace(message_id=stored.id)
            if not skip_rejected:
                raise RequestError(found) from None
            rejected.append(found)
        except UnavailableError as failure:
            total = known + len(records)
            raise _interrupted(failure, where, known + len(renumbered), total) from None
        if on_sent:
            on_sent(count)
    moved = tuple((old, new) for old, new in renumbered if old != new)
    return RestoreResult(len(renumbered), known, moved, new_agents), rejected


def _interrupted(failure: UnavailableError, where: str, done: int, total: int) -> UnavailableError:
    reason = failure.diagnostic.message
    return type(failure)(
        codes.COPY_BROKE_OFF.at(where=where, done=done, total=total, reason=reason)
    )


def _register_agents(
    mailbox: Mailbox, agents: Iterable[Agent], records: Iterable[MessageRecord]
) -> tuple[str, ...]:
    """Register the agents, and those that occur only in the mail; return the new names."""
    known = {agent.name: agent for agent in agents}
    for record in records:
        known |= {agent.name: agent for agent in unregistered_agents(record.stored, known)}
    try:
        return mailbox.restore(known.values(), ()).new_agents
    except RequestError as refusal:
        found = refusal.diagnostic
        if found.code != codes.NAME_ELSEWHERE:
            raise
        raise RequestError(found._replace(fix=_TAKE_OVER)) from None


# Comparing the mail of two stores, message by message and version by version, without writing
#
# A store that assigns new ids does not record the origin of its messages. So they are matched by
# content, and a message that was sent twice must be found twice.


_MOST_NAMED = 8


class MessageFingerprint(NamedTuple):
    """The parts of a message that are compared.

    `delivery` is its recipients, and whether an ACK was requested. `around` is its importance and
    the CC recipients. The trust in its sender is not copied, and not compared.
    """

    id: int
    origin_id: int
    content_hash: str
    thread_id: str
    at: datetime
    delivery: tuple[frozenset[str], bool]
    around: tuple[Importance, frozenset[str]]


Fingerprints = Collection[MessageFingerprint]


def fingerprints(records: Iterable[MessageRecord]) -> Iterator[MessageFingerprint]:
    """Yield the fingerprints of a store's messages, in order of arrival."""
    for record in records:
        stored, message = record.stored, record.stored.message
        yield MessageFingerprint(
            stored.id,
            stored.origin_id,
            stored.content_hash,
            message.thread_id,
            stored.at,
            (frozenset(message.recipients), wants_ack(message)),
            (stored.envelope.importance, frozenset(stored.envelope.cc)),
        )


def match_messages(source: Fingerprints, target: Fingerprints) -> dict[int, MessageFingerprint]:
    """Match each message of the source, by id, with the same one in the target.

    Messages match by their origin, as in an import, else by their content. Each message of the
    target matches once.
    """
    origins = {(each.origin_id, each.content_hash): each for each in target}
    found: dict[int, MessageFingerprint] = {}
    for each in source:
        same = origins.pop((each.origin_id, each.content_hash), None)
        if same:
            found[each.id] = same
    matched = {each.id for each in found.values()}
    left: defaultdict[str, deque[MessageFingerprint]] = defaultdict(deque)
    for each in target:
        if each.id not in matched:
            left[each.content_hash].append(each)
    for each in source:
        if each.id not in found and left[each.content_hash]:
            found[each.id] = left[each.content_hash].popleft()
    return found


def compare_mail(
    source: Fingerprints, target: Fingerprints, exact: Collection[int]
) -> tuple[list[MessageFingerprint], list[MessageFingerprint]]:
    """Return the messages that are missing in the target, and those that differ there.

    `exact` are the ids of messages whose time and envelope must be equal, too.
    """
    pairs = match_messages(source, target)
    missing, differing = [], []
    for each in source:
        other = pairs.get(each.id)
        if other is None:
            missing.append(each)
        elif each.delivery != other.delivery or (
            each.id in exact and (each.at, each.around) != (other.at, other.around)
        ):
            differing.append(each)
    return missing, differing


def check_thread_versions(workspace: Workspace, thread_id: str) -> tuple[VerifiedVersion, ...]:
    """Rebuild the versions of one thread as `artifact verify` does; none if it is unknown."""
    try:
        require_thread_id(thread_id)
        return verify_versions(workspace.mailbox, thread_id, workspace.project.operator)[1]
    except RequestError:
        return ()


def lost_versions(
    workspace: Workspace, before: Iterable[VerifiedVersion], gone: str = "is missing"
) -> Iterator[str]:
    """Yield a description of each version that rebuilt from the mail before and does not here.

    `gone` is the text for a missing version.
    """
    expected: defaultdict[str, list[VerifiedVersion]] = defaultdict(list)
    for check in before:
        if not check.difference:
            expected[check.thread_id].append(check)
    for thread_id, versions in expected.items():
        here = {check.number: check for check in check_thread_versions(workspace, thread_id)}
        for check in versions:
            found = here.get(check.number)
            if found is None:
                yield f"v{check.number} of {thread_id} {gone}"
            elif found != check:
                other = "text" if check.artifact_sha256 != found.artifact_sha256 else "message"
                why = found.difference or f"its {other} is different"
                yield f"v{check.number} of {thread_id} cannot be rebuilt there ({why})"


def describe_messages(messages: Fingerprints) -> str:
    """Return `messages 3 and 5 of RS-…`, the first few of many."""
    threads: defaultdict[str, list[int]] = defaultdict(list)
    for each in messages:
        threads[each.thread_id].append(each.id)
    parts = []
    for thread_id, ids in threads.items():
        shown = ", ".join(map(str, ids[:_MOST_NAMED]))
        more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
        parts.append(f"message{'s' * (len(ids) != 1)} {shown}{more} of {thread_id}")
    left = len(parts) - _MOST_NAMED
    return "; ".join(parts[:_MOST_NAMED]) + (f"; and {left} more threads" if left > 0 else "")


# The copy


# Capabilities that store data with a message; the others are about operations.
_KEPT_WITH_MAIL = (Capability.REPLY_LINKS, Capability.READ_MARKS, Capability.EXPLICIT_ACK_REQUESTS)
_MOST_THREADS = 3
_REPEAT = (
    "Keep the source, and repeat the command. If the result is the same, continue with the source, "
    "and report the problem."
)
_LEFT_OUT = (
    "It depends on messages that were not copied. Continue with the source, or copy it to a "
    "store that accepts all of them."
)
_DIVERGED = (
    "The thread has messages there that the source lacks, and they count. If the session continued "
    "there, continue there. If not, continue with the source, and copy it into an empty store."
)


class CopyResult(NamedTuple):
    """The result of a copy.

    `of_source` and `of_target` count messages, agents and threads. `versions` are those of the
    source; `lost` is what the target cannot store. `is_anew` means that messages got new ids and
    times. `kept` is what both stores keep with a message.
    """

    source: str
    target: str
    restored: RestoreResult
    of_source: dict[str, int]
    of_target: dict[str, int]
    versions: tuple[VerifiedVersion, ...]
    is_anew: bool
    kept: tuple[Capability, ...]
    lost: MissingCapabilities
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Return whether everything was copied."""
        return all(found.severity is not ERROR for found in self.diagnostics)

    @property
    def unverified(self) -> tuple[VerifiedVersion, ...]:
        """Return the versions that did not follow from the mail of the source."""
        return tuple(check for check in self.versions if check.difference)


CopyProgress = Callable[[str, int, int | None], None]


def _no_progress(_doing: str, _done: int, _total: int | None) -> None:
    pass


def copy_mail(
    source: Project, target: Project, *, force: bool = False, progress: CopyProgress = _no_progress
) -> CopyResult:
    """Copy the mail of one project's store to another's; create a missing target.

    All possible checks run before anything is created. With `force` the copy continues if a version
    of the source does not verify, if threads have diverged, and past messages that the target
    rejects.
    """
    from_store, to_store = store_of(source), store_of(target)
    for store in (from_store, to_store):
        check_folder(store)
    if store_identity(from_store) == store_identity(to_store):
        raise RequestError(codes.SAME_STORE.at(where=from_store.shown))
    if not from_store.is_there():
        found = codes.NO_MAIL_TO_COPY.at(where=from_store.shown)
        for hint in _mail_elsewhere(source, target):
            found = found._replace(fix=f"{hint.message} {hint.fix}")
        raise RequestError(found)
    with from_store.open() as here:
        copy = _MailCopy(Workspace(here, source, source.operator), force, progress)
        copy.verify_source(from_store.shown)
        with to_store.create() as there:
            copy.read_stores(Workspace(there, target, target.operator), to_store.shown)
            restored, rejected = copy.transfer()
            return copy.compare(from_store.shown, restored, rejected)


def _mail_elsewhere(source: Project, target: Project) -> tuple[Diagnostic, ...]:
    """Return a hint if the mail is in the store inside the source's project."""
    if store_identity(project_store(target)) == store_identity(store_of(target)):
        return ()
    found = mail_left_behind(source, lambda: 0, store_option(target, "--to"))
    return (found,) if found else ()


class _MailCopy:
    """One copy, step by step; `where` is the target's name in messages to people."""

    target: Workspace
    where: str
    mail: tuple[MessageFingerprint, ...]  # of the source, at one moment
    agents: tuple[Agent, ...]
    known: Mapping[int, MessageFingerprint]  # by id in the source, those that the target had
    target_threads: frozenset[str]  # with messages that only the target has
    target_versions: tuple[VerifiedVersion, ...] = ()  # of threads that diverged

    def __init__(self, source: Workspace, force: bool, progress: CopyProgress) -> None:
        self.source = source
        self.force = force
        self.progress = progress
        self.versions: list[VerifiedVersion] = []

    @property
    def is_anew(self) -> bool:
        return Capability.EXACT_RESTORE in self.target.mailbox.lacks

    def verify_source(self, where: str) -> None:
        """Rebuild every version; raise if one does not follow from the mail, unless forced."""
        mailbox = self.source.mailbox
        for thread_id in (thread.thread_id for thread in mailbox.threads()):
            if not is_valid_thread_id(thread_id) or all(
                each.type != "COMPILED" for each in mailbox.thread_arrivals(thread_id, 0)
            ):
                continue
            for check in check_thread_versions(self.source, thread_id):
                self.versions.append(check)
                self.progress("Verifying versions", len(self.versions), None)
                if check.difference and not self.force:
                    words = {"version": str(check.number), "thread_id": thread_id, "where": where}
                    words["option"] = store_option(self.source.project)
                    raise RequestError(
                        codes.SOURCE_NOT_VERIFIED.at(None, difference=check.difference, **words)
                    )

    def read_stores(self, target: Workspace, where: str) -> None:
        """Find out what the target lacks; raise for diverged threads, unless forced."""
        self.target, self.where = target, where
        self.mail = tuple(fingerprints(self.source.mailbox.records()))
        # Read after the records: so all their senders are included.
        self.agents = self.source.mailbox.agents()
        before = tuple(fingerprints(target.mailbox.records()))
        self.known = match_messages(self.mail, before)
        matched = {each.id for each in self.known.values()}
        target_lacks = Counter(each.thread_id for each in self.mail if each.id not in self.known)
        source_lacks = Counter(each.thread_id for each in before if each.id not in matched)
        self.target_threads = frozenset(source_lacks)
        diverged = [thread_id for thread_id in target_lacks if thread_id in source_lacks]
        if diverged and not self.force:
            parts = [
                f"in {each} the source lacks {grouped(source_lacks[each], 'message')} and the "
                f"target {target_lacks[each]:,}"
                for each in diverged[:_MOST_THREADS]
            ]
            more = len(diverged) - len(parts)
            what = "; ".join(parts) + (f"; and {more} more threads" if more else "")
            raise RequestError(codes.THREADS_DIVERGE.at(where=where, what=what))
        self.target_versions = tuple(
            check for each in diverged for check in check_thread_versions(target, each)
        )

    def transfer(self) -> tuple[RestoreResult, list[Diagnostic]]:
        """Copy what the target lacks; return diagnostics for messages that it rejects."""
        if not self.is_anew:
            return self.target.mailbox.restore(self.agents, self._records()), []
        wanted = {each.id for each in self.mail if each.id not in self.known}
        records = [each for each in self.source.mailbox.records() if each.stored.id in wanted]
        return send_as_new(
            self.target.mailbox,
            self.where,
            self.agents,
            records,
            len(self.known),
            skip_rejected=self.force,
            on_sent=lambda count: self.progress("Sending", count, len(records)),
        )

    def _records(self) -> Iterator[MessageRecord]:
        """Yield the records, with the target's origin id for messages that it has from elsewhere.

        So they are skipped, and links to them stay valid.
        """
        wanted, count = {each.id for each in self.mail}, 0
        for record in self.source.mailbox.records():
            stored = record.stored
            if stored.id in wanted:
                count += 1
                self.progress("Copying", count, len(self.mail))
                same = self.known.get(stored.id)
                origin_id = same.origin_id if same else stored.origin_id
                yield record._replace(stored=stored._replace(origin_id=origin_id))

    def compare(
        self, source: str, restored: RestoreResult, rejected: list[Diagnostic]
    ) -> CopyResult:
        """Compare the target after the copy, message by message and version by version."""
        self.progress("Comparing", len(self.mail), len(self.mail))
        here, there = self.source.mailbox, self.target.mailbox
        try:
            after, agents = tuple(fingerprints(there.records())), there.agents()
            lost = [
                *self._lost_mail(after, {agent.name for agent in agents}, rejected),
                *self._lost_versions(has_all=not rejected),
                *self._pending_acks_differ(),
            ]
        except UnavailableError as failure:
            done = len(self.known) + restored.added
            raise _interrupted(failure, self.where, done, len(self.mail)) from None
        elsewhere = () if self.mail else _mail_elsewhere(self.source.project, self.target.project)
        return CopyResult(
            source,
            self.where,
            restored,
            _counts(self.mail, self.agents),
            _counts(after, agents),
            tuple(self.versions),
            self.is_anew,
            tuple(each for each in _KEPT_WITH_MAIL if each not in {**here.lacks, **there.lacks}),
            {
                each: there.lacks[each]
                for each in there.lacks
                if each in _KEPT_WITH_MAIL and each not in here.lacks
            },
            (*rejected, *lost, *elsewhere),
        )

    def _incomplete(self, what: str, advice: str = _REPEAT) -> Diagnostic:
        return codes.COPY_INCOMPLETE.at(where=self.where, what=what, advice=advice)

    def _lost_mail(
        self, after: Fingerprints, names: Collection[str], rejected: list[Diagnostic]
    ) -> Iterator[Diagnostic]:
        unknown = [agent.name for agent in self.agents if agent.name not in names]
        if unknown:
            yield self._incomplete(f"it lacks the agents {', '.join(unknown)}")
        new = {each.id for each in self.mail if each.id not in self.known}
        missing, differing = compare_mail(self.mail, after, () if self.is_anew else new)
        skipped = {each.message_id for each in rejected}
        missing = [each for each in missing if each.id not in skipped]
        for messages, how in ((missing, "missing"), (differing, "different")):
            if messages:
                are = "is" if len(messages) == 1 else "are"
                yield self._incomplete(f"{describe_messages(messages)} {are} {how}")

    def _lost_versions(self, *, has_all: bool) -> Iterator[Diagnostic]:
        """Yield an error for each version of the source, or of the target itself, that was lost."""
        for is_apart in (False, True):
            versions = [
                each
                for each in self.versions
                if (each.thread_id in self.target_threads) is is_apart
            ]
            advice = _DIVERGED if is_apart else _REPEAT if has_all else _LEFT_OUT
            for what in lost_versions(self.target, versions):
                yield self._incomplete(what, advice)
        for what in lost_versions(self.target, self.target_versions, "is void"):
            yield codes.TARGET_NOT_VERIFIED.at(where=self.where, what=what)

    def _pending_acks_differ(self) -> Iterator[Diagnostic]:
        """Yield a diagnostic if pending ACKs differ: an ACK may name a wrong id."""
        contents = {
            each.content_hash for each in self.mail if self.is_anew or each.id not in self.known
        }
        before, after = (
            {
                (debt.debtor, debt.first.content_hash)
                for debt in workspace.mailbox.debts()
                if debt.first.content_hash in contents
            }
            for workspace in (self.source, self.target)
        )
        words = (
            _acks_words(len(after - before), "settled", "open"),
            _acks_words(len(before - after), "open", "settled"),
        )
        what = " and ".join(filter(None, words))
        if what and self.is_anew:
            option = store_option(self.target.project)
            yield codes.COPIED_DEBTS_DIFFER.at(where=self.where, what=what, option=option)
        elif what:
            yield self._incomplete(what)


def _counts(mail: Fingerprints, agents: Collection[Agent]) -> dict[str, int]:
    threads = {each.thread_id for each in mail}
    return {"messages": len(mail), "agents": len(agents), "threads": len(threads)}


def _acks_words(count: int, was: str, looks: str) -> str:
    if count == 1:
        return f"1 ACK that was {was} looks {looks}"
    return f"{count} ACKs that were {was} look {looks}" if count else ""
