"""What is stored is never answered as a failure: who hears of one sends it again."""

import pytest

from serving.breaking import lost_after
from serving.calls import Place
from serving.sessions import ADD, ANN, BEA, codes, fine, in_session
from session.round_play import THREAD

MAIL = {"sender_name": ANN, "to": [BEA], "body_md": "x"}
ACK = "# Acknowledgement\n\n## Message ID\n99\n\n## Status\nReceived\n"
# Each call, and what is said of what could not be looked at any more
CALLS: dict[str, tuple[str, dict[str, object], list[str]]] = {
    "plain mail": ("send_message", {**MAIL, "subject": "Lunch", "thread_id": "lunch"}, []),
    "mail of a session": (
        "send_message",
        {**MAIL, "subject": "Lunch", "thread_id": THREAD},
        ["NOT_COMPILED"],
    ),
    "an ACK": (
        "send_message",
        {**MAIL, "subject": "ACK: x", "body_md": ACK, "thread_id": THREAD},
        ["STORED_WITH_TROUBLE"],
    ),
    "an answer": (
        "reply_message",
        {"message_id": 1, "sender_name": ANN, "body_md": "x"},
        ["NOT_COMPILED"],
    ),
    "a contribution": (
        "brenner_post",
        {"agent": ANN, "thread_id": THREAD, "deltas": [ADD]},
        ["STORED_WITH_TROUBLE"],
    ),
    "an acknowledgement": (
        "acknowledge_message",
        {"agent_name": ANN, "message_id": 1},
        ["STORED_WITH_TROUBLE"],
    ),
}


@pytest.fixture
def here() -> Place:
    """A session of three."""
    return in_session()


@pytest.mark.parametrize("what", CALLS)
def test_store_is_lost_after_it_has_stored(here: Place, what: str) -> None:
    """There is one message, the answer says so, and what could not be found out."""
    tool, arguments, wanted = CALLS[what]
    before = here.mailbox.position()
    back = lost_after(here.mailbox, "send")
    answer = here.ask(tool, **arguments)
    back()
    assert here.mailbox.position() == before + 1
    said = fine(answer)
    assert str(here.mailbox.arrivals(before)[0].id) in str(said)
    assert (codes(answer) if "violations" in said else []) == wanted


def test_ack_is_not_repeated_for_a_lost_mark(here: Place) -> None:
    """Doing it again notes what could not be noted, and sends nothing."""
    back = lost_after(here.mailbox, "send")
    first = fine(here.ask("acknowledge_message", agent_name=ANN, message_id=1))
    back()
    assert here.mailbox.unread(ANN) == 1
    again = fine(here.ask("acknowledge_message", agent_name=ANN, message_id=1))
    assert again["ack_message_id"] == first["ack_message_id"]
    assert "violations" not in again
    assert here.mailbox.unread(ANN) == 0
