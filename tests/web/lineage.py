"""Sessions whose items come from each other: a chain with branches, a kill, a broken reference."""

from pathlib import Path

from brenner.config import OPERATOR
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from session.workspaces import ANN, BEA, add, fenced, project_in
from web.disputed import block

FIRST, SECOND, THIRD = (
    "RS-20260105-cell-fate",
    "RS-20260112-gradient-range",
    "RS-20260119-who-reads-the-gradient",
)
GONE = "RS-20251201-lost-notebook"


def names_in(workspace: Workspace) -> None:
    for name in (OPERATOR, ANN, BEA):
        workspace.mailbox.register(Profile(name))


def session(
    workspace: Workspace, thread_id: str, question: str, *rounds: tuple[dict[str, object], ...]
) -> None:
    """A session with a version for each round of delta blocks."""
    body = f"# Why\n\n## Research Question\n{question}\n\n## Context\nCells differ.\n"
    mailbox = workspace.mailbox
    mailbox.send(Message(thread_id, OPERATOR, (ANN, BEA), "KICKOFF: Why", body))
    for number, blocks in enumerate(rounds):
        base = f"**Base Version**: v{number}\n\n" if number else ""
        text = f"# Delta Contribution\n\n{base}{fenced(*blocks)}"
        mailbox.send(Message(thread_id, ANN, (OPERATOR,), "DELTA[opus]: News", text))
        compile_thread(workspace, thread_id, CompileOptions())


def to(thread_id: str, item: str, relation: str) -> dict[str, str]:
    return {"session": thread_id, "item": item, "relation": relation}


def lineage(workspace: Workspace) -> Workspace:
    """Three sessions; an item of the third comes from all of them."""
    names_in(workspace)
    third = {"third_alternative": True}
    kill = block("KILL", "hypothesis_slate", "H2", reason="The gradient is too short for it")
    session(
        workspace,
        FIRST,
        "What tells a cell where it is?",
        (add("A gradient of morphogen"), add("Lineage alone"), add("Neither of them", **third)),
        (kill,),
    )
    session(
        workspace,
        SECOND,
        "How far does the gradient reach?",
        (
            add("The gradient reaches ten cells", references=[to(FIRST, "H1", "refines")]),
            add("It is relayed from cell to cell", references=[to(FIRST, "H2", "supersedes")]),
            add("A clock, not a distance", references=[to(FIRST, "H1", "refutes")], **third),
        ),
    )
    session(
        workspace,
        THIRD,
        "Who reads the gradient, and when?",
        (
            add(
                "Each cell reads it once, in the first hours after it was born from its mother",
                references=[
                    to(SECOND, "H1", "extends"),
                    to(FIRST, "H1", "informed_by"),
                    to(GONE, "H4", "replicates"),
                ],
            ),
            add("It is read all the time", references=[to(SECOND, "H2", "informed_by")]),
            add("Nobody reads it", references=[to(THIRD, "H1", "refutes")], **third),
        ),
    )
    return workspace


def lineage_in(folder: Path) -> Workspace:
    """The same, in a new project."""
    from brenner.services.workspace import workspace_in

    folder.mkdir(exist_ok=True)
    return lineage(workspace_in(project_in(folder), None, create=True))
