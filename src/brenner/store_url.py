"""Store addresses: parse and redact the values of `--store`, `BRENNER_STORE` and `store`.

This module is pure: it opens nothing and looks at no path. An invalid address is never accepted in
part. An unknown option, or a password without the necessary escapes, could select another store
than the operator intended.
"""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql", "postgres")
_AGENT_MAIL = "agent-mail"
_HTTP_SCHEMES = ("http", "https")
_SCHEME_END = "://"
DEFAULT_SCHEMA = "brenner"
_MOST_SCHEMA_BYTES = 63  # PostgreSQL truncates longer names
_RESERVED_SCHEMAS = ("pg_", "information_schema")
_HIDDEN = "…"
_HOST = lazy_pattern(r"(?:\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
_MOST_PORT = 65_535
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*")
_MAY_CONTAIN_PASSWORD = lazy_pattern(r"[:@=?&#;\s]")  # characters next to which a password may be
_OPTION_NAME = lazy_pattern(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
# A bare text is a path if it begins or ends like one; a single word may be a misspelt address
_PATH_STARTS = ("/", "./", "../", "~")
_FILE_SUFFIXES = (".sqlite3", ".sqlite", ".db")
_PATH_HINT = f"write the path of a file as `./PATH`, `/PATH` or `{_SQLITE}PATH`"
_AUTH_HINT = "put a name or token in `AGENT_MAIL_BEARER_TOKEN`, not in the address"
_PORT_HINT = (
    "the port must be a number, and a user name and password must end with `@` before the host"
)


class SqliteAddress(NamedTuple):
    """A file. The path is as written; the project resolves a relative one."""

    path: str


class PostgresAddress(NamedTuple):
    """A database URL for libpq, and the schema that contains the mail of one project."""

    url: str
    schema: str = DEFAULT_SCHEMA

    @property
    def has_password(self) -> bool:
        """Whether the address contains a password, so that it must not be written to a file."""
        return self.without_password != self

    @property
    def without_password(self) -> PostgresAddress:
        """The same address without the password, for users that have it from elsewhere."""
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        options = [
            each
            for each in parts.query.split("&")
            if "password" not in unquote(each.partition("=")[0])
        ]
        query = f"?{'&'.join(options)}" if any(options) else ""
        location = f"{user.partition(':')[0]}{at}{host}"
        return self._replace(url=f"postgresql://{location}{parts.path}{query}")

    @property
    def written(self) -> str:
        """The address in the form that `--store` accepts."""
        if self.schema == DEFAULT_SCHEMA:
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}schema={quote(self.schema, safe='')}"

    def __repr__(self) -> str:
        """Return a form without the password, for logs."""
        return f"PostgresAddress(url={redact_address(self.url)!r}, schema={self.schema!r})"


class AgentMailAddress(NamedTuple):
    """A server, and the project's key on it.

    No URL means the environment's, and a URL without a path gets the environment's path. No project
    means the path of its folder.
    """

    url: str | None = None
    project: str | None = None


StoreAddress = SqliteAddress | PostgresAddress | AgentMailAddress


class AgentMailSettings(NamedTuple):
    """The environment's settings for an Agent Mail server; they never select one."""

    base_url: str = "http://127.0.0.1:8765"
    path: str = "/mcp/"
    token: str | None = None

    def url_of(self, address: AgentMailAddress) -> str:
        """Return the server's URL, with the parts that the address omits."""
        base = address.url or self.base_url
        if address.url and urlsplit(address.url).path:
            return address.url
        return base.rstrip("/") + "/" + self.path.lstrip("/")

    def __repr__(self) -> str:
        """Return a form without the token, and without one in the URL, for logs."""
        return f"AgentMailSettings(base_url={redact_address(self.base_url)!r}, path={self.path!r})"


class StoreAddressError(ValueError):
    """An invalid address.

    The message is the reason as part of a sentence. It never quotes the address.
    """


def parse_store(text: str) -> StoreAddress | None:
    """Parse an address; return None if it is invalid."""
    try:
        return parse_store_strict(text)
    except StoreAddressError:
        return None


def parse_store_strict(text: str) -> StoreAddress:
    """Parse an address; raise StoreAddressError if it is invalid."""
    if text.startswith("sqlite:"):
        return _parse_sqlite(text)
    if _is_path(text):
        return _check_path(text)
    name, _, query = text.partition("?")
    try:
        is_server = name in (_AGENT_MAIL, f"{_AGENT_MAIL}:")
        if not is_server and _SCHEME_END not in text:
            _fail(_PATH_HINT)
        _check_characters(text)
        if is_server:
            return _with_project_option(None, query)
        return _parse_server(urlsplit(text))
    except StoreAddressError:
        raise
    except ValueError:  # an invalid host, a lone surrogate
        _fail("it is malformed")


def _fail(reason: str) -> NoReturn:
    raise StoreAddressError(reason)


def _check_characters(text: str) -> None:
    """Reject the characters that are silently dropped when a URL is split."""
    if any(each <= " " for each in text):
        _fail("it contains a space or an invisible character; write a space as `%20`")
    if "#" in text:
        _fail("it contains `#`; write it as `%23`")
    text.encode()


def _parse_sqlite(text: str) -> SqliteAddress:
    """Parse a file address. Mail in memory is rejected: it would be lost when the command ends."""
    path = text.removeprefix(_SQLITE)
    if path == text or path in ("", "/"):
        _fail(_PATH_HINT)
    if path == ":memory:":
        _fail("mail in memory is lost when the command ends")
    return _check_path(path)


def _is_path(text: str) -> bool:
    """Return whether a text without a scheme is the path of a file."""
    if text.startswith(_PATH_STARTS):
        return True
    if text.startswith(_AGENT_MAIL) or _MAY_CONTAIN_PASSWORD.search(text.replace(" ", "")):
        return False
    return "/" in text or text.endswith(_FILE_SUFFIXES)


def _check_path(path: str) -> SqliteAddress:
    if path.endswith("/"):
        _fail("it names a folder, not a file")
    if "\0" in path:
        _fail("it contains a NUL character")
    return SqliteAddress(path)


def _parse_server(parts: SplitResult) -> StoreAddress:
    if parts.scheme in _POSTGRESQL:
        return _parse_postgres(parts)
    if parts.scheme in (f"{_AGENT_MAIL}+{over}" for over in _HTTP_SCHEMES):
        return _parse_agent_mail(parts)
    if parts.scheme in (*_HTTP_SCHEMES, _AGENT_MAIL):
        over = parts.scheme if parts.scheme in _HTTP_SCHEMES else _HTTP_SCHEMES[0]
        _fail(f"write the address of an Agent Mail server as `{_AGENT_MAIL}+{over}://…`")
    _fail("unknown kind of store")


def _parse_agent_mail(parts: SplitResult) -> AgentMailAddress:
    """Parse an Agent Mail address.

    A user name or token in it is rejected: every reader of the settings would see it.
    """
    if any("@" in each for each in parts):
        _fail(_AUTH_HINT)
    _check_host(parts.netloc)
    if not parts.hostname:
        _fail("the host is missing")
    url = urlunsplit((parts.scheme.partition("+")[2], parts.netloc, parts.path, "", ""))
    return _with_project_option(url, parts.query)


def _with_project_option(url: str | None, query: str) -> AgentMailAddress:
    """Return the address with its only option, `project`."""
    if not query:
        return AgentMailAddress(url)
    for option in query.split("&"):
        if not option.startswith("project="):
            _fail(f"{unknown_option(option)}; its only option is `project=KEY`; {_AUTH_HINT}")
    value = query.removeprefix("project=")
    if "&" in value:
        _fail("it contains more than one project")
    key = unquote(value, errors="strict")
    if not key or not key.isprintable():
        _fail("the value of `project=` is missing or contains invisible characters")
    return AgentMailAddress(url, key)


def unknown_option(option: str) -> str:
    """Return which option is unknown. Without a value it may be a token, which may end with `=`."""
    name, _, value = option.partition("=")
    is_name = value.strip("=") and _OPTION_NAME.fullmatch(name)
    return f"unknown option `{name}`" if is_name else "it contains an unknown option"


def _parse_postgres(parts: SplitResult) -> PostgresAddress:
    """Parse a PostgreSQL address.

    Everything that libpq knows is passed on as written; only `schema` is our own option.
    """
    ats = sum(each.count("@") for each in parts)
    if ats > 1 or ats != parts.netloc.count("@"):  # only the one after the user's name is allowed
        _fail("write `@` in a name or password as `%40`, and `/` as `%2F`")
    for host in parts.netloc.rpartition("@")[2].split(","):
        _check_host(host)
    options = [each.partition("=") for each in parts.query.split("&") if each]
    schemas = [unquote(value, errors="strict") for name, _, value in options if name == "schema"]
    if len(schemas) > 1:
        _fail("it contains more than one schema")
    schema = schemas[0] if schemas else DEFAULT_SCHEMA
    _check_schema(schema)
    rest = "&".join("".join(each) for each in options if each[0] != "schema")
    query = f"?{rest}" if rest else ""
    return PostgresAddress(f"postgresql://{parts.netloc}{parts.path}{query}", schema)


def _check_host(host: str) -> None:
    """Reject an invalid port, which may be a password whose `@` is missing."""
    found = _HOST.fullmatch(host)
    if not found or int(found["port"] or 0) > _MOST_PORT:
        _fail(_PORT_HINT)


def _check_schema(name: str) -> None:
    """Reject a name that cannot be our schema; PostgreSQL reserves some."""
    if not name:
        _fail("the value of `schema=` is missing")
    if len(name.encode()) > _MOST_SCHEMA_BYTES:
        _fail(f"the name of the schema is longer than {_MOST_SCHEMA_BYTES} bytes")
    if not name.isprintable():
        _fail("the name of the schema contains an invisible character")
    if name.startswith(_RESERVED_SCHEMAS):
        _fail("PostgreSQL reserves schemas that start with `pg_` or `information_schema`")


def redact_address(text: str) -> str:
    """Return an address, valid or not, without passwords.

    Only our own options are shown. If the address cannot be parsed, any part may be a password, so
    that only the scheme is shown.
    """
    if text.startswith("sqlite:"):
        return text
    scheme, between, rest = text.partition(_SCHEME_END)
    if not between:
        is_plain = parse_store(text) or not _MAY_CONTAIN_PASSWORD.search(text)
        return text if is_plain else _HIDDEN
    if parse_store(f"{_AGENT_MAIL}+{text}" if scheme in _HTTP_SCHEMES else text) is None:
        is_scheme = _SCHEME.fullmatch(scheme)
        return f"{scheme}{between}{_HIDDEN}" if is_scheme else _HIDDEN
    location, _, query = rest.partition("?")
    options = "&".join(
        each for each in query.split("&") if each.startswith(("schema=", "project="))
    )
    _, at, host = location.rpartition("@")
    option = f"?{unquote(options)}" if options else ""
    return f"{scheme}{between}{_HIDDEN if at else ''}{at}{host}{option}"
