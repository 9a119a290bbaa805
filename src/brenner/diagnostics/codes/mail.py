"""Codes for the mailbox: rejected requests, ineffective ACKs, file reservations and search."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_NAME_SPEC = "agent_roster_schema_v0.1, RosterEntry; design, Commands"
_SENDING_SPEC = "design, Commands; rulings, Small decisions"
_ACK_SPEC = "message_body_schema_v0.1, ACK Workflow; rulings, Small decisions"

NAME_TAKEN = error(
    "NAME_TAKEN",
    "The name `{name}` is taken by another agent: {owner}.",
    "Register another name, such as {suggestions}. If you are this agent, with another program or "
    "model: `brenner mail register {name} --update`.",
    _NAME_SPEC,
)
NAME_LOOKS_LIKE = error(
    "NAME_LOOKS_LIKE",
    "The name `{name}` looks too similar to `{other}`, which is registered.",
    "Register another name, such as {suggestions}. If you are `{other}`, write the name "
    "exactly like that.",
    _NAME_SPEC,
)
INVALID_NAME = error(
    "INVALID_NAME",
    "`{name}` is not a valid agent name: {reason}.",
    "Use ASCII letters, digits, `_` and `-`. Start with a letter, and use at most 64 "
    "characters. Examples: {suggestions}.",
    _NAME_SPEC,
)
UNKNOWN_SENDER = error(
    "UNKNOWN_SENDER",
    "The sender `{name}` is not registered. Nothing was sent.",
    "Correct the name in `From`: `brenner mail agents` lists the registered names.{suggestion} To "
    "register a new name: `brenner mail register {argument}`.",
    _SENDING_SPEC,
)
UNKNOWN_RECIPIENT = error(
    "UNKNOWN_RECIPIENT",
    "The recipient `{name}` is not registered. Nothing was sent.",
    "Correct the name in `To`: `brenner mail agents` lists the registered names.{suggestion} To "
    "register a new name: `brenner mail register {argument}`.",
    _SENDING_SPEC,
)
NO_SUCH_AGENT = error(
    "NO_SUCH_AGENT",
    "Unknown agent `{name}`.",
    "Correct the name: `brenner mail agents` lists the registered names.{suggestion} To "
    "register a new name: `brenner mail register {argument}`.",
    "design, Commands",
)
SENT_TO_NOBODY = error(
    "SENT_TO_NOBODY",
    "The message has no recipient. Nothing was sent.",
    "Name at least one, as in `To: BlueLake, RedSky`. `brenner mail agents` lists the "
    "registered names.",
    _SENDING_SPEC,
)
UNKNOWN_MESSAGE = error(
    "UNKNOWN_MESSAGE",
    "Unknown message {id}: this store does not contain it.",
    "Check the number: `brenner mail inbox` and `brenner mail thread THREAD` show the "
    "message IDs. `brenner doctor` shows which store is used.",
    "design, Commands",
)
NOT_IN_THREAD = error(
    "NOT_IN_THREAD",
    "Message {id} is not in the thread `{thread}`.",
    "Use a message of this thread: `brenner mail thread {thread}` lists them. `brenner mail "
    "show {id}` shows which thread message {id} is in.",
    "R9",
)
UNKNOWN_THREAD = error(
    "UNKNOWN_THREAD",
    "Unknown thread `{thread}`: no message in this store belongs to it.",
    "Check the thread ID: `brenner mail thread` lists all threads. `brenner doctor` shows "
    "which store is used.{suggestion}",
    "R17; R23",
)
NOT_A_RECIPIENT = error(
    "NOT_A_RECIPIENT",
    "Message {id} was not sent to `{name}`. Its recipients: {recipients}.",
    "If you are one of the recipients, act under that name: `--as NAME`.{suggestion} `brenner "
    "mail inbox --as NAME` lists the messages that NAME received.",
    _ACK_SPEC,
)
THREAD_MOVED = error(
    "THREAD_MOVED",
    "The thread `{thread}` has changed (messages before: {expected}, now: {position}). Nothing "
    "was sent.",
    "Read the new messages: `brenner mail thread --after ID {thread}`, where ID is the last "
    "message that you read. If your message is still right, send it again with "
    "`--if-position {position}`.",
    "R17",
)
VERSION_OVERTAKEN = error(
    "VERSION_OVERTAKEN",
    "Message {id} ({type}) arrived in `{thread}` after you read the thread. Nothing was sent.",
    "Read the thread again, including message {id}. If your message is still right, send it again.",
    "R17",
)
KEY_REUSED = error(
    "KEY_REUSED",
    "The key `{key}` was already used for message {id}, which is different. Nothing was sent.",
    "Use a new key for each message. Reuse a key only to repeat exactly the same send. To "
    "see what was sent: `brenner mail show {id}`.",
    "R8",
)
REPLY_ELSEWHERE = error(
    "REPLY_ELSEWHERE",
    "This message answers message {id}, which is in another thread: `{thread}`. Nothing was sent.",
    "Send the answer to `{thread}`. Or send it without `--reply-to`, and mention message "
    "{id} in the text.",
    _SENDING_SPEC,
)
UNSTORABLE_TEXT = error(
    "UNSTORABLE_TEXT",
    "The {what} cannot be stored: {reason}.",
    "Remove that character from the {what} and try again.",
    "rulings, Small decisions",
)
FIELD_TOO_LONG = error(
    "FIELD_TOO_LONG",
    "The {what} is longer than {most} bytes. Nothing was stored.",
    "Shorten it. Put long text in the body of a message, or in a file, and give its path in "
    "the message.",
    "R5",
)
ACK_NAMES_NOTHING = warning(
    "ACK_NAMES_NOTHING",
    "The ACK contains no message ID, so it acknowledges nothing. ACKs that you owe in "
    "`{thread}`: {debts}.",
    "Write the number under `## Message ID`, or run `brenner mail ack ID`. `brenner mail "
    "inbox --owed` lists the ACKs that you owe.",
    _ACK_SPEC,
)
ACK_OF_UNKNOWN = warning(
    "ACK_OF_UNKNOWN",
    "The ACK names message {id}, which is not in the thread `{thread}`. It acknowledges "
    "nothing there.",
    "Under `## Message ID`, write the number of a message of this thread: `brenner mail "
    "thread {thread}` lists them. An ACK belongs in the thread of its message.",
    _ACK_SPEC,
)
ACK_BY_OTHER = warning(
    "ACK_BY_OTHER",
    "The ACK names message {id}, which was not sent to `{name}`. It acknowledges nothing.",
    "Remove the number: `brenner mail show {id}` shows the recipients. `brenner mail inbox "
    "--owed` lists the ACKs that you owe.",
    _ACK_SPEC,
)
WOULD_BE_REFUSED = warning(
    "WOULD_BE_REFUSED",
    "Block {block} would be rejected if the thread were compiled now: {reason}",
    "{fix}",
    "R11; companion, Merging",
)
EVERY_BLOCK_REFUSED = error(
    "EVERY_BLOCK_REFUSED",
    "{blocks} of this DELTA would be rejected if the thread were compiled now.",
    "Correct the blocks: each has its reason. To send the message anyway, because what it refers "
    "to is still to arrive: `brenner mail send --anyway FILE`.",
    "R5, R7; design, Commands",
)
NAME_MATCHED = info(
    "NAME_MATCHED",
    "`{name}` is registered as `{other}`. The message has the registered name.",
    "No action is needed. From now on, write `{other}`.",
    _NAME_SPEC,
)
LARGE_MESSAGE = warning(
    "LARGE_MESSAGE",
    "The body has {size} KB, more than {most} KB. Agents that read it get it in parts.",
    "Put long material in a file of the project, and give its path in the message.",
    "R5",
)
SECRET_IN_MESSAGE = error(
    "SECRET_IN_MESSAGE",
    "The {what} contains the secret of `{name}`. Nothing was sent.",
    "Remove the secret from the {what}, and send the message again. If others can have read it, "
    "replace it: `brenner agent secret {name} --new`.",
    "design, Identity",
)
AFTER_THE_END = warning(
    "AFTER_THE_END",
    "The session is complete, with v{version}. This message is not compiled unless the "
    "operator reopens the session.",
    "Tell the operator why it matters: `brenner compile --reopen {thread}` includes "
    "it. For a "
    "new question, start a new session that refers to this one.",
    "R18",
)
AFTER_CANCELLING = warning(
    "AFTER_CANCELLING",
    "The operator cancelled the session in message {id}. This message is not compiled unless the "
    "operator reopens the session.",
    "Read why: `brenner mail show {id}`. If the message still matters, ask the operator to reopen "
    "the session with a KICKOFF.",
    "R25",
)
STORED_WITH_TROUBLE = warning(
    "STORED_WITH_TROUBLE",
    "Message {id} is stored. But {what}: {reason}",
    "Do not send it again. If the problem remains, tell the operator.",
    "R8",
)

# File reservations

_RESERVATION_SPEC = "agent_mail, The subset that agents use"

INVALID_PATTERN = error(
    "INVALID_PATTERN",
    "Cannot reserve `{pattern}`: {reason}. Nothing was reserved.",
    "Write paths relative to the project folder, with `/` and few wildcards: `src/main.py`, "
    "`src/*.py`, `docs/**`. `.` means the whole project.",
    _RESERVATION_SPEC,
)
INVALID_RESERVED_TIME = error(
    "INVALID_RESERVED_TIME",
    "Files can be reserved for 1 to {most} seconds, not for {seconds}. Nothing was reserved.",
    "Give the number of seconds, such as 3600 for one hour. If you need the files longer, "
    "reserve them again before the time is up.",
    _RESERVATION_SPEC,
)
TOO_MANY_RESERVATIONS = error(
    "TOO_MANY_RESERVATIONS",
    "Too many {what}: {count}, and at most {most} are allowed. Nothing was reserved.",
    "Reserve folders or patterns instead of single files, such as `src/parser/**`. Release "
    "files that you no longer need: `release_file_reservations`.",
    _RESERVATION_SPEC,
)

# Search: words, "phrases" and filters

_SEARCH_SPEC = "design, Commands"

UNKNOWN_FILTER = error(
    "UNKNOWN_FILTER",
    "Unknown search filter `{name}:`.",
    "Use `type:`, `from:`, `thread:`, `item:`, `is:unread`, `needs:ack`, `before:` or "
    "`after:`. To search for the text itself, put it in double quotes.{suggestion}",
    _SEARCH_SPEC,
)
INVALID_FILTER_VALUE = error(
    "INVALID_FILTER_VALUE",
    "`{value}` is not a valid value of the filter `{filter}:`.",
    "After `{filter}:` write {expected}.",
    _SEARCH_SPEC,
)
EMPTY_QUERY = error(
    "EMPTY_QUERY",
    "The search is empty.",
    'Give words, a "phrase", or a filter such as `type:DELTA`. To list all messages that you '
    "received: `brenner mail inbox`.",
    _SEARCH_SPEC,
)
UNCLOSED_QUOTE = error(
    "UNCLOSED_QUOTE",
    "A double quote is opened and never closed.",
    'Close it: `"a phrase"`. In a shell, put the whole search in single quotes.',
    _SEARCH_SPEC,
)
FILTER_NEEDS_READER = error(
    "FILTER_NEEDS_READER",
    "The filter `{filter}` depends on whose inbox is searched, and no name is given.",
    "Name the reader: `--as NAME` or `AGENT_NAME` in a command, `reader=NAME` in Python.",
    _SEARCH_SPEC,
)
QUERY_TOO_LONG = error(
    "QUERY_TOO_LONG",
    "The search has more than {most}.",
    "Search for fewer words. A few rare words are enough to find a message.",
    "ruling R5 (limits before parsing)",
)
