"""The search grammar (docs/reference/search.md), tokenizing for the full-text index, matching, and
excerpts.

Parsing a query never raises: it returns the query or all its errors.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from brenner.diagnostics.codes import mail as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_QUERY_BYTES, MOST_QUERY_TERMS
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME, ITEM_ID, ITEM_ID_IN_MAIL, MESSAGE_TYPES
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.messages import Message

# Tokenizing. All backends index these words, and searches are compared with them.
#
# A word has only letters and digits, or is a section number such as `§42`. So it contains no space,
# separator or syntax of any index. Folding ignores case, accents and other marks, hidden
# characters, and the width and style of letters.


_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_BEYOND_ASCII = lazy_pattern(r"([^\x00-\x7f]+)")
_SECTION_SIGN = lazy_pattern(r"§([0-9]*)")
# Scripts without spaces between words: each letter is a word, so that any part of a text is found
# as a phrase. Thai, Lao, Burmese, Khmer, ideographs, kana.
_UNSPACED_SCRIPTS = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f\u3005-\u3007\u3021-\u303c"
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U000116d0-\U000116ff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
_IGNORED_CATEGORIES = ("Mn", "Mc", "Me", "Cf")  # marks and format characters
_ZERO_WIDTH_SPACE = "\u200b"  # the only hidden character that separates words
_IOTA_BELOW = "\u0345"  # a mark that case folding would turn into a letter
_INVISIBLE_LETTERS = "\u115f\u1160"  # letters by category, but not visible
# A longer word (a key, an encoded image) is split, and found as a phrase: some indexes truncate
# words of thousands of bytes, others reject them.
_MOST_WORD_LETTERS = 500
_CACHE_SIZE = 1 << 14


def tokenize(text: str) -> list[str]:
    """Return the words of a text in order, with repetitions, in linear time."""
    words = (text.translate(_ASCII) if text.isascii() else _fold(text)).split()
    if max(map(len, words), default=0) > _MOST_WORD_LETTERS:
        words = [part for word in words for part in _split_long_word(word)]
    return words


def _split_long_word(word: str) -> list[str]:
    return [word[at : at + _MOST_WORD_LETTERS] for at in range(0, len(word), _MOST_WORD_LETTERS)]


def find_item_ids(text: str) -> list[str]:
    """Return the item IDs that occur in a text as whole words, sorted, each once."""
    return sorted(set(ITEM_ID_IN_MAIL.findall(text)))


def _fold(text: str) -> str:
    """Return the folded words, separated by spaces."""
    runs = _BEYOND_ASCII.split(text)
    runs[::2] = [run.translate(_ASCII) for run in runs[::2]]
    runs[1::2] = ["".join(map(_fold_character, run)) for run in runs[1::2]]
    folded = "".join(runs)
    if "§" in folded:
        folded = _SECTION_SIGN.sub(lambda sign: f" {sign[0]} " if sign[1] else " ", folded)
    return folded


@lru_cache(_CACHE_SIZE)
def _fold_character(character: str) -> str:
    """Fold one non-ASCII character.

    Folding character by character gives the same as folding the whole text: only the order of marks
    depends on their neighbours, and marks are dropped. Ordering long runs of marks would make
    normalization slower than linear.
    """
    letters = normalize("NFKD", character).replace(_IOTA_BELOW, "")
    return "".join(map(_fold_letter, letters.casefold()))


def _fold_letter(character: str) -> str:
    """Return a letter or digit unchanged, and a space or nothing for any other character."""
    if character in _INVISIBLE_LETTERS:
        return ""
    if character.isalnum():
        return f" {character} " if _UNSPACED_SCRIPTS.match(character) else character
    if character == "§":
        return character
    is_dropped = category(character) in _IGNORED_CATEGORIES and character != _ZERO_WIDTH_SPACE
    return "" if is_dropped else " "


class Query(NamedTuple):
    """A parsed search query; all conditions must hold.

    `phrases` are sequences of consecutive words (a single word is a sequence of one), each as
    `tokenize` returns it. The values of one filter are alternatives.
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


# A quotation mark inside quotation marks is doubled. Curly quotation marks count, too.
_PIECE = lazy_pattern(
    r'"(?P<quoted>(?:[^"]++|"")*+)(?P<end>"?)'
    r"|[“”„](?P<curly>[^“”]*+)(?P<curly_end>[“”]?)"
    r'|(?P<bare>[^\s"“”„]++)'
    r"|\s++"
)
_FILTER_PATTERN = lazy_pattern(r"(-?[A-Za-z][A-Za-z_-]*):(.*)")
_MOST_ERRORS = 50  # a text with more is not a query
_UNSTORABLE = lazy_pattern(r"[\x00\ud800-\udfff]")


_Piece = tuple[str, bool, bool]  # part of a term: its text, whether it is quoted, and closed
# A filter whose values are alternatives: a function that returns None for an invalid value, what is
# expected, and the known values, if there are only some
_Filter = tuple["Callable[[str], str | None]", str, tuple[str, ...]]


def _enum_filter(*known: str) -> _Filter:
    values = {value.lower(): value for value in known}
    expected = ("one of " if len(known) > 1 else "") + ", ".join(f"`{value}`" for value in known)
    return lambda written: values.get(written.lower()), expected, known


def _parse_sender(written: str) -> str | None:
    return written if AGENT_NAME.fullmatch(written) else None


def _parse_thread(written: str) -> str | None:
    """Return the thread ID, or None if no store can hold it. Imported mail may have any other."""
    return None if _UNSTORABLE.search(written) else written


def _parse_item(written: str) -> str | None:
    return written.upper() if ITEM_ID.fullmatch(written.upper()) else None


_FILTERS: dict[str, _Filter] = {
    "type": _enum_filter(*MESSAGE_TYPES),
    "from": (_parse_sender, "the name of an agent, such as `BlueLake`", ()),
    "thread": (_parse_thread, "a thread ID, such as `RS-20251230-cell-fate`", ()),
    "item": (_parse_item, "an item ID, such as `H2` or `RT`", ()),
    "is": _enum_filter("unread"),
    "needs": _enum_filter("ack"),
}
_TIME_FILTERS = ("before", "after")
_EXPECTED_TIME = "a date or a time in ISO 8601, such as `2026-11-15` or `2026-11-15T12:00Z`"
FILTER_NAMES = (*_FILTERS, *_TIME_FILTERS)
# Names of these filters in other programs
_FILTER_ALIASES = {
    "author": "from",
    "by": "from",
    "sender": "from",
    "has": "needs",
    "in": "thread",
    "since": "after",
    "until": "before",
}


def parse_query(text: str) -> Query | tuple[Diagnostic, ...]:
    """Parse a search query. Return the query, or all its errors."""
    too_long = query_too_long(text)
    if too_long:
        return (too_long,)
    parser = _QueryParser()
    for term in _split_terms(text):
        parser.add_term(term)
        if len(parser.errors) >= _MOST_ERRORS:
            break
    if parser.errors:
        return tuple(dict.fromkeys(parser.errors))
    query = parser.query()
    if _count_terms(query) > MOST_QUERY_TERMS:
        return (codes.QUERY_TOO_LONG.at(most=f"{MOST_QUERY_TERMS} words and values of filters"),)
    return (codes.EMPTY_QUERY.at(),) if query == Query() else query


def query_too_long(text: str) -> Diagnostic | None:
    if len(text) <= MOST_QUERY_BYTES and len(text.encode(errors="replace")) <= MOST_QUERY_BYTES:
        return None
    return codes.QUERY_TOO_LONG.at(most=f"{MOST_QUERY_BYTES} bytes")


def _count_terms(query: Query) -> int:
    chosen = (query.types, query.senders, query.threads, query.items)
    return sum(map(len, chosen)) + sum(map(len, query.phrases))


def _split_terms(text: str) -> Iterator[list[_Piece]]:
    """Split a query at white space into terms, each a list of pieces."""
    term: list[_Piece] = []
    for match in _PIECE.finditer(text):
        if match["quoted"] is not None:
            term.append((match["quoted"].replace('""', '"'), True, bool(match["end"])))
        elif match["curly"] is not None:
            term.append((match["curly"], True, bool(match["curly_end"])))
        elif match["bare"] is not None:
            term.append((match["bare"], False, True))
        elif term:
            yield term
            term = []
    if term:
        yield term


class _QueryParser:
    """Collects the terms of a query and their errors."""

    def __init__(self) -> None:
        self.phrases: dict[tuple[str, ...], None] = {}
        self.values: dict[str, dict[str, None]] = {name: {} for name in _FILTERS}
        self.times: dict[str, datetime] = {}
        self.errors: list[Diagnostic] = []

    def add_term(self, term: list[_Piece]) -> None:
        (text, is_quoted, _), *others = term
        if not term[-1][2]:
            self.errors.append(codes.UNCLOSED_QUOTE.at())
        match = None if is_quoted else _FILTER_PATTERN.fullmatch(text)
        if match is None:
            self.phrases |= {tuple(words): None for each in term if (words := tokenize(each[0]))}
            return
        name, value = match[1].lower(), [(match[2], False, True), *others]
        if name in _FILTERS:
            self._add_values(name, value)
        elif name in _TIME_FILTERS:
            self._set_time(name, "".join(each[0] for each in value))
        else:
            suggestion = did_you_mean(_suggest_filter(name))
            self.errors.append(codes.UNKNOWN_FILTER.at(name=match[1], suggestion=suggestion))

    def _add_values(self, name: str, value: list[_Piece]) -> None:
        for written in _split_alternatives(value):
            read = _FILTERS[name][0](written) if written.strip() else None
            if read is not None:
                self.values[name][read] = None
            elif len(self.errors) < _MOST_ERRORS:
                self._add_value_error(name, written)

    def _add_value_error(self, name: str, written: str) -> None:
        _, expected, known = _FILTERS[name]
        near = closest(written, known)
        if not written.strip():
            expected += ", without a space before it"
        elif near and len(known) > 1:
            expected += f" (did you mean `{near}`?)"
        self.errors.append(
            codes.INVALID_FILTER_VALUE.at(
                filter=name, value=written, expected=expected, suggestion=did_you_mean(near)
            )
        )

    def _set_time(self, name: str, written: str) -> None:
        at = parse_time(written)
        if at is not None and at == self.times.setdefault(name, at):
            return
        expected = _EXPECTED_TIME if at is None else "one date or time only"
        self.errors.append(
            codes.INVALID_FILTER_VALUE.at(filter=name, value=written, expected=expected)
        )

    def query(self) -> Query:
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


def _split_alternatives(value: list[_Piece]) -> list[str]:
    """Split a filter value at its unquoted commas."""
    values: list[list[str]] = [[]]
    for text, is_quoted, _ in value:
        first, *others = [text] if is_quoted else text.split(",")
        values[-1].append(first)
        values += [[other] for other in others]
    return ["".join(parts) for parts in values]


def parse_time(written: str) -> datetime | None:
    """Parse a date or time; UTC unless a zone is given. Return None if it is invalid."""
    if not ISO_TIME.fullmatch(written.upper()):
        return None
    try:
        at = datetime.fromisoformat(written.upper())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # no such date, or out of range in UTC
        return None


def _suggest_filter(name: str) -> str | None:
    """Return the filter that an unknown name probably means, or None."""
    if name.upper() in MESSAGE_TYPES:
        return f"type:{name.upper()}"
    known = _FILTER_ALIASES.get(name) or closest(name, FILTER_NAMES)
    return f"{known}:" if known else None


def matches(query: Query, message: Message, at: datetime) -> bool:
    """Return whether a message matches, apart from filters about an inbox."""
    return (
        (query.before is None or at < query.before)
        and (query.after is None or at >= query.after)
        and _matches_filters(query, message)
        and _matches_text(query, message)
    )


def _matches_filters(query: Query, message: Message) -> bool:
    return (
        (not query.types or message.type in query.types)
        and (not query.senders or message.sender in query.senders)
        and (not query.threads or message.thread_id in query.threads)
    )


def _matches_text(query: Query, message: Message) -> bool:
    """Return whether the text has one of the items, and each phrase whole in one part."""
    parts = (message.subject, message.body)
    if query.items and not any(
        item in query.items for part in parts for item in find_item_ids(part)
    ):
        return False
    if not query.phrases:
        return True
    words = "\n".join(f" {' '.join(tokenize(part))} " for part in parts)
    return all(f" {' '.join(phrase)} " in words for phrase in query.phrases)


# Excerpts: one line around the first match, with the matches marked


_MOST_SEARCHED = 50_000  # characters of a body
_MOST_PHRASE_WORDS = 20
_CONTEXT_BEFORE, _MOST_EXCERPT = 30, 160
_ELLIPSIS_BEFORE, _ELLIPSIS_AFTER = "… ", " …"
_WHITESPACE_TO_SPACE = str.maketrans("\t\r", "  ")
_THREAD_ID = lazy_pattern(r"(?:RS|COORD)-[A-Za-z0-9-]+")
_TOKEN_PATTERN = lazy_pattern(r"(?:[^\W_]|[\u0300-\u036f]|§(?=[0-9]))+")


# A part of an excerpt, and whether it matches the search
ExcerptPart = tuple[str, bool]


def excerpt(body: str, phrases: Sequence[tuple[str, ...]]) -> list[ExcerptPart]:
    """Return one line around the first match; empty if there is none near the start."""
    text = body[:_MOST_SEARCHED].translate(_WHITESPACE_TO_SPACE)
    found = _find_phrases(text, phrases)
    if not found:
        return []
    first, last = next((each for each in found if not _is_in_id(text, each)), found[0])
    line = text.rfind("\n", 0, first) + 1
    start = (
        line
        if first - line <= _CONTEXT_BEFORE
        else text.rfind(" ", 0, first - _CONTEXT_BEFORE + 1) + 1
    )
    start = start if start >= line else first
    following = text.find("\n", last)
    end = min(len(text) if following < 0 else following, max(last, start + _MOST_EXCERPT))
    is_cut = end < len(text) and text[end] != "\n"
    *parts, (rest, _) = _excerpt_parts(text, found, start, end)
    before, after = _ELLIPSIS_BEFORE * (start > line), rest + _ELLIPSIS_AFTER * is_cut
    parts = [(before, False), *parts, (after, False)]
    return [(part.replace("\n", " "), is_match) for part, is_match in parts]


def _is_in_id(text: str, span: tuple[int, int]) -> bool:
    """Return whether a span is part of a thread ID, which says nothing about the content."""
    start = max(text.rfind(each, 0, span[0]) for each in " \n") + 1
    name = _THREAD_ID.search(text, start, span[1] + _MOST_EXCERPT)
    return name is not None and name.start() <= span[0] and span[1] <= name.end()


def highlight(line: str, phrases: Sequence[tuple[str, ...]]) -> list[ExcerptPart]:
    """Return a whole line, such as a subject, split into matching and other parts."""
    text = line[:_MOST_SEARCHED]
    *parts, (rest, _) = _excerpt_parts(text, _find_phrases(text, phrases), 0, len(text))
    return [part for part in (*parts, (rest + line[_MOST_SEARCHED:], False)) if part[0]]


def _excerpt_parts(
    text: str, found: Iterable[tuple[int, int]], start: int, end: int
) -> list[ExcerptPart]:
    """Split the text from `start` to `end` into matching and other parts."""
    parts: list[ExcerptPart] = []
    position = start
    for one, other in found:
        if one < position or other > end:
            continue
        parts += [(text[position:one], False), (text[one:other], True)]
        position = other
    return [*parts, (text[position:end], False)]


def _find_phrases(text: str, phrases: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Return the spans of the phrases, sorted; a long phrase is found by its first words."""
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for phrase in filter(None, phrases):
        wanted.setdefault(phrase[0], set()).add(phrase[:_MOST_PHRASE_WORDS])
    words = list(_tokens(text))
    spans = set()
    for number, word in enumerate(words):
        for phrase in wanted.get(word[0], ()):
            run = words[number : number + len(phrase)]
            if tuple(each[0] for each in run) == phrase:
                spans.add((word[1], run[-1][2]))
    return sorted(spans)


def _tokens(text: str) -> Iterable[tuple[str, int, int]]:
    """Yield the folded words with start and end. The words of one token share its span."""
    for token in _TOKEN_PATTERN.finditer(text):
        words = tokenize(token[0])
        if len(words) == len(token[0]):
            spans = [(token.start() + n, token.start() + n + 1) for n in range(len(words))]
        else:
            spans = [token.span()] * len(words)
        yield from ((word, *span) for word, span in zip(words, spans, strict=True))
