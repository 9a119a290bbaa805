"""Rules about the hypothesis slate (H)."""

from collections.abc import Iterator

from brenner.artifact.model import MOST_ACTIVE_HYPOTHESES, Item
from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.anchors import INFERENCES, LABEL, suggested, what_is_wrong
from brenner.lint.context import Context
from brenner.lint.fixes import mended_anchors, with_edit, with_flag
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, Section
from brenner.text import perhaps

_SECTION = HYPOTHESIS_SLATE
_TEXTS = ("claim", "mechanism", "how_this_could_be_true")


def enough(on: Context) -> Iterator[Diagnostic]:
    """EH-001: three active ones."""
    return on.too_few(codes.EH_001, _SECTION)


def not_too_many(on: Context) -> Iterator[Diagnostic]:
    """EH-002: killed ones do not count."""
    count = len(on.active[_SECTION.id])
    if count > MOST_ACTIVE_HYPOTHESES:
        words = {"count": count, "most": MOST_ACTIVE_HYPOTHESES}
        yield on.of_section(codes.EH_002, _SECTION, **words)


def third_alternative(on: Context) -> Iterator[Diagnostic]:
    """EH-003: the label counts, not the name. A killed one is no alternative any more."""
    active = on.active[_SECTION.id]
    if not on.has(_SECTION) or any("third_alternative" in item.fields for item in active):
        return
    called_so = [item for item in active if _is_called_third(item.text("name"))]
    found = on.of_section(codes.EH_003, _SECTION)
    yield with_flag(found, on, _SECTION, called_so, "third_alternative")


def _is_called_third(name: str) -> bool:
    """Whether the name itself says it: `Third alternative: …`, `… (Third Alternative)`."""
    folded = " ".join(name.split()).casefold()
    return folded.startswith("third alternative") or folded.endswith("(third alternative)")


def claims(on: Context) -> Iterator[Diagnostic]:
    """EH-004."""
    return on.without(codes.EH_004, _SECTION, "claim")


def anchors(on: Context) -> Iterator[Diagnostic]:
    """WH-001."""
    return on.without(codes.WH_001, _SECTION, "anchors")


def well_formed_anchors(on: Context) -> Iterator[Diagnostic]:
    """WH-002, one per anchor; of the research thread, too, which has no rule of its own."""
    for section, item in anchored(on):
        found = []
        for anchor in item.listed("anchors"):
            reason = what_is_wrong(anchor)
            if reason:
                suggestion = perhaps(suggested(anchor))
                words = {"section": section.id, "value": anchor, "reason": reason}
                words["suggestion"] = suggestion
                found.append(on.of_item(codes.WH_002, item, "anchors", **words))
        if found:
            yield from with_edit(found, on, section, item, mended_anchors(item))


def labelled_inference(on: Context) -> Iterator[Diagnostic]:
    """WH-003: anchors that are inference alone, and no `[inference]` in the item."""
    for item in on.active[_SECTION.id]:
        given = item.listed("anchors")
        if not given or not INFERENCES.issuperset(given) or LABEL in given:
            continue
        if not any(LABEL in item.text(name) for name in _TEXTS):
            found = on.of_item(codes.WH_003, item, "claim")
            claim = item.text("claim")
            payload = {"claim": f"{claim.rstrip()} {LABEL}"} if claim else None
            yield from with_edit([found], on, _SECTION, item, payload)


def mechanisms(on: Context) -> Iterator[Diagnostic]:
    """IH-001."""
    return on.without(codes.IH_001, _SECTION, "mechanism")


def anchored(on: Context) -> Iterator[tuple[Section, Item]]:
    """The active items that have a field for anchors."""
    yield RESEARCH_THREAD, on.artifact.research_thread
    for item in on.active[_SECTION.id]:
        yield _SECTION, item
