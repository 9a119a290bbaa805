"""Mail that comes in while a version is made: it waits for the next version, and delays none (R17).

Another version, or a decision of the operator, is the only reason to start again.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile, Sent, Stored
from brenner.protocol.messages import Message
from brenner.services.compile import Compiled, CompileOptions, Status, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.publish import MOST_TRIES
from brenner.services.sessions import load_status
from brenner.services.version_store import load_chain, replay_chain
from brenner.services.versions import verify
from brenner.services.workspace import Desk, desk_in
from brenner.session.decisions import compose_void
from brenner.session.versions import unwatched
from session.desks import ANN, BEA, KICKOFF, THREAD, add, edit, fenced, project_in
from session.homes import HOUSINGS, OPERATOR, Housing, housed

RIVAL = "SwiftHeron"
BLOCK = '```delta\n{"operation": "KILL"}\n```\n'


class Meanwhile:
    """A mailbox in which other mail comes in whenever something is sent on a condition.

    `act` is done each time, `attempts` counts them.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self.attempts = 0
        self.act: Callable[[int], object] = lambda _: None

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def send(self, message: Message, **how: object) -> Sent:
        if how.get("position") is not None:
            self.attempts += 1
            act, self.act = self.act, lambda _: None  # what it does itself is not interrupted
            act(self.attempts)
            self.act = act
        return self._mailbox.send(message, **how)  # type: ignore[arg-type]


@pytest.fixture(params=HOUSINGS, ids=lambda each: each.home.name)
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    """A session with one contribution that no version has read, in each home."""
    housing: Housing = request.param
    with (
        housed(housing, tmp_path, monkeypatch),
        desk_in(project_in(tmp_path), None, create=True) as real,
    ):
        for name in (ANN, BEA, RIVAL):
            real.mailbox.register(Profile(name))
        write(real, OPERATOR, "KICKOFF: Cell fate", KICKOFF)
        contribute(real, ANN, add("Gradient"))
        yield real._replace(mailbox=cast("Mailbox", Meanwhile(real.mailbox)))


def meanwhile(desk: Desk) -> Meanwhile:
    return cast("Meanwhile", desk.mailbox)


def write(desk: Desk, sender: str, subject: str, body: str) -> Stored:
    to = (OPERATOR,) if sender != OPERATOR else (ANN, BEA)
    return desk.mailbox.send(Message(THREAD, sender, to, subject, body)).stored


def contribute(desk: Desk, sender: str, *blocks: dict[str, object]) -> Stored:
    return write(desk, sender, "DELTA[opus]: News", fenced(*blocks))


def predict(hypothesis: str) -> dict[str, object]:
    """An ADD of a prediction."""
    return {
        "operation": "ADD",
        "section": "predictions_table",
        "target_id": None,
        "payload": {"condition": "Cells are moved", "predictions": {hypothesis: "They stay"}},
        "rationale": "It tells them apart",
    }


def void_of(desk: Desk, sender: str, number: int) -> Message:
    """A message that declares the latest version void, or says so."""
    latest = load_chain(desk.mailbox, THREAD, OPERATOR).chain.latest
    content_hash = latest.content_hash if latest else "0" * 64
    blank = Message(THREAD, sender, (ANN,), "", "")
    return compose_void(blank, number, 1, [content_hash], "")


def compiled(desk: Desk, **options: object) -> Compiled:
    return compile_thread(desk, THREAD, CompileOptions(**options))  # type: ignore[arg-type]


def titles(done: Compiled) -> list[str]:
    return [item.title for item in done.artifact.sections["hypothesis_slate"]]


def check_kept(desk: Desk) -> None:
    """What was kept of the thread is what its mail says."""
    known = load_chain(desk.mailbox, THREAD, OPERATOR).chain
    assert known == replay_chain(desk.mailbox, THREAD, OPERATOR, unwatched)
    assert verify(desk, THREAD).ok


def test_other_mail_is_no_reason_to_start_again(desk: Desk) -> None:
    """Not even an agent's word that a version is void."""

    def act(_: int) -> None:
        write(desk, ANN, "INFO: Tick", "x")
        write(desk, BEA, "QUESTION: Which?", "## Question\nWhich?\n")
        write(desk, RIVAL, "Hello", "x")
        desk.mailbox.send(void_of(desk, ANN, 1))

    meanwhile(desk).act = act
    done = compiled(desk)
    assert (done.status, done.version, done.left) == (Status.PUBLISHED, 1, 0)
    assert meanwhile(desk).attempts == 1
    known = load_chain(desk.mailbox, THREAD, OPERATOR).chain
    assert (known.position, RIVAL in known.writers) == (7, True)
    check_kept(desk)
    assert compiled(desk).status is Status.NOTHING


def test_a_delta_goes_into_the_next_version(desk: Desk) -> None:
    """It was written before the version was there, so its IDs are those of the version before."""

    def act(attempt: int) -> None:
        if attempt == 1:
            contribute(desk, BEA, add("Lineage"), predict("H1"))
            contribute(desk, ANN, edit("H9", claim="Of nothing"))

    meanwhile(desk).act = act
    first = compiled(desk)
    assert (first.status, first.version, first.left) == (Status.PUBLISHED, 1, 2)
    assert (titles(first), meanwhile(desk).attempts) == (["Gradient"], 1)
    check_kept(desk)
    status = load_status(desk, THREAD).status
    assert (status.unread, status.applies, len(status.refusals)) == (2, 2, 1)
    second = compiled(desk)
    assert (second.status, second.version, second.previous_version) == (Status.PUBLISHED, 2, 1)
    assert titles(second) == ["Gradient", "Lineage"]
    (prediction,) = second.artifact.sections["predictions_table"]
    assert prediction.fields["predictions"] == {"H2": "They stay"}  # to its author it was H1
    check_kept(desk)


def test_deltas_that_never_stop(desk: Desk) -> None:
    """Each version is published at its first attempt, and each contribution is in one version."""
    meanwhile(desk).act = lambda attempt: contribute(desk, BEA, add(f"Number {attempt}"))
    for number in (1, 2, 3):
        done = compiled(desk)
        assert (done.version, meanwhile(desk).attempts, done.left) == (number, number, 1)
        check_kept(desk)
    assert titles(done) == ["Gradient", "Number 1", "Number 2"]


def test_a_copy_of_what_was_read(desk: Desk) -> None:
    """The same content again is another message: it is unread, and a duplicate later."""
    meanwhile(desk).act = lambda _: contribute(desk, ANN, add("Gradient"))
    assert compiled(desk).left == 1
    check_kept(desk)
    (copy,) = load_chain(desk.mailbox, THREAD, OPERATOR).chain.unread
    assert copy.posted.id == max(each.id for each in desk.mailbox.thread(THREAD).messages[:-1])


def test_a_delta_block_in_other_mail_is_listed_once(desk: Desk) -> None:
    """By the first version that knows of it."""
    write(desk, BEA, "INFO: Before", BLOCK)

    def act(attempt: int) -> None:
        if attempt == 1:
            write(desk, BEA, "INFO: Meanwhile", BLOCK)
            contribute(desk, BEA, add("Lineage"))

    meanwhile(desk).act = act
    found = []
    for _ in range(2):
        done = compiled(desk)
        check_kept(desk)
        found.append([desk.mailbox.message(each.message_id or 0) for each in done.not_contributed])
    contribute(desk, BEA, add("Position"))
    assert compiled(desk).not_contributed == ()
    subjects = [[each.message.subject for each in some] for some in found]
    assert subjects == [["INFO: Before"], ["INFO: Meanwhile"]]


# What is a reason


def test_another_version_is_a_reason(desk: Desk) -> None:
    rival = desk._replace(actor=RIVAL)

    def act(attempt: int) -> None:
        if attempt == 1:
            compiled(rival)
            contribute(desk, BEA, add("Lineage"))

    meanwhile(desk).act = act
    done = compiled(desk)
    assert (done.version, done.previous_version, done.left) == (2, 1, 0)
    assert titles(done) == ["Gradient", "Lineage"]
    assert meanwhile(desk).attempts == 3  # the other compiler's is one of them
    check_kept(desk)


def test_a_void_is_a_reason(desk: Desk) -> None:
    compiled(desk)
    contribute(desk, BEA, add("Lineage"))

    def act(attempt: int) -> None:
        if attempt == 2:
            desk.mailbox.send(void_of(desk, OPERATOR, 1))

    meanwhile(desk).act = act
    done = compiled(desk)
    assert (done.version, done.previous_version) == (1, None)
    assert titles(done) == ["Gradient", "Lineage"]
    assert meanwhile(desk).attempts == 3
    check_kept(desk)


def test_the_last_version_leaves_no_contribution_behind(desk: Desk) -> None:
    """A session is closed with everything that has come in; other mail is no reason here either."""
    compiled(desk)

    def act(attempt: int) -> None:
        write(desk, ANN, "INFO: Tick", "x")
        if attempt == 2:
            contribute(desk, BEA, add("Lineage"))

    meanwhile(desk).act = act
    done = compiled(desk, close=True)
    assert (done.version, done.artifact.metadata.status, done.left) == (2, "closed", 0)
    assert titles(done) == ["Gradient", "Lineage"]
    assert meanwhile(desk).attempts == 3


def test_what_was_previewed_is_what_is_published(desk: Desk) -> None:
    """A contribution that comes in meanwhile stops it, other mail does not."""
    position = desk.mailbox.thread(THREAD).position

    def act(attempt: int) -> None:
        write(desk, ANN, "INFO: Tick", "x")
        if attempt == 1:
            contribute(desk, BEA, add("Lineage"))

    meanwhile(desk).act = act
    with pytest.raises(Refused) as refused:
        compiled(desk, position=position)
    assert refused.value.diagnostic.id == "PREVIEW_OVERTAKEN"
    done = compiled(desk, position=desk.mailbox.thread(THREAD).position)
    assert (done.version, meanwhile(desk).attempts) == (1, 2)


# The operator's decisions


def test_voiding_and_adopting_while_mail_comes_in(desk: Desk) -> None:
    first = compiled(desk)
    before = meanwhile(desk).attempts
    meanwhile(desk).act = lambda attempt: contribute(desk, BEA, add(f"Number {attempt}"))
    voided = void_version(desk, THREAD, 1, "")
    assert (meanwhile(desk).attempts, voided.latest, voided.unread) == (before + 1, 0, 3)
    body = f"## Full Artifact\n\n~~~~markdown\n{first.text}~~~~\n"
    write(desk, RIVAL, "COMPILED: v1 By another program", body)
    adoption = adopt_thread(desk, THREAD)
    assert (meanwhile(desk).attempts, adoption.version) == (before + 2, 2)
    assert adoption.taken_as_read == 3
    assert load_status(desk, THREAD).status.unread == 1
    check_kept(desk)


def test_compilers_that_never_stop(desk: Desk) -> None:
    """The attempts are bounded, and the refusal says why."""

    def act(_: int) -> None:
        write(desk, RIVAL, "COMPILED: v1 Without a record", "x")

    meanwhile(desk).act = act
    with pytest.raises(Refused) as refused:
        compiled(desk)
    assert refused.value.diagnostic.id == "COMPILE_OVERTAKEN"
    assert meanwhile(desk).attempts == MOST_TRIES
