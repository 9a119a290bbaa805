"""Looking at everything that a project needs, and saying what is wrong and how to mend it.

Nothing is created. A store that is there is opened, as every command does that reads it; a write
is tried and taken back, where a home can take one back.
"""

import os
import re
from collections.abc import Iterator
from datetime import timedelta

import apsw

from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.model import ERROR, BrennerError
from brenner.mail.open import (
    AgentMailStore,
    PostgresStore,
    SqliteStore,
    Store,
    open_mailbox,
    store_of,
    store_option,
)
from brenner.workflows.doctor_mail import Visit, identity
from brenner.workflows.doctor_neighbours import neighbour_checks
from brenner.workflows.doctor_secrets import secrets_check
from brenner.workflows.doctor_serve import serve_checks
from brenner.workflows.left_behind import left_behind
from brenner.workflows.project_files import persisting_check, roster_check, source_text_check
from brenner.workflows.surroundings import (
    OK,
    PROBLEM,
    WARNING,
    Check,
    brenner_check,
    git_check,
    python_check,
    sqlite_check,
)

# What an advice says of the doctor, who is speaking here
_OF_DOCTOR = re.compile(r"[.;:] `brenner doctor`[^.]*\.")


def examine(visit: Visit) -> Iterator[Check]:
    """Every check, each as soon as it is made: some take their time in a large store."""
    return (check._replace(fix=own_advice(check.fix)) for check in _checks(visit))


def own_advice(fix: str | None) -> str | None:
    """An advice without the one to ask the doctor."""
    return _OF_DOCTOR.sub(".", fix) if fix else fix


def _checks(visit: Visit) -> Iterator[Check]:
    project = visit.project
    store = _store_of(project)
    yield python_check()
    yield brenner_check()
    yield sqlite_check(apsw.sqlite_lib_version())
    yield git_check(store.path if isinstance(store, SqliteStore) else None)
    yield from neighbour_checks()
    yield Check("project", OK, f"{project.folder} ({project.folder_from})")
    yield from _settings(project)
    if not any(found.severity is ERROR for found in project.diagnostics):
        yield roster_check(project)
        yield source_text_check(project)
        yield persisting_check(project)
    if visit.endpoint:
        yield from serve_checks(project, visit.endpoint)
    if isinstance(store, Check):
        yield store
        yield identity(visit, None)
    else:
        yield from _home(visit, store)
        yield from _left_behind(project)


def is_fine(checks: tuple[Check, ...]) -> bool:
    """Whether there is no problem; warnings are fine."""
    return all(check.status is not PROBLEM for check in checks)


def _home(visit: Visit, store: Store) -> Iterator[Check]:
    """What is looked at where the mail is; each home is imported when it is used."""
    yield secrets_check(visit.project, visit.endpoint.token if visit.endpoint else None)
    if isinstance(store, SqliteStore):
        from brenner.workflows.doctor_sqlite import examine_file

        yield from examine_file(visit, store.path)
    if isinstance(store, PostgresStore):
        from brenner.workflows.doctor_postgresql import examine_database

        yield from examine_database(visit, store)
    if isinstance(store, AgentMailStore):
        from brenner.workflows.doctor_agent_mail import examine_server

        yield from examine_server(visit, store)


def _left_behind(project: Project) -> Iterator[Check]:
    """Mail that nobody sees, as the project's home is another one; else nothing is said."""

    def messages() -> int:
        with open_mailbox(project, create=False) as mailbox:
            return mailbox.position()

    found = left_behind(project, messages, store_option(project, "--to"))
    if found:
        yield Check.of("left_behind", found)


def _store_of(project: Project) -> Store | Check:
    """Where to look, or why nowhere."""
    if any(found.severity is ERROR for found in project.diagnostics):
        detail = f"It was not looked at: `{SETTINGS_FILE}` may say where it is."
        return Check("store", WARNING, detail, f"Mend `{SETTINGS_FILE}` first.")
    try:
        return store_of(project)
    except BrennerError as error:
        return Check.of("store", error.diagnostic)


def _settings(project: Project) -> Iterator[Check]:
    for found in project.diagnostics:
        yield Check.of("settings", found)
    if project.diagnostics:
        return
    has_file = os.path.lexists(project.folder / SETTINGS_FILE)
    source = f"`{SETTINGS_FILE}`" if has_file else f"no `{SETTINGS_FILE}`, the defaults"
    hours = project.ack_deadline / timedelta(hours=1)
    words = f"{source}: the operator is `{project.operator}`, an ACK is due after {hours:g} h"
    yield Check("settings", OK, words)
