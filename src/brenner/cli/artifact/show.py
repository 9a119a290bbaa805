"""`brenner artifact show`: an artifact as text for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TextIO

import click

from brenner.artifact.diff import field_label, kill_texts, value_text
from brenner.artifact.model import (
    ITEM_SECTIONS,
    LAYOUT,
    NONE_REGISTERED,
    TITLE,
    Item,
    SectionLayout,
    in_display_order,
    total_score,
)
from brenner.artifact.serialize import artifact_json
from brenner.artifact.state import KICKOFF, Conflict, Source
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    INDENT,
    ORIGIN_DEFAULTS,
    POSITIVE,
    STRUCK,
    VALUE_INDENT,
    ArtifactReader,
    LoadedArtifact,
    field_lines,
    find_item,
    item_heading,
    join_target,
    lint_loaded,
    lint_verdict,
    notes_json,
    project_pack,
    project_source,
    write_unreadable,
)
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, terminal_width, write_diagnostics, write_json
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    Span,
    agent_span,
    display_width,
    fold,
    pager_option,
    styled_line,
    wrap_spans,
    write_lines,
)
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    FieldKind,
)
from brenner.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.artifact.state import State
    from brenner.lint.linter import LintReport


# JSON output


# The keys that the document always has, with their values if there is no artifact
JSON_DEFAULTS: dict[str, object] = {
    **ORIGIN_DEFAULTS,
    **dict.fromkeys(("metadata", RESEARCH_THREAD.id)),
    **{section.id: [] for section in ITEM_SECTIONS},
    "conflicts": [],
    "lint": None,
}


def artifact_document(loaded: LoadedArtifact, report: LintReport) -> dict[str, object]:
    """Return the JSON document of the artifact: origin, content, conflicts, lint result."""
    return {
        **loaded.to_json(),
        **artifact_json(loaded.artifact),
        "conflicts": [conflict.to_json() for conflict in loaded.conflicts],
        "lint": {"valid": report.valid, "summary": report.summary._asdict()},
        **notes_json([loaded]),
    }


def item_document(loaded: LoadedArtifact, item_id: str) -> dict[str, object]:
    layout, _ = find_item(loaded, item_id)
    found: Any = artifact_json(loaded.artifact)[layout.section.id]
    items = found if isinstance(found, list) else [found]
    return {
        **loaded.to_json(),
        "section": layout.section.id,
        "item": next(item for item in items if item["id"] == item_id),
        "conflicts": [each.to_json() for each in loaded.conflicts if each.item_id == item_id],
        **notes_json([loaded]),
    }


@click.command(
    "show",
    cls=JsonCommand,
    json_defaults=JSON_DEFAULTS,
    epilog=examples(
        "brenner artifact show RS-20251230-cell-fate",
        "brenner artifact show RS-20251230-cell-fate@v2 --item H2",
        "brenner artifact show v2 H2",
        "brenner artifact show artifacts/RS-20251230-cell-fate.md",
        "brenner artifact show RS-20251230-cell-fate > cell-fate.md",
    ),
)
@click.argument("target", required=False, metavar="[TARGET]")
@click.argument("version", required=False, metavar="[vN]")
@click.argument("place", required=False, metavar="[ITEM]")
@click.option("--item", "item_id", metavar="ID", help="Show only this item: H2, T1, RT, …")
@pager_option
@common_options
def show(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    target: str | None,
    version: str | None,
    place: str | None,
    item_id: str | None,
    pager: bool,
) -> int:
    """Print an artifact: the latest version of a thread, THREAD@vN, or a file.

    TARGET is optional if only one session is open. `THREAD v2` means THREAD@v2.
    A terminal gets a layout for reading. A pipe gets Markdown, for a version exactly the published
    bytes. Problems of the text go to standard error, and in JSON to `violations`. With -, standard
    input is read.
    """
    name, typed_item = join_target(target, version, place, takes_place=True)
    item_id = item_id or typed_item
    item_id = item_id and item_id.upper()
    is_exact = item_id is None and not settings.as_json and not sys.stdout.isatty()
    with ArtifactReader(settings) as reader:
        loaded = reader.read(name, with_state=not is_exact)
        if isinstance(loaded, Diagnostic):
            return write_unreadable(loaded, name, as_json=settings.as_json)
        if is_exact:
            write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
            sys.stdout.write(loaded.text)
            return EXIT_OK
        report = lint_loaded(
            loaded, project_source(reader, loaded)[0], project_pack(reader, loaded)
        )
    if settings.as_json:
        whole = artifact_document(loaded, report) if item_id is None else None
        write_json(whole or item_document(loaded, item_id or ""))
        return EXIT_OK
    lines = (
        document_lines(loaded, report, sys.stdout)
        if item_id is None
        else item_lines(loaded, *find_item(loaded, item_id), sys.stdout)
    )
    write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
    write_lines(lines, pager=pager)
    return EXIT_OK


# Open conflicts: the values side by side, each with its author


_GAP = "  "
_MIN_VALUE_WIDTH = 28  # columns of a value in the side-by-side layout
_REMOVED_VALUE = "(removed)"

ConflictSide = tuple[object, Source]


def conflict_lines(conflict: Conflict, section: str, before: str, stream: TextIO) -> Iterator[str]:
    """Yield the field, then the value of each author, side by side if there is room.

    The first value is the current one.
    """
    label = field_label(section, conflict.path)
    yield fold([Span(before)], [Span(f"Open conflict: {label}", ATTENTION)], before, stream)
    sides = [
        (conflict.value, conflict.source),
        *((lost.value, lost.source) for lost in conflict.displaced),
    ]
    room = terminal_width(stream) - len(before)  # negative in a pipe
    width = (room - len(_GAP) * (len(sides) - 1)) // len(sides)
    if width >= _MIN_VALUE_WIDTH:
        yield from _side_by_side(sides, width, before, stream)
        return
    for number, side in enumerate(sides):
        yield fold([Span(before)], _side_author(side, is_first=not number), before, stream)
        yield fold([Span(before + _GAP)], [Span(_side_value(side))], before + _GAP, stream)


def _side_by_side(
    sides: Sequence[ConflictSide], width: int, before: str, stream: TextIO
) -> Iterator[str]:
    blocks = []
    for number, side in enumerate(sides):
        author = wrap_spans([], _side_author(side, is_first=not number), "", width)
        blocks.append([*author, *wrap_spans([], [Span(_side_value(side))], "", width)])
    for row in zip_longest(*blocks, fillvalue=[]):
        spans = [Span(before)]
        for cell in row:
            used = sum(display_width(span.text) for span in cell)
            spans += [*cell, Span(" " * (width - used) + _GAP)]
        yield styled_line(spans, stream) + "\n"


def _side_author(side: ConflictSide, *, is_first: bool) -> list[Span]:
    source = side[1]
    origin = f", message {source.message_id}, v{source.version}"
    return [agent_span(source.agent), Span(origin + " (current)" * is_first, DIM)]


def _side_value(side: ConflictSide) -> str:
    return _REMOVED_VALUE if side[0] is None else value_text(side[0])


# The artifact as text


def document_lines(loaded: LoadedArtifact, report: LintReport, out: TextIO) -> Iterator[str]:
    """Yield the title, one line about the version, the open conflicts, and the seven sections."""
    session = loaded.artifact.metadata.session_id
    yield fold([], [Span(f"{TITLE}: {session}" if session else TITLE, BOLD)], INDENT, out)
    yield version_line(loaded, report, out)
    if loaded.conflicts:
        yield fold([], _open_conflict_spans(loaded), INDENT, out)
    for layout in LAYOUT:
        yield "\n" + fold([], [Span(layout.heading, BOLD)], INDENT, out)
        yield from _section_lines(loaded, layout, out)


def item_lines(
    loaded: LoadedArtifact, layout: SectionLayout, item: Item, out: TextIO
) -> Iterator[str]:
    """Yield the heading, the fields, who killed the item and why, and its open conflicts."""
    style = PLAIN if item.is_active else STRUCK
    title = item.text("statement") if layout.section is RESEARCH_THREAD else item.title
    spans = [Span(title, style or BOLD)]
    if layout.section is DISCRIMINATIVE_TESTS and item.score:
        most = MOST_SCORE * len(SCORE_PARTS)
        spans.append(Span(f"  {total_score(item)}/{most}", DIM))
    if item.killed:
        spans.append(Span("  killed", BOLD))
    yield item_heading(item.id, spans, out)
    fields = [(label, [Span(text, style)]) for label, text in _field_texts(item, layout)]
    if item.killed:
        fields += [(label, [Span(text)]) for label, text in kill_texts(item.killed)]
    yield from field_lines(fields, out)
    for conflict in loaded.conflicts:
        if conflict.item_id == item.id:
            yield from conflict_lines(conflict, layout.section.id, VALUE_INDENT, out)


def version_line(loaded: LoadedArtifact, report: LintReport, out: TextIO) -> str:
    """Return the version, the lint verdict, the contributors, and the compile time."""
    metadata = loaded.artifact.metadata
    version = f"v{metadata.version}" if metadata.version is not None else ""
    parts = [[Span(each, DIM)] for each in (version, metadata.status) if each]
    parts.append([Span(lint_verdict(report), POSITIVE if report.valid else ATTENTION)])
    names = list(_contributors(loaded))
    if names:
        parts.append([Span("from ", DIM), *names])
    by = f" by {metadata.compiled_by}" if metadata.compiled_by else ""
    if metadata.compiled_at:
        parts.append([Span(f"compiled {metadata.compiled_at}{by}", DIM)])
    spans: list[Span] = []
    for number, part in enumerate(parts):
        spans += [Span(" · ", DIM)] * bool(number) + part
    return fold([], spans, "", out) if spans else ""


def _contributors(loaded: LoadedArtifact) -> Iterator[Span]:
    """Yield the agents that have set something, or else the metadata's contributors."""
    state = loaded.version.state if loaded.version else None
    found = [agent_span(each) for each in _agents(state)] if state else []
    found = found or [Span(each, DIM) for each in loaded.artifact.metadata.contributors]
    for number, span in enumerate(found):
        yield from [Span(", ", DIM)] * bool(number)
        yield span


def _agents(state: State) -> dict[str, None]:
    """Return the agents that have set something, in order of their first change.

    The author of the kickoff does not count.
    """
    changes = (change for each in state.blame.values() for change in each.values())
    sources = {each.source for change in changes for each in change.history()}
    found = sorted(source for source in sources if source.operation != KICKOFF)
    return dict.fromkeys(source.agent for source in found)


def _open_conflict_spans(loaded: LoadedArtifact) -> list[Span]:
    items = list(dict.fromkeys(each.item_id for each in loaded.conflicts))
    found = sorted(loaded.conflicts, key=lambda each: items.index(each.item_id))
    count = plural(len(found), "open conflict")
    where = ", ".join(f"{each.item_id}.{each.field}" for each in found)
    version = f"v{loaded.artifact.metadata.version}"
    which = "it" if len(found) == 1 else "each"
    how = f". To resolve {which}, send an EDIT of the field with `**Base Version**: {version}`."
    return [Span(count, ATTENTION), Span(f": {where}"), Span(how, DIM)]


def _section_lines(loaded: LoadedArtifact, layout: SectionLayout, out: TextIO) -> Iterator[str]:
    artifact, section = loaded.artifact, layout.section
    if section is RESEARCH_THREAD:
        items = [artifact.research_thread] if artifact.research_thread.fields else []
    else:
        items = in_display_order(section, artifact.sections[section.id])
    for number, item in enumerate(items):
        yield "\n" * bool(number) + "".join(item_lines(loaded, layout, item, out))
    if not items and section is ANOMALY_REGISTER:
        yield fold([Span(INDENT)], [Span(f"{NONE_REGISTERED}.", DIM)], INDENT, out)
    elif not items:
        hint = f"None yet. Template: `brenner new DELTA --section {section.id}`"
        yield fold([Span(INDENT)], [Span(hint, DIM)], INDENT, out)


def _field_texts(item: Item, layout: SectionLayout) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each field in the order of the layout.

    Outcomes come one by one.
    """
    section = layout.section
    hidden = {"statement"} if section is RESEARCH_THREAD else {"name", "condition"}
    unlabelled = [name for name in section.fields if name not in layout.labels]
    for name in (*unlabelled, *layout.labels):
        value = item.fields.get(name)
        if value is None or name in hidden:
            continue
        if section.fields[name].kind in (FieldKind.OUTCOMES, FieldKind.DESCRIPTIONS):
            for key, outcome in item.mapped(name).items():
                yield field_label(section.id, (name, key)), outcome
        elif section.fields[name].kind is FieldKind.RESULTS:
            for result in item.results:
                yield "Result", str(result)
        elif section.fields[name].kind is FieldKind.SCORE:
            parts = item.score.items()
            yield "Score", ", ".join(f"{part.replace('_', ' ')} {n}" for part, n in parts)
        else:
            yield field_label(section.id, (name,)), value_text(value)
