"""The pages at the door of the lab: to log in, to log out, and what waits inside."""

from http import HTTPStatus
from shlex import quote

from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import BrennerError, Refused, Unavailable
from brenner.web import links
from brenner.web.lab.desk import is_marked
from brenner.web.lab.door import Door
from brenner.web.page import Cookie, Page, Redirect
from brenner.web.tries import WaitError, seconds_to_wait
from brenner.web.visit import Visit

_MOST_OWED = 100


def login_page(visit: Visit, error: BrennerError | None = None) -> Page:
    """The form that asks for the secret. Nothing that was shown comes back."""
    door = door_of(visit)
    fault = error.diagnostic.to_json() if error else None
    document = {
        "operator": door.operator,
        "next": _next(visit),
        "fault": fault,
        "wait": seconds_to_wait(error),
        "logged_in": visit.login is not None,
        "command": f"brenner agent secret {quote(door.operator)}",
    }
    return Page("lab/login.html", "Log in to the lab", document, _status(error), is_live=False)


def log_in(visit: Visit, address: str) -> Page | Redirect:
    """Look at the secret. The right one ends the login that the browser had before; a wrong one
    ends nothing, so that nobody can log out the operator by it.
    """
    door = door_of(visit)
    try:
        cookie = door.enter(visit.form.get("secret", ""), address)
    except BrennerError as error:
        return login_page(visit, error)
    door.leave(visit.cookies)
    return Redirect(_next(visit), (_cookie(door, cookie),))


def log_out(visit: Visit) -> Redirect:
    """The login is over, here and in the browser."""
    door = door_of(visit)
    door.leave(visit.cookies)
    return Redirect(links.HOME, (_cookie(door, ""),))


def home_page(visit: Visit) -> Page:
    """What the operator owes, and what can be begun."""
    desk = visit.site.desk
    operator = desk.project.operator
    owed = [each for each in desk.pending() if each.debt.debtor == operator]
    document = {
        "operator": operator,
        "verified": is_marked(visit),
        "owed": [
            {
                "message_id": each.debt.first.id,
                "thread_id": each.debt.first.message.thread_id,
                "from": each.debt.first.message.sender,
                "subject": each.debt.first.message.subject,
                "type": each.debt.first.type,
                "since": each.debt.first.at.isoformat(),
                "is_overdue": each.is_overdue,
            }
            for each in owed[:_MOST_OWED]
        ],
        "owed_in_all": len(owed),
    }
    return Page("lab/home.html", "The lab", document, is_live=False)


def door_of(visit: Visit) -> Door:
    """The door; these pages exist only where there is one."""
    if visit.site.door is None:
        raise Refused(NO_SUCH_PAGE.at(path=visit.path))
    return visit.site.door


def _next(visit: Visit) -> str:
    given = visit.form.get("next") or visit.asked.get("next") or links.LAB
    return links.own_path(given)


def _cookie(door: Door, value: str) -> Cookie:
    return Cookie(door.cookie, value, seconds=None, is_strict=True)


def _status(error: BrennerError | None) -> int:
    if error is None:
        return HTTPStatus.OK
    if isinstance(error, WaitError):
        return HTTPStatus.TOO_MANY_REQUESTS
    return (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(error, Unavailable)
        else HTTPStatus.UNAUTHORIZED
    )
