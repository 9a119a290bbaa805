"""What somebody is told who has registered: how to stay believed, and who else she might be."""

from collections.abc import Iterator
from itertools import islice

from brenner.diagnostics.model import BrennerError
from brenner.mail.search import Query
from brenner.mcp.registering import Registration
from brenner.mcp.tool import Call
from brenner.protocol.message_types import KICKOFF
from brenner.services.identity import kept_digest

_KEEP = (
    "Keep registration_token: it is shown this once. With it your messages are verified: pass it "
    "in every call, as `sender_token` to send and as `registration_token` in other tools"
)
_REMEMBERED = ", unless it comes over this very connection, which knows you by now."
_UNVERIFIED = (
    "No secret of the name was shown: what you send is marked as unverified, and what is known of "
    "the name is what you see here."
)
_MOST_KICKOFFS, _MOST_NAMES = 50, 10


def note(call: Call, registered: Registration, *, was_named: bool) -> str:
    """What goes with the answer; empty where there is nothing to say."""
    said = [_believed(call, registered)]
    if registered.near:
        said.append(f"There is {registered.near}, too; if you are it, register that name.")
    if registered.secret is not None and not was_named:
        said.append(_awaited(call, registered.agent.name))
    return " ".join(filter(None, said))


def _believed(call: Call, registered: Registration) -> str:
    if registered.secret is not None:
        return _KEEP + ("." if call.caller.connection is None else _REMEMBERED)
    return "" if registered.is_verified else _UNVERIFIED


def _awaited(call: Call, name: str) -> str:
    """Who is waited for; what cannot be looked up is left out, for the secret has to be told."""
    try:
        others = (each for each in _unclaimed(call) if each != name)
        names = sorted(islice(others, _MOST_NAMES))
    except BrennerError:
        return ""
    if not names:
        return ""
    listed = ", ".join(names)
    return f"A session waits for {listed}; if you are one of them, register that name."


def _unclaimed(call: Call) -> Iterator[str]:
    """Those whom a kickoff has asked, and whose names nobody has claimed."""
    mailbox = call.desk.mailbox
    known = {each.name for each in mailbox.agents()}
    kickoffs = mailbox.search(Query(types=(KICKOFF.name,)), limit=_MOST_KICKOFFS).messages
    asked = dict.fromkeys(name for each in kickoffs for name in each.message.recipients)
    others = (name for name in asked if name in known and name != call.desk.project.operator)
    return (name for name in others if kept_digest(mailbox, name) is None)
