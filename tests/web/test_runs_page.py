"""Runs on the agents' page: live, for readers of all kinds; the log of a turn for the operator."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.protocol.messages import Message
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.web import links
from brenner.web.lab.login import Login
from brenner.web.rendering import render_html
from brenner.web.request import Download, Page, RequestContext
from brenner.web.views import exports, project, runs
from mail.sample_mail import post
from run_events import ANN, BEA, RUN, RunScript, evening, finished, locked
from web.browsing import PHONE, Show, show, window
from web.browsing import THREAD as DEMO
from web.lab_client import Client
from web.mail_scene import THREAD, Scene
from web.test_every_page import faults, sticks_out
from web.test_evidence_page import words

NAMED = {"thread": THREAD}
NOW = datetime(2026, 1, 3, tzinfo=UTC)
GUEST = frozenset({THREAD})


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A session in a folder that exists."""
    made = Scene()
    made.workspace = made.workspace._replace(project=Project(tmp_path))
    made.site = site_of(made.workspace, ServeSettings())
    made.kickoff(ANN, BEA)
    return made


def look(scene: Scene, **also: Any) -> tuple[dict[str, Any], str]:
    """The runs in the document of the agents' page, and the page."""
    context = RequestContext(scene.site, "/x", NOW, NAMED, **also)
    answer = project.agents_page(context)
    assert isinstance(answer, Page)
    found: Any = answer.document["runs"]
    assert json.loads(json.dumps(found)) == found
    return found, render_html(answer, context)


def test_a_run_for_operator_reader_and_guest(scene: Scene) -> None:
    """All see what the agents did. Guests get no reason and no path, the operator the logs."""
    folder = finished(THREAD).write(scene.workspace.project)
    (folder / f"round-1-{ANN}-1.log").write_text("12:00:01  called brenner_post\n")
    read, page = look(scene)
    assert not read["is_running"]
    assert "Both rounds are done." in words(page)
    assert "Round 2 v2: added H4, changed H1, killed H2" in words(page)
    first = {each["agent"]: each for each in read["runs"][0]["rounds"][0]["agents"]}
    assert (first[BEA]["turns"], first[BEA]["applied"], first[BEA]["rejected"]) == (2, 1, 1)
    assert "52.0k" in words(page)
    assert "parked: not logged inInvalid key in /home/ada" in words(page)
    assert f".brenner/runs/{RUN}/" in page
    assert links.run_log(THREAD, RUN, "") not in page

    seen, shown = look(scene, guest_of=GUEST)
    assert "parked: not logged in" in words(shown)
    assert "/home/ada" not in json.dumps(seen) + shown
    assert ".brenner/runs" not in json.dumps(seen) + shown

    login = Login("Operator")
    _, owned = look(scene, login=login)
    assert f'href="{links.run_log(THREAD, RUN, f"round-1-{ANN}-1.log")}"' in owned


def test_the_log_of_a_turn(scene: Scene) -> None:
    """Only for the operator, and only files that are logs of turns."""
    folder = finished(THREAD).write(scene.workspace.project)
    (folder / f"round-1-{ANN}-1.log").write_text("12:00:01  called brenner_post\n")

    def get(log: str, run: str = RUN, **also: Any) -> str:
        named = {**NAMED, "run": run, "log": log}
        answer = runs.log_page(RequestContext(scene.site, "/x", NOW, named, **also))
        assert isinstance(answer, Download)
        return answer.text

    log, login = f"round-1-{ANN}-1.log", Login("Operator")
    assert get(log, login=login) == "12:00:01  called brenner_post\n"
    refused: list[tuple[str, str, dict[str, Any]]] = [
        (log, RUN, {}),
        (log, RUN, {"guest_of": GUEST}),
        ("run.json", RUN, {"login": login}),
        ("../run.json", RUN, {"login": login}),
        (log, "20260103-120000-cd34", {"login": login}),
        (f"round-1-{BEA}-1.log", RUN, {"login": login}),  # it was deleted
    ]
    for name, run, also in refused:
        with pytest.raises(RequestError):
            get(name, run, **also)


def test_what_will_appear(scene: Scene) -> None:
    _, page = look(scene)
    assert "No runs yet." in words(page)
    assert f"brenner session run {THREAD}" in page
    assert "brenner session run" not in look(scene, guest_of=GUEST)[1]


def test_the_report_has_no_runs(scene: Scene) -> None:
    """It is made from the mail alone, and is the same wherever it is made."""
    finished(THREAD).write(scene.workspace.project)
    named = {**NAMED, "form": "html"}
    answer = exports.page(RequestContext(scene.site, "/x", NOW, named))
    assert isinstance(answer, Download)
    assert RUN not in answer.text


# Served, and in a browser


def test_the_log_is_linked_for_the_operator_alone(lab: Show) -> None:
    """Whoever has no login gets the page without the links, and no log."""
    folder = finished(DEMO).write(lab.project)
    name = f"round-1-{ANN}-1.log"
    (folder / name).write_text("12:00:01  called brenner_post\n")
    address, page = links.run_log(DEMO, RUN, name), links.session(DEMO, "agents")
    reader, operator = Client(lab.server), Client(lab.server)
    operator.log_in()
    assert address in operator.get(page).text
    got = operator.get(address)
    assert (got.status, got.text) == (200, "12:00:01  called brenner_post\n")
    assert address not in reader.get(page).text
    assert reader.get(address).status == 404


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Show]:
    with show(tmp_path) as served:
        yield served


@pytest.mark.thorough
def test_a_run_is_followed_without_mail(browser: Browser, stage: Show) -> None:
    """It appears with its first message, then changes and ends; what is open stays open."""
    before = finished(DEMO, "20260101-120000-aa11")
    before.write(stage.project)
    finished(DEMO, "20260101-130000-bb22").write(stage.project)
    with window(browser, stage.base) as opened:
        page = opened.open(links.session(DEMO, "agents"))
        older = page.locator(f"#run-{before.run}")
        older.locator("summary").click()
        with locked(stage.project, DEMO):
            script = evening(DEMO)
            script.write(stage.project)
            kickoff = Message(DEMO, stage.project.operator, (ANN,), "INFO: Go", "# Info\n\nGo.\n")
            post(stage.mailbox, kickoff)
            runs_at = page.locator("section.runs[data-runs='running']")
            expect(runs_at).to_contain_text("working brenner_post")
            _carry_on(script).write(stage.project)
            expect(runs_at).to_contain_text("contributed")
            script.compiled(2).stopped(message="Nothing is open.").write(stage.project)
            expect(page.locator("section.runs[data-runs='over']")).to_contain_text(
                "Nothing is open."
            )
        expect(older).to_have_attribute("open", "")


def _carry_on(script: RunScript) -> RunScript:
    return script.ended(2, ANN, applied=2).ended(2, BEA, "passed")


@pytest.mark.thorough
@pytest.mark.parametrize("is_dark", [False, True])
def test_seen_on_a_phone(browser: Browser, stage: Show, is_dark: bool) -> None:
    finished(DEMO).write(stage.project)
    with window(browser, stage.base, PHONE, is_dark=is_dark) as opened:
        page = opened.open(links.session(DEMO, "agents"))
        expect(page.locator("section.runs")).to_contain_text("Both rounds are done.")
        assert sticks_out(page) == ""
        assert faults(page) == []
