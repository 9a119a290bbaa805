"""Mail that comes in, for tests; also in a process of its own, where it must not take long."""

from pathlib import Path

from brenner.config import Project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.receive import IncomingMessage, receive
from brenner.services.workspace import Workspace

THREAD = "RS-20251230-cell-fate-choice"
ANN, OPERATOR = "BlueLake", "Operator"
GOOD = (
    '```delta\n{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,\n'
    ' "payload": {"name": "Memory", "claim": "Cells inherit it", "mechanism": "Marks",\n'
    ' "anchors": ["§42"]}, "rationale": "why"}\n```\n'
)
_KICKOFF = "# Fate\n\n## Research Question\nWhat decides?\n\n## Context\nCells.\n"
# Each makes some pattern that goes back take a time that grows with the square of its length.
HOSTILE = (
    "DELTA" + " " * 480 + ":" + " " * 480 + "a\nb",
    "x" + " " * 990 + "x",
    "re:" * 330,
    "DELTA gpt" + ".-" * 480,
    "DELTA[" + " " * 980 + "\n",
    "A" + "-" * 990,
    "\u2026" * 330,
)


def workspace_in_memory() -> Workspace:
    """A project in memory, with an agent whose model is known."""
    mailbox = MemoryMailbox()
    for name in (ANN, OPERATOR):
        mailbox.register(Profile(name, "codex-cli", "gpt-5"))
    return Workspace(mailbox, Project(Path("/group/cell-fate")), OPERATOR)


def make_message(subject: str, body: str, thread_id: str = THREAD) -> IncomingMessage:
    """A message to the operator."""
    return IncomingMessage(Message(thread_id, ANN, (OPERATOR,), subject, body))


def kick_off(workspace: Workspace) -> None:
    """Begin a session."""
    workspace.mailbox.send(Message(THREAD, OPERATOR, (ANN,), "KICKOFF: Fate", _KICKOFF))


def receive_hostile(times: str) -> None:
    """Take all of them in, so many times."""
    workspace = workspace_in_memory()
    kick_off(workspace)
    for _ in range(int(times)):
        for subject in HOSTILE:
            receive(workspace, make_message(subject, "no delta"))
