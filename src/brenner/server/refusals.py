"""How a request is refused before anybody has looked at what it wants: a status, and why."""

import json
from typing import NamedTuple

from starlette.types import Send

from brenner.diagnostics.model import Diagnostic

Headers = tuple[tuple[bytes, bytes], ...]


class Refusal(NamedTuple):
    """A request that gets no further."""

    status: int
    why: Diagnostic
    headers: Headers = ()

    @property
    def body(self) -> bytes:
        """Code, what is wrong and how to mend it, where clients of web services look for it."""
        detail = f"{self.why.id}: {self.why.message} {self.why.fix}"
        return json.dumps({"detail": detail}, ensure_ascii=False).encode()

    async def answer(self, send: Send) -> None:
        """Say so."""
        headers = ((b"content-type", b"application/json"), *_length(self.body), *self.headers)
        start = {"type": "http.response.start", "status": self.status, "headers": list(headers)}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


def _length(body: bytes) -> Headers:
    return ((b"content-length", str(len(body)).encode()),)
