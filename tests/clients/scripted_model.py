"""A model on loopback that plays scripts, for agents' real programs without a model's service.

    with ScriptedModel() as model:
        script = model.script(
            "BlueLake",
            [Call("brenner_task"), Call("brenner_post", {"deltas": […]}), Say("Done.")],
        )
        …  # run a program with the API key "BlueLake" and `model.url`; see `programs.py`
        script.check()  # it was played to its end, and nothing in it failed

The API key chooses the script, so an agent's prompt can be anything. Agents that share a key have
scripts with `about`, which is a text in their prompts, such as their names.

A script has one part for each prompt, in the order in which prompts arrive: a second run, with or
without the conversation of the first one, plays the second part. Within a part the conversation
says which turn is due, so a program may ask twice. Questions without tools are not of the script,
and get any answer.

Turns are `Call`, a list of calls at once, and `Say`, which ends the part. Between them, and not
counted as turns: `Fail`, `Cut` and `Hang` for a service that misbehaves, and `Do` for an event
outside. In arguments, `Found(PATTERN)` is the first group of the last match in the results of tools
so far. Tools have the names that our server gives them; each program's own name is looked up among
the tools that it offers, by Codex's search or code mode if need be.
"""

import gzip
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from clients.dialects import CODE, DIALECTS, SEARCH, Conversation, Dialect, Reply, ToolCall

_NONE: Mapping[str, Any] = MappingProxyType({})
_SERVER = "brenner"  # in the programs' settings


class Call(NamedTuple):
    """Call a tool of our server."""

    tool: str
    arguments: Mapping[str, Any] = _NONE


class Say(NamedTuple):
    """Answer with a text. The program then waits for its next prompt."""

    text: str


class Fail(NamedTuple):
    """Answer with an error, so many times; `times=None` is for ever."""

    status: int
    headers: Mapping[str, str] = _NONE
    times: int | None = 1


class Cut(NamedTuple):
    """Break off in the middle of a streamed text, so many times."""

    times: int | None = 1


class Hang(NamedTuple):
    """Answer nothing until the program gives up or the model is closed."""

    times: int | None = None


class Do(NamedTuple):
    """Do something in the test, once, before the next turn."""

    action: Callable[[], object]


class Found(NamedTuple):
    """The first group of the last match in the results of tools, as a text or a number."""

    pattern: str
    kind: type[str | int] = str


Turn = Call | Say | Fail | Cut | Hang | Do | Sequence[Call]
_ASIDE = (Fail, Cut, Hang, Do)


class ScriptError(Exception):
    """A script cannot go on."""


class Script:
    """What the model does for one key, and what it has seen there."""

    def __init__(self, key: str, parts: Iterable[Sequence[Turn]], about: str) -> None:
        self.key, self.about = key, about
        self.prompts: list[str] = []  # one for each part that was begun
        self.offered: tuple[str, ...] = ()  # tools in the last request
        self.results: tuple[str, ...] = ()  # of tools, in the last request's conversation
        self.faults: list[str] = []
        self._parts = [tuple(part) for part in parts]
        self._spent: dict[tuple[int, int], int] = {}  # how often an aside was played
        self._ended: set[int] = set()
        self._lock = threading.Lock()

    @property
    def offers_ours(self) -> bool:
        """Return whether the program offered tools of our server."""
        return any(_SERVER in each for each in self.offered)

    def check(self) -> None:
        """Raise unless all parts were played to their ends without a fault."""
        left = [number + 1 for number in range(len(self._parts)) if number not in self._ended]
        if self.faults or left:
            seen = "\n".join(self.results[-1:])[:2_000]
            message = f"{self.key}: {self.faults}; parts not played to the end: {left}; {seen}"
            raise ScriptError(message)

    def see(self, conversation: Conversation) -> int:
        """Take note of a request; return the number of its part."""
        prompt = conversation.prompts[-1] if conversation.prompts else ""
        with self._lock:
            self.offered = tuple(each.full_name for each in conversation.tools)
            self.results = conversation.results
            parts = [part for part, each in enumerate(self.prompts) if each == prompt]
            is_again = bool(parts) and parts[-1] in self._ended and not conversation.turns
            if not parts or is_again:
                parts.append(len(self.prompts))
                self.prompts.append(prompt)
            return parts[-1]

    def due(self, part: int, turns: int) -> tuple[list[Do], Turn]:
        """Return what to do first, and the turn that is due after so many turns of a part."""
        count = 0
        first: list[Do] = []
        for place, turn in enumerate(self._parts[part] if part < len(self._parts) else ()):
            if not isinstance(turn, _ASIDE):
                if count == turns:
                    return first, turn
                count += 1
            elif count == turns and self._is_due((part, place), turn):
                if not isinstance(turn, Do):
                    return first, turn
                first.append(turn)
        return first, Say("The script is over.")

    def _is_due(self, place: tuple[int, int], turn: Fail | Cut | Hang | Do) -> bool:
        times = 1 if isinstance(turn, Do) else turn.times
        with self._lock:
            spent = self._spent.get(place, 0)
            self._spent[place] = spent + 1
        return times is None or spent < times

    def do(self, turn: Do) -> None:
        """Do something in the test."""
        try:
            turn.action()
        except Exception as error:  # noqa: BLE001  # reported by `check`
            self.faults.append(repr(error))

    def reply(self, part: int, turn: Turn, conversation: Conversation) -> Reply:
        """Return the answer that a turn is. What cannot be played ends the part with a fault."""
        try:
            if isinstance(turn, Say):
                self._ended.add(part)
                return Reply(turn.text)
            calls = [turn] if isinstance(turn, Call) else turn
            assert not isinstance(calls, _ASIDE)
            return Reply(calls=tuple(_tool_call(each, conversation) for each in calls))
        except ScriptError as error:
            self.faults.append(str(error))
            return Reply(f"The script failed: {error}")


def _tool_call(call: Call, conversation: Conversation) -> ToolCall:
    """Return the call as the program has to get it: of the tool, or of a search for it."""
    arguments = _filled(call.arguments, "\n".join(conversation.results))
    own = rf"mcp_+{_SERVER}_+{re.escape(call.tool)}"
    searched = (own, SEARCH, rf"(\w+__)?{CODE}")
    tools = (
        each
        for name in searched
        for each in conversation.tools
        if re.fullmatch(name, each.full_name)
    )
    tool = next(tools, None)
    if tool is None or (tool.kind == SEARCH and conversation.searches):
        names = ", ".join(each.full_name for each in conversation.tools)
        message = f"{call.tool} is not among the tools on offer: {names}"
        raise ScriptError(message)
    if tool.name == CODE:
        code = f"text(await tools.mcp__{_SERVER}__{call.tool}({json.dumps(arguments)}))"
        return ToolCall(tool, code)
    search = {"query": f"{_SERVER} {call.tool}"}
    return ToolCall(tool, search if tool.kind == SEARCH else arguments)


def _filled(value: Any, results: str) -> Any:
    if isinstance(value, Found):
        found = re.findall(value.pattern, results)
        if not found:
            message = f"{value.pattern} is in no result of a tool"
            raise ScriptError(message)
        return value.kind(found[-1])
    if isinstance(value, Mapping):
        return {_filled(key, results): _filled(each, results) for key, each in value.items()}
    return [_filled(each, results) for each in value] if isinstance(value, list) else value


class ScriptedModel:
    """The service, for any number of programs at once."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.closing = threading.Event()
        self._server = _Service(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def script(self, key: str, *parts: Sequence[Turn], about: str = "") -> Script:
        """Set what the model does for an API key, in conversations whose prompts contain a text."""
        self.scripts.append(Script(key, parts, about))
        return self.scripts[-1]

    def has_key(self, key: str) -> bool:
        return any(each.key == key for each in self.scripts)

    def find(self, key: str, conversation: Conversation) -> Script | None:
        """Return the latest script for a conversation."""
        prompts = "\n".join(conversation.prompts)
        found = (
            each for each in reversed(self.scripts) if each.key == key and each.about in prompts
        )
        return next(found, None)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Service(ThreadingHTTPServer):
    daemon_threads = True
    model: ScriptedModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless the program has ended and its connection with it."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Request(NamedTuple):
    """What a program asks of its model."""

    dialect: Dialect
    body: dict[str, Any]
    model: str
    is_streamed: bool

    def events(self, reply: Reply) -> list[dict[str, Any]]:
        return self.dialect.events(self.model, reply, _tokens(self.body))


class _Handler(BaseHTTPRequestHandler):
    """One connection of a program to its model's service."""

    protocol_version = "HTTP/1.1"
    server: _Service

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def do_GET(self) -> None:
        """Answer a question about models and the like."""
        self._document(HTTPStatus.OK, {"data": [], "models": [], "has_more": False})

    def do_HEAD(self) -> None:
        """Answer that the service is there."""
        self._document(HTTPStatus.OK, None)

    def do_POST(self) -> None:
        """Play the turn that is due."""
        body = self._body()
        path, _, query = self.path.partition("?")
        if path.endswith(("/count_tokens", ":countTokens")):
            count = _tokens(body)
            self._document(HTTPStatus.OK, {"input_tokens": count, "totalTokens": count})
            return
        dialect = next((each for each in DIALECTS if path.endswith(each.ending)), None)
        if dialect is None:
            self._document(HTTPStatus.NOT_FOUND, {"error": {"message": path}})
            return
        name = body.get("model") or path.rpartition("/")[2].partition(":")[0]
        request = _Request(dialect, body, name, bool(body.get("stream")) or "stream" in path)
        conversation = dialect.read(body)
        key = self._key(query)
        script = self.server.model.find(key, conversation)
        if not self.server.model.has_key(key):
            self._document(HTTPStatus.UNAUTHORIZED, dialect.error(401, "Unknown API key"))
        elif script is None or not conversation.tools:  # beside a script, such as for a title
            self._answer(request, Reply(_aside(body)))
        else:
            self._play(request, script, conversation)

    def _play(self, request: _Request, script: Script, conversation: Conversation) -> None:
        part = script.see(conversation)
        first, turn = script.due(part, conversation.turns)
        for each in first:
            script.do(each)
        if isinstance(turn, Fail):
            error = request.dialect.error(turn.status, "A failure of the script")
            self._document(turn.status, error, turn.headers)
        elif isinstance(turn, Hang):
            self.server.model.closing.wait()
            self.close_connection = True
        elif isinstance(turn, Cut):
            events = request.events(Reply("This text is cut off"))
            self._stream(events[: len(events) // 2])
        else:
            self._answer(request, script.reply(part, turn, conversation))

    def _key(self, query: str) -> str:
        """Return the API key, which each program sends in another place."""
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        places = (self.headers.get("x-api-key"), self.headers.get("x-goog-api-key"), bearer)
        in_query = re.search(r"(?:^|&)key=([^&]*)", query)
        return next(filter(None, places), in_query.group(1) if in_query else "")

    def _body(self) -> dict[str, Any]:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            raw = b""
            while size := int(self.rfile.readline(), 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        document: dict[str, Any] = json.loads(raw or b"{}")
        return document

    def _answer(self, request: _Request, reply: Reply) -> None:
        if request.is_streamed:
            self._stream(request.events(reply))
        else:
            self._document(HTTPStatus.OK, request.dialect.whole(request.events(reply)))

    def _stream(self, events: list[dict[str, Any]]) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

    def _document(self, status: int, document: object, headers: Mapping[str, str] = _NONE) -> None:
        data = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        own = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in {**own, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _tokens(body: dict[str, Any]) -> int:
    """Return about how many tokens a request has."""
    return len(json.dumps(body)) // 4


def _aside(body: dict[str, Any]) -> str:
    """Return the answer to a question beside the conversation; Gemini wants JSON of a schema."""
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    if not schema:
        return "Yes."
    values = {"integer": 1, "number": 1, "boolean": True}
    kinds = {name: each.get("type", "") for name, each in schema.get("properties", {}).items()}
    return json.dumps({name: values.get(kind.lower(), "flash") for name, kind in kinds.items()})
