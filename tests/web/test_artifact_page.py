"""The page of the artifact: every field tells who set it, and what it mentions is a link."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from brenner.diagnostics.model import RequestError
from brenner.services.demo import THREAD as DEMO
from brenner.services.workspace import Workspace
from brenner.web.views import artifact
from brenner.web.views import project as source
from session.workspaces import ANN, THREAD, add, contribute, kickoff, new_workspace
from web.browsing import PHONE, Show, Window, window
from web.disputed import LOST, NEW, OLD, block, compiled, disputed, looked, opened, visit_to


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return disputed(tmp_path / "lab")


def shown(workspace: Workspace, thread: str = THREAD, **asked: str) -> tuple[dict[str, Any], str]:
    path = f"/sessions/{thread}"
    return looked(artifact.page, visit_to(workspace, path, {"thread": thread}, asked))


def items(document: dict[str, Any]) -> dict[str, Any]:
    return {item["id"]: item for section in document["sections"] for item in section["items"]}


def entry(item: dict[str, Any], name: str) -> dict[str, Any]:
    [field] = [field for field in item["fields"] if field["name"] == name]
    return dict(field["entries"][0])


def test_killed_items_are_counted_apart(workspace: Workspace) -> None:
    document, page = shown(workspace)
    (slate,) = (each for each in document["sections"] if each["id"] == "hypothesis_slate")
    assert (slate["active"], slate["killed"]) == (2, 1)
    assert 'Hypotheses <span class="count">2, 1 killed</span></a>' in page
    assert '2. Hypothesis Slate <span class="count">2, 1 killed</span></h2>' in page
    counts = document["session"]["card"]["statistics"].values()
    assert [each["active"] for each in document["sections"]] == list(counts)


def test_a_field_tells_who_set_it_and_what_it_replaced(workspace: Workspace) -> None:
    document, page = shown(workspace)
    claim = entry(items(document)["H1"], "claim")
    told = {key: claim[key] for key in ("value", "agent", "operation", "version", "replaced")}
    assert told == {
        "value": NEW,
        "agent": "RedSky",
        "operation": "EDIT",
        "version": 2,
        "replaced": LOST,
    }
    assert claim["changes"] == 3
    assert claim["before"]["agent"] == ANN
    assert f'href="/messages/{claim["message_id"]}"' in page
    assert f"RedSky: EDIT in message {claim['message_id']}, v2. Replaced: {LOST}" in page


def test_a_conflict_has_both_values_with_their_authors(workspace: Workspace) -> None:
    document, page = shown(workspace)
    [field] = [each for each in items(document)["H1"]["fields"] if each["conflicts"]]
    [conflict] = field["conflicts"]
    assert (conflict["value"], conflict["agent"]) == (NEW, "RedSky")
    assert [(each["value"], each["agent"]) for each in conflict["displaced"]] == [(LOST, ANN)]
    assert 'class="side stands"' in page
    assert 'id="conflicts"' in page


def test_a_killed_item_is_struck_and_its_reason_is_not(workspace: Workspace) -> None:
    document, page = shown(workspace)
    assert items(document)["H2"]["killed"]["agent"] == "RedSky"
    assert "<s>Lineage</s>" in page
    assert "<s>Lineage decides</s>" in page
    reason = 'Refuted: see <a href="#C1">C1</a> and <a href="/source?section=2#s2">§2</a>'
    assert f"<p>{reason}</p>" in page


def test_only_what_is_there_becomes_a_link(workspace: Workspace) -> None:
    """`H4` is no item of this artifact, `H2O` none at all, and the source text has no §9."""
    document, page = shown(workspace)
    assert set(document["addresses"]) >= {"H1", "§1", "§2"}
    assert not {"H4", "§9"} & set(document["addresses"])
    assert (
        'Neither <a href="#H1">H1</a> nor H4, nor H2O: <a href="/source?section=1#s1">§1</a>, §9'
    ) in page


def test_an_older_version_says_so_and_leads_to_the_latest(workspace: Workspace) -> None:
    document, page = shown(workspace, version="1")
    assert (document["version"], document["latest"], document["is_latest"]) == (1, 2, False)
    assert entry(items(document)["H1"], "claim")["value"] == OLD
    assert "This is not the latest version." in page
    assert f'href="/sessions/{THREAD}/diff?from=1&amp;to=2"' in page
    assert f'href="/sessions/{THREAD}/items/H1?version=1"' in page
    assert "This is not the latest version." not in shown(workspace, version="2")[1]
    with pytest.raises(RequestError):
        shown(workspace, version="9")


def test_lint_findings_stand_at_their_item(workspace: Workspace) -> None:
    document, page = shown(workspace)
    assert document["lint"]["summary"]["errors"]
    of_row = {each["id"] for each in items(document)["P1"]["lint"]}
    everywhere = {each["id"] for each in document["lint"]["violations"] if each.get("item") == "P1"}
    assert of_row == everywhere != set()
    assert 'id="lint"' in page


def test_cached_sections_follow_all_that_they_show(workspace: Workspace) -> None:
    """The reader, the source text, the time and the version; nothing of it is somebody else's."""
    visit = visit_to(workspace, f"/sessions/{THREAD}/artifact", {"thread": THREAD})
    to_source = 'href="/source?section=1#s1"'
    page = looked(artifact.page, visit)[1]
    assert to_source in page
    assert looked(artifact.page, visit)[1] == page
    assert to_source not in looked(artifact.page, visit._replace(guest_of=frozenset({THREAD})))[1]
    assert "2 h ago" in looked(artifact.page, visit._replace(now=visit.now + timedelta(hours=2)))[1]
    workspace.project.folder.joinpath("source.md").write_text("# A text\n\n## §2 The second\n")
    changed = looked(artifact.page, visit)[1]
    assert to_source not in changed
    assert changed.count("lint finding") > page.count("lint finding")
    contribute(workspace, ANN, block("EDIT", "hypothesis_slate", "H3", claim="It is new"))
    compiled(workspace)
    assert "It is new" in looked(artifact.page, visit)[1]


def test_provenance_shows_all_notes(workspace: Workspace) -> None:
    assert 'class="reading artifact provenance"' in shown(workspace, provenance="1")[1]
    assert 'class="reading artifact"' in shown(workspace)[1]


def test_before_the_first_version_it_says_what_will_appear(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "lab")
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    document, page = shown(workspace)
    assert (document["version"], document["deltas"], document["applies"]) == (None, 1, 1)
    assert document["draft"] is True
    assert "1 block of 1 delta would make" in page
    assert f"brenner compile {THREAD}" in page


def test_a_session_without_mail_is_shown_from_its_file(tmp_path: Path) -> None:
    written = opened(tmp_path / "one")
    loaded = artifact.shown_version(visit_to(written, "/", {"thread": THREAD}))
    assert loaded is not None
    other = new_workspace(tmp_path / "other")
    (tmp_path / "other" / "artifacts").mkdir()
    (tmp_path / "other" / "artifacts" / f"{THREAD}.md").write_text(loaded.loaded.text)
    document, page = shown(other)
    assert (document["source"], document["session"]["source"]) == ("file", "file")
    assert [each["id"] for each in document["notes"]] == ["SHOWN_FROM_FILE"]
    assert entry(items(document)["H1"], "claim")["agent"] is None
    assert "The file does not record who set this." in page
    assert document["session"]["card"]["persistence"]["status"] == "Pending"
    with pytest.raises(RequestError):
        shown(other, thread="RS-20251230-nowhere")


def test_a_large_artifact_is_shown_in_parts(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "lab")
    named = {"observation": "o", "conflicts_with": ["H1"], "status": "active"}
    many = [block("ADD", "anomaly_register", None, name=f"x{n}", **named) for n in range(90)]
    contribute(workspace, ANN, *many)
    compiled(workspace)
    document, page = shown(workspace)
    [register] = [each for each in document["sections"] if each["id"] == "anomaly_register"]
    assert (len(register["items"]), register["part"]["total"]) == (10, 90)
    assert register["more"] == f"/sessions/{THREAD}/artifact?section=anomaly_register"
    assert ">All 90</a>" in page
    document, page = shown(workspace, section="anomaly_register", page="3")
    assert list(items(document)) == [f"X{number}" for number in range(81, 91)]
    assert document["addresses"]["H1"] == f"/sessions/{THREAD}/items/H1"
    view = artifact.shown_version(visit_to(workspace, "/", {"thread": THREAD}))
    assert view is not None
    place = f"/sessions/{THREAD}/artifact?section=anomaly_register&page=3#X81"
    assert artifact.item_address(view, "X81") == place
    assert artifact.item_address(view, "H1") == f"/sessions/{THREAD}/artifact#H1"


def test_the_source_text_is_shown_at_its_section(workspace: Workspace) -> None:
    document, page = looked(
        source.source_page, visit_to(workspace, "/source", {}, {"section": "2"})
    )
    assert [each["number"] for each in document["sections"]] == [1, 2]
    assert 'id="s2"' in page
    assert "<em>differ</em>" in page
    document, page = looked(
        source.source_page, visit_to(workspace, "/source", {}, {"section": "9"})
    )
    assert "Section 9 does not exist." in page


def test_a_project_without_a_source_text_says_how_to_name_one(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "lab")
    document, page = looked(
        source.source_page, visit_to(workspace, "/source", {}, {"section": "2"})
    )
    assert (document["path"], document["sections"]) == (None, [])
    assert "source_text = &#34;source.md&#34;" in page
    assert "It has no section" not in page


# In a browser


def test_a_note_appears_on_hover_and_with_a_click(browser_page: Window) -> None:
    page = browser_page.open(f"/sessions/{DEMO}/artifact")
    note = page.locator("#note-H1-claim")
    about = note.locator(".about")
    assert not about.is_visible()
    note.locator("summary").hover()
    about.wait_for(state="visible")
    assert "Replaced the value of" in about.inner_text()
    page.mouse.move(1, 1)
    about.wait_for(state="hidden")
    note.locator("summary").click()
    page.mouse.move(1, 1)
    about.wait_for(state="visible")
    about.get_by_role("link", name="All 2 values over time").click()
    page.wait_for_url("**/items/H1#claim")


def test_a_note_appears_with_a_tap_and_nothing_scrolls_sideways(browser: Any, site: Show) -> None:
    with window(browser, site.base, PHONE) as phone:
        page = phone.open(f"/sessions/{DEMO}/artifact")
        page.locator("#note-H1-claim summary").tap()
        page.locator("#note-H1-claim .about").wait_for(state="visible")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_the_outline_shows_what_happened_to_each_item(workspace: Workspace) -> None:
    """Killed, new or changed in this version; each entry leads to its item."""
    contribute(workspace, ANN, add("Clock"))
    compiled(workspace)
    document, page = shown(workspace)
    states = {item["id"]: item["state"] for each in document["outline"] for item in each["items"]}
    assert {key: states[key] for key in ("H1", "H2", "H4")} == {
        "H1": None,
        "H2": "killed",
        "H4": "new",
    }
    before, _ = shown(workspace, version="2")
    earlier = {item["id"]: item["state"] for each in before["outline"] for item in each["items"]}
    assert earlier["H1"] == "changed"
    first, _ = shown(workspace, version="1")
    assert {item["state"] for each in first["outline"] for item in each["items"]} == {None}
    outline = page.partition("data-outline")[2].partition("</nav>")[0]
    assert '<a href="#H2"><span class="id">H2</span> <s>Lineage</s></a>' in outline


def test_a_long_name_covers_nothing_on_a_phone(browser: Browser, site: Show) -> None:
    """It is cut where there is no room; its whole is in the page."""
    with window(browser, site.base, (320, 700)) as opened:
        for tab in ("artifact", "thread?round=1", "ledger", "agents", "diff"):
            page = opened.open(f"/sessions/{DEMO}/{tab}")
            page.evaluate(
                "document.querySelectorAll('.agent').forEach(each => each.lastChild.data ="
                " ' ANameThatIsMuchLongerThanAnyPhoneIsWideAndThenSome')"
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, tab
            page.close()
