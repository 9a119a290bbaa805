"""The page of one message, whole: `/messages/12`; and its exact text: `/messages/12/raw`."""

from collections.abc import Mapping
from types import MappingProxyType

from brenner.diagnostics.model import Refused
from brenner.protocol.messages import render_message_file
from brenner.protocol.thread_ids import is_valid
from brenner.web import links
from brenner.web.frame import session_document
from brenner.web.message_view import ALONE, Messages, plain_document, read_marks
from brenner.web.page import Answer, Download, Page
from brenner.web.reading import Session
from brenner.web.thread_order import by_number
from brenner.web.visit import Visit


def page(visit: Visit) -> Answer:
    """The message with what became of it; in the frame of its session, if it is of one."""
    stored = visit.site.desk.mailbox.message(int(visit.named["message"]))
    thread_id = stored.message.thread_id
    session = _session(visit, thread_id)
    document: dict[str, object] = {"no_read_marks": read_marks(visit.site.desk.mailbox)}
    if session is None:
        document |= {"session": None, "items": []}
        message = plain_document(visit.site.desk.mailbox, stored)
    else:
        messages = Messages(session, visit, ALONE)
        message = messages.document(stored)
        document["items"] = list(messages.known)
        there = visit._replace(named=MappingProxyType({**visit.named, "thread": thread_id}))
        document["session"] = session_document(there) if session.status.phase else None
        document |= _beside(session, stored.id)
    thread = links.session(thread_id, "thread") if session else None
    template = "pages/message.html" if document["session"] else "pages/letter.html"
    everything = {**document, "thread": thread, "message": message}
    return Page(template, f"Message {stored.id}", everything)


def raw(visit: Visit) -> Answer:
    """The message file, exactly as it was sent."""
    stored = visit.site.desk.mailbox.message(int(visit.named["message"]))
    text = render_message_file(stored.message)
    return Download(text, "text/plain", f"message-{stored.id}.md", is_shown=True)


def _session(visit: Visit, thread_id: str) -> Session | None:
    """The thread as a session; None where its name can be none of ours."""
    if not is_valid(thread_id):
        return None
    try:
        return visit.site.reading.session(thread_id)
    except Refused:
        return None


def _beside(session: Session, message_id: int) -> Mapping[str, object]:
    """The messages before and after it in the thread."""
    numbers = list(session.once(by_number))
    at = numbers.index(message_id) if message_id in numbers else None
    if at is None:
        return {"previous": None, "next": None}
    following = numbers[at + 1 : at + 2]
    return {
        "previous": links.message(numbers[at - 1]) if at else None,
        "next": links.message(following[0]) if following else None,
    }
