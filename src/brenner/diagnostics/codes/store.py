"""Codes of ours for the home of the mail: the store, the project, its settings."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_STORE = "design, Store"
_SETTINGS = "design, Commands; design, Store"

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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_SETTINGS,
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
    spec=_SETTINGS,
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

CODES = (
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
