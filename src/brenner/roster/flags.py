"""The roles that a command line gives, agent by agent."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.roster.model import Mode, RosterEntry, Stated
from brenner.roster.sources import Layer, Origin, Source

Recipient = tuple[str, str | None]  # `--to NAME`, and the `--role` after it


class _Given(NamedTuple):
    """A role as it was typed."""

    name: str
    role: str
    words: str


def flag_layers(
    recipients: Iterable[Recipient], agent_roles: Iterable[str], *, unified: bool
) -> tuple[tuple[Layer, ...], tuple[Diagnostic, ...]]:
    """What the flags say, highest first, and what is wrong with them.

    `--to NAME --role ROLE` and `--agent-role NAME=ROLE` say the same; neither beats the other.
    """
    by_role = [_Given(n, role, f"--to {n} --role {role}") for n, role in recipients if role]
    pairs, found = _pairs(agent_roles)
    mode = Stated(mode=Mode.UNIFIED.value) if unified else Stated()
    layers = (
        _layer("`--role`", Stated(_entries(by_role)))._replace(names="`--to`"),
        _layer("`--agent-role`", Stated(_entries(pairs))),
        _layer("`--unified`", mode),
    )
    said = tuple(layer for layer in layers if layer.stated != Stated())
    return said, (*found, *_contradictions([*by_role, *pairs]))


def _layer(label: str, stated: Stated) -> Layer:
    return Layer(Origin(Source.FLAGS, label), stated, Source.FLAGS)


def _pairs(agent_roles: Iterable[str]) -> tuple[list[_Given], list[Diagnostic]]:
    pairs, found = [], []
    for text in agent_roles:
        name, equals, role = text.partition("=")
        if equals:
            pairs.append(_Given(name.strip(), role.strip(), f"--agent-role {text}"))
        else:
            reason = f"`{text}` is not of the form NAME=ROLE"
            found.append(codes.MALFORMED_ROSTER.at(source="`--agent-role`", reason=reason))
    return pairs, found


def _entries(given: Iterable[_Given]) -> tuple[RosterEntry, ...]:
    """One entry for each agent: to say the same twice is no fault."""
    first: dict[str, RosterEntry] = {}
    for each in given:
        first.setdefault(each.name, RosterEntry(each.name, each.role))
    return tuple(first.values())


def _contradictions(given: Sequence[_Given]) -> list[Diagnostic]:
    """Each role that is not the first one that was given to its agent."""
    first: dict[str, _Given] = {}
    for each in given:
        first.setdefault(each.name, each)
    return [
        codes.CONTRADICTING_ROLES.at(
            name=each.name, first=first[each.name].words, second=each.words
        )
        for each in given
        if each.role != first[each.name].role
    ]
