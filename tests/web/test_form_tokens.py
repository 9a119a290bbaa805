"""CSRF tokens: masked anew on every page, so that pages with forms can be compressed."""

import gzip
import http.client
import re
from collections.abc import Mapping
from http import HTTPStatus

from brenner.web.form_tokens import masked, unmasked, without_tokens
from brenner.web.lab.login import Login
from web.browsing import THREAD, Show
from web.lab_client import Client

TOKEN = re.compile(r'name="token" value="([\w=-]+)"')


def test_a_token_is_masked_anew() -> None:
    """No two texts of it are equal, and each is accepted by its own login only."""
    login, other = Login("Operator"), Login("Operator")
    texts = [login.form_token for _ in range(20)]
    assert len(set(texts)) == len(texts)
    assert all(map(login.is_own_token, texts))
    assert not any(map(other.is_own_token, texts))
    for wrong in ("", "x", "é", "AAAA", texts[0][:-4], texts[0][::-1]):
        assert not login.is_own_token(wrong)


def test_any_token_survives() -> None:
    for token in (b"", b"\0" * 32, bytes(range(32))):
        assert unmasked(masked(token)) == token
    page = f'<input type="hidden" name="token" value="{masked(b"x" * 32)}">'
    assert without_tokens(page) == '<input type="hidden" >'


def test_pages_of_the_operator_are_compressed(lab: Show) -> None:
    """Two of the same page differ in the token only, and have one ETag."""
    client = Client(lab.server)
    client.log_in()
    cookies = "; ".join(f"{name}={value}" for name, value in client.jar.items())
    headers = {"Cookie": cookies, "Accept": "text/html", "Accept-Encoding": "gzip"}
    pages = []
    for _ in range(2):
        status, said, body = ask(lab, headers)
        assert (status, said["content-encoding"]) == (HTTPStatus.OK, "gzip")
        pages.append((said["etag"], gzip.decompress(body).decode()))
    (etag, one), (same, other) = pages
    assert etag == same
    assert TOKEN.findall(one)[0] != TOKEN.findall(other)[0]
    assert ask(lab, {**headers, "If-None-Match": etag})[0] == HTTPStatus.NOT_MODIFIED


def ask(lab: Show, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(lab.server.host, lab.server.port, timeout=60)
    try:
        connection.request("GET", f"/sessions/{THREAD}/versions", headers=dict(headers))
        response = connection.getresponse()
        said = {name.lower(): value for name, value in response.getheaders()}
        return response.status, said, response.read()
    finally:
        connection.close()
