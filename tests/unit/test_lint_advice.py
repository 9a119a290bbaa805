"""The fixes of the lint rules work: they name sections and fields that the schema has."""

import re
from pathlib import Path

import pytest

from brenner.artifact.model import Artifact, Item, make_fields
from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.catalogue import CATALOGUE
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import SourceText
from brenner.lint.linter import RULES, lint
from brenner.protocol.delta.schema import RESULT_FIELDS, SCORE_PARTS, SECTIONS, FieldKind
from brenner.protocol.delta.validate import validate_delta

_FILE = Path(__file__).parents[1] / "conformance" / "artifacts" / "valid.md"
_VALID = parse_artifact(_FILE.read_text("utf-8")).artifact
_WORD = re.compile(r"[`\"]([a-z_]{3,})[`\"]")
_SECTION = re.compile(r"(?:EDIT \(|ADD to |an EDIT \()`([a-z_]+)`")
_VALUES = {"inference", "axiomatic", "indeterminate", "true", "false"}


@pytest.mark.parametrize("name", RULES)
def test_fix_names_fields_of_its_section(name: str) -> None:
    """Every field that a fix names is one of the section that it names."""
    fix = CATALOGUE[name].fix
    sections = [SECTIONS[each] for each in _SECTION.findall(fix)]
    allowed = {*SECTIONS, *SCORE_PARTS, *_VALUES, "reason"}  # of a KILL
    for section in sections:
        choices = {each for field in section.fields.values() for each in field.choices}
        kinds = {field.kind for field in section.fields.values()}
        inside = RESULT_FIELDS if FieldKind.RESULTS in kinds else ()
        allowed |= {*section.fields, *section.replace_flags, *choices, *inside}
    if sections:
        assert set(_WORD.findall(fix)) <= allowed


# Rules on the items of several sections: the fix depends on the item


def _artifact(section: str, **fields: object) -> tuple[Artifact, str]:
    """The valid artifact with other fields in the first item of a section, and the item's ID."""
    first, *rest = _VALID.sections[section]
    changed = Item(first.id, make_fields({**first.fields, "references": (), **fields}))
    sections = {**_VALID.sections, section: (changed, *rest)}
    return _VALID._replace(sections=sections), first.id


def _found(code: str, where: tuple[Artifact, str], *sections: int) -> list[Diagnostic]:
    artifact, item = where
    source = SourceText.of("talks.md", sections) if sections else None
    report = lint(artifact, source)
    return [each for each in report.violations if (each.id, each.item) == (code, item)]


@pytest.mark.parametrize(
    ("section", "claim", "others"),
    [
        ("assumption_ledger", "statement", ("load", "test", "calculation", "implication")),
        ("anomaly_register", "observation", ("resolution_plan",)),
    ],
)
def test_premises_without_anchors(section: str, claim: str, others: tuple[str, ...]) -> None:
    """These sections have no anchors: the fix names the field, and to follow it is enough."""
    plain = dict.fromkeys(others, "x")
    where = _artifact(section, **plain, **{claim: "It holds [inference]."})
    (found,) = _found("WP-P02", where)
    assert f"in `{claim}`" in found.fix
    assert "anchors" not in found.fix
    text = f"It holds {re.findall('`… (.*?)`', found.fix)[0]}."
    payload = {claim: text}
    delta = {"operation": "EDIT", "section": section, "target_id": where[1], "payload": payload}
    assert validate_delta({**delta, "rationale": "r"})[1] == []
    assert _found("WP-P02", _artifact(section, **plain, **payload)) == []


def test_premises_of_a_hypothesis_are_anchors() -> None:
    plain = {"claim": "c", "mechanism": "m", "how_this_could_be_true": "t"}
    where = _artifact("hypothesis_slate", **plain, anchors=("inference",))
    (found,) = _found("WP-P02", where)
    assert '`"anchors": ["§42", "§57 [inference]"]` and `"anchors_replace": true`' in found.fix
    anchors = ("§42", "§57 [inference]")
    assert _found("WP-P02", _artifact("hypothesis_slate", **plain, anchors=anchors)) == []


@pytest.mark.parametrize("name", [each for each in SECTIONS if each != "research_thread"])
def test_wrong_citation_is_corrected_where_it_is(name: str) -> None:
    """EP-P01 names the field with the citation, never a field that the section lacks."""
    fields = SECTIONS[name].fields
    text = next(
        field.name
        for field in fields.values()
        if field.kind is FieldKind.TEXT and field.name != "name"
    )
    found = _found("EP-P01", _artifact(name, **{text: "As §999 says."}), *range(1, 300))
    (wrong,) = (each for each in found if "§999" in each.message)
    assert wrong.field == text
    assert f"in `{text}`." in wrong.fix
    assert "anchors" not in wrong.fix
