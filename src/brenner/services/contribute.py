"""A contribution that comes as structured arguments: the message is composed here.

Nobody has to write JSON into Markdown for it. What is certain to be meant is put right, and told;
with one delta that cannot be sent, nothing is (R5).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from brenner.artifact.merge.engine import merge
from brenner.artifact.merge.resolve import stated_base
from brenner.artifact.state import Entry
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.artifacts import UNKNOWN_VERSION
from brenner.diagnostics.codes.mail import KEY_REUSED
from brenner.diagnostics.codes.messages import THREAD_ID_ADVICE
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import StoredMessage
from brenner.markdown.blocks import Kind, blocks
from brenner.protocol.body import in_fence, quoted_paragraphs, short
from brenner.protocol.delta.arguments import Given, read_given
from brenner.protocol.delta.lenient_json import NotJSON, decode
from brenner.protocol.delta.parse import (
    could_hold_strays,
    is_delta_fence,
    read_deltas,
    with_repairs,
)
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.message_types import DELTA, PLACEHOLDER
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.protocol.validate import Report, check_composed
from brenner.services.next_round import Earlier
from brenner.services.receive import kickoffs_of, shorthand
from brenner.services.send import unsendable
from brenner.services.version_store import check_usable, load_history, load_if_small
from brenner.services.workspace import Workspace
from brenner.session.kickoff_text import embedded
from brenner.session.versions import VersionHistory
from brenner.text import escape_control_lines

_BASE = f"**{DELTA.version_field}**: v"
_MOST_NAMED = 3
_MOST_UNREAD = 200
_MARKS = " \t#>*-+"  # before the words of a heading, a quotation, an item of a list
_SENTENCE = re.compile(r".{20,79}?[.!?](?=\s)")


class Contribution(NamedTuple):
    """What somebody would like to post. Who gets it, and what it builds on, may be left open."""

    thread_id: str
    agent: str
    deltas: tuple[object, ...]
    summary: str = ""
    to: tuple[str, ...] = ()
    base: int | None = None


class Correction(NamedTuple):
    """What was put right in a delta before it was sent; `code` is that of the fault."""

    delta: int
    code: str
    what: str


class Prepared(NamedTuple):
    """A message that is ready to be sent, or what is wrong with it.

    `deltas` are those of it as they were read, with all corrections that are certain; `wrong` are
    the numbers of those that cannot be sent even so.
    """

    message: Message
    violations: tuple[Diagnostic, ...]
    corrections: tuple[Correction, ...]
    deltas: tuple[object, ...]
    wrong: tuple[int, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether it can be sent."""
        return not any(found.severity is ERROR for found in self.violations)


def prepare(workspace: Workspace, wanted: Contribution) -> Prepared:
    """Compose the message, and put right what is certain; a thread without mail is refused."""
    check_usable(wanted.thread_id)
    history = load_history(workspace.mailbox, wanted.thread_id, workspace.project.operator).history
    _check_base(history, wanted)
    earlier = kickoffs_of(workspace.mailbox, wanted.thread_id)
    given = read_given(wanted.deltas)
    message = Message(
        thread_id=wanted.thread_id,
        sender=wanted.agent,
        recipients=wanted.to or _recipients(workspace, wanted.agent, earlier),
        subject=_subject(
            wanted, given, shorthand(workspace.mailbox, wanted.agent, wanted.thread_id)
        ),
        body=_body(wanted, given.texts),
    )
    long = unsendable(message.body, workspace.project)
    return Prepared(message, (long,), (), wanted.deltas) if long else _checked(message, given)


class Expected(NamedTuple):
    """What becomes of the blocks of a message; and which items are active then, by section."""

    entries: tuple[Entry, ...]
    active: Mapping[str, tuple[str, ...]]


def expected(mailbox: Mailbox, stored: StoredMessage, operator: str) -> Expected | None:
    """What becomes of the blocks of a message if its thread is compiled now.

    None where nobody can say: a version has read it already, or too much is unread.
    """
    history = load_if_small(mailbox, stored.message.thread_id, operator, _MOST_UNREAD)
    if history is None or history.broken:
        return None
    unread = [each.posted for each in history.unread]
    if all(each.id != stored.id for each in unread):
        return None
    merged = merge(history.state, unread, operator=operator)
    active = {
        name: tuple(item.id for item in items if item.killed is None)
        for name, items in merged.artifact.sections.items()
    }
    return Expected(tuple(each for each in merged.ledger if each.message_id == stored.id), active)


def sent_before(
    mailbox: Mailbox, prepared: Prepared, refusal: RequestError
) -> StoredMessage | None:
    """The message that bears the key already, if it has the same deltas and the same summary.

    What else a message says may have changed since: the base that was fetched, who takes part.
    """
    found = refusal.diagnostic
    if found.code is not KEY_REUSED or found.message_id is None:
        return None
    first = mailbox.message(found.message_id)
    is_here = first.message.thread_id == prepared.message.thread_id
    is_same = _without_base(first.message.body) == _without_base(prepared.message.body)
    return first if is_here and is_same else None


def _without_base(body: str) -> str:
    """What a composed body says, whichever version it builds on."""
    head, base, rest = body.partition(_BASE)
    return head + rest.partition("\n\n")[2] if base else body


# What the message says


def _recipients(workspace: Workspace, agent: str, earlier: Earlier) -> tuple[str, ...]:
    """The operator, and everybody else who takes part."""
    listed = earlier.roster.names if earlier.roster else ()
    known = {each.name for each in workspace.mailbox.agents()}
    names = dict.fromkeys((workspace.project.operator, *listed, *earlier.asked))
    return tuple(name for name in names if name != agent and name in known)


def _check_base(history: VersionHistory, wanted: Contribution) -> None:
    numbers = {0, *(version.number for version in history.versions)}
    if wanted.base is not None and wanted.base not in numbers:
        known = (
            f"the latest is v{history.number}" if history.number else "there is none yet, only v0"
        )
        words = {"thread_id": wanted.thread_id, "version": str(wanted.base), "known": known}
        raise RequestError(UNKNOWN_VERSION.at(None, **words))


def _subject(wanted: Contribution, given: Given, role: str) -> str:
    said = short(_beginning(wanted.summary)) or _in_short(given.texts)
    return compose_subject(DELTA.name, said, role)


def _beginning(summary: str) -> str:
    """The first line of it; of a long line the first sentence."""
    line = next((each for each in summary.splitlines() if each.strip(_MARKS)), "").strip(_MARKS)
    sentence = _SENTENCE.match(line)
    return sentence[0] if sentence and short(line) != line else line


def _in_short(texts: Sequence[str]) -> str:
    """What the deltas do, for who gave no words for it: `ADD hypothesis_slate, EDIT H2`."""
    said = list(dict.fromkeys(map(_named, texts)))
    more = len(said) - _MOST_NAMED
    return short(", ".join([*said[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]))


def _named(text: str) -> str:
    try:
        value = decode(text)
    except NotJSON:
        return "a delta"
    found = value if isinstance(value, dict) else {}
    about = found.get("target_id") or found.get("section") or "?"
    return f"{found.get('operation') or 'delta'} {about}"


def _body(wanted: Contribution, texts: Sequence[str]) -> str:
    """As the kickoffs teach it: what it builds on, what it is about, one block for each delta."""
    base = [f"{_BASE}{wanted.base}"] if wanted.base is not None else []
    said = _as_written(wanted.summary)
    fences = [in_fence(text, "delta").rstrip("\n") for text in texts]
    return "\n\n".join([f"# {DELTA.title}", *base, *said, "## Deltas", *fences]) + "\n"


def _as_written(summary: str) -> list[str]:
    """The summary with its lists and emphasis, if it makes nothing else; else as plain text."""
    said = embedded(summary)
    if not said:
        return []
    body = f"# {DELTA.title}\n\n{said}\n\n## Deltas\n"
    found = blocks(body)
    headings = [each.text for each in found if each.kind is Kind.HEADING]
    is_prose = headings == [DELTA.title, "Deltas"] and stated_base(found) is None
    is_clean = not (any(map(is_delta_fence, found)) or could_hold_strays(body, found))
    is_plain = escape_control_lines(said) == said and not PLACEHOLDER.search(said)
    return [said] if is_prose and is_clean and is_plain else quoted_paragraphs(summary)


# Whether it can be sent


def _checked(message: Message, given: Given) -> Prepared:
    """The message as it can be sent: as it is, or with corrections that are certain and are told.

    Where neither is possible, the deltas still get those corrections that each of them allows.
    """
    taken = tuple(
        Correction(each.number, codes.TAKEN_AS.id, _sentence(each.what)) for each in given.taken
    )
    doubts = [
        codes.NOT_SURELY_MEANT.at(what=each.what).in_block(each.number) for each in given.doubts
    ]
    report, corrected = _of_a_session(message)
    found = (*doubts, *report.violations)
    if report.valid:
        return Prepared(message, found, taken, _values(message))
    blocks = with_repairs(read_deltas(message.body, message.thread_id))
    if corrected is None:
        wrong = tuple(block.number for block in blocks if not _can_be_sent(block))
        return Prepared(message, found, taken, tuple(map(_as_repaired, blocks)), wrong)
    if doubts or any(block.structure for block in blocks):  # where a delta ends is not certain
        return Prepared(message, found, taken, _values(corrected))
    again, _ = _of_a_session(corrected)
    return Prepared(corrected, again.violations, (*taken, *_mended(report)), _values(corrected))


def _of_a_session(message: Message) -> tuple[Report, Message | None]:
    """The check of a message to a thread that is there: its author has not chosen the name."""
    report, corrected = check_composed(message)
    told = tuple(found for found in report.violations if found.code != THREAD_ID_ADVICE)
    return report._replace(violations=told), corrected


def _mended(report: Report) -> Iterator[Correction]:
    for found in report.violations:
        if found.severity is ERROR or found.left_out:
            yield Correction(found.block or 0, found.id, found.message)


def _values(message: Message) -> tuple[object, ...]:
    return tuple(block.value for block in read_deltas(message.body, message.thread_id))


def _as_repaired(block: DeltaBlock) -> object:
    """The delta with the corrections that are certain; its text, if that is not all of one."""
    repaired = next((found.repaired for found in block.diagnostics if found.repaired), None)
    if repaired is not None and not block.structure:
        return next(each.value for each in read_deltas(repaired))
    text = block.fence.text.strip()
    try:
        return decode(text)
    except NotJSON:
        return text


def _can_be_sent(block: DeltaBlock) -> bool:
    return block.delta is not None or any(found.repaired for found in block.diagnostics)


def _sentence(words: str) -> str:
    said = f"{words[:1].upper()}{words[1:]}"
    return said if said.endswith(".") else f"{said}."
