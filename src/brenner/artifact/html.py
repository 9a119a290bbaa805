"""Render an artifact as one page of HTML: no scripts, no external resources, every text escaped.

Items are anchors (`#H2`). IDs become links where the schema says that they are IDs. Prose is not
searched for IDs here, since `H4` may be a histone.
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

from brenner.artifact.format import sort_outcomes
from brenner.artifact.model import (
    CONDITION_COLUMN,
    ID_COLUMN,
    KILLED_BY,
    LAYOUT,
    LAYOUT_BY_SECTION,
    NONE_REGISTERED,
    REASON,
    REFERENCES,
    SCORE_LABELS,
    TITLE,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    SectionLayout,
    in_display_order,
    item_sort_key,
    total_score,
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
from brenner.protocol.grammar import HYPOTHESIS_REFERENCE, ITEM_ID, MENTION
from brenner.text import escape_control

# The style sheet, and the content security policy that allows nothing else


# Three font sizes, two weights, distances in steps of 4 pixels. Prose is serif with about 70
# characters per line, the frame is sans-serif, IDs are monospaced.
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
# Load nothing, run nothing, and allow only the style sheet above.
_STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
)


# Values of an item as HTML: every text escaped, invisible characters made visible, IDs as links


class LinkTargets(NamedTuple):
    """The addresses that a page can link to.

    Keys are items of this session by ID (`H2`), items of other sessions by both IDs
    (`RS-20251228-initial H2`), and sections of the source text (`§42`). With `links_in_prose`, the
    page links them in every text. Otherwise it links only fields that the schema declares as IDs.
    """

    session_id: str
    addresses: Mapping[str, str]
    links_in_prose: bool = False

    def link(self, name: str, shown: str) -> str:
        """Return a link if the name has an address, else only the text."""
        address = self.addresses.get(name)
        return f'<a href="{escape(address)}">{shown}</a>' if address else shown


NO_LINK_TARGETS = LinkTargets("", MappingProxyType({}))
# Joiners of scripts and of emoji shape letters and hide nothing.
_JOINERS = "\u200c\u200d"
_SPACE_CATEGORY = "Zs"
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_EXCESS_MARKS = re.compile(f"({_MARK}{{6}})({_MARK}+)")


def text_html(text: str) -> str:
    """Escape a text of one line, including invisible and control characters."""
    return escape(escape_invisible(text))


def lines_html(text: str) -> str:
    """Escape a text of several lines. Keep its line breaks and tabs."""
    return "\n".join("\t".join(map(text_html, line.split("\t"))) for line in text.split("\n"))


def escape_invisible(text: str) -> str:
    """Replace control and format characters by visible escapes. Keep spaces and joiners.

    Keep combining marks too, up to the number that languages use. More of them would cover other
    text.
    """
    if not text.isascii():
        text = _EXCESS_MARKS.sub(_escape_excess_marks, text)
    if text.isprintable():
        return text
    return "".join(
        each
        if each.isprintable() or each in _JOINERS or category(each) == _SPACE_CATEGORY
        else escape_control(each)
        for each in text
    )


def _escape_excess_marks(tower: re.Match[str]) -> str:
    """Replace excess combining marks by numeric escapes."""
    return tower[1] + "".join(f"\\u{ord(each):04x}" for each in tower[2])


def strike_if_killed(html: str, is_killed: bool) -> str:
    """Strike the HTML through if the item is killed."""
    return f"<s>{html}</s>" if is_killed and html else html


def prose_html(text: str, is_killed: bool = False, targets: LinkTargets = NO_LINK_TARGETS) -> str:
    """Render paragraphs, which are separated by blank lines. Line breaks in a paragraph stay."""
    paragraphs = text.replace("\r\n", "\n").split("\n\n")
    return "".join(
        f"<p>{strike_if_killed(_lines_with_links(part, targets), is_killed)}</p>"
        for part in paragraphs
        if part.strip()
    )


def _lines_with_links(text: str, targets: LinkTargets) -> str:
    """Render lines and tabs as they are. The style sheet preserves spaces."""
    return "\n".join(
        "\t".join(_link_mentions(part, targets) for part in line.split("\t"))
        for line in text.strip("\n").split("\n")
    )


def _link_mentions(text: str, targets: LinkTargets) -> str:
    """Escape a text and link the items and sections that the page has addresses for."""
    if not targets.links_in_prose:
        return text_html(text)
    parts, end = [], 0
    for match in MENTION.finditer(text):
        name = _mention_name(match)
        if name in targets.addresses:
            shown = text_html(match[0])
            parts += [text_html(text[end : match.start()]), targets.link(name, shown)]
            end = match.end()
    return "".join([*parts, text_html(text[end:])])


def mentioned_names(text: str) -> Iterator[str]:
    """Yield the keys of `LinkTargets` that a text may refer to."""
    return map(_mention_name, MENTION.finditer(text))


def _mention_name(match: re.Match[str]) -> str:
    """Return the key of a mention. Use the first section of a range. An item after a session ID
    belongs to that session.
    """
    if match["section"]:
        return f"§{int(match['section'])}"
    return f"{match['session']} {match['its']}" if match["session"] else match[0]


def item_link(item_id: str, targets: LinkTargets) -> str:
    """Return an ID, as a link if it has an address."""
    shown = text_html(item_id)
    if item_id in targets.addresses:
        return f'<a class="id" href="{escape(targets.addresses[item_id])}">{shown}</a>'
    return f'<span class="id">{shown}</span>'


def value_html(field: Field, value: object, targets: LinkTargets, *, is_killed: bool) -> str:
    """Render the value of a field."""
    if field.names_items:
        return (
            f"<p>{strike_if_killed(_link_hypotheses(cast('str', value), targets), is_killed)}</p>"
        )
    return _VALUE_RENDERERS[field.kind](value, targets, is_killed)


def entry_html(field: Field, value: object, targets: LinkTargets, *, is_killed: bool) -> str:
    """Render one entry of a field: an element of a list, or the value under a key of a map.

    Any other value is rendered as text.
    """
    if field.kind is FieldKind.ANCHORS:
        return strike_if_killed(_link_mentions(str(value), targets), is_killed)
    if field.kind is FieldKind.ITEMS:
        return strike_if_killed(item_link(str(value), targets), is_killed)
    if isinstance(value, Reference):
        return strike_if_killed(_reference_html(value, targets), is_killed)
    if field.names_items:
        return f"<p>{strike_if_killed(_link_hypotheses(str(value), targets), is_killed)}</p>"
    if field.kind is FieldKind.SCORE or isinstance(value, bool):
        return strike_if_killed("yes" if value is True else text_html(str(value)), is_killed)
    return prose_html(str(value), is_killed, targets)


def conflict_value_html(value: object) -> str:
    """Render a value of a conflict; None means that it was removed."""
    if value is None:
        return "<p>(taken away)</p>"
    if isinstance(value, tuple):
        return prose_html(", ".join(map(_element_text, value)))
    return prose_html("yes" if value is True else str(value))


def _element_text(element: object) -> str:
    if isinstance(element, Reference):
        return f"{element.relation} {element.session} {element.item}"
    return str(element)


def _link_hypotheses(text: str, targets: LinkTargets) -> str:
    """Escape a text and link the hypotheses in it."""
    parts, end = [], 0
    for match in HYPOTHESIS_REFERENCE.finditer(text):
        parts += [text_html(text[end : match.start()]), item_link(match[0], targets)]
        end = match.end()
    return "".join([*parts, text_html(text[end:])])


def _prose_value(value: object, targets: LinkTargets, is_killed: bool) -> str:
    return prose_html(cast("str", value), is_killed, targets)


def _flag_value(_value: object, _known: LinkTargets, is_killed: bool) -> str:
    return f"<p>{strike_if_killed('yes', is_killed)}</p>"


def _anchors_value(value: object, targets: LinkTargets, is_killed: bool) -> str:
    return prose_html(", ".join(cast("tuple[str, ...]", value)), is_killed, targets)


def _items_value(value: object, targets: LinkTargets, is_killed: bool) -> str:
    links = ", ".join(item_link(each, targets) for each in cast("tuple[str, ...]", value))
    return f"<p>{strike_if_killed(links, is_killed)}</p>"


def _score_value(value: object, _known: LinkTargets, is_killed: bool) -> str:
    score = cast("Mapping[str, int]", value)
    given = (f"{label} {score[part]}" for part, label in SCORE_LABELS.items() if part in score)
    return f"<p>{strike_if_killed(', '.join(given), is_killed)}</p>"


def _outcomes_value(value: object, targets: LinkTargets, is_killed: bool) -> str:
    pairs = sort_outcomes(cast("Mapping[str, str]", value))
    return _plain_list(
        (
            f"{item_link(key, targets)} {_lines_with_links(outcome, targets)}"
            for key, outcome in pairs
        ),
        is_killed,
    )


def _references_value(value: object, targets: LinkTargets, is_killed: bool) -> str:
    return _plain_list(
        (_reference_html(each, targets) for each in cast("tuple[Reference, ...]", value)), is_killed
    )


def _reference_html(reference: Reference, targets: LinkTargets) -> str:
    if reference.session == targets.session_id:
        return f"{text_html(reference.relation)} {item_link(reference.item, targets)}"
    name = f"{reference.session} {reference.item}"
    place = targets.link(name, text_html(name))
    return f'{text_html(reference.relation)} <span class="id">{place}</span>'


def _plain_list(entries: Iterable[str], is_killed: bool) -> str:
    rows = "".join(f"<li>{strike_if_killed(entry, is_killed)}</li>" for entry in entries)
    return f'<ul class="plain">{rows}</ul>'


_VALUE_RENDERERS: dict[FieldKind, Callable[[object, LinkTargets, bool], str]] = {
    FieldKind.TEXT: _prose_value,
    FieldKind.CHOICE: _prose_value,
    FieldKind.FLAG: _flag_value,
    FieldKind.ANCHORS: _anchors_value,
    FieldKind.ITEMS: _items_value,
    FieldKind.SCORE: _score_value,
    FieldKind.OUTCOMES: _outcomes_value,
    FieldKind.REFERENCES: _references_value,
}


# The page

_NOT_STATED = "not said"
# Fields that the heading of an item shows already
_IN_HEADING = {RESEARCH_THREAD.id: {"statement"}, HYPOTHESIS_SLATE.id: {"third_alternative"}}


class _PageContext(NamedTuple):
    """The link targets and conflicts of the whole page."""

    targets: LinkTargets
    conflicts: Mapping[str, tuple[Conflict, ...]]


def artifact_html(artifact: Artifact, conflicts: Iterable[Conflict] = (), verdict: str = "") -> str:
    """Return the whole page. `verdict` is the linter's result as text."""
    page = _page_context(artifact, conflicts)
    metadata = artifact.metadata
    title = _join_nonempty([metadata.session_id or TITLE, _version(metadata)], " ")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(CONTENT_SECURITY_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{text_html(title)}</title>",
        f"<style>{STYLE}</style>",
        "<main>",
        *_header(metadata, verdict),
        *_table_of_contents(artifact, page),
    ]
    for layout in LAYOUT:
        parts += _section(artifact, layout, page)
    parts += [*_footer(metadata), "</main>", "</html>"]
    return "\n".join(parts) + "\n"


def _page_context(artifact: Artifact, conflicts: Iterable[Conflict]) -> _PageContext:
    """Collect link targets and conflicts. Only a well-formed, unique ID can be an anchor."""
    times = Counter(item.id for _, item in artifact.all_items())
    anchors = (item_id for item_id, count in times.items() if count == 1)
    by_item: dict[str, tuple[Conflict, ...]] = {}
    for conflict in conflicts:
        by_item[conflict.item_id] = (*by_item.get(conflict.item_id, ()), conflict)
    addresses = {item_id: f"#{item_id}" for item_id in filter(ITEM_ID.fullmatch, anchors)}
    targets = LinkTargets(artifact.metadata.session_id or "", addresses)
    return _PageContext(targets, by_item)


# The frame


def _header(metadata: Metadata, verdict: str) -> Iterator[str]:
    session = metadata.session_id or "without a session ID"
    names = ", ".join(metadata.contributors)
    facts = [_version(metadata), metadata.status or "", verdict, names and f"from {names}"]
    yield "<header>"
    yield f"<p>{TITLE}</p>"
    yield f'<h1 class="session">{text_html(session)}</h1>'
    yield f"<p>{text_html(_join_nonempty(facts))}</p>"
    yield "</header>"


def _version(metadata: Metadata) -> str:
    return f"v{metadata.version}" if metadata.version is not None else ""


def _join_nonempty(facts: Iterable[str], between: str = " · ") -> str:
    return between.join(fact for fact in facts if fact)


def _table_of_contents(artifact: Artifact, page: _PageContext) -> Iterator[str]:
    """Yield every item by its ID, section by section. Killed items are struck through."""
    yield '<nav aria-label="Items">'
    for layout in LAYOUT:
        if layout.section is RESEARCH_THREAD:
            continue
        items = in_display_order(layout.section, artifact.sections[layout.section.id])
        links = [
            strike_if_killed(item_link(item.id, page.targets), not item.is_active) for item in items
        ]
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
        yield f"<footer>{text_html(_join_nonempty(facts))}</footer>"


# Sections and items


def _section(artifact: Artifact, layout: SectionLayout, page: _PageContext) -> Iterator[str]:
    section = layout.section
    if section is RESEARCH_THREAD:
        items = [artifact.research_thread] if artifact.research_thread.fields else []
    else:
        items = in_display_order(section, artifact.sections[section.id])
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


def _item(item: Item, layout: SectionLayout, page: _PageContext) -> Iterator[str]:
    section, targets, is_killed = layout.section, page.targets, not item.is_active
    hidden = _IN_HEADING.get(section.id, set())
    yield f"<article{_anchor(item.id, page)}>"
    yield _heading(item, section, page)
    fields = [
        (label, value_html(section.fields[name], item.fields[name], targets, is_killed=is_killed))
        for name, label in layout.labels.items()
        if name in item.fields and name not in hidden
    ]
    if item.killed:
        fields += [(label, prose_html(text)) for label, text in _kill_fields(item.killed)]
    yield from _definition_list(fields)
    yield from _conflicts(item.id, section, page)
    yield "</article>"


def _anchor(item_id: str, page: _PageContext) -> str:
    return f' id="{item_id}"' if item_id in page.targets.addresses else ""


def _definition_list(fields: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = [f"<dt>{text_html(label)}</dt><dd>{value}</dd>" for label, value in fields]
    if listed:
        yield "\n".join(["<dl>", *listed, "</dl>"])


def _heading(item: Item, section: Section, page: _PageContext) -> str:
    title = item.text("statement") if section is RESEARCH_THREAD else item.text("name")
    parts = [
        item_link(item.id, page.targets),
        strike_if_killed(text_html(title), not item.is_active),
    ]
    if section is HYPOTHESIS_SLATE and "third_alternative" in item.fields:
        parts.append('<span class="mark">third alternative</span>')
    if item.killed:
        parts.append('<span class="mark killed">killed</span>')
    if section is DISCRIMINATIVE_TESTS and item.score:
        most = MOST_SCORE * len(SCORE_PARTS)
        parts.append(f'<span class="mark points">{total_score(item)}/{most}</span>')
    return f"<h3>{' '.join(parts)}</h3>"


def _kill_fields(killed: KillRecord) -> tuple[tuple[str, str], ...]:
    """Return the agent and time, and the reason, not struck through."""
    who = _join_nonempty([killed.agent, killed.at], ", ")
    return ((KILLED_BY, who or _NOT_STATED), (REASON, killed.reason or _NOT_STATED))


def _conflicts(item_id: str, section: Section, page: _PageContext) -> Iterator[str]:
    """Yield the conflicting values side by side, with their authors."""
    for conflict in page.conflicts.get(item_id, ()):
        label = LAYOUT_BY_SECTION[section.id].labels.get(conflict.path[0]) or conflict.path[0]
        name = _join_nonempty([label, *conflict.path[1:]], " ")
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
    return f'<div class="side"><p class="who">{who}</p>{conflict_value_html(value)}</div>'


# The predictions table


def _predictions(artifact: Artifact, rows: list[Item], page: _PageContext) -> Iterator[str]:
    """Yield the table in a scrollable box, and below it the fields that have no column."""
    hypotheses = artifact.sections[HYPOTHESIS_SLATE.id]
    killed = {item.id for item in hypotheses if item.killed}
    named = {item.id for item in hypotheses}.union(*(row.mapped("predictions") for row in rows))
    keys = sorted(named - {""}, key=item_sort_key)
    heads = [strike_if_killed(item_link(key, page.targets), key in killed) for key in keys]
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
        yield from _row_notes(row, page)


def _row(row: Item, keys: list[str], page: _PageContext) -> str:
    outcomes = row.mapped("predictions")
    texts = [row.text("condition"), *(outcomes.get(key, "") for key in keys)]
    cells = "".join(f"<td>{prose_html(text, not row.is_active)}</td>" for text in texts)
    link = strike_if_killed(item_link(row.id, page.targets), not row.is_active)
    return f'<tr{_anchor(row.id, page)}><th scope="row">{link}</th>{cells}</tr>'


def _row_notes(row: Item, page: _PageContext) -> Iterator[str]:
    """Yield the fields of a row that have no column."""
    fields = []
    if row.references:
        kind = PREDICTIONS_TABLE.fields["references"]
        value = value_html(kind, row.references, page.targets, is_killed=not row.is_active)
        fields.append((f"{row.id} {REFERENCES.lower()}", value))
    if row.killed:
        kill_fields = _kill_fields(row.killed)
        fields += [(f"{row.id} {label.lower()}", prose_html(text)) for label, text in kill_fields]
    yield from _definition_list(fields)
    yield from _conflicts(row.id, PREDICTIONS_TABLE, page)
