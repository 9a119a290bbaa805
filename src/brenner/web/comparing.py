"""Which two versions a visit compares, and what changed since this browser's last look."""

from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.diagnostics.codes.artifacts import UNKNOWN_VERSION
from brenner.diagnostics.model import Refused
from brenner.protocol.messages import iso
from brenner.services.versions import Side, side_of_nothing
from brenner.web import links
from brenner.web.looks import SEEN, Look, seen
from brenner.web.reading import Session
from brenner.web.visit import Visit


class Asked(NamedTuple):
    """The numbers of the two versions, and the look that the first one is from."""

    old: int
    new: int
    look: Look | None = None


def numbers_of(session: Session) -> tuple[int, ...]:
    """The versions that there are; an adopted thread may begin with any."""
    return tuple(version.number for version in session.chain.versions)


def before(session: Session, number: int) -> int:
    """The version before that one; before the first there is only the empty artifact."""
    return max((each for each in numbers_of(session) if each < number), default=0)


def side(session: Session, number: int) -> Side:
    """A version to compare; who set what in it is not worked out."""
    if number == 0:
        return side_of_nothing(session.thread_id)
    if number == session.chain.number:
        return Side(number, session.chain.state.artifact)
    known = session.ledgers.get(number)
    if known is None or known.artifact is None:
        raise _unknown(session, str(number))
    return Side(number, known.artifact)


def asked_pair(visit: Visit) -> Asked:
    """The two that were asked for; else the latest, and the one before it.

    With `since=look` the first is what this browser saw in its previous sitting.
    """
    session = visit.session
    latest = session.chain.number
    look = seen(visit) if visit.asked.get("since") == "look" else None
    if look:
        return Asked(look.version, latest, look)
    new = _asked(visit, "to")
    old = _asked(visit, "from")
    new = latest if new is None else new
    return Asked(before(session, new) if old is None else old, new)


def _asked(visit: Visit, name: str) -> int | None:
    """The version that an address names, `2` or `v2`; one that does not exist is refused."""
    text = visit.asked.get(name, "").strip()
    if not text:
        return None
    session = visit.session
    known = numbers_of(session)
    digits = text.removeprefix("v")
    if digits.isascii() and digits.isdigit() and int(digits[:_MOST_DIGITS]) in (0, *known):
        return int(digits)
    raise _unknown(session, digits)


_MOST_DIGITS = 9


def _unknown(session: Session, version: str) -> Refused:
    known = _known(numbers_of(session))
    words = {"thread_id": session.thread_id, "version": version, "known": known}
    return Refused(UNKNOWN_VERSION.at(None, **words))


def _known(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return "there is none yet"
    if len(numbers) == 1:
        return f"there is only v{numbers[0]}"
    return f"there are v{numbers[0]} to v{numbers[-1]}"


def look_document(visit: Visit) -> dict[str, object] | None:
    """What this browser saw when it last looked, and how many items have changed since."""
    look, session = seen(visit), visit.session
    if look is None:
        return None
    latest = session.chain.number
    changed = 0 if look.version == latest else _changed(session, look.version, latest)
    return {
        "version": look.version,
        "latest": latest,
        "at": iso(look.at),
        "changed": changed,
        "link": links.session(session.thread_id, "diff", since="look"),
        "seen": seen_link(session),
    }


def seen_link(session: Session) -> str:
    """Where one says that one has seen all up to the latest version."""
    return links.session(session.thread_id, "versions", **{SEEN: session.chain.number})


def _changed(session: Session, old: int, new: int) -> int:
    return len(diff(side(session, old).artifact, side(session, new).artifact).items)
