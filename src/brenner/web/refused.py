"""Pages for what cannot be shown: an unknown address, a refusal, a store that is away, a fault."""

from http import HTTPStatus
from types import MappingProxyType

from brenner.diagnostics.codes import lab, mail, serving, versions
from brenner.diagnostics.codes.artifact_commands import NO_SUCH_ITEM
from brenner.diagnostics.errors import BrennerError, Unavailable
from brenner.diagnostics.model import Diagnostic
from brenner.text import visible_lines
from brenner.web.page import Page

_STATUS = MappingProxyType(
    {
        **dict.fromkeys((mail.UNKNOWN_THREAD.id, mail.UNKNOWN_MESSAGE.id), HTTPStatus.NOT_FOUND),
        **dict.fromkeys((mail.NOT_IN_THREAD.id, mail.NO_SUCH_AGENT.id), HTTPStatus.NOT_FOUND),
        **dict.fromkeys((versions.UNKNOWN_VERSION.id, NO_SUCH_ITEM.id), HTTPStatus.NOT_FOUND),
        serving.NO_SUCH_PAGE.id: HTTPStatus.NOT_FOUND,
        versions.NO_VERSION_YET.id: HTTPStatus.NOT_FOUND,
        **dict.fromkeys(
            (lab.GUESTS_STAY.id, lab.LINK_BROKEN.id, lab.LINK_EXPIRED.id), HTTPStatus.FORBIDDEN
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
