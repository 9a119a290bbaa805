"""File reservations on an Agent Mail server.

The server grants every request and reports conflicts by its own comparison of patterns; ours are
added. The server stores a repeated reservation twice; here the new one replaces the old one.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import BrennerError, UnavailableError
from brenner.mail import reservations as reservation_rules
from brenner.mail.agent_mail.client import path_segment
from brenner.mail.agent_mail.http import MaybeSentError
from brenner.mail.agent_mail.mirror import (
    Fields,
    ProjectView,
    as_list,
    as_object,
    get_int,
    get_text,
    get_time,
    invalid_as_unavailable,
)
from brenner.mail.model import ReleaseResult, Reservation, ReservationRequest, ReservationResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RESERVE = "file_reservation_paths"
_RELEASE = "release_file_reservations"
_UNKNOWN_ID = 0  # the server does not report the id


def reserve(view: ProjectView, name: str, request: ReservationRequest) -> ReservationResult:
    """Reserve files. Existing reservations are read first: after the call the change is made."""
    held = active_reservations(view)
    own = [each for each in held if each.agent == name]
    old = reservation_rules.replaced_ids(request, own, len(held) - len(own))
    if not request.patterns:
        return ReservationResult((), ())
    arguments = {
        "paths": list(request.patterns),
        "ttl_seconds": request.seconds,
        "exclusive": request.exclusive,
        "reason": request.reason,
    }
    answer = _call(view, name, _RESERVE, arguments, "the reservations")
    with invalid_as_unavailable(view.client):
        listed = as_list(answer.get("granted"), "`granted`")
        granted = [_parse_granted(each, name, request) for each in listed]
        conflicts = _all_conflicts(answer, granted, held)
    if old:
        with suppress(BrennerError):  # they expire anyway
            _release(view, name, old)
    return ReservationResult(tuple(granted), conflicts)


def release(
    view: ProjectView, name: str, patterns: Iterable[str] | None, ids: Iterable[int] | None
) -> ReleaseResult:
    """End reservations, by id: the server compares patterns as plain text."""
    own = [each for each in active_reservations(view) if each.agent == name]
    released = [each.id for each in reservation_rules.select_to_release(own, patterns, ids)]
    if not released:  # without ids a server would release all
        return ReleaseResult(0, datetime.now(UTC))
    answer = _release(view, name, released)
    with invalid_as_unavailable(view.client):
        return ReleaseResult(get_int(answer, "released"), get_time(answer, "released_at"))


def active_reservations(view: ProjectView) -> tuple[Reservation, ...]:
    """Return the reservations that have not expired, oldest first.

    Raise UnavailableError if the server has no reservations: its list would be empty.
    """
    if not view.client.offers(_RESERVE):
        what = f"the tool `{_RESERVE}`"
        raise UnavailableError(codes.SERVER_LACKS.at(where=view.client.where, what=what))
    path = f"file_reservations/{path_segment(view.slug)}"
    document = view.client.read(path, {"active_only": "true"})
    with invalid_as_unavailable(view.client):
        listed = as_list(document, "the list of reservations")
        return tuple(sorted(map(_parse_listed, listed)))


def _release(view: ProjectView, name: str, ids: Iterable[int]) -> Fields:
    return _call(view, name, _RELEASE, {"file_reservation_ids": list(ids)}, "the release")


def _call(
    view: ProjectView, name: str, tool: str, arguments: Mapping[str, object], what: str
) -> Fields:
    try:
        answer = view.client.call(tool, {**view.actor_arguments(name), **arguments})
    except MaybeSentError as lost:
        raise view.unknown_outcome(lost, what) from lost
    with invalid_as_unavailable(view.client):
        return as_object(answer, f"the answer to {tool}")


def _parse_listed(document: object) -> Reservation:
    fields = as_object(document, "a reservation")
    return _parse_reservation(
        fields,
        number=get_int(fields, "id"),
        agent=get_text(fields, "agent"),
        created_at=get_time(fields, "created_ts"),
    )


def _parse_granted(document: object, name: str, request: ReservationRequest) -> Reservation:
    fields = as_object(document, "a reservation")
    begun_at = get_time(fields, "expires_ts") - timedelta(seconds=request.seconds)
    return _parse_reservation(fields, get_int(fields, "id"), name, begun_at)


def _parse_reservation(
    fields: Fields, number: int, agent: str, created_at: datetime
) -> Reservation:
    return Reservation(
        id=number,
        agent=agent,
        pattern=get_text(fields, "path_pattern"),
        exclusive=fields.get("exclusive") is True,
        reason=get_text(fields, "reason") if fields.get("reason") else "",
        created_at=created_at,
        expires_at=get_time(fields, "expires_ts"),
    )


def _all_conflicts(
    answer: Fields, granted: list[Reservation], held: tuple[Reservation, ...]
) -> reservation_rules.Conflicts:
    """Return our conflicts, and those that only the server reports."""
    found: dict[str, list[Reservation]] = {each.pattern: [] for each in granted}
    for pattern, holders in reservation_rules.find_conflicts(granted, held):
        found[pattern] += holders
    for each in as_list(answer.get("conflicts") or [], "`conflicts`"):
        fields = as_object(each, "a conflict")
        known = found.setdefault(get_text(fields, "path"), [])
        reported = [_parse_holder(one, held) for one in as_list(fields.get("holders"), "`holders`")]
        known += [one for one in reported if one not in known]
    return tuple((pattern, tuple(sorted(known))) for pattern, known in found.items() if known)


def _parse_holder(document: object, held: tuple[Reservation, ...]) -> Reservation:
    """Return a known reservation, or a newer one, whose id the server does not report."""
    fields = as_object(document, "a holder")
    expires_at = get_time(fields, "expires_ts")
    reported = _parse_reservation(fields, _UNKNOWN_ID, get_text(fields, "agent"), expires_at)
    known = {(each.agent, each.pattern, each.expires_at): each for each in held}
    return known.get((reported.agent, reported.pattern, reported.expires_at), reported)
