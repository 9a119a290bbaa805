"""Where a session stands, from the mailbox."""

from typing import NamedTuple

from brenner.session.chain import Chain
from brenner.session.rebuild import Filed
from brenner.session.standing import status_of
from brenner.session.status import SessionStatus
from brenner.workflows.chains import check_usable, filed, load_chain
from brenner.workflows.desk import Desk


class Followed(NamedTuple):
    """The status of a thread, and what it was worked out from."""

    status: SessionStatus
    chain: Chain
    messages: tuple[Filed, ...]


def load_status(desk: Desk, thread_id: str) -> Followed:
    """Where a thread stands; one that nobody has written to is refused."""
    check_usable(thread_id)
    known = load_chain(desk.mailbox, thread_id, desk.project.operator)
    stored = desk.mailbox.thread_arrivals(thread_id, 0)
    messages = tuple(filed(each) for each in stored if each.arrival <= known.arrival)
    return Followed(status_of(known.chain, messages, desk.project.operator), known.chain, messages)
