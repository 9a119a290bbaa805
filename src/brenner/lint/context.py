"""What a rule looks at: the artifact, and, of a file, the text around it.

All rules hold to one thing about killed items. A killed item takes no more changes, so nothing is
said of its fields, and it does not count toward any minimum. Its ID stays in use: it is checked for
form, keeps its place in the numbering, and may be referred to.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from brenner.artifact.format import NO_LINES, Outline, ParsedArtifact, Place
from brenner.artifact.model import ITEM_SECTIONS, LAYOUT_OF, Artifact, Item
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Code, Diagnostic
from brenner.markdown.blocks import Kind, blocks
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS, Section
from brenner.protocol.grammar import ITEM_ID
from brenner.text import escape_control

# The source text of a project: which section numbers exist in it (companion, Anchors).


# `## §42 Title`, `## 42. Title`, `## 42 Title`, `## Section 42`; not the `4.2` of a chapter
_SIGN = re.compile(r"§ ?([0-9]{1,9})(?![0-9])")
_NUMBER = re.compile(r"(?:[Ss]ection )?([0-9]{1,9})(?![0-9])(?!\.[0-9])")


class SourceText(NamedTuple):
    """The section numbers of a source text, as runs without gaps, and its path as shown.

    Runs make a range as cheap to look up as a single number, however far it reaches.
    """

    path: str
    firsts: tuple[int, ...]
    lasts: tuple[int, ...]

    @classmethod
    def of(cls, path: str, numbers: Iterable[int]) -> Self:
        """A source text that has these sections."""
        firsts: list[int] = []
        lasts: list[int] = []
        for number in sorted(set(numbers)):
            if lasts and number == lasts[-1] + 1:
                lasts[-1] = number
            else:
                firsts.append(number)
                lasts.append(number)
        return cls(path, tuple(firsts), tuple(lasts))

    @property
    def is_empty(self) -> bool:
        """Whether it has no section at all."""
        return not self.firsts

    def missing(self, first: int, last: int) -> int | None:
        """The first section from `first` to `last` that does not exist."""
        run = bisect_right(self.firsts, first) - 1
        if run < 0 or self.lasts[run] < first:
            return first
        return None if last <= self.lasts[run] else self.lasts[run] + 1


def read_source_text(text: str, path: str) -> SourceText:
    """The sections that the headings of a Markdown file number.

    Where any heading has the sign §, only those count: the others number chapters.
    """
    headings = [block.text.strip() for block in blocks(text) if block.kind is Kind.HEADING]
    signed = [match[1] for heading in headings if (match := _SIGN.match(heading))]
    plain = [match[1] for heading in headings if (match := _NUMBER.match(heading))]
    return SourceText.of(path, map(int, signed or plain))


# What the reader of a file says of text that it did read. Whatever else it says, something was
# passed over.
_READ_ALL_THE_SAME = frozenset(
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
_MOST_OF_A_TITLE = 60


class Context(NamedTuple):
    """One artifact under examination.

    `active` are the items that are not killed, by section; `items` and `hypotheses` the IDs that
    exist, killed ones included; `repeated` those that stand twice. `source` is there where a source
    text is given, all that follows and `outline` and `lines` for a file only: the sections that
    are `missing`; whether something `was_misread`; and, by the identity of each item, the lines of
    its fields, since an ID may stand twice.
    """

    artifact: Artifact
    active: Mapping[str, tuple[Item, ...]]
    items: frozenset[str]
    hypotheses: frozenset[str]
    repeated: frozenset[str]
    outline: Outline | None
    lines: Mapping[Place, int]
    source: SourceText | None
    missing: frozenset[str]
    was_misread: bool
    item_lines: Mapping[int, Mapping[Place, int]]

    def has(self, section: Section) -> bool:
        """Whether the section is there. Where it is missing that is the fault, not what it lacks.

        Only a file can lack one.
        """
        return section.id not in self.missing

    def of_item(self, code: Code, item: Item, *path: str, **words: str | int) -> Diagnostic:
        """An occurrence in an item, and there in a field; `{id}` is filled in."""
        filled: dict[str, str | int] = {"id": called(item), **words}
        found = code.at(self._line_of(item, path) if self.lines else None, **filled)
        if "EDIT" in code.fix and "{id}" in code.fix and not ITEM_ID.fullmatch(item.id):
            found = found._replace(fix=f"{_ID_FIRST} {code.at(None, **filled | {'id': '…'}).fix}")
        return found._replace(item=item.id or None, field=".".join(path) or None)

    def _line_of(self, item: Item, path: Place) -> int | None:
        """The line of a field, or of its item; of the one research thread, or of its heading."""
        if id(item) in self.item_lines:
            return _innermost(self.item_lines[id(item)], path)
        line = self._line((RESEARCH_THREAD.prefix, *path))
        return self.lines.get((RESEARCH_THREAD.id,)) if line is None else line

    def of_section(self, code: Code, section: Section, **words: str | int) -> Diagnostic:
        """An occurrence in a section as a whole."""
        return code.at(self.lines.get((section.id,)), **words)

    def in_place_of(self, code: Code, section: Section, **words: str | int) -> Diagnostic:
        """A section that is missing, told at the next one that is there: it belongs before it."""
        later = list(SECTIONS)[list(SECTIONS).index(section.id) + 1 :]
        lines = (self.lines.get((section_id,)) for section_id in later)
        return code.at(next(filter(None, lines), None), **words)

    def of_metadata(self, code: Code, name: str, **words: str | int) -> Diagnostic:
        """An occurrence in the front matter."""
        line = self._line(("metadata", name)) or (1 if self.outline else None)
        return code.at(line, **words)._replace(field=name)

    def _line(self, place: Place) -> int | None:
        return _innermost(self.lines, place)

    def too_few(self, code: Code, section: Section) -> Iterator[Diagnostic]:
        """A section that is there and has fewer active items than it needs."""
        count, least = len(self.active[section.id]), LAYOUT_OF[section.id].least
        if count < least and self.has(section):
            yield self.of_section(code, section, count=count, least=least)

    def without(self, code: Code, section: Section, field: str) -> Iterator[Diagnostic]:
        """The active items of a section that lack a field."""
        for item in self.active[section.id]:
            if field not in item.fields:
                yield self.of_item(code, item, field)

    def can_edit(self, section: Section, item: Item) -> bool:
        """Whether a delta can address the item, and say all that it says: its ID is well formed
        and its own, and nothing of the file was passed over.
        """
        is_own = is_well_formed(section, item.id) and item.id not in self.repeated
        return is_own and not self.was_misread

    def is_lost(self, item_id: str) -> bool:
        """Whether an ID names nothing only because its whole section is missing."""
        section = _SECTION_OF.get(item_id[:1]) if ITEM_ID.fullmatch(item_id) else None
        return section is not None and not self.has(section)

    @property
    def is_whole(self) -> bool:
        """Whether an ID that names nothing surely has no item.

        Where a section is missing, an ID malformed, used twice or left out, the item may be there
        under another ID, or in the published version.
        """
        return all(self.has(section) for section in SECTIONS.values()) and all(
            self._is_numbered(section) for section in ITEM_SECTIONS
        )

    def _is_numbered(self, section: Section) -> bool:
        items = self.artifact.sections[section.id]
        return {item.id for item in items} == {
            f"{section.prefix}{number}" for number in range(1, len(items) + 1)
        }


_ID_FIRST = "Give the item its ID first, since a delta finds it by that. Then:"
_SECTION_OF = {section.prefix: section for section in ITEM_SECTIONS}


def context_of(artifact: Artifact, source: SourceText | None = None) -> Context:
    """Look at an artifact once, so that every rule can look things up."""
    ids = Counter(item.id for _, item in artifact.all_items())
    return Context(
        artifact,
        {section.id: artifact.active(section) for section in ITEM_SECTIONS},
        frozenset(ids),
        frozenset(item.id for item in artifact.sections[HYPOTHESIS_SLATE.id]),
        frozenset(item_id for item_id, count in ids.items() if count > 1),
        outline=None,
        lines=NO_LINES,
        source=source,
        missing=frozenset(),
        was_misread=False,
        item_lines={},
    )


def context_of_file(parsed: ParsedArtifact, source: SourceText | None = None) -> Context:
    """The same, of an artifact that was read from a file."""
    return context_of(parsed.artifact, source)._replace(
        outline=parsed.outline,
        lines=parsed.lines,
        missing=frozenset(SECTIONS) - {section_id for section_id, _ in parsed.outline.headings},
        was_misread=any(found.id not in _READ_ALL_THE_SAME for found in parsed.diagnostics),
        item_lines={
            id(item): lines
            for section_id, items in parsed.artifact.sections.items()
            for item, lines in zip(items, parsed.item_lines[section_id], strict=True)
        },
    )


def _innermost(lines: Mapping[Place, int], place: Place) -> int | None:
    """The line of a place, or of what it stands in."""
    for length in range(len(place), -1, -1):
        line = lines.get(place[:length])
        if line is not None:
            return line
    return None


def called(item: Item) -> str:
    """The ID of an item, or, where it has none, what people call it."""
    return item.id or escape_control(item.title, _MOST_OF_A_TITLE) or "an item without an ID"


def is_well_formed(section: Section, item_id: str) -> bool:
    """Whether an ID is the section's own prefix and a number; `RT` for the research thread."""
    match = ITEM_ID.fullmatch(item_id)
    return match is not None and (match[1] or RESEARCH_THREAD.prefix) == section.prefix
