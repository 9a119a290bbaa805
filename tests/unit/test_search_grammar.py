"""Words of a text, the search grammar, and which messages match."""

import re
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import category, normalize

import pytest

from brenner.mail.search import (
    FILTER_NAMES,
    Query,
    find_item_ids,
    matches,
    parse_query,
    tokenize,
)
from brenner.protocol.grammar import MESSAGE_TYPES
from brenner.protocol.messages import Message
from search_text import render_query

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "search.md").read_text("utf-8")
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def at(*parts: int) -> datetime:
    """A time in UTC."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\r\n", []),
        ("The mRNA-decay", ["the", "mrna", "decay"]),
        ("viability_assay __init__", ["viability", "assay", "init"]),
        ("naïve NAÏVE nai\u0308ve", ["naive"] * 3),
        ("§42", ["§42"]),
        ("§42-45, §127–§129", ["§42", "45", "§127", "§129"]),
        ("see§42a §４２", ["see", "§42", "a", "§42"]),
        ("§ §x § 42 §§7", ["x", "42", "§7"]),
        ("细胞 fate", ["细", "胞", "fate"]),
        ("ｶﾅ かな", ["カ", "ナ", "か", "な"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        (normalize("NFC", "한국"), [normalize("NFD", "한국")]),
        ("Straße İstanbul ﬁg x² Ⅷ Å", ["strasse", "istanbul", "fig", "x2", "viii", "a"]),
        ("ΣΟΦΟΣ σοφος σοφός", ["σοφοσ"] * 3),
        ("ᾳ ᾼ α\u0345", ["α"] * 3),
        ("½ … ⑴ ´ ＿a＿b ﹘", ["1", "2", "1", "a", "b"]),
        ("via\u00adbility wo\u200drd \u202eabc\u202c\ufeff", ["viability", "word", "abc"]),
        ("two\u200bwords", ["two", "words"]),
        ("שָׁלוֹם שלום", ["שלום"] * 2),
        ("a\u3164b \u115f\u1160", ["ab"]),
        ("a\u2028b\x85c\x1fd\u00a0e\x00f", ["a", "b", "c", "d", "e", "f"]),
        ("a\ud800b", ["a", "b"]),
        ("x" * 500, ["x" * 500]),
        ("a " + "X" * 1001 + " b", ["a", "x" * 500, "x" * 500, "x", "b"]),
        ("é" * 501, ["e" * 500, "e"]),
        ("§" + "4" * 501, ["§" + "4" * 499, "44"]),
        ("don't don’t", ["don", "t", "don", "t"]),
        ("🧬gene🧬", ["gene"]),
        ('"NEAR(a b)" OR col:x* ^y -z', ["near", "a", "b", "or", "col", "x", "y", "z"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Case, marks, width and hidden characters do not count; each home sees the same words."""
    assert tokenize(text) == expected


def test_words_of_all_unicode() -> None:
    """Whatever character comes in, a word holds letters and digits, or is `§` and digits."""
    characters = [chr(code) for code in range(0x110000)]
    without = "".join(each for each in characters if not each.isalnum() and each.isprintable())
    assert [w for w in tokenize(without) if not w.isalnum()] == []
    assigned = [each for each in characters if category(each) not in ("Cn", "Co", "Cs")]
    words = tokenize("".join(f"{each}§42." for each in assigned))
    assert {w for w in words if not re.fullmatch(r"§[0-9]+|[^\W_]+", w)} == set()
    assert {category(c)[0] for c in "".join(words) if c != "§"} == {"L", "N"}
    assert "".join(words).isprintable()
    assert words.count("§42") == len(assigned)
    assert tokenize(" ".join(words)) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("H2 kills T10, T1 and (H2); RT stays.", ["H2", "RT", "T1", "T10"]),
        ('"target_id": "X3"', ["X3"]),
        ("P1/P2 A1-C1 **H9**", ["A1", "C1", "H9", "P1", "P2"]),
        ("h2 H02 H0 H2b bH2 H2_ @H2 RTs RT1 rt @RT ART H1234567890", []),
        ("éH2 H2é Н2", []),
    ],
)
def test_items(text: str, expected: list[str]) -> None:
    """Item IDs are whole words in exactly their form, each once."""
    assert find_item_ids(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("words", Query(phrases=(("words",),))),
        ('two "a phrase"', Query(phrases=(("two",), ("a", "phrase")))),
        ("again AGAIN", Query(phrases=(("again",),))),
        ("mRNA-decay", Query(phrases=(("mrna", "decay"),))),
        ("细胞", Query(phrases=(("细", "胞"),))),
        ("“a phrase” „noch eine“", Query(phrases=(("a", "phrase"), ("noch", "eine")))),
        ('so"a phrase"', Query(phrases=(("so",), ("a", "phrase")))),
        ('"a ""quoted"" word"', Query(phrases=(("a", "quoted", "word"),))),
        ("§42 -- ! x", Query(phrases=(("§42",), ("x",)))),
        ("12:30 :x a OR b", Query(phrases=(("12", "30"), ("x",), ("a",), ("or",), ("b",)))),
        ("结果:好", Query(phrases=(("结", "果", "好"),))),
        ('"type:DELTA"', Query(phrases=(("type", "delta"),))),
        ("type:DELTA", Query(types=("DELTA",))),
        ("TYPE:delta,Critique type:DELTA type:info", Query(types=("DELTA", "CRITIQUE", "INFO"))),
        ('from:"BlueLake" from:RedSky', Query(senders=("BlueLake", "RedSky"))),
        ("from:Blue“Lake”", Query(senders=("BlueLake",))),
        ("thread:RS-20251230-cell-fate", Query(threads=("RS-20251230-cell-fate",))),
        ('thread:"a, ""b""",c', Query(threads=('a, "b"', "c"))),
        ('thread:"a“b"', Query(threads=("a“b",))),
        ("thread:a:b", Query(threads=("a:b",))),
        ("item:H2,rt", Query(items=("H2", "RT"))),
        ("is:unread needs:ACK", Query(is_unread=True, needs_ack=True)),
        ("before:2026-11-15", Query(before=at(2026, 11, 15))),
        ("after:2026-11-01T12:00Z", Query(after=at(2026, 11, 1, 12))),
        ("after:2026-11-01t12:00z", Query(after=at(2026, 11, 1, 12))),
        ("after:2026-11-01T12:00", Query(after=at(2026, 11, 1, 12))),
        ("after:2026-11-01T00:30+01:00", Query(after=at(2026, 10, 31, 23, 30))),
        ("after:20261101T1200", Query(after=at(2026, 11, 1, 12))),
        ('before:"2026-11-15 12:00:00,5"', Query(before=at(2026, 11, 15, 12, 0, 0, 500_000))),
        ("before:2026-11-15 before:2026-11-15T00:00Z", Query(before=at(2026, 11, 15))),
        ("before:0001-01-01", Query(before=at(1, 1, 1))),
        ("after:9999-12-31T23:59:59.999999", Query(after=datetime.max.replace(tzinfo=UTC))),
    ],
)
def test_parse(text: str, expected: Query) -> None:
    """Each form of the grammar, and its way back."""
    assert parse_query(text) == expected
    assert parse_query(render_query(expected)) == expected


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", [("EMPTY_QUERY", None)]),
        (' "" -- "!?" § ', [("EMPTY_QUERY", None)]),
        ("frm:x", [("UNKNOWN_FILTER", "from:")]),
        ("sender:x", [("UNKNOWN_FILTER", "from:")]),
        ("-type:INFO", [("UNKNOWN_FILTER", "type:")]),
        ("KICKOFF: cells", [("UNKNOWN_FILTER", "type:KICKOFF")]),
        ("http://example.org", [("UNKNOWN_FILTER", None)]),
        ("is:read", [("INVALID_FILTER_VALUE", None)]),
        ("is:unraed", [("INVALID_FILTER_VALUE", "unread")]),
        ("needs:", [("INVALID_FILTER_VALUE", None)]),
        ("type:DELTAS", [("INVALID_FILTER_VALUE", "DELTA")]),
        ("type: DELTA", [("INVALID_FILTER_VALUE", None)]),
        ("type:DELTA, INFO", [("INVALID_FILTER_VALUE", None)]),
        ('from:"Blue Lake"', [("INVALID_FILTER_VALUE", None)]),
        ('thread:" "', [("INVALID_FILTER_VALUE", None)]),
        ("thread:a\x00b", [("INVALID_FILTER_VALUE", None)]),
        ("thread:\udcff", [("INVALID_FILTER_VALUE", None)]),
        ("item:H0", [("INVALID_FILTER_VALUE", None)]),
        ("before:2026-02-30", [("INVALID_FILTER_VALUE", None)]),
        ("before:yesterday", [("INVALID_FILTER_VALUE", None)]),
        ("before:2026-11-15,2026-11-16", [("INVALID_FILTER_VALUE", None)]),
        ("before:2026-11-15 before:2026-11-16", [("INVALID_FILTER_VALUE", None)]),
        ("before:0000-01-01", [("INVALID_FILTER_VALUE", None)]),
        ("before:0001-01-01T00:00+05:00", [("INVALID_FILTER_VALUE", None)]),
        ("after:9999-12-31T23:59-05:00", [("INVALID_FILTER_VALUE", None)]),
        ("after:２０２６-11-15", [("INVALID_FILTER_VALUE", None)]),
        ('cells "a phrase', [("UNCLOSED_QUOTE", None)]),
        ("“a phrase", [("UNCLOSED_QUOTE", None)]),
        ('from:"BlueLake', [("UNCLOSED_QUOTE", None)]),
        ("frm:x frm:y", [("UNKNOWN_FILTER", "from:")]),
        (
            'frm:x is:read,old after:x ok "open',
            [
                ("UNKNOWN_FILTER", "from:"),
                ("INVALID_FILTER_VALUE", None),
                ("INVALID_FILTER_VALUE", None),
                ("INVALID_FILTER_VALUE", None),
                ("UNCLOSED_QUOTE", None),
            ],
        ),
    ],
)
def test_faults(text: str, faults: list[tuple[str, str | None]]) -> None:
    """All faults at once, each once, with what was meant where that is known."""
    found = parse_query(text)
    assert not isinstance(found, Query)
    assert [(each.id, each.suggestion) for each in found] == faults


def test_faults_say_what_to_write() -> None:
    """The fix names the values, and that quoting searches for the text."""
    found = parse_query("type:DELTAS frm:x type:")
    assert not isinstance(found, Query)
    value, unknown, empty = found
    assert all(f"`{name}`" in value.fix for name in MESSAGE_TYPES)
    assert "did you mean `DELTA`?" in value.fix
    assert "double quotes" in unknown.fix
    assert all(f"`{name}:" in unknown.fix for name in FILTER_NAMES)
    assert "without a space before it" in empty.fix


def test_faults_have_an_end() -> None:
    """A thousand faults are not listed one by one."""
    values = ",".join(f"x{number}" for number in range(1_000))
    for text in (f"type:{values}", " ".join(f"a{'b' * n}:x" for n in range(100))):
        found = parse_query(text)
        assert not isinstance(found, Query)
        assert len(found) == 50


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{number}" for number in range(501)),
        "item:" + ",".join(f"H{number}" for number in range(1, 502)),
        "thread:" + ",".join(map(str, range(501))),
        '"' + "a " * 501 + '"',
        "x" * 10_001,
        "é" * 5_001,
        "thread:" + "x," * 5_000,
    ],
)
def test_too_long(text: str) -> None:
    """What asks for too much is refused before anybody searches."""
    found = parse_query(text)
    assert not isinstance(found, Query)
    assert [each.id for each in found] == ["QUERY_TOO_LONG"]


def test_not_too_long() -> None:
    """Up to the limits all is well."""
    for text in (" ".join(f"w{number}" for number in range(500)), "x" * 10_000, "é" * 5_000):
        assert isinstance(parse_query(text), Query)


MESSAGE = Message(
    "RS-20251230-cell-fate",
    "BlueLake",
    ("RedSky",),
    "CRITIQUE: Naïve gradient",
    "decay of H2 in §42.\n\nThe mRNA decays; T1 is `viability_assay`.",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("naive", True),
        ("NAÏVE gradient", True),
        ('"naive gradient"', True),
        ('"gradient naive"', False),
        ('"gradient decay"', False),
        ("gradient decay", True),
        ('"decay of H2 in §42 the mRNA"', True),
        ("viability assay-viability", False),
        ("viability-assay", True),
        ("viabil", False),
        ("42", False),
        ("§42", True),
        ("critique", True),
        ("type:CRITIQUE", True),
        ("type:DELTA", False),
        ("type:DELTA,CRITIQUE", True),
        ("from:BlueLake", True),
        ("from:bluelake", False),
        ("from:RedSky,BlueLake", True),
        ("thread:RS-20251230-cell-fate", True),
        ("thread:other", False),
        ("item:T1", True),
        ("item:H1,H2", True),
        ("item:H1", False),
        ("before:2026-11-15T12:00Z", False),
        ("before:2026-11-15T12:00:00.000001Z", True),
        ("after:2026-11-15T12:00Z", True),
        ("after:2026-11-15T12:00:00.000001Z", False),
        ("before:2026-11-15", False),
        ("after:2026-11-15 before:2026-11-16", True),
        ("is:unread needs:ack", True),
        ("type:CRITIQUE from:BlueLake item:H2 naive", True),
        ("type:CRITIQUE from:BlueLake item:H2 other", False),
    ],
)
def test_matches(text: str, expected: bool) -> None:
    """Everything that a query asks for must hold; readers' own marks are not looked at here."""
    query = parse_query(text)
    assert isinstance(query, Query)
    assert matches(query, MESSAGE, NOON) is expected


def test_mail_of_no_type() -> None:
    """Mail that is not the protocol's has no type, and is found by its words."""
    other = MESSAGE._replace(subject="Lunch?")
    assert matches(Query(phrases=(("lunch",),)), other, NOON)
    assert not matches(Query(types=MESSAGE_TYPES), other, NOON)


def test_page_shows_queries_that_work() -> None:
    """Each line of the page's list is a query; every filter has one."""
    listed = re.search(r"~~~text\n(.*?)~~~", PAGE, re.DOTALL)
    assert listed
    shown = [re.split(r" {2,}|(?<=elsewhere\") ", line)[0] for line in listed[1].splitlines()]
    assert [text for text in shown if not isinstance(parse_query(text), Query)] == []
    assert [name for name in FILTER_NAMES if not any(f"{name}:" in text for text in shown)] == []


@pytest.mark.parametrize(
    ("finds", "text"),
    [("naive", "naïve"), ("fig", "ﬁg"), ("x2", "x²"), ("mRNA-decay", "mrna decay")],
)
def test_page_tells_the_truth_about_words(finds: str, text: str) -> None:
    """What the page says is found is found."""
    assert f"`{finds}`" in PAGE
    assert tokenize(finds) == tokenize(text)
