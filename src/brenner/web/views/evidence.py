"""The page `/sessions/T/evidence`: which hypotheses the predictions and tests separate, which test
to do next, and the tests by score.
"""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from brenner.artifact.evidence import (
    EvidenceColumn,
    EvidenceMatrix,
    evidence_matrix,
    fails_to_discriminate,
    group_pairs,
    groups_by_letter,
    pairs_worded_differently,
    unseparated_pairs,
)
from brenner.artifact.model import SCORE_LABELS, Item, total_score
from brenner.artifact.next_test import NextTests, RankedTest, next_tests
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    SCORE_PARTS,
    Section,
)
from brenner.services.evidence import items_citing
from brenner.text import cut
from brenner.web.draft import (
    draft_document,
    shown_draft,
    source_documents,
    sources_after,
    unpublished_outcomes,
)
from brenner.web.layout import session_document
from brenner.web.rendering import (
    MAX_BARS,
    ListPage,
    list_page_document,
    requested_page,
    session_page_links,
)
from brenner.web.request import Document, Page, PageResult, RequestContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from brenner.artifact.state import Blame

_EVIDENCE_TAB = "evidence"
_COLUMNS_PER_PAGE, _ROWS_PER_PAGE, _MAX_PAIRS, _MAX_TESTS = 20, 100, 40, 100
_MAX_OUTCOME, _MAX_TITLE = 1_000, 200
_TWO = 2  # groups, from which on a column separates
_SEPARATIONS = ("declared", "worded", "nothing", "killed")  # the most telling columns first
_KINDS: Mapping[Section, str] = MappingProxyType(
    {PREDICTIONS_TABLE: "prediction", DISCRIMINATIVE_TESTS: "test"}
)


def page(context: RequestContext) -> PageResult:
    """Return the evidence matrix of the latest or the requested version, or the working draft."""
    session = context.session
    number = context.query_number("version")
    draft = shown_draft(context, session)
    loaded = session.latest if number is None else session.version(number)
    document: dict[str, object] = {
        "session": session_document(context),
        **draft_document(context, session, is_shown=draft is not None),
        "thread_id": session.thread_id,
        "version": loaded.number if loaded and not draft else None,
    }
    artifact = draft.artifact if draft else loaded.artifact if loaded else None
    if artifact:
        matrix = evidence_matrix(artifact)
        query = {"version": number, "draft": 1 if draft else None}
        document |= _evidence(context, _most_telling_first(matrix), query)
        document["cites_evidence"] = bool(items_citing(artifact))
        document["next_tests"] = _next_tests(next_tests(matrix))
    if draft:
        _mark_unpublished(document, draft.blame, session.history.number)
    return Page("pages/evidence.html", "Evidence", document)


def _mark_unpublished(document: dict[str, Any], blame: Blame, version: int) -> None:
    """Add to hypotheses, columns and cells what of them no version contains, and its sources."""
    for each in (*document["hypotheses"], *document["columns"]):
        each["unpublished"] = source_documents(sources_after(blame, each["id"], version))
    names = [each["id"] for each in document["hypotheses"]]
    for column in document["columns"]:
        new = unpublished_outcomes(blame, column["id"], version)
        for name, cell in zip(names, column["cells"], strict=True):
            cell["published"] = name not in new


def _most_telling_first(found: EvidenceMatrix) -> EvidenceMatrix:
    """Return the matrix with active hypotheses first, and first the columns that separate them."""
    order = sorted(range(len(found.hypotheses)), key=lambda at: not found.hypotheses[at].is_active)
    columns = sorted(found.columns, key=lambda each: _SEPARATIONS.index(_separates(each, found)))
    return found._replace(
        hypotheses=tuple(found.hypotheses[at] for at in order),
        columns=tuple(
            each._replace(cells=tuple(each.cells[at] for at in order)) for each in columns
        ),
    )


def _separates(column: EvidenceColumn, found: EvidenceMatrix) -> str:
    """Return how a column separates active hypotheses: as declared, by wording, or not."""
    if not column.item.is_active:
        return "killed"
    if len(groups_by_letter(column, found.hypotheses)) < _TWO:
        return "nothing"
    return "declared" if column.has_declared_outcomes else "worded"


def _evidence(
    context: RequestContext, found: EvidenceMatrix, query: Mapping[str, object]
) -> Document:
    thread_id = context.thread_id
    columns = requested_page(context, len(found.columns), _COLUMNS_PER_PAGE)
    rows = requested_page(context, len(found.hypotheses), _ROWS_PER_PAGE, "rows")
    beside = {**query, "page": columns.number if columns.number > 1 else None}
    down = {**query, "rows": rows.number if rows.number > 1 else None}
    return {
        "hypotheses": [_hypothesis(each) for each in rows.slice(found.hypotheses)],
        "columns": [_column(each, found, rows) for each in columns.slice(found.columns)],
        "column_pages": list_page_document(
            columns, session_page_links(thread_id, _EVIDENCE_TAB, down)
        ),
        "row_pages": list_page_document(
            rows, session_page_links(thread_id, _EVIDENCE_TAB, beside, "rows")
        ),
        "unseparated": [_unseparated(found, section) for section in _KINDS],
        "unkept": [
            {"id": each.item.id, "discriminates": cut(each.item.text("discriminates"), _MAX_TITLE)}
            for each in found.columns
            if fails_to_discriminate(each, found.hypotheses)
        ][:_MAX_PAIRS],
        "strangers": list(islice(_unknown_hypotheses(found), _MAX_PAIRS)),
        **_tests(found),
    }


def _hypothesis(item: Item) -> dict[str, object]:
    killed = item.killed
    return {
        "id": item.id,
        "name": cut(item.title, _MAX_TITLE),
        "third_alternative": item.fields.get("third_alternative") is True,
        "killed": killed._asdict() if killed else None,
        "unpublished": [],
    }


def _column(column: EvidenceColumn, found: EvidenceMatrix, rows: ListPage) -> dict[str, object]:
    """Return a column with the cells of this page. Letters are those of all cells."""
    item = column.item
    return {
        "id": item.id,
        "kind": _KINDS[column.section],
        "name": cut(item.title, _MAX_TITLE),
        "killed": item.killed._asdict() if item.killed else None,
        "score": total_score(item) if item.score else None,
        "discriminates": cut(item.text("discriminates"), _MAX_TITLE) or None,
        "cells": [
            {
                "outcome": cut(cell.outcome, _MAX_OUTCOME),
                "letter": cell.letter or None,
                "declared": cell.is_key,
                "published": True,
            }
            for cell in rows.slice(column.cells)
        ],
        "unpublished": [],
        "declares_outcomes": column.has_declared_outcomes,
        "separates": _separates(column, found),
        "groups": {
            letter: list(ids[:_MAX_PAIRS])
            for letter, ids in groups_by_letter(column, found.hypotheses).items()
        },
    }


def _unseparated(found: EvidenceMatrix, section: Section) -> Document:
    """Return the pairs of hypotheses that no prediction, or no test, separates.

    The pairs of `pairs` have the same outcomes. Those of `worded_differently` have different ones,
    but not different declared keys.
    """
    worded = list(islice(pairs_worded_differently(found, section), _MAX_PAIRS + 1))
    pairs = list(islice(unseparated_pairs(found, section), _MAX_PAIRS + 1))
    active = [each for each in found.columns if each.section is section and each.item.is_active]
    return {
        "kind": _KINDS[section],
        "active": len(active),
        "hypotheses": sum(each.is_active for each in found.hypotheses),
        "pairs": [list(pair) for pair in pairs[:_MAX_PAIRS]],
        "apart": [
            {"id": name, "others": list(others)} for name, others in group_pairs(pairs[:_MAX_PAIRS])
        ],
        "has_more": len(pairs) > _MAX_PAIRS,
        "worded_differently": [list(pair) for pair in worded[:_MAX_PAIRS]],
        "worded_apart": [
            {"id": name, "others": list(others)}
            for name, others in group_pairs(worded[:_MAX_PAIRS])
        ],
        "has_more_worded": len(worded) > _MAX_PAIRS,
    }


def _unknown_hypotheses(found: EvidenceMatrix) -> Iterator[Document]:
    for column in found.columns:
        for name, outcome in column.unknown_hypotheses:
            yield {"id": column.item.id, "hypothesis": name, "outcome": cut(outcome, _MAX_TITLE)}


# Which test next (R32)


def _next_tests(found: NextTests) -> Document:
    chosen = found.separating_set
    return {
        "hypotheses": len(found.hypotheses),
        "max_bits": found.max_bits,
        "tests": [_ranked_test(each) for each in found.tests[:_MAX_TESTS]],
        "number_of_tests": len(found.tests),
        "separating_set": chosen
        and {
            "tests": list(chosen.tests[:_MAX_PAIRS]),
            "basis": chosen.basis,
            "is_exact": chosen.is_exact,
        },
    }


def _ranked_test(test: RankedTest) -> Document:
    return {
        "id": test.item.id,
        "name": cut(test.item.title, _MAX_TITLE),
        "bits": test.bits,
        "basis": test.basis,
        "groups": [list(members[:_MAX_PAIRS]) for _, members in test.groups[:_MAX_PAIRS]],
        "silent": list(test.silent[:_MAX_PAIRS]),
        "cost_usd": test.cost_in_usd,
        "weeks": test.weeks,
        "bits_per_cost": test.bits_per_usd,
        "bits_per_time": test.bits_per_week,
        "score": test.score,
        "has_verdict": test.has_verdict,
    }


# Scores


def _tests(found: EvidenceMatrix) -> Document:
    tests = [each.item for each in found.columns if each.section is DISCRIMINATIVE_TESTS]
    return {
        "tests": [_test(each) for each in tests[:_MAX_TESTS]],
        "number_of_tests": len(tests),
        "most_charted": MAX_BARS,
        "parts": [{"part": part, "label": SCORE_LABELS[part]} for part in SCORE_PARTS],
        "most_score": MOST_SCORE * len(SCORE_PARTS),
    }


def _test(item: Item) -> Document:
    return {
        "id": item.id,
        "name": cut(item.title, _MAX_TITLE),
        "killed": bool(item.killed),
        "total": total_score(item) if item.score else None,
        "score": {part: item.score.get(part) for part in SCORE_PARTS},
    }
