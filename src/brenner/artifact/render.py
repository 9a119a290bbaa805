"""Render an artifact as Markdown in the companion's layout. `parse_artifact` is the inverse
(R16).

Blocks are separated by one blank line, lines end in LF, and the text ends in one newline. The
output depends only on the artifact's value.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

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
    NONE_REGISTERED,
    REASON,
    REFERENCES,
    Artifact,
    Item,
    Reference,
    SectionLayout,
    in_display_order,
    item_sort_key,
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
    """Yield the fields that are present, in the order of the layout."""
    known = layout.section.fields
    for name, label in layout.labels.items():
        value = item.fields.get(name)
        if value is not None:
            yield _RENDERERS[known[name].kind](label, value, item.killed is not None)


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
    columns = _table_columns(artifact.sections[HYPOTHESIS_SLATE.id], rows)
    header = (ID_COLUMN, CONDITION_COLUMN, *map(escape_word, columns))
    yield render_table(header, (_table_row(row, columns) for row in rows))
    for row in rows:
        if row.references:
            prefix = f"{escape_word(row.id)} "
            yield _render_references(
                f"{prefix}{REFERENCES}", row.references, row.killed is not None
            )
        if row.killed:
            yield from _render_kill(row, f"{escape_word(row.id)} ")


def _table_columns(hypotheses: tuple[Item, ...], rows: tuple[Item, ...]) -> list[str]:
    """Return all hypotheses, killed ones included, and all other keys of the rows, by number."""
    names = {item.id for item in hypotheses}
    names.update(*(row.mapped("predictions") for row in rows))
    return sorted(names - {""}, key=item_sort_key)


def _table_row(row: Item, columns: list[str]) -> list[str]:
    outcomes = row.mapped("predictions")
    cells = [escape_word(row.id), escape_cell(row.text("condition"))]
    cells += [escape_cell(outcomes[key]) if key in outcomes else "" for key in columns]
    return [f"~~{cell}~~" if cell else "" for cell in cells] if row.killed else cells


# One renderer per kind of field; the arguments are the label, the value, and whether it is killed.


def _labelled_line(label: str, text: str, killed: bool) -> str:
    return f"**{label}**: ~~{text}~~" if killed else f"**{label}**: {text}"


def _labelled_list(label: str, entries: list[str], killed: bool) -> str:
    lines = [f"- ~~{entry}~~" if killed else f"- {entry}" for entry in entries]
    return "\n".join([f"**{label}**:", "", *lines])


def _render_text(label: str, value: object, killed: bool) -> str:
    return _labelled_line(label, format_text(label, cast("str", value)), killed)


def _render_flag(label: str, _value: object, killed: bool) -> str:
    return _labelled_line(label, TRUE, killed)


def _render_inline_list(label: str, value: object, killed: bool) -> str:
    return _labelled_line(label, format_list(cast("tuple[str, ...]", value)), killed)


def _render_score(label: str, value: object, killed: bool) -> str:
    return _labelled_line(label, format_score(cast("Mapping[str, int]", value)), killed)


def _render_outcomes(label: str, value: object, killed: bool) -> str:
    pairs = sort_outcomes(cast("Mapping[str, str]", value))
    return _labelled_list(label, [format_outcome(key, outcome) for key, outcome in pairs], killed)


def _render_references(label: str, value: object, killed: bool) -> str:
    references = cast("tuple[Reference, ...]", value)
    return _labelled_list(label, [format_reference(reference) for reference in references], killed)


_RENDERERS: dict[FieldKind, Callable[[str, object, bool], str]] = {
    FieldKind.TEXT: _render_text,
    FieldKind.CHOICE: _render_text,
    FieldKind.FLAG: _render_flag,
    FieldKind.ANCHORS: _render_inline_list,
    FieldKind.ITEMS: _render_inline_list,
    FieldKind.SCORE: _render_score,
    FieldKind.OUTCOMES: _render_outcomes,
    FieldKind.REFERENCES: _render_references,
}
