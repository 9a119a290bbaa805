"""Messages that were changed in the store: `verify` names them, and nothing is built on them."""

# ruff: noqa: S608

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from brenner.cli.main import run
from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.copy_mail import check_thread_versions
from brenner.services.decisions import adopt_thread
from brenner.services.persist import PersistOptions
from brenner.services.session_status import load_status
from brenner.services.versions import Target, load_version, verify
from brenner.services.workspace import Workspace
from mail.backends import POSTGRESQL, SQLITE, Backend, Clock, postgresql_address, sqlite_file
from mail_shell import Shell, store_of
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

Alter = Callable[[str], None]
FORGET = "DELETE FROM kept"  # what was computed before the change
# The kickoff is message 1, the contribution 2, v1 3, an INFO 4, the next contribution 5.
UNREAD = 5


@pytest.fixture(params=[SQLITE, POSTGRESQL], ids=lambda home: home.name)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """One version, a note, and one contribution that no version has read."""
    home: Backend = request.param
    with home.create(tmp_path, Clock()) as mailbox:
        for name in ("Operator", ANN, BEA):
            mailbox.register(Profile(name))
        workspace = Workspace(mailbox, Project(tmp_path), "Operator")
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"))
        compile_thread(workspace, THREAD, CompileOptions())
        write(workspace, ANN, "INFO: A note", "Nothing new.\n")
        contribute(workspace, BEA, edit("H1", claim="Steeper"))
        yield workspace


@pytest.fixture
def alter(request: pytest.FixtureRequest, workspace: Workspace, tmp_path: Path) -> Alter:
    """Change the messages of the store with SQL, as somebody with access to it could."""
    del workspace  # it must be there first

    def in_sqlite(sql: str) -> None:
        with sqlite3.connect(sqlite_file(tmp_path)) as store:
            store.executescript(f"DROP TRIGGER IF EXISTS messages_never_change; {sql}")
        store.close()

    def in_postgresql(sql: str) -> None:
        address = postgresql_address(tmp_path)
        with psycopg.connect(address.url, autocommit=True) as store:
            store.execute(f"SET search_path TO {address.schema}".encode())
            store.execute("ALTER TABLE messages DISABLE TRIGGER messages_never_change")
            for statement in sql.split(";"):
                store.execute(statement.encode())

    home = request.node.callspec.params["workspace"]
    return in_sqlite if home is SQLITE else in_postgresql


def differences(workspace: Workspace) -> list[str]:
    return [each.difference for each in verify(workspace, THREAD).versions]


@pytest.mark.parametrize(
    "change",
    [
        f"sender = '{BEA}'",
        "subject = 'DELTA[opus]: Other news'",
        "body = replace(body, 'It explains more', 'It explains less')",
    ],
)
def test_a_message_that_a_version_has_read(workspace: Workspace, alter: Alter, change: str) -> None:
    """The artifact does not depend on any of these, so only the hash shows the change."""
    assert verify(workspace, THREAD).ok
    alter(f"UPDATE messages SET {change} WHERE id = 2; {FORGET}")
    done = verify(workspace, THREAD)
    (difference,) = differences(workspace)
    assert not done.ok
    assert done.altered == (2,)
    assert difference.startswith("message 2, which the version includes, does not match its hash")
    assert "restore it from a backup or an archive" in difference
    assert [(each.id, each.message_id) for each in done.notes] == [("HASH_MISMATCH", 2)]
    assert "`brenner doctor` lists all" in done.notes[0].fix


def test_the_message_that_is_the_version(workspace: Workspace, alter: Alter) -> None:
    """Also where the artifact in it is as it was."""
    alter(
        "UPDATE messages SET body = replace(body, '## Summary', '## Summary of all') WHERE id = 3"
    )
    (difference,) = differences(workspace)
    assert difference.startswith("message 3, which is the version, does not match its hash")


@pytest.mark.parametrize("number", [1, 4, UNREAD])
def test_every_other_message(workspace: Workspace, alter: Alter, number: int) -> None:
    """The kickoff counts for the version; what no version has read is named as well."""
    alter(f"UPDATE messages SET sender = 'GreenHill' WHERE id = {number}")
    done = verify(workspace, THREAD)
    assert not done.ok
    assert done.altered == (number,)
    assert [each.ok for each in done.versions] == [number != 1]


@pytest.mark.every_store
@pytest.mark.parametrize("number", [2, 4, UNREAD])
@pytest.mark.parametrize("is_forgotten", [True, False])
def test_nothing_is_built_on_an_altered_message(
    workspace: Workspace, alter: Alter, number: int, is_forgotten: bool
) -> None:
    """`compile` refuses it wherever it reads it: what it has stored needs no second reading."""
    alter(f"UPDATE messages SET sender = 'GreenHill' WHERE id = {number}")
    if is_forgotten:
        alter(FORGET)
    before = workspace.mailbox.position()
    if number == 2 and not is_forgotten:  # v1 was read when the message was as it was sent
        assert compile_thread(workspace, THREAD, CompileOptions()).version == 2
        return
    with pytest.raises(RequestError) as refused:
        compile_thread(workspace, THREAD, CompileOptions())
    assert (refused.value.diagnostic.id, refused.value.diagnostic.message_id) == (
        "HASH_MISMATCH",
        number,
    )
    with pytest.raises(RequestError):
        adopt_thread(workspace, THREAD)
    assert workspace.mailbox.position() == before
    status = load_status(workspace, THREAD).status
    assert status.compile_blocker == refused.value.diagnostic
    assert status.phase != "ready_to_compile"


def test_a_contribution_that_is_made_to_vanish(workspace: Workspace, alter: Alter) -> None:
    """A DELTA whose subject says something else contributes nothing, and that is noticed."""
    alter(f"UPDATE messages SET subject = 'INFO: Nothing' WHERE id = {UNREAD}; {FORGET}")
    with pytest.raises(RequestError, match=f"message {UNREAD} does not match its hash"):
        compile_thread(workspace, THREAD, CompileOptions())


def test_an_archive_is_not_made_of_altered_messages(workspace: Workspace, alter: Alter) -> None:
    """Nobody could import it. Nothing is published before that is known."""
    alter(f"UPDATE messages SET sender = '{BEA}' WHERE id = 2")
    before = workspace.mailbox.position()
    options = CompileOptions(persist=PersistOptions(archive=True))
    with pytest.raises(RequestError, match="message 2 does not match its hash"):
        compile_thread(workspace, THREAD, options)
    assert workspace.mailbox.position() == before


def test_readers_and_copies_are_warned(workspace: Workspace, alter: Alter) -> None:
    """A version that is loaded has a note; a copy finds that the source does not verify."""
    alter(f"UPDATE messages SET sender = '{BEA}' WHERE id = 2; {FORGET}")
    loaded = load_version(workspace, Target(THREAD), with_state=True)
    assert [(each.id, each.message_id) for each in loaded.notes] == [("HASH_MISMATCH", 2)]
    (fact,) = check_thread_versions(workspace, THREAD)
    assert "message 2" in fact.difference


def test_in_memory() -> None:
    """The mailbox in memory is checked like the others."""
    mailbox = MemoryMailbox()
    workspace = Workspace(mailbox, Project(Path("nowhere")), "Operator")
    for name in ("Operator", ANN, BEA):
        mailbox.register(Profile(name))
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, CompileOptions())
    assert verify(workspace, THREAD).ok
    stored = mailbox.message(2)
    forged = stored._replace(message=stored.message._replace(sender=BEA))
    mailbox._messages[2] = forged  # noqa: SLF001
    assert verify(workspace, THREAD).altered == (2,)


# From the command line

CHANGE = f"UPDATE messages SET sender = '{BEA}' WHERE id = 2"


def execute(folder: Path, sql: str) -> None:
    """Run SQL on the store of a project."""
    with sqlite3.connect(store_of(folder)) as store:
        store.executescript(sql)
    store.close()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project in which message 2, of `ANN`, says that it is from `BEA`."""
    monkeypatch.delenv("AGENT_NAME", raising=False)
    monkeypatch.delenv("BRENNER_STORE", raising=False)
    folder = tmp_path / "project"
    workspace = new_workspace(folder)
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, CompileOptions())
    contribute(workspace, ANN, add("Clock"))
    compile_thread(workspace, THREAD, CompileOptions())
    workspace.mailbox.close()
    assert run(["--project", str(folder), "mail", "export", str(tmp_path / "mail.jsonl")]) == 0
    execute(folder, f"DROP TRIGGER messages_never_change; {CHANGE}")
    return Shell(folder, monkeypatch)


def test_verify_says_which_message_and_what_to_do(shell: Shell) -> None:
    """Exit code 1, also for a later version; `void` is not advised, for it would not help."""
    done = shell("artifact", "verify", THREAD)
    assert done.code == 1
    assert "  v1  differs  " in done.out
    assert "message 2, which the version includes, does not match its hash" in done.out
    assert "session void" not in done.out
    assert "error HASH_MISMATCH  The content of message 2 does not match its hash" in done.err
    document = shell("artifact", "verify", THREAD, "--json").json
    assert (document["ok"], document["altered"]) == (False, [2])
    assert [each["ok"] for each in document["versions"]] == [False, True]
    later = shell("artifact", "verify", f"{THREAD}@v2", "--json")
    assert (later.code, later.json["ok"]) == (1, False)


@pytest.mark.parametrize("command", ["blame", "ledger"])
def test_who_wrote_it_is_not_said_in_silence(shell: Shell, command: str) -> None:
    """The agent that is named may be another one: the row says so, and the exit code is 1."""
    execute(shell.folder, FORGET)
    done = shell("artifact", command, f"{THREAD}@v1")
    assert (done.code, done.out.count("altered")) == (1, done.out.count(BEA))
    assert BEA in done.out
    assert "HASH_MISMATCH" in done.err
    document = shell("artifact", command, f"{THREAD}@v1", "--json").json
    rows = document["fields" if command == "blame" else "entries"]
    assert {each["message_id"] for each in rows if each["altered"]} == {2}
    assert [each["message_id"] for each in document["violations"]] == [2]


def test_who_wrote_it_where_the_state_was_stored_before(shell: Shell) -> None:
    """The name is the right one, but what the message says now is not: that is said, too."""
    done = shell("artifact", "blame", THREAD, "H1.claim")
    assert (done.code, ANN in done.out, BEA in done.out) == (1, True, False)
    assert "altered" in done.out
    assert "HASH_MISMATCH" in done.err


def test_what_others_wrote_is_not_in_doubt(shell: Shell) -> None:
    """The note is there, and the exit code is 0: message 4 set all that is shown."""
    done = shell("artifact", "blame", THREAD, "H2")
    assert (done.code, "altered" in done.out) == (0, False)
    assert "HASH_MISMATCH" in done.err


def test_the_fix_works(shell: Shell, tmp_path: Path) -> None:
    """An archive of the thread, imported into a new store, verifies."""
    store = f"sqlite:///{tmp_path / 'new.sqlite3'}"
    taken = shell("mail", "import", str(tmp_path / "mail.jsonl"), "--store", store)
    assert taken.code == 0, taken.err
    assert shell("artifact", "verify", THREAD, "--store", store).code == 0
    named = shell("artifact", "blame", f"{THREAD}@v1", "H1.claim", "--store", store)
    assert (named.code, ANN in named.out, BEA in named.out) == (0, True, False)


def test_the_fix_without_a_copy_works(shell: Shell, tmp_path: Path) -> None:
    """An export without the message, imported into a new store: the version is voided, the message
    sent again, and everything else is compiled again.
    """
    path, store = tmp_path / "rest.jsonl", f"sqlite:///{tmp_path / 'new.sqlite3'}"
    assert shell("mail", "export", str(path)).code == 0
    lines = path.read_text("utf-8").splitlines(keepends=True)
    (count,) = json.loads(lines.pop()).values()
    rest = [line for line in lines if json.loads(line).get("id") != 2]
    assert len(rest) == len(lines) - 1
    rest.append(json.dumps({"end": count - 1}))
    path.write_text("".join(rest), "utf-8")
    assert shell("mail", "import", str(path), "--store", store).code == 0
    assert shell("compile", THREAD, "--store", store).code == 1
    assert (
        shell("session", "void", f"{THREAD}@v1", "--reason", "Altered", "--store", store).code == 0
    )
    done = shell("compile", THREAD, "--store", store)
    assert done.code == 0, done.err
    assert shell("artifact", "verify", THREAD, "--store", store).code == 0
