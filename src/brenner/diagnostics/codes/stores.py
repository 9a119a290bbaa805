"""Codes for mail stores and project settings, remote stores, and moving mail between stores."""

from __future__ import annotations

from brenner.diagnostics.model import Diagnostic, error, warning

_STORE_SPEC = "design, Store"
_SETTINGS_SPEC = "design, Commands; design, Store"

STORE_CORRUPT = error(
    "STORE_CORRUPT",
    "The store `{path}` is damaged: {reason}. It was left as it is.",
    "Put it aside: a file with those beside it whose names begin like its own, a schema with "
    "`ALTER SCHEMA … RENAME TO …`. Then bring a backup back, or start a new store with `brenner "
    "init` and import an archive into it.",
    _STORE_SPEC,
)
STORE_FOREIGN = error(
    "STORE_FOREIGN",
    "`{path}` is not a store of Brenner: {reason}. It was left as it is.",
    "Name the file of a store, or one that is not there yet: `--store sqlite:///PATH`; in a "
    "database, another schema: `?schema=NAME`. If a store should be there, move what is there away "
    "first.",
    _STORE_SPEC,
)
STORE_TOO_NEW = error(
    "STORE_TOO_NEW",
    "The store `{path}` is in format {version}; this version of Brenner knows formats up "
    "to {known}.",
    "Upgrade Brenner, here and wherever this project is used. The store was left as it is.",
    _STORE_SPEC,
)
STORE_READ_ONLY = error(
    "STORE_READ_ONLY",
    "The store `{path}` cannot be written; nothing was stored.",
    "Allow yourself to write the file and its folder; in a database, ask for the right to "
    "write, and for the server that others follow, not one that follows. Or use another store with "
    "`--store sqlite:///PATH`.",
    _STORE_SPEC,
)
STORE_FULL = error(
    "STORE_FULL",
    "There is no room left for the store `{path}`; nothing was stored.",
    "Make room on that disk and repeat the command. What was stored before is safe.",
    _STORE_SPEC,
)
STORE_BUSY = error(
    "STORE_BUSY",
    "The store `{path}` was in use by another process for more than {seconds} seconds.",
    "Repeat the command. If that does not help, look for a process that hangs: "
    "`brenner doctor` says what it sees of the store.",
    _STORE_SPEC,
)
STORE_UNUSABLE = error(
    "STORE_UNUSABLE",
    "The store `{path}` cannot be used: {reason}.",
    "Mend what is said there, then repeat the command; `brenner doctor` looks at folder, file "
    "and permissions.",
    _STORE_SPEC,
)
UNKNOWN_STORE = error(
    "UNKNOWN_STORE",
    "`{url}` is not a store that this version of Brenner can use: {reason}.",
    "Write `sqlite:///PATH`, `postgresql://HOST/DATABASE`, `agent-mail+http://HOST:PORT/mcp/` "
    "or `agent-mail`; or leave the store out to use the one inside the project. In an address `@`, "
    "`/`, `?` and `#` of a password or name are written as `%40`, `%2F`, `%3F` and `%23`. A token "
    "does not belong into it but into `AGENT_MAIL_BEARER_TOKEN`.",
    _STORE_SPEC,
)
INVALID_SETTINGS = error(
    "INVALID_SETTINGS",
    "The settings in `{path}` cannot be used: {reason}.",
    "Correct that setting, or take it out. The file is TOML, one setting a line, as in "
    '`operator = "Operator"` or `ack_deadline_hours = 24`.',
    _SETTINGS_SPEC,
)
UNKNOWN_SETTING = warning(
    "UNKNOWN_SETTING",
    "The setting `{name}` in `{path}` is not known and has no effect.",
    "Correct its name, or take it out. The settings of the mail are `store`, `operator` and "
    "`ack_deadline_hours`.{suggestion}",
    _SETTINGS_SPEC,
)
NO_SUCH_PROJECT = error(
    "NO_SUCH_PROJECT",
    "`{path}` cannot be the project's folder: {reason}.",
    "Give a folder that is there and that you may use with `--project DIR`, or leave it out. "
    "`brenner init` sets a project up.",
    "design, Commands",
)

# Remote stores: a database server, an Agent Mail server

_REMOTE_STORE_SPEC = "design, Store"
_AGENT_MAIL_SPEC = "companion 4; design, Store"
_NOTHING_DONE = " Nothing was done."

SERVER_UNREACHABLE = error(
    "SERVER_UNREACHABLE",
    "`{where}` cannot be reached: {reason}. Nothing was done.",
    "{advice}",
    _REMOTE_STORE_SPEC,
)
SERVER_DENIED = error(
    "SERVER_DENIED",
    "`{where}` does not let you in: {reason}. Nothing was done.",
    "{advice}",
    _REMOTE_STORE_SPEC,
)
SERVER_TIMEOUT = error(
    "SERVER_TIMEOUT",
    "`{where}` gave no answer within {seconds} seconds. Nothing was done.",
    "Repeat the command. If that does not help, look at the server: it may be overloaded, or "
    "waiting for its disk. `brenner doctor` measures a round trip.",
    _REMOTE_STORE_SPEC,
)
SERVER_LOST = error(
    "SERVER_LOST",
    "The connection to `{where}` broke: {reason}. Nothing was done.",
    "Repeat the command, once the server is there again. What was stored before is safe.",
    _REMOTE_STORE_SPEC,
)
OUTCOME_UNKNOWN = error(
    "OUTCOME_UNKNOWN",
    "`{where}` was lost while it was storing ({reason}): {what} may be stored, or not.",
    "Look before you repeat it: `brenner mail thread THREAD` shows what is there. `compile`, "
    "`session start` and a send with `--key` can be repeated at once: they do nothing twice.",
    _REMOTE_STORE_SPEC,
)
SERVER_NONSENSE = error(
    "SERVER_NONSENSE",
    "What `{where}` answers cannot be understood: {reason}.",
    "Look whether it is the right address: another program may answer there, or a proxy in "
    "between. `brenner doctor` says what it finds.",
    _AGENT_MAIL_SPEC,
)
SERVER_FAILED = error(
    "SERVER_FAILED",
    "`{where}` could not do it: {reason}.",
    "Look at the server: its log says more, and whether its disk is full. Then repeat the command.",
    _REMOTE_STORE_SPEC,
)
SERVER_REFUSED = error(
    "SERVER_REFUSED",
    "`{where}` refuses it: {reason}.",
    "Change what it does not take; it has rules of its own about names, thread IDs and sizes. "
    "Nothing was stored.",
    _AGENT_MAIL_SPEC,
)
SERVER_LACKS = error(
    "SERVER_LACKS",
    "`{where}` does not offer {what}, which is needed for this.",
    "Start the server with all its tools (for many: `MCP_TOOLS_MODE=extended`), or use another "
    "server or store.",
    _AGENT_MAIL_SPEC,
)
NAME_ALTERED = error(
    "NAME_ALTERED",
    "`{where}` was asked to register `{name}`, and registered `{given}` instead.",
    "Use `{given}`, or ask for a name that the server takes: an adjective and a noun, as in "
    '`BlueLake`. For the operator: `operator = "{given}"` in `brenner.toml`.',
    _AGENT_MAIL_SPEC,
)
NAME_ELSEWHERE = error(
    "NAME_ELSEWHERE",
    "On `{where}` the name `{name}` belongs to the project `{project}`; to register it "
    "here would take it away from there.",
    "Choose another name: {suggestions}; for the operator, write it into `brenner.toml`. If it "
    "is the same agent, which is to leave that project, `brenner mail register {name} --update` "
    "takes it over.",
    _AGENT_MAIL_SPEC,
)
MESSAGE_ALTERED = error(
    "MESSAGE_ALTERED",
    "`{where}` stored the message as {id}, but not as it was sent: {what}.",
    "Read it with `brenner mail show {id}`. If it no longer says what it should, send it again "
    "in a form that the server keeps: a shorter subject, a plain thread ID.",
    _AGENT_MAIL_SPEC,
)
HOME_CANNOT = error(
    "HOME_CANNOT",
    "Here there is no such thing as {ability}: {reason}.",
    "Do without it, or keep the mail in another store; `docs/homes.md` compares them.",
    _REMOTE_STORE_SPEC,
)
OPERATOR_NEEDS_NAME = error(
    "OPERATOR_NEEDS_NAME",
    "On `{where}` the operator cannot be called `{name}`: a server may keep names for all "
    "its projects, and some take only an adjective and a noun.",
    'Write `operator = "GreenCastle"`, or another such name, into `brenner.toml`; in a new '
    "project `brenner init{option} --operator GreenCastle` does that.",
    "design, Commands",
)


def add_nothing_done(found: Diagnostic) -> Diagnostic:
    """The same, where it is certain. Most codes of a server say so always, these two cannot."""
    if found.code not in (SERVER_NONSENSE, SERVER_FAILED):
        return found
    return found._replace(message=f"{found.message.removesuffix(_NOTHING_DONE)}{_NOTHING_DONE}")


# Moving mail: `mail import` and `mail copy`

_ARCHIVE_SPEC = "design, Commands; rulings, Small decisions"
_COPY_SPEC = "design, Commands; design, Store"

NOT_AN_ARCHIVE = error(
    "NOT_AN_ARCHIVE",
    "`{path}` is not an archive of mail: {reason}. Nothing was imported.",
    "Give a file of JSON lines, as `brenner mail export FILE.jsonl` writes them. A single "
    "message goes out with `brenner mail send FILE`.",
    _ARCHIVE_SPEC,
)
ARCHIVE_TOO_NEW = error(
    "ARCHIVE_TOO_NEW",
    "`{path}` is in format {version}; this version of Brenner reads formats up to {known}. "
    "Nothing was imported.",
    "Upgrade Brenner and import it again.",
    _ARCHIVE_SPEC,
)
INVALID_RECORD = error(
    "INVALID_RECORD",
    "The record cannot be taken over: {reason}.",
    "Export the archive again where it came from. If it was edited by hand, undo that; if it "
    "was cut short, copy it again.",
    _ARCHIVE_SPEC,
)
HASH_MISMATCH = error(
    "HASH_MISMATCH",
    "The content of message {id} does not match its hash; it was changed or cut after it "
    "was stored.",
    "Take the message from where it came, unchanged. If it is the last one of a file that was "
    "cut short, copy the file again. A correction is a new message, never an edited one.",
    "R10; rulings, Small decisions",
)
DECISIONS_IN_ARCHIVE = error(
    "DECISIONS_IN_ARCHIVE",
    "The archive leads or decides in `{thread_id}`, a thread that this store already has: "
    "{named}. Nothing was imported.",
    "Look at these messages. If you trust the archive, run the command again with "
    "`--accept-decisions`: then they are imported, and they count.",
    "R10, R17; rulings, Small decisions",
)
SAME_STORE = error(
    "SAME_STORE",
    "Both sides of the copy are `{where}`; nothing was copied.",
    "Name another store with `--from` or `--to`; the one left out is the project's own.",
    _COPY_SPEC,
)
NO_MAIL_TO_COPY = error(
    "NO_MAIL_TO_COPY",
    "There is no mail in `{where}`; nothing was copied.",
    "Name the store that has the mail with `--from`; `brenner doctor --store STORE` says what "
    "is there.",
    _COPY_SPEC,
)
SOURCE_NOT_VERIFIED = error(
    "SOURCE_NOT_VERIFIED",
    "v{version} of {thread_id} does not follow from the mail in `{where}`: {difference}. "
    "Nothing was copied.",
    "`brenner artifact verify {thread_id}` shows it there. Settle it first, or copy all the "
    "same with `--force`: it does not follow from the copy then, either.",
    "R10; design, Commands",
)
THREADS_DIVERGE = error(
    "THREADS_DIVERGE",
    "The source and `{where}` each have messages of one thread that the other lacks: "
    "{what}. Nothing was copied.",
    "Copy into an empty home: another file, or another schema (`?schema=NAME`). `--force` puts "
    "both into one thread all the same; versions may be void after that.",
    "R10; design, Commands",
)
MESSAGE_NOT_TAKEN = error(
    "MESSAGE_NOT_TAKEN",
    "`{where}` does not take message {id} of {thread_id}: {reason}",
    "Keep the mail where it is, or choose another target. `brenner mail copy --force` leaves "
    "such messages out and copies the others.",
    "companion 4; design, Store",
)
COPY_BROKE_OFF = error(
    "COPY_BROKE_OFF",
    "The copy to `{where}` broke off when {done} of {total} messages were there: {reason}",
    "Repeat the command once that is mended: it goes on where it stopped, and sends nothing "
    "twice. The source is as it was.",
    "companion 4; design, Store",
)
COPY_INCOMPLETE = error(
    "COPY_INCOMPLETE",
    "`{where}` does not hold all that was to be copied: {what}.",
    "{advice}",
    "R10; design, Commands",
)
TARGET_NOT_VERIFIED = error(
    "TARGET_NOT_VERIFIED",
    "`{where}` had versions of its own before the copy, and {what}.",
    "That came of `--force`, and cannot be taken back there: mail is never deleted. If there "
    "is a backup of that home, bring it back; else go on with a new session in it.",
    "R10; design, Commands",
)
MAIL_LEFT_BEHIND = warning(
    "MAIL_LEFT_BEHIND",
    "{what} in `{path}`, the store inside the project, and {there} in `{where}`.",
    "`{command}` brings them over.",
    _COPY_SPEC,
)
COPIED_DEBTS_DIFFER = warning(
    "COPIED_DEBTS_DIFFER",
    "In `{where}` {what}: an ACK names messages by their ids, and ids are new there.",
    "`brenner mail pending{option}` lists what looks open there; `brenner mail ack ID --as "
    "NAME{option}` settles it again. In the source all is as it was.",
    "R10; rulings, Small decisions",
)
