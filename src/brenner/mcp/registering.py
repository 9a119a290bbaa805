"""Names for agents: who comes first gets a secret with it, and nobody is given another's name."""

import secrets
from collections.abc import Mapping
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.mail import INVALID_NAME, NAME_TAKEN
from brenner.diagnostics.model import BrennerError, Refused
from brenner.limits import MOST_AGENTS
from brenner.mail.mailbox import Ability
from brenner.mail.model import Agent, Profile, Trust
from brenner.mail.rules import check_same_agent, fresh_name, name_refusal, registration, suggestions
from brenner.mcp.identity import acting, check_connection
from brenner.mcp.project_key import slug
from brenner.mcp.tool import Call
from brenner.services.identity import claim, digest_of, kept_digest, name_of_secret
from brenner.text import nearest

_TAKEN = (
    "If you are {name}: show the secret of the name as `registration_token`; if it is lost, the "
    "operator makes a new one: `brenner agent secret {name} --new`. Otherwise register another "
    "name, such as {suggestions}."
)
_NOTHING_SAID = "one that has named no program"
_COLLECTOR = "it is what Agent Mail calls the one who gets a copy of everything"
_MOST_TRIES = 20


class Registration(NamedTuple):
    """An agent under its name. The secret is there only for who has claimed the name just now.

    `failed` is why the profile could not be kept, where the name was claimed all the same. `near`
    is a name that was there before and is nearly that of who is new.
    """

    agent: Agent
    is_verified: bool
    secret: str | None = None
    failed: BrennerError | None = None
    near: str = ""

    def __repr__(self) -> str:
        return f"Registration({self.agent.name}, is_verified={self.is_verified})"


def register(call: Call, profile: Profile, token: str = "") -> Registration:
    """Register a name as asked for, or not at all; without a name, that of the secret that came
    with the connection, else a new one.

    A name that nobody has claimed is claimed: also one that a session was started with. Without
    its secret, one that is claimed can only be registered as it is, and stays so.
    """
    if not profile.name:
        own = _of_the_connection(call)
        if own is None:
            return register_new(call, profile)
        profile = profile._replace(name=own)
    known = _known(call)
    if profile.name != call.desk.project.operator:
        first = _first(call, profile, token, known)
        if first:
            return first
    trust = acting(call, profile.name, token)
    try:
        agent = _again(call, profile, trust)
    except Refused as refused:
        if refused.diagnostic.code != NAME_TAKEN:
            raise
        raise _taken(call, profile.name) from None
    return Registration(agent, trust is Trust.VERIFIED)


def _of_the_connection(call: Call) -> str | None:
    """Who has shown a secret with the connection is somebody already."""
    secret = call.caller.secret
    return name_of_secret(call.desk.mailbox, secret) if secret else None


def _again(call: Call, profile: Profile, trust: Trust) -> Agent:
    """Who is registered already, with what she says of herself now, if it is she who says it.

    Of a name that has a secret nobody changes anything without it: others go by what they read.
    """
    mailbox = call.desk.mailbox
    if trust is not Trust.VERIFIED and kept_digest(mailbox, profile.name) is not None:
        agent = mailbox.agent(profile.name)
        check_same_agent(profile, agent, _known(call))
        return agent
    return mailbox.register(profile, update=trust is Trust.VERIFIED).agent


def register_new(call: Call, profile: Profile) -> Registration:
    """Register a name that nobody has: the one asked for, else one of ours.

    Of two who are given the same one in the same moment, one tries again.
    """
    if profile.name:
        if profile.name == call.desk.project.operator:
            acting(call, profile.name)
        added = None if profile.name in _known(call) else _added(call, profile)
        if added is None:
            raise _taken(call, profile.name)
        return added
    for _ in range(_MOST_TRIES):
        name = fresh_name((*_known(call), call.desk.project.operator), secrets.token_hex())
        added = _added(call, profile._replace(name=name))
        if added:
            return added
    raise _taken(call, name)


def _first(
    call: Call, profile: Profile, token: str, known: Mapping[str, Agent]
) -> Registration | None:
    """The registration of who is the first to claim a name; None where it is claimed already."""
    mailbox, name = call.desk.mailbox, profile.name
    is_claimed = name in known and kept_digest(mailbox, name) is not None
    if token and not is_claimed:
        raise Refused(codes.WRONG_SECRET.at(name=name))
    if name not in known:
        added = _added(call, profile)
        near = nearest(name, known, 1) or ""
        return added._replace(near=near) if added else None
    if is_claimed:
        return None
    check_connection(call, name)
    # What cannot be kept is refused before the name is claimed: the secret would be lost.
    registration(profile, known[name], known)
    secret = _claimed(call, name)
    if secret is None:
        return None
    try:
        agent = mailbox.register(profile, update=True).agent
    except BrennerError as error:
        return Registration(known[name], is_verified=True, secret=secret, failed=error)
    return Registration(agent, is_verified=True, secret=secret)


def _added(call: Call, profile: Profile) -> Registration | None:
    """The registration of a name that nobody has; None where somebody has it by now."""
    mailbox = call.desk.mailbox
    _check_new(call, profile.name)
    check_connection(call, profile.name)
    has_secrets = Ability.SECRETS not in mailbox.lacks
    if not has_secrets:
        acting(call, profile.name)  # where nobody is believed without one, nobody comes in
    try:
        agent, before = mailbox.register(profile)
    except Refused as refused:
        if refused.diagnostic.code != NAME_TAKEN:
            raise
        return None
    secret = None if before else _claimed(call, profile.name)
    if before or (has_secrets and secret is None):
        return None
    return Registration(agent, secret is not None, secret)


def _claimed(call: Call, name: str) -> str | None:
    """The secret of a name that nobody had claimed; from now on the connection speaks for it."""
    secret = claim(call.desk.mailbox, name)
    if secret is not None:
        call.caller.bindings.bind(call.caller.connection, name, digest_of(secret))
    return secret


def _check_new(call: Call, name: str) -> None:
    """Refuse what cannot be a name beside the known ones, and the operator's, known or not."""
    names = {*_known(call), call.desk.project.operator}
    if len(names) > MOST_AGENTS:
        raise Refused(codes.TOO_MANY_AGENTS.at(most=MOST_AGENTS))
    found = name_refusal(name, names)
    if found is None and name == f"global-inbox-{slug(call.desk.project)}":
        others = suggestions("", names)
        found = INVALID_NAME.at(name=name, reason=_COLLECTOR, suggestions=others)
    if found:
        raise Refused(found)


def _known(call: Call) -> dict[str, Agent]:
    return {agent.name: agent for agent in call.desk.mailbox.agents()}


def _taken(call: Call, name: str) -> Refused:
    """Who has a name keeps it, and others are told what else to call themselves."""
    known = _known(call)
    others = suggestions(name, {*known, call.desk.project.operator})
    owner = " ".join(filter(None, known[name][1:3])) if name in known else ""
    found = NAME_TAKEN.at(name=name, owner=owner or _NOTHING_SAID, suggestions=others)
    return Refused(found._replace(fix=_TAKEN.format(name=name, suggestions=others)))
