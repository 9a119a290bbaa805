"""Two compilers at a home that cannot keep them apart: one message per number counts (R17).

Where the other compiler gets in between is chosen here. That it works with real servers and real
processes is for `test_backends_at_once`.
"""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from brenner.cli.compile import report
from brenner.diagnostics.codes.stores import MESSAGE_ALTERED
from brenner.diagnostics.model import BrennerError, RequestError, UnknownOutcomeError
from brenner.protocol.messages import Message, StoredMessage
from brenner.protocol.validate import check_stored
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.persist import PersistOptions
from brenner.services.versions import load_version_list, verify
from brenner.services.workspace import Workspace
from session.unsafe_backend import fails, is_lost, loose, loose_desk
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff

PLAIN = CompileOptions()
PERSIST = CompileOptions(persist=PersistOptions())


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A session with one contribution that nobody has compiled."""
    here = loose_desk(tmp_path)
    kickoff(here)
    contribute(here, ANN, add("Gradient"))
    return here


def compiled(workspace: Workspace, options: CompileOptions = PLAIN) -> CompileResult:
    return compile_thread(workspace, THREAD, options)


def rival(workspace: Workspace) -> Workspace:
    """Another compiler at the same mailbox."""
    return workspace._replace(actor=BEA)


def messages(workspace: Workspace, kind: str) -> list[StoredMessage]:
    return [each for each in workspace.mailbox.thread(THREAD).messages if each.type == kind]


def voids(workspace: Workspace) -> list[str]:
    """The subjects that tell of a void message."""
    return [each.message.subject for each in messages(workspace, "INFO")]


def raised(call: Callable[[], object]) -> BrennerError:
    with pytest.raises(BrennerError) as error:
        call()
    return error.value


def only_void(done: CompileResult) -> int:
    """The message that the compiler hears was posted in vain."""
    (found,) = done.notes
    assert (found.id, found.severity.value) == ("POSTED_IN_VAIN", "warning")
    assert found.message_id is not None
    return found.message_id


def test_the_other_was_quicker_with_all_of_it(workspace: Workspace, tmp_path: Path) -> None:
    """Nothing is left; what is persisted is the version, never the void message."""
    loose(workspace).meanwhile = lambda: compiled(rival(workspace))
    done = compiled(workspace, PERSIST)
    first, second = messages(workspace, "COMPILED")
    assert (first.message.sender, second.message.sender) == (BEA, "Operator")
    assert (done.status, done.version) == (CompileStatus.NOTHING, 1)
    assert done.message == first
    assert only_void(done) == second.id
    written = (tmp_path / "artifacts" / f"{THREAD}.md").read_text("utf-8")
    assert f"agent_mail_message_id: {first.id}\n" in written
    assert f'compiled_by: "{BEA}"' in written
    assert verify(workspace, THREAD).ok


def test_what_the_other_had_not_read_goes_into_the_next_version(workspace: Workspace) -> None:
    def meanwhile() -> None:
        compiled(rival(workspace))
        contribute(workspace, BEA, edit("H1", claim="Steeper"))

    loose(workspace).meanwhile = meanwhile
    done = compiled(workspace)
    first, second, third = messages(workspace, "COMPILED")
    assert (done.status, done.version, done.message) == (CompileStatus.PUBLISHED, 2, third)
    assert only_void(done) == second.id
    assert [each.message.id for each in load_version_list(workspace, THREAD)[1]] == [
        first.id,
        third.id,
    ]
    assert verify(workspace, THREAD).ok


def test_a_delta_after_the_look_goes_into_the_next_version(workspace: Workspace) -> None:
    """The version is sound all the same: nothing is void, and nothing is lost."""
    loose(workspace).meanwhile = lambda: contribute(
        workspace, BEA, edit("H1", claim="Steeper"), base="v1"
    )
    done = compiled(workspace)
    assert (done.status, done.version, done.left, done.notes) == (CompileStatus.PUBLISHED, 1, 1, ())
    assert (compiled(workspace).version, voids(workspace)) == (2, [])
    assert verify(workspace, THREAD).ok


def test_what_the_thread_is_told(workspace: Workspace) -> None:
    """Which message is void, which one is the version, and what becomes of what it had read."""
    loose(workspace).meanwhile = lambda: compiled(rival(workspace))
    compiled(workspace)
    first, second = messages(workspace, "COMPILED")
    (info,) = messages(workspace, "INFO")
    assert (info.message.sender, set(info.message.recipients)) == ("Operator", {ANN, BEA})
    assert info.message.subject == f"INFO: Message {second.id} is void, it is not v1"
    assert f"void: message {first.id} is already v1. " in info.message.body
    assert f"Messages that only message {second.id} included become unread" in info.message.body
    assert {each.id for each in check_stored(info.message).violations} == set()
    for name in (ANN, BEA, "Operator"):  # however often anybody compiles
        (note,) = compiled(workspace._replace(actor=name)).notes
        assert (note.id, note.message_id) == ("VOID_VERSION", second.id)
    assert len(voids(workspace)) == 1


def test_the_winner_hears_nothing_of_it(workspace: Workspace) -> None:
    """Her message has the lowest id: what is posted after it is the other's affair."""
    done: list[CompileResult] = []

    def meanwhile() -> None:
        loose(workspace).afterwards = lambda: done.append(compiled(rival(workspace)))

    loose(workspace).meanwhile = meanwhile
    ours = compiled(workspace)
    assert (ours.status, ours.notes) == (CompileStatus.PUBLISHED, ())
    assert [each.status for each in done] == [CompileStatus.NOTHING]
    assert voids(workspace) == []


def test_overtaken_three_times(workspace: Workspace) -> None:
    """Each void message is told of once, and each contribution is in one version."""

    def again(left: int) -> Callable[[], None]:
        def meanwhile() -> None:
            compiled(rival(workspace))
            contribute(workspace, ANN, add(f"Another {left}"))
            loose(workspace).afterwards = lambda: wait(left)

        return meanwhile

    def wait(left: int) -> None:
        """The INFO goes out undisturbed; then the next attempt is overtaken."""
        if left:
            loose(workspace).afterwards = lambda: setattr(
                workspace.mailbox, "meanwhile", again(left - 1)
            )

    loose(workspace).meanwhile = again(2)
    done = compiled(workspace)
    assert (done.status, done.version) == (CompileStatus.PUBLISHED, 4)
    assert [found.id for found in done.notes] == ["POSTED_IN_VAIN"] * 3
    assert len(voids(workspace)) == len(set(voids(workspace))) == 3
    assert [each.number for each in verify(workspace, THREAD).versions] == [1, 2, 3, 4]
    assert verify(workspace, THREAD).ok


@pytest.mark.parametrize("as_json", [False, True])
def test_what_the_terminal_hears(workspace: Workspace, as_json: bool) -> None:
    loose(workspace).meanwhile = lambda: compiled(rival(workspace))
    done = compiled(workspace)
    void = messages(workspace, "COMPILED")[1].id
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert report(done, as_json=as_json) == 0
    if as_json:
        told = json.loads(out.getvalue())["violations"]
        (found,) = [each for each in told if each.get("message_id") == void]
        assert (found["id"], found["severity"]) == ("POSTED_IN_VAIN", "warning")
    else:
        assert f"message {void}  warning POSTED_IN_VAIN  Message {void} was" in err.getvalue()


def test_a_dry_run_tells_the_thread_nothing(workspace: Workspace) -> None:
    loose(workspace).meanwhile = lambda: compiled(rival(workspace))
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, "meanwhile", fails)
    assert raised(lambda: compiled(workspace)).diagnostic.id == "SERVER_LOST"
    compiled(workspace, CompileOptions(dry_run=True))
    assert voids(workspace) == []


# Interrupted


def test_lost_before_the_thread_was_told(workspace: Workspace) -> None:
    """The terminal hears which message is void; the next compile tells the thread, once."""
    loose(workspace).meanwhile = lambda: compiled(rival(workspace))
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, "meanwhile", fails)
    found = raised(lambda: compiled(workspace)).diagnostic
    void = messages(workspace, "COMPILED")[1].id
    assert (found.id, found.also) == ("SERVER_LOST", ("POSTED_IN_VAIN",))
    assert f"Before that, message {void} is void" in found.message
    assert voids(workspace) == []
    assert compiled(rival(workspace)).notes[0].id == "VOID_VERSION"  # it is not hers to tell
    assert only_void(compiled(workspace)) == void
    assert len(voids(workspace)) == 1


def test_lost_before_it_could_be_read_again(workspace: Workspace) -> None:
    """It was posted: that is said, and the same command finds out what it is."""
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, "is_lost", True)
    error = raised(lambda: compiled(workspace))
    (posted,) = messages(workspace, "COMPILED")
    assert isinstance(error, UnknownOutcomeError)
    assert (error.diagnostic.id, error.diagnostic.also) == (
        "POSTED_NOT_CONFIRMED",
        ("SERVER_LOST",),
    )
    assert f"Message {posted.id} was posted as v1" in error.diagnostic.message
    loose(workspace).is_lost = False
    done = compiled(workspace)
    assert (done.status, done.version, done.message) == (CompileStatus.NOTHING, 1, posted)


@pytest.mark.parametrize("is_stored", [True, False])
def test_nobody_knows_whether_it_was_stored(workspace: Workspace, is_stored: bool) -> None:
    """The same command again finds it published, or publishes it; never twice."""
    setattr(workspace.mailbox, "afterwards" if is_stored else "meanwhile", is_lost)
    error = raised(lambda: compiled(workspace, PERSIST))
    assert (type(error), error.diagnostic.id) == (UnknownOutcomeError, "OUTCOME_UNKNOWN")
    done = compiled(workspace, PERSIST)
    assert done.status is (CompileStatus.NOTHING if is_stored else CompileStatus.PUBLISHED)
    assert (done.version, done.persistence.status) == (1, "Pending")
    assert len(messages(workspace, "COMPILED")) == 1
    assert verify(workspace, THREAD).ok


# Altered


def test_altered_and_told(workspace: Workspace) -> None:
    """The server says that it stored something else; what the thread has then is what counts."""

    def altered() -> None:
        words = {"where": "here", "id": "7", "what": "the body is another"}
        raise RequestError(MESSAGE_ALTERED.at(None, **words))

    loose(workspace).alter = lambda message: message._replace(
        body=message.body.replace("Gradient", "Lineage")
    )
    loose(workspace).afterwards = altered
    assert raised(lambda: compiled(workspace, PERSIST)).diagnostic.id == "MESSAGE_ALTERED"
    loose(workspace).alter = None
    found = raised(lambda: compiled(workspace)).diagnostic
    assert (found.id, "Lineage" in found.message) == ("RECORD_MISMATCH", True)
    assert len(messages(workspace, "COMPILED")) == 1


def _cut(message: Message) -> Message:
    return message._replace(body=message.body.partition("## Record")[0])


def _changed(message: Message) -> Message:
    return message._replace(body=message.body.replace("Gradient", "Lineage"))


@pytest.mark.parametrize(
    ("alter", "code"), [(_cut, "COMPILED_WITHOUT_RECORD"), (_changed, "RECORD_MISMATCH")]
)
def test_altered_and_not_told(
    workspace: Workspace, alter: Callable[[Message], Message], code: str
) -> None:
    """It is found when it is read again, and posted once, not again and again."""
    loose(workspace).alter = alter
    assert raised(lambda: compiled(workspace, PERSIST)).diagnostic.id == code
    assert len(messages(workspace, "COMPILED")) == 1
    assert messages(workspace, "INFO") == []


# Replies


def test_replies_where_no_links_are_kept(workspace: Workspace) -> None:
    """One answer to a message with refused blocks, whoever compiles."""
    contribute(workspace, ANN, edit("H9", claim="Of nothing"))
    notify = CompileOptions(notify=True)
    assert len(compiled(workspace, notify).notified) == 1
    for name in ("Operator", BEA):
        assert compiled(workspace._replace(actor=name), notify).notified == ()
    assert len([each for each in voids(workspace) if "Validation error" in each]) == 1
