"""An artifact as Markdown, in the companion's layout; `parse_artifact` reads the same back (R16).

One blank line between blocks, LF, one final newline. The text depends on the artifact's value and
on nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from brenner.artifact.format import (
    TRUE,
    in_order,
    item_heading,
    killed_by_text,
    list_text,
    outcome_text,
    reference_text,
    render_metadata,
    score_text,
    text_text,
    title_heading,
)
from brenner.artifact.model import (
    CONDITION_COLUMN,
    ID_COLUMN,
    KILLED_BY,
    LAYOUT,
    NONE_REGISTERED,
    REASON,
    REFERENCES,
    Artifact,
    Item,
    Layout,
    Reference,
    order_of,
    shown,
)
from brenner.markdown.escape import escape, escape_cell, escape_word, render_table
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    FieldKind,
)


def render_artifact(artifact: Artifact) -> str:
    """The whole document."""
    blocks = [
        render_metadata(artifact.metadata),
        title_heading(artifact.metadata.session_id),
    ]
    for layout in LAYOUT:
        blocks.append(f"## {layout.heading}")
        if layout.section is RESEARCH_THREAD:
            blocks += _fields(layout, artifact.research_thread)
        elif layout.section is PREDICTIONS_TABLE:
            blocks += _predictions(artifact)
        else:
            blocks += _items(layout, artifact.sections[layout.section.id])
    return "\n\n".join(blocks) + "\n"


def _items(layout: Layout, items: tuple[Item, ...]) -> Iterator[str]:
    if not items and layout.section is ANOMALY_REGISTER:
        yield NONE_REGISTERED
    for item in shown(layout.section, items):
        yield item_heading(layout.section, item)
        yield from _fields(layout, item)
        yield from _kill(item, "")


def _fields(layout: Layout, item: Item) -> Iterator[str]:
    """The fields that are there, in the order of the layout."""
    known = layout.section.fields
    for name, label in layout.labels.items():
        value = item.fields.get(name)
        if value is not None:
            yield _WRITERS[known[name].kind](label, value, item.killed is not None)


def _kill(item: Item, prefix: str) -> Iterator[str]:
    """Who, when and why, at full strength; `prefix` names a row of the predictions table."""
    killed = item.killed
    if killed and (killed.agent or killed.at):
        yield f"**{prefix}{KILLED_BY}**: {killed_by_text(killed)}"
    if killed and killed.reason:
        yield f"**{prefix}{REASON}**: {escape(killed.reason)}"


# The predictions table


def _predictions(artifact: Artifact) -> Iterator[str]:
    """The table, and under it what has no cell."""
    rows = artifact.sections[PREDICTIONS_TABLE.id]
    columns = _columns(artifact.sections[HYPOTHESIS_SLATE.id], rows)
    header = (ID_COLUMN, CONDITION_COLUMN, *map(escape_word, columns))
    yield render_table(header, (_row(row, columns) for row in rows))
    for row in rows:
        if row.references:
            prefix = f"{escape_word(row.id)} "
            yield _references(f"{prefix}{REFERENCES}", row.references, row.killed is not None)
        if row.killed:
            yield from _kill(row, f"{escape_word(row.id)} ")


def _columns(hypotheses: tuple[Item, ...], rows: tuple[Item, ...]) -> list[str]:
    """All hypotheses, killed ones too, and whatever else a row speaks of, by number."""
    names = {item.id for item in hypotheses}
    names.update(*(row.mapped("predictions") for row in rows))
    return sorted(names - {""}, key=order_of)


def _row(row: Item, columns: list[str]) -> list[str]:
    outcomes = row.mapped("predictions")
    cells = [escape_word(row.id), escape_cell(row.text("condition"))]
    cells += [escape_cell(outcomes[key]) if key in outcomes else "" for key in columns]
    return [f"~~{cell}~~" if cell else "" for cell in cells] if row.killed else cells


# One writer per kind of field: the label, the value, whether the item is killed.


def _line(label: str, text: str, killed: bool) -> str:
    return f"**{label}**: ~~{text}~~" if killed else f"**{label}**: {text}"


def _list(label: str, entries: list[str], killed: bool) -> str:
    lines = [f"- ~~{entry}~~" if killed else f"- {entry}" for entry in entries]
    return "\n".join([f"**{label}**:", "", *lines])


def _text(label: str, value: object, killed: bool) -> str:
    return _line(label, text_text(label, cast("str", value)), killed)


def _flag(label: str, _value: object, killed: bool) -> str:
    return _line(label, TRUE, killed)


def _listed(label: str, value: object, killed: bool) -> str:
    return _line(label, list_text(cast("tuple[str, ...]", value)), killed)


def _score(label: str, value: object, killed: bool) -> str:
    return _line(label, score_text(cast("Mapping[str, int]", value)), killed)


def _outcomes(label: str, value: object, killed: bool) -> str:
    pairs = in_order(cast("Mapping[str, str]", value))
    return _list(label, [outcome_text(key, outcome) for key, outcome in pairs], killed)


def _references(label: str, value: object, killed: bool) -> str:
    references = cast("tuple[Reference, ...]", value)
    return _list(label, [reference_text(reference) for reference in references], killed)


_WRITERS: dict[FieldKind, Callable[[str, object, bool], str]] = {
    FieldKind.TEXT: _text,
    FieldKind.CHOICE: _text,
    FieldKind.FLAG: _flag,
    FieldKind.ANCHORS: _listed,
    FieldKind.ITEMS: _listed,
    FieldKind.SCORE: _score,
    FieldKind.OUTCOMES: _outcomes,
    FieldKind.REFERENCES: _references,
}
