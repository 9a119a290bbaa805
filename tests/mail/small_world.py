"""What the store machine draws from: a world so small that everything in it meets everything."""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from hypothesis import strategies as st

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import InboxFilter, Profile, ReservationRequest
from brenner.mail.search import Query
from brenner.protocol.messages import Envelope, Importance, Message, Trust
from mail.backends import Clock
from mail.sample_mail import ANN, BEA, BOSS, CAT, ELSEWHERE, THREAD
from strategies import hostile_text

NEW_NAMES = ("CalmRiver", "b1uelake", "bluelake", "Greendog", "Nobody", "", "Blue Lake", "\ud800")
MOMENTS = (0, 0, 1, 59, 3600, -1, -1800, -3600, -3601, -9000, 86_400)  # seconds, on or back

people = st.sampled_from([ANN, BEA, CAT])
names = st.one_of(people, people, people, st.sampled_from([BOSS, *NEW_NAMES]))
odd_ids = st.sampled_from([0, -1, 99, 2**63, -(2**70)])
ids = st.one_of(st.integers(1, 8), st.integers(1, 25), odd_ids)
threads = st.sampled_from([THREAD, THREAD, ELSEWHERE, ELSEWHERE, "", "-x", "\u00e9\n", "\x00"])
limits = st.one_of(st.none(), st.integers(0, 5))
moves = st.sampled_from(MOMENTS).map(lambda seconds: timedelta(seconds=seconds))
keys = st.one_of(
    st.none(), st.none(), st.sampled_from(["k", "K", "k\u0301", "", "\x00", "k" * 201])
)
texts = st.sampled_from(["", "claude-code", "codex-cli", "\x1b[31m", "a\x00b"])
profiles = st.builds(Profile, names, texts, texts, texts)

_TYPES = (
    *("KICKOFF: x", "DELTA[opus]: H1", "COMPILED: v1", "CRITIQUE: x", "CLAIM: x", "HANDOFF: x"),
    *("BLOCKED: x", "QUESTION: x", "QUESTION: x", "INFO: x", "Re: x", "", "ack: x"),
)
subjects = st.one_of(st.sampled_from(_TYPES), hostile_text.map("QUESTION: {}".format))
_SAYINGS = ("cell fate", "Cell Fate", "H1 and T2", "the fate of cells", "\ud800", "cut\x00here")
bodies = st.one_of(st.sampled_from(_SAYINGS), st.sampled_from(_SAYINGS[:4]), hostile_text)
recipients = st.lists(names, max_size=3).map(tuple)
some_people = st.lists(people, min_size=1, max_size=3).map(tuple)
stated = st.sampled_from([None, None, None, True, False])

messages = st.builds(Message, threads, names, recipients, subjects, bodies, stated)
sound_messages = st.builds(
    Message,
    st.sampled_from([THREAD, ELSEWHERE]),
    people,
    some_people,
    subjects.filter(lambda text: "\x00" not in text),
    bodies.filter(lambda text: "\x00" not in text and text != "\ud800"),
    stated,
)


Around = tuple[Importance, int, Trust]
around = st.tuples(
    st.sampled_from(Importance),
    st.sampled_from([0, 0, 1, 2, 5, 7]),
    st.sampled_from([Trust.LOCAL, *Trust]),
)
USUAL: Around = (Importance.NORMAL, 0, Trust.LOCAL)


def envelope_of(message: Message, drawn: Around) -> Envelope:
    """An envelope for a message: the number says which of its recipients get it as a copy."""
    importance, copies, trust = drawn
    named = dict.fromkeys(message.recipients)
    some = tuple(name for place, name in enumerate(named) if copies >> place & 1)
    return Envelope(importance, some, trust)


patterns = st.sampled_from(["a", "./a/", "a/*.py", "a/b.py", "**/b.*", "c", ".", "/a", "\x00"])
wishes = st.builds(
    ReservationRequest,
    st.lists(patterns, max_size=3).map(tuple),
    st.sampled_from([1, 59, 3600, 86_400, 0]),
    exclusive=st.booleans(),
    reason=st.sampled_from(["", "tests", "\x00"]),
)

some_mail = st.lists(sound_messages, min_size=2, max_size=5)


@st.composite
def acks(draw: st.DrawFn) -> Message:
    """An ACK that names messages, or none; with examples in it that are not sections."""
    named = draw(st.lists(st.integers(1, 12), max_size=3))
    join = draw(st.sampled_from([", ", " and ", ", #"]))
    level = draw(st.sampled_from(["## Message ID", "### message id:", "## Message ID"]))
    examples = "```\n## Message ID\n1\n```\n", "> ## Message ID\n> 2\n", "# Message ID\n3\n"
    before = draw(st.sampled_from(["# Acknowledgement\n", *examples]))
    text = join.join(map(str, named)) or draw(st.sampled_from(["", "the question", "all of them"]))
    body = f"{before}\n{level}\n{text}\n\n## Status\nReceived 4\n"
    thread = draw(st.sampled_from([THREAD, THREAD, ELSEWHERE]))
    sender = draw(people)
    return Message(thread, sender, draw(some_people), "ACK: x", body, draw(stated))


filters = st.builds(
    InboxFilter,
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["INFO", "QUESTION", "ACK", "DELTA", "x"]), max_size=2).map(tuple),
    st.one_of(st.none(), st.none(), threads),
)


def _some(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    chosen = st.lists(st.sampled_from(values), max_size=2).map(tuple)
    return st.one_of(st.just(()), chosen)


_PHRASES = (("fate",), ("cell", "fate"), ("fate", "cell"), ("h1",), ("x",), ("a", "b"))
_times = st.one_of(st.none(), st.none(), moves.map(lambda move: Clock().now + move))
queries = st.builds(
    Query,
    st.lists(st.sampled_from(_PHRASES), max_size=2).map(tuple),
    _some("INFO", "QUESTION", "ACK", "DELTA", "x"),
    _some(*[ANN, BEA, CAT] * 5, "Nobody"),
    _some(*[THREAD, ELSEWHERE] * 7, "", "nowhere"),
    _some("H1", "T2", "RT"),
    st.booleans(),
    st.booleans(),
    _times,
    _times,
)


class Question(NamedTuple):
    """A request that changes nothing: a method of the mailbox, and what it is given."""

    method: str
    values: tuple[object, ...]
    parameters: Mapping[str, object]

    def put_to(self, mailbox: Mailbox) -> object:
        """The mailbox's answer."""
        return getattr(mailbox, self.method)(*self.values, **self.parameters)


def _asking(
    method: str, *values: st.SearchStrategy[object], **named: st.SearchStrategy[object]
) -> st.SearchStrategy[Question]:
    return st.builds(Question, st.just(method), st.tuples(*values), st.fixed_dictionaries(named))


def _perhaps(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), st.none(), strategy)


questions = st.one_of(
    _asking("agent", names),
    _asking("message", ids),
    _asking("deliveries", ids),
    _asking("thread", threads, limit=limits, before=_perhaps(ids), after=_perhaps(ids)),
    _asking("threads", limits),
    _asking("inbox", names, filters, limit=limits, before=_perhaps(ids)),
    _asking(
        "search",
        queries,
        reader=st.one_of(names, st.none()),
        limit=st.integers(0, 6),
        before=_perhaps(ids),
    ),
    _asking("debts", _perhaps(names), _perhaps(threads)),
    _asking("arrivals", st.integers(-1, 12), limits),
    _asking("wait", st.integers(-1, 12), st.just(0)),
)
