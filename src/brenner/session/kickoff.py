"""Compose the kickoffs of a session: one message per recipient, or one for all in unified mode.

The sections are those of the message document, in its order; then the roster, the role, and how to
contribute. The operator's text stays plain text: see `embed_text`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.model import ERROR, RequestError
from brenner.markdown.escape import escape_heading
from brenner.named_tuple import NamedTuple
from brenner.protocol import independent_round
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message
from brenner.protocol.roster import (
    Mode,
    Roster,
    RosterEntry,
    render_configuration,
    role_of_agent,
    validate_roster,
    validate_roster_coverage,
)
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject
from brenner.session.excerpts import embed_text, one_line, quote_text
from brenner.session.prompts import (
    PROMPTS,
    UNIFIED_PROMPT,
    Prompt,
    example_message,
    how_to_contribute,
)
from brenner.session.round_kickoff import (
    RoundContext,
    current_state,
    excerpt_note,
    open_critique_ids,
    round_outputs,
)
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_TITLE = 80
_MOST_DESCRIPTION = 80  # the conventions document's advice for subjects
_SHORTEST_IN_SUBJECT = 20
# Shorthand by a word in the name of a model; the first match counts
_SHORTHAND_OF_WORD = {
    "opus": "opus",
    "sonnet": "claude",
    "haiku": "claude",
    "claude": "claude",
    "gpt": "gpt",
    "codex": "gpt",
    "gemini": "gemini",
}


class KickoffPlan(NamedTuple):
    """The topic of a session, and its participants. Texts are as the operator wrote them.

    An empty text means not given. `base` is the number of the thread's latest version, 0 before the
    first. `round` is what a later round starts from; None for the first round. `is_independent`
    states an independent first round (R33).
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
    round: RoundContext | None = None
    is_independent: bool = False


def compose_kickoffs(plan: KickoffPlan) -> tuple[Message, ...]:
    """Compose the messages: one for each recipient, in unified mode one for all of them.

    Raise `RequestError` if the roster is invalid or lacks a recipient: no role is ever guessed.
    """
    invalid = validate_roster(plan.roster).violations
    uncovered = validate_roster_coverage(plan.roster, plan.recipients).violations
    for found in (*invalid, *uncovered):
        if found.severity is ERROR:
            raise RequestError(found)
    recipients = tuple(dict.fromkeys(plan.recipients))
    if plan.roster.mode == Mode.UNIFIED:
        return (_kickoff(plan, recipients, UNIFIED_PROMPT),) if recipients else ()
    return tuple(
        _kickoff(plan, (name,), PROMPTS[role_of_agent(plan.roster, name) or ""])
        for name in recipients
    )


def shorthand_of(entry: RosterEntry | None) -> str | None:
    """Return the shorthand for an agent's subjects; None if unsure.

    The model determines it, else the program. A program that runs models of several shorthands
    determines none.
    """
    if entry is None:
        return None
    model = (entry.model or "").lower()
    by_model = [shorthand for word, shorthand in _SHORTHAND_OF_WORD.items() if word in model]
    by_program = [each for each, program in ROLE_SHORTHANDS.items() if program == entry.program]
    if by_model:
        return by_model[0]
    return by_program[0] if len(by_program) == 1 and entry.program else None


def _kickoff(plan: KickoffPlan, recipients: tuple[str, ...], prompt: Prompt) -> Message:
    return Message(
        thread_id=plan.thread_id,
        sender=plan.sender,
        recipients=recipients,
        subject=_subject(plan),
        body="\n\n".join(_body_parts(plan, recipients, prompt)) + "\n",
        ack_required=True,
    )


def _body_parts(plan: KickoffPlan, recipients: tuple[str, ...], prompt: Prompt) -> Iterator[str]:
    """Yield the body, section by section; leave out what was not given."""
    yield f"# {escape_heading(_heading(plan))}"
    yield _addressee_line(plan, recipients)
    outputs = embed_text(plan.outputs)
    if not outputs:
        outputs = round_outputs(plan.round, recipients, prompt) if plan.round else prompt.outputs
    sections = {
        "Current State": current_state(plan.round) if plan.round else "",
        "Research Question": embed_text(plan.question),
        "Context": embed_text(plan.context),
        "Excerpt": _excerpt(plan),
        "Initial Hypotheses": embed_text(plan.hypotheses),
        "Constraints": embed_text(plan.constraints),
        independent_round.SECTION: independent_round.STATEMENT if plan.is_independent else "",
        "Requested Outputs": outputs,
    }
    yield from (f"## {name}\n\n{text}" for name, text in sections.items() if text)
    yield render_configuration(plan.roster).rstrip("\n")
    yield f"## Your Role\n\n{prompt.role}"
    yield f"## How to Contribute\n\n{_contributing(plan, recipients, prompt)}"


def _heading(plan: KickoffPlan) -> str:
    """Return the title of the session; for a later round the title of the publish document."""
    if plan.round:
        return f"Round {plan.round.number} Kickoff"
    return _truncate_words(_title(plan), _MOST_TITLE)


def _excerpt(plan: KickoffPlan) -> str:
    if plan.excerpt.strip():
        return quote_text(plan.excerpt)
    return excerpt_note(plan.round) if plan.round else ""


def _addressee_line(plan: KickoffPlan, recipients: tuple[str, ...]) -> str:
    if plan.roster.mode == Mode.UNIFIED:
        names = ", ".join(f"**{name}**" for name in recipients)
        return f"From {plan.sender}, for {names}. All of you have the same task."
    (name,) = recipients
    role = role_of_agent(plan.roster, name)
    return f"From {plan.sender}, for **{name}**. Your role is `{role}`."


def _contributing(plan: KickoffPlan, recipients: tuple[str, ...], prompt: Prompt) -> str:
    """Compose how to contribute. Mail goes to the sender and all other recipients."""
    name = recipients[0]
    is_one = plan.roster.mode != Mode.UNIFIED
    others = [each for each in (plan.sender, *plan.recipients) if each != name] or [plan.sender]
    shorthand = shorthand_of(plan.roster.entry(name)) if is_one else None
    answers = open_critique_ids(plan.round, name)[:1] if plan.round else []
    message = Message(plan.thread_id, name, tuple(dict.fromkeys(others)), "", "")
    example = example_message(message, shorthand, plan.base, "".join(answers))
    return how_to_contribute(prompt, example, shorthand, is_one=is_one)


def _title(plan: KickoffPlan) -> str:
    return one_line(plan.title) or one_line(plan.question) or plan.thread_id


def _subject(plan: KickoffPlan) -> str:
    """Return `KICKOFF: title (thread)`, truncated; a very long thread ID is left out.

    The subject of a later round begins with its number.
    """
    title, thread = escape_control(_title(plan)), f" ({plan.thread_id})"
    if plan.round:
        title = f"Round {plan.round.number}: {title}"
    room = _MOST_DESCRIPTION - len(thread)
    if room < _SHORTEST_IN_SUBJECT:
        thread, room = "", _MOST_DESCRIPTION
    return compose_subject(KICKOFF.name, _truncate_words(title, room) + thread)


def _truncate_words(words: str, most: int) -> str:
    """Truncate a text at a word boundary; cut a word only if it is the only one."""
    if len(words) <= most:
        return words
    start = words[: most - 1]
    whole = start.rpartition(" ")[0] if words[most - 1] != " " else start
    return (whole or start).rstrip(" ,;:-–—") + "…"
