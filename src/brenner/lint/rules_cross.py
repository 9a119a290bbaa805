"""Rules about what one section says of another (101 and up)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.artifact.model import NOT_APPLICABLE, Item
from brenner.diagnostics.codes import lint_structure as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import Context, called
from brenner.lint.helpers import (
    INFERENCES,
    LABEL,
    cited,
    has_long_range,
    has_short_range,
    known_only,
    mended_anchors,
    replaced,
    with_edit,
)
from brenner.lint.rules_sections import anchored, has_numbers, named_in
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    Section,
)
from brenner.protocol.grammar import SOURCE_IN_TEXT


def anchors_in_one_form(on: Context) -> Iterator[Diagnostic]:
    """WS-101: `§42-§45` where `§42-45` is in use as well; one violation per item."""
    first, short = next(_short_ranges(on), ("", ""))
    for section, item in anchored(on) if short else ():
        long = next(filter(has_long_range, item.listed("anchors")), None)
        if long:
            words = {"section": section.id, "value": long, "other": short, "first": first}
            found = on.of_item(codes.WS_101, item, "anchors", **words)
            yield from with_edit([found], on, section, item, mended_anchors(item))


def _short_ranges(on: Context) -> Iterator[tuple[str, str]]:
    """Each anchor of the form `§42-45`, after the item that has it."""
    for _, item in anchored(on):
        for anchor in item.listed("anchors"):
            if has_short_range(anchor):
                yield called(item), anchor


def referenced_items(on: Context) -> Iterator[Diagnostic]:
    """WS-102: what an anomaly conflicts with, and references to items of this session.

    A killed item exists. What other sessions hold cannot be seen from here. Where the section of
    the item is missing, that is the fault.
    """
    is_whole = on.is_whole
    yield from _conflicts(on, is_whole=is_whole)
    session = on.artifact.metadata.session_id
    for section, item in on.artifact.all_items():
        if item.killed is not None or not item.references:
            continue
        unknown = {
            each: each.item
            for each in item.references
            if each.session == session and each.item not in on.items and not on.is_lost(each.item)
        }
        kept = [each._asdict() for each in item.references if each not in unknown]
        found = [
            on.of_item(codes.WS_102, item, "references", other=name)
            for name in dict.fromkeys(unknown.values())
        ]
        payload = replaced("references", kept) if is_whole else None
        yield from with_edit(found, on, section, item, payload)


def _conflicts(on: Context, *, is_whole: bool) -> Iterator[Diagnostic]:
    for item in on.active[ANOMALY_REGISTER.id]:
        given = item.listed("conflicts_with")
        unknown = dict.fromkeys(
            name for name in given if name not in on.items and not on.is_lost(name)
        )
        kept = [name for name in given if name not in unknown]
        found = [on.of_item(codes.WS_102, item, "conflicts_with", other=name) for name in unknown]
        payload = replaced("conflicts_with", kept) if is_whole else None
        yield from with_edit(found, on, ANOMALY_REGISTER, item, payload)


def different_names(on: Context) -> Iterator[Diagnostic]:
    """WS-103: active hypotheses; case and blanks make no difference."""
    first: dict[str, tuple[str, str]] = {}
    for item in on.active[HYPOTHESIS_SLATE.id]:
        name = item.text("name")
        folded = " ".join(name.split()).casefold()
        other_id, other = first.setdefault(folded, (item.id, called(item)))
        if name and other_id != item.id:
            yield on.of_item(codes.WS_103, item, "name", other=other, name=name)


def predicted_hypotheses(on: Context) -> Iterator[Diagnostic]:
    """WP-101: a killed hypothesis exists, and its cell says N/A (R12). Without a slate that is the
    fault.
    """
    active = {item.id for item in on.active[HYPOTHESIS_SLATE.id]}
    is_whole = on.is_whole
    for row in on.active[PREDICTIONS_TABLE.id] if on.has(HYPOTHESIS_SLATE) else ():
        cells = row.mapped("predictions")
        found = [
            on.of_item(codes.WP_101, row, "predictions", name, other=name)
            for name in cells
            if name not in on.hypotheses
        ]
        if found:
            kept = known_only(cells, on.hypotheses) if is_whole else None
            if kept is not None:
                kept |= dict.fromkeys(kept.keys() - active, NOT_APPLICABLE)
            payload = replaced("predictions", kept)
            yield from with_edit(found, on, PREDICTIONS_TABLE, row, payload)


def tested_hypotheses(on: Context) -> Iterator[Diagnostic]:
    """WT-101: one violation per hypothesis, in the text or under the outcomes. Without a slate
    that is the fault.
    """
    is_whole = on.is_whole
    for test in on.active[DISCRIMINATIVE_TESTS.id] if on.has(HYPOTHESIS_SLATE) else ():
        named = dict.fromkeys(named_in(test.text("discriminates")))
        for name in named:
            if name not in on.hypotheses:
                yield on.of_item(codes.WT_101, test, "discriminates", other=name)
        outcomes = test.mapped("expected_outcomes")
        found = [
            on.of_item(codes.WT_101, test, "expected_outcomes", name, other=name)
            for name in outcomes
            if name not in on.hypotheses and name not in named
        ]
        if found:
            kept = known_only(outcomes, on.hypotheses) if is_whole else None
            payload = replaced("expected_outcomes", kept)
            yield from with_edit(found, on, DISCRIMINATIVE_TESTS, test, payload)


def numbers(on: Context) -> Iterator[Diagnostic]:
    """WA-101. A scale check without any calculation is WA-003."""
    for item in on.active[ASSUMPTION_LEDGER.id]:
        calculation = item.text("calculation")
        if "scale_check" in item.fields and calculation and not has_numbers(calculation):
            yield on.of_item(codes.WA_101, item, "calculation")


# Rules about where claims come from (P01, P02).
#
# A hypothesis and the research thread say it under `anchors`; an assumption and an anomaly have no
# such field, so they say it in their text, or by a reference to an item of some session.


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


# What only people can judge. These questions never fire; a report lists them as they are.


class Question(NamedTuple):
    """A question to a person; `rules` are those that see the part of it that a program can see."""

    section: Section
    rules: tuple[str, ...]
    question: str

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "section": self.section.id,
            "rules": list(self.rules),
            "question": self.question,
        }


QUESTIONS = (
    Question(
        RESEARCH_THREAD,
        ("ER-001",),
        "Could an observation answer the question with no?",
    ),
    Question(
        RESEARCH_THREAD,
        ("ER-002",),
        "Does the context say what is in dispute, and fairly to each side?",
    ),
    Question(
        RESEARCH_THREAD,
        ("WR-001", "WH-001", "EP-P01"),
        "Does each anchor bear out what it is cited for?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("EH-004",),
        "Does each claim forbid something, so that it could turn out wrong?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("EH-003",),
        "Is the third alternative another explanation, and not a restatement of the first two?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("WS-103",),
        "Do any two hypotheses say the same in other words?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("WH-003", "WP-P02"),
        "Does each inference follow from what it names?",
    ),
    Question(
        PREDICTIONS_TABLE,
        ("WP-001",),
        "Do the cells of each row differ in what one would see, and not only in their words?",
    ),
    Question(
        PREDICTIONS_TABLE,
        ("IP-001", "IH-001"),
        "Does each prediction follow from the mechanism of its hypothesis?",
    ),
    Question(
        DISCRIMINATIVE_TESTS,
        ("WT-001",),
        "Could each potency check have failed?",
    ),
    Question(
        DISCRIMINATIVE_TESTS,
        ("ET-003", "IT-001"),
        "Would the outcomes of each test tell its hypotheses apart?",
    ),
    Question(
        DISCRIMINATIVE_TESTS,
        ("WT-002", "WT-003"),
        "Are the four numbers of each score deserved?",
    ),
    Question(
        ASSUMPTION_LEDGER,
        ("EA-001", "WA-001"),
        "Is an assumption missing on which much of this rests?",
    ),
    Question(
        ASSUMPTION_LEDGER,
        ("WA-003", "WA-101"),
        "Are the numbers of the scale check right, with their units?",
    ),
    Question(
        ANOMALY_REGISTER,
        ("EX-002",),
        "Is something known that fits none of the hypotheses and is not registered?",
    ),
    Question(
        ANOMALY_REGISTER,
        ("IX-001",),
        "Is each resolved anomaly explained, and not explained away?",
    ),
    Question(
        ADVERSARIAL_CRITIQUE,
        ("WC-001",),
        "Is the real third alternative real: would its author bet on it?",
    ),
    Question(
        ADVERSARIAL_CRITIQUE,
        ("EC-002", "WC-002"),
        "Does each attack strike the framing, and would its evidence confirm it?",
    ),
)
