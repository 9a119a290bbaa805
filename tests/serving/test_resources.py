"""What can be read by address: shapes as Agent Mail has them, the newest first, nothing changed."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import ReservationRequest
from brenner.mcp.server import ResourceError
from brenner.protocol.messages import Envelope, Importance, Message, Trust
from serving.calls import FOLDER, OPERATOR, Place, place

START = datetime(2025, 12, 30, 12, tzinfo=UTC)
THREAD = "RS-20251230-cell-fate"
KEY = quote(str(FOLDER), safe="")
SLUG = "group-cell-fate"
# As recorded of mcp_mail 0.1.19; `trust` is ours
MESSAGE_KEYS = (
    *("id", "project_id", "sender_id", "thread_id", "subject", "importance", "ack_required"),
    *("created_ts", "attachments"),
)


@pytest.fixture
def scene() -> Place:
    """Two agents; each message is a second younger than the one before."""
    found = place()
    found.knows("BlueLake", "brs_own")
    found.knows("RedStone")
    return found


def send(
    scene: Place, *, sender: str = "BlueLake", to: str = "RedStone", thread: str = THREAD
) -> int:
    """One more message; its id."""
    envelope = Envelope(Importance.HIGH, trust=Trust.VERIFIED)
    message = Message(thread, sender, (to,), "Hello", "Body *x*")
    return scene.mailbox.send(message, envelope=envelope).stored.id


def read(scene: Place, address: str) -> Mapping[str, object]:
    """What stands there, an object."""
    found = scene.read(address)
    assert isinstance(found, Mapping)
    return found


def messages(scene: Place, address: str) -> list[Mapping[str, object]]:
    """The messages that stand there."""
    found = read(scene, address)["messages"]
    assert isinstance(found, list)
    return found


def ids(scene: Place, address: str) -> list[object]:
    """Their ids."""
    return [each["id"] for each in messages(scene, address)]


def refusal(scene: Place, address: str) -> str:
    """The code with which it cannot be read."""
    with pytest.raises(ResourceError) as raised:
        scene.read(address)
    assert not raised.value.is_ours
    return raised.value.faults[0].id


def test_inbox(scene: Place) -> None:
    """Newest first, in the form of Agent Mail; bodies where they are asked for."""
    first, second = send(scene), send(scene)
    found = read(scene, f"inbox/RedStone?project={KEY}")
    assert tuple(found) == ("project", "agent", "count", "messages")
    assert (found["project"], found["agent"], found["count"]) == (str(FOLDER), "RedStone", 2)
    assert ids(scene, "inbox/RedStone") == [second, first]
    (newest, _) = messages(scene, "inbox/RedStone?include_bodies=false")
    assert tuple(newest) == (*MESSAGE_KEYS, "from", "trust", "kind")
    assert (newest["from"], newest["kind"], newest["trust"]) == ("BlueLake", "to", "verified")
    (newest, _) = messages(scene, "inbox/RedStone?include_bodies=true")
    assert newest["body_md"] == "Body *x*"
    assert scene.mailbox.unread("RedStone") == 2


def test_outbox(scene: Place) -> None:
    """What somebody sent, and to whom."""
    first, second = send(scene), send(scene, to=OPERATOR)
    send(scene, sender="RedStone", to="BlueLake")
    (newest, oldest) = messages(scene, f"outbox/BlueLake?project={KEY}&include_bodies=1")
    assert tuple(newest) == (
        *(*MESSAGE_KEYS, "body_md", "from", "trust"),
        *("to", "cc", "bcc", "commit"),
    )
    assert [(each["id"], each["to"]) for each in (newest, oldest)] == [
        (second, [OPERATOR]),
        (first, ["RedStone"]),
    ]
    assert "body_md" not in messages(scene, "outbox/BlueLake")[0]
    assert ids(scene, f"outbox/{OPERATOR}") == []


@pytest.mark.parametrize("box", ["inbox/RedStone", "outbox/BlueLake"])
def test_how_much(scene: Place, box: str) -> None:
    """Twenty where nobody says how many, else as many as are asked for."""
    sent = [send(scene) for _ in range(25)][::-1]
    assert ids(scene, box) == sent[:20]
    assert ids(scene, f"{box}?limit=3") == sent[:3]
    assert ids(scene, f"{box}?limit=0") == []
    assert ids(scene, f"{box}?limit=1000000") == sent


@pytest.mark.parametrize("box", ["inbox/RedStone", "outbox/BlueLake"])
def test_since(box: str) -> None:
    """A time is exclusive; with `Z`, with an offset, in whichever way it is encoded."""
    times = [START + timedelta(seconds=each) for each in range(9)]
    clock = iter(times)
    scene = place()
    scene = scene._replace(
        workspace=scene.workspace._replace(mailbox=MemoryMailbox(lambda: next(clock)))
    )
    for name in ("BlueLake", "RedStone"):
        scene.knows(name)
    sent = [send(scene) for _ in range(4)]
    borders = [scene.mailbox.message(each).at for each in sent]
    for number, border in enumerate(borders):
        later = sent[number + 1 :][::-1]
        for written in (border.isoformat(), border.isoformat().replace("+00:00", "Z")):
            assert ids(scene, f"{box}?since_ts={quote(written)}") == later
            assert ids(scene, f"{box}?since_ts={written}") == later
    before = quote((START - timedelta(days=1)).isoformat())
    assert ids(scene, f"{box}?since_ts={before}") == sent[::-1]
    assert ids(scene, f"{box}?since_ts={before}&limit=2") == sent[::-1][:2]
    assert refusal(scene, f"{box}?since_ts=yesterday") == "INVALID_ARGUMENT"


def test_urgent_only(scene: Place) -> None:
    """Only what its sender calls important."""
    urgent = send(scene)
    scene.mailbox.send(Message(THREAD, "BlueLake", ("RedStone",), "Hello", "B"))
    assert ids(scene, "inbox/RedStone?urgent_only=true") == [urgent]
    assert len(ids(scene, "inbox/RedStone?urgent_only=false")) == 2


def test_thread(scene: Place) -> None:
    """Oldest first; an ID may hold slashes, and one that nobody has written to is empty."""
    first, second = send(scene), send(scene, sender="RedStone", to="BlueLake")
    other = send(scene, thread="a/b c")
    found = read(scene, f"thread/{THREAD}?project={KEY}&include_bodies=true")
    assert (found["project"], found["thread_id"]) == (str(FOLDER), THREAD)
    assert ids(scene, f"thread/{THREAD}") == [first, second]
    assert tuple(messages(scene, f"thread/{THREAD}")[0]) == (*MESSAGE_KEYS, "from", "trust")
    assert ids(scene, "thread/a/b%20c") == [other]
    assert ids(scene, "thread/a%2Fb%20c") == [other]
    assert ids(scene, "thread/nothing") == []


def test_number_as_thread(scene: Place) -> None:
    """It is the thread of that name, not the message: Agent Mail gives both."""
    number = send(scene)
    assert ids(scene, f"thread/{number}") == []
    begun = send(scene, thread="")
    answered = send(scene, sender="RedStone", to="BlueLake", thread=str(begun))
    assert ids(scene, f"thread/{begun}") == [begun, answered]


def test_message(scene: Place) -> None:
    """One message, whole."""
    number = send(scene)
    found = read(scene, f"message/{number}?project={KEY}")
    assert (found["id"], found["body_md"], found["to"]) == (number, "Body *x*", ["RedStone"])
    assert (found["sender_id"], found["importance"]) == (2, "high")
    assert refusal(scene, "message/999") == "UNKNOWN_MESSAGE"
    for wrong in ("abc", "-1", "1.5", "²", "9" * 100):
        assert refusal(scene, f"message/{quote(wrong)}") == "INVALID_ARGUMENT"


def test_agents(scene: Place) -> None:
    """Who was active last comes first, with how much is not read yet."""
    send(scene)
    found = read(scene, f"agents/{KEY}")
    assert found["project"] == {"slug": SLUG, "human_key": str(FOLDER)}
    agents = found["agents"]
    assert isinstance(agents, list)
    assert agents[0]["name"] == "BlueLake"
    assert agents[0]["last_active_ts"] > agents[0]["inception_ts"]
    unread = {each["name"]: each["unread_count"] for each in agents}
    assert unread == {"BlueLake": 0, "RedStone": 1, OPERATOR: 0}
    assert {each["name"]: each["id"] for each in agents} == {
        OPERATOR: 1,
        "BlueLake": 2,
        "RedStone": 3,
    }
    everywhere = read(scene, "agents")["agents"]
    assert isinstance(everywhere, list)
    assert [each["project_slug"] for each in everywhere] == [SLUG] * 3
    assert [each["project_human_key"] for each in everywhere] == [str(FOLDER)] * 3


def test_unread_that_nobody_can_tell() -> None:
    """A home without read marks is not said to have nothing unread."""
    scene = place({Capability.READ_MARKS: "nobody tells"})
    agents = read(scene, f"agents/{SLUG}")["agents"]
    assert isinstance(agents, list)
    assert ["unread_count" in each for each in agents] == [False]


def test_project(scene: Place) -> None:
    """The one that there is, by its slug or by its folder."""
    for key in (SLUG, KEY):
        found = read(scene, f"project/{key}")
        assert tuple(found) == ("id", "slug", "human_key", "created_at", "agents")
    listed = scene.read("projects")
    assert isinstance(listed, list)
    assert [each["human_key"] for each in listed] == [str(FOLDER)]


def test_reservations(scene: Place) -> None:
    """Files that agents are at work on."""
    assert scene.read(f"file_reservations/{SLUG}") == []
    scene.mailbox.reserve("BlueLake", ReservationRequest(("src/*.py",), 60, reason="tests"))
    for query in ("", "?active_only=true", "?active_only=0"):
        found = scene.read(f"file_reservations/{KEY}{query}")
        assert isinstance(found, list)
        (one,) = found
        assert (one["agent"], one["path_pattern"], one["reason"]) == (
            *("BlueLake", "src/*.py"),
            "tests",
        )
        assert one["released_ts"] is None


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("inbox/Nobody", "NO_SUCH_AGENT"),
        ("inbox/Nobody?limit=0", "NO_SUCH_AGENT"),
        ("outbox/Nobody", "NO_SUCH_AGENT"),
        ("inbox/RedStone?limit=many", "INVALID_ARGUMENT"),
        ("inbox/RedStone?include_bodies=perhaps", "INVALID_ARGUMENT"),
        ("inbox/RedStone?bodies=true", "UNKNOWN_ARGUMENT"),
        ("inbox/RedStone?project=/elsewhere", "OTHER_PROJECT"),
        ("outbox/RedStone?project=/elsewhere", "OTHER_PROJECT"),
        ("thread/T-1?project=%2Felsewhere", "OTHER_PROJECT"),
        ("message/1?project=elsewhere", "OTHER_PROJECT"),
        ("agents/elsewhere", "OTHER_PROJECT"),
        ("project/%2Felsewhere", "OTHER_PROJECT"),
        ("file_reservations/elsewhere", "OTHER_PROJECT"),
        ("file_reservations/group-cell-fate?active_only=x", "INVALID_ARGUMENT"),
        ("nothing/1", "UNKNOWN_RESOURCE"),
    ],
)
def test_refusals(scene: Place, address: str, code: str) -> None:
    """Nothing is guessed: what is wrong in an address is said."""
    assert refusal(scene, address) == code
