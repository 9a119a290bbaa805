"""Names on a server: it may give another one than was asked for, or take one from somebody."""

from collections.abc import Iterable, Mapping

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Refused, Unavailable
from brenner.mail import registering
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.failures import MaybeReached
from brenner.mail.agent_mail.items import UNSAID, agent_of, fields_of
from brenner.mail.agent_mail.project_mail import elsewhere, understood
from brenner.mail.agent_mail.view import View
from brenner.mail.model import Agent, Profile, Registered
from brenner.mail.names import suggestions


def register(view: View, profile: Profile, *, update: bool) -> Registered:
    """Make a name known as our own rules have it, and as the server does."""
    view.refresh()
    known = view.registered.get(profile.name)
    if known and not update:
        registering.check_same_agent(profile, known, view.registered)
    kept = registering.registration(profile, known, view.registered)
    if known and not update and kept == known[:4]:
        return Registered(known, known)
    if not known and not update:
        check_at_home(view, [profile.name])
    return Registered(introduce(view, kept), known)


def check_at_home(view: View, names: Iterable[str]) -> None:
    """A server that keeps names for all projects would take it from the one that has it."""
    _refuse_first(view.client, view.mail.elsewhere(names), view.registered)


def check_new_name(client: Client, name: str) -> None:
    """The same for a project that is not there yet."""
    _refuse_first(client, elsewhere(client, [name], None), ())


def _refuse_first(client: Client, places: Mapping[str, str], known: Iterable[str]) -> None:
    for name, project in places.items():
        found = codes.NAME_ELSEWHERE.at(
            where=client.where,
            name=name,
            project=project,
            suggestions=suggestions(name, {*known, name}),
        )
        raise Refused(found)


def introduce(view: View, profile: Profile) -> Agent:
    """Register a name; the one that comes back must be that one."""
    try:
        answer = view.client.call("register_agent", _arguments(view, profile))
    except MaybeReached as lost:
        return _looked_for(view, profile, lost)
    with understood(view.client):
        agent = agent_of(answer)
        token = fields_of(answer, "an agent").get("registration_token")
    if agent.name != profile.name:
        found = codes.NAME_ALTERED.at(where=view.client.where, name=profile.name, given=agent.name)
        raise Refused(found)
    if isinstance(token, str):
        view.tokens.keep(agent.name, token)
    return agent


def _looked_for(view: View, profile: Profile, lost: MaybeReached) -> Agent:
    """Whether it was registered though the answer got lost."""
    try:
        view.refresh()
    except Unavailable:
        raise view.uncertain(lost, f"the name `{profile.name}`") from lost
    agent = view.registered.get(profile.name)
    if agent is None or agent[:4] != profile:
        raise lost if lost.has_ended else view.uncertain(lost, f"the name `{profile.name}`")
    return agent


def _arguments(view: View, profile: Profile) -> dict[str, object]:
    """Servers want a program and a model, of people too."""
    return {
        "project_key": view.mail.identity.key,
        "program": profile.program or UNSAID,
        "model": profile.model or UNSAID,
        "name": profile.name,
        "task_description": profile.task,
        "registration_token": view.tokens.of(profile.name),
    }
