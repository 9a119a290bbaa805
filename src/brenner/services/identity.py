"""The secrets of names: made here, shown once, kept as digests.

A secret is 256 random bits, so that its digest needs no salt, nor to be slow: nobody guesses it.
"""

import hashlib
import hmac
import http.client
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import join
from typing import NamedTuple
from urllib.parse import urlsplit

from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import StoredMessage, Trust
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.session.versions import VersionHistory

_MARK = "brs_"  # so that who finds one in a file or a log knows what it is
_BYTES = 32


def new_secret() -> str:
    """A secret that nobody has yet."""
    return _MARK + secrets.token_urlsafe(_BYTES)


def is_like_a_secret(text: str) -> bool:
    """Whether a text was meant as one of ours; a variable's name that nobody filled in is not."""
    return text.startswith(_MARK)


def digest_of(secret: str) -> str:
    """What a store keeps of a secret. Any text has one: who shows nonsense is wrong, not broken."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret_of(digest: str | None, secret: str) -> bool:
    """Whether a secret is the one of which that digest was kept; how long it takes tells nothing.

    A name without a secret has none that is right.
    """
    return digest is not None and hmac.compare_digest(digest, digest_of(secret))


def kept_digest(mailbox: Mailbox, name: str) -> str | None:
    """What is kept of the secret of a name; None where it, or everybody in this home, has none."""
    return None if Capability.SECRETS in mailbox.lacks else mailbox.digest(name)


def operator_digest(mailbox: Mailbox, operator: str) -> str | None:
    """The same of the operator, whom a store that was never written to does not know yet."""
    try:
        return kept_digest(mailbox, operator)
    except RequestError as refused:
        if refused.diagnostic.code != NO_SUCH_AGENT:
            raise
        return None


def has_secret(mailbox: Mailbox, name: str, secret: str) -> bool:
    """Whether a secret is the one of that name."""
    return is_secret_of(kept_digest(mailbox, name), secret)


def name_of_secret(mailbox: Mailbox, secret: str) -> str | None:
    """Whose secret it is; None where it is nobody's, or nobody here has any."""
    return None if Capability.SECRETS in mailbox.lacks else mailbox.named_by(digest_of(secret))


def claim(mailbox: Mailbox, name: str) -> str | None:
    """The secret of a name that nobody had claimed; None where somebody has, or nobody can."""
    if Capability.SECRETS in mailbox.lacks:
        return None
    secret = new_secret()
    return secret if mailbox.claim(name, digest_of(secret)) else None


def renew(mailbox: Mailbox, name: str) -> str:
    """A new secret for a name. The old one, if there was one, is worth nothing from now on."""
    secret = new_secret()
    mailbox.claim(name, digest_of(secret), replace=True)
    return secret


# How programs are handed what they must not write down: the names of variables and headers.
#
# A token says who may talk to a server at all, a secret who somebody is.


TOKEN = "BRENNER_TOKEN"  # noqa: S105  (the name of a variable)
SECRET = "BRENNER_SECRET"  # noqa: S105  (as above)
SECRET_HEADER = "Brenner-Secret"  # noqa: S105  (the name of a header)


# What the settings of an agent's program must say, so that it finds the mail of a project.
#
# Each client has a form of its own. No secret ever stands in one: what is written there is copied,
# committed and shown around, so it names variables of the environment, as each client spells them.


NAME = "brenner"  # what the server is called in the client's settings

_ASKED = (
    "Run the command in that folder. Claude Code asks once whether the server of a project may be "
    "used."
)


class Endpoint(NamedTuple):
    """A server that runs already, and whether it wants a token of everybody."""

    url: str
    wants_token: bool = False


class Program(NamedTuple):
    """A program that the client starts itself, with the variables that it has to hand on."""

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()


Connection = Endpoint | Program


class Snippet(NamedTuple):
    """What to write where, and the command of the client that writes it, as far as that goes."""

    client: str
    file: str
    form: str
    text: str
    command: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def typed(self) -> str:
        """The command, as one types it."""
        return join(self.command)


def snippet_for(client: str, connection: Connection, folder: Path) -> Snippet:
    """The snippet for one of `CLIENTS`, in the project of that folder."""
    return CLIENTS[client](connection, folder)


def first_words(name: str | None) -> str:
    """What to tell an agent, so that it takes part."""
    whom = f"as {name} " if name else ""
    proof = f"it proves that you are {name}" if name else "it proves who you are"
    return (
        f"Register {whom}with the tool register_agent of the MCP server {NAME}, and keep the "
        f"registration_token that it answers: {proof}. Then call brenner_task, which says what you "
        "owe, and send what you contribute with brenner_post."
    )


def _claude_code(connection: Connection, folder: Path) -> Snippet:
    """`${NAME}` is replaced where the file is read; with `:-` a variable need not be set."""
    secret = f"${{{SECRET}:-}}"
    start = ("claude", "mcp", "add")
    file = str(folder / ".mcp.json")
    if isinstance(connection, Endpoint):
        headers = _headers(connection, f"Bearer ${{{TOKEN}}}", secret)
        server: dict[str, object] = {"type": "http", "url": connection.url, "headers": headers}
        said = [part for name in headers for part in ("--header", f"{name}: {headers[name]}")]
        # The option takes all that follows, so the name and the address stand before it.
        of_http = ("--transport", "http", "--scope", "project", NAME, connection.url, *said)
        command = (*start, *of_http)
    else:
        program, *arguments = connection.command
        handed = {name: f"${{{name}}}" for name in connection.variables} | {SECRET: secret}
        server = {"type": "stdio", "command": program, "args": arguments, "env": handed}
        said = [part for name in handed for part in ("--env", f"{name}={handed[name]}")]
        of_stdio = (*said, "--transport", "stdio", "--scope", "project", NAME)
        command = (*start, *of_stdio, "--", *connection.command)
    notes = (_ASKED, *_of_paths(connection, "${"))
    return Snippet("claude-code", file, "json", _json(server), command, notes)


def _codex(connection: Connection, folder: Path) -> Snippet:
    """It takes names of variables, and no other way to a secret."""
    del folder
    file, command = "~/.codex/config.toml", ["codex", "mcp", "add", NAME]
    if isinstance(connection, Endpoint):
        lines = [f"url = {_toml(connection.url)}"]
        command += ["--url", connection.url]
        if connection.wants_token:
            lines.append(f"bearer_token_env_var = {_toml(TOKEN)}")
            command += ["--bearer-token-env-var", TOKEN]
        lacking = f"env_http_headers = {{ {_toml(SECRET_HEADER)} = {_toml(SECRET)} }}"
    else:
        program, *arguments = connection.command
        lines = [f"command = {_toml(program)}", f"args = {_toml_list(arguments)}"]
        command += ["--", *connection.command]
        lacking = f"env_vars = {_toml_list([*connection.variables, SECRET])}"
    text = "\n".join([f"[mcp_servers.{NAME}]", *lines, lacking]) + "\n"
    note = f"The command cannot say the last line, `{lacking}`: add it for an agent with a secret."
    return Snippet("codex", file, "toml", text, tuple(command), (note,))


def _gemini(connection: Connection, folder: Path) -> Snippet:
    """`$NAME` is replaced in every text of the file; one that is not set stays as it is."""
    del folder
    file, secret = "~/.gemini/settings.json", f"${SECRET}"
    start = ("gemini", "mcp", "add", "--scope", "user")
    if isinstance(connection, Endpoint):
        headers = _headers(connection, f"Bearer ${TOKEN}", secret)
        server: dict[str, object] = {"httpUrl": connection.url, "headers": headers}
        said = [part for name in headers for part in ("--header", f"{name}: {headers[name]}")]
        command = (*start, "--transport", "http", *said, NAME, connection.url)
    else:
        program, *arguments = connection.command
        handed = {name: f"${name}" for name in (*connection.variables, SECRET)}
        server = {"command": program, "args": arguments, "env": handed}
        said = [part for name in handed for part in ("--env", f"{name}={handed[name]}")]
        command = (*start, *said, NAME, program, "--", *arguments)
    notes = _of_paths(connection, "$")
    return Snippet("gemini", file, "json", _json(server), command, notes)


CLIENTS: Mapping[str, Callable[[Connection, Path], Snippet]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
}


def _headers(endpoint: Endpoint, bearer: str, secret: str) -> dict[str, str]:
    """A token that nobody wants is left out: some clients do not start without it."""
    token = {"Authorization": bearer} if endpoint.wants_token else {}
    return token | {SECRET_HEADER: secret}


def _of_paths(connection: Connection, sign: str) -> tuple[str, ...]:
    """A path that the client would read as a variable cannot be written so that it would not."""
    texts = (connection.url,) if isinstance(connection, Endpoint) else connection.command
    if not any(sign in each for each in texts):
        return ()
    return (f"A path or address in it has `{sign}`, which the client takes for a variable.",)


def _json(server: Mapping[str, object]) -> str:
    return json.dumps({"mcpServers": {NAME: server}}, ensure_ascii=False, indent=2) + "\n"


def _toml(text: str) -> str:
    """A text of TOML is written as one of JSON is, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_list(texts: list[str]) -> str:
    return f"[{', '.join(map(_toml, texts))}]"


# Who listens at an address, as far as whoever it is says so. Nothing secret is sent for that.


OURS, THEIRS, NOBODY = "brenner", "agent mail", "nobody"
_PATH = "health/liveness"
_MOST_BYTES = 1_000


def who_listens(url: str, seconds: float) -> str:
    """A server of ours, one of Agent Mail, or nobody who says so. The URL is its endpoint."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    folder = parts.path.rstrip("/").rpartition("/")[0]
    with suppress(OSError, http.client.HTTPException, ValueError):
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("GET", f"{folder}/{_PATH}")
            said = json.loads(connection.getresponse().read(_MOST_BYTES))
        finally:
            connection.close()
        if isinstance(said, dict) and said.get("status") == "alive":
            return OURS if said.get("server") == "brenner" else THEIRS
    return NOBODY


# How it is known who sent the messages that something was made of.
#
# An artifact follows from what its mail says, not from who vouches for it. So whoever publishes or
# reads one is told what in it anybody may have sent.


_WEIGHTY = (KICKOFF.name, COMPILED.name, DELTA.name)  # what the artifact is made of comes first


class Unverified(NamedTuple):
    """The messages of a thread that anybody may have sent.

    `new` are those that no version has read and those that came in with the latest version or
    after it; the weightiest first. `ids` are all of them.
    """

    ids: tuple[int, ...] = ()
    new: tuple[StoredMessage, ...] = ()

    @property
    def older(self) -> int:
        """How many there are beside the new ones."""
        return len(self.ids) - len(self.new)


def trusts(mailbox: Mailbox, thread_id: str) -> dict[int, Trust | None]:
    """Every message of a thread, in the order in which they came; None where nobody tells."""
    return {each.id: each.envelope.trust for each in mailbox.thread_arrivals(thread_id, 0)}


def trusts_of(mailbox: Mailbox, message_ids: Iterable[int]) -> dict[int, Trust | None]:
    """Those of some messages; one that is not in this store has none."""
    found = {}
    for each in dict.fromkeys(message_ids):
        try:
            found[each] = mailbox.message(each).envelope.trust
        except RequestError:
            found[each] = None
    return found


def unverified(mailbox: Mailbox, message_ids: Iterable[int]) -> tuple[int, ...]:
    """Those of some messages that are unverified, each once."""
    ids = dict.fromkeys(message_ids)
    return tuple(each for each in ids if mailbox.message(each).envelope.trust is Trust.UNVERIFIED)


def unverified_in(mailbox: Mailbox, history: VersionHistory) -> Unverified:
    """Those of a thread, as its chain stands."""
    stored = mailbox.thread_arrivals(history.thread_id, 0)
    latest = history.latest.message_id if history.latest else None
    since = next((each.arrival for each in stored if each.id == latest), 0)
    unread = {each.posted.id for each in history.unread}
    found = [each for each in stored if each.envelope.trust is Trust.UNVERIFIED]
    new = [each for each in found if each.arrival >= since or each.id in unread]
    return Unverified(tuple(each.id for each in found), tuple(sorted(new, key=_weight)))


def _weight(stored: StoredMessage) -> int:
    return _WEIGHTY.index(stored.type) if stored.type in _WEIGHTY else len(_WEIGHTY)
