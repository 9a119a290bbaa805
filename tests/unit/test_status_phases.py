"""Where a session stands: its round, its phase and whose turn it is, case by case."""

import pytest

from brenner.mail.model import Profile
from brenner.protocol.roster import Mode, Roster
from brenner.session.model import Phase, Turn
from status_sessions import AGENTS, ANN, BEA, CAT, ROLES, ROSTER, Sitting, add, edit
from version_threads import OPERATOR

REFUSED = edit("H9", "x")


def test_a_round_from_kickoff_to_version() -> None:
    """Every phase of an ordinary round, in its order."""
    sitting = Sitting()
    number = sitting.kickoff(ANN, BEA).id
    seen = [sitting.status().phase]
    sitting.ack(ANN, number)
    seen.append(sitting.status().phase)
    sitting.ack(BEA, number)
    seen.append(sitting.status().phase)
    sitting.delta(ANN, add("Place"))
    seen.append(sitting.status().phase)
    sitting.delta(BEA, add("Time"))
    seen.append(sitting.status().phase)
    sitting.compile()
    seen.append(sitting.status().phase)
    sitting.compile("closed")
    seen.append(sitting.status().phase)
    acks, deltas, ready = Phase.AWAITING_ACKS, Phase.AWAITING_DELTAS, Phase.READY_TO_COMPILE
    assert seen == [acks, acks, deltas, deltas, ready, Phase.IN_CRITIQUE, Phase.COMPLETE]
    assert set(seen) == set(Phase) - {Phase.CANCELLED}


def test_every_turn() -> None:
    """Each of them is somebody's in one round."""
    sitting = Sitting()
    for name in ("Amy", "Una"):
        sitting.mailbox.register(Profile(name))
    number = sitting.kickoff(*AGENTS, "Stranger", "Amy").id
    sitting.ack(ANN, number)
    sitting.ack(BEA, number, "Completed")
    sitting.delta(CAT, add("Place"), REFUSED)
    sitting.delta("Stranger", REFUSED)
    sitting.send("Una", "INFO: here", "Hello.")
    turns = {each.name: each.turn for each in sitting.status().participants}
    assert turns == {
        ANN: Turn.OWES_DELTA,
        BEA: Turn.PASSED,
        CAT: Turn.CONTRIBUTED,
        "Stranger": Turn.TO_CORRECT,
        "Amy": Turn.OWES_ACK,
        "Una": Turn.NOT_ASKED,
    }
    assert set(turns.values()) == set(Turn)


# Who answers, and how


def test_one_who_never_answers_keeps_the_round_waiting() -> None:
    """Others have contributed; what they sent would be applied, but she was asked."""
    sitting = Sitting()
    sitting.kickoff(ANN, BEA)
    sitting.delta(ANN, add("Place"))
    status = sitting.status()
    assert (status.phase, status.applies) == (Phase.AWAITING_ACKS, 1)
    assert [each.name for each in status.awaited] == [BEA]


def test_one_who_answers_twice_is_counted_twice_and_awaited_no_more() -> None:
    """The second message only repeats the first: a duplicate is a contribution too."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    first = sitting.delta(ANN, add("Place"))
    sitting.again(first)
    ann = sitting.who(ANN)
    assert (ann.deltas, ann.applied, ann.duplicate, ann.turn) == (2, 1, 1, Turn.CONTRIBUTED)
    sitting.compile()
    sitting.kickoff(ANN, words="Again.")
    sitting.again(first)
    ann, status = sitting.who(ANN), sitting.status()
    assert (ann.deltas, ann.applied, ann.duplicate, ann.total) == (1, 0, 1, 3)
    assert (ann.turn, status.phase) == (Turn.CONTRIBUTED, Phase.IN_CRITIQUE)


def test_a_copy_of_what_she_wrote_is_no_word_of_hers() -> None:
    """The operator sends her question again, to whom it was for."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    asked = sitting.send(ANN, "QUESTION: x", "## Question\nWhich?\n", (BEA,))
    sitting.again(asked)
    ann = sitting.who(ANN)
    assert (ann.other_messages, ann.last_at) == ((asked.id,), asked.at)


@pytest.mark.parametrize(
    "subject", ["Re: KICKOFF: Fate", "INFO: my delta", "CRITIQUE: my delta", "delta[opus]: x", ""]
)
def test_an_answer_of_the_wrong_type_is_an_aside(subject: str) -> None:
    """It contributes nothing, and she is awaited; but it is seen that she wrote."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    number = sitting.send(ANN, subject, add("Place")).id
    ann = sitting.who(ANN)
    assert (ann.turn, ann.other_messages, ann.deltas) == (Turn.OWES_ACK, (number,), 0)
    sitting.delta(BEA, add("Time"))
    sitting.compile()
    assert sitting.who(ANN).other_messages == ()  # of this round


def test_one_who_is_not_in_the_roster_is_no_obstacle_and_is_seen() -> None:
    """She comes after the others, and is awaited only if she was asked."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta("Stranger", add("Chance"))
    names = [(each.name, each.is_in_roster, each.role) for each in sitting.status().participants]
    roster = [(name, True, role) for name, role in zip(AGENTS, ROLES, strict=True)]
    assert names == [*roster, ("Stranger", False, None)]
    stranger = sitting.who("Stranger")
    assert (stranger.turn, stranger.is_awaited) == (Turn.CONTRIBUTED, False)
    sitting.compile()
    sitting.delta("Stranger", REFUSED)
    stranger = sitting.who("Stranger")
    assert (stranger.turn, stranger.refused, stranger.is_awaited) == (Turn.NOT_ASKED, 1, False)


def test_a_delta_that_is_wholly_refused_is_to_be_corrected() -> None:
    """She has answered, so no ACK is awaited of her; her contribution is."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, REFUSED, "```delta\n{\n```\n")
    status = sitting.status()
    assert sitting.who(ANN).turn is Turn.TO_CORRECT
    assert (status.phase, status.unread, status.applies) == (Phase.AWAITING_DELTAS, 1, 0)
    sitting.delta(ANN, add("Place"))
    assert sitting.status().phase is Phase.READY_TO_COMPILE


def test_a_delta_that_is_partly_refused_is_a_contribution() -> None:
    """What was refused in it is listed all the same."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    number = sitting.delta(ANN, add("Place"), REFUSED).id
    assert sitting.who(ANN).turn is Turn.CONTRIBUTED
    assert sitting.status().phase is Phase.READY_TO_COMPILE
    assert sitting.refused() == [(number, 2)]


def test_a_delta_without_blocks_is_an_answer_and_no_contribution() -> None:
    """She has been heard of, and owes the delta."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN)
    assert sitting.who(ANN).turn is Turn.OWES_DELTA


def test_an_ack_as_completed_says_that_she_passes() -> None:
    """Also where it is her second ACK, which settles nothing any more; any kickoff will do."""
    sitting = Sitting()
    number = sitting.kickoff(ANN).id
    sitting.ack(ANN, number, "Will Action")
    assert sitting.who(ANN).turn is Turn.OWES_DELTA
    sitting.ack(ANN, number, "**Completed**.\nThere is nothing to add.")
    status = sitting.status()
    assert sitting.who(ANN).turn is Turn.PASSED
    assert status.phase is Phase.AWAITING_DELTAS  # nobody is awaited, and nothing is there
    assert not status.awaited


@pytest.mark.parametrize(
    ("said", "turn"),
    [
        ("completed", Turn.PASSED),
        ("✅ `Completed`!", Turn.PASSED),
        ("- **Completed**", Turn.PASSED),
        ("- [x] Completed", Turn.PASSED),
        ("- [ ] Received\n- [X] **Completed**.", Turn.PASSED),
        ("[ ] Received\n[x] Completed", Turn.PASSED),
        ("- [ ] Completed", Turn.OWES_DELTA),
        ("- [ ] Completed\n- [x] Received", Turn.OWES_DELTA),
        ("[] Completed", Turn.OWES_DELTA),
        ("Completed? No, will action", Turn.OWES_DELTA),
        ("Completed: not yet", Turn.OWES_DELTA),
        ("Completed / Received", Turn.OWES_DELTA),
        ("~~Completed~~ Received", Turn.OWES_DELTA),
        ("~~Completed~~", Turn.OWES_DELTA),
        ("Not completed", Turn.OWES_DELTA),
    ],
)
def test_she_passes_only_where_she_says_just_that(said: str, turn: Turn) -> None:
    """Whoever has not ticked it, or takes it back in the same line, is awaited."""
    sitting = Sitting()
    sitting.ack(ANN, sitting.kickoff(ANN).id, said)
    assert sitting.who(ANN).turn is turn


def test_an_ack_of_a_kickoff_that_wants_none_counts() -> None:
    """There is no debt, and so none is settled: the number in it says what it is about."""
    sitting = Sitting()
    number = sitting.kickoff(ANN, ack=False).id
    assert sitting.who(ANN).turn is Turn.OWES_ACK
    assert not sitting.status().open_acks
    sitting.ack(ANN, number)
    assert sitting.who(ANN).turn is Turn.OWES_DELTA


# Whom a kickoff asks


def test_a_kickoff_to_several_asks_each_of_them() -> None:
    """In unified mode there is one message for all; its sender asks nothing of herself."""
    sitting = Sitting()
    unified = Roster(ROSTER.entries, Mode.UNIFIED.value)
    number = sitting.kickoff(ANN, BEA, OPERATOR, roster=unified).id
    sitting.ack(ANN, number)
    turns = [each.turn for each in sitting.status().participants]
    assert turns == [Turn.OWES_DELTA, Turn.OWES_ACK, Turn.NOT_ASKED]
    assert sitting.who(CAT).kickoff is None


def test_a_kickoff_that_was_sent_again_asks_once() -> None:
    """An ACK for either copy is one for both; what was read by a version asks nothing new."""
    sitting = Sitting()
    first = sitting.kickoff(ANN)
    copy = sitting.again(first)
    assert sitting.who(ANN).kickoff == first.id
    sitting.ack(ANN, copy.id)
    assert sitting.who(ANN).turn is Turn.OWES_DELTA
    sitting.delta(BEA, add("Time"))
    sitting.compile()
    sitting.again(first, ANN)
    assert sitting.who(ANN).turn is Turn.NOT_ASKED
    assert sitting.status().phase is Phase.IN_CRITIQUE
    sitting.again(first, CAT)  # she has not had it
    assert sitting.who(CAT).turn is Turn.OWES_ACK


def test_of_two_kickoffs_in_one_round_the_later_counts() -> None:
    """Who has acknowledged or passed the first has not heard of the second."""
    sitting = Sitting()
    first = sitting.kickoff(ANN)
    sitting.ack(ANN, first.id, "Completed")
    second = sitting.kickoff(ANN, words="But look at time.")
    ann = sitting.who(ANN)
    assert (ann.turn, ann.kickoff) == (Turn.OWES_ACK, second.id)


def test_the_operator_takes_part_only_if_she_is_asked() -> None:
    """She writes most of the thread; an agent may ask her all the same."""
    sitting = Sitting()
    sitting.kickoff(ANN, roster=None)
    assert [each.name for each in sitting.status().participants] == [ANN]
    sitting.send(ANN, "KICKOFF: You too", "## Research Question\nWhat decides?\n", (OPERATOR,))
    turns = {each.name: each.turn for each in sitting.status().participants}
    assert turns == {ANN: Turn.OWES_ACK, OPERATOR: Turn.OWES_ACK}


def test_the_roster_is_that_of_the_latest_kickoff_that_has_one() -> None:
    """In heuristic mode a name may tell the role (R15)."""
    sitting = Sitting()
    sitting.mailbox.register(Profile("GeminiOne"))
    sitting.kickoff()
    heuristic = Roster(ROSTER.entries[:1], Mode.HEURISTIC.value)
    sitting.kickoff(ANN, "GeminiOne", roster=heuristic, words="Again.")
    sitting.kickoff(ANN, roster=None, words="Once more.")
    found = {each.name: (each.role, each.is_in_roster) for each in sitting.status().participants}
    assert found[ANN] == (ROLES[0], True)
    assert found["GeminiOne"] == (ROLES[2], False)
    assert found[BEA] == (None, False)
