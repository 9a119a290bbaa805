"""Lint: the same report from the model and from its rendered text; never raises; fixes mend."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts import artifacts
from brenner.artifact.merge.engine import merge
from brenner.artifact.model import NO_FIELDS, Artifact, Item, KillRecord, Result, make_fields
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import adopted_state
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lint.context import SourceText, read_source_text
from brenner.lint.linter import FILE_ONLY, RULES, LintReport, lint, lint_text
from brenner.lint.sarif import to_sarif
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.delta.schema import (
    POTENCIES,
    RESEARCH_THREAD,
    SCORE_PARTS,
    FieldKind,
    Section,
)
from brenner.protocol.messages import Message, StoredMessage
from strategies import any_text

pytestmark = pytest.mark.fuzz

ARTIFACTS = Path(__file__).parents[1] / "conformance" / "artifacts"
VALID_TEXT = (ARTIFACTS / "valid.md").read_text("utf-8")
VALID = parse_artifact(VALID_TEXT).artifact
SOURCE = SourceText.of("talks.md", [*range(40, 46), 50, 57])
AT = datetime(2026, 1, 1, tzinfo=UTC)

# Values as authors get them nearly right, so that every rule and every fix has something to do
_TEXTS = st.sampled_from(
    ["Cells count.", "Cells count [inference].", "As §42 says.", "H1 vs H9", "third alternative"]
)
_KEYS = st.sampled_from(["H1", "H2", "H3", "H4", "H9", "h1", "all"])
_NEARLY: dict[FieldKind, st.SearchStrategy[Any]] = {
    FieldKind.TEXT: _TEXTS,
    FieldKind.CHOICE: st.sampled_from(["active", "Active", "verifed", "unverified", "verified"]),
    FieldKind.FLAG: st.booleans(),
    FieldKind.ANCHORS: st.lists(
        st.sampled_from(["§42", "§42-45", "§42-§45", "¬ß42", "42", "p. 9", "inference", "§45-42"]),
        max_size=3,
    ),
    FieldKind.ITEMS: st.lists(st.sampled_from(["H1", "H4", "H9", "RT", "h1"]), max_size=3),
    FieldKind.OUTCOMES: st.dictionaries(_KEYS, st.sampled_from(["x", "X", "—"]), max_size=4),
    FieldKind.SCORE: st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3)),
    FieldKind.DESCRIPTIONS: st.dictionaries(st.sampled_from(["x", "y"]), _TEXTS, max_size=2),
    FieldKind.RESULTS: st.lists(
        st.builds(
            Result,
            st.sampled_from(["x", "other"]),
            st.sampled_from(POTENCIES),
            st.lists(_KEYS, max_size=2).map(tuple),
            evidence=st.sampled_from([(), ("§42",)]),
        ),
        max_size=2,
    ),
    FieldKind.REFERENCES: st.lists(
        st.fixed_dictionaries(
            {
                "session": st.sampled_from(["RS-20251230-cell-fate", "RS-20251228-initial"]),
                "item": st.sampled_from(["H4", "T9", "A1"]),
                "relation": st.just("refines"),
            }
        ),
        max_size=2,
    ),
}
_KILLED = KillRecord("BlueLake", "2025-12-30T12:00:00Z", "Refuted by T1.")


@st.composite
def nearly_valid(draw: st.DrawFn) -> Artifact:
    """The valid artifact with some fields changed or taken out, and some items killed."""
    changes = draw(st.integers(0, 5))
    items = [(section, item) for section, item in VALID.all_items()]
    for _ in range(changes):
        index = draw(st.integers(0, len(items) - 1))
        section, item = items[index]
        items[index] = (section, draw(_changed(section, item)))
    sections: dict[str, tuple[Item, ...]] = dict.fromkeys(VALID.sections, ())
    for section, item in items[1:]:
        sections[section.id] += (item,)
    return Artifact(VALID.metadata, items[0][1], MappingProxyType(sections))


@st.composite
def _changed(draw: st.DrawFn, section: Section, item: Item) -> Item:
    if section is not RESEARCH_THREAD and draw(st.integers(0, 5)) == 0:
        return item._replace(killed=item.killed or _KILLED)
    field = draw(st.sampled_from(list(section.fields.values())))
    value = draw(st.one_of(st.none(), _NEARLY[field.kind]))
    return item._replace(fields=make_fields(dict(item.fields) | {field.name: value}))


def seen(report: LintReport) -> list[tuple[object, ...]]:
    """All that a report says, lines aside."""
    return sorted(
        (each.id, each.item or "", each.field or "", each.message, each.fix, each.repaired or "")
        for each in report.violations
    )


@given(st.one_of(artifacts(), nearly_valid()), st.sampled_from([None, SOURCE]))
def test_same_report_from_model_and_text(artifact: Artifact, source: SourceText | None) -> None:
    """What the model breaks its rendered text breaks, and nothing else; each has a line there."""
    of_text = lint_text(render_artifact(artifact), source)
    assert seen(lint(artifact, source)) == seen(of_text)
    assert all(each.line for each in of_text.violations)


@given(st.one_of(any_text, any_text.map(lambda text: VALID_TEXT + text)), any_text)
def test_never_raises(text: str, source: str) -> None:
    """Any text has a report, and so has what is read from it; both can be shown."""
    given_source = read_source_text(source, "source.md")
    for report in (lint_text(text, given_source), lint(parse_artifact(text).artifact)):
        json.dumps(report.to_json())
        json.dumps(to_sarif(report, "a.md", "0"))
        assert report.valid is all(each.severity is not ERROR for each in report.violations)


@st.composite
def broken_texts(draw: st.DrawFn) -> str:
    """The valid text with lines taken out, repeated, moved and cut."""
    lines = VALID_TEXT.split("\n")
    for _ in range(draw(st.integers(1, 6))):
        at, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["drop", "swap", "copy", "cut"]))
        if change == "drop" and len(lines) > 1:
            del lines[at]
        elif change == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif change == "copy":
            lines.insert(other, lines[at])
        else:
            lines[at] = lines[at][: draw(st.integers(0, 20))]
    return "\n".join(lines)


@given(broken_texts())
def test_broken_texts(text: str) -> None:
    """Lines are lines of the text. Besides the rules about text, what the file breaks the model
    that was read from it breaks, too: no rule looks at the text where the model would do.
    """
    report = lint_text(text)
    last = text.count("\n") + 1
    assert all(each.line is None or 1 <= each.line <= last for each in report.violations)
    model = lint(parse_artifact(text).artifact)
    found = {(each.id, each.item, each.field) for each in model.violations}
    for each in report.violations:
        if each.id in RULES.keys() - FILE_ONLY - {"IM-002"}:
            assert (each.id, each.item, each.field) in found


@given(nearly_valid())
def test_fixes_mend(artifact: Artifact) -> None:
    """A delta that is given as a fix is sound, is applied, mends its violation, and breaks
    nothing that would make the artifact invalid.
    """
    report = lint(artifact)
    for found in report.violations:
        if found.repaired:
            (block,) = read_deltas(found.repaired)
            assert block.delta
            assert block.diagnostics == ()
            after = lint(_merged(artifact, found.repaired))
            assert _fault(found) not in map(_fault, after.violations)
            assert after.summary.errors <= report.summary.errors


@given(nearly_valid())
def test_all_fixes_in_one_message_mend(artifact: Artifact) -> None:
    """Sent together, in the order in which they are listed, they do not undo each other."""
    report = lint(artifact)
    after = lint(_merged(artifact, "\n".join(report.deltas)))
    mended = {_fault(found) for found in report.violations if found.repaired}
    assert mended.isdisjoint(map(_fault, after.violations))
    assert after.summary.errors <= report.summary.errors


def _merged(artifact: Artifact, body: str) -> Artifact:
    message = Message(
        thread_id=str(artifact.metadata.session_id),
        sender="BlueLake",
        recipients=("Operator",),
        subject="DELTA[opus]: What lint found",
        body=f"# Delta Contribution\n\n{body}",
        ack_required=None,
    )
    state = adopted_state(message.thread_id, artifact, AT, 1)
    result = merge(state, [StoredMessage(2, AT.replace(day=2), message)])
    assert [str(entry.state) for entry in result.ledger] == ["applied"] * body.count("```delta")
    return result.artifact


def _fault(found: Diagnostic) -> tuple[object, ...]:
    return (found.id, found.item, found.field, found.message)


@given(nearly_valid())
def test_fields_of_killed_items_do_not_matter(artifact: Artifact) -> None:
    """Whatever a killed item says or lacks, the report is the same."""
    bare = {
        section: tuple(each._replace(fields=NO_FIELDS) if each.killed else each for each in items)
        for section, items in artifact.sections.items()
    }
    assert lint(artifact, SOURCE) == lint(artifact._replace(sections=bare), SOURCE)
