"""The shorthand of `mail` cases: the steps of a scene in a few words each.

What it looks like is in README.md beside this file; the bodies and delta blocks that it fills in
are in bodies.toml.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject

THREAD_ID = "RS-20251230-cell-fate-dichotomy"
BODIES: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "bodies.toml").read_text("utf-8")
)
LETTER = re.compile(
    r"(?P<sender>\S+) → (?P<to>[^:(]+?)(?: in (?P<thread>\S+?))?(?: \((?P<options>[^)]*)\))?"
    r": (?P<subject>.+)"
)
_CODE = re.compile(r"(?P<id>[A-Z]+[-_][A-Z0-9_-]+)(?:@(?P<line>none|\d+))?")
_SAME = re.compile(r"same as (\d+)")
_DURATION = re.compile(r"(\d+)([dhms])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}

Step = str | list[str]


class Expected(NamedTuple):
    """How a step is to end: refused or not, with these codes, or as an earlier message."""

    is_refused: bool
    codes: tuple[str, ...]
    places: tuple[tuple[str, int | None], ...]
    same: int | None


class Letter(NamedTuple):
    """A message as the case gives it, as a file, and how it is sent."""

    message: Message
    text: str
    is_checked: bool = True
    is_foreign: bool = False
    actor: str | None = None
    key: str | None = None
    reply_to: int | None = None
    position: int | None = None


def taken_apart(step: Step) -> tuple[str, str, tuple[str, ...] | None]:
    """What is done, how it is to end, and the lines of a body where they are given."""
    head, *lines = [step] if isinstance(step, str) else step
    done, _, outcome = head.partition(" ⇒ ")
    return done, outcome, None if isinstance(step, str) else tuple(lines)


def expected(outcome: str) -> Expected:
    """`refused MB-004@1, MB-010`, `MB-010`, `same as 2`; nothing is sent without a word."""
    is_refused = outcome.startswith("refused ")
    same = _SAME.fullmatch(outcome)
    words = [] if same or not outcome else outcome.removeprefix("refused ").split(", ")
    codes, places = read_codes(words)
    return Expected(is_refused, codes, places, int(same[1]) if same else None)


def read_codes(
    words: Iterable[str],
) -> tuple[tuple[str, ...], tuple[tuple[str, int | None], ...]]:
    """Codes, and the lines of those that have one: `MB-004`, `MB-004@1`, `MB-001@none`."""
    found = [matched(_CODE, word) for word in words]
    places = [(each["id"], each["line"]) for each in found if each["line"]]
    return (
        tuple(each["id"] for each in found),
        tuple((code, None if line == "none" else int(line)) for code, line in places),
    )


def mail_codes(case: dict[str, Any]) -> list[str]:
    """The codes that a scene speaks of; one without any shows something that goes through."""
    return [code for step in case["scene"] for code in _codes_in(step)]


def _codes_in(step: Step) -> Iterator[str]:
    done, outcome, _ = taken_apart(step)
    looked_at = outcome if LETTER.fullmatch(done) or outcome.startswith("refused") else ""
    if done.startswith("check"):
        looked_at = done.partition(": ")[2].replace(";", ",")
    yield from (each["id"] for each in _CODE.finditer(looked_at))


def matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """The match of the whole text, which must be in the shorthand."""
    match = pattern.fullmatch(text)
    assert match, f"not in the shorthand: {text}"
    return match


def duration(text: str) -> timedelta:
    """`+23h 59m`, `-1h`."""
    parts = _DURATION.findall(text)
    assert parts, f"not a duration: {text}"
    whole = sum((timedelta(**{_UNITS[unit]: int(n)}) for n, unit in parts), timedelta())
    return -whole if text[0] == "-" else whole


def listed(text: str) -> list[str]:
    """`1, 2 owed`; `nothing` is an empty list."""
    return [] if text == "nothing" else text.split(", ")


def letter(done: str, lines: tuple[str, ...] | None) -> Letter:
    """`BlueLake → RedLake, Operator in COORD-x (key k1; ack true): QUESTION: Which rubric?`."""
    found = matched(LETTER, done)
    options = [each.partition(" ") for each in (found["options"] or "").split("; ") if each]
    said = {name: value for name, _, value in options}
    assert said.keys() <= _OPTIONS, f"not in the shorthand: {done}"
    body = "\n".join(lines) if lines is not None else _body(found["subject"], said)
    recipients = () if found["to"] == "nobody" else tuple(found["to"].split(", "))
    thread = found["thread"] or THREAD_ID
    message = Message(thread, found["sender"], recipients, found["subject"], body)
    return Letter(
        message,
        _file(message, said),
        not said.keys() & {"unchecked", "foreign"},
        "foreign" in said,
        said.get("as"),
        said.get("key"),
        int(said["reply"].removeprefix("to ")) if "reply" in said else None,
        int(said["after"]) if "after" in said else None,
    )


def _file(message: Message, said: dict[str, str]) -> str:
    headers = {
        "Thread": message.thread_id,
        "From": message.sender,
        "To": ", ".join(message.recipients),
        "Subject": message.subject,
    }
    left_out = {said.get("without"), "To" if not message.recipients else None}
    lines = [f"{name}: {value}" for name, value in headers.items() if name not in left_out]
    lines += [f"Ack-Required: {said['ack']}"] if "ack" in said else []
    lines += [said["header"]] if "header" in said else []
    return "\n".join([*lines, "", message.body])


def _body(subject: str, said: dict[str, str]) -> str:
    """The body that goes with the type, where the case gives none."""
    parsed = parse_subject(subject)
    name = parsed.type if parsed else "INFO"
    if name == "ACK":
        sections = {"Message ID": said.get("of"), "Status": said.get("status", "Received")}
        parts = [f"## {name}\n{text}\n" for name, text in sections.items() if text not in _NOTHING]
        return "\n".join(["# Acknowledgement\n", *parts])
    if name == "DELTA":
        blocks = [BODIES["block"][each] for each in said.get("blocks", "good").split(", ")]
        fenced = [f"```delta\n{block}```\n" for block in blocks]
        return "\n".join(["# Delta Contribution\n", "## Deltas\n", *fenced])
    return BODIES["body"][name]


_NOTHING = (None, "nothing")
_OPTIONS = frozenset(
    [
        "ack",
        "unchecked",
        "foreign",
        "as",
        "key",
        "reply",
        "after",
        "without",
        "header",
        "of",
        "status",
        "blocks",
    ]
)
