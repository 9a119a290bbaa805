"""Record what a test showed: a DELTA with an EDIT of the test's results (R26)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.results import result_payload
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes import artifacts as artifact_codes
from brenner.diagnostics.codes import results as codes
from brenner.diagnostics.codes.merging import RESULT_WITHOUT_VERDICT, TARGET_KILLED
from brenner.diagnostics.model import ERROR, WARNING, Diagnostic, RequestError
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    EDIT,
    HYPOTHESIS_SLATE,
    POTENCY_FAILED,
    SECTIONS,
    VERDICT_FIELDS,
    list_items,
)
from brenner.protocol.messages import render_message_file
from brenner.services.contribute import ContributionRequest, prepare_contribution
from brenner.services.preview import UNSENT
from brenner.services.send import SendOptions
from brenner.services.version_store import load_history, require_thread_id
from brenner.text import closest_certain, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.artifact.model import Artifact, Item, Result
    from brenner.mail.model import SendResult
    from brenner.protocol.messages import Message
    from brenner.services.workspace import Workspace
    from brenner.session.versions import VersionHistory

_HUMAN = "human"  # the shorthand of the operator's contributions
_RATIONALE = "Result of the test"


def iso_milliseconds(at: datetime) -> str:
    """Return a time with milliseconds, so that results of the same second stay apart (R26)."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TestInThread(NamedTuple):
    """An active test, as the next version would have it."""

    history: VersionHistory
    merged: Merge
    item: Item

    @property
    def artifact(self) -> Artifact:
        return self.merged.artifact

    @property
    def outcomes(self) -> dict[str, str]:
        """Return the declared outcomes, by key (R27)."""
        return dict(self.item.mapped("outcomes"))

    def meant_outcome(self, outcome: str) -> str | None:
        """Return the declared key that a text certainly means but does not equal, or None."""
        declared = self.outcomes
        return None if outcome in declared else closest_certain(outcome, declared)


def load_test(workspace: Workspace, thread_id: str, test_id: str) -> TestInThread:
    """Return an active test of a thread, with unread messages merged. Raise if there is none."""
    require_thread_id(thread_id)
    history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    merged = merge(history.state, history.unread, operator=workspace.project.operator)
    item = _require_item(history, merged.artifact, DISCRIMINATIVE_TESTS.id, test_id)
    if item.killed:
        words = {"name": item.killed.agent, "id": item.id, "session": thread_id, "counts": ""}
        how = "A result needs an active test."
        raise RequestError(TARGET_KILLED.at(None, **words, how=how))
    return TestInThread(history, merged, item)


def check_hypotheses(test: TestInThread, ids: Iterable[str]) -> None:
    """Raise RequestError if a stated verdict names a hypothesis that does not exist."""
    for hypothesis in ids:
        _require_item(test.history, test.artifact, HYPOTHESIS_SLATE.id, hypothesis)


def _require_item(history: VersionHistory, artifact: Artifact, section: str, item_id: str) -> Item:
    wanted = item_id.strip().upper()
    found = next((each for each in artifact.sections[section] if each.id == wanted), None)
    if found is None:
        items = {each.id: each.title for each in artifact.sections[section] if each.is_active}
        prefix = SECTIONS[section].prefix
        known = list_items(prefix, list(items), f"in {history.thread_id}", items)
        words = {"name": history.thread_id, "item": item_id, "or_field": "", "suggestion": ""}
        raise RequestError(artifact_codes.NO_SUCH_ITEM.at(None, **words, known=known))
    return found


class DraftResult(NamedTuple):
    """A result that is ready to be sent: its message, and what the next version makes of it.

    `result` has its verdict. It is None if the block would be rejected. `violations` are those of
    the composed message, and the warnings of the merge that a send does not report.
    """

    test: TestInThread
    message: Message
    entry: Entry | None
    result: Result | None
    violations: tuple[Diagnostic, ...]

    @property
    def is_ready(self) -> bool:
        return not any(found.severity is ERROR for found in self.violations)

    @property
    def is_known(self) -> bool:
        """Return whether the test has this result already, so that there is nothing to send."""
        return self.result is not None and self.result in self.test.item.results

    @property
    def needs_verdict(self) -> bool:
        """Return whether the test worked, but nothing follows for any hypothesis."""
        result = self.result
        is_silent = result is not None and not result.has_verdict
        return is_silent and result is not None and result.potency != POTENCY_FAILED


def draft_result(
    workspace: Workspace, test: TestInThread, result: Result, replaced: int | None = None
) -> DraftResult:
    """Compose the message of a result. With `replaced`, it replaces that result of the test."""
    payload: dict[str, object] = {"results": [result_payload(result)]}
    if replaced is not None:
        payload = {
            "results": list(map(result_payload, _with_replaced(test, result, replaced))),
            "results_replace": True,
        }
    delta = {
        "operation": EDIT,
        "section": DISCRIMINATIVE_TESTS.id,
        "target_id": test.item.id,
        "payload": payload,
        "rationale": result.note or _RATIONALE,
    }
    request = ContributionRequest(
        test.history.thread_id,
        workspace.actor,
        (delta,),
        _summary(test, result, replaced),
        base=test.history.number,
        shorthand=_HUMAN if workspace.is_operator else "",
    )
    prepared = prepare_contribution(workspace, request)
    entry, merged = _preview(workspace, test, prepared.message)
    found = (*prepared.violations, *_merge_warnings(entry, prepared.violations))
    return DraftResult(test, prepared.message, entry, _recorded(entry, merged, result), found)


def send_result(workspace: Workspace, draft: DraftResult) -> tuple[DraftResult, SendResult | None]:
    """Send the result, if its message has no errors. Return it with all that was found.

    A result that the test has already is not sent again.
    """
    if draft.is_known or not draft.is_ready:
        return draft, None
    outcome = workspace.send(render_message_file(draft.message), SendOptions(workspace.actor))
    known = {found.code for found in outcome.report.violations}
    kept = (found for found in draft.violations if found.code not in known)
    return draft._replace(violations=(*outcome.report.violations, *kept)), outcome.sent


def _with_replaced(test: TestInThread, result: Result, number: int) -> Iterator[Result]:
    """Yield all results of the test, with one replaced. The others keep their verdicts (R26)."""
    known = test.item.results
    if not 1 <= number <= len(known):
        count = f" It has {len(known)}." if known else " It has none."
        words = {"id": test.item.id, "thread": test.history.thread_id, "known": count}
        raise RequestError(codes.NO_SUCH_RESULT.at(None, **words, number=number))
    for place, each in enumerate(known, 1):
        kept = each.without_verdict() if each.derived else each
        yield result if place == number else kept


def _summary(test: TestInThread, result: Result, replaced: int | None) -> str:
    what = "Result" if replaced is None else "Correct a result"
    return f"{what} of {test.item.id}: {' '.join(result.outcome.split())}"


def _preview(
    workspace: Workspace, test: TestInThread, message: Message
) -> tuple[Entry | None, Artifact]:
    """Return the ledger entry of the message after a compile now, and the artifact."""
    unsent = UNSENT._replace(message=message)
    messages = (*test.history.unread, unsent)
    merged = merge(test.history.state, messages, operator=workspace.project.operator)
    entries = (each for each in merged.ledger if each.message_id == unsent.id)
    return next(entries, None), merged.artifact


def _recorded(entry: Entry | None, artifact: Artifact, given: Result) -> Result | None:
    """Return the given result as the artifact has it, with its verdict."""
    if entry is None or entry.state is not BlockOutcome.APPLIED:
        return None
    tests = artifact.sections[DISCRIMINATIVE_TESTS.id]
    results = next((each.results for each in tests if each.id == entry.item_id), ())
    same = ("outcome", "potency", "observed_at", "evidence", "note")
    wanted = [getattr(given, name) for name in same]
    return next(
        (each for each in reversed(results) if [getattr(each, name) for name in same] == wanted),
        None,
    )


def _merge_warnings(entry: Entry | None, reported: tuple[Diagnostic, ...]) -> Iterator[Diagnostic]:
    """Yield the warnings of the merge that neither the check nor the caller reports.

    The caller asks for a missing verdict itself.
    """
    known = {found.code for found in reported} | {RESULT_WITHOUT_VERDICT}
    if entry is not None and entry.state is not BlockOutcome.REFUSED:
        for found in entry.diagnostics:
            if found.severity is WARNING and found.code not in known:
                yield found


def verdict_words(result: Result) -> str:
    """Return what a result means for hypotheses: `contradicts H1 and H2, and supports H3`."""
    parts = [
        f"{name} {joined(ids)}"
        for name in VERDICT_FIELDS
        if (ids := getattr(result, name)) and result.has_verdict
    ]
    return ", and ".join(parts)
