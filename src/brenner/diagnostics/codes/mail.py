"""Codes for the mailbox: rejected requests, ineffective ACKs, file reservations and search."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_NAME_SPEC = "agent_roster_schema_v0.1, RosterEntry; design, Commands"
_SENDING_SPEC = "design, Commands; rulings, Small decisions"
_ACK_SPEC = "message_body_schema_v0.1, ACK Workflow; rulings, Small decisions"

NAME_TAKEN = Code(
    id="NAME_TAKEN",
    severity=ERROR,
    title="The name is taken",
    message="The name `{name}` is taken by another agent: {owner}.",
    fix="Register another name, such as {suggestions}. If it is you, with another program or "
    "model, register again with `--update`.",
    why="Two agents under one name would read each other's mail, and nobody could say who wrote "
    "what. A name is given as asked for or not at all.",
    spec=_NAME_SPEC,
    example=Example(
        "text",
        "brenner mail register BlueLake --program codex    (BlueLake is a claude-code)",
        "brenner mail register BlueLake2 --program codex",
    ),
)
NAME_LOOKS_LIKE = Code(
    id="NAME_LOOKS_LIKE",
    severity=ERROR,
    title="The name looks like another one",
    message="The name `{name}` looks too much like `{other}`, which is registered.",
    fix="Register another name, such as {suggestions}. If you are `{other}`, write it exactly so.",
    why="A reader takes the two for one, and mail goes to the wrong agent.",
    spec=_NAME_SPEC,
    example=Example(
        "text",
        "brenner mail register B1ueLake    (there is a BlueLake)",
        "brenner mail register CalmRiver",
    ),
)
INVALID_NAME = Code(
    id="INVALID_NAME",
    severity=ERROR,
    title="The name cannot be registered",
    message="`{name}` cannot be registered: {reason}.",
    fix="Use ASCII letters, digits, `_` and `-`, a letter first, at most 64; for example "
    "{suggestions}.",
    why="Names are keys. Look-alike letters or blanks in one would make two agents of one, and a "
    "name that is changed in silence belongs to nobody.",
    spec=_NAME_SPEC,
    example=Example("text", 'brenner mail register "Blue Lake"', "brenner mail register BlueLake"),
)
UNKNOWN_SENDER = Code(
    id="UNKNOWN_SENDER",
    severity=ERROR,
    title="The sender is not registered",
    message="The sender `{name}` is not registered; the message was not sent.",
    fix="Register the name once with `brenner mail register NAME`, then send again. "
    "`brenner mail agents` lists who is known.{suggestion}",
    why="Nobody could answer: an answer goes to a name that the mailbox knows.",
    spec=_SENDING_SPEC,
    example=Example(
        "text",
        "brenner mail send message.md    (From: BleuLake)",
        "brenner mail send message.md    (From: BlueLake)",
    ),
)
UNKNOWN_RECIPIENT = Code(
    id="UNKNOWN_RECIPIENT",
    severity=ERROR,
    title="A recipient is not registered",
    message="The recipient `{name}` is not registered; the message was not sent.",
    fix="Correct the name in `To`, or register it with `brenner mail register NAME`. "
    "`brenner mail agents` lists who is known.{suggestion}",
    why="A mistyped recipient would never read the message, and the sender would wait for an "
    "answer.",
    spec=_SENDING_SPEC,
    example=Example("text", "To: BlueLake, RedSy", "To: BlueLake, RedSky"),
)
NO_SUCH_AGENT = Code(
    id="NO_SUCH_AGENT",
    severity=ERROR,
    title="The name is not registered",
    message="Nobody is registered as `{name}`.",
    fix="Correct the name: `brenner mail agents` lists who is known.{suggestion} If it is your own "
    "name and new, register it first: `brenner mail register NAME`.",
    why="The inbox of a mistyped name would look like an empty one.",
    spec="design, Commands",
    example=Example("text", "brenner mail inbox --as BleuLake", "brenner mail inbox --as BlueLake"),
)
SENT_TO_NOBODY = Code(
    id="SENT_TO_NOBODY",
    severity=ERROR,
    title="The message reaches nobody",
    message="The message has no recipient; it was not sent.",
    fix="Name at least one, as in `To: BlueLake, RedSky`. `brenner mail agents` lists who is "
    "known.",
    why="A message that reaches nobody looks sent, and nobody answers it.",
    spec=_SENDING_SPEC,
    example=Example(
        "text",
        "From: Operator\nTo:\nSubject: INFO: The server restarts",
        "From: Operator\nTo: BlueLake\nSubject: INFO: The server restarts",
    ),
)
UNKNOWN_MESSAGE = Code(
    id="UNKNOWN_MESSAGE",
    severity=ERROR,
    title="The message is unknown",
    message="There is no message {id} in this store.",
    fix="Check the number: `brenner mail inbox` and `brenner mail thread ID` show the ids. "
    "`brenner doctor` says which store it is.",
    why="A wrong number must not be answered with another message, nor with nothing.",
    spec="design, Commands",
    example=Example("text", "brenner mail show 4711", "brenner mail show 47"),
)
NOT_IN_THREAD = Code(
    id="NOT_IN_THREAD",
    severity=ERROR,
    title="The message is in another thread",
    message="The message {id} is not in the thread `{thread}`.",
    fix="Name a message of this thread: `brenner mail thread ID` shows them with their ids. "
    "`brenner mail show {id}` says where this one belongs.",
    why="A place in a thread is given by one of its messages. Another thread's message is no place "
    "in it.",
    spec="R9",
    example=Example(
        "text",
        "brenner mail thread RS-20251230-cell-fate --before 12    (12 is in COORD-setup)",
        "brenner mail thread RS-20251230-cell-fate --before 15",
    ),
)
UNKNOWN_THREAD = Code(
    id="UNKNOWN_THREAD",
    severity=ERROR,
    title="The thread is unknown",
    message="There is no thread `{thread}` in this store.",
    fix="Check the ID: `brenner mail thread` lists them. `brenner doctor` says which store it "
    "is.{suggestion}",
    why="A mistyped ID must not look like a thread in which there is nothing to do.",
    spec="R17",
    example=Example(
        "text",
        "brenner mail thread RS-20251230-cel-fate",
        "brenner mail thread RS-20251230-cell-fate",
    ),
)
NOT_A_RECIPIENT = Code(
    id="NOT_A_RECIPIENT",
    severity=ERROR,
    title="The message went to others",
    message="The message {id} was not sent to `{name}`; its recipients: {recipients}.",
    fix="Name a message that you received: `brenner mail inbox` lists them. If you are one of its "
    "recipients, say who you are with `--as NAME`.",
    why="An ACK says that its sender has the message. Only a recipient can say so, and only she "
    "knows what she has read.",
    spec=_ACK_SPEC,
    example=Example(
        "text",
        "brenner mail ack 12 --as RedSky    (12 went to BlueLake)",
        "brenner mail ack 15 --as RedSky    (15 went to RedSky)",
    ),
)
THREAD_MOVED = Code(
    id="THREAD_MOVED",
    severity=ERROR,
    title="The thread has moved since it was read",
    message="The thread `{thread}` has moved on: its position is {position}, not {expected}. "
    "The message was not sent.",
    fix="Read what is new with `brenner mail thread --after ID {thread}`, where ID is the last "
    "message that you have read. If yours still holds, send it again with "
    "`--if-position {position}`.",
    why="The message was meant for the thread as it was. Somebody may have said the same, or the "
    "opposite, in between.",
    spec="R17",
    example=Example(
        "text",
        "brenner mail send message.md --if-position 14    (somebody has sent the 15th)",
        "brenner mail thread --after 41 RS-20251230-cell-fate\n"
        "brenner mail send message.md --if-position 15",
    ),
)
VERSION_OVERTAKEN = Code(
    id="VERSION_OVERTAKEN",
    severity=ERROR,
    title="Something that changes the next version has come in",
    message="Message {id} ({type}) has come into the thread `{thread}` since it was read. The "
    "message was not sent.",
    fix="Read the thread again, with message {id}, and decide again.",
    why="A version, or a decision on one, is built on the thread as it was read. Another version "
    "or decision changes what it should be. Other mail does not: it waits for the next version.",
    spec="R17",
    example=Example(
        "text",
        "(two compilers have read v2; the other one publishes v3 as message 41)\n"
        "message 42, COMPILED: v3 added T4",
        "(the second one reads the thread again)\nmessage 42, COMPILED: v4 added T4",
    ),
)
KEY_REUSED = Code(
    id="KEY_REUSED",
    severity=ERROR,
    title="The idempotency key belongs to another message",
    message="The key `{key}` was used for message {id}, which is not this one. Nothing was sent.",
    fix="Give each of your messages its own key, and use it again only to repeat the very same "
    "send. "
    "`brenner mail show {id}` shows what was sent.",
    why="A key makes a repeated send one message. With another text under the same key, one of "
    "the two would be lost in silence.",
    spec="R8",
    example=Example(
        "text",
        "brenner mail send h1.md --key round-1\nbrenner mail send t1.md --key round-1",
        "brenner mail send h1.md --key round-1-h1\nbrenner mail send t1.md --key round-1-t1",
    ),
)
REPLY_ELSEWHERE = Code(
    id="REPLY_ELSEWHERE",
    severity=ERROR,
    title="A reply belongs to another thread",
    message="The message {id}, which this one answers, is in the thread `{thread}`.",
    fix="Send the answer to the thread `{thread}`, or send it without `--reply-to` and name "
    "the message in the text.",
    why="Who reads a thread sees the whole of a conversation. A link out of it leads to what she "
    "may never have got.",
    spec=_SENDING_SPEC,
    example=Example(
        "text",
        "brenner mail send message.md --reply-to 12\n"
        "(Thread: COORD-setup, but 12 is in RS-20251230-cell-fate)",
        "brenner mail send message.md --reply-to 12\n(Thread: RS-20251230-cell-fate)",
    ),
)
UNSTORABLE_TEXT = Code(
    id="UNSTORABLE_TEXT",
    severity=ERROR,
    title="A text cannot be stored as it is",
    message="The {what} cannot be stored as it is: {reason}.",
    fix="Take that character out of the {what} and try again.",
    why="What is stored stays the same for ever and everywhere. A text that some store would cut "
    "or change would no longer match its hash.",
    spec="rulings, Small decisions",
    example=Example("text", "Subject: INFO: cut\x00here", "Subject: INFO: cut here"),
)
FIELD_TOO_LONG = Code(
    id="FIELD_TOO_LONG",
    severity=ERROR,
    title="A field is too long",
    message="The {what} is longer than {most} bytes; nothing was stored.",
    fix="Shorten it. Long texts belong in the body of a message, and larger ones in a file that it "
    "names by its path.",
    why="Every list and every lookup pays for what is stored. The limit keeps them quick, whoever "
    "writes.",
    spec="R5",
    example=Example(
        "text",
        'brenner mail register BlueLake --task "(a whole plan, 20 pages long)"',
        'brenner mail register BlueLake --task "tests for cell fate"',
    ),
)
ACK_NAMES_NOTHING = Code(
    id="ACK_NAMES_NOTHING",
    severity=WARNING,
    title="An ACK does not say for which message",
    message="The ACK names no message id that can be read, so it settles nothing. ACKs that you "
    "owe in `{thread}`: {debts}.",
    fix="Write the number under `## Message ID`, or send `brenner mail ack ID`. "
    "`brenner mail inbox --owed` lists what you owe.",
    why="With one open debt it is plain which one is meant. With none, or with several, it would "
    "be a guess.",
    spec=_ACK_SPEC,
    example=Example(
        "text",
        "# Acknowledgement\n\n## Status\nReceived",
        "# Acknowledgement\n\n## Message ID\n12\n\n## Status\nReceived",
    ),
)
ACK_OF_UNKNOWN = Code(
    id="ACK_OF_UNKNOWN",
    severity=WARNING,
    title="An ACK names a message that is not in the thread",
    message="The ACK names message {id}, which is not in the thread `{thread}`; it settles nothing "
    "there.",
    fix="Write the number of a message of this thread under `## Message ID`: "
    "`brenner mail thread ID` shows them. An ACK stays in the thread of its message.",
    why="Who owes what is read from each thread alone. An ACK in another one is not found there.",
    spec=_ACK_SPEC,
    example=Example(
        "text",
        "## Message ID\n4711",
        "## Message ID\n47",
    ),
)
ACK_BY_OTHER = Code(
    id="ACK_BY_OTHER",
    severity=WARNING,
    title="An ACK is not by a recipient",
    message="The ACK names message {id}, which was not sent to `{name}`; it settles nothing there.",
    fix="Leave the number out; `brenner mail show {id}` says who can acknowledge it. "
    "`brenner mail inbox --owed` lists what you owe.",
    why="The sender waits for those to whom she wrote. An ACK of somebody else says nothing about "
    "them.",
    spec=_ACK_SPEC,
    example=Example(
        "text",
        "From: RedSky\n\n## Message ID\n12    (12 went to BlueLake)",
        "From: RedSky\n\n## Message ID\n15    (15 went to RedSky)",
    ),
)
WOULD_BE_REFUSED = Code(
    id="WOULD_BE_REFUSED",
    severity=WARNING,
    title="A block would be refused as the thread stands",
    message="As the thread stands now, block {block} would be refused: {reason}",
    fix="{fix}",
    why="The message was sent: what it speaks of may still come. If it does not, the block is "
    "refused when the thread is compiled.",
    spec="R11; companion, Merging",
    example=Example(
        "text",
        'DELTA with `"operation": "EDIT", "target_id": "H9"`\n(the thread has H1 to H3)',
        'DELTA with `"operation": "EDIT", "target_id": "H3"`',
    ),
)
AFTER_THE_END = Code(
    id="AFTER_THE_END",
    severity=WARNING,
    title="The session is complete",
    message="The session is complete, with v{version}: nothing of this message is compiled unless "
    "the operator reopens it.",
    fix="Tell the operator why it matters: she compiles it with `brenner compile --reopen`. What "
    "begins something new belongs into a session of its own, with a reference to this one.",
    why="The message was sent and is kept. But a session that is complete is compiled no more by "
    "itself, and nobody may be looking.",
    spec="R18",
    example=Example(
        "text",
        "brenner mail send delta.md    (after `brenner session complete`)",
        "brenner session start --question 'What follows from it?' …",
    ),
)

STORED_WITH_TROUBLE = Code(
    id="STORED_WITH_TROUBLE",
    severity=WARNING,
    title="The message is stored, and something after it failed",
    message="Message {id} is stored. But {what}: {reason}",
    fix="Do not send it again. If the trouble stays, tell the operator.",
    why="What is stored is safe, whatever happens next. Who took it for a failure would send it "
    "twice.",
    spec="R8",
    example=Example(
        "text",
        "(the store fails while one looks which ACKs are still owed)",
        "brenner mail inbox --owed    (later)",
    ),
)

MAIL_CODES = (
    NAME_TAKEN,
    NAME_LOOKS_LIKE,
    INVALID_NAME,
    UNKNOWN_SENDER,
    UNKNOWN_RECIPIENT,
    NO_SUCH_AGENT,
    SENT_TO_NOBODY,
    UNKNOWN_MESSAGE,
    NOT_IN_THREAD,
    UNKNOWN_THREAD,
    NOT_A_RECIPIENT,
    THREAD_MOVED,
    VERSION_OVERTAKEN,
    KEY_REUSED,
    REPLY_ELSEWHERE,
    UNSTORABLE_TEXT,
    FIELD_TOO_LONG,
    ACK_NAMES_NOTHING,
    ACK_OF_UNKNOWN,
    ACK_BY_OTHER,
    WOULD_BE_REFUSED,
    AFTER_THE_END,
    STORED_WITH_TROUBLE,
)


# File reservations


_RESERVATION_SPEC = "agent_mail, The subset that agents use"

INVALID_PATTERN = Code(
    id="INVALID_PATTERN",
    severity=ERROR,
    title="The pattern of files cannot be reserved",
    message="`{pattern}` cannot be reserved: {reason}. Nothing was reserved.",
    fix="Write paths relative to the project's folder, with `/` between folders and few "
    "wildcards: `src/main.py`, `src/*.py`, `docs/**`; `.` is all of it.",
    why="Others compare their patterns with this one. One that means a file outside of the "
    "project, or none at all, would never show a conflict.",
    spec=_RESERVATION_SPEC,
    example=Example(
        "text",
        'file_reservation_paths(paths=["/home/me/project/src/main.py"], …)',
        'file_reservation_paths(paths=["src/main.py"], …)',
    ),
)
INVALID_RESERVED_TIME = Code(
    id="INVALID_RESERVED_TIME",
    severity=ERROR,
    title="Files cannot be reserved for that long",
    message="Files cannot be reserved for {seconds} seconds: at least 1, at most {most}. Nothing "
    "was reserved.",
    fix="Say for how many seconds you need them, as 3600 for an hour. Reserve them again before "
    "the time is up if you need them longer, and release them when you are done.",
    why="An agent that is gone cannot release its files. They are free again when the time is up, "
    "so that it must be up some day.",
    spec=_RESERVATION_SPEC,
    example=Example(
        "text",
        'file_reservation_paths(paths=["src/main.py"], ttl_seconds=0, …)',
        'file_reservation_paths(paths=["src/main.py"], ttl_seconds=3600, …)',
    ),
)
TOO_MANY_RESERVATIONS = Code(
    id="TOO_MANY_RESERVATIONS",
    severity=ERROR,
    title="Too many files are reserved",
    message="That would be {count} {what}, and {most} is the most. Nothing was reserved.",
    fix="Reserve folders or patterns instead of single files: `src/parser/**`. Release what you no "
    "longer need: `release_file_reservations`.",
    why="Each new reservation is compared with all others. Who reserves everything tells the "
    "others nothing.",
    spec=_RESERVATION_SPEC,
    example=Example(
        "text",
        'file_reservation_paths(paths=["src/parser/a.py", "src/parser/b.py", …], …)',
        'file_reservation_paths(paths=["src/parser/**"], …)',
    ),
)

RESERVATION_CODES = (
    INVALID_PATTERN,
    INVALID_RESERVED_TIME,
    TOO_MANY_RESERVATIONS,
)


# Search: words, "phrases" and filters


_SEARCH_SPEC = "design, Commands"
_SEARCH_COMMAND = "brenner mail search gradient"

UNKNOWN_FILTER = Code(
    id="UNKNOWN_FILTER",
    severity=ERROR,
    title="There is no such filter",
    message="`{name}:` is not a filter of the search.",
    fix="Use `type:`, `from:`, `thread:`, `item:`, `is:unread`, `needs:ack`, `before:` or "
    "`after:`. To look for the text itself, put it in quotation marks.{suggestion}",
    why="A filter that nobody knows would be dropped, and the search would find too much, or "
    "taken as a word, and it would find nothing.",
    spec=_SEARCH_SPEC,
    example=Example("text", "sender:BlueLake gradient", "from:BlueLake gradient"),
)
INVALID_FILTER_VALUE = Code(
    id="INVALID_FILTER_VALUE",
    severity=ERROR,
    title="A filter cannot have this value",
    message="`{filter}:` cannot have the value `{value}`.",
    fix="After `{filter}:` write {expected}.",
    why="No message could ever match. An empty answer would look as if there were none.",
    spec=_SEARCH_SPEC,
    example=Example("text", "type:DELTAS after:yesterday", "type:DELTA after:2025-12-30"),
)
EMPTY_QUERY = Code(
    id="EMPTY_QUERY",
    severity=ERROR,
    title="The search asks for nothing",
    message="There is nothing to search for.",
    fix='Give words, a "phrase", or a filter such as `type:DELTA`. To see everything that you '
    "received, use `brenner mail inbox`.",
    why="An empty search is most often a variable that was not filled in.",
    spec=_SEARCH_SPEC,
    example=Example("text", 'brenner mail search ""', _SEARCH_COMMAND),
)
UNCLOSED_QUOTE = Code(
    id="UNCLOSED_QUOTE",
    severity=ERROR,
    title="A quotation mark is not closed",
    message="A quotation mark is opened and never closed.",
    fix='Close it: `"a phrase"`. In a shell, put the whole search between single quotation marks.',
    why="Where the phrase ends would be a guess: at the next word, or at the end.",
    spec=_SEARCH_SPEC,
    example=Example(
        "text",
        "brenner mail search 'type:DELTA \"cell fate'",
        "brenner mail search 'type:DELTA \"cell fate\"'",
    ),
)
FILTER_NEEDS_READER = Code(
    id="FILTER_NEEDS_READER",
    severity=ERROR,
    title="A filter asks about an inbox, but not about whose",
    message="`{filter}` asks about somebody's inbox, and nobody is named.",
    fix="Say who you are with `--as NAME`, or set `AGENT_NAME`.",
    why="What is unread, or owed, differs from one recipient to the next.",
    spec=_SEARCH_SPEC,
    example=Example(
        "text", "brenner mail search is:unread", "brenner mail search is:unread --as BlueLake"
    ),
)
QUERY_TOO_LONG = Code(
    id="QUERY_TOO_LONG",
    severity=ERROR,
    title="The search asks for too much at once",
    message="The search has more than {most}.",
    fix="Search for fewer words, or in several steps: a few rare words find a message.",
    why="All of it must be there, so that more words hardly ever find more; each takes time from "
    "everybody else.",
    spec="ruling R5 (limits before parsing)",
    example=Example("text", "brenner mail search 'a whole page of text'", _SEARCH_COMMAND),
)

SEARCH_CODES = (
    UNKNOWN_FILTER,
    INVALID_FILTER_VALUE,
    EMPTY_QUERY,
    UNCLOSED_QUOTE,
    FILTER_NEEDS_READER,
    QUERY_TOO_LONG,
)
