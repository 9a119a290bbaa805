"""Complete the fixes of ledger entries for display: the thread, and what became of the item.

The merge does not know the thread's later blocks, and its diagnostics are compared with those of a
rebuilt version. So they stay as they are, and only what is shown is completed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes.merging import CONFLICTING_EDIT, KILL_OVER_UNSEEN_EDITS
from brenner.text import thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brenner.artifact.model import Artifact
    from brenner.artifact.state import Entry
    from brenner.diagnostics.model import Diagnostic

_WITH_THREAD = (CONFLICTING_EDIT, KILL_OVER_UNSEEN_EDITS)
_NO_THREAD = "`brenner artifact blame THREAD "


def with_advice(entries: Iterable[Entry], artifact: Artifact, thread_id: str) -> tuple[Entry, ...]:
    """Return the entries with fixes that name the thread. A killed item needs no EDIT."""
    listed = tuple(entries)
    if not any(found.code in _WITH_THREAD for entry in listed for found in entry.diagnostics):
        return listed
    killed = {item.id for _, item in artifact.all_items() if item.killed}
    return tuple(
        entry._replace(
            diagnostics=tuple(_completed(each, killed, thread_id) for each in entry.diagnostics)
        )
        for entry in listed
    )


def _completed(found: Diagnostic, killed: set[str], thread_id: str) -> Diagnostic:
    if found.code not in _WITH_THREAD:
        return found
    item = dict(found.parameters).get("id")
    if found.code is CONFLICTING_EDIT and item in killed:
        return found._replace(fix=f"No action is needed: `{item}` is killed.")
    named = f"`brenner artifact blame {thread_argument(thread_id)} "
    return found._replace(fix=found.fix.replace(_NO_THREAD, named))
