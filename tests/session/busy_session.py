"""A session in the middle of its second round, in which everything is open that can be."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from brenner.config import find_project
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message, StoredMessage
from brenner.protocol.roster import Roster, RosterEntry, render_configuration
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from mail_shell import store_of
from session.workspaces import THREAD, add, edit

ANN, BEA, GIL, GUEST = "BlueLake", "RedSky", "GreenDog", "PurpleMountain"
ROLES = {ANN: "hypothesis_generator", BEA: "test_designer", GIL: "adversarial_critic"}
ELSEWHERE = "RS-20250101-never-there"
QUESTION = "What tells a cell where it is, and how does it know when to stop dividing?"
_ROSTER = render_configuration(Roster(tuple(RosterEntry(*each) for each in ROLES.items())))


def critique(name: str) -> dict[str, object]:
    """An ADD of a critique."""
    payload = {"name": name, "attack": "a", "evidence": "e", "current_status": "Open"}
    kind = {"operation": "ADD", "section": "adversarial_critique", "rationale": "r"}
    return kind | {"payload": payload}


class Stage:
    """A project whose clock is set by hand: mail comes in when the test says."""

    def __init__(self, folder: Path, thread_id: str = THREAD, *, hours: int = 24) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "brenner.toml").write_text(f"ack_deadline_hours = {hours}\n", "utf-8")
        store_of(folder).parent.mkdir(exist_ok=True)
        self.thread_id = thread_id
        self.at = datetime.now(UTC) - timedelta(hours=30)
        self.mailbox = SqliteMailbox.create(store_of(folder), clock=lambda: self.at)
        self.workspace = Workspace(self.mailbox, find_project(str(folder), {}), "Operator")
        for name in ("Operator", *ROLES, GUEST):
            self.mailbox.register(Profile(name), update=True)

    def send(self, sender: str, to: str, subject: str, body: str) -> StoredMessage:
        """A message, a minute after the last one."""
        self.at += timedelta(minutes=1)
        recipients = tuple(to.split())
        return self.mailbox.send(Message(self.thread_id, sender, recipients, subject, body)).stored

    def kickoff(self, *names: str, title: str = "Cell fate") -> list[int]:
        """Each is asked by a kickoff of her own."""
        return [
            self.send(
                "Operator",
                name,
                f"KICKOFF: {title}",
                f"# {title}, for {name}\n\n## Research Question\n{QUESTION}\n\n"
                f"## Context\nCells differ by place.\n\n{_ROSTER}",
            ).id
            for name in names or ROLES
        ]

    def acknowledge(self, sender: str, message_id: int, status: str = "Received") -> None:
        """An ACK that names the message."""
        body = f"## Message ID\n{message_id}\n\n## Status\n{status}\n"
        self.send(sender, "Operator", "ACK: Thank you", body)

    def contribute(self, sender: str, *blocks: dict[str, object] | str) -> int:
        """A DELTA with these blocks."""
        texts = [each if isinstance(each, str) else json.dumps(each) for each in blocks]
        body = "# Delta\n\n" + "".join(f"```delta\n{text}\n```\n\n" for text in texts)
        return self.send(sender, "Operator", "DELTA[opus]: News", body).id

    def compile(self, *, close: bool = False) -> None:
        """Publish the next version."""
        self.at += timedelta(minutes=1)
        compile_thread(self.workspace, self.thread_id, CompileOptions(close=close))

    def close(self) -> None:
        """Let go of the store."""
        self.mailbox.close()


def busy(folder: Path, thread_id: str = THREAD) -> None:
    """One version; of the second round: an answer, a silence, a blocker, a question, and more."""
    stage = Stage(folder, thread_id, hours=2)
    for name, number in zip(ROLES, stage.kickoff(), strict=True):
        stage.acknowledge(name, number)
    reference = {"session": ELSEWHERE, "item": "H1", "relation": "extends"}
    stage.contribute(ANN, add("Gradient"), add("Clock", references=[reference]))
    stage.contribute(GIL, critique("Too shallow"), critique("Clocks drift"), edit("H17", claim="x"))
    stage.contribute(BEA, {"operation": "ADD", "section": "hypotheses", "payload": {"name": "N"}})
    stage.compile()
    first, *_ = stage.kickoff(title="Round 2")
    stage.at = datetime.now(UTC) - timedelta(hours=5)
    stage.acknowledge(ANN, first)
    stage.contribute(ANN, edit("H1", claim="A steep one"), add("Contact"), "{broken")
    stage.send(GIL, f"{ANN} Operator", "CRITIQUE: H2", "## Target\nH2\n\n## Critique\nNo reader\n")
    stage.send(BEA, "Operator", "QUESTION: Strain?", "## Question\nWhich strain?\n")
    stage.send(BEA, "Operator", "BLOCKED: No strain", "## Blocker\nThe freezer is empty\n")
    stage.send(GUEST, ANN, "HANDOFF: Anomalies", "## Handing Off\nX1 to X3\n")
    stage.send(GUEST, "Operator", "INFO: I am here too", "hello\n")
    stage.close()
