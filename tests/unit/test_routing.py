"""What a message means for its session: every type, in words with figures (For Orchestrator)."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.grammar import MESSAGE_TYPES
from brenner.protocol.messages import Message, StoredMessage
from brenner.session.compiled_message import compose_compiled
from brenner.session.compiler import Compiler, compile_next_version
from brenner.session.decisions import compose_void
from brenner.session.routing import ROUTES, Route, RouteStep, RoutingContext, route
from brenner.session.status import compose_dismissal, compute_status, merge_unread
from brenner.session.versions import VersionHistory, replay
from mail.backends import Clock
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add, edit

if TYPE_CHECKING:
    from brenner.session.model import SessionStatus

OPERATOR = "Operator"
QUESTION = "# Question\n\n## Question\nWhich rubric?\n\n## Urgency\nBlocking\n"
CRITIQUE = "# Critique\n\n## Target\nH2\n\n## Severity\nMajor\n\n## Critique\nWeak.\n"
BLOCKED = "# Blocked\n\n## Blocker\nNo data\n\n## Type\nResource\n"
HANDOFF = "# Handoff\n\n## Item\nThe assay\n\n## To\nBlueLake\n"


class Thread:
    """A thread that grows message by message; each one is routed as it comes in."""

    def __init__(self) -> None:
        self.mailbox = MemoryMailbox(clock=Clock())
        for name in (OPERATOR, ANN, BEA):
            self.mailbox.register(Profile(name))
        self.messages: list[StoredMessage] = []
        self.history: VersionHistory | None = None
        self.status: SessionStatus | None = None

    def take(self, message: Message) -> Route:
        """Store a message; where it goes."""
        new = self.mailbox.send(message).stored
        before, history = self.status, self.history
        self.messages.append(new)
        self.history = replay(THREAD, self.messages, OPERATOR)
        merged = merge_unread(self.history, OPERATOR)
        self.status = compute_status(self.history, self.messages, OPERATOR, before, merged)
        context = RoutingContext(new, before, self.status)
        return route(context.with_evidence(history, self.history, merged.ledger))

    def say(self, sender: str, subject: str, body: str, to: Iterable[str] = ()) -> Route:
        """A message to the operator; hers go to both agents."""
        others = (ANN, BEA) if sender == OPERATOR else (OPERATOR,)
        return self.take(Message(THREAD, sender, tuple(to) or others, subject, body))

    def kickoff(self, *to: str) -> Route:
        """The kickoff, to both agents or to some."""
        return self.say(OPERATOR, "KICKOFF: Cell fate", f"{KICKOFF}\nFor {to}.\n", to)

    def delta(self, sender: str, *blocks: dict[str, object], model: str = "opus") -> Route:
        """A DELTA with these blocks."""
        fences = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
        return self.say(sender, f"DELTA[{model}]: News", f"# Delta\n\n{fences}")

    def ack(self, sender: str, number: int, status: str = "Received") -> Route:
        """An ACK of a message."""
        body = f"# Acknowledgement\n\n## Message ID\n{number}\n\n## Status\n{status}\n"
        return self.say(sender, f"ACK: Message {number}", body)

    def compiled(self, *, close: bool = False) -> Message:
        """The COMPILED message that would come next."""
        assert self.history
        compiler = Compiler(OPERATOR, "2025-12-30T10:00:00Z", OPERATOR)
        proposal = compile_next_version(self.history, compiler, close=close)
        return compose_compiled(proposal, (ANN, BEA))[0]

    @property
    def last(self) -> StoredMessage:
        """The newest message."""
        return self.messages[-1]


@pytest.fixture
def thread() -> Thread:
    return Thread()


def test_every_type_has_a_row() -> None:
    assert set(ROUTES) == set(MESSAGE_TYPES)


# KICKOFF


def test_a_kickoff_begins_a_round(thread: Thread) -> None:
    found = thread.kickoff()
    assert (found.type, found.step) == ("KICKOFF", RouteStep.INITIALIZE)
    assert found.words == "round 1 begins: BlueLake and RedSky are asked"
    assert found.waiting_for == (ANN, BEA)


def test_kickoffs_one_by_one_and_again(thread: Thread) -> None:
    assert thread.kickoff(ANN).words == "round 1 begins: BlueLake is asked"
    assert thread.kickoff(BEA).words == "round 1: RedSky is asked; 2 agents in all"
    assert thread.kickoff(BEA).words == "round 1: RedSky is asked again"


def test_the_kickoff_of_the_next_round(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One"))
    thread.take(thread.compiled())
    body = f"{KICKOFF}\nOnce more.\n"
    assert thread.say(OPERATOR, "KICKOFF: Round 2", body).words == (
        "round 2 begins: BlueLake and RedSky are asked"
    )


def test_a_copy_of_an_old_kickoff_asks_nothing_new(thread: Thread) -> None:
    """Neither before the round has a kickoff of its own, nor after that."""
    thread.kickoff(ANN)
    first = thread.last.message
    thread.delta(ANN, add("One"))
    thread.take(thread.compiled())
    copy = "copy of a kickoff of an earlier round: nothing new to do"
    assert thread.take(first).words == copy
    thread.say(OPERATOR, "KICKOFF: Round 2", f"{KICKOFF}\nOnce more.\n")
    second = thread.last.message
    assert thread.take(first).words == copy
    assert thread.take(second).words == "round 2: BlueLake and RedSky are asked again"
    thread.ack(ANN, thread.messages[0].id)
    assert thread.take(first).words == copy


def test_a_kickoff_of_a_closed_session(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One"))
    assert "closed the session" in thread.take(thread.compiled(close=True)).words
    first = thread.messages[0].message
    assert "the session is complete with v1" in thread.take(first).words
    late = thread.delta(ANN, add("Two")).words
    assert late.endswith("; the session is complete with v1; to compile it use `--reopen`")
    began = "round 2 begins: RedSky is asked; the session was closed with v1 and is reopened"
    assert thread.kickoff(BEA).words == began
    late = thread.delta(BEA, add("Clock")).words
    assert late.endswith("; the session was closed with v1; to compile it use `--reopen`")


# DELTA


def test_a_reference_that_closes_a_circle_is_told(thread: Thread) -> None:
    """The block applies without it."""
    thread.kickoff()
    thread.delta(ANN, add("One"), add("Two"))
    thread.take(thread.compiled())

    def to(item: str) -> list[dict[str, str]]:
        return [{"session": THREAD, "item": item, "relation": "extends"}]

    assert "left out" not in thread.delta(ANN, edit("H1", references=to("H2"))).words
    words = thread.delta(ANN, edit("H2", references=to("H1"))).words
    assert words.endswith("(H2); 1 reference left out (CIRCULAR_REFERENCE)")


def test_what_becomes_of_the_blocks_of_a_delta(thread: Thread) -> None:
    thread.kickoff()
    found = thread.delta(ANN, add("One"), add("Two"), edit("H9", claim="No"))
    assert (found.type, found.model, found.step) == ("DELTA", "opus", RouteStep.MERGE)
    assert found.words == (
        "merged into the working artifact: 2 blocks apply (H1 and H2), 1 rejected (INVALID_TARGET)"
    )
    assert found.items == ("H1", "H2")
    assert found.codes == ("INVALID_TARGET",)
    assert found.blocks == {"applied": 2, "refused": 1, "duplicate": 0}
    assert thread.delta(BEA, add("Three"), model="gpt").model == "gpt"


def test_the_figures_come_from_the_statuses_where_there_is_no_more(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One"))
    before = thread.status
    thread.delta(ANN, add("Two"), edit("H9", claim="No"))
    assert thread.status
    found = route(RoutingContext(thread.last, before, thread.status))
    assert found.words == (
        "merged into the working artifact: 1 block applies, 1 rejected (INVALID_TARGET)"
    )


def test_a_delta_resent_corrects_what_was_refused(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One", anchors="none"))
    assert thread.status
    assert len(thread.status.refusals) == 1
    found = thread.delta(ANN, add("One"))
    assert found.words.endswith(f"corrects block 1 of message {thread.last.id - 1}")


def test_a_delta_without_blocks_and_one_again(thread: Thread) -> None:
    thread.kickoff()
    assert thread.delta(ANN).words == "nothing merged: no delta blocks"
    thread.delta(ANN, add("One"))
    assert thread.delta(ANN, add("One")).words == "nothing merged: 1 duplicate"


# COMPILED


def test_a_version_is_out(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One"), add("Two"))
    thread.take(thread.compiled())
    thread.delta(BEA, add("Three"), edit("H1", claim="Other"))
    found = thread.take(thread.compiled())
    assert found.step is RouteStep.DISTRIBUTE
    assert found.words.startswith("published v2: +1 (H3) ~1 (H1); ")
    assert found.words.endswith("; sent to BlueLake and RedSky")
    assert set(found.items) == {"H1", "H3"}


def test_a_message_that_is_no_version_says_why(thread: Thread) -> None:
    thread.kickoff()
    found = thread.say(OPERATOR, "COMPILED: v1", "# Compiled\n")
    assert found.codes == ("COMPILED_WITHOUT_RECORD",)
    assert found.words.startswith("not a version: ")
    thread.delta(ANN, add("One"))
    version = thread.compiled()
    thread.take(version)
    assert thread.take(version._replace(body=version.body + "\nMore\n")).codes == ("VOID_VERSION",)


def test_a_version_that_does_not_rebuild(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One"))
    version = thread.compiled()
    broken = version._replace(body=version.body.replace("One decides", "Nobody decides"))
    found = thread.take(broken)
    assert found.codes == ("RECORD_MISMATCH",)
    assert "cannot compile (RECORD_MISMATCH)" in thread.delta(BEA, add("Two")).words


# CRITIQUE, QUESTION, BLOCKED, HANDOFF


def test_a_critique_is_queued_for_review(thread: Thread) -> None:
    thread.kickoff()
    found = thread.say(BEA, "CRITIQUE: H2 is weak", CRITIQUE)
    assert found.step is RouteStep.REVIEW
    assert found.words == ("queued for review: open critique 1, Major, on H2; waiting for Operator")
    again = thread.say(BEA, "CRITIQUE: H2 is very weak", CRITIQUE)
    assert again.words.startswith("queued for review: open critique 2")


@pytest.mark.parametrize(
    ("subject", "body", "words"),
    [
        ("QUESTION: Which one?", QUESTION, "asked, Blocking: Which rubric?"),
        ("BLOCKED: No data", BLOCKED, "blocked, Resource: No data"),
        ("HANDOFF: The assay", HANDOFF, "handed over"),
    ],
)
def test_whom_it_waits_for(thread: Thread, subject: str, body: str, words: str) -> None:
    thread.kickoff()
    found = thread.say(ANN, subject, body)
    assert found.step is RouteStep.WAIT
    assert found.words.startswith(words)
    assert found.words.endswith("; waiting for Operator")
    assert found.waiting_for == (OPERATOR,)


def test_what_wants_no_ack_waits_for_anybody(thread: Thread) -> None:
    message = Message(THREAD, ANN, (OPERATOR,), "QUESTION: Hm?", QUESTION, ack_required=False)
    assert thread.take(message).words.endswith("; waiting for an ACK from any agent")


# ACK


def test_what_an_ack_settles(thread: Thread) -> None:
    thread.kickoff()
    number = thread.last.id
    found = thread.ack(ANN, number)
    assert (found.step, found.waiting_for) == (RouteStep.SETTLE, (BEA,))
    assert found.words == f"settles KICKOFF {number}; RedSky still owes an ACK"
    last = thread.ack(BEA, number, "Completed")
    assert last.words == f"settles KICKOFF {number}; RedSky passes this round"
    assert thread.ack(BEA, number).words.startswith("settles nothing")


# CLAIM, INFO


def test_claims_and_news_are_noted(thread: Thread) -> None:
    assert thread.say(ANN, "CLAIM: Mine", "# Claim\n").step is RouteStep.NOTE
    assert thread.say(ANN, "INFO: News", "# Info\n").words == "noted"
    found = thread.say(OPERATOR, "INFO: Validation error in message 1", "# Validation Error\n")
    assert found.words.startswith("validation error: BlueLake and RedSky")


def test_a_void_is_said_as_such_and_heard_only_from_the_operator(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, add("One"))
    thread.take(thread.compiled())
    version = thread.last
    blank = Message(THREAD, BEA, (ANN,), "", "")
    void = (1, version.id, [version.content_hash], "")
    vain = thread.take(compose_void(blank, *void))
    assert vain.words.startswith("no effect: only the operator can void v1")
    heard = thread.take(compose_void(blank._replace(sender=OPERATOR), *void))
    assert heard.words.startswith("v1 is void: no version is left")


def test_a_dismissal_is_said_as_such_and_heard_only_from_the_operator(thread: Thread) -> None:
    thread.kickoff()
    thread.delta(ANN, edit("H9", claim="No"))
    refused = thread.last
    blank = Message(THREAD, BEA, (ANN,), "", "")
    said = (refused.content_hash, refused.id, [1], "")
    assert thread.take(compose_dismissal(blank, *said)).words.startswith(
        "no effect: only the operator can dismiss"
    )
    heard = thread.take(compose_dismissal(blank._replace(sender=OPERATOR), *said))
    assert heard.words == f"dismissed block 1 of message {refused.id}"


# What is not the protocol's


def test_mail_without_a_prefix(thread: Thread) -> None:
    thread.kickoff()
    found = thread.say(ANN, "Re: KICKOFF: Cell fate", "Hello")
    assert found == Route(None, RouteStep.NOTHING, "no message type: nothing in it is compiled")
    block = f"```delta\n{json.dumps(add('One'))}\n```\n"
    twice = thread.say(ANN, "Re: KICKOFF: Cell fate", f"{block}\n{block}")
    assert "2 delta blocks ignored" in twice.words
    other = thread.say(ANN, "CRITIQUE: H2", f"{CRITIQUE}\n{block}")
    assert "1 delta block ignored" in other.words


def test_nothing_in_the_words_is_obeyed_or_endless(thread: Thread) -> None:
    """Names and texts of others are cut and spelled out."""
    thread.kickoff()
    body = (
        f"# Critique\n\n## Target\n\x1b[2J{'x' * 5000}\n\n## Severity\nMajor\n\n## Critique\nNo.\n"
    )
    words = thread.say(BEA, "CRITIQUE: Odd", body).words
    assert words.isprintable()
    assert len(words) < 300


def test_the_json_is_plain(thread: Thread) -> None:
    found = thread.kickoff().to_json()
    assert json.loads(json.dumps(found)) == found
    assert found["step"] == "session_initialization"
