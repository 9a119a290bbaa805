"""Codes for mail stores and project settings, remote stores, and moving mail between stores."""

from __future__ import annotations

from brenner.diagnostics.model import Diagnostic, error, warning

_STORE_SPEC = "design, Store"
_SETTINGS_SPEC = "design, Commands; design, Store"

STORE_CORRUPT = error(
    "STORE_CORRUPT",
    "The store `{path}` is damaged: {reason}. It was not changed.",
    "Move it away: a file together with its `-wal` and `-shm` files, a PostgreSQL schema "
    "with `ALTER SCHEMA … RENAME TO …`. Then restore a backup. Without a backup, run "
    "`brenner init` and `brenner mail import FILE`.",
    _STORE_SPEC,
)
STORE_FOREIGN = error(
    "STORE_FOREIGN",
    "`{path}` is not a Brenner store: {reason}. It was not changed.",
    "Use another file, existing or new: `--store sqlite:///PATH`. In PostgreSQL, use another "
    "schema: add `?schema=NAME` to the address.",
    _STORE_SPEC,
)
STORE_TOO_NEW = error(
    "STORE_TOO_NEW",
    "The store `{path}` has format {version}. This version of Brenner supports formats up to "
    "{known}. The store was not changed.",
    "Upgrade Brenner here and on all other machines that use this project.",
    _STORE_SPEC,
)
STORE_READ_ONLY = error(
    "STORE_READ_ONLY",
    "Cannot write to the store `{path}`. Nothing was stored.",
    "For a file, give yourself write permission on it and on its folder (`chmod u+w`). In "
    "PostgreSQL, connect to the primary with a role that may write. Or use another store: "
    "`--store sqlite:///PATH`.",
    _STORE_SPEC,
)
STORE_FULL = error(
    "STORE_FULL",
    "No space left for the store `{path}`. Nothing was stored.",
    "Free space on that disk, then repeat the command. Messages that were stored before are safe.",
    _STORE_SPEC,
)
STORE_BUSY = error(
    "STORE_BUSY",
    "Another process used the store `{path}` for more than {seconds} seconds. No changes were "
    "made.",
    "Repeat the command. If that does not help, look for a process that hangs: `brenner "
    "doctor` checks the store.",
    _STORE_SPEC,
)
STORE_UNUSABLE = error(
    "STORE_UNUSABLE",
    "Cannot use the store `{path}`: {reason}.",
    "Fix that, then repeat the command. `brenner doctor` checks the folder, the file and the "
    "permissions.",
    _STORE_SPEC,
)
UNKNOWN_STORE = error(
    "UNKNOWN_STORE",
    "`{url}` is not a valid store address: {reason}.",
    "Write the path of a file, `sqlite:///PATH`, `postgresql://HOST/DATABASE`, "
    "`agent-mail+http://HOST:PORT/mcp/` or `agent-mail`. Or leave the address out to use the "
    "store inside the project. In a name or password, write `@`, `/`, `?` and `#` as `%40`, "
    "`%2F`, `%3F` and `%23`. Put a token in `AGENT_MAIL_BEARER_TOKEN`, not in the address.",
    _STORE_SPEC,
)
STORE_FOLDER_MISSING = error(
    "STORE_FOLDER_MISSING",
    "Cannot create the store `{path}`: the folder `{folder}` does not exist. Nothing was created.",
    "Run `mkdir -p {argument}` and repeat the command. Or correct the store address.",
    _STORE_SPEC,
)
INVALID_SETTINGS = error(
    "INVALID_SETTINGS",
    "Cannot use the settings in `{path}`: {reason}.",
    "Correct that setting or remove it. The file is TOML with one setting per line, such as "
    '`operator = "Operator"` or `ack_deadline_hours = 24`.',
    _SETTINGS_SPEC,
)
UNKNOWN_SETTING = warning(
    "UNKNOWN_SETTING",
    "Unknown setting `{name}` in `{path}`. It has no effect.",
    "Correct its name or remove it. Settings for mail are `store`, `operator` and "
    "`ack_deadline_hours`.{suggestion}",
    _SETTINGS_SPEC,
)
NOT_A_PROJECT = error(
    "NOT_A_PROJECT",
    "No project here: neither `{folder}` nor a folder above it contains `.brenner/` or "
    "`brenner.toml`. Nothing was created.",
    "Change to the project's folder, or name it with `--project DIR`, or its mail with `--store "
    "URL`. To create a project here: `brenner init`.",
    "design, Commands",
)
NO_SUCH_PROJECT = error(
    "NO_SUCH_PROJECT",
    "Cannot use `{path}` as the project folder: {reason}.",
    "Name an existing folder that you may use with `--project DIR`, or leave it out. "
    "`brenner init` sets up a project.",
    "design, Commands",
)

# Remote stores: a database server, an Agent Mail server

_REMOTE_STORE_SPEC = "design, Store"
_AGENT_MAIL_SPEC = "companion 4; design, Store"
_NOTHING_DONE = " No changes were made."

SERVER_UNREACHABLE = error(
    "SERVER_UNREACHABLE",
    "Cannot reach `{where}`: {reason}. No changes were made.",
    "{advice}",
    _REMOTE_STORE_SPEC,
)
SERVER_DENIED = error(
    "SERVER_DENIED",
    "`{where}` denies access: {reason}. No changes were made.",
    "{advice}",
    _REMOTE_STORE_SPEC,
)
SERVER_TIMEOUT = error(
    "SERVER_TIMEOUT",
    "`{where}` did not answer within {seconds} seconds. No changes were made.",
    "Repeat the command. If that does not help, check the server: it may be overloaded or "
    "waiting for its disk. `brenner doctor` measures a round trip.",
    _REMOTE_STORE_SPEC,
)
SERVER_LOST = error(
    "SERVER_LOST",
    "The connection to `{where}` was lost: {reason}. No changes were made.",
    "Repeat the command when the server is available again. Messages that were stored before "
    "are safe.",
    _REMOTE_STORE_SPEC,
)
OUTCOME_UNKNOWN = error(
    "OUTCOME_UNKNOWN",
    "`{where}` did not confirm the write ({reason}): {what} may or may not be stored.",
    "Check before you repeat it: `brenner mail thread THREAD` shows the stored messages. "
    "`compile`, `session start` and a send with `--key` can be repeated at once: they do "
    "nothing twice.",
    _REMOTE_STORE_SPEC,
)
SERVER_NONSENSE = error(
    "SERVER_NONSENSE",
    "Cannot understand the answer of `{where}`: {reason}.",
    "Check the address: another program or a proxy may answer there. `brenner doctor` shows "
    "what it finds.",
    _AGENT_MAIL_SPEC,
)
SERVER_FAILED = error(
    "SERVER_FAILED",
    "`{where}` reports a failure: {reason}.",
    "Check the server: its log, and whether its disk is full. Then repeat the command.",
    _REMOTE_STORE_SPEC,
)
SERVER_REFUSED = error(
    "SERVER_REFUSED",
    "`{where}` rejected the request: {reason}. Nothing was stored.",
    "Correct the part that the server rejects, then try again. Servers have their own rules for "
    "names, thread IDs and sizes.",
    _AGENT_MAIL_SPEC,
)
SERVER_LACKS = error(
    "SERVER_LACKS",
    "`{where}` does not offer {what}, which this request needs.",
    "Start the server with all its tools (for many servers: `MCP_TOOLS_MODE=extended`), or "
    "use another server or store.",
    _AGENT_MAIL_SPEC,
)
NAME_ALTERED = error(
    "NAME_ALTERED",
    "`{where}` registered `{given}` instead of `{name}`.",
    "Use `{given}`, or ask for a name that the server accepts: an adjective and a noun, such "
    'as `BlueLake`. For the operator, write `operator = "{given}"` in `brenner.toml`.',
    _AGENT_MAIL_SPEC,
)
NAME_ELSEWHERE = error(
    "NAME_ELSEWHERE",
    "On `{where}` the name `{name}` belongs to the project `{project}`. Registering it here "
    "would remove it there.",
    'Choose another name: {suggestions}. For the operator, write `operator = "NAME"` in '
    "`brenner.toml`. If the same agent moves to this project: `brenner mail register {name} "
    "--update`.",
    _AGENT_MAIL_SPEC,
)
MESSAGE_ALTERED = error(
    "MESSAGE_ALTERED",
    "`{where}` stored message {id} differently from what was sent: {what}.",
    "Read it: `brenner mail show {id}`. If its meaning has changed, send it again with a "
    "shorter subject and a plain thread ID.",
    _AGENT_MAIL_SPEC,
)
HOME_CANNOT = error(
    "HOME_CANNOT",
    "This store does not support {ability}: {reason}.",
    "Continue without it, or use a SQLite or PostgreSQL store: `brenner mail copy --to "
    "STORE` copies the mail.",
    _REMOTE_STORE_SPEC,
)
OPERATOR_NEEDS_NAME = error(
    "OPERATOR_NEEDS_NAME",
    "On `{where}` the operator cannot be called `{name}`: a server may share names between "
    "projects, and some accept only an adjective and a noun.",
    'Write `operator = "GreenCastle"`, or another such name, in `brenner.toml`. In a new '
    "project: `brenner init{option} --operator GreenCastle`.",
    "design, Commands",
)


def add_nothing_done(found: Diagnostic) -> Diagnostic:
    """Add that no changes were made. Two codes do not say so, because it is not always known."""
    if found.code not in (SERVER_NONSENSE, SERVER_FAILED):
        return found
    return found._replace(message=f"{found.message.removesuffix(_NOTHING_DONE)}{_NOTHING_DONE}")


# Moving mail: `mail import` and `mail copy`

_ARCHIVE_SPEC = "design, Commands; rulings, Small decisions"
_COPY_SPEC = "design, Commands; design, Store"

NOT_AN_ARCHIVE = error(
    "NOT_AN_ARCHIVE",
    "`{path}` is not a mail archive: {reason}. Nothing was imported.",
    "Give a file of JSON lines, as `brenner mail export FILE.jsonl` writes it. To send a "
    "single message: `brenner mail send FILE`.",
    _ARCHIVE_SPEC,
)
ARCHIVE_TOO_NEW = error(
    "ARCHIVE_TOO_NEW",
    "`{path}` has format {version}. This version of Brenner reads formats up to {known}. "
    "Nothing was imported.",
    "Upgrade Brenner and import it again.",
    _ARCHIVE_SPEC,
)
INVALID_RECORD = error(
    "INVALID_RECORD",
    "The record cannot be imported: {reason}.",
    "Export the archive again from its source. If the file was edited by hand, undo that. If "
    "it was cut short, copy it again.",
    _ARCHIVE_SPEC,
)
HASH_MISMATCH = error(
    "HASH_MISMATCH",
    "The content of message {id} does not match its hash: it was changed or cut after it was "
    "stored.",
    "Get an unchanged copy of the message. If the file was cut short, copy it again. To "
    "correct a message, send a new one.",
    "R10; rulings, Small decisions",
)
DECISIONS_IN_ARCHIVE = error(
    "DECISIONS_IN_ARCHIVE",
    "The archive contains kickoffs, versions or decisions for `{thread_id}`, a thread that is "
    "already in this store: {named}. Nothing was imported.",
    "Check these messages. If you trust the archive, run the command again with "
    "`--accept-decisions`: then they are imported and count.",
    "R10, R17; rulings, Small decisions",
)
SAME_STORE = error(
    "SAME_STORE",
    "The source and the target are the same store: `{where}`. Nothing was copied.",
    "Name another store with `--from` or `--to`. The one that you leave out is the project's "
    "store.",
    _COPY_SPEC,
)
NO_MAIL_TO_COPY = error(
    "NO_MAIL_TO_COPY",
    "`{where}` contains no mail. Nothing was copied.",
    "Name the store that contains the mail with `--from STORE`. To check a store: `brenner "
    "doctor --store STORE`.",
    _COPY_SPEC,
)
SOURCE_NOT_VERIFIED = error(
    "SOURCE_NOT_VERIFIED",
    "v{version} of {thread_id} cannot be rebuilt from the mail in `{where}`: {difference}. "
    "Nothing was copied.",
    "See the difference: `brenner artifact verify {thread_id}{option}`. Resolve it first, or copy "
    "anyway with `--force`: then the version cannot be rebuilt from the copy either.",
    "R10; design, Commands",
)
THREADS_DIVERGE = error(
    "THREADS_DIVERGE",
    "The source and `{where}` each have messages of one thread that the other lacks: {what}. "
    "Nothing was copied.",
    "Copy into an empty store: another file, or another schema (`?schema=NAME`). `--force` "
    "merges both into one thread anyway, which can make versions void.",
    "R10; design, Commands",
)
MESSAGE_NOT_TAKEN = error(
    "MESSAGE_NOT_TAKEN",
    "`{where}` rejected message {id} of {thread_id}: {reason}",
    "Keep the mail where it is, or choose another target. To skip such messages and copy the "
    "others, repeat the command with `--force`.",
    "companion 4; design, Store",
)
COPY_BROKE_OFF = error(
    "COPY_BROKE_OFF",
    "The copy to `{where}` stopped after {done} of {total} messages: {reason}",
    "Fix that, then repeat the command. It continues where it stopped, and sends nothing "
    "twice. The source is unchanged.",
    "companion 4; design, Store",
)
COPY_INCOMPLETE = error(
    "COPY_INCOMPLETE",
    "The copy in `{where}` is not complete: {what}.",
    "{advice}",
    "R10; design, Commands",
)
TARGET_NOT_VERIFIED = error(
    "TARGET_NOT_VERIFIED",
    "`{where}` had its own versions before the copy, and now {what}.",
    "This results from `--force` and cannot be undone there: mail is never deleted. Restore "
    "a backup of that store, or continue with a new session in it.",
    "R10; design, Commands",
)
MAIL_LEFT_BEHIND = warning(
    "MAIL_LEFT_BEHIND",
    "The store inside the project, `{path}`, contains {what}. The store in use, `{where}`, "
    "contains {there}.",
    "To copy them: `{command}`.",
    _COPY_SPEC,
)
COPIED_DEBTS_DIFFER = warning(
    "COPIED_DEBTS_DIFFER",
    "In `{where}` {what}: an ACK names messages by their IDs, and the IDs are new there.",
    "`brenner mail pending{option}` lists the ACKs that seem owed there. `brenner mail ack ID "
    "--as NAME{option}` acknowledges a message again. The source is unchanged.",
    "R10; rulings, Small decisions",
)
