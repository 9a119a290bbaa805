"""The secrets of names: made here, shown once, kept as digests.

A secret is 256 random bits, so that its digest needs no salt, nor to be slow: nobody guesses it.
"""

import hashlib
import hmac
import secrets

from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Ability, Mailbox

_MARK = "brs_"  # so that who finds one in a file or a log knows what it is
_BYTES = 32


def new_secret() -> str:
    """A secret that nobody has yet."""
    return _MARK + secrets.token_urlsafe(_BYTES)


def is_like_a_secret(text: str) -> bool:
    """Whether a text was meant as one of ours; a variable's name that nobody filled in is not."""
    return text.startswith(_MARK)


def digest_of(secret: str) -> str:
    """What a store keeps of a secret. Any text has one: who shows nonsense is wrong, not broken."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret_of(digest: str | None, secret: str) -> bool:
    """Whether a secret is the one of which that digest was kept; how long it takes tells nothing.

    A name without a secret has none that is right.
    """
    return digest is not None and hmac.compare_digest(digest, digest_of(secret))


def kept_digest(mailbox: Mailbox, name: str) -> str | None:
    """What is kept of the secret of a name; None where it, or everybody in this home, has none."""
    return None if Ability.SECRETS in mailbox.lacks else mailbox.digest(name)


def operator_digest(mailbox: Mailbox, operator: str) -> str | None:
    """The same of the operator, whom a store that was never written to does not know yet."""
    try:
        return kept_digest(mailbox, operator)
    except Refused as refused:
        if refused.diagnostic.code != NO_SUCH_AGENT:
            raise
        return None


def has_secret(mailbox: Mailbox, name: str, secret: str) -> bool:
    """Whether a secret is the one of that name."""
    return is_secret_of(kept_digest(mailbox, name), secret)


def name_of_secret(mailbox: Mailbox, secret: str) -> str | None:
    """Whose secret it is; None where it is nobody's, or nobody here has any."""
    return None if Ability.SECRETS in mailbox.lacks else mailbox.named_by(digest_of(secret))


def claim(mailbox: Mailbox, name: str) -> str | None:
    """The secret of a name that nobody had claimed; None where somebody has, or nobody can."""
    if Ability.SECRETS in mailbox.lacks:
        return None
    secret = new_secret()
    return secret if mailbox.claim(name, digest_of(secret)) else None


def renew(mailbox: Mailbox, name: str) -> str:
    """A new secret for a name. The old one, if there was one, is worth nothing from now on."""
    secret = new_secret()
    mailbox.claim(name, digest_of(secret), replace=True)
    return secret
