"""Templates: every text is escaped, an unknown name is an error, and filters make the rest."""

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
from brenner.artifact.html import Known, lines_html, part_html, prose, text_html
from brenner.artifact.model import Reference
from brenner.protocol.delta.schema import MOST_SCORE, SCORE_PARTS, SECTIONS, Field, FieldKind
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import ago, exact
from brenner.text import counted, cut, thread_argument
from brenner.web import links
from brenner.web.markdown import markdown, parts
from brenner.web.messages import formatted, own_part
from brenner.web.request import Document, Page, RequestContext

# What to do about a fault, where it is said beside a form: which box or field is meant.
#
# The words of a code speak to everybody, and often name the flag of a command. The operator has a
# form before her.


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
# Parts of sentences, where the rest of them says what is particular to the case
_PARTS = (
    ("Name at least one, as in `To: BlueLake, RedSky`.", "Tick somebody, or write a name there."),
    ("leave out `--commit` and `--push`", _NO_COMMIT),
    ("leave out `--push`", "untick “Push the branch”"),
    ("`--push` has nowhere", "The push has nowhere"),
    ("use `--force`", f"tick {_FORCE}"),
    ("run the command again with `--force`", f"do it again with {_FORCE} ticked"),
    ("run the same command again", "do the same again"),
)
_EDITED = "ARTIFACT_FILE_EDITED"
_BRINGS_IN = (
    "To keep them, send the message below, compile, and persist then. To drop them, tick " + _FORCE
)


def form_fix(found: Mapping[str, object]) -> str:
    """What to do, in the words of the form where it has its own. `found` is its JSON."""
    if found["id"] == _EDITED and found.get("repaired"):
        return f"{_BRINGS_IN}."
    own = _FIXES.get(str(found["id"]))
    return own if own is not None else in_form(str(found["fix"]))


def in_form(text: str) -> str:
    """A sentence in which flags of commands are called as the form calls them."""
    for said, called in _PARTS:
        text = text.replace(said, called)
    return text


# What templates do with values: times, agents, IDs, other people's texts.
#
# A filter that answers with Markup has escaped everything that somebody else wrote.


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


# Small charts as SVG: from figures to markup, every text of others escaped.
#
# They are read without colour as well: parts differ in lightness, and their figures stand in them.
# A chart is one image to who does not see it, or a group of links, and says in words what it shows;
# the figures stand in a table beside it, which is the page's.


_WIDTH = 360  # units; the style sheet lets one be about a pixel
_MOST_NAME = 44
MOST_BARS = 12  # or strips
_LETTER_TINTS = 6


class Bar(NamedTuple):
    """A bar of parts, each from 0 on; None where nobody gave it."""

    id: str
    name: str
    parts: tuple[int | None, ...]
    is_killed: bool = False
    link: str = ""

    @property
    def total(self) -> int:
        """The sum of what was given."""
        return sum(part or 0 for part in self.parts)

    @property
    def is_given(self) -> bool:
        """Whether anybody has given anything of it."""
        return any(part is not None for part in self.parts)


class Scale(NamedTuple):
    """What the parts of bars are called, in full and by a letter, and the most of each."""

    parts: tuple[tuple[str, str], ...]
    most: int

    @property
    def whole(self) -> int:
        """The most that a bar can have."""
        return self.most * len(self.parts)


_TITLE, _BAR, _GAP = 20, 20, 12
_NONE = "none"


def bars(title: str, rows: Sequence[Bar], scale: Scale) -> Markup:
    """Horizontal bars, each with its name above it and its total behind it."""
    unit = (_WIDTH - 60) / scale.whole
    step = _TITLE + _BAR + _GAP
    drawn = (_bar(row, place * step, unit, scale) for place, row in enumerate(rows))
    told = "; ".join(_told(row, scale) for row in rows)
    high = max(step * len(rows) - _GAP, 1)
    role = "group" if any(row.link for row in rows) else "img"
    return _chart("bars", (title, told), high, Markup("").join(drawn), role)


def _told(row: Bar, scale: Scale) -> str:
    if not row.is_given:
        return f"{row.id}: {_NONE} given"
    given = zip(scale.parts, row.parts, strict=True)
    parts = ", ".join(f"{word} {'not given' if n is None else n}" for (word, _), n in given)
    return f"{row.id}, {row.total} of {scale.whole}: {parts}"


def _bar(row: Bar, top: int, unit: float, scale: Scale) -> Markup:
    parts: list[Markup] = []
    left, y = 0.0, top + _TITLE
    outline = Markup('<rect class="whole" x="0.5" y="{}" width="{}" height="{}"/>')
    parts.append(outline.format(y + 0.5, _figure(unit * scale.whole - 1), _BAR - 1))
    for number, ((_, letter), size) in enumerate(zip(scale.parts, row.parts, strict=True)):
        width = unit * min(size or 0, scale.most)
        if width:
            parts.append(_piece(number, (left, y, width), f"{letter}{size}"))
        left += width
    total = Markup('<text class="total" x="{}" y="{}">{}</text>')
    said = f"{row.total}/{scale.whole}" if row.is_given else _NONE  # which is not the worst one
    parts.append(total.format(_figure(unit * scale.whole + 8), y + 15, said))
    drawn = Markup('<g aria-hidden="true">{}</g>').format(Markup("").join(parts))
    return _name(row, top + 14) + drawn


def _name(row: Bar, y: int) -> Markup:
    """What it is, which leads there."""
    shown = Markup('<text class="name{}" x="0" y="{}"><tspan class="mono">{}</tspan> {}</text>')
    text = shown.format(" killed" * row.is_killed, y, plain(row.id), _short(row.name))
    return Markup('<a href="{}">{}</a>').format(row.link, text) if row.link else text


def _piece(number: int, place: tuple[float, float, float], label: str) -> Markup:
    left, top, width = place
    return Markup(
        '<rect class="part part-{}" x="{}" y="{}" width="{}" height="{}"/>'
        '<text class="figure on-{}" x="{}" y="{}">{}</text>'
    ).format(
        *(number, _figure(left), _figure(top), _figure(width), _BAR),
        *(number, _figure(left + width / 2), _figure(top + 15), label),
    )


class Course(NamedTuple):
    """What somebody did round by round: what counted, and what did not."""

    name: str
    done: tuple[int, ...]
    refused: tuple[int, ...]


_LABEL, _HIGH, _AXIS = 20, 40, 20


def courses(title: str, rounds: Sequence[str], rows: Sequence[Course]) -> Markup:
    """Columns over rounds, a strip for each person, all to one scale.

    What counted is solid; what was refused stands on it, hollow. The figures of both, as `2+6`,
    stand above.
    """
    most = max((max(map(sum, _stacks(row)), default=0) for row in rows), default=0)
    step = _LABEL + _HIGH + 12
    width = _WIDTH / max(len(rounds), 6)
    drawn = [_course(row, place * step, width, most or 1) for place, row in enumerate(rows)]
    bottom = step * len(rows) + 8
    label = Markup('<text class="figure" x="{}" y="{}">{}</text>')
    drawn += [
        label.format(_figure(width * (place + 0.5)), bottom, word if place else f"round {word}")
        for place, word in enumerate(rounds)
    ]
    told = "; ".join(_course_told(row, rounds) for row in rows)
    return _chart("courses", (title, told), bottom + _AXIS - 12, Markup("").join(drawn))


def _stacks(row: Course) -> list[tuple[int, int]]:
    return list(zip(row.done, row.refused, strict=True))


def _course_told(row: Course, rounds: Sequence[str]) -> str:
    said = (
        f"{word} {done}" + f" and {counted(refused, 'refused', 'refused')}" * bool(refused)
        for word, (done, refused) in zip(rounds, _stacks(row), strict=True)
    )
    return f"{row.name}: {', '.join(said)}"


def _course(row: Course, top: int, width: float, most: int) -> Markup:
    base = top + _LABEL + _HIGH
    parts = [
        Markup('<text class="name" x="0" y="{}">{}</text>').format(top + 12, _short(row.name)),
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
                parts.append(rect.format(kind, *map(_figure, (left, y, width * 0.6, size))))
        figure = Markup('<text class="figure{}" x="{}" y="{}">{}</text>')
        y = base - solid - hollow - 4
        shown = f"{done}+{refused}" if refused else str(done)
        is_zero = not done and not refused
        parts.append(figure.format(" zero" * is_zero, _figure(middle), _figure(y), shown))
    return Markup("").join(parts)


def _chart(
    name: str, words: tuple[str, str], height: float, drawn: Markup, role: str = "img"
) -> Markup:
    """The image: `words` are its title and what it shows; one with links in it is a group."""
    title, told = words
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="{}" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}</svg>'
    ).format(
        *(_WIDTH, _figure(height), role, name, name),
        *(name, plain(title), name, plain(told), drawn),
    )


def _short(text: str) -> Markup:
    return plain(cut(text, _MOST_NAME))


def _figure(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


# From the documents of pages


def score_chart(tests: Sequence[Mapping[str, Any]], thread_id: str) -> Markup:
    """The best tests by score, as the page of the evidence has them; each leads to its item."""
    words = tuple((part.replace("_", " "), part[0].upper()) for part in SCORE_PARTS)
    rows = [
        Bar(each["id"], each["name"], tuple(each["score"].values()), each["killed"], link)
        for each in tests[:MOST_BARS]
        for link in [links.item(thread_id, each["id"])]
    ]
    return bars("Tests by score", rows, Scale(words, MOST_SCORE))


def rounds_chart(agents: Sequence[Mapping[str, Any]], rounds: Sequence[int]) -> Markup:
    """Applied and refused blocks of agents in some rounds, as the page of the agents has them."""
    rows = []
    for each in [agent for agent in agents if agent["blocks"]][:MOST_BARS]:
        of = {found["round"]: found for found in each["rounds"]}
        counts = [of.get(number, {"applied": 0, "refused": 0}) for number in rounds]
        done, refused = (tuple(found[key] for found in counts) for key in ("applied", "refused"))
        rows.append(Course(each["name"], done, refused))
    return courses("Blocks by round", [str(number) for number in rounds], rows)


def letter_tint(letter: str) -> int:
    """The tint of the cells of a matrix that have a letter; after some they begin again."""
    return sum(map(ord, letter)) % _LETTER_TINTS


CHARTS: Mapping[str, Callable[..., object]] = MappingProxyType(
    {"score_chart": score_chart, "rounds_chart": rounds_chart, "letter_tint": letter_tint}
)


# Style and scripts: read once, served under their digest, so that browsers keep them for good.


_FOLDER = Path(__file__).parent / "static"
_KINDS = MappingProxyType({".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"})
# One sheet of many files, in the order in which they may say something else than those before
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
_DIGITS = 16


class Asset(NamedTuple):
    """A file as it is served."""

    name: str
    media_type: str
    content: bytes
    packed: bytes

    @property
    def digest(self) -> str:
        """What its address has: another content has another address."""
        return sha256(self.content).hexdigest()[:_DIGITS]

    @property
    def url(self) -> str:
        """Its address."""
        return f"/assets/{self.digest}/{self.name}"


def style() -> str:
    """The whole style sheet; the report of a session has it inside."""
    parts = [_FOLDER / "css" / f"{name}.css" for name in _STYLE]
    return "\n".join(part.read_text("utf-8") for part in parts)


def load() -> dict[str, Asset]:
    """Every asset by its name."""
    files = {"htmx.js": _HTMX, **{f"{name}.js": f"{name}.js" for name in _SCRIPTS}}
    contents = {name: (_FOLDER / path).read_bytes() for name, path in files.items()}
    contents["brenner.css"] = style().encode()
    contents["mark.svg"] = (_FOLDER / "mark.svg").read_bytes()
    return {
        name: Asset(name, _KINDS[Path(name).suffix], content, gzip.compress(content, mtime=0))
        for name, content in contents.items()
    }


_RENDERING_FOLDER = Path(__file__).parent / "templates"


@cache
def assets() -> Mapping[str, Asset]:
    """The assets of this program."""
    return load()


@cache
def environment() -> Environment:
    """The templates, compiled when they are first used."""
    made = Environment(
        loader=FileSystemLoader(_RENDERING_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS)
    made.filters.update(CHARTS)
    made.globals.update(
        links=links,
        asset={name: asset.url for name, asset in assets().items()},
        program_version=__version__,
    )
    return made


def html(page: Page, visit: RequestContext) -> str:
    """The page as a browser gets it."""
    template = environment().get_template(page.template)
    return template.render(
        title=page.title,
        page=page.document,
        is_live=page.is_live,
        place=visit.site.reading.place,
        site=visit.site.about,
        is_lab=visit.site.is_lab,
        login=visit.login,
        is_guest=visit.guest_of is not None,
        is_stranger=visit.guest_of == frozenset(),
        path=visit.path,
        asked=visit.asked,
        now=visit.now,
    )


# Long lists a page at a time.


_Each = TypeVar("_Each")


class Part(NamedTuple):
    """One page of a list: which of how many, and how many entries there are in all."""

    number: int
    pages: int
    size: int
    total: int

    def of(self, entries: Sequence[_Each]) -> Sequence[_Each]:
        """The entries on it."""
        start = (self.number - 1) * self.size
        return entries[start : start + self.size]


def part(
    visit: RequestContext, total: int, size: int, name: str = "page", otherwise: int = 1
) -> Part:
    """The page that was asked for, or the usual one; beyond the last one, the last."""
    pages = max(1, -(-total // size))
    wanted = visit.number(name) or otherwise
    return Part(min(max(wanted, 1), pages), pages, size, total)


def part_json(found: Part, address: Callable[[int], str]) -> Document:
    """Where it stands, and the addresses of those beside it; None where there is none."""

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


def in_session(
    thread_id: str, tab: str, asked: Mapping[str, object], name: str = "page"
) -> Callable[[int], str]:
    """The addresses of the pages of a list of a session; the first is the list's own."""

    def address(number: int) -> str:
        return links.session(thread_id, tab, **{**asked, name: None if number == 1 else number})

    return address
