"""HTML of the pages: Jinja environment and filters, static assets and paging.

Templates escape every text, and an unknown name is an error.
"""

from __future__ import annotations

import gzip
import tomllib
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from markupsafe import Markup, escape

from brenner import __version__
from brenner.artifact.diff import value_text
from brenner.artifact.html import LinkTargets, entry_html, lines_html, prose_html, text_html
from brenner.artifact.model import Reference, Result, freeze_element
from brenner.diagnostics.labels import LABELS
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import SECTIONS, Field, FieldKind
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import exact_time, relative_time
from brenner.services.run_summary import clock_text, tokens_text
from brenner.text import cut, did_you_mean, plural, short_commit, thread_argument
from brenner.web import links
from brenner.web.agent_marks import AgentMarks
from brenner.web.cache import ResponseBody
from brenner.web.markdown import html_parts, markdown
from brenner.web.messages import own_sections, pretty_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jinja2.runtime import Context

    from brenner.web.request import Document, Page, PartCache, RequestContext

# Fixes in the words of a form: the texts of codes often name command-line flags


_EDITED_CODE = "ARTIFACT_FILE_EDITED"
_KEEP_OR_DROP = (
    "To keep them, send the message below, compile, and save again. To discard them, tick "
    "“Overwrite manual changes in the file”."
)


@cache
def _form_words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / "form_words.toml").read_text("utf-8"))


def form_fix(found: Mapping[str, object]) -> str:
    """Return the fix of a diagnostic (as JSON) in the words of the form."""
    if found["id"] == _EDITED_CODE and found.get("repaired"):
        return _KEEP_OR_DROP
    words, code = _form_words(), str(found["id"])
    own = words["fixes"].get(code) or words["pages"].get(code)
    if own is None:
        return form_words(str(found["fix"]))
    meant = found.get("suggestion")
    return f"{own}{did_you_mean(str(meant) if meant else None)}"


def page_fix(found: Mapping[str, object]) -> str:
    """Return the fix of a diagnostic (as JSON), without a command if the pages have a link."""
    return _form_words()["pages"].get(str(found["id"])) or str(found["fix"])


def without_command(fix: str) -> str:
    """Return a fix without the advice to repeat a command: a page reloads by itself."""
    return _REPEAT.sub("", fix).replace("Repeat the command", "Reload the page")


_REPEAT = lazy_pattern(
    r"(?:(?:,|;)? (?:and |then )*(?:run|repeat) the (?:same )?command(?: again)?(?=[.;,]))"
    r"|(?: ?Then (?:run|repeat) the (?:same )?command(?: again)?\.)"
)


def form_words(text: str) -> str:
    """Replace the command-line flags in a sentence with the labels of the form."""
    for phrase, called in _form_words()["phrases"].items():
        text = text.replace(phrase, called)
    return text


# Template filters. A filter that returns Markup has escaped all untrusted text.


_LETTER_TINTS = 6
_MAX_CHART_NAME = 44
MAX_BARS = 12  # of a chart


def escape_line(text: str) -> Markup:
    """Escape an untrusted text on one line. Hidden characters are spelled out."""
    return _as_markup(text_html(text))


def paragraphs(text: str) -> Markup:
    """Escape an untrusted text as paragraphs."""
    return _as_markup(prose_html(text))


def preformatted(text: str) -> Markup:
    """Escape an untrusted text with its lines and tabs, for `pre`. CRLF becomes LF."""
    return escape_lines(text.replace("\r\n", "\n"))


def escape_lines(text: str) -> Markup:
    """Escape an untrusted text with its lines and tabs, without any other change."""
    return _as_markup(lines_html(text))


def inline_code(text: str) -> Markup:
    """Render a sentence of ours on one line, with commands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a literal backtick
        return escape_line(text)
    shown = (
        Markup("<code>{}</code>").format(escape_line(part)) if number % 2 else escape_line(part)
        for number, part in enumerate(parts)
    )
    return Markup("").join(shown)


@pass_context
def field_entry_html(context: Context, entry: Mapping[str, Any], is_killed: bool = False) -> Markup:
    """Render an entry of a field, with links to the addresses that the page has."""
    page = context["page"]
    known = LinkTargets(page["session"]["thread_id"], page["addresses"], links_in_prose=True)
    field = field_of(entry["section"], entry["path"][0])
    html = entry_html(field, from_json(entry["value"]), known, is_killed=is_killed)
    return _as_markup(html)


def value_html(value: object) -> Markup:
    """Render a value in words: a replaced one, or the other one in a conflict."""
    return paragraphs(value_words(value))


def value_words(value: object) -> str:
    """Return the same as plain text."""
    return value_text(from_json(value))


@pass_context
def time_with_age(context: Context, at: str | datetime | None) -> Markup:
    """Render how long ago a time was, with a tooltip. A script keeps it current."""
    moment = _to_datetime(at)
    if moment is None:
        return Markup("")
    shown, instant = relative_time(moment, context["now"]), exact_time(moment)
    return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(
        instant, instant.replace("T", " ").replace("Z", " UTC"), shown
    )


def time_in_full(at: str | datetime | None) -> str:
    """Return a time to the second, in UTC."""
    moment = _to_datetime(at)
    return exact_time(moment).replace("T", " ").replace("Z", " UTC") if moment else ""


@pass_context
def tint(context: Context, name: str) -> str:
    """Return the CSS classes of the colour of an agent on this page."""
    marks: AgentMarks = context["marks"]
    return marks.of(name).css


@pass_context
def agent_initials(context: Context, name: str) -> str:
    """Return the initials of an agent, which no other agent of the page has."""
    marks: AgentMarks = context["marks"]
    return marks.of(name).initials


def marks_of(document: Document) -> AgentMarks:
    """Return the marks of the agents of a page, by their order of appearance in its session."""
    session = document.get("session")
    shown = session if isinstance(session, dict) else {}
    return AgentMarks(shown.get("appearance", ()), shown.get("operator", ""))


def type_colour(message_type: str | None) -> str:
    return TYPES[message_type].colour if message_type in TYPES else "quiet"


def spaced(name: str) -> str:
    """Return `awaiting_deltas` as words."""
    return name.replace("_", " ")


_SECTION_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "research_thread": "Research question",
        "hypothesis_slate": "Hypotheses",
        "predictions_table": "Predictions",
        "discriminative_tests": "Tests",
        "assumption_ledger": "Assumptions",
        "anomaly_register": "Anomalies",
        "adversarial_critique": "Critiques",
    }
)


def section_name(section_id: str) -> str:
    """Return the short name of a section. The ID may be invalid."""
    return _SECTION_NAMES.get(section_id) or spaced(section_id)


def sentence(text: str) -> str:
    """Return a text that begins with a capital. It ends with a full stop unless it introduces."""
    begun = text[:1].upper() + text[1:]
    return begun if begun.endswith((".", "!", "?", ":", ",", "then")) else f"{begun}."


def block_words(text: str) -> str:
    """Return the description of a block with the short names of sections."""
    for section_id, name in _SECTION_NAMES.items():
        text = text.replace(section_id, name)
    return text


def distinct(found: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return each diagnostic (as JSON) once, with the number of equal ones as `count`."""
    groups: dict[tuple[object, ...], list[Mapping[str, object]]] = {}
    for each in found:
        groups.setdefault((each["id"], each["message"], each["fix"]), []).append(each)
    return [{**group[0], "count": len(group)} for group in groups.values()]


def reader_words(text: str) -> str:
    """Return a text with `rejected` for the outcome that JSON calls `refused`."""
    return text.replace("refused", "rejected")


def field_of(section: str, name: str) -> Field:
    """Return a field of the schema. Any other field of a file is a text."""
    return SECTIONS[section].fields.get(name) or Field(name, FieldKind.TEXT, "")


def from_json(value: object) -> object:
    """Return a value of the artifact from its JSON: references and results are objects there."""
    if isinstance(value, dict) and value.keys() in (set(Reference._fields), set(Result._fields)):
        return freeze_element(value)
    if isinstance(value, list):
        return tuple(map(from_json, value))
    return value


def _as_markup(html: str) -> Markup:
    """Mark escaped HTML as safe. This is the only place in this module that does."""
    return Markup(html)  # noqa: S704


def _to_datetime(at: str | datetime | None) -> datetime | None:
    if at is None or isinstance(at, datetime):
        return at
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def shortened(text: str) -> Markup:
    """Return the beginning of a name, for a chart."""
    return escape_line(cut(text, _MAX_CHART_NAME))


def number(value: float) -> str:
    """Return a length in a chart, with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def letter_tint(letter: str) -> int:
    """Return the tint of the cells with a letter in the evidence matrix. Tints repeat."""
    return sum(map(ord, letter)) % _LETTER_TINTS


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "plain": escape_line,
        "paragraphs": paragraphs,
        "verbatim": preformatted,
        "coded": inline_code,
        "lines": escape_lines,
        "said": field_entry_html,
        "value_html": value_html,
        "in_words": value_words,
        "when": time_with_age,
        "exactly": time_in_full,
        "tint": tint,
        "initials": agent_initials,
        "role": type_colour,
        "words": spaced,
        "section": section_name,
        "sentence": sentence,
        "people": reader_words,
        "block_words": block_words,
        "distinct": distinct,
        "as_argument": thread_argument,
        "code_label": LABELS.get,
        "counted": plural,
        "commit": short_commit,
        "escaped": escape,
        "markdown": markdown,
        "body_parts": html_parts,
        "formatted": pretty_json,
        "own_part": own_sections,
        "form_fix": form_fix,
        "without_command": without_command,
        "page_fix": page_fix,
        "in_form": form_words,
        "shortened": shortened,
        "number": number,
        "letter_tint": letter_tint,
        "clock": clock_text,
        "tokens": tokens_text,
        "zip": zip,
    }
)


# Static assets, served under their digest, so that browsers cache them for good


_STATIC = Path(__file__).parent / "static"
_MEDIA_TYPES = MappingProxyType(
    {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
)
# One style sheet of several files; later ones override earlier ones
_STYLE = (
    "base",
    "live",
    "frame",
    "home",
    "overview",
    "artifact",
    "thread",
    "versions",
    "evidence",
    "lab",
    "find",
    "print",
)
_SCRIPTS = ("theme", "page", "live", "news", "keys", "palette", "forms")
_HTMX = "vendor/htmx-4.0.0.min.js"
_DIGEST_DIGITS = 16


@cache
def style_sheet() -> str:
    """Return the whole style sheet. The report of a session embeds it."""
    parts = [_STATIC / "css" / f"{name}.css" for name in _STYLE]
    return "\n".join(part.read_text("utf-8") for part in parts)


@cache
def assets() -> Mapping[str, ResponseBody]:
    """Return every asset, by its path below `/assets`, loaded once.

    The path has a digest in it, so that a new content has a new address.
    """
    files = {"htmx.js": _HTMX, **{f"{name}.js": f"{name}.js" for name in _SCRIPTS}}
    contents = {name: (_STATIC / path).read_bytes() for name, path in files.items()}
    contents["brenner.css"] = style_sheet().encode()
    contents["mark.svg"] = (_STATIC / "mark.svg").read_bytes()
    found = {}
    for name, content in contents.items():
        digest = sha256(content).hexdigest()[:_DIGEST_DIGITS]
        media_type, packed = _MEDIA_TYPES[Path(name).suffix], gzip.compress(content, mtime=0)
        found[f"{digest}/{name}"] = ResponseBody(content, media_type, digest, packed)
    return found


DRAFT_LINKS = links.DraftLinks()
_TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """Return the Jinja environment. Templates are compiled on first use."""
    jinja = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.filters.update(FILTERS)
    jinja.globals.update(
        links=links,
        asset={path.partition("/")[2]: f"/assets/{path}" for path in assets()},
        program_version=__version__,
        kept=partial(_kept_part, None),
    )
    return jinja


def render_html(page: Page, context: RequestContext) -> str:
    template = environment().get_template(page.template)
    return template.render(
        title=page.title,
        page=page.document,
        marks=marks_of(page.document),
        is_live=page.is_live,
        place=context.site.reading.cursor,
        site=context.site.about,
        is_lab=context.site.is_lab,
        login=context.login,
        is_guest=context.guest_of is not None,
        is_stranger=context.guest_of == frozenset(),
        guest_sessions=sorted(context.guest_of or ()),
        palette_of=_palette_session(page, context),
        path=context.path,
        asked=context.query,
        now=context.now,
        kept=partial(_kept_part, page.parts),
        links=DRAFT_LINKS if page.document.get("draft") else links,
    )


def _kept_part(parts: PartCache | None, name: str, caller: Callable[[], str]) -> str:
    """Return a part of a page from its cache, for `{% call kept(name) %}`."""
    return caller() if parts is None else parts.get(name, caller)


def _palette_session(page: Page, context: RequestContext) -> str | None:
    """Return the session of which the palette offers the pages; a guest has at least one."""
    session = page.document.get("session")
    thread_id = session["thread_id"] if isinstance(session, dict) else None
    found = thread_id or context.parameters.get("thread") or page.document.get("thread_id")
    if found is None or page.status != HTTPStatus.OK or not context.may_see(str(found)):
        return min(context.guest_of, default=None) if context.guest_of else None
    return str(found)


# Paging of long lists


_T = TypeVar("_T")


class ListPage(NamedTuple):
    """One page of a long list: its number, the number of pages, the page size and the total."""

    number: int
    pages: int
    size: int
    total: int

    def slice(self, entries: Sequence[_T]) -> Sequence[_T]:
        start = (self.number - 1) * self.size
        return entries[start : start + self.size]


def requested_page(
    context: RequestContext, total: int, size: int, name: str = "page", otherwise: int = 1
) -> ListPage:
    """Return the requested page or the default one. Beyond the last page it is the last one."""
    pages = max(1, -(-total // size))
    wanted = context.query_number(name) or otherwise
    return ListPage(min(max(wanted, 1), pages), pages, size, total)


def list_page_document(found: ListPage, address: Callable[[int], str]) -> Document:
    """Return the page numbers and the addresses of the previous and next page."""

    def at(number: int) -> str | None:
        return address(number) if 1 <= number <= found.pages else None

    first = (found.number - 1) * found.size + 1
    return {
        "page": found.number,
        "pages": found.pages,
        "first": min(first, found.total),
        "last": min(first + found.size - 1, found.total),
        "total": found.total,
        "previous": at(found.number - 1),
        "next": at(found.number + 1),
    }


def session_page_links(
    thread_id: str, tab: str, query: Mapping[str, object], name: str = "page"
) -> Callable[[int], str]:
    """Return a function from page numbers to addresses, for a list of a session."""

    def address(number: int) -> str:
        return links.session(thread_id, tab, **{**query, name: None if number == 1 else number})

    return address
