"""The search grammar: words, "phrases" and filters (explained in docs/search.md).

Reading never fails: a query that cannot be understood gives all that is wrong with it, at once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_QUERY_BYTES, MOST_QUERY_TERMS
from brenner.mail.model import type_of
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME, ITEM_ID, ITEM_IN_MAIL, MESSAGE_TYPES
from brenner.protocol.messages import Message, iso
from brenner.text import closest, did_you_mean

# The words of a text: what every home indexes, and what a search is compared with.
#
# A word holds letters and digits only, or is a section number such as `§42`. Nothing in it is a
# blank, a separator or syntax to any index. What does not count in reading does not count here:
# case, accents and other marks, hidden characters, the width and the style of a letter.


_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_BEYOND_ASCII = re.compile(r"([^\x00-\x7f]+)")
_SECTION_SIGN = re.compile(r"§([0-9]*)")
# Scripts without blanks between words: each letter is a word, so that any part of a text is found
# as a phrase. Thai, Lao, Burmese, Khmer, ideographs, kana.
_ALONE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f\u3005-\u3007\u3021-\u303c"
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U000116d0-\U000116ff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
_DROPPED = ("Mn", "Mc", "Me", "Cf")  # marks, and characters that only steer how others are shown
_ZERO_WIDTH_SPACE = "\u200b"  # the one hidden character that parts words
_IOTA_BELOW = "\u0345"  # a mark that would become a letter with its case
_FILLERS = "\u115f\u1160"  # letters by their category; nothing is seen of them
# Of what is longer (keys, images as text) each part is a word, and all of it a phrase: some indexes
# cut words of thousands of bytes, others refuse them.
_MOST_LETTERS = 500
_MOST_REMEMBERED = 1 << 14


def words_of(text: str) -> list[str]:
    """The words of a text, in order, repeated ones repeated. Linear in its length."""
    words = (text.translate(_ASCII) if text.isascii() else _folded(text)).split()
    if max(map(len, words), default=0) > _MOST_LETTERS:
        words = [part for word in words for part in _parts(word)]
    return words


def _parts(word: str) -> list[str]:
    return [word[at : at + _MOST_LETTERS] for at in range(0, len(word), _MOST_LETTERS)]


def items_of(text: str) -> list[str]:
    """The item IDs that stand in a text as whole words, each once, by name."""
    return sorted(set(ITEM_IN_MAIL.findall(text)))


def _folded(text: str) -> str:
    """The words with blanks between them, and nothing else."""
    runs = _BEYOND_ASCII.split(text)
    runs[::2] = [run.translate(_ASCII) for run in runs[::2]]
    runs[1::2] = ["".join(map(_folded_character, run)) for run in runs[1::2]]
    folded = "".join(runs)
    if "§" in folded:
        folded = _SECTION_SIGN.sub(lambda sign: f" {sign[0]} " if sign[1] else " ", folded)
    return folded


@lru_cache(_MOST_REMEMBERED)
def _folded_character(character: str) -> str:
    """What is left of a character that is not ASCII.

    Taken one by one, characters give what the whole text gives: only the order of marks depends on
    what stands beside them, and marks are dropped. Ordering long runs of them is what makes the
    normal form of a whole text take more than linear time.
    """
    letters = normalize("NFKD", character).replace(_IOTA_BELOW, "")
    return "".join(map(_compared, letters.casefold()))


def _compared(character: str) -> str:
    """A letter or a digit as it is; of everything else at most that it parts words."""
    if character in _FILLERS:
        return ""
    if character.isalnum():
        return f" {character} " if _ALONE.match(character) else character
    if character == "§":
        return character
    is_dropped = category(character) in _DROPPED and character != _ZERO_WIDTH_SPACE
    return "" if is_dropped else " "


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
            suggestion = did_you_mean(_meant(name))
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
        near = closest(written, choice.known)
        expected = choice.expected
        if not written.strip():
            expected += ", with no blank before it"
        elif near and len(choice.known) > 1:
            expected += f", perhaps `{near}`"
        self.faults.append(
            codes.INVALID_FILTER_VALUE.at(
                filter=name, value=written, expected=expected, suggestion=did_you_mean(near)
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
    known = _ELSEWHERE.get(name) or closest(name, FILTERS)
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


# The place in a body where the words of a search stand, on one line, with the words marked.


_MOST_LOOKED_AT = 50_000  # of a body; what stands beyond that has no excerpt
_MOST_COMPARED = 20  # words of a phrase
_BEFORE, _LONGEST = 30, 160
_BEFORE_CUT, _AFTER_CUT = "… ", " …"
_BLANKS = str.maketrans("\t\r", "  ")
_SESSION = re.compile(r"(?:RS|COORD)-[A-Za-z0-9-]+")
_TOKEN = re.compile(r"(?:[^\W_]|[\u0300-\u036f]|§(?=[0-9]))+")


class Part(NamedTuple):
    """A piece of a text, and whether it is what was looked for."""

    text: str
    is_found: bool = False


class _Word(NamedTuple):
    """A word as a search compares it, and where it stands."""

    word: str
    start: int
    end: int


def excerpt(body: str, phrases: Sequence[tuple[str, ...]]) -> list[Part]:
    """The line, or nothing where none of the words stands in the body (or far down in it)."""
    text = body[:_MOST_LOOKED_AT].translate(_BLANKS)
    found = _found(text, phrases)
    if not found:
        return []
    first, last = next((each for each in found if not _is_in_id(text, each)), found[0])
    line = text.rfind("\n", 0, first) + 1
    start = line if first - line <= _BEFORE else text.rfind(" ", 0, first - _BEFORE + 1) + 1
    start = start if start >= line else first
    following = text.find("\n", last)
    end = min(len(text) if following < 0 else following, max(last, start + _LONGEST))
    is_cut = end < len(text) and text[end] != "\n"
    *parts, rest = _excerpt_parts(text, found, start, end)
    parts = [Part(_BEFORE_CUT * (start > line)), *parts, Part(rest.text + _AFTER_CUT * is_cut)]
    return [part._replace(text=part.text.replace("\n", " ")) for part in parts]


def _is_in_id(text: str, place: tuple[int, int]) -> bool:
    """Whether it is a word of the name of a session, which tells nothing of what is said."""
    start = max(text.rfind(each, 0, place[0]) for each in " \n") + 1
    name = _SESSION.search(text, start, place[1] + _LONGEST)
    return name is not None and name.start() <= place[0] and place[1] <= name.end()


def marked(line: str, phrases: Sequence[tuple[str, ...]]) -> list[Part]:
    """A whole line, such as a subject, with the words marked that stand in it."""
    text = line[:_MOST_LOOKED_AT]
    *parts, rest = _excerpt_parts(text, _found(text, phrases), 0, len(text))
    parts.append(Part(rest.text + line[_MOST_LOOKED_AT:]))
    return [part for part in parts if part.text]


def _excerpt_parts(text: str, found: Iterable[tuple[int, int]], start: int, end: int) -> list[Part]:
    """The text from one place to another; what stands before, between and after what was found."""
    parts = []
    place = start
    for one, other in found:
        if one < place or other > end:
            continue
        parts += [Part(text[place:one]), Part(text[one:other], is_found=True)]
        place = other
    return [*parts, Part(text[place:end])]


def _found(text: str, phrases: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Where the phrases stand, from first to last; a long one by its first words."""
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for phrase in filter(None, phrases):
        wanted.setdefault(phrase[0], set()).add(phrase[:_MOST_COMPARED])
    words = list(_words(text))
    places = set()
    for number, word in enumerate(words):
        for phrase in wanted.get(word.word, ()):
            run = words[number : number + len(phrase)]
            if tuple(each.word for each in run) == phrase:
                places.add((word.start, run[-1].end))
    return sorted(places)


def _words(text: str) -> Iterable[_Word]:
    """The words with their places. A token of several words has one place for them all."""
    for token in _TOKEN.finditer(text):
        words = words_of(token[0])
        if len(words) == len(token[0]):
            places = [(token.start() + n, token.start() + n + 1) for n in range(len(words))]
        else:
            places = [token.span()] * len(words)
        yield from (_Word(word, *place) for word, place in zip(words, places, strict=True))
