"""Which two versions a visit compares, and what changed since this browser's last look."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.diagnostics.codes.artifacts import UNKNOWN_VERSION
from brenner.diagnostics.model import RequestError
from brenner.protocol.messages import iso
from brenner.services.versions import Side, side_of_nothing
from brenner.web import links
from brenner.web.request import Cookie, RequestContext
from brenner.web.sessions import Session

# What this browser has seen of a session: "since my last look".
#
# A cookie of the session's own address keeps two moments: the end of the previous sitting, and the
# latest look. A new sitting begins after half an hour without one. What changed since the previous
# sitting therefore stays the same while somebody reads on, however many pages that takes. In the
# first sitting, what counts is its first look.
#
# A moment is how many messages the store had, beside the time: which version was the latest then
# follows from the mail. So a page that is the same for everybody can be marked as seen without
# knowing what is on it. Who has read enough can end the sitting herself: `settled`.


NAME = "look"
SEEN = "seen"  # asks to mark a version as seen
SITTING = timedelta(minutes=30)
# 112.1767225600.118.1767230000: messages and seconds, of the previous sitting and of the latest
# look. Anything else was not written by us.
_VALUE = re.compile(r"(\d{1,15})\.(\d{1,11})\.(\d{1,15})\.(\d{1,11})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A browser that asks by itself, for what has changed, says that it leads nobody anywhere.
_MODE, _LED = "sec-fetch-mode", ("navigate", "")


class Moment(NamedTuple):
    """How many messages the store had, and when that was."""

    position: int
    at: datetime


class Look(NamedTuple):
    """Which version was the latest when this browser looked, and when that was."""

    version: int
    at: datetime


class _Kept(NamedTuple):
    """What the cookie says."""

    before: Moment
    latest: Moment


def seen(visit: RequestContext) -> Look | None:
    """What this browser saw of the session in its previous sitting; None if it never looked."""
    kept = _kept(visit.cookies, visit.now)
    if kept is None:
        return None
    moment = kept.latest if _is_over(kept, visit.now) else kept.before
    return Look(_version_at(visit.session, moment), moment.at)


def is_look(headers: Mapping[str, str]) -> bool:
    """Whether somebody was led to the page; not a page that asks for itself again."""
    return headers.get(_MODE, "") in _LED


def marked(thread_id: str, cookies: Mapping[str, str], now: Moment) -> Cookie:
    """That the session is looked at now."""
    kept = _kept(cookies, now.at) or _Kept(now, now)
    before = kept.latest if _is_over(kept, now.at) else kept.before
    numbers = (before.position, _seconds(before.at), now.position, _seconds(now.at))
    return Cookie(NAME, ".".join(map(str, numbers)), links.session(thread_id))


def settled(visit: RequestContext) -> Cookie | None:
    """That this browser has seen a version, and all before it; what came after it is still new.

    None where no such version is asked for.
    """
    asked, session = visit.number(SEEN), visit.session
    ids = {version.number: version.message_id for version in session.history.versions}
    arrivals = {filed.posted.id: filed.arrival for filed in session.messages}
    if asked not in ids:
        return None
    now = (str(arrivals[ids[asked]]), str(_seconds(visit.now)))
    return Cookie(NAME, ".".join(now * 2), links.session(session.thread_id))


def _version_at(session: Session, moment: Moment) -> int:
    """The latest version that had come in by then; 0 before the first."""
    arrivals = {filed.posted.id: filed.arrival for filed in session.messages}
    known = (
        version.number
        for version in session.history.versions
        if arrivals.get(version.message_id, 0) <= moment.position
    )
    return max(known, default=0)


def _is_over(kept: _Kept, now: datetime) -> bool:
    return now - kept.latest.at > SITTING


def _kept(cookies: Mapping[str, str], now: datetime) -> _Kept | None:
    """What the browser kept; None where it is nothing of ours, or of a time that is yet to come."""
    found = _VALUE.fullmatch(cookies.get(NAME, ""))
    if found is None:
        return None
    first, then, last, at = (int(each) for each in found.groups())
    if not then <= at <= _seconds(now):
        return None
    return _Kept(Moment(first, _moment(then)), Moment(last, _moment(at)))


def _moment(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


def _seconds(at: datetime) -> int:
    return int((at - _EPOCH).total_seconds())


class Asked(NamedTuple):
    """The numbers of the two versions, and the look that the first one is from."""

    old: int
    new: int
    look: Look | None = None


def numbers_of(session: Session) -> tuple[int, ...]:
    """The versions that there are; an adopted thread may begin with any."""
    return tuple(version.number for version in session.history.versions)


def before(session: Session, number: int) -> int:
    """The version before that one; before the first there is only the empty artifact."""
    return max((each for each in numbers_of(session) if each < number), default=0)


def side(session: Session, number: int) -> Side:
    """A version to compare; who set what in it is not worked out."""
    if number == 0:
        return side_of_nothing(session.thread_id)
    if number == session.history.number:
        return Side(number, session.history.state.artifact)
    known = session.ledgers.get(number)
    if known is None or known.artifact is None:
        raise _unknown(session, str(number))
    return Side(number, known.artifact)


def asked_pair(visit: RequestContext) -> Asked:
    """The two that were asked for; else the latest, and the one before it.

    With `since=look` the first is what this browser saw in its previous sitting.
    """
    session = visit.session
    latest = session.history.number
    look = seen(visit) if visit.asked.get("since") == "look" else None
    if look:
        return Asked(look.version, latest, look)
    new = _asked(visit, "to")
    old = _asked(visit, "from")
    new = latest if new is None else new
    return Asked(before(session, new) if old is None else old, new)


def _asked(visit: RequestContext, name: str) -> int | None:
    """The version that an address names, `2` or `v2`; one that does not exist is refused."""
    text = visit.asked.get(name, "").strip()
    if not text:
        return None
    session = visit.session
    known = numbers_of(session)
    digits = text.removeprefix("v")
    if digits.isascii() and digits.isdigit() and int(digits[:_MOST_DIGITS]) in (0, *known):
        return int(digits)
    raise _unknown(session, digits)


_MOST_DIGITS = 9


def _unknown(session: Session, version: str) -> RequestError:
    known = _known(numbers_of(session))
    words = {"thread_id": session.thread_id, "version": version, "known": known}
    return RequestError(UNKNOWN_VERSION.at(None, **words))


def _known(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return "there is none yet"
    if len(numbers) == 1:
        return f"there is only v{numbers[0]}"
    return f"there are v{numbers[0]} to v{numbers[-1]}"


def look_document(visit: RequestContext) -> dict[str, object] | None:
    """What this browser saw when it last looked, and how many items have changed since."""
    look, session = seen(visit), visit.session
    if look is None:
        return None
    latest = session.history.number
    changed = 0 if look.version == latest else _changed(session, look.version, latest)
    return {
        "version": look.version,
        "latest": latest,
        "at": iso(look.at),
        "changed": changed,
        "link": links.session(session.thread_id, "diff", since="look"),
        "seen": seen_link(session),
    }


def seen_link(session: Session) -> str:
    """Where one says that one has seen all up to the latest version."""
    return links.session(session.thread_id, "versions", **{SEEN: session.history.number})


def _changed(session: Session, old: int, new: int) -> int:
    return len(diff(side(session, old).artifact, side(session, new).artifact).items)
