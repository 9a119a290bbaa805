"""In which homes a scene is played.

In every home that can do what its steps need. That is read from the steps; a case says only what
they do not show (`needs`), or that it is about some homes (`homes`). At our own server, to which
the adapter of Agent Mail goes, a handful are. `make test` plays all of them in memory and on
SQLite, those of chosen_scenes.toml on PostgreSQL, and the handful on Agent Mail and our own server.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from brenner.mail.mailbox import Capability
from brenner.store_url import PostgresAddress, SqliteAddress, StoreAddress
from mail.backends import (
    AGENT_MAIL,
    ALL_HOMES,
    BRENNER_SERVER,
    POSTGRESQL,
    SQLITE,
    Backend,
    agent_mail_address,
    brenner_address,
    postgresql_address,
    sqlite_file,
)

Case = dict[str, Any]
_ROWS = tomllib.loads((Path(__file__).parent / "chosen_scenes.toml").read_text("utf-8"))["scenes"]
# The name of each chosen scene with the name of the server
CHOSEN = [(name, home) for row in _ROWS for home in row["on"] for name in row["cases"]]
# Steps that ask for something which not every home can do
_NEEDS: tuple[tuple[re.Pattern[str], Capability], ...] = (
    (re.compile(r"[+-]\d+[dhms]\b"), Capability.CLIENT_CLOCK),
    (re.compile(r"due: "), Capability.CLIENT_CLOCK),
    (re.compile(r".*\bat (?:\+\d|\d\d:\d\d)"), Capability.CLIENT_CLOCK),
    (re.compile(r".*\b(?:created|updated|compiled)_at "), Capability.CLIENT_CLOCK),
    (re.compile(r"overdue in .* after "), Capability.CLIENT_CLOCK),
    (re.compile(r".* \([^)]*\bkey \S"), Capability.IDEMPOTENCY_KEYS),
    (re.compile(r".* \([^)]*\bafter \d"), Capability.CONDITIONAL_SENDS),
    (re.compile(r".* \([^)]*\breply to \d"), Capability.REPLY_LINKS),
    (re.compile(r"message \d+ is: .*\banswers \d"), Capability.REPLY_LINKS),
    (re.compile(r"\S+ (?:un)?reads \d"), Capability.READ_MARKS),
    (re.compile(r"inbox of .*\b(?:un)?read\b"), Capability.READ_MARKS),
    (re.compile(r"elsewhere|import |take \d"), Capability.EXACT_RESTORE),
)


def needs(case: Case) -> set[Capability]:
    """What a home must be able to do for this scene."""
    said = {Capability(each) for each in case.get("needs", [])}
    found = {need for line in _lines(case["scene"]) for shape, need in _NEEDS if shape.match(line)}
    return said | found


def _lines(steps: Iterable[str | list[str]]) -> Iterator[str]:
    """The steps that are one line, and the heads of the others."""
    for step in steps:
        yield (step if isinstance(step, str) else step[0]).partition("\n")[0]


def homes_of(case: Case) -> tuple[Backend, ...]:
    """Where the scene is played.

    What git does has nothing to do with where the mail lives: the first home is enough for that.
    Commands need a home that another process can open.
    """
    lines = list(_lines(case["scene"]))
    is_for_others = any("$ " in line for line in lines)
    able = [
        home
        for home in ALL_HOMES
        if is_able(home, case) and (home.again or not is_for_others) and _is_wanted(home, case)
    ]
    return tuple(able[:1] if "git init" in lines and not is_for_others else able)


def is_able(home: Backend, case: Case) -> bool:
    """Whether the scene can be played there."""
    return not needs(case) & home.lacks.keys()


def _is_wanted(home: Backend, case: Case) -> bool:
    if home is BRENNER_SERVER:
        return is_chosen(home, case)
    return home.name in case.get("homes", [home.name])


def is_chosen(home: Backend, case: Case) -> bool:
    """Whether `make test` plays the scene there, though it is a server."""
    return (case["name"], home.name) in CHOSEN


def address_of(home: Backend, folder: Path) -> str:
    """How a command is told of a store in that home."""
    address = ADDRESSES[home.name](folder)
    if isinstance(address, SqliteAddress):
        return f"sqlite:///{address.path}"
    if isinstance(address, PostgresAddress):
        between = "&" if "?" in address.url else "?"
        return f"{address.url}{between}schema={address.schema}"
    return f"agent-mail+{address.url}?project={quote(address.project or '', safe='')}"


ADDRESSES: dict[str, Callable[[Path], StoreAddress]] = {
    SQLITE.name: lambda folder: SqliteAddress(str(sqlite_file(folder))),
    POSTGRESQL.name: postgresql_address,
    AGENT_MAIL.name: agent_mail_address,
    BRENNER_SERVER.name: brenner_address,
}
