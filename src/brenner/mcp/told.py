"""How an agent is told that something was not done: what is wrong, where, and how to mend it.

The words are those of the catalogue, but for fixes that need a command line (`mcp/fixes.py`).
"""

import json
from collections.abc import Iterable, Mapping

from brenner.diagnostics.model import BrennerError, Diagnostic, Summary, worst_first
from brenner.mcp.fixes import in_words_of_tools
from brenner.mcp.tool import Answer
from brenner.text import perhaps


def in_tools(found: Diagnostic) -> Diagnostic:
    """The same with a fix that names tools instead of commands, or the operator."""
    fix = in_words_of_tools(found.code, found.fix)
    if fix == found.fix:
        return found
    is_said = found.suggestion and found.suggestion in fix
    return found._replace(fix=fix if is_said else f"{fix}{perhaps(found.suggestion)}")


def refused(
    violations: Iterable[Diagnostic], corrected: Mapping[str, object] | None = None
) -> Answer:
    """The answer that nothing was done, and why; `corrected` are arguments to call again with."""
    found = sorted(map(in_tools, violations), key=worst_first)
    lines = [line_of(each) for each in found]
    if corrected is not None:
        lines += ["Corrected, ready to send:", json.dumps(corrected, ensure_ascii=False)]
    return Answer(document(found, corrected), "\n".join(lines), is_error=True)


def failed(error: BrennerError) -> Answer:
    """The answer to a request that cannot be granted, or to one that the world is in the way of."""
    answer = refused([error.diagnostic])
    if not error.details:
        return answer
    return answer._replace(text="\n\n".join((answer.text or "", *error.details)))


def document(
    violations: Iterable[Diagnostic], corrected: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The structured form of an error; keys are only ever added."""
    found = list(violations)
    return {
        "error": found[0].to_json() if found else None,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
        "corrected": corrected,
    }


def line_of(found: Diagnostic) -> str:
    """One violation in one line. Lines count in `body_md`."""
    place = f" line {found.line}" if found.line else ""
    return f"{found.id}{place}: {found.message} Fix: {found.fix}"
