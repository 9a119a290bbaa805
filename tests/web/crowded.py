"""A session with much in it, and a long name: more columns than a screen has, refusals, a kill."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from session.workspaces import add
from web.browsing import LAB, Show, show
from web.disputed import block
from web.evening import asks, contributes, writes

CROWDED = "RS-20261111-how-a-cell-knows-its-place-in-the-wing"
QUESTION = "How does a cell know where it stands along the axis, when its neighbours are replaced?"
PREDICTIONS, TESTS = 9, 8
_WORDS = "Shifted by about two rows towards the source, and the border is sharper than it was"
_SCORE = {"likelihood_ratio": 2, "cost": 2, "speed": 1, "ambiguity": 3}


@contextmanager
def crowded(folder: Path) -> Iterator[Show]:
    """It is served beside the demo's session, by a lab."""
    with show(folder, settings=LAB) as served:
        _kickoff(served)
        contributes(served, CROWDED, "BlueLake", *_first())
        compile_thread(served.server.workspace, CROWDED, CompileOptions())
        contributes(served, CROWDED, "BlueLake", _edit("It is read once"), base="v1")
        kill = block("KILL", "hypothesis_slate", "H2", reason="Refuted by what T1 has shown")
        contributes(served, CROWDED, "RedSky", _edit("It is read for hours"), kill, base="v1")
        refused = {**add("Nothing"), "operation": "EDIT", "target_id": "H99"}
        contributes(served, CROWDED, "GreenDog", refused, base="v1")
        compile_thread(served.server.workspace, CROWDED, CompileOptions())
        asks(served, CROWDED, "GreenDog", "May we use data from the leg disc?")
        blocked = "# Blocked\n\n## Blocker\nNo access to the strains.\n"
        writes(served, CROWDED, "RedSky", "BLOCKED: No access to the strains", blocked)
        yield served


def _kickoff(served: Show) -> None:
    body = f"# Why\n\n## Research Question\n{QUESTION}\n\n## Context\nCells differ.\n"
    for name in ("BlueLake", "RedSky", "GreenDog"):
        message = Message(CROWDED, served.project.operator, (name,), "KICKOFF: Why", body)
        served.mailbox.send(message)


def _edit(claim: str) -> dict[str, object]:
    return block("EDIT", "hypothesis_slate", "H1", claim=claim)


def _first() -> Iterator[dict[str, object]]:
    """Four hypotheses, and what to expect under each."""
    for number in range(1, 5):
        anchors = ["§1", "§2", "inference"]
        yield add(f"Hypothesis {number}", anchors=anchors, third_alternative=number == 3)
    cells = {f"H{number}": f"{_WORDS} {number % 2}" for number in range(1, 5)}
    for number in range(PREDICTIONS):
        condition = f"In case {number} the disc is stretched on a membrane by ten per cent"
        yield block("ADD", "predictions_table", None, condition=condition, predictions=cells)
    for number in range(TESTS):
        yield block(
            *("ADD", "discriminative_tests", None),
            name=f"Test {number} of the source, moved by a bead",
            procedure="Move the source",
            discriminates="H1 vs H2",
            expected_outcomes=cells,
            potency_check="A strain that must react",
            feasibility="Two weeks",
            score=_SCORE,
        )
