"""Where a session stands, from the mailbox."""

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from brenner.artifact.merge.engine import Merge
from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.model import Refused
from brenner.mail.model import Stored
from brenner.protocol.thread_ids import cross_reference
from brenner.session.model import SessionStatus
from brenner.session.rebuild import Filed
from brenner.session.status import standing, to_come
from brenner.session.versions import Chain, Watch, unwatched
from brenner.workflows.chains import check_usable, filed, grown_chain, load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.session_files import read_session_file


class Followed(NamedTuple):
    """The status of a thread, and what it was worked out from, in the order of arrival."""

    status: SessionStatus
    chain: Chain
    messages: tuple[Filed, ...]
    stored: tuple[Stored, ...] = ()
    merged: Merge | None = None


def load_status(desk: Desk, thread_id: str) -> Followed:
    """Where a thread stands; one that nobody has written to is refused."""
    check_usable(thread_id)
    try:
        known = load_chain(desk.mailbox, thread_id, desk.project.operator)
    except Refused as refused:
        raise with_its_file(desk, thread_id, refused) from None
    found = desk.mailbox.thread_arrivals(thread_id, 0)
    stored = tuple(each for each in found if each.arrival <= known.arrival)
    messages = tuple(map(filed, stored))
    chain, operator = known.chain, desk.project.operator
    merged = to_come(chain, operator)
    status = standing(chain, messages, operator, None, merged).status
    return Followed(status, chain, messages, stored, merged)


def with_news(
    before: Followed, news: Sequence[Stored], operator: str, watch: Watch = unwatched
) -> Followed:
    """Where the thread stands with messages that came in since; `watch` sees new versions."""
    new = tuple(map(filed, news))
    messages = (*before.messages, *new)
    chain = grown_chain(before.chain, messages, new, operator, watch)
    merged = to_come(chain, operator, before.merged and (before.chain, before.merged))
    status = standing(chain, messages, operator, before.status, merged).status
    return Followed(status, chain, messages, (*before.stored, *news), merged)


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
