"""The page of versions: the same as the command line has, and what became of the blocks."""

from pathlib import Path

import pytest

from brenner.services.workspace import Workspace
from brenner.web.views import versions
from mail_shell import Shell
from session.workspaces import THREAD
from web.versions_workspace import a_session, a_visit, shown


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return a_session(tmp_path_factory.mktemp("versions"))


def test_as_the_command_line_has_it(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key with the same value; the latest version first."""
    folder = Path(workspace.project.folder)
    told = Shell(folder, monkeypatch)("artifact", "history", THREAD, "--json").json
    document, _ = shown(versions.page, a_visit(workspace))
    listed = [{key: each[key] for key in told["versions"][0]} for each in document["versions"]]
    assert listed[::-1] == told["versions"]
    assert {key: document[key] for key in ("void", "unread", "summary")} == {
        key: told[key] for key in ("void", "unread", "summary")
    }


def test_what_became_of_the_blocks(workspace: Workspace) -> None:
    """What was refused is counted with the version that refused it."""
    document, page = shown(versions.page, a_visit(workspace))
    assert [each["blocks"] for each in document["versions"]] == [
        {"applied": 1, "refused": 0, "duplicate": 0},
        {"applied": 1, "refused": 0, "duplicate": 0},
        {"applied": 3, "refused": 1, "duplicate": 0},
    ]
    assert '<span class="attention">1 rejected</span>' in page
    assert "0 refused" not in page
    assert '<span class="attention">not valid</span>: ' in page
    assert [each["before"] for each in document["versions"]] == [2, 1, 0]
    assert [each["lint"] is None for each in document["versions"]] == [False, True, True]


def test_what_is_no_version_is_there_with_its_reason(workspace: Workspace) -> None:
    """A COMPILED message by hand is listed, and leads to its message."""
    document, page = shown(versions.page, a_visit(workspace))
    (found,) = document["void"]
    assert f"/messages/{found['message_id']}" in page.partition('id="void"')[2]
    assert found["id"] in page


def test_verifying_rebuilds_every_version(workspace: Workspace) -> None:
    """Only when asked for; then in words, and with the hash of each."""
    assert shown(versions.page, a_visit(workspace))[0]["verified"] is None
    document, page = shown(versions.page, a_visit(workspace, verify="1"))
    assert document["verified"]["ok"] is True
    assert "All 3 versions rebuild from the mail, byte for byte." in page
    assert all(each["artifact_sha256"] in page for each in document["verified"]["versions"])


def test_any_two_can_be_compared_without_scripts(workspace: Workspace) -> None:
    """A form by GET, with what came last chosen."""
    _, page = shown(versions.page, a_visit(workspace))
    form = page.partition('<form class="compare"')[2].partition("</form>")[0]
    assert 'method="get"' in form
    assert '<option value="2" selected>' in form.partition('name="to"')[0]
    assert '<option value="3" selected>' in form.partition('name="to"')[2]
    assert '<option value="0">' in form


def test_many_versions_a_page_at_a_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is a plain link away."""
    monkeypatch.setattr(versions, "_MAX_VERSIONS", 2)
    document, page = shown(versions.page, a_visit(workspace))
    assert [each["version"] for each in document["versions"]] == [3, 2]
    assert f'href="{document["next"]}"' in page
    document, _ = shown(versions.page, a_visit(workspace, page="2"))
    assert [each["version"] for each in document["versions"]] == [1]
    assert document["next"] is None
