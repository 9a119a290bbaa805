"""Checks of `brenner doctor` for the store (SQLite, PostgreSQL or Agent Mail) and its mail."""

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from shlex import quote
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from psycopg import sql

from brenner.config import OPERATOR, SETTINGS_FILE, Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import (
    NAME_ELSEWHERE,
    OPERATOR_NEEDS_NAME,
    SERVER_DENIED,
    SERVER_LACKS,
)
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.agent_mail.mirror import ensure_project, find_project
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.open import AgentMailStore, PostgresStore, store_option
from brenner.mail.postgres.connection import (
    PostgresConnection,
    Schema,
    SchemaState,
    Server,
    translate_errors,
)
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.rules import name_problem
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import iso
from brenner.services.acknowledge import pending_acks
from brenner.services.doctor.common import (
    OK,
    WARNING,
    Check,
    encryption_check,
    file_system_check,
    milliseconds,
    read_mounts,
    space_check,
)
from brenner.services.doctor.server import ServerAddress
from brenner.services.init_project import explain_operator_name
from brenner.services.workspace import (
    StoreProblem,
    create_problem,
    empty_file_problem,
    in_use_problem,
    nearest_existing,
    read_problem,
    why_not_a_folder,
    write_problem,
)
from brenner.text import grouped

CLOCKS_DIFFER = timedelta(minutes=1)
_MOST_PROBLEMS = 5
_OPERATOR_TASK = "operator"  # the task of an agent that a mailbox registered as operator
NOT_YET = "is not there yet; `brenner init` or the first message makes it"

RunCheck = Callable[[], Check]
ExplainError = Callable[[str, Diagnostic], Check]


class DoctorContext(NamedTuple):
    """The project to check, the acting name, the time, and the address of a server, if any."""

    project: Project
    actor: str | None
    now: datetime
    endpoint: ServerAddress | None = None


def run_each(checks: Mapping[str, RunCheck], explain: ExplainError = Check.of) -> Iterator[Check]:
    """Yield every check. A failed one does not stop the others; a fault is reported once."""
    reported: set[str] = set()
    for name, check in checks.items():
        try:
            yield check()
        except BrennerError as error:
            found = error.diagnostic
            yield _same_reason(name, found) if found.id in reported else explain(name, found)
            reported.add(found.id)


def _same_reason(name: str, found: Diagnostic) -> Check:
    return Check(name, WARNING, "It could not be looked at, for the same reason.", id=found.id)


def mail_checks(mailbox: Mailbox, context: DoctorContext, where: str) -> dict[str, RunCheck]:
    """Return the checks for every store; `where` is its name in messages."""
    return {
        "mail": lambda: _mail_check(mailbox),
        "operator": lambda: _operator_check(mailbox, context.project, where),
        "identity": lambda: identity_check(
            context, tuple(agent.name for agent in mailbox.agents())
        ),
        "clock": lambda: clock_check(mailbox, context.now),
        "acks": lambda: _acks_check(mailbox, context),
    }


def integrity_check(problems: tuple[str, ...], where: str, sound: str) -> Check:
    """Report faults in the mail itself."""
    if not problems:
        return Check("integrity", OK, sound)
    words = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    reason = f"{words}; and {more} more" if more > 0 else words
    found = codes.STORE_CORRUPT.at(path=where, reason=reason)
    return Check.of("integrity", found)._replace(is_content=True)


def _mail_check(mailbox: Mailbox) -> Check:
    messages, agents = mailbox.position(), len(mailbox.agents())
    return Check("mail", OK, f"{grouped(messages, 'message')}, {grouped(agents, 'agent')}")


def _operator_check(mailbox: Mailbox, project: Project, where: str) -> Check:
    """Check that the operator can be registered, and that there is only one."""
    name, agents = project.operator, mailbox.agents()
    known = {agent.name for agent in agents}
    if name not in known and Capability.PROJECT_NAMES in mailbox.lacks:
        taken = None if name == OPERATOR else _name_taken_check(mailbox, name)
        return taken or new_operator_check(project, where)
    found = None if name in known else name_problem(name, known)
    if found:
        return Check.of("operator", explain_operator_name(found))
    others = [agent.name for agent in agents if agent.task == _OPERATOR_TASK and agent.name != name]
    if others:
        return Check(
            "operator",
            WARNING,
            f"The operator of this folder is `{name}`; {_quoted(others)} "
            f"{'is' if len(others) == 1 else 'are'} known as operator here, too. Each folder that "
            "shares the mail may have an operator of its own; but mail to a name that nobody uses "
            "is read by nobody.",
            f"If somebody works under that name, nothing is wrong. If it is yours, write it into "
            f'`{SETTINGS_FILE}`: `operator = "{others[0]}"`. If it was yours, tell the agents that '
            f"it is `{name}` now.",
        )
    state = "is registered" if name in known else "will be registered by the first message"
    return Check("operator", OK, f"`{name}` {state}")


def _name_taken_check(mailbox: Mailbox, name: str) -> Check | None:
    """Return a check if another project on the server has the operator's name."""
    try:
        mailbox.agent(name)
    except RequestError as refused:
        if refused.diagnostic.code == NAME_ELSEWHERE:
            return Check.of("operator", refused.diagnostic)
    return None


def new_operator_check(project: Project, where: str) -> Check:
    """Check the name of a new operator on a server that may share names between projects."""
    name = project.operator
    found = (
        OPERATOR_NEEDS_NAME.at(where=where, name=name, option=store_option(project))
        if name == OPERATOR
        else name_problem(name, ())
    )
    if found:
        return Check.of("operator", found)
    return Check("operator", OK, f"`{name}` will be registered by the first message")


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def identity_check(context: DoctorContext, known: tuple[str, ...] | None) -> Check:
    """Check the acting name; `known` are the registered names, None if they cannot be read."""
    name, operator = context.actor, context.project.operator
    if name is None:
        words = f"neither --as nor AGENT_NAME; you act as the operator, `{operator}`"
        return Check("identity", OK, words)
    found = name_problem(name, known or ())
    if found:
        return Check.of("identity", found)._replace(status=WARNING)
    if known is None or name in known or name == operator:
        return Check("identity", OK, f"`{name}`")
    return Check(
        "identity",
        WARNING,
        f"`{name}` is not registered here, and can neither send nor get mail.",
        f"`brenner mail register {name}`, or correct --as or AGENT_NAME.",
    )


def clock_check(mailbox: Mailbox, now: datetime) -> Check:
    """Warn about mail from the future: it is sorted after all later mail (R9)."""
    now = now.replace(microsecond=0)
    ahead = [thread for thread in mailbox.threads() if thread.last_at > now + CLOCKS_DIFFER]
    if not ahead:
        return Check("clock", OK, f"{iso(now)}; no message is dated later")
    newest = mailbox.thread(ahead[0].thread_id, limit=1).messages[0]
    return Check(
        "clock",
        WARNING,
        f"It is {iso(now)} here, and messages of a later time are in "
        f"{grouped(len(ahead), 'thread')}; the latest is #{newest.id}, "
        f"{iso(newest.at.replace(microsecond=0))}.",
        "Set this machine's clock right. If it is right, they were sent when a clock was wrong: "
        "until their time comes they stand behind whatever is sent now.",
    )


def _acks_check(mailbox: Mailbox, context: DoctorContext) -> Check:
    owed = pending_acks(mailbox, context.now, context.project.ack_deadline)
    overdue = sum(each.is_overdue for each in owed)
    if not overdue:
        words = f"{grouped(len(owed), 'ACK')} owed, none overdue" if owed else "none is owed"
        return Check("acks", OK, words)
    return Check(
        "acks",
        WARNING,
        f"{grouped(overdue, 'ACK')} overdue, {len(owed)} owed in all.",
        "`brenner mail pending` says by whom; `--resend` and `--escalate` remind them.",
    )


# The SQLite store: its file, its mail and its disk


_NO_FOLDER = (
    "Mount the disk that it is on, or bring the folder back; if it is not needed, remove it."
)


def check_sqlite_store(context: DoctorContext, path: Path) -> Iterator[Check]:
    """Check an SQLite store, its mail and its disk."""
    reason = why_not_a_folder(path)
    problem = StoreProblem(reason, _NO_FOLDER) if reason else read_problem(path)
    if problem:
        yield _unusable_store(path, problem)
        yield identity_check(context, None)
    elif os.path.lexists(path):
        yield from _check_open_sqlite(context, path)
    else:
        yield _missing_store(context.project, path)
        yield identity_check(context, None)
    yield file_system_check(nearest_existing(path), read_mounts())
    yield space_check(path)


def _unusable_store(path: Path, problem: StoreProblem) -> Check:
    found = codes.STORE_UNUSABLE.at(path=str(path), reason=problem.reason)
    return Check.of("store", found)._replace(fix=problem.fix)


def _explain_with_problem(path: Path, name: str, found: Diagnostic) -> Check:
    """Return the check of a store error, with the cause if it can be found."""
    check = Check.of(name, found)
    find_problem = _PROBLEM_FINDERS.get(found.id)
    problem = find_problem(path) if find_problem else None
    if problem is None:
        return check
    words = f"{check.detail} It seems that {problem.reason}."
    return check._replace(detail=words, fix=problem.fix)


_PROBLEM_FINDERS: dict[str, Callable[[Path], StoreProblem | None]] = {
    codes.STORE_READ_ONLY.id: write_problem,
    codes.STORE_UNUSABLE.id: write_problem,
    codes.STORE_BUSY.id: in_use_problem,
    codes.STORE_FOREIGN.id: empty_file_problem,
}


def _missing_store(project: Project, path: Path) -> Check:
    """Check that a missing store can be created; a missing store is no fault."""
    problem = create_problem(path)
    if problem:
        return _unusable_store(path, problem)
    return Check("store", OK, f"{_shown_path(project, path)} {NOT_YET}")


def _check_open_sqlite(context: DoctorContext, path: Path) -> Iterator[Check]:
    """Open the store, and yield all its checks."""
    try:
        mailbox = SqliteMailbox.open(path)
    except BrennerError as error:
        yield _explain_with_problem(path, "store", error.diagnostic)
        yield identity_check(context, None)
        return
    with mailbox:
        yield from run_each(_sqlite_checks(mailbox, context), partial(_explain_with_problem, path))


def _sqlite_checks(mailbox: SqliteMailbox, context: DoctorContext) -> dict[str, RunCheck]:
    where = str(mailbox.database.path)
    sound = "the file is sound, and every message has its hash"
    mail = mail_checks(mailbox, context, where)
    return {
        "store": lambda: _sqlite_store_check(mailbox, context.project),
        "write": lambda: _sqlite_write_check(mailbox),
        "integrity": lambda: integrity_check(mailbox.integrity(), where, sound),
        "mail": mail.pop("mail"),
        "journal": lambda: _journal_check(mailbox),
        **mail,
    }


def _sqlite_store_check(mailbox: SqliteMailbox, project: Project) -> Check:
    database = mailbox.database
    words = (
        f"{_shown_path(project, database.path)} ({project.store_from}), format {database.version}"
    )
    return Check("store", OK, words)


def _sqlite_write_check(mailbox: SqliteMailbox) -> Check:
    mailbox.database.probe_write()
    return Check("write", OK, "a write was tried and taken back")


def _journal_check(mailbox: SqliteMailbox) -> Check:
    mode = mailbox.database.journal_mode
    if mailbox.database.is_immutable:
        return Check("journal", OK, "not looked at: the store can only be read here")
    if mode == "wal":
        return Check("journal", OK, "WAL: readers and the writer do not wait for each other")
    path = mailbox.database.path
    return Check(
        "journal",
        WARNING,
        f"The store is in journal mode `{mode}`: readers and writers wait for each other.",
        "Close every program that uses it, then set it back with the program sqlite3: "
        f"`sqlite3 {quote(str(path))} 'PRAGMA journal_mode = wal'`.",
    )


def _shown_path(project: Project, path: Path) -> str:
    """Return the path relative to the project's folder."""
    inside = path.is_relative_to(project.folder)
    return f"`{path.relative_to(project.folder) if inside else path}`"


# The PostgreSQL store: the round trip, the schema, a write, a notification


_ROUND_TRIPS = 5
_NOTIFY_SECONDS = 5.0
# Whether the role may create a missing schema or its tables
_MAY_CREATE = {
    SchemaState.ABSENT: "SELECT has_database_privilege(current_database(), 'CREATE')",
    SchemaState.EMPTY: "SELECT has_schema_privilege(%(schema)s, 'CREATE')",
}
_ASK_FOR_SCHEMA = (
    "Ask for the schema: `CREATE SCHEMA {schema} AUTHORIZATION …`; or for the right to make it: "
    "`GRANT CREATE ON DATABASE {database} TO …`."
)
_NOW = "SELECT clock_timestamp()"
_POSTGRES_TLS = (
    "Ask for TLS in the address: `?sslmode=verify-full`, with `sslrootcert=FILE` for a certificate "
    "of your own; the server must have `ssl = on`."
)


def check_postgres_store(context: DoctorContext, store: PostgresStore) -> Iterator[Check]:
    """Check a PostgreSQL server, then the mail in it."""
    try:
        server = Server(store.address)
        started = time.perf_counter()
        connection = server.connect()
    except BrennerError as error:
        yield Check.of("server", error.diagnostic)
        yield identity_check(context, None)
        return
    seconds = time.perf_counter() - started
    with closing(connection):
        yield from run_each({"server": lambda: _postgres_server_check(server, connection, seconds)})
        try:
            missing = _missing_schema_check(server, connection)
        except BrennerError as error:
            missing = Check.of("store", error.diagnostic)
    if missing:
        yield missing
        yield identity_check(context, None)
    else:
        yield from _check_open_postgres(context, store, server)


def _postgres_server_check(server: Server, connection: PostgresConnection, seconds: float) -> Check:
    """Check the server's version, its round trip time, and encryption."""
    with translate_errors(server.place):
        trip = median(_round_trip_seconds(connection) for _ in range(_ROUND_TRIPS))
    words = (
        f"PostgreSQL {_pg_version(connection)}; connected in {milliseconds(seconds)}, a "
        f"round trip takes {milliseconds(trip)}"
    )
    host = connection.info.hostaddr or connection.info.host
    is_encrypted = connection.pgconn.ssl_in_use
    return encryption_check(words, host, is_encrypted=is_encrypted, fix=_POSTGRES_TLS)


def _pg_version(connection: PostgresConnection) -> str:
    number = connection.info.server_version
    return f"{number // 10_000}.{number % 10_000}"


def _round_trip_seconds(connection: PostgresConnection) -> float:
    started = time.perf_counter()
    connection.execute("SELECT 1").fetchall()
    return time.perf_counter() - started


def _missing_schema_check(server: Server, connection: PostgresConnection) -> Check | None:
    """Check whether a missing schema can be created; return None if it exists."""
    with translate_errors(server.place):
        state = Schema(server, connection).state()
        if state not in _MAY_CREATE:
            return None
        row = connection.execute(_MAY_CREATE[state], {"schema": server.schema}).fetchone()
    if row and row[0]:
        return Check("store", OK, f"the schema `{server.schema}` {NOT_YET}")
    reason = f"the role may not make the tables of the schema `{server.schema}`"
    advice = _ASK_FOR_SCHEMA.format(schema=server.schema, database=server.place.database)
    found = SERVER_DENIED.at(where=server.place.where, reason=reason, advice=advice)
    return Check.of("store", found)


def _check_open_postgres(
    context: DoctorContext, store: PostgresStore, server: Server
) -> Iterator[Check]:
    """Open the mailbox, and yield all its checks."""
    try:
        mailbox = PostgresMailbox.open(store.address)
    except BrennerError as error:
        yield Check.of("store", error.diagnostic)
        yield identity_check(context, None)
        return
    with mailbox:
        yield from run_each(_postgres_checks(mailbox, context, server))


def _postgres_checks(
    mailbox: PostgresMailbox, context: DoctorContext, server: Server
) -> dict[str, RunCheck]:
    where = server.place.where
    sound = "no message is missing, and every one has its hash"
    return {
        "store": lambda: _postgres_store_check(mailbox, context.project, server),
        "write": lambda: _postgres_write_check(mailbox),
        "notify": lambda: _notify_check(server),
        "integrity": lambda: integrity_check(mailbox.integrity(), where, sound),
        **mail_checks(mailbox, context, where),
        "clock": lambda: _postgres_clock_check(mailbox, context, server),
    }


def _postgres_store_check(mailbox: PostgresMailbox, project: Project, server: Server) -> Check:
    version = mailbox.database.version
    words = f"the schema `{server.schema}` in {server.place.where} ({project.store_from})"
    return Check("store", OK, f"{words}, format {version}")


def _postgres_write_check(mailbox: PostgresMailbox) -> Check:
    started = time.perf_counter()
    mailbox.database.probe_write()
    taken = milliseconds(time.perf_counter() - started)
    return Check("write", OK, f"a write was tried and taken back, in {taken}")


def _notify_check(server: Server) -> Check:
    """Check that NOTIFY reaches a waiting client; a connection pooler may drop it."""
    channel = f"brenner doctor {secrets.token_hex(8)}"
    listen = sql.SQL("LISTEN {}").format(sql.Identifier(channel))
    with closing(server.connect()) as listener, closing(server.connect()) as notifier:
        with translate_errors(server.place):
            listener.execute(listen)
            started = time.perf_counter()
            notifier.execute("SELECT pg_notify(%s, '')", (channel,))
            received = list(listener.notifies(timeout=_NOTIFY_SECONDS, stop_after=1))
        taken = milliseconds(time.perf_counter() - started)
    if received:
        return Check("notify", OK, f"a notification was heard after {taken}")
    return Check(
        "notify",
        WARNING,
        f"A notification was not heard within {_NOTIFY_SECONDS:g} seconds: who waits for mail "
        "learns of it late.",
        "Connect to the server itself. A pooler in between that lends connections by the "
        "transaction loses notifications.",
    )


def _postgres_clock_check(
    mailbox: PostgresMailbox, context: DoctorContext, server: Server
) -> Check:
    """Compare this clock with the server's, which gives the times of the mail."""
    with closing(server.connect()) as connection, translate_errors(server.place):
        row = connection.execute(_NOW).fetchone()
    now = row[0] if row and isinstance(row[0], datetime) else context.now
    apart = now - context.now
    if abs(apart) <= CLOCKS_DIFFER:
        return clock_check(mailbox, now)
    how = "behind" if apart > timedelta(0) else "ahead of"
    minutes = f"{abs(apart) / timedelta(minutes=1):,.0f} minutes"
    return Check(
        "clock",
        WARNING,
        f"This machine's clock is {minutes} {how} the server's, which dates the mail.",
        "Set the one that is wrong: here, ACKs look overdue too early or too late; there, mail "
        "gets times at which it was not sent.",
    )


# The Agent Mail store. Messages cannot be deleted there, so the checks send none.


_HEALTH = "health_check"
_NEEDED = ("ensure_project", "register_agent", "send_message", "fetch_inbox")
# Optional tools, and what is lost without them
_USEFUL = {
    "mark_message_read": "nothing can be marked as read",
    "acknowledge_message": "agents that ask only the server do not see what is acknowledged",
}


_AGENT_MAIL_TLS = (
    "Put TLS in front of the server, and write `agent-mail+https://…`; or go through a tunnel, "
    "such as `ssh -L`."
)


def check_agent_mail_store(context: DoctorContext, store: AgentMailStore) -> Iterator[Check]:
    """Check an Agent Mail server, its tools, then the project on it."""
    try:
        client = Client(store.address.url or "", store.token)
    except BrennerError as error:
        yield Check.of("server", error.diagnostic)
        yield identity_check(context, None)
        return
    with closing(client):
        checks = list(run_each({"server": lambda: _agent_mail_server_check(client, store)}))
        yield from checks
        if any(check.id for check in checks):  # the server does not respond
            yield identity_check(context, None)
            return
        yield from run_each({"tools": lambda: _tools_check(client)})
        yield from _check_agent_mail_project(context, store, client)


def _agent_mail_server_check(client: Client, store: AgentMailStore) -> Check:
    """Check that the server responds, its round trip time, and encryption."""
    started = time.perf_counter()
    if client.offers(_HEALTH):  # the first call also connects, so it is not timed
        started = time.perf_counter()
        client.call(_HEALTH, {})
    taken = milliseconds(time.perf_counter() - started)
    parts = urlsplit(store.address.url or "")
    words = f"{client.where} answers; a round trip takes {taken}"
    is_encrypted = parts.scheme == "https"
    return encryption_check(
        words, parts.hostname or "", is_encrypted=is_encrypted, fix=_AGENT_MAIL_TLS
    )


def _tools_check(client: Client) -> Check:
    """Check that the server has the tools that are needed; servers differ."""
    needed = [name for name in _NEEDED if not client.offers(name)]
    if needed:
        what = f"the tools {', '.join(f'`{name}`' for name in needed)}"
        return Check.of("tools", SERVER_LACKS.at(where=client.where, what=what))
    lost = [f"no `{name}`: {why}" for name, why in _USEFUL.items() if not client.offers(name)]
    if lost:
        fix = "Mail works without; a server started with all its tools has them."
        return Check("tools", WARNING, f"It offers what is needed, but {'; '.join(lost)}.", fix)
    return Check("tools", OK, "it offers all that is used")


def _check_agent_mail_project(
    context: DoctorContext, store: AgentMailStore, client: Client
) -> Iterator[Check]:
    """Yield the checks of the project on the server and of its mail."""
    try:
        is_known = find_project(client, store.address.project or "") is not None
        mailbox = AgentMailMailbox.open(store.address, store.token) if is_known else None
    except BrennerError as error:
        yield Check.of("store", error.diagnostic)
        yield identity_check(context, None)
        return
    if mailbox is None:
        yield Check("store", OK, f"the project `{store.address.project}` {NOT_YET}")
        yield _lacks_check()
        yield new_operator_check(context.project, store.shown)
        yield identity_check(context, None)
        return
    with mailbox:
        yield from run_each(_agent_mail_checks(mailbox, context, store, client))


def _agent_mail_checks(
    mailbox: AgentMailMailbox, context: DoctorContext, store: AgentMailStore, client: Client
) -> dict[str, RunCheck]:
    return {
        "store": lambda: _agent_mail_store_check(context, store),
        "write": lambda: _agent_mail_write_check(client, store),
        "lacks": _lacks_check,
        **mail_checks(mailbox, context, store.shown),
    }


def _agent_mail_store_check(context: DoctorContext, store: AgentMailStore) -> Check:
    words = f"the project `{store.address.project}` ({context.project.store_from})"
    return Check("store", OK, f"{words} is known there")


def _agent_mail_write_check(client: Client, store: AgentMailStore) -> Check:
    """Check the permission to write, without a message, which could not be deleted.

    `ensure_project` for an existing project changes nothing, but needs the permission.
    """
    started = time.perf_counter()
    ensure_project(client, store.address.project or "")
    taken = milliseconds(time.perf_counter() - started)
    words = (
        f"allowed, as `ensure_project` answers in {taken}; a message was not tried: it would stay"
    )
    return Check("write", OK, words)


def _lacks_check() -> Check:
    """Report the capabilities that this store lacks, which is no fault."""
    lacks = AgentMailMailbox.lacks
    words = "; ".join(f"{ability} ({reason})" for ability, reason in lacks.items())
    return Check("lacks", OK, f"this home is without {words}")
