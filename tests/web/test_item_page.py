"""The permanent address of an item: all that it ever said, and what names it."""

from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import RequestError
from brenner.services.workspace import Workspace
from brenner.web.responses import error_page
from brenner.web.views import artifact as item
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace
from web.disputed import LOST, NEW, OLD, block, compiled, disputed, looked, visit_to


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return disputed(tmp_path / "lab")


def shown(workspace: Workspace, item_id: str, **asked: str) -> tuple[dict[str, Any], str]:
    path = f"/sessions/{THREAD}/items/{item_id}"
    return looked(
        item.item_page, visit_to(workspace, path, {"thread": THREAD, "item": item_id}, asked)
    )


def test_every_change_of_every_field_is_told(workspace: Workspace) -> None:
    document, page = shown(workspace, "H1")
    [claim] = [each for each in document["history"] if each["field"] == "claim"]
    told = [(each["agent"], each["version"], each["value"]) for each in claim["history"]]
    assert told == [(BEA, 2, NEW), (ANN, 2, LOST), (ANN, 1, OLD)]
    assert 'id="claim"' in page
    assert page.count(f"<p>{OLD}</p>") == 2  # as what it was first, and as what was replaced
    assert document["place"] == f"/sessions/{THREAD}/artifact#H1"
    assert f'href="/sessions/{THREAD}/artifact#H1"' in page


def test_what_names_it_is_listed_critiques_first(workspace: Workspace) -> None:
    document, page = shown(workspace, "H1")
    assert [each["id"] for each in document["named_by"]] == ["C1", "H3", "P1"]
    [critique] = document["critiques"]
    assert critique["subject"] == "CRITIQUE: H1 is vague"
    assert f'href="/messages/{critique["message_id"]}"' in page
    assert shown(workspace, "P1")[0]["named_by"] == []


def test_references_lead_both_ways(workspace: Workspace) -> None:
    """Also to another session, and to one that nobody knows."""
    here = {"session": THREAD, "item": "H1", "relation": "refines"}
    nowhere = {"session": "RS-20250101-gone", "item": "H2", "relation": "refutes"}
    edit = block("EDIT", "hypothesis_slate", "H3", references=[here, nowhere])
    contribute(workspace, ANN, edit, base="v2")
    compiled(workspace)
    document, page = shown(workspace, "H3")
    assert [(each["item"], each["link"]) for each in document["references"]] == [
        ("H1", f"/sessions/{THREAD}/items/H1"),
        ("H2", None),
    ]
    assert "broken reference" in page
    document, page = shown(workspace, "H1")
    [back] = document["referred_by"]
    assert (back["item"], back["words"]) == ("H3", "refined by")


def test_an_older_version_of_it(workspace: Workspace) -> None:
    document, page = shown(workspace, "H1", version="1")
    assert document["item"]["fields"][0]["entries"][0]["value"] == OLD
    assert "This is an older version" in page
    assert document["place"] == f"/sessions/{THREAD}/artifact?version=1#H1"


def test_a_killed_one_tells_who_and_why(workspace: Workspace) -> None:
    document, page = shown(workspace, "H2")
    assert document["item"]["killed"]["reason"] == "Refuted: see C1 and §2"
    assert "<s>Lineage</s>" in page
    assert document["addresses"]["C1"] == f"/sessions/{THREAD}/items/C1"


def test_an_unknown_one_is_not_found_and_what_there_is_is_named(workspace: Workspace) -> None:
    with pytest.raises(RequestError) as refused:
        shown(workspace, "H11")
    assert "Hypotheses in v2: H1 Gradient, H3 Neither." in refused.value.diagnostic.message
    assert f"`brenner artifact show {THREAD}`" in refused.value.diagnostic.fix
    assert error_page(refused.value).status == 404
    assert shown(workspace, "h1")[0]["item"]["id"] == "H1"


def test_before_the_first_version_there_is_none(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "lab")
    kickoff(workspace)
    with pytest.raises(RequestError) as refused:
        shown(workspace, "H1")
    assert error_page(refused.value).status == 404


def test_a_killed_hypothesis_that_it_resembles_is_shown(workspace: Workspace) -> None:
    """With the reason of the kill; it does not resemble itself, and guests see only their own."""
    again = add("Lineage again", claim="Lineage decides, whatever the neighbours are")
    contribute(workspace, ANN, again, base="v2")
    compiled(workspace)
    document, page = shown(workspace, "H4")
    [found] = document["resembles"]
    assert (found["session"], found["item"], found["is_referenced"]) == (THREAD, "H2", False)
    assert found["killed"]["reason"] == "Refuted: see C1 and §2"
    assert "Hypotheses that were killed and have many of the same words" in page
    assert shown(workspace, "H2")[0]["resembles"] == []
    assert shown(workspace, "P1")[0]["resembles"] == []
    path = f"/sessions/{THREAD}/items/H4"
    visit = visit_to(workspace, path, {"thread": THREAD, "item": "H4"})
    elsewhere = visit._replace(guest_of=frozenset({"RS-20260101-other"}))
    assert looked(item.item_page, elsewhere)[0]["resembles"] == []
