"""What takes seconds: it is made once, by few at a time, and nobody who reads waits for it."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brenner.services.versions import verify
from brenner.web import links
from brenner.web.views import exports, versions
from brenner.web.views.exports import report
from mail.sample_mail import make_message
from web.browsing import LAB, THREAD, Show, show
from web.lab_client import Client

REPORT = links.export(THREAD, "html")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Show]:
    with show(tmp_path) as served:
        yield served


class Held:
    """Work that takes until a test lets it go on; how often it was begun."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.calls = 0
        self.goes_on = threading.Event()

    def around(self, work: Callable[..., object]) -> Callable[..., object]:
        def held(*given: object) -> object:
            self.calls += 1
            self.begun.release()
            assert self.goes_on.wait(60)
            return work(*given)

        return held


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The report, and verifying all versions."""
    made = Held()
    monkeypatch.setattr(exports, "report", made.around(report))
    monkeypatch.setattr(versions, "verify", made.around(verify))
    yield made
    made.goes_on.set()


def test_readers_do_not_wait_for_it(stage: Show, held: Held) -> None:
    """Two are under way, the others wait; all pages are there meanwhile."""
    session = links.session(THREAD)
    asked = [f"{session}/versions?verify=1&x={number}" for number in range(10)]
    with ThreadPoolExecutor(len(asked)) as pool:
        asking = [pool.submit(stage.server.ask, "GET", path) for path in asked]
        for _ in range(2):
            assert held.begun.acquire(timeout=60)
        for path in (links.HOME, session, links.session(THREAD, "thread")):
            assert stage.server.ask("GET", path).status == 200
        assert held.calls == 2
        held.goes_on.set()
        assert {each.result().status for each in asking} == {200}


@pytest.mark.thorough
def test_a_file_is_made_once(stage: Show, held: Held) -> None:
    """For all who ask, whatever else stands in the address; with new mail another one."""
    held.goes_on.set()
    with ThreadPoolExecutor(4) as pool:
        paths = [f"{REPORT}?x={number}" for number in range(8)]
        found = list(pool.map(lambda path: stage.server.ask("GET", path), paths))
    assert held.calls == 1
    assert len({reply.document for reply in found}) == 1
    assert found[0].headers["content-disposition"] == f'attachment; filename="{THREAD}.html"'
    assert "style-src 'sha256-" in found[-1].headers["content-security-policy"]
    news = make_message(to=(stage.project.operator,), thread=THREAD, subject="INFO: Of late")
    stage.mailbox.send(news)
    assert "Of late" not in found[0].document
    assert "Of late" in stage.server.ask("GET", REPORT).document
    assert held.calls == 2


def test_the_operator_gets_the_same_file(tmp_path: Path, held: Held) -> None:
    held.goes_on.set()
    with show(tmp_path, settings=LAB) as served:
        client = Client(served.server)
        client.log_in()
        assert client.get(REPORT).text == client.get(REPORT).text
        assert served.server.ask("GET", REPORT).status == 200
    assert held.calls == 1
