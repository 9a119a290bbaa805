"""Copying into a home that has a thread of the same ID: what went on in both is not mixed."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.model import MessageRecord, Profile
from brenner.mail.open import store_of
from brenner.services.copy_mail import CopyResult, copy_mail
from brenner.services.workspace import Workspace
from mail_shell import Shell
from session.copy_backends import AGENT_MAIL, KINDS, SQLITE, copied, home, mail_of, records
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace, write


def session(folder: Path, claim: str) -> Project:
    """A project with a session of its own, under the same ID; it has one version."""
    with new_workspace(folder) as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add(claim))
        workspace.compile(THREAD)
    return Project(folder)


@pytest.fixture
def source(tmp_path: Path) -> Project:
    """A session."""
    return session(tmp_path / "one", "Gradient")


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Another home, with the mail of another session of that ID."""
    other = session(tmp_path / "two", "Lineage")
    if request.param == SQLITE:
        yield other
        return
    with ExitStack() as stack:
        there = stack.enter_context(home(request.param, tmp_path, "target"))
        copied(other, there)
        yield there


def by_code(done: CopyResult) -> dict[str, str]:
    """What was found, the advice for each code."""
    return {found.id: found.fix for found in done.diagnostics}


@pytest.mark.parametrize("target", KINDS, indirect=True)
def test_two_sessions_of_one_id(source: Project, target: Project) -> None:
    """Refused before anything is written; the threads are named, and what each side lacks."""
    before = records(target), records(source)
    with mail_of(target) as mailbox:
        agents = mailbox.agents()
    with pytest.raises(RequestError) as caught:
        copy_mail(source, target)
    found = caught.value.diagnostic
    assert found.id == "THREADS_DIVERGE"
    assert f"in {THREAD} the source lacks 2 messages and the target 2." in found.message
    assert "an empty store" in found.fix
    assert (records(target), records(source)) == before
    with mail_of(target) as mailbox:
        assert mailbox.agents() == agents


@pytest.mark.parametrize("target", KINDS, indirect=True)
def test_forced(source: Project, target: Project) -> None:
    """Then it is told which versions are not what they were, also those of the target."""
    done = copy_mail(source, target, force=True)
    assert not done.ok
    found = by_code(done)
    assert found.keys() & {"COPY_INCOMPLETE", "TARGET_NOT_VERIFIED"}  # one of both is v1 now
    for advice in (found.get("COPY_INCOMPLETE", ""), found.get("TARGET_NOT_VERIFIED", "")):
        assert "tell us" not in advice
    again = copy_mail(source, target)
    assert "tell us" not in by_code(again).get("COPY_INCOMPLETE", "")


def with_higher_ids(project: Project, folder: Path) -> Project:
    """The same mail in a store in which others have used the first hundred ids."""
    with mail_of(project) as mailbox:
        agents = mailbox.agents()
    shifted = [
        MessageRecord(each.stored._replace(id=each.stored.id + 100, origin_id=each.stored.id + 100))
        for each in records(project)
    ]
    folder.mkdir()
    later = Project(folder)
    with store_of(later).create() as mailbox:
        mailbox.restore(agents, shifted)
    return later


def test_versions_of_the_target_that_are_void(source: Project, tmp_path: Path) -> None:
    """Of two messages for a version the one with the lower id is it, and that is the other's."""
    target = with_higher_ids(session(tmp_path / "two", "Lineage"), tmp_path / "three")
    done = copy_mail(source, target, force=True)
    (found,) = done.diagnostics
    assert found.id == "TARGET_NOT_VERIFIED"
    assert f"v1 of {THREAD} cannot be rebuilt there (its text is different)" in found.message
    assert "`--force`" in found.fix
    assert not done.ok


def test_versions_of_the_target_that_are_gone(source: Project, tmp_path: Path) -> None:
    """Later ones of the target build on a first one that is another now."""
    other = session(tmp_path / "two", "Lineage")
    with mail_of(other) as mailbox:
        workspace = Workspace(mailbox, other, "Operator")
        for claim in ("Clock", "Tide"):
            contribute(workspace, BEA, add(claim))
            workspace.compile(THREAD)
    target = with_higher_ids(other, tmp_path / "three")
    done = copy_mail(source, target, force=True)
    said = [each.message for each in done.diagnostics if each.id == "TARGET_NOT_VERIFIED"]
    assert len(said) == 3
    assert f"v3 of {THREAD} is void" in said[2]


def test_one_that_went_on_in_both(source: Project, tmp_path: Path) -> None:
    """A copy to which both sides have added since; the other threads do not matter."""
    (tmp_path / "two" / ".brenner").mkdir(parents=True)
    target = Project(tmp_path / "two")
    copied(source, target)
    for project, subject in ((source, "INFO: Here"), (target, "INFO: There")):
        with mail_of(project) as mailbox:
            write(Workspace(mailbox, project, "Operator"), ANN, subject, "News.\n")
    with pytest.raises(RequestError) as caught:
        copy_mail(source, target)
    assert (
        f"in {THREAD} the source lacks 1 message and the target 1."
        in caught.value.diagnostic.message
    )
    done = copy_mail(source, target, force=True)  # no version has read either
    assert (done.ok, done.restored.added) == (True, 1)


def test_other_threads_on_both_sides(source: Project, tmp_path: Path) -> None:
    """Threads that are in one home only diverge from nothing."""
    (tmp_path / "two").mkdir()
    target = Project(tmp_path / "two")
    with store_of(target).create() as mailbox:
        for name in (ANN, BEA, "Operator"):
            mailbox.register(Profile(name))
        message = records(source)[0].stored.message
        mailbox.send(message._replace(thread_id="RS-20260101-another"))
    assert copied(source, target).restored.added == 3


def twice_compiled(source: Project, folder: Path) -> Project:
    """The same mail with a second message for v1, of a later id though of an earlier time."""
    found = records(source)
    *rest, version = found
    message = version.stored.message
    other = message._replace(body=f"{message.body}\nPosted by another machine.\n")
    with mail_of(source) as mailbox:
        agents = mailbox.agents()
    for name in ("scratch", "raced"):
        (folder / name).mkdir()
    scratch = Project(folder / "scratch")
    with store_of(scratch).create() as mailbox:
        mailbox.restore(agents, [*rest])
        stored = mailbox.send(other).stored
    rival = MessageRecord(
        stored._replace(id=version.stored.id + 1, origin_id=version.stored.id + 1)
    )
    earlier = version.stored.at - timedelta(microseconds=1)
    rival = rival._replace(stored=rival.stored._replace(at=earlier, is_local=False))
    project = Project(folder / "raced")
    with store_of(project).create() as mailbox:
        mailbox.restore(agents, [*rest, rival, version])
    return project


def test_another_message_becomes_the_version(source: Project, tmp_path: Path) -> None:
    """Of two for v1 the lower id counts; a server gives new ones, in the order of the thread."""
    raced = twice_compiled(source, tmp_path)
    with home(AGENT_MAIL, tmp_path, "raced") as target:
        done = copy_mail(raced, target)
    (found,) = [each for each in done.diagnostics if each.severity == "error"]
    assert found.id == "COPY_INCOMPLETE"
    assert f"v1 of {THREAD} cannot be rebuilt there (its message is different)" in found.message


def test_words(source: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line: exit code 1, both stores in the document, nothing done."""
    target = session(tmp_path / "two", "Lineage")
    copy = Shell(source.folder, monkeypatch)
    other = f"sqlite:///{target.folder}/.brenner/mail.sqlite3"
    done = copy("mail", "copy", "--to", other, "--json")
    assert (done.code, done.codes) == (1, ["THREADS_DIVERGE"])
    assert done.json["from"] == f"{source.folder}/.brenner/mail.sqlite3"
    assert done.json["to"] == f"{target.folder}/.brenner/mail.sqlite3"
    shutil.rmtree(target.folder / ".brenner")
    refused = copy("mail", "copy", "--to", other, "--json")
    assert (refused.code, refused.codes) == (2, ["STORE_FOLDER_MISSING"])
    (target.folder / ".brenner").mkdir()
    assert copy("mail", "copy", "--to", other).code == 0
