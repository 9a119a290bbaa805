"""What the HTML of somebody else's text may hold: an allow-list, and nothing beside it.

The Markdown renderer writes nothing else anyway. This is the second wall: whatever a fault in it
lets through is taken out here, before a browser sees it.
"""

import re
from types import MappingProxyType

import nh3

# Our own pages, which a text cannot lead to except through an ID that we make a link of
_OURS = re.compile(r"/sessions/[A-Za-z0-9._~%-]+/items/[A-Za-z0-9.%-]+")
_ELSEWHERE = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
REL = "noopener noreferrer nofollow"
SCHEMES = frozenset({"http", "https", "mailto"})
TAGS = frozenset(
    {
        *("p", "br", "hr", "em", "strong", "s", "a", "span", "code", "pre", "blockquote"),
        *("ul", "ol", "li", "h4", "h5", "h6", "div"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
)
# Attributes with any value; `href` goes through a filter, the others can hold no address
ATTRIBUTES = MappingProxyType({"a": {"href"}, "ol": {"start"}, "pre": {"data-info"}})
PLACE = "data-block"  # where a delta block stands, for who asks for the places
# Attributes that are ours, with the values that they have
VALUES = MappingProxyType(
    {
        "a": {"class": {"id", "elsewhere"}},
        "span": {"class": {"address"}},
        "div": {"class": {"wide"}, "role": {"region"}, "tabindex": {"0"}, "aria-label": {"Table"}},
        "p": {"class": {"why-plain"}},
        "th": {"scope": {"col"}, "class": {"left", "center", "right"}},
        "td": {"class": {"left", "center", "right"}},
    }
)


def is_link(address: str) -> bool:
    """Whether an address may be a link: to elsewhere, by a scheme that runs nothing."""
    return _ELSEWHERE.match(address) is not None


def cleaned(html: str) -> str:
    """The HTML with only what is allowed, every element closed."""
    return _CLEANER.clean(html)


def _filtered(_tag: str, name: str, value: str) -> str | None:
    if name == "href" and not is_link(value) and not _OURS.fullmatch(value):
        return None
    return value


_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes={**{tag: set(names) for tag, names in ATTRIBUTES.items()}, "hr": {PLACE}},
    tag_attribute_values={
        tag: {name: set(values) for name, values in names.items()} for tag, names in VALUES.items()
    },
    attribute_filter=_filtered,
    link_rel=REL,
    url_schemes=set(SCHEMES),
    url_relative="pass_through",
)
