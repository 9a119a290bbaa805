"""Every address of the web page, and what answers there."""

from http import HTTPStatus
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from brenner.web import links
from brenner.web.answering import Answering
from brenner.web.entrance_routes import entrance_routes
from brenner.web.lab.door import Door
from brenner.web.lab.routes import lab_routes
from brenner.web.page import PageFunction
from brenner.web.pages import (
    agents,
    artifact,
    connect,
    diff,
    evidence,
    exports,
    help_sheet,
    home,
    item,
    ledger,
    message,
    search,
    source,
    thread,
    versions,
)
from brenner.web.rendering import assets
from brenner.web.site import Site
from brenner.web.written import PACKED, takes_packed

_SESSION = "/sessions/{thread}"
_FOR_EVER = MappingProxyType(
    {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
)
# Only read, and there without the lab as well
PAGES: MappingProxyType[str, PageFunction] = MappingProxyType(
    {
        links.HOME: home.page,
        links.SEARCH: search.page,
        links.CONNECT: connect.page,
        links.HELP: help_sheet.page,
        links.SOURCE: source.page,
        "/messages/{message:int}": message.page,
        "/messages/{message:int}/raw": message.raw,
        _SESSION: artifact.page,
        f"{_SESSION}/artifact": artifact.page,
        f"{_SESSION}/items/{{item}}": item.page,
        f"{_SESSION}/thread": thread.page,
        f"{_SESSION}/versions": versions.page,
        f"{_SESSION}/diff": diff.page,
        f"{_SESSION}/ledger": ledger.page,
        f"{_SESSION}/evidence": evidence.page,
        f"{_SESSION}/agents": agents.page,
        f"{_SESSION}/export/{{form}}": exports.page,
    }
)
# What these show depends on what a browser keeps for us; all others are the same for everybody
PERSONAL: frozenset[PageFunction] = frozenset({versions.page, diff.page})


def routes(site: Site) -> list[BaseRoute]:
    """All of them. Those of the lab exist only where it is on."""
    if site.is_lab and site.door is None:
        site = site._replace(door=Door(site.desk))
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
