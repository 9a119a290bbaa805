"""A thread copied to another store: ids and times are those of the records (R10)."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.artifact.state import State
from brenner.config import Project
from brenner.diagnostics.model import Refused
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.version_store import replay_chain
from brenner.services.versions import verify
from brenner.services.workspace import Desk
from brenner.session.rebuild import Candidate, Rebuilt
from brenner.session.versions import Chain
from chains import OPERATOR
from histories import START, drafts, openings
from scenes import ROLES, THREAD_ID, Draft

FEWER = settings(max_examples=settings().max_examples // 8)  # a session is a very large example
_TIMES = re.compile(r"^(?:created|updated)_at: .*\n", re.MULTILINE)
Step = str | Draft


class Rebuild(NamedTuple):
    """A version as it was rebuilt: the text, and all that the next one depends on."""

    number: int
    text: str
    state: State


class Ticking:
    """A clock that goes on by what it is told, and then by a second."""

    def __init__(self, start: datetime, steps: list[int]) -> None:
        self._now = start
        self._steps = steps[::-1]

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=self._steps.pop() if self._steps else 1)
        return self._now


def desk_at(clock: Callable[[], datetime]) -> Desk:
    """An empty mailbox with that clock; everybody is known."""
    mailbox = MemoryMailbox(clock)
    for name in (OPERATOR, *ROLES):
        mailbox.register(Profile(name))
    return Desk(mailbox, Project(Path("/nowhere")), OPERATOR)


def foreign(desk: Desk) -> Message:
    """What another program compiled: our latest artifact under the next number, with no times."""
    try:
        latest = desk.version(THREAD_ID)
    except Refused:
        number, text = 0, f'---\nsession_id: "{THREAD_ID}"\nversion: 1\n---\n\n# An artifact\n'
    else:
        number, text = latest.number or 0, _TIMES.sub("", latest.text)
    body = f"# Compiled\n\n## Full Artifact\n\n~~~~~~~~markdown\n{text}~~~~~~~~\n"
    return Message(THREAD_ID, "RedSky", (OPERATOR,), f"COMPILED: v{number + 1} theirs", body)


def take(desk: Desk, step: Step) -> None:
    """Do it; what cannot be done now is left."""
    if isinstance(step, Draft):
        desk.mailbox.send(step.posted(1, START).message)
        return
    with suppress(Refused):
        if step == "compile":
            compile_thread(desk, THREAD_ID, CompileOptions())
        elif step == "adopt":
            desk.mailbox.send(foreign(desk))
            adopt_thread(desk, THREAD_ID)
        else:
            latest = desk.version(THREAD_ID).number or 0
            void_version(desk, THREAD_ID, latest, "It was a mistake.")


def copied(desk: Desk, start: datetime, steps: list[int], before: int) -> Desk:
    """The same thread in another store, where other mail was before it."""
    other = desk_at(Ticking(start, steps))
    for _ in range(before):
        other.mailbox.send(Message("COORD-other", OPERATOR, ("BlueLake",), "INFO: x", "x"))
    for stored in desk.mailbox.thread(THREAD_ID).messages:
        other.mailbox.send(stored.message)
    return other


def rebuilt(desk: Desk) -> tuple[list[Rebuild], Chain]:
    """Every version, from the mail alone."""
    found: list[Rebuild] = []

    def watch(candidate: Candidate, version: Rebuilt) -> None:
        found.append(Rebuild(candidate.number, version.text, version.state))

    return found, replay_chain(desk.mailbox, THREAD_ID, OPERATOR, watch)


_steps = st.lists(
    st.one_of(drafts, st.sampled_from(("compile", "compile", "adopt", "void"))),
    min_size=4,
    max_size=12,
)
_seconds = st.lists(st.integers(0, 7_000), max_size=24)


@FEWER
@given(
    openings, _steps, _seconds, st.tuples(st.integers(-9_000, 9_000), _seconds), st.integers(0, 9)
)
def test_a_copied_thread_is_rebuilt_as_it_was(
    opening: Draft,
    steps: list[Step],
    seconds: list[int],
    there: tuple[int, list[int]],
    before: int,
) -> None:
    """Byte for byte, though every id and time is another: compiled, adopted and void versions."""
    desk = desk_at(Ticking(START, seconds))
    for step in (opening, "compile", *steps):
        take(desk, step)
    other = copied(desk, START + timedelta(hours=there[0]), there[1], before)
    (ours, chain), (theirs, copy) = rebuilt(desk), rebuilt(other)
    assert theirs == ours
    assert (chain.broken, copy.broken) == (None, None)
    assert [each.content_hash for each in copy.unread] == [
        each.content_hash for each in chain.unread
    ]
    assert [found.id for found in copy.others()] == [found.id for found in chain.others()]
    assert verify(other, THREAD_ID).ok
