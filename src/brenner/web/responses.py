"""From an answer to what goes over the line.

Every page is also there as JSON: with `?format=json`, or for who asks for `application/json`.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes import web as web_codes
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.text import escape_control_lines
from brenner.web.cache import PACKED, Text, takes_packed
from brenner.web.rendering import html
from brenner.web.request import (
    JSON,
    Answer,
    Cookie,
    Download,
    Page,
    Redirect,
    RequestContext,
    is_https,
)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-cache",
        "Vary": "Accept, Accept-Encoding, Cookie",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
)


def respond(answer: Answer, request: Request, visit: RequestContext) -> Response:
    """The answer as it goes over the line."""
    if isinstance(answer, Redirect):
        response: Response = RedirectResponse(answer.to, HTTPStatus.SEE_OTHER, _HEADERS)
    elif isinstance(answer, Download):
        response = response_of(file_of(answer), request)
    else:
        response = response_of(text_of(answer, request, visit), request, answer.status)
    for cookie in () if isinstance(answer, Download) else answer.cookies:
        set_cookie(response, cookie, is_secure=is_https(request))
    return response


def wants_json(request: Request) -> bool:
    """Whether a script asks; a browser names `text/html` first."""
    accepted = request.headers.get("accept", "")
    return request.query_params.get("format") == "json" or accepted.startswith(JSON)


def set_cookie(response: Response, cookie: Cookie, *, is_secure: bool) -> None:
    """Give the browser something to keep, or take it away."""
    response.set_cookie(
        cookie.name,
        cookie.value,
        max_age=cookie.seconds if cookie.value else 0,
        path=cookie.path,
        secure=is_secure,
        httponly=True,
        samesite="strict" if cookie.is_strict else "lax",
    )


def text_of(page: Page, request: Request, visit: RequestContext) -> Text:
    """A page, for a person or for a script."""
    if wants_json(request):
        return Text.of(json.dumps(page.document, ensure_ascii=False, indent=1) + "\n", JSON)
    return Text.of(html(page, visit), "text/html; charset=utf-8")


def response_of(text: Text, request: Request, status: int = HTTPStatus.OK) -> Response:
    """Who has the same already gets no more than that."""
    headers = {**_HEADERS, "ETag": text.tag, **text.headers}
    if text.tag in request.headers.get("if-none-match", "") and status == HTTPStatus.OK:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if text.packed and takes_packed(request.headers.get("accept-encoding", "")):
        headers |= {"Content-Encoding": PACKED, "ETag": f"W/{text.tag}"}
        return Response(text.packed, status, headers, media_type=text.media_type)
    return Response(text.body, status, headers, media_type=text.media_type)


def file_of(answer: Download) -> Text:
    """A text that is not one of our pages, under a policy of its own where it has one."""
    headers = {"Content-Security-Policy": answer.policy or POLICY}
    if answer.file_name:
        how = "inline" if answer.is_shown else "attachment"
        headers["Content-Disposition"] = f'{how}; filename="{answer.file_name}"'
    return Text.of(answer.text, answer.media_type)._replace(headers=headers)


# Pages for what cannot be shown: an unknown address, a refusal, a store that is away, a fault.


_STATUS = MappingProxyType(
    {
        **dict.fromkeys(
            (mail_codes.UNKNOWN_THREAD.id, mail_codes.UNKNOWN_MESSAGE.id), HTTPStatus.NOT_FOUND
        ),
        **dict.fromkeys(
            (mail_codes.NOT_IN_THREAD.id, mail_codes.NO_SUCH_AGENT.id), HTTPStatus.NOT_FOUND
        ),
        **dict.fromkeys(
            (artifacts_codes.UNKNOWN_VERSION.id, NO_SUCH_ITEM.id), HTTPStatus.NOT_FOUND
        ),
        serving_codes.NO_SUCH_PAGE.id: HTTPStatus.NOT_FOUND,
        artifacts_codes.NO_VERSION_YET.id: HTTPStatus.NOT_FOUND,
        **dict.fromkeys(
            (web_codes.GUESTS_STAY.id, web_codes.LINK_BROKEN.id, web_codes.LINK_EXPIRED.id),
            HTTPStatus.FORBIDDEN,
        ),
    }
)


def refusal_page(error: BrennerError) -> Page:
    """What is wrong, and how to mend it."""
    return diagnostic_page(error.diagnostic, _status(error), error.details)


def diagnostic_page(found: Diagnostic, status: int, details: tuple[str, ...] = ()) -> Page:
    """The page of one diagnostic; `details` are texts that belong to it."""
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
