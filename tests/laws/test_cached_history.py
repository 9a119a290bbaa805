"""The history that is cached and the history that is replayed from the mail always agree (R10).

Clocks jump, versions are voided, two stores of one thread exchange archives, the operator is
renamed. No version may vanish, or come back, because of any of that.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.services.archive import ArchiveExport, import_archive
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import dismiss, void_version
from brenner.services.session_status import load_status
from brenner.services.version_store import load_history, replay_history
from brenner.services.workspace import Workspace
from brenner.session.versions import VersionHistory, ignore_version
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff

pytestmark = pytest.mark.fuzz
FEWER = settings(max_examples=settings().max_examples // 5)  # a session is a very large example
NAMES = ("Gradient", "Lineage", "Clock")


class Clock:
    """A clock that all stores share, and that is set back or on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Step(NamedTuple):
    """What happens, in which of the two stores; `number` is what the kind makes of it."""

    kind: Literal["add", "edit", "compile", "void", "dismiss", "jump", "import", "accept", "rename"]
    place: int
    number: int


_kinds = ("add", "add", "edit", "compile", "compile", "compile", "void", "void", "dismiss", "jump")
_steps = st.builds(
    Step,
    st.sampled_from((*_kinds, "jump", "import", "accept", "rename")),
    st.integers(0, 1),
    st.integers(0, 5),
)


class World:
    """Two stores of one thread, and what can happen to them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.desks = [self._desk(), self._desk()]

    def _desk(self) -> Workspace:
        mailbox = MemoryMailbox(self.clock)
        for name in ("Operator", ANN, BEA):
            mailbox.register(Profile(name))
        mailbox.operator = "Operator"
        return Workspace(mailbox, Project(Path("/nowhere")), "Operator")

    def take(self, step: Step) -> None:
        """Do it; what is refused changes nothing."""
        workspace = self.desks[step.place]
        with suppress(RequestError):
            if step.kind == "add":
                contribute(workspace, (ANN, BEA)[step.number % 2], add(NAMES[step.number % 3]))
            elif step.kind == "edit":
                block = edit(f"H{step.number % 3 + 1}", claim=f"Claim {step.number}")
                contribute(workspace, ANN, block, base=f"v{step.number}" if step.number < 3 else "")
            elif step.kind == "compile":
                compile_thread(workspace, THREAD, CompileOptions())
            elif step.kind == "void":
                history = cached(workspace)
                number = history.broken_version.number if history.broken_version else history.number
                void_version(workspace, THREAD, number, "It was a mistake.")
            elif step.kind == "dismiss":
                refused = load_status(workspace, THREAD).status.refusals
                dismiss(workspace, THREAD, refused[0].message_id) if refused else None
            elif step.kind == "jump":
                jumps = (-9_000, -3_601, -3_600, -30, 3_600, 86_400)
                self.clock.now += timedelta(seconds=jumps[step.number])
            elif step.kind == "rename":
                self._rename(step.place, f"Operator{step.number}")
            else:
                self._exchange(workspace, self.desks[1 - step.place], accept=step.kind == "accept")

    def _rename(self, place: int, name: str) -> None:
        workspace = self.desks[place]
        before = view(replayed(workspace)) if workspace.mailbox.position() else None
        workspace.mailbox.register(Profile(name))
        workspace.mailbox.operator = name
        renamed = workspace._replace(project=workspace.project._replace(operator=name), actor=name)
        self.desks[place] = renamed
        if before:
            assert view(replayed(renamed)) == before

    def _exchange(self, source: Workspace, target: Workspace, *, accept: bool) -> None:
        before = view(replayed(target)) if target.mailbox.position() else None
        had_mail = target.mailbox.position() > 0
        operator = target.project.operator
        import_archive(
            target.mailbox, archive(source), "x", operator=operator, accept_decisions=accept
        )
        if had_mail and not accept:
            # Only contributions came in: they are unread, and no version has changed.
            assert before
            assert view(replayed(target)).versions == before.versions


def archive(workspace: Workspace) -> list[bytes]:
    return b"".join(ArchiveExport(workspace.mailbox, "jsonl")).splitlines(keepends=True)


def cached(workspace: Workspace) -> VersionHistory:
    return load_history(workspace.mailbox, THREAD, workspace.project.operator)


def replayed(workspace: Workspace) -> VersionHistory:
    return replay_history(workspace.mailbox, THREAD, workspace.project.operator, ignore_version)


class View(NamedTuple):
    """What a history is to whoever looks at it."""

    versions: list[tuple[int, int, str, str]]
    unread: list[int]
    others: list[int]
    stopped: str | None
    refused: list[tuple[int, int]]
    position: int


def view(history: VersionHistory) -> View:
    return View(
        [
            (each.number, each.message_id, each.artifact_sha256, each.status)
            for each in history.versions
        ],
        [each.id for each in history.unread],
        sorted(each.stored.id for each in history.other_candidates),
        history.compile_blocker and history.compile_blocker.message,
        sorted((each.message_id, each.block) for each in history.refused),
        history.position,
    )


@FEWER
@given(st.lists(_steps, min_size=6, max_size=16))
def test_cached_replayed_and_exported_history_agree(steps: list[Step]) -> None:
    world = World()
    kickoff(world.desks[0])
    for step in (Step("add", 0, 0), Step("compile", 0, 0), Step("import", 0, 0), *steps):
        world.take(step)
        for workspace in world.desks:
            if workspace.mailbox.position():
                assert view(cached(workspace)) == view(replayed(workspace))
    for workspace in world.desks:
        if workspace.mailbox.position():
            other = MemoryMailbox(world.clock)
            import_archive(other, archive(workspace), "x", operator="Nobody else")
            there = replay_history(other, THREAD, "Nobody else", ignore_version)
            assert view(there) == view(replayed(workspace))
