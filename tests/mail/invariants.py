"""What must hold in every store, whatever happened to it."""

from brenner.mail.model import Profile
from brenner.mail.search import Query
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import content_hash
from mail.fault_mail import ANN, BEA, make_message


def assert_sound(mailbox: SqliteMailbox) -> None:
    """SQLite finds no fault, and all that is derived from the messages fits them."""
    assert mailbox.integrity() == ()
    messages = mailbox.arrivals(0)
    assert [stored.arrival for stored in messages] == list(range(1, mailbox.position() + 1))
    assert len({stored.id for stored in messages}) == len(messages)
    for stored in messages:
        assert stored.content_hash == content_hash(stored.message)
        assert mailbox.message(stored.id) == stored
        recipients = [delivery.recipient for delivery in mailbox.deliveries(stored.id)]
        assert recipients == list(stored.message.recipients)
    threads = {thread.thread_id: thread for thread in mailbox.threads()}
    assert set(threads) == {stored.message.thread_id for stored in messages}
    for thread_id, summary in threads.items():
        inside = [stored for stored in messages if stored.message.thread_id == thread_id]
        page = mailbox.thread(thread_id)
        assert sorted(page.messages) == sorted(inside)
        assert page.position == summary.position == len(inside)
        found = mailbox.search(Query(threads=(thread_id,)), limit=len(messages) + 1)
        assert sorted(found.messages) == sorted(inside)


def assert_usable(mailbox: SqliteMailbox) -> None:
    """It is sound, and a message can be sent, read and found."""
    assert_sound(mailbox)
    for name in (ANN, BEA):
        mailbox.register(Profile(name), update=True)
    before = mailbox.position()
    stored = mailbox.send(make_message("Still at work")).stored
    assert stored.arrival == before + 1
    assert mailbox.inbox(BEA, limit=1).messages[0].stored == stored
    query = Query(phrases=(("still", "at", "work"),))
    assert mailbox.search(query, limit=1).messages == (stored,)
    assert mailbox.mark(BEA, [stored.id], is_read=True) == 1
    assert mailbox.integrity() == ()
