"""Browsers where the server wants a token: to come in with it, and to come by a link."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path

import pytest

from brenner.config import OPERATOR
from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.services.identity import renew_secret
from brenner.web import links
from brenner.web import request as guests
from program import brenner
from serving.running import Inside, inside
from web.lab_client import Client

TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
MINE, OTHER = "RS-20251230-cell-fate", "RS-20251231-other-matter"
SETTINGS = ServeSettings(port=0, requests_a_second=1_000_000, token=TOKEN, is_lab=True)
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
OK, LED, FORBIDDEN = HTTPStatus.OK, HTTPStatus.SEE_OTHER, HTTPStatus.FORBIDDEN


def kickoff(thread_id: str, question: str) -> Message:
    """The beginning of a session."""
    body = f"# {question}\n\n## Research Question\n{question}\n\n## Context\nSome.\n"
    return Message(thread_id, OPERATOR, ("BlueLake",), f"KICKOFF: {question}", body)


@pytest.fixture(scope="module")
def served() -> Iterator[Inside]:
    """A server with a token, and two sessions."""
    made = MemoryMailbox()
    made.register(Profile(OPERATOR))
    made.register(Profile("BlueLake"))
    made.send(kickoff(MINE, "Mine?"))
    made.send(kickoff(OTHER, "The secret matter?"))
    with inside(made, settings=SETTINGS) as server:
        server.token = None  # browsers have none
        yield server


@pytest.fixture
def client(served: Inside) -> Client:
    """A browser that has never been here."""
    return Client(served)


def guest(served: Inside, thread_id: str = MINE) -> Client:
    """Somebody who has followed a link."""
    made = Client(served)
    address = guests.guest_link(TOKEN, thread_id, datetime.now(UTC) + WEEK)
    got = made.get(f"/guest/{address}")
    assert (got.status, got.to) == (LED, f"/sessions/{thread_id}")
    (cookie,) = got.cookies
    flags = {part.strip().lower().partition("=")[0] for part in cookie.split(";")[1:]}
    assert flags == {"httponly", "max-age", "path", "samesite"}
    return made


# With the token


def test_a_browser_is_asked_for_the_token(client: Client) -> None:
    """A person is led to the form, which says nothing of the project; a program is told."""
    got = client.get(f"/sessions/{MINE}/thread?round=1&x=//evil")
    wanted = f"/enter?next=/sessions/{MINE}/thread%3Fround%3D1%26x%3D//evil"
    assert (got.status, got.to) == (LED, wanted)
    form = client.get(wanted)
    assert form.status == OK
    assert f'value="/sessions/{MINE}/thread?round=1&amp;x=//evil"' in form.text
    assert "cell-fate" not in form.text.replace(MINE, "")
    assert client.get("/", {"Accept": "application/json"}).status == HTTPStatus.UNAUTHORIZED
    style = form.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert client.get(style).status == OK


def test_coming_in(served: Inside, client: Client) -> None:
    """The token once; then the pages and the lab are open, the endpoints of agents never."""
    got = client.post("/enter", {"token": f" {TOKEN}\n", "next": "/connect"})
    assert (got.status, got.to) == (LED, "/connect")
    assert TOKEN not in "".join(got.cookies)
    for path in ("/", "/connect", f"/sessions/{OTHER}", "/lab/login"):
        assert client.get(path).status == OK
    for path in ENDPOINTS:
        assert client.send(path, {}).status == HTTPStatus.UNAUTHORIZED
        assert client.get(path).status == HTTPStatus.UNAUTHORIZED
    client.log_in(renew_secret(served.workspace.mailbox, OPERATOR))
    assert client.get("/lab").status == OK
    stranger = Client(served)
    stranger.jar = {name: value for name, value in client.jar.items() if "lab" in name}
    assert stranger.get("/lab").to.startswith("/enter")  # the login alone does not open it


@pytest.mark.parametrize("headers", [{"Origin": None}, {"Origin": "https://evil.example"}])
def test_forged_entries(client: Client, headers: dict[str, str | None]) -> None:
    """No other page sends the form."""
    assert client.post("/enter", {"token": TOKEN}, headers).status == FORBIDDEN
    assert client.jar == {}


def test_wrong_tokens_are_bounded() -> None:
    """After five the right one waits, too."""
    with inside(MemoryMailbox(), settings=SETTINGS) as server:
        client = Client(server)
        for wrong in ("", "x", TOKEN[:-1], TOKEN + "x", "ä"):
            assert client.post("/enter", {"token": wrong}).status == HTTPStatus.UNAUTHORIZED
        got = client.post("/enter", {"token": TOKEN})
        assert (got.status, client.jar) == (HTTPStatus.TOO_MANY_REQUESTS, {})
        assert int(got.headers["retry-after"]) >= 1
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert client.get("/", bearer).status == OK  # programs are not kept out by it


def test_open_redirects(client: Client) -> None:
    """After the token one goes on to an address of ours."""
    for path in ("//evil.example", "https://evil.example", "/\\evil.example"):
        assert client.post("/enter", {"token": TOKEN, "next": path}).to == "/"


def test_proofs() -> None:
    """A cookie proves the token as long as it is good, and no other token."""
    proof = guests.sign_token_cookie(TOKEN, NOW)
    assert guests.is_token_cookie(TOKEN, proof, NOW + timedelta(days=29))
    assert not guests.is_token_cookie(TOKEN, proof, NOW + timedelta(days=31))
    assert not guests.is_token_cookie("another", proof, NOW)
    until, _, signature = proof.partition(".")
    for wrong in ("", ".", "x.y", f"{until}.", f"{int(until) + 1}.{signature}", f"x.{signature}"):
        assert not guests.is_token_cookie(TOKEN, wrong, NOW)
    link = guests.guest_link(TOKEN, MINE, NOW + WEEK)
    assert not guests.is_token_cookie(
        TOKEN, link.partition(".")[2], NOW
    )  # one purpose, one signature
    assert guests.token_cookie_name(TOKEN) != guests.token_cookie_name("another")


# By a link


def test_what_a_guest_sees(served: Inside) -> None:
    """One session with its messages, exports and news; nothing else, in any form, and nothing is
    done.
    """
    mine, theirs = (
        served.workspace.mailbox.thread(thread).messages[0].id for thread in (MINE, OTHER)
    )
    client = guest(served)
    shown = (
        *(links.session(MINE, tab) for tab in ("", *links.TABS)),
        *(links.message(mine), links.message(mine, "raw"), links.export(MINE, "json"), "/help"),
        *(links.search("secret", None, MINE), links.search("is:unread", None, MINE)),
        links.palette(MINE),
    )
    for path in shown:
        assert client.get(path).status == OK, path
        assert OTHER not in client.get(path).text
    hidden = (
        *(links.session(OTHER, tab) for tab in ("", *links.TABS)),
        *(links.message(theirs), links.message(theirs, "raw"), links.message(10**6)),
        *(links.search("secret", None, OTHER), links.palette(OTHER), "/palette", "/genealogy"),
        *(links.export(OTHER, "json"), "/", "/search?q=secret", "/connect", "/lab", "/lab/login"),
        *("/events", f"/events?thread={OTHER}", f"/events?thread={MINE}&thread={OTHER}"),
        *(f"/sessions/%2e%2e/{OTHER}", f"/sessions/{MINE}%2f..%2f{OTHER}", f"/sessions//{OTHER}"),
    )
    for path in hidden:
        for asked in (path, f"{path}{'&' if '?' in path else '?'}format=json"):
            got = client.get(asked)
            assert got.status in (LED, FORBIDDEN, HTTPStatus.NOT_FOUND), asked
            assert "secret matter" not in got.text
    for path in (*ENDPOINTS, "/lab/start", links.session(MINE)):
        assert client.send(path, {}).status in (HTTPStatus.UNAUTHORIZED, FORBIDDEN)


def test_a_guest_is_told_where_to_go(served: Inside) -> None:
    """Elsewhere the page says so; what she may not open is not offered."""
    client = guest(served)
    got = client.get("/search?q=x")
    assert (got.status, "GUESTS_STAY" in got.text) == (FORBIDDEN, True)
    assert links.session(MINE) in got.text
    page = client.get(links.session(MINE)).text
    assert 'href="/connect"' not in page
    assert 'role="search"' not in page
    assert 'href="/lab' not in page


def test_a_long_question_about_news_is_refused_like_any_other(served: Inside) -> None:
    client = guest(served)
    assert client.get(f"/events?{'a=1&' * 150}thread={MINE}").status == LED  # to the entrance


def test_two_links(served: Inside) -> None:
    """Who has links to two sessions sees both."""
    client = guest(served)
    client.jar |= guest(served, OTHER).jar
    for thread in (MINE, OTHER):
        assert client.get(links.session(thread)).status == OK


def test_links_that_were_changed(served: Inside) -> None:
    """Whatever is changed in one is noticed, in the address and in the cookie."""
    good = guests.guest_link(TOKEN, MINE, datetime.now(UTC) + WEEK)
    name, until, signature = good.split(".")
    other = base64.urlsafe_b64encode(OTHER.encode()).decode().rstrip("=")
    wrong = (
        *(f"{other}.{until}.{signature}", f"{name}.{int(until) + 1}.{signature}"),
        *(f"{name}.{until}.{signature[:-1]}", f"{name}.{until}", f"{name}.{until}.", "x"),
        *(f"{name}=.{until}.{signature}", guests.guest_link("another", MINE, NOW + WEEK), "a.b.c"),
        *(f"{name}.{until}.{signature.upper()}", "." * 100, "%00.1.x", "A" * 10_000),
    )
    for each in wrong:
        client = Client(served)
        got = client.get(f"/guest/{each}")
        assert (got.status, "LINK_BROKEN" in got.text) == (FORBIDDEN, True), each
        client.jar = {guests.guest_cookie_name(OTHER): each}
        assert client.get(links.session(OTHER)).to.startswith("/enter")
        assert client.get(links.session(MINE)).to.startswith("/enter")


def test_links_expire(served: Inside) -> None:
    """They say until when, and so does the refusal."""
    old = guests.guest_link(TOKEN, MINE, NOW)
    client = Client(served)
    got = client.get(f"/guest/{old}")
    assert (got.status, "2026-01-05 12:00 UTC" in got.text) == (FORBIDDEN, True)
    client.jar = {guests.guest_cookie_name(MINE): old}
    assert client.get(links.session(MINE)).to.startswith("/enter")
    assert guests.verify_guest_link(TOKEN, old, NOW - WEEK) == (MINE, NOW)
    with pytest.raises(RequestError) as refused:
        guests.verify_guest_link(TOKEN, old, NOW)
    assert refused.value.diagnostic.code is codes.LINK_EXPIRED


def test_any_thread_id() -> None:
    """Whatever a thread is called, its link leads there."""
    for name in ("a/b", "..", "a.b", "ä 日本", "x" * 300, "%2F"):
        assert (
            guests.verify_guest_link(TOKEN, guests.guest_link(TOKEN, name, NOW + WEEK), NOW)[0]
            == name
        )


def test_without_a_token_there_is_no_entrance() -> None:
    """Everybody is in: the addresses do not exist."""
    with inside(MemoryMailbox(), settings=SETTINGS._replace(token=None)) as server:
        client = Client(server)
        assert client.get("/enter").status == HTTPStatus.NOT_FOUND
        link = guests.guest_link(TOKEN, MINE, datetime.now(UTC) + WEEK)
        assert client.get(f"/guest/{link}").status == HTTPStatus.NOT_FOUND


# The command


def test_the_command(served: Inside, tmp_path: Path) -> None:
    """It prints the link alone; without a token the plain address, and says so."""
    assert brenner("init", cwd=tmp_path).code == 0
    assert (
        brenner("mail", "register", "BlueLake", "--program", "x", "--model", "y", cwd=tmp_path).code
        == 0
    )
    said = ("--thread-id", MINE, "--to", "BlueLake", "--question", "Why?", "--context", "Cells.")
    assert brenner("session", "start", *said, cwd=tmp_path).code == 0
    link = ("session", "link", MINE)
    plain = brenner(*link, cwd=tmp_path)
    assert plain.out == f"http://127.0.0.1:9/sessions/{MINE}\n"
    assert "This link is not signed" in plain.err
    no_answer = "No Brenner server answers at "
    assert f"{no_answer}http://127.0.0.1:9." in plain.err
    there = brenner(*link, cwd=tmp_path, BRENNER_SERVE_URL=served.base_url)  # without its token
    assert there.out.startswith(served.base_url)
    assert no_answer not in there.err
    token = {"BRENNER_SERVE_URL": served.base_url, "BRENNER_TOKEN": TOKEN}
    elsewhere = brenner(*link, "--json", cwd=tmp_path, **token)
    assert (elsewhere.code, elsewhere.json["violations"][0]["id"]) == (
        1,
        "SERVER_OF_OTHER_PROJECT",
    )
    assert str(tmp_path) in elsewhere.json["violations"][0]["message"]
    options = ("--days", "3", "--url", "https://lab.example", "--json")
    signed = brenner(*link, *options, cwd=tmp_path, BRENNER_TOKEN=TOKEN).json
    base, _, address = signed["url"].partition("/guest/")
    assert (base, signed["signed"]) == ("https://lab.example", True)
    thread, until = guests.verify_guest_link(TOKEN, address, datetime.now(UTC))
    assert (thread, until.isoformat().replace("+00:00", "Z")) == (MINE, signed["until"])
    assert timedelta(days=2.9) < until - datetime.now(UTC) <= timedelta(days=3)
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o644)
    warned = brenner(*link, "--token-file", str(file), cwd=tmp_path)
    assert "/guest/" in warned.out
    assert "TOKEN_FILE_READABLE" in warned.err
    assert TOKEN not in warned.out + warned.err
    assert brenner("session", "link", "nowhere", cwd=tmp_path).code == 1
    assert brenner(*link, "--days", "0", cwd=tmp_path).code == 2
    assert brenner(*link, "--url", "nonsense", cwd=tmp_path).code == 2
