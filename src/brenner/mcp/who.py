"""Who calls one of our own tools, where the call itself need not say so."""

from typing import NamedTuple

from brenner.diagnostics.codes.serving import WHO_ARE_YOU, WRONG_SECRET
from brenner.diagnostics.model import Refused
from brenner.mail.model import Trust
from brenner.mcp.identity import acting
from brenner.mcp.tool import Argument, Call
from brenner.services.identity import kept_digest, name_of_secret

AGENT = Argument("agent", about="your name; may be left out once registered on this connection")
TOKEN = Argument("sender_token")


def agent_of(call: Call) -> str:
    """The name that was given, or the only one that the connection speaks for."""
    given = call.text(AGENT.name).strip()
    if given:
        return given
    names = sorted(call.caller.bindings.names(call.caller.connection) or _of_secret(call))
    if len(names) == 1:
        return names[0]
    raise Refused(WHO_ARE_YOU.at(names=f"{len(names)} names" if names else "nobody"))


class Reader(NamedTuple):
    """Who reads, and how far that is believed.

    `is_proven` also where nobody has a secret: then nobody will show it.
    """

    agent: str
    trust: Trust
    is_proven: bool


def reader_of(call: Call) -> Reader | None:
    """Who reads; None where it is not said, for reading needs no name. A wrong secret is wrong."""
    try:
        agent = agent_of(call)
        trust = acting(call, agent, call.text(TOKEN.name))
    except Refused as refused:
        if refused.diagnostic.code is WRONG_SECRET:
            raise
        return None
    is_claimed = kept_digest(call.desk.mailbox, agent) is not None
    return Reader(agent, trust, trust is Trust.VERIFIED or not is_claimed)


def note_fetched(call: Call, reader: Reader, thread_id: str, version: int) -> None:
    """Note that the reader has this version now.

    What an unproven one has fetched is the base of what the proven one writes only on the very
    same connection: nobody else can choose what her words are about.
    """
    fetched, connection = call.caller.fetched, call.caller.connection
    fetched.note(_believed(reader.agent, reader.trust), thread_id, version)
    if connection is not None:
        fetched.note(_over(reader.agent, connection), thread_id, version)


def last_fetched(call: Call, agent: str, trust: Trust, thread_id: str) -> int | None:
    """What she builds on: the last version that she has fetched, being believed as far as now.

    What came over the same connection is hers, too. Only the latest version is ever fetched, so
    that of two the later is the higher.
    """
    names = [_believed(agent, trust)]
    if call.caller.connection is not None:
        names.append(_over(agent, call.caller.connection))
    found = (call.caller.fetched.last(name, thread_id) for name in names)
    return max((each for each in found if each is not None), default=None)


def _believed(agent: str, trust: Trust) -> str:
    return agent if trust is Trust.VERIFIED else f"{agent} ({trust.value})"


def _over(agent: str, connection: str) -> str:
    return f"{agent} over {connection}"


def _of_secret(call: Call) -> list[str]:
    """The name whose secret came with the connection."""
    secret = call.caller.secret
    name = name_of_secret(call.desk.mailbox, secret) if secret else None
    return [name] if name else []
