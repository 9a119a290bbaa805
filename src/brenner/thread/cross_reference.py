"""One thread ID, the same key in every system: the Cross-Reference Contract as a value."""

from typing import NamedTuple

from brenner.thread.ids import ThreadKind, classify_thread_id


class CrossReference(NamedTuple):
    """Where a thread is found in each system. The ID is used as it is, never mapped.

    Only tmux renames on its own: it stores `.` and `:` in a session's name as `_`, and looking up
    the dotted name fails. `tmux_session` is therefore the name to look up.
    """

    thread_id: str
    kind: ThreadKind
    artifact_path: str
    front_matter: str
    ntm_session: str
    tmux_session: str
    bead: str | None


def cross_reference(thread_id: str) -> CrossReference:
    """The whole contract for a valid thread ID."""
    kind = classify_thread_id(thread_id)
    return CrossReference(
        thread_id=thread_id,
        kind=kind,
        artifact_path=f"artifacts/{thread_id}.md",
        front_matter=f'session_id: "{thread_id}"',
        ntm_session=thread_id,
        tmux_session=thread_id.replace(".", "_").replace(":", "_"),
        bead=thread_id if kind is ThreadKind.ENGINEERING else None,
    )
