"""A name that has written with its secret is protected: nothing is written in it without."""

import json
import re
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from brenner.config import Project
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.mcp.server import TOOLS
from brenner.mcp.tool import Bindings, Caller, ToolResult
from brenner.protocol.messages import Message
from brenner.services.identity import claim_name, renew_secret
from program import brenner
from serving.calls import OPERATOR, Place, place, refusal_of, value_of
from serving.sessions import ADD, ANN, BEA, codes, in_session
from session.round_play import THREAD
from stores import store_path

PROFILE = {"program": "claude-code", "model": "opus"}
# Every tool that writes, as ANN: its arguments, and which of them takes the secret.
WRITES: MappingProxyType[str, tuple[dict[str, object], str]] = MappingProxyType(
    {
        "send_message": (
            {
                "sender_name": ANN,
                "to": [BEA],
                "subject": "Lunch",
                "body_md": "x",
                "thread_id": "lunch",
            },
            "sender_token",
        ),
        "reply_message": ({"sender_name": ANN, "message_id": 1, "body_md": "x"}, "sender_token"),
        "mark_message_read": ({"agent_name": ANN, "message_id": 1}, "registration_token"),
        "acknowledge_message": ({"agent_name": ANN, "message_id": 1}, "registration_token"),
        "file_reservation_paths": ({"agent_name": ANN, "paths": ["a.py"]}, "registration_token"),
        "release_file_reservations": ({"agent_name": ANN}, "registration_token"),
        "brenner_post": ({"thread_id": THREAD, "agent": ANN, "deltas": [ADD]}, "sender_token"),
        "register_agent": ({**PROFILE, "name": ANN}, "registration_token"),
        "macro_start_session": (
            {**PROFILE, "agent_name": ANN, "file_reservation_paths": ["a.py"]},
            "registration_token",
        ),
    }
)
REGISTERING = ("register_agent", "macro_start_session")


@pytest.fixture
def here() -> Place:
    """A session in which nobody has claimed a name."""
    return in_session()


def everything(here: Place) -> list[object]:
    """All that a call could change."""
    mailbox = here.mailbox
    names = [each.name for each in mailbox.agents()]
    return [
        mailbox.agents(),
        list(mailbox.records()),
        mailbox.reservations(),
        mailbox.debts(),
        [mailbox.digest(name) for name in names],
        [mailbox.is_protected(name) for name in names],
    ]


def write(here: Place, tool: str, secret: str = "", caller: Caller | None = None) -> ToolResult:
    arguments, token = WRITES[tool]
    return here.ask(tool, caller, **arguments, **({token: secret} if secret else {}))


def test_all_writing_tools_are_tried() -> None:
    """A new tool gets its place in the table. A new name has no secret yet."""
    writing = {each.name for each in TOOLS if not each.is_read_only}
    assert writing - WRITES.keys() == {"create_agent_identity"}


@pytest.mark.parametrize("tool", WRITES)
def test_without_the_secret(here: Place, tool: str) -> None:
    """Nothing is done, whatever else the caller shows; an open server takes it as before."""
    secret, other = claim_name(here.mailbox, ANN), claim_name(here.mailbox, BEA)
    assert secret
    assert other
    here.mailbox.protect(ANN)
    before = everything(here)
    for caller in (here.caller(), here.caller("one"), here.caller(secret=other)):
        answer = write(here, tool, caller=caller)
        assert refusal_of(answer) == "NAME_PROTECTED"
        assert f"brenner agent secret {ANN} --new" in str(answer.text)
        assert refusal_of(write(here, tool, other, caller)) == "WRONG_SECRET"
    assert everything(here) == before
    value_of(write(here, tool, caller=here.caller()._replace(is_open=True)))
    value_of(write(here, tool, secret))


@pytest.mark.parametrize("tool", WRITES)
def test_what_protects(here: Place, tool: str) -> None:
    """A call that writes and carries the secret, in the call or with the connection."""
    secret = claim_name(here.mailbox, ANN)
    assert secret
    value_of(write(here, tool))
    assert not here.mailbox.is_protected(ANN)
    value_of(write(here, tool, secret))
    assert here.mailbox.is_protected(ANN) == (tool not in REGISTERING)
    second = in_session()
    header = second.caller(secret=claim_name(second.mailbox, ANN))
    value_of(write(second, tool, caller=header))
    assert second.mailbox.is_protected(ANN) == (tool not in REGISTERING)


def test_a_plain_client(here: Place) -> None:
    """It registers, and does not store its secret. It can go on, also after a new connection."""
    one = here.caller("one")
    value_of(write(here, "register_agent", caller=one))
    sent = value_of(write(here, "send_message", caller=one))
    assert "'trust': 'verified'" in str(sent)
    assert not here.mailbox.is_protected(ANN)
    again = value_of(write(here, "send_message", caller=here.caller("two")))
    assert "'trust': 'unverified'" in str(again)
    assert "STORED_UNVERIFIED" in str(again)


def test_what_does_not_protect(here: Place) -> None:
    """Reading, a wrong secret, and writing as another with the own secret."""
    secret = claim_name(here.mailbox, ANN)
    assert secret
    here.ask("brenner_artifact", thread_id=THREAD, agent=ANN, sender_token=secret)
    mine = here.caller(secret=secret)
    value_of(here.ask("acknowledge_message", mine, agent_name=BEA, message_id=2))
    assert codes(write(here, "send_message", "brs_wrong")) == ["WRONG_SECRET"]
    assert not here.mailbox.is_protected(ANN)
    assert not here.mailbox.is_protected(BEA)


def test_reading_stays_as_it_is(here: Place) -> None:
    """What anybody could read in that name before, anybody can read."""
    assert claim_name(here.mailbox, ANN)
    reads: tuple[tuple[str, dict[str, Any]], ...] = (
        ("brenner_task", {"thread_id": THREAD, "agent": ANN}),
        ("fetch_inbox", {"agent_name": ANN}),
        ("whois", {"agent_name": ANN}),
        ("brenner_check", {"sender": ANN, "subject": "INFO: x", "body": "x"}),
    )

    def answers() -> list[str]:
        texts = [json.dumps(here.ask(tool, **said).value) for tool, said in reads]
        return [re.sub(r"\b[0-9a-f]{12}\b", "FRAME", text) for text in texts]

    before = answers()
    here.mailbox.protect(ANN)
    assert answers() == before


def test_a_lost_secret(here: Place) -> None:
    """The operator makes a new one; the name stays protected, now by that."""
    old = claim_name(here.mailbox, ANN)
    assert old
    value_of(write(here, "send_message", old))
    new = renew_secret(here.mailbox, ANN)
    assert codes(write(here, "send_message", old)) == ["WRONG_SECRET"]
    assert codes(write(here, "send_message")) == ["NAME_PROTECTED"]
    value_of(write(here, "send_message", new))


def test_an_ack_in_another_name_settles_nothing(here: Place) -> None:
    """The debt stays until its owner pays it."""
    asked = Message(THREAD, BEA, (ANN,), "QUESTION: Which?", "Which?", ack_required=True)
    number = here.mailbox.send(asked).stored.id
    secret = claim_name(here.mailbox, ANN)
    assert secret
    value_of(write(here, "mark_message_read", secret))
    said = {"agent_name": ANN, "message_id": number}
    assert codes(here.ask("acknowledge_message", **said)) == ["NAME_PROTECTED"]
    assert number in {each.last.id for each in here.mailbox.debts(ANN)}
    value_of(here.ask("acknowledge_message", **said, registration_token=secret))
    assert number not in {each.last.id for each in here.mailbox.debts(ANN)}


def test_after_a_restart(tmp_path: Path) -> None:
    """The store remembers it, for every server and every process that opens it."""
    for command in (["init"], ["mail", "register", BEA], ["mail", "register", ANN]):
        assert brenner(*command, cwd=tmp_path).code == 0
    made = brenner("agent", "secret", ANN, "--json", cwd=tmp_path)
    secret = made.json["secret"]
    for shown, wanted in (("", ""), (secret, ""), ("", "NAME_PROTECTED"), (secret, "")):
        with SqliteMailbox.open(store_path(Project(tmp_path))) as mailbox:
            scene = place()
            scene = Place(scene.workspace._replace(mailbox=mailbox), Bindings())
            answer = write(scene, "send_message", shown)
            assert ([] if not answer.is_error else codes(answer)) == ([wanted] if wanted else [])
    # The command line on the same store goes on.
    words = ("--to", BEA, "--subject", "INFO: x", "--body", "x", "--thread", "lunch")
    sent = brenner("mail", "send", "--as", ANN, *words, cwd=tmp_path)
    assert sent.code == 0, sent.err


def test_the_operators_name(here: Place) -> None:
    """It needs its secret everywhere and always."""
    open_caller = here.caller()._replace(is_open=True)
    answer = here.ask("acknowledge_message", open_caller, agent_name=OPERATOR, message_id=1)
    assert refusal_of(answer) == "OPERATOR_NEEDS_SECRET"


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_strict_and_open(tmp_path: Path, command: str) -> None:
    done = brenner(command, "--strict-identity", "--open-identity", cwd=tmp_path)
    assert (done.code, "cannot be used together" in done.err) == (2, True)


def test_open_is_for_this_machine(tmp_path: Path) -> None:
    token = {"BRENNER_TOKEN": "t"}
    done = brenner(
        *("serve", "--host", "192.0.2.1", "--port", "0", "--open-identity"), cwd=tmp_path, **token
    )
    assert (done.code, "works on loopback only" in done.err) == (2, True)
