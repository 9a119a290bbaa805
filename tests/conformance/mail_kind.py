"""The case kind `mail`: what sending, acknowledging, waiting and moving mail comes to.

A scene is played in one home of the contract suite, its clock standing still but for the steps
that move it. Beside what a case states, this holds after every step: stored messages have not
changed and are as they were given, their hashes are right, threads are in order; what is refused
and what only looks leaves everything as it was; what we compose passes our own check.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability
from brenner.mail.model import RestoreResult, SendResult
from brenner.protocol.messages import (
    Message,
    StoredMessage,
    parse_message_file,
    render_message_file,
)
from brenner.protocol.subjects import compose_subject
from brenner.protocol.validate import check_message
from brenner.services.acknowledge import RECEIVED, acknowledge, escalate, resend
from brenner.services.archive import ArchiveExport, import_archive
from brenner.services.blame import check_thread
from brenner.services.send import SendOptions, send_text
from brenner.session.validation_reply import validation_error_body
from conformance.mail_expectations import EXPECTATIONS
from conformance.mail_scene import Scene
from conformance.mail_shorthand import (
    LETTER,
    Expected,
    Letter,
    duration,
    expected,
    letter,
    listed,
    matched,
    taken_apart,
)
from mail.backends import Backend

Lines = tuple[str, ...] | None
# Advice that a subject or thread which we repeat may bring with it.
_REPEATED = {"SUBJECT_DESCRIPTION_LONG", "THREAD_ID_ADVICE"}
_KEYS = {
    *("file", "name", "proves", "kind", "codes", "scene", "agents", "operator", "deadline_hours"),
    *("needs", "homes", "unopened"),
}
_RESTORED = re.compile(r"added (\d+), skipped (\d+)")


def check_mail(case: dict[str, Any], home: Backend, folder: Path) -> None:
    """Play the scene and compare everything that the case states."""
    assert case.keys() <= _KEYS
    with Scene(case, home, folder) as scene, pytest.MonkeyPatch.context() as patch:
        if not case.get("unopened"):
            patch.setattr("brenner.services.send.unknown_thread", lambda *_: None)
            patch.setattr("brenner.services.preview._no_session_warning", lambda *_: ())
        for number, step in enumerate(case["scene"], 1):
            try:
                _play(scene, *taken_apart(scene.filled(step)))
                scene.check_stores()
            except AssertionError as error:
                error.add_note(f"in step {number} of {case['name']}: {step}")
                raise
        scene.check_thoroughly()


def _play(scene: Scene, done: str, outcome: str, lines: Lines) -> None:
    if LETTER.fullmatch(done):
        _send(scene, letter(done, lines), expected(outcome))
        return
    for pattern, act in _ACTIONS:
        if found := pattern.fullmatch(done):
            act(scene, found, outcome)
            return
    assert not outcome, "only what is done has an outcome"
    for pattern, look in EXPECTATIONS:
        if found := pattern.fullmatch(done):
            before = scene.is_slow or scene.snapshot()
            look(scene, found)
            assert scene.is_slow or scene.snapshot() == before, "looking changes nothing"
            return
    pytest.fail(f"not in the shorthand: {done}")


# Sending


def _send(scene: Scene, given: Letter, wanted: Expected) -> None:
    if given.is_foreign:
        scene.mailbox.send(
            given.message._replace(ack_required=parse_message_file(given.text).message.ack_required)
        )
        return
    reply_to = None if given.reply_to is None else scene.id_of(given.reply_to)
    options = SendOptions(given.actor, given.is_checked, reply_to, given.key, given.position)
    sent = _sent(scene, given.text, options, wanted)
    if sent:
        assert scene.comparable(sent.stored.message) == scene.comparable(given.message)
        assert sent.stored.reply_to == reply_to or not scene.can(Capability.REPLY_LINKS)


def _sent(scene: Scene, text: str, options: SendOptions, wanted: Expected) -> SendResult | None:
    before, position = scene.snapshot(), scene.mailbox.position()
    try:
        outcome = send_text(scene.mailbox, text, options)
    except RequestError as refused:
        scene.found, scene.corrected, sent = (refused.diagnostic,), None, None
    else:
        scene.found, scene.corrected = outcome.report.violations, outcome.report.corrected
        sent = outcome.sent
    if sent is None or options.check:
        found = [each.id for each in scene.found]
        assert Counter(found) == Counter(wanted.codes), scene.found
        assert set(wanted.places) <= {(each.id, each.line) for each in scene.found}, scene.found
    assert (sent is None) == wanted.is_refused
    if sent is None:
        assert scene.snapshot() == before, "what is refused leaves no trace"
    else:
        _check_sent(scene, sent, position, wanted)
    return sent


def _check_sent(scene: Scene, sent: SendResult, position: int, wanted: Expected) -> None:
    assert sent.is_new == (wanted.same is None)
    assert sent.stored.arrival == (wanted.same or position + 1)
    assert scene.mailbox.position() == position + sent.is_new
    if sent.is_new and scene.can(Capability.CLIENT_CLOCK):
        assert sent.stored.at == scene.clock.now


def _send_corrected(scene: Scene, _: re.Match[str], outcome: str) -> None:
    assert scene.corrected, "there is no corrected message"
    assert _sent(scene, scene.corrected, SendOptions(), expected(outcome))


def _answer(scene: Scene, line: re.Match[str], outcome: str) -> None:
    """Send the Validation Error reply to a stored message."""
    stored = scene.message(int(line["number"]))
    checked = check_thread(scene.mailbox, stored.message.thread_id)
    report = next(found for each, found in checked if each == stored)
    reply = Message(
        stored.message.thread_id,
        line["name"],
        (stored.message.sender,),
        compose_subject("INFO", f"Validation error in {stored.message.subject}"),
        validation_error_body(str(stored.id), report),
    )
    text = render_message_file(reply)
    sent = _sent(scene, text, SendOptions(reply_to=stored.id), expected(outcome))
    assert sent
    _check_composed([sent.stored])


# Acknowledging, and what follows when nobody does


def _acknowledge(scene: Scene, line: re.Match[str], outcome: str) -> None:
    wanted = expected(outcome)
    before, position = scene.snapshot(), scene.mailbox.position()
    message_id = scene.id_of(int(line["number"]))
    status, notes = line["status"] or RECEIVED, line["notes"] or ""
    scene.found, sent = (), None
    try:
        sent = acknowledge(scene.mailbox, line["name"], message_id, status, notes)
    except RequestError as refused:
        scene.found = (refused.diagnostic,)
    assert tuple(each.id for each in scene.found) == wanted.codes
    assert (sent is None) == wanted.is_refused
    if sent is None:
        assert scene.snapshot() == before, "what is refused leaves no trace"
    else:
        _check_sent(scene, sent, position, wanted)
        _check_composed([sent.stored])


def _mark(scene: Scene, line: re.Match[str], _: str) -> None:
    ids = [scene.id_of(int(number)) for number in listed(line["numbers"])]
    scene.mailbox.mark(line["name"], ids, is_read=not line["not"])


def _resend(scene: Scene, _: re.Match[str], outcome: str) -> None:
    _check_new(scene, resend(scene.mailbox, scene.overdue()), outcome)


def _escalate(scene: Scene, line: re.Match[str], outcome: str) -> None:
    operator = scene.project.operator
    sent = escalate(scene.mailbox, scene.overdue(), line["name"], operator)
    _check_new(scene, sent, outcome)
    _check_composed(each.stored for each in sent)


def _check_new(scene: Scene, sent: tuple[SendResult, ...], outcome: str) -> None:
    assert [str(each.stored.arrival) for each in sent] == listed(outcome)
    assert all(each.is_new and each.stored.at == scene.clock.now for each in sent)


def _check_composed(messages: Iterable[StoredMessage]) -> None:
    """What we compose passes our own check, and holds nothing that a terminal would obey."""
    for stored in messages:
        report = check_message(render_message_file(stored.message))
        assert {found.id for found in report.violations} <= _REPEATED, report.violations
        assert stored.message.subject.isprintable()


# The clock, and the other store


def _move(scene: Scene, line: re.Match[str], _: str) -> None:
    scene.clock.move(duration(line["by"]))


def _go(scene: Scene, line: re.Match[str], _: str) -> None:
    scene.here = line["where"]


def _import(scene: Scene, line: re.Match[str], outcome: str) -> None:
    """Take over the mail of the other store; every message of it is here then, as it was there."""
    archive = BytesIO(b"".join(ArchiveExport(scene.other, "jsonl")))
    restored = import_archive(scene.mailbox, archive, "mail.jsonl")
    assert isinstance(restored, RestoreResult), restored
    added, skipped = matched(_RESTORED, outcome).groups()
    assert (restored.added, restored.skipped) == (int(added), int(skipped))
    here = {(each.origin_id, each.content_hash): each for each in scene.mailbox.arrivals(0)}
    for there in scene.other.arrivals(0):
        stored = here[there.origin_id, there.content_hash]
        assert (stored.message, stored.at) == (there.message, there.at)


_ACTIONS: tuple[tuple[re.Pattern[str], Callable[[Scene, re.Match[str], str], None]], ...] = (
    (re.compile(r"(?P<by>[+-]\d.*)"), _move),
    (re.compile("(?P<where>home|elsewhere)"), _go),
    (re.compile("import jsonl"), _import),
    (
        re.compile(
            r"(?P<name>\S+) acks (?P<number>\d+)(?: as (?P<status>[^:]+))?(?:: (?P<notes>(?s:.+)))?"
        ),
        _acknowledge,
    ),
    (re.compile(r"(?P<name>\S+) (?P<not>un)?reads (?P<numbers>\d[\d, ]*)"), _mark),
    (re.compile("resend"), _resend),
    (re.compile(r"escalate by (?P<name>\S+)"), _escalate),
    (re.compile("send corrected"), _send_corrected),
    (re.compile(r"(?P<name>\S+) answers (?P<number>\d+) with its errors"), _answer),
)
