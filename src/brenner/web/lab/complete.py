"""To be written."""

from brenner.web.lab.action import Action, Done
from brenner.web.page import Page
from brenner.web.visit import Visit


def _form(visit: Visit) -> Page:
    return Page("pages/soon.html", "complete", {"path": visit.path}, is_live=False)


def _do(visit: Visit) -> Done:
    return Done(is_done=False, says="", document={"path": visit.path})


ACTION = Action("complete", _form, _do, is_of_session=True)
