"""Authentication of callers: which agent calls, and how far that is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.codes.serving import WHO_ARE_YOU, WRONG_SECRET
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.mail.mailbox import Capability
from brenner.mcp.tool import Argument, ArgumentKind, Call
from brenner.program_settings import SECRET, SECRET_HEADER
from brenner.protocol.messages import Trust
from brenner.services.identity import (
    has_secret,
    looks_like_secret,
    matches_digest,
    name_of_secret,
    stored_digest,
)
from brenner.services.send_checks import names_matched_by_case

if TYPE_CHECKING:
    from collections.abc import Mapping


def authenticate(call: Call, name: str, token: str = "") -> Trust:
    """Return how far the caller is trusted to be the agent of that name. Raise RequestError if
    not at all. A call that writes uses `authenticate_writer`.

    A wrong secret is always refused. A right one, now or earlier on the same connection, is trusted
    until the name gets a new secret. The connection may carry the secret of another name: one
    program may run several agents.
    """
    caller = call.caller
    if caller.grants is not None:
        return _authenticate_in_run(call, caller.grants, name, token)
    kept = _stored_digest(call, name)
    if token and not matches_digest(kept, token):
        raise RequestError(codes.WRONG_SECRET.at(name=name))
    if kept is not None and (
        token
        or caller.bindings.speaks_for(caller.connection, name, kept)
        or (caller.secret and matches_digest(kept, caller.secret))
    ):
        caller.bindings.bind(caller.connection, name, kept)
        return Trust.VERIFIED
    check_connection(call, name)
    if name == call.workspace.project.operator:
        raise RequestError(
            codes.OPERATOR_NEEDS_SECRET.at(name=name, advice=_advice(call, _OPERATORS))
        )
    if caller.is_strict:
        raise RequestError(codes.SECRET_NEEDED.at(name=name, advice=_advice(call, _SHOW)))
    return Trust.UNVERIFIED


def _authenticate_in_run(
    call: Call, grants: Mapping[str, str], name: str, token: str
) -> Literal[Trust.VERIFIED]:
    """Return that an agent of a run has proven its name: by its secret for the run, or its own.

    Raise RequestError for any other name, that of the operator included.
    """
    check_granted(call, name)
    given = token or call.caller.secret or ""
    digests = (grants[name], _stored_digest(call, name))
    if not any(matches_digest(each, given) for each in digests):
        raise RequestError(codes.WRONG_SECRET.at(name=name))
    call.caller.bindings.bind(call.caller.connection, name, grants[name])
    return Trust.VERIFIED


def check_granted(call: Call, name: str) -> None:
    """Raise RequestError if a name is not the caller's own in a run."""
    if call.caller.grants is None:
        return
    own = name_of_connection(call)
    if own is None or name != own:
        advice = f"Use your own name: {own}." if own else _NOT_IN_RUN
        raise RequestError(codes.SECRET_NEEDED.at(name=name, advice=advice))


def authenticate_writer(call: Call, name: str, token: str = "", *, protects: bool = True) -> Trust:
    """Return how far the caller is trusted to write in that name. Raise RequestError if not at all.

    The first write that carries the name's secret protects the name: from then on all need it. A
    connection that only remembers the secret of a registration does not count, since its agent may
    not have stored the secret. A registration neither protects (`protects`) nor takes a protected
    name over.
    """
    trust, mailbox, caller = authenticate(call, name, token), call.workspace.mailbox, call.caller
    if Capability.SECRETS in mailbox.lacks:
        return trust
    if trust is Trust.VERIFIED:
        is_carried = has_secret(mailbox, name, token or caller.secret or "")
        if protects and is_carried and not mailbox.is_protected(name):
            mailbox.protect(name)
    elif not caller.is_open and mailbox.is_protected(name):
        raise RequestError(codes.NAME_PROTECTED.at(name=name))
    return trust


def check_connection(call: Call, name: str) -> None:
    """Raise RequestError if the connection carries a secret that belongs to no name."""
    secret, mailbox = call.caller.secret, call.workspace.mailbox
    if not secret or not looks_like_secret(secret) or Capability.SECRETS in mailbox.lacks:
        return
    if name_of_connection(call) is None:
        found = codes.WRONG_SECRET.at(name=name)
        raise RequestError(found._replace(fix=_IN_THE_CONNECTION))


def identity_warnings(call: Call, name: str, trust: Trust) -> list[Diagnostic]:
    """Return warnings for a caller that could authenticate and did not.

    Call it before a message is stored: afterwards nothing may fail.
    """
    if trust is Trust.VERIFIED:
        return []
    owner = name_of_connection(call)
    if owner is not None:
        return [codes.OTHER_NAMES_SECRET.at(owner=owner, name=name)]
    is_claimed = stored_digest(call.workspace.mailbox, name) is not None
    return [codes.STORED_UNVERIFIED.at(name=name)] if is_claimed else []


def _stored_digest(call: Call, name: str) -> str | None:
    """Return the digest of the name's secret. For the operator, also before the store knows the
    name.
    """
    try:
        return stored_digest(call.workspace.mailbox, name)
    except RequestError as refused:
        if refused.diagnostic.code != NO_SUCH_AGENT or name != call.workspace.project.operator:
            raise
        return None


def _advice(call: Call, advice: str) -> str:
    """Return what to do, or why the store cannot authenticate."""
    reason = call.workspace.mailbox.lacks.get(Capability.SECRETS)
    return advice if reason is None else _NO_SECRETS.format(reason=reason)


def agent_of(call: Call) -> str:
    """Return the name in the call, or the only name that the connection is authenticated for."""
    given = registered_name(call, AGENT.name)
    if given:
        return given
    names = call.caller.bindings.names(call.caller.connection)
    own = None if names else name_of_connection(call)
    if own or len(names) == 1:
        return own or next(iter(names))
    raise RequestError(WHO_ARE_YOU.at(names=f"{len(names)} names are" if names else "no name is"))


def registered_name(call: Call, argument: str) -> str:
    """Return the caller's name in an argument; in another case it means the registered name."""
    given = call.text(argument).strip()
    name = names_matched_by_case(call.workspace.mailbox, [given]).get(given, given)
    if name:
        check_granted(call, name)
    return name


def reader_of(call: Call) -> tuple[str, Trust, bool] | None:
    """Return the agent that reads, the trust in it, and whether it has proven its name.

    Nothing has to be proven if the name has no secret. Return None if no name is known, or the name
    is refused without its secret. Raise RequestError for a wrong secret.
    """
    try:
        agent = agent_of(call)
        trust = authenticate(call, agent, call.text(TOKEN.name))
    except RequestError as refused:
        if refused.diagnostic.code is WRONG_SECRET:
            raise
        return None
    is_claimed = stored_digest(call.workspace.mailbox, agent) is not None
    return agent, trust, trust is Trust.VERIFIED or not is_claimed


# Arguments by which a call names its agent, and those with a secret
_NAMES = ("agent", "agent_name", "sender_name", "name")
_TOKENS = ("sender_token", "registration_token")


def proven_reader(call: Call) -> str | None:
    """Return the name that the caller has proven for this call, or None (R33).

    A connection that has proven several names must name one of them in the call.
    """
    mailbox, caller = call.workspace.mailbox, call.caller
    if caller.grants is not None:
        return name_of_connection(call)
    for token in filter(None, map(call.text, _TOKENS)):
        return name_of_secret(mailbox, token)
    own = name_of_connection(call)
    proven = {own} if own else set()
    for name in caller.bindings.names(caller.connection):
        digest = _stored_digest(call, name)
        if digest and caller.bindings.speaks_for(caller.connection, name, digest):
            proven.add(name)
    named = {registered_name(call, each) for each in _NAMES} & proven
    candidates = named or proven
    return next(iter(candidates)) if len(candidates) == 1 else None


def note_fetched(call: Call, agent: str, trust: Trust, thread_id: str, version: int) -> None:
    """Record that the reader has fetched this version.

    An unauthenticated reader's version becomes a base for the authenticated agent only on the same
    connection. So no other client can choose what its contributions build on.
    """
    for name in _fetching_names(call, agent, trust):
        call.caller.bindings.note_version(name, thread_id, version)


def last_fetched(call: Call, agent: str, trust: Trust, thread_id: str) -> int | None:
    """Return the version that the agent builds on: the last one it fetched with the same trust.

    Versions fetched over the same connection count, too. Only the latest version is ever fetched,
    so the higher number is the later one.
    """
    names = _fetching_names(call, agent, trust)
    found = (call.caller.bindings.last_version(name, thread_id) for name in names)
    return max((each for each in found if each is not None), default=None)


def _fetching_names(call: Call, agent: str, trust: Trust) -> list[str]:
    by_trust = agent if trust is Trust.VERIFIED else f"{agent} ({trust.value})"
    connection = call.caller.connection
    return [by_trust, *([] if connection is None else [f"{agent} over {connection}"])]


def name_of_connection(call: Call) -> str | None:
    """Return the name that the connection's secret belongs to; in a run, one of its agents."""
    secret, grants = call.caller.secret, call.caller.grants
    if not secret:
        return None
    if grants is None:
        return name_of_secret(call.workspace.mailbox, secret)
    granted = (name for name, digest in grants.items() if matches_digest(digest, secret))
    return next(granted, None)


_NOT_IN_RUN = "The connection has no secret of an agent of this run: set BRENNER_SECRET."


_SHOW = (
    "Pass the secret that you got when you registered, as `sender_token` or `registration_token`. "
    "To claim a free name, call `register_agent`."
)


_OPERATORS = (
    "The operator creates the secret with `brenner agent secret NAME`, and passes it as "
    "`sender_token` or `registration_token`."
)


_IN_THE_CONNECTION = (
    f"The secret of the connection (the header `{SECRET_HEADER}`, or {SECRET}) belongs to no agent "
    "here. It may have been replaced. Pass the right secret in the call, or ask the operator to "
    "correct or remove the secret of the connection."
)


_NO_SECRETS = "The store of this project has no secrets: {reason}."


AGENT = Argument("agent", about="your name; optional once registered on this connection")


TOKEN = Argument("sender_token", about="your registration_token")


# Send a DELTA even if every block of it would be rejected at the next compile
ANYWAY = Argument("anyway", ArgumentKind.FLAG)
