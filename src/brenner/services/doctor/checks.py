"""All checks of `brenner doctor`: what is wrong in a project, and how to fix it.

Nothing is created. An existing store is opened as by every command that reads it. A test write is
rolled back, in stores that can do so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import apsw

from brenner import __version__
from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.publishing import GIT_MISSING, NOT_A_REPOSITORY
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, worst_first
from brenner.integrations.programs import BD, NTM, TMUX, find_program, run_program
from brenner.lazy_pattern import lazy_pattern
from brenner.lint.context import read_source_text
from brenner.mail.agent_mail.client import Client
from brenner.mail.open import SqliteStore, open_mailbox, store_of, store_option
from brenner.persist.git import Repository
from brenner.program_settings import SECRET, TOKEN
from brenner.services.compile import read_project_source
from brenner.services.doctor.programs import agent_program_checks
from brenner.services.doctor.stores import (
    PROBLEM,
    WARNING,
    Check,
    identity_check,
    milliseconds,
    named_check,
    nearest_existing,
    run_rows,
    store_checks,
)
from brenner.services.identity import BRENNER_SERVER, identify_server, is_local_host
from brenner.services.init_project import mail_left_behind
from brenner.services.rosters import inspect_project_roster
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import escape_control, grouped

if TYPE_CHECKING:
    from brenner.mail.open import Store
    from brenner.services.doctor.stores import CheckStatus, DoctorContext, Finding

# The advice to run `brenner doctor`, which is pointless in its own output
_DOCTOR_ADVICE = "`brenner doctor`"
_ADVICE_CLAUSE = lazy_pattern(r"[;:] `brenner doctor`[^.]*\.?$")
_SENTENCE_GAP = lazy_pattern(r"(?<=\.) ")


def run_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield every check as soon as it is done: some are slow in a large store."""
    for check in chain(_checks(context), agent_program_checks(context)):
        yield check._replace(fix=without_doctor_advice(check.fix))


def without_doctor_advice(fix: str | None) -> str | None:
    """Return the fix without the sentences and clauses that advise to run `brenner doctor`."""
    if not fix or _DOCTOR_ADVICE not in fix:
        return fix
    sentences = (
        each if each.startswith(("To ", "For ")) else _ADVICE_CLAUSE.sub(".", each)
        for each in _SENTENCE_GAP.split(fix)
    )
    kept = [each for each in sentences if _DOCTOR_ADVICE not in each]
    return " ".join(kept) or None


def _checks(context: DoctorContext) -> Iterator[Check]:
    project = context.project
    store = _find_store(project)
    store_file = store.path if isinstance(store, SqliteStore) else None
    yield from run_rows(
        {
            "python": python_check,
            "brenner": lambda: f"{__version__}, {Path(__file__).parents[2]}",
            "sqlite": lambda: sqlite_check(apsw.sqlite_lib_version()),
            "git": lambda: _git_check(store_file),
            **{name: partial(_program_check, name) for name in _PROGRAMS},
            "project": lambda: _project_check(project),
        }
    )
    yield from _settings_checks(project)
    if context.url is not None:
        yield from serve_checks(context)
    if isinstance(store, (Check, Diagnostic)):
        yield named_check("store", store)
        yield named_check("identity", identity_check(context, None))
        return
    yield named_check("secrets", secrets_check(project, context.token))
    yield from store_checks(context, store)
    yield from _left_behind_check(project)


def _project_check(project: Project) -> Finding:
    if project.is_known:
        return f"{project.folder} ({project.folder_from})"
    return Check.of(codes.NOT_A_PROJECT.at(folder=str(project.folder)))._replace(status=WARNING)


def _find_store(project: Project) -> Store | Check | Diagnostic:
    """Return the store, or why it is unknown."""
    if any(found.severity is ERROR for found in project.diagnostics):
        detail = f"Not checked: `{SETTINGS_FILE}` may name another store."
        return Check(WARNING, detail, f"Fix `{SETTINGS_FILE}` first.")
    try:
        return store_of(project)
    except BrennerError as error:
        return error.diagnostic


def _left_behind_check(project: Project) -> Iterator[Check]:
    """Yield a warning if the project's own store has mail that its configured store lacks."""

    def messages() -> int:
        with open_mailbox(project, create=False) as mailbox:
            return mailbox.position()

    found = mail_left_behind(project, messages, store_option(project, "--to"))
    if found:
        yield named_check("left_behind", found)


# Programs and libraries


_OLDEST_PYTHON = (3, 11)
# Older versions can damage a file in WAL mode when two connections write and checkpoint at once.
_OLDEST_SQLITE = (3, 51, 3)
_GIT_SECONDS = 20
_PROGRAM_SECONDS = 3
_MOST_VERSION_CHARACTERS = 60
# Optional external programs: the option that prints the version, and what is lost without them
_PROGRAMS = {
    NTM: ("--version", "`--spawn` uses tmux instead"),
    TMUX: ("-V", "`--spawn` needs tmux or ntm"),
    BD: ("--version", "beads are not shown"),
}


def python_check() -> Finding:
    """Check the Python version."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Check(PROBLEM, f"Python {found} is too old.", f"Use {oldest} or newer.")
    return f"{found}, {sys.executable}"


def sqlite_check(library: str) -> Finding:
    """Check the version of the SQLite library that apsw contains."""
    numbers = tuple(int(part) for part in library.split(".") if part.isdecimal())
    if numbers >= _OLDEST_SQLITE:
        return library
    oldest = ".".join(map(str, _OLDEST_SQLITE))
    return Check(
        PROBLEM,
        f"SQLite {library} can damage a store that several processes write to.",
        f"Upgrade apsw, which contains SQLite {oldest} or newer: `pip install --upgrade apsw`.",
    )


def _git_check(store: Path | None) -> Finding:
    """Check that git is installed, and that it would not commit the store."""
    ran = _git(Path("/"), "--version")
    if ran is None or ran.returncode:
        fix = "Install git. Without it mail works, but artifacts cannot be committed."
        return Check(WARNING, "Cannot run git.", fix)
    number = ran.stdout.strip().removeprefix("git version ")
    if store and nearest_existing(store) == store and _git_would_add(store):
        return Check(
            WARNING,
            f"{number}; git does not ignore the store and would commit the mail as a binary file.",
            f"Write `{store.name}*` into a `.gitignore` beside it. If git already tracks it, run "
            f"`git rm --cached {quote(store.name)}`.",
        )
    return number


def _git_would_add(file: Path) -> bool:
    """Return whether a file is in a repository that does not ignore it."""
    ignored = _git(file.parent, "check-ignore", "--quiet", "--", file.name)
    # 0: it is ignored; 1: it is not; else there is no repository, or none that git trusts.
    return ignored is not None and ignored.returncode == 1


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Run git; return None if it cannot be run. Programs in the repository's config are not run."""
    program = shutil.which("git")
    if program is None:
        return None
    try:
        return subprocess.run(  # noqa: S603
            [program, "-c", "core.fsmonitor=false", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _program_check(name: str) -> str:
    """Return the version and path of an optional program; a missing one is no fault."""
    option, loss = _PROGRAMS[name]
    path = find_program(name)
    if path is None:
        return f"not installed (optional); {loss}"
    ran = run_program([path, option], _PROGRAM_SECONDS)
    line = ran.out.strip().partition("\n")[0].removeprefix(f"{name} ") if ran.succeeded else ""
    found = f"{escape_control(line, _MOST_VERSION_CHARACTERS)}, " if line else ""
    return f"{found}{escape_control(path)}"


# The settings, and what they name: roster, source text, repository


_NO_SECTIONS = "Number its headings, as in `# §42 Counting`, or name another file as `source_text`."


def _settings_checks(project: Project) -> Iterator[Check]:
    for found in project.diagnostics:
        yield named_check("settings", found)
    if any(found.severity is ERROR for found in project.diagnostics):
        return
    if not project.diagnostics:
        has_file = os.path.lexists(project.folder / SETTINGS_FILE)
        source = f"`{SETTINGS_FILE}`" if has_file else f"no `{SETTINGS_FILE}`, defaults"
        hours = project.ack_deadline / timedelta(hours=1)
        words = f"{source}: the operator is `{project.operator}`, an ACK is due after {hours:g} h"
        yield named_check("settings", words)
    yield named_check("roster", _roster_check(project))
    yield named_check("source_text", _source_text_check(project))
    if project.evidence_pack:
        yield named_check("evidence_pack", _evidence_pack_check(project))
    yield named_check("persisting", _persisting_check(project))


def _roster_check(project: Project) -> Finding:
    """Check the roster and the presets in the project's file."""
    settings = inspect_project_roster(project)
    if settings is None:
        return "none in the project's files; give roles as options"
    if not settings.found:
        agents = grouped(len(settings.stated.entries), "agent")
        presets = grouped(len(settings.presets), "preset")
        return f"{settings.label}: {agents}, {presets}"
    worst, *others = sorted(settings.found, key=worst_first)
    if not others:
        return worst
    check = Check.of(worst)
    more = f" All {len(settings.found)} problems: `brenner roster validate`."
    return check._replace(detail=check.detail.removesuffix(".") + "." + more)


def _source_text_check(project: Project) -> Finding:
    """Check that the source text can be read, and has numbered sections to cite."""
    name = project.source_text
    text = read_project_source(project)
    if text is None:
        return f"none in `{SETTINGS_FILE}`; anchors are not checked"
    if isinstance(text, Diagnostic):
        fix = f"Restore `{name}`, or correct `source_text` in `{SETTINGS_FILE}`."
        return Check.of(text)._replace(fix=fix)
    source = read_source_text(text, name or "")
    if source.is_empty:
        words = f"`{name}` has no numbered sections, so anchors cannot be checked."
        return Check(WARNING, words, _NO_SECTIONS)
    pairs = zip(source.firsts, source.lasts, strict=True)
    count = sum(last - first + 1 for first, last in pairs)
    return f"`{name}`, {grouped(count, 'section')}"


def _evidence_pack_check(project: Project) -> Finding:
    """Check that the evidence pack can be read, and that its records are sound."""
    from brenner.services.evidence import read_pack  # only with an evidence pack

    parsed = read_pack(project)
    if parsed is None:
        return "none"
    worst = sorted(parsed.diagnostics, key=worst_first)
    if worst:
        return worst[0]
    return f"`{parsed.pack.path}`, {grouped(len(parsed.pack.records), 'record')}"


def _persisting_check(project: Project) -> Finding:
    """Check that versions can be committed; a problem only if the settings require it."""
    try:
        repository = Repository.find(project.folder)
        repository.check(())
    except BrennerError as error:
        found = error.diagnostic
        if project.persist.commit or project.persist.push:
            return found
        if found.code in (NOT_A_REPOSITORY, GIT_MISSING):  # `_git_check` reports a missing git
            return "no git repository: versions can be saved to files, not committed"
        return Check.of(found)._replace(status=WARNING)
    return f"versions can be committed in {repository.top}"


# Secrets in files that git would commit


# Configuration files at the top of a project that often contain secrets
_CONFIG_FILES = (
    *(SETTINGS_FILE, ".env", ".envrc"),
    *(".mcp.json", ".codex/config.toml", ".gemini/settings.json"),
)
_MOST_BYTES = 1024 * 1024
_SHORTEST_TOKEN = 8  # characters; a shorter one could be an ordinary word
# A variable with a value, unless that is a reference to another variable
_VARIABLE_WITH_VALUE = lazy_pattern(
    r"(?<!\$\{)(?<![\w$])(?:AGENT_MAIL_BEARER_TOKEN|HTTP_BEARER_TOKEN|PGPASSWORD"
    rf"|{TOKEN}|{SECRET})\b"
    r"[\"' \t]*[=:][ \t]*[\"']?[^\s\"'$]"
)
# The key of a model service with a value: `env` of a program in the settings is tempting.
_MODEL_KEY = lazy_pattern(
    r"(?<!\$\{)(?<![\w$])(?:ANTHROPIC_API_KEY|ANTHROPIC_AUTH_TOKEN|CLAUDE_CODE_OAUTH_TOKEN|CODEX_API_KEY"
    r"|OPENAI_API_KEY|GEMINI_API_KEY|GOOGLE_API_KEY)\b[\"' \t]*[=:][ \t]*[\"']?[^\s\"'$]"
)
# A secret from `register_agent`. It may be in any file that an agent writes.
_CREDENTIAL_PATTERN = "brs_[A-Za-z0-9_-]{43}"
_MOST_NAMED = 5


def secrets_check(project: Project, token: str | None = None) -> Finding:
    """Check that no secret is in a file that git would commit.

    `token` is the one of `brenner serve`.
    """
    found = [name for name in _CONFIG_FILES if _holds_secret(project, name, token or "")]
    known = [name for name in found if _git_would_add(project.folder / name)]
    committed = tuple(dict.fromkeys((*known, *_files_with_credentials(project.folder))))
    if committed:
        names = ", ".join(f"`{escape_control(name)}`" for name in committed[:_MOST_NAMED])
        names += f" and {len(committed) - _MOST_NAMED} more" if len(committed) > _MOST_NAMED else ""
        return Check(
            WARNING,
            f"{names} contains a password or token, and git would commit it.",
            "Remove it, or let git ignore the file. Put a password into `PGPASSWORD` or "
            f"`~/.pgpass`, a token into `AGENT_MAIL_BEARER_TOKEN` or `{TOKEN}`, an agent's secret "
            f"into `{SECRET}`. If it was committed, replace it (`brenner agent secret NAME "
            "--new`).",
        )
    if found:
        return f"in {', '.join(found)}, which git ignores"
    return "none in the checked files of the project"


def _files_with_credentials(folder: Path) -> Iterator[str]:
    """Yield the text files with a secret that git tracks, has staged or would add."""
    command = ("grep", "-l", "-I", "-z", "--extended-regexp")
    for where in ("--untracked", "--cached"):
        ran = _git(folder, *command, where, "-e", _CREDENTIAL_PATTERN)
        yield from filter(None, ran.stdout.split("\0") if ran else ())


def _holds_secret(project: Project, name: str, own_token: str) -> bool:
    text = _read_start(project.folder / name)
    tokens = (project.agent_mail.token or "", own_token)
    if any(len(token) >= _SHORTEST_TOKEN and token in text for token in tokens):
        return True
    if re.search(_CREDENTIAL_PATTERN, text) or _MODEL_KEY.search(text):
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


# Whether agents can reach the mail over MCP: a round trip to `brenner serve`, if it runs
#
# A server is optional, so it is no fault if none runs. Another server at its address is reported,
# because agents would send their mail there.


_PROBE_SECONDS = 1.0  # for an optional server; a requested one may take longer
_REQUESTED_SECONDS = 10.0
_OWN_TOOL = "brenner_check"  # only Brenner has it
_THEIR_TOOL = "fetch_inbox"
_OTHER_PORT = (
    "Use another port for this project: `brenner serve --port N`, and for its agents `brenner "
    "agent config --client NAME --url http://127.0.0.1:N/mcp/`."
)
_SET_TOKEN = f"Set {TOKEN} to the token that the server was started with."
_TOKEN_WITHHELD = (
    f"{TOKEN} was not sent, because the server does not identify itself as `brenner serve`. "
    f"{_OTHER_PORT}"
)


def serve_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield the check of the library that a server needs, then that of the server."""
    yield named_check("mcp", _library_check())
    url = context.url or ""
    seconds = _REQUESTED_SECONDS if context.is_url_requested else _PROBE_SECONDS
    # The token is sent only to a Brenner server.
    is_withheld = bool(context.token) and identify_server(url, seconds) != BRENNER_SERVER
    token = None if is_withheld else context.token
    try:
        with closing(Client(url, token, seconds=seconds)) as client:
            found = _server_check(context, client)
    except BrennerError as error:
        fix = _TOKEN_WITHHELD if is_withheld else _SET_TOKEN
        found = _failure_check(context, error.diagnostic, fix)
    yield named_check("serve", found)


def _library_check() -> Finding:
    """Check that the library is installed, without importing it, which would be slow."""
    try:
        found = version("mcp") if find_spec("mcp") else None
    except PackageNotFoundError:
        found = None
    if found is None:
        return Check(
            WARNING,
            "The package `mcp` is not installed. `brenner serve` and `brenner mcp` need it.",
            "Install Brenner again with its dependencies: `pip install --upgrade brenner`.",
        )
    return f"{found}, for `brenner serve` and `brenner mcp`"


def _server_check(context: DoctorContext, client: Client) -> Finding:
    """Check which project a Brenner server serves, and measure a round trip.

    Another server is not asked for the project, because it would create one.
    """
    if not client.offers(_OWN_TOOL):
        who = "an Agent Mail server" if client.offers(_THEIR_TOOL) else "another MCP server"
        words = f"{client.where} is {who}, not `brenner serve`"
        if context.is_url_requested:
            return Check(PROBLEM, f"{words}.", _OTHER_PORT)
        return f"{words}. {_OTHER_PORT}"
    started = time.perf_counter()
    answer = client.call("health_check", {})
    taken = milliseconds(time.perf_counter() - started)
    health = answer if isinstance(answer, Mapping) else {}
    served, folder = str(health.get("project", "")), context.project.folder
    if os.path.realpath(served) != os.path.realpath(folder):
        return Check(
            _fault_status(context),
            f"{client.where} serves `{escape_control(served)}`, not this project. Agents that "
            "connect there do not find this project's mail.",
            "Stop that server, or run one per project: `brenner serve --port N`, and "
            "`brenner agent config --client NAME --url URL` for its agents.",
        )
    client.call("ensure_project", {"human_key": str(folder)})
    details = [f"{key} {health[key]}" for key in ("version", "identity") if health.get(key)]
    known = f" ({escape_control(', '.join(details))})" if details else ""
    words = f"{client.where} serves this project{known}; a round trip takes {taken}"
    parts = urlsplit(context.url or "")
    if parts.scheme == "https" or is_local_host(parts.hostname or ""):
        return words
    return Check(
        WARNING,
        f"{words}. It is not encrypted: others on the network can read mail and secrets.",
        "Put TLS in front of the server, or use a tunnel such as `ssh -L`.",
    )


def _failure_check(context: DoctorContext, found: Diagnostic, token_fix: str) -> Finding:
    """Convert a connection failure to a check; without a requested server, some are no fault."""
    if not context.is_url_requested:
        if found.code == codes.SERVER_UNREACHABLE:
            return f"not running at {context.url} (optional); start it with `brenner serve`"
        if found.code == codes.SERVER_NONSENSE:
            return f"another program answers at {context.url}. {_OTHER_PORT}"
    if found.code == codes.SERVER_UNREACHABLE:
        fix = "Start it with `brenner serve`, or correct the address."
        return Check.of(found)._replace(fix=fix)
    fix = token_fix if found.code == codes.SERVER_DENIED else _OTHER_PORT
    return Check.of(found)._replace(status=_fault_status(context), fix=fix)


def _fault_status(context: DoctorContext) -> CheckStatus:
    """Return the status if agents cannot reach the server."""
    return PROBLEM if context.is_url_requested else WARNING
