"""Codes for messages: input and headers, thread IDs and subjects, and bodies."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_FILE_SPEC = "rulings, Small decisions: a message file"

UNREADABLE_INPUT = error(
    "UNREADABLE_INPUT",
    "`{path}` cannot be read: {reason}.",
    "Give a file that exists and that you may read, or `-` for the standard input.",
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
    "The message is larger than {most} bytes; nothing in it was read.",
    "Send the contribution in several messages, and point to large material by path.{setting}",
    "R5",
)
MORE_DIAGNOSTICS = info(
    "MORE_DIAGNOSTICS",
    "This {of} has more diagnostics than are shown. Left out: {what}.",
    "Fix what is shown, then check again.",
    "R5; R7",
)
FILE_TOO_LARGE = error(
    "FILE_TOO_LARGE",
    "`{path}` is larger than {most} bytes; nothing in it was read.",
    "Point to large material by path, and keep in the file what people are to read.",
    "R5; design, Exit codes",
)
NO_ARTIFACT = error(
    "NO_ARTIFACT",
    "`{path}` holds no artifact: {reason}.",
    "Give the Markdown file of an artifact: front matter between two lines `---`, a title, "
    "and seven sections, `## 1. Research Thread` the first.",
    "companion, The artifact; companion, Lint",
)
NO_SECTION_NUMBERS = error(
    "NO_SECTION_NUMBERS",
    "None of the headings of `{path}` has a section number.",
    "Give the Markdown file whose headings carry the numbers, as in `## §42 Title` or "
    "`## 42. Title`.",
    "companion, Anchors",
)
EMPTY_MESSAGE = error(
    "EMPTY_MESSAGE",
    "There is no message: the input is empty.",
    "Write headers, a blank line and the body; `brenner new TYPE` prints one to fill in.",
    _FILE_SPEC,
)
NUL_CHARACTER = error(
    "NUL_CHARACTER",
    "There is a NUL character (U+0000) in the message.",
    "Remove it; inside a JSON string write `\\u0000` if you mean it.",
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
    "The header `{name}` is not known and is not kept.",
    "Use `Thread`, `From`, `To`, `Subject` or `Ack-Required`; put anything else into the "
    "body.{suggestion}",
    _FILE_SPEC,
)
REPEATED_HEADER = error(
    "REPEATED_HEADER",
    "The header `{name}` stands twice; the first is on line {first}.",
    "Keep one of them. Several recipients go into one `To`, separated by commas.",
    _FILE_SPEC,
)
MISSING_HEADER = error(
    "MISSING_HEADER",
    "The header `{name}` is missing.",
    "Begin the file with `Thread:`, `From:`, `To:` and `Subject:`, then a blank line.",
    _FILE_SPEC,
)
NO_RECIPIENT = warning(
    "NO_RECIPIENT",
    "The message names no recipient (`To`).",
    "Add `To: NAME, NAME` before sending.",
    _FILE_SPEC,
)
INVALID_AGENT_NAME = error(
    "INVALID_AGENT_NAME",
    "`{name}` is not an agent's name.",
    "Use the registered name: ASCII letters, digits, `_` and `-`, a letter first, at most 64 "
    "(`BlueLake`).",
    "agent_roster_schema_v0.1, RosterEntry; " + _FILE_SPEC,
)
INVALID_ACK_REQUIRED = error(
    "INVALID_ACK_REQUIRED",
    "`Ack-Required: {value}` says neither yes nor no.",
    "Write `Ack-Required: true` or `Ack-Required: false`, or leave it out to get what the "
    "type asks for.",
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
    "`{code}` is not in the catalogue.",
    "`brenner explain` without a code lists them all.{suggestion}",
    "design, Diagnostics",
)
OUTPUT_CLOSED = error(
    "OUTPUT_CLOSED",
    "The output could not be written: {reason}.",
    "Run the command again with an output that stays open and has room.",
    "design, Exit codes",
)
REPORT_LOST = error(
    "REPORT_LOST",
    "The command was done; only its report could not be written: {reason}.",
    "Do not run it again. `brenner mail thread` and `brenner mail agents` show what there is.",
    "design, Exit codes",
)

# Thread IDs and subjects (rulings R1, R2)

_THREAD_ID_SPEC = "thread_subject_conventions_v0.1, Thread ID Validation; R1"
_SUBJECT_SPEC = "thread_subject_conventions_v0.1, Subject Validation; R2"

INVALID_BEAD_ID = error(
    "INVALID_BEAD_ID",
    "`{thread_id}` is not a valid thread ID: {reason}.",
    "Use the bead's own ID, unchanged: small letters, digits, `_` and `-`, parts joined by "
    "single dots.{suggestion}",
    _THREAD_ID_SPEC,
)
INVALID_RS_THREAD_ID = error(
    "INVALID_RS_THREAD_ID",
    "`{thread_id}` is not a valid research thread ID: {reason}.",
    "Write `RS-`, the date as eight digits, `-`, and a slug of 2 to 40 small letters, digits "
    "and hyphens.{suggestion}",
    _THREAD_ID_SPEC,
)
INVALID_COORD_THREAD_ID = error(
    "INVALID_COORD_THREAD_ID",
    "`{thread_id}` is not a valid coordination thread ID: {reason}.",
    "Write `COORD-` and a topic of 2 to 30 small letters, digits and hyphens.{suggestion}",
    _THREAD_ID_SPEC,
)
THREAD_ID_TOO_LONG = error(
    "THREAD_ID_TOO_LONG",
    "The thread ID has {length} characters; with `.md` a file name holds {most}.",
    "Use a shorter ID: the artifact is kept in `artifacts/{{thread_id}}.md`.",
    "R1",
)
THREAD_ID_ADVICE = warning(
    "THREAD_ID_ADVICE",
    "The thread ID `{thread_id}` is valid, but {reason}.",
    "For a new session write `RS-` in capitals, a real date and a slug of 10 to 40 characters "
    "in 2 to 5 words. Keep the ID of a session that exists.",
    "thread_subject_conventions_v0.1, Research Sessions; R1",
)
INVALID_SUBJECT_PREFIX = error(
    "INVALID_SUBJECT_PREFIX",
    "The subject `{subject}` does not begin with a valid prefix: {reason}.",
    "Begin with `KICKOFF:`, `DELTA[role]:`, `COMPILED:`, `CRITIQUE:`, `ACK:`, `CLAIM:`, "
    "`HANDOFF:`, `BLOCKED:`, `QUESTION:` or `INFO:`.{suggestion}",
    _SUBJECT_SPEC,
    also=("MB-001",),
)
EMPTY_SUBJECT_DESCRIPTION = error(
    "EMPTY_SUBJECT_DESCRIPTION",
    "Nothing follows `{prefix}` in the subject.",
    "Say after the prefix, in under 80 characters, what the message brings.",
    _SUBJECT_SPEC,
)
SUBJECT_TOO_LONG = error(
    "SUBJECT_TOO_LONG",
    "The subject has {length} characters; the most is {most}.",
    "Shorten the description and say the rest in the body.",
    _SUBJECT_SPEC,
)
SUBJECT_DESCRIPTION_LONG = warning(
    "SUBJECT_DESCRIPTION_LONG",
    "The description has {length} characters; under {most} reads well in an inbox.",
    "Shorten the description and say the rest in the body.",
    "thread_subject_conventions_v0.1, Subject Format; R2",
)
UNKNOWN_ROLE_SHORTHAND = warning(
    "UNKNOWN_ROLE_SHORTHAND",
    "`{role}` is not one of the model shorthands {known}.",
    "Write the shorthand of the contributing model, not the protocol role.{suggestion}",
    "thread_subject_conventions_v0.1, Role Shorthand for DELTA; R2",
)

# Message bodies (MB-001 … MB-012; ruling R3)

_BODY_DOCUMENT = "message_body_schema_v0.1"
_BODY_SPEC = f"{_BODY_DOCUMENT}, Machine-Checkable Rules"
_ACK_SPEC = f"{_BODY_DOCUMENT}, ACK Semantics Summary; R3"

MB_001 = error(
    "MB-001",
    "The subject has no valid prefix.",
    "Begin the subject with one of the ten prefixes.",
    _BODY_SPEC,
)
MB_002 = error(
    "MB-002",
    "The KICKOFF has no research question: neither `## Research Question` nor a title has text.",
    "Add a section `## Research Question` with one sentence that could turn out false.{hint}",
    f"{_BODY_SPEC}; R3, R15",
)
MB_003 = error(
    "MB-003",
    "The KICKOFF has no context: `## Context` is missing or empty.",
    "Add a section `## Context` with two to four sentences of background (in a later round, "
    "`## Current State` counts).{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_004 = error(
    "MB-004",
    "The DELTA message has no delta block, so it contributes nothing.",
    "Put each operation into a fenced code block that begins with ```delta at the start of a "
    "line and ends with ```.",
    f"{_BODY_SPEC}; delta_output_format_v0.1, Failure Mode 1; R4",
)
MB_005 = error(
    "MB-005",
    "A delta block is not valid JSON.",
    "Mend the JSON at the line given.",
    f"{_BODY_SPEC}; R5",
)
MB_006 = error(
    "MB-006",
    "The CRITIQUE has no target: `## Target` is missing or empty.",
    "Add a section `## Target` that names the item or section under attack, and the artifact "
    "version.{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_007 = error(
    "MB-007",
    "The CRITIQUE has no attack: `## Attack` is missing or empty.",
    "Add a section `## Attack` with the challenge itself.{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_008 = error(
    "MB-008",
    "The HANDOFF does not say {whom}: `## {section}` {reason}.",
    "Add a section `## {section}` with one agent's name.{hint}",
    f"{_BODY_SPEC}; R3",
)
MB_009 = warning(
    "MB-009",
    "This ACK asks to be acknowledged itself.",
    "Leave `Ack-Required` out, or set it to false.",
    _BODY_SPEC,
)
MB_010 = warning(
    "MB-010",
    "This KICKOFF does not ask to be acknowledged.",
    "Leave `Ack-Required` out, or set it to true.",
    _BODY_SPEC,
)
MB_011 = warning(
    "MB-011",
    "This QUESTION does not ask to be acknowledged.",
    "Leave `Ack-Required` out, or set it to true.",
    _BODY_SPEC,
)
MB_012 = warning(
    "MB-012",
    "This BLOCKED does not ask to be acknowledged.",
    "Leave `Ack-Required` out, or set it to true.",
    _BODY_SPEC,
)
ACK_MISMATCH = warning(
    "ACK_MISMATCH",
    "`Ack-Required: {value}` contradicts what {type} asks for ({expected}).",
    "Leave `Ack-Required` out, or set it to {expected}.",
    _ACK_SPEC,
)
MISSING_SECTION = error(
    "MISSING_SECTION",
    "The {type} has no `## {section}`, or nothing stands in it.",
    "Add a section `## {section}`: {asks}.{hint}",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
MISSING_RECOMMENDED_SECTION = warning(
    "MISSING_RECOMMENDED_SECTION",
    "The {type} has no `## {section}`, or nothing stands in it.",
    "Better add a section `## {section}`: {asks}.{hint}",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
INVALID_SECTION_VALUE = error(
    "INVALID_SECTION_VALUE",
    "`## {section}` says `{value}`, which is not {expected}.",
    "Begin the section with {expected}.",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
UNLISTED_SECTION_VALUE = warning(
    "UNLISTED_SECTION_VALUE",
    "`## {section}` says `{value}`, which is not {expected}.",
    "Begin the section with {expected}.",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas; R3",
)
QUESTION_FROM_TITLE = warning(
    "QUESTION_FROM_TITLE",
    "There is no `## Research Question`; the title `{title}` is taken for the question.",
    "Add a section `## Research Question` with one falsifiable sentence.",
    f"{_BODY_DOCUMENT}, KICKOFF Messages; R15",
)
EXCERPT_WITHOUT_CITATION = warning(
    "EXCERPT_WITHOUT_CITATION",
    "`## Excerpt` has no citation of the form `§42`.",
    'Give the section number of each passage: `§42: "…"`.',
    f"{_BODY_DOCUMENT}, KICKOFF Messages",
)
MISSING_VERSION = error(
    "MISSING_VERSION",
    "Neither the title nor `## Summary` of the COMPILED names a version (`v3`).",
    "Title the body `# Compiled Artifact v3`, with the version's number.",
    f"{_BODY_DOCUMENT}, COMPILED Messages",
)
MALFORMED_VERSION = warning(
    "MALFORMED_VERSION",
    "`{written}` does not name a version as it must.",
    "Write the name in bold, `v` and a number: `**{name}**: v2`. `v0` is the empty artifact "
    "before the first.",
    "artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
)
CONFLICTING_VERSIONS = warning(
    "CONFLICTING_VERSIONS",
    "The message names both {first} and {second} as its {name}.",
    "Keep the one that you had before you.",
    "artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
)
DELTA_NOT_CONTRIBUTED = warning(
    "DELTA_NOT_CONTRIBUTED",
    "The delta block is in a {type}, so it will not be compiled.",
    "Send it in a message whose subject begins with `DELTA[role]:`.",
    "R4",
)
PLACEHOLDER_LEFT = warning(
    "PLACEHOLDER_LEFT",
    "`{placeholder}` is still the template's placeholder.",
    "Replace it with your own words, or remove its section if it is optional.",
    f"{_BODY_DOCUMENT}, Message Types and Body Schemas",
)
TEMPLATE_NOT_FILLED_IN = error(
    "TEMPLATE_NOT_FILLED_IN",
    "The message still has what a template left to be filled in: {placeholders}.",
    "Replace each with your own words, or remove its section if it is optional. "
    "`brenner mail send --no-check` sends it as it is.",
    f"{_BODY_DOCUMENT}, Pre-send Validation",
)
