"""What not every home of the mail can do. Each home says what it lacks, and why."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Ability(StrEnum):
    """Something that a home may lack; the words are for people."""

    # Of two sends on the same condition one is refused, whoever is quicker.
    EXACT_POSITIONS = "conditional sends"
    # A key makes a second send the first one, whatever else was sent; else equal content does.
    KEYS = "idempotency keys"
    # What a message is a reply to is kept, beside what its body says.
    REPLY_LINKS = "links between messages"
    # Who has read what can be told, and taken back.
    READ_MARKS = "read marks"
    # Messages from another store keep their ids and times, and come in all or none.
    AS_THEY_WERE = "restoring messages as they were"
    # A name belongs to this project: registering it takes it from nobody.
    OWN_NAMES = "names of its own"
    # What was worked out from the mail is kept beside it.
    KEEPING = "keeping what was worked out"
    # Times are those that the mailbox is told, not a server's.
    OUR_CLOCK = "times of our own"
    # In which order the recipients of a message were named is kept.
    RECIPIENT_ORDER = "the order of recipients"
    # Whether a sender said that an ACK is wanted, or left it to the type, is kept.
    STATED_ACKS = "stated wishes for an ACK"
    # Who has a name can have a secret that belongs to it.
    SECRETS = "secrets of names"
    # How it is known who sent a message is kept.
    TRUST = "marks of verified senders"
    # Any text that can be stored at all comes back as it was.
    ANY_TEXT = "any text"


Lacks = Mapping[Ability, str]
NOTHING_LACKS: Lacks = MappingProxyType({})
