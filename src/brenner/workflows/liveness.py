"""Who listens at an address, as far as whoever it is says so. Nothing secret is sent for that."""

import http.client
import json
from contextlib import suppress
from urllib.parse import urlsplit

OURS, THEIRS, NOBODY = "brenner", "agent mail", "nobody"
_PATH = "health/liveness"
_MOST_BYTES = 1_000


def who_listens(url: str, seconds: float) -> str:
    """A server of ours, one of Agent Mail, or nobody who says so. The URL is its endpoint."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    folder = parts.path.rstrip("/").rpartition("/")[0]
    with suppress(OSError, http.client.HTTPException, ValueError):
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("GET", f"{folder}/{_PATH}")
            said = json.loads(connection.getresponse().read(_MOST_BYTES))
        finally:
            connection.close()
        if isinstance(said, dict) and said.get("status") == "alive":
            return OURS if said.get("server") == "brenner" else THEIRS
    return NOBODY
