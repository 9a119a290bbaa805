"""The kickoffs of a session: one message per recipient with the prompt of its role, or one for all.

The sections are those of the message document, in its order; then the roster, the role, and how to
contribute. What the operator wrote stays text: see `user_text`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.diagnostics.model import ERROR, RequestError
from brenner.markdown.escape import escape_heading
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message
from brenner.protocol.roster import (
    Mode,
    Role,
    Roster,
    RosterEntry,
    render_configuration,
    role_in,
    validate_roster,
    validate_roster_coverage,
)
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject
from brenner.session import prompts
from brenner.session.kickoff_text import embedded, one_line, quotation
from brenner.session.prompts import Prompt, Reader, how_to_contribute
from brenner.session.round_kickoff import (
    Round,
    current_state,
    excerpt_note,
    open_ids,
    round_outputs,
)
from brenner.text import escape_control

PROMPTS: dict[str, Prompt] = {
    Role.HYPOTHESIS_GENERATOR: prompts.HYPOTHESIS_GENERATOR_PROMPT,
    Role.TEST_DESIGNER: prompts.TEST_DESIGNER_PROMPT,
    Role.ADVERSARIAL_CRITIC: prompts.PROMPT,
}
_MOST_TITLE = 80
_MOST_DESCRIPTION = 80  # the conventions document's advice for subjects
_SHORTEST_IN_SUBJECT = 20
# The words in the name of a model that tell its shorthand; the first that is found counts
_MODELS = {
    "opus": "opus",
    "sonnet": "claude",
    "haiku": "claude",
    "claude": "claude",
    "gpt": "gpt",
    "codex": "gpt",
    "gemini": "gemini",
}


class KickoffPlan(NamedTuple):
    """What a session is to be about, and who takes part. Texts are as the operator wrote them.

    An empty text is one that was not given. `base` is the latest version of the thread, where it
    has one already. `round` is what a later round goes on from; the first has none.
    """

    thread_id: str
    sender: str
    roster: Roster
    recipients: tuple[str, ...]
    question: str
    context: str
    title: str = ""
    excerpt: str = ""
    hypotheses: str = ""
    constraints: str = ""
    outputs: str = ""
    base: int = 0
    round: Round | None = None


def compose_kickoffs(plan: KickoffPlan) -> tuple[Message, ...]:
    """The messages to send: one for each recipient, in unified mode one for all of them.

    A roster that is not valid, or that lacks a recipient, is refused: no role is ever a guess.
    """
    faults = validate_roster(plan.roster).violations
    lacking = validate_roster_coverage(plan.roster, plan.recipients).violations
    for found in (*faults, *lacking):
        if found.severity is ERROR:
            raise RequestError(found)
    recipients = tuple(dict.fromkeys(plan.recipients))
    if plan.roster.mode == Mode.UNIFIED:
        return (_kickoff(plan, recipients, prompts.UNIFIED_PROMPT),) if recipients else ()
    return tuple(
        _kickoff(plan, (name,), PROMPTS[role_in(plan.roster, name) or ""]) for name in recipients
    )


def shorthand_of(entry: RosterEntry | None) -> str | None:
    """The shorthand for an agent's subjects: as its model tells, else its program; None if unsure.

    One program runs the models of several shorthands, and then tells none.
    """
    if entry is None:
        return None
    model = (entry.model or "").lower()
    told = [shorthand for word, shorthand in _MODELS.items() if word in model]
    run = [each for each, program in ROLE_SHORTHANDS.items() if program == entry.program]
    return told[0] if told else run[0] if len(run) == 1 and entry.program else None


def _kickoff(plan: KickoffPlan, recipients: tuple[str, ...], prompt: Prompt) -> Message:
    return Message(
        thread_id=plan.thread_id,
        sender=plan.sender,
        recipients=recipients,
        subject=_subject(plan),
        body="\n\n".join(_parts(plan, recipients, prompt)) + "\n",
        ack_required=True,
    )


def _parts(plan: KickoffPlan, recipients: tuple[str, ...], prompt: Prompt) -> Iterator[str]:
    """The body, section by section; what was not given is left out."""
    yield f"# {escape_heading(_heading(plan))}"
    yield _addressed(plan, recipients)
    sections = {
        "Current State": current_state(plan.round) if plan.round else "",
        "Research Question": embedded(plan.question),
        "Context": embedded(plan.context),
        "Excerpt": _excerpt(plan),
        "Initial Hypotheses": embedded(plan.hypotheses),
        "Constraints": embedded(plan.constraints),
        "Requested Outputs": embedded(plan.outputs) or _outputs(plan, recipients, prompt),
    }
    yield from (f"## {name}\n\n{text}" for name, text in sections.items() if text)
    yield render_configuration(plan.roster).rstrip("\n")
    yield f"## Your Role\n\n{prompt.role}"
    yield f"## How to Contribute\n\n{how_to_contribute(prompt, _reader(plan, recipients))}"


def _heading(plan: KickoffPlan) -> str:
    """The title of the session; of a later round what the publish document calls it."""
    return f"Round {plan.round.number} Kickoff" if plan.round else _cut(_title(plan), _MOST_TITLE)


def _excerpt(plan: KickoffPlan) -> str:
    if plan.excerpt.strip():
        return quotation(plan.excerpt)
    return excerpt_note(plan.round) if plan.round else ""


def _outputs(plan: KickoffPlan, recipients: tuple[str, ...], prompt: Prompt) -> str:
    return round_outputs(plan.round, recipients, prompt) if plan.round else prompt.outputs


def _addressed(plan: KickoffPlan, recipients: tuple[str, ...]) -> str:
    if plan.roster.mode == Mode.UNIFIED:
        names = ", ".join(f"**{name}**" for name in recipients)
        return f"This kickoff is for {names}, all with the same task. {plan.sender} sends it."
    (name,) = recipients
    role = role_in(plan.roster, name)
    return f"This kickoff is for **{name}**, with the role `{role}`. {plan.sender} sends it."


def _reader(plan: KickoffPlan, recipients: tuple[str, ...]) -> Reader:
    """Mail goes to who has sent the kickoff and to all others who get one."""
    name = recipients[0]
    is_one = plan.roster.mode != Mode.UNIFIED
    others = [each for each in (plan.sender, *plan.recipients) if each != name] or [plan.sender]
    shorthand = shorthand_of(plan.roster.entry(name)) if is_one else None
    answers = open_ids(plan.round, name)[:1] if plan.round else []
    return Reader(
        plan.thread_id,
        name,
        is_one,
        tuple(dict.fromkeys(others)),
        shorthand,
        plan.base,
        "".join(answers),
    )


def _title(plan: KickoffPlan) -> str:
    return one_line(plan.title) or one_line(plan.question) or plan.thread_id


def _subject(plan: KickoffPlan) -> str:
    """`KICKOFF: title (thread)`; the title gives way, and a very long thread ID is left out.

    That of a later round begins with its number.
    """
    title, thread = escape_control(_title(plan)), f" ({plan.thread_id})"
    if plan.round:
        title = f"Round {plan.round.number}: {title}"
    room = _MOST_DESCRIPTION - len(thread)
    if room < _SHORTEST_IN_SUBJECT:
        thread, room = "", _MOST_DESCRIPTION
    return compose_subject(KICKOFF.name, _cut(title, room) + thread)


def _cut(words: str, most: int) -> str:
    """The words that fit; a last one that does not is left out, or cut where it is the only one."""
    if len(words) <= most:
        return words
    start = words[: most - 1]
    whole = start.rpartition(" ")[0] if words[most - 1] != " " else start
    return (whole or start).rstrip(" ,;:-–—") + "…"
