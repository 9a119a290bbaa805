"""How many diagnostics are kept of a block and of a message; one more counts the rest.

Every check, merge, page and answer uses these functions, so that all of them cut in the same way.
The first of each code is kept before a second of any, so that no kind of problem disappears behind
another. Beyond that errors are kept before warnings, and warnings before infos.
"""

from collections.abc import Iterable, Mapping, Sequence

from brenner.diagnostics.codes.messages import MORE_DIAGNOSTICS
from brenner.diagnostics.model import Diagnostic, Severity, Summary, worst_first
from brenner.limits import MOST_DIAGNOSTICS_OF_A_BLOCK, MOST_DIAGNOSTICS_OF_A_MESSAGE

_NONE = Summary(0, 0, 0)
_WORDS = (("error", "errors"), ("warning", "warnings"), ("info", "infos"))


def of_message(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of one message, or the worst of them and the count of the rest."""
    everything = tuple(found)
    most = MOST_DIAGNOSTICS_OF_A_MESSAGE
    if len(everything) <= most:
        return everything
    # A block's own count may stay; that of a message goes into the new one.
    old = [each for each in everything if each.left_out is not None and each.block is None]
    kept, rest = _cut(
        [each for each in everything if each.left_out is None or each.block is not None], most
    )
    of_one = {each.message_id for each in everything}
    more = _more(Summary.of([*rest, *old]), "message")
    return (*kept, more._replace(message_id=of_one.pop() if len(of_one) == 1 else None))


def of_messages(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Do the same for each of several messages, in the order in which they come."""
    by_message: dict[int | None, list[Diagnostic]] = {}
    for each in found:
        by_message.setdefault(each.message_id, []).append(each)
    return tuple(each for group in by_message.values() for each in of_message(group))


def of_block(
    found: Iterable[Diagnostic],
    number: int,
    line: int,
    more: Mapping[Severity, int] | None = None,
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of one delta block, cut in the same way.

    `more` are those that the caller has counted without making them.
    """
    everything = tuple(found)
    counted = Summary(*((more or {}).get(severity, 0) for severity in Severity))
    if len(everything) <= MOST_DIAGNOSTICS_OF_A_BLOCK and not any(counted):
        return everything
    return _of_block(everything, MOST_DIAGNOSTICS_OF_A_BLOCK, number, line, counted)


def of_blocks(
    found: Mapping[int, tuple[Diagnostic, ...]], lines: Mapping[int, int]
) -> Mapping[int, tuple[Diagnostic, ...]]:
    """Return the diagnostics of all blocks of a message, by the number of the block.

    All blocks together have as many as a message may have. A block whose diagnostics have no room
    there still keeps its worst one: it says why the block is refused.
    """
    most = MOST_DIAGNOSTICS_OF_A_MESSAGE
    sizes = [len(each) for each in found.values()]
    if sum(sizes) <= MOST_DIAGNOSTICS_OF_A_BLOCK or max(sizes) <= 1:
        return found
    cut = {number: of_block(each, number, lines[number]) for number, each in found.items()}
    if sum(map(len, cut.values())) <= most:
        return cut
    flat = [(number, each) for number, said in cut.items() for each in said]
    order = _by_worth([each for _, each in flat])
    kept: dict[int, int] = dict.fromkeys(cut, 0)
    for index in order[:most]:
        kept[flat[index][0]] += 1
    return {
        number: _of_block(said, max(1, kept[number]), number, lines[number], _NONE)
        if len(said) > max(1, kept[number])
        else said
        for number, said in cut.items()
    }


def how_many(found: Sequence[object]) -> int:
    """Return how many things a list is about: one that stands for others counts as those."""
    sizes = (
        sum(each.left_out) if isinstance(each, Diagnostic) and each.left_out else 1
        for each in found
    )
    return sum(sizes)


def _of_block(
    found: Sequence[Diagnostic], most: int, number: int, line: int, counted: Summary
) -> tuple[Diagnostic, ...]:
    """At most so many, then the count of the others and of those that were counted before."""
    old = [each for each in found if each.left_out is not None]
    kept, rest = _cut([each for each in found if each.left_out is None], most)
    more = _more(Summary.of([*rest, *old]).plus(counted), "block", line).in_block(number)
    return (*kept, more._replace(message_id=found[0].message_id if found else None))


def _cut(found: Sequence[Diagnostic], most: int) -> tuple[tuple[Diagnostic, ...], list[Diagnostic]]:
    """Those that are kept, in their order, and the others."""
    chosen = set(_by_worth(found)[:most])
    kept = tuple(each for index, each in enumerate(found) if index in chosen)
    return kept, [each for index, each in enumerate(found) if index not in chosen]


def _by_worth(found: Sequence[Diagnostic]) -> list[int]:
    """The places in the list, what is to be kept first at the front. Takes linear time."""
    firsts: dict[int, list[int]] = {}
    others: dict[int, list[int]] = {}
    seen: set[str] = set()
    for index, each in enumerate(found):
        rank = worst_first(each)[0]
        (others if each.id in seen else firsts).setdefault(rank, []).append(index)
        seen.add(each.id)
    ranks = sorted({*firsts, *others})
    return [index for part in (firsts, others) for rank in ranks for index in part.get(rank, ())]


def _more(left_out: Summary, of: str, line: int | None = None) -> Diagnostic:
    parts = [
        f"{count:,} {words[count != 1]}"
        for count, words in zip(left_out, _WORDS, strict=True)
        if count
    ]
    return MORE_DIAGNOSTICS.at(line, of=of, what=", ".join(parts))._replace(left_out=left_out)
