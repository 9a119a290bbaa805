"""The endpoint of a run: which names can be used there, with which secrets."""

from pathlib import Path
from types import MappingProxyType

import pytest

from brenner.mail.mailbox import NOTHING_MISSING, MissingCapabilities
from brenner.mail.model import Profile
from brenner.mcp.tool import Caller
from brenner.protocol.messages import Trust
from brenner.server.run_endpoint import new_token, run_endpoint
from brenner.services.identity import new_secret, secret_digest
from brenner.services.workspace import workspace_in
from serving.calls import NO_SECRETS, OPERATOR, Place, place, refusal_of, value_of
from serving.running import At
from session.workspaces import ANN, BEA, project_in

OWN, STORED, OTHERS = new_secret(), new_secret(), new_secret()
GRANTS = MappingProxyType({ANN: secret_digest(OWN), BEA: secret_digest(OTHERS)})
_SEND = {"to": [BEA], "subject": "News", "body_md": "T1 is running."}


@pytest.fixture(params=[NOTHING_MISSING, NO_SECRETS], ids=["secrets", "no secrets"])
def here(request: pytest.FixtureRequest) -> Place:
    """A place with the agents of a run, also in a store that keeps no secrets."""
    lacks: MissingCapabilities = request.param
    found = place(lacks)
    for name in (ANN, BEA):
        found.knows(name, STORED if name == ANN and not lacks else None)
    return found


def caller(here: Place, secret: str) -> Caller:
    return here.caller("connection-1", secret, is_strict=True)._replace(grants=GRANTS)


def test_an_agent_writes_and_reads_only_in_its_name(here: Place) -> None:
    """Its secret for the run proves its name; any other name is refused, the operator's too."""
    me = caller(here, OWN)
    sent = value_of(here.ask("send_message", me, sender_name=ANN, **_SEND))
    number = sent["deliveries"][0]["payload"]["id"]  # type: ignore[index]
    assert here.mailbox.message(number).envelope.trust is Trust.VERIFIED
    assert not here.ask("fetch_inbox", me, agent_name=ANN).is_error
    assert value_of(here.ask("brenner_task", me))["agent"] == ANN
    for name in (BEA, OPERATOR):
        refused = [
            here.ask("send_message", me, sender_name=name, **_SEND),
            here.ask("fetch_inbox", me, agent_name=name),
            here.ask("brenner_task", me, agent=name),
            here.ask("acknowledge_message", me, agent_name=name, message_id=number),
            here.ask("register_agent", me, name=name, program="x", model="y"),
        ]
        assert {refusal_of(each) for each in refused} == {"SECRET_NEEDED"}


def test_a_run_registers_no_agent(here: Place) -> None:
    """A registration changes nothing and claims no name; a new name is refused."""
    me, before = caller(here, OTHERS), here.mailbox.agent(BEA)
    answer = value_of(here.ask("register_agent", me, name=BEA, program="other", model="x"))
    assert "registration_token" not in answer or not answer["registration_token"]
    assert here.mailbox.agent(BEA) == before
    new = here.ask("register_agent", me, name="GreenDog", program="other", model="x")
    assert refusal_of(new) == "SECRET_NEEDED"


@pytest.mark.parametrize("secret", ["", "brs_unknown"])
def test_no_name_without_a_secret_of_the_run(here: Place, secret: str) -> None:
    """Neither without one, nor with one that belongs to no agent of the run."""
    refused = here.ask("fetch_inbox", caller(here, secret), agent_name=ANN)
    assert refusal_of(refused) == "SECRET_NEEDED"


def test_served_on_loopback_with_its_token(tmp_path: Path) -> None:
    """The endpoint answers with the token only, and is gone after the run."""
    project = project_in(tmp_path)
    with workspace_in(project, None, create=True) as here:
        here.mailbox.register(Profile(ANN))
    token = new_token()
    server = At()
    with run_endpoint(project, token, {ANN: OWN}) as url:
        server.port, server.token = int(url.split(":")[2].split("/")[0]), token
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call |= {"params": {"name": "fetch_inbox", "arguments": {"agent_name": ANN}}}
        own = {"Brenner-Secret": OWN}
        assert server.ask("POST", "/mcp/", call, own).document["result"]["isError"] is False
        assert server.ask("GET", "/sessions", headers=own).status == 404
        server.token = new_token()
        assert server.ask("POST", "/mcp/", call, own).status == 401
    with pytest.raises(OSError, match="refused"):
        server.ask("GET", "/health/liveness")
