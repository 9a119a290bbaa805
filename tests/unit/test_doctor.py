"""Test `brenner doctor` against healthy and damaged stores."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from program import Run, brenner, files, git, powerless
from terminal import in_terminal

PROJECT = ["roster", "source_text", "persisting", "mcp", "serve", "secrets"]
NEIGHBOURS = ["ntm", "tmux", "bd"]
ALWAYS = [
    *("python", "brenner", "sqlite", "git", *NEIGHBOURS),
    *("project", "settings", *PROJECT, "store"),
]
INSIDE = ["write", "integrity", "mail", "journal", "operator", "identity", "clock", "acks"]
DISK = ["file_system", "space"]
AGENTS = ["claude-code", "codex-cli", "gemini-cli"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a store and no mail."""
    assert brenner("init", cwd=tmp_path).code == 0
    return tmp_path


def store_of(project: Path) -> Path:
    """Its file."""
    return project / ".brenner" / "mail.sqlite3"


def run_doctor(project: Path, *arguments: str, **environment: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of `doctor --json` and its checks by name."""
    done = brenner("doctor", "--json", *arguments, cwd=project, **environment)
    return done.code, by_name(done)


def by_name(done: Run) -> dict[str, Any]:
    """The checks of a document, by name."""
    assert done.err == ""
    checks = done.json["checks"]
    assert done.json["ok"] is all(each["status"] != "problem" for each in checks)
    assert done.json["ok"] is (done.code == 0)
    assert {key for each in checks for key in each} <= {"name", "status", "detail", "fix", "id"}
    assert all(each["fix"] for each in checks if each["status"] == "problem")
    named = {each["name"]: each for each in checks}
    assert len(named) == len(checks)
    return named


def names(checks: dict[str, Any]) -> list[str]:
    """All names, without those that depend on the agents' programs of this machine."""
    return [name for name in checks if not name.endswith(("_login", "_settings"))]


def post(store: Path, at: datetime, *, ack_required: bool = False) -> None:
    """Send a message from the operator to an agent at that time."""
    with SqliteMailbox.open(store, clock=lambda: at) as mailbox:
        mailbox.register(Profile("BlueLake"))
        subject = "INFO: Read this"
        message = Message("RS-20251230-cell-fate", "Operator", ("BlueLake",), subject, "Text.\n")
        mailbox.send(message._replace(ack_required=ack_required))


def test_empty_folder_is_ok_and_stays_empty(tmp_path: Path) -> None:
    code, checks = run_doctor(tmp_path)
    assert code == 0
    assert names(checks) == [*ALWAYS, "identity", *DISK, *AGENTS]
    assert [name for name, each in checks.items() if each["status"] != "ok"] == ["project"]
    assert checks["project"]["id"] == "NOT_A_PROJECT"
    assert "does not exist yet" in checks["store"]["detail"]
    assert files(tmp_path) == []


def settle(project: Path, text: str) -> None:
    """Write the settings."""
    (project / "brenner.toml").write_text(text, "utf-8")


ROSTER = '[[roster.entries]]\nagentName = "Ada"\nrole = "test_designer"\n'


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (ROSTER, "ok", "`brenner.toml`: 1 agent, 0 presets"),
        (ROSTER.replace("test_designer", "design"), "problem", "Invalid role for Ada: design"),
        (ROSTER.replace("agentName", "agent"), "problem", "`agent` is unknown (line 2)."),
        (ROSTER + 'programme = "x"\n', "warning", "Unknown key `programme`"),
        ('[roster]\ndefaultPreset = "default-3"\n', "problem", "Unknown preset `default-3`."),
        ('[roster]\ndefaultPreset = "default-3-agent"\n', "ok", "0 agents"),
        (
            ROSTER.replace("test_designer", "design") + ROSTER.replace("test_designer", "x"),
            "problem",
            "All 3 problems: `brenner roster validate`.",
        ),
    ],
)
def test_roster_in_settings_is_checked(project: Path, text: str, status: str, words: str) -> None:
    settle(project, text)
    code, checks = run_doctor(project)
    assert (code, checks["roster"]["status"]) == (3 if status == "problem" else 0, status)
    assert words in checks["roster"]["detail"]


def test_source_text_must_exist_and_have_sections(project: Path) -> None:
    settle(project, 'source_text = "talks.md"\n')
    code, checks = run_doctor(project)
    assert (code, checks["source_text"]["status"]) == (3, "problem")
    assert checks["source_text"]["id"] == "INVALID_SETTINGS"
    assert checks["source_text"]["fix"] == (
        "Restore `talks.md`, or correct `source_text` in `brenner.toml`."
    )
    assert "1 problem." in brenner("doctor", cwd=project).out
    (project / "talks.md").write_text("# No number\n", "utf-8")
    code, checks = run_doctor(project)
    assert (code, checks["source_text"]["status"]) == (0, "warning")
    (project / "talks.md").write_text("# §41 One\n\n# §42 Two\n\n# §99 Three\n", "utf-8")
    code, checks = run_doctor(project)
    assert (code, checks["source_text"]["status"]) == (0, "ok")
    assert checks["source_text"]["detail"] == "`talks.md`, 3 sections"


def test_an_evidence_pack_must_be_sound(project: Path) -> None:
    """It has a row only if the settings name one."""
    assert "evidence_pack" not in run_doctor(project)[1]
    settle(project, 'evidence_pack = "e.toml"\n')
    code, checks = run_doctor(project)
    assert (code, checks["evidence_pack"]["id"]) == (3, "EVIDENCE_PACK_UNREADABLE")
    (project / "e.toml").write_text("[EV-001]\ntitle='T'\nsource='a'\naccessed='2026'\n", "utf-8")
    code, checks = run_doctor(project)
    assert (code, checks["evidence_pack"]["id"]) == (3, "INVALID_EVIDENCE_RECORD")
    (project / "e.toml").write_text("", "utf-8")
    assert run_doctor(project)[1]["evidence_pack"]["detail"] == "`e.toml`, 0 records"


def test_persisting(project: Path) -> None:
    """No repository is a problem only where the settings ask for commits."""
    assert "not committed" in run_doctor(project)[1]["persisting"]["detail"]
    settle(project, "[persist]\non_complete = true\ncommit = true\n")
    code, checks = run_doctor(project)
    assert (code, checks["persisting"]["id"]) == (3, "NOT_A_REPOSITORY")
    git("init", "--quiet", cwd=project)
    git("config", "user.name", "Ada", cwd=project)
    git("config", "user.email", "ada@example.org", cwd=project)
    code, checks = run_doctor(project)
    assert (code, checks["persisting"]["status"]) == (0, "ok")
    assert str(project) in checks["persisting"]["detail"]
    (project / ".git" / "MERGE_HEAD").write_text("", "utf-8")
    code, checks = run_doctor(project)
    assert (code, checks["persisting"]["id"]) == (3, "GIT_OPERATION_IN_PROGRESS")
    settle(project, "")
    code, checks = run_doctor(project)
    assert (code, checks["persisting"]["status"]) == (0, "warning")


def test_healthy_project_passes_all_checks_unchanged(project: Path) -> None:
    before = store_of(project).read_bytes()
    code, checks = run_doctor(project)
    assert code == 0
    assert names(checks) == [*ALWAYS, *INSIDE, *DISK, *AGENTS]
    assert {each["status"] for each in checks.values()} == {"ok"}
    assert checks["mail"]["detail"] == "0 messages, 1 agent"
    assert "format 6" in checks["store"]["detail"]
    assert store_of(project).read_bytes() == before
    assert files(project) == [".brenner", ".brenner/.gitignore", ".brenner/mail.sqlite3"]


def test_text_output_has_one_line_per_check(project: Path) -> None:
    """With --verbose; without it there is only the summary where nothing is wrong."""
    done = brenner("doctor", "--verbose", cwd=project)
    assert (done.code, done.err) == (0, "")
    *lines, summary = done.out.splitlines()
    count = len(run_doctor(project)[1])
    assert len(lines) == count
    assert all(line.startswith("ok       ") for line in lines)
    assert summary == f"{count} checks passed."
    short = brenner("doctor", cwd=project)
    assert short.code == 0
    assert short.out == f"{summary} `brenner doctor --verbose` shows them all.\n"


def make_garbage(store: Path) -> None:
    """Replace the store with bytes that are not a database."""
    store.write_bytes(b"garbage " * 1000)


def cut_short(store: Path) -> None:
    """The first pages of a store."""
    store.write_bytes(store.read_bytes()[:8192])


def make_foreign(store: Path) -> None:
    """A database of another program."""
    store.unlink()
    with apsw.Connection(str(store)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def make_newer(store: Path) -> None:
    """A store of a version that is yet to come."""
    with apsw.Connection(str(store)) as connection:
        connection.execute("PRAGMA user_version = 999")


def make_empty(store: Path) -> None:
    """Truncate the store, as a failed copy does."""
    store.write_bytes(b"")


def make_folder(store: Path) -> None:
    """A folder under the store's name."""
    store.unlink()
    store.mkdir()


def make_link(store: Path) -> None:
    """A link to nowhere."""
    store.unlink()
    store.symlink_to("nowhere")


def make_pipe(store: Path) -> None:
    """Replace the store with a named pipe, which would block a reader."""
    store.unlink()
    os.mkfifo(store)


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (make_garbage, "STORE_CORRUPT", "damaged"),
        (cut_short, "STORE_CORRUPT", "damaged"),
        (make_foreign, "STORE_FOREIGN", "not a Brenner store"),
        (make_newer, "STORE_TOO_NEW", "format 999"),
        (make_empty, "STORE_FOREIGN", "it is empty"),
        (make_folder, "STORE_UNUSABLE", "it is a folder"),
        (make_link, "STORE_UNUSABLE", "a link to `nowhere`"),
        (make_pipe, "STORE_UNUSABLE", "it is not a file"),
    ],
)
def test_unusable_store_is_reported_and_left_unchanged(
    project: Path, spoil: Callable[[Path], None], code: str, words: str
) -> None:
    """The other checks still run, and the exit code is 3."""
    store = store_of(project)
    spoil(store)
    before = store.read_bytes() if store.is_file() else None
    exit_code, checks = run_doctor(project)
    assert exit_code == 3
    assert (checks["store"]["status"], checks["store"]["id"]) == ("problem", code)
    assert words in checks["store"]["detail"]
    assert names(checks) == [*ALWAYS, "identity", *DISK, *AGENTS]
    assert (store.read_bytes() if store.is_file() else None) == before
    plain = brenner("doctor", cwd=project)
    assert plain.code == 3
    assert f"problem  store        {code}  " in plain.out
    assert "checks passed, 1 problem. `brenner doctor --verbose` shows them all.\n" in plain.out


@pytest.mark.parametrize("locked", ["file", "folder", "both"])
def test_read_only_store(project: Path, locked: str) -> None:
    """The check names the read-only path and the command that fixes it."""
    store = store_of(project)
    modes = {"file": (0o444, 0o755), "folder": (0o644, 0o555), "both": (0o444, 0o555)}[locked]
    store.chmod(modes[0])
    store.parent.chmod(modes[1])
    try:
        done = powerless("doctor", "--json", cwd=project)
    finally:
        store.parent.chmod(0o755)
    found = [each for each in by_name(done).values() if each["status"] == "problem"]
    assert done.code == 3
    assert found[0]["id"] in ("STORE_READ_ONLY", "STORE_UNUSABLE")
    assert "no permission to write" in found[0]["detail"]
    assert "chmod u+w" in found[0]["fix"]
    assert (f"{store} " in found[0]["fix"].replace("`", " ")) is (locked != "folder")


@pytest.mark.parametrize(
    ("place", "words"),
    [("file", "no permission to read it (mode 0000"), ("folder", "no permission to open")],
)
def test_store_out_of_reach(project: Path, place: str, words: str) -> None:
    """Permissions are spelled out."""
    target = store_of(project) if place == "file" else project / ".brenner"
    target.chmod(0o000)
    try:
        done = powerless("doctor", "--json", cwd=project)
    finally:
        target.chmod(0o755)
    store = by_name(done)["store"]
    assert (done.code, store["id"]) == (3, "STORE_UNUSABLE")
    assert words in store["detail"]
    assert "chmod" in store["fix"]


def test_store_in_unwritable_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        done = powerless("doctor", "--json", cwd=tmp_path)
    finally:
        tmp_path.chmod(0o755)
    store = by_name(done)["store"]
    assert (done.code, store["id"]) == (3, "STORE_UNUSABLE")
    assert "is not writable" in store["detail"]
    code, checks = run_doctor(tmp_path, "--store", "sqlite:////dev/null/mail.sqlite3")
    assert (code, checks["store"]["id"]) == (3, "STORE_UNUSABLE")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_no_room_for_the_folder(tmp_path: Path, kind: str) -> None:
    """Something else has the name of our own folder."""
    place = tmp_path / ".brenner"
    if kind == "file":
        place.write_text("", "utf-8")
    else:
        place.symlink_to("nowhere")
    code, checks = run_doctor(tmp_path)
    assert (code, checks["store"]["id"]) == (3, "STORE_UNUSABLE")
    assert "is not a folder" in checks["store"]["detail"]
    assert brenner("init", cwd=tmp_path).code == 3


def test_inconsistent_mail(project: Path) -> None:
    """A readable file with inconsistent rows gives exit code 1."""
    with apsw.Connection(str(store_of(project))) as connection:
        connection.execute(
            "INSERT INTO deliveries (recipient, at, message, thread, owes_ack, arrival)"
            " VALUES (1, 1, 999, 1, 0, 1)"
        )
    code, checks = run_doctor(project)
    assert code == 1
    assert (checks["integrity"]["status"], checks["integrity"]["id"]) == (
        "problem",
        "STORE_CORRUPT",
    )
    assert [name for name, each in checks.items() if each["status"] != "ok"] == ["integrity"]


def test_damaged_page_is_reported_once(project: Path) -> None:
    """The other checks still run or give the reason why they cannot."""
    store = store_of(project)
    post(store, datetime.now(UTC))
    raw = bytearray(store.read_bytes())
    for page in range(4096, len(raw), 4096):
        raw[page : page + 16] = b"\xff" * 16
    store.write_bytes(raw)
    done = brenner("doctor", "--json", cwd=project)
    checks = by_name(done)
    assert done.code in (1, 3)
    told = [each["name"] for each in checks.values() if each["status"] == "problem"]
    assert told
    assert len(told) <= 2  # what was found inside, and the first check that could not be made
    assert checks["space"]["status"] == "ok"


def test_journal_mode(project: Path) -> None:
    """Another program can take the store out of WAL mode."""
    connection = apsw.Connection(str(store_of(project)))
    connection.execute("PRAGMA journal_mode = delete")
    connection.close()
    code, checks = run_doctor(project)
    assert code == 0
    assert checks["journal"]["status"] == "warning"
    assert "PRAGMA journal_mode = wal" in checks["journal"]["fix"]


def test_message_dated_in_the_future(project: Path) -> None:
    """Up to a minute ahead is accepted."""
    now = datetime.now(UTC)
    post(store_of(project), now + timedelta(seconds=30))
    assert run_doctor(project)[1]["clock"]["status"] == "ok"
    post(store_of(project), now + timedelta(days=400))
    code, checks = run_doctor(project)
    assert (code, checks["clock"]["status"]) == (0, "warning")
    assert "message 2, " in checks["clock"]["detail"]
    assert str((now + timedelta(days=400)).date()) in checks["clock"]["detail"]


def test_overdue_acks(project: Path) -> None:
    """Counted by the project's own deadline."""
    post(store_of(project), datetime.now(UTC) - timedelta(hours=30), ack_required=True)
    code, checks = run_doctor(project)
    assert (code, checks["acks"]["status"]) == (0, "warning")
    assert checks["acks"]["detail"] == "1 ACK overdue, 1 owed in all."
    (project / "brenner.toml").write_text("ack_deadline_hours = 36", "utf-8")
    acks = run_doctor(project)[1]["acks"]
    assert (acks["status"], acks["detail"]) == ("ok", "1 ACK owed, none overdue")


def test_identity(project: Path) -> None:
    """Who acts, and whether anybody knows the name."""
    assert "`Operator`" in run_doctor(project)[1]["identity"]["detail"]
    for arguments, environment in ((["--as", "BlueLake"], {}), ([], {"AGENT_NAME": "BlueLake"})):
        code, checks = run_doctor(project, *arguments, **environment)
        assert (code, checks["identity"]["status"]) == (0, "warning")
        assert "`brenner mail register BlueLake`" in checks["identity"]["fix"]
    assert run_doctor(project, "--as", "Blue Lake")[1]["identity"]["id"] == "INVALID_NAME"
    assert brenner("mail", "register", "BlueLake", cwd=project).code == 0
    code, checks = run_doctor(project, "--as", "BlueLake")
    assert (checks["identity"]["status"], checks["identity"]["detail"]) == ("ok", "`BlueLake`")


def test_fix_for_an_empty_store_works(project: Path) -> None:
    make_empty(store_of(project))
    fix = run_doctor(project)[1]["store"]["fix"]
    name = store_of(project)
    assert fix.startswith(f"Move it away: `mv {name} {name}.empty`.")
    name.rename(f"{name}.empty")
    assert brenner("init", cwd=project).code == 0
    assert run_doctor(project)[0] == 0


def test_operator_like_another_agent(project: Path) -> None:
    """Whoever writes would have to register it, and could not: mended in the settings."""
    assert brenner("mail", "register", "BlueLake", cwd=project).code == 0
    settings = project / "brenner.toml"
    settings.write_text('operator = "B1ueLake"\n', "utf-8")
    code, checks = run_doctor(project)
    found = checks["operator"]
    assert (code, found["status"], found["id"]) == (3, "problem", "NAME_LOOKS_LIKE")
    assert "`brenner.toml`" in found["fix"]
    for command in (["init"], ["mail", "register", "RedCreek"]):
        refused = brenner(*command, "--json", cwd=project)
        assert refused.code == 1
        assert refused.json["violations"][0]["fix"] == found["fix"]
    settings.write_text('operator = "FillInName"\n', "utf-8")
    assert run_doctor(project)[1]["operator"]["id"] == "INVALID_NAME"
    settings.write_text('operator = "BlueLake"\n', "utf-8")
    assert run_doctor(project)[1]["operator"]["status"] == "warning"  # Operator was it before


def test_another_operator(project: Path) -> None:
    """Who was the operator under another name may still get mail, which nobody reads."""
    (project / "brenner.toml").write_text('operator = "Ada"\n', "utf-8")
    code, checks = run_doctor(project)
    assert (code, checks["operator"]["status"]) == (0, "warning")
    assert "`Operator`" in checks["operator"]["detail"]
    assert '`operator = "Operator"`' in checks["operator"]["fix"]
    fresh = project / "fresh"
    fresh.mkdir()
    assert brenner("init", "--project", ".", "--operator", "Ada", cwd=fresh).code == 0
    operator = run_doctor(fresh)[1]["operator"]
    assert (operator["status"], operator["detail"]) == ("ok", "`Ada` is registered")


def test_settings(project: Path) -> None:
    """Warnings leave the rest alone; with errors nobody knows which store is meant."""
    file = project / "brenner.toml"
    file.write_text("\ncolour = 1\n", "utf-8")
    code, checks = run_doctor(project)
    assert code == 0
    assert (checks["settings"]["status"], checks["settings"]["id"]) == (
        "warning",
        "UNKNOWN_SETTING",
    )
    assert checks["settings"]["detail"].startswith("Line 2: ")
    file.write_text("store = 1\n", "utf-8")
    code, checks = run_doctor(project)
    assert code == 3
    assert checks["settings"]["id"] == "INVALID_SETTINGS"
    assert checks["store"]["status"] == "warning"
    assert "integrity" not in checks


def test_unknown_store(project: Path) -> None:
    """A store of another kind is a problem; the other checks go on."""
    code, checks = run_doctor(project, "--store", "mysql://ada:secret@db/x")
    assert (code, checks["store"]["id"]) == (3, "UNKNOWN_STORE")
    assert "secret" not in str(checks)


def test_path_that_is_not_utf8(tmp_path: Path) -> None:
    """SQLite cannot open such a path; the JSON output is UTF-8 nevertheless."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    code, checks = run_doctor(folder)
    assert (code, checks["store"]["id"]) == (3, "STORE_UNUSABLE")
    assert brenner("init", cwd=folder).code == 3
    assert files(folder) == []


def test_no_such_project(project: Path) -> None:
    """Wrong usage, as everywhere."""
    done = brenner("doctor", "--json", "--project", "none", cwd=project)
    assert done.code == 2
    assert done.json["violations"][0]["id"] == "NO_SUCH_PROJECT"


def test_missing_git(project: Path) -> None:
    """Mail does not need git."""
    code, checks = run_doctor(project, PATH="/nowhere")
    assert (code, checks["git"]["status"]) == (0, "warning")


def test_store_that_git_would_commit(tmp_path: Path) -> None:
    """In a repository the store must be ignored: ours is, another file is not by itself."""
    git("init", "--quiet", cwd=tmp_path)
    option = ("--store", "sqlite:///mail.sqlite3")
    assert brenner("init", cwd=tmp_path).code == 0
    assert brenner("init", *option, cwd=tmp_path).code == 0
    assert run_doctor(tmp_path)[1]["git"]["status"] == "ok"
    code, checks = run_doctor(tmp_path, *option)
    assert (code, checks["git"]["status"]) == (0, "warning")
    (tmp_path / ".gitignore").write_text("/mail.sqlite3*\n", "utf-8")
    assert run_doctor(tmp_path, *option)[1]["git"]["status"] == "ok"
    (tmp_path / ".brenner" / ".gitignore").unlink()
    assert run_doctor(tmp_path)[1]["git"]["status"] == "warning"


@pytest.mark.parametrize("spoil", [None, make_garbage])
def test_fits_into_a_terminal(project: Path, spoil: Callable[[Path], None] | None) -> None:
    """80 columns, whatever the folder is called; its escape sequences are shown."""
    folder = project / ("long-" * 20 + "\x1b[31m")
    folder.mkdir()
    brenner("init", "--project", str(folder), cwd=project)
    if spoil:
        spoil(store_of(folder))
    shown = in_terminal(80, "doctor", "--verbose", "--project", str(folder), NO_COLOR="1")
    assert "\x1b" not in shown
    assert "\\x1b[31m" in "".join(line.strip() for line in shown.splitlines())
    assert max(map(len, shown.splitlines())) <= 80


def test_several_problems_are_counted(project: Path) -> None:
    """The summary names how many of each."""
    make_garbage(store_of(project))
    done = brenner("doctor", "--verbose", "--as", "Blue Lake", cwd=project)
    assert done.out.endswith(" checks passed, 1 problem, 1 warning.\n")


def test_folder_of_the_store_is_missing(tmp_path: Path) -> None:
    """Said before a command is refused for it; the advice works as it stands."""
    settle(tmp_path, 'store = "no folder/mail.sqlite3"\n')
    code, checks = run_doctor(tmp_path)
    assert (code, checks["store"]["status"]) == (3, "problem")
    assert f"the folder `{tmp_path}/no folder` does not exist" in checks["store"]["detail"]
    command = re.match("Run `(.*?)`", checks["store"]["fix"])
    assert command
    subprocess.run(shlex.split(command[1]), check=True)
    assert run_doctor(tmp_path)[0] == 0
