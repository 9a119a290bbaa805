"""What changed between two versions, item by item and field by field."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from brenner.artifact.diff import (
    Diff,
    ItemChange,
    Marks,
    changes,
    diff,
    field_marks,
    item_marks,
    label_of,
    same_words,
    summary,
)
from brenner.artifact.model import LAYOUT_OF
from brenner.artifact.serialize import diff_json, item_change_json
from brenner.artifact.state import Conflict, Entry, Outcome
from brenner.services.versions import Side
from brenner.web.item_view import by_item
from brenner.web.paging import in_session, part, part_json
from brenner.web.reading import Session
from brenner.web.visit import Visit

_MOST = 100
_MOST_SAME = 200


def items_document(visit: Visit, old: Side, new: Side) -> dict[str, object]:
    """The keys of `artifact diff --json`, of one part of the items; and what each looks like."""
    found = diff(old.artifact, new.artifact)
    which = part(visit, len(found.items), _MOST)
    entries = _entries(visit.session, old.number, new.number)
    conflicts = _conflicts(visit.session, new.number)
    bare = found._replace(items=())
    asked = {"from": old.number, "to": new.number}
    where = part_json(which, in_session(visit.thread_id, "diff", asked))
    return diff_json(bare, old.artifact.metadata, new.artifact.metadata) | {
        "sentence": summary(found),
        "changes": changes(found),
        "items": changed_items(which.of(found.items), entries, conflicts),
        "metadata_marks": [
            {"label": each.field, "marks": marks_json(field_marks(each))} for each in found.metadata
        ],
        "same": same_words(found.unchanged),
        "unchanged_items": _same(found, new),
        "part": where,
        "next": where["next"],
    }


def _entries(session: Session, old: int, new: int) -> Iterator[Entry]:
    """The blocks that were read after the one version and up to the other."""
    for number, ledger in session.ledgers.items():
        if old < number <= new:
            yield from ledger.entries


def _conflicts(session: Session, number: int) -> Mapping[str, tuple[Conflict, ...]]:
    """What authors disagree on in a version, by item."""
    known = session.ledgers.get(number)
    return by_item(known.conflicts if known else ())


def changed_items(
    changed: Iterable[ItemChange],
    entries: Iterable[Entry],
    conflicts: Mapping[str, Iterable[Conflict]] = MappingProxyType({}),
) -> list[dict[str, object]]:
    """Items under the keys of `artifact diff --json`, with what each looks like and whose blocks,
    of `entries`, did it.
    """
    by = _authors(entries)
    return [
        item_change_json(each)
        | _looks(each, conflicts.get(each.id, ()))
        | {"by": by.get(each.id, [])}
        for each in changed
    ]


def _looks(change: ItemChange, conflicts: Iterable[Conflict]) -> dict[str, object]:
    """What stands on the page beside the values: labels and marks.

    A field on which authors disagree has the conflict, which says whose value stands.
    """
    disputed = {label_of(change.section, each.path): each.to_json() for each in conflicts}
    return {
        "heading": LAYOUT_OF[change.section].heading,
        "marks": [
            {"label": label, "marks": marks_json(marks), "conflict": disputed.get(label)}
            for label, marks in item_marks(change)
        ],
    }


def marks_json(marks: Marks) -> list[dict[str, str]]:
    """Stretches of a text with their marks."""
    return [{"mark": span.mark.value, "text": span.text} for span in marks]


def _authors(entries: Iterable[Entry]) -> Mapping[str, list[dict[str, object]]]:
    """By item, who changed it, in which messages."""
    found: dict[str, dict[tuple[str, int], None]] = {}
    for entry in entries:
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
