"""Where the words of an artifact lead: items of this session and of others, the source text.

Only what a page mentions is looked up, and only what is there becomes a link.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property

from brenner.artifact.html import mentions
from brenner.artifact.model import Item, Reference
from brenner.lint.context import SourceText
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid
from brenner.services.compile import readable_source
from brenner.services.sessions import read_session_file
from brenner.web import links
from brenner.web.item_view import Scene
from brenner.web.visit import Visit

_SECTION, _BETWEEN = "§", " "


class Places:
    """What there is to lead to. `own` are the items of the version, `here` those on the page.

    A guest is led nowhere but to what she may see, nor told what else is there.
    """

    def __init__(
        self, visit: Visit, scene: Scene, own: Collection[str], here: Collection[str] = ()
    ) -> None:
        self._visit, self._desk, self._scene = visit, visit.site.desk, scene
        self._own, self._here = own, here
        self._is_session = cache(self._looked_up)

    def of(self, items: Iterable[Item]) -> dict[str, str]:
        """The address of everything that these items mention, by the names of `Known`."""
        names = dict.fromkeys(name for item in items for name in named_in(item))
        found = ((name, self._address(name)) for name in names)
        return {name: address for name, address in found if address}

    def _address(self, name: str) -> str | None:
        if name.startswith(_SECTION):
            return self._section(int(name.removeprefix(_SECTION)))
        if _BETWEEN in name:
            session, _, item_id = name.partition(_BETWEEN)
            if session == self._scene.thread_id:
                return self._scene.link(item_id) if item_id in self._own else None
            return links.item(session, item_id) if self._is_session(session) else None
        if name not in self._own or not ITEM_ID.fullmatch(name):
            return None
        return f"#{name}" if name in self._here else self._scene.link(name)

    def _section(self, number: int) -> str | None:
        source = self._source if self._visit.guest_of is None else None
        is_there = source is not None and source.missing(number, number) is None
        return links.source(number) if is_there else None

    @cached_property
    def _source(self) -> SourceText | None:
        return readable_source(self._desk.project)

    def _looked_up(self, thread_id: str) -> bool:
        """Whether anything of a session can be read."""
        if not is_valid(thread_id) or not self._visit.may_see(thread_id):
            return False
        if self._desk.mailbox.thread(thread_id, limit=1).position:
            return True
        return read_session_file(self._desk.project, thread_id) is not None


def named_in(item: Item) -> Iterator[str]:
    """Everything that an item mentions, in prose and as the schema has it."""
    yield item.id
    for value in item.fields.values():
        yield from _named(value)
    if item.killed:
        yield from mentions(item.killed.reason)


def _named(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from mentions(value)
    elif isinstance(value, Reference):
        yield value.item
        yield f"{value.session}{_BETWEEN}{value.item}"
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from _named(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _named(each)
