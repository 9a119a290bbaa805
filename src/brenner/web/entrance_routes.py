"""The addresses at which browsers come in, where the server wants a token."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.model import BrennerError
from brenner.web import links
from brenner.web.forms import read_form
from brenner.web.page import Answer, Page
from brenner.web.refused import diagnostic_page
from brenner.web.responding import respond
from brenner.web.site import Site
from brenner.web.tries import wait_header
from brenner.web.visit import Visit
from brenner.web.visiting import visit_of

_Work = Callable[[Visit, str], Answer]
_MOST_AT_ONCE = 4


def entrance_routes(site: Site) -> list[BaseRoute]:
    """All of them; none where everybody may come in."""
    entrance = site.entrance
    if entrance is None:
        return []
    limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)
    made = partial(_endpoint, site, limiter)
    return [
        Route(links.ENTER, made(lambda visit, _: entrance.page(visit)), methods=["GET"]),
        Route(links.ENTER, made(entrance.enter), methods=["POST"]),
        Route(f"{links.GUEST}/{{signed}}", made(lambda visit, _: entrance.guest(visit))),
    ]


def _endpoint(
    site: Site, limiter: anyio.CapacityLimiter, work: _Work
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        run = partial(_answer, site, work, request, await request.body())
        return await anyio.to_thread.run_sync(run, limiter=limiter)

    return endpoint


def _answer(site: Site, work: _Work, request: Request, body: bytes) -> Response:
    visit = _unnamed(visit_of(site, request))
    address = request.client.host if request.client else ""
    try:
        if body:
            visit = visit._replace(form=read_form(body))
        answer = work(visit, address)
    except BrennerError as error:
        answer = diagnostic_page(error.diagnostic, HTTPStatus.FORBIDDEN)
    response = respond(answer, request, visit)
    if isinstance(answer, Page):
        response.headers.update(wait_header(answer.document.get("wait")))
    return response


def _unnamed(visit: Visit) -> Visit:
    """The visit of somebody who is not in yet: she is not told whose project it is."""
    site = visit.site
    unnamed = site._replace(about=site.about._replace(name="Brenner"), is_lab=False)
    return visit._replace(site=unnamed, guest_of=frozenset())
