"""The door of the lab: who comes in, what other pages cannot do, and where there is none."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from brenner.config import OPERATOR, Project
from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.server.settings import ServeSettings
from brenner.services.identity import new_secret, renew_secret
from brenner.services.workspace import Workspace
from brenner.web.auth import LoginThrottle, client_network
from brenner.web.lab.login import LabAuth
from brenner.web.lab.routes import ACTIONS
from brenner.web.links import own_path
from program import brenner
from serving.running import Inside, Served, inside
from web.lab_client import Client

THREAD = "RS-20251230-cell-fate"
LAB = ServeSettings(port=0, requests_a_second=1_000_000, is_lab=True)
NOBODY = HTTPStatus.UNAUTHORIZED
HOME = f"/lab/sessions/{THREAD}/reply"
PATHS = (
    *("/lab", "/lab/login", "/lab/logout", "/lab/done/x"),
    *(
        f"/lab/{f'sessions/{THREAD}/' if action.is_of_session else ''}{action.name}{end}"
        for action in ACTIONS
        for end in ("", "/preview")
    ),
)


def mailbox() -> MemoryMailbox:
    """A mailbox with a thread."""
    made = MemoryMailbox()
    made.register(Profile(OPERATOR))
    made.register(Profile("BlueLake"))
    made.send(Message(THREAD, "BlueLake", (OPERATOR,), "INFO: Hello", "Hello.\n"))
    return made


@pytest.fixture(scope="module")
def served() -> Iterator[Inside]:
    """A lab that the tests share; attempts to log in fail elsewhere."""
    with inside(mailbox(), settings=LAB) as server:
        yield server


@pytest.fixture
def fresh() -> Iterator[Inside]:
    """A lab of its own, with nobody's failures."""
    with inside(mailbox(), settings=LAB) as server:
        yield server


def test_without_the_lab_there_is_none() -> None:
    """No address of it exists, for whoever asks and however; no page links to it."""
    with inside(mailbox(), settings=LAB._replace(is_lab=False)) as server:
        client = Client(server)
        secret = renew_secret(server.workspace.mailbox, OPERATOR)
        for path in PATHS:
            assert client.get(path).status == HTTPStatus.NOT_FOUND
            for given in (None, secret):
                assert client.send(path, {}, given).status == HTTPStatus.NOT_FOUND
            assert client.post(path, {"secret": secret}).status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        for path in ("/", "/connect", f"/sessions/{THREAD}", f"/sessions/{THREAD}/thread"):
            assert 'href="/lab' not in client.get(path).text
        assert not any("lab" in name for name in client.jar)


def test_logging_in(served: Inside) -> None:
    """The secret opens it; the cookie is one that no script and no other site can use."""
    client = Client(served)
    assert client.get(HOME).to == f"/lab/login?next=%2Flab%2Fsessions%2F{THREAD}%2Freply"
    secret = renew_secret(served.workspace.mailbox, OPERATOR)
    got = client.post("/lab/login", {"secret": secret, "next": HOME})
    assert (got.status, got.to) == (HTTPStatus.SEE_OTHER, HOME)
    (cookie,) = got.cookies
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert parts == {"httponly", "path=/", "samesite=strict"}
    assert client.get(HOME).status == HTTPStatus.OK
    assert secret not in client.get(HOME).text


@pytest.mark.parametrize(
    "header", [("Origin", "https://lab.example"), ("X-Forwarded-Proto", "https")]
)
def test_cookie_behind_tls(header: tuple[str, str]) -> None:
    """Behind a proxy that ends TLS the cookie never goes over a plain line."""
    with inside(mailbox(), settings=LAB._replace(hosts=("lab.example",))) as server:
        client = Client(server)
        secret = renew_secret(server.workspace.mailbox, OPERATOR)
        (cookie,) = client.post("/lab/login", {"secret": secret}, dict([header])).cookies
        assert "secure" in cookie.lower()


def test_every_login_is_new(served: Inside) -> None:
    """A cookie that somebody planted is not adopted, and each login has another one."""
    client = Client(served)
    client.log_in()
    ((name, first),) = client.jar.items()
    planted = Client(served)
    planted.jar[name] = "A" * 43
    secret = planted.log_in()
    assert planted.jar[name] not in ("A" * 43, first)
    before = planted.jar[name]
    planted.log_in(secret)
    assert planted.jar[name] != before
    planted.jar[name] = before
    assert planted.get("/lab").status == HTTPStatus.SEE_OTHER  # the one before is over


def test_what_ends_a_login(served: Inside) -> None:
    """Logging out, and a new secret of the operator."""
    client, other = Client(served), Client(served)
    secret = client.log_in()
    other.log_in(secret)
    kept = dict(client.jar)
    token = client.get(HOME).hidden["token"]
    assert client.post("/lab/logout", {"token": "wrong"}).status == HTTPStatus.FORBIDDEN
    assert client.get("/lab").status == HTTPStatus.OK
    assert client.post("/lab/logout", {"token": token}).status == HTTPStatus.SEE_OTHER
    assert client.jar == {}
    client.jar = kept
    assert client.get("/lab").status == HTTPStatus.SEE_OTHER
    assert other.get("/lab").status == HTTPStatus.OK
    renew_secret(served.workspace.mailbox, OPERATOR)
    assert other.get("/lab").status == HTTPStatus.SEE_OTHER


def test_logins_end_when_idle_and_are_bounded(tmp_path: Path) -> None:
    """Twelve hours without a visit; and who logs in again and again ends the oldest."""
    now = [0.0]
    mailbox = MemoryMailbox()
    mailbox.register(Profile(OPERATOR))
    project = Project(tmp_path)
    auth = LabAuth(Workspace(mailbox, project, OPERATOR), clock=lambda: now[0])
    secret = renew_secret(mailbox, OPERATOR)

    def log_in() -> dict[str, str]:
        return {auth.cookie: auth.enter(secret, "127.0.0.1")}

    cookies = log_in()
    now[0] = 11 * 3600.0
    assert auth.login(cookies)
    now[0] += 12 * 3600.0 + 1
    assert auth.login(cookies) is None
    first = log_in()
    assert auth.login(first)
    for _ in range(50):
        log_in()
    assert auth.login(first) is None


@pytest.mark.parametrize(
    "wrong", ["", "brs_", "Operator", "brs_" + "x" * 43, "\udc80", "' OR 1=1 --", "x" * 10_000]
)
def test_wrong_secrets(fresh: Inside, wrong: str) -> None:
    """What was wrong is not told: the same words as where there is no secret at all."""
    client = Client(fresh)
    fields = {"secret": wrong.encode(errors="surrogatepass")}
    without = client.post("/lab/login", fields)
    renew_secret(fresh.workspace.mailbox, OPERATOR)
    with_one = client.post("/lab/login", fields)
    if wrong == "\udc80":
        assert without.status == with_one.status == HTTPStatus.BAD_REQUEST
    else:
        assert without.status == with_one.status == HTTPStatus.UNAUTHORIZED
        assert without.text == with_one.text
        assert len(wrong) < 20 or wrong not in with_one.text
    assert client.jar == {}


def test_guessing_is_bounded(fresh: Inside) -> None:
    """After five failures one has to wait; scripts share the count. The right secret never waits:
    nobody guesses it, and nobody keeps the operator out.
    """
    client = Client(fresh)
    secret = renew_secret(fresh.workspace.mailbox, OPERATOR)
    for _ in range(3):
        assert client.post("/lab/login", {"secret": "brs_no"}).status == HTTPStatus.UNAUTHORIZED
    for _ in range(2):
        assert client.send(HOME, {}, "brs_no").status == HTTPStatus.UNAUTHORIZED
    got = client.post("/lab/login", {"secret": "brs_no"})
    assert got.status == HTTPStatus.TOO_MANY_REQUESTS
    assert int(got.headers["retry-after"]) >= 1
    assert "TOO_MANY_ATTEMPTS" in got.text
    assert client.send(HOME, {}, "brs_no").status == HTTPStatus.TOO_MANY_REQUESTS
    assert client.jar == {}
    assert client.send(f"{HOME}/preview", {}, secret).status == HTTPStatus.OK
    for _ in range(6):
        client.post("/lab/login", {"secret": "brs_no"})
    assert client.post("/lab/login", {"secret": secret}).status == HTTPStatus.SEE_OTHER


def test_waits_grow_and_end() -> None:
    """For one address up to a minute, for all together up to ten seconds; success forgives."""
    now = [0.0]
    tries = LoginThrottle(lambda: now[0])
    waits = []
    for _ in range(12):
        while wait := tries.begin("10.0.0.1"):
            waits.append(wait)
            now[0] += wait
    assert waits == [2, 4, 8, 16, 32, 60, 60]
    assert tries.begin("10.0.0.2") == 0
    now[0] += 60
    assert tries.begin("10.0.0.1") == 0
    tries.succeeded("10.0.0.1")
    assert tries.begin("10.0.0.1") == 0
    others = LoginThrottle(lambda: now[0])
    for number in range(50):
        assert others.begin(f"10.0.1.{number}") == 0
    assert others.begin("10.0.2.1") == 2
    now[0] += 3700
    assert others.begin("10.0.2.1") == 0


def test_where_somebody_is() -> None:
    """One network of IPv6 is one place; an IPv4 address is the same by both protocols."""
    assert (
        client_network("2001:db8::1")
        == client_network("2001:db8::ffff:2")
        != client_network("2001:db8:0:1::1")
    )
    assert client_network("::ffff:10.0.0.1") == client_network("10.0.0.1")
    assert client_network("fe80::1%eth0") == client_network("fe80::2")
    assert client_network("nowhere") == "nowhere"


# Other pages


FORGED = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": None},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": None, "Brenner-Secret": "brs_x"},
    {"Content-Type": "text/plain"},
    {"Content-Type": "multipart/form-data; boundary=x"},
    {"Content-Type": None},
)


@pytest.mark.parametrize("headers", FORGED, ids=str)
def test_forged_requests(served: Inside, headers: dict[str, str | None]) -> None:
    """Whatever a page elsewhere sends with the operator's cookie does nothing, wherever it goes."""
    client = Client(served)
    client.log_in()
    hidden = client.get(HOME).hidden
    fields = {**hidden, "to": "BlueLake", "subject": "INFO: Forged", "body": "Forged."}
    before = served.workspace.mailbox.position()
    for path in (HOME, f"{HOME}/preview", "/lab/logout", "/lab/login"):
        assert client.post(path, fields, headers).status in (
            HTTPStatus.FORBIDDEN,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        )
    assert served.workspace.mailbox.position() == before
    assert client.get("/lab").status == HTTPStatus.OK


def test_forms_of_nobody_or_another_login(served: Inside) -> None:
    """Without the token of this login nothing is done; what was typed is shown."""
    client, other = Client(served), Client(served)
    other.log_in(client.log_in())
    hidden = client.get(HOME).hidden
    fields = {**hidden, "to": "BlueLake", "subject": "INFO: Mine", "body": "My long text."}
    before = served.workspace.mailbox.position()
    for token in ("", "x", other.get(HOME).hidden["token"]):
        got = client.post(HOME, {**fields, "token": token})
        assert got.status == HTTPStatus.FORBIDDEN
        assert "My long text." in got.text
    got = Client(served).post(HOME, fields)
    assert got.status == HTTPStatus.UNAUTHORIZED
    assert "My long text." in got.text
    assert hidden["token"] not in got.text
    assert served.workspace.mailbox.position() == before


def test_no_page_can_frame_it(served: Inside) -> None:
    """Nobody is made to click into it; what it loads is its own; it sends no address elsewhere."""
    client = Client(served)
    client.log_in()
    for path in ("/lab/login", "/lab", HOME):
        headers = client.get(path).headers
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "form-action 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path",
    [
        *("//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "evil"),
        *("javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", " /lab", "", "/a b", "/ä"),
        *("/%0d%0aSet-Cookie: x", "/lab\r\nLocation: //evil.example", "/" * 5000),
    ],
)
def test_open_redirects(served: Inside, path: str) -> None:
    """After logging in one goes on to an address of ours, or home."""
    assert own_path(path) == "/"
    client = Client(served)
    secret = renew_secret(served.workspace.mailbox, OPERATOR)
    got = client.post("/lab/login", {"secret": secret, "next": path})
    assert got.to in ("/", "/lab")


def test_own_paths() -> None:
    """Where one wanted to go."""
    for path in ("/", "/lab", f"/sessions/{THREAD}?format=json&a=%2F%2Fb", "/sessions/%2E%2E"):
        assert own_path(path) == path


# Scripts


def test_scripts_show_the_secret(served: Inside) -> None:
    """JSON with the header; neither a cookie nor a form's key is needed."""
    client = Client(served)
    secret = renew_secret(served.workspace.mailbox, OPERATOR)
    said = {"to": ["BlueLake"], "subject": "INFO: By a script", "body": "Hello."}
    got = client.send(HOME, said, secret)
    assert got.status == HTTPStatus.OK, got.text
    assert got.document["done"]
    assert got.document["message"]["trust"] == "verified"
    assert client.jar == {}
    assert client.send(HOME, said, None).status == HTTPStatus.FORBIDDEN
    assert client.send(HOME, said, new_secret()).status == HTTPStatus.UNAUTHORIZED
    asked = client.get(f"{HOME}?format=json", {"Brenner-Secret": secret})
    assert asked.document["thread_id"] == THREAD
    nobody = client.get(f"{HOME}?format=json")
    assert (nobody.status, nobody.document["error"]["id"]) == (NOBODY, "NOT_LOGGED_IN")


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{", b'"x"', b"\xff", b"[" * 10_000, b"{" + b'"a":[],' * 100_000 + b'"b":1}'],
    ids=range(6),
)
def test_unreadable_bodies(served: Inside, body: bytes) -> None:
    """What cannot be read does nothing, and says so."""
    client = Client(served)
    secret = renew_secret(served.workspace.mailbox, OPERATOR)
    before = served.workspace.mailbox.position()
    headers = {"Content-Type": "application/json", "Brenner-Secret": secret}
    got = client.ask("POST", HOME, body, headers)
    assert got.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    assert json.loads(got.text)
    assert served.workspace.mailbox.position() == before


def test_forms_have_limits(served: Inside) -> None:
    """A form of very many fields is not read; nor is one that is not UTF-8."""
    client = Client(served)
    client.log_in()
    for fields in ({f"a{number}": "" for number in range(3_000)}, {"body": b"\xff"}):
        assert client.post(HOME, fields).status == HTTPStatus.BAD_REQUEST


def test_homes_without_secrets() -> None:
    """There the secret of this run opens the lab, and nothing else does."""
    made = MemoryMailbox(lacks={Capability.SECRETS: "it keeps none"})
    made.register(Profile(OPERATOR))
    own = new_secret()
    with inside(made, settings=LAB._replace(lab_secret=own)) as server:
        client = Client(server)
        assert client.post("/lab/login", {"secret": new_secret()}).status == NOBODY
        client.log_in(own)
        assert client.get("/lab").status == HTTPStatus.OK
    with inside(made, settings=LAB) as server:
        assert Client(server).post("/lab/login", {"secret": own}).status == NOBODY


# What `brenner serve --lab` says


def test_the_server_says_how_to_log_in() -> None:
    """Where the lab is, and whether there is a secret that opens it; the secret is told nobody."""
    with Served("--lab") as server:
        assert server.said["lab"] == {
            "address": f"{server.base_url}/lab",
            "operator": OPERATOR,
            "open": False,
        }
        got = brenner("agent", "secret", OPERATOR, cwd=server.project)
        secret = got.out.strip()
        assert Client(server).post("/lab/login", {"secret": secret}).status == HTTPStatus.SEE_OTHER
        with Served("--lab", project=server.project) as other:
            assert other.said["lab"]["open"] is True
            assert secret not in other.log.read_text("utf-8")
