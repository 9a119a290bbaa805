"""Somebody who writes to a thread while another process watches it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.workspace import Workspace, workspace_in
from session.backends import HOUSINGS, ProjectBackend, housed
from session.workspaces import ANN, BEA, THREAD, project_in


@contextmanager
def seat(folder: Path) -> Iterator[Workspace]:
    """A desk in the project of that folder, with two agents."""
    with workspace_in(project_in(folder), None, create=True) as workspace:
        for name in (ANN, BEA):
            workspace.mailbox.register(Profile(name))
        yield workspace


class Place(NamedTuple):
    """A project in some home, and a desk in it for who writes while another watches."""

    folder: Path
    workspace: Workspace


@pytest.fixture(params=HOUSINGS[1:], ids=lambda housing: housing.home.name)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """In every home that another process can open."""
    housing: ProjectBackend = request.param
    folder = tmp_path / "project"
    with housed(housing, folder, monkeypatch), seat(folder) as workspace:
        yield Place(folder, workspace)


def write(workspace: Workspace, sender: str, to: tuple[str, ...], subject: str, body: str) -> int:
    """A message as any program might store it, unchecked; its id."""
    return workspace.mailbox.send(Message(THREAD, sender, to, subject, body)).stored.id


def contribute(workspace: Workspace, sender: str, *blocks: dict[str, object]) -> int:
    """A DELTA with these blocks, to the operator."""
    fences = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
    to = (workspace.project.operator,)
    return write(workspace, sender, to, "DELTA[opus]: News", f"# Delta Contribution\n\n{fences}")


def acknowledge(workspace: Workspace, sender: str, number: int, status: str = "Received") -> int:
    """An ACK of a message, to the operator."""
    body = f"# Acknowledgement\n\n## Message ID\n{number}\n\n## Status\n{status}\n"
    to = (workspace.project.operator,)
    return write(workspace, sender, to, f"ACK: Message {number} of {sender}", body)
