"""Find the killed hypotheses of a project that resemble a text or a new hypothesis (R30).

Killed hypotheses are those of the latest versions in the mail, else of the files in `artifacts/`.
Nothing here may become part of a ledger, a record or a COMPILED message.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, cast

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact
from brenner.artifact.state import BlockOutcome
from brenner.mail.mailbox import Capability
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import line_at, read_deltas
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, Operation
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.session_files import read_session_file, sessions_only_in_files
from brenner.services.sessions import Progress, no_progress, overviews
from brenner.services.version_store import load_history
from brenner.session.killed_hypotheses import (
    AddedHypothesis,
    KilledHypothesis,
    KilledIndex,
    Resemblance,
    hypothesis_text,
    killed_in_artifact,
    killed_in_overview,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.artifact.model import Item
    from brenner.artifact.state import Entry
    from brenner.diagnostics.model import Diagnostic
    from brenner.integrations.text_vectors import TextVectors
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.services.workspace import Workspace

_IN_PAYLOAD = "add to the `payload`"
_BY_EDIT = "send an EDIT of `{id}` with"


class SimilarKilled(NamedTuple):
    """The killed hypotheses that resemble a text, and how many were compared with it.

    `problems` are files of sessions that cannot be read.
    """

    found: tuple[Resemblance, ...]
    compared: int
    uses_vectors: bool
    problems: tuple[Diagnostic, ...]


def similar_killed(
    workspace: Workspace, text: str, progress: Progress = no_progress
) -> SimilarKilled:
    """Compare a text with the killed hypotheses of all sessions."""
    killed, problems = load_killed(workspace, progress)
    found = tuple(_index(killed).resembling(text)) if killed else ()
    return SimilarKilled(found, len(killed), _load_vectors() is not None, problems)


def message_warnings(
    workspace: Workspace,
    body: str,
    thread_id: str,
    artifact: Artifact | None = None,
    entries: Iterable[Entry] = (),
) -> tuple[Diagnostic, ...]:
    """Return a warning for each hypothesis that a body adds and that resembles a killed one.

    `artifact` is the session as it would be after the message; without it, the latest version is
    compared. `entries` are the ledger entries of its blocks there. Line numbers count in the body.
    """
    read = read_deltas(body, thread_id)
    results = {each.block: each for each in entries}
    is_applied = {number: each.state is BlockOutcome.APPLIED for number, each in results.items()}
    own = {SessionItem(thread_id, each.assigned_id or "") for each in results.values()}
    known = own | _killed_in_blocks(read, thread_id)
    added = [
        each._replace(known=each.known | known)
        for block in read
        if is_applied.get(block.number, True)
        for each in _added_in_block(block)
    ]
    return _warnings(workspace, thread_id, artifact, added)


def compile_warnings(
    workspace: Workspace,
    thread_id: str,
    artifact: Artifact,
    ledger: Iterable[Entry],
    added: Iterable[Item],
) -> tuple[Diagnostic, ...]:
    """Return the same for the hypotheses that a version of the session adds."""
    message_of: dict[str | None, int] = {}
    killed: dict[int | None, set[SessionItem]] = {}
    for entry in ledger:
        if entry.operation == Operation.ADD:
            message_of.setdefault(entry.assigned_id, entry.message_id)
        elif entry.operation == Operation.KILL and entry.item_id:
            gone = SessionItem(thread_id, entry.item_id)
            killed.setdefault(entry.message_id, set()).add(gone)
    found = []
    for item in added:
        each = _added_item(item)
        also = killed.get(message_of.get(item.id), set())
        found.append(each._replace(known=each.known | also))
    return _warnings(workspace, thread_id, artifact, found)


def _killed_in_blocks(blocks: Iterable[DeltaBlock], thread_id: str) -> frozenset[SessionItem]:
    """Return the items that a message kills: its author knows them, and may replace them."""
    deltas = (block.delta for block in blocks)
    return frozenset(
        SessionItem(thread_id, delta.target_id)
        for delta in deltas
        if delta and delta.operation is Operation.KILL and delta.target_id
    )


def _added_in_block(block: DeltaBlock) -> Iterator[AddedHypothesis]:
    delta = block.delta
    if delta is None or delta.operation is not Operation.ADD:
        return
    if delta.section != HYPOTHESIS_SLATE.id:
        return
    payload = delta.payload
    references = cast("Iterable[dict[str, str]]", payload.get("references", ()))
    key = "claim" if "claim" in payload else "name"
    yield AddedHypothesis(
        f"Block {block.number}",
        _IN_PAYLOAD,
        f"{payload.get('name', '')}\n{payload.get('claim', '')}",
        frozenset(SessionItem(each["session"], each["item"]) for each in references),
        block=block.number,
        line=line_at(block, ("payload", key)) if key in payload else block.line,
    )


def _added_item(item: Item) -> AddedHypothesis:
    return AddedHypothesis(
        f"`{item.id}`",
        _BY_EDIT.format(id=item.id),
        hypothesis_text(item),
        frozenset(SessionItem(each.session, each.item) for each in item.references),
        item=item.id,
    )


def _warnings(
    workspace: Workspace, thread_id: str, artifact: Artifact | None, added: list[AddedHypothesis]
) -> tuple[Diagnostic, ...]:
    if not added:
        return ()
    killed, _ = load_killed(workspace)
    texts: set[str] = set()
    if artifact:
        others = (each for each in killed if each.item.session != thread_id)
        killed = [*others, *killed_in_artifact(thread_id, artifact)]
        # The words of this session's other hypotheses are common in it
        texts = set(map(hypothesis_text, artifact.active(HYPOTHESIS_SLATE)))
        texts -= {each.text for each in added}
    return tuple(_index(killed, sorted(texts)).warnings(added)) if killed else ()


def _index(killed: list[KilledHypothesis], others: Iterable[str] = ()) -> KilledIndex:
    vectors = _load_vectors() if killed else None
    return KilledIndex(killed, others, vectors.compare if vectors else None)


def _load_vectors() -> TextVectors | None:
    from brenner.integrations.text_vectors import load_text_vectors  # needs numpy, if installed

    return load_text_vectors()


# The killed hypotheses of all sessions


def load_killed(
    workspace: Workspace, progress: Progress = no_progress
) -> tuple[list[KilledHypothesis], tuple[Diagnostic, ...]]:
    """Return the killed hypotheses of all sessions, in the order of the sessions' IDs.

    The second value are the files that cannot be read as a session.
    """
    found = _killed_in_mail(workspace, progress)
    problems = []
    for name in sessions_only_in_files(workspace.project, found):
        read = read_session_file(workspace.project, name)
        if isinstance(read, Artifact):
            found[name] = list(killed_in_artifact(name, read))
        elif read:
            problems.append(read)
    return list(chain.from_iterable(found[name] for name in sorted(found))), tuple(problems)


def _killed_in_mail(workspace: Workspace, progress: Progress) -> dict[str, list[KilledHypothesis]]:
    """Return the killed hypotheses of each session that has a version in the mail.

    The overviews of all sessions contain them. Without a cache, the histories alone are cheaper.
    """
    mailbox = workspace.mailbox
    if Capability.CACHE not in mailbox.lacks:
        rows = overviews(workspace, progress)
        known = {name: row for name, row in rows.items() if row.version is not None}
        return {name: list(killed_in_overview(row)) for name, row in known.items()}
    found = {}
    for name in (thread.thread_id for thread in mailbox.threads()):
        if is_valid_thread_id(name):
            history = load_history(mailbox, name, workspace.project.operator)
            if history.versions:
                found[name] = list(killed_in_artifact(name, history.state.artifact))
    return found
