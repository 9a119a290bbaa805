"""What is looked at in every home that can be opened: the mail, who is known there, the clock."""

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
from brenner.mail.agent_mail.mirror import find, make
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.open import AgentMailStore, PostgresStore, store_option
from brenner.mail.postgres.connection import Connection, Schema, Server, State, translated
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.rules import name_refusal
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import iso
from brenner.services.acknowledge import pending
from brenner.services.doctor.common import (
    OK,
    WARNING,
    Check,
    file_system_check,
    milliseconds,
    mounts,
    space_check,
    way_check,
)
from brenner.services.doctor.server import Endpoint
from brenner.services.init_project import about_operator
from brenner.services.workspace import (
    Obstacle,
    existing,
    obstacle_by_emptiness,
    obstacle_by_others,
    obstacle_to_making,
    obstacle_to_reading,
    obstacle_to_writing,
    why_no_folder,
)
from brenner.text import grouped

CLOCKS_DIFFER = timedelta(minutes=1)
_MOST_PROBLEMS = 5
_TASK = "operator"  # of whom a mailbox knew as such when it was opened for writing
NOT_YET = "is not there yet; `brenner init` or the first message makes it"

Look = Callable[[], Check]
Explain = Callable[[str, Diagnostic], Check]


class Visit(NamedTuple):
    """Whose project is looked at, for whom, and when; and where a server of it may be."""

    project: Project
    actor: str | None
    now: datetime
    endpoint: Endpoint | None = None


def looked_at(looks: Mapping[str, Look], explain: Explain = Check.of) -> Iterator[Check]:
    """Every check; one that fails does not stop the others, and one fault is told once."""
    told: set[str] = set()
    for name, look in looks.items():
        try:
            yield look()
        except BrennerError as error:
            found = error.diagnostic
            yield _same(name, found) if found.id in told else explain(name, found)
            told.add(found.id)


def _same(name: str, found: Diagnostic) -> Check:
    return Check(name, WARNING, "It could not be looked at, for the same reason.", id=found.id)


def of_mail(mailbox: Mailbox, visit: Visit, where: str) -> dict[str, Look]:
    """What is looked at wherever the mail is; `where` is how its home is called."""
    return {
        "mail": lambda: _amount(mailbox),
        "operator": lambda: _operator(mailbox, visit.project, where),
        "identity": lambda: identity(visit, tuple(agent.name for agent in mailbox.agents())),
        "clock": lambda: clock(mailbox, visit.now),
        "acks": lambda: _acks(mailbox, visit),
    }


def integrity(problems: tuple[str, ...], where: str, sound: str) -> Check:
    """What is wrong with the mail itself."""
    if not problems:
        return Check("integrity", OK, sound)
    words = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    reason = f"{words}; and {more} more" if more > 0 else words
    found = codes.STORE_CORRUPT.at(path=where, reason=reason)
    return Check.of("integrity", found)._replace(is_content=True)


def _amount(mailbox: Mailbox) -> Check:
    messages, agents = mailbox.position(), len(mailbox.agents())
    return Check("mail", OK, f"{grouped(messages, 'message')}, {grouped(agents, 'agent')}")


def _operator(mailbox: Mailbox, project: Project, where: str) -> Check:
    """Whether the operator can be known here, and is the only one."""
    name, agents = project.operator, mailbox.agents()
    known = {agent.name for agent in agents}
    if name not in known and Capability.OWN_NAMES in mailbox.lacks:
        taken = None if name == OPERATOR else _elsewhere(mailbox, name)
        return taken or new_operator(project, where)
    found = None if name in known else name_refusal(name, known)
    if found:
        return Check.of("operator", about_operator(found))
    others = [agent.name for agent in agents if agent.task == _TASK and agent.name != name]
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


def _elsewhere(mailbox: Mailbox, name: str) -> Check | None:
    """An operator whose name another project of the server has."""
    try:
        mailbox.agent(name)
    except RequestError as refused:
        if refused.diagnostic.code == NAME_ELSEWHERE:
            return Check.of("operator", refused.diagnostic)
    return None


def new_operator(project: Project, where: str) -> Check:
    """An operator whom a server does not know yet, and that may keep names for all its projects."""
    name = project.operator
    found = (
        OPERATOR_NEEDS_NAME.at(where=where, name=name, option=store_option(project))
        if name == OPERATOR
        else name_refusal(name, ())
    )
    if found:
        return Check.of("operator", found)
    return Check("operator", OK, f"`{name}` will be registered by the first message")


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def identity(visit: Visit, known: tuple[str, ...] | None) -> Check:
    """Who acts; `known` are the registered names, None where they cannot be had."""
    name, operator = visit.actor, visit.project.operator
    if name is None:
        words = f"neither --as nor AGENT_NAME; you act as the operator, `{operator}`"
        return Check("identity", OK, words)
    found = name_refusal(name, known or ())
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


def clock(mailbox: Mailbox, now: datetime) -> Check:
    """Mail from the future stays behind all later mail until its time comes (R9)."""
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


def _acks(mailbox: Mailbox, visit: Visit) -> Check:
    owed = pending(mailbox, visit.now, visit.project.ack_deadline)
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


# Looking at the embedded store: the file, what is in it, and the disk that it is on.


_NO_FOLDER = (
    "Mount the disk that it is on, or bring the folder back; if it is not needed, remove it."
)


def examine_file(visit: Visit, path: Path) -> Iterator[Check]:
    """The store, what is in it, and the disk that it is on."""
    reason = why_no_folder(path)
    obstacle = Obstacle(reason, _NO_FOLDER) if reason else obstacle_to_reading(path)
    if obstacle:
        yield _unusable(path, obstacle)
        yield identity(visit, None)
    elif os.path.lexists(path):
        yield from _inside(visit, path)
    else:
        yield _not_there(visit.project, path)
        yield identity(visit, None)
    yield file_system_check(existing(path), mounts())
    yield space_check(path)


def _unusable(path: Path, obstacle: Obstacle) -> Check:
    found = codes.STORE_UNUSABLE.at(path=str(path), reason=obstacle.reason)
    return Check.of("store", found)._replace(fix=obstacle.fix)


def _explained(path: Path, name: str, found: Diagnostic) -> Check:
    """What cannot be done with a store, with what stands in the way, where that can be seen."""
    check = Check.of(name, found)
    look = _OBSTACLES.get(found.id)
    obstacle = look(path) if look else None
    if obstacle is None:
        return check
    words = f"{check.detail} It seems that {obstacle.reason}."
    return check._replace(detail=words, fix=obstacle.fix)


_OBSTACLES: dict[str, Callable[[Path], Obstacle | None]] = {
    codes.STORE_READ_ONLY.id: obstacle_to_writing,
    codes.STORE_UNUSABLE.id: obstacle_to_writing,
    codes.STORE_BUSY.id: obstacle_by_others,
    codes.STORE_FOREIGN.id: obstacle_by_emptiness,
}


def _not_there(project: Project, path: Path) -> Check:
    """Mail that nobody has written yet is no fault, if it can be written."""
    obstacle = obstacle_to_making(path)
    if obstacle:
        return _unusable(path, obstacle)
    return Check("store", OK, f"{_place(project, path)} {NOT_YET}")


def _inside(visit: Visit, path: Path) -> Iterator[Check]:
    """Everything that can be seen of a store that can be opened."""
    try:
        mailbox = SqliteMailbox.open(path)
    except BrennerError as error:
        yield _explained(path, "store", error.diagnostic)
        yield identity(visit, None)
        return
    with mailbox:
        yield from looked_at(_looks(mailbox, visit), partial(_explained, path))


def _looks(mailbox: SqliteMailbox, visit: Visit) -> dict[str, Look]:
    where = str(mailbox.database.path)
    sound = "the file is sound, and every message has its hash"
    mail = of_mail(mailbox, visit, where)
    return {
        "store": lambda: _opened(mailbox, visit.project),
        "write": lambda: _write(mailbox),
        "integrity": lambda: integrity(mailbox.integrity(), where, sound),
        "mail": mail.pop("mail"),
        "journal": lambda: _journal(mailbox),
        **mail,
    }


def _opened(mailbox: SqliteMailbox, project: Project) -> Check:
    database = mailbox.database
    words = f"{_place(project, database.path)} ({project.store_from}), format {database.version}"
    return Check("store", OK, words)


def _write(mailbox: SqliteMailbox) -> Check:
    mailbox.database.probe()
    return Check("write", OK, "a write was tried and taken back")


def _journal(mailbox: SqliteMailbox) -> Check:
    mode = mailbox.database.journal_mode
    if mailbox.database.is_still:
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


def _place(project: Project, path: Path) -> str:
    """The path as it is seen from the project's folder."""
    inside = path.is_relative_to(project.folder)
    return f"`{path.relative_to(project.folder) if inside else path}`"


# Looking at mail in a database: the way there and back, the schema, a write, a notification.


_TRIPS = 5
_HEAR_SECONDS = 5.0
# Whether one may make what is not there
_MAY_MAKE = {
    State.ABSENT: "SELECT has_database_privilege(current_database(), 'CREATE')",
    State.EMPTY: "SELECT has_schema_privilege(%(schema)s, 'CREATE')",
}
_ASK_FOR = (
    "Ask for the schema: `CREATE SCHEMA {schema} AUTHORIZATION …`; or for the right to make it: "
    "`GRANT CREATE ON DATABASE {database} TO …`."
)
_NOW = "SELECT clock_timestamp()"
_IN_THE_CLEAR = (
    "Ask for TLS in the address: `?sslmode=verify-full`, with `sslrootcert=FILE` for a certificate "
    "of your own; the server must have `ssl = on`."
)


def examine_database(visit: Visit, store: PostgresStore) -> Iterator[Check]:
    """The server, then what is in it."""
    try:
        server = Server(store.address)
        started = time.perf_counter()
        connection = server.connect()
    except BrennerError as error:
        yield Check.of("server", error.diagnostic)
        yield identity(visit, None)
        return
    seconds = time.perf_counter() - started
    with closing(connection):
        yield from looked_at({"server": lambda: _server(server, connection, seconds)})
        try:
            absent = _absent(server, connection)
        except BrennerError as error:
            absent = Check.of("store", error.diagnostic)
    if absent:
        yield absent
        yield identity(visit, None)
    else:
        yield from _doctor_postgresql_inside(visit, store, server)


def _server(server: Server, connection: Connection, seconds: float) -> Check:
    """Its version, how far away it is, and who can listen on the way."""
    with translated(server.place):
        trip = median(_trip(connection) for _ in range(_TRIPS))
    words = (
        f"PostgreSQL {_version(connection)}; connected in {milliseconds(seconds)}, a round trip "
        f"takes {milliseconds(trip)}"
    )
    host = connection.info.hostaddr or connection.info.host
    is_encrypted = connection.pgconn.ssl_in_use
    return way_check(words, host, is_encrypted=is_encrypted, mend=_IN_THE_CLEAR)


def _version(connection: Connection) -> str:
    number = connection.info.server_version
    return f"{number // 10_000}.{number % 10_000}"


def _trip(connection: Connection) -> float:
    started = time.perf_counter()
    connection.execute("SELECT 1").fetchall()
    return time.perf_counter() - started


def _absent(server: Server, connection: Connection) -> Check | None:
    """Where there is no schema with mail in it: whether one can be made."""
    with translated(server.place):
        state = Schema(server, connection).state()
        if state not in _MAY_MAKE:
            return None
        row = connection.execute(_MAY_MAKE[state], {"schema": server.schema}).fetchone()
    if row and row[0]:
        return Check("store", OK, f"the schema `{server.schema}` {NOT_YET}")
    reason = f"the role may not make the tables of the schema `{server.schema}`"
    advice = _ASK_FOR.format(schema=server.schema, database=server.place.database)
    found = SERVER_DENIED.at(where=server.place.where, reason=reason, advice=advice)
    return Check.of("store", found)


def _doctor_postgresql_inside(
    visit: Visit, store: PostgresStore, server: Server
) -> Iterator[Check]:
    """Everything that can be seen of the mail."""
    try:
        mailbox = PostgresMailbox.open(store.address)
    except BrennerError as error:
        yield Check.of("store", error.diagnostic)
        yield identity(visit, None)
        return
    with mailbox:
        yield from looked_at(_doctor_postgresql_looks(mailbox, visit, server))


def _doctor_postgresql_looks(
    mailbox: PostgresMailbox, visit: Visit, server: Server
) -> dict[str, Look]:
    where = server.place.where
    sound = "no message is missing, and every one has its hash"
    return {
        "store": lambda: _doctor_postgresql_opened(mailbox, visit.project, server),
        "write": lambda: _doctor_postgresql_write(mailbox),
        "notify": lambda: _notify(server),
        "integrity": lambda: integrity(mailbox.integrity(), where, sound),
        **of_mail(mailbox, visit, where),
        "clock": lambda: _clock(mailbox, visit, server),
    }


def _doctor_postgresql_opened(mailbox: PostgresMailbox, project: Project, server: Server) -> Check:
    version = mailbox.database.version
    words = f"the schema `{server.schema}` in {server.place.where} ({project.store_from})"
    return Check("store", OK, f"{words}, format {version}")


def _doctor_postgresql_write(mailbox: PostgresMailbox) -> Check:
    started = time.perf_counter()
    mailbox.database.probe()
    taken = milliseconds(time.perf_counter() - started)
    return Check("write", OK, f"a write was tried and taken back, in {taken}")


def _notify(server: Server) -> Check:
    """Whether the server tells who waits; what stands between may keep that to itself."""
    channel = f"brenner doctor {secrets.token_hex(8)}"
    listen = sql.SQL("LISTEN {}").format(sql.Identifier(channel))
    with closing(server.connect()) as ear, closing(server.connect()) as mouth:
        with translated(server.place):
            ear.execute(listen)
            started = time.perf_counter()
            mouth.execute("SELECT pg_notify(%s, '')", (channel,))
            heard = list(ear.notifies(timeout=_HEAR_SECONDS, stop_after=1))
        taken = milliseconds(time.perf_counter() - started)
    if heard:
        return Check("notify", OK, f"a notification was heard after {taken}")
    return Check(
        "notify",
        WARNING,
        f"A notification was not heard within {_HEAR_SECONDS:g} seconds: who waits for mail learns "
        "of it late.",
        "Connect to the server itself. A pooler in between that lends connections by the "
        "transaction loses notifications.",
    )


def _clock(mailbox: PostgresMailbox, visit: Visit, server: Server) -> Check:
    """The server dates the mail: by its clock, not by this one."""
    with closing(server.connect()) as connection, translated(server.place):
        row = connection.execute(_NOW).fetchone()
    now = row[0] if row and isinstance(row[0], datetime) else visit.now
    apart = now - visit.now
    if abs(apart) <= CLOCKS_DIFFER:
        return clock(mailbox, now)
    how = "behind" if apart > timedelta(0) else "ahead of"
    minutes = f"{abs(apart) / timedelta(minutes=1):,.0f} minutes"
    return Check(
        "clock",
        WARNING,
        f"This machine's clock is {minutes} {how} the server's, which dates the mail.",
        "Set the one that is wrong: here, ACKs look overdue too early or too late; there, mail "
        "gets times at which it was not sent.",
    )


# Looking at mail on an Agent Mail server. What is sent there stays, so nothing is sent.


_HEALTH = "health_check"
_NEEDED = ("ensure_project", "register_agent", "send_message", "fetch_inbox")
# What there is else that we use, and what is lost without it
_USEFUL = {
    "mark_message_read": "nothing can be marked as read",
    "acknowledge_message": "agents that ask only the server do not see what is acknowledged",
}


_DOCTOR_AGENT_MAIL_IN_THE_CLEAR = (
    "Put TLS in front of the server, and write `agent-mail+https://…`; or go through a tunnel, "
    "such as `ssh -L`."
)


def examine_server(visit: Visit, store: AgentMailStore) -> Iterator[Check]:
    """The server, what it offers, then the project on it."""
    try:
        client = Client(store.address.url or "", store.token)
    except BrennerError as error:
        yield Check.of("server", error.diagnostic)
        yield identity(visit, None)
        return
    with closing(client):
        checks = list(looked_at({"server": lambda: _doctor_agent_mail_server(client, store)}))
        yield from checks
        if any(check.id for check in checks):  # nobody is there who could be asked more
            yield identity(visit, None)
            return
        yield from looked_at({"tools": lambda: _tools(client)})
        yield from _project(visit, store, client)


def _doctor_agent_mail_server(client: Client, store: AgentMailStore) -> Check:
    """Whether it answers as such a server does, how soon, and who can listen on the way."""
    started = time.perf_counter()
    if client.offers(_HEALTH):  # it has connected, and told which tools it has
        started = time.perf_counter()
        client.call(_HEALTH, {})
    taken = milliseconds(time.perf_counter() - started)
    parts = urlsplit(store.address.url or "")
    words = f"{client.where} answers; a round trip takes {taken}"
    is_encrypted = parts.scheme == "https"
    return way_check(
        words, parts.hostname or "", is_encrypted=is_encrypted, mend=_DOCTOR_AGENT_MAIL_IN_THE_CLEAR
    )


def _tools(client: Client) -> Check:
    """Servers differ in what they offer."""
    needed = [name for name in _NEEDED if not client.offers(name)]
    if needed:
        what = f"the tools {', '.join(f'`{name}`' for name in needed)}"
        return Check.of("tools", SERVER_LACKS.at(where=client.where, what=what))
    lost = [f"no `{name}`: {why}" for name, why in _USEFUL.items() if not client.offers(name)]
    if lost:
        fix = "Mail works without; a server started with all its tools has them."
        return Check("tools", WARNING, f"It offers what is needed, but {'; '.join(lost)}.", fix)
    return Check("tools", OK, "it offers all that is used")


def _project(visit: Visit, store: AgentMailStore, client: Client) -> Iterator[Check]:
    """What can be seen of the project and its mail."""
    try:
        is_known = find(client, store.address.project or "") is not None
        mailbox = AgentMailMailbox.open(store.address, store.token) if is_known else None
    except BrennerError as error:
        yield Check.of("store", error.diagnostic)
        yield identity(visit, None)
        return
    if mailbox is None:
        yield Check("store", OK, f"the project `{store.address.project}` {NOT_YET}")
        yield _lacks()
        yield new_operator(visit.project, store.shown)
        yield identity(visit, None)
        return
    with mailbox:
        yield from looked_at(_doctor_agent_mail_looks(mailbox, visit, store, client))


def _doctor_agent_mail_looks(
    mailbox: AgentMailMailbox, visit: Visit, store: AgentMailStore, client: Client
) -> dict[str, Look]:
    return {
        "store": lambda: _known(visit, store),
        "write": lambda: _doctor_agent_mail_write(client, store),
        "lacks": _lacks,
        **of_mail(mailbox, visit, store.shown),
    }


def _known(visit: Visit, store: AgentMailStore) -> Check:
    words = f"the project `{store.address.project}` ({visit.project.store_from})"
    return Check("store", OK, f"{words} is known there")


def _doctor_agent_mail_write(client: Client, store: AgentMailStore) -> Check:
    """A message would stay. To ask for a project that is there changes nothing, but needs the
    right to write.
    """
    started = time.perf_counter()
    make(client, store.address.project or "")
    taken = milliseconds(time.perf_counter() - started)
    words = (
        f"allowed, as `ensure_project` answers in {taken}; a message was not tried: it would stay"
    )
    return Check("write", OK, words)


def _lacks() -> Check:
    """What this home cannot do, which is no fault."""
    lacks = AgentMailMailbox.lacks
    words = "; ".join(f"{ability} ({reason})" for ability, reason in lacks.items())
    return Check("lacks", OK, f"this home is without {words}")
