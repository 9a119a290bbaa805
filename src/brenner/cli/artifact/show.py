"""`brenner artifact show`: an artifact for people, for other programs, and as JSON."""

import sys
from collections.abc import Iterator
from typing import TextIO

import click

from brenner.artifact.layout import LAYOUT, NONE_REGISTERED, TITLE, Layout
from brenner.artifact.model import Artifact, Item, Metadata
from brenner.artifact.ranking import shown, total
from brenner.cli.artifact.files import (
    FINE,
    read_artifact,
    reading_json,
    shown_name,
    write_unreadable,
)
from brenner.cli.artifact.values import (
    BOLD,
    DIM,
    INDENT,
    STRUCK,
    heading,
    kill_texts,
    label_of,
    lines,
    value_text,
)
from brenner.cli.folding import PLAIN, Piece, fold
from brenner.cli.options import Settings, common_options
from brenner.cli.output import write_diagnostics, write_json
from brenner.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    FieldKind,
)
from brenner.diagnostics.model import Diagnostic


@click.command("show")
@click.argument("file", metavar="FILE|-")
@common_options
def show(settings: Settings, file: str) -> int:
    """Print the artifact in a FILE.

    In a terminal it is laid out for reading; into a pipe goes its Markdown as we write it. What
    departs from the format is told on the standard error, and in JSON as `violations`. Exit code
    2: it cannot be read.
    """
    parsed = read_artifact(file)
    if isinstance(parsed, Diagnostic):
        return write_unreadable(parsed, file, as_json=settings.as_json)
    if settings.as_json:
        from brenner.artifact.json_form import artifact_json

        write_json(artifact_json(parsed.artifact) | reading_json([(file, parsed)]))
        return FINE
    write_diagnostics(parsed.diagnostics, shown_name(file), sys.stderr)
    if sys.stdout.isatty():
        sys.stdout.writelines(_document(parsed.artifact, sys.stdout))
    else:
        from brenner.artifact.render import render_artifact

        sys.stdout.write(render_artifact(parsed.artifact))
    return FINE


def _document(artifact: Artifact, out: TextIO) -> Iterator[str]:
    """Title, what is known of the version, the seven sections."""
    session = artifact.metadata.session_id
    yield fold([], [Piece(f"{TITLE}: {session}" if session else TITLE, BOLD)], INDENT, out)
    about = _about(artifact.metadata)
    if about:
        yield fold([], [Piece(about, DIM)], "", out)
    for layout in LAYOUT:
        yield "\n" + fold([], [Piece(layout.heading, BOLD)], INDENT, out)
        yield from _section(artifact, layout, out)


def _about(metadata: Metadata) -> str:
    version = f"v{metadata.version}" if metadata.version is not None else ""
    by = f" by {metadata.compiled_by}" if metadata.compiled_by else ""
    compiled = f"compiled {metadata.compiled_at}{by}" if metadata.compiled_at else ""
    names = ", ".join(metadata.contributors)
    parts = (version, metadata.status or "", compiled, f"from {names}" if names else "")
    return " · ".join(part for part in parts if part)


def _section(artifact: Artifact, layout: Layout, out: TextIO) -> Iterator[str]:
    section = layout.section
    if section is RESEARCH_THREAD:
        items = [artifact.research_thread] if artifact.research_thread.fields else []
    else:
        items = shown(section, artifact.sections[section.id])
    for number, item in enumerate(items):
        yield "\n" * bool(number) + "".join(_item(item, layout, out))
    if not items and section is ANOMALY_REGISTER:
        yield fold([Piece(INDENT)], [Piece(f"{NONE_REGISTERED}.", DIM)], INDENT, out)
    elif not items:
        hint = f"None yet. `brenner new DELTA --section {section.id}` prints one."
        yield fold([Piece(INDENT)], [Piece(hint, DIM)], INDENT, out)


def _item(item: Item, layout: Layout, out: TextIO) -> Iterator[str]:
    """Its heading, its fields, and at full strength who killed it and why."""
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
