"""How to mend something with tools: who calls them has no command line.

The catalogue's fixes are for everybody. Where one names a command, an option or a header, it stands
here in the words of the tools. What only a command can mend is for the operator to be told of.
"""

import re

from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.codes import stores as stores_codes
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.codes.messages import (
    ACK_MISMATCH,
    MB_009,
    MB_010,
    MB_011,
    MB_012,
    TEMPLATE_NOT_FILLED_IN,
)
from brenner.diagnostics.model import Code

_COMMAND = re.compile(r"`brenner |(?<![\w-])--[a-z]|\b(?:[Rr]un|[Rr]epeat) the (?:same )?command\b")
_TOLD = re.compile(r"\bthe operator\b", re.IGNORECASE)
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
    mail_codes.UNKNOWN_THREAD: "Check the ID: the messages in `fetch_inbox` have it as `thread_id`.",
    mail_codes.NOT_IN_THREAD: f"Name a message of this thread: {_IDS}",
    mail_codes.NOT_A_RECIPIENT: "Name a message that you received: `fetch_inbox` lists them.",
    mail_codes.THREAD_MOVED: "Read what is new: `resource://thread/{id}`. If yours still holds, call "
    "again.",
    mail_codes.KEY_REUSED: "Give each of your messages its own `key`, and use it again only to repeat "
    "the very same call. `resource://message/{id}` shows what was sent under it.",
    mail_codes.REPLY_ELSEWHERE: "Send the answer to that thread, or leave `reply_to` out and name the "
    "message in the text.",
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
    # What a message file would have as headers, a call has as arguments.
    **dict.fromkeys(
        (messages_codes.MISSING_HEADER, messages_codes.EMPTY_MESSAGE),
        "Give `sender_name`, `to`, `subject`, `thread_id` and `body_md`, none of them empty.",
    ),
    messages_codes.NO_RECIPIENT: f"Name at least one recipient in `to`. {_WHO}",
    mail_codes.EMPTY_QUERY: 'Give words, a "phrase", or a filter such as `type:DELTA`. `fetch_inbox` '
    "gives all that you received.",
    mail_codes.FILTER_NEEDS_READER: "Leave the filter out: `fetch_inbox` gives what you received.",
    # Artifacts
    merging_codes.CONFLICTING_EDIT: "Compare both values: `brenner_artifact` shows the one that stands. "
    "Then post an EDIT of the field, on the version that has the conflict; the value that stands "
    "closes it, too.",
    merging_codes.KILL_OVER_UNSEEN_EDITS: "Read what was edited: `brenner_artifact` with `since`. If it "
    "answers the reason for the KILL, post the item again, as improved, with an ADD.",
    publishing_codes.AP_009: "Write the version that you have read, as in `**Base Version**: v2`; "
    "`brenner_artifact` says which one is the latest.",
    **dict.fromkeys((publishing_codes.AP_002, publishing_codes.AP_010), _COMPILES),
    artifacts_codes.NO_VERSION_YET: "Contribute with `brenner_post`: once deltas are in, the operator "
    "compiles the first version.",
    artifacts_codes.UNKNOWN_VERSION: "Give the number of a version that is there: `brenner_artifact` says "
    "which one is the latest.",
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
    stores_codes.OUTCOME_UNKNOWN: "Look before you call again: `resource://thread/{id}` shows what is "
    "there. A `brenner_post` with a `key` can be repeated at once: nothing is posted twice.",
    stores_codes.MESSAGE_ALTERED: "It is stored: read it with `resource://message/{id}`. Only if it no "
    "longer says what it should, send it again, with a shorter subject and a plain thread ID.",
    stores_codes.NAME_ELSEWHERE: "Register another name, or none: then you get a new one. If it is you, "
    "tell the operator, who can take the name over.",
    stores_codes.HOME_CANNOT: "Do without it: the place where the operator keeps the mail cannot do it.",
}


def in_words_of_tools(code: Code, fix: str) -> str:
    """The fix for who calls tools. What only a command can do is the operator's to do."""
    if code in IN_TOOLS:
        return IN_TOOLS[code]
    if not names_command(fix) or _TOLD.search(fix):
        return fix
    return f"No tool does it. Tell the operator: {fix}"


def names_command(fix: str) -> bool:
    """Whether a fix needs a command line."""
    return _COMMAND.search(fix) is not None
