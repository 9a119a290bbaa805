"""Our adapter for Agent Mail at our own server, beyond what the contract asks of both servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import ReservationRequest, SearchPage
from brenner.mail.search import Query
from brenner.protocol.messages import Trust
from brenner.server.settings import ServeSettings
from brenner.store_url import AgentMailAddress
from mail.sample_mail import ANN, BEA, THREAD, ack, introduce, make_message, post
from serving.running import Inside, inside

BAD = make_message("No block.", to=(BEA,), subject="DELTA[gpt]: Nothing")


class Counting(MemoryMailbox):
    """Mail that counts how often somebody asks for more than one message of it."""

    looks = 0

    def search(
        self, query: Query, *, reader: str | None = None, limit: int = 50, before: int | None = None
    ) -> SearchPage:
        self.looks += limit > 1
        return super().search(query, reader=reader, limit=limit, before=before)


@pytest.fixture
def kept() -> Counting:
    """The mail as the server has it."""
    return Counting()


@pytest.fixture
def server(kept: Counting, tmp_path: Path) -> Iterator[Inside]:
    """A server that lets nobody act who does not show her secret."""
    project = Project(tmp_path, operator="SomebodyElse")
    settings = ServeSettings(port=0, is_strict=True)
    with inside(kept, project, settings, knows_operator=False) as served:
        yield served


def view(server: Inside, folder: Path, own: Path | None = None) -> AgentMailMailbox:
    """The mail of that folder, with the tokens that lie in another."""
    return AgentMailMailbox.open(AgentMailAddress(server.url, str(folder)), None, own=own)


def test_registered_agent_is_verified(server: Inside, kept: Counting, tmp_path: Path) -> None:
    """The token is stored, so that later commands are verified, too."""
    own = tmp_path / "own"
    with view(server, tmp_path, own) as mailbox:
        introduce(mailbox, (ANN, BEA))
    with view(server, tmp_path, own) as mailbox:
        sent = post(mailbox, make_message(to=(BEA,)))
        assert mailbox.mark(BEA, [sent.id], is_read=True) == 1
        post(mailbox, ack(str(sent.id)))
        assert mailbox.reserve(ANN, ReservationRequest(("a.py",), 60)).granted
        assert mailbox.release(ANN)[0] == 1
        told = [each.envelope.trust for each in mailbox.arrivals(0)]
    assert told == [each.envelope.trust for each in kept.arrivals(0)] == [Trust.VERIFIED] * 2
    assert kept.unread(BEA) == 0


def test_agent_without_a_token_is_rejected(server: Inside, kept: Counting, tmp_path: Path) -> None:
    """The error names what is missing, and nothing is stored."""
    with view(server, tmp_path) as mailbox:
        introduce(mailbox, (ANN, BEA))
    with view(server, tmp_path) as other, pytest.raises(RequestError, match="SECRET_NEEDED"):
        post(other, make_message(to=(BEA,)))
    assert kept.position() == 0


def test_mail_of_the_adapter_is_not_checked_again(
    server: Inside, kept: Counting, tmp_path: Path
) -> None:
    """The server checks only the mail of other clients."""
    with view(server, tmp_path, tmp_path) as mailbox:
        introduce(mailbox, (ANN, BEA))
        post(mailbox, BAD)
    (token,) = (file.read_text("utf-8") for file in tmp_path.rglob(ANN))
    words = {"thread_id": THREAD, "subject": BAD.subject, "body_md": BAD.body}
    with pytest.raises(RuntimeError, match=r"MB-004 \(no delta block\)"):
        server.tool("send_message", sender_name=ANN, to=[BEA], sender_token=token, **words)
    assert [each.message.body for each in kept.arrivals(0)] == [BAD.body]


def test_poll_without_new_mail_is_one_request(
    server: Inside, kept: Counting, tmp_path: Path
) -> None:
    """The number of agents does not matter, and new mail is found."""
    with view(server, tmp_path) as mailbox:
        introduce(mailbox)
        post(mailbox, make_message())
        looks = kept.looks
        assert looks
        assert [mailbox.position() for _ in range(3)] == [1] * 3
        assert kept.looks == looks
        post(kept, make_message("more"))
        assert mailbox.position() == 2


def test_unknown_project_is_an_error(server: Inside, tmp_path: Path) -> None:
    """Reading fails, too: an empty result would look like an empty mailbox."""
    address = AgentMailAddress(server.url, str(tmp_path / ".." / "next door"))
    for ask in (AgentMailMailbox.is_there, AgentMailMailbox.create):
        with pytest.raises(RequestError) as caught:
            ask(address, None)
        assert f"`?project={tmp_path}`" in caught.value.diagnostic.message
