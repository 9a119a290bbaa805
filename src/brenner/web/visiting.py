"""A visit, from a request: what it asks for, and who asks."""

from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import quote

from starlette.requests import Request

from brenner.web.guests import GUEST
from brenner.web.site import Site
from brenner.web.visit import Visit

_HTTPS = "https"


def visit_of(site: Site, request: Request) -> Visit:
    """The visit of whoever it is; nobody has been looked up yet."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    path = path_of(request) + (f"?{query}" if query else "")
    return Visit(
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


def recognised(visit: Visit) -> Visit:
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
