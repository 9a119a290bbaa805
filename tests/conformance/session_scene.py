"""The place where a `session` case is played: the stores of a `mail` case, a project, and git."""

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from brenner.config import find_project
from brenner.diagnostics.model import Diagnostic
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile, SendResult
from brenner.persist.artifact_file import with_message_id
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.compile import CompileResult
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.services.workspace import Workspace
from conformance.mail_scene import Scene
from conformance.mail_shorthand import THREAD_ID
from conformance.roster_kind import filled
from conformance.scene_stores import address_of
from conformance.session_shorthand import FILE, Step, spelled_out
from mail.backends import Backend

AGENTS = ("Ann", "Bob", "Cyd", "Dan")
_ASKED = re.compile(r"\{(?P<what>hash (?P<number>\d+)|sha of v(?P<version>\d+)|last commit)\}")
_FILE_OF = re.compile(r"<<file of v(\d+)>>")
_OPENING = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
# What the scene itself puts into the project
_OURS = ("home/", "elsewhere/", "brenner.toml", ".brenner/")


class Overtaken:
    """A mailbox in which something happens in the moment before a version is sent, once."""

    def __init__(self, mailbox: Mailbox, meanwhile: list[Callable[[], None]]) -> None:
        self._mailbox = mailbox
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mailbox, name)

    def send(self, message: Message, **conditions: Any) -> SendResult:
        """Send it, after all that was to happen before."""
        while self._meanwhile and message.subject.startswith("COMPILED:"):
            self._meanwhile.pop(0)()
        return self._mailbox.send(message, **conditions)


class SessionScene(Scene):
    """A mail scene in a project; the outcome of the last step is kept for what is asked of it."""

    result: CompileResult | None = None
    notes: tuple[Diagnostic, ...] = ()
    said = ""  # by the last command
    _operator = "Operator"
    _before_looking: object = None

    def __init__(self, case: dict[str, Any], home: Backend, folder: Path) -> None:
        self.folder = folder / case.get("folder", "project")
        self.folder.mkdir()
        self._agents = case.get("agents", AGENTS)
        super().__init__(case, home, self.folder)
        self.configure(filled(case.get("settings", "")))
        self._loaded: dict[object, LoadedVersion] = {}
        self.meanwhile: list[Callable[[], None]] = []

    def store(self, name: str) -> Mailbox:
        """The store `home` or `elsewhere`, made when it is first needed."""
        if name not in self._stores:
            folder = self.folder / name
            folder.mkdir()
            mailbox = self._stores[name] = self._home.create(folder, self.clock)
            for agent in dict.fromkeys(("Operator", *self._agents)):
                mailbox.register(Profile(agent))
            mailbox.operator = self._operator
        return self._stores[name]

    def options(self) -> list[str]:
        """How a command finds the mail of this scene."""
        return ["--store", address_of(self._home, self.folder / self.here)]

    def addressed(self, message: Message) -> Message:
        """The message as it is sent here."""
        return message

    def configure(self, settings: str) -> None:
        """Give the project other settings."""
        (self.folder / "brenner.toml").write_text(settings, "utf-8")
        self.project = find_project(str(self.folder), {})
        self._operator = self.project.operator
        for mailbox in self._stores.values():  # as a command would open them from now on
            mailbox.operator = self._operator

    def workspace(self, actor: str | None = None) -> Workspace:
        """Where the operator sits, or somebody else."""
        return Workspace(self.mailbox, self.project, actor or self.project.operator)

    def desk_overtaken(self, actor: str | None) -> Workspace:
        """The same; what is to happen meanwhile happens when a version is on its way from there."""
        mailbox = Overtaken(self.mailbox, self.meanwhile)
        return self.workspace(actor)._replace(mailbox=cast("Mailbox", mailbox))

    def version(self, number: int | None) -> LoadedVersion:
        """A version, or the latest artifact; loaded once, as long as nothing happens."""
        key = (self.here, self.mailbox.position(), self.file, number)
        if key not in self._loaded:
            self._loaded[key] = load_version(self.workspace(), Target(THREAD_ID, number))
        return self._loaded[key]

    def filled(self, step: Step) -> Step:
        """Beside what mail cases have: hashes, commits, and the words of the shorthand."""
        if isinstance(step, list):
            return [str(self.filled(line)) for line in step]
        text = _ASKED.sub(self._asked, spelled_out(step))
        text = _FILE_OF.sub(lambda found: self.file_of(int(found[1])), text)
        return super().filled(text)

    def _asked(self, found: re.Match[str]) -> str:
        if found["number"]:
            return self.message(int(found["number"])).content_hash
        if found["version"]:
            return hashlib.sha256(self.version(int(found["version"])).text.encode()).hexdigest()
        return self.git("rev-parse", "--short=7", "HEAD").strip()

    def file_of(self, number: int) -> str:
        """The file that a version is persisted as: its text, and the id of its message."""
        loaded = self.version(number)
        assert loaded.message
        return with_message_id(loaded.text, loaded.message.id)

    # Files and git

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """What git says in the project."""
        command = ["git", *arguments]
        place = folder or self.folder
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
        return done.stdout

    def git_init(self) -> None:
        """A repository whose commits have an author."""
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")

    def commits(self) -> list[str]:
        """The subjects of all commits, newest first."""
        if not (self.folder / ".git").exists() or not self.git("for-each-ref"):
            return []
        return self.git("log", "--format=%s").splitlines()

    def git_status(self) -> list[str]:
        """What git says of files that the scene has not put there itself, sorted."""
        lines = self.git("status", "--porcelain", "--untracked-files=all").splitlines()
        return sorted(line for line in lines if not line[3:].startswith(_OURS))

    def files(self) -> list[str]:
        """Everything under `artifacts`."""
        found = (self.folder / "artifacts").rglob("*")
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project as somebody else would."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())

    @property
    def file(self) -> str | None:
        """The artifact's file, where there is one."""
        path = self.folder / FILE
        return path.read_bytes().decode() if path.exists() else None

    def snapshot(self) -> object:
        """All that can be seen of the stores and of the project's files."""
        return super().snapshot(), dict(self._contents())

    def looks(self) -> None:
        """What follows only looks, until something is done; not watched where that is slow."""
        if not self.is_slow:
            self.watch()

    def watch(self) -> None:
        """What follows must leave everything as it is, until something is done."""
        self._before_looking = self._before_looking or self.snapshot()

    def looked(self) -> None:
        """Looking has changed nothing."""
        if self._before_looking:
            assert self.snapshot() == self._before_looking, "looking changes nothing"
        self._before_looking = None

    def _contents(self) -> Iterator[tuple[str, object]]:
        for folder, _, names in os.walk(self.folder):
            place = os.path.relpath(folder, self.folder) + "/"
            if not place.startswith(("home/", "elsewhere/", ".brenner/", ".git/")):
                for name in names:
                    yield place + name, (Path(folder) / name).read_bytes()


def fences(body: str) -> list[tuple[str, str, str]]:
    """The fenced blocks of a body, read by a few lines of our own: section, info string, inside."""
    return [(name, info, text) for name, info, text in _walk(body) if info is not None]


def sections(body: str) -> list[tuple[str, str]]:
    """The sections of a body and their text, in their order, fenced blocks left whole."""
    found: list[tuple[str, str]] = []
    for name, info, text in _walk(body):
        part = text if info is None else f"```{info}\n{text}```\n"
        if found and found[-1][0] == name and not text.startswith(f"## {name}\n"):
            part = found.pop()[1] + part
        found.append((name, part.removeprefix(f"## {name}\n")))
    return found


def _walk(body: str) -> Iterator[tuple[str, str | None, str]]:
    """Lines, and fenced blocks with their info string, each with the section that it is in."""
    section, fence, info, inside = "", "", "", ""
    for line in body.splitlines(keepends=True):
        bare = line.rstrip("\n")
        if fence:
            if bare.strip(" ").startswith(fence) and not bare.strip(" ").strip(fence[0]):
                yield section, info, inside
                fence = ""
            else:
                inside += line
        elif found := _OPENING.fullmatch(bare):
            fence, info, inside = found["fence"], found["info"].strip(), ""
        else:
            section = bare[3:].strip() if bare.startswith("## ") else section
            yield section, None, line
    assert not fence, "a fence is never closed"


def record_of(stored: StoredMessage) -> str:
    """The text of the one record in a COMPILED message."""
    (text,) = [each for _, info, each in fences(stored.message.body) if info == "brenner-record"]
    return text.removesuffix("\n")
