"""The client of an Agent Mail server: its tools and its resources."""

import threading
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from brenner.diagnostics.codes.stores import SERVER_LACKS
from brenner.diagnostics.model import Refused, Unavailable
from brenner.mail.agent_mail.failures import Failures, harmless
from brenner.mail.agent_mail.offers import Template, Tools, hides_query, templates
from brenner.mail.agent_mail.rpc import Rpc
from brenner.mail.agent_mail.sockets import Deadline
from brenner.store_url import shown

_LIST_TEMPLATES = "resources/templates/list"
# Tools that do no more when they are called twice than when they are called once.
_REPEATABLE = frozenset(
    (
        *("health_check", "ensure_project", "whois", "fetch_inbox"),
        *("search_messages", "summarize_thread"),
        *("mark_message_read", "acknowledge_message"),
    )
)


def segment(text: str) -> str:
    """A text as one segment of the path of a resource."""
    return quote(text, safe="")


class Client:
    """One server. Each method has `seconds` for all that it does; threads take turns."""

    def __init__(self, url: str, token: str | None = None, *, seconds: float = 30.0) -> None:
        self.where = shown(url)
        self._seconds = seconds
        self._failures = Failures(self.where, token)
        if token and not (token.isascii() and token.isprintable()):
            reason = "the token has characters that no request can carry"
            raise self._failures.denied(reason)
        self._rpc = Rpc(url, token, self._failures)
        self._tools: Tools | None = None
        self._templates: tuple[Template, ...] | None = None
        self._lock = threading.RLock()

    def call(self, tool: str, arguments: Mapping[str, object]) -> object:
        """What a tool gives back; a list is the list itself.

        Servers refuse arguments that they do not know: only those in the tool's schema are sent,
        and of these none that is None.
        """
        with self._lock:
            deadline = Deadline(self._seconds)
            tools = self._known_tools(deadline)
            if not tools.has(tool):
                what = f"the tool `{tool}`"
                raise self._failures.lacks(what)
            given = {
                name: value
                for name, value in arguments.items()
                if value is not None and tools.has(tool, name)
            }
            params = {"name": tool, "arguments": given}
            may_repeat = tool in _REPEATABLE
            result = self._rpc.ask("tools/call", params, deadline, may_repeat=may_repeat)
            return self._rpc.reader.tool_value(result)

    def read(self, path: str, query: Mapping[str, str]) -> object:
        """What the resource of that path holds; its segments are made by `segment`."""
        with self._lock, harmless():
            deadline = Deadline(self._seconds)
            plain = f"?{urlencode(query, quote_via=quote)}" if query else ""
            if not plain or not hides_query(self._known_templates(deadline), path):
                return self._resource(path + plain, deadline)
            # A server drops the query of a resource whose template declares none, but takes it off
            # the value of the last segment itself: there it arrives if it is encoded once more.
            try:
                return self._resource(path + segment(plain), deadline)
            except Refused as refused:
                return self._plainly(path + plain, query, refused, deadline)

    def offers(self, tool: str, argument: str | None = None) -> bool:
        """Whether the server has that tool, and whether it takes that argument."""
        with self._lock:
            return self._known_tools(Deadline(self._seconds)).has(tool, argument)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._rpc.close()

    def _resource(self, address: str, deadline: Deadline) -> object:
        result = self._rpc.ask("resources/read", {"uri": f"resource://{address}"}, deadline)
        return self._rpc.reader.resource_value(result)

    def _plainly(
        self, address: str, query: Mapping[str, str], refused: Refused, deadline: Deadline
    ) -> object:
        """The same resource with its query where it belongs, for servers that want it there.

        One that drops it may answer for a project that it guesses: that is no answer.
        """
        try:
            value = self._resource(address, deadline)
        except Refused:
            raise refused from None
        wanted = query.get("project")
        if isinstance(value, Mapping) and value.get("project", wanted) != wanted:
            raise refused
        return value

    def _known_tools(self, deadline: Deadline) -> Tools:
        if self._tools is None:
            with harmless():
                self._tools = Tools(self._rpc.listed("tools/list", "tools", deadline))
        return self._tools

    def _known_templates(self, deadline: Deadline) -> tuple[Template, ...]:
        """A server that lists none may have resources all the same."""
        if self._templates is None:
            try:
                listed = self._rpc.listed(_LIST_TEMPLATES, "resourceTemplates", deadline)
            except Unavailable as error:
                if error.diagnostic.code != SERVER_LACKS:
                    raise
                listed = []
            self._templates = templates(listed)
        return self._templates
