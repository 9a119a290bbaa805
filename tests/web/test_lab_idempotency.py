"""Each form is done once: by whoever clicks twice, reloads, goes back, or has two tabs."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest

from brenner.config import OPERATOR
from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.codes.stores import OUTCOME_UNKNOWN, SERVER_UNREACHABLE
from brenner.diagnostics.model import (
    Diagnostic,
    RequestError,
    UnavailableError,
    UnknownOutcomeError,
)
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, SendResult
from brenner.protocol.messages import Message
from brenner.server.settings import ServeSettings
from brenner.web.form_tokens import without_tokens
from brenner.web.lab import actions as once_module
from brenner.web.lab.actions import ActionResult, IdempotencyKeys
from brenner.web.request import Form, Page, parse_form, parse_json
from serving.running import Inside, inside
from web.lab_client import Client

THREAD = "RS-20251230-cell-fate"
REPLY = f"/lab/sessions/{THREAD}/reply"
LAB = ServeSettings(port=0, requests_a_second=1_000_000, is_lab=True)
LETTER = {"to": "BlueLake", "subject": "INFO: Once", "body": "Only once.\n\nIn two paragraphs."}
DONE = ActionResult(is_done=True, says="Done.", document={})
PAGE = Page("lab/kept.html", "Again", {})


class Frail(MemoryMailbox):
    """A mailbox whose store can go away: before it has stored something, or right after it."""

    fails = ""

    def send(self, message: Message, **options: object) -> SendResult:
        fails, self.fails = self.fails, ""
        if fails == "before":
            raise UnavailableError(_away())
        sent = super().send(message, **options)  # type: ignore[arg-type]
        if fails == "after":
            raise UnknownOutcomeError(_lost())
        return sent


def _away() -> Diagnostic:
    return SERVER_UNREACHABLE.at(where="The store", reason="it is away", advice="Wait")


def _lost() -> Diagnostic:
    return OUTCOME_UNKNOWN.at(where="The store", reason="it is away", what="the message")


@pytest.fixture(scope="module")
def served() -> Iterator[Inside]:
    """A lab with a thread in it."""
    made = Frail()
    made.register(Profile(OPERATOR))
    made.register(Profile("BlueLake"))
    made.send(Message(THREAD, "BlueLake", (OPERATOR,), "INFO: Hello", "Hello.\n"))
    with inside(made, settings=LAB) as server:
        yield server


@pytest.fixture
def client(served: Inside) -> Client:
    """The operator, logged in."""
    made = Client(served)
    made.log_in()
    return made


def letters(served: Inside) -> list[int]:
    """The letters that were sent."""
    stored = served.workspace.mailbox.thread(THREAD).messages
    return [each.id for each in stored if each.message.subject == LETTER["subject"]]


def test_reloading_and_going_back(served: Inside, client: Client) -> None:
    """The same form again, whenever: the same answer, and one message."""
    before = len(letters(served))
    hidden = client.get(REPLY).hidden
    first = client.post(REPLY, {**hidden, **LETTER})
    assert (first.status, first.to) == (HTTPStatus.SEE_OTHER, f"/lab/done/{hidden['once']}")
    assert client.post(REPLY, {**hidden, **LETTER}).to == first.to
    texts = {without_tokens(client.get(first.to).text) for _ in range(3)}
    assert len(texts) == 1
    assert f"Sent message {letters(served)[-1]} to BlueLake" in texts.pop()
    assert len(letters(served)) == before + 1


def test_a_double_click(served: Inside, client: Client) -> None:
    """Many at the same time wait for the one that acts."""
    before = len(letters(served))
    hidden = client.get(REPLY).hidden
    with ThreadPoolExecutor(12) as pool:
        got = list(pool.map(lambda _: client.post(REPLY, {**hidden, **LETTER}), range(12)))
    assert {(each.status, each.to) for each in got} == {(303, f"/lab/done/{hidden['once']}")}
    assert len(letters(served)) == before + 1


def test_other_contents_under_the_same_key(served: Inside, client: Client) -> None:
    """That is refused, and what was typed is there still."""
    before = len(letters(served))
    hidden = client.get(REPLY).hidden
    client.post(REPLY, {**hidden, **LETTER})
    got = client.post(REPLY, {**hidden, **LETTER, "body": "Another text."})
    assert (got.status, "FORM_CHANGED" in got.text) == (HTTPStatus.CONFLICT, True)
    assert "Another text." in got.text
    assert got.hidden["once"] != hidden["once"]  # the form that comes back is a new one
    assert len(letters(served)) == before + 1


def test_two_tabs_are_two_forms(served: Inside, client: Client) -> None:
    """Each was shown by itself, and each is done."""
    before = len(letters(served))
    for hidden in (client.get(REPLY).hidden, client.get(REPLY).hidden):
        assert client.post(REPLY, {**hidden, **LETTER}).status == HTTPStatus.SEE_OTHER
    assert len(letters(served)) == before + 2


def test_forms_that_nobody_knows(served: Inside, client: Client) -> None:
    """A key of another login, of before, or none: look at the thread first."""
    before = len(letters(served))
    hidden, other = client.get(REPLY).hidden, Client(served)
    other.log_in()
    strange = other.get(REPLY).hidden["once"]
    client.log_in()
    hidden = client.get(REPLY).hidden
    for key in (strange, "", "x" * 10_000):
        got = client.post(REPLY, {**hidden, **LETTER, "once": key})
        assert (got.status, "FORM_UNKNOWN" in got.text) == (HTTPStatus.CONFLICT, True)
        assert "Check the thread first" in got.text
        assert "In two paragraphs." in got.text
    assert client.get(f"/lab/done/{strange}").status == HTTPStatus.CONFLICT
    assert len(letters(served)) == before


def test_what_is_wrong_leaves_the_key_good(served: Inside, client: Client) -> None:
    """The form comes back with everything and its key; corrected, it is sent."""
    before = len(letters(served))
    hidden = client.get(REPLY).hidden
    got = client.post(REPLY, {**hidden, **LETTER, "to": "Nobody"})
    assert got.status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "UNKNOWN_RECIPIENT" in got.text or "is not registered" in got.text
    assert "In two paragraphs." in got.text
    assert got.hidden["once"] == hidden["once"]
    assert client.post(REPLY, {**hidden, **LETTER}).status == HTTPStatus.SEE_OTHER
    assert len(letters(served)) == before + 1


def test_the_store_is_away(served: Inside, client: Client) -> None:
    """Nothing is sent; the form says so with all that was typed, and works once it is back."""
    mailbox = served.workspace.mailbox
    assert isinstance(mailbox, Frail)
    before = len(letters(served))
    hidden = client.get(REPLY).hidden
    mailbox.fails = "before"
    got = client.post(REPLY, {**hidden, **LETTER})
    assert (got.status, "SERVER_UNREACHABLE" in got.text) == (HTTPStatus.SERVICE_UNAVAILABLE, True)
    assert "In two paragraphs." in got.text
    assert got.hidden["once"] == hidden["once"]
    assert len(letters(served)) == before
    other = client.post(REPLY, {**hidden, **LETTER, "body": "Changed meanwhile."})
    assert other.status == HTTPStatus.SEE_OTHER


def test_nobody_knows_whether_it_was_sent(served: Inside, client: Client) -> None:
    """The same may be sent again, and is one message; anything else under that key is refused."""
    mailbox = served.workspace.mailbox
    assert isinstance(mailbox, Frail)
    before = len(letters(served))
    hidden = client.get(REPLY).hidden
    mailbox.fails = "after"
    got = client.post(REPLY, {**hidden, **LETTER})
    assert got.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "may or may not be stored" in got.text
    assert got.hidden["once"] == hidden["once"]
    changed = client.post(REPLY, {**hidden, **LETTER, "body": "Changed."})
    assert (changed.status, "FORM_CHANGED" in changed.text) == (HTTPStatus.CONFLICT, True)
    again = client.post(REPLY, {**hidden, **LETTER})
    assert again.status == HTTPStatus.SEE_OTHER
    assert "sent before" in client.get(again.to).text
    assert len(letters(served)) == before + 1


def test_scripts_choose_their_key(served: Inside, client: Client) -> None:
    """With one a repeated request is the first one; without, each counts."""
    before = len(letters(served))
    secret = client.log_in()
    script = Client(served)
    said = {**LETTER, "to": ["BlueLake"], "once": "my key"}
    first, again = script.send(REPLY, said, secret), script.send(REPLY, said, secret)
    assert first.document == again.document
    other = script.send(REPLY, {**said, "body": "Another."}, secret)
    assert (other.status, other.document["fault"]["id"]) == (HTTPStatus.CONFLICT, "FORM_CHANGED")
    assert len(letters(served)) == before + 1
    for _ in range(2):
        assert script.send(REPLY, {**said, "once": ""}, secret).document["done"]
    assert len(letters(served)) == before + 3


# The parts


def test_what_is_kept_of_a_form() -> None:
    """Errors that did nothing are forgotten; one whose fate is unknown is not."""
    once = IdempotencyKeys()
    key = once.key()

    def fails(error: Exception) -> None:
        def do() -> ActionResult:
            raise error

        with pytest.raises(type(error)):
            once.act(key, "a", do)

    fails(RequestError(UNKNOWN_THREAD.at(thread="x", suggestion="")))
    fails(UnavailableError(_away()))
    assert once.act(key, "b", lambda: PAGE) == PAGE
    fails(UnknownOutcomeError(_lost()))
    with pytest.raises(RequestError) as refused:
        once.act(key, "b", lambda: DONE)
    assert refused.value.diagnostic.code is codes.FORM_CHANGED
    assert once.act(key, "a", lambda: PAGE) == PAGE
    with pytest.raises(RequestError):
        once.act(key, "b", lambda: DONE)
    assert once.act(key, "a", lambda: DONE) == DONE
    assert once.done(key) == DONE


def test_a_fault_of_the_program_counts_as_unknown() -> None:
    """Nobody knows how far it came."""
    once = IdempotencyKeys()
    key = once.key()
    with pytest.raises(ZeroDivisionError):
        once.act(key, "a", lambda: DONE if 1 // 0 else PAGE)
    with pytest.raises(RequestError):
        once.act(key, "b", lambda: DONE)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest forms are forgotten, and do nothing any more; old outcomes are kept in short.

    Those that were only shown go first: with a key that was used nothing is done again.
    """
    once = IdempotencyKeys()
    shown = once.key()
    keys = [once.key() for _ in range(300)]
    whole = ActionResult(is_done=True, says="Sent.", document={"long": "x" * 1000})
    for key in keys:
        once.act(key, "a", lambda: whole)
    assert once.done(keys[-1]) == whole
    assert once.done(keys[0]).document == {}
    assert once.done(keys[0]).is_done
    for number in range(2_000):
        once.expect(f"of a script {number}")
    with pytest.raises(RequestError) as refused:
        once.act(shown, "a", lambda: whole)
    assert refused.value.diagnostic.code is codes.FORM_UNKNOWN
    once.expect(keys[0])
    assert once.act(keys[0], "a", _never) == once.done(keys[0])
    monkeypatch.setattr(once_module, "MAX_DONE", 300)
    once.act("of a script 1999", "a", lambda: whole)
    with pytest.raises(RequestError):
        once.done(keys[0])


def _never() -> ActionResult:
    pytest.fail("it was done again")


def test_waiting_for_the_first() -> None:
    """Who comes second waits, and acts only where the first has done nothing."""
    once = IdempotencyKeys()
    key, is_begun, may_end = once.key(), threading.Event(), threading.Event()
    acts: list[str] = []

    def slow() -> ActionResult:
        acts.append("slow")
        is_begun.set()
        may_end.wait(30)
        return DONE

    def quick() -> ActionResult:
        acts.append("quick")
        return DONE

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(once.act, key, "a", slow)
        assert is_begun.wait(30)
        second = pool.submit(once.act, key, "a", quick)
        may_end.set()
        assert first.result() == second.result() == DONE
    assert acts == ["slow"]


def test_fields_of_forms() -> None:
    """As a browser sends them, and as a script does."""
    form = parse_form(b"to=A&to=B&body=one%0D%0Atwo&empty=&token=t&once=o")
    assert form.get_all("to") == ("A", "B")
    assert (form["to"], form["body"], form["empty"]) == ("A", "one\ntwo", "")
    assert dict(form.typed) == {"to": "B", "body": "one\ntwo", "empty": ""}
    same, sent = parse_json(
        b'{"to": ["A", "B"], "body": "one\\ntwo", "empty": "", "deep": {"x": 1}}'
    )
    assert same.content == form.content
    assert isinstance(sent, dict)
    assert sent["deep"] == {"x": 1}
    assert parse_form(b"to=B&to=A").content != parse_form(b"to=A&to=B").content
    flags, _ = parse_json(b'{"yes": true, "no": false, "number": 3, "none": null}')
    assert dict(flags) == {"yes": "yes", "number": "3"}
    assert form.with_field("to", "C").get_all("to") == ("C",)
    assert Form().content == Form([("once", "x"), ("token", "y")]).content
