"""The tool that runs mutants finds their statements again after code was moved or renamed."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
CODE = """
class Roster:
    def find(self, name):
        if name in self.names:
            return self.names[name]
        elif len(name) > 3:
            return None
        return Found(
            name=name,
            line=self.lines + 1,
        )

def find(text):
    return text.find("a") + 1
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("mutant_sample")


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("mutants")


def texts(tool: ModuleType, mutant: tuple[str, str, str], *files: str) -> list[str]:
    """Return the mutated statements that are found in files of these texts."""
    function, original, mutated = mutant
    core = [
        statement
        for number, text in enumerate(files)
        for statement in tool.statements(f"src/brenner/file_{number}.py", text)
    ]
    sought = tool.Mutant("M001", "brenner.file_1", function, "kind", original, mutated)
    return [mutated for _, mutated in tool.find(sought, core)]


COMPARISON = ("Roster.find", "elif len(name) > 3:", "elif len(name) >= 3:")
SUM = (
    "Roster.find",
    "return Found(\n    name=name,\n    line=self.lines + 1,\n)",
    "return Found(\n    name=name,\n    line=self.lines + 2,\n)",
)


def test_mutant_is_found(tool: ModuleType) -> None:
    """The file, line breaks and parentheses do not matter."""
    assert texts(tool, COMPARISON, "", CODE) == ["elif len(name) >= 3:"]
    wrapped = CODE.replace("len(name) > 3", "(\n            len(name)\n            > 3\n        )")
    assert texts(tool, COMPARISON, wrapped) == ["elif len(name) >= 3:"]
    function = ("find", 'return text.find("a") + 1', 'return text.find("b") + 1')
    assert texts(tool, function, CODE) == ['return text.find("b") + 1']


def test_renames_are_followed(tool: ModuleType) -> None:
    """The mutated text gets the new name; too many new names make another statement."""
    assert texts(tool, COMPARISON, CODE.replace("name", "agent")) == ["elif len(agent) >= 3:"]
    assert texts(tool, COMPARISON, CODE.replace("Roster", "Agents")) == ["elif len(name) >= 3:"]
    other = CODE.replace("len(name) > 3", "count(agent) > 3")
    assert texts(tool, COMPARISON, other) == []


def test_other_lines_may_change(tool: ModuleType) -> None:
    """A long statement is found by the lines that are mutated."""
    found = texts(tool, SUM, CODE.replace("name=name,", "name=str(name),"))
    assert found == ["return Found(\n    name=str(name),\n    line=self.lines + 2,\n)"]


def test_mutant_is_gone(tool: ModuleType) -> None:
    """Another constant, or another function, is not the same statement."""
    assert texts(tool, COMPARISON, CODE.replace("> 3", "> 4")) == []
    assert texts(tool, COMPARISON, CODE.replace("def find(self", "def search(self")) == []


def test_mutant_is_ambiguous(tool: ModuleType) -> None:
    """Two such statements are both reported, unless one is in the module of the hint."""
    assert len(texts(tool, COMPARISON, CODE, "", CODE)) == 2
    assert len(texts(tool, COMPARISON, CODE, CODE)) == 1


def test_files_with_mutants_and_probes(tool: ModuleType) -> None:
    """Only the statement changes, and a probe of `elif` stands before its `if`."""
    (statement,) = (
        each for each in tool.statements("a.py", CODE) if each.text == "elif len(name) > 3:"
    )
    mutated = tool.mutated_file(CODE, statement, "elif len(name) >= 3:")
    assert mutated == CODE.replace("> 3", ">= 3")
    lines = tool.probed_file(CODE, [("M001", statement)]).split("\n")
    assert lines[3:5] == [
        "        __import__('mutants_probe').hit('M001')",
        "        if name in self.names:",
    ]


def test_sample_is_written_as_read(tool: ModuleType) -> None:
    """Writing the sample changes nothing."""
    text = tool.SAMPLE.read_text("utf-8")
    _, mutants = tool.read_sample(text)
    assert tool.write_sample(text, mutants) == text


def test_score(runner: ModuleType) -> None:
    """Equivalent, gone and broken mutants do not count, and neither do they in the baseline."""
    statuses = dict.fromkeys("ab", runner.KILLED) | {"c": runner.SURVIVED, "d": runner.NOT_COVERED}
    assert (
        runner.score(statuses | {"e": runner.GONE, "f": runner.EQUIVALENT, "g": runner.BROKEN})
        == 0.5
    )
    baseline = {"survived": ["c"], "not_covered": []}
    assert runner.expected(baseline, {**statuses, "a": runner.GONE}) == pytest.approx(2 / 3)
