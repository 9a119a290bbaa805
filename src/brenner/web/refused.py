"""Pages for what cannot be shown: an unknown address, a refusal, a store that is away."""

from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.errors import BrennerError, Unavailable
from brenner.diagnostics.model import Diagnostic
from brenner.web.page import Page

_NOT_FOUND = frozenset({UNKNOWN_THREAD.id, "NO_SUCH_MESSAGE", "UNKNOWN_VERSION", "NO_SUCH_PAGE"})


def refusal_page(error: BrennerError) -> Page:
    """What is wrong, and how to mend it."""
    return diagnostic_page(error.diagnostic, _status(error))


def diagnostic_page(found: Diagnostic, status: int) -> Page:
    """The page of one diagnostic."""
    document = {"error": found.to_json(), "status": status}
    return Page("pages/refused.html", found.code.title, document, status, is_live=False)


def _status(error: BrennerError) -> int:
    if isinstance(error, Unavailable):
        return 503
    return 404 if error.diagnostic.id in _NOT_FOUND else 400
