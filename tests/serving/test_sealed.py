"""R33 over MCP and on the pages: who reads what of an independent first round.

Tools, resources and pages come from the tables of the server, so that a new one is covered.
"""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from brenner.mcp.identity import proven_reader
from brenner.mcp.resources import RESOURCES
from brenner.mcp.server import TOOLS
from brenner.mcp.tool import ArgumentKind, Caller, Tool
from brenner.program_settings import SECRET_HEADER
from brenner.server.settings import ServeSettings
from brenner.services.identity import secret_digest
from brenner.services.workspace import Workspace
from brenner.web.app import PAGES
from program import brenner
from sealed_session import (
    AUTHOR,
    MARKERS,
    OPERATOR,
    READER,
    SECRETS,
    THREAD,
    block,
    contributed,
    leaks,
    started,
)
from serving.calls import place
from serving.running import Inside, inside

_LOOSE = ServeSettings(port=0, requests_a_second=1_000_000, is_lab=True)
# What an argument of a tool is called, and a value that leads to what is sealed
VALUES: dict[str, object] = {
    **dict.fromkeys(("thread_id", "thread"), THREAD),
    **dict.fromkeys(("agent_name", "agent", "sender_name", "name", "name_hint"), READER),
    **dict.fromkeys(("message_id", "reply_to"), 5),
    **dict.fromkeys(("query", "q"), "zqclaim"),
    "to": [AUTHOR],
    "subject": "DELTA[opus]: Mine",
    "body_md": f"```delta\n{json.dumps(block('Mine'))}\n```\n",
    "deltas": [{**block("Mine")}, {**block("Mine"), "operation": "EDIT", "target_id": "H1"}],
    "code": "MB-004",
    "paths": ["zq"],
    "program": "claude-code",
    "model": "opus",
    "include_bodies": True,
    "include_examples": True,
    "limit": 50,
    "human_key": "",
    "project_key": "",
}
# Those of a tool or a resource that have none above
PARAMETERS = {
    "agent": (READER, AUTHOR, OPERATOR),
    "thread_id*": (THREAD,),
    "slug": ("project",),
    "message_id": tuple(map(str, range(1, 9))),
    "project_key": ("project",),
    "anchor": ("*", "EV-001"),
}


class Reader(NamedTuple):
    """A caller: who it says it is, and the secret that it shows."""

    name: str
    secret: str | None


READERS = (
    Reader(READER, SECRETS[READER]),
    Reader(READER, None),
    Reader(AUTHOR, None),  # says that it is the author
    Reader(OPERATOR, None),  # says that it is the operator
    Reader(AUTHOR, SECRETS[READER]),
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Workspace]:
    """The operator's workspace of a session that is sealed."""
    with started(tmp_path / "project") as here:
        contributed(here)
        yield here


def arguments(tool: Tool, name: str) -> dict[str, object]:
    """Arguments for every parameter of a tool for which there is a value."""
    texts = (ArgumentKind.TEXT, ArgumentKind.TEXTS)
    given = {}
    for each in tool.arguments:
        if each.name in VALUES:
            given[each.name] = VALUES[each.name]
        elif each.required:
            assert each.kind in texts, f"{tool.name} needs a value for {each.name}"
            given[each.name] = "text" if each.kind is ArgumentKind.TEXT else ["text"]
    for who in ("agent_name", "agent", "sender_name", "name"):
        if who in given:
            given[who] = name
    return {key: value for key, value in given.items() if value != ""}


def addresses() -> Iterator[str]:
    """The address of each resource with each of its parameters, with all bodies."""
    for resource in RESOURCES:
        template = resource.template.partition("{?")[0]
        _, brace, rest = template.partition("{")
        if not brace:
            yield template
            continue
        name = rest.rstrip("}")
        for value in PARAMETERS[name]:
            plain = template.replace(f"{{{name}}}", value)
            yield plain
            if "include_bodies" in resource.template:
                yield f"{plain}?include_bodies=true"


def answer(server: Inside, method: str, secret: str | None, **params: object) -> str:
    """All that the server sends back, errors included."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = server.ask("POST", "/mcp", request, {SECRET_HEADER: secret})
    return json.dumps(reply.document, ensure_ascii=False)


@pytest.mark.parametrize("reader", READERS, ids=str)
def test_no_tool_and_no_resource_shows_what_is_sealed(here: Workspace, reader: Reader) -> None:
    """R33: to a verified agent, to an unverified caller, and to one with another's secret."""
    outputs = []
    with inside(here.mailbox, here.project, _LOOSE) as server:
        for tool in TOOLS:
            given = arguments(tool, reader.name)
            outputs.append(
                answer(server, "tools/call", reader.secret, name=tool.name, arguments=given)
            )
            assert leaks(outputs[-1]) <= leaks(str(given.get("query"))), tool.name
        for address in addresses():
            outputs.append(answer(server, "resources/read", reader.secret, uri=address))
            assert not leaks(outputs[-1]), address
    assert any("sealed until v1" in each or '"sealed"' in each for each in outputs)


def read(server: Inside, secret: str | None) -> str:
    """What a reader gets from the resources."""
    return "".join(answer(server, "resources/read", secret, uri=each) for each in addresses())


def test_the_operator_and_the_author_read_it_and_v1_unseals_it(here: Workspace) -> None:
    """R33: with their secrets; the author also reads what the operator answered it."""
    with inside(here.mailbox, here.project, _LOOSE) as server:
        assert leaks(read(server, SECRETS[OPERATOR])) == set(MARKERS)
        assert leaks(read(server, SECRETS[AUTHOR])) == set(MARKERS)
        assert not leaks(read(server, SECRETS[READER]))
        here.compile(THREAD)
        assert leaks(read(server, SECRETS[READER])) == set(MARKERS)
        assert leaks(read(server, None)) == set(MARKERS)


def test_an_agent_cannot_end_the_round(here: Workspace) -> None:
    """R33: a COMPILED message of an agent is refused, and nothing is unsealed."""
    with inside(here.mailbox, here.project, _LOOSE) as server:
        given = {
            "project_key": str(here.project.folder),
            "sender_name": READER,
            "thread_id": THREAD,
            "subject": f"COMPILED: v1 {THREAD}",
            "to": [AUTHOR],
            "body_md": "# Compiled\n",
        }
        said = answer(server, "tools/call", SECRETS[READER], name="send_message", arguments=given)
        assert '"isError": true' in said
        assert not leaks(read(server, SECRETS[READER]))


def page(server: Inside, path: str, **headers: str) -> str:
    """A page or its JSON, errors included."""
    return str(server.ask("GET", path, None, headers).document)


def paths() -> Iterator[str]:
    """Every page, with every parameter."""
    for template in PAGES:
        for message in range(1, 9) if "message" in template else (1,):
            path = template.replace("{thread}", THREAD).replace("{message:int}", str(message))
            for form in ("md", "html", "json", "jsonl") if "{form}" in path else ("",):
                yield path.replace("{item}", "H1").replace("{form}", form)
    for tab in ("", "/artifact", "/evidence", "/items/H1"):
        yield f"/sessions/{THREAD}{tab}?draft=1"
    yield f"/sessions/{THREAD}/news?after=1"
    yield f"/search?{urlencode({'q': 'zqclaim'})}"
    yield f"/search?{urlencode({'q': 'type:DELTA'})}"


def test_pages_show_it_to_the_operator_only(here: Workspace) -> None:
    """R33: without the operator's login nothing; afterwards everything; to all after v1."""
    with inside(here.mailbox, here.project, _LOOSE) as server:
        for path in paths():
            for accept in ("text/html", "application/json"):
                text = page(server, path, Accept=accept)
                asked = {each for each in MARKERS if each in path}
                assert leaks(text) <= asked, path
        thread = f"/sessions/{THREAD}/thread"
        session = page(server, f"/sessions/{THREAD}", Accept="text/html")
        assert "3 contributions sealed until v1" in session
        cookie = _login(server)
        own = "".join(page(server, each, Accept="text/html", Cookie=cookie) for each in paths())
        assert leaks(own) == set(MARKERS)
        assert not leaks(page(server, thread, Accept="text/html"))
        here.compile(THREAD)
        assert "zqattack" in page(server, thread, Accept="text/html")


def _login(server: Inside) -> str:
    """Log in as the operator; the cookie."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    form = urlencode({"secret": SECRETS[OPERATOR], "next": "/"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.base_url}
    connection.request("POST", "/lab/login", form, headers)
    response = connection.getresponse()
    response.read()
    cookies: list[Any] = [value for name, value in response.getheaders() if name == "set-cookie"]
    connection.close()
    assert cookies, response.status
    return "; ".join(each.partition(";")[0] for each in cookies)


def test_serve_needs_a_token_while_a_session_is_sealed(here: Workspace) -> None:
    """R33: the error names the session, and both ways out work."""
    folder = here.project.folder
    refused = brenner("serve", "--port", "0", cwd=folder)
    assert refused.code == 1
    assert "SEALED_NEEDS_TOKEN" in refused.err
    assert f"brenner compile {THREAD}" in refused.err


def test_the_form_of_the_lab_starts_such_a_session(here: Workspace) -> None:
    """R33: a checkbox, and a key for scripts; the preview shows what the kickoff states."""
    with inside(here.mailbox, here.project, _LOOSE) as server:
        form = page(server, "/lab/start", Accept="text/html", Cookie=_login(server))
        assert 'name="independent"' in form
        sent = {
            "question": "What decides now?",
            "context": "Some. More.",
            "recipients": [READER],
            "roster": {"entries": [{"agentName": READER, "role": "test_designer"}]},
            "independent": True,
            "dry_run": True,
        }
        secret = {SECRET_HEADER: SECRETS[OPERATOR]}
        started_there = server.ask("POST", "/lab/start", sent, secret).document
        assert "**Sealed Until**: v1" in started_there["kickoffs"][0]["body"]


def test_a_call_reads_as_one_name_only() -> None:
    """R33: the secret of the call, else the name in the call, else the only name there is."""
    there = place()
    for name in (AUTHOR, READER):
        there.knows(name, SECRETS[name])
        there.bindings.bind("both", name, secret_digest(SECRETS[name]))
    there.bindings.bind("one", READER, secret_digest(SECRETS[READER]))
    both, one = there.caller("both"), there.caller("one")

    def read_as(caller: Caller, **arguments: object) -> str | None:
        return proven_reader(there.call(caller, **arguments))

    assert read_as(both) is None  # a program of two agents must say for which it reads
    assert read_as(both, agent_name=READER) == READER
    assert read_as(both, sender_name=AUTHOR.lower()) == AUTHOR
    assert read_as(both, agent=READER, sender_token=SECRETS[AUTHOR]) == AUTHOR
    assert read_as(one) == READER
    assert read_as(one, agent_name=AUTHOR) == READER  # a name alone proves nothing
    assert read_as(one, sender_token=SECRETS[OPERATOR]) is None  # of no name here
    assert read_as(there.caller()) is None
    assert read_as(there.caller(), agent_name=AUTHOR) is None
    assert read_as(there.caller(None, SECRETS[AUTHOR]), agent_name=READER) == AUTHOR
    there.mailbox.claim(READER, secret_digest("brs_new"), replace=True)
    assert read_as(one) is None  # a new secret ends what was proven with the old one
