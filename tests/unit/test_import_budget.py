"""A command loads what it needs: lines and classes of ours, within a budget per command.

Cold start is paid for every command that a person or a shell prompt runs. A change that needs more
raises the number in `import_budget.toml`, where a reviewer sees it.
"""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import brenner
from session.workspaces import ANN, THREAD, add, contribute, fenced, kickoff, new_workspace

SOURCE = Path(brenner.__file__).parent
BUDGET = tomllib.loads((Path(__file__).parent / "import_budget.toml").read_text("utf-8"))
_RUN = """
import sys
import brenner.__main__
from brenner.cli.main import run
code = run({arguments!r})
ours = [module for name, module in list(sys.modules.items()) if name.startswith("brenner")]
print("\\n".join(module.__file__ for module in ours if module.__file__), file=sys.stderr)
sys.exit(code)
"""


class Loaded(NamedTuple):
    """What a command has loaded of the program."""

    files: int
    lines: int
    classes: int


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a session that has something to compile, and a message file."""
    folder = tmp_path_factory.mktemp("budget")
    with new_workspace(folder) as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"))
    # An ID without advice: only for another one a check opens the store.
    head = f"Thread: COORD-daily-sync\nFrom: {ANN}\nTo: Operator\nSubject: INFO: Hello\n"
    (folder / "message.md").write_text(f"{head}\n# Hello\n\nHello.\n", "utf-8")
    return folder


def loaded(project: Path, arguments: list[str]) -> Loaded:
    """Run a command in a new interpreter, and count what it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN.format(arguments=arguments)],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {Path(line) for line in done.stderr.splitlines() if line.startswith(str(SOURCE))}
    texts = [path.read_text("utf-8") for path in found if path.suffix == ".py"]
    classes = sum(
        isinstance(node, ast.ClassDef) for text in texts for node in ast.walk(ast.parse(text))
    )
    return Loaded(len(texts), sum(text.count("\n") for text in texts), classes)


@pytest.mark.parametrize("name", BUDGET)
def test_a_command_stays_within_its_budget(project: Path, name: str) -> None:
    budget = BUDGET[name]
    now = loaded(project, [part.format(thread=THREAD) for part in budget["arguments"]])
    over = {
        kind: (count, budget[kind]) for kind, count in now._asdict().items() if count > budget[kind]
    }
    assert not over, "loaded more than import_budget.toml allows (now, budget)"


@pytest.mark.parametrize(
    ("arguments", "is_compared"),
    [
        ("check add.md", True),
        (f"mail send add.md --as {ANN}", True),
        ("check edit.md", False),
        (f"mail send edit.md --as {ANN}", False),
        ("check outside/add.md", False),
    ],
)
def test_only_an_added_hypothesis_of_a_project_is_compared_with_killed_ones(
    project: Path, tmp_path: Path, arguments: str, *, is_compared: bool
) -> None:
    payload: dict[str, object] = {"claim": "It is so"}
    edit: dict[str, object] = {**add("Wave", **payload), "operation": "EDIT", "target_id": "H1"}
    edit["payload"] = payload
    head = f"Thread: {THREAD}\nFrom: {ANN}\nTo: Operator\nSubject: DELTA[opus]: News\n\n"
    folder = tmp_path if "outside" in arguments else project
    for file, block in (("add", add("Wave")), ("edit", edit)):
        text = f"{head}# Delta Contribution\n\n## Deltas\n\n{fenced(block)}"
        (folder / f"{file}.md").write_text(text, "utf-8")
    script = _RUN.format(arguments=arguments.replace("outside/", "").split())
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    assert ("services/killed_hypotheses.py" in done.stderr) is is_compared
    assert "session/similarity.py" not in done.stderr  # nothing was killed


# Modules of the standard library that cost more than a millisecond. click imports `inspect`.
SLOW = {
    *("asyncio", "bz2", "email", "http.client", "lzma", "random"),
    *("shutil", "socket", "ssl", "subprocess", "tempfile"),
}


@pytest.mark.parametrize("name", BUDGET)
def test_a_command_does_without_slow_modules(project: Path, name: str) -> None:
    """They are imported where they are used: to run a program, to reach a server, for help."""
    arguments = [part.format(thread=THREAD) for part in BUDGET[name]["arguments"]]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "brenner", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "brenner.cli.main" in imported
    assert not imported & SLOW
