"""Voids cover the messages that they name, whatever the clock says and whoever is the operator."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from brenner.mail.model import MessageRecord, Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from brenner.services import publish as publishing
from brenner.services.archive import ArchiveExport, import_archive
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.versions import load_version_list, verify
from brenner.services.workspace import Workspace
from brenner.session.decisions import voids_in
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, project_in, write


class Clock:
    """A clock that can be set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workspace(tmp_path: Path, clock: Clock) -> Iterator[Workspace]:
    """A session with v1 and v2."""
    with SqliteMailbox.create(tmp_path / "mail.sqlite3", clock=clock) as mailbox:
        for name in ("Operator", ANN, BEA):
            mailbox.register(Profile(name))
        mailbox.operator = "Operator"
        here = Workspace(mailbox, project_in(tmp_path), "Operator")
        kickoff(here)
        for name in ("Gradient", "Lineage"):
            contribute(here, ANN, add(name))
            compile_thread(here, THREAD, CompileOptions())
        yield here


def numbers(workspace: Workspace) -> list[int]:
    """The versions that are listed; they must be those that follow from the mail alone."""
    listed = [each.number for each in load_version_list(workspace, THREAD)[1]]
    verified = verify(workspace, THREAD)
    assert (verified.ok, [each.number for each in verified.versions]) == (True, listed)
    return listed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(timedelta(), timedelta(hours=-2), id="the clock goes back after the void"),
        pytest.param(timedelta(days=1), timedelta(days=-1), id="the void is dated in the future"),
    ],
)
def test_a_version_after_a_void_stays(
    workspace: Workspace, clock: Clock, before: timedelta, after: timedelta
) -> None:
    """Cached, replayed, and in another store."""
    clock.now += before
    void_version(workspace, THREAD, 2, "It was a mistake.")
    clock.now += after
    compile_thread(workspace, THREAD, CompileOptions())
    contribute(workspace, BEA, add("Clock"))
    compile_thread(workspace, THREAD, CompileOptions())
    assert numbers(workspace) == [1, 2, 3]
    other = workspace._replace(
        mailbox=SqliteMailbox.create(workspace.project.folder / "other.sqlite3")
    )
    with other:
        archive = b"".join(ArchiveExport(workspace.mailbox, "jsonl")).splitlines(keepends=True)
        import_archive(other.mailbox, archive, "mail.jsonl")
        assert numbers(other) == [1, 2, 3]


def test_a_void_names_every_message_of_its_number(workspace: Workspace) -> None:
    """One record each. A copy that comes in later is void with it, and a new version is not."""
    second = load_version_list(workspace, THREAD)[1][1].message
    workspace.mailbox.send(second.message)
    void = void_version(workspace, THREAD, 2, "").message
    assert [each.content_hash for each in voids_in(void.message)] == [second.content_hash] * 2
    assert numbers(workspace) == [1]
    workspace.mailbox.send(second.message)
    assert numbers(workspace) == [1]
    again = compile_thread(workspace, THREAD, CompileOptions()).message
    assert again
    assert numbers(workspace) == [1, 2]
    assert load_version_list(workspace, THREAD)[1][1].message == again


def test_a_version_that_is_compiled_again_at_once_is_another_message(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one second its content would be the same, and the void would cover it."""

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Frozen":
            return cls(2026, 1, 1, 12, tzinfo=tz)

    monkeypatch.setattr(publishing, "datetime", Frozen)
    contribute(workspace, BEA, add("Clock"))
    for expected in ([1, 2, 3], [1, 2, 3]):
        compile_thread(workspace, THREAD, CompileOptions())
        assert numbers(workspace) == expected
        void_version(workspace, THREAD, 3, "")
        assert numbers(workspace) == [1, 2]


def test_a_copy_of_a_void_version_from_elsewhere_revives_nothing(workspace: Workspace) -> None:
    """Also under a lower id: of a number the lowest id counts."""
    workspace.mailbox.send(Message("COORD-other", "Operator", (ANN,), "INFO: x", "x"))
    second = load_version_list(workspace, THREAD)[1][1].message
    void_version(workspace, THREAD, 2, "")
    published = compile_thread(workspace, THREAD, CompileOptions()).message
    copy = MessageRecord(second._replace(id=1_000_000, origin_id=77))
    workspace.mailbox.restore((), [copy])
    assert numbers(workspace) == [1, 2]
    assert load_version_list(workspace, THREAD)[1][1].message == published


def test_a_renamed_operator_revives_nothing(workspace: Workspace) -> None:
    """What counts is settled when it is stored, also where no version is left to name her."""
    for left in ([1], []):
        void_version(workspace, THREAD, len(left) + 1, "It was a mistake.")
        for name in ("Ada", ANN):
            renamed = workspace.project._replace(operator=name)
            assert numbers(workspace._replace(project=renamed)) == left


def test_an_agent_who_becomes_the_operator_has_voided_nothing_before(workspace: Workspace) -> None:
    last = load_version_list(workspace, THREAD)[1][1].message
    body = f'```brenner-void\n{{"content_hash":"{last.content_hash}","version":2}}\n```\n'
    write(workspace, ANN, "INFO: v2 is void", body)
    promoted = workspace._replace(project=workspace.project._replace(operator=ANN))
    assert numbers(promoted) == [1, 2]
