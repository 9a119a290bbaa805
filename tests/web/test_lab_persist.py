"""Persisting in the lab, in real repositories: what is shown is written, or nothing is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import void_version
from brenner.services.workspace import Workspace
from brenner.web.lab.compile import COMPILE_ACTION, PERSIST_ACTION
from brenner.web.request import Page
from session.repositories import git, settings, start_repository
from session.workspaces import ANN, THREAD, add, contribute, kickoff, new_workspace
from web.lab_visits import Operator

__all__ = ["settings"]

Json = dict[str, Any]
PATH = f"artifacts/{THREAD}.md"
MESSAGE = f"artifact({THREAD}): v1 - "


@pytest.fixture
def workspace(tmp_path: Path, settings: Path) -> Iterator[Workspace]:
    """A session with a version, in a repository with one commit."""
    with new_workspace(tmp_path / "project") as here:
        start_repository(here.project.folder)
        publish(here, "Gradient")
        yield here


def publish(workspace: Workspace, name: str) -> None:
    if not workspace.mailbox.threads():
        kickoff(workspace)
    contribute(workspace, ANN, add(name))
    compile_thread(workspace, THREAD, CompileOptions())


@pytest.fixture
def operator(workspace: Workspace) -> Operator:
    return Operator(workspace, THREAD)


def seen(page: Page) -> Json:
    return cast("Json", page.document["preview"])


def log(workspace: Workspace) -> list[str]:
    return git(workspace.project.folder, "log", "--format=%s").splitlines()


def file_of(workspace: Workspace) -> Path:
    return workspace.project.folder / PATH


def test_the_preview_shows_the_file_and_the_commit_and_writes_nothing(operator: Operator) -> None:
    page = operator.form(PERSIST_ACTION)
    preview = seen(page)
    assert (preview["version"], preview["path"]) == (1, PATH)
    assert preview["commit"].startswith(MESSAGE)
    assert "+### H1" in preview["difference"]
    assert preview["would"].startswith(f"Writes v1 to {PATH} (")
    assert "commits only that" in preview["would"]
    assert cast("Json", page.document["fields"])["commit"]
    assert not file_of(operator.workspace).exists()
    assert len(log(operator.workspace)) == 1


def test_it_is_written_committed_and_said_once(operator: Operator) -> None:
    folder = operator.workspace.project.folder
    (folder / "mine.txt").write_text("mine", "utf-8")
    git(folder, "add", "mine.txt")
    fields = {"version": "1", "commit": "yes"}
    key = operator.login.once.key()
    done = operator.done(PERSIST_ACTION, fields, key)
    assert operator.done(PERSIST_ACTION, fields, key) is done
    commit = git(folder, "rev-parse", "HEAD").strip()
    assert done.document["commit"] == commit
    short = commit[:12]
    assert done.says == f"Committed: v1 is in {PATH}, commit {short}; announced in message 4."
    assert log(operator.workspace)[0].startswith(MESSAGE)
    shown = git(folder, "show", "--name-only", "--format=", "HEAD").split()
    assert shown == [PATH]
    assert git(folder, "diff", "--cached", "--name-only").split() == ["mine.txt"]
    another = operator.done(PERSIST_ACTION, fields)
    assert another.document["message_id"] == done.document["message_id"] == 4
    assert len(log(operator.workspace)) == 2
    after = operator.form(PERSIST_ACTION)
    assert seen(after)["difference"] == ""
    assert seen(after)["would"] == (
        f"Nothing to do: {PATH} already contains v1 and is committed in {commit[:12]}."
    )


def test_edits_by_hand_are_in_the_way_and_shown(operator: Operator) -> None:
    operator.done(PERSIST_ACTION, {"version": "1"})
    file = file_of(operator.workspace)
    edited = file.read_text("utf-8").replace("Gradient decides", "Gradients decide")
    file.write_text(edited, "utf-8")
    assert seen(operator.form(PERSIST_ACTION))["fault"]["id"] == "ARTIFACT_FILE_EDITED"
    assert not list((operator.workspace.project.folder / ".brenner").glob("*.human.md"))
    page = operator.again(PERSIST_ACTION, {"version": "1", "commit": "yes"})
    preview = seen(page)
    assert page.status == 422
    assert preview["fault"]["id"] == "ARTIFACT_FILE_EDITED"
    assert "+**Claim**: Gradients decide" in "\n".join(preview["details"])
    assert "DELTA[human]" in preview["fault"]["repaired"]
    assert file.read_text("utf-8") == edited
    assert len(log(operator.workspace)) == 1
    forced = operator.done(PERSIST_ACTION, {"version": "1", "commit": "yes", "force": "yes"})
    assert forced.is_done
    assert "Gradient decides" in file.read_text("utf-8")


def test_without_a_repository_nothing_is_committed_and_nothing_written(
    tmp_path: Path, settings: Path
) -> None:
    with new_workspace(tmp_path / "bare") as workspace:
        publish(workspace, "Gradient")
        operator = Operator(workspace, THREAD)
        page = operator.again(PERSIST_ACTION, {"version": "1", "commit": "yes"})
        assert seen(page)["fault"]["id"] == "NOT_A_REPOSITORY"
        assert seen(page)["would"] == "Cannot save: see the preview."
        assert not file_of(workspace).exists()
        assert operator.done(PERSIST_ACTION, {"version": "1"}).document["words"] == "Written"


def test_without_git_the_page_says_so(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    page = operator.again(PERSIST_ACTION, {"version": "1", "commit": "yes"})
    assert seen(page)["fault"]["id"] == "GIT_MISSING"
    assert not file_of(operator.workspace).exists()


def test_a_hook_that_refuses_leaves_the_file_and_says_how_far_it_came(operator: Operator) -> None:
    hook = operator.workspace.project.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    done = operator.done(PERSIST_ACTION, {"version": "1", "commit": "yes"})
    assert not done.is_done
    assert done.document["heading"] == "Partly done"
    assert f"{PATH} contains v1, but it is not committed" in done.says
    assert cast("list[Json]", done.document["violations"])[0]["id"] == "HOOK_FAILED"
    assert "not today" in done.says
    hook.unlink()
    assert operator.done(PERSIST_ACTION, {"version": "1", "commit": "yes"}).is_done


def test_a_version_that_is_not_the_latest_any_more_is_not_written(operator: Operator) -> None:
    publish(operator.workspace, "Clock")
    page = operator.again(PERSIST_ACTION, {"version": "1"})
    assert page.status == 409
    assert cast("Json", page.document["fault"])["id"] == "VERSION_NOT_LATEST"
    assert seen(page)["version"] == 2
    assert not file_of(operator.workspace).exists()


def test_another_version_of_the_same_number_is_not_written(operator: Operator) -> None:
    """A void version's number is given again; what was shown was the other one."""
    shown = str(seen(operator.form(PERSIST_ACTION))["message_id"])
    void_version(operator.workspace, THREAD, 1, "It was wrong")
    publish(operator.workspace, "Clock")
    page = operator.again(PERSIST_ACTION, {"version": "1", "message": shown})
    assert page.status == 409
    assert "is the valid v1" in cast("Json", page.document["fault"])["message"]
    assert not file_of(operator.workspace).exists()


def test_only_what_was_seen_is_written_over(operator: Operator) -> None:
    """Somebody edits the file after the preview: her words are shown before they are given up."""
    operator.done(PERSIST_ACTION, {"version": "1"})
    publish(operator.workspace, "Clock")
    shown = operator.preview(PERSIST_ACTION, {"force": "yes"})
    file = file_of(operator.workspace)
    edited = f"{file.read_text('utf-8')}\nHandwork.\n"
    file.write_text(edited, "utf-8")
    fields = {"version": "2", "force": "yes", "file": str(shown["file"])}
    page = operator.again(PERSIST_ACTION, fields)
    assert cast("Json", page.document["fault"])["id"] == "FILE_OVERTAKEN"
    assert file.read_text("utf-8") == edited
    assert "-Handwork." in seen(page)["difference"]
    assert operator.done(PERSIST_ACTION, fields | {"file": str(seen(page)["file"])}).is_done


def test_a_compile_writes_over_only_what_was_seen(operator: Operator) -> None:
    """The same for a version that is published and kept at once: then nothing is published."""
    operator.done(PERSIST_ACTION, {"version": "1"})
    contribute(operator.workspace, ANN, add("Clock"))
    shown = operator.preview(COMPILE_ACTION, {"persist": "yes", "force": "yes"})
    file = file_of(operator.workspace)
    edited = f"{file.read_text('utf-8')}\nHandwork.\n"
    file.write_text(edited, "utf-8")
    marks = {name: str(shown[name]) for name in ("position", "seen", "file")}
    page = operator.again(COMPILE_ACTION, {"persist": "yes", "force": "yes"} | marks)
    assert cast("Json", page.document["fault"])["id"] == "FILE_OVERTAKEN"
    assert file.read_text("utf-8") == edited
    assert seen(operator.form(PERSIST_ACTION))["version"] == 1


def test_a_folder_with_a_line_feed_in_its_name(tmp_path: Path, settings: Path) -> None:
    """The answers of git are parted by line feeds, too."""
    with new_workspace(tmp_path / "new\nline") as here:
        start_repository(here.project.folder)
        publish(here, "Gradient")
        assert (
            Operator(here, THREAD).done(PERSIST_ACTION, {"version": "1", "commit": "yes"}).is_done
        )
        assert log(here)[0].startswith(MESSAGE)


def test_a_hook_that_changes_the_file_is_told_rightly(operator: Operator) -> None:
    """It is written and committed, but not as the version has it."""
    hook = operator.workspace.project.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho more >> {PATH}\ngit add {PATH}\n", "utf-8")
    hook.chmod(0o755)
    done = operator.done(PERSIST_ACTION, {"version": "1", "commit": "yes"})
    assert (done.is_done, done.document["heading"]) == (False, "Partly done")
    assert f"{PATH} does not contain v1" in done.says


@pytest.mark.thorough
def test_it_is_pushed_and_the_mail_goes_along(operator: Operator, tmp_path: Path) -> None:
    folder = operator.workspace.project.folder
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(folder, "push", "--quiet", "--set-upstream", "origin", "main")
    fields = {"version": "1", "push": "yes", "archive": "yes"}
    preview = operator.preview(PERSIST_ACTION, fields)
    assert preview["destination"] == "main to origin"
    assert preview["archive"] == f"artifacts/{THREAD}.mail.jsonl"
    done = operator.done(PERSIST_ACTION, fields)
    assert done.document["words"] == "Committed and pushed"
    assert git(tmp_path / "remote.git", "log", "--format=%s", "main").startswith(MESSAGE)


def test_a_session_without_a_version_has_nothing_to_persist(workspace: Workspace) -> None:
    other = "RS-20260101-nothing-yet"
    contribute_to = workspace.mailbox.thread(THREAD).messages[0].message._replace(thread_id=other)
    workspace.mailbox.send(contribute_to)
    page = Operator(workspace, other).form(PERSIST_ACTION)
    assert seen(page)["fault"]["id"] == "NO_VERSION_YET"
    assert seen(page)["version"] is None


def test_unread_mail_is_named_that_the_version_has_not(operator: Operator) -> None:
    contribute(operator.workspace, ANN, add("Late"), base="v1")
    page = operator.form(PERSIST_ACTION)
    assert seen(page)["unread"] == 1
    assert "1 message is not in any version yet" in operator.html(page)
