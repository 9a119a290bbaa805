"""The server as the official client sees it, inside the process, in both eras of the protocol."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import brenner
from brenner.mcp.server import INSTRUCTIONS, build
from serving.own_offers import HIDDEN, OWN, brain_parts

ERAS = ("legacy", "auto")
_PATIENCE = 60


def talk(
    folder: Path, said: Callable[[Client], Awaitable[None]], era: str = "legacy", **brain: Any
) -> None:
    """Connect, and say that."""

    async def connected() -> None:
        server = build(*brain_parts(folder, **brain), *OWN)
        with anyio.fail_after(_PATIENCE):
            async with Client(server, mode=era) as client:
                await said(client)

    anyio.run(connected)


def text_of(result: Any) -> str:
    """The text of a result that has one."""
    (content,) = result.content
    return str(content.text)


@pytest.mark.parametrize("era", ERAS)
def test_what_the_server_says_of_itself(tmp_path: Path, era: str) -> None:
    """Its name and version, what to do, its tools with their schemas, its resources."""

    async def said(client: Client) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == (
            "brenner",
            brenner.__version__,
        )
        assert client.instructions == INSTRUCTIONS
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == [tool.name for tool in OWN[0]]
        for name, is_read_only in (("echo", True), ("slow", False)):
            hints = tools[name].annotations
            assert hints is not None
            assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (
                is_read_only,
                False,
                False,
            )
        (plain,) = (await client.list_resources()).resources
        (form,) = (await client.list_resource_templates()).resource_templates
        assert (plain.uri, plain.mime_type) == ("resource://all", "application/json")
        assert form.uri_template == "resource://echo/{what}{?folder}"

    talk(tmp_path, said, era)


def test_the_instructions_are_short() -> None:
    """Every session pays for them."""
    assert len(INSTRUCTIONS.split()) < 150
    for tool in ("register_agent", "brenner_task", "brenner_artifact", "brenner_post"):
        assert f"`{tool}`" in INSTRUCTIONS


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_is_there_twice(tmp_path: Path, era: str) -> None:
    """As JSON text and as structured content; a list is wrapped, and an empty one has no text."""

    async def said(client: Client) -> None:
        one = await client.call_tool("echo", {"text": "…", "times": "2", "to": '["a"]'})
        expected = {"text": "…", "times": 2, "to": ["a"], "connection": "stdio", "secret": HIDDEN}
        assert (one.structured_content, one.is_error) == (expected, False)
        assert json.loads(text_of(one)) == expected
        many = await client.call_tool("list", {"many": 2})
        assert (many.structured_content, text_of(many)) == ({"result": [0, 1]}, "[0,1]")
        none = await client.call_tool("list")
        assert (none.structured_content, none.content, none.is_error) == ({"result": []}, [], False)

    talk(tmp_path, said, era, secret=HIDDEN)


WRONG: tuple[tuple[str, dict[str, str], str, str], ...] = (
    ("echo", {"txt": "x"}, "UNKNOWN_ARGUMENT", "Did you mean `text`?"),
    ("echo", {}, "MISSING_ARGUMENT", "needs the argument `text`: a string."),
    ("ecko", {}, "UNKNOWN_TOOL", "Unknown tool: ecko\nNo changes were made. Did you mean `echo`?"),
    ("refused", {}, "NO_SUCH_AGENT", "`register_agent`"),
    ("unavailable", {}, "STORE_BUSY", "Your call is not wrong"),
    ("broken", {"token": HIDDEN}, "TOOL_FAILED", "Internal error in `broken` (KeyError)"),
    ("unwritable", {}, "TOOL_FAILED", "Internal error in `unwritable` (TypeError)"),
    ("halved", {}, "TOOL_FAILED", "Internal error in `halved` (UnicodeEncodeError)"),
)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong[0]} {wrong[2]}")
def test_what_goes_wrong_is_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], era: str, wrong: tuple[Any, ...]
) -> None:
    """Never an error of the protocol, never a traceback on the wire; the next call works."""
    tool, arguments, code, words = wrong

    async def said(client: Client) -> None:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert words in text_of(result)
        assert result.structured_content["error"]["id"] == code
        assert [each["id"] for each in result.structured_content["violations"]] == [code]
        assert "Traceback" not in text_of(result)
        assert HIDDEN not in str(result)
        assert not (await client.call_tool("list")).is_error

    talk(tmp_path, said, era)
    written = capsys.readouterr()
    assert written.out == ""
    assert ("fault-" in written.err) == (code == "TOOL_FAILED")
    assert HIDDEN not in written.err


@pytest.mark.parametrize("era", ERAS)
def test_resources(tmp_path: Path, era: str) -> None:
    """One JSON text; what cannot be read is an error with our words."""

    async def said(client: Client) -> None:
        (whole,) = (await client.read_resource("resource://all")).contents
        assert (whole.mime_type, getattr(whole, "text", None)) == ("application/json", "[1,2]")
        (one,) = (await client.read_resource("resource://echo/a%20b?folder=%2Flab")).contents
        assert json.loads(getattr(one, "text", "")) == {"what": "a b", "folder": "/lab"}

    talk(tmp_path, said, era)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("uri", "number", "words"),
    [
        ("resource://nothing/1", -32602, "Unknown resource: 'resource://nothing/1'."),
        ("resource://echo/a?foldr=x", -32602, "Did you mean `folder`?"),
        ("resource://echo/refused", -32602, "`register_agent`"),
        ("resource://echo/unavailable", -32603, "Another process used the store"),
        ("resource://echo/broken", -32603, "Internal error in"),
    ],
)
def test_resources_that_cannot_be_read(
    tmp_path: Path, era: str, uri: str, number: int, words: str
) -> None:
    """The next one can."""

    async def said(client: Client) -> None:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
        assert raised.value.error.code == number
        assert words in raised.value.error.message
        assert HIDDEN not in str(raised.value.error)
        assert (await client.read_resource("resource://all")).contents

    talk(tmp_path, said, era)


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_is_finished_and_the_next_one_works(tmp_path: Path, era: str) -> None:
    """What has begun ends; only its answer is dropped."""

    async def until(name: str) -> None:
        while not (tmp_path / name).exists():
            await anyio.sleep(0.01)

    async def said(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "slow")
            await until("begun")
            if era == "auto":  # inside one process that client waits for what it has called off
                (tmp_path / "go").touch()
            tasks.cancel_scope.cancel()
        (tmp_path / "go").touch()
        assert (await client.call_tool("list", {"many": 1})).structured_content == {"result": [0]}
        await until("done")

    talk(tmp_path, said, era)


def test_more_calls_than_threads_are_all_answered(tmp_path: Path) -> None:
    """They wait for their turn."""
    found: list[int] = []

    async def said(client: Client) -> None:
        async def one(number: int) -> None:
            result = await client.call_tool("list", {"many": number})
            found.append(len(result.structured_content["result"]))

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(one, number)

    talk(tmp_path, said)
    assert sorted(found) == list(range(100))
