"""Idempotency keys by how far their senders are believed.

A key belongs to a name. Whoever uses a name without its secret must not take the keys away from
the one who has it: they would say of her message that it is another one, or there already.
"""

from hashlib import sha256

from brenner.mail.model import Trust

_UNVERIFIED, _OWN = "unverified:", "own:"


def stored_key(key: str | None, trust: Trust | None) -> str | None:
    """The key under which a message is stored.

    Those of unverified mail are apart, and as long as any: no key that somebody gives is one.
    """
    if key is None:
        return None
    if trust is Trust.UNVERIFIED:
        return _UNVERIFIED + sha256(key.encode(errors="surrogatepass")).hexdigest()
    return _OWN + sha256(key.encode()).hexdigest() if key.startswith((_UNVERIFIED, _OWN)) else key
