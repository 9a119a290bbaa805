"""Where the server is, for commands that speak of it: `--url`, else the environment, else here."""

import os
from urllib.parse import urlsplit

import click

from brenner.server.settings import ENDPOINTS, HOST, PORT
from brenner.services.identity import TOKEN
from brenner.text import visible

VARIABLE = "BRENNER_SERVE_URL"
DEFAULT = f"http://{HOST}:{PORT}{ENDPOINTS[1]}"
_SCHEMES = ("http", "https")


def serve_url(said: str | None) -> str:
    """The whole address; where only a host is said, the path is the usual one."""
    named, url = ("--url", said) if said is not None else (VARIABLE, os.environ.get(VARIABLE, ""))
    if said is None and not url:
        return DEFAULT
    reason = _fault(url)
    if reason:
        message = f"{named} is not the address of a server: {reason}. It looks like `{DEFAULT}`."
        raise click.UsageError(message)
    parts = urlsplit(url)
    return url if parts.path.strip("/") else parts._replace(path=ENDPOINTS[1]).geturl()


def pages_url(said: str | None) -> str:
    """Where its pages are: beside the endpoint, at the root."""
    parts = urlsplit(serve_url(said))
    return f"{parts.scheme}://{parts.netloc}"


def _fault(url: str) -> str | None:
    """Why a text is no address; a password would be shown, so its text is not."""
    if not (url.isascii() and url.isprintable()) or " " in url:
        return "it has characters that belong into none"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (one that is none raises)
    except ValueError:
        return "its host or port cannot be read"
    if parts.scheme not in _SCHEMES or not parts.hostname:
        return f"`{visible(url)}` does not begin with `http://` or `https://` and a host"
    if "@" in parts.netloc:
        return f"a name or token does not belong into it but into {TOKEN}"
    if parts.query or parts.fragment:
        return "nothing follows its path"
    return None
