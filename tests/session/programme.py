"""A research programme: sessions over three months that refer to each other in all six ways."""

import json
from datetime import datetime
from pathlib import Path

from brenner.artifact.model import NO_ITEMS, Artifact, Item, Metadata, make_fields
from brenner.artifact.render import render_artifact
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from mail_shell import store_of
from session.workspaces import add, project_in

OLD = "RS-20251101-old-notebook"  # only a file
FATE = "RS-20260105-cell-fate"
GRADIENT = "RS-20260112-morphogen-gradient"
NOISE = "RS-20260201-noise-in-the-readout"
LOST = "RS-20260120-lost-session"  # nowhere
ALONE = "RS-20260301-nothing-to-do-with-it"
ANN, BEA, CAT = "BlueLake", "RedSky", "GreenDog"
WHY_KILLED = "The ratio is flat over the middle third."


def refers(*references: tuple[str, str, str]) -> dict[str, object]:
    """The field of an item that refers to these: session, item, relation."""
    keys = ("session", "item", "relation")
    return {"references": [dict(zip(keys, each, strict=True)) for each in references]}


def add_test(name: str, *references: tuple[str, str, str]) -> dict[str, object]:
    """An ADD of a test."""
    payload = {
        "name": name,
        "procedure": "Graft",
        "discriminates": "H1 vs H2",
        "expected_outcomes": {"H1": "a second axis", "H2": "none"},
        **refers(*references),
    }
    return {**add(name), "section": "discriminative_tests", "payload": payload}


def kill(target: str, reason: str) -> dict[str, object]:
    """A KILL of a hypothesis."""
    return {**add(""), "operation": "KILL", "target_id": target, "payload": {"reason": reason}}


class Programme:
    """A project in which mail comes in at given times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        store_of(folder).parent.mkdir(parents=True, exist_ok=True)

    def ask(self, thread: str, day: str, question: str) -> None:
        """A kickoff, at nine."""
        body = f"# Kickoff\n\n## Research Question\n{question}\n\n## Context\nCells differ.\n"
        self._send(f"{day}T09:00:00", Message(thread, "Operator", (ANN,), "KICKOFF: Go", body))

    def tell(self, thread: str, day: str, sender: str, *blocks: dict[str, object]) -> None:
        """A DELTA, at ten, and the version that it makes, at twelve."""
        fences = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
        body = f"# Delta Contribution\n\n{fences}"
        to = ("Operator",)
        self._send(f"{day}T10:00:00", Message(thread, sender, to, "DELTA[opus]: News", body))
        with self._mailbox(f"{day}T12:00:00") as mailbox:
            workspace = Workspace(mailbox, project_in(self.folder), "Operator")
            compiled = compile_thread(workspace, thread, CompileOptions())
        assert {entry.state for entry in compiled.ledger} == {"applied"}

    def file(self, artifact: Artifact) -> None:
        """The file of a session whose mail is not here."""
        folder = self.folder / "artifacts"
        folder.mkdir(exist_ok=True)
        name = f"{artifact.metadata.session_id}.md"
        (folder / name).write_text(render_artifact(artifact), "utf-8")

    def _send(self, at: str, message: Message) -> None:
        with self._mailbox(at) as mailbox:
            for name in (message.sender, *message.recipients):
                mailbox.register(Profile(name), update=True)
            mailbox.send(message)

    def _mailbox(self, at: str) -> SqliteMailbox:
        now = datetime.fromisoformat(f"{at}+00:00")
        mailbox = SqliteMailbox.create(store_of(self.folder), clock=lambda: now)
        mailbox.register(Profile("Operator", task="operator"), update=True)
        return mailbox


def old_notebook(*references: tuple[str, str, str]) -> Artifact:
    """An artifact of which only the file is left."""
    payload = {"name": "Something in the egg is unequal", "claim": "It is", **refers(*references)}
    first = Item("H1", make_fields(payload))
    return Artifact(
        Metadata(session_id=OLD, version=3, status="closed"),
        sections={**NO_ITEMS, "hypothesis_slate": (first,)},
    )


def play_programme(folder: Path) -> None:
    """Three sessions and a file; kills, all six relations, and two references to nothing."""
    world = Programme(folder)
    world.file(old_notebook())
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    gradient = add("A gradient tells where", **refers((OLD, "H1", "extends")))
    world.tell(FATE, "2026-01-05", BEA, gradient, add("Cells count"), add_test("Graft"))
    world.tell(FATE, "2026-01-06", CAT, kill("H2", "Blocked cells count as well"))
    world.ask(GRADIENT, "2026-01-12", "How steep must a gradient be?")
    ratio = add("A ratio is read", **refers((FATE, "H1", "refines"), (FATE, "T1", "informed_by")))
    slope = add("The slope is read", **refers((FATE, "H1", "extends"), (FATE, "H2", "refutes")))
    again = add_test("Graft again", (FATE, "T1", "replicates"), (FATE, "T9", "informed_by"))
    world.tell(GRADIENT, "2026-01-12", ANN, ratio, slope, again)
    world.tell(GRADIENT, "2026-01-13", CAT, kill("H1", WHY_KILLED))
    world.ask(NOISE, "2026-02-01", "How do cells decide in spite of noise?")
    both = add("Both are read", **refers((GRADIENT, "H1", "refines"), (GRADIENT, "H2", "extends")))
    late = add("Late is right", **refers((NOISE, "H1", "supersedes"), (LOST, "H1", "extends")))
    world.tell(NOISE, "2026-02-01", CAT, both, late)
    world.ask(ALONE, "2026-03-01", "Is there anything else?")
    world.tell(ALONE, "2026-03-01", ANN, add("No"))
