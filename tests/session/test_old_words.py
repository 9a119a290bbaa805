"""Mail with the words of an earlier program: it means the same, and nothing is sent twice.

`old_words.json` was written once, by the program before its words changed: a session with deltas of
three agents, rejected blocks and their replies, a dismissal, a void version, saved and committed
versions, a second round and its end; a session in its second round; an adopted thread; escalated
ACKs. `kept` is its cache. `expected` is what that program printed, without words of diagnostics and
without what depends on the time. The file never changes.
"""

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Envelope, Message, Trust
from mail_shell import store_of
from program import brenner

OLD: dict[str, Any] = json.loads(Path(__file__).with_name("old_words.json").read_text("utf-8"))
COMPLETE, OPEN = "RS-20251230-cell-fate", "RS-20251231-bird-map-choice"
ADOPTED = "RS-20260101-other-program"
START = ("--question", "How do birds find home?", "--context", "Two views.", "--to", "BlueLake")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with that mail and that cache."""
    path = tmp_path_factory.mktemp("old") / "mail.sqlite3"
    now = datetime.fromisoformat(OLD["messages"][0]["at"])
    with SqliteMailbox.create(path, clock=lambda: now) as mailbox:
        mailbox.operator = "Operator"
        for name in OLD["agents"]:
            mailbox.register(Profile(name))
        for number, each in enumerate(OLD["messages"], 1):
            now = datetime.fromisoformat(each["at"])
            stored = mailbox.send(
                Message(**{name: each[name] for name in Message._fields}),
                reply_to=each["reply_to"],
                key=each["key"],
                envelope=Envelope(trust=Trust(each["trust"])),
            ).stored
            assert (stored.id, stored.content_hash) == (number, each["hash"])
            assert (stored.at, stored.decides) == (now, each["decides"])
        mailbox.keep(OLD["kept"])
    return path


@pytest.fixture
def folder(tmp_path: Path, store: Path) -> Path:
    """A project with a copy of it."""
    store_of(tmp_path).parent.mkdir()
    shutil.copy(store, store_of(tmp_path))
    return tmp_path


def comparable(value: Any, expected: Any) -> Any:
    """A document without the keys that are new, and without what depends on the time."""
    if isinstance(expected, dict) and isinstance(value, dict):
        return {key: comparable(value.get(key), each) for key, each in expected.items()}
    if not isinstance(expected, list) or not isinstance(value, list):
        return value
    kept = [each for each in value if each != "overdue"]
    if kept and isinstance(kept[0], dict) and "question" in kept[0]:
        kept.sort(key=lambda session: str(session["thread_id"]))  # by urgency, which changes
    pairs = zip(kept, expected, strict=False)
    return [*(comparable(*pair) for pair in pairs), *kept[len(expected) :]]


# Since then ACKs settle by themselves (R24), a complete session needs nobody, and delta blocks
# outside DELTA messages stay a need.
SETTLED = ((COMPLETE, 13), (OPEN, 20))
_NEEDS = {
    COMPLETE: ["complete"],
    OPEN: ["blocked", "asked", "refused", "misplaced", "awaiting_acks"],
}


def as_read_now(expected: dict[str, Any]) -> dict[str, Any]:
    """What that program printed, with what was changed since."""
    if "sessions" in expected:
        sessions = [as_read_now(each) for each in expected["sessions"]]
        counts = {"blocked": 1, "refused": 1}
        return expected | {"sessions": sessions, "summary": expected["summary"] | counts}
    thread_id = expected["thread_id"]
    changed: dict[str, Any] = {
        key: [each for each in expected[key] if (thread_id, each["message_id"]) not in SETTLED]
        for key in ("owed", "pending")
        if key in expected
    }
    if "needs" in expected:
        changed["needs"] = _NEEDS.get(thread_id, expected["needs"])
    if thread_id == COMPLETE and "blocked" in expected:
        changed["blocked"] = [] if isinstance(expected["blocked"], list) else 0
    return expected | changed


def messages(folder: Path) -> int:
    """How many messages the project has."""
    with SqliteMailbox.open(store_of(folder)) as mailbox:
        return mailbox.position()


@pytest.mark.parametrize("is_cached", [True, False], ids=["cached", "anew"])
@pytest.mark.parametrize("command", OLD["expected"])
def test_it_is_read_as_before(folder: Path, command: str, is_cached: bool) -> None:
    if not is_cached:
        with SqliteMailbox.open(store_of(folder)) as mailbox:
            mailbox.keep(dict.fromkeys(OLD["kept"], ""))
    expected = as_read_now(OLD["expected"][command])
    found = brenner(*command.split(), "--json", cwd=folder).json
    assert comparable(found, expected) == expected


@pytest.mark.parametrize(
    "command",
    [
        ("compile", COMPLETE, "--notify"),
        ("compile", OPEN, "--notify"),
        ("compile", OPEN, "--notify", "--persist"),
        ("compile", COMPLETE, "--persist"),
        ("session", "round", OPEN),
        ("session", "start", "--thread-id", OPEN, *START, "--role", "hypothesis_generator"),
        ("session", "dismiss", COMPLETE, "5.3"),
        ("mail", "ack", "1", "--as", "BlueLake"),
        ("mail", "pending", "--escalate"),
        ("session", "adopt", ADOPTED),
    ],
    ids=" ".join,
)
def test_nothing_is_sent_a_second_time(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "brenner.toml").write_text("ack_deadline_hours = 0.0001\n", "utf-8")
    for _ in range(2):
        done = brenner(*command, cwd=folder)
        assert done.code == (1 if "adopt" in command else 0), done.err  # it is adopted already
        assert "KEY_REUSED" not in done.err
        # The author of the misplaced blocks has got no reply before.
        is_told = command[:3] == ("compile", OPEN, "--notify")
        assert messages(folder) == len(OLD["messages"]) + is_told
