"""Who owes what, once more and naively: a function of the messages of one thread and nothing else.

Nothing is shared with the program: the types that want an ACK are the table of the message
document, the sections of a body are those that the reference implementation of CommonMark finds,
and for every message the whole thread before it is walked again.

Of a message that was imported the body names ids of another store. There the links are taken as
they are: that they lead to the right messages is for the tests of moving.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

import cmarkgfm

from brenner.protocol.messages import StoredMessage

# message_body_schema, ACK Semantics Summary
OPERATOR = "Operator"
_WANTED = ("KICKOFF:", "CRITIQUE:", "HANDOFF:", "BLOCKED:", "QUESTION:")


class Copy(NamedTuple):
    """A message that somebody has not acknowledged."""

    debtor: str
    stored: StoredMessage


class Owed(NamedTuple):
    """A debt in short: who, the oldest and the newest open copy, how many there are."""

    debtor: str
    first: int
    last: int
    times_sent: int


def open_copies(thread: Iterable[StoredMessage]) -> list[Copy]:
    """What is not acknowledged when all of the thread has come in, in the order of coming in."""
    owed: list[Copy] = []
    before: list[StoredMessage] = []
    for stored in sorted(thread, key=lambda one: one.arrival):
        settled = acknowledged(stored, owed, before) + contributed(stored, owed)
        owed = [] if ends(stored) else [copy for copy in owed if copy not in settled]
        owed += [Copy(name, stored) for name in debtors(stored)]
        before.append(stored)
    return owed


def debtors(stored: StoredMessage) -> list[str]:
    """Each recipient but its own sender, if it wants an ACK: as it says, or else by its type."""
    stated = stored.message.ack_required
    wanted = stored.message.subject.startswith(_WANTED) if stated is None else stated
    names = set(stored.message.recipients) - {stored.message.sender}
    return sorted(names) if wanted else []


def acknowledged(
    ack: StoredMessage, owed: Sequence[Copy], before: Sequence[StoredMessage]
) -> list[Copy]:
    """Which open copies a message settles when it comes in; it can mean only what was there."""
    hers = [copy for copy in owed if copy.debtor == ack.message.sender]
    if not ack.is_local:
        return [copy for copy in hers if copy.stored.id in ack.acknowledges]
    if not ack.message.subject.startswith("ACK:"):
        return []
    named = named_ids(ack.message.body) or ({ack.reply_to} if ack.reply_to else set())
    contents = {copy.stored.content_hash for copy in hers}
    if named:
        meant = {one.content_hash for one in before if one.id in named}
    else:
        meant = contents if len(contents) == 1 else set()
    return [copy for copy in hers if copy.stored.content_hash in meant]


def contributed(stored: StoredMessage, owed: Sequence[Copy]) -> list[Copy]:
    """A contribution confirms receipt of every kickoff before it (R24)."""
    if not re.match(r"DELTA\[[^\]]+\]: ", stored.message.subject):
        return []
    mine = [copy for copy in owed if copy.debtor == stored.message.sender]
    return [copy for copy in mine if copy.stored.message.subject.startswith("KICKOFF:")]


def ends(stored: StoredMessage) -> bool:
    """Whether the operator of the sample mail closes or cancels the session of the thread."""
    body, subject = stored.message.body, stored.message.subject
    is_close = subject.startswith("COMPILED:") and '"status":"closed"' in body
    is_cancel = subject.startswith("INFO:") and "```brenner-cancel\n" in body
    return (is_close or is_cancel) and stored.message.sender == OPERATOR


@cache
def named_ids(body: str) -> set[int]:
    """The numbers in the first line under `## Message ID`, as cmark sees the body."""
    html = cmarkgfm.markdown_to_html(body)
    html = re.sub(r"(?s)<blockquote>.*?</blockquote>|<pre>.*?</pre>", "", html)
    section = re.search(r"(?is)<h([2-6])>message id:?</h\1>\s*(.*?)(?=<h[1-6]>|\Z)", html)
    text = re.sub(r"<[^>]*>", "", section[2]).strip() if section else ""
    line = text.split("\n")[0]
    return {int(number) for number in re.findall(r"[0-9]+", line)}


def debts_of(thread: Iterable[StoredMessage]) -> list[Owed]:
    """The open copies of each content together, for each debtor."""

    def content(copy: Copy) -> tuple[str, str]:
        return copy.debtor, copy.stored.content_hash

    found = []
    for (debtor, _), group in groupby(sorted(open_copies(thread), key=content), key=content):
        copies = sorted((copy.stored.at, copy.stored.id) for copy in group)
        found.append(Owed(debtor, copies[0][1], copies[-1][1], len(copies)))
    return sorted(found)
