"""An Agent Mail server that offers what one should, and then answers as a test wants it to."""

from collections.abc import Callable
from typing import Self

import pytest

from brenner.diagnostics.model import BrennerError
from brenner.mail.agent_mail.client import Client
from mail.odd_server import Asked, OddServer, Reply, document, result, texts, tools, whole

SEND, FETCH = "send_message", "fetch_inbox"
OFFERED = tools(send_message=["to", "subject", "sender_token"], fetch_inbox=["limit"])
TEMPLATES = {
    "resourceTemplates": [
        {"uriTemplate": "resource://agents/{project}"},
        {"uriTemplate": "resource://outbox/{agent}"},
        {"uriTemplate": "resource://thread/{thread_id*}{?project,include_bodies}"},
    ]
}
SECRET = "s3cret-t0ken"  # noqa: S105
Answers = Callable[[Asked], Reply]


class OddMail(OddServer):
    """Such a server, and those who talk to it."""

    def __init__(self, answer: Answers) -> None:
        super().__init__(answer)
        self._clients: list[Client] = []

    def client(self, token: str | None = None, *, seconds: float = 30) -> Client:
        """Somebody who hangs up when the test is over."""
        self._clients.append(Client(self.url, token, seconds=seconds))
        return self._clients[-1]

    def failure(self, tool: str = SEND, *, seconds: float = 30) -> BrennerError:
        """What comes of a call that goes wrong."""
        with pytest.raises(BrennerError) as caught:
            self.client(SECRET, seconds=seconds).call(tool, {})
        return caught.value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        super().__exit__()


def lists(asked: Asked) -> Reply | None:
    """What is offered, if that is what was asked for."""
    offered = {"tools/list": OFFERED, "resources/templates/list": TEMPLATES}
    found = offered.get(asked.document["method"])
    return result(asked, found) if found else None


def serving(answer: Answers) -> OddMail:
    """A server that says what it offers as it should, and answers the rest as it is told."""
    return OddMail(lambda asked: lists(asked) or answer(asked))


def fixed(value: object) -> OddMail:
    """One whose tools and resources all have the same result."""
    return serving(lambda asked: result(asked, value))


def rpc_error(code: int, message: str) -> Answers:
    """A JSON-RPC error."""
    error = {"code": code, "message": message}
    return lambda asked: whole(200, document(asked, error=error))


def tool_error(message: str) -> Answers:
    """A tool that says no."""
    return lambda asked: result(asked, texts(message, is_error=True))
