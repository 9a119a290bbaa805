"""Two versions compared on the page: by item, side by side, and as plain text."""

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from brenner.artifact.text_diff import side_by_side
from brenner.diagnostics.model import RequestError
from brenner.services.workspace import Workspace
from brenner.web.request import Download
from brenner.web.views import versions
from mail_shell import Shell
from session.workspaces import ANN, BEA, THREAD, contribute
from web.disputed import NEW, block, compiled, disputed, opened, outcomes
from web.versions_workspace import HOSTILE, a_session, a_visit, shown


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return a_session(tmp_path_factory.mktemp("diff"))


def test_as_the_command_line_has_it(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key of every item with the same value."""
    shell = Shell(Path(workspace.project.folder), monkeypatch)
    told = shell("artifact", "diff", f"{THREAD}@v1", "v3", "--json").json
    document, _ = shown(versions.diff_page, a_visit(workspace, from_="1", to="3"))
    items = [{key: each[key] for key in told["items"][0]} for each in document["items"]]
    assert items == told["items"]
    for key in ("old", "new", "sentence", "changes", "unchanged", "metadata"):
        assert document[key] == told[key]


def test_the_latest_against_the_one_before(workspace: Workspace) -> None:
    """Without a question; and the first one against nothing."""
    document, page = shown(versions.diff_page, a_visit(workspace))
    assert (document["from"], document["to"]) == (2, 3)
    assert "<s>Clock</s>" in page
    assert "It predicts nothing" in page
    document, _ = shown(versions.diff_page, a_visit(workspace, to="v1"))
    assert (document["from"], document["to"]) == (0, 1)
    assert document["steps"]["earlier"] is None
    assert document["steps"]["later"].endswith("from=1&to=2")


def test_words_are_marked_and_who_did_it_is_said(workspace: Workspace) -> None:
    """What came is underlined, what went struck through; the delta is one click away."""
    document, page = shown(versions.diff_page, a_visit(workspace, from_="1", to="2"))
    assert "<del>one substance</del><ins>two substances</ins>" in page
    (item,) = document["items"]
    assert item["kinds"] == ["modified"]
    assert [each["agent"] for each in item["by"]] == [ANN]
    assert f"/messages/{item['by'][0]['message_id']}" in page
    assert 'data-step tabindex="-1"' in page
    assert document["same"] == "3 items are the same in both."
    assert [each["id"] for each in document["unchanged_items"]] == ["RT", "H2", "H3"]


def test_backwards(workspace: Workspace) -> None:
    """From a later version to an earlier one, which is said."""
    document, page = shown(versions.diff_page, a_visit(workspace, from_="3", to="1"))
    assert {each["id"]: each["kinds"] for each in document["items"]} == {
        "H1": ["modified"],
        "H3": ["revived"],
    }
    assert "Reverse order" in page
    assert all(each["by"] == [] for each in document["items"])


@pytest.mark.parametrize("asked", ["9", "v9", "abc", "-1", "1e3", "9" * 40, "\u0663", "<b>"])
def test_a_version_that_is_not_there(workspace: Workspace, asked: str) -> None:
    """It says which there are."""
    with pytest.raises(RequestError) as refused:
        versions.diff_page(a_visit(workspace, from_=asked))
    assert refused.value.diagnostic.id == "UNKNOWN_VERSION"
    assert "there are v1 to v3" in refused.value.diagnostic.message


def test_side_by_side(workspace: Workspace) -> None:
    """The line that changed stands beside itself, with its words marked."""
    document, page = shown(versions.diff_page, a_visit(workspace, from_="1", to="2", form="text"))
    changed = [row for row in document["rows"] if not row["same"] and "Claim" in str(row)]
    (row,) = changed
    assert [each["text"] for each in row["left"] if each["mark"] == "removed"] == ["one substance"]
    assert [each["text"] for each in row["right"] if each["mark"] == "inserted"] == [
        "two substances"
    ]
    assert any(row["skipped"] for row in document["rows"])
    assert "<table" in page


def test_plain_text_is_what_the_command_prints(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the page, and alone."""
    shell = Shell(Path(workspace.project.folder), monkeypatch)
    told = shell("artifact", "diff", f"{THREAD}@v1", "v3", "--text").out
    visit = a_visit(workspace, from_="1", to="3", form="plain")
    document, page = shown(versions.diff_page, visit)
    assert document["text"] == told
    shown_text = page.partition('<pre class="unified" tabindex="0">')[2].partition("</pre>")[0]
    assert unescape(shown_text) == told
    raw = versions.diff_page(a_visit(workspace, from_="1", to="3", form="plain", raw="1"))
    assert isinstance(raw, Download)
    assert (raw.text, raw.media_type) == (told, "text/plain; charset=utf-8")


@pytest.mark.parametrize("form", ["items", "text", "plain"])
def test_what_others_wrote_is_text(workspace: Workspace, form: str) -> None:
    """No tag, no attribute, nothing turned."""
    _, page = shown(versions.diff_page, a_visit(workspace, from_="0", to="3", form=form))
    assert HOSTILE not in page
    assert "<b onclick" not in page
    assert "\u202e" not in page
    assert "quoted" in page


def test_a_large_difference_a_part_at_a_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items and lines, each with a link to the next."""
    monkeypatch.setattr(versions, "_MAX_ITEMS", 2)
    monkeypatch.setattr(versions, "_MAX_ROWS", 5)
    monkeypatch.setattr(versions, "_MAX_LINES", 5)
    whole, _ = shown(versions.diff_page, a_visit(workspace, from_="0", to="3"))
    assert len(whole["items"]) == 2
    assert whole["next"].endswith("page=2")
    assert len(whole["changes"]["added"]) == 3
    rows: list[Any] = []
    number, has_more = 1, True
    while has_more:
        part, _ = shown(
            versions.diff_page, a_visit(workspace, from_="0", form="text", page=str(number))
        )
        rows, number, has_more = [*rows, *part["rows"]], number + 1, bool(part["next"])
    assert len(rows) == part["part"]["total"] > 5
    plain, _ = shown(versions.diff_page, a_visit(workspace, from_="0", form="plain"))
    assert plain["text"].count("\n") == 5
    assert plain["next"] == plain["raw"]


def test_a_replacement_too_long_to_pair_is_shown_as_it_is() -> None:
    """Nothing is compared that would take the square of its length."""
    old = [f"old {number} word\n" for number in range(3_000)]
    new = [f"new {number} word\n" for number in range(3_000)]
    pairs, _ = side_by_side(old, new)
    assert len(pairs) == 3_000
    assert not any(pair.is_similar for pair in pairs)


def test_a_field_in_conflict_says_whose_value_stands(tmp_path: Path) -> None:
    disputed_desk = disputed(tmp_path / "lab")
    document, page = shown(versions.diff_page, a_visit(disputed_desk, from_="1", to="2"))
    (item,) = (each for each in document["items"] if each["id"] == "H1")
    (field,) = (each for each in item["marks"] if each["conflict"])
    found = field["conflict"]
    assert (field["label"], found["agent"], found["value"]) == ("Claim", BEA, NEW)
    assert [lost["agent"] for lost in found["displaced"]] == [ANN]
    assert page.count("Conflict</strong>") == 1
    _, first = shown(versions.diff_page, a_visit(disputed_desk, from_="0", to="1"))
    assert "Conflict</strong>" not in first


def test_who_killed_it_has_her_mark_and_the_time_is_one(tmp_path: Path) -> None:
    _, page = shown(versions.diff_page, a_visit(disputed(tmp_path / "lab"), from_="1", to="2"))
    told = page.split("<dt>Killed by</dt>")[1].split("</dd>")[0]
    assert '<span class="initials" aria-hidden="true">RS</span> RedSky' in told
    assert "<time datetime=" in told


def test_what_only_follows_from_a_kill_is_folded(tmp_path: Path) -> None:
    """A killed hypothesis takes its outcomes along; what somebody did is seen first."""
    workspace = disputed(tmp_path / "lab")
    contribute(workspace, ANN, *(outcomes(H1="falls", H3=f"stays {n}") for n in range(3)))
    compiled(workspace)
    kill = block("KILL", "hypothesis_slate", "H3", reason="Refuted")
    contribute(workspace, ANN, kill, base="v3")
    compiled(workspace)
    _, page = shown(versions.diff_page, a_visit(workspace, from_="3", to="4"))
    folded = page.split('<details class="folded">')[1].split("</details>")[0]
    assert "<summary>4 items changed only to N/A for H3</summary>" in folded
    assert folded.count('class="change modified"') == 4


def test_a_text_of_which_little_is_left_is_a_new_paragraph(tmp_path: Path) -> None:
    """The old one is struck, the new one is below; an edit is marked word by word."""
    old = "The gradient of one substance decides where a cell of the disc stands along the axis"
    new = "Neighbours compare their surfaces, and each cell counts its steps from the border of it"
    edited = old.replace("one substance", "two substances")
    workspace = opened(tmp_path / "lab")
    for claim in (old, edited, new):
        contribute(workspace, ANN, block("EDIT", "hypothesis_slate", "H1", claim=claim))
        compiled(workspace)
    document, page = shown(versions.diff_page, a_visit(workspace, from_="3", to="4"))
    marks = document["items"][0]["marks"][0]["marks"]
    assert marks == [{"mark": "removed", "text": edited}, {"mark": "inserted", "text": new}]
    assert f'<del class="whole">{edited}</del><ins class="whole">{new}</ins>' in page
    _, page = shown(versions.diff_page, a_visit(workspace, from_="2", to="3"))
    assert "<del>one" in page
    assert 'class="whole"' not in page
