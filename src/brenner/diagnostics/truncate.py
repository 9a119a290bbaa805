"""Limit the diagnostics of a block and of a message, and count the omitted ones.

Every check, merge, page and response uses these functions, so that all truncate in the same way.
The first diagnostic of each code is kept before a second one of any code, so that no kind of
problem disappears. After that, errors are kept before warnings, and warnings before infos.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes.messages import MORE_DIAGNOSTICS
from brenner.diagnostics.model import Diagnostic, Severity, Summary, are_fixable, worst_first
from brenner.limits import MOST_DIAGNOSTICS_OF_A_BLOCK, MOST_DIAGNOSTICS_OF_A_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NO_DIAGNOSTICS = Summary(0, 0, 0)
_SEVERITY_NOUNS = (("error", "errors"), ("warning", "warnings"), ("info", "infos"))


def truncate_for_message(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of one message, or the worst of them and the count of the rest."""
    everything = tuple(found)
    most = MOST_DIAGNOSTICS_OF_A_MESSAGE
    if len(everything) <= most:
        return everything
    # Keep the counts of blocks; add an earlier count of the message to the new one.
    old = [each for each in everything if each.left_out is not None and each.block is None]
    kept, rest = _split_kept(
        [each for each in everything if each.left_out is None or each.block is not None], most
    )
    of_one = {each.message_id for each in everything}
    more = _more_diagnostics(Summary.of([*rest, *old]), [*rest, *old], "message")
    return (*kept, more._replace(message_id=of_one.pop() if len(of_one) == 1 else None))


def truncate_for_messages(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Truncate the diagnostics of each of several messages, in their order."""
    by_message: dict[int | None, list[Diagnostic]] = {}
    for each in found:
        by_message.setdefault(each.message_id, []).append(each)
    return tuple(each for group in by_message.values() for each in truncate_for_message(group))


def truncate_for_block(
    found: Iterable[Diagnostic],
    number: int,
    line: int,
    more: Mapping[Severity, int] | None = None,
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of one delta block, truncated in the same way.

    `more` are those that the caller only counted.
    """
    everything = tuple(found)
    counted = Summary(*((more or {}).get(severity, 0) for severity in Severity))
    if len(everything) <= MOST_DIAGNOSTICS_OF_A_BLOCK and not any(counted):
        return everything
    return _truncate_block(everything, MOST_DIAGNOSTICS_OF_A_BLOCK, number, line, counted)


def truncate_for_blocks(
    found: Mapping[int, tuple[Diagnostic, ...]], lines: Mapping[int, int]
) -> Mapping[int, tuple[Diagnostic, ...]]:
    """Return the diagnostics of all blocks of a message, by block number.

    All blocks together keep at most as many as a message, but every block keeps at least its worst
    diagnostic, which explains why the block is refused. The counts of omitted diagnostics are added
    to that.
    """
    most = MOST_DIAGNOSTICS_OF_A_MESSAGE
    sizes = [len(each) for each in found.values()]
    if sum(sizes) <= MOST_DIAGNOSTICS_OF_A_BLOCK or max(sizes) <= 1:
        return found
    cut = {
        number: truncate_for_block(each, number, lines[number]) for number, each in found.items()
    }
    if sum(map(len, cut.values())) <= most:
        return cut
    flat = [(number, each) for number, diagnostics in cut.items() for each in diagnostics]
    order = _priority_order([each for _, each in flat])
    counts: dict[int, int] = dict.fromkeys(cut, 0)
    for index in order[:most]:
        counts[flat[index][0]] += 1
    return {
        number: _truncate_block(
            diagnostics, max(1, counts[number]), number, lines[number], _NO_DIAGNOSTICS
        )
        if len(diagnostics) > max(1, counts[number])
        else diagnostics
        for number, diagnostics in cut.items()
    }


def count_with_omitted(found: Sequence[object]) -> int:
    """Return the length of a list in which a count of omitted diagnostics counts as those."""
    sizes = (
        sum(each.left_out) if isinstance(each, Diagnostic) and each.left_out else 1
        for each in found
    )
    return sum(sizes)


def _truncate_block(
    found: Sequence[Diagnostic], most: int, number: int, line: int, counted: Summary
) -> tuple[Diagnostic, ...]:
    """Keep at most `most`, and add the count of the others and of those counted before."""
    old = [each for each in found if each.left_out is not None]
    kept, rest = _split_kept([each for each in found if each.left_out is None], most)
    left_out = Summary.of([*rest, *old]).plus(counted)
    more = _more_diagnostics(left_out, [*rest, *old], "block", line).in_block(number)
    return (*kept, more._replace(message_id=found[0].message_id if found else None))


def _split_kept(
    found: Sequence[Diagnostic], most: int
) -> tuple[tuple[Diagnostic, ...], list[Diagnostic]]:
    """Return the diagnostics to keep, in their order, and the others."""
    chosen = set(_priority_order(found)[:most])
    kept = tuple(each for index, each in enumerate(found) if index in chosen)
    return kept, [each for index, each in enumerate(found) if index not in chosen]


def _priority_order(found: Sequence[Diagnostic]) -> list[int]:
    """Return the indexes in the list, the most important first. Linear time."""
    firsts: dict[int, list[int]] = {}
    others: dict[int, list[int]] = {}
    seen: set[str] = set()
    for index, each in enumerate(found):
        rank = worst_first(each)[0]
        (others if each.id in seen else firsts).setdefault(rank, []).append(index)
        seen.add(each.id)
    ranks = sorted({*firsts, *others})
    return [index for part in (firsts, others) for rank in ranks for index in part.get(rank, ())]


def _more_diagnostics(
    left_out: Summary, omitted: Iterable[Diagnostic], of: str, line: int | None = None
) -> Diagnostic:
    parts = [
        f"{count:,} {words[count != 1]}"
        for count, words in zip(left_out, _SEVERITY_NOUNS, strict=True)
        if count
    ]
    more = MORE_DIAGNOSTICS.at(line, of=of, what=", ".join(parts))
    return more._replace(left_out=left_out, fixable=are_fixable(omitted))
