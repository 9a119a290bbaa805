"""Codes for the mailbox: rejected requests, ineffective ACKs, file reservations and search."""

from __future__ import annotations

from brenner.diagnostics.model import error, warning

_NAME_SPEC = "agent_roster_schema_v0.1, RosterEntry; design, Commands"
_SENDING_SPEC = "design, Commands; rulings, Small decisions"
_ACK_SPEC = "message_body_schema_v0.1, ACK Workflow; rulings, Small decisions"

NAME_TAKEN = error(
    "NAME_TAKEN",
    "The name `{name}` is taken by another agent: {owner}.",
    "Register another name, such as {suggestions}. If it is you, with another program or "
    "model, register again with `--update`.",
    _NAME_SPEC,
)
NAME_LOOKS_LIKE = error(
    "NAME_LOOKS_LIKE",
    "The name `{name}` looks too much like `{other}`, which is registered.",
    "Register another name, such as {suggestions}. If you are `{other}`, write it exactly so.",
    _NAME_SPEC,
)
INVALID_NAME = error(
    "INVALID_NAME",
    "`{name}` cannot be registered: {reason}.",
    "Use ASCII letters, digits, `_` and `-`, a letter first, at most 64; for example "
    "{suggestions}.",
    _NAME_SPEC,
)
UNKNOWN_SENDER = error(
    "UNKNOWN_SENDER",
    "The sender `{name}` is not registered; the message was not sent.",
    "Register the name once with `brenner mail register NAME`, then send again. "
    "`brenner mail agents` lists who is known.{suggestion}",
    _SENDING_SPEC,
)
UNKNOWN_RECIPIENT = error(
    "UNKNOWN_RECIPIENT",
    "The recipient `{name}` is not registered; the message was not sent.",
    "Correct the name in `To`, or register it with `brenner mail register NAME`. "
    "`brenner mail agents` lists who is known.{suggestion}",
    _SENDING_SPEC,
)
NO_SUCH_AGENT = error(
    "NO_SUCH_AGENT",
    "Nobody is registered as `{name}`.",
    "Correct the name: `brenner mail agents` lists who is known.{suggestion} If it is your own "
    "name and new, register it first: `brenner mail register NAME`.",
    "design, Commands",
)
SENT_TO_NOBODY = error(
    "SENT_TO_NOBODY",
    "The message has no recipient; it was not sent.",
    "Name at least one, as in `To: BlueLake, RedSky`. `brenner mail agents` lists who is known.",
    _SENDING_SPEC,
)
UNKNOWN_MESSAGE = error(
    "UNKNOWN_MESSAGE",
    "There is no message {id} in this store.",
    "Check the number: `brenner mail inbox` and `brenner mail thread ID` show the ids. "
    "`brenner doctor` says which store it is.",
    "design, Commands",
)
NOT_IN_THREAD = error(
    "NOT_IN_THREAD",
    "The message {id} is not in the thread `{thread}`.",
    "Name a message of this thread: `brenner mail thread ID` shows them with their ids. "
    "`brenner mail show {id}` says where this one belongs.",
    "R9",
)
UNKNOWN_THREAD = error(
    "UNKNOWN_THREAD",
    "There is no thread `{thread}` in this store.",
    "Check the ID: `brenner mail thread` lists them. `brenner doctor` says which store it "
    "is.{suggestion}",
    "R17",
)
NOT_A_RECIPIENT = error(
    "NOT_A_RECIPIENT",
    "The message {id} was not sent to `{name}`; its recipients: {recipients}.",
    "Name a message that you received: `brenner mail inbox` lists them. If you are one of its "
    "recipients, say who you are with `--as NAME`.",
    _ACK_SPEC,
)
THREAD_MOVED = error(
    "THREAD_MOVED",
    "The thread `{thread}` has moved on: its position is {position}, not {expected}. "
    "The message was not sent.",
    "Read what is new with `brenner mail thread --after ID {thread}`, where ID is the last "
    "message that you have read. If yours still holds, send it again with "
    "`--if-position {position}`.",
    "R17",
)
VERSION_OVERTAKEN = error(
    "VERSION_OVERTAKEN",
    "Message {id} ({type}) has come into the thread `{thread}` since it was read. The "
    "message was not sent.",
    "Read the thread again, with message {id}, and decide again.",
    "R17",
)
KEY_REUSED = error(
    "KEY_REUSED",
    "The key `{key}` was used for message {id}, which is not this one. Nothing was sent.",
    "Give each of your messages its own key, and use it again only to repeat the very same "
    "send. "
    "`brenner mail show {id}` shows what was sent.",
    "R8",
)
REPLY_ELSEWHERE = error(
    "REPLY_ELSEWHERE",
    "The message {id}, which this one answers, is in the thread `{thread}`.",
    "Send the answer to the thread `{thread}`, or send it without `--reply-to` and name "
    "the message in the text.",
    _SENDING_SPEC,
)
UNSTORABLE_TEXT = error(
    "UNSTORABLE_TEXT",
    "The {what} cannot be stored as it is: {reason}.",
    "Take that character out of the {what} and try again.",
    "rulings, Small decisions",
)
FIELD_TOO_LONG = error(
    "FIELD_TOO_LONG",
    "The {what} is longer than {most} bytes; nothing was stored.",
    "Shorten it. Long texts belong in the body of a message, and larger ones in a file that it "
    "names by its path.",
    "R5",
)
ACK_NAMES_NOTHING = warning(
    "ACK_NAMES_NOTHING",
    "The ACK names no message id that can be read, so it settles nothing. ACKs that you "
    "owe in `{thread}`: {debts}.",
    "Write the number under `## Message ID`, or send `brenner mail ack ID`. "
    "`brenner mail inbox --owed` lists what you owe.",
    _ACK_SPEC,
)
ACK_OF_UNKNOWN = warning(
    "ACK_OF_UNKNOWN",
    "The ACK names message {id}, which is not in the thread `{thread}`; it settles nothing there.",
    "Write the number of a message of this thread under `## Message ID`: "
    "`brenner mail thread ID` shows them. An ACK stays in the thread of its message.",
    _ACK_SPEC,
)
ACK_BY_OTHER = warning(
    "ACK_BY_OTHER",
    "The ACK names message {id}, which was not sent to `{name}`; it settles nothing there.",
    "Leave the number out; `brenner mail show {id}` says who can acknowledge it. "
    "`brenner mail inbox --owed` lists what you owe.",
    _ACK_SPEC,
)
WOULD_BE_REFUSED = warning(
    "WOULD_BE_REFUSED",
    "As the thread stands now, block {block} would be refused: {reason}",
    "{fix}",
    "R11; companion, Merging",
)
AFTER_THE_END = warning(
    "AFTER_THE_END",
    "The session is complete, with v{version}: nothing of this message is compiled unless "
    "the operator reopens it.",
    "Tell the operator why it matters: she compiles it with `brenner compile --reopen`. What "
    "begins something new belongs into a session of its own, with a reference to this one.",
    "R18",
)
STORED_WITH_TROUBLE = warning(
    "STORED_WITH_TROUBLE",
    "Message {id} is stored. But {what}: {reason}",
    "Do not send it again. If the trouble stays, tell the operator.",
    "R8",
)

# File reservations

_RESERVATION_SPEC = "agent_mail, The subset that agents use"

INVALID_PATTERN = error(
    "INVALID_PATTERN",
    "`{pattern}` cannot be reserved: {reason}. Nothing was reserved.",
    "Write paths relative to the project's folder, with `/` between folders and few "
    "wildcards: `src/main.py`, `src/*.py`, `docs/**`; `.` is all of it.",
    _RESERVATION_SPEC,
)
INVALID_RESERVED_TIME = error(
    "INVALID_RESERVED_TIME",
    "Files cannot be reserved for {seconds} seconds: at least 1, at most {most}. Nothing "
    "was reserved.",
    "Say for how many seconds you need them, as 3600 for an hour. Reserve them again before "
    "the time is up if you need them longer, and release them when you are done.",
    _RESERVATION_SPEC,
)
TOO_MANY_RESERVATIONS = error(
    "TOO_MANY_RESERVATIONS",
    "That would be {count} {what}, and {most} is the most. Nothing was reserved.",
    "Reserve folders or patterns instead of single files: `src/parser/**`. Release what you no "
    "longer need: `release_file_reservations`.",
    _RESERVATION_SPEC,
)

# Search: words, "phrases" and filters

_SEARCH_SPEC = "design, Commands"

UNKNOWN_FILTER = error(
    "UNKNOWN_FILTER",
    "`{name}:` is not a filter of the search.",
    "Use `type:`, `from:`, `thread:`, `item:`, `is:unread`, `needs:ack`, `before:` or "
    "`after:`. To look for the text itself, put it in quotation marks.{suggestion}",
    _SEARCH_SPEC,
)
INVALID_FILTER_VALUE = error(
    "INVALID_FILTER_VALUE",
    "`{filter}:` cannot have the value `{value}`.",
    "After `{filter}:` write {expected}.",
    _SEARCH_SPEC,
)
EMPTY_QUERY = error(
    "EMPTY_QUERY",
    "There is nothing to search for.",
    'Give words, a "phrase", or a filter such as `type:DELTA`. To see everything that you '
    "received, use `brenner mail inbox`.",
    _SEARCH_SPEC,
)
UNCLOSED_QUOTE = error(
    "UNCLOSED_QUOTE",
    "A quotation mark is opened and never closed.",
    'Close it: `"a phrase"`. In a shell, put the whole search between single quotation marks.',
    _SEARCH_SPEC,
)
FILTER_NEEDS_READER = error(
    "FILTER_NEEDS_READER",
    "`{filter}` asks about somebody's inbox, and nobody is named.",
    "Say who you are with `--as NAME`, or set `AGENT_NAME`.",
    _SEARCH_SPEC,
)
QUERY_TOO_LONG = error(
    "QUERY_TOO_LONG",
    "The search has more than {most}.",
    "Search for fewer words, or in several steps: a few rare words find a message.",
    "ruling R5 (limits before parsing)",
)
