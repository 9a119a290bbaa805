"""How much mail that agents send may be, what its threads may be called, and whose keys it has."""

import pytest

from brenner.diagnostics.model import RequestError
from brenner.protocol.messages import Envelope, Trust
from brenner.services.receive import Receipt, receive
from brenner.services.workspace import Workspace
from mail.processes import ended, start
from unit.receiving import GOOD, make_message, receive_hostile, workspace_in_memory


@pytest.fixture
def workspace() -> Workspace:
    """A project in memory."""
    return workspace_in_memory()


def ids(receipt: Receipt) -> list[str]:
    """What was said."""
    return [found.id for found in receipt.violations]


ODD_THREADS = {
    "\u202eevil": True,
    " lunch": True,
    "lunch ": True,
    " ": True,
    "x" * 253: True,
    "x" * 252: False,
    "TKT 12": False,
    "a/b#c": False,
    "Über-uns": False,
    "": False,
}


@pytest.mark.parametrize("thread_id", ODD_THREADS)
def test_threads_have_names_that_can_be_seen(workspace: Workspace, thread_id: str) -> None:
    """Also those of plain mail; who answers in a thread that is there has not chosen its name."""
    hello = make_message("Hello", "x", thread_id)
    is_odd = ODD_THREADS[thread_id]
    receipt = receive(workspace, hello)
    assert ids(receipt) == (["UNUSABLE_THREAD_ID"] if is_odd else [])
    assert (receipt.sent is None) == is_odd
    if is_odd:
        first = workspace.mailbox.send(hello.message).stored
        assert receive(workspace, hello._replace(reply_to=first.id)).sent is not None


def test_subject_has_a_limit(workspace: Workspace) -> None:
    """The protocol's is lower; nobody's subject is a text of several pages."""
    assert receive(workspace, make_message("x" * 1_000, "x", "T-1")).sent is not None
    for subject in ("x" * 1_001, "é" * 501, "DELTA[gpt]: " + "x" * 1_000):
        receipt = receive(workspace, make_message(subject, GOOD))
        assert (receipt.sent, ids(receipt)) == (None, ["FIELD_TOO_LONG"])


def test_no_subject_takes_long() -> None:
    """Nobody else has a turn while a pattern goes back; some hundred subjects took minutes."""
    ended(start(receive_hostile, 100))


def test_keys_of_who_is_not_believed_are_apart(workspace: Workspace) -> None:
    """Nobody takes the key of a name, or what was sent under it, without the secret."""
    trusts = (Trust.UNVERIFIED, Trust.VERIFIED, Trust.LOCAL)

    def sent(key: str, trust: Trust, body: str = "x") -> Receipt:
        given = make_message("Hello", body, "T-1")._replace(key=key, envelope=Envelope(trust=trust))
        return receive(workspace, given)

    for key in ("k", "unverified:k", "own:k", "k" * 200):
        first = [sent(key, trust).sent for trust in trusts]
        assert [each and each.is_new for each in first] == [True, True, False]
        again = [sent(key, trust).sent for trust in trusts]
        assert [each and each.stored for each in again] == [each and each.stored for each in first]
        for trust in trusts:
            with pytest.raises(RequestError) as refused:
                sent(key, trust, "another")
            assert f"`{key}`" in refused.value.diagnostic.message
    assert ids(sent("k" * 201, Trust.UNVERIFIED)) == ["FIELD_TOO_LONG"]
