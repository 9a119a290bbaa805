"""The walk through the blocks of an artifact's text: which section and item each belongs to."""

import re
from typing import TYPE_CHECKING

from brenner.artifact.headings import read_item_heading, read_section_heading, title_heading
from brenner.artifact.layout import LAYOUT, LAYOUT_OF, TITLE, Layout
from brenner.artifact.notes import Notes
from brenner.artifact.parse_fields import OpenField
from brenner.artifact.parse_items import ITEM_LEVEL, OpenItem, Written
from brenner.artifact.parse_text import OpenText, Part, part_of
from brenner.delta.schema import PREDICTIONS_TABLE, RESEARCH_THREAD, FieldKind, Section
from brenner.diagnostics.codes import artifact_text as codes
from brenner.diagnostics.nearest import nearest, perhaps
from brenner.grammar import ITEM_ID
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.escaping import unescape

if TYPE_CHECKING:
    from brenner.artifact.parsed import Place

_SECTION_LEVEL = 2
_SECTION_OF = {layout.section.prefix: layout.section for layout in LAYOUT}
# Here a heading without an ID is no item.
_WITHOUT_HEADINGS = (RESEARCH_THREAD, PREDICTIONS_TABLE)
# What some programs make of a killed item; it is no heading to a viewer.
_STRUCK_HEADING = re.compile(r"~~(#{2,4})[ \t]++([^\n]*)~~[ \t]*(?:\[KILLED\])?", re.IGNORECASE)


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
        self._is_skipping = False  # under a heading that is no section, and no item of ours
        self._last = 0

    def take(self, block: Block) -> None:
        """Go on with a block."""
        is_underlined = block.end > block.line
        if block.kind is Kind.HEADING and not block.nested and not is_underlined:
            self._heading(block.text, block.level, block.line + self._before)
        else:
            part = part_of(block, self._before, self._source, self._last)
            struck = _STRUCK_HEADING.match(part.text) if part.text.startswith("~~#") else None
            if struck:
                part = self._struck_heading(part, struck)
            if not self._is_skipping and part.text:
                self.text.take(part)
        self._last = block.end

    def _struck_heading(self, part: Part, match: re.Match[str]) -> Part:
        """Open the item; what is left of the paragraph."""
        parts = read_item_heading(f"~~{match[2]}~~")._replace(is_kill_form=False)
        self._open_item(Written(match[2], len(match[1]), parts), part.line)
        rest = part.text[match.end() :].lstrip(" \t\n")
        return part._replace(text=rest, written=rest, line=part.line + 1)

    # Headings

    def _heading(self, text: str, level: int, line: int) -> None:
        layout = read_section_heading(text) if level <= _SECTION_LEVEL else None
        found = Written(text, level, read_item_heading(text))
        if layout:
            self._open_section(layout, text, level, line)
        elif level > _SECTION_LEVEL or ITEM_ID.fullmatch(found.parts.id):
            self._open_item(found, line)
        elif level == _SECTION_LEVEL:
            self._move(None, is_skipping=True)
            near = nearest(text, [known.heading for known in LAYOUT])
            words = {"heading": f"## {text}", "suggestion": perhaps(near)}
            self._notes.add(codes.UNKNOWN_SECTION, line, **words)
        else:
            self._move(None)
            self._title(text, line)

    def _title(self, text: str, line: int) -> None:
        is_ours = text.startswith(TITLE)
        named = unescape(text.removeprefix(TITLE).removeprefix(":").strip(" \t"))
        if not is_ours or (self._session_id is not None and named != self._session_id):
            words = {"written": f"# {text}", "meant": title_heading(self._session_id)}
            self._notes.form(codes.HEADING_FORM, "title", line, **words)

    def _move(
        self, section: Section | None, item: OpenItem | None = None, *, is_skipping: bool = False
    ) -> None:
        self._section = section
        self._is_skipping = is_skipping
        self.text.move(section, item)

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
        is_deep = not parts.id and found.level > ITEM_LEVEL
        if section is None or (not match and (is_deep or section in _WITHOUT_HEADINGS)):
            self.text.stop()
            if not self._is_skipping:
                self._notes.add(codes.TEXT_NOT_READ, line, text=found.text)
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
            opened.is_killed, opened.is_kill_form = parts.is_killed, parts.is_kill_form
        if parts.name and section is not RESEARCH_THREAD:
            name = "condition" if section is PREDICTIONS_TABLE else "name"
            opened.fields[name] = OpenField(name, name, FieldKind.TEXT, line, parts.name)
        self._is_skipping = False
        self.text.move(self._section, opened)

    def _where(self) -> str:
        if self._section:
            return f"under `## {LAYOUT_OF[self._section.id].heading}`"
        return "under none of the seven sections"
