"""Identity of agents: secrets, server identification, trust.

A secret is 256 random bits. It cannot be guessed, so its digest needs neither a salt nor a slow
hash. It is shown once, and stored only as a digest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.messages import StoredMessage, Trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brenner.session.versions import VersionHistory

_PREFIX = "brs_"  # makes a secret recognisable in a file or a log
_SECRET_BYTES = 32


def new_secret() -> str:
    from secrets import token_urlsafe

    return _PREFIX + token_urlsafe(_SECRET_BYTES)


def looks_like_secret(text: str) -> bool:
    """Return whether a text has the form of a secret; an unexpanded variable does not."""
    return text.startswith(_PREFIX)


def secret_digest(secret: str) -> str:
    """Return the digest of a secret. Any text has one, so that invalid input does not fail."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches_digest(digest: str | None, secret: str) -> bool:
    """Return whether a secret has that digest, in constant time. Without a digest, none matches."""
    return digest is not None and hmac.compare_digest(digest, secret_digest(secret))


def stored_digest(mailbox: Mailbox, name: str) -> str | None:
    """Return the stored digest of a name's secret; None if the name or the store has none."""
    return None if Capability.SECRETS in mailbox.lacks else mailbox.digest(name)


def operator_digest(mailbox: Mailbox, operator: str) -> str | None:
    """Return the operator's digest; None if a store that was never written to does not know it."""
    try:
        return stored_digest(mailbox, operator)
    except RequestError as refused:
        if refused.diagnostic.code != NO_SUCH_AGENT:
            raise
        return None


def has_secret(mailbox: Mailbox, name: str, secret: str) -> bool:
    return matches_digest(stored_digest(mailbox, name), secret)


def name_of_secret(mailbox: Mailbox, secret: str) -> str | None:
    """Return the name that a secret belongs to; None if there is none."""
    return None if Capability.SECRETS in mailbox.lacks else mailbox.named_by(secret_digest(secret))


def claim_name(mailbox: Mailbox, name: str) -> str | None:
    """Claim a name and return its new secret; None if it is claimed, or has no secrets here."""
    if Capability.SECRETS in mailbox.lacks:
        return None
    secret = new_secret()
    return secret if mailbox.claim(name, secret_digest(secret)) else None


def renew_secret(mailbox: Mailbox, name: str) -> str:
    """Return a new secret for a name. The old one becomes invalid."""
    secret = new_secret()
    mailbox.claim(name, secret_digest(secret), replace=True)
    return secret


# Which server listens at an address. Nothing secret is sent to find out.


BRENNER_SERVER, AGENT_MAIL_SERVER, NO_SERVER = "brenner", "agent mail", "nobody"
_LIVENESS_PATH = "health/liveness"
_MOST_BYTES = 1_000


def identify_server(url: str, seconds: float) -> str:
    """Return which kind of server responds at an MCP URL: Brenner, Agent Mail, or none of these."""
    import http.client  # with email and ssl it costs as much as an empty interpreter

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    folder = parts.path.rstrip("/").rpartition("/")[0]
    with suppress(OSError, http.client.HTTPException, ValueError):
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("GET", f"{folder}/{_LIVENESS_PATH}")
            answer = json.loads(connection.getresponse().read(_MOST_BYTES))
        finally:
            connection.close()
        if isinstance(answer, dict) and answer.get("status") == "alive":
            return BRENNER_SERVER if answer.get("server") == "brenner" else AGENT_MAIL_SERVER
    return NO_SERVER


def is_local_host(host: str) -> bool:
    """Return whether a host, or the path of a socket, is on this machine."""
    from ipaddress import ip_address

    try:
        return host == "localhost" or host.startswith("/") or ip_address(host).is_loopback
    except ValueError:
        return False


# The trust in the senders of messages
#
# An artifact is computed from its mail, whether or not the senders are verified. So its publisher
# and its readers are shown the unverified messages.


_IMPORTANT_TYPES = (
    KICKOFF.name,
    COMPILED.name,
    DELTA.name,
)  # messages that the artifact is made of come first


def thread_trust(mailbox: Mailbox, thread_id: str) -> dict[int, Trust | None]:
    """Return the trust of every message of a thread, in order of arrival; None if unknown."""
    return {each.id: each.envelope.trust for each in mailbox.thread_arrivals(thread_id, 0)}


def message_trust(mailbox: Mailbox, message_ids: Iterable[int]) -> dict[int, Trust | None]:
    """Return the trust of some messages; None for one that is not in this store."""
    found = {}
    for each in dict.fromkeys(message_ids):
        try:
            found[each] = mailbox.message(each).envelope.trust
        except RequestError:
            found[each] = None
    return found


def unverified_in_thread(
    stored: Sequence[StoredMessage], history: VersionHistory
) -> tuple[tuple[int, ...], tuple[StoredMessage, ...]]:
    """Return the ids of the messages of a thread whose sender is not verified, and the new ones.

    New are the unread ones, and those that came in with the latest version or after it; the most
    important types first. `stored` are all messages of the thread.
    """
    latest = history.latest.message_id if history.latest else None
    since = next((each.arrival for each in stored if each.id == latest), 0)
    unread = {each.id for each in history.unread}
    found = [each for each in stored if each.envelope.trust is Trust.UNVERIFIED]
    new = [each for each in found if each.arrival >= since or each.id in unread]
    return tuple(each.id for each in found), tuple(sorted(new, key=_rank))


def _rank(stored: StoredMessage) -> int:
    return (
        _IMPORTANT_TYPES.index(stored.type)
        if stored.type in _IMPORTANT_TYPES
        else len(_IMPORTANT_TYPES)
    )
