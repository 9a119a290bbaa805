"""What templates do with values: times, agents, IDs, other people's texts.

A filter that answers with Markup has escaped everything that somebody else wrote.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from zlib import crc32

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from brenner.artifact.html_values import prose, text_html
from brenner.thread.counting import counted
from brenner.thread.times import ago, exact

_TINTS = 12
_INITIALS = 2
# The colour role of each type of message, the same as in the terminal (look, Message types)
_ROLES = MappingProxyType(
    {
        "KICKOFF": "accent",
        "DELTA": "strong",
        "COMPILED": "positive",
        "CRITIQUE": "attention",
        "BLOCKED": "attention",
        "QUESTION": "notice",
        "HANDOFF": "notice",
    }
)


def plain(text: str) -> Markup:
    """A text of somebody else's on one line; hidden characters are spelled out."""
    return _escaped(text_html(text))


def paragraphs(text: str) -> Markup:
    """A text of somebody else's as paragraphs; nothing in it is markup."""
    return _escaped(prose(text))


@pass_context
def when(context: Context, at: str | datetime | None) -> Markup:
    """A time: how long ago, with the instant on demand. Scripts keep it true."""
    moment = _moment(at)
    if moment is None:
        return Markup("")
    shown, instant = ago(moment, context["now"]), exact(moment)
    return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(
        instant, instant.replace("T", " ").replace("Z", " UTC"), shown
    )


def exactly(at: str | datetime | None) -> str:
    """A time to the second, in UTC."""
    moment = _moment(at)
    return exact(moment).replace("T", " ").replace("Z", " UTC") if moment else ""


def tint(name: str) -> int:
    """The number of the tint that is always an agent's."""
    return crc32(name.encode(errors="replace")) % _TINTS


def initials(name: str) -> str:
    """`BL` for BlueLake; of a name without capitals its first letters."""
    letters = [each for each in name if each.isalnum()]
    capitals = [each for each in letters if each.isupper()]
    found = capitals if len(capitals) >= _INITIALS else letters
    return "".join(found[:_INITIALS]).upper() or "?"


def role(message_type: str | None) -> str:
    """The colour role of a type of message."""
    return _ROLES.get(message_type or "", "quiet")


def words(name: str) -> str:
    """`awaiting_deltas` as words."""
    return name.replace("_", " ")


def _escaped(html: str) -> Markup:
    """What was escaped already; the one place that says so."""
    return Markup(html)  # noqa: S704


def _moment(at: str | datetime | None) -> datetime | None:
    """The instant, of a value or of its JSON."""
    if at is None or isinstance(at, datetime):
        return at
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "plain": plain,
        "paragraphs": paragraphs,
        "when": when,
        "exactly": exactly,
        "tint": tint,
        "initials": initials,
        "role": role,
        "words": words,
        "counted": counted,
        "escaped": escape,
    }
)
