"""The demo: its script, and the folder that it runs in, with its progress."""

import json
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from brenner.config import OWN_FOLDER
from brenner.persist.files import write_atomically

# The script of the demo
#
# Every command can be repeated, because an interrupted demo resumes with the unfinished step. So
# messages are sent with an idempotency key.


THREAD = "RS-20260105-phage-protein-template"
_REFUSED = 1


class When(StrEnum):
    """The condition for a step."""

    ALWAYS = "always"
    GIT = "git is there"
    NO_GIT = "git is not there"
    NO_IDENTITY = "git knows no name for a commit"
    SIGNING = "git signs commits"
    HOOKS = "git runs hooks from elsewhere"


class Step(NamedTuple):
    """One step of the demo. `command` is a shell command that must exit with `code`.

    With `tee` its standard output is also written to a file. Without a command it only prints
    `says`.
    """

    says: str
    command: str = ""
    code: int = 0
    when: When = When.ALWAYS
    tee: str = ""

    @property
    def typed(self) -> str:
        """Return the command as a user types it."""
        return f"{self.command} 2>/dev/null | tee {self.tee}" if self.tee else self.command


SET_UP = (
    Step(
        "A repository for what the session will publish, without anybody's hooks.",
        "git init --quiet --template=",
        when=When.GIT,
    ),
    Step(
        "git knows no name for you. This repository gets one of its own; your settings stay.",
        "git config user.name 'Brenner demo'",
        when=When.NO_IDENTITY,
    ),
    Step("", "git config user.email demo@example.org", when=When.NO_IDENTITY),
    Step(
        "You sign your commits. In this repository nothing is signed; your settings stay.",
        "git config commit.gpgsign false",
        when=When.SIGNING,
    ),
    Step(
        "You have hooks for all repositories. In this one they do not run; your settings stay.",
        "git config core.hooksPath .git/hooks",
        when=When.HOOKS,
    ),
    Step(
        "GIT IS NOT INSTALLED: the artifact will be written, and NOT committed.", when=When.NO_GIT
    ),
)
KICKOFF = (
    Step(
        "The operator asks a question that was open in 1960. Three agents, three roles: each gets "
        "the prompt of its own, and the sections §1 to §7 of the source text.",
        f"""brenner session start --thread-id {THREAD} \\
    --question 'Does phage T4 make its proteins on ribosomes of its own?' \\
    --context @background.md --excerpt 1-7 --preset default-3-agent \\
    --to BlueLake --to RedSky --to GreenDog""",
    ),
    Step("A kickoff wants an answer: each agent acknowledges.", "brenner mail ack 1 --as BlueLake"),
    Step("", "brenner mail ack 2 --as RedSky"),
    Step("", "brenner mail ack 3 --as GreenDog"),
    Step("Who still owes an ACK?", "brenner mail pending"),
)
ROUND_1 = (
    Step(
        "Round 1. BlueLake adds two hypotheses, H1 and H2, and a prediction about them. With "
        "--key a message that is sent twice is there once.",
        "brenner mail send outbox/1-blue.md --key 1-blue",
    ),
    Step(
        "At the same time, and without having read that, GreenDog adds two of its own. For "
        "GreenDog they are H1 and H2, too.",
        "brenner mail send outbox/1-green.md --key 1-green",
    ),
    Step(
        "RedSky has read both, and designs a test. The message has faults, so it is not sent.",
        "brenner mail send outbox/1-red.md --key 1-red",
        _REFUSED,
    ),
    Step(
        "What is wrong can be mended for certain: here is the message, corrected.",
        "brenner check --fix outbox/1-red.md",
        tee="outbox/1-red-fixed.md",
    ),
    Step("That one goes out.", "brenner mail send outbox/1-red-fixed.md --key 1-red"),
    Step(
        "Other programs store mail without asking. RedSky's next message comes that way: three "
        "blocks are sound, the fourth is not.",
        "brenner mail send outbox/1-red-unchecked.md --no-check --key 1-red-unchecked",
    ),
    Step("Whose turn is it, and what was refused?", f"brenner session status {THREAD}"),
    Step(
        "The operator compiles the first version. One bad block stops no good one; its author is "
        "told.",
        f"brenner compile {THREAD} --notify",
    ),
    Step(
        "What became of every block. GreenDog's H1 and H2 are H3 and H4 now, also where its "
        "prediction names them.",
        f"brenner artifact ledger {THREAD}",
    ),
    Step("What RedSky was told.", "brenner mail show 12 --as RedSky"),
)
ROUND_2 = (
    Step(
        "Round 2. GreenDog, the critic, attacks H1 in a message to its author.",
        "brenner mail send outbox/2-critique.md --key 2-critique",
    ),
    Step(
        "BlueLake takes it up.",
        "brenner mail ack 13 --as BlueLake --status 'Will Action'",
    ),
    Step(
        "GreenDog's deltas: two critiques, a scale check, an anomaly; and it kills H4, its own, "
        "with the reason.",
        "brenner mail send outbox/2-green.md --key 2-green",
    ),
    Step(
        "BlueLake answers with an EDIT of H1, on the base v1.",
        "brenner mail send outbox/2-blue.md --key 2-blue",
    ),
    Step(
        "RedSky sends the refused block again, corrected.",
        "brenner mail send outbox/2-red.md --key 2-red",
    ),
    Step(
        "The second version: published, written to a file, and that file committed.",
        f"brenner compile {THREAD} --persist --commit",
        when=When.GIT,
    ),
    Step(
        "The second version: published and written to a file. THERE IS NO GIT: NO COMMIT.",
        f"brenner compile {THREAD} --persist",
        when=When.NO_GIT,
    ),
)
AFTERWARDS = (
    Step("What changed, item by item.", f"brenner artifact diff {THREAD}@v1 v2"),
    Step(
        "Who wrote this sentence, in which message, and what stood there before?",
        f"brenner artifact blame {THREAD} H1.claim --history",
    ),
    Step("What the linter says of version 2.", f"brenner artifact lint {THREAD}"),
    Step(
        "Both versions rebuilt from the mail, and compared byte for byte.",
        f"brenner artifact verify {THREAD}",
    ),
    Step("The versions.", f"brenner artifact history {THREAD}"),
    Step("And where the session stands.", f"brenner session status {THREAD}"),
    Step("And the repository: one commit, of one file.", "git log --stat", when=When.GIT),
    Step(
        "T1 and T2 are what Brenner, Jacob and Meselson did in 1960: the new RNA and the new "
        "protein were on the old, heavy ribosomes (Nature 190, 576, 1961). H3 it was."
    ),
)
STEPS = (*SET_UP, *KICKOFF, *ROUND_1, *ROUND_2, *AFTERWARDS)
TRY_NEXT = (
    (f"brenner artifact show {THREAD}", "the artifact"),
    (f"brenner mail thread {THREAD}", "the mail that it came from"),
    ("brenner mail show 1", "a kickoff, with the prompt of a role"),
    (
        f"brenner new DELTA --thread {THREAD} > mine.md",
        "a message of your own, to fill in; then `brenner check mine.md`",
    ),
    (f"brenner session round {THREAD} --dry-run", "what the next round would ask of each agent"),
    (f"brenner session complete {THREAD} --persist", "the end of the session"),
    ("brenner serve", "all of it in a browser, at http://127.0.0.1:8765; Ctrl-C ends it"),
)


_FILES = Path(__file__).parent / "demo_project"
_PROGRESS = Path(OWN_FOLDER) / "demo.json"


class DemoState(StrEnum):
    """The content of a folder before the demo starts."""

    NEW = "new"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    OTHER = "other"


class DemoProgress(NamedTuple):
    """The state of a folder; `done` is the number of finished steps."""

    state: DemoState
    done: int = 0


def read_progress(folder: Path) -> DemoProgress:
    """Return the progress in a folder. A demo of another script cannot be resumed."""
    if not folder.exists() or not any(folder.iterdir()):
        return DemoProgress(DemoState.NEW)
    try:
        noted = json.loads((folder / _PROGRESS).read_bytes())
        done = noted["done"] if noted["script"] == _script_digest() else None
    except (OSError, ValueError, KeyError, TypeError):
        return DemoProgress(DemoState.OTHER)
    if type(done) is not int or not 0 <= done <= len(STEPS):
        return DemoProgress(DemoState.OTHER)
    return DemoProgress(DemoState.FINISHED if done == len(STEPS) else DemoState.INTERRUPTED, done)


def prepare_folder(folder: Path) -> None:
    """Mark the folder as the demo's, then write the missing project files."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _PROGRESS).exists():
        save_progress(folder, 0)
    for name, content in _project_files().items():
        if not (folder / name).exists():
            write_atomically(folder / name, content)


def save_progress(folder: Path, done: int) -> None:
    """Save the number of finished steps. It need not be durable: steps can be repeated."""
    path = folder / _PROGRESS
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".part")
    new.write_text(json.dumps({"script": _script_digest(), "done": done}) + "\n", "utf-8")
    new.replace(path)


def _project_files() -> dict[str, bytes]:
    files = sorted(path for path in _FILES.rglob("*") if path.is_file())
    return {path.relative_to(_FILES).as_posix(): path.read_bytes() for path in files}


def _script_digest() -> str:
    """Return a digest of the steps and the files.

    It hashes `repr(STEPS)`, so the names of `Step`, `When` and their fields are part of the saved
    progress.
    """
    return sha256(repr((STEPS, _project_files())).encode()).hexdigest()
