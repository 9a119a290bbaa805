"""Looking at everything that a project needs, and saying what is wrong and how to mend it.

Nothing is created. A store that is there is opened, as every command does that reads it; a write
is tried and taken back.
"""

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import apsw

from brenner.diagnostics.codes import store as codes
from brenner.diagnostics.errors import BrennerError
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.mail.names import name_refusal
from brenner.mail.open import SqliteStore, store_of
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.project import SETTINGS_FILE, Project
from brenner.thread.posted import iso
from brenner.workflows.access import (
    Obstacle,
    existing,
    obstacle_by_emptiness,
    obstacle_by_others,
    obstacle_to_making,
    obstacle_to_reading,
    obstacle_to_writing,
    why_no_folder,
)
from brenner.workflows.init_project import about_operator
from brenner.workflows.pending import pending
from brenner.workflows.project_files import persisting_check, roster_check, source_text_check
from brenner.workflows.surroundings import (
    OK,
    PROBLEM,
    WARNING,
    Check,
    brenner_check,
    counted,
    file_system_check,
    git_check,
    mounts,
    python_check,
    space_check,
    sqlite_check,
)

_CLOCKS_DIFFER = timedelta(minutes=1)
_MOST_PROBLEMS = 5
_NO_FOLDER = (
    "Mount the disk that it is on, or bring the folder back; if it is not needed, remove it."
)
_TASK = "operator"  # of whom a mailbox knew as such when it was opened for writing


class Visit(NamedTuple):
    """Whose project is looked at, for whom, and when."""

    project: Project
    actor: str | None
    now: datetime


class _Open(NamedTuple):
    """A visit to a store that could be opened."""

    mailbox: SqliteMailbox
    visit: Visit


def examine(visit: Visit) -> Iterator[Check]:
    """Every check, each as soon as it is made: some take their time in a large store."""
    project = visit.project
    store = _store_of(project)
    yield python_check()
    yield brenner_check()
    yield sqlite_check(apsw.sqlite_lib_version())
    yield git_check(store if isinstance(store, Path) else None)
    yield Check("project", OK, f"{project.folder} ({project.folder_from})")
    yield from _settings(project)
    if not any(found.severity is ERROR for found in project.diagnostics):
        yield roster_check(project)
        yield source_text_check(project)
        yield persisting_check(project)
    if isinstance(store, Path):
        yield from _mail(visit, store)
    else:
        yield store
        yield _identity(visit, None)


def is_fine(checks: tuple[Check, ...]) -> bool:
    """Whether there is no problem; warnings are fine."""
    return all(check.status is not PROBLEM for check in checks)


def _store_of(project: Project) -> Path | Check:
    """The file to look at, or why there is none."""
    if any(found.severity is ERROR for found in project.diagnostics):
        detail = f"It was not looked at: `{SETTINGS_FILE}` may say where it is."
        return Check("store", WARNING, detail, f"Mend `{SETTINGS_FILE}` first.")
    try:
        store = store_of(project)
    except BrennerError as error:
        return Check.of("store", error.diagnostic)
    return store.path if isinstance(store, SqliteStore) else Check("store", OK, store.shown)


def _settings(project: Project) -> Iterator[Check]:
    for found in project.diagnostics:
        yield Check.of("settings", found)
    if project.diagnostics:
        return
    has_file = os.path.lexists(project.folder / SETTINGS_FILE)
    source = f"`{SETTINGS_FILE}`" if has_file else f"no `{SETTINGS_FILE}`, the defaults"
    hours = project.ack_deadline / timedelta(hours=1)
    words = f"{source}: the operator is `{project.operator}`, an ACK is due after {hours:g} h"
    yield Check("settings", OK, words)


def _mail(visit: Visit, path: Path) -> Iterator[Check]:
    """The store, what is in it, and the disk that it is on."""
    reason = why_no_folder(path)
    obstacle = Obstacle(reason, _NO_FOLDER) if reason else obstacle_to_reading(path)
    if obstacle:
        yield _unusable(path, obstacle)
        yield _identity(visit, None)
    elif os.path.lexists(path):
        yield from _inside(visit, path)
    else:
        yield _not_there(visit.project, path)
        yield _identity(visit, None)
    yield file_system_check(existing(path), mounts())
    yield space_check(path)


def _unusable(path: Path, obstacle: Obstacle) -> Check:
    found = codes.STORE_UNUSABLE.at(path=str(path), reason=obstacle.reason)
    return Check.of("store", found)._replace(fix=obstacle.fix)


def _explained(name: str, found: Diagnostic, path: Path) -> Check:
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
    words = "is not there yet; `brenner init` or the first message makes it"
    return Check("store", OK, f"{_place(project, path)} {words}")


def _inside(visit: Visit, path: Path) -> Iterator[Check]:
    """Everything that can be seen of a store; one check that fails does not stop the others."""
    try:
        mailbox = SqliteMailbox.open(path)
    except BrennerError as error:
        yield _explained("store", error.diagnostic, path)
        yield _identity(visit, None)
        return
    with mailbox:
        told: set[str] = set()
        for name, check in _INSIDE.items():
            try:
                yield check(_Open(mailbox, visit))
            except BrennerError as error:
                found = error.diagnostic
                yield _same(name, found) if found.id in told else _explained(name, found, path)
                told.add(found.id)


def _same(name: str, found: Diagnostic) -> Check:
    """One fault is told once, however many checks it stops."""
    return Check(name, WARNING, "It could not be looked at, for the same reason.", id=found.id)


def _opened(at: _Open) -> Check:
    project, database = at.visit.project, at.mailbox.database
    words = f"{_place(project, database.path)} ({project.store_from}), format {database.version}"
    return Check("store", OK, words)


def _write(at: _Open) -> Check:
    at.mailbox.database.probe()
    return Check("write", OK, "a write was tried and taken back")


def _integrity(at: _Open) -> Check:
    problems = at.mailbox.integrity()
    if not problems:
        return Check("integrity", OK, "the file is sound, and every message has its hash")
    words = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    reason = f"{words}; and {more} more" if more > 0 else words
    found = codes.STORE_CORRUPT.at(path=str(at.mailbox.database.path), reason=reason)
    return Check.of("integrity", found)._replace(is_content=True)


def _amount(at: _Open) -> Check:
    messages, agents = at.mailbox.position(), len(at.mailbox.agents())
    return Check("mail", OK, f"{counted(messages, 'message')}, {counted(agents, 'agent')}")


def _journal(at: _Open) -> Check:
    mode = at.mailbox.database.journal_mode
    if at.mailbox.database.is_still:
        return Check("journal", OK, "not looked at: the store can only be read here")
    if mode == "wal":
        return Check("journal", OK, "WAL: readers and the writer do not wait for each other")
    path = at.mailbox.database.path
    return Check(
        "journal",
        WARNING,
        f"The store is in journal mode `{mode}`: readers and writers wait for each other.",
        "Close every program that uses it, then set it back with the program sqlite3: "
        f"`sqlite3 {quote(str(path))} 'PRAGMA journal_mode = wal'`.",
    )


def _operator(at: _Open) -> Check:
    """Whether the operator can be known here, and is the only one."""
    name, agents = at.visit.project.operator, at.mailbox.agents()
    known = {agent.name for agent in agents}
    found = None if name in known else name_refusal(name, known)
    if found:
        return Check.of("operator", about_operator(found))
    others = [agent.name for agent in agents if agent.task == _TASK and agent.name != name]
    if others:
        return Check(
            "operator",
            WARNING,
            f"The operator is `{name}`, but so was {_quoted(others)}: mail to a name that nobody "
            "uses any more is read by nobody.",
            f"If that is the operator, write the name into `{SETTINGS_FILE}`: "
            f'`operator = "{others[0]}"`. If not, tell the agents that it is `{name}` now.',
        )
    state = "is registered" if name in known else "will be registered by the first message"
    return Check("operator", OK, f"`{name}` {state}")


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _registered(at: _Open) -> Check:
    return _identity(at.visit, tuple(agent.name for agent in at.mailbox.agents()))


def _identity(visit: Visit, known: tuple[str, ...] | None) -> Check:
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


def _clock(at: _Open) -> Check:
    """Mail from the future stays behind all later mail until its time comes (R9)."""
    now = at.visit.now.replace(microsecond=0)
    latest = now + _CLOCKS_DIFFER
    ahead = [thread for thread in at.mailbox.threads() if thread.last_at > latest]
    if not ahead:
        return Check("clock", OK, f"{iso(now)}; no message is dated later")
    newest = at.mailbox.thread(ahead[0].thread_id, limit=1).messages[0]
    return Check(
        "clock",
        WARNING,
        f"It is {iso(now)} here, and messages of a later time are in "
        f"{counted(len(ahead), 'thread')}; the latest is #{newest.id}, "
        f"{iso(newest.at.replace(microsecond=0))}.",
        "Set this machine's clock right. If it is right, they were sent when a clock was wrong: "
        "until their time comes they stand behind whatever is sent now.",
    )


def _acks(at: _Open) -> Check:
    project, now = at.visit.project, at.visit.now
    owed = pending(at.mailbox, now, project.ack_deadline)
    overdue = sum(each.is_overdue for each in owed)
    if not overdue:
        words = f"{counted(len(owed), 'ACK')} owed, none overdue" if owed else "none is owed"
        return Check("acks", OK, words)
    return Check(
        "acks",
        WARNING,
        f"{counted(overdue, 'ACK')} overdue, {len(owed)} owed in all.",
        "`brenner mail pending` says by whom; `--resend` and `--escalate` remind them.",
    )


_INSIDE: dict[str, Callable[[_Open], Check]] = {
    "store": _opened,
    "write": _write,
    "integrity": _integrity,
    "mail": _amount,
    "journal": _journal,
    "operator": _operator,
    "identity": _registered,
    "clock": _clock,
    "acks": _acks,
}


def _place(project: Project, path: Path) -> str:
    """The path as it is seen from the project's folder."""
    inside = path.is_relative_to(project.folder)
    return f"`{path.relative_to(project.folder) if inside else path}`"
