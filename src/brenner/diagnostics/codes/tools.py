"""Codes of the tools for mail: what cannot be asked for, and what became of what was sent."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_TOOLS = "agent_mail, The subset that agents use"
_SENDING = "rulings, Small decisions; agent_mail, The subset that agents use"

INVALID_ARGUMENT = Code(
    id="INVALID_ARGUMENT",
    severity=ERROR,
    title="An argument cannot have this value",
    message="`{name}` cannot be `{value}`. Nothing was done.",
    fix="Give {expected}.",
    why="A value that is dropped or bent until it fits does something else than was asked for: an "
    "inbox from a time that nobody can read would be the whole inbox.",
    spec=_TOOLS,
    example=Example(
        "text",
        'fetch_inbox(…, since_ts="yesterday")',
        'fetch_inbox(…, since_ts="2025-12-30T12:00:00+00:00")',
    ),
)
BLIND_COPIES = Code(
    id="BLIND_COPIES",
    severity=ERROR,
    title="There are no blind copies",
    message="`bcc` names {names}, but there are no blind copies here. The message was not sent.",
    fix="Name them in `cc`, or send them a message of their own.",
    why="In a research group everybody sees who got what; who answers must know who reads it.",
    spec=_SENDING,
    example=Example(
        "text",
        'send_message(to=["BlueLake"], bcc=["RedSky"], …)',
        'send_message(to=["BlueLake"], cc=["RedSky"], …)',
    ),
)
NO_ATTACHMENTS = Code(
    id="NO_ATTACHMENTS",
    severity=ERROR,
    title="There are no attachments",
    message="`attachment_paths` names {paths}, but messages here have no attachments. The message "
    "was not sent.",
    fix="Put the text into `body_md`, or name the file there by its path in the repository, and "
    "leave `attachment_paths` out.",
    why="A message is what is merged, archived and rebuilt. A file beside it would be lost.",
    spec=_SENDING,
    example=Example(
        "text",
        'send_message(…, attachment_paths=["figure.png"])',
        'send_message(…, body_md="The figure is in results/figure.png.")',
    ),
)
SEARCH_OPERATOR = Code(
    id="SEARCH_OPERATOR",
    severity=ERROR,
    title="The search does not know this operator",
    message="The search does not know `{operator}`.",
    fix='{instead} All words must be there, in any order; a `"phrase"` in this order. To look '
    "for the text itself, put it in quotation marks.",
    why="Taken as a word it would find nothing, which would look as if there were nothing.",
    spec="agent_mail, The subset that agents use; design, Commands",
    example=Example("text", "gradient OR wave", "gradient"),
)

# What became of a message

NO_THREAD_NAMED = Code(
    id="NO_THREAD_NAMED",
    severity=ERROR,
    title="Mail of the protocol that names no thread",
    message="The subject `{subject}` is the protocol's, and no thread is named. The message was "
    "not sent.",
    fix="Give `thread_id`, the ID of the session or work item that it belongs to: what you answer "
    "has it. For mail that belongs to none, use a subject without the prefix.",
    why="Each message of the protocol belongs to a thread. One that begins a thread of its own is "
    "compiled by nobody, and settles nothing.",
    spec="R1; thread_subject_conventions_v0.1, Thread ID Conventions",
    example=Example(
        "text",
        'send_message(subject="DELTA[gpt]: H2 is refuted", …)',
        'send_message(subject="DELTA[gpt]: H2 is refuted", thread_id="RS-20251230-cell-fate", …)',
    ),
)
NOT_COMPILED = Code(
    id="NOT_COMPILED",
    severity=WARNING,
    title="Mail of a session that contributes nothing",
    message="The message is mail to be read. Nothing in it will be compiled{held}: its subject has "
    "no prefix of the protocol.",
    fix="{unless}To contribute, send it again {where} under the subject `{subject}`{role}.",
    why="Only messages whose subject begins with a valid `DELTA[role]:` contribute. Who answers a "
    "kickoff under `Re: KICKOFF: …` is read by people, and is missing in the artifact.",
    spec="R4",
    example=Example(
        "text", "Subject: Re: KICKOFF: Cell fate", "Subject: DELTA[opus]: H2 is refuted"
    ),
)

NO_SESSION_YET = Code(
    id="NO_SESSION_YET",
    severity=WARNING,
    title="A contribution to a thread that nobody has written to",
    message="Nobody has written to the thread `{thread}` before: the message begins it.",
    fix="Check the thread ID: if another one was meant, send the message again there.{suggestion}",
    why="A session begins with a KICKOFF. Under a mistyped ID a contribution is compiled by "
    "nobody.",
    spec="R1; R15",
    example=Example(
        "text",
        "Thread: RS-20251230-cel-fate    (the session is RS-20251230-cell-fate)",
        "Thread: RS-20251230-cell-fate",
    ),
)

ANSWER_TOO_LARGE = Code(
    id="ANSWER_TOO_LARGE",
    severity=ERROR,
    title="The answer would be too long",
    message="So many messages were asked for that even a list of them is too long.",
    fix="Ask for fewer: with `limit`, or only for what came after `since_ts`. `search_messages` "
    "finds single ones.",
    why="An answer is kept in memory until it is read, beside those of everybody else.",
    spec="ruling R5 (limits)",
    example=Example("text", "fetch_inbox(…, limit=1000000)", "fetch_inbox(…, limit=100)"),
)
UNUSABLE_THREAD_ID = Code(
    id="UNUSABLE_THREAD_ID",
    severity=ERROR,
    title="A text that cannot be the ID of a thread",
    message="`{thread}` cannot be the ID of a thread: {reason}. The message was not sent.",
    fix="Use one line of at most {most} characters that can be seen, without blanks around it, "
    "such as `TKT-12`; or leave `thread_id` out: then the message begins a thread of its own.",
    why="Others type the ID, and lists show it. What they cannot see they cannot write, and their "
    "answers go elsewhere.",
    spec="R1; agent_mail, The subset that agents use",
    example=Example(
        "text",
        'send_message(…, thread_id="lunch\\nat noon")',
        'send_message(…, thread_id="lunch")',
    ),
)
STORED_UNCHECKED = Code(
    id="STORED_UNCHECKED",
    severity=WARNING,
    title="A message is stored though the check has found errors",
    message="The message is stored as it is, though the check has found {count} in it: the request "
    "says that it was checked before (`Brenner-Checked`).",
    fix="Leave this header away: then a message with errors is refused, with the correction. What "
    "is wrong in this one, send again, corrected.",
    why="The header is for our own programs, which check before they send, or move mail that is "
    "to stay as it is. Whoever else uses it must not miss what the check says.",
    spec=_SENDING,
    example=Example(
        "text",
        "Brenner-Checked: true    (and a DELTA that is not JSON)",
        "(no such header)",
    ),
)

CODES: tuple[Code, ...] = (
    INVALID_ARGUMENT,
    BLIND_COPIES,
    NO_ATTACHMENTS,
    SEARCH_OPERATOR,
    NO_THREAD_NAMED,
    NOT_COMPILED,
    NO_SESSION_YET,
    ANSWER_TOO_LARGE,
    UNUSABLE_THREAD_ID,
    STORED_UNCHECKED,
)
