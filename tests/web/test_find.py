"""Finding items: by ID, name and texts, in all sessions or one; what the palette offers of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brenner.artifact.model import Artifact, Item, KillRecord, Metadata
from brenner.mail.search import Query, parse_query
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.decisions import cancel_session
from brenner.services.workspace import Workspace
from brenner.web import sessions
from brenner.web.item_index import find_items, index_artifact
from brenner.web.request import Page
from brenner.web.sessions import SessionRepository
from brenner.web.views import palette, search
from session.workspaces import add
from web.disputed import looked, visit_to
from web.lineage import FIRST, SECOND, THIRD, lineage_in, session


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = lineage_in(tmp_path / "lab")
    yield made
    made.mailbox.close()


def found(workspace: Workspace, thread_id: str = "", **asked: str) -> tuple[dict[str, Any], str]:
    path = f"/sessions/{thread_id}/search" if thread_id else "/search"
    named = {"thread": thread_id} if thread_id else {}
    return looked(search.search_page, visit_to(workspace, path, named, asked))


def ids(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["thread_id"], each["id"]) for each in document["items"]]


def test_items_come_before_messages(workspace: Workspace) -> None:
    document, page = found(workspace, q="gradient reaches")
    assert ids(document) == [(SECOND, "H1")]
    assert document["number_of_items"] == 1
    assert document["messages"]
    assert page.index('id="items"') < page.index('id="messages"')
    assert f'href="/sessions/{SECOND}/items/H1"' in page
    assert "The <mark>gradient</mark> <mark>reaches</mark>" in page


def test_the_best_come_first(workspace: Workspace) -> None:
    """The ID that was asked for, then names, then other texts; killed items after the others."""
    assert ids(found(workspace, q="H2")[0])[:3] == [(THIRD, "H2"), (SECOND, "H2"), (FIRST, "H2")]
    assert (SECOND, "RT") not in ids(found(workspace, q="decides")[0])
    document, page = found(workspace, q="gradient")
    assert ids(document)[-1] == (FIRST, "H2")
    assert document["items"][-1]["killed"]["reason"] == "The gradient is too short for it"
    assert "<s>Lineage alone</s>" in page
    assert "<strong>killed</strong>: The gradient is too short for it" in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("item:H1", [(THIRD, "H1"), (SECOND, "H1"), (FIRST, "H1")]),
        (f"item:H1 thread:{FIRST}", [(FIRST, "H1")]),
        ('"a clock"', [(SECOND, "H3")]),
        ("MORPHÓGEN", [(FIRST, "H1")]),
        ("gradient type:DELTA", []),
        ("gradient from:BlueLake", []),
        ("gradient is:unread", []),
        ("nowhere-at-all", []),
    ],
)
def test_filters(workspace: Workspace, query: str, expected: list[tuple[str, str]]) -> None:
    """Those about items and sessions hold for items; the others are about messages."""
    assert ids(found(workspace, q=query)[0]) == expected


def test_references_are_not_found_by_the_name_of_their_session(workspace: Workspace) -> None:
    assert (THIRD, "H2") not in ids(found(workspace, q="range")[0])


def test_older_messages_come_without_items(workspace: Workspace) -> None:
    assert found(workspace, q="gradient", before="9")[0]["items"] == []


def test_in_one_session(workspace: Workspace) -> None:
    """Items and messages of it; of others nothing, even if the query asks for them."""
    document, page = found(workspace, SECOND, q="gradient")
    assert {thread for thread, _ in ids(document)} == {SECOND}
    assert {each["thread_id"] for each in document["messages"]} == {SECOND}
    assert f'action="/sessions/{SECOND}/search"' in page
    document, _ = found(workspace, SECOND, q=f"gradient thread:{FIRST}")
    assert (document["items"], document["messages"]) == ([], [])


def test_the_latest_version_counts(workspace: Workspace) -> None:
    assert found(workspace, q="thermometer")[0]["items"] == []
    session(workspace, "RS-20260126-heat", "Is it warm?", (add("A thermometer"),))
    assert ids(found(workspace, q="thermometer")[0]) == [("RS-20260126-heat", "H1")]


def test_an_index_is_made_once_per_version(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(thread_id: str, artifact: Artifact) -> Any:
        made.append(thread_id)
        return index_artifact(thread_id, artifact)

    monkeypatch.setattr(sessions, "index_artifact", counted)
    reading = SessionRepository(workspace)
    for _ in range(3):
        for thread_id in (FIRST, SECOND, THIRD):
            assert reading.items(thread_id)
    assert sorted(made) == [FIRST, SECOND, THIRD]


def test_a_file_without_mail_has_items_too(workspace: Workspace) -> None:
    """The pages of a session that is only in a file name its items."""
    folder = workspace.project.folder / "artifacts"
    folder.mkdir(exist_ok=True)
    name = "RS-20250101-old"
    head = f"---\nsession_id: {name}\nversion: 1\n---\n\n# Old\n"
    (folder / f"{name}.md").write_text(f"{head}\n## 1. Research Thread\n\n**RT**: Old?\n")
    assert [(each.id, each.name) for each in SessionRepository(workspace).items(name)] == [
        ("RT", "Old?")
    ]
    assert SessionRepository(workspace).items("RS-20250101-none") == ()


def test_many_items_are_bounded() -> None:
    """All are counted, the best are returned, and a killed one is last."""
    items = [Item(f"H{n}", {"name": "A gradient"}) for n in range(1, 201)]
    items[0] = items[0]._replace(killed=KillRecord("BlueLake", "", "No"))
    empty = Artifact(Metadata(session_id=FIRST))
    artifact = empty._replace(sections={**empty.sections, HYPOTHESIS_SLATE.id: tuple(items)})
    query = parse_query("gradient")
    assert isinstance(query, Query)
    best = find_items(query, [index_artifact(FIRST, artifact)], most=50)
    assert (len(best.items), best.total, best.items[0].id) == (50, 200, "H2")
    everything = find_items(query, [index_artifact(FIRST, artifact)], most=500)
    assert everything.items[-1].id == "H1"


# The palette


def offered(
    workspace: Workspace, thread_id: str = "", guest_of: frozenset[str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    named = {"thread": thread_id} if thread_id else {}
    visit = visit_to(workspace, "/palette", named)._replace(guest_of=guest_of)
    document, page = looked(palette.page, visit)
    assert all(
        each["link"] in page.replace("&amp;", "&")
        for group in document["groups"]
        for each in group["entries"]
    )
    return {group["name"]: group["entries"] for group in document["groups"]}


def links_in(entries: list[dict[str, Any]]) -> list[str]:
    return [each["link"] for each in entries]


def test_the_palette_of_the_project(workspace: Workspace) -> None:
    groups = offered(workspace)
    assert "Actions" not in groups
    assert set(links_in(groups["Sessions"])) == {
        f"/sessions/{each}" for each in (FIRST, SECOND, THIRD)
    }
    assert "/genealogy" in links_in(groups["Pages"])
    assert "/search?q=from%3ABlueLake" in links_in(groups["Agents"])
    killed = [each for each in groups["Items of other sessions"] if each["killed"]]
    assert [(each["session"], each["id"]) for each in killed] == [(FIRST, "H2")]


def test_the_palette_of_a_session(workspace: Workspace) -> None:
    groups = offered(workspace, SECOND)
    assert links_in(groups["Pages of this session"])[0] == f"/sessions/{SECOND}"
    assert {each["session"] for each in groups["Items of this session"]} == {SECOND}
    assert {each["session"] for each in groups["Items of other sessions"]} == {FIRST, THIRD}
    assert [each["title"] for each in groups["Agents"]]


def test_the_palette_of_a_guest(workspace: Workspace) -> None:
    """Only the session of the link, in every part."""
    groups = offered(workspace, SECOND, frozenset({SECOND}))
    every = [each for entries in groups.values() for each in entries]
    assert all(
        each["link"] == "/help" or each["link"].startswith(f"/sessions/{SECOND}") for each in every
    )
    assert "Actions" not in groups
    assert "Items of other sessions" not in groups


@pytest.mark.parametrize("ended", [False, True])
def test_only_what_can_be_done_now_is_offered(workspace: Workspace, *, ended: bool) -> None:
    """After the operator's login; the forms themselves check it again."""
    if ended:
        cancel_session(workspace, SECOND, "No need for it any more")
    visit = visit_to(workspace, "/palette", {"thread": SECOND})
    login: Any = object()
    site = site_of(workspace, ServeSettings(is_lab=True))
    page = palette.page(visit._replace(site=site, login=login))
    assert isinstance(page, Page)
    groups: Any = page.document["groups"]
    actions = {each["title"] for each in groups[0]["entries"]}
    running = {"Start next round", "Complete session", "Cancel session", "Send critique"}
    assert actions & running == (set() if ended else running)
    assert "Compile" not in actions  # nothing is unread
    assert {"Start a session", "Write message", "Persist Artifact"} <= actions
