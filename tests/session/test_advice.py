"""What the fixes say to type shows what they say that it shows."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.diagnostics.model import Diagnostic
from brenner.services.compile import CompileOptions, CompileResult, compile_thread
from brenner.services.workspace import Workspace
from program import brenner
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace

PUBLISH = CompileOptions()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """The operator in a project with two agents."""
    with new_workspace(tmp_path) as here:
        yield here


def told(compiled: CompileResult, code: str) -> Diagnostic:
    """The one warning of that code in the ledger."""
    (found,) = [each for entry in compiled.ledger for each in entry.diagnostics if each.id == code]
    return found


def typed(found: Diagnostic, folder: Path) -> str:
    """Everything that the commands of a fix print."""
    commands = re.findall(r"`brenner ([^`]*)`", found.fix)
    assert commands
    done = [brenner(*shlex.split(each.replace("THREAD", THREAD)), cwd=folder) for each in commands]
    assert [(each.code, each.err) for each in done] == [(0, "")] * len(commands)
    return "\n".join(each.out for each in done)


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("mechanism", "a gradient of dye", "a clock of genes"),
        ("anchors", ["§7"], ["§8"]),
    ],
)
def test_both_values_of_a_conflict(
    tmp_path: Path, workspace: Workspace, field: str, one: object, other: object
) -> None:
    """The value that stands and the one that it displaced."""
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, PUBLISH)
    replaced = {f"{field}_replace": True} if isinstance(one, list) else {}
    for agent, value in ((ANN, one), (BEA, other)):
        contribute(workspace, agent, edit("H1", **{field: value}, **replaced), base="v1")
    compiled = compile_thread(workspace, THREAD, PUBLISH)
    shown = typed(told(compiled, "CONFLICTING_EDIT"), tmp_path)
    for value in (one, other):
        assert (value[0] if isinstance(value, list) else str(value)) in shown


def test_edits_that_a_kill_did_not_see(tmp_path: Path, workspace: Workspace) -> None:
    """They are in the history of the item."""
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, PUBLISH)
    contribute(workspace, ANN, edit("H1", mechanism="a gradient of dye"), base="v1")
    contribute(workspace, BEA, edit("H1", reason="Too weak") | {"operation": "KILL"}, base="v1")
    compiled = compile_thread(workspace, THREAD, PUBLISH)
    shown = typed(told(compiled, "KILL_OVER_UNSEEN_EDITS"), tmp_path)
    assert "a gradient of dye" in shown
