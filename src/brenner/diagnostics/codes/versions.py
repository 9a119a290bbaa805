"""Codes of versions: finding, voiding, adopting them (rulings R10, R17, R18)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

RECORD_UNREADABLE = Code(
    id="RECORD_UNREADABLE",
    severity=WARNING,
    title="The record of a COMPILED message cannot be read",
    message="The record of this COMPILED message cannot be read ({reason}), and its subject names "
    "no version, so it is none; the deltas before it still count as unread.",
    fix="Compile the thread with `brenner compile {thread_id}`. A record is written by the "
    "program, never by hand.",
    why="The record says which messages a version has read. One that cannot be read says nothing, "
    "and must not swallow anybody's work.",
    spec="R10",
    example=Example(
        "text",
        '```brenner-record\n{"version": 3, …}\n```',
        "brenner compile RS-20251230-cell-fate",
    ),
)
NO_VERSION_YET = Code(
    id="NO_VERSION_YET",
    severity=ERROR,
    title="The thread has no version yet",
    message="`{thread_id}` has no compiled version yet, and there is no file `{path}`.",
    fix="Once deltas have come in that apply, `brenner compile {thread_id}` publishes the first.",
    why="What is shown is always a published version, never a guess at the next one.",
    spec="artifact_publish_spec_v0.1, Latest Artifact Pointer",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate",
        "brenner compile RS-20251230-cell-fate\nbrenner artifact show RS-20251230-cell-fate",
    ),
)
UNKNOWN_VERSION = Code(
    id="UNKNOWN_VERSION",
    severity=ERROR,
    title="The thread does not have that version",
    message="`{thread_id}` has no v{version}; {known}.",
    fix="`brenner artifact history {thread_id}` lists the versions.",
    why="A version that does not exist has nothing to show.",
    spec="artifact_publish_spec_v0.1, Version Tracking",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate@v9",
        "brenner artifact show RS-20251230-cell-fate@v2",
    ),
)
FILE_AHEAD_OF_MAIL = Code(
    id="FILE_AHEAD_OF_MAIL",
    severity=WARNING,
    title="The file holds a later version than the mail",
    message="`{path}` holds v{value}, but the mail of this store {ends}, and the mail counts.",
    fix="Import the missing mail (`brenner mail import`), or look at the file itself: "
    "`brenner artifact show {path}`.",
    why="In a session under way the mail is the truth. A later file means that mail is missing "
    "here.",
    spec="artifact_publish_spec_v0.1, Latest Artifact Pointer",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate\n(the file holds v5, the mail ends with v3)",
        "brenner mail import cell-fate.jsonl\nbrenner artifact show RS-20251230-cell-fate",
    ),
)
FILE_DIFFERS = Code(
    id="FILE_DIFFERS",
    severity=WARNING,
    title="A persisted file differs from its version",
    message="{place} differs from the version that it names: {difference}.",
    fix="`brenner compile {thread_id} --persist` shows how the file differs, and the delta that "
    "brings the changes in; with `--force` it writes the version over the file. A commit stays in "
    "the history: commit the version after it.",
    why="The mail is the truth. A file or a commit that names a version and says something else "
    "misleads its readers.",
    spec="R18, R19",
    example=Example(
        "text",
        "artifacts/RS-20251230-cell-fate.md, a claim changed with an editor",
        "brenner compile RS-20251230-cell-fate --persist --commit --force",
    ),
)
SHOWN_FROM_FILE = Code(
    id="SHOWN_FROM_FILE",
    severity=INFO,
    title="The artifact comes from its file",
    message="This store has no version of `{thread_id}`; what is shown comes from `{path}`.",
    fix="Nothing has to be done. To have its mail too, import it with `brenner mail import`.",
    why="A persisted session is read from its file where its mail is not at hand, and the reader "
    "should know which of the two it is.",
    spec="artifact_publish_spec_v0.1, Latest Artifact Pointer",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate\n(a fresh clone, no mail)",
        "brenner mail import artifacts/RS-20251230-cell-fate.mail.jsonl",
    ),
)
CANNOT_VOID = Code(
    id="CANNOT_VOID",
    severity=ERROR,
    title="The version cannot be voided",
    message="v{version} of `{thread_id}` cannot be voided: {reason}.",
    fix="`brenner artifact history {thread_id}` lists the versions. Only the latest can be voided; "
    "void those above first.",
    why="Each version is built on the one before. Without it, those above would hang in the air.",
    spec="R10",
    example=Example(
        "text",
        "brenner session void RS-20251230-cell-fate@v2\n(v3 is built on it)",
        "brenner session void RS-20251230-cell-fate@v3\n"
        "brenner session void RS-20251230-cell-fate@v2",
    ),
)
ONLY_THE_OPERATOR = Code(
    id="ONLY_THE_OPERATOR",
    severity=ERROR,
    title="Only the operator may do that",
    message="{name} may not {what}: only the operator, {operator}, may.",
    fix="Let the operator run the command, without `--as`.",
    why="To void, adopt or close what the group has made is a decision about other people's work.",
    spec="R10, R18",
    example=Example(
        "text",
        "brenner session void RS-20251230-cell-fate@v2 --as BlueLake",
        "brenner session void RS-20251230-cell-fate@v2",
    ),
)
CANNOT_ADOPT = Code(
    id="CANNOT_ADOPT",
    severity=ERROR,
    title="There is nothing to adopt",
    message="`{thread_id}` cannot be adopted: {reason}.",
    fix="Adopt a thread whose latest COMPILED message holds a whole artifact, a number above that "
    "of the latest version, and no record that rebuilds. Otherwise compile it: "
    "`brenner compile {thread_id}`.",
    why="Adopting takes an artifact as it is, without knowing how it came about. It is for threads "
    "that another program has compiled, and for nothing else.",
    spec="R10",
    example=Example(
        "text",
        "brenner session adopt RS-20251230-cell-fate\n(every version of it rebuilds)",
        "brenner compile RS-20251230-cell-fate",
    ),
)
COMPILE_OVERTAKEN = Code(
    id="COMPILE_OVERTAKEN",
    severity=ERROR,
    title="The thread kept moving",
    message="`{thread_id}` got another version or decision each of the {tries} times that one was "
    "about to be posted; nothing was posted.",
    fix="Run the command again.",
    why="A version is published only if no other version, and no decision on one, has come in "
    "since the thread was read. A version that closes the session also has to include every "
    "contribution.",
    spec="R17",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate\n(other compilers publish all the time)",
        "brenner compile RS-20251230-cell-fate",
    ),
)
POSTED_IN_VAIN = Code(
    id="POSTED_IN_VAIN",
    severity=WARNING,
    title="Another compiler was quicker, and your message is void",
    message="Message {id} was posted as v{version}, and is void: {reason}. Message {info} says so "
    "in the thread.",
    fix="Nothing has to be done. What only that message had read counts as unread; the thread was "
    "read again, and what was left went into the next version.",
    why="An Agent Mail server cannot keep two compilers from posting the same number. Of a number "
    "the message with the lowest ID is the version, and the others must not be mistaken for it.",
    spec="R17",
    example=Example(
        "text",
        "message 40, COMPILED: v3 added T4\nmessage 41, COMPILED: v3 added T4 and C2",
        "message 40, COMPILED: v3 added T4\n"
        "message 41, COMPILED: v3 added T4 and C2\n"
        "message 42, INFO: Message 41 is void, it is not v3\n"
        "message 43, COMPILED: v4 added C2",
    ),
)
POSTED_NOT_CONFIRMED = Code(
    id="POSTED_NOT_CONFIRMED",
    severity=ERROR,
    title="Nobody knows whether the message that was posted is the version",
    message="Message {id} was posted as v{version}, but the thread could not be read again after "
    "it ({reason}). Nothing else was done.",
    fix="Run the same command again once the server is there: it finds out whether that message "
    "is v{version}, and goes on from there. Nothing is published twice.",
    why="An Agent Mail server cannot keep two compilers from posting the same number, so a "
    "compiler looks whether its message is the version before it goes on.",
    spec="R17",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist    (the server ends after it has stored "
        "the message)",
        "the same again, once the server runs",
    ),
)

CODES = (
    RECORD_UNREADABLE,
    NO_VERSION_YET,
    UNKNOWN_VERSION,
    FILE_AHEAD_OF_MAIL,
    FILE_DIFFERS,
    SHOWN_FROM_FILE,
    CANNOT_VOID,
    ONLY_THE_OPERATOR,
    CANNOT_ADOPT,
    COMPILE_OVERTAKEN,
    POSTED_IN_VAIN,
    POSTED_NOT_CONFIRMED,
)
