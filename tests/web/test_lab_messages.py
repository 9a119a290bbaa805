"""Replying, acknowledging and criticising in the lab: checked, shown, sent, and said."""

import html
from collections.abc import Iterator
from http import HTTPStatus

import pytest
from playwright.sync_api import Browser, expect

from brenner.config import OPERATOR
from brenner.protocol.messages import Message, StoredMessage, Trust
from brenner.services.identity import renew_secret
from web.browsing import LAB, PHONE, THREAD, Show, show, window
from web.lab_client import Client

SESSION = f"/lab/sessions/{THREAD}"
_ACTIONS = ("reply", "acknowledge", "critique")
REPLY, ACKNOWLEDGE, CRITIQUE = (f"{SESSION}/{name}" for name in _ACTIONS)
HOSTILE = "<script>alert(1)</script>"
WRONG, DONE = HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SEE_OTHER


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    """The demo's session in lab mode."""
    with show(tmp_path_factory.mktemp("letters"), settings=LAB) as opened:
        yield opened


@pytest.fixture
def client(served: Show) -> Client:
    """The operator, logged in."""
    made = Client(served.server)
    made.log_in()
    return made


def asked(served: Show, subject: str) -> StoredMessage:
    """A question to the operator, who owes an ACK for it."""
    body = "# Question\n\n## Question\nWhich strain?\n\n## Urgency\nSoon\n"
    message = Message(THREAD, "BlueLake", (OPERATOR,), f"QUESTION: {subject}", body)
    return served.mailbox.send(message).stored


def last(served: Show) -> StoredMessage:
    """What was sent last."""
    return served.mailbox.thread(THREAD).messages[-1]


def owed(served: Show) -> set[int]:
    """What the operator owes an ACK for."""
    return {debt.last.id for debt in served.mailbox.debts(OPERATOR, THREAD)}


# Replying


def test_a_reply(served: Show, client: Client) -> None:
    """It goes to who asked, with a valid subject, linked, verified; the ACK goes with it."""
    question = asked(served, "Re: re: Which strain?")
    form = client.get(f"{REPLY}?message={question.id}")
    assert 'value="INFO: Re: Which strain?"' in form.text
    assert 'name="to" value="BlueLake" checked' in form.text
    fields = {"to": "BlueLake", "subject": "INFO: Re: Which strain?", "body": "T4D."}
    got = client.post(REPLY, {**form.hidden, **fields, "acknowledge": "yes"})
    assert got.status == DONE
    reply, ack = served.mailbox.thread(THREAD).messages[-2:]
    assert (reply.reply_to, reply.message.body) == (question.id, "T4D.\n")
    assert (ack.type, ack.acknowledges) == ("ACK", (question.id,))
    assert {reply.envelope.trust, ack.envelope.trust} == {Trust.VERIFIED}
    done = client.get(got.to).text
    assert f"Sent message {reply.id} to BlueLake" in done
    assert f"Message {question.id} was acknowledged in message {ack.id}." in done
    assert f'href="/messages/{reply.id}"' in done
    assert question.id not in owed(served)


def test_a_reply_without_the_ack(served: Show, client: Client) -> None:
    """The box is not ticked: it is owed still."""
    question = asked(served, "Which host?")
    form = client.get(f"{REPLY}?message={question.id}")
    fields = {"to": "BlueLake", "subject": "INFO: Host", "body": "E. coli B."}
    client.post(REPLY, {**form.hidden, **fields})
    assert last(served).message.subject == "INFO: Host"
    assert question.id in owed(served)


def test_what_cannot_be_acknowledged_is_found_out_before_anything_is_sent(
    served: Show, client: Client
) -> None:
    """A message to others; or none at all. Neither the letter nor an ACK goes out."""
    messages = served.mailbox.thread(THREAD).messages
    to_others = next(each.id for each in messages if each.message.sender == OPERATOR)
    before = last(served)
    hidden = client.get(REPLY).hidden
    letter = {"to": "BlueLake", "subject": "INFO: x", "body": "Text.", "acknowledge": "yes"}
    for also in ({"message": to_others}, {}):
        got = client.post(REPLY, {**hidden, **letter, **also})
        assert got.status == HTTPStatus.CONFLICT
    assert last(served) == before


def test_writing_to_the_session(served: Show, client: Client) -> None:
    """Without a message that is answered; several recipients, some written by hand."""
    hidden = client.get(REPLY).hidden
    fields = {"to": ["BlueLake"], "more": " RedSky , GreenDog,BlueLake", "ack": "yes"}
    letter = {"subject": "INFO: To all", "body": "Hello."}
    got = client.post(REPLY, {**hidden, **fields, **letter})
    sent = last(served)
    assert sent.message.recipients == ("BlueLake", "RedSky", "GreenDog")
    assert sent.message.ack_required
    assert sent.reply_to is None
    assert "Each recipient must acknowledge it." in client.get(got.to).text


@pytest.mark.parametrize(
    ("fields", "code", "at"),
    [
        ({"to": []}, "SENT_TO_NOBODY", "to"),
        ({"to": "Nobody"}, "UNKNOWN_RECIPIENT", "to"),
        ({"subject": "Hello"}, "INVALID_SUBJECT_PREFIX", "subject"),
        ({"subject": "INFO:"}, "EMPTY_SUBJECT_DESCRIPTION", "subject"),
        ({"subject": "QUESTION: Why", "body": "No section."}, "MISSING_SECTION", "body"),
        ({"subject": "INFO: a\nTo: Mallory"}, "UNSTORABLE_TEXT", "subject"),
        ({"to": "BlueLake\nFrom: Mallory"}, "UNSTORABLE_TEXT", "to"),
        ({"body": "a\0b"}, "NUL_CHARACTER", "body"),
        ({"subject": "INFO: x", "body": "[[fill in: it]]"}, "TEMPLATE_NOT_FILLED_IN", "body"),
    ],
)
def test_what_is_wrong(
    served: Show, client: Client, fields: dict[str, object], code: str, at: str
) -> None:
    """Beside the field that it is in, as `mail send` says it; nothing is sent."""
    letter = {"to": "BlueLake", "subject": "INFO: Fine", "body": "A text to keep."}
    before = last(served)
    secret = client.log_in()
    got = Client(served.server).send(REPLY, {**letter, **fields}, secret)
    assert got.status == WRONG
    found = {(each["id"], each["at"]) for each in got.document["violations"]}
    assert (code, at) in found
    form = client.post(REPLY, {**client.get(REPLY).hidden, **letter, **fields})
    assert form.status == WRONG
    kept = str({**letter, **fields}["body"]).replace("\0", "")
    assert html.escape(kept)[:5] in form.text
    assert last(served) == before


def test_warnings_go_through(served: Show, client: Client) -> None:
    """They are said on the page of what came of it."""
    hidden = client.get(REPLY).hidden
    body = "# Question\n\n## Question\nWhich?\n"
    fields = {"to": "BlueLake", "subject": "QUESTION: Which", "body": body}
    got = client.post(REPLY, {**hidden, **fields})
    assert got.status == DONE
    assert "MISSING_RECOMMENDED_SECTION" in client.get(got.to).text


def test_delta_without_effect_needs_a_confirmation(served: Show, client: Client) -> None:
    """Nothing is sent, the text stays, and the form asks; a script passes `anyway`."""
    block = (
        '{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H99", '
        '"payload": {"reason": "x"}, "rationale": "x"}'
    )
    fields = {"to": "BlueLake", "subject": "DELTA[human]: Out", "body": f"```delta\n{block}\n```\n"}
    before = last(served)
    form = client.get(REPLY)
    assert 'name="anyway"' not in form.text
    refused = client.post(REPLY, {**form.hidden, **fields})
    assert refused.status == WRONG
    assert 'name="anyway"' in refused.text
    assert "H99" in refused.text
    assert last(served) == before
    assert client.post(REPLY, {**refused.hidden, **fields, "anyway": "yes"}).status == DONE
    sent = last(served)
    assert sent.message.subject == "DELTA[human]: Out"
    other = {**fields, "body": fields["body"].replace("H99", "H98")}
    got = Client(served.server).send(REPLY, other, client.log_in())
    (first, *_) = got.document["violations"]
    assert (first["id"], first["at"]) == ("EVERY_BLOCK_REFUSED", "body")
    assert last(served) == sent


def test_previews(served: Show, client: Client) -> None:
    """The message as it would be sent, alone or within the form; the key is good still."""
    hidden = client.get(REPLY).hidden
    fields = {
        "to": "BlueLake",
        "subject": "INFO: Bold",
        "body": f"**bold** {HOSTILE}",
    }
    before = last(served)
    for _ in range(2):
        part = client.post(f"{REPLY}/preview", {**hidden, **fields}, {"HX-Request": "true"})
        assert "<strong>bold</strong>" in part.text
        assert "<html" not in part.text
        whole = client.post(f"{REPLY}/preview", {**hidden, **fields})
        assert whole.hidden["once"] == hidden["once"]
        assert whole.hidden["token"] != hidden["token"]  # masked anew
        assert "<strong>bold</strong>" in whole.text
        assert "<script>alert" not in whole.text + part.text
    wrong = client.post(f"{REPLY}/preview", {**hidden, **fields, "to": "Nobody"})
    assert "is not registered" in wrong.text
    assert last(served) == before
    assert client.post(REPLY, {**hidden, **fields}).status == DONE


def test_messages_of_other_threads(served: Show, client: Client) -> None:
    """They cannot be answered from here, nor can one that does not exist."""
    other = served.mailbox.send(Message("other", "BlueLake", (OPERATOR,), "INFO: Else", "x")).stored
    for number in (other.id, 0, 10**17, "x", "-1"):
        assert client.get(f"{REPLY}?message={number}").status in (400, 404)
        assert client.get(f"{ACKNOWLEDGE}?message={number}").status in (400, 404)
    assert client.get("/lab/sessions/other/reply").status == HTTPStatus.OK
    assert client.get("/lab/sessions/nowhere/critique").status == HTTPStatus.NOT_FOUND


def test_a_reply_without_a_text_is_none(served: Show, client: Client) -> None:
    """It would settle what it answers, and say nothing. Neither by the form nor by a script."""
    question = asked(served, "Blank?")
    before = last(served)
    form = client.get(f"{REPLY}?message={question.id}")
    fields = {"to": "BlueLake", "subject": "INFO: Re: Blank?", "message": question.id}
    for body in ({}, {"body": ""}, {"body": " \n"}):
        got = client.post(REPLY, {**form.hidden, **fields, **body, "acknowledge": "yes"})
        assert got.status == WRONG
        assert "The message is missing: what you want to say." in got.text
    preview = client.post(f"{REPLY}/preview", {**form.hidden, **fields})
    assert "The message is missing" in preview.text
    assert last(served) == before
    assert question.id in owed(served)


# Acknowledging


def test_acknowledging_all(served: Show, client: Client) -> None:
    """All that is owed is offered; each gets an ACK of its own, verified."""
    first, second = asked(served, "One?"), asked(served, "Two?")
    form = client.get(ACKNOWLEDGE)
    for each in (first, second):
        assert f'name="message" value="{each.id}" checked' in form.text
    ids = sorted(owed(served))
    fields = {"message": ids, "status": "Will Action", "notes": "After T1."}
    got = client.post(ACKNOWLEDGE, {**form.hidden, **fields})
    assert got.status == DONE
    assert owed(served) == set()
    acks = served.mailbox.thread(THREAD).messages[-len(ids) :]
    assert {each.envelope.trust for each in acks} == {Trust.VERIFIED}
    assert "## Status\nWill Action\n" in acks[-1].message.body
    assert "After T1." in acks[-1].message.body
    assert f"Acknowledged {len(ids)} messages" in client.get(got.to).text
    assert "You owe no acknowledgement" in client.get(ACKNOWLEDGE).text


def test_acknowledging_one(served: Show, client: Client) -> None:
    """Only what is ticked; the same again sends nothing."""
    first, second = asked(served, "Three?"), asked(served, "Four?")
    form = client.get(f"{ACKNOWLEDGE}?message={first.id}")
    assert f'value="{first.id}" checked' in form.text
    assert f'value="{second.id}" checked' not in form.text
    client.post(ACKNOWLEDGE, {**form.hidden, "message": first.id, "status": "Received"})
    assert first.id not in owed(served)
    assert second.id in owed(served)
    again = client.get(f"{ACKNOWLEDGE}?message={first.id}").hidden
    got = client.post(ACKNOWLEDGE, {**again, "message": first.id, "status": "Received"})
    assert "acknowledged before. Nothing was sent" in client.get(got.to).text


def test_acknowledgements_that_are_refused(served: Show, client: Client) -> None:
    """Nothing ticked, a message to others, a status that is none: nothing is sent."""
    question = asked(served, "Five?")
    messages = served.mailbox.thread(THREAD).messages
    to_others = next(each.id for each in messages if each.message.sender == OPERATOR)
    before = last(served)
    hidden = client.get(ACKNOWLEDGE).hidden
    for fields, status in (
        ({"status": "Received"}, WRONG),
        ({"message": question.id, "status": "Nonsense"}, WRONG),
        ({"message": [question.id, to_others], "status": "Received"}, HTTPStatus.CONFLICT),
        ({"message": question.id, "notes": "[[fill in: what]]"}, HTTPStatus.CONFLICT),
    ):
        got = client.post(ACKNOWLEDGE, {**hidden, **fields})
        assert got.status == status, fields
    assert last(served) == before


def test_what_is_owed_is_on_the_page_of_the_lab(served: Show, client: Client) -> None:
    """With links to reply and to acknowledge."""
    question = asked(served, "Six?")
    text = client.get("/lab").text
    assert f'href="{ACKNOWLEDGE}?message={question.id}"' in text
    assert f'href="{REPLY}?message={question.id}"' in text


# Criticising


def test_a_critique(served: Show, client: Client) -> None:
    """Of an item of the latest version, in the sections of its type, to everybody."""
    form = client.get(f"{CRITIQUE}?item=H2")
    assert '<option value="H2" selected>' in form.text
    fields = {
        "title": "No third strain",
        "target": "H2",
        "attack": "It explains nothing.\n\nNot even T1.",
        "evidence": "See §42.",
        "severity": "Critical",
        "to": ["BlueLake", "RedSky", "GreenDog"],
    }
    got = client.post(CRITIQUE, {**form.hidden, **fields})
    assert got.status == DONE, got.text
    sent = last(served)
    assert sent.message.subject == "CRITIQUE: No third strain"
    assert sent.envelope.trust is Trust.VERIFIED
    body = sent.message.body
    assert "**Artifact Version**: v" in body
    assert "## Target\nH2: " in body
    assert "## Attack\nIt explains nothing.\n\nNot even T1.\n" in body
    assert "## Severity\nCritical\n" in body
    assert "Proposed Resolution" not in body
    assert "Sent message" in client.get(got.to).text


def test_a_critique_of_something_else(served: Show, client: Client) -> None:
    """In one's own words; without an attack it is refused beside the field."""
    hidden = client.get(CRITIQUE).hidden
    fields = {"target": "other", "other": "the whole slate", "severity": "Minor", "to": "BlueLake"}
    before = last(served)
    got = client.post(CRITIQUE, {**hidden, **fields})
    assert got.status == WRONG
    assert "Fill in “Attack”." in got.text
    assert last(served) == before
    preview = client.post(f"{CRITIQUE}/preview", {**hidden, **fields, "attack": "All the same."})
    assert "the whole slate" in preview.text
    got = client.post(CRITIQUE, {**hidden, **fields, "attack": "All the same."})
    assert got.status == DONE
    assert last(served).message.subject == "CRITIQUE: the whole slate"


@pytest.mark.thorough
def test_what_is_wrong_with_a_critique_stands_beside_its_field(
    browser: Browser, served: Show
) -> None:
    """In the words of the form, and once: without a target there is no subject either."""
    with window(browser, served.base) as opened:
        page = opened.open(CRITIQUE)
        page.locator("#secret").fill(renew_secret(served.mailbox, OPERATOR))
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("button", name="Send critique").click()
        expect(page.locator("#target-faults")).to_contain_text("Choose an item, or write one into")
        expect(page.locator("#attack-faults")).to_contain_text("Fill in “Attack”.")
        expect(page.locator("#title-faults")).to_have_count(0)
        expect(page.locator("main")).not_to_contain_text("## ")
        opened.forgive("status of 422")


# In a browser


def test_in_a_browser(browser: Browser, served: Show) -> None:
    """Logged in, replied with a live preview, by keyboard alone; double click is one message."""
    secret = renew_secret(served.mailbox, OPERATOR)
    question = asked(served, "By keyboard?")
    with window(browser, served.base) as opened:
        page = opened.open(f"{REPLY}?message={question.id}")
        page.keyboard.press("Tab")
        page.locator("#secret").focus()
        page.keyboard.type(secret)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text(f"Reply to message {question.id}")
        page.locator("#body").focus()
        page.keyboard.type("It works **well**.")
        expect(page.locator("#preview strong", has_text="well")).to_be_visible()
        before = served.mailbox.position()
        page.get_by_role("button", name="Send").dblclick()
        expect(page.locator("h1")).to_have_text("Done")
        page.reload()
        expect(page.locator(".lab-outcome")).to_contain_text("Sent message")
        assert served.mailbox.position() == before + 2  # the reply and its ACK
        page.go_back()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("button", name="Log out")).to_have_count(0)


@pytest.mark.thorough
def test_on_a_phone(browser: Browser, served: Show) -> None:
    """No form is wider than the screen."""
    secret = renew_secret(served.mailbox, OPERATOR)
    with window(browser, served.base, PHONE) as opened:
        page = opened.open("/lab/login")
        page.locator("#secret").fill(secret)
        with page.expect_navigation():
            page.get_by_role("button", name="Log in").click()
        for path in ("/lab", REPLY, f"{REPLY}?message=1", ACKNOWLEDGE, CRITIQUE):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
