"""What the commands say where two people got in each other's way, or a server was lost."""

from pathlib import Path

import pytest

from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import adopt_thread
from brenner.services.workspace import Workspace
from golden.history import HERE
from mail_shell import Shell
from session.backends import keep
from session.unsafe_backend import fails, is_lost, loose, loose_desk
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, write

THEIRS = (HERE / "conflict" / "v2.artifact.md").read_text("utf-8")
START = (
    *("session", "start", "--question", "What tells a cell where it is?", "--context", "Cells"),
    *("--thread-id", THREAD, "--to", ANN, "--role", "hypothesis_generator"),
    *("--to", BEA, "--role", "test_designer"),
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A home that cannot keep two people apart, where every command finds its mail."""
    here = loose_desk(tmp_path)
    keep(here.mailbox, monkeypatch)
    return here


@pytest.fixture
def shell(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(workspace.project.folder, monkeypatch)


def session(workspace: Workspace) -> None:
    """One version, and one contribution that nobody has compiled."""
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, CompileOptions())
    contribute(workspace, BEA, edit("H1", claim="Steeper"))


def rival(workspace: Workspace) -> None:
    compile_thread(workspace._replace(actor=BEA), THREAD, CompileOptions())


def test_compile_in_vain(workspace: Workspace, shell: Shell) -> None:
    """Said first; what came of the command after it, and the exit code, are the usual ones."""
    session(workspace)
    loose(workspace).meanwhile = lambda: rival(workspace)
    done = shell("compile", THREAD)
    assert done.code == 0
    assert (
        "message 6  warning POSTED_IN_VAIN  Message 6 was posted as v2, but it is void" in done.err
    )
    assert "message 5 is already v2. Message 7 reports this in the thread." in done.err
    assert done.out.startswith(f"Nothing to compile in {THREAD}: no unread delta applies. ")
    assert "VOID_VERSION" not in done.err  # one fault, told once


def test_compile_in_vain_and_then_lost(workspace: Workspace, shell: Shell) -> None:
    session(workspace)
    loose(workspace).meanwhile = lambda: rival(workspace)
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, "meanwhile", fails)
    done = shell("compile", THREAD)
    assert (done.code, done.out) == (3, "")
    assert "Before that, message 6 is void, because another compiler" in done.err


def test_adopt_in_vain(workspace: Workspace, shell: Shell) -> None:
    """The void message is told of apart from what the artifact lacks."""
    artifact = THEIRS.replace("RS-20260114-somite-clock", THREAD)
    body = f"# Compiled Artifact v2\n\n## Full Artifact\n\n~~~~markdown\n{artifact}~~~~\n"
    write(workspace, BEA, "COMPILED: v2 ours", body)

    def meanwhile() -> None:
        adopt_thread(workspace, THREAD)
        write(workspace, BEA, "COMPILED: v4 ours", body)

    loose(workspace).meanwhile = meanwhile
    done = shell("session", "adopt", THREAD, "--json")
    assert (done.code, done.json["version"], done.codes) == (0, 5, ["POSTED_IN_VAIN"])
    assert done.json["violations"][0]["message_id"] == 4
    write(workspace, BEA, "COMPILED: v6 ours", body)

    def again() -> None:
        adopt_thread(workspace, THREAD)
        write(workspace, BEA, "COMPILED: v8 ours", body)

    loose(workspace).meanwhile = again
    told = shell("session", "adopt", THREAD)
    assert "warning POSTED_IN_VAIN" in told.err
    assert "(v8), unchanged." in told.out


def test_void_while_somebody_builds_on_it(workspace: Workspace, shell: Shell) -> None:
    session(workspace)
    loose(workspace).meanwhile = lambda: rival(workspace)
    done = shell("session", "void", f"{THREAD}@v1")
    assert done.code == 0
    assert "it is built on message 3, which is void" in done.err
    assert "Voided v1 (message 3), announced in message 6.\n" in done.out
    assert "The thread has no version. 3 unread messages." in done.out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_void_and_then_lost(workspace: Workspace, shell: Shell, options: tuple[str, ...]) -> None:
    """It is void all the same; what the thread has come to nobody knows."""
    session(workspace)
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, "is_lost", True)
    done = shell("session", "void", f"{THREAD}@v1", *options)
    assert done.code == 3
    if options:
        assert (done.codes, done.json["unread"]) == (["SERVER_LOST"], None)
        assert done.json["message"]["id"] == 5
    else:
        assert done.out == "Voided v1 (message 3), announced in message 5.\n"
        assert "error SERVER_LOST" in done.err


def test_start_and_then_lost(workspace: Workspace, shell: Shell) -> None:
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, "meanwhile", is_lost)
    done = shell(*START)
    assert done.code == 3
    assert f"Sent message 1 to {ANN} (hypothesis_generator) in {THREAD}.\n" in done.out
    assert f"Unknown whether the kickoff to {BEA} (test_designer) was sent.\n" in done.out
    assert "To send the missing kickoffs, run the same command again." in done.out
    assert shell(*START, "--json").json["status"] == "sent"


def test_start_among_strangers(workspace: Workspace, shell: Shell) -> None:
    done = shell(*START[:-4], "--to", "GreenDog", "--role", "test_designer")
    assert (done.code, done.out) == (1, "")
    assert "error RECIPIENTS_NOT_REGISTERED  The server does not know GreenDog." in done.err
    assert "Nothing was sent: 1 error" in done.err
    assert workspace.mailbox.position() == 0
    known = [agent.name for agent in workspace.mailbox.agents()]
    assert "GreenDog" not in known
    assert shell(*START[:-4], "--to", "GreenDog", "--role", "test_designer", "--register").code == 0
