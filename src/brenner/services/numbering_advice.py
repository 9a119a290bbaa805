"""Advise the author of a DELTA, before it is sent, on what its item numbers mean (R11).

A number that the base does not contain continues the base with the author's own new items. So an
author who means another agent's new item by its number names its own. The merge reads the number
as R11 says; this advice is for the author, before the message is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.merge.resolve import (
    DeltaMessage,
    IdMention,
    id_mentions,
    parse_posted,
    stated_base,
)
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes import merging as codes
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import line_at, read_blocks
from brenner.protocol.delta.problems import format_path
from brenner.protocol.delta.validate import local_id_from
from brenner.protocol.message_types import DELTA
from brenner.text import cut, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.artifact.model import Artifact, Item
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.protocol.messages import Message, StoredMessage
    from brenner.session.versions import VersionHistory

OWN_NUMBER_CODES = (codes.OWN_NEW_ITEM, codes.OWN_NEW_ITEM_CHANGED, codes.OWN_EARLIER_ITEM)
_MOST_NAME = 60
_MOST_OTHERS = 3


def with_own_numbers(
    ledger: Sequence[Entry], posted: StoredMessage, latest: Artifact
) -> list[Entry]:
    """Return the ledger entries of a message, with a diagnostic for each such number.

    `latest` is the latest published version: a number beyond the base may be in it.
    """
    entries = [entry for entry in ledger if entry.message_id == posted.id]
    added = {
        entry.assigned_id: entry
        for entry in ledger
        if entry.assigned_id and entry.state is BlockOutcome.APPLIED
    }
    if not any(each.agent == posted.message.sender for each in added.values()):
        return entries
    message = parse_posted(posted)
    if not isinstance(message, DeltaMessage):
        return entries
    reader = _NumberReader(message, added, latest, set())
    return [
        entry._replace(diagnostics=(*entry.diagnostics, *reader.findings(entry)))
        for entry in entries
    ]


def assumed_base(history: VersionHistory, message: Message) -> Iterator[Diagnostic]:
    """Yield which version is the base of a DELTA that states none, once per sender and version.

    A DELTA that names no item numbers means the same on every base.
    """
    if history.number and _needs_base(message):
        unread = (each.message for each in history.unread if each.message.sender == message.sender)
        if not any(each.type == DELTA.name and _needs_base(each) for each in unread):
            yield codes.BASE_ASSUMED.at(version=history.number)


def _needs_base(message: Message) -> bool:
    """Return whether a message names item numbers, but no base."""
    found = parse_blocks(message.body)
    if stated_base(found) is not None:
        return False
    deltas = (block.delta for block in read_blocks(found, message.thread_id) if block.delta)
    named = (each.written for delta in deltas for each in id_mentions(delta, message.thread_id))
    return any(not written.startswith("@") for written in named)


class _NumberReader(NamedTuple):
    """A message, all items that unread messages add (by their expected numbers), and the latest
    version. `reported` are the numbers that were reported already: a warning names each once.
    """

    message: DeltaMessage
    added: Mapping[str, Entry]
    latest: Artifact
    reported: set[str]

    def findings(self, entry: Entry) -> Iterator[Diagnostic]:
        """Yield what is wrong with the numbers in one applied block, once per field."""
        block = self.message.blocks[entry.block - 1]
        if entry.state is not BlockOutcome.APPLIED or block.delta is None:
            return
        final = {(each.field, each.old): each.new for each in entry.rewrites}
        mentions = {
            (each.field, each.written): each
            for each in reversed(id_mentions(block.delta, self.message.posted.message.thread_id))
        }
        for place, mention in mentions.items():
            item = self.added.get(final.get(place, mention.written))
            is_own = item is not None and item.agent == entry.agent
            if item and is_own and not mention.written.startswith("@"):
                yield from self._finding(block, mention, item)

    def _finding(self, block: DeltaBlock, mention: IdMention, item: Entry) -> Iterator[Diagnostic]:
        """Yield what a number means.

        A number of an item of the author's earlier message is clear, unless it is another item to
        others.
        """
        number, where = mention.written, mention.field
        words: dict[str, str | int] = {"id": number, "where": where, "value": _title(item.name)}
        words["others"] = self._other_meaning(number, item)
        code = codes.OWN_NEW_ITEM_CHANGED if where == "target_id" else codes.OWN_NEW_ITEM
        if item.message_id == self.message.posted.id:
            words |= self._way_to_refer(item)
            words["operation"] = block.written("operation") or ""
        elif self._is_other_item(number, item):
            code = codes.OWN_EARLIER_ITEM
            words["message_id"] = item.message_id
        else:
            return
        if code is not codes.OWN_NEW_ITEM_CHANGED and number in self.reported:
            return
        self.reported.add(number)
        found = code.at(line_at(block, mention.path), **words)
        yield found.in_block(block.number, block.written("target_id"), format_path(mention.path))

    def _way_to_refer(self, item: Entry) -> dict[str, str | int]:
        """Return the `@name` of a new item, with how to give it one if it has none."""
        add = self.message.blocks[item.block - 1].delta
        own = add.local_id if add else None
        name = own or local_id_from(item.name or "").lower() or "name"
        given = "" if own else f', with `"local_id": "{name}"` in the ADD of block {item.block}'
        return {"name": f"@{name}", "given": given}

    def _is_other_item(self, number: str, item: Entry) -> bool:
        """Return whether the number is another item in the thread."""
        other = self.added.get(number)
        is_added = other is not None and other.agent != item.agent
        return is_added or self._published(number, item) is not None

    def _published(self, number: str, item: Entry) -> Item | None:
        """Return the item with that number in the latest version."""
        items = self.latest.sections[item.section or ""]
        return next((each for each in items if each.id == number), None)

    def _other_meaning(self, number: str, item: Entry) -> str:
        """Return a sentence on the items that the author may mean instead; empty if none."""
        published = self._published(number, item)
        if published is not None:
            version = self.latest.metadata.version
            return (
                f" In v{version}, `{number}` is “{_title(published.title)}”: to refer to it, state "
                f"`**Base Version**: v{version}`."
            )
        others = [
            each
            for each in self.added.values()
            if each.section == item.section and each.agent != item.agent
        ]
        if not others:
            return ""
        others.sort(key=lambda each: each.assigned_id != number)
        shown = [f"{each.agent}'s “{_title(each.name)}”" for each in others[:_MOST_OTHERS]]
        more = len(others) - len(shown)
        listed = joined([*shown, *([f"{more} more"] if more > 0 else [])])
        have = "has" if len(others) == 1 else "have"
        return f" {listed} {have} no number before the next version."


def _title(name: str | None) -> str:
    return cut(name or "", _MOST_NAME)
