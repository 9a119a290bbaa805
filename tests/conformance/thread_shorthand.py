"""The shorthand of `thread` cases: steps in a few words, expanded to whole messages.

What it looks like is in README.md beside this file, the payloads that it names in snippets.toml.
"""

import json
import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from brenner.protocol.delta.schema import SECTIONS
from brenner.protocol.messages import Message, StoredMessage

THREAD_ID = "RS-20251230-cell-fate"
SNIPPETS: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "snippets.toml").read_text("utf-8")
)
SHORTHANDS = {"Ann": "opus", "Bob": "gpt", "Cyd": "gemini", "Dan": "claude", "Operator": "human"}
_DAY, _FIRST = "2025-12-30T", datetime(2025, 12, 30, 10, tzinfo=UTC)

_PUBLISH = re.compile(r"(?P<id>\d+) publish(?: at (?P<at>\S+))?")
_HEAD = re.compile(
    r"(?P<id>\d+) (?P<sender>[A-Za-z]+)(?: (?P<type>[A-Z]+))?"
    r"(?: on (?P<base>v\d+))?(?: at (?P<at>\S+))?"
)
_ADD = re.compile(
    r"ADD (?P<snippet>\w+)(?: as (?P<name>\w+))?(?: without (?P<without>\w+))?(?: (?P<json>\{.*))?",
    re.DOTALL,
)
_EDIT = re.compile(r"EDIT (?P<target>\S+) (?P<json>\{.*)", re.DOTALL)
_KILL = re.compile(r"KILL (?P<target>\S+)(?: (?P<reason>.+))?", re.DOTALL)
_REFERENCE = re.compile(r"(?P<relation>\w+)(?: (?P<session>\S+))? (?P<item>\S+)")

_SECTION_OF_PREFIX = {section.prefix: section.id for section in SECTIONS.values()}
_SECTION_OF_SNIPPET = {name: section for section in SECTIONS for name in SNIPPETS.get(section, {})}


class Publication(NamedTuple):
    """A step that closes the round: the COMPILED message's number and time."""

    id: int
    at: datetime


def steps(case: dict[str, Any], name: str = "thread") -> list[StoredMessage | Publication]:
    """The steps of a case, those of its beginning included."""
    return [_step(step) for step in [*_beginning(case), *case[name]]]


def beginning(case: dict[str, Any]) -> int:
    """How many versions the case begins with."""
    return sum(isinstance(step, str) for step in _beginning(case))


def _beginning(case: dict[str, Any]) -> list[Any]:
    start: list[Any] = SNIPPETS["start"][case["start"]] if "start" in case else []
    return start


def _step(step: str | list[str]) -> StoredMessage | Publication:
    if isinstance(step, str):
        found = _matched(_PUBLISH, step)
        return Publication(int(found["id"]), _time(found))
    head, *lines = step
    found = _matched(_HEAD, head)
    return StoredMessage(int(found["id"]), _time(found), _message(found, lines))


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    assert match, f"not in the shorthand: {text}"
    return match


def _time(found: re.Match[str]) -> datetime:
    """The time that the step gives, in UTC unless it says otherwise; else a minute per number."""
    if not found["at"]:
        return _FIRST + timedelta(minutes=int(found["id"]))
    at = datetime.fromisoformat(_DAY + found["at"])
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _message(head: re.Match[str], lines: list[str]) -> Message:
    """A message of the type that the head names, its body as written; else a DELTA."""
    sender, kind = head["sender"], head["type"]
    prefix = f"DELTA[{SHORTHANDS[sender]}]" if kind in (None, "RAW") else kind
    body = "\n".join(lines) if kind else _delta_body(lines, head["base"])
    return Message(THREAD_ID, sender, ("Operator",), f"{prefix}: A message", body)


def _delta_body(lines: list[str], base: str | None) -> str:
    stated = [f"**Base Version**: {base}"] if base else []
    names = {found["name"]: found["snippet"] for found in map(_ADD.fullmatch, lines) if found}
    blocks = [f"```delta\n{_block(line, names)}\n```" for line in lines]
    return "\n\n".join(["# Delta Contribution", *stated, "## Deltas", *blocks]) + "\n"


def _block(line: str, names: dict[str, str]) -> str:
    """The inside of a delta block; a line that is not in the shorthand is that itself."""
    if found := _ADD.fullmatch(line):
        return json.dumps(_add(found), ensure_ascii=False, indent=1)
    found = _EDIT.fullmatch(line) or _KILL.fullmatch(line)
    if not found:
        return line
    target = found["target"]
    prefix = target.rstrip("0123456789")
    section = _SECTION_OF_PREFIX.get(prefix) or _SECTION_OF_SNIPPET[names.get(target[1:], "epi")]
    is_edit = found.re is _EDIT
    payload = _payload(found["json"]) if is_edit else {"reason": found["reason"] or "Refuted"}
    delta = {
        "operation": "EDIT" if is_edit else "KILL",
        "section": section,
        "target_id": target,
        "payload": payload,
        "rationale": "Seen in review",
    }
    return json.dumps(delta, ensure_ascii=False, indent=1)


def _add(found: re.Match[str]) -> dict[str, object]:
    section = _SECTION_OF_SNIPPET[found["snippet"]]
    payload = SNIPPETS[section][found["snippet"]] | _payload(found["json"] or "{}")
    local = {"local_id": found["name"]} if found["name"] else {}
    return {
        "operation": "ADD",
        "section": section,
        "target_id": None,
        **local,
        "payload": {name: value for name, value in payload.items() if name != found["without"]},
        "rationale": "It was missing",
    }


def _payload(text: str) -> dict[str, Any]:
    """The JSON of a payload; references may be written `refines H4`, of this thread or another."""
    payload: dict[str, Any] = json.loads(text)
    if "references" in payload:
        payload["references"] = [_reference(each) for each in payload["references"]]
    return payload


def _reference(text: str) -> dict[str, str]:
    found = _matched(_REFERENCE, text)
    session = found["session"] or THREAD_ID
    return {"session": session, "item": found["item"], "relation": found["relation"]}
