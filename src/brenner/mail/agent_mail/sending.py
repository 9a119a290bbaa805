"""Sending over a server that promises little: what went wrong is looked for, not guessed."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Altered, BrennerError, Refused, Unavailable
from brenner.mail import rules
from brenner.mail.agent_mail.failures import MaybeReached
from brenner.mail.agent_mail.introducing import check_at_home
from brenner.mail.agent_mail.items import (
    Item,
    Unreadable,
    as_kept,
    envelope_as_kept,
    fields_of,
    item_of,
    list_of,
)
from brenner.mail.agent_mail.mirror import Mirror
from brenner.mail.agent_mail.view import View
from brenner.mail.model import PLAIN, Envelope, Importance, Sent, Since, Stored
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message

# How long a message is looked for after its answer got lost. A send takes a fraction of that.
_LOOK_FOR = 5.0  # seconds
_LOOK_EVERY = 0.5
_SHOWN = 60  # characters of a text in a sentence
_ACKNOWLEDGE = "acknowledge_message"
_SEND = "send_message"


class Conditions(NamedTuple):
    """What a send is bound to: what it answers, its key, what may have come into its thread."""

    reply_to: int | None = None
    key: str | None = None
    position: int | Since | None = None


def send(view: View, message: Message, given: Conditions, envelope: Envelope) -> Sent:
    """Send a message, if the thread is as it should be when one looks.

    Nobody knows yet how a thread will be called that it begins: nothing is in that one.
    """
    mirror, reply_to = view.refresh(), given.reply_to
    if message.sender not in view.registered:
        check_at_home(view, [message.sender])
    rules.check_storable(message, view.registered, given.key)
    first = _same(mirror, message, _offered(view, envelope)) if given.key is not None else None
    if first:
        return Sent(first._replace(reply_to=reply_to), is_new=False)
    if reply_to is not None:
        rules.check_reply(mirror.message(reply_to), message)
    now_there = mirror.thread(message.thread_id).position if message.thread_id else 0
    rules.check_position(message.thread_id, given.position, now_there)
    if isinstance(given.position, Since):
        arrived = mirror.thread_arrivals(message.thread_id, given.position.arrival)
        rules.check_since(message.thread_id, given.position, arrived)
    stored = post(view, message, envelope)
    _acknowledge(view, stored)
    return Sent(stored._replace(reply_to=reply_to), is_new=True)


def post(view: View, message: Message, envelope: Envelope = PLAIN) -> Stored:
    """Hand a message over to the server, once, and look at what it has made of it."""
    before = view.mirror.highest
    offered = _offered(view, envelope)
    try:
        sent = _sent(view, view.client.call(_SEND, _arguments(view, message, offered)))
    except MaybeReached as lost:
        return _checked(view, message, offered, _looked_for(view, message, before, lost))
    return _checked(view, message, offered, _read_back(view, sent))


def _offered(view: View, envelope: Envelope) -> Envelope:
    """As much of it as the server has a place for. Who gets a copy gets the message in any case."""
    importance, cc = (view.client.offers(_SEND, name) for name in ("importance", "cc"))
    return Envelope(
        envelope.importance if importance else Importance.NORMAL, envelope.cc if cc else (), None
    )


def _arguments(view: View, message: Message, envelope: Envelope) -> dict[str, object]:
    """What the server's list does not have is left out."""
    return {
        "project_key": view.mail.identity.key,
        "sender_name": message.sender,
        "to": [name for name in message.recipients if name not in envelope.cc],
        "cc": list(envelope.cc) or None,
        "importance": str(envelope.importance),
        "subject": message.subject,
        "body_md": message.body,
        "ack_required": wants_ack(message),
        "thread_id": message.thread_id or None,
        "sender_token": view.tokens.of(message.sender),
        "convert_images": False,  # which would change the body
        "auto_contact_if_blocked": True,  # who is registered here may write to all others here
    }


def _sent(view: View, answer: object) -> Item:
    """The message as the server says to have stored it."""
    try:
        fields = fields_of(answer, "the answer to a send")
        if "error" in fields:
            reason = str(fields_of(fields["error"], "the error").get("message"))
            raise Refused(codes.SERVER_REFUSED.at(where=view.client.where, reason=reason))
        deliveries = list_of(fields.get("deliveries"), "`deliveries`")
        if not deliveries:
            reason = "it delivered the message to nobody"
            raise Refused(codes.SERVER_REFUSED.at(where=view.client.where, reason=reason))
        return item_of(fields_of(deliveries[0], "a delivery").get("payload"))
    except Unreadable as error:
        found = codes.SERVER_NONSENSE.at(where=view.client.where, reason=str(error))
        raise MaybeReached(found) from None


def _read_back(view: View, sent: Item) -> Stored:
    """A message that the server has, as everybody reads it.

    If it cannot be asked any more, what it answered has to do: it was sent.
    """
    try:
        for whole in (False, True):
            if sent.id in view.refresh(whole=whole):
                return view.mirror.message(sent.id)
    except BrennerError:
        return view.mirror.take_in(sent)
    what = f"it is not in the mail of the project `{view.mail.identity.key}`"
    raise _altered(view, sent.id, what)


def _looked_for(view: View, message: Message, before: int, lost: MaybeReached) -> Stored:
    """The message, if the server has it though its answer got lost.

    A server that reported a failure is done with it. Any other may still be at it: then nobody
    knows, however long one looks.
    """
    deadline = time.monotonic() + (0 if lost.has_ended else _LOOK_FOR)
    outcome: Unavailable = view.uncertain(lost, "the message")
    while True:
        with suppress(BrennerError):
            mirror = view.refresh(whole=True)
            news = [each for each in mirror.arrivals(0) if each.id > before]
            stored = _found(news, message)
            if stored:
                return stored
            if lost.has_ended:
                outcome = Unavailable(lost.diagnostic)
        left = deadline - time.monotonic()
        if left <= 0:
            raise outcome from lost
        time.sleep(min(_LOOK_EVERY, left))


def _found(news: Iterable[Stored], message: Message) -> Stored | None:
    """That message among those that have come since; if not as it was, then with a cut subject."""
    kept = as_kept(message)
    cut = [
        each
        for each in news
        if kept.subject.startswith(each.message.subject)
        and each.message._replace(subject=kept.subject) == rules.in_thread(kept, each.id)
    ]
    whole = (each for each in cut if each.message.subject == kept.subject)
    return next(whole, None) or next(iter(cut), None)


def _same(mirror: Mirror, message: Message, envelope: Envelope) -> Stored | None:
    """The same message, sent before: what a key stands for where there are none."""
    kept, around = as_kept(message), envelope_as_kept(envelope)
    found = mirror.thread(kept.thread_id).messages if kept.thread_id else mirror.arrivals(0)
    return next(
        (each for each in found if rules.is_same(each, rules.in_thread(kept, each.id), around)),
        None,
    )


def _checked(view: View, message: Message, envelope: Envelope, stored: Stored) -> Stored:
    """What was stored, if it is what was sent."""
    wanted, got = rules.in_thread(as_kept(message), stored.id), stored.message
    around = envelope_as_kept(envelope)
    if rules.is_same(stored, wanted, around):
        return stored
    texts = (
        ("the thread is", wanted.thread_id, got.thread_id),
        ("the sender is", wanted.sender, got.sender),
        ("the recipients are", ", ".join(wanted.recipients), ", ".join(got.recipients)),
        ("the subject is", wanted.subject, got.subject),
        ("the body is", wanted.body, got.body),
        ("the importance is", around.importance, stored.envelope.importance),
        ("copies are for", ", ".join(around.cc), ", ".join(stored.envelope.cc)),
    )
    changes = [f"{what} `{_short(now)}`" for what, then, now in texts if then != now]
    raise _altered(view, stored.id, "; ".join(changes) or "whether an ACK is wanted is not kept")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _altered(view: View, number: int, what: str) -> Altered:
    return Altered(codes.MESSAGE_ALTERED.at(where=view.client.where, id=number, what=what))


def _acknowledge(view: View, stored: Stored) -> None:
    """Tell the server, too, what an ACK settles; it is for programs that ask only the server."""
    if not stored.acknowledges or not view.client.offers(_ACKNOWLEDGE):
        return
    who = view.acting(stored.message.sender)
    for number in stored.acknowledges:
        with suppress(BrennerError):
            view.client.call(_ACKNOWLEDGE, {**who, "message_id": number})
