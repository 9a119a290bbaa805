"""Copy all mail of a project from one store to another, and compare the result.

A store that preserves messages takes all of them or none. To another one they are sent again, one
by one and in order. Such a copy can be interrupted; repeating the command continues it. The source
is only read.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import NAME_ELSEWHERE
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, UnavailableError
from brenner.mail.mailbox import Capability, Mailbox, MissingCapabilities
from brenner.mail.model import Agent, Importance, MessageRecord, RestoreResult
from brenner.mail.open import Store, store_of, store_option
from brenner.mail.rules import message_order, unregistered_agents
from brenner.protocol.message_types import wants_ack
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.init_project import check_folder, mail_left_behind, project_store
from brenner.services.version_store import replay_history, require_thread_id
from brenner.services.workspace import Workspace, store_identity
from brenner.session.rebuild import CompiledCandidate, RebuiltVersion, describe_altered

# Copying to a store that cannot preserve messages: each is sent again, in order
#
# Messages get new ids and times, and so does everything that depends on them. Messages that were
# sent before an interruption stay, and are not sent again.


_TAKE_OVER = (
    "Mail that is stored keeps the names of those who wrote it. If it is the same agent, `brenner "
    "mail register NAME --update --store STORE` takes the name over from there; then repeat the "
    "command. If not, keep the mail in another home."
)
OnSent = Callable[[int], None]


class TransferTarget(NamedTuple):
    """The store to send messages to. `skip_rejected` skips messages that it rejects.

    `step` is called with the number of messages processed so far, including skipped ones.
    """

    mailbox: Mailbox
    where: str
    skip_rejected: bool
    step: OnSent


class TransferResult(NamedTuple):
    """The sent messages, and the ids and diagnostics of rejected ones."""

    restored: RestoreResult
    refused: tuple[int, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def send_as_new(
    to: TransferTarget, agents: Iterable[Agent], records: Collection[MessageRecord], known: int
) -> TransferResult:
    """Register all agents, then send the messages in the order of their threads (R9).

    `known` other messages exist already. A name that another project on that server has is rejected
    before anything is sent.
    """
    new_agents = _register_agents(to, _all_agents(agents, records))
    renumbered: list[tuple[int, int]] = []
    found: list[Diagnostic] = []
    refused: list[int] = []
    for count, record in enumerate(sorted(records, key=_order), 1):
        stored = record.stored
        try:
            sent = to.mailbox.send(stored.message, envelope=stored.envelope)
            renumbered.append((stored.id, sent.stored.id))
        except RequestError as refusal:
            diagnostic = _rejected_message(to, record, refusal)
            if not to.skip_rejected:
                raise RequestError(diagnostic) from None
            found.append(diagnostic)
            refused.append(stored.id)
        except UnavailableError as failure:
            total = known + len(records)
            raise interrupted_error(failure, to.where, known + len(renumbered), total) from None
        to.step(count)
    moved = tuple((old, new) for old, new in renumbered if old != new)
    restored = RestoreResult(len(renumbered), known, moved, new_agents)
    return TransferResult(restored, tuple(refused), tuple(found))


def interrupted_error(
    failure: UnavailableError, where: str, done: int, total: int
) -> UnavailableError:
    """Return the error for a copy that was interrupted after some messages were sent."""
    reason = failure.diagnostic.message
    found = codes.COPY_BROKE_OFF.at(where=where, done=done, total=total, reason=reason)
    return type(failure)(found)


def _all_agents(agents: Iterable[Agent], records: Iterable[MessageRecord]) -> list[Agent]:
    """Return the registered agents, and those that occur only in the mail."""
    found = {agent.name: agent for agent in agents}
    for record in records:
        found |= {agent.name: agent for agent in unregistered_agents(record.stored, found)}
    return list(found.values())


def _register_agents(to: TransferTarget, agents: Iterable[Agent]) -> tuple[str, ...]:
    """Register the agents. Return the names that were new to the target."""
    try:
        return to.mailbox.restore(agents, ()).new_agents
    except RequestError as refusal:
        found = refusal.diagnostic
        if found.code != NAME_ELSEWHERE:
            raise
        raise RequestError(found._replace(fix=_TAKE_OVER)) from None


def _order(record: MessageRecord) -> tuple[datetime, int]:
    return message_order(record.stored)


def _rejected_message(
    to: TransferTarget, record: MessageRecord, refusal: RequestError
) -> Diagnostic:
    stored = record.stored
    found = codes.MESSAGE_NOT_TAKEN.at(
        where=to.where,
        id=stored.id,
        thread_id=stored.message.thread_id,
        reason=refusal.diagnostic.message,
    )
    return found._replace(message_id=stored.id)


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


class VersionCheck(NamedTuple):
    """One version, and whether it follows from the mail; if not, `difference` says why.

    `message` is the hash of the version's message: two may claim one number.
    """

    thread_id: str
    version: int
    sha256: str
    difference: str
    message: str = ""


class Comparison(NamedTuple):
    """The comparison of a copy with its source: matched messages by source id, and differences."""

    pairs: dict[int, MessageFingerprint]
    missing: tuple[MessageFingerprint, ...]
    differing: tuple[MessageFingerprint, ...]


class DivergedThread(NamedTuple):
    """A thread with messages in each store that the other lacks, and how many."""

    thread_id: str
    source_lacks: int
    target_lacks: int


def fingerprints(records: Iterable[MessageRecord]) -> Iterator[MessageFingerprint]:
    """Yield the fingerprints of a store's messages, in order of arrival."""
    for record in records:
        stored = record.stored
        message = stored.message
        delivery = (frozenset(message.recipients), wants_ack(message))
        around = (stored.envelope.importance, frozenset(stored.envelope.cc))
        yield MessageFingerprint(
            stored.id,
            stored.origin_id,
            stored.content_hash,
            message.thread_id,
            stored.at,
            delivery,
            around,
        )


def match_messages(
    source: Collection[MessageFingerprint], target: Collection[MessageFingerprint]
) -> dict[int, MessageFingerprint]:
    """Match each message of the source, by id, with the same one in the target.

    Messages match by their origin, as in an import, else by their content.
    """
    origins = {(each.origin_id, each.content_hash): each for each in target}
    found: dict[int, MessageFingerprint] = {}
    for each in source:
        same = origins.pop(
            (each.origin_id, each.content_hash), None
        )  # each target message matches once
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


def find_diverged(
    source: Iterable[MessageFingerprint],
    target: Iterable[MessageFingerprint],
    pairs: Mapping[int, MessageFingerprint],
) -> tuple[DivergedThread, ...]:
    """Return the threads that continued in both stores, or are two sessions of one name."""
    matched = {each.id for each in pairs.values()}
    target_lacks = Counter(each.thread_id for each in source if each.id not in pairs)
    source_lacks = Counter(each.thread_id for each in target if each.id not in matched)
    return tuple(
        DivergedThread(thread_id, source_lacks[thread_id], count)
        for thread_id, count in target_lacks.items()
        if source_lacks[thread_id]
    )


def compare_mail(
    source: Collection[MessageFingerprint],
    target: Collection[MessageFingerprint],
    exact: Collection[int],
) -> Comparison:
    """Return the messages that are missing in the target, or differ.

    `exact` are the ids of messages whose time and envelope must be equal, too.
    """
    pairs = match_messages(source, target)
    return Comparison(
        pairs,
        tuple(each for each in source if each.id not in pairs),
        tuple(
            each
            for each in source
            if each.id in pairs and _differs(each, pairs[each.id], is_exact=each.id in exact)
        ),
    )


def _differs(one: MessageFingerprint, other: MessageFingerprint, *, is_exact: bool) -> bool:
    return one.delivery != other.delivery or (
        is_exact and (one.at, one.around) != (other.at, other.around)
    )


def check_versions(workspace: Workspace) -> Iterator[VersionCheck]:
    """Rebuild every version of every thread from the mail."""
    for thread in workspace.mailbox.threads():
        if is_valid_thread_id(thread.thread_id) and _has_versions(
            workspace.mailbox, thread.thread_id
        ):
            yield from check_thread_versions(workspace, thread.thread_id)


def _has_versions(mailbox: Mailbox, thread_id: str) -> bool:
    return any(each.type == "COMPILED" for each in mailbox.thread_arrivals(thread_id, 0))


def check_thread_versions(workspace: Workspace, thread_id: str) -> tuple[VersionCheck, ...]:
    """Rebuild the versions of one thread as `artifact verify` does; none if it is unknown."""
    found: list[VersionCheck] = []

    def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        found.append(_version_check(thread_id, candidate, describe_altered(candidate, rebuilt)))

    try:
        require_thread_id(thread_id)
        history = replay_history(
            workspace.mailbox, thread_id, workspace.project.operator, on_version
        )
    except RequestError:
        return ()
    if history.broken_version:
        found.append(
            _version_check(
                thread_id, history.broken_version.candidate, history.broken_version.difference
            )
        )
    return tuple(found)


def _version_check(thread_id: str, candidate: CompiledCandidate, difference: str) -> VersionCheck:
    sha256 = candidate.record.artifact_sha256 if candidate.record else ""
    return VersionCheck(
        thread_id, candidate.number, sha256, difference, candidate.filed.content_hash
    )


def lost_versions(
    workspace: Workspace, before: Iterable[VersionCheck], gone: str = "is not there"
) -> Iterator[str]:
    """Yield a description of each version that followed from the mail before and does not here.

    `gone` is the text for a missing version.
    """
    expected: defaultdict[str, list[VersionCheck]] = defaultdict(list)
    for check in before:
        if not check.difference:
            expected[check.thread_id].append(check)
    for thread_id, versions in expected.items():
        here = {check.version: check for check in check_thread_versions(workspace, thread_id)}
        for check in versions:
            found = here.get(check.version)
            if found is None:
                yield f"v{check.version} of {thread_id} {gone}"
            elif found != check:
                why = found.difference or _how_other(check, found)
                yield f"v{check.version} of {thread_id} does not follow from it ({why})"


def _how_other(check: VersionCheck, found: VersionCheck) -> str:
    """Return how a sound version differs from the one of that number."""
    return "it is another text" if check.sha256 != found.sha256 else "it is another message"


def describe_messages(messages: Collection[MessageFingerprint]) -> str:
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
    return "; ".join(parts[:_MOST_NAMED]) + (f"; and {left} threads more" if left > 0 else "")


# Capabilities that store data with a message; the others are about operations.
_KEPT_WITH_MAIL = (Capability.REPLY_LINKS, Capability.READ_MARKS, Capability.EXPLICIT_ACK_REQUESTS)
_MOST_THREADS = 3
_REPEAT = (
    "Keep the source, and repeat the command. If it says the same again, go on with the source, "
    "and tell us."
)
_LEFT_OUT = (
    "It follows from messages that were left out there. Go on with the source, or copy it to a "
    "home that takes all of them."
)
_DIVERGED = (
    "The thread has messages there that the source lacks, and they count. If its session went on "
    "there, go on there. If not, go on with the source, and copy it into an empty home."
)


class MailCounts(NamedTuple):
    """The amount of mail in a store."""

    messages: int
    agents: int
    threads: int


class CopyResult(NamedTuple):
    """The result of a copy.

    `versions` are those of the source; `lost` is what the target cannot store.

    `is_anew` means that messages got new ids and times. `kept` is what both stores keep with a
    message.
    """

    source: str
    target: str
    restored: RestoreResult
    of_source: MailCounts
    of_target: MailCounts
    versions: tuple[VersionCheck, ...]
    is_anew: bool
    kept: tuple[Capability, ...]
    lost: MissingCapabilities
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Return whether everything was copied."""
        return all(found.severity is not ERROR for found in self.diagnostics)

    @property
    def unverified(self) -> tuple[VersionCheck, ...]:
        """Return the versions that did not follow from the mail of the source."""
        return tuple(check for check in self.versions if check.difference)


CopyProgress = Callable[[str, int, int | None], None]


def _no_progress(_doing: str, _done: int, _total: int | None) -> None:
    pass


class _CopyJob(NamedTuple):
    """A running copy; `where` is the target's name in messages."""

    source: Workspace
    target: Workspace
    where: str
    force: bool
    progress: CopyProgress

    @property
    def is_anew(self) -> bool:
        return Capability.EXACT_RESTORE in self.target.mailbox.lacks


class _SourceSnapshot(NamedTuple):
    """The mail to copy, at one moment; `new` are the ids of messages that the target lacked.

    `diverging` are the threads with messages that only the target has. `own` are the target's
    versions of diverged threads.
    """

    mail: tuple[MessageFingerprint, ...]
    agents: tuple[Agent, ...]
    new: frozenset[int]
    versions: tuple[VersionCheck, ...]
    diverging: frozenset[str]
    own: tuple[VersionCheck, ...]


def copy_mail(
    source: Project,
    target: Project,
    *,
    force: bool = False,
    progress: CopyProgress = _no_progress,
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
        raise RequestError(_no_mail_error(source, target, from_store))
    with from_store.open() as here:
        workspace = Workspace(here, source, source.operator)
        versions = _verify_source(workspace, from_store.shown, progress, force=force)
        with to_store.create() as there:
            other = Workspace(there, target, target.operator)
            job = _CopyJob(workspace, other, to_store.shown, force, progress)
            return _copy(job, from_store.shown, versions)


def _no_mail_error(source: Project, target: Project, store: Store) -> Diagnostic:
    """Return the error for an empty source, with a hint where the mail may be."""
    found = codes.NO_MAIL_TO_COPY.at(where=store.shown)
    hints = _mail_elsewhere(source, target)
    return found._replace(fix=f"{hints[0].message} {hints[0].fix}") if hints else found


def _mail_elsewhere(source: Project, target: Project) -> tuple[Diagnostic, ...]:
    """Return a hint if the mail is in the store inside the source's project."""
    if store_identity(project_store(target)) == store_identity(store_of(target)):
        return ()
    found = mail_left_behind(source, lambda: 0, store_option(target, "--to"))
    return (found,) if found else ()


def _verify_source(
    workspace: Workspace, where: str, progress: CopyProgress, *, force: bool
) -> tuple[VersionCheck, ...]:
    """Return every version of the source.

    Raise if one does not follow from the mail, unless `force` is set.
    """
    found = []
    for check in check_versions(workspace):
        found.append(check)
        progress("Verifying versions", len(found), None)
        if check.difference and not force:
            words = {"version": str(check.version), "thread_id": check.thread_id, "where": where}
            raise RequestError(
                codes.SOURCE_NOT_VERIFIED.at(None, difference=check.difference, **words)
            )
    return tuple(found)


def _copy(job: _CopyJob, source: str, versions: tuple[VersionCheck, ...]) -> CopyResult:
    """Copy what the target lacks, then compare."""
    here, there = job.source.mailbox, job.target.mailbox
    mail = tuple(fingerprints(here.records()))
    agents = here.agents()  # read after the records: so all their senders are included
    before = tuple(fingerprints(there.records()))
    known = match_messages(mail, before)
    own = _check_diverged(job, find_diverged(mail, before, known))
    new = frozenset(each.id for each in mail if each.id not in known)
    matched = {each.id for each in known.values()}
    apart = frozenset(each.thread_id for each in before if each.id not in matched)
    sent = (
        _send_new(job, agents, new, len(known))
        if job.is_anew
        else TransferResult(_restore_all(job, agents, mail, known))
    )
    job.progress("Comparing", len(mail), len(mail))
    try:
        snapshot = _SourceSnapshot(mail, agents, new, versions, apart, own)
        return _compare_after(job, source, snapshot, sent)
    except UnavailableError as failure:
        done = len(known) + sent.restored.added
        raise interrupted_error(failure, job.where, done, len(mail)) from None


def _check_diverged(job: _CopyJob, threads: tuple[DivergedThread, ...]) -> tuple[VersionCheck, ...]:
    """Raise for diverged threads. With `force`, return the target's own versions of them."""
    if threads and not job.force:
        parts = [
            f"of {each.thread_id} the source lacks {each.source_lacks:,} and the target "
            f"{each.target_lacks:,}"
            for each in threads[:_MOST_THREADS]
        ]
        more = len(threads) - len(parts)
        what = "; ".join(parts) + (f"; and {more} threads more" if more else "")
        raise RequestError(codes.THREADS_DIVERGE.at(where=job.where, what=what))
    return tuple(
        check for each in threads for check in check_thread_versions(job.target, each.thread_id)
    )


def _compare_after(
    job: _CopyJob, source: str, snapshot: _SourceSnapshot, sent: TransferResult
) -> CopyResult:
    """Compare the target after the copy, message by message and version by version."""
    here, there = job.source.mailbox, job.target.mailbox
    after, agents = tuple(fingerprints(there.records())), there.agents()
    result = compare_mail(snapshot.mail, after, () if job.is_anew else snapshot.new)
    lost = (*_lost_agents(snapshot.agents, agents), *_lost_mail(result, sent.refused))
    return CopyResult(
        source,
        job.where,
        sent.restored,
        _counts(snapshot.mail, snapshot.agents),
        _counts(after, agents),
        snapshot.versions,
        job.is_anew,
        tuple(each for each in _KEPT_WITH_MAIL if each not in {**here.lacks, **there.lacks}),
        _lost_capabilities(here, there),
        (
            *sent.diagnostics,
            *(_incomplete(job, each, _REPEAT) for each in lost),
            *_lost_version_diagnostics(job, snapshot, has_all=not sent.refused),
            *_pending_acks_differ(job, snapshot),
            *(() if snapshot.mail else _mail_elsewhere(job.source.project, job.target.project)),
        ),
    )


def _incomplete(job: _CopyJob, what: str, advice: str) -> Diagnostic:
    return codes.COPY_INCOMPLETE.at(where=job.where, what=what, advice=advice)


def _lost_version_diagnostics(
    job: _CopyJob, snapshot: _SourceSnapshot, *, has_all: bool
) -> Iterator[Diagnostic]:
    """Yield an error for each version of the source, or of the target itself, that was lost."""
    for is_apart in (False, True):
        versions = [
            each for each in snapshot.versions if (each.thread_id in snapshot.diverging) is is_apart
        ]
        advice = _DIVERGED if is_apart else _REPEAT if has_all else _LEFT_OUT
        for what in lost_versions(job.target, versions):
            yield _incomplete(job, what, advice)
    for what in lost_versions(job.target, snapshot.own, "is void now"):
        yield codes.TARGET_NOT_VERIFIED.at(where=job.where, what=what)


def _send_new(
    job: _CopyJob, agents: tuple[Agent, ...], new: Collection[int], known: int
) -> TransferResult:
    """Send all new messages again."""
    records = [each for each in job.source.mailbox.records() if each.stored.id in new]
    to = TransferTarget(
        job.target.mailbox,
        job.where,
        job.force,
        lambda count: job.progress("Sending", count, len(records)),
    )
    return send_as_new(to, agents, records, known)


def _restore_all(
    job: _CopyJob,
    agents: tuple[Agent, ...],
    mail: tuple[MessageFingerprint, ...],
    known: Mapping[int, MessageFingerprint],
) -> RestoreResult:
    """Restore all messages; the target takes those that it lacks, or nothing."""
    wanted = {each.id for each in mail}
    records = (each for each in job.source.mailbox.records() if each.stored.id in wanted)
    return job.target.mailbox.restore(agents, _with_target_origins(job, records, known, len(mail)))


def _with_target_origins(
    job: _CopyJob,
    records: Iterable[MessageRecord],
    known: Mapping[int, MessageFingerprint],
    total: int,
) -> Iterator[MessageRecord]:
    """Yield the records, with the target's origin id for messages that it has from elsewhere.

    So they are skipped, and links to them stay valid.
    """
    for count, record in enumerate(records, 1):
        stored = record.stored
        job.progress("Copying", count, total)
        same = known.get(stored.id)
        if same:
            yield record._replace(stored=stored._replace(origin_id=same.origin_id))
        else:
            yield record


def _counts(mail: Collection[MessageFingerprint], agents: Collection[Agent]) -> MailCounts:
    return MailCounts(len(mail), len(agents), len({each.thread_id for each in mail}))


def _lost_agents(expected: Iterable[Agent], found: Iterable[Agent]) -> Iterator[str]:
    known = {agent.name for agent in found}
    missing = [agent.name for agent in expected if agent.name not in known]
    if missing:
        yield f"it does not know {', '.join(missing)}"


def _lost_mail(result: Comparison, refused: Collection[int]) -> Iterator[str]:
    missing = [each for each in result.missing if each.id not in refused]
    if missing:
        yield f"{describe_messages(missing)} {_are(missing, 'missing')}"
    if result.differing:
        yield f"{describe_messages(result.differing)} {_are(result.differing, 'not as it was')}"


def _are(messages: Collection[MessageFingerprint], how: str) -> str:
    return f"{'is' if len(messages) == 1 else 'are'} {how}"


def _lost_capabilities(here: Mailbox, there: Mailbox) -> MissingCapabilities:
    """Return what the source may have stored that the target cannot."""
    return {
        ability: reason
        for ability, reason in there.lacks.items()
        if ability in _KEPT_WITH_MAIL and ability not in here.lacks
    }


def _pending_acks_differ(job: _CopyJob, snapshot: _SourceSnapshot) -> Iterator[Diagnostic]:
    """Yield a diagnostic if pending ACKs differ: with new ids, an ACK may name a wrong message."""
    contents = {
        each.content_hash for each in snapshot.mail if job.is_anew or each.id in snapshot.new
    }
    before, after = (
        {
            (debt.debtor, debt.first.content_hash)
            for debt in workspace.mailbox.debts()
            if debt.first.content_hash in contents
        }
        for workspace in (job.source, job.target)
    )
    words = (
        _acks_words(len(after - before), "settled", "open"),
        _acks_words(len(before - after), "open", "settled"),
    )
    what = " and ".join(filter(None, words))
    if what and job.is_anew:
        option = store_option(job.target.project)
        yield codes.COPIED_DEBTS_DIFFER.at(where=job.where, what=what, option=option)
    elif what:
        yield _incomplete(job, what, _REPEAT)


def _acks_words(count: int, was: str, looks: str) -> str:
    if count == 1:
        return f"1 ACK that was {was} looks {looks}"
    return f"{count} ACKs that were {was} look {looks}" if count else ""
