"""The input of the lint rules: the artifact, for a file also its text, and the source text.

All rules treat killed items alike. A killed item cannot be changed, so its fields are not checked,
and it does not count toward any minimum. Its ID stays in use: the rules check its form and its
number, and other items may refer to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Self

from brenner.artifact.format import NO_LINES, Location, Outline, ParsedArtifact
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item
from brenner.diagnostics.codes import artifacts as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    RESEARCH_THREAD,
    SECTIONS,
    Section,
    list_items,
)
from brenner.protocol.grammar import ITEM_ID
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from brenner.diagnostics.model import Code, Diagnostic
    from brenner.protocol.evidence_pack import EvidencePack

# The section numbers of a project's source text (companion, Anchors)


# `## §42 Title`, `## 42. Title`, `## 42 Title`, `## Section 42`; not the `4.2` of a chapter
_SIGN = lazy_pattern(r"§ ?([0-9]{1,9})(?![0-9])")
_NUMBER = lazy_pattern(r"(?:[Ss]ection )?([0-9]{1,9})(?![0-9])(?!\.[0-9])")


class SourceText(NamedTuple):
    """The section numbers of a source text, as runs without gaps, and its path as shown.

    With runs, looking up a range costs as little as looking up one number.
    """

    path: str
    firsts: tuple[int, ...]
    lasts: tuple[int, ...]

    @classmethod
    def of(cls, path: str, numbers: Iterable[int]) -> Self:
        """Build a source text that has these sections."""
        return cls.of_ranges(path, ((number, number) for number in numbers))

    @classmethod
    def of_ranges(cls, path: str, ranges: Iterable[tuple[int, int]]) -> Self:
        """Build a source text that has the sections from the first to the last of each range."""
        firsts: list[int] = []
        lasts: list[int] = []
        for first, last in sorted(set(ranges)):
            if lasts and first <= lasts[-1] + 1:
                lasts[-1] = max(last, lasts[-1])
            else:
                firsts.append(first)
                lasts.append(last)
        return cls(path, tuple(firsts), tuple(lasts))

    @property
    def is_empty(self) -> bool:
        return not self.firsts

    def missing(self, first: int, last: int) -> int | None:
        """Return the first section from `first` to `last` that does not exist, or None."""
        run = bisect_right(self.firsts, first) - 1
        if run < 0 or self.lasts[run] < first:
            return first
        return None if last <= self.lasts[run] else self.lasts[run] + 1


def read_source_text(text: str, path: str) -> SourceText:
    """Read the section numbers from the headings of a Markdown file.

    If any heading has the sign §, only those count, because the others number chapters.
    """
    headings = [
        block.text.strip() for block in parse_blocks(text) if block.kind is BlockKind.HEADING
    ]
    signed = [match[1] for heading in headings if (match := _SIGN.match(heading))]
    plain = [match[1] for heading in headings if (match := _NUMBER.match(heading))]
    return SourceText.of(path, map(int, signed or plain))


# The context of the rules


# Parser diagnostics about text that was read. All other codes mean that some text was not read.
_CODES_OF_READ_TEXT = frozenset(
    code.id
    for code in (
        codes.FRONT_MATTER_FORM,
        codes.HEADING_FORM,
        codes.HEADING_CONTRADICTS,
        codes.MISPLACED_ITEM,
        codes.FIELD_FORM,
        codes.KILLED_FORM,
    )
)
_MAX_TITLE_LENGTH = 60


class LintContext(NamedTuple):
    """One artifact with lookup tables for the rules, and constructors of diagnostics.

    `active` are the items that are not killed, by section. `items` and `hypotheses` are the
    existing IDs, killed ones included; `repeated` are the IDs that occur twice. `existing` are
    sentences that list the active items, by prefix. `source` is the
    source text and `pack` the evidence pack, if any. The rest is for files only: `outline` and
    `lines`; the `missing` sections; whether there was unread text; and the lines of each item's
    fields by the identity of the item, since an ID may occur twice.
    """

    artifact: Artifact
    active: Mapping[str, tuple[Item, ...]]
    items: frozenset[str]
    hypotheses: frozenset[str]
    repeated: frozenset[str]
    outline: Outline | None
    lines: Mapping[Location, int]
    source: SourceText | None
    missing: frozenset[str]
    has_unread_text: bool
    item_lines: Mapping[int, Mapping[Location, int]]
    existing: Mapping[str, str]
    pack: EvidencePack | None = None

    @property
    def pack_path(self) -> str:
        return self.pack.path if self.pack else ""

    def has_section(self, section: Section) -> bool:
        """Return whether the section exists. Only a file can lack one.

        If it is missing, that is the error, and rules do not report what it lacks.
        """
        return section.id not in self.missing

    def item_diagnostic(self, code: Code, item: Item, *path: str, **words: str | int) -> Diagnostic:
        """Return a diagnostic at an item or at one of its fields; `{id}` is filled in."""
        filled: dict[str, str | int] = {"id": item_name(item), **words}
        found = code.at(self._line_of(item, path) if self.lines else None, **filled)
        if "EDIT" in code.fix and "{id}" in code.fix and not ITEM_ID.fullmatch(item.id):
            found = found._replace(fix=f"{_ID_FIRST} {code.at(None, **filled | {'id': '…'}).fix}")
        return found._replace(item=item.id or None, field=".".join(path) or None)

    def unknown_reference(self, code: Code, item: Item, *path: str, other: str) -> Diagnostic:
        """Return a diagnostic about a reference to an item that does not exist."""
        known = self.existing.get(other[:1], "")
        return self.item_diagnostic(code, item, *path, other=other, known=known)

    def _line_of(self, item: Item, path: Location) -> int | None:
        """Return the line of a field, or of its item. For the research thread, fall back to the
        heading.
        """
        if id(item) in self.item_lines:
            return _innermost_line(self.item_lines[id(item)], path)
        line = self._line((RESEARCH_THREAD.prefix, *path))
        return self.lines.get((RESEARCH_THREAD.id,)) if line is None else line

    def section_diagnostic(self, code: Code, section: Section, **words: str | int) -> Diagnostic:
        return code.at(self.lines.get((section.id,)), **words)

    def missing_section_diagnostic(
        self, code: Code, section: Section, **words: str | int
    ) -> Diagnostic:
        """Return a diagnostic for a missing section, at the next existing one, where it belongs."""
        later = list(SECTIONS)[list(SECTIONS).index(section.id) + 1 :]
        lines = (self.lines.get((section_id,)) for section_id in later)
        return code.at(next(filter(None, lines), None), **words)

    def metadata_diagnostic(self, code: Code, name: str, **words: str | int) -> Diagnostic:
        """Return a diagnostic in the front matter."""
        line = self._line(("metadata", name)) or (1 if self.outline else None)
        return code.at(line, **words)._replace(field=name)

    def _line(self, place: Location) -> int | None:
        return _innermost_line(self.lines, place)

    def can_edit(self, section: Section, item: Item) -> bool:
        """Return whether a delta can address the item and repeat all of its content.

        The ID must be well formed and unique, and the file must have no unread text.
        """
        is_own = section.is_valid_id(item.id) and item.id not in self.repeated
        return is_own and not self.has_unread_text

    def is_in_missing_section(self, item_id: str) -> bool:
        """Return whether an ID does not exist only because its whole section is missing."""
        section = _SECTION_OF.get(item_id[:1]) if ITEM_ID.fullmatch(item_id) else None
        return section is not None and not self.has_section(section)

    @property
    def has_all_items(self) -> bool:
        """Return whether an unknown ID certainly has no item.

        If a section is missing, or an ID is malformed, repeated or skipped, the item may exist
        under another ID, or in the published version.
        """
        return all(self.has_section(section) for section in SECTIONS.values()) and all(
            self._is_numbered(section) for section in ITEM_SECTIONS
        )

    def _is_numbered(self, section: Section) -> bool:
        items = self.artifact.sections[section.id]
        return {item.id for item in items} == {
            f"{section.prefix}{number}" for number in range(1, len(items) + 1)
        }


_ID_FIRST = "First give the item its ID, which the delta needs. Then:"
_SECTION_OF = {section.prefix: section for section in ITEM_SECTIONS}


def make_context(
    artifact: Artifact, source: SourceText | None = None, pack: EvidencePack | None = None
) -> LintContext:
    """Build the lookup tables for an artifact."""
    ids = Counter(item.id for _, item in artifact.all_items())
    return LintContext(
        artifact,
        {section.id: artifact.active(section) for section in ITEM_SECTIONS},
        frozenset(ids),
        frozenset(item.id for item in artifact.sections[HYPOTHESIS_SLATE.id]),
        frozenset(item_id for item_id, count in ids.items() if count > 1),
        outline=None,
        lines=NO_LINES,
        source=source,
        missing=frozenset(),
        has_unread_text=False,
        item_lines={},
        existing={section.prefix: _list_active(artifact, section) for section in ITEM_SECTIONS},
        pack=pack,
    )


def _list_active(artifact: Artifact, section: Section) -> str:
    ids = sorted({item.id for item in artifact.active(section)}, key=lambda each: (len(each), each))
    return list_items(section.prefix, list(filter(section.is_valid_id, ids)), "in the artifact")


def make_file_context(
    parsed: ParsedArtifact, source: SourceText | None = None, pack: EvidencePack | None = None
) -> LintContext:
    """Build the lookup tables for an artifact that was parsed from a file."""
    return make_context(parsed.artifact, source, pack)._replace(
        outline=parsed.outline,
        lines=parsed.lines,
        missing=frozenset(SECTIONS) - {section_id for section_id, _ in parsed.outline.headings},
        has_unread_text=any(found.id not in _CODES_OF_READ_TEXT for found in parsed.diagnostics),
        item_lines={
            id(item): lines
            for section_id, items in parsed.artifact.sections.items()
            for item, lines in zip(items, parsed.item_lines[section_id], strict=True)
        },
    )


def _innermost_line(lines: Mapping[Location, int], place: Location) -> int | None:
    """Return the line of a location, or of the innermost one that contains it."""
    for length in range(len(place), -1, -1):
        line = lines.get(place[:length])
        if line is not None:
            return line
    return None


def item_name(item: Item) -> str:
    """Return the ID of an item, or its title if it has no ID."""
    return item.id or escape_control(item.title, _MAX_TITLE_LENGTH) or "an item without an ID"
