"""A session as large as a page must bear: 10,000 messages and 4,000 items, made by the workflows.

Ten agents answer one kickoff. The first adds the hypotheses; then every message adds two items
until there are enough, and after that each edits two. One in fifty has a block that is refused.
Everything is compiled now and then.
"""

import time
from pathlib import Path

from brenner.artifact.model import ITEM_SECTIONS
from brenner.config import OPERATOR, Project
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, Operation
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from session_loop import THREAD, add

AGENTS = (
    *("BlueLake", "RedSky", "GreenHill", "TallTree", "Owl"),
    *("GreyWolf", "PinkCloud", "DeepRiver", "SilverFox", "OldOak"),
)
_VERSIONS = 12
_BLOCKS = 2
_HYPOTHESES, *_OTHERS = ITEM_SECTIONS
_MOST_HYPOTHESES = 6
_REFUSED_EVERY = 50
_QUESTION = "How does a cell know where in the embryo it is?"
_KICKOFF = f"""# Brenner Loop Session: Cell fate

## Research Question
{_QUESTION}
"""


def make(folder: Path, messages: int, items: int) -> Workspace:
    """The session in a new project; the desk stays open."""
    folder.mkdir(parents=True, exist_ok=True)
    project = Project(folder)
    mailbox = open_mailbox(project, create=True)
    for name in AGENTS:
        mailbox.register(Profile(name))
    workspace = Workspace(mailbox, project, OPERATOR)
    first = mailbox.send(
        Message(THREAD, OPERATOR, AGENTS, "KICKOFF: Cell fate", _KICKOFF, ack_required=True)
    ).stored
    for name in AGENTS:
        body = f"# Acknowledgement\n\n## Message ID\n{first.id}\n\n## Status\nReceived\n"
        mailbox.send(Message(THREAD, name, (OPERATOR,), "ACK: Received", body))
    mailbox.send(_contribution(0, [add(_HYPOTHESES, n) for n in range(_MOST_HYPOTHESES)]))
    compile_thread(workspace, THREAD, CompileOptions())
    every = max(1, messages // _VERSIONS)
    for number in range(messages):
        if mailbox.position() >= messages:
            break
        mailbox.send(
            _contribution(number, [_block(number, turn, items) for turn in range(_BLOCKS)])
        )
        if number % every == every - 1 or number == _adding(items):
            compile_thread(workspace, THREAD, CompileOptions())
    return workspace


def _contribution(number: int, blocks: list[Delta]) -> Message:
    sender = AGENTS[number % len(AGENTS)]
    body = "# Delta Contribution\n\n" + "\n".join(map(render_delta, blocks))
    return Message(THREAD, sender, (OPERATOR,), f"DELTA[opus]: Part {number}", body)


def _adding(items: int) -> int:
    """How many messages it takes to add them."""
    return (items - _MOST_HYPOTHESES) // _BLOCKS


def _block(number: int, turn: int, items: int) -> Delta:
    count = number * _BLOCKS + turn
    section, rank = _OTHERS[count % len(_OTHERS)], count // len(_OTHERS)
    if number < _adding(items):
        return add(section, count)
    texts = [name for name in section.fields if name in section.texts & section.required]
    is_wrong = turn == 0 and number % _REFUSED_EVERY == 0
    there = max(1, (items - _MOST_HYPOTHESES) // len(_OTHERS))
    target = f"{section.prefix}{99_999 if is_wrong else rank % there + 1}"
    payload = {texts[rank % len(texts)]: f"Counted again, and it is {count}."}
    return Delta(Operation.EDIT, section.id, target, payload, "Counted again")


if __name__ == "__main__":
    import sys

    begun = time.perf_counter()
    made = make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    print(f"{made.mailbox.position()} messages in {time.perf_counter() - begun:.0f} s")
