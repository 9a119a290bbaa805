"""Which two versions a page compares, and what changed since the last visit of this browser."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from brenner.artifact.diff import diff
from brenner.artifact.state import empty_state
from brenner.diagnostics.codes.artifacts import UNKNOWN_VERSION
from brenner.diagnostics.model import RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.protocol.messages import iso
from brenner.web import links
from brenner.web.request import Cookie, RequestContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brenner.artifact.model import Artifact
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
_COOKIE_VALUE = lazy_pattern(r"(\d{1,15})\.(\d{1,11})\.(\d{1,15})\.(\d{1,11})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A page that reloads itself sends another mode than `navigate`.
_FETCH_MODE, _NAVIGATION = "sec-fetch-mode", ("navigate", "")


_Point = tuple[int, datetime]  # how many messages the store had, and when


def last_visit(context: RequestContext) -> tuple[int, datetime] | None:
    """Return the latest version at the previous visit of this browser to the session, and the time
    of that visit; None if there was none.
    """
    cookie = _parse_cookie(context.cookies, context.now)
    if cookie is None:
        return None
    position, at = _previous_visit(cookie, context.now)
    return _version_at(context.session, position), at


# The messages that are new. The reader marks them as seen, which changes nothing for the versions.
# So they have a cookie of their own, with the number of messages in the store that were seen.


NEWS_COOKIE_NAME = "news"


def seen_position(context: RequestContext) -> _Point | None:
    """Return up to which message this browser has seen the mail, and the time of its last visit.

    Return None in the first visit, before its second page view.
    """
    cookie = _parse_cookie(context.cookies, context.now)
    if cookie is None:
        return None
    position, at = _previous_visit(cookie, context.now)
    seen = context.cookies.get(NEWS_COOKIE_NAME, "")
    is_number = seen.isascii() and seen.isdigit() and len(seen) <= _MAX_POSITION_DIGITS
    return max(position, int(seen) if is_number else 0), at


def news_cookie(thread_id: str, position: int) -> Cookie:
    """Return the cookie that marks all mail up to a position as seen."""
    return Cookie(NEWS_COOKIE_NAME, str(position), links.session(thread_id))


_MAX_POSITION_DIGITS = 9


def is_navigation(headers: Mapping[str, str]) -> bool:
    """Return whether a person opened the page, as opposed to a page that reloads itself."""
    return headers.get(_FETCH_MODE, "") in _NAVIGATION


def visit_cookie(
    thread_id: str, cookies: Mapping[str, str], position: int, now: datetime
) -> Cookie:
    """Return the cookie that records a page view now, with so many messages in the store."""
    latest = (position, now)
    before, at = _previous_visit(_parse_cookie(cookies, now) or (latest, latest), now)
    numbers = (before, _to_seconds(at), position, _to_seconds(now))
    return Cookie(COOKIE_NAME, ".".join(map(str, numbers)), links.session(thread_id))


def seen_cookie(context: RequestContext) -> Cookie | None:
    """Return the cookie that marks a version and all before it as seen. Later ones stay new.

    Return None if the requested version does not exist.
    """
    requested, session = context.query_number(SEEN_PARAMETER), context.session
    ids = {version.number: version.message_id for version in session.history.versions}
    arrivals = {stored.id: stored.arrival for stored in session.messages}
    if requested not in ids:
        return None
    now = (str(arrivals[ids[requested]]), str(_to_seconds(context.now)))
    return Cookie(COOKIE_NAME, ".".join(now * 2), links.session(session.thread_id))


def _version_at(session: Session, position: int) -> int:
    """Return the latest version that had arrived by then, 0 before the first."""
    arrivals = {stored.id: stored.arrival for stored in session.messages}
    known = (
        version.number
        for version in session.history.versions
        if arrivals.get(version.message_id, 0) <= position
    )
    return max(known, default=0)


def _previous_visit(cookie: tuple[_Point, _Point], now: datetime) -> _Point:
    """Return the end of the previous visit. After a gap, the latest page view was that."""
    before, latest = cookie
    return latest if now - latest[1] > VISIT_GAP else before


def _parse_cookie(cookies: Mapping[str, str], now: datetime) -> tuple[_Point, _Point] | None:
    """Return the end of the previous visit and the latest page view, None for a foreign value."""
    found = _COOKIE_VALUE.fullmatch(cookies.get(COOKIE_NAME, ""))
    if found is None:
        return None
    first, then, last, at = (int(each) for each in found.groups())
    if not then <= at <= _to_seconds(now):
        return None
    return (first, _from_seconds(then)), (last, _from_seconds(at))


def _from_seconds(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


def _to_seconds(at: datetime) -> int:
    return int((at - _EPOCH).total_seconds())


def version_numbers(session: Session) -> tuple[int, ...]:
    """Return the numbers of all versions. An adopted thread may begin with any number."""
    return tuple(version.number for version in session.history.versions)


def version_before(session: Session, number: int) -> int:
    """Return the number of the version before, 0 (the empty artifact) before the first."""
    return max((each for each in version_numbers(session) if each < number), default=0)


def version_side(session: Session, number: int) -> Artifact:
    """Return one side of a comparison. Raise RequestError if there is no such version."""
    if number == 0:
        return empty_state(session.thread_id).artifact
    if number == session.history.number:
        return session.history.state.artifact
    known = session.ledgers.get(number)
    if known is None:
        raise _unknown_version(session, str(number))
    return known.state.artifact


def requested_pair(context: RequestContext) -> tuple[int, int, tuple[int, datetime] | None]:
    """Return the requested versions; by default the latest one and the one before it.

    With `since=look` the first is the latest version at the last visit, which is returned, too.
    """
    session = context.session
    latest = session.history.number
    previous = last_visit(context) if context.query.get("since") == "look" else None
    if previous:
        return previous[0], latest, previous
    new = _requested_version(context, "to")
    old = _requested_version(context, "from")
    new = latest if new is None else new
    return version_before(session, new) if old is None else old, new, None


def _requested_version(context: RequestContext, name: str) -> int | None:
    """Return the version of a query parameter, `2` or `v2`. Raise RequestError if unknown."""
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
    version, at = previous
    latest = session.history.number
    changes = (
        diff(version_side(session, version), version_side(session, latest)).items
        if version != latest
        else ()
    )
    return {
        "version": version,
        "latest": latest,
        "at": iso(at),
        "changed": len(changes),
        "link": links.session(session.thread_id, "diff", since="look"),
        "seen": mark_seen_link(session),
    }


def mark_seen_link(session: Session) -> str:
    return links.session(session.thread_id, "versions", **{SEEN_PARAMETER: session.history.number})
