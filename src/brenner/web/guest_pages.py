"""What somebody sees who came by a link: that session, its messages, and nothing else."""

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import Refused
from brenner.web import links
from brenner.web.visit import Visit


def check_guest(visit: Visit) -> None:
    """Refuse a page that is not of a session which she may see. What is unknown is not hers."""
    is_help = visit.path.partition("?")[0] == links.HELP
    if visit.guest_of is None or is_help or _thread(visit) in visit.guest_of:
        return
    where = " or ".join(links.session(each) for each in sorted(visit.guest_of))
    raise Refused(codes.GUESTS_STAY.at(session=where))


def _thread(visit: Visit) -> str | None:
    """The thread that an address is about."""
    if "thread" in visit.named:
        return visit.named["thread"]
    if "message" not in visit.named:
        return None
    try:
        return visit.site.desk.mailbox.message(int(visit.named["message"])).message.thread_id
    except Refused:
        return None
