"""Codes for the server: listening, identity, secrets, tool arguments, mail tools, contributions."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example
from brenner.limits import MOST_BODY_BYTES

_TRANSPORT_SPEC = "Model Context Protocol, Transports (Streamable HTTP)"
_MOST_MIB = MOST_BODY_BYTES // 1024**2
_HTTP_SPEC = "RFC 9110, HTTP Semantics"
_POST_REQUEST = "POST /mcp HTTP/1.1\nHost: 127.0.0.1:8765\nContent-Type: application/json"

PORT_TAKEN = Code(
    id="PORT_TAKEN",
    severity=ERROR,
    title="Another program listens on that port",
    message="Nothing was served: {address} is taken. {who}",
    fix="End the other one, or choose another port with `--port NUMBER` (0 takes a free one). "
    "Agents need the new address then: `{command}`, as `brenner serve` prints it once it listens.",
    why="Only one program can listen on a port, and mail must not go to the wrong one.",
    spec=_TRANSPORT_SPEC,
    example=Example("text", "brenner serve    (while another one runs)", "brenner serve --port 0"),
)
ADDRESS_UNUSABLE = Code(
    id="ADDRESS_UNUSABLE",
    severity=ERROR,
    title="The server cannot listen on that address",
    message="Nothing was served: {address} cannot be listened on: {reason}.",
    fix="Name an address of this machine with `--host`, and a port above 1023 with `--port`; "
    "without both it is 127.0.0.1:8765.",
    why="A server listens on addresses of its own machine only.",
    spec=_TRANSPORT_SPEC,
    example=Example("text", "brenner serve --host 203.0.113.9", "brenner serve --host 127.0.0.1"),
)
TOKEN_NEEDED = Code(
    id="TOKEN_NEEDED",
    severity=ERROR,
    title="Anywhere but on loopback the server needs a token",
    message="Nothing was served: whoever reaches {host} could read and send mail, and there is no "
    "token.",
    fix="Put a long random text into a file that only you can read, and name it with "
    "`--token-file FILE` (or set BRENNER_TOKEN); or leave `--host` out, for this machine only.",
    why="On loopback only programs of this machine reach the server; elsewhere everybody does.",
    spec=_TRANSPORT_SPEC,
    example=Example(
        "text",
        "brenner serve --host 0.0.0.0",
        "brenner serve --host 0.0.0.0 --token-file ~/.brenner-token",
    ),
)
UNUSABLE_TOKEN = Code(
    id="UNUSABLE_TOKEN",
    severity=ERROR,
    title="The token of the server cannot be used",
    message="Nothing was served: the token in {where} cannot be used: {reason}.",
    fix="Put one line of visible ASCII characters without blanks there, such as `openssl rand -hex "
    "32` prints.",
    why="To serve without the token that somebody asked for would let everybody in.",
    spec="RFC 6750, Bearer Token Usage",
    example=Example("text", "BRENNER_TOKEN='' brenner serve", "brenner serve --token-file FILE"),
)
TOKEN_FILE_READABLE = Code(
    id="TOKEN_FILE_READABLE",
    severity=WARNING,
    title="Others can read the file of the token",
    message="Other users of this machine can read {path}.",
    fix="Take that from them: `chmod 600 {path}`; then make a new token.",
    why="Who has the token can read all mail.",
    spec="RFC 6750, Bearer Token Usage",
    example=Example("text", "-rw-r--r--  token", "-rw-------  token"),
)
STRICT_NEEDS_SECRETS = Code(
    id="STRICT_NEEDS_SECRETS",
    severity=ERROR,
    title="This store cannot keep the secrets that strict identity needs",
    message="Nothing was served: identity is to be strict ({because}), and {store} keeps no "
    "secrets of names: {reason}.",
    fix="Serve an embedded store or PostgreSQL (`brenner mail copy` takes the mail there), or "
    "serve on loopback without `--strict-identity`.",
    why="Where nobody can have a secret, strict identity would refuse everybody.",
    spec=_TRANSPORT_SPEC,
    example=Example(
        "text",
        "brenner serve --strict-identity --store agent-mail+http://127.0.0.1:8765/mcp/",
        "brenner serve --strict-identity",
    ),
)
NEW_MAILBOX = Code(
    id="NEW_MAILBOX",
    severity=WARNING,
    title="There was no mailbox yet, and a new one was made",
    message="{folder} had no mail yet: a new mailbox was made, {store}.",
    fix="If the mail of your project is elsewhere, end this and name its folder with `--project "
    "DIR`; what was made here can be deleted. Before the first session that is as it should be; "
    "`brenner init` sets a project up.",
    why="Agents that are served an empty mailbox beside the real one find nothing, and their mail "
    "is read by nobody.",
    spec="design, Projects",
    example=Example("text", "cd /tmp && brenner serve", "brenner serve --project ~/cell-fate"),
)
CUT_OFF = Code(
    id="CUT_OFF",
    severity=ERROR,
    title="The server ended before everything under way was finished",
    message="The server is ending. After {seconds} seconds something was still under way; whether "
    "it was done is not known.",
    fix="Look with `brenner mail thread` whether what was sent last is there. `brenner "
    "doctor` says whether the store answers.",
    why="A server that is asked to end has to end; whoever got no answer does not know whether her "
    "mail was stored.",
    spec=_TRANSPORT_SPEC,
    example=Example("text", "SIGTERM while the store hangs", "SIGTERM while the store answers"),
)
FOREIGN_HOST = Code(
    id="FOREIGN_HOST",
    severity=ERROR,
    title="The request is for another host",
    message="The header Host names {host}, which is not this server.",
    fix="Use the address that `brenner serve` printed. If the server is meant to have that name, "
    "start it with `--allow-host NAME`.",
    why="A web page can make its own name point to this machine (DNS rebinding); the name in the "
    "request betrays it.",
    spec="Model Context Protocol, Transports, Security Warning",
    example=Example("text", "Host: evil.example", "Host: 127.0.0.1:8765"),
)
FOREIGN_ORIGIN = Code(
    id="FOREIGN_ORIGIN",
    severity=ERROR,
    title="A foreign web page sent the request",
    message="The header Origin names {origin}, which is not this server.",
    fix="Programs leave Origin out. If pages of that host are meant to be let in, start the server "
    "with `--allow-host NAME`.",
    why="Any page in a browser of this machine can send requests here; it must not act for you.",
    spec="Model Context Protocol, Transports, Security Warning",
    example=Example("text", "Origin: https://evil.example", "Origin: http://127.0.0.1:8765"),
)
WRONG_TOKEN = Code(
    id="WRONG_TOKEN",
    severity=ERROR,
    title="The request bears no token, or a wrong one",
    message="This server wants a bearer token, and the request has {what}.",
    fix="Send the header `Authorization: Bearer TOKEN` with the token of `--token-file` or "
    "BRENNER_TOKEN; `brenner agent config --token` says where an agent's program keeps it.",
    why="Whoever runs the server has said that only bearers of the token may use it.",
    spec="RFC 6750, Bearer Token Usage",
    example=Example("text", _POST_REQUEST, f"{_POST_REQUEST}\nAuthorization: Bearer TOKEN"),
)
REQUEST_TOO_LARGE = Code(
    id="REQUEST_TOO_LARGE",
    severity=ERROR,
    title="The body of the request is too large",
    message="The body is larger than {most} bytes; nothing was done.",
    fix=f"Send less: the body of a message has at most {_MOST_MIB} MiB. Long material belongs into "
    "a file of the project.",
    why="What is read is kept in memory, for everybody who sends at the same time.",
    spec=f"{_HTTP_SPEC}, 413 Content Too Large",
    example=Example("text", "Content-Length: 104857600", "Content-Length: 2048"),
)
TOO_MANY_REQUESTS = Code(
    id="TOO_MANY_REQUESTS",
    severity=ERROR,
    title="Too many requests in a short time",
    message="More than {most} requests a second came from {client}.",
    fix="Wait for {seconds} s and send it again; nothing was done. Ask for many messages at once "
    "rather than for one at a time.",
    why="One program in a loop must not keep the others from their mail.",
    spec="RFC 6585, 429 Too Many Requests",
    example=Example("text", "1,000 requests in a second", "one fetch_inbox with a limit of 1,000"),
)
SERVER_BUSY = Code(
    id="SERVER_BUSY",
    severity=ERROR,
    title="The server has too much under way",
    message="So much is under way that this request was not begun.",
    fix="Wait a moment and send it again; nothing was done.",
    why="What is taken on takes memory; beyond a limit it would end the server for everybody.",
    spec=f"{_HTTP_SPEC}, 503 Service Unavailable",
    example=Example("text", "5,000 connections at once", "a few hundred"),
)
REQUEST_TOO_SLOW = Code(
    id="REQUEST_TOO_SLOW",
    severity=ERROR,
    title="The request did not arrive in time",
    message="The body had not arrived after {seconds} seconds; nothing was done.",
    fix="Send it again, whole.",
    why="Who sends a byte now and then would hold a place for ever.",
    spec=f"{_HTTP_SPEC}, 408 Request Timeout",
    example=Example("text", "a byte a minute", "the body at once"),
)
BODY_NOT_JSON = Code(
    id="BODY_NOT_JSON",
    severity=ERROR,
    title="The body of the request is not said to be JSON",
    message="The header Content-Type is {given}.",
    fix="Send JSON with `Content-Type: application/json` (`curl --json`).",
    why="Web pages can send anything else here without being asked whether they may.",
    spec=f"{_TRANSPORT_SPEC}; {_HTTP_SPEC}, 415 Unsupported Media Type",
    example=Example("text", "Content-Type: text/plain", "Content-Type: application/json"),
)
METHOD_NOT_ALLOWED = Code(
    id="METHOD_NOT_ALLOWED",
    severity=ERROR,
    title="That cannot be done at this address",
    message="{method} is not possible at {path}.",
    fix="Possible here: {allowed}. Agents send POST to /mcp; GET and DELETE belong to a session "
    "that was initialised, and name it in the header Mcp-Session-Id.",
    why="A request that is understood only halfway could do something else than was meant.",
    spec=f"{_HTTP_SPEC}, 405 Method Not Allowed",
    example=Example("text", "PUT /mcp", "POST /mcp"),
)
NO_SUCH_PAGE = Code(
    id="NO_SUCH_PAGE",
    severity=ERROR,
    title="There is nothing at that address",
    message="There is nothing at {path}.",
    fix="Agents use /mcp (or /api); people look at /.",
    why="A wrong address is most often a slip in an agent's configuration.",
    spec=f"{_HTTP_SPEC}, 404 Not Found",
    example=Example("text", "http://127.0.0.1:8765/mpc", "http://127.0.0.1:8765/mcp"),
)
NO_BATCHES = Code(
    id="NO_BATCHES",
    severity=ERROR,
    title="Several requests in one body",
    message="The body is a list; a request is one JSON object. Nothing of it was done.",
    fix="Send the requests one by one.",
    why="The protocol has had no batches since its version 2025-06-18, nor has Agent Mail.",
    spec="Model Context Protocol 2025-06-18, Changelog",
    example=Example(
        "text",
        '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
        '{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
    ),
)

SERVER_CODES: tuple[Code, ...] = (
    PORT_TAKEN,
    ADDRESS_UNUSABLE,
    TOKEN_NEEDED,
    UNUSABLE_TOKEN,
    TOKEN_FILE_READABLE,
    STRICT_NEEDS_SECRETS,
    NEW_MAILBOX,
    CUT_OFF,
    FOREIGN_HOST,
    FOREIGN_ORIGIN,
    WRONG_TOKEN,
    REQUEST_TOO_LARGE,
    TOO_MANY_REQUESTS,
    SERVER_BUSY,
    REQUEST_TOO_SLOW,
    BODY_NOT_JSON,
    METHOD_NOT_ALLOWED,
    NO_SUCH_PAGE,
    NO_BATCHES,
)


# Identity: agents' names and their secrets


_IDENTITY_SPEC = "design, Identity"
_OPERATOR_SPEC = "rulings, R10 and R15"
_SEND_CALL = 'send_message(sender_name="{name}", …)'

WRONG_SECRET = Code(
    id="WRONG_SECRET",
    severity=ERROR,
    title="The secret is not the one of that name",
    message="The secret that was shown is not the one of `{name}`. Nothing was done.",
    fix="Show the secret that registering `{name}` gave, or use the name that your secret belongs "
    "to. A name that nobody has claimed has none: register it without. Who has lost a secret asks "
    "the operator for a new one (`brenner agent secret {name} --new`).",
    why="Who shows a secret wants to be believed. To go on without it would mark the message as "
    "somebody else's.",
    spec=_IDENTITY_SPEC,
    example=Example(
        "text",
        'send_message(sender_name="BlueLake", sender_token="brs_… of RedStone", …)',
        'send_message(sender_name="BlueLake", sender_token="brs_… of BlueLake", …)',
    ),
)
OPERATOR_NEEDS_SECRET = Code(
    id="OPERATOR_NEEDS_SECRET",
    severity=ERROR,
    title="Nobody acts as the operator without the operator's secret",
    message="`{name}` is the operator, and no secret was shown. Nothing was done.",
    fix="Use a name of your own: `register_agent` without a name gives you one. {advice}",
    why="The operator decides what a session asks and what becomes of it. Whoever could use the "
    "name would decide that too.",
    spec=_IDENTITY_SPEC,
    example=Example(
        "text",
        _SEND_CALL.format(name="Operator"),
        _SEND_CALL.format(name="BlueLake"),
    ),
)
SECRET_NEEDED = Code(
    id="SECRET_NEEDED",
    severity=ERROR,
    title="This server believes nobody without a secret",
    message="No secret of `{name}` was shown, and this server wants one. Nothing was done.",
    fix="{advice}",
    why="A server that others can reach must know who sends. On loopback, without "
    "`--strict-identity`, the same is taken and marked as unverified.",
    spec=_IDENTITY_SPEC,
    example=Example(
        "text",
        _SEND_CALL.format(name="BlueLake"),
        'send_message(sender_name="BlueLake", sender_token="brs_…", …)',
    ),
)
OTHER_PROJECT = Code(
    id="OTHER_PROJECT",
    severity=ERROR,
    title="This server serves another project",
    message="`{key}` is not the project of this server, which is `{folder}`. Nothing was done.",
    fix="Use `{folder}` as the key of the project, or leave it out. Another project has a server "
    "of its own: ask the operator for its address.",
    why="Mail that lands in the wrong project is read by nobody who expects it.",
    spec="agent_mail, project keys",
    example=Example(
        "text",
        'fetch_inbox(project_key="/home/me/other", agent_name="BlueLake")',
        'fetch_inbox(project_key="/home/me/project", agent_name="BlueLake")',
    ),
)

PROFILE_NOT_KEPT = Code(
    id="PROFILE_NOT_KEPT",
    severity=WARNING,
    title="The name is claimed, but the profile is not kept",
    message="`{name}` is yours, and its secret is in the answer. But what you say of yourself "
    "could not be kept: {reason}",
    fix="Keep the secret. Register again with it as `registration_token`, later.",
    why="A secret is told once. Whatever fails after a name was claimed, who has it must get it.",
    spec=_IDENTITY_SPEC,
    example=Example(
        "text",
        'register_agent(name="BlueLake", program="codex-cli", …)    (the store fails half-way)',
        'register_agent(name="BlueLake", registration_token="brs_…", …)',
    ),
)
TOO_MANY_AGENTS = Code(
    id="TOO_MANY_AGENTS",
    severity=ERROR,
    title="The project has as many agents as it can",
    message="{most} agents are known already. Nobody was registered.",
    fix="Use a name that you have: a program that begins anew shows the secret of its name. The "
    "operator registers further ones with `brenner mail register`.",
    why="A program in a loop would register a new name each time, and everybody reads the list.",
    spec="ruling R5 (limits)",
    example=Example(
        "text",
        "register_agent(program=…, model=…)    (each time it starts)",
        'register_agent(…, name="BlueLake", registration_token="brs_…")',
    ),
)

LEADING_NEEDS_SECRET = Code(
    id="LEADING_NEEDS_SECRET",
    severity=ERROR,
    title="Nobody leads a session without showing who they are",
    message="A {type} leads a session, and it is not proven that `{name}` sends it. Nothing was "
    "stored.",
    fix="To contribute, send a DELTA, a CRITIQUE or a QUESTION: those are taken from everybody. "
    "{advice}",
    why="A KICKOFF begins a round and gives everybody a role; a COMPILED message closes it, or "
    "stops the next compile. Whoever could send them under any name would lead every session.",
    spec=_OPERATOR_SPEC,
    example=Example(
        "text",
        'send_message(sender_name="BlueLake", subject="KICKOFF: Cell fate", …)',
        'send_message(sender_name="BlueLake", sender_token="brs_…", subject="KICKOFF: Cell fate", '
        "…)",
    ),
)
NOT_YOURS_TO_LEAD = Code(
    id="NOT_YOURS_TO_LEAD",
    severity=ERROR,
    title="Somebody else leads this session",
    message="The thread `{thread}` has been led by others so far: a {type} is not `{name}`'s to "
    "send there. Nothing was stored.",
    fix="Contribute with a DELTA or a CRITIQUE. If you want another round or another version, ask "
    "`{operator}` with a QUESTION. A session of your own begins in a thread of its own.",
    why="Agents contribute, the operator leads. The latest KICKOFF gives everybody a role, and a "
    "COMPILED message that does not rebuild stops the next compile.",
    spec=_OPERATOR_SPEC,
    example=Example(
        "text",
        'send_message(sender_name="BlueLake", subject="KICKOFF: A new round", …)',
        'send_message(sender_name="BlueLake", subject="QUESTION: A new round?", to=["Operator"], '
        "…)",
    ),
)

OTHER_NAMES_SECRET = Code(
    id="OTHER_NAMES_SECRET",
    severity=WARNING,
    title="The secret of the connection is another name's",
    message="The message is stored as unverified: the secret that came with the connection is the "
    "one of `{owner}`, and `{name}` sends.",
    fix="Send as `{owner}` if that is you. Otherwise show the secret of `{name}` as "
    "`sender_token`; what comes with the connection has to be your own secret, or nothing.",
    why="Most often the settings of one agent were copied for another. Each believes itself to be "
    "verified, and nobody reads it so.",
    spec=_IDENTITY_SPEC,
    example=Example(
        "text",
        "Brenner-Secret: brs_… of RedStone    (and BlueLake sends)",
        "Brenner-Secret: brs_… of BlueLake",
    ),
)
STORED_UNVERIFIED = Code(
    id="STORED_UNVERIFIED",
    severity=INFO,
    title="The message is marked as unverified",
    message="`{name}` has a secret, and it was not shown: the message is stored as unverified.",
    fix="Show the secret that registering gave as `sender_token`, in every call. If it is lost, "
    "ask the operator for a new one.",
    why="Anybody may have sent it, and everybody who reads it is told so.",
    spec=_IDENTITY_SPEC,
    example=Example(
        "text",
        _SEND_CALL.format(name="BlueLake"),
        'send_message(sender_name="BlueLake", sender_token="brs_…", …)',
    ),
)

IDENTITY_CODES: tuple[Code, ...] = (
    WRONG_SECRET,
    OPERATOR_NEEDS_SECRET,
    SECRET_NEEDED,
    OTHER_PROJECT,
    PROFILE_NOT_KEPT,
    TOO_MANY_AGENTS,
    LEADING_NEEDS_SECRET,
    NOT_YOURS_TO_LEAD,
    OTHER_NAMES_SECRET,
    STORED_UNVERIFIED,
)


# `brenner agent secret`


SECRET_GIVEN = Code(
    id="SECRET_GIVEN",
    severity=ERROR,
    title="The name has a secret already",
    message="`{name}` has a secret already, and only its owner can know it. Nothing was done.",
    fix="Use that one. If it is lost, or somebody else knows it, `brenner agent secret {name} "
    "--new` gives it another one, and the old one is worth nothing from then on.",
    why="A store keeps a digest, from which no secret can be had back. To replace one in passing "
    "would lock out whoever works with it.",
    spec="design, Identity",
    example=Example("text", "brenner agent secret BlueLake", "brenner agent secret BlueLake --new"),
)

SECRET_CODES: tuple[Code, ...] = (SECRET_GIVEN,)


# Calls with a wrong tool or resource name or wrong arguments, and internal errors


_TOOL_ARGUMENT_SPEC = (
    "Model Context Protocol, tools and resources; Agent Mail, the subset that agents use"
)
_TOOL_CALL = '"project_key": "/home/ada/lab", "sender_name": "BlueLake", "to": ["RedStone"]'

UNKNOWN_TOOL = Code(
    id="UNKNOWN_TOOL",
    severity=ERROR,
    title="There is no such tool",
    message="Unknown tool: {tool}",
    fix="Nothing was done.{suggestion} `tools/list` names all tools.",
    why="A call that does nothing must not look like one that worked.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", "mail_send", "send_message"),
)
UNKNOWN_RESOURCE = Code(
    id="UNKNOWN_RESOURCE",
    severity=ERROR,
    title="There is no such resource",
    message="Unknown resource: '{uri}'.",
    fix="There are {known}.{suggestion}",
    why="An address that means nothing is not an empty inbox.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", "resource://inboxes/BlueLake", "resource://inbox/BlueLake"),
)
UNKNOWN_ARGUMENT = Code(
    id="UNKNOWN_ARGUMENT",
    severity=ERROR,
    title="The tool or resource takes no such argument",
    message="`{where}` takes no argument `{argument}`.",
    fix="Leave it out, or use the name that was meant.{suggestion} There are: {known}.",
    why="What is passed under a wrong name would be lost without a word.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example(
        "text",
        f'{{{_TOOL_CALL}, "body": "…"}}',
        f'{{{_TOOL_CALL}, "body_md": "…"}}',
    ),
)
MISSING_ARGUMENT = Code(
    id="MISSING_ARGUMENT",
    severity=ERROR,
    title="A required argument is missing",
    message="`{where}` needs the argument `{argument}`: {expected}.",
    fix="Call it again with `{argument}`.",
    why="Without it the call has no meaning; nothing is guessed.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", '{"message_id": 12}', '{"message_id": 12, "agent_name": "BlueLake"}'),
)
WRONG_ARGUMENT_TYPE = Code(
    id="WRONG_ARGUMENT_TYPE",
    severity=ERROR,
    title="An argument is of the wrong type",
    message="`{argument}` has to be {expected}; it is {given}.",
    fix="Pass {expected}.",
    why="A number as text, one text for a list, and JSON in a text are understood. More would be "
    "a guess.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", '{"message_id": "the last one"}', '{"message_id": 12}'),
)
NOT_A_CHOICE = Code(
    id="NOT_A_CHOICE",
    severity=ERROR,
    title="An argument is none of the listed words",
    message="`{argument}` cannot be `{given}`.",
    fix="Use one of: {choices}.{suggestion}",
    why="A word that nobody knows has no effect, or the wrong one.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", '{"importance": "hugely"}', '{"importance": "urgent"}'),
)
UNREADABLE_ARGUMENT = Code(
    id="UNREADABLE_ARGUMENT",
    severity=ERROR,
    title="An argument holds what no message can hold",
    message="`{argument}` has {what} in it.",
    fix="Take it out, and call again.",
    why="Not every store can keep it, and what comes out has to be what went in.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", '{"body_md": "half a character: \\ud83d"}', '{"body_md": "whole: 🙂"}'),
)
ARGUMENTS_TOO_LARGE = Code(
    id="ARGUMENTS_TOO_LARGE",
    severity=ERROR,
    title="The arguments are nested too deep, or too many",
    message="The arguments have more than {most}.",
    fix="Send less at once: several calls are fine.",
    why="How much we take is decided before anything is read (ruling R5).",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", "[[[[…]]]]", "[…]"),
)
TOOL_FAILED = Code(
    id="TOOL_FAILED",
    severity=ERROR,
    title="A tool or resource failed, by a fault of the program",
    message="Internal error in `{where}` ({kind}): a fault of Brenner's, not of your call.",
    fix="Whether it was done is not known: look before you call it again. The operator finds the "
    "reason in the server's log under {reference}.",
    why="A failure is never told as a success, nor is an agent to mend what is not hers.",
    spec=_TOOL_ARGUMENT_SPEC,
    example=Example("text", "Internal error in `send_message` (KeyError)", "fetch_inbox(…)"),
)

TOOL_ARGUMENT_CODES = (
    UNKNOWN_TOOL,
    UNKNOWN_RESOURCE,
    UNKNOWN_ARGUMENT,
    MISSING_ARGUMENT,
    WRONG_ARGUMENT_TYPE,
    NOT_A_CHOICE,
    UNREADABLE_ARGUMENT,
    ARGUMENTS_TOO_LARGE,
    TOOL_FAILED,
)


# Mail tools: invalid requests, and the outcome of sending


_MAIL_TOOL_SPEC = "agent_mail, The subset that agents use"
_SENDING_SPEC = "rulings, Small decisions; agent_mail, The subset that agents use"

INVALID_ARGUMENT = Code(
    id="INVALID_ARGUMENT",
    severity=ERROR,
    title="An argument cannot have this value",
    message="`{name}` cannot be `{value}`. Nothing was done.",
    fix="Give {expected}.",
    why="A value that is dropped or bent until it fits does something else than was asked for: an "
    "inbox from a time that nobody can read would be the whole inbox.",
    spec=_MAIL_TOOL_SPEC,
    example=Example(
        "text",
        'fetch_inbox(…, since_ts="yesterday")',
        'fetch_inbox(…, since_ts="2025-12-30T12:00:00+00:00")',
    ),
)
BLIND_COPIES = Code(
    id="BLIND_COPIES",
    severity=ERROR,
    title="There are no blind copies",
    message="`bcc` names {names}, but there are no blind copies here. The message was not sent.",
    fix="Name them in `cc`, or send them a message of their own.",
    why="In a research group everybody sees who got what; who answers must know who reads it.",
    spec=_SENDING_SPEC,
    example=Example(
        "text",
        'send_message(to=["BlueLake"], bcc=["RedSky"], …)',
        'send_message(to=["BlueLake"], cc=["RedSky"], …)',
    ),
)
NO_ATTACHMENTS = Code(
    id="NO_ATTACHMENTS",
    severity=ERROR,
    title="There are no attachments",
    message="`attachment_paths` names {paths}, but messages here have no attachments. The message "
    "was not sent.",
    fix="Put the text into `body_md`, or name the file there by its path in the repository, and "
    "leave `attachment_paths` out.",
    why="A message is what is merged, archived and rebuilt. A file beside it would be lost.",
    spec=_SENDING_SPEC,
    example=Example(
        "text",
        'send_message(…, attachment_paths=["figure.png"])',
        'send_message(…, body_md="The figure is in results/figure.png.")',
    ),
)
SEARCH_OPERATOR = Code(
    id="SEARCH_OPERATOR",
    severity=ERROR,
    title="The search does not know this operator",
    message="The search does not know `{operator}`.",
    fix='{instead} All words must be there, in any order; a `"phrase"` in this order. To look '
    "for the text itself, put it in quotation marks.",
    why="Taken as a word it would find nothing, which would look as if there were nothing.",
    spec="agent_mail, The subset that agents use; design, Commands",
    example=Example("text", "gradient OR wave", "gradient"),
)

# The outcome of sending a message

NO_THREAD_NAMED = Code(
    id="NO_THREAD_NAMED",
    severity=ERROR,
    title="Mail of the protocol that names no thread",
    message="The subject `{subject}` is the protocol's, and no thread is named. The message was "
    "not sent.",
    fix="Give `thread_id`, the ID of the session or work item that it belongs to: what you answer "
    "has it. For mail that belongs to none, use a subject without the prefix.",
    why="Each message of the protocol belongs to a thread. One that begins a thread of its own is "
    "compiled by nobody, and settles nothing.",
    spec="R1; thread_subject_conventions_v0.1, Thread ID Conventions",
    example=Example(
        "text",
        'send_message(subject="DELTA[gpt]: H2 is refuted", …)',
        'send_message(subject="DELTA[gpt]: H2 is refuted", thread_id="RS-20251230-cell-fate", …)',
    ),
)
NOT_COMPILED = Code(
    id="NOT_COMPILED",
    severity=WARNING,
    title="Mail of a session that contributes nothing",
    message="The message is mail to be read. Nothing in it will be compiled{held}: its subject has "
    "no prefix of the protocol.",
    fix="{unless}To contribute, send it again {where} under the subject `{subject}`{role}.",
    why="Only messages whose subject begins with a valid `DELTA[role]:` contribute. Who answers a "
    "kickoff under `Re: KICKOFF: …` is read by people, and is missing in the artifact.",
    spec="R4",
    example=Example(
        "text", "Subject: Re: KICKOFF: Cell fate", "Subject: DELTA[opus]: H2 is refuted"
    ),
)

NO_SESSION_YET = Code(
    id="NO_SESSION_YET",
    severity=WARNING,
    title="A contribution to a thread that nobody has written to",
    message="Nobody has written to the thread `{thread}` before: the message begins it.",
    fix="Check the thread ID: if another one was meant, send the message again there.{suggestion}",
    why="A session begins with a KICKOFF. Under a mistyped ID a contribution is compiled by "
    "nobody.",
    spec="R1; R15",
    example=Example(
        "text",
        "Thread: RS-20251230-cel-fate    (the session is RS-20251230-cell-fate)",
        "Thread: RS-20251230-cell-fate",
    ),
)

ANSWER_TOO_LARGE = Code(
    id="ANSWER_TOO_LARGE",
    severity=ERROR,
    title="The answer would be too long",
    message="So many messages were asked for that even a list of them is too long.",
    fix="Ask for fewer: with `limit`, or only for what came after `since_ts`. `search_messages` "
    "finds single ones.",
    why="An answer is kept in memory until it is read, beside those of everybody else.",
    spec="ruling R5 (limits)",
    example=Example("text", "fetch_inbox(…, limit=1000000)", "fetch_inbox(…, limit=100)"),
)
UNUSABLE_THREAD_ID = Code(
    id="UNUSABLE_THREAD_ID",
    severity=ERROR,
    title="A text that cannot be the ID of a thread",
    message="`{thread}` cannot be the ID of a thread: {reason}. The message was not sent.",
    fix="Use one line of at most {most} characters that can be seen, without blanks around it, "
    "such as `TKT-12`; or leave `thread_id` out: then the message begins a thread of its own.",
    why="Others type the ID, and lists show it. What they cannot see they cannot write, and their "
    "answers go elsewhere.",
    spec="R1; agent_mail, The subset that agents use",
    example=Example(
        "text",
        'send_message(…, thread_id="lunch\\nat noon")',
        'send_message(…, thread_id="lunch")',
    ),
)
STORED_UNCHECKED = Code(
    id="STORED_UNCHECKED",
    severity=WARNING,
    title="A message is stored though the check has found errors",
    message="The message is stored as it is, though the check has found {count} in it: the request "
    "says that it was checked before (`Brenner-Checked`).",
    fix="Leave this header away: then a message with errors is refused, with the correction. What "
    "is wrong in this one, send again, corrected.",
    why="The header is for our own programs, which check before they send, or move mail that is "
    "to stay as it is. Whoever else uses it must not miss what the check says.",
    spec=_SENDING_SPEC,
    example=Example(
        "text",
        "Brenner-Checked: true    (and a DELTA that is not JSON)",
        "(no such header)",
    ),
)

MAIL_TOOL_CODES: tuple[Code, ...] = (
    INVALID_ARGUMENT,
    BLIND_COPIES,
    NO_ATTACHMENTS,
    SEARCH_OPERATOR,
    NO_THREAD_NAMED,
    NOT_COMPILED,
    NO_SESSION_YET,
    ANSWER_TOO_LARGE,
    UNUSABLE_THREAD_ID,
    STORED_UNCHECKED,
)


# Contributions as structured arguments, and Brenner's own tools


_CONTRIBUTION_SPEC = "delta_output_format_v0.1, Common Failure Modes"

TAKEN_AS = Code(
    id="TAKEN_AS",
    severity=INFO,
    title="A delta was taken otherwise than it was given",
    message="Delta {number}: {what}",
    fix="Nothing has to be done if that is what you meant. If not, send an EDIT or a KILL.",
    why="Arguments that have only one reading are not worth a second call. But nobody is corrected "
    "without being told.",
    spec=_CONTRIBUTION_SPEC,
    example=Example(
        "text",
        '{"op": "add", "section": "Hypothesis Slate", "name": "Gradient", …}',
        '{"operation": "ADD", "section": "hypothesis_slate", "payload": {"name": "Gradient", …}}',
    ),
)
NOT_SURELY_MEANT = Code(
    id="NOT_SURELY_MEANT",
    severity=ERROR,
    title="A delta that may be meant otherwise than it can be read",
    message="As it was given, what is meant can only be guessed: {what}. Nothing was posted.",
    fix="Look at it under `deltas`: if that is what you mean, post it so. Otherwise write it as "
    "you mean it.",
    why="A correction that may say something else than its author is not made for her: `name` "
    "beside the payload of an EDIT may only name the item, and in the payload it renames it.",
    spec=_CONTRIBUTION_SPEC,
    example=Example(
        "text",
        '{"operation": "EDIT", "target_id": "H1", "name": "Gradient", "payload": {"claim": "…"}}',
        '{"operation": "EDIT", "target_id": "H1", "payload": {"claim": "…"}}',
    ),
)
NO_DELTAS = Code(
    id="NO_DELTAS",
    severity=ERROR,
    title="A contribution without deltas",
    message="`deltas` is empty: there is nothing to post.",
    fix="Give at least one delta, such as `{example}`. To say something in prose, use "
    "`send_message`.",
    why="A DELTA without a delta changes nothing in the artifact, and its author would wait in "
    "vain.",
    spec="message_body_schema_v0.1, DELTA",
    example=Example("text", '"deltas": []', '"deltas": [{"operation": "KILL", …}]'),
)
WHO_ARE_YOU = Code(
    id="WHO_ARE_YOU",
    severity=ERROR,
    title="It is not said who calls",
    message="`agent` is missing, and the connection speaks for {names}.",
    fix="Give your name as `agent`. Who has none yet gets one from `register_agent`.",
    why="What an agent owes and posts depends on who it is. A guess would put words into another "
    "one's mouth.",
    spec="companion, For Agents",
    example=Example("text", "brenner_task()", 'brenner_task(agent="BlueLake")'),
)

CONTRIBUTION_CODES: tuple[Code, ...] = (TAKEN_AS, NOT_SURELY_MEANT, NO_DELTAS, WHO_ARE_YOU)
