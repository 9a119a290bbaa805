"""What a version says of itself, and who contributed to it."""

from typing import NamedTuple

from brenner.artifact.diff import Diff, FieldChange, ItemChange, Kind, changes, summary
from brenner.artifact.merge.engine import OPERATOR
from brenner.artifact.model import Artifact, order_of
from brenner.artifact.state import Conflict, Entry, Outcome
from brenner.diagnostics.model import Diagnostic
from brenner.lint.linter import LintReport
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS
from brenner.protocol.grammar import ITEM_ID
from brenner.text import counted

_MOST_DESCRIPTION = 70  # `v12 ` and this are within what a subject's description should be
_RANK = {section.prefix: number for number, section in enumerate(SECTIONS.values())}


class Contributor(NamedTuple):
    """An agent, how many of her delta blocks this version applied, and the items they ended on."""

    agent: str
    deltas: int
    items: tuple[str, ...]


class Publication(NamedTuple):
    """Everything that a version says of itself. `text` is the rendered artifact; `unresolved` are
    its references that lead nowhere. `unverified` are messages with blocks that it applied, whose
    senders nobody vouches for.
    """

    thread_id: str
    sender: str
    recipients: tuple[str, ...]
    version: int
    previous: int | None
    compiled_at: str
    artifact: Artifact
    text: str
    diff: Diff
    ledger: tuple[Entry, ...]
    contributors: tuple[Contributor, ...]
    lint: LintReport
    conflicts: tuple[Conflict, ...]
    not_contributed: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    record: str
    artifact_sha256: str
    adopted: int | None = None
    unresolved: tuple[Diagnostic, ...] = ()
    unverified: tuple[int, ...] = ()


def contributors_of(ledger: tuple[Entry, ...], artifact: Artifact) -> tuple[Contributor, ...]:
    """Who contributed to this version, in the order of the ledger.

    A version that applies nothing lists those of the versions before it, with no delta each: a
    closing or an adopted one has contributors, too.
    """
    applied: dict[str, list[str]] = {}
    for entry in ledger:
        if entry.state is Outcome.APPLIED:
            applied.setdefault(entry.agent, []).append(entry.item_id or "")
    if applied:
        return tuple(
            Contributor(agent, len(items), _in_order(items)) for agent, items in applied.items()
        )
    metadata = artifact.metadata
    names = dict.fromkeys(filter(str.strip, metadata.contributors))
    names = names or {metadata.compiled_by or OPERATOR: None}
    return tuple(Contributor(name, 0, ()) for name in names)


def _in_order(items: list[str]) -> tuple[str, ...]:
    """The items, each once, in the order of the artifact."""
    return tuple(sorted(set(items) - {""}, key=_by_section))


def _by_section(item_id: str) -> tuple[int, tuple[int, str]]:
    match = ITEM_ID.fullmatch(item_id)
    return (_RANK[match[1] or item_id] if match else len(_RANK), order_of(item_id))


def description_of(diff: Diff, ledger: tuple[Entry, ...]) -> str:
    """What is new, in the few words that a subject has room for."""
    if is_first(diff):
        return _initial(diff)
    if diff.items:
        told = summary(diff).rstrip(".")
        words = (f"{told[0].lower()}{told[1:]}", _ids(diff), _counts(diff))
        return next((each for each in words if len(each) <= _MOST_DESCRIPTION), words[-1])
    status = next((change for change in diff.metadata if change.path == ("status",)), None)
    if status and "closed" in (status.old, status.new):
        return "session closed" if status.new == "closed" else "session reopened"
    applied = sum(entry.state is Outcome.APPLIED for entry in ledger)
    return f"no item changed, {counted(applied, 'delta')} applied" if ledger else "no item changed"


def is_first(diff: Diff) -> bool:
    """Whether this is the difference to the empty artifact before the first version."""
    return any(_is_first_number(change) for change in diff.metadata)


def _is_first_number(change: FieldChange) -> bool:
    return change.path == ("version",) and change.new == 1 and not change.old


def _initial(diff: Diff) -> str:
    active = [change for change in diff.items if _is_added(change)]
    hypotheses = sum(change.section == HYPOTHESIS_SLATE.id for change in active)
    if hypotheses:
        return f"initial artifact with {counted(hypotheses, 'hypothesis', 'hypotheses')}"
    items = sum(change.section != RESEARCH_THREAD.id for change in active)
    return f"initial artifact with {counted(items, 'item')}" if items else "initial artifact"


def _is_added(change: ItemChange) -> bool:
    return Kind.ADDED in change.kinds and Kind.KILLED not in change.kinds


def _ids(diff: Diff) -> str:
    """`added H4, T2; modified H1, H2; killed H3`."""
    return "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in changes(diff).items() if ids)


def _counts(diff: Diff) -> str:
    """`12 added, 3 modified, 1 killed`."""
    told = [f"{len(ids)} {verb}" for verb, ids in changes(diff).items() if ids]
    return ", ".join(told) or counted(len(diff.items), "item") + " changed"
