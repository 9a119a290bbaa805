"""Messages as pages show them: body, delta blocks with their outcomes, place in the thread,
deliveries and ACKs.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from brenner.artifact.diff import describe_block, describe_outcome
from brenner.artifact.html import lines_html
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.diagnostics.repeats import group_blocks, numbered
from brenner.diagnostics.truncate import truncate_for_message
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Delivery, delivery_json, stored_json
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import find_section, parse_sections
from brenner.protocol.delta.parse import may_contain_strays, read_blocks
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import ACK, COMPILED, DELTA
from brenner.protocol.messages import StoredMessage, iso
from brenner.protocol.subjects import parse_subject
from brenner.session.versions import ignored_blocks_in
from brenner.text import cut
from brenner.web import links
from brenner.web.compare import version_before
from brenner.web.contributions import sentences
from brenner.web.markdown import MAX_COST, plain_words, typeset_cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.session.model import OpenAck
    from brenner.session.refused_blocks import BlockPosition
    from brenner.web.request import Document, RequestContext
    from brenner.web.sessions import Session

# Delta blocks with their outcomes


_IGNORED, _UNKNOWN = "aside", "unknown"
_NOT_CONTRIBUTED = "ignored"
_TAKEN_AS_READ = "in a version that another program compiled"


def block_outcomes(session: Session) -> Mapping[int, Mapping[int, tuple[int | None, Entry]]]:
    """Return the outcomes of all blocks, by message and block: the version that has read it (None
    if none has), and its actual or expected ledger entry.
    """
    found: dict[int, dict[int, tuple[int | None, Entry]]] = {}
    for number in sorted(session.ledgers):
        for entry in session.ledgers[number].entries:
            found.setdefault(entry.message_id, {})[entry.block] = (number, entry)
    for entry in session.unread_entries:
        found.setdefault(entry.message_id, {})[entry.block] = (None, entry)
    return found


NOT_REPEATED: dict[str, object] = {"same_as": None, "same": "", "repeats": 1}


def repeated_blocks(entries: Iterable[Entry]) -> Mapping[BlockPosition, dict[str, object]]:
    """Return the refused blocks with the same errors as others of their message.

    `same_as` is the first of them, for the others. The first has the others as text (`same`) and
    the number of all (`repeats`).
    """
    refused = [each for each in entries if each.state is BlockOutcome.REFUSED and each.diagnostics]
    found: dict[BlockPosition, dict[str, object]] = {}
    for first, *others in group_blocks(refused):
        if others:
            same = numbered("block", (each.block for each in others))
            keys = {"same": same, "repeats": len(others) + 1}
            found[first.message_id, first.block] = {**NOT_REPEATED, **keys}
        for each in others:
            found[each.message_id, each.block] = {**NOT_REPEATED, "same_as": first.block}
    return found


def message_blocks(
    session: Session, stored: StoredMessage, found: list[Block], *, most: int, most_sent: int
) -> dict[str, Any]:
    """Return the blocks of one message, with counts of all of them and stray blocks.

    If there are too many, keep the refused ones first.
    """
    if "delta" not in stored.message.body:
        return _blocks_document([], 0, {}, _strays(stored, found))
    if stored.type != DELTA.name:
        return _ignored_blocks(stored, found, most, most_sent)
    read = read_blocks(found, stored.message.thread_id)
    outcomes = session.cached(block_outcomes).get(stored.id, {})
    states = {
        block.number: outcomes[block.number][1].state.value
        if block.number in outcomes
        else _UNKNOWN
        for block in read
    }
    refused_first = sorted(read, key=lambda each: states[each.number] != BlockOutcome.REFUSED)
    chosen = {block.number for block in refused_first[:most]}
    repeated = repeated_blocks(entry for number, (_, entry) in outcomes.items() if number in chosen)
    shown = [
        _block_text(block, most_sent)
        | _outcome_document(session, stored.id, block.number, outcomes.get(block.number))
        | repeated.get((stored.id, block.number), NOT_REPEATED)
        for block in read
        if block.number in chosen
    ]
    counted = Counter(states.values())
    counts = {state: counted[state] for state in dict.fromkeys((*BlockOutcome, *states.values()))}
    return _blocks_document(shown, len(read), counts, _strays(stored, found))


def _blocks_document(
    shown: Sequence[Document], total: int, counts: Mapping[str, int], faults: Sequence[Document]
) -> dict[str, Any]:
    return {"blocks": shown, "blocks_total": total, "block_counts": counts, "faults": faults}


def _outcome_document(
    session: Session, message_id: int, block: int, outcome: tuple[int | None, Entry] | None
) -> dict[str, object]:
    """Return the keys of the ledger, and the outcome in words."""
    if outcome is None:
        return {"state": _UNKNOWN, "version": None, "outcome": _TAKEN_AS_READ}
    version, entry = outcome
    settled = session.resolved.get((message_id, block))
    return {
        **entry.to_json(),
        "violations": [found.to_json() for found in sorted(entry.diagnostics, key=worst_first)],
        "version": version,
        "words": describe_block(entry),
        "outcome": describe_outcome(entry, is_read=version is not None),
        "settled": {"how": settled[0], "message_id": settled[1]} if settled else None,
    }


def _block_text(block: DeltaBlock, most: int) -> dict[str, object]:
    """Return what the author wrote, as it was sent if it is no JSON object."""
    value = block.value if isinstance(block.value, dict) else {}
    text = block.fence.text
    is_small = len(text) <= most
    words = [block.written(key) for key in ("operation", "target_id", "section")]
    return {
        "block": block.number,
        "line": block.line,
        "item_id": None,
        "words": " ".join(filter(None, words)) or "unreadable",
        "violations": [],
        "settled": None,
        "payload": value.get("payload") if is_small else None,
        "rationale": block.written("rationale") if is_small else None,
        "local_id": block.written("local_id"),
        "sent": text[:most],
        "sent_is_cut": not is_small,
    }


def _ignored_blocks(
    stored: StoredMessage, found: list[Block], most: int, most_sent: int
) -> dict[str, Any]:
    """Return the blocks of a message that is no DELTA. Each says that it contributes nothing."""
    words = [found for _, found in ignored_blocks_in(stored)]
    of_all = {"state": _IGNORED, "version": None, "outcome": _NOT_CONTRIBUTED}
    pairs = zip(read_blocks(found), words, strict=True)
    shown = [
        {**_block_text(block, most_sent), **of_all, "violations": [diagnostic.to_json()]}
        for block, diagnostic in islice(pairs, most)
    ]
    counts = {_IGNORED: len(words)} if words else {}
    return _blocks_document(shown, len(words), counts, [])


def _strays(stored: StoredMessage, found: list[Block]) -> list[Document]:
    """Return what looks like a contribution in a DELTA but is none."""
    return [each.to_json() for each in truncate_for_message(_stray_diagnostics(stored, found))]


def _stray_diagnostics(stored: StoredMessage, found: list[Block]) -> Iterator[Diagnostic]:
    if stored.type != DELTA.name or not may_contain_strays(stored.message.body, found):
        return
    from brenner.protocol.delta.stray import find_strays

    for stray in find_strays(stored.message.body, found):
        yield stray.diagnostic._replace(message_id=stored.id)


# Excerpts, shared sections, and ACKs in one line


_MAX_LINES, _MAX_CHARACTERS = 30, 2_400  # of a text that is not folded
_EXCERPT_LENGTH = 240
_MAX_EXCERPT_SOURCE = 400
# Sections of a COMPILED, CRITIQUE, BLOCKED or QUESTION that summarise it
_SUMMARY_SECTIONS = ("Summary", "Attack", "Blocker", "Question")
_SECTION_LEVEL = 2  # of the headings that split a message
_MAX_ACK = 400


def is_long(text: str) -> bool:
    return len(text) > _MAX_CHARACTERS or text.count("\n") > _MAX_LINES


def excerpt(found: list[Block]) -> str:
    """Return the first words of a text that are neither a heading nor code.

    A section that summarises the message is preferred.
    """
    found_sections = parse_sections(found)
    section = next(
        filter(None, (find_section(found_sections, name) for name in _SUMMARY_SECTIONS)), None
    )
    within = section.contents if section else found
    paragraphs = (
        each.text for each in within if each.kind is BlockKind.PARAGRAPH and each.text.strip()
    )
    words = plain_words(next(paragraphs, "")[:_MAX_EXCERPT_SOURCE])
    return cut(words, _EXCERPT_LENGTH)


def ack_summary(body: str) -> dict[str, str] | None:
    """Return the status and notes of an ACK, or None if one line would leave something out."""
    found = parse_blocks(body) if len(body) <= _MAX_ACK else []
    found_sections = parse_sections(found)
    status, notes = find_section(found_sections, "Status"), find_section(found_sections, "Notes")
    is_usual = {each.key for each in found_sections} <= {"message id", "status", "notes"}
    is_prose = all(each.kind in (BlockKind.HEADING, BlockKind.PARAGRAPH) for each in found)
    before = found[: next((n for n, each in enumerate(found) if each.level > 1), 0)]
    if status is None or not is_usual or not is_prose or any(not each.level for each in before):
        return None
    words = [each.text.strip() for each in notes.contents] if notes else []
    state = " ".join(each.text.strip() for each in status.contents)
    return {"status": state, "notes": " ".join(words)}


def split_sections(body: str) -> list[tuple[str, str]]:
    """Split a text at its headings of the first two levels: the title and the text of each section.

    The text before the first heading has no title. Joined, the sections are the text.
    """
    headings = [
        each
        for each in parse_blocks(body)
        if each.kind is BlockKind.HEADING and each.level <= _SECTION_LEVEL and not each.nested
    ]
    lines = [f"{line}\n" for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    starts = [0, *(each.line - 1 for each in headings), len(lines)]
    titles = ["", *(each.text.strip() for each in headings)]
    return [
        (name, "".join(lines[start:end]))
        for name, (start, end) in zip(titles, pairwise(starts), strict=True)
    ]


def shared_sections(body: str, first: str) -> list[str]:
    """Return the titles of the sections that two texts share word for word."""
    known = set(split_sections(first))
    return [each[0] for each in split_sections(body) if each in known and each[0]]


def own_sections(body: str, first: str) -> str:
    """Return the sections of a text that the first text does not have."""
    known = set(split_sections(first))
    return "".join(each[1] for each in split_sections(body) if each not in known)


def pretty_json(value: object) -> Markup:
    """Return a value as indented JSON, for `pre`."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return Markup(lines_html(text))  # noqa: S704  (escaped)


# Position in the thread: round, page, replies


MESSAGES_PER_PAGE = 100


def thread_positions(session: Session) -> Mapping[int, tuple[int, int]]:
    """Return the round of every message, and how many messages it has before it, by ID."""
    return {
        stored.id: (each.number, index)
        for each in session.rounds
        for index, stored in enumerate(each.messages)
    }


def messages_by_id(session: Session) -> Mapping[int, StoredMessage]:
    """Return every message by its ID, in the order of the thread."""
    return {each.id: each for each in session.stored}


def replies(session: Session) -> Mapping[int, Sequence[StoredMessage]]:
    """Return the replies to each message, in order. A copy of a message is not a reply to it."""
    known, found = session.cached(messages_by_id), dict[int, list[StoredMessage]]()
    for each in session.stored:
        if each.reply_to and each.reply_to in known and copy_of(session, each) is None:
            found.setdefault(each.reply_to, []).append(each)
    return found


def copy_of(session: Session, stored: StoredMessage) -> int | None:
    """Return the message that this one repeats: it replies to it and has the same content."""
    first = session.cached(messages_by_id).get(stored.reply_to or 0)
    return first.id if first and first.content_hash == stored.content_hash else None


def thread_address(session: Session, message_id: int) -> str | None:
    """Return the address of a message on the thread page, or None if it is in another thread."""
    position = session.cached(thread_positions).get(message_id)
    if position is None:
        return None
    number, before = position
    page = before // MESSAGES_PER_PAGE + 1
    asked = {"round": number, "page": page if page > 1 else None}
    return f"{links.session(session.thread_id, 'thread', **asked)}#m{message_id}"


def as_tree(messages: Sequence[StoredMessage]) -> Iterator[tuple[StoredMessage, int]]:
    """Yield the messages as a tree in preorder, each with its depth.

    A message that replies to none of those before it is a root.
    """
    below: dict[int | None, list[StoredMessage]] = {None: []}
    for each in messages:
        # Only earlier messages can be parents, so that no cycle is possible.
        parent = each.reply_to if each.reply_to in below else None
        below[parent].append(each)
        below[each.id] = []
    pending = [(each, 0) for each in reversed(below[None])]
    while pending:
        each, depth = pending.pop()
        yield each, depth
        pending += [(answer, depth + 1) for answer in reversed(below[each.id])]


_MIN_TEXT = 1_000  # of a message on a full page
_MIN_DENSE_TEXT = 300  # when the work budget of the page is used up
_MAX_EXCERPT_BODY = 10_000
# Characters of a body, and messages per session
_LONG_BODY, _MAX_LONG_CACHED = 100_000, 100


class MessageLimits(NamedTuple):
    """How much of each message is shown, and how much text of all of them together.

    `work` limits the typesetting of all of them, because the reader waits for it.
    """

    body: int
    blocks: int
    sent: int
    deliveries: int
    text: int
    work: int


ONE_OF_MANY = MessageLimits(
    body=20_000, blocks=40, sent=8_000, deliveries=20, text=400_000, work=3_000_000
)
ON_ITS_OWN_PAGE = MessageLimits(
    body=1_000_000, blocks=400, sent=60_000, deliveries=1_000, text=1_000_000, work=MAX_COST
)


class MessageDocuments:
    def __init__(self, session: Session, context: RequestContext, limits: MessageLimits) -> None:
        self._session, self._limits = session, limits
        self._mailbox, self._now = context.site.workspace.mailbox, context.now
        self._deadline = context.site.workspace.project.ack_deadline
        self._text_left, self._work_left = limits.text, limits.work
        self._items = session.cached(_item_ids)
        self._versions = {each.message_id: each.number for each in session.history.versions}
        self._rejected = session.cached(_rejected_versions)
        self._open_acks = session.cached(_open_acks)
        self.mentioned_items: dict[str, None] = {}  # items of the session that the texts mention

    def document(self, stored: StoredMessage, depth: int = 0) -> dict[str, object]:
        """Return one message. `depth` is its depth in the tree."""
        session, blocks = self._session, self._blocks(stored)
        answers = session.cached(replies).get(stored.id, ())
        number = self._versions.get(stored.id) if stored.type == COMPILED.name else None
        rejected = self._rejected.get(stored.id)
        return {
            **self._delivered(stored),
            **_subject(stored),
            "round": session.cached(thread_positions).get(stored.id, (None,))[0],
            "depth": depth,
            "version": number,
            "before": version_before(session, number) if number else None,
            "copy_of": copy_of(session, stored),
            "answers": self._link(stored.reply_to),
            "replies": [self._link(each.id) for each in answers[: self._limits.deliveries]],
            "replies_total": len(answers),
            "settles": [self._link(each) for each in stored.acknowledges],
            **blocks,
            "sentences": sentences(session, blocks["blocks"]) if stored.type == DELTA.name else [],
            "faults": [*([rejected.to_json()] if rejected else []), *blocks["faults"]],
            **self._text(stored, blocks["blocks"]),
            "address": thread_address(session, stored.id),
        }

    def _blocks(self, stored: StoredMessage) -> dict[str, Any]:
        """Return the blocks of a message. Those of a long one are cached, as it takes seconds."""
        kept = self._session.cached(_long_block_cache)
        key = (stored.id, self._limits.blocks)
        if key in kept:
            return kept[key]
        body, limits = stored.message.body, self._limits
        found = message_blocks(
            self._session, stored, parse_blocks(body), most=limits.blocks, most_sent=limits.sent
        )
        if len(body) > _LONG_BODY and len(kept) < _MAX_LONG_CACHED:
            kept[key] = found
        return found

    def _delivered(self, stored: StoredMessage) -> dict[str, object]:
        """Return the stable JSON with deliveries. Recipients who owe an ACK come first."""
        delivered = self._mailbox.deliveries(stored.id)
        shown = sorted(delivered, key=lambda each: not each.owes_ack)[: self._limits.deliveries]
        rows = [
            delivery_json(each)
            | {**self._late(stored, each), "ack": self._link(each.acknowledged_by)}
            for each in (delivered if len(shown) == len(delivered) else shown)
        ]
        return stored_json(stored) | {"deliveries": rows, "deliveries_total": len(delivered)}

    def _late(self, stored: StoredMessage, delivery: Delivery) -> dict[str, object]:
        owed = self._open_acks.get((delivery.recipient, stored.content_hash))
        if owed is None or not delivery.owes_ack or owed.is_sealed:
            return {"due": None, "overdue": False}
        due = owed.due(self._deadline)
        return {"due": iso(due), "overdue": due < self._now}

    def _text(self, stored: StoredMessage, blocks: Iterable[Document]) -> Document:
        """Return the body, or its beginning if the page has no room for more."""
        most = min(self._limits.body, max(self._text_left, _MIN_TEXT))
        if self._work_left <= 0:
            most = _MIN_DENSE_TEXT
        sent = sum(len(str(each["sent"])) for each in blocks)
        text = _text(stored, most, sent)
        shown = str(text["body"])
        named = (match[0] for match in ITEM_ID_IN_PROSE.finditer(shown))
        known = dict.fromkeys(each for each in named if each in self._items)
        self.mentioned_items |= known
        self._text_left -= len(shown)
        self._work_left -= typeset_cost(shown)
        return text

    def _link(self, message_id: int | None) -> Document | None:
        """Return the link to a message: in this thread, or to its own page."""
        if message_id is None:
            return None
        there = thread_address(self._session, message_id)
        return {"id": message_id, "address": there or links.message(message_id)}


def document_without_session(mailbox: Mailbox, stored: StoredMessage) -> dict[str, object]:
    """Return a message of a thread that is no session, with the same keys."""
    delivered = mailbox.deliveries(stored.id)[: ON_ITS_OWN_PAGE.deliveries]
    unknown = {"due": None, "overdue": False, "ack": None}
    reply = stored.reply_to
    return {
        **stored_json(stored),
        **_subject(stored),
        "deliveries": [delivery_json(each) | unknown for each in delivered],
        "deliveries_total": len(delivered),
        "round": None,
        "depth": 0,
        "version": None,
        "before": None,
        "copy_of": None,
        "settles": [],
        "answers": {"id": reply, "address": links.message(reply)} if reply else None,
        "replies": [],
        "replies_total": 0,
        "address": None,
        "blocks": [],
        "blocks_total": 0,
        "block_counts": {},
        "sentences": [],
        "faults": [],
        **_text(stored, ON_ITS_OWN_PAGE.body, 0),
    }


def no_read_marks(mailbox: Mailbox) -> str | None:
    """Return why the store cannot report who has read what, or None if it can."""
    return mailbox.lacks.get(Capability.READ_MARKS)


def _text(stored: StoredMessage, most: int, sent: int) -> Document:
    """Return the body up to a length. `sent` characters of it are blocks, which are folded."""
    body = stored.message.body
    folds = stored.type == COMPILED.name or is_long(body[: len(body) - sent])
    return {
        "body": body[:most],
        "body_is_cut": len(body) > most,
        "body_length": len(body),
        "lines": body.count("\n") + 1,
        "is_long": folds,
        "excerpt": excerpt(parse_blocks(body[:_MAX_EXCERPT_BODY])) if folds else None,
        "ack": ack_summary(body) if stored.type == ACK.name else None,
        "page": links.message(stored.id),
        "raw": links.message(stored.id, "raw"),
    }


def _subject(stored: StoredMessage) -> Document:
    """Return the subject without its prefix, which is shown as the type.

    `shown` also omits the thread ID at the end of a kickoff's subject.
    """
    subject = parse_subject(stored.message.subject)
    says = subject.description if subject else stored.message.subject
    return {
        "prefix": subject.prefix.removesuffix(":") if subject else None,
        "says": says,
        "shown": says.removesuffix(f"({stored.message.thread_id})").rstrip() or says,
    }


# Cached per state of a session


def _long_block_cache(_session: Session) -> dict[tuple[int, int], dict[str, Any]]:
    """Return an empty cache for the blocks of long messages, by message and limit."""
    return {}


def _item_ids(session: Session) -> frozenset[str]:
    """Return the item IDs of the latest version, including killed items."""
    return frozenset(item.id for _, item in session.history.state.artifact.all_items())


def _rejected_versions(session: Session) -> Mapping[int, Diagnostic]:
    """Return why COMPILED messages are no version, by their IDs."""
    found = {each.message_id: each for each in session.history.others() if each.message_id}
    unsound = session.history.broken_version_error
    return found | ({unsound.message_id: unsound} if unsound and unsound.message_id else {})


def _open_acks(session: Session) -> Mapping[tuple[str, str], OpenAck]:
    contents = {each.id: each.content_hash for each in session.stored}
    return {(each.debtor, contents[each.message_id]): each for each in session.status.open_acks}
