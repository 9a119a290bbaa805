"""Rules about the sections and the item IDs (S)."""

from collections import Counter
from collections.abc import Iterator

from brenner.artifact.model import ITEM_SECTIONS, LAYOUT, LAYOUT_OF, Item
from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import Context, is_well_formed
from brenner.lint.order import misplaced
from brenner.protocol.delta.schema import ANOMALY_REGISTER, PREDICTIONS_TABLE, SECTIONS, Section
from brenner.protocol.grammar import ITEM_ID

_RANK = {section_id: number for number, section_id in enumerate(SECTIONS)}
_SECOND = 2


def sections(on: Context) -> Iterator[Diagnostic]:
    """ES-001, files only. A missing section 6 is EX-001."""
    for layout in LAYOUT:
        if layout.section is not ANOMALY_REGISTER and not on.has(layout.section):
            heading = f"## {layout.heading}"
            yield on.in_place_of(codes.ES_001, layout.section, heading=heading)


def order(on: Context) -> Iterator[Diagnostic]:
    """ES-002, files only: as few sections as have to move. Of a repeated one the first counts."""
    places = dict(reversed(on.outline.headings)) if on.outline else {}
    found = sorted((section for section in places if section in _RANK), key=places.__getitem__)
    for wrong in misplaced([_RANK[section] for section in found]):
        section, other = found[wrong.at], found[wrong.other]
        yield codes.ES_002.at(
            places[section],
            heading=f"## {LAYOUT_OF[section].heading}",
            where="after" if wrong.is_late else "before",
            other=f"## {LAYOUT_OF[other].heading}",
            place="before" if wrong.is_late else "after",
        )


def well_formed_ids(on: Context) -> Iterator[Diagnostic]:
    """ES-003, killed items included. A malformed ID of a prediction is WP-002."""
    for section in ITEM_SECTIONS:
        if section is not PREDICTIONS_TABLE:
            for item in malformed(on, section):
                words = {"section": section.id, "reason": why_malformed(section, item.id)}
                yield on.of_item(codes.ES_003, item, **words)


def unique_ids(on: Context) -> Iterator[Diagnostic]:
    """ES-004, killed items included; one violation however often it stands there, told at the
    second one.
    """
    for section in ITEM_SECTIONS:
        met: Counter[str] = Counter()
        for item in on.artifact.sections[section.id]:
            met[item.id] += 1
            if met[item.id] == _SECOND and is_well_formed(section, item.id):
                yield on.of_item(codes.ES_004, item)


def numbering(on: Context) -> Iterator[Diagnostic]:
    """WS-001, killed items included: one violation per gap, told at the item after it.

    Where an ID of the section is malformed or stands twice a gap comes from the same slip.
    """
    for section in ITEM_SECTIONS:
        items = on.artifact.sections[section.id]
        if any(item.id in on.repeated or not is_well_formed(section, item.id) for item in items):
            continue
        expected = 1
        for number, item in sorted((int(item.id[len(section.prefix) :]), item) for item in items):
            if number > expected:
                missing = _from_to(section, expected, number - 1)
                words = {"section": section.id, "missing": missing}
                yield on.of_item(codes.WS_001, item, **words)
            expected = number + 1


def malformed(on: Context, section: Section) -> Iterator[Item]:
    """The items of a section whose ID is not its prefix and a number."""
    for item in on.artifact.sections[section.id]:
        if not is_well_formed(section, item.id):
            yield item


def why_malformed(section: Section, item_id: str) -> str:
    """What keeps an ID from being one of this section."""
    if not item_id:
        return f"there is none, and it would be `{section.prefix}` and a number"
    if ITEM_ID.fullmatch(item_id):
        return f"the prefix of this section is `{section.prefix}`"
    tidy = item_id.strip().upper().removeprefix(section.prefix).strip(" -_.:#").lstrip("0")
    meant = f"{section.prefix}{tidy}"
    hint = f", such as `{meant}`" if is_well_formed(section, meant) else ""
    return f"it is not `{section.prefix}` and a number{hint}"


def _from_to(section: Section, first: int, last: int) -> str:
    one, other = f"`{section.prefix}{first}`", f"`{section.prefix}{last}`"
    return one if first == last else f"{one} to {other}"
