"""Compose the Validation Error reply of the message document, an INFO message to the sender.

Quoted text is escaped or fenced, so that nothing in it counts as a contribution, even if another
message quotes the reply.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import one_paragraph, render_fence
from brenner.protocol.body import quote, quote_in_fence, short_description
from brenner.protocol.grammar import AGENT_NAME, VALIDATION_ERROR_TITLE
from brenner.protocol.messages import (
    Message,
    StoredMessage,
    parse_message_file,
    render_message_file,
)
from brenner.protocol.subjects import compose_subject
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.artifact.state import Entry
    from brenner.session.model import RefusedBlock

    Faulty: TypeAlias = (
        Entry | RefusedBlock
    )  # a rejected block, or one in a message that is no DELTA
    from brenner.diagnostics.repeats import Repeats
    from brenner.protocol.validate import Report


_REPLY = lazy_pattern(r"INFO: Validation error in message ([1-9][0-9]{0,18}):", re.ASCII)
_MOST_BLOCKS = 50
_MOST_ERRORS = 10  # per block
_MOST_CORRECTIONS = 1024 * 1024  # characters of all corrected blocks together


def validation_error_body(original: str, report: Report) -> str:
    """Compose the body: the message (by ID, else by subject), its errors, their fixes.

    A corrected message is fenced, so that nothing in it counts as a contribution.
    """
    from brenner.diagnostics.repeats import group_repeats  # only a reply needs it

    errors = [found for found in report.violations if found.severity is ERROR]
    parts = [
        f"{VALIDATION_ERROR_TITLE}\n",
        f"## Message\n{one_paragraph(escape_control(original))}\n",
        "## Errors",
    ]
    groups = group_repeats(errors)
    parts += [f"- {_location(each)}: {_with_places(each, each.first.message)}" for each in groups]
    more = report.summary.errors - len(errors)
    parts += [f"- and {more} more errors"] if more else []
    parts.append("\n## Suggestion")
    if report.corrected is not None:
        parts.append("Corrected message:\n\n" + render_fence(report.corrected, "markdown"))
    else:
        parts += [f"- {_location(each)}: {each.first.fix}" for each in groups]
    return "\n".join(parts).rstrip("\n") + "\n"


def _location(group: Repeats) -> str:
    line = group.first.line
    return f"body line {line}: {group.code_text}" if line else group.code_text


def _with_places(group: Repeats, message: str) -> str:
    """Return the message with the other places of a group."""
    return f"{message} {group.other_places()}".rstrip()


def compose_reply(text: str, report: Report, sender: str) -> str | None:
    """Compose the reply to a message file; return None without a valid thread or sender."""
    file = parse_message_file(text)
    message = file.message
    if not is_valid_thread_id(message.thread_id) or not AGENT_NAME.fullmatch(message.sender):
        return None
    subject = message.subject.strip() or "a message without a subject"
    return render_message_file(
        Message(
            thread_id=message.thread_id,
            sender=sender,
            recipients=(message.sender,),
            subject=compose_subject("INFO", f"Validation error in {subject}"),
            body=validation_error_body(subject, _with_body_lines(report, file.body_line - 1)),
        )
    )


def _with_body_lines(report: Report, lines_before: int) -> Report:
    """Return the report of a file with lines of the body. A fault of a header has no line."""
    moved = (found.moved(-lines_before) for found in report.violations)
    return report._replace(
        violations=tuple(
            found if found.line and found.line > 0 else found._replace(line=None) for found in moved
        )
    )


# The reply to a compiled message with rejected blocks


def compose_block_errors(
    posted: StoredMessage, entries: Sequence[Faulty], sender: str, latest: int | None = None
) -> Message:
    """Compose the reply to a stored message with rejected blocks, the `entries`.

    It lists the errors of each block and, if the correction is certain, the corrected block. For an
    ambiguous block it shows one block per reading. `latest` is the thread's latest version, if
    known: a base beyond it does not exist.
    """
    original = posted.message
    shown = entries[:_MOST_BLOCKS]
    errors = list(_error_lines(shown))
    more = len(entries) - len(shown)
    if more:
        errors.append(f"- and {more} more blocks: `brenner artifact ledger {original.thread_id}`")
    parts = [
        f"{VALIDATION_ERROR_TITLE}\n",
        f"## Message\n{posted.id}\n\n{quote(original.subject) or '(no subject)'}\n",
        "## Errors",
        *errors,
        "\n## Suggestion",
        _how_to_resend(original, entries, latest),
        *_correction_lines(shown),
    ]
    about = f"Validation error in message {posted.id}: {original.subject}"
    return Message(
        thread_id=original.thread_id,
        sender=sender,
        recipients=(original.sender,),
        subject=compose_subject("INFO", short_description(about)),
        body="\n".join(parts).rstrip("\n") + "\n",
    )


def replied_message_id(subject: str) -> int | None:
    """Return the message that a Validation Error reply with this subject is about."""
    match = _REPLY.match(subject)
    return int(match[1]) if match else None


def _errors(entry: Faulty) -> list[Diagnostic]:
    """Return why a block does not contribute."""
    return [
        found
        for found in entry.diagnostics
        if found.severity is ERROR or found.code is DELTA_NOT_CONTRIBUTED
    ]


def _error_lines(entries: Sequence[Faulty]) -> Iterator[str]:
    """Yield the errors of all blocks. Blocks with one cause share a line."""
    from brenner.diagnostics.repeats import group_repeats, numbered

    without = [entry for entry in entries if not _errors(entry)]
    if without:
        blocks = numbered("Block", (entry.block for entry in without))
        yield f"- {blocks}, body line {without[0].line}: rejected together with the others"
    for group in group_repeats(_listed_errors(entries)):
        first = group.first
        where = f"{group.blocks().capitalize()}, body line {first.line}"
        message = quote(_with_places(group, first.message))
        yield f"- {where}: {group.code_text}: {message}"
    for entry in entries:
        more = Summary.of(entry.diagnostics).errors - min(len(_errors(entry)), _MOST_ERRORS)
        if more > 0:
            yield f"- Block {entry.block}: and {more} more"


def _listed_errors(entries: Sequence[Faulty]) -> Iterator[Diagnostic]:
    """Yield the errors that are shown, each with its block and a line."""
    for entry in entries:
        for found in _errors(entry)[:_MOST_ERRORS]:
            yield found._replace(block=entry.block, line=found.line or entry.line)


def _how_to_resend(original: Message, entries: Sequence[Faulty], latest: int | None) -> str:
    """Explain how to resend only the rejected blocks, on the same base (R8, R11).

    Ambiguous blocks are sent without a base.
    """
    blocks = "this block" if len(entries) == 1 else f"these {len(entries)} blocks"
    with_readings = [bool(_readings(entry)) for entry in entries]
    apart = "Send a block with several meanings in a separate message. For the others: "
    based = "" if all(with_readings) else f"{_base_instruction(original, latest)} "
    if any(with_readings) and based:
        based = apart + based
    return (
        f"Correct {blocks} as shown below, in a new DELTA message in this thread. Do not send "
        f"applied blocks again. {based}Check the message with `brenner check FILE`, then send it "
        "with `brenner mail send FILE`. The warning `WOULD_BE_REFUSED` means that a block would "
        "still be rejected. The MCP tool `brenner_post` checks and sends in one call.\n"
    )


def _base_instruction(original: Message, latest: int | None) -> str:
    """Return the instruction on the base; a base that does not exist must be replaced."""
    # Imported here, because a check of one message replies, too, and does not need merging.
    from brenner.artifact.merge.resolve import stated_base

    base = stated_base(parse_blocks(original.body))
    if base is None:
        return "State the version that you have read, for example `**Base Version**: v1`."
    if latest is None or base <= latest:
        return f"Keep the base: `**Base Version**: v{base}`."
    there_is = f"The latest version is v{latest}" if latest else "There is no version yet"
    instead = "State the version that you have read" if latest else "Leave the line out"
    return f"The stated base, v{base}, does not exist. {there_is}. {instead}."


def _readings(entry: Faulty) -> list[str]:
    return [block for found in _errors(entry) for block in found.readings]


def _correction_lines(entries: Sequence[Faulty]) -> Iterator[str]:
    """Yield the fixes, then each corrected block and the readings of each ambiguous block."""
    from brenner.diagnostics.repeats import group_repeats

    room = _MOST_CORRECTIONS
    fits: dict[int, bool] = {}
    for entry in entries:
        needed = sum(map(len, (*_repaired(entry), *_readings(entry))))
        fits[entry.block] = needed <= room
        room -= needed if needed <= room else 0
    for group in group_repeats(_listed_errors(entries)):
        # The readings below explain an ambiguous block.
        if not group.first.readings or not fits[group.first.block or 0]:
            yield f"- {group.blocks().capitalize()}: {quote(group.first.fix)}"
    for entry in entries:
        if not fits[entry.block]:
            yield f"- Block {entry.block}: the corrected block is too long to show here."
            continue
        if _repaired(entry):
            yield f"\nBlock {entry.block}. Corrected block:\n"
            yield from (quote_in_fence(block, "markdown") for block in _repaired(entry))
        if _readings(entry):
            # They refer to items by their final numbers.
            yield f"\nBlock {entry.block} has several meanings. Send the one that you mean,"
            yield "unchanged, in a message without a `**Base Version**` line:\n"
            yield from (quote_in_fence(block, "markdown") for block in _readings(entry))


def _repaired(entry: Faulty) -> list[str]:
    return [found.repaired for found in _errors(entry) if found.repaired]
