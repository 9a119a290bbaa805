"""The case kind `web`: what is shown at our server, and what can be done there in the lab.

A scene is played in one home of the contract suite, over HTTP, as a browser and as a script: a
page is looked at as HTML and as JSON, and both are compared with what the case states.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from typing import Any

from brenner.config import OPERATOR, find_project
from brenner.mail.model import Profile
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, Operation
from brenner.protocol.messages import Message
from brenner.server.settings import ServeSettings
from brenner.services.identity import renew_secret
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import StartOptions, start_session
from brenner.services.workspace import Workspace
from conformance.serving_kind import at, text_of
from mail.backends import Backend, Place
from serving.running import inside

Case = dict[str, Any]
THREAD = "RS-20251230-cell-fate-dichotomy"
_KEYS = {"file", "name", "proves", "kind", "codes", "agents", "lab", "project", "scene"}
_EXPECTED = {"status", "gives", "shows", "links", "never", "refused"}
_SETTINGS = ServeSettings(port=0, requests_a_second=1_000_000)
_TAG = re.compile(r"<[^>]*>")
_HREF = re.compile(r'href="([^"]*)"')
_HTML = {"Accept": "text/html"}


def web_codes(case: Case) -> list[str]:
    """The codes that a scene speaks of."""
    return [step["refused"] for step in case["scene"] if "refused" in step]


def check_web(case: Case, home: Backend, folder: Path) -> None:
    """Play the scene and compare everything that the case states."""
    assert case.keys() <= _KEYS
    (folder / "brenner.toml").write_text(case.get("project", ""), "utf-8")
    with Place(home, folder) as place, ExitStack() as stack:
        scene = _Scene(place, folder, stack, is_lab=case.get("lab", False))
        for name in (OPERATOR, *case.get("agents", ())):
            place.mailbox.register(Profile(name, "codex", "gpt-5"))
        for number, step in enumerate(case["scene"], 1):
            try:
                scene.play(step)
            except AssertionError as error:
                error.add_note(f"in step {number} of {case['name']}: {step}")
                raise


class _Scene:
    """A server, and who writes to its project."""

    def __init__(self, place: Place, folder: Path, stack: ExitStack, *, is_lab: bool) -> None:
        self._mailbox, self._folder = place.mailbox, folder
        project = find_project(str(folder), {})
        self._desk = Workspace(place.mailbox, project, OPERATOR)
        place.mailbox.register(Profile(OPERATOR))
        self._secret = renew_secret(place.mailbox, OPERATOR)
        self._server = stack.enter_context(
            inside(place.mailbox, project, _SETTINGS._replace(is_lab=is_lab))
        )

    def play(self, step: Case) -> None:
        """One step: what is done, or what is seen."""
        for name in ("start", "send", "compile", "look", "act", "file", "stored", "message"):
            if name in step:
                getattr(self, f"_{name}")(step[name], step)
                return
        raise AssertionError(step)

    # What is done

    def _start(self, names: list[str], _: Case) -> None:
        wish = RosterRequest(recipients=tuple((name, "hypothesis_generator") for name in names))
        question, context = "What tells a cell where it is?", "Cells differ by place."
        options = StartOptions(question, context, wish, excerpt="§1: Where.", thread_id=THREAD)
        assert start_session(self._desk, options).kickoffs

    def _send(self, sender: str, step: Case) -> None:
        """Whatever an agent sends; nobody looks at it before it is compiled."""
        to = tuple(step.get("to", (OPERATOR,)))
        body = _edit(step["edit"]) if "edit" in step else str(text_of(step["body"]))
        self._mailbox.send(Message(THREAD, sender, to, step["subject"], body))

    def _compile(self, status: str, _: Case) -> None:
        assert self._desk.compile(THREAD).status == status

    def _act(self, path: str, step: Case) -> None:
        """A request of a script to the lab; `as` is the secret that it shows."""
        secret = self._secret if step.get("as") is None else step["as"]
        headers = {"Brenner-Secret": secret or None}
        reply = self._server.ask("POST", _filled(path), _filled_in(step["with"]), headers)
        assert reply.status == step.get("status", 200), reply.document
        self._compare(step, reply.document, json.dumps(reply.document, ensure_ascii=False))

    # What is seen

    def _look(self, path: str, step: Case) -> None:
        """A page, as a script gets it and as a browser does."""
        path = _filled(path)
        status = step.get("status", 200)
        html = self._server.ask("GET", path, headers=_HTML)
        document = self._server.ask("GET", path, headers={"Accept": "application/json"})
        assert (html.status, document.status) == (status, status), document.document
        self._compare(step, document.document, _words(str(html.document)))
        hrefs = [unescape(each) for each in _HREF.findall(str(html.document))]
        for link in step.get("links", ()):
            assert _filled(link) in hrefs, (link, hrefs)
        for link in step.get("unlinked", ()):
            assert _filled(link) not in hrefs, (link, hrefs)

    def _compare(self, step: Case, said: object, shown: str) -> None:
        for path, wanted in step.get("gives", {}).items():
            assert at(said, path) == (None if wanted == "null" else wanted), (path, said)
        for text in step.get("shows", ()):
            assert _filled(text) in shown, (text, shown)
        for text in step.get("never", ()):
            assert _filled(text) not in shown, (text, shown)
        if "refused" in step:
            assert step["refused"] in list(_codes(said)), said

    def _file(self, name: str, step: Case) -> None:
        path = self._folder / _filled(name)
        assert path.exists() == step["exists"]
        for text in step.get("shows", ()):
            assert text in path.read_text("utf-8")

    def _stored(self, count: int, _: Case) -> None:
        assert self._mailbox.position() == count

    def _message(self, number: int, step: Case) -> None:
        stored = self._mailbox.message(number)
        facts: dict[str, object] = {
            "type": stored.type,
            "sender": stored.message.sender,
            "to": list(stored.message.recipients),
            "acknowledges": list(stored.acknowledges),
            "trust": stored.envelope.trust,
        }
        assert {name: facts[name] for name in step["is"]} == step["is"]
        assert all(text in stored.message.body for text in step.get("has", ()))


def _edit(claim: str) -> str:
    """A DELTA that gives H1 another claim."""
    payload = {"claim": claim}
    block = render_delta(Delta(Operation.EDIT, "hypothesis_slate", "H1", payload, "why"))
    return f"# Delta Contribution\n\n**Base Version**: v1\n\n## Deltas\n\n{block}"


def _filled(text: str) -> str:
    return text.replace("THREAD", THREAD)


def _filled_in(value: object) -> object:
    if isinstance(value, dict):
        return {name: _filled_in(each) for name, each in value.items()}
    return _filled(value) if isinstance(value, str) else value


def _words(html: str) -> str:
    """What a reader sees, in one line."""
    return " ".join(unescape(_TAG.sub(" ", html)).split())


def _codes(value: object) -> Iterator[str]:
    """Every code that stands in a document."""
    if isinstance(value, Mapping):
        if isinstance(value.get("id"), str) and "severity" in value:
            yield value["id"]
        for each in value.values():
            yield from _codes(each)
    if isinstance(value, list):
        for each in value:
            yield from _codes(each)
