"""Settings of agents' programs: the tables `[programs.NAME]` in `brenner.toml`.

A program is known by its name in a roster or registration. Claude Code, Codex and Gemini need no
table. Any other program that speaks one of the drivers' languages can be added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from brenner.named_tuple import NamedTuple
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CLAUDE_CODE, CODEX_CLI, GEMINI_CLI, TEXT, ACP = (
    "claude-code",
    "codex-cli",
    "gemini-cli",
    "text",
    "acp",
)
DRIVERS = (CLAUDE_CODE, CODEX_CLI, GEMINI_CLI, TEXT, ACP)
_MOST_MINUTES = 24 * 60
SERVER_NAME = "brenner"  # in the settings of a program
# Environment variables and a header for secrets, which must not be in files. A token gives access
# to a server; a secret proves an agent's identity.
TOKEN = "BRENNER_TOKEN"  # noqa: S105  (the name of a variable)
SECRET = "BRENNER_SECRET"  # noqa: S105  (as above)
SECRET_HEADER = "Brenner-Secret"  # noqa: S105  (the name of a header)
# Claude Code logs all headers except those whose names end like this.
UNLOGGED_SECRET_HEADER = "Brenner-Secret-Authorization"  # noqa: S105  (as above)
# The tools that an agent is offered. Codex puts more than eight behind a search. These are the ones
# that `brenner_task` names, and `brenner_explain` for a rejected post. `brenner_post` checks by
# itself, so `brenner_check` is not among them.
AGENT_TOOLS = (
    *("register_agent", "brenner_task", "brenner_artifact", "brenner_post", "brenner_explain"),
    *("acknowledge_message", "reply_message", "fetch_inbox"),
)


class ProgramSettings(NamedTuple):
    """What the project says of one program. What is not set is empty or None.

    `driver` names the way in which `session run` drives it, and `run` is its headless command.
    `command` opens it in a terminal. `minutes` limits one turn.
    """

    driver: str | None = None
    run: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    model: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    minutes: float | None = None


# The three programs that need no settings. Codex's daemon would give every pane the environment of
# the first one.
KNOWN_PROGRAMS: Mapping[str, ProgramSettings] = {
    CLAUDE_CODE: ProgramSettings(CLAUDE_CODE, ("claude",), ("claude",)),
    CODEX_CLI: ProgramSettings(CODEX_CLI, ("codex",), ("codex", "--no-daemon")),
    GEMINI_CLI: ProgramSettings(GEMINI_CLI, ("gemini",), ("gemini",)),
}


def merge_programs(
    configured: tuple[tuple[str, ProgramSettings], ...],
) -> dict[str, ProgramSettings]:
    """Return all programs by name: the known ones, changed and completed by the project's."""
    found = dict(KNOWN_PROGRAMS)
    for name, settings in configured:
        known = found.get(name, ProgramSettings())
        is_other = settings.driver is not None and settings.driver != known.driver
        base = ProgramSettings(command=known.command) if is_other else known
        given = {field: value for field, value in settings._asdict().items() if value}
        found[name] = base._replace(**given)
    return found


def parse_programs(value: object) -> tuple[tuple[str, ProgramSettings], ...]:
    """Parse the table `[programs]`; raise ValueError with what it must be, and the faulty table."""
    if not isinstance(value, dict):
        _expect('a table such as `[programs]` with `claude-code = "claude"`')
    found = []
    for name, each in value.items():
        try:
            found.append((name, _parse_program(name, each)))
        except ValueError as error:
            raise ValueError(str(error), f"programs.{name}") from None
    return tuple(found)


def _parse_program(name: str, value: object) -> ProgramSettings:
    """Parse one program: a table, or only its interactive command as a string or a list."""
    if not isinstance(value, dict):
        return ProgramSettings(command=_parse_command(name, value))
    fields: dict[str, object] = {}
    for key, each in value.items():
        if key not in _PARSERS:
            near = did_you_mean(closest(key, _PARSERS))
            _expect(f"without `{name}.{key}`.{near} Known settings: {', '.join(_PARSERS)}")
        fields[key] = _PARSERS[key](f"{name}.{key}", each)
    settings = ProgramSettings(**fields)  # type: ignore[arg-type]  # each parser returns its type
    if settings.driver in (TEXT, ACP) and not settings.run:
        example = 'run = ["my-agent", "--headless"]'
        _expect(
            f"a table in which `{name}` has a `run` command for its driver, such as `{example}`"
        )
    if settings.run and not settings.driver and name not in KNOWN_PROGRAMS:
        _expect(f"a table in which `{name}` has a `driver`: {', '.join(DRIVERS)}")
    return settings


def _parse_command(name: str, command: object) -> tuple[str, ...]:
    """Return the words of a command, which is run without a shell."""
    from shlex import split  # imported only if there are programs

    try:
        parsed = split(command) if isinstance(command, str) else command
    except ValueError:  # an unclosed quotation
        parsed = None
    words = [each for each in parsed if isinstance(each, str)] if isinstance(parsed, list) else []
    if not words or words != parsed or not words[0] or words[0].startswith("-"):
        _expect(f'a table in which `{name}` is a command such as "claude" or ["claude", "-c"]')
    if not all(each.isprintable() for each in words):
        _expect(f"a table in which the command of `{name}` has no hidden characters")
    return tuple(words)


def _parse_driver(name: str, value: object) -> str:
    if not isinstance(value, str) or value not in DRIVERS:
        near = did_you_mean(closest(value, DRIVERS)) if isinstance(value, str) else ""
        _expect(f"a table in which `{name}` is one of {', '.join(DRIVERS)}.{near}".rstrip("."))
    return value


def _parse_model(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        _expect(f'a table in which `{name}` is a text such as "opus"')
    if value.startswith("-"):
        _expect(f"a table in which `{name}` does not begin with a hyphen")
    return value


def _parse_env(name: str, value: object) -> tuple[tuple[str, str], ...]:
    pairs = list(value.items()) if isinstance(value, dict) else [("", None)]
    for variable, text in pairs:
        is_name = variable.isascii() and variable.isidentifier()
        if not is_name or not isinstance(text, str) or "\0" in text:
            _expect(f'a table in which `{name}` has variables and texts, such as {{ LANG = "C" }}')
    return tuple(pairs)


def _parse_minutes(name: str, value: object) -> float:
    minutes = value if isinstance(value, int | float) and value is not True else 0
    if not 0 < minutes <= _MOST_MINUTES:
        _expect(f"a table in which `{name}` is a number above 0, {_MOST_MINUTES} at most")
    return minutes


def _expect(expected: str) -> NoReturn:
    raise ValueError(expected)


_PARSERS: Mapping[str, Callable[[str, object], object]] = {
    "driver": _parse_driver,
    "run": _parse_command,
    "command": _parse_command,
    "model": _parse_model,
    "env": _parse_env,
    "minutes": _parse_minutes,
}
