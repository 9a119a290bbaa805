"""The session that the demo plays, command by command, in whatever home its project has.

The script names messages by their place in the thread. A server may give them other ids.
"""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brenner.services import demo as demo_folder
from brenner.services.demo import STEPS, THREAD, Step
from mail_shell import Shell
from session.backends import OPERATOR

_FILES = Path(demo_folder.__file__).parent / "demo_project"
_NAMED = re.compile(r"(?<=^mail ack )\d+|(?<=^mail show )\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")


def make_ready(folder: Path) -> None:
    """The files of the demo's project; its operator has the name that she has everywhere."""
    shutil.copytree(_FILES, folder)
    for path in (folder / "outbox").iterdir():
        text = path.read_text("utf-8")
        path.write_text(text.replace("To: Operator", f"To: {OPERATOR}"), "utf-8")


def play(shell: Shell, patch: pytest.MonkeyPatch) -> None:
    """Every step ends as the script says."""
    patch.chdir(shell.folder)
    for step in STEPS:
        if step.command.startswith("brenner ") and step.when in ("", "no git"):
            _take(shell, step)


def _take(shell: Shell, step: Step) -> None:
    line = step.command.replace("\\\n", " ").removeprefix("brenner ")
    ids = [each["id"] for each in _thread(shell)] if _NAMED.search(line) else []
    arguments = shlex.split(_NAMED.sub(lambda place: str(ids[int(place[0]) - 1]), line))
    if arguments[:2] == ["session", "start"]:
        arguments.append("--register")
    done = shell(*arguments)
    assert done.code == step.code, done.out + done.err
    if step.tee:
        (shell.folder / step.tee).write_bytes(done.raw)


def _thread(shell: Shell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(shell, "mail", "thread", THREAD)["messages"]
    return found


def asked(shell: Shell, *arguments: str) -> Any:
    """What a command says in JSON."""
    done = shell(*arguments, "--json")
    assert done.code == 0, done.out + done.err
    return done.json


class Outcome(NamedTuple):
    """What came of the session, with messages named by their place in the thread."""

    thread: list[tuple[str, ...]]
    versions: list[str]
    ledgers: list[Any]
    lint: list[Any]
    blame: Any
    file: str


def outcome(shell: Shell) -> Outcome:
    """All of it; ids and times are replaced by the place of the message that has them."""
    thread = _thread(shell)
    listed = asked(shell, "artifact", "history", THREAD)["versions"]
    numbers = [version["version"] for version in listed]
    names = _Names(thread, listed)
    file = (shell.folder / "artifacts" / f"{THREAD}.md").read_text("utf-8")
    return Outcome(
        thread=[_told(message, names) for message in thread],
        versions=[
            names.times(shell("artifact", "show", f"{THREAD}@v{number}").out) for number in numbers
        ],
        ledgers=[
            names.whole(asked(shell, "artifact", "ledger", f"{THREAD}@v{number}"))
            for number in numbers
        ],
        lint=[
            names.whole(shell("artifact", "lint", f"{THREAD}@v{number}", "--json").json)
            for number in numbers
        ],
        blame=names.whole(asked(shell, "artifact", "blame", THREAD)),
        file=names.times(names.file(file)),
    )


def _told(message: dict[str, Any], names: "_Names") -> tuple[str, ...]:
    subject = re.sub(r"(?<=message )\d+", lambda number: names.id(number[0]), message["subject"])
    to = ", ".join(sorted(message["to"]))
    wants_ack = str(message["ack_required"])
    return message["from"], to, subject, str(message["type"]), wants_ack


class _Names:
    """The places of messages, by their ids and times in one home."""

    def __init__(self, thread: list[dict[str, Any]], versions: list[dict[str, Any]]) -> None:
        places = list(enumerate(thread, 1))
        self._ids = {str(message["id"]): f"<message {place}>" for place, message in places}
        self._times = {_instant(message["at"]): f"<time {place}>" for place, message in places}
        self._times |= {_instant(each["compiled_at"]): "<compiled>" for each in versions}

    def id(self, number: str) -> str:
        """The place of the message with that id."""
        return self._ids[number]

    def times(self, text: str) -> str:
        """The text in which every time is that of a message, or of a compiler."""
        return _TIME.sub(lambda time: self._times[_instant(time[0])], text)

    def file(self, text: str) -> str:
        """The text of the artifact's file, which names its message."""
        key = "agent_mail_message_id: "
        return re.sub(rf"(?<={key})\d+", lambda number: self.id(number[0]), text)

    def whole(self, document: Any) -> Any:
        """A document in which every message is named by its place."""
        if isinstance(document, dict):
            # How far a sender is believed is the home's to tell, and not every home does.
            told = {key: value for key, value in document.items() if key != "trust"}
            return {key: self._value(key, value) for key, value in told.items()}
        if isinstance(document, list):
            return [self.whole(each) for each in document]
        return self.times(document) if isinstance(document, str) else document

    def _value(self, key: str, value: Any) -> Any:
        is_id = key == "message_id" and value is not None
        return self.id(str(value)) if is_id else self.whole(value)


def _instant(time: str) -> str:
    return time.replace("+00:00", "Z")
