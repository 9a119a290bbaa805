"""Messages whose content no longer matches the hash that was stored with them.

A store keeps the hash of every message. Versions name the messages that they have read by that
hash, so a message that was changed in the store must not count as the one that was sent.
"""

from brenner.diagnostics.codes.stores import HASH_MISMATCH
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.messages import content_hash
from brenner.session.rebuild import Candidate, Filed, Rebuilt

_FIX = (
    "Restore the store from a backup, or import an archive of the thread into a new store: "
    "`brenner mail import FILE --store sqlite:///PATH`. `brenner doctor` lists all such messages. "
    "`docs/artifact-commands.md` says what to do without a copy."
)
_RESTORE = "it was changed after it was stored; restore it from a backup or an archive"


def is_altered(filed: Filed) -> bool:
    """Whether the thread, sender, subject or body of a message differs from what was stored."""
    return content_hash(filed.posted.message) != filed.content_hash


def altered_message(message_id: int) -> Diagnostic:
    """Return the diagnostic for a message that was changed in the store."""
    return HASH_MISMATCH.at(id=message_id)._replace(fix=_FIX, message_id=message_id)


def altered_in(candidate: Candidate, rebuilt: Rebuilt) -> str:
    """Describe the first altered message that a version uses; return "" if there is none.

    A version uses its own COMPILED message and the messages that it has read.
    """
    if is_altered(candidate.filed):
        own = candidate.filed.posted.id
        return f"message {own}, which is the version, does not match its hash: {_RESTORE}"
    for filed in rebuilt.read:
        if is_altered(filed):
            return (
                f"message {filed.posted.id}, which the version has read, does not match its hash: "
                f"{_RESTORE}"
            )
    return ""
