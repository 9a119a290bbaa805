"""Whatever happens in whichever order, a list says of each session what its thread says.

Rows that were kept before are there all the time: some are true, some are old, some are damaged.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from brenner.config import OPERATOR, Project
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.session_status import load_status
from brenner.services.sessions import list_sessions, load_overview, overviews
from brenner.services.workspace import Workspace
from brenner.session.overview import Overview, overview_of
from mail.backends import Clock
from session import session_mail as mail
from session.workspaces import ANN, BEA, add, edit

pytestmark = pytest.mark.fuzz
THREADS = ("RS-20251230-cell-fate", "COORD-standup", "br-12.3")
NO_SESSION = "Two words"  # no session can have this ID
PREFIX = f"session of {OPERATOR} for "

threads = st.sampled_from(THREADS)
names = st.sampled_from((ANN, BEA))
blocks = st.sampled_from((add("Gradient"), add("Lineage"), edit("H1", claim="x"), {"operation": 1}))
damages = st.sampled_from((lambda text: text[:-1], lambda text: text[1:], str.swapcase))
kinds = st.sampled_from((*mail.BODIES, "Hello"))


class ListMachine(RuleBasedStateMachine):
    """Sessions in one mailbox, beside another one with which mail is exchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.here = self._mailbox()
        self.names_in_other_projects = self._mailbox()
        self.workspace = Workspace(self.here, Project(Path("nowhere")), OPERATOR)

    def _mailbox(self) -> Mailbox:
        mailbox = MemoryMailbox(clock=self._tick)
        mail.introduce(mailbox)
        return mailbox

    def _tick(self) -> datetime:
        return self.clock.move(timedelta(seconds=1))

    @initialize(thread_id=threads)
    def begin(self, thread_id: str) -> None:
        """There is mail from the start, and a row of it."""
        mail.ask(self.here, thread_id)
        mail.ask(self.names_in_other_projects, thread_id, "Why elsewhere?")
        overviews(self.workspace)

    @rule(thread_id=threads, question=st.sampled_from(("", "Why?", "When?")))
    def ask(self, thread_id: str, question: str) -> None:
        mail.ask(self.here, thread_id, question)

    @rule(thread_id=threads, name=names, some=st.lists(blocks, min_size=1, max_size=2))
    def contribute(self, thread_id: str, name: str, some: list[object]) -> None:
        mail.contribute(self.here, thread_id, name, *some)

    @rule(thread_id=threads, name=names, kind=kinds)
    def say(self, thread_id: str, name: str, kind: str) -> None:
        mail.say(self.here, thread_id, kind, name)

    @rule(kind=kinds)
    def say_where_no_session_is(self, kind: str) -> None:
        mail.say(self.here, NO_SESSION, kind)

    @rule(which=st.integers(0, 10))
    def acknowledge(self, which: int) -> None:
        debts = self.here.debts()
        if debts:
            debt = debts[which % len(debts)]
            mail.acknowledge(self.here, debt.first, debt.debtor)

    @rule(thread_id=threads, close=st.booleans())
    def publish(self, thread_id: str, close: bool) -> None:
        with suppress(RequestError):
            compile_thread(self.workspace, thread_id, CompileOptions(close=close))

    @rule(thread_id=threads, number=st.integers(1, 2))
    def void(self, thread_id: str, number: int) -> None:
        with suppress(RequestError):
            void_version(self.workspace, thread_id, number, "A slip")

    @rule(thread_id=threads, name=names)
    def write_elsewhere(self, thread_id: str, name: str) -> None:
        mail.contribute(self.names_in_other_projects, thread_id, name, add("From afar"))

    @rule()
    def take_over(self) -> None:
        """Times of imported mail may lie before all others."""
        self.here.restore(
            self.names_in_other_projects.agents(), list(self.names_in_other_projects.records())
        )

    @rule(thread_id=threads, how=damages)
    def damage(self, thread_id: str, how: Callable[[str], str]) -> None:
        text = self.here.kept(PREFIX + thread_id)
        if text is not None:
            self.here.keep({PREFIX + thread_id: how(text)})

    @rule(one=threads, other=threads)
    def mix_up(self, one: str, other: str) -> None:
        """The row of one session stands in the place of another's."""
        text = self.here.kept(PREFIX + one)
        if text is not None:
            self.here.keep({PREFIX + other: text})

    @rule()
    def look(self) -> None:
        """What was worked out is kept."""
        overviews(self.workspace)

    @invariant()
    def each_row_is_what_the_thread_says(self) -> None:
        """At once, and once more from what was kept just now; then that is forgotten again."""
        kept = self.here.kept_under(PREFIX)
        expected = self._from_the_threads()
        for _ in range(2):
            found = list_sessions(self.workspace)
            assert found.sessions == expected
            known = {summary.thread_id for summary in self.here.threads()}
            assert set(found.others) == known & {NO_SESSION}
        assert {name: load_overview(self.workspace, name) for name in (*THREADS, NO_SESSION)} == {
            name: expected.get(name) for name in (*THREADS, NO_SESSION)
        }
        self.here.keep({**{PREFIX + name: "" for name in THREADS}, **kept})

    def _from_the_threads(self) -> dict[str, Overview]:
        """Each thread by itself, and nothing that was kept of its row."""
        found = {}
        for summary in self.here.threads():
            name = summary.thread_id
            speaks = any(each.type for each in self.here.thread(name).messages)
            if speaks and name != NO_SESSION:
                followed = load_status(self.workspace, name)
                found[name] = overview_of(followed.status, followed.history.state.artifact)
        return found


TestList = ListMachine.TestCase
TestList.settings = settings(max_examples=settings().max_examples // 8, stateful_step_count=15)
