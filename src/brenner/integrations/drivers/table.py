"""The drivers by name. Each is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from brenner.program_settings import ACP, CLAUDE_CODE, CODEX_CLI, GEMINI_CLI, TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brenner.integrations.agent_driver import Driver

DRIVERS: Mapping[str, tuple[str, str]] = {
    CLAUDE_CODE: ("claude_code", "ClaudeCode"),
    CODEX_CLI: ("codex_cli", "CodexCli"),
    GEMINI_CLI: ("gemini_cli", "GeminiCli"),
    TEXT: ("text", "Text"),
    ACP: ("acp", "Acp"),
}


def find_driver(name: str) -> Driver:
    """Return the driver of that name, one of `DRIVERS`."""
    module, kind = DRIVERS[name]
    found: type[Driver] = getattr(import_module(f"brenner.integrations.drivers.{module}"), kind)
    return found()
