"""The client of Agent Mail servers: what it sends, and what it makes of any answer."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import BrennerError, RequestError, UnavailableError
from brenner.mail.agent_mail.client import Client, path_segment
from brenner.mail.agent_mail.http import MaybeSentError
from mail.odd_agent_mail import FETCH, SECRET, SEND, OddMail, fixed, rpc_error, serving
from mail.odd_server import Asked, Reply, result, texts, tools
from servers import agent_mail
from servers.process import free_port

# What is sent


def test_only_arguments_that_the_tool_has_are_sent() -> None:
    with fixed({"structuredContent": {}}) as server:
        server.client().call(SEND, {"to": ["A"], "subject": None, "bcc": [], "sender_token": "t"})
    assert server.asked[-1].document["params"] == {
        "name": SEND,
        "arguments": {"to": ["A"], "sender_token": "t"},
    }


def test_a_tool_whose_schema_names_no_arguments_gets_all() -> None:
    def answer(asked: Asked) -> Reply:
        bare = {"tools": [{"name": SEND, "inputSchema": {"type": "object"}}, "nonsense", {}]}
        return result(asked, bare if asked.document["method"] == "tools/list" else texts("{}"))

    with OddMail(answer) as server:
        client = server.client()
        assert client.offers(SEND, "whatever")
        client.call(SEND, {"to": "A"})
    assert server.asked[-1].document["params"]["arguments"] == {"to": "A"}


def test_what_a_server_offers_is_read_once_and_on_all_pages() -> None:
    def answer(asked: Asked) -> Reply:
        cursor = asked.document["params"].get("cursor")
        if cursor is None:
            return result(asked, tools(whois=[]) | {"nextCursor": "more"})
        return result(asked, tools(fetch_inbox=["limit"]))

    with OddMail(answer) as server:
        client = server.client()
        found = [client.offers(each) for each in ("whois", FETCH, SEND)]
        assert [*found, client.offers(FETCH, "limit"), client.offers(FETCH, "since_ts")] == [
            *(True, True, False),
            *(True, False),
        ]
    assert server.methods() == ["tools/list"] * 2


def test_a_list_without_an_end_is_nonsense() -> None:
    with OddMail(lambda asked: result(asked, tools(whois=[]) | {"nextCursor": "x"})) as server:
        assert server.failure().diagnostic.id == "SERVER_NONSENSE"


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    with fixed({}) as server:
        error = server.failure("macro_start_session")
    assert (type(error), error.diagnostic.id) == (UnavailableError, "SERVER_LACKS")
    assert "`macro_start_session`" in error.diagnostic.message
    assert server.methods() == ["tools/list"]


def test_the_token_goes_with_every_request() -> None:
    with fixed({"structuredContent": {}}) as server:
        server.client(SECRET).call(SEND, {})
        server.client().call(SEND, {})
    found = [each.headers.get("authorization") for each in server.asked]
    assert found == [f"Bearer {SECRET}"] * 2 + [None] * 2


@pytest.mark.parametrize("token", ["a\r\nX: y", "päss", "a\0b"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(UnavailableError) as caught:
        Client("http://127.0.0.1:1/", token)
    assert caught.value.diagnostic.id == "SERVER_DENIED"
    assert token not in str(caught.value) + caught.value.diagnostic.fix


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    with fixed({"structuredContent": {"a": 1}}) as server:
        assert server.client().call(SEND, {}) == {"a": 1}


# What comes back


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"structuredContent": {"a": 1}, "content": []}, {"a": 1}),
        ({"structuredContent": {"result": [1, 2]}}, [1, 2]),
        ({"structuredContent": {"result": [1], "hints": ["Long."]}}, [1]),
        ({"structuredContent": {"result": []}, "content": [], "isError": False}, []),
        (texts('{"a": "é"}'), {"a": "é"}),
        (texts('[{"a": 1}]'), [{"a": 1}]),
        (texts('{"a": 1}', '{"a": 2}'), [{"a": 1}, {"a": 2}]),
        ({"content": []}, []),
    ],
)
def test_the_value_of_a_tool(given: object, value: object) -> None:
    with fixed(given) as server:
        assert server.client().call(SEND, {}) == value


# Resources


def holds(value: object) -> dict[str, object]:
    """The result of reading a resource."""
    return {"contents": [{"uri": "x", "mimeType": "application/json", "text": json.dumps(value)}]}


def addresses(server: OddMail) -> list[str]:
    """The resources that were asked for."""
    params = [each.document["params"] for each in server.asked]
    return [each["uri"] for each in params if "uri" in each]


def test_a_query_goes_where_the_template_lets_it_arrive() -> None:
    """What a template does not declare gets lost, unless it hides in the last segment."""
    query = {"project": "/a b", "limit": "2"}
    with fixed(holds({"messages": []})) as server:
        client = server.client()
        assert client.read("outbox/RedSky", query) == {"messages": []}
        client.read(f"thread/{path_segment('a/b?')}", query)
        client.read("projects", query)
        client.read(f"agents/{path_segment('/a b')}", {})
    assert addresses(server) == [
        "resource://outbox/RedSky%3Fproject%3D%252Fa%2520b%26limit%3D2",
        "resource://thread/a%2Fb%3F?project=%2Fa%20b&limit=2",
        "resource://projects?project=%2Fa%20b&limit=2",
        "resource://agents/%2Fa%20b",
    ]
    assert server.methods().count("resources/templates/list") == 1


def reading_plainly(value: object) -> OddMail:
    """A server that takes a query only where it belongs, though it does not declare it."""

    def answer(asked: Asked) -> Reply:
        if "?" in asked.document["params"]["uri"]:
            return result(asked, holds(value))
        return rpc_error(0, "No agent `RedSky?project=…`")(asked)

    return serving(answer)


@pytest.mark.parametrize("value", [{"project": "/p", "count": 0}, {"count": 0}, [1]])
def test_a_server_may_want_the_query_where_it_belongs(value: object) -> None:
    with reading_plainly(value) as server:
        assert server.client().read("outbox/RedSky", {"project": "/p"}) == value
    assert addresses(server) == [
        "resource://outbox/RedSky%3Fproject%3D%252Fp",
        "resource://outbox/RedSky?project=%2Fp",
    ]


def test_an_answer_for_another_project_is_none() -> None:
    with (
        reading_plainly({"project": "/q", "count": 0}) as server,
        pytest.raises(RequestError) as caught,
    ):
        server.client().read("outbox/RedSky", {"project": "/p"})
    assert "No agent" in caught.value.diagnostic.message


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"contents": []},
        {"contents": [{"text": "{}"}, {"text": "{}"}]},
        {"contents": [{"blob": "e30="}]},
        {"contents": [{"text": "no JSON"}]},
    ],
)
def test_a_resource_is_one_text_of_json(value: object) -> None:
    with fixed(value) as server, pytest.raises(UnavailableError) as caught:
        server.client().read("agents/x", {})
    assert caught.value.diagnostic.id == "SERVER_NONSENSE"


def test_a_server_without_resources_lacks_them() -> None:
    with (
        serving(rpc_error(-32601, "Method not found")) as server,
        pytest.raises(UnavailableError) as caught,
    ):
        server.client().read("agents/x", {})
    assert caught.value.diagnostic.id == "SERVER_LACKS"
    assert "`resources/read`" in caught.value.diagnostic.message


def test_a_server_that_lists_no_templates_gets_queries_plainly() -> None:
    def answer(asked: Asked) -> Reply:
        if asked.document["method"] == "resources/read":
            return result(asked, holds([]))
        return rpc_error(-32601, "Method not found")(asked)

    with OddMail(answer) as server:
        assert server.client().read("outbox/RedSky", {"limit": "1"}) == []
    assert addresses(server) == ["resource://outbox/RedSky?limit=1"]


# The real server


@pytest.fixture
def real() -> Iterator[Client]:
    """Somebody who talks to it."""
    with closing(Client(agent_mail.running().url)) as client:
        yield client


@pytest.fixture
def project(real: Client, tmp_path: Path) -> str:
    """A project there, with two agents and three messages."""
    key = str(tmp_path)
    real.call("ensure_project", {"human_key": key})
    for name in ("AmberFox", "JadeOwl"):
        known = {"project_key": key, "program": "claude-code", "model": "opus"}
        real.call("register_agent", {**known, "name": name, "force_reclaim": True})
    for number in range(3):
        message = {"sender_name": "AmberFox", "to": ["JadeOwl"], "thread_id": "odd id/with?&"}
        text = {"subject": f"INFO: {number}", "body_md": f"é {number}\n", "sender_token": "no such"}
        real.call(SEND, {"project_key": key, **message, **text})
    return key


def test_the_real_server_does_without_what_it_does_not_take(real: Client) -> None:
    assert real.offers(SEND, "thread_id")
    assert not real.offers(SEND, "sender_token")
    assert not real.offers("send_letter")


def test_the_real_server_tells_objects_lists_and_nothing(real: Client, project: str) -> None:
    inbox = {"project_key": project, "agent_name": "JadeOwl", "include_bodies": True}
    found: Any = real.call(FETCH, {**inbox, "limit": 2, "since_ts": None})
    assert [each["body_md"] for each in found] == ["é 2\n", "é 1\n"]
    assert real.call(FETCH, {**inbox, "agent_name": "AmberFox"}) == []
    amber: Any = real.call("whois", {"project_key": project, "agent_name": "AmberFox"})
    assert amber["name"] == "AmberFox"


def test_the_real_server_obeys_every_query(real: Client, project: str) -> None:
    query = {"project": project, "include_bodies": "true"}
    outbox: Any = real.read("outbox/AmberFox", {**query, "limit": "2"})
    thread: Any = real.read(f"thread/{path_segment('odd id/with?&')}", query)
    agents: Any = real.read(f"agents/{path_segment(project)}", {})
    assert [each["body_md"] for each in outbox["messages"]] == ["é 2\n", "é 1\n"]
    assert [each["to"] for each in outbox["messages"]] == [["JadeOwl"]] * 2
    assert [each["body_md"] for each in thread["messages"]] == ["é 0\n", "é 1\n", "é 2\n"]
    assert {each["name"] for each in agents["agents"]} >= {"AmberFox", "JadeOwl"}


NOBODY = {"agent_name": "Nobody"}
NO_TEXT = {"agent_name": "\ud800", "project_key": "x"}
WRONG = [
    (lambda real: real.read("agents/nosuch", {}), RequestError, "SERVER_REFUSED"),
    (lambda real: real.read("outbox/X", {"project": "/no"}), RequestError, "SERVER_REFUSED"),
    (lambda real: real.read("nosuch/1", {}), UnavailableError, "SERVER_LACKS"),
    (
        lambda real: real.call("whois", NOBODY | {"project_key": "x"}),
        RequestError,
        "SERVER_REFUSED",
    ),
    (lambda real: real.call("whois", NOBODY), RequestError, "SERVER_REFUSED"),
    (
        lambda real: real.call("whois", NO_TEXT | {"project_key": "x"}),
        MaybeSentError,
        "SERVER_FAILED",
    ),
]


@pytest.mark.parametrize(("ask", "kind", "code"), WRONG)
def test_the_errors_of_the_real_server_come_in_all_three_ways(
    real: Client, ask: Callable[[Client], object], kind: type[BrennerError], code: str
) -> None:
    with pytest.raises(BrennerError) as caught:
        ask(real)
    assert (type(caught.value), caught.value.diagnostic.id) == (kind, code)


def test_the_real_server_sends_on_who_forgets_the_slash() -> None:
    url = agent_mail.running().url
    with closing(Client(url.rstrip("/"))) as client, pytest.raises(UnavailableError) as caught:
        client.offers(SEND)
    assert f"`{url}`" in caught.value.diagnostic.message
