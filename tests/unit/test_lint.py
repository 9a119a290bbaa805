"""Linting: the table of rules, killed items, the report, questions, fixes, SARIF."""

import json
import re
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import Any

from brenner.artifact.model import LAYOUT_BY_SECTION, Artifact, Item, KillRecord, make_fields
from brenner.artifact.parse import parse_artifact
from brenner.cli import artifact, main
from brenner.diagnostics.catalogue import chapters
from brenner.diagnostics.codes.lint_sections import EH_001, EH_004, IH_001, WH_001
from brenner.diagnostics.codes.lint_structure import EM_002
from brenner.lint.context import SourceText, make_file_context, read_source_text
from brenner.lint.helpers import MAX_SHARING_FIX
from brenner.lint.linter import FILE_ONLY, RULES, LintReport, lint, lint_text
from brenner.lint.rules_cross import QUESTIONS
from brenner.lint.sarif import to_sarif
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.delta.schema import SECTIONS
from conformance.lint_kind import pack_of, text_of

ROOT = Path(__file__).parents[2]
CONFORMANCE = ROOT / "tests" / "conformance"
CASES = [
    case
    for file in sorted((CONFORMANCE / "cases").glob("*.toml"))
    for case in tomllib.loads(file.read_text("utf-8"))["case"]
    if case["kind"] == "lint"
]
TEXT = (CONFORMANCE / "artifacts" / "valid.md").read_text("utf-8")
VALID = parse_artifact(TEXT).artifact
KILLED = KillRecord("BlueLake", "2025-12-30T12:00:00Z", "Refuted by T1.")


def item(item_id: str, killed: KillRecord | None = None, **values: object) -> Item:
    """An item with these fields."""
    return Item(item_id, make_fields(values), killed)


def with_items(section: str, *items: Item) -> Artifact:
    """The valid artifact with other items in one section."""
    return VALID._replace(sections=MappingProxyType(dict(VALID.sections) | {section: items}))


def ids(report: LintReport) -> list[str]:
    """The codes of a report, in its order."""
    return [found.id for found in report.violations]


# The table


def test_every_code_has_its_rule() -> None:
    """Each code of the chapter is found by one function of the table, and no function by two."""
    assert list(RULES) == [code.id for code in chapters()["Linting the artifact"]]
    assert len(set(RULES.values())) == len(RULES)
    assert RULES.keys() >= FILE_ONLY


def test_rules_on_files_are_silent_on_models() -> None:
    """An artifact without anything breaks no rule about text."""
    empty = Artifact(VALID.metadata)
    assert FILE_ONLY.isdisjoint(ids(lint(empty)))
    assert ids(lint(empty)) != []


def test_rules_find_their_own_code_only() -> None:
    """On the text of every conformance case; and every code is found in one of them."""
    fired = set()
    for case in CASES:
        parsed = parse_artifact(text_of(case))
        source = read_source_text(case.get("source_text", "## §1 x"), "s.md")
        on = make_file_context(parsed, source, pack_of(case))
        for code_id, rule in RULES.items():
            assert {found.id for found in rule(on)} <= {code_id}
        fired |= set(case["codes"])
    assert fired >= RULES.keys()


def test_valid_artifact() -> None:
    """The base of the conformance cases breaks no rule, as a text and as a model."""
    assert lint_text(TEXT).violations == lint(VALID).violations == ()
    assert lint(VALID).valid


# Killed items


def test_killed_item_needs_no_fields() -> None:
    """It does not count toward a minimum."""
    one, two, three = VALID.sections["assumption_ledger"]
    dead = item("A4", KILLED, name="x", status="nonsense", scale_check=True)
    assert ids(lint(with_items("assumption_ledger", one, two, three, dead))) == []
    dead = dead._replace(id="A2")
    assert ids(lint(with_items("assumption_ledger", one, dead, three))) == ["EA-001"]


def test_id_of_a_killed_item_still_counts() -> None:
    """It is checked for form, and keeps its place in the numbering."""
    active, dead = VALID.sections["assumption_ledger"], item("A5", KILLED, name="x")
    assert ids(lint(with_items("assumption_ledger", *active, dead))) == ["WS-001"]
    dead = dead._replace(id="A-4")
    found = lint(with_items("assumption_ledger", *active, dead)).violations
    assert [(each.id, each.item) for each in found] == [("ES-003", "A-4")]


# Numbering


def test_gap_in_ids_is_reported_as_a_range() -> None:
    one, two, three, _ = VALID.sections["hypothesis_slate"]
    far = three._replace(id="H999999999")
    (gap, *_) = [
        found
        for found in lint(with_items("hypothesis_slate", one, two, far)).violations
        if found.id == "WS-001"
    ]
    assert "`H3` to `H999999998`" in gap.message


def test_duplicate_id_is_one_violation() -> None:
    """There is no delta for an item that no delta can address."""
    one, two, three = VALID.sections["assumption_ledger"]
    wrong = two._replace(fields=MappingProxyType(dict(two.fields) | {"status": "Verified"}))
    report = lint(with_items("assumption_ledger", one, two, wrong, two, three))
    assert ids(report) == ["ES-004", "IA-001"]
    assert report.deltas == ()
    assert len(lint(with_items("assumption_ledger", one, wrong, three)).deltas) == 1


def test_lines_of_duplicate_ids() -> None:
    text = TEXT.replace("### A2: Grafts heal", "### A1: Grafts heal").replace("**Load**: T1 t", "T")
    lines = text.splitlines()
    found = {each.id: each for each in lint_text(text).violations}
    second = lines.index("### A1: Grafts heal") + 1
    assert found["ES-004"].line == found["WA-001"].line == second
    text = TEXT.replace(
        "| P1 | Early graft | old fate | new fate | mixed fate |", "| | x | a | b | |"
    )
    text = text.replace("| P2 | Late graft | old fate | new fate | old fate |", "| | y | c | d | |")
    rows = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("| | ")]
    found_cells = [each for each in lint_text(text).violations if each.id == "IP-001"]
    assert [each.line for each in found_cells] == rows
    assert [each.message.split("`")[1] for each in found_cells] == ["x.H3", "y.H3"]


def test_cells_of_many_third_alternatives() -> None:
    """No more of them are looked at than hypotheses are allowed, so that a report stays linear."""
    third = VALID.sections["hypothesis_slate"][2]
    many = [third._replace(id=f"H{number}") for number in range(1, 51)]
    report = lint(with_items("hypothesis_slate", *many))
    assert ids(report).count("EH-002") == 1
    assert ids(report).count("IP-001") == 9  # H4, H5 and H6 in each of the three rows


# The report


def test_violations_of_one_field_keep_the_order_of_the_file() -> None:
    text = TEXT.replace("**Anchors**: §50-53", "**Anchors**: z. 5, § 6, a. 7")
    values = [each.message.split("`")[3] for each in lint_text(text).violations]
    assert values == ["z. 5", "§ 6", "a. 7"]


def test_order_is_decided() -> None:
    """Worst first; then by section, item and rule, whatever order the rules come in."""
    found = [
        code.at(id=name, count=0, least=3)._replace(item=name)
        for code, name in ((EH_004, "H10"), (EH_004, "H2"), (IH_001, "H1"), (WH_001, "H3"))
    ]
    found += [EM_002.at(), EH_001.at(count=0, least=3)]
    expected = [
        *(("EM-002", None), ("EH-001", None), ("EH-004", "H2"), ("EH-004", "H10")),
        *(("WH-001", "H3"), ("IH-001", "H1")),
    ]
    for order in (found, found[::-1]):
        assert [(each.id, each.item) for each in LintReport.of(order).violations] == expected


def test_json() -> None:
    """The keys of the stable interface."""
    document = lint(with_items("anomaly_register", item("X1", name="n"))).to_json()
    assert document["valid"] is True
    assert document["summary"] == {"errors": 0, "warnings": 2, "info": 1}
    assert [each["id"] for each in _rows(document["violations"])] == ["WX-001", "WX-002", "IX-001"]
    assert {"id", "severity", "message", "fix", "line", "item", "field"} <= set(
        _rows(document["violations"])[0]
    )
    assert len(_rows(document["judgement"])) == len(QUESTIONS)
    assert json.loads(json.dumps(document)) == document


def _rows(value: object) -> list[dict[str, Any]]:
    assert isinstance(value, list)
    return value


def test_fixes_name_commands_that_exist() -> None:
    groups: dict[str, Any] = {"artifact": artifact.COMMANDS}
    named = 0
    titles = ("Linting the artifact", "Artifact files", "Merging", "Input and message files")
    for code in (each for title in titles for each in chapters()[title]):
        for text in (code.message, code.fix, code.why):
            for name, sub in re.findall(r"`brenner ([a-z]+)(?: ([a-z]+))?", text):
                named += 1
                assert name in main.COMMANDS, (code.id, name)
                assert not (sub and name in groups) or sub in groups[name], (code.id, sub)
    assert named > 2


# What is left to people


def test_questions_never_fire() -> None:
    """They belong to sections and rules that exist, all seven sections have one, and a valid
    artifact is valid with all of them open.
    """
    assert {section for section, _, _ in QUESTIONS} == set(SECTIONS)
    assert {rule for _, rules, _ in QUESTIONS for rule in rules} <= RULES.keys()
    assert lint(VALID).to_json()["judgement"] == [
        {"section": section, "rules": list(rules), "question": question}
        for section, rules, question in QUESTIONS
    ]


def test_questions_are_documented() -> None:
    """The page lists them word for word."""
    page = (ROOT / "docs" / "reference" / "lint.md").read_text("utf-8")
    assert len(page.splitlines()) < 80
    for section, _, question in QUESTIONS:
        assert f"| {LAYOUT_BY_SECTION[section].heading[3:]} | {question} |" in page
    assert all(f"`{code_id}`" in page for code_id in FILE_ONLY)


# Fixes


def test_one_delta_fixes_all_anchors_of_an_item() -> None:
    """Every violation refers to the delta, which is listed once."""
    one, *others = VALID.sections["hypothesis_slate"]
    wrong = one._replace(fields=MappingProxyType(dict(one.fields) | {"anchors": ("42", "§ 43")}))
    report = lint(with_items("hypothesis_slate", wrong, *others))
    assert ids(report) == ["WH-002", "WH-002"]
    assert {found.repaired for found in report.violations} == set(report.deltas)
    (block,) = read_deltas(report.deltas[0])
    assert block.delta
    assert block.delta.payload == {"anchors": ["§42", "§43"], "anchors_replace": True}
    many = tuple(str(number) for number in range(1, 100))
    wrong = one._replace(fields=MappingProxyType(dict(one.fields) | {"anchors": many}))
    report = lint(with_items("hypothesis_slate", wrong, *others))
    assert sum(found.repaired is not None for found in report.violations) == MAX_SHARING_FIX


def test_replacing_deltas_come_first() -> None:
    """One that adds a cell must not be undone by one that replaces the row."""
    row = item("P1", condition="x", predictions={"H1": "a", "H2": "b", "H9": "c"})
    _, *others = VALID.sections["predictions_table"]
    report = lint(with_items("predictions_table", row, *others))
    assert ids(report) == ["WP-101", "IP-001"]
    assert ["_replace" in block for block in report.deltas] == [True, False]


def test_no_delta_that_would_be_refused() -> None:
    """Nothing is left of a required field; too large; half a character."""
    anomaly = item("X1", name="n", observation="o §1", conflicts_with=["H77"], status="active")
    (found,) = lint(with_items("anomaly_register", anomaly)).violations
    assert (found.id, found.repaired) == ("WS-102", None)
    _, *others = VALID.sections["hypothesis_slate"]
    for claim in ("y" * 300_000, "\ud800"):
        wrong = item("H1", name="n", claim=claim, mechanism="m", anchors=["inference"])
        (label, source) = lint(with_items("hypothesis_slate", wrong, *others)).violations
        assert (label.id, source.id, label.repaired) == ("WH-003", "WP-P02", None)


def test_endless_numbers_in_anchors() -> None:
    """They are looked at, and neither computed nor put into a delta."""
    endless = "[external: §" + "9" * 5_000 + "-1 x]"
    thread = item("RT", statement="s", context="c", why_it_matters="w", anchors=[endless, "42"])
    (found,) = lint(VALID._replace(research_thread=thread)).violations
    assert (found.id, found.repaired) == ("WH-002", None)


# The source text


def test_cited_sections_in_any_text() -> None:
    """Once per item and citation, in anchors and elsewhere, and not in killed items."""
    source = SourceText.of("talks.md", [*range(42, 58), 61])
    assert ids(lint(VALID, source)) == []
    digits = "9" * 5_000
    long = item("X1", name="§7", observation=f"§7, §42-60, §{digits}", conflicts_with=["H1"])
    found = [
        each.message
        for each in lint(with_items("anomaly_register", long), source).violations
        if each.id == "EP-P01"
    ]
    assert len(found) == 3
    assert all("`talks.md`" in message for message in found)
    assert any("§42-60 (there is no §58)" in message for message in found)
    dead = long._replace(killed=KILLED)
    assert ids(lint(with_items("anomaly_register", dead), source)) == []


# SARIF


def test_sarif() -> None:
    """What the standard demands of a log, a run, a tool, a rule and a result."""
    broken = TEXT.replace("**Claim**: Cells read their position in a gradient.\n", "")
    report = lint_text(broken.replace("| mixed fate |", "| |"))
    log = json.loads(json.dumps(to_sarif(report, "a%20b.md", "0.1.0")))
    assert (log["version"], "$schema" in log) == ("2.1.0", True)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("brenner", "0.1.0")
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert [result["ruleId"] for result in run["results"]] == ["EH-004", "IP-001"]
    for result, found in zip(run["results"], report.violations, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == rules[result["ruleIndex"]]["defaultConfiguration"]["level"]
        assert found.message in result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == run["artifacts"][0]["location"]["uri"]
        assert place["artifactLocation"]["uri"] == "a%20b.md"
        assert place["region"]["startLine"] == found.line
    assert run["results"][1]["properties"]["repaired"] == report.violations[1].repaired
    assert "indeterminate" in run["results"][1]["properties"]["repaired"]
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_sarif_of_a_model() -> None:
    """Without lines there is no region, for a line must be at least 1."""
    (run,) = _rows(to_sarif(lint(Artifact(VALID.metadata)), "a.md", "0.1.0")["runs"])
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert places
    assert not any("region" in place for place in places)
