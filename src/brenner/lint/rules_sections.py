"""Rules about the hypothesis slate (H)."""

from collections.abc import Iterator

from brenner.artifact.model import ID_COLUMN, MOST_ACTIVE_HYPOTHESES, NOT_APPLICABLE, Item, total
from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import Context, called, is_well_formed
from brenner.lint.helpers import (
    INFERENCES,
    LABEL,
    mended_anchors,
    misplaced,
    not_a_choice,
    suggested,
    what_is_wrong,
    with_edit,
    with_flag,
)
from brenner.lint.rules_structure import malformed, why_malformed
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Section,
)
from brenner.protocol.grammar import NAME_IN_DISCRIMINATES
from brenner.text import did_you_mean

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
                suggestion = did_you_mean(suggested(anchor))
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


# Rules about the predictions table (P).


_PREDICTIONS_SECTION = PREDICTIONS_TABLE
INDETERMINATE = "indeterminate"


def predictions_enough(on: Context) -> Iterator[Diagnostic]:
    """EP-001: three active rows."""
    return on.too_few(codes.EP_001, _PREDICTIONS_SECTION)


def id_column(on: Context) -> Iterator[Diagnostic]:
    """EP-002, files only. Without any table there are too few rows, which is EP-001."""
    if _lacks_ids(on):
        yield on.of_section(codes.EP_002, _PREDICTIONS_SECTION)


def hypothesis_columns(on: Context) -> Iterator[Diagnostic]:
    """EP-003, files only. A killed hypothesis needs no column; a malformed ID is ES-003."""
    shown = _shown(on)
    for item_id in _hypotheses(on):
        if item_id not in shown:
            yield on.of_section(codes.EP_003, _PREDICTIONS_SECTION, id=item_id)._replace(
                item=item_id
            )


def cells_differ(on: Context) -> Iterator[Diagnostic]:
    """WP-001: the cells of the active hypotheses; case and blanks make no difference.

    Where one has no column that is the fault (EP-003).
    """
    hypotheses = _hypotheses(on)
    if len(hypotheses) < 2 or len(_shown(on)) < len(hypotheses):  # noqa: PLR2004
        return
    for row in on.active[_PREDICTIONS_SECTION.id]:
        cells = [text for key, text in row.mapped("predictions").items() if key in hypotheses]
        if not cells:
            yield on.of_item(codes.WP_001, row, "predictions", say="are empty")
        elif len(cells) == len(hypotheses) and len(set(map(_folded, cells))) == 1:
            yield on.of_item(codes.WP_001, row, "predictions", say="say the same")


def well_formed_ids(on: Context) -> Iterator[Diagnostic]:
    """WP-002, killed rows included. Without an ID column that is the fault (EP-002)."""
    if not _lacks_ids(on):
        for row in malformed(on, _PREDICTIONS_SECTION):
            yield on.of_item(codes.WP_002, row, reason=why_malformed(_PREDICTIONS_SECTION, row.id))


def third_alternative_cells(on: Context) -> Iterator[Diagnostic]:
    """IP-001: cells with no word or number in them. Wholly empty rows are WP-001.

    No more third alternatives are looked at than hypotheses are allowed (EH-002).
    """
    shown = _shown(on)
    alternatives = [name for name, item in shown.items() if "third_alternative" in item.fields]
    for row in on.active[_PREDICTIONS_SECTION.id] if alternatives else ():
        cells = row.mapped("predictions")
        if shown.keys().isdisjoint(cells):
            continue
        for hypothesis in alternatives[:MOST_ACTIVE_HYPOTHESES]:
            if _says_nothing(cells.get(hypothesis, "")):
                path = ("predictions", hypothesis)
                cell = f"{called(row)}.{hypothesis}"
                found = on.of_item(codes.IP_001, row, *path, cell=cell)
                payload = {"predictions": {hypothesis: INDETERMINATE}}
                yield from with_edit([found], on, _PREDICTIONS_SECTION, row, payload)


def _hypotheses(on: Context) -> dict[str, Item]:
    """The active hypotheses by ID; those whose ID is malformed have a fault of their own."""
    active = on.active[HYPOTHESIS_SLATE.id]
    return {item.id: item for item in active if is_well_formed(HYPOTHESIS_SLATE, item.id)}


def _shown(on: Context) -> dict[str, Item]:
    """Those of them that have a column: in a model all, in a file those of its table."""
    hypotheses = _hypotheses(on)
    columns = on.outline.columns if on.outline else None
    if columns is None:
        return hypotheses
    return {name: hypotheses[name] for name in columns if name in hypotheses}


def _lacks_ids(on: Context) -> bool:
    columns = on.outline.columns if on.outline else None
    return columns is not None and ID_COLUMN not in columns


def _says_nothing(cell: str) -> bool:
    """`—` or `?` predicts nothing, and `N/A` is what the cell of a killed hypothesis says."""
    return cell == NOT_APPLICABLE or not any(map(str.isalnum, cell))


def _folded(cell: str) -> str:
    return " ".join(cell.split()).casefold()


# Rules about the discriminative tests (T).


_TESTS_SECTION = DISCRIMINATIVE_TESTS


def tests_enough(on: Context) -> Iterator[Diagnostic]:
    """ET-001: two active ones."""
    return on.too_few(codes.ET_001, _TESTS_SECTION)


def procedures(on: Context) -> Iterator[Diagnostic]:
    """ET-002."""
    return on.without(codes.ET_002, _TESTS_SECTION, "procedure")


def expected_outcomes(on: Context) -> Iterator[Diagnostic]:
    """ET-003."""
    return on.without(codes.ET_003, _TESTS_SECTION, "expected_outcomes")


def potency_checks(on: Context) -> Iterator[Diagnostic]:
    """WT-001."""
    return on.without(codes.WT_001, _TESTS_SECTION, "potency_check")


def ranked(on: Context) -> Iterator[Diagnostic]:
    """WT-002, files only: killed tests are ranked among the others (R14); equal scores may stand
    in any order, and an ID that stands twice has no place of its own.
    """
    tests = {test.id: test for test in on.artifact.sections[_TESTS_SECTION.id]}
    written = on.outline.tests if on.outline else ()
    shown = [tests[name] for name in written if name in tests and name not in on.repeated]
    for wrong in misplaced([-total(test) for test in shown]):
        words = {
            "score": "higher" if wrong.is_late else "lower",
            "other": called(shown[wrong.other]),
            "where": "after" if wrong.is_late else "before",
            "way": "up" if wrong.is_late else "down",
        }
        yield on.of_item(codes.WT_002, shown[wrong.at], **words)


def scores(on: Context) -> Iterator[Diagnostic]:
    """WT-003: a part that is not from 0 to 3 is as good as none."""
    for test in on.active[_TESTS_SECTION.id]:
        score = test.score
        missing = [part for part in SCORE_PARTS if not 0 <= score.get(part, -1) <= MOST_SCORE]
        if missing:
            listed = ", ".join(f"`{part}`" for part in missing)
            yield on.of_item(codes.WT_003, test, "score", missing=listed)


def discriminates(on: Context) -> Iterator[Diagnostic]:
    """IT-001: an ID of a hypothesis; whether it exists is WT-101."""
    for test in on.active[_TESTS_SECTION.id]:
        if not named_in(test.text("discriminates")):
            yield on.of_item(codes.IT_001, test, "discriminates")


def feasibility(on: Context) -> Iterator[Diagnostic]:
    """IT-002."""
    return on.without(codes.IT_002, _TESTS_SECTION, "feasibility")


def named_in(text: str) -> list[str]:
    """The hypotheses that a text such as `H1 vs H2` names."""
    return [name for name in NAME_IN_DISCRIMINATES.findall(text) if not name.startswith("@")]


# Rules about the assumption ledger (A).


_ASSUMPTIONS_SECTION = ASSUMPTION_LEDGER


def assumptions_enough(on: Context) -> Iterator[Diagnostic]:
    """EA-001: three active ones."""
    return on.too_few(codes.EA_001, _ASSUMPTIONS_SECTION)


def scale_check(on: Context) -> Iterator[Diagnostic]:
    """EA-002: a killed one checks nothing any more."""
    active = on.active[_ASSUMPTIONS_SECTION.id]
    if not on.has(_ASSUMPTIONS_SECTION) or any("scale_check" in item.fields for item in active):
        return
    calculated = [item for item in active if has_numbers(item.text("calculation"))]
    found = on.of_section(codes.EA_002, _ASSUMPTIONS_SECTION)
    yield with_flag(found, on, _ASSUMPTIONS_SECTION, calculated, "scale_check")


def statements(on: Context) -> Iterator[Diagnostic]:
    """EA-003."""
    return on.without(codes.EA_003, _ASSUMPTIONS_SECTION, "statement")


def loads(on: Context) -> Iterator[Diagnostic]:
    """WA-001."""
    return on.without(codes.WA_001, _ASSUMPTIONS_SECTION, "load")


def tests(on: Context) -> Iterator[Diagnostic]:
    """WA-002."""
    return on.without(codes.WA_002, _ASSUMPTIONS_SECTION, "test")


def calculations(on: Context) -> Iterator[Diagnostic]:
    """WA-003. One without numbers is WA-101."""
    for item in on.active[_ASSUMPTIONS_SECTION.id]:
        if "scale_check" in item.fields and "calculation" not in item.fields:
            yield on.of_item(codes.WA_003, item, "calculation")


def statuses(on: Context) -> Iterator[Diagnostic]:
    """IA-001."""
    return not_a_choice(on, codes.IA_001, _ASSUMPTIONS_SECTION)


def has_numbers(text: str) -> bool:
    """Whether there is a digit in it, of whatever alphabet."""
    return any(map(str.isdecimal, text))


# Rules about the anomaly register (X).


_ANOMALIES_SECTION = ANOMALY_REGISTER


def section(on: Context) -> Iterator[Diagnostic]:
    """EX-001, files only."""
    if not on.has(_ANOMALIES_SECTION):
        yield on.in_place_of(codes.EX_001, _ANOMALIES_SECTION)


def empty_in_words(on: Context) -> Iterator[Diagnostic]:
    """EX-002, files only. A register that shows a killed anomaly is not empty."""
    is_empty = on.has(_ANOMALIES_SECTION) and not on.artifact.sections[_ANOMALIES_SECTION.id]
    if on.outline and is_empty and not on.outline.says_none_registered:
        yield on.of_section(codes.EX_002, _ANOMALIES_SECTION)


def observations(on: Context) -> Iterator[Diagnostic]:
    """WX-001."""
    return on.without(codes.WX_001, _ANOMALIES_SECTION, "observation")


def conflicts(on: Context) -> Iterator[Diagnostic]:
    """WX-002."""
    return on.without(codes.WX_002, _ANOMALIES_SECTION, "conflicts_with")


def anomalies_statuses(on: Context) -> Iterator[Diagnostic]:
    """IX-001."""
    return not_a_choice(on, codes.IX_001, _ANOMALIES_SECTION)


# Rules about the adversarial critique (C).


_CRITIQUES_SECTION = ADVERSARIAL_CRITIQUE


def critiques_enough(on: Context) -> Iterator[Diagnostic]:
    """EC-001: two active ones."""
    return on.too_few(codes.EC_001, _CRITIQUES_SECTION)


def attacks(on: Context) -> Iterator[Diagnostic]:
    """EC-002."""
    return on.without(codes.EC_002, _CRITIQUES_SECTION, "attack")


def real_third_alternative(on: Context) -> Iterator[Diagnostic]:
    """WC-001: the mark counts, not the name."""
    active = on.active[_CRITIQUES_SECTION.id]
    if on.has(_CRITIQUES_SECTION) and not any(
        "real_third_alternative" in item.fields for item in active
    ):
        yield on.of_section(codes.WC_001, _CRITIQUES_SECTION)


def evidence(on: Context) -> Iterator[Diagnostic]:
    """WC-002."""
    return on.without(codes.WC_002, _CRITIQUES_SECTION, "evidence")


def current_statuses(on: Context) -> Iterator[Diagnostic]:
    """IC-001: any words will do."""
    return on.without(codes.IC_001, _CRITIQUES_SECTION, "current_status")
