"""One request to the web pages: the site, the request context, form parsing, signed cookies and
guest links, and the results of page functions.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qsl, quote

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.web import FORM_UNREADABLE
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.sealed import SealedMailbox
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from starlette.requests import Request

    from brenner.services.workspace import Workspace
    from brenner.web.auth import BrowserAuth
    from brenner.web.cache import LRUCache
    from brenner.web.lab.login import LabAuth, Login
    from brenner.web.sessions import Session, SessionRepository


class ServerInfo(NamedTuple):
    """What the pages show of the server. It contains no secret.

    `clients` are agents' programs, each with the command that prints its settings.
    """

    name: str
    folder: str
    store: str
    endpoint: str
    is_strict: bool
    wants_token: bool = False
    clients: tuple[tuple[str, str], ...] = ()
    remark: str = ""


class Site(NamedTuple):
    """The web pages of one project.

    `lab_auth` is set if the operator can act on the pages, `browser_auth` if the server requires a
    token. `workspace` and `reading` are for readers that have not logged in: sealed mail is sealed
    there (R33). Those of the operator are `unsealed`; without it, they are the same.
    """

    workspace: Workspace
    about: ServerInfo
    reading: SessionRepository
    is_lab: bool = False
    lab_auth: LabAuth | None = None
    browser_auth: BrowserAuth | None = None
    unsealed: tuple[Workspace, SessionRepository] | None = None

    def for_operator(self) -> Site:
        """Return the site as the operator reads it. While nothing is sealed, all share a cache."""
        mailbox = self.workspace.mailbox
        if self.unsealed is None or not isinstance(mailbox, SealedMailbox):
            return self
        with suppress(UnavailableError):  # then the page comes from a file
            if not mailbox.has_sealed():
                return self
        workspace, reading = self.unsealed
        if self.reading.cursor is not None:
            reading = reading.at(self.reading.cursor)
        return self._replace(workspace=workspace, reading=reading)


# The request context


_EMPTY: Mapping[str, str] = MappingProxyType({})


class RequestContext(NamedTuple):
    """What a page function gets.

    `parameters` are the path parameters (`thread`, `item`, `message`), `query` the query
    parameters. `form` and `sent` are the request body, as form fields and as JSON. `login` is set
    if the operator is logged in. `guest_of` are the threads that a guest may see; it is None for
    all others. `is_html` if a browser asks: then a page may leave out of its document what its HTML
    does not show.
    """

    site: Site
    path: str
    now: datetime
    parameters: Mapping[str, str] = _EMPTY
    query: Mapping[str, str] = _EMPTY
    cookies: Mapping[str, str] = _EMPTY
    form: Mapping[str, str] = _EMPTY
    sent: object = None
    login: Login | None = None
    guest_of: frozenset[str] | None = None
    is_html: bool = False

    @property
    def thread_id(self) -> str:
        return self.parameters["thread"]

    @property
    def session(self) -> Session:
        """The current session that the path names. Raises RequestError if it is unknown."""
        return self.site.reading.session(self.thread_id)

    def may_see(self, thread_id: str) -> bool:
        """Return whether the reader may see a session. A guest sees only the linked ones."""
        return self.guest_of is None or thread_id in self.guest_of

    def query_number(self, name: str) -> int | None:
        """Return a query parameter as a number, or None if it is missing or not a number."""
        text = self.query.get(name, "")
        return (
            int(text)
            if text.isascii() and text.isdigit() and len(text) <= _MAX_QUERY_DIGITS
            else None
        )


_MAX_QUERY_DIGITS = 9


# Signed cookies and guest links for browsers, which cannot send the token in a header.
#
# The holder of the token types it once and gets a cookie. A guest gets a link to one session. Both
# are signed with the token: the server stores nothing, and a new token invalidates them.


GUEST_SCOPE = "brenner.guest"  # ASGI scope key of the threads that a guest may see
GUEST_EXPIRY_SCOPE = "brenner.guest_until"  # ASGI scope key of their expiry
GUEST_COOKIE_PREFIX = "brenner_guest_"
TOKEN_COOKIE_SECONDS = 30 * 24 * 3600
_COOKIE_NAME_PURPOSE, _TOKEN_COOKIE_PURPOSE, _GUEST_LINK_PURPOSE = "name", "entry", "link"
_MAX_GUEST_LINKS = 50
_MAX_LINK_LENGTH = 4_000
_COOKIE_NAME_DIGITS = 12
_LINK_PARTS = 3


def token_cookie_name(token: str) -> str:
    """Return the cookie name. It depends on the token, as servers on one host share cookies."""
    return f"brenner_entry_{_signature(token, _COOKIE_NAME_PURPOSE, '')[:_COOKIE_NAME_DIGITS]}"


def sign_token_cookie(token: str, now: datetime) -> str:
    """Return a cookie which proves for a month that the browser has shown the token."""
    until = int(now.timestamp()) + TOKEN_COOKIE_SECONDS
    return f"{until}.{_signature(token, _TOKEN_COOKIE_PURPOSE, str(until))}"


def is_token_cookie(token: str, cookie: str, now: datetime) -> bool:
    """Return whether a cookie is signed with the token and has not expired."""
    until, _, signature = cookie.partition(".")
    expected = _signature(token, _TOKEN_COOKIE_PURPOSE, until)
    is_right = hmac.compare_digest(_encode(signature), expected.encode())
    return is_right and int(until) > now.timestamp()


def guest_link(token: str, thread_id: str, until: datetime) -> str:
    """Return the last path segment of a guest link to a session."""
    name = urlsafe_b64encode(thread_id.encode()).decode().rstrip("=")
    seconds = str(int(until.timestamp()))
    return f"{name}.{seconds}.{_signature(token, _GUEST_LINK_PURPOSE, f'{name}.{seconds}')}"


def verify_guest_link(token: str, signed: str, now: datetime) -> tuple[str, datetime]:
    """Return thread and expiry of a guest link. Raise RequestError if altered or expired."""
    parts = signed.split(".")
    if len(parts) != _LINK_PARTS or len(signed) > _MAX_LINK_LENGTH:
        raise RequestError(codes.LINK_BROKEN.at())
    name, seconds, signature = parts
    expected = _signature(token, _GUEST_LINK_PURPOSE, f"{name}.{seconds}")
    if not hmac.compare_digest(_encode(signature), expected.encode()):
        raise RequestError(codes.LINK_BROKEN.at())
    until = datetime.fromtimestamp(int(seconds), UTC)
    if until <= now:
        raise RequestError(codes.LINK_EXPIRED.at(until=f"{until:%Y-%m-%d %H:%M} UTC"))
    return urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode(), until


def guest_cookie_name(thread_id: str) -> str:
    """Return the cookie name for a thread. A guest with several links has several cookies."""
    digest = sha256(thread_id.encode(errors="surrogatepass")).hexdigest()
    return f"{GUEST_COOKIE_PREFIX}{digest[:_COOKIE_NAME_DIGITS]}"


def guest_threads(token: str, cookies: Mapping[str, str], now: datetime) -> dict[str, datetime]:
    given = [value for name, value in cookies.items() if name.startswith(GUEST_COOKIE_PREFIX)]
    found: dict[str, datetime] = {}
    for each in given[:_MAX_GUEST_LINKS]:
        with suppress(RequestError):
            thread_id, until = verify_guest_link(token, each, now)
            found[thread_id] = max(until, found.get(thread_id, until))
    return found


def _signature(token: str, purpose: str, text: str) -> str:
    """Return the HMAC of a text. The purpose is part of it, so that proofs are not exchanged."""
    words = f"brenner {purpose} {text}".encode(errors="surrogatepass")
    return hmac.new(token.encode(), words, sha256).hexdigest()


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


# From a Starlette request to a context


_HTTPS = "https"


def make_context(site: Site, request: Request) -> RequestContext:
    """Return the context of a request. The login is not looked up yet."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    path = raw_path(request) + (f"?{query}" if query else "")
    return RequestContext(
        site,
        path,
        datetime.now(UTC),
        MappingProxyType(dict(request.path_params)),
        MappingProxyType(dict(request.query_params)),
        MappingProxyType(dict(request.cookies)),
        guest_of=request.scope.get(GUEST_SCOPE),
    )


def raw_path(request: Request) -> str:
    """Return the path as it was sent, so that `%3F` is not mistaken for the start of the query."""
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    return raw.partition(b"?")[0].decode("latin-1")


def with_login(context: RequestContext) -> RequestContext:
    """Return the context with the operator's login, if the lab is on and the operator is logged
    in.

    This asks the store, unless it is known to be away.
    """
    auth = context.site.lab_auth
    if auth is None:
        return context
    is_away = context.site.reading.store.outage is not None
    return as_operator(context, auth.login_to_read(context.cookies, is_away=is_away))


def as_operator(context: RequestContext, login: Login | None) -> RequestContext:
    """Return the context with a login, and with the mail that the operator may read."""
    site = context.site if login is None else context.site.for_operator()
    return context._replace(site=site, login=login)


def is_https(request: Request) -> bool:
    """Return whether the browser uses TLS, which a proxy may terminate.

    A false claim gives only the claiming browser cookies that it does not send back.
    """
    origin, proxy = request.headers.get("origin", ""), request.headers.get("x-forwarded-proto", "")
    return _HTTPS in (request.url.scheme, origin.partition(":")[0], proxy.strip().lower())


# Results of page functions.
#
# A page is a document and a template. Scripts get the document as JSON, so a page cannot show
# anything that scripts do not get.


Document: TypeAlias = Mapping[str, object]
_YEAR = 365 * 24 * 3600


class Cookie(NamedTuple):
    """A cookie for addresses below `path`, hidden from scripts. An empty value deletes it."""

    name: str
    value: str
    path: str = "/"
    seconds: int | None = _YEAR
    is_strict: bool = False


class PartCache(NamedTuple):
    """Rendered parts of pages, and what the parts of this page depend on."""

    html: LRUCache[str]
    key: Hashable

    def get(self, name: str, render: Callable[[], str]) -> str:
        """Return the part of a name, rendered if it is missing."""
        return self.html.get((self.key, name), render)


class Page(NamedTuple):
    """A document and the template that renders it. Scripts get the document as JSON.

    An `is_live` page reloads itself when new mail arrives. `parts` caches parts of the HTML that
    cost much (see `kept` in `render_html`); its keys contain all that such a part depends on.
    """

    template: str
    title: str
    document: Document
    status: int = HTTPStatus.OK
    cookies: tuple[Cookie, ...] = ()
    is_live: bool = True
    parts: PartCache | None = None


class Download(NamedTuple):
    """A text that is not one of our pages. It is saved if it has a file name, else shown.

    With `is_inline` it is shown, and the name is used if the reader saves it.
    """

    text: str
    media_type: str
    file_name: str = ""
    policy: str = ""
    is_inline: bool = False


class Redirect(NamedTuple):
    """A redirect to another address, by GET."""

    to: str
    cookies: tuple[Cookie, ...] = ()


PageResult: TypeAlias = Page | Download | Redirect
PageFunction: TypeAlias = Callable[[RequestContext], PageResult]


# Form fields, from a browser or as JSON from a script


CSRF_FIELD, KEY_FIELD = "token", "once"
FORM_TYPE, JSON_TYPE = "application/x-www-form-urlencoded", "application/json"
_MAX_FIELDS = 2_000
_MAX_FORM_DIGITS = 18
_OWN_FIELDS = frozenset({CSRF_FIELD, KEY_FIELD})
_CHECKED = "yes"
_NOT_UTF8, _NO_JSON, _NO_OBJECT = "it is not UTF-8", "it is not JSON", "it is not a JSON object"
_TOO_MANY_FIELDS = f"it contains more than {_MAX_FIELDS} fields"
_DUPLICATE_KEY = "an object contains the same key twice"
_LONE_SURROGATE = "it contains half a character (a lone surrogate)"


class Form(Mapping[str, str]):
    """Form fields. Indexing gives the first value of a field, `get_all` all of them."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields: dict[str, tuple[str, ...]] = {}
        for name, value in fields:
            self._fields[name] = (*self._fields.get(name, ()), value)

    def __getitem__(self, name: str) -> str:
        return self._fields[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return all values of a field, in order."""
        return self._fields.get(name, ())

    def with_field(self, name: str, value: str) -> Form:
        others = [(key, each) for key, values in self._fields.items() for each in values]
        return Form([(name, value), *(field for field in others if field[0] != name)])

    @property
    def content(self) -> str:
        """A digest of the fields, without the CSRF token and the idempotency key."""
        content = sorted(
            (name, each) for name, each in self._fields.items() if name not in _OWN_FIELDS
        )
        return sha256(json.dumps(content).encode()).hexdigest()

    @property
    def typed(self) -> tuple[tuple[str, str], ...]:
        """All fields and values, without the CSRF token and the idempotency key."""
        return tuple(
            (name, value)
            for name, values in self._fields.items()
            for value in values
            if name not in _OWN_FIELDS
        )


def form_values(context: RequestContext, name: str) -> tuple[str, ...]:
    form = context.form
    if isinstance(form, Form):
        return form.get_all(name)
    return (form[name],) if name in form else ()


def parse_form(body: bytes) -> Form:
    """Parse a form body. CRLF and CR become LF."""
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=_MAX_FIELDS,
            errors="strict",
        )
    except UnicodeDecodeError:
        raise _unreadable(_NOT_UTF8) from None
    except ValueError:
        raise _unreadable(_TOO_MANY_FIELDS) from None
    return Form((name, _normalise_newlines(value)) for name, value in fields)


def parse_json(body: bytes) -> tuple[Form, object]:
    """Parse a JSON object from a script. Return its fields as a form, and the object itself."""
    try:
        document = json.loads(
            body, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant
        )
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _unreadable(_LONE_SURROGATE) from None
    except (ValueError, RecursionError):
        raise _unreadable(_NO_JSON) from None
    if not isinstance(document, dict):
        raise _unreadable(_NO_OBJECT)
    return Form(_form_fields(document)), document


def json_digest(sent: Mapping[str, object]) -> str:
    """Return a digest of an object, without the CSRF token and the idempotency key."""
    content = {name: value for name, value in sent.items() if name not in _OWN_FIELDS}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_digits(text: str) -> bool:
    """Return whether a text is a number in ASCII digits."""
    return text.isascii() and text.isdigit() and len(text) <= _MAX_FORM_DIGITS


def form_number(form: Mapping[str, str], name: str) -> int | None:
    """Return a number from a form, or None if the field is missing.

    Raise RequestError if it is not a number: a guard that cannot be read must not be ignored.
    """
    given = form.get(name)
    if given is None:
        return None
    if not is_digits(given):
        reason = f"`{name}` is not a number"
        raise _unreadable(reason)
    return int(given)


def is_checked(form: Mapping[str, str], name: str) -> bool:
    """Return whether a checkbox is checked. Raise RequestError for any other value."""
    given = form.get(name, "")
    if given not in ("", _CHECKED):
        reason = f"`{name}` is neither `{_CHECKED}` nor empty"
        raise _unreadable(reason)
    return bool(given)


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object, or raise RequestError if a key occurs twice: one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _unreadable(_DUPLICATE_KEY)
    return found


def _reject_constant(name: str) -> object:
    raise ValueError(name)


def _form_fields(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the values that a form could have sent as well. Others stay only in the object."""
    for name, value in document.items():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, bool):
                yield from [(name, _CHECKED)] if each else []
            elif isinstance(each, str | int | float):
                yield name, _normalise_newlines(str(each))


def _normalise_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(reason: str) -> RequestError:
    return RequestError(FORM_UNREADABLE.at(reason=reason))
