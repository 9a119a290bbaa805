"""Render an artifact as Markdown in the companion's layout. `parse_artifact` is the inverse
(R16).

Blocks are separated by one blank line, lines end in LF, and the text ends in one newline. The
output depends only on the artifact's value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brenner.artifact.format import (
    TRUE,
    format_killed_by,
    format_list,
    format_outcome,
    format_reference,
    format_score,
    format_text,
    item_heading,
    render_metadata,
    sort_outcomes,
    title_heading,
)
from brenner.artifact.model import (
    CONDITION_COLUMN,
    ID_COLUMN,
    KILLED_BY,
    LAYOUT,
    LAYOUT_BY_SECTION,
    NONE_REGISTERED,
    REASON,
    Artifact,
    Item,
    SectionLayout,
    in_display_order,
    prediction_columns,
)
from brenner.artifact.results import format_result
from brenner.markdown.escape import escape, escape_cell, escape_word, render_table
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    FieldKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def render_artifact(artifact: Artifact) -> str:
    """Return the whole document."""
    blocks = [
        render_metadata(artifact.metadata),
        title_heading(artifact.metadata.session_id),
    ]
    for layout in LAYOUT:
        blocks.append(f"## {layout.heading}")
        if layout.section is RESEARCH_THREAD:
            blocks += _render_fields(layout, artifact.research_thread)
        elif layout.section is PREDICTIONS_TABLE:
            blocks += _render_predictions(artifact)
        else:
            blocks += _render_items(layout, artifact.sections[layout.section.id])
    return "\n\n".join(blocks) + "\n"


def _render_items(layout: SectionLayout, items: tuple[Item, ...]) -> Iterator[str]:
    if not items and layout.section is ANOMALY_REGISTER:
        yield NONE_REGISTERED
    for item in in_display_order(layout.section, items):
        yield item_heading(layout.section, item)
        yield from _render_fields(layout, item)
        yield from _render_kill(item, "")


def _render_fields(layout: SectionLayout, item: Item) -> Iterator[str]:
    known = layout.section.fields
    for name, label in layout.labels.items():
        value = item.fields.get(name)
        if value is not None:
            yield _render_field(label, known[name].kind, value, item.killed is not None)


def _render_kill(item: Item, prefix: str) -> Iterator[str]:
    """Yield the agent, time and reason of a kill. `prefix` names a row of the predictions table."""
    killed = item.killed
    if killed and (killed.agent or killed.at):
        yield f"**{prefix}{KILLED_BY}**: {format_killed_by(killed)}"
    if killed and killed.reason:
        yield f"**{prefix}{REASON}**: {escape(killed.reason)}"


# The predictions table


def _render_predictions(artifact: Artifact) -> Iterator[str]:
    """Yield the table, and below it the fields that have no column."""
    rows = artifact.sections[PREDICTIONS_TABLE.id]
    columns = prediction_columns(artifact)
    header = (ID_COLUMN, CONDITION_COLUMN, *map(escape_word, columns))
    labels = LAYOUT_BY_SECTION[PREDICTIONS_TABLE.id].labels
    yield render_table(header, (_table_row(row, columns) for row in rows))
    for row in rows:
        prefix = f"{escape_word(row.id)} "
        for name, label in labels.items():
            if name in row.fields:
                kind, value = PREDICTIONS_TABLE.fields[name].kind, row.fields[name]
                yield _render_field(f"{prefix}{label}", kind, value, row.killed is not None)
        if row.killed:
            yield from _render_kill(row, prefix)


def _table_row(row: Item, columns: list[str]) -> list[str]:
    outcomes = row.mapped("predictions")
    cells = [escape_word(row.id), escape_cell(row.text("condition"))]
    cells += [escape_cell(outcomes[key]) if key in outcomes else "" for key in columns]
    return [f"~~{cell}~~" if cell else "" for cell in cells] if row.killed else cells


# These kinds have one entry per line.
_LIST_OF_ENTRIES = (
    FieldKind.OUTCOMES,
    FieldKind.DESCRIPTIONS,
    FieldKind.REFERENCES,
    FieldKind.RESULTS,
)


def _render_field(label: str, kind: FieldKind, value: Any, killed: bool) -> str:
    if kind in _LIST_OF_ENTRIES:
        if kind is FieldKind.REFERENCES:
            entries = [format_reference(reference) for reference in value]
        elif kind is FieldKind.RESULTS:
            entries = [format_result(result) for result in value]
        else:
            entries = [format_outcome(key, outcome) for key, outcome in sort_outcomes(value)]
        lines = [f"- ~~{entry}~~" if killed else f"- {entry}" for entry in entries]
        return "\n".join([f"**{label}**:", "", *lines])
    if kind is FieldKind.TEXT or kind is FieldKind.CHOICE:
        text = format_text(label, value)
    elif kind is FieldKind.FLAG:
        text = TRUE
    elif kind is FieldKind.SCORE:
        text = format_score(value)
    else:
        text = format_list(value)
    return f"**{label}**: ~~{text}~~" if killed else f"**{label}**: {text}"
