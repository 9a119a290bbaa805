"""Whether a subject was meant for the protocol, though its prefix is not as it must be.

Before sending, `brenner check` says so of every subject. In a mailbox that takes other mail, too,
it decides what is refused: a contribution under a malformed prefix would be lost as plain mail,
and plain mail must not be refused because its first word is `Question`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from unicodedata import category, normalize

from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.model import ERROR, Diagnostic, Summary, worst_first
from brenner.diagnostics.truncate import of_message
from brenner.limits import MOST_BLOCKS, MOST_BODY_BYTES
from brenner.markdown.blocks import Block, blocks
from brenner.markdown.edits import Edit, LineIndex, apply_edits
from brenner.protocol.body import check_ack_required, check_body
from brenner.protocol.delta.parse import (
    could_hold_strays,
    is_delta_fence,
    read_blocks,
    with_repairs,
)
from brenner.protocol.delta.schema import DeltaBlock, Stray
from brenner.protocol.message_types import (
    COMPILED,
    CRITIQUE,
    DELTA,
    KICKOFF,
    PLACEHOLDER,
    TYPES,
    MessageType,
)
from brenner.protocol.messages import Message, MessageFile, as_if_filed, parse_message_file
from brenner.protocol.subjects import ROLE_SHORTHANDS, check_subject, parse_subject, repair_subject
from brenner.protocol.thread_ids import check_thread_id, is_valid
from brenner.text import MOST_CHARACTERS, closest_certain

_MEANT_FOR_A_DELTA = re.compile(r"\W*DELTA\s*[\[:]", re.IGNORECASE)
# Types whose loss is a loss to the artifact. Nobody begins other mail with one and a colon.
_OURS = (KICKOFF.name, DELTA.name, COMPILED.name)
_CONTRIBUTIONS = (*_OURS, CRITIQUE.name)
# The first word in capitals, and what follows it: `[KICKOFF] …`, `KICK-OFF: …`, `DELTA - …`
_FIRST_WORD = re.compile(r"[\W_]*([A-Z][A-Z-]{2,}[A-Z])(?![A-Za-z0-9])[\W_]*?([:\[]?)", re.ASCII)
# `DELTA(gpt): …`, `DELTA gpt-5: …`
_DELTA_OF_A_MODEL = re.compile(
    rf"[\W_]*DELTA[\W_]*(?:{'|'.join(ROLE_SHORTHANDS)})[\w.-]*\W*:", re.IGNORECASE
)
# What some copy with the subject
_HEADER = re.compile(r"\A\s*subject\s*:\s*(?=\S)", re.IGNORECASE)
_MARKS = ("Cf", "Cc")
_LONGEST = 500  # a prefix stands at the beginning


def meant_type(subject: str) -> MessageType | None:
    """The type; also of a subject whose prefix is malformed, so that the body is checked too."""
    parsed = parse_subject(subject) or parse_subject(repair_subject(subject) or "")
    if parsed:
        return TYPES[parsed.type]
    return DELTA if _MEANT_FOR_A_DELTA.match(subject) else None


def is_meant(subject: str, *, in_session: bool) -> bool:
    """Whether a subject was meant to have a prefix, in a session's thread or elsewhere.

    In a session's thread `Question: …` is; elsewhere it is how people write.
    """
    if parse_subject(subject):
        return True
    shown = _HEADER.sub("", _as_shown(subject[:_LONGEST])[:_LONGEST], count=1)
    repaired = parse_subject(repair_subject(shown) or "") or parse_subject(shown)
    if repaired:
        is_written_so = shown.lstrip().startswith(repaired.type)
        return in_session or is_written_so or repaired.type in _OURS
    is_a_delta = meant_type(shown) is not None or _DELTA_OF_A_MODEL.match(shown) is not None
    return is_a_delta or _is_nearly(shown, in_session)


def _is_nearly(shown: str, in_session: bool) -> bool:
    """Whether the first word is a type's, or that but for a slip, and stands there as a prefix."""
    first = _FIRST_WORD.match(shown)
    if first is None:
        return False
    word, follows = first.groups()
    if in_session:
        return word in _CONTRIBUTIONS or bool(follows and closest_certain(word, _CONTRIBUTIONS))
    return bool(follows and closest_certain(word, (KICKOFF.name, DELTA.name)))


def _as_shown(subject: str) -> str:
    """The subject as a reader sees it: no hidden characters, no letters of another width."""
    if subject.isascii():
        return subject
    plain = normalize("NFKC", subject)
    return "".join(each for each in plain if category(each) not in _MARKS)


# What a check found, as a value and as the stable JSON (design, JSON).


class CheckedDelta(NamedTuple):
    """One delta block of the message: what it says, as written, and whether it would be applied.

    `code` is the first code of a block that would be refused, also where the report leaves its
    diagnostics out.
    """

    block: int
    line: int
    operation: str | None
    section: str | None
    target_id: str | None
    valid: bool
    code: str | None = None


def deltas_json(deltas: tuple[CheckedDelta, ...]) -> dict[str, object]:
    """Return the stable form of the blocks.

    Where there are too many, all are refused for that reason, and the first of them are listed.
    """
    listed = [delta._asdict() for delta in deltas[:MOST_BLOCKS]]
    return {"deltas": listed, "deltas_total": len(deltas)}


class Report(NamedTuple):
    """Everything that was found out about one message. Lines count in the text that was given.

    Of very many violations the worst are there and the number of the others
    (`MORE_DIAGNOSTICS`). The summary counts all.
    """

    type: str | None
    thread_id: str | None
    violations: tuple[Diagnostic, ...]
    deltas: tuple[CheckedDelta, ...] = ()
    corrected: str | None = None

    @property
    def summary(self) -> Summary:
        """How many of each severity."""
        return Summary.of(self.violations)

    @property
    def valid(self) -> bool:
        """Whether the message may be sent."""
        return self.summary.errors == 0

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        from brenner.protocol.thread_ids import cross_reference

        thread = self.thread_id
        reference = cross_reference(thread)._asdict() if thread and is_valid(thread) else None
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


# The corrected message, where every correction is certain.
#
# Corrections are edits, so everything that is not mended stays as it was. Mending one fault can
# bring another one to light, so the message is looked at again after each pass. What comes out is
# given to the author only if it passes the check itself, and if nothing that looked like a
# contribution has gone missing on the way.


_MOST_PASSES = 5
STRAYS = frozenset(
    {deltas_codes.INLINE_DELTA.id, deltas_codes.SWALLOWED_DELTA.id, deltas_codes.QUOTED_DELTA.id}
)


class Inspection(NamedTuple):
    """One look at a message: what was found, the edits that mend it, and whether they mend all.

    `strays` counts what looks like a contribution and is none. The report may leave some of it out.
    """

    report: Report
    edits: tuple[Edit, ...] = ()
    is_mendable: bool = True
    strays: int = 0


def correct(text: str, first: Inspection, inspect: Callable[[str], Inspection]) -> str | None:
    """The corrected text, or None where there is nothing to correct, or no certain correction."""
    current, inspection = text, first
    for _ in range(_MOST_PASSES):
        if not inspection.is_mendable:
            return None
        following = apply_edits(current, inspection.edits)
        if following == current:
            break
        current, inspection = following, inspect(following)
    is_new = current != text and inspection.report.valid
    return current if is_new and _loses_nothing(first, inspection) else None


def _loses_nothing(before: Inspection, after: Inspection) -> bool:
    """No contribution became a stray, and all that were there are there still."""
    deltas_before, deltas_after = len(before.report.deltas), len(after.report.deltas)
    is_whole = deltas_after + after.strays >= deltas_before + before.strays
    return after.strays <= before.strays and is_whole


# Check a message before it is sent: headers, subject, body, delta blocks, and its correction.
#
# `check_message` is the whole of `brenner check`. Nothing that is wrong keeps anything else from
# being looked at: each part adds what it finds.


_NO_TYPE = "message without a valid prefix"
_Finish = Callable[[list[DeltaBlock]], list[DeltaBlock]]


def check_message(text: str, actor: str | None = None, most: int = MOST_BODY_BYTES) -> Report:
    """Check the text of a message file. `actor` is who is about to send it, where that is known.

    `most` is how many bytes the message may have; a corrected message may have as many.
    """
    first = _inspect(text, actor, with_repairs, most)
    corrected = correct(text, first, lambda again: _inspect(again, actor, list, most))
    return first.report._replace(corrected=corrected)


def too_large(text: str, most: int) -> Diagnostic | None:
    """Return what is wrong with a message of more bytes than may be sent."""
    is_small = len(text) * 4 <= most  # no character has more bytes
    if is_small or len(text.encode(errors="replace")) <= most:
        return None
    return too_large_for(most)


def too_large_for(most: int) -> Diagnostic:
    """Return the diagnostic of a message that has more bytes than that."""
    setting = " The limit is `max_message_kib` in `brenner.toml`." if most < MOST_BODY_BYTES else ""
    return messages_codes.MESSAGE_TOO_LARGE.at(most=most, setting=setting)


def check_stored(message: Message) -> Report:
    """Check a message that is stored already, as other programs' mail may be. Lines count in the
    body; there is no corrected message, but each refused block has its own correction.
    """
    return _in_body(_inspect_file(as_if_filed(message), None, with_repairs).report)


def check_composed(message: Message) -> tuple[Report, Message | None]:
    """Check a message that is not stored yet and was never a file, with the corrected message.

    Lines count in the body, and `corrected` of the report is the corrected body.
    """
    first = _inspect_file(as_if_filed(message), None, with_repairs)
    mended = message._replace(subject=_repaired(message.subject) or message.subject)

    def again(body: str) -> Inspection:
        return _inspect_file(as_if_filed(mended._replace(body=body)), None, list)

    is_other = mended != message
    inspection = again(message.body) if is_other and first.is_mendable else first
    body = correct(message.body, inspection, again)
    if body is None and is_other and inspection.report.valid:
        body = message.body
    report = _in_body(first.report)._replace(corrected=body)
    return report, None if body is None else mended._replace(body=body)


def _in_body(report: Report) -> Report:
    """The report without the lines of headers, which the message never had."""
    return report._replace(
        violations=tuple(
            found if found.line else found._replace(line=None) for found in report.violations
        )
    )


def _inspect(text: str, actor: str | None, finish: _Finish, most: int) -> Inspection:
    """Look at the text once; `finish` has the last word on its delta blocks."""
    unreadable = _check_text(text, most)
    if unreadable:
        return Inspection(Report(None, None, (unreadable,)), is_mendable=False)
    return _inspect_file(parse_message_file(text), actor, finish)


def _inspect_file(file: MessageFile, actor: str | None, finish: _Finish) -> Inspection:
    body = blocks(file.message.body)
    subject = parse_subject(file.message.subject)
    message_type = meant_type(file.message.subject)
    deltas: list[DeltaBlock] = []
    strays: list[Stray] = []
    if message_type is DELTA:
        deltas = finish(read_blocks(body, file.message.thread_id))
        strays = _strays(file.message.body, body)
    lines_before = file.body_line - 1
    in_body = [*_check_deltas(deltas, strays, body, message_type)]
    if message_type:
        in_body += check_body(message_type, body, lines_before)
    if message_type is COMPILED:
        in_body += _check_published(file, body)
    violations = [*_check_headers(file, actor), *(found.moved(lines_before) for found in in_body)]
    report = Report(
        subject.type if subject else None,
        file.message.thread_id or None,
        of_message(sorted(violations, key=worst_first)),
        tuple(_checked(delta, deltas[0], lines_before) for delta in deltas),
    )
    is_mendable = _is_mendable(file, deltas, strays, violations)
    looks_like_deltas = sum(found.id in STRAYS for found in violations)
    return Inspection(report, _edits(file, deltas, strays), is_mendable, looks_like_deltas)


def _check_published(file: MessageFile, body: list[Block]) -> Iterator[Diagnostic]:
    """The rules of the publish document; what is about the subject stands in its header."""
    from brenner.protocol.compiled import check_compiled

    subject = file.headers.get("Subject")
    for found in check_compiled(file.message, body):
        if found.line is None and subject:
            yield found._replace(line=subject.line - file.body_line + 1)
        else:
            yield found


def _strays(text: str, body: list[Block]) -> list[Stray]:
    """What looks like a contribution and is none; most messages hold nothing of the kind."""
    if not could_hold_strays(text, body):
        return []
    from brenner.protocol.delta.stray import find_strays

    return find_strays(text, body)


def _check_text(text: str, most: int) -> Diagnostic | None:
    """What makes a text no message at all; decided before anything is parsed."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"half of a character at offset {error.start}"
        return messages_codes.NOT_UTF8.at(text.count("\n", 0, error.start) + 1, reason=reason)
    found = too_large(text, most)
    if found is None and not text.strip("\ufeff \t\r\n"):
        return messages_codes.EMPTY_MESSAGE.at()
    return found


def _check_headers(file: MessageFile, actor: str | None) -> Iterator[Diagnostic]:
    """The headers: thread, sender, subject, and whether an ACK is asked for."""
    message, headers = file.message, file.headers
    yield from file.diagnostics
    if "Thread" in headers:
        yield from check_thread_id(message.thread_id, headers["Thread"].line)
    if "Subject" in headers:
        yield from check_subject(message.subject, headers["Subject"].line)
    if "From" in headers and actor and message.sender != actor:
        line = headers["From"].line
        yield messages_codes.SENDER_MISMATCH.at(line, sender=message.sender, actor=actor)
    subject = parse_subject(message.subject)
    if subject and message.ack_required is not None:
        found = check_ack_required(TYPES[subject.type], message.ack_required)
        yield from (each._replace(line=headers["Ack-Required"].line) for each in found)
    yield from _unfilled(file)
    nul = _nul(file)
    if nul is not None:
        yield messages_codes.NUL_CHARACTER.at(nul)


def _unfilled(file: MessageFile) -> Iterator[Diagnostic]:
    """What `brenner new` left to be filled in among the headers."""
    for header in file.headers.values():
        for left in PLACEHOLDER.findall(header.value):
            yield messages_codes.PLACEHOLDER_LEFT.at(header.line, placeholder=left)


def _nul(file: MessageFile) -> int | None:
    """The line of the first NUL in the message."""
    parts = [(header.value, header.line) for header in file.headers.values()]
    for text, line in [*parts, (file.message.body, file.body_line)]:
        if "\0" in text:
            return line + text.count("\n", 0, text.index("\0"))
    return None


def _check_deltas(
    deltas: list[DeltaBlock],
    strays: list[Stray],
    found: list[Block],
    message_type: MessageType | None,
) -> Iterator[Diagnostic]:
    """Delta blocks where they count; elsewhere, that they do not."""
    if message_type is not DELTA:
        name = message_type.name if message_type else _NO_TYPE
        said = messages_codes.DELTA_NOT_CONTRIBUTED.at(type=name)
        for block in filter(is_delta_fence, found):
            yield said._replace(line=block.line)
        return
    if not deltas:
        yield messages_codes.MB_004.at(1)
    for delta in deltas:
        yield from delta.diagnostics
    for stray in strays:
        yield stray.diagnostic


def _checked(block: DeltaBlock, first: DeltaBlock, lines_before: int) -> CheckedDelta:
    """One block in a line. Where there are too many blocks the first has the reason for all."""
    reasons = () if block.delta else block.diagnostics or first.diagnostics
    return CheckedDelta(
        block.number,
        block.line + lines_before,
        _short(block.written("operation")),
        _short(block.written("section")),
        _short(block.written("target_id")),
        block.delta is not None,
        min(reasons, key=worst_first).id if reasons else None,
    )


def _short(word: str | None) -> str | None:
    """A word as written; one that is too long to be valid is cut, as in a diagnostic."""
    return word[:MOST_CHARACTERS] if word else word


def _edits(file: MessageFile, deltas: list[DeltaBlock], strays: list[Stray]) -> tuple[Edit, ...]:
    """The certain corrections of the file."""
    edits = list(file.edits)
    header = file.headers.get("Subject")
    repaired = _repaired(file.message.subject)
    if header and header.line and repaired:  # on line 0 it stands beside the text
        edits.append(Edit(header.start, header.start + len(header.value), repaired))
    if any(block.edits or block.structure for block in deltas):
        index = LineIndex(file.message.body)
        for block in deltas:
            placed = index.place(block.fence, block.edits + block.structure)
            edits += _moved(placed or (), file.body_start)
    for stray in strays:
        edits += _moved(stray.edits, file.body_start)
    return tuple(edits)


def _moved(edits: Iterable[Edit], by: int) -> list[Edit]:
    return [edit.moved(by) for edit in edits]


def _repaired(subject: str) -> str | None:
    return None if parse_subject(subject) else repair_subject(subject)


def _is_mendable(
    file: MessageFile,
    deltas: list[DeltaBlock],
    strays: list[Stray],
    violations: list[Diagnostic],
) -> bool:
    """Whether the edits mend every error, as far as one look can tell."""
    mended = {
        messages_codes.INVALID_SUBJECT_PREFIX.id: _repaired(file.message.subject) is not None,
        messages_codes.INVALID_HEADER.id: bool(file.edits),
        messages_codes.MB_004.id: any(stray.edits for stray in strays),
    }
    return all(block.delta or block.is_mendable for block in deltas) and all(
        mended.get(found.id, False)
        for found in violations
        if found.severity is ERROR and found.block is None
    )
