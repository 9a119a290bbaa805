"""Copying all mail of a project from one home to another, and comparing what came of it.

A home that keeps messages as they were takes all of them or none. To another one they are sent
anew, one by one and in their order, so a copy can break off there; repeated, it goes on. The
source is only read.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import ERROR, Diagnostic, Refused, Unavailable
from brenner.mail.mailbox import Ability, Lacks, Mailbox
from brenner.mail.model import Agent, Record, Restored
from brenner.mail.open import Store, store_of, store_option
from brenner.workflows.copy_anew import Anew, Sendings, broke_off, send_anew
from brenner.workflows.copy_compare import (
    Compared,
    Diverged,
    Fact,
    Seen,
    compared,
    diverged,
    facts,
    lost_facts,
    named,
    paired,
    seen,
    thread_facts,
)
from brenner.workflows.desk import Desk
from brenner.workflows.init_project import check_folder
from brenner.workflows.left_behind import inside_store, left_behind
from brenner.workflows.places import place

# What is kept with a message; the others are about what can be done with it.
_KEPT_WITH_MAIL = (Ability.REPLY_LINKS, Ability.READ_MARKS, Ability.STATED_ACKS)
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
    kept: tuple[Ability, ...]
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

    source: Desk
    target: Desk
    where: str
    force: bool
    watch: Watch

    @property
    def is_anew(self) -> bool:
        return Ability.AS_THEY_WERE in self.target.mailbox.lacks


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
        raise Refused(codes.SAME_STORE.at(where=from_store.shown))
    if not from_store.is_there():
        raise Refused(_no_mail(source, target, from_store))
    with from_store.open() as here:
        desk = Desk(here, source, source.operator)
        versions = _verified(desk, from_store.shown, watch, force=force)
        with to_store.create() as there:
            other = Desk(there, target, target.operator)
            job = _Job(desk, other, to_store.shown, force, watch)
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


def _verified(desk: Desk, where: str, watch: Watch, *, force: bool) -> tuple[Fact, ...]:
    """Every version of the source; one that does not follow from it stops the copy."""
    found = []
    for fact in facts(desk):
        found.append(fact)
        watch("Verifying versions", len(found), None)
        if fact.difference and not force:
            words = {"version": str(fact.version), "thread_id": fact.thread_id, "where": where}
            raise Refused(codes.SOURCE_NOT_VERIFIED.at(None, difference=fact.difference, **words))
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
    except Unavailable as failure:
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
        raise Refused(codes.THREADS_DIVERGE.at(where=job.where, what=what))
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
            for debt in desk.mailbox.debts()
            if debt.first.content_hash in contents
        }
        for desk in (job.source, job.target)
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
