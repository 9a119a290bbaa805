"""Pages that are written once for many, and never shown to who should get another one."""

import gzip
import http.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from brenner.web import cache, links
from brenner.web.cache import (
    MAX_PATH,
    PAGE_TTL,
    PageCache,
    PageKey,
    ResponseBody,
    accepts_gzip,
)
from brenner.web.sessions import MailCursor
from mail.sample_mail import make_message
from serving.running import At
from web.browsing import THREAD, Show, show

HERE = MailCursor(12, "aa")


def key(path: str) -> PageKey:
    """The key of an HTML page for everybody."""
    return path, False, None


ROOT = key("/")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("asked", "is_there"),
    [
        (HERE, True),
        (MailCursor(11, "bb"), True),
        (MailCursor(13, "cc"), False),
        (MailCursor(12, "ff"), False),
    ],
)
def test_it_has_all_mail_that_there_was(asked: MailCursor, is_there: bool) -> None:
    """And is of the same store."""
    kept = PageCache()
    text = ResponseBody.of("A page.", "text/html")
    kept.keep(ROOT, HERE, text)
    assert (kept.find(ROOT, asked) is text) is is_there
    assert kept.find(key("/other"), asked) is None


def test_it_does_not_last() -> None:
    clock = Clock()
    kept = PageCache(clock)
    kept.keep(ROOT, HERE, ResponseBody.of("A page.", "text/html"))
    clock.now += PAGE_TTL - 0.01
    assert kept.find(ROOT, HERE)
    clock.now += 0.01
    assert kept.find(ROOT, HERE) is None


def test_a_store_that_was_put_back_is_not_hidden_by_what_is_kept_long() -> None:
    """What has more mail is for who began a moment ago, also where it is kept for a minute."""
    clock = Clock()
    kept = PageCache(clock, ttl=60)
    kept.keep(ROOT, HERE, ResponseBody.of("A file.", "text/html"))
    assert kept.find(ROOT, MailCursor(11, "bb"))
    clock.now += PAGE_TTL
    assert kept.find(ROOT, HERE)
    assert kept.find(ROOT, MailCursor(11, "bb")) is None


def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_PAGE_BYTES", 25_000)
    clock = Clock()
    kept = PageCache(clock)
    names = ("one", "two", "three")
    for name in names:
        kept.keep(key(name), HERE, ResponseBody.of("x" * 10_000, "text/html"))
    assert [bool(kept.find(key(name), HERE)) for name in names] == [False, True, True]
    clock.now += PAGE_TTL
    kept.keep(key("four"), HERE, ResponseBody.of("x" * 24_000, "text/html"))
    kept.keep(
        key("four"), HERE, ResponseBody.of("x" * 90_000, "text/html")
    )  # larger than all: that one
    assert (bool(kept.find(key("four"), HERE)), len(kept)) == (True, 1)


def test_addresses_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages under long addresses, and very many of them; one that is too long is not kept."""
    monkeypatch.setattr(cache, "_MAX_PAGE_BYTES", 100_000)
    kept, text = PageCache(Clock()), ResponseBody.of("x", "text/html")
    for number in range(100):
        kept.keep(key(f"/search?x={number}" + "y" * 1_900), HERE, text)
    assert 5 < len(kept) < 25
    long = key("/?" + "y" * MAX_PATH)
    kept.keep(long, HERE, text)
    assert kept.find(long, HERE) is None
    monkeypatch.setattr(cache, "_MAX_PAGES", 3)
    for number in range(9):
        kept.keep(key(f"/?{number}"), HERE, text)
    assert len(kept) == 3


def test_one_writes_at_a_time() -> None:
    """Those who want something else do not wait, and nothing is left behind."""
    kept, told = PageCache(), list[str]()

    async def write(path: str, name: str) -> None:
        async with kept.turn(key(path)):
            told.append(f"{name} begins")
            await anyio.sleep(0.01)
            told.append(f"{name} ends")

    async def play() -> None:
        async with anyio.create_task_group() as group:
            for path, name in (("/", "one"), ("/", "two"), ("/other", "three")):
                group.start_soon(write, path, name)

    with ThreadPoolExecutor(1) as apart:  # the browser of other tests has a loop in this thread
        apart.submit(anyio.run, play).result()
    assert told.index("two begins") > told.index("one ends")
    assert told.index("three begins") < told.index("one ends")
    assert vars(kept)["_turns"] == {}


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        *(("gzip", True), ("gzip, deflate, br", True), ("br;q=1.0, gzip;q=0.8", True)),
        *(("", False), ("br", False), ("gzip;q=0", False), ("gzip; q=0.0", False)),
        *(("GZIP", True), ("identity", False), ("x-gzip-not", False)),
    ],
)
def test_who_takes_what_is_packed(accepted: str, takes: bool) -> None:
    assert accepts_gzip(accepted) is takes


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
            stage.mailbox.send(make_message(to=(stage.project.operator,), thread=THREAD))
            found = stage.server.ask("GET", path).document
            assert found["session"]["position"] == stage.mailbox.thread(THREAD, limit=1).position


def test_a_path_ends_where_it_was_sent_to_end(site: Show) -> None:
    """What is written for one address is not shown at another that only looks like it."""
    path = links.item(THREAD, "H1")
    for _ in range(2):
        for good in (path, f"{path}?round=1"):
            assert ask(site.server, good)[0].status == 200
        for other in (f"{path}%3Fround=1", f"{path}%23x", f"{path}%3F"):
            assert ask(site.server, other)[0].status in (400, 404)
