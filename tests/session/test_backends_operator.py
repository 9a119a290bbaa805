"""What the operator does at a home that cannot keep two people apart: adopt, void, start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import BrennerError, UnknownOutcomeError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.compile import CompileOptions, CompileStatus, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import KickoffState, StartOptions, start_session
from brenner.services.start_session import StartStatus as Start
from brenner.services.versions import load_version_list, verify
from brenner.services.workspace import Workspace
from golden.history import HERE
from session.unsafe_backend import LooseMailbox, fails, is_lost, loose, loose_desk
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, write

THEIRS = (HERE / "conflict" / "v2.artifact.md").read_text("utf-8")
PLAIN = CompileOptions()


def messages(workspace: Workspace, kind: str) -> list[StoredMessage]:
    return [each for each in workspace.mailbox.thread(THREAD).messages if each.type == kind]


def raised(call: Callable[[], object]) -> BrennerError:
    with pytest.raises(BrennerError) as error:
        call()
    return error.value


def versions(workspace: Workspace) -> list[tuple[int, int]]:
    return [(each.number, each.message.id) for each in load_version_list(workspace, THREAD)[1]]


# Adopting


@pytest.fixture
def foreign(tmp_path: Path) -> Workspace:
    """A thread that another program has compiled."""
    workspace = loose_desk(tmp_path)
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    body = f"# Compiled Artifact v2\n\n## Full Artifact\n\n~~~~markdown\n{THEIRS}~~~~\n"
    write(workspace, BEA, "COMPILED: v2 ours", body.replace("RS-20260114-somite-clock", THREAD))
    return workspace


def test_adopting(foreign: Workspace) -> None:
    adopted, message, in_vain = adopt_thread(foreign, THREAD)
    assert (adopted.number, len(adopted.record.messages), in_vain) == (3, 2, ())
    assert versions(foreign) == [(3, message.id)]
    assert verify(foreign, THREAD).ok


def test_adopted_twice_at_once(foreign: Workspace) -> None:
    """One counts. The other says so in the thread and to the operator, who has nothing to adopt."""
    loose(foreign).meanwhile = lambda: adopt_thread(foreign, THREAD)
    found = raised(lambda: adopt_thread(foreign, THREAD)).diagnostic
    first, second = messages(foreign, "COMPILED")[1:]
    assert (found.id, found.also) == ("CANNOT_ADOPT", ("POSTED_IN_VAIN",))
    assert f"message {second.id} is void" in found.message
    (info,) = messages(foreign, "INFO")
    assert info.message.subject == f"INFO: Message {second.id} is void, it is not v3"
    assert versions(foreign) == [(3, first.id)]
    assert verify(foreign, THREAD).ok


def test_adopted_while_another_program_compiles(foreign: Workspace) -> None:
    """Her message is void if another of that number is the version; she adopts what came since."""
    body = messages(foreign, "COMPILED")[0].message.body

    def meanwhile() -> None:
        adopt_thread(foreign, THREAD)
        write(foreign, BEA, "COMPILED: v4 ours", body)

    loose(foreign).meanwhile = meanwhile
    (adopted, _, in_vain) = adopt_thread(foreign, THREAD)
    assert adopted.record.adopted
    assert (adopted.number, adopted.record.adopted.version) == (5, 4)
    assert [each.id for each in in_vain] == ["POSTED_IN_VAIN"]
    assert [number for number, _ in versions(foreign)] == [3, 5]
    assert verify(foreign, THREAD).ok


# Voiding


@pytest.fixture
def session(tmp_path: Path) -> Workspace:
    """A thread with one version, and one contribution that is unread."""
    workspace = loose_desk(tmp_path)
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    compile_thread(workspace, THREAD, PLAIN)
    contribute(workspace, BEA, edit("H1", claim="Steeper"))
    return workspace


def test_voided_while_somebody_builds_on_it(session: Workspace) -> None:
    """What was built on it is void with it: that is said, and nothing is lost or stands still."""
    loose(session).meanwhile = lambda: compile_thread(
        session._replace(actor=BEA), THREAD, CompileOptions()
    )
    done = void_version(session, THREAD, 1, "It was a mistake.")
    first, second = messages(session, "COMPILED")
    (note,) = done.notes
    assert (note.id, note.message_id) == ("VOID_VERSION", second.id)
    assert f"it is built on message {first.id}, which is void" in note.message
    assert (done.latest, done.unread) == (0, 3)
    again = compile_thread(session, THREAD, PLAIN)
    assert (again.status, again.version, again.left) == (CompileStatus.PUBLISHED, 1, 0)
    contribute(session, ANN, edit("H1", claim="Steepest"))
    assert compile_thread(session, THREAD, PLAIN).version == 2
    assert verify(session, THREAD).ok


def test_built_on_what_is_voided_meanwhile(session: Workspace) -> None:
    """The compiler sees it when she reads again, says so, and compiles anew."""
    loose(session).meanwhile = lambda: void_version(session, THREAD, 1, "It was a mistake.")
    done = compile_thread(session._replace(actor=BEA), THREAD, PLAIN)
    first, second, third = messages(session, "COMPILED")
    assert (done.status, done.version, done.message) == (CompileStatus.PUBLISHED, 1, third)
    assert [(each.id, each.message_id) for each in done.notes] == [
        ("POSTED_IN_VAIN", second.id),
        ("VOID_VERSION", first.id),
    ]
    assert f"it is built on message {first.id}, which is void" in done.notes[0].message
    assert messages(session, "INFO")[-1].message.sender == BEA
    assert versions(session) == [(1, third.id)]
    contribute(session, ANN, edit("H1", claim="Steepest"))
    assert compile_thread(session, THREAD, PLAIN).version == 2  # the void v2 is in nobody's way
    assert verify(session, THREAD).ok


def test_lost_after_the_declaration(session: Workspace) -> None:
    """It is void, and said to be; what the thread has come to is not known."""
    loose(session).afterwards = lambda: setattr(session.mailbox, "is_lost", True)
    done = void_version(session, THREAD, 1, "It was a mistake.")
    assert done.failed is not None
    assert done.failed.diagnostic.id == "SERVER_LOST"
    loose(session).is_lost = False
    found = raised(lambda: void_version(session, THREAD, 1, "")).diagnostic
    assert (found.id, "it is already void" in found.message) == ("CANNOT_VOID", True)


# Starting a session


@pytest.fixture
def nobody(tmp_path: Path) -> Workspace:
    """A home that knows only the operator."""
    workspace = Workspace(LooseMailbox(), Project(tmp_path), "Operator")
    workspace.mailbox.register(Profile("Operator"))
    return workspace


def start(*names: str, register: bool = False, dry_run: bool = False) -> StartOptions:
    roles = ("hypothesis_generator", "test_designer", "adversarial_critic")
    wish = RosterRequest(recipients=tuple(zip(names, roles, strict=False)))
    options = StartOptions("What tells a cell where it is?", "Cells differ.", wish, excerpt="§1 x")
    return options._replace(thread_id=THREAD, register=register, dry_run=dry_run)


def known(workspace: Workspace) -> list[str]:
    return [agent.name for agent in workspace.mailbox.agents()]


def test_recipients_must_be_there(nobody: Workspace) -> None:
    """All who are missing are named, and nobody is made known."""
    nobody.mailbox.register(Profile(ANN))
    for dry_run in (True, False):
        done = start_session(nobody, start(ANN, BEA, "GreenDog", dry_run=dry_run))
        (found,) = [each for each in done.diagnostics if each.severity.value == "error"]
        assert (found.id, done.kickoffs) == ("RECIPIENTS_NOT_REGISTERED", ())
        assert "does not know RedSky, GreenDog." in found.message
        assert "`--register`" in found.fix
        assert done.status is (Start.DRY_RUN if dry_run else Start.REFUSED)
    assert known(nobody) == [ANN, "Operator"]
    assert nobody.mailbox.position() == 0


def test_registered_if_asked_for(nobody: Workspace) -> None:
    nobody.mailbox.register(Profile(ANN))
    done = start_session(nobody, start(ANN, BEA, register=True))
    assert (done.status, done.registered) == (Start.SENT, (BEA,))
    assert known(nobody) == [ANN, "Operator", BEA]
    assert [each.message.recipients for each in messages(nobody, "KICKOFF")] == [(ANN,), (BEA,)]


def test_the_sender_is_registered_unasked(nobody: Workspace) -> None:
    for name in (ANN, BEA):
        nobody.mailbox.register(Profile(name))
    done = start_session(nobody._replace(actor="GreenDog"), start(ANN, BEA))
    assert (done.status, done.registered) == (Start.SENT, ("GreenDog",))


def test_a_home_with_names_of_its_own_asks_nobody(tmp_path: Path) -> None:
    workspace = Workspace(MemoryMailbox(), Project(tmp_path), "Operator")
    workspace.mailbox.register(Profile("Operator"))
    assert start_session(workspace, start(ANN, BEA)).registered == (ANN, BEA)


def test_mail_that_gets_in_between(tmp_path: Path) -> None:
    """Both kickoffs go out all the same, once."""
    workspace = loose_desk(tmp_path)
    stranger = Message(THREAD, ANN, ("Operator",), "INFO: News", "News.\n")
    loose(workspace).meanwhile = lambda: workspace.mailbox.send(stranger)
    assert start_session(workspace, start(ANN, BEA)).status is Start.SENT
    assert [each.message.recipients for each in messages(workspace, "KICKOFF")] == [(ANN,), (BEA,)]


@pytest.mark.parametrize("is_stored", [True, False])
def test_lost_in_the_middle(tmp_path: Path, is_stored: bool) -> None:
    """Of the kickoff under way nobody knows; the same command finishes, and repeats nothing."""
    workspace = loose_desk(tmp_path)
    name = "afterwards" if is_stored else "meanwhile"
    loose(workspace).afterwards = lambda: setattr(workspace.mailbox, name, is_lost)
    done = start_session(workspace, start(ANN, BEA))
    assert (done.status, type(done.failed)) == (Start.INCOMPLETE, UnknownOutcomeError)
    assert [each.state for each in done.kickoffs] == [KickoffState.SENT, KickoffState.UNKNOWN]
    assert (
        "was sent to BlueLake, but not to RedSky (may have arrived): "
        in done.diagnostics[-1].message
    )
    again = start_session(workspace, start(ANN, BEA))
    now = KickoffState.SENT_BEFORE if is_stored else KickoffState.SENT
    assert [each.state for each in again.kickoffs] == [KickoffState.SENT_BEFORE, now]
    assert len(messages(workspace, "KICKOFF")) == 2


def test_lost_before_the_first(tmp_path: Path) -> None:
    workspace = loose_desk(tmp_path)
    loose(workspace).meanwhile = is_lost
    assert isinstance(
        raised(lambda: start_session(workspace, start(ANN, BEA))), UnknownOutcomeError
    )
    loose(workspace).meanwhile = fails
    assert raised(lambda: start_session(workspace, start(ANN, BEA))).diagnostic.id == "SERVER_LOST"
    assert start_session(workspace, start(ANN, BEA)).status is Start.SENT
