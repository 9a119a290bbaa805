"""Artifacts and their differences as JSON; keys are only ever added."""

from collections.abc import Mapping

from brenner.artifact.diff import Diff, FieldChange, ItemChange, ranks
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Metadata
from brenner.artifact.ranking import total
from brenner.artifact.summary import changes, summary
from brenner.artifact.words import word_spans
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, RESEARCH_THREAD, FieldKind, Section

_LISTS = (FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES)
_MAPS = (FieldKind.OUTCOMES, FieldKind.SCORE)


def artifact_json(artifact: Artifact) -> dict[str, object]:
    """`metadata`, `research_thread`, and the items of the other sections by section ID.

    A field that is not there is null, false, [] or {}, by its kind. Tests stand in the order of
    their numbers, each with its `score_total` (null without a score) and its `rank`.
    """
    document: dict[str, object] = {
        "metadata": plain(artifact.metadata._asdict()),
        RESEARCH_THREAD.id: _item(RESEARCH_THREAD, artifact.research_thread),
    }
    for section in ITEM_SECTIONS:
        items = artifact.sections[section.id]
        is_ranked = section is DISCRIMINATIVE_TESTS
        document[section.id] = (
            _tests(items) if is_ranked else [_item(section, item) for item in items]
        )
    return document


def _tests(tests: tuple[Item, ...]) -> list[dict[str, object]]:
    return [
        _item(DISCRIMINATIVE_TESTS, test)
        | {"score_total": total(test) if test.score else None, "rank": rank}
        for test, rank in zip(tests, ranks(tests), strict=True)
    ]


def _item(section: Section, item: Item) -> dict[str, object]:
    values = {
        name: plain(item.fields[name]) if name in item.fields else _nothing(field.kind)
        for name, field in section.fields.items()
    }
    return {"id": item.id, **values, "killed": plain(item.killed)}


def _nothing(kind: FieldKind) -> object:
    if kind in _LISTS:
        return []
    if kind in _MAPS:
        return {}
    return False if kind is FieldKind.FLAG else None


def plain(value: object) -> object:
    """A value of the model as JSON has it."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def diff_json(diff: Diff, old: Metadata, new: Metadata) -> dict[str, object]:
    """The difference: which versions, in one sentence, as lists of IDs, item by item.

    `summary` is left to the count of violations, as everywhere.
    """
    return {
        "old": _version(old),
        "new": _version(new),
        "sentence": summary(diff),
        "changes": changes(diff),
        "unchanged": diff.unchanged,
        "items": [item_change_json(change) for change in diff.items],
        "metadata": [_field_change(change) for change in diff.metadata],
    }


def _version(metadata: Metadata) -> dict[str, object]:
    return {
        "session_id": metadata.session_id,
        "version": metadata.version,
        "compiled_at": metadata.compiled_at,
    }


def item_change_json(change: ItemChange) -> dict[str, object]:
    """An item that changed, field by field."""
    rank = {"old": change.rank[0], "new": change.rank[1]} if change.rank else None
    return {
        "id": change.id,
        "section": change.section,
        "title": change.title,
        "kinds": [kind.value for kind in change.kinds],
        "occurrence": change.occurrence,
        "rank": rank,
        "fields": [_field_change(field) for field in change.fields],
    }


def _field_change(change: FieldChange) -> dict[str, object]:
    """Of a list also what came and went; of a text that replaced another one, the words."""
    document: dict[str, object] = {
        "field": change.field,
        "path": list(change.path),
        "old": plain(change.old),
        "new": plain(change.new),
    }
    if isinstance(change.old, list | tuple) or isinstance(change.new, list | tuple):
        document |= {"added": plain(change.added), "removed": plain(change.removed)}
    elif isinstance(change.old, str) and isinstance(change.new, str):
        document["words"] = [
            {"mark": span.mark.value, "text": span.text}
            for span in word_spans(change.old, change.new)
        ]
    return document
