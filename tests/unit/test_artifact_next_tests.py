"""`brenner artifact tests` from the outside: what it prints of a file, and what it refuses."""

from pathlib import Path
from types import MappingProxyType

import pytest

from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, KillRecord, Metadata, make_fields
from brenner.artifact.render import render_artifact
from program import brenner
from terminal import in_terminal

KEYS = {"fast": "Within an hour", "slow": "After a day"}
HOSTILE = "Weigh \x1b[31mred\x07 " + "and weigh again " * 20


def test_item(item_id: str, outcomes: dict[str, str], /, **fields: object) -> Item:
    return Item(item_id, make_fields({"expected_outcomes": outcomes, **fields}))


test_item.__test__ = False  # type: ignore[attr-defined]


def artifact(*tests: Item) -> str:
    """An artifact with three active hypotheses, a killed one, and these tests."""
    killed = KillRecord("RedCreek", "2026-01-03T11:12:13Z", "It contradicts T1")
    slate = [Item(f"H{number}", make_fields({"name": f"Name {number}"})) for number in (1, 2, 3)]
    slate.append(Item("H4", make_fields({"name": "Name 4"}), killed))
    sections = {section.id: () for section in ITEM_SECTIONS} | {
        "hypothesis_slate": tuple(slate),
        "discriminative_tests": tests,
    }
    metadata = Metadata("RS-20251230-cell-fate", 3, compiled_at="2026-01-02T10:00:00Z")
    return render_artifact(Artifact(metadata, sections=MappingProxyType(sections)))


TESTS = (
    test_item("T1", {"H1": "grows", "H2": "Grows.", "H4": "fades"}, name="Same words"),
    test_item(
        "T2",
        {"H1": "fast", "H2": "slow", "H3": "indeterminate"},
        name=HOSTILE,
        outcomes=KEYS,
        score={"cost": 3, "speed": 1},
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cell-fate.md"
    path.write_text(artifact(*TESTS), "utf-8")
    return path


def test_what_a_pipe_gets(file: Path) -> None:
    done = brenner(
        *("artifact", "tests", file.name, "--prior", "H1=1", "--reliability", ".9"), cwd=file.parent
    )
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    first, inputs, _, _, _, *rows, _, chosen, pairs, parts = done.out.splitlines()
    assert first == "cell-fate.md, 3 active hypotheses"
    assert inputs == (
        "Priors: H1 1, all others 1. Reliability of tests: 0.9. All hypotheses apart: 1.585 bits."
    )
    # 1 − ⅔ · H(0.95, 0.05) − ⅓ · 1 bits; $300; 13 weeks
    assert rows[0].split()[:6] == ["T2", "0.476", "1.59", "0.0366", "4/12", "declared"]
    assert rows[1] == "  H1 | H2; no statement: H3"
    assert rows[2].split() == ["T1", "0.000", "wording", "Same", "words"]
    assert rows[3] == "  H1, H2; no statement: H3"
    assert chosen == "Smallest set of tests for all pairs that a test tells apart, by key: T2."
    assert pairs == "No test separates H3 from H1 or H2."
    assert parts == "Figures per cost and per week need Cost and Speed in the score."


def test_a_narrow_terminal(file: Path) -> None:
    shown = in_terminal(80, "artifact", "tests", str(file), NO_COLOR="1")
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "T2" in shown


def test_without_tests_and_without_hypotheses(tmp_path: Path) -> None:
    (tmp_path / "none.md").write_text(artifact(), "utf-8")
    done = brenner("artifact", "tests", "none.md", cwd=tmp_path)
    assert done.code == 0
    assert "No active tests. To add one: `brenner new DELTA`" in done.out
    document = brenner("artifact", "tests", "none.md", "--json", cwd=tmp_path).json
    assert (document["tests"], document["separating_set"]) == ([], [])
    assert document["unseparated"] == [["H1", "H2"], ["H1", "H3"], ["H2", "H3"]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("priors = 3", "`priors` is not a table"),
        ("[priors]\nH1 = ", "INVALID_PRIORS_FILE"),
        ("[priors]\nH1 = true", "`H1` in priors.toml: its weight is not a number"),
        ("[priors]\nH1 = inf", "its weight is not a number"),
        ("[priors]\nH1 = 0x" + "f" * 5000, "its weight is not a number"),
        ("[priors]\nH1 = 1\nh1 = 2", "`H1` is given twice"),
        ("[reliability]\nT1 = '1'", "`T1 = 0.9` under `[reliability]`"),
        ("[reliability]\nT3 = 1", "Tests in v3: T1"),
        ("[" * 100_000, "INVALID_PRIORS_FILE"),
    ],
)
def test_files_that_cannot_be_used(file: Path, text: str, reason: str) -> None:
    (file.parent / "priors.toml").write_text(text, "utf-8")
    done = brenner("artifact", "tests", file.name, "--priors", "priors.toml", cwd=file.parent)
    assert done.code == 1
    assert reason in done.err
