"""What a `mail` case may say that it sees: one function for each kind of line."""

import re
from collections import Counter
from collections.abc import Callable

from brenner.mail.model import InboxFilter, InboxMessage, PendingAck
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import StoredMessage
from brenner.protocol.validate import Report
from brenner.services.blame import check_thread
from conformance.mail_scene import Scene
from conformance.mail_shorthand import THREAD_ID, duration, listed, read_codes

Match = re.Match[str]
_SECTIONS = ("Message ID", "Message", "Status", "Notes")


def _owes(scene: Scene, line: Match) -> None:
    debts = [each.pending for each in scene.pending(line["name"], line["thread"])]
    assert [debt.first.posted[:2][::-1] for debt in debts] == sorted(
        debt.first.posted[:2][::-1] for debt in debts
    ), "the oldest first"
    assert Counter(_debt(scene, debt) for debt in debts) == Counter(_debts_in(line["rest"]))


def _debts_in(text: str) -> list[str]:
    """`RedLake 1 (2 copies, last 3), Operator 2`: the commas between debts part them."""
    return [] if text == "nothing" else re.split(r", (?![^(]*\))", text)


def _debt(scene: Scene, debt: PendingAck) -> str:
    copies = f" ({debt.times_sent} copies, last {scene.number_of(debt.last.id)})"
    return f"{debt.debtor} {scene.number_of(debt.first.id)}{copies if debt.times_sent > 1 else ''}"


def _overdue(scene: Scene, line: Match) -> None:
    found = [
        f"{each.pending.debtor} {scene.number_of(each.pending.first.id)}"
        for each in scene.overdue()
    ]
    assert Counter(found) == Counter(listed(line["rest"]))


def _due(scene: Scene, line: Match) -> None:
    found = {
        (each.pending.debtor, str(scene.number_of(each.pending.first.id))): each.due
        for each in scene.pending()
    }
    wanted = [each.split(" ", 2) for each in listed(line["rest"])]
    assert found == {(name, number): scene.start + duration(by) for name, number, by in wanted}


def _inbox(scene: Scene, line: Match) -> None:
    wanted = InboxFilter(
        unread=line["only"] == "unread",
        owed=line["only"] == "owed",
        types=(line["type"],) if line["type"] else (),
        thread_id=line["thread"],
    )
    page = scene.mailbox.inbox(line["name"], wanted)
    assert [_received(each) for each in page.messages] == listed(line["rest"])


def _received(received: InboxMessage) -> str:
    marks = " read" * bool(received.is_read) + " owed" * received.owes_ack
    return f"{received.stored.arrival}{marks}"


def _thread(scene: Scene, line: Match) -> None:
    messages = scene.mailbox.thread(line["thread"] or THREAD_ID).messages
    assert [str(each.arrival) for each in messages] == listed(line["rest"])


def _message(scene: Scene, line: Match) -> None:
    stored = scene.message(int(line["number"]))
    for part in line["rest"].split("; "):
        assert _is(scene, stored, part), f"{part}: {stored}"


def _is(scene: Scene, stored: StoredMessage, part: str) -> bool:
    """Whether it is true of the message that, for instance, it is `from BlueLake`."""
    if part in _FLAGS:
        return _FLAGS[part](stored)
    name = next((name for name in _SECTIONS if part.startswith(name + " ")), "")
    if name:
        return _section(stored.message.body, name) == part.removeprefix(name + " ")
    name, _, value = part.partition(" ")
    return _PARTS[name](scene, stored) == value


def _section(body: str, name: str) -> str:
    """The text under a heading; of one that names a message, its number."""
    text = body.partition(f"\n## {name}\n")[2].partition("\n## ")[0].strip()
    return " ".join(re.findall(r"\d+", text)) if name.startswith("Message") else text


def _numbers(scene: Scene, ids: tuple[int, ...]) -> str:
    return ", ".join(str(scene.number_of(each)) for each in ids) or "nothing"


def _time(scene: Scene, stored: StoredMessage) -> str:
    return f"+{(stored.at - scene.start).total_seconds() / 3600:g}h"


_FLAGS: dict[str, Callable[[StoredMessage], bool]] = {
    "local": lambda stored: stored.is_local,
    "imported": lambda stored: not stored.is_local,
    "asks for an ACK": lambda stored: wants_ack(stored.message),
    "asks for no ACK": lambda stored: not wants_ack(stored.message),
}
_PARTS: dict[str, Callable[[Scene, StoredMessage], str]] = {
    "from": lambda _, stored: stored.message.sender,
    "to": lambda _, stored: ", ".join(sorted(stored.message.recipients)),
    "type": lambda _, stored: str(stored.type),
    "subject": lambda _, stored: stored.message.subject,
    "answers": lambda scene, stored: _numbers(scene, (stored.reply_to,) if stored.reply_to else ()),
    "acknowledges": lambda scene, stored: _numbers(scene, stored.acknowledges),
    "at": _time,
    "hash": lambda _, stored: stored.content_hash,
    "id": lambda _, stored: str(stored.id),
    "origin": lambda _, stored: str(stored.origin_id),
}


def _says(scene: Scene, line: Match) -> None:
    body = scene.message(int(line["number"])).message.body
    assert (line["rest"] in body) == (not line["never"]), body


def _report(scene: Scene, number: int) -> Report:
    thread_id = scene.message(number).message.thread_id
    checked = check_thread(scene.mailbox, thread_id)
    return next(report for stored, report in checked if stored.arrival == number)


def _check(scene: Scene, line: Match) -> None:
    checked = check_thread(scene.mailbox, line["thread"] or THREAD_ID)
    wanted = [each.split(" ") for each in line["rest"].split("; ")]
    assert [str(stored.arrival) for stored, _ in checked] == [number for number, *_ in wanted]
    for (stored, report), (_, *words) in zip(checked, wanted, strict=True):
        codes, places = read_codes([word for word in words if word != "fine"])
        found = report.violations
        assert Counter(one.id for one in found) == Counter(codes), found
        assert set(places) <= {(one.id, one.line) for one in found}, found
        assert {one.message_id for one in found} <= {stored.id}


def _blocks(scene: Scene, line: Match) -> None:
    deltas = _report(scene, int(line["number"])).deltas
    found = [f"{each.block} {'good' if each.valid else 'bad'}" for each in deltas]
    assert found == listed(line["rest"])


def _ready(scene: Scene, line: Match) -> None:
    report = _report(scene, int(line["number"]))
    assert "Thread: " not in (report.corrected or ""), "a block, not a whole file"
    blocks = [found.repaired or "" for found in report.violations]
    assert any(line["rest"] in block for block in blocks), blocks


def _outcome_says(scene: Scene, line: Match) -> None:
    words = [f"{each.message} {each.fix}" for each in scene.found]
    assert any(line["rest"] in each for each in words), words


def _corrected(scene: Scene, line: Match) -> None:
    assert line["rest"] in (scene.corrected or ""), scene.corrected


def _no_correction(scene: Scene, _: Match) -> None:
    assert scene.corrected is None


def _content(scene: Scene, line: Match) -> None:
    hashes = [scene.message(int(each)).content_hash for each in listed(line["rest"])]
    assert len(set(hashes)) == (1 if line["how"] == "same" else len(hashes))


_REST = "(?P<rest>(?s:.*))"
_IN = r"(?: in (?P<thread>\S+))?"
EXPECTATIONS: tuple[tuple[re.Pattern[str], Callable[[Scene, Match], None]], ...] = (
    (re.compile(rf"owes{_IN}(?: by (?P<name>\S+))?: {_REST}"), _owes),
    (re.compile(f"overdue: {_REST}"), _overdue),
    (re.compile(f"due: {_REST}"), _due),
    (
        re.compile(
            rf"inbox of (?P<name>\S+)(?: (?P<only>unread|owed))?{_IN}"
            rf"(?: of (?P<type>[A-Z]+))?: {_REST}"
        ),
        _inbox,
    ),
    (re.compile(rf"thread(?: (?P<thread>\S+))?: {_REST}"), _thread),
    (re.compile(rf"message (?P<number>\d+) is: {_REST}"), _message),
    (re.compile(rf"message (?P<number>\d+) (?P<never>never )?says: {_REST}"), _says),
    (re.compile(rf"check(?: (?P<thread>\S+))?: {_REST}"), _check),
    (re.compile(rf"blocks of (?P<number>\d+): {_REST}"), _blocks),
    (re.compile(rf"ready for (?P<number>\d+): {_REST}"), _ready),
    (re.compile(f"says: {_REST}"), _outcome_says),
    (re.compile(f"corrected: {_REST}"), _corrected),
    (re.compile("no correction"), _no_correction),
    (re.compile(f"(?P<how>same|other) content: {_REST}"), _content),
)
