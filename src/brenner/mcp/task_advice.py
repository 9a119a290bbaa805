"""What to call next: the words of `brenner_task` that an agent acts on. All of them are ours."""

from collections.abc import Iterator

from brenner.protocol.message_types import KICKOFF
from brenner.services.agent_task import Task, Waiting
from brenner.session.model import AWAITED, Phase, Turn

_KICKOFF = "Read the kickoff, message {0}: `resource://message/{0}`."
_SAID = " Its context, excerpt and constraints stand here, too, under `kickoff_says`."
_READ = "Read the artifact: `brenner_artifact`."
_POST = "Contribute with `brenner_post`."
_TURNS = {
    Turn.OWES_DELTA: _POST,
    Turn.OWES_ACK: _POST,
    Turn.TO_CORRECT: "Correct what was refused, and post it again with `brenner_post`.",
    Turn.CONTRIBUTED: "You have contributed in this round. The next version comes by mail.",
    Turn.PASSED: "You have passed in this round. The next version comes by mail.",
    Turn.NOT_ASKED: "Nobody has asked you in this round; what you post counts all the same.",
}


def advice(task: Task) -> Iterator[str]:
    """Step by step, the most urgent first."""
    status, me = task.status, task.me
    turn = me.turn if me else Turn.NOT_ASKED
    if status.phase is Phase.COMPLETE:
        yield "The session is complete: nothing is asked of you any more."
    for each in task.acks:
        number = each.last_message_id
        if each.type == KICKOFF.name:
            is_shown = task.kickoff is not None and task.kickoff.id == number and turn in AWAITED
            yield _KICKOFF.format(number) + (_SAID if is_shown else "")
        yield f"Acknowledge message {number}: `acknowledge_message`."
    if task.refusals and turn is not Turn.TO_CORRECT:
        yield _TURNS[Turn.TO_CORRECT]
    for letter in task.letters:
        yield f"Answer message {letter.message_id} ({letter.type}): `reply_message`."
    if status.phase is Phase.COMPLETE:
        return
    if status.version and turn in (Turn.OWES_ACK, Turn.OWES_DELTA):
        yield _READ
    yield _TURNS[turn]
    if any(each.of for each in task.critiques):
        yield "Answer the critiques of your items: an EDIT that meets them, or a KILL."


def advice_for_all(waiting: tuple[Waiting, ...]) -> list[str]:
    """What to do where several sessions wait, or none."""
    if not waiting:
        return ["No session waits for you. `fetch_inbox` shows your mail."]
    first = waiting[0].overview.thread_id
    return [f'Begin with the first: `brenner_task(thread_id="{first}")`.']
