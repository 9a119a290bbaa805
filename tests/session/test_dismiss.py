"""`session dismiss`: the operator's word that nobody has to correct a refused block."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.config import find_project
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.mail.model import Profile
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import dismiss, void_version
from brenner.services.session_status import load_status
from brenner.services.workspace import Workspace, workspace_in
from brenner.session.status import dismissals_in
from mail_shell import Shell
from session.backends import HOUSINGS, OPERATOR, ProjectBackend, housed, keep
from session.unsafe_backend import loose, loose_desk
from session.workspaces import (
    ANN,
    BEA,
    THREAD,
    add,
    contribute,
    edit,
    kickoff,
    new_workspace,
    write,
)
from status_sessions import add as add_block
from status_sessions import edit as edit_block

HYPHEN = "-brenner_bot-5so.1"
BAD, OTHER_BAD = edit("H9", claim="x"), edit("H8", claim="x")


def opened(workspace: Workspace) -> list[tuple[int, int]]:
    """The refused blocks that are open."""
    refusals = load_status(workspace, THREAD).status.refusals
    return [(each.message_id, each.block) for each in refusals]


def told(workspace: Workspace) -> list[StoredMessage]:
    """The INFO messages of the thread."""
    return [each for each in workspace.mailbox.thread(THREAD).messages if each.type == "INFO"]


def refusal(workspace: Workspace, message_id: int, block: int | None = None) -> str:
    """Why it cannot be dismissed."""
    before = len(told(workspace))
    with pytest.raises(RequestError) as refused:
        dismiss(workspace, THREAD, message_id, block)
    assert len(told(workspace)) == before
    return f"{refused.value.diagnostic.id}: {refused.value.diagnostic.message}"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """H1 is there; two blocks of message 2 were refused."""
    workspace = new_workspace(tmp_path / "project")
    kickoff(workspace)
    contribute(workspace, ANN, add("Place"), BAD, OTHER_BAD)
    compile_thread(workspace, THREAD, CompileOptions())
    with workspace:
        yield workspace


def test_one_block_and_then_the_rest(workspace: Workspace) -> None:
    """The thread is told each time, in a reply to the message, and it goes to everybody."""
    done = dismiss(workspace, THREAD, 2, 3, "H2 says it")
    assert (done.blocks, done.is_new, done.left) == ((3,), True, 1)
    assert opened(workspace) == [(2, 2)]
    assert (done.message.reply_to, done.message.message.recipients) == (2, (ANN,))
    assert "H2 says it" in done.message.message.body
    done = dismiss(workspace, THREAD, 2)
    assert (done.blocks, done.left) == ((2,), 0)
    assert opened(workspace) == []


def test_twice_posts_once(workspace: Workspace) -> None:
    """The second time says which message it was."""
    first = dismiss(workspace, THREAD, 2, 2)
    again = dismiss(workspace, THREAD, 2, 2, "for another reason")
    assert (again.message, again.is_new, again.blocks) == (first.message, False, (2,))
    rest = dismiss(workspace, THREAD, 2)
    again = dismiss(workspace, THREAD, 2)
    assert (again.message.id, again.is_new, again.blocks) == (rest.message.id, False, (2, 3))
    assert len(told(workspace)) == 2


def test_what_no_version_has_read(workspace: Workspace) -> None:
    """The next compile would refuse it, and it stays dismissed then."""
    stored = contribute(workspace, BEA, BAD, edit("H1", claim="y"))
    dismiss(workspace, THREAD, stored.id, 1)
    assert opened(workspace) == [(2, 2), (2, 3)]
    compile_thread(workspace, THREAD, CompileOptions())
    assert opened(workspace) == [(2, 2), (2, 3)]


def test_a_void_version_leaves_it_dismissed(workspace: Workspace) -> None:
    """What it had read is unread again, and would be refused again."""
    dismiss(workspace, THREAD, 2, 2)
    void_version(workspace, THREAD, 1, "")
    assert opened(workspace) == [(2, 3)]


def test_what_is_not_open_cannot_be_dismissed(workspace: Workspace) -> None:
    """Each time it is said why, and nothing is posted."""
    copy = contribute(workspace, ANN, add("Place"))
    prose = write(workspace, BEA, "DELTA[gpt]: nothing yet", "Later.")
    assert "block 1 of message 2" in refusal(workspace, 2, 1)
    assert "it was applied, not rejected" in refusal(workspace, 2, 1)
    assert "it repeats a block that was applied before" in refusal(workspace, copy.id, 1)
    assert "none of its blocks was rejected" in refusal(workspace, copy.id)
    assert "the message has only 3 blocks" in refusal(workspace, 2, 4)
    assert "the message has only 3 blocks" in refusal(workspace, 2, 0)
    assert "nothing in it was rejected" in refusal(workspace, prose.id)
    assert "it is not a DELTA message" in refusal(workspace, 1)
    assert refusal(workspace, 99).startswith("NOT_IN_THREAD")
    contribute(workspace, ANN, edit("H1", claim="z"))
    refused = contribute(workspace, ANN, edit("H1", claim=" "))
    contribute(workspace, ANN, edit("H1", claim="zz"))
    assert f"{ANN} has already corrected it" in refusal(workspace, refused.id, 1)


def test_a_message_of_another_thread(workspace: Workspace) -> None:
    """Its number is one of the store, not of the thread."""
    message = workspace.mailbox.message(2).message._replace(thread_id="RS-20251230-other-thread")
    other = workspace.mailbox.send(message).stored
    assert refusal(workspace, other.id, 2).startswith("NOT_IN_THREAD")


def test_only_the_operator(workspace: Workspace) -> None:
    """The author of the block may not even dismiss her own."""
    assert refusal(workspace._replace(actor=ANN), 2, 2).startswith("ONLY_THE_OPERATOR")
    assert opened(workspace) == [(2, 2), (2, 3)]


def test_an_unknown_thread(workspace: Workspace) -> None:
    """It is refused as everywhere."""
    for thread_id, code in (("RS-20251230-cell-fate-x", "UNKNOWN_THREAD"), ("RS-1", "INVALID_RS")):
        with pytest.raises(RequestError) as refused:
            dismiss(workspace, thread_id, 2)
        assert refused.value.diagnostic.id.startswith(code)


# Where somebody else acts at the same moment, or the server is lost


@pytest.fixture
def loosely(tmp_path: Path) -> Workspace:
    """A home that cannot keep two people apart."""
    workspace = loose_desk(tmp_path)
    kickoff(workspace)
    contribute(workspace, ANN, add("Place"), BAD)
    return workspace


def loses(workspace: Workspace) -> None:
    """From now on nothing can be read."""
    loose(workspace).is_lost = True


def test_two_at_once(loosely: Workspace) -> None:
    """Both may be posted; each says the same, and it is dismissed."""
    loose(loosely).meanwhile = lambda: dismiss(loosely, THREAD, 2)
    done = dismiss(loosely, THREAD, 2)
    assert done.left == 0
    assert opened(loosely) == []


def test_corrected_in_the_same_moment(loosely: Workspace) -> None:
    """The dismissal is about a block that is not open any more: nothing is wrong with that."""
    loose(loosely).meanwhile = lambda: contribute(loosely, ANN, edit("H9", claim="fine"))
    done = dismiss(loosely, THREAD, 2)
    assert done.is_new


def test_posted_and_then_lost(loosely: Workspace) -> None:
    """It is dismissed; what is left is not known."""
    loose(loosely).afterwards = lambda: loses(loosely)
    done = dismiss(loosely, THREAD, 2)
    assert done.is_new
    assert isinstance(done.failed, BrennerError)


# In every home


@pytest.mark.every_store
@pytest.mark.parametrize("housing", HOUSINGS, ids=lambda each: each.home.name)
def test_in_every_home(
    housing: ProjectBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same commands, the same words."""
    folder = tmp_path / "project"
    with housed(housing, folder, monkeypatch):
        with workspace_in(find_project(str(folder), {}), None, create=True) as here:
            for name in (OPERATOR, ANN):
                here.mailbox.register(Profile(name, "claude-code", "opus"), update=True)
            body = "# Cell fate\n\n## Research Question\nWhy?\n\n## Context\nSo.\n"
            asked = Message(THREAD, OPERATOR, (ANN,), "KICKOFF: Why", body)
            here.mailbox.send(asked)
            blocks = f"{add_block('Place')}\n{edit_block('H9', 'x')}"
            delta = Message(THREAD, ANN, (OPERATOR,), "DELTA[opus]: x", f"# Delta\n\n{blocks}\n")
            number = here.mailbox.send(delta).stored.id
        shell = Shell(folder, monkeypatch)
        done = shell("session", "dismiss", THREAD, f"{number}.2", "--json")
        assert (done.code, done.json["blocks"], done.json["left"]) == (0, [2], 0)
        again = shell("session", "dismiss", THREAD, str(number))
        assert again.code == 0
        said = done.json["message"]["id"]
        assert again.out.startswith(
            f"No changes were made: block 2 of message {number} is already dismissed, announced in "
            f"message {said}."
        )
        status = shell("session", "status", THREAD, "--json").json
        assert (status["refusals"], status["applies"]) == ([], 1)


# The command


@pytest.fixture
def shell(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(workspace.project.folder, monkeypatch)


def test_what_the_command_says(shell: Shell) -> None:
    """What it did in one line, what is left in the next."""
    done = shell("session", "dismiss", THREAD, "2.2")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Dismissed block 2 of message 2, announced in message 4.\n"
        f"  1 rejected block left: `brenner session status {THREAD}`\n"
    )
    done = shell("session", "dismiss", THREAD, "2", "--reason", "# Enough")
    assert "No rejected blocks left." in done.out


def test_the_command_as_json(shell: Shell) -> None:
    """One document, also where it fails."""
    done = shell("session", "dismiss", THREAD, "2", "--json")
    assert list(done.json) == [
        *("thread_id", "message_id", "blocks", "new", "message", "left", "violations", "summary")
    ]
    assert (done.json["blocks"], done.json["new"], done.json["left"]) == ([2, 3], True, 0)
    assert shell("session", "dismiss", THREAD, "2", "--json").json["new"] is False
    failed = shell("session", "dismiss", THREAD, "2.1", "--json")
    assert (failed.code, failed.codes) == (1, ["CANNOT_DISMISS"])


@pytest.mark.parametrize("which", ["x", "2.", ".2", "2.2.2", "-2", "２", "2 ", "9" * 30, ""])
def test_what_is_no_message_is_wrong_usage(shell: Shell, which: str) -> None:
    """Nothing is guessed."""
    done = shell("session", "dismiss", THREAD, "--", which)
    assert done.code == 2
    assert "WRONG_USAGE" in done.err


def test_a_thread_that_begins_with_a_hyphen(workspace: Workspace, shell: Shell) -> None:
    """The advice can be typed as it stands."""
    message = workspace.mailbox.message(2).message._replace(thread_id=HYPHEN)
    number = workspace.mailbox.send(message).stored.id
    done = shell("session", "dismiss", "--", HYPHEN, f"{number}.3")
    assert done.code == 0
    assert f"`brenner session status -- {HYPHEN}`" in done.out


def test_a_server_that_is_lost_is_told(loosely: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dismissed, and exit code 3: what is left is not known."""
    keep(loosely.mailbox, monkeypatch)
    shell = Shell(loosely.project.folder, monkeypatch)
    loose(loosely).afterwards = lambda: loses(loosely)
    done = shell("session", "dismiss", THREAD, "2", "--json")
    assert (done.code, done.json["new"], done.json["left"]) == (3, True, None)


def test_a_dismissal_in_its_old_words_is_recognised() -> None:
    """The record decides, not the title or the sentence, which earlier releases wrote otherwise."""
    body = (
        "# Refused, and Dismissed\n\nThe operator dismisses block 2 of message 5: it is not in the "
        "artifact, and nobody has to correct it any more.\n\n## Reason\nx\n\n## Record\n"
        f'```brenner-dismiss\n{{"block":2,"content_hash":"{"a" * 64}"}}\n```\n'
    )
    message = Message(THREAD, OPERATOR, ("BlueLake",), "INFO: Block 2 of message 5 dismissed", body)
    assert dismissals_in(message) == (("a" * 64, 2),)
