"""Codes of ours for archives of mail: what `mail import` refuses."""

from brenner.diagnostics.model import ERROR, Code, Example

_ARCHIVE = "design, Commands; rulings, Small decisions"

NOT_AN_ARCHIVE = Code(
    id="NOT_AN_ARCHIVE",
    severity=ERROR,
    title="The file is not an archive of mail",
    message="`{path}` is not an archive of mail: {reason}. Nothing was imported.",
    fix="Give a file that `brenner mail export` wrote: JSON lines, or mbox. A single message goes "
    "out with `brenner mail send FILE`.",
    why="To import nothing from a wrong file would look like success.",
    spec=_ARCHIVE,
    example=Example("text", "brenner mail import message.md", "brenner mail import mail.jsonl"),
)
ARCHIVE_TOO_NEW = Code(
    id="ARCHIVE_TOO_NEW",
    severity=ERROR,
    title="The archive is from a newer version",
    message="`{path}` is in format {version}; this version of Brenner reads formats up to {known}. "
    "Nothing was imported.",
    fix="Upgrade Brenner and import it again.",
    why="A newer format may hold what this version cannot keep. It would be lost without a word.",
    spec=_ARCHIVE,
    example=Example(
        "text",
        "brenner mail import mail.jsonl    (written by a newer Brenner)",
        "brenner mail import mail.jsonl    (with the same Brenner, or a newer one)",
    ),
)
INVALID_RECORD = Code(
    id="INVALID_RECORD",
    severity=ERROR,
    title="A record of the archive is not sound",
    message="The record cannot be taken over: {reason}.",
    fix="Export the archive again where it came from. If it was edited by hand, undo that; if it "
    "was cut short, copy it again.",
    why="Mail is taken over whole or not at all: a thread with gaps gives other versions of the "
    "artifact.",
    spec=_ARCHIVE,
    example=Example(
        "text",
        '{"id": 12, "at": "2025-12-30T09:00:00.000000Z", "thread_id": "RS-2025',
        '{"id": 12, "at": "2025-12-30T09:00:00.000000Z", "thread_id": "RS-20251230-cell-fate", …}',
    ),
)
HASH_MISMATCH = Code(
    id="HASH_MISMATCH",
    severity=ERROR,
    title="A message does not match its hash",
    message="The content of message {id} does not match its hash; it was changed or cut after it "
    "was stored.",
    fix="Take the message from where it came, unchanged. If it is the last one of a file that was "
    "cut short, copy the file again. A correction is a new message, never an edited one.",
    why="Versions of the artifact name the messages that they read by their hash. A changed "
    "message would put words into somebody's mouth.",
    spec="R10; rulings, Small decisions",
    example=Example(
        "text",
        "mail.jsonl, a word of a body replaced with an editor",
        "mail.jsonl as it was exported",
    ),
)

CODES = (
    NOT_AN_ARCHIVE,
    ARCHIVE_TOO_NEW,
    INVALID_RECORD,
    HASH_MISMATCH,
)
