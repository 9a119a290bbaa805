"""Which two versions a page compares, and what changed since the last visit of this browser."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.diagnostics.codes.artifacts import UNKNOWN_VERSION
from brenner.diagnostics.model import RequestError
from brenner.protocol.messages import iso
from brenner.services.versions import ComparedVersion, empty_version
from brenner.web import links
from brenner.web.request import Cookie, RequestContext
from brenner.web.sessions import Session

# The last visit of this browser to a session.
#
# A cookie on the session's path has two points: the end of the previous visit, and the latest page
# view. A new visit begins after half an hour without a page view. So what changed since the
# previous visit stays the same while the reader opens more pages. In the first visit, its first
# page view counts.
#
# A point is the number of messages in the store, and the time. The latest version at that point
# follows from the mail. So a cached page can be recorded as seen without knowing its content.
# `seen_cookie` lets the reader end the visit.


COOKIE_NAME = "look"
SEEN_PARAMETER = "seen"  # marks a version as seen
VISIT_GAP = timedelta(minutes=30)
# 112.1767225600.118.1767230000: messages and seconds, of the previous visit and of the latest page
# view. Any other value was not written by us.
_COOKIE_VALUE = re.compile(r"(\d{1,15})\.(\d{1,11})\.(\d{1,15})\.(\d{1,11})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A page that reloads itself sends another mode than `navigate`.
_FETCH_MODE, _NAVIGATION = "sec-fetch-mode", ("navigate", "")


class VisitPoint(NamedTuple):
    """How many messages the store had, and when."""

    position: int
    at: datetime


class LastVisit(NamedTuple):
    """The latest version at the last visit of this browser, and the time of the visit."""

    version: int
    at: datetime


class _VisitCookie(NamedTuple):
    """The parsed cookie: the end of the previous visit, and the latest page view."""

    before: VisitPoint
    latest: VisitPoint


def last_visit(context: RequestContext) -> LastVisit | None:
    """Return the previous visit of this browser to the session, or None if there was none."""
    cookie = _parse_cookie(context.cookies, context.now)
    if cookie is None:
        return None
    moment = cookie.latest if _is_new_visit(cookie, context.now) else cookie.before
    return LastVisit(_version_at(context.session, moment), moment.at)


def is_navigation(headers: Mapping[str, str]) -> bool:
    """Return whether a person opened the page, as opposed to a page that reloads itself."""
    return headers.get(_FETCH_MODE, "") in _NAVIGATION


def visit_cookie(thread_id: str, cookies: Mapping[str, str], now: VisitPoint) -> Cookie:
    """Return the cookie that records a page view now."""
    cookie = _parse_cookie(cookies, now.at) or _VisitCookie(now, now)
    before = cookie.latest if _is_new_visit(cookie, now.at) else cookie.before
    numbers = (before.position, _to_seconds(before.at), now.position, _to_seconds(now.at))
    return Cookie(COOKIE_NAME, ".".join(map(str, numbers)), links.session(thread_id))


def seen_cookie(context: RequestContext) -> Cookie | None:
    """Return the cookie that marks a version and all before it as seen. Later ones stay new.

    Return None if the requested version does not exist.
    """
    requested, session = context.query_number(SEEN_PARAMETER), context.session
    ids = {version.number: version.message_id for version in session.history.versions}
    arrivals = {filed.posted.id: filed.arrival for filed in session.messages}
    if requested not in ids:
        return None
    now = (str(arrivals[ids[requested]]), str(_to_seconds(context.now)))
    return Cookie(COOKIE_NAME, ".".join(now * 2), links.session(session.thread_id))


def _version_at(session: Session, moment: VisitPoint) -> int:
    """Return the latest version that had arrived by then, 0 before the first."""
    arrivals = {filed.posted.id: filed.arrival for filed in session.messages}
    known = (
        version.number
        for version in session.history.versions
        if arrivals.get(version.message_id, 0) <= moment.position
    )
    return max(known, default=0)


def _is_new_visit(cookie: _VisitCookie, now: datetime) -> bool:
    return now - cookie.latest.at > VISIT_GAP


def _parse_cookie(cookies: Mapping[str, str], now: datetime) -> _VisitCookie | None:
    """Parse the cookie. Return None if it is not ours or its times are in the future."""
    found = _COOKIE_VALUE.fullmatch(cookies.get(COOKIE_NAME, ""))
    if found is None:
        return None
    first, then, last, at = (int(each) for each in found.groups())
    if not then <= at <= _to_seconds(now):
        return None
    return _VisitCookie(VisitPoint(first, _from_seconds(then)), VisitPoint(last, _from_seconds(at)))


def _from_seconds(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


def _to_seconds(at: datetime) -> int:
    return int((at - _EPOCH).total_seconds())


class VersionPair(NamedTuple):
    """The numbers of the two versions to compare, and the last visit if the first one comes from
    it.
    """

    old: int
    new: int
    last_visit: LastVisit | None = None


def version_numbers(session: Session) -> tuple[int, ...]:
    """Return the numbers of all versions. An adopted thread may begin with any number."""
    return tuple(version.number for version in session.history.versions)


def version_before(session: Session, number: int) -> int:
    """Return the number of the version before, 0 (the empty artifact) before the first."""
    return max((each for each in version_numbers(session) if each < number), default=0)


def version_side(session: Session, number: int) -> ComparedVersion:
    """Return one side of a comparison, without blame. Raise RequestError if there is no such
    version.
    """
    if number == 0:
        return empty_version(session.thread_id)
    if number == session.history.number:
        return ComparedVersion(number, session.history.state.artifact)
    known = session.ledgers.get(number)
    if known is None or known.artifact is None:
        raise _unknown_version(session, str(number))
    return ComparedVersion(number, known.artifact)


def requested_pair(context: RequestContext) -> VersionPair:
    """Return the requested versions; by default the latest one and the one before it.

    With `since=look` the first is the latest version at the last visit.
    """
    session = context.session
    latest = session.history.number
    previous = last_visit(context) if context.query.get("since") == "look" else None
    if previous:
        return VersionPair(previous.version, latest, previous)
    new = _requested_version(context, "to")
    old = _requested_version(context, "from")
    new = latest if new is None else new
    return VersionPair(version_before(session, new) if old is None else old, new)


def _requested_version(context: RequestContext, name: str) -> int | None:
    """Return the version in a query parameter, `2` or `v2`. Raise RequestError if it does not
    exist.
    """
    text = context.query.get(name, "").strip()
    if not text:
        return None
    session = context.session
    known = version_numbers(session)
    digits = text.removeprefix("v")
    if digits.isascii() and digits.isdigit() and int(digits[:_MAX_DIGITS]) in (0, *known):
        return int(digits)
    raise _unknown_version(session, digits)


_MAX_DIGITS = 9


def _unknown_version(session: Session, version: str) -> RequestError:
    known = _known_words(version_numbers(session))
    words = {"thread_id": session.thread_id, "version": version, "known": known}
    return RequestError(UNKNOWN_VERSION.at(None, **words))


def _known_words(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return "there is none yet"
    if len(numbers) == 1:
        return f"there is only v{numbers[0]}"
    return f"there are v{numbers[0]} to v{numbers[-1]}"


def last_visit_document(context: RequestContext) -> dict[str, object] | None:
    """Return the last visit of this browser, and how many items have changed since."""
    previous, session = last_visit(context), context.session
    if previous is None:
        return None
    latest = session.history.number
    changed = 0 if previous.version == latest else _count_changed(session, previous.version, latest)
    return {
        "version": previous.version,
        "latest": latest,
        "at": iso(previous.at),
        "changed": changed,
        "link": links.session(session.thread_id, "diff", since="look"),
        "seen": mark_seen_link(session),
    }


def mark_seen_link(session: Session) -> str:
    """Return the link that marks all versions as seen."""
    return links.session(session.thread_id, "versions", **{SEEN_PARAMETER: session.history.number})


def _count_changed(session: Session, old: int, new: int) -> int:
    return len(diff(version_side(session, old).artifact, version_side(session, new).artifact).items)
