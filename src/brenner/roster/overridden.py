"""What somebody typed and what another source beats: whoever typed it should know."""

from collections.abc import Iterator, Mapping, Sequence

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.roster.claims import Layer, Origin, Source
from brenner.roster.model import RosterEntry


def overridden(
    layers: Sequence[Layer],
    entries: Sequence[RosterEntry],
    origins: Mapping[str, Origin],
    header: Mapping[str, Layer],
) -> Iterator[Diagnostic]:
    """Each value that somebody typed in one place and that another one beats."""
    won = {entry.agent_name: entry for entry in entries}
    for layer in layers:
        if layer.typed is None:
            continue
        yield from _lost_header(layer, header)
        for entry in layer.stated.entries:
            origin = origins[entry.agent_name]
            if origin != layer.origin and origin.source is not layer.typed:
                yield from _lost_values(entry, won[entry.agent_name], layer.origin, origin)


def _lost_values(
    lost: RosterEntry, won: RosterEntry, from_: Origin, winner: Origin
) -> Iterator[Diagnostic]:
    """The first value of the entry that the winner has otherwise."""
    for field, value, other in zip(RosterEntry._fields[1:], lost[1:], won[1:], strict=True):
        if value is not None and value != other:
            reason = f"{winner.label} says {f'`{other}`' if other else 'nothing of the kind'}"
            flag = f"`--agent-role {lost.agent_name}=ROLE`" if field == "role" else "`--roster`"
            yield no_effect(value, lost.agent_name, from_, reason, flag)
            return


def _lost_header(layer: Layer, header: Mapping[str, Layer]) -> Iterator[Diagnostic]:
    """Its mode and name; a preset's name is nobody's wish."""
    for field in ("mode", "name"):
        value = getattr(layer.stated, field)
        winner = header.get(field, layer)
        is_beaten = winner.origin.source is not layer.typed and winner is not layer
        if value is not None and is_beaten and layer.origin.source is not Source.PRESET:
            other = getattr(winner.stated, field)
            if other != value:
                reason = f"{winner.origin.label} says `{other}`"
                yield no_effect(value, f"the {field}", layer.origin, reason, "`--roster`")


def no_effect(value: str, name: str, origin: Origin, reason: str, flag: str) -> Diagnostic:
    """That a value has none, why, and by which flag it would have."""
    return codes.ROSTER_VALUE_OVERRIDDEN.at(
        value=value, name=name, source=origin.label, reason=reason, flag=flag
    )
