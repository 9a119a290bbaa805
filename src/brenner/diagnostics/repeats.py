"""Group repeated diagnostics, for people and agents to read. JSON lists every diagnostic."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, TypeVar

from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.named_tuple import NamedTuple
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class _RefusedBlock(Protocol):
        """A refused block: an entry of a ledger, or one that is still open."""

        @property
        def message_id(self) -> int: ...
        @property
        def diagnostics(self) -> tuple[Diagnostic, ...]: ...


_Block = TypeVar("_Block", bound="_RefusedBlock")

_FEWEST_EQUAL = 3  # diagnostics in the same words are shown as one from this number on
_FEWEST_ALIKE = 5  # those with the same code and fix, in different words
_SHORTEST_RANGE = 3
_MOST_PLACES = 4
_MOST_VALUES = 6
_LONGEST_VALUE = 40
_STORED_MESSAGE = "message "  # before the ID


class Repeats(NamedTuple):
    """Diagnostics with one cause, shown as one entry: the first, a count and the other places.

    `places` are the names of their files or messages, in the same order.
    """

    found: tuple[Diagnostic, ...]
    places: tuple[str, ...]

    @property
    def first(self) -> Diagnostic:
        """The diagnostic whose words are shown."""
        return self.found[0]

    @property
    def code_text(self) -> str:
        """The code with the count, such as `UNKNOWN_FIELD ×24`."""
        count = len(self.found)
        shown = self.first.shown_id
        return shown if count == 1 else f"{shown} ×{count:,}"

    def blocks(self) -> str:
        """Return the delta blocks of the first message, as `block 3` or `blocks 1–24`."""
        pairs = zip(self.places, self.found, strict=True)
        return numbered("block", (each.block or 0 for at, each in pairs if at == self.places[0]))

    def other_places(self, block: str = "block", *, with_values: bool = True) -> str:
        """Return a sentence such as `Also on lines 12, 15 and 18.`, empty for a single one.

        `block` is the reader's word for a delta block, for diagnostics without a line. If only one
        quoted value differs, the sentence lists the values, unless `with_values` is false.
        """
        values = self._different_values() if with_values else []
        if values:
            return f"Also {listed(values, _MOST_VALUES)}."
        if len(set(self.places)) > 1:
            return f"Also at {listed(self._other_files(), _MOST_PLACES)}."
        first = self.first.line
        others = {each.line for each in self.found if each.line} - {first}
        if others:
            return f"Also on {numbered('line', others)}."
        if first and len(self.found) > 1:
            return f"All on line {first}."
        blocks = {each.block for each in self.found if each.block} - {self.first.block}
        return f"Also in {numbered(block, blocks)}." if blocks else ""

    def _other_files(self) -> list[str]:
        """Return the files or messages, each with the lines there, without the first place."""
        lines: dict[str, set[int]] = {}
        for at, each in zip(self.places, self.found, strict=True):
            lines.setdefault(at, set()).update([each.line] if each.line else [])
        lines[self.places[0]].discard(self.first.line or 0)
        if not lines[self.places[0]]:
            del lines[self.places[0]]
        return [
            escape_control(at) + (f" ({numbered('line', found)})" if found else "")
            for at, found in lines.items()
        ]

    def _different_values(self) -> list[str]:
        """Return the values of the only parameter that differs, without the first, with lines."""
        rows = [_values(each) for each in self.found]
        columns = list(zip(*rows, strict=False))
        differing = [column for column in columns if len(set(column)) > 1]
        if len(differing) != 1 or len(set(self.places)) > 1 or len(set(map(len, rows))) > 1:
            return []
        if all(value.isdecimal() for value in differing[0]):
            return []  # the numbers of blocks or lines are places, not values
        shown: dict[str, str] = {}
        for value, each in zip(differing[0], self.found, strict=True):
            shown.setdefault(value, f"`{value}`{_line_text(each)}")
        return list(shown.values())[1:]


def group_repeats(found: Iterable[Diagnostic], places: Iterable[str] = ()) -> list[Repeats]:
    """Group diagnostics with one cause, in the order of the first of each group.

    Three or more in the same words are one group. Five or more with the same code and the same fix
    are one group, too: they differ in what they quote. `places` are the names of the files or
    messages that they are about.
    """
    everything = list(zip(found, chain(places, repeat("")), strict=False))
    equal: dict[tuple[str, str, bool, str], list[int]] = {}
    for index, (each, _) in enumerate(everything):
        # The count of a truncated list is always an entry of its own.
        fix = each.fix if each.left_out is None else str(index)
        equal.setdefault((each.id, fix, each.fixable, each.message), []).append(index)
    alike: dict[tuple[str, str, bool], list[list[int]]] = {}
    for (code, fix, is_fixable, _), indexes in equal.items():
        is_group = len(indexes) >= _FEWEST_EQUAL
        entries = [indexes] if is_group else [[index] for index in indexes]
        alike.setdefault((code, fix, is_fixable), []).extend(entries)
    groups: list[list[int]] = []
    for entries in alike.values():
        is_group = len(entries) >= _FEWEST_ALIKE
        groups += [sorted(chain.from_iterable(entries))] if is_group else entries
    return [
        Repeats(*map(tuple, zip(*(everything[index] for index in group), strict=True)))
        for group in sorted(groups)
    ]


def group_blocks(blocks: Iterable[_Block]) -> list[list[_Block]]:
    """Group the refused blocks of each message that have the same causes, as `group_repeats` does.

    The diagnostics of the blocks of a group differ at most in their places and in what they quote.
    """
    alike: dict[tuple[object, ...], list[_Block]] = {}
    for each in blocks:
        found = sorted(each.diagnostics, key=worst_first)
        key = (each.message_id, *((one.id, one.fix) for one in found))
        alike.setdefault(key, []).append(each)
    groups: list[list[_Block]] = []
    for members in alike.values():
        words = {tuple(one.message for one in each.diagnostics) for each in members}
        fewest = _FEWEST_EQUAL if len(words) == 1 else _FEWEST_ALIKE
        groups += [members] if len(members) >= fewest else [[each] for each in members]
    return groups


def repeats_of_blocks(blocks: Sequence[_Block]) -> list[Repeats]:
    """Return the diagnostics of a group of blocks, worst first, each once for all blocks."""
    rows = [sorted(each.diagnostics, key=worst_first) for each in blocks]
    return [Repeats(found, ("",) * len(found)) for found in zip(*rows, strict=True)]


def numbered(noun: str, numbers: Iterable[int]) -> str:
    """Return a text such as `line 7`, `blocks 1–24` or `lines 3, 9–12, 20, 31 and 5 more`."""
    ordered = sorted(set(numbers))
    if len(ordered) == 1:
        return f"{noun} {ordered[0]}"
    ranges: list[list[int]] = []
    for number in ordered:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    shown: list[str] = []
    sizes: list[int] = []
    for each in ranges:
        is_range = len(each) >= _SHORTEST_RANGE
        shown += [f"{each[0]}–{each[-1]}"] if is_range else map(str, each)
        sizes += [len(each)] if is_range else [1] * len(each)
    more = sum(sizes[_MOST_PLACES:]) if len(shown) > _MOST_PLACES + 1 else 0
    kept = shown[:_MOST_PLACES] if more else shown
    return f"{noun}s {_joined(kept, more)}"


def listed(texts: list[str], most: int) -> str:
    """Join texts for a sentence, at most `most` or one more, with the count of the others."""
    more = len(texts) - most if len(texts) > most + 1 else 0
    return _joined(texts[:most] if more else texts, more)


def _joined(texts: list[str], more: int) -> str:
    *most, last = [*texts, f"{more:,} more"] if more else texts
    return f"{', '.join(most)} and {last}" if most else last


def place_text(name: str, line: int | None) -> str:
    """Return `file.md:11` for a file, and `message 8, body line 6` for a stored message.

    The lines of a file are counted from its first line. A stored message has no file, so its lines
    are counted in its body.
    """
    if not line:
        return escape_control(name)
    is_stored = name.startswith(_STORED_MESSAGE) and name.removeprefix(_STORED_MESSAGE).isdecimal()
    return f"{escape_control(name)}{', body line ' if is_stored else ':'}{line}"


def _line_text(found: Diagnostic) -> str:
    return f" (line {found.line})" if found.line else ""


def _values(found: Diagnostic) -> list[str]:
    """Return the values of the parameters, as they are shown."""
    return [escape_control(str(value), _LONGEST_VALUE) for _, value in found.parameters]
