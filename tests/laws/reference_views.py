"""Both views of a message in the reference merge: what each number means to its author (R11)."""

from collections.abc import Sequence

from brenner.protocol.delta.schema import SECTIONS, DeltaBlock
from brenner.protocol.messages import StoredMessage
from laws.reference_ids import Meaning, View, Views, named
from laws.reference_model import Applied, Model


def views_of(
    model: Model,
    posted: StoredMessage,
    read: list[DeltaBlock],
    standing: list[Applied],
    based: tuple[int, bool],
) -> Views:
    """What each ID means: in the base view, and in the thread view (R11)."""
    base, is_stated = based
    sender = posted.message.sender
    repeated = _repeats(model, sender, read)
    base_view: View = {"RT": "RT"}
    thread_view: View = {"RT": "RT"}
    for section in SECTIONS.values():
        # Reading: an ADD that cannot be read still takes a number, if it says ADD and where.
        own: list[Meaning] = [
            block.number
            for block in read
            if (block.written("operation"), block.written("section")) == ("ADD", section.id)
        ]
        here = [done for done in standing if done.delta.section == section.id]
        # Reading: an item is counted once, so that a message that comes again reads as the first.
        hers = [
            done.item
            for done in here
            if (done.sender, done.base) == (sender, base) and done.item not in repeated.values()
        ]
        there = model.counts[base].get(section.prefix, 0)
        base_view |= {f"{section.prefix}{n}": f"{section.prefix}{n}" for n in range(1, there + 1)}
        base_view |= _numbered(section.prefix, there, [*own, *hers])
        thread_view |= {done.item: done.item for done in here}
        highest = max((int(done.item[1:]) for done in here), default=0)
        new = [each for each in own if each not in repeated]
        thread_view |= _numbered(section.prefix, highest, new)
    return Views.of(model.thread_id, base_view, thread_view, is_stated, read)


def _numbered(prefix: str, after: int, meanings: list[Meaning]) -> View:
    """The meanings under the numbers that follow."""
    return {f"{prefix}{number}": each for number, each in enumerate(meanings, after + 1)}


def _repeats(model: Model, sender: str, read: list[DeltaBlock]) -> dict[int, str]:
    """The items that ADDs without any ID in them surely stand for (R8)."""
    found: dict[int, str] = {}
    for block in read:
        delta = block.delta
        if delta is None or delta.operation != "ADD" or named(delta, model.thread_id):
            continue
        equal = [
            done
            for done in model.adds()
            if (done.delta.section, done.delta.payload) == (delta.section, delta.payload)
            and done.sender == sender
            and model.items[done.item].killed is None
        ]
        if first := one_each(equal, list(found.values())):
            found[block.number] = first.item
    return found


def one_each(equal: list[Applied], taken: Sequence[str | None]) -> Applied | None:
    """Reading: of several equal ADDs the first stands for the first one, the next for the next."""
    return next((done for done in equal if done.item not in taken), equal[-1] if equal else None)
