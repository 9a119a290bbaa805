"""The page `/connect`: what is served here, and how an agent gets in."""

from brenner.services.identity import first_words
from brenner.web.page import Answer, Page
from brenner.web.visit import Visit

_NAME = "NAME"


def page(visit: Visit) -> Answer:
    """What a person needs to connect an agent's program."""
    about = visit.site.about
    document = {
        "folder": about.folder,
        "store": about.store,
        "endpoint": about.endpoint,
        "identity": "strict" if about.is_strict else "open",
        "token": about.wants_token,
        "clients": [each._asdict() for each in about.clients],
        "remark": about.remark,
        "tell": first_words(_NAME),
    }
    return Page("pages/connect.html", "Connect an agent", document, is_live=False)
