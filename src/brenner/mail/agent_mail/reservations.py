"""Files that agents of a server are at work on.

The server grants what is asked for, and tells who else has something of it. It compares patterns
in a way of its own: what we find in common counts, too. It keeps what was reserved twice twice;
here the new one takes the place of the old.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import BrennerError, UnavailableError
from brenner.mail import reservations as reserving
from brenner.mail.agent_mail.client import segment
from brenner.mail.agent_mail.http import MaybeReached
from brenner.mail.agent_mail.mirror import (
    Fields,
    View,
    fields_of,
    list_of,
    number_of,
    text_of,
    time_of,
    understood,
)
from brenner.mail.model import Released, Reservation, ReservationRequest, ReservationResult

_RESERVE = "file_reservation_paths"
_RELEASE = "release_file_reservations"
_UNTOLD = 0  # instead of an id


def reserve(view: View, name: str, wish: ReservationRequest) -> ReservationResult:
    """Reserve files. What is there is read first: once they are reserved, that was done."""
    held = holding(view)
    own = [each for each in held if each.agent == name]
    old = reserving.replaced(wish, own, len(held) - len(own))
    if not wish.patterns:
        return ReservationResult((), ())
    asked = {
        "paths": list(wish.patterns),
        "ttl_seconds": wish.seconds,
        "exclusive": wish.exclusive,
        "reason": wish.reason,
    }
    answer = _told(view, name, _RESERVE, asked, "the reservations")
    with understood(view.client):
        listed = list_of(answer.get("granted"), "`granted`")
        granted = [_granted(each, name, wish) for each in listed]
        conflicts = _conflicts(answer, granted, held)
    if old:
        with suppress(BrennerError):  # they end by themselves
            _release(view, name, old)
    return ReservationResult(tuple(granted), conflicts)


def release(
    view: View, name: str, patterns: Iterable[str] | None, ids: Iterable[int] | None
) -> Released:
    """End reservations. The server knows patterns by their letters, so they go by their ids."""
    own = [each for each in holding(view) if each.agent == name]
    released = [each.id for each in reserving.chosen(own, patterns, ids)]
    if not released:  # a server would take no ids for all of them
        return Released(0, datetime.now(UTC))
    answer = _release(view, name, released)
    with understood(view.client):
        return Released(number_of(answer, "released"), time_of(answer, "released_at"))


def holding(view: View) -> tuple[Reservation, ...]:
    """Those that hold now, the oldest first. A server that reserves nothing lists nothing."""
    if not view.client.offers(_RESERVE):
        what = f"the tool `{_RESERVE}`"
        raise UnavailableError(codes.SERVER_LACKS.at(where=view.client.where, what=what))
    path = f"file_reservations/{segment(view.mail.identity.slug)}"
    document = view.client.read(path, {"active_only": "true"})
    with understood(view.client):
        listed = list_of(document, "the list of reservations")
        return tuple(sorted(map(_listed, listed)))


def _release(view: View, name: str, ids: Iterable[int]) -> Fields:
    return _told(view, name, _RELEASE, {"file_reservation_ids": list(ids)}, "the release")


def _told(view: View, name: str, tool: str, asked: Mapping[str, object], what: str) -> Fields:
    try:
        answer = view.client.call(tool, {**view.acting(name), **asked})
    except MaybeReached as lost:
        raise view.uncertain(lost, what) from lost
    with understood(view.client):
        return fields_of(answer, f"the answer to {tool}")


def _listed(document: object) -> Reservation:
    fields = fields_of(document, "a reservation")
    return _reservation(
        fields,
        number=number_of(fields, "id"),
        agent=text_of(fields, "agent"),
        created_at=time_of(fields, "created_ts"),
    )


def _granted(document: object, name: str, wish: ReservationRequest) -> Reservation:
    fields = fields_of(document, "a reservation")
    begun_at = time_of(fields, "expires_ts") - timedelta(seconds=wish.seconds)
    return _reservation(fields, number_of(fields, "id"), name, begun_at)


def _reservation(fields: Fields, number: int, agent: str, created_at: datetime) -> Reservation:
    return Reservation(
        id=number,
        agent=agent,
        pattern=text_of(fields, "path_pattern"),
        exclusive=fields.get("exclusive") is True,
        reason=text_of(fields, "reason") if fields.get("reason") else "",
        created_at=created_at,
        expires_at=time_of(fields, "expires_ts"),
    )


def _conflicts(
    answer: Fields, granted: list[Reservation], held: tuple[Reservation, ...]
) -> reserving.Conflicts:
    """What we find, and what the server tells besides."""
    found: dict[str, list[Reservation]] = {each.pattern: [] for each in granted}
    for pattern, holders in reserving.conflicts(granted, held):
        found[pattern] += holders
    for each in list_of(answer.get("conflicts") or [], "`conflicts`"):
        fields = fields_of(each, "a conflict")
        known = found.setdefault(text_of(fields, "path"), [])
        told = [_holder(one, held) for one in list_of(fields.get("holders"), "`holders`")]
        known += [one for one in told if one not in known]
    return tuple((pattern, tuple(sorted(known))) for pattern, known in found.items() if known)


def _holder(document: object, held: tuple[Reservation, ...]) -> Reservation:
    """One that we have read, or that has come in between: its id is not told."""
    fields = fields_of(document, "a holder")
    expires_at = time_of(fields, "expires_ts")
    told = _reservation(fields, _UNTOLD, text_of(fields, "agent"), expires_at)
    known = {(each.agent, each.pattern, each.expires_at): each for each in held}
    return known.get((told.agent, told.pattern, told.expires_at), told)
