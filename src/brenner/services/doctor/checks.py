"""All checks of `brenner doctor`: what is wrong in a project, and how to fix it.

Nothing is created. An existing store is opened as by every command that reads it. A test write is
rolled back, in stores that can do so.
"""

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import apsw

from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes.publishing import GIT_MISSING, NOT_A_REPOSITORY
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, worst_first
from brenner.integrations.programs import BD, NTM, TMUX, find_program, run_program
from brenner.lint.context import read_source_text
from brenner.mail.open import (
    AgentMailStore,
    PostgresStore,
    SqliteStore,
    Store,
    open_mailbox,
    store_of,
    store_option,
)
from brenner.persist.git import Repository
from brenner.services.compile import read_project_source
from brenner.services.doctor.common import (
    OK,
    PROBLEM,
    WARNING,
    Check,
    brenner_check,
    files_matching,
    git_check,
    git_would_add,
    python_check,
    sqlite_check,
)
from brenner.services.doctor.server import serve_checks
from brenner.services.doctor.stores import DoctorContext, identity_check
from brenner.services.identity import SECRET, TOKEN
from brenner.services.init_project import mail_left_behind
from brenner.services.rosters import inspect_project_roster
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import escape_control, grouped

# Optional external programs: their paths and versions


_SECONDS = 3
_VERSION_OPTIONS = {NTM: "--version", TMUX: "-V", BD: "--version"}
_NOT_INSTALLED = {
    NTM: "not installed (optional); --spawn takes tmux then",
    TMUX: "not installed (optional); --spawn needs it, or ntm",
    BD: "not installed (optional); no bead is shown then",
}
_MOST_VERSION_CHARACTERS = 60


def integration_checks() -> Iterator[Check]:
    """Yield one check per optional program; a missing one is no fault."""
    for name, option in _VERSION_OPTIONS.items():
        path = find_program(name)
        if path is None:
            yield Check(name, OK, _NOT_INSTALLED[name])
            continue
        ran = run_program([path, option], _SECONDS)
        version_line = (
            ran.out.strip().partition("\n")[0].removeprefix(f"{name} ") if ran.succeeded else ""
        )
        version = (
            f"{escape_control(version_line, _MOST_VERSION_CHARACTERS)}, " if version_line else ""
        )
        yield Check(name, OK, f"{version}{escape_control(path)}")


# Secrets in files that git would commit


# Configuration files at the top of a project that often contain secrets
_CONFIG_FILES = (
    *(SETTINGS_FILE, ".env", ".envrc"),
    *(".mcp.json", ".codex/config.toml", ".gemini/settings.json"),
)
_MOST_BYTES = 1024 * 1024
_SHORTEST_TOKEN = 8  # characters; a shorter one could be an ordinary word
# A variable with a value, unless that is a reference to another variable
_VARIABLE_WITH_VALUE = re.compile(
    r"(?<!\$\{)(?<![\w$])(?:AGENT_MAIL_BEARER_TOKEN|HTTP_BEARER_TOKEN|PGPASSWORD"
    rf"|{TOKEN}|{SECRET})\b"
    r"[\"' \t]*[=:][ \t]*[\"']?[^\s\"'$]"
)
# A secret from `register_agent`. It may be in any file that an agent writes.
_CREDENTIAL_PATTERN = "brs_[A-Za-z0-9_-]{43}"
_MOST_NAMED = 5


def secrets_check(project: Project, token: str | None = None) -> Check:
    """Check that no secret is in a file that git would commit.

    `token` is the one of `brenner serve`.
    """
    found = [name for name in _CONFIG_FILES if _holds_secret(project, name, token or "")]
    known = (name for name in found if git_would_add(project.folder / name))
    committed = tuple(dict.fromkeys((*known, *files_matching(project.folder, _CREDENTIAL_PATTERN))))
    if committed:
        names = ", ".join(f"`{escape_control(name)}`" for name in committed[:_MOST_NAMED])
        names += f" and {len(committed) - _MOST_NAMED} more" if len(committed) > _MOST_NAMED else ""
        return Check(
            "secrets",
            WARNING,
            f"A password or token is in {names}, and git would commit it for everybody to read.",
            "Take it out, or let git ignore the file. A password belongs into `PGPASSWORD` or "
            f"`~/.pgpass`, a token into `AGENT_MAIL_BEARER_TOKEN` or `{TOKEN}`, the secret of "
            f"a name into `{SECRET}`. One that was committed already must be changed "
            "(`brenner agent secret NAME --new`).",
        )
    if found:
        return Check("secrets", OK, f"in {', '.join(found)}, which git does not take")
    return Check("secrets", OK, "no file of the project that was looked at holds one")


def _holds_secret(project: Project, name: str, own_token: str) -> bool:
    text = _read_start(project.folder / name)
    tokens = (project.agent_mail.token or "", own_token)
    if any(len(token) >= _SHORTEST_TOKEN and token in text for token in tokens):
        return True
    if re.search(_CREDENTIAL_PATTERN, text):
        return True
    if name == SETTINGS_FILE:
        return any(_has_password(each) for each in re.findall(r"[\"']([^\"'\n]*)[\"']", text))
    return bool(_VARIABLE_WITH_VALUE.search(text))


def _has_password(text: str) -> bool:
    address = parse_store(text)
    return isinstance(address, PostgresAddress) and address.has_password


def _read_start(file: Path) -> str:
    """Return the start of a file; empty if it cannot be read."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


# Checks of what the settings name: roster, source text, repository


_NO_SECTIONS = (
    "Give its headings numbers, as in `# §42 Counting`, or name another file as `source_text`."
)


def roster_check(project: Project) -> Check:
    """Check the roster and the presets in the project's file."""
    settings = inspect_project_roster(project)
    if settings.label is None:
        return Check("roster", OK, "none in the project's files; flags can give the roles")
    if not settings.found:
        words = (
            f"{grouped(settings.agents, 'agent')}, {grouped(settings.presets, 'preset')} of its own"
        )
        return Check("roster", OK, f"{settings.label}: {words}")
    worst, *others = sorted(settings.found, key=worst_first)
    check = Check.of("roster", worst)
    if not others:
        return check
    more = f" There is more: `brenner roster validate` lists {len(settings.found)} in all."
    return check._replace(detail=check.detail.removesuffix(".") + "." + more)


def source_text_check(project: Project) -> Check:
    """Check that the source text can be read, and has numbered sections to cite."""
    name = project.source_text
    text = read_project_source(project)
    if text is None:
        return Check("source_text", OK, f"`{SETTINGS_FILE}` names none; anchors are not looked up")
    if isinstance(text, Diagnostic):
        fix = f"Bring `{name}` back, or correct `source_text` in `{SETTINGS_FILE}`."
        return Check.of("source_text", text)._replace(fix=fix)
    source = read_source_text(text, name or "")
    if source.is_empty:
        words = f"`{name}` has no section with a number: no anchor can be looked up in it."
        return Check("source_text", WARNING, words, _NO_SECTIONS)
    pairs = zip(source.firsts, source.lasts, strict=True)
    count = sum(last - first + 1 for first, last in pairs)
    return Check("source_text", OK, f"`{name}`, {grouped(count, 'section')}")


def persisting_check(project: Project) -> Check:
    """Check that versions can be committed; a problem only if the settings require it."""
    wanted = project.persist.commit or project.persist.push
    try:
        repository = Repository.find(project.folder)
        repository.check(())
    except BrennerError as error:
        found = error.diagnostic
        if wanted:
            return Check.of("persisting", found)
        if found.code in (NOT_A_REPOSITORY, GIT_MISSING):  # `git_check` reports a missing git
            words = "no git repository: versions can be written to files, not committed"
            return Check("persisting", OK, words)
        return Check.of("persisting", found)._replace(status=WARNING)
    return Check("persisting", OK, f"versions can be committed in {repository.top}")


# The advice to run `brenner doctor`, which is pointless in its own output
_DOCTOR_ADVICE = re.compile(r"[.;:] `brenner doctor`[^.]*\.")


def run_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield every check as soon as it is done: some are slow in a large store."""
    return (check._replace(fix=without_doctor_advice(check.fix)) for check in _checks(context))


def without_doctor_advice(fix: str | None) -> str | None:
    """Return the fix without the advice to run `brenner doctor`."""
    return _DOCTOR_ADVICE.sub(".", fix) if fix else fix


def _checks(context: DoctorContext) -> Iterator[Check]:
    project = context.project
    store = _find_store(project)
    yield python_check()
    yield brenner_check()
    yield sqlite_check(apsw.sqlite_lib_version())
    yield git_check(store.path if isinstance(store, SqliteStore) else None)
    yield from integration_checks()
    yield Check("project", OK, f"{project.folder} ({project.folder_from})")
    yield from _settings_checks(project)
    if not any(found.severity is ERROR for found in project.diagnostics):
        yield roster_check(project)
        yield source_text_check(project)
        yield persisting_check(project)
    if context.endpoint:
        yield from serve_checks(project, context.endpoint)
    if isinstance(store, Check):
        yield store
        yield identity_check(context, None)
    else:
        yield from _store_checks(context, store)
        yield from _left_behind_check(project)


def is_fine(checks: tuple[Check, ...]) -> bool:
    """Return whether there is no problem; warnings are fine."""
    return all(check.status is not PROBLEM for check in checks)


def _store_checks(context: DoctorContext, store: Store) -> Iterator[Check]:
    """Yield the checks of the store; each backend is imported when it is used."""
    yield secrets_check(context.project, context.endpoint.token if context.endpoint else None)
    if isinstance(store, SqliteStore):
        from brenner.services.doctor.stores import check_sqlite_store

        yield from check_sqlite_store(context, store.path)
    if isinstance(store, PostgresStore):
        from brenner.services.doctor.stores import check_postgres_store

        yield from check_postgres_store(context, store)
    if isinstance(store, AgentMailStore):
        from brenner.services.doctor.stores import check_agent_mail_store

        yield from check_agent_mail_store(context, store)


def _left_behind_check(project: Project) -> Iterator[Check]:
    """Yield a warning if the project's own store has mail that its configured store lacks."""

    def messages() -> int:
        with open_mailbox(project, create=False) as mailbox:
            return mailbox.position()

    found = mail_left_behind(project, messages, store_option(project, "--to"))
    if found:
        yield Check.of("left_behind", found)


def _find_store(project: Project) -> Store | Check:
    """Return the store, or a check that explains why it is unknown."""
    if any(found.severity is ERROR for found in project.diagnostics):
        detail = f"It was not looked at: `{SETTINGS_FILE}` may say where it is."
        return Check("store", WARNING, detail, f"Mend `{SETTINGS_FILE}` first.")
    try:
        return store_of(project)
    except BrennerError as error:
        return Check.of("store", error.diagnostic)


def _settings_checks(project: Project) -> Iterator[Check]:
    for found in project.diagnostics:
        yield Check.of("settings", found)
    if project.diagnostics:
        return
    has_file = os.path.lexists(project.folder / SETTINGS_FILE)
    source = f"`{SETTINGS_FILE}`" if has_file else f"no `{SETTINGS_FILE}`, the defaults"
    hours = project.ack_deadline / timedelta(hours=1)
    words = f"{source}: the operator is `{project.operator}`, an ACK is due after {hours:g} h"
    yield Check("settings", OK, words)
