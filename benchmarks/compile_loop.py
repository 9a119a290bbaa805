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
from brenner.protocol.messages import Message, Posted
from brenner.services.compile import CompileOptions, Status, compile_thread
from brenner.services.version_store import load_chain
from brenner.services.workspace import Desk
from brenner.session.versions import Chain
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


def a_desk(folder: Path) -> Desk:
    """A project with its agents."""
    project = Project(folder)
    mailbox = open_mailbox(project, create=True)
    for name in AGENTS:
        mailbox.register(Profile(name))
    return Desk(mailbox, project, OPERATOR)


def grow(desk: Desk, clock: Clock, first: int, last: int) -> None:
    """Messages up to that number, a version for every hundred."""
    if not first:
        opening = [add(each, n) for each in ITEM_SECTIONS for n in range(ITEMS[each.prefix])]
        desk.mailbox.send(post(clock, opening).message)
    for start in range(first, last, 100):
        for number in range(start, min(start + 100, last), 10):
            for each in a_round(clock, edit, number):
                desk.mailbox.send(each.message)
        assert compile_thread(desk, THREAD, CompileOptions()).status is Status.PUBLISHED


def next_round(desk: Desk, clock: Clock, first: int) -> tuple[float, Chain, list[Posted], int]:
    """Ten messages are sent; then they are compiled, and that is timed."""
    sent = [desk.mailbox.send(each.message).stored for each in a_round(clock, edit, first)]
    before = load_chain(desk.mailbox, THREAD, OPERATOR).chain
    start = time.perf_counter()
    done = compile_thread(desk, THREAD, CompileOptions())
    seconds = time.perf_counter() - start
    assert done.message
    assert done.status is Status.PUBLISHED
    return seconds, before, [each.posted for each in sent], len(done.message.message.body)


def lower_bound(desk: Desk, chain: Chain, messages: list[Posted], length: int) -> float:
    """The merge, the rendering and the send that no compile can do without."""
    work = best_of(partial(in_memory, chain.state, messages))
    letter = Message(THREAD, OPERATOR, AGENTS, "INFO: As long", "x" * length)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        desk.mailbox.send(letter)
        times.append(time.perf_counter() - start)
    return work + min(times)


def run() -> None:
    """100, 1,000 and 9,000 messages behind the ten; growth from first to last."""
    heading("compile of ten new messages, whole, SQLite", "", "compile", "bound", "ratio", "growth")
    taken: list[float] = []
    reached = 0
    with tempfile.TemporaryDirectory() as folder, a_desk(Path(folder)) as desk:
        clock = Clock()
        for size in SIZES:
            grow(desk, clock, reached, size)
            rounds = [next_round(desk, clock, size + 10 * turn) for turn in range(RUNS)]
            reached = size + 10 * RUNS
            seconds, chain, messages, length = min(rounds, key=lambda each: each[0])
            bound = lower_bound(desk, chain, messages, length)
            taken.append(seconds)
            row(
                f"after {size:,} messages",
                milliseconds(seconds),
                milliseconds(bound),
                f"{seconds / bound:.2f} ×",
                f"{seconds / taken[0]:.2f} ×",
            )
