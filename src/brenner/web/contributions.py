"""What a DELTA contributes, as sentences: an item added, a field changed, an item killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.diff import field_label, value_text
from brenner.artifact.state import BlockOutcome, Change
from brenner.protocol.delta.schema import ADD, KILL, SECTIONS
from brenner.text import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from brenner.artifact.model import Item
    from brenner.web.request import Document
    from brenner.web.sessions import Session

_MAX_TEXT = 160
_MAX_FIELDS = 12  # per block; the rest is in the message
_TITLES = ("name", "condition", "statement")


def sentences(session: Session, blocks: Iterable[Document]) -> list[Document]:
    """Return a sentence for every change of applied blocks: the verb, the item and the values.

    A block that no version has read yet is compared with the latest version.
    """
    applied = (each for each in blocks if each["state"] == BlockOutcome.APPLIED)
    return [said for block in applied for said in _block_sentences(session, block)]


def changed_fields(session: Session, message_id: int, block: int) -> list[str]:
    """Return the labels of the fields that a block has changed."""
    return [label for label, _ in session.cached(_changes).get((message_id, block), ())]


def _block_sentences(session: Session, block: Document) -> Iterator[Document]:
    payload = block["payload"]
    fields = payload if isinstance(payload, dict) else {}
    item_id = block["item_id"] or block.get("assigned_id")
    about = {"block": block["block"], "item_id": item_id, "section": block.get("section")}
    if block.get("operation") == ADD:
        title = next((fields[name] for name in _TITLES if name in fields), block.get("name"))
        yield about | _sentence("added", new=title)
    elif block.get("operation") == KILL:
        yield about | _sentence("killed", new=fields.get("reason"))
    elif block["version"] is not None:
        yield from (about | each for each in _changed_fields(session, block))
    else:
        yield from (about | each for each in _expected_fields(session, block, fields))


def _changed_fields(session: Session, block: Document) -> Iterator[dict[str, object]]:
    for label, change in session.cached(_changes).get((block["message_id"], block["block"]), ()):
        yield _sentence("changed", label, change.replaced, change.value)


def _expected_fields(
    session: Session, block: Document, fields: Mapping[str, object]
) -> Iterator[dict[str, object]]:
    item, section = session.cached(_items).get(str(block["item_id"])), str(block["section"])
    for name, value in list(fields.items())[:_MAX_FIELDS] if section in SECTIONS else ():
        known = item.fields.get(name) if item else None
        yield _sentence("changed", _label(section, (name,)), known, value)


def _sentence(
    does: str, field: str = "", old: object = None, new: object = None
) -> dict[str, object]:
    return {"does": does, "field": field, "old": _short(old), "new": _short(new)}


def _short(value: object) -> str:
    return cut(" ".join(value_text(value).split()), _MAX_TEXT)


def _label(section: str, path: tuple[str, ...]) -> str:
    """Return the label of a field within a sentence."""
    label = field_label(section, path)
    return label if label[:2].isupper() or label[-1:].isdigit() else label[:1].lower() + label[1:]


# Cached per state of a session


def _items(session: Session) -> Mapping[str, Item]:
    return {item.id: item for _, item in session.history.state.artifact.all_items()}


def _changes(session: Session) -> Mapping[tuple[object, object], list[tuple[str, Change]]]:
    """Return the changes of every block: the label of the field, and the change."""
    found: dict[tuple[object, object], list[tuple[str, Change]]] = {}
    state = session.history.state
    sections = {item.id: section.id for section, item in state.artifact.all_items()}
    for item_id, changes in state.blame.items():
        for path, latest in changes.items():
            for change in latest.history():
                key = (change.source.message_id, change.source.block)
                some = found.setdefault(key, [])
                if len(some) < _MAX_FIELDS and item_id in sections:
                    some.append((_label(sections[item_id], path), change))
    return found
