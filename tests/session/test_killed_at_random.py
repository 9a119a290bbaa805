"""`kill -9` at random moments of `mail send` and `compile --persist --commit --archive`.

The same command again finishes the work: nothing is lost and nothing is there twice. `make kills`
runs many more kills than `make test`. The seed is printed, and `BRENNER_KILLS_SEED` sets it.
"""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from brenner.persist.artifact_file import canonical_text
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import StoredMessage
from brenner.services.versions import verify
from brenner.services.workspace import workspace_in
from program import brenner, brenner_process, git
from session.backends import HOUSINGS, OPERATOR, ProjectBackend, housed
from session.workspaces import ANN, THREAD, project_in

KILLS = int(os.environ.get("BRENNER_KILLS", "4"))
SEED = int(os.environ.get("BRENNER_KILLS_SEED", str(random.SystemRandom().randrange(10**6))))
COMPILE = ("compile", THREAD, "--persist", "--commit", "--archive")
FILE, ARCHIVE = f"artifacts/{THREAD}.md", f"artifacts/{THREAD}.mail.jsonl"
MESSAGE = """Thread: {thread}
From: {sender}
To: {operator}
Subject: {subject}

```delta
{{"operation": "ADD", "section": "assumption_ledger", "payload": {{"name": "{name}",
"statement": "It holds", "load": "Everything", "test": "Look", "status": "unchecked"}},
"rationale": "Nobody has looked"}}
```
"""
_SHOWN_EVERY = 10


class Killed(NamedTuple):
    """How a process ended that was to be killed."""

    is_killed: bool
    code: int
    out: str
    err: str


class Lab:
    """A project in a repository, whose commands get killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)  # noqa: S311
        self.sent: list[str] = []
        self.found: Counter[str] = Counter()
        self.seconds = dict.fromkeys(("mail", "compile"), 1.0)

    def start(self) -> None:
        """Open the session, with a first message."""
        git("init", "-q", "-b", "main", cwd=self.folder)
        git("config", "user.name", "Ada", cwd=self.folder)
        git("config", "user.email", "ada@example.org", cwd=self.folder)
        question = ("--question", "What tells a cell where it is?", "--context", "Cells differ.")
        agent = ("--to", ANN, "--role", "hypothesis_generator")
        done = brenner(
            *("session", "start", "--thread-id", THREAD, *question, *agent), cwd=self.folder
        )
        assert done.code == 0, done.err
        self.finish(*self.new_message())

    # Commands

    def new_message(self) -> tuple[str, ...]:
        """Write the next message to a file, and return the command that sends it."""
        number = len(self.sent) + 1
        self.sent.append(f"DELTA[opus]: Contribution {number}")
        path = self.folder / "message.md"
        words = {"thread": THREAD, "sender": ANN, "operator": OPERATOR}
        text = MESSAGE.format(**words, subject=self.sent[-1], name=f"Assumption {number}")
        path.write_text(text, "utf-8")
        return ("mail", "send", str(path), "--as", ANN, "--key", f"key {number}")

    def finish(self, *command: str) -> None:
        """Run a command to its end as a process, and remember how long that took."""
        begun = time.monotonic()
        done = brenner_process(*command, cwd=self.folder)
        assert done.code == 0, done.err
        self.seconds[command[0]] = (self.seconds[command[0]] + time.monotonic() - begun) / 2

    def kill(self, *command: str) -> Killed:
        """Run a command, and kill it at a random moment of its life."""
        # The first part is the start of the interpreter, so that most kills come later.
        moment = self.random.triangular(0.2, 1.1, 1) * self.seconds[command[0]]
        process = subprocess.Popen(
            [sys.executable, "-m", "brenner", *command],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            out, err = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return Killed(process.returncode < 0, process.returncode, out, err)
        return Killed(is_killed=False, code=process.returncode, out=out, err=err)

    # What is there

    def messages(self) -> list[StoredMessage]:
        with workspace_in(project_in(self.folder), None, create=False) as workspace:
            return list(workspace.mailbox.thread(THREAD).messages)

    def count(self, subject: str) -> int:
        return sum(each.message.subject == subject for each in self.messages())

    def compiled(self) -> list[StoredMessage]:
        return [each for each in self.messages() if each.type == "COMPILED"]

    def infos(self, number: int) -> int:
        return self.count(f"INFO: Artifact v{number} persisted to repository")

    def commits(self, number: int) -> int:
        """Return how many commits have the version; none where there is no commit at all."""
        if not list((self.folder / ".git" / "refs" / "heads").iterdir()):
            return 0
        log = git("log", "--format=%s", cwd=self.folder).splitlines()
        return sum(each.startswith(f"artifact({THREAD}): v{number} - ") for each in log)

    # The two experiments

    def killed_send(self) -> bool:
        """Kill a send. Sent is what it said, once; then the same again makes it once."""
        command = self.new_message()
        killed = self.kill(*command)
        assert killed.is_killed or killed.code == 0, killed.err
        there = self.count(self.sent[-1])
        is_said = killed.out.startswith("Sent message ")
        assert there == 1 if is_said else there in (0, 1)
        self._note(killed, f"send: {'stored' if there else 'not stored'}{', said' * is_said}")
        self.finish(*command)
        assert self.count(self.sent[-1]) == 1
        return killed.is_killed

    def killed_compile(self) -> bool:
        """Kill a compile. The same again publishes and persists the version, once."""
        self.finish(*self.new_message())
        number = len(self.compiled()) + 1
        killed = self.kill(*COMPILE)
        assert killed.is_killed or killed.code == 0, killed.err
        self._note(killed, f"compile: {self._stage(number)}")
        self.finish(*COMPILE)
        self.check(number)
        return killed.is_killed

    def _note(self, killed: Killed, stage: str) -> None:
        self.found[stage if killed.is_killed else "ended before the kill"] += 1

    def _stage(self, number: int) -> str:
        """Say how far a compile came before it was killed; its git may still be at work."""
        if len(self.compiled()) < number:
            return "nothing posted"
        file = self.folder / FILE
        if not file.exists() or f"\nversion: {number}\n" not in file.read_text("utf-8"):
            return "posted"
        if not self.commits(number):
            return "file written"
        return "INFO sent" if self.infos(number) else "committed"

    def check(self, number: int) -> None:
        """Everything is there, once: messages, versions, file, commit, archive, INFO."""
        compiled = self.compiled()
        assert len(compiled) == number
        counted = Counter(each.message.subject for each in self.messages())
        assert [counted[subject] for subject in self.sent] == [1] * len(self.sent)
        assert self.infos(number) == 1
        assert self.commits(number) == 1
        text = read_compiled(compiled[-1].message).inline
        assert canonical_text((self.folder / FILE).read_text("utf-8")) == text
        assert canonical_text(git("show", f"HEAD:{FILE}", cwd=self.folder)) == text
        status = git("status", "--porcelain", "--", FILE, ARCHIVE, cwd=self.folder)
        assert status == ""

    def check_all(self) -> None:
        """Every version of the thread: by its mail, its archive, its file and its commits."""
        number = len(self.compiled())
        self.check(number)
        for each in range(1, number + 1):
            assert (self.infos(each), self.commits(each)) == (1, 1), each
        with workspace_in(project_in(self.folder), None, create=False) as workspace:
            for archive in (None, self.folder / ARCHIVE):
                done = verify(workspace, THREAD, archive, files=True)
                assert done.ok, done
                assert [each.number for each in done.versions] == list(range(1, number + 1))
                assert len(done.files) == number + 1
        assert brenner("artifact", "verify", THREAD, "--files", cwd=self.folder).code == 0
        assert brenner("doctor", cwd=self.folder).code == 0


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@pytest.fixture(params=HOUSINGS[1:3], ids=lambda housing: housing.home.name)
def lab(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lab]:
    housing: ProjectBackend = request.param
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    with housed(housing, folder, monkeypatch):
        yield Lab(folder, SEED)


@pytest.mark.thorough
def test_killed_at_random(lab: Lab) -> None:
    """So many kills, half of them of each command, as it comes."""
    tell(f"\nBRENNER_KILLS_SEED={SEED}, {KILLS} kills")
    lab.start()
    lab.finish(*COMPILE)
    kills = 0
    while kills < KILLS:
        is_send = lab.random.random() < 0.5
        kills += lab.killed_send() if is_send else lab.killed_compile()
        if kills % _SHOWN_EVERY == 0:
            tell(f"{kills} kills")
    lab.finish(*lab.new_message())
    lab.finish(*COMPILE)
    lab.check_all()
    versions = len(lab.compiled())
    tell(f"{kills} kills, {len(lab.sent)} messages, {versions} versions, each of them once")
    for stage, count in sorted(lab.found.items()):
        tell(f"  {count:4} {stage}")
