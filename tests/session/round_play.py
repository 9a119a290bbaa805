"""A session that goes on for rounds: short ways to play one, in whichever home its mail is."""

import json

from brenner.mail.model import Profile
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.acknowledge import acknowledge
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.next_round import RoundOptions, start_round
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import KickoffState, Started, StartOptions, start_session
from brenner.services.workspace import Workspace
from kickoffs import section

THREAD = "RS-20251230-cell-fate-dichotomy"
QUESTION = "How do cells know their fate?"
CONTEXT = "Cells that look alike become different."
EXCERPT = "§42 The cells count. §45-47 They do not forget."
PEOPLE = (
    ("BlueLake", "hypothesis_generator"),
    ("RedSky", "test_designer"),
    ("GreenDog", "adversarial_critic"),
)
NAMES = tuple(name for name, _ in PEOPLE)
OPTIONS = StartOptions(
    QUESTION, CONTEXT, RosterRequest(recipients=PEOPLE), excerpt=EXCERPT, thread_id=THREAD
)


def started(workspace: Workspace, **more: object) -> Started:
    """The session, asked of three agents."""
    return start_session(workspace, OPTIONS._replace(**more))  # type: ignore[arg-type]


def send(
    workspace: Workspace, sender: str, subject: str, body: str, to: tuple[str, ...] = ()
) -> StoredMessage:
    """A message as any program might store it, unchecked; to the operator, unless said."""
    recipients = to or (workspace.project.operator,)
    return workspace.mailbox.send(Message(THREAD, sender, recipients, subject, body)).stored


def delta(
    workspace: Workspace, sender: str, base: int, *blocks: dict[str, object]
) -> StoredMessage:
    """A DELTA with these blocks, on that version."""
    fences = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
    return send(workspace, sender, "DELTA[opus]: News", f"**Base Version**: v{base}\n\n{fences}")


def block(operation: str, target: str | None, section: str, **payload: object) -> dict[str, object]:
    """One operation."""
    return {
        "operation": operation,
        "section": section,
        "target_id": target,
        "payload": payload,
        "rationale": "It follows",
    }


def hypothesis(name: str) -> dict[str, object]:
    """An ADD of a hypothesis."""
    said = {"name": name, "claim": f"{name} decides", "mechanism": "It acts", "anchors": ["§42"]}
    return block("ADD", None, "hypothesis_slate", **said)


def critique(name: str, attack: str) -> dict[str, object]:
    """An ADD of a critique."""
    said = {"name": name, "attack": attack, "evidence": "Count them", "current_status": "Serious"}
    return block("ADD", None, "adversarial_critique", **said)


def resolve(item: str) -> dict[str, object]:
    """An EDIT that closes a critique."""
    return block("EDIT", item, "adversarial_critique", current_status="Resolved: averaged")


def attack(workspace: Workspace, sender: str, subject: str, to: tuple[str, ...]) -> StoredMessage:
    """A CRITIQUE message."""
    body = (
        "# Critique\n\n## Target\nH2\n\n## Attack\nNothing counts to a hundred.\n\n"
        "## Evidence\nSomites\n\n## Severity\nMajor\n"
    )
    return send(workspace, sender, f"CRITIQUE: {subject}", body, to)


def published(workspace: Workspace, *, reopen: bool = False, close: bool = False) -> CompileResult:
    """The next version."""
    done = compile_thread(workspace, THREAD, CompileOptions(reopen=reopen, close=close))
    assert done.status is CompileStatus.PUBLISHED
    return done


def first_round(workspace: Workspace) -> None:
    """A session with v1: two hypotheses, a critique, and a block that was refused."""
    started(workspace)
    wrong = block("EDIT", "H9", "hypothesis_slate", claim="Steeper")
    delta(workspace, "BlueLake", 0, hypothesis("Gradient"), hypothesis("Counting"), wrong)
    delta(workspace, "GreenDog", 0, critique("Too noisy", "At ten molecules H1 tells nothing."))
    published(workspace)


def asked(workspace: Workspace, **options: object) -> Started:
    """The next round."""
    return start_round(workspace, THREAD, RoundOptions(**options))  # type: ignore[arg-type]


def acked(workspace: Workspace, done: Started) -> None:
    """Everybody acknowledges the kickoff of the round."""
    for each in done.kickoffs:
        assert each.stored
        for name in each.message.recipients:
            acknowledge(workspace.mailbox, name, each.stored.id, "Received", "")


def know(workspace: Workspace) -> None:
    """All agents, known where the mail is."""
    for name in NAMES:
        workspace.mailbox.register(Profile(name))


def states(done: Started) -> list[tuple[str, KickoffState, int | None]]:
    """What became of each kickoff."""
    return [
        (", ".join(each.message.recipients), each.state, each.stored.id if each.stored else None)
        for each in done.kickoffs
    ]


def codes(done: Started) -> list[str]:
    """The codes of what was found."""
    return [each.id for each in done.diagnostics]


def lines(done: Started, name: str, of: int = 0) -> list[str]:
    """The lines under a heading of one of the kickoffs."""
    return section(done.kickoffs[of].message, name).split("\n")
