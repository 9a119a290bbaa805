"""Violations in the answers of our own tools.

What is wrong with the caller's own text is told in plain words. What follows from the thread may
quote the work of others, and is framed.
"""

from collections.abc import Iterable, Iterator

from brenner.diagnostics.model import Diagnostic
from brenner.mcp.framing import Foreign
from brenner.mcp.told import in_tools


def own_json(found: Diagnostic) -> dict[str, object]:
    """A violation in what the caller wrote."""
    return in_tools(found).to_json()


def thread_json(found: Diagnostic) -> dict[str, object]:
    """A violation that the thread tells of; its fix is ours."""
    document = in_tools(found).to_json()
    texts = {"repaired", "readings", "suggestion", "item", "field"} & document.keys()
    return {
        **document,
        "message": Foreign(found.message),
        **{name: _foreign(document[name]) for name in texts},
    }


def _foreign(value: object) -> object:
    if isinstance(value, list):
        return [Foreign(str(each)) for each in value]
    return Foreign(str(value))


def own_lines(violations: Iterable[Diagnostic]) -> Iterator[str]:
    """Each in one line. Lines count in the text that was given."""
    for found in map(in_tools, violations):
        place = f" line {found.line}" if found.line else ""
        yield f"- {found.severity.value} {found.id}{place}: {found.message} Fix: {found.fix}"


def thread_lines(violations: Iterable[Diagnostic]) -> Iterator[str | Foreign]:
    """The same for what the thread tells of."""
    for found in map(in_tools, violations):
        yield f"- {found.severity.value} {found.id}:"
        yield Foreign(found.message)
        yield f"  Fix: {found.fix}"


def in_delta(found: Diagnostic) -> Diagnostic:
    """A violation in a composed message, told by the number of the delta instead of a line."""
    if found.block is None:
        return found._replace(line=None)
    where = f" (`{found.field}`)" if found.field else ""
    said = f"Delta {found.block}{where}: {found.message}"
    return found._replace(line=None, message=said, repaired=None)
