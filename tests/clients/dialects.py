"""The three languages in which agents' programs talk to their model's service.

Each is one row of `DIALECTS`: how to read a request, and how to write an answer or an error.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Document = dict[str, Any]
SEARCH, CODE = "tool_search", "exec"  # Codex's own ways to reach a tool that it does not offer


class Tool(NamedTuple):
    """A tool that the program offers, as its model has to name it."""

    name: str
    namespace: str = ""
    kind: str = "function"

    @property
    def full_name(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


class ToolCall(NamedTuple):
    """A call that the model makes."""

    tool: Tool
    arguments: Mapping[str, Any] | str


class Conversation(NamedTuple):
    """What a request says: prompts, results of tools, and the tools on offer.

    `turns` counts the answers of the model since the last prompt, without its searches for tools;
    `searches` counts those since then.
    """

    prompts: tuple[str, ...] = ()
    turns: int = 0
    results: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    searches: int = 0


class Reply(NamedTuple):
    """What the model answers: a text or calls."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class Dialect(NamedTuple):
    """One language."""

    name: str
    ending: str  # of the path
    read: Callable[[Document], Conversation]
    events: Callable[[str, Reply, int], list[Document]]  # from the model's name and the size
    whole: Callable[[list[Document]], Document]  # the same answer when nothing is streamed
    error: Callable[[int, str], Document]


class _Reader:
    """Put a conversation together from its parts, in their order."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.results: list[str] = []
        self.turns = self.searches = 0
        self._is_open = False  # the model is speaking

    def user(self, text: str) -> None:
        """Take a text in the user's place. Programs add texts of their own, as `<tag>`."""
        self._is_open = False
        if text.strip() and not text.lstrip().startswith("<"):
            self.prompts.append(text)
            self.turns = self.searches = 0

    def result(self, value: object) -> None:
        self._is_open = False
        self.results.append("\n".join(_texts(value)))

    def model(self) -> None:
        self.turns += not self._is_open
        self.searches = 0
        self._is_open = True

    def search(self) -> None:
        self.searches += 1

    def conversation(self, tools: Iterable[Tool]) -> Conversation:
        known = (tuple(self.prompts), self.turns, tuple(self.results))
        return Conversation(*known, tuple(tools), self.searches)


def _texts(value: object) -> list[str]:
    """Return all texts in a value, in order."""
    if isinstance(value, str):
        return [value]
    inside: Iterable[object] = ()
    if isinstance(value, dict):
        inside = value.values()
    elif isinstance(value, list):
        inside = value
    return [text for each in inside for text in _texts(each)]


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(10)}"


# Anthropic Messages (Claude Code)


def _read_messages(body: Document) -> Conversation:
    reader = _Reader()
    for message in body.get("messages", []):
        content = message.get("content") or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            reader.model()
        if message["role"] != "user":
            continue
        for part in parts:
            if part["type"] == "tool_result":
                reader.result(part.get("content"))
        for part in parts:
            if part["type"] == "text":
                reader.user(part["text"])
    return reader.conversation(Tool(each["name"]) for each in body.get("tools", []))


def _message_events(model: str, reply: Reply, size: int) -> list[Document]:
    blocks: list[tuple[Document, Document]] = []
    if reply.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}))
    for call in reply.calls:
        block = {"type": "tool_use", "id": _new_id("toolu"), "name": call.tool.name, "input": {}}
        part = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        blocks.append((block, part))
    usage = {"input_tokens": size, "output_tokens": 50}
    start: Document = {
        "id": _new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Document] = [{"type": "message_start", "message": start}]
    for index, (block, part) in enumerate(blocks):
        place = {"index": index}
        events.append({"type": "content_block_start", **place, "content_block": block})
        events.append({"type": "content_block_delta", **place, "delta": part})
        events.append({"type": "content_block_stop", **place})
    reason = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": 50}})
    return [*events, {"type": "message_stop"}]


def _whole_message(events: list[Document]) -> Document:
    message: Document = events[0]["message"]
    content: list[Document] = []
    for event in events:
        if event["type"] == "content_block_start":
            content.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta" and "text" in event["delta"]:
            content[-1]["text"] = event["delta"]["text"]
        elif event["type"] == "content_block_delta":
            content[-1]["input"] = json.loads(event["delta"]["partial_json"])
    return {**message, "content": content, **events[-2]["delta"]}


_ANTHROPIC_ERRORS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


def _message_error(status: int, text: str) -> Document:
    kind = _ANTHROPIC_ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": text}}


# OpenAI Responses (Codex)


def _read_responses(body: Document) -> Conversation:
    reader = _Reader()
    offered = list(body.get("tools", []))
    for item in body.get("input", []):
        kind = item.get("type", "message")
        if kind == "message" and item["role"] == "user":
            for part in item["content"]:
                reader.user(part.get("text", ""))
        elif kind in ("function_call", "custom_tool_call") or item.get("role") == "assistant":
            reader.model()
        elif kind == f"{SEARCH}_call":
            reader.search()
        elif kind in ("tool_search_output", "additional_tools"):
            offered += item.get("tools", [])
        elif kind.endswith("_call_output"):
            reader.result(item.get("output"))
    return reader.conversation(tool for each in offered for tool in _response_tools(each))


def _response_tools(offer: Document) -> list[Tool]:
    kind, name = offer.get("type", ""), offer.get("name", "")
    if kind == "namespace":
        return [Tool(each["name"], name, each["type"]) for each in offer["tools"]]
    if kind == SEARCH:
        return [Tool(SEARCH, kind=SEARCH)]
    return [Tool(name, kind=kind)] if kind in ("function", "custom") else []


def _response_events(model: str, reply: Reply, size: int) -> list[Document]:
    items = [_response_item(each) for each in reply.calls]
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.insert(
            0, {"type": "message", "id": _new_id("msg"), "role": "assistant", "content": content}
        )
    whole: Document = {
        "id": _new_id("resp"),
        "object": "response",
        "model": model,
        "error": None,
        "status": "completed",
        "output": items,
        "usage": {
            "input_tokens": size,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": size + 50,
        },
    }
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Document] = [{"type": "response.created", "response": started}]
    for index, item in enumerate(items):
        for step in ("added", "done"):
            kind = f"response.output_item.{step}"
            events.append({"type": kind, "output_index": index, "item": item})
    return [*events, {"type": "response.completed", "response": whole}]


def _response_item(call: ToolCall) -> Document:
    tool = call.tool
    common = {"call_id": _new_id("call"), "status": "completed"}
    if tool.kind == SEARCH:
        search = {"execution": "client", "arguments": call.arguments}
        return {"type": "tool_search_call", "id": _new_id("ts"), **common, **search}
    if tool.kind == "custom":
        text = {"name": tool.name, "input": call.arguments}
        return {"type": "custom_tool_call", "id": _new_id("ctc"), **common, **text}
    given = {"name": tool.name, "arguments": json.dumps(call.arguments)}
    space = {"namespace": tool.namespace} if tool.namespace else {}
    return {"type": "function_call", "id": _new_id("fc"), **common, **given, **space}


def _response_error(status: int, text: str) -> Document:
    return {"error": {"type": f"error_{status}", "code": f"error_{status}", "message": text}}


# Gemini


def _read_contents(body: Document) -> Conversation:
    reader = _Reader()
    for content in body.get("contents", []):
        if content.get("role") == "model":
            reader.model()
            continue
        for part in content.get("parts", []):
            if "functionResponse" in part:
                reader.result(part["functionResponse"].get("response"))
            elif "text" in part:
                reader.user(part["text"])
    groups = body.get("tools") or []
    offered = [each for group in groups for each in group.get("functionDeclarations", [])]
    return reader.conversation(Tool(each["name"]) for each in offered)


def _content_events(model: str, reply: Reply, size: int) -> list[Document]:
    parts: list[Document] = [{"text": reply.text}] if reply.text else []
    for call in reply.calls:
        made = {"name": call.tool.name, "args": call.arguments}
        parts.append({"functionCall": made, "thoughtSignature": "c2NyaXB0"})
    answer = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    counts = {"promptTokenCount": size, "candidatesTokenCount": 50, "totalTokenCount": size + 50}
    return [{"candidates": [answer], "usageMetadata": counts, "modelVersion": model}]


def _content_error(status: int, text: str) -> Document:
    return {"error": {"code": status, "status": f"ERROR_{status}", "message": text}}


DIALECTS = (
    Dialect(
        "anthropic", "/messages", _read_messages, _message_events, _whole_message, _message_error
    ),
    Dialect(
        *("responses", "/responses", _read_responses, _response_events),
        lambda events: dict(events[-1]["response"]),
        _response_error,
    ),
    Dialect(
        *("gemini", "enerateContent", _read_contents, _content_events),
        lambda events: events[0],
        _content_error,
    ),
)
