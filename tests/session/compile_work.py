"""What the processes do that compile and contribute at once. An error ends them, and is seen."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brenner.mail.agent_mail import mailbox as sending
from brenner.mail.agent_mail.mirror import ProjectView
from brenner.mail.model import Profile
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Message, StoredMessage
from brenner.services import compile as compile_workflow
from brenner.services.compile import CompileOptions, CompileStatus, compile_thread
from brenner.services.workspace import workspace_in
from mail.processes import say, wait_for_release
from session.persist_work import options_of
from session.workspaces import project_in

THREAD = "RS-20251230-cell-fate"
_PATIENCE = 60.0  # seconds without any news until a compiler gives up


def contribution(author: str, number: int, to: str = "Operator") -> Message:
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
    return Message(THREAD, author, (to,), f"DELTA[opus]: {author} {number}", body)


def contribute(folder: str, author: str, count: str) -> None:
    """Send one contribution after the other."""
    with workspace_in(project_in(folder), author, create=True) as workspace:
        workspace.mailbox.register(Profile(author))
        wait_for_release()
        for number in range(int(count)):
            message = contribution(author, number, workspace.project.operator)
            say(workspace.mailbox.send(message).stored.id)


def compile_until(folder: str, name: str, deltas: str) -> None:
    """Compile again and again until the thread has that many DELTAs and none of them is unread."""
    with workspace_in(project_in(folder), name, create=True) as workspace:
        workspace.mailbox.register(Profile(name))
        wait_for_release()
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            sent = [
                each for each in workspace.mailbox.thread(THREAD).messages if each.type == "DELTA"
            ]
            if not sent:
                continue
            done = compile_thread(workspace, THREAD, CompileOptions(notify=True))
            if done.status is CompileStatus.PUBLISHED and done.message:
                say([done.version, done.message.id])
                deadline = time.monotonic() + _PATIENCE
            elif len(sent) == int(deltas):
                return


def compile_together(folder: str, name: str, compilers: str) -> None:
    """Compile once; what is posted first goes to the server when all compilers have come so far.

    So all of them have looked whether the thread has moved, and nobody has seen another's message.
    """
    gate, post = Path(folder, "gate"), sending.post

    def waiting(
        view: ProjectView, message: Message, envelope: Envelope = DEFAULT_ENVELOPE
    ) -> StoredMessage:
        sending.post = post
        (gate / name).touch()
        deadline = time.monotonic() + _PATIENCE
        while len(list(gate.iterdir())) < int(compilers):
            assert time.monotonic() < deadline, "the others do not come"
            time.sleep(0.01)
        return post(view, message, envelope)

    with workspace_in(project_in(folder), name, create=True) as workspace:
        wait_for_release()
        sending.post = waiting
        done = compile_thread(workspace, THREAD, CompileOptions())
        void = [each.message_id for each in done.notes if each.id == "POSTED_IN_VAIN"]
        say([done.status, done.version, done.message and done.message.id, void])


def compile_and_persist(folder: str, name: str, options: str, compilers: str) -> None:
    """Compile and persist once, as all compilers do that have read the same thread.

    With a number of `compilers` nothing is left to luck: all of them read the thread, then the
    first one (number 0) publishes and persists, and only then the others go on.
    """
    gate, steps = Path(folder, "gate"), vars(compile_workflow)
    check = steps["check_persistable"]

    def in_turn(*arguments: Any, **options: Any) -> None:
        steps["check_persistable"] = check
        (gate / name).touch()
        _wait_for(lambda: len(list(gate.iterdir())) >= int(compilers))
        if not name.endswith("0"):
            _wait_for(Path(folder, "done").exists)
        check(*arguments, **options)

    # Each is a process of the operator, who alone may persist; `name` tells them apart.
    with workspace_in(project_in(folder), None, create=True) as workspace:
        wait_for_release()
        if int(compilers):
            steps["check_persistable"] = in_turn
        done = compile_thread(workspace, THREAD, CompileOptions(persist=options_of(options)))
        Path(folder, "done").touch()
        persisted = done.persisted
        failed = done.failed and done.failed.diagnostic.id
        say([done.status, done.version, persisted and persisted.version, failed])


def _wait_for(is_there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_there():
        assert time.monotonic() < deadline, "the others do not come"
        time.sleep(0.01)
