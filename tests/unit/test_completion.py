"""Completion in real shells: commands, options, and values of the project, without a trace."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from brenner.cli.completion import VALUES
from brenner.services.compile import CompileOptions, compile_thread
from mail.old_stores import rebuilt
from parts import need
from program import brenner, files
from servers.postgresql import running
from session.workspaces import ANN, BEA, THREAD, add, contribute, kickoff, new_workspace
from unit.test_help import EVERY

_PATIENCE = 60  # seconds; a shell answers at once, a loaded machine later


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session and two versions."""
    folder = tmp_path_factory.mktemp("completion")
    with new_workspace(folder) as workspace:
        kickoff(workspace)
        for name in ("Gradient", "Timer"):
            contribute(workspace, ANN, add(name))
            compile_thread(workspace, THREAD, CompileOptions())
    return folder


def completed(folder: Path, line: str, **environment: str) -> list[str]:
    """What bash is offered for a line, as its script asks for it."""
    request = {"_BRENNER_COMPLETE": "bash_complete", "_BRENNER_LINE": f"brenner {line}"}
    breaks = {"_BRENNER_BREAKS": "@=:"}
    done = brenner(cwd=folder, **request, **breaks, **environment)
    assert (done.code, done.err) == (0, "")
    return [each.removeprefix("plain,") for each in done.out.splitlines()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sess", ["session"]),
        ("mail se", ["send", "search"]),
        ("mail send --re", ["--reply-to"]),
        ("session status ", [THREAD]),
        ("session status RS-", [THREAD]),
        ("session status XX", []),
        ("mail inbox --thread ", [THREAD]),
        ("artifact show RS", [THREAD]),
        (f"artifact show {THREAD}@", ["@v2", "@v1"]),
        (f"session void {THREAD}@v", ["@v2", "@v1"]),
        (f"artifact diff {THREAD}@v1 ", ["v2", "v1"]),
        (f"artifact show {THREAD} --item ", ["H1", "H2"]),
        (f"artifact blame {THREAD}@v1 H", ["H1"]),
        (f"artifact show {THREAD} --item=", ["H1", "H2"]),
        (f"result add {THREAD} --contradicts H", ["H1", "H2"]),
        (f"result add {THREAD} --supports H1,", ["H1,H1", "H1,H2"]),
        (f"result run {THREAD} T", []),
        ("mail inbox --as ", [ANN, "Operator", BEA]),
        ("--as Op", ["Operator"]),
        (f"mail send --to {ANN},Op", [f"{ANN},Operator"]),
        (f"roster show --agent-role {ANN}=test", ["test_designer"]),
        ("roster show --role adv", ["adversarial_critic"]),
        ("session start --preset def", ["default-3-agent"]),
        ("new delt", ["DELTA"]),
        ("mail inbox --type=CRIT", ["CRITIQUE"]),
        ("mail inbox --type CRIT", ["CRITIQUE"]),
        ("explain INVALID_JS", ["INVALID_JSON"]),
        ("explain MB-004", ["MB-004"]),
        ("agent config --client co", ["codex"]),
        ("help mail se", ["send", "search"]),
        ("check ", ["file,"]),
        ("--project ", ["dir,"]),
        ("mail 'unclosed", []),
    ],
)
def test_what_bash_is_offered(project: Path, line: str, offered: list[str]) -> None:
    assert completed(project, line) == offered


def test_completion_leaves_no_trace(project: Path, tmp_path: Path) -> None:
    """It reads the store, creates none, and is silent where there is none or a broken one."""
    before = files(project)
    assert completed(tmp_path, f"--project {project} session status ") == [THREAD]
    assert files(project) == before
    assert completed(tmp_path, "session status ") == []
    assert completed(tmp_path, f"--project {tmp_path}/none session status ") == []
    assert completed(tmp_path, "session status ", BRENNER_STORE="nonsense://x") == []
    assert completed(tmp_path, "mail inbox --as ", BRENNER_STORE="postgresql://127.0.0.1:9/x") == []
    assert files(tmp_path) == []
    (tmp_path / ".brenner").mkdir()
    (tmp_path / ".brenner" / "mail.sqlite3").write_text("not a store", "utf-8")
    assert completed(tmp_path, "session status ") == []


def test_a_store_in_use(project: Path) -> None:
    """While another process has the store open, its newest mail is completed, too."""
    with new_workspace(project) as workspace:
        contribute(workspace, ANN, add("Third"))
        assert completed(project, "session status ") == [THREAD]


def test_an_older_store_is_not_migrated(tmp_path: Path) -> None:
    """The next command migrates it, not the Tab key."""
    store = tmp_path / ".brenner" / "mail.sqlite3"
    store.parent.mkdir()
    rebuilt(1, store)
    before = store.read_bytes()
    assert completed(tmp_path, "session status ") == []
    assert store.read_bytes() == before


@pytest.mark.thorough
def test_a_store_on_a_server(tmp_path: Path) -> None:
    """PostgreSQL is read, and nothing is created there."""
    url = running().url(schema="completion")
    assert completed(tmp_path, "mail inbox --as ", BRENNER_STORE=url) == []
    done = brenner("mail", "register", ANN, cwd=tmp_path, BRENNER_STORE=url)
    assert done.code == 0
    assert completed(tmp_path, "mail inbox --as ", BRENNER_STORE=url) == [ANN, "Operator"]
    assert completed(tmp_path, "mail thread ", BRENNER_STORE=url) == []


def test_every_thread_and_agent_is_completed() -> None:
    """Parameters that take a thread, an agent, an item or a file have an entry in the table."""
    elsewhere = {"hosts", "operator", "client", "bead", "before", "after", "message_id", "ids"}
    elsewhere |= {"reply_to", "url", "sections", "roster", "which"}
    known = {name.casefold() for name in VALUES}
    for path, command in EVERY.items():
        for parameter in command.params:
            metavar = (parameter.metavar or "").removesuffix("...").strip("[]").casefold()
            words = {"thread", "target", "name", "item", "file", "dir", "id", "role", "page"}
            if isinstance(parameter.type, click.Choice) or not words & {metavar}:
                continue
            assert {metavar, parameter.name} & (known | elsewhere), (path, parameter.name)


# Real shells


def typed_in(shell: list[str], setup: str, keys: str, folder: Path) -> str:
    """Type into a shell at a terminal; return what the shell then runs instead of `brenner`."""
    bin_folder = Path(sys.executable).parent
    environment = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover  (the shell)
        os.chdir(folder)
        os.execvpe(shell[0], shell, environment)  # noqa: S606
    try:
        _write(terminal, f"{setup}\nprintf 'RE%s\\n' ADY\n")
        _read_to(terminal, "READY")
        _write(terminal, f"{keys}\n")
        _read_to(terminal, "ARGUMENTS<")
        return _read_to(terminal, ">").removesuffix(">")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def _write(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _read_to(terminal: int, mark: str) -> str:
    """Read up to a mark."""
    seen = ""
    while not seen.endswith(mark):
        assert select.select([terminal], [], [], _PATIENCE)[0], seen
        seen += os.read(terminal, 1).decode("utf-8", "replace")
    return seen


TYPED = [
    ("brenner sess\t", "session "),
    ("brenner session status RS\t", f"session status {THREAD} "),
    (f"brenner artifact show {THREAD}@\t2", f"artifact show {THREAD}@v2"),
    ("brenner explain INVALID_JSO\t", "explain INVALID_JSON "),
]


@pytest.mark.parametrize(("keys", "run"), TYPED)
def test_bash(project: Path, keys: str, run: str) -> None:
    setup = (
        "bind 'set bell-style none'; eval \"$(brenner completion bash)\"\n"
        "brenner() { local IFS=' '; printf 'ARGU%s<%s>\\n' MENTS \"$*\"; }"
    )
    shell = ["bash", "--norc", "--noprofile", "-i"]
    assert typed_in(shell, setup, keys, project) == run.rstrip()


@pytest.mark.parametrize(("keys", "run"), TYPED)
def test_zsh(project: Path, keys: str, run: str) -> None:
    need(shutil.which("zsh"), "zsh is not there")
    setup = (
        'autoload -U compinit; compinit -u -D; unsetopt beep; eval "$(brenner completion zsh)"\n'
        "brenner() { printf 'ARGU%s<%s>\\n' MENTS \"$*\"; }"
    )
    assert typed_in(["zsh", "-f", "-i"], setup, keys, project) == run.rstrip()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("brenner sess", ["session\tStart, follow and end a session."]),
        ("brenner session status RS", [THREAD]),
        (f"brenner artifact show {THREAD}@", [f"{THREAD}@v1", f"{THREAD}@v2"]),
        (f"brenner mail send --to {ANN},Op", [f"{ANN},Operator"]),
        ("brenner explain INVALID_JSO", ["INVALID_JSON"]),
    ],
)
def test_fish(project: Path, line: str, offered: list[str]) -> None:
    """Fish lists completions without a terminal."""
    need(shutil.which("fish"), "fish is not there")
    bin_folder = Path(sys.executable).parent
    script = f"brenner completion fish | source; complete -C {line!r}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=project,
        env={"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(project)},
        capture_output=True,
        text=True,
        check=True,
        timeout=_PATIENCE,
    )
    assert [each.rstrip() for each in done.stdout.splitlines()] == offered
    assert done.stderr == ""
