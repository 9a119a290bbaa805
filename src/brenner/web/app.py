"""Routes of the web pages: run page functions in threads, cache what they render, and show the
artifact's file while the store is away.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.codes.artifacts import SHOWN_FROM_FILE
from brenner.diagnostics.codes.web import MAIL_AWAY
from brenner.diagnostics.model import BrennerError, UnavailableError
from brenner.mail.memory import MemoryMailbox
from brenner.web import links
from brenner.web.auth import auth_routes, check_guest_access
from brenner.web.cache import GZIP, PageCache, accepts_gzip
from brenner.web.compare import is_navigation, visit_cookie
from brenner.web.lab.login import LabAuth
from brenner.web.lab.routes import lab_routes
from brenner.web.rendering import assets
from brenner.web.request import (
    Download,
    Page,
    PageFunction,
    RequestContext,
    Site,
    is_https,
    make_context,
    raw_path,
    with_login,
)
from brenner.web.responses import (
    body_response,
    download_body,
    error_page,
    render_body,
    set_cookie,
    to_response,
    wants_json,
)
from brenner.web.sessions import MailCursor, SessionRepository, StoreOutage
from brenner.web.views import (
    artifact,
    decide,
    evidence,
    evidence_pack,
    exports,
    genealogy,
    news,
    overview,
    palette,
    project,
    runs,
    search,
    thread,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from starlette.requests import Request

    from brenner.web.cache import PageKey, ResponseBody


def is_export(context: RequestContext) -> bool:
    """Return whether the request asks for a session as a file: the same for all readers."""
    return "form" in context.parameters


def is_slow(context: RequestContext) -> bool:
    """Return whether the request may take seconds: an export, a verification or an old version."""
    is_verified = context.query.get("verify") == "1"
    return is_export(context) or is_verified or context.query_number("version") is not None


# Pages while the store is away


def page_from_file(
    function: PageFunction, context: RequestContext, outage: StoreOutage
) -> Page | None:
    """Return the page of a session from its artifact file, without mail (dual-source rule).

    Return None if the session has no file, or the page needs mail.
    """
    if "thread" not in context.parameters:
        return None
    site = context.site
    workspace = site.workspace._replace(mailbox=MemoryMailbox())
    offline_site = site._replace(
        workspace=workspace, reading=SessionRepository(workspace, site.reading.store)
    )
    try:
        page = function(context._replace(site=offline_site))
    except BrennerError:
        return None
    if not isinstance(page, Page) or page.status != HTTPStatus.OK:
        return None
    stale: dict[str, object] = {"stale": {**outage.to_json(), "as_of": None}}
    notes = page.document.get("notes")
    if isinstance(notes, list):  # whether the mail has a version is not known while it is away
        stale["notes"] = [each for each in notes if each["id"] != SHOWN_FROM_FILE.id]
    return page._replace(document={**page.document, **stale}, cookies=())


# Endpoints of the pages


_MAX_THREADS = 8
_MAX_SLOW_THREADS = 2  # separate, so that slow requests do not block readers
_EXPORT_TTL = 60.0  # seconds; an export contains its time, and new mail replaces it
_MAX_CACHED_EXPORT = 16 * 1024 * 1024  # bytes
_NO_COOKIES: Mapping[str, str] = MappingProxyType({})
_NEEDS_NO_STORE = (links.CONNECT, links.HELP)
STALE_HEADER = "Brenner-Stale-Since"  # marks a stale page for scripts


class PageEndpoints:
    """Endpoints of the read-only pages of one site. Only the `personal` functions see cookies."""

    def __init__(self, site: Site, personal: Collection[PageFunction]) -> None:
        self._site = site
        self._personal = personal
        self._limiter = anyio.CapacityLimiter(_MAX_THREADS)
        self._slow_limiter = anyio.CapacityLimiter(_MAX_SLOW_THREADS)
        self._page_cache = PageCache()
        self._export_cache = PageCache(ttl=_EXPORT_TTL)

    def get(self, function: PageFunction) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of a read-only page."""

        async def endpoint(request: Request) -> Response:
            if request.scope["path"] in _NEEDS_NO_STORE:
                work = partial(
                    _respond_without_store, function, request, make_context(self._site, request)
                )
                return await anyio.to_thread.run_sync(work, limiter=self._limiter)
            current = await self._site.reading.store.cursor()
            if isinstance(current, StoreOutage):
                return await self._stale_response(function, request, current)
            if self._is_shareable(function, request):
                response = await self._shared_response(function, request, current)
            else:
                rendered = await self._render_in_thread(function, request, current)
                response = (
                    rendered if isinstance(rendered, Response) else body_response(rendered, request)
                )
            _set_visit_cookie(response, request, current.position)
            return response

        return endpoint

    def _is_shareable(self, function: PageFunction, request: Request) -> bool:
        """Return whether all readers get the same response.

        It is not shareable if the request has a login cookie or the page reads cookies.
        """
        lab_auth = self._site.lab_auth
        if is_export(make_context(self._site, request)):
            return True
        return function not in self._personal and (
            lab_auth is None or lab_auth.cookie not in request.cookies
        )

    async def _shared_response(
        self, function: PageFunction, request: Request, cursor: MailCursor
    ) -> Response:
        """Return the page from the cache, or render and cache it.

        A lock per key lets one request render. The others get that page if it contains all mail
        that the store had when they arrived.
        """
        context = make_context(self._site, request)
        page_cache = self._page_cache
        key: PageKey = (context.path, wants_json(request), context.guest_of)
        if is_export(context):
            path = f"{raw_path(request)}?version={context.query_number('version')}"
            page_cache, key = self._export_cache, (path, False, context.guest_of)
        text = page_cache.find(key, cursor)
        if text is not None:
            return body_response(text, request)
        async with page_cache.turn(key):
            text = page_cache.find(key, cursor)
            if text is not None:
                return body_response(text, request)
            now = await self._site.reading.store.cursor()
            if isinstance(now, StoreOutage):
                return await self._stale_response(function, request, now)
            rendered = await self._render_in_thread(function, request, now)
            if isinstance(rendered, Response):
                return rendered
            if page_cache is not self._export_cache or len(rendered.body) <= _MAX_CACHED_EXPORT:
                page_cache.keep(key, now, rendered)
            return body_response(rendered, request)

    async def _render_in_thread(
        self, function: PageFunction, request: Request, cursor: MailCursor
    ) -> ResponseBody | Response:
        """Render the page with the mail up to that cursor. A ResponseBody may be cached."""
        site = self._site._replace(reading=self._site.reading.at(cursor))
        context = make_context(site, request)._replace(is_html=not wants_json(request))
        work = partial(self._render_or_stale, function, request, context)
        limiter = self._slow_limiter if is_slow(context) else self._limiter
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def _stale_response(
        self, function: PageFunction, request: Request, outage: StoreOutage
    ) -> Response:
        context = make_context(self._site, request)
        work = partial(_respond_while_away, function, request, context, outage)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    def _render_or_stale(
        self, function: PageFunction, request: Request, context: RequestContext
    ) -> ResponseBody | Response:
        try:
            if not is_export(context):
                context = with_login(context)
            check_guest_access(context)
            if context.login is not None:
                return to_response(function(context), request, context)
            return self._render(function, request, context)
        except UnavailableError as error:
            outage = context.site.reading.store.mark_lost(error)
            return _respond_while_away(function, request, context, outage)
        except BrennerError as error:
            return to_response(error_page(error), request, context)

    def _render(
        self, function: PageFunction, request: Request, context: RequestContext
    ) -> ResponseBody | Response:
        is_personal = function in self._personal
        # Without cookies, nothing of this browser can get into a page that others receive.
        result = function(context if is_personal else context._replace(cookies=_NO_COOKIES))
        if isinstance(result, Download) and is_export(context):
            text = download_body(result)
            return text.with_gzip() if len(text.body) <= _MAX_CACHED_EXPORT else text
        if not isinstance(result, Page) or result.status != HTTPStatus.OK:
            return to_response(result, request, context)
        text = render_body(result, request, context).with_gzip()
        if not is_personal:
            return text
        response = body_response(text, request)
        for cookie in result.cookies:
            set_cookie(response, cookie, is_secure=is_https(request))
        return response


def _respond_while_away(
    function: PageFunction, request: Request, context: RequestContext, outage: StoreOutage
) -> Response:
    """Return the page from the session's file, else the error page."""
    if context.guest_of is not None:
        outage = outage.for_guests()
    try:
        context = with_login(context)
        check_guest_access(context)
        page = page_from_file(function, context, outage)
    except UnavailableError:  # the login could not be looked up
        page = None
    except BrennerError as error:
        return to_response(error_page(error), request, context)
    response = to_response(page or error_page(outage.error), request, context)
    if page is not None:
        response.headers[STALE_HEADER] = outage.since.isoformat()
    response.headers["Cache-Control"] = "no-store"
    return response


def _set_visit_cookie(response: Response, request: Request, position: int) -> None:
    """Set the cookie that records this visit of a session. It is not part of the cached page."""
    thread_id = request.path_params.get("thread")
    is_page = response.status_code == HTTPStatus.NOT_MODIFIED or response.headers.get(
        "content-type", ""
    ).startswith("text/html")
    is_shown = response.status_code in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED) and is_page
    if not thread_id or not is_shown or "content-disposition" in response.headers:
        return
    if is_navigation(request.headers) and not wants_json(request):
        cookie = visit_cookie(thread_id, request.cookies, position, datetime.now(UTC))
        set_cookie(response, cookie, is_secure=is_https(request))


def _respond_without_store(
    function: PageFunction, request: Request, context: RequestContext
) -> Response:
    try:
        context = with_login(context)
        check_guest_access(context)
        return to_response(function(context), request, context)
    except UnavailableError as error:
        is_guest = context.guest_of is not None
        shown_error = UnavailableError(MAIL_AWAY.at()) if is_guest else error
        return to_response(error_page(shown_error), request, context)
    except BrennerError as error:
        return to_response(error_page(error), request, context)


_SESSION = "/sessions/{thread}"
_IMMUTABLE = MappingProxyType(
    {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
)
# Read-only pages, also without the lab
PAGES: MappingProxyType[str, PageFunction] = MappingProxyType(
    {
        links.HOME: project.page,
        links.SEARCH: search.search_page,
        links.PALETTE: palette.page,
        links.GENEALOGY: genealogy.page,
        links.CONNECT: project.connect_page,
        links.HELP: project.help_page,
        links.SOURCE: project.source_page,
        links.EVIDENCE: evidence_pack.page,
        "/messages/{message:int}": thread.message_page,
        "/messages/{message:int}/raw": thread.raw_page,
        _SESSION: overview.page,
        f"{_SESSION}/overview": overview.page,
        f"{_SESSION}/artifact": artifact.page,
        f"{_SESSION}/items/{{item}}": artifact.item_page,
        f"{_SESSION}/thread": thread.page,
        f"{_SESSION}/versions": versions.page,
        f"{_SESSION}/diff": versions.diff_page,
        f"{_SESSION}/ledger": versions.ledger_page,
        f"{_SESSION}/evidence": evidence.page,
        f"{_SESSION}/excerpts": evidence_pack.session_page,
        f"{_SESSION}/agents": project.agents_page,
        f"{_SESSION}/decide": decide.page,
        f"{_SESSION}/news": news.page,
        f"{_SESSION}/search": search.search_page,
        f"{_SESSION}/palette": palette.page,
        f"{_SESSION}/runs/{{run}}/{{log}}": runs.log_page,
        f"{_SESSION}/export/{{form}}": exports.page,
    }
)
# Pages that depend on cookies; all others are the same for all readers
PERSONAL: frozenset[PageFunction] = frozenset({versions.page, versions.diff_page, news.page})


def routes(site: Site) -> list[BaseRoute]:
    """Return all routes. Those of the lab exist only if it is on."""
    if site.is_lab and site.lab_auth is None:
        site = site._replace(lab_auth=LabAuth(site.workspace))
    endpoints = PageEndpoints(site, PERSONAL)
    pages = [Route(path, endpoints.get(function)) for path, function in PAGES.items()]
    lab = lab_routes(site) if site.is_lab else []
    return [Route("/assets/{digest}/{name}", _asset), *pages, *lab, *auth_routes(site)]


async def _asset(request: Request) -> Response:
    """Return the static file with that digest. A file of an earlier release is not found."""
    asset = assets().get("{digest}/{name}".format(**request.path_params))
    if asset is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        headers = {**_IMMUTABLE, "Content-Encoding": GZIP}
        return Response(asset.gzipped, HTTPStatus.OK, headers, asset.media_type)
    return Response(asset.body, HTTPStatus.OK, _IMMUTABLE, asset.media_type)
