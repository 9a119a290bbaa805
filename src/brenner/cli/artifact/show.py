"""`brenner artifact show`: an artifact for people, for other programs, and as JSON."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from brenner.artifact.diff import kill_texts, label_of, value_text
from brenner.artifact.model import (
    ITEM_SECTIONS,
    LAYOUT,
    NONE_REGISTERED,
    TITLE,
    Artifact,
    Item,
    Layout,
    Metadata,
    shown,
    total,
)
from brenner.artifact.serialize import artifact_json
from brenner.artifact.state import KICKOFF, Conflict, Source
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    FINE,
    INDENT,
    POSITIVE,
    STRUCK,
    VALUES,
    Loaded,
    Reader,
    find_item,
    heading,
    lines,
    notes_json,
    project_source,
    report_of,
    verdict_of,
    write_unreadable,
)
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, width_of, write_diagnostics, write_json
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    Span,
    Style,
    agent_piece,
    columns,
    fold,
    lines_of,
    pager_option,
    shown_line,
    write_lines,
)
from brenner.diagnostics.model import Diagnostic
from brenner.lint.linter import LintReport
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    FieldKind,
)

if TYPE_CHECKING:
    from brenner.artifact.state import State


# An artifact as one JSON document: where it comes from, what it says, what is said of it.


_NOWHERE = ("thread_id", "version", "source", "message_id")
# The keys that the document always has, with what they say where there is no artifact
ALWAYS: dict[str, object] = {
    **dict.fromkeys((*_NOWHERE, "metadata", RESEARCH_THREAD.id)),
    **{section.id: [] for section in ITEM_SECTIONS},
    "conflicts": [],
    "lint": None,
}


def artifact_document(loaded: Loaded, report: LintReport) -> dict[str, object]:
    """The whole artifact."""
    return {
        **loaded.to_json(),
        **artifact_json(loaded.artifact),
        "conflicts": [conflict.to_json() for conflict in loaded.conflicts],
        "lint": {"valid": report.valid, "summary": report.summary._asdict()},
        **notes_json([loaded]),
    }


def item_document(loaded: Loaded, item_id: str) -> dict[str, object]:
    """One item."""
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
    cls=Reporting,
    always=ALWAYS,
    epilog=examples(
        "brenner artifact show RS-20251230-cell-fate",
        "brenner artifact show RS-20251230-cell-fate@v2 --item H2",
        "brenner artifact show artifacts/RS-20251230-cell-fate.md",
        "brenner artifact show RS-20251230-cell-fate > cell-fate.md",
    ),
)
@click.argument("target", metavar="TARGET")
@click.option("--item", "item_id", metavar="ID", help="Only this item: H2, T1, RT, …")
@pager_option
@common_options
def show(settings: Settings, target: str, item_id: str | None, pager: bool) -> int:
    """Print an artifact: of a THREAD the latest version, of THREAD@vN that one, or of a file.

    In a terminal it is laid out for reading; into a pipe goes its Markdown, of a version every
    byte as it was published. What is odd about it is told on the standard error, and in JSON as
    `violations`. With - the standard input is read. Exit code 1: there is no such thread, version
    or item; 2: the file cannot be read.
    """
    is_exact = item_id is None and not settings.as_json and not sys.stdout.isatty()
    with Reader(settings) as reader:
        loaded = reader.read(target, with_state=not is_exact)
        if isinstance(loaded, Diagnostic):
            return write_unreadable(loaded, target, as_json=settings.as_json)
        if is_exact:
            write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
            sys.stdout.write(loaded.text)
            return FINE
        report = report_of(loaded, project_source(reader, loaded))
    if settings.as_json:
        is_whole = item_id is None
        write_json(
            artifact_document(loaded, report) if is_whole else item_document(loaded, item_id or "")
        )
        return FINE
    lines = _lines(loaded, item_id, report, sys.stdout)
    write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
    write_lines(lines, pager=pager)
    return FINE


def _lines(loaded: Loaded, item_id: str | None, report: LintReport, out: TextIO) -> Iterator[str]:
    """The artifact for people, or one item of it; that there is none such is refused at once."""
    from brenner.cli.artifact.common import find_item

    state = loaded.version.state if loaded.version else None
    reading = reading_of(loaded.artifact, report, state)
    if item_id is None:
        return document_lines(reading, out)
    return item_lines(reading, *find_item(loaded, item_id), out)


# Open conflicts in a terminal: the values side by side, each with its author.


_ATTENTION: Style = MappingProxyType({"fg": "magenta", "bold": True})
_GAP = "  "
_LEAST = 28  # columns that a value needs to be read beside another one
_TAKEN_AWAY = "(taken away)"

Side = tuple[object, Source]


def conflict_lines(conflict: Conflict, section: str, before: str, stream: TextIO) -> Iterator[str]:
    """Which field, then what each author has set; the first of them is what stands now."""
    label = label_of(section, conflict.path)
    yield fold([Span(before)], [Span(f"Open conflict: {label}", _ATTENTION)], before, stream)
    sides = [
        (conflict.value, conflict.source),
        *((lost.value, lost.source) for lost in conflict.displaced),
    ]
    room = width_of(stream) - len(before)  # nothing in a pipe
    width = (room - len(_GAP) * (len(sides) - 1)) // len(sides)
    if width >= _LEAST:
        yield from _side_by_side(sides, width, before, stream)
        return
    for number, side in enumerate(sides):
        yield fold([Span(before)], _author(side, is_first=not number), before, stream)
        yield fold([Span(before + _GAP)], [Span(_value(side))], before + _GAP, stream)


def _side_by_side(sides: Sequence[Side], width: int, before: str, stream: TextIO) -> Iterator[str]:
    blocks = []
    for number, side in enumerate(sides):
        author = lines_of([], _author(side, is_first=not number), "", width)
        blocks.append([*author, *lines_of([], [Span(_value(side))], "", width)])
    for row in zip_longest(*blocks, fillvalue=[]):
        pieces = [Span(before)]
        for cell in row:
            used = sum(columns(piece.text) for piece in cell)
            pieces += [*cell, Span(" " * (width - used) + _GAP)]
        yield shown_line(pieces, stream) + "\n"


def _author(side: Side, *, is_first: bool) -> list[Span]:
    source = side[1]
    place = f", message {source.message_id}, v{source.version}"
    return [agent_piece(source.agent), Span(place + " (stands)" * is_first, DIM)]


def _value(side: Side) -> str:
    return _TAKEN_AWAY if side[0] is None else value_text(side[0])


# An artifact laid out for reading in a terminal.


class Reading(NamedTuple):
    """An artifact, and what a reader should know of it besides; the open conflicts by item."""

    artifact: Artifact
    report: "LintReport | None"
    state: "State | None"
    conflicts: "Mapping[str, list[Conflict]]"


def reading_of(
    artifact: Artifact, report: "LintReport | None" = None, state: "State | None" = None
) -> Reading:
    """What there is to read."""
    conflicts: dict[str, list[Conflict]] = {}
    for conflict in state.conflicts if state else ():
        conflicts.setdefault(conflict.item_id, []).append(conflict)
    return Reading(artifact, report, state, conflicts)


def document_lines(reading: Reading, out: TextIO) -> Iterator[str]:
    """Title, what is known of the version in one line, open conflicts, the seven sections."""
    session = reading.artifact.metadata.session_id
    yield fold([], [Span(f"{TITLE}: {session}" if session else TITLE, BOLD)], INDENT, out)
    yield about_line(reading, out)
    if reading.conflicts:
        yield fold([], _conflict_pieces(reading), INDENT, out)
    for layout in LAYOUT:
        yield "\n" + fold([], [Span(layout.heading, BOLD)], INDENT, out)
        yield from _section(reading, layout, out)


def item_lines(reading: Reading, layout: Layout, item: Item, out: TextIO) -> Iterator[str]:
    """Its heading, its fields, at full strength who killed it and why, and its open conflicts."""
    style = PLAIN if item.is_active else STRUCK
    title = item.text("statement") if layout.section is RESEARCH_THREAD else item.title
    pieces = [Span(title, style or BOLD)]
    if layout.section is DISCRIMINATIVE_TESTS and item.score:
        most = MOST_SCORE * len(SCORE_PARTS)
        pieces.append(Span(f"  {total(item)}/{most}", DIM))
    if item.killed:
        pieces.append(Span("  killed", BOLD))
    yield heading(item.id, pieces, out)
    fields = [(label, [Span(text, style)]) for label, text in _fields(item, layout)]
    if item.killed:
        fields += [(label, [Span(text)]) for label, text in kill_texts(item.killed)]
    yield from lines(fields, out)
    for conflict in reading.conflicts.get(item.id, ()):
        yield from conflict_lines(conflict, layout.section.id, VALUES, out)


def about_line(reading: Reading, out: TextIO) -> str:
    """The version, what the linter says of it, who contributed, when it was compiled."""
    metadata = reading.artifact.metadata
    parts = [[Span(each, DIM)] for each in _version(metadata) if each]
    if reading.report:
        parts.append([_verdict(reading.report)])
    names = list(_contributors(reading))
    if names:
        parts.append([Span("from ", DIM), *names])
    by = f" by {metadata.compiled_by}" if metadata.compiled_by else ""
    if metadata.compiled_at:
        parts.append([Span(f"compiled {metadata.compiled_at}{by}", DIM)])
    pieces: list[Span] = []
    for number, part in enumerate(parts):
        pieces += [Span(" · ", DIM)] * bool(number) + part
    return fold([], pieces, "", out) if pieces else ""


def _version(metadata: Metadata) -> tuple[str, str]:
    number = metadata.version
    return (f"v{number}" if number is not None else "", metadata.status or "")


def _verdict(report: "LintReport") -> Span:
    return Span(verdict_of(report), POSITIVE if report.valid else ATTENTION)


def _contributors(reading: Reading) -> Iterator[Span]:
    """The agents whose words are in it, where that is known; else what the metadata says."""
    named: Iterable[Span] = map(agent_piece, _agents(reading.state)) if reading.state else ()
    found = list(named) or [Span(each, DIM) for each in reading.artifact.metadata.contributors]
    for number, piece in enumerate(found):
        yield from [Span(", ", DIM)] * bool(number)
        yield piece


def _agents(state: "State") -> dict[str, None]:
    """Everybody who has set something, first come first; who asked the question has not."""
    changes = (change for each in state.blame.values() for change in each.values())
    sources = {each.source for change in changes for each in change.history()}
    found = sorted(source for source in sources if source.operation != KICKOFF)
    return dict.fromkeys(source.agent for source in found)


def _conflict_pieces(reading: Reading) -> list[Span]:
    """How many are open and where, and what settles them."""
    found = [conflict for each in reading.conflicts.values() for conflict in each]
    count = "1 conflict is open" if len(found) == 1 else f"{len(found)} conflicts are open"
    where = ", ".join(f"{each.item_id}.{each.field}" for each in found)
    version = f"v{reading.artifact.metadata.version}"
    settled = "it" if len(found) == 1 else "each"
    how = f". An EDIT of the field with `**Base Version**: {version}` settles {settled}."
    return [Span(count, ATTENTION), Span(f": {where}"), Span(how, DIM)]


def _section(reading: Reading, layout: Layout, out: TextIO) -> Iterator[str]:
    artifact, section = reading.artifact, layout.section
    if section is RESEARCH_THREAD:
        items = [artifact.research_thread] if artifact.research_thread.fields else []
    else:
        items = shown(section, artifact.sections[section.id])
    for number, item in enumerate(items):
        yield "\n" * bool(number) + "".join(item_lines(reading, layout, item, out))
    if not items and section is ANOMALY_REGISTER:
        yield fold([Span(INDENT)], [Span(f"{NONE_REGISTERED}.", DIM)], INDENT, out)
    elif not items:
        hint = f"None yet. `brenner new DELTA --section {section.id}` prints one."
        yield fold([Span(INDENT)], [Span(hint, DIM)], INDENT, out)


def _fields(item: Item, layout: Layout) -> Iterator[tuple[str, str]]:
    """The label and the text of each field, in the order of the layout; outcomes one by one."""
    section = layout.section
    hidden = {"statement"} if section is RESEARCH_THREAD else {"name", "condition"}
    unlabelled = [name for name in section.fields if name not in layout.labels]
    for name in (*unlabelled, *layout.labels):
        value = item.fields.get(name)
        if value is None or name in hidden:
            continue
        if section.fields[name].kind is FieldKind.OUTCOMES:
            for key, outcome in item.mapped(name).items():
                yield label_of(section.id, (name, key)), outcome
        elif section.fields[name].kind is FieldKind.SCORE:
            parts = item.score.items()
            yield "Score", ", ".join(f"{part.replace('_', ' ')} {n}" for part, n in parts)
        else:
            yield label_of(section.id, (name,)), value_text(value)
