"""Other people's Markdown on our pages: typeset, cleaned, and whole.

What cannot be typeset, because it is too long or nests too deep, is shown as plain text, and the
page says so.
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

from brenner.artifact.html import lines_html, spelled_out
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.web import links

# What the HTML of somebody else's text may hold: an allow-list, and nothing beside it.
#
# The Markdown renderer writes nothing else anyway. This is the second wall: whatever a fault in it
# lets through is taken out here, before a browser sees it.


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


# How much work it is to typeset a text, counted: so that no text of anybody's holds up the page.
#
# The parser looks for the ends of links again and again, fills up tables, and asks every container
# about every line: there are texts of a few kilobytes over which it sits for minutes. No clock is
# looked at, for the same text is to look the same on every machine. What is counted is steps of the
# parser, in parts that take about a microsecond each.


MOST_WORK = 800_000
# What one step of each kind takes
_ASKED = 1  # what stands at a place that was looked at before
_PLACE = 3
_LINE = 10
_COLUMNS = 16  # so many characters of a line, looked at for a rule or a table, are one more
_TOKEN = 8
_PARAGRAPH = 20
_PAIR = 5
_ADDRESS = 20
# A text may take so much for what can be counted without parsing: ordinary ones take the half
_FOR_CHARACTER, _FOR_LINE, _FOR_MARK, _FOR_CELL = 2, 120, 16, 100
_MARK = re.compile(r"[]\[!*_~`<>&\\#$%+:=@^{}\n-]")  # what the parser stops at
_LEAST = 2_000
_DEEPEST = 20  # pictures in the words of pictures
_BLOCK_CHAINS = ["paragraph", "reference", "blockquote", "list"]
WORK = "work"  # what a parser finds the account by


class TooMuchWork(Exception):
    """A text that would take more than it may."""


class Account:
    """The work that is left for a text."""

    __slots__ = ("_depth", "_left", "_tokens")

    def __init__(self, most: int) -> None:
        self._left, self._tokens, self._depth = most, 0, 0

    @property
    def left(self) -> int:
        """What is not spent."""
        return max(0, self._left)

    def spend(self, work: int) -> None:
        """Take from it; where nothing is left, stop."""
        self._left -= work
        if self._left < 0:
            raise TooMuchWork

    @contextmanager
    def within(self) -> Iterator[None]:
        """One text within another; the parser calls itself for each."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooMuchWork
        yield
        self._depth -= 1

    def made(self, tokens: int) -> None:
        """So many tokens are there; those that are new are paid for."""
        new, self._tokens = tokens - self._tokens, tokens
        self.spend(_TOKEN * max(0, new))


def weight(text: str) -> int:
    """The most work that a text may take: by its characters, its lines and its marks.

    Where the parser takes more, it walks over the same text again and again.
    """
    marks = len(text) - len(_MARK.sub("", text))
    counted = (
        _FOR_CHARACTER * len(text)
        + _FOR_LINE * (text.count("\n") + text.count("\r"))
        + _FOR_CELL * text.count("|")
        + _FOR_MARK * marks
    )
    return _LEAST + counted


def paragraph_work(content: str) -> int:
    """What the marks of a paragraph take beside the steps: to pair them, to read addresses."""
    pairs = sum(map(content.count, "*_~"))
    return _PARAGRAPH + _PAIR * pairs + _ADDRESS * content.count("](")


def count_steps(parser: MarkdownIt) -> None:
    """Have a parser pay for each step, from the account in its `env`."""
    parser.block.ruler.before("table", "count", _count_line, {"alt": _BLOCK_CHAINS})
    parser.inline.ruler.before("text", "count", _count_place)


class CountingInline(ParserInline):
    """Looks ahead as the parser does, and pays also for what it knows already."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """The marks of a paragraph; or of the words of a picture, within those of a paragraph."""
        with env[WORK].within():
            return super().parse(src, md, env, tokens)

    def skipToken(self, state: StateInline) -> None:  # noqa: N802
        """Go behind what stands here."""
        state.env[WORK].spend(_ASKED)
        super().skipToken(state)


# The first rules of all, which apply to nothing: the parser asks them at every step


def _count_line(state: StateBlock, line: int, _end: int, _is_asked: bool) -> bool:
    account: Account = state.env[WORK]
    account.made(len(state.tokens))
    account.spend(_LINE + (state.eMarks[line] - state.bMarks[line]) // _COLUMNS)
    return False


def _count_place(state: StateInline, _is_asked: bool) -> bool:
    state.env[WORK].spend(_PLACE)
    return False


# Markdown as other people write it, as HTML of ours: nothing is obeyed, and nothing is hidden.
#
# HTML in it is text. Addresses stand beside their links, pictures are words, definitions of links
# stay where they are: whoever reads the page sees all that the message says.


MOST_NESTING = 100  # what stands deeper the parser would leave out
_DEEPEST_EMPHASIS = 40
_CHILD_WORK = 3  # to write one of the marks
_EXCERPT_WORK = 20_000
_HEADINGS = {"h1": "h4", "h2": "h5"}  # ours stand above; what is deeper is the lowest
_LOWEST_HEADING = "h6"
_ALIGNED = re.compile(r"text-align:(left|center|right)")

_Env = MutableMapping[str, Any]


class TooDeep(Exception):
    """Quotations and lists in one another, beyond what is shown."""


class Linked(NamedTuple):
    """What a text leads to: the items of a thread, and the delta blocks by their lines."""

    thread_id: str
    known: frozenset[str]
    places: Mapping[int, int]


def to_html(text: str, linked: Linked, account: Account) -> str:
    """The HTML of a text; it is still to be cleaned.

    IDs that are known become links into the thread. Where a fence begins on a line of a place,
    an empty element bears the number that stands there. All steps are paid from the account.
    """
    env = {**linked._asdict(), WORK: account}
    tokens = _parser().parse(text.removeprefix("\ufeff"), env)
    if any(token.level >= MOST_NESTING - 1 for token in tokens):
        raise TooDeep
    return _renderer().render(tokens, _parser().options, env)


def words_of(text: str) -> str:
    """The words of one paragraph, on one line, without the marks around them.

    Where it would take too long to tell these, with the marks.
    """
    line = " ".join(text.split())
    try:
        tokens = _parser().parseInline(line, {WORK: Account(_EXCERPT_WORK)})
    except TooMuchWork:
        return line
    return _renderer().renderInlineAsText(tokens[0].children, _parser().options, {})


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough. Definitions of links are text, as is HTML."""
    options = {"html": False, "maxNesting": MOST_NESTING, "xhtmlOut": False}
    made = MarkdownIt("commonmark", options)
    made.inline = CountingInline()
    made.configure("commonmark", options)
    count_steps(made)
    made.enable(["table", "strikethrough"]).disable("reference")
    made.core.ruler.at("inline", _parse_inline)
    return made


@cache
def _renderer() -> RendererHTML:
    made = RendererHTML()
    rules: MutableMapping[str, Any] = made.rules  # it says methods, and calls anything
    rules.update((name, _rule(write)) for name, write in _RULES.items())
    return made


def _parse_inline(state: StateCore) -> None:
    """Emphasis and links; a paragraph in which they nest too deep is text."""
    account: Account = state.env[WORK]
    account.made(len(state.tokens))
    for token in state.tokens:
        if token.type != "inline":
            continue
        content, children = token.content, list[Token]()
        account.spend(paragraph_work(content))
        state.md.inline.parse(content, state.md, state.env, children)
        account.spend(_CHILD_WORK * len(children))
        if not children or max(each.level for each in children) > _DEEPEST_EMPHASIS:
            children = [Token("text", "", 0, content=content)]
        token.children = _with_addresses(children)


def _with_addresses(children: list[Token]) -> list[Token]:
    """Links know what to say behind them: where they lead, unless their words say that."""
    opened: Token | None = None
    said = ""
    for token in children:
        if token.type == "link_open":
            opened, said = token, ""
        elif token.type == "link_close" and opened:
            address = str(opened.attrs["href"])
            title = f' "{opened.attrs["title"]}"' if "title" in opened.attrs else ""
            is_said = said in (address, address.removeprefix("mailto:")) and not title
            token.meta = {
                "is_link": is_link(address),
                "address": "" if is_said else f"{address}{title}",
            }
            opened = None
        elif opened:
            token.meta = {"is_in_link": True}
            said += token.content
    return children


# The HTML of each kind of token, where ours is not the usual one


def _text(token: Token, env: _Env) -> str:
    """Plain text; IDs in it are links."""
    if token.meta.get("is_in_link") or not env["known"]:
        return lines_html(token.content)
    return _linked(token.content, env["thread_id"], env["known"])


def _code(token: Token, _env: _Env) -> str:
    """Code in a line."""
    return f"<code>{lines_html(token.content)}</code>"


def _fence(token: Token, env: _Env) -> str:
    """Code between fences with its info string, or indented; or the place of a delta block."""
    number = env["places"].get(token.map[0] + 1) if token.map else None
    if number is not None:
        return f'<hr {PLACE}="{number}">\n'
    info = spelled_out(token.info.strip())
    attribute = f' data-info="{escape(info)}"' if info else ""
    return f"<pre{attribute}><code>{lines_html(token.content)}</code></pre>\n"


def _image(token: Token, env: _Env) -> str:
    """A picture in words: no request leaves the page."""
    words = _renderer().renderInlineAsText(token.children, _parser().options, env)
    title = f' "{token.attrs["title"]}"' if "title" in token.attrs else ""
    return _address(f"[picture: {words or 'without words'}, {token.attrs['src']}{title}]")


def _link(token: Token, _env: _Env) -> str:
    """A link to elsewhere; what is none of those is only text."""
    href = str(token.attrs["href"])
    return f'<a class="elsewhere" href="{escape(href)}">' if is_link(href) else ""


def _after_link(token: Token, _env: _Env) -> str:
    """Where it leads stands behind its words."""
    end = "</a>" if token.meta["is_link"] else ""
    address = token.meta["address"]
    return f"{end} {_address(f'({address})')}" if address else end


def _heading(token: Token, _env: _Env) -> str:
    """A heading below ours, or its end."""
    slash = "/" if token.nesting < 0 else ""
    return f"<{slash}{_HEADINGS.get(token.tag, _LOWEST_HEADING)}>"


def _table(_token: Token, _env: _Env) -> str:
    """A table that may be wider than its place."""
    return '<div class="wide" role="region" tabindex="0" aria-label="Table"><table>\n'


def _after_table(_token: Token, _env: _Env) -> str:
    return "</table></div>\n"


def _cell(token: Token, _env: _Env) -> str:
    """The parser says how a column is aligned as a style, which no page of ours may have."""
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
    """A rule as the renderer calls it: with all tokens, and the number of one."""

    def rule(tokens: Sequence[Token], number: int, _options: object, env: _Env) -> str:
        return write(tokens[number], env)

    return rule


def _address(text: str) -> str:
    return f'<span class="address">{lines_html(text)}</span>'


def _linked(text: str, thread_id: str, known: frozenset[str]) -> str:
    """A text in which the items that the session has are links."""
    parts, end = [], 0
    for match in ITEM_ID_IN_PROSE.finditer(text):
        if match[0] in known:
            parts.append(lines_html(text[end : match.start()]))
            parts.append(f'<a class="id" href="{links.item(thread_id, match[0])}">{match[0]}</a>')
            end = match.end()
    return "".join([*parts, lines_html(text[end:])])


MOST_TYPESET = 200_000  # characters; to parse more would take seconds
MOST_SHOWN = 500_000  # a browser suffers from more; and to spell out hidden ones takes long
_MOST_KEPT = 30_000_000  # characters of HTML, of all texts together
_PART_SIZE = 300  # what a piece takes beside its characters
_MARKDOWN_HTML_PLACE = re.compile(f'<hr {PLACE}="([0-9]+)">')
_NONE: frozenset[str] = frozenset()


class Part(NamedTuple):
    """A piece of the HTML of a text, and the number of the delta block that stands behind it."""

    html: Markup
    block: int | None = None


def markdown(text: str, thread_id: str | None = None, known: Iterable[str] = ()) -> Markup:
    """A text of somebody else's as HTML. IDs that are `known` are links into the thread."""
    return parts(text, thread_id, known)[0].html


def parts(
    text: str,
    thread_id: str | None = None,
    known: Iterable[str] = (),
    blocks: Iterable[Mapping[str, object]] = (),
) -> tuple[Part, ...]:
    """The same in pieces, between which the page shows what became of each delta block.

    `blocks` have a `line`, on which their fence begins, and a `block`, their number. Those that the
    text does not show stand after it: none is left out.
    """
    return _typeset(text, thread_id, known, blocks).parts


def work_of(
    text: str,
    thread_id: str | None = None,
    known: Iterable[str] = (),
    blocks: Iterable[Mapping[str, object]] = (),
) -> int:
    """How much work it was to typeset this, for pages that show many texts."""
    return _typeset(text, thread_id, known, blocks).work


class _Typeset(NamedTuple):
    """A text as it is shown, and the work that it took."""

    parts: tuple[Part, ...]
    work: int

    @property
    def size(self) -> int:
        """What it takes to keep it, about."""
        return sum(_PART_SIZE + len(each.html) for each in self.parts)


def _typeset(
    text: str,
    thread_id: str | None,
    known: Iterable[str],
    blocks: Iterable[Mapping[str, object]],
) -> _Typeset:
    places = {cast("int", each["line"]): cast("int", each["block"]) for each in blocks}
    named = {match[0] for match in ITEM_ID_IN_PROSE.finditer(text)} if thread_id else _NONE
    linked = Linked(thread_id or "", frozenset(named & set(known)), places)
    return _KEPT.get(text, linked)


class _Kept:
    """The HTML of texts that were shown lately, by their digest; so many characters of it."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._found: OrderedDict[bytes, _Typeset] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, linked: Linked) -> _Typeset:
        """What is kept of a text, or else made of it now."""
        beside = (linked.thread_id, sorted(linked.known), sorted(linked.places.items()))
        key = sha256(f"{beside!r}\n{text}".encode(errors="surrogatepass")).digest()
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = _make(text, linked)
        with self._lock:
            if key not in self._found:
                self._found[key] = made
                self._size += made.size
            while self._size > self._most:
                self._size -= self._found.popitem(last=False)[1].size
        return made


_KEPT = _Kept(_MOST_KEPT)


def _make(text: str, linked: Linked) -> _Typeset:
    account = Account(min(weight(text), MOST_WORK))
    most = account.left
    pieces = _MARKDOWN_HTML_PLACE.split(cleaned(_html(text, linked, account)))
    found = [*map(int, pieces[1::2]), None]
    shown = [Part(_clean(piece), number) for piece, number in zip(pieces[::2], found, strict=True)]
    unseen = (number for number in linked.places.values() if number not in set(found))
    return _Typeset((*shown, *(Part(Markup(""), number) for number in unseen)), most - account.left)


def _html(text: str, linked: Linked, account: Account) -> str:
    if len(text) > MOST_TYPESET:
        return "".join(_plain(text, f"it has {len(text):,} characters"))
    try:
        return to_html(text, linked, account)
    except TooDeep:
        why = f"its quotations and lists are {MOST_NESTING} or more deep in one another"
    except TooMuchWork:
        why = "it has so many marks, lines or cells that it would take too long to typeset them"
    return "".join(_plain(text, why))


def _plain(text: str, why: str) -> Iterator[str]:
    """The text as it is, and the reason."""
    yield f'<p class="why-plain">Shown as plain text: {why}.</p>'
    shown = text[:MOST_SHOWN].replace("\r\n", "\n")
    yield f"<pre><code>{lines_html(shown)}</code></pre>"
    if len(text) > MOST_SHOWN:
        left = len(text) - MOST_SHOWN
        yield f'<p class="why-plain">Cut here: {left:,} more characters are in the raw text.</p>'


def _clean(html: str) -> Markup:
    """What has been cleaned; the one place that says so."""
    return Markup(html)  # noqa: S704
