"""Projects in real git repositories, with versions of a real artifact to persist there."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from brenner.config import Project
from brenner.diagnostics.model import BrennerError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.persist.artifact_file import VersionText
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.persist import PersistOptions, PersistResult, check_persistable, persist
from brenner.services.workspace import Workspace
from parts import need

HISTORY = Path(__file__).parents[1] / "golden" / "kill_and_replace"
THREAD = "RS-20260108-kinesin-speed"
PATH = f"artifacts/{THREAD}.md"
ARCHIVE = f"artifacts/{THREAD}.mail.jsonl"
BOSS, ANN, BEA = "Operator", "BlueLake", "RedCreek"
COMMIT, PUSH = PersistOptions(commit=True), PersistOptions(commit=True, push=True)
WRITE = PersistOptions()
_SETTINGS = """
[user]
    name = Ada
    email = ada@example.org
[init]
    defaultBranch = main
[protocol "file"]
    allow = always
"""


def text_of(number: int, thread_id: str = THREAD) -> str:
    """The text of a version, as its message has it; in another thread it is the same research."""
    text = (HISTORY / f"v{number}.artifact.md").read_bytes().decode()
    return text.replace(THREAD, thread_id)


def own_git(folder: Path, environ: dict[str, str] | None = None) -> dict[str, str]:
    """An environment in which git knows Ada and nothing of this machine."""
    need(shutil.which("git"), "git is not there")
    settings = folder / "gitconfig"
    if not settings.exists():
        settings.write_text(_SETTINGS, "utf-8")
    kept = os.environ if environ is None else environ
    clean = {name: value for name, value in kept.items() if not name.startswith("GIT_")}
    return clean | {
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_CONFIG_SYSTEM": os.devnull,
        "HOME": str(folder),
    }


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Git as only this test knows it; the file with its settings."""
    environ = own_git(tmp_path)
    for name in set(os.environ) - set(environ):
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return tmp_path / "gitconfig"


def git(folder: Path, *arguments: str) -> str:
    """What git says there; it must be fine."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Bench(NamedTuple):
    """A project with its mailbox, in which versions are persisted."""

    folder: Path
    mailbox: Mailbox
    thread_id: str = THREAD

    @classmethod
    def make(cls, folder: Path, thread_id: str = THREAD, versions: int = 3) -> Self:
        """A project whose thread has that many versions."""
        folder.mkdir(parents=True, exist_ok=True)
        mailbox = open_mailbox(Project(folder), create=True)
        for name in (ANN, BEA):
            mailbox.register(Profile(name, "claude-code", "opus", "reading"), update=True)
        bench = cls(folder, mailbox, thread_id)
        for number in range(1, versions + 1):
            bench.post(number)
        return bench

    @classmethod
    def open(cls, folder: Path, thread_id: str = THREAD) -> Self:
        """The same project again, as another process would see it."""
        return cls(folder, open_mailbox(Project(folder), create=True), thread_id)

    @property
    def workspace(self) -> Workspace:
        """The operator at work."""
        return Workspace(self.mailbox, Project(self.folder), BOSS)

    @property
    def file(self) -> Path:
        """The artifact's file."""
        return self.folder / "artifacts" / f"{self.thread_id}.md"

    @property
    def archive(self) -> Path:
        """The archive beside it."""
        return self.folder / "artifacts" / f"{self.thread_id}.mail.jsonl"

    def post(self, number: int) -> StoredMessage:
        """A delta and the COMPILED message that closes the round."""
        delta = Message(self.thread_id, ANN, (BOSS,), f"DELTA[opus]: Round {number}", "Something\n")
        self.mailbox.send(delta)
        subject = f"COMPILED: v{number} something new"
        text = text_of(number, self.thread_id)
        compiled = Message(self.thread_id, BOSS, (ANN, BEA), subject, text)
        return self.mailbox.send(compiled).stored

    def version(self, number: int) -> VersionText:
        """A version as its COMPILED message has it."""
        subject = f"COMPILED: v{number} something new"
        messages = self.mailbox.thread(self.thread_id).messages
        found = [stored.id for stored in messages if stored.message.subject == subject]
        text = text_of(number, self.thread_id)
        return VersionText(self.thread_id, number, found[0], text, f"Round {number}: added H4.")

    def text(self, number: int) -> str | None:
        """The text of a version, where there is one."""
        return text_of(number, self.thread_id) if 1 <= number <= 3 else None

    def check(self, number: int, options: PersistOptions = COMMIT) -> None:
        """Look whether a version could be persisted."""
        version = self.version(number)._replace(message_id=0)
        check_persistable(self.workspace, version, self.text, options)

    def persist(self, number: int, options: PersistOptions = COMMIT) -> PersistResult:
        """Persist a version."""
        return persist(self.workspace, self.version(number), self.text, options, (ANN, BEA))

    def infos(self) -> list[StoredMessage]:
        """What the thread was told of it."""
        messages = self.mailbox.thread(self.thread_id).messages
        return [each for each in messages if each.message.subject.startswith("INFO:")]

    def words(self) -> list[tuple[str, str]]:
        """Of what the thread was told: each subject, and the words of the status."""
        found = []
        for info in self.infos():
            status = info.message.body.rpartition("**Status**: ")[2].strip()
            found.append((info.message.subject, status))
        return found

    def git(self, *arguments: str) -> str:
        """What git says here."""
        return git(self.folder, *arguments)

    def log(self) -> list[str]:
        """The subjects of the commits, the newest first."""
        return self.git("log", "--format=%s").splitlines()

    def hook(self, name: str, script: str) -> None:
        """Give the repository a hook."""
        path = self.folder / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)

    def leftovers(self) -> list[str]:
        """Files that were not finished."""
        return [path.name for path in self.folder.rglob("*.part")]


@pytest.fixture
def bench(tmp_path: Path, settings: Path) -> Bench:
    """A project in a repository with one commit."""
    made = Bench.make(tmp_path / "project")
    start_repository(made.folder)
    return made


def start_repository(folder: Path) -> None:
    """A repository with one commit there."""
    git(folder, "init", "--quiet")
    (folder / "README.md").write_text("# Research\n", "utf-8")
    git(folder, "add", "README.md")
    git(folder, "commit", "--quiet", "--message=Begin")


def raised(error: pytest.ExceptionInfo[BrennerError]) -> str:
    """The code that was raised."""
    return error.value.diagnostic.id


class Tree(NamedTuple):
    """All that git and the disk know of a work tree; files with when they were last touched."""

    entries: list[str]
    status: list[str]
    staged_ids: str
    dirty: str
    files: dict[str, tuple[bytes, int]]


def untouched(folder: Path, but: Iterable[str]) -> Tree:
    """What must stay as it is: a work tree but for some files."""
    left_out = set(but)

    def others(text: str) -> list[str]:
        return [line for line in text.splitlines() if not any(each in line for each in left_out)]

    files = {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not {".git", ".brenner"} & set(path.relative_to(folder).parts)
    }
    index = others(git(folder, "ls-files", "--stage", "-v"))
    status = others(git(folder, "status", "--porcelain=v2", "--untracked-files=all"))
    staged = git(folder, "diff", "--cached", "--", *(f":(exclude){each}" for each in left_out))
    dirty = git(folder, "diff", "--", *(f":(exclude){each}" for each in left_out))
    kept = {name: value for name, value in files.items() if name not in left_out}
    return Tree(index, status, staged, dirty, kept)
