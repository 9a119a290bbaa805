"""Sessions in memory: shared by all who look, true at every moment, and bounded."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brenner.artifact.merge.draft import SessionItem
from brenner.diagnostics.model import RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.session_status import load_status
from brenner.services.version_store import load_ledgers
from brenner.services.workspace import Workspace
from brenner.web import sessions
from brenner.web.cache import LRUCache, TTLCache
from brenner.web.sessions import MailCursor, SessionRepository, cursor_at, parse_cursor
from mail.sample_mail import make_message
from session.thread_writer import acknowledge, contribute, write
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add, edit, project_in


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A session of two agents, with its kickoff."""
    project = project_in(tmp_path)
    mailbox = MemoryMailbox()
    for name in (project.operator, ANN, BEA):
        mailbox.register(Profile(name))
    workspace = Workspace(mailbox, project, project.operator)
    write(workspace, project.operator, (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)
    return workspace


def steps(workspace: Workspace) -> Iterator[None]:
    """A session, message by message and by several at once."""
    for name in (ANN, BEA):
        acknowledge(workspace, name, 1)
        yield
    contribute(workspace, ANN, add("Gradient"), edit("H9", claim="No"))
    contribute(workspace, BEA, add("Lineage"))
    yield
    compile_thread(workspace, THREAD, CompileOptions())
    yield
    write(workspace, ANN, (workspace.project.operator,), "INFO: By the way", "# Info\n\nText.\n")
    yield
    contribute(workspace, BEA, edit("H1", claim="Another claim"))
    compile_thread(workspace, THREAD, CompileOptions())
    yield
    void_version(workspace, THREAD, 2, "It was wrong")
    yield
    contribute(workspace, ANN, add("Clock"))
    yield
    compile_thread(workspace, THREAD, CompileOptions())
    yield


def test_what_is_kept_is_what_is_worked_out_anew(workspace: Workspace) -> None:
    """After every step: status, chain, versions and ledgers."""
    reading = SessionRepository(workspace)
    for _ in steps(workspace):
        session, fresh = reading.session(THREAD), load_status(workspace, THREAD)
        assert session.status == fresh.status
        assert session.messages == fresh.messages
        assert session.history == fresh.history
        assert session.stored == workspace.mailbox.thread(THREAD).messages
        assert tuple(session.ledgers.values()) == load_ledgers(workspace, THREAD)
        again = SessionRepository(workspace).session(THREAD)
        assert session.latest == again.latest
        assert session.lint == again.lint
        assert session.text == again.text


def test_nothing_is_worked_out_twice(workspace: Workspace) -> None:
    """With the same mail it is the same session; another thread's mail changes nothing of it."""
    reading = SessionRepository(workspace)
    first = reading.session(THREAD)
    assert reading.session(THREAD) is first
    workspace.mailbox.send(make_message(to=(BEA,), thread="COORD-elsewhere"))
    assert reading.session(THREAD) is first
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, CompileOptions())
    second = reading.session(THREAD)
    found = second.ledgers, second.latest
    write(workspace, ANN, (workspace.project.operator,), "INFO: More", "# Info\n\nText.\n")
    third = reading.session(THREAD)
    assert third is not second
    assert (third.ledgers, third.latest) == found
    assert third.ledgers is found[0]  # no version is new
    assert third.position == second.position + 1


def test_a_long_session_is_ready_before_anybody_looks(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was heard of last; a short one waits until somebody asks."""
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, CompileOptions())
    reading = SessionRepository(workspace)
    reading.begin().join(30)
    assert THREAD not in reading.kept
    monkeypatch.setattr(sessions, "_LONG_SESSION", 2)
    reading.begin().join(30)
    session = reading.session(THREAD)
    assert session.has_ledgers
    assert tuple(session.ledgers.values()) == load_ledgers(workspace, THREAD)


def test_one_visit_sees_one_moment(workspace: Workspace) -> None:
    """Whatever comes in while a page is made."""
    reading = SessionRepository(workspace)
    visit = reading.at(cursor_at(workspace.mailbox))
    first = visit.session(THREAD)
    acknowledge(workspace, ANN, 1)
    assert reading.session(THREAD).position == first.position + 1
    assert visit.session(THREAD) is first
    late = reading.at(MailCursor(1))  # it began earlier, and may see more
    assert late.session(THREAD).position >= 1


def test_an_unknown_session_is_refused_and_leaves_nothing(workspace: Workspace) -> None:
    reading = SessionRepository(workspace)
    for number in range(300):
        with pytest.raises(RequestError):
            reading.session(f"RS-20250101-unknown-{number}")
    assert "RS-20250101-unknown-1" not in reading.kept
    write(workspace, ANN, (BEA,), "INFO: x", "# Info\n")
    assert reading.session(THREAD).position == 2


def test_only_some_stay(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were looked at last, by their messages."""
    monkeypatch.setattr(sessions, "MAX_MESSAGES", 5)
    reading = SessionRepository(workspace)
    names = [f"RS-20250101-a{number}" for number in range(6)]
    for name in names:
        for _ in range(2):
            workspace.mailbox.send(make_message(to=(BEA,), thread=name))
        reading.session(name)
    assert [name in reading.kept for name in names] == [False] * 4 + [True] * 2


def test_older_versions_do_not_pile_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were looked at last stay; whoever has one keeps it."""
    monkeypatch.setattr(sessions, "MAX_VERSIONS", 2)
    for name in ("Gradient", "Lineage", "Clock"):
        contribute(workspace, ANN, add(name))
        compile_thread(workspace, THREAD, CompileOptions())
    session = SessionRepository(workspace).session(THREAD)
    first, second = session.version(1), session.version(2)
    assert session.version(1) is first
    third = session.version(3)
    assert (session.version(1) is first, session.version(3) is third) == (True, True)
    again = session.version(2)
    assert (again == second, again is second) == (True, False)


def test_a_version_that_is_not_there_takes_no_place() -> None:
    few: LRUCache[int] = LRUCache(2)
    assert [few.get(name, lambda: 1) for name in "ab"] == [1, 1]
    for name in range(9):
        with pytest.raises(ZeroDivisionError):
            few.get(name, lambda: 1 // 0)
    assert len(few) <= 2
    assert few.get("b", lambda: 2) in (1, 2)
    assert few.get("b", lambda: 3) != 3


def test_one_works_it_out_and_others_wait(workspace: Workspace) -> None:
    """Many threads at once, while mail comes in: nobody sees a session of the wrong length."""
    reading = SessionRepository(workspace)
    wrong: list[str] = []

    def look(_: int) -> None:
        for _ in range(15):
            least = workspace.mailbox.thread(THREAD, limit=1).position
            session = reading.session(THREAD)
            if not least <= session.position == len(session.stored) == len(session.messages):
                wrong.append(f"{least} {session.position} {len(session.stored)}")

    with ThreadPoolExecutor(8) as pool:
        looking = [pool.submit(look, number) for number in range(8)]
        for _ in range(20):
            write(workspace, ANN, (BEA,), "INFO: More", "# Info\n\nText.\n")
        for each in looking:
            each.result()
    assert wrong == []


def test_another_store_in_its_place(workspace: Workspace) -> None:
    """What was kept of the one before is not shown."""
    reading = SessionRepository(workspace)
    write(workspace, ANN, (BEA,), "INFO: Of the first", "# Info\n")
    assert reading.session(THREAD).position == 2
    other = MemoryMailbox()
    for name in (workspace.project.operator, ANN, BEA):
        other.register(Profile(name))
    there = workspace._replace(mailbox=other)
    for text in ("one", "two", "three"):
        write(there, BEA, (ANN,), f"INFO: {text}", "# Info\n")
        vars(workspace.mailbox).update(vars(other))
        assert reading.session(THREAD).stored[0].message.subject == "INFO: one"


# Values that are computed once


def test_one_thread_computes_a_value() -> None:
    """Seven want it at once: it is computed once, and nobody waits for something else."""
    calls: list[str] = []
    hold = threading.Event()
    cache: LRUCache[str] = LRUCache()

    def slow() -> str:
        calls.append("slow")
        hold.wait(30)
        return "slow"

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(cache.get, "slow", slow) for _ in range(7)]
        assert pool.submit(cache.get, "quick", lambda: "quick").result(30) == "quick"
        hold.set()
        assert {each.result(30) for each in waiting} == {"slow"}
    assert calls == ["slow"]


def test_what_fails_is_tried_again() -> None:
    cache: LRUCache[int] = LRUCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("it", lambda: 1 // 0)
    assert len(cache) == 0
    assert [cache.get("it", lambda: 1), cache.get("it", lambda: 2)] == [1, 1]


def test_a_value_larger_than_the_cache() -> None:
    """It is returned and kept, alone; a value that was evicted is computed again."""
    cache = LRUCache[str](10, len)
    assert [cache.get(size, lambda size=size: "x" * size) for size in (4, 5, 20)]  # type: ignore[misc]
    assert len(cache) == 1
    assert cache.get(4, lambda: "again") == "again"


# Places


def test_places_as_text() -> None:
    for place in (MailCursor(0), MailCursor(12), MailCursor(12, "5f3a")):
        assert parse_cursor(str(place)) == place


@pytest.mark.parametrize("text", ["", "-1", "1-", "1-XY", "1 ", "1\n", "٣", "1" * 16])
def test_what_is_no_place(text: str) -> None:
    assert parse_cursor(text) is None


def test_what_refers_to_what_is_worked_out_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until there is mail; and files, which nobody tells us of, are read again after a while."""
    reading = SessionRepository(workspace)
    first = reading.references()
    assert reading.references() is first
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, CompileOptions())
    second = reading.references()
    assert not first.has(SessionItem(THREAD, "H1"))
    assert second.has(SessionItem(THREAD, "H1"))
    assert reading.references() is second
    monkeypatch.setattr(TTLCache, "seconds", 0)
    assert reading.references() is not second
