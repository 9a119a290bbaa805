"""Markdown from messages as sanitized HTML, within a work budget.

A text that is too long or nests too deep is shown as plain text, and the page says so.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from html import escape
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import nh3
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType
from markupsafe import Markup

from brenner.artifact.html import escape_invisible, lines_html
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.web import links

# Sanitizing: an allow-list of elements and attributes.
#
# The renderer writes nothing else. This is the second line of defence against a fault in it.


# Pages of ours. A text can link to them only through an item ID.
_OWN_LINK = re.compile(r"/sessions/[A-Za-z0-9._~%-]+/items/[A-Za-z0-9.%-]+")
_EXTERNAL = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
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


# The work budget: no text may hold up a page.
#
# The parser searches the ends of links repeatedly, fills up tables, and checks every container for
# every line. Some texts of a few kilobytes take minutes. The budget counts steps of the parser, of
# about a microsecond each. It uses no clock, so that a text looks the same on every machine.


MAX_WORK = 800_000
# Cost of one step of each kind
_SKIP_COST = 1  # a token that is in the parser's cache
_INLINE_COST = 3
_LINE_COST = 10
_CHARACTERS_PER_COST = 16  # so many characters of a line cost one more, for rules and tables
_TOKEN_COST = 8
_PARAGRAPH_COST = 20
_PAIR_COST = 5
_ADDRESS_COST = 20
# Budget per feature that can be counted without parsing; ordinary texts use half of it
_CHARACTER_BUDGET, _LINE_BUDGET, _MARK_BUDGET, _CELL_BUDGET = 2, 120, 16, 100
_MARK = re.compile(r"[]\[!*_~`<>&\\#$%+:=@^{}\n-]")  # where the parser stops
_MIN_BUDGET = 2_000
_MAX_IMAGE_NESTING = 20  # images in the alternative texts of images
_BLOCK_CHAINS = ["paragraph", "reference", "blockquote", "list"]
BUDGET_KEY = "work"  # in the `env` of the parser


class BudgetExceeded(Exception):
    """Typesetting a text would take more work than allowed."""


class WorkBudget:
    """The work that is left for a text."""

    __slots__ = ("_depth", "_remaining", "_tokens")

    def __init__(self, most: int) -> None:
        self._remaining, self._tokens, self._depth = most, 0, 0

    @property
    def remaining(self) -> int:
        return max(0, self._remaining)

    def spend(self, work: int) -> None:
        """Subtract work. Raise BudgetExceeded if none is left."""
        self._remaining -= work
        if self._remaining < 0:
            raise BudgetExceeded

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count one level of recursion of the parser. Raise BudgetExceeded if it is too deep."""
        self._depth += 1
        if self._depth > _MAX_IMAGE_NESTING:
            raise BudgetExceeded
        yield
        self._depth -= 1

    def count_tokens(self, tokens: int) -> None:
        """Pay for the tokens that are new since the last call."""
        new, self._tokens = tokens - self._tokens, tokens
        self.spend(_TOKEN_COST * max(0, new))


def work_budget(text: str) -> int:
    """Return the most work that a text may take, from its characters, lines and marks.

    If the parser needs more, it scans the same text again and again.
    """
    marks = len(text) - len(_MARK.sub("", text))
    counted = (
        _CHARACTER_BUDGET * len(text)
        + _LINE_BUDGET * (text.count("\n") + text.count("\r"))
        + _CELL_BUDGET * text.count("|")
        + _MARK_BUDGET * marks
    )
    return _MIN_BUDGET + counted


def paragraph_cost(content: str) -> int:
    """Return the cost of a paragraph beside the parser's steps: pairing marks, reading
    addresses.
    """
    pairs = sum(map(content.count, "*_~"))
    return _PARAGRAPH_COST + _PAIR_COST * pairs + _ADDRESS_COST * content.count("](")


def count_steps(parser: MarkdownIt) -> None:
    """Make a parser pay for each step from the budget in its `env`."""
    parser.block.ruler.before("table", "count", _count_line, {"alt": _BLOCK_CHAINS})
    parser.inline.ruler.before("text", "count", _count_inline)


class CountingInline(ParserInline):
    """The inline parser, which also pays for lookups in its cache."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Parse the marks of a paragraph, or of the alternative text of an image in it."""
        with env[BUDGET_KEY].nested():
            return super().parse(src, md, env, tokens)

    def skipToken(self, state: StateInline) -> None:  # noqa: N802
        """Skip one token and pay for it."""
        state.env[BUDGET_KEY].spend(_SKIP_COST)
        super().skipToken(state)


# Rules that never match: the parser calls them at every step


def _count_line(state: StateBlock, line: int, _end: int, _is_asked: bool) -> bool:
    budget: WorkBudget = state.env[BUDGET_KEY]
    budget.count_tokens(len(state.tokens))
    budget.spend(_LINE_COST + (state.eMarks[line] - state.bMarks[line]) // _CHARACTERS_PER_COST)
    return False


def _count_inline(state: StateInline, _is_asked: bool) -> bool:
    state.env[BUDGET_KEY].spend(_INLINE_COST)
    return False


# Rendering: nothing in the Markdown is executed, and nothing is hidden.
#
# HTML is text. Addresses are shown beside their links, images are words, and link definitions stay
# text. So the page shows everything that the message contains.


MAX_NESTING = 100  # the parser would drop deeper content
_MAX_EMPHASIS = 40
_CHILD_COST = 3  # to render one child token
_EXCERPT_BUDGET = 20_000
_HEADINGS = {"h1": "h4", "h2": "h5"}  # h1 to h3 are the page's; deeper ones become the lowest
_LOWEST_HEADING = "h6"
_ALIGNED = re.compile(r"text-align:(left|center|right)")

_Env = MutableMapping[str, Any]


class NestingTooDeep(Exception):
    """Quotations and lists nest deeper than the page shows."""


class TextLinks(NamedTuple):
    """What a text links to: the known items of a thread, and the delta blocks by line."""

    thread_id: str
    known: frozenset[str]
    places: Mapping[int, int]


def to_html(text: str, targets: TextLinks, budget: WorkBudget) -> str:
    """Return the HTML of a text, not sanitized yet.

    Known item IDs become links into the thread. A fence on the line of a delta block becomes an
    empty element with the number of the block. All steps are paid from the budget.
    """
    env = {**targets._asdict(), BUDGET_KEY: budget}
    tokens = _parser().parse(text.removeprefix("\ufeff"), env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        raise NestingTooDeep
    return _renderer().render(tokens, _parser().options, env)


def plain_words(text: str) -> str:
    """Return the words of one paragraph on one line, without Markdown marks.

    The marks stay if removing them would exceed the budget.
    """
    line = " ".join(text.split())
    try:
        tokens = _parser().parseInline(line, {BUDGET_KEY: WorkBudget(_EXCERPT_BUDGET)})
    except BudgetExceeded:
        return line
    return _renderer().renderInlineAsText(tokens[0].children, _parser().options, {})


@cache
def _parser() -> MarkdownIt:
    """Return a CommonMark parser with tables and strikethrough. Link definitions and HTML are
    text.
    """
    options = {"html": False, "maxNesting": MAX_NESTING, "xhtmlOut": False}
    result = MarkdownIt("commonmark", options)
    result.inline = CountingInline()
    result.configure("commonmark", options)
    count_steps(result)
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
    budget: WorkBudget = state.env[BUDGET_KEY]
    budget.count_tokens(len(state.tokens))
    for token in state.tokens:
        if token.type != "inline":
            continue
        content, children = token.content, list[Token]()
        budget.spend(paragraph_cost(content))
        state.md.inline.parse(content, state.md, state.env, children)
        budget.spend(_CHILD_COST * len(children))
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


def _code(token: Token, _env: _Env) -> str:
    """Render inline code."""
    return f"<code>{lines_html(token.content)}</code>"


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
    return _address(f"[picture: {words or 'without words'}, {token.attrs['src']}{title}]")


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


def _table(_token: Token, _env: _Env) -> str:
    """Render the start of a table in a scrollable box."""
    return '<div class="wide" role="region" tabindex="0" aria-label="Table"><table>\n'


def _after_table(_token: Token, _env: _Env) -> str:
    return "</table></div>\n"


def _cell(token: Token, _env: _Env) -> str:
    """Render a cell. The alignment becomes a class, because the CSP forbids inline styles."""
    found = _ALIGNED.fullmatch(str(token.attrs.get("style", "")))
    scope = ' scope="col"' if token.tag == "th" else ""
    aligned = f' class="{found[1]}"' if found else ""
    return f"<{token.tag}{scope}{aligned}>"


_RULES: Mapping[str, Callable[[Token, _Env], str]] = MappingProxyType(
    {
        "text": _text,
        "code_inline": _code,
        "code_block": _fence,
        "fence": _fence,
        "image": _image,
        "link_open": _link,
        "link_close": _after_link,
        "heading_open": _heading,
        "heading_close": _heading,
        "table_open": _table,
        "table_close": _after_table,
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
    """Return the text as HTML with links for the known item IDs."""
    parts, end = [], 0
    for match in ITEM_ID_IN_PROSE.finditer(text):
        if match[0] in known:
            parts.append(lines_html(text[end : match.start()]))
            parts.append(f'<a class="id" href="{links.item(thread_id, match[0])}">{match[0]}</a>')
            end = match.end()
    return "".join([*parts, lines_html(text[end:])])


MAX_TYPESET = 200_000  # characters; parsing more would take seconds
MAX_SHOWN = 500_000  # characters; more is slow in a browser, and to escape
_MAX_CACHED = 30_000_000  # characters of HTML in total
_PART_OVERHEAD = 300  # per part
_BLOCK_MARKER = re.compile(f'<hr {BLOCK_ATTRIBUTE}="([0-9]+)">')
_NO_ITEMS: frozenset[str] = frozenset()


class HtmlPart(NamedTuple):
    """A part of the HTML of a text, and the number of the delta block after it."""

    html: Markup
    block: int | None = None


def markdown(text: str, thread_id: str | None = None, known: Iterable[str] = ()) -> Markup:
    """Return a text as sanitized HTML. The `known` item IDs are links into the thread."""
    return html_parts(text, thread_id, known)[0].html


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
    return _typeset(text, thread_id, known, blocks).parts


def typeset_cost(
    text: str,
    thread_id: str | None = None,
    known: Iterable[str] = (),
    blocks: Iterable[Mapping[str, object]] = (),
) -> int:
    """Return the work that typesetting this text took, for pages with many texts."""
    return _typeset(text, thread_id, known, blocks).work


class _Typeset(NamedTuple):
    """A typeset text, and the work that it took."""

    parts: tuple[HtmlPart, ...]
    work: int

    @property
    def size(self) -> int:
        """The memory that a cache entry takes, in about characters."""
        return sum(_PART_OVERHEAD + len(each.html) for each in self.parts)


def _typeset(
    text: str,
    thread_id: str | None,
    known: Iterable[str],
    blocks: Iterable[Mapping[str, object]],
) -> _Typeset:
    places = {cast("int", each["line"]): cast("int", each["block"]) for each in blocks}
    named = {match[0] for match in ITEM_ID_IN_PROSE.finditer(text)} if thread_id else _NO_ITEMS
    targets = TextLinks(thread_id or "", frozenset(named & set(known)), places)
    return _CACHE.get(text, targets)


class _TypesetCache:
    """LRU cache of typeset texts by digest, limited by their total size."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._entries: OrderedDict[bytes, _Typeset] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, targets: TextLinks) -> _Typeset:
        """Return the typeset text, from the cache if it is there."""
        link_key = (targets.thread_id, sorted(targets.known), sorted(targets.places.items()))
        key = sha256(f"{link_key!r}\n{text}".encode(errors="surrogatepass")).digest()
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        result = _typeset_now(text, targets)
        with self._lock:
            if key not in self._entries:
                self._entries[key] = result
                self._size += result.size
            while self._size > self._most:
                self._size -= self._entries.popitem(last=False)[1].size
        return result


_CACHE = _TypesetCache(_MAX_CACHED)


def _typeset_now(text: str, targets: TextLinks) -> _Typeset:
    budget = WorkBudget(min(work_budget(text), MAX_WORK))
    most = budget.remaining
    pieces = _BLOCK_MARKER.split(sanitize(_html_or_plain(text, targets, budget)))
    found = [*map(int, pieces[1::2]), None]
    shown = [
        HtmlPart(_as_markup(piece), number)
        for piece, number in zip(pieces[::2], found, strict=True)
    ]
    unseen = (number for number in targets.places.values() if number not in set(found))
    return _Typeset(
        (*shown, *(HtmlPart(Markup(""), number) for number in unseen)), most - budget.remaining
    )


def _html_or_plain(text: str, targets: TextLinks, budget: WorkBudget) -> str:
    if len(text) > MAX_TYPESET:
        return "".join(_plain(text, f"it has {len(text):,} characters"))
    try:
        return to_html(text, targets, budget)
    except NestingTooDeep:
        why = f"its quotations and lists are {MAX_NESTING} or more deep in one another"
    except BudgetExceeded:
        why = "it has so many marks, lines or cells that it would take too long to typeset them"
    return "".join(_plain(text, why))


def _plain(text: str, why: str) -> Iterator[str]:
    """Yield the text unformatted, with the reason."""
    yield f'<p class="why-plain">Shown as plain text: {why}.</p>'
    shown = text[:MAX_SHOWN].replace("\r\n", "\n")
    yield f"<pre><code>{lines_html(shown)}</code></pre>"
    if len(text) > MAX_SHOWN:
        left = len(text) - MAX_SHOWN
        yield f'<p class="why-plain">Cut here: {left:,} more characters are in the raw text.</p>'


def _as_markup(html: str) -> Markup:
    """Mark sanitized HTML as safe. This is the only place that does."""
    return Markup(html)  # noqa: S704
