"""What is to be said of references: that one leads nowhere, in a circle, or to a killed item."""

from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence
from functools import cached_property

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Killed, order_of
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid, suggest_thread_id
from brenner.session.reference_graph import Edge, Known, ReferenceGraph
from brenner.text import nearest, perhaps, visible

_FIELD = "references"
_MOST_STEPS = 12  # of a circle
_NEIGHBOURS = 50  # on each side, by the beginning and by the end: as many as `nearest` compares
_MOST_EDITS = 3  # between an ID and the one that was meant: all of a day look alike


class Names:
    """The IDs of all sessions, in order, so that those like one of them are found quickly."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def like(self, name: str) -> list[str]:
        """Those that begin like it, and those that end like it; the most alike first."""
        found = {*_around(name, self._forwards)}
        found |= {each[::-1] for each in _around(name[::-1], self._backwards)}
        return sorted(found, key=lambda each: (-_common(name, each), each))

    @cached_property
    def _forwards(self) -> list[str]:
        return sorted(self._names)

    @cached_property
    def _backwards(self) -> list[str]:
        return sorted(each[::-1] for each in self._names)


def _around(name: str, names: list[str]) -> list[str]:
    """What stands nearest to a name in the order of all has the longest beginning in common."""
    at = bisect_left(names, name)
    return names[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]


def _common(one: str, other: str) -> int:
    return _alike(one, other) + _alike(one[::-1], other[::-1])


def unknown_session(edge: Edge, others: Names) -> Diagnostic:
    """A reference to a session that is not known; `others` are those that are."""
    session = edge.target.session
    reason = f"there is no session `{session}`, neither in the mail nor in `artifacts/`"
    near = nearest(session, others.like(session), _MOST_EDITS)
    could_be = is_valid(session)
    if not could_be:
        reason = f"`{session}` is not a valid thread ID, so no session will ever have it"
        near = near or suggest_thread_id(session)
    found = codes.UNKNOWN_REFERENCED_SESSION.at(None, **_words(edge, reason, near))
    return _about(found, edge, could_be=could_be)


def unknown_item(edge: Edge, known: Known) -> Diagnostic:
    """A reference to an item that the session does not have."""
    item, session = edge.target.item, edge.target.session
    match = ITEM_ID.fullmatch(item)
    if match is None:
        reason = f"`{item}` is not an item's ID, so no item will ever have it"
    elif not known.items:
        reason = f"`{session}` has no version yet"
    else:
        alike = [each for each in known.items if _prefix(each) == _prefix(item)]
        reason = f"`{session}` has no `{item}`, {_listed(alike)}"
    near = nearest(item, sorted(known.items, key=order_of))
    found = codes.UNKNOWN_REFERENCED_ITEM.at(None, **_words(edge, reason, near))
    return _about(found, edge, could_be=match is not None)


def to_killed(edge: Edge, killed: Killed) -> Diagnostic:
    """A reference to an item that was killed, and why."""
    reason = killed.reason.strip() or "no reason is given."
    words = _words(edge, reason, None) | {"agent": killed.agent or "somebody"}
    return _about(codes.REFERENCE_TO_KILLED.at(None, **words), edge)


def circle(way: Sequence[Edge], killed: Container[Node] = ()) -> Diagnostic:
    """A circle, told from its first item on; of a long one the beginning and the end.

    An item that is `killed` can no longer be edited: the circle is taken apart at another one.
    """
    steps = [f"{visible(_said(edge.relation))} `{visible(str(edge.target))}`" for edge in way]
    if len(steps) > _MOST_STEPS:
        more = len(steps) - _MOST_STEPS
        steps[_MOST_STEPS - 1 : -1] = [f"leads through {more} more items"]
    chain = ", which ".join([f"`{visible(str(way[0].origin))}` {steps[0]}", *steps[1:]])
    found = codes.CIRCLE_OF_REFERENCES.at(chain="")  # a word would be cut, and a circle must close
    message, fix = found.code.message.format(chain=chain), found.fix + _without(way, killed)
    return _about(found._replace(message=message, fix=fix), way[0])


def _without(way: Sequence[Edge], killed: Container[Node]) -> str:
    """Which items of a circle cannot be edited."""
    names = [f"`{visible(str(edge.origin))}`" for edge in way if edge.origin in killed]
    if not names:
        return ""
    if len(names) == len(way):
        return " All of these items are killed, and cannot be edited: the circle stays."
    more = f" and {len(names) - _MOST_STEPS} more" if len(names) > _MOST_STEPS else ""
    return f" Killed items cannot be edited: {', '.join(names[:_MOST_STEPS])}{more}."


def dangling(edge: Edge, graph: ReferenceGraph, names: Names) -> Diagnostic:
    """A reference that leads nowhere, as the whole graph shows it; `names` are its sessions."""
    known = graph.sessions.get(edge.target.session)
    return unknown_item(edge, known) if known else unknown_session(edge, names)


def _about(found: Diagnostic, edge: Edge, *, could_be: bool = True) -> Diagnostic:
    """With its place; a word that is no ID is what the check of a message warns of as well."""
    also = () if could_be else (UNKNOWN_REFERENCE.id,)
    return found._replace(item=edge.origin.item or None, field=_FIELD, also=also)


def _said(relation: str) -> str:
    """A relation within a sentence."""
    return "is informed by" if relation == "informed_by" else relation


def _words(edge: Edge, reason: str, near: str | None) -> dict[str, str]:
    return {
        "id": edge.origin.item,
        "relation": _said(edge.relation),
        "session": edge.target.session,
        "item": edge.target.item,
        "reason": reason,
        "suggestion": perhaps(near),
    }


def _alike(one: str, other: str) -> int:
    """How many characters two words have in common at their beginning."""
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (here, there) in enumerate(pairs) if here != there), min(len(one), len(other))
    )


def _prefix(item: str) -> str:
    return item.rstrip("0123456789")


def _listed(items: Iterable[str]) -> str:
    """`only H1 to H4`, or that there is nothing of the kind."""
    held = sorted(items, key=order_of)
    if not held:
        return "nor any item of that kind"
    first, *_, last = (*held, held[-1])
    return f"only `{first}`" + (f" to `{last}`" if first != last else "")
