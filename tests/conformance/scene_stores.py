"""In which homes a scene is played.

In every home that can do what its steps need. That is read from the steps; a case says only what
they do not show (`needs`), or that it is about some homes (`homes`). On Agent Mail, which is slow,
only those of on_agent_mail.toml are, and at our own server, to which the same adapter goes, a
handful, unless BRENNER_ALL_SCENES says otherwise.
"""

import os
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
    Home,
    agent_mail_address,
    brenner_address,
    postgresql_address,
    sqlite_file,
)

Case = dict[str, Any]
ON_AGENT_MAIL: tuple[str, ...] = tuple(
    name
    for row in tomllib.loads((Path(__file__).parent / "on_agent_mail.toml").read_text("utf-8"))[
        "played"
    ]
    for name in row["cases"]
)
# Who owes what, odd texts, mail that is wrong, a kickoff, and versions. Scenes in which somebody
# without the secret leads cannot be played there: that is what the server refuses.
ON_BRENNER_SERVER = (
    "mail-ack-of-several-some-wrong",
    "mail-stored-as-given",
    "mail-send-delta-with-one-bad-block",
    "kickoff-three-roles",
    "version-lifecycle",
)
_CHOSEN = {AGENT_MAIL.name: ON_AGENT_MAIL, BRENNER_SERVER.name: ON_BRENNER_SERVER}
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


def homes_of(case: Case) -> tuple[Home, ...]:
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


def is_able(home: Home, case: Case) -> bool:
    """Whether the scene can be played there."""
    return not needs(case) & home.lacks.keys()


def _is_wanted(home: Home, case: Case) -> bool:
    if home.name in _CHOSEN and not os.environ.get("BRENNER_ALL_SCENES"):
        return case["name"] in _CHOSEN[home.name]
    return home.name in case.get("homes", [home.name])


def address_of(home: Home, folder: Path) -> str:
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
