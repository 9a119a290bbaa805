"""A delta, and the block of a message that holds one."""

from collections.abc import Mapping
from typing import NamedTuple

from brenner.delta.schema import Operation
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block
from brenner.markdown.edits import Edit


class Delta(NamedTuple):
    """One operation, decoded and valid.

    `payload` holds known fields only, as JSON values, and must not be changed. It may also hold
    `replace` and `{field}_replace`, which say how to merge and are never stored (R13).
    `target_id` is an item ID or an `@name` (R11), and None for an ADD.
    """

    operation: Operation
    section: str
    target_id: str | None
    payload: Mapping[str, object]
    rationale: str
    local_id: str | None = None


class DeltaBlock(NamedTuple):
    """A delta block and what became of it.

    `value` is its JSON as written, as far as it can be made out; `delta` is None where the block
    is refused. `edits` are the certain corrections, as edits of the fence's content; `structure`
    are those that change where blocks begin and end. `is_mendable` says whether they mend all.
    """

    number: int
    fence: Block
    value: object = None
    delta: Delta | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    edits: tuple[Edit, ...] = ()
    structure: tuple[Edit, ...] = ()
    is_mendable: bool = True

    @property
    def line(self) -> int:
        """The line of the opening fence, in the body."""
        return self.fence.line

    def written(self, key: str) -> str | None:
        """What the block says under a top-level key, if that is a text."""
        content = self.value.get(key) if isinstance(self.value, dict) else None
        return content if isinstance(content, str) else None

    def refused(self, diagnostic: Diagnostic) -> "DeltaBlock":
        """The same block, refused for one more reason that nobody can mend for its author."""
        found = (*self.diagnostics, diagnostic)
        return self._replace(delta=None, diagnostics=found, is_mendable=False)


class Stray(NamedTuple):
    """What looks like a delta block and is none, and the edits of the body that make it one."""

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()
