"""Mail that comes in while a version is made: it waits for the next version, and delays none (R17).

Another version, or a decision of the operator, is the only reason to start again.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile, SendResult
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.publish import MOST_TRIES
from brenner.services.session_status import load_status
from brenner.services.version_store import load_history, replay_history
from brenner.services.versions import verify
from brenner.services.workspace import Workspace, workspace_in
from brenner.session.decisions import compose_void
from brenner.session.versions import ignore_version
from session.backends import HOUSINGS, OPERATOR, ProjectBackend, housed
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add, edit, fenced, project_in

RIVAL = "SwiftHeron"
BLOCK = '```delta\n{"operation": "KILL"}\n```\n'


class Meanwhile:
    """A mailbox in which other mail comes in whenever something is sent on a condition.

    `act` is done each time, `attempts` counts them.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self.attempts = 0
        self.act: Callable[[int], object] = lambda _: None

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def send(self, message: Message, **how: object) -> SendResult:
        if how.get("position") is not None:
            self.attempts += 1
            act, self.act = self.act, lambda _: None  # what it does itself is not interrupted
            act(self.attempts)
            self.act = act
        return self._mailbox.send(message, **how)  # type: ignore[arg-type]


@pytest.fixture(params=HOUSINGS, ids=lambda each: each.home.name)
def workspace(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A session with one contribution that no version has read, in each home."""
    housing: ProjectBackend = request.param
    with (
        housed(housing, tmp_path, monkeypatch),
        workspace_in(project_in(tmp_path), None, create=True) as real,
    ):
        for name in (ANN, BEA, RIVAL):
            real.mailbox.register(Profile(name))
        write(real, OPERATOR, "KICKOFF: Cell fate", KICKOFF)
        contribute(real, ANN, add("Gradient"))
        yield real._replace(mailbox=cast("Mailbox", Meanwhile(real.mailbox)))


def meanwhile(workspace: Workspace) -> Meanwhile:
    return cast("Meanwhile", workspace.mailbox)


def write(workspace: Workspace, sender: str, subject: str, body: str) -> StoredMessage:
    to = (OPERATOR,) if sender != OPERATOR else (ANN, BEA)
    return workspace.mailbox.send(Message(THREAD, sender, to, subject, body)).stored


def contribute(workspace: Workspace, sender: str, *blocks: dict[str, object]) -> StoredMessage:
    return write(workspace, sender, "DELTA[opus]: News", fenced(*blocks))


def predict(hypothesis: str) -> dict[str, object]:
    """An ADD of a prediction."""
    return {
        "operation": "ADD",
        "section": "predictions_table",
        "target_id": None,
        "payload": {"condition": "Cells are moved", "predictions": {hypothesis: "They stay"}},
        "rationale": "It tells them apart",
    }


def void_of(workspace: Workspace, sender: str, number: int) -> Message:
    """A message that declares the latest version void, or says so."""
    latest = load_history(workspace.mailbox, THREAD, OPERATOR).latest
    content_hash = latest.content_hash if latest else "0" * 64
    blank = Message(THREAD, sender, (ANN,), "", "")
    return compose_void(blank, number, 1, [content_hash], "")


def compiled(workspace: Workspace, **options: object) -> CompileResult:
    return compile_thread(workspace, THREAD, CompileOptions(**options))  # type: ignore[arg-type]


def titles(done: CompileResult) -> list[str]:
    return [item.title for item in done.artifact.sections["hypothesis_slate"]]


def check_kept(workspace: Workspace) -> None:
    """What was kept of the thread is what its mail says."""
    known = load_history(workspace.mailbox, THREAD, OPERATOR)
    assert known == replay_history(workspace.mailbox, THREAD, OPERATOR, ignore_version)
    assert verify(workspace, THREAD).ok


def test_other_mail_is_no_reason_to_start_again(workspace: Workspace) -> None:
    """Not even an agent's word that a version is void."""

    def act(_: int) -> None:
        write(workspace, ANN, "INFO: Tick", "x")
        write(workspace, BEA, "QUESTION: Which?", "## Question\nWhich?\n")
        write(workspace, RIVAL, "Hello", "x")
        workspace.mailbox.send(void_of(workspace, ANN, 1))

    meanwhile(workspace).act = act
    done = compiled(workspace)
    assert (done.status, done.version, done.left) == (CompileStatus.PUBLISHED, 1, 0)
    assert meanwhile(workspace).attempts == 1
    known = load_history(workspace.mailbox, THREAD, OPERATOR)
    assert (known.position, RIVAL in known.writers) == (7, True)
    check_kept(workspace)
    assert compiled(workspace).status is CompileStatus.NOTHING


def test_a_delta_goes_into_the_next_version(workspace: Workspace) -> None:
    """It was written before the version was there, so its IDs are those of the version before."""

    def act(attempt: int) -> None:
        if attempt == 1:
            contribute(workspace, BEA, add("Lineage"), predict("H1"))
            contribute(workspace, ANN, edit("H9", claim="Of nothing"))

    meanwhile(workspace).act = act
    first = compiled(workspace)
    assert (first.status, first.version, first.left) == (CompileStatus.PUBLISHED, 1, 2)
    assert (titles(first), meanwhile(workspace).attempts) == (["Gradient"], 1)
    check_kept(workspace)
    status = load_status(workspace, THREAD).status
    assert (status.unread, status.applies, len(status.refusals)) == (2, 2, 1)
    second = compiled(workspace)
    assert (second.status, second.version, second.previous_version) == (
        CompileStatus.PUBLISHED,
        2,
        1,
    )
    assert titles(second) == ["Gradient", "Lineage"]
    (prediction,) = second.artifact.sections["predictions_table"]
    assert prediction.fields["predictions"] == {"H2": "They stay"}  # to its author it was H1
    check_kept(workspace)


def test_deltas_that_never_stop(workspace: Workspace) -> None:
    """Each version is published at its first attempt, and each contribution is in one version."""
    meanwhile(workspace).act = lambda attempt: contribute(workspace, BEA, add(f"Number {attempt}"))
    for number in (1, 2, 3):
        done = compiled(workspace)
        assert (done.version, meanwhile(workspace).attempts, done.left) == (number, number, 1)
        check_kept(workspace)
    assert titles(done) == ["Gradient", "Number 1", "Number 2"]


def test_a_copy_of_what_was_read(workspace: Workspace) -> None:
    """The same content again is another message: it is unread, and a duplicate later."""
    meanwhile(workspace).act = lambda _: contribute(workspace, ANN, add("Gradient"))
    assert compiled(workspace).left == 1
    check_kept(workspace)
    (copy,) = load_history(workspace.mailbox, THREAD, OPERATOR).unread
    assert copy.id == max(each.id for each in workspace.mailbox.thread(THREAD).messages[:-1])


def test_a_delta_block_in_other_mail_is_listed_once(workspace: Workspace) -> None:
    """By the first version that knows of it."""
    write(workspace, BEA, "INFO: Before", BLOCK)

    def act(attempt: int) -> None:
        if attempt == 1:
            write(workspace, BEA, "INFO: Meanwhile", BLOCK)
            contribute(workspace, BEA, add("Lineage"))

    meanwhile(workspace).act = act
    found = []
    for _ in range(2):
        done = compiled(workspace)
        check_kept(workspace)
        found.append(
            [workspace.mailbox.message(each.message_id or 0) for each in done.not_contributed]
        )
    contribute(workspace, BEA, add("Position"))
    assert compiled(workspace).not_contributed == ()
    subjects = [[each.message.subject for each in some] for some in found]
    assert subjects == [["INFO: Before"], ["INFO: Meanwhile"]]


# What is a reason


def test_another_version_is_a_reason(workspace: Workspace) -> None:
    rival = workspace._replace(actor=RIVAL)

    def act(attempt: int) -> None:
        if attempt == 1:
            compiled(rival)
            contribute(workspace, BEA, add("Lineage"))

    meanwhile(workspace).act = act
    done = compiled(workspace)
    assert (done.version, done.previous_version, done.left) == (2, 1, 0)
    assert titles(done) == ["Gradient", "Lineage"]
    assert meanwhile(workspace).attempts == 3  # the other compiler's is one of them
    check_kept(workspace)


def test_a_void_is_a_reason(workspace: Workspace) -> None:
    compiled(workspace)
    contribute(workspace, BEA, add("Lineage"))

    def act(attempt: int) -> None:
        if attempt == 2:
            workspace.mailbox.send(void_of(workspace, OPERATOR, 1))

    meanwhile(workspace).act = act
    done = compiled(workspace)
    assert (done.version, done.previous_version) == (1, None)
    assert titles(done) == ["Gradient", "Lineage"]
    assert meanwhile(workspace).attempts == 3
    check_kept(workspace)


def test_the_last_version_leaves_no_contribution_behind(workspace: Workspace) -> None:
    """A session is closed with everything that has come in; other mail is no reason here either."""
    compiled(workspace)

    def act(attempt: int) -> None:
        write(workspace, ANN, "INFO: Tick", "x")
        if attempt == 2:
            contribute(workspace, BEA, add("Lineage"))

    meanwhile(workspace).act = act
    done = compiled(workspace, close=True)
    assert (done.version, done.artifact.metadata.status, done.left) == (2, "closed", 0)
    assert titles(done) == ["Gradient", "Lineage"]
    assert meanwhile(workspace).attempts == 3


def test_what_was_previewed_is_what_is_published(workspace: Workspace) -> None:
    """A contribution that comes in meanwhile stops it, other mail does not."""
    position = workspace.mailbox.thread(THREAD).position

    def act(attempt: int) -> None:
        write(workspace, ANN, "INFO: Tick", "x")
        if attempt == 1:
            contribute(workspace, BEA, add("Lineage"))

    meanwhile(workspace).act = act
    with pytest.raises(RequestError) as refused:
        compiled(workspace, position=position)
    assert refused.value.diagnostic.id == "PREVIEW_OVERTAKEN"
    done = compiled(workspace, position=workspace.mailbox.thread(THREAD).position)
    assert (done.version, meanwhile(workspace).attempts) == (1, 2)


# The operator's decisions


@pytest.mark.every_store
def test_voiding_and_adopting_while_mail_comes_in(workspace: Workspace) -> None:
    first = compiled(workspace)
    before = meanwhile(workspace).attempts
    meanwhile(workspace).act = lambda attempt: contribute(workspace, BEA, add(f"Number {attempt}"))
    voided = void_version(workspace, THREAD, 1, "")
    assert (meanwhile(workspace).attempts, voided.latest, voided.unread) == (before + 1, 0, 3)
    body = f"## Full Artifact\n\n~~~~markdown\n{first.text}~~~~\n"
    write(workspace, RIVAL, "COMPILED: v1 By another program", body)
    adopted, *_ = adopt_thread(workspace, THREAD)
    assert (meanwhile(workspace).attempts, adopted.number) == (before + 2, 2)
    assert len(adopted.record.messages) == 3
    assert load_status(workspace, THREAD).status.unread == 1
    check_kept(workspace)


@pytest.mark.thorough
def test_compilers_that_never_stop(workspace: Workspace) -> None:
    """The attempts are bounded, and the refusal says why."""

    def act(_: int) -> None:
        write(workspace, RIVAL, "COMPILED: v1 Without a record", "x")

    meanwhile(workspace).act = act
    with pytest.raises(RequestError) as refused:
        compiled(workspace)
    assert refused.value.diagnostic.id == "COMPILE_OVERTAKEN"
    assert meanwhile(workspace).attempts == MOST_TRIES
