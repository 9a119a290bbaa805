"""A session as a file: it stands alone, it is whole, and nothing in it can do anything."""

import json
import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from brenner.diagnostics.model import RequestError
from brenner.services.versions import Target, load_version
from brenner.services.workspace import Workspace
from brenner.web.request import Download
from brenner.web.views import artifact, exports
from brenner.web.views import project as agents
from session.workspaces import THREAD, kickoff, new_workspace
from web.browsing import THREAD as SHOWN
from web.browsing import Show, window
from web.versions_workspace import HOSTILE, a_session, a_visit


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return a_session(tmp_path_factory.mktemp("exports"))


def exported(workspace: Workspace, form: str, version: str = "") -> Download:
    """The file of that form."""
    answer = exports.page(a_visit(workspace, f"/sessions/{THREAD}/export/{form}", version=version))
    assert isinstance(answer, Download)
    return answer


def test_the_report_stands_alone(workspace: Workspace) -> None:
    """No script, no form, nothing loaded; only its own style counts."""
    file = exported(workspace, "html")
    text = file.text
    assert file.file_name == f"{THREAD}.html"
    assert not re.search(r"<(script|form|link|img|iframe|object)\b", text)
    assert not re.search(r"\b(src|style|action|on\w+)=\"", text)
    style = text.partition("<style>")[2].partition("</style>")[0]
    hashed = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{hashed}'"
    assert file.policy.startswith(policy)
    assert policy in unescape(text.partition('content="')[2])


def test_links_lead_to_places_in_the_file(workspace: Workspace) -> None:
    """Every anchor is there, and there once."""
    text = exported(workspace, "html").text
    ids = Counter(re.findall(r'\bid="([^"]*)"', text))
    assert [each for each, times in ids.items() if times > 1] == []
    hrefs = re.findall(r'href="([^"]*)"', text)
    assert [each for each in hrefs if not each.startswith("#") or each[1:] not in ids] == []
    assert {"#H1", "#message-1", "#artifact", "#thread"} <= set(hrefs)


def test_the_report_is_whole(workspace: Workspace) -> None:
    """Question, every item with its history, every version and message, what was refused."""
    text = exported(workspace, "html").text
    assert "What tells a cell where it is?" in text
    assert "<del>one substance</del><ins>two substances</ins>" in text
    assert "It predicts nothing" in text
    assert all(f'id="message-{number}"' in text for number in range(1, 10))
    assert all(f'id="{each}"' in text for each in ("H1", "H2", "H3", "v1", "v2", "v3"))
    refused = text.partition('id="ledger"')[2].partition('id="agents"')[0]
    assert "H77" in refused
    assert 'class="note"' in text  # who set what


def test_all_items_of_a_large_artifact(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the page shows the beginning of each section, the report has every item, once."""
    monkeypatch.setattr(artifact, "_MAX_WHOLE", 1)
    monkeypatch.setattr(artifact, "_MAX_OF_SECTION", 1)
    monkeypatch.setattr(artifact, "_MAX_ON_PAGE", 2)
    text = exported(workspace, "html").text
    assert [text.count(f' id="{each}"') for each in ("RT", "H1", "H2", "H3")] == [1, 1, 1, 1]
    assert text.index(' id="H1"') < text.index(' id="H2"') < text.index(' id="H3"')


def test_what_is_left_out_is_said(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a page has several parts, the file has the first, and says so."""
    monkeypatch.setattr(agents, "_AGENTS_PER_PAGE", 1)
    chapter = exported(workspace, "html").text.partition('id="agents"')[2]
    assert re.search(r"1–1 of \d agents are in this file", chapter)


def test_what_others_wrote_is_text(workspace: Workspace) -> None:
    """In no chapter is it more."""
    text = exported(workspace, "html").text
    assert HOSTILE not in text
    assert "<b onclick" not in text
    assert "\u202e" not in text
    assert "quoted" in text


def test_one_heading_of_the_first_level(workspace: Workspace) -> None:
    """The chapters stand under it."""
    text = exported(workspace, "html").text
    levels = [
        int(level or tag) for tag, level in re.findall(r'<h([1-6])(?: aria-level="(\d)")?', text)
    ]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_markdown_is_the_artifact(workspace: Workspace) -> None:
    """Byte for byte, of any version; one that is not there is refused."""
    latest = exported(workspace, "md")
    assert latest.text == load_version(workspace, Target(THREAD)).text
    assert (latest.file_name, latest.media_type) == (f"{THREAD}.md", "text/markdown; charset=utf-8")
    first = exported(workspace, "md", version="1")
    assert first.text == load_version(workspace, Target(THREAD, 1)).text
    assert first.file_name == f"{THREAD}-v1.md"
    with pytest.raises(RequestError):
        exported(workspace, "md", version="7")


def test_json_has_everything(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, artifact, history, ledger, and every message with its text."""
    found = json.loads(exported(workspace, "json").text)
    assert found["status"]["thread_id"] == found["thread_id"] == THREAD
    assert [each["id"] for each in found["artifact"]["hypothesis_slate"]] == ["H1", "H2", "H3"]
    assert [each["version"] for each in found["history"]["versions"]] == [1, 2, 3]
    assert [each["refused"] for each in found["ledger"]] == [1, 0, 0]
    bodies = [each.message.body for each in workspace.mailbox.thread(THREAD).messages]
    assert [each["body"] for each in found["messages"]] == bodies
    assert found["has_bodies"] is True
    monkeypatch.setattr(exports, "_MAX_BODIES", 10)
    found = json.loads(exported(workspace, "json").text)
    assert found["has_bodies"] is False
    assert {each["body"] for each in found["messages"]} == {None}
    assert found["messages"][0]["raw"] == "/messages/1/raw"


def test_no_other_forms(workspace: Workspace) -> None:
    """What is no form of ours is nowhere."""
    with pytest.raises(RequestError) as refused:
        exports.page(a_visit(workspace, f"/sessions/{THREAD}/export/pdf"))
    assert refused.value.diagnostic.id == "NO_SUCH_PAGE"


@pytest.mark.parametrize("thread", ["..", "a/b", 'x"y', "RS-20251230-Cell", "a\r\nb"])
def test_a_file_has_a_name_that_is_one(workspace: Workspace, thread: str) -> None:
    """What cannot name a file names no export."""
    visit = a_visit(workspace, f"/sessions/{THREAD}/export/md")
    with pytest.raises(RequestError):
        exports.page(visit._replace(parameters={**visit.parameters, "thread": thread}))


def test_before_the_first_version(tmp_path: Path) -> None:
    """The report has the thread; there is no artifact to give away yet."""
    workspace = new_workspace(tmp_path)
    kickoff(workspace)
    text = exported(workspace, "html").text
    assert 'id="message-1"' in text
    assert 'id="evidence"' not in text
    assert json.loads(exported(workspace, "json").text)["artifact"] is None
    with pytest.raises(RequestError) as refused:
        exported(workspace, "md")
    assert refused.value.diagnostic.id == "NO_VERSION_YET"


def test_saved_and_opened_from_disk(browser: Browser, site: Show, tmp_path: Path) -> None:
    """As a browser saves it: no console error, no request, its style in force, links that work."""
    with window(browser, site.base) as opened:
        page = opened.open(f"/sessions/{SHOWN}/versions")
        with page.expect_download() as saved:
            page.click('a[href$="/export/html"]')
        assert saved.value.suggested_filename == f"{SHOWN}.html"
        saved.value.save_as(tmp_path / "report.html")
    context = browser.new_context(viewport={"width": 390, "height": 844})
    wrong: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda said: wrong.append(said.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    assert (wrong, asked) == ([], [(tmp_path / "report.html").as_uri()])
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 390
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    page.click('nav[aria-label="Contents"] a[href="#thread"]')
    assert page.url.endswith("#thread")
    context.close()
