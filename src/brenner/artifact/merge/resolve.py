"""Parse the DELTA and KICKOFF messages of a thread, and resolve the item IDs in them (R11)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from brenner.artifact.state import (
    AppliedBlock,
    AuthorHistoryBuilder,
    BlockKey,
    Counts,
    Version,
    block_key,
    latest_version_before,
)
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.escape import read_fields
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import (
    BodySection,
    check_version_field,
    find_section,
    find_title,
    has_visible_text,
    normalise_heading,
    parse_sections,
)
from brenner.protocol.delta.parse import attach_repairs, read_blocks
from brenner.protocol.delta.schema import (
    ADD,
    KILL,
    RECORD_FORMAT,
    RESEARCH_THREAD,
    SECTIONS,
    VERDICT_FIELDS,
    Delta,
    DeltaBlock,
    Field,
    FieldKind,
)
from brenner.protocol.delta.schema import Section as NumberingSection
from brenner.protocol.grammar import (
    HYPOTHESIS_REFERENCE,
    ITEM_ID,
    ITEM_ID_IN_PROSE,
    LOCAL_REFERENCE,
    VERSION,
)
from brenner.protocol.independent_round import states_independence
from brenner.protocol.message_types import DELTA, KICKOFF
from brenner.protocol.roster import Roster, read_configuration
from brenner.protocol.subjects import Subject, parse_subject

if TYPE_CHECKING:
    from brenner.artifact.merge.draft import ArtifactDraft
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.messages import StoredMessage

# Parsing messages


class DeltaMessage(NamedTuple):
    """A parsed DELTA message: its blocks, and the version that it states as its base."""

    posted: StoredMessage
    shorthand: str
    blocks: list[DeltaBlock]
    stated_base: int | None
    warnings: tuple[Diagnostic, ...] = ()


class KickoffMessage(NamedTuple):
    """A parsed KICKOFF message. `is_from_title` means that the question is only its title (R15).

    An `is_independent` one states an independent first round (R33).
    """

    posted: StoredMessage
    question: str
    context: str
    is_from_title: bool
    roster: Roster | None = None
    is_independent: bool = False


def parse_posted(
    posted: StoredMessage, record_format: int = RECORD_FORMAT
) -> DeltaMessage | KickoffMessage | None:
    """Parse a message. Return None for message types that do not change the artifact.

    Payload fields that the record format does not know are unknown fields (R26).
    """
    subject = parse_subject(posted.message.subject)
    if subject is None:
        return None
    if subject.type == DELTA.name:
        return _parse_delta_message(posted, subject, record_format)
    return _parse_kickoff(posted) if subject.type == KICKOFF.name else None


def _parse_delta_message(
    posted: StoredMessage, subject: Subject, record_format: int
) -> DeltaMessage:
    found = parse_blocks(posted.message.body)
    blocks = read_blocks(found, posted.message.thread_id, record_format)
    deltas = attach_repairs(blocks, record_format)
    warnings = tuple(check_version_field(DELTA, found))
    return DeltaMessage(posted, subject.role or "", deltas, stated_base(found), warnings)


def stated_base(body: list[Block], label: str = DELTA.version_field) -> int | None:
    """Return the version that `**Base Version**: vN` states; the first if there are several.

    A KICKOFF of a later round states it in a field of another name.
    """
    name = normalise_heading(label)
    values = [field.value for field in read_fields(body) if normalise_heading(field.name) == name]
    stated = [int(match[1]) for match in map(VERSION.fullmatch, values) if match]
    return stated[0] if stated else None


def _parse_kickoff(posted: StoredMessage) -> KickoffMessage:
    body = posted.message.body
    found = parse_blocks(body)
    under = parse_sections(found)
    question, context = find_section(under, "Research Question"), find_section(under, "Context")
    heading = find_title(found)
    asked = _section_text(question, body) if question else (heading.text.strip() if heading else "")
    background = _section_text(context, body) if context else ""
    roster, is_independent = read_configuration(found), states_independence(found)
    return KickoffMessage(posted, asked, background, question is None, roster, is_independent)


def _section_text(section: BodySection, body: str) -> str:
    """Return the text of a section as written, up to the next heading, without comments."""
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    until_heading = takewhile(lambda block: block.kind is not BlockKind.HEADING, section.contents)
    seen = [block for block in until_heading if has_visible_text(block)]
    return "\n".join(lines[seen[0].line - 1 : seen[-1].end]).strip() if seen else ""


# Finding and rewriting the item IDs in a delta (R11)
#
# IDs occur in `target_id`, in the keys of outcomes, in `discriminates`, in `conflicts_with`, in the
# verdicts of results and in references to this thread. Everywhere else an ID is prose, which is
# never changed.

JsonPath = tuple[str | int, ...]


class IdMention(NamedTuple):
    """An ID or `@name` in a delta: the field, and the exact path for finding its line."""

    field: str
    written: str
    path: JsonPath


def id_mentions(delta: Delta, thread_id: str) -> list[IdMention]:
    """Return every ID that a delta names, in order."""
    found = []
    if delta.target_id is not None:
        found.append(IdMention("target_id", delta.target_id, ("target_id",)))
    with_ids = _FIELDS_WITH_IDS[delta.section]
    if not with_ids.keys().isdisjoint(delta.payload):
        for name, value in delta.payload.items():
            if name in with_ids:
                found += _field_mentions(with_ids[name], value, thread_id)
    return found


_KINDS_WITH_IDS = frozenset(
    {FieldKind.OUTCOMES, FieldKind.ITEMS, FieldKind.REFERENCES, FieldKind.RESULTS}
)
_FIELDS_WITH_IDS = {
    section.id: {
        name: field
        for name, field in section.fields.items()
        if field.kind in _KINDS_WITH_IDS or field.names_items
    }
    for section in SECTIONS.values()
}


def _field_mentions(field: Field, value: object, thread_id: str) -> Iterator[IdMention]:
    path: JsonPath = ("payload", field.name)
    if field.kind is FieldKind.OUTCOMES:
        for key in cast("dict[str, str]", value):
            yield IdMention(field.name, key, (*path, key))
    elif field.kind is FieldKind.ITEMS:
        for index, item in enumerate(cast("list[str]", value)):
            yield IdMention(field.name, item, (*path, index))
    elif field.kind is FieldKind.REFERENCES:
        for index, reference in enumerate(cast("list[dict[str, str]]", value)):
            if refers_to_thread(reference, thread_id):
                yield IdMention(field.name, reference["item"], (*path, index, "item"))
    elif field.kind is FieldKind.RESULTS:
        yield from _verdict_mentions(path, cast("list[dict[str, list[str] | None]]", value))
    else:
        for name in HYPOTHESIS_REFERENCE.findall(cast("str", value)):
            yield IdMention(field.name, name, path)


def _verdict_mentions(
    path: JsonPath, results: list[dict[str, list[str] | None]]
) -> Iterator[IdMention]:
    for index, result in enumerate(results):
        for name in VERDICT_FIELDS:
            for at, item in enumerate(result.get(name) or ()):
                yield IdMention(str(path[-1]), item, (*path, index, name, at))


def refers_to_thread(reference: Mapping[str, str], thread_id: str) -> bool:
    """Return whether a reference is to a well-formed item ID of this thread."""
    item = reference["item"]
    is_name = ITEM_ID.fullmatch(item) or LOCAL_REFERENCE.fullmatch(item)
    return is_name is not None and reference["session"] == thread_id


def rewrite_ids(delta: Delta, final: Mapping[str, str], thread_id: str) -> dict[str, object]:
    """Return the payload with every ID replaced by its final number."""
    fields = SECTIONS[delta.section].fields
    return {
        name: _rewrite_value(fields[name], value, final, thread_id) if name in fields else value
        for name, value in delta.payload.items()
    }


def _rewrite_value(field: Field, value: object, final: Mapping[str, str], thread_id: str) -> object:
    if field.kind is FieldKind.OUTCOMES:
        outcomes = cast("dict[str, str]", value)
        return {final[key]: outcome for key, outcome in outcomes.items()}
    if field.kind is FieldKind.ITEMS:
        return [final[item] for item in cast("list[str]", value)]
    if field.kind is FieldKind.REFERENCES:
        return [
            {**reference, "item": final[reference["item"]]}
            if refers_to_thread(reference, thread_id)
            else reference
            for reference in cast("list[dict[str, str]]", value)
        ]
    if field.kind is FieldKind.RESULTS:
        return [_rewrite_verdict(each, final) for each in cast("list[dict[str, object]]", value)]
    if field.names_items:
        return HYPOTHESIS_REFERENCE.sub(lambda name: final[name[0]], cast("str", value))
    return value


def _rewrite_verdict(result: dict[str, object], final: Mapping[str, str]) -> dict[str, object]:
    return {
        name: [final[item] for item in cast("list[str]", value)]
        if name in VERDICT_FIELDS and value
        else value
        for name, value in result.items()
    }


def ids_in_prose(delta: Delta) -> Iterator[tuple[JsonPath, str]]:
    """Yield every ID in the texts of a delta that are never rewritten, once per text."""
    fields = SECTIONS[delta.section].fields
    for name, value in delta.payload.items():
        path: JsonPath = ("payload", name)
        is_altered = name in fields and fields[name].names_items
        if isinstance(value, str):
            for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(value)):
                if not (is_altered and item_id.startswith("H")):
                    yield path, item_id
        elif isinstance(value, dict):
            for key, text in value.items():
                for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(str(text))):
                    yield (*path, key), item_id
        elif name in fields and fields[name].kind is FieldKind.RESULTS:
            yield from _ids_in_results(path, cast("list[dict[str, object]]", value))


def _ids_in_results(
    path: JsonPath, results: list[dict[str, object]]
) -> Iterator[tuple[JsonPath, str]]:
    for index, result in enumerate(results):
        for name in ("outcome", "note"):
            for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(str(result.get(name) or ""))):
                yield (*path, index, name), item_id


# Numbering views (R11)
#
# Compiling assigns the numbers, so an author who ADDs items must guess them. In the *base view* the
# author counts on from the base version; in the *thread view*, from the thread just before the
# message. One of the two applies to the whole message.


# What an ID refers to: an existing item, or the ADD of this message with that block number
Target = str | int
Meanings = Mapping[str, Target | None]  # by the ID as written; None: unknown

_ADD_IN_TEXT = lazy_pattern(r'"operation"\s*:\s*"ADD"')
_SECTION_IN_TEXT = lazy_pattern(r'"section"\s*:\s*"([a-z_]+)"')


def _no_items(_prefix: str) -> Sequence[str]:
    return ()


class NumberingView(NamedTuple):
    """A numbering: numbers up to `counts` are existing items; the author's own ADDs follow.

    `own_adds` are those of the message, by the prefix of the section. After them come
    `earlier_items`.
    """

    counts: Counts
    own_adds: Mapping[str, Sequence[int]]
    earlier_items: Callable[[str], Sequence[str]] = _no_items

    def resolve(self, item_id: str) -> Target | None:
        """Return what an ID refers to in this view, or None."""
        match = ITEM_ID.fullmatch(item_id)
        if match is None or match[2] is None:
            return item_id if match else None
        prefix, number = match[1], int(match[2])
        beyond = number - self.counts[prefix]
        if beyond <= 0:
            return item_id
        own = self.own_adds.get(prefix, ())
        if beyond <= len(own):
            return own[beyond - 1]
        earlier = self.earlier_items(prefix)
        beyond -= len(own)
        return earlier[beyond - 1] if beyond <= len(earlier) else None


def base_version(
    posted: StoredMessage, stated: int | None, versions: tuple[Version, ...]
) -> Version:
    """Return the base of a message: the stated version, or the latest published before it."""
    if stated is not None:
        for version in reversed(versions):
            if version.number == stated:
                return version
    return latest_version_before((posted.at, posted.id), versions)


def own_adds(blocks: Iterable[DeltaBlock]) -> dict[str, list[int]]:
    """Return the ADDs of a message by section prefix, with refused ones: the author counts them."""
    own: dict[str, list[int]] = {}
    for block in blocks:
        section = _section_of_add(block)
        if section is not None and section is not RESEARCH_THREAD:
            own.setdefault(section.prefix, []).append(block.number)
    return own


def _section_of_add(block: DeltaBlock) -> NumberingSection | None:
    """Return the section that a block adds to, even if the rest of the block is unreadable."""
    if block.delta is not None:
        is_add = block.delta.operation is ADD
        return SECTIONS[block.delta.section] if is_add else None
    if isinstance(block.value, dict):
        is_add = block.written("operation") == ADD
        return SECTIONS.get(block.written("section") or "") if is_add else None
    section = _SECTION_IN_TEXT.search(block.fence.text)
    return SECTIONS.get(section[1]) if section and _ADD_IN_TEXT.search(block.fence.text) else None


# Duplicate ADDs: ADDs that equal an applied one of an earlier message (R8)
#
# A duplicate refers to the item of the original. So resending a message with one corrected block
# adds only that block. Blocks are compared with their IDs resolved. An ADD that names another ADD
# of the same message can be compared only after that one.


def find_duplicate_adds(
    adds: Mapping[int, Delta],
    meanings: Mapping[int, Meanings],
    keys: dict[int, BlockKey],
    search: _DuplicateSearch,
) -> dict[int, AppliedBlock]:
    """Return the resent ADDs with the blocks that they repeat, given what the IDs in each block
    refer to.

    Add the key of each ADD that can be compared to `keys`.
    """
    needs = {
        number: {target for target in meanings[number].values() if isinstance(target, int)}
        for number in adds
    }
    needed_by: dict[int, list[int]] = {}
    for number, wanted in needs.items():
        for each in wanted:
            needed_by.setdefault(each, []).append(number)
    originals: dict[int, AppliedBlock] = {}
    waiting = [number for number, wanted in needs.items() if not wanted]
    heapq.heapify(waiting)  # in order, so that among equal ADDs the first repeats the first
    while waiting:
        number = heapq.heappop(waiting)
        key = keys.get(number) or _add_key(adds[number], meanings[number], originals, search.draft)
        if key is None:
            continue
        keys[number] = key
        first = search.find_original(number, key)
        if first is not None:
            originals[number] = first
            for dependent in needed_by.get(number, ()):
                needs[dependent].discard(number)
                if not needs[dependent]:
                    heapq.heappush(waiting, dependent)
    left = {number: adds[number] for number, wanted in needs.items() if wanted}
    return originals | _in_cycles(left, meanings, originals, search) if left else originals


def _adds(blocks: list[DeltaBlock]) -> dict[int, Delta]:
    return {
        block.number: block.delta
        for block in blocks
        if block.delta is not None and block.delta.operation is ADD
    }


def _in_cycles(
    left: Mapping[int, Delta],
    meanings: Mapping[int, Meanings],
    originals: Mapping[int, AppliedBlock],
    search: _DuplicateSearch,
) -> dict[int, AppliedBlock]:
    """Find resent ADDs among those that name each other.

    Guess by the IDs as written, and keep a guess only if it is consistent with all others.
    """
    guess = {}
    for number, delta in left.items():
        first = search.find_original(
            number, block_key(delta, None, delta.payload, 0), as_written=True
        )
        if first is not None:
            guess[number] = first
    while True:
        known = {**originals, **guess}
        wrong = []
        for number, first in guess.items():
            key = _add_key(left[number], meanings[number], known, search.draft)
            if key is None or first not in search.author.equal_blocks(key):
                wrong.append(number)
        if not wrong:
            return guess
        for number in wrong:
            del guess[number]


class _DuplicateSearch:
    """The search for original ADDs. Among equal ADDs, the first repeats the first, and so on."""

    def __init__(
        self, draft: ArtifactDraft, author: AuthorHistoryBuilder, kills: Mapping[str, int]
    ) -> None:
        self.draft = draft
        self.author = author
        self._kills = kills
        self._taken: Counter[BlockKey] = Counter()

    def find_original(
        self, number: int, key: BlockKey, *, as_written: bool = False
    ) -> AppliedBlock | None:
        """Return the applied ADD that this block repeats, if its item is active."""
        known = self.author.equal_blocks(key, as_written=as_written)
        active = [  # and not killed by an earlier block of the message
            first
            for first in known
            if not self.draft.is_killed(first.item_id)
            and self._kills.get(first.item_id, number) >= number
        ]
        if not active:
            return None
        self._taken[key] += 1
        return active[min(self._taken[key], len(active)) - 1]


def _killing_blocks(blocks: list[DeltaBlock], meaning: Meanings) -> dict[str, int]:
    """Return the items that the message kills, each with the first block that kills it."""
    kills: dict[str, int] = {}
    for block in blocks:
        if block.delta is not None and block.delta.operation is KILL:
            written = block.delta.target_id or ""
            target = meaning.get(written, written)
            if isinstance(target, str):
                kills.setdefault(target, block.number)
    return kills


def _add_key(
    delta: Delta,
    meanings: Meanings,
    originals: Mapping[int, AppliedBlock],
    draft: ArtifactDraft,
) -> BlockKey | None:
    """Return the key of an ADD, or None if it names an item that is unknown or new."""
    ids = {written: target for written, target in meanings.items() if isinstance(target, str)}
    ids |= {
        written: originals[target].item_id
        for written, target in meanings.items()
        if isinstance(target, int) and target in originals
    }
    if len(ids) < len(meanings):
        return None
    return block_key(delta, None, rewrite_ids(delta, ids, draft.thread_id), 0)


# Resolving the IDs of a message (R11)


class ResolvedIds(NamedTuple):
    """What the IDs of a message refer to.

    `meanings` has every ID and `@name` of its blocks, resolved in `view`, the view that applies: an
    item, the number of the block that adds it, or None. `ambiguous` are those that the thread view
    reads differently, if the message does not show which view its author used. `originals` are the
    resent ADDs with the blocks that they repeat, `keys` the keys of all compared ADDs.
    """

    message: DeltaMessage
    base: Version
    view: NumberingView
    mentions: Mapping[int, list[IdMention]]
    meanings: Meanings
    ambiguous: Meanings
    originals: Mapping[int, AppliedBlock]
    keys: Mapping[int, BlockKey]

    def block_meanings(self, number: int) -> Meanings:
        """Return what the IDs in one block refer to."""
        return _meanings_of(self.mentions[number], self.meanings)


def _meanings_of(mentions: list[IdMention], meanings: Meanings) -> Meanings:
    return {each.written: meanings[each.written] for each in mentions}


def resolve_ids(
    message: DeltaMessage,
    base: Version,
    draft: ArtifactDraft,
    author: AuthorHistoryBuilder,
    *,
    is_sealed: bool = False,
) -> ResolvedIds:
    """Resolve the IDs of a message. Of a message that was sealed, in the base view only (R33)."""
    blocks = message.blocks
    mentions = {
        b.number: id_mentions(b.delta, draft.thread_id) for b in blocks if b.delta is not None
    }
    names = {f"@{b.delta.local_id}": b.number for b in blocks if b.delta and b.delta.local_id}
    ids = {each.written for found in mentions.values() for each in found} - names.keys()
    # ADDs that name no items mean the same in every view.
    adds = _adds(blocks) if author.count else {}
    keys = {
        number: block_key(delta, None, delta.payload, 0)
        for number, delta in adds.items()
        if not mentions[number]
    }
    in_base, in_thread = _numbering_views(
        message, _resent_items(keys, blocks, draft, author), base, draft, author
    )
    # Every ID of the base view exists in the thread view too. So the base view applies, unless the
    # message names an ID that only the thread view has: then the author has read the thread.
    is_thread = not is_sealed and any(
        in_base.resolve(each) is None and in_thread.resolve(each) is not None for each in ids
    )
    view = in_thread if is_thread else in_base
    meanings = {**_resolve_existing(view, ids, draft), **names}
    originals: dict[int, AppliedBlock] = {}
    if adds:
        by_block = {number: _meanings_of(mentions[number], meanings) for number in adds}
        search = _DuplicateSearch(draft, author, _killing_blocks(blocks, meanings))
        originals = find_duplicate_adds(adds, by_block, keys, search)
        meanings = _with_originals(meanings, originals)
    ambiguous: Meanings = {}
    if ids and not is_thread and not is_sealed and message.stated_base != base.number:
        others = _with_originals(_resolve_existing(in_thread, ids, draft), originals)
        ambiguous = {
            written: other
            for written, other in others.items()
            if other not in (None, meanings[written])
        }
    return ResolvedIds(message, base, view, mentions, meanings, ambiguous, originals, keys)


def _resent_items(
    keys: Mapping[int, BlockKey],
    blocks: list[DeltaBlock],
    draft: ArtifactDraft,
    author: AuthorHistoryBuilder,
) -> dict[int, str]:
    """Return the resent ones among ADDs that name no items, with their items."""
    if not keys:
        return {}
    search = _DuplicateSearch(draft, author, _killing_blocks(blocks, {}))
    found = {number: search.find_original(number, key) for number, key in keys.items()}
    return {number: first.item_id for number, first in found.items() if first is not None}


def _numbering_views(
    message: DeltaMessage,
    resent: Mapping[int, str],
    base: Version,
    draft: ArtifactDraft,
    author: AuthorHistoryBuilder,
) -> tuple[NumberingView, NumberingView]:
    """Return the base view and the thread view of a message.

    `resent` are the ADDs that repeat an item which the author had added before. The thread view
    counts it as an item, the base view as an ADD, so that each counts once.
    """
    adds = own_adds(message.blocks)
    position = (message.posted.at, message.posted.id)
    is_late = draft.is_late(position)
    repeated = set(resent.values())

    def earlier_items(prefix: str) -> Sequence[str]:
        """Return the author's items of earlier messages on that base."""
        added = author.items_added_on(base.number, prefix)
        if not is_late and not repeated:
            return added
        return [
            item_id
            for item_id in added
            if item_id not in repeated
            and (not is_late or draft.was_added_before(item_id, position))
        ]

    new = {
        prefix: [number for number in numbers if number not in resent]
        for prefix, numbers in adds.items()
    }
    return (
        NumberingView(
            base.counts, adds, cache(earlier_items) if resent or is_late else earlier_items
        ),
        NumberingView(draft.counts_before(position, base), new),
    )


def _resolve_existing(
    view: NumberingView, ids: Iterable[str], draft: ArtifactDraft
) -> dict[str, Target | None]:
    resolved = ((written, view.resolve(written)) for written in ids)
    return {
        written: target if isinstance(target, int) or target in draft.items else None
        for written, target in resolved
    }


def _with_originals(
    meanings: Meanings, originals: Mapping[int, AppliedBlock]
) -> dict[str, Target | None]:
    """Replace resent ADDs in the meanings by their existing items."""
    return {
        written: originals[target].item_id
        if isinstance(target, int) and target in originals
        else target
        for written, target in meanings.items()
    }


def are_unchanged(ids: Meanings) -> bool:
    """Return whether every ID refers to the item with that number."""
    return [*ids] == [*ids.values()]
