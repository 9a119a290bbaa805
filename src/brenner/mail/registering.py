"""Who may have which name. Pure: what is known already is an argument."""

from collections.abc import Collection, Iterable

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Refused
from brenner.limits import MOST_PROFILE_BYTES
from brenner.mail.model import Agent, Profile
from brenner.mail.names import name_refusal, suggestions
from brenner.mail.rules import unstorable


def registration(profile: Profile, known: Agent | None, names: Collection[str]) -> Profile:
    """The profile to keep, from what is asked for and what is known under that name already."""
    for what, text in zip(("program", "model", "task"), profile[1:], strict=True):
        found = unstorable(what, text, MOST_PROFILE_BYTES)
        if found:
            raise Refused(found)
    if known:
        return Profile(
            profile.name,
            profile.program or known.program,
            profile.model or known.model,
            profile.task or known.task,
        )
    check_free(profile.name, names)
    return profile


def check_free(name: str, known: Iterable[str]) -> None:
    """A new name is kept as it is or refused, never changed."""
    found = name_refusal(name, known)
    if found:
        raise Refused(found)


def check_same_agent(asked: Profile, known: Agent, names: Collection[str]) -> None:
    """Another program or model under a known name is most often another agent."""
    stated = (asked.program or known.program, asked.model or known.model)
    if (known.program or stated[0], known.model or stated[1]) != stated:
        owner = " ".join(filter(None, (known.program, known.model)))
        others = suggestions(asked.name, names)
        raise Refused(codes.NAME_TAKEN.at(name=asked.name, owner=owner, suggestions=others))
