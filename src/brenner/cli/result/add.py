"""`brenner result add`: record what a test showed, and say what follows."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import wraps
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from brenner.artifact.model import Result
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    Number,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import (
    JsonCommand,
    count_by_severity,
    note_changes_made,
    write_diagnostics,
    write_json,
)
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.codes.merging import RESULT_WITHOUT_VERDICT
from brenner.diagnostics.model import Diagnostic, RequestError, Summary
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.model import SendResult, stored_json
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.field_checks import parse_time
from brenner.protocol.delta.schema import POTENCIES, POTENCY_FAILED, VERDICT_FIELDS
from brenner.services.evidence_files import with_hash
from brenner.services.record_result import (
    DraftResult,
    TestInThread,
    check_hypotheses,
    draft_result,
    iso_milliseconds,
    load_test,
    send_result,
    verdict_words,
)
from brenner.services.results import result_json
from brenner.text import did_you_mean, escape_control, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from brenner.services.command_record import CommandRecord
    from brenner.services.workspace import Workspace

NOT_CHECKED = "not_checked"
TEST_ID = lazy_pattern(r"[Tt][0-9]{1,9}")


class ResultOptions(NamedTuple):
    """What the options say about a result."""

    outcome: str | None
    potency: str
    contradicts: tuple[str, ...]
    supports: tuple[str, ...]
    evidence: tuple[str, ...]
    note: str | None
    replace: int | None
    observed: str | None

    def result(self, observed_at: datetime) -> Result:
        return Result(
            self.outcome or "",
            self.potency,
            self.contradicts,
            self.supports,
            self.observed or iso_milliseconds(observed_at),
            self.evidence,
            self.note,
        )


_OPTIONS = (
    click.option(
        "--potency",
        type=click.Choice(POTENCIES),
        default=NOT_CHECKED,
        show_default=True,
        help="Whether the potency check showed that the assay worked.",
    ),
    click.option(
        "--contradicts", multiple=True, metavar="H1,H2", help="Hypotheses that it contradicts."
    ),
    click.option("--supports", multiple=True, metavar="H3", help="Hypotheses that it supports."),
    click.option(
        "--evidence",
        multiple=True,
        metavar="A",
        help="An anchor such as §42 or EV-001#E1, or file:PATH; repeatable.",
    ),
    click.option("--note", metavar="TEXT", help="A remark."),
    click.option(
        "--replace",
        type=Number(1),
        metavar="N",
        help="Correct result N of the test, as `result list` numbers it.",
    ),
    click.option(
        "--observed",
        metavar="TIME",
        help="When it was observed, such as 1960-06-20T12:00:00Z, if not now.",
    ),
)


def result_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that describe a result, which the command gets as `given`."""

    @wraps(function)
    def command(*arguments: Any, **options: Any) -> int:
        mine = {name: options.pop(name) for name in ResultOptions._fields}
        for name in VERDICT_FIELDS:
            mine[name] = _read_ids(mine[name], f"--{name}")
        if mine["outcome"] is not None and not mine["outcome"].strip():
            message = "--outcome needs a text, or the key of a declared outcome."
            raise click.UsageError(message)
        if mine["observed"] and parse_time(mine["observed"]) is None:
            message = "--observed needs a time such as 1960-06-20T12:00:00Z."
            raise click.UsageError(message)
        if mine["potency"] == POTENCY_FAILED and any(mine[name] for name in VERDICT_FIELDS):
            message = (
                "After a failed potency check there is no verdict. Leave out --contradicts and "
                "--supports, or use `--potency passed`."
            )
            raise click.UsageError(message)
        return function(*arguments, given=ResultOptions(**mine), **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _read_ids(given: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return the IDs in `H1,H2`, whatever their case, each once."""
    names = [name.strip().upper() for each in given for name in each.split(",")]
    if not all(names):
        message = f"{option} needs the IDs of hypotheses, such as H1,H2."
        raise click.UsageError(message)
    return tuple(dict.fromkeys(names))


# The keys that the JSON document always has
JSON_DEFAULTS: dict[str, object] = {
    "thread_id": None,
    "test": None,
    "sent": False,
    "message": None,
    "result": None,
    "replaced": None,
}


@click.command(
    "add",
    cls=JsonCommand,
    json_defaults=JSON_DEFAULTS,
    epilog=examples(
        "brenner result add RS-20251230-cell-fate T1 --outcome changed",
        "brenner result add T1 --outcome 'No colonies grew' --contradicts H1 \\",
        "    --potency passed --evidence file:data/plates.csv --note 'Three plates'",
        "brenner result add T1 --replace 2 --outcome unchanged --potency passed",
    ),
)
@click.argument("thread", metavar="[THREAD]")
@click.argument("item_id", required=False, metavar="TEST")
@click.option("--outcome", required=True, metavar="TEXT", help="What was observed, or a key.")
@result_options
@common_options
def add(settings: Settings, *, thread: str, item_id: str | None, given: ResultOptions) -> int:
    """Record what TEST showed, in a DELTA message to THREAD.

    If the outcome is the key of a declared outcome, Brenner derives which hypotheses it contradicts
    and supports. Otherwise state them. A result changes nothing but its test. For `file:PATH`
    Brenner adds the SHA-256 of the file. Without evidence the result is shown as claimed.
    """
    name, test_id = (None, thread) if item_id is None else (thread, item_id)
    check_test_id(test_id)
    with workspace_of(settings) as here:
        thread_id = find_thread(here, name)
        test = load_test(here, thread_id, test_id)
        checked = check_options(here, test, given)
        return record(here, test, checked, None, as_json=settings.as_json)


def check_test_id(test_id: str) -> None:
    """Raise a usage error if a text cannot be the ID of a test."""
    if not TEST_ID.fullmatch(test_id):
        message = f"`{escape_control(test_id)}` is not the ID of a test, such as T1."
        raise click.UsageError(message)


def check_options(here: Workspace, test: TestInThread, given: ResultOptions) -> ResultOptions:
    """Return the options with the hashes of files. Raise if the result could not be recorded."""
    evidence = tuple(with_hash(here.project, each) for each in given.evidence)
    checked = given._replace(evidence=evidence)
    check_hypotheses(test, (*given.contradicts, *given.supports))
    if given.replace is not None:
        draft_result(here, test, checked.result(datetime.now(UTC)), given.replace)
    return checked


def record(
    here: Workspace,
    test: TestInThread,
    given: ResultOptions,
    kept: CommandRecord | None,
    *,
    as_json: bool,
) -> int:
    """Send the result, and report what follows. In a terminal ask for what is missing.

    It was observed when the command ended, or now.
    """
    observed_at = kept.ended_at if kept else datetime.now(UTC)
    can_ask = not as_json and can_ask_operator()
    given = _with_meant_outcome(test, given) if can_ask else given
    draft = draft_result(here, test, given.result(observed_at), given.replace)
    if draft.needs_verdict and can_ask:
        given = _ask_verdict(test, given)
        draft = draft_result(here, test, given.result(observed_at), given.replace)
    draft, sent = send_result(here, draft)
    if sent:
        note_changes_made()
    found = [*draft.violations, *_without_verdict(draft, given, sent)]
    found = [each._replace(line=None) for each in found]  # the message was composed, not written
    if as_json:
        run = {"run": kept.to_json()} if kept else {}
        write_json({**_document(draft, given, sent, found), **run})
    else:
        write_diagnostics(found, "brenner", sys.stderr)
        _write(draft, given, sent, found)
    return EXIT_OK if sent or draft.is_known else EXIT_INVALID


# Questions to the operator


def can_ask_operator() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _with_meant_outcome(test: TestInThread, given: ResultOptions) -> ResultOptions:
    """Ask whether an outcome that is close to a declared key means that key."""
    meant = test.meant_outcome(given.outcome or "")
    question = f"Do you mean the declared outcome `{meant}`?"
    if meant is None or not click.confirm(question, default=True, err=True):
        return given
    return given._replace(outcome=meant)


_QUESTIONS = {
    "contradicts": "Which hypotheses does it contradict? (such as H1,H2; Enter for none)",
    "supports": "Which hypotheses does it support? (Enter for none)",
}


def _ask_verdict(test: TestInThread, given: ResultOptions) -> ResultOptions:
    about = f"No verdict follows from this outcome of {test.item.id}."
    print_message(about, sys.stderr)
    contradicts = _ask_ids(test, "contradicts")
    return given._replace(contradicts=contradicts, supports=_ask_ids(test, "supports"))


def _ask_ids(test: TestInThread, name: str) -> tuple[str, ...]:
    """Ask for hypotheses until all of them exist."""
    while True:
        answer = click.prompt(_QUESTIONS[name], default="", show_default=False, err=True)
        ids = tuple(dict.fromkeys(filter(None, answer.upper().replace(",", " ").split())))
        try:
            check_hypotheses(test, ids)
        except RequestError as error:
            write_diagnostics([error.diagnostic], "brenner", sys.stderr)
            continue
        return ids


# The report


def _without_verdict(
    draft: DraftResult, given: ResultOptions, sent: SendResult | None
) -> list[Diagnostic]:
    """Return the warning that no verdict follows, with the command that states one."""
    if not draft.needs_verdict:
        return []
    outcome, declared = given.outcome or "", draft.test.outcomes
    keys = f" Declared outcomes: {', '.join(f'`{each}`' for each in declared)}." if declared else ""
    meant = draft.test.meant_outcome(outcome)
    words = {"value": outcome, "id": draft.test.item.id, "known": keys}
    found = RESULT_WITHOUT_VERDICT.at(None, **words, suggestion=did_you_mean(meant))
    if sent is None:
        return [found]
    number = given.replace or len(draft.test.item.results) + 1
    stated = [] if meant else ["--contradicts H1"]
    command = add_command(draft.test, given._replace(outcome=meant or outcome, replace=number))
    again = " ".join([command, *stated])
    hypotheses = "" if meant else " Name the hypotheses that it contradicts or supports."
    return [found._replace(fix=f"Correct it: `{again}`.{hypotheses}")]


def add_command(test: TestInThread, given: ResultOptions) -> str:
    """Return the command that records this result."""
    words = ["brenner result add"]
    thread = thread_argument(test.history.thread_id)
    if thread.startswith("-- "):  # after it there can be no option
        words, last = [*words], [thread, test.item.id]
    else:
        words, last = [*words, thread, test.item.id], []
    words += ["--outcome", quote(escape_control(given.outcome or "OUTCOME"))]
    if given.potency != NOT_CHECKED:
        words += ["--potency", given.potency]
    for name in VERDICT_FIELDS:
        ids = getattr(given, name)
        words += [f"--{name}", ",".join(ids)] if ids else []
    for each in given.evidence:
        words += ["--evidence", quote(escape_control(each, len(each) + 1))]
    if given.note:
        words += ["--note", quote(escape_control(given.note, len(given.note) + 1))]
    if given.observed:
        words += ["--observed", quote(given.observed)]
    if given.replace is not None:
        words += ["--replace", str(given.replace)]
    return " ".join([*words, *last])


def _document(
    draft: DraftResult,
    given: ResultOptions,
    sent: SendResult | None,
    found: list[Diagnostic],
) -> dict[str, object]:
    summary = Summary.of(found)
    return {
        "thread_id": draft.test.history.thread_id,
        "test": _test_id(draft),
        "sent": sent is not None,
        "message": stored_json(sent.stored) if sent else None,
        "result": result_json(draft.result) if draft.result else None,
        "replaced": given.replace,
        "valid": not summary.errors,
        "summary": summary._asdict(),
        "violations": [each.to_json() for each in found],
    }


def _test_id(draft: DraftResult) -> str:
    """Return the test that the block is applied to: the ledger has the last word (R11)."""
    return (draft.entry.item_id if draft.entry else None) or draft.test.item.id


def _write(
    draft: DraftResult, given: ResultOptions, sent: SendResult | None, found: list[Diagnostic]
) -> None:
    if draft.is_known:
        print_message(f"{_test_id(draft)} has this result already. Nothing was sent.")
        return
    if sent is None:
        print_message(f"Not sent: {count_by_severity(Summary.of(found))}.", sys.stderr)
        return
    print_message(f"{_follows(draft, given)} Sent as message {sent.stored.id}.")
    if not given.evidence:
        print_hint("It has no evidence, so it is shown as claimed.")
    thread = thread_argument(draft.test.history.thread_id)
    print_hint(f"To publish it in the next version: `brenner compile {thread}`")


def _follows(draft: DraftResult, given: ResultOptions) -> str:
    """Return what was recorded and what follows: `T1 contradicts H1: changed (It changes).`"""
    outcome = given.outcome or ""
    described = draft.test.outcomes.get(outcome)
    shown = escape_control(f"{outcome} ({described})" if described else outcome)
    test_id = _test_id(draft)
    if given.potency == POTENCY_FAILED:
        return f"{test_id} failed its potency check, so nothing follows: {shown}."
    verdict = verdict_words(draft.result) if draft.result else ""
    return f"{test_id} {verdict or 'shows nothing about a hypothesis yet'}: {shown}."
