"""Small charts as SVG: from figures to markup, every text of others escaped.

They are read without colour as well: parts differ in lightness, and their figures stand in them.
A chart is one image to who does not see it, or a group of links, and says in words what it shows;
the figures stand in a table beside it, which is the page's.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from markupsafe import Markup

from brenner.protocol.delta.schema import MOST_SCORE, SCORE_PARTS
from brenner.text import counted, cut
from brenner.web import links
from brenner.web.filters import plain

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
