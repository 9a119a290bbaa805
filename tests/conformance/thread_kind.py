"""The case kind `thread`: what merging makes of a whole thread (companion, Merging; R7–R15, R21).

A case lists its ledger whole, so that every block is accounted for; rewrites and conflicts that it
does not list must not be there. Each round is merged a second time in the opposite order.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import Artifact, Item, Reference, Result, in_display_order
from brenner.artifact.state import BlockOutcome, Conflict, Entry, count_outcomes, empty_state
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS
from brenner.protocol.messages import StoredMessage
from conformance.thread_shorthand import THREAD_ID, Publication, beginning, steps

Case = dict[str, Any]

# Said by the state of the entry, and by `rewrites`; not repeated in the lines of a ledger.
_IMPLIED = {"DUPLICATE_BLOCK", "ID_REWRITTEN"}
# About a short thread as a whole; beside the point unless the case lists its warnings.
UNFINISHED = {"BELOW_MINIMUM", "NO_THIRD_ALTERNATIVE", "NO_SCALE_CHECK", "NO_KICKOFF"}


def expected_codes(case: Case) -> list[str]:
    """The codes that a case speaks of; one without any shows something that goes through."""
    codes = [code for line in case["ledger"] for code in _parts(line)[1]]
    codes += ["DUPLICATE_BLOCK"] * any(" duplicate " in line for line in case["ledger"])
    codes += ["ID_REWRITTEN"] * any(" @" not in line for line in case.get("rewrites", []))
    return [*codes, *case.get("warnings", [])]


def _parts(line: str) -> tuple[list[str], list[str]]:
    """A ledger's line: place, state and, unless the block is refused, the item; and its codes."""
    words = line.split()
    codes = 2 if words[1] == BlockOutcome.REFUSED else 3
    return words[:codes], sorted(words[codes:])


def check_thread(case: Case) -> None:
    """Play the thread and compare everything that the case states."""
    results = _played(case)
    last = results[-1]
    entries = [entry for result in results[beginning(case) :] for entry in result.ledger]
    assert [entry_line(entry) for entry in entries] == [
        " ".join(part + codes) for part, codes in map(_parts, case["ledger"])
    ]
    assert _rewrites(entries) == case.get("rewrites", [])
    assert [conflict_line(conflict) for conflict in last.conflicts] == case.get("conflicts", [])
    _check_warnings(case, last)
    for path, value in case.get("fields", {}).items():
        assert value_at(last.artifact, path) == value, path
    for path in case.get("absent", []):
        assert value_at(last.artifact, path) is None, path
    for name, value in case.get("metadata", {}).items():
        assert _plain(getattr(last.artifact.metadata, name)) == value, name
    if "shown" in case:
        tests = last.artifact.sections[DISCRIMINATIVE_TESTS.id]
        assert [test.id for test in in_display_order(DISCRIMINATIVE_TESTS, tests)] == case["shown"]
    for path, line in case.get("blame", {}).items():
        assert _blamed(last, path) == line, path
    _check_words(case, entries, last)


def _played(case: Case) -> list[Merge]:
    """The merge of every round, in order; the last one need not be published."""
    roster = case.get("roster")
    state = empty_state(THREAD_ID)
    results: list[Merge] = []
    unread: list[StoredMessage] = []
    for step in [*steps(case), None]:
        if isinstance(step, StoredMessage):
            unread.append(step)
        elif step or unread:
            result = merge(state, unread, roster=roster)
            assert _seen(result) == _seen(merge(state, unread[::-1], roster=roster))
            _check_counts(result, unread)
            results.append(result)
            if isinstance(step, Publication):
                state = result.publish(message_id=step.id, at=step.at)
            unread = []
    return results


def _seen(result: Merge) -> tuple[object, ...]:
    """All that a merge shows."""
    return result.artifact, result.ledger, result.conflicts, result.warnings, result.blame


def _check_counts(result: Merge, unread: list[StoredMessage]) -> None:
    """R7: every block of a DELTA message has one entry, and the counts add up."""
    blocks = [
        (posted.id, block.number)
        for posted in unread
        if posted.message.subject.startswith("DELTA[")
        for block in read_deltas(posted.message.body, THREAD_ID)
    ]
    assert sorted((entry.message_id, entry.block) for entry in result.ledger) == sorted(blocks)
    assert sum(count_outcomes(result.ledger).values()) == len(blocks)
    for entry in result.ledger:
        is_refused = entry.state is BlockOutcome.REFUSED
        assert (entry.item_id is None) <= is_refused
        assert is_refused or (entry.assigned_id is not None) == (entry.operation == "ADD")
        codes = [found.id for found in entry.diagnostics]
        assert ("DUPLICATE_BLOCK" in codes) == (entry.state is BlockOutcome.DUPLICATE)
        if entry.state is BlockOutcome.APPLIED:
            ids = [rewrite for rewrite in entry.rewrites if not rewrite.old.startswith("@")]
            assert codes.count("ID_REWRITTEN") == len(ids)


def entry_line(entry: Entry) -> str:
    """`4.1 applied H4`, `5.2 refused UNKNOWN_ITEM`, `6.1 applied T2 AMBIGUOUS_ID`."""
    item = [] if entry.state is BlockOutcome.REFUSED else [str(entry.item_id)]
    codes = sorted(found.id for found in entry.diagnostics if found.id not in _IMPLIED)
    return " ".join([f"{entry.message_id}.{entry.block}", entry.state.value, *item, *codes])


def _rewrites(entries: Iterable[Entry]) -> list[str]:
    """`5.2 discriminates H4→H5`, `5.2 predictions @epi→H5`."""
    return [
        f"{entry.message_id}.{entry.block} {rewrite.field} {rewrite.old}→{rewrite.new}"
        for entry in entries
        for rewrite in entry.rewrites
    ]


def conflict_line(conflict: Conflict, number_of: Callable[[int], int] = int) -> str:
    """`H1.claim: B (Bob 5.1) over A (Ann 4.1)`; `-` for a value that was taken away."""
    sides = [(conflict.value, conflict.source), *conflict.displaced]
    stands, *lost = [
        f"{_joined(value)} ({source.agent} {number_of(source.message_id)}.{source.block})"
        for value, source in sides
    ]
    return f"{conflict.item_id}.{conflict.field}: {stands} over {', '.join(lost)}"


def _joined(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "-" if value is None else str(value)


def _check_warnings(case: Case, result: Merge) -> None:
    ignored = set() if "warnings" in case else UNFINISHED
    codes = sorted(found.id for found in result.warnings if found.id not in ignored)
    assert codes == sorted(case.get("warnings", []))


def value_at(artifact: Artifact, path: str) -> object:
    """What stands at `H1` (its title), `H1.claim`, `P1.predictions.H2`; None where nothing does."""
    item_id, *names = path.split(".")
    item = next((item for _, item in artifact.all_items() if item.id == item_id), None)
    if item is None or not names:
        return item and item.title
    if names == ["killed"]:
        return list(item.killed) if item.killed else None
    return _inner(item, *names)


def _inner(item: Item, field: str, key: str | None = None) -> object:
    value: Any = item.fields.get(field)
    if key is not None:
        value = (value or {}).get(key)
    return _plain(value)


def _plain(value: object) -> object:
    """Tuples as lists, references as `refines H4` or `refines RS-20251228-initial H2`, results in
    one line.
    """
    if isinstance(value, tuple) and any(isinstance(each, Result) for each in value):
        return list(map(str, value))
    if isinstance(value, tuple):
        return [_short(each) if isinstance(each, Reference) else each for each in value]
    return value


def _short(reference: Reference) -> str:
    session = "" if reference.session == THREAD_ID else f"{reference.session} "
    return f"{reference.relation} {session}{reference.item}"


def _blamed(result: Merge, path: str) -> str:
    """`Ann 4.1 EDIT v2`, and ` over B` where that replaced something."""
    item_id, *names = path.split(".")
    change = result.blame[item_id][tuple(names)]
    source = change.source
    line = f"{source.agent} {source.message_id}.{source.block} {source.operation} v{source.version}"
    return line if change.replaced is None else f"{line} over {change.replaced}"


def _check_words(case: Case, entries: list[Entry], result: Merge) -> None:
    """What a message or a fix says, and the blocks that are given ready to send."""
    found = [each for entry in entries for each in entry.diagnostics] + list(result.warnings)
    for text in case.get("says", []):
        assert any(text in f"{each.message} {each.fix}" for each in found), text
    for text in case.get("ready", []):
        assert any(text in "".join((each.repaired or "", *each.readings)) for each in found), text
    for each in found:
        _check_ready(each)


def _check_ready(diagnostic: Diagnostic) -> None:
    """Blocks that are given ready to send can be read as deltas."""
    for block in read_deltas(diagnostic.repaired or "", THREAD_ID):
        assert block.delta, (diagnostic.id, json.dumps(diagnostic.repaired))
