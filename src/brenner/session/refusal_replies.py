"""Which authors of refused blocks have been told of them by mail."""

from collections.abc import Iterable

from brenner.session.rebuild import Filed
from brenner.session.validation_reply import told_of


def told_of_refusals(messages: Iterable[Filed]) -> frozenset[int]:
    """The messages to which somebody has sent the Validation Error reply.

    It is a reply to the message; where a home keeps no links, its subject has the number.
    """
    told = ((each, told_of(each.posted.message.subject)) for each in messages)
    return frozenset(each.reply_to or number for each, number in told if number)
