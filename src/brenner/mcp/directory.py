"""Agents as tools and resources answer them, in the form of Agent Mail."""

from collections.abc import Iterable
from datetime import UTC, datetime

from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import Agent
from brenner.mail.search import Query
from brenner.mcp.project_key import PROJECT_ID


def written(at: datetime) -> str:
    """A time as every answer has it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def numbers(agents: Iterable[Agent]) -> dict[str, int]:
    """The number of each agent: the how manieth it was to register."""
    by_age = sorted(agents, key=lambda agent: (agent.registered_at, agent.name))
    return {agent.name: number for number, agent in enumerate(by_age, 1)}


def agent_shape(agent: Agent, number: int = 0, last: datetime | None = None) -> dict[str, object]:
    """One agent. It was active when it sent something last, or registered: more is not known.

    The number 0 is for who cannot be told among the others just now.
    """
    active = max(agent.registered_at, last or agent.registered_at)
    return {
        "id": number,
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task,
        "inception_ts": written(agent.registered_at),
        "last_active_ts": written(active),
        "project_id": PROJECT_ID,
        "attachments_policy": "auto",
        "contact_policy": "auto",
        "is_active": True,
        "deleted_ts": None,
        "is_placeholder": False,
    }


def last_sent(mailbox: Mailbox, name: str) -> datetime | None:
    """When somebody sent something last."""
    sent = mailbox.search(Query(senders=(name,)), limit=1).messages
    return sent[0].at if sent else None


def one(mailbox: Mailbox, agent: Agent) -> dict[str, object]:
    """One agent with its number among all."""
    number = numbers(mailbox.agents())[agent.name]
    return agent_shape(agent, number, last_sent(mailbox, agent.name))


def everybody(mailbox: Mailbox, *, with_unread: bool = False) -> list[dict[str, object]]:
    """All agents, who was active last first.

    How much somebody has not read is left out where the home does not tell.
    """
    agents = mailbox.agents()
    known = numbers(agents)
    tells = with_unread and Ability.READ_MARKS not in mailbox.lacks
    shapes = [
        agent_shape(agent, known[agent.name], last_sent(mailbox, agent.name))
        | ({"unread_count": mailbox.unread(agent.name)} if tells else {})
        for agent in agents
    ]
    return sorted(shapes, key=lambda shape: str(shape["last_active_ts"]), reverse=True)
