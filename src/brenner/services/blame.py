"""Who set what in a version, row by row, and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.merge.draft import LISTS, MAPS, shown
from brenner.artifact.merge.engine import OPERATOR
from brenner.artifact.model import Artifact, Item, order_of
from brenner.artifact.serialize import plain
from brenner.artifact.state import Blame, Change, Path
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import StoredMessage, Trust
from brenner.mail.rules import unknown_recipients, unknown_sender, unknown_thread
from brenner.protocol.compiled import check_sequence, subject_version
from brenner.protocol.delta.schema import SCORE_PARTS, Section
from brenner.protocol.message_types import INFO
from brenner.protocol.thread_ids import check_thread_id
from brenner.protocol.validate import Report, check_stored
from brenner.services.version_store import filed
from brenner.session.decisions import Void, voided_by

_KILLED: Path = ("killed",)
_NOTHING: Mapping[int, Trust | None] = MappingProxyType({})
_PARTS = {part: number for number, part in enumerate(SCORE_PARTS)}


class Row(NamedTuple):
    """One field, key of a map or element of a list, with its value and the change that set it.

    The value is None where it was taken away. The change is None where the mail does not say who:
    in a version that was adopted from another program. `trusts` are those of the messages of its
    thread, by id. `altered` are messages that do not match their hash: the agent may be another.
    """

    item_id: str
    section: str
    path: Path
    value: object
    change: Change | None
    trusts: Mapping[int, Trust | None] = _NOTHING
    altered: frozenset[int] = frozenset()

    def is_altered(self, change: Change | None) -> bool:
        """Whether the message of a change of it was altered in the store."""
        return change is not None and change.source.message_id in self.altered

    def trust_in(self, change: Change | None) -> Trust | None:
        """How it is known who sent the message of a change of it."""
        return self.trusts.get(change.source.message_id) if change else None

    @property
    def field(self) -> str:
        """The field as people write it: `claim`, `predictions.H2`."""
        return ".".join(self.path)

    @property
    def name(self) -> str:
        """The field with its item, as one asks for it: `H2.claim`."""
        return f"{self.item_id}.{self.field}"


def rows(artifact: Artifact, blame: Blame) -> Iterator[Row]:
    """Every field of every item, in the order of the artifact."""
    for section, item in artifact.all_items():
        yield from item_rows(section, item, blame.get(item.id, {}))


def item_rows(section: Section, item: Item, changes: Mapping[Path, Change]) -> Iterator[Row]:
    """The fields of one item; after those that are there what was taken away from each."""
    values = dict(_values(section, item))
    gone = {path: None for path in changes if path not in values and path != _KILLED}
    for path in _in_order(section, [*values, *gone]):
        yield Row(item.id, section.id, path, values.get(path), changes.get(path))
    if item.killed:
        yield Row(item.id, section.id, _KILLED, item.killed.reason, changes.get(_KILLED))


def _values(section: Section, item: Item) -> Iterator[tuple[Path, object]]:
    """Every value by its path, as blame has it."""
    for name, value in item.fields.items():
        field = section.fields.get(name)
        if field and field.kind in LISTS and isinstance(value, tuple):
            yield from (((name, shown(each)), each) for each in value)
        elif field and field.kind in MAPS and isinstance(value, Mapping):
            yield from (((name, key), each) for key, each in value.items())
        else:
            yield (name,), value


def _in_order(section: Section, paths: list[Path]) -> list[Path]:
    """Fields as the schema lists them, hypotheses by number, parts of a score as in the protocol;
    elements of a list as they stand.
    """
    places = {name: number for number, name in enumerate(section.fields)}

    def order(path: Path) -> tuple[object, ...]:
        field = section.fields.get(path[0])
        key = path[1] if field and field.kind in MAPS and len(path) > 1 else ""
        return (places.get(path[0], len(places)), _PARTS.get(key, 0), order_of(key))

    return sorted(paths, key=order)


def asked_for(found: Iterable[Row], field: str) -> list[Row]:
    """The rows of one field: all keys of a map, or the one that is named."""
    return [row for row in found if row.field == field or row.field.startswith(f"{field}.")]


def row_json(row: Row, *, with_history: bool) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    document: dict[str, object] = {
        "item_id": row.item_id,
        "section": row.section,
        "field": row.field,
        "path": list(row.path),
        "value": plain(row.value),
        **_change_json(row.change),
        "trust": row.trust_in(row.change),
    }
    if with_history:
        history = row.change.history() if row.change else ()
        document["history"] = [
            {
                "value": plain(change.value),
                **_change_json(change),
                "trust": row.trust_in(change),
            }
            for change in history
        ]
    return document


def _change_json(change: Change | None) -> dict[str, object]:
    source = change.source if change else None
    return {
        "agent": source.agent if source else None,
        "message_id": source.message_id if source else None,
        "block": source.block if source else None,
        "operation": source.operation if source else None,
        "version": source.version if source else None,
        "replaced": plain(change.replaced) if change else None,
    }


# Check the mail of a thread as it was received (message document, Post-receive Validation).


class CheckedMessage(NamedTuple):
    """A stored message and what was found in it. Lines count in the body."""

    stored: StoredMessage
    report: Report


def check_thread(
    mailbox: Mailbox, thread_id: str, operator: str = OPERATOR
) -> tuple[CheckedMessage, ...]:
    """Every message of the thread, in its order; only the operator can have voided one."""
    messages = mailbox.thread(thread_id).messages
    if not messages:
        known = [thread.thread_id for thread in mailbox.threads()]
        raise unknown_thread(thread_id, known)
    names = {agent.name for agent in mailbox.agents()}
    of_the_thread = {found.id for found in check_thread_id(thread_id)}
    of_versions = _by_message(messages, operator)
    first, *rest = (
        CheckedMessage(stored, _report(stored, names, of_versions.get(stored.id, [])))
        for stored in messages
    )
    return (first, *(_without(checked, of_the_thread) for checked in rest))


def _without(checked: CheckedMessage, told: set[str]) -> CheckedMessage:
    """The same without what is wrong with the thread's ID, which is told once."""
    left = tuple(found for found in checked.report.violations if found.id not in told)
    return checked._replace(report=checked.report._replace(violations=left))


def _by_message(messages: Sequence[StoredMessage], operator: str) -> dict[int, list[Diagnostic]]:
    """What is wrong with the versions of the thread, by the id of the message."""
    found: dict[int, list[Diagnostic]] = {}
    for each in check_sequence([stored.posted for stored in messages], _voided(messages, operator)):
        found.setdefault(each.message_id or 0, []).append(each)
    return found


def _voided(messages: Sequence[StoredMessage], operator: str) -> set[int]:
    """The COMPILED messages that the operator has declared void, or whose number she has freed."""
    voided: set[int] = set()
    earlier: dict[int, list[int]] = {}
    for stored in messages:
        number = subject_version(stored.message.subject)
        if number is not None:
            earlier.setdefault(number, []).append(stored.id)
        elif stored.type == INFO.name and filed(stored).counts_for({operator}):
            voids = voided_by(stored.message)
            voided |= _named(messages, voids)
            for void in voids:
                if not void.is_exact:
                    voided.update(earlier.get(void.version, ()))
    return voided


def _named(messages: Sequence[StoredMessage], voids: Sequence[Void]) -> set[int]:
    """Return the ids of the messages that the exact records of a declaration name."""
    named = {(void.content_hash, void.version) for void in voids if void.is_exact}
    return {
        stored.id
        for stored in messages
        if (stored.content_hash, subject_version(stored.message.subject)) in named
    }


def _report(stored: StoredMessage, names: set[str], of_versions: list[Diagnostic]) -> Report:
    report = check_stored(stored.message)
    found = [*report.violations, *_unknown(stored, names), *of_versions]
    placed = [each._replace(message_id=stored.id) for each in found]
    return report._replace(violations=tuple(sorted(placed, key=worst_first)))


def _unknown(stored: StoredMessage, names: set[str]) -> Iterator[Diagnostic]:
    """Names that the mailbox does not know."""
    sender = unknown_sender(stored.message.sender, names)
    yield from [sender] if sender else []
    yield from unknown_recipients(stored.message, names)
