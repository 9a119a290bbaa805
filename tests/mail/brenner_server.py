"""Our own server, as the home of mail: each test has one, over an embedded store of its own.

Its operator is somebody of whom no test speaks: her name is refused to all others, and the tests
of the contract use every name that they like.
"""

from contextlib import ExitStack
from pathlib import Path

from brenner.config import Project
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.store_url import AgentMailAddress
from serving.running import Inside, inside

_OPERATOR = "SomebodyElse"


class _Open:
    """A server that answers, and what ends it."""

    def __init__(self, folder: Path) -> None:
        with ExitStack() as stack:
            mailbox = stack.enter_context(SqliteMailbox.create(folder / "served.sqlite3"))
            project = Project(folder, operator=_OPERATOR)
            self.server: Inside = stack.enter_context(
                inside(mailbox, project, knows_operator=False)
            )
            self.end = stack.pop_all().close


_open: dict[Path, _Open] = {}


def address(folder: Path) -> AgentMailAddress:
    """Where the mail of that folder is served; the server is started where there is none."""
    if folder not in _open:
        folder.mkdir(parents=True, exist_ok=True)
        _open[folder] = _Open(folder)
    return AgentMailAddress(_open[folder].server.url, str(folder))


def end(folder: Path) -> None:
    """End the server of that folder."""
    if folder in _open:
        _open.pop(folder).end()
