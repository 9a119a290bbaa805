"""One agent's turns in a round of `session run`: its prompts, what arrived, and what comes next.

The thread decides whether a turn succeeded, not the program: an agent has contributed if its
messages are there. A program without tools answers with a text, which is checked and sent in the
agent's name here, as `mail send` does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes.messages import EMPTY_MESSAGE
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError
from brenner.integrations.agent_driver import PARKING_FAULTS, Fault, FaultKind
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.markdown.edits import TextEdit, apply_edits
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import short_description
from brenner.protocol.message_types import ACK, ACK_STATUSES, DELTA
from brenner.protocol.messages import Message, parse_message_file, render_message_file
from brenner.protocol.subjects import compose_subject
from brenner.services.acknowledge import acknowledge
from brenner.services.new_message import ThreadDefaults, thread_defaults
from brenner.services.receive import model_shorthand
from brenner.services.run_log import fault_text
from brenner.services.send import SendOptions, send_text
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.workspace import mailbox_for
from brenner.session.model import Turn
from brenner.session.run_prompts import (
    PASSING,
    TextTask,
    TurnContext,
    text_correction,
    text_task,
    turn_prompt,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.integrations.agent_driver import TurnReport
    from brenner.services.workspace import Workspace
    from brenner.session.model import Participant, RefusedBlock

# What a turn achieved, as the thread shows it


class TurnOutcome(StrEnum):
    """The outcome of a turn; the values are stable in the JSON."""

    CONTRIBUTED = "contributed"
    PASSED = "passed"
    MAIL = "mail"  # messages that contribute nothing to the artifact, such as a CRITIQUE
    REJECTED = "rejected"
    SILENT = "silent"
    FAULT = "fault"


FINISHED = frozenset({TurnOutcome.CONTRIBUTED, TurnOutcome.PASSED, TurnOutcome.MAIL})


class TurnResult(NamedTuple):
    """What a turn achieved. `messages` arrived during it, and `applied` and `rejected` count their
    blocks. `refused` are the agent's open rejected blocks of this round.
    """

    outcome: TurnOutcome
    messages: tuple[int, ...] = ()
    applied: int = 0
    rejected: int = 0
    refused: tuple[RefusedBlock, ...] = ()
    reason: str = ""


def participant_of(loaded: LoadedStatus, agent: str) -> Participant | None:
    return next((each for each in loaded.status.participants if each.name == agent), None)


def has_finished(loaded: LoadedStatus, agent: str) -> bool:
    """Return whether the agent has contributed or passed in this round already."""
    me = participant_of(loaded, agent)
    return me is not None and me.turn in (Turn.CONTRIBUTED, Turn.PASSED)


def result_of_turn(loaded: LoadedStatus, agent: str, after: int) -> TurnResult:
    """Return what arrived from an agent after that arrival in the store, and how its round is."""
    new = [e for e in loaded.messages if e.message.sender == agent and e.arrival > after]
    ids = {each.id for each in new}
    states = [entry.state for entry in loaded.merged.ledger if entry.message_id in ids]
    status = loaded.status
    refused = tuple(each for each in status.refusals if each.agent == agent and not each.version)
    refused += tuple(each for each in status.misplaced if each.message_id in ids)
    me = participant_of(loaded, agent)
    has_mail = any(each.type != ACK.name for each in new)
    if refused:
        outcome = TurnOutcome.REJECTED
    elif me and me.turn in (Turn.CONTRIBUTED, Turn.PASSED):
        is_passed = me.turn is Turn.PASSED
        outcome = TurnOutcome.PASSED if is_passed else TurnOutcome.CONTRIBUTED
    else:
        outcome = TurnOutcome.MAIL if has_mail else TurnOutcome.SILENT
    return TurnResult(
        outcome,
        tuple(sorted(ids)),
        states.count(BlockOutcome.APPLIED),
        states.count(BlockOutcome.REFUSED),
        refused,
    )


# What comes next


class StepKind(StrEnum):
    DONE = "done"
    REMIND = "reminder"
    RETRY = "retry"
    PARK_ROUND = "park_round"
    PARK_RUN = "park_run"


class Step(NamedTuple):
    """What comes after a turn; `seconds` to wait before a retry."""

    kind: StepKind
    seconds: float = 0.0


class Attempts(NamedTuple):
    """What was tried for an agent in this round already."""

    reminders: int = 0
    retries: int = 0
    waited: float = 0.0

    def after(self, step: Step) -> Attempts:
        is_wait = step.seconds > 0
        return Attempts(
            self.reminders + (step.kind is StepKind.REMIND),
            self.retries + (step.kind is StepKind.RETRY and not is_wait),
            self.waited + step.seconds,
        )


MOST_WAIT_SECONDS = 60 * 60.0
_UNKNOWN_WAIT_SECONDS, _LEAST_WAIT_SECONDS = 30.0, 1.0


def next_step(
    attempts: Attempts, result: TurnResult, fault: Fault | None, seconds_left: float
) -> Step:
    """Return what comes after a turn; `seconds_left` are those of the run.

    A fault does not matter if the agent's messages are in the thread.
    """
    if result.outcome in FINISHED or (fault and fault.kind is FaultKind.STOPPED):
        return Step(StepKind.DONE)
    if fault is None or result.outcome is TurnOutcome.REJECTED:
        return Step(StepKind.DONE if attempts.reminders else StepKind.REMIND)
    if fault.kind in PARKING_FAULTS:
        return Step(StepKind.PARK_RUN)
    if fault.kind is FaultKind.RATE_LIMIT:
        return _after_rate_limit(attempts, fault, seconds_left)
    return Step(StepKind.PARK_ROUND if attempts.retries else StepKind.RETRY)


def _after_rate_limit(attempts: Attempts, fault: Fault, seconds_left: float) -> Step:
    """Wait as long as the service says; where it names no time, wait once."""
    if fault.retry_after is None and attempts.waited:
        return Step(StepKind.PARK_ROUND)
    known = fault.retry_after
    seconds = _UNKNOWN_WAIT_SECONDS if known is None else max(_LEAST_WAIT_SECONDS, known)
    if attempts.waited + seconds > MOST_WAIT_SECONDS or seconds > seconds_left:
        return Step(StepKind.PARK_RUN)
    return Step(StepKind.RETRY, seconds)


# Prompts


def as_agent(workspace: Workspace, agent: str) -> Workspace:
    """Return the workspace as an agent sees it: without what is sealed for it (R33)."""
    mailbox = mailbox_for(workspace.mailbox, workspace.project, agent)
    return workspace._replace(mailbox=mailbox, actor=agent)


def turn_context(loaded: LoadedStatus, agent: str, role: str | None) -> TurnContext:
    me, status = participant_of(loaded, agent), loaded.status
    kickoff = me.kickoff if me else None
    return TurnContext(agent, status.thread_id, status.round, loaded.history.number, kickoff, role)


def first_prompt(workspace: Workspace, context: TurnContext, *, has_tools: bool) -> str:
    """Return what the agent is asked at the start of its turn.

    A program without tools gets everything; if some of its blocks are rejected, these, too.
    """
    if has_tools:
        return turn_prompt(context)
    own = as_agent(workspace, context.agent)
    return text_task(_text_task(own, load_status(own, context.thread_id), context))


def _text_task(workspace: Workspace, loaded: LoadedStatus, context: TurnContext) -> TextTask:
    agent, status = context.agent, loaded.status
    bodies = {each.id: each.message.body for each in loaded.messages}
    letters = (each for each in status.messages if agent in each.waiting_for)
    blocks = (*status.refusals, *status.misplaced)
    artifact = loaded.history.state.artifact
    return TextTask(
        context,
        kickoff=bodies.get(context.kickoff or 0, ""),
        recipients=_defaults(workspace, context).recipients,
        artifact=render_artifact(artifact) if context.version else "",
        refused=tuple(each for each in blocks if each.agent == agent),
        critiques=status.critiques,
        letters=tuple((each.message_id, each.sender, bodies[each.message_id]) for each in letters),
    )


def _defaults(workspace: Workspace, context: TurnContext) -> ThreadDefaults:
    operator = workspace.project.operator
    return thread_defaults(workspace.mailbox, context.thread_id, context.agent, operator)


# The answer of a program without tools


class Answer(NamedTuple):
    """The answer as it was checked: its errors if it was not sent, and the corrected message."""

    text: str
    errors: tuple[Diagnostic, ...] = ()
    corrected: str | None = None

    @property
    def is_sent(self) -> bool:
        return not self.errors

    @property
    def reason(self) -> str:
        if self.is_sent:
            return ""
        found = self.errors[0]
        return f"the answer was not sent: {found.id}, {found.message}"


def send_answer(workspace: Workspace, context: TurnContext, text: str) -> Answer:
    """Check the answer of a program without tools, and send it in the agent's name.

    Raise UnavailableError if the store cannot be used.
    """
    workspace, answer = as_agent(workspace, context.agent), _without_fence(text).strip("\n")
    if not answer.strip():
        return Answer(answer, (EMPTY_MESSAGE.at(),))
    try:
        if context.kickoff and _is_pass(answer):
            notes = answer.partition(":")[2].strip()
            acknowledge(workspace.mailbox, context.agent, context.kickoff, ACK_STATUSES[-1], notes)
            return Answer(answer)
        file = _as_message_file(workspace, context, f"{answer}\n")
        outcome = send_text(workspace.mailbox, file, _send_options(workspace, context.agent))
    except RequestError as refused:
        return Answer(answer, (refused.diagnostic,))
    if outcome.sent:
        return Answer(answer)
    errors = tuple(each for each in outcome.report.violations if each.severity is ERROR)
    return Answer(file, errors, outcome.report.corrected)


def correction_prompt(task: str, answer: Answer) -> str:
    return text_correction(task, answer.text, answer.errors, answer.corrected)


def _send_options(workspace: Workspace, agent: str) -> SendOptions:
    project = workspace.project
    return SendOptions(actor=agent, operator=project.operator, project=project)


def _is_pass(answer: str) -> bool:
    """Return whether an answer passes the round: one paragraph that begins with `ACK:`."""
    return answer.lstrip().startswith(PASSING) and "```" not in answer


def _without_fence(text: str) -> str:
    """Return the content of an answer that is one fence around a whole message."""
    blocks = parse_blocks(text.strip())
    if len(blocks) != 1 or blocks[0].kind is not BlockKind.FENCE:
        return text
    return blocks[0].text if blocks[0].info in ("", "markdown", "md", "text") else text


def _as_message_file(workspace: Workspace, context: TurnContext, answer: str) -> str:
    """Return the answer as a message file: headers that are missing are added.

    An answer that does not begin with a header is a body.
    """
    defaults = _defaults(workspace, context)
    given = parse_message_file(answer)
    if "Subject" not in given.headers:
        subject = _delta_subject(workspace, context, answer)
        whole = Message(context.thread_id, context.agent, defaults.recipients, subject, answer)
        return render_message_file(whole)
    known = {
        "Thread": context.thread_id,
        "From": context.agent,
        "To": ", ".join(defaults.recipients),
    }
    missing = (name for name in known if name not in given.headers)
    added = "".join(f"{name}: {known[name]}\n" for name in missing)
    return apply_edits(answer, (TextEdit(0, 0, added),)) if added else answer


def _delta_subject(workspace: Workspace, context: TurnContext, body: str) -> str:
    """Return the subject of a contribution: the first sentence of its text."""
    model = model_shorthand(workspace.mailbox, context.agent, context.thread_id)
    said = next(_paragraphs(body), "")
    description = short_description(said) or f"round {context.round}"
    return compose_subject(DELTA.name, description, model)


def _paragraphs(body: str) -> Iterator[str]:
    """Yield the paragraphs of a body, without fields such as the base version."""
    for block in parse_blocks(body):
        if block.kind is BlockKind.PARAGRAPH and not block.text.startswith("**"):
            yield block.text.partition(". ")[0].partition("\n")[0]


# How a turn ended, in words


def outcome_words(result: TurnResult, report: TurnReport) -> str:
    """Return how a turn ended, in one sentence for its log."""
    counts = f"{result.applied} applied, {result.rejected} rejected"
    messages = ", ".join(map(str, result.messages)) or "none"
    fault = fault_text(report.fault) if report.fault else ""
    reason = (fault or result.reason).removesuffix(".")
    return (
        f"{result.outcome}: messages {messages}; blocks: {counts}; "
        f"{report.seconds:.1f} s; {report.usage.tokens} tokens."
    ) + (f" {reason[0].upper()}{reason[1:]}." if reason else "")


def reason_of(error: BaseException) -> str:
    """Return why something failed, in words without a traceback."""
    if isinstance(error, BrennerError):
        return error.diagnostic.message
    return getattr(error, "strerror", None) or type(error).__name__
