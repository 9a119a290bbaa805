"""Long lists a page at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from brenner.web import links
from brenner.web.page import Document
from brenner.web.visit import Visit

_Each = TypeVar("_Each")


class Part(NamedTuple):
    """One page of a list: which of how many, and how many entries there are in all."""

    number: int
    pages: int
    size: int
    total: int

    def of(self, entries: Sequence[_Each]) -> Sequence[_Each]:
        """The entries on it."""
        start = (self.number - 1) * self.size
        return entries[start : start + self.size]


def part(visit: Visit, total: int, size: int, name: str = "page", otherwise: int = 1) -> Part:
    """The page that was asked for, or the usual one; beyond the last one, the last."""
    pages = max(1, -(-total // size))
    wanted = visit.number(name) or otherwise
    return Part(min(max(wanted, 1), pages), pages, size, total)


def part_json(found: Part, address: Callable[[int], str]) -> Document:
    """Where it stands, and the addresses of those beside it; None where there is none."""

    def at(number: int) -> str | None:
        return address(number) if 1 <= number <= found.pages else None

    first = (found.number - 1) * found.size + 1
    return {
        "page": found.number,
        "pages": found.pages,
        "first": min(first, found.total),
        "last": min(first + found.size - 1, found.total),
        "total": found.total,
        "previous": at(found.number - 1),
        "next": at(found.number + 1),
    }


def in_session(
    thread_id: str, tab: str, asked: Mapping[str, object], name: str = "page"
) -> Callable[[int], str]:
    """The addresses of the pages of a list of a session; the first is the list's own."""

    def address(number: int) -> str:
        return links.session(thread_id, tab, **{**asked, name: None if number == 1 else number})

    return address
