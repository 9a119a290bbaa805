"""The laws of searching and of names: words, queries, matches, look-alikes."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.mail.rules import name_problem, skeleton, suggest_names
from brenner.mail.search import (
    FILTER_NAMES,
    Query,
    find_item_ids,
    matches,
    parse_query,
    tokenize,
)
from brenner.protocol.grammar import AGENT_NAME, MESSAGE_TYPES
from brenner.protocol.messages import Message
from search_text import render_query
from strategies import agent_names, any_text, messages, thread_ids

pytestmark = pytest.mark.fuzz

# Characters that change their number, kind or case when they are taken apart
_ODD = "ßİıŉǰΐᾳͅͺﬁﷺ½№…´§_＿٣४Ⅷ🄰゙゚がｶﾞ가ᅠㅤ\u00ad\u200b\u200d\u0301\u0316\u20dd\ufeffกำ中〇ꭰᏸ"
worded_text = st.one_of(
    any_text,
    st.text(st.one_of(st.sampled_from(_ODD), st.sampled_from("aB1 -."), st.characters())),
)


def plain_words(text: str) -> list[str]:
    """The words of a text by the whole text, not by its characters; slow and plain."""
    folded = unicodedata.normalize("NFKD", text).replace("\u0345", "").casefold()
    words, word = [], ""
    for character in unicodedata.normalize("NFKD", folded) + " ":
        kind = unicodedata.category(character)
        if (
            kind[0] == "M"
            or (kind == "Cf" and character != "\u200b")
            or character in "\u115f\u1160"
        ):
            continue
        is_digit = character in "0123456789"
        if character == "§" or kind[0] not in "LN" or (word[:1] == "§" and not is_digit):
            words.append(word)
            word = ""
        if is_alone(character):
            words += [word, character]
            word = ""
        elif kind[0] in "LN" or character == "§":
            word += character
    return [word for word in words if word not in ("", "§")]


def is_alone(character: str) -> bool:
    """A letter of a script that puts no blanks between words."""
    scripts = (
        *("CJK ", "HIRAGANA ", "KATAKANA", "THAI ", "LAO ", "MYANMAR ", "KHMER ", "HANGZHOU "),
        *("IDEOGRAPHIC ITER", "IDEOGRAPHIC CLOS", "IDEOGRAPHIC NUM", "VERTICAL KANA", "MASU "),
        *("VERTICAL IDEOGRAPHIC ", "HENTAIGANA "),
    )
    return character.isalnum() and unicodedata.name(character, "").startswith(scripts)


@given(worded_text)
@example("§4§2 §x9§٣")
def test_words_are_those_of_the_whole_text(text: str) -> None:
    """Taking characters one by one gives what taking the text as a whole gives."""
    assert tokenize(text) == plain_words(text)


def test_scripts_without_blanks() -> None:
    """Every letter that Unicode names for such a script is a word, and no other one."""
    wrong = []
    for code in range(0x110000):
        letter = chr(code)
        if letter.isalnum() and unicodedata.normalize("NFKD", letter) == letter:
            is_word = len(tokenize(f"é{letter}")) == 2
            if is_word != is_alone(letter):
                wrong.append(f"{code:x}")
    assert wrong == []


@given(worded_text)
@example("ﬃ" * 200)
@example("é" + "x" * 1_200 + "§" + "4" * 600 + "中" * 600)
def test_words_stay(text: str) -> None:
    """Words are their own words: what an index stores, a query can ask for."""
    words = tokenize(text)
    assert tokenize(" ".join(words)) == words
    assert all(tokenize(word) == [word] and len(word) <= 500 for word in words)


@given(worded_text, worded_text, st.sampled_from(" \n.,_-\"'|\t"))
def test_words_of_two_texts(one: str, other: str, between: str) -> None:
    """The words of two texts are those of the one, then those of the other."""
    assert tokenize(f"{one}{between}{other}") == tokenize(one) + tokenize(other)


Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


@given(worded_text, st.sampled_from(("NFC", "NFD", "NFKC", "NFKD")))
def test_words_in_every_normal_form(text: str, form: Form) -> None:
    """How the characters are put together does not count."""
    assert tokenize(unicodedata.normalize(form, text)) == tokenize(text)


@given(st.text("abcXYZ é§19-_", max_size=30))
def test_case_does_not_count(text: str) -> None:
    """Capitals or not."""
    assert tokenize(text.upper()) == tokenize(text) == tokenize(text.lower())


@given(any_text, any_text)
def test_items_of_two_texts(one: str, other: str) -> None:
    """Items are found wherever they stand, each once, by name."""
    assert find_item_ids(f"{one} {other}") == sorted({*find_item_ids(one), *find_item_ids(other)})


_PIECES = (
    *(f"{name}:" for name in (*FILTER_NAMES, "frm", "TYPE", "-is", "http")),
    *('"', '""', "“", "”", "„", ",", " ", "  ", "\n", ":", "-", "_", "(", ")", "*", "\\", "'"),
    *("DELTA", "info", "BlueLake", "RS-20251230-cell-fate", "H2", "RT", "unread", "ack"),
    *("2026-11-15", "2026-11-01T12:00Z", "T24:00", "+99:99", "9999-12-31T23:59-23:59"),
    *("words", "mRNA-decay", "naïve", "§42", "细胞", "\x00", "\ud800", "\x1b[31m", "🧬"),
)
query_texts = st.one_of(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join), any_text)


@given(query_texts)
def test_parse_never_raises(text: str) -> None:
    """Any text is a query, or gives errors that may be shown."""
    found = parse_query(text)
    if isinstance(found, Query):
        assert found != Query()
        assert parse_query(render_query(found)) == found
        assert matches(found, Message("t", "a", (), text, text), datetime.now(UTC)) in (True, False)
    else:
        assert found
        assert all(each.message.isprintable() and each.fix.isprintable() for each in found)


words = st.one_of(
    st.sampled_from(["cell", "fate", "§42", "naive", "type", "and"]),
    any_text.map(tokenize).filter(bool).map(lambda found: found[0]),
)
storable = any_text.filter(
    lambda text: bool(text.strip()) and not re.search(r"[\0\ud800-\udfff]", text)
)
times = st.datetimes(timezones=st.just(UTC))


T = TypeVar("T")


def some(values: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    """A few different ones, or none."""
    return st.lists(values, max_size=3, unique=True).map(tuple)


items = st.sampled_from(["H1", "H2", "T1", "T10", "RT"])
queries = st.builds(
    Query,
    phrases=some(st.lists(words, min_size=1, max_size=3).map(tuple)),
    types=some(st.sampled_from(MESSAGE_TYPES)),
    senders=some(agent_names),
    threads=some(st.one_of(thread_ids, storable)),
    items=some(items),
    is_unread=st.booleans(),
    needs_ack=st.booleans(),
    before=st.none() | times,
    after=st.none() | times,
).filter(lambda query: query != Query())


@given(queries)
def test_parse_render_query(query: Query) -> None:
    """parse(render(q)) == q for every query that asks for something."""
    assert parse_query(render_query(query)) == query


# So few values that most queries come close to a message
_SUBJECTS = ("INFO: cell fate", "DELTA[opus]: fate", "Re: cell", "KICKOFF: H1 cell")
_BODIES = ("cell fate of H1", "fate fate cell", "naïve §42 T10", "cell-fate: H2, RT", "")
EPOCH = datetime(2026, 11, 15, tzinfo=UTC)
near_times = st.integers(-2, 2).map(lambda days: EPOCH + timedelta(days))
near_messages = st.builds(
    Message,
    thread_id=st.sampled_from("ab"),
    sender=st.sampled_from("XY"),
    recipients=st.just(("Z",)),
    subject=st.sampled_from(_SUBJECTS),
    body=st.lists(st.sampled_from(_BODIES), max_size=3).map("\n".join),
)
near_words = st.sampled_from(["cell", "fate", "of", "h1", "naive", "§42", "info"])
near_queries = st.builds(
    Query,
    phrases=some(st.lists(near_words, min_size=1, max_size=3).map(tuple)),
    types=some(st.sampled_from(["INFO", "DELTA"])),
    senders=some(st.sampled_from("XY")),
    threads=some(st.sampled_from("ab")),
    items=some(items),
    before=st.none() | near_times,
    after=st.none() | near_times,
)


def plainly_matches(query: Query, message: Message, at: datetime) -> bool:
    """The same question, asked word by word."""
    for phrase in query.phrases:
        places = [
            list(phrase) == found[start : start + len(phrase)]
            for found in (plain_words(message.subject), plain_words(message.body))
            for start in range(len(found))
        ]
        if not any(places):
            return False
    named = {w for part in (message.subject, message.body) for w in re.split(r"[^\w@]", part)}
    return (
        (query.types == () or message.type in set(query.types))
        and (query.senders == () or {message.sender} <= set(query.senders))
        and (query.threads == () or {message.thread_id} <= set(query.threads))
        and (query.items == () or bool(named & set(query.items)))
        and not (query.before and query.before <= at)
        and not (query.after and query.after > at)
    )


@given(near_queries, near_messages, near_times)
def test_matches_as_asked(query: Query, message: Message, at: datetime) -> None:
    """The answer is that of the plain reading."""
    assert matches(query, message, at) == plainly_matches(query, message, at)
    part = query._replace(types=(), senders=(), threads=(), before=None, after=None)
    assert matches(part, message, at) == plainly_matches(part, message, at)


@given(messages(), st.data())
def test_what_stands_in_a_message_is_found(message: Message, data: st.DataObject) -> None:
    """Any stretch of a body, quoted, finds its message, whatever the stretch holds."""
    pieces = message.body.split(" ")
    first = data.draw(st.integers(0, len(pieces)))
    last = data.draw(st.integers(first, len(pieces)))
    stretch = " ".join(pieces[first:last])
    doubled = stretch.replace('"', '""')
    query = parse_query(f'from:{message.sender} thread:"{message.thread_id}" "{doubled}"')
    assert isinstance(query, Query)
    assert query.phrases == ((tuple(tokenize(stretch)),) if tokenize(stretch) else ())
    assert matches(query, message, EPOCH)


# Written down here again: what a reader mistakes for what
_ALIKE = (
    ("0", "O", "o"),
    ("1", "l", "I"),
    ("rn", "m"),
    ("vv", "w"),
    ("5", "S"),
    ("8", "B"),
    ("_", "-"),
)


@st.composite
def look_alikes(draw: st.DrawFn) -> tuple[str, str]:
    """A name, and the same in other characters that look like its own."""
    parts = st.sampled_from([each for group in _ALIKE for each in group] + list("abcRNVx279"))
    name = "A" + "".join(draw(st.lists(parts, min_size=1, max_size=12)))
    other = name
    for _ in range(draw(st.integers(1, 4))):
        group = draw(st.sampled_from([*_ALIKE, ("case",), ("separator",)]))
        place = draw(st.integers(1, len(other)))
        if group == ("case",):
            other = other[:place] + other[place:].swapcase()
        elif group == ("separator",):
            other = f"{other[:place]}{draw(st.sampled_from('-_'))}{other[place:]}"
        else:
            old, new = draw(st.permutations(group))[:2]
            other = other[:place] + other[place:].replace(old, new)
    return name, other


@given(look_alikes())
def test_look_alikes_are_refused(pair: tuple[str, str]) -> None:
    """Of two names that look alike the second is refused, whichever comes first."""
    for name, known in (pair, pair[::-1]):
        found = name_problem(name, [known])
        assert AGENT_NAME.fullmatch(name)
        assert (found.id if found else None) == (None if name == known else "NAME_LOOKS_LIKE")


wanted_names = st.one_of(agent_names, look_alikes().map(lambda pair: pair[1]), any_text)


@given(st.lists(wanted_names, max_size=12))
def test_names_side_by_side(wanted: list[str]) -> None:
    """No two registered names look alike; a suggestion is always accepted."""
    known: list[str] = []
    for name in wanted:
        found = name_problem(name, known)
        if found is None:
            known += [name] if name not in known else []
            continue
        assert name not in known
        assert found.message.isprintable()
        offered = re.findall(r"`([^`]*)`", suggest_names(name, known))
        assert len(offered) >= 2
        assert [each for each in offered if name_problem(each, known)] == []
        assert not {skeleton(each) for each in offered} & {skeleton(each) for each in known}
    assert all(AGENT_NAME.fullmatch(name) for name in known)
    assert len({skeleton(name) for name in known}) == len(known)
