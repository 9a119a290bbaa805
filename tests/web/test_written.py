"""Pages that are written once for many, and never shown to who should get another one."""

import gzip
import http.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from brenner.web import links, written
from brenner.web.place import Place
from brenner.web.written import LIFE, Cookies, Text, Written, takes_packed
from mail.letters import letter
from serving.running import At
from web.browsing import THREAD, Show, show

HERE = Place(12, "aa")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("asked", "is_there"),
    [(HERE, True), (Place(11, "bb"), True), (Place(13, "cc"), False), (Place(12, "ff"), False)],
)
def test_it_has_all_mail_that_there_was(asked: Place, is_there: bool) -> None:
    """And is of the same store."""
    kept = Written()
    text = Text.of("A page.", "text/html")
    kept.keep("/", HERE, text)
    assert (kept.find("/", asked) is text) is is_there
    assert kept.find("/other", asked) is None


def test_it_does_not_last() -> None:
    clock = Clock()
    kept = Written(clock)
    kept.keep("/", HERE, Text.of("A page.", "text/html"))
    clock.now += LIFE - 0.01
    assert kept.find("/", HERE)
    clock.now += 0.01
    assert kept.find("/", HERE) is None


def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "_MOST_BYTES", 25)
    clock = Clock()
    kept = Written(clock)
    for name in ("one", "two", "three"):
        kept.keep(name, HERE, Text.of("x" * 10, "text/html"))
    assert [bool(kept.find(name, HERE)) for name in ("one", "two", "three")] == [False, True, True]
    clock.now += LIFE
    kept.keep("four", HERE, Text.of("x" * 24, "text/html"))
    kept.keep("four", HERE, Text.of("x" * 90, "text/html"))  # larger than all: at least that one
    assert kept.find("four", HERE)


def test_one_writes_at_a_time() -> None:
    """Those who want something else do not wait, and nothing is left behind."""
    kept, told = Written(), list[str]()

    async def write(key: str, name: str) -> None:
        async with kept.turn(key):
            told.append(f"{name} begins")
            await anyio.sleep(0.01)
            told.append(f"{name} ends")

    async def play() -> None:
        async with anyio.create_task_group() as group:
            for key, name in (("/", "one"), ("/", "two"), ("/other", "three")):
                group.start_soon(write, key, name)

    with ThreadPoolExecutor(1) as apart:  # the browser of other tests has a loop in this thread
        apart.submit(anyio.run, play).result()
    assert told.index("two begins") > told.index("one ends")
    assert told.index("three begins") < told.index("one ends")
    assert vars(kept)["_turns"] == {}


def test_cookies_tell_that_they_were_read() -> None:
    for look in (lambda c: c.get("a"), list, len, lambda c: "a" in c):
        cookies = Cookies({"a": "1"})
        assert not cookies.was_read
        look(cookies)
        assert cookies.was_read


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        *(("gzip", True), ("gzip, deflate, br", True), ("br;q=1.0, gzip;q=0.8", True)),
        *(("", False), ("br", False), ("gzip;q=0", False), ("gzip; q=0.0", False)),
        *(("GZIP", True), ("identity", False), ("x-gzip-not", False)),
    ],
)
def test_who_takes_what_is_packed(accepted: str, takes: bool) -> None:
    assert takes_packed(accepted) is takes


# Over the line


def ask(at: At, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """One request, the answer as it is."""
    connection = http.client.HTTPConnection(at.host, at.port, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", path, headers=given)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_packed_and_tagged(site: Show) -> None:
    """It is the same page; who has it already gets no more than that."""
    path = links.session(THREAD, "agents")
    plain, whole = ask(site.server, path)
    packed, small = ask(site.server, path, Accept_Encoding="gzip")
    assert plain.getheader("Content-Encoding") is None
    assert packed.getheader("Content-Encoding") == "gzip"
    assert len(small) * 3 < len(whole)
    assert gzip.decompress(small).startswith(b"<!doctype html>")
    assert "Accept-Encoding" in (packed.getheader("Vary") or "")
    _, text = ask(site.server, links.HELP)
    first, _ = ask(site.server, links.HELP)
    again, nothing = ask(site.server, links.HELP, If_None_Match=first.getheader("ETag") or "")
    assert (again.status, nothing) == (304, b"")
    assert text
    asset = site.server.ask("GET", path).document.partition('href="/assets/')[2].partition('"')[0]
    style, packed_style = ask(site.server, f"/assets/{asset}", Accept_Encoding="gzip")
    assert style.status == 200
    assert gzip.decompress(packed_style) == ask(site.server, f"/assets/{asset}")[1]


def test_mail_is_never_missing(tmp_path: Path) -> None:
    """A page that is asked for after a message has come in has it, however soon."""
    with show(tmp_path) as stage:
        path = links.session(THREAD, "thread") + "?format=json"
        for _ in range(10):
            stage.mailbox.send(letter(to=(stage.project.operator,), thread=THREAD))
            found = stage.server.ask("GET", path).document
            assert found["session"]["position"] == stage.mailbox.thread(THREAD, limit=1).position
