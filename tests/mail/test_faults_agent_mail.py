"""An Agent Mail server that is gone, comes back, is slow, full, or whose answers get lost.

Whatever happens: what is said to be sent is stored once, what is said not to be is not stored, and
where nobody can know that is said.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from brenner.diagnostics.model import UnavailableError, UnknownOutcomeError
from brenner.mail.agent_mail import mailbox as mailbox_module
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.store_url import AgentMailAddress
from program import Run, brenner
from servers.agent_mail import PATH, AgentMailServer
from servers.lifetime import until
from servers.proxy import Proxy

pytestmark = pytest.mark.thorough

PROJECT = "/faults"
ANN, BEA = "AmberFox", "JadeOwl"
TOKEN = "s3cret-t0ken"  # noqa: S105
SENDING = b'"send_message"'
MEGABYTE = 1024 * 1024
_numbers = count(1)


class Scene(NamedTuple):
    """A server, what is in front of it, and a mailbox that is reached through that."""

    server: AgentMailServer
    proxy: Proxy
    mailbox: AgentMailMailbox
    message: Message  # into a thread of its own

    @property
    def store(self) -> str:
        """How the command line is told of it."""
        return f"agent-mail+http://127.0.0.1:{self.proxy.port}{PATH}?project={PROJECT}"

    def stored(self) -> list[str]:
        """What the server has in the thread, when one asks it without detours."""
        with AgentMailMailbox.open(AgentMailAddress(self.server.url, PROJECT), TOKEN) as direct:
            return [each.message.body for each in direct.thread(self.message.thread_id).messages]


@pytest.fixture(scope="module")
def server() -> Iterator[AgentMailServer]:
    """A server that may be stopped."""
    with AgentMailServer(token=TOKEN) as server:
        introduce(server)
        yield server


def introduce(server: AgentMailServer) -> None:
    """Make the two known."""
    with AgentMailMailbox.create(AgentMailAddress(server.url, PROJECT), server.token) as mailbox:
        for name in (ANN, BEA):
            mailbox.register(Profile(name, "claude-code", "opus"))


@pytest.fixture
def scene(server: AgentMailServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """All is well so far."""
    server.resume()
    if not server.is_running:
        server.start()
    monkeypatch.setattr(mailbox_module, "_FIND_SENT_SECONDS", 1.0)
    with Proxy(server.port) as proxy:
        address = AgentMailAddress(f"http://127.0.0.1:{proxy.port}{PATH}", PROJECT)
        with AgentMailMailbox.open(address, TOKEN) as mailbox:
            yield Scene(server, proxy, mailbox, make_message())


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for longer than three seconds."""
    monkeypatch.setattr(mailbox_module, "Client", partial(Client, seconds=3))


def make_message() -> Message:
    """A message in a new thread."""
    thread = f"RS-20251230-fault-{next(_numbers)}"
    return Message(thread, ANN, (BEA,), "INFO: News", "The cells have divided.\n")


def code_of(doing: Callable[[], object]) -> str:
    """The code of what surely was not done."""
    with pytest.raises(UnavailableError) as caught:
        doing()
    assert not isinstance(caught.value, UnknownOutcomeError)
    return caught.value.diagnostic.id


# The server


def test_a_server_that_is_gone_is_said_to_be_and_found_again(scene: Scene) -> None:
    address = AgentMailAddress(scene.server.url, PROJECT)
    scene.server.kill()
    scene.proxy.refuse()
    for doing in (
        lambda: AgentMailMailbox.open(address, TOKEN),
        lambda: AgentMailMailbox.is_there(address, TOKEN),
        scene.mailbox.position,
        lambda: scene.mailbox.send(scene.message),
    ):
        assert code_of(doing) == "SERVER_UNREACHABLE"
    scene.server.start()
    scene.proxy.pass_on()
    assert scene.stored() == []
    assert scene.mailbox.send(scene.message).is_new
    assert scene.stored() == [scene.message.body]


def test_a_server_that_was_restarted_is_not_missed(scene: Scene) -> None:
    before = scene.mailbox.send(scene.message).stored
    scene.server.restart()
    assert scene.mailbox.message(before.id) == before
    assert scene.mailbox.send(scene.message).is_new
    assert scene.stored() == [scene.message.body] * 2


@pytest.mark.usefixtures("hurried")
def test_a_server_that_stands_still_is_not_waited_for(scene: Scene) -> None:
    with AgentMailMailbox.open(AgentMailAddress(scene.server.url, PROJECT), TOKEN) as mailbox:
        scene.server.pause()
        for doing in (mailbox.position, lambda: mailbox.send(scene.message)):
            assert code_of(doing) == "SERVER_TIMEOUT"
        scene.server.resume()
        assert scene.stored() == []
        mailbox.send(scene.message)
    assert scene.stored() == [scene.message.body]


def test_a_slow_server_is_slow_and_no_more(scene: Scene) -> None:
    scene.proxy.delay(0.02, 2_000)
    assert scene.mailbox.send(scene.message).is_new
    assert scene.stored() == [scene.message.body]


@pytest.mark.usefixtures("hurried")
def test_a_server_that_is_too_slow_is_not_waited_for(scene: Scene) -> None:
    """Each byte comes in time, but not the last."""
    scene.proxy.delay(0.1, 1)
    address = AgentMailAddress(f"http://127.0.0.1:{scene.proxy.port}{PATH}", PROJECT)
    assert code_of(lambda: AgentMailMailbox.open(address, TOKEN)) == "SERVER_TIMEOUT"


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\n\r\n<html>"])
def test_what_cannot_be_understood_is_not_guessed(scene: Scene, garbage: bytes) -> None:
    scene.proxy.garble(garbage)
    for doing in (scene.mailbox.position, lambda: scene.mailbox.send(scene.message)):
        assert code_of(doing) == "SERVER_NONSENSE"
    assert scene.stored() == []


@pytest.mark.parametrize("token", [None, "another"])
def test_who_has_no_right_token_gets_nothing(scene: Scene, token: str | None) -> None:
    address = AgentMailAddress(scene.server.url, PROJECT)
    for doing in (AgentMailMailbox.is_there, AgentMailMailbox.open, AgentMailMailbox.create):
        assert code_of(partial(doing, address, token)) == "SERVER_DENIED"


def test_a_server_whose_disk_is_full_has_not_stored_anything() -> None:
    with AgentMailServer(disk=8 * MEGABYTE) as server:
        introduce(server)
        message = make_message()._replace(body="x" * 2 * MEGABYTE)
        with AgentMailMailbox.open(AgentMailAddress(server.url, PROJECT), None) as mailbox:
            server.fill_disk()
            assert code_of(lambda: mailbox.send(message)) == "SERVER_FAILED"
            assert mailbox.thread(message.thread_id).messages == ()
            server.empty_disk()
            assert mailbox.send(message).is_new
            assert len(mailbox.thread(message.thread_id).messages) == 1


# Answers and requests that get lost


@pytest.mark.parametrize("torn", [False, True])
def test_a_message_whose_answer_got_lost_is_found_and_not_sent_again(
    scene: Scene, *, torn: bool
) -> None:
    scene.proxy.reset = torn
    scene.proxy.cut_before_answer(SENDING)
    sent = scene.mailbox.send(scene.message)
    assert scene.proxy.struck.is_set()
    assert sent.is_new
    assert scene.mailbox.message(sent.stored.id) == sent.stored
    assert scene.stored() == [scene.message.body]


@pytest.mark.parametrize("torn", [False, True])
def test_a_message_that_got_lost_is_not_said_to_be_sent(scene: Scene, *, torn: bool) -> None:
    """Nor that it is not: what is not there yet may still be on its way."""
    scene.proxy.reset = torn
    scene.proxy.cut_before_request(SENDING)
    with pytest.raises(UnknownOutcomeError):
        scene.mailbox.send(scene.message)
    assert scene.proxy.struck.is_set()
    assert scene.stored() == []
    assert scene.mailbox.send(scene.message).is_new
    assert scene.stored() == [scene.message.body]


def test_an_equal_message_from_before_is_not_taken_for_the_one_that_got_lost(scene: Scene) -> None:
    scene.mailbox.send(scene.message)
    scene.proxy.cut_before_request(SENDING)
    with pytest.raises(UnknownOutcomeError):
        scene.mailbox.send(scene.message)
    assert scene.stored() == [scene.message.body]


@pytest.mark.parametrize("is_stored", [False, True])
def test_where_nobody_can_know_that_is_said(scene: Scene, *, is_stored: bool) -> None:
    """Nobody listens any more after that. A second send with the same key does nothing twice."""
    proxy = scene.proxy
    cut = proxy.cut_before_answer if is_stored else proxy.cut_before_request
    cut(SENDING, then=proxy.refuse)
    with pytest.raises(UnknownOutcomeError) as caught:
        scene.mailbox.send(scene.message, key="k")
    assert caught.value.diagnostic.id == "OUTCOME_UNKNOWN"
    assert scene.stored() == [scene.message.body] * is_stored
    proxy.pass_on()
    assert scene.mailbox.send(scene.message, key="k").is_new != is_stored
    assert scene.stored() == [scene.message.body]


@pytest.mark.usefixtures("hurried")
def test_a_server_that_hangs_after_the_request_leaves_it_open(scene: Scene) -> None:
    address = AgentMailAddress(f"http://127.0.0.1:{scene.proxy.port}{PATH}", PROJECT)
    with AgentMailMailbox.open(address, TOKEN) as mailbox:
        scene.proxy.cut_before_answer(SENDING, then=scene.proxy.hang)
        with pytest.raises(UnknownOutcomeError):
            mailbox.send(scene.message)
        scene.proxy.pass_on()
        found = mailbox.thread(scene.message.thread_id).messages
    assert [each.message.body for each in found] == scene.stored() == [scene.message.body]


@pytest.mark.usefixtures("hurried")
def test_a_server_that_is_still_at_it_when_the_time_is_up_leaves_it_open(scene: Scene) -> None:
    """Somebody else writes into its database, for longer than we wait."""
    with AgentMailMailbox.open(AgentMailAddress(scene.server.url, PROJECT), TOKEN) as mailbox:
        database = apsw.Connection(str(scene.server.folder / "storage" / "storage.sqlite3"))
        with closing(database), database:
            database.execute("UPDATE projects SET slug = slug")
            with pytest.raises(UnknownOutcomeError):
                mailbox.send(scene.message)
            assert scene.stored() == []
        for _ in until(lambda: scene.stored() != [], 30):
            pass
    assert scene.stored() == [scene.message.body]


# The command line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose operator has a name that such servers take."""
    (tmp_path / "brenner.toml").write_text(f'operator = "{ANN}"\n', "utf-8")
    return tmp_path


def command(scene: Scene, folder: Path, *arguments: str, token: str | None = TOKEN) -> Run:
    """A command on the mail behind the proxy."""
    given = {} if token is None else {"AGENT_MAIL_BEARER_TOKEN": token}
    ended = brenner(*arguments, "--store", scene.store, cwd=folder, **given)
    assert TOKEN not in ended.out + ended.err
    return ended


def send(scene: Scene, folder: Path, *options: str, token: str | None = TOKEN) -> Run:
    """Send the letter."""
    thread, _, recipients, subject, body = scene.message[:5]
    text = ["--thread", thread, "--subject", subject, "--body", body]
    return command(scene, folder, "mail", "send", *text, "--to", *recipients, *options, token=token)


def test_commands_say_that_the_server_is_gone(scene: Scene, folder: Path) -> None:
    scene.proxy.refuse()
    for ended in (send(scene, folder), command(scene, folder, "mail", "inbox")):
        assert (ended.code, ended.out) == (3, "")
        assert "SERVER_UNREACHABLE" in ended.err
    ended = send(scene, folder, "--json")
    assert (ended.code, ended.json["violations"][0]["id"]) == (3, "SERVER_UNREACHABLE")


@pytest.mark.parametrize("token", [None, f"{TOKEN}-wrong"])
def test_commands_say_that_the_token_is_wrong(
    scene: Scene, folder: Path, token: str | None
) -> None:
    ended = send(scene, folder, token=token)
    assert (ended.code, ended.out) == (3, "")
    assert "AGENT_MAIL_BEARER_TOKEN" in ended.err
    assert scene.stored() == []


def test_a_command_finds_what_it_sent(scene: Scene, folder: Path) -> None:
    scene.proxy.cut_before_answer(SENDING)
    assert send(scene, folder).code == 0
    assert scene.proxy.struck.is_set()
    assert scene.stored() == [scene.message.body]


def test_a_command_says_that_nobody_can_know(scene: Scene, folder: Path) -> None:
    scene.proxy.cut_before_answer(SENDING, then=scene.proxy.refuse)
    ended = send(scene, folder)
    assert (ended.code, ended.out) == (3, "")
    assert "OUTCOME_UNKNOWN" in ended.err
    assert scene.stored() == [scene.message.body]
