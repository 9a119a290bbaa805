"""The page `/help`: the keys, words, what the marks mean, and the types of messages.

Its script opens the same over any page.
"""

from typing import NamedTuple

from brenner.protocol.message_types import TYPES
from brenner.web import links
from brenner.web.page import Answer, Page
from brenner.web.visit import Visit


class _Key(NamedTuple):
    """Keys, pressed one after the other, and what they do; or from one to another."""

    keys: tuple[str, ...]
    does: str
    between: str = " "


_NOT_FOR_GUESTS = (_Key(("/",), "search the mail"), _Key(("g", "h"), "all sessions"))
_KEYS = (
    _Key(("?",), "this sheet"),
    *_NOT_FOR_GUESTS,
    _Key(("1", "6"), f"of a session: {', '.join(links.TABS)}", " to "),
    _Key(("j",), "next change, message, item or session"),
    _Key(("k",), "the one before it"),
    _Key(("p",), "show or hide who set what in the artifact"),
    _Key(("Esc",), "close what is open; leave the search field"),
)
# What the pages call things, in the order in which one meets them
_WORDS = (
    ("session", "A question that several agents work on, by mail; its ID begins with RS."),
    ("round", "Kickoff, deltas, critique, and the version that is compiled of them."),
    ("delta", "A message with contributions to the artifact: its blocks."),
    ("block", "One contribution: it adds, edits or kills one item. It is applied, or refused."),
    ("artifact", "The document of the session: hypotheses, predictions, tests, and what is open."),
    ("version", "The artifact as it was compiled, v1, v2 …; it is never changed again."),
    ("third alternative", "A hypothesis that says: both of the others are wrong."),
    ("anchor", "Where a claim comes from: §42 is a passage of the source text, inference is none."),
    ("lint", "The rules of the protocol. A version that breaks one is not valid."),
    ("ACK", "An acknowledgement: somebody has got a message that asks for it."),
    ("persisted", "Kept as a file of the project, and committed."),
    ("provenance", "Who set a field, in which message and version; ± where it replaced another."),
)
# The marks as pages show them; the words are what they stand for.
_MARKS = (
    ("agent", "An agent: initials and a tint of its own, the same everywhere."),
    ("killed", "Killed: struck through and dimmed; the reason stands beside it."),
    ("added", "Added between two versions: underlined."),
    ("removed", "Taken away between two versions: struck through."),
    ("unverified", "Anybody may have sent it: the sender showed no secret of the name."),
    ("error", "A fault: its code, what is wrong, and the fix."),
    ("id", "An ID of an item, version or thread; it is a link."),
)


def page(visit: Visit) -> Answer:
    """What one has to know to read the pages. Guests are told of no page that is closed to them."""
    is_guest = visit.guest_of is not None
    document = {
        "keys": [each._asdict() for each in _KEYS if not (is_guest and each in _NOT_FOR_GUESTS)],
        "words": [{"word": word, "means": means} for word, means in _WORDS],
        "types": [
            {"type": each.name, "purpose": each.purpose, "ack_required": each.ack_required}
            for each in TYPES.values()
        ],
        "marks": [{"mark": mark, "means": means} for mark, means in _MARKS],
    }
    return Page("pages/help.html", "Help", document, is_live=False)
