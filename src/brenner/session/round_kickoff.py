"""Sections of a later round's kickoff about the session so far (publish document, Round 2+).

Most of the text comes from agents: names and attacks of critiques, subjects, rejected blocks. It is
quoted on one line and escaped, so that none of it creates structure, states a base, or counts as a
contribution.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.model import Artifact, Item, item_sort_key
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lint.linter import lint
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import find_section, parse_sections, quote
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE, HYPOTHESIS_SLATE, SECTIONS
from brenner.protocol.grammar import CITED_SECTIONS, ITEM_ID_IN_PROSE
from brenner.protocol.message_types import CRITIQUE, KICKOFF
from brenner.protocol.messages import thread_order_key
from brenner.protocol.subjects import parse_subject
from brenner.session.excerpts import one_line
from brenner.text import joined, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.state import Conflict
    from brenner.protocol.messages import StoredMessage
    from brenner.session.model import OpenMessage, PublishedVersion, RefusedBlock, SessionStatus
    from brenner.session.prompts import Prompt

_NONE = "none"
_MOST_LISTED = 20
_MOST_CITED = 12
_MOST_NAME, _MOST_SUBJECT, _MOST_ATTACK, _MOST_FIELD, _MOST_ID = 64, 80, 160, 48, 24
_LONGEST_CITATION = 24
_EXCERPT, _ATTACK = "Excerpt", "Attack"
_EARLIER_PASSAGES = "The passages of the earlier kickoffs are still the source:"


class RoundContext(NamedTuple):
    """What a later round starts from: the latest version, and what is open in the thread.

    `focus` is the operator's focus, `new_question` the operator's question if it differs from the
    artifact's. `passages` are the kickoffs that quoted the source, with the sections cited; they
    are mentioned if the round has no new ones. `attacks` are the texts of the open CRITIQUE
    messages, by their ids.
    """

    status: SessionStatus
    base: PublishedVersion
    artifact: Artifact
    conflicts: tuple[Conflict, ...] = ()
    focus: str = ""
    new_question: str = ""
    passages: tuple[tuple[int, tuple[str, ...]], ...] = ()
    attacks: Mapping[int, str] = MappingProxyType({})

    @property
    def number(self) -> int:
        """The number of the round and of the version that it makes."""
        return self.base.number + 1

    @property
    def artifact_question(self) -> str:
        return self.artifact.research_thread.text("statement")

    @property
    def question(self) -> str:
        return self.new_question or self.artifact_question

    @property
    def thread(self) -> str:
        """The thread as a command argument, after `--` if its ID begins with a hyphen."""
        thread_id = self.status.thread_id
        return "-- " * thread_id.startswith("-") + thread_id

    @property
    def critiques(self) -> tuple[Item, ...]:
        """The open C items of the artifact."""
        items = {item.id: item for item in self.artifact.sections[ADVERSARIAL_CRITIQUE.id]}
        return tuple(items[each.item] for each in self.status.critiques if each.item in items)

    @property
    def critique_messages(self) -> tuple[OpenMessage, ...]:
        return self.status.of_type(CRITIQUE.name)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(each for each in lint(self.artifact).violations if each.severity is ERROR)


def current_state(context: RoundContext) -> str:
    """Compose `## Current State`: the document's lines, further facts, open critiques."""
    lines = "\n".join(f"- **{name}**: {text}" for name, text in _state_lines(context) if text)
    critiques = list(_critique_list(context))
    return lines if not critiques else f"{lines}\n\nThe open critiques:\n\n" + "\n".join(critiques)


def open_critique_ids(context: RoundContext, except_by: str | None = None) -> list[str]:
    """Return all open critiques by ID (C1, C2, message 9), except those of one agent if given."""
    author_of = {each.item: each.agent for each in context.status.critiques}
    items = [
        each for each in context.critiques if not except_by or author_of.get(each.id) != except_by
    ]
    messages = (
        message_label(each) for each in context.critique_messages if each.sender != except_by
    )
    return [*map(_item_id, items), *messages]


def _item_id(item: Item) -> str:
    """Quote an ID: in an artifact of another program it may be any text."""
    return quote(item.id, _MOST_ID)


def message_label(message: OpenMessage) -> str:
    return f"message {message.message_id}"


def _open_critiques_text(context: RoundContext) -> str:
    """Return `C1, C2, message 9 (RedSky: The scale is wrong)`."""
    ids = map(_item_id, context.critiques)
    messages = [_message_line(each) for each in context.critique_messages[:_MOST_LISTED]]
    more = len(context.critique_messages) - len(messages)
    rest = [f"and {plural(more, 'message')} more"] if more > 0 else []
    return ", ".join([*ids, *messages, *rest]) or _NONE


def excerpt_note(context: RoundContext) -> str:
    """Return where the passages of the source are quoted; empty if no kickoff has cited any."""
    if not context.passages:
        return ""
    first = context.passages[0][0]
    sources = "; ".join(
        f"message {number} has {', '.join(cited)}" for number, cited in context.passages
    )
    return (
        f"{_EARLIER_PASSAGES} {sources}. `brenner mail show {first}` shows them (with MCP tools: "
        f"`resource://message/{first}`)."
    )


def _state_lines(context: RoundContext) -> Iterator[tuple[str, str]]:
    base = context.base
    yield "Base Artifact", f"v{base.number}"
    yield "Open Critiques", _open_critiques_text(context)
    yield "Unanswered", _unanswered_text(context)
    yield "Focus Area", one_line(context.focus) or _default_focus(context)
    compiled = f"message {base.message_id} (COMPILED) contains v{base.number}."
    command = f"`brenner artifact show {context.thread}`"
    tool = "with MCP tools: `brenner_artifact`"
    yield "Where It Is", f"{compiled} {command} prints the latest version ({tool})."
    yield "Linter", _linter_text(context)
    yield "Open Conflicts", _conflict_fields(context.conflicts, _MOST_LISTED)
    if context.new_question and context.artifact_question:
        keeps = (
            f"The artifact still has “{quote(context.artifact_question)}” "
            "until an EDIT of `RT` changes it."
        )
        yield "Question", f"new in this round. {keeps}"


def _unanswered_text(context: RoundContext) -> str:
    """Return what results and false assumptions ask of whom (R28); empty if they ask nothing."""
    found = context.status.unanswered
    operator = context.status.operator
    lines = [
        f"{each.request} ({quote(each.agent or operator, _MOST_NAME)})"
        for each in found[:_MOST_LISTED]
    ]
    more = [f"and {len(found) - len(lines)} more"] if len(found) > len(lines) else []
    return "; ".join([*lines, *more])


def _linter_text(context: RoundContext) -> str:
    words = [
        plural(number, word)
        for number, word in ((context.base.errors, "error"), (context.base.warnings, "warning"))
        if number
    ]
    shows = f" (`brenner artifact lint {context.thread}` lists them)" if words else ""
    return f"{', '.join(words) or 'no errors'}{shows}"


def _conflict_fields(conflicts: Sequence[Conflict], most: int) -> str:
    fields = [conflict_field(each) for each in conflicts[:most]]
    more = len(conflicts) - len(fields)
    return ", ".join([*fields, f"and {more} more"] if more else fields)


def conflict_field(conflict: Conflict) -> str:
    return f"{quote(conflict.item_id, _MOST_ID)} {quote(conflict.field, _MOST_FIELD)}"


def _default_focus(context: RoundContext) -> str:
    """Return the hypotheses that open critiques name, for a round without the operator's focus.

    Only IDs of active hypotheses count, so that no text of an agent is shown.
    """
    active = {item.id for item in context.artifact.active(HYPOTHESIS_SLATE)}
    named: dict[str, list[str]] = {}
    for label, text in _attack_texts(context):
        for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(text)):
            if item_id in active:
                named.setdefault(item_id, []).append(label)
    return "; ".join(
        f"{item_id}, which {' and '.join(named[item_id])} attack{'s' * (len(named[item_id]) == 1)}"
        for item_id in sorted(named, key=item_sort_key)
    )


def _attack_texts(context: RoundContext) -> Iterator[tuple[str, str]]:
    """Yield each open critique with the text that may name what it attacks."""
    for item in context.critiques:
        yield _item_id(item), f"{item.text('name')} {item.text('attack')}"
    for message in context.critique_messages:
        texts = (message.subject, message.about, context.attacks.get(message.message_id, ""))
        yield message_label(message), " ".join(texts)


def _critique_list(context: RoundContext) -> Iterator[str]:
    """Yield a line for each open critique: its name, its author, and how it begins."""
    author_of = {each.item: each.agent for each in context.status.critiques}
    items, messages = context.critiques, context.critique_messages
    for item in items[:_MOST_LISTED]:
        agent = author_of.get(item.id)
        author = f" ({quote(agent, _MOST_NAME)})" if agent else ""
        attack = quote(item.text("attack"), _MOST_ATTACK)
        about = _killed_note(context, f"{item.text('name')} {item.text('attack')}")
        yield f"- {_item_id(item)} {quote(item.title, _MOST_SUBJECT)}{author}{about}: {attack}"
    for message in messages[:_MOST_LISTED]:
        rank = f", {quote(message.rank, _MOST_NAME)}" if message.rank else ""
        attack = context.attacks.get(message.message_id, "")
        head = f"{_message_line(message, rank)}{_killed_note(context, message.about)}"
        yield f"- {head}: {quote(attack, _MOST_ATTACK)}".rstrip(": ")
    more = max(0, len(items) - _MOST_LISTED) + max(0, len(messages) - _MOST_LISTED)
    if more:
        yield f"- and {more} more: `brenner session status {context.thread}`"


def _killed_note(context: RoundContext, text: str) -> str:
    """Return a note if every hypothesis, test, … that a critique names is killed."""
    killed = {item.id for _, item in context.artifact.all_items() if not item.is_active}
    named = list(dict.fromkeys(ITEM_ID_IN_PROSE.findall(text)))
    if not named or not killed.issuperset(named):
        return ""
    is_one = len(named) == 1
    return f" ({' and '.join(named[:_MOST_CITED])} {'is' if is_one else 'are'} killed)"


def _message_line(message: OpenMessage, rank: str = "") -> str:
    """Return an open message as `message 9 (RedSky: The scale is wrong)`."""
    return (
        f"{message_label(message)} ({quote(message.sender, _MOST_NAME)}{rank}: "
        f"{quote(subject_description(message.subject), _MOST_SUBJECT)})"
    )


def subject_description(subject: str) -> str:
    """Return a subject without its prefix."""
    read = parse_subject(subject)
    return read.description if read and read.description.strip() else subject


# Excerpts and attacks in earlier messages


def passages_in(messages: Iterable[StoredMessage]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the kickoffs of a thread that cite numbered sections, each excerpt once."""
    found = [
        (number, cited)
        for text, number in excerpts_in(messages).items()
        if (cited := tuple(dict.fromkeys(_cited_sections(text)))[:_MOST_CITED])
    ]
    return tuple(found[-_MOST_CITED:])


def excerpts_in(messages: Iterable[StoredMessage]) -> dict[str, int]:
    """Return the excerpts with section numbers in kickoffs, each with its first message."""
    found: dict[str, int] = {}
    for stored in sorted(messages, key=thread_order_key):
        message = stored.message
        if message.type != KICKOFF.name or "§" not in message.body:
            continue
        text = _section_text(_EXCERPT, message.body)
        if "§" in text and not text.startswith(_EARLIER_PASSAGES):
            found.setdefault(text, stored.id)
    return found


def attacks_in(messages: Iterable[StoredMessage], status: SessionStatus) -> dict[int, str]:
    """Return the `## Attack` sections of the open CRITIQUE messages."""
    wanted = {each.message_id for each in status.of_type(CRITIQUE.name)}
    bodies = {each.id: each.message.body for each in messages}
    return {number: _section_text(_ATTACK, bodies[number]) for number in wanted & bodies.keys()}


def _section_text(name: str, body: str) -> str:
    section = find_section(parse_sections(parse_blocks(body)), name)
    return "\n".join(block.text for block in section.contents) if section else ""


def _cited_sections(text: str) -> Iterator[str]:
    """Yield the cited sections, such as `§42-45`: numbers and nothing else."""
    for match in CITED_SECTIONS.finditer(text):
        first, last = match.groups()
        cited = f"§{first}-{last}" if last else f"§{first}"
        if len(cited) <= _LONGEST_CITATION:
            yield cited


# The requested outputs, unless the operator states them


_MOST_REQUESTED = 10
_MOST_ERROR_TEXT, _MOST_FIX = 200, 400
_PREFIXES = {section.prefix: section for section in SECTIONS.values()}

_ANSWER = (
    "**Answer the open critiques**, each by its ID: {ids}. EDIT or KILL the item that a critique "
    "attacks, and name the critique in the `rationale`."
)
_CLOSE_ITEM = (
    " Or explain in an EDIT of the critique ({ids}) why it is wrong. An EDIT whose "
    "`current_status` begins with `Resolved` closes it."
)
_JUDGE = (
    "**Judge the open critiques**, each by its ID: {ids}. Press those that are still valid. Close "
    "those that the artifact has answered: send an EDIT whose `current_status` begins with "
    "`Resolved` and names the answer."
)
_CLOSE_MESSAGES = (
    "**Critiques sent as messages** cannot be edited. Each is closed when its recipients "
    "acknowledge it or reply: {messages}."
)
_SETTLE = (
    "**Settle the open conflicts**: {fields}. Two agents set the field to different values without "
    "seeing each other's edit. An EDIT of the field on v{base} closes the conflict, even if it "
    "keeps the current value."
)
_LACKING = "**Fix the lint errors** of v{base} in the sections that you write:"
_OWN = "**Also contribute**, as far as v{base} lacks it:"


def round_outputs(context: RoundContext, recipients: Sequence[str], prompt: Prompt) -> str:
    """Compose `## Requested Outputs`, the most urgent first; the outputs of the role come last.

    What a version must contain is requested only if it is missing: the lint errors say so.
    """
    lines = [*_critique_lines(context, recipients, prompt), *_conflict_lines(context)]
    for name in recipients:
        lines += _recipient_lines(context, name, is_one=len(recipients) == 1)
    errors = [
        f"{each.shown_id}: {quote(each.message, _MOST_ERROR_TEXT)}"
        for each in context.errors
        if _concerns(each, prompt)
    ]
    lines += _nested_list(_LACKING.format(base=context.base.number), errors)
    own = prompt.later_outputs.replace("\n- ", "\n  - ")
    return "\n".join([*lines, f"- {_OWN.format(base=context.base.number)}", f"  {own}"])


def _critique_lines(
    context: RoundContext, recipients: Sequence[str], prompt: Prompt
) -> Iterator[str]:
    """Ask a critic to judge all open critiques, and others to answer those of other agents."""
    is_critic = prompt.sections[0] is ADVERSARIAL_CRITIQUE
    is_one = len(recipients) == 1
    author = recipients[0] if is_one and not is_critic else None
    ids = open_critique_ids(context, author)
    items = [each for each in ids if each in set(map(_item_id, context.critiques))]
    if is_critic and items:
        yield "- " + _JUDGE.format(ids=", ".join(items))
    elif ids and not is_critic:
        close = _CLOSE_ITEM.format(ids=", ".join(items)) if items else ""
        yield "- " + _ANSWER.format(ids=", ".join(ids)) + close
    messages = context.critique_messages[:_MOST_REQUESTED]
    if messages:
        open_messages = "; ".join(map(_who_closes, messages))
        more = len(context.critique_messages) - len(messages)
        open_messages += f"; and {more} more" if more else ""
        yield "- " + _CLOSE_MESSAGES.format(messages=open_messages)


def _who_closes(message: OpenMessage) -> str:
    """Return `message 9 (waits for BlueLake and RedSky)`."""
    names = joined(quote(each, _MOST_NAME) for each in message.waiting_for)
    return f"{message_label(message)} (waits for {names})"


def _conflict_lines(context: RoundContext) -> Iterator[str]:
    if context.conflicts:
        fields = _conflict_fields(context.conflicts, _MOST_REQUESTED)
        yield "- " + _SETTLE.format(fields=fields, base=context.base.number)


def _recipient_lines(context: RoundContext, name: str, *, is_one: bool) -> Iterator[str]:
    """Yield what waits for this recipient alone: rejected blocks, messages to acknowledge."""
    whose = "" if is_one else f" ({name})"
    refused = [each for each in context.status.refusals if each.agent == name]
    yield from _nested_list(
        f"**Correct your rejected blocks**{whose} in a new message, each as it says:",
        [*map(_refused_block_line, refused)],
    )
    asked = [each.request for each in context.status.unanswered if each.agent == name]
    yield from _nested_list(
        f"**Answer**{whose} with a KILL, an EDIT, a result, or a critique or assumption that names "
        "both items and says why you keep yours:",
        asked,
    )
    misplaced = [each for each in context.status.misplaced if each.agent == name]
    yield from _nested_list(
        f"**Send in a DELTA message**{whose}: these blocks of yours were in messages of other "
        f"types, which contribute nothing ({DELTA_NOT_CONTRIBUTED.id}).",
        [*map(_refused_block_line, misplaced)],
    )
    waiting = [each for each in context.status.messages if name in each.waiting_for]
    yield from _nested_list(
        f"**Answer and acknowledge**{whose} with `brenner mail ack NUMBER --as {name}` (with MCP "
        "tools: `acknowledge_message`):",
        [*map(_waiting_message_line, waiting)],
    )


def _nested_list(head: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a list item with its own list, limited in length."""
    if lines:
        yield f"- {head}"
    yield from (f"  - {line}" for line in lines[:_MOST_REQUESTED])
    if len(lines) > _MOST_REQUESTED:
        yield f"  - and {len(lines) - _MOST_REQUESTED} more"


def _waiting_message_line(message: OpenMessage) -> str:
    subject = quote(subject_description(message.subject), _MOST_SUBJECT)
    sender = quote(message.sender, _MOST_NAME)
    return f"message {message.message_id} ({message.type}, {sender}: {subject})"


def _refused_block_line(block: RefusedBlock) -> str:
    """Return the block and its first error: fixing that one may be enough."""
    place = f"message {block.message_id}, block {block.block}"
    words = (block.operation, block.target_id or block.section, block.name)
    description = " ".join(quote(word, _MOST_NAME) for word in words if word)
    head = f"{place} ({description})" if description else place
    errors = [each for each in block.diagnostics if each.severity is ERROR]
    if not errors:
        return head
    first = errors[0]
    message, fix = quote(first.message, _MOST_ERROR_TEXT), quote(first.fix, _MOST_FIX)
    return f"{head}: {first.id}, {message} {fix}"


def _concerns(found: Diagnostic, prompt: Prompt) -> bool:
    """Return whether a recipient should fix an error: one in its sections, or in no section.

    The section is that of the item, else the one that the second letter of the rule names.
    """
    section = _PREFIXES.get((found.item or found.id[1:])[:1])
    return section is None or section in prompt.sections
