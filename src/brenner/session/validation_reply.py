"""Compose the Validation Error reply of the message document, an INFO message to the sender.

Quoted text is escaped or fenced, so that nothing in it counts as a contribution, even if another
message quotes the reply.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import one_paragraph, render_fence
from brenner.protocol.body import quote, quote_in_fence, short_description
from brenner.protocol.grammar import AGENT_NAME
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
    from collections.abc import Iterator

    from brenner.artifact.state import Entry
    from brenner.protocol.validate import Report


_REPLY = lazy_pattern(r"INFO: Validation error in message ([1-9][0-9]{0,18}):", re.ASCII)
_MOST_BLOCKS = 50
_MOST_ERRORS = 10  # per block
_MOST_CORRECTIONS = 1024 * 1024  # characters of all corrected blocks together


def validation_error_body(original: str, report: Report) -> str:
    """Compose the body: the message (by ID, else by subject), its errors, their fixes.

    A corrected message is fenced, so that nothing in it counts as a contribution.
    """
    errors = [found for found in report.violations if found.severity is ERROR]
    parts = [
        "# Validation Error\n",
        f"## Message\n{one_paragraph(escape_control(original))}\n",
        "## Errors",
    ]
    parts += [f"- {_location(found)}: {found.message}" for found in errors]
    more = report.summary.errors - len(errors)
    parts += [f"- and {more} more errors"] if more else []
    parts.append("\n## Suggestion")
    if report.corrected is not None:
        parts.append("Send it again like this:\n\n" + render_fence(report.corrected, "markdown"))
    else:
        parts += [f"- {_location(found)}: {found.fix}" for found in errors]
    return "\n".join(parts).rstrip("\n") + "\n"


def _location(found: Diagnostic) -> str:
    return f"line {found.line}: {found.id}" if found.line else found.id


def compose_reply(text: str, report: Report, sender: str) -> str | None:
    """Compose the reply to a message file; return None without a valid thread or sender."""
    message = parse_message_file(text).message
    if not is_valid_thread_id(message.thread_id) or not AGENT_NAME.fullmatch(message.sender):
        return None
    subject = message.subject.strip() or "a message without a subject"
    return render_message_file(
        Message(
            thread_id=message.thread_id,
            sender=sender,
            recipients=(message.sender,),
            subject=compose_subject("INFO", f"Validation error in {subject}"),
            body=validation_error_body(subject, report),
        )
    )


# The reply to a compiled message with refused blocks


def compose_block_errors(
    posted: StoredMessage, entries: tuple[Entry, ...], sender: str, latest: int | None = None
) -> Message:
    """Compose the reply to a stored message with refused blocks, the `entries`.

    It lists the errors of each block and, if the correction is certain, the corrected block. For an
    ambiguous block it shows one block per reading. `latest` is the thread's latest version, if
    known: a base beyond it does not exist.
    """
    original = posted.message
    shown = entries[:_MOST_BLOCKS]
    errors = [line for entry in shown for line in _error_lines(entry)]
    more = len(entries) - len(shown)
    if more:
        errors.append(f"- and {more} more blocks: `brenner artifact ledger {original.thread_id}`")
    parts = [
        "# Validation Error\n",
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


def _errors(entry: Entry) -> list[Diagnostic]:
    return [found for found in entry.diagnostics if found.severity is ERROR]


def _error_lines(entry: Entry) -> Iterator[str]:
    block = f"- Block {entry.block}"
    errors = _errors(entry)
    if not errors:
        yield f"{block}, line {entry.line}: it was refused together with the others"
    for found in errors[:_MOST_ERRORS]:
        yield f"{block}, line {found.line or entry.line}: {found.id}: {quote(found.message)}"
    more = Summary.of(entry.diagnostics).errors - min(len(errors), _MOST_ERRORS)
    if more > 0:
        yield f"{block}: and {more} more"


def _how_to_resend(original: Message, entries: tuple[Entry, ...], latest: int | None) -> str:
    """Explain how to resend only the refused blocks, on the same base (R8, R11).

    Ambiguous blocks are sent without a base.
    """
    blocks_again = "this block" if len(entries) == 1 else f"these {len(entries)} blocks"
    with_readings = [bool(_readings(entry)) for entry in entries]
    apart = "What can be meant in two ways goes into a message of its own. For the rest: "
    based = "" if all(with_readings) else f"{_base_instruction(original, latest)} "
    if any(with_readings) and based:
        based = apart + based
    return (
        f"Send {blocks_again} again, corrected, in a new DELTA message of this thread; what was "
        f"applied need not be sent again. {based}`brenner check` tells what the message alone can "
        "show; `brenner mail send` warns (`WOULD_BE_REFUSED`) of what the thread would refuse as "
        "it stands.\n"
    )


def _base_instruction(original: Message, latest: int | None) -> str:
    """Return the instruction on the base; a base that does not exist must be replaced."""
    # Imported here, because a check of one message replies, too, and does not need merging.
    from brenner.artifact.merge.resolve import stated_base

    base = stated_base(parse_blocks(original.body))
    if base is None:
        return "State as base the version that you had before you, as in `**Base Version**: v1`."
    if latest is None or base <= latest:
        return f"Keep the base: `**Base Version**: v{base}`."
    there_is = f"the latest is v{latest}" if latest else "there is none yet"
    instead = "State the version that you have read" if latest else "Leave the line out"
    return f"The base that you state, v{base}, does not exist: {there_is}. {instead}."


def _readings(entry: Entry) -> list[str]:
    return [block for found in _errors(entry) for block in found.readings]


def _correction_lines(entries: tuple[Entry, ...]) -> Iterator[str]:
    """Yield the fix for each block, with the corrected block if there is one."""
    room = _MOST_CORRECTIONS
    for entry in entries:
        errors = _errors(entry)
        repaired = [found.repaired for found in errors if found.repaired]
        readings = _readings(entry)
        needed = sum(map(len, (*repaired, *readings)))
        for found in errors[:_MOST_ERRORS]:
            if not found.readings or needed > room:  # else the readings below explain it
                yield f"- Block {entry.block}: {quote(found.fix)}"
        if needed > room:
            yield f"- Block {entry.block}, corrected, is too long to be repeated here."
            continue
        room -= needed
        if repaired:
            yield f"\nBlock {entry.block}, corrected:\n"
            yield from (quote_in_fence(block, "markdown") for block in repaired)
        if readings:
            # They refer to items by their final numbers.
            yield f"\nBlock {entry.block} can be meant in each of these ways. Send the one that you"
            yield "mean, as it is, in a message without a `**Base Version**` line:\n"
            yield from (quote_in_fence(block, "markdown") for block in readings)
