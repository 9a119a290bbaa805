"""Resolve local IDs: `"local_id": "epi"` on an ADD, `@epi` in the same message (R11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from brenner.diagnostics.codes import deltas as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.protocol.delta.parse import line_at
from brenner.protocol.delta.problems import MOST_PROBLEMS, JsonPath, format_path
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    RECORD_FORMAT,
    SECTIONS,
    VERDICT_FIELDS,
    DeltaBlock,
    Field,
    FieldKind,
    Operation,
)
from brenner.protocol.delta.validate import valid_local_id
from brenner.protocol.grammar import LOCAL_ID, LOCAL_REFERENCE, LOCAL_REFERENCE_ATTEMPT
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.diagnostics.model import Code, Diagnostic
    from brenner.markdown.blocks import Block

_LOCAL_ID_IN_TEXT = lazy_pattern(rf'"local_id"\s*:\s*"({LOCAL_ID.pattern})"')
_ANY_LOCAL_ID_IN_TEXT = lazy_pattern(r'"local_id"\s*:\s*"([^"\\\n]{1,64})"')
_MOST_NAMES = 200
_OF_HYPOTHESES = (FieldKind.OUTCOMES, FieldKind.RESULTS)  # IDs in them are of hypotheses


# The path of an `@name`, the name, and the section of the item it must refer to; None for any
LocalIdMention = tuple[JsonPath, str, str | None]


def local_ids_in_text(fences: list[Block]) -> tuple[str, ...]:
    """Return the names that the blocks introduce; of an invalid one the valid form.

    A name that occurs twice is listed twice, so that no other spelling can certainly mean it.
    """
    written = [name for fence in fences for name in _ANY_LOCAL_ID_IN_TEXT.findall(fence.text)]
    return tuple(valid_local_id(name) or name for name in written[:_MOST_NAMES])


def resolve_local_ids(
    blocks: list[DeltaBlock], thread_id: str | None, record_format: int = RECORD_FORMAT
) -> list[DeltaBlock]:
    """Refuse the blocks whose local IDs are duplicate, unknown or of the wrong section.

    A reference to another thread has no local IDs; without `thread_id` these are not recognised.
    Local IDs occur only in fields that the record format knows.
    """
    resolved, owners = _find_owners([_check_foreign(block, thread_id) for block in blocks])
    mentions = [list(_find_mentions(block, thread_id, record_format)) for block in resolved]
    for index, found in enumerate(mentions):
        for mention in found:
            if len(resolved[index].diagnostics) < MOST_PROBLEMS:
                resolved[index] = _check_mention(resolved[index], mention, owners)
    _refuse_dependents(resolved, mentions, owners)
    return resolved


def _check_foreign(block: DeltaBlock, thread_id: str | None) -> DeltaBlock:
    """Warn of an `@name` in a reference to another thread, where it has no meaning (R21)."""
    references = block.delta.payload.get("references", []) if block.delta and thread_id else []
    for index, reference in enumerate(cast("list[dict[str, str]]", references)):
        is_foreign = reference["session"] != thread_id and reference["item"].startswith("@")
        if is_foreign and len(block.diagnostics) < MOST_PROBLEMS:
            path: JsonPath = ("payload", "references", index, "item")
            reason = "is a local name of this message, but the reference is to another session"
            found = codes.UNKNOWN_REFERENCE.at(
                line_at(block, path), value=reference["item"], reason=reason
            ).in_block(block.number, block.written("target_id"), format_path(path))
            block = block._replace(diagnostics=(*block.diagnostics, found))
    return block


def _find_owners(blocks: list[DeltaBlock]) -> tuple[list[DeltaBlock], dict[str, DeltaBlock]]:
    """Map each local ID to the block that introduces it; refuse a second block with the same ID."""
    owners: dict[str, DeltaBlock] = {}
    resolved = []
    for original in blocks:
        block = original
        name = _introduced_local_id(block)
        if name in owners:
            first = owners[name].number
            path: JsonPath = ("local_id",)
            block = _refuse(block, codes.DUPLICATE_LOCAL_ID, path, name=name, first=first)
        elif name:
            owners[name] = block
        resolved.append(block)
    return resolved, owners


def _introduced_local_id(block: DeltaBlock) -> str:
    """Return the local ID that a block introduces, even if the rest of the block is unreadable."""
    if block.delta is None and block.written("local_id") is None:
        written = _LOCAL_ID_IN_TEXT.search(block.fence.text)
        return written[1] if written else ""
    is_add = block.written("operation") == Operation.ADD
    return block.written("local_id") or "" if is_add else ""


def _find_mentions(
    block: DeltaBlock, thread_id: str | None, record_format: int
) -> Iterator[LocalIdMention]:
    """Yield every `@name` of a block where IDs are allowed; of a refused one if readable."""
    section, target = SECTIONS.get(block.written("section") or ""), block.written("target_id")
    if section is None:
        return
    if target and _is_local_reference(target):
        yield ("target_id",), target[1:], section.id
    payload = block.value.get("payload") if isinstance(block.value, dict) else None
    fields = section.in_format(record_format).fields
    for name, content in payload.items() if isinstance(payload, dict) else ():
        if name in fields:
            field = fields[name]
            wanted = HYPOTHESIS_SLATE.id if field.kind in _OF_HYPOTHESES else None
            for path, mentioned in _local_ids_in(field, content, thread_id):
                yield ("payload", name, *path), mentioned, wanted


def _local_ids_in(
    field: Field, content: object, thread_id: str | None
) -> Iterator[tuple[JsonPath, str]]:
    if field.kind is FieldKind.OUTCOMES and isinstance(content, dict):
        yield from (((key,), key[1:]) for key in content if _is_local_reference(key))
    elif field.kind is FieldKind.ITEMS and isinstance(content, list):
        yield from (
            ((index,), item[1:]) for index, item in enumerate(content) if _is_local_reference(item)
        )
    elif field.kind is FieldKind.REFERENCES and isinstance(content, list):
        for index, reference in enumerate(content):
            item, session = _item_and_session(reference)
            if _is_local_reference(item) and thread_id in (None, session):
                yield (index, "item"), str(item)[1:]
    elif field.kind is FieldKind.RESULTS and isinstance(content, list):
        yield from _local_ids_in_results(content)
    elif field.names_items and isinstance(content, str):
        yield from (((), name[1:]) for name in LOCAL_REFERENCE_ATTEMPT.findall(content))


def _local_ids_in_results(results: list[object]) -> Iterator[tuple[JsonPath, str]]:
    for index, result in enumerate(results):
        for name in VERDICT_FIELDS if isinstance(result, dict) else ():
            listed = cast("dict[str, object]", result).get(name)
            for at, item in enumerate(listed if isinstance(listed, list) else ()):
                if _is_local_reference(item):
                    yield (index, name, at), item[1:]


def _item_and_session(reference: object) -> tuple[object, object]:
    """Return the item and the session of a reference; both are None if it is no object."""
    if not isinstance(reference, dict):
        return None, None
    return reference.get("item"), reference.get("session")


def _is_local_reference(item: object) -> bool:
    """Return whether it is a valid `@name`; an invalid one is reported elsewhere."""
    return isinstance(item, str) and LOCAL_REFERENCE.fullmatch(item) is not None


def _check_mention(
    block: DeltaBlock, mention: LocalIdMention, owners: dict[str, DeltaBlock]
) -> DeltaBlock:
    path, written, wanted = mention
    owner = owners.get(written)
    name = f"@{written}"
    if owner is None:
        near = closest(written, owners)
        hint = did_you_mean(f"@{near}" if near else None)
        words = {"name": name, "field_name": format_path(path), "suggestion": hint}
        return _refuse(block, codes.UNKNOWN_LOCAL_ID, path, **words)
    if wanted in (None, owner.written("section")) or owner.delta is None:
        return block
    if path == ("target_id",):
        prefix = SECTIONS[str(wanted)].prefix
        words = {"target": name, "section": str(wanted), "prefix": prefix}
        return _refuse(block, codes.TARGET_SECTION_MISMATCH, path, **words)
    words = {
        "name": format_path(path[:-1]),
        "value": name,
        "expected": "a hypothesis",
        "example": "H1",
        "suggestion": "",
    }
    return _refuse(block, codes.INVALID_ITEM_ID, path, **words)


def _refuse_dependents(
    blocks: list[DeltaBlock], mentions: list[list[LocalIdMention]], owners: dict[str, DeltaBlock]
) -> None:
    """Refuse, transitively, blocks that refer to an item whose ADD is refused."""
    waiting: dict[str, list[tuple[int, JsonPath]]] = {}
    for index, found in enumerate(mentions):
        for path, name, _ in found:
            waiting.setdefault(name, []).append((index, path))
    number = {owner.number: name for name, owner in owners.items()}
    refused = [name for name, owner in owners.items() if blocks[owner.number - 1].delta is None]
    while refused:
        name = refused.pop()
        first = owners[name].number
        for index, path in waiting.pop(name, []):
            if blocks[index].delta is None:
                continue
            code = codes.DEPENDS_ON_REFUSED
            depends = _at(blocks[index], code, path, name=f"@{name}", first=first)
            # It needs no change itself: fixing the block that it depends on fixes it too.
            is_fixable = blocks[first - 1].is_fixable
            blocks[index] = blocks[index].refused(depends._replace(fixable=is_fixable))
            if blocks[index].number in number:
                refused.append(number[blocks[index].number])


def _refuse(block: DeltaBlock, code: Code, path: JsonPath, **words: str | int) -> DeltaBlock:
    return block.refused(_at(block, code, path, **words))


def _at(block: DeltaBlock, code: Code, path: JsonPath, **words: str | int) -> Diagnostic:
    found = code.at(line_at(block, path), **words)
    return found.in_block(block.number, block.written("target_id"), format_path(path))
