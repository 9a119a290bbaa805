"""The laws of the artifact's text: exact both ways, nothing forged, nothing raised (R16)."""

import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from artifacts import FORMS, artifacts, metadata, texts
from brenner.artifact.format import (
    Location,
    ParsedArtifact,
    names_third_alternative,
    render_metadata,
)
from brenner.artifact.model import (
    LAYOUT,
    SCORE_LABELS,
    TITLE,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    Result,
    in_display_order,
    item_sort_key,
    make_fields,
)
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.markdown.escape import (
    escape,
    escape_cell,
    escape_heading,
    escape_word,
    split_row,
    unescape,
)
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    FieldKind,
    Section,
)
from cmark_reference import GITHUB, Seen, seen
from strategies import HOSTILE, any_text

pytestmark = pytest.mark.fuzz


def one(section: Section, values: dict[str, object], killed: KillRecord | None = None) -> Artifact:
    """An artifact with one item."""
    item = Item(section.example_id, make_fields(values), killed)
    empty: dict[str, tuple[Item, ...]] = {
        layout.section.id: () for layout in LAYOUT if layout.section is not RESEARCH_THREAD
    }
    return Artifact(Metadata(), sections=empty | {section.id: (item,)})


TEST, ASSUMPTION = LAYOUT[3].section, LAYOUT[4].section


@given(artifacts())
@example(one(HYPOTHESIS_SLATE, {"name": "x (Third Alternative)", "third_alternative": True}))
@example(one(TEST, {"name": "a\\", "score": {"cost": 0}}))
@example(one(ASSUMPTION, {"status": "KILLED"}))
@example(one(ASSUMPTION, {"status": "Killed by Ann: no", "name": "x — killed"}))
@example(one(HYPOTHESIS_SLATE, {"name": "Foo (KILLED)"}))
@example(one(HYPOTHESIS_SLATE, {"name": "Foo [KILLED by Ann 2025-12-30: vague]"}))
@example(one(HYPOTHESIS_SLATE, {"name": "- killed", "third_alternative": True}))
@example(one(HYPOTHESIS_SLATE, {"name": "<del>x</del>", "claim": "a\nMechanism: b\nKilled by Ann"}))
@example(one(TEST, {"name": "x (Score 9/12)", "expected_outcomes": {"Feasibility": "x"}}))
@example(one(HYPOTHESIS_SLATE, {"name": "~~x~~ [KILLED]"}, KillRecord("a, b", "c, d", "~~")))
def test_parse_render_artifact(artifact: Artifact) -> None:
    """parse(render(x)) == x for artifacts, and render(parse(render(x))) == render(x)."""
    text = render_artifact(artifact)
    parsed = parse_artifact(text)
    assert parsed.diagnostics == ()
    assert parsed.artifact == artifact
    assert render_artifact(parsed.artifact) == text
    assert text.endswith("\n")
    assert "\n\n\n" not in text
    assert "\r" not in text


def _everywhere(text: str) -> dict[str, object]:
    return {"name": text, "procedure": text, "expected_outcomes": {"H1": text}}


def test_every_character_comes_back() -> None:
    """All Unicode scalar values, in a paragraph, a heading, a list and a cell."""
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    for start in range(0, len(points), 1 << 16):
        text = "x".join(map(chr, points[start : start + (1 << 16)]))
        artifact = one(TEST, _everywhere(text))
        rendered = render_artifact(artifact)
        assert parse_artifact(rendered).artifact == artifact
        assert seen(rendered.split("\n---\n", 1)[1]) == list(_expected(artifact))
        assert unescape(split_row(f"| {escape_cell(text)} |")[0]) == text
        assert unescape(escape_word(text)) == text


@given(texts)
def test_escaped_text_comes_back(text: str) -> None:
    """unescape(escape(x)) == x, wherever x stands."""
    assert unescape(escape(text)) == text
    assert unescape(escape_heading(text)) == text
    assert unescape(split_row(f"| {escape_cell(text)} |")[0]) == text
    assert unescape(escape_word(text)) == text


@given(artifacts(), st.randoms(use_true_random=False))
def test_equal_artifacts_give_equal_bytes(artifact: Artifact, random: Any) -> None:
    """The order in which fields and keys were set leaves no trace."""

    def shuffled(value: Any) -> Any:
        if not hasattr(value, "items"):
            return value
        pairs = [(key, shuffled(each)) for key, each in value.items()]
        random.shuffle(pairs)
        return dict(pairs)

    sections = {
        section_id: tuple(item._replace(fields=shuffled(item.fields)) for item in items)
        for section_id, items in artifact.sections.items()
    }
    known = {key: shuffled(value) for key, value in artifact.metadata._asdict().items()}
    other = artifact._replace(metadata=Metadata(**known), sections=shuffled(sections))
    assert other == artifact
    assert render_artifact(other) == render_artifact(artifact)


@given(metadata)
def test_front_matter_reads_the_same_as_yaml(written: Metadata) -> None:
    """What we write is YAML: the library reads what our own reader reads."""
    text = render_metadata(written)
    values = read_front_matter(text).values
    assume(all(map(_is_small, re.findall(r"[0-9]+", text))))
    with_comment = text.replace("---\n", "---\n# so that YAML has to read it\n", 1)
    assert values is not None
    assert read_front_matter(with_comment).values == values


def _is_small(digits: str) -> bool:
    """The library's integers have 64 bits."""
    return int(digits) < 1 << 63


# --- No field's text can forge structure ---------------------------------------------------------


def _words(text: str) -> str:
    return " ".join(text.replace("\0", "\N{REPLACEMENT CHARACTER}").split())


def _line(label: str, value: str, killed: bool = False) -> Seen:
    return Seen("p", _words(f"{label}: {value}"), _words(label), _words(value) if killed else "")


def _entry(text: str, killed: bool) -> Seen:
    return Seen("li", _words(text), struck=_words(text) if killed else "")


def _field(label: str, kind: FieldKind, value: Any, killed: bool) -> Iterator[Seen]:
    if kind is FieldKind.OUTCOMES or kind is FieldKind.DESCRIPTIONS:
        yield Seen("p", f"{_words(label)}:", _words(label))
        for key, text in sorted(value.items(), key=lambda pair: item_sort_key(pair[0])):
            yield _entry(f"{key}: {text}", killed)
    elif kind is FieldKind.REFERENCES:
        yield from _references(label, value, killed)
    elif kind is FieldKind.RESULTS:
        yield Seen("p", f"{label}:", label)
        for result in value:
            yield _result(result, killed)
    elif kind is FieldKind.SCORE:
        given = [f"{name}={value[part]}" for part, name in SCORE_LABELS.items() if part in value]
        yield _line(label, ", ".join(given), killed)
    elif kind in (FieldKind.ANCHORS, FieldKind.ITEMS):
        yield _line(label, ", ".join(value), killed)
    else:
        yield _line(label, "true" if value is True else value, killed)


def _result(result: Result, killed: bool) -> Seen:
    """One entry with all its parts; their names are in bold."""
    parts = {
        "potency": result.potency.replace("_", " "),
        "contradicts": ", ".join(result.contradicts),
        "supports": ", ".join(result.supports),
        "verdict": "derived" if result.derived else "",
        "observed": result.observed_at,
        "evidence": ", ".join(result.evidence) or "claimed",
        "note": result.note,
    }
    given = {name: text for name, text in parts.items() if text}
    text = "; ".join([f"Outcome: {result.outcome}", *(f"{n}: {t}" for n, t in given.items())])
    seen = _entry(text, killed)
    return seen._replace(bold="".join(given))


def _references(label: str, value: tuple[Reference, ...], killed: bool) -> Iterator[Seen]:
    yield Seen("p", f"{_words(label)}:", _words(label))
    for session, item, relation in value:
        yield _entry(f"{relation} {session} {item}", killed)


def _kill(killed: KillRecord | None, prefix: str = "") -> Iterator[Seen]:
    if killed:
        yield _line(f"{prefix}Killed by", f"{killed.agent}, {killed.at}")
        yield _line(f"{prefix}Reason", killed.reason)


def _heading(item: Item) -> Seen:
    text = f"{item.id}: {item.text('name')}"
    if item.score:
        text += f" (Score: {sum(item.score.values())}/12)"
    if "third_alternative" in item.fields and not names_third_alternative(item.text("name")):
        text += " (Third Alternative)"
    if not item.killed:
        return Seen("h3", _words(text))
    return Seen("h3", f"{_words(text)} [KILLED]", struck=_words(text))


def _table(artifact: Artifact) -> Iterator[Seen]:
    rows = artifact.sections[PREDICTIONS_TABLE.id]
    names = {item.id for item in artifact.sections[HYPOTHESIS_SLATE.id]}
    names |= {key for row in rows for key in row.mapped("predictions")}
    columns = sorted(names, key=item_sort_key)
    for name in ("ID", "Observation/Condition", *columns):
        yield Seen("th", _words(name))
    for row in rows:
        outcomes = row.mapped("predictions")
        cells = [row.text("condition"), *(outcomes.get(key, "") for key in columns)]
        for cell, html in [(row.id, 0), *((cell, cell[1:-1].count("\n")) for cell in cells)]:
            struck = _words(cell) if row.killed else ""
            yield Seen("td", _words(cell), struck=struck, html=html)
    for row in rows:
        if "outcomes" in row.fields:
            declared = row.fields["outcomes"]
            yield from _field(
                f"{row.id} Outcomes", FieldKind.DESCRIPTIONS, declared, bool(row.killed)
            )
        if row.references:
            yield from _references(f"{row.id} References", row.references, bool(row.killed))
        yield from _kill(row.killed, f"{row.id} ")


def _expected(artifact: Artifact) -> Iterator[Seen]:
    session_id = artifact.metadata.session_id
    yield Seen("h1", _words(f"{TITLE}: {session_id}" if session_id else TITLE))
    for layout in LAYOUT:
        section = layout.section
        yield Seen("h2", layout.heading)
        if section is PREDICTIONS_TABLE:
            yield from _table(artifact)
            continue
        is_thread = section is RESEARCH_THREAD
        items = (artifact.research_thread,) if is_thread else artifact.sections[section.id]
        if section is ANOMALY_REGISTER and not items:
            yield Seen("p", "None registered")
        for item in in_display_order(section, items):
            if not is_thread:
                yield _heading(item)
            for name, label in layout.labels.items():
                if name in item.fields:
                    kind = section.fields[name].kind
                    yield from _field(label, kind, item.fields[name], bool(item.killed))
            yield from _kill(item.killed)


@given(artifacts())
def test_no_text_forges_structure(artifact: Artifact) -> None:
    """A viewer sees the headings, items, cells and marks of the artifact, and all of its text."""
    body = render_artifact(artifact).split("\n---\n", 1)[1]
    expected = list(_expected(artifact))
    assert seen(body) == expected
    # A viewer that makes links of addresses shows the same text.
    links = [each._replace(others=()) for each in seen(body, GITHUB)]
    assert links == expected
    assert {name for each in seen(body, GITHUB) for name in each.others} <= {"a"}


PIECES = (*FORMS, *HOSTILE, "a", "Z", "1", "é")
KILL = KillRecord("BlueLake", "2025-12-30T10:00:00Z", "Subsumed")


@given(st.integers(0, 1 << 32))
def test_no_text_is_markup(seed: int) -> None:
    """Each text by itself, in a heading, a paragraph, an entry and a cell, struck and not.

    Thirty texts at a time, put together without Hypothesis, which would repeat itself.
    """
    random = Random(seed)  # noqa: S311
    many = ["".join(random.choices(PIECES, k=random.randint(1, 6))) for _ in range(30)]
    kills = [KILL if number % 2 else None for number in range(len(many))]
    tests = tuple(
        Item(f"T{number}", make_fields(_everywhere(text)), kill)
        for number, (text, kill) in enumerate(zip(many, kills, strict=True), 1)
    )
    rows = tuple(
        Item(f"P{number}", make_fields({"condition": text, "predictions": {"H1": text}}), kill)
        for number, (text, kill) in enumerate(zip(many, kills, strict=True), 1)
    )
    filled = {**one(TEST, {}).sections, TEST.id: tests, PREDICTIONS_TABLE.id: rows}
    artifact = Artifact(Metadata(), sections=filled)
    rendered = render_artifact(artifact)
    body = rendered.split("\n---\n", 1)[1]
    expected = list(_expected(artifact))
    assert seen(body) == expected
    assert [each._replace(others=()) for each in seen(body, GITHUB)] == expected
    assert parse_artifact(rendered).artifact == artifact


# --- Any text -----------------------------------------------------------------------------------


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Texts that are nearly artifacts: lines lost, doubled, moved, and others' forms put in."""
    lines = render_artifact(draw(artifacts())).split("\n")
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(lines)))
        count = draw(st.integers(0, 3))
        lines[at : at + count] = draw(st.lists(st.sampled_from(OTHERS), max_size=2))
    return draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])).join(lines)


OTHERS = (
    *("### H2: Name [KILLED]", "### [KILLED] H2: Name", "~~### H2: Name~~", "**Status**: KILLED"),
    *(
        "### H3: Three (KILLED)",
        "### H4: Four — killed by Ann",
        "### ~~H4~~: Four",
        "### H9: ~~x~~",
    ),
    *(
        "### <del>H3: x</del>",
        "**Kill reason**: a",
        "**Killed**: yes, by Ann 2025-12-30: b",
        "KILLED",
    ),
    *(
        "*Killed by Ann (2025-12-30): c*",
        "#### Mechanism",
        "Mechanism: d",
        "**H8: Eight**",
        "- **H9**: x",
    ),
    *(
        "**Expected outcomes**: H1: a; H2: b",
        "<!-- a -->",
        "<!-- a",
        "***",
        "> # Brenner",
        "[a]: b",
        "# Appendix",
    ),
    *(
        "```markdown",
        "# Brenner Protocol Artifact",
        "__Claim__: x",
        "- LR: 3",
        "| P1 (KILLED) | x | y |",
    ),
    *("### H1 - Name", "## H1: Name", "### T1: Name (Score: 9/12)", "#### Notes", "### Name"),
    *("# Research Thread", "## Hypotheses", "## 8. Notes", "- **Claim**: text", "* **claim:** x"),
    *("**Claim**: a\\", "**Mechanism**: b", "**Killed by**: Ann at 2025-12-30", "**Reason**: c"),
    *("**Expected outcomes**:", "- **H1**: x", "- H2", "  - H3: y", "**References**: a b c"),
    *(
        "**P1 Reason**: z",
        "| P1 | x | y | z |",
        "| a | b |",
        "|---|---|",
        "---",
        "===",
        "```",
        "> q",
    ),
    *("<div>", "    code", "1. one", "text", "", "", "None registered", "**Anchors**: §1, [a, b"),
    *("**Third alternative**: yes", "**Evidence-per-week score**: LR=9, x", "~~**Claim**: x~~"),
)


@given(st.one_of(documents(), any_text))
@example("---\n\ud800\n---")
@example("## 2. Hypothesis Slate\n\n### H1: x (Third Alternative)\n")
@example("---\n" + "[" * 3000 + "\n---")
@example("---\n" + '{"a":' * 1500 + "\n---")
def test_reading_never_raises(text: str) -> None:
    """Whatever the text, it is read; places and diagnostics stand on lines that are there."""
    parsed = parse_artifact(text)
    count = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(1 <= line <= count for line in parsed.lines.values())
    assert all(1 <= (found.line or 0) <= count for found in parsed.diagnostics)
    for section_id, items in parsed.artifact.sections.items():
        places = parsed.item_lines[section_id]
        assert len(places) == len(items)
        for item, own in zip(items, places, strict=True):
            assert set(item.fields) <= {place[0] for place in own if place}
            assert all(1 <= line <= count for line in own.values())
    assert not (parsed.outline.front_matter is None and not parsed.outline.no_front_matter)


@given(documents())
def test_what_was_read_can_be_written(text: str) -> None:
    """What reading another program's text gives, written in our form, reads the same again."""
    first = parse_artifact(text).artifact
    again = parse_artifact(render_artifact(first)).artifact
    assert again.metadata == first.metadata
    assert again.research_thread == first.research_thread
    for section_id, items in first.sections.items():
        ids = [item.id for item in items]
        if len(set(ids)) == len(ids):
            assert again.sections[section_id] == items


def _lines_of(parsed: ParsedArtifact, section: Section, item: Item) -> Mapping[Location, int]:
    if section is RESEARCH_THREAD:
        return {each[1:]: line for each, line in parsed.lines.items() if each[:1] == (item.id,)}
    return parsed.item_lines[section.id][parsed.artifact.sections[section.id].index(item)]


@given(artifacts())
def test_places_are_the_lines_of_the_text(artifact: Artifact) -> None:
    """Every field is found on the line that shows it."""
    text = render_artifact(artifact)
    parsed = parse_artifact(text)
    lines = ["", *text.split("\n")]
    for layout in LAYOUT:
        assert lines[parsed.lines[(layout.section.id,)]] == f"## {layout.heading}"
    for section, item in artifact.all_items():
        labels = next(each for each in LAYOUT if each.section is section).labels
        for name in item.fields:
            line = lines[parsed.lines[(item.id, name)]]
            if name == "name":
                assert line.startswith("### ")
            elif section is PREDICTIONS_TABLE and name not in labels:
                assert line.startswith("| ")
            else:
                assert line.startswith("**")
                assert f"{labels[name]}**:" in line
        if [each.id for _, each in artifact.all_items()].count(item.id) == 1:
            by_id = {place: line for place, line in parsed.lines.items() if place[0] == item.id}
            own = _lines_of(parsed, section, item)
            assert {(item.id, *place): line for place, line in own.items()} == by_id
    for key in parsed.outline.front_matter or {}:
        assert lines[parsed.lines[("metadata", key)]].startswith((f"{key}:", '"'))
