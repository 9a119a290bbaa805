"""How an agent is told that something was not done: what is wrong, where, and how to mend it.

The words are those of the catalogue, but who calls tools has no command line: where a fix names a
command, the tool that does the same is named instead.
"""

import json
from collections.abc import Iterable, Mapping

from brenner.diagnostics.codes import mail, search
from brenner.diagnostics.codes.message_body import ACK_MISMATCH, MB_009, MB_010, MB_011, MB_012
from brenner.diagnostics.errors import BrennerError
from brenner.diagnostics.model import Code, Diagnostic, Summary, worst_first
from brenner.diagnostics.nearest import perhaps
from brenner.mcp.tool import Answer

_WHO = "`resource://agents/{project}` lists who is known."
_INSTEAD: dict[Code, str] = {
    mail.UNKNOWN_SENDER: "Correct `sender_name`, or register it first: `register_agent`.",
    mail.UNKNOWN_RECIPIENT: f"Correct the name in `to` or `cc`. {_WHO}",
    mail.NO_SUCH_AGENT: "Correct the name. If it is your own and new, register it first: "
    f"`register_agent`. {_WHO}",
    mail.SENT_TO_NOBODY: f"Name at least one recipient in `to`. {_WHO}",
    mail.UNKNOWN_MESSAGE: "Check the number: `fetch_inbox` and `resource://thread/{id}` give the "
    "ids.",
    mail.UNKNOWN_THREAD: "Check the ID: the messages in `fetch_inbox` have it as `thread_id`.",
    mail.NOT_A_RECIPIENT: "Name a message that you received: `fetch_inbox` lists them.",
    **dict.fromkeys(
        (ACK_MISMATCH, MB_009, MB_010, MB_011, MB_012),
        "Leave `ack_required` out: the type of the message decides.",
    ),
    search.EMPTY_QUERY: 'Give words, a "phrase", or a filter such as `type:DELTA`. `fetch_inbox` '
    "gives all that you received.",
    search.FILTER_NEEDS_READER: "Leave the filter out: `fetch_inbox` gives what you received.",
}


def in_tools(found: Diagnostic) -> Diagnostic:
    """The same with a fix that names tools instead of commands, where there is such a one."""
    fix = _INSTEAD.get(found.code)
    if fix is None:
        return found
    return found._replace(fix=f"{fix}{perhaps(found.suggestion)}")


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
