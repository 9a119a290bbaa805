"""What all pages have in common: whose project it is, and how it is served."""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote

from starlette.requests import Request

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.web import FORM_UNREADABLE
from brenner.diagnostics.model import RequestError
from brenner.services.workspace import Workspace
from brenner.web.sessions import SessionRepository

if TYPE_CHECKING:
    from brenner.web.auth import BrowserAuth
    from brenner.web.lab.login import LabAuth, Login
    from brenner.web.sessions import Session


class Client(NamedTuple):
    """The program of an agent, and the command that prints what belongs into its settings."""

    name: str
    command: str


class About(NamedTuple):
    """What the pages say of the server. Nothing of it is secret."""

    name: str
    folder: str
    store: str
    endpoint: str
    is_strict: bool
    wants_token: bool = False
    clients: tuple[Client, ...] = ()
    remark: str = ""


class Site(NamedTuple):
    """The pages of one project.

    Where the operator can act on them, there is a door to the lab; where the server wants a token,
    there is an entrance for browsers.
    """

    workspace: Workspace
    about: About
    reading: SessionRepository
    is_lab: bool = False
    door: "LabAuth | None" = None
    entrance: "BrowserAuth | None" = None


# One request for a page: what it asks for, of which project, and when.


_NOTHING: Mapping[str, str] = MappingProxyType({})


class RequestContext(NamedTuple):
    """What a page function gets.

    `named` is what the address names (`thread`, `item`, `message`), `asked` what stands behind its
    question mark; `form` and `sent` are what was sent, by a form or as JSON. `login` is there
    where the operator has logged in. `guest_of` are the threads that somebody may see who came by
    a link; None for everybody else.
    """

    site: "Site"
    path: str
    now: datetime
    named: Mapping[str, str] = _NOTHING
    asked: Mapping[str, str] = _NOTHING
    cookies: Mapping[str, str] = _NOTHING
    form: Mapping[str, str] = _NOTHING
    sent: object = None
    login: "Login | None" = None
    guest_of: frozenset[str] | None = None

    @property
    def thread_id(self) -> str:
        """The thread that the address names."""
        return self.named["thread"]

    @property
    def session(self) -> "Session":
        """The session that the address names, as it stands now; an unknown one is refused."""
        return self.site.reading.session(self.thread_id)

    def may_see(self, thread_id: str) -> bool:
        """Whether a session may be told of: a guest sees only those that she has links to."""
        return self.guest_of is None or thread_id in self.guest_of

    def number(self, name: str) -> int | None:
        """A number that was asked for; None where there is none, or no number."""
        text = self.asked.get(name, "")
        return (
            int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None
        )


_MOST_DIGITS = 9


# Ways in for browsers, which cannot send the server's token as programs do.
#
# Who has the token types it in once and gets a cookie that proves it. A guest gets a link to one
# session. Both are signed with the token: the server keeps nothing, and with another token they are
# worth nothing.


GUEST = "brenner.guest"  # under which the gate hands on which threads a guest may see
GUEST_UNTIL = "brenner.guest_until"  # and until when, by thread
GUEST_COOKIES = "brenner_guest_"
ENTRY_SECONDS = 30 * 24 * 3600
_NAME, _ENTRY, _LINK = "name", "entry", "link"
_MOST_LINKS = 50
_MOST_CHARACTERS = 4_000
_DIGITS = 12
_PARTS = 3


def entry_cookie(token: str) -> str:
    """The name of the cookie: servers with other tokens on the same machine have others."""
    return f"brenner_entry_{_signature(token, _NAME, '')[:_DIGITS]}"


def entry(token: str, now: datetime) -> str:
    """The proof that somebody has shown the token, good for a month."""
    until = int(now.timestamp()) + ENTRY_SECONDS
    return f"{until}.{_signature(token, _ENTRY, str(until))}"


def is_entry(token: str, cookie: str, now: datetime) -> bool:
    """Whether a cookie is such a proof."""
    until, _, signature = cookie.partition(".")
    expected = _signature(token, _ENTRY, until)
    is_right = hmac.compare_digest(_bytes(signature), expected.encode())
    return is_right and _is_ahead(until, now)


def link(token: str, thread_id: str, until: datetime) -> str:
    """What a link to a session ends with."""
    name = urlsafe_b64encode(thread_id.encode()).decode().rstrip("=")
    seconds = str(int(until.timestamp()))
    return f"{name}.{seconds}.{_signature(token, _LINK, f'{name}.{seconds}')}"


def linked(token: str, signed: str, now: datetime) -> tuple[str, datetime]:
    """The thread that a link opens, and until when; one that was changed or is old is refused."""
    parts = signed.split(".")
    if len(parts) != _PARTS or len(signed) > _MOST_CHARACTERS:
        raise RequestError(codes.LINK_BROKEN.at())
    name, seconds, signature = parts
    expected = _signature(token, _LINK, f"{name}.{seconds}")
    if not hmac.compare_digest(_bytes(signature), expected.encode()):
        raise RequestError(codes.LINK_BROKEN.at())
    until = datetime.fromtimestamp(int(seconds), UTC)
    if until <= now:
        raise RequestError(codes.LINK_EXPIRED.at(until=f"{until:%Y-%m-%d %H:%M} UTC"))
    return urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode(), until


def guest_cookie(thread_id: str) -> str:
    """The name of the cookie for a thread: who has several links keeps them all."""
    digest = sha256(thread_id.encode(errors="surrogatepass")).hexdigest()
    return f"{GUEST_COOKIES}{digest[:_DIGITS]}"


def threads_of_guest(token: str, cookies: Mapping[str, str], now: datetime) -> dict[str, datetime]:
    """The threads that somebody has links to, and until when."""
    given = [value for name, value in cookies.items() if name.startswith(GUEST_COOKIES)]
    found: dict[str, datetime] = {}
    for thread_id, until in _good(token, given[:_MOST_LINKS], now):
        found[thread_id] = max(until, found.get(thread_id, until))
    return found


def _good(token: str, links: Iterable[str], now: datetime) -> Iterable[tuple[str, datetime]]:
    for each in links:
        try:
            yield linked(token, each, now)
        except RequestError:
            continue


def _signature(token: str, purpose: str, text: str) -> str:
    """One for each purpose: no proof stands for another."""
    words = f"brenner {purpose} {text}".encode(errors="surrogatepass")
    return hmac.new(token.encode(), words, sha256).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _is_ahead(seconds: str, now: datetime) -> bool:
    return int(seconds) > now.timestamp()


# A visit, from a request: what it asks for, and who asks.


_HTTPS = "https"


def visit_of(site: Site, request: Request) -> RequestContext:
    """The visit of whoever it is; nobody has been looked up yet."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    path = path_of(request) + (f"?{query}" if query else "")
    return RequestContext(
        site,
        path,
        datetime.now(UTC),
        MappingProxyType(dict(request.path_params)),
        MappingProxyType(dict(request.query_params)),
        MappingProxyType(dict(request.cookies)),
        guest_of=request.scope.get(GUEST),
    )


def path_of(request: Request) -> str:
    """The path as it was sent: one with a `%3F` in it is not one that ends there."""
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    return raw.partition(b"?")[0].decode("latin-1")


def recognised(visit: RequestContext) -> RequestContext:
    """The visit with the operator's login, if there is a lab and she is in.

    It asks the store, unless that is known to be away.
    """
    door = visit.site.door
    if door is None:
        return visit
    is_away = visit.site.reading.store.absence is not None
    return visit._replace(login=door.login_to_read(visit.cookies, is_away=is_away))


def is_https(request: Request) -> bool:
    """Whether the browser came by TLS, which ends at a proxy before us.

    Who claims it wrongly gets cookies that her browser does not send back: it harms nobody else.
    """
    origin, proxy = request.headers.get("origin", ""), request.headers.get("x-forwarded-proto", "")
    return _HTTPS in (request.url.scheme, origin.partition(":")[0], proxy.strip().lower())


# What an address answers with: a page, a file, or another address.
#
# A page is a document and a template that typesets it. The document is what scripts get as JSON, so
# nothing can stand on a page that they do not get, and nobody has to keep the two alike.


Document: TypeAlias = Mapping[str, object]
_YEAR = 365 * 24 * 3600


class Cookie(NamedTuple):
    """Something that the browser keeps for us: only for addresses below `path`, never for scripts.

    An empty value takes it away.
    """

    name: str
    value: str
    path: str = "/"
    seconds: int | None = _YEAR
    is_strict: bool = False


class Page(NamedTuple):
    """A document, and the template that it is shown with.

    `is_live` pages are asked for again when there is news.
    """

    template: str
    title: str
    document: Document
    status: int = HTTPStatus.OK
    cookies: tuple[Cookie, ...] = ()
    is_live: bool = True


class Download(NamedTuple):
    """A text that is not one of our pages; with a file name it is saved, else shown.

    One that `is_shown` all the same has its name for who saves it.
    """

    text: str
    media_type: str
    file_name: str = ""
    policy: str = ""
    is_shown: bool = False


class Redirect(NamedTuple):
    """Go there instead; by GET, whatever was asked by."""

    to: str
    cookies: tuple[Cookie, ...] = ()


Answer: TypeAlias = Page | Download | Redirect
PageFunction: TypeAlias = Callable[[RequestContext], Answer]


# What a form has sent: fields by their names, from a browser or as JSON from a script.


TOKEN, ONCE = "token", "once"
URLENCODED, JSON = "application/x-www-form-urlencoded", "application/json"
_MOST_FIELDS = 2_000
_FORMS_MOST_DIGITS = 18
_OURS = frozenset({TOKEN, ONCE})
_TICK = "yes"
_NOT_UTF8, _NO_JSON, _NO_OBJECT = "it is not UTF-8", "it is no JSON", "it is no JSON object"
_TOO_MANY = f"it has more than {_MOST_FIELDS} fields"
_TWICE = "a key stands twice in one object"
_HALF = "it has half a character in it (a lone surrogate)"


class Form(Mapping[str, str]):
    """The first value of each field; `many` gives all values of one that stands there often."""

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

    def many(self, name: str) -> tuple[str, ...]:
        """All values of a field, in their order."""
        return self._fields.get(name, ())

    def including(self, name: str, value: str) -> "Form":
        """The same with one field that has this value, whatever it had."""
        others = [(key, each) for key, values in self._fields.items() for each in values]
        return Form([(name, value), *(field for field in others if field[0] != name)])

    @property
    def content(self) -> str:
        """What tells one content from another; the marks of the form itself do not count."""
        told = sorted((name, each) for name, each in self._fields.items() if name not in _OURS)
        return sha256(json.dumps(told).encode()).hexdigest()

    @property
    def typed(self) -> tuple[tuple[str, str], ...]:
        """Every field with every value, without the marks of the form itself."""
        return tuple(
            (name, value)
            for name, values in self._fields.items()
            for value in values
            if name not in _OURS
        )


def many(visit: RequestContext, name: str) -> tuple[str, ...]:
    """All values of a field of a form."""
    form = visit.form
    if isinstance(form, Form):
        return form.many(name)
    return (form[name],) if name in form else ()


def read_form(body: bytes) -> Form:
    """The fields that a browser sends. Lines end as they do everywhere else."""
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
            errors="strict",
        )
    except UnicodeDecodeError:
        raise _unreadable(_NOT_UTF8) from None
    except ValueError:
        raise _unreadable(_TOO_MANY) from None
    return Form((name, _lines(value)) for name, value in fields)


def read_json(body: bytes) -> tuple[Form, object]:
    """The fields that a script sends as one object, and the object itself."""
    try:
        document = json.loads(body, object_pairs_hook=_each_once, parse_constant=_no_number)
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _unreadable(_HALF) from None
    except (ValueError, RecursionError):
        raise _unreadable(_NO_JSON) from None
    if not isinstance(document, dict):
        raise _unreadable(_NO_OBJECT)
    return Form(_fields(document)), document


def content_of(sent: Mapping[str, object]) -> str:
    """What tells one object from another, however deep; its own marks do not count."""
    told = {name: value for name, value in sent.items() if name not in _OURS}
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def is_number(text: str) -> bool:
    """Whether it is a number, in plain digits."""
    return text.isascii() and text.isdigit() and len(text) <= _FORMS_MOST_DIGITS


def number_in(form: Mapping[str, str], name: str) -> int | None:
    """A number that a form bears; None where it does not. Anything else there is refused: who
    sends a guard that cannot be read has looked at something, and nobody knows at what.
    """
    given = form.get(name)
    if given is None:
        return None
    if not is_number(given):
        reason = f"`{name}` is no number"
        raise _unreadable(reason)
    return int(given)


def is_ticked(form: Mapping[str, str], name: str) -> bool:
    """Whether a box is ticked; what is neither a tick nor none is refused."""
    given = form.get(name, "")
    if given not in ("", _TICK):
        reason = f"`{name}` is neither `{_TICK}` nor empty"
        raise _unreadable(reason)
    return bool(given)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys each stand there once: of two that differ one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _unreadable(_TWICE)
    return found


def _no_number(name: str) -> object:
    raise ValueError(name)


def _fields(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What a form could have sent as well; anything else is only in the object."""
    for name, value in document.items():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, bool):
                yield from [(name, _TICK)] if each else []
            elif isinstance(each, str | int | float):
                yield name, _lines(str(each))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(reason: str) -> RequestError:
    return RequestError(FORM_UNREADABLE.at(reason=reason))
