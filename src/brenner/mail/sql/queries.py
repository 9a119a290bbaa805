"""Inboxes, threads and debts, each read in order from one index."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.mail.model import (
    Agent,
    Delivery,
    InboxFilter,
    InboxPage,
    PendingAck,
    Received,
    Record,
    Restored,
    SearchPage,
    StoredMessage,
    ThreadPage,
    ThreadSummary,
    type_of,
)
from brenner.mail.rules import (
    Landing,
    grouped_debts,
    linked_ids,
    next_time,
    order,
    strangers,
    true_links,
)
from brenner.mail.search import Query, items_of
from brenner.mail.sql.rows import (
    ALL,
    COLUMN_COUNT,
    COLUMNS,
    SELECT,
    Database,
    Look,
    Moment,
    Numbers,
    Statements,
    Value,
    bounded,
    hash_of,
    joined,
    message_row,
    microseconds,
    most,
    names,
    number_of_agent,
    number_of_thread,
    stored_of,
    thread_row,
    time_of,
    whole,
)
from brenner.protocol.body import OpenDebt, named_messages, settled_by
from brenner.protocol.message_types import TYPES, wants_ack
from brenner.protocol.messages import Message, content_hash


def thread_page(
    database: Statements, thread_id: str, limit: int | None, before: int | None, after: int | None
) -> ThreadPage:
    """Part of a thread, in its order."""
    row = thread_row(database, thread_id)
    borders = [
        (sign, _border(database, thread_id, message_id))
        for sign, message_id in (("<", before), (">", after))
        if message_id is not None
    ]
    if row is None:
        return ThreadPage((), 0)
    thread, position = row
    direction = "ASC" if after is not None else "DESC"
    inside = "".join(f" AND (m.at, m.id) {sign} (?, ?)" for sign, _ in borders)
    places = [part for _, place in borders for part in place]
    rows = database.execute(
        f"{SELECT} WHERE m.thread = ?{inside} ORDER BY m.at {direction}, m.id {direction} LIMIT ?",
        (thread, *places, most(limit)),
    )
    messages = sorted(map(stored_of, rows), key=order)
    if not messages:
        return ThreadPage((), position, after is not None, before is not None)
    return ThreadPage(
        tuple(messages),
        position,
        has_earlier=_has(database, thread, "<", _place(messages[0])),
        has_later=_has(database, thread, ">", _place(messages[-1])),
    )


def _border(database: Statements, thread_id: str, message_id: int) -> tuple[int, int]:
    """The place in its order of a message that must be in the thread."""
    stored = message_row(database, message_id)
    if stored.message.thread_id != thread_id:
        raise RequestError(codes.NOT_IN_THREAD.at(id=message_id, thread=thread_id))
    return _place(stored)


def _place(stored: StoredMessage) -> tuple[int, int]:
    return microseconds(stored.at), stored.id


def _has(database: Statements, thread: int, sign: str, place: tuple[int, int]) -> bool:
    """Whether the thread has a message on that side of a place."""
    return bool(
        database.execute(
            f"SELECT 1 FROM messages WHERE thread = ? AND (at, id) {sign} (?, ?) LIMIT 1",
            (thread, *place),
        ).fetchall()
    )


def thread_position(database: Statements, thread_id: str) -> int:
    """How many messages a thread has."""
    row = thread_row(database, thread_id)
    return row[1] if row else 0


def thread_summaries(database: Statements, limit: int | None) -> tuple[ThreadSummary, ...]:
    """All threads, the one with the newest message first."""
    rows = database.execute(
        "SELECT name, position, first_at, last_at FROM threads"
        " ORDER BY last_at DESC, last_id DESC LIMIT ?",
        (most(limit),),
    )
    return tuple(
        ThreadSummary(str(name), whole(position), time_of(first), time_of(last))
        for name, position, first, last in rows
    )


def inbox_page(
    database: Database, name: str, wanted: InboxFilter, limit: int | None, before: int | None
) -> InboxPage:
    """Part of an inbox, newest first. Several types are read one by one, each from its index."""
    recipient = number_of_agent(database, name)
    thread = None if wanted.thread_id is None else number_of_thread(database, wanted.thread_id)
    place = _place(message_row(database, before)) if before is not None else None
    asked = most(None if limit is None else limit + 1)
    found: list[Received] = []
    for each in _types(wanted):
        conditions, values = _inbox_conditions(wanted, each, thread, place)
        found += _received(database, conditions, (recipient, *values, asked))
    found.sort(key=lambda received: order(received.stored), reverse=True)
    return InboxPage(tuple(found[:limit]), limit is not None and len(found) > limit)


def _types(wanted: InboxFilter) -> list[str] | list[None]:
    """The types asked for, each once; a single None where any will do."""
    return [name for name in TYPES if name in wanted.types] if wanted.types else [None]


def _inbox_conditions(
    wanted: InboxFilter, type_name: str | None, thread: int | None, place: tuple[int, int] | None
) -> tuple[str, list[Value]]:
    conditions = "d.recipient = ?"
    values: list[Value] = []
    if type_name is not None:
        conditions += " AND d.type = ?"
        values.append(type_name)
    if thread is not None:
        conditions += " AND d.thread = ?"
        values.append(thread)
    if place is not None:
        conditions += " AND (d.at, d.message) < (?, ?)"
        values += place
    conditions += " AND d.read_at IS NULL" * wanted.unread
    conditions += " AND d.owes_ack" * wanted.owed
    return conditions, values


# The first that fits. SQLite has no statistics here, and would take the primary key.
_INDEXES = (
    ("d.owes_ack", "deliveries_owed"),
    ("d.thread = ?", "deliveries_by_thread"),
    ("d.read_at IS NULL", "deliveries_unread"),
    ("d.type = ?", "deliveries_by_type"),
)


def _indexed(database: Database, conditions: str) -> str:
    names = [name for condition, name in _INDEXES if condition in conditions]
    return database.indexed_by(names[0]) if names else ""


def _received(database: Database, conditions: str, values: tuple[Value, ...]) -> list[Received]:
    rows = database.execute(
        f"SELECT {COLUMNS}, d.read_at IS NOT NULL, d.owes_ack"
        f" FROM deliveries d {_indexed(database, conditions)} CROSS JOIN messages m"
        f" WHERE m.id = d.message AND {conditions} ORDER BY d.at DESC, d.message DESC LIMIT ?",
        values,
    )
    return [
        Received(
            stored_of(row[:COLUMN_COUNT]), bool(row[COLUMN_COUNT]), bool(row[COLUMN_COUNT + 1])
        )
        for row in rows
    ]


def unread(database: Database, name: str) -> int:
    """How many messages somebody has not read."""
    row = database.execute(
        f"SELECT count(*) FROM deliveries {database.indexed_by('deliveries_unread')}"
        " WHERE recipient = ? AND read_at IS NULL",
        (number_of_agent(database, name),),
    ).fetchall()[0]
    return whole(row[0])


def deliveries(database: Statements, stored: StoredMessage) -> tuple[Delivery, ...]:
    """What became of a message at each recipient, in the order in which they were named."""
    rows = database.execute(
        "SELECT a.name, d.read_at, d.owes_ack, d.acknowledged_by FROM deliveries d"
        " JOIN agents a ON a.number = d.recipient WHERE d.message = ?",
        (stored.id,),
    )
    found = [
        Delivery(
            str(name),
            None if read_at is None else time_of(read_at),
            bool(owes_ack),
            None if acknowledged_by is None else whole(acknowledged_by),
        )
        for name, read_at, owes_ack, acknowledged_by in rows
    ]
    return tuple(sorted(found, key=lambda each: stored.message.recipients.index(each.recipient)))


def debts(database: Database, debtor: str | None, thread_id: str | None) -> tuple[PendingAck, ...]:
    """Who owes an ACK for what, the oldest first."""
    conditions = "d.owes_ack"
    index = "deliveries_owed" if thread_id is None else "deliveries_owed_in_thread"
    values: list[Value] = []
    if debtor is not None:
        conditions += " AND d.recipient = ?"
        values.append(number_of_agent(database, debtor))
    if thread_id is not None:
        conditions += " AND d.thread = ?"
        values.append(number_of_thread(database, thread_id))
    rows = database.execute(
        f"SELECT {COLUMNS}, a.name FROM deliveries d {database.indexed_by(index)}"
        " CROSS JOIN messages m JOIN agents a ON a.number = d.recipient"
        f" WHERE m.id = d.message AND {conditions}",
        tuple(values),
    )
    return grouped_debts((str(row[COLUMN_COUNT]), stored_of(row[:COLUMN_COUNT])) for row in rows)


# The times of each thousand arrivals, so that a search for a time knows where not to look.


SPAN = 1_000  # arrivals
EVERYWHERE = (0, ALL)
NOWHERE = (0, -1)


def note_time(database: Statements, stored: StoredMessage) -> None:
    """Keep the span of times of the arrivals around this one."""
    at = microseconds(stored.at)
    database.execute(
        "INSERT INTO spans VALUES (?, ?, ?) ON CONFLICT (number) DO UPDATE SET"
        " first_at = CASE WHEN excluded.first_at < spans.first_at"
        " THEN excluded.first_at ELSE spans.first_at END,"
        " last_at = CASE WHEN excluded.last_at > spans.last_at"
        " THEN excluded.last_at ELSE spans.last_at END",
        (stored.arrival // SPAN, at, at),
    )


def arrivals_of(database: Statements, query: Query) -> tuple[int, int]:
    """Between which arrivals the messages of the times asked for are."""
    asked = [("last_at >= ?", query.after), ("first_at < ?", query.before)]
    conditions = [sql for sql, at in asked if at]
    if not conditions:
        return EVERYWHERE
    row = database.execute(
        f"SELECT min(number), max(number) FROM spans WHERE {' AND '.join(conditions)}",
        tuple(microseconds(at) for _, at in asked if at),
    ).fetchall()[0]
    if row[0] is None:
        return NOWHERE
    return whole(row[0]) * SPAN, whole(row[1]) * SPAN + SPAN - 1


# Storing a message with everything that is derived from it.


def next_id(database: Statements) -> int:
    """The id that the next message gets."""
    return whole(database.execute("SELECT max(id) FROM messages").fetchall()[0][0] or 0) + 1


def new_message(
    database: Statements, message: Message, now: datetime, reply_to: int | None, sender: int
) -> StoredMessage:
    """A message that is about to be stored, with the id and the time that the store gives it."""
    last_time, last_id, last_arrival = database.execute(
        "SELECT (SELECT last_time FROM store), (SELECT max(id) FROM messages),"
        " (SELECT max(arrival) FROM messages)"
    ).fetchall()[0]
    at = next_time(now, None if last_time is None else time_of(last_time))
    database.execute("UPDATE store SET last_time = ?", (microseconds(at),))
    new_id = whole(last_id or 0) + 1
    return StoredMessage(
        id=new_id,
        at=at,
        message=message,
        content_hash=content_hash(message),
        arrival=whole(last_arrival or 0) + 1,
        origin_id=new_id,
        reply_to=reply_to,
        acknowledges=_settled_by(database, message, reply_to, sender),
    )


def _settled_by(
    database: Statements, ack: Message, reply_to: int | None, sender: int
) -> tuple[int, ...]:
    """Which debts of its sender in its thread a message settles, if it is an ACK."""
    row = thread_row(database, ack.thread_id) if type_of(ack) == "ACK" else None
    if row is None:
        return ()
    thread = row[0]
    named = named_messages(ack.body, reply_to)
    contents = [
        hash_of(row[0])
        for message_id in named
        for row in database.execute(
            "SELECT hash FROM messages WHERE id = ? AND thread = ?", (bounded(message_id), thread)
        )
    ]
    owed = database.execute(
        "SELECT m.id, m.hash FROM deliveries d JOIN messages m ON m.id = d.message"
        " WHERE d.thread = ? AND d.recipient = ? AND d.owes_ack ORDER BY m.at, m.id",
        (thread, sender),
    )
    debts = [OpenDebt(whole(row[0]), hash_of(row[1])) for row in owed]
    return settled_by(named, contents, debts)


def add(database: Database, stored: StoredMessage, numbers: dict[str, int]) -> None:
    """Store a message. `numbers` are those of the agents, by name."""
    message, at = stored.message, microseconds(stored.at)
    thread = _thread_with(database, stored, at)
    sender = numbers[message.sender]
    database.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(stored.arrival, stored.id, at, thread, message.thread_id, message.sender),
            *(joined(message.recipients), message.subject, message.body, message.ack_required),
            *(bytes.fromhex(stored.content_hash), stored.origin_id, stored.reply_to),
            *(joined(stored.acknowledges), stored.is_local),
            *(stored.envelope.importance, joined(stored.envelope.cc), stored.envelope.trust),
            stored.decides,
        ),
    )
    name = type_of(message)
    wants = wants_ack(message)
    for recipient in message.recipients:
        owes = wants and recipient != message.sender
        database.execute(
            "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, NULL, ?, NULL, ?)",
            (numbers[recipient], at, stored.id, thread, name, owes, stored.arrival),
        )
    for target in stored.acknowledges:
        database.execute(
            "UPDATE deliveries SET owes_ack = FALSE,"
            " acknowledged_by = coalesce(acknowledged_by, ?) WHERE message = ? AND recipient = ?",
            (stored.id, target, sender),
        )
    database.index.add(stored, thread, sender)
    note_time(database, stored)


def _thread_with(database: Statements, stored: StoredMessage, at: int) -> int:
    """The thread's number, with this message counted in."""
    row = thread_row(database, stored.message.thread_id)
    if row is None:
        made = database.execute(
            "INSERT INTO threads (name, position, first_at, last_at, last_id)"
            " VALUES (?, 1, ?, ?, ?) RETURNING number",
            (stored.message.thread_id, at, at, stored.id),
        )
        return whole(made.fetchall()[0][0])
    database.execute(
        "UPDATE threads SET position = position + 1,"
        " first_at = CASE WHEN first_at < ? THEN first_at ELSE ? END,"
        " last_id = CASE WHEN (last_at, last_id) < (?, ?) THEN ? ELSE last_id END,"
        " last_at = CASE WHEN last_at < ? THEN ? ELSE last_at END WHERE number = ?",
        (at, at, at, stored.id, stored.id, at, at, row[0]),
    )
    return row[0]


# Reading everything out, and taking in what another store gave out.


_PAGE = 20  # messages; some are megabytes


def arrivals(database: Statements, after: int, limit: int | None) -> tuple[StoredMessage, ...]:
    """Messages in the order in which they came."""
    sql = f"{SELECT} WHERE m.arrival > ? ORDER BY m.arrival LIMIT ?"
    return tuple(map(stored_of, database.execute(sql, (bounded(after), most(limit)))))


def thread_arrivals(database: Database, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
    """The messages of one thread in the order in which they came."""
    row = thread_row(database, thread_id)
    if row is None:
        return ()
    sql = (
        f"{SELECT} {database.indexed_by('messages_arrived')}"
        " WHERE m.thread = ? AND m.arrival > ? ORDER BY m.arrival"
    )
    return tuple(map(stored_of, database.execute(sql, (row[0], bounded(after)))))


def records(moment: Moment) -> Iterator[Record]:
    """Every message with its marks, as the moment sees them."""
    try:
        with moment.translated():
            for page in _pages(moment):
                marks = _read_at(moment, page)
                for stored in page:
                    yield Record(stored, tuple(marks.get(stored.id, ())))
    finally:
        moment.close()


def _pages(database: Statements) -> Iterator[tuple[StoredMessage, ...]]:
    """All messages, a few at a time."""
    page = arrivals(database, 0, _PAGE)
    while page:
        yield page
        page = arrivals(database, page[-1].arrival, _PAGE)


def _read_at(
    database: Statements, page: tuple[StoredMessage, ...]
) -> dict[int, list[tuple[str, datetime]]]:
    """Who has read what and when, by message."""
    rows = database.execute(
        "SELECT d.message, a.name, d.read_at FROM messages m CROSS JOIN deliveries d"
        " JOIN agents a ON a.number = d.recipient WHERE m.arrival BETWEEN ? AND ?"
        " AND d.message = m.id AND d.read_at IS NOT NULL ORDER BY a.name",
        (page[0].arrival, page[-1].arrival),
    )
    marks: dict[int, list[tuple[str, datetime]]] = {}
    for message, name, at in rows:
        marks.setdefault(whole(message), []).append((str(name), time_of(at)))
    return marks


def changed(database: Statements) -> Iterator[str]:
    """Messages that are not as they were stored: their content has another hash."""
    for page in _pages(database):
        for stored in page:
            if content_hash(stored.message) != stored.content_hash:
                yield f"message {stored.id} is not as it was stored"


def restore(database: Database, agents: Iterable[Agent], found: Iterable[Record]) -> Restored:
    """Take records in; the caller's transaction makes it all or nothing."""
    known = names(database)
    highest, position = (
        whole(value or 0)
        for value in database.execute("SELECT max(id), max(arrival) FROM messages").fetchall()[0]
    )
    landing = Landing(highest)
    new_agents = welcome(database, agents, known)
    for record in found:
        stored = record.stored
        new_agents += welcome(database, strangers(stored, known), known)
        same, is_taken = _known(database, stored)
        if same is not None:
            landing.skip(stored, same)
            continue
        position += 1
        landed = _with_true_links(database, landing.land(stored, position, is_taken))
        add(database, landed, known)
        _mark(database, landed, record, known)
    return landing.restored(new_agents)


def _known(database: Statements, stored: StoredMessage) -> tuple[int | None, bool]:
    """The id under which a message is here already; whether another has the id it comes with."""
    same, is_taken = database.execute(
        "SELECT (SELECT id FROM messages WHERE origin_id = ? AND hash = ?"
        " ORDER BY arrival LIMIT 1), EXISTS (SELECT 1 FROM messages WHERE id = ?)",
        (stored.origin_id, bytes.fromhex(stored.content_hash), stored.id),
    ).fetchall()[0]
    return None if same is None else whole(same), bool(is_taken)


def _with_true_links(database: Statements, landed: StoredMessage) -> StoredMessage:
    """The message with those of its links that it could have by itself."""
    linked = {target: message_row(database, target) for target in linked_ids(landed)}
    return true_links(landed, linked)


def _mark(
    database: Statements, landed: StoredMessage, record: Record, known: dict[str, int]
) -> None:
    for name, at in record.read_at:
        if name in landed.message.recipients:
            database.execute(
                "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?",
                (microseconds(at), landed.id, known[name]),
            )


def welcome(database: Statements, agents: Iterable[Agent], known: dict[str, int]) -> list[str]:
    """Make those known who are not; their names. `known` grows with them.

    One that looks like another is kept: mail that is stored cannot get another name.
    """
    new = []
    for agent in agents:
        if agent.name in known:
            continue
        known[agent.name] = insert_agent(database, agent)
        new.append(agent.name)
    return new


def insert_agent(database: Statements, agent: Agent) -> int:
    """A new agent's number."""
    row = database.execute(
        "INSERT INTO agents (name, program, model, task, registered_at) VALUES (?, ?, ?, ?, ?)"
        " RETURNING number",
        (*agent[:4], microseconds(agent.registered_at)),
    ).fetchall()[0]
    return whole(row[0])


# Full-text search: hits of the index, narrowed by times and by how they stand with a reader.


_EVERYWHERE = Look("messages m", "m.arrival")


def search(
    database: Database, query: Query, reader: int | None, limit: int, before: int
) -> SearchPage:
    """The hits that arrived before so many, the latest first."""
    look = database.index.look(query, _numbers(database, query))
    own = next((own for own in _OWN if getattr(query, own.asked)), None)
    first, last = _bounds(database, query, own, reader)
    if look is None:
        look = _inbox(database, own, reader) if own else _EVERYWHERE
    conditions, values = _conditions(database, query, reader)
    inside = " AND ".join([*look.conditions, *conditions, f"{look.place} BETWEEN ? AND ?"])
    rows = database.execute(
        f"SELECT {COLUMNS} FROM {look.source} WHERE {inside} ORDER BY {look.place} DESC LIMIT ?",
        (*look.values, *values, first, min(last, before - 1), most(limit + 1)),
    )
    hits = [stored_of(row) for row in rows]
    return SearchPage(tuple(hits[:limit]), len(hits) > limit)


class _Own(NamedTuple):
    """A filter about the reader's own inbox: its name, and where to look."""

    asked: str
    state: str
    where: str


_OWN = (
    _Own("needs_ack", "owes_ack", "deliveries_owed_arrived"),
    _Own("is_unread", "read_at IS NULL", "deliveries_unread_arrived"),
)


def _inbox(database: Database, own: _Own, reader: int | None) -> Look:
    """What is hers, read in order from its index."""
    return Look(
        f"deliveries o {database.indexed_by(own.where)} CROSS JOIN messages m",
        "o.arrival",
        ("o.recipient = ?", f"o.{own.state}", "m.arrival = o.arrival"),
        (reader,),
    )


def _bounds(
    database: Database, query: Query, own: _Own | None, reader: int | None
) -> tuple[int, int]:
    """Between which arrivals all hits are, so that nothing else is looked at."""
    first, last = arrivals_of(database, query)
    if own:
        hint = database.indexed_by(own.where)
        state = f"FROM deliveries {hint} WHERE recipient = ? AND {own.state}"
        row = database.execute(
            f"SELECT (SELECT min(arrival) {state}), (SELECT max(arrival) {state})",
            (reader, reader),
        ).fetchall()[0]
        if row[0] is None:
            return NOWHERE
        first, last = max(first, whole(row[0])), min(last, whole(row[1]))
    return first, last


def _numbers(database: Statements, query: Query) -> Numbers:
    """Senders and threads that must be known."""
    return Numbers(
        tuple(number_of_agent(database, name) for name in query.senders),
        tuple(number_of_thread(database, name) for name in query.threads),
    )


def _conditions(
    database: Database, query: Query, reader: int | None
) -> tuple[list[str], list[Value]]:
    """What no index of words knows: times, and how a message stands with its reader."""
    conditions: list[str] = []
    values: list[Value] = []
    if query.after is not None:
        conditions.append("m.at >= ?")
        values.append(microseconds(query.after))
    if query.before is not None:
        conditions.append("m.at < ?")
        values.append(microseconds(query.before))
    for own in _OWN:
        if getattr(query, own.asked):
            conditions.append(
                f"EXISTS (SELECT 1 FROM deliveries d {database.indexed_by(own.where)}"
                f" WHERE d.recipient = ? AND d.arrival = m.arrival AND d.{own.state})"
            )
            values.append(reader)
    return conditions, values


def border(database: Statements, before: int | None) -> int:
    """The arrival of the message from before which on to search; beyond all where there is none."""
    return ALL if before is None else message_row(database, before).arrival


# What an index of words keeps of a message: its words, and tags for what filters ask.


def tag(kind: str, value: str | int) -> str:
    """What a filter asks for, in one word."""
    return f"{kind}{value}".lower()


def tags_of(stored: StoredMessage, thread: int, sender: int) -> list[str]:
    """The tags of a message."""
    message = stored.message
    items = items_of(f"{message.subject}\n{message.body}")
    tags = [tag("thread", thread), tag("sender", sender)]
    tags += [tag("item", item) for item in items]
    return tags + [tag("type", name) for name in [type_of(message)] if name]


def asked_tags(query: Query, numbers: Numbers) -> list[list[str]]:
    """The tags that a query asks for: one of each group."""
    alternatives = (
        [tag("type", name) for name in query.types],
        [tag("sender", number) for number in numbers.senders],
        [tag("thread", number) for number in numbers.threads],
        [tag("item", item) for item in query.items],
    )
    return [tags for tags in alternatives if tags]
