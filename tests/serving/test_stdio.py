"""`brenner mcp`: the official client and a raw one, each with the program as a process."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import anyio
import pytest
from mcp import Client, StdioServerParameters

from program import brenner, files
from serving import own_offers
from serving.own_offers import HIDDEN

_PATIENCE = 60
_NEARLY_FULL = 56 * 1024  # a pipe holds 64 KiB
_OWN = (sys.executable, own_offers.__file__)
_BRENNER = (sys.executable, "-m", "brenner", "mcp", "--project", ".")
INITIALISE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


class Raw(NamedTuple):
    """A client that writes lines."""

    process: "subprocess.Popen[bytes]"
    into: IO[bytes]
    out: IO[bytes]

    def write(self, line: bytes) -> None:
        """Anything."""
        self.into.write(line + b"\n")
        self.into.flush()

    def ask(self, number: int, method: str, **params: Any) -> None:
        """A request; its answer is read elsewhere."""
        self.write(_request(number, method, params))

    def answer(self) -> Any:
        """The next line."""
        return json.loads(self.out.readline())

    def end(self) -> tuple[int, list[Any], str]:
        """Close the input; the exit code, what was still answered, and the standard error."""
        self.into.close()
        return self.ended()

    def ended(self) -> tuple[int, list[Any], str]:
        """The same without closing."""
        rest = [json.loads(line) for line in self.out]
        assert self.process.stderr is not None
        said = self.process.stderr.read().decode()
        return self.process.wait(_PATIENCE), rest, said


@contextmanager
def raw(*command: str, cwd: Path, **environment: str) -> Iterator[Raw]:
    """The program, and a client that is initialised."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=_environment() | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = Raw(process, process.stdin, process.stdout)
        try:
            client.ask(0, "initialize", **INITIALISE)
            assert client.answer()["result"]["serverInfo"]["name"] == "brenner"
            client.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            yield client
        finally:
            process.kill()


@contextmanager
def own(folder: Path, grace: float = _PATIENCE) -> Iterator[Raw]:
    """The program with the tools of these tests."""
    with raw(*_OWN, str(folder), str(grace), cwd=folder) as client:
        yield client


def _environment() -> dict[str, str]:
    ours = ("AGENT_NAME", "BRENNER_", "AGENT_MAIL_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    tests = str(Path(own_offers.__file__).parent.parent)
    return clean | {"PYTHONPATH": os.pathsep.join((clean.get("PYTHONPATH", ""), tests))}


def _request(number: int, method: str, params: dict[str, Any]) -> bytes:
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(said).encode()


def _until(path: Path) -> None:
    """Wait until there is such a file; a test that waits in vain is stopped from outside."""
    for _ in range(_PATIENCE * 100):
        if path.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{path.name} was not written")


def _waiting(pipe: IO[bytes]) -> int:
    """How many bytes nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_the_official_client(tmp_path: Path, era: str) -> None:
    """It starts the program, and has its tools and resources."""
    program = StdioServerParameters(
        command=_BRENNER[0], args=list(_BRENNER[1:]), env=_environment(), cwd=tmp_path
    )

    async def connected() -> None:
        with anyio.fail_after(_PATIENCE):
            async with Client(program, mode=era) as client:
                assert client.server_info is not None
                assert client.server_info.name == "brenner"
                names = {tool.name for tool in (await client.list_tools()).tools}
                assert {"register_agent", "send_message", "fetch_inbox"} <= names
                assert (await client.list_resource_templates()).resource_templates
                wrong = await client.call_tool("send_mesage", {})
                assert wrong.is_error
                health = await client.call_tool("health_check", {})
                assert health.structured_content["status"] == "ok"

    anyio.run(connected)
    assert (tmp_path / ".brenner").is_dir()


def test_garbage_is_answered_and_survived(tmp_path: Path) -> None:
    """A line that is no message gets the reason; the next one is served."""
    with own(tmp_path) as client:
        client.write(b"garbage")
        client.write(b"")
        client.write(b"\xff\xfe\xff")
        client.write(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
        client.write(b'{"jsonrpc":"2.0","id":7,"method":12}')
        client.write(b"[" * 100_000)
        told = [client.answer() for _ in range(5)]
        assert [(each["id"], each["error"]["code"]) for each in told] == [
            *((None, -32700), (None, -32700), (None, -32600), (7, -32600)),
            (None, -32600),
        ]
        client.ask(9, "tools/call", name="list", arguments={"many": 1})
        assert client.answer()["result"]["structuredContent"] == {"result": [0]}
        assert client.end() == (0, [], "")


def test_lines_do_not_depend_on_chunks(tmp_path: Path) -> None:
    """A long line comes in many chunks, short ones in one. The last line needs no line end."""
    text = "é" * 1024 * 1024
    long = _request(1, "tools/call", {"name": "echo", "arguments": {"text": text}})
    short = [_request(number, "tools/call", {"name": "list"}) for number in (2, 3, 4)]
    with own(tmp_path) as client:
        client.write(long)
        assert client.answer()["result"]["structuredContent"]["text"] == text
        client.into.write(b"\r\n \n".join(short))
        code, rest, said = client.end()
    assert (code, sorted(each["id"] for each in rest), said) == (0, [2, 3, 4], "")


def test_half_a_character_is_a_fault_of_the_call(tmp_path: Path) -> None:
    """Programs in JavaScript can send it. The call gets an answer, and the connection goes on."""
    with raw(*_BRENNER, cwd=tmp_path) as client:
        call = {"name": "send_message", "arguments": {"body_md": "half \ud83d"}}
        client.ask(1, "tools/call", **call)
        refused = client.answer()
        assert refused["id"] == 1
        assert "`body_md` contains half of a character" in refused["result"]["content"][0]["text"]
        client.ask(2, "ping")
        assert client.answer()["id"] == 2


def test_closing_the_input_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """It is finished, and answered; then the program ends."""
    with own(tmp_path) as client:
        client.ask(1, "tools/call", name="slow", arguments={})
        client.ask(2, "tools/call", name="list", arguments={"many": 1})
        _until(tmp_path / "begun")
        client.into.close()
        assert client.answer()["id"] == 2
        (tmp_path / "go").touch()
        code, rest, said = client.ended()
    assert (code, said) == (0, "")
    assert [(each["id"], each["result"]["structuredContent"]) for each in rest] == [
        (1, {"done": True})
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_in_the_middle_of_a_call(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """As if the input had been closed."""
    with own(tmp_path) as client:
        client.ask(1, "tools/call", name="slow", arguments={})
        _until(tmp_path / "begun")
        client.process.send_signal(number)
        (tmp_path / "go").touch()
        ended = client.ended()
    assert [each["id"] for each in ended[1]] == [1]
    assert (ended[0], ended[2]) == (code, "")


def test_a_cancelled_call_is_finished_without_an_answer(tmp_path: Path) -> None:
    """The connection goes on; the end does not wait for an answer that is not wanted."""
    with own(tmp_path) as client:
        client.ask(1, "tools/call", name="slow", arguments={})
        _until(tmp_path / "begun")
        client.write(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
        )
        client.ask(2, "tools/call", name="list", arguments={})
        assert client.answer()["id"] == 2
        client.into.close()
        time.sleep(0.5)  # in vain: what has begun is not abandoned
        assert not (tmp_path / "ended").exists()
        (tmp_path / "go").touch()
        assert client.ended() == (0, [], "")
    assert (tmp_path / "done").exists()
    assert (tmp_path / "ended").exists()


def test_nothing_but_the_protocol_is_on_the_wire(tmp_path: Path) -> None:
    """What is printed goes to the standard error, a program that is started has no input."""
    with own(tmp_path) as client:
        client.ask(1, "tools/call", name="chatty", arguments={})
        assert client.answer()["result"]["structuredContent"]["read"] == ""
        client.ask(2, "tools/call", name="broken", arguments={"token": HIDDEN})
        assert client.answer()["result"]["isError"]
        client.ask(3, "no/such/method", token=HIDDEN)
        assert client.answer()["error"]["code"] == -32601
        client.ask(4, "tools/call", name=["wrong"], token=HIDDEN)
        assert client.answer()["error"]["code"] == -32602
        code, rest, said = client.end()
    assert (code, rest) == (0, [])
    assert "this must not be on the wire" in said
    assert "KeyError in `broken`" in said
    assert HIDDEN not in said


def test_a_client_that_goes_away_is_listed_in(tmp_path: Path) -> None:
    """An answer that nobody gets is not delivered; what was asked for is done."""
    with own(tmp_path) as client:
        client.ask(1, "tools/call", name="slow", arguments={})
        _until(tmp_path / "begun")
        client.out.close()
        (tmp_path / "go").touch()
        client.into.close()
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b"lost: Broken pipe\n"
    assert (tmp_path / "done").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("more", [b"", b"garbage\n" * 10])
def test_a_client_that_never_reads(tmp_path: Path, more: bytes) -> None:
    """A signal ends it all the same, and it is said that an answer was lost."""
    with own(tmp_path, grace=0.5) as client:
        client.ask(1, "tools/call", name="list", arguments={"many": 30_000})
        client.write(more)
        while _waiting(client.out) < _NEARLY_FULL:
            time.sleep(0.01)
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(_PATIENCE) == 0
        assert client.process.stderr is not None
        assert (
            client.process.stderr.read()
            == b"lost: an answer was not finished, or not read, in time\n"
        )


def test_what_is_wrong_before_the_start(tmp_path: Path) -> None:
    """It is told on the standard error, with the usual exit codes; nothing is on the wire."""
    (tmp_path / "file").touch()
    missing = brenner("mcp", "--project", str(tmp_path / "nowhere"), cwd=tmp_path)
    assert (missing.code, missing.out) == (2, "")
    assert "NO_SUCH_PROJECT" in missing.err
    broken = brenner("mcp", "--store", f"sqlite:///{tmp_path}/file/mail.db", cwd=tmp_path)
    assert (broken.code, broken.out) == (3, "")
    assert files(tmp_path) == ["file"]


def test_the_input_is_closed_from_the_start(tmp_path: Path) -> None:
    """Nobody asks: it ends at once, and well. That there was no mailbox is told, once."""
    ended = brenner("mcp", "--project", ".", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"brenner  warning NEW_MAILBOX  {tmp_path} had no mail yet")
    assert "`--project DIR`" in ended.err
    again = brenner("mcp", cwd=tmp_path)
    assert (again.code, again.out, again.err) == (0, "", "")
