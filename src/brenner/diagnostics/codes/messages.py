"""Codes for messages: input and headers, thread IDs and subjects, and bodies."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_FILE_SPEC = "rulings, Small decisions: a message file"

UNREADABLE_INPUT = error(
    "UNREADABLE_INPUT",
    "Cannot read `{path}`: {reason}.",
    "Check the path and its permissions, or give `-` to read the standard input.",
    "design, Exit codes",
)
NOT_UTF8 = error(
    "NOT_UTF8",
    "The input is not UTF-8: {reason}.",
    "Save the file as UTF-8 and try again.",
    _FILE_SPEC,
)
MESSAGE_TOO_LARGE = error(
    "MESSAGE_TOO_LARGE",
    "The message is larger than {most} bytes. It was not read.",
    "Split the contribution into several messages. Refer to large material by its path.{setting}",
    "R5",
)
MORE_DIAGNOSTICS = info(
    "MORE_DIAGNOSTICS",
    "This {of} has more diagnostics than are shown. Not shown: {what}.",
    "Fix what is shown, then check again.",
    "R5; R7",
)
FILE_TOO_LARGE = error(
    "FILE_TOO_LARGE",
    "`{path}` is larger than {most} bytes. It was not read.",
    "Use a smaller file. Refer to large material by its path.",
    "R5; design, Exit codes",
)
NO_ARTIFACT = error(
    "NO_ARTIFACT",
    "`{path}` is not an artifact: {reason}.",
    "Give the Markdown file of an artifact. It has front matter between two `---` lines, a "
    "title, and seven sections from `## 1. Research Thread` on.",
    "companion, The artifact; companion, Lint",
)
NO_SECTION_NUMBERS = error(
    "NO_SECTION_NUMBERS",
    "No heading of `{path}` has a section number.",
    "Give a Markdown file with numbered headings, such as `## §42 Title` or `## 42. Title`.",
    "companion, Anchors",
)
EMPTY_MESSAGE = error(
    "EMPTY_MESSAGE",
    "The message is empty.",
    "Write headers, a blank line and the body. `brenner new DELTA` prints a template. If the file "
    "comes from `brenner check --fix`: it writes nothing when an error needs a decision.",
    _FILE_SPEC,
)
NUL_CHARACTER = error(
    "NUL_CHARACTER",
    "The message contains a NUL character (U+0000).",
    "Remove it. In a JSON string, write `\\u0000` if you mean it.",
    _FILE_SPEC,
)
INVALID_HEADER = error(
    "INVALID_HEADER",
    "`{line_text}` is not a header: {reason}.",
    "Write each header as `Name: value` on one line, then a blank line, then the body.",
    _FILE_SPEC,
)
UNKNOWN_HEADER = warning(
    "UNKNOWN_HEADER",
    "Unknown header `{name}`. It is ignored.",
    "Use `Thread`, `From`, `To`, `Subject` or `Ack-Required`, or move the text to the "
    "body.{suggestion}",
    _FILE_SPEC,
)
REPEATED_HEADER = error(
    "REPEATED_HEADER",
    "The header `{name}` occurs twice. The first is on line {first}.",
    "Keep one. Separate several recipients in one `To` with commas.",
    _FILE_SPEC,
)
MISSING_HEADER = error(
    "MISSING_HEADER",
    "The header `{name}` is missing.",
    "Add a line `{name}: …` at the top. A file begins with `Thread:`, `From:`, `To:` and "
    "`Subject:`, then a blank line.",
    _FILE_SPEC,
)
NO_RECIPIENT = warning(
    "NO_RECIPIENT",
    "The message has no recipient (`To`).",
    "Add a line `To: NAME` before you send it. Separate several names with commas.",
    _FILE_SPEC,
)
INVALID_AGENT_NAME = error(
    "INVALID_AGENT_NAME",
    "`{name}` is not a valid agent name.",
    "Use the registered name, such as `BlueLake`: ASCII letters, digits, `_` and `-`, starting "
    "with a letter, at most 64 characters.",
    "agent_roster_schema_v0.1, RosterEntry; " + _FILE_SPEC,
)
INVALID_ACK_REQUIRED = error(
    "INVALID_ACK_REQUIRED",
    "`Ack-Required: {value}` is neither true nor false.",
    "Write `Ack-Required: true` or `Ack-Required: false`. Without this header, the message type "
    "decides.",
    "message_body_schema_v0.1, ACK Semantics Summary; R3",
)
SENDER_MISMATCH = error(
    "SENDER_MISMATCH",
    "The message is from `{sender}`, but you act as `{actor}`.",
    "Write `From: {actor}`, or act as the sender with `--as {sender}`.",
    _FILE_SPEC,
)
WRONG_USAGE = error("WRONG_USAGE", "{reason}", "See `{command} --help`.", "design, Exit codes")
UNKNOWN_CODE = error(
    "UNKNOWN_CODE",
    "Unknown code `{code}`.",
    "List all codes: `brenner explain`.{suggestion}",
    "design, Diagnostics",
)
OUTPUT_CLOSED = error(
    "OUTPUT_CLOSED",
    "Cannot write the output: {reason}.",
    "Free some space, or write to another place. Then run the command again.",
    "design, Exit codes",
)
REPORT_LOST = error(
    "REPORT_LOST",
    "The command succeeded, but its report cannot be written: {reason}.",
    "Do not run it again. To see the result: `brenner mail thread THREAD`, or `brenner mail "
    "thread` for all threads.",
    "design, Exit codes",
)

# Thread IDs and subjects (rulings R1, R2)

_THREAD_ID_SPEC = "thread_subject_conventions_v0.1, Thread ID Validation; R1"
_SUBJECT_SPEC = "thread_subject_conventions_v0.1, Subject Validation; R2"

INVALID_BEAD_ID = error(
    "INVALID_BEAD_ID",
    "`{thread_id}` is not a valid thread ID: {reason}.",
    "Use the ID of the session, such as `RS-20251230-cell-fate`. The ID of a bead has lower-case "
    "letters, digits, `_` and `-`, with single dots between parts.{suggestion}",
    _THREAD_ID_SPEC,
)
INVALID_RS_THREAD_ID = error(
    "INVALID_RS_THREAD_ID",
    "`{thread_id}` is not a valid research thread ID: {reason}.",
    "Write `RS-`, the date as eight digits, `-`, and a slug of 2 to 40 lower-case letters, "
    "digits and hyphens.{suggestion}",
    _THREAD_ID_SPEC,
)
INVALID_COORD_THREAD_ID = error(
    "INVALID_COORD_THREAD_ID",
    "`{thread_id}` is not a valid coordination thread ID: {reason}.",
    "Write `COORD-` and a topic of 2 to 30 lower-case letters, digits and hyphens.{suggestion}",
    _THREAD_ID_SPEC,
)
THREAD_ID_TOO_LONG = error(
    "THREAD_ID_TOO_LONG",
    "The thread ID has {length} characters. A file name can have {most}, including `.md`.",
    "Use a shorter ID: the artifact is saved as `artifacts/THREAD.md`.",
    "R1",
)
THREAD_ID_ADVICE = warning(
    "THREAD_ID_ADVICE",
    "The thread ID `{thread_id}` is valid, but {reason}.",
    "Keep the ID of an existing session. For a new session, write `RS-` in capitals, a real "
    "date, and a slug of 10 to 40 characters in 2 to 5 words.",
    "thread_subject_conventions_v0.1, Research Sessions; R1",
)
INVALID_SUBJECT_PREFIX = error(
    "INVALID_SUBJECT_PREFIX",
    "The subject `{subject}` has no valid prefix: {reason}.",
    "Begin with `KICKOFF:`, `DELTA[model]:`, `COMPILED:`, `CRITIQUE:`, `ACK:`, `CLAIM:`, "
    "`HANDOFF:`, `BLOCKED:`, `QUESTION:` or `INFO:`.{suggestion}",
    _SUBJECT_SPEC,
    also=("MB-001",),
)
EMPTY_SUBJECT_DESCRIPTION = error(
    "EMPTY_SUBJECT_DESCRIPTION",
    "The subject has no text after `{prefix}`.",
    "After the prefix, summarise the message in under 80 characters.",
    _SUBJECT_SPEC,
)
SUBJECT_TOO_LONG = error(
    "SUBJECT_TOO_LONG",
    "The subject has {length} characters. The maximum is {most}.",
    "Shorten the subject. Put the details into the body.",
    _SUBJECT_SPEC,
)
SUBJECT_DESCRIPTION_LONG = warning(
    "SUBJECT_DESCRIPTION_LONG",
    "The subject has {length} characters after its prefix (recommended: under {most}).",
    "Shorten the subject. Put the details into the body.",
    "thread_subject_conventions_v0.1, Subject Format; R2",
)
UNKNOWN_ROLE_SHORTHAND = warning(
    "UNKNOWN_ROLE_SHORTHAND",
    "Unknown model shorthand `{role}`. Known shorthands: {known}.",
    "Write the shorthand of the contributing model, not its role in the session.{suggestion}",
    "thread_subject_conventions_v0.1, Role Shorthand for DELTA; R2",
)

# Message bodies (MB-001 … MB-012; ruling R3)

_BODY_DOCUMENT = "message_body_schema_v0.1"
_BODY_SPEC = f"{_BODY_DOCUMENT}, Machine-Checkable Rules"
_ACK_SPEC = f"{_BODY_DOCUMENT}, ACK Semantics Summary; R3"

MB_001 = error(
    "MB-001",
    "The subject has no valid prefix.",
    "Begin the subject with `KICKOFF:`, `DELTA[model]:`, `COMPILED:`, `CRITIQUE:`, `ACK:`, "
    "`CLAIM:`, `HANDOFF:`, `BLOCKED:`, `QUESTION:` or `INFO:`.",
    _BODY_SPEC,
)
MB_002 = error(
    "MB-002",
    "The KICKOFF has no research question: `## Research Question` and the title are missing or "
    "empty.",
    "Add a section `## Research Question` with one falsifiable sentence.{hint}",
    f"{_BODY_SPEC}; R3, R15",
)
MB_003 = error(
    "MB-003",
    "The KICKOFF has no context: `## Context` is missing or empty.",
    "Add a section `## Context` with two to four sentences of background. In a thread that has an "
    "artifact, `## Current State` counts as well.{hint}",
    f"{_BODY_SPEC}; R3",
)
CONTEXT_NEEDS_ARTIFACT = warning(
    "CONTEXT_NEEDS_ARTIFACT",
    "`## Current State` counts as the context only in a thread that has an artifact.",
    "Name the version that the round starts from, as in `- **Base Artifact**: v1`. If there is no "
    "version yet, add a section `## Context` with two to four sentences of background.",
    f"{_BODY_SPEC}; R3",
)
HANDOFF_TO_UNKNOWN = warning(
    "HANDOFF_TO_UNKNOWN",
    "The HANDOFF goes to `{name}`, which is not registered. No agent takes over the work.",
    "Under `## To`, write the name of a registered agent. `brenner mail agents` lists them."
    "{suggestion}",
    f"{_BODY_SPEC}, MB-008",
)
MB_004 = error(
    "MB-004",
    "The DELTA message has no delta block. It contributes nothing.",
    "Put each operation into a fenced code block: a line ```delta, the JSON object, and a line "
    "```.",
    f"{_BODY_SPEC}; delta_output_format_v0.1, Failure Mode 1; R4",
)
MB_005 = error(
    "MB-005",
    "A delta block is not valid JSON.",
    "Fix the JSON at the reported line.",
    f"{_BODY_SPEC}; R5",
)
MB_006 = error(
    "MB-006",
    "The CRITIQUE has no target: `## Target` is missing or empty.",
    "Add a section `## Target` with the item or section that you attack, and the artifact "
    "version.{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_007 = error(
    "MB-007",
    "The CRITIQUE has no attack: `## Attack` is missing or empty.",
    "Add a section `## Attack` with your challenge.{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_008 = error(
    "MB-008",
    "The HANDOFF does not name {whom}: `## {section}` {reason}.",
    "Add a section `## {section}` with one agent name.{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_009 = warning(
    "MB-009",
    "This ACK requires an acknowledgement.",
    "Remove `Ack-Required`, or set it to `false`.",
    _BODY_SPEC,
)
MB_010 = warning(
    "MB-010",
    "This KICKOFF does not require an acknowledgement.",
    "Remove `Ack-Required`, or set it to `true`.",
    _BODY_SPEC,
)
MB_011 = warning(
    "MB-011",
    "This QUESTION does not require an acknowledgement.",
    "Remove `Ack-Required`, or set it to `true`.",
    _BODY_SPEC,
)
MB_012 = warning(
    "MB-012",
    "This BLOCKED message does not require an acknowledgement.",
    "Remove `Ack-Required`, or set it to `true`.",
    _BODY_SPEC,
)
ACK_MISMATCH = warning(
    "ACK_MISMATCH",
    "`Ack-Required: {value}` contradicts the default of {type} ({expected}).",
    "Remove `Ack-Required`, or set it to `{expected}`.",
    _ACK_SPEC,
)
MISSING_SECTION = error(
    "MISSING_SECTION",
    "The {type} message has no section `## {section}`, or the section is empty.",
    "Add a section `## {section}`: {asks}.{hint}",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
MISSING_RECOMMENDED_SECTION = warning(
    "MISSING_RECOMMENDED_SECTION",
    "The {type} message should have a section `## {section}` with text.",
    "Add a section `## {section}`: {asks}.{hint}",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
INVALID_SECTION_VALUE = error(
    "INVALID_SECTION_VALUE",
    "`{value}` in `## {section}` is not {expected}.",
    "Begin the section with {expected}.",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
UNLISTED_SECTION_VALUE = warning(
    "UNLISTED_SECTION_VALUE",
    "`{value}` in `## {section}` is not {expected}.",
    "Begin the section with {expected}.",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
QUESTION_FROM_TITLE = warning(
    "QUESTION_FROM_TITLE",
    "The KICKOFF has no `## Research Question`. Its title `{title}` is used as the question.",
    "Add a section `## Research Question` with one falsifiable sentence.",
    f"{_BODY_DOCUMENT}, KICKOFF Messages; R15",
)
EXCERPT_WITHOUT_CITATION = warning(
    "EXCERPT_WITHOUT_CITATION",
    "`## Excerpt` cites no section number, such as `§42`.",
    'Add the section number of each passage: `§42: "…"`. Or quote the evidence pack: `EV-001#E1`.',
    f"{_BODY_DOCUMENT}, KICKOFF Messages",
)
MISSING_VERSION = error(
    "MISSING_VERSION",
    "Neither the title nor `## Summary` of the COMPILED message names a version.",
    "Title the body `# Compiled Artifact v3`, with the number of the version.",
    f"{_BODY_DOCUMENT}, COMPILED Messages",
)
MALFORMED_VERSION = warning(
    "MALFORMED_VERSION",
    "`{written}` is not a valid version reference.",
    "Write {right}. `v0` is the empty artifact before v1.",
    "artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
)
CONFLICTING_VERSIONS = warning(
    "CONFLICTING_VERSIONS",
    "The message states two versions as its {name}: {first} and {second}.",
    "Keep the one that you read.",
    "artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
)
DELTA_NOT_CONTRIBUTED = warning(
    "DELTA_NOT_CONTRIBUTED",
    "This message is not a DELTA ({type}). Its delta block will not be compiled.",
    "Send it in a message whose subject begins with `DELTA[model]:`, such as `DELTA[opus]:`.",
    "R4",
)
PLACEHOLDER_LEFT = warning(
    "PLACEHOLDER_LEFT",
    "`{placeholder}` is a placeholder of the template.",
    "Replace each placeholder with your own words, or remove its section if that is optional. "
    "A message with placeholders is not sent.",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas",
)
TEMPLATE_NOT_FILLED_IN = error(
    "TEMPLATE_NOT_FILLED_IN",
    "The message still contains placeholders of the template: {placeholders}.",
    "Replace each one with your own words, or remove its section if that is optional. To send "
    "the message unchanged, add `--no-check` to `brenner mail send`.",
    f"{_BODY_DOCUMENT}, Pre-send Validation",
)
