"""Copying all mail of a project from one home to another, and comparing what came of it.

A home that keeps messages as they were takes all of them or none. To another one they are sent
anew, one by one and in their order, so a copy can break off there; repeated, it goes on. The
source is only read.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import NAME_ELSEWHERE
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, UnavailableError
from brenner.mail.mailbox import Capability, Lacks, Mailbox
from brenner.mail.model import Agent, Importance, Record, Restored
from brenner.mail.open import Store, store_of, store_option
from brenner.mail.rules import order, strangers
from brenner.protocol.message_types import wants_ack
from brenner.protocol.thread_ids import is_valid
from brenner.services.init_project import check_folder, inside_store, left_behind
from brenner.services.version_store import check_usable, replay_chain
from brenner.services.workspace import Workspace, place
from brenner.session.rebuild import CompiledCandidate, Rebuilt, altered_in

# Copying to a home that keeps nothing as it was: every message is sent there again, in its order.
#
# Ids and times are new then, and so is what hangs on them. What was sent before the copy broke off
# stays, and is not sent again.


_TAKE_OVER = (
    "Mail that is stored keeps the names of those who wrote it. If it is the same agent, `brenner "
    "mail register NAME --update --store STORE` takes the name over from there; then repeat the "
    "command. If not, keep the mail in another home."
)
Step = Callable[[int], None]


class Anew(NamedTuple):
    """The target of such a copy. `must_go_on` leaves out what it refuses; `step` hears how many
    messages have been sent.
    """

    mailbox: Mailbox
    where: str
    must_go_on: bool
    step: Step


class Sendings(NamedTuple):
    """What was sent, and what the target does not take: the ids, and why."""

    restored: Restored
    refused: tuple[int, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def send_anew(
    to: Anew, agents: Iterable[Agent], records: Collection[Record], known: int
) -> Sendings:
    """Make everybody known, then send the messages in the order of their threads (R9).

    `known` others are there already. A name that belongs to somebody else on that server is
    refused before anything is sent.
    """
    new_agents = _introduced(to, _everybody(agents, records))
    renumbered: list[tuple[int, int]] = []
    found: list[Diagnostic] = []
    refused: list[int] = []
    for count, record in enumerate(sorted(records, key=_order), 1):
        stored = record.stored
        try:
            sent = to.mailbox.send(stored.message, envelope=stored.envelope)
            renumbered.append((stored.id, sent.stored.id))
        except RequestError as refusal:
            diagnostic = _not_taken(to, record, refusal)
            if not to.must_go_on:
                raise RequestError(diagnostic) from None
            found.append(diagnostic)
            refused.append(stored.id)
        except UnavailableError as failure:
            total = known + len(records)
            raise broke_off(failure, to.where, known + len(renumbered), total) from None
        to.step(count)
    moved = tuple((old, new) for old, new in renumbered if old != new)
    restored = Restored(len(renumbered), known, moved, new_agents)
    return Sendings(restored, tuple(refused), tuple(found))


def broke_off(failure: UnavailableError, where: str, done: int, total: int) -> UnavailableError:
    """What went wrong when messages were there already: not nothing was done."""
    reason = failure.diagnostic.message
    found = codes.COPY_BROKE_OFF.at(where=where, done=done, total=total, reason=reason)
    return type(failure)(found)


def _everybody(agents: Iterable[Agent], records: Iterable[Record]) -> list[Agent]:
    """Those who are known, and those whose names only stand in the mail."""
    found = {agent.name: agent for agent in agents}
    for record in records:
        found |= {agent.name: agent for agent in strangers(record.stored, found)}
    return list(found.values())


def _introduced(to: Anew, agents: Iterable[Agent]) -> tuple[str, ...]:
    """Everybody whom the target did not know."""
    try:
        return to.mailbox.restore(agents, ()).new_agents
    except RequestError as refusal:
        found = refusal.diagnostic
        if found.code != NAME_ELSEWHERE:
            raise
        raise RequestError(found._replace(fix=_TAKE_OVER)) from None


def _order(record: Record) -> tuple[datetime, int]:
    return order(record.stored)


def _not_taken(to: Anew, record: Record, refusal: RequestError) -> Diagnostic:
    stored = record.stored
    found = codes.MESSAGE_NOT_TAKEN.at(
        where=to.where,
        id=stored.id,
        thread_id=stored.message.thread_id,
        reason=refusal.diagnostic.message,
    )
    return found._replace(message_id=stored.id)


# Whether two homes hold the same mail: message by message, and version by version. It only reads.
#
# A home that gives new ids does not know where its messages come from. So they are told apart by
# their content, and who sent the same thing twice must be found twice.


_MOST_NAMED = 8


class Seen(NamedTuple):
    """What is compared of a message; `delivery` is who got it, and whether an ACK was asked for.

    `around` is how urgent it is, and who got it as a copy. Who vouches for its sender does not
    travel, and is not compared.
    """

    id: int
    origin_id: int
    content_hash: str
    thread_id: str
    at: datetime
    delivery: tuple[frozenset[str], bool]
    around: tuple[Importance, frozenset[str]]


class Fact(NamedTuple):
    """One version, and whether it follows from the mail; `difference` says why not.

    `message` is the hash of the message that is the version: two may claim one number.
    """

    thread_id: str
    version: int
    sha256: str
    difference: str
    message: str = ""


class Compared(NamedTuple):
    """What a copy holds of its source: pairs of messages by the id of the source."""

    pairs: dict[int, Seen]
    missing: tuple[Seen, ...]
    differing: tuple[Seen, ...]


class Diverged(NamedTuple):
    """A thread of which each home has messages that the other lacks: so many."""

    thread_id: str
    source_lacks: int
    target_lacks: int


def seen(records: Iterable[Record]) -> Iterator[Seen]:
    """The messages of a home, in the order in which they came."""
    for record in records:
        stored = record.stored
        message = stored.message
        delivery = (frozenset(message.recipients), wants_ack(message))
        around = (stored.envelope.importance, frozenset(stored.envelope.cc))
        yield Seen(
            stored.id,
            stored.origin_id,
            stored.content_hash,
            message.thread_id,
            stored.at,
            delivery,
            around,
        )


def paired(source: Collection[Seen], target: Collection[Seen]) -> dict[int, Seen]:
    """For the id of each message of the source the same one in the target, where there is one.

    It is known by its origin, as import knows it, and else by its content.
    """
    origins = {(each.origin_id, each.content_hash): each for each in target}
    found: dict[int, Seen] = {}
    for each in source:
        same = origins.pop((each.origin_id, each.content_hash), None)  # it is the same of one only
        if same:
            found[each.id] = same
    taken = {each.id for each in found.values()}
    left: defaultdict[str, deque[Seen]] = defaultdict(deque)
    for each in target:
        if each.id not in taken:
            left[each.content_hash].append(each)
    for each in source:
        if each.id not in found and left[each.content_hash]:
            found[each.id] = left[each.content_hash].popleft()
    return found


def diverged(
    source: Iterable[Seen], target: Iterable[Seen], pairs: Mapping[int, Seen]
) -> tuple[Diverged, ...]:
    """The threads that went on in both homes, or are two sessions of one name."""
    taken = {each.id for each in pairs.values()}
    target_lacks = Counter(each.thread_id for each in source if each.id not in pairs)
    source_lacks = Counter(each.thread_id for each in target if each.id not in taken)
    return tuple(
        Diverged(thread_id, source_lacks[thread_id], count)
        for thread_id, count in target_lacks.items()
        if source_lacks[thread_id]
    )


def compared(
    source: Collection[Seen], target: Collection[Seen], exact: Collection[int]
) -> Compared:
    """What is missing in the target, or differs.

    `exact` are the ids of those whose time and envelope must be the same, too: that had to be kept.
    """
    pairs = paired(source, target)
    return Compared(
        pairs,
        tuple(each for each in source if each.id not in pairs),
        tuple(
            each
            for each in source
            if each.id in pairs and _differs(each, pairs[each.id], is_exact=each.id in exact)
        ),
    )


def _differs(one: Seen, other: Seen, *, is_exact: bool) -> bool:
    return one.delivery != other.delivery or (
        is_exact and (one.at, one.around) != (other.at, other.around)
    )


def facts(workspace: Workspace) -> Iterator[Fact]:
    """Every version of every thread, rebuilt from the mail."""
    for thread in workspace.mailbox.threads():
        if is_valid(thread.thread_id) and _has_versions(workspace.mailbox, thread.thread_id):
            yield from thread_facts(workspace, thread.thread_id)


def _has_versions(mailbox: Mailbox, thread_id: str) -> bool:
    return any(each.type == "COMPILED" for each in mailbox.thread_arrivals(thread_id, 0))


def thread_facts(workspace: Workspace, thread_id: str) -> tuple[Fact, ...]:
    """The versions of one thread, rebuilt as `artifact verify` does; none where nobody knows it."""
    found: list[Fact] = []

    def watch(candidate: CompiledCandidate, rebuilt: Rebuilt) -> None:
        found.append(_fact(thread_id, candidate, altered_in(candidate, rebuilt)))

    try:
        check_usable(thread_id)
        history = replay_chain(workspace.mailbox, thread_id, workspace.project.operator, watch)
    except RequestError:
        return ()
    if history.broken:
        found.append(_fact(thread_id, history.broken.candidate, history.broken.difference))
    return tuple(found)


def _fact(thread_id: str, candidate: CompiledCandidate, difference: str) -> Fact:
    sha256 = candidate.record.artifact_sha256 if candidate.record else ""
    return Fact(thread_id, candidate.number, sha256, difference, candidate.filed.content_hash)


def lost_facts(
    workspace: Workspace, before: Iterable[Fact], gone: str = "is not there"
) -> Iterator[str]:
    """The versions that followed from the mail before and do not here, each in words; `gone` is
    said of one that is none here.
    """
    expected: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in before:
        if not fact.difference:
            expected[fact.thread_id].append(fact)
    for thread_id, versions in expected.items():
        here = {fact.version: fact for fact in thread_facts(workspace, thread_id)}
        for fact in versions:
            found = here.get(fact.version)
            if found is None:
                yield f"v{fact.version} of {thread_id} {gone}"
            elif found != fact:
                why = found.difference or _other(fact, found)
                yield f"v{fact.version} of {thread_id} does not follow from it ({why})"


def _other(fact: Fact, found: Fact) -> str:
    """How a sound version differs from the one of that number."""
    return "it is another text" if fact.sha256 != found.sha256 else "it is another message"


def named(messages: Collection[Seen]) -> str:
    """`messages 3 and 5 of RS-…`, the first few of many."""
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


# What is kept with a message; the others are about what can be done with it.
_KEPT_WITH_MAIL = (Capability.REPLY_LINKS, Capability.READ_MARKS, Capability.STATED_ACKS)
_MOST_THREADS = 3
_REPEAT = (
    "Keep the source, and repeat the command. If it says the same again, go on with the source, "
    "and tell us."
)
_LEFT_OUT = (
    "It follows from messages that were left out there. Go on with the source, or copy it to a "
    "home that takes all of them."
)
_OTHERS = (
    "The thread has messages there that the source lacks, and they count. If its session went on "
    "there, go on there. If not, go on with the source, and copy it into an empty home."
)


class Amount(NamedTuple):
    """How much mail a home has."""

    messages: int
    agents: int
    threads: int


class Copied(NamedTuple):
    """What a copy did. `versions` are those of the source; `lost` is what only the source keeps.

    `is_anew` says that messages got new ids and times, `kept` what both homes keep with a message.
    """

    source: str
    target: str
    restored: Restored
    of_source: Amount
    of_target: Amount
    versions: tuple[Fact, ...]
    is_anew: bool
    kept: tuple[Capability, ...]
    lost: Lacks
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is there."""
        return all(found.severity is not ERROR for found in self.diagnostics)

    @property
    def unverified(self) -> tuple[Fact, ...]:
        """The versions that did not follow from the mail of the source."""
        return tuple(fact for fact in self.versions if fact.difference)


Watch = Callable[[str, int, int | None], None]


def _unwatched(_doing: str, _done: int, _total: int | None) -> None:
    pass


class _Job(NamedTuple):
    """A copy under way; `where` is the target's name before people."""

    source: Workspace
    target: Workspace
    where: str
    force: bool
    watch: Watch

    @property
    def is_anew(self) -> bool:
        return Capability.AS_THEY_WERE in self.target.mailbox.lacks


class _Taken(NamedTuple):
    """What was to be copied, of one moment; `new` are the ids of what the target lacked.

    `apart` are the threads of which the target has messages that the source lacks, and `own` its
    versions of those that have diverged.
    """

    mail: tuple[Seen, ...]
    agents: tuple[Agent, ...]
    new: frozenset[int]
    versions: tuple[Fact, ...]
    apart: frozenset[str]
    own: tuple[Fact, ...]


def copy_mail(
    source: Project,
    target: Project,
    *,
    force: bool = False,
    watch: Watch = _unwatched,
) -> Copied:
    """Copy the mail of one project's store to the other's; the target is made where it is not.

    Everything is checked that can be before anything is made. With `force` it goes on where a
    version of the source does not verify, where threads have diverged, and past messages that the
    target refuses.
    """
    from_store, to_store = store_of(source), store_of(target)
    for store in (from_store, to_store):
        check_folder(store)
    if place(from_store) == place(to_store):
        raise RequestError(codes.SAME_STORE.at(where=from_store.shown))
    if not from_store.is_there():
        raise RequestError(_no_mail(source, target, from_store))
    with from_store.open() as here:
        workspace = Workspace(here, source, source.operator)
        versions = _verified(workspace, from_store.shown, watch, force=force)
        with to_store.create() as there:
            other = Workspace(there, target, target.operator)
            job = _Job(workspace, other, to_store.shown, force, watch)
            return _copied(job, from_store.shown, versions)


def _no_mail(source: Project, target: Project, store: Store) -> Diagnostic:
    """That there is nothing to copy; perhaps it is known where the mail is."""
    found = codes.NO_MAIL_TO_COPY.at(where=store.shown)
    hints = _elsewhere(source, target)
    return found._replace(fix=f"{hints[0].message} {hints[0].fix}") if hints else found


def _elsewhere(source: Project, target: Project) -> tuple[Diagnostic, ...]:
    """Where the mail may be that a source without any does not have."""
    if place(inside_store(target)) == place(store_of(target)):
        return ()
    found = left_behind(source, lambda: 0, store_option(target, "--to"))
    return (found,) if found else ()


def _verified(workspace: Workspace, where: str, watch: Watch, *, force: bool) -> tuple[Fact, ...]:
    """Every version of the source; one that does not follow from it stops the copy."""
    found = []
    for fact in facts(workspace):
        found.append(fact)
        watch("Verifying versions", len(found), None)
        if fact.difference and not force:
            words = {"version": str(fact.version), "thread_id": fact.thread_id, "where": where}
            raise RequestError(
                codes.SOURCE_NOT_VERIFIED.at(None, difference=fact.difference, **words)
            )
    return tuple(found)


def _copied(job: _Job, source: str, versions: tuple[Fact, ...]) -> Copied:
    """Take over what the target lacks, then look what is there."""
    here, there = job.source.mailbox, job.target.mailbox
    mail = tuple(seen(here.records()))
    agents = here.agents()  # after that moment: whoever wrote one of them is there
    before = tuple(seen(there.records()))
    known = paired(mail, before)
    own = _own_versions(job, diverged(mail, before, known))
    new = frozenset(each.id for each in mail if each.id not in known)
    taken = {each.id for each in known.values()}
    apart = frozenset(each.thread_id for each in before if each.id not in taken)
    sent = (
        _sent(job, agents, new, len(known))
        if job.is_anew
        else Sendings(_restored(job, agents, mail, known))
    )
    job.watch("Comparing", len(mail), len(mail))
    try:
        what = _Taken(mail, agents, new, versions, apart, own)
        return _looked_at(job, source, what, sent)
    except UnavailableError as failure:
        done = len(known) + sent.restored.added
        raise broke_off(failure, job.where, done, len(mail)) from None


def _own_versions(job: _Job, threads: tuple[Diverged, ...]) -> tuple[Fact, ...]:
    """What the target had itself where it goes on with diverged threads; it does only if forced."""
    if threads and not job.force:
        parts = [
            f"of {each.thread_id} the source lacks {each.source_lacks:,} and the target "
            f"{each.target_lacks:,}"
            for each in threads[:_MOST_THREADS]
        ]
        more = len(threads) - len(parts)
        what = "; ".join(parts) + (f"; and {more} threads more" if more else "")
        raise RequestError(codes.THREADS_DIVERGE.at(where=job.where, what=what))
    return tuple(fact for each in threads for fact in thread_facts(job.target, each.thread_id))


def _looked_at(job: _Job, source: str, taken: _Taken, sent: Sendings) -> Copied:
    """What there is of it in the target, message by message and version by version."""
    here, there = job.source.mailbox, job.target.mailbox
    after, agents = tuple(seen(there.records())), there.agents()
    result = compared(taken.mail, after, () if job.is_anew else taken.new)
    lost = (*_lost_agents(taken.agents, agents), *_lost_mail(result, sent.refused))
    return Copied(
        source,
        job.where,
        sent.restored,
        _amount(taken.mail, taken.agents),
        _amount(after, agents),
        taken.versions,
        job.is_anew,
        tuple(each for each in _KEPT_WITH_MAIL if each not in {**here.lacks, **there.lacks}),
        _lost_abilities(here, there),
        (
            *sent.diagnostics,
            *(_incomplete(job, each, _REPEAT) for each in lost),
            *_lost_versions(job, taken, has_all=not sent.refused),
            *_debts(job, taken),
            *(() if taken.mail else _elsewhere(job.source.project, job.target.project)),
        ),
    )


def _incomplete(job: _Job, what: str, advice: str) -> Diagnostic:
    return codes.COPY_INCOMPLETE.at(where=job.where, what=what, advice=advice)


def _lost_versions(job: _Job, taken: _Taken, *, has_all: bool) -> Iterator[Diagnostic]:
    """The versions of the source that are not the same there, and those of the target itself."""
    for is_apart in (False, True):
        versions = [each for each in taken.versions if (each.thread_id in taken.apart) is is_apart]
        advice = _OTHERS if is_apart else _REPEAT if has_all else _LEFT_OUT
        for what in lost_facts(job.target, versions):
            yield _incomplete(job, what, advice)
    for what in lost_facts(job.target, taken.own, "is void now"):
        yield codes.TARGET_NOT_VERIFIED.at(where=job.where, what=what)


def _sent(job: _Job, agents: tuple[Agent, ...], new: Collection[int], known: int) -> Sendings:
    """All that is new, sent again."""
    records = [each for each in job.source.mailbox.records() if each.stored.id in new]
    to = Anew(
        job.target.mailbox,
        job.where,
        job.force,
        lambda count: job.watch("Sending", count, len(records)),
    )
    return send_anew(to, agents, records, known)


def _restored(
    job: _Job, agents: tuple[Agent, ...], mail: tuple[Seen, ...], known: Mapping[int, Seen]
) -> Restored:
    """All of it, of which the target takes what it does not know, or nothing."""
    wanted = {each.id for each in mail}
    records = (each for each in job.source.mailbox.records() if each.stored.id in wanted)
    return job.target.mailbox.restore(agents, _as_known(job, records, known, len(mail)))


def _as_known(
    job: _Job, records: Iterable[Record], known: Mapping[int, Seen], total: int
) -> Iterator[Record]:
    """The records; one that the target has from elsewhere bears the origin by which that one is
    known there, so that it is skipped, and links to it lead there.
    """
    for count, record in enumerate(records, 1):
        stored = record.stored
        job.watch("Copying", count, total)
        same = known.get(stored.id)
        if same:
            yield record._replace(stored=stored._replace(origin_id=same.origin_id))
        else:
            yield record


def _amount(mail: Collection[Seen], agents: Collection[Agent]) -> Amount:
    return Amount(len(mail), len(agents), len({each.thread_id for each in mail}))


def _lost_agents(expected: Iterable[Agent], found: Iterable[Agent]) -> Iterator[str]:
    known = {agent.name for agent in found}
    missing = [agent.name for agent in expected if agent.name not in known]
    if missing:
        yield f"it does not know {', '.join(missing)}"


def _lost_mail(result: Compared, refused: Collection[int]) -> Iterator[str]:
    missing = [each for each in result.missing if each.id not in refused]
    if missing:
        yield f"{named(missing)} {_are(missing, 'missing')}"
    if result.differing:
        yield f"{named(result.differing)} {_are(result.differing, 'not as it was')}"


def _are(messages: Collection[Seen], how: str) -> str:
    return f"{'is' if len(messages) == 1 else 'are'} {how}"


def _lost_abilities(here: Mailbox, there: Mailbox) -> Lacks:
    """What the source may have kept that the target cannot."""
    return {
        ability: reason
        for ability, reason in there.lacks.items()
        if ability in _KEPT_WITH_MAIL and ability not in here.lacks
    }


def _debts(job: _Job, taken: _Taken) -> Iterator[Diagnostic]:
    """Whether the same people owe the same ACKs; where ids are new, an ACK may name a stranger."""
    contents = {each.content_hash for each in taken.mail if job.is_anew or each.id in taken.new}
    before, after = (
        {
            (debt.debtor, debt.first.content_hash)
            for debt in workspace.mailbox.debts()
            if debt.first.content_hash in contents
        }
        for workspace in (job.source, job.target)
    )
    words = (
        _acks(len(after - before), "settled", "open"),
        _acks(len(before - after), "open", "settled"),
    )
    what = " and ".join(filter(None, words))
    if what and job.is_anew:
        option = store_option(job.target.project)
        yield codes.COPIED_DEBTS_DIFFER.at(where=job.where, what=what, option=option)
    elif what:
        yield _incomplete(job, what, _REPEAT)


def _acks(count: int, was: str, looks: str) -> str:
    if count == 1:
        return f"1 ACK that was {was} looks {looks}"
    return f"{count} ACKs that were {was} look {looks}" if count else ""
