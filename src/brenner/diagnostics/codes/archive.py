"""Codes of ours for moving mail: what `mail import` refuses, and what `mail copy` finds."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_ARCHIVE = "design, Commands; rulings, Small decisions"
_COPY = "design, Commands; design, Store"

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
DECISIONS_IN_ARCHIVE = Code(
    id="DECISIONS_IN_ARCHIVE",
    severity=ERROR,
    title="An archive leads or decides in a thread that is here already",
    message="The archive leads or decides in `{thread_id}`, a thread that this store already has: "
    "{named}. Nothing was imported.",
    fix="Look at these messages. If you trust the archive, run the command again with "
    "`--accept-decisions`: then they are imported, and they count.",
    why="The sender of imported mail is not verified. A line in a file could otherwise void a "
    "version, publish another one, or close the session.",
    spec="R10, R17; rulings, Small decisions",
    example=Example(
        "text",
        "brenner mail import laptop.jsonl    (message 40 voids v2 of a session that is here)",
        "brenner mail import laptop.jsonl --accept-decisions",
    ),
)
SAME_STORE = Code(
    id="SAME_STORE",
    severity=ERROR,
    title="Mail cannot be copied to where it is",
    message="Both sides of the copy are `{where}`; nothing was copied.",
    fix="Name another store with `--from` or `--to`; the one left out is the project's own.",
    why="Whoever asks for that has most often mistyped one of the two, and would take the mail for "
    "moved.",
    spec=_COPY,
    example=Example(
        "text",
        "brenner mail copy --to sqlite:///.brenner/mail.sqlite3",
        "brenner mail copy --to postgresql://db.example.org/lab",
    ),
)
NO_MAIL_TO_COPY = Code(
    id="NO_MAIL_TO_COPY",
    severity=ERROR,
    title="There is no mail to copy",
    message="There is no mail in `{where}`; nothing was copied.",
    fix="Name the store that has the mail with `--from`; `brenner doctor --store STORE` says what "
    "is there.",
    why="To copy nothing from a mistyped address would look like success.",
    spec=_COPY,
    example=Example(
        "text",
        "brenner mail copy --from sqlite:///mial.sqlite3",
        "brenner mail copy --from sqlite:///mail.sqlite3",
    ),
)
SOURCE_NOT_VERIFIED = Code(
    id="SOURCE_NOT_VERIFIED",
    severity=ERROR,
    title="A version does not follow from the mail that is to be copied",
    message="v{version} of {thread_id} does not follow from the mail in `{where}`: {difference}. "
    "Nothing was copied.",
    fix="`brenner artifact verify {thread_id}` shows it there. Settle it first, or copy all the "
    "same with `--force`: it does not follow from the copy then, either.",
    why="After the copy nobody could tell whether the copy has done it.",
    spec="R10; design, Commands",
    example=Example(
        "text",
        "brenner mail copy --to postgresql://db.example.org/lab    (v2 differs)",
        "brenner session void RS-20251230-cell-fate@v2\n"
        "brenner mail copy --to postgresql://db.example.org/lab",
    ),
)
THREADS_DIVERGE = Code(
    id="THREADS_DIVERGE",
    severity=ERROR,
    title="A thread went different ways in the two homes",
    message="The source and `{where}` each have messages of one thread that the other lacks: "
    "{what}. Nothing was copied.",
    fix="Copy into an empty home: another file, or another schema (`?schema=NAME`). `--force` puts "
    "both into one thread all the same; versions may be void after that.",
    why="A version follows from all messages of its thread. Two sessions of one ID, or one that "
    "went on in two places, make versions that nobody has compiled.",
    spec="R10; design, Commands",
    example=Example(
        "text",
        "brenner mail copy --to postgresql://db.example.org/lab    (it has such a session already)",
        "brenner mail copy --to 'postgresql://db.example.org/lab?schema=cell_fate'",
    ),
)
MESSAGE_NOT_TAKEN = Code(
    id="MESSAGE_NOT_TAKEN",
    severity=ERROR,
    title="The target does not take a message",
    message="`{where}` does not take message {id} of {thread_id}: {reason}",
    fix="Keep the mail where it is, or choose another target. `brenner mail copy --force` leaves "
    "such messages out and copies the others.",
    why="A stored message never changes, not even to please a server. And what comes after it in "
    "its thread would stand without it.",
    spec="companion 4; design, Store",
    example=Example(
        "text",
        "brenner mail copy --to agent-mail    (message 7 has a thread ID that it refuses)",
        "brenner mail copy --to postgresql://db.example.org/lab",
    ),
)
COPY_BROKE_OFF = Code(
    id="COPY_BROKE_OFF",
    severity=ERROR,
    title="The copy broke off",
    message="The copy to `{where}` broke off when {done} of {total} messages were there: {reason}",
    fix="Repeat the command once that is mended: it goes on where it stopped, and sends nothing "
    "twice. The source is as it was.",
    why="Such a server takes messages one by one. What it has taken stays there.",
    spec="companion 4; design, Store",
    example=Example(
        "text",
        "brenner mail copy --to agent-mail    (the server is restarted)",
        "the same again, a moment later",
    ),
)
COPY_INCOMPLETE = Code(
    id="COPY_INCOMPLETE",
    severity=ERROR,
    title="The copy is not the same as the source",
    message="`{where}` does not hold all that was to be copied: {what}.",
    fix="{advice}",
    why="A copy is compared with its source, message by message and version by version. What is "
    "not there has not been copied, whatever the target said.",
    spec="R10; design, Commands",
    example=Example(
        "text",
        "brenner mail copy --to agent-mail    (a thread there lacks a message)",
        "brenner mail copy --to agent-mail    (again, and all of it is there)",
    ),
)
TARGET_NOT_VERIFIED = Code(
    id="TARGET_NOT_VERIFIED",
    severity=ERROR,
    title="A version that the target had is not what it was",
    message="`{where}` had versions of its own before the copy, and {what}.",
    fix="That came of `--force`, and cannot be taken back there: mail is never deleted. If there "
    "is a backup of that home, bring it back; else go on with a new session in it.",
    why="A version follows from all messages of its thread, and now there are those of two homes.",
    spec="R10; design, Commands",
    example=Example(
        "text",
        "brenner mail copy --force --to postgresql://db.example.org/lab    (threads diverge)",
        "brenner mail copy --to 'postgresql://db.example.org/lab?schema=cell_fate'",
    ),
)
MAIL_LEFT_BEHIND = Code(
    id="MAIL_LEFT_BEHIND",
    severity=WARNING,
    title="There is mail in the store inside the project",
    message="{what} in `{path}`, the store inside the project, and {there} in `{where}`.",
    fix="`{command}` brings them over.",
    why="Commands look in one home only. Whoever chooses another one would take the mail in the "
    "first for lost.",
    spec=_COPY,
    example=Example(
        "text",
        "brenner init --store postgresql://db.example.org/lab    (the project has mail)",
        "brenner mail copy --to postgresql://db.example.org/lab",
    ),
)
COPIED_DEBTS_DIFFER = Code(
    id="COPIED_DEBTS_DIFFER",
    severity=WARNING,
    title="Who owes an ACK differs in the copy",
    message="In `{where}` {what}: an ACK names messages by their ids, and ids are new there.",
    fix="`brenner mail pending{option}` lists what looks open there; `brenner mail ack ID --as "
    "NAME{option}` settles it again. In the source all is as it was.",
    why="A message is copied to the letter, so an ACK still names the old id. To alter it would "
    "put words into its author's mouth.",
    spec="R10; rulings, Small decisions",
    example=Example(
        "text",
        "brenner mail copy --to agent-mail    (message 3 was acknowledged, and is 103 there)",
        "brenner mail ack 103 --as BlueLake --store agent-mail",
    ),
)

CODES = (
    NOT_AN_ARCHIVE,
    ARCHIVE_TOO_NEW,
    INVALID_RECORD,
    HASH_MISMATCH,
    DECISIONS_IN_ARCHIVE,
    SAME_STORE,
    NO_MAIL_TO_COPY,
    SOURCE_NOT_VERIFIED,
    THREADS_DIVERGE,
    MESSAGE_NOT_TAKEN,
    COPY_BROKE_OFF,
    COPY_INCOMPLETE,
    TARGET_NOT_VERIFIED,
    MAIL_LEFT_BEHIND,
    COPIED_DEBTS_DIFFER,
)
