"""What others can do to the lab, and what they cannot: log somebody out, fill it, stop it."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest

from brenner.config import OPERATOR
from brenner.diagnostics.codes.stores import SERVER_UNREACHABLE
from brenner.diagnostics.model import UnavailableError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.server.settings import ServeSettings
from serving.running import Inside, inside
from web.lab_client import Client

THREAD = "RS-20251230-cell-fate"
REPLY = f"/lab/sessions/{THREAD}/reply"
LAB = ServeSettings(port=0, requests_a_second=1_000_000, is_lab=True)
LETTER = {"to": "BlueLake", "subject": "INFO: Hello", "body": "A text to keep."}
NAME, OTHER = "lab.test", "other.test"


class Counting(MemoryMailbox):
    """A mailbox that counts how often it is asked for a secret, and may hang."""

    asked = 0

    def digest(self, name: str) -> str | None:
        self.asked += 1
        return super().digest(name)


@pytest.fixture(scope="module")
def served() -> Iterator[Inside]:
    """A lab behind a proxy, under two names, one of them with a port."""
    made = Counting()
    made.register(Profile(OPERATOR))
    made.register(Profile("BlueLake"))
    made.send(Message(THREAD, "BlueLake", (OPERATOR,), "INFO: Hello", "Hello.\n"))
    with inside(made, settings=LAB._replace(hosts=(NAME, f"{OTHER}:8443"))) as server:
        yield server


@pytest.fixture
def client(served: Inside) -> Client:
    made = Client(served)
    made.log_in()
    return made


@pytest.mark.parametrize(
    ("host", "origin", "is_ours"),
    [
        (f"{NAME}:8925", f"http://{NAME}:8925", True),
        (f"{NAME}:8925", f"http://{NAME}:9999", False),
        (f"{NAME}:8925", f"http://{NAME}", False),
        (NAME, f"http://{NAME}:9999", False),
        (NAME, f"https://{NAME}", True),
        (f"{NAME}:443", f"https://{NAME}", True),
        (f"{NAME}:80", f"https://{NAME}", False),
        ("127.0.0.1:8765", f"https://{NAME}", True),  # a proxy that tells its own name
        ("127.0.0.1:8765", f"https://{NAME}:8765", True),
        ("127.0.0.1:8765", f"https://{NAME}:9999", False),
        (OTHER, f"https://{OTHER}:8443", True),  # a proxy that tells no port
        (OTHER, f"https://{OTHER}:9999", False),
        (f"{NAME}:8925", f"http://{NAME}:x", False),
    ],
)
def test_a_page_of_another_port_is_another_page(
    client: Client, host: str, origin: str, is_ours: bool
) -> None:
    got = client.post("/lab/login", {"secret": ""}, {"Host": host, "Origin": origin})
    looked_at = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
    assert got.status in (looked_at if is_ours else (HTTPStatus.FORBIDDEN,))


def test_a_wrong_secret_logs_nobody_out(client: Client) -> None:
    got = client.post("/lab/login", {"secret": ""})
    assert got.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
    assert client.get("/lab").status == HTTPStatus.OK


def test_nothing_of_the_lab_is_kept_on_the_way(client: Client) -> None:
    """Neither by the browser, for who uses it next, nor by a proxy. Only a form that came back is
    kept by the browser: Back has to show it.
    """
    hidden = client.get(REPLY).hidden
    done = client.post(REPLY, {**hidden, **LETTER})
    answers = [
        *(client.get(path) for path in ("/lab", "/lab/login", REPLY, f"{REPLY}?format=json")),
        *(done, client.get(done.to)),
        *(client.send(REPLY, {}, "brs_no"), Client(client.server).get(REPLY)),
    ]
    assert {each.headers["cache-control"] for each in answers} == {"no-store"}
    back = client.post(REPLY, {**client.get(REPLY).hidden, **LETTER, "to": "Nobody"})
    assert back.headers["cache-control"] == "private, no-cache"


def test_a_form_without_a_key_does_nothing(served: Inside, client: Client) -> None:
    hidden = {name: text for name, text in client.get(REPLY).hidden.items() if name != "once"}
    before = served.workspace.mailbox.position()
    got = client.post(REPLY, {**hidden, **LETTER})
    assert (got.status, "FORM_UNKNOWN" in got.text) == (HTTPStatus.CONFLICT, True)
    assert LETTER["body"] in got.text
    assert served.workspace.mailbox.position() == before


@pytest.mark.parametrize("body", [b'{"body": "\\ud83d"}', b'{"\\udc80": ""}'])
def test_half_a_character(served: Inside, client: Client, body: bytes) -> None:
    secret = client.log_in()
    headers = {"Content-Type": "application/json", "Brenner-Secret": secret}
    before = served.workspace.mailbox.position()
    for path in (REPLY, f"{REPLY}/preview", "/lab/start"):
        got = client.ask("POST", path, body, headers)
        assert (got.status, got.document["error"]["id"]) == (400, "FORM_UNREADABLE")
    assert served.workspace.mailbox.position() == before


def test_scripts_are_told_that_nothing_was_done(client: Client) -> None:
    secret = client.log_in()
    for said in ({"to": "Nobody"}, {"dry_run": True}, {"dryrun": True}):
        got = client.send(REPLY, {**LETTER, **said}, secret)
        assert got.document["done"] is False


def test_a_store_that_is_away_is_not_asked_who_reads(served: Inside, client: Client) -> None:
    """It may hang for long; the login that is remembered is enough to read."""
    mailbox = served.workspace.mailbox
    assert isinstance(mailbox, Counting)
    path = f"/sessions/{THREAD}/thread"
    assert "Log out" in client.get(path).text
    words = {"where": "The store", "reason": "it is away", "advice": "Wait"}
    lost = UnavailableError(SERVER_UNREACHABLE.at(None, **words))

    class Away(Counting):
        def position(self) -> int:
            raise lost

    before = mailbox.asked
    mailbox.__class__ = Away
    try:
        texts = [client.get(path).text for _ in range(3)]
    finally:
        mailbox.__class__ = Counting
    assert mailbox.asked == before
    assert all("Log out" in text for text in texts)
