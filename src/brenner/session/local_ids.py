"""Message ids as this store has them.

A version is rebuilt with the ids that its record names. Where its thread was imported and its
messages got other ids, people must be shown those.
"""

from collections.abc import Mapping

from brenner.artifact.state import Blame, Change, Conflict, Entry, Source, State
from brenner.session.rebuild import Candidate, Rebuilt

# The id in this store, by the version and the id that its record has
Ids = Mapping[tuple[int, int], int]


def ids_of(candidate: Candidate, rebuilt: Rebuilt) -> Ids:
    """The ids of the messages that one version has read."""
    messages = candidate.record.messages if candidate.record else ()
    pairs = zip(messages, rebuilt.read, strict=True)
    return {(candidate.number, entry.id): filed.posted.id for entry, filed in pairs}


def local_ledger(candidate: Candidate, rebuilt: Rebuilt) -> tuple[Entry, ...]:
    """What became of every block of a version, with the ids of its messages in this store."""
    if rebuilt.merged is None:
        return ()
    here = {there: local for (_, there), local in ids_of(candidate, rebuilt).items()}
    if all(there == local for there, local in here.items()):
        return rebuilt.merged.ledger
    return tuple(
        entry._replace(
            message_id=here[entry.message_id],
            diagnostics=tuple(
                found._replace(message_id=here.get(found.message_id or 0))
                for found in entry.diagnostics
            ),
        )
        for entry in rebuilt.merged.ledger
    )


def local_state(state: State, ids: Ids) -> State:
    """The state in which blame and conflicts name the messages as this store has them."""
    if all(there == local for (_, there), local in ids.items()):
        return state
    return state._replace(
        blame=_blame(state.blame, ids),
        conflicts=tuple(_conflict(each, ids) for each in state.conflicts),
    )


def _source(source: Source, ids: Ids) -> Source:
    local = ids.get((source.version, source.message_id), source.message_id)
    return source._replace(message_id=local)


def _blame(blame: Blame, ids: Ids) -> Blame:
    return {
        item: {path: _change(change, ids) for path, change in paths.items()}
        for item, paths in blame.items()
    }


def _change(change: Change, ids: Ids) -> Change:
    """The change with all that came before it; a history may be long, so from its beginning."""
    before: Change | None = None
    for each in reversed(list(change.history())):
        before = each._replace(source=_source(each.source, ids), before=before)
    return before or change


def _conflict(conflict: Conflict, ids: Ids) -> Conflict:
    return conflict._replace(
        source=_source(conflict.source, ids),
        displaced=tuple(
            lost._replace(source=_source(lost.source, ids)) for lost in conflict.displaced
        ),
    )
