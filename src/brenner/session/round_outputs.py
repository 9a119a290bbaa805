"""What a later round asks of one recipient, where the operator asks for nothing in particular."""

from collections.abc import Iterator, Sequence

from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.body import quoted
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE, SECTIONS, Section
from brenner.session.prompts.model import Prompt
from brenner.session.round_kickoff import Round, about, field_of, open_ids
from brenner.session.status import OpenMessage, Refusal

_MOST_LISTED = 10
_MOST_NAME, _MOST_SUBJECT, _MOST_FAULT = 64, 80, 200
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
    lines = [*_critiques(of, recipients, prompt), *_settle(of)]
    for name in recipients:
        lines += _of_hers(of, name, is_one=len(recipients) == 1)
    errors = [each for each in of.errors if _is_theirs(each, prompt)]
    lines += _listed(_LACKING.format(base=of.base.number), map(_fault, errors), len(errors))
    own = prompt.outputs.replace("\n- ", "\n  - ")
    return "\n".join([*lines, f"- {_OWN.format(base=of.base.number)}", f"  {own}"])


def _critiques(of: Round, recipients: Sequence[str], prompt: Prompt) -> Iterator[str]:
    """The critic judges them all; others answer those that are not their own."""
    is_critic = prompt.sections[0] is ADVERSARIAL_CRITIQUE
    is_one = len(recipients) == 1
    ids = open_ids(of, recipients[0] if is_one and not is_critic else None)
    if ids:
        yield "- " + (_JUDGE if is_critic else _ANSWER).format(ids=", ".join(ids))


def _settle(of: Round) -> Iterator[str]:
    if of.conflicts:
        fields = [field_of(each) for each in of.conflicts[:_MOST_LISTED]]
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
        map(_letter, waiting),
        len(waiting),
    )


def _listed(head: str, lines: Iterator[str], count: int) -> Iterator[str]:
    """A point with its own points; of many only the first."""
    if not count:
        return
    yield f"- {head}"
    yield from (f"  - {line}" for _, line in zip(range(_MOST_LISTED), lines, strict=False))
    if count > _MOST_LISTED:
        yield f"  - and {count - _MOST_LISTED} more"


def _letter(letter: OpenMessage) -> str:
    said = quoted(about(letter.subject), _MOST_SUBJECT)
    return (
        f"message {letter.message_id} ({letter.type}, {quoted(letter.sender, _MOST_NAME)}: {said})"
    )


def _refusal(refusal: Refusal) -> str:
    """Which block, and its first fault: one mended may be all that it needs."""
    place = f"message {refusal.message_id}, block {refusal.block}"
    words = (refusal.operation, refusal.target_id or refusal.section, refusal.name)
    said = " ".join(quoted(word, _MOST_NAME) for word in words if word)
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
