"""CSRF tokens in forms, masked with fresh random bytes whenever one is written.

A constant token on a compressed page that reflects a request could be guessed byte by byte from the
sizes of responses (BREACH). A masked one is different every time.
"""

from __future__ import annotations

import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

from brenner.lazy_pattern import lazy_pattern
from brenner.web.request import CSRF_FIELD

_TOKEN_FIELD = lazy_pattern(
    rf'name="{CSRF_FIELD}" value="[\w=-]*"', re.ASCII
)  # as templates have it


def masked(token: bytes) -> str:
    """Return the mask and the masked token as text."""
    mask = secrets.token_bytes(len(token))
    return urlsafe_b64encode(mask + _xor(mask, token)).decode()


def unmasked(text: str) -> bytes:
    """Return the token in a text, empty if the text is none."""
    try:
        found = urlsafe_b64decode(text.encode("ascii"))
    except ValueError:
        return b""
    middle = len(found) // 2
    return _xor(found[:middle], found[middle:]) if len(found) == 2 * middle else b""


def without_tokens(html: str) -> str:
    """Return a page without its tokens: the part that is equal for equal content."""
    return _TOKEN_FIELD.sub("", html)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
