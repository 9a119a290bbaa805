"""Check messages: headers, subject, body and delta blocks, with a corrected message if possible.

`check_message` is all of `brenner check`. A problem in one part never prevents the check of
another. This module also decides which malformed subjects in a shared mailbox belong to the
protocol.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.model import Diagnostic, Summary, is_error, worst_first
from brenner.diagnostics.truncate import truncate_for_message
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BLOCKS, MOST_BODY_BYTES
from brenner.markdown.blocks import Block, parse_blocks
from brenner.markdown.edits import LineIndex, TextEdit, apply_edits
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import check_ack_required, check_body
from brenner.protocol.delta.parse import (
    attach_repairs,
    is_delta_fence,
    may_contain_strays,
    read_blocks,
)
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, DeltaBlock, Operation
from brenner.protocol.message_types import (
    COMPILED,
    CRITIQUE,
    DELTA,
    KICKOFF,
    PLACEHOLDER,
    TYPES,
    MessageType,
)
from brenner.protocol.messages import Message, MessageFile, as_message_file, parse_message_file
from brenner.protocol.subjects import ROLE_SHORTHANDS, check_subject, parse_subject, repair_subject
from brenner.protocol.thread_ids import check_thread_id, is_valid_thread_id, without_id_advice
from brenner.text import MOST_SHOWN_CHARACTERS, closest_certain

if TYPE_CHECKING:
    from brenner.protocol.delta.stray import StrayDelta

_DELTA_LIKE = lazy_pattern(r"\W*DELTA\s*[\[:]", re.IGNORECASE)
# Types that the artifact depends on. Ordinary mail never begins with one of these and a colon.
_PROTOCOL_ONLY_TYPES = (KICKOFF.name, DELTA.name, COMPILED.name)
_CONTRIBUTION_TYPES = (*_PROTOCOL_ONLY_TYPES, CRITIQUE.name)
# The first word in capitals, and the mark after it: `[KICKOFF] …`, `KICK-OFF: …`, `DELTA - …`
_FIRST_WORD = lazy_pattern(r"[\W_]*([A-Z][A-Z-]{2,}[A-Z])(?![A-Za-z0-9])[\W_]*?([:\[]?)", re.ASCII)
# `DELTA(gpt): …`, `DELTA gpt-5: …`
_DELTA_WITH_MODEL = lazy_pattern(
    rf"[\W_]*DELTA[\W_]*(?:{'|'.join(ROLE_SHORTHANDS)})[\w.-]*\W*:", re.IGNORECASE
)
# Some authors copy the header's name with the subject.
_SUBJECT_HEADER = lazy_pattern(r"\A\s*subject\s*:\s*(?=\S)", re.IGNORECASE)
_HIDDEN_CATEGORIES = ("Cf", "Cc")
_LONGEST_PREFIX = 500  # characters searched for a prefix


def intended_type(subject: str) -> MessageType | None:
    """Return the message type, also for a malformed prefix, so that the body is checked too."""
    parsed = parse_subject(subject) or parse_subject(repair_subject(subject) or "")
    if parsed:
        return TYPES[parsed.type]
    return DELTA if _DELTA_LIKE.match(subject) else None


def looks_like_protocol_subject(subject: str, *, in_session: bool) -> bool:
    """Return whether the author of a subject meant to write a protocol prefix.

    In a session's thread, `Question: …` is a prefix; elsewhere it is ordinary prose. A contribution
    with a malformed prefix must be rejected, or it would be lost as plain mail. Plain mail that
    begins with such a word must not be rejected.
    """
    if parse_subject(subject):
        return True
    shown = _SUBJECT_HEADER.sub(
        "", _visible_text(subject[:_LONGEST_PREFIX])[:_LONGEST_PREFIX], count=1
    )
    repaired = parse_subject(repair_subject(shown) or "") or parse_subject(shown)
    if repaired:
        is_written_so = shown.lstrip().startswith(repaired.type)
        return in_session or is_written_so or repaired.type in _PROTOCOL_ONLY_TYPES
    is_a_delta = intended_type(shown) is not None or _DELTA_WITH_MODEL.match(shown) is not None
    return is_a_delta or _has_near_prefix(shown, in_session)


def _has_near_prefix(shown: str, in_session: bool) -> bool:
    """Return whether the first word is a message type, perhaps with a typo, used as a prefix."""
    first = _FIRST_WORD.match(shown)
    if first is None:
        return False
    word, follows = first.groups()
    if in_session:
        return word in _CONTRIBUTION_TYPES or bool(
            follows and closest_certain(word, _CONTRIBUTION_TYPES)
        )
    return bool(follows and closest_certain(word, (KICKOFF.name, DELTA.name)))


def _visible_text(subject: str) -> str:
    """Return the subject as a reader sees it: no hidden characters, normal character width."""
    if subject.isascii():
        return subject
    plain = normalize("NFKC", subject)
    return "".join(each for each in plain if category(each) not in _HIDDEN_CATEGORIES)


# The report of a check, and its stable JSON (design, JSON)


class CheckedDelta(NamedTuple):
    """A summary of one delta block: its keys as written, and whether it would be applied.

    `code` is the first code of a block that would be refused, even if the report omits its
    diagnostics.
    """

    block: int
    line: int
    operation: str | None
    section: str | None
    target_id: str | None
    valid: bool
    code: str | None = None


def adds_hypothesis(deltas: Iterable[CheckedDelta]) -> bool:
    """Return whether a valid block adds a hypothesis."""
    return any(
        each.valid and each.operation == Operation.ADD and each.section == HYPOTHESIS_SLATE.id
        for each in deltas
    )


def deltas_json(deltas: tuple[CheckedDelta, ...]) -> dict[str, object]:
    """Return the blocks as stable JSON.

    If there are too many, all are refused for that reason, and only the first ones are listed.
    """
    listed = [delta._asdict() for delta in deltas[:MOST_BLOCKS]]
    return {"deltas": listed, "deltas_total": len(deltas)}


class Report(NamedTuple):
    """The result of checking one message. Lines count in the text that was checked.

    `corrected` is the message with all errors fixed, `partly_corrected` with those that are fixable
    if not all are.

    If there are very many violations, it contains the worst ones and a count of the others
    (`MORE_DIAGNOSTICS`). The summary counts all.
    """

    type: str | None
    thread_id: str | None
    violations: tuple[Diagnostic, ...]
    deltas: tuple[CheckedDelta, ...] = ()
    corrected: str | None = None
    partly_corrected: str | None = None

    @property
    def summary(self) -> Summary:
        """The number of violations of each severity."""
        return Summary.of(self.violations)

    @property
    def valid(self) -> bool:
        """Whether the message may be sent."""
        return self.summary.errors == 0

    def to_json(self) -> dict[str, object]:
        """Return the report as stable JSON: keys are only added, never changed."""
        from brenner.protocol.thread_ids import cross_reference

        thread = self.thread_id
        reference = (
            cross_reference(thread)._asdict() if thread and is_valid_thread_id(thread) else None
        )
        return {
            "valid": self.valid,
            "type": self.type,
            "thread_id": thread,
            "summary": self.summary._asdict(),
            "violations": [violation.to_json() for violation in self.violations],
            **deltas_json(self.deltas),
            "corrected": self.corrected,
            "cross_reference": reference,
        }


# Correcting a message, as far as the corrections are certain
#
# Corrections are edits, so all other text stays unchanged. Where an edit is made, its diagnostic is
# marked as fixable: nothing else decides that. Fixing one error can reveal another, so the message
# is checked again after each pass. The edits count only if exactly those errors remain that have
# none, and if no text that looked like a contribution was lost. Otherwise nothing is fixable.


_MOST_PASSES = 6


class Inspection(NamedTuple):
    """The result of one pass over a message.

    `edits` remove all fixable diagnostics. `errors` counts the errors by code, and `unfixable`
    those without an edit; `strays` counts texts that look like a contribution but are none. All
    three include what the report omits.
    """

    report: Report
    errors: Counter[str]
    unfixable: Counter[str]
    edits: tuple[TextEdit, ...] = ()
    strays: int = 0


def _fix(
    text: str, first: Inspection, inspect: Callable[[str], Inspection], start: Inspection
) -> Report:
    """Return the report of `first` with the corrected text, or with the partly corrected one.

    `start` is what `inspect` returns for the text: `first`, unless other parts of the message are
    corrected already.
    """
    current, inspection = text, start
    for _ in range(_MOST_PASSES):
        following = apply_edits(current, inspection.edits)
        if following == current:
            break
        current, inspection = following, inspect(following)
    else:
        return _without_fix(first.report)
    is_new = current != text or start is not first
    if not is_new or not _is_improved(first, inspection):
        return _without_fix(first.report)
    left = {found.id for found in inspection.report.violations}
    marked = tuple(
        found if found.fixable or found.id in left else found._replace(fixable=True)
        for found in first.report.violations
    )
    report = first.report._replace(violations=marked)
    if inspection.report.valid:
        return report._replace(corrected=current)
    return report._replace(partly_corrected=current)


def _without_fix(report: Report) -> Report:
    if not any(found.fixable for found in report.violations):
        return report
    return report._replace(
        violations=tuple(found._replace(fixable=False) for found in report.violations)
    )


def _is_improved(before: Inspection, after: Inspection) -> bool:
    """Return whether only errors without an edit remain, and every contribution is still there."""
    deltas_before, deltas_after = len(before.report.deltas), len(after.report.deltas)
    is_whole = deltas_after + after.strays >= deltas_before + before.strays
    return after.errors <= before.unfixable and after.strays <= before.strays and is_whole


# Checking a message


_NO_TYPE = "its subject has no valid prefix"
_STRAY_CODES = frozenset(
    {deltas_codes.INLINE_DELTA.id, deltas_codes.SWALLOWED_DELTA.id, deltas_codes.QUOTED_DELTA.id}
)
_FinishBlocks = Callable[[list[DeltaBlock]], list[DeltaBlock]]


def check_message(text: str, actor: str | None = None, most: int = MOST_BODY_BYTES) -> Report:
    """Check the text of a message file. `actor` is the agent that is about to send it, if known.

    `most` is the maximum size in bytes, also of the corrected message.
    """
    first = _inspect(text, actor, attach_repairs, most)
    return _fix(text, first, lambda again: _inspect(again, actor, list, most), first)


def check_size(text: str, most: int) -> Diagnostic | None:
    """Return a diagnostic if the text has more than `most` bytes."""
    is_small = len(text) * 4 <= most  # no character has more than four bytes
    if is_small or len(text.encode(errors="replace")) <= most:
        return None
    return message_too_large(most)


def message_too_large(most: int) -> Diagnostic:
    """Return the diagnostic for a message of more than `most` bytes."""
    setting = " The limit is `max_message_kib` in `brenner.toml`." if most < MOST_BODY_BYTES else ""
    return messages_codes.MESSAGE_TOO_LARGE.at(most=most, setting=setting)


def check_stored(message: Message) -> Report:
    """Check a message that is stored already, perhaps by another program.

    Lines count in the body. There is no corrected message, but each rejected block has its own
    correction if that is certain.
    """
    report = _inspect_file(as_message_file(message), None, attach_repairs).report
    report = report._replace(violations=without_id_advice(report.violations))
    return _without_header_lines(report)


def check_composed(message: Message) -> tuple[Report, Message | None]:
    """Check a message that is neither stored nor a file.

    Return the report and the corrected message. Lines count in the body, and the report's
    `corrected` is the corrected body.
    """
    first = _inspect_file(as_message_file(message), None, attach_repairs)
    corrected = message._replace(subject=_repaired_subject(message.subject) or message.subject)

    def again(body: str) -> Inspection:
        return _inspect_file(as_message_file(corrected._replace(body=body)), None, list)

    start = again(message.body) if corrected != message else first
    report = _without_header_lines(_fix(message.body, first, again, start))
    body = report.corrected
    return report, None if body is None else corrected._replace(body=body)


def _without_header_lines(report: Report) -> Report:
    """Remove line 0, the line of headers that are in no file, from the report."""
    return report._replace(
        violations=tuple(
            found if found.line else found._replace(line=None) for found in report.violations
        )
    )


def _inspect(text: str, actor: str | None, finish: _FinishBlocks, most: int) -> Inspection:
    """Check the text once. `finish` post-processes its delta blocks."""
    unreadable = _check_text(text, most)
    if unreadable:
        count = Counter([unreadable.id])
        return Inspection(Report(None, None, (unreadable,)), count, count)
    return _inspect_file(parse_message_file(text), actor, finish)


def _inspect_file(file: MessageFile, actor: str | None, finish: _FinishBlocks) -> Inspection:
    body = parse_blocks(file.message.body)
    subject = parse_subject(file.message.subject)
    message_type = intended_type(file.message.subject)
    lines_before = file.body_line - 1
    blocks = _read_deltas(file, body, finish) if message_type is DELTA else _NO_BLOCKS
    if message_type is DELTA:
        in_body = [*_check_deltas(blocks)]
    else:
        in_body = [*_check_not_contributed(file.message.body, body, message_type)]
    if message_type:
        in_body += check_body(message_type, body)
    if message_type is COMPILED:
        in_body += _check_compiled(file, body)
    violations = [*_check_headers(file, actor), *(found.moved(lines_before) for found in in_body)]
    deltas = blocks.deltas
    report = Report(
        subject.type if subject else None,
        file.message.thread_id or None,
        truncate_for_message(sorted(violations, key=worst_first)),
        tuple(_checked_delta(delta, deltas[0], lines_before) for delta in deltas),
    )
    return Inspection(
        report,
        Counter(found.id for found in violations if is_error(found)),
        Counter(found.id for found in violations if is_error(found) and not found.fixable),
        _edits(file, blocks),
        sum(found.id in _STRAY_CODES for found in violations),
    )


class _Blocks(NamedTuple):
    """The delta blocks of a DELTA, what looks like one, and what is wrong in the latter.

    `edits` correct the body.
    """

    deltas: list[DeltaBlock]
    strays: list[StrayDelta]
    faults: list[Diagnostic]
    edits: list[TextEdit]


_NO_BLOCKS = _Blocks([], [], [], [])


def _read_deltas(file: MessageFile, body: list[Block], finish: _FinishBlocks) -> _Blocks:
    text, thread_id = file.message.body, file.message.thread_id
    deltas, edits = _place_edits(text, finish(read_blocks(body, thread_id)))
    if not may_contain_strays(text, body):
        return _Blocks(deltas, [], [], edits)
    from brenner.protocol.delta.stray import check_strays, find_strays  # rarely needed

    strays, faults = check_strays(find_strays(text, body), deltas, thread_id, finish)
    return _Blocks(
        deltas, strays, faults, [*edits, *(one for each in strays for one in each.edits)]
    )


def _place_edits(text: str, deltas: list[DeltaBlock]) -> tuple[list[DeltaBlock], list[TextEdit]]:
    """Return the edits of all blocks as edits of the body. A block without a place for them has
    none.
    """
    if not any(block.edits or block.structure for block in deltas):
        return deltas, []
    index, edits = LineIndex(text), list[TextEdit]()
    for number, block in enumerate(deltas):
        placed = index.place(block.fence, block.edits + block.structure)
        edits += placed or ()
        if placed is None:
            unmarked = tuple(found._replace(fixable=False) for found in block.diagnostics)
            deltas[number] = block._replace(diagnostics=unmarked)
    return deltas, edits


def _check_compiled(file: MessageFile, body: list[Block]) -> Iterator[Diagnostic]:
    """Check the rules of the publish document.

    Problems of the subject get the line of its header.
    """
    from brenner.protocol.compiled import check_compiled

    subject = file.headers.get("Subject")
    for found in check_compiled(file.message, body):
        if found.line is None and subject:
            yield found._replace(line=subject.line - file.body_line + 1)
        else:
            yield found


def _check_text(text: str, most: int) -> Diagnostic | None:
    """Return why the text is no message at all. This runs before anything is parsed."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"incomplete character at offset {error.start}"
        return messages_codes.NOT_UTF8.at(text.count("\n", 0, error.start) + 1, reason=reason)
    found = check_size(text, most)
    if found is None and not text.strip("\ufeff \t\r\n"):
        return messages_codes.EMPTY_MESSAGE.at()
    return found


# Which of the two is registered is in the mailbox, not in the message.
_ONE_SPELLING = (
    "Write both names as the agent is registered: `brenner mail agents` lists the names."
)


def _check_headers(file: MessageFile, actor: str | None) -> Iterator[Diagnostic]:
    message, headers = file.message, file.headers
    yield from file.diagnostics
    if "Thread" in headers:
        yield from check_thread_id(message.thread_id, headers["Thread"].line)
    if "Subject" in headers:
        is_fixable = _repaired_subject(message.subject) is not None
        for fault in check_subject(message.subject, headers["Subject"].line):
            is_prefix = fault.code is messages_codes.INVALID_SUBJECT_PREFIX
            yield fault._replace(fixable=is_fixable and is_prefix)
    if "From" in headers and actor and message.sender != actor:
        line = headers["From"].line
        mismatch = messages_codes.SENDER_MISMATCH.at(line, sender=message.sender, actor=actor)
        is_one_name = message.sender.casefold() == actor.casefold()
        yield mismatch._replace(fix=_ONE_SPELLING) if is_one_name else mismatch
    subject = parse_subject(message.subject)
    if subject and message.ack_required is not None:
        wrong = check_ack_required(TYPES[subject.type], message.ack_required)
        yield from (each._replace(line=headers["Ack-Required"].line) for each in wrong)
    yield from _check_placeholders(file)
    nul = _nul_line(file)
    if nul is not None:
        yield messages_codes.NUL_CHARACTER.at(nul)


def _check_placeholders(file: MessageFile) -> Iterator[Diagnostic]:
    """Report placeholders that `brenner new` left in the headers."""
    for header in file.headers.values():
        for left in PLACEHOLDER.findall(header.value):
            yield messages_codes.PLACEHOLDER_LEFT.at(header.line, placeholder=left)


def _nul_line(file: MessageFile) -> int | None:
    parts = [(header.value, header.line) for header in file.headers.values()]
    for text, line in [*parts, (file.message.body, file.body_line)]:
        if "\0" in text:
            return line + text.count("\n", 0, text.index("\0"))
    return None


def _check_not_contributed(
    text: str, found: list[Block], message_type: MessageType | None
) -> Iterator[Diagnostic]:
    """Report that delta blocks, and JSON that looks like one, have no effect in this message.

    A KICKOFF shows the format to others and a COMPILED message shows results, so JSON counts in
    neither.
    """
    name = message_type.name if message_type else _NO_TYPE
    diagnostic = messages_codes.DELTA_NOT_CONTRIBUTED.at(type=name)
    for block in filter(is_delta_fence, found):
        yield diagnostic._replace(line=block.line)
    if message_type in (KICKOFF, COMPILED) or not may_contain_strays(text, found):
        return
    from brenner.protocol.delta.stray import meant_strays, not_contributed  # rarely needed

    for stray in meant_strays(text, found):
        yield not_contributed(name, stray.diagnostic.line)


def _check_deltas(blocks: _Blocks) -> Iterator[Diagnostic]:
    """Report the problems of the delta blocks of a DELTA, and of what looks like one."""
    if not blocks.deltas:
        is_fixable = any(stray.edits for stray in blocks.strays)
        yield messages_codes.MB_004.at(1)._replace(fixable=is_fixable)
    for delta in blocks.deltas:
        yield from delta.diagnostics
    yield from (stray.diagnostic for stray in blocks.strays)
    yield from blocks.faults


def _checked_delta(block: DeltaBlock, first: DeltaBlock, lines_before: int) -> CheckedDelta:
    """Summarise one block. If there are too many blocks, the first one has the reason for all."""
    reasons = () if block.delta else block.diagnostics or first.diagnostics
    return CheckedDelta(
        block.number,
        block.line + lines_before,
        _truncate(block.written("operation")),
        _truncate(block.written("section")),
        _truncate(block.written("target_id")),
        block.delta is not None,
        min(reasons, key=worst_first).id if reasons else None,
    )


def _truncate(word: str | None) -> str | None:
    """Truncate a word as written; one that is longer is invalid anyway."""
    return word[:MOST_SHOWN_CHARACTERS] if word else word


def _edits(file: MessageFile, blocks: _Blocks) -> tuple[TextEdit, ...]:
    edits = list(file.edits)
    header = file.headers.get("Subject")
    repaired = _repaired_subject(file.message.subject)
    if header and header.line and repaired:  # on line 0 it is not part of the text
        edits.append(TextEdit(header.start, header.start + len(header.value), repaired))
    return (*edits, *(edit.moved(file.body_start) for edit in blocks.edits))


def _repaired_subject(subject: str) -> str | None:
    return None if parse_subject(subject) else repair_subject(subject)
