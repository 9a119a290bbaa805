"""`brenner serve` as a process: what it says, where it listens, how it ends."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.server.settings import read_token
from commands import in_marks, unknown
from parts import need
from program import Run, brenner
from servers.lifetime import until
from serving.running import PATH, Served

TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
FINE, REFUSED, USAGE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130
PATIENCE = 60


@pytest.fixture
def served() -> Iterator[Served]:
    """A server in a new project."""
    with Served() as server:
        yield server


def register(server: Served, name: str) -> str:
    """A new agent; its secret."""
    found = server.tool("register_agent", program="claude-code", model="opus", name=name)
    return str(found["registration_token"])


def make_message(body: str = "At noon?") -> dict[str, object]:
    """A message that is not of the protocol."""
    return {
        "sender_name": "BlueLake",
        "to": ["BlueLake"],
        "subject": "Lunch",
        "body_md": body,
        "thread_id": "lunch",
    }


def test_one_life(served: Served) -> None:
    """Ready, used, told to end: exit code 0, what was sent is there, the port is free at once."""
    said = served.said
    store = served.project / ".brenner" / "mail.sqlite3"
    assert said == {
        "address": served.base_url,
        "endpoint": served.url,
        "port": served.port,
        "project": str(served.project),
        "store": str(store),
        "identity": "open",
        "protects_names": True,
        "token": False,
        "lab": None,
        "pid": said["pid"],
        "violations": said["violations"],
    }
    assert [each["id"] for each in said["violations"]] == ["NEW_MAILBOX"]
    register(served, "BlueLake")
    served.tool("send_message", **make_message())
    with closing(http.client.HTTPConnection(served.host, served.port, timeout=60)) as idle:
        idle.request("GET", "/")
        assert idle.getresponse().read()
        served.signal(signal.SIGTERM)
        assert served.ended() == FINE
    assert [line for line in served.log.read_text().splitlines() if line[:1] != "{"] == []
    with SqliteMailbox.open(store) as mailbox:
        assert [each.message.subject for each in mailbox.thread("lunch").messages] == ["Lunch"]
    served.start()
    assert served.tool("health_check")["status"] == "ok"
    assert served.said["violations"] == []


def test_ends_by_ctrl_c(served: Served) -> None:
    """As by any other request to end."""
    served.signal(signal.SIGINT)
    assert served.ended() == FINE


def test_message_for_people(tmp_path: Path) -> None:
    """Address, project, store and identity, and how to go on; that a mailbox was made, beside."""
    command = [sys.executable, "-m", "brenner", "serve", "--project", "."]
    command += ["--port", "0", "--strict-identity"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        words = "".join(process.stdout.readline() for _ in range(6))
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == FINE
    assert words.startswith(f"Serving {tmp_path}. Press Ctrl-C to stop.\n")
    port = words.partition("/mcp\n")[0].rpartition(":")[2]
    assert f"  Browsers: http://127.0.0.1:{port}\n" in words
    for word in ("mail.sqlite3", "Identity is strict", f"--url http://127.0.0.1:{port}/mcp/` "):
        assert word in words
    assert [found for each in in_marks(words + err) for found in unknown(each)] == []
    assert err.startswith(f"brenner  warning NEW_MAILBOX  {tmp_path} had no mail yet")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, FINE), (signal.SIGHUP, FINE), (signal.SIGINT, INTERRUPTED)],
)
def test_told_to_end_before_it_serves(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """It listens, and loads what it needs: it ends as cleanly as any command."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    store, pipe = tmp_path / ".brenner" / "mail.sqlite3", subprocess.PIPE
    command = [sys.executable, "-m", "brenner", "serve", "--project", ".", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe) as process:
        for _ in until(store.exists, PATIENCE):
            pass
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()  # one that has not heard would be waited for
    assert (process.returncode, out) == (code, b"")
    assert b"Traceback" not in err


@pytest.mark.parametrize("numbers", [(signal.SIGTERM,), (signal.SIGHUP, signal.SIGHUP)])
def test_what_is_under_way_is_finished(served: Served, numbers: list[signal.Signals]) -> None:
    """A send that has begun is stored and answered, though the server was told to end.

    Whoever closes a terminal tells so twice, and does not mean anything by it.
    """
    register(served, "BlueLake")
    store = served.project / ".brenner" / "mail.sqlite3"
    params = {"name": "send_message", "arguments": make_message("under way")}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    hold = [sys.executable, "-c", _HOLD, str(store)]
    pipe = subprocess.PIPE
    sender = http.client.HTTPConnection(served.host, served.port, timeout=PATIENCE)
    with subprocess.Popen(hold, stdin=pipe, stdout=pipe) as lock, closing(sender):
        assert lock.stdin
        assert lock.stdout
        lock.stdout.readline()  # from now on nobody else can write
        sender.request("POST", PATH, json.dumps(request), {"Content-Type": "application/json"})
        for _ in range(3):
            served.rpc("ping")  # whoever came before has been heard when this is answered
        for number in numbers:
            served.signal(number)
            for _ in until(lambda: not listens(served), PATIENCE):
                pass
        assert served.is_running
        lock.stdin.close()  # it lets go
        result = json.load(sender.getresponse())["result"]
    assert not result["isError"]
    assert served.ended() == FINE
    with SqliteMailbox.open(store) as mailbox:
        assert [each.message.body for each in mailbox.thread("lunch").messages] == ["under way"]


# Holds the lock of a store until its input ends.
_HOLD = """
import apsw, sys
store = apsw.Connection(sys.argv[1])
store.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
store.execute("ROLLBACK")
"""


def test_a_hang_up_that_is_ignored(tmp_path: Path) -> None:
    """`nohup brenner serve` outlives its terminal."""
    hushed = [sys.executable, "-c", _HUSHED, "serve", "--project", ".", "--json", "--port", "0"]
    with subprocess.Popen(hushed, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout
        port = json.loads(process.stdout.readline())["port"]
        process.send_signal(signal.SIGHUP)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as client:
            client.request("GET", "/health/liveness")
            assert client.getresponse().status == 200
        process.terminate()
        assert process.wait(PATIENCE) == FINE


# The program, by somebody who does not want to hear of the end of a terminal.
_HUSHED = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from brenner.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def listens(server: Served) -> bool:
    """Whether anybody can connect."""
    try:
        socket.create_connection((server.host, server.port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


def test_second_ctrl_c_ends_at_once(served: Served) -> None:
    """Who is told twice does not wait for anybody."""
    with socket.create_connection((served.host, served.port)) as slow:
        slow.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 9\r\n\r\n".encode()
        )
        served.rpc("ping")
        served.signal(signal.SIGINT)
        for _ in until(lambda: not listens(served), PATIENCE):
            pass
        assert served.is_running
        served.signal(signal.SIGINT)
        assert served.ended() == INTERRUPTED


def test_port_is_taken(served: Served) -> None:
    """It is said who has it, as far as that one tells, and nothing is made."""
    other = served.folder / "other"
    other.mkdir()
    failed = serve(other, "--port", str(served.port))
    assert failed.code == UNAVAILABLE
    assert "PORT_TAKEN" in failed.err
    assert "A Brenner server answers there" in failed.err
    assert "`brenner agent config --client NAME --url http://127.0.0.1:NUMBER/mcp/`" in failed.err
    assert not (other / ".brenner").exists()
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        failed = serve(other, "--port", str(mute.getsockname()[1]), "--json")
        assert (failed.code, failed.json["violations"][0]["id"]) == (UNAVAILABLE, "PORT_TAKEN")


def serve(folder: Path, *options: str, **environment: str) -> Run:
    """A server that does not get as far as to serve."""
    return brenner("serve", "--project", ".", *options, cwd=folder, **environment)


@pytest.mark.parametrize(
    ("options", "code", "exit_code"),
    [
        (("--host", "0.0.0.0"), "TOKEN_NEEDED", USAGE),  # noqa: S104
        (("--host", "::"), "TOKEN_NEEDED", USAGE),
        (("--host", "no-such-host.invalid"), "ADDRESS_UNUSABLE", UNAVAILABLE),
        (("--host", "192.0.2.1"), "TOKEN_NEEDED", USAGE),
        (("--host", ""), "WRONG_USAGE", USAGE),
        (("--port", "65536"), "WRONG_USAGE", USAGE),
        (("--token-file", "nowhere"), "UNUSABLE_TOKEN", USAGE),
        (("--token-file", "."), "UNUSABLE_TOKEN", USAGE),
        (("--project", "nowhere"), "NO_SUCH_PROJECT", USAGE),
        (("--store", "nonsense"), "UNKNOWN_STORE", USAGE),
    ],
)
def test_not_served(tmp_path: Path, options: tuple[str, ...], code: str, exit_code: int) -> None:
    """What cannot be served is told, and nothing is made."""
    failed = serve(tmp_path, "--port", "0", "--json", *options)
    assert (failed.json["violations"][0]["id"], failed.code) == (code, exit_code)
    assert list(tmp_path.iterdir()) == []


def test_address_of_another_machine(tmp_path: Path) -> None:
    """With a token it is tried, and cannot be had."""
    failed = serve(tmp_path, "--host", "192.0.2.1", "--port", "0", BRENNER_TOKEN=TOKEN)
    assert failed.code == UNAVAILABLE
    assert "ADDRESS_UNUSABLE" in failed.err
    assert TOKEN not in failed.out + failed.err


@pytest.mark.parametrize("content", ["", "\n", "two words", "nicht-schön", "x" * 5_000])
def test_unusable_tokens(tmp_path: Path, content: str) -> None:
    """Nobody is served without the token that was asked for; it is not repeated."""
    file = tmp_path / "token"
    file.write_text(content, "utf-8")
    for given, environment in ((str(file), {}), (None, {"BRENNER_TOKEN": content})):
        with pytest.raises(RequestError, match="UNUSABLE_TOKEN") as refused:
            read_token(given, environment)
        assert len(content) < 2 or content not in str(refused.value)


def test_token_file(tmp_path: Path) -> None:
    """The token of the file counts, and it is told who else can read it."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", "utf-8")
    file.chmod(0o600)
    assert read_token(str(file), {"BRENNER_TOKEN": "other"}) == (TOKEN, ())
    file.chmod(0o640)
    with Served("--token-file", str(file)) as server:
        assert server.ask("GET", "/").status == 401
        server.token = TOKEN
        assert server.rpc("ping") == {}
        assert server.said["token"] is True
        assert [each["id"] for each in server.said["violations"]] == [
            "TOKEN_FILE_READABLE",
            "NEW_MAILBOX",
        ]
        assert TOKEN not in server.log.read_text()


def test_ipv6() -> None:
    """The loopback address of IPv6 is one, too."""
    need(has_ipv6(), "this machine has no IPv6")
    with Served(host="::1") as server:
        assert server.said["address"] == f"http://[::1]:{server.port}"
        assert server.said["identity"] == "open"
        assert server.rpc("ping") == {}


def has_ipv6() -> bool:
    """Whether one can listen there."""
    try:
        with socket.socket(socket.AF_INET6) as attempt:
            attempt.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_everywhere_is_strict() -> None:
    """With a token it serves everywhere; then nobody is believed without a secret."""
    with Served(host="0.0.0.0", token=TOKEN) as server:  # noqa: S104
        server.host = "127.0.0.1"
        assert server.said["identity"] == "strict"
        secret = register(server, "BlueLake")
        with pytest.raises(RuntimeError, match="SECRET_NEEDED"):
            server.tool("send_message", **make_message())
        server.tool("send_message", **make_message(), sender_token=secret)
        assert secret not in server.log.read_text()


def test_strict_needs_a_store_with_secrets(tmp_path: Path) -> None:
    """On an Agent Mail server nobody could have a secret; that is known before one asks it."""
    store = "agent-mail+http://127.0.0.1:9/mcp/"
    failed = serve(tmp_path, "--port", "0", "--store", store, "--strict-identity", "--json")
    assert (failed.json["violations"][0]["id"], failed.code) == ("STRICT_NEEDS_SECRETS", REFUSED)


def test_store_goes_away(served: Served) -> None:
    """Calls are answered with errors, the server goes on, and so do calls once it is back."""
    register(served, "BlueLake")
    folder, away = served.project / ".brenner", served.project / "away"
    folder.rename(away)
    folder.touch()
    result = served.rpc("tools/call", name="send_message", arguments=make_message())
    lost = "isError" in result and result["isError"]
    assert served.ask("GET", "/health/liveness").status == 200
    folder.unlink()
    away.rename(folder)
    served.tool("send_message", **make_message("after"))
    sent = {each["body_md"] for each in messages(served)}
    assert sent == ({"after"} if lost else {"At noon?", "after"})


def messages(server: Served) -> list[dict[str, str]]:
    """What BlueLake has got."""
    found: list[dict[str, str]] = server.tool(
        "fetch_inbox", agent_name="BlueLake", include_bodies=True
    )
    return found


def test_only_serve_imports_it() -> None:
    """Whoever does not serve pays for none of it."""
    code = "import sys, brenner.cli.serve\nprint(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    loaded = set(json.loads(done.stdout.replace("'", '"')))
    assert loaded.isdisjoint({"mcp", "starlette", "uvicorn", "pydantic", "anyio"})
