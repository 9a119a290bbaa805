"""Looking at everything that a project needs, and saying what is wrong and how to mend it.

Nothing is created. A store that is there is opened, as every command does that reads it; a write
is tried and taken back, where a home can take one back.
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
from brenner.integrations.programs import BD, NTM, TMUX, find, run
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
from brenner.services.compile import source_of
from brenner.services.doctor.common import (
    OK,
    PROBLEM,
    WARNING,
    Check,
    brenner_check,
    git_check,
    holding,
    python_check,
    sqlite_check,
    would_take,
)
from brenner.services.doctor.server import serve_checks
from brenner.services.doctor.stores import Visit, identity
from brenner.services.identity import SECRET, TOKEN
from brenner.services.init_project import left_behind
from brenner.services.rosters import look_at_project_roster
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import escape_control, grouped

# The programs beside ours, which nobody has to have: where they are, and which version.


_SECONDS = 3
_ASKED = {NTM: "--version", TMUX: "-V", BD: "--version"}
_WITHOUT = {
    NTM: "not installed (optional); --spawn takes tmux then",
    TMUX: "not installed (optional); --spawn needs it, or ntm",
    BD: "not installed (optional); no bead is shown then",
}
_MOST = 60


def neighbour_checks() -> Iterator[Check]:
    """One line each; that one is missing is no fault."""
    for name, option in _ASKED.items():
        path = find(name)
        if path is None:
            yield Check(name, OK, _WITHOUT[name])
            continue
        ran = run([path, option], _SECONDS)
        said = ran.out.strip().partition("\n")[0].removeprefix(f"{name} ") if ran.is_fine else ""
        version = f"{escape_control(said, _MOST)}, " if said else ""
        yield Check(name, OK, f"{version}{escape_control(path)}")


# Whether a password or a token lies in a file of the project that git would commit.


# Files in which people keep what their programs need to know, at the top of a project
_FILES = (
    *(SETTINGS_FILE, ".env", ".envrc"),
    *(".mcp.json", ".codex/config.toml", ".gemini/settings.json"),
)
_MOST_BYTES = 1024 * 1024
_SHORTEST = 8  # characters of a token that can be told from a word
# A variable that gets a value; one that stands for another variable is none.
_NAMED = re.compile(
    r"(?<!\$\{)(?<![\w$])(?:AGENT_MAIL_BEARER_TOKEN|HTTP_BEARER_TOKEN|PGPASSWORD"
    rf"|{TOKEN}|{SECRET})\b"
    r"[\"' \t]*[=:][ \t]*[\"']?[^\s\"'$]"
)
# A secret that `register_agent` has given. It may have got anywhere: agents write many files.
_OF_A_NAME = "brs_[A-Za-z0-9_-]{43}"
_MOST_NAMED = 5


def secrets_check(project: Project, token: str | None = None) -> Check:
    """What is secret belongs into the surroundings, or into a file that stays here.

    `token` is the one of a server of ours.
    """
    found = [name for name in _FILES if _holds_secret(project, name, token or "")]
    known = (name for name in found if would_take(project.folder / name))
    taken = tuple(dict.fromkeys((*known, *holding(project.folder, _OF_A_NAME))))
    if taken:
        names = ", ".join(f"`{escape_control(name)}`" for name in taken[:_MOST_NAMED])
        names += f" and {len(taken) - _MOST_NAMED} more" if len(taken) > _MOST_NAMED else ""
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
    text = _text(project.folder / name)
    tokens = (project.agent_mail.token or "", own_token)
    if any(len(token) >= _SHORTEST and token in text for token in tokens):
        return True
    if re.search(_OF_A_NAME, text):
        return True
    if name == SETTINGS_FILE:
        return any(_has_password(each) for each in re.findall(r"[\"']([^\"'\n]*)[\"']", text))
    return bool(_NAMED.search(text))


def _has_password(text: str) -> bool:
    address = parse_store(text)
    return isinstance(address, PostgresAddress) and address.has_password


def _text(file: Path) -> str:
    """The beginning of a file; nothing where there is none that can be read."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


# What the settings of a project lead to, for `brenner doctor`: roster, source text, repository.


_NO_SECTIONS = (
    "Give its headings numbers, as in `# §42 Counting`, or name another file as `source_text`."
)


def roster_check(project: Project) -> Check:
    """The roster and the presets of the project's file; who takes part is said elsewhere."""
    said = look_at_project_roster(project)
    if said.label is None:
        return Check("roster", OK, "none in the project's files; flags can give the roles")
    if not said.found:
        words = f"{grouped(said.agents, 'agent')}, {grouped(said.presets, 'preset')} of its own"
        return Check("roster", OK, f"{said.label}: {words}")
    worst, *others = sorted(said.found, key=worst_first)
    check = Check.of("roster", worst)
    if not others:
        return check
    more = f" There is more: `brenner roster validate` lists {len(said.found)} in all."
    return check._replace(detail=check.detail.removesuffix(".") + "." + more)


def source_text_check(project: Project) -> Check:
    """Whether the source text can be read, and has sections that one can cite."""
    name = project.source_text
    text = source_of(project)
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
    """Whether versions can be committed here; a problem only where the settings ask for it."""
    wanted = project.persist.commit or project.persist.push
    try:
        repository = Repository.find(project.folder)
        repository.check(())
    except BrennerError as error:
        found = error.diagnostic
        if wanted:
            return Check.of("persisting", found)
        if found.code in (NOT_A_REPOSITORY, GIT_MISSING):  # of git itself another check tells
            words = "no git repository: versions can be written to files, not committed"
            return Check("persisting", OK, words)
        return Check.of("persisting", found)._replace(status=WARNING)
    return Check("persisting", OK, f"versions can be committed in {repository.top}")


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
        from brenner.services.doctor.stores import examine_file

        yield from examine_file(visit, store.path)
    if isinstance(store, PostgresStore):
        from brenner.services.doctor.stores import examine_database

        yield from examine_database(visit, store)
    if isinstance(store, AgentMailStore):
        from brenner.services.doctor.stores import examine_server

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
