"""The search grammar: words, "phrases" and filters (explained in docs/search.md).

Reading never fails: a query that cannot be understood gives all that is wrong with it, at once.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_QUERY_BYTES, MOST_QUERY_TERMS
from brenner.mail.model import type_of
from brenner.mail.words import items_of, words_of
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME, ITEM_ID, MESSAGE_TYPES
from brenner.protocol.messages import Message, iso
from brenner.text import nearest, perhaps


class Query(NamedTuple):
    """What a search asks for; all of it must hold.

    `phrases` are runs of words that must stand together (a word is a run of one), each word as
    `words_of` gives it. The values of one filter are alternatives.
    """

    phrases: tuple[tuple[str, ...], ...] = ()
    types: tuple[str, ...] = ()
    senders: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    is_unread: bool = False
    needs_ack: bool = False
    before: datetime | None = None
    after: datetime | None = None


# A quotation mark inside of quotation marks is doubled. What word processors make of them counts.
_PIECE = re.compile(
    r'"(?P<quoted>(?:[^"]++|"")*+)(?P<end>"?)'
    r"|[“”„](?P<curly>[^“”]*+)(?P<curly_end>[“”]?)"
    r'|(?P<bare>[^\s"“”„]++)'
    r"|\s++"
)
_FILTER = re.compile(r"(-?[A-Za-z][A-Za-z_-]*):(.*)")
_BARE_VALUE = re.compile(r'[^\s",“”„]+')
_MOST_FAULTS = 50  # whoever made so many did not write a query
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


class _Piece(NamedTuple):
    """A part of a term: quoted, or as it stands."""

    text: str
    is_quoted: bool = False
    is_closed: bool = True


class _Choice(NamedTuple):
    """A filter whose values are alternatives; `read` gives None for what it cannot take."""

    read: Callable[[str], str | None]
    expected: str
    known: tuple[str, ...] = ()


def _one_of(*known: str) -> _Choice:
    values = {value.lower(): value for value in known}
    expected = ("one of " if len(known) > 1 else "") + ", ".join(f"`{value}`" for value in known)
    return _Choice(lambda written: values.get(written.lower()), expected, known)


def _sender(written: str) -> str | None:
    return written if AGENT_NAME.fullmatch(written) else None


def _thread(written: str) -> str | None:
    """Mail from elsewhere may have any thread ID; what no home can keep is none."""
    return None if _UNSTORABLE.search(written) else written


def _item(written: str) -> str | None:
    return written.upper() if ITEM_ID.fullmatch(written.upper()) else None


_CHOICES = {
    "type": _one_of(*MESSAGE_TYPES),
    "from": _Choice(_sender, "the name of an agent, such as `BlueLake`"),
    "thread": _Choice(_thread, "a thread ID, such as `RS-20251230-cell-fate`"),
    "item": _Choice(_item, "an item ID, such as `H2` or `RT`"),
    "is": _one_of("unread"),
    "needs": _one_of("ack"),
}
_TIMES = ("before", "after")
_TIME = "a date or a time in ISO 8601, such as `2026-11-15` or `2026-11-15T12:00Z`"
FILTERS = (*_CHOICES, *_TIMES)
# What other programs call them
_ELSEWHERE = {
    "author": "from",
    "by": "from",
    "sender": "from",
    "has": "needs",
    "in": "thread",
    "since": "after",
    "until": "before",
}


def parse_query(text: str) -> Query | tuple[Diagnostic, ...]:
    """What a text asks for, or everything that is wrong with it."""
    too_long = query_too_long(text)
    if too_long:
        return (too_long,)
    reader = _Reader()
    for term in _terms(text):
        reader.take(term)
        if len(reader.faults) >= _MOST_FAULTS:
            break
    if reader.faults:
        return tuple(dict.fromkeys(reader.faults))
    query = reader.query()
    if _terms_in(query) > MOST_QUERY_TERMS:
        return (codes.QUERY_TOO_LONG.at(most=f"{MOST_QUERY_TERMS} words and values of filters"),)
    return (codes.EMPTY_QUERY.at(),) if query == Query() else query


def query_too_long(text: str) -> Diagnostic | None:
    """Why a text is not even looked at."""
    if len(text) <= MOST_QUERY_BYTES and len(text.encode(errors="replace")) <= MOST_QUERY_BYTES:
        return None
    return codes.QUERY_TOO_LONG.at(most=f"{MOST_QUERY_BYTES} bytes")


def _terms_in(query: Query) -> int:
    """How many words and values have to be looked up."""
    chosen = (query.types, query.senders, query.threads, query.items)
    return sum(map(len, chosen)) + sum(map(len, query.phrases))


def _terms(text: str) -> Iterator[list[_Piece]]:
    """What stands between blanks, each term in its pieces."""
    term: list[_Piece] = []
    for match in _PIECE.finditer(text):
        if match["quoted"] is not None:
            term.append(_Piece(match["quoted"].replace('""', '"'), True, bool(match["end"])))
        elif match["curly"] is not None:
            term.append(_Piece(match["curly"], True, bool(match["curly_end"])))
        elif match["bare"] is not None:
            term.append(_Piece(match["bare"]))
        elif term:
            yield term
            term = []
    if term:
        yield term


class _Reader:
    """Takes the terms of a query one by one."""

    def __init__(self) -> None:
        self.phrases: dict[tuple[str, ...], None] = {}
        self.values: dict[str, dict[str, None]] = {name: {} for name in _CHOICES}
        self.times: dict[str, datetime] = {}
        self.faults: list[Diagnostic] = []

    def take(self, term: list[_Piece]) -> None:
        if not term[-1].is_closed:
            self.faults.append(codes.UNCLOSED_QUOTE.at())
        first, *others = term
        match = None if first.is_quoted else _FILTER.fullmatch(first.text)
        if match is None:
            self.phrases |= {tuple(words): None for each in term if (words := words_of(each.text))}
            return
        name, value = match[1].lower(), [_Piece(match[2]), *others]
        if name in _CHOICES:
            self._choose(name, value)
        elif name in _TIMES:
            self._set_time(name, "".join(each.text for each in value))
        else:
            suggestion = perhaps(_meant(name))
            self.faults.append(codes.UNKNOWN_FILTER.at(name=match[1], suggestion=suggestion))

    def _choose(self, name: str, value: list[_Piece]) -> None:
        for written in _alternatives(value):
            read = _CHOICES[name].read(written) if written.strip() else None
            if read is not None:
                self.values[name][read] = None
            elif len(self.faults) < _MOST_FAULTS:
                self._refuse(name, written)

    def _refuse(self, name: str, written: str) -> None:
        choice = _CHOICES[name]
        near = nearest(written, choice.known)
        expected = choice.expected
        if not written.strip():
            expected += ", with no blank before it"
        elif near and len(choice.known) > 1:
            expected += f", perhaps `{near}`"
        self.faults.append(
            codes.INVALID_FILTER_VALUE.at(
                filter=name, value=written, expected=expected, suggestion=perhaps(near)
            )
        )

    def _set_time(self, name: str, written: str) -> None:
        at = instant(written)
        if at is not None and at == self.times.setdefault(name, at):
            return
        expected = _TIME if at is None else "one date or time only"
        self.faults.append(
            codes.INVALID_FILTER_VALUE.at(filter=name, value=written, expected=expected)
        )

    def query(self) -> Query:
        """What all of them ask for together."""
        return Query(
            phrases=tuple(self.phrases),
            types=tuple(self.values["type"]),
            senders=tuple(self.values["from"]),
            threads=tuple(self.values["thread"]),
            items=tuple(self.values["item"]),
            is_unread=bool(self.values["is"]),
            needs_ack=bool(self.values["needs"]),
            before=self.times.get("before"),
            after=self.times.get("after"),
        )


def _alternatives(value: list[_Piece]) -> list[str]:
    """The values between the commas; a comma in quotation marks is part of a value."""
    values: list[list[str]] = [[]]
    for piece in value:
        first, *others = [piece.text] if piece.is_quoted else piece.text.split(",")
        values[-1].append(first)
        values += [[other] for other in others]
    return ["".join(parts) for parts in values]


def instant(written: str) -> datetime | None:
    """The start of a day, or a time; in UTC unless it says otherwise."""
    if not ISO_TIME.fullmatch(written.upper()):
        return None
    try:
        at = datetime.fromisoformat(written.upper())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # not in the calendar, or only in another zone
        return None


def _meant(name: str) -> str | None:
    """The filter that was probably meant."""
    if name.upper() in MESSAGE_TYPES:
        return f"type:{name.upper()}"
    known = _ELSEWHERE.get(name) or nearest(name, FILTERS)
    return f"{known}:" if known else None


def render_query(query: Query) -> str:
    """The query as a text that says the same."""
    chosen = {
        "type": query.types,
        "from": query.senders,
        "thread": query.threads,
        "item": query.items,
        "is": ("unread",) if query.is_unread else (),
        "needs": ("ack",) if query.needs_ack else (),
        "before": (iso(query.before),) if query.before else (),
        "after": (iso(query.after),) if query.after else (),
    }
    terms = [
        f"{name}:{','.join(map(_quoted, values))}" for name, values in chosen.items() if values
    ]
    return " ".join([*terms, *(_quoted(" ".join(phrase)) for phrase in query.phrases)])


def _quoted(value: str) -> str:
    if _BARE_VALUE.fullmatch(value):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


def matches(query: Query, message: Message, at: datetime) -> bool:
    """Whether a message is what was asked for, but for what only its readers' inboxes know."""
    return (
        (query.before is None or at < query.before)
        and (query.after is None or at >= query.after)
        and _is_chosen(query, message)
        and _says(query, message)
    )


def _is_chosen(query: Query, message: Message) -> bool:
    return (
        (not query.types or type_of(message) in query.types)
        and (not query.senders or message.sender in query.senders)
        and (not query.threads or message.thread_id in query.threads)
    )


def _says(query: Query, message: Message) -> bool:
    """Whether subject or body name an item and have every phrase, each whole in one of the two."""
    parts = (message.subject, message.body)
    if query.items and not any(item in query.items for part in parts for item in items_of(part)):
        return False
    if not query.phrases:
        return True
    words = "\n".join(f" {' '.join(words_of(part))} " for part in parts)
    return all(f" {' '.join(phrase)} " in words for phrase in query.phrases)
