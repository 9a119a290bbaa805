"""`brenner session list` as people and programs see it."""

import re
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from brenner.cli.terminal import display_width
from brenner.config import OPERATOR
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.session.overview import Need
from mail_shell import HOSTILE, Shell, store_of
from program import brenner, files, powerless, run
from session import session_mail as mail
from session.workspaces import ANN, BEA, add, edit, project_in
from terminal import in_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = f"RS-20251230-{'long-' * 7}slug-"[:-1]  # a slug of 39; 40 is the most
BLOCKED, READY, DONE, FRESH = "RS-20251230-blocked", "RS-20251230-ready", "RS-20251230-done", "-x"


class Filled:
    """A project with a session for nearly everything that can be waited for."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.at = datetime.now(UTC) - timedelta(hours=30)
        store_of(folder).parent.mkdir()
        self.mailbox = SqliteMailbox.create(store_of(folder), clock=lambda: self.at)
        mail.introduce(self.mailbox)
        self.workspace = Workspace(self.mailbox, project_in(folder), OPERATOR)

    def answered(self, thread_id: str, question: str = "") -> None:
        """A session in which both have acknowledged and contributed."""
        asked = mail.ask(self.mailbox, thread_id, question)
        for name in (ANN, BEA):
            mail.acknowledge(self.mailbox, asked, name)
            mail.contribute(self.mailbox, thread_id, name, add(f"Gradient of {name}"))

    def complete(self, thread_id: str) -> None:
        """One that is at its end."""
        self.answered(thread_id)
        for close in (False, True):
            compile_thread(self.workspace, thread_id, CompileOptions(close=close))


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    here = Filled(tmp_path / "project")
    here.answered(READY, "Which one?")
    here.complete(DONE)
    asked = mail.ask(here.mailbox, LONGEST, "What tells a cell where it is? " * 9)
    mail.acknowledge(here.mailbox, asked, ANN)
    mail.contribute(here.mailbox, "br-1", ANN, add("Gradient"), edit("H9", claim="x"))
    here.at = datetime.now(UTC)
    mail.ask(here.mailbox, FRESH, HOSTILE + "x" * 400)
    mail.ask(here.mailbox, BLOCKED)
    mail.say(here.mailbox, BLOCKED, "BLOCKED")
    mail.say(here.mailbox, BLOCKED, "QUESTION")
    mail.say(here.mailbox, "COORD-standup", "INFO")
    mail.say(here.mailbox, "COORD-handoff", "HANDOFF")
    return here


@pytest.fixture
def shell(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(filled.folder, monkeypatch)


SHOWN = f"""---
session_id: "{DONE}"
version: 3
---

# Brenner Protocol Artifact: {DONE}

## 1. Research Thread
"""
LINE = (
    "5 sessions: 1 blocked, 1 with questions, 1 with overdue ACKs, 1 with rejected blocks, "
    "1 ready to compile, 1 with handoffs"
)
SESSIONS = (BLOCKED, LONGEST, READY, FRESH, DONE)
OTHERS = ("br-1", "COORD-handoff", "COORD-standup")  # with neither a kickoff nor a version
IN_ORDER = (*SESSIONS[:-1], *OTHERS, DONE)


def test_all_as_json(shell: Shell) -> None:
    document = shell("session", "list", "--json").json
    assert list(document) == ["sessions", "other_threads", "summary", "only_files"]
    assert tuple(each["thread_id"] for each in document["sessions"]) == SESSIONS
    assert [each["needs"][0] for each in document["sessions"]] == [
        *("blocked", "overdue", "ready", "awaiting_acks", "complete")
    ]
    assert tuple(each["thread_id"] for each in document["other_threads"]) == OTHERS
    assert [each["needs"][0] for each in document["other_threads"]] == [
        *("refused", "handoffs", "conversations")
    ]
    assert document["summary"] == {
        "sessions": 5,
        **{str(need): 0 for need in Need},
        "blocked": 1,
        "asked": 1,
        "overdue": 1,
        "refused": 1,
        "ready": 1,
        "handoffs": 1,
        "awaiting_acks": 3,
        "conversations": 3,
        "complete": 1,
    }
    first = document["sessions"][0]
    assert (first["phase"], first["round"], first["blocked"]) == ("awaiting_acks", 1, 1)
    assert [each["agent"] for each in first["awaited"]] == [ANN, BEA]


def test_parts_as_json(shell: Shell) -> None:
    """--limit cuts the list, not the counts; --phase is about both."""
    some = shell("session", "list", "--json", "--limit", "2").json
    assert [each["thread_id"] for each in some["sessions"]] == list(IN_ORDER[:2])
    assert some["summary"]["sessions"] == 5
    ready = shell("session", "list", "--json", "--phase", "READY_to_compile").json
    assert [each["thread_id"] for each in ready["sessions"]] == [READY]
    assert ready["summary"]["sessions"] == 1
    talk = shell("session", "list", "--json", "--phase", "conversation").json
    assert {each["phase"] for each in talk["other_threads"]} == {None}
    assert talk["sessions"] == []


def test_one_line_each_in_a_pipe(shell: Shell) -> None:
    done = shell("session", "list")
    assert done.code == 0
    head, _, titles, _, *rows = done.out.splitlines()
    acks = "You owe 3 acknowledgements. Waiting for 5 acknowledgements from 2 agents, 1 overdue, "
    assert head == f"{LINE}. {acks}the oldest sent 30 h ago."
    columns = ["Needs", "Session", "Round", "Phase", "Waiting for", "Last mail", "Question"]
    assert re.split("  +", titles) == columns
    for name, row in zip(SESSIONS[:-1], rows, strict=False):
        assert f" {name} " in row
    needs = [row.partition("  ")[0] for row in rows]
    assert needs[:3] == ["1 blocked, 1 question", "1 ACK overdue", "ready to compile"]
    assert rows[4:6] == ["", "Other threads, with neither a kickoff nor a version:"]
    assert needs[8:11] == ["1 rejected block", "1 handoff", "conversation"]
    for name, row in zip(OTHERS, rows[8:], strict=False):
        assert f" {name} " in row
    assert rows[11:] == [
        "",
        "1 complete session not shown: `brenner session list --all`",
        f"Next: `brenner session status {BLOCKED}`",
    ]
    assert "\x1b" not in done.out
    assert f" {DONE} " in shell("session", "list", "--all").out
    assert f" {DONE} " in shell("session", "list", "--phase", "complete").out


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_fits_and_no_id_is_broken(filled: Filled, width: int) -> None:
    shown = in_terminal(width, "--project", str(filled.folder), "session", "list", "--all")
    assert "\x1b]0" not in shown
    lines = ESCAPE.sub("", shown).splitlines()
    assert max(map(display_width, lines)) <= width
    rows = [line for line in lines if not line.startswith("  ")]
    for name in IN_ORDER:
        assert sum(name in line.split() for line in rows) == 1
    # Never by colour alone: the words are there without any.
    for word in ("1 blocked", "1 question", "1 ACK overdue", "1 rejected", "ready to compile"):
        assert any(word in line for line in lines)
    assert any("waiting for" in line or "Waiting for" in line for line in lines)
    assert any("What tells a cell where" in line for line in lines)


def test_plain_where_no_colour_is_wanted(filled: Filled) -> None:
    shown = in_terminal(80, "--project", str(filled.folder), "session", "list", NO_COLOR="1")
    assert "\x1b" not in shown
    assert "1 blocked" in shown


def test_no_more_than_fifty(filled: Filled, shell: Shell) -> None:
    for number in range(60):
        mail.say(filled.mailbox, f"COORD-talk-{number:02}", "INFO")
    out = shell("session", "list").out
    assert "\n13 more not shown: `brenner session list --all`\n" in out
    assert sum("COORD-talk" in line for line in out.splitlines()) == 47
    assert shell("session", "list", "--all").out.count("COORD-talk") == 60
    assert shell("session", "list", "--all", "--limit", "3").out.count("COORD-talk") == 0
    assert len(shell("session", "list", "--json").json["other_threads"]) == 63


def test_the_line(filled: Filled, shell: Shell) -> None:
    done = shell("session", "list", "--line")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{LINE}\n"
    coloured = in_terminal(20, "--project", str(filled.folder), "session", "list", "--line")
    assert coloured == done.out


def test_the_line_where_nothing_waits(tmp_path: Path) -> None:
    here = Filled(tmp_path / "project")
    here.complete(DONE)
    line = brenner("session", "list", "--line", cwd=here.folder)
    assert (line.code, line.out) == (0, "No open sessions\n")


def test_late_work_waits(tmp_path: Path) -> None:
    """What comes in after the end is in the list, in the line and in the counts."""
    here = Filled(tmp_path / "project")
    here.complete(DONE)
    here.complete("RS-20251230-over")
    mail.contribute(here.mailbox, DONE, ANN, add("Late"), add("Later"))
    line = brenner("session", "list", "--line", cwd=here.folder)
    assert line.out == "2 sessions: 1 with late blocks\n"
    told = brenner("session", "list", cwd=here.folder).out
    assert re.search(rf"^2 late blocks +{DONE} ", told, re.MULTILINE)
    assert "1 complete session not shown" in told
    first, _ = (document := brenner("session", "list", "--json", cwd=here.folder).json)["sessions"]
    assert (first["thread_id"], first["needs"]) == (DONE, ["late", "complete"])
    assert (document["summary"]["late"], document["summary"]["complete"]) == (1, 2)
    one = brenner("session", "status", DONE, "--line", cwd=here.folder)
    assert one.out == "done r2 v2 complete · 2 late\n"


def test_a_line_of_what_is_known_is_cheap(filled: Filled) -> None:
    """A prompt asks all the time: what works a session out is loaded only where one has grown."""
    script = (
        "import sys\nfrom brenner.cli.main import run\nrun(['session', 'list', '--line'])\n"
        "names = ('brenner.session.status', 'brenner.artifact.merge.engine')\n"
        "print(*(name in sys.modules for name in names))"
    )

    def loaded() -> str:
        return run([sys.executable, "-c", script], filled.folder, {}).out.splitlines()[-1]

    assert [loaded(), loaded()] == ["True True", "False False"]
    mail.say(filled.mailbox, FRESH, "INFO")
    assert [loaded(), loaded()] == ["True True", "False False"]


@pytest.mark.parametrize("option", ["--all", "--json", "--limit=3", "--phase=complete"])
def test_the_line_goes_alone(shell: Shell, option: str) -> None:
    assert shell("session", "list", "--line", option).code == 2


def test_sessions_that_are_only_in_files(tmp_path: Path) -> None:
    """As in a clone without mail: they are named, and where to look is said."""
    here = Filled(tmp_path / "project")
    here.complete(DONE)
    texts = {
        name: SHOWN.replace(DONE, name)
        for name in (DONE, "RS-20240101-old", "br-7", "RS-20240102-gone")
    }
    (here.folder / "artifacts").mkdir()
    for name, text in {**texts, "README": "# Artifacts\n", "two words": SHOWN}.items():
        (here.folder / "artifacts" / f"{name}.md").write_text(text, "utf-8")
    names = ["RS-20240101-old", "RS-20240102-gone", "br-7"]
    assert brenner("session", "list", "--json", cwd=here.folder).json["only_files"] == names
    told = brenner("session", "list", cwd=here.folder).out
    said = f"3 sessions only in artifacts/: {names[0]}, {names[1]} and br-7. "
    assert f"{said}Details: `brenner session show {names[0]}`\n" in told
    assert "only in" not in brenner("session", "list", "--phase", "complete", cwd=here.folder).out
    for form in ((), ("--line",), ("--json",)):
        done = brenner("session", "status", names[0], *form, cwd=here.folder)
        assert done.code == 1
        shown = done.json["violations"][0]["fix"] if form == ("--json",) else done.err
        assert f"`brenner session show {names[0]}`" in shown
    away = tmp_path / "clone"
    (away / "artifacts").mkdir(parents=True)
    (away / "artifacts" / "RS-20240101-old.md").write_text(texts["RS-20240101-old"], "utf-8")
    told = brenner("session", "list", "--project", ".", cwd=away).out
    assert "1 session only in artifacts/: RS-20240101-old." in told


def test_a_start_says_that_there_is_a_file(tmp_path: Path) -> None:
    """The mail of that session is elsewhere; it would begin anew."""
    folder = tmp_path / "clone"
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts" / f"{DONE}.md").write_text(SHOWN, "utf-8")
    who = ("--to", ANN, "--role", "test_designer")
    asked = ("--question", "Why?", "--context", "So.", "--thread-id", DONE, "--json", *who)
    found = brenner("session", "start", *asked, cwd=folder).json["violations"]
    (warning,) = (each for each in found if each["id"] == "FILE_AHEAD_OF_MAIL")
    held = f"`artifacts/{DONE}.md` is v3, but the mail in this store has no version of it"
    assert warning["message"].startswith(held)
    found = brenner("session", "start", *asked, cwd=folder).json["violations"]
    assert "FILE_AHEAD_OF_MAIL" not in [each["id"] for each in found]  # its mail is here now


def test_the_advice_of_an_empty_list_works(tmp_path: Path) -> None:
    (tmp_path / "brenner.toml").touch()
    told = brenner("session", "list", cwd=tmp_path).out
    command = re.search("`brenner (session start .*)`", told)
    assert command
    filled_in = command[1].replace("NAME", ANN).replace("ROLE", "test_designer")
    words = shlex.split(filled_in.replace("…", "Why so?"))
    assert brenner(*words, "--dry-run", cwd=tmp_path).code == 0


def test_nothing_is_made_where_nothing_is(tmp_path: Path) -> None:
    """The line of a prompt is empty there; the list says what will appear, and how."""
    here = ("--project", str(tmp_path))
    line = brenner("session", "list", "--line", *here, cwd=tmp_path)
    assert (line.code, line.out) == (0, "\n")
    told = brenner("session", "list", *here, cwd=tmp_path)
    assert told.code == 0
    assert told.out.startswith(f"No sessions yet in `{tmp_path}`, store ")
    assert "`brenner session start " in told.out
    document = brenner("session", "list", "--json", *here, cwd=tmp_path).json
    assert (document["sessions"], document["summary"]["sessions"]) == ([], 0)
    assert files(tmp_path) == []


def test_a_phase_that_no_session_is_in(shell: Shell) -> None:
    done = shell("session", "list", "--phase", "awaiting_deltas")
    assert done.out == (
        "No session is in phase awaiting_deltas. All phases: `brenner session list`\n"
    )
    assert shell("session", "list", "--phase", "ready").code == 2


def test_threads_that_can_be_no_session_are_told_of(filled: Filled, shell: Shell) -> None:
    mail.say(filled.mailbox, "Two words", "QUESTION")
    out = shell("session", "list").out
    assert "1 thread has an ID that is not valid for a session: `brenner mail thread`" in out


@pytest.mark.parametrize("form", [(), ("--line",), ("--json",)])
def test_a_store_that_is_away(tmp_path: Path, form: tuple[str, ...]) -> None:
    """Nobody takes that for a project in which nothing waits."""
    away = "postgresql://127.0.0.1:1/none?connect_timeout=1"
    done = brenner("session", "list", *form, "--store", away, cwd=tmp_path)
    assert done.code == 3
    if form == ("--json",):
        assert done.json["sessions"] == []
        assert done.json["violations"]
    else:
        assert done.out == ""
        assert "127.0.0.1" in done.err


def test_a_store_that_may_only_be_read(filled: Filled) -> None:
    filled.mailbox.close()
    filled.folder.parent.chmod(0o755)
    before = store_of(filled.folder).read_bytes()
    store_of(filled.folder).chmod(0o444)
    store_of(filled.folder).parent.chmod(0o555)
    done = powerless("session", "list", "--json", cwd=filled.folder)
    store_of(filled.folder).parent.chmod(0o755)
    assert done.code == 0
    assert [each["thread_id"] for each in done.json["sessions"]] == list(SESSIONS)
    assert store_of(filled.folder).read_bytes() == before
