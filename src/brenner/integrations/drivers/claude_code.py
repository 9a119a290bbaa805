"""Drive Claude Code: `claude -p` with events as JSON lines."""

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
    program_words,
    work_folder,
    write_settings,
)
from brenner.integrations.drivers.faults import fault_event, read_fault
from brenner.integrations.drivers.json_lines import (
    JsonDialogue,
    JsonObject,
    count_at,
    number_at,
    object_text,
    objects_at,
    text_at,
)
from brenner.program_settings import (
    AGENT_TOOLS,
    CLAUDE_CODE,
    SECRET,
    SERVER_NAME,
    TOKEN,
    UNLOGGED_SECRET_HEADER,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.integrations.agent_driver import TurnRequest

_TOOL_PREFIX = f"mcp__{SERVER_NAME}__"
_READING_TOOLS = ("Read", "Grep", "Glob")
_LONGEST_DELAY_SECONDS = 60  # that the program may wait by itself
_ENVIRONMENT = {
    "CLAUDECODE": None,  # set where Brenner itself is run by Claude Code
    "CLAUDE_CODE_MAX_RETRIES": "6",  # half a minute instead of three
    "MCP_CONNECT_TIMEOUT_MS": "60000",  # after 5 s it would begin without our tools
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}


class ClaudeCode:
    """Claude Code with our tools only. Its settings name the secrets' variables."""

    name = CLAUDE_CODE
    reports_cost = True
    can_read_project = True

    def prepare(self, request: TurnRequest) -> Launch:
        folder = work_folder(request)
        headers = {
            "Authorization": f"Bearer ${{{TOKEN}}}",
            UNLOGGED_SECRET_HEADER: f"${{{SECRET}}}",
        }
        # `alwaysLoad` keeps it from hiding the tools behind a search.
        server = {"type": "http", "url": request.endpoint.url, "headers": headers}
        servers = {"mcpServers": {SERVER_NAME: {**server, "alwaysLoad": True}}}
        mcp = write_settings(request.folder / "claude-mcp.json", servers)
        settings = write_settings(
            request.folder / "claude-settings.json", {"disableAllHooks": True}
        )
        command = (
            *program_words(request, self.name),
            *("-p", "--output-format", "stream-json", "--verbose"),
            *("--mcp-config", str(mcp), "--strict-mcp-config", "--settings", str(settings)),
            *self._tools(request),
            "--disable-slash-commands",
            *(("--model", request.program.model) if request.program.model else ()),
            *(("--max-budget-usd", _dollars(request.budget_usd)) if request.budget_usd else ()),
            *(
                ("--resume", request.conversation)
                if request.conversation
                else ("--session-id", str(uuid4()))
            ),
        )
        return Launch(command, {**_ENVIRONMENT, **agent_environment(request)}, folder)

    def _tools(self, request: TurnRequest) -> tuple[str, ...]:
        """Return the options for the tools; those that list values are followed by an option."""
        allowed = [f"{_TOOL_PREFIX}{each}" for each in AGENT_TOOLS]
        readable = request.readable
        if not readable:
            return ("--tools", "", "--allowedTools", *allowed, "--permission-mode", "dontAsk")
        reading = ",".join(_READING_TOOLS)
        folder = ("--add-dir", str(readable))
        return (
            "--tools",
            reading,
            *folder,
            "--allowedTools",
            *allowed,
            "--permission-mode",
            "dontAsk",
        )

    def dialogue(self, request: TurnRequest) -> ClaudeCodeDialogue:
        return ClaudeCodeDialogue(request.prompt)


class ClaudeCodeDialogue(JsonDialogue):
    """The events of `--output-format stream-json`."""

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self._calls: dict[str, tuple[str, str]] = {}  # name and arguments, by id
        self._usage: dict[str, Usage] = {}  # by message

    def read(self, event: JsonObject) -> Iterator[AgentEvent]:
        match text_at(event, "type"), text_at(event, "subtype"):
            case "system", "init":
                yield AgentEvent(EventKind.STARTED, text_at(event, "session_id"))
                yield _connection(event)
            case "system", "api_retry":
                yield fault_event(_retry_fault(event))
            case "rate_limit_event", _ if text_at(event, "rate_limit_info", "status") == "rejected":
                at = number_at(event, "rate_limit_info", "resetsAt")
                fault = Fault(FaultKind.RATE_LIMIT, "usage limit reached", retry_at=at)
                yield fault_event(fault)
            case "assistant", _:
                yield from self._read_message(event)
            case "user", _:
                yield from self._read_results(event)
            case "result", _:
                yield from self._read_result(event)
            case _:
                pass

    def _read_message(self, event: JsonObject) -> Iterator[AgentEvent]:
        for part in objects_at(event, "message", "content"):
            if text_at(part, "type") == "tool_use":
                name = text_at(part, "name").removeprefix(_TOOL_PREFIX)
                self._calls[text_at(part, "id")] = (name, object_text(part.get("input")))
            elif text_at(part, "type") == "text" and not text_at(event, "error"):
                yield AgentEvent(EventKind.TEXT, text_at(part, "text"))
        # The parts of one message are events of their own, each with the message's usage.
        self._usage[text_at(event, "message", "id")] = _usage(event, "message", "usage")
        yield AgentEvent(EventKind.USAGE, usage=self._sum())

    def _sum(self) -> Usage:
        """Return the usage of all messages so far, whose output is counted only in part."""
        found = self._usage.values()
        return Usage(
            sum(each.input_tokens for each in found),
            sum(each.cached_tokens for each in found),
            sum(each.output_tokens for each in found),
        )

    def _read_results(self, event: JsonObject) -> Iterator[AgentEvent]:
        for part in objects_at(event, "message", "content"):
            call = self._calls.pop(text_at(part, "tool_use_id"), None)
            if call:
                yield AgentEvent(EventKind.TOOL, *call, is_error=part.get("is_error") is True)

    def _read_result(self, event: JsonObject) -> Iterator[AgentEvent]:
        # Where the service closed the stream early, the result counts nothing.
        usage = max(self._sum(), _usage(event, "usage"), key=lambda each: each.tokens)
        cost = number_at(event, "total_cost_usd")
        yield AgentEvent(EventKind.USAGE, usage=usage._replace(cost_usd=cost))
        # Errors of the service have the subtype `success`.
        is_error = event.get("is_error") is True or text_at(event, "subtype") != "success"
        if is_error:
            yield fault_event(_result_fault(event))
        yield AgentEvent(EventKind.ENDED, is_error=is_error)


def _dollars(amount: float) -> str:
    return f"{max(amount, 0.0001):.4f}"  # the program rejects 0


def _connection(event: JsonObject) -> AgentEvent:
    """Return whether the program sees our server."""
    servers = objects_at(event, "mcp_servers")
    found = (text_at(each, "status") for each in servers if each.get("name") == SERVER_NAME)
    status = next(found, "not configured")
    if status == "connected":
        return AgentEvent(EventKind.CONNECTED)
    return fault_event(Fault(FaultKind.NO_TOOLS, f"it does not see our server ({status})"))


def _retry_fault(event: JsonObject) -> Fault:
    """Return why the program tries again, final if that is useless."""
    words, status = text_at(event, "error") or "unknown error", number_at(event, "error_status")
    fault = read_fault(f"{words} ({int(status)})" if status else words, status)
    delay = (number_at(event, "retry_delay_ms") or 0) / 1000
    if delay > _LONGEST_DELAY_SECONDS:
        return fault._replace(retry_after=delay)
    return fault._replace(is_final=fault.kind in (FaultKind.LOGIN, FaultKind.CREDIT))


def _result_fault(event: JsonObject) -> Fault:
    kind = text_at(event, "subtype")
    if kind == "error_max_budget_usd":
        return Fault(FaultKind.STOPPED, "its turn used the rest of the budget")
    errors = event.get("errors")
    listed = [each for each in errors if isinstance(each, str)] if isinstance(errors, list) else []
    words = text_at(event, "result") or "\n".join(listed) or kind or "error without a message"
    return read_fault(words, number_at(event, "api_error_status"))


def _usage(event: JsonObject, *path: str) -> Usage:
    cached = count_at(event, *path, "cache_read_input_tokens")
    new = count_at(event, *path, "input_tokens")
    written = count_at(event, *path, "cache_creation_input_tokens")
    return Usage(new + written + cached, cached, count_at(event, *path, "output_tokens"))
