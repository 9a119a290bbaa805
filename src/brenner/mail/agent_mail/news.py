"""What has come in since one looked last, whole, and to whom it went.

A message can be committed later than its time says, so each look goes back a little further than
the newest one that is known; what is known already is left out by its id.
"""

import re
from collections.abc import Container, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.diagnostics.codes.stores import SERVER_NONSENSE
from brenner.diagnostics.model import Refused, Unavailable
from brenner.mail.agent_mail.items import Item
from brenner.mail.agent_mail.project_mail import Directory, ProjectMail

_A_LITTLE = timedelta(seconds=1)
_WORD = re.compile(r"\b[A-Za-z0-9]+\b")  # which is one in every engine's eyes


class Told(NamedTuple):
    """To whom a message went, and for whom of them it is a copy."""

    recipients: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


Recipients = dict[int, Told]


def news(
    mail: ProjectMail, directory: Directory, known: Container[int], since: datetime | None
) -> list[Item]:
    """The messages after a time that are not known, by id.

    Where one agent gets a copy of everything, its inbox has also what agents sent whom another
    project has taken over, but nothing from before that agent was there. So whoever reads the
    whole mail asks both: that inbox, and what the agents have sent.
    """
    items = _collected(mail, directory, since) if directory.collector else []
    if since is None or not directory.collector:
        for name in directory.agents:
            items += mail.outbox(name, since, bodies=True)
    fresh = _fresh(mail, items, known)
    told = _told(mail, directory, [item for item in fresh if not item.tells_recipients])
    return [
        _sent_to(item, told.get(item.id, _told_by(item)), directory.collector) for item in fresh
    ]


def _collected(mail: ProjectMail, directory: Directory, since: datetime | None) -> list[Item]:
    items = mail.inbox(directory.collector or "", since)
    if since is None and len(items) < directory.collected:
        reason = f"it has {directory.collected} messages, and shows only {len(items)}"
        raise Unavailable(SERVER_NONSENSE.at(where=mail.client.where, reason=reason))
    return items


def _fresh(mail: ProjectMail, items: Iterable[Item], known: Container[int]) -> list[Item]:
    """Each once, by id; who sent it knows more of it than who got it, and is asked later."""
    found = {item.id: item for item in items if item.id not in known and mail.is_ours(item)}
    return sorted(found.values(), key=lambda item: item.id)


def _sent_to(item: Item, told: Told, collector: str | None) -> Item:
    """The message with those to whom it went; who gets a copy of everything does not count."""
    recipients, copies = (
        tuple(sorted(name for name in names if name != collector)) for names in told
    )
    return item._replace(
        message=item.message._replace(recipients=recipients),
        envelope=item.envelope._replace(cc=copies),
    )


def _told(mail: ProjectMail, directory: Directory, items: list[Item]) -> Recipients:
    """To whom messages went, from whoever can tell."""
    told: Recipients = {}
    for ask in (_from_outboxes, _from_search, _from_inboxes):
        missing = [item for item in items if item.id not in told]
        told |= ask(mail, directory, missing) if missing else {}
    return told


def _from_outboxes(mail: ProjectMail, directory: Directory, items: list[Item]) -> Recipients:
    """Of senders who are still here."""
    told: Recipients = {}
    for sender in {item.message.sender for item in items} & directory.agents.keys():
        since = _before(item for item in items if item.message.sender == sender)
        with suppress(Refused):  # she was taken over in this moment
            told |= _recipients(mail.outbox(sender, since, bodies=False))
    return told


def _from_search(mail: ProjectMail, _: Directory, items: list[Item]) -> Recipients:
    """Of senders who are gone: by a word of each message."""
    words = {_WORD.search(f"{item.message.subject} {item.message.body}") for item in items}
    told: Recipients = {}
    for word in {found[0].lower() for found in words if found}:
        told |= _recipients(mail.with_word(word))
    return told


def _from_inboxes(mail: ProjectMail, directory: Directory, items: list[Item]) -> Recipients:
    """What nobody can tell is known as far as recipients are still here."""
    told: Recipients = {item.id: Told() for item in items}
    for name in directory.agents:
        for item in mail.inbox(name, _before(items)):
            if item.id in told and not item.is_mention:
                got, copies = told[item.id]
                told[item.id] = Told((*got, name), (*copies, *[name] * item.is_copy))
    return told


def _recipients(items: Iterable[Item]) -> Recipients:
    return {item.id: _told_by(item) for item in items if item.tells_recipients}


def _told_by(item: Item) -> Told:
    return Told(item.message.recipients, item.envelope.cc)


def _before(items: Iterable[Item]) -> datetime:
    """A time after which all of them are."""
    return min(item.at for item in items) - _A_LITTLE
