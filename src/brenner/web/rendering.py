"""HTML of the pages: Jinja environment and filters, SVG charts, static assets and paging.

Templates escape every text, and an unknown name is an error.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from brenner import __version__
from brenner.artifact.diff import value_text
from brenner.artifact.html import LinkTargets, entry_html, lines_html, prose_html, text_html
from brenner.artifact.model import Reference
from brenner.protocol.delta.schema import MOST_SCORE, SCORE_PARTS, SECTIONS, Field, FieldKind
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import exact_time, relative_time
from brenner.text import cut, plural, thread_argument
from brenner.web import links
from brenner.web.markdown import html_parts, markdown
from brenner.web.messages import own_sections, pretty_json
from brenner.web.request import Document, Page, RequestContext

# Fixes in the words of a form: the texts of codes often name command-line flags


_REOPEN, _FORCE = "“Reopen”", "“Write over changes made by hand in the file”"
_NO_COMMIT = "untick “Commit that file” and “Push the branch”"
_ROLE = "Choose a role in the row of that agent, or remove the row."
_COMPILE_FIRST = "Once deltas have come in that apply, compile: that publishes the first version."

_FIXES: Mapping[str, str] = MappingProxyType(
    {
        "SESSION_CLOSED": f"To go on with it, tick {_REOPEN}. For a new question start a new "
        "session, whose items can name this one’s under `references`.",
        "ROUND_OF_CLOSED_SESSION": f"Once deltas have come in, tick {_REOPEN} when you compile, "
        "too.",
        "AFTER_THE_END": f"If it matters, compile it with {_REOPEN} ticked.",
        "MISSING_ROSTER_ENTRY": _ROLE,
        "HEURISTIC_NAME_UNMATCHED": _ROLE,
        "NO_ROSTER": "Choose a role in each row.",
        "UNIFIED_WITHOUT_ROLES": "Nothing needs to be done. Choose the roles in the rows if the "
        "roster shall show them all the same.",
        "PRESET_RECIPIENT_COUNT": "Name as many agents as the preset has places, or choose the "
        "roles row by row.",
        "UNKNOWN_PRESET": "Choose one of the menu “Preset”.",
        "LEFT_OUT_OF_ROSTER": "Add a row for each, with the role that it had. Nobody gets a second "
        "kickoff.",
        "LEFT_OUT_OF_ROUND": "To ask them as well, add a row for each.",
        "ROSTER_PASSED_OVER": "Look whether the rows name the right agents and roles. The kickoffs "
        "of this round tell the roster to everybody.",
        "OTHER_QUESTION": "For a session of its own leave “Thread ID” empty. To finish that "
        "kickoff, ask its question, word for word. To change the question of that session, send a "
        "DELTA that edits `RT`.",
        "QUESTION_RESPELT": "Nothing has to be done: the words of that message stand. For a "
        "session of its own fill in “Thread ID”.",
        "RECIPIENTS_NOT_REGISTERED": "Let the agents register themselves first. If the names are "
        "yours to give, tick “Register names that are new”.",
        "UNKNOWN_SECTION_NUMBER": "Ask for sections that it has, or write into “Passages”.",
        "NO_SOURCE_TEXT": "Write into “Passages”. Or name a source text: a Markdown file whose "
        'headings carry the numbers, as `source_text = "FILE.md"` in `brenner.toml`.',
        "ROUND_WITHOUT_VERSION": "Once deltas have come in, compile: that publishes v1. To ask "
        "more agents in its first round, start a session with the same “Thread ID” and question "
        "and a row for everybody: nobody gets a second kickoff.",
        "ROUND_WITHOUT_QUESTION": "Fill in “Question”, under “More”: the next version takes it "
        "from the kickoff.",
        "ROUND_BEFORE_COMPILE": "To start the round from a version that has them, compile first.",
        "NO_VERSION_YET": _COMPILE_FIRST,
        "NO_VERSION_TO_CLOSE": f"{_COMPILE_FIRST} Then complete it.",
        "NOT_A_REPOSITORY": f"Run `git init` in the project, or {_NO_COMMIT}.",
        "GIT_MISSING": f"Install git, or {_NO_COMMIT}: the file is written without it.",
        "ARTIFACT_FILE_FOREIGN": f"Move it to another place. To give it up, tick {_FORCE}.",
        "ARCHIVE_FILE_FOREIGN": "If it is an archive of mail that is missing here, import it with "
        f"`brenner mail import`. Else move it to another place. To give it up, tick {_FORCE}.",
        "TEMPLATE_NOT_FILLED_IN": "Replace each with your own words, or remove its section if it "
        "is optional.",
    }
)
# Phrases in fixes whose other words depend on the case
_PHRASES = (
    ("Name at least one, as in `To: BlueLake, RedSky`.", "Tick somebody, or write a name there."),
    ("leave out `--commit` and `--push`", _NO_COMMIT),
    ("leave out `--push`", "untick “Push the branch”"),
    ("`--push` has nowhere", "The push has nowhere"),
    ("use `--force`", f"tick {_FORCE}"),
    ("run the command again with `--force`", f"do it again with {_FORCE} ticked"),
    ("run the same command again", "do the same again"),
)
_EDITED_CODE = "ARTIFACT_FILE_EDITED"
_KEEP_OR_DROP = (
    "To keep them, send the message below, compile, and persist then. To drop them, tick " + _FORCE
)


def form_fix(found: Mapping[str, object]) -> str:
    """Return the fix of a diagnostic (as JSON) in the words of the form."""
    if found["id"] == _EDITED_CODE and found.get("repaired"):
        return f"{_KEEP_OR_DROP}."
    own = _FIXES.get(str(found["id"]))
    return own if own is not None else form_words(str(found["fix"]))


def form_words(text: str) -> str:
    """Replace the command-line flags in a sentence with the labels of the form."""
    for phrase, called in _PHRASES:
        text = text.replace(phrase, called)
    return text


# Template filters. A filter that returns Markup has escaped all untrusted text.


_TINTS = 12
_INITIALS = 2


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
    """Render how long ago a time was, with the exact time as a tooltip. A script keeps it
    current.
    """
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


def tint(name: str) -> int:
    """Return the number of the tint of an agent, the same everywhere."""
    return crc32(name.encode(errors="replace")) % _TINTS


def initials(name: str) -> str:
    """Return `BL` for BlueLake, the first letters for a name without capitals."""
    letters = [each for each in name if each.isalnum()]
    capitals = [each for each in letters if each.isupper()]
    found = capitals if len(capitals) >= _INITIALS else letters
    return "".join(found[:_INITIALS]).upper() or "?"


def type_colour(message_type: str | None) -> str:
    """Return the colour role of a message type."""
    return TYPES[message_type].colour if message_type in TYPES else "quiet"


def spaced(name: str) -> str:
    """Return `awaiting_deltas` as words."""
    return name.replace("_", " ")


def field_of(section: str, name: str) -> Field:
    """Return a field of the schema. Any other field of a file is a text."""
    return SECTIONS[section].fields.get(name) or Field(name, FieldKind.TEXT, "")


def from_json(value: object) -> object:
    """Return a value of the artifact from its JSON, in which a reference is an object."""
    if isinstance(value, dict) and value.keys() == set(Reference._fields):
        return Reference(**value)
    if isinstance(value, list):
        return tuple(map(from_json, value))
    return value


def _as_markup(html: str) -> Markup:
    """Mark escaped HTML as safe. This is the only place in this module that does."""
    return Markup(html)  # noqa: S704


def _to_datetime(at: str | datetime | None) -> datetime | None:
    """Return the datetime of a value or of its JSON."""
    if at is None or isinstance(at, datetime):
        return at
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "plain": escape_line,
        "paragraphs": paragraphs,
        "verbatim": preformatted,
        "coded": inline_code,
        "lines": escape_lines,
        "said": field_entry_html,
        "told": value_html,
        "in_words": value_words,
        "when": time_with_age,
        "exactly": time_in_full,
        "tint": tint,
        "initials": initials,
        "role": type_colour,
        "words": spaced,
        "as_argument": thread_argument,
        "counted": plural,
        "escaped": escape,
        "markdown": markdown,
        "body_parts": html_parts,
        "formatted": pretty_json,
        "own_part": own_sections,
        "form_fix": form_fix,
        "in_form": form_words,
    }
)


# Charts as SVG.
#
# They are readable without colour: parts differ in lightness and contain their figures. For screen
# readers a chart is an image or a group of links, with a description. The page has the figures in a
# table beside it.


_WIDTH = 360  # units, about a pixel each
_MAX_NAME = 44
MAX_BARS = 12  # or strips
_LETTER_TINTS = 6


class Bar(NamedTuple):
    """A bar of parts. A part is None if it was not given."""

    id: str
    name: str
    parts: tuple[int | None, ...]
    is_killed: bool = False
    link: str = ""

    @property
    def total(self) -> int:
        """The sum of the given parts."""
        return sum(part or 0 for part in self.parts)

    @property
    def has_values(self) -> bool:
        """Whether any part was given."""
        return any(part is not None for part in self.parts)


class Scale(NamedTuple):
    """The names and letters of the parts of bars, and the maximum of each part."""

    parts: tuple[tuple[str, str], ...]
    most: int

    @property
    def full(self) -> int:
        """The maximum total of a bar."""
        return self.most * len(self.parts)


_TITLE, _BAR, _GAP = 20, 20, 12
_NONE = "none"


def bar_chart(title: str, rows: Sequence[Bar], scale: Scale) -> Markup:
    """Draw horizontal bars, each with its name above and its total behind."""
    unit = (_WIDTH - 60) / scale.full
    step = _TITLE + _BAR + _GAP
    drawn = (_bar(row, place * step, unit, scale) for place, row in enumerate(rows))
    description = "; ".join(_bar_description(row, scale) for row in rows)
    high = max(step * len(rows) - _GAP, 1)
    role = "group" if any(row.link for row in rows) else "img"
    return _svg("bars", (title, description), high, Markup("").join(drawn), role)


def _bar_description(row: Bar, scale: Scale) -> str:
    if not row.has_values:
        return f"{row.id}: {_NONE} given"
    given = zip(scale.parts, row.parts, strict=True)
    parts = ", ".join(f"{word} {'not given' if n is None else n}" for (word, _), n in given)
    return f"{row.id}, {row.total} of {scale.full}: {parts}"


def _bar(row: Bar, top: int, unit: float, scale: Scale) -> Markup:
    parts: list[Markup] = []
    left, y = 0.0, top + _TITLE
    outline = Markup('<rect class="whole" x="0.5" y="{}" width="{}" height="{}"/>')
    parts.append(outline.format(y + 0.5, _number(unit * scale.full - 1), _BAR - 1))
    for number, ((_, letter), size) in enumerate(zip(scale.parts, row.parts, strict=True)):
        width = unit * min(size or 0, scale.most)
        if width:
            parts.append(_bar_segment(number, (left, y, width), f"{letter}{size}"))
        left += width
    total = Markup('<text class="total" x="{}" y="{}">{}</text>')
    # No score is not the lowest score
    figure = f"{row.total}/{scale.full}" if row.has_values else _NONE
    parts.append(total.format(_number(unit * scale.full + 8), y + 15, figure))
    drawn = Markup('<g aria-hidden="true">{}</g>').format(Markup("").join(parts))
    return _bar_label(row, top + 14) + drawn


def _bar_label(row: Bar, y: int) -> Markup:
    """Draw the name of a bar, as a link if it has one."""
    shown = Markup('<text class="name{}" x="0" y="{}"><tspan class="mono">{}</tspan> {}</text>')
    text = shown.format(" killed" * row.is_killed, y, escape_line(row.id), _shortened(row.name))
    return Markup('<a href="{}">{}</a>').format(row.link, text) if row.link else text


def _bar_segment(number: int, place: tuple[float, float, float], label: str) -> Markup:
    left, top, width = place
    return Markup(
        '<rect class="part part-{}" x="{}" y="{}" width="{}" height="{}"/>'
        '<text class="figure on-{}" x="{}" y="{}">{}</text>'
    ).format(
        *(number, _number(left), _number(top), _number(width), _BAR),
        *(number, _number(left + width / 2), _number(top + 15), label),
    )


class AgentActivity(NamedTuple):
    """The applied and refused blocks of an agent, by round."""

    name: str
    done: tuple[int, ...]
    refused: tuple[int, ...]


_LABEL, _HIGH, _AXIS = 20, 40, 20


def activity_chart(title: str, rounds: Sequence[str], rows: Sequence[AgentActivity]) -> Markup:
    """Draw columns over rounds, one strip per agent, all on one scale.

    Applied blocks are solid, refused ones hollow on top. The figures of both, as `2+6`, are above.
    """
    most = max((max(map(sum, _stacks(row)), default=0) for row in rows), default=0)
    step = _LABEL + _HIGH + 12
    width = _WIDTH / max(len(rounds), 6)
    drawn = [_activity_strip(row, place * step, width, most or 1) for place, row in enumerate(rows)]
    bottom = step * len(rows) + 8
    label = Markup('<text class="figure" x="{}" y="{}">{}</text>')
    drawn += [
        label.format(_number(width * (place + 0.5)), bottom, word if place else f"round {word}")
        for place, word in enumerate(rounds)
    ]
    description = "; ".join(_activity_description(row, rounds) for row in rows)
    return _svg("courses", (title, description), bottom + _AXIS - 12, Markup("").join(drawn))


def _stacks(row: AgentActivity) -> list[tuple[int, int]]:
    return list(zip(row.done, row.refused, strict=True))


def _activity_description(row: AgentActivity, rounds: Sequence[str]) -> str:
    phrase = (
        f"{word} {done}" + f" and {plural(refused, 'refused', 'refused')}" * bool(refused)
        for word, (done, refused) in zip(rounds, _stacks(row), strict=True)
    )
    return f"{row.name}: {', '.join(phrase)}"


def _activity_strip(row: AgentActivity, top: int, width: float, most: int) -> Markup:
    base = top + _LABEL + _HIGH
    parts = [
        Markup('<text class="name" x="0" y="{}">{}</text>').format(top + 12, _shortened(row.name)),
        Markup('<path class="axis" d="M0 {}.5H{}"/>').format(base, _WIDTH),
    ]
    high = (_HIGH - 12) / most
    for place, (done, refused) in enumerate(_stacks(row)):
        left, middle = width * place + width * 0.2, width * (place + 0.5)
        solid, hollow = high * done, high * refused
        rect = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>')
        for kind, y, size in (
            ("part part-0", base - solid, solid),
            ("hollow", base - solid - hollow, hollow),
        ):
            if size:
                parts.append(rect.format(kind, *map(_number, (left, y, width * 0.6, size))))
        figure = Markup('<text class="figure{}" x="{}" y="{}">{}</text>')
        y = base - solid - hollow - 4
        shown = f"{done}+{refused}" if refused else str(done)
        is_zero = not done and not refused
        parts.append(figure.format(" zero" * is_zero, _number(middle), _number(y), shown))
    return Markup("").join(parts)


def _svg(
    name: str, words: tuple[str, str], height: float, drawn: Markup, role: str = "img"
) -> Markup:
    """Return the image. `words` are its title and description; one with links has the role
    `group`.
    """
    title, description = words
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="{}" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}</svg>'
    ).format(
        *(_WIDTH, _number(height), role, name, name),
        *(name, escape_line(title), name, escape_line(description), drawn),
    )


def _shortened(text: str) -> Markup:
    return escape_line(cut(text, _MAX_NAME))


def _number(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


# Charts from the documents of pages


def score_chart(tests: Sequence[Mapping[str, Any]], thread_id: str) -> Markup:
    """Draw the best tests by score, each with a link to its item."""
    words = tuple((part.replace("_", " "), part[0].upper()) for part in SCORE_PARTS)
    rows = [
        Bar(each["id"], each["name"], tuple(each["score"].values()), each["killed"], link)
        for each in tests[:MAX_BARS]
        for link in [links.item(thread_id, each["id"])]
    ]
    return bar_chart("Tests by score", rows, Scale(words, MOST_SCORE))


def rounds_chart(agents: Sequence[Mapping[str, Any]], rounds: Sequence[int]) -> Markup:
    """Draw the applied and refused blocks of agents in some rounds."""
    rows = []
    for each in [agent for agent in agents if agent["blocks"]][:MAX_BARS]:
        of = {found["round"]: found for found in each["rounds"]}
        counts = [of.get(number, {"applied": 0, "refused": 0}) for number in rounds]
        done, refused = (tuple(found[key] for found in counts) for key in ("applied", "refused"))
        rows.append(AgentActivity(each["name"], done, refused))
    return activity_chart("Blocks by round", [str(number) for number in rounds], rows)


def letter_tint(letter: str) -> int:
    """Return the tint of the cells with a letter in the evidence matrix. Tints repeat."""
    return sum(map(ord, letter)) % _LETTER_TINTS


CHARTS: Mapping[str, Callable[..., object]] = MappingProxyType(
    {"score_chart": score_chart, "rounds_chart": rounds_chart, "letter_tint": letter_tint}
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
    "artifact",
    "thread",
    "versions",
    "evidence",
    "lab",
    "print",
)
_SCRIPTS = ("live", "keys", "forms")
_HTMX = "vendor/htmx-4.0.0.min.js"
_DIGEST_DIGITS = 16


class Asset(NamedTuple):
    """A static file as it is served."""

    name: str
    media_type: str
    content: bytes
    packed: bytes

    @property
    def digest(self) -> str:
        """The digest in the address, so that a new content has a new address."""
        return sha256(self.content).hexdigest()[:_DIGEST_DIGITS]

    @property
    def url(self) -> str:
        return f"/assets/{self.digest}/{self.name}"


def style_sheet() -> str:
    """Return the whole style sheet. The report of a session embeds it."""
    parts = [_STATIC / "css" / f"{name}.css" for name in _STYLE]
    return "\n".join(part.read_text("utf-8") for part in parts)


def load_assets() -> dict[str, Asset]:
    """Load every asset, by name."""
    files = {"htmx.js": _HTMX, **{f"{name}.js": f"{name}.js" for name in _SCRIPTS}}
    contents = {name: (_STATIC / path).read_bytes() for name, path in files.items()}
    contents["brenner.css"] = style_sheet().encode()
    contents["mark.svg"] = (_STATIC / "mark.svg").read_bytes()
    return {
        name: Asset(name, _MEDIA_TYPES[Path(name).suffix], content, gzip.compress(content, mtime=0))
        for name, content in contents.items()
    }


_TEMPLATES = Path(__file__).parent / "templates"


@cache
def assets() -> Mapping[str, Asset]:
    """Return the assets, loaded once."""
    return load_assets()


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
    jinja.filters.update(CHARTS)
    jinja.globals.update(
        links=links,
        asset={name: asset.url for name, asset in assets().items()},
        program_version=__version__,
    )
    return jinja


def render_html(page: Page, context: RequestContext) -> str:
    """Render a page as HTML."""
    template = environment().get_template(page.template)
    return template.render(
        title=page.title,
        page=page.document,
        is_live=page.is_live,
        place=context.site.reading.cursor,
        site=context.site.about,
        is_lab=context.site.is_lab,
        login=context.login,
        is_guest=context.guest_of is not None,
        is_stranger=context.guest_of == frozenset(),
        path=context.path,
        asked=context.query,
        now=context.now,
    )


# Paging of long lists


_T = TypeVar("_T")


class ListPage(NamedTuple):
    """One page of a long list: its number, the number of pages, the page size and the total."""

    number: int
    pages: int
    size: int
    total: int

    def slice(self, entries: Sequence[_T]) -> Sequence[_T]:
        """Return the entries on this page."""
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
