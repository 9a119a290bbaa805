"""One item of an artifact, found by its ID."""

from typing import TYPE_CHECKING

from brenner.artifact.model import LAYOUT_OF, Item, Layout
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Refused
from brenner.text import nearest, perhaps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brenner.cli.artifact.targets import Loaded

_OR_FIELD = ", or an ID and a field such as `H2.claim`"


def find_item(loaded: "Loaded", item_id: str) -> tuple[Layout, Item]:
    """The item of that ID, or a refusal. Where a file has the ID twice, it is the first one."""
    for section, item in loaded.artifact.all_items():
        if item.id == item_id:
            return LAYOUT_OF[section.id], item
    raise no_such(loaded.name, item_id, (item.id for _, item in loaded.artifact.all_items()))


def no_such(name: str, wanted: str, known: "Iterable[str]") -> Refused:
    """That an item or a field is not there, and which one was probably meant."""
    near = perhaps(nearest(wanted, list(known)))
    return Refused(
        codes.NO_SUCH_ITEM.at(name=name, item=wanted, or_field=_OR_FIELD, suggestion=near)
    )
