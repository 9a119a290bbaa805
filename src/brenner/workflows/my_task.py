"""What an agent has to do in a session, and in which sessions somebody waits for it."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from brenner.artifact.state import Blame, Source, State
from brenner.mail.mailbox import Ability, Mailbox
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import Posted
from brenner.protocol.roster import Mode
from brenner.session import prompts as unified
from brenner.session.kickoff import PROMPTS
from brenner.session.model import (
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
    Turn,
)
from brenner.session.overview import Overview
from brenner.session.prompts import Prompt
from brenner.session.rebuild import Filed
from brenner.workflows.desk import Desk
from brenner.workflows.round_roster import earlier_kickoffs
from brenner.workflows.session_status import load_status
from brenner.workflows.sessions import overviews

# The most urgent first: what was sent and is lost unless it is corrected, then what nobody has
# heard anything of, then what is only to be done.
_URGENCY = (Turn.TO_CORRECT, Turn.OWES_ACK, Turn.OWES_DELTA)


class Critique(NamedTuple):
    """A critique that is open; `of` are the agent's own items that it names.

    `source` is where its attack comes from, where the mail tells.
    """

    item: OpenCritique
    attack: str
    of: tuple[str, ...]
    source: Source | None


class Task(NamedTuple):
    """What is hers in a session.

    `prompt` is that of her role; None where the session gives her none. `own` are the items that
    she has added. `letters` wait for her; `attacks` are CRITIQUE messages that wait for others.
    `asked` is where the question comes from, where a version tells. `kickoff` is what asks her.
    """

    status: SessionStatus
    me: Participant | None
    prompt: Prompt | None
    own: tuple[str, ...]
    acks: tuple[OpenAck, ...]
    refusals: tuple[Refusal, ...]
    critiques: tuple[Critique, ...]
    letters: tuple[OpenMessage, ...]
    attacks: tuple[OpenMessage, ...]
    asked: Source | None = None
    kickoff: Posted | None = None


class Waiting(NamedTuple):
    """A session that waits for somebody, and for what: her turn, or only ACKs."""

    overview: Overview
    turn: Turn | None
    acks: tuple[int, ...]


def task_in(desk: Desk, agent: str, thread_id: str) -> Task:
    """Her task in a thread; one that nobody has written to is refused."""
    status, chain, messages, *_ = load_status(desk, thread_id)
    me = next((each for each in status.participants if each.name == agent), None)
    own = _own(chain.state.blame, agent)
    roster = earlier_kickoffs(messages).roster
    is_unified = roster is not None and roster.mode == Mode.UNIFIED
    role = (me.role if me else None) or ""
    critiques = _critiques(status, chain.state, own)
    return Task(
        status=status,
        me=me,
        prompt=unified.UNIFIED_PROMPT if is_unified else PROMPTS.get(role),
        own=own,
        acks=tuple(each for each in status.open_acks if each.debtor == agent),
        refusals=tuple(each for each in status.refusals if each.agent == agent),
        critiques=tuple(sorted(critiques, key=lambda each: not each.of)),
        letters=tuple(each for each in status.messages if agent in each.waiting_for),
        attacks=tuple(
            each
            for each in status.of_type(CRITIQUE.name)
            if agent not in each.waiting_for and each.sender != agent
        ),
        asked=_source(chain.state, "RT", "statement"),
        kickoff=_kickoff(me, messages),
    )


def waiting_for(desk: Desk, agent: str) -> tuple[Waiting, ...]:
    """The sessions that wait for her, the most urgent first, and of equals the oldest."""
    found = []
    for overview in overviews(desk).values():
        turn = next((each.turn for each in overview.awaited if each.name == agent), None)
        acks = tuple(each.message_id for each in overview.owed if each.debtor == agent)
        if turn is None and agent in overview.to_correct and overview.phase is not Phase.COMPLETE:
            turn = Turn.TO_CORRECT  # also after the round in which it was refused
        if turn or acks:
            found.append(Waiting(overview, turn, acks))
    return tuple(sorted(found, key=_urgent_first))


def unread_of(mailbox: Mailbox, agent: str) -> int | None:
    """How many messages she has not read; None where the home does not tell."""
    mailbox.agent(agent)
    return None if Ability.READ_MARKS in mailbox.lacks else mailbox.unread(agent)


def _urgent_first(each: Waiting) -> tuple[int, datetime, str]:
    rank = _URGENCY.index(each.turn) if each.turn in _URGENCY else len(_URGENCY)
    return rank, each.overview.last_at, each.overview.thread_id


def _kickoff(me: Participant | None, messages: Iterable[Filed]) -> Posted | None:
    number = me.kickoff if me else None
    return next((each.posted for each in messages if each.posted.id == number), None)


def _own(blame: Blame, agent: str) -> tuple[str, ...]:
    """The items that she has added: whose oldest change is hers."""
    found = []
    for item_id, changes in blame.items():
        firsts = [list(change.history())[-1].source for change in changes.values()]
        if firsts and min(firsts, key=lambda each: each.message_id).agent == agent:
            found.append(item_id)
    return tuple(found)


def _critiques(status: SessionStatus, state: State, own: tuple[str, ...]) -> Iterator[Critique]:
    items = {item.id: item for item in state.artifact.sections[ADVERSARIAL_CRITIQUE.id]}
    for each in status.critiques:
        item = items.get(each.item)
        attack = item.text("attack") if item else ""
        named = ITEM_ID_IN_PROSE.findall(f"{each.name} {attack}")
        of = tuple(dict.fromkeys(name for name in named if name in own))
        yield Critique(each, attack, of, _source(state, each.item, "attack"))


def _source(state: State, item_id: str, field: str) -> Source | None:
    change = state.blame.get(item_id, {}).get((field,))
    return change.source if change else None
