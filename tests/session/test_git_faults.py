"""What goes wrong while git is at work: said in its own words, and finished by doing it again."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from brenner.diagnostics.model import UnavailableError
from brenner.persist import commit
from brenner.persist import git as git_process
from brenner.persist.artifact_file import canonical_text
from brenner.persist.commit import find_failed_hook
from brenner.persist.git import persistence_of, run
from brenner.services.persist import PersistOptions
from integrations.terminals import eventually
from session.repositories import (
    PATH,
    PUSH,
    THREAD,
    Bench,
    bench,
    git,
    raised,
    settings,
    text_of,
    untouched,
)

__all__ = ["bench", "settings"]


def shown(error: UnavailableError) -> str:
    return "\n".join((error.diagnostic.message, *error.details))


def failure(bench: Bench, number: int = 1) -> UnavailableError:
    """How persisting fails: the file is there, the commit is not, the index is as it was."""
    before, log = untouched(bench.folder, [PATH]), bench.log()
    staged = bench.git("ls-files", "--stage", "--debug", "--", PATH)
    with pytest.raises(UnavailableError) as error:
        bench.persist(number)
    assert bench.log() == log
    assert untouched(bench.folder, [PATH]) == before
    assert entries(bench.git("ls-files", "--stage", "--debug", "--", PATH)) == entries(staged)
    assert canonical_text(bench.file.read_text("utf-8")) == text_of(number)
    project = bench.workspace.project
    assert persistence_of(project, THREAD, text_of(number)).status == "Pending"
    assert bench.infos() == []
    return error.value


def entries(debug: str) -> list[str]:
    """The entries of an index, without what it remembers of the disk; flags tell what is meant."""
    return [line for line in debug.splitlines() if "\t" in line or "flags" in line]


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "prepare-commit-msg"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_hook_that_refuses(bench: Bench, hook: str, is_new: bool) -> None:
    """Its own words, the index as before; when it lets go, the same command finishes."""
    if not is_new:
        bench.git("rm", "--quiet", "--cached", "--ignore-unmatch", PATH)
        bench.file.parent.mkdir()
        bench.file.write_text(text_of(1), "utf-8")
        bench.git("add", PATH)
        bench.git("commit", "--quiet", "--message=By hand")
    bench.hook(hook, "git status >/dev/null; echo 'No ticket!'; echo 'Really.' >&2; exit 3")
    error = failure(bench, 2)
    assert error.diagnostic.id == "HOOK_FAILED"
    assert f"The git hook `{hook}`" in error.diagnostic.message
    assert "No ticket!" in error.diagnostic.message
    assert "Really." in shown(error)
    (bench.folder / ".git" / "hooks" / hook).unlink()
    assert bench.persist(2).words == "Committed"
    assert bench.git("status", "--porcelain") == ""


def test_hooks_hold(bench: Bench) -> None:
    """They see the one file that is committed, and may add to the message."""
    bench.hook("pre-commit", "git diff --cached --name-only > seen")
    bench.hook("commit-msg", "echo 'Ticket: 7' >> $1")
    (bench.folder / "other.md").write_text("x\n", "utf-8")
    bench.git("add", "other.md")
    bench.persist(1)
    assert (bench.folder / "seen").read_text("utf-8").split() == [PATH]
    assert bench.git("log", "-1", "--format=%B").strip().splitlines() == [
        f"artifact({THREAD}): v1 - Round 1: added H4.",
        "Ticket: 7",
    ]


def test_a_hook_that_changes_the_file(bench: Bench) -> None:
    """What is committed then is not the version: that is said, and not called Persisted."""
    bench.hook("pre-commit", f"echo tidy >> '{PATH}'; git add '{PATH}'")
    with pytest.raises(UnavailableError) as error:
        bench.persist(1)
    assert raised(error) == "COMMIT_DIFFERS"
    assert persistence_of(bench.workspace.project, THREAD, text_of(1)).status == "Draft"
    assert bench.infos() == []
    (bench.folder / ".git" / "hooks" / "pre-commit").unlink()
    assert bench.persist(1, PersistOptions(commit=True, force=True)).words == "Committed"
    assert canonical_text(bench.git("show", f"HEAD:{PATH}")) == text_of(1)


def test_a_hook_that_leaves_something_behind(bench: Bench) -> None:
    """A process that goes on in the background holds nobody up."""
    bench.hook("post-commit", "sleep 30 &\necho $! > left")
    bench.persist(1)
    os.kill(int((bench.folder / "left").read_text("utf-8")), signal.SIGKILL)


def out_of_time_once(monkeypatch: pytest.MonkeyPatch, pid: Path, command: str) -> None:
    """Let the time of a git command be up when its process has written its id, not before."""
    wait = git_process._wait  # noqa: SLF001

    def until_it_hangs(process: subprocess.Popen[bytes], seconds: float, asked: str) -> None:
        if asked == command:
            eventually(lambda: pid.exists() and pid.read_text("utf-8").endswith("\n"))
            seconds = 0
        wait(process, seconds, asked)

    monkeypatch.setattr(git_process, "_wait", until_it_hangs)


def test_a_hook_that_hangs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended with all that it has started, and git's locks are gone."""
    pid = bench.folder / "pid"
    bench.hook("pre-commit", "echo $$ > pid; sleep 600 & sleep 600")
    with monkeypatch.context() as patch:
        out_of_time_once(patch, pid, "commit")
        patch.setattr(
            git_process, "_TERMINATE_SECONDS", 60
        )  # it has all the time to remove its locks
        with pytest.raises(UnavailableError) as error:
            bench.persist(1)
    assert raised(error) == "GIT_TIMEOUT"
    eventually(lambda: not is_running(int(pid.read_text("utf-8"))))
    assert not (bench.folder / ".git" / "index.lock").exists()
    assert bench.git("ls-files", "--", PATH) == ""
    (bench.folder / ".git" / "hooks" / "pre-commit").unlink()
    assert bench.persist(1).words == "Committed"


def is_running(pid: int) -> bool:
    """Whether a process is there and not only waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_git_that_takes_no_hint_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ignores SIGTERM gets SIGKILL, its children too."""
    program = tmp_path / "git"
    program.write_text(
        "#!/bin/sh\ntrap '' TERM\necho $$ > pid\nsleep 600 & wait; sleep 600\n", "utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(git_process, "_TERMINATE_SECONDS", 0.2)
    out_of_time_once(monkeypatch, tmp_path / "pid", "status")
    with pytest.raises(UnavailableError) as error:
        run(tmp_path, "status")
    assert raised(error) == "GIT_TIMEOUT"
    eventually(lambda: not is_running(int((tmp_path / "pid").read_text("utf-8"))))


def test_an_interrupted_git_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C means git and its children, too."""
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\necho $$ > pid\nsleep 60\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    pid = tmp_path / "pid"
    is_waited_for = threading.Event()
    wait = subprocess.Popen.wait

    def noted(process: "subprocess.Popen[bytes]", timeout: float | None = None) -> int:
        is_waited_for.set()
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", noted)

    def interrupt() -> None:
        is_waited_for.wait()  # not while the process is still being started
        while not (pid.exists() and pid.read_text("utf-8")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    # Whoever runs the tests in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, "status", seconds=60)
    finally:
        signal.signal(signal.SIGINT, before)
    eventually(lambda: not is_running(int(pid.read_text("utf-8"))))


# Locks


def test_another_git_at_work_is_waited_for(bench: Bench) -> None:
    lock = bench.folder / ".git" / "index.lock"
    lock.touch()
    timer = threading.Timer(0.5, lock.unlink)
    timer.start()
    assert bench.persist(1).words == "Committed"
    timer.join()


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_that_stays(bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Nobody's lock is broken; it is named, and the index is as before."""
    monkeypatch.setattr(commit, "_LOCK_SECONDS", 0.3)
    lock = bench.folder / ".git" / name
    lock.touch()
    error = failure(bench)
    assert error.diagnostic.id == "GIT_LOCKED"
    assert str(lock) in error.diagnostic.message
    assert lock.exists()
    lock.unlink()
    assert bench.persist(1).words == "Committed"


def test_killed_git_leaves_its_lock(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the operator has removed the lock, the same command finishes."""
    monkeypatch.setattr(commit, "_LOCK_SECONDS", 0.3)
    bench.hook("pre-commit", "kill -9 $PPID")
    with pytest.raises(UnavailableError):
        bench.persist(1)
    with pytest.raises(UnavailableError) as error:
        bench.persist(1)
    assert raised(error) == "GIT_LOCKED"
    (bench.folder / ".git" / "hooks" / "pre-commit").unlink()
    (bench.folder / ".git" / "index.lock").unlink()
    assert bench.persist(1).words == "Committed"
    assert bench.git("status", "--porcelain") == ""
    assert len(bench.log()) == 2


def test_git_killed_after_the_commit_and_before_its_index(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is there, the index is not: the next try makes the two agree."""
    monkeypatch.setattr(commit, "_LOCK_SECONDS", 0.3)  # git leaves its lock behind
    bench.hook("reference-transaction", '[ "$1" = committed ] && kill -9 $PPID; exit 0')
    with pytest.raises(UnavailableError):
        bench.persist(1)
    (bench.folder / ".git" / "hooks" / "reference-transaction").unlink()
    for lock in (bench.folder / ".git").rglob("*.lock"):
        lock.unlink()
    assert len(bench.log()) == 2
    assert bench.git("status", "--porcelain") != ""
    assert bench.persist(1).words == "Committed"
    assert bench.git("status", "--porcelain") == ""
    assert len(bench.log()) == 2


# Signing


@pytest.mark.parametrize(
    "said", [("gpg.program", "/bin/false"), ("gpg.format", "ssh"), ("gpg.program", "/no/such")]
)
def test_a_commit_that_cannot_be_signed(bench: Bench, said: tuple[str, str]) -> None:
    bench.git("config", "commit.gpgSign", "true")
    bench.git("config", *said)
    error = failure(bench)
    assert error.diagnostic.id == "SIGNING_FAILED"
    bench.git("config", "commit.gpgSign", "false")
    assert bench.persist(1).words == "Committed"


# Pushing


def test_a_push_that_a_hook_refuses(bench: Bench) -> None:
    """On either side."""
    remote = bench.folder.parent / "remote.git"
    git(bench.folder.parent, "init", "--quiet", "--bare", str(remote))
    bench.git("remote", "add", "origin", str(remote))
    bench.git("push", "--quiet", "--set-upstream", "origin", "main")
    bench.hook("pre-push", "echo 'Not on Fridays' >&2; exit 1")
    with pytest.raises(UnavailableError) as error:
        bench.persist(1, PUSH)
    assert raised(error) == "PUSH_FAILED"
    assert "Not on Fridays" in shown(error.value)
    (bench.folder / ".git" / "hooks" / "pre-push").unlink()
    there = remote / "hooks" / "pre-receive"
    there.parent.mkdir(exist_ok=True)
    there.write_text("#!/bin/sh\necho 'Closed'\nexit 1\n", "utf-8")
    there.chmod(0o755)
    with pytest.raises(UnavailableError) as error:
        bench.persist(1, PUSH)
    assert raised(error) == "PUSH_FAILED"
    assert "Closed" in shown(error.value)
    there.unlink()
    bench.persist(1, PUSH)
    assert [words for _, words in bench.words()] == ["Committed", "Committed and pushed"]


@pytest.mark.parametrize("scheme", ["http", "ssh"])
def test_a_push_asks_nobody(bench: Bench, scheme: str, tmp_path: Path) -> None:
    """A server that wants a password: it fails at once, without a terminal or a window."""
    asked = tmp_path / "asked"
    ask = tmp_path / "ask.sh"
    ask.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n", "utf-8")
    ask.chmod(0o755)
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\necho "$@" >&2\nexit 255\n', "utf-8")
    ssh.chmod(0o755)
    with password_server() as port:
        place = {"http": f"http://127.0.0.1:{port}/x.git", "ssh": "ssh://nobody@127.0.0.1/x"}
        bench.git("remote", "add", "origin", place[scheme])
        bench.git("config", "push.default", "current")
        bench.git("config", "core.askPass", str(ask))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SSH_ASKPASS", str(ask))
            patch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
            with pytest.raises(UnavailableError) as error:
                bench.persist(1, PUSH)
    assert raised(error) == "PUSH_FAILED"
    assert not asked.exists()
    assert ("BatchMode=yes" in shown(error.value)) == (scheme == "ssh")
    assert bench.words()[0][1] == "Committed"


class password_server:  # noqa: N801  (used as a context)
    """Answers every request with 401."""

    def __enter__(self) -> int:
        from http.server import BaseHTTPRequestHandler, HTTPServer

        class Refuses(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = HTTPServer(("127.0.0.1", 0), Refuses)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return int(self._server.server_address[1])

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


# Filters and line ends


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ("", ("core.autocrlf", "true")),
        ("*.md text eol=crlf\n", ("core.safecrlf", "false")),
        ("*.md filter=shift\n", ("filter.shift.clean", "tr a-z b-za")),
        ("*.md ident\n", ("core.safecrlf", "false")),
    ],
)
def test_filters(bench: Bench, attributes: str, said: tuple[str, str]) -> None:
    """What git keeps may look otherwise; it is the version all the same."""
    if attributes:
        (bench.folder / ".gitattributes").write_text(attributes, "utf-8")
    bench.git("config", "filter.shift.smudge", "tr b-za a-z")
    bench.git("config", *said)
    done = bench.persist(1)
    assert bench.persist(1) == done._replace(is_new_info=False, is_new=False)
    project = bench.workspace.project
    assert persistence_of(project, THREAD, text_of(1)) == done.persistence
    bench.file.unlink()
    bench.git("checkout", "--", PATH)
    assert bench.git("status", "--porcelain", "--", PATH) == ""
    assert bench.persist(2).words == "Committed"
    assert persistence_of(project, THREAD, text_of(1)) == done.persistence


def test_a_trace_of_anything() -> None:
    """Whatever stands there, it is read."""
    assert find_failed_hook(b"") is None
    assert find_failed_hook(b'x\n[1]\n{}\nnull\n\xff\n{"sid": 1, "event": "child_exit"}\n') is None


def test_a_commit_in_a_hook_of_this_program(bench: Bench) -> None:
    """A hook that runs the program again cannot lock itself out for ever: it is told so."""
    code = (
        "from brenner.persist import commit; commit._COMMIT_LOCK_SECONDS = 0.3\n"
        "from session.repositories import Bench; from pathlib import Path; import sys\n"
        "Bench.open(Path(sys.argv[1]), 'other-1').persist(1)"
    )
    Bench.make(bench.folder, "other-1", versions=1)
    (bench.folder / "again.py").write_text(code, "utf-8")
    bench.hook("pre-commit", f"'{sys.executable}' again.py '{bench.folder}' 2>&1 | tail -1; exit 1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        with pytest.raises(UnavailableError) as error:
            bench.persist(1)
    assert "GIT_LOCKED" in shown(error.value)


def test_git_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error without a word still has a message."""
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexit 7\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(tmp_path, "status")
    assert git_process.git_error(done, "status").diagnostic.message == (
        "`git status` failed: no output, exit code 7."
    )
