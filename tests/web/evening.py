"""An evening in the lab: what the operator does in a browser, and what agents send meanwhile."""

import json
import re
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

from brenner.protocol.messages import Message, StoredMessage, Trust
from brenner.services.acknowledge import send_ack
from brenner.services.identity import renew_secret
from brenner.web import links
from session.repositories import git
from session.workspaces import add
from web.browsing import Show
from web.input_devices import Mouse
from web.test_every_page import faults, sticks_out

DONE = re.compile(r"/lab/done/")


class Evening(NamedTuple):
    """One person at a page of the lab. `is_audited`: every page is looked through on the way."""

    served: Show
    page: Page
    hand: Mouse
    is_audited: bool = True

    @property
    def operator(self) -> str:
        """Who acts here."""
        return self.served.project.operator

    def looks(self) -> None:
        """The page fits, and everybody can use it."""
        if self.is_audited:
            found = [sticks_out(self.page), *faults(self.page)]
            assert found == [""], (self.page.url, found)

    def field(self, label: str) -> Locator:
        """By the words above it, or beside it."""
        return self.page.get_by_label(label, exact=True)

    def button(self, name: str) -> Locator:
        """By what it says."""
        return self.page.locator("main").get_by_role("button", name=name, exact=True)

    def link(self, name: str, within: str = "main") -> Locator:
        """By what it says, in a place of the page."""
        return self.page.locator(within).get_by_role("link", name=name, exact=True)

    def press(self, target: Locator) -> None:
        """A button or a link that leads to a page; it is there then."""
        with self.page.expect_navigation():
            self.hand.press(target)

    def log_in(self, secret: str) -> None:
        """With the operator's secret; the page of the lab comes after it."""
        self.page.goto(links.LAB)
        self.shows(secret)
        expect(self.page.locator("h1")).to_have_text("Lab")
        self.looks()

    def shows(self, secret: str) -> None:
        """A secret, at the door."""
        self.looks()
        self.hand.write(self.page.get_by_label("Secret of"), secret)
        self.press(self.button("Log in"))

    def form(self, thread_id: str, action: str) -> None:
        """Go to the form of an action, from the page of the session."""
        self.page.goto(links.session(thread_id))
        self.press(self.link(action, "nav[aria-label='Lab']"))
        self.looks()

    def does(self, button: str) -> str:
        """What is said after the button of a form has done what it says."""
        self.press(self.button(button))
        self.page.wait_for_url(DONE)
        expect(self.page.locator("h1")).to_have_text("Done")
        self.looks()
        return self.page.locator(".lab-outcome").inner_text()

    def of(self, thread_id: str, kind: str = "") -> list[StoredMessage]:
        """What the mailbox really has: of a thread, perhaps of one type."""
        found = self.served.mailbox.thread(thread_id).messages
        return [each for each in found if kind in ("", each.type)]

    def sent(self, thread_id: str) -> StoredMessage:
        """What was sent last; the operator's word is proven in the lab."""
        last = self.of(thread_id)[-1]
        assert (last.message.sender, last.envelope.trust) == (self.operator, Trust.VERIFIED)
        return last

    def owed(self, thread_id: str) -> list[int]:
        """What the operator owes an ACK for."""
        return [each.last.id for each in self.served.mailbox.debts(self.operator, thread_id)]

    def git(self, *arguments: str) -> str:
        """What git says in the project's folder."""
        return git(self.served.project.folder, *arguments)


def new_secret(served: Show) -> str:
    """The operator's; one that there was before is good no more."""
    return renew_secret(served.mailbox, served.project.operator)


# What agents send


def writes(served: Show, thread_id: str, sender: str, subject: str, body: str) -> StoredMessage:
    """A message to the operator."""
    to = (served.project.operator,)
    return served.mailbox.send(Message(thread_id, sender, to, subject, body)).stored


def contributes(
    served: Show, thread_id: str, sender: str, *blocks: dict[str, object], base: str = ""
) -> StoredMessage:
    """A DELTA with these blocks."""
    stated = f"**Base Version**: {base}\n\n" if base else ""
    fences = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
    body = f"# Delta Contribution\n\n{stated}{fences}"
    return writes(served, thread_id, sender, "DELTA[opus]: News", body)


def asks(served: Show, thread_id: str, sender: str, words: str) -> StoredMessage:
    """A QUESTION, for which the operator owes an ACK."""
    body = f"# Question\n\n## Question\n{words}\n\n## Urgency\nSoon\n"
    return writes(served, thread_id, sender, f"QUESTION: {words}", body)


def first_answers(served: Show, thread_id: str, kickoffs: list[StoredMessage]) -> StoredMessage:
    """All acknowledge; two contribute, one of them also a block that is refused; one asks."""
    for each in kickoffs:
        send_ack(served.mailbox, each.message.recipients[0], each.id)
    refused = {**add("Nothing"), "operation": "EDIT", "target_id": "H99"}
    contributes(served, thread_id, "BlueLake", add("Memory"), add("Chance"), refused)
    contributes(served, thread_id, "RedSky", add("Neither", third_alternative=True))
    return asks(served, thread_id, "GreenDog", "Which strain?")
