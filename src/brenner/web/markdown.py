"""Markdown from messages as sanitized HTML.

A text that is too long or nests too deep is shown as plain text, and the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from brenner.artifact.html import escape_invisible, lines_html
from brenner.lazy_pattern import lazy_pattern
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.web import links
from brenner.web.cache import LRUCache

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore

# Sanitizing: an allow-list of elements and attributes.
#
# The renderer writes nothing else. This is the second line of defence against a fault in it.


# Pages of ours. A text can link to them only through an item ID.
_OWN_LINK = lazy_pattern(r"/sessions/[A-Za-z0-9._~%-]+/items/[A-Za-z0-9.%-]+")
_EXTERNAL = lazy_pattern(r"(?:https?|mailto):", re.IGNORECASE)
LINK_REL = "noopener noreferrer nofollow"
SCHEMES = frozenset({"http", "https", "mailto"})
TAGS = frozenset(
    {
        *("p", "br", "hr", "em", "strong", "s", "a", "span", "code", "pre", "blockquote"),
        *("ul", "ol", "li", "h4", "h5", "h6", "div"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
)
# Attributes with any value. `href` is filtered; the others cannot contain an address.
ATTRIBUTES = MappingProxyType({"a": {"href"}, "ol": {"start"}, "pre": {"data-info"}})
BLOCK_ATTRIBUTE = "data-block"  # marks the place of a delta block
# Attributes that the renderer writes, with their values
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


def is_external_link(address: str) -> bool:
    """Return whether an address may be a link: to another site, with a scheme that runs nothing."""
    return _EXTERNAL.match(address) is not None


def sanitize(html: str) -> str:
    """Return the HTML with only the allowed elements and attributes, every element closed."""
    return _CLEANER.clean(html)


def _filter_attribute(_tag: str, name: str, value: str) -> str | None:
    if name == "href" and not is_external_link(value) and not _OWN_LINK.fullmatch(value):
        return None
    return value


_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes={**{tag: set(names) for tag, names in ATTRIBUTES.items()}, "hr": {BLOCK_ATTRIBUTE}},
    tag_attribute_values={
        tag: {name: set(values) for name, values in names.items()} for tag, names in VALUES.items()
    },
    attribute_filter=_filter_attribute,
    link_rel=LINK_REL,
    url_schemes=set(SCHEMES),
    url_relative="pass_through",
)


# Limits: no text may hold up a page.
#
# The parser searches the ends of links repeatedly, and checks every container for every line. Some
# texts of a few kilobytes would take minutes. With a small `maxNesting` its time is at most about
# a microsecond for each unit of `typeset_cost`. Nothing measures time, so that a text looks the
# same on every machine.


MAX_NESTING = 20  # the parser would drop deeper content
MAX_TYPESET = 200_000  # characters
MAX_COST = 1_600_000
_CHARACTER_COST, _LINE_COST, _MARK_COST, _CELL_COST = 2, 120, 16, 100
_MARK = lazy_pattern(r"[]\[!*_~`<>&\\#$%+:=@^{}\n-]")  # where the parser stops


def typeset_cost(text: str) -> int:
    """Return an upper limit of the work to typeset a text, from its characters, lines and marks."""
    marks = len(text) - len(_MARK.sub("", text))
    return (
        _CHARACTER_COST * len(text)
        + _LINE_COST * (text.count("\n") + text.count("\r"))
        + _CELL_COST * text.count("|")
        + _MARK_COST * marks
    )


# Rendering: nothing in the Markdown is executed, and nothing is hidden.
#
# HTML is text. Addresses are shown beside their links, images are words, and link definitions stay
# text. So the page shows everything that the message contains.


_MAX_EMPHASIS = 40
_HEADINGS = {"h1": "h4", "h2": "h5"}  # h1 to h3 are the page's; deeper ones become the lowest
_LOWEST_HEADING = "h6"
_ALIGNED = lazy_pattern(r"text-align:(left|center|right)")

_Env = MutableMapping[str, Any]


def plain_words(text: str) -> str:
    """Return the words of one short paragraph on one line, without Markdown marks."""
    tokens = _parser().parseInline(" ".join(text.split()))
    return _renderer().renderInlineAsText(tokens[0].children, _parser().options, {})


@cache
def _parser() -> MarkdownIt:
    """Return a CommonMark parser with tables and strikethrough. Definitions and HTML are text."""
    options = {"html": False, "maxNesting": MAX_NESTING, "xhtmlOut": False}
    result = MarkdownIt("commonmark", options)
    result.enable(["table", "strikethrough"]).disable("reference")
    result.core.ruler.at("inline", _parse_inline)
    return result


@cache
def _renderer() -> RendererHTML:
    result = RendererHTML()
    rules: MutableMapping[str, Any] = result.rules  # declared as methods, but any callable works
    rules.update((name, _rule(write)) for name, write in _RULES.items())
    return result


def _parse_inline(state: StateCore) -> None:
    """Parse emphasis and links. A paragraph in which they nest too deep stays text."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        content, children = token.content, list[Token]()
        state.md.inline.parse(content, state.md, state.env, children)
        if not children or max(each.level for each in children) > _MAX_EMPHASIS:
            children = [Token("text", "", 0, content=content)]
        token.children = _with_addresses(children)


def _with_addresses(children: list[Token]) -> list[Token]:
    """Add to each link the address to show behind it, unless its words are the address."""
    opened: Token | None = None
    words = ""
    for token in children:
        if token.type == "link_open":
            opened, words = token, ""
        elif token.type == "link_close" and opened:
            address = str(opened.attrs["href"])
            title = f' "{opened.attrs["title"]}"' if "title" in opened.attrs else ""
            is_shown = words in (address, address.removeprefix("mailto:")) and not title
            token.meta = {
                "is_link": is_external_link(address),
                "address": "" if is_shown else f"{address}{title}",
            }
            opened = None
        elif opened:
            token.meta = {"is_in_link": True}
            words += token.content
    return children


# HTML of each token type that differs from the default


def _text(token: Token, env: _Env) -> str:
    """Render plain text, with item IDs as links."""
    if token.meta.get("is_in_link") or not env["known"]:
        return lines_html(token.content)
    return _link_item_ids(token.content, env["thread_id"], env["known"])


def _fence(token: Token, env: _Env) -> str:
    """Render a code block with its info string, or the marker of a delta block."""
    number = env["places"].get(token.map[0] + 1) if token.map else None
    if number is not None:
        return f'<hr {BLOCK_ATTRIBUTE}="{number}">\n'
    info = escape_invisible(token.info.strip())
    attribute = f' data-info="{escape(info)}"' if info else ""
    return f"<pre{attribute}><code>{lines_html(token.content)}</code></pre>\n"


def _image(token: Token, env: _Env) -> str:
    """Render an image as words, so that the page requests nothing from other sites."""
    words = _renderer().renderInlineAsText(token.children, _parser().options, env)
    title = f' "{token.attrs["title"]}"' if "title" in token.attrs else ""
    return _address(f"[image: {words or 'no description'}, {token.attrs['src']}{title}]")


def _link(token: Token, _env: _Env) -> str:
    """Render the start of an external link. Any other link is only text."""
    href = str(token.attrs["href"])
    return f'<a class="elsewhere" href="{escape(href)}">' if is_external_link(href) else ""


def _after_link(token: Token, _env: _Env) -> str:
    """Render the end of a link, with its address behind it."""
    end = "</a>" if token.meta["is_link"] else ""
    address = token.meta["address"]
    return f"{end} {_address(f'({address})')}" if address else end


def _heading(token: Token, _env: _Env) -> str:
    """Render a heading below the headings of the page, or its end."""
    slash = "/" if token.nesting < 0 else ""
    return f"<{slash}{_HEADINGS.get(token.tag, _LOWEST_HEADING)}>"


def _cell(token: Token, _env: _Env) -> str:
    """Render a cell. The alignment becomes a class, because the CSP forbids inline styles."""
    found = _ALIGNED.fullmatch(str(token.attrs.get("style", "")))
    scope = ' scope="col"' if token.tag == "th" else ""
    aligned = f' class="{found[1]}"' if found else ""
    return f"<{token.tag}{scope}{aligned}>"


_RULES: Mapping[str, Callable[[Token, _Env], str]] = MappingProxyType(
    {
        "text": _text,
        "code_inline": lambda token, _: f"<code>{lines_html(token.content)}</code>",
        "code_block": _fence,
        "fence": _fence,
        "image": _image,
        "link_open": _link,
        "link_close": _after_link,
        "heading_open": _heading,
        "heading_close": _heading,
        "table_open": lambda *_: (  # in a scrollable box
            '<div class="wide" role="region" tabindex="0" aria-label="Table"><table>\n'
        ),
        "table_close": lambda *_: "</table></div>\n",
        "th_open": _cell,
        "td_open": _cell,
    }
)


def _rule(write: Callable[[Token, _Env], str]) -> Callable[..., str]:
    """Adapt a function of one token to the signature of the renderer."""

    def rule(tokens: Sequence[Token], number: int, _options: object, env: _Env) -> str:
        return write(tokens[number], env)

    return rule


def _address(text: str) -> str:
    return f'<span class="address">{lines_html(text)}</span>'


def _link_item_ids(text: str, thread_id: str, known: frozenset[str]) -> str:
    parts, end = [], 0
    for match in ITEM_ID_IN_PROSE.finditer(text):
        if match[0] in known:
            parts.append(lines_html(text[end : match.start()]))
            parts.append(f'<a class="id" href="{links.item(thread_id, match[0])}">{match[0]}</a>')
            end = match.end()
    return "".join([*parts, lines_html(text[end:])])


MAX_SHOWN = 500_000  # characters; more is slow in a browser, and to escape
_MAX_CACHED = 30_000_000  # characters of HTML in total
_PART_OVERHEAD = 300  # per part
_BLOCK_MARKER = lazy_pattern(f'<hr {BLOCK_ATTRIBUTE}="([0-9]+)">')


HtmlPart = tuple[Markup, int | None]  # a part of a text, and the number of the block after it


def markdown(text: str, thread_id: str | None = None, known: Iterable[str] = ()) -> Markup:
    """Return a text as sanitized HTML. The `known` item IDs are links into the thread."""
    return html_parts(text, thread_id, known)[0][0]


def html_parts(
    text: str,
    thread_id: str | None = None,
    known: Iterable[str] = (),
    blocks: Iterable[Mapping[str, object]] = (),
) -> tuple[HtmlPart, ...]:
    """Return the same in parts, between which the page shows the delta blocks.

    `blocks` have a `line`, on which their fence begins, and a `block`, their number. Blocks that
    the text does not show come after it, so that none is left out.
    """
    places = {cast("int", each["line"]): cast("int", each["block"]) for each in blocks}
    named = {match[0] for match in ITEM_ID_IN_PROSE.finditer(text)} if thread_id else set()
    items = frozenset(named & set(known))
    links_key = (thread_id, sorted(items), sorted(places.items()))
    key = sha256(f"{links_key!r}\n{text}".encode(errors="surrogatepass")).digest()
    env = {"thread_id": thread_id or "", "known": items, "places": places}
    return _CACHE.get(key, lambda: tuple(_typeset(text, env)))


_CACHE: LRUCache[tuple[HtmlPart, ...]] = LRUCache(
    _MAX_CACHED, lambda parts: sum(_PART_OVERHEAD + len(html) for html, _ in parts)
)


def _typeset(text: str, env: _Env) -> Iterator[HtmlPart]:
    """Yield the parts. A fence on the line of a delta block is the end of a part."""
    pieces = _BLOCK_MARKER.split(sanitize("".join(_html_or_plain(text, env))))
    found = [*map(int, pieces[1::2]), None]
    for piece, number in zip(pieces[::2], found, strict=True):
        yield _as_markup(piece), number
    for number in env["places"].values():
        if number not in found:
            yield Markup(""), number


def _html_or_plain(text: str, env: _Env) -> Iterable[str]:
    """Return the HTML, not sanitized yet. A text beyond the limits is unformatted."""
    if len(text) > MAX_TYPESET:
        return _plain(text, f"it has {len(text):,} characters")
    if typeset_cost(text) > MAX_COST:
        why = "it has too many marks, lines or table cells to format"
        return _plain(text, why)
    tokens = _parser().parse(text.removeprefix("\ufeff"), env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        why = f"its quotations and lists are nested {MAX_NESTING} or more levels deep"
        return _plain(text, why)
    return [_renderer().render(tokens, _parser().options, env)]


def _plain(text: str, why: str) -> Iterator[str]:
    yield f'<p class="why-plain">Shown as plain text: {why}.</p>'
    shown = text[:MAX_SHOWN].replace("\r\n", "\n")
    yield f"<pre><code>{lines_html(shown)}</code></pre>"
    if len(text) > MAX_SHOWN:
        left = len(text) - MAX_SHOWN
        yield f'<p class="why-plain">Shortened. The raw text has {left:,} more characters.</p>'


def _as_markup(html: str) -> Markup:
    """Mark sanitized HTML as safe. This is the only place that does."""
    return Markup(html)  # noqa: S704
