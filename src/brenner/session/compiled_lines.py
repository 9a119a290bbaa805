"""Lines of a COMPILED body: lists that are never long, and the commands that show the rest."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.truncate import how_many
from brenner.protocol.body import quoted
from brenner.session.publication import Publication

MOST_LISTED = 50
MOST_TITLE = 120
MOST_NAME = 64
MOST_ID = 24

_Each = TypeVar("_Each")


def section(name: str, lines: Iterable[str]) -> str:
    """A section of the body."""
    text = "\n".join(lines)
    return f"## {name}\n{text}\n"


def bounded(found: Sequence[_Each], line: Callable[[_Each], str], command: str) -> list[str]:
    """A line for each of them; of too many for the first ones, and the command that shows all."""
    lines = [line(each) for each in found[:MOST_LISTED]]
    more = how_many(found[MOST_LISTED:])
    return lines if more <= 0 else [*lines, f"- and {more} more: `{command}`"]


def fault(found: Diagnostic) -> str:
    """What is wrong, and how to mend it."""
    return f"{quoted(found.message)} {quoted(found.fix)}"


def command(name: str, of: Publication) -> str:
    """A command of `brenner artifact` on this version."""
    return f"brenner artifact {name} {target(of, of.version)}"


def target(of: Publication, version: int | None = None) -> str:
    """The thread, or a version of it, as commands take it."""
    return _thread(of) + (f"@v{version}" if version is not None else "")


def _thread(of: Publication) -> str:
    """The thread as commands take it. Its ID may begin with `-` and is no option then."""
    return f"-- {of.thread_id}" if of.thread_id.startswith("-") else of.thread_id
