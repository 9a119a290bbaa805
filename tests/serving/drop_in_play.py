"""Plays the script on a server that speaks as Agent Mail does."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from serving.drop_in_forms import Form, form_of
from serving.drop_in_script import SCRIPT, At, Id, Key

PATH = "/mcp/"


class Reply(Protocol):
    """What came back over HTTP."""

    @property
    def status(self) -> int: ...
    @property
    def document(self) -> Any: ...


Ask = Callable[[str, str, object], Reply]


class Play:
    """One server, the key of the project there, and the messages that were sent so far."""

    def __init__(
        self, ask: Ask, key: str, before: Mapping[str, Callable[[], object]] | None = None
    ) -> None:
        """`before` are what happens there before a step, other than by requests."""
        self._ask = ask
        self._key = key
        self._before = before or {}
        self._sent: dict[str, Mapping[str, Any]] = {}
        self._slug = ""

    def forms(self) -> dict[str, Form]:
        """The form of the answer to each step."""
        return {step.name: self._form(*step) for step in SCRIPT}

    def _form(self, name: str, method: str, params: Mapping[str, Any]) -> Form:
        if name in self._before:
            self._before[name]()
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": self._filled(params)}
        reply = self._ask("POST", PATH, asked)
        self._note(name, reply.document)
        return form_of(reply.status, reply.document)

    def _note(self, name: str, document: Any) -> None:
        """Remember what later steps speak of."""
        result = document.get("result", {}) if isinstance(document, Mapping) else {}
        value = result.get("structuredContent") or {}
        if value.get("deliveries"):
            self._sent[name] = value["deliveries"][0]["payload"]
        self._slug = value.get("slug") or self._slug

    def _filled(self, value: Any) -> Any:
        """With what stands for ids, times and the project replaced by them."""
        if isinstance(value, Key):
            return self._key + value.behind
        if isinstance(value, Id):
            return self._sent[value.step]["id"]
        if isinstance(value, At):
            return self._sent[value.step]["created_ts"]
        if isinstance(value, dict):
            return {name: self._filled(each) for name, each in value.items()}
        return self._address(value) if isinstance(value, str) else value

    def _address(self, text: str) -> str:
        if not text.startswith("resource://"):
            return text
        ids = {name: str(sent["id"]) for name, sent in self._sent.items()}
        key = quote(self._key, safe="")
        hidden = quote(f"?project={key}&include_bodies=true&limit=2", safe="")
        return text.format(**ids, key=key, hidden=hidden, slug=self._slug)
