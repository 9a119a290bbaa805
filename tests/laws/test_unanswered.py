"""Laws of what asks for an answer (R28): it asks until exactly one of the answers comes."""

from hypothesis import given
from hypothesis import strategies as st

from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import ADD, EDIT, Delta
from brenner.protocol.messages import Message
from brenner.session.status import compute_status
from brenner.session.unanswered import compose_question_dismissal
from sample_messages import THREAD_ID
from status_sessions import AGENTS, ANN, BEA, CAT, Sitting, add
from version_threads import OPERATOR

HYPOTHESIS, TEST = "H1/T1", "T1/T1"
# What each event does to the two questions: it asks (True), it answers (False), or neither
EVENTS: dict[str, dict[str, bool]] = {
    "contradicts": {HYPOTHESIS: True, TEST: False},
    "supports": {HYPOTHESIS: False, TEST: False},
    "only passed": {HYPOTHESIS: False, TEST: False},
    "not checked": {},
    "failed": {TEST: True},
    "claim": {HYPOTHESIS: False},
    "name": {},
    "procedure": {TEST: False},
    "score": {},
    "critique of both": {HYPOTHESIS: False, TEST: False},
    "critique of one": {},
    "dismissal": {HYPOTHESIS: False},
    "dismissal of the test": {TEST: False},
    "dismissal by an agent": {},
    "version": {},
}
_RESULTS: dict[str, dict[str, object]] = {
    "contradicts": {"potency": "passed", "contradicts": ["H1"]},
    "supports": {"potency": "not_checked", "supports": ["H1"]},
    "only passed": {"potency": "passed"},
    "not checked": {"potency": "not_checked"},
    "failed": {"potency": "failed"},
}
_EDITS = {
    "claim": ("hypothesis_slate", "H1", "claim"),
    "name": ("hypothesis_slate", "H1", "name"),
    "procedure": ("discriminative_tests", "T1", "procedure"),
    "score": ("discriminative_tests", "T1", "feasibility"),
}
_NAMED = {"critique of both": "H1 stands despite T1", "critique of one": "H1 stands"}
_DISMISSED = {
    "dismissal": (OPERATOR, "H1", "T1"),
    "dismissal of the test": (OPERATOR, "T1", "T1"),
    "dismissal by an agent": (ANN, "H1", "T1"),
}


def block(section: str, target: str | None, payload: dict[str, object]) -> str:
    """An ADD, or an EDIT of the target."""
    return render_delta(Delta(EDIT if target else ADD, section, target, payload, "why"))


def opened() -> Sitting:
    """A session with H1 and T1, in v1."""
    sitting = Sitting()
    sitting.kickoff()
    payload = {"name": "x", "procedure": "x", "discriminates": "H1 vs H2"}
    outcomes = {"expected_outcomes": {"H1": "a", "H2": "b"}}
    test = block("discriminative_tests", None, {**payload, **outcomes})
    sitting.delta(ANN, add("Place"), add("Time"), test)
    sitting.compile()
    return sitting


def play(sitting: Sitting, event: str, number: int) -> None:
    """Let it happen; the number makes every text new."""
    if event in _RESULTS:
        result = {"outcome": f"seen {number}", **_RESULTS[event]}
        sitting.delta(BEA, block("discriminative_tests", "T1", {"results": [result]}))
    elif event in _EDITS:
        section, target, name = _EDITS[event]
        sitting.delta(CAT, block(section, target, {name: f"new {number}"}))
    elif event in _NAMED:
        payload = {"name": f"c{number}", "attack": _NAMED[event], "evidence": "x"}
        payload["current_status"] = "Open"
        sitting.delta(CAT, block("adversarial_critique", None, {**payload}))
    elif event in _DISMISSED:
        sender, item, because = _DISMISSED[event]
        blank = Message(THREAD_ID, sender, AGENTS, "", "")
        said = compose_question_dismissal(blank, item, because, f"reason {number}")
        sitting.send(sender, said.subject, said.body)
    else:
        sitting.compile()


def asked(sitting: Sitting, *, is_reversed: bool = False) -> set[str]:
    """What asks for an answer, with the messages of the thread in any order."""
    messages = sitting.messages()
    found = compute_status(sitting.history(), messages[::-1] if is_reversed else messages, OPERATOR)
    return {each.address for each in found.unanswered}


def imported(sitting: Sitting) -> Sitting:
    """The same thread in another store, where its messages have other numbers."""
    other = Sitting()
    other.mailbox.send(Message("another-thread", OPERATOR, (ANN,), "INFO: x", "x"))
    other.mailbox.restore((), sitting.mailbox.records())
    return other


@given(st.lists(st.sampled_from(sorted(EVENTS)), max_size=7))
def test_it_asks_until_an_answer_comes(events: list[str]) -> None:
    sitting = opened()
    expected: dict[str, bool] = {}
    for number, event in enumerate(events):
        play(sitting, event, number)
        expected |= EVENTS[event]
    wanted = {address for address, is_asked in expected.items() if is_asked}
    assert asked(sitting) == asked(sitting, is_reversed=True) == wanted
    sitting.compile()
    assert asked(sitting) == wanted
    assert asked(imported(sitting)) == wanted
