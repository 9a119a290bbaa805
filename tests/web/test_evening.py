"""A whole evening through the browser alone: from the first question to the last version.

After each action the page is asked, and so are the mailbox, the file and git.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect

from brenner.persist.artifact_file import with_message_id
from brenner.protocol.messages import StoredMessage
from brenner.services.versions import load_latest
from brenner.web import links
from effort import thorough
from session.repositories import settings
from session.workspaces import edit
from web.browsing import DESKTOP, LAB, PHONE, show, window
from web.evening import Evening, contributes, first_answers, new_secret
from web.input_devices import Finger, Keys, Mouse, without_a_mouse

__all__ = ["settings"]

QUESTION = "Do ribosomes remember the phage?"
AGENTS = ("BlueLake", "RedSky", "GreenDog")
FIRST_ROLE = "test designer"


class Way(NamedTuple):
    """Where the mail lives, and how somebody works at the page."""

    home: str
    size: tuple[int, int]
    hand: Mouse


WAYS = [
    Way("sqlite", DESKTOP, Mouse()),
    thorough(Way("postgresql", PHONE, Finger())),
    thorough(Way("sqlite", DESKTOP, Keys())),
]


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("way", WAYS, ids=["mouse", "phone", "keys"])
def test_an_evening(browser: Browser, tmp_path: Path, way: Way) -> None:
    """Every action, on either home, at both widths, in the light and in the dark, and by keys."""
    with (
        show(tmp_path / "project", way.home, LAB) as served,
        window(browser, served.base, way.size, is_dark=way.size == PHONE) as opened,
    ):
        is_by_keys = isinstance(way.hand, Keys)
        if is_by_keys:
            without_a_mouse(opened)
        evening = Evening(served, opened.context.new_page(), way.hand, is_audited=not is_by_keys)
        comes_in(evening)
        thread_id = starts(evening)
        question = first_answers(served, thread_id, evening.of(thread_id, "KICKOFF"))
        compiles(evening, thread_id)
        persists(evening, thread_id)
        replies(evening, thread_id, question)
        acknowledges(evening, thread_id, question)
        criticises(evening, thread_id)
        dismisses(evening, thread_id)
        goes_on(evening, thread_id)
        decides(evening, thread_id)
        completes(evening, thread_id)
        leaves(evening, thread_id)
        opened.forgive("status of 401", "status of 422")


def comes_in(evening: Evening) -> None:
    """Not with somebody else's secret."""
    evening.page.goto(links.LAB)
    evening.shows("brs_of-somebody-else")
    expect(evening.page.locator("#fault")).to_contain_text("Wrong secret.")
    evening.log_in(new_secret(evening.served))


def starts(evening: Evening) -> str:
    """A session is started by the form; something is wrong with it at first, and nothing sent."""
    page, hand, mailbox = evening.page, evening.hand, evening.served.mailbox
    before = mailbox.position()
    page.goto(links.HOME)
    evening.press(evening.link("Start a session"))
    evening.looks()
    hand.write(evening.field("Question"), QUESTION)
    hand.write(evening.field("Context"), "Two strains differ.")
    for number, name in enumerate(("BlueLake", "Red Sky", "GreenDog"), 1):
        hand.write(page.locator(f"[id='agent.{number}.name']"), name)
    evening.press(evening.button("Fill in roles"))
    expect(page.locator("[id='agent.3.role']")).to_have_value("adversarial_critic")
    hand.choose(page.locator("[id='agent.1.role']"), FIRST_ROLE)
    expect(page.locator("#preview article")).to_have_count(0)
    evening.press(evening.button("Send kickoffs"))
    expect(page.locator("#faults")).to_contain_text("is not a valid agent name")
    beside = page.locator("#at-agent-2-name")
    expect(beside).to_contain_text("is not a valid agent name")
    evening.looks()
    assert mailbox.position() == before
    hand.write(page.locator("[id='agent.2.name']"), "RedSky")
    expect(beside).to_have_text("")
    kickoffs = page.locator("#preview article")
    expect(kickoffs).to_have_count(3)
    expect(kickoffs.first.locator("h3")).to_contain_text(FIRST_ROLE)
    will = page.locator("#will").inner_text()
    assert mailbox.position() == before
    says = evening.does("Send kickoffs")
    thread_id = says.partition(" in ")[2].removesuffix(".")
    assert f"Sends 3 kickoffs to BlueLake, RedSky and GreenDog in {thread_id}." in will
    assert says == f"Sent 3 kickoffs to BlueLake, RedSky and GreenDog in {thread_id}."
    sent = evening.of(thread_id)
    assert [each.message.recipients for each in sent] == [(name,) for name in AGENTS]
    assert all(QUESTION in each.message.body for each in sent)
    assert mailbox.position() == before + 3
    return thread_id


def compiles(evening: Evening, thread_id: str) -> None:
    """The preview is what is published; the block that is refused is said in both."""
    page = evening.page
    evening.form(thread_id, "Compile")
    assert evening.of(thread_id, "COMPILED") == []
    will = page.locator("#will")
    expect(will).to_contain_text(f"Publishes v1 of {thread_id} in its thread.")
    expect(will).to_contain_text("1 block will be rejected")
    expect(page.locator("#preview .refused")).to_contain_text("H99")
    says = evening.does("Publish version")
    expect(page.locator("main .refused")).to_contain_text("H99")
    sent = evening.sent(thread_id)
    assert sent.type == "COMPILED"
    assert says == f"Published v1 of {thread_id}, as message {sent.id}."
    for name in ("Memory", "Chance", "Neither"):
        assert name in sent.message.body
    evening.press(evening.link("Open v1"))
    expect(page.locator("#card .version-line")).to_contain_text("v1")
    expect(page.locator("#card")).to_contain_text("not saved to a file yet")
    expect(page.locator("main")).to_contain_text("Memory decides")


def latest_text(evening: Evening, thread_id: str) -> str:
    """What the file of the latest version has to say, worked out from the mail."""
    version = load_latest(evening.served.server.workspace, thread_id)[1]
    return with_message_id(version.text, version.message_id)


def persists(evening: Evening, thread_id: str) -> None:
    """The file, a commit of it and of nothing else, and a message that says so."""
    page, head = evening.page, evening.git("rev-parse", "HEAD")
    evening.form(thread_id, "Persist Artifact")
    expect(evening.field("Commit the file")).to_be_checked()
    path, text = f"artifacts/{thread_id}.md", latest_text(evening, thread_id)
    expect(page.locator("#will")).to_contain_text(f"Writes v1 to {path} (")
    expect(page.locator("#preview .difference")).to_contain_text("Memory decides")
    says = evening.does("Persist Artifact")
    assert (evening.served.project.folder / path).read_text("utf-8") == text
    assert evening.git("rev-parse", "HEAD~1") == head
    assert evening.git("show", "--format=", "--name-only", "HEAD").split() == [path]
    assert evening.git("show", f"HEAD:{path}") == text
    commit = evening.git("rev-parse", "HEAD").strip()
    sent = evening.sent(thread_id)
    where = f"v1 is in {path}, commit {commit[:12]}"
    assert says == f"Committed: {where}; announced in message {sent.id}."
    assert sent.type == "INFO"
    evening.press(evening.link("Open the session"))
    expect(page.locator("#card")).to_contain_text(f"committed in {commit[:12]}")


def replies(evening: Evening, thread_id: str, question: StoredMessage) -> None:
    """To who asked, from the message in the thread; the ACK is kept for later."""
    page, hand = evening.page, evening.hand
    page.goto(links.session(thread_id, "thread", message=question.id))
    evening.press(evening.link("reply", f"#m{question.id}"))
    expect(page.locator("h1")).to_have_text(f"Reply to message {question.id}")
    expect(evening.field("GreenDog")).to_be_checked()
    hand.write(evening.field("Message"), "It is **T4D**.")
    hand.tick(page.get_by_label("Also acknowledge message"), wanted=False)
    expect(page.locator("#preview strong", has_text="T4D")).to_be_visible()
    evening.looks()
    says = evening.does("Send")
    sent = evening.sent(thread_id)
    assert says.startswith(f"Sent message {sent.id} to GreenDog")
    assert (sent.reply_to, sent.message.body) == (question.id, "It is **T4D**.\n")
    assert sent.message.recipients == ("GreenDog",)
    assert evening.owed(thread_id) == [question.id]


def acknowledges(evening: Evening, thread_id: str, question: StoredMessage) -> None:
    """What is owed, from the page of the lab, where it then no longer stands."""
    page, hand = evening.page, evening.hand
    page.goto(links.LAB)
    evening.press(evening.link("Acknowledge", ".owed"))
    expect(page.locator(f"input[name=message][value='{question.id}']")).to_be_checked()
    hand.choose(evening.field("Status"), "Will Action")
    hand.write(evening.field("Notes"), "After T1.")
    evening.looks()
    assert evening.does("Send acknowledgement") == f"Acknowledged 1 message: {question.id}."
    sent = evening.sent(thread_id)
    assert (sent.type, sent.acknowledges) == ("ACK", (question.id,))
    assert "## Status\nWill Action\n" in sent.message.body
    assert evening.owed(thread_id) == []
    evening.press(evening.link("All messages that wait for you"))
    expect(page.locator("main")).to_contain_text("You owe no acknowledgement")


def criticises(evening: Evening, thread_id: str) -> None:
    """An item of the version, in the sections of its type; nothing is sent without an attack."""
    page, hand, before = evening.page, evening.hand, len(evening.of(thread_id))
    evening.form(thread_id, "Send critique")
    hand.write(evening.field("Title"), "No third strain")
    hand.choose(evening.field("Target"), "H2: Chance")
    hand.choose(evening.field("Severity"), "Critical")
    for name in AGENTS:
        hand.tick(evening.field(name))
    evening.press(evening.button("Send critique"))
    expect(page.locator("#faults")).to_contain_text("Attack")
    evening.looks()
    assert len(evening.of(thread_id)) == before
    hand.write(evening.field("Attack"), "It explains nothing.")
    evening.does("Send critique")
    sent = evening.sent(thread_id)
    assert sent.message.subject == "CRITIQUE: No third strain"
    assert sent.message.recipients == AGENTS
    assert "## Target\nH2: Chance" in sent.message.body
    assert "## Severity\nCritical\n" in sent.message.body
    debtors = {each.debtor for each in evening.served.mailbox.debts(thread_id=thread_id)}
    assert debtors == set(AGENTS)


def goes_on(evening: Evening, thread_id: str) -> None:
    """The next round, to those of the roster, in the roles that they have; then they answer."""
    page, hand = evening.page, evening.hand
    evening.form(thread_id, "Start next round")
    expect(page.locator("[id='agent.1.role']")).to_have_value("test_designer")
    hand.write(evening.field("Focus"), "Only the heavy ribosomes")
    expect(page.locator("#preview")).to_contain_text("Only the heavy ribosomes")
    says = evening.does("Send kickoffs")
    assert says.startswith("Round 2 has begun. Sent 3 kickoffs to ")
    sent = evening.of(thread_id)[-3:]
    assert {each.type for each in sent} == {"KICKOFF"}
    assert all("Only the heavy ribosomes" in each.message.body for each in sent)
    for name, claim in (("RedSky", "Only the old ones"), ("BlueLake", "All of them")):
        contributes(evening.served, thread_id, name, edit("H1", claim=claim), base="v1")


def decides(evening: Evening, thread_id: str) -> None:
    """Both authors have changed the claim: the other value is taken, by a change of her own."""
    page = evening.page
    evening.form(thread_id, "Compile")
    # The first version was saved and committed, and so is this one unless she unchecks it.
    expect(evening.field("Commit the file")).to_be_checked()
    evening.does("Publish version")
    page.goto(links.session(thread_id, "decide"))
    rivals = page.locator("#conflict .rival")
    expect(rivals).to_have_count(2)
    expect(rivals.first).to_contain_text("All of them")
    evening.looks()
    evening.press(rivals.nth(1).get_by_role("link", name="Take that"))
    expect(evening.field("Claim")).to_have_value("Only the old ones")
    expect(page.locator("#preview")).to_contain_text("DELTA[human]: H1 claim")
    evening.looks()
    evening.does("Send the change")
    sent = evening.sent(thread_id)
    assert (sent.type, sent.message.sender) == ("DELTA", evening.operator)
    evening.press(evening.link("Decide the rest"))
    expect(page.locator("#conflict")).to_have_count(0)


def dismisses(evening: Evening, thread_id: str) -> None:
    """The block that was rejected needs no correction; without a reason nothing is sent."""
    page, before = evening.page, len(evening.of(thread_id))
    page.goto(links.session(thread_id))
    evening.press(page.locator("#waits .decide a"))
    evening.looks()
    evening.press(page.locator("#refused").get_by_role("link", name="Dismiss"))
    evening.press(evening.button("Dismiss"))
    beside = page.locator("#reason-faults")
    expect(beside).to_contain_text("The reason is missing")
    evening.looks()
    assert len(evening.of(thread_id)) == before
    evening.hand.write(evening.field("Reason"), "It named no item.")
    expect(beside).to_have_text("")
    assert evening.does("Dismiss").startswith("Dismissed ")
    assert "It named no item." in evening.sent(thread_id).message.body
    evening.press(evening.link("Decide the rest"))
    expect(page.locator("#refused")).to_have_count(0)


def completes(evening: Evening, thread_id: str) -> None:
    """The last version, written and committed with it."""
    page, hand = evening.page, evening.hand
    evening.form(thread_id, "Complete session")
    expect(page.locator("#preview")).to_contain_text("Only the old ones")
    hand.write(evening.field("Conclusion"), "Old ribosomes remember.")
    expect(page.locator("#preview")).to_contain_text("Old ribosomes remember.")
    hand.tick(page.get_by_label(f"Save to artifacts/{thread_id}.md"))
    hand.tick(evening.field("Commit the file"))
    expect(page.locator("#will")).to_contain_text(
        f"Publishes v3 of {thread_id} in its thread, and closes the session. Then it writes v3 to "
        f"artifacts/{thread_id}.md, commits only that"
    )
    says = evening.does("Complete session")
    assert re.match(rf"Published v3 of {thread_id}, as message \d+, and closed the session\.", says)
    history = load_latest(evening.served.server.workspace, thread_id)[0]
    assert (history.number, history.state.artifact.metadata.status) == (3, "closed")
    assert len(evening.of(thread_id, "COMPILED")) == 3
    text = latest_text(evening, thread_id)
    assert evening.git("show", f"HEAD:artifacts/{thread_id}.md") == text
    page.goto(links.session(thread_id))
    expect(page.locator("main .opening")).to_contain_text("Old ribosomes remember.")
    expect(page.locator("#card .version-line")).to_contain_text("closed")
    expect(page.locator("#card")).to_contain_text("committed in")


def leaves(evening: Evening, thread_id: str) -> None:
    """Logged out: reading goes on, and nothing can be done, not even from the history."""
    page = evening.page
    name = f"Log out {evening.operator}"
    evening.press(page.get_by_role("button", name=name))
    expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.goto(links.session(thread_id))
    expect(page.locator("nav[aria-label='Lab']")).to_have_count(0)
    page.goto(links.lab("compile", thread_id))
    expect(page.locator("h1")).to_have_text("Log in to the lab")
