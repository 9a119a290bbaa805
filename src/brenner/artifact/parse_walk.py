"""The walk through the blocks of an artifact's text: which section and item each belongs to."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from brenner.artifact.headings import read_item_heading, read_section_heading, title_heading
from brenner.artifact.layout import LAYOUT, LAYOUT_OF, TITLE, Layout
from brenner.artifact.notes import Note, Notes
from brenner.artifact.parse_fields import OpenField
from brenner.artifact.parse_items import ITEM_LEVEL, OpenItem, Written
from brenner.artifact.parse_text import OpenText, Part, part_of
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.escape import unescape
from brenner.protocol.delta.schema import PREDICTIONS_TABLE, RESEARCH_THREAD, FieldKind, Section
from brenner.protocol.grammar import ITEM_ID
from brenner.text import nearest, perhaps

if TYPE_CHECKING:
    from brenner.artifact.parsed import Place

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
            near = nearest(text, [known.heading for known in LAYOUT])
            words = {"heading": f"{'#' * level} {text}", "suggestion": perhaps(near)}
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
