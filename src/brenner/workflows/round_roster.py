"""Whom a later round asks: as the session's own roster has it, unless somebody says otherwise."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from brenner.artifact.merge.resolve import Kickoff, read_posted
from brenner.diagnostics.codes.sessions import LEFT_OUT_OF_ROUND, ROSTER_PASSED_OVER
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.roster import Roster, validate_roster
from brenner.protocol.roster_resolve import Resolved, Source
from brenner.session.participants import letters
from brenner.session.rebuild import Filed
from brenner.workflows.desk import Desk
from brenner.workflows.rosters import RosterWish, resolve_roster

_SAID = frozenset({Source.FLAGS, Source.ENVIRONMENT})  # whoever is named there is meant


class Earlier(NamedTuple):
    """What the kickoffs of a thread have said so far: its roster, and everybody whom they asked.

    `found` is about rosters that cannot be used.
    """

    roster: Roster | None
    asked: tuple[str, ...]
    found: tuple[Diagnostic, ...] = ()


def earlier_kickoffs(messages: Iterable[Filed]) -> Earlier:
    """The roster of the latest kickoff that has one (R15), and all recipients, in their order.

    Anybody can send a kickoff. One with a faulty roster does not stop the session.
    """
    kickoffs = [each for each in letters(messages) if each.type == KICKOFF.name]
    asked = dict.fromkeys(
        name for each in kickoffs for name in each.message.recipients if name != each.message.sender
    )
    found: list[Diagnostic] = []
    for each in reversed(kickoffs):
        brought = read_posted(each.filed.posted)
        if not isinstance(brought, Kickoff) or brought.roster is None:
            continue
        faults = validate_roster(brought.roster).violations
        errors = [fault for fault in faults if fault.severity is ERROR]
        if not errors:
            return Earlier(brought.roster, tuple(asked), tuple(found))
        found.append(ROSTER_PASSED_OVER.at(id=each.id, reason=errors[0].message.rstrip(".")))
    return Earlier(None, tuple(asked), tuple(found))


def round_roster(desk: Desk, earlier: Earlier, wish: RosterWish) -> Resolved:
    """The roster of the round, and its recipients.

    Without `--to` those of the roster are asked whom a kickoff of the session has asked before,
    and whom flags or environment name. Without any roster, all whom a kickoff has asked.
    """
    wish = wish._replace(session=wish.session or earlier.roster)
    if wish.recipients:
        return resolve_roster(desk.project, os.environ, wish)
    first = resolve_roster(desk.project, os.environ, wish)
    asked = [name for name in earlier.asked if name != desk.actor]
    named = [name for name in first.recipients if name in asked or _is_said(first, name)]
    recipients = named or list(first.recipients if earlier.roster else ()) or asked
    if first.errors or not recipients:
        return first
    to_all = wish._replace(recipients=tuple((name, None) for name in recipients))
    resolved = resolve_roster(desk.project, os.environ, to_all)
    left_out = [name for name in first.recipients if name not in (*recipients, desk.actor)]
    if not left_out:
        return resolved
    told = LEFT_OUT_OF_ROUND.at(names=", ".join(left_out))
    return resolved._replace(diagnostics=(*resolved.diagnostics, told))


def _is_said(resolved: Resolved, name: str) -> bool:
    origin = resolved.origins.get(name)
    return origin is not None and origin.source in _SAID
