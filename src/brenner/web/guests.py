"""Ways in for browsers, which cannot send the server's token as programs do.

Who has the token types it in once and gets a cookie that proves it. A guest gets a link to one
session. Both are signed with the token: the server keeps nothing, and with another token they are
worth nothing.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import Refused

GUEST = "brenner.guest"  # under which the gate hands on which threads a guest may see
GUEST_UNTIL = "brenner.guest_until"  # and until when, by thread
GUEST_COOKIES = "brenner_guest_"
ENTRY_SECONDS = 30 * 24 * 3600
_NAME, _ENTRY, _LINK = "name", "entry", "link"
_MOST_LINKS = 50
_MOST_CHARACTERS = 4_000
_DIGITS = 12
_PARTS = 3


def entry_cookie(token: str) -> str:
    """The name of the cookie: servers with other tokens on the same machine have others."""
    return f"brenner_entry_{_signature(token, _NAME, '')[:_DIGITS]}"


def entry(token: str, now: datetime) -> str:
    """The proof that somebody has shown the token, good for a month."""
    until = int(now.timestamp()) + ENTRY_SECONDS
    return f"{until}.{_signature(token, _ENTRY, str(until))}"


def is_entry(token: str, cookie: str, now: datetime) -> bool:
    """Whether a cookie is such a proof."""
    until, _, signature = cookie.partition(".")
    expected = _signature(token, _ENTRY, until)
    is_right = hmac.compare_digest(_bytes(signature), expected.encode())
    return is_right and _is_ahead(until, now)


def link(token: str, thread_id: str, until: datetime) -> str:
    """What a link to a session ends with."""
    name = urlsafe_b64encode(thread_id.encode()).decode().rstrip("=")
    seconds = str(int(until.timestamp()))
    return f"{name}.{seconds}.{_signature(token, _LINK, f'{name}.{seconds}')}"


def linked(token: str, signed: str, now: datetime) -> tuple[str, datetime]:
    """The thread that a link opens, and until when; one that was changed or is old is refused."""
    parts = signed.split(".")
    if len(parts) != _PARTS or len(signed) > _MOST_CHARACTERS:
        raise Refused(codes.LINK_BROKEN.at())
    name, seconds, signature = parts
    expected = _signature(token, _LINK, f"{name}.{seconds}")
    if not hmac.compare_digest(_bytes(signature), expected.encode()):
        raise Refused(codes.LINK_BROKEN.at())
    until = datetime.fromtimestamp(int(seconds), UTC)
    if until <= now:
        raise Refused(codes.LINK_EXPIRED.at(until=f"{until:%Y-%m-%d %H:%M} UTC"))
    return urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode(), until


def guest_cookie(thread_id: str) -> str:
    """The name of the cookie for a thread: who has several links keeps them all."""
    digest = sha256(thread_id.encode(errors="surrogatepass")).hexdigest()
    return f"{GUEST_COOKIES}{digest[:_DIGITS]}"


def threads_of_guest(token: str, cookies: Mapping[str, str], now: datetime) -> dict[str, datetime]:
    """The threads that somebody has links to, and until when."""
    given = [value for name, value in cookies.items() if name.startswith(GUEST_COOKIES)]
    found: dict[str, datetime] = {}
    for thread_id, until in _good(token, given[:_MOST_LINKS], now):
        found[thread_id] = max(until, found.get(thread_id, until))
    return found


def _good(token: str, links: Iterable[str], now: datetime) -> Iterable[tuple[str, datetime]]:
    for each in links:
        try:
            yield linked(token, each, now)
        except Refused:
            continue


def _signature(token: str, purpose: str, text: str) -> str:
    """One for each purpose: no proof stands for another."""
    words = f"brenner {purpose} {text}".encode(errors="surrogatepass")
    return hmac.new(token.encode(), words, sha256).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _is_ahead(seconds: str, now: datetime) -> bool:
    return int(seconds) > now.timestamp()
