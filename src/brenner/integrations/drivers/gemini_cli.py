"""Drive Gemini CLI: `gemini -o stream-json`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

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
    private_folder,
    program_words,
    unexpected_files,
    work_folder,
    write_settings,
)
from brenner.integrations.drivers.faults import fault_event, read_fault
from brenner.integrations.drivers.json_lines import (
    JsonDialogue,
    JsonObject,
    count_at,
    object_text,
    text_at,
)
from brenner.program_settings import (
    AGENT_TOOLS,
    GEMINI_CLI,
    SECRET,
    SECRET_HEADER,
    SERVER_NAME,
    TOKEN,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from brenner.integrations.agent_driver import TurnRequest

_TOOL_PREFIX = f"mcp_{SERVER_NAME}_"
_READING_TOOLS = ("read_file", "read_many_files", "list_directory", "glob", "grep_search")
_SETTINGS_FOLDER, _SETTINGS = ".gemini", "settings.json"
_MOST_ATTEMPTS = 5  # half a minute instead of four
_OURS, _READING, _OTHERS = 500, 450, 400  # priorities: the highest rule that fits decides
_NO_SERVER = "MCP issues detected"  # on standard error; no event says it
_ENVIRONMENT = {
    # The folder is ours and empty, so there is nothing in it to distrust.
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "GEMINI_CLI_NO_RELAUNCH": "true",
    "NO_COLOR": "1",
}


class GeminiCli:
    """Gemini with our tools only, by a policy."""

    name = GEMINI_CLI
    reports_cost = False
    can_read_project = True

    def prepare(self, request: TurnRequest) -> Launch | Fault:
        folder = work_folder(request)
        settings = private_folder(folder / _SETTINGS_FOLDER)
        fault = unexpected_files(folder, _SETTINGS_FOLDER) or unexpected_files(settings, _SETTINGS)
        if fault:
            return fault
        write_settings(settings / _SETTINGS, _settings(request))
        policy = write_settings(request.folder / "gemini-policy.toml", _policy(request.readable))
        talk = (
            ("--resume", request.conversation)
            if request.conversation
            else ("--session-id", str(uuid4()))
        )
        command = (
            *program_words(request, self.name),
            *("-o", "stream-json", "--policy", str(policy)),
            *("--allowed-mcp-server-names", SERVER_NAME, "--extensions", "none"),
            *(("--include-directories", str(request.readable)) if request.readable else ()),
            *(("-m", request.program.model) if request.program.model else ()),
            *talk,
            *("-p", ""),  # the prompt is on standard input
        )
        # It writes its reports of errors, with the conversation, to the folder for temporary files.
        own = {**_ENVIRONMENT, "TMPDIR": str(private_folder(request.folder / "tmp"))}
        return Launch(command, {**own, **agent_environment(request)}, folder)

    def dialogue(self, request: TurnRequest) -> GeminiDialogue:
        return GeminiDialogue(request.prompt)


def _settings(request: TurnRequest) -> object:
    """Return the project's settings. Gemini expands `$NAME` in every text."""
    server = {
        "httpUrl": request.endpoint.url,
        "headers": {"Authorization": f"Bearer ${TOKEN}", SECRET_HEADER: f"${SECRET}"},
        "includeTools": list(AGENT_TOOLS),
        "trust": True,
    }
    return {
        "mcpServers": {SERVER_NAME: server},
        "general": {"maxAttempts": _MOST_ATTEMPTS},
        "hooksConfig": {"enabled": False},
    }


def _policy(readable: Path | None) -> str:
    reading = [_rule(_READING, "allow", each) for each in _READING_TOOLS if readable]
    ours = _rule(_OURS, "allow", "*", f'mcpName = "{SERVER_NAME}"\n')
    return "\n".join((ours, *reading, _rule(_OTHERS, "deny", "*")))


def _rule(priority: int, decision: str, tool: str, server: str = "") -> str:
    return (
        f'[[rule]]\n{server}toolName = "{tool}"\ndecision = "{decision}"\npriority = {priority}\n'
    )


class GeminiDialogue(JsonDialogue):
    """The events of `-o stream-json`."""

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self._calls: dict[str, tuple[str, str]] = {}  # name and arguments, by id
        self._called = False
        self._written: list[str] = []  # pieces of one message

    def end(self, exit_code: int, errors: str) -> tuple[AgentEvent, ...]:
        if self._called or _NO_SERVER not in errors:
            return super().end(exit_code, errors)
        return (fault_event(Fault(FaultKind.NO_TOOLS, "it does not see our server")),)

    def read(self, event: JsonObject) -> Iterator[AgentEvent]:
        kind = text_at(event, "type")
        if kind == "message" and text_at(event, "role") == "assistant":
            self._written.append(text_at(event, "content"))
            return
        if self._written and kind in ("tool_use", "result", "error"):
            yield AgentEvent(EventKind.TEXT, "".join(self._written))
            self._written.clear()
        match kind:
            case "init":
                yield AgentEvent(EventKind.STARTED, text_at(event, "session_id"))
            case "tool_use":
                name = text_at(event, "tool_name").removeprefix(_TOOL_PREFIX)
                arguments = object_text(event.get("parameters"))
                self._calls[text_at(event, "tool_id")] = (name, arguments)
            case "tool_result":
                self._called = True
                call = self._calls.pop(text_at(event, "tool_id"), ("unknown", ""))
                is_error = text_at(event, "status") == "error"
                yield AgentEvent(EventKind.TOOL, *call, is_error=is_error)
            case "error":
                fault = read_fault(text_at(event, "message"))
                yield fault_event(fault._replace(is_final=fault.kind is FaultKind.LOOP))
            case "result":
                yield from _read_result(event)
            case _:
                pass


def _read_result(event: JsonObject) -> Iterator[AgentEvent]:
    names = ("input_tokens", "cached", "output_tokens")
    usage = Usage(*(count_at(event, "stats", each) for each in names))
    yield AgentEvent(EventKind.USAGE, usage=usage)
    is_error = text_at(event, "status") != "success"
    if is_error:
        words = text_at(event, "error", "message") or "error without a message"
        yield fault_event(read_fault(words))
    yield AgentEvent(EventKind.ENDED, is_error=is_error)
