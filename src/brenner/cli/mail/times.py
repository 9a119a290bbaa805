"""Times for people: relative where one scans, exact on demand."""

from datetime import datetime, timedelta

from brenner.thread.posted import iso

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_SOON = 45  # seconds that are called now
_MOST_RELATIVE = timedelta(days=14)


def span(length: timedelta) -> str:
    """How long, in the largest unit that fills at least one: `3 h`."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * _DAY:
        return f"{seconds // _DAY} d"
    if seconds >= _HOUR:
        return f"{seconds // _HOUR} h"
    if seconds >= _MINUTE:
        return f"{seconds // _MINUTE} min"
    return f"{seconds} s"


def ago(at: datetime, now: datetime) -> str:
    """How long ago; the day where that is long, or where it is yet to come."""
    since = now - at
    if timedelta(seconds=-_SOON) < since < timedelta(seconds=_SOON):
        return "just now"
    if timedelta(0) < since < _MOST_RELATIVE:
        return f"{span(since)} ago"
    return exact(at)[:10]


def exact(at: datetime) -> str:
    """The instant, to the second, in UTC."""
    return iso(at.replace(microsecond=0))
