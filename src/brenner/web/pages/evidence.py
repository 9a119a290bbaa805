"""The page `/sessions/T/evidence`: which hypotheses the predictions and tests tell apart."""

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from brenner.artifact.evidence import (
    Cell,
    Column,
    Matrix,
    by_hypothesis,
    groups,
    is_unkept,
    matrix,
    unseparated,
)
from brenner.artifact.model import SCORE_LABELS, Item, total
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    SCORE_PARTS,
    Section,
)
from brenner.text import cut
from brenner.web.charts import MOST_BARS
from brenner.web.frame import session_document
from brenner.web.page import Answer, Document, Page
from brenner.web.paging import Part, in_session, part, part_json
from brenner.web.visit import Visit

_TAB = "evidence"
_COLUMNS, _ROWS, _PAIRS, _TABLED = 20, 100, 40, 100
_MOST_OUTCOME, _MOST_TITLE = 1_000, 200
_KINDS: Mapping[Section, str] = MappingProxyType(
    {PREDICTIONS_TABLE: "prediction", DISCRIMINATIVE_TESTS: "test"}
)


def page(visit: Visit) -> Answer:
    """The matrix of the latest version, or of the one that was asked for."""
    session = visit.session
    number = visit.number("version")
    loaded = session.latest if number is None else session.version(number)
    document: dict[str, object] = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "version": loaded.number if loaded else None,
    }
    if loaded:
        document |= _evidence(visit, matrix(loaded.artifact), {"version": number})
    return Page("pages/evidence.html", "Evidence", document)


def _evidence(visit: Visit, found: Matrix, asked: Mapping[str, object]) -> Document:
    thread_id = visit.thread_id
    columns = part(visit, len(found.columns), _COLUMNS)
    rows = part(visit, len(found.hypotheses), _ROWS, "rows")
    beside = {**asked, "page": columns.number if columns.number > 1 else None}
    down = {**asked, "rows": rows.number if rows.number > 1 else None}
    return {
        "hypotheses": [_hypothesis(each) for each in rows.of(found.hypotheses)],
        "columns": [_column(each, found, rows) for each in columns.of(found.columns)],
        "column_pages": part_json(columns, in_session(thread_id, _TAB, down)),
        "row_pages": part_json(rows, in_session(thread_id, _TAB, beside, "rows")),
        "unseparated": [_unseparated(found, section) for section in _KINDS],
        "unkept": [
            {"id": each.item.id, "discriminates": cut(each.item.text("discriminates"), _MOST_TITLE)}
            for each in islice(_unkept(found), _PAIRS)
        ],
        "strangers": list(islice(_strangers(found), _PAIRS)),
        **_tests(found),
    }


def _hypothesis(item: Item) -> Document:
    killed = item.killed
    return {
        "id": item.id,
        "name": cut(item.title, _MOST_TITLE),
        "third_alternative": item.fields.get("third_alternative") is True,
        "killed": killed._asdict() if killed else None,
    }


def _column(column: Column, found: Matrix, rows: Part) -> Document:
    """A column with the cells of the hypotheses on this page; letters are those of all."""
    item = column.item
    return {
        "id": item.id,
        "kind": _KINDS[column.section],
        "name": cut(item.title, _MOST_TITLE),
        "killed": item.killed._asdict() if item.killed else None,
        "score": total(item) if item.score else None,
        "discriminates": cut(item.text("discriminates"), _MOST_TITLE) or None,
        "cells": [_cell(cell) for cell in rows.of(column.cells)],
        "groups": {
            letter: list(ids[:_PAIRS]) for letter, ids in groups(column, found.hypotheses).items()
        },
    }


def _cell(cell: Cell) -> Document:
    return {"outcome": cut(cell.outcome, _MOST_OUTCOME), "letter": cell.letter or None}


def _unseparated(found: Matrix, section: Section) -> Document:
    """The pairs that no prediction, or no test, tells apart; how many there are to tell them."""
    pairs = list(islice(unseparated(found, section), _PAIRS + 1))
    active = [each for each in found.columns if each.section is section and each.item.is_active]
    return {
        "kind": _KINDS[section],
        "active": len(active),
        "hypotheses": sum(each.is_active for each in found.hypotheses),
        "pairs": [list(pair) for pair in pairs[:_PAIRS]],
        "apart": [
            {"id": name, "others": list(others)} for name, others in by_hypothesis(pairs[:_PAIRS])
        ],
        "has_more": len(pairs) > _PAIRS,
    }


def _unkept(found: Matrix) -> Iterator[Column]:
    return (each for each in found.columns if is_unkept(each, found.hypotheses))


def _strangers(found: Matrix) -> Iterator[Document]:
    """Outcomes for hypotheses that are not in the slate."""
    for column in found.columns:
        for name, outcome in column.strangers:
            yield {"id": column.item.id, "hypothesis": name, "outcome": cut(outcome, _MOST_TITLE)}


# Scores


def _tests(found: Matrix) -> Document:
    tests = [each.item for each in found.columns if each.section is DISCRIMINATIVE_TESTS]
    return {
        "tests": [_test(each) for each in tests[:_TABLED]],
        "number_of_tests": len(tests),
        "most_charted": MOST_BARS,
        "parts": [{"part": part, "label": SCORE_LABELS[part]} for part in SCORE_PARTS],
        "most_score": MOST_SCORE * len(SCORE_PARTS),
    }


def _test(item: Item) -> Document:
    return {
        "id": item.id,
        "name": cut(item.title, _MOST_TITLE),
        "killed": bool(item.killed),
        "total": total(item) if item.score else None,
        "score": {part: item.score.get(part) for part in SCORE_PARTS},
    }
