"""Every address of the web page, and what answers there."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.diagnostics.codes.web import MAIL_AWAY
from brenner.diagnostics.model import BrennerError, UnavailableError
from brenner.mail.memory import MemoryMailbox
from brenner.web import links
from brenner.web.auth import check_guest, entrance_routes
from brenner.web.cache import (
    PACKED,
    Asked,
    Key,
    LastGoodCache,
    PageCache,
    Text,
    stale,
    takes_packed,
)
from brenner.web.compare import Moment, is_look, marked
from brenner.web.lab.login import LabAuth
from brenner.web.lab.routes import lab_routes
from brenner.web.rendering import assets
from brenner.web.request import (
    Answer,
    Download,
    Page,
    PageFunction,
    RequestContext,
    Site,
    is_https,
    path_of,
    recognised,
    visit_of,
)
from brenner.web.responses import (
    file_of,
    refusal_page,
    respond,
    response_of,
    set_cookie,
    text_of,
    wants_json,
)
from brenner.web.sessions import Absence, Place, SessionRepository
from brenner.web.views import artifact, exports, project, thread, versions

# What takes seconds: it has a lane of its own, so that nobody who reads a page waits for it.
#
# A file of a whole session, a version of long ago, or all versions rebuilt: of a large session each
# takes as long as hundreds of pages. Few are made at once, few wait, and the others are told to
# come
# again.


AT_ONCE = 2
MOST_WAITING = 6
AGAIN_AFTER = 15  # seconds, after which one is told to come again

_T = TypeVar("_T")


def is_file(visit: RequestContext) -> bool:
    """Whether a session is asked for as a file: the same for everybody who may see it."""
    return "form" in visit.named


def is_dear(visit: RequestContext) -> bool:
    """Whether it may take seconds."""
    is_verified = visit.asked.get("verify") == "1"
    return is_file(visit) or is_verified or visit.number("version") is not None


class Lane:
    """Runs such work in threads. Only from the thread of the loop."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._taken_on = 0

    async def run(self, work: Callable[[], _T]) -> _T:
        """What comes of it; where too many wait already it is not begun."""
        if self._taken_on >= AT_ONCE + MOST_WAITING:
            raise UnavailableError(SERVER_BUSY.at())
        self._taken_on += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._taken_on -= 1


# A session while the store is away, as its file in `artifacts/` tells of it (dual-source rule).


def from_files(function: PageFunction, visit: RequestContext, absence: Absence) -> Page | None:
    """The page as it is without any mail; None where there is nothing to show then."""
    if "thread" not in visit.named:
        return None
    site = visit.site
    workspace = site.workspace._replace(mailbox=MemoryMailbox())
    without = site._replace(
        workspace=workspace, reading=SessionRepository(workspace, site.reading.store)
    )
    try:
        page = function(visit._replace(site=without))
    except BrennerError:
        return None
    is_good = isinstance(page, Page) and page.status == HTTPStatus.OK
    return stale(page, absence, None) if is_good and isinstance(page, Page) else None


# From a request to an answer: a page function runs in a thread, and its page is written there.


_MOST_AT_ONCE = 8
_FILE_LIFE = 60.0  # seconds; a file says when it was made, and new mail makes another one
_MOST_FILE = 16 * 1024 * 1024  # bytes of one that is kept
_NO_COOKIES: Mapping[str, str] = MappingProxyType({})
_NEEDS_NO_STORE = (links.CONNECT, links.HELP)
STALE = "Brenner-Stale-Since"  # a page of an earlier time says so to scripts as well


class Answering:
    """Answers requests for pages of one site. Of these only the `personal` ones see cookies."""

    def __init__(self, site: Site, personal: Collection[PageFunction]) -> None:
        self._site = site
        self._personal = personal
        self._limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)
        self._lane = Lane()
        self._written = PageCache()
        self._files = PageCache(life=_FILE_LIFE)
        self._last_good = LastGoodCache()

    def get(self, function: PageFunction) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of a page that is only read."""

        async def endpoint(request: Request) -> Response:
            if request.scope["path"] in _NEEDS_NO_STORE:
                work = partial(_alone, function, request, visit_of(self._site, request))
                return await anyio.to_thread.run_sync(work, limiter=self._limiter)
            found = await self._site.reading.store.place()
            if isinstance(found, Absence):
                return await self._stale(function, request, found)
            if self._is_alike(function, request):
                response = await self._shared(function, request, found)
            else:
                made = await self._made(function, request, found)
                response = made if isinstance(made, Response) else response_of(made, request)
            _note_look(response, request, found.position)
            return response

        return endpoint

    def _is_alike(self, function: PageFunction, request: Request) -> bool:
        """Whether everybody gets the same: not who is logged in, nor where cookies are read."""
        door = self._site.door
        if is_file(visit_of(self._site, request)):
            return True
        return function not in self._personal and (
            door is None or door.cookie not in request.cookies
        )

    async def _shared(self, function: PageFunction, request: Request, place: Place) -> Response:
        """The page, from memory where somebody has just asked for the same.

        One is written at a time: whoever has asked meanwhile gets that one, if it has all mail that
        there was when she asked.
        """
        visit = visit_of(self._site, request)
        written, key = self._written, Key(visit.path, wants_json(request), visit.guest_of)
        if is_file(visit):
            path = f"{path_of(request)}?version={visit.number('version')}"
            written, key = self._files, Key(path, guest_of=visit.guest_of)
        text = written.find(key, place)
        if text is not None:
            return response_of(text, request)
        async with written.turn(key):
            text = written.find(key, place)
            if text is not None:
                return response_of(text, request)
            now = await self._site.reading.store.place()
            if isinstance(now, Absence):
                return await self._stale(function, request, now)
            made = await self._made(function, request, now)
            if isinstance(made, Response):
                return made
            if written is not self._files or len(made.body) <= _MOST_FILE:
                written.keep(key, now, made)
            return response_of(made, request)

    async def _made(
        self, function: PageFunction, request: Request, place: Place
    ) -> Text | Response:
        """The page as it is at that place; a text is for everybody."""
        site = self._site._replace(reading=self._site.reading.at(place))
        visit = visit_of(site, request)
        work = partial(self._answer, function, request, visit)
        if not is_dear(visit):
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        try:
            return await self._lane.run(work)
        except UnavailableError as error:  # too many wait
            response = respond(refusal_page(error), request, visit)
            response.headers["Retry-After"] = str(AGAIN_AFTER)
            return response

    async def _stale(self, function: PageFunction, request: Request, absence: Absence) -> Response:
        visit = visit_of(self._site, request)
        work = partial(self._while_away, function, request, visit, absence)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    def _answer(
        self, function: PageFunction, request: Request, visit: RequestContext
    ) -> Text | Response:
        try:
            if not is_file(visit):
                visit = recognised(visit)
            check_guest(visit)
            if visit.login is not None:
                answer = function(visit)
                self._remember(answer, request, visit)
                return respond(answer, request, visit)
            return self._write(function, request, visit)
        except UnavailableError as error:
            absence = visit.site.reading.store.lost(error)
            return self._while_away(function, request, visit, absence)
        except BrennerError as error:
            return respond(refusal_page(error), request, visit)

    def _write(
        self, function: PageFunction, request: Request, visit: RequestContext
    ) -> Text | Response:
        is_personal = function in self._personal
        # What a browser keeps for us cannot get to the others that are given the same page.
        answer = function(visit if is_personal else visit._replace(cookies=_NO_COOKIES))
        if isinstance(answer, Download) and is_file(visit):
            text = file_of(answer)
            return text.with_packed() if len(text.body) <= _MOST_FILE else text
        if not isinstance(answer, Page) or answer.status != HTTPStatus.OK:
            return respond(answer, request, visit)
        self._remember(_for_anybody(answer) if is_personal else answer, request, visit)
        text = text_of(answer, request, visit).with_packed()
        if not is_personal:
            return text
        response = response_of(text, request)
        for cookie in answer.cookies:
            set_cookie(response, cookie, is_secure=is_https(request))
        return response

    def _remember(self, answer: Answer, request: Request, visit: RequestContext) -> None:
        """Keep a page for while the store is away; the operator's are hers alone."""
        is_since = "since" in visit.asked  # which is another page for everybody
        if isinstance(answer, Page) and answer.status == HTTPStatus.OK and not is_since:
            place = visit.site.reading.place
            self._last_good.keep(_asked(request, visit), answer, visit.now, place)

    def _while_away(
        self, function: PageFunction, request: Request, visit: RequestContext, absence: Absence
    ) -> Response:
        """The last good page, or what the session's file has; else that there is none."""
        if visit.guest_of is not None:
            absence = absence.for_guests()
        try:
            visit = recognised(visit)
            check_guest(visit)
            page = self._last_good.find(_asked(request, visit), absence)
            page = page or from_files(function, visit, absence)
        except UnavailableError:  # who asks could not be looked up
            page = None
        except BrennerError as error:
            return respond(refusal_page(error), request, visit)
        response = respond(page or refusal_page(absence.error), request, visit)
        if page is not None:
            response.headers[STALE] = absence.since.isoformat()
        response.headers["Cache-Control"] = "no-store"
        return response


def _for_anybody(page: Page) -> Page:
    """A page without what only this browser has seen."""
    document = {name: None if name == "look" else each for name, each in page.document.items()}
    return page._replace(document=document)


def _note_look(response: Response, request: Request, position: int) -> None:
    """Let the browser keep that a session was looked at, whoever else has got the same page."""
    thread_id = request.path_params.get("thread")
    is_page = response.status_code == HTTPStatus.NOT_MODIFIED or response.headers.get(
        "content-type", ""
    ).startswith("text/html")
    is_shown = response.status_code in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED) and is_page
    if not thread_id or not is_shown or "content-disposition" in response.headers:
        return
    if is_look(request.headers) and not wants_json(request):
        now = Moment(position, datetime.now(UTC))
        cookie = marked(thread_id, request.cookies, now)
        set_cookie(response, cookie, is_secure=is_https(request))


def _alone(function: PageFunction, request: Request, visit: RequestContext) -> Response:
    """A page that needs no mail."""
    try:
        visit = recognised(visit)
        check_guest(visit)
        return respond(function(visit), request, visit)
    except UnavailableError as error:
        is_guest = visit.guest_of is not None
        told = UnavailableError(MAIL_AWAY.at()) if is_guest else error
        return respond(refusal_page(told), request, visit)
    except BrennerError as error:
        return respond(refusal_page(error), request, visit)


def _asked(request: Request, visit: RequestContext) -> Asked:
    """What was asked for, in whatever form."""
    asked = [each for each in request.query_params.multi_items() if each[0] != "format"]
    address = f"{path_of(request)}?{urlencode(sorted(asked))}"
    return Asked(address, visit.guest_of, is_operator=visit.login is not None)


_SESSION = "/sessions/{thread}"
_FOR_EVER = MappingProxyType(
    {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
)
# Only read, and there without the lab as well
PAGES: MappingProxyType[str, PageFunction] = MappingProxyType(
    {
        links.HOME: project.page,
        links.SEARCH: thread.search_page,
        links.CONNECT: project.connect_page,
        links.HELP: project.help_sheet_page,
        links.SOURCE: project.source_page,
        "/messages/{message:int}": thread.message_page,
        "/messages/{message:int}/raw": thread.raw,
        _SESSION: artifact.page,
        f"{_SESSION}/artifact": artifact.page,
        f"{_SESSION}/items/{{item}}": artifact.item_page,
        f"{_SESSION}/thread": thread.page,
        f"{_SESSION}/versions": versions.page,
        f"{_SESSION}/diff": versions.diff_page,
        f"{_SESSION}/ledger": versions.ledger_page,
        f"{_SESSION}/evidence": artifact.evidence_page,
        f"{_SESSION}/agents": project.agents_page,
        f"{_SESSION}/export/{{form}}": exports.page,
    }
)
# What these show depends on what a browser keeps for us; all others are the same for everybody
PERSONAL: frozenset[PageFunction] = frozenset({versions.page, versions.diff_page})


def routes(site: Site) -> list[BaseRoute]:
    """All of them. Those of the lab exist only where it is on."""
    if site.is_lab and site.door is None:
        site = site._replace(door=LabAuth(site.workspace))
    answering = Answering(site, PERSONAL)
    pages = [Route(path, answering.get(function)) for path, function in PAGES.items()]
    lab = lab_routes(site) if site.is_lab else []
    return [Route("/assets/{digest}/{name}", _asset), *pages, *lab, *entrance_routes(site)]


async def _asset(request: Request) -> Response:
    """A file under its digest; one of an earlier release is not there."""
    asset = assets().get(request.path_params["name"])
    if asset is None or asset.digest != request.path_params["digest"]:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    if takes_packed(request.headers.get("accept-encoding", "")):
        headers = {**_FOR_EVER, "Content-Encoding": PACKED}
        return Response(asset.packed, HTTPStatus.OK, headers, asset.media_type)
    return Response(asset.content, HTTPStatus.OK, _FOR_EVER, asset.media_type)
