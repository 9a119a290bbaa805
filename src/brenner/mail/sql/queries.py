"""SQL statements for threads, inboxes, pending acknowledgements, storing, import and search.

Each list is read in order from one index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.mail.model import (
    Agent,
    Delivery,
    InboxFilter,
    InboxMessage,
    InboxPage,
    MessageRecord,
    PendingAck,
    RestoreResult,
    SearchPage,
    ThreadPage,
    ThreadSummary,
)
from brenner.mail.rules import (
    ImportIdMap,
    debts_settled_on_arrival,
    drop_invalid_links,
    group_pending_acks,
    linked_ids,
    message_order,
    next_time,
    unregistered_agents,
)
from brenner.mail.search import Query, find_item_ids
from brenner.mail.sql.rows import (
    COLUMN_COUNT,
    COLUMNS,
    NO_LIMIT,
    SELECT,
    Database,
    Row,
    SearchSource,
    Value,
    agent_number,
    agent_numbers,
    as_hash,
    as_int,
    as_time,
    clamp,
    find_thread,
    join_column,
    message_from_row,
    microseconds,
    select_message,
    sql_limit,
    thread_number,
)
from brenner.protocol.acknowledgements import (
    SettledDebts,
    acknowledged_ids,
    debtors,
    settled_message_ids,
)
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import Message, StoredMessage, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime


def thread_page(
    database: Database, thread_id: str, limit: int | None, before: int | None, after: int | None
) -> ThreadPage:
    row = find_thread(database, thread_id)
    borders = [
        (sign, _order_key_in_thread(database, thread_id, message_id))
        for sign, message_id in (("<", before), (">", after))
        if message_id is not None
    ]
    if row is None:
        return ThreadPage((), 0)
    thread, position = row
    direction = "ASC" if after is not None else "DESC"
    inside = "".join(f" AND (m.at, m.id) {sign} (?, ?)" for sign, _ in borders)
    key_values = [part for _, key in borders for part in key]
    rows = database.query(
        f"{SELECT} WHERE m.thread = ?{inside} ORDER BY m.at {direction}, m.id {direction} LIMIT ?",
        (thread, *key_values, sql_limit(limit)),
    )
    messages = sorted(map(message_from_row, rows), key=message_order)
    if not messages:
        return ThreadPage((), position, after is not None, before is not None)
    return ThreadPage(
        tuple(messages),
        position,
        has_earlier=_has_message(database, thread, "<", _order_key(messages[0])),
        has_later=_has_message(database, thread, ">", _order_key(messages[-1])),
    )


def _order_key_in_thread(database: Database, thread_id: str, message_id: int) -> tuple[int, int]:
    """Return the order key of a message; raise RequestError if it is not in the thread."""
    stored = select_message(database, message_id)
    if stored.message.thread_id != thread_id:
        raise RequestError(codes.NOT_IN_THREAD.at(id=message_id, thread=thread_id))
    return _order_key(stored)


def _order_key(stored: StoredMessage) -> tuple[int, int]:
    return microseconds(stored.at), stored.id


def _has_message(database: Database, thread: int, sign: str, key: tuple[int, int]) -> bool:
    """Return whether the thread has a message before (`<`) or after (`>`) the order key."""
    sql = f"SELECT 1 FROM messages WHERE thread = ? AND (at, id) {sign} (?, ?) LIMIT 1"
    return bool(database.query(sql, (thread, *key)))


def thread_summaries(database: Database, limit: int | None) -> tuple[ThreadSummary, ...]:
    rows = database.query(
        "SELECT name, position, first_at, last_at FROM threads"
        " ORDER BY last_at DESC, last_id DESC LIMIT ?",
        (sql_limit(limit),),
    )
    return tuple(
        ThreadSummary(str(name), as_int(position), as_time(first), as_time(last))
        for name, position, first, last in rows
    )


def inbox_page(
    database: Database, name: str, wanted: InboxFilter, limit: int | None, before: int | None
) -> InboxPage:
    """Return part of an inbox, newest first. Each wanted type is read from its own index."""
    recipient = agent_number(database, name)
    thread = None if wanted.thread_id is None else thread_number(database, wanted.thread_id)
    before_key = _order_key(select_message(database, before)) if before is not None else None
    row_limit = sql_limit(None if limit is None else limit + 1)
    found: list[InboxMessage] = []
    for each in _wanted_types(wanted):
        conditions, values = _inbox_conditions(wanted, each, thread, before_key)
        found += _select_inbox(database, conditions, (recipient, *values, row_limit))
    found.sort(key=lambda received: message_order(received.stored), reverse=True)
    return InboxPage(tuple(found[:limit]), limit is not None and len(found) > limit)


def _wanted_types(wanted: InboxFilter) -> list[str] | list[None]:
    """Return the wanted types, each once, or a single None for any type."""
    return [name for name in TYPES if name in wanted.types] if wanted.types else [None]


def _inbox_conditions(
    wanted: InboxFilter,
    type_name: str | None,
    thread: int | None,
    before_key: tuple[int, int] | None,
) -> tuple[str, list[Value]]:
    conditions = "d.recipient = ?"
    values: list[Value] = []
    if type_name is not None:
        conditions += " AND d.type = ?"
        values.append(type_name)
    if thread is not None:
        conditions += " AND d.thread = ?"
        values.append(thread)
    if before_key is not None:
        conditions += " AND (d.at, d.message) < (?, ?)"
        values += before_key
    conditions += " AND d.read_at IS NULL" * wanted.unread
    conditions += " AND d.owes_ack" * wanted.owed
    return conditions, values


# The first match is used. SQLite has no statistics here, and would use the primary key.
_INDEXES = (
    ("d.owes_ack", "deliveries_owed"),
    ("d.thread = ?", "deliveries_by_thread"),
    ("d.read_at IS NULL", "deliveries_unread"),
    ("d.type = ?", "deliveries_by_type"),
)


def _index_hint(database: Database, conditions: str) -> str:
    names = [name for condition, name in _INDEXES if condition in conditions]
    return database.index_hint(names[0]) if names else ""


def _select_inbox(
    database: Database, conditions: str, values: tuple[Value, ...]
) -> list[InboxMessage]:
    rows = database.query(
        f"SELECT {COLUMNS}, d.read_at IS NOT NULL, d.owes_ack"
        f" FROM deliveries d {_index_hint(database, conditions)} CROSS JOIN messages m"
        f" WHERE m.id = d.message AND {conditions} ORDER BY d.at DESC, d.message DESC LIMIT ?",
        values,
    )
    return [
        InboxMessage(
            message_from_row(row[:COLUMN_COUNT]),
            bool(row[COLUMN_COUNT]),
            bool(row[COLUMN_COUNT + 1]),
        )
        for row in rows
    ]


def count_unread(database: Database, name: str) -> int:
    rows = database.query(
        f"SELECT count(*) FROM deliveries {database.index_hint('deliveries_unread')}"
        " WHERE recipient = ? AND read_at IS NULL",
        (agent_number(database, name),),
    )
    return as_int(rows[0][0])


def deliveries(database: Database, stored: StoredMessage) -> tuple[Delivery, ...]:
    """Return the delivery state for each recipient, in the order of the recipients."""
    rows = database.query(
        "SELECT a.name, d.read_at, d.owes_ack, d.acknowledged_by FROM deliveries d"
        " JOIN agents a ON a.number = d.recipient WHERE d.message = ?",
        (stored.id,),
    )
    found = [
        Delivery(
            str(name),
            None if read_at is None else as_time(read_at),
            bool(owes_ack),
            None if acknowledged_by is None else as_int(acknowledged_by),
        )
        for name, read_at, owes_ack, acknowledged_by in rows
    ]
    return tuple(sorted(found, key=lambda each: stored.message.recipients.index(each.recipient)))


def pending_acks(
    database: Database, debtor: str | None, thread_id: str | None
) -> tuple[PendingAck, ...]:
    conditions = "d.owes_ack"
    index = "deliveries_owed" if thread_id is None else "deliveries_owed_in_thread"
    values: list[Value] = []
    if debtor is not None:
        conditions += " AND d.recipient = ?"
        values.append(agent_number(database, debtor))
    if thread_id is not None:
        conditions += " AND d.thread = ?"
        values.append(thread_number(database, thread_id))
    rows = database.query(
        f"SELECT {COLUMNS}, a.name FROM deliveries d {database.index_hint(index)}"
        " CROSS JOIN messages m JOIN agents a ON a.number = d.recipient"
        f" WHERE m.id = d.message AND {conditions}",
        tuple(values),
    )
    return group_pending_acks(
        (str(row[COLUMN_COUNT]), message_from_row(row[:COLUMN_COUNT])) for row in rows
    )


# The table `spans`: the range of times of each thousand arrivals, to bound a search by time


ARRIVALS_PER_TIME_RANGE = 1_000
ALL_ARRIVALS = (0, NO_LIMIT)
NO_ARRIVALS = (0, -1)


def update_time_range(database: Database, stored: StoredMessage) -> None:
    """Extend the time range of the block of arrivals that contains this message."""
    at = microseconds(stored.at)
    database.execute(
        "INSERT INTO spans VALUES (?, ?, ?) ON CONFLICT (number) DO UPDATE SET"
        " first_at = CASE WHEN excluded.first_at < spans.first_at"
        " THEN excluded.first_at ELSE spans.first_at END,"
        " last_at = CASE WHEN excluded.last_at > spans.last_at"
        " THEN excluded.last_at ELSE spans.last_at END",
        (stored.arrival // ARRIVALS_PER_TIME_RANGE, at, at),
    )


def arrival_bounds(database: Database, query: Query) -> tuple[int, int]:
    """Return the lowest and highest arrival that can have the times of a query."""
    time_conditions = [("last_at >= ?", query.after), ("first_at < ?", query.before)]
    conditions = [sql for sql, at in time_conditions if at]
    if not conditions:
        return ALL_ARRIVALS
    first, last = database.query(
        f"SELECT min(number), max(number) FROM spans WHERE {' AND '.join(conditions)}",
        tuple(microseconds(at) for _, at in time_conditions if at),
    )[0]
    if first is None:
        return NO_ARRIVALS
    size = ARRIVALS_PER_TIME_RANGE
    return as_int(first) * size, (as_int(last) + 1) * size - 1


# Storing a message with all derived rows


LAST_MESSAGE = (
    "SELECT (SELECT last_time FROM store), (SELECT max(id) FROM messages),"
    " (SELECT max(arrival) FROM messages)"
)


def new_message(
    message: Message, now: datetime, reply_to: int | None, last: Row, settled: tuple[int, ...]
) -> StoredMessage:
    """Return a message to be stored, with its id, arrival and time, after the `LAST_MESSAGE`."""
    last_time, last_id, last_arrival = last[:3]
    new_id = as_int(last_id or 0) + 1
    return StoredMessage(
        id=new_id,
        at=next_time(now, None if last_time is None else as_time(last_time)),
        message=message,
        content_hash=content_hash(message),
        arrival=as_int(last_arrival or 0) + 1,
        origin_id=new_id,
        reply_to=reply_to,
        acknowledges=settled,
    )


def settled_ids(
    database: Database, ack: Message, reply_to: int | None, thread: int | None, sender: int
) -> tuple[int, ...]:
    """Return the pending messages of its sender that an ACK settles in its thread."""
    if thread is None or ack.type != "ACK":
        return ()
    named = acknowledged_ids(ack.body, reply_to)
    by_id = "SELECT hash FROM messages WHERE id = ? AND thread = ?"
    owed, *found = database.query_all(
        [
            (
                (
                    "SELECT m.id, m.hash FROM deliveries d JOIN messages m ON m.id = d.message"
                    " WHERE d.thread = ? AND d.recipient = ? AND d.owes_ack ORDER BY m.at, m.id"
                ),
                (thread, sender),
            ),
            *((by_id, (clamp(message_id), thread)) for message_id in named),
        ]
    )
    contents = [as_hash(row[0]) for rows in found for row in rows]
    debts = [(as_int(row[0]), as_hash(row[1])) for row in owed]
    return settled_message_ids(named, contents, debts)


def insert_message(
    database: Database,
    stored: StoredMessage,
    numbers: dict[str, int],
    thread: int | None,
    settled: SettledDebts | None,
) -> None:
    """Store a message with all derived rows.

    `numbers` are those of the agents, by name; `thread` is that of the thread, None for a new one.
    `settled` are the debts of the thread that it settles, although it is no ACK.
    """
    message, at = stored.message, microseconds(stored.at)
    is_new_thread = thread is None
    thread = _count_in_thread(database, stored, at, thread)
    sender = numbers[message.sender]
    database.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(stored.arrival, stored.id, at, thread, message.thread_id, message.sender),
            *(join_column(message.recipients), message.subject, message.body, message.ack_required),
            *(bytes.fromhex(stored.content_hash), stored.origin_id, stored.reply_to),
            *(join_column(stored.acknowledges), stored.is_local),
            *(stored.envelope.importance, join_column(stored.envelope.cc), stored.envelope.trust),
            stored.decides,
        ),
    )
    if settled and not is_new_thread:
        _settle_debts(database, stored.id, thread, settled)
    name, owing = message.type, debtors(message)
    for recipient in message.recipients:
        owes = recipient in owing
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
    database.index_message(stored, thread, sender)
    update_time_range(database, stored)


def _settle_debts(database: Database, message_id: int, thread: int, settled: SettledDebts) -> None:
    """Settle the debts of a thread, by a message that is not stored with its deliveries yet."""
    conditions = "thread = ? AND owes_ack"
    values: list[Value] = [message_id, thread]
    if settled.debtor is not None:
        conditions += " AND recipient = (SELECT number FROM agents WHERE name = ?)"
        values.append(settled.debtor)
    if settled.type is not None:
        conditions += " AND type = ?"
        values.append(settled.type)
    database.execute(
        "UPDATE deliveries SET owes_ack = FALSE,"
        f" acknowledged_by = coalesce(acknowledged_by, ?) WHERE {conditions}",
        tuple(values),
    )


def _count_in_thread(database: Database, stored: StoredMessage, at: int, thread: int | None) -> int:
    """Count the message in its thread, and return the thread's number."""
    if thread is None:
        made = database.query(
            "INSERT INTO threads (name, position, first_at, last_at, last_id)"
            " VALUES (?, 1, ?, ?, ?) RETURNING number",
            (stored.message.thread_id, at, at, stored.id),
        )
        return as_int(made[0][0])
    database.execute(
        "UPDATE threads SET position = position + 1,"
        " first_at = CASE WHEN first_at < ? THEN first_at ELSE ? END,"
        " last_id = CASE WHEN (last_at, last_id) < (?, ?) THEN ? ELSE last_id END,"
        " last_at = CASE WHEN last_at < ? THEN ? ELSE last_at END WHERE number = ?",
        (at, at, at, stored.id, stored.id, at, at, thread),
    )
    return thread


# Export and import of records


_PAGE_MESSAGES = 20  # a message may have megabytes


def arrivals(database: Database, after: int, limit: int | None) -> tuple[StoredMessage, ...]:
    sql = f"{SELECT} WHERE m.arrival > ? ORDER BY m.arrival LIMIT ?"
    return tuple(map(message_from_row, database.query(sql, (clamp(after), sql_limit(limit)))))


def thread_arrivals(database: Database, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
    row = find_thread(database, thread_id)
    if row is None:
        return ()
    sql = (
        f"{SELECT} {database.index_hint('messages_arrived')}"
        " WHERE m.thread = ? AND m.arrival > ? ORDER BY m.arrival"
    )
    return tuple(map(message_from_row, database.query(sql, (row[0], clamp(after)))))


def export_records(snapshot: Database) -> Iterator[MessageRecord]:
    """Yield every message with its read marks, then close the snapshot."""
    try:
        with snapshot.translate_errors():
            for page in _pages(snapshot):
                marks = _select_read_marks(snapshot, page)
                for stored in page:
                    yield MessageRecord(stored, tuple(marks.get(stored.id, ())))
    finally:
        snapshot.close()


def _pages(database: Database) -> Iterator[tuple[StoredMessage, ...]]:
    page = arrivals(database, 0, _PAGE_MESSAGES)
    while page:
        yield page
        page = arrivals(database, page[-1].arrival, _PAGE_MESSAGES)


def _select_read_marks(
    database: Database, page: tuple[StoredMessage, ...]
) -> dict[int, list[tuple[str, datetime]]]:
    """Return which agent read each message of a page, and when."""
    rows = database.query(
        "SELECT d.message, a.name, d.read_at FROM messages m CROSS JOIN deliveries d"
        " JOIN agents a ON a.number = d.recipient WHERE m.arrival BETWEEN ? AND ?"
        " AND d.message = m.id AND d.read_at IS NOT NULL ORDER BY a.name",
        (page[0].arrival, page[-1].arrival),
    )
    marks: dict[int, list[tuple[str, datetime]]] = {}
    for message, name, at in rows:
        marks.setdefault(as_int(message), []).append((str(name), as_time(at)))
    return marks


def altered_messages(database: Database) -> Iterator[str]:
    """Yield a sentence for each message whose content does not match its hash."""
    for page in _pages(database):
        for stored in page:
            if content_hash(stored.message) != stored.content_hash:
                yield f"message {stored.id} does not match its hash"


def import_records(
    database: Database,
    agents: Iterable[Agent],
    records: Iterable[MessageRecord],
    operator: str | None,
) -> RestoreResult:
    """Store records of another store, in the caller's transaction."""
    known = agent_numbers(database)
    highest, position = (
        as_int(value or 0)
        for value in database.query("SELECT max(id), max(arrival) FROM messages")[0]
    )
    ids = ImportIdMap(highest)
    new_agents = add_agents(database, agents, known)
    for record in records:
        stored = record.stored
        new_agents += add_agents(database, unregistered_agents(stored, known), known)
        same, is_taken = _find_existing(database, stored)
        if same is not None:
            ids.skip(stored, same)
            continue
        position += 1
        imported = _without_invalid_links(database, ids.assign(stored, position, is_taken))
        thread = find_thread(database, stored.message.thread_id)
        settled = debts_settled_on_arrival(imported, operator)
        insert_message(database, imported, known, thread[0] if thread else None, settled)
        _restore_read_marks(database, imported, record, known)
    return ids.result(new_agents)


def _find_existing(database: Database, stored: StoredMessage) -> tuple[int | None, bool]:
    """Return the id of the same message here, if any, and whether its id is taken."""
    same, is_taken = database.query(
        "SELECT (SELECT id FROM messages WHERE origin_id = ? AND hash = ?"
        " ORDER BY arrival LIMIT 1), EXISTS (SELECT 1 FROM messages WHERE id = ?)",
        (stored.origin_id, bytes.fromhex(stored.content_hash), stored.id),
    )[0]
    return None if same is None else as_int(same), bool(is_taken)


def _without_invalid_links(database: Database, imported: StoredMessage) -> StoredMessage:
    """Return the message without links that no store would have set."""
    linked = {target: select_message(database, target) for target in linked_ids(imported)}
    return drop_invalid_links(imported, linked)


def _restore_read_marks(
    database: Database, imported: StoredMessage, record: MessageRecord, known: dict[str, int]
) -> None:
    for name, at in record.read_at:
        if name in imported.message.recipients:
            database.execute(
                "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?",
                (microseconds(at), imported.id, known[name]),
            )


def add_agents(database: Database, agents: Iterable[Agent], known: dict[str, int]) -> list[str]:
    """Insert the agents that are not registered, add them to `known`, and return their names.

    Names that look alike are accepted: stored mail cannot change its names.
    """
    new = []
    for agent in agents:
        if agent.name in known:
            continue
        known[agent.name] = insert_agent(database, agent)
        new.append(agent.name)
    return new


def insert_agent(database: Database, agent: Agent) -> int:
    made = database.query(
        "INSERT INTO agents (name, program, model, task, registered_at) VALUES (?, ?, ?, ?, ?)"
        " RETURNING number",
        (*agent[:4], microseconds(agent.registered_at)),
    )
    return as_int(made[0][0])


# Full-text search: hits of the index, filtered by times and by the reader's inbox


def search(
    database: Database, query: Query, reader: int | None, limit: int, before: int
) -> SearchPage:
    """Return the hits with an arrival less than `before`, latest first."""
    senders = [agent_number(database, name) for name in query.senders]
    threads = [thread_number(database, name) for name in query.threads]
    source = database.search_source(query, senders, threads)
    asked = [each for each in _READER_FILTERS if getattr(query, each[0])][:1]
    first, last = arrival_bounds(database, query)
    for _, condition, index in asked:
        hint = database.index_hint(index)
        state = f"FROM deliveries {hint} WHERE recipient = ? AND {condition}"
        low, high = database.query(
            f"SELECT (SELECT min(arrival) {state}), (SELECT max(arrival) {state})",
            (reader, reader),
        )[0]
        if low is None:
            return SearchPage((), has_more=False)
        first, last = max(first, as_int(low)), min(last, as_int(high))
        source = source or SearchSource(
            f"deliveries o {hint} CROSS JOIN messages m",
            "o.arrival",
            ("o.recipient = ?", f"o.{condition}", "m.arrival = o.arrival"),
            (reader,),
        )
    source = source or SearchSource("messages m", "m.arrival")
    conditions, values = _search_conditions(database, query, reader)
    inside = " AND ".join(
        [*source.conditions, *conditions, f"{source.arrival_column} BETWEEN ? AND ?"]
    )
    rows = database.query(
        f"SELECT {COLUMNS} FROM {source.tables} WHERE {inside}"
        f" ORDER BY {source.arrival_column} DESC LIMIT ?",
        (*source.values, *values, first, min(last, before - 1), sql_limit(limit + 1)),
    )
    hits = [message_from_row(row) for row in rows]
    return SearchPage(tuple(hits[:limit]), len(hits) > limit)


# Filters about the reader's inbox: the field in the query, the SQL condition, the index
_READER_FILTERS = (
    ("needs_ack", "owes_ack", "deliveries_owed_arrived"),
    ("is_unread", "read_at IS NULL", "deliveries_unread_arrived"),
)


def _search_conditions(
    database: Database, query: Query, reader: int | None
) -> tuple[list[str], list[Value]]:
    """Return the conditions that the word index cannot check: times and the reader's inbox."""
    conditions: list[str] = []
    values: list[Value] = []
    if query.after is not None:
        conditions.append("m.at >= ?")
        values.append(microseconds(query.after))
    if query.before is not None:
        conditions.append("m.at < ?")
        values.append(microseconds(query.before))
    for field, condition, index in _READER_FILTERS:
        if getattr(query, field):
            conditions.append(
                f"EXISTS (SELECT 1 FROM deliveries d {database.index_hint(index)}"
                f" WHERE d.recipient = ? AND d.arrival = m.arrival AND d.{condition})"
            )
            values.append(reader)
    return conditions, values


def arrival_of(database: Database, before: int | None) -> int:
    """Return the arrival of the message that a search page starts before, or `NO_LIMIT`."""
    return NO_LIMIT if before is None else select_message(database, before).arrival


# Tags: what filters look up in the word index, beside the words of a message


def tag(kind: str, value: str | int) -> str:
    """Return a filter value as one word of the index."""
    return f"{kind}{value}".lower()


def message_tags(stored: StoredMessage, thread: int, sender: int) -> list[str]:
    message = stored.message
    items = find_item_ids(f"{message.subject}\n{message.body}")
    tags = [tag("thread", thread), tag("sender", sender)]
    tags += [tag("item", item) for item in items]
    return tags + [tag("type", name) for name in [message.type] if name]


def query_tags(query: Query, senders: Sequence[int], threads: Sequence[int]) -> list[list[str]]:
    """Return groups of tags; a hit has at least one tag of each group."""
    alternatives = (
        [tag("type", name) for name in query.types],
        [tag("sender", number) for number in senders],
        [tag("thread", number) for number in threads],
        [tag("item", item) for item in query.items],
    )
    return [tags for tags in alternatives if tags]
