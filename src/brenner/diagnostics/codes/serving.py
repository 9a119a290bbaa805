"""Codes of the server for agents and browsers: where it listens, and whom it lets in."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example
from brenner.limits import MOST_BODY_BYTES

_SPEC = "Model Context Protocol, Transports (Streamable HTTP)"
_MOST_MIB = MOST_BODY_BYTES // 1024**2
_HTTP = "RFC 9110, HTTP Semantics"
_POST = "POST /mcp HTTP/1.1\nHost: 127.0.0.1:8765\nContent-Type: application/json"

PORT_TAKEN = Code(
    id="PORT_TAKEN",
    severity=ERROR,
    title="Another program listens on that port",
    message="Nothing was served: {address} is taken. {who}",
    fix="End the other one, or choose another port with `--port NUMBER` (0 takes a free one). "
    "Agents need the new address then: `{command}`, as `brenner serve` prints it once it listens.",
    why="Only one program can listen on a port, and mail must not go to the wrong one.",
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    example=Example("text", _POST, f"{_POST}\nAuthorization: Bearer TOKEN"),
)
REQUEST_TOO_LARGE = Code(
    id="REQUEST_TOO_LARGE",
    severity=ERROR,
    title="The body of the request is too large",
    message="The body is larger than {most} bytes; nothing was done.",
    fix=f"Send less: the body of a message has at most {_MOST_MIB} MiB. Long material belongs into "
    "a file of the project.",
    why="What is read is kept in memory, for everybody who sends at the same time.",
    spec=f"{_HTTP}, 413 Content Too Large",
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
    spec=f"{_HTTP}, 503 Service Unavailable",
    example=Example("text", "5,000 connections at once", "a few hundred"),
)
REQUEST_TOO_SLOW = Code(
    id="REQUEST_TOO_SLOW",
    severity=ERROR,
    title="The request did not arrive in time",
    message="The body had not arrived after {seconds} seconds; nothing was done.",
    fix="Send it again, whole.",
    why="Who sends a byte now and then would hold a place for ever.",
    spec=f"{_HTTP}, 408 Request Timeout",
    example=Example("text", "a byte a minute", "the body at once"),
)
BODY_NOT_JSON = Code(
    id="BODY_NOT_JSON",
    severity=ERROR,
    title="The body of the request is not said to be JSON",
    message="The header Content-Type is {given}.",
    fix="Send JSON with `Content-Type: application/json` (`curl --json`).",
    why="Web pages can send anything else here without being asked whether they may.",
    spec=f"{_SPEC}; {_HTTP}, 415 Unsupported Media Type",
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
    spec=f"{_HTTP}, 405 Method Not Allowed",
    example=Example("text", "PUT /mcp", "POST /mcp"),
)
NO_SUCH_PAGE = Code(
    id="NO_SUCH_PAGE",
    severity=ERROR,
    title="There is nothing at that address",
    message="There is nothing at {path}.",
    fix="Agents use /mcp (or /api); people look at /.",
    why="A wrong address is most often a slip in an agent's configuration.",
    spec=f"{_HTTP}, 404 Not Found",
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

CODES: tuple[Code, ...] = (
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
