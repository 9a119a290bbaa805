"""A project with a thread in memory, and its pages called as the server calls them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from brenner.config import OPERATOR, Project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Message
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.workspace import Workspace
from brenner.web.rendering import render_html
from brenner.web.request import Page, PageFunction, PageResult, RequestContext

THREAD = "RS-20260101-mail-on-pages"
ANN, BEA, CYD = "BlueLake", "RedSky", "GreenDog"
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUESTION = "# Why?\n\n## Research Question\nWhy?\n\n## Context\nSo.\n"


def added(name: str, section: str = "hypothesis_slate", **also: object) -> str:
    """A block that adds a hypothesis, sound where its section is."""
    fields = ", ".join(f'"{key}": "{value}"' for key, value in also.items())
    extra = f", {fields}" if fields else ""
    return (
        f'```delta\n{{"operation": "ADD", "section": "{section}", "payload": {{"name": "{name}", '
        f'"claim": "It is {name}", "mechanism": "By it", "anchors": ["inference"]{extra}}}, '
        '"rationale": "Because"}\n```\n'
    )


REFUSED = added("Wrong", section="hypotheses")


class Scene:
    """Mail that comes in a minute apart, and what the pages show of it."""

    def __init__(self, mailbox: MemoryMailbox | None = None) -> None:
        self.now = START
        self.mailbox = mailbox or MemoryMailbox(clock=lambda: self.now)
        for name in (OPERATOR, ANN, BEA, CYD):
            self.mailbox.register(Profile(name))
        self.workspace = Workspace(self.mailbox, Project(Path("/group/mail-on-pages")), OPERATOR)
        self.site = site_of(self.workspace, ServeSettings())

    def send(  # noqa: PLR0913  (one for each part of a letter)
        self,
        sender: str,
        subject: str,
        body: str = "",
        *,
        to: tuple[str, ...] = (OPERATOR,),
        thread: str = THREAD,
        reply_to: int | None = None,
        envelope: Envelope = DEFAULT_ENVELOPE,
    ) -> int:
        """Store a message, sound or not; its number."""
        self.now += MINUTE
        message = Message(thread, sender, to, subject, body)
        return self.mailbox.send(message, reply_to=reply_to, envelope=envelope).stored.id

    def kickoff(self, *to: str, also: str = "") -> list[int]:
        """One to each, as a session starts."""
        return [
            self.send(OPERATOR, "KICKOFF: Why?", f"{QUESTION}{also.format(name)}", to=(name,))
            for name in to
        ]

    def delta(self, sender: str, *blocks: str, words: str = "A thought") -> int:
        """A DELTA with these blocks."""
        body = "\n".join(["# Delta Contribution\n\n## Deltas\n", *blocks])
        return self.send(sender, f"DELTA[opus]: {words}", body)

    def compile(self) -> int:
        """Publish the next version; its number."""
        self.now += MINUTE
        version = self.workspace.compile(THREAD).version
        assert version is not None
        return version

    def answer(
        self, function: PageFunction, named: Mapping[str, str], asked: Mapping[str, str]
    ) -> tuple[PageResult, RequestContext]:
        """What an address answers with."""
        path = "?".join(["/x", *(f"{key}={value}" for key, value in asked.items())])
        visit = RequestContext(self.site, path, self.now + MINUTE, named, asked)
        return function(visit), visit

    def look(
        self, function: PageFunction, named: Mapping[str, str], **asked: str
    ) -> tuple[dict[str, Any], str]:
        """The document of a page, and the page."""
        answer, visit = self.answer(function, named, asked)
        assert isinstance(answer, Page)
        return dict(answer.document), render_html(answer, visit)
