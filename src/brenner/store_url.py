"""Where mail can live, as it is written: `--store`, `BRENNER_STORE`, `store` in `brenner.toml`.

Pure: nothing is opened here, and no path is looked at. What is no address is never half taken:
an option that nobody knows, or a password that was not written as an address needs it, would mean
another home than its author meant.
"""

import re
from typing import NamedTuple, NoReturn
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql", "postgres")
_AGENT_MAIL = "agent-mail"
_OVER = ("http", "https")
_BETWEEN = "://"
DEFAULT_SCHEMA = "brenner"
_MOST_SCHEMA_BYTES = 63  # what PostgreSQL keeps of a name
_ITS_OWN_SCHEMAS = ("pg_", "information_schema")
_HIDDEN = "…"
_HOST = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
_MOST_PORT = 65_535
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_MAY_HIDE = re.compile(r"[:@=?&#;\s]")  # what stands beside a password
_OTHER_PLACE = "a name or a token does not belong into it but into `AGENT_MAIL_BEARER_TOKEN`"
_PORT = "a port is a number; a user's name and password end with an `@`, before the host"


class SqliteAddress(NamedTuple):
    """A file. The path is as it was written: relative to whom, the project knows."""

    path: str


class PostgresAddress(NamedTuple):
    """A database, as libpq takes it, and the schema in it that holds the mail of one project."""

    url: str
    schema: str = DEFAULT_SCHEMA

    @property
    def has_password(self) -> bool:
        """Whether the address itself holds a password, and so belongs into no file."""
        return self.without_password != self

    @property
    def without_password(self) -> "PostgresAddress":
        """The same place, for whoever knows the password from elsewhere."""
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        options = [
            each
            for each in parts.query.split("&")
            if "password" not in unquote(each.partition("=")[0])
        ]
        query = f"?{'&'.join(options)}" if any(options) else ""
        place = f"{user.partition(':')[0]}{at}{host}"
        return self._replace(url=f"postgresql://{place}{parts.path}{query}")

    @property
    def written(self) -> str:
        """As it is written where a store is named."""
        if self.schema == DEFAULT_SCHEMA:
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}schema={quote(self.schema, safe='')}"

    def __repr__(self) -> str:
        """Without the password, which belongs into no log."""
        return f"PostgresAddress(url={shown(self.url)!r}, schema={self.schema!r})"


class AgentMailAddress(NamedTuple):
    """A server, and the key of the project on it.

    No URL means the one that the surroundings tell, as does one without a path for that; no
    project, the path of its folder.
    """

    url: str | None = None
    project: str | None = None


StoreAddress = SqliteAddress | PostgresAddress | AgentMailAddress


class AgentMailSettings(NamedTuple):
    """What the surroundings say of an Agent Mail server; it never selects one."""

    base_url: str = "http://127.0.0.1:8765"
    path: str = "/mcp/"
    token: str | None = None

    def url_of(self, address: AgentMailAddress) -> str:
        """Where the server answers, with what the address leaves out filled in."""
        base = address.url or self.base_url
        if address.url and urlsplit(address.url).path:
            return address.url
        return base.rstrip("/") + "/" + self.path.lstrip("/")

    def __repr__(self) -> str:
        """Without the token, which belongs into no log, nor one that was put into the URL."""
        return f"AgentMailSettings(base_url={shown(self.base_url)!r}, path={self.path!r})"


class NoAddress(ValueError):
    """A text that is no address, and why: the part of a sentence, with nothing of the text."""


def parse_store(text: str) -> StoreAddress | None:
    """The address in a text; None where it is none."""
    try:
        return read_store(text)
    except NoAddress:
        return None


def read_store(text: str) -> StoreAddress:
    """The address in a text; why it is none is raised."""
    if text.startswith("sqlite:"):
        return _sqlite(text)
    name, _, query = text.partition("?")
    try:
        _check_letters(text)
        if name in (_AGENT_MAIL, f"{_AGENT_MAIL}:"):
            return _of_project(None, query)
        if _BETWEEN not in text:
            _fail(f"the path of a file is written as `{_SQLITE}PATH`")
        return _of_server(urlsplit(text))
    except NoAddress:
        raise
    except ValueError:  # a broken host, half of a character
        _fail("it is not well formed")


def _fail(reason: str) -> NoReturn:
    raise NoAddress(reason)


def _check_letters(text: str) -> None:
    """What is dropped in silence when an address is split."""
    if any(each <= " " for each in text):
        _fail("it has a blank, or a character that nobody sees; a blank is written as `%20`")
    if "#" in text:
        _fail("a `#` in it is written as `%23`")
    text.encode()


def _sqlite(text: str) -> SqliteAddress:
    """A mailbox in memory would be gone with the command that wrote to it."""
    path = text.removeprefix(_SQLITE)
    if path == text or path in ("", "/"):
        _fail(f"the path of a file is written as `{_SQLITE}PATH`")
    if path == ":memory:":
        _fail("mail that is kept in memory would be gone with the command")
    if "\0" in path:
        _fail("no path holds a NUL character")
    return SqliteAddress(path)


def _of_server(parts: SplitResult) -> StoreAddress:
    """Each kind of server by its scheme."""
    if parts.scheme in _POSTGRESQL:
        return _postgres(parts)
    if parts.scheme in (f"{_AGENT_MAIL}+{over}" for over in _OVER):
        return _agent_mail(parts)
    if parts.scheme in (*_OVER, _AGENT_MAIL):
        over = parts.scheme if parts.scheme in _OVER else _OVER[0]
        _fail(f"an Agent Mail server is written as `{_AGENT_MAIL}+{over}://…`")
    _fail("nobody knows that kind of store")


def _agent_mail(parts: SplitResult) -> AgentMailAddress:
    """A name or a token in the address would be read by everybody who reads the settings."""
    if any("@" in each for each in parts):
        _fail(_OTHER_PLACE)
    _check_host(parts.netloc)
    if not parts.hostname:
        _fail("it names no host")
    url = urlunsplit((parts.scheme.partition("+")[2], parts.netloc, parts.path, "", ""))
    return _of_project(url, parts.query)


def _of_project(url: str | None, query: str) -> AgentMailAddress:
    """With the one option that there is."""
    name, _, value = query.partition("=")
    if not query:
        return AgentMailAddress(url)
    if name != "project" or "&" in value:
        _fail(f"its only option is `project=KEY`; {_OTHER_PLACE}")
    key = unquote(value, errors="strict")
    if not key or not key.isprintable():
        _fail("`project=` names no project")
    return AgentMailAddress(url, key)


def _postgres(parts: SplitResult) -> PostgresAddress:
    """All that libpq knows is handed on as it was written; `schema` is ours."""
    ats = sum(each.count("@") for each in parts)
    if ats > 1 or ats != parts.netloc.count("@"):  # one ends a user's name, no other is meant
        _fail("an `@` in a name or a password is written as `%40`, a `/` as `%2F`")
    for host in parts.netloc.rpartition("@")[2].split(","):
        _check_host(host)
    options = [each.partition("=") for each in parts.query.split("&") if each]
    schemas = [unquote(value, errors="strict") for name, _, value in options if name == "schema"]
    if len(schemas) > 1:
        _fail("it names more than one schema")
    schema = schemas[0] if schemas else DEFAULT_SCHEMA
    _check_schema(schema)
    rest = "&".join("".join(each) for each in options if each[0] != "schema")
    query = f"?{rest}" if rest else ""
    return PostgresAddress(f"postgresql://{parts.netloc}{parts.path}{query}", schema)


def _check_host(host: str) -> None:
    """What stands where a port belongs may be a password whose `@` was forgotten."""
    found = _HOST.fullmatch(host)
    if not found or int(found["port"] or 0) > _MOST_PORT:
        _fail(_PORT)


def _check_schema(name: str) -> None:
    """Whether it can be a schema of ours; PostgreSQL has some of its own."""
    if not name:
        _fail("`schema=` names no schema")
    if len(name.encode()) > _MOST_SCHEMA_BYTES:
        _fail(f"the name of a schema has {_MOST_SCHEMA_BYTES} bytes at most")
    if not name.isprintable():
        _fail("the name of a schema has only characters that one sees")
    if name.startswith(_ITS_OWN_SCHEMAS):
        _fail("schemas that begin with `pg_` or `information_schema` are PostgreSQL's own")


def shown(text: str) -> str:
    """An address, or what was meant to be one, as it may be shown: without passwords.

    Of the options only those are shown that are ours. Where it cannot be taken apart, nobody can
    tell what is a password and what is not: then only the scheme is left.
    """
    if text.startswith("sqlite:"):
        return text
    scheme, between, rest = text.partition(_BETWEEN)
    if not between:
        is_plain = parse_store(text) or not _MAY_HIDE.search(text)
        return text if is_plain else _HIDDEN
    if parse_store(f"{_AGENT_MAIL}+{text}" if scheme in _OVER else text) is None:
        is_scheme = _SCHEME.fullmatch(scheme)
        return f"{scheme}{between}{_HIDDEN}" if is_scheme else _HIDDEN
    place, _, query = rest.partition("?")
    kept = "&".join(each for each in query.split("&") if each.startswith(("schema=", "project=")))
    _, at, host = place.rpartition("@")
    option = f"?{unquote(kept)}" if kept else ""
    return f"{scheme}{between}{_HIDDEN if at else ''}{at}{host}{option}"
