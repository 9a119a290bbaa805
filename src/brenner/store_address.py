"""Where mail can live, as it is written: `--store`, `BRENNER_STORE`, `store` in `brenner.toml`.

Pure: nothing is opened here, and no path is looked at.
"""

from typing import NamedTuple
from urllib.parse import (
    SplitResult,
    parse_qsl,
    quote,
    unquote,
    urlencode,
    urlsplit,
    urlunsplit,
)

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql", "postgres")
_AGENT_MAIL = "agent-mail"
_OVER = ("http", "https")
DEFAULT_SCHEMA = "brenner"
_MOST_SCHEMA_BYTES = 63  # what PostgreSQL keeps of a name


class SqliteAddress(NamedTuple):
    """A file. The path is as it was written: relative to whom, the project knows."""

    path: str


class PostgresAddress(NamedTuple):
    """A database, as libpq takes it, and the schema in it that holds the mail of one project."""

    url: str
    schema: str = DEFAULT_SCHEMA


class AgentMailAddress(NamedTuple):
    """A server, and the key of the project on it.

    No URL means the one that the surroundings tell; no project, the path of its folder.
    """

    url: str | None = None
    project: str | None = None


StoreAddress = SqliteAddress | PostgresAddress | AgentMailAddress


class AgentMailSettings(NamedTuple):
    """What the surroundings say of an Agent Mail server; it never selects one."""

    base_url: str = "http://127.0.0.1:8765"
    path: str = "/mcp/"
    token: str | None = None

    @property
    def url(self) -> str:
        """Where the server answers."""
        return self.base_url.rstrip("/") + "/" + self.path.lstrip("/")

    def __repr__(self) -> str:
        """Without the token, which belongs into no log."""
        return f"AgentMailSettings(base_url={self.base_url!r}, path={self.path!r})"


def parse_store(text: str) -> StoreAddress | None:
    """The address in a text; None where it is none."""
    if text.startswith(_SQLITE):
        return _sqlite(text.removeprefix(_SQLITE))
    if text in (_AGENT_MAIL, f"{_AGENT_MAIL}:"):
        return AgentMailAddress()
    try:
        parts = urlsplit(text)
        _ = parts.port  # which is read only when it is asked for
    except ValueError:
        return None
    if parts.scheme in _POSTGRESQL:
        return _postgres(parts)
    return _agent_mail(parts) if parts.scheme.startswith(f"{_AGENT_MAIL}+") else None


def _sqlite(path: str) -> SqliteAddress | None:
    """A mailbox in memory would be gone with the command that wrote to it."""
    return None if path in ("", "/", ":memory:") or "\0" in path else SqliteAddress(path)


def _agent_mail(parts: SplitResult) -> AgentMailAddress | None:
    """A name or a token in the address would be read by everybody who reads the settings."""
    over = parts.scheme.partition("+")[2]
    if over not in _OVER or not parts.hostname or "@" in parts.netloc:
        return None
    url = urlunsplit((over, parts.netloc, parts.path or "/", "", ""))
    return AgentMailAddress(url, dict(parse_qsl(parts.query)).get("project"))


def _postgres(parts: SplitResult) -> PostgresAddress | None:
    """All that libpq knows is handed on; `schema` is ours."""
    given = parse_qsl(parts.query, keep_blank_values=True)
    schemas = [value for name, value in given if name == "schema"]
    schema = schemas[-1] if schemas else DEFAULT_SCHEMA
    if not schema or len(schema.encode()) > _MOST_SCHEMA_BYTES or schema.startswith("pg_"):
        return None
    rest = urlencode([each for each in given if each[0] != "schema"], quote_via=quote)
    query = f"?{rest}" if rest else ""
    return PostgresAddress(f"postgresql://{parts.netloc}{parts.path}{query}", schema)


def shown(text: str) -> str:
    """The address as it may be shown: without passwords, nor options that could hold one."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme == "sqlite":
        return text
    place, _, query = rest.partition("?")
    kept = [
        f"{name}={unquote(value)}"
        for name, _, value in (each.partition("=") for each in query.split("&"))
        if name in ("schema", "project")
    ]
    hidden = "…@" * ("@" in place)
    return f"{scheme}://{hidden}{place.rpartition('@')[2]}{'?' * bool(kept)}{'&'.join(kept)}"
