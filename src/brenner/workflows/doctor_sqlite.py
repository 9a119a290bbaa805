"""Looking at the embedded store: the file, what is in it, and the disk that it is on."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shlex import quote

from brenner.config import Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.sqlite.mailbox import SqliteMailbox
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
from brenner.workflows.doctor_mail import (
    NOT_YET,
    Look,
    Visit,
    identity,
    integrity,
    looked_at,
    of_mail,
)
from brenner.workflows.surroundings import (
    OK,
    WARNING,
    Check,
    file_system_check,
    mounts,
    space_check,
)

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
