"""The same faults of a database server, as somebody at the command line sees them.

Exit code 3 and a sentence, never a traceback, never a password; and what worked is not said to
have failed.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mail.postgresql_scene import COMMIT, Scene, assert_no_secret, impatient, prepared
from mail_shell import THREAD, Shell
from program import Run, brenner
from servers.postgresql import Postgres
from servers.postgresql_files import PASSWORD
from servers.proxy import Proxy

pytestmark = pytest.mark.thorough

_SEND = [
    *("mail", "send", "--as", "BlueLake", "--to", "GreenDog", "--thread", THREAD),
    *("--subject", "INFO: News", "--body", "The gradient holds.", "--store"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that asks for a password, which is in the address."""
    with Postgres(auth="scram") as server:
        yield server


@pytest.fixture
def scene(server: Postgres) -> Iterator[Scene]:
    """All is well so far."""
    with Proxy(server.port) as proxy:
        yield from prepared(server, proxy)
    server.resume()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The commands, in this process: so that its patience can be tried."""
    return Shell(tmp_path, monkeypatch)


def assert_said(done: Run, code: str, *words: str) -> None:
    """It ended with 3 and said why and what to do, to people."""
    assert done.code == 3, done
    assert done.out == ""
    assert code in done.err
    for word in words:
        assert word in done.err
    assert_no_secret(done.out + done.err)


@pytest.mark.parametrize(
    "command",
    [
        _SEND[:-1],
        ["mail", "inbox", "--as", "BlueLake"],
        ["mail", "search", "gradient"],
        ["mail", "thread", THREAD],
        ["session", "complete", THREAD],
        ["compile", THREAD],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_nobody_is_there(scene: Scene, tmp_path: Path, command: list[str]) -> None:
    scene.proxy.refuse()
    done = brenner(*command, "--store", scene.store, cwd=tmp_path)
    assert_said(done, "SERVER_UNREACHABLE", "Start PostgreSQL", f"127.0.0.1:{scene.proxy.port}")


def test_the_password_is_wrong(scene: Scene, tmp_path: Path) -> None:
    """Be the address in an option, in the environment or in the settings of the project."""
    wrong = "letmein/42"
    url = scene.server.url(password=wrong, schema=scene.schema)
    (tmp_path / "brenner.toml").write_text(f'store = "{url}"\n', "utf-8")
    for done in (
        brenner("mail", "inbox", "--store", url, cwd=tmp_path),
        brenner("mail", "inbox", cwd=tmp_path, BRENNER_STORE=url),
        brenner("mail", "inbox", cwd=tmp_path),
    ):
        assert_said(done, "SERVER_DENIED", "password")
        assert wrong not in done.err
        assert "letmein" not in done.err


def test_an_address_that_is_not_written_as_it_should(scene: Scene, tmp_path: Path) -> None:
    """A password with signs that mean something else in an address is not told to the terminal."""
    for password in (
        PASSWORD,
        "first@second:third@fourth",
        "left/right",
        "per%cent",
        "que?ry#frag",
    ):
        url = f"postgresql://brenner:{password}@127.0.0.1:{scene.proxy.port}/brenner"
        done = brenner("mail", "inbox", "--store", url, cwd=tmp_path)
        assert done.code in (2, 3), done
        assert_no_secret(done.out + done.err)
        for part in re.split(r"\W", password):
            assert len(part) < 3 or part not in done.err


def test_another_program_answers(scene: Scene, tmp_path: Path) -> None:
    scene.proxy.garble(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    done = brenner("mail", "inbox", "--store", scene.store, cwd=tmp_path)
    assert_said(done, "SERVER_NONSENSE", "another program")


def test_as_json(scene: Scene, tmp_path: Path) -> None:
    """One document, also for this."""
    scene.proxy.refuse()
    done = brenner("mail", "inbox", "--json", "--store", scene.store, cwd=tmp_path)
    assert done.code == 3
    assert "SERVER_UNREACHABLE" in str(done.json)
    assert_no_secret(done.out + done.err)


def test_the_answer_to_the_commit_gets_lost(scene: Scene, tmp_path: Path) -> None:
    """It was sent: that is what is said, and it is there once."""
    sent(scene, tmp_path)  # so that the operator is known, and only the send itself is left
    scene.proxy.cut_before_answer(b"UPDATE store SET turn")
    sent(scene, tmp_path)
    assert scene.proxy.struck.is_set()
    assert len(scene.stored()) == 2


def sent(scene: Scene, folder: Path) -> None:
    done = brenner(*_SEND, scene.store, cwd=folder)
    assert done.code == 0, done.err


def test_gone_before_the_commit(scene: Scene, tmp_path: Path) -> None:
    sent(scene, tmp_path)
    scene.proxy.cut_before_request(COMMIT)
    scene.proxy.cut_before_request(b"INSERT INTO messages")
    assert_said(brenner(*_SEND, scene.store, cwd=tmp_path), "SERVER_LOST", "Nothing was done")
    assert len(scene.stored()) == 1


def test_gone_for_good_at_the_commit(
    scene: Scene, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows: it is not said to have failed, nor to have worked."""
    assert shell(*_SEND, scene.store).code == 0
    impatient(monkeypatch, SETTLE_SECONDS=0.5)
    scene.proxy.cut_before_answer(b"UPDATE store SET turn", scene.proxy.refuse)
    done = shell(*_SEND, scene.store)
    assert_said(done, "OUTCOME_UNKNOWN", "may or may not be stored", "Check before you repeat it")
    assert len(scene.stored()) == 2


def test_the_server_stands_still(
    scene: Scene, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, SILENCE=0.5, LOCK_SECONDS=0)
    scene.proxy.on_request(b"SELECT", scene.server.pause)
    assert_said(shell("mail", "inbox", "--store", scene.store), "SERVER_TIMEOUT", "gave no answer")
