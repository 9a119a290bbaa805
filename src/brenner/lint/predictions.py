"""Rules about the predictions table (P)."""

from collections.abc import Iterator

from brenner.artifact.model import ID_COLUMN, MOST_ACTIVE_HYPOTHESES, NOT_APPLICABLE, Item
from brenner.diagnostics.codes import lint_sections as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import Context, called, is_well_formed
from brenner.lint.fixes import with_edit
from brenner.lint.structure import malformed, why_malformed
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, PREDICTIONS_TABLE

_SECTION = PREDICTIONS_TABLE
INDETERMINATE = "indeterminate"


def enough(on: Context) -> Iterator[Diagnostic]:
    """EP-001: three active rows."""
    return on.too_few(codes.EP_001, _SECTION)


def id_column(on: Context) -> Iterator[Diagnostic]:
    """EP-002, files only. Without any table there are too few rows, which is EP-001."""
    if _lacks_ids(on):
        yield on.of_section(codes.EP_002, _SECTION)


def hypothesis_columns(on: Context) -> Iterator[Diagnostic]:
    """EP-003, files only. A killed hypothesis needs no column; a malformed ID is ES-003."""
    shown = _shown(on)
    for item_id in _hypotheses(on):
        if item_id not in shown:
            yield on.of_section(codes.EP_003, _SECTION, id=item_id)._replace(item=item_id)


def cells_differ(on: Context) -> Iterator[Diagnostic]:
    """WP-001: the cells of the active hypotheses; case and blanks make no difference.

    Where one has no column that is the fault (EP-003).
    """
    hypotheses = _hypotheses(on)
    if len(hypotheses) < 2 or len(_shown(on)) < len(hypotheses):  # noqa: PLR2004
        return
    for row in on.active[_SECTION.id]:
        cells = [text for key, text in row.mapped("predictions").items() if key in hypotheses]
        if not cells:
            yield on.of_item(codes.WP_001, row, "predictions", say="are empty")
        elif len(cells) == len(hypotheses) and len(set(map(_folded, cells))) == 1:
            yield on.of_item(codes.WP_001, row, "predictions", say="say the same")


def well_formed_ids(on: Context) -> Iterator[Diagnostic]:
    """WP-002, killed rows included. Without an ID column that is the fault (EP-002)."""
    if not _lacks_ids(on):
        for row in malformed(on, _SECTION):
            yield on.of_item(codes.WP_002, row, reason=why_malformed(_SECTION, row.id))


def third_alternative_cells(on: Context) -> Iterator[Diagnostic]:
    """IP-001: cells with no word or number in them. Wholly empty rows are WP-001.

    No more third alternatives are looked at than hypotheses are allowed (EH-002).
    """
    shown = _shown(on)
    alternatives = [name for name, item in shown.items() if "third_alternative" in item.fields]
    for row in on.active[_SECTION.id] if alternatives else ():
        cells = row.mapped("predictions")
        if shown.keys().isdisjoint(cells):
            continue
        for hypothesis in alternatives[:MOST_ACTIVE_HYPOTHESES]:
            if _says_nothing(cells.get(hypothesis, "")):
                path = ("predictions", hypothesis)
                cell = f"{called(row)}.{hypothesis}"
                found = on.of_item(codes.IP_001, row, *path, cell=cell)
                payload = {"predictions": {hypothesis: INDETERMINATE}}
                yield from with_edit([found], on, _SECTION, row, payload)


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
