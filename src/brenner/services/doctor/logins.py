"""Logins of agents' programs, found in variables and files.

Nothing is sent, so a login that is found may still be wrong. No value is shown.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.text import escape_control

if TYPE_CHECKING:
    from pathlib import Path

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH110, PTH111, PTH118

_MOST_BYTES = 16 * 1024 * 1024  # Claude Code keeps its projects in the same file as its key
_KEYCHAIN = "Cannot tell: the login may be in the system's keychain."


class Login(NamedTuple):
    """Where a login was found. With a fix none was found, and the fix says how to log in."""

    detail: str
    fix: str | None = None


class Surroundings(NamedTuple):
    """What a program finds when it starts: its variables, the project's folder, the system."""

    environment: Mapping[str, str]
    folder: Path
    platform: str = sys.platform

    @property
    def home(self) -> str:
        return self.environment.get("HOME") or os.path.expanduser("~")

    def own_folder(self, variable: str, name: str) -> str:
        """Return the program's own folder: the one that the variable names, or one in the home."""
        return self.environment.get(variable) or os.path.join(self.home, name)

    def first_set(self, *names: str) -> str | None:
        """Return the first of these variables that is not empty."""
        return next((name for name in names if self.environment.get(name)), None)

    def shown(self, path: str) -> str:
        inside = path.startswith(self.home.rstrip("/") + "/") and self.home != "/"
        return f"`{escape_control('~' + path[len(self.home.rstrip('/')) :] if inside else path)}`"


def _read_text(path: str) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(_MOST_BYTES).decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""


def _read_json(path: str) -> Mapping[str, object]:
    """Return the object in a JSON file; empty if there is none."""
    try:
        found = json.loads(_read_text(path))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _read_toml(path: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(_read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _is_set(variable: str) -> Login:
    return Login(f"`{escape_control(variable)}` is set; it was not tested")


# Claude Code


_CLAUDE_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
# With one of these the cloud's own login counts.
_CLAUDE_CLOUDS = (
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
    *("CLAUDE_CODE_USE_MANTLE", "CLAUDE_CODE_USE_ANTHROPIC_AWS"),
)
_CLAUDE_MANAGED = "/etc/claude-code/managed-settings.json"
_TRUE = ("1", "true", "yes", "on")
_CLAUDE_MISSING = Login(
    "Found no login for Claude Code.",
    "Run `claude` once and log in, or set `ANTHROPIC_API_KEY`.",
)


def find_claude_login(place: Surroundings) -> Login:
    """Find a login of Claude Code: a variable, a saved login, or a command that prints a key."""
    own = place.own_folder("CLAUDE_CONFIG_DIR", ".claude")
    if variable := _claude_variable(place.environment):
        return _is_set(variable)
    if found := _claude_setting(place, own):
        return found
    saved = os.path.join(own, ".credentials.json")
    if _read_json(saved).get("claudeAiOauth"):
        return Login(f"saved in {place.shown(saved)}; it was not tested")
    state = os.path.join(
        own if place.environment.get("CLAUDE_CONFIG_DIR") else place.home, ".claude.json"
    )
    if _read_json(state).get("primaryApiKey"):
        return Login(f"a key is saved in {place.shown(state)}; it was not tested")
    return Login(_KEYCHAIN) if place.platform == "darwin" else _CLAUDE_MISSING


def _claude_variable(environment: Mapping[str, object]) -> str | None:
    """Return the variable that logs Claude Code in."""
    keys = (name for name in _CLAUDE_KEYS if environment.get(name))
    clouds = (name for name in _CLAUDE_CLOUDS if str(environment.get(name)).lower() in _TRUE)
    return next(keys, None) or next(clouds, None)


def _claude_setting(place: Surroundings, own: str) -> Login | None:
    """Return the login in the settings of the machine, the project or the user."""
    in_project = os.path.join(place.folder, ".claude")
    files = (
        _CLAUDE_MANAGED,
        os.path.join(in_project, "settings.local.json"),
        os.path.join(in_project, "settings.json"),
        os.path.join(own, "settings.json"),
    )
    for file in files:
        settings = _read_json(file)
        if settings.get("apiKeyHelper"):
            return Login(f"`apiKeyHelper` in {place.shown(file)}; it was not run")
        if variable := _claude_variable(_table(settings.get("env"))):
            return Login(f"`{variable}` in {place.shown(file)}; it was not tested")
    return None


# Codex. Its headless command reads `CODEX_API_KEY`, not `OPENAI_API_KEY`.


_CODEX_KEY = "CODEX_API_KEY"
_OTHER_KEY = "OPENAI_API_KEY"
# Built-in providers that need no login of OpenAI
_CODEX_OTHERS = ("amazon-bedrock", "lmstudio", "ollama")
_CODEX_FIX = f"Run `codex login`, or set `{_CODEX_KEY}`."


def find_codex_login(place: Surroundings) -> Login:
    """Find a login of Codex: that of its model provider, a variable, or a saved login."""
    own = place.own_folder("CODEX_HOME", ".codex")
    config = _read_toml(os.path.join(own, "config.toml"))
    if other := _codex_provider(place, config):
        return other
    if place.first_set(_CODEX_KEY):
        return _is_set(_CODEX_KEY)
    saved = os.path.join(own, "auth.json")
    if _read_json(saved):
        return Login(f"saved in {place.shown(saved)}; it was not tested")
    if config.get("cli_auth_credentials_store") in ("keyring", "auto"):
        return Login(_KEYCHAIN)
    if place.first_set(_OTHER_KEY):
        detail = f"Found no login for Codex: `codex exec` does not read `{_OTHER_KEY}`."
        return Login(detail, _CODEX_FIX)
    return Login("Found no login for Codex.", _CODEX_FIX)


def _codex_provider(place: Surroundings, config: Mapping[str, object]) -> Login | None:
    """Return the login of another model provider; None if OpenAI's login counts."""
    name = str(config.get("model_provider", "openai"))
    provider = _table(_table(config.get("model_providers")).get(name))
    shown = f"the model provider `{escape_control(name)}`"
    if provider.get("requires_openai_auth") or not (provider or name in _CODEX_OTHERS):
        return None
    variable = provider.get("env_key")
    if not isinstance(variable, str) or not variable:
        return Login(f"{shown} needs no login of Codex")
    if place.first_set(variable):
        return _is_set(variable)
    variable = escape_control(variable)
    return Login(f"Found no login for Codex: {shown} needs `{variable}`.", f"Set `{variable}`.")


# Gemini. Its settings choose the kind of login, else variables do.


_OAUTH, _API_KEY, _VERTEX = "oauth-personal", "gemini-api-key", "vertex-ai"
_GEMINI_KEY = "GEMINI_API_KEY"
_GEMINI_SYSTEM = "/etc/gemini-cli/settings.json"
_GEMINI_OAUTH_FILES = ("oauth_creds.json", "gemini-credentials.json")
# A line of an `.env` file with a value, which may be in quotation marks
_ENV_LINE = lazy_pattern(r"(?m)^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=[ \t]*[\"']?([^\s\"'#]+)")
_GEMINI_MISSING = Login(
    "Found no login for Gemini.", f"Run `gemini` once and log in, or set `{_GEMINI_KEY}`."
)
_VERTEX_MISSING = Login(
    "Found no login for Gemini with Vertex AI.",
    "Set `GOOGLE_API_KEY`, or `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`.",
)
_OAUTH_MISSING = Login(
    "Found no login for Gemini: its settings choose a login with Google.",
    "Run `gemini` once and log in.",
)


def find_gemini_login(place: Surroundings) -> Login:
    """Find the login of the kind that Gemini's settings or variables choose."""
    own = os.path.join(place.own_folder("GEMINI_CLI_HOME", ""), ".gemini")
    file, variables = _gemini_env_file(place, own)
    place = place._replace(environment={**variables, **place.environment})
    selected = _gemini_selected(place, own)
    kind = selected or _gemini_kind(place.environment)
    if kind == _OAUTH:
        return _gemini_oauth(place, own)
    if kind == _VERTEX:
        return _gemini_vertex(place)
    if kind == _API_KEY:
        if not place.first_set(_GEMINI_KEY):
            return Login(_KEYCHAIN)
        where = f" in {place.shown(file)}" if _GEMINI_KEY in variables else " is set"
        return Login(f"`{_GEMINI_KEY}`{where}; it was not tested")
    return Login(f"`{escape_control(kind)}`; it was not tested") if kind else _GEMINI_MISSING


def _gemini_oauth(place: Surroundings, own: str) -> Login:
    saved = [os.path.join(own, name) for name in _GEMINI_OAUTH_FILES]
    found = next((each for each in saved if _read_text(each)), None)
    if found:
        return Login(f"saved in {place.shown(found)}; it was not tested")
    return Login(_KEYCHAIN) if place.platform == "darwin" else _OAUTH_MISSING


def _gemini_vertex(place: Surroundings) -> Login:
    if place.first_set("GOOGLE_API_KEY"):
        return _is_set("GOOGLE_API_KEY")
    needed = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
    is_complete = all(place.environment.get(name) for name in needed)
    return _is_set(needed[0]) if is_complete else _VERTEX_MISSING


def _gemini_selected(place: Surroundings, own: str) -> str | None:
    """Return the kind of login in the settings of the machine, the project or the user."""
    in_project = os.path.join(place.folder, ".gemini", "settings.json")
    for file in (_GEMINI_SYSTEM, in_project, os.path.join(own, "settings.json")):
        settings = _read_json(file)
        auth = _table(_table(settings.get("security")).get("auth"))
        kind = auth.get("selectedType") or settings.get("selectedAuthType")
        if isinstance(kind, str) and kind:
            return kind
    return None


def _gemini_kind(environment: Mapping[str, str]) -> str | None:
    """Return the kind of login that the variables choose, in Gemini's own order."""
    if environment.get("GOOGLE_GENAI_USE_GCA") == "true":
        return _OAUTH
    if environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return _VERTEX
    if environment.get("GOOGLE_GEMINI_BASE_URL"):
        return "GOOGLE_GEMINI_BASE_URL"
    if environment.get(_GEMINI_KEY):
        return _API_KEY
    adc = ("CLOUD_SHELL", "GEMINI_CLI_USE_COMPUTE_ADC")
    return next((name for name in adc if environment.get(name) == "true"), None)


def _gemini_env_file(place: Surroundings, own: str) -> tuple[str, dict[str, str]]:
    """Return the one `.env` file that Gemini reads, and its variables."""
    for file in _env_files(place, own):
        if os.path.exists(file):
            return file, dict(_ENV_LINE.findall(_read_text(file)))
    return "", {}


def _env_files(place: Surroundings, own: str) -> Iterator[str]:
    for folder in (place.folder, *place.folder.parents):
        yield os.path.join(folder, ".gemini", ".env")
        yield os.path.join(folder, ".env")
    yield os.path.join(own, ".env")
    yield os.path.join(os.path.dirname(own), ".env")  # noqa: PTH120
