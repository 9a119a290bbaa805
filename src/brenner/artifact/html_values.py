"""Values of an item as HTML: every text escaped, hidden characters spelled out, IDs as links."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import NamedTuple, cast
from unicodedata import category

from brenner.artifact.item_text import in_order
from brenner.artifact.layout import SCORE_LABELS
from brenner.artifact.model import Reference
from brenner.protocol.delta.schema import Field, FieldKind
from brenner.protocol.grammar import MENTION, NAME_IN_DISCRIMINATES
from brenner.text import visible


class Known(NamedTuple):
    """What a page has addresses for: items of this session by their IDs (`H2`), those of others by
    both (`RS-20251228-initial H2`), sections of the source text (`§42`).

    A page that `reads_prose` looks for them in every text; one that does not takes only those for
    links of which the schema says that they are IDs.
    """

    session_id: str
    addresses: Mapping[str, str]
    reads_prose: bool = False

    def link(self, name: str, shown: str) -> str:
        """A link where it leads somewhere; else nothing but the words."""
        address = self.addresses.get(name)
        return f'<a href="{escape(address)}">{shown}</a>' if address else shown


NOTHING_KNOWN = Known("", MappingProxyType({}))
# What shapes letters and is no disguise: joiners of scripts and of emoji
_JOINERS = "\u200c\u200d"
_BLANK = "Zs"
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_TOWER = re.compile(f"({_MARK}{{6}})({_MARK}+)")


def text_html(text: str) -> str:
    """A text on one line, escaped; nothing in it is obeyed, by the browser or by the eye."""
    return escape(spelled_out(text))


def lines_html(text: str) -> str:
    """A text of several lines, in the same way; its lines and tabs stay."""
    return "\n".join("\t".join(map(text_html, line.split("\t"))) for line in text.split("\n"))


def spelled_out(text: str) -> str:
    """Control and format characters spelled out; blanks and joiners are letters like others.

    So are marks on a letter, as many as languages have; a tower of them would leave its place.
    """
    if not text.isascii():
        text = _TOWER.sub(_levelled, text)
    if text.isprintable():
        return text
    return "".join(
        each
        if each.isprintable() or each in _JOINERS or category(each) == _BLANK
        else visible(each)
        for each in text
    )


def _levelled(tower: re.Match[str]) -> str:
    """The marks beyond the most that a letter has, as numbers."""
    return tower[1] + "".join(f"\\u{ord(each):04x}" for each in tower[2])


def struck(html: str, is_killed: bool) -> str:
    """Struck through where the item is killed."""
    return f"<s>{html}</s>" if is_killed and html else html


def prose(text: str, is_killed: bool = False, known: Known = NOTHING_KNOWN) -> str:
    """Paragraphs, as blank lines part them; the lines of one stay lines."""
    paragraphs = text.replace("\r\n", "\n").split("\n\n")
    return "".join(
        f"<p>{struck(_lines(part, known), is_killed)}</p>" for part in paragraphs if part.strip()
    )


def _lines(text: str, known: Known) -> str:
    """Lines and tabs as they are: the page keeps blanks."""
    return "\n".join(
        "\t".join(_read(part, known) for part in line.split("\t"))
        for line in text.strip("\n").split("\n")
    )


def _read(text: str, known: Known) -> str:
    """A text in which items and sections are links, where the page knows them."""
    if not known.reads_prose:
        return text_html(text)
    parts, end = [], 0
    for match in MENTION.finditer(text):
        name = _mentioned(match)
        if name in known.addresses:
            shown = text_html(match[0])
            parts += [text_html(text[end : match.start()]), known.link(name, shown)]
            end = match.end()
    return "".join([*parts, text_html(text[end:])])


def mentions(text: str) -> Iterator[str]:
    """What a text may mean to lead to, under the names of `Known`."""
    return map(_mentioned, MENTION.finditer(text))


def _mentioned(match: re.Match[str]) -> str:
    """Of a range of sections the first; an item behind another session's ID is that session's."""
    if match["section"]:
        return f"§{int(match['section'])}"
    return f"{match['session']} {match['its']}" if match["session"] else match[0]


def item_link(item_id: str, known: Known) -> str:
    """An ID, a link where it leads somewhere."""
    shown = text_html(item_id)
    if item_id in known.addresses:
        return f'<a class="id" href="{escape(known.addresses[item_id])}">{shown}</a>'
    return f'<span class="id">{shown}</span>'


def value_html(field: Field, value: object, known: Known, *, is_killed: bool) -> str:
    """A field's value."""
    if field.names_items:
        return f"<p>{struck(_named(cast('str', value), known), is_killed)}</p>"
    return _WRITERS[field.kind](value, known, is_killed)


def part_html(field: Field, value: object, known: Known, *, is_killed: bool) -> str:
    """One entry of a field: of a list an element, of a map what stands under a key.

    Whatever else a file has there, and all of any other field, is a text.
    """
    if field.kind is FieldKind.ANCHORS:
        return struck(_read(str(value), known), is_killed)
    if field.kind is FieldKind.ITEMS:
        return struck(item_link(str(value), known), is_killed)
    if isinstance(value, Reference):
        return struck(_reference(value, known), is_killed)
    if field.names_items:
        return f"<p>{struck(_named(str(value), known), is_killed)}</p>"
    if field.kind is FieldKind.SCORE or isinstance(value, bool):
        return struck("yes" if value is True else text_html(str(value)), is_killed)
    return prose(str(value), is_killed, known)


def any_html(value: object) -> str:
    """A value of a conflict: None where it was taken away."""
    if value is None:
        return "<p>(taken away)</p>"
    if isinstance(value, tuple):
        return prose(", ".join(map(_element, value)))
    return prose("yes" if value is True else str(value))


def _element(element: object) -> str:
    if isinstance(element, Reference):
        return f"{element.relation} {element.session} {element.item}"
    return str(element)


def _named(text: str, known: Known) -> str:
    """A text in which items are named, each a link."""
    parts, end = [], 0
    for match in NAME_IN_DISCRIMINATES.finditer(text):
        parts += [text_html(text[end : match.start()]), item_link(match[0], known)]
        end = match.end()
    return "".join([*parts, text_html(text[end:])])


def _prose(value: object, known: Known, is_killed: bool) -> str:
    return prose(cast("str", value), is_killed, known)


def _flag(_value: object, _known: Known, is_killed: bool) -> str:
    return f"<p>{struck('yes', is_killed)}</p>"


def _anchors(value: object, known: Known, is_killed: bool) -> str:
    return prose(", ".join(cast("tuple[str, ...]", value)), is_killed, known)


def _items(value: object, known: Known, is_killed: bool) -> str:
    links = ", ".join(item_link(each, known) for each in cast("tuple[str, ...]", value))
    return f"<p>{struck(links, is_killed)}</p>"


def _score(value: object, _known: Known, is_killed: bool) -> str:
    score = cast("Mapping[str, int]", value)
    given = (f"{label} {score[part]}" for part, label in SCORE_LABELS.items() if part in score)
    return f"<p>{struck(', '.join(given), is_killed)}</p>"


def _outcomes(value: object, known: Known, is_killed: bool) -> str:
    pairs = in_order(cast("Mapping[str, str]", value))
    return _listed(
        (f"{item_link(key, known)} {_lines(outcome, known)}" for key, outcome in pairs), is_killed
    )


def _references(value: object, known: Known, is_killed: bool) -> str:
    return _listed(
        (_reference(each, known) for each in cast("tuple[Reference, ...]", value)), is_killed
    )


def _reference(reference: Reference, known: Known) -> str:
    if reference.session == known.session_id:
        return f"{text_html(reference.relation)} {item_link(reference.item, known)}"
    name = f"{reference.session} {reference.item}"
    place = known.link(name, text_html(name))
    return f'{text_html(reference.relation)} <span class="id">{place}</span>'


def _listed(entries: Iterable[str], is_killed: bool) -> str:
    rows = "".join(f"<li>{struck(entry, is_killed)}</li>" for entry in entries)
    return f'<ul class="plain">{rows}</ul>'


_WRITERS: dict[FieldKind, Callable[[object, Known, bool], str]] = {
    FieldKind.TEXT: _prose,
    FieldKind.CHOICE: _prose,
    FieldKind.FLAG: _flag,
    FieldKind.ANCHORS: _anchors,
    FieldKind.ITEMS: _items,
    FieldKind.SCORE: _score,
    FieldKind.OUTCOMES: _outcomes,
    FieldKind.REFERENCES: _references,
}
