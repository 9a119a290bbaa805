"""Errors for agents: what is wrong, where, and how to fix it with tools instead of commands."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.diagnostics.codes.messages import (
    ACK_MISMATCH,
    INVALID_BEAD_ID,
    INVALID_COORD_THREAD_ID,
    INVALID_RS_THREAD_ID,
    MB_009,
    MB_010,
    MB_011,
    MB_012,
    TEMPLATE_NOT_FILLED_IN,
    THREAD_ID_TOO_LONG,
)
from brenner.diagnostics.model import BrennerError, Code, Diagnostic, Summary, worst_first
from brenner.lazy_pattern import lazy_pattern
from brenner.mcp.tool import ToolResult
from brenner.mcp.untrusted_text import ForeignText
from brenner.protocol.delta.schema import SECTIONS, Operation
from brenner.protocol.grammar import AGENT_NAME, ITEM_ID, VERSION
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.text import did_you_mean, escape_control

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

# Fixes for callers of tools, which have no command line
#
# If a fix in the catalogue names a command, an option or a header, this table has it in terms of
# tools. What only a command can fix is for the operator.


_COMMAND = lazy_pattern(
    r"`brenner |(?<![\w-])--[a-z]|\b(?:[Rr]un|[Rr]epeat) the (?:same )?command\b"
)
_TOLD = lazy_pattern(r"\bthe operator\b", re.IGNORECASE)
_WHO = "`resource://agents` lists who is known."
_IDS = "`fetch_inbox` and `resource://thread/{id}` give the ids."
_ACK = "Acknowledge with `acknowledge_message`, which names the message. `brenner_task` lists what "
_LATER = "Nothing was done. Call again in a moment; if that does not help, tell the operator."
_BROKEN = (
    "Nothing was done. Tell the operator, who can look with `brenner doctor`; then call again."
)
_COMPILES = "The operator compiles versions: contribute with `brenner_post` instead."
IN_TOOLS: dict[Code, str] = {
    mail_codes.UNKNOWN_SENDER: "Correct `sender_name`, or register it first: `register_agent`.",
    mail_codes.UNKNOWN_RECIPIENT: f"Correct the name in `to` or `cc`. {_WHO}",
    mail_codes.NO_SUCH_AGENT: "Correct the name. If it is your own and new, register it first: "
    f"`register_agent`. {_WHO}",
    mail_codes.SENT_TO_NOBODY: f"Name at least one recipient in `to`. {_WHO}",
    mail_codes.UNKNOWN_MESSAGE: f"Check the number: {_IDS}",
    mail_codes.UNKNOWN_THREAD: (
        "Check the ID: the messages in `fetch_inbox` have it as `thread_id`."
    ),
    mail_codes.NOT_IN_THREAD: f"Name a message of this thread: {_IDS}",
    mail_codes.NOT_A_RECIPIENT: "Name a message that you received: `fetch_inbox` lists them.",
    mail_codes.THREAD_MOVED: (
        "Read what is new: `resource://thread/{id}`. If yours still holds, call again."
    ),
    mail_codes.KEY_REUSED: (
        "Give each of your messages its own `key`, and use it again only to repeat the very same "
        "call. `resource://message/{id}` shows what was sent under it."
    ),
    mail_codes.REPLY_ELSEWHERE: (
        "Send the answer to that thread, or leave `reply_to` out and name the message in the text."
    ),
    **dict.fromkeys(
        (mail_codes.ACK_NAMES_NOTHING, mail_codes.ACK_OF_UNKNOWN, mail_codes.ACK_BY_OTHER),
        f"{_ACK}you owe.",
    ),
    **dict.fromkeys(
        (ACK_MISMATCH, MB_009, MB_010, MB_011, MB_012),
        "Leave `ack_required` out: the type of the message decides.",
    ),
    TEMPLATE_NOT_FILLED_IN: "Replace each with your own words, or remove its section if it is "
    "optional.",
    # Headers of a message file are arguments of a call.
    **dict.fromkeys(
        (messages_codes.MISSING_HEADER, messages_codes.EMPTY_MESSAGE),
        "Give `sender_name`, `to`, `subject`, `thread_id` and `body_md`, none of them empty.",
    ),
    messages_codes.NO_RECIPIENT: f"Name at least one recipient in `to`. {_WHO}",
    mail_codes.EMPTY_QUERY: (
        'Give words, a "phrase", or a filter such as `type:DELTA`. `fetch_inbox` gives all that '
        "you received."
    ),
    mail_codes.FILTER_NEEDS_READER: "Leave the filter out: `fetch_inbox` gives what you received.",
    # Artifacts
    merging_codes.CONFLICTING_EDIT: (
        "Compare both values: `brenner_artifact` shows the one that stands. Then post an EDIT of "
        "the field, on the version that has the conflict; the value that stands closes it, too."
    ),
    merging_codes.KILL_OVER_UNSEEN_EDITS: (
        "Read what was edited: `brenner_artifact` with `since`. If it answers the reason for the "
        "KILL, post the item again, as improved, with an ADD."
    ),
    publishing_codes.AP_009: "Write the version that you have read, as in `**Base Version**: v2`; "
    "`brenner_artifact` says which one is the latest.",
    **dict.fromkeys((publishing_codes.AP_002, publishing_codes.AP_010), _COMPILES),
    artifacts_codes.NO_VERSION_YET: (
        "Contribute with `brenner_post`: once deltas are in, the operator compiles the first "
        "version."
    ),
    artifacts_codes.UNKNOWN_VERSION: (
        "Give the number of a version that is there: `brenner_artifact` says which one is the "
        "latest."
    ),
    NO_SUCH_ITEM: "Give the ID of an item that is there: `brenner_artifact` shows all of them.",
    # The store, and a server of Agent Mail behind ours
    **dict.fromkeys(
        (stores_codes.STORE_BUSY, stores_codes.SERVER_TIMEOUT, stores_codes.SERVER_LOST), _LATER
    ),
    **dict.fromkeys(
        (
            *(
                stores_codes.STORE_UNUSABLE,
                stores_codes.STORE_FULL,
                stores_codes.STORE_READ_ONLY,
                stores_codes.STORE_CORRUPT,
            ),
            *(stores_codes.STORE_FOREIGN, stores_codes.SERVER_NONSENSE, stores_codes.SERVER_FAILED),
        ),
        _BROKEN,
    ),
    stores_codes.OUTCOME_UNKNOWN: (
        "Look before you call again: `resource://thread/{id}` shows what is there. A "
        "`brenner_post` with a `key` can be repeated at once: nothing is posted twice."
    ),
    stores_codes.MESSAGE_ALTERED: (
        "It is stored: read it with `resource://message/{id}`. Only if it no longer says what it "
        "should, send it again, with a shorter subject and a plain thread ID."
    ),
    stores_codes.NAME_ELSEWHERE: (
        "Register another name, or none: then you get a new one. If it is you, tell the operator,"
        " who can take the name over."
    ),
    stores_codes.HOME_CANNOT: (
        "Do without it: the place where the operator keeps the mail cannot do it."
    ),
}


def fix_for_tools(code: Code, fix: str) -> str:
    """Return the fix for a caller of tools. What needs a command is for the operator to do."""
    if code in IN_TOOLS:
        return IN_TOOLS[code]
    if not names_command(fix) or _TOLD.search(fix):
        return fix
    return f"No tool does it. Tell the operator: {fix}"


def names_command(fix: str) -> bool:
    return _COMMAND.search(fix) is not None


def with_tool_fix(found: Diagnostic) -> Diagnostic:
    """Return the diagnostic with a fix that names tools, or the operator, instead of commands."""
    fix = fix_for_tools(found.code, found.fix)
    if fix == found.fix:
        return found
    is_said = found.suggestion and found.suggestion in fix
    return found._replace(fix=fix if is_said else f"{fix}{did_you_mean(found.suggestion)}")


def refused_result(
    violations: Iterable[Diagnostic], corrected: Mapping[str, object] | None = None
) -> ToolResult:
    """Return the result of a refused call. `corrected` are arguments that work."""
    found = sorted(map(with_tool_fix, violations), key=worst_first)
    lines = [line_of(each) for each in found]
    if corrected is not None:
        lines += ["Corrected, ready to send:", json.dumps(corrected, ensure_ascii=False)]
    return ToolResult(error_json(found, corrected), "\n".join(lines), is_error=True)


def failed_result(error: BrennerError) -> ToolResult:
    answer = refused_result([error.diagnostic])
    if not error.details:
        return answer
    return answer._replace(text="\n\n".join((answer.text or "", *error.details)))


def error_json(
    violations: Iterable[Diagnostic], corrected: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the structured form of an error. Keys are only ever added."""
    found = list(violations)
    return {
        "error": found[0].to_json() if found else None,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
        "corrected": corrected,
    }


def line_of(found: Diagnostic) -> str:
    """Format a violation in one line. Line numbers count in `body_md`."""
    place = f" line {found.line}" if found.line else ""
    return f"{found.id}{place}: {found.message} Fix: {found.fix}"


# Messages without text of other agents
#
# The parameters of a message are IDs and numbers, but also titles and claims of other agents.
# Inside a frame the whole message would look like an opinion. So it is shown outside the frame,
# without foreign words: only a number, an ID or our own word is ever shown.


_LEFT_OUT = "…"
_KNOWN = frozenset(
    (
        *Operation,
        *SECTIONS,
        *(name for section in SECTIONS.values() for name in section.fields),
        *("target_id", "section", "operation", "payload", "rationale", "local_id"),
        "is not in the artifact that the message goes by",
    )
)
# Our own words about numbers, for messages with a whole sentence as a parameter
_SAID = lazy_pattern(
    r"""(?x)
    [0-9]{1,18}
  | the\ operator\ declared\ v[0-9]+\ void
  | it\ is\ built\ on\ message\ [0-9]+,\ which\ is\ void
  | it\ adopts\ another\ message,\ and\ only\ the\ operator\ can\ do\ that
  | message\ [0-9]+\ is\ v[0-9]+\ already
  | it\ says\ v[0-9]+,\ and\ the\ next\ version\ is\ v[0-9]+
    """,
    re.ASCII,
)


def own_message(found: Diagnostic) -> str:
    """Return the message without any text of other agents."""
    prefix = _delta_prefix(found)
    said = found._replace(message=None)
    if found.message == prefix + said.message:
        return prefix + _own_words(said, found.code.message)
    return _own_words(said, found.code.message) if found.message == said.message else ""


def own_fix(found: Diagnostic) -> str:
    """Return the fix without any text of other agents."""
    said = found._replace(fix=None)
    return _own_words(said, found.code.fix) if found.fix == said.fix else ""


def _own_words(found: Diagnostic, template: str) -> str:
    """Fill the template with those parameters that can only be our own words."""
    parameters = dict(found.parameters)
    cause = parameters.get("reason")
    shown = {name: _own_word(name, value) for name, value in parameters.items()}
    if isinstance(cause, Diagnostic):
        shown |= {"reason": own_message(cause) or _LEFT_OUT, "fix": own_fix(cause) or _LEFT_OUT}
    suggestion = found.suggestion if _is_plain(found.suggestion or "") else None
    shown["suggestion"] = did_you_mean(suggestion)
    return template.format_map(shown)


def _own_word(name: str, value: object) -> str:
    word = escape_control(str(value))
    is_name = name == "name" and AGENT_NAME.fullmatch(word)
    return word if is_name or _is_plain(word) else _LEFT_OUT


def _is_plain(word: str) -> bool:
    forms = (ITEM_ID, VERSION, _SAID)
    return word in _KNOWN or any(form.fullmatch(word) for form in forms) or is_valid_thread_id(word)


# Violations in results
#
# A violation in the caller's own text is shown plainly. One that results from the mail may quote
# other agents and is framed, as is any whose origin is unknown.


# Codes that quote only the caller, numbers and the suggested word
_OWN = frozenset(
    {
        *(serving_codes.TAKEN_AS, serving_codes.NOT_SURELY_MEANT, serving_codes.NO_DELTAS),
        *(serving_codes.WHO_ARE_YOU, serving_codes.WRONG_SECRET),
        *(serving_codes.OPERATOR_NEEDS_SECRET, serving_codes.SECRET_NEEDED),
        *(serving_codes.OTHER_PROJECT, serving_codes.PROFILE_NOT_KEPT),
        *(serving_codes.TOO_MANY_AGENTS, serving_codes.LEADING_NEEDS_SECRET),
        *(serving_codes.NOT_YOURS_TO_LEAD, serving_codes.OTHER_NAMES_SECRET),
        serving_codes.STORED_UNVERIFIED,
        *(
            mail_codes.UNKNOWN_SENDER,
            mail_codes.UNKNOWN_RECIPIENT,
            mail_codes.NO_SUCH_AGENT,
            mail_codes.SENT_TO_NOBODY,
        ),
        *(mail_codes.UNKNOWN_THREAD, mail_codes.UNKNOWN_MESSAGE, mail_codes.KEY_REUSED),
        *(INVALID_BEAD_ID, INVALID_COORD_THREAD_ID, INVALID_RS_THREAD_ID, THREAD_ID_TOO_LONG),
        *(serving_codes.NO_THREAD_NAMED, serving_codes.NOT_COMPILED, serving_codes.NO_SESSION_YET),
        *(serving_codes.UNUSABLE_THREAD_ID, TEMPLATE_NOT_FILLED_IN),
        *(artifacts_codes.UNKNOWN_VERSION, NO_SUCH_ITEM, INVALID_SECTION),
    }
)
# A name, an ID or a section, not a sentence: another agent may have chosen the suggested word
_WORD = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,79}", re.ASCII)
_QUOTING = frozenset({"repaired", "readings", "suggestion", "item", "field"})


def is_own(found: Diagnostic, known: Collection[Diagnostic] = ()) -> bool:
    """Return whether a violation quotes only us and the caller. `known` come from a check alone."""
    return found in known or (found.code in _OWN and _is_plain_suggestion(found.suggestion))


def violation_json(found: Diagnostic, known: Collection[Diagnostic] = ()) -> dict[str, object]:
    """Return a violation as JSON, framed unless it quotes only the caller."""
    return with_tool_fix(found).to_json() if is_own(found, known) else thread_violation_json(found)


def thread_violation_json(found: Diagnostic) -> dict[str, object]:
    document = with_tool_fix(found).to_json()
    (message, message_in_full), (fix, fix_in_full) = _message(found), _fix(found)
    quoted = {"message_in_full": message_in_full, "fix_in_full": fix_in_full}
    return {
        **document,
        "message": message,
        "fix": fix,
        **{name: text for name, text in quoted.items() if text},
        **{name: _foreign(document[name]) for name in _QUOTING & document.keys()},
    }


def refusal_json(
    violations: Iterable[Diagnostic], known: Collection[Diagnostic] = ()
) -> dict[str, object]:
    """Return the structured form of an error, as the other tools have it."""
    found = sorted(violations, key=worst_first)
    documents = [violation_json(each, known) for each in found]
    return {
        "error": documents[0] if documents else None,
        "violations": documents,
        "summary": Summary.of(found)._asdict(),
        "corrected": None,
    }


def violation_lines(
    violations: Iterable[Diagnostic], known: Collection[Diagnostic] = ()
) -> Iterator[str | ForeignText]:
    """Yield the lines of violations, framed unless they quote only the caller."""
    for found in violations:
        if is_own(found, known):
            yield f"- {found.severity.value} {line_of(with_tool_fix(found))}"
            continue
        (message, message_in_full), (fix, fix_in_full) = _message(found), _fix(found)
        yield f"- {found.severity.value} {found.id}: {message} Fix: {fix}"
        yield from filter(None, (message_in_full, fix_in_full))


def with_delta_number(found: Diagnostic) -> Diagnostic:
    """Return a violation of a composed message with the number of its delta instead of a line."""
    if found.block is None:
        return found._replace(line=None)
    said = f"{_delta_prefix(found)}{found.message}"
    return found._replace(line=None, message=said, repaired=None)


def _delta_prefix(found: Diagnostic) -> str:
    where = f" (`{found.field}`)" if found.field else ""
    return f"Delta {found.block}{where}: "


def _message(found: Diagnostic) -> tuple[str, ForeignText | None]:
    """Return the message in our own words, and in full if it contains text of other agents.

    If no word of the message is certainly our own, the title of the code stands for it.
    """
    ours = own_message(found) or f"{found.code.title}."
    return ours, None if ours == found.message else ForeignText(found.message)


def _fix(found: Diagnostic) -> tuple[str, ForeignText | None]:
    fix = with_tool_fix(found).fix
    if found.code in IN_TOOLS and _is_plain_suggestion(found.suggestion):
        return fix, None
    ours = fix_for_tools(found.code, own_fix(found))
    return ours or "see below.", None if ours == fix else ForeignText(fix)


def _is_plain_suggestion(suggestion: str | None) -> bool:
    return suggestion is None or _WORD.fullmatch(suggestion) is not None


def _foreign(value: object) -> object:
    if isinstance(value, list):
        return [ForeignText(str(each)) for each in value]
    return ForeignText(str(value))
