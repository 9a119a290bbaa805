"""`brenner check` with a store: the messages of a thread, or a file of an existing thread."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from brenner.cli.options import EXIT_INVALID, EXIT_OK
from brenner.cli.output import count_by_severity, styled, write_json, write_placed_diagnostics
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.config import find_project
from brenner.diagnostics.model import ERROR, BrennerError, Summary, worst_first
from brenner.mail.open import SqliteStore, store_of
from brenner.protocol.thread_ids import without_id_advice
from brenner.services.blame import check_thread
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brenner.cli.options import Settings
    from brenner.config import Project
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.messages import StoredMessage
    from brenner.protocol.validate import Report


def check(settings: Settings, thread_id: str) -> int:
    """Check the thread, write the report, and return the exit code."""
    with workspace_of(settings) as here:
        thread_id = find_thread(here, thread_id)
        checked = check_thread(here.mailbox, thread_id, here.project.operator)
        if here.project.evidence_pack:
            checked = [_with_evidence(here.project, *each) for each in checked]
    summary = _total_summary([report for _, report in checked])
    if settings.as_json:
        write_json(_document(thread_id, checked, summary))
    else:
        _write(thread_id, checked, summary)
    return EXIT_INVALID if summary.errors else EXIT_OK


def _with_evidence(
    project: Project, stored: StoredMessage, report: Report
) -> tuple[StoredMessage, Report]:
    """Return the report with what the message cites wrongly of the evidence pack (R31)."""
    from brenner.services.evidence import message_faults  # only with an evidence pack

    found = () if stored.is_sealed else message_faults(project, stored.message)
    return stored, _add_violations(report, found)


def with_evidence_faults(report: Report, text: str, settings: Settings) -> Report:
    """Return the report of a message file with what it cites wrongly of the project's pack."""
    from brenner.protocol.messages import parse_message_file
    from brenner.services.evidence import message_faults

    try:
        project = find_project(settings.project, os.environ, settings.store)
    except BrennerError:  # the check itself needs no project
        return report
    file = parse_message_file(text)
    faults = [each.moved(file.body_line - 1) for each in message_faults(project, file.message)]
    if any(each.severity is ERROR for each in faults):
        report = report._replace(corrected=None)  # no correction of the text alone helps
    return _add_violations(report, faults)


def _add_violations(report: Report, found: Iterable[Diagnostic]) -> Report:
    both = sorted((*report.violations, *found), key=worst_first)
    return report._replace(violations=tuple(both))


def _total_summary(reports: Sequence[Report]) -> Summary:
    return Summary.of(found for report in reports for found in report.violations)


def _document(
    thread_id: str, checked: Sequence[tuple[StoredMessage, Report]], summary: Summary
) -> dict[str, object]:
    return {
        "thread_id": thread_id,
        "valid": not summary.errors,
        "summary": summary._asdict(),
        "results": [_message_json(*each) for each in checked],
    }


def _message_json(stored: StoredMessage, report: Report) -> dict[str, object]:
    message = stored.message
    about = {"message_id": stored.id, "from": message.sender, "subject": message.subject}
    return about | report.to_json()


def _write(
    thread_id: str, checked: Sequence[tuple[StoredMessage, Report]], summary: Summary
) -> None:
    """Write the diagnostics of all messages, worst first, then the verdict on the thread."""
    out = sys.stdout
    found = [
        (f"message {stored.id}", one) for stored, report in checked for one in report.violations
    ]
    write_placed_diagnostics(sorted(found, key=lambda each: worst_first(each[1])[0]), out)
    if summary.errors:
        verdict = styled("not valid", out, fg="magenta", bold=True)
    else:
        verdict = styled("valid", out, fg="green", bold=True)
    count = len(checked)
    messages = f"{count} message{'s' * (count != 1)}"
    out.write(
        f"{escape_control(thread_id)}: {verdict}: {count_by_severity(summary)} ({messages})\n"
    )
    if summary.errors:
        out.write("  Stored mail cannot be changed: its author must send a corrected message.\n")


def without_needless_advice(report: Report, settings: Settings) -> Report:
    """Return the report without advice on the thread's ID, if the project has the thread already.

    Only a store in a file is read: a check needs no server.
    """
    try:
        store = store_of(find_project(settings.project, os.environ, settings.store))
        if not isinstance(store, SqliteStore) or not store.is_there():
            return report
        with store.open() as mailbox:
            is_known = mailbox.thread(report.thread_id or "", limit=1).position > 0
    except BrennerError:  # the check itself needs no store
        return report
    return report._replace(violations=without_id_advice(report.violations)) if is_known else report
