"""The memory of a state as text: who set what, and what each author has said.

Of an item a round needs the latest change of each field, and of an author what she did on the
bases that are in use. So the text of each is parted by tabs, which JSON never holds unescaped, into
what is read first and what stays text even then: the changes before the latest; the pages of her
blocks, what she says of each item.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from brenner.artifact.blame import Change, Path, Source
from brenner.artifact.kept import Kept, read_text
from brenner.artifact.merging.authors import Applied, Memory, Page, Said, SaidOfItem
from brenner.artifact.model import Reference

K = TypeVar("K")
V = TypeVar("V")
_TAB = "\t"

# Escapes are ASCII: so a character takes one byte, whatever anybody wrote, and tabs only part.
as_text = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=dict).encode


def texts_of(values: Mapping[K, V], encode: Callable[[V], str]) -> Iterator[str]:
    """The text of each value; of one that was kept as text, that text."""
    texts = values.texts if isinstance(values, Kept) else dict.fromkeys(values)
    for key, text in texts.items():
        yield encode(values[key]) if text is None else text


def element(written: Any) -> Any:
    """A value of a field, or an element of a list: only references are written as lists."""
    return Reference(*written) if type(written) is list else written


# Blame: of each path its latest change, and where its earlier ones stand


class _Latest(Change):
    """A change whose earlier ones are still text; `written` is itself as it was written."""

    written: list[Any]
    earlier: str

    @cached_property
    def before(self) -> Change | None:
        """The change that had set what it replaced, read when it is asked for."""
        return read_text(_read_history, self.earlier) if self.earlier else None


def encode_blame(changes: Mapping[Path, Change]) -> str:
    """The text of an item's blame."""
    heads: list[list[object]] = []
    histories: list[str] = []
    for path, latest in changes.items():
        written, earlier = _history(latest)
        histories += [earlier] if earlier else []
        head = [path, written, len(histories) if earlier else 0]
        heads.append(head if latest.replaced is None else [*head, latest.replaced])
    return _TAB.join([as_text(heads), *histories])


def _history(latest: Change) -> tuple[list[Any], str]:
    """A change as it is written, and the text of the earlier ones, oldest first."""
    newer = []
    change: Change | None = latest
    while change is not None and not isinstance(change, _Latest):
        newer.append(change)
        change = change.before
    written, earlier = ([change.written], change.earlier) if change else ([], "")
    for following in reversed(newer):
        written.append(_written(following, change))
        change = following
    *others, last = written
    if others:
        more = as_text(others)
        earlier = f"{earlier[:-1]},{more[1:]}" if earlier else more
    return last, earlier


def _written(change: Change, before: Change | None) -> list[Any]:
    """Source and value; what it replaced only where that is not the value of the one before."""
    expected = before.value if before else None
    replaced = () if change.replaced == expected else (change.replaced,)
    return [*change.source, change.value, *replaced]


def read_blame(text: str) -> dict[Path, Change]:
    """An item's blame, of which only the latest changes are read."""
    parts = text.split(_TAB)
    changes: dict[Path, Change] = {}
    for path, written, place, *replaced in json.loads(parts[0]):
        before = element(replaced[0]) if replaced else None
        latest = _Latest(Source(*written[:5]), element(written[5]), before)
        latest.written = written
        latest.earlier = parts[place] if place else ""
        changes[tuple(path)] = latest
    return changes


def _read_history(text: str) -> Change | None:
    change: Change | None = None
    for written in json.loads(text):
        expected = change.value if change else None
        replaced = element(written[6]) if written[6:] else expected
        change = Change(Source(*written[:5]), element(written[5]), replaced, change)
    return change


# Authors: the rest of the memory, then the pages of blocks, then what is said of each item


def encode_author(memory: Memory) -> str:
    """The text of an author's memory."""
    adds = [[*where, items] for where, items in memory.adds.items()]
    head = as_text([memory.applied, adds, list(memory.blocks), list(memory.said)])
    return _TAB.join(
        [head, *texts_of(memory.blocks, _encode_page), *texts_of(memory.said, _encode_said)]
    )


def read_author(text: str) -> Memory:
    """An author's memory, of which little is read."""
    head, *parts = text.split(_TAB)
    applied, adds, pages, items = json.loads(head)
    said = parts[len(pages) :]
    return Memory(
        applied,
        Kept(dict(zip(pages, parts, strict=False)), _read_page),
        {(base, prefix): added for base, prefix, added in adds},
        Kept(dict(zip(items, said, strict=True)), _read_said),
    )


def _encode_page(page: Page) -> str:
    return as_text({digest: list(chain(*equal)) for digest, equal in page.items()})


def _read_page(text: str) -> Page:
    width = len(Applied._fields)
    return {
        digest: tuple([Applied(*equal[at : at + width]) for at in range(0, len(equal), width)])
        for digest, equal in json.loads(text).items()
    }


def _encode_said(said: SaidOfItem) -> str:
    return as_text(
        {
            field: {key: [value, *since] for key, (value, since) in keys.items()}
            for field, keys in said.items()
        }
    )


def _read_said(text: str) -> SaidOfItem:
    return {
        field: {
            key: Said(tuple(value) if type(value) is list else value, Applied(*since))
            for key, (value, *since) in keys.items()
        }
        for field, keys in json.loads(text).items()
    }
