"""Compilers on one thread, and agents who write meanwhile: gapless, unique, nothing lost (R17).

A home that keeps them apart has one message for each version. On an Agent Mail server there may be
more: then one is the version, and the thread says of each other one that it is void.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from brenner.diagnostics.codes.publishing import VOID_VERSION
from brenner.mail.agent_mail import mailbox as sending
from brenner.mail.agent_mail.mirror import ProjectView
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.protocol.messages import Envelope, Message, StoredMessage
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.versions import verify
from brenner.services.workspace import Workspace, workspace_in
from mail.processes import answered, release, start
from session.backends import HOUSINGS, OPERATOR, housed, postgresql_store, sqlite_store
from session.compile_work import THREAD, compile_together, contribution
from session.concurrent_compiles import Race, check_versions, race
from session.workspaces import project_in

pytestmark = pytest.mark.thorough

COMPILERS = ("Operator", "Ann", "Bea", "Cyd", "Dan", "Eve", "Fay", "Gus")
AUTHORS = ("BlueLake", "RedSky", "GreenHill")
EACH = 12
AGENT_MAIL = HOUSINGS[-1]
FEWER = (OPERATOR, "AmberBeacon", "CalmCedar", "SwiftHeron")  # a server takes its time


@pytest.mark.parametrize("store", [sqlite_store, postgresql_store])
def test_eight_compilers_at_once(tmp_path: Path, store: Callable[[Path], str]) -> None:
    """Each number once, each contribution in one version, each refused one answered once (R17)."""
    (tmp_path / "brenner.toml").write_text(f'store = "{store(tmp_path)}"\n', "utf-8")
    project = project_in(tmp_path)
    open_mailbox(project, create=True).close()
    done = race(tmp_path, COMPILERS, AUTHORS, EACH)
    with workspace_in(project, None, create=False) as workspace:
        check_versions(workspace, done)
        assert verify(workspace, THREAD).notes == ()  # no message is void
        messages = workspace.mailbox.thread(THREAD).messages
        compiled = [each.id for each in messages if each.type == "COMPILED"]
        assert compiled == [done.published[number] for number in sorted(done.published)]
        replies = [each.reply_to for each in messages if "Validation error" in each.message.subject]
        assert Counter(replies) == Counter(done.sent)


def voided(workspace: Workspace) -> list[StoredMessage]:
    """The COMPILED messages that are no version."""
    notes = verify(workspace, THREAD).notes
    assert {each.code for each in notes} <= {VOID_VERSION}
    return [workspace.mailbox.message(each.message_id or 0) for each in notes]


def check_said(workspace: Workspace, void: list[StoredMessage]) -> None:
    """The compiler of each void message has told the thread so, once."""
    told = [
        (each.message.sender, each.message.subject)
        for each in workspace.mailbox.thread(THREAD).messages
        if each.message.subject.startswith("INFO: Message ")
    ]
    expected = [
        (each.message.sender, f"INFO: Message {each.id} is void, it is not v{_version(each)}")
        for each in void
    ]
    assert sorted(told) == sorted(expected)


def _version(compiled: StoredMessage) -> str:
    return compiled.message.subject.removeprefix("COMPILED: v").partition(" ")[0]


def test_compilers_at_once_on_agent_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One valid message for each version; the others are void, and each of them is said to be."""
    with housed(AGENT_MAIL, tmp_path, monkeypatch):
        project = project_in(tmp_path)
        open_mailbox(project, create=True).close()
        done = race(tmp_path, FEWER[:3], AUTHORS[:2], 3)
        with workspace_in(project, None, create=False) as workspace:
            check_versions(workspace, done)
            check_said(workspace, voided(workspace))
            messages = workspace.mailbox.thread(THREAD).messages
            compiled = {each.id for each in messages if each.type == "COMPILED"}
            assert compiled - {each.id for each in voided(workspace)} == {*done.published.values()}
            answered = {each.message.recipients[0] for each in messages if each.type == "INFO"}
            assert {*AUTHORS[:2]} <= answered


def test_compilers_who_all_post_on_agent_mail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has seen another's message before the server has stored them all."""
    (tmp_path / "gate").mkdir()
    with housed(AGENT_MAIL, tmp_path, monkeypatch):
        project = project_in(tmp_path)
        with workspace_in(project, None, create=True) as workspace:
            for name in (*FEWER, "BlueLake"):
                workspace.mailbox.register(Profile(name))
            first = workspace.mailbox.send(contribution("BlueLake", 1, OPERATOR)).stored
            children = [start(compile_together, tmp_path, name, len(FEWER)) for name in FEWER]
            release(children)
            told = [answer for child in children for answer in answered(child)]
            void = voided(workspace)
            assert len(void) == len(FEWER) - 1
            check_said(workspace, void)
            (winner,) = [message for status, _, message, _ in told if status == "published"]
            assert winner < min(each.id for each in void)  # the lowest id is the version
            check_versions(workspace, Race([first.id], {1: winner}))
            losers = [each for each in told if each[0] == "nothing_to_compile"]
            assert [each[1:3] for each in losers] == [[1, winner]] * len(void)
            assert sorted(each[3] for each in told) == [[], *([each.id] for each in void)]


def test_the_one_who_loses_on_agent_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another compiler posts between her last look at the thread and the server's storing."""
    with housed(AGENT_MAIL, tmp_path, monkeypatch):
        project = project_in(tmp_path)
        with (
            workspace_in(project, None, create=True) as workspace,
            workspace_in(project, "AmberBeacon", create=True) as rival,
        ):
            for name in ("AmberBeacon", "BlueLake"):
                workspace.mailbox.register(Profile(name))
            first = workspace.mailbox.send(contribution("BlueLake", 1, OPERATOR)).stored
            late: list[StoredMessage] = []
            won: list[CompileResult] = []
            post = sending.post

            def quicker(view: ProjectView, message: Message, envelope: Envelope) -> StoredMessage:
                """What the server is given first."""
                monkeypatch.setattr(sending, "post", post)
                won.append(compile_thread(rival, THREAD, CompileOptions()))
                late.append(rival.mailbox.send(contribution("BlueLake", 2, OPERATOR)).stored)
                return post(view, message, envelope)

            monkeypatch.setattr(sending, "post", quicker)
            done = compile_thread(workspace, THREAD, CompileOptions())
            assert (done.status, done.version) == (CompileStatus.PUBLISHED, 2)
            (void,) = voided(workspace)
            assert [(each.id, each.message_id) for each in done.notes] == [
                ("POSTED_IN_VAIN", void.id)
            ]
            check_said(workspace, [void])
            messages = [each.message for each in (*won, done) if each.message]
            published = {number: each.id for number, each in enumerate(messages, 1)}
            check_versions(workspace, Race([first.id, late[0].id], published))
