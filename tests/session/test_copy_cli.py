"""`brenner mail copy`, as one types it: its words, its document, what it refuses."""

import io
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from brenner.cli import output as progress
from brenner.config import Project
from brenner.mail.model import MessageRecord
from brenner.mail.open import store_of
from mail_shell import Shell
from program import Run
from servers import postgresql
from servers.postgresql_files import PASSWORD
from session.copy_backends import AGENT_MAIL, contents, home, mail_of, records
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace
from terminal import in_terminal

OTHER = "sqlite:///other.sqlite3"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a version, in which we are."""
    with new_workspace(tmp_path) as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"), add("Lineage"))
        workspace.compile(THREAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def copy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command line in it."""
    return Shell(folder, monkeypatch)


@pytest.fixture
def server(folder: Path) -> Iterator[Project]:
    """A project on an Agent Mail server."""
    with ExitStack() as stack:
        yield stack.enter_context(home(AGENT_MAIL, folder, "server"))


def error_code(done: Run) -> str:
    """The code that it was refused with, nothing said on the standard output."""
    assert (done.code, done.out) == (1, "")
    (found,) = re.findall(r"error ([A-Z_]+)", done.err)
    return str(found)


def test_words(copy: Shell, folder: Path) -> None:
    """What was copied, how, that it was verified, and the line that switches over."""
    done = copy("mail", "copy", "--to", OTHER)
    assert (done.code, done.err) == (0, "")
    first, *rest = done.out.splitlines()
    assert first == (
        f"Copied 3 messages from {folder}/.brenner/mail.sqlite3 to {folder}/other.sqlite3. "
        "Compared: 3 messages, 1 thread, 3 agents."
    )
    assert rest == [
        f"  New agents: {ANN}, Operator and {BEA}.",
        "  IDs, times, hashes, links and read marks are unchanged.",
        "  The version rebuilds from the mail, before and after.",
        f'  Next: write `store = "{OTHER}"` into brenner.toml, so that every command uses it.',
    ]
    again = copy("mail", "copy", "--to", OTHER)
    first = again.out.splitlines()[0]
    assert first.startswith(
        f"Everything was already copied from {folder}/.brenner/mail.sqlite3 to "
    )
    assert first.endswith(": 3 messages, 1 thread, 3 agents.")


def test_the_line_for_the_settings_works(copy: Shell, folder: Path) -> None:
    """Written into brenner.toml, it makes every command use the copy."""
    done = copy("mail", "copy", "--to", OTHER, "--json")
    (folder / "brenner.toml").write_text(done.json["setting"] + "\n", "utf-8")
    (folder / ".brenner" / "mail.sqlite3").unlink()
    assert copy("artifact", "verify", THREAD, "--json").json["ok"] is True


def test_into_the_own_store(copy: Shell, folder: Path) -> None:
    """What is left out is the project's own, which needs no setting; --store says which."""
    assert copy("mail", "copy", "--to", OTHER).code == 0
    (folder / ".brenner" / "mail.sqlite3").unlink()
    done = copy("mail", "copy", "--from", OTHER)
    assert done.code == 0
    assert "Next: `brenner mail thread`" in done.out
    third = copy("mail", "copy", "--from", OTHER, "--store", "sqlite:///third.sqlite3", "--json")
    assert third.json["to"] == f"{folder}/third.sqlite3"


def test_document(copy: Shell, folder: Path) -> None:
    """All that was done, for programs."""
    document = copy("mail", "copy", "--to", OTHER, "--json").json
    (version,) = document.pop("versions")
    assert (version["thread_id"], version["version"], version["ok"]) == (THREAD, 1, True)
    assert len(version["artifact_sha256"]) == 64
    amount = {"messages": 3, "agents": 3, "threads": 1}
    assert document == {
        "from": f"{folder}/.brenner/mail.sqlite3",
        "to": f"{folder}/other.sqlite3",
        "ok": True,
        "added": 3,
        "skipped": 0,
        "renumbered": [],
        "new_agents": [ANN, "Operator", BEA],
        "source": amount,
        "target": amount,
        "as_they_were": True,
        "cannot_keep": {},
        "setting": f'store = "{OTHER}"',
        "valid": True,
        "summary": {"errors": 0, "warnings": 0, "info": 0},
        "violations": [],
    }


def test_usage(copy: Shell) -> None:
    """One of the two must be said, and must be a store."""
    for arguments in ((), ("--to", "other"), ("--from", "mysql://db/x", "--to", OTHER)):
        done = copy("mail", "copy", *arguments)
        assert (done.code, done.out) == (2, "")
    unknown = copy("mail", "copy", "--to", "mysql://ada:secret@db/x", "--json").json
    assert unknown["from"].endswith("/.brenner/mail.sqlite3")
    assert unknown["to"] == "mysql://…"
    failed = copy("mail", "copy", "--json")
    assert (failed.code, failed.json["ok"], failed.json["from"]) == (2, False, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "sqlite:///.brenner/mail.sqlite3"),
        ("--from", "sqlite:///.brenner/../.brenner/mail.sqlite3"),
        ("--from", OTHER, "--to", OTHER),
        ("--from", "postgresql://db/x", "--to", "postgresql://db/x?schema=brenner"),
        ("--from", "agent-mail", "--to", "agent-mail+http://127.0.0.1:8765/mcp"),
    ],
)
def test_the_same_store_twice(copy: Shell, folder: Path, arguments: tuple[str, ...]) -> None:
    """Refused, however it is written; nothing is looked at."""
    assert error_code(copy("mail", "copy", *arguments)) == "SAME_STORE"
    assert not (folder / "other.sqlite3").exists()


def test_a_store_that_is_not_there(copy: Shell, folder: Path) -> None:
    """To copy nothing would look like success; and the target is not made."""
    done = copy("mail", "copy", "--from", "sqlite:///mial.sqlite3", "--to", OTHER)
    assert error_code(done) == "NO_MAIL_TO_COPY"
    assert not (folder / "other.sqlite3").exists()
    document = copy("mail", "copy", "--from", "sqlite:///mial.sqlite3", "--to", OTHER, "--json")
    assert document.code == 1
    assert document.json["from"] == f"{folder}/mial.sqlite3"
    assert document.json["to"] == f"{folder}/other.sqlite3"


def test_mail_that_is_inside_the_project(copy: Shell, folder: Path) -> None:
    """A home without mail is copied, and the mail is in the store that was the home before."""
    (folder / "brenner.toml").write_text('store = "sqlite:///new.sqlite3"\n', "utf-8")
    hint = f"`brenner mail copy --project {folder} --from sqlite:///.brenner/mail.sqlite3 --to "
    missing = copy("mail", "copy", "--to", OTHER)
    assert error_code(missing) == "NO_MAIL_TO_COPY"
    assert "`.brenner/mail.sqlite3`, contains 3 messages." in missing.err
    assert hint in missing.err
    assert copy("init").code == 0
    empty = copy("mail", "copy", "--to", OTHER)
    assert (empty.code, empty.out.splitlines()[1:2]) == (0, ["  New agents: Operator."])
    assert empty.out.startswith("No messages to copy from ")
    assert "warning MAIL_LEFT_BEHIND" in empty.err
    (command,) = re.findall(r"`brenner (mail copy [^`]*)`", empty.err)
    assert copy(*shlex.split(command)).code == 0
    assert len(records(Project(folder, f"sqlite:///{folder}/other.sqlite3"))) == 3
    back = copy("mail", "copy", "--to", "sqlite:///.brenner/mail.sqlite3")
    assert (back.code, back.err) == (0, "")  # it is the target itself


def test_agents_only(copy: Shell) -> None:
    """Whoever is new is no part of what was there already."""
    assert copy("mail", "copy", "--to", OTHER).code == 0
    assert copy("mail", "register", "GreenDog").code == 0
    done = copy("mail", "copy", "--to", OTHER)
    first, second, *_ = done.out.splitlines()
    assert first.startswith("All messages were already copied from ")
    assert first.endswith(": 3 messages, 1 thread, 4 agents.")
    assert second == "  New agents: GreenDog."


def test_a_server_that_is_not_there(copy: Shell, folder: Path) -> None:
    """Exit code 3, and nothing was made."""
    nowhere = "agent-mail+http://127.0.0.1:9/mcp/"
    for arguments in (("--to", nowhere), ("--from", nowhere, "--to", OTHER)):
        done = copy("mail", "copy", *arguments)
        assert (done.code, done.out) == (3, "")
        assert "SERVER_UNREACHABLE" in done.err
    assert not (folder / "other.sqlite3").exists()


def spoil(folder: Path) -> None:
    """Put a version into the thread that does not follow from its mail."""
    with mail_of(Project(folder)) as mailbox:
        (version,) = [each for each in mailbox.arrivals(0) if each.type == "COMPILED"]
        body = version.message.body.replace('"version":1', '"version":2')
        body = body.replace('"base":0', '"base":1')
        subject = version.message.subject.replace("v1", "v2")
        assert (body, subject) != (version.message.body, version.message.subject)
        mailbox.send(version.message._replace(subject=subject, body=body))


def test_a_source_that_does_not_verify(copy: Shell, folder: Path) -> None:
    """Told and not copied; with --force it is, and told again. The rest is verified."""
    spoil(folder)
    assert copy("artifact", "verify", THREAD).code == 1
    done = copy("mail", "copy", "--to", OTHER)
    assert error_code(done) == "SOURCE_NOT_VERIFIED"
    assert f"v2 of {THREAD}" in done.err
    assert not (folder / "other.sqlite3").exists()
    forced = copy("mail", "copy", "--to", OTHER, "--force")
    assert forced.code == 0
    assert f"v2 of {THREAD} did not rebuild from the mail before. 1 other rebuilds" in forced.out
    versions = copy("mail", "copy", "--to", OTHER, "--force", "--json").json["versions"]
    assert [(each["version"], each["ok"]) for each in versions] == [(1, True), (2, False)]


def test_a_database_with_a_password(copy: Shell, folder: Path) -> None:
    """It is used, and neither shown nor written: the line for the settings is without."""
    url = postgresql.running().url(schema="copy_cli", password=PASSWORD)
    done = copy("mail", "copy", "--to", url)
    assert (done.code, done.err) == (0, "")
    assert PASSWORD not in done.out
    assert "PGPASSWORD" in done.out
    (line,) = re.findall(r"`(store = [^`]*)`", done.out)
    (folder / "brenner.toml").write_text(line + "\n", "utf-8")
    assert tomllib.loads(line)["store"].endswith("/brenner?schema=copy_cli")
    assert copy("artifact", "verify", THREAD, "--json").json["ok"] is True


def test_words_about_a_server(copy: Shell, server: Project) -> None:
    """That it was sent anew, which ids are new, what is not kept."""
    done = copy("mail", "copy", "--to", server.store or "")
    assert done.code == 0
    assert "They were sent again in their order. Times are new" in done.out
    assert "Lost: read marks (" in done.out
    assert f'`store = "{server.store}"`' in done.out
    document = copy("mail", "copy", "--to", server.store or "", "--json").json
    assert (document["as_they_were"], document["skipped"]) == (False, 3)
    assert "read marks" in document["cannot_keep"]
    back = copy("mail", "copy", "--from", server.store or "", "--to", OTHER)
    assert "  IDs, times and hashes are unchanged.\n" in back.out


def test_an_archive_into_a_server(copy: Shell, folder: Path, server: Project) -> None:
    """Sent anew, too, whoever is only named in it included; repeated, nothing is sent twice."""
    assert copy("mail", "export", "mail.jsonl").code == 0
    (folder / "brenner.toml").write_text('operator = "GreenCastle"\n', "utf-8")
    arguments = ("mail", "import", "mail.jsonl", "--store", server.store or "", "--json")
    first, second = copy(*arguments).json, copy(*arguments).json
    assert (first["added"], first["skipped"]) == (3, 0)
    assert first["new_agents"] == [ANN, "Operator", BEA]
    assert (second["added"], second["skipped"]) == (0, 3)
    assert contents(server) == contents(Project(folder))


def to_nobody(folder: Path, kept: list[int]) -> Project:
    """A copy of the mail in which all other messages went to nobody, as an archive may have it."""
    found = []
    for record in records(Project(folder)):
        message = record.stored.message
        if record.stored.id not in kept:
            message = message._replace(recipients=())
        found.append(MessageRecord(record.stored._replace(message=message)))
    altered = Project(folder, f"sqlite:///{folder}/altered.sqlite3")
    with mail_of(Project(folder)) as mailbox:
        agents = mailbox.agents()
    with store_of(altered).create() as mailbox:
        mailbox.restore(agents, found)
    return altered


def test_a_message_that_the_target_refuses(copy: Shell, folder: Path, server: Project) -> None:
    """It stops there; with --force the others are copied. It is told either way, exit code 1."""
    altered = to_nobody(folder, kept=[1, 3])
    arguments = ("mail", "copy", "--from", altered.store or "", "--to", server.store or "")
    done = copy(*arguments)
    assert error_code(done) == "MESSAGE_NOT_TAKEN"
    assert f"message 2 of {THREAD}" in done.err
    assert len(records(server)) == 1
    forced = copy(*arguments, "--force", "--json")
    assert forced.code == 1
    document = forced.json
    assert (document["ok"], document["added"], document["skipped"]) == (False, 1, 1)
    assert [each["id"] for each in document["violations"]] == [
        "MESSAGE_NOT_TAKEN",
        "COPY_INCOMPLETE",  # v1 has read it
        "COPIED_DEBTS_DIFFER",  # it settled the ACK of its sender's kickoff
    ]
    assert document["violations"][0]["message_id"] == 2
    assert f"v1 of {THREAD}" in document["violations"][1]["message"]
    plain = copy(*arguments, "--force")
    assert plain.code == 1
    assert plain.err.endswith("The copy is not complete. The source is unchanged: keep it.\n")
    assert len(contents(server)) == 2


def test_fits_into_a_terminal(folder: Path) -> None:
    """Whatever the paths are, nothing is wider than it."""
    shown = in_terminal(80, "mail", "copy", "--to", OTHER, "--project", str(folder))
    assert max(map(len, shown.splitlines())) <= 80
    assert "Copied 3 messages" in shown


class Terminal(io.StringIO):
    """A standard error that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits sees how far it is; what follows begins on a line of its own."""
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    with progress.Progress() as quick:
        quick("Sending", 1, 12)
    assert seen.getvalue() == ""
    monkeypatch.setattr(progress, "_PROGRESS_DELAY", 0.0)
    monkeypatch.setattr(progress, "_PROGRESS_INTERVAL", 0.0)
    with progress.Progress() as slow:
        slow("Verifying versions", 1, None)
        slow("Sending", 1, 1200)
    first, second = "Verifying versions 1", "Sending 1 of 1,200"
    assert seen.getvalue() == f"\r{first}\r{second:<{len(first)}}\n"
