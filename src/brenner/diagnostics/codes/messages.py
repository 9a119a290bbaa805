"""Codes for messages: input and headers, thread IDs and subjects, and bodies."""

from brenner.diagnostics.codes.examples import (
    ACK_MESSAGE,
    BLOCKED_MESSAGE,
    COMPILED_MESSAGE,
    CRITIQUE_MESSAGE,
    DELTA_MESSAGE,
    HANDOFF_MESSAGE,
    KICKOFF_MESSAGE,
    QUESTION_MESSAGE,
)
from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_FILE_SPEC = "rulings, Small decisions: a message file"

UNREADABLE_INPUT = Code(
    id="UNREADABLE_INPUT",
    severity=ERROR,
    title="The input cannot be read",
    message="`{path}` cannot be read: {reason}.",
    fix="Give a file that exists and that you may read, or `-` for the standard input.",
    why="Nothing was checked; saying nothing would look like success.",
    spec="design, Exit codes",
    example=Example("text", "brenner check no-such-file.md", "brenner check message.md"),
)
NOT_UTF8 = Code(
    id="NOT_UTF8",
    severity=ERROR,
    title="The input is not UTF-8",
    message="The input is not UTF-8: {reason}.",
    fix="Save the file as UTF-8 and try again.",
    why="Guessing an encoding would alter what the author wrote: `§42` turns into `¬ß42`.",
    spec=_FILE_SPEC,
    example=Example("text", "a file saved as Latin-1", "the same file saved as UTF-8"),
)
MESSAGE_TOO_LARGE = Code(
    id="MESSAGE_TOO_LARGE",
    severity=ERROR,
    title="The message is too large",
    message="The message is larger than {most} bytes; nothing in it was read.",
    fix="Send the contribution in several messages, and point to large material by path.{setting}",
    why="The limit holds before anything is parsed, so that no message can exhaust the machine.",
    spec="R5",
    example=Example("text", "a message of 50 MB", "a message that names the file of 50 MB"),
)
MORE_DIAGNOSTICS = Code(
    id="MORE_DIAGNOSTICS",
    severity=INFO,
    title="More diagnostics than are shown",
    message="This {of} has more diagnostics than are shown. Left out: {what}.",
    fix="Fix what is shown, then check again.",
    why="A list of thousands hides the first errors, and makes every page and answer that shows "
    "it slow. Errors are shown before warnings, and warnings before infos.",
    spec="R5; R7",
    example=Example(
        "text",
        "a text in a delta block with 60 commands of LaTeX such as `\\tau`",
        "the same text with `\\\\tau`",
    ),
)
FILE_TOO_LARGE = Code(
    id="FILE_TOO_LARGE",
    severity=ERROR,
    title="The file is too large",
    message="`{path}` is larger than {most} bytes; nothing in it was read.",
    fix="Point to large material by path, and keep in the file what people are to read.",
    why="The limit holds before anything is parsed, so that no file can exhaust the machine.",
    spec="R5; design, Exit codes",
    example=Example("text", "an artifact of 50 MB", "an artifact that names the file of 50 MB"),
)
NO_ARTIFACT = Code(
    id="NO_ARTIFACT",
    severity=ERROR,
    title="There is no artifact in the file",
    message="`{path}` holds no artifact: {reason}.",
    fix="Give the Markdown file of an artifact: front matter between two lines `---`, a title, "
    "and seven sections, `## 1. Research Thread` the first.",
    why="To show or lint nothing would look like success. An empty file is most often a failed "
    "redirection.",
    spec="companion, The artifact; companion, Lint",
    example=Example(
        "text",
        "# Shopping list",
        '---\nsession_id: "RS-20251230-cell-fate"\n---\n\n'
        "# Brenner Protocol Artifact: RS-20251230-cell-fate\n\n## 1. Research Thread\n…",
    ),
)
NO_SECTION_NUMBERS = Code(
    id="NO_SECTION_NUMBERS",
    severity=ERROR,
    title="The source text has no section numbers",
    message="None of the headings of `{path}` has a section number.",
    fix="Give the Markdown file whose headings carry the numbers, as in `## §42 Title` or "
    "`## 42. Title`.",
    why="Every `§n` would count as missing, though the file is at fault and not the artifact.",
    spec="companion, Anchors",
    example=Example("text", "## On counting", "## §42 On counting"),
)
EMPTY_MESSAGE = Code(
    id="EMPTY_MESSAGE",
    severity=ERROR,
    title="The message is empty",
    message="There is no message: the input is empty.",
    fix="Write headers, a blank line and the body; `brenner new TYPE` prints one to fill in.",
    why="An empty file is most often a failed redirection, not a message.",
    spec=_FILE_SPEC,
    example=Example(
        "message", "", "Subject: INFO: Server restarts at 02:00\n\n# Information\n\nAs said.\n"
    ),
)
NUL_CHARACTER = Code(
    id="NUL_CHARACTER",
    severity=ERROR,
    title="The message holds a NUL character",
    message="There is a NUL character (U+0000) in the message.",
    fix="Remove it; inside a JSON string write `\\u0000` if you mean it.",
    why="Several stores and most tools end a text at a NUL: what follows would be lost in silence.",
    spec=_FILE_SPEC,
    example=Example(
        "message",
        "Subject: INFO: cut here\n\nbefore\x00after\n",
        "Subject: INFO: not cut\n\nbefore after\n",
    ),
)
INVALID_HEADER = Code(
    id="INVALID_HEADER",
    severity=ERROR,
    title="A line among the headers is not a header",
    message="`{line_text}` is not a header: {reason}.",
    fix="Write each header as `Name: value` on one line, then a blank line, then the body.",
    why="Without the blank line nobody can say where the body begins.",
    spec=_FILE_SPEC,
    example=Example(
        "message",
        "Subject: INFO: no blank line\n# Information\n",
        "Subject: INFO: with a blank line\n\n# Information\n",
    ),
)
UNKNOWN_HEADER = Code(
    id="UNKNOWN_HEADER",
    severity=WARNING,
    title="An unknown header",
    message="The header `{name}` is not known and is not kept.",
    fix="Use `Thread`, `From`, `To`, `Subject` or `Ack-Required`; put anything else into the "
    "body.{suggestion}",
    why="A header that nobody reads looks as if it had an effect.",
    spec=_FILE_SPEC,
    example=Example(
        "message",
        "Subject: INFO: a note\nPriority: high\n\nText.\n",
        "Subject: INFO: a note\n\nThis is urgent. Text.\n",
    ),
)
REPEATED_HEADER = Code(
    id="REPEATED_HEADER",
    severity=ERROR,
    title="A header stands twice",
    message="The header `{name}` stands twice; the first is on line {first}.",
    fix="Keep one of them. Several recipients go into one `To`, separated by commas.",
    why="Taking the first or the last would be a guess.",
    spec=_FILE_SPEC,
    example=Example(
        "message",
        "Subject: INFO: one\nSubject: INFO: two\n\nText.\n",
        "Subject: INFO: one and two\n\nText.\n",
    ),
)
MISSING_HEADER = Code(
    id="MISSING_HEADER",
    severity=ERROR,
    title="A required header is missing",
    message="The header `{name}` is missing.",
    fix="Begin the file with `Thread:`, `From:`, `To:` and `Subject:`, then a blank line.",
    why="Without thread, sender and subject a message cannot be filed, answered or compiled.",
    spec=_FILE_SPEC,
    example=Example("message", "To: Operator\n\nText.\n", "Subject: INFO: a note\n\nText.\n"),
)
NO_RECIPIENT = Code(
    id="NO_RECIPIENT",
    severity=WARNING,
    title="The message has no recipient yet",
    message="The message names no recipient (`To`).",
    fix="Add `To: NAME, NAME` before sending.",
    why="A message can be checked without recipients, but not sent.",
    spec=_FILE_SPEC,
    example=Example(
        "message",
        "Subject: INFO: a note\nTo:\n\nText.\n",
        "Subject: INFO: a note\nTo: Operator\n\nText.\n",
    ),
)
INVALID_AGENT_NAME = Code(
    id="INVALID_AGENT_NAME",
    severity=ERROR,
    title="Not an agent's name",
    message="`{name}` is not an agent's name.",
    fix="Use the registered name: ASCII letters, digits, `_` and `-`, a letter first, at most 64 "
    "(`BlueLake`).",
    why="Names are keys. Look-alike letters or blanks in one would make two agents of one.",
    spec="agent_roster_schema_v0.1, RosterEntry; " + _FILE_SPEC,
    example=Example(
        "message",
        "To: Blue Lake\nSubject: INFO: a note\n\nText.\n",
        "To: BlueLake\nSubject: INFO: a note\n\nText.\n",
    ),
)
INVALID_ACK_REQUIRED = Code(
    id="INVALID_ACK_REQUIRED",
    severity=ERROR,
    title="Ack-Required is neither true nor false",
    message="`Ack-Required: {value}` says neither yes nor no.",
    fix="Write `Ack-Required: true` or `Ack-Required: false`, or leave it out to get what the "
    "type asks for.",
    why="Whether recipients owe an answer must not depend on a guess.",
    spec="message_body_schema_v0.1, ACK Semantics Summary; R3",
    example=Example(
        "message",
        "Ack-Required: maybe\nSubject: INFO: a note\n\nText.\n",
        "Ack-Required: false\nSubject: INFO: a note\n\nText.\n",
    ),
)
SENDER_MISMATCH = Code(
    id="SENDER_MISMATCH",
    severity=ERROR,
    title="The sender is somebody else",
    message="The message is from `{sender}`, but you act as `{actor}`.",
    fix="Write `From: {actor}`, or act as the sender with `--as {sender}`.",
    why="A message under another's name would be counted as her contribution.",
    spec=_FILE_SPEC,
    example=Example(
        "text",
        "brenner check --as RedCreek message.md    (From: BlueLake)",
        "brenner check --as BlueLake message.md",
    ),
)
WRONG_USAGE = Code(
    id="WRONG_USAGE",
    severity=ERROR,
    title="The command was not understood",
    message="{reason}",
    fix="See `{command} --help`.",
    why="A command that is only half understood does nothing.",
    spec="design, Exit codes",
    example=Example("text", "brenner chek message.md", "brenner check message.md"),
)
UNKNOWN_CODE = Code(
    id="UNKNOWN_CODE",
    severity=ERROR,
    title="No such code",
    message="`{code}` is not in the catalogue.",
    fix="`brenner explain` without a code lists them all.{suggestion}",
    why="Codes are never reused or renamed, so an unknown one is a misspelling.",
    spec="design, Diagnostics",
    example=Example("text", "brenner explain MB-04", "brenner explain MB-004"),
)
OUTPUT_CLOSED = Code(
    id="OUTPUT_CLOSED",
    severity=ERROR,
    title="The output could not be written",
    message="The output could not be written: {reason}.",
    fix="Run the command again with an output that stays open and has room.",
    why="A result that nobody received must not count as delivered.",
    spec="design, Exit codes",
    example=Example("text", "brenner check message.md > /dev/full", "brenner check message.md"),
)
REPORT_LOST = Code(
    id="REPORT_LOST",
    severity=ERROR,
    title="The command was done, and its report could not be written",
    message="The command was done; only its report could not be written: {reason}.",
    fix="Do not run it again. `brenner mail thread` and `brenner mail agents` show what there is.",
    why="Who repeats a send that has been stored sends it twice.",
    spec="design, Exit codes",
    example=Example(
        "text", "brenner mail send message.md > /dev/full", "brenner mail send message.md"
    ),
)

INPUT_CODES = (
    UNREADABLE_INPUT,
    NOT_UTF8,
    MESSAGE_TOO_LARGE,
    MORE_DIAGNOSTICS,
    FILE_TOO_LARGE,
    NO_ARTIFACT,
    NO_SECTION_NUMBERS,
    EMPTY_MESSAGE,
    NUL_CHARACTER,
    INVALID_HEADER,
    UNKNOWN_HEADER,
    REPEATED_HEADER,
    MISSING_HEADER,
    NO_RECIPIENT,
    INVALID_AGENT_NAME,
    INVALID_ACK_REQUIRED,
    SENDER_MISMATCH,
    WRONG_USAGE,
    UNKNOWN_CODE,
    OUTPUT_CLOSED,
    REPORT_LOST,
)


# Thread IDs and subjects (rulings R1, R2)


_THREAD_ID_SPEC = "thread_subject_conventions_v0.1, Thread ID Validation; R1"
_SUBJECT_SPEC = "thread_subject_conventions_v0.1, Subject Validation; R2"

INVALID_BEAD_ID = Code(
    id="INVALID_BEAD_ID",
    severity=ERROR,
    title="The thread ID of engineering work is not a bead ID",
    message="`{thread_id}` is not a valid thread ID: {reason}.",
    fix="Use the bead's own ID, unchanged: small letters, digits, `_` and `-`, parts joined by "
    "single dots.{suggestion}",
    why="The thread ID joins the mail, the artifact's file, the terminal session and the bead. It "
    "is used as it is in all of them, so it is valid or refused, never cleaned up.",
    spec=_THREAD_ID_SPEC,
    example=Example("thread_id", "brenner_bot-5so..1", "brenner_bot-5so.1"),
)
INVALID_RS_THREAD_ID = Code(
    id="INVALID_RS_THREAD_ID",
    severity=ERROR,
    title="The thread ID of a research session is malformed",
    message="`{thread_id}` is not a valid research thread ID: {reason}.",
    fix="Write `RS-`, the date as eight digits, `-`, and a slug of 2 to 40 small letters, digits "
    "and hyphens.{suggestion}",
    why="`RS-` marks a research session; the date sorts sessions, the slug says what they are "
    "about. The ID is also a file name and a session name, so its alphabet is small.",
    spec=_THREAD_ID_SPEC,
    example=Example(
        "thread_id", "RS-20251215-mRNA-decay-paradox", "RS-20251215-mrna-decay-paradox"
    ),
)
INVALID_COORD_THREAD_ID = Code(
    id="INVALID_COORD_THREAD_ID",
    severity=ERROR,
    title="The ID of a coordination thread is malformed",
    message="`{thread_id}` is not a valid coordination thread ID: {reason}.",
    fix="Write `COORD-` and a topic of 2 to 30 small letters, digits and hyphens.{suggestion}",
    why="Coordination threads are for what belongs to no bead and no research session; their "
    "topics are stable and reused.",
    spec=_THREAD_ID_SPEC,
    example=Example("thread_id", "COORD-Daily_Sync", "COORD-daily-sync"),
)
THREAD_ID_TOO_LONG = Code(
    id="THREAD_ID_TOO_LONG",
    severity=ERROR,
    title="The thread ID is too long for a file name",
    message="The thread ID has {length} characters; with `.md` a file name holds {most}.",
    fix="Use a shorter ID: the artifact is kept in `artifacts/{{thread_id}}.md`.",
    why="An ID is used as a file name as it is. One that no file system takes could be discussed "
    "but never persisted.",
    spec="R1",
    example=Example("thread_id", "b" * 253, "brenner_bot-5so.1"),
)
THREAD_ID_ADVICE = Code(
    id="THREAD_ID_ADVICE",
    severity=WARNING,
    title="The thread ID is valid but against the advice",
    message="The thread ID `{thread_id}` is valid, but {reason}.",
    fix="For a new session write `RS-` in capitals, a real date and a slug of 10 to 40 characters "
    "in 2 to 5 words. Keep the ID of a session that exists.",
    why="The date sorts sessions and the slug is all that people see of one in a list.",
    spec="thread_subject_conventions_v0.1, Research Sessions; R1",
    example=Example("thread_id", "RS-20259999-x1", "RS-20251230-gradient-vs-lineage"),
)
INVALID_SUBJECT_PREFIX = Code(
    id="INVALID_SUBJECT_PREFIX",
    severity=ERROR,
    title="The subject has no valid prefix",
    message="The subject `{subject}` does not begin with a valid prefix: {reason}.",
    fix="Begin with `KICKOFF:`, `DELTA[role]:`, `COMPILED:`, `CRITIQUE:`, `ACK:`, `CLAIM:`, "
    "`HANDOFF:`, `BLOCKED:`, `QUESTION:` or `INFO:`.{suggestion}",
    why="The prefix is the message's type. Without it nobody, person or program, knows what the "
    "message is for, and nothing in it can be compiled.",
    spec=_SUBJECT_SPEC,
    also=("MB-001",),
    example=Example("subject", "Delta[Opus] - added H4", "DELTA[opus]: added H4"),
)
EMPTY_SUBJECT_DESCRIPTION = Code(
    id="EMPTY_SUBJECT_DESCRIPTION",
    severity=ERROR,
    title="The subject has no description",
    message="Nothing follows `{prefix}` in the subject.",
    fix="Say after the prefix, in under 80 characters, what the message brings.",
    why="An inbox shows only subjects; a prefix alone says what kind, not what.",
    spec=_SUBJECT_SPEC,
    example=Example("subject", "CRITIQUE:", "CRITIQUE: A2 assumes a stable gradient"),
)
SUBJECT_TOO_LONG = Code(
    id="SUBJECT_TOO_LONG",
    severity=ERROR,
    title="The subject is too long",
    message="The subject has {length} characters; the most is {most}.",
    fix="Shorten the description and say the rest in the body.",
    why="Longer subjects are cut by mail servers in silence, and an inbox line cannot show them.",
    spec=_SUBJECT_SPEC,
    example=Example("subject", "INFO: " + "very " * 30 + "long", "INFO: the short of it"),
)
SUBJECT_DESCRIPTION_LONG = Code(
    id="SUBJECT_DESCRIPTION_LONG",
    severity=WARNING,
    title="The subject's description is longer than advised",
    message="The description has {length} characters; under {most} reads well in an inbox.",
    fix="Shorten the description and say the rest in the body.",
    why="Inbox lists are read at a glance.",
    spec="thread_subject_conventions_v0.1, Subject Format; R2",
    example=Example("subject", "INFO: " + "very " * 16 + "long", "INFO: the short of it"),
)
UNKNOWN_ROLE_SHORTHAND = Code(
    id="UNKNOWN_ROLE_SHORTHAND",
    severity=WARNING,
    title="The role in DELTA[role] is not a known model shorthand",
    message="`{role}` is not one of the model shorthands {known}.",
    fix="Write the shorthand of the contributing model, not the protocol role.{suggestion}",
    why="The shorthand says which model contributed; it is listed under `contributors`. The "
    "delta counts all the same.",
    spec="thread_subject_conventions_v0.1, Role Shorthand for DELTA; R2",
    example=Example("subject", "DELTA[critic]: added C3", "DELTA[gemini]: added C3"),
)

THREAD_SUBJECT_CODES = (
    INVALID_BEAD_ID,
    INVALID_RS_THREAD_ID,
    INVALID_COORD_THREAD_ID,
    THREAD_ID_TOO_LONG,
    THREAD_ID_ADVICE,
    INVALID_SUBJECT_PREFIX,
    EMPTY_SUBJECT_DESCRIPTION,
    SUBJECT_TOO_LONG,
    SUBJECT_DESCRIPTION_LONG,
    UNKNOWN_ROLE_SHORTHAND,
)


# Message bodies (MB-001 … MB-012; ruling R3)


_BODY_DOCUMENT = "message_body_schema_v0.1"
_BODY_SPEC = f"{_BODY_DOCUMENT}, Machine-Checkable Rules"
_ACK_SPEC = f"{_BODY_DOCUMENT}, ACK Semantics Summary; R3"


def _with_ack(message: str, value: str) -> str:
    return f"Ack-Required: {value}\n{message}"


MB_001 = Code(
    id="MB-001",
    severity=ERROR,
    title="The subject has no valid prefix",
    message="The subject has no valid prefix.",
    fix="Begin the subject with one of the ten prefixes.",
    why="The prefix is the type of the message, and the type decides how its body is read. "
    "Reported as INVALID_SUBJECT_PREFIX.",
    spec=_BODY_SPEC,
    example=Example("subject", "Re: KICKOFF: Cell fate", "ACK: Cell fate"),
)
MB_002 = Code(
    id="MB-002",
    severity=ERROR,
    title="A KICKOFF without a research question",
    message="The KICKOFF has no research question: neither `## Research Question` nor a title "
    "has text.",
    fix="Add a section `## Research Question` with one sentence that could turn out false.{hint}",
    why="The question becomes the artifact's research thread; without it a session is about "
    "nothing.",
    spec=f"{_BODY_SPEC}; R3, R15",
    example=Example(
        "message",
        KICKOFF_MESSAGE.replace("# Cell fate\n\n", "").replace(
            "How do cells decide their fate?\n", ""
        ),
        KICKOFF_MESSAGE,
    ),
)
MB_003 = Code(
    id="MB-003",
    severity=ERROR,
    title="A KICKOFF without context",
    message="The KICKOFF has no context: `## Context` is missing or empty.",
    fix="Add a section `## Context` with two to four sentences of background (in a later round, "
    "`## Current State` counts).{hint}",
    why="Agents share nothing but the mail: what is not in the kickoff they do not know.",
    spec=f"{_BODY_SPEC}; R3",
    example=Example("message", KICKOFF_MESSAGE.replace("## Context\n", ""), KICKOFF_MESSAGE),
)
MB_004 = Code(
    id="MB-004",
    severity=ERROR,
    title="A DELTA without a delta block",
    message="The DELTA message has no delta block, so it contributes nothing.",
    fix="Put each operation into a fenced code block that begins with ```delta at the start of a "
    "line and ends with ```.",
    why="Only delta blocks are compiled. A contribution in prose, in a `json` fence or inside "
    "another fence would be lost.",
    spec=f"{_BODY_SPEC}; delta_output_format_v0.1, Failure Mode 1; R4",
    example=Example("message", DELTA_MESSAGE.replace("```delta", "```text"), DELTA_MESSAGE),
)
MB_005 = Code(
    id="MB-005",
    severity=ERROR,
    title="A delta block that is not JSON",
    message="A delta block is not valid JSON.",
    fix="Mend the JSON at the line given.",
    why="A block that cannot be read is refused whole. Reported under a code that says what is "
    "wrong with the JSON.",
    spec=f"{_BODY_SPEC}; R5",
    example=Example("message", DELTA_MESSAGE.replace('"}\n```', '",}\n```'), DELTA_MESSAGE),
)
MB_006 = Code(
    id="MB-006",
    severity=ERROR,
    title="A CRITIQUE without a target",
    message="The CRITIQUE has no target: `## Target` is missing or empty.",
    fix="Add a section `## Target` that names the item or section under attack, and the artifact "
    "version.{hint}",
    why="An attack on nothing in particular cannot be answered.",
    spec=f"{_BODY_SPEC}; R3",
    example=Example("message", CRITIQUE_MESSAGE.replace("## Target\n", ""), CRITIQUE_MESSAGE),
)
MB_007 = Code(
    id="MB-007",
    severity=ERROR,
    title="A CRITIQUE without an attack",
    message="The CRITIQUE has no attack: `## Attack` is missing or empty.",
    fix="Add a section `## Attack` with the challenge itself.{hint}",
    why="The attack is what the critique is for.",
    spec=f"{_BODY_SPEC}; R3",
    example=Example("message", CRITIQUE_MESSAGE.replace("## Attack\n", ""), CRITIQUE_MESSAGE),
)
MB_008 = Code(
    id="MB-008",
    severity=ERROR,
    title="A HANDOFF without both agents",
    message="The HANDOFF does not say {whom}: `## {section}` {reason}.",
    fix="Add a section `## {section}` with one agent's name.{hint}",
    why="Work that is handed over by nobody, or to nobody, is dropped.",
    spec=f"{_BODY_SPEC}; R3",
    example=Example("message", HANDOFF_MESSAGE.replace("## To\nRedLake\n\n", ""), HANDOFF_MESSAGE),
)
MB_009 = Code(
    id="MB-009",
    severity=WARNING,
    title="An ACK that asks for an acknowledgement",
    message="This ACK asks to be acknowledged itself.",
    fix="Leave `Ack-Required` out, or set it to false.",
    why="Acknowledgements of acknowledgements never end.",
    spec=_BODY_SPEC,
    example=Example("message", _with_ack(ACK_MESSAGE, "true"), ACK_MESSAGE),
)
MB_010 = Code(
    id="MB-010",
    severity=WARNING,
    title="A KICKOFF that asks for no acknowledgement",
    message="This KICKOFF does not ask to be acknowledged.",
    fix="Leave `Ack-Required` out, or set it to true.",
    why="The operator needs to know that every agent has received the kickoff.",
    spec=_BODY_SPEC,
    example=Example("message", _with_ack(KICKOFF_MESSAGE, "false"), KICKOFF_MESSAGE),
)
MB_011 = Code(
    id="MB-011",
    severity=WARNING,
    title="A QUESTION that asks for no acknowledgement",
    message="This QUESTION does not ask to be acknowledged.",
    fix="Leave `Ack-Required` out, or set it to true.",
    why="A question that nobody owes an answer to gets none.",
    spec=_BODY_SPEC,
    example=Example("message", _with_ack(QUESTION_MESSAGE, "false"), QUESTION_MESSAGE),
)
MB_012 = Code(
    id="MB-012",
    severity=WARNING,
    title="A BLOCKED that asks for no acknowledgement",
    message="This BLOCKED does not ask to be acknowledged.",
    fix="Leave `Ack-Required` out, or set it to true.",
    why="Somebody has to take the blocker up.",
    spec=_BODY_SPEC,
    example=Example("message", _with_ack(BLOCKED_MESSAGE, "false"), BLOCKED_MESSAGE),
)
ACK_MISMATCH = Code(
    id="ACK_MISMATCH",
    severity=WARNING,
    title="Ack-Required contradicts the type",
    message="`Ack-Required: {value}` contradicts what {type} asks for ({expected}).",
    fix="Leave `Ack-Required` out, or set it to {expected}.",
    why="The type decides who owes an answer; the exception may be meant, so it is only a warning.",
    spec=_ACK_SPEC,
    example=Example("message", _with_ack(CRITIQUE_MESSAGE, "false"), CRITIQUE_MESSAGE),
)
MISSING_SECTION = Code(
    id="MISSING_SECTION",
    severity=ERROR,
    title="A required section is missing",
    message="The {type} has no `## {section}`, or nothing stands in it.",
    fix="Add a section `## {section}`: {asks}.{hint}",
    why="Each type of message has sections without which its reader cannot act.",
    spec=f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example("message", BLOCKED_MESSAGE.replace("## Blocker\n", ""), BLOCKED_MESSAGE),
)
MISSING_RECOMMENDED_SECTION = Code(
    id="MISSING_RECOMMENDED_SECTION",
    severity=WARNING,
    title="A recommended section is missing",
    message="The {type} has no `## {section}`, or nothing stands in it.",
    fix="Better add a section `## {section}`: {asks}.{hint}",
    why="The message is valid without it, but its reader will miss it.",
    spec=f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example(
        "message", CRITIQUE_MESSAGE.replace("\n## Severity\nMajor\n", ""), CRITIQUE_MESSAGE
    ),
)
INVALID_SECTION_VALUE = Code(
    id="INVALID_SECTION_VALUE",
    severity=ERROR,
    title="A required section has a value outside the list",
    message="`## {section}` says `{value}`, which is not {expected}.",
    fix="Begin the section with {expected}.",
    why="Programs act on this value; one outside the list would be acted on by nobody.",
    spec=f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example("message", ACK_MESSAGE.replace("Received", "Roger"), ACK_MESSAGE),
)
UNLISTED_SECTION_VALUE = Code(
    id="UNLISTED_SECTION_VALUE",
    severity=WARNING,
    title="A recommended section has a value outside the list",
    message="`## {section}` says `{value}`, which is not {expected}.",
    fix="Begin the section with {expected}.",
    why="Lists are sorted and coloured by this value.",
    spec=f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example("message", CRITIQUE_MESSAGE.replace("Major", "Terrible"), CRITIQUE_MESSAGE),
)
QUESTION_FROM_TITLE = Code(
    id="QUESTION_FROM_TITLE",
    severity=WARNING,
    title="The title stands in for the research question",
    message="There is no `## Research Question`; the title `{title}` is taken for the question.",
    fix="Add a section `## Research Question` with one falsifiable sentence.",
    why="A title is seldom a question that could turn out false.",
    spec=f"{_BODY_DOCUMENT}, KICKOFF Messages; R15",
    example=Example(
        "message",
        KICKOFF_MESSAGE.replace("## Research Question\nHow do cells decide their fate?\n", ""),
        KICKOFF_MESSAGE,
    ),
)
EXCERPT_WITHOUT_CITATION = Code(
    id="EXCERPT_WITHOUT_CITATION",
    severity=WARNING,
    title="The excerpt cites nothing",
    message="`## Excerpt` has no citation of the form `§42`.",
    fix='Give the section number of each passage: `§42: "…"`.',
    why="Hypotheses are anchored to sections; agents can only cite what they were given.",
    spec=f"{_BODY_DOCUMENT}, KICKOFF Messages",
    example=Example("message", KICKOFF_MESSAGE.replace("§42: ", ""), KICKOFF_MESSAGE),
)
MISSING_VERSION = Code(
    id="MISSING_VERSION",
    severity=ERROR,
    title="A COMPILED without its version",
    message="Neither the title nor `## Summary` of the COMPILED names a version (`v3`).",
    fix="Title the body `# Compiled Artifact v3`, with the version's number.",
    why="Versions are how everybody refers to the artifact.",
    spec=f"{_BODY_DOCUMENT}, COMPILED Messages",
    example=Example(
        "message",
        COMPILED_MESSAGE.replace("# Compiled Artifact v1", "# Compiled Artifact"),
        COMPILED_MESSAGE,
    ),
)
MALFORMED_VERSION = Code(
    id="MALFORMED_VERSION",
    severity=WARNING,
    title="A reference to an artifact version is malformed",
    message="`{written}` does not name a version as it must.",
    fix="Write the name in bold, `v` and a number: `**{name}**: v2`. `v0` is the empty artifact "
    "before the first.",
    why="The version says which numbers the author had before her; without it her IDs may be "
    "read otherwise than she meant.",
    spec="artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
    example=Example(
        "message",
        CRITIQUE_MESSAGE.replace("## Target\n", "## Target\n**Artifact Version**: latest\n\n"),
        CRITIQUE_MESSAGE.replace("## Target\n", "## Target\n**Artifact Version**: v2\n\n"),
    ),
)
CONFLICTING_VERSIONS = Code(
    id="CONFLICTING_VERSIONS",
    severity=WARNING,
    title="The message names two versions",
    message="The message names both {first} and {second} as its {name}.",
    fix="Keep the one that you had before you.",
    why="The version says which numbers the author had before her; the first one is taken.",
    spec="artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
    example=Example(
        "message",
        DELTA_MESSAGE.replace(
            "\n## Deltas", "\n**Base Version**: v1\n\n**Base Version**: v2\n\n## Deltas"
        ),
        DELTA_MESSAGE.replace("\n## Deltas", "\n**Base Version**: v2\n\n## Deltas"),
    ),
)
DELTA_NOT_CONTRIBUTED = Code(
    id="DELTA_NOT_CONTRIBUTED",
    severity=WARNING,
    title="A delta block in a message that is not a DELTA",
    message="The delta block is in a {type}, so it will not be compiled.",
    fix="Send it in a message whose subject begins with `DELTA[role]:`.",
    why="Only DELTA messages contribute; a block elsewhere is taken for a quotation.",
    spec="R4",
    example=Example(
        "message",
        DELTA_MESSAGE.replace("DELTA[opus]: H1 killed", "INFO: H1 killed"),
        DELTA_MESSAGE,
    ),
)
PLACEHOLDER_LEFT = Code(
    id="PLACEHOLDER_LEFT",
    severity=WARNING,
    title="A placeholder of the template is still there",
    message="`{placeholder}` is still the template's placeholder.",
    fix="Replace it with your own words, or remove its section if it is optional.",
    why="`brenner new` prints such placeholders; sent as they are they say nothing.",
    spec=f"{_BODY_DOCUMENT}, Message Types and Body Schemas",
    example=Example(
        "message",
        CRITIQUE_MESSAGE.replace("A2, the stable gradient", "[[fill in: the item under attack]]"),
        CRITIQUE_MESSAGE,
    ),
)
TEMPLATE_NOT_FILLED_IN = Code(
    id="TEMPLATE_NOT_FILLED_IN",
    severity=ERROR,
    title="The message is a form that was not filled in",
    message="The message still has what a template left to be filled in: {placeholders}.",
    fix="Replace each with your own words, or remove its section if it is optional. "
    "`brenner mail send --no-check` sends it as it is.",
    why="`brenner check` only warns of it, because a form may be checked while one fills it in. "
    "What is sent stays for ever, and recipients would owe an ACK for nothing.",
    spec=f"{_BODY_DOCUMENT}, Pre-send Validation",
    example=Example(
        "text",
        "brenner new QUESTION --as BlueLake | brenner mail send -",
        "brenner new QUESTION --as BlueLake > message.md\n"
        "(fill it in)\nbrenner mail send message.md",
    ),
)
MESSAGE_BODY_CODES = (
    MB_001,
    MB_002,
    MB_003,
    MB_004,
    MB_005,
    MB_006,
    MB_007,
    MB_008,
    MB_009,
    MB_010,
    MB_011,
    MB_012,
    ACK_MISMATCH,
    MISSING_SECTION,
    MISSING_RECOMMENDED_SECTION,
    INVALID_SECTION_VALUE,
    UNLISTED_SECTION_VALUE,
    QUESTION_FROM_TITLE,
    EXCERPT_WITHOUT_CITATION,
    MISSING_VERSION,
    MALFORMED_VERSION,
    CONFLICTING_VERSIONS,
    DELTA_NOT_CONTRIBUTED,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
