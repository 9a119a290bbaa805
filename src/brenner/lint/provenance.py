"""Rules about where claims come from (P01, P02).

A hypothesis and the research thread say it under `anchors`; an assumption and an anomaly have no
such field, so they say it in their text, or by a reference to an item of some session.
"""

from collections.abc import Iterable, Iterator

from brenner.artifact.model import Item
from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.anchors import INFERENCES, LABEL, cited
from brenner.lint.context import Context
from brenner.lint.hypotheses import anchored
from brenner.protocol.delta.schema import ANOMALY_REGISTER, ASSUMPTION_LEDGER
from brenner.protocol.grammar import SOURCE_IN_TEXT

# The field of each of the two sections that is a claim
_CLAIMS = ((ASSUMPTION_LEDGER, "statement"), (ANOMALY_REGISTER, "observation"))


def cited_sections(on: Context) -> Iterator[Diagnostic]:
    """EP-P01, with a source text only: in anchors and in every text; once per item and section."""
    if on.source is None:
        return
    for section, item in on.artifact.all_items():
        told: set[str] = set()
        for name, text in _texts(item, section.fields) if item.killed is None else ():
            for written, first, last in cited(text):
                missing = on.source.missing(first, last)
                if missing is not None and written not in told:
                    told.add(written)
                    value = written if first == last else f"{written} (there is no §{missing})"
                    words = {"value": value, "path": on.source.path}
                    yield on.of_item(codes.EP_P01, item, name, **words)


def sourced_claims(on: Context) -> Iterator[Diagnostic]:
    """WP-P01. A hypothesis without anchors is WH-001, a research thread without them WR-001."""
    for section, field in _CLAIMS:
        for item in on.active[section.id]:
            if field in item.fields and not _is_sourced(item) and not _is_labelled(item):
                yield on.of_item(codes.WP_P01, item, field)


def sourced_inferences(on: Context) -> Iterator[Diagnostic]:
    """WP-P02: an inference, by its anchors or by the label in its text, and no source with it."""
    for _, item in anchored(on):
        given = item.listed("anchors")
        if given and INFERENCES.issuperset(given) and not _is_sourced(item):
            yield on.of_item(codes.WP_P02, item, "anchors")
    for section, field in _CLAIMS:
        for item in on.active[section.id]:
            if field in item.fields and _is_labelled(item) and not _is_sourced(item):
                yield on.of_item(codes.WP_P02, item, field)


def _is_sourced(item: Item) -> bool:
    """Whether any of its texts names a source, or it refers to an item."""
    return bool(item.references) or any(SOURCE_IN_TEXT.search(text) for _, text in _texts(item))


def _is_labelled(item: Item) -> bool:
    return any(LABEL in text for _, text in _texts(item))


def _texts(item: Item, names: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
    """Every text of an item with the field that it stands in, anchors and outcomes included.

    With `names` in their order, otherwise in any.
    """
    for name in item.fields if names is None else names:
        value = item.fields.get(name)
        if type(value) is str:
            yield name, value
        elif name == "anchors":
            yield from ((name, anchor) for anchor in item.listed(name))
        elif name in ("predictions", "expected_outcomes"):
            yield from ((name, text) for text in item.mapped(name).values())
