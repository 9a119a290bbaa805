"""Starlette responses for pages, downloads, redirects and errors.

Every page is also available as JSON: with `?format=json` or `Accept: application/json`.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes import web as web_codes
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.text import escape_control_lines
from brenner.web.cache import GZIP, ResponseBody, accepts_gzip
from brenner.web.form_tokens import without_tokens
from brenner.web.rendering import render_html
from brenner.web.request import (
    JSON_TYPE,
    Cookie,
    Download,
    Page,
    PageResult,
    Redirect,
    RequestContext,
    is_https,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Cache-Control": "no-cache",
        "Vary": "Accept, Accept-Encoding, Cookie",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
)


def to_response(result: PageResult, request: Request, context: RequestContext) -> Response:
    if isinstance(result, Redirect):
        response: Response = RedirectResponse(result.to, HTTPStatus.SEE_OTHER, _HEADERS)
    elif isinstance(result, Download):
        response = body_response(download_body(result), request)
    else:
        body = render_body(result, request, context).with_gzip()
        response = body_response(body, request, result.status)
    for cookie in () if isinstance(result, Download) else result.cookies:
        set_cookie(response, cookie, is_secure=is_https(request))
    return response


def wants_json(request: Request) -> bool:
    """Return whether the client wants JSON. A browser names `text/html` first."""
    accepted = request.headers.get("accept", "")
    return request.query_params.get("format") == "json" or accepted.startswith(JSON_TYPE)


def set_cookie(response: Response, cookie: Cookie, *, is_secure: bool) -> None:
    """Set a cookie, or delete it if its value is empty."""
    response.set_cookie(
        cookie.name,
        cookie.value,
        max_age=cookie.seconds if cookie.value else 0,
        path=cookie.path,
        secure=is_secure,
        httponly=True,
        samesite="strict" if cookie.is_strict else "lax",
    )


def render_body(page: Page, request: Request, context: RequestContext) -> ResponseBody:
    """Render a page as HTML or JSON."""
    if wants_json(request):
        return ResponseBody.of(
            json.dumps(page.document, ensure_ascii=False, indent=1) + "\n", JSON_TYPE
        )
    html = render_html(page, context)
    identity = without_tokens(html) if context.login else None
    return ResponseBody.of(html, "text/html; charset=utf-8", identity)


def body_response(text: ResponseBody, request: Request, status: int = HTTPStatus.OK) -> Response:
    """Return the response, or 304 if the client has the same ETag."""
    headers = {**_HEADERS, "ETag": text.etag, **text.headers}
    if text.etag in request.headers.get("if-none-match", "") and status == HTTPStatus.OK:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if text.gzipped and accepts_gzip(request.headers.get("accept-encoding", "")):
        headers |= {"Content-Encoding": GZIP, "ETag": f"W/{text.etag}"}
        return Response(text.gzipped, status, headers, media_type=text.media_type)
    return Response(text.body, status, headers, media_type=text.media_type)


def download_body(result: Download) -> ResponseBody:
    """Return the body of a download, with its own content security policy if it has one."""
    headers = {"Content-Security-Policy": result.policy or CONTENT_SECURITY_POLICY}
    if result.file_name:
        disposition = "inline" if result.is_inline else "attachment"
        headers["Content-Disposition"] = f'{disposition}; filename="{result.file_name}"'
    return ResponseBody.of(result.text, result.media_type)._replace(headers=headers)


# Error pages


_NOT_FOUND = (
    *(mail_codes.UNKNOWN_THREAD, mail_codes.UNKNOWN_MESSAGE, mail_codes.NOT_IN_THREAD),
    *(mail_codes.NO_SUCH_AGENT, artifacts_codes.UNKNOWN_VERSION, artifacts_codes.NO_SUCH_ITEM),
    *(artifacts_codes.NO_VERSION_YET, serving_codes.NO_SUCH_PAGE),
)
_FORBIDDEN = (web_codes.GUESTS_STAY, web_codes.LINK_BROKEN, web_codes.LINK_EXPIRED)
_STATUS: Mapping[str, HTTPStatus] = MappingProxyType(
    {each.id: HTTPStatus.NOT_FOUND for each in _NOT_FOUND}
    | {each.id: HTTPStatus.FORBIDDEN for each in _FORBIDDEN}
)


def error_page(error: BrennerError) -> Page:
    return diagnostic_page(error.diagnostic, _status(error), error.details)


def diagnostic_page(found: Diagnostic, status: int, details: tuple[str, ...] = ()) -> Page:
    """Return the page of one diagnostic. `details` are texts that belong to it."""
    document = {
        "error": found.to_json(),
        "status": status,
        "details": list(map(escape_control_lines, details)),
    }
    return Page("pages/refused.html", found.code.title, document, status, is_live=False)


def _status(error: BrennerError) -> int:
    if isinstance(error, UnavailableError):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return _STATUS.get(error.diagnostic.id, HTTPStatus.BAD_REQUEST)
