"""What a person has changed in an artifact's file, as the deltas that would bring it in (R19).

The changes are turned into deltas, and the deltas are tried on the version: what the artifact that
comes out does not have is a change that no delta can make, and is told in words.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.diff import KILLED, Diff, ItemChange, Kind, diff
from brenner.artifact.holds import Missing, is_numbered, missing_from, new_numbers
from brenner.artifact.ledger import Entry, Outcome
from brenner.artifact.merge import Merge, merge
from brenner.artifact.model import Artifact, Fields, Item
from brenner.artifact.state import adopted_state
from brenner.artifact.wishes import (
    Wish,
    granted,
    known_ids,
    objection,
    wishes,
)
from brenner.diagnostics.codes.deltas import DEPENDS_ON_REFUSED
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import SECTIONS, Delta, Operation, Section
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, Posted, render_message_file
from brenner.protocol.subjects import compose_subject
from brenner.text import visible

_PUBLISHED = datetime(2000, 1, 1, tzinfo=UTC)  # any time: no artifact shows it
_ROLE = "human"


class HandEdits(NamedTuple):
    """The deltas that make the changes, and, in words, the changes that no delta can make."""

    deltas: tuple[Delta, ...]
    other: tuple[str, ...]
    version: Artifact
    edited: Artifact


def hand_edits(version: Artifact, edited: Artifact) -> HandEdits:
    """What was changed from a published version to what its file says now."""
    before, after = _without_repetitions(version), _without_repetitions(edited)
    found = diff(before, after)
    if found.is_empty:
        return HandEdits((), (), before, after)
    moved = _moved(found)
    wanted = [
        wish
        for wish in wishes(before, after, found)
        if (wish.section.id, wish.item_id) not in moved
    ]
    trial = _try(wanted, before)
    other = _told(missing_from(trial.artifact, before, after), moved, trial.objections)
    numbers = new_numbers(trial.artifact, before, after).items()
    other += [_numbered(item_id, number) for (_, item_id), number in numbers if item_id != number]
    return HandEdits(trial.deltas, tuple(dict.fromkeys(other)), before, after)


def are_contained(edits: HandEdits, new: Artifact) -> bool:
    """Whether a new version has all of the changes, also those that no delta can make.

    A new item counts under any number, and a kill by its reason: the rest of both is not the
    file's to say.
    """
    return next(missing_from(new, edits.version, edits.edited), None) is None


def human_delta(
    edits: HandEdits, thread_id: str, version: int, sender: str, recipients: tuple[str, ...]
) -> str:
    """A whole message file that brings the deltas in, on the version that was edited.

    Empty where there are none: a DELTA message without a block says nothing.
    """
    if not edits.deltas:
        return ""
    body = _body(edits.deltas, version)
    return render_message_file(Message(thread_id, sender, recipients, _subject(version), body))


def _subject(version: int) -> str:
    return compose_subject(DELTA.name, f"Edits of the file of v{version}", _ROLE)


def _body(deltas: Iterable[Delta], version: int) -> str:
    base = f"**{DELTA.version_field}**: v{version}"
    return "\n".join([f"# {DELTA.title}\n\n{base}\n\n## Deltas\n", *map(render_delta, deltas)])


def _without_repetitions(artifact: Artifact) -> Artifact:
    """The artifact with every element of a list once: more says nothing, and no delta does it."""
    if not any(map(_repeats, artifact.all_items())):
        return artifact

    def tidy(item: Item) -> Item:
        values = {
            name: tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value
            for name, value in item.fields.items()
        }
        return item._replace(fields=MappingProxyType(cast("Fields", values)))

    sections = {name: tuple(map(tidy, items)) for name, items in artifact.sections.items()}
    return artifact._replace(
        research_thread=tidy(artifact.research_thread), sections=MappingProxyType(sections)
    )


def _repeats(placed: tuple[Section, Item]) -> bool:
    lists = [value for value in placed[1].fields.values() if isinstance(value, tuple)]
    return any(len(set(each)) < len(each) for each in lists)


# IDs that were changed


_Place = tuple[str, str]  # section and ID


def _moved(found: Diff) -> dict[_Place, str]:
    """The items that were given another ID: removed under one, added under the other."""
    gone: dict[_Place, list[str]] = {}
    for change in found.items:
        if Kind.REMOVED in change.kinds:
            gone.setdefault((change.section, change.title), []).append(change.id)
    moved = {}
    for change in found.items:
        same = gone.get((change.section, change.title)) if Kind.ADDED in change.kinds else None
        if same:
            moved[change.section, change.id] = same.pop(0)
    return moved


# The trial


class _Trial(NamedTuple):
    """The deltas that are applied, what comes of them, and why the rest is not."""

    deltas: tuple[Delta, ...]
    artifact: Artifact
    objections: Mapping[tuple[str, str, str], str]


def _try(wanted: list[Wish], version: Artifact) -> _Trial:
    """Grant what can be granted. Whatever is refused may take others with it, so it is repeated."""
    objections: dict[tuple[str, str, str], str] = {}
    sound, others = _parted(version)
    while True:
        _object(wanted, version, objections)
        wanted = [wish for wish in wanted if _place(wish) not in objections]
        ready = granted(wanted, version)
        result = _merged([each.delta for each in ready], sound)
        refused = [entry for entry in result.ledger if entry.state is Outcome.REFUSED]
        if not refused:
            made = result.artifact.sections
            rest = {name: (*made[name], *items) for name, items in others.items()}
            sections = MappingProxyType({**made, **rest})
            # The front matter is its compiler's, and nothing that was wished for.
            artifact = result.artifact._replace(metadata=version.metadata, sections=sections)
            return _Trial(tuple(each.delta for each in ready), artifact, objections)
        # What only depends on others is not lost: without the field that names them it may do.
        for entry in [each for each in refused if not _is_dependent(each)] or refused:
            reason = " ".join(found.message for found in _errors(entry))
            objections |= {_place(wish): reason for wish in ready[entry.block - 1].wishes}


def _errors(entry: Entry) -> list[Diagnostic]:
    return [found for found in entry.diagnostics if found.severity is ERROR]


def _is_dependent(entry: Entry) -> bool:
    return all(found.code is DEPENDS_ON_REFUSED for found in _errors(entry))


def _place(wish: Wish) -> tuple[str, str, str]:
    what = {Operation.ADD: "", Operation.KILL: KILLED}.get(wish.operation, wish.field)
    return (wish.section.id, wish.item_id, what)


_NOT_ADDED = "it cannot be added."


def _object(
    wanted: list[Wish], version: Artifact, objections: dict[tuple[str, str, str], str]
) -> None:
    """Note what no delta can do, and what depends on that."""
    thread_id = version.metadata.session_id or ""
    is_new = True
    while is_new:
        left = [wish for wish in wanted if _place(wish) not in objections]
        known = known_ids(version, left)
        added = {_place(wish)[:2] for wish in left if wish.operation is Operation.ADD}
        found = {
            _place(wish): _NOT_ADDED
            if wish.is_new and _place(wish)[:2] not in added
            else objection(wish, known, thread_id)
            for wish in left
        }
        objections |= {place: reason for place, reason in found.items() if reason}
        is_new = any(found.values())


def _parted(version: Artifact) -> tuple[Artifact, dict[str, list[Item]]]:
    """The version with those items only that a delta can name; and the others, which are rare."""
    sound: dict[str, tuple[Item, ...]] = {}
    others: dict[str, list[Item]] = {}
    for name, items in version.sections.items():
        first: dict[str, Item] = {}
        for item in items:
            if is_numbered(SECTIONS[name], item.id) and item.id not in first:
                first[item.id] = item
            else:
                others.setdefault(name, []).append(item)
        sound[name] = tuple(first.values())
    return version._replace(sections=MappingProxyType(sound)), others


def _merged(deltas: list[Delta], version: Artifact) -> Merge:
    metadata = version.metadata
    number, thread_id = metadata.version or 0, metadata.session_id or ""
    state = adopted_state(thread_id, version, _PUBLISHED, 1)
    message = Message(thread_id, _ROLE, (_ROLE,), _subject(number), _body(deltas, number))
    return merge(state, [Posted(2, _PUBLISHED + timedelta(days=1), message)])


# In words


def _told(
    missing: Iterable[Missing],
    moved: Mapping[_Place, str],
    objections: Mapping[tuple[str, str, str], str],
) -> list[str]:
    words = []
    for item, field in missing:
        if item is None:
            name = visible(field.field if field else "")
            words.append(f"`{name}` in the front matter: it is written when a version is compiled.")
        elif (item.section, item.id) in moved:
            old = visible(moved[item.section, item.id])
            words.append(f"{old} is called {visible(item.id)}: the ID of an item never changes.")
        elif Kind.REMOVED not in item.kinds or item.id not in moved.values():
            name = field.path[0] if field else ""
            words.append(_told_item(item, name, objections.get((item.section, item.id, name), "")))
    return words


_ANY_REASON = "no delta can make this change."
# Why a field may stay as it was although nothing was refused
_REASONS = {
    "predictions": "in the cell of a killed hypothesis stands N/A.",
    "references": "a reference that closes a circle is left out.",
}


def _told_item(change: ItemChange, field: str, objection: str) -> str:
    name = visible(change.id) or f"“{visible(change.title)}”"
    never = _never(change, field)
    if never:
        return f"{name} {never}"
    reason = objection or _REASONS.get(field, _ANY_REASON)
    if field == KILLED:
        return f"{name} is marked as killed, but stays active: {reason}"
    if field:
        return f"`{field}` of {name} will not be what the file says: {reason}"
    return f"{name} is new and cannot be added: {reason}"


def _never(change: ItemChange, field: str) -> str:
    """What is never done, whatever a message says."""
    if Kind.REMOVED in change.kinds:
        return "is gone: an item is never removed; it can be killed, with a reason."
    if change.occurrence > 1:
        return f"stands there {change.occurrence} times: an ID is given once."
    if field != KILLED or Kind.KILLED in change.kinds:
        return ""
    if Kind.REVIVED in change.kinds:
        return "is not marked as killed any more: what is killed stays killed."
    return "was killed otherwise than the file says now: a kill stays as it was made."


def _numbered(item_id: str, number: str) -> str:
    return f"{visible(item_id)} will be {number}: numbers are given when a version is compiled."
