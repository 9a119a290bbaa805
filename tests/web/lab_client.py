"""A browser without windows: it keeps cookies, fills in forms, and sends what a browser sends."""

import html
import http.client
import json
import re
from collections.abc import Mapping
from http.cookies import SimpleCookie
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from brenner.services.identity import renew_secret
from serving.running import At, Inside

_NONE: Mapping[str, str | None] = MappingProxyType({})
_FORM = "application/x-www-form-urlencoded"
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
_MAIN = re.compile(r"<main.*?</main>", re.DOTALL)


class Got(NamedTuple):
    """An answer."""

    status: int
    headers: Mapping[str, str]
    text: str
    cookies: tuple[str, ...] = ()

    @property
    def to(self) -> str:
        """Where it leads."""
        return self.headers.get("location", "")

    @property
    def document(self) -> Any:
        """Its JSON."""
        return json.loads(self.text)

    @property
    def hidden(self) -> dict[str, str]:
        """What the form on it sends along: its key, the token."""
        found = _MAIN.search(self.text)
        return (
            {name: html.unescape(value) for name, value in _HIDDEN.findall(found[0])}
            if found
            else {}
        )


class Client:
    """One person's browser."""

    def __init__(self, server: At, **headers: str) -> None:
        self.server = server
        self.jar: dict[str, str] = {}
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def get(self, path: str, headers: Mapping[str, str | None] = _NONE) -> Got:
        """Go to an address; nothing is followed."""
        return self.ask("GET", path, None, {"Accept": "text/html", **headers})

    def post(self, path: str, fields: Any, headers: Mapping[str, str | None] = _NONE) -> Got:
        """Send a form, as a page of the server would."""
        said = {"Origin": self.server.base_url, "Content-Type": _FORM, "Accept": "text/html"}
        return self.ask("POST", path, urlencode(fields, doseq=True).encode(), {**said, **headers})

    def send(self, path: str, document: object, secret: str | None = None) -> Got:
        """Ask as a script does."""
        said = {"Content-Type": "application/json", "Brenner-Secret": secret}
        return self.ask("POST", path, json.dumps(document).encode(), said)

    def log_in(self, secret: str | None = None) -> str:
        """Log into the lab, with a new secret where none is given; the secret."""
        if secret is None:
            assert isinstance(self.server, Inside)
            workspace = self.server.workspace
            secret = renew_secret(workspace.mailbox, workspace.project.operator)
        got = self.post("/lab/login", {"secret": secret})
        assert got.status == 303, got.text
        return secret

    def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | None]
    ) -> Got:
        """One request, with what is kept."""
        given = {**self.headers, **headers}
        if self.jar and "Cookie" not in given:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        said = {name: value for name, value in given.items() if value is not None}
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=60)
        try:
            connection.request(method, path, body, said)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        cookies = tuple(response.msg.get_all("set-cookie") or ())
        for each in cookies:
            self._keep(each)
        return Got(response.status, {k.lower(): v for k, v in response.getheaders()}, text, cookies)

    def _keep(self, cookie: str) -> None:
        for name, value in SimpleCookie(cookie).items():
            self.jar[name] = value.value
            if value["max-age"] == "0":
                del self.jar[name]


def query(address: str) -> str:
    """What stands behind the question mark."""
    return urlsplit(address).query
