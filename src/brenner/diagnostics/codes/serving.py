"""Codes for the server: listening, identity, secrets, tool arguments, mail tools, contributions."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning
from brenner.limits import MOST_BODY_BYTES

_TRANSPORT_SPEC = "Model Context Protocol, Transports (Streamable HTTP)"
_MOST_MIB = MOST_BODY_BYTES // 1024**2
_HTTP_SPEC = "RFC 9110, HTTP Semantics"

PORT_TAKEN = error(
    "PORT_TAKEN",
    "Nothing was served: {address} is taken. {who}",
    "End the other one, or choose another port with `--port NUMBER` (0 takes a free one). "
    "Agents need the new address then: `{command}`, as `brenner serve` prints it once it listens.",
    _TRANSPORT_SPEC,
)
ADDRESS_UNUSABLE = error(
    "ADDRESS_UNUSABLE",
    "Nothing was served: {address} cannot be listened on: {reason}.",
    "Name an address of this machine with `--host`, and a port above 1023 with `--port`; "
    "without both it is 127.0.0.1:8765.",
    _TRANSPORT_SPEC,
)
TOKEN_NEEDED = error(
    "TOKEN_NEEDED",
    "Nothing was served: whoever reaches {host} could read and send mail, and there is no token.",
    "Put a long random text into a file that only you can read, and name it with "
    "`--token-file FILE` (or set BRENNER_TOKEN); or leave `--host` out, for this machine only.",
    _TRANSPORT_SPEC,
)
UNUSABLE_TOKEN = error(
    "UNUSABLE_TOKEN",
    "Nothing was served: the token in {where} cannot be used: {reason}.",
    "Put one line of visible ASCII characters without blanks there, such as `openssl rand -hex "
    "32` prints.",
    "RFC 6750, Bearer Token Usage",
)
TOKEN_FILE_READABLE = warning(
    "TOKEN_FILE_READABLE",
    "Other users of this machine can read {path}.",
    "Take that from them: `chmod 600 {path}`; then make a new token.",
    "RFC 6750, Bearer Token Usage",
)
STRICT_NEEDS_SECRETS = error(
    "STRICT_NEEDS_SECRETS",
    "Nothing was served: identity is to be strict ({because}), and {store} keeps no "
    "secrets of names: {reason}.",
    "Serve an embedded store or PostgreSQL (`brenner mail copy` takes the mail there), or "
    "serve on loopback without `--strict-identity`.",
    _TRANSPORT_SPEC,
)
NEW_MAILBOX = warning(
    "NEW_MAILBOX",
    "{folder} had no mail yet: a new mailbox was made, {store}.",
    "If the mail of your project is elsewhere, end this and name its folder with `--project "
    "DIR`; what was made here can be deleted. Before the first session that is as it should be; "
    "`brenner init` sets a project up.",
    "design, Projects",
)
CUT_OFF = error(
    "CUT_OFF",
    "The server is ending. After {seconds} seconds something was still under way; whether "
    "it was done is not known.",
    "Look with `brenner mail thread` whether what was sent last is there. `brenner "
    "doctor` says whether the store answers.",
    _TRANSPORT_SPEC,
)
FOREIGN_HOST = error(
    "FOREIGN_HOST",
    "The header Host names {host}, which is not this server.",
    "Use the address that `brenner serve` printed. If the server is meant to have that name, "
    "start it with `--allow-host NAME`.",
    "Model Context Protocol, Transports, Security Warning",
)
FOREIGN_ORIGIN = error(
    "FOREIGN_ORIGIN",
    "The header Origin names {origin}, which is not this server.",
    "Programs leave Origin out. If pages of that host are meant to be let in, start the server "
    "with `--allow-host NAME`.",
    "Model Context Protocol, Transports, Security Warning",
)
WRONG_TOKEN = error(
    "WRONG_TOKEN",
    "This server wants a bearer token, and the request has {what}.",
    "Send the header `Authorization: Bearer TOKEN` with the token of `--token-file` or "
    "BRENNER_TOKEN; `brenner agent config --token` says where an agent's program keeps it.",
    "RFC 6750, Bearer Token Usage",
)
REQUEST_TOO_LARGE = error(
    "REQUEST_TOO_LARGE",
    "The body is larger than {most} bytes; nothing was done.",
    f"Send less: the body of a message has at most {_MOST_MIB} MiB. Long material belongs into "
    "a file of the project.",
    f"{_HTTP_SPEC}, 413 Content Too Large",
)
TOO_MANY_REQUESTS = error(
    "TOO_MANY_REQUESTS",
    "More than {most} requests a second came from {client}.",
    "Wait for {seconds} s and send it again; nothing was done. Ask for many messages at once "
    "rather than for one at a time.",
    "RFC 6585, 429 Too Many Requests",
)
SERVER_BUSY = error(
    "SERVER_BUSY",
    "So much is under way that this request was not begun.",
    "Wait a moment and send it again; nothing was done.",
    f"{_HTTP_SPEC}, 503 Service Unavailable",
)
REQUEST_TOO_SLOW = error(
    "REQUEST_TOO_SLOW",
    "The body had not arrived after {seconds} seconds; nothing was done.",
    "Send it again, whole.",
    f"{_HTTP_SPEC}, 408 Request Timeout",
)
BODY_NOT_JSON = error(
    "BODY_NOT_JSON",
    "The header Content-Type is {given}.",
    "Send JSON with `Content-Type: application/json` (`curl --json`).",
    f"{_TRANSPORT_SPEC}; {_HTTP_SPEC}, 415 Unsupported Media Type",
)
METHOD_NOT_ALLOWED = error(
    "METHOD_NOT_ALLOWED",
    "{method} is not possible at {path}.",
    "Possible here: {allowed}. Agents send POST to /mcp; GET and DELETE belong to a session "
    "that was initialised, and name it in the header Mcp-Session-Id.",
    f"{_HTTP_SPEC}, 405 Method Not Allowed",
)
NO_SUCH_PAGE = error(
    "NO_SUCH_PAGE",
    "There is nothing at {path}.",
    "Agents use /mcp (or /api); people look at /.",
    f"{_HTTP_SPEC}, 404 Not Found",
)
NO_BATCHES = error(
    "NO_BATCHES",
    "The body is a list; a request is one JSON object. Nothing of it was done.",
    "Send the requests one by one.",
    "Model Context Protocol 2025-06-18, Changelog",
)

# Identity: agents' names and their secrets

_IDENTITY_SPEC = "design, Identity"
_OPERATOR_SPEC = "rulings, R10 and R15"

WRONG_SECRET = error(
    "WRONG_SECRET",
    "The secret that was shown is not the one of `{name}`. Nothing was done.",
    "Show the secret that registering `{name}` gave, or use the name that your secret belongs "
    "to. A name that nobody has claimed has none: register it without. Who has lost a secret asks "
    "the operator for a new one (`brenner agent secret {name} --new`).",
    _IDENTITY_SPEC,
)
OPERATOR_NEEDS_SECRET = error(
    "OPERATOR_NEEDS_SECRET",
    "`{name}` is the operator, and no secret was shown. Nothing was done.",
    "Use a name of your own: `register_agent` without a name gives you one. {advice}",
    _IDENTITY_SPEC,
)
SECRET_NEEDED = error(
    "SECRET_NEEDED",
    "No secret of `{name}` was shown, and this server wants one. Nothing was done.",
    "{advice}",
    _IDENTITY_SPEC,
)
OTHER_PROJECT = error(
    "OTHER_PROJECT",
    "`{key}` is not the project of this server, which is `{folder}`. Nothing was done.",
    "Use `{folder}` as the key of the project, or leave it out. Another project has a server "
    "of its own: ask the operator for its address.",
    "agent_mail, project keys",
)
PROFILE_NOT_KEPT = warning(
    "PROFILE_NOT_KEPT",
    "`{name}` is yours, and its secret is in the answer. But what you say of yourself "
    "could not be kept: {reason}",
    "Keep the secret. Register again with it as `registration_token`, later.",
    _IDENTITY_SPEC,
)
TOO_MANY_AGENTS = error(
    "TOO_MANY_AGENTS",
    "{most} agents are known already. Nobody was registered.",
    "Use a name that you have: a program that begins anew shows the secret of its name. The "
    "operator registers further ones with `brenner mail register`.",
    "ruling R5 (limits)",
)
LEADING_NEEDS_SECRET = error(
    "LEADING_NEEDS_SECRET",
    "A {type} leads a session, and it is not proven that `{name}` sends it. Nothing was stored.",
    "To contribute, send a DELTA, a CRITIQUE or a QUESTION: those are taken from everybody. "
    "{advice}",
    _OPERATOR_SPEC,
)
NOT_YOURS_TO_LEAD = error(
    "NOT_YOURS_TO_LEAD",
    "The thread `{thread}` has been led by others so far: a {type} is not `{name}`'s to "
    "send there. Nothing was stored.",
    "Contribute with a DELTA or a CRITIQUE. If you want another round or another version, ask "
    "`{operator}` with a QUESTION. A session of your own begins in a thread of its own.",
    _OPERATOR_SPEC,
)
OTHER_NAMES_SECRET = warning(
    "OTHER_NAMES_SECRET",
    "The message is stored as unverified: the secret that came with the connection is the "
    "one of `{owner}`, and `{name}` sends.",
    "Send as `{owner}` if that is you. Otherwise show the secret of `{name}` as "
    "`sender_token`; what comes with the connection has to be your own secret, or nothing.",
    _IDENTITY_SPEC,
)
STORED_UNVERIFIED = info(
    "STORED_UNVERIFIED",
    "`{name}` has a secret, and it was not shown: the message is stored as unverified.",
    "Show the secret that registering gave as `sender_token`, in every call. If it is lost, "
    "ask the operator for a new one.",
    _IDENTITY_SPEC,
)

# `brenner agent secret`

SECRET_GIVEN = error(
    "SECRET_GIVEN",
    "`{name}` has a secret already, and only its owner can know it. Nothing was done.",
    "Use that one. If it is lost, or somebody else knows it, `brenner agent secret {name} "
    "--new` gives it another one, and the old one is worth nothing from then on.",
    "design, Identity",
)

# Calls with a wrong tool or resource name or wrong arguments, and internal errors

_TOOL_ARGUMENT_SPEC = (
    "Model Context Protocol, tools and resources; Agent Mail, the subset that agents use"
)
UNKNOWN_TOOL = error(
    "UNKNOWN_TOOL",
    "Unknown tool: {tool}",
    "Nothing was done.{suggestion} `tools/list` names all tools.",
    _TOOL_ARGUMENT_SPEC,
)
UNKNOWN_RESOURCE = error(
    "UNKNOWN_RESOURCE",
    "Unknown resource: '{uri}'.",
    "There are {known}.{suggestion}",
    _TOOL_ARGUMENT_SPEC,
)
UNKNOWN_ARGUMENT = error(
    "UNKNOWN_ARGUMENT",
    "`{where}` takes no argument `{argument}`.",
    "Leave it out, or use the name that was meant.{suggestion} There are: {known}.",
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
    "`{argument}` has to be {expected}; it is {given}.",
    "Pass {expected}.",
    _TOOL_ARGUMENT_SPEC,
)
NOT_A_CHOICE = error(
    "NOT_A_CHOICE",
    "`{argument}` cannot be `{given}`.",
    "Use one of: {choices}.{suggestion}",
    _TOOL_ARGUMENT_SPEC,
)
UNREADABLE_ARGUMENT = error(
    "UNREADABLE_ARGUMENT",
    "`{argument}` has {what} in it.",
    "Take it out, and call again.",
    _TOOL_ARGUMENT_SPEC,
)
ARGUMENTS_TOO_LARGE = error(
    "ARGUMENTS_TOO_LARGE",
    "The arguments have more than {most}.",
    "Send less at once: several calls are fine.",
    _TOOL_ARGUMENT_SPEC,
)
TOOL_FAILED = error(
    "TOOL_FAILED",
    "Internal error in `{where}` ({kind}): a fault of Brenner's, not of your call.",
    "Whether it was done is not known: look before you call it again. The operator finds the "
    "reason in the server's log under {reference}.",
    _TOOL_ARGUMENT_SPEC,
)

# Mail tools: invalid requests, and the outcome of sending

_MAIL_TOOL_SPEC = "agent_mail, The subset that agents use"
_SENDING_SPEC = "rulings, Small decisions; agent_mail, The subset that agents use"

INVALID_ARGUMENT = error(
    "INVALID_ARGUMENT",
    "`{name}` cannot be `{value}`. Nothing was done.",
    "Give {expected}.",
    _MAIL_TOOL_SPEC,
)
BLIND_COPIES = error(
    "BLIND_COPIES",
    "`bcc` names {names}, but there are no blind copies here. The message was not sent.",
    "Name them in `cc`, or send them a message of their own.",
    _SENDING_SPEC,
)
NO_ATTACHMENTS = error(
    "NO_ATTACHMENTS",
    "`attachment_paths` names {paths}, but messages here have no attachments. The message "
    "was not sent.",
    "Put the text into `body_md`, or name the file there by its path in the repository, and "
    "leave `attachment_paths` out.",
    _SENDING_SPEC,
)
SEARCH_OPERATOR = error(
    "SEARCH_OPERATOR",
    "The search does not know `{operator}`.",
    '{instead} All words must be there, in any order; a `"phrase"` in this order. To look '
    "for the text itself, put it in quotation marks.",
    "agent_mail, The subset that agents use; design, Commands",
)

# The outcome of sending a message

NO_THREAD_NAMED = error(
    "NO_THREAD_NAMED",
    "The subject `{subject}` is the protocol's, and no thread is named. The message was not sent.",
    "Give `thread_id`, the ID of the session or work item that it belongs to: what you answer "
    "has it. For mail that belongs to none, use a subject without the prefix.",
    "R1; thread_subject_conventions_v0.1, Thread ID Conventions",
)
NOT_COMPILED = warning(
    "NOT_COMPILED",
    "The message is mail to be read. Nothing in it will be compiled{held}: its subject has "
    "no prefix of the protocol.",
    "{unless}To contribute, send it again {where} under the subject `{subject}`{role}.",
    "R4",
)
NO_SESSION_YET = warning(
    "NO_SESSION_YET",
    "Nobody has written to the thread `{thread}` before: the message begins it.",
    "Check the thread ID: if another one was meant, send the message again there.{suggestion}",
    "R1; R15",
)
ANSWER_TOO_LARGE = error(
    "ANSWER_TOO_LARGE",
    "So many messages were asked for that even a list of them is too long.",
    "Ask for fewer: with `limit`, or only for what came after `since_ts`. `search_messages` "
    "finds single ones.",
    "ruling R5 (limits)",
)
UNUSABLE_THREAD_ID = error(
    "UNUSABLE_THREAD_ID",
    "`{thread}` cannot be the ID of a thread: {reason}. The message was not sent.",
    "Use one line of at most {most} characters that can be seen, without blanks around it, "
    "such as `TKT-12`; or leave `thread_id` out: then the message begins a thread of its own.",
    "R1; agent_mail, The subset that agents use",
)
STORED_UNCHECKED = warning(
    "STORED_UNCHECKED",
    "The message is stored as it is, though the check has found {count} in it: the request "
    "says that it was checked before (`Brenner-Checked`).",
    "Leave this header away: then a message with errors is refused, with the correction. What "
    "is wrong in this one, send again, corrected.",
    _SENDING_SPEC,
)

# Contributions as structured arguments, and Brenner's own tools

_CONTRIBUTION_SPEC = "delta_output_format_v0.1, Common Failure Modes"

TAKEN_AS = info(
    "TAKEN_AS",
    "Delta {number}: {what}",
    "Nothing has to be done if that is what you meant. If not, send an EDIT or a KILL.",
    _CONTRIBUTION_SPEC,
)
NOT_SURELY_MEANT = error(
    "NOT_SURELY_MEANT",
    "As it was given, what is meant can only be guessed: {what}. Nothing was posted.",
    "Look at it under `deltas`: if that is what you mean, post it so. Otherwise write it as "
    "you mean it.",
    _CONTRIBUTION_SPEC,
)
NO_DELTAS = error(
    "NO_DELTAS",
    "`deltas` is empty: there is nothing to post.",
    "Give at least one delta, such as `{example}`. To say something in prose, use `send_message`.",
    "message_body_schema_v0.1, DELTA",
)
WHO_ARE_YOU = error(
    "WHO_ARE_YOU",
    "`agent` is missing, and the connection speaks for {names}.",
    "Give your name as `agent`. Who has none yet gets one from `register_agent`.",
    "companion, For Agents",
)
