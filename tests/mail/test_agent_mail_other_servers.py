"""Other Agent Mail servers than the one that can be started here: what they do differently, what
they alter, and answers that cannot be what they should be.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.agent_mail import mailbox as sending
from brenner.mail.agent_mail import mirror as view
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from mail.plain_agent_mail import KEY, PlainMail
from mail.sample_mail import (
    ANN,
    BEA,
    CAT,
    NAMES,
    QUESTION,
    THREAD,
    ack,
    error_code,
    introduce,
    listed,
    make_message,
    owed,
    post,
    whole,
)

LONG = make_message(subject=f"INFO: {'long ' * 60}")


@pytest.fixture
def server() -> Iterator[PlainMail]:
    """A server without a project."""
    with PlainMail() as server:
        yield server


@pytest.fixture
def mailbox(server: PlainMail) -> Iterator[Mailbox]:
    """Its mailbox, where the usual agents are known."""
    with server.mailbox() as mailbox:
        introduce(mailbox)
        yield mailbox


# --- Servers in the manner of the original --------------------------------------------------------


def test_all_mail_is_in_the_outboxes(server: PlainMail, mailbox: Mailbox) -> None:
    """Nobody gets a copy of everything; what was sent is read at its senders'."""
    asked = post(mailbox, make_message(subject=QUESTION))
    told = post(mailbox, make_message(sender=CAT, to=(ANN,)))
    post(mailbox, ack(str(asked.id)))
    with server.mailbox() as other:
        assert whole(other) == whole(mailbox)
        assert owed(other.debts()) == [(CAT, asked.id, asked.id, 1)]
        assert listed(other.inbox(ANN)) == [3, told.id]
        late = post(mailbox, make_message("later"))
        assert other.arrivals(3) == (late,)


def test_names_belong_to_a_project(server: PlainMail, mailbox: Mailbox) -> None:
    """The same name next door is somebody else, and its mail is not ours."""
    with server.mailbox("/lab/other") as other:
        introduce(other)
        post(other, make_message())
        assert (other.position(), mailbox.position()) == (1, 0)


@pytest.mark.parametrize("late", [timedelta(seconds=30), timedelta(days=1)])
def test_a_message_that_was_committed_late(
    server: PlainMail, mailbox: Mailbox, late: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another sender, with a time before one that is known."""
    post(mailbox, make_message())
    monkeypatch.setattr(view, "_FULL_REFRESH_SECONDS", 0.0 if late > timedelta(minutes=1) else 1e9)
    given = {"project_key": KEY, "sender_name": CAT, "to": [BEA], "subject": "x", "body_md": ""}
    stored = server.store(given, late)
    assert [each.id for each in mailbox.arrivals(1)] == [stored["id"]]
    assert mailbox.thread(str(stored["id"])).messages[0].at.isoformat() == stored["created_ts"]


def test_mail_from_before_there_was_a_collector(server: PlainMail, mailbox: Mailbox) -> None:
    """It got no copy of that; the senders have it."""
    early = post(mailbox, make_message("early"))
    server.collect()
    late = post(mailbox, make_message("late"))
    with server.mailbox() as other:
        assert other.arrivals(0) == (early, late)


def test_a_message_from_long_ago_where_nothing_else_happens(
    server: PlainMail, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory says the same as before; once in a while all is read again."""
    server.collect()
    post(mailbox, make_message())
    assert mailbox.position() == 1
    given = {"project_key": KEY, "sender_name": CAT, "to": [BEA], "subject": "x", "body_md": ""}
    server.store(given, timedelta(days=1))
    assert mailbox.position() == 1
    monkeypatch.setattr(view, "_FULL_REFRESH_SECONDS", 0.0)
    assert mailbox.position() == 2


def test_threads_that_read_at_once(server: PlainMail, mailbox: Mailbox) -> None:
    """Each message comes in once."""
    for number in range(4):
        post(mailbox, make_message(str(number)))
    with server.mailbox() as other, ThreadPoolExecutor(6) as threads:
        seen = list(threads.map(lambda _: other.arrivals(0), range(12)))
    assert {tuple(each.id for each in arrived) for arrived in seen} == {(1, 2, 3, 4)}


def test_a_token_is_given_back(server: PlainMail, mailbox: Mailbox) -> None:
    """A server that gives one to who registers wants to see it when she sends."""
    post(mailbox, make_message())
    assert [each["sender_token"] for each in server.sent] == [f"token of {ANN}"]


def test_a_token_is_kept_for_the_next_command(server: PlainMail, tmp_path: Path) -> None:
    """In a file for its owner alone, which git does not take; others' are not mixed up with it."""
    with server.mailbox(own=tmp_path) as mailbox:
        introduce(mailbox)
    with server.mailbox(own=tmp_path) as later:
        post(later, make_message())
    with server.mailbox("/lab/other", own=tmp_path) as other:
        introduce(other)
    assert [each["sender_token"] for each in server.sent] == [f"token of {ANN}"]
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".gitignore"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert len(files) == 2 * len(NAMES)
    assert (tmp_path / "agent-mail" / ".gitignore").read_text("utf-8") == "*\n"


def test_a_token_that_cannot_be_kept_is_said(server: PlainMail, tmp_path: Path) -> None:
    """Who cannot show it later could not send."""
    (tmp_path / "agent-mail").write_text("", "utf-8")
    with server.mailbox(own=tmp_path) as mailbox:
        assert failure(lambda: mailbox.register(Profile(ANN))) == "STORE_UNUSABLE"


def test_only_what_the_server_knows_is_said(server: PlainMail, mailbox: Mailbox) -> None:
    """It refuses arguments that it has not heard of."""
    post(mailbox, make_message())
    assert not {"convert_images", "auto_contact_if_blocked", "cc"} & server.sent[0].keys()


def test_recipients_where_no_outbox_tells(server: PlainMail, mailbox: Mailbox) -> None:
    """They are known as far as they still look into their inboxes."""
    server.collect()
    post(mailbox, make_message())
    del server.agents[KEY][CAT]
    server.instead["outbox"] = lambda: {"messages": []}
    with server.mailbox() as other:
        assert other.message(1).message == make_message(to=(BEA,))


# --- What is altered ------------------------------------------------------------------------------


def test_a_name_that_was_replaced(server: PlainMail, mailbox: Mailbox) -> None:
    """It is said which one the server gave instead."""
    server.given_name = lambda _: "NavyRaven"
    with pytest.raises(RequestError) as caught:
        mailbox.register(Profile("BrennerOperator"))
    assert caught.value.diagnostic.id == "NAME_ALTERED"
    assert "NavyRaven" in caught.value.diagnostic.message


def test_a_subject_that_was_cut(server: PlainMail, mailbox: Mailbox) -> None:
    """It was sent, under a number that is said; what is there can be read."""
    server.kept_subject = lambda subject: subject[:200]
    assert post(mailbox, make_message()).message == make_message()
    with pytest.raises(RequestError) as caught:
        mailbox.send(LONG)
    assert caught.value.diagnostic.id == "MESSAGE_ALTERED"
    assert "message 2 differently" in caught.value.diagnostic.message
    assert "subject" in caught.value.diagnostic.message
    assert mailbox.message(2).message == LONG._replace(subject=LONG.subject[:200])


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("thread_id", "RS-20251230-cell", "thread"),
        ("thread_id", None, "thread"),
        ("body_md", "Read", "body"),
        ("to", [BEA], "recipients"),
        ("ack_required", True, "ACK"),
        ("project_id", 7, "project"),
    ],
)
def test_whatever_was_altered(
    server: PlainMail, mailbox: Mailbox, field: str, value: object, word: str
) -> None:
    """It is noticed, and said."""

    def alter() -> object:
        server.messages[-1][field] = value
        return {"deliveries": [{"payload": server.messages[-1]}]}

    server.instead["send_message"] = alter
    with pytest.raises(RequestError) as caught:
        mailbox.send(make_message())
    assert caught.value.diagnostic.id == "MESSAGE_ALTERED"
    assert word in caught.value.diagnostic.message


# --- What cannot be understood --------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    ["sent", None, {}, {"deliveries": 1}, {"deliveries": ["x"]}, {"deliveries": [{"payload": {}}]}],
    ids=str,
)
def test_a_send_whose_answer_says_nothing(
    server: PlainMail, mailbox: Mailbox, answer: object
) -> None:
    """The message is looked for, and not sent again."""
    server.instead["send_message"] = lambda: answer
    sent = mailbox.send(make_message())
    assert sent.is_new
    assert mailbox.message(sent.stored.id).message == make_message()
    assert len(server.sent) == 1


def test_a_send_after_which_nothing_can_be_read(server: PlainMail, mailbox: Mailbox) -> None:
    """The server has said that it is stored: then it is not said that nothing was done."""

    def break_down() -> object:
        server.instead["agents"] = lambda: "?"
        return {"deliveries": [{"payload": server.messages[-1]}]}

    server.instead["send_message"] = break_down
    sent = mailbox.send(make_message())
    assert (sent.stored.message, sent.is_new) == (make_message(), True)
    assert failure(mailbox.position) == "SERVER_NONSENSE"
    del server.instead["agents"]
    assert mailbox.arrivals(0) == (sent.stored,)


def test_a_send_of_which_nothing_is_known(
    server: PlainMail, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not there, and nobody can say why."""
    monkeypatch.setattr(sending, "_FIND_SENT_SECONDS", 0.0)

    def forget() -> object:
        server.messages.clear()
        return "?"

    server.instead["send_message"] = forget
    assert failure(lambda: mailbox.send(make_message())) == "OUTCOME_UNKNOWN"


@pytest.mark.parametrize(
    "answer",
    [{"deliveries": [], "count": 0}, {"error": {"type": "CONFLICT", "message": "reserved"}}],
    ids=["nobody", "error"],
)
def test_a_send_that_was_refused_politely(
    server: PlainMail, mailbox: Mailbox, answer: object
) -> None:
    """An answer without an error, though nothing was sent."""
    server.instead["send_message"] = lambda: answer
    assert error_code(mailbox.send, make_message()) == "SERVER_REFUSED"


def failure(call: Callable[[], object]) -> str:
    """The code of what is broken."""
    with pytest.raises(UnavailableError) as caught:
        call()
    return caught.value.diagnostic.id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", None),
        ("id", "1"),
        ("id", 1.5),
        ("id", True),
        ("subject", None),
        ("subject", "\ud800"),
        ("body_md", None),
        ("body_md", "\udfff"),
        ("thread_id", 7),
        ("thread_id", "\ud800"),
        ("from", None),
        ("from", {"name": ANN}),
        ("to", "BlueLake"),
        ("to", [1]),
        ("to", {"x": 1}),
        ("created_ts", None),
        ("created_ts", "yesterday"),
        ("created_ts", 1_700_000_000),
        ("project_id", "one"),
    ],
    ids=repr,
)
def test_a_message_that_cannot_be_read_is_not_passed_over(
    server: PlainMail, mailbox: Mailbox, field: str, value: object
) -> None:
    """Its thread would look as if it were not there."""
    post(mailbox, make_message())
    server.instead["outbox"] = lambda: {"messages": [{**server.messages[0], field: value}]}
    with server.mailbox() as other:
        for call in (other.position, other.agents, lambda: other.thread(THREAD)):
            assert failure(call) == "SERVER_NONSENSE"


@pytest.mark.parametrize(
    "answer", [[], "x", None, {}, {"messages": {}}, {"messages": [1]}], ids=str
)
def test_an_outbox_that_is_none(server: PlainMail, mailbox: Mailbox, answer: object) -> None:
    """It is not taken for an empty one."""
    server.instead["outbox"] = lambda: answer
    assert failure(mailbox.position) == "SERVER_NONSENSE"


@pytest.mark.parametrize(
    "agents",
    [None, {}, [None], [{}], [{"name": 1}], [{"name": ANN, "inception_ts": "2026"}]],
    ids=str,
)
def test_a_directory_that_is_none(server: PlainMail, mailbox: Mailbox, agents: Any) -> None:
    """Nobody in it would look like a project without agents."""
    server.instead["agents"] = lambda: {"agents": agents}
    assert failure(mailbox.agents) == "SERVER_NONSENSE"


def test_a_server_that_holds_mail_back(server: PlainMail, mailbox: Mailbox) -> None:
    """It says how much there is, and shows less."""
    collector = server.collect()
    post(mailbox, make_message())
    collector["unread_count"] = 2
    with server.mailbox() as other:
        assert failure(other.position) == "SERVER_NONSENSE"
        collector["unread_count"] = 1
        assert other.position() == 1


@pytest.mark.parametrize("answer", ["x", {}, {"id": "1", "slug": "lab", "human_key": KEY}], ids=str)
def test_a_project_that_is_none(server: PlainMail, answer: object) -> None:
    """Nothing can be said about it."""
    server.instead["ensure_project"] = lambda: answer
    assert failure(server.mailbox) == "SERVER_NONSENSE"
