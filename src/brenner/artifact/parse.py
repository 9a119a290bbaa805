"""Parse the Markdown of an artifact, ours or another program's.

Parsing always returns an artifact. Text that departs from the format is read if its meaning is
clear. Diagnostics report such text, and all text that was not read. This file finds the document in
the text and assigns blocks to sections and items; `parse_text` and `parse_fields` do the rest.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.format import (
    ItemHeading,
    Outline,
    ParsedArtifact,
    ParseNote,
    ParseNotes,
    read_item_heading,
    read_metadata,
    read_section_heading,
    title_heading,
)
from brenner.artifact.model import (
    LAYOUT,
    LAYOUT_BY_SECTION,
    NO_RESEARCH_THREAD,
    TITLE,
    Artifact,
    Item,
    SectionLayout,
    item_sort_key,
)
from brenner.artifact.parse_fields import (
    ITEM_LEVEL,
    OpenField,
    OpenItem,
    close_item,
)
from brenner.artifact.parse_text import TextPart, TextReader, make_part
from brenner.diagnostics.codes import artifacts as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind, is_closing_fence, parse_blocks
from brenner.markdown.escape import unescape
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    PREDICTIONS_TABLE,
    RECORD_FORMAT,
    RESEARCH_THREAD,
    SECTIONS,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID
from brenner.text import closest, did_you_mean, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from brenner.artifact.format import Location


# Assigning blocks to sections and items

_SECTION_LEVEL = 2
_SECTION_OF = {layout.section.prefix: layout.section for layout in LAYOUT}
# In these sections a heading without an ID is not an item.
_SECTIONS_WITHOUT_HEADINGS = (RESEARCH_THREAD, PREDICTIONS_TABLE)
# Some programs write the heading of a killed item so. In Markdown it is not a heading.
_STRUCK_HEADING = lazy_pattern(r"~~(#{2,4})[ \t]++([^\n]*)~~[ \t]*(?:\[KILLED\])?", re.IGNORECASE)

_THEMATIC_BREAK = lazy_pattern(r"([*_-])[ \t]*(?:\1[ \t]*){2,}")
_LIST_MARKER = lazy_pattern(r"[*+-]|[0-9]{1,9}[.)]")
_COMMENT = lazy_pattern(r"<!--(?:.*?-->|(.*))", re.DOTALL)
_BOLD_PARAGRAPH = lazy_pattern(r"(\*\*|__)([^*\n]+)\1")


def _is_known_heading(text: str) -> bool:
    """Return whether an underlined text is the title or a section. Otherwise it is a paragraph."""
    return text.startswith(TITLE) or read_section_heading(unescape(text)) is not None


def _without_comments(part: TextPart) -> TextPart:
    """Remove HTML comments. An unterminated comment stays and is reported."""
    text = _COMMENT.sub(lambda comment: comment[1] or "", part.text).strip()
    return part._replace(text=text, written=text)


class ArtifactParser:
    """The parser's state: items in the order of the text, and the section headings."""

    def __init__(
        self,
        source: list[str],
        lines_before: int,
        session_id: str | None,
        notes: ParseNotes,
        record_format: int,
    ) -> None:
        self.opened: list[OpenItem] = []
        self.headings: list[tuple[str, int]] = []
        self.lines: dict[Location, int] = {}
        self.text = TextReader(self.opened, notes, record_format)
        self._source = source
        self._before = lines_before
        self._session_id = session_id
        self._notes = notes
        self._section: Section | None = None
        self._unknown: ParseNote | None = None  # the unknown section heading above, if any
        self._has_title = False
        self._ids: set[str] = set()
        self._last = 0

    def parse(self, blocks: Iterable[Block], count: int) -> None:
        """Process the blocks that begin in the first `count` lines."""
        for block in blocks:
            if block.line > count:
                break
            self._take_gap(block.line)
            self._take_block(block)
            self._last = block.end
        self._take_gap(count + 1)

    def _take_gap(self, line: int) -> None:
        """Process the lines since the last block: blank, a thematic break, or a link definition."""
        for number in range(self._last + 1, line):
            text = self._source[self._before + number - 1].strip(" \t>")
            if text and _THEMATIC_BREAK.fullmatch(text):
                self.text.end_field()
            elif text and not _LIST_MARKER.fullmatch(text):
                self.text.report_unread(text, self._before + number)

    def _take_block(self, block: Block) -> None:
        is_underlined = block.end > block.line
        is_heading = block.kind is BlockKind.HEADING and not block.nested
        if is_heading and (not is_underlined or _is_known_heading(block.text)):
            self._heading(block.text, block.level, block.line + self._before)
            return
        part = make_part(block, self._before, self._source, self._last)
        if block.kind is BlockKind.HTML and "<!--" in part.text:
            part = _without_comments(part)
            if part.text:
                self.text.end_field()
        if part.text.startswith("~~#") and (struck := _STRUCK_HEADING.match(part.text)):
            part = self._struck_heading(part, struck)
        if part.text and not (part.is_prose and self._bold_heading(part)):
            self.text.take(part)
        if is_heading:
            self.text.end_field()

    def _bold_heading(self, part: TextPart) -> bool:
        """Handle `**H8: Eight**` used as a heading: open an item, or end the field above."""
        match = None if part.is_entry or not self._section else _BOLD_PARAGRAPH.fullmatch(part.text)
        if match is None or self._section is None or self.text.other_label(part.text):
            return False
        found = read_item_heading(match[2])._replace(is_canonical=False, text=part.text)
        is_item = ITEM_ID.fullmatch(found.id)
        if not is_item or is_item[1] != self._section.prefix:
            self.text.end_field()
            self.text.report_unread(part.text, part.line)
        elif found.id in self._ids:
            self.text.leave_item(part.text, part.line)
        else:
            self._open_item(found, part.line)
        return True

    def _struck_heading(self, part: TextPart, match: re.Match[str]) -> TextPart:
        found = read_item_heading(f"~~{match[2]}~~", len(match[1]))
        self._open_item(found._replace(is_kill_canonical=False, text=match[2]), part.line)
        rest = part.text[match.end() :].lstrip(" \t\n")
        return part._replace(text=rest, written=rest, line=part.line + 1)

    # Headings

    def _heading(self, text: str, level: int, line: int) -> None:
        layout = read_section_heading(unescape(text)) if level <= _SECTION_LEVEL else None
        found = read_item_heading(text, level)
        if layout:
            self._open_section(layout, text, level, line)
        elif level > _SECTION_LEVEL or ITEM_ID.fullmatch(found.id):
            self._open_item(found, line)
        elif level == 1 and not self._has_title and not self.headings:
            self._has_title = True
            self._enter(None)
            self._title(text, line)
        else:
            near = closest(text, [known.heading for known in LAYOUT])
            words = {"heading": f"{'#' * level} {text}", "suggestion": did_you_mean(near)}
            self._enter(None, unknown=self._notes.add(codes.UNKNOWN_SECTION, line, **words))

    def _title(self, text: str, line: int) -> None:
        is_ours = text.startswith(TITLE)
        named = unescape(text.removeprefix(TITLE).removeprefix(":").strip(" \t"))
        if not is_ours or (self._session_id is not None and named != self._session_id):
            words = {"written": f"# {text}", "meant": title_heading(self._session_id)}
            self._notes.add_form(codes.HEADING_FORM, "title", line, **words)

    def _enter(
        self,
        section: Section | None,
        item: OpenItem | None = None,
        unknown: ParseNote | None = None,
    ) -> None:
        self._section = section
        self._unknown = unknown
        self.text.enter(section, item, unknown)

    def _open_section(self, layout: SectionLayout, text: str, level: int, line: int) -> None:
        section = layout.section
        written, meant = f"{'#' * level} {text}", f"## {layout.heading}"
        if written != meant:
            words = {"written": written, "meant": meant}
            self._notes.add_form(codes.HEADING_FORM, "section", line, **words)
        self.headings.append((section.id, line))
        self.lines.setdefault((section.id,), line)
        self._enter(section, self._research_thread(line) if section is RESEARCH_THREAD else None)

    def _research_thread(self, line: int) -> OpenItem:
        """Return the only item of its section, which has no heading of its own."""
        for opened in self.opened:
            if opened.section is RESEARCH_THREAD:
                return opened
        self.opened.append(OpenItem(RESEARCH_THREAD.prefix, RESEARCH_THREAD, line))
        return self.opened[-1]

    def _open_item(self, found: ItemHeading, line: int) -> None:
        match = ITEM_ID.fullmatch(found.id)
        section = _SECTION_OF[match[1] or RESEARCH_THREAD.prefix] if match else self._section
        # `#### Notes: more` is not an item; `#### H-01: Name` is one with a malformed ID.
        is_deep = found.level > ITEM_LEVEL and not re.search(r"[0-9]", found.id)
        if not match and (is_deep or section in _SECTIONS_WITHOUT_HEADINGS or section is None):
            written = f"{'#' * found.level} {found.text}"
            if not self.text.take_heading(found.text, line):
                is_deep = found.level > ITEM_LEVEL
                self.text.leave_item(written, line, self._unknown, is_deep=is_deep)
            return
        if section is None:
            return
        if section is not self._section:
            words = {
                "where": self._heading_above(),
                "heading": f"## {LAYOUT_BY_SECTION[section.id].heading}",
            }
            self._notes.add(codes.MISPLACED_ITEM, line, found.id, id=found.id, **words)
        if section is RESEARCH_THREAD:
            opened = self._research_thread(line)
        else:
            opened = OpenItem(found.id, section, line)
            self.opened.append(opened)
            opened.heading = found
            self._ids.add(found.id)
            if found.is_killed:
                opened.mark_killed(found.kill_words, is_canonical=found.is_kill_canonical)
        if found.name and section is not RESEARCH_THREAD:
            name = "condition" if section is PREDICTIONS_TABLE else "name"
            opened.fields[name] = OpenField(name, name, FieldKind.TEXT, line, found.name)
        self.text.enter(self._section, opened)

    def _heading_above(self) -> str:
        if self._section:
            return f"under `## {LAYOUT_BY_SECTION[self._section.id].heading}`"
        return "outside the seven sections"


# Finding the document in the text; line numbers stay those of the text.

_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})[ \t]*(?:markdown|md|text|yaml)?[ \t]*", re.IGNORECASE)
_QUOTED = lazy_pattern(r" {0,3}>[ ]?")
_KEY = lazy_pattern(r"[\"']?[A-Za-z_][\w -]{0,60}[\"']?[ \t]*:(?:[ \t]|\Z)")
_HEADING = lazy_pattern(r" {0,3}#{1,2}[ \t]+(.*?)[ \t#]*")
_DOCUMENT_SECTION_LEVEL = 2
_MAX_LAYERS = 3
_MAX_FRONT_MATTER_LINES = 500


# The lines of a text, the first and last of the artifact (exclusive), and the wrappings around it
Document = tuple[list[str], int, int, tuple[str, ...]]
# Each wrapping, and what the author should remove
_WRAPPINGS = {
    "in a code fence": "the fence",
    "after other lines": "the lines before it",
    "in a quotation": "the `>`",
}


def find_document(text: str) -> Document:
    """Find the artifact in a text. Language models put prose before it and fences around it."""
    lines = text.split("\n")
    document: Document = lines, 0, len(lines), ()
    for _ in range(_MAX_LAYERS):
        is_found = document[0][document[1]].rstrip() == "---"
        inner = None if is_found else _unwrap(document)
        if inner is None:
            break
        document = inner
    return document


def _unwrap(document: Document) -> Document | None:
    """Remove the outermost wrapping. Return None if there is none."""
    return _unwrap_fence(document) or _unwrap_quotation(document) or _skip_leading_lines(document)


def report_wrapping(document: Document, notes: ParseNotes) -> None:
    """Add one warning if anything surrounds the artifact."""
    lines, first, last, layers = document
    if not layers:
        return
    outside = [*lines[:first], *lines[last:]]
    count = sum(1 for line in outside if line.strip() and not _FENCE.fullmatch(line))
    words = {
        "where": " and ".join(layers),
        "what": " and ".join(_WRAPPINGS[layer] for layer in layers),
        "first": str(first + 1),
        "outside": f" Not read: {plural(count, 'line')} of other text around it." if count else "",
    }
    notes.add(codes.WRAPPED_ARTIFACT, 1, **words)


def _begins_front_matter(lines: Sequence[str], index: int) -> bool:
    following = lines[index + 1] if index + 1 < len(lines) else ""
    is_fence = lines[index].rstrip() == "---"
    return is_fence and (_KEY.match(following) is not None or following.rstrip() == "---")


def _begins_artifact(lines: Sequence[str], index: int) -> bool:
    match = _HEADING.fullmatch(lines[index])
    if match:
        return match[1].startswith(TITLE) or read_section_heading(match[1]) is not None
    return _begins_front_matter(lines, index)


def _is_heading(line: str) -> bool:
    return _HEADING.fullmatch(line) is not None


def _next_nonblank(lines: Sequence[str], index: int, last: int) -> int | None:
    return next((at for at in range(index, last) if lines[at].strip()), None)


def _unwrap_fence(document: Document) -> Document | None:
    lines, first, last, layers = document
    for index in range(first, last):
        if _is_heading(lines[index]):
            return None
        opening = _FENCE.fullmatch(lines[index])
        inside = _next_nonblank(lines, index + 1, last) if opening else None
        if opening is None or inside is None or not _begins_artifact(lines, inside):
            continue
        ends = [
            at
            for at in range(inside, last)
            if opening[1][0] in lines[at] and is_closing_fence(lines[at].strip(), opening[1])
        ]
        end = ends[0] if ends else last
        # If sections follow, the fence belongs to a code block inside the artifact.
        if any(_is_heading(line) and _begins_artifact([line], 0) for line in lines[end + 1 : last]):
            end = ends[-1]
        return lines, inside, end, (*layers, "in a code fence")
    return None


def _unwrap_quotation(document: Document) -> Document | None:
    lines, first, last, layers = document
    start = next((at for at in range(first, last) if _QUOTED.match(lines[at])), last)
    if any(map(_is_heading, lines[first:start])):
        return None
    end = next(
        (at for at in range(start, last) if lines[at].strip() and not _QUOTED.match(lines[at])),
        last,
    )
    inner = [_QUOTED.sub("", line, count=1) for line in lines[start:end]]
    inside = _next_nonblank(inner, 0, len(inner))
    if inside is None or not _begins_artifact(inner, inside):
        return None
    all_lines = [*lines[:start], *inner, *lines[end:]]
    return all_lines, start + inside, end, (*layers, "in a quotation")


def _skip_leading_lines(document: Document) -> Document | None:
    lines, first, last, layers = document
    for index in range(first, last):
        if _is_heading(lines[index]):
            return None
        if _begins_front_matter(lines, index):
            return lines, index, last, (*layers, "after other lines")
    return None


# A second artifact in the same text


def find_second_artifact(blocks: Sequence[Block], lines: Sequence[str], before: int) -> int | None:
    """Return the line where another artifact begins: its front matter, title or first section.

    `before` is the number of lines before those that the blocks count.
    """
    sections: set[str] = set()
    for block in blocks:
        if block.kind is not BlockKind.HEADING or block.nested:
            continue
        layout = (
            read_section_heading(block.text) if block.level <= _DOCUMENT_SECTION_LEVEL else None
        )
        is_title = block.level == 1 and block.text.startswith(TITLE)
        is_first_again = layout is LAYOUT[0] and LAYOUT[-1].section.id in sections
        if sections and (is_title or is_first_again):
            return _artifact_start(lines, block.line + before)
        if layout:
            sections.add(layout.section.id)
    return None


def _artifact_start(lines: Sequence[str], line: int) -> int:
    """Return the line of the front matter directly above this line, or else this line."""
    above = line - 1
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    if above and lines[above - 1].rstrip() == "---":
        for opening in range(above - 1, max(0, above - _MAX_FRONT_MATTER_LINES), -1):
            if lines[opening - 1].rstrip() == "---":
                return opening if _begins_front_matter(lines, opening - 1) else line
    return line


# The whole text


def parse_artifact(text: str, record_format: int = RECORD_FORMAT) -> ParsedArtifact:
    """Parse the text of an artifact. `parse_artifact(render_artifact(a)).artifact == a`.

    Labels of fields that the record format does not know are unknown labels (R26).
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.removeprefix("\ufeff")
    notes = ParseNotes()
    document = find_document(text)
    report_wrapping(document, notes)
    lines, first, last, _ = document
    matter = read_front_matter("\n".join(lines[first:last]), first)
    metadata = read_metadata(matter, notes)
    before = first + matter.height
    parser = ArtifactParser(lines, before, metadata.session_id, notes, record_format)
    found = parse_blocks("\n".join(lines[before:last]))
    end = find_second_artifact(found, lines, before)
    if end:
        notes.add(codes.SECOND_ARTIFACT, end, start=str(end))
    parser.parse(found, (end - 1 if end else last) - before)
    places = {("metadata", key): line for key, line in matter.lines.items()} | parser.lines
    closed: dict[str, list[tuple[Item, Mapping[Location, int]]]] = {each: [] for each in SECTIONS}
    for opened in parser.opened:
        item, item_places = close_item(opened, notes)
        closed[opened.section.id].append((item, item_places))
        for place, line in item_places.items():
            places.setdefault((opened.id, *place), line)
    if not closed[ANOMALY_REGISTER.id]:
        for note in parser.text.empty_register_notes:
            notes.remove(note)
    tests = tuple(test.id for test, _ in closed[DISCRIMINATIVE_TESTS.id])
    threads = closed.pop(RESEARCH_THREAD.id)
    for items in closed.values():
        items.sort(key=lambda each: item_sort_key(each[0].id))
    sections = {key: tuple(item for item, _ in items) for key, items in closed.items()}
    item_lines = {key: tuple(lines for _, lines in items) for key, items in closed.items()}
    artifact = Artifact(
        metadata, threads[0][0] if threads else NO_RESEARCH_THREAD, MappingProxyType(sections)
    )
    outline = Outline(
        matter.values,
        matter.reason,
        tuple(parser.headings),
        parser.text.columns,
        tests,
        parser.text.says_none_registered,
    )
    return ParsedArtifact(
        artifact,
        notes.diagnostics(),
        MappingProxyType(places),
        outline,
        MappingProxyType(item_lines),
    )
