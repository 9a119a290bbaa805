"""The list of all sessions: what is believed of what was kept, and what is worked out again."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from brenner.config import OPERATOR, Project
from brenner.diagnostics.codes.stores import STORE_READ_ONLY
from brenner.diagnostics.model import UnavailableError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.services import sessions as workflow
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.session_status import load_status
from brenner.services.sessions import list_sessions, load_overview, overviews
from brenner.services.workspace import Workspace, workspace_in
from brenner.session.model import Phase
from brenner.session.overview import Overview, decode_overview, encode_overview, overview_of
from brenner.session.versions import replay
from mail.backends import Clock
from session import session_mail as mail
from session.backends import HOUSINGS, ProjectBackend, housed
from session.backends import OPERATOR as NAMED
from session.workspaces import ANN, BEA, add, edit, project_in

ONE, TWO, TALK = "RS-20251230-cell-fate", "RS-20251231-cell-death", "COORD-standup"
PREFIX = f"session of {OPERATOR} for "
MARK = "This row was kept."


def at(mailbox: Mailbox, operator: str = OPERATOR) -> Workspace:
    return Workspace(mailbox, Project(Path("nowhere"), operator=operator), operator)


@pytest.fixture
def workspace() -> Workspace:
    """Two sessions and a conversation."""
    clock = Clock()
    workspace = at(MemoryMailbox(clock=lambda: clock.move(timedelta(seconds=1))))
    mail.introduce(workspace.mailbox)
    for name in (ONE, TWO):
        mail.ask(workspace.mailbox, name)
        mail.contribute(workspace.mailbox, name, ANN, add("Gradient"), edit("H9", claim="x"))
    mail.say(workspace.mailbox, TALK, "QUESTION")
    return workspace


def one_by_one(workspace: Workspace) -> dict[str, Overview]:
    """What the threads say, each by itself."""
    found = {}
    for summary in workspace.mailbox.threads():
        followed = load_status(workspace, summary.thread_id)
        found[summary.thread_id] = overview_of(followed.status, followed.history.state.artifact)
    return found


def mark(mailbox: Mailbox, thread_id: str, prefix: str = PREFIX) -> None:
    """Let a kept row say something that no thread says, so that one sees that it is believed."""
    text = mailbox.kept(prefix + thread_id)
    assert text is not None
    known = decode_overview(text)
    assert known.overview
    marked = known._replace(overview=known.overview._replace(question=MARK))
    mailbox.keep({prefix + thread_id: encode_overview(marked)})


def marked(workspace: Workspace) -> set[str]:
    return {name for name, each in overviews(workspace).items() if each.question == MARK}


def test_what_a_row_says(workspace: Workspace) -> None:
    found = overviews(workspace)
    assert list(found) == [TALK, TWO, ONE]  # the newest first
    assert found == one_by_one(workspace)
    first, talk = found[ONE], found[TALK]
    assert (first.phase, first.round, first.refusals) == (Phase.AWAITING_ACKS, 1, 1)
    assert (first.unread, first.applies, first.version, first.items) == (1, 1, None, ())
    assert [name for name, _ in first.awaited] == [BEA]
    assert [each.debtor for each in first.owed] == [BEA], "Ann's contribution settles hers"
    assert (talk.phase, talk.questions, talk.position) == (None, 1, 1)


def test_a_version_names_its_items(workspace: Workspace) -> None:
    reference = {"session": TWO, "item": "H1", "relation": "refines"}
    mail.contribute(workspace.mailbox, ONE, BEA, add("Lineage", references=[reference]))
    compile_thread(workspace, ONE, CompileOptions())
    kill = {**edit("H2", reason="No"), "operation": "KILL"}
    mail.contribute(workspace.mailbox, ONE, BEA, kill)
    compile_thread(workspace, ONE, CompileOptions())
    row = overviews(workspace)[ONE]
    assert (row.version, row.items) == (2, ("RT", "H1", "H2"))
    assert [(item, tuple(each)) for item, each in row.references] == [
        ("H2", (TWO, "H1", "refines"))
    ]
    assert [(item, each.agent, each.reason) for item, each in row.killed] == [("H2", BEA, "No")]


def test_a_row_is_believed_until_its_thread_grows(workspace: Workspace) -> None:
    overviews(workspace)
    for name in (ONE, TWO):
        mark(workspace.mailbox, name)
    assert marked(workspace) == {ONE, TWO}
    assert load_overview(workspace, ONE) == overviews(workspace)[ONE]
    mail.say(workspace.mailbox, TWO, "INFO")
    assert marked(workspace) == {ONE}
    found = load_overview(workspace, TWO)
    assert found
    assert found.question != MARK
    assert found.position == 3


def test_another_operator_has_rows_of_her_own(workspace: Workspace) -> None:
    """She may void what the other may not."""
    compile_thread(workspace, ONE, CompileOptions())
    void_version(workspace, ONE, 1, "A slip")
    mine = overviews(workspace)
    mark(workspace.mailbox, ONE)
    other = at(workspace.mailbox, BEA)
    assert marked(other) == set()
    assert overviews(other) == one_by_one(other)
    assert mine[ONE].version is None


def test_rows_of_other_mail_are_not_believed(workspace: Workspace) -> None:
    """As many messages, and another store: somebody has put it in the place of this one."""
    overviews(workspace)
    for name in (ONE, TWO):
        mark(workspace.mailbox, name)
    rows = workspace.mailbox.kept_under(PREFIX)
    other = at(MemoryMailbox())
    mail.introduce(other.mailbox)
    for name in (ONE, TWO):
        mail.ask(other.mailbox, name, "Why?")
        mail.say(other.mailbox, name, "INFO")
    other.mailbox.keep(rows)
    assert overviews(other) == one_by_one(other)
    assert TALK not in overviews(other)  # its row is there, and its thread is not


def test_a_row_in_the_place_of_another(workspace: Workspace) -> None:
    """Both have as many messages, of the same time."""
    still = Clock()
    other = at(MemoryMailbox(clock=still))
    mail.introduce(other.mailbox)
    for name in (ONE, TWO):
        mail.ask(other.mailbox, name)
    overviews(other)
    text = other.mailbox.kept(PREFIX + ONE)
    assert text is not None
    other.mailbox.keep({PREFIX + TWO: text})
    assert [each.thread_id for each in overviews(other).values()] == [TWO, ONE]


def test_which_threads_are_sessions(workspace: Workspace) -> None:
    """Mail that is not the protocol's is none; nor is what has an ID that no session can have."""
    mail.say(workspace.mailbox, "private", "Hello")
    mail.say(workspace.mailbox, "Two words", "INFO")
    mail.say(workspace.mailbox, "x" * 300, "INFO")
    for _ in range(2):
        found = list_sessions(workspace)
        assert set(found.sessions) == {ONE, TWO, TALK}
        assert set(found.others) == {"Two words", "x" * 300}
    assert load_overview(workspace, "private") is None
    assert load_overview(workspace, "nobody-wrote") is None
    assert load_overview(workspace, "Two words") is None
    mail.say(workspace.mailbox, "private", "INFO")
    assert overviews(workspace)["private"].phase is None


class _ReadOnly(MemoryMailbox):
    def keep(self, contents: Mapping[str, str]) -> None:
        assert contents
        raise UnavailableError(STORE_READ_ONLY.at(path="here"))


def test_a_store_that_cannot_be_written_to() -> None:
    """It only takes longer."""
    workspace = at(_ReadOnly())
    mail.introduce(workspace.mailbox)
    mail.ask(workspace.mailbox, ONE)
    assert overviews(workspace) == overviews(workspace) == one_by_one(workspace)
    assert load_overview(workspace, ONE) == one_by_one(workspace)[ONE]


def test_a_home_that_keeps_nothing() -> None:
    """It is not asked to."""
    mailbox = _ReadOnly(lacks={Capability.CACHE: "only messages"})
    workspace = at(mailbox)
    mail.introduce(mailbox)
    mail.ask(mailbox, ONE)
    assert overviews(workspace) == overviews(workspace) == one_by_one(workspace)


def test_an_interruption_loses_little(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "_SAVE_BATCH", 2)
    told = []

    def interrupt(doing: str, done: int, total: int | None) -> None:
        told.append((doing, done, total))
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        overviews(workspace, interrupt)
    assert [(done, total) for _, done, total in told] == [(1, 3), (2, 3), (3, 3)]
    assert set(workspace.mailbox.kept_under(PREFIX)) == {PREFIX + TALK, PREFIX + TWO}
    told.clear()
    with pytest.raises(KeyboardInterrupt):
        overviews(workspace, interrupt)
    assert [(done, total) for _, done, total in told] == [(1, 1)]


@pytest.mark.every_store
@pytest.mark.parametrize("housing", HOUSINGS[1:], ids=lambda housing: housing.home.name)
def test_in_every_home(
    housing: ProjectBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing is kept, and everything is worked out each time."""
    folder = tmp_path / "project"
    with (
        housed(housing, folder, monkeypatch),
        workspace_in(project_in(folder), None, create=True) as workspace,
    ):
        mail.introduce(workspace.mailbox, NAMED)
        mail.ask(workspace.mailbox, ONE, operator=NAMED)
        mail.contribute(workspace.mailbox, ONE, ANN, add("Gradient"), to=NAMED)
        mail.say(workspace.mailbox, TALK, "QUESTION", to=NAMED)
        assert overviews(workspace) == overviews(workspace) == one_by_one(workspace)
        compile_thread(workspace, ONE, CompileOptions())
        found = overviews(workspace)
        assert found == one_by_one(workspace)
        assert found[ONE].version == 1
        assert load_overview(workspace, ONE) == found[ONE]
        keeps = Capability.CACHE not in workspace.mailbox.lacks
        rows = workspace.mailbox.kept_under(f"session of {NAMED} for ")
        assert len(rows) == (2 if keeps else 0)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_status_reads_its_thread_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool
) -> None:
    """With a cached history and without: the same status, from one read of the messages."""
    if is_compiled:
        compile_thread(workspace, ONE, CompileOptions())
        mail.contribute(workspace.mailbox, ONE, BEA, add("Threshold"))
    mailbox = workspace.mailbox
    thread, one = Mock(wraps=mailbox.thread_arrivals), Mock(wraps=mailbox.message)
    monkeypatch.setattr(mailbox, "thread_arrivals", thread)
    monkeypatch.setattr(mailbox, "message", one)
    found = load_status(workspace, ONE)
    thread.assert_called_once_with(ONE, 0)
    one.assert_not_called()
    assert found.history == replay(ONE, found.messages, OPERATOR)
