"""Checks of `brenner doctor` for agents' programs: installed, current, logged in and connected.

What the project does not use is reported, but is never a warning.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from shlex import quote
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from brenner.config import SETTINGS_FILE
from brenner.diagnostics.model import BrennerError
from brenner.integrations.programs import RunResult, run_program
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.open import SqliteStore, open_mailbox, store_of
from brenner.named_tuple import NamedTuple
from brenner.program_settings import (
    CLAUDE_CODE,
    CODEX_CLI,
    GEMINI_CLI,
    KNOWN_PROGRAMS,
    merge_programs,
)
from brenner.services.client_settings import OTHER, ClientConnection, client_named
from brenner.services.client_settings_files import (
    SettingsDifference,
    SettingsState,
    settings_difference,
)
from brenner.services.doctor.logins import (
    Login,
    Surroundings,
    find_claude_login,
    find_codex_login,
    find_gemini_login,
)
from brenner.services.doctor.stores import WARNING, Check, Finding, named_check
from brenner.services.identity import is_local_host
from brenner.services.rosters import list_presets, read_project_settings
from brenner.text import escape_control, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from brenner.config import Project
    from brenner.diagnostics.model import Diagnostic
    from brenner.program_settings import ProgramSettings
    from brenner.services.doctor.stores import DoctorContext

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH113, PTH118, PTH119

_VERSION_SECONDS = 20  # Gemini takes three seconds on an idle machine, ten on a busy one
_MOST_CHARACTERS = 80  # of what a program prints
_VERSION = lazy_pattern(r"(?<![\w.])(\d+)\.(\d+)\.(\d+)(?![\w.]|-\w)")
_NO_DAEMON = "--no-daemon"


class _Client(NamedTuple):
    """One of the known programs. `tested` is the version that Brenner was tested with."""

    title: str
    executable: str
    package: str
    tested: str
    find_login: Callable[[Surroundings], Login]
    arguments: tuple[str, ...] = ("--version",)


_CLIENTS: Mapping[str, _Client] = {
    CLAUDE_CODE: _Client(
        *("Claude Code", "claude", "@anthropic-ai/claude-code", "2.1.197", find_claude_login)
    ),
    # A Codex that does not know `--no-daemon` fails here as it would in a terminal.
    CODEX_CLI: _Client(
        *("Codex", "codex", "@openai/codex", "0.169.0", find_codex_login),
        arguments=(_NO_DAEMON, "--version"),
    ),
    GEMINI_CLI: _Client(
        *("Gemini CLI", "gemini", "@google/gemini-cli", "0.61.0", find_gemini_login)
    ),
}


class _KnownFault(NamedTuple):
    """What goes wrong with the versions of a program before one, and what helps without it."""

    driver: str
    before: tuple[int, int, int]
    what: str
    otherwise: str


_KNOWN_FAULTS = (
    _KnownFault(
        CLAUDE_CODE,
        (2, 1, 119),
        "may send the text of a variable instead of its value, so a server does not accept its "
        "token or secret",
        "Or connect it without variables: `brenner agent config --client claude-code --stdio`.",
    ),
)
# No updates, no statistics and no network, only to print a version
_NOWHERE = "http://127.0.0.1:9"
_OFFLINE: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "GEMINI_CLI_NO_RELAUNCH": "true",  # one process instead of two
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _NOWHERE),
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _NOWHERE),
}
# Gemini and Codex write into their folders even then. They get an empty one, which is removed.
_OWN_FOLDERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME")


class _Program(NamedTuple):
    """A program of agents. `used_by` says where the project uses it; else it is empty.

    `paths` are the paths of the words that start its commands, None for a missing one. With
    `is_needed` the project's files name it.
    """

    name: str
    settings: ProgramSettings
    client: _Client | None
    paths: Mapping[str, str | None]
    used_by: str
    is_needed: bool

    @property
    def missing(self) -> str | None:
        """The first word that names no program."""
        return next((word for word, path in self.paths.items() if path is None), None)

    @property
    def path(self) -> str:
        """The path of the program that `run` starts, else `command`."""
        return next((path for path in self.paths.values() if path), "")

    @property
    def prints_version(self) -> bool:
        """Whether it can be asked for its version: a known program, not a wrapper of it."""
        return bool(self.client and os.path.basename(self.path) == self.client.executable)


def agent_program_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield the checks of the known programs and of those that the project adds."""
    project, written = context.project, _written_settings(context)
    named, registered = _named_programs(project, written), _registered_programs(project)
    programs = [
        _find(project, name, settings)._replace(
            used_by=named.get(name) or registered.get(name, ""), is_needed=name in named
        )
        for name, settings in merge_programs(project.programs).items()
    ]
    results = _run_versions(project.folder, programs)
    for program in programs:
        shown = escape_control(program.name)
        if not program.paths:
            yield named_check(shown, _no_command_check(shown))
            continue
        if program.missing is not None:
            yield named_check(shown, _missing_check(program, program.missing))
            continue
        yield named_check(shown, _version_check(program, results.get(program.path)))
        if program.client:
            yield named_check(f"{shown}_login", _login_check(project, program, program.client))
        if program.name in written:
            found = written[program.name]
            yield named_check(f"{shown}_settings", _settings_check(context, program.name, found))


# Which programs the project uses


def _named_programs(project: Project, written: _Written) -> dict[str, str]:
    """Return the programs that the project's files name, and where."""
    settings = read_project_settings(project.folder)
    entries = list(settings.stated.entries) if settings else []
    presets = [preset for preset, _, is_default in list_presets(project)[0] if is_default]
    entries += [entry for preset in presets for entry in preset.entries]
    return {
        **{name: "in its own settings file" for name in written if _is_written(written[name])},
        **{entry.program: "in the roster" for entry in entries if entry.program},
        **{name: f"in `{SETTINGS_FILE}`" for name, _ in project.programs},
    }


def _registered_programs(project: Project) -> dict[str, str]:
    """Return the programs of the agents in a store on this machine.

    The agents in a store behind a server are more likely to run elsewhere.
    """
    with suppress(BrennerError):  # a store that cannot be read is another check
        store = store_of(project)
        if isinstance(store, SqliteStore) and os.path.isfile(store.path):
            with open_mailbox(project, create=False) as mailbox:
                return {each.program: f"by agent `{each.name}`" for each in mailbox.agents()}
    return {}


# Whether they are installed, and which version


def _find(project: Project, name: str, settings: ProgramSettings) -> _Program:
    """Find a program on its own PATH. A relative path is relative to the project's folder."""
    search = dict(settings.env).get("PATH", os.environ.get("PATH", os.defpath))
    words = dict.fromkeys(command[0] for command in (settings.run, settings.command) if command)
    paths = {
        word: shutil.which(
            os.path.join(project.folder, word) if os.sep in word else word, path=search
        )
        for word in words
    }
    return _Program(name, settings, _CLIENTS.get(settings.driver or ""), paths, "", False)


def _missing_check(program: _Program, word: str) -> Finding:
    """Report a missing program: a warning only if the project's files name it.

    A registered agent may run on another machine.
    """
    client, name = program.client, escape_control(program.name)
    shown = escape_control(word)
    is_own = client is None or word != client.executable
    install = f"npm install -g {client.package}" if client else ""
    if not program.is_needed:
        use = f"used {program.used_by}" if program.used_by else "optional"
        return f"not installed ({use}); to install it: `{install}`"
    where = "does not exist or cannot be run" if os.sep in word else "is not on PATH"
    key = "run" if program.settings.run[:1] == (word,) else "command"
    correct = f"correct `{key}` of `{name}` in `{SETTINGS_FILE}`"
    return Check(
        WARNING,
        f"`{shown}` {where}. The program `{name}` is used {program.used_by}.",
        f"Install `{shown}`, or {correct}."
        if is_own
        else f"Install it: `{install}`. If it is installed, add its folder to PATH.",
    )


def _no_command_check(shown: str) -> Check:
    return Check(
        WARNING,
        f"The program `{shown}` has neither `run` nor `command`, so Brenner cannot start it.",
        f"Add `run` or `command` to `{shown}` in `{SETTINGS_FILE}`.",
    )


def _run_versions(folder: Path, programs: list[_Program]) -> dict[str, RunResult]:
    """Run all programs side by side, and return what they printed by path."""
    results: dict[str, RunResult] = {}

    def run(path: str, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        results[path] = run_program([path, *arguments], _VERSION_SECONDS, folder, environment)

    with TemporaryDirectory(prefix="brenner-doctor-", ignore_cleanup_errors=True) as empty:
        own = {**_OFFLINE, **dict.fromkeys(_OWN_FOLDERS, empty)}
        # Daemon threads: after Ctrl-C nothing waits for them.
        threads = {
            each.path: Thread(
                target=run,
                args=(each.path, each.client.arguments, {**dict(each.settings.env), **own}),
                daemon=True,
            )
            for each in programs
            if each.client and each.prints_version and each.missing is None
        }
        for thread in threads.values():
            thread.start()
        for thread in threads.values():
            thread.join()
    return results


def _version_check(program: _Program, ran: RunResult | None) -> Finding:
    """Report the version, and what is known to go wrong with it."""
    client, path = program.client, escape_control(program.path)
    if client is None or ran is None:
        return path
    if not ran.succeeded:
        return _for_use(program, _failure_check(program, client, ran))
    found = _VERSION.search(ran.out)
    if found is None:
        words = escape_control(ran.out.strip().partition("\n")[0], _MOST_CHARACTERS)
        return f"{path}; its version is unknown: `{words}`"
    numbers, version = tuple(map(int, found.groups())), found[0]
    for fault in _KNOWN_FAULTS:
        if _CLIENTS[fault.driver] is client and numbers < fault.before:
            fixed = ".".join(map(str, fault.before))
            detail = f"{client.title} {version} {fault.what}. Fixed in {fixed}."
            fix = f"{_update(client)} {fault.otherwise}"
            return _for_use(program, Check(WARNING, detail, fix))
    tested = f" (tested with {client.tested})" if version != client.tested else ""
    return f"{version}{tested}, {path}"


def _failure_check(program: _Program, client: _Client, ran: RunResult) -> Check:
    path = escape_control(program.path)
    if _NO_DAEMON in ran.err:
        detail = (
            f"`{path}` does not know the option `{_NO_DAEMON}`, with which Brenner opens it in "
            "terminals."
        )
        return Check(WARNING, detail, _update(client))
    reason = escape_control(ran.reason, _MOST_CHARACTERS)
    detail = f"`{path}` does not print its version: {reason.rstrip('.')}."
    fix = f"Run `{quote(path)} --version` to see why, or install it again."
    return Check(WARNING, detail, fix)


def _update(client: _Client) -> str:
    return f"Update it: `npm install -g {client.package}@latest`."


def _login_check(project: Project, program: _Program, client: _Client) -> Finding:
    environment = {**os.environ, **dict(program.settings.env)}
    found = client.find_login(Surroundings(environment, project.folder))
    if found.fix is None:
        return found.detail
    return _for_use(program, Check(WARNING, found.detail, found.fix))


def _for_use(program: _Program, check: Check) -> Finding:
    """Return the check; without its warning if the project does not use the program."""
    return check if program.used_by else f"{check.detail} The project does not use it."


# Whether the project's files for them are as `brenner agent config` writes them


_Written = Mapping[str, "SettingsDifference | Diagnostic"]
_URL_KEYS = (".url", ".httpUrl")


def _written_settings(context: DoctorContext) -> _Written:
    """Compare the files of each known program; a diagnostic if one cannot be read.

    Without `--url` any address is accepted, because the server may use another port.
    """
    url = context.url or ""
    is_near = is_local_host(urlsplit(url).hostname or "")
    connection = ClientConnection(url, wants_token=not is_near or bool(context.token))
    found: dict[str, SettingsDifference | Diagnostic] = {}
    for name in KNOWN_PROGRAMS if url else ():
        client = client_named(name, context.project)
        if client is None or client == OTHER:
            continue
        try:
            state, keys = settings_difference(client, connection, context.project)
        except BrennerError as error:
            found[name] = error.diagnostic
            continue
        if not context.is_url_requested and state is SettingsState.DIFFERENT:
            keys = tuple(key for key in keys if not key.endswith(_URL_KEYS))
            state = state if keys else SettingsState.CURRENT
        found[name] = SettingsDifference(state, keys)
    return found


def _is_written(found: SettingsDifference | Diagnostic) -> bool:
    return isinstance(found, SettingsDifference) and found.state is not SettingsState.MISSING


def _settings_check(
    context: DoctorContext, name: str, found: SettingsDifference | Diagnostic
) -> Finding:
    """Report settings that are not as `brenner agent config` writes them."""
    command = f"brenner agent config --client {client_named(name, context.project)} --write"
    if not isinstance(found, SettingsDifference):
        words = {key: escape_control(str(value)) for key, value in found.parameters}
        detail = f"Cannot read `{words['path']}`{words['place']}: {words['reason']}."
        return Check(WARNING, detail, "Correct the file. Brenner's settings in it are not checked.")
    if found.state is SettingsState.MISSING:
        return f"none in the project's files (optional); to write them: `{command}`"
    if found.state is SettingsState.CURRENT:
        return "the project's files have what the program needs"
    keys = joined([f"`{escape_control(key)}`" for key in found.keys])
    fix = (
        f"Run `{command} --url {quote(context.url or '')}`."
        if context.is_url_requested
        else f"Run `{command}`, with the `--url` or `--stdio` that you used before."
    )
    return Check(WARNING, f"Missing or different in the project's files: {keys}.", fix)
