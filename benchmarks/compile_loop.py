"""`compile` of ten new messages, whole, on the embedded store: as the thread grows behind them.

From the mailbox to the posted version: reading what is new, merging, linting, rendering, composing,
checking, rebuilding from the record, posting, keeping. The lower bound is measured beside it: the
same merge and rendering in memory, and one send of a message as long as the COMPILED message.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

from brenner.artifact.model import ITEM_SECTIONS
from brenner.config import OPERATOR, Project
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.compile import CompileOptions, CompileStatus, compile_thread
from brenner.services.version_store import load_history
from brenner.services.workspace import Workspace
from brenner.session.versions import VersionHistory
from measure import best_of, heading, milliseconds, row
from session_loop import (
    AGENTS,
    ITEMS,
    THREAD,
    Clock,
    a_round,
    add,
    edit,
    in_memory,
    post,
)

SIZES = (100, 1_000, 9_000)
RUNS = 5


def new_workspace(folder: Path) -> Workspace:
    """A project with its agents."""
    project = Project(folder)
    mailbox = open_mailbox(project, create=True)
    for name in AGENTS:
        mailbox.register(Profile(name))
    return Workspace(mailbox, project, OPERATOR)


def grow(workspace: Workspace, clock: Clock, first: int, last: int) -> None:
    """Messages up to that number, a version for every hundred."""
    if not first:
        opening = [add(each, n) for each in ITEM_SECTIONS for n in range(ITEMS[each.prefix])]
        workspace.mailbox.send(post(clock, opening).message)
    for start in range(first, last, 100):
        for number in range(start, min(start + 100, last), 10):
            for each in a_round(clock, edit, number):
                workspace.mailbox.send(each.message)
        assert compile_thread(workspace, THREAD, CompileOptions()).status is CompileStatus.PUBLISHED


def next_round(
    workspace: Workspace, clock: Clock, first: int
) -> tuple[float, VersionHistory, list[StoredMessage], int]:
    """Ten messages are sent; then they are compiled, and that is timed."""
    sent = [workspace.mailbox.send(each.message).stored for each in a_round(clock, edit, first)]
    before = load_history(workspace.mailbox, THREAD, OPERATOR)
    start = time.perf_counter()
    done = compile_thread(workspace, THREAD, CompileOptions())
    seconds = time.perf_counter() - start
    assert done.message
    assert done.status is CompileStatus.PUBLISHED
    return seconds, before, list(sent), len(done.message.message.body)


def lower_bound(
    workspace: Workspace, history: VersionHistory, messages: list[StoredMessage], length: int
) -> float:
    """The merge, the rendering and the send that no compile can do without."""
    work = best_of(partial(in_memory, history.state, messages))
    letter = Message(THREAD, OPERATOR, AGENTS, "INFO: As long", "x" * length)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        workspace.mailbox.send(letter)
        times.append(time.perf_counter() - start)
    return work + min(times)


def run() -> None:
    """100, 1,000 and 9,000 messages behind the ten; growth from first to last."""
    heading("compile of ten new messages, whole, SQLite", "", "compile", "bound", "ratio", "growth")
    taken: list[float] = []
    reached = 0
    with tempfile.TemporaryDirectory() as folder, new_workspace(Path(folder)) as workspace:
        clock = Clock()
        for size in SIZES:
            grow(workspace, clock, reached, size)
            rounds = [next_round(workspace, clock, size + 10 * turn) for turn in range(RUNS)]
            reached = size + 10 * RUNS
            seconds, history, messages, length = min(rounds, key=lambda each: each[0])
            bound = lower_bound(workspace, history, messages, length)
            taken.append(seconds)
            row(
                f"after {size:,} messages",
                milliseconds(seconds),
                milliseconds(bound),
                f"{seconds / bound:.2f} ×",
                f"{seconds / taken[0]:.2f} ×",
            )
