"""Messages as pages show them: the stable form of the mail, and what the thread says about each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from markupsafe import Markup

from brenner.artifact.diff import block_words, outcome_words
from brenner.artifact.html import lines_html
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.diagnostics.truncate import of_message
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Delivery, StoredMessage, delivery_json, stored_json
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.protocol.body import find_section, sections
from brenner.protocol.delta.parse import could_hold_strays, read_blocks
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import ACK, COMPILED, DELTA
from brenner.protocol.messages import iso
from brenner.protocol.subjects import parse_subject
from brenner.services.version_store import filed
from brenner.session.model import OpenAck
from brenner.session.versions import asides_of
from brenner.text import cut
from brenner.web import links
from brenner.web.compare import before
from brenner.web.markdown import MOST_WORK, words_of, work_of
from brenner.web.request import Document, RequestContext
from brenner.web.sessions import Session

# The delta blocks of a message, and what became of each: the ledger, seen from its mail.


_ASIDE, _UNKNOWN = "aside", "unknown"
_NOT_CONTRIBUTED = "no contribution"
_TAKEN_AS_READ = "taken as read, with a version that another program compiled"


class Fate(NamedTuple):
    """What became of a block, and the version that has read it; None where none has."""

    version: int | None
    entry: Entry


class Blocks(NamedTuple):
    """The blocks of a message that are shown, and what is to be said of the others."""

    shown: Sequence[Document]
    total: int
    counts: Mapping[str, int]
    faults: list[Document]


def fates(session: Session) -> Mapping[int, Sequence[Fate]]:
    """What became of the blocks of every message, or would become of them."""
    found: dict[int, list[Fate]] = {}
    for number in sorted(session.ledgers):
        for entry in session.ledgers[number].entries:
            found.setdefault(entry.message_id, []).append(Fate(number, entry))
    for entry in session.expected:
        found.setdefault(entry.message_id, []).append(Fate(None, entry))
    return found


def blocks_of(
    session: Session, stored: StoredMessage, found: list[Block], *, most: int, most_sent: int
) -> Blocks:
    """Those of one message; of many, the refused ones before all others."""
    if "delta" not in stored.message.body:
        return Blocks([], 0, {}, _strays(stored, found))
    if stored.type != DELTA.name:
        return _asides(stored, found, most, most_sent)
    read = read_blocks(found, stored.message.thread_id)
    known = {fate.entry.block: fate for fate in session.once(fates).get(stored.id, ())}
    row = _Rows(session, stored, known, most_sent)
    ordered = sorted(read, key=lambda block: not row.is_refused(block))[:most]
    shown = [row.of(block) for block in sorted(ordered, key=lambda block: block.number)]
    states = [row.state(block) for block in read]
    counts = {state: states.count(state) for state in dict.fromkeys((*Outcome, *states))}
    return Blocks(shown, len(read), counts, _strays(stored, found))


class _Rows:
    """The blocks of one message as documents."""

    def __init__(
        self, session: Session, stored: StoredMessage, known: Mapping[int, Fate], most_sent: int
    ) -> None:
        self._session, self._stored = session, stored
        self._known, self._most = known, most_sent

    def state(self, block: DeltaBlock) -> str:
        """How it ended, in a word."""
        fate = self._known.get(block.number)
        return fate.entry.state.value if fate else _UNKNOWN

    def is_refused(self, block: DeltaBlock) -> bool:
        """Whether somebody may have to do something about it."""
        return self.state(block) == Outcome.REFUSED

    def of(self, block: DeltaBlock) -> Document:
        """The keys of the ledger, what was written, and what to say of it."""
        fate = self._known.get(block.number)
        row = dict(_written(block, self._most))
        if fate is None:
            return row | {"state": _UNKNOWN, "version": None, "outcome": _TAKEN_AS_READ}
        faults = sorted(fate.entry.diagnostics, key=worst_first)
        settled = self._session.settled.get((self._stored.id, block.number))
        return row | {
            **fate.entry.to_json(),
            "violations": [found.to_json() for found in faults],
            "version": fate.version,
            "words": block_words(fate.entry),
            "outcome": outcome_words(fate.entry, is_read=fate.version is not None),
            "settled": settled._asdict() if settled else None,
        }


def _written(block: DeltaBlock, most: int) -> Document:
    """What its author wrote; the text as it was sent where it is no JSON object."""
    value = block.value if isinstance(block.value, dict) else {}
    text = block.fence.text
    is_small = len(text) <= most
    said = [block.written(key) for key in ("operation", "target_id", "section")]
    return {
        "block": block.number,
        "line": block.line,
        "item_id": None,
        "words": " ".join(filter(None, said)) or "not readable",
        "violations": [],
        "settled": None,
        "payload": value.get("payload") if is_small else None,
        "rationale": block.written("rationale") if is_small else None,
        "local_id": block.written("local_id"),
        "sent": text[:most],
        "sent_is_cut": not is_small,
    }


def _asides(stored: StoredMessage, found: list[Block], most: int, most_sent: int) -> Blocks:
    """Blocks in a message that is no DELTA contribute nothing, and that is said of each."""
    said = [each.diagnostic for each in asides_of(filed(stored))]
    of_all = {"state": _ASIDE, "version": None, "outcome": _NOT_CONTRIBUTED}
    pairs = zip(read_blocks(found), said, strict=True)
    shown = [
        {**_written(block, most_sent), **of_all, "violations": [diagnostic.to_json()]}
        for block, diagnostic in islice(pairs, most)
    ]
    return Blocks(shown, len(said), {_ASIDE: len(said)} if said else {}, [])


def _strays(stored: StoredMessage, found: list[Block]) -> list[Document]:
    """What looks like a contribution in a DELTA, and is none."""
    return [each.to_json() for each in of_message(_stray_diagnostics(stored, found))]


def _stray_diagnostics(stored: StoredMessage, found: list[Block]) -> Iterator[Diagnostic]:
    if stored.type != DELTA.name or not could_hold_strays(stored.message.body, found):
        return
    from brenner.protocol.delta.stray import find_strays

    for each in find_strays(stored.message.body, found):
        yield each.diagnostic._replace(message_id=stored.id)


# What is shown of a long text first, what two letters share, and what an ACK says in a line.


_MOST_LINES, _MOST_CHARACTERS = 30, 2_400  # of a text that is not folded
_EXCERPT = 240
_MOST_LOOKED_AT = 400
# The sections of a COMPILED, CRITIQUE, BLOCKED or QUESTION that say what it is about
_TELLING = ("Summary", "Attack", "Blocker", "Question")
_CHAPTER = 2  # the level of headings that part a letter
_MOST_ACK = 400


class Acknowledged(NamedTuple):
    """What an ACK says, where it says no more than that."""

    status: str
    notes: str


def is_long(text: str) -> bool:
    """Whether a text is folded where many stand below each other."""
    return len(text) > _MOST_CHARACTERS or text.count("\n") > _MOST_LINES


def excerpt(found: list[Block]) -> str:
    """The first words of a text that are neither a heading nor code; where it says what matters,
    of that.
    """
    under = sections(found)
    told = next(filter(None, (find_section(under, name) for name in _TELLING)), None)
    within = told.contents if told else found
    paragraphs = (each.text for each in within if each.kind is Kind.PARAGRAPH and each.text.strip())
    words = words_of(next(paragraphs, "")[:_MOST_LOOKED_AT])
    return cut(words, _EXCERPT)


def acknowledged(body: str) -> Acknowledged | None:
    """An ACK that fits in a line; None where it says anything that the line would leave out."""
    found = blocks(body) if len(body) <= _MOST_ACK else []
    under = sections(found)
    status, notes = find_section(under, "Status"), find_section(under, "Notes")
    is_usual = {each.key for each in under} <= {"message id", "status", "notes"}
    is_prose = all(each.kind in (Kind.HEADING, Kind.PARAGRAPH) for each in found)
    before = found[: next((n for n, each in enumerate(found) if each.level > 1), 0)]
    if status is None or not is_usual or not is_prose or any(not each.level for each in before):
        return None
    said = [each.text.strip() for each in notes.contents] if notes else []
    return Acknowledged(" ".join(each.text.strip() for each in status.contents), " ".join(said))


class Chapter(NamedTuple):
    """A heading with all that stands under it; what stands before the first has no title."""

    title: str
    text: str


def chapters(body: str) -> list[Chapter]:
    """A text by its headings of the first two levels; together they are the text."""
    headings = [
        each
        for each in blocks(body)
        if each.kind is Kind.HEADING and each.level <= _CHAPTER and not each.nested
    ]
    lines = [f"{line}\n" for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    starts = [0, *(each.line - 1 for each in headings), len(lines)]
    titles = ["", *(each.text.strip() for each in headings)]
    return [
        Chapter(name, "".join(lines[start:end]))
        for name, (start, end) in zip(titles, pairwise(starts), strict=True)
    ]


def shared(body: str, first: str) -> list[str]:
    """The titles of what two texts have in common, word for word."""
    known = set(chapters(first))
    return [each.title for each in chapters(body) if each in known and each.title]


def own_part(body: str, first: str) -> str:
    """What a text has that the first has not."""
    known = set(chapters(first))
    return "".join(each.text for each in chapters(body) if each not in known)


def formatted(value: object) -> Markup:
    """A value as JSON that one can read, for `pre`."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return Markup(lines_html(text))  # noqa: S704  (escaped)


# Where messages stand in their thread: in which round, on which page, under what they answer.


ON_A_PAGE = 100  # messages


class Place(NamedTuple):
    """The round of a message, and how many of the round stand before it."""

    round: int
    before: int


def places(session: Session) -> Mapping[int, Place]:
    """The place of every message, by its number."""
    return {
        filed.posted.id: Place(each.number, index)
        for each in session.rounds
        for index, filed in enumerate(each.messages)
    }


def by_number(session: Session) -> Mapping[int, StoredMessage]:
    """Every message by its number, in the order of the thread."""
    return {each.id: each for each in session.stored}


def replies(session: Session) -> Mapping[int, Sequence[StoredMessage]]:
    """What answers each message, in order; a copy of it answers nothing."""
    known, found = session.once(by_number), dict[int, list[StoredMessage]]()
    for each in session.stored:
        if each.reply_to and each.reply_to in known and copied(session, each) is None:
            found.setdefault(each.reply_to, []).append(each)
    return found


def copied(session: Session, stored: StoredMessage) -> int | None:
    """The message that this one repeats: it names it, and is the same."""
    first = session.once(by_number).get(stored.reply_to or 0)
    return first.id if first and first.content_hash == stored.content_hash else None


def address(session: Session, message_id: int) -> str | None:
    """Where the thread's page shows a message; None where it is not in this thread."""
    place = session.once(places).get(message_id)
    if place is None:
        return None
    page = place.before // ON_A_PAGE + 1
    asked = {"round": place.round, "page": page if page > 1 else None}
    return f"{links.session(session.thread_id, 'thread', **asked)}#m{message_id}"


def as_tree(messages: Sequence[StoredMessage]) -> Iterator[tuple[StoredMessage, int]]:
    """The messages, each before what answers it, and how deep it stands.

    What answers none of those before it is a root.
    """
    below: dict[int | None, list[StoredMessage]] = {None: []}
    for each in messages:
        # Only what stands before it can be answered, so that no circle comes about
        parent = each.reply_to if each.reply_to in below else None
        below[parent].append(each)
        below[each.id] = []
    waiting = [(each, 0) for each in reversed(below[None])]
    while waiting:
        each, depth = waiting.pop()
        yield each, depth
        waiting += [(answer, depth + 1) for answer in reversed(below[each.id])]


_LEAST_TEXT = 1_000  # of a message on a page that is full
_LEAST_DENSE = 300  # where the page is full of marks
_MOST_READ = 10_000  # for an excerpt
_LONG, _MOST_LONG = 100_000, 100  # characters of a body, and how many such are remembered


class Limits(NamedTuple):
    """How much of each message is shown, and how much text of all of them together.

    `work` is what it may take to typeset them: the one who reads waits for it.
    """

    body: int
    blocks: int
    sent: int
    deliveries: int
    text: int
    work: int


ONE_OF_MANY = Limits(
    body=20_000, blocks=40, sent=8_000, deliveries=20, text=400_000, work=1_500_000
)
ALONE = Limits(
    body=1_000_000, blocks=400, sent=60_000, deliveries=1_000, text=1_000_000, work=MOST_WORK
)


class Messages:
    """Makes the documents of messages of one session, for one page."""

    def __init__(self, session: Session, visit: RequestContext, limits: Limits) -> None:
        self._session, self._limits = session, limits
        self._mailbox, self._now = visit.site.workspace.mailbox, visit.now
        self._deadline = visit.site.workspace.project.ack_deadline
        self._room, self._work = limits.text, limits.work
        self._items = session.once(_items)
        self._versions = {each.message_id: each.number for each in session.history.versions}
        self._no_versions = session.once(_no_versions)
        self._owed = session.once(_owed)
        self.known: dict[str, None] = {}  # the items of the session that the texts speak of

    def document(self, stored: StoredMessage, depth: int = 0) -> dict[str, object]:
        """One message; `depth` is how deep it stands in the tree."""
        session, of_blocks = self._session, self._blocks(stored)
        place = session.once(places).get(stored.id)
        return {
            **self._delivered(stored),
            **_subject(stored),
            "round": place.round if place else None,
            "depth": depth,
            **self._version(stored),
            "copy_of": copied(session, stored),
            "answers": self._link(stored.reply_to),
            "replies": self._links(session.once(replies).get(stored.id, ())),
            "replies_total": len(session.once(replies).get(stored.id, ())),
            "settles": [self._link(each) for each in stored.acknowledges],
            **self._said_of(stored, of_blocks),
            **self._text(stored, of_blocks),
            "address": address(session, stored.id),
        }

    def _blocks(self, stored: StoredMessage) -> Blocks:
        """The delta blocks of a message; to find those of a long one takes seconds, once."""
        kept = self._session.once(_long_ones)
        key = (stored.id, self._limits.blocks)
        if key in kept:
            return kept[key]
        body, limits = stored.message.body, self._limits
        found = blocks_of(
            self._session, stored, blocks(body), most=limits.blocks, most_sent=limits.sent
        )
        if len(body) > _LONG and len(kept) < _MOST_LONG:
            kept[key] = found
        return found

    def _delivered(self, stored: StoredMessage) -> dict[str, object]:
        """The stable form, with what is late; of many recipients, those who owe something first."""
        delivered = self._mailbox.deliveries(stored.id)
        shown = sorted(delivered, key=lambda each: not each.owes_ack)[: self._limits.deliveries]
        rows = [
            delivery_json(each)
            | {**self._late(stored, each), "ack": self._link(each.acknowledged_by)}
            for each in (delivered if len(shown) == len(delivered) else shown)
        ]
        return stored_json(stored) | {"deliveries": rows, "deliveries_total": len(delivered)}

    def _version(self, stored: StoredMessage) -> dict[str, object]:
        """Which version a COMPILED message is, and which was there before it."""
        number = self._versions.get(stored.id) if stored.type == COMPILED.name else None
        return {"version": number, "before": before(self._session, number) if number else None}

    def _late(self, stored: StoredMessage, delivery: Delivery) -> dict[str, object]:
        owed = self._owed.get((delivery.recipient, stored.content_hash))
        if owed is None or not delivery.owes_ack:
            return {"due": None, "overdue": False}
        due = owed.due(self._deadline)
        return {"due": iso(due), "overdue": due < self._now}

    def _said_of(self, stored: StoredMessage, of_blocks: Blocks) -> Document:
        no_version = self._no_versions.get(stored.id)
        faults = [no_version.to_json()] if no_version else []
        return {
            "blocks": list(of_blocks.shown),
            "blocks_total": of_blocks.total,
            "block_counts": dict(of_blocks.counts),
            "faults": [*faults, *of_blocks.faults],
        }

    def _text(self, stored: StoredMessage, of_blocks: Blocks) -> Document:
        """The body, or its beginning where the page has no room for more."""
        most = min(self._limits.body, max(self._room, _LEAST_TEXT))
        if self._work <= 0:
            most = _LEAST_DENSE
        sent = sum(len(str(each["sent"])) for each in of_blocks.shown)
        text = _text(stored, most, sent)
        shown = str(text["body"])
        named = (match[0] for match in ITEM_ID_IN_PROSE.finditer(shown))
        known = dict.fromkeys(each for each in named if each in self._items)
        self.known |= known
        self._room -= len(shown)
        self._work -= work_of(shown, self._session.thread_id, known, of_blocks.shown)
        return text

    def _links(self, found: Sequence[StoredMessage]) -> list[Document | None]:
        return [self._link(each.id) for each in found[: self._limits.deliveries]]

    def _link(self, message_id: int | None) -> Document | None:
        """A message of this thread, as one names it in a line."""
        if message_id is None:
            return None
        there = address(self._session, message_id)
        return {"id": message_id, "address": there or links.message(message_id)}


def plain_document(mailbox: Mailbox, stored: StoredMessage) -> dict[str, object]:
    """A message of a thread that is no session of ours, with the same keys."""
    delivered = mailbox.deliveries(stored.id)[: ALONE.deliveries]
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
        "faults": [],
        **_text(stored, ALONE.body, 0),
    }


def read_marks(mailbox: Mailbox) -> str | None:
    """Why nobody can tell who has read what; None where it can be told."""
    return mailbox.lacks.get(Capability.READ_MARKS)


def _text(stored: StoredMessage, most: int, sent: int) -> Document:
    """The body up to a length; so many characters of it are blocks, which fold by themselves."""
    body = stored.message.body
    ack = acknowledged(body) if stored.type == ACK.name else None
    folds = stored.type == COMPILED.name or is_long(body[: len(body) - sent])
    return {
        "body": body[:most],
        "body_is_cut": len(body) > most,
        "body_length": len(body),
        "lines": body.count("\n") + 1,
        "is_long": folds,
        "excerpt": excerpt(blocks(body[:_MOST_READ])) if folds else None,
        "ack": ack._asdict() if ack else None,
        "page": links.message(stored.id),
        "raw": links.message(stored.id, "raw"),
    }


def _subject(stored: StoredMessage) -> Document:
    """The subject, its prefix aside: that is shown as the type.

    A kickoff names its session at the end; where it is `shown`, that is known.
    """
    subject = parse_subject(stored.message.subject)
    says = subject.description if subject else stored.message.subject
    return {
        "prefix": subject.prefix.removesuffix(":") if subject else None,
        "says": says,
        "shown": says.removesuffix(f"({stored.message.thread_id})").rstrip() or says,
    }


# What is worked out once for each state of a session


def _long_ones(_session: Session) -> dict[tuple[int, int], Blocks]:
    """The blocks of long messages, by the message and how many are shown; filled as one reads."""
    return {}


def _items(session: Session) -> frozenset[str]:
    """The IDs of the latest version, killed items among them."""
    return frozenset(item.id for _, item in session.history.state.artifact.all_items())


def _no_versions(session: Session) -> Mapping[int, Diagnostic]:
    """Why COMPILED messages are no version, by their numbers."""
    found = {each.message_id: each for each in session.history.others() if each.message_id}
    unsound = session.history.unsound
    return found | ({unsound.message_id: unsound} if unsound and unsound.message_id else {})


def _owed(session: Session) -> Mapping[tuple[str, str], OpenAck]:
    """The ACKs that are owed, by the debtor and the content."""
    contents = {each.id: each.content_hash for each in session.stored}
    return {(each.debtor, contents[each.message_id]): each for each in session.status.open_acks}
