"""Codes of the thread and subject conventions (and rulings R1, R2)."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_IDS = "thread_subject_conventions_v0.1, Thread ID Validation; R1"
_SUBJECTS = "thread_subject_conventions_v0.1, Subject Validation; R2"

INVALID_BEAD_ID = Code(
    id="INVALID_BEAD_ID",
    severity=ERROR,
    title="The thread ID of engineering work is not a bead ID",
    message="`{thread_id}` is not a valid thread ID: {reason}.",
    fix="Use the bead's own ID, unchanged: small letters, digits, `_` and `-`, parts joined by "
    "single dots.{suggestion}",
    why="The thread ID joins the mail, the artifact's file, the terminal session and the bead. It "
    "is used as it is in all of them, so it is valid or refused, never cleaned up.",
    spec=_IDS,
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
    spec=_IDS,
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
    spec=_IDS,
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
    spec=_SUBJECTS,
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
    spec=_SUBJECTS,
    example=Example("subject", "CRITIQUE:", "CRITIQUE: A2 assumes a stable gradient"),
)
SUBJECT_TOO_LONG = Code(
    id="SUBJECT_TOO_LONG",
    severity=ERROR,
    title="The subject is too long",
    message="The subject has {length} characters; the most is {most}.",
    fix="Shorten the description and say the rest in the body.",
    why="Longer subjects are cut by mail servers in silence, and an inbox line cannot show them.",
    spec=_SUBJECTS,
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

CODES = (
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
