"""The overview `/sessions/T`: the question, the state or the conclusion, how each hypothesis
changed, which pairs no test separates, results, and what waits for the operator.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from brenner.artifact.lanes import Attack, Lane, LaneMark, MarkKind, lanes_of
from brenner.artifact.model import Artifact, Item, Result, in_display_order
from brenner.artifact.next_test import DECLARED, NextTests
from brenner.artifact.pairs import PairCell, active_tests, describe_state, pair_rows
from brenner.artifact.state import NO_BLAME, Blame
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, HYPOTHESIS_SLATE
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import CRITIQUE
from brenner.text import cut
from brenner.web import links
from brenner.web.draft import draft_document, shown_draft, unpublished_items
from brenner.web.layout import load_session_file, session_document, session_or_none
from brenner.web.request import Document, Page, PageResult, Redirect, RequestContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.web.sessions import Session

TEMPLATE = "pages/overview.html"
# Before there was an overview, the artifact had this address; these are its query parameters.
_OF_THE_ARTIFACT = ("version", "section", "page", "provenance")
_MAX_LANES, _MAX_PAIRED, _MAX_RESULTS, _MAX_MARKS = 16, 10, 8, 300
_LONGEST_NAME, _LONGEST_CLAIM, _LONGEST_OUTCOME = 120, 400, 200


def page(context: RequestContext) -> PageResult:
    """Return the overview. An old link to a part of the artifact leads to the artifact."""
    if any(name in context.query for name in _OF_THE_ARTIFACT):
        return Redirect(links.session(context.thread_id, "artifact", **context.query))
    draft = shown_draft(context, session_or_none(context))
    return Page(TEMPLATE, "Overview", overview_document(context, is_draft=draft is not None))


def overview_document(context: RequestContext, *, is_draft: bool = False) -> Document:
    """Return the document of the page, with the argument of the working draft if `is_draft`."""
    session = session_or_none(context)
    argument_of = _argument_of_draft if is_draft else _argument_of
    found = session.cached(argument_of) if session else _argument_of_file(context)
    return {
        "session": session_document(context),
        **draft_document(context, session, is_shown=is_draft),
        "question": found.question,
        "thread_id": context.thread_id,
        "version": found.version,
        "conclusion": found.conclusion or None,
        "state": found.state,
        "unpublished": session.cached(_unpublished) if session else None,
        "lanes": found.lanes,
        "pairs": found.pairs,
        "results": found.results,
    }


class OverviewContent(NamedTuple):
    """What the page shows of the artifact. It is the same for all readers.

    The state, the pairs and the results are those of the latest version; before the first, those of
    the version that a compile would publish now. The lanes always include what is not published.
    """

    version: int | None
    question: str
    conclusion: str
    state: str
    lanes: Document
    pairs: Document
    results: Document


def _argument_of(session: Session) -> OverviewContent:
    versions = [each.number for each in session.history.versions]
    artifact = session.history.state.artifact if versions else session.merged.artifact
    return _argument_with_lanes(session, artifact, ItemLinks(session.thread_id))


def _argument_of_draft(session: Session) -> OverviewContent:
    """Return the argument of what a compile would publish now. Its items have pages."""
    unpublished = unpublished_items(session.merged.blame, session.history.number)
    found = ItemLinks(session.thread_id, is_draft=True, unpublished=unpublished)
    return _argument_with_lanes(session, session.merged.artifact, found)


def _argument_with_lanes(session: Session, artifact: Artifact, to: ItemLinks) -> OverviewContent:
    versions = [each.number for each in session.history.versions]
    working, attacks = session.merged, tuple(_attacks(session))
    lanes = lanes_document(to, working.artifact, working.blame, versions, attacks)
    return _argument(to, artifact, lanes, versions)


class ItemLinks(NamedTuple):
    """The addresses of items: in the latest version, or in the working draft.

    Of the draft, `unpublished` are the items with values that no version has.
    """

    thread_id: str
    is_draft: bool = False
    unpublished: frozenset[str] = frozenset()

    def link(self, item_id: str) -> str:
        return links.item(self.thread_id, item_id, draft=1 if self.is_draft else None)

    def has_page(self, *, is_published: bool) -> bool:
        return is_published or self.is_draft


def _argument_of_file(context: RequestContext) -> OverviewContent:
    """Return the argument of a session without mail. Its file does not record who wrote what."""
    artifact = load_session_file(context).artifact
    number = artifact.metadata.version
    versions = [number] if number else []
    to = ItemLinks(context.thread_id)
    lanes = lanes_document(to, artifact, NO_BLAME, versions)
    return _argument(to, artifact, lanes, versions)


def _argument(
    to: ItemLinks, artifact: Artifact, lanes: Document, versions: Sequence[int]
) -> OverviewContent:
    tests = active_tests(artifact)
    return OverviewContent(
        versions[-1] if versions else None,
        artifact.research_thread.text("statement"),
        artifact.research_thread.text("conclusion"),
        describe_state(artifact, versions[-1] if versions else 0, tests),
        lanes,
        pairs_document(to, tests),
        results_document(to, artifact),
    )


def _unpublished(session: Session) -> Document | None:
    """Return how many deltas no version has read, and how many of their blocks would apply."""
    status = session.status
    if not status.unread or status.is_over:
        return None
    return {"deltas": status.unread, "applies": status.applies}


# CRITIQUE messages as attacks on hypotheses


_TARGET = lazy_pattern(
    r"^#{1,6}[ \t]*Target\b[^\n]*\n((?:(?!#)[^\n]*\n)*)", re.MULTILINE | re.IGNORECASE
)


def _attacks(session: Session) -> Iterator[Attack]:
    """Yield the CRITIQUE messages that name items as their target, each content once."""
    published = [each.message_id for each in session.history.versions]
    numbers = [each.number for each in session.history.versions]
    following = [*numbers, (numbers[-1] if numbers else 0) + 1]
    seen = set()
    for stored in session.messages:
        if stored.type == CRITIQUE.name and stored.content_hash not in seen:
            seen.add(stored.content_hash)
            targets = critique_targets(stored.message.body)
            if targets:
                version = following[bisect_left(published, stored.id)]
                yield Attack(stored.id, stored.message.sender, version, targets)


def critique_targets(body: str) -> tuple[str, ...]:
    """Return the items that the section `Target` of a critique names, each once."""
    found = _TARGET.search(f"{body}\n")
    return tuple(dict.fromkeys(ITEM_ID_IN_PROSE.findall(found[1]))) if found else ()


# Lanes


def lanes_document(
    to: ItemLinks,
    artifact: Artifact,
    blame: Blame,
    versions: Sequence[int],
    attacks: Sequence[Attack] = (),
) -> Document:
    """Return the lanes with their marks, the agents that made them, and the versions.

    If there are many hypotheses, the active ones come first.
    """
    found = lanes_of(artifact, blame, versions, attacks)
    latest = versions[-1] if versions else 0
    lanes = found.lanes
    if len(lanes) > _MAX_LANES:
        lanes = tuple(sorted(lanes, key=lambda lane: not lane.hypothesis.is_active))
    shown = lanes[:_MAX_LANES]
    agents = dict.fromkeys(mark.agent for lane in shown for mark in lane.marks)
    return {
        "versions": [
            {"version": each.version, "end": each.end, "published": each.version <= latest}
            for each in found.columns
        ],
        "hypotheses": [_lane(to, lane, latest) for lane in shown],
        "total": len(lanes),
        "agents": list(agents),
    }


def _lane(to: ItemLinks, lane: Lane, latest: int) -> Document:
    item = lane.hypothesis
    born = next((mark for mark in lane.marks if mark.kind is MarkKind.BORN), None)
    is_published = born is None or born.version <= latest
    killed = next((mark for mark in lane.marks if mark.kind is MarkKind.KILLED), None)
    return {
        "id": item.id,
        "name": cut(item.title, _LONGEST_NAME),
        "claim": cut(item.text("claim"), _LONGEST_CLAIM),
        "link": to.link(item.id)
        if to.has_page(is_published=is_published)
        else links.message(born.message_id if born else 0),
        "published": is_published,
        "third_alternative": "third_alternative" in item.fields,
        "killed": item.killed._asdict() | {"published": killed is None or killed.version <= latest}
        if item.killed
        else None,
        "start": lane.start,
        "end": lane.end,
        "marks": [
            _mark(to, mark, place, latest)
            for mark, place in with_room(_first_and_latest(lane.marks))
        ],
    }


def _first_and_latest(marks: Sequence[LaneMark]) -> Sequence[LaneMark]:
    """Return all marks, or of too many the first and the latest ones."""
    return marks if len(marks) <= _MAX_MARKS else (marks[0], *marks[1 - _MAX_MARKS :])


def _mark(to: ItemLinks, mark: LaneMark, place: float, latest: int) -> Document:
    is_published = mark.version <= latest
    return {
        "kind": mark.kind.value,
        "version": mark.version,
        "published": is_published,
        "message_id": mark.message_id,
        "agent": mark.agent,
        "item": mark.item,
        "fields": list(mark.fields),
        "place": round(place, 4),
        "link": to.link(mark.item)
        if mark.item is not None and to.has_page(is_published=is_published)
        else links.message(mark.message_id),
    }


# Marks of one kind have a row of the lane in common, and their least distance on it.
_ROWS: Mapping[MarkKind, str] = {
    MarkKind.ATTACKED: "above",
    MarkKind.ANOMALY: "above",
    MarkKind.CONTRADICTED: "below",
    MarkKind.SUPPORTED: "below",
}
_LEAST_DISTANCE = {"above": 0.08, "below": 0.08, "line": 0.025}


def with_room(marks: Sequence[LaneMark]) -> Iterator[tuple[LaneMark, float]]:
    """Yield marks with places at which they do not cover each other, as far as there is room."""
    found: dict[int, float] = {}
    for row, least in _LEAST_DISTANCE.items():
        own = [number for number, mark in enumerate(marks) if _ROWS.get(mark.kind, "line") == row]
        found |= zip(own, spread([marks[number].place for number in own], least), strict=True)
    yield from ((mark, found[number]) for number, mark in enumerate(marks))


def spread(places: Sequence[float], least: float) -> list[float]:
    """Move sorted places apart by a least distance, without leaving 0 to 1 or changing order."""
    least = min(least, 1 / (len(places) + 1))
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + least) if found else place)
    limit = 1 - least / 2
    for number in reversed(range(len(found))):
        found[number] = limit = min(found[number], limit)
        limit -= least
    return found


# Pairs


def pairs_document(to: ItemLinks, found: NextTests) -> Document:
    """Return the triangle of the active hypotheses, with the best test for each pair."""
    count = len(found.hypotheses)
    separated, worded = found.count_separated(), found.count_only_worded_differently()
    pairs = count * (count - 1) // 2
    chosen = found.separating_set
    return {
        "hypotheses": list(found.hypotheses[:_MAX_PAIRED]),
        "total": count,
        "rows": [
            {"id": row[0].second, "cells": [_cell(to, each) for each in row]}
            for row in pair_rows(found, _MAX_PAIRED)
        ],
        "pairs": pairs,
        "separated": separated,
        "only_worded_differently": worded,
        "not_distinguished": pairs - separated - worded,
        "best": found.best.item.id if found.best else None,
        "separating_set": list(chosen.tests) if chosen else None,
    }


def _cell(to: ItemLinks, cell: PairCell) -> Document:
    test = cell.test
    return {
        "first": cell.first,
        "second": cell.second,
        "test": test.item.id if test else None,
        "name": cut(test.item.title, _LONGEST_NAME) if test else None,
        "link": to.link(test.item.id) if test else None,
        "published": not (test and test.item.id in to.unpublished),
        "basis": cell.basis,
        "separated": cell.basis == DECLARED,
        "has_result": bool(test and test.has_verdict),
        "focus": f"A test that separates {cell.first} from {cell.second}",
    }


# Results


def results_document(to: ItemLinks, artifact: Artifact) -> Document:
    """Return the latest results of tests, newest test first."""
    tests = in_display_order(DISCRIMINATIVE_TESTS, artifact.sections[DISCRIMINATIVE_TESTS.id])
    found = [(test, result) for test in tests for result in test.results]
    known = {item.id for item in artifact.sections[HYPOTHESIS_SLATE.id]}
    return {
        "total": len(found),
        "shown": [_result(to, *each, known) for each in found[:_MAX_RESULTS]],
    }


def _result(to: ItemLinks, test: Item, result: Result, known: set[str]) -> Document:
    has_verdict = result.has_verdict
    return {
        "test": test.id,
        "name": cut(test.title, _LONGEST_NAME),
        "link": to.link(test.id),
        "published": test.id not in to.unpublished,
        "outcome": cut(_outcome_words(test, result), _LONGEST_OUTCOME),
        "potency": result.potency,
        "contradicts": [each for each in result.contradicts if each in known and has_verdict],
        "supports": [each for each in result.supports if each in known and has_verdict],
        "evidence": list(result.evidence),
        "claimed": not result.evidence,
    }


def _outcome_words(test: Item, result: Result) -> str:
    """Return the outcome, with its description if it is a declared key."""
    meaning = test.mapped("outcomes").get(result.outcome)
    return f"{result.outcome}: {meaning}" if meaning else result.outcome
