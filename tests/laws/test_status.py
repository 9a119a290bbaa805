"""Where a session stands is a function of its thread, whatever stands in that."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.artifact.merge.engine import merge
from brenner.artifact.state import BlockOutcome, Entry
from brenner.protocol.messages import Message, StoredMessage
from brenner.session.model import Phase, SessionStatus
from brenner.session.overview import status_json
from brenner.session.rebuild import CompiledCandidate, RebuiltVersion, local_ledger
from brenner.session.status import compute_status
from brenner.session.status_text import attention
from brenner.session.versions import (
    VersionHistory,
    advance,
    decode_history,
    encode_history,
    replay,
)
from histories import moment, threads
from mail.backends import SQLITE
from random_sessions import TYPES, Step, play, played, plays
from sample_messages import THREAD_ID
from status_sessions import AGENTS, Sitting
from strategies import hostile_text
from version_threads import OPERATOR, chain_of, compiled, file

FEWER = settings(max_examples=settings().max_examples // 4)  # a session is a very large example
DAY = timedelta(hours=24)

# Threads that mean harm: late messages, skewed clocks, odd subjects, and all rounds published.


@st.composite
def hostile_threads(draw: st.DrawFn) -> list[StoredMessage]:
    """Messages of a thread, with versions where they can be made."""
    messages: list[StoredMessage] = []
    thread = draw(threads())
    for posted, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        messages += map(file, posted)
        history = chain_of(messages)
        is_compiled = draw(st.booleans())
        if history.unread and is_compiled:
            messages.append(compiled(history, number, at)[0])
    names = st.sampled_from((*AGENTS, OPERATOR, "Stranger", "\x1b[31m", ""))
    subjects = st.one_of(st.sampled_from((*TYPES, "ACK: x", "COMPILED: v2 x")), hostile_text)
    for number in range(draw(st.integers(0, 4))):
        to = tuple(draw(st.lists(names, max_size=3)))
        body = draw(st.one_of(hostile_text, st.integers(0, 30).map("## Message ID\n{}".format)))
        asks = draw(st.sampled_from((None, True, False)))
        message = Message(THREAD_ID, draw(names), to, draw(subjects), body, asks)
        stored = file(StoredMessage(500 + number, moment(draw(st.integers(0, 30))), message))
        settled = tuple(draw(st.lists(st.integers(1, 30), max_size=2)))
        messages.append(stored._replace(acknowledges=settled, is_local=draw(st.booleans())))
    return messages


def status(
    messages: list[StoredMessage], history: VersionHistory | None = None, operator: str = OPERATOR
) -> SessionStatus:
    """Where the thread stands, worked out from the start or from a chain."""
    return compute_status(history or replay(THREAD_ID, messages, operator), messages, operator)


def live(
    history: VersionHistory | None, messages: list[StoredMessage], operator: str = OPERATOR
) -> VersionHistory:
    """The chain after one message more, as it is kept up to date while one watches."""
    found = advance(history, messages[-1:]) if history else None
    return found or replay(THREAD_ID, messages, operator)


# The laws


@FEWER
@given(plays, st.sampled_from((OPERATOR, "Newcomer")))
def test_followed_message_by_message_it_is_what_it_is_from_the_start(
    play_of: list[Step], operator: str
) -> None:
    """At every message, and so at the end: same phases, same turns, same everything.

    Also where another is the operator now than the first version names: both are heard.
    """
    messages = played(play_of).messages()
    history: VersionHistory | None = None
    found: SessionStatus | None = None
    for number in range(1, len(messages) + 1):
        history = live(history, messages[:number], operator)
        found = compute_status(history, messages[:number], operator, found)
        assert found == status(messages[:number], None, operator)


@FEWER
@given(hostile_threads())
def test_so_it_is_of_a_thread_that_means_harm(messages: list[StoredMessage]) -> None:
    """Late messages, odd clocks, imported mail; nothing is ever raised."""
    history: VersionHistory | None = None
    for number in range(1, len(messages) + 1):
        history = live(history, messages[:number])
        found = status(messages[:number], history)
        assert found == status(messages[:number])
        now = found.last_at + 2 * DAY
        document = status_json(found, now, DAY)
        assert document["phase"] in (None, *(phase.value for phase in Phase))
        for said in attention(found, now, DAY):
            assert said.text.isprintable()


@FEWER
@given(hostile_threads(), st.randoms(use_true_random=False))
def test_in_which_order_the_messages_are_given_does_not_matter(
    messages: list[StoredMessage], random: Random
) -> None:
    """The store's times and numbers order them."""
    shuffled = random.sample(messages, len(messages))
    assert status(shuffled) == status(messages)


@FEWER
@given(plays)
def test_a_chain_that_was_kept_says_the_same(play_of: list[Step]) -> None:
    """What was refused is part of what is kept."""
    messages = played(play_of).messages()
    if not messages:
        return
    history = replay(THREAD_ID, messages, OPERATOR)
    known = {each.id: each for each in messages}
    kept = decode_history(encode_history(history), THREAD_ID, known.__getitem__)
    assert kept == history
    assert status(messages, kept) == status(messages, history)


@FEWER
@given(plays, hostile_text.filter(lambda text: "```" not in text and "~~~" not in text))
def test_prose_never_changes_a_phase(play_of: list[Step], text: str) -> None:
    """Nor a turn, a round, or what is open: only headings and blocks say something."""
    prose = "\n\n".join(f"> {line}" for line in text.replace("\x00", "").split("\n"))
    plain, wordy = Sitting(), Sitting(prose=f"Well.\n\n{prose}")
    for step in play_of:
        play(plain, step)
        play(wordy, step)
        if plain.messages():
            assert _told(plain.status()) == _told(wordy.status())


def _told(found: SessionStatus) -> object:
    refused = [(each.message_id, each.block) for each in found.refusals]
    opened = [each.message_id for each in found.messages]
    return found.phase, found.round, found.participants, found.open_acks, refused, opened


@FEWER
@given(plays)
def test_a_version_begins_a_round(play_of: list[Step]) -> None:
    """After it nothing is unread; a round ends with the version of its number."""
    sitting = Sitting()
    for step in play_of:
        before = sitting.status() if sitting.messages() else None
        play(sitting, step)
        if not sitting.messages():
            continue
        after = sitting.status()
        number = after.version.number if after.version else 0
        is_new = number and (not before or after.version != before.version)
        is_asked = any(each.kickoff is not None for each in after.participants)
        assert (after.phase is Phase.COMPLETE) == (after.is_closed and not is_asked)
        if is_new and step.what == "close":
            assert (after.phase, after.round) == (Phase.COMPLETE, number)
            assert not after.unread
        elif is_new:
            assert (after.phase, after.round) == (Phase.IN_CRITIQUE, number + 1)
            assert (after.unread, after.applies, after.awaited) == (0, 0, ())
        elif before and before.phase is not Phase.COMPLETE:
            assert after.round == before.round


# ACKs that are owed: as a mailbox has them


def _agrees(sitting: Sitting) -> None:
    if not sitting.messages():
        return
    debts = [
        (each.debtor, each.first.id, each.last.id, each.times_sent, each.first.at, each.last.at)
        for each in sitting.mailbox.debts(thread_id=THREAD_ID)
    ]
    found = [
        (
            each.debtor,
            each.message_id,
            each.last_message_id,
            each.times_sent,
            each.since,
            each.last_sent,
        )
        for each in sitting.status().open_acks
    ]
    assert found == debts


@FEWER
@given(plays)
def test_open_acks_are_the_debts_of_the_mailbox(play_of: list[Step]) -> None:
    """After every step."""
    sitting = Sitting()
    for step in play_of:
        play(sitting, step)
        _agrees(sitting)


@settings(max_examples=settings().max_examples // 10)
@given(plays)
def test_open_acks_are_the_debts_of_a_store(play_of: list[Step]) -> None:
    """In SQL they are found another way."""
    with TemporaryDirectory() as folder:
        sitting = Sitting(partial(SQLITE.create, Path(folder)))
        _agrees(played(play_of, sitting))
        sitting.mailbox.close()


# Refused blocks, once more and naively


@FEWER
@given(plays)
def test_what_is_refused_is_open_until_a_later_message_corrects_it(play_of: list[Step]) -> None:
    """For every refused block all later messages of its author are looked through."""
    play_of = [step for step in play_of if step.what != "dismiss"]
    sitting = played(play_of)
    if not sitting.messages():
        return
    ledger: list[Entry] = []

    def watch(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        ledger.extend(local_ledger(candidate, rebuilt))

    history = replay(THREAD_ID, sitting.messages(), OPERATOR, watch)
    ledger += merge(history.state, list(history.unread)).ledger
    still_open = [
        (entry.message_id, entry.block)
        for place, entry in enumerate(ledger)
        if entry.state is BlockOutcome.REFUSED
        and not any(_corrects(later, entry) for later in ledger[place + 1 :])
    ]
    assert sitting.refused() == still_open


def _corrects(later: Entry, refused: Entry) -> bool:
    """In the world of the steps every name is exact, and every target but H9 is there."""
    if later.state is not BlockOutcome.APPLIED or later.message_id == refused.message_id:
        return False
    if (later.agent, later.operation) != (refused.agent, refused.operation):
        return False
    if later.operation == "ADD":
        return (later.section, later.name) == (refused.section, refused.name)
    if refused.meant_id:
        return refused.meant_id == later.item_id
    return refused.target_id == later.target_id == later.item_id
