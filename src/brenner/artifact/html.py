"""An artifact as one page of HTML: no scripts, nothing loaded from elsewhere, every text escaped.

Items are anchors (`#H2`). IDs are links where the schema says that they are IDs; prose is never
searched for them, since `H4` may be a histone.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from html import escape
from types import MappingProxyType
from typing import NamedTuple, cast
from unicodedata import category

from brenner.artifact.format import in_order
from brenner.artifact.model import (
    CONDITION_COLUMN,
    ID_COLUMN,
    KILLED_BY,
    LAYOUT,
    LAYOUT_OF,
    NONE_REGISTERED,
    REASON,
    REFERENCES,
    SCORE_LABELS,
    TITLE,
    Artifact,
    Item,
    Killed,
    Layout,
    Metadata,
    Reference,
    order_of,
    shown,
    total,
)
from brenner.artifact.state import Conflict, Source
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Field,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID, MENTION, NAME_IN_DISCRIMINATES
from brenner.text import escape_control

# How the page of an artifact looks: one style sheet, and the policy that lets nothing else in.


# Three sizes, two weights, distances in steps of 4 pixels. Prose is set in a serif at about 70
# characters to the line, the frame in a sans, IDs in a mono.
STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fdfcfa; --ink: #1c1b19; --quiet: #676159; --rule: #ddd8ce; --tint: #f4f1ea;
  --accent: #1d4f7c; --attention: #8c1d4f;
  --prose: Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif;
  --frame: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --exact: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171614; --ink: #e7e2d8; --quiet: #a39b8f; --rule: #3a362f; --tint: #211f1c;
    --accent: #8fbbe3; --attention: #ef9cc0;
  }
}
* { box-sizing: border-box; }
html { font-size: 17px; line-height: 1.5; scroll-padding-top: 16px; }
body { margin: 0; background: var(--paper); color: var(--ink); font-family: var(--prose); }
main { max-width: 816px; margin: 0 auto; padding: 32px 20px 64px; }
h1, h2, h3, p, dl, dd, ul, figure { margin: 0; }
h1, h2 { font: 700 22px/28px var(--frame); overflow-wrap: anywhere; }
h2 { margin-top: 48px; padding-bottom: 8px; border-bottom: 1px solid var(--rule); }
h3 { font: 700 17px/24px var(--prose); overflow-wrap: anywhere; }
header p, nav, dt, th, .who, .label, footer {
  font: 400 13px/20px var(--frame); color: var(--quiet);
}
header > * + * { margin-top: 4px; }
header .session, .id { font-family: var(--exact); }
.id { font-size: 0.88em; font-weight: 400; white-space: nowrap; }
h3 .id { margin-right: 8px; }
a { color: var(--accent); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
nav { margin-top: 24px; padding: 12px 0; border: solid var(--rule); border-width: 1px 0; }
nav p { display: flex; gap: 4px 12px; flex-wrap: wrap; }
nav p > span:first-child { flex: 0 0 176px; }
article { margin-top: 32px; }
article:target, tr:target > * { background: var(--tint); box-shadow: 0 0 0 8px var(--tint); }
tr:target > * { box-shadow: none; }
dl { display: grid; grid-template-columns: 152px minmax(0, 1fr); gap: 8px 24px; margin-top: 8px; }
dt { line-height: 26px; }
dd, td, .side { overflow-wrap: anywhere; tab-size: 4; }
dd p, td p, .side p, li { white-space: pre-wrap; }
dd p + p, dd ul + p { margin-top: 8px; }
dd ul { padding-left: 20px; }
.plain { list-style: none; padding: 0; }
s { color: var(--quiet); }
.mark { margin-left: 4px; white-space: nowrap; font: 400 13px/20px var(--frame);
  color: var(--quiet); }
.mark.killed { color: var(--attention); font-weight: 700; }
.mark.points { font-variant-numeric: tabular-nums; }
.empty { margin-top: 16px; color: var(--quiet); }
.conflict { margin-top: 16px; padding: 8px 16px 12px; border-left: 4px solid var(--attention);
  background: var(--tint); }
.conflict .label { color: var(--attention); font-weight: 700; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(208px, 1fr));
  gap: 8px 24px; margin-top: 4px; }
.scroll { margin-top: 20px; overflow-x: auto; border: 1px solid var(--rule); }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 8px 12px; text-align: left; vertical-align: top; min-width: 128px; }
tr > :first-child { min-width: 0; white-space: nowrap; overflow-wrap: normal; }
tbody th { line-height: 26px; }
td:first-of-type { min-width: 176px; }
tbody tr { border-top: 1px solid var(--rule); }
footer { margin-top: 64px; padding-top: 12px; border-top: 1px solid var(--rule); }
@media (max-width: 600px) {
  main { padding: 20px 16px 48px; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd + dt { margin-top: 12px; }
  dt { line-height: 20px; }
  nav p > span:first-child { flex-basis: 144px; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #444; --rule: #999;
    --tint: #fff; --accent: #000; --attention: #000; }
  html { font-size: 11pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  h2, h3 { break-after: avoid; }
  dt, .conflict, tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  th, td, td:first-of-type { min-width: 0; }
}
"""
# Nothing is loaded, nothing runs, and of styles only the one above counts.
_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


# Values of an item as HTML: every text escaped, hidden characters spelled out, IDs as links.


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
        else escape_control(each)
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


_NOT_SAID = "not said"
# What the heading of an item says already
_IN_HEADING = {RESEARCH_THREAD.id: {"statement"}, HYPOTHESIS_SLATE.id: {"third_alternative"}}


class _Page(NamedTuple):
    """What the parts of the page need to know of the whole."""

    known: Known
    conflicts: Mapping[str, tuple[Conflict, ...]]


def html_form(artifact: Artifact, conflicts: Iterable[Conflict] = (), verdict: str = "") -> str:
    """The whole page. `verdict` is what the linter says, in words."""
    page = _page(artifact, conflicts)
    metadata = artifact.metadata
    title = _joined([metadata.session_id or TITLE, _version(metadata)], " ")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{text_html(title)}</title>",
        f"<style>{STYLE}</style>",
        "<main>",
        *_header(metadata, verdict),
        *_contents(artifact, page),
    ]
    for layout in LAYOUT:
        parts += _section(artifact, layout, page)
    parts += [*_footer(metadata), "</main>", "</html>"]
    return "\n".join(parts) + "\n"


def _page(artifact: Artifact, conflicts: Iterable[Conflict]) -> _Page:
    """Only an ID that is well formed and stands once can be an anchor."""
    times = Counter(item.id for _, item in artifact.all_items())
    anchors = (item_id for item_id, count in times.items() if count == 1)
    by_item: dict[str, tuple[Conflict, ...]] = {}
    for conflict in conflicts:
        by_item[conflict.item_id] = (*by_item.get(conflict.item_id, ()), conflict)
    addresses = {item_id: f"#{item_id}" for item_id in filter(ITEM_ID.fullmatch, anchors)}
    known = Known(artifact.metadata.session_id or "", addresses)
    return _Page(known, by_item)


# The frame


def _header(metadata: Metadata, verdict: str) -> Iterator[str]:
    session = metadata.session_id or "without a session ID"
    names = ", ".join(metadata.contributors)
    facts = [_version(metadata), metadata.status or "", verdict, names and f"from {names}"]
    yield "<header>"
    yield f"<p>{TITLE}</p>"
    yield f'<h1 class="session">{text_html(session)}</h1>'
    yield f"<p>{text_html(_joined(facts))}</p>"
    yield "</header>"


def _version(metadata: Metadata) -> str:
    return f"v{metadata.version}" if metadata.version is not None else ""


def _joined(facts: Iterable[str], between: str = " · ") -> str:
    return between.join(fact for fact in facts if fact)


def _contents(artifact: Artifact, page: _Page) -> Iterator[str]:
    """Every item by its ID, section by section; the killed ones struck through."""
    yield '<nav aria-label="Items">'
    for layout in LAYOUT:
        if layout.section is RESEARCH_THREAD:
            continue
        items = shown(layout.section, artifact.sections[layout.section.id])
        links = [struck(item_link(item.id, page.known), not item.is_active) for item in items]
        words = layout.heading.partition(". ")[2]
        yield f"<p><span>{words}</span>{' '.join(links) or 'none'}</p>"
    yield "</nav>"


def _footer(metadata: Metadata) -> Iterator[str]:
    by = f" by {metadata.compiled_by}" if metadata.compiled_by else ""
    facts = [
        f"Compiled {metadata.compiled_at}{by}" if metadata.compiled_at else "",
        f"last change {metadata.updated_at}" if metadata.updated_at else "",
        f"begun {metadata.created_at}" if metadata.created_at else "",
    ]
    if any(facts):
        yield f"<footer>{text_html(_joined(facts))}</footer>"


# Sections and items


def _section(artifact: Artifact, layout: Layout, page: _Page) -> Iterator[str]:
    section = layout.section
    if section is RESEARCH_THREAD:
        items = [artifact.research_thread] if artifact.research_thread.fields else []
    else:
        items = shown(section, artifact.sections[section.id])
    yield f'<section id="{section.id}">'
    yield f"<h2>{layout.heading}</h2>"
    if not items:
        yield f'<p class="empty">{"None yet" if layout.least else NONE_REGISTERED}.</p>'
    elif section is PREDICTIONS_TABLE:
        yield from _predictions(artifact, items, page)
    else:
        for item in items:
            yield from _item(item, layout, page)
    yield "</section>"


def _item(item: Item, layout: Layout, page: _Page) -> Iterator[str]:
    section, known, is_killed = layout.section, page.known, not item.is_active
    hidden = _IN_HEADING.get(section.id, set())
    yield f"<article{_anchor(item.id, page)}>"
    yield _heading(item, section, page)
    fields = [
        (label, value_html(section.fields[name], item.fields[name], known, is_killed=is_killed))
        for name, label in layout.labels.items()
        if name in item.fields and name not in hidden
    ]
    if item.killed:
        fields += [(label, prose(text)) for label, text in _kill(item.killed)]
    yield from _fields(fields)
    yield from _conflicts(item.id, section, page)
    yield "</article>"


def _anchor(item_id: str, page: _Page) -> str:
    return f' id="{item_id}"' if item_id in page.known.addresses else ""


def _fields(fields: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = [f"<dt>{text_html(label)}</dt><dd>{value}</dd>" for label, value in fields]
    if listed:
        yield "\n".join(["<dl>", *listed, "</dl>"])


def _heading(item: Item, section: Section, page: _Page) -> str:
    title = item.text("statement") if section is RESEARCH_THREAD else item.text("name")
    parts = [item_link(item.id, page.known), struck(text_html(title), not item.is_active)]
    if section is HYPOTHESIS_SLATE and "third_alternative" in item.fields:
        parts.append('<span class="mark">third alternative</span>')
    if item.killed:
        parts.append('<span class="mark killed">killed</span>')
    if section is DISCRIMINATIVE_TESTS and item.score:
        most = MOST_SCORE * len(SCORE_PARTS)
        parts.append(f'<span class="mark points">{total(item)}/{most}</span>')
    return f"<h3>{' '.join(parts)}</h3>"


def _kill(killed: Killed) -> tuple[tuple[str, str], ...]:
    """Who and when, and why, at full strength."""
    who = _joined([killed.agent, killed.at], ", ")
    return ((KILLED_BY, who or _NOT_SAID), (REASON, killed.reason or _NOT_SAID))


def _conflicts(item_id: str, section: Section, page: _Page) -> Iterator[str]:
    """Both values side by side, with their authors."""
    for conflict in page.conflicts.get(item_id, ()):
        label = LAYOUT_OF[section.id].labels.get(conflict.path[0]) or conflict.path[0]
        name = _joined([label, *conflict.path[1:]], " ")
        sides = [
            _side(conflict.value, conflict.source, " (stands)"),
            *(_side(lost.value, lost.source, "") for lost in conflict.displaced),
        ]
        yield '<div class="conflict">'
        yield f'<p class="label">Open conflict: {text_html(name)}</p>'
        yield f'<div class="sides">{"".join(sides)}</div>'
        yield "</div>"


def _side(value: object, source: Source, stands: str) -> str:
    who = text_html(f"{source.agent}, message {source.message_id}{stands}")
    return f'<div class="side"><p class="who">{who}</p>{any_html(value)}</div>'


# The predictions table


def _predictions(artifact: Artifact, rows: list[Item], page: _Page) -> Iterator[str]:
    """The table in a box in which it scrolls, and under it what has no cell."""
    hypotheses = artifact.sections[HYPOTHESIS_SLATE.id]
    killed = {item.id for item in hypotheses if item.killed}
    named = {item.id for item in hypotheses}.union(*(row.mapped("predictions") for row in rows))
    keys = sorted(named - {""}, key=order_of)
    heads = [struck(item_link(key, page.known), key in killed) for key in keys]
    titles = "".join(f'<th scope="col">{each}</th>' for each in (CONDITION_COLUMN, *heads))
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Predictions">'
    yield "<table>"
    yield f'<thead><tr><th scope="col">{ID_COLUMN}</th>{titles}</tr></thead>'
    yield "<tbody>"
    for row in rows:
        yield _row(row, keys, page)
    yield "</tbody>"
    yield "</table>"
    yield "</div>"
    for row in rows:
        yield from _notes(row, page)


def _row(row: Item, keys: list[str], page: _Page) -> str:
    outcomes = row.mapped("predictions")
    texts = [row.text("condition"), *(outcomes.get(key, "") for key in keys)]
    cells = "".join(f"<td>{prose(text, not row.is_active)}</td>" for text in texts)
    link = struck(item_link(row.id, page.known), not row.is_active)
    return f'<tr{_anchor(row.id, page)}><th scope="row">{link}</th>{cells}</tr>'


def _notes(row: Item, page: _Page) -> Iterator[str]:
    """What a row of the table says besides its cells."""
    fields = []
    if row.references:
        kind = PREDICTIONS_TABLE.fields["references"]
        value = value_html(kind, row.references, page.known, is_killed=not row.is_active)
        fields.append((f"{row.id} {REFERENCES.lower()}", value))
    if row.killed:
        told = _kill(row.killed)
        fields += [(f"{row.id} {label.lower()}", prose(text)) for label, text in told]
    yield from _fields(fields)
    yield from _conflicts(row.id, PREDICTIONS_TABLE, page)
