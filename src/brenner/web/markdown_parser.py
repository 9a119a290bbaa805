"""Markdown as other people write it, as HTML of ours: nothing is obeyed, and nothing is hidden.

HTML in it is text. Addresses stand beside their links, pictures are words, definitions of links
stay where they are: whoever reads the page sees all that the message says.
"""

import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import cache
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from brenner.artifact.html import lines_html, spelled_out
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.web import links
from brenner.web.allowed_html import PLACE, is_link
from brenner.web.markdown_work import (
    WORK,
    Account,
    CountingInline,
    TooMuchWork,
    count_steps,
    paragraph_work,
)

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
