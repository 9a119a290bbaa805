"""Drive any program that speaks the Agent Client Protocol: JSON-RPC on its standard streams.

The secrets are in the headers of our server, in a message to the program. Its own tools cannot be
taken away, so every permission that it asks for is denied, except for calls of our tools.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from brenner import __version__
from brenner.integrations.agent_driver import (
    AgentEvent,
    EventKind,
    Fault,
    FaultKind,
    Launch,
    Received,
    Usage,
)
from brenner.integrations.drivers.agent_folder import (
    program_environment,
    unexpected_files,
    work_folder,
)
from brenner.integrations.drivers.faults import error_line, fault_event, read_fault
from brenner.integrations.drivers.json_lines import (
    JsonObject,
    count_at,
    number_at,
    object_text,
    objects_at,
    parse_object,
    text_at,
    value_at,
)
from brenner.lazy_pattern import lazy_pattern
from brenner.program_settings import ACP, AGENT_TOOLS, SECRET_HEADER, SERVER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.integrations.agent_driver import TurnRequest

_PROTOCOL_VERSION = 1
_METHOD_NOT_FOUND, _LOGIN_REQUIRED = -32601, -32000
_CLIENT_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
# How programs name a tool of a server, as the whole title of a call: `mcp__brenner__brenner_task`,
# `brenner_task (brenner MCP Server)`, `Tool: brenner/brenner_task`.
_OUR_TOOL = lazy_pattern(
    rf"(?:tool: )?(?:mcp_+)?(?:{SERVER_NAME}(?:__|_|/|\.|: ?))?"
    rf"({'|'.join(map(re.escape, AGENT_TOOLS))})(?: \({SERVER_NAME} MCP Server\))?",
    re.IGNORECASE,
)
# Kinds of calls that are no tools of a server, whatever their titles are.
_OWN_KINDS = frozenset({"execute", "edit", "delete", "move", "read", "search", "fetch"})
_FINAL = ("completed", "failed")
_SHOWN_AGAIN = ("user_message_chunk", "available_commands_update")
# Gemini uses no server in a folder that it does not trust. This one is ours and empty.
_ENVIRONMENT = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}


class Acp:
    """A program that speaks the Agent Client Protocol."""

    name = ACP
    reports_cost = False
    can_read_project = False

    def prepare(self, request: TurnRequest) -> Launch | Fault:
        folder = work_folder(request)
        fault = unexpected_files(folder)
        environment = {**_ENVIRONMENT, **program_environment(request)}
        return fault or Launch(request.program.run, environment, folder)

    def dialogue(self, request: TurnRequest) -> AcpDialogue:
        return AcpDialogue(request)


class AcpDialogue:
    """One prompt: `initialize`, a new or loaded session, its model if one is set, the prompt."""

    def __init__(self, request: TurnRequest) -> None:
        self._request = request
        self._number = 0
        self._asked: dict[int, str] = {}  # methods that wait for an answer, by id
        self._session = request.conversation or ""
        self._is_prompted = False
        self._calls: dict[str, JsonObject] = {}  # what is known of each tool call
        self._written: list[str] = []  # pieces of one message

    def begin(self) -> Received:
        client = {"name": "brenner", "version": __version__}
        return self._ask(
            "initialize",
            protocolVersion=_PROTOCOL_VERSION,
            clientCapabilities=_CLIENT_CAPABILITIES,
            clientInfo=client,
        )

    def receive(self, line: str) -> Received:
        message = parse_object(line)
        if message is None:
            return Received()
        method = text_at(message, "method")
        if method and "id" in message:
            return self._answer(message)
        if method == "session/update":
            return Received(tuple(self._update(message)))
        number = number_at(message, "id")
        asked = self._asked.pop(int(number), "") if number is not None else ""
        if not asked:
            return Received()
        if "error" in message:
            return Received(tuple(self._failed(message)), closes_input=True)
        return self._next(asked, message)

    def end(self, exit_code: int, errors: str) -> tuple[AgentEvent, ...]:
        words = error_line(errors) if exit_code else ""
        return (fault_event(read_fault(words, is_final=False)),) if words else ()

    def _ask(self, method: str, **parameters: object) -> Received:
        self._number += 1
        self._asked[self._number] = method
        return Received(reply=_message(id=self._number, method=method, params=parameters))

    def _next(self, asked: str, message: JsonObject) -> Received:
        """Return what follows an answer."""
        match asked:
            case "initialize":
                return self._open_session(message)
            case "session/new" | "session/load":
                self._session = text_at(message, "result", "sessionId") or self._session
                started = AgentEvent(EventKind.STARTED, self._session)
                return self._begin_turn()._replace(events=(started,))
            case "session/set_model":
                return self._prompt()
            case _:
                return Received(tuple(self._ended(message)), closes_input=True)

    def _open_session(self, message: JsonObject) -> Received:
        capabilities = value_at(message, "result", "agentCapabilities")
        if value_at(capabilities, "mcpCapabilities", "http") is not True:
            words = "it cannot use a server over HTTP (`mcpCapabilities.http`)"
            fault = fault_event(Fault(FaultKind.NO_TOOLS, words))
            return Received((fault,), closes_input=True)
        endpoint = self._request.endpoint
        headers = {"Authorization": f"Bearer {endpoint.token}", SECRET_HEADER: endpoint.secret}
        server = {
            "type": "http",
            "name": SERVER_NAME,
            "url": endpoint.url,
            "headers": [{"name": name, "value": value} for name, value in headers.items()],
        }
        parameters = {"cwd": str(work_folder(self._request)), "mcpServers": [server]}
        if self._session and value_at(capabilities, "loadSession") is True:
            return self._ask("session/load", sessionId=self._session, **parameters)
        return self._ask("session/new", **parameters)

    def _begin_turn(self) -> Received:
        model = self._request.program.model
        if model:
            return self._ask("session/set_model", sessionId=self._session, modelId=model)
        return self._prompt()

    def _prompt(self) -> Received:
        self._is_prompted = True
        prompt = [{"type": "text", "text": self._request.prompt}]
        return self._ask("session/prompt", sessionId=self._session, prompt=prompt)

    def _answer(self, message: JsonObject) -> Received:
        """Answer a request of the program. It gets no files and no terminal."""
        if text_at(message, "method") != "session/request_permission":
            error = {"code": _METHOD_NOT_FOUND, "message": "not offered"}
            return Received(reply=_message(id=message["id"], error=error))
        asked = value_at(message, "params", "toolCall")
        call = self._note_call(asked)
        if "rawInput" not in call:  # Gemini shows the arguments only here
            shown = [text_at(each, "content", "text") for each in objects_at(asked, "content")]
            call["rawInput"] = "\n".join(shown)
        wanted = "allow" if _our_tool(call) else "reject"
        options = objects_at(message, "params", "options")
        kinds = {text_at(each, "kind"): text_at(each, "optionId") for each in options}
        option = kinds.get(f"{wanted}_once") or kinds.get(f"{wanted}_always")
        chosen = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        return Received(reply=_message(id=message["id"], result={"outcome": chosen}))

    def _update(self, message: JsonObject) -> Iterator[AgentEvent]:
        update = value_at(message, "params", "update")
        kind = text_at(update, "sessionUpdate")
        if not self._is_prompted or self._is_shown_again(kind, text_at(update, "status")):
            self._written.clear()
        elif kind == "agent_message_chunk":
            self._written.append(text_at(update, "content", "text"))
        elif kind in ("tool_call", "tool_call_update"):
            yield from self._take_text()
            call = self._note_call(update)
            if text_at(call, "status") in _FINAL:
                self._calls.pop(text_at(call, "toolCallId"), None)
                name = _our_tool(call) or text_at(call, "title") or text_at(call, "kind")
                arguments = object_text(call["rawInput"]) if "rawInput" in call else ""
                is_error = text_at(call, "status") == "failed"
                yield AgentEvent(EventKind.TOOL, name, arguments, is_error)

    def _is_shown_again(self, kind: str, status: str) -> bool:
        """Return whether an update shows the earlier turns of a loaded session.

        They come before the answer to `session/load`, but Gemini goes on with them after it.
        """
        is_old_call = kind == "tool_call" and status in _FINAL
        is_loaded = self._request.conversation is not None
        return is_loaded and (is_old_call or kind in _SHOWN_AGAIN)

    def _note_call(self, update: object) -> JsonObject:
        """Add what an update says of a tool call to what is known of it, and return that."""
        new = update if isinstance(update, dict) else {}
        number = text_at(new, "toolCallId")
        known = {**self._calls.get(number, {}), **{k: v for k, v in new.items() if v is not None}}
        self._calls[number] = known
        return known

    def _take_text(self) -> Iterator[AgentEvent]:
        if self._written:
            yield AgentEvent(EventKind.TEXT, "".join(self._written))
            self._written.clear()

    def _failed(self, message: JsonObject) -> Iterator[AgentEvent]:
        code = number_at(message, "error", "code")
        words = text_at(message, "error", "message") or "error without a message"
        details = text_at(message, "error", "data", "details")
        # Some programs use the status of the service as the code of the error.
        fault = read_fault(
            f"{words}: {details}" if details else words, code if code and code > 0 else None
        )
        is_login = code == _LOGIN_REQUIRED and fault.kind is FaultKind.FAILED
        yield fault_event(fault._replace(kind=FaultKind.LOGIN) if is_login else fault)
        yield AgentEvent(EventKind.ENDED, is_error=True)

    def _ended(self, message: JsonObject) -> Iterator[AgentEvent]:
        yield from self._take_text()
        usage = _usage(message)
        if usage:
            yield AgentEvent(EventKind.USAGE, usage=usage)
        reason = text_at(message, "result", "stopReason")
        if reason != "end_turn":
            yield fault_event(Fault(FaultKind.FAILED, f"it stopped: {reason or 'no reason given'}"))
        yield AgentEvent(EventKind.ENDED, is_error=reason != "end_turn")


def _message(**members: object) -> str:
    return json.dumps({"jsonrpc": "2.0", **members}) + "\n"


def _our_tool(call: JsonObject) -> str:
    """Return the name of our tool that a call is for; empty if it may be anything else."""
    if text_at(call, "kind") in _OWN_KINDS:
        return ""
    found = _OUR_TOOL.fullmatch(text_at(call, "title"))
    return found[1].lower() if found else ""


def _usage(message: JsonObject) -> Usage | None:
    """Return the usage of a turn: by the protocol's draft, or as Gemini reports it."""
    found = value_at(message, "result", "usage")
    if isinstance(found, dict):
        cached = count_at(found, "cachedReadTokens")
        written = count_at(found, "cachedWriteTokens")
        new = count_at(found, "inputTokens")
        return Usage(new + written + cached, cached, count_at(found, "outputTokens"))
    found = value_at(message, "result", "_meta", "quota", "token_count")
    if isinstance(found, dict):
        return Usage(count_at(found, "input_tokens"), 0, count_at(found, "output_tokens"))
    return None
