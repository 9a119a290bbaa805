"""A session with a conflict, a kill and a critique, and pages of it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.rendering import render_html
from brenner.web.request import Page, PageFunction, RequestContext
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace, write

SOURCE = "# A text\n\n## §1 The first\n\nCells *differ*.\n\n## §2 The second\n\nBy place.\n"
OLD, NEW, LOST = "Gradient decides", "It is read for hours", "It is read once"


def block(operation: str, section: str, target: str | None, **payload: object) -> dict[str, object]:
    """A delta block."""
    return {
        "operation": operation,
        "section": section,
        "target_id": target,
        "payload": payload,
        "rationale": "It explains more",
    }


def outcomes(**cells: str) -> dict[str, object]:
    """An ADD of a prediction."""
    return block(
        "ADD", "predictions_table", None, condition="The disc is cut, as §2 says", predictions=cells
    )


def opened(folder: Path) -> Workspace:
    """A session whose v1 has three hypotheses, a prediction and a critique."""
    folder.mkdir(exist_ok=True)
    (folder / "source.md").write_text(SOURCE)
    (folder / "brenner.toml").write_text('source_text = "source.md"\n')
    workspace = new_workspace(folder)
    kickoff(workspace)
    third = add("Neither", third_alternative=True, mechanism="Neither H1 nor H4, nor H2O: §1, §9")
    critique = block(
        *("ADD", "adversarial_critique", None),
        name="Both",
        attack="H1 may hold too",
        evidence="e",
        current_status="open",
    )
    first = (add("Gradient"), add("Lineage"), third, outcomes(H1="falls", H2="stays"), critique)
    contribute(workspace, ANN, *first)
    compiled(workspace)
    return workspace


def disputed(folder: Path) -> Workspace:
    """The same, after a round in which both edited H1, and one killed H2."""
    workspace = opened(folder)
    write(
        workspace,
        BEA,
        "CRITIQUE: H1 is vague",
        "# Critique\n\n## Target\nH1\n\n## Attack\nVague.\n",
    )
    contribute(workspace, ANN, block("EDIT", "hypothesis_slate", "H1", claim=LOST), base="v1")
    kill = block("KILL", "hypothesis_slate", "H2", reason="Refuted: see C1 and §2")
    edit = block("EDIT", "hypothesis_slate", "H1", claim=NEW)
    contribute(workspace, BEA, edit, kill, base="v1")
    compiled(workspace)
    return workspace


def compiled(workspace: Workspace) -> None:
    """The next version."""
    compile_thread(workspace, THREAD, CompileOptions())


def visit_to(
    workspace: Workspace,
    path: str,
    named: Mapping[str, str],
    asked: Mapping[str, str] | None = None,
) -> RequestContext:
    """A visit a minute from now."""
    now = datetime.now(UTC) + timedelta(minutes=1)
    return RequestContext(site_of(workspace, ServeSettings()), path, now, named, asked or {})


def looked(function: PageFunction, visit: RequestContext) -> tuple[dict[str, Any], str]:
    """The document of a page, and the page as a browser gets it."""
    page = function(visit)
    assert isinstance(page, Page)
    return dict(page.document), render_html(page, visit)
