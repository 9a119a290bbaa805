"""A small Agent Mail server in the manner of the original, which cannot be installed here.

Names belong to a project, nobody gets a copy of everything, outboxes say who got what. It can be
told to replace names, to cut subjects, to collect, and to answer with something else.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.store_url import AgentMailAddress
from mail.odd_server import Asked, OddServer, Reply, document, result, texts, tools, whole

KEY = "/lab/cells"
COLLECTOR = "global-inbox-lab"
_SCHEME = "resource://"
_SEND = ("project_key", "sender_name", "to", "subject", "body_md", "ack_required", "thread_id")
_OFFERED = tools(
    ensure_project=["human_key"],
    register_agent=["project_key", "program", "model", "name", "task_description"],
    send_message=[*_SEND, "sender_token"],
    fetch_inbox=["agent_name", "limit", "include_bodies", "since_ts"],
    mark_message_read=["project_key", "agent_name", "message_id"],
)
_TEMPLATES = {
    "resourceTemplates": [
        {"uriTemplate": "resource://project/{slug}"},
        {"uriTemplate": "resource://agents/{project_key}"},
        {"uriTemplate": "resource://outbox/{agent}{?project,limit,include_bodies,since_ts}"},
    ]
}

Json = dict[str, Any]
Text = Callable[[str], str]
Anything = Callable[[], object]


class PlainMail(OddServer):
    """The server."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.now = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
        self.projects: dict[str, Json] = {}
        self.agents: dict[str, dict[str, Json]] = {}
        self.messages: list[Json] = []
        self.collected_from = 0
        self.sent: list[Json] = []  # the arguments of each send
        self.given_name: Text = str
        self.kept_subject: Text = str
        self.instead: dict[str, Anything] = {}  # of what a tool or resource answers

    def mailbox(self, key: str = KEY, own: Path | None = None) -> AgentMailMailbox:
        """A mailbox of it."""
        return AgentMailMailbox.create(AgentMailAddress(self.url, key), None, own=own)

    def _answer(self, asked: Asked) -> Reply:
        method, params = asked.document["method"], asked.document.get("params", {})
        if method == "tools/list":
            return result(asked, _OFFERED)
        if method == "resources/templates/list":
            return result(asked, _TEMPLATES)
        try:
            if method == "tools/call":
                value = self._tool(params["name"], params["arguments"])
                return result(asked, {"structuredContent": value, "content": []})
            value = self._resource(params["uri"])
        except KeyError as error:
            if method == "tools/call":
                return result(asked, texts(f"{error} not found", is_error=True))
            problem = {"code": 0, "message": f"{error} not found"}
            return whole(200, document(asked, error=problem))
        return result(asked, {"contents": [{"text": json.dumps(value)}]})

    def _tool(self, name: str, given: Json) -> object:
        value = getattr(self, f"_{name}")(given)
        return self.instead[name]() if name in self.instead else value

    def _resource(self, uri: str) -> object:
        parts = urlsplit(uri.removeprefix(_SCHEME))
        kind, _, name = parts.path.partition("/")
        if kind in self.instead:
            return self.instead[kind]()
        if kind == "projects":
            return list(self.projects.values())
        if kind == "project":
            return self.projects[unquote(name)]
        if kind == "agents":
            return {"agents": list(self.agents[unquote(name)].values())}
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        return {"project": query["project"], "messages": self._outbox(unquote(name), query)}

    def _ensure_project(self, given: Json) -> Json:
        key = given["human_key"]
        self.agents.setdefault(key, {})
        number = len(self.projects) + 1
        return self.projects.setdefault(key, {"id": number, "slug": "lab", "human_key": key})

    def _register_agent(self, given: Json) -> Json:
        name = self.given_name(given["name"])
        said = {key: given[key] for key in ("program", "model", "task_description")}
        agent = {"name": name, **said, "inception_ts": self.now.isoformat()}
        self.agents[given["project_key"]][name] = agent
        return agent | {"registration_token": f"token of {name}"}

    def _send_message(self, given: Json) -> Json:
        self.sent.append(given)
        for name in (given["sender_name"], *given["to"]):
            self.agents[given["project_key"]][name]
        return {"deliveries": [{"payload": self.store(given)}]}

    def store(self, given: Json, late: timedelta = timedelta(0)) -> Json:
        """Keep a message, whose time may be one that has passed long ago."""
        self.now += timedelta(seconds=1)
        stored = {
            "id": len(self.messages) + 1,
            "project_id": self.projects[given["project_key"]]["id"],
            "from": given["sender_name"],
            "to": given["to"],
            "subject": self.kept_subject(given["subject"]),
            "body_md": given["body_md"],
            "thread_id": given.get("thread_id"),
            "ack_required": given.get("ack_required", False),
            "created_ts": (self.now - late).isoformat(),
        }
        self.messages.append(stored)
        return stored

    def _outbox(self, name: str, query: Json) -> list[Json]:
        """Newest first, after a time, as many as asked for."""
        number = self.projects[query["project"]]["id"]
        since = query.get("since_ts", "").replace("Z", "+00:00")
        return [
            each
            for each in reversed(self.messages)
            if (each["project_id"], each["from"]) == (number, name) and each["created_ts"] > since
        ][: int(query.get("limit", 20))]

    def _mark_message_read(self, given: Json) -> Json:
        return {"message_id": given["message_id"], "read": True}

    def _fetch_inbox(self, given: Json) -> Json:
        """Without the recipients; a collector gets everything."""
        name = given["agent_name"]
        copied = self.messages[self.collected_from :] if name == COLLECTOR else []
        got = copied or [each for each in self.messages if name in each["to"]]
        told = [{key: value for key, value in each.items() if key != "to"} for each in got]
        return {"result": told[::-1]}

    def collect(self, key: str = KEY) -> Json:
        """From now on there is an agent that gets a copy of everything."""
        said = {"program": "", "model": "", "task_description": ""}
        collector = {"name": COLLECTOR, **said, "inception_ts": self.now.isoformat()}
        self.agents[key][COLLECTOR] = collector
        self.collected_from = len(self.messages)
        return collector
