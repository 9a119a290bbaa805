"""What is answered where nothing else could be: a page for browsers, JSON for programs."""

import logging
from collections.abc import Callable, Mapping
from traceback import walk_tb
from types import MappingProxyType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.web import PAGE_FAILED
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.server.refusals import Refusal
from brenner.server.settings import ENDPOINTS
from brenner.web.refused import diagnostic_page, refusal_page
from brenner.web.responding import respond, wants_json
from brenner.web.site import Site
from brenner.web.visiting import visit_of

_READ = "GET, HEAD"
_NOT_FOUND, _NOT_ALLOWED, _FAILED = 404, 405, 500
_HTML = "text/html"
_OURS = "brenner."
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Failures:
    """Answers for one site; the addresses of agents get JSON, whatever they say they accept."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def handlers(self) -> dict[Any, Callable[..., Any]]:
        """By what was raised."""
        return {HTTPException: self.unknown, BrennerError: self.refused, Exception: self.failed}

    async def unknown(self, request: Request, exception: HTTPException) -> Response:
        """An address that is not there, or what cannot be done there, in our words."""
        path = request.url.path
        if exception.status_code == _NOT_ALLOWED:
            allowed = _in_order((exception.headers or _NO_HEADERS).get("Allow", _READ))
            words = {"method": request.method, "path": path, "allowed": allowed}
            found = codes.METHOD_NOT_ALLOWED.at(None, **words)
            return self._answer(request, found, _NOT_ALLOWED, {"Allow": allowed})
        return self._answer(request, codes.NO_SUCH_PAGE.at(path=path), exception.status_code)

    async def refused(self, request: Request, error: BrennerError) -> Response:
        """What no page has caught."""
        return self._answer(request, error.diagnostic, refusal_page(error).status)

    async def failed(self, request: Request, error: Exception) -> Response:
        """A fault of ours. Only its place is told, and only to who runs the server."""
        tell_place(error)
        found = PAGE_FAILED.at(method=request.method, path=request.url.path)
        return self._answer(request, found, _FAILED)

    def _answer(
        self,
        request: Request,
        found: Diagnostic,
        status: int,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> Response:
        if _is_browser(request):
            page = diagnostic_page(found, status)
            response = respond(page, request, visit_of(self._site, request))
        else:
            body = Refusal(status, found).body
            response = Response(body, status, media_type="application/json")
        response.headers.update(headers)
        return response


def _in_order(methods: str) -> str:
    """What stands in a header comes from a set, in any order."""
    return ", ".join(sorted(methods.split(", ")))


def _is_browser(request: Request) -> bool:
    """Whether a person looks at a page of ours."""
    accepted = request.headers.get("accept", "")
    is_for_agents = request.url.path in ENDPOINTS
    return _HTML in accepted and not is_for_agents and not wants_json(request)


def tell_place(error: BaseException) -> None:
    """Log the last place in our own program that an exception came through, and its kind."""
    places = [
        (frame.f_globals.get("__name__", ""), line) for frame, line in walk_tb(error.__traceback__)
    ]
    ours = [place for place in places if place[0].startswith(_OURS)]
    name, line = (ours or places or [(__name__, 0)])[-1]
    logger = logging.getLogger(name)
    about = (type(error), error, error.__traceback__)
    logger.handle(logger.makeRecord(name, logging.ERROR, name, line, "failed", (), about))
