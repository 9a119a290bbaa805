"""Edits that somebody made in the file of a version by hand, as a letter that brings them in."""

from brenner.diagnostics.model import BrennerError
from brenner.protocol.messages import parse_message_file
from brenner.services.persist import EditedByHand


def edits_document(error: BrennerError) -> dict[str, object] | None:
    """The fields of the letter, for the form of a reply; nothing where no delta can make them."""
    letter = error.diagnostic.repaired if isinstance(error, EditedByHand) else None
    if not letter:
        return None
    message = parse_message_file(letter).message
    return {
        "to": list(message.recipients),
        "subject": message.subject,
        "body": message.body,
    }
