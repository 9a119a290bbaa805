"""Find the items that ask for an answer: contradicted, untested, or on a false assumption (R28).

A result, or an assumption that turns out false, changes no other item. It asks the item's last
author for an answer: a KILL, an EDIT of what the item claims, another result, a text that says why
the item is kept, or the operator's dismissal. All of it is read from the merged thread: messages
that no version has read count too, as far as their blocks are applied.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from brenner.markdown.escape import one_paragraph
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    ADD,
    ADVERSARIAL_CRITIQUE,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    EDIT,
    FALSIFIED,
    HYPOTHESIS_SLATE,
    KILL,
    POTENCY_FAILED,
    POTENCY_PASSED,
)
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.messages import thread_order_key
from brenner.protocol.subjects import compose_subject
from brenner.session.decisions import (
    DISMISSAL_FENCE,
    changes_versions,
    dismissed_questions,
    render_declaration,
)
from brenner.session.model import UnreadableRecordError, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from brenner.artifact.model import Item, Result
    from brenner.artifact.state import Change, Source, State
    from brenner.protocol.messages import Message, StoredMessage
    from brenner.session.versions import VersionHistory

# A place in the thread: time and id of a message, its block, and the place in the block's list
Place: TypeAlias = "tuple[datetime, int, int, int]"
# An EDIT of one of these fields answers; so does a KILL of the item.
_ANSWERING_FIELDS = {
    HYPOTHESIS_SLATE.prefix: ("claim", "mechanism"),
    DISCRIMINATIVE_TESTS.prefix: ("procedure", "potency_check"),
}
_KEEPING_SECTIONS = (ADVERSARIAL_CRITIQUE, ASSUMPTION_LEDGER)


class UnansweredKind(StrEnum):
    """Why an item asks for an answer (R28); the values are stable in the JSON."""

    CONTRADICTED = "contradicted"
    POTENCY_FAILED = "potency_failed"
    ASSUMPTION_FALSIFIED = "assumption_falsified"


_UNANSWERED_FACTS = {
    UnansweredKind.CONTRADICTED: "{because} contradicts {item}",
    UnansweredKind.POTENCY_FAILED: "{item} failed its potency check",
    UnansweredKind.ASSUMPTION_FALSIFIED: "{item} depends on {because}, which is falsified",
}


class UnansweredItem(NamedTuple):
    """An active item that asks for an answer, and has none yet (R28).

    `because` is the test or the assumption that asks, `message_id` the message that made it ask. A
    test with a failed potency check asks about itself. `agent` is the item's last author; None if
    another program compiled the item.
    """

    item: str
    kind: UnansweredKind
    because: str
    message_id: int
    agent: str | None

    @property
    def address(self) -> str:
        """The argument that dismisses it: `H1/T1`."""
        return f"{self.item}/{self.because}"

    @property
    def fact(self) -> str:
        """What asks for an answer: `T1 contradicts H1`."""
        return _UNANSWERED_FACTS[self.kind].format(item=self.item, because=self.because)

    @property
    def request(self) -> str:
        """What asks for an answer, and what would be one."""
        again = "repeat it, " if self.kind is UnansweredKind.POTENCY_FAILED else ""
        return f"{self.fact}: {again}kill it, change it, or say why you keep it"

    def to_json(self) -> dict[str, object]:
        """Return the stable JSON form; keys are only ever added."""
        return {
            "item": self.item,
            "kind": self.kind.value,
            "because": self.because,
            "message_id": self.message_id,
            "agent": self.agent,
            "request": self.request,
        }


# The operator's dismissal


_DISMISSAL_FORMAT = 1


def compose_question_dismissal(message: Message, item: str, because: str, reason: str) -> Message:
    """Compose the operator's declaration that an item is kept although another one asks about it.

    `message` gives thread, sender and recipients.
    """
    why = one_paragraph(reason)
    values = {
        "because": because,
        "format": _DISMISSAL_FORMAT,
        "item": item,
        "reason": why,
        "thread_id": message.thread_id,
    }
    asks = "its failed potency check" if item == because else because
    body = (
        f"# {item} Is Kept\n\n"
        f"The operator keeps {item} despite {asks}. No answer is needed. A later result or a later "
        f"falsified assumption asks again.\n\n"
        f"## Reason\n{why}\n\n## Record\n{render_declaration(values, DISMISSAL_FENCE)}"
    )
    subject = compose_subject("INFO", f"{item} is kept despite {asks}")
    return message._replace(subject=subject, body=body)


# What asks, and what answers


def unanswered_items(
    history: VersionHistory, thread: Sequence[StoredMessage], state: State
) -> tuple[UnansweredItem, ...]:
    """Return the items that ask for an answer, in the order of the artifact.

    `thread` are all messages, in thread order. `state` is the latest version with all unread
    messages merged into it.
    """
    return tuple(_Questions(history, thread, state).unanswered())


class _Questions:
    """What the items of a thread ask, and what answers them."""

    def __init__(
        self, history: VersionHistory, thread: Sequence[StoredMessage], state: State
    ) -> None:
        self._history = history
        self._thread = thread
        self._state = state
        self._by_id = {each.id: each for each in thread}
        artifact = state.artifact
        self._items = {item.id: item for _, item in artifact.all_items()}
        self._tests = artifact.sections[DISCRIMINATIVE_TESTS.id]
        self._results = {test.id: list(self._results_of(test)) for test in self._tests}

    def unanswered(self) -> Iterator[UnansweredItem]:
        """Yield every question without an answer that comes later in the thread."""
        order = {item_id: number for number, item_id in enumerate(self._items)}
        asked: dict[tuple[str, str], tuple[UnansweredKind, Place]] = {}
        for kind, item_id, because, place in self._asked():
            known = asked.get((item_id, because))
            if known is None or known[1] < place:
                asked[item_id, because] = kind, place
        for item_id, because in sorted(asked, key=lambda pair: [order[each] for each in pair]):
            kind, place = asked[item_id, because]
            if not self._is_answered(item_id, because, place):
                agent = self._last_author(item_id)
                yield UnansweredItem(item_id, kind, because, place[1], agent)

    # What asks

    def _asked(self) -> Iterator[tuple[UnansweredKind, str, str, Place]]:
        """Yield what each result and each false assumption asks: kind, item, because, place."""
        for test in self._tests:
            results = self._results[test.id]
            for result, place in results:
                contradicted = result.contradicts if result.has_verdict else ()
                for item_id in filter(self._is_active, contradicted):
                    yield UnansweredKind.CONTRADICTED, item_id, test.id, place
            failed = [place for result, place in results if result.potency == POTENCY_FAILED]
            if failed and test.is_active:
                yield UnansweredKind.POTENCY_FAILED, test.id, test.id, max(failed)
        for assumption in self._state.artifact.sections[ASSUMPTION_LEDGER.id]:
            if assumption.text("status") == FALSIFIED:
                yield from self._asked_by_assumption(assumption)

    def _asked_by_assumption(
        self, assumption: Item
    ) -> Iterator[tuple[UnansweredKind, str, str, Place]]:
        blame = self._blame(assumption.id)
        load = blame.get(("load",))
        place = max(self._place(blame.get(("status",))), self._place(load))
        for item_id in self._named(assumption.text("load"), load.source if load else None):
            if item_id != assumption.id and self._is_active(item_id):
                yield UnansweredKind.ASSUMPTION_FALSIFIED, item_id, assumption.id, place

    def _is_active(self, item_id: str) -> bool:
        item = self._items.get(item_id)
        return item is not None and item.is_active

    def _results_of(self, test: Item) -> Iterator[tuple[Result, Place]]:
        """Yield the results of a test with their places; several in one block are in order."""
        blame = self._blame(test.id)
        for index, result in enumerate(test.results):
            place = self._place(blame.get(("results", str(result))))
            yield result, (*place[:3], index)

    # What answers

    def _is_answered(self, item_id: str, because: str, asked: Place) -> bool:
        return (
            self._is_edited(item_id, asked)
            or any(
                place > asked and _is_conclusive(result)
                for test in dict.fromkeys((item_id, because))
                for result, place in self._results.get(test, ())
            )
            or any(asked < place for place in self._kept.get((item_id, because), ()))
            or any(
                {item_id, because} <= names and asked < place for names, place in self._added_texts
            )
        )

    def _is_edited(self, item_id: str, asked: Place) -> bool:
        blame = self._blame(item_id)
        fields = _ANSWERING_FIELDS.get(item_id[0], ())
        changes = (blame[field,] for field in fields if (field,) in blame)
        return any(
            change.source.operation == EDIT and self._place(change) > asked for change in changes
        )

    @cached_property
    def _kept(self) -> Mapping[tuple[str, str], list[Place]]:
        """The dismissals of the operator: which item is kept, despite which other one."""
        found: dict[tuple[str, str], list[Place]] = {}
        for stored in self._thread:
            for dismissed in dismissed_questions(stored.message):
                if stored.counts_for(self._history.operators):
                    found.setdefault(dismissed, []).append((*thread_order_key(stored), 0, 0))
        return found

    @cached_property
    def _added_texts(self) -> list[tuple[set[str], Place]]:
        """The items that each added critique and assumption names, and where it was added."""
        sections = (self._state.artifact.sections[each.id] for each in _KEEPING_SECTIONS)
        return [found for items in sections for item in items if (found := self._added_text(item))]

    def _added_text(self, item: Item) -> tuple[set[str], Place] | None:
        changes = (each for last in self._blame(item.id).values() for each in last.history())
        added = [each for each in changes if each.source.operation == ADD]
        if not added:
            return None
        texts = " ".join(each.value for each in added if isinstance(each.value, str))
        return set(self._named(texts, added[0].source)), self._place(added[0])

    # Names and places

    def _named(self, text: str, source: Source | None) -> Iterator[str]:
        """Yield the items that a text names, in the view of the message that set it (R11)."""
        place = source and (source.version, source.message_id, source.block)
        reading = self._state.readings.get(place, _AS_WRITTEN) if place else _AS_WRITTEN
        for written in dict.fromkeys(ITEM_ID_IN_PROSE.findall(text)):
            item_id = reading.get(written, written)
            if item_id is not None:
                yield item_id

    def _blame(self, item_id: str) -> Mapping[tuple[str, ...], Change]:
        return self._state.blame.get(item_id, {})

    def _last_author(self, item_id: str) -> str | None:
        """Return the last agent that changed what the item says; a result does not count.

        Return None for an item that another program compiled.
        """
        changes = [
            change
            for path, change in self._blame(item_id).items()
            if path[0] != "results" and change.source.operation != KILL
        ]
        return max(changes, key=self._place).source.agent if changes else None

    def _place(self, change: Change | None) -> Place:
        """Return where a change was made. What was adopted was set by the adopting version."""
        source = change.source if change else None
        number = source and self._local_ids.get((source.version, source.message_id))
        stored = self._by_id.get(number or (source.message_id if source else 0), self._adopting)
        return (*thread_order_key(stored), source.block if source else 0, 0)

    @cached_property
    def _adopting(self) -> StoredMessage:
        """The latest version that adopted an artifact, or else the first message."""
        versions = (self._by_id.get(each.message_id) for each in reversed(self._history.versions))
        adopting = (each for each in versions if each and changes_versions(each.message))
        return next(adopting, self._thread[0])

    @cached_property
    def _local_ids(self) -> Mapping[tuple[int, int], int]:
        """The ids here of messages that a version knows by another id, by version and that id.

        Only a thread that was imported has any.
        """
        if all(each.is_local for each in self._thread):
            return {}
        return dict(_renumbered(self._history, self._thread, self._by_id))


_AS_WRITTEN: Mapping[str, str | None] = MappingProxyType({})


def _is_conclusive(result: Result) -> bool:
    """Return whether a result answers what an earlier one of its test asks."""
    return result.has_verdict or result.potency == POTENCY_PASSED


def _renumbered(
    history: VersionHistory, thread: Iterable[StoredMessage], by_id: Mapping[int, StoredMessage]
) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the ids of messages by version and the id in its record."""
    from brenner.protocol.compiled import read_compiled

    by_hash: dict[str, list[int]] = {}
    for stored in thread:
        by_hash.setdefault(stored.content_hash, []).append(stored.id)
    for version in history.versions:
        compiled = by_id.get(version.message_id)
        try:
            record = read_record((compiled and read_compiled(compiled.message).record) or "")
        except UnreadableRecordError:
            continue
        for entry in record.messages:
            equal = by_hash.get(entry.content_hash)
            if equal:
                number = entry.id if entry.id in equal else equal[0]
                equal.remove(number)
                yield (version.number, entry.id), number
