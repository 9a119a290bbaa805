"""Search beyond what the server's own index can hold: hits stay those of the mailbox in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.search import Query, tokenize
from mail.backends import POSTGRESQL, Clock, Place
from mail.sample_mail import ANN, BEA, ELSEWHERE, THREAD, introduce, make_message

# A vector knows the place of a word only up to 16,383, and of the first 256 places.
FAR = " ".join(["filler"] * 20_000) + " maternal clock"
MANY = " ".join(["maternal"] * 400) + " maternal clock"
# More than a megabyte of words that all differ
LONG = " ".join(f"{number:x}word{'z' * 20}" for number in range(60_000))
ITEMS = " ".join(f"H{number}" for number in range(1, 120_000))
LONGEST_WORD = "𝕬" * 2_000  # each letter is folded; each part of it is a word
BODIES = (
    FAR,
    MANY,
    f"{LONG} and a gradient",
    f"{ITEMS} gradient",
    f"clock maternal {'x' * 5_000}",
    f"{LONGEST_WORD} gradient maternal",
    "maternal, clock!",
    "",
)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mailbox, Mailbox]]:
    """The same mail in memory and in PostgreSQL."""
    with Place(POSTGRESQL, tmp_path_factory.mktemp("search")) as place:
        memory = MemoryMailbox(clock=Clock())
        for mailbox in (memory, place.mailbox):
            introduce(mailbox)
            for number, body in enumerate(BODIES):
                thread = (THREAD, ELSEWHERE)[number % 2]
                sender, to = ((ANN, BEA), (BEA, ANN))[number % 3 == 0]
                mailbox.send(make_message(body, thread=thread, sender=sender, to=(to,)))
        yield memory, place.mailbox


def phrases(*texts: str) -> tuple[tuple[str, ...], ...]:
    """Texts as a query has them."""
    return tuple(tuple(tokenize(text)) for text in texts)


QUERIES = {
    "a phrase far inside": Query(phrases=phrases("maternal clock")),
    "a phrase beyond all places": Query(phrases=phrases("filler maternal clock")),
    "not in that order": Query(phrases=phrases("clock maternal")),
    "the last word of many": Query(phrases=phrases("gradient")),
    "two words of a long text": Query(phrases=phrases("gradient", f"7word{'z' * 20}")),
    "a phrase of a long text": Query(phrases=phrases("and a gradient")),
    "nearly in a long text": Query(phrases=phrases("gradient and")),
    "half a word": Query(phrases=phrases(f"7word{'z' * 19}")),
    "an item of many": Query(items=("H77777",)),
    "an item of none": Query(items=("H120000", "T5")),
    "an item and a word": Query(phrases=phrases("gradient"), items=("H120000", "H5")),
    "a very long word": Query(phrases=phrases("x" * 5_000)),
    "part of a very long word": Query(phrases=phrases("x" * 500)),
    "another very long word": Query(phrases=phrases(LONGEST_WORD)),
    "a whole body": Query(phrases=phrases(FAR)),
    "all words of a body": Query(phrases=phrases(*LONG.split()[:2_000])),
    "all but one": Query(phrases=phrases(*LONG.split()[:2_000], "nowhere")),
    "a sender's": Query(phrases=phrases("gradient"), senders=(ANN,)),
    "one of many items": Query(items=tuple(f"H{number}" for number in range(119_900, 120_200))),
    "a thread's": Query(threads=(ELSEWHERE,)),
    "a type's": Query(phrases=phrases("maternal"), types=("INFO", "QUESTION")),
}


@pytest.mark.parametrize("name", QUERIES)
def test_hits_are_the_same(homes: tuple[Mailbox, Mailbox], name: str) -> None:
    memory, postgresql = homes
    query = QUERIES[name]
    assert postgresql.search(query).messages == memory.search(query).messages


def test_some_of_them_find_something(homes: tuple[Mailbox, Mailbox]) -> None:
    """What finds nothing in both would compare nothing."""
    found = {name: len(homes[0].search(query).messages) for name, query in QUERIES.items()}
    nothing = {name for name, count in found.items() if not count}
    assert nothing == {
        *("nearly in a long text", "half a word", "an item of none", "all but one"),
    }


def test_words_are_no_operators(tmp_path: Path) -> None:
    """Nothing in a query is read as part of the index's own language."""
    with Place(POSTGRESQL, tmp_path) as place:
        introduce(place.mailbox)
        stored = place.mailbox.send(make_message("a thread1 long type and or not sender1")).stored
        for word in ("thread1", "long", "sender1", "and", "or", "not"):
            assert place.mailbox.search(Query(phrases=((word,),))).messages == (stored,)
        for word in ("iteminfo", "typeinfo", "thread2"):
            assert place.mailbox.search(Query(phrases=((word,),))).messages == ()
