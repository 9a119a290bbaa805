"""The overview of a session: the question, what became of each hypothesis, what to do next."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web import links
from brenner.web.lab.start import NEXT_ROUND_ACTION
from brenner.web.request import Redirect
from brenner.web.views import overview
from brenner.web.views import project as home
from effort import thorough
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace, write
from web.browsing import DESKTOP, PHONE, Show, window
from web.browsing import THREAD as DEMO
from web.disputed import block, disputed, looked, opened, visit_to
from web.evening import Evening, contributes, new_secret
from web.input_devices import Mouse
from web.lab_client import Client
from web.lab_visits import Operator
from web.messy import MESSY, messy
from web.test_every_page import faults, sticks_out

PATH = links.session(THREAD)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return disputed(tmp_path / "lab")


EARLY, OVER = "RS-20261119-before-its-first-version", "RS-20261110-it-has-ended"
TABS = ("", *links.TABS[1:])


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Show]:
    """Serve the demo's session, a messy one, one before its first version, and one that ended."""
    with messy(tmp_path_factory.mktemp("messy")) as served:
        for thread in (EARLY, OVER):
            body = "# Why\n\n## Research Question\nWhy do they die?\n\n## Context\nThey do.\n"
            asked = Message(thread, served.project.operator, ("BlueLake",), "KICKOFF: Why", body)
            served.mailbox.send(asked)
            contributes(served, thread, "BlueLake", add("Age"), add("Hunger"), add("Chance"))
        compile_thread(served.server.workspace, OVER, CompileOptions())
        kill = block("KILL", "hypothesis_slate", "H2", reason="They die when fed, too.")
        ended = block("EDIT", "research_thread", "RT", conclusion="They die of age.")
        contributes(served, OVER, "BlueLake", kill, ended, base="v1")
        compile_thread(served.server.workspace, OVER, CompileOptions(close=True))
        yield served


def seen(workspace: Workspace, **asked: str) -> tuple[dict[str, Any], str]:
    return looked(overview.page, visit_to(workspace, PATH, {"thread": THREAD}, asked))


def marks(document: dict[str, Any], item: str) -> list[tuple[str, str | None, bool]]:
    lane = next(each for each in document["lanes"]["hypotheses"] if each["id"] == item)
    return [(each["kind"], each["item"], each["published"]) for each in lane["marks"]]


# What it says


def test_a_session_with_versions(workspace: Workspace) -> None:
    document, page = seen(workspace)
    state = "2 of 3 hypotheses alive after 2 versions; 0 of 1 pair separated"
    assert document["state"] == state
    assert marks(document, "H1") == [
        ("born", None, True),
        ("attacked", "C1", True),
        ("attacked", None, True),
        ("changed", None, True),
        ("changed", None, True),
    ]
    assert marks(document, "H2") == [("born", None, True), ("killed", None, True)]
    assert document["unpublished"] is None
    assert "killed by RedSky" in page
    assert "Gradient decides" not in page  # the claim is now another one
    assert document["pairs"]["not_distinguished"] == 1
    assert "No test has a result yet" in page


def test_what_is_not_published_is_there_and_says_so(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Chance"), block("KILL", "hypothesis_slate", "H3", reason="No"))
    document, page = seen(workspace)
    assert document["version"] == 2
    assert document["state"].startswith("2 of 3 hypotheses alive after 2 versions")
    assert document["unpublished"] == {"deltas": 1, "applies": 2}
    lanes = {each["id"]: each for each in document["lanes"]["hypotheses"]}
    assert lanes["H4"]["published"] is False
    assert lanes["H4"]["link"].startswith("/messages/")
    assert lanes["H3"]["killed"]["published"] is False
    assert marks(document, "H3")[-1] == ("killed", None, False)
    assert [each["published"] for each in document["lanes"]["versions"]] == [True, True, False]
    assert "1 delta has arrived since" in page


def test_before_the_first_version(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "lab")
    kickoff(workspace)
    document, page = seen(workspace)
    assert document["state"] == ""
    assert "as soon as an agent sends a DELTA" in page
    assert "brenner new DELTA --thread" in page
    contribute(workspace, ANN, add("Gradient"), add("Lineage"))
    document, page = seen(workspace)
    assert document["version"] is None
    assert document["state"] == "2 of 2 hypotheses alive; 0 of 1 pair separated"
    assert "Not published yet." in page
    assert "Gradient decides" in page


def test_a_complete_session_opens_with_its_conclusion(workspace: Workspace) -> None:
    """Here, and on home."""
    concluded = "Cells read a gradient <once>, and remember it."
    words = block("EDIT", "research_thread", "RT", conclusion=concluded)
    body = f"# Delta Contribution\n\n**Base Version**: v2\n\n```delta\n{json.dumps(words)}\n```\n"
    write(workspace, "Operator", "DELTA[human]: Conclusion", body)
    compile_thread(workspace, THREAD, CompileOptions(close=True))
    document, page = seen(workspace)
    assert document["conclusion"] == concluded
    assert page.index("<h2>Conclusion</h2>") < page.index("Cells read a gradient")
    assert "<once>" not in page
    assert page.index("remember it.") < page.index("How each hypothesis changed")
    row = looked(home.page, visit_to(workspace, "/", {}))
    assert row[0]["complete"]["sessions"][0]["conclusion"] == concluded
    assert "<b>Conclusion</b> Cells read" in row[1]


def test_home_has_the_state(workspace: Workspace) -> None:
    document, page = looked(home.page, visit_to(workspace, "/", {}))
    assert document["sessions"][0]["state"] == seen(workspace)[0]["state"]
    assert "2 of 3 hypotheses alive after 2 versions" in page


def test_results_and_pairs(full: Show) -> None:
    document: Any = full.server.ask("GET", f"{links.session(MESSY)}?format=json").document
    first, second = document["results"]["shown"]
    assert (first["test"], first["contradicts"], first["claimed"]) == ("T1", ["H2"], False)
    assert (second["test"], second["supports"], second["claimed"]) == ("T2", ["H3"], True)
    assert [(each["kind"], each["item"]) for each in _lane(document, "H2")["marks"]].count(
        ("contradicted", "T1")
    ) == 1
    cells = [each for row in document["pairs"]["rows"] for each in row["cells"]]
    assert len(cells) == document["pairs"]["pairs"] == 15
    assert sum(each["separated"] for each in cells) == document["pairs"]["separated"] == 2
    worded = [each for each in cells if each["test"] and not each["separated"]]
    assert len(worded) == document["pairs"]["only_worded_differently"]
    hole = next(each for each in cells if not each["test"])
    assert hole["focus"] == f"A test that separates {hole['first']} from {hole['second']}"


def _lane(document: dict[str, Any], item: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in document["lanes"]["hypotheses"] if each["id"] == item
    )
    return found


# Addresses


@pytest.mark.parametrize("asked", [{"version": "1"}, {"section": "hypothesis_slate", "page": "2"}])
def test_an_old_link_leads_to_the_artifact(workspace: Workspace, asked: dict[str, str]) -> None:
    answer = overview.page(visit_to(workspace, PATH, {"thread": THREAD}, asked))
    assert answer == Redirect(links.session(THREAD, "artifact", **asked))


def test_an_anchor_leads_to_the_lane_or_to_the_artifact(browser: Browser, full: Show) -> None:
    with window(browser, full.base) as here:
        page = here.open(f"{links.session(DEMO)}#H2")
        expect(page.locator("#H2 .lane-claim")).to_be_visible()
        assert page.url.endswith(f"{DEMO}#H2")
        page = here.open(f"{links.session(DEMO)}#T1")
        page.wait_for_url(f"**{links.session(DEMO, 'artifact')}#T1")
        expect(page.locator("#T1")).to_be_visible()


def test_a_hole_asks_for_a_test(tmp_path: Path, browser: Browser, full: Show) -> None:
    """The form of the next round has the focus; a reader who is not logged in gets no link."""
    workspace = opened(tmp_path / "lab")
    operator = Operator(workspace, THREAD)
    visit = operator.visit()._replace(query={"focus": "A test that separates H1 from H3"})
    page: Any = NEXT_ROUND_ACTION.form(visit)
    assert page.document["fields"]["focus"] == "A test that separates H1 from H3"
    assert "A test that separates H1 from H3" in str(page.document["preview"])
    with window(browser, full.base) as here:
        page = here.open(links.session(MESSY))
        assert page.locator(".hole").count() == 8
        assert page.locator(".hole a, .lab-actions").count() == 0
        evening = Evening(full, page, Mouse(), is_audited=False)
        evening.log_in(new_secret(full))
        page.goto(links.session(MESSY))
        evening.press(page.locator(".hole a").first)
        expect(page.get_by_label("Focus")).to_have_value("A test that separates H1 from H4")


# What one sees at first


def top(place: Locator) -> float:
    box = place.bounding_box()
    assert box
    return box["y"]


@pytest.mark.parametrize("thread", [DEMO, MESSY, EARLY])
@pytest.mark.parametrize(("size", "least"), [(DESKTOP, 900), (PHONE, 1.5 * 844)], ids=str)
def test_the_first_claim_and_the_next_step_come_early(
    browser: Browser, full: Show, thread: str, size: tuple[int, int], least: float
) -> None:
    """For the operator, whose head of the session also has the actions of the lab."""
    with window(browser, full.base, size) as here:
        page = here.context.new_page()
        Evening(full, page, Mouse(), is_audited=False).log_in(new_secret(full))
        page.goto(links.session(thread))
        for place in (".lane-claim", "#next-step .button.primary"):
            assert top(page.locator(place).first) + 20 < least, place
        assert page.locator("#next-step .button.primary").count() == 1


@pytest.mark.parametrize("size", [DESKTOP, (1024, 800), PHONE, (320, 700)], ids=str)
@pytest.mark.parametrize("is_dark", [False, True])
def test_a_messy_session_fits(
    browser: Browser, full: Show, size: tuple[int, int], is_dark: bool
) -> None:
    with window(browser, full.base, size, is_dark=is_dark) as here:
        page = here.open(links.session(MESSY))
        assert sticks_out(page) == ""
        for lane in page.locator("li.lane-row").all():
            label, drawn = (
                lane.locator(".lane-label").bounding_box(),
                lane.locator("svg.lane").bounding_box(),
            )
            assert label
            assert drawn
            is_beside = label["x"] + label["width"] <= drawn["x"]
            assert is_beside or label["y"] + label["height"] <= drawn["y"] + 1


@pytest.mark.parametrize("thread", [MESSY, thorough(EARLY), OVER])
@pytest.mark.parametrize(
    ("size", "is_dark"),
    [(DESKTOP, False), thorough(DESKTOP, True), thorough(PHONE, False), (PHONE, True)],
    ids=str,
)
def test_every_tab_is_accessible_and_fits(
    browser: Browser, full: Show, thread: str, size: tuple[int, int], is_dark: bool
) -> None:
    """For the operator, who also has the actions of the lab; the window fails on any error."""
    with window(browser, full.base, size, is_dark=is_dark) as here:
        page = here.context.new_page()
        Evening(full, page, Mouse(), is_audited=False).log_in(new_secret(full))
        for tab in TABS:
            page.goto(links.session(thread, tab))
            assert (tab, sticks_out(page), faults(page)) == (tab, "", [])


def test_what_ruled_out_the_others(full: Show) -> None:
    """Say it in one line beside the state, for who does not read the lanes."""

    def said(thread: str) -> str:
        page = Client(full.server).get(links.session(thread)).text
        line = page.partition('<p class="fates">')[2].partition("</p>")[0]
        return " ".join(re.sub("<[^>]+>", "", line).split())

    assert said(MESSY) == (
        "Ruled out H5: T3 showed the same loss by day and by night (not published); "
        "H6: No tension was measured at any spine. Contradicted H2 by T1."
    )
    assert said(OVER) == "Alive H1 Age; H3 Chance. Ruled out H2: They die when fed, too."
    assert said(EARLY) == ""


def test_a_lane_is_drawn_live(browser: Browser, tmp_path: Path) -> None:
    with messy(tmp_path) as served, window(browser, served.base) as here:
        page = here.open(links.session(MESSY))
        expect(page.locator("#connection")).to_have_text("Live")
        expect(page.locator("#H4 .mark.changed.unpublished")).to_have_count(0)
        edit = block("EDIT", "hypothesis_slate", "H4", mechanism="They eat what is marked")
        contributes(served, MESSY, "PurpleMountain", edit, base="v3")
        expect(page.locator("#H4 .mark.changed.unpublished")).to_have_count(1)


def test_guests_see_it_without_commands(workspace: Workspace) -> None:
    visit = visit_to(workspace, PATH, {"thread": THREAD})._replace(guest_of=frozenset({THREAD}))
    document, page = looked(overview.page, visit)
    assert document["state"]
    assert document["session"]["next_step"] is None
    assert "What comes next" in page
    assert "The operator starts the next round, or ends the session." in page
    assert "brenner " not in page.partition('<main id="main"')[2].partition("</main>")[0]
    assert "/lab/" not in page
    assert BEA in page
