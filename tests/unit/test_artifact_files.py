"""Artifact files, ours and others': corners that the laws do not name."""

import re
from pathlib import Path

import pytest

from brenner.artifact.format import read_kill_words
from brenner.artifact.model import Artifact, Item, Metadata, make_fields
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.diagnostics.catalogue import chapters
from brenner.diagnostics.model import Code
from brenner.markdown.escape import (
    escape,
    escape_cell,
    escape_heading,
    escape_word,
    read_table,
    render_table,
    split_list,
    strip_strikethrough,
    unescape,
)
from brenner.markdown.front_matter import MOST_YAML_BYTES, read_front_matter
from cmark_reference import seen

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("code", chapters()["Artifact files"], ids=lambda code: code.id)
def test_examples_of_the_codes(code: Code) -> None:
    """The wrong side gets the code; the right side has nothing wrong with it."""
    wrong = parse_artifact(code.example.wrong).diagnostics
    assert code.id in {found.id for found in wrong}
    assert parse_artifact(code.example.right).diagnostics == ()


def test_the_example_of_the_documentation() -> None:
    """What docs/reference/artifact-format.md shows is what is written, byte for byte."""
    page = (ROOT / "docs" / "reference" / "artifact-format.md").read_text("utf-8")
    example = re.search(r"^~~~markdown\n(.*?)^~~~$", page, re.DOTALL | re.MULTILINE)
    assert example
    parsed = parse_artifact(example[1])
    assert parsed.diagnostics == ()
    assert render_artifact(parsed.artifact) == example[1]
    assert len(page.splitlines()) < 150


# --- Escaping -------------------------------------------------------------------------------------

PROSE = (
    "Cells read (at 4–6 °C) a gradient: p < 0.05, n <= 3; see Fig. 3 & snake_case!",
    "A [bracketed] note, #3, -5 or +5, 1. not a list, x = y > z @home {a}",
    "https://doi.org/10.1000/abc_def?x=1&y=2",
)
ESCAPED = {
    "a*b": r"a\*b",
    "_a_ b_": r"\_a\_ b\_",
    "a__b": r"a\_\_b",
    "<b>": r"\<b>",
    "x <": r"x \<",
    "AT&T &lt; &#65; &x": r"AT&T \&lt; \&#65; &x",
    "[a](b) [c]": r"[a\](b) [c]",
    "~5 $": r"\~5 \$",
    " a ": "&#x20;a&#x20;",
    "a\nb": "a\\\nb",
    "a\n\n- b\n1. c\n1.5\n  d\n-5": "a\\\n\\\n\\- b\\\n1\\. c\\\n1.5\\\n&#x20; d\\\n-5",
    "\n": "&#xA;",
    "a\x00\x85\u202e\ufeffb": "a&#x0;&#x85;&#x202E;&#xFEFF;b",
    "https://a.org/*": r"https\://a.org/\*",
    "http://a.org\nb": "http\\://a.org\\\nb",
}


@pytest.mark.parametrize("text", PROSE)
def test_prose_stays_as_it_is(text: str) -> None:
    """Ordinary sentences are not touched."""
    assert escape(text) == escape_heading(text) == escape_cell(text) == text


@pytest.mark.parametrize(("text", "escaped"), ESCAPED.items())
def test_escaped_text(text: str, escaped: str) -> None:
    """The rules of docs/reference/artifact-format.md, one by one."""
    assert escape(text) == escaped
    assert unescape(escaped) == text


def test_escaped_text_in_other_places() -> None:
    """Headings, cells, words and the further lines of an entry."""
    assert escape_heading("a\nb #") == "a&#xA;b \\#"
    assert escape_cell("a\n|b") == "a<br>\\|b"
    assert escape_word("H 1:a,[b") == "H&#x20;1\\:a\\,\\[b"
    assert escape_word("- x") == "\\-&#x20;x"
    assert escape("a\nb", "  ") == "a\\\n  b"


def test_text_of_others_is_decoded() -> None:
    """Named references, other line breaks; code is left alone, and so is what means nothing."""
    assert unescape("caf&eacute; &nope; \\a \\* a<BR/>b<br />c") == "café &nope; \\a * a\nb\nc"
    assert unescape("a  \nb\\\nc\t\nd") == "a\nb\nc\nd"
    assert unescape("`\\*&amp;` \\* ``a`\\`` \\`\\*\\`") == "`\\*&amp;` * ``a`\\`` `*`"
    assert unescape("&#xD800; &#1114112; &#99999999;") == "&#xD800; &#1114112; &#99999999;"


def test_struck_text() -> None:
    """Struck as a whole, or not at all."""
    assert strip_strikethrough("~~a~~") == "a"
    assert strip_strikethrough("~~a\\~~~") == "a\\~"
    assert [strip_strikethrough(raw) for raw in ("~~~~", "~~a", "~~a\\~~", "a~~", "")] == [None] * 5


def test_lists_on_one_line() -> None:
    """Commas part, but not when escaped or in brackets."""
    assert split_list("a, b\\, c, [d, e], \\[f, g]") == ["a", "b\\, c", "[d, e]", "\\[f", "g]"]
    assert split_list("a, [b, c") == ["a", "[b, c"]


# --- Tables ---------------------------------------------------------------------------------------


def test_tables() -> None:
    """Written and read; the pipes at the edges may be left out."""
    text = render_table(("a", "b"), [("1", ""), ("x \\| y", "2")])
    assert text == "| a | b |\n| --- | --- |\n| 1 |  |\n| x \\| y | 2 |"
    assert read_table(text, 7) == [(("a", "b"), 7), (("1", ""), 9), (("x | y", "2"), 10)]
    assert read_table("a | b\n:-: | -\n1 | 2", 1) == [(("a", "b"), 1), (("1", "2"), 3)]


@pytest.mark.parametrize("text", ["| a |", "| a |\n| b |", "| a | b |\n|---|", "a\n---"])
def test_what_is_no_table(text: str) -> None:
    """Without a row of dashes below, as many as there are cells, it is text."""
    assert not read_table(text, 1)


# --- Front matter ---------------------------------------------------------------------------------

UNREADABLE = {
    "": "does not begin with a line",
    "# Title": "does not begin with a line",
    "---\na: 1\n": "its closing line `---` is missing",
    "---\na: [\n---\n": "it is not YAML",
    "---\na: 1\na: 2\n---\n": 'duplicate entry with key "a"',
    "---\na: {b: 1, b: 2}\n---\n": "duplicate entry",
    "---\n1: a\n'1': b\n---\n": "the key `1` occurs twice",
    "---\n- a\n---\n": "it is not a list of `key: value`",
    "---\na: \ud800\n---\n": "it is not YAML",
    "---\na: \x01\n---\n": "it is not YAML",
    "---\na: *b\n---\n": "it is not YAML",
    "---\na: " + "x" * MOST_YAML_BYTES + "\n---\n": "it is larger than 65,536 bytes",
    "---\na: " + "[" * 5000 + "\n---\n": "it has more than 2,000 brackets",
    "---\na: &b x\nc: [" + "*b, " * 200 + "]\n---\n": "it has more than 100 aliases",
    "---\na: " + "[" * 102 + "]" * 102 + "\n---\n": "it is nested deeper than 100",
    "---\na: " + "[" * 3000 + "]" * 3000 + "\n---\n": "it has more than 2,000 brackets",
}


@pytest.mark.parametrize(("text", "reason"), UNREADABLE.items())
def test_unreadable_front_matter(text: str, reason: str) -> None:
    """It is not there, or there is a reason; the rest of the file is read all the same."""
    matter = read_front_matter(text)
    assert matter.values is None
    assert reason in matter.reason
    parsed = parse_artifact(f"{text}\n## 1. Research Thread\n\n**RT**: Why?\n")
    assert parsed.artifact.research_thread.text("statement") == "Why?"
    assert parsed.outline.no_front_matter == matter.reason


def test_lines_of_an_error_count_in_the_file() -> None:
    """The library counts from the line after the fence."""
    assert "at line 3 " in read_front_matter("---\na: 1\nb: @\n---\n").reason


def test_keys_of_other_kinds() -> None:
    """They become texts, and what JSON does not have, too."""
    values = read_front_matter("---\n2: a\nnull: b\ntrue: [.inf, 2025-12-30]\n---\n").values
    assert values == {"2": "a", "null": "b", "true": ["inf", "2025-12-30"]}


def test_long_front_matter_of_our_own() -> None:
    """What we write we read, however long, and numbers of any size."""
    metadata = Metadata(session_id="x" * 100_000, extra={"k" * 2000: [1 << 80] * 3000})
    artifact = Artifact(metadata)
    assert parse_artifact(render_artifact(artifact)).artifact == artifact


# --- Whole files ----------------------------------------------------------------------------------

SMALL = Artifact(
    Metadata(session_id="RS-20251230-cell-fate", version=3),
    Item("RT", make_fields({"statement": "Why?\nHow?"})),
)


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_and_byte_order_mark(ending: str) -> None:
    """Editors that change them change nothing."""
    text = "\ufeff" + render_artifact(SMALL).replace("\n", ending)
    assert parse_artifact(text).artifact == SMALL
    assert parse_artifact(text).diagnostics == ()


def test_structure_inside_code_counts_for_nothing() -> None:
    """A heading in a fence of another program's file is text of the field above it."""
    parsed = parse_artifact(
        "## 2. Hypothesis Slate\n\n### H1: One\n\n**Claim**: as in\n\n```\n### H9: No\n```\n"
    )
    (item,) = parsed.artifact.sections["hypothesis_slate"]
    assert item.text("claim") == "as in\n\n```\n### H9: No\n```"
    assert [found.id for found in parsed.diagnostics] == ["FIELD_FORM"]


def test_outline() -> None:
    """What the rules about files look at."""
    parsed = parse_artifact(
        "---\nversion: v3\n---\n\n## 4. Discriminative Tests\n\n### T2: a\n\n### T1: b\n\n"
        "## 3. Predictions Table\n\n| ID | Observation/Condition | H1 |\n|---|---|---|\n\n"
        "## 6. Anomaly Register\n\n*None registered.*\n"
    )
    outline = parsed.outline
    assert outline.front_matter == {"version": "v3"}
    assert parsed.artifact.metadata.version == 3
    assert outline.headings == (
        ("discriminative_tests", 5),
        ("predictions_table", 11),
        ("anomaly_register", 16),
    )
    assert outline.columns == ("ID", "Observation/Condition", "H1")
    assert outline.tests == ("T2", "T1")
    assert [test.id for test in parsed.artifact.sections["discriminative_tests"]] == ["T1", "T2"]
    assert outline.says_none_registered
    assert parsed.diagnostics == ()


def test_predictions_under_headings() -> None:
    """Other programs write them so; they are read, with a warning."""
    parsed = parse_artifact(
        "## 3. Predictions Table\n\n### P1: Early graft\n\n**Predictions**:\n\n- H1: stays\n"
    )
    (row,) = parsed.artifact.sections["predictions_table"]
    assert row == Item(
        "P1", make_fields({"condition": "Early graft", "predictions": {"H1": "stays"}})
    )
    assert [found.id for found in parsed.diagnostics] == ["HEADING_FORM", "FIELD_FORM"]


def test_viewers_see_line_breaks() -> None:
    """A text of several lines is shown on as many."""
    body = render_artifact(SMALL).split("\n---\n", 1)[1]
    assert "Why?\\\nHow?" in body
    assert "RT: Why? How?" in [each.text for each in seen(body)]


# --- Where things stand ---------------------------------------------------------------------------


def test_lines_of_items_that_share_an_id() -> None:
    """Each has its own; by ID only the first is known."""
    parsed = parse_artifact(
        "## 2. Hypothesis Slate\n\n### H2: b\n\n**Claim**: y\n\n### H1: a\n\n### H2: c\n\n"
        "**Claim**: z\n\n### Without\n\n### Nor this\n\n## 3. Predictions Table\n\n"
        "| Observation/Condition | H1 |\n|---|---|\n| Early | stays |\n| Late | goes |\n"
    )
    slate = parsed.item_lines["hypothesis_slate"]
    assert [item.id for item in parsed.artifact.sections["hypothesis_slate"]] == [
        *("H1", "H2", "H2", "", ""),
    ]
    assert [places[()] for places in slate] == [7, 3, 9, 13, 15]
    assert [places.get(("claim",)) for places in slate] == [None, 5, 11, None, None]
    rows = parsed.item_lines["predictions_table"]
    assert [places["predictions", "H1"] for places in rows] == [21, 22]
    assert parsed.lines["H2", "claim"] == 5
    assert parsed.item_lines["anomaly_register"] == ()


def test_all_lines_of_a_form_are_named() -> None:
    """Up to ten; the others are counted."""
    slate = "".join(f"### H{number} - x\n\n" for number in range(1, 14))
    (found,) = parse_artifact(f"## 2. Hypothesis Slate\n\n{slate}").diagnostics
    assert "in 13 places: lines 3, 5, 7, 9, 11, 13, 15, 17, 19, 21 and 3 more." in found.message


def test_an_unended_comment_is_listed_in() -> None:
    """It swallows the rest of the file, for a viewer, too."""
    parsed = parse_artifact("## 1. Research Thread\n\n**RT**: Why?\n\n<!-- oh\n\n**Context**: x\n")
    (found,) = parsed.diagnostics
    assert found.id == "TEXT_NOT_READ"
    assert found.line == 5
    assert parsed.artifact.research_thread == Item("RT", make_fields({"statement": "Why?"}))


KILL_WORDS = {
    "": ("", "", ""),
    "yes": ("", "", ""),
    " by RedCreek": ("RedCreek", "", ""),
    " by Ann Smith.": ("Ann Smith", "", ""),
    " 2025-12-30T10:00:00Z": ("", "2025-12-30T10:00:00Z", ""),
    " by RedCreek, 2025-12-30, too vague": ("RedCreek", "2025-12-30", "too vague"),
    " on 2025-12-30 by RedCreek: too vague": ("RedCreek", "2025-12-30", "too vague"),
    "yes, by RedCreek because it is silly": ("RedCreek", "", "it is silly"),
    ": too *vague*, by far": ("", "", "too *vague*, by far"),
}


@pytest.mark.parametrize(("words", "killed"), KILL_WORDS.items())
def test_words_of_a_kill(words: str, killed: tuple[str, str, str]) -> None:
    """Who, when and why, as far as they can be told."""
    assert read_kill_words(words) == killed


@pytest.mark.parametrize(
    "text",
    [
        "### H1: " + "[killed " * 20_000,
        "### H1: " + " (killed by A" * 20_000,
        "### H1: " + " — killed x" * 20_000,
        "### ~~H1: " + "~ \\" * 20_000,
        "### H1:" + " " * 100_000 + "x",
        "**Killed**: by " + "a " * 50_000,
        "Claim" + " " * 100_000,
        "<!-- " * 20_000,
        "x\n" * 20_000 + "---\n" * 20_000,
        "```\n---\na: b\n" * 10_000,
        "> ---\n> a: b\n\n" * 10_000,
        "# Brenner Protocol Artifact\n---\na: b\n---\n" * 1_000,
    ],
    ids=lambda text: text[:20].strip(),
)
def test_long_lines_of_nearly_something(text: str) -> None:
    """Reading them ends: what takes the square of this length would not, in the time tests have."""
    for before in ("", "## 2. Hypothesis Slate\n\n### H2: x\n\n"):
        parsed = parse_artifact(before + text)
        assert parsed.artifact.metadata.version is None
