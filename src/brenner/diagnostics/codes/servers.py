"""Codes of ours for mail on other machines: a database server, an Agent Mail server."""

from brenner.diagnostics.model import ERROR, Code, Diagnostic, Example

_STORE = "design, Store"
_AGENT_MAIL = "companion 4; design, Store"
_NOTHING_DONE = " Nothing was done."

SERVER_UNREACHABLE = Code(
    id="SERVER_UNREACHABLE",
    severity=ERROR,
    title="The server cannot be reached",
    message="`{where}` cannot be reached: {reason}. Nothing was done.",
    fix="{advice}",
    why="The mail lives on that server. Without it nobody can tell what is there, and nothing that "
    "is sent would be kept.",
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_STORE,
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
    spec=_AGENT_MAIL,
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
    spec=_STORE,
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
    spec=_AGENT_MAIL,
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
    spec=_AGENT_MAIL,
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
    spec=_AGENT_MAIL,
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
    spec=_AGENT_MAIL,
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
    spec=_AGENT_MAIL,
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
    spec=_STORE,
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

CODES = (
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


def nothing_done(found: Diagnostic) -> Diagnostic:
    """The same, where it is certain. Most codes of a server say so always, these two cannot."""
    if found.code not in (SERVER_NONSENSE, SERVER_FAILED):
        return found
    return found._replace(message=f"{found.message.removesuffix(_NOTHING_DONE)}{_NOTHING_DONE}")
