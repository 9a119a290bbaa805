"""An artifact as one page of HTML: no scripts, nothing loaded from elsewhere, every text escaped.

Items are anchors (`#H2`). IDs are links where the schema says that they are IDs; prose is never
searched for them, since `H4` may be a histone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import NamedTuple

from brenner.artifact.blame import Source
from brenner.artifact.conflicts import Conflict
from brenner.artifact.html_style import POLICY, STYLE
from brenner.artifact.html_values import (
    Known,
    any_html,
    item_link,
    prose,
    struck,
    text_html,
    value_html,
)
from brenner.artifact.layout import (
    CONDITION_COLUMN,
    ID_COLUMN,
    KILLED_BY,
    LAYOUT,
    LAYOUT_OF,
    NONE_REGISTERED,
    REASON,
    REFERENCES,
    TITLE,
    Layout,
)
from brenner.artifact.model import Artifact, Item, Killed, Metadata, order_of
from brenner.artifact.ranking import shown, total
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Section,
)
from brenner.protocol.grammar import ITEM_ID

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
