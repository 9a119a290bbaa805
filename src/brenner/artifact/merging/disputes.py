"""Which conflicts are open while a merge goes on (R12)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from brenner.artifact.blame import Change, Path, Source
from brenner.artifact.conflicts import Conflict, Displaced
from brenner.artifact.model import Artifact, Item, order_of
from brenner.protocol.delta.schema import SECTIONS, Operation

_SECTION_ORDER = {section.prefix[0]: index for index, section in enumerate(SECTIONS.values())}


class _Dispute:
    """An open conflict that may still grow."""

    def __init__(self, version: int, source: Source, displaced: Iterable[Displaced] = ()) -> None:
        self.version = version
        self.source = source
        self.displaced = list(displaced)


class Noted(NamedTuple):
    """That the edit at hand has displaced a value of another author."""

    path: Path
    agent: str


class Disputes:
    """The open conflicts by item and field."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self._open: dict[str, dict[Path, _Dispute]] = {}
        self._noted: list[Noted] = []
        for conflict in conflicts:
            dispute = _Dispute(conflict.version, conflict.source, conflict.displaced)
            self._open.setdefault(conflict.item_id, {})[conflict.path] = dispute

    def weigh(self, item_id: str, path: Path, change: Change, base: int) -> None:
        """An edit on `base` makes this change, or asserts what is there already."""
        before, by = change.before, change.source
        is_other = change.value != change.replaced
        lost = []
        if before is not None and is_other and _unseen(before, by, base):
            lost = [Displaced(change.replaced, before.source)]
        self._judge(item_id, path, lost, by, base)
        if is_other:
            self.set_by(item_id, path, by)

    def weigh_list(
        self,
        item_id: str,
        path: Path,
        dropped: Iterable[tuple[object, Change | None]],
        by: Source,
        base: int,
    ) -> None:
        """An edit on `base` drops these elements of a list, each with the change that added it."""
        by_source: dict[Source, list[object]] = {}
        for element, before in dropped:
            if before and _unseen(before, by, base):
                by_source.setdefault(before.source, []).append(element)
        lost = [Displaced(tuple(elements), source) for source, elements in by_source.items()]
        self._judge(item_id, path, lost, by, base)

    def set_by(self, item_id: str, path: Path, by: Source) -> None:
        """Say who has set the value that stands, where there is a conflict about it."""
        dispute = self._open.get(item_id, {}).get(path)
        if dispute is not None:
            dispute.source = by

    def taken_away(self, item_id: str, name: str) -> list[str]:
        """The keys of a map on which there is an open conflict."""
        return [path[1] for path in self._open.get(item_id, ()) if path[0] == name and path[1:]]

    def _judge(
        self, item_id: str, path: Path, lost: list[Displaced], by: Source, base: int
    ) -> None:
        of_item = self._open.get(item_id, {})
        dispute = of_item.get(path)
        if dispute and base >= dispute.version:
            del of_item[path]
            dispute = None
        if lost:
            if dispute is None:
                dispute = _Dispute(by.version, by)
                self._open.setdefault(item_id, {})[path] = dispute
            dispute.displaced += lost
            self._noted += [Noted(path, each.source.agent) for each in lost]

    def close_item(self, item_id: str) -> None:
        """All conflicts of an item that was killed."""
        self._open.pop(item_id, None)

    def take_noted(self) -> list[Noted]:
        """What was displaced since this was last asked."""
        noted, self._noted = self._noted, []
        return noted

    def still_open(self, artifact: Artifact) -> tuple[Conflict, ...]:
        """The open conflicts in the order of the artifact, each with the value that stands."""
        if not any(self._open.values()):
            return ()
        items = {item.id: item for _section, item in artifact.all_items()}
        return tuple(
            Conflict(
                item_id,
                path,
                dispute.version,
                _standing(items[item_id], path),
                dispute.source,
                tuple(dispute.displaced),
            )
            for item_id in sorted(self._open, key=_in_artifact_order)
            for path, dispute in sorted(self._open[item_id].items(), key=lambda each: each[0])
        )


def _unseen(before: Change, by: Source, base: int) -> bool:
    """Whether another author's edit had set it, after the version that this edit goes by."""
    source = before.source
    is_edit = source.operation == Operation.EDIT
    return is_edit and source.agent != by.agent and source.version > base


def _in_artifact_order(item_id: str) -> tuple[int, tuple[int, str]]:
    return (_SECTION_ORDER[item_id[0]], order_of(item_id))


def _standing(item: Item, path: Path) -> object:
    value = item.fields.get(path[0])
    if len(path) == 1 or value is None:
        return value
    return cast("Mapping[str, object]", value).get(path[1])
