"""To be written."""

from brenner.web.page import Answer, Page
from brenner.web.visit import Visit


def page(visit: Visit) -> Answer:
    """To be written."""
    return Page("pages/soon.html", "thread", {"path": visit.path})
