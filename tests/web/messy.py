"""A messy session: six agents, seven hypotheses, 29 items and 86 messages.

It has conflicts, rejected blocks, kills, attacks, anomalies, results, an open question and a
blocked agent. All of it is real mail, compiled by the services. `fill` writes it to any workspace,
`messy` serves it beside the demo's session.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from brenner.mail.model import Profile
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.acknowledge import send_ack
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from session.workspaces import fenced
from web.browsing import LAB, Show, show
from web.disputed import block

MESSY = "RS-20261118-how-neurons-know-what-synapses-to-keep"
QUESTION = (
    "When a neuron of the developing visual cortex prunes its synapses, does it decide by the "
    "recent activity of each synapse, by a molecular tag that was set when the synapse was made, "
    "by competition for a limited supply that the whole dendrite shares, or by a signal from "
    "glial cells that no account of the last thirty years has treated as more than a cleaner?"
)
AGENTS = (
    "BlueLake",
    "RedSky",
    "GreenDog",
    "PurpleMountain",
    "YellowFinch",
    "SilverBirchTheSecondOfTheNorthernValley",
)
_ROUNDS = 4
_CLAIMS = (
    ("Activity decides", "A synapse that stays silent for two days is removed by its own neuron"),
    ("Tag at birth", "A protein that is bound when the synapse is made marks it for removal later"),
    ("Shared supply", "Synapses compete for scaffold protein of which a dendrite has too little"),
    ("Glia choose", "Microglia select synapses by a surface signal and the neuron has no part"),
    ("Sleep pressure", "Only synapses that did not replay during slow waves lose their scaffold"),
    ("Mechanical tension of the neurite as it grows", "Synapses under tension are torn off"),
    ("Two signals, one veto", "Silence marks a synapse and a local kinase can veto the removal"),
    ("Random loss", "Synapses are lost at random, and the kept ones only look chosen afterwards"),
)


class _Messy(NamedTuple):
    """The session while it is written."""

    workspace: Workspace

    @property
    def operator(self) -> str:
        return self.workspace.project.operator

    def send(self, sender: str, subject: str, body: str, *to: str) -> StoredMessage:
        message = Message(MESSY, sender, to or (self.operator,), subject, body)
        return self.workspace.mailbox.send(message).stored

    def delta(self, sender: str, version: int, *blocks: dict[str, object]) -> StoredMessage:
        base = f"**Base Version**: v{version}\n\n" if version else ""
        body = f"# Delta Contribution\n\n{base}{fenced(*blocks)}"
        return self.send(sender, f"DELTA[opus]: Round {version + 1}", body)

    def compile(self) -> None:
        compile_thread(self.workspace, MESSY, CompileOptions())


def fill(workspace: Workspace) -> None:
    """Write the session to the mailbox of a workspace."""
    session = _Messy(workspace)
    for name in AGENTS:
        workspace.mailbox.register(Profile(name))
    for number in range(_ROUNDS):
        _kickoff(session, number)
        _ROUND_CONTENTS[number](session)
        _chatter(session, number)
        if number < _ROUNDS - 1:
            session.compile()


@contextmanager
def messy(folder: Path) -> Iterator[Show]:
    """Serve the session beside the demo's, with the lab."""
    with show(folder, settings=LAB) as served:
        fill(served.server.workspace)
        yield served


def _kickoff(session: _Messy, number: int) -> None:
    body = f"# Pruning\n\n## Research Question\n{QUESTION}\n\n## Context\nRound {number + 1}.\n"
    for name in AGENTS:
        sent = session.send(session.operator, f"KICKOFF: Round {number + 1}", body, name)
        if (number, name) not in ((3, "GreenDog"), (3, "YellowFinch")):
            send_ack(session.workspace.mailbox, name, sent.id)


def _chatter(session: _Messy, number: int) -> None:
    """Send what is in the thread beside contributions."""
    session.send("YellowFinch", "INFO: Temperature", "# Note\n\nThe slices were at 33 °C.\n")
    if number == _ROUNDS - 1:
        ask = "Which temperature counts for T6, 33 or 37 °C?"
        session.send("YellowFinch", f"QUESTION: {ask}", f"# Question\n\n## Question\n{ask}\n")
        died = "# Blocked\n\n## Blocker\nThe reporter line died.\n"
        session.send("RedSky", "BLOCKED: The reporter line died", died)
        attack = "# Critique\n\n## Target\nH3\n\n## Attack\nNobody has measured the supply.\n"
        session.send("PurpleMountain", "CRITIQUE: H3 has no supply", attack)


def _hypothesis(number: int, **more: object) -> dict[str, object]:
    name, claim = _CLAIMS[number]
    payload = {"name": name, "claim": claim, "mechanism": "It acts at the spine", "anchors": ["§1"]}
    return block("ADD", "hypothesis_slate", None, **{**payload, **more})


def _edit(target: str, **payload: object) -> dict[str, object]:
    return block("EDIT", "hypothesis_slate", target, **payload)


def _wrong(number: int) -> dict[str, object]:
    """Return a block that is rejected: its target does not exist."""
    return block("EDIT", "hypothesis_slate", f"H{number}", claim="It is not so")


def _test(name: str, expected: dict[str, str], **more: object) -> dict[str, object]:
    payload = {
        "name": name,
        "procedure": "Image the same dendrite every six hours for four days",
        "discriminates": " vs ".join(expected),
        "expected_outcomes": expected,
        "potency_check": "A silenced eye loses a third of its synapses",
        "feasibility": "Three weeks",
        "score": {"likelihood_ratio": 2, "cost": 2, "speed": 1, "ambiguity": 2},
    }
    return block("ADD", "discriminative_tests", None, **{**payload, **more})


def _first(session: _Messy) -> None:
    session.delta("BlueLake", 0, _hypothesis(0), _hypothesis(1))
    session.delta("PurpleMountain", 0, _hypothesis(2), _hypothesis(3, third_alternative=True))
    session.delta("GreenDog", 0, _hypothesis(4), _wrong(77))
    session.delta("RedSky", 0, _hypothesis(5), _hypothesis(7))
    for number in range(1, 5):
        cells = {"H1": "lost", "H2": "kept", "H3": "lost" if number % 2 else "half are lost"}
        condition = f"Case {number}: one branch is silenced and its neighbour is not"
        session.delta(
            AGENTS[number],
            0,
            block("ADD", "predictions_table", None, condition=condition, predictions=cells),
        )


def _second(session: _Messy) -> None:
    keys = {"lost": "The spine is gone", "kept": "The spine is there"}
    session.delta(
        "YellowFinch",
        1,
        _test("Silence one branch", {"H1": "lost", "H2": "kept", "H4": "lost"}, outcomes=keys),
        _test("Cut the ridge", {"H1": "many are lost", "H3": "few are lost"}),
        _test("Block replay in sleep", {"H1": "nothing", "H5": "loss at night"}),
        _anomaly("Loss at dusk", "H1", "H2"),
    )
    session.delta("BlueLake", 1, _edit("H1", claim=f"{_CLAIMS[0][1]}, by day"))
    session.delta("RedSky", 1, _edit("H1", claim=f"{_CLAIMS[0][1]}, at any time"), _wrong(88))
    session.delta("GreenDog", 1, _edit("H3", mechanism="It is scaffold protein"), _wrong(99))
    session.delta("SilverBirchTheSecondOfTheNorthernValley", 1, _critique("Both may act", "H1"))
    for number in range(1, 5):
        session.delta(AGENTS[number], 1, _assumption(f"Imaging does no harm {number}"))


def _third(session: _Messy) -> None:
    kill = block("KILL", "hypothesis_slate", "H6", reason="No tension was measured at any spine")
    session.delta("GreenDog", 2, kill, _edit("H4", claim=f"{_CLAIMS[3][1]} in it"))
    session.delta("PurpleMountain", 2, _hypothesis(6), _critique("Tag was never seen", "H2"))
    result: dict[str, object] = {"outcome": "lost", "potency": "passed", "evidence": ["§2"]}
    session.delta(
        "YellowFinch",
        2,
        block("EDIT", "discriminative_tests", "T1", results=[result]),
        _test("Label the supply", {"H2": "same", "H3": "less", "H7": "less and late"}),
        _anomaly("Loss without microglia", "H4"),
    )
    session.delta("BlueLake", 2, _edit("H2", mechanism="The tag is a lectin"))
    session.delta("RedSky", 2, _edit("H2", mechanism="The tag is a sugar"), _wrong(66))
    claimed = {"outcome": "few are lost", "potency": "not_checked", "supports": ["H3"]}
    session.delta("RedSky", 2, block("EDIT", "discriminative_tests", "T2", results=[claimed]))
    for number in range(1, 6):
        session.delta(AGENTS[number], 2, _assumption(f"The tag is stable {number}"))


def _fourth(session: _Messy) -> None:
    """Send what the next version would read."""
    kill = block(
        "KILL", "hypothesis_slate", "H5", reason="T3 showed the same loss by day and by night"
    )
    session.delta("GreenDog", 3, kill, _wrong(55))
    session.delta("BlueLake", 3, _edit("H7", claim=f"{_CLAIMS[6][1]} for a day"))


def _anomaly(name: str, *targets: str) -> dict[str, object]:
    payload = {"name": name, "observation": "Seen in five of six slices", "status": "active"}
    return block("ADD", "anomaly_register", None, **payload, conflicts_with=list(targets))


def _critique(name: str, target: str) -> dict[str, object]:
    payload = {"attack": f"{target} may hold beside the others", "evidence": "A double mutant"}
    return block("ADD", "adversarial_critique", None, name=name, **payload, current_status="open")


def _assumption(name: str) -> dict[str, object]:
    payload = {"statement": f"{name}, as far as is known", "load": "H1 and T1", "test": "Controls"}
    return block("ADD", "assumption_ledger", None, name=name, **payload, status="unchecked")


_ROUND_CONTENTS = (_first, _second, _third, _fourth)
