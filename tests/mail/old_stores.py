"""Stores of every format that there ever was, kept as text, and what is read from them.

When a format is new, `python tests/mail/old_stores.py` writes `stores/vN.sql` and `stores/vN.json`
once. From its first release on, neither changes any more.
"""

import io
import json
import re
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import apsw.shell

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import (
    Agent,
    InboxFilter,
    InboxPage,
    MessageRecord,
    Profile,
    ReservationRequest,
)
from brenner.mail.search import Query, parse_query
from brenner.mail.sqlite.mailbox import SqliteMailbox, migrations
from brenner.protocol.messages import (
    Envelope,
    Importance,
    Message,
    StoredMessage,
    Trust,
    content_hash,
)
from brenner.session.decisions import compose_void

STORES = Path(__file__).parent / "stores"
SOON_AFTER = datetime(2026, 1, 2, tzinfo=UTC)  # when nothing that was reserved has expired yet
SEARCHES = (
    *("gradient", '"chromatin state"', "type:DELTA from:BlueLake", "item:H2", "§42", "jürgen"),
    *("is:unread", "needs:ack", "thread:brenner_bot-5so.1.4.1", "after:2025-12-31", "nowhere"),
)
FIRST_WITH_SETTLED_ACKS = 6  # the format whose migration settles the ACKs of older mail
_OWED_FILTER = 2  # the place of `owed` among the filters of `_inboxes`
_A_MONTH = 30 * 24 * 3_600
_PRAGMAS = ("application_id", "user_version", "journal_mode")
_ANN, _BEA, _CAT, _BOSS = "BlueLake", "GreenDog", "RedCreek", "Operator"
_THREAD, _ELSEWHERE = "RS-20251230-cell-fate", "brenner_bot-5so.1.4.1"
_DELTA = """\
# Delta Contribution

## Deltas

```delta
{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H2",
 "payload": {"reason": "The gradient is not there"}, "rationale": "§42"}
```
"""


class Clock:
    """Every look at it is a minute later, and once it is set back."""

    def __init__(self) -> None:
        self._now = datetime(2025, 12, 30, 9, 0, 0, 123_456, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now

    def set_back(self) -> None:
        """By less than an hour."""
        self._now -= timedelta(minutes=30)


def fill(mailbox: Mailbox, clock: Clock) -> None:
    """Something of everything that a store can hold."""
    for name, program in ((_ANN, "claude-code"), (_BEA, "codex"), (_CAT, ""), (_BOSS, "")):
        mailbox.register(Profile(name, program, "opus" if program else "", f"The task of {name}"))
    everybody = (_ANN, _BEA, _CAT)
    kickoff = Message(
        _THREAD, _BOSS, everybody, "KICKOFF: Cell fate", "# Question\nWhich gradient?"
    )
    first = mailbox.send(kickoff, key="kickoff").stored
    mailbox.send(Message(_THREAD, _ANN, (_BOSS, _BEA), "DELTA[opus]: Kill H2", _DELTA))
    named = "# Acknowledgement\n\n## Message ID\n1\n\n## Status\nReceived\n"
    mailbox.send(Message(_THREAD, _BEA, (_BOSS,), "ACK: Received", named), reply_to=first.id)
    mailbox.send(kickoff._replace(recipients=(_CAT,)), reply_to=first.id)
    clock.set_back()
    odd = "Jürgen’s chromatin state \x1b[31m\r\n\u202e🧬 '; DROP TABLE messages; --\t\u2028"
    mailbox.send(Message(_ELSEWHERE, _CAT, (_CAT, _ANN), "Re: ﬁne, no type", odd))
    mailbox.send(Message(_ELSEWHERE, _CAT, (_ANN,), "INFO: Empty", "", ack_required=True))
    mailbox.send(Message(_ELSEWHERE, _ANN, (_CAT,), "QUESTION: Or not?", "x", ack_required=False))
    mailbox.restore([Agent("Guest", "gemini", "pro", "", clock())], [_from_elsewhere(clock)])
    mailbox.mark(_BEA, [1, 2], is_read=True)
    mailbox.mark(_BEA, [2], is_read=False)
    mailbox.register(Profile(_CAT, "gemini", "pro"), update=True)
    _fill_format_3(mailbox)
    _fill_format_4(mailbox)
    mailbox.claim(_BEA, "7" * 64)
    mailbox.protect(_BEA)


def _fill_format_3(mailbox: Mailbox) -> None:
    """What came with the agents' side: envelopes, secrets, reservations."""
    urgent = Envelope(Importance.URGENT, (_CAT,), Trust.VERIFIED)
    copied = Message(_THREAD, _ANN, (_BEA, _CAT), "INFO: A copy for RedCreek", "x")
    mailbox.send(copied, envelope=urgent)
    claimed = Message("", _BEA, (_ANN,), "No thread, and nobody vouches for me", "x")
    mailbox.send(claimed, envelope=Envelope(Importance.LOW, trust=Trust.UNVERIFIED))
    mailbox.claim(_ANN, "5" * 64)
    mailbox.reserve(_ANN, ReservationRequest(("src/**", "ß/*.md"), _A_MONTH, reason="Jürgen’s"))
    mailbox.reserve(_BEA, ReservationRequest(("src/a.py", "b"), _A_MONTH, exclusive=False))
    mailbox.release(_BEA, patterns=["b"])


def _fill_format_4(mailbox: Mailbox) -> None:
    """Decisions: one of the operator, one that is not."""
    mailbox.operator = _BOSS
    for sender in (_BOSS, _ANN):
        blank = Message(_THREAD, sender, (_CAT,), "", "")
        mailbox.send(compose_void(blank, 1, 2, ["5" * 64], "It was a mistake."))


def _from_elsewhere(clock: Clock) -> MessageRecord:
    message = Message("imported", "Guest", (_BOSS, "Stranger"), "CRITIQUE: H1", "H1 is wrong. H3?")
    at = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
    stored = StoredMessage(3, at, message, content_hash(message), 1, 3)
    return MessageRecord(stored, ((_BOSS, clock()),))


def reading_of(mailbox: Mailbox) -> dict[str, object]:
    """All that can be read from a mailbox, as JSON has it."""
    records = list(mailbox.records())
    ids = [record.stored.id for record in records]
    agents = mailbox.agents()
    reading = {
        "agents": agents,
        "records": records,
        "messages": [mailbox.message(message_id) for message_id in ids],
        "deliveries": [mailbox.deliveries(message_id) for message_id in ids],
        "threads": mailbox.threads(),
        "thread": [mailbox.thread(each.thread_id) for each in mailbox.threads()],
        "inboxes": {agent.name: _inboxes(mailbox, agent.name) for agent in agents},
        "debts": mailbox.debts(),
        "searches": {text: _found(mailbox, text) for text in SEARCHES},
        "position": mailbox.position(),
        "envelopes": {number: mailbox.message(number).envelope for number in ids},
        "digests": {agent.name: mailbox.digest(agent.name) for agent in agents},
        "reservations": mailbox.reservations(),
        "decides": {number: mailbox.message(number).decides for number in ids},
        "protected": {agent.name: mailbox.is_protected(agent.name) for agent in agents},
    }
    decoded: dict[str, object] = json.loads(json.dumps(_as_written(reading), default=str))
    return decoded


def _as_written(value: object) -> object:
    """As the first formats were written down: envelopes are apart from their messages."""
    if isinstance(value, dict):
        return {key: _as_written(each) for key, each in value.items()}
    if isinstance(value, StoredMessage):
        value = value[: StoredMessage._fields.index("envelope")]
    return [_as_written(each) for each in value] if isinstance(value, list | tuple) else value


def _inboxes(mailbox: Mailbox, name: str) -> list[list[int]]:
    filters = (
        InboxFilter(),
        InboxFilter(unread=True),
        InboxFilter(owed=True),
        InboxFilter(types=("KICKOFF", "DELTA")),
        InboxFilter(thread_id=_THREAD),
    )
    return [_ids(mailbox.inbox(name, wanted)) for wanted in filters]


def _ids(page: InboxPage) -> list[int]:
    return [received.stored.id for received in page.messages]


def _found(mailbox: Mailbox, text: str) -> list[int]:
    query = parse_query(text)
    assert isinstance(query, Query)
    return [stored.id for stored in mailbox.search(query, reader=_ANN).messages]


def dumped(path: Path) -> str:
    """A store as SQL that makes it again."""
    connection = apsw.Connection(str(path))
    out = io.StringIO()
    shell = apsw.shell.Shell(stdout=out, db=connection)
    shell.process_command(".dump")  # type: ignore[no-untyped-call]
    pragmas = [f"PRAGMA {name} = {connection.pragma(name)};" for name in _PRAGMAS]
    connection.close()
    # The first lines of the shell's are comments with the date and the machine.
    lines = [line for line in out.getvalue().split("\n") if not line.startswith("--")]
    return _printable("\n".join([*lines, *pragmas, ""]))


def _printable(sql: str) -> str:
    """The same SQL; what cannot be seen stands in texts only, and is spelt out there."""
    return re.sub(
        r"[^\n -~]",
        lambda found: found[0] if found[0].isprintable() else f"'||char({ord(found[0])})||'",
        sql,
    )


def rebuilt(version: int, path: Path) -> None:
    """Make the file of a format that is kept."""
    connection = apsw.Connection(str(path))
    connection.execute((STORES / f"v{version}.sql").read_text("utf-8")).fetchall()
    connection.close()


def kept() -> list[int]:
    """The formats that are kept."""
    return sorted(int(path.stem.removeprefix("v")) for path in STORES.glob("v*.sql"))


def expected(version: int) -> dict[str, object]:
    """What must be read from it."""
    decoded: dict[str, Any] = json.loads((STORES / f"v{version}.json").read_text("utf-8"))
    whole = _before_later_formats(decoded) | decoded
    return _with_settled_acks(whole) if version < FIRST_WITH_SETTLED_ACKS else whole


def _before_later_formats(decoded: dict[str, Any]) -> dict[str, object]:
    """What a store says of things that its format did not know.

    All was written by who had access to it, but for what was imported. Decisions count by name. No
    name is protected.
    """
    is_local = StoredMessage._fields.index("is_local")
    trust = {True: "local", False: "unverified"}
    messages = decoded["messages"]
    return {
        "envelopes": {str(each[0]): ["normal", [], trust[each[is_local]]] for each in messages},
        "digests": {agent[0]: None for agent in decoded["agents"]},
        "reservations": [],
        "decides": {str(each[0]): None for each in messages},
        "protected": {agent[0]: False for agent in decoded["agents"]},
    }


def _with_settled_acks(whole: dict[str, Any]) -> dict[str, object]:
    """The reading since a contribution settles the ACK of the kickoff before it (R24).

    In every kept store message 2 is Ann's contribution after the kickoff, message 1.
    """
    (kickoff, _), *_ = whole["records"]
    assert (kickoff[0], kickoff[2][3]) == (1, "KICKOFF: Cell fate")
    deliveries = [list(each) for each in whole["deliveries"]]
    deliveries[0] = [
        [name, read_at, False, 2] if name == _ANN else [name, read_at, owes, by]
        for name, read_at, owes, by in deliveries[0]
    ]
    owed = _OWED_FILTER
    inboxes = {
        name: [
            [each for each in ids if (name, place, each) != (_ANN, owed, 1)]
            for place, ids in enumerate(found)
        ]
        for name, found in whole["inboxes"].items()
    }
    pending = [each for each in whole["searches"]["needs:ack"] if each != 1]
    return whole | {
        "deliveries": deliveries,
        "inboxes": inboxes,
        "debts": [each for each in whole["debts"] if (each[0], each[1][0]) != (_ANN, 1)],
        "searches": whole["searches"] | {"needs:ack": pending},
    }


def keep() -> None:
    """Write the store of the latest format down, unless it is there."""
    target = STORES / f"v{len(migrations())}.sql"
    if target.exists():
        sys.exit(f"{target} is there. A format that was released never changes.")
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mail.sqlite3")
        with SqliteMailbox.create(path, clock=clock) as mailbox:
            fill(mailbox, clock)
            reading = reading_of(mailbox)
        target.write_text(dumped(path), "utf-8")
    text = json.dumps(reading, indent=1, ensure_ascii=True)
    target.with_suffix(".json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    keep()
