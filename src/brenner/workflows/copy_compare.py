"""Whether two homes hold the same mail: message by message, and version by version. It only reads.

A home that gives new ids does not know where its messages come from. So they are told apart by
their content, and who sent the same thing twice must be found twice.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Importance, Record
from brenner.protocol.message_types import wants_ack
from brenner.protocol.thread_ids import is_valid
from brenner.session.rebuild import Candidate, Rebuilt, altered_in
from brenner.workflows.chains import check_usable, replay_chain
from brenner.workflows.desk import Desk

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


def facts(desk: Desk) -> Iterator[Fact]:
    """Every version of every thread, rebuilt from the mail."""
    for thread in desk.mailbox.threads():
        if is_valid(thread.thread_id) and _has_versions(desk.mailbox, thread.thread_id):
            yield from thread_facts(desk, thread.thread_id)


def _has_versions(mailbox: Mailbox, thread_id: str) -> bool:
    return any(each.type == "COMPILED" for each in mailbox.thread_arrivals(thread_id, 0))


def thread_facts(desk: Desk, thread_id: str) -> tuple[Fact, ...]:
    """The versions of one thread, rebuilt as `artifact verify` does; none where nobody knows it."""
    found: list[Fact] = []

    def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
        found.append(_fact(thread_id, candidate, altered_in(candidate, rebuilt)))

    try:
        check_usable(thread_id)
        chain = replay_chain(desk.mailbox, thread_id, desk.project.operator, watch)
    except Refused:
        return ()
    if chain.broken:
        found.append(_fact(thread_id, chain.broken.candidate, chain.broken.difference))
    return tuple(found)


def _fact(thread_id: str, candidate: Candidate, difference: str) -> Fact:
    sha256 = candidate.record.artifact_sha256 if candidate.record else ""
    return Fact(thread_id, candidate.number, sha256, difference, candidate.filed.content_hash)


def lost_facts(desk: Desk, before: Iterable[Fact], gone: str = "is not there") -> Iterator[str]:
    """The versions that followed from the mail before and do not here, each in words; `gone` is
    said of one that is none here.
    """
    expected: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in before:
        if not fact.difference:
            expected[fact.thread_id].append(fact)
    for thread_id, versions in expected.items():
        here = {fact.version: fact for fact in thread_facts(desk, thread_id)}
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
