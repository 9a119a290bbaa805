"""A project with a mailbox and a thread, and short ways to write to it."""

import json
from pathlib import Path

from brenner.config import Project, find_project
from brenner.mail.model import Profile
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.workspace import Workspace, workspace_in

THREAD = "RS-20251230-cell-fate"
ANN, BEA = "BlueLake", "RedSky"
KICKOFF = (
    "# Cell fate\n\n## Research Question\nWhat tells a cell where it is?\n\n"
    "## Context\nCells differ by place.\n"
)


def project_in(folder: Path | str) -> Project:
    """The project of that folder: with the store that its settings name, if it has any."""
    return find_project(str(folder), {})


def new_workspace(folder: Path, actor: str | None = None) -> Workspace:
    """A desk in the project of that folder, with two agents."""
    folder.mkdir(exist_ok=True)
    workspace = workspace_in(project_in(folder), actor, create=True)
    for name in (ANN, BEA):
        workspace.mailbox.register(Profile(name))
    return workspace


def write(workspace: Workspace, sender: str, subject: str, body: str) -> StoredMessage:
    """A message as any program might store it, unchecked."""
    to = ("Operator",) if sender != "Operator" else (ANN, BEA)
    return workspace.mailbox.send(Message(THREAD, sender, to, subject, body)).stored


def kickoff(workspace: Workspace, body: str = KICKOFF) -> StoredMessage:
    """The kickoff of the session."""
    return write(workspace, "Operator", "KICKOFF: Cell fate", body)


def contribute(
    workspace: Workspace, sender: str, *blocks: dict[str, object], base: str = ""
) -> StoredMessage:
    """A DELTA with these blocks."""
    stated = f"**Base Version**: {base}\n\n" if base else ""
    body = f"# Delta Contribution\n\n{stated}{fenced(*blocks)}"
    return write(workspace, sender, "DELTA[opus]: News", body)


def fenced(*blocks: dict[str, object]) -> str:
    """Delta blocks as a body has them."""
    return "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)


def add(name: str, **more: object) -> dict[str, object]:
    """An ADD of a hypothesis."""
    payload = {"name": name, "claim": f"{name} decides", "mechanism": "It acts", "anchors": ["§1"]}
    return {
        "operation": "ADD",
        "section": "hypothesis_slate",
        "target_id": None,
        "payload": {**payload, **more},
        "rationale": "It explains more",
    }


def edit(target: str, **payload: object) -> dict[str, object]:
    """An EDIT of a hypothesis."""
    return {
        "operation": "EDIT",
        "section": "hypothesis_slate",
        "target_id": target,
        "payload": payload,
        "rationale": "It was too weak",
    }
