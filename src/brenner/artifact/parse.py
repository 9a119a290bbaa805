"""The Markdown of an artifact, ours or another program's, as an artifact.

Whatever the text, reading it gives an artifact. What departs from the format is read where its
meaning is clear, and the diagnostics tell of it; what is not read is told of, too.
"""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.format import (
    Note,
    Notes,
    Outline,
    ParsedArtifact,
    read_item_heading,
    read_metadata,
    read_section_heading,
    title_heading,
)
from brenner.artifact.model import (
    LAYOUT,
    LAYOUT_OF,
    NO_RESEARCH_THREAD,
    TITLE,
    Artifact,
    Layout,
    order_of,
)
from brenner.artifact.parse_fields import (
    ITEM_LEVEL,
    Closed,
    OpenField,
    OpenItem,
    Written,
    close_item,
)
from brenner.artifact.parse_text import OpenText, Part, part_of
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.blocks import Block, Kind, blocks, closes
from brenner.markdown.escape import unescape
from brenner.markdown.front_matter import read_front_matter
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    DISCRIMINATIVE_TESTS,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SECTIONS,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID
from brenner.text import closest, counted, did_you_mean

if TYPE_CHECKING:
    from brenner.artifact.format import Place


# The walk through the blocks of an artifact's text: which section and item each belongs to.


_SECTION_LEVEL = 2
_SECTION_OF = {layout.section.prefix: layout.section for layout in LAYOUT}
# Here a heading without an ID is no item.
_WITHOUT_HEADINGS = (RESEARCH_THREAD, PREDICTIONS_TABLE)
# What some programs make of a killed item; it is no heading to a viewer.
_STRUCK_HEADING = re.compile(r"~~(#{2,4})[ \t]++([^\n]*)~~[ \t]*(?:\[KILLED\])?", re.IGNORECASE)

_BREAK = re.compile(r"([*_-])[ \t]*(?:\1[ \t]*){2,}")
_MARKER = re.compile(r"[*+-]|[0-9]{1,9}[.)]")
_COMMENT = re.compile(r"<!--(?:.*?-->|(.*))", re.DOTALL)
_BOLD = re.compile(r"(\*\*|__)([^*\n]+)\1")


def _is_known_heading(text: str) -> bool:
    """Whether an underlined text is the title or a section; else it is a paragraph."""
    return text.startswith(TITLE) or read_section_heading(unescape(text)) is not None


def _without_comments(part: Part) -> Part:
    """HTML without its comments, which are no text; one that does not end is told of."""
    text = _COMMENT.sub(lambda comment: comment[1] or "", part.text).strip()
    return part._replace(text=text, written=text)


class Walk:
    """What has been read so far: items in the order of the text, and the headings of sections."""

    def __init__(
        self, source: list[str], lines_before: int, session_id: str | None, notes: Notes
    ) -> None:
        self.opened: list[OpenItem] = []
        self.headings: list[tuple[str, int]] = []
        self.lines: dict[Place, int] = {}
        self.text = OpenText(self.opened, notes)
        self._source = source
        self._before = lines_before
        self._session_id = session_id
        self._notes = notes
        self._section: Section | None = None
        self._unknown: Note | None = None  # the heading of no section, under which this is
        self._has_title = False
        self._ids: set[str] = set()
        self._last = 0

    def walk(self, blocks: Iterable[Block], count: int) -> None:
        """Go through the blocks that begin in the first `count` lines."""
        for block in blocks:
            if block.line > count:
                break
            self._between(block.line)
            self._take(block)
            self._last = block.end
        self._between(count + 1)

    def _between(self, line: int) -> None:
        """The lines since the last block: blank, a line across the page, or a link's address."""
        for number in range(self._last + 1, line):
            text = self._source[self._before + number - 1].strip(" \t>")
            if text and _BREAK.fullmatch(text):
                self.text.stop()
            elif text and not _MARKER.fullmatch(text):
                self.text.not_read(text, self._before + number)

    def _take(self, block: Block) -> None:
        is_underlined = block.end > block.line
        is_heading = block.kind is Kind.HEADING and not block.nested
        if is_heading and (not is_underlined or _is_known_heading(block.text)):
            self._heading(block.text, block.level, block.line + self._before)
            return
        part = part_of(block, self._before, self._source, self._last)
        if block.kind is Kind.HTML and "<!--" in part.text:
            part = _without_comments(part)
            if part.text:
                self.text.stop()
        if part.text.startswith("~~#") and (struck := _STRUCK_HEADING.match(part.text)):
            part = self._struck_heading(part, struck)
        if part.text and not (part.is_prose and self._bold_heading(part)):
            self.text.take(part)
        if is_heading:
            self.text.stop()

    def _bold_heading(self, part: Part) -> bool:
        """`**H8: Eight**`, where a heading is meant: an item, or no text of the field above."""
        match = None if part.is_entry or not self._section else _BOLD.fullmatch(part.text)
        if match is None or self._section is None or self.text.other_label(part.text):
            return False
        found = Written(part.text, 0, read_item_heading(match[2])._replace(is_form=False))
        is_item = ITEM_ID.fullmatch(found.parts.id)
        if not is_item or is_item[1] != self._section.prefix:
            self.text.stop()
            self.text.not_read(part.text, part.line)
        elif found.parts.id in self._ids:
            self.text.leave_item(part.text, part.line)
        else:
            self._open_item(found, part.line)
        return True

    def _struck_heading(self, part: Part, match: re.Match[str]) -> Part:
        """Open the item; what is left of the paragraph."""
        parts = read_item_heading(f"~~{match[2]}~~")._replace(is_kill_form=False)
        self._open_item(Written(match[2], len(match[1]), parts), part.line)
        rest = part.text[match.end() :].lstrip(" \t\n")
        return part._replace(text=rest, written=rest, line=part.line + 1)

    # Headings

    def _heading(self, text: str, level: int, line: int) -> None:
        layout = read_section_heading(unescape(text)) if level <= _SECTION_LEVEL else None
        found = Written(text, level, read_item_heading(text))
        if layout:
            self._open_section(layout, text, level, line)
        elif level > _SECTION_LEVEL or ITEM_ID.fullmatch(found.parts.id):
            self._open_item(found, line)
        elif level == 1 and not self._has_title and not self.headings:
            self._has_title = True
            self._move(None)
            self._title(text, line)
        else:
            near = closest(text, [known.heading for known in LAYOUT])
            words = {"heading": f"{'#' * level} {text}", "suggestion": did_you_mean(near)}
            self._move(None, unknown=self._notes.add(codes.UNKNOWN_SECTION, line, **words))

    def _title(self, text: str, line: int) -> None:
        is_ours = text.startswith(TITLE)
        named = unescape(text.removeprefix(TITLE).removeprefix(":").strip(" \t"))
        if not is_ours or (self._session_id is not None and named != self._session_id):
            words = {"written": f"# {text}", "meant": title_heading(self._session_id)}
            self._notes.form(codes.HEADING_FORM, "title", line, **words)

    def _move(
        self, section: Section | None, item: OpenItem | None = None, unknown: Note | None = None
    ) -> None:
        self._section = section
        self._unknown = unknown
        self.text.move(section, item, unknown)

    def _open_section(self, layout: Layout, text: str, level: int, line: int) -> None:
        section = layout.section
        written, meant = f"{'#' * level} {text}", f"## {layout.heading}"
        if written != meant:
            words = {"written": written, "meant": meant}
            self._notes.form(codes.HEADING_FORM, "section", line, **words)
        self.headings.append((section.id, line))
        self.lines.setdefault((section.id,), line)
        self._move(section, self._research_thread(line) if section is RESEARCH_THREAD else None)

    def _research_thread(self, line: int) -> OpenItem:
        """The one item of its section; it has no heading of its own."""
        for opened in self.opened:
            if opened.section is RESEARCH_THREAD:
                return opened
        self.opened.append(OpenItem(RESEARCH_THREAD.prefix, RESEARCH_THREAD, line))
        return self.opened[-1]

    def _open_item(self, found: Written, line: int) -> None:
        parts = found.parts
        match = ITEM_ID.fullmatch(parts.id)
        section = _SECTION_OF[match[1] or RESEARCH_THREAD.prefix] if match else self._section
        # `#### Notes: more` is no item, `#### H-01: Name` is one with a malformed ID.
        is_deep = found.level > ITEM_LEVEL and not re.search(r"[0-9]", parts.id)
        if not match and (is_deep or section in _WITHOUT_HEADINGS or section is None):
            written = f"{'#' * found.level} {found.text}"
            if not self.text.take_heading(found.text, line):
                is_deep = found.level > ITEM_LEVEL
                self.text.leave_item(written, line, self._unknown, is_deep=is_deep)
            return
        if section is None:
            return
        if section is not self._section:
            words = {"where": self._where(), "heading": f"## {LAYOUT_OF[section.id].heading}"}
            self._notes.add(codes.MISPLACED_ITEM, line, parts.id, id=parts.id, **words)
        if section is RESEARCH_THREAD:
            opened = self._research_thread(line)
        else:
            opened = OpenItem(parts.id, section, line)
            self.opened.append(opened)
            opened.heading = found
            self._ids.add(parts.id)
            if parts.is_killed:
                opened.say_killed(parts.kill_words, is_form=parts.is_kill_form)
        if parts.name and section is not RESEARCH_THREAD:
            name = "condition" if section is PREDICTIONS_TABLE else "name"
            opened.fields[name] = OpenField(name, name, FieldKind.TEXT, line, parts.name)
        self.text.move(self._section, opened)

    def _where(self) -> str:
        if self._section:
            return f"under `## {LAYOUT_OF[self._section.id].heading}`"
        return "under none of the seven sections"


# Where in a text the artifact stands: language models put prose before it and fences around it.
#
# The lines keep their numbers. A second artifact in the same text is found here, too.


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(?:markdown|md|text|yaml)?[ \t]*", re.IGNORECASE)
_QUOTED = re.compile(r" {0,3}>[ ]?")
_KEY = re.compile(r"[\"']?[A-Za-z_][\w -]{0,60}[\"']?[ \t]*:(?:[ \t]|\Z)")
_HEADING = re.compile(r" {0,3}#{1,2}[ \t]+(.*?)[ \t#]*")
_PARSE_WRAPPING_SECTION_LEVEL = 2
_MOST_LAYERS = 3
_LONGEST_MATTER = 500


class Document(NamedTuple):
    """The lines of the text, and which of them, from `first` up to `last`, are the artifact."""

    lines: list[str]
    first: int
    last: int
    layers: tuple[str, ...] = ()


# What is around it, and what is to be taken away.
_LAYERS = {
    "in a code fence": "the fence",
    "after other lines": "the lines before it",
    "in a quotation": "the `>`",
}


def find_document(text: str) -> Document:
    """The artifact in a text whose lines end in LF."""
    lines = text.split("\n")
    document = Document(lines, 0, len(lines))
    for _ in range(_MOST_LAYERS):
        is_found = document.lines[document.first].rstrip() == "---"
        inner = None if is_found else _inside(document)
        if inner is None:
            break
        document = inner
    return document


def _inside(document: Document) -> Document | None:
    """What is left without the outermost of the layers."""
    return _in_fence(document) or _in_quotation(document) or _after_lines(document)


def tell_wrapping(document: Document, notes: Notes) -> None:
    """One warning, whatever is around the artifact."""
    if not document.layers:
        return
    outside = [*document.lines[: document.first], *document.lines[document.last :]]
    count = sum(1 for line in outside if line.strip() and not _FENCE.fullmatch(line))
    words = {
        "where": " and ".join(document.layers),
        "what": " and ".join(_LAYERS[layer] for layer in document.layers),
        "first": str(document.first + 1),
        "outside": f" Not read: {counted(count, 'line')} of other text around it." if count else "",
    }
    notes.add(codes.WRAPPED_ARTIFACT, 1, **words)


def _begins_matter(lines: Sequence[str], index: int) -> bool:
    """Whether front matter begins on this line."""
    following = lines[index + 1] if index + 1 < len(lines) else ""
    is_fence = lines[index].rstrip() == "---"
    return is_fence and (_KEY.match(following) is not None or following.rstrip() == "---")


def _begins(lines: Sequence[str], index: int) -> bool:
    """Whether an artifact may begin on this line."""
    match = _HEADING.fullmatch(lines[index])
    if match:
        return match[1].startswith(TITLE) or read_section_heading(match[1]) is not None
    return _begins_matter(lines, index)


def _is_heading(line: str) -> bool:
    return _HEADING.fullmatch(line) is not None


def _next(lines: Sequence[str], index: int, last: int) -> int | None:
    """The next line that is not blank."""
    return next((at for at in range(index, last) if lines[at].strip()), None)


def _in_fence(document: Document) -> Document | None:
    lines, first, last, layers = document
    for index in range(first, last):
        if _is_heading(lines[index]):
            return None
        opening = _FENCE.fullmatch(lines[index])
        inside = _next(lines, index + 1, last) if opening else None
        if opening is None or inside is None or not _begins(lines, inside):
            continue
        ends = [
            at
            for at in range(inside, last)
            if opening[1][0] in lines[at] and closes(lines[at].strip(), opening[1])
        ]
        end = ends[0] if ends else last
        # A fence inside the artifact, as long as the one around it, has not ended the artifact.
        if any(_is_heading(line) and _begins([line], 0) for line in lines[end + 1 : last]):
            end = ends[-1]
        return Document(lines, inside, end, (*layers, "in a code fence"))
    return None


def _in_quotation(document: Document) -> Document | None:
    lines, first, last, layers = document
    start = next((at for at in range(first, last) if _QUOTED.match(lines[at])), last)
    if any(map(_is_heading, lines[first:start])):
        return None
    end = next(
        (at for at in range(start, last) if lines[at].strip() and not _QUOTED.match(lines[at])),
        last,
    )
    inner = [_QUOTED.sub("", line, count=1) for line in lines[start:end]]
    inside = _next(inner, 0, len(inner))
    if inside is None or not _begins(inner, inside):
        return None
    all_lines = [*lines[:start], *inner, *lines[end:]]
    return Document(all_lines, start + inside, end, (*layers, "in a quotation"))


def _after_lines(document: Document) -> Document | None:
    lines, first, last, layers = document
    for index in range(first, last):
        if _is_heading(lines[index]):
            return None
        if _begins_matter(lines, index):
            return Document(lines, index, last, (*layers, "after other lines"))
    return None


# Two of them


def second_artifact(blocks: Sequence[Block], lines: Sequence[str], before: int) -> int | None:
    """The line on which another artifact begins: its front matter, its title or first section.

    `before` is how many lines stand before those that the blocks count.
    """
    sections: set[str] = set()
    for block in blocks:
        if block.kind is not Kind.HEADING or block.nested:
            continue
        layout = (
            read_section_heading(block.text)
            if block.level <= _PARSE_WRAPPING_SECTION_LEVEL
            else None
        )
        is_title = block.level == 1 and block.text.startswith(TITLE)
        is_first_again = layout is LAYOUT[0] and LAYOUT[-1].section.id in sections
        if sections and (is_title or is_first_again):
            return _start(lines, block.line + before)
        if layout:
            sections.add(layout.section.id)
    return None


def _start(lines: Sequence[str], line: int) -> int:
    """The line of the front matter that stands right above this one, or else this line."""
    above = line - 1
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    if above and lines[above - 1].rstrip() == "---":
        for opening in range(above - 1, max(0, above - _LONGEST_MATTER), -1):
            if lines[opening - 1].rstrip() == "---":
                return opening if _begins_matter(lines, opening - 1) else line
    return line


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
