"""What changed between two versions, item by item and field by field."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import cast

from brenner.artifact.conflicts import Conflict
from brenner.artifact.diff import Diff, ItemChange, diff
from brenner.artifact.field_marks import Marks, field_marks, item_marks
from brenner.artifact.field_words import label_of
from brenner.artifact.json_form import diff_json
from brenner.artifact.layout import LAYOUT_OF
from brenner.artifact.ledger import Outcome
from brenner.artifact.summary import changes, same_words, summary
from brenner.web.item_view import by_item
from brenner.web.paging import part, part_json
from brenner.web.reading import Session
from brenner.web.visit import Visit
from brenner.workflows.compare_versions import Side

_MOST = 100
_MOST_SAME = 200
_By = Mapping[str, list[dict[str, object]]]


def items_document(visit: Visit, old: Side, new: Side) -> dict[str, object]:
    """The keys of `artifact diff --json`, of one part of the items; and what each looks like."""
    found = diff(old.artifact, new.artifact)
    which = part(visit, len(found.items), _MOST)
    shown = found._replace(items=tuple(which.of(found.items)))
    document = diff_json(shown, old.artifact.metadata, new.artifact.metadata)
    by = _authors(visit.session, old.number, new.number)
    listed = cast("list[dict[str, object]]", document["items"])
    open_ = _conflicts(visit.session, new.number)
    told = [
        each | _looks(change, by, open_.get(change.id, ()))
        for each, change in zip(listed, shown.items, strict=True)
    ]
    asked = {"from": old.number, "to": new.number}
    where = part_json(which, visit.thread_id, "diff", asked)
    return document | {
        "sentence": summary(found),
        "changes": changes(found),
        "items": told,
        "metadata_marks": [
            {"label": each.field, "marks": marks_json(field_marks(each))} for each in found.metadata
        ],
        "same": same_words(found.unchanged),
        "unchanged_items": _same(found, new),
        "part": where,
        "next": where["next"],
    }


def _conflicts(session: Session, number: int) -> Mapping[str, tuple[Conflict, ...]]:
    """What authors disagree on in a version, by item."""
    known = session.ledgers.get(number)
    return by_item(known.conflicts if known else ())


def _looks(change: ItemChange, by: _By, conflicts: Iterable[Conflict]) -> dict[str, object]:
    """What stands on the page beside the values: labels, marks, and whose deltas did it.

    A field on which authors disagree has the conflict, which says whose value stands.
    """
    disputed = {label_of(change.section, each.path): each.to_json() for each in conflicts}
    return {
        "heading": LAYOUT_OF[change.section].heading,
        "by": by.get(change.id, []),
        "marks": [
            {"label": label, "marks": marks_json(marks), "conflict": disputed.get(label)}
            for label, marks in item_marks(change)
        ],
    }


def marks_json(marks: Marks) -> list[dict[str, str]]:
    """Stretches of a text with their marks."""
    return [{"mark": span.mark.value, "text": span.text} for span in marks]


def _authors(session: Session, old: int, new: int) -> _By:
    """By item, who changed it after the one version and up to the other, in which messages."""
    found: dict[str, dict[tuple[str, int], None]] = {}
    for number, ledger in session.ledgers.items() if old < new else ():
        for entry in ledger.entries if old < number <= new else ():
            if entry.state is Outcome.APPLIED and entry.item_id:
                found.setdefault(entry.item_id, {})[entry.agent, entry.message_id] = None
    return {
        item: [{"agent": agent, "message_id": message} for agent, message in pairs]
        for item, pairs in found.items()
    }


def _same(found: Diff, new: Side) -> list[dict[str, str]]:
    """The items that did not change, as many as one looks through."""
    changed = {(change.section, change.id) for change in found.items}
    kept: Iterable[dict[str, str]] = (
        {"id": item.id, "section": section.id, "title": item.title}
        for section, item in new.artifact.all_items()
        if item.fields and (section.id, item.id) not in changed
    )
    return list(islice(kept, _MOST_SAME))
