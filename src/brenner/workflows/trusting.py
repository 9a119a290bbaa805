"""How it is known who sent the messages that something was made of.

An artifact follows from what its mail says, not from who vouches for it. So whoever publishes or
reads one is told what in it anybody may have sent.
"""

from collections.abc import Iterable
from typing import NamedTuple

from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored, Trust
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.session.versions import Chain

_WEIGHTY = (KICKOFF.name, COMPILED.name, DELTA.name)  # what the artifact is made of comes first


class Unverified(NamedTuple):
    """The messages of a thread that anybody may have sent.

    `new` are those that no version has read and those that came in with the latest version or
    after it; the weightiest first. `ids` are all of them.
    """

    ids: tuple[int, ...] = ()
    new: tuple[Stored, ...] = ()

    @property
    def older(self) -> int:
        """How many there are beside the new ones."""
        return len(self.ids) - len(self.new)


def trusts(mailbox: Mailbox, thread_id: str) -> dict[int, Trust | None]:
    """Every message of a thread, in the order in which they came; None where nobody tells."""
    return {each.id: each.envelope.trust for each in mailbox.thread_arrivals(thread_id, 0)}


def trusts_of(mailbox: Mailbox, message_ids: Iterable[int]) -> dict[int, Trust | None]:
    """Those of some messages; one that is not in this store has none."""
    found = {}
    for each in dict.fromkeys(message_ids):
        try:
            found[each] = mailbox.message(each).envelope.trust
        except Refused:
            found[each] = None
    return found


def unverified(mailbox: Mailbox, message_ids: Iterable[int]) -> tuple[int, ...]:
    """Those of some messages that are unverified, each once."""
    ids = dict.fromkeys(message_ids)
    return tuple(each for each in ids if mailbox.message(each).envelope.trust is Trust.UNVERIFIED)


def unverified_in(mailbox: Mailbox, chain: Chain) -> Unverified:
    """Those of a thread, as its chain stands."""
    stored = mailbox.thread_arrivals(chain.thread_id, 0)
    latest = chain.latest.message_id if chain.latest else None
    since = next((each.arrival for each in stored if each.id == latest), 0)
    unread = {each.posted.id for each in chain.unread}
    found = [each for each in stored if each.envelope.trust is Trust.UNVERIFIED]
    new = [each for each in found if each.arrival >= since or each.id in unread]
    return Unverified(tuple(each.id for each in found), tuple(sorted(new, key=_weight)))


def _weight(stored: Stored) -> int:
    return _WEIGHTY.index(stored.type) if stored.type in _WEIGHTY else len(_WEIGHTY)
