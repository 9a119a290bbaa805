"""List the results of a session's tests: who recorded each, when, and the state of its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import merge
from brenner.diagnostics.codes import results as codes
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS
from brenner.protocol.messages import iso
from brenner.services.evidence_files import FileState, check_file
from brenner.services.version_store import load_thread, require_thread_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.artifact.model import Item, Result
    from brenner.artifact.state import Change
    from brenner.config import Project
    from brenner.diagnostics.model import Diagnostic
    from brenner.services.workspace import Workspace


class ListedResult(NamedTuple):
    """A result, its number in its test, the change that recorded it, and its files.

    `version` is None if no version has the result yet. `change` is None if the mail does not have
    it: in a version that was adopted from another program.
    """

    test: Item
    number: int
    result: Result
    change: Change | None
    recorded_at: str | None
    version: int | None
    files: tuple[tuple[str, FileState], ...]

    @property
    def description(self) -> str:
        """Return what the outcome means, if it is the key of a declared one (R27)."""
        return self.test.mapped("outcomes").get(self.result.outcome, "")

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yield a warning for each file that is missing or has changed."""
        for _, state in self.files:
            words = {"path": state.path, "id": self.test.id, "sha256": state.sha256}
            words |= {"number": str(self.number)}
            if state.problem:
                yield codes.RESULT_FILE_MISSING.at(None, **words, reason=state.problem)
            elif not state.is_same:
                yield codes.RESULT_FILE_DIFFERS.at(None, **words)


class ResultList(NamedTuple):
    """All results of a thread, in the order of the tests, with those of unread messages."""

    thread_id: str
    version: int
    results: tuple[ListedResult, ...]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return [found for each in self.results for found in each.diagnostics()]


def list_results(workspace: Workspace, thread_id: str) -> ResultList:
    require_thread_id(thread_id)
    operator = workspace.project.operator
    history, messages = load_thread(workspace.mailbox, thread_id, operator)
    state = merge(history.state, history.unread, operator=operator).state
    times = {each.id: iso(each.at) for each in messages}
    found = []
    for test in state.artifact.sections[DISCRIMINATIVE_TESTS.id]:
        changes = state.blame.get(test.id, {})
        for number, result in enumerate(test.results, 1):
            change = changes.get(("results", str(result)))
            at = times.get(change.source.message_id) if change else None
            version = change.source.version if change else history.number
            published = version if version <= history.number else None
            files = tuple(_files(workspace.project, result.evidence))
            found.append(ListedResult(test, number, result, change, at, published, files))
    return ResultList(thread_id, history.number, tuple(found))


def _files(project: Project, evidence: Sequence[str]) -> Iterator[tuple[str, FileState]]:
    for each in evidence:
        yield from ((each, state) for state in check_file(project, each))


# JSON


def listed_result_json(listed: ListedResult) -> dict[str, object]:
    """Return a result as JSON: the stable form; keys are only ever added."""
    result, source = listed.result, listed.change.source if listed.change else None
    return {
        "test": listed.test.id,
        "number": listed.number,
        **result_json(result),
        "description": listed.description or None,
        "files": [
            {"evidence": text, "path": state.path, "state": _state_word(state)}
            for text, state in listed.files
        ],
        "agent": source.agent if source else None,
        "message_id": source.message_id if source else None,
        "recorded_at": listed.recorded_at,
        "version": listed.version,
        "killed": listed.test.killed is not None,
    }


def result_json(result: Result) -> dict[str, object]:
    values = result._asdict()
    found = {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}
    return {**found, "has_verdict": result.has_verdict}


def _state_word(state: FileState) -> str:
    return "missing" if state.problem else "same" if state.is_same else "differs"
