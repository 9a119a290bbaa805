"""Long lists a page at a time."""

from collections.abc import Mapping, Sequence
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


def part(visit: Visit, total: int, size: int, name: str = "page") -> Part:
    """The page that was asked for; beyond the last one, the last."""
    pages = max(1, -(-total // size))
    return Part(min(max(visit.number(name) or 1, 1), pages), pages, size, total)


def part_json(
    found: Part, thread_id: str, tab: str, asked: Mapping[str, object], name: str = "page"
) -> Document:
    """Where it stands, and the addresses of those beside it; None where there is none."""

    def at(number: int) -> str | None:
        if not 1 <= number <= found.pages:
            return None
        return links.session(thread_id, tab, **{**asked, name: None if number == 1 else number})

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
