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
from brenner.diagnostics.model import RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.version_store import replay_history
from brenner.services.versions import verify
from brenner.services.workspace import Workspace
from brenner.session.rebuild import CompiledCandidate, RebuiltVersion
from brenner.session.versions import VersionHistory
from histories import START, drafts, openings
from sample_messages import ROLES, THREAD_ID, Draft
from version_threads import OPERATOR

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


def desk_at(clock: Callable[[], datetime]) -> Workspace:
    """An empty mailbox with that clock; everybody is known."""
    mailbox = MemoryMailbox(clock)
    for name in (OPERATOR, *ROLES):
        mailbox.register(Profile(name))
    return Workspace(mailbox, Project(Path("/nowhere")), OPERATOR)


def foreign(workspace: Workspace) -> Message:
    """What another program compiled: our latest artifact under the next number, with no times."""
    try:
        latest = workspace.version(THREAD_ID)
    except RequestError:
        number, text = 0, f'---\nsession_id: "{THREAD_ID}"\nversion: 1\n---\n\n# An artifact\n'
    else:
        number, text = latest.number or 0, _TIMES.sub("", latest.text)
    body = f"# Compiled\n\n## Full Artifact\n\n~~~~~~~~markdown\n{text}~~~~~~~~\n"
    return Message(THREAD_ID, "RedSky", (OPERATOR,), f"COMPILED: v{number + 1} theirs", body)


def take(workspace: Workspace, step: Step) -> None:
    """Do it; what cannot be done now is left."""
    if isinstance(step, Draft):
        workspace.mailbox.send(step.posted(1, START).message)
        return
    with suppress(RequestError):
        if step == "compile":
            compile_thread(workspace, THREAD_ID, CompileOptions())
        elif step == "adopt":
            workspace.mailbox.send(foreign(workspace))
            adopt_thread(workspace, THREAD_ID)
        else:
            latest = workspace.version(THREAD_ID).number or 0
            void_version(workspace, THREAD_ID, latest, "It was a mistake.")


def copied(workspace: Workspace, start: datetime, steps: list[int], before: int) -> Workspace:
    """The same thread in another store, where other mail was before it."""
    other = desk_at(Ticking(start, steps))
    for _ in range(before):
        other.mailbox.send(Message("COORD-other", OPERATOR, ("BlueLake",), "INFO: x", "x"))
    for stored in workspace.mailbox.thread(THREAD_ID).messages:
        other.mailbox.send(stored.message)
    return other


def rebuilt(workspace: Workspace) -> tuple[list[Rebuild], VersionHistory]:
    """Every version, from the mail alone."""
    found: list[Rebuild] = []

    def watch(candidate: CompiledCandidate, version: RebuiltVersion) -> None:
        found.append(Rebuild(candidate.number, version.text, version.state))

    return found, replay_history(workspace.mailbox, THREAD_ID, OPERATOR, watch)


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
    workspace = desk_at(Ticking(START, seconds))
    for step in (opening, "compile", *steps):
        take(workspace, step)
    other = copied(workspace, START + timedelta(hours=there[0]), there[1], before)
    (ours, history), (theirs, copy) = rebuilt(workspace), rebuilt(other)
    assert theirs == ours
    assert (history.broken_version, copy.broken_version) == (None, None)
    assert [each.content_hash for each in copy.unread] == [
        each.content_hash for each in history.unread
    ]
    assert [found.id for found in copy.others()] == [found.id for found in history.others()]
    assert verify(other, THREAD_ID).ok
