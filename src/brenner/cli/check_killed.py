"""`brenner check` in a project: hypotheses that resemble a killed one (R30)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brenner.config import find_project
from brenner.diagnostics.model import BrennerError, worst_first
from brenner.diagnostics.truncate import truncate_for_message
from brenner.protocol.messages import parse_message_file

if TYPE_CHECKING:
    from brenner.cli.options import Settings
    from brenner.config import Project
    from brenner.protocol.validate import Report
    from brenner.services.workspace import Workspace


def with_resembling_killed(report: Report, text: str, settings: Settings) -> Report:
    """Return the report with the hypotheses that resemble a killed one of the project.

    The check itself needs neither a project nor a store, so nothing is reported without them.
    """
    try:
        project = find_project(settings.project, os.environ, settings.store)
        return _compared(report, text, project, settings.actor) if project.is_known else report
    except BrennerError:
        return report


def _compared(report: Report, text: str, project: Project, actor: str | None) -> Report:
    from brenner.services.killed_hypotheses import message_warnings  # not outside a project

    file = parse_message_file(text)
    with _workspace_of_files(project, actor) as here:
        found = message_warnings(here, file.message.body, report.thread_id or "")
    moved = (each.moved(file.body_line - 1) for each in found)
    violations = sorted((*report.violations, *moved), key=worst_first)
    return report._replace(violations=truncate_for_message(violations))


def _workspace_of_files(project: Project, actor: str | None) -> Workspace:
    """Return the project with its mail if that is in a file, else with `artifacts/` alone.

    A check needs no server.
    """
    from brenner.mail.memory import MemoryMailbox
    from brenner.mail.open import SqliteStore, store_of
    from brenner.services.workspace import Workspace, workspace_in

    store = store_of(project)
    if isinstance(store, SqliteStore) and store.is_there():
        return workspace_in(project, actor, create=False)
    return Workspace(MemoryMailbox(), project, project.operator)
