"""Codes for the server: listening, identity, secrets, tool arguments, mail tools, contributions."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning
from brenner.limits import MOST_BODY_BYTES

_TRANSPORT_SPEC = "Model Context Protocol, Transports (Streamable HTTP)"
_MOST_MIB = MOST_BODY_BYTES // 1024**2
_HTTP_SPEC = "RFC 9110, HTTP Semantics"

PORT_TAKEN = error(
    "PORT_TAKEN",
    "Cannot serve on {address}: the port is in use. {who}",
    "Stop the other program, or choose another port with `--port NUMBER` (0 takes a free one). "
    "With another port, configure the agents again: `{command}`.",
    _TRANSPORT_SPEC,
)
ADDRESS_UNUSABLE = error(
    "ADDRESS_UNUSABLE",
    "Cannot serve on {address}: {reason}.",
    "Use an address of this machine with `--host`, and a port above 1023 with `--port`. The "
    "default is 127.0.0.1:8765.",
    _TRANSPORT_SPEC,
)
TOKEN_NEEDED = error(
    "TOKEN_NEEDED",
    "Cannot serve on {host} without a token: anyone who reaches it could read and send mail.",
    "Make a token with `(umask 077; openssl rand -hex 32 > ~/.brenner-token)`, and add "
    "`--token-file ~/.brenner-token` (or set BRENNER_TOKEN). To serve this machine only, "
    "leave out `--host`.",
    _TRANSPORT_SPEC,
)
SEALED_NEEDS_TOKEN = error(
    "SEALED_NEEDS_TOKEN",
    "Cannot serve without a token: {threads} is in an independent first round, and without a token "
    "every program of this machine can connect.",
    "Make a token with `(umask 077; openssl rand -hex 32 > ~/.brenner-token)`, and add "
    "`--token-file ~/.brenner-token` (or set BRENNER_TOKEN). Or publish v1 first: `brenner compile "
    "{thread}`.",
    "R33",
)
UNUSABLE_TOKEN = error(
    "UNUSABLE_TOKEN",
    "Cannot serve: the token in {where} is not valid: {reason}.",
    "Use one line of visible ASCII characters without spaces, such as `openssl rand -hex 32` "
    "prints.",
    "RFC 6750, Bearer Token Usage",
)
TOKEN_FILE_READABLE = warning(
    "TOKEN_FILE_READABLE",
    "Other users of this machine can read {path}.",
    "Run `chmod 600 {path}`. Then replace the token: `openssl rand -hex 32 > {path}`. Start the "
    "server again, and give its clients the new token.",
    "RFC 6750, Bearer Token Usage",
)
CLIENT_SETTINGS_NOT_CHANGED = error(
    "CLIENT_SETTINGS_NOT_CHANGED",
    "Cannot change `{path}`{place}: {reason}. Nothing was written.",
    "Correct the file, then run the command again. Or {by_hand}.",
    _TRANSPORT_SPEC,
)
CLIENT_SETTINGS_NOT_WRITTEN = error(
    "CLIENT_SETTINGS_NOT_WRITTEN",
    "Cannot write `{path}`: {reason}. {before}.",
    "Correct that, for example the permissions of the folder. Then run the command again: it "
    "writes what is missing.",
    _TRANSPORT_SPEC,
)
STRICT_NEEDS_SECRETS = error(
    "STRICT_NEEDS_SECRETS",
    "Cannot serve with strict identity ({because}): {store} does not store secrets for names "
    "({reason}).",
    "Use a SQLite or PostgreSQL store (`brenner mail copy --to STORE` copies the mail). Or "
    "serve on loopback without `--strict-identity`.",
    _TRANSPORT_SPEC,
)
NEW_MAILBOX = warning(
    "NEW_MAILBOX",
    "{folder} had no mail yet. Created a new store: {store}.",
    "Before the first session this is normal. If your project is elsewhere, stop the server "
    "and start it with `--project DIR`. The new store can then be deleted.",
    "design, Projects",
)
CUT_OFF = error(
    "CUT_OFF",
    "The server stopped while a request was still running after {seconds} seconds. It is "
    "unknown whether the request was completed.",
    "Check with `brenner mail thread` whether the last messages are stored. `brenner doctor` "
    "checks whether the store answers.",
    _TRANSPORT_SPEC,
)
FOREIGN_HOST = error(
    "FOREIGN_HOST",
    "The Host header names {host}, which is not this server.",
    "Use the address that `brenner serve` printed. If the server should have that name, "
    "start it with `--allow-host NAME`.",
    "Model Context Protocol, Transports, Security Warning",
)
FOREIGN_ORIGIN = error(
    "FOREIGN_ORIGIN",
    "The Origin header names {origin}, which is not this server.",
    "In a program, leave the Origin header out. To allow pages of that host, start the server "
    "with `--allow-host NAME`.",
    "Model Context Protocol, Transports, Security Warning",
)
WRONG_TOKEN = error(
    "WRONG_TOKEN",
    "This server requires a bearer token, and the request has {what}.",
    "Send the header `Authorization: Bearer TOKEN`, with the token of `--token-file` or "
    "BRENNER_TOKEN. `brenner agent config --client NAME --token` shows where an agent's program "
    "stores it.",
    "RFC 6750, Bearer Token Usage",
)
REQUEST_TOO_LARGE = error(
    "REQUEST_TOO_LARGE",
    "The request body is larger than {most} bytes. No changes were made.",
    f"Send less: the body of a message has at most {_MOST_MIB} MiB. Put long material in a file of "
    "the project.",
    f"{_HTTP_SPEC}, 413 Content Too Large",
)
TOO_MANY_REQUESTS = error(
    "TOO_MANY_REQUESTS",
    "More than {most} requests per second came from {client}. No changes were made.",
    "Wait {seconds} s, then send it again. Ask for many messages at once instead of one at a time.",
    "RFC 6585, 429 Too Many Requests",
)
SERVER_BUSY = error(
    "SERVER_BUSY",
    "The server is busy and did not start this request. No changes were made.",
    "Wait a moment, then send it again.",
    f"{_HTTP_SPEC}, 503 Service Unavailable",
)
REQUEST_TOO_SLOW = error(
    "REQUEST_TOO_SLOW",
    "The request body did not arrive within {seconds} seconds. No changes were made.",
    "Send it again, complete.",
    f"{_HTTP_SPEC}, 408 Request Timeout",
)
BODY_NOT_JSON = error(
    "BODY_NOT_JSON",
    "The Content-Type header is {given}. It must be `application/json`.",
    "Send JSON with `Content-Type: application/json` (`curl --json`).",
    f"{_TRANSPORT_SPEC}; {_HTTP_SPEC}, 415 Unsupported Media Type",
)
METHOD_NOT_ALLOWED = error(
    "METHOD_NOT_ALLOWED",
    "{method} is not allowed at {path}.",
    "Allowed here: {allowed}. Agents send POST to /mcp. GET and DELETE need an initialised "
    "session, named in the header Mcp-Session-Id.",
    f"{_HTTP_SPEC}, 405 Method Not Allowed",
)
NO_SUCH_PAGE = error(
    "NO_SUCH_PAGE",
    "There is no page at {path}.",
    "Open the start page, /. Agents connect to /mcp (or /api).",
    f"{_HTTP_SPEC}, 404 Not Found",
)
NO_BATCHES = error(
    "NO_BATCHES",
    "The body is a list, but a request is one JSON object. No changes were made.",
    "Send the requests one by one.",
    "Model Context Protocol 2025-06-18, Changelog",
)

# Identity: agents' names and their secrets

_IDENTITY_SPEC = "design, Identity"
_OPERATOR_SPEC = "rulings, R10 and R15"

WRONG_SECRET = error(
    "WRONG_SECRET",
    "The secret does not belong to `{name}`. No changes were made.",
    "Use the secret that you got when you registered `{name}`, or the name that your secret "
    "belongs to. If no agent has claimed the name yet, register it without a secret. If the "
    "secret is lost, ask the operator for a new one (`brenner agent secret {name} --new`).",
    _IDENTITY_SPEC,
)
OPERATOR_NEEDS_SECRET = error(
    "OPERATOR_NEEDS_SECRET",
    "`{name}` is the operator, and no secret was given. No changes were made.",
    "Use your own name: `register_agent` without a name gives you one. {advice}",
    _IDENTITY_SPEC,
)
SECRET_NEEDED = error(
    "SECRET_NEEDED",
    "This server requires the secret of `{name}`, and none was given. No changes were made.",
    "{advice}",
    _IDENTITY_SPEC,
)
NAME_PROTECTED = error(
    "NAME_PROTECTED",
    "The name `{name}` is protected by its secret, and none was given. No changes were made.",
    "Pass the secret of `{name}` as `sender_token` or `registration_token`, or set BRENNER_SECRET "
    "for the connection. If the secret is lost, ask the operator for a new one (`brenner agent "
    "secret {name} --new`). If you are not `{name}`, use your own name.",
    _IDENTITY_SPEC,
)
OTHER_PROJECT = error(
    "OTHER_PROJECT",
    "`{key}` is not the project of this server, which is `{folder}`. No changes were made.",
    "Use `{folder}` as the project key, or leave the key out. Another project has another "
    "server: ask the operator for its address.",
    "agent_mail, project keys",
)
SERVER_OF_OTHER_PROJECT = error(
    "SERVER_OF_OTHER_PROJECT",
    "The server at {url} serves `{served}`, not this project (`{folder}`): a link to it would "
    "not open the session.",
    "Start a server for this project: `brenner serve --port N`. Then give its address: "
    "`brenner session link {thread} --url http://127.0.0.1:N`.",
    "agent_mail, project keys",
)
PROFILE_NOT_KEPT = warning(
    "PROFILE_NOT_KEPT",
    "`{name}` is yours, and its secret is in the answer. But your profile could not be "
    "stored: {reason}",
    "Save the secret. Register again later, with the secret as `registration_token`.",
    _IDENTITY_SPEC,
)
TOO_MANY_AGENTS = error(
    "TOO_MANY_AGENTS",
    "The project already has {most} agents. No agent was registered.",
    "Use a name that you have: register with its secret as `registration_token`. The "
    "operator can register more names with `brenner mail register NAME`.",
    "ruling R5 (limits)",
)
LEADING_NEEDS_SECRET = error(
    "LEADING_NEEDS_SECRET",
    "A {type} message leads a session, and `{name}` has not proven its identity. Nothing was "
    "stored.",
    "To contribute, send a DELTA, a CRITIQUE or a QUESTION: all agents may send those. {advice}",
    _OPERATOR_SPEC,
)
NOT_YOURS_TO_LEAD = error(
    "NOT_YOURS_TO_LEAD",
    "Others lead the thread `{thread}`, so `{name}` may not send a {type} message there. Nothing "
    "was stored.",
    "Contribute with a DELTA or a CRITIQUE. For another round or version, send `{operator}` "
    "a QUESTION. To lead a session yourself, start a new thread.",
    _OPERATOR_SPEC,
)
OTHER_NAMES_SECRET = warning(
    "OTHER_NAMES_SECRET",
    "The message is stored as unverified: the secret of the connection belongs to `{owner}`, "
    "but the sender is `{name}`.",
    "If you are `{owner}`, send as `{owner}`. Otherwise give the secret of `{name}` as "
    "`sender_token`. A connection must have your own secret, or none.",
    _IDENTITY_SPEC,
)
STORED_UNVERIFIED = info(
    "STORED_UNVERIFIED",
    "The message is stored as unverified: `{name}` has a secret, and it was not given.",
    "Give the secret that you got when you registered as `sender_token`, in every call. If "
    "it is lost, ask the operator for a new one.",
    _IDENTITY_SPEC,
)

# `brenner agent secret`

SECRET_GIVEN = error(
    "SECRET_GIVEN",
    "`{name}` already has a secret, and the store cannot show it. No changes were made.",
    "Use that secret. If it is lost, or another person knows it, replace it: `brenner agent "
    "secret {name} --new`. The old secret is then invalid.",
    "design, Identity",
)

# Calls with a wrong tool or resource name or wrong arguments, and internal errors

_TOOL_ARGUMENT_SPEC = (
    "Model Context Protocol, tools and resources; Agent Mail, the subset that agents use"
)
UNKNOWN_TOOL = error(
    "UNKNOWN_TOOL",
    "Unknown tool: {tool}",
    "No changes were made.{suggestion} `tools/list` lists all tools.",
    _TOOL_ARGUMENT_SPEC,
)
UNKNOWN_RESOURCE = error(
    "UNKNOWN_RESOURCE",
    "Unknown resource: '{uri}'.",
    "Known resources: {known}.{suggestion}",
    _TOOL_ARGUMENT_SPEC,
)
UNKNOWN_ARGUMENT = error(
    "UNKNOWN_ARGUMENT",
    "`{where}` has no argument `{argument}`.",
    "Leave it out, or correct its name.{suggestion} Known arguments: {known}.",
    _TOOL_ARGUMENT_SPEC,
)
MISSING_ARGUMENT = error(
    "MISSING_ARGUMENT",
    "`{where}` needs the argument `{argument}`: {expected}.",
    "Call it again with `{argument}`.",
    _TOOL_ARGUMENT_SPEC,
)
WRONG_ARGUMENT_TYPE = error(
    "WRONG_ARGUMENT_TYPE",
    "`{argument}` must be {expected}. It is {given}.",
    "Pass {expected}.",
    _TOOL_ARGUMENT_SPEC,
)
NOT_A_CHOICE = error(
    "NOT_A_CHOICE",
    "`{given}` is not a valid value of `{argument}`.",
    "Use one of: {choices}.{suggestion}",
    _TOOL_ARGUMENT_SPEC,
)
UNREADABLE_ARGUMENT = error(
    "UNREADABLE_ARGUMENT",
    "`{argument}` contains {what}.",
    "Remove it, and call again.",
    _TOOL_ARGUMENT_SPEC,
)
ARGUMENTS_TOO_LARGE = error(
    "ARGUMENTS_TOO_LARGE",
    "The arguments have more than {most}.",
    "Nest the values less deeply, or split the call into several calls.",
    _TOOL_ARGUMENT_SPEC,
)
TOOL_FAILED = error(
    "TOOL_FAILED",
    "Internal error in `{where}` ({kind}). This is a fault of Brenner, not of your call.",
    "It is unknown whether the call took effect: check before you call it again. The "
    "operator finds the cause in the server's log under {reference}.",
    _TOOL_ARGUMENT_SPEC,
)

# Mail tools: invalid requests, and the outcome of sending

_MAIL_TOOL_SPEC = "agent_mail, The subset that agents use"
_SENDING_SPEC = "rulings, Small decisions; agent_mail, The subset that agents use"

INVALID_ARGUMENT = error(
    "INVALID_ARGUMENT",
    "`{value}` is not a valid value of `{name}`. No changes were made.",
    "Give {expected}.",
    _MAIL_TOOL_SPEC,
)
BLIND_COPIES = error(
    "BLIND_COPIES",
    "`bcc` names {names}, but blind copies are not supported. Nothing was sent.",
    "Name them in `cc`, or send them a separate message.",
    _SENDING_SPEC,
)
NO_ATTACHMENTS = error(
    "NO_ATTACHMENTS",
    "`attachment_paths` names {paths}, but attachments are not supported. Nothing was sent.",
    "Put the text in `body_md`, or give the path of the file in the repository there. Leave "
    "out `attachment_paths`.",
    _SENDING_SPEC,
)
SEARCH_OPERATOR = error(
    "SEARCH_OPERATOR",
    "The search does not support `{operator}`.",
    '{instead} All words must occur, in any order. A `"phrase"` must occur as it is. To '
    "search for the text itself, put it in double quotes.",
    "agent_mail, The subset that agents use; design, Commands",
)

# The outcome of sending a message

NO_THREAD_NAMED = error(
    "NO_THREAD_NAMED",
    "The subject `{subject}` has a prefix of the protocol, but no thread is given. Nothing "
    "was sent.",
    "Give `thread_id`, the ID of the session or work item. The message that you answer has "
    "it. For other mail, use a subject without the prefix.",
    "R1; thread_subject_conventions_v0.1, Thread ID Conventions",
)
NOT_COMPILED = warning(
    "NOT_COMPILED",
    "The message is stored, but nothing in it will be compiled{held}: its subject has no "
    "prefix of the protocol.",
    "{unless}To contribute, send it again {where} with the subject `{subject}`{role}.",
    "R4",
)
NO_SESSION_YET = warning(
    "NO_SESSION_YET",
    "The thread `{thread}` is no session: it has neither a KICKOFF nor a version.",
    "Check the thread ID. If you meant a session, send the message again in its thread."
    "{suggestion}",
    "R1; R15; R23",
)
ANSWER_TOO_LARGE = error(
    "ANSWER_TOO_LARGE",
    "Too many messages match: even a list of them is too long.",
    "Ask for fewer: use `limit`, or `since_ts` for newer messages only. `search_messages` "
    "finds single ones.",
    "ruling R5 (limits)",
)
UNUSABLE_THREAD_ID = error(
    "UNUSABLE_THREAD_ID",
    "`{thread}` is not a valid thread ID: {reason}. Nothing was sent.",
    "Use one line of at most {most} visible characters, without spaces around it, such as "
    "`TKT-12`. Or leave `thread_id` out: then the message starts a new thread.",
    "R1; agent_mail, The subset that agents use",
)
STORED_UNCHECKED = warning(
    "STORED_UNCHECKED",
    "The message is stored unchanged, although the check found {count}: the request says "
    "that it was already checked (`Brenner-Checked`).",
    "Send a corrected copy of this message. Leave the header `Brenner-Checked` out: then a "
    "message with errors is rejected, with the correction.",
    _SENDING_SPEC,
)

# Contributions as structured arguments, and Brenner's own tools

_CONTRIBUTION_SPEC = "delta_output_format_v0.1, Common Failure Modes"

TAKEN_AS = info(
    "TAKEN_AS",
    "Delta {number}: {what}",
    "No action is needed if that is what you meant. If not, send an EDIT or a KILL.",
    _CONTRIBUTION_SPEC,
)
NOT_SURELY_MEANT = error(
    "NOT_SURELY_MEANT",
    "The meaning of the delta is uncertain: {what}. Nothing was posted.",
    "Check the interpretation under `deltas`. If it is what you mean, post it. Otherwise "
    "correct your delta.",
    _CONTRIBUTION_SPEC,
)
NO_DELTAS = error(
    "NO_DELTAS",
    "`deltas` is empty. Nothing was posted.",
    "Give at least one delta, such as `{example}`. To send prose, use `send_message`.",
    "message_body_schema_v0.1, DELTA",
)
WHO_ARE_YOU = error(
    "WHO_ARE_YOU",
    "`agent` is missing, and {names} registered on this connection.",
    "Give your name as `agent`. If you have no name yet, call `register_agent`.",
    "companion, For Agents",
)
