"""The contract, what is worked out from the mail: threads by arrival, and what is kept of them."""

from datetime import timedelta

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import ELSEWHERE, THREAD, in_backends_with, make_message, post


@pytest.mark.every_store
def test_a_thread_by_arrival(place: Place, mailbox: Mailbox) -> None:
    """Whatever the clock does, and whatever stands between them in other threads."""
    sent = []
    for number, hours in enumerate((0, 5, -9, 1, 0, -4)):
        place.clock.move(timedelta(hours=hours))
        sent.append(
            post(mailbox, make_message(str(number), thread=(THREAD, ELSEWHERE)[number % 2]))
        )
    for after in range(8):
        found = mailbox.thread_arrivals(THREAD, after)
        assert found == tuple(each for each in sent[::2] if each.arrival > after)
    assert mailbox.thread_arrivals(THREAD, -1) == tuple(sent[::2])
    assert mailbox.thread_arrivals(THREAD, 10**30) == ()
    assert mailbox.thread_arrivals("RS-20251230-nobody-wrote", 0) == ()


@in_backends_with(Capability.CACHE)
def test_something_is_kept(mailbox: Mailbox) -> None:
    """Under its name, the last of what was kept; under another name nothing is."""
    assert mailbox.kept("sum") is None
    mailbox.keep({"sum": "one"})
    mailbox.keep({"sum": "two «ß» \U0001f9ec"})
    mailbox.keep({"Sum": ""})
    assert mailbox.kept("sum") == "two «ß» \U0001f9ec"
    assert mailbox.kept("Sum") == ""
    assert mailbox.position() == 0


@in_backends_with(Capability.CACHE)
def test_all_under_a_prefix(mailbox: Mailbox) -> None:
    """Those names that begin so, letter for letter, and no others."""
    several = {"a": "0", "a b": "1", "a bc": "2", "a ß": "3", "A bd": "4", "a_b": "5", "b a b": "6"}
    mailbox.keep(several)
    for prefix in ("a b", "a ", "a", "A", "a%", "c", "", "\0"):
        begin_so = {name: text for name, text in several.items() if name.startswith(prefix)}
        assert mailbox.kept_under(prefix) == begin_so


@in_backends_with(SECOND_VIEW, Capability.CACHE)
def test_it_stays(place: Place, mailbox: Mailbox) -> None:
    """Another view finds it too."""
    mailbox.keep({"sum": "one"})
    assert place.again().kept("sum") == "one"
