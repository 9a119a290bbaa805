"""Where mail can live, as it is written: `--store`, `BRENNER_STORE`, `store` in `brenner.toml`.

Pure: nothing is opened here, and no path is looked at. What is no address is never half taken:
an option that nobody knows, or a password that was not written as an address needs it, would mean
another home than its author meant.
"""

from typing import NamedTuple
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


def parse_store(text: str) -> StoreAddress | None:
    """The address in a text; None where it is none."""
    if text.startswith(_SQLITE):
        return _sqlite(text.removeprefix(_SQLITE))
    if any(each <= " " for each in text) or "#" in text:  # dropped in silence when it is split
        return None
    name, _, query = text.partition("?")
    try:
        text.encode()
        if name in (_AGENT_MAIL, f"{_AGENT_MAIL}:"):
            return _of_project(None, query)
        return _of_server(urlsplit(text)) if _BETWEEN in text else None
    except ValueError:  # a broken host, a port that is no number, half of a character
        return None


def _sqlite(path: str) -> SqliteAddress | None:
    """A mailbox in memory would be gone with the command that wrote to it."""
    return None if path in ("", "/", ":memory:") or "\0" in path else SqliteAddress(path)


def _of_server(parts: SplitResult) -> StoreAddress | None:
    """An `@` stands only where a user's name ends: a second one is part of a password."""
    if parts.scheme in _POSTGRESQL and _ats(parts) == parts.netloc.count("@") <= 1:
        return _postgres(parts)
    if parts.scheme.startswith(f"{_AGENT_MAIL}+") and not _ats(parts):
        return _agent_mail(parts)
    return None


def _ats(parts: SplitResult) -> int:
    return sum(each.count("@") for each in parts)


def _agent_mail(parts: SplitResult) -> AgentMailAddress | None:
    """A name or a token in the address would be read by everybody who reads the settings."""
    over = parts.scheme.partition("+")[2]
    _ = parts.port  # which is read only when it is asked for
    if over not in _OVER or not parts.hostname:
        return None
    url = urlunsplit((over, parts.netloc, parts.path, "", ""))
    return _of_project(url, parts.query)


def _of_project(url: str | None, query: str) -> AgentMailAddress | None:
    """With the one option that there is."""
    name, _, value = query.partition("=")
    key = unquote(value, errors="strict")
    if not query:
        return AgentMailAddress(url)
    is_key = name == "project" and "&" not in value and key and key.isprintable()
    return AgentMailAddress(url, key) if is_key else None


def _postgres(parts: SplitResult) -> PostgresAddress | None:
    """All that libpq knows is handed on as it was written; `schema` is ours."""
    options = [each.partition("=") for each in parts.query.split("&") if each]
    schemas = [unquote(value, errors="strict") for name, _, value in options if name == "schema"]
    schema = schemas[-1] if schemas else DEFAULT_SCHEMA
    if len(schemas) > 1 or not _is_schema(schema):
        return None
    rest = "&".join("".join(each) for each in options if each[0] != "schema")
    query = f"?{rest}" if rest else ""
    return PostgresAddress(f"postgresql://{parts.netloc}{parts.path}{query}", schema)


def _is_schema(name: str) -> bool:
    """Whether it can be a schema of ours; PostgreSQL has some of its own."""
    return (
        0 < len(name.encode()) <= _MOST_SCHEMA_BYTES
        and name.isprintable()
        and not name.startswith(_ITS_OWN_SCHEMAS)
    )


def shown(text: str) -> str:
    """An address, or what was meant to be one, as it may be shown: without passwords.

    Of the options only those are shown that are ours. Where nobody can tell what is a password
    and what is not, little is left.
    """
    if text.startswith("sqlite:"):
        return text
    start, between, rest = _start(text)
    place, _, query = rest.partition("?")
    if "@" in query or (not between and "=" in place):
        return f"{start}{between}{_HIDDEN}"
    kept = "&".join(each for each in query.split("&") if each.startswith(("schema=", "project=")))
    hidden = f"{_HIDDEN}@" if "@" in place else ""
    option = f"?{unquote(kept)}" if kept else ""
    return f"{start}{between}{hidden}{place.rpartition('@')[2]}{option}"


def _start(text: str) -> tuple[str, str, str]:
    """The scheme, what divides it from the rest, and the rest; all is the rest without one."""
    scheme, between, rest = text.partition(_BETWEEN)
    is_scheme = between and scheme.replace("+", "").replace("-", "").isalnum()
    return (scheme, between, rest) if is_scheme else ("", "", text)
