"""The Markdown of an artifact, ours or another program's, as an artifact.

Whatever the text, reading it gives an artifact. What departs from the format is read where its
meaning is clear, and the diagnostics tell of it; what is not read is told of, too.
"""

from types import MappingProxyType

from brenner.artifact.front_matter import read_metadata
from brenner.artifact.model import NO_RESEARCH_THREAD, Artifact, order_of
from brenner.artifact.notes import Notes
from brenner.artifact.parse_items import Closed, close_item
from brenner.artifact.parse_walk import Walk
from brenner.artifact.parse_wrapping import find_document, second_artifact, tell_wrapping
from brenner.artifact.parsed import Outline, ParsedArtifact
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.blocks import blocks
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    RESEARCH_THREAD,
    SECTIONS,
)


def parse_artifact(text: str) -> ParsedArtifact:
    """Read the text of an artifact. `parse_artifact(render_artifact(a)).artifact == a`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.removeprefix("\ufeff")
    notes = Notes()
    document = find_document(text)
    tell_wrapping(document, notes)
    lines, first, last, _ = document
    matter = read_front_matter("\n".join(lines[first:last]), first)
    metadata = read_metadata(matter, notes)
    before = first + matter.height
    walk = Walk(lines, before, metadata.session_id, notes)
    found = blocks("\n".join(lines[before:last]))
    end = second_artifact(found, lines, before)
    if end:
        notes.add(codes.SECOND_ARTIFACT, end, start=str(end))
    walk.walk(found, (end - 1 if end else last) - before)
    places = {("metadata", key): line for key, line in matter.lines.items()} | walk.lines
    closed: dict[str, list[Closed]] = {section_id: [] for section_id in SECTIONS}
    for opened in walk.opened:
        item = close_item(opened, notes)
        closed[opened.section.id].append(item)
        for place, line in item.lines.items():
            places.setdefault((opened.id, *place), line)
    if not closed[ANOMALY_REGISTER.id]:
        for note in walk.text.says_none:
            notes.drop(note)
    tests = tuple(test.item.id for test in closed[DISCRIMINATIVE_TESTS.id])
    threads = closed.pop(RESEARCH_THREAD.id)
    for items in closed.values():
        items.sort(key=lambda each: order_of(each.item.id))
    sections = {key: tuple(each.item for each in items) for key, items in closed.items()}
    item_lines = {key: tuple(each.lines for each in items) for key, items in closed.items()}
    artifact = Artifact(
        metadata, threads[0].item if threads else NO_RESEARCH_THREAD, MappingProxyType(sections)
    )
    outline = Outline(
        matter.values,
        matter.reason,
        tuple(walk.headings),
        walk.text.columns,
        tests,
        walk.text.says_none_registered,
    )
    return ParsedArtifact(
        artifact,
        notes.diagnostics(),
        MappingProxyType(places),
        outline,
        MappingProxyType(item_lines),
    )
