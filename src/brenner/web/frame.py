"""What every page of a session shows around its content: head, rail, and the latest version."""

from brenner.session.status_json import status_json
from brenner.web.page import Document
from brenner.web.visit import Visit


def session_document(visit: Visit) -> Document:
    """The session of a visit, for `session.html`; it stands under the key `session`."""
    status = visit.session.status
    return status_json(status, visit.now, visit.site.desk.project.ack_deadline)
