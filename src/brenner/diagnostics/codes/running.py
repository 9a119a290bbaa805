"""Codes for `session run`: the agents' programs, and the run itself."""

from __future__ import annotations

from brenner.diagnostics.model import error

_RUN_SPEC = "design, Commands: `session run`"

AGENT_WITHOUT_DRIVER = error(
    "AGENT_WITHOUT_DRIVER",
    "`session run` cannot start {agent}: {reason}. Nothing was sent.",
    "{fix}",
    _RUN_SPEC,
)
AGENT_PROGRAM_MISSING = error(
    "AGENT_PROGRAM_MISSING",
    "`{command}`, the program of {agent}, {reason}. Nothing was sent.",
    "Install it. Or write its path as `run` under `[programs.{program}]` in `brenner.toml`: "
    '`run = ["/path/to/{name}"]`.',
    _RUN_SPEC,
)
OPTION_NOT_FOR_PROGRAM = error(
    "OPTION_NOT_FOR_PROGRAM",
    "`{option}` does not work with {agents}: {reason}. Nothing was sent.",
    "{fix}",
    _RUN_SPEC,
)
RUN_IN_PROGRESS = error(
    "RUN_IN_PROGRESS",
    "The session `{thread_id}` is already being run{holder}.",
    "Wait until it ends, or stop it with Ctrl-C. `brenner session watch {thread_id}` follows it.",
    _RUN_SPEC,
)
AGENT_FOLDER_UNUSABLE = error(
    "AGENT_FOLDER_UNUSABLE",
    "Cannot use `{path}`, the folder of {agent}: {reason}.",
    "Set `XDG_STATE_HOME` to a folder outside the project that you can write to, then run the "
    "command again.",
    _RUN_SPEC,
)
