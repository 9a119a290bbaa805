"""R33 on the command line: no command that acts for an agent shows what is sealed.

The commands come from the table of the program, so a new one is tested without being named here.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from brenner.cli.main import cli
from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import StartOptions, StartStatus, start_session
from brenner.services.watch import WatchOptions, watch
from brenner.services.workspace import Workspace, workspace_in
from program import Run, call, inside
from sealed_session import (
    AUTHOR,
    MARKERS,
    OPERATOR,
    READER,
    THREAD,
    block,
    contributed,
    delta,
    leaks,
    started,
)
from session.workspaces import project_in

# They run until they are stopped: tests/serving/test_sealed.py and `test_watch` are about them.
ENDLESS = {("serve",), ("mcp",), ("session", "watch")}
# They do not open the mail of the project, and take long or write elsewhere.
NO_MAIL = {("demo",), ("docs",), ("help",), ("explain",), ("completion",), ("init",)}
# A value for each argument and required option, by its name. A new name needs a line here.
VALUES = {
    **dict.fromkeys(("thread", "thread_id", "threads", "target", "old"), (THREAD,)),
    **dict.fromkeys(("version", "new"), ("v1",)),
    **dict.fromkeys(("third", "place", "item", "file", "source"), ()),
    **dict.fromkeys(("ids", "message_id", "message_ids", "ids_given"), ("5",)),
    **dict.fromkeys(("name", "names"), (READER,)),
    **dict.fromkeys(("files", "paths"), ("message.md",)),
    "item_id": ("T1",),
    "which": ("3.1",),
    "query": ("zqclaim",),
    "words": ("zqclaim",),
    "reason": ("Because",),
    "type_name": ("DELTA",),
    "program": ("claude-code",),
}
START = ("--question", "Who else?", "--context", "Some. More.", "--to", AUTHOR)
# What a command needs beside that, once for each way to use it
WAYS: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("agent", "config"): (("--client", "codex"),),
    ("check",): (("message.md",), ("--thread", THREAD)),
    ("mail", "copy"): (("--to", "sqlite:///copy.sqlite3"),),
    ("mail", "export"): ((), ("out.jsonl",)),
    ("mail", "import"): (("own.jsonl",),),
    ("mail", "send"): (("message.md",), ("message.md", "--no-check")),
    ("mail", "search"): ((), ("type:DELTA",), ("item:H1",)),
    ("orchestrate", "start"): (START,),
    ("session", "export"): tuple(("--output", f"out.{each}") for each in ("md", "html", "json")),
    ("new",): (("DELTA", "--thread", THREAD), ("CRITIQUE", "--thread", THREAD)),
    ("result", "add"): (("--outcome", "slow"),),
    ("result", "run"): (("--outcome", "slow", "--", "true"),),
    ("session", "start"): (START,),
}
NO_VALUE_IN_WAYS = {"file", "files", "message", "source", "type_name"}


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all commands."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*path, name))


COMMANDS = sorted({*leaves(cli)} - ENDLESS - NO_MAIL)


def found(path: tuple[str, ...]) -> click.Command:
    """The command at a path."""
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        following = command.get_command(click.Context(command), name)
        assert following is not None
        command = following
    return command


def variants(path: tuple[str, ...]) -> Iterator[list[str]]:
    """Each way to use the command, alone and with each of its flags."""
    command = found(path)
    given = [*path]
    flags: list[list[str]] = [[]]
    for each in command.params:
        name = (each.name or "").lower()
        if isinstance(each, click.Argument) and not (path in WAYS and name in NO_VALUE_IN_WAYS):
            given += VALUES[name]
        elif isinstance(each, click.Option) and each.required and path not in WAYS:
            given += [each.opts[0], *VALUES[name]]
        elif isinstance(each, click.Option) and each.is_flag and each.name != "help":
            flags.append([each.opts[0]])
    for way in WAYS.get(path, ((),)):
        yield from ([*given, *way, *flag] for flag in flags)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose session is sealed, and a message of the reader that names a sealed item."""
    folder = tmp_path_factory.mktemp("sealed") / "project"
    with started(folder) as here:
        contributed(here)
    named = {**block("Mine"), "operation": "EDIT", "target_id": "H1"}
    message = delta(READER, "Mine", block("Mine"), named)
    to = ", ".join(message.recipients)
    head = f"Thread: {THREAD}\nFrom: {READER}\nTo: {to}\nSubject: {message.subject}\n\n"
    (folder / "message.md").write_text(head + message.body, "utf-8")
    (folder / "own.jsonl").write_text('{"format":"brenner-mail","version":1}\n')
    return folder


def run(folder: Path, *arguments: str, actor: str | None = None) -> Run:
    """Run a command in the project."""
    acting = ["--as", actor] if actor else []
    return call("--project", str(folder), *acting, *arguments)


def written(folder: Path) -> list[str]:
    """What a command wrote into files, but the stores."""
    return [
        path.read_text("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".sqlite3" not in path.name
    ]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_command_shows_an_agent_what_is_sealed(
    path: tuple[str, ...], sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R33: neither in its output, nor in an error, nor in a file."""
    for number, arguments in enumerate(variants(path)):
        folder = tmp_path / str(number)
        shutil.copytree(sealed, folder)
        monkeypatch.chdir(folder)
        done = run(folder, *arguments, actor=READER)
        assert "Traceback" not in done.err
        assert "WRONG_USAGE" not in done.err or len(arguments) > len(path), arguments
        asked = {each for each in MARKERS if each in " ".join(arguments)}
        outputs = (done.out, done.err, *written(folder))
        assert leaks(*outputs) <= asked, arguments
        if number == 0:
            assert "WRONG_USAGE" not in done.out + done.err, (arguments, done.err)


def test_the_same_commands_show_the_operator_what_is_sealed(sealed: Path, tmp_path: Path) -> None:
    """The test above is not in vacuum: with the same arguments the operator sees markers."""
    revealing = set()
    for number, path in enumerate(COMMANDS):
        folder = tmp_path / str(number)
        shutil.copytree(sealed, folder)
        with inside(folder, {}):
            for arguments in variants(path):
                done = run(folder, *arguments)
                asked = {each for each in MARKERS if each in " ".join(arguments)}
                if leaks(done.out, done.err, *written(folder)) - asked:
                    revealing.add(path)
    assert revealing >= {
        *(("compile",), ("check",)),
        *(("mail", each) for each in ("inbox", "thread", "show", "search", "export", "pending")),
        *(("session", each) for each in ("status", "export")),
    }


def test_sealed_messages_are_listed_without_subject_and_body(tmp_path: Path) -> None:
    """R33: an agent sees id, sender, time and type; its own messages it sees whole."""
    with started(tmp_path / "project") as here:
        sent, *_, ack = contributed(here)
    listed = run(here.project.folder, "mail", "thread", THREAD, "--json", actor=READER).json
    (one,) = [each for each in listed["messages"] if each["id"] == sent.id]
    assert (one["from"], one["type"], one["sealed"]) == (AUTHOR, "DELTA", True)
    assert (one["subject"], one["body"], one["hash"]) == ("", "", "")
    (other,) = [each for each in listed["messages"] if each["id"] == ack.id]
    assert (other["type"], other["sealed"]) == ("ACK", True)
    own = run(here.project.folder, "mail", "show", str(sent.id), "--json", actor=AUTHOR).json
    assert "sealed" not in str(own)
    assert "zqsubject" in str(own)


def test_the_operator_reads_everything_and_v1_unseals_it(tmp_path: Path) -> None:
    """R33: no option changes what the operator reads; after v1 an agent reads the same."""
    folder = tmp_path / "project"
    with started(folder) as here:
        contributed(here)
    before = run(folder, "mail", "thread", THREAD, "--json")
    contents = {"zqclaim", "zqattack", "zqack", "zqreply", "zqsubject", "zqcritique"}
    assert contents <= leaks(before.out)
    status = run(folder, "session", "status", THREAD, actor=READER).out
    assert "3 contributions sealed until v1" in status
    assert run(folder, "compile", THREAD, actor=READER).code == 1  # it would lack what is sealed
    assert run(folder, "compile", THREAD).code == 0
    after = run(folder, "mail", "thread", THREAD, "--json", actor=READER)
    assert contents <= leaks(after.out)
    assert "sealed" not in run(folder, "session", "status", THREAD, actor=READER).out
    assert run(folder, "artifact", "show", THREAD, actor=READER).out.count("zqclaim")


def test_search_counts_no_sealed_hit(tmp_path: Path) -> None:
    """R33: neither hits nor pages show that a sealed message contains a word."""
    folder = tmp_path / "project"
    with started(folder) as here:
        contributed(here)
        for number in range(3):
            text = f"INFO: zqclaim {number}"
            here.mailbox.send(here.mailbox.message(1).message._replace(subject=text, body="Known."))
            here.mailbox.send(delta(AUTHOR, f"zqclaim {number}", block(f"zqclaim{number}")))
    for limit in ("1", "2", "3", "4"):
        asked = ("mail", "search", "zqclaim", "--limit", limit, "--json")
        page = run(folder, *asked, actor=READER).json
        assert len(page["messages"]) == min(int(limit), 3)
        assert {each["type"] for each in page["messages"]} == {"INFO"}
        assert (page["next_before"] is not None) == (int(limit) < 3)


class Recorder:
    """A view of a watch that keeps what it was shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __getattr__(self, name: str) -> object:
        return lambda *shown: self.seen.append(f"{name} {shown}")

    def take(self, events: Iterator[object], word: str) -> str:
        """What is shown until there is a message with this word."""
        before = len(self.seen)
        while not any(word in each for each in self.seen[before:]):
            event = next(events)
            if callable(event):
                event(self)
        return "".join(self.seen[before:])


def test_watch(tmp_path: Path) -> None:
    """R33: the live view of an agent shows new contributions as sealed, until v1 unseals all."""
    with started(tmp_path / "project") as here:
        agent = workspace_in(here.project, READER, create=False)
        events, view = watch(agent, WatchOptions(THREAD)), Recorder()
        view.take(events, "watching")
        contributed(here)
        assert not leaks(view.take(events, "'ACK: sealed until v1'"))
        here.compile(THREAD)
        following = view.take(events, "COMPILED: v1")
        assert "zqclaim" in following
        assert "lost" not in following
        agent.close()


def test_an_archive_of_sealed_messages_is_not_imported(tmp_path: Path) -> None:
    """R33: an export lists them as sealed; an import never takes them for empty messages."""
    folder, other = tmp_path / "project", tmp_path / "other"
    with started(folder) as here:
        contributed(here)
    exported = run(folder, "mail", "export", actor=READER)
    assert exported.out.count('"sealed":true') + exported.out.count('"sealed": true') == 5
    archive = tmp_path / "mail.jsonl"
    archive.write_bytes(exported.raw)
    done = run(other, "mail", "import", str(archive))
    assert done.code != 0
    assert "sealed" in done.err


def test_independence_is_stated_at_the_start_or_never(tmp_path: Path) -> None:
    """R33: the first kickoff decides; a repeated start finishes it with the same words."""
    folder = tmp_path / "project"
    with started(folder, independent=False) as here:
        contributed(here)
    start = (
        *("session", "start", "--question", "Who decides?", "--thread-id", THREAD, "--json"),
        *("--context", "Cells that look alike become different. Nobody knows why."),
    )
    roles = (
        *("--to", AUTHOR, "--role", "hypothesis_generator"),
        *("--to", READER, "--role", "test_designer"),
    )
    late = run(folder, *start, *roles, "--independent")
    assert (late.code, "INDEPENDENCE_TOO_LATE" in late.codes) == (1, True)
    blind = tmp_path / "blind"
    with started(blind):
        pass
    more = (*roles, "--to", "GreenDog", "--role", "adversarial_critic", "--dry-run")
    again = run(blind, *start, *more).json
    bodies = [each["body"] for each in again["kickoffs"] if "GreenDog" in str(each["to"])]
    assert bodies
    assert all("## Independent First Round" in each for each in bodies)


def test_markers_are_all_tested(tmp_path: Path) -> None:
    """Every marker is in what the operator reads, so that none is tested in vain."""
    with started(tmp_path / "project") as here:
        contributed(here)
    done = run(here.project.folder, "mail", "thread", THREAD, "--json", actor=OPERATOR)
    assert leaks(done.out) == set(MARKERS)


def test_the_deadline_of_a_sealed_critique_starts_with_v1(tmp_path: Path) -> None:
    """R33: it is never overdue before, in no list; other deadlines are as always."""
    folder = tmp_path / "project"
    with started(folder) as here:
        *_, attack, _, _ = contributed(here)
        settings = "ack_deadline_hours = 0.0000001\n"
        (folder / "brenner.toml").write_text(settings, "utf-8")

    def overdue() -> set[int]:
        by_mail = run(folder, "mail", "pending", "--json").json["pending"]
        by_status = run(folder, "session", "status", THREAD, "--json").json["pending"]
        listed = [
            {each["message_id"] for each in lst if each["overdue"]} for lst in (by_mail, by_status)
        ]
        assert listed[0] == listed[1]
        return listed[0]

    assert overdue() == {2}  # the kickoff of the agent that has not contributed
    assert run(folder, "compile", THREAD).code == 0
    assert overdue() == {2, attack.id}


def test_a_store_that_agents_read_themselves_cannot_seal(tmp_path: Path) -> None:
    """R33: the store says so before anything is sent."""
    lacks = {Capability.SEALS: "the agents read all mail from the server itself"}
    mailbox = MemoryMailbox(lacks=lacks)
    here = Workspace(mailbox, project_in(tmp_path), OPERATOR)
    wish = RosterRequest(recipients=((READER, "test_designer"),))
    options = StartOptions("Who decides?", "Some. More.", wish, thread_id=THREAD, independent=True)
    done = start_session(here, options)
    assert done.status is StartStatus.REFUSED
    assert "HOME_CANNOT" in [each.id for each in done.diagnostics]
    assert not mailbox.position()
