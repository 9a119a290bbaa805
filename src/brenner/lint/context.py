"""What a rule looks at: the artifact, and, of a file, the text around it.

All rules hold to one thing about killed items. A killed item takes no more changes, so nothing is
said of its fields, and it does not count toward any minimum. Its ID stays in use: it is checked for
form, keeps its place in the numbering, and may be referred to.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from brenner.artifact.layout import LAYOUT_OF
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item
from brenner.artifact.parsed import NO_LINES, Outline, Place
from brenner.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS, Section
from brenner.diagnostics.model import Code, Diagnostic
from brenner.grammar import ITEM_ID
from brenner.lint.source_text import SourceText


class Context(NamedTuple):
    """One artifact under examination.

    `active` are the items that are not killed, by section; `items` and `hypotheses` the IDs that
    exist, killed ones included; `repeated` those that stand twice. `outline` and `lines` are there
    for a file only, `source` where a source text is given.
    """

    artifact: Artifact
    active: Mapping[str, tuple[Item, ...]]
    items: frozenset[str]
    hypotheses: frozenset[str]
    repeated: frozenset[str]
    outline: Outline | None
    lines: Mapping[Place, int]
    source: SourceText | None

    def has(self, section: Section) -> bool:
        """Whether the section is there. Where it is missing that is the fault, not what it lacks.

        Only a file can lack one.
        """
        headings = self.outline.headings if self.outline else ()
        return self.outline is None or any(name == section.id for name, _ in headings)

    def of_item(self, code: Code, item_id: str, *path: str, **words: str | int) -> Diagnostic:
        """An occurrence in an item, and there in a field; `{id}` is filled in."""
        line = None
        if self.lines:
            line = self._line((item_id, *path))
            if line is None and item_id == RESEARCH_THREAD.prefix:
                line = self.lines.get((RESEARCH_THREAD.id,))
        filled: dict[str, str | int] = {"id": item_id, **words}
        found = code.at(line, **filled)
        return found._replace(item=item_id, field=".".join(path) or None)

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
        """The line of a place, or of what it stands in."""
        for length in range(len(place), 0, -1):
            line = self.lines.get(place[:length])
            if line is not None:
                return line
        return None

    def too_few(self, code: Code, section: Section) -> Iterator[Diagnostic]:
        """A section that is there and has fewer active items than it needs."""
        count, least = len(self.active[section.id]), LAYOUT_OF[section.id].least
        if count < least and self.has(section):
            yield self.of_section(code, section, count=count, least=least)

    def without(self, code: Code, section: Section, field: str) -> Iterator[Diagnostic]:
        """The active items of a section that lack a field."""
        for item in self.active[section.id]:
            if field not in item.fields:
                yield self.of_item(code, item.id, field)

    def can_edit(self, section: Section, item: Item) -> bool:
        """Whether a delta can address the item: its ID is well formed and its own."""
        return is_well_formed(section, item.id) and item.id not in self.repeated


def context_of(
    artifact: Artifact,
    outline: Outline | None = None,
    lines: Mapping[Place, int] = NO_LINES,
    source: SourceText | None = None,
) -> Context:
    """Look at an artifact once, so that every rule can look things up."""
    ids = Counter(item.id for _, item in artifact.all_items())
    return Context(
        artifact,
        {section.id: artifact.active(section) for section in ITEM_SECTIONS},
        frozenset(ids),
        frozenset(item.id for item in artifact.sections[HYPOTHESIS_SLATE.id]),
        frozenset(item_id for item_id, count in ids.items() if count > 1),
        outline,
        lines,
        source,
    )


def is_well_formed(section: Section, item_id: str) -> bool:
    """Whether an ID is the section's own prefix and a number; `RT` for the research thread."""
    match = ITEM_ID.fullmatch(item_id)
    return match is not None and (match[1] or RESEARCH_THREAD.prefix) == section.prefix
