"""Who calls one of our own tools, where the call itself need not say so."""

from brenner.diagnostics.codes.contributing import WHO_ARE_YOU
from brenner.diagnostics.errors import Refused
from brenner.mail.model import Trust
from brenner.mcp.identity import acting
from brenner.mcp.tool import Argument, Call
from brenner.workflows.identity import has_secret

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


def fetched_as(agent: str, trust: Trust) -> str:
    """Under which name it is noted what somebody has fetched.

    What an unproven caller has read is never the base of what the proven one writes.
    """
    return agent if trust is Trust.VERIFIED else f"{agent} ({trust.value})"


def note_fetched(call: Call, thread_id: str, version: int) -> str | None:
    """Note that the caller has this version now; nobody's name where it is not known whose."""
    try:
        agent = agent_of(call)
        trust = acting(call, agent, call.text(TOKEN.name))
    except Refused:  # reading needs no name
        return None
    call.caller.fetched.note(fetched_as(agent, trust), thread_id, version)
    return agent


def _of_secret(call: Call) -> list[str]:
    """The names whose secret came with the connection."""
    secret = call.caller.secret
    if not secret:
        return []
    mailbox = call.desk.mailbox
    return [each.name for each in mailbox.agents() if has_secret(mailbox, each.name, secret)]
