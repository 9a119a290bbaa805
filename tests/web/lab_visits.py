"""The operator, logged in to the lab, who fills in forms: without a server, and without HTTP."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from brenner.mail.mailbox import Mailbox
from brenner.services.workspace import Workspace
from brenner.web.lab import routes as acting
from brenner.web.lab.actions import Action, ActionResult
from brenner.web.lab.login import Login
from brenner.web.rendering import render_html
from brenner.web.request import KEY_FIELD, Form, Page, RequestContext, ServerInfo, Site, parse_json
from brenner.web.sessions import SessionRepository

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Operator:
    """The operator at a form. Every page that she gets is typeset, too."""

    def __init__(self, workspace: Workspace, thread_id: str = "") -> None:
        about = ServerInfo("lab", "/lab", "mail", "http://127.0.0.1/mcp", is_strict=False)
        self.workspace = workspace
        self.site = Site(workspace, about, SessionRepository(workspace), is_lab=True)
        self.login = Login("Operator")
        self.thread_id = thread_id

    def visit(self, fields: Mapping[str, str] | None = None, sent: object = None) -> RequestContext:
        """A request that bears these fields."""
        form = Form((fields or {}).items())
        named = {"thread": self.thread_id} if self.thread_id else {}
        visit = RequestContext(self.site, "/lab/here", NOW, named, login=self.login)
        return visit._replace(form=form, sent=sent)

    def form(self, action: Action) -> Page:
        """The form as it is at first."""
        return self._seen(acting.form_page(action, self.visit()))

    def send(self, action: Action, fields: Mapping[str, str], key: str = "") -> ActionResult | Page:
        """Send a form with a key of its own, or with one that it had before."""
        said = {KEY_FIELD: key or self.login.once.key(), **fields}
        visit = self.visit(said)
        answer = acting.submit(action, visit)
        if isinstance(answer, Page):
            return self._seen(answer, visit)
        shown = Page(answer.template, "Done", acting.result_document(answer), is_live=False)
        self._seen(shown)
        return answer

    def done(self, action: Action, fields: Mapping[str, str], key: str = "") -> ActionResult:
        """The same where it must come to something."""
        answer = self.send(action, fields, key)
        assert isinstance(answer, ActionResult), answer.document
        return answer

    def again(self, action: Action, fields: Mapping[str, str], key: str = "") -> Page:
        """The same where the form must come back."""
        answer = self.send(action, fields, key)
        assert isinstance(answer, Page), answer
        return answer

    def request(self, action: Action, sent: Mapping[str, object]) -> ActionResult | Page:
        """What a script gets."""
        form, document = parse_json(json.dumps(sent).encode())
        visit = self.visit()._replace(form=form, sent=document)
        return acting.submit(action, acting.with_key(visit, is_script=True))

    def preview(self, action: Action, fields: Mapping[str, str]) -> Mapping[str, object]:
        """What is shown beside the form while one types; the whole page says the same."""
        visit = self.visit({KEY_FIELD: self.login.once.key(), **fields})
        part = self._seen(acting.preview_page(action, visit, is_part=True), visit)
        whole = self._seen(acting.preview_page(action, visit, is_part=False), visit)
        seen = _mapping(part.document["preview"])
        assert _timeless(seen) == _timeless(_mapping(whole.document["preview"]))
        return seen

    def _seen(self, page: Page, visit: RequestContext | None = None) -> Page:
        assert "<" in render_html(page, visit or self.visit())
        return page

    def html(self, page: Page) -> str:
        """The page as a browser gets it."""
        return render_html(page, self.visit())


def fields_of(page: Page) -> dict[str, str]:
    """What a browser would send of a form with kickoffs, as it stands."""
    document = page.document
    said = {name: str(value) for name, value in _mapping(document["fields"]).items() if value}
    rows = document["agents"]
    assert isinstance(rows, list)
    for row in rows:
        number = row["number"]
        said |= {f"agent.{number}.{key}": row[key] for key in row if key != "number"}
    more = ("mode", "roster_name", "preset")
    return said | {name: str(document[name]) for name in more}


def violations(page: Page) -> list[tuple[str, str | None]]:
    """What is wrong, each with its field."""
    found = page.document["violations"]
    assert isinstance(found, list)
    return [(each["id"], each["at"]) for each in found]


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _timeless(seen: Mapping[str, object]) -> dict[str, object]:
    """A preview without the digest of a version, which has the second of its making in it."""
    compiled = seen.get("compiled")
    if not isinstance(compiled, Mapping):
        return dict(seen)
    return {**seen, "compiled": {**compiled, "artifact_sha256": None}}


class Meddling:
    """A mailbox in which something happens in the very moment before a message is sent."""

    def __init__(self, mailbox: Mailbox, before: Callable[[int], None]) -> None:
        self._mailbox = mailbox
        self._before = before
        self._sent = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def send(self, *arguments: object, **options: object) -> object:
        """Send it, after the other thing."""
        self._sent += 1
        self._before(self._sent)
        return self._mailbox.send(*arguments, **options)  # type: ignore[arg-type]
