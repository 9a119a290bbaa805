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
from brenner.diagnostics.codes.sessions import UNKNOWN_CITATION
from brenner.diagnostics.model import (
    OPTIONAL_PARAMETERS,
    BrennerError,
    Code,
    Diagnostic,
    Summary,
    worst_first,
)
from brenner.diagnostics.repeats import Repeats, group_repeats
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
_WHO = "`resource://agents` lists all agents."
_IDS = "`fetch_inbox` and `resource://thread/{id}` show the IDs."
_ACK = "Call `acknowledge_message` with its message_id. `brenner_task` lists the ACKs that "
_LATER = "Call again in a moment. If that does not help, tell the operator."
_BROKEN = "Ask the operator to run `brenner doctor`, then call again."
_COMPILES = "Only the operator compiles versions. Contribute with `brenner_post` instead."
IN_TOOLS: dict[Code, str] = {
    mail_codes.UNKNOWN_SENDER: "Correct `sender_name`, or register it first: `register_agent`.",
    mail_codes.UNKNOWN_RECIPIENT: f"Correct the name in `to` or `cc`. {_WHO}",
    mail_codes.NO_SUCH_AGENT: "Correct the name. If it is your own and new, register it first: "
    f"`register_agent`. {_WHO}",
    mail_codes.SENT_TO_NOBODY: f"Name at least one recipient in `to`. {_WHO}",
    mail_codes.UNKNOWN_MESSAGE: f"Check the number: {_IDS}",
    mail_codes.UNKNOWN_THREAD: (
        "Check the ID: the messages in `fetch_inbox` have it as `thread_id`. Only a KICKOFF opens "
        "a thread `RS-…`."
    ),
    mail_codes.EVERY_BLOCK_REFUSED: (
        "Correct the deltas: each has its reason. To post them anyway, because what they refer to "
        "is still to arrive, call again with `anyway`: true."
    ),
    mail_codes.SECRET_IN_MESSAGE: (
        "Remove the secret from the text and call again. It belongs only into `sender_token` or "
        "`registration_token`."
    ),
    mail_codes.NOT_IN_THREAD: f"Name a message of this thread: {_IDS}",
    mail_codes.NOT_A_RECIPIENT: "Name a message that you received: `fetch_inbox` lists them.",
    mail_codes.THREAD_MOVED: (
        "Read the new messages: `resource://thread/{id}`. If yours is still right, call again."
    ),
    mail_codes.KEY_REUSED: (
        "Use a new `key` for each message, and reuse it only to repeat the same call. "
        "`resource://message/{id}` shows the message that was sent with it."
    ),
    mail_codes.REPLY_ELSEWHERE: (
        "Send the reply to that thread, or leave `reply_to` out and name the message in the text."
    ),
    **dict.fromkeys((mail_codes.ACK_NAMES_NOTHING, mail_codes.ACK_OF_UNKNOWN), f"{_ACK}you owe."),
    mail_codes.ACK_BY_OTHER: (
        "Only a recipient can acknowledge a message, so send no ACK for this one. `brenner_task` "
        "lists the ACKs that you owe."
    ),
    messages_codes.HANDOFF_TO_UNKNOWN: (
        "Send the HANDOFF again, with the name of a registered agent under `## To` and in `to`. "
        f"{_WHO}"
    ),
    **dict.fromkeys(
        (ACK_MISMATCH, MB_009, MB_010, MB_011, MB_012),
        "Leave `ack_required` out: the message type decides.",
    ),
    TEMPLATE_NOT_FILLED_IN: "Replace each placeholder with your own words, or remove its section "
    "if it is optional.",
    # Headers of a message file are arguments of a call.
    **dict.fromkeys(
        (messages_codes.MISSING_HEADER, messages_codes.EMPTY_MESSAGE),
        "Give `sender_name`, `to`, `subject`, `thread_id` and `body_md`, none of them empty.",
    ),
    messages_codes.NO_RECIPIENT: f"Name at least one recipient in `to`. {_WHO}",
    mail_codes.EMPTY_QUERY: (
        'Search for words, a "phrase", or a filter such as `type:DELTA`. `fetch_inbox` lists all '
        "messages that you received."
    ),
    mail_codes.FILTER_NEEDS_READER: "Leave the filter out: `fetch_inbox` lists your messages.",
    mail_codes.AFTER_THE_END: (
        "Tell the operator why it matters: only the operator can reopen the session, or start a "
        "new one that refers to it."
    ),
    # Artifacts
    merging_codes.CONFLICTING_EDIT: (
        "Compare both values: `brenner_artifact` shows the current one. Then post an EDIT of the "
        "field, based on the version with the conflict. An EDIT to the current value also resolves "
        "it."
    ),
    merging_codes.KILL_OVER_UNSEEN_EDITS: (
        "Read the edits with `brenner_artifact` and `since`. If they answer the reason for the "
        "KILL, post the improved item again with an ADD."
    ),
    publishing_codes.AP_009: "Write the version that you have read, as in `**Base Version**: vN`. "
    "`brenner_artifact` shows the latest version.",
    **dict.fromkeys(
        (publishing_codes.AP_002, publishing_codes.AP_010, publishing_codes.COMPILED_MISMATCH),
        _COMPILES,
    ),
    artifacts_codes.ONLY_THE_OPERATOR: "Ask the operator to do it.",
    artifacts_codes.NO_VERSION_YET: (
        "Contribute with `brenner_post`. The operator compiles the first version when deltas have "
        "arrived."
    ),
    artifacts_codes.UNKNOWN_VERSION: (
        "Use the number of an existing version: `brenner_artifact` shows the latest one."
    ),
    NO_SUCH_ITEM: "Use the ID of an existing item: `brenner_artifact` shows all items.",
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
        "Read `resource://thread/{id}` before you call again: the message may have been sent. A "
        "`brenner_post` with a `key` can be repeated at once: nothing is posted twice."
    ),
    stores_codes.MESSAGE_ALTERED: (
        "It is stored: read it with `resource://message/{id}`. If its meaning has changed, send it "
        "again with a shorter subject and a plain thread ID."
    ),
    stores_codes.NAME_ELSEWHERE: (
        "Register another name, or leave `name` out to get a new one. If the name is yours, ask "
        "the operator to move it to this project."
    ),
    stores_codes.HOME_CANNOT: "Continue without it: the store of this project does not support it.",
}


def fix_for_tools(code: Code, fix: str) -> str:
    """Return the fix for a caller of tools. What needs a command is for the operator to do."""
    if code in IN_TOOLS:
        return IN_TOOLS[code]
    if not names_command(fix) or _TOLD.search(fix):
        return fix
    return f"No tool can do this. Ask the operator: {fix}"


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
    lines = [line_of(each) for each in group_repeats(found)]
    if corrected is not None:
        lines += [
            "Corrected message, for `send_message` (add your `sender_token` if you have one):",
            json.dumps(corrected, ensure_ascii=False),
        ]
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


def line_of(group: Repeats) -> str:
    """Format violations with one cause in one line."""
    found = group.first
    place = f" body line {found.line}" if found.line else ""
    message = f"{found.message} {group.other_places('delta')}".rstrip()
    return f"{group.code_text}{place}: {message} Fix: {found.fix}"


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
        *("{", "}", "[", "]"),
        *("is not in the artifact that the message goes by", "does not exist"),
        *(merging_codes.NOT_AGAIN, merging_codes.WITHOUT_IT, merging_codes.COUNTS_AS_CORRECTION),
    )
)
# Our own words about numbers, for messages with a whole sentence as a parameter
_SAID = lazy_pattern(
    r"""(?x)
    [0-9]{1,18}
  | \ There\ are\ no\ [a-z]+\ (?:in\ v[0-9]+|so\ far|before\ this\ message|in\ the\ artifact)\.
  | \ [A-Z][a-z]+\ (?:in\ v[0-9]+|so\ far|before\ this\ message|in\ the\ artifact):
    \ [A-Z][0-9]+(?:,\ [A-Z][0-9]+)*(?:,\ …)?\.
  | the\ operator\ declared\ v[0-9]+\ void
  | it\ is\ built\ on\ message\ [0-9]+,\ which\ is\ void
  | it\ adopts\ another\ message,\ and\ only\ the\ operator\ can\ do\ that
  | message\ [0-9]+\ is\ already\ v[0-9]+
  | it\ claims\ to\ be\ v[0-9]+,\ but\ the\ next\ version\ is\ v[0-9]+
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
    shown["known"] = shown.get("known_ids", shown.get("known", ""))  # without foreign titles
    suggestion = found.suggestion if _is_plain(found.suggestion or "") else None
    shown["suggestion"] = did_you_mean(suggestion)
    return template.format_map(OPTIONAL_PARAMETERS | shown)


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
        serving_codes.TOKENS_DIFFER,
        *(serving_codes.NAME_PROTECTED, serving_codes.PROFILE_NOT_KEPT),
        *(serving_codes.OTHER_PROJECT, serving_codes.INVALID_ARGUMENT),
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
        *(mail_codes.EVERY_BLOCK_REFUSED, mail_codes.NAME_MATCHED, mail_codes.LARGE_MESSAGE),
        *(mail_codes.SECRET_IN_MESSAGE, mail_codes.UNSTORABLE_TEXT),
        *(mail_codes.ACK_OF_UNKNOWN, mail_codes.ACK_BY_OTHER, messages_codes.HANDOFF_TO_UNKNOWN),
        *(INVALID_BEAD_ID, INVALID_COORD_THREAD_ID, INVALID_RS_THREAD_ID, THREAD_ID_TOO_LONG),
        *(serving_codes.NO_THREAD_NAMED, serving_codes.NOT_COMPILED),
        *(serving_codes.UNUSABLE_THREAD_ID, TEMPLATE_NOT_FILLED_IN),
        *(artifacts_codes.UNKNOWN_VERSION, NO_SUCH_ITEM, INVALID_SECTION),
        UNKNOWN_CITATION,
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
    for group in group_repeats(violations):
        found = group.first
        if all(is_own(each, known) for each in group.found):
            ours = group._replace(found=tuple(map(with_tool_fix, group.found)))
            yield f"- {found.severity.value} {line_of(ours)}"
            continue
        (message, message_in_full), (fix, fix_in_full) = _message(found), _fix(found)
        others = group.other_places("delta", with_values=False)
        said = " ".join(filter(None, (message, others)))
        yield f"- {found.severity.value} {group.code_text}: {said} Fix: {fix}"
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

    If no word of the message is certainly our own, the title of the code replaces it.
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
