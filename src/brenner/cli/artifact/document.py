"""An artifact laid out for reading in a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TextIO

from brenner.artifact.diff import kill_texts, label_of, value_text
from brenner.artifact.model import (
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
from brenner.artifact.state import KICKOFF
from brenner.cli.artifact.conflicts import conflict_lines
from brenner.cli.artifact.linting import verdict_of
from brenner.cli.artifact.values import BOLD, DIM, INDENT, POSITIVE, STRUCK, VALUES, heading, lines
from brenner.cli.folding import PLAIN, Piece, fold
from brenner.cli.marks import ATTENTION, agent_piece
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    FieldKind,
)

if TYPE_CHECKING:
    from brenner.artifact.state import Conflict, State
    from brenner.lint.linter import LintReport


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
    yield fold([], [Piece(f"{TITLE}: {session}" if session else TITLE, BOLD)], INDENT, out)
    yield about_line(reading, out)
    if reading.conflicts:
        yield fold([], _conflict_pieces(reading), INDENT, out)
    for layout in LAYOUT:
        yield "\n" + fold([], [Piece(layout.heading, BOLD)], INDENT, out)
        yield from _section(reading, layout, out)


def item_lines(reading: Reading, layout: Layout, item: Item, out: TextIO) -> Iterator[str]:
    """Its heading, its fields, at full strength who killed it and why, and its open conflicts."""
    style = PLAIN if item.is_active else STRUCK
    title = item.text("statement") if layout.section is RESEARCH_THREAD else item.title
    pieces = [Piece(title, style or BOLD)]
    if layout.section is DISCRIMINATIVE_TESTS and item.score:
        most = MOST_SCORE * len(SCORE_PARTS)
        pieces.append(Piece(f"  {total(item)}/{most}", DIM))
    if item.killed:
        pieces.append(Piece("  killed", BOLD))
    yield heading(item.id, pieces, out)
    fields = [(label, [Piece(text, style)]) for label, text in _fields(item, layout)]
    if item.killed:
        fields += [(label, [Piece(text)]) for label, text in kill_texts(item.killed)]
    yield from lines(fields, out)
    for conflict in reading.conflicts.get(item.id, ()):
        yield from conflict_lines(conflict, layout.section.id, VALUES, out)


def about_line(reading: Reading, out: TextIO) -> str:
    """The version, what the linter says of it, who contributed, when it was compiled."""
    metadata = reading.artifact.metadata
    parts = [[Piece(each, DIM)] for each in _version(metadata) if each]
    if reading.report:
        parts.append([_verdict(reading.report)])
    names = list(_contributors(reading))
    if names:
        parts.append([Piece("from ", DIM), *names])
    by = f" by {metadata.compiled_by}" if metadata.compiled_by else ""
    if metadata.compiled_at:
        parts.append([Piece(f"compiled {metadata.compiled_at}{by}", DIM)])
    pieces: list[Piece] = []
    for number, part in enumerate(parts):
        pieces += [Piece(" · ", DIM)] * bool(number) + part
    return fold([], pieces, "", out) if pieces else ""


def _version(metadata: Metadata) -> tuple[str, str]:
    number = metadata.version
    return (f"v{number}" if number is not None else "", metadata.status or "")


def _verdict(report: "LintReport") -> Piece:
    return Piece(verdict_of(report), POSITIVE if report.valid else ATTENTION)


def _contributors(reading: Reading) -> Iterator[Piece]:
    """The agents whose words are in it, where that is known; else what the metadata says."""
    named: Iterable[Piece] = map(agent_piece, _agents(reading.state)) if reading.state else ()
    found = list(named) or [Piece(each, DIM) for each in reading.artifact.metadata.contributors]
    for number, piece in enumerate(found):
        yield from [Piece(", ", DIM)] * bool(number)
        yield piece


def _agents(state: "State") -> dict[str, None]:
    """Everybody who has set something, first come first; who asked the question has not."""
    changes = (change for each in state.blame.values() for change in each.values())
    sources = {each.source for change in changes for each in change.history()}
    found = sorted(source for source in sources if source.operation != KICKOFF)
    return dict.fromkeys(source.agent for source in found)


def _conflict_pieces(reading: Reading) -> list[Piece]:
    """How many are open and where, and what settles them."""
    found = [conflict for each in reading.conflicts.values() for conflict in each]
    count = "1 conflict is open" if len(found) == 1 else f"{len(found)} conflicts are open"
    where = ", ".join(f"{each.item_id}.{each.field}" for each in found)
    version = f"v{reading.artifact.metadata.version}"
    settled = "it" if len(found) == 1 else "each"
    how = f". An EDIT of the field with `**Base Version**: {version}` settles {settled}."
    return [Piece(count, ATTENTION), Piece(f": {where}"), Piece(how, DIM)]


def _section(reading: Reading, layout: Layout, out: TextIO) -> Iterator[str]:
    artifact, section = reading.artifact, layout.section
    if section is RESEARCH_THREAD:
        items = [artifact.research_thread] if artifact.research_thread.fields else []
    else:
        items = shown(section, artifact.sections[section.id])
    for number, item in enumerate(items):
        yield "\n" * bool(number) + "".join(item_lines(reading, layout, item, out))
    if not items and section is ANOMALY_REGISTER:
        yield fold([Piece(INDENT)], [Piece(f"{NONE_REGISTERED}.", DIM)], INDENT, out)
    elif not items:
        hint = f"None yet. `brenner new DELTA --section {section.id}` prints one."
        yield fold([Piece(INDENT)], [Piece(hint, DIM)], INDENT, out)


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
