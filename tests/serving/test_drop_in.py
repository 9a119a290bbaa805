"""The same calls to the real Agent Mail server and to ours: where they differ stands in a table."""

import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brenner.config import Project
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from mail.backends import AGENT_MAIL, Place, agent_mail_address
from servers import agent_mail
from serving.drop_in_forms import Difference, differences
from serving.drop_in_play import Play
from serving.drop_in_script import ANN, BEA, KICKOFF, SCRIPT, SESSION
from serving.running import inside

TABLE = tomllib.loads(Path(__file__).with_name("differences.toml").read_text("utf-8"))["difference"]
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "agent-mail-differences.md"
HEAD = ("| | Agent Mail | here | why |", "|---|---|---|---|")


class Pattern(NamedTuple):
    """Differences that are known: in which steps, where, and between what."""

    step: str
    at: str
    theirs: str
    ours: str

    def fits(self, found: Difference) -> bool:
        """Whether this is one of them."""
        return all(map(fnmatchcase, found, self))


def _patterns() -> Iterator[Pattern]:
    for row in TABLE:
        for seen in row["seen"]:
            places = seen["at"] if isinstance(seen["at"], list) else [seen["at"]]
            yield from (Pattern(**{**seen, "at": at}) for at in places)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Difference]:
    """All differences."""
    folder = tmp_path_factory.mktemp("drop-in")
    key = str(agent_mail_address(folder).project)
    with Place(AGENT_MAIL, folder):
        theirs = Play(agent_mail.running().ask, key).forms()
    project = Project(Path(key), operator="SomebodyElse")
    with (
        SqliteMailbox.create(folder / "mail.sqlite3") as mailbox,
        inside(mailbox, project, knows_operator=False) as server,
    ):
        # No request opens a session there without a secret, so the operator's command does.
        kickoff = Message(SESSION, ANN, (BEA,), "KICKOFF: Fate", KICKOFF)
        opening = {"a session's mail": lambda: mailbox.send(kickoff)}
        ours = Play(server.ask, key, opening).forms()
    return [
        each
        for step in SCRIPT
        for each in differences(step.name, theirs[step.name], ours[step.name])
    ]


def test_every_difference_is_known(found: list[Difference]) -> None:
    """What is not in the table is a fault of ours, or belongs there."""
    patterns = list(_patterns())
    assert [each for each in found if not any(one.fits(each) for one in patterns)] == []


def test_every_row_is_a_difference(found: list[Difference]) -> None:
    """What is the same by now goes."""
    assert [each for each in _patterns() if not any(map(each.fits, found))] == []


def test_the_page_shows_the_table() -> None:
    """As it stands here, row by row."""
    lines = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("|")]
    assert lines == [*HEAD, *map(_line, TABLE)]


def _line(row: dict[str, Any]) -> str:
    return "| " + " | ".join(row[name] for name in ("what", "agent_mail", "here", "because")) + " |"


def test_steps_have_names_of_their_own() -> None:
    """Else one would stand for two."""
    assert len({step.name for step in SCRIPT}) == len(SCRIPT)
