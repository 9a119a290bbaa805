"""The shorthand of `session` cases: what is done in a session, in a few words each.

What it looks like is in README.md beside this file. Messages are written as in `thread` cases, and
their payloads are those of snippets.toml.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from brenner.protocol.messages import Message, StoredMessage
from conformance.mail_shorthand import THREAD_ID
from conformance.message_files import message_text, valid_artifact
from conformance.thread_shorthand import SHORTHANDS, SNIPPETS, steps
from conformance.thread_shorthand import THREAD_ID as SHORT_THREAD_ID

Step = str | list[str]
FILE = f"artifacts/{THREAD_ID}.md"
_FIRST = datetime(2025, 12, 30, 10, tzinfo=UTC)
_REPEATED = re.compile(r"<(\d+) (\w)>")
_WORDS = (
    (re.compile(r"\bFILE\b"), FILE),
    (re.compile(r"(?<!_)\bTHREAD\b"), THREAD_ID),
    (re.compile("<<artifact>>"), valid_artifact() + "\n"),
)
_BY_HAND = re.compile(r"(?P<number>\d+) (?P<sender>[A-Za-z]+) (?P<subject>(?:Re: )?[A-Z]+: .+)")
_FOREIGN = re.compile(r"(?:(?<=from )|(?<=\*\*: ))v2|v3")
_CODE = re.compile(r"\b(?:[A-Z]{2}-\d{3}|[A-Z]+(?:_[A-Z]+)+)\b")
# Lines whose codes are what the case is about; elsewhere they may be text
_WITH_CODES = re.compile(
    r"(?:check|notes|others|warnings|ledger|ledger of \d+|not contributed|latest|v\d+): "
)


def scene_of(case: dict[str, Any]) -> list[Step]:
    """The steps of a case, those of its beginning included."""
    start: list[Step] = SNIPPETS["start"][case["start"]] if "start" in case else []
    return [*start, *case["scene"]]


def session_codes(case: dict[str, Any]) -> list[str]:
    """The codes that a scene speaks of, but for those of its beginning."""
    return [
        code
        for step in case["scene"]
        if isinstance(step, str)
        for code in _codes_in(step)
        if code != "MISSING_RECOMMENDED_SECTION"
    ]


def _codes_in(step: str) -> list[str]:
    done, _, outcome = step.partition(" ⇒ ")
    return _CODE.findall(outcome or (done if _WITH_CODES.match(done) else ""))


def spelled_out(text: str) -> str:
    """`THREAD`, `FILE`, `<<artifact>>` and `<300 x>` as they are meant."""
    for pattern, meant in _WORDS:
        text = pattern.sub(partial(_meant, meant), text)
    return _REPEATED.sub(lambda found: found[2] * int(found[1]), text)


def _meant(meant: str, _: re.Match[str]) -> str:
    return meant


def numbers_in(text: str | None) -> list[int]:
    """`3, 4`; nothing where there is no text."""
    return [int(number) for number in text.split(", ")] if text else []


def time_of(number: int, at: str | None = None) -> datetime:
    """10:00 and a minute for each number, unless the step says otherwise."""
    if at is None:
        return _FIRST + timedelta(minutes=number)
    return datetime.fromisoformat(f"{_FIRST.date()}T{at}").replace(tzinfo=UTC)


def written(step: list[str]) -> StoredMessage:
    """The message of a step, with its number and its time."""
    head, *lines = step
    if found := _BY_HAND.fullmatch(head):
        body = "\n".join([*lines, ""])
        message = Message(THREAD_ID, found["sender"], ("Operator",), found["subject"], body)
        number = int(found["number"])
        return StoredMessage(number, time_of(number), message)
    sender = head.split()[1]
    known = sender if sender in SHORTHANDS else "Dan"
    (posted,) = steps({"thread": [[head.replace(sender, known, 1), *lines]]})
    assert isinstance(posted, StoredMessage)
    body = posted.message.body.replace(SHORT_THREAD_ID, THREAD_ID)
    message = posted.message._replace(thread_id=THREAD_ID, sender=sender, body=body)
    return posted._replace(message=message)


def foreign_version(sender: str, version: int) -> Message:
    """A whole COMPILED message as another program would post it, without a record."""
    head, _, body = message_text("compiled").partition("\n\n")
    subject = head.rpartition("Subject: ")[2]
    number, before = f"v{version}", f"v{version - 1}"
    # At once: the version before v4 is the v3 of the text
    body = _FOREIGN.sub(lambda found: number if found[0] == "v3" else before, body)
    body = body.replace("\nversion: 3\n", f"\nversion: {version}\n")
    subject = subject.replace("v3", number)
    return Message(THREAD_ID, sender, ("Operator",), subject, body)


def reposted(
    stored: StoredMessage, sender: str, version: str | None, changes: Iterable[str]
) -> Message:
    """A COMPILED message once more, by somebody else, perhaps as the version after it, with some of
    its text changed: `old → new`. The hash of the artifact is right, whatever becomes of it.
    """
    message = stored.message._replace(sender=sender)
    if version:
        message = _as_version(stored, message, int(version))
    for change in changes:
        old, new = change.split(" → ")
        assert old in message.body, old
        message = message._replace(body=message.body.replace(old, new))
    return message._replace(body=_rehashed(message.body)) if version else message


def _as_version(stored: StoredMessage, message: Message, version: int) -> Message:
    """The same as the version after it: number and base are right, and nothing new was read."""
    before, text, after = _around_record(message.body)
    record = json.loads(text)
    old = record["version"]
    at = stored.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    base = {"version": old, "content_hash": stored.content_hash, "id": stored.id, "at": at}
    record |= {"version": version, "base": base, "messages": []}
    before = before.replace(f"v{old}", f"v{version}")
    before = before.replace(f"\nversion: {old}\n", f"\nversion: {version}\n")
    subject = message.subject.replace(f"v{old}", f"v{version}", 1)
    return message._replace(subject=subject, body=before + _canonical(record) + after)


def _rehashed(body: str) -> str:
    """The body with the right hash of its artifact in the record."""
    before, text, after = _around_record(body)
    artifact = before.partition("```markdown\n")[2].partition("\n```\n")[0] + "\n"
    digest = hashlib.sha256(artifact.encode()).hexdigest()
    return before + _canonical(json.loads(text) | {"artifact_sha256": digest}) + after


def _around_record(body: str) -> tuple[str, str, str]:
    before, fence, rest = body.rpartition("```brenner-record\n")
    text, end, after = rest.partition("\n```")
    return before + fence, text, end + after


def _canonical(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
