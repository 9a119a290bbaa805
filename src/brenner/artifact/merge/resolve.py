"""What a message of a thread brings to the artifact: delta blocks, or a kickoff's question."""

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import takewhile
from typing import NamedTuple, cast

from brenner.artifact.merge.draft import Draft
from brenner.artifact.state import (
    Applied,
    Author,
    Counts,
    Key,
    Moment,
    Version,
    block_key,
    latest_before,
)
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.escape import fields
from brenner.protocol.body import (
    Section,
    check_version_field,
    find_section,
    is_seen,
    normalised,
    sections,
    title,
)
from brenner.protocol.delta.parse import read_blocks, with_repairs
from brenner.protocol.delta.schema import (
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    DeltaBlock,
    Field,
    FieldKind,
    Operation,
)
from brenner.protocol.delta.schema import Section as NumberingSection
from brenner.protocol.grammar import (
    ITEM_ID,
    ITEM_ID_IN_PROSE,
    LOCAL_REFERENCE,
    NAME_IN_DISCRIMINATES,
    VERSION,
)
from brenner.protocol.message_types import DELTA, KICKOFF
from brenner.protocol.messages import PostedMessage
from brenner.protocol.roster import Roster, read_configuration
from brenner.protocol.subjects import Subject, parse_subject


class Contribution(NamedTuple):
    """A DELTA message, read: its blocks, and the version that it states as its base."""

    posted: PostedMessage
    shorthand: str
    blocks: list[DeltaBlock]
    stated_base: int | None
    warnings: tuple[Diagnostic, ...] = ()


class Kickoff(NamedTuple):
    """A KICKOFF message, read. `is_titled` says that the question is only its title (R15)."""

    posted: PostedMessage
    question: str
    context: str
    is_titled: bool
    roster: Roster | None = None


def read_posted(posted: PostedMessage) -> Contribution | Kickoff | None:
    """What the message brings; None for those types that bring nothing."""
    subject = parse_subject(posted.message.subject)
    if subject is None:
        return None
    if subject.type == DELTA.name:
        return _contribution(posted, subject)
    return _kickoff(posted) if subject.type == KICKOFF.name else None


def _contribution(posted: PostedMessage, subject: Subject) -> Contribution:
    found = blocks(posted.message.body)
    deltas = with_repairs(read_blocks(found, posted.message.thread_id))
    warnings = tuple(check_version_field(DELTA, found))
    return Contribution(posted, subject.role or "", deltas, stated_base(found), warnings)


def stated_base(body: list[Block], label: str = DELTA.version_field) -> int | None:
    """The version that `**Base Version**: vN` states; of several the first.

    A KICKOFF of a later round states it in a field of another name.
    """
    name = normalised(label)
    values = [field.value for field in fields(body) if normalised(field.name) == name]
    stated = [int(match[1]) for match in map(VERSION.fullmatch, values) if match]
    return stated[0] if stated else None


def _kickoff(posted: PostedMessage) -> Kickoff:
    body = posted.message.body
    found = blocks(body)
    under = sections(found)
    question, context = find_section(under, "Research Question"), find_section(under, "Context")
    heading = title(found)
    asked = _text(question, body) if question else (heading.text.strip() if heading else "")
    said = _text(context, body) if context else ""
    return Kickoff(posted, asked, said, question is None, read_configuration(found))


def _text(section: Section, body: str) -> str:
    """What stands in a section, as it was written, up to the next heading; comments aside."""
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    until_heading = takewhile(lambda block: block.kind is not Kind.HEADING, section.contents)
    seen = [block for block in until_heading if is_seen(block)]
    return "\n".join(lines[seen[0].line - 1 : seen[-1].end]).strip() if seen else ""


# Where item IDs live in a delta, and how they are rewritten there (R11).
#
# They live in `target_id`, in the keys of outcomes, in `discriminates`, in `conflicts_with` and in
# references to this thread. Everywhere else an ID is prose, which is never altered.


Path = tuple[str | int, ...]


class Mention(NamedTuple):
    """An ID or `@name` in a delta: the field, and the exact place for finding its line."""

    field: str
    written: str
    path: Path


def mentions(delta: Delta, thread_id: str) -> list[Mention]:
    """Every ID that a delta names, in order."""
    found = []
    if delta.target_id is not None:
        found.append(Mention("target_id", delta.target_id, ("target_id",)))
    fields = SECTIONS[delta.section].fields
    for name, value in delta.payload.items():
        field = fields.get(name)
        if field is not None and (field.kind in _PLACES or field.names_items):
            found += _in_field(field, value, thread_id)
    return found


_PLACES = frozenset({FieldKind.OUTCOMES, FieldKind.ITEMS, FieldKind.REFERENCES})


def _in_field(field: Field, value: object, thread_id: str) -> Iterator[Mention]:
    path: Path = ("payload", field.name)
    if field.kind is FieldKind.OUTCOMES:
        for key in cast("dict[str, str]", value):
            yield Mention(field.name, key, (*path, key))
    elif field.kind is FieldKind.ITEMS:
        for index, item in enumerate(cast("list[str]", value)):
            yield Mention(field.name, item, (*path, index))
    elif field.kind is FieldKind.REFERENCES:
        for index, reference in enumerate(cast("list[dict[str, str]]", value)):
            if is_in_thread(reference, thread_id):
                yield Mention(field.name, reference["item"], (*path, index, "item"))
    else:
        for name in NAME_IN_DISCRIMINATES.findall(cast("str", value)):
            yield Mention(field.name, name, path)


def is_in_thread(reference: Mapping[str, str], thread_id: str) -> bool:
    """Whether a reference is to an item of this thread; what is no ID was warned about before."""
    item = reference["item"]
    is_name = ITEM_ID.fullmatch(item) or LOCAL_REFERENCE.fullmatch(item)
    return is_name is not None and reference["session"] == thread_id


def with_ids(delta: Delta, final: Mapping[str, str], thread_id: str) -> dict[str, object]:
    """The payload with every ID that it names as it is finally numbered."""
    fields = SECTIONS[delta.section].fields
    return {
        name: _rewritten(fields[name], value, final, thread_id) if name in fields else value
        for name, value in delta.payload.items()
    }


def _rewritten(field: Field, value: object, final: Mapping[str, str], thread_id: str) -> object:
    if field.kind is FieldKind.OUTCOMES:
        outcomes = cast("dict[str, str]", value)
        return {final[key]: outcome for key, outcome in outcomes.items()}
    if field.kind is FieldKind.ITEMS:
        return [final[item] for item in cast("list[str]", value)]
    if field.kind is FieldKind.REFERENCES:
        return [
            {**reference, "item": final[reference["item"]]}
            if is_in_thread(reference, thread_id)
            else reference
            for reference in cast("list[dict[str, str]]", value)
        ]
    if field.names_items:
        return NAME_IN_DISCRIMINATES.sub(lambda name: final[name[0]], cast("str", value))
    return value


def in_prose(delta: Delta) -> Iterator[tuple[Path, str]]:
    """Every ID that stands in a text of the delta which is never altered, once per text."""
    fields = SECTIONS[delta.section].fields
    for name, value in delta.payload.items():
        path: Path = ("payload", name)
        is_altered = name in fields and fields[name].names_items
        if isinstance(value, str):
            for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(value)):
                if not (is_altered and item_id.startswith("H")):
                    yield path, item_id
        elif isinstance(value, dict):
            for key, text in value.items():
                for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(str(text))):
                    yield (*path, key), item_id


# The author's view: what the IDs in her message mean (R11).
#
# Numbers are given at compile, so an author who ADDs items must guess how they will be numbered. In
# the *base view* she counts on from the version that she goes by; in the *thread view*, from the
# thread as it stood just before her message. One of the two holds for her whole message.


# What an ID means: an item that exists, or the ADD of this message with that block number
Target = str | int

_ADD_IN_TEXT = re.compile(r'"operation"\s*:\s*"ADD"')
_SECTION_IN_TEXT = re.compile(r'"section"\s*:\s*"([a-z_]+)"')


def _nothing(_prefix: str) -> Sequence[str]:
    return ()


class View(NamedTuple):
    """A numbering: the first so many numbers are items; the author's own ADDs go on from there.

    `own` are those of the message, by the prefix of the section; after them come `earlier` ones.
    """

    counts: Counts
    own: Mapping[str, Sequence[int]]
    earlier: Callable[[str], Sequence[str]] = _nothing

    def meaning(self, item_id: str) -> Target | None:
        """What an ID means in this view; None where it means nothing."""
        match = ITEM_ID.fullmatch(item_id)
        if match is None or match[2] is None:
            return item_id if match else None
        prefix, number = match[1], int(match[2])
        beyond = number - self.counts[prefix]
        if beyond <= 0:
            return item_id
        own = self.own.get(prefix, ())
        if beyond <= len(own):
            return own[beyond - 1]
        earlier = self.earlier(prefix)
        beyond -= len(own)
        return earlier[beyond - 1] if beyond <= len(earlier) else None


class Views(NamedTuple):
    """Both readings of a message, and whether the thread view holds."""

    base: View
    thread: View
    is_thread: bool

    @property
    def chosen(self) -> View:
        """The one that holds."""
        return self.thread if self.is_thread else self.base


def base_of(posted: PostedMessage, stated: int | None, versions: tuple[Version, ...]) -> Version:
    """The version that a message goes by: what it states, or the latest published before it."""
    if stated is not None:
        for version in reversed(versions):
            if version.number == stated:
                return version
    return latest_before((posted.at, posted.id), versions)


def own_adds(blocks: Iterable[DeltaBlock]) -> dict[str, list[int]]:
    """The ADDs of a message by section prefix, refused ones included: their author counts them."""
    own: dict[str, list[int]] = {}
    for block in blocks:
        section = _section_of_add(block)
        if section is not None and section is not RESEARCH_THREAD:
            own.setdefault(section.prefix, []).append(block.number)
    return own


def _section_of_add(block: DeltaBlock) -> NumberingSection | None:
    """The section to which a block adds, also where the rest of it cannot be read."""
    if block.delta is not None:
        is_add = block.delta.operation is Operation.ADD
        return SECTIONS[block.delta.section] if is_add else None
    if isinstance(block.value, dict):
        is_add = block.written("operation") == Operation.ADD
        return SECTIONS.get(block.written("section") or "") if is_add else None
    section = _SECTION_IN_TEXT.search(block.fence.text)
    return SECTIONS.get(section[1]) if section and _ADD_IN_TEXT.search(block.fence.text) else None


class OwnItems(NamedTuple):
    """What an author may count on from her own numbering, by the prefix of the section.

    `adds` are the ADDs of her message; those that were `resent` stand for an item that she had
    added before. `earlier` are her items of earlier messages on the same base.
    """

    adds: Mapping[str, Sequence[int]]
    resent: Mapping[int, str]
    earlier: Callable[[str], Sequence[str]]

    def others(self, prefix: str) -> Sequence[str]:
        """The earlier ones without those that the message has again: an item is counted once."""
        before = self.earlier(prefix)
        if not self.resent:
            return before
        known = set(self.resent.values())
        return [item_id for item_id in before if item_id not in known]

    def new(self) -> Mapping[str, Sequence[int]]:
        """The ADDs of the message without those that the thread has already."""
        return {
            prefix: [number for number in numbers if number not in self.resent]
            for prefix, numbers in self.adds.items()
        }


def views(named: Iterable[str], own: OwnItems, base: Version, counts: Counts) -> Views:
    """Both views of a message that names these IDs; `counts` are the thread's, just before it.

    The thread view has every ID that the base view has. So the base view holds, unless the message
    names one that only the thread view has: then she had read the thread.
    """
    others = cache(own.others)
    in_base, in_thread = View(base.counts, own.adds, others), View(counts, own.new())
    is_thread = any(
        in_base.meaning(item_id) is None and in_thread.meaning(item_id) is not None
        for item_id in named
    )
    return Views(in_base, in_thread, is_thread)


# Which ADDs of a message equal an applied one of an earlier message (R8).
#
# Each stands for the item that the first one became, so that a message resent with one block
# corrected adds only that block. Blocks are compared with their IDs resolved, and an ADD may name
# another one of the same message: then it can be compared only when that one has been.


class DuplicateAdds(NamedTuple):
    """The ADDs that were resent, with the first ones; and what those that are new compare by."""

    firsts: Mapping[int, Applied]
    keys: Mapping[int, Key]


def plain_adds(blocks: list[DeltaBlock], named: Mapping[int, list[Mention]]) -> dict[int, Key]:
    """The ADDs that name nothing, and so mean the same in every view, with their keys."""
    return {
        block.number: block_key(block.delta, None, block.delta.payload, 0)
        for block in blocks
        if block.delta is not None and block.delta.operation is Operation.ADD
        if not named[block.number]
    }


def plainly_resent(
    keys: Mapping[int, Key], blocks: list[DeltaBlock], draft: Draft, author: Author
) -> dict[int, str]:
    """Those of them that were resent, with their items: known before any view is chosen."""
    search = _Search(draft, author, _kills(blocks, {}))
    found = {number: search.first_of(number, key) for number, key in keys.items()}
    return {number: first.item_id for number, first in found.items() if first is not None}


def resent_adds(
    blocks: list[DeltaBlock],
    meant: Mapping[int, Mapping[str, Target | None]],
    plain: Mapping[int, Key],
    draft: Draft,
    author: Author,
) -> DuplicateAdds:
    """All of them, given what the IDs in each block mean."""
    adds = {
        block.number: block.delta
        for block in blocks
        if block.delta is not None and block.delta.operation is Operation.ADD
    }
    kills = _kills(blocks, {w: t for found in meant.values() for w, t in found.items()})
    search = _Search(draft, author, kills)
    needs = {
        number: {target for target in meant[number].values() if isinstance(target, int)}
        for number in adds
    }
    needed_by: dict[int, list[int]] = {}
    for number, wanted in needs.items():
        for each in wanted:
            needed_by.setdefault(each, []).append(number)
    firsts: dict[int, Applied] = {}
    keys = dict(plain)
    waiting = [number for number, wanted in needs.items() if not wanted]
    heapq.heapify(waiting)  # in their order, so that of equal ADDs the first is the first's
    while waiting:
        number = heapq.heappop(waiting)
        key = keys.get(number) or _key(adds[number], meant[number], firsts, draft)
        if key is None:
            continue
        keys[number] = key
        first = search.first_of(number, key)
        if first is not None:
            firsts[number] = first
            for dependent in needed_by.get(number, ()):
                needs[dependent].discard(number)
                if not needs[dependent]:
                    heapq.heappush(waiting, dependent)
    left = {number: adds[number] for number, wanted in needs.items() if wanted}
    if left:
        firsts |= _in_circles(left, meant, firsts, search)
    return DuplicateAdds(firsts, keys)


def _in_circles(
    left: Mapping[int, Delta],
    meant: Mapping[int, Mapping[str, Target | None]],
    firsts: Mapping[int, Applied],
    search: "_Search",
) -> dict[int, Applied]:
    """Those among ADDs that name each other: guessed by what is written, kept where it all fits."""
    guess = {}
    for number, delta in left.items():
        first = search.first_of(number, block_key(delta, None, delta.payload, 0), as_written=True)
        if first is not None:
            guess[number] = first
    while True:
        known = {**firsts, **guess}
        wrong = []
        for number, first in guess.items():
            key = _key(left[number], meant[number], known, search.draft)
            if key is None or first not in search.author.firsts(key):
                wrong.append(number)
        if not wrong:
            return guess
        for number in wrong:
            del guess[number]


class _Search:
    """Finds the first of each ADD: of equal ones the first for the first, and so on."""

    def __init__(self, draft: Draft, author: Author, kills: Mapping[str, int]) -> None:
        self.draft = draft
        self.author = author
        self._kills = kills
        self._taken: Counter[Key] = Counter()

    def first_of(self, number: int, key: Key, *, as_written: bool = False) -> Applied | None:
        """The applied ADD that this block repeats, while that item is active."""
        known = self.author.firsts(key, as_written=as_written)
        active = [first for first in known if self._stands(first.item_id, number)]
        if not active:
            return None
        self._taken[key] += 1
        return active[min(self._taken[key], len(active)) - 1]

    def _stands(self, item_id: str, number: int) -> bool:
        """Whether the item is active, and no block above this one kills it."""
        return not self.draft.is_killed(item_id) and self._kills.get(item_id, number) >= number


def _kills(blocks: list[DeltaBlock], meaning: Mapping[str, Target | None]) -> dict[str, int]:
    """The items that the message kills, each with the first block that does."""
    kills: dict[str, int] = {}
    for block in blocks:
        if block.delta is not None and block.delta.operation is Operation.KILL:
            written = block.delta.target_id or ""
            target = meaning.get(written, written)
            if isinstance(target, str):
                kills.setdefault(target, block.number)
    return kills


def _key(
    delta: Delta, meant: Mapping[str, Target | None], firsts: Mapping[int, Applied], draft: Draft
) -> Key | None:
    """What the ADD is compared by; nothing, if it names what does not exist or is new."""
    ids = {written: target for written, target in meant.items() if isinstance(target, str)}
    ids |= {
        written: firsts[target].item_id
        for written, target in meant.items()
        if isinstance(target, int) and target in firsts
    }
    if len(ids) < len(meant):
        return None
    return block_key(delta, None, with_ids(delta, ids, draft.thread_id), 0)


# A message as its author means it: what each ID in it stands for (R11).


Meanings = Mapping[str, Target | None]
_NONE_RESENT = DuplicateAdds({}, {})


class ResolvedIds(NamedTuple):
    """What the IDs of a message mean.

    `meanings` has every ID and `@name` that its blocks mention, as the view that holds reads it:
    an item, the number of the block that adds it, or nothing. `doubtful` are those that the thread
    view reads otherwise, where nothing says which view was meant.
    """

    contribution: Contribution
    base: Version
    views: Views
    mentions: Mapping[int, list[Mention]]
    meanings: Meanings
    doubtful: Meanings
    resent: DuplicateAdds

    def meant(self, number: int) -> Meanings:
        """What the IDs in one block mean."""
        meanings = self.meanings
        return {each.written: meanings[each.written] for each in self.mentions[number]}


def read_message(
    contribution: Contribution, base: Version, draft: Draft, author: Author
) -> ResolvedIds:
    """Find out what the IDs of a message mean."""
    blocks = contribution.blocks
    named = {b.number: mentions(b.delta, draft.thread_id) for b in blocks if b.delta is not None}
    names = {f"@{b.delta.local_id}": b.number for b in blocks if b.delta and b.delta.local_id}
    ids = {each.written for found in named.values() for each in found} - names.keys()
    plain = plain_adds(blocks, named) if author.count else {}
    here = (contribution.posted.at, contribution.posted.id)
    own = OwnItems(
        own_adds(blocks),
        plainly_resent(plain, blocks, draft, author) if plain else {},
        partial(_earlier, author, base, draft, here),
    )
    both = views(ids, own, base, draft.counts_before(here, base))
    meanings: dict[str, Target | None] = {each: _item(both.chosen, each, draft) for each in ids}
    meanings |= names
    reading = ResolvedIds(contribution, base, both, named, meanings, {}, _NONE_RESENT)
    if author.count:
        meant = {number: reading.meant(number) for number in named}
        resent = resent_adds(blocks, meant, plain, draft, author)
        reading = reading._replace(meanings=_standing_for(meanings, resent), resent=resent)
    is_certain = both.is_thread or contribution.stated_base == base.number
    return reading if is_certain else reading._replace(doubtful=_doubtful(reading, ids, draft))


def _earlier(
    author: Author, base: Version, draft: Draft, here: Moment, prefix: str
) -> Sequence[str]:
    """Her items of earlier messages on that base."""
    added = author.added_on(base.number, prefix)
    if not draft.is_late(here):
        return added
    return [item_id for item_id in added if draft.was_added_before(item_id, here)]


def _item(view: View, written: str, draft: Draft) -> Target | None:
    target = view.meaning(written)
    return target if isinstance(target, int) or target in draft.items else None


def _standing_for(meanings: Meanings, resent: DuplicateAdds) -> dict[str, Target | None]:
    """The meanings with the items that resent ADDs stand for."""
    firsts = resent.firsts
    return {
        written: firsts[target].item_id if isinstance(target, int) and target in firsts else target
        for written, target in meanings.items()
    }


def _doubtful(reading: ResolvedIds, ids: set[str], draft: Draft) -> Meanings:
    """The IDs that the thread view reads otherwise than the base view, which holds."""
    others = {each: _item(reading.views.thread, each, draft) for each in ids}
    return {
        written: other
        for written, other in _standing_for(others, reading.resent).items()
        if other not in (None, reading.meanings[written])
    }


def is_as_written(ids: Meanings) -> bool:
    """Whether every ID means the item that has that number."""
    return [*ids] == [*ids.values()]
