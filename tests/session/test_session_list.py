"""The list of all sessions: what is believed of what was kept, and what is worked out again."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from brenner.config import OPERATOR, Project
from brenner.diagnostics.codes.stores import STORE_READ_ONLY
from brenner.diagnostics.model import Unavailable
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.services import sessions as workflow
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.sessions import listing, load_status, one_overview, overviews
from brenner.services.workspace import Desk, desk_in
from brenner.session.model import Phase
from brenner.session.overview import Overview, decode_overview, encode_overview, overview_of
from mail.homes import Clock
from session import session_mail as mail
from session.desks import ANN, BEA, add, edit, project_in
from session.homes import HOUSINGS, Housing, housed
from session.homes import OPERATOR as NAMED

ONE, TWO, TALK = "RS-20251230-cell-fate", "RS-20251231-cell-death", "COORD-standup"
PREFIX = f"session of {OPERATOR} for "
MARK = "This row was kept."


def at(mailbox: Mailbox, operator: str = OPERATOR) -> Desk:
    return Desk(mailbox, Project(Path("nowhere"), operator=operator), operator)


@pytest.fixture
def desk() -> Desk:
    """Two sessions and a conversation."""
    clock = Clock()
    desk = at(MemoryMailbox(clock=lambda: clock.move(timedelta(seconds=1))))
    mail.introduce(desk.mailbox)
    for name in (ONE, TWO):
        mail.ask(desk.mailbox, name)
        mail.contribute(desk.mailbox, name, ANN, add("Gradient"), edit("H9", claim="x"))
    mail.say(desk.mailbox, TALK, "QUESTION")
    return desk


def one_by_one(desk: Desk) -> dict[str, Overview]:
    """What the threads say, each by itself."""
    found = {}
    for summary in desk.mailbox.threads():
        followed = load_status(desk, summary.thread_id)
        found[summary.thread_id] = overview_of(followed.status, followed.chain.state.artifact)
    return found


def mark(mailbox: Mailbox, thread_id: str, prefix: str = PREFIX) -> None:
    """Let a kept row say something that no thread says, so that one sees that it is believed."""
    text = mailbox.kept(prefix + thread_id)
    assert text is not None
    known = decode_overview(text)
    assert known.overview
    marked = known._replace(overview=known.overview._replace(question=MARK))
    mailbox.keep({prefix + thread_id: encode_overview(marked)})


def marked(desk: Desk) -> set[str]:
    return {name for name, each in overviews(desk).items() if each.question == MARK}


def test_what_a_row_says(desk: Desk) -> None:
    found = overviews(desk)
    assert list(found) == [TALK, TWO, ONE]  # the newest first
    assert found == one_by_one(desk)
    first, talk = found[ONE], found[TALK]
    assert (first.phase, first.round, first.refusals) == (Phase.AWAITING_ACKS, 1, 1)
    assert (first.unread, first.applies, first.version, first.items) == (1, 1, None, ())
    assert [each.name for each in first.awaited] == [BEA]
    assert sorted(each.debtor for each in first.owed) == sorted((ANN, BEA))
    assert (talk.phase, talk.questions, talk.position) == (None, 1, 1)


def test_a_version_names_its_items(desk: Desk) -> None:
    reference = {"session": TWO, "item": "H1", "relation": "refines"}
    mail.contribute(desk.mailbox, ONE, BEA, add("Lineage", references=[reference]))
    compile_thread(desk, ONE, CompileOptions())
    kill = {**edit("H2", reason="No"), "operation": "KILL"}
    mail.contribute(desk.mailbox, ONE, BEA, kill)
    compile_thread(desk, ONE, CompileOptions())
    row = overviews(desk)[ONE]
    assert (row.version, row.items) == (2, ("RT", "H1", "H2"))
    assert [(item, tuple(each)) for item, each in row.references] == [
        ("H2", (TWO, "H1", "refines"))
    ]
    assert [(item, each.agent, each.reason) for item, each in row.killed] == [("H2", BEA, "No")]


def test_a_row_is_believed_until_its_thread_grows(desk: Desk) -> None:
    overviews(desk)
    for name in (ONE, TWO):
        mark(desk.mailbox, name)
    assert marked(desk) == {ONE, TWO}
    assert one_overview(desk, ONE) == overviews(desk)[ONE]
    mail.say(desk.mailbox, TWO, "INFO")
    assert marked(desk) == {ONE}
    found = one_overview(desk, TWO)
    assert found
    assert found.question != MARK
    assert found.position == 3


def test_another_operator_has_rows_of_her_own(desk: Desk) -> None:
    """She may void what the other may not."""
    compile_thread(desk, ONE, CompileOptions())
    void_version(desk, ONE, 1, "A slip")
    mine = overviews(desk)
    mark(desk.mailbox, ONE)
    other = at(desk.mailbox, BEA)
    assert marked(other) == set()
    assert overviews(other) == one_by_one(other)
    assert mine[ONE].version is None


def test_rows_of_other_mail_are_not_believed(desk: Desk) -> None:
    """As many messages, and another store: somebody has put it in the place of this one."""
    overviews(desk)
    for name in (ONE, TWO):
        mark(desk.mailbox, name)
    rows = desk.mailbox.kept_under(PREFIX)
    other = at(MemoryMailbox())
    mail.introduce(other.mailbox)
    for name in (ONE, TWO):
        mail.ask(other.mailbox, name, "Why?")
        mail.say(other.mailbox, name, "INFO")
    other.mailbox.keep(rows)
    assert overviews(other) == one_by_one(other)
    assert TALK not in overviews(other)  # its row is there, and its thread is not


def test_a_row_in_the_place_of_another(desk: Desk) -> None:
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


def test_which_threads_are_sessions(desk: Desk) -> None:
    """Mail that is not the protocol's is none; nor is what has an ID that no session can have."""
    mail.say(desk.mailbox, "private", "Hello")
    mail.say(desk.mailbox, "Two words", "INFO")
    mail.say(desk.mailbox, "x" * 300, "INFO")
    for _ in range(2):
        found = listing(desk)
        assert set(found.sessions) == {ONE, TWO, TALK}
        assert set(found.others) == {"Two words", "x" * 300}
    assert one_overview(desk, "private") is None
    assert one_overview(desk, "nobody-wrote") is None
    assert one_overview(desk, "Two words") is None
    mail.say(desk.mailbox, "private", "INFO")
    assert overviews(desk)["private"].phase is None


class _ReadOnly(MemoryMailbox):
    def keep(self, contents: Mapping[str, str]) -> None:
        assert contents
        raise Unavailable(STORE_READ_ONLY.at(path="here"))


def test_a_store_that_cannot_be_written_to() -> None:
    """It only takes longer."""
    desk = at(_ReadOnly())
    mail.introduce(desk.mailbox)
    mail.ask(desk.mailbox, ONE)
    assert overviews(desk) == overviews(desk) == one_by_one(desk)
    assert one_overview(desk, ONE) == one_by_one(desk)[ONE]


def test_a_home_that_keeps_nothing() -> None:
    """It is not asked to."""
    mailbox = _ReadOnly(lacks={Ability.KEEPING: "only messages"})
    desk = at(mailbox)
    mail.introduce(mailbox)
    mail.ask(mailbox, ONE)
    assert overviews(desk) == overviews(desk) == one_by_one(desk)


def test_an_interruption_loses_little(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "_BATCH", 2)
    told = []

    def interrupt(doing: str, done: int, total: int | None) -> None:
        told.append((doing, done, total))
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        overviews(desk, interrupt)
    assert [(done, total) for _, done, total in told] == [(1, 3), (2, 3), (3, 3)]
    assert set(desk.mailbox.kept_under(PREFIX)) == {PREFIX + TALK, PREFIX + TWO}
    told.clear()
    with pytest.raises(KeyboardInterrupt):
        overviews(desk, interrupt)
    assert [(done, total) for _, done, total in told] == [(1, 1)]


@pytest.mark.parametrize("housing", HOUSINGS[1:], ids=lambda housing: housing.home.name)
def test_in_every_home(housing: Housing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing is kept, and everything is worked out each time."""
    folder = tmp_path / "project"
    with (
        housed(housing, folder, monkeypatch),
        desk_in(project_in(folder), None, create=True) as desk,
    ):
        mail.introduce(desk.mailbox, NAMED)
        mail.ask(desk.mailbox, ONE, operator=NAMED)
        mail.contribute(desk.mailbox, ONE, ANN, add("Gradient"), to=NAMED)
        mail.say(desk.mailbox, TALK, "QUESTION", to=NAMED)
        assert overviews(desk) == overviews(desk) == one_by_one(desk)
        compile_thread(desk, ONE, CompileOptions())
        found = overviews(desk)
        assert found == one_by_one(desk)
        assert found[ONE].version == 1
        assert one_overview(desk, ONE) == found[ONE]
        keeps = Ability.KEEPING not in desk.mailbox.lacks
        rows = desk.mailbox.kept_under(f"session of {NAMED} for ")
        assert len(rows) == (2 if keeps else 0)
