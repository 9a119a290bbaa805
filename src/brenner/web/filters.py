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

from brenner.artifact.diff import value_text
from brenner.artifact.html import Known, lines_html, part_html, prose, text_html
from brenner.artifact.model import Reference
from brenner.protocol.delta.schema import SECTIONS, Field, FieldKind
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import ago, exact
from brenner.text import counted, thread_argument
from brenner.web.lab.form_words import form_fix, in_form
from brenner.web.markdown_html import markdown, parts
from brenner.web.message_text import formatted, own_part

_TINTS = 12
_INITIALS = 2


def plain(text: str) -> Markup:
    """A text of somebody else's on one line; hidden characters are spelled out."""
    return _escaped(text_html(text))


def paragraphs(text: str) -> Markup:
    """A text of somebody else's as paragraphs; nothing in it is markup."""
    return _escaped(prose(text))


def verbatim(text: str) -> Markup:
    """A text of somebody else's with its lines and tabs, for `pre`."""
    return lines(text.replace("\r\n", "\n"))


def lines(text: str) -> Markup:
    """A text of somebody else's with its lines and tabs, and nothing added or taken away."""
    return _escaped(lines_html(text))


def coded(text: str) -> Markup:
    """A sentence of ours on one line, in which commands stand between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick that stands for itself
        return plain(text)
    shown = (
        Markup("<code>{}</code>").format(plain(part)) if number % 2 else plain(part)
        for number, part in enumerate(parts)
    )
    return Markup("").join(shown)


@pass_context
def said(context: Context, entry: Mapping[str, Any], is_killed: bool = False) -> Markup:
    """An entry of a field, with links to what the page has addresses for."""
    page = context["page"]
    known = Known(page["session"]["thread_id"], page["addresses"], reads_prose=True)
    field = field_of(entry["section"], entry["path"][0])
    html = part_html(field, from_json(entry["value"]), known, is_killed=is_killed)
    return _escaped(html)


def told(value: object) -> Markup:
    """A value in words, as it was before, or as somebody else would have it."""
    return paragraphs(in_words(value))


def in_words(value: object) -> str:
    """The same as plain text."""
    return value_text(from_json(value))


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
    return TYPES[message_type].colour if message_type in TYPES else "quiet"


def words(name: str) -> str:
    """`awaiting_deltas` as words."""
    return name.replace("_", " ")


def field_of(section: str, name: str) -> Field:
    """A field of the schema; what a file has besides is a text."""
    return SECTIONS[section].fields.get(name) or Field(name, FieldKind.TEXT, "")


def from_json(value: object) -> object:
    """A value of the artifact, of its JSON: a reference is an object there."""
    if isinstance(value, dict) and value.keys() == set(Reference._fields):
        return Reference(**value)
    if isinstance(value, list):
        return tuple(map(from_json, value))
    return value


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
        "verbatim": verbatim,
        "coded": coded,
        "lines": lines,
        "said": said,
        "told": told,
        "in_words": in_words,
        "when": when,
        "exactly": exactly,
        "tint": tint,
        "initials": initials,
        "role": role,
        "words": words,
        "as_argument": thread_argument,
        "counted": counted,
        "escaped": escape,
        "markdown": markdown,
        "body_parts": parts,
        "formatted": formatted,
        "own_part": own_part,
        "form_fix": form_fix,
        "in_form": in_form,
    }
)
