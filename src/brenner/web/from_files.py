"""A session while the store is away, as its file in `artifacts/` tells of it (dual-source rule)."""

from http import HTTPStatus

from brenner.diagnostics.model import BrennerError
from brenner.mail.memory import MemoryMailbox
from brenner.web.last_good import stale
from brenner.web.page import Page, PageFunction
from brenner.web.reading import Reading
from brenner.web.store import Absence
from brenner.web.visit import Visit


def from_files(function: PageFunction, visit: Visit, absence: Absence) -> Page | None:
    """The page as it is without any mail; None where there is nothing to show then."""
    if "thread" not in visit.named:
        return None
    site = visit.site
    desk = site.desk._replace(mailbox=MemoryMailbox())
    without = site._replace(desk=desk, reading=Reading(desk, site.reading.store))
    try:
        page = function(visit._replace(site=without))
    except BrennerError:
        return None
    is_good = isinstance(page, Page) and page.status == HTTPStatus.OK
    return stale(page, absence, None) if is_good and isinstance(page, Page) else None
