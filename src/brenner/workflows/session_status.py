"""Where a session stands, from the mailbox."""

from shlex import quote
from typing import NamedTuple

from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.errors import Refused
from brenner.session.chain import Chain
from brenner.session.rebuild import Filed
from brenner.session.standing import status_of
from brenner.session.status import SessionStatus
from brenner.thread.cross_reference import cross_reference
from brenner.workflows.chains import check_usable, filed, load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.session_files import read_session_file


class Followed(NamedTuple):
    """The status of a thread, and what it was worked out from."""

    status: SessionStatus
    chain: Chain
    messages: tuple[Filed, ...]


def load_status(desk: Desk, thread_id: str) -> Followed:
    """Where a thread stands; one that nobody has written to is refused."""
    check_usable(thread_id)
    try:
        known = load_chain(desk.mailbox, thread_id, desk.project.operator)
    except Refused as refused:
        raise with_its_file(desk, thread_id, refused) from None
    stored = desk.mailbox.thread_arrivals(thread_id, 0)
    messages = tuple(filed(each) for each in stored if each.arrival <= known.arrival)
    return Followed(status_of(known.chain, messages, desk.project.operator), known.chain, messages)


def with_its_file(desk: Desk, thread_id: str, refused: Refused) -> Refused:
    """The refusal of a thread without mail; where its artifact is here, it says so."""
    if refused.diagnostic.code != UNKNOWN_THREAD:
        return refused
    if read_session_file(desk.project, thread_id) is None:
        return refused
    path, thread = cross_reference(thread_id).artifact_path, quote(thread_id)
    thread = f"-- {thread}" if thread_id.startswith("-") else thread
    said = f" It is in `{path}`: `brenner session show {thread}`, `brenner artifact show {thread}`."
    return Refused(UNKNOWN_THREAD.at(thread=thread_id, suggestion=said))
