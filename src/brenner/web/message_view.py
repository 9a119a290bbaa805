"""Messages as pages show them: the stable form of the mail, and what the thread says about each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import Delivery, Stored, delivery_json, stored_json
from brenner.markdown.blocks import blocks
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import ACK, COMPILED
from brenner.protocol.messages import iso
from brenner.protocol.subjects import parse_subject
from brenner.session.model import OpenAck
from brenner.web import links
from brenner.web.comparing import before
from brenner.web.markdown_html import work_of
from brenner.web.markdown_work import MOST_WORK
from brenner.web.message_blocks import Blocks, blocks_of
from brenner.web.message_text import acknowledged, excerpt, is_long
from brenner.web.page import Document
from brenner.web.reading import Session
from brenner.web.thread_order import address, copied, places, replies
from brenner.web.visit import Visit

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

    def __init__(self, session: Session, visit: Visit, limits: Limits) -> None:
        self._session, self._limits = session, limits
        self._mailbox, self._now = visit.site.desk.mailbox, visit.now
        self._deadline = visit.site.desk.project.ack_deadline
        self._room, self._work = limits.text, limits.work
        self._items = session.once(_items)
        self._versions = {each.message_id: each.number for each in session.chain.versions}
        self._no_versions = session.once(_no_versions)
        self._owed = session.once(_owed)
        self.known: dict[str, None] = {}  # the items of the session that the texts speak of

    def document(self, stored: Stored, depth: int = 0) -> dict[str, object]:
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

    def _blocks(self, stored: Stored) -> Blocks:
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

    def _delivered(self, stored: Stored) -> dict[str, object]:
        """The stable form, with what is late; of many recipients, those who owe something first."""
        delivered = self._mailbox.deliveries(stored.id)
        shown = sorted(delivered, key=lambda each: not each.owes_ack)[: self._limits.deliveries]
        rows = [
            delivery_json(each)
            | {**self._late(stored, each), "ack": self._link(each.acknowledged_by)}
            for each in (delivered if len(shown) == len(delivered) else shown)
        ]
        return stored_json(stored) | {"deliveries": rows, "deliveries_total": len(delivered)}

    def _version(self, stored: Stored) -> dict[str, object]:
        """Which version a COMPILED message is, and which was there before it."""
        number = self._versions.get(stored.id) if stored.type == COMPILED.name else None
        return {"version": number, "before": before(self._session, number) if number else None}

    def _late(self, stored: Stored, delivery: Delivery) -> dict[str, object]:
        owed = self._owed.get((delivery.recipient, stored.content_hash))
        if owed is None or not delivery.owes_ack:
            return {"due": None, "overdue": False}
        due = owed.due(self._deadline)
        return {"due": iso(due), "overdue": due < self._now}

    def _said_of(self, stored: Stored, of_blocks: Blocks) -> Document:
        no_version = self._no_versions.get(stored.id)
        faults = [no_version.to_json()] if no_version else []
        return {
            "blocks": list(of_blocks.shown),
            "blocks_total": of_blocks.total,
            "block_counts": dict(of_blocks.counts),
            "faults": [*faults, *of_blocks.faults],
        }

    def _text(self, stored: Stored, of_blocks: Blocks) -> Document:
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

    def _links(self, found: Sequence[Stored]) -> list[Document | None]:
        return [self._link(each.id) for each in found[: self._limits.deliveries]]

    def _link(self, message_id: int | None) -> Document | None:
        """A message of this thread, as one names it in a line."""
        if message_id is None:
            return None
        there = address(self._session, message_id)
        return {"id": message_id, "address": there or links.message(message_id)}


def plain_document(mailbox: Mailbox, stored: Stored) -> dict[str, object]:
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
    return mailbox.lacks.get(Ability.READ_MARKS)


def _text(stored: Stored, most: int, sent: int) -> Document:
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


def _subject(stored: Stored) -> Document:
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
    return frozenset(item.id for _, item in session.chain.state.artifact.all_items())


def _no_versions(session: Session) -> Mapping[int, Diagnostic]:
    """Why COMPILED messages are no version, by their numbers."""
    found = {each.message_id: each for each in session.chain.others() if each.message_id}
    unsound = session.chain.unsound
    return found | ({unsound.message_id: unsound} if unsound and unsound.message_id else {})


def _owed(session: Session) -> Mapping[tuple[str, str], OpenAck]:
    """The ACKs that are owed, by the debtor and the content."""
    contents = {each.id: each.content_hash for each in session.stored}
    return {(each.debtor, contents[each.message_id]): each for each in session.status.open_acks}
