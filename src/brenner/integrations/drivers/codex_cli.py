"""Drive Codex: `codex exec --json`."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from brenner.integrations.agent_driver import (
    AgentEvent,
    EventKind,
    Fault,
    FaultKind,
    Launch,
    Usage,
)
from brenner.integrations.drivers.agent_folder import (
    agent_environment,
    program_words,
    work_folder,
)
from brenner.integrations.drivers.faults import error_line, fault_event, read_fault
from brenner.integrations.drivers.json_lines import (
    JsonDialogue,
    JsonObject,
    count_at,
    object_text,
    text_at,
    value_at,
)
from brenner.program_settings import (
    AGENT_TOOLS,
    CODEX_CLI,
    SECRET,
    SECRET_HEADER,
    SERVER_NAME,
    TOKEN,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.integrations.agent_driver import TurnRequest

# Features that give the agent more than our tools. Other versions ignore names that they lack.
_FEATURES = (
    *("shell_tool", "unified_exec", "apps", "plugins", "remote_plugin", "multi_agent", "goals"),
    *("view_image", "image_generation", "hooks", "browser_use", "computer_use", "tool_suggest"),
    *("skill_search", "sleep_tool", "daemon_auto_start"),
)
_TOOL_OUTPUT_TOKENS = 60_000


class CodexCli:
    """Codex with our tools only. It cannot be limited to reading one folder."""

    name = CODEX_CLI
    reports_cost = False
    can_read_project = False

    def prepare(self, request: TurnRequest) -> Launch:
        folder = work_folder(request)
        settings = {
            f"mcp_servers.{SERVER_NAME}": _server(request),
            "web_search": '"disabled"',
            "tool_output_token_limit": str(_TOOL_OUTPUT_TOKENS),
            "notify": "[]",
            **{f"features.{each}": "false" for each in _FEATURES},
            **{f"mcp_servers.{each}.enabled": "false" for each in _other_servers(request)},
        }
        command = (
            *program_words(request, self.name),
            *("exec", "--json", "--skip-git-repo-check", "-s", "read-only", "-C", str(folder)),
            *(word for key, value in settings.items() for word in ("-c", f"{key}={value}")),
            *(("-m", request.program.model) if request.program.model else ()),
            *(("resume", request.conversation) if request.conversation else ()),
            "-",  # the prompt is on standard input
        )
        return Launch(command, agent_environment(request), folder)

    def dialogue(self, request: TurnRequest) -> CodexDialogue:
        return CodexDialogue(request.prompt, request.used_before)


def _server(request: TurnRequest) -> str:
    """Return our server as TOML. Codex gets the secrets by the names of their variables."""
    entry = {
        "url": request.endpoint.url,
        "bearer_token_env_var": TOKEN,
        "required": True,
        "startup_timeout_sec": 60,
        "default_tools_approval_mode": "approve",
        "enabled_tools": list(AGENT_TOOLS),
    }
    pairs = [f"{key}={json.dumps(value)}" for key, value in entry.items()]
    pairs.append(f'env_http_headers={{"{SECRET_HEADER}"="{SECRET}"}}')
    return f"{{{','.join(pairs)}}}"


def _other_servers(request: TurnRequest) -> tuple[str, ...]:
    """Return the names of the user's own MCP servers, which the agent does not get.

    Codex itself rejects a name with a dot.
    """
    configured = dict(request.program.env).get("CODEX_HOME") or os.environ.get("CODEX_HOME")
    folder = Path(configured) if configured else Path.home() / ".codex"
    try:
        settings = tomllib.loads((folder / "config.toml").read_text("utf-8"))
    except (OSError, ValueError):  # Codex reports what is wrong with it
        return ()
    servers = settings.get("mcp_servers")
    names = servers if isinstance(servers, dict) else ()
    return tuple(each for each in names if each != SERVER_NAME and "." not in each)


class CodexDialogue(JsonDialogue):
    """The events of `codex exec --json`. Its usage is the sum over the whole conversation."""

    def __init__(self, prompt: str, used_before: Usage) -> None:
        super().__init__(prompt)
        self._used_before = used_before

    def end(self, exit_code: int, errors: str) -> tuple[AgentEvent, ...]:
        words = error_line(errors)
        if exit_code and "MCP" in words and SERVER_NAME in words:
            return (fault_event(Fault(FaultKind.NO_TOOLS, words)),)
        return super().end(exit_code, errors)

    def read(self, event: JsonObject) -> Iterator[AgentEvent]:
        match text_at(event, "type"):
            case "thread.started":
                yield AgentEvent(EventKind.STARTED, text_at(event, "thread_id"))
            case "turn.started":  # only after the servers that are required
                yield AgentEvent(EventKind.CONNECTED)
            case "item.completed":
                yield from _read_item(event)
            case "error":
                fault = read_fault(text_at(event, "message"))
                is_final = fault.kind in (FaultKind.LOGIN, FaultKind.CREDIT)
                yield fault_event(fault._replace(is_final=is_final))
            case "turn.completed":
                yield AgentEvent(EventKind.USAGE, usage=self._usage(event))
                yield AgentEvent(EventKind.ENDED)
            case "turn.failed":
                yield fault_event(read_fault(text_at(event, "error", "message")))
                yield AgentEvent(EventKind.ENDED, is_error=True)
            case _:
                pass

    def _usage(self, event: JsonObject) -> Usage:
        before = self._used_before
        return Usage(
            max(0, count_at(event, "usage", "input_tokens") - before.input_tokens),
            max(0, count_at(event, "usage", "cached_input_tokens") - before.cached_tokens),
            max(0, count_at(event, "usage", "output_tokens") - before.output_tokens),
        )


def _read_item(event: JsonObject) -> Iterator[AgentEvent]:
    kind = text_at(event, "item", "type")
    if kind == "mcp_tool_call":
        arguments = object_text(value_at(event, "item", "arguments"))
        is_error = text_at(event, "item", "status") == "failed"
        yield AgentEvent(EventKind.TOOL, text_at(event, "item", "tool"), arguments, is_error)
    elif kind == "agent_message":
        yield AgentEvent(EventKind.TEXT, text_at(event, "item", "text"))
