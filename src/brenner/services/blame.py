"""Blame: who set each field of a version. Also checks the received mail of a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import OPERATOR
from brenner.artifact.model import Artifact, Item, item_sort_key
from brenner.artifact.serialize import plain_json
from brenner.diagnostics.codes.messages import CONTEXT_NEEDS_ARTIFACT
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.rules import unknown_recipients, unknown_sender, unknown_thread_error
from brenner.named_tuple import NamedTuple
from brenner.protocol.compiled import check_version_sequence
from brenner.protocol.delta.schema import LIST_KINDS, MAP_KINDS, SCORE_PARTS, Section
from brenner.protocol.message_types import HANDOFF, KICKOFF
from brenner.protocol.thread_ids import check_thread_id
from brenner.protocol.validate import Report, check_stored
from brenner.services.thread_rules import (
    context_faults,
    handoff_faults,
    has_version,
    voided_messages,
)

if TYPE_CHECKING:
    from brenner.artifact.state import Blame, Change, Path
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import StoredMessage, Trust

_KILLED: Path = ("killed",)
_NO_TRUST: Mapping[int, Trust | None] = MappingProxyType({})
_SCORE_ORDER = {part: number for number, part in enumerate(SCORE_PARTS)}


class BlameRow(NamedTuple):
    """One field, key of a map or element of a list, with its value and the change that set it.

    The value is None if it was removed. The change is None if the mail does not have it: in a
    version that was adopted from another program. `trusts` are those of the thread's messages, by
    id. `altered` are messages that do not match their hash, so their agent may be wrong.
    """

    item_id: str
    section: str
    path: Path
    value: object
    change: Change | None
    trusts: Mapping[int, Trust | None] = _NO_TRUST
    altered: frozenset[int] = frozenset()

    def is_altered(self, change: Change | None) -> bool:
        """Return whether the message of a change was altered in the store."""
        return change is not None and change.source.message_id in self.altered

    def trust_in(self, change: Change | None) -> Trust | None:
        """Return how far the sender of a change's message is verified."""
        return self.trusts.get(change.source.message_id) if change else None

    @property
    def field(self) -> str:
        """Return the field as people write it: `claim`, `predictions.H2`."""
        return ".".join(self.path)

    @property
    def name(self) -> str:
        """Return the field with its item: `H2.claim`."""
        return f"{self.item_id}.{self.field}"


def blame_rows(artifact: Artifact, blame: Blame) -> Iterator[BlameRow]:
    """Yield every field of every item, in the order of the artifact."""
    for section, item in artifact.all_items():
        yield from item_blame_rows(section, item, blame.get(item.id, {}))


def item_blame_rows(
    section: Section, item: Item, changes: Mapping[Path, Change]
) -> Iterator[BlameRow]:
    """Yield the fields of one item, in the order of the schema.

    Within a field, removed values come after the existing ones. The reason for a kill comes last.
    """
    values = dict(_values(section, item))
    gone = {path: None for path in changes if path not in values and path != _KILLED}
    for path in _sorted_paths(section, [*values, *gone]):
        yield BlameRow(item.id, section.id, path, values.get(path), changes.get(path))
    if item.killed:
        yield BlameRow(item.id, section.id, _KILLED, item.killed.reason, changes.get(_KILLED))


def _values(section: Section, item: Item) -> Iterator[tuple[Path, object]]:
    for name, value in item.fields.items():
        field = section.fields.get(name)
        if field and field.kind in LIST_KINDS and isinstance(value, tuple):
            yield from (((name, str(each)), each) for each in value)
        elif field and field.kind in MAP_KINDS and isinstance(value, Mapping):
            yield from (((name, key), each) for key, each in value.items())
        else:
            yield (name,), value


def _sorted_paths(section: Section, paths: list[Path]) -> list[Path]:
    """Sort fields as in the schema, hypotheses by number, parts of a score as in the protocol.

    Elements of a list keep their order.
    """
    places = {name: number for number, name in enumerate(section.fields)}

    def order(path: Path) -> tuple[object, ...]:
        field = section.fields.get(path[0])
        key = path[1] if field and field.kind in MAP_KINDS and len(path) > 1 else ""
        return (places.get(path[0], len(places)), _SCORE_ORDER.get(key, 0), item_sort_key(key))

    return sorted(paths, key=order)


def rows_of_field(found: Iterable[BlameRow], field: str) -> list[BlameRow]:
    """Return the rows of one field, whatever its case: all keys of a map, or the one named."""
    wanted = field.casefold()
    names = ((row, row.field.casefold()) for row in found)
    return [row for row, name in names if name == wanted or name.startswith(f"{wanted}.")]


def blame_row_json(row: BlameRow, *, with_history: bool) -> dict[str, object]:
    """Return a row as JSON: the stable form; keys are only ever added."""
    document: dict[str, object] = {
        "item_id": row.item_id,
        "section": row.section,
        "field": row.field,
        "path": list(row.path),
        "value": plain_json(row.value),
        **_change_json(row.change),
        "trust": row.trust_in(row.change),
    }
    if with_history:
        document["history"] = [
            {"value": plain_json(each.value), **_change_json(each), "trust": row.trust_in(each)}
            for each in (row.change.history() if row.change else ())
        ]
    return document


def _change_json(change: Change | None) -> dict[str, object]:
    source = change.source if change else None
    names = ("agent", "message_id", "block", "operation", "version")
    replaced = plain_json(change.replaced) if change else None
    return {**{name: getattr(source, name, None) for name in names}, "replaced": replaced}


# Checking the received mail of a thread (message document, Post-receive Validation)


def check_thread(
    mailbox: Mailbox, thread_id: str, operator: str = OPERATOR
) -> list[tuple[StoredMessage, Report]]:
    """Check every message of the thread, in order; only voids by the operator count.

    Line numbers count in the body.
    """
    messages = mailbox.thread(thread_id).messages
    if not messages:
        known = [thread.thread_id for thread in mailbox.threads()]
        raise unknown_thread_error(thread_id, known)
    names = {agent.name for agent in mailbox.agents()}
    of_versions = _version_faults(messages, operator)
    for number, stored in enumerate(messages):
        faults = _thread_faults(messages, number, names, operator)
        of_versions.setdefault(stored.id, []).extend(faults)
    reports = [
        Report(stored.type, thread_id, ())  # its faults are sealed, too
        if stored.is_sealed
        else _message_report(stored, names, of_versions[stored.id])
        for stored in messages
    ]
    # Faults of the thread's ID are reported once.
    ids = {found.id for found in check_thread_id(thread_id)}
    for number, report in enumerate(reports[1:], 1):
        left = tuple(found for found in report.violations if found.id not in ids)
        reports[number] = report._replace(violations=left)
    return list(zip(messages, reports, strict=True))


def _version_faults(
    messages: Sequence[StoredMessage], operator: str
) -> dict[int, list[Diagnostic]]:
    found: dict[int, list[Diagnostic]] = {}
    for each in check_version_sequence(list(messages), voided_messages(messages, operator)):
        found.setdefault(each.message_id or 0, []).append(each)
    return found


def _thread_faults(
    messages: Sequence[StoredMessage], number: int, names: set[str], operator: str
) -> Iterator[Diagnostic]:
    stored = messages[number]
    if stored.type == HANDOFF.name:
        yield from handoff_faults(stored.message, names, operator)
    elif stored.type == KICKOFF.name:
        has_artifact = has_version(messages[:number], operator)
        yield from context_faults(stored.message, has_artifact=has_artifact)


def _message_report(stored: StoredMessage, names: set[str], of_thread: list[Diagnostic]) -> Report:
    checked = check_stored(stored.message)
    # In a thread it is known whether there is an artifact.
    report = [each for each in checked.violations if each.code is not CONTEXT_NEEDS_ARTIFACT]
    found = [*report, *_unknown_names(stored, names), *of_thread]
    placed = [each._replace(message_id=stored.id) for each in found]
    return checked._replace(violations=tuple(sorted(placed, key=worst_first)))


def _unknown_names(stored: StoredMessage, names: set[str]) -> Iterator[Diagnostic]:
    sender = unknown_sender(stored.message.sender, names)
    yield from [sender] if sender else []
    yield from unknown_recipients(stored.message, names)
