"""However much is wrong with a message: what is reported is bounded, true, and takes linear work.

Nothing here measures time. Work is counted: diagnostics, edits, calls, characters that are copied.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest

from brenner.artifact.merge.engine import merge
from brenner.artifact.state import BlockOutcome, empty_state, ledger_json
from brenner.diagnostics.codes.deltas import INLINE_DELTA, JSON_SUSPICIOUS_ESCAPE, UNKNOWN_FIELD
from brenner.diagnostics.codes.mail import WOULD_BE_REFUSED
from brenner.diagnostics.codes.messages import (
    EMPTY_MESSAGE,
    MORE_DIAGNOSTICS,
    PLACEHOLDER_LEFT,
    UNREADABLE_INPUT,
)
from brenner.diagnostics.model import INFO, WARNING, Diagnostic, Summary, worst_first
from brenner.diagnostics.repeats import group_blocks, group_repeats, repeats_of_blocks
from brenner.diagnostics.truncate import (
    truncate_for_block,
    truncate_for_blocks,
    truncate_for_message,
    truncate_for_messages,
)
from brenner.limits import (
    MOST_BLOCKS,
    MOST_DIAGNOSTICS_OF_A_BLOCK,
    MOST_DIAGNOSTICS_OF_A_MESSAGE,
)
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta import parse as explain
from brenner.protocol.delta.parse import read_blocks
from brenner.protocol.delta.stray import find_strays
from brenner.protocol.messages import Message, StoredMessage
from brenner.protocol.validate import check_message
from brenner.session.compiler import compile_next_version
from hostile_bodies import HOSTILE_BODIES, OBJECT, HostileBody, fence
from program import brenner
from sample_messages import THREAD_ID
from version_threads import chain_of, compiler, foreign

THREAD = THREAD_ID
_AT = datetime(2026, 1, 1, tzinfo=UTC)
_SIZE = 300_000
_SMALL = 16_000
_KILL = '{"operation":"KILL","section":"anomaly_register","target_id":"X1","rationale":"r"}'
_TAU = '{"operation":"KILL","section":"anomaly_register","target_id":"X1","rationale":"%s"}'


def text_of(body: str, subject: str = "DELTA[gpt]: x") -> str:
    """A message file."""
    headers = "Thread: RS-20251230-limits-of-mail\nFrom: BlueLake\nTo: Operator\n"
    return f"{headers}Subject: {subject}\n\n{body}"


def posted(body: str, subject: str = "DELTA[gpt]: x") -> StoredMessage:
    """A stored message, however long."""
    return StoredMessage(7, _AT, Message(THREAD, "BlueLake", ("Operator",), subject, body))


def ids(found: tuple[Diagnostic, ...]) -> list[str]:
    """The codes."""
    return [each.id for each in found]


# What a check reports


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_check_is_bounded(body: HostileBody) -> None:
    """At most so many diagnostics of a block and of a message, and JSON of a bounded length."""
    report = check_message(text_of(body.make(_SIZE), body.subject))
    assert len(report.violations) <= MOST_DIAGNOSTICS_OF_A_MESSAGE + 1
    by_block = Counter(each.block for each in report.violations if each.block)
    assert max(by_block.values(), default=0) <= MOST_DIAGNOSTICS_OF_A_BLOCK + 1
    document = report.to_json()
    assert len(json.dumps(document | {"corrected": None})) < 600_000
    assert document["deltas_total"] == len(report.deltas)
    assert all(each.valid or each.code for each in report.deltas)


def test_counts_are_true() -> None:
    """What is left out is counted by severity, and the summary counts everything."""
    count = 3_000
    report = check_message(text_of(OBJECT * count))
    shown = [each for each in report.violations if each.code is INLINE_DELTA]
    more = report.violations[-1]
    assert more.code is MORE_DIAGNOSTICS
    assert more.left_out == Summary(0, 0, count - len(shown))
    assert f"{count - len(shown):,} infos" in more.message
    assert report.summary == Summary(1, 0, count)  # the error is that it has no delta block
    assert more.to_json()["left_out"] == {"errors": 0, "warnings": 0, "info": count - len(shown)}


def test_of_one_block() -> None:
    """A valid block with very many warnings stays valid, and is applied."""
    body = fence(_TAU % ("\\tau " * 1_000)) + fence(_KILL)
    report = check_message(text_of(body))
    assert report.valid
    assert [each.valid for each in report.deltas] == [True, True]
    assert report.summary == Summary(0, 1_000, 0)
    assert ids(report.violations) == [JSON_SUSPICIOUS_ESCAPE.id] * 50 + [MORE_DIAGNOSTICS.id]
    assert (report.violations[-1].block, report.violations[-1].line) == (1, 6)


def test_no_error_hides_behind_warnings() -> None:
    """The last block of many has the only error: it is shown, and each block keeps its code."""
    body = fence(_TAU % ("\\tau " * 60)) * 20 + fence('{"operation":"ADD"}')
    report = check_message(text_of(body))
    assert not report.valid
    assert report.summary.warnings == 20 * 60
    errors = [each for each in report.violations if each.block == 21]
    assert len(errors) == report.summary.errors > 0
    assert [each.code for each in report.deltas] == [None] * 20 + [errors[0].id]


def test_every_kind_of_problem_is_shown() -> None:
    """A placeholder behind hundreds of other warnings still keeps a message from being sent."""
    body = fence(_TAU % ("\\tau " * 60)) * 20 + "\n[[fill in: your reasons]]\n"
    report = check_message(text_of(body))
    assert len(report.violations) == MOST_DIAGNOSTICS_OF_A_MESSAGE + 1
    assert PLACEHOLDER_LEFT.id in ids(report.violations)
    many = [UNREADABLE_INPUT.at(path="x", reason="y")] * 300
    kept = truncate_for_message([*many, EMPTY_MESSAGE.at()])
    assert EMPTY_MESSAGE.id in ids(kept)


def test_too_many_blocks_share_one_reason() -> None:
    """All are refused; as many are listed as would have been read."""
    count = MOST_BLOCKS + 500
    report = check_message(text_of(fence("{}") * count))
    assert {each.code for each in report.deltas} == {"TOO_MANY_BLOCKS"}
    document = report.to_json()
    assert isinstance(document["deltas"], list)
    assert (len(document["deltas"]), document["deltas_total"]) == (MOST_BLOCKS, count)


def test_corrections_count_all_strays() -> None:
    """A correction is compared with all that was there, not with what the report shows."""
    block = '{"operation": "KILL", "section": "anomaly_register", "target_id": "X1", '
    body = "\n\n".join([block + f'"rationale": "r{number}"}}' for number in range(400)])
    report = check_message(text_of(body + "\n"))
    assert report.corrected is not None
    again = check_message(report.corrected)
    assert (again.valid, len(again.deltas)) == (True, 400)


# The one place that decides


def found(count: int, block: int | None = None) -> list[Diagnostic]:
    """So many infos, on lines of their own."""
    made = INLINE_DELTA.at(where="x")._replace(block=block)
    return [made._replace(line=number) for number in range(1, count + 1)]


def test_cutting_twice_changes_nothing() -> None:
    """Lists that were cut can be put together and cut again; nothing is counted twice."""
    once = truncate_for_message(found(500))
    assert truncate_for_message(once) == once
    more = truncate_for_message([*once, *found(300)])
    assert len(more) == MOST_DIAGNOSTICS_OF_A_MESSAGE + 1
    assert Summary.of(more) == Summary(0, 0, 800)
    in_block = truncate_for_block(found(80, block=3), 3, 9)
    assert len(in_block) == MOST_DIAGNOSTICS_OF_A_BLOCK + 1
    assert truncate_for_block(in_block, 3, 9) == in_block
    counted = truncate_for_block(in_block, 3, 9, {WARNING: 7, INFO: 1})
    assert Summary.of(counted) == Summary(0, 7, 81)


def test_few_are_left_as_they_are() -> None:
    """Up to the limit nothing changes, not even the order."""
    few = tuple(reversed(found(MOST_DIAGNOSTICS_OF_A_MESSAGE)))
    assert truncate_for_message(few) == few
    assert truncate_for_messages(few) == few


def test_blocks_share_the_room_of_a_message() -> None:
    """Each keeps its worst one, whatever the others have."""
    warning = JSON_SUSPICIOUS_ESCAPE.at(1, escape="e", character="c", rest="r", name="n")
    error = UNREADABLE_INPUT.at(5, path="x", reason="y")
    said = {number: (*found(60), warning, error) for number in range(1, 101)}
    kept = truncate_for_blocks(said, dict.fromkeys(said, 1))
    assert all(each[0] in (error, warning) or error in each for each in kept.values())
    assert all(error in each for each in kept.values())
    total = sum(len([one for one in each if one.left_out is None]) for each in kept.values())
    assert total <= MOST_DIAGNOSTICS_OF_A_MESSAGE + len(said)
    assert Summary.of(one for each in kept.values() for one in each) == Summary(100, 100, 6_000)


def test_a_count_comes_last() -> None:
    """Behind all others, and behind those of single blocks."""
    in_block = truncate_for_block(found(80, block=3), 3, 9)
    together = sorted(
        [*truncate_for_message(found(300)), *in_block, EMPTY_MESSAGE.at()], key=worst_first
    )
    assert ids(tuple(together[-2:])) == [MORE_DIAGNOSTICS.id] * 2
    assert [each.block for each in together[-2:]] == [3, None]


# Ledgers and compiles


@pytest.mark.thorough
@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_ledger_is_bounded(body: HostileBody) -> None:
    """Every block has its state, a refused one its reason; the whole is no longer for that."""
    made = body.make(_SIZE)
    expected = len(check_message(text_of(made, body.subject)).deltas)
    merged = merge(empty_state(THREAD), [posted(made, body.subject)])
    ledger = merged.ledger
    assert len(ledger) == expected
    for entry in ledger:
        assert len(entry.diagnostics) <= MOST_DIAGNOSTICS_OF_A_BLOCK + 1
        if entry.state is BlockOutcome.REFUSED:
            assert Summary.of(entry.diagnostics).errors >= 1
    shown = [one for entry in ledger for one in entry.diagnostics if one.left_out is None]
    assert len(shown) <= MOST_DIAGNOSTICS_OF_A_MESSAGE + len(ledger)
    assert len(merged.warnings) <= MOST_DIAGNOSTICS_OF_A_MESSAGE + 20
    document = ledger_json(ledger)
    assert isinstance(document["entries"], list)
    assert len(document["entries"]) + int(str(document["entries_left_out"])) == len(ledger)
    assert len(document["entries"]) <= MOST_BLOCKS
    assert len(json.dumps(document)) < 2_000_000


@pytest.mark.parametrize("name", ["objects on one line", "deltas in other mail", "quoted fences"])
def test_proposal_is_bounded(name: str) -> None:
    """Also what contributes nothing."""
    body = HOSTILE_BODIES[name]
    message = foreign(4, _AT, body.subject, body.make(_SIZE))
    found = compile_next_version(chain_of([message]), compiler(_AT)).not_contributed
    assert len(found) == MOST_DIAGNOSTICS_OF_A_MESSAGE + 1
    assert {each.message_id for each in found} == {4}
    assert sum(Summary.of(found)) > 5_000


# Work


class Counted(str):
    """A text that counts the characters which are copied or searched."""

    __slots__ = ()
    work = 0

    def __getitem__(self, key: object) -> "Counted":
        part = Counted(super().__getitem__(key))  # type: ignore[index]
        Counted.work += len(part)
        return part

    def rfind(self, *arguments: object) -> int:
        """Count from the end of what is searched to where it was found."""
        place = super().rfind(*arguments)  # type: ignore[arg-type]
        end = arguments[2] if len(arguments) > 2 else len(self)
        Counted.work += int(str(end)) - max(place, 0)
        return place


def looked_at(count: int) -> int:
    """How many characters the search for strays looks at, in a line with so many objects."""
    body = Counted(OBJECT * count)
    Counted.work = 0
    assert len(find_strays(body, parse_blocks(body))) == count
    return Counted.work


def test_objects_on_one_line_take_linear_work() -> None:
    """Each is looked at with its neighbours, not with the whole line."""
    assert looked_at(1_200) < 6 * looked_at(300)


def test_indented_fences_have_one_edit_for_each_line() -> None:
    """Once all of them had the edits of all lines: 256 KB took all memory that there is."""
    body = HOSTILE_BODIES["fences as indented code"].make(_SIZE)
    strays = find_strays(body, parse_blocks(body))
    assert len(strays) > 1_000
    assert sum(len(each.edits) for each in strays) <= body.count("\n")


def test_lines_are_looked_up_for_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look-up counts the lines of the whole block."""
    calls = Counter[str]()
    line_of = explain._line_of_offset  # noqa: SLF001

    def counted(*arguments: object) -> int:
        calls["line"] += 1
        return line_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(explain, "_line_of_offset", counted)
    for name in ("commands of LaTeX", "several objects in a block"):
        body = HOSTILE_BODIES[name].make(200_000)
        assert len(read_blocks(parse_blocks(body))) == 1
    assert calls["line"] < 4 * MOST_DIAGNOSTICS_OF_A_BLOCK


def calls_of(work: Callable[[str], object], text: str) -> int:
    """How many functions are called, C's among them."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    explain._cached_scan.cache_clear()  # noqa: SLF001
    sys.setprofile(called)
    try:
        work(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_four_times_the_bytes_take_four_times_the_calls(body: HostileBody) -> None:
    """For checking with its correction, and for merging."""
    short, long = body.make(_SMALL), body.make(4 * _SMALL)
    for work in (
        lambda text: check_message(text_of(text, body.subject)),
        lambda text: merge(empty_state(THREAD), [posted(text, body.subject)]),
    ):
        work(short)  # what is imported or compiled once is not counted
        assert calls_of(work, long) < 5 * calls_of(work, short) + 5_000


def repeated_edits(count: int) -> list[StoredMessage]:
    """One edit; then very many that say the same besides another thing, and as many repeats."""
    said = '{"operation":"EDIT","section":"hypothesis_slate","target_id":"H1","rationale":"r",'
    added = '{"operation":"ADD","section":"hypothesis_slate","rationale":"r","payload":{"name":"N",'
    edit = fence(said + '"payload":{"claim":"c"}}')
    others = [
        fence(said + f'"payload":{{"claim":"c","mechanism":"m{number}"}}}}')
        for number in range(count)
    ]
    first = posted(fence(added + '"claim":"a","mechanism":"m","anchors":["[inference]"]}}') + edit)
    return [first, posted("".join([*others, *[edit] * count]))._replace(id=8)]


def merged_calls(count: int) -> int:
    """How many functions are called to merge them."""
    ledger = merge(empty_state(THREAD), repeated_edits(count)).ledger
    states = Counter(entry.state for entry in ledger)
    assert states == {BlockOutcome.APPLIED: count + 2, BlockOutcome.DUPLICATE: count}
    messages = repeated_edits(count)
    return calls_of(lambda _: merge(empty_state(THREAD), messages), "")


def test_repeated_edits_take_linear_work() -> None:
    """Each block is read once, however many blocks below are compared with it."""
    assert merged_calls(120) < 5 * merged_calls(30)


def test_a_kind_of_problem_never_disappears_behind_another() -> None:
    """R4: a swallowed block is named with its line, however many warnings there are."""
    kill = {
        "operation": "KILL",
        "section": "hypothesis_slate",
        "target_id": "H2",
        "payload": {"reason": "x"},
        "rationale": "TAUS",
    }
    text = json.dumps(kill).replace("TAUS", r"\tau " * 60)
    blocks = "\n".join(f"```delta\n{text}\n```\n" for _ in range(5))
    swallowed = f"````text\n```delta\n{json.dumps(kill)}\n```\n````\n"
    report = check_message(text_of(f"{blocks}\n{swallowed}", "DELTA[gpt]: x"))
    found = {each.id: each for each in report.violations}
    assert report.summary.warnings == 300
    assert found["SWALLOWED_DELTA"].line
    assert found["MORE_DIAGNOSTICS"].left_out


# Repeats are shown as one entry; JSON has all


def group(*many: Diagnostic) -> list[tuple[str, str]]:
    """The code with its count, and the other places, of each shown entry."""
    return [(each.code_text, each.other_places()) for each in group_repeats(many)]


def unknown_field(number: int, fix: str = "a, b") -> Diagnostic:
    """One of several that differ in the quoted name."""
    return UNKNOWN_FIELD.at(number, name=f"n{number}", where="X", known=fix, suggestion="")


def test_equal_words_are_one_entry_from_three_on() -> None:
    """Two stay as they are; the first place is the entry's own."""
    assert group(*found(2)) == [("INLINE_DELTA", "")] * 2
    assert group(*found(3)) == [("INLINE_DELTA ×3", "Also on lines 2 and 3.")]
    assert group(*found(24)) == [("INLINE_DELTA ×24", "Also on lines 2–24.")]
    scattered = [each._replace(line=3 * each.line) for each in found(24) if each.line]
    assert group(*scattered) == [("INLINE_DELTA ×24", "Also on lines 6, 9, 12, 15 and 19 more.")]
    on_one_line = [each._replace(line=7) for each in found(5_000)]
    assert group(*on_one_line) == [("INLINE_DELTA ×5,000", "All on line 7.")]


def test_same_code_and_fix_are_one_entry_from_five_on() -> None:
    """The values that differ are listed with their lines."""
    assert len(group(*map(unknown_field, range(1, 5)))) == 4
    places = "Also `n2` (line 2), `n3` (line 3), `n4` (line 4) and `n5` (line 5)."
    assert group(*map(unknown_field, range(1, 6))) == [("UNKNOWN_FIELD ×5", places)]
    many = group_repeats(map(unknown_field, range(1, 25)))
    assert many[0].other_places().endswith(", `n7` (line 7) and 17 more.")
    assert many[0].other_places(with_values=False) == "Also on lines 2–24."
    numbers = [WOULD_BE_REFUSED.at(n, block=n, reason="why", fix="fix") for n in range(1, 6)]
    assert group(*numbers) == [("WOULD_BE_REFUSED ×5", "Also on lines 2–5.")]
    others = [unknown_field(number, fix=str(number)) for number in range(1, 25)]
    assert len(group(*others)) == 24


def test_groups_keep_the_order_and_the_count() -> None:
    """A group is where its first member is; a count of omitted diagnostics is never in a group."""
    error = EMPTY_MESSAGE.at()
    mixed = [error, *truncate_for_message(found(300))]
    assert group(*mixed) == [
        ("EMPTY_MESSAGE", ""),
        (f"INLINE_DELTA ×{MOST_DIAGNOSTICS_OF_A_MESSAGE}", "Also on lines 2–200."),
        ("MORE_DIAGNOSTICS", ""),
    ]
    groups = group_repeats(mixed)
    assert Summary.of(one for each in groups for one in each.found) == Summary.of(mixed)


def test_groups_name_their_places() -> None:
    """Messages with their lines, or blocks where there is no line."""
    names = [f"message {number}" for number in (4, 4, 9, 12)]
    (made,) = group_repeats(found(4), names)
    assert (made.places[0], made.other_places()) == (
        "message 4",
        "Also at message 4 (line 2), message 9 (line 3) and message 12 (line 4).",
    )
    (made,) = group_repeats(found(9), ["message 4"] * 3 + ["message 9"] * 6)
    assert made.other_places() == "Also at message 4 (lines 2 and 3) and message 9 (lines 4–9)."
    blocks = [each._replace(line=None, block=each.line) for each in found(24)]
    (made,) = group_repeats(blocks)
    assert made.other_places("delta") == "Also in deltas 2–24."


class Block(NamedTuple):
    """A refused block."""

    message_id: int
    diagnostics: tuple[Diagnostic, ...]


def test_blocks_with_the_same_causes_are_one_group() -> None:
    """Of one message each; from three on, or from five on if they quote different words."""
    equal = [Block(1, (each,)) for each in found(3)]
    alike = [Block(1, (unknown_field(number),)) for number in range(1, 6)]
    other = Block(2, (found(1)[0],))
    assert group_blocks([*equal, *alike, other]) == [equal, alike, [other]]
    assert group_blocks([*equal[:2], *alike[:4]]) == [[each] for each in (*equal[:2], *alike[:4])]
    (made,) = repeats_of_blocks(equal)
    assert (made.first, made.other_places()) == (found(1)[0], "Also on lines 2 and 3.")


def test_check_shows_repeats_once(tmp_path: Path) -> None:
    """24 blocks with one fault are one line with a count. JSON has all of them."""
    block = json.dumps({"operation": "ADD", "section": "hypothesys", "payload": {}})
    (tmp_path / "m.md").write_text(text_of(fence(block) * 24), "utf-8")
    done = brenner("check", "m.md", cwd=tmp_path)
    lines = [line for line in done.out.splitlines() if "error INVALID_SECTION" in line]
    assert len(lines) == 1
    assert lines[0].startswith("m.md:7  error INVALID_SECTION ×24  `hypothesys` is not")
    assert "24 errors" in done.out
    told = brenner("check", "--json", "m.md", cwd=tmp_path).json
    assert [each["id"] for each in told["violations"]].count("INVALID_SECTION") == 24
