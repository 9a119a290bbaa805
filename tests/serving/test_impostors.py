"""Who uses a name without its secret takes nothing from the one who has it."""

from typing import NamedTuple

import pytest

from brenner.protocol.messages import Trust
from brenner.services.identity import claim_name, renew_secret
from serving.calls import Place
from serving.sessions import ADD, ANN, BEA, EDIT, HYPOTHESIS, codes, fine, in_session, post
from session.round_play import THREAD

OTHER: dict[str, object] = {**ADD, "payload": {**HYPOTHESIS, "name": "Another"}}


class Scene(NamedTuple):
    """A session in which a name is claimed."""

    here: Place
    secret: str

    def trusts(self) -> list[str]:
        """How far each message after the kickoffs is believed."""
        messages = self.here.mailbox.thread(THREAD).messages[3:]
        return [str(each.envelope.trust) for each in messages]


@pytest.fixture
def scene() -> Scene:
    """Ann's name is claimed."""
    here = in_session()
    secret = claim_name(here.mailbox, ANN)
    assert secret
    return Scene(here, secret)


@pytest.mark.parametrize("theirs", [ADD, OTHER])
def test_keys(scene: Scene, theirs: dict[str, object]) -> None:
    """Whatever was posted under the key before, by whomever; two repeats stay one, each."""
    for _ in range(2):
        fine(post(scene.here, ANN, theirs, key="round-1"))
    own = [
        fine(post(scene.here, ANN, ADD, key="round-1", sender_token=scene.secret)) for _ in range(2)
    ]
    assert [each["is_new"] for each in own] == [True, False]
    assert {each["trust"] for each in own} == {"verified"}
    assert scene.trusts() == ["unverified", "verified"]


def test_a_key_is_that_of_one_message(scene: Scene) -> None:
    """The same deltas under the key of others are not taken for sent, because others were."""
    shown = {"sender_token": scene.secret}
    fine(post(scene.here, ANN, ADD, key="k", **shown))
    fine(post(scene.here, ANN, EDIT, **shown))
    again = post(scene.here, ANN, EDIT, key="k", **shown)
    assert again.is_error
    assert codes(again) == ["KEY_REUSED"]
    assert "`k`" in (again.text or "")


def test_acknowledgements(scene: Scene) -> None:
    """An ACK in her name is not hers: her own is sent, once. From then on there is no other."""
    said = {"agent_name": ANN, "message_id": 1}
    theirs = [fine(scene.here.ask("acknowledge_message", **said)) for _ in range(2)]
    shown = {**said, "registration_token": scene.secret}
    own = [fine(scene.here.ask("acknowledge_message", **shown)) for _ in range(2)]
    assert scene.trusts() == ["unverified", "verified"]
    numbers = [each["ack_message_id"] for each in (*theirs, *own)]
    assert numbers == [4, 4, 5, 5]
    assert codes(scene.here.ask("acknowledge_message", **said)) == ["NAME_PROTECTED"]
    assert len(scene.trusts()) == 2


def test_ack_of_who_is_believed_does_for_all(scene: Scene) -> None:
    """Nobody acknowledges again in her name what she has acknowledged, also where all may try."""
    said = {"agent_name": ANN, "message_id": 1}
    shown = {**said, "registration_token": scene.secret}
    fine(scene.here.ask("acknowledge_message", **shown))
    fine(scene.here.ask("acknowledge_message", scene.here.caller()._replace(is_open=True), **said))
    assert scene.trusts() == ["verified"]


def test_a_wrong_secret_reads_nothing(scene: Scene) -> None:
    """Reading needs none, but who shows one wants to be believed; the connection's, too."""
    fine(post(scene.here, ANN, ADD))
    scene.here.workspace.compile(THREAD)
    tool, said = "brenner_artifact", {"thread_id": THREAD, "agent": ANN}
    assert not scene.here.ask(tool, **said).is_error
    assert not scene.here.ask(tool, **said, sender_token=scene.secret).is_error
    old = scene.here.caller(secret=scene.secret)
    renew_secret(scene.here.mailbox, ANN)
    for answer in (
        scene.here.ask(tool, **said, sender_token="brs_wrong"),  # noqa: S106
        scene.here.ask(tool, **said, sender_token=scene.secret),
        scene.here.ask(tool, old, **said),
    ):
        assert codes(answer) == ["WRONG_SECRET"]


def test_a_secret_of_the_connection(scene: Scene) -> None:
    """It tells who calls; as another one its owner is not believed, and with an old one nobody."""
    mine = scene.here.caller(secret=scene.secret)
    mail = {"to": [BEA], "subject": "Lunch", "body_md": "x", "thread_id": "lunch"}
    asked = {"thread_id": THREAD, "deltas": [ADD]}
    assert fine(scene.here.ask("brenner_post", mine, **asked))["from"] == ANN
    for name in (ANN, BEA):
        fine(scene.here.ask("send_message", mine, sender_name=name, **mail))
    stored = scene.here.mailbox.thread("lunch").messages
    assert [each.envelope.trust for each in stored] == [Trust.VERIFIED, Trust.UNVERIFIED]
    renew_secret(scene.here.mailbox, ANN)
    before = scene.here.mailbox.position()
    profile = {"program": "codex", "model": "gpt"}
    for answer in (
        scene.here.ask("send_message", mine, sender_name=ANN, **mail),
        scene.here.ask("send_message", mine, sender_name=BEA, **mail),
        scene.here.ask("acknowledge_message", mine, agent_name=BEA, message_id=2),
        scene.here.ask("register_agent", mine, name=BEA, program="claude-code", model="opus"),
        scene.here.ask("register_agent", mine, name="RedStone", **profile),
        scene.here.ask("register_agent", mine, **profile),
        scene.here.ask("create_agent_identity", mine, **profile),
    ):
        assert codes(answer) == ["WRONG_SECRET"]
        assert "Brenner-Secret" in (answer.text or "")
    assert scene.here.mailbox.position() == before
    assert scene.here.mailbox.digest(BEA) is None
    unset = scene.here.caller(secret="$BRENNER_SECRET")  # noqa: S106
    fine(scene.here.ask("send_message", unset, sender_name=BEA, **mail))
    assert codes(scene.here.ask("send_message", unset, sender_name=ANN, **mail)) == [
        "NAME_PROTECTED"
    ]
