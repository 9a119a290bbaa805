"""What the processes do that compile and contribute at once. An error ends them, and is seen."""

import json
import time
from pathlib import Path

from brenner.mail.model import Profile
from brenner.project import Project
from brenner.thread.messages import Message
from brenner.workflows.compile import CompileOptions, Status, compile_thread
from brenner.workflows.desk import desk_in
from mail.processes import held_back, say

THREAD = "RS-20251230-cell-fate"
_PATIENCE = 60.0  # seconds without any news until a compiler gives up


def contribution(author: str, number: int) -> Message:
    """A DELTA with two ADDs, one of them by its local name in the other, and a block of nothing."""
    blocks = [
        {
            "operation": "ADD",
            "section": "assumption_ledger",
            "target_id": None,
            "payload": {
                "name": f"{author} {number}",
                "statement": f"{author} assumes {number}",
                "load": "H1",
                "test": "T1",
                "status": "unchecked",
            },
            "rationale": "It is needed",
        },
        {
            "operation": "KILL",
            "section": "anomaly_register",
            "target_id": "X99",
            "payload": {"reason": "There is none"},
            "rationale": "To be refused",
        },
    ]
    body = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
    return Message(THREAD, author, ("Operator",), f"DELTA[opus]: {author} {number}", body)


def contribute(folder: str, author: str, count: str) -> None:
    """Send one contribution after the other."""
    with desk_in(Project(Path(folder)), author, create=True) as desk:
        desk.mailbox.register(Profile(author))
        held_back()
        for number in range(int(count)):
            say(desk.mailbox.send(contribution(author, number)).stored.id)


def compile_until(folder: str, name: str, deltas: str) -> None:
    """Compile again and again until the thread has that many DELTAs and none of them is unread."""
    with desk_in(Project(Path(folder)), name, create=True) as desk:
        desk.mailbox.register(Profile(name))
        held_back()
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            sent = [each for each in desk.mailbox.thread(THREAD).messages if each.type == "DELTA"]
            if not sent:
                continue
            done = compile_thread(desk, THREAD, CompileOptions(notify=True))
            if done.status is Status.PUBLISHED and done.message:
                say([done.version, done.message.id])
                deadline = time.monotonic() + _PATIENCE
            elif len(sent) == int(deltas):
                return
