"""Pages for what cannot be shown: an unknown address, a refusal, a store that is away, a fault."""

from http import HTTPStatus
from types import MappingProxyType

from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes import web as web_codes
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.model import BrennerError, Diagnostic, Unavailable
from brenner.text import visible_lines
from brenner.web.page import Page

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
        "details": list(map(visible_lines, details)),
    }
    return Page("pages/refused.html", found.code.title, document, status, is_live=False)


def _status(error: BrennerError) -> int:
    if isinstance(error, Unavailable):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return _STATUS.get(error.diagnostic.id, HTTPStatus.BAD_REQUEST)
