"""Who acts: how far it is believed that a caller is the one whom it names."""

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.mail.mailbox import Ability
from brenner.mail.model import Trust
from brenner.mcp.tool import Call
from brenner.services.identity import (
    SECRET,
    SECRET_HEADER,
    is_like_a_secret,
    is_secret_of,
    kept_digest,
    name_of_secret,
)

_SHOW = (
    "Show the secret that registering gave you, as `sender_token` or `registration_token`. A name "
    "that nobody has claimed is claimed by `register_agent`."
)
_OPERATORS = (
    "The operator makes the secret with `brenner agent secret`, and shows it as `sender_token` or "
    "`registration_token`."
)
_IN_THE_CONNECTION = (
    f"The secret that came with the connection (the header `{SECRET_HEADER}`, or {SECRET}) is "
    "nobody's here; perhaps it was replaced. Show the right one in the call, or tell the operator: "
    "what comes with the connection has to be your own secret, or nothing."
)
_NO_SECRETS = "The store of this project keeps no secrets: {reason}."


def acting(call: Call, name: str, token: str = "") -> Trust:
    """How far the caller is believed to be the one of that name; where not at all, it is refused.

    A secret that is wrong is always refused. One that is right, now or earlier on the same
    connection, is believed as long as it is the name's: a new one ends what the old one began.
    With a connection may come the secret of another name: one program may run several agents.
    """
    kept = _kept(call, name)
    caller = call.caller
    if token and not is_secret_of(kept, token):
        raise Refused(codes.WRONG_SECRET.at(name=name))
    if kept is not None and (
        token
        or caller.bindings.speaks_for(caller.connection, name, kept)
        or (caller.secret and is_secret_of(kept, caller.secret))
    ):
        caller.bindings.bind(caller.connection, name, kept)
        return Trust.VERIFIED
    check_connection(call, name)
    if name == call.desk.project.operator:
        raise Refused(codes.OPERATOR_NEEDS_SECRET.at(name=name, advice=_advice(call, _OPERATORS)))
    if caller.is_strict:
        raise Refused(codes.SECRET_NEEDED.at(name=name, advice=_advice(call, _SHOW)))
    return Trust.UNVERIFIED


def check_connection(call: Call, name: str) -> None:
    """Refuse who shows a secret with the connection that nobody has: she wants to be believed."""
    secret, mailbox = call.caller.secret, call.desk.mailbox
    if not secret or not is_like_a_secret(secret) or Ability.SECRETS in mailbox.lacks:
        return
    if name_of_secret(mailbox, secret) is None:
        found = codes.WRONG_SECRET.at(name=name)
        raise Refused(found._replace(fix=_IN_THE_CONNECTION))


def doubts(call: Call, name: str, trust: Trust) -> list[Diagnostic]:
    """What to tell somebody who is not believed, though she could be.

    It is asked before a message is stored: afterwards nothing may fail.
    """
    mailbox, secret = call.desk.mailbox, call.caller.secret
    if trust is Trust.VERIFIED:
        return []
    owner = name_of_secret(mailbox, secret) if secret else None
    if owner is not None:
        return [codes.OTHER_NAMES_SECRET.at(owner=owner, name=name)]
    is_claimed = kept_digest(mailbox, name) is not None
    return [codes.STORED_UNVERIFIED.at(name=name)] if is_claimed else []


def _kept(call: Call, name: str) -> str | None:
    """What is kept of the name's secret; of the operator's, also before a store knows her."""
    try:
        return kept_digest(call.desk.mailbox, name)
    except Refused as refused:
        if refused.diagnostic.code != NO_SUCH_AGENT or name != call.desk.project.operator:
            raise
        return None


def _advice(call: Call, advice: str) -> str:
    """What to do, or why nothing can be done."""
    reason = call.desk.mailbox.lacks.get(Ability.SECRETS)
    return advice if reason is None else _NO_SECRETS.format(reason=reason)
