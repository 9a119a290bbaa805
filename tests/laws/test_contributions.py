"""What is said of agents and of refused blocks adds up, in any session."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.artifact.state import BlockOutcome, Entry, State
from brenner.session.model import SessionStatus
from brenner.session.rebuild import CompiledCandidate, RebuiltVersion, local_ledger
from brenner.session.status import (
    compute_status,
    contributions,
    merge_unread,
    resolved_blocks,
    surviving_work,
)
from brenner.session.versions import replay
from random_sessions import Step, played
from random_sessions import plays as all_plays
from sample_messages import THREAD_ID
from status_sessions import ANN, Sitting
from version_threads import OPERATOR

FEWER = settings(max_examples=settings().max_examples // 2)
# Sessions of one agent, whose blocks are often refused, corrected and dismissed; and any other
_which = st.integers(0, 99)
_steps = st.one_of(
    st.builds(Step, st.just("delta"), st.just(ANN), _which),
    st.builds(Step, st.just("delta"), st.just(ANN), st.sampled_from((9, 11, 20, 21, 33))),
    st.builds(Step, st.sampled_from(("dismiss", "compile")), st.just(OPERATOR), _which),
)
plays = st.one_of(st.lists(_steps, min_size=6, max_size=16), all_plays)


class _Session(NamedTuple):
    """A session that was played: what became of its blocks, and where it stands."""

    sitting: Sitting
    ledgers: dict[int, tuple[Entry, ...]]
    state: State
    status: SessionStatus
    expected: tuple[Entry, ...]

    @property
    def all_ledgers(self) -> list[tuple[Entry, ...]]:
        return [*self.ledgers.values(), self.expected]

    @property
    def entries(self) -> list[Entry]:
        return [entry for each in self.all_ledgers for entry in each]


def _session(play_of: list[Step]) -> _Session | None:
    sitting = played(play_of)
    messages, ledgers = sitting.messages(), {}
    if not messages:
        return None

    def watch(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        ledgers[candidate.number] = local_ledger(candidate, rebuilt)

    history = replay(THREAD_ID, messages, OPERATOR, watch)
    status = compute_status(history, messages, OPERATOR)
    expected = merge_unread(history, OPERATOR).ledger
    return _Session(sitting, ledgers, history.state, status, expected)


@FEWER
@given(plays)
def test_a_refused_block_is_open_or_corrected_or_dismissed(play_of: list[Step]) -> None:
    session = _session(play_of)
    if session is None:
        return
    sitting = session.sitting
    found = resolved_blocks(sitting.history(), sitting.messages(), session.all_ledgers)
    still_open = {(each.message_id, each.block) for each in session.status.refusals}
    refused = [
        (entry.message_id, entry.block)
        for entry in session.entries
        if entry.state is BlockOutcome.REFUSED
    ]
    assert still_open | set(found) == set(refused)
    assert not still_open & set(found)
    applied = {e.message_id for e in session.entries if e.state is BlockOutcome.APPLIED}
    for place, (how, message_id) in found.items():
        sender = sitting.mailbox.message(message_id).message.sender
        if how == "corrected":
            assert message_id in applied
            assert sender == sitting.mailbox.message(place[0]).message.sender
        else:
            assert sender == OPERATOR


@FEWER
@given(plays)
def test_every_block_is_one_agents_contribution(play_of: list[Step]) -> None:
    session = _session(play_of)
    if session is None:
        return
    found = contributions(session.ledgers, session.expected)
    for outcome in BlockOutcome:
        states = [entry.state for entry in session.entries]
        assert sum(each.count(outcome) for each in found.values()) == states.count(outcome)
    for agent, each in found.items():
        hers = [entry for entry in session.entries if entry.agent == agent]
        assert each.blocks == len(hers)
        assert sum(count for _, count in each.codes) == each.count(BlockOutcome.REFUSED)
        assert list(each.rounds) == sorted(each.rounds)


@FEWER
@given(plays)
def test_what_stands_is_what_the_ledgers_say_was_added(play_of: list[Step]) -> None:
    session = _session(play_of)
    if session is None:
        return
    sent, stands = contributions(session.ledgers), surviving_work(session.state)
    active = {item.id for _, item in session.state.artifact.all_items() if item.is_active}
    for name in sent.keys() | stands.keys():
        added = set(sent[name].added) if name in sent else set()
        left = stands.get(name)
        assert added == ({*left.active, *left.killed} if left else set())
        if left:
            assert set(left.active) == added & active
            assert left.fields_surviving <= left.fields_set
