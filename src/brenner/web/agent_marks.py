"""Marks of agents: a colour by order of appearance in the session, and initials.

No two agents of a page have the same mark. The colours are in `static/css/base.css`. They are far
apart, also for people who do not see red and green. After a dozen agents they repeat with an
outlined mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from brenner.web.sessions import Session

COLOURS = 12
_INITIALS = 2
_OPERATOR = "tint-operator"


class AgentMark(NamedTuple):
    """The initials of an agent, and the CSS classes of its colour."""

    initials: str
    css: str


class AgentMarks:
    """The marks of the agents of one page. An unknown agent gets the next free mark."""

    def __init__(self, names: Iterable[str] = (), operator: str = "") -> None:
        self._operator = operator
        self._marks: dict[str, AgentMark] = {}
        self._by_initials: dict[str, str] = {}  # the names, by their initials
        for name in names:
            self.of(name)

    def of(self, name: str) -> AgentMark:
        if name not in self._marks:
            known = self._marks.keys() - {self._operator}
            css = _OPERATOR if name == self._operator else colour_classes(len(known))
            self._marks[name] = AgentMark(self._free_initials(name), css)
        return self._marks[name]

    def _free_initials(self, name: str) -> str:
        found = next(each for each in _candidates(name, self._by_initials) if self._is_free(each))
        self._by_initials[found] = name
        return found

    def _is_free(self, given: str) -> bool:
        return given not in self._by_initials


def colour_classes(place: int) -> str:
    """Return the CSS classes of the colour of the agent that appeared in that place, from 0."""
    again = min(place // COLOURS, 2)
    return f"tint-{place % COLOURS}" + (f" again-{again}" if again else "")


def initials(name: str) -> str:
    """Return `BL` for BlueLake, the first letters for a name without capitals."""
    letters = _letters(name)
    capitals = [each for each in letters if each.isupper()]
    found = capitals if len(capitals) >= _INITIALS else letters
    return "".join(found[:_INITIALS]).upper() or "?"


def _candidates(name: str, taken: Mapping[str, str]) -> Iterator[str]:
    """Yield initials: the usual ones, then the first letter and one in which the names differ."""
    usual = initials(name)
    yield usual
    letters = _letters(name) or ["?"]
    other = _letters(taken.get(usual, ""))
    pairs = zip(letters, [*other, *[""] * len(letters)], strict=False)
    different = [mine for mine, theirs in pairs if mine.lower() != theirs.lower()]
    yield from (f"{letters[0]}{each}".upper() for each in (*different, *letters[1:]))
    number = 2
    while True:
        yield f"{letters[0].upper()}{number}"
        number += 1


def _letters(name: str) -> list[str]:
    return [each for each in name if each.isalnum()]


def names_by_appearance(session: Session) -> tuple[str, ...]:
    """Return the agents of a session by their first message, sent or received."""
    found: dict[str, None] = {}
    for each in session.stored:
        found |= dict.fromkeys((each.message.sender, *each.message.recipients))
    return tuple(found)
