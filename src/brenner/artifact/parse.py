"""The Markdown of an artifact, ours or another program's, as an artifact.

Whatever the text, reading it gives an artifact. What departs from the format is read where its
meaning is clear, and the diagnostics tell of it; what is not read is told of, too.
"""

from types import MappingProxyType

from brenner.artifact.front_matter import read_metadata
from brenner.artifact.model import NO_RESEARCH_THREAD, Artifact, Item, order_of
from brenner.artifact.notes import Notes
from brenner.artifact.parse_items import close_item
from brenner.artifact.parse_walk import Walk
from brenner.artifact.parsed import Outline, ParsedArtifact
from brenner.delta.schema import DISCRIMINATIVE_TESTS, RESEARCH_THREAD, SECTIONS
from brenner.markdown.blocks import blocks
from brenner.markdown.front_matter import read_front_matter


def parse_artifact(text: str) -> ParsedArtifact:
    """Read the text of an artifact. `parse_artifact(render_artifact(a)).artifact == a`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.removeprefix("\ufeff")
    notes = Notes()
    matter = read_front_matter(text)
    metadata = read_metadata(matter, notes)
    lines = text.split("\n")
    body = "\n".join(lines[matter.height :]) if matter.height else text
    walk = Walk(lines, matter.height, metadata.session_id, notes)
    for block in blocks(body):
        walk.take(block)
    items: dict[str, list[Item]] = {section_id: [] for section_id in SECTIONS}
    for opened in walk.opened:
        items[opened.section.id].append(close_item(opened, notes, walk.lines))
    tests = tuple(item.id for item in items[DISCRIMINATIVE_TESTS.id])
    sections = {section_id: _ordered(found) for section_id, found in items.items()}
    threads = sections.pop(RESEARCH_THREAD.id)
    artifact = Artifact(
        metadata, threads[0] if threads else NO_RESEARCH_THREAD, MappingProxyType(sections)
    )
    outline = Outline(
        matter.values,
        matter.reason,
        tuple(walk.headings),
        walk.text.columns,
        tests,
        walk.text.says_none_registered,
    )
    places = {("metadata", key): line for key, line in matter.lines.items()} | walk.lines
    return ParsedArtifact(artifact, notes.diagnostics(), MappingProxyType(places), outline)


def _ordered(items: list[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: order_of(item.id)))
