"""A session as large as a page must bear: 10,000 messages and 4,000 items, made by the workflows.

Ten agents answer one kickoff. A fifth of the messages add two items each, the others edit some; one
in fifty has a block that is refused. Everything is compiled now and then.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from brenner.artifact.model import ITEM_SECTIONS
from brenner.delta.model import Delta
from brenner.delta.render import render_delta
from brenner.delta.schema import Operation
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.project import OPERATOR, Project
from brenner.thread.messages import Message
from brenner.workflows.compile import CompileOptions, compile_thread
from brenner.workflows.desk import Desk
from session_loop import THREAD, add

AGENTS = (
    *("BlueLake", "RedSky", "GreenHill", "TallTree", "Owl"),
    *("GreyWolf", "PinkCloud", "DeepRiver", "SilverFox", "OldOak"),
)
_VERSIONS = 12
_BLOCKS = 2
_REFUSED_EVERY = 50
_QUESTION = "How does a cell know where in the embryo it is?"
_KICKOFF = f"""# Brenner Loop Session: Cell fate

## Research Question
{_QUESTION}
"""


def make(folder: Path, messages: int, items: int) -> Desk:
    """The session in a new project; the desk stays open."""
    folder.mkdir(parents=True, exist_ok=True)
    project = Project(folder)
    mailbox = open_mailbox(project, create=True)
    for name in AGENTS:
        mailbox.register(Profile(name))
    desk = Desk(mailbox, project, OPERATOR)
    first = mailbox.send(
        Message(THREAD, OPERATOR, AGENTS, "KICKOFF: Cell fate", _KICKOFF, ack_required=True)
    ).stored
    for name in AGENTS:
        body = f"# Acknowledgement\n\n## Message ID\n{first.id}\n\n## Status\nReceived\n"
        mailbox.send(Message(THREAD, name, (OPERATOR,), "ACK: Received", body))
    every = max(1, messages // _VERSIONS)
    for number, message in enumerate(_deltas(messages - len(AGENTS) - _VERSIONS, items), 1):
        mailbox.send(message)
        if number % every == 0:
            compile_thread(desk, THREAD, CompileOptions())
    return desk


def _deltas(messages: int, items: int) -> Iterator[Message]:
    adding = items // _BLOCKS
    for number in range(messages):
        blocks = [_block(number, turn, adding) for turn in range(_BLOCKS)]
        fences = "\n".join(map(render_delta, blocks))
        sender = AGENTS[number % len(AGENTS)]
        subject = f"DELTA[opus]: Part {number}"
        yield Message(THREAD, sender, (OPERATOR,), subject, f"# Delta Contribution\n\n{fences}")


def _block(number: int, turn: int, adding: int) -> Delta:
    count = number * _BLOCKS + turn
    section = ITEM_SECTIONS[count % len(ITEM_SECTIONS)]
    if number < adding:
        return add(section, count)
    texts = [name for name in section.fields if name in section.texts & section.required]
    rank = count // len(ITEM_SECTIONS)
    each = adding * _BLOCKS // len(ITEM_SECTIONS)
    is_wrong = turn == 0 and number % _REFUSED_EVERY == 0
    target = f"{section.prefix}{99_999 if is_wrong else rank % max(1, each) + 1}"
    payload = {texts[rank % len(texts)]: f"Counted again, and it is {count}."}
    return Delta(Operation.EDIT, section.id, target, payload, "Counted again")


if __name__ == "__main__":
    import sys

    begun = time.perf_counter()
    made = make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    print(f"{made.mailbox.position()} messages in {time.perf_counter() - begun:.0f} s")
