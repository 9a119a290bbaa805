"""Checks of `brenner doctor` for the store (SQLite, PostgreSQL or Agent Mail) and its mail."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from shlex import quote
from statistics import median
from urllib.parse import urlsplit

from psycopg import sql

from brenner.config import OPERATOR, OWN_FOLDER, SETTINGS_FILE, Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.agent_mail.mirror import ensure_project, find_project
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.open import AgentMailStore, PostgresStore, SqliteStore, Store, store_option
from brenner.mail.postgres.connection import (
    PostgresConnection,
    Schema,
    Server,
    translate_errors,
)
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.rules import name_problem
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.named_tuple import NamedTuple
from brenner.protocol.messages import iso
from brenner.services.acknowledge import pending_acks
from brenner.services.identity import is_local_host
from brenner.services.init_project import explain_operator_name
from brenner.services.workspace import nearest_entry, why_not_a_folder
from brenner.text import grouped

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114, PTH115, PTH202

CLOCKS_DIFFER = timedelta(minutes=1)
_MOST_PROBLEMS = 5
_OPERATOR_TASK = "operator"  # the task of an agent that a mailbox registered as operator
_NOT_YET = "does not exist yet; `brenner init` or the first message creates it"


class CheckStatus(StrEnum):
    """The status of a check. A problem blocks something now; a warning may do so later."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


OK, WARNING, PROBLEM = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.PROBLEM


class Check(NamedTuple):
    """The result of one check. `is_content` means that the mail is at fault, not its store."""

    status: CheckStatus
    detail: str
    fix: str | None = None
    id: str | None = None
    is_content: bool = False
    name: str = ""

    @classmethod
    def of(cls, found: Diagnostic) -> Check:
        """Convert a diagnostic to a check."""
        status = PROBLEM if found.severity is ERROR else WARNING
        place = f"Line {found.line}: " if found.line else ""
        return cls(status, place + found.message, found.fix, found.id)


Finding = str | Diagnostic | Check
"""What a check returns: text if all is well, else a diagnostic or a check without its name."""
Rows = Mapping[str, Callable[[], Finding]]
"""A table of checks by name."""


def named_check(name: str, found: Finding) -> Check:
    """Convert a finding to the check of that name."""
    if isinstance(found, str):
        return Check(OK, found, name=name)
    return (Check.of(found) if isinstance(found, Diagnostic) else found)._replace(name=name)


def run_rows(rows: Rows, explain: Callable[[Diagnostic], Finding] = Check.of) -> Iterator[Check]:
    """Yield every check. A failed one does not stop the others; a fault is reported once."""
    reported: set[str] = set()
    for name, check in rows.items():
        try:
            found = check()
        except BrennerError as error:
            id_ = error.diagnostic.id
            words = "Not checked, for the same reason."
            is_known = id_ in reported
            found = Check(WARNING, words, id=id_) if is_known else explain(error.diagnostic)
            reported.add(id_)
        yield named_check(name, found)


class DoctorContext(NamedTuple):
    """The project to check, the acting name, the time, and the address of a server, if any."""

    project: Project
    actor: str | None
    now: datetime
    url: str | None = None
    token: str | None = None
    is_url_requested: bool = False


def store_checks(context: DoctorContext, store: Store) -> Iterator[Check]:
    """Yield the checks of the store and its mail; the acting name is checked in any case."""
    with ExitStack() as stack:
        if isinstance(store, SqliteStore):
            rows = yield from _open_sqlite(context, store, stack)
        elif isinstance(store, PostgresStore):
            rows = yield from _open_postgres(context, store, stack)
        elif isinstance(store, AgentMailStore):
            rows = yield from _open_agent_mail(context, store, stack)
        rows = rows or {"identity": lambda: identity_check(context, None)}
        path = store.path if isinstance(store, SqliteStore) else None
        yield from run_rows(rows, partial(_explain_file_error, path) if path else Check.of)
    if isinstance(store, SqliteStore):
        existing = nearest_existing(store.path)
        yield named_check("file_system", file_system_check(existing, read_mounts()))
        yield named_check("space", space_check(store.path))


def _mail_rows(mailbox: Mailbox, context: DoctorContext, where: str) -> Rows:
    """Return the checks of the mail in any store; `where` is its name in messages."""
    return {
        "mail": lambda: _mail_check(mailbox),
        "operator": lambda: _operator_check(mailbox, context.project, where),
        "identity": lambda: identity_check(context, [agent.name for agent in mailbox.agents()]),
        "clock": lambda: _clock_check(mailbox, context.now),
        "acks": lambda: _acks_check(mailbox, context),
    }


def _integrity_check(problems: tuple[str, ...], where: str, sound: str) -> Finding:
    """Report faults in the mail itself."""
    if not problems:
        return sound
    words = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    reason = f"{words}; and {more} more" if more > 0 else words
    found = codes.STORE_CORRUPT.at(path=where, reason=reason)
    return Check.of(found)._replace(is_content=True)


def _mail_check(mailbox: Mailbox) -> Finding:
    messages, agents = mailbox.position(), len(mailbox.agents())
    return f"{grouped(messages, 'message')}, {grouped(agents, 'agent')}"


def _operator_check(mailbox: Mailbox, project: Project, where: str) -> Finding:
    """Check that the operator can be registered, and that there is only one."""
    name, agents = project.operator, mailbox.agents()
    known = {agent.name for agent in agents}
    if name not in known and Capability.PROJECT_NAMES in mailbox.lacks:
        if name != OPERATOR and (taken := _name_taken(mailbox, name)):
            return taken
        return _new_operator_check(project, where)
    found = None if name in known else name_problem(name, known)
    if found:
        return explain_operator_name(found)
    others = [agent.name for agent in agents if agent.task == _OPERATOR_TASK and agent.name != name]
    if others:
        return Check(
            WARNING,
            f"The operator of this folder is `{name}`, but the store also has the operator "
            f"{', '.join(f'`{each}`' for each in others)}. Mail to a name that is not in use stays "
            "unread.",
            "If another person uses that name, nothing is wrong. If it is yours, write it into "
            f'`{SETTINGS_FILE}`: `operator = "{others[0]}"`. If it was yours before, tell the '
            f"agents the new name, `{name}`.",
        )
    state = "is registered" if name in known else "will be registered by the first message"
    return f"`{name}` {state}"


def _name_taken(mailbox: Mailbox, name: str) -> Diagnostic | None:
    """Return the error if another project on the server has the operator's name."""
    try:
        mailbox.agent(name)
    except RequestError as refused:
        if refused.diagnostic.code == codes.NAME_ELSEWHERE:
            return refused.diagnostic
    return None


def _new_operator_check(project: Project, where: str) -> Finding:
    """Check the name of a new operator on a server that may share names between projects."""
    name = project.operator
    if name == OPERATOR:
        return codes.OPERATOR_NEEDS_NAME.at(where=where, name=name, option=store_option(project))
    return name_problem(name, ()) or f"`{name}` will be registered by the first message"


def identity_check(context: DoctorContext, known: list[str] | None) -> Finding:
    """Check the acting name; `known` are the registered names, None if they cannot be read."""
    name, operator = context.actor, context.project.operator
    if name is None:
        return f"you act as the operator, `{operator}` (neither --as nor AGENT_NAME is set)"
    found = name_problem(name, known or ())
    if found:
        return Check.of(found)._replace(status=WARNING)
    if known is None or name in known or name == operator:
        return f"`{name}`"
    return Check(
        WARNING,
        f"`{name}` is not registered in this store, so it cannot send or receive mail.",
        f"Run `brenner mail register {name}`, or correct --as or AGENT_NAME.",
    )


def _clock_check(mailbox: Mailbox, now: datetime) -> Finding:
    """Warn about mail from the future: it is sorted after all later mail (R9)."""
    now = now.replace(microsecond=0)
    ahead = [thread for thread in mailbox.threads() if thread.last_at > now + CLOCKS_DIFFER]
    if not ahead:
        return f"{iso(now)}; no message is dated later"
    newest = mailbox.thread(ahead[0].thread_id, limit=1).messages[0]
    return Check(
        WARNING,
        f"{grouped(len(ahead), 'thread')} with messages from the future. The latest is message "
        f"{newest.id}, {iso(newest.at.replace(microsecond=0))}; the time here is {iso(now)}.",
        "Correct this machine's clock. If it is correct, another clock was wrong when they were "
        "sent. Until that time they are sorted after new messages.",
    )


def _acks_check(mailbox: Mailbox, context: DoctorContext) -> Finding:
    owed = pending_acks(mailbox, context.now, context.project.ack_deadline)
    overdue = sum(each.is_overdue for each in owed)
    if not overdue:
        return f"{grouped(len(owed), 'ACK')} owed, none overdue" if owed else "none is owed"
    return Check(
        WARNING,
        f"{grouped(overdue, 'ACK')} overdue, {len(owed)} owed in all.",
        "To see them: `brenner mail pending`. To remind the agents: `brenner mail pending "
        "--resend`.",
    )


# The connection to a server: its latency and encryption


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1_000:.1f} ms"


def timed(call: Callable[[], object]) -> str:
    """Call a function, and return the time that it took."""
    started = time.perf_counter()
    call()
    return milliseconds(time.perf_counter() - started)


def encryption_check(words: str, host: str, *, is_encrypted: bool, fix: str) -> Finding:
    """Check whether the connection to a server is encrypted. On this machine that is not needed."""
    if is_encrypted:
        return f"{words}; encrypted (TLS)"
    if is_local_host(host):
        return f"{words}; not encrypted, on this machine"
    detail = f"{words}. It is not encrypted: others on the network can read mail and passwords."
    return Check(WARNING, detail, fix)


# The SQLite store: its file, its mail and its disk


Problem = tuple[str, str]
"""Why a store's file cannot be used, and how to fix it."""

_NO_FOLDER = "Mount its disk or restore the folder. If you do not need it, remove it."
_MEGABYTE, _GIGABYTE = 10**6, 10**9
_LITTLE_SPACE = 100 * _MEGABYTE
_NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gfs2"),
        *("glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2"),
        *("smb3", "smbfs", "sshfs", "virtiofs", "vboxsf"),
    }
)
_TYPE_FIELD = 2  # the third field of a line in /proc/mounts
_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def _open_sqlite(
    context: DoctorContext, store: SqliteStore, stack: ExitStack
) -> Generator[Check, None, Rows | None]:
    """Open the store and return the checks of its mail; if that fails, yield why."""
    path, project = store.path, context.project
    unusable = _unusable_file(path)
    if unusable or not os.path.lexists(path):
        yield named_check("store", unusable or f"{_shown_path(project, path)} {_NOT_YET}")
        return None
    try:
        mailbox = stack.enter_context(SqliteMailbox.open(path))
    except BrennerError as error:
        yield named_check("store", _explain_file_error(path, error.diagnostic))
        return None
    shown = f"{_shown_path(project, path)} ({project.store_from})"
    sound = "the file is intact, and every message matches its hash"
    rows = _mail_rows(mailbox, context, str(path))
    return {
        "store": lambda: f"{shown}, format {mailbox.database.version}",
        "write": lambda: _sqlite_write_check(mailbox),
        "integrity": lambda: _integrity_check(mailbox.integrity(), str(path), sound),
        "mail": rows["mail"],
        "journal": lambda: _journal_check(mailbox),
        **rows,
    }


def _unusable_file(path: Path) -> Check | None:
    """Return why a store's file can be neither opened nor created; None if it can."""
    reason = why_not_a_folder(path)
    problem = (reason, _NO_FOLDER) if reason else _read_problem(path)
    if not problem and not os.path.lexists(path):
        problem = _create_problem(path)
    if not problem:
        return None
    found = codes.STORE_UNUSABLE.at(path=str(path), reason=problem[0])
    return Check.of(found)._replace(fix=problem[1])


def _explain_file_error(path: Path, found: Diagnostic) -> Check:
    """Return the check of a store error, with the cause if it can be found."""
    check = Check.of(found)
    find_problem = _PROBLEM_FINDERS.get(found.id)
    problem = find_problem(path) if find_problem else None
    if problem is None:
        return check
    return check._replace(detail=f"{check.detail} Probable cause: {problem[0]}.", fix=problem[1])


def _read_problem(path: Path) -> Problem | None:
    folder = nearest_entry(path.parent)
    if not os.access(folder, os.X_OK):
        return (
            f"no permission to open the folder `{folder}`{_permissions(folder)}",
            f"Run `chmod u+rwx {quote(str(folder))}`, or ask its owner.",
        )
    if os.path.islink(path) and not os.path.exists(path):
        return (
            f"it is a link to `{os.readlink(path)}`, which does not exist",
            "Restore the target of the link, or remove the link.",
        )
    if os.path.lexists(path) and not os.path.isfile(path):
        kind = "it is a folder" if os.path.isdir(path) else "it is not a file"
        return kind, "Name the file of a store: `--store sqlite:///PATH`."
    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return (
            f"no permission to read it{_permissions(path)}",
            f"Run `chmod u+rw {quote(str(path))}`, or ask its owner.",
        )
    return None


def _create_problem(path: Path) -> Problem | None:
    folder = nearest_entry(path.parent)
    if folder != path.parent and path.parent.name != OWN_FOLDER:
        return (
            f"the folder `{path.parent}` does not exist",
            f"Run `mkdir -p {quote(str(path.parent))}`, or correct the store address.",
        )
    if os.access(folder, os.W_OK):
        return None
    return (
        f"it does not exist, and `{folder}` is not writable{_permissions(folder)}",
        f"Run `chmod u+w {quote(str(folder))}`, or choose another `--store sqlite:///PATH`.",
    )


def _write_problem(path: Path) -> Problem | None:
    """Return which of the store's files, or its folder, cannot be written; None if all can."""
    files = [path.parent, path, *_files_beside(path)]
    locked = [each for each in files if os.path.exists(each) and not os.access(each, os.W_OK)]
    if not locked:
        return None
    return (
        "no permission to write " + ", ".join(f"`{each}`{_permissions(each)}" for each in locked),
        f"Run `chmod u+w {' '.join(quote(str(each)) for each in locked)}`, or ask the owner.",
    )


def _files_beside(path: Path) -> Iterator[Path]:
    return (path.with_name(path.name + end) for end in ("-wal", "-shm"))


def in_use_problem(path: Path) -> Problem | None:
    """Return which other processes have the file open.

    Only Linux reports them, and only processes that this user may inspect.
    """
    names = {str(path), *map(str, _files_beside(path))}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_open = any(os.readlink(file) in names for file in (process / "fd").iterdir())
            name = (process / "comm").read_text("utf-8", "replace").strip()
        except OSError:  # another user's process, or it has just ended
            continue
        if is_open and process.name != str(os.getpid()):
            found.append(f"process {process.name} (`{name}`)")
    if not found:
        return None
    have = "has" if len(found) == 1 else "have"
    return (
        f"{', '.join(sorted(found))} {have} it open",
        "Wait until it ends, or stop it if it hangs. Then repeat the command.",
    )


def _empty_file_problem(path: Path) -> Problem | None:
    """Return a problem if the file is empty, after a failed copy or a wrong command."""
    if not os.path.isfile(path) or os.path.getsize(path):
        return None
    fix = (
        f"Move it away: `mv {quote(str(path))} {quote(f'{path}.empty')}`. Then restore a "
        "backup, or start a new store with `brenner init`."
    )
    return "the file is empty", fix


_PROBLEM_FINDERS: dict[str, Callable[[Path], Problem | None]] = {
    codes.STORE_READ_ONLY.id: _write_problem,
    codes.STORE_UNUSABLE.id: _write_problem,
    codes.STORE_BUSY.id: in_use_problem,
    codes.STORE_FOREIGN.id: _empty_file_problem,
}


def _permissions(path: Path) -> str:
    """Return ` (mode 0600, of root)`, or nothing if the permissions cannot be read."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    try:
        owner = path.owner()
    except (KeyError, NotImplementedError):
        owner = f"user {seen.st_uid}"
    return f" (mode {seen.st_mode & 0o7777:04o}, of {owner})"


def file_system_check(path: Path, mounts: str) -> Finding:
    """Check whether the store is on a network file system."""
    kind = file_system(os.path.realpath(path), mounts)
    if kind is None:
        return "The kind of file system is unknown on this system."
    if kind.removeprefix("fuse.") not in _NETWORK_FILE_SYSTEMS:
        return kind
    return Check(
        WARNING,
        f"The store is on `{kind}`, which several machines can share. SQLite is safe there only "
        "if all its processes run on one machine.",
        "Keep the store on a local disk: `--store sqlite:////PATH`, or `store` in `brenner.toml`.",
    )


def file_system(path: str, mounts: str) -> str | None:
    """Return the type of the file system of an absolute path, from the text of /proc/mounts."""
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) <= _TYPE_FIELD:
            continue
        point = fields[_TYPE_FIELD - 1]
        for escape, character in _ESCAPES.items():
            point = point.replace(escape, character)
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # A later mount hides an earlier one.
        if inside and len(point) >= len(best):
            best, kind = point, fields[_TYPE_FIELD]
    return kind


def read_mounts() -> str:
    """Return the text of /proc/mounts; empty on systems without it."""
    try:
        return Path("/proc/mounts").read_text("utf-8", "replace")
    except OSError:
        return ""


def space_check(path: Path, free: int | None = None) -> Finding:
    """Check the free disk space."""
    try:
        free = shutil.disk_usage(nearest_existing(path)).free if free is None else free
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return Check(WARNING, f"Cannot determine the free space on its disk: {reason}.")
    unit, divisor = ("GB", _GIGABYTE) if free >= _GIGABYTE else ("MB", _MEGABYTE)
    words = f"{free / divisor:,.1f} {unit} free"
    if free < _LITTLE_SPACE:
        return Check(WARNING, f"Only {words} on the store's disk.", "Free some space on it.")
    return words


def nearest_existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def _sqlite_write_check(mailbox: SqliteMailbox) -> Finding:
    mailbox.database.probe_write()
    return "a trial write succeeded and was rolled back"


def _journal_check(mailbox: SqliteMailbox) -> Finding:
    mode = mailbox.database.journal_mode
    if mailbox.database.is_immutable:
        return "not checked: the store is read-only here"
    if mode == "wal":
        return "WAL: readers and the writer do not block each other"
    path = mailbox.database.path
    return Check(
        WARNING,
        f"The store is in journal mode `{mode}`: readers and writers block each other.",
        "Close every program that uses it, then run "
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
    "absent": "SELECT has_database_privilege(current_database(), 'CREATE')",
    "empty": "SELECT has_schema_privilege(%(schema)s, 'CREATE')",
}
_ASK_FOR_SCHEMA = (
    "Ask the database administrator for `CREATE SCHEMA {schema} AUTHORIZATION …`, or for "
    "`GRANT CREATE ON DATABASE {database} TO …`."
)
_NOW = "SELECT clock_timestamp()"
_POSTGRES_TLS = (
    "Require TLS in the address: `?sslmode=verify-full`, with `sslrootcert=FILE` for your own "
    "certificate. The server needs `ssl = on`."
)


def _open_postgres(
    context: DoctorContext, store: PostgresStore, stack: ExitStack
) -> Generator[Check, None, Rows | None]:
    """Open the store and return the checks of its mail; if that fails, yield why."""
    name = "server"
    try:
        server = Server(store.address)
        started = time.perf_counter()
        with closing(server.connect()) as connection:
            seconds = time.perf_counter() - started
            server_check = partial(_postgres_server_check, server, connection, seconds)
            yield from run_rows({"server": server_check})
            name = "store"
            missing = _missing_schema(server, connection)
        if missing:
            yield named_check("store", missing)
            return None
        mailbox = stack.enter_context(PostgresMailbox.open(store.address))
    except BrennerError as error:
        yield named_check(name, error.diagnostic)
        return None
    return _postgres_rows(mailbox, context, server)


def _postgres_rows(mailbox: PostgresMailbox, context: DoctorContext, server: Server) -> Rows:
    where = server.where
    shown = f"the schema `{server.schema}` in {where} ({context.project.store_from})"
    sound = "no message is missing, and every one matches its hash"
    write = "a trial write succeeded and was rolled back, in"
    return {
        "store": lambda: f"{shown}, format {mailbox.database.version}",
        "write": lambda: f"{write} {timed(mailbox.database.probe_write)}",
        "notify": lambda: _notify_check(server),
        "integrity": lambda: _integrity_check(mailbox.integrity(), where, sound),
        **_mail_rows(mailbox, context, where),
        "clock": lambda: _postgres_clock_check(mailbox, context, server),
    }


def _postgres_server_check(
    server: Server, connection: PostgresConnection, seconds: float
) -> Finding:
    """Check the server's version, its round trip time, and encryption."""
    trips = []
    for _ in range(_ROUND_TRIPS):
        started = time.perf_counter()
        with translate_errors(server):
            connection.execute("SELECT 1").fetchall()
        trips.append(time.perf_counter() - started)
    number = connection.info.server_version
    words = (
        f"PostgreSQL {number // 10_000}.{number % 10_000}; connected in {milliseconds(seconds)}, a "
        f"round trip takes {milliseconds(median(trips))}"
    )
    host = connection.info.hostaddr or connection.info.host
    is_encrypted = connection.pgconn.ssl_in_use
    return encryption_check(words, host, is_encrypted=is_encrypted, fix=_POSTGRES_TLS)


def _missing_schema(server: Server, connection: PostgresConnection) -> Finding | None:
    """Return whether a missing schema can be created; None if it exists."""
    with translate_errors(server):
        state = Schema(server, connection).state()
        if state not in _MAY_CREATE:
            return None
        row = connection.execute(_MAY_CREATE[state], {"schema": server.schema}).fetchone()
    if row and row[0]:
        return f"the schema `{server.schema}` {_NOT_YET}"
    reason = f"the role has no permission to create tables in the schema `{server.schema}`"
    advice = _ASK_FOR_SCHEMA.format(schema=server.schema, database=server.database)
    return codes.SERVER_DENIED.at(where=server.where, reason=reason, advice=advice)


def _notify_check(server: Server) -> Finding:
    """Check that NOTIFY reaches a waiting client; a connection pooler may drop it."""
    channel = f"brenner doctor {secrets.token_hex(8)}"
    listen = sql.SQL("LISTEN {}").format(sql.Identifier(channel))
    with closing(server.connect()) as listener, closing(server.connect()) as notifier:
        with translate_errors(server):
            listener.execute(listen)
            started = time.perf_counter()
            notifier.execute("SELECT pg_notify(%s, '')", (channel,))
            received = list(listener.notifies(timeout=_NOTIFY_SECONDS, stop_after=1))
        taken = milliseconds(time.perf_counter() - started)
    if received:
        return f"a notification arrived after {taken}"
    return Check(
        WARNING,
        f"No notification arrived within {_NOTIFY_SECONDS:g} seconds, so waiting clients react "
        "late.",
        "Connect to the server directly, or use session pooling. Transaction pooling (PgBouncer) "
        "drops LISTEN/NOTIFY.",
    )


def _postgres_clock_check(
    mailbox: PostgresMailbox, context: DoctorContext, server: Server
) -> Finding:
    """Compare this clock with the server's, which gives the times of the mail."""
    with closing(server.connect()) as connection, translate_errors(server):
        row = connection.execute(_NOW).fetchone()
    now = row[0] if row and isinstance(row[0], datetime) else context.now
    apart = now - context.now
    if abs(apart) <= CLOCKS_DIFFER:
        return _clock_check(mailbox, now)
    how = "behind" if apart > timedelta(0) else "ahead of"
    minutes = f"{abs(apart) / timedelta(minutes=1):,.0f} minutes"
    return Check(
        WARNING,
        f"This machine's clock is {minutes} {how} the server's, which sets the times of mail.",
        "Correct the clock that is wrong. A wrong clock here makes ACKs overdue too early or too "
        "late. A wrong clock there gives mail wrong times.",
    )


# The Agent Mail store. Messages cannot be deleted there, so the checks send none.


_HEALTH = "health_check"
_NEEDED = ("ensure_project", "register_agent", "send_message", "fetch_inbox")
# Optional tools, and what is lost without them
_USEFUL = {
    "mark_message_read": "messages cannot be marked as read",
    "acknowledge_message": "other clients of the server do not see acknowledgements",
}
_AGENT_MAIL_TLS = (
    "Put TLS in front of the server and write `agent-mail+https://…`, or use a tunnel such as "
    "`ssh -L`."
)


def _open_agent_mail(
    context: DoctorContext, store: AgentMailStore, stack: ExitStack
) -> Generator[Check, None, Rows | None]:
    """Open the store and return the checks of its mail; if that fails, yield why."""
    name, project = "server", store.address.project or ""
    try:
        client = stack.enter_context(closing(Client(store.address.url or "", store.token)))
        yield named_check("server", _agent_mail_server_check(client, store))
        yield from run_rows({"tools": lambda: _tools_check(client)})
        name = "store"
        if find_project(client, project) is None:
            yield named_check("store", f"the project `{project}` {_NOT_YET}")
            yield named_check("lacks", _lacks())
            yield named_check("operator", _new_operator_check(context.project, store.shown))
            return None
        mailbox = stack.enter_context(AgentMailMailbox.open(store.address, store.token))
    except BrennerError as error:
        yield named_check(name, error.diagnostic)
        return None
    # Existing projects are not changed by `ensure_project`, but it needs the permission to write.
    write = "allowed: `ensure_project` answers in {}; no trial message, because it would stay"
    shown = f"the project `{project}` ({context.project.store_from}) exists there"
    return {
        "store": lambda: shown,
        "write": lambda: write.format(timed(lambda: ensure_project(client, project))),
        "lacks": _lacks,
        **_mail_rows(mailbox, context, store.shown),
    }


def _agent_mail_server_check(client: Client, store: AgentMailStore) -> Finding:
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


def _tools_check(client: Client) -> Finding:
    """Check that the server has the tools that are needed; servers differ."""
    needed = [name for name in _NEEDED if not client.offers(name)]
    if needed:
        what = f"the tools {', '.join(f'`{name}`' for name in needed)}"
        return codes.SERVER_LACKS.at(where=client.where, what=what)
    lost = [f"no `{name}`: {why}" for name, why in _USEFUL.items() if not client.offers(name)]
    if lost:
        fix = "Mail works without them. To have them, start the server with all its tools."
        return Check(WARNING, f"It has the required tools, but {'; '.join(lost)}.", fix)
    return "it has all required and optional tools"


def _lacks() -> str:
    """Return the capabilities that this store lacks, which is not a fault."""
    lacks = AgentMailMailbox.lacks
    return "not supported: " + "; ".join(f"{each} ({why})" for each, why in lacks.items())
