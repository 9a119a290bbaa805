"""Codes for mail stores and project settings, remote stores, and moving mail between stores."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Diagnostic, Example

_STORE_SPEC = "design, Store"
_SETTINGS_SPEC = "design, Commands; design, Store"

STORE_CORRUPT = Code(
    id="STORE_CORRUPT",
    severity=ERROR,
    title="The store is damaged",
    message="The store `{path}` is damaged: {reason}. It was left as it is.",
    fix="Put it aside: a file with those beside it whose names begin like its own, a schema with "
    "`ALTER SCHEMA … RENAME TO …`. Then bring a backup back, or start a new store with `brenner "
    "init` and import an archive into it.",
    why="Whoever writes into a damaged file destroys what could still be saved. So nothing is "
    "repaired or replaced unasked.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox    (.brenner/mail.sqlite3 was cut short by a copy)",
        "mv .brenner .brenner-damaged\nbrenner init\nbrenner mail import mail.jsonl",
    ),
)
STORE_FOREIGN = Code(
    id="STORE_FOREIGN",
    severity=ERROR,
    title="The file is not a store of Brenner",
    message="`{path}` is not a store of Brenner: {reason}. It was left as it is.",
    fix="Name the file of a store, or one that is not there yet: `--store sqlite:///PATH`; in a "
    "database, another schema: `?schema=NAME`. If a store should be there, move what is there away "
    "first.",
    why="The file belongs to another program. Tables of ours in it could break that one.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox --store sqlite:///history.sqlite3",
        "brenner mail inbox --store sqlite:///mail.sqlite3",
    ),
)
STORE_TOO_NEW = Code(
    id="STORE_TOO_NEW",
    severity=ERROR,
    title="The store is from a newer version",
    message="The store `{path}` is in format {version}; this version of Brenner knows formats up "
    "to {known}.",
    fix="Upgrade Brenner, here and wherever this project is used. The store was left as it is.",
    why="A newer format may say what this version does not understand. Writing into it could "
    "damage it.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox    (a newer Brenner has upgraded the store)",
        "the same, with Brenner upgraded",
    ),
)
STORE_READ_ONLY = Code(
    id="STORE_READ_ONLY",
    severity=ERROR,
    title="The store cannot be written",
    message="The store `{path}` cannot be written; nothing was stored.",
    fix="Allow yourself to write the file and its folder; in a database, ask for the right to "
    "write, and for the server that others follow, not one that follows. Or use another store with "
    "`--store sqlite:///PATH`.",
    why="Mail counts as sent only when it is safely stored.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "chmod a-w .brenner/mail.sqlite3\nbrenner mail send message.md",
        "chmod u+w .brenner/mail.sqlite3\nbrenner mail send message.md",
    ),
)
STORE_FULL = Code(
    id="STORE_FULL",
    severity=ERROR,
    title="There is no room left for the store",
    message="There is no room left for the store `{path}`; nothing was stored.",
    fix="Make room on that disk and repeat the command. What was stored before is safe.",
    why="Mail counts as sent only when it is safely stored.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail send message.md    (the disk is full)",
        "brenner mail send message.md    (after making room)",
    ),
)
STORE_BUSY = Code(
    id="STORE_BUSY",
    severity=ERROR,
    title="The store is busy",
    message="The store `{path}` was in use by another process for more than {seconds} seconds.",
    fix="Repeat the command. If that does not help, look for a process that hangs: "
    "`brenner doctor` says what it sees of the store.",
    why="One process writes at a time, and each takes a moment. One that holds the store for so "
    "long is stuck, or on a very slow disk.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "another program keeps mail.sqlite3 locked\nbrenner mail send message.md",
        "the other program is closed\nbrenner mail send message.md",
    ),
)
STORE_UNUSABLE = Code(
    id="STORE_UNUSABLE",
    severity=ERROR,
    title="The store cannot be used",
    message="The store `{path}` cannot be used: {reason}.",
    fix="Mend what is said there, then repeat the command; `brenner doctor` looks at folder, file "
    "and permissions.",
    why="Without its store a mailbox can neither tell what is there nor keep what is sent. Nothing "
    "was done.",
    spec=_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox --store sqlite:////root/mail.sqlite3",
        "brenner mail inbox --store sqlite:///mail.sqlite3",
    ),
)
UNKNOWN_STORE = Code(
    id="UNKNOWN_STORE",
    severity=ERROR,
    title="There is no such kind of store",
    message="`{url}` is not a store that this version of Brenner can use: {reason}.",
    fix="Write `sqlite:///PATH`, `postgresql://HOST/DATABASE`, `agent-mail+http://HOST:PORT/mcp/` "
    "or `agent-mail`; or leave the store out to use the one inside the project. In an address `@`, "
    "`/`, `?` and `#` of a password or name are written as `%40`, `%2F`, `%3F` and `%23`. A token "
    "does not belong into it but into `AGENT_MAIL_BEARER_TOKEN`.",
    why="Falling back to another store would put mail where nobody looks for it.",
    spec=_STORE_SPEC,
    example=Example("text", "--store mail.sqlite3", "--store sqlite:///mail.sqlite3"),
)
INVALID_SETTINGS = Code(
    id="INVALID_SETTINGS",
    severity=ERROR,
    title="The settings cannot be read",
    message="The settings in `{path}` cannot be used: {reason}.",
    fix="Correct that setting, or take it out. The file is TOML, one setting a line, as in "
    '`operator = "Operator"` or `ack_deadline_hours = 24`.',
    why="With settings that are half read, mail could go to another store, or under another name.",
    spec=_SETTINGS_SPEC,
    example=Example("text", "operator = Ada", 'operator = "Ada"'),
)
UNKNOWN_SETTING = Code(
    id="UNKNOWN_SETTING",
    severity=WARNING,
    title="A setting is unknown",
    message="The setting `{name}` in `{path}` is not known and has no effect.",
    fix="Correct its name, or take it out. The settings of the mail are `store`, `operator` and "
    "`ack_deadline_hours`.{suggestion}",
    why="A setting that nobody reads looks as if it had an effect.",
    spec=_SETTINGS_SPEC,
    example=Example("text", "ack_deadline = 48", "ack_deadline_hours = 48"),
)
NO_SUCH_PROJECT = Code(
    id="NO_SUCH_PROJECT",
    severity=ERROR,
    title="There is no such project folder",
    message="`{path}` cannot be the project's folder: {reason}.",
    fix="Give a folder that is there and that you may use with `--project DIR`, or leave it out. "
    "`brenner init` sets a project up.",
    why="A mistyped folder would be taken for a project without mail, and mail would be put where "
    "nobody looks for it.",
    spec="design, Commands",
    example=Example(
        "text",
        "brenner mail inbox --project ~/cell-fat",
        "brenner mail inbox --project ~/cell-fate",
    ),
)

STORE_CODES = (
    STORE_CORRUPT,
    STORE_FOREIGN,
    STORE_TOO_NEW,
    STORE_READ_ONLY,
    STORE_FULL,
    STORE_BUSY,
    STORE_UNUSABLE,
    UNKNOWN_STORE,
    INVALID_SETTINGS,
    UNKNOWN_SETTING,
    NO_SUCH_PROJECT,
)


# Remote stores: a database server, an Agent Mail server


_REMOTE_STORE_SPEC = "design, Store"
_AGENT_MAIL_SPEC = "companion 4; design, Store"
_NOTHING_DONE = " Nothing was done."

SERVER_UNREACHABLE = Code(
    id="SERVER_UNREACHABLE",
    severity=ERROR,
    title="The server cannot be reached",
    message="`{where}` cannot be reached: {reason}. Nothing was done.",
    fix="{advice}",
    why="The mail lives on that server. Without it nobody can tell what is there, and nothing that "
    "is sent would be kept.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox --store postgresql://db.example.org/lab    (nothing answers there)",
        "the same, once the server runs and its name and port are right",
    ),
)
SERVER_DENIED = Code(
    id="SERVER_DENIED",
    severity=ERROR,
    title="The server does not let you in",
    message="`{where}` does not let you in: {reason}. Nothing was done.",
    fix="{advice}",
    why="A server that asks who you are keeps the mail from strangers. Brenner never tries another "
    "way in.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox    (the server wants a token)",
        "AGENT_MAIL_BEARER_TOKEN=… brenner mail inbox",
    ),
)
SERVER_TIMEOUT = Code(
    id="SERVER_TIMEOUT",
    severity=ERROR,
    title="The server takes too long",
    message="`{where}` gave no answer within {seconds} seconds. Nothing was done.",
    fix="Repeat the command. If that does not help, look at the server: it may be overloaded, or "
    "waiting for its disk. `brenner doctor` measures a round trip.",
    why="A command that waits for ever cannot be told from one that works.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox    (the server is stopped by its debugger)",
        "brenner mail inbox    (the server goes on)",
    ),
)
SERVER_LOST = Code(
    id="SERVER_LOST",
    severity=ERROR,
    title="The connection to the server broke",
    message="The connection to `{where}` broke: {reason}. Nothing was done.",
    fix="Repeat the command, once the server is there again. What was stored before is safe.",
    why="The server ended, was restarted, or the network between broke. What was under way is "
    "taken back as a whole, so that nothing is half done.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate    (the database is restarted)",
        "the same again, a moment later",
    ),
)
OUTCOME_UNKNOWN = Code(
    id="OUTCOME_UNKNOWN",
    severity=ERROR,
    title="Nobody knows whether it was done",
    message="`{where}` was lost while it was storing ({reason}): {what} may be stored, or not.",
    fix="Look before you repeat it: `brenner mail thread THREAD` shows what is there. `compile`, "
    "`session start` and a send with `--key` can be repeated at once: they do nothing twice.",
    why="The answer got lost, not necessarily the message. Sending it again blindly could store it "
    "twice; saying that it failed could be false.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail send message.md    (the network breaks in that moment)",
        "brenner mail thread RS-20251230-cell-fate\n"
        "brenner mail send message.md    (only if it is not there)",
    ),
)
SERVER_NONSENSE = Code(
    id="SERVER_NONSENSE",
    severity=ERROR,
    title="The server's answer cannot be understood",
    message="What `{where}` answers cannot be understood: {reason}.",
    fix="Look whether it is the right address: another program may answer there, or a proxy in "
    "between. `brenner doctor` says what it finds.",
    why="Guessing what a broken answer means could lose mail, or make some up.",
    spec=_AGENT_MAIL_SPEC,
    example=Example(
        "text",
        "--store agent-mail+http://127.0.0.1:8080/    (a web page answers)",
        "--store agent-mail+http://127.0.0.1:8765/mcp/",
    ),
)
SERVER_FAILED = Code(
    id="SERVER_FAILED",
    severity=ERROR,
    title="The server reports a failure of its own",
    message="`{where}` could not do it: {reason}.",
    fix="Look at the server: its log says more, and whether its disk is full. Then repeat the "
    "command.",
    why="The fault is on its side. What it did not confirm does not count as stored.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail send message.md    (the server's disk is full)",
        "brenner mail send message.md    (after making room there)",
    ),
)
SERVER_REFUSED = Code(
    id="SERVER_REFUSED",
    severity=ERROR,
    title="The server refuses the request",
    message="`{where}` refuses it: {reason}.",
    fix="Change what it does not take; it has rules of its own about names, thread IDs and sizes. "
    "Nothing was stored.",
    why="Servers differ in what they take. What one refuses is told as it says it.",
    spec=_AGENT_MAIL_SPEC,
    example=Example(
        "text",
        "Thread: cell fate, take two    (the server takes no blanks in thread IDs)",
        "Thread: RS-20251230-cell-fate",
    ),
)
SERVER_LACKS = Code(
    id="SERVER_LACKS",
    severity=ERROR,
    title="The server does not offer what is needed",
    message="`{where}` does not offer {what}, which is needed for this.",
    fix="Start the server with all its tools (for many: `MCP_TOOLS_MODE=extended`), or use another "
    "server or store.",
    why="Agent Mail servers differ. What one offers is read from its own list, once.",
    spec=_AGENT_MAIL_SPEC,
    example=Example(
        "text",
        "brenner mail send message.md    (a server that offers no `send_message`)",
        "the same, with the server started as an Agent Mail server",
    ),
)
NAME_ALTERED = Code(
    id="NAME_ALTERED",
    severity=ERROR,
    title="The server gave another name",
    message="`{where}` was asked to register `{name}`, and registered `{given}` instead.",
    fix="Use `{given}`, or ask for a name that the server takes: an adjective and a noun, as in "
    '`BlueLake`. For the operator: `operator = "{given}"` in `brenner.toml`.',
    why="The name that came back is the one that counts there. Mail sent under the other one would "
    "be nobody's.",
    spec=_AGENT_MAIL_SPEC,
    example=Example("text", "brenner mail register Operator2", "brenner mail register GreenCastle"),
)
NAME_ELSEWHERE = Code(
    id="NAME_ELSEWHERE",
    severity=ERROR,
    title="The name belongs to another project of the server",
    message="On `{where}` the name `{name}` belongs to the project `{project}`; to register it "
    "here would take it away from there.",
    fix="Choose another name: {suggestions}; for the operator, write it into `brenner.toml`. If it "
    "is the same agent, which is to leave that project, `brenner mail register {name} --update` "
    "takes it over.",
    why="Some servers keep names for all their projects: who registers one last has it. The agent "
    "that had it before would no longer get its mail, and nobody would tell it.",
    spec=_AGENT_MAIL_SPEC,
    example=Example(
        "text",
        "brenner mail register BlueLake    (somebody's in the project next door)",
        "brenner mail register QuietHarbour",
    ),
)
MESSAGE_ALTERED = Code(
    id="MESSAGE_ALTERED",
    severity=ERROR,
    title="The server stored something else than was sent",
    message="`{where}` stored the message as {id}, but not as it was sent: {what}.",
    fix="Read it with `brenner mail show {id}`. If it no longer says what it should, send it again "
    "in a form that the server keeps: a shorter subject, a plain thread ID.",
    why="Some servers cut or change what they store. A message that others read differently from "
    "its author is a contribution lost in silence.",
    spec=_AGENT_MAIL_SPEC,
    example=Example(
        "text",
        "Subject: INFO: (a subject of 300 characters)",
        "Subject: INFO: (a subject of 80 characters)",
    ),
)
HOME_CANNOT = Code(
    id="HOME_CANNOT",
    severity=ERROR,
    title="This home of the mail cannot do that",
    message="Here there is no such thing as {ability}: {reason}.",
    fix="Do without it, or keep the mail in another store; `docs/homes.md` compares them.",
    why="Answering as if it could would be a guess.",
    spec=_REMOTE_STORE_SPEC,
    example=Example(
        "text",
        "brenner mail inbox --unread --store agent-mail",
        "brenner mail inbox --store agent-mail",
    ),
)
OPERATOR_NEEDS_NAME = Code(
    id="OPERATOR_NEEDS_NAME",
    severity=ERROR,
    title="The operator needs a name of her own there",
    message="On `{where}` the operator cannot be called `{name}`: a server may keep names for all "
    "its projects, and some take only an adjective and a noun.",
    fix='Write `operator = "GreenCastle"`, or another such name, into `brenner.toml`; in a new '
    "project `brenner init{option} --operator GreenCastle` does that.",
    why="Where names belong to the whole server, the default name would be taken from another "
    "project by the one that asks for it last.",
    spec="design, Commands",
    example=Example(
        "text",
        'store = "agent-mail"',
        'store = "agent-mail"\noperator = "GreenCastle"',
    ),
)

REMOTE_STORE_CODES = (
    SERVER_UNREACHABLE,
    SERVER_DENIED,
    SERVER_TIMEOUT,
    SERVER_LOST,
    OUTCOME_UNKNOWN,
    SERVER_NONSENSE,
    SERVER_FAILED,
    SERVER_REFUSED,
    SERVER_LACKS,
    NAME_ALTERED,
    NAME_ELSEWHERE,
    MESSAGE_ALTERED,
    HOME_CANNOT,
    OPERATOR_NEEDS_NAME,
)


def add_nothing_done(found: Diagnostic) -> Diagnostic:
    """The same, where it is certain. Most codes of a server say so always, these two cannot."""
    if found.code not in (SERVER_NONSENSE, SERVER_FAILED):
        return found
    return found._replace(message=f"{found.message.removesuffix(_NOTHING_DONE)}{_NOTHING_DONE}")


# Moving mail: `mail import` and `mail copy`


_ARCHIVE_SPEC = "design, Commands; rulings, Small decisions"
_COPY_SPEC = "design, Commands; design, Store"

NOT_AN_ARCHIVE = Code(
    id="NOT_AN_ARCHIVE",
    severity=ERROR,
    title="The file is not an archive of mail",
    message="`{path}` is not an archive of mail: {reason}. Nothing was imported.",
    fix="Give a file that `brenner mail export` wrote: JSON lines, or mbox. A single message goes "
    "out with `brenner mail send FILE`.",
    why="To import nothing from a wrong file would look like success.",
    spec=_ARCHIVE_SPEC,
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
    spec=_ARCHIVE_SPEC,
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
    spec=_ARCHIVE_SPEC,
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
    spec=_COPY_SPEC,
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
    spec=_COPY_SPEC,
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
    spec=_COPY_SPEC,
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

ARCHIVE_CODES = (
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
