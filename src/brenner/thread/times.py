"""Times for people: relative where one scans, exact on demand."""

from datetime import datetime, timedelta

from brenner.thread.posted import iso, span

__all__ = ["ago", "exact", "span"]

_SOON = 45  # seconds that are called now
_MOST_RELATIVE = timedelta(days=14)


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
