"""What the kickoff of a later round says of the session so far (publish document, Round 2+).

Nearly all of it is the work of agents: names and attacks of critiques, subjects, what was refused.
It is quoted, on one line and without effect, so that none of it makes structure, states a base, or
is anybody's contribution.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.model import Artifact, Item, order_of
from brenner.artifact.state import Conflict
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lint.linter import lint
from brenner.markdown.blocks import blocks
from brenner.protocol.body import find_section, quoted, sections
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE, HYPOTHESIS_SLATE, SECTIONS, Section
from brenner.protocol.grammar import CITED_SECTIONS, ITEM_ID_IN_PROSE
from brenner.protocol.message_types import CRITIQUE, KICKOFF
from brenner.protocol.messages import in_thread_order
from brenner.protocol.subjects import parse_subject
from brenner.session.kickoff_text import one_line
from brenner.session.model import LatestVersion, OpenMessage, Refusal, SessionStatus
from brenner.session.prompts import Prompt
from brenner.session.rebuild import ThreadMessage
from brenner.text import counted

_NONE = "none"
_MOST_LISTED = 20
_MOST_CITED = 12
_MOST_NAME, _MOST_SUBJECT, _MOST_ATTACK, _MOST_FIELD, _MOST_ID = 64, 80, 160, 48, 24
_LONGEST_CITATION = 24
_EXCERPT, _ATTACK = "Excerpt", "Attack"
_STILL = "The passages of the earlier kickoffs are still the source:"


class Passages(NamedTuple):
    """The kickoff that gave passages of the source, and the sections that it gave."""

    message_id: int
    cited: tuple[str, ...]


class Round(NamedTuple):
    """What a later round goes on from: the latest version, and what is open in the thread.

    `focus` is the operator's word on it, `asked` her question, where it is another one than the
    artifact's. `passages` are told of where the round gives no new ones. `attacks` are what the
    open CRITIQUE messages say, by their ids.
    """

    status: SessionStatus
    base: LatestVersion
    artifact: Artifact
    conflicts: tuple[Conflict, ...] = ()
    focus: str = ""
    asked: str = ""
    passages: tuple[Passages, ...] = ()
    attacks: Mapping[int, str] = MappingProxyType({})

    @property
    def number(self) -> int:
        """The round makes the version after its base."""
        return self.base.number + 1

    @property
    def standing(self) -> str:
        """The artifact's question."""
        return self.artifact.research_thread.text("statement")

    @property
    def question(self) -> str:
        """The question of the round."""
        return self.asked or self.standing

    @property
    def thread(self) -> str:
        """The thread as commands take it: an ID that begins with a hyphen is no option."""
        thread_id = self.status.thread_id
        return "-- " * thread_id.startswith("-") + thread_id

    @property
    def critiques(self) -> tuple[Item, ...]:
        """The C items that are open, as the artifact has them."""
        items = {item.id: item for item in self.artifact.sections[ADVERSARIAL_CRITIQUE.id]}
        return tuple(items[each.item] for each in self.status.critiques if each.item in items)

    @property
    def letters(self) -> tuple[OpenMessage, ...]:
        """The CRITIQUE messages that are open."""
        return self.status.of_type(CRITIQUE.name)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What the linter finds wrong in the version."""
        return tuple(each for each in lint(self.artifact).violations if each.severity is ERROR)


def current_state(of: Round) -> str:
    """The section `## Current State`: the document's lines, further facts, each open critique."""
    lines = "\n".join(f"- **{name}**: {text}" for name, text in _facts(of) if text)
    said = list(_critiques(of))
    return lines if not said else f"{lines}\n\nThe open critiques:\n\n" + "\n".join(said)


def open_ids(of: Round, but_of: str | None = None) -> list[str]:
    """All that is open, by ID: C1, C2, message 9; one's own critiques aside, if asked for."""
    by = {each.item: each.agent for each in of.status.critiques}
    items = [each for each in of.critiques if not but_of or by.get(each.id) != but_of]
    letters = (letter_id(each) for each in of.letters if each.sender != but_of)
    return [*map(_item_id, items), *letters]


def _item_id(item: Item) -> str:
    """As it is; in an artifact of other programs it may be any word."""
    return quoted(item.id, _MOST_ID)


def letter_id(letter: OpenMessage) -> str:
    """How a message is named."""
    return f"message {letter.message_id}"


def _open_critiques(of: Round) -> str:
    """`C1, C2, message 9 (RedSky: The scale is wrong)`."""
    ids = map(_item_id, of.critiques)
    letters = [_letter(each) for each in of.letters[:_MOST_LISTED]]
    more = len(of.letters) - len(letters)
    rest = [f"and {counted(more, 'message')} more"] if more > 0 else []
    return ", ".join([*ids, *letters, *rest]) or _NONE


def excerpt_note(of: Round) -> str:
    """Where the passages of the source stand; empty where no kickoff has cited any."""
    if not of.passages:
        return ""
    told = "; ".join(
        f"message {each.message_id} has {', '.join(each.cited)}" for each in of.passages
    )
    return f"{_STILL} {told}. `brenner mail show {of.passages[0].message_id}` shows them."


def _facts(of: Round) -> Iterator[tuple[str, str]]:
    base = of.base
    yield "Base Artifact", f"v{base.number}"
    yield "Open Critiques", _open_critiques(of)
    yield "Focus Area", one_line(of.focus) or _focus(of)
    compiled = f"message {base.message_id} (COMPILED) has v{base.number} whole"
    yield "Where It Is", f"{compiled}; `brenner artifact show {of.thread}` shows the latest version"
    yield "Linter", _linter(of)
    yield "Open Conflicts", ", ".join(_fields(of.conflicts))
    if of.asked and of.standing:
        keeps = f"the artifact keeps “{quoted(of.standing)}” until an EDIT of `RT` changes it"
        yield "Question", f"another one in this round; {keeps}"


def _linter(of: Round) -> str:
    words = [
        counted(number, word)
        for number, word in ((of.base.errors, "error"), (of.base.warnings, "warning"))
        if number
    ]
    shows = f" (`brenner artifact lint {of.thread}`)" if words else ""
    return f"{', '.join(words) or 'no errors'}{shows}"


def _fields(conflicts: Sequence[Conflict]) -> Iterator[str]:
    for each in conflicts[:_MOST_LISTED]:
        yield field_of(each)
    more = len(conflicts) - _MOST_LISTED
    if more > 0:
        yield f"and {more} more"


def field_of(conflict: Conflict) -> str:
    """The field on which authors disagree."""
    return f"{quoted(conflict.item_id, _MOST_ID)} {quoted(conflict.field, _MOST_FIELD)}"


def _focus(of: Round) -> str:
    """The hypotheses that open critiques name, where the operator says nothing.

    Only IDs of active hypotheses count, so that it is never an agent's text that is shown.
    """
    active = {item.id for item in of.artifact.active(HYPOTHESIS_SLATE)}
    named: dict[str, list[str]] = {}
    for label, text in _attacks(of):
        for item_id in dict.fromkeys(ITEM_ID_IN_PROSE.findall(text)):
            if item_id in active:
                named.setdefault(item_id, []).append(label)
    return "; ".join(
        f"{item_id}, which {' and '.join(named[item_id])} attack{'s' * (len(named[item_id]) == 1)}"
        for item_id in sorted(named, key=order_of)
    )


def _attacks(of: Round) -> Iterator[tuple[str, str]]:
    """Each open critique, and in which words it may name what it attacks."""
    for item in of.critiques:
        yield _item_id(item), f"{item.text('name')} {item.text('attack')}"
    for letter in of.letters:
        said = (letter.subject, letter.about, of.attacks.get(letter.message_id, ""))
        yield letter_id(letter), " ".join(said)


def _critiques(of: Round) -> Iterator[str]:
    """A line for each: what it is called, whose it is, and how it begins."""
    by = {each.item: each.agent for each in of.status.critiques}
    items, letters = of.critiques, of.letters
    for item in items[:_MOST_LISTED]:
        agent = by.get(item.id)
        author = f" ({quoted(agent, _MOST_NAME)})" if agent else ""
        attack = quoted(item.text("attack"), _MOST_ATTACK)
        yield f"- {_item_id(item)} {quoted(item.title, _MOST_SUBJECT)}{author}: {attack}"
    for letter in letters[:_MOST_LISTED]:
        rank = f", {quoted(letter.rank, _MOST_NAME)}" if letter.rank else ""
        attack = of.attacks.get(letter.message_id, "")
        yield f"- {_letter(letter, rank)}: {quoted(attack, _MOST_ATTACK)}".rstrip(": ")
    more = max(0, len(items) - _MOST_LISTED) + max(0, len(letters) - _MOST_LISTED)
    if more:
        yield f"- and {more} more: `brenner session status {of.thread}`"


def _letter(letter: OpenMessage, rank: str = "") -> str:
    """A message that is open: `message 9 (RedSky: The scale is wrong)`."""
    return (
        f"{letter_id(letter)} ({quoted(letter.sender, _MOST_NAME)}{rank}: "
        f"{quoted(about(letter.subject), _MOST_SUBJECT)})"
    )


def about(subject: str) -> str:
    """What a subject says behind its prefix."""
    read = parse_subject(subject)
    return read.description if read and read.description.strip() else subject


# What earlier messages say


def passages_in(messages: Iterable[ThreadMessage]) -> tuple[Passages, ...]:
    """Which kickoffs of a thread gave passages with section numbers, each excerpt once."""
    found: dict[str, Passages] = {}
    for filed in sorted(messages, key=lambda each: in_thread_order(each.posted)):
        message = filed.posted.message
        subject = parse_subject(message.subject)
        if subject is None or subject.type != KICKOFF.name or "§" not in message.body:
            continue
        text = _under(_EXCERPT, message.body)
        cited = tuple(dict.fromkeys(_cited(text)))[:_MOST_CITED]
        if cited and not text.startswith(_STILL):
            found.setdefault(text, Passages(filed.posted.id, cited))
    return tuple(found.values())[-_MOST_CITED:]


def attacks_in(messages: Iterable[ThreadMessage], status: SessionStatus) -> dict[int, str]:
    """What the open CRITIQUE messages say under their `## Attack`."""
    wanted = {each.message_id for each in status.of_type(CRITIQUE.name)}
    bodies = {each.posted.id: each.posted.message.body for each in messages}
    return {number: _under(_ATTACK, bodies[number]) for number in wanted & bodies.keys()}


def _under(name: str, body: str) -> str:
    section = find_section(sections(blocks(body)), name)
    return "\n".join(block.text for block in section.contents) if section else ""


def _cited(text: str) -> Iterator[str]:
    """Sections as one cites them, `§42-45`: numbers and nothing else."""
    for match in CITED_SECTIONS.finditer(text):
        first, last = match.groups()
        cited = f"§{first}-{last}" if last else f"§{first}"
        if len(cited) <= _LONGEST_CITATION:
            yield cited


# What a later round asks of one recipient, where the operator asks for nothing in particular.


_ROUND_OUTPUTS_MOST_LISTED = 10
_LISTED_NAME, _ROUND_OUTPUTS_MOST_SUBJECT, _MOST_FAULT = 64, 80, 200
_PREFIXES = {section.prefix: section for section in SECTIONS.values()}

_ANSWER = (
    "**Answer the open critiques**, each by its ID: {ids}. Mend or KILL what they attack, and name "
    "the critique in the `rationale`; or say in an EDIT of the critique why it is wrong. An EDIT "
    "whose `current_status` begins with `Resolved` closes it."
)
_JUDGE = (
    "**Judge the open critiques**, each by its ID: {ids}. Press those that stand. Where the "
    "artifact has answered one, close it: an EDIT whose `current_status` begins with `Resolved` "
    "and says by what."
)
_SETTLE = (
    "**Settle the open conflicts**: {fields}. Two authors have set the field without knowing of "
    "each other; an EDIT of it on v{base}, also to the value that stands, closes the conflict."
)
_LACKING = "**What the linter finds wrong** in v{base}, in the sections that you write:"
_OWN = "**What else is wanted of you**, where v{base} lacks it:"


def round_outputs(of: Round, recipients: Sequence[str], prompt: Prompt) -> str:
    """The section `## Requested Outputs`, the most pressing first; at its end the role's own."""
    lines = [*_round_outputs_critiques(of, recipients, prompt), *_settle(of)]
    for name in recipients:
        lines += _of_hers(of, name, is_one=len(recipients) == 1)
    errors = [each for each in of.errors if _is_theirs(each, prompt)]
    lines += _listed(_LACKING.format(base=of.base.number), map(_fault, errors), len(errors))
    own = prompt.outputs.replace("\n- ", "\n  - ")
    return "\n".join([*lines, f"- {_OWN.format(base=of.base.number)}", f"  {own}"])


def _round_outputs_critiques(of: Round, recipients: Sequence[str], prompt: Prompt) -> Iterator[str]:
    """The critic judges them all; others answer those that are not their own."""
    is_critic = prompt.sections[0] is ADVERSARIAL_CRITIQUE
    is_one = len(recipients) == 1
    ids = open_ids(of, recipients[0] if is_one and not is_critic else None)
    if ids:
        yield "- " + (_JUDGE if is_critic else _ANSWER).format(ids=", ".join(ids))


def _settle(of: Round) -> Iterator[str]:
    if of.conflicts:
        fields = [field_of(each) for each in of.conflicts[:_ROUND_OUTPUTS_MOST_LISTED]]
        more = len(of.conflicts) - len(fields)
        named = ", ".join([*fields, *([f"and {more} more"] if more > 0 else [])])
        yield "- " + _SETTLE.format(fields=named, base=of.base.number)


def _of_hers(of: Round, name: str, *, is_one: bool) -> Iterator[str]:
    """What waits for this recipient alone: her refused blocks, and messages to acknowledge."""
    whose = "" if is_one else f" ({name})"
    refused = [each for each in of.status.refusals if each.agent == name]
    yield from _listed(
        f"**Send again, corrected**{whose}: these blocks of yours were refused.",
        map(_refusal, refused),
        len(refused),
    )
    waiting = [each for each in of.status.messages if name in each.waiting_for]
    yield from _listed(
        f"**Answer and acknowledge**{whose}, `brenner mail ack NUMBER --as {name}`:",
        map(_round_outputs_letter, waiting),
        len(waiting),
    )


def _listed(head: str, lines: Iterator[str], count: int) -> Iterator[str]:
    """A point with its own points; of many only the first."""
    if not count:
        return
    yield f"- {head}"
    yield from (
        f"  - {line}" for _, line in zip(range(_ROUND_OUTPUTS_MOST_LISTED), lines, strict=False)
    )
    if count > _ROUND_OUTPUTS_MOST_LISTED:
        yield f"  - and {count - _ROUND_OUTPUTS_MOST_LISTED} more"


def _round_outputs_letter(letter: OpenMessage) -> str:
    said = quoted(about(letter.subject), _ROUND_OUTPUTS_MOST_SUBJECT)
    sender = quoted(letter.sender, _LISTED_NAME)
    return f"message {letter.message_id} ({letter.type}, {sender}: {said})"


def _refusal(refusal: Refusal) -> str:
    """Which block, and its first fault: one mended may be all that it needs."""
    place = f"message {refusal.message_id}, block {refusal.block}"
    words = (refusal.operation, refusal.target_id or refusal.section, refusal.name)
    said = " ".join(quoted(word, _LISTED_NAME) for word in words if word)
    head = f"{place} ({said})" if said else place
    faults = [each for each in refusal.diagnostics if each.severity is ERROR]
    if not faults:
        return head
    fault = faults[0]
    return (
        f"{head}: {fault.id}, {quoted(fault.message, _MOST_FAULT)} {quoted(fault.fix, _MOST_FAULT)}"
    )


def _fault(found: Diagnostic) -> str:
    return f"{found.id}: {quoted(found.message, _MOST_FAULT)}"


def _is_theirs(found: Diagnostic, prompt: Prompt) -> bool:
    """Whether a recipient is to mend it. What stands in nobody's section is told to everybody."""
    section = _section_of(found)
    return section is None or section in prompt.sections


def _section_of(found: Diagnostic) -> Section | None:
    """The section of the item, else the one that the second letter of the rule names."""
    prefix = (found.item or found.id[1:])[:1]
    return _PREFIXES.get(prefix)
