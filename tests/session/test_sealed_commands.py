"""R33 on the command line: no command that acts for an agent shows what is sealed.

The commands come from the table of the program, so a new one is tested without being named here.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from brenner.cli.main import cli
from program import Run, call
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

# They run until they are stopped; tests/serving/test_sealed.py and `test_watch` below cover them.
ENDLESS = {("serve",), ("mcp",), ("session", "watch")}
# They do not open the mail of the project, and take long or write elsewhere
NO_MAIL = {("demo",), ("docs",), ("help",), ("explain",), ("completion",), ("init",)}
# What an argument or a required option is called, and a value that leads to what is sealed
VALUES = {
    **dict.fromkeys(("thread", "thread_id", "target", "threads", "old", "targets"), THREAD),
    **dict.fromkeys(("message", "message_id", "message_ids", "number", "messages"), "5"),
    **dict.fromkeys(("name", "agent", "names"), READER),
    **dict.fromkeys(("file", "files", "path", "archive"), "message.md"),
    "query": "zqclaim",
    "new": "v1",
    "reason": "Because",
    "place": "H1",
    "block": "3.1",
    "client": "codex",
    "output": "out.md",
    "item": "H1",
    "type": "DELTA",
}


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
    """The command with what it requires, and with each of its flags, one after the other."""
    command, given = found(path), [*path]
    flags: list[str] = []
    for each in command.params:
        name = (each.name or "").lower()
        if isinstance(each, click.Argument):
            given += [VALUES.get(name, THREAD)]
        elif each.required:
            given += [each.opts[0], VALUES.get(name, "x")]
        elif isinstance(each, click.Option) and each.is_flag and each.name != "help":
            flags.append(each.opts[0])
    yield given
    yield from ([*given, each] for each in flags)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose session is sealed, and the file of a message that refers to what is sealed."""
    folder = tmp_path_factory.mktemp("sealed") / "project"
    with started(folder) as here:
        contributed(here)
    named = {**block("Mine"), "operation": "EDIT", "target_id": "H1"}
    message = delta(READER, "Mine", block("Mine"), named)
    to = ", ".join(message.recipients)
    head = f"Thread: {THREAD}\nFrom: {READER}\nTo: {to}\nSubject: {message.subject}\n\n"
    (folder / "message.md").write_text(head + message.body, "utf-8")
    return folder


def run(folder: Path, *arguments: str, actor: str | None = None) -> Run:
    """Run a command in the project."""
    acting = ["--as", actor] if actor else []
    return call("--project", str(folder), *acting, *arguments)


def shown(folder: Path, done: Run) -> list[str]:
    """What a command wrote: its output, and the files."""
    texts = [done.out, done.err]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.match("*/.brenner/*"):
            texts.append(path.read_text("utf-8", "replace"))
    return texts


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_command_shows_an_agent_what_is_sealed(
    path: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R33: neither in its output, nor in an error, nor in a file."""
    monkeypatch.chdir(folder)
    for arguments in variants(path):
        done = run(folder, *arguments, actor=READER)
        assert "Traceback" not in done.err
        assert not leaks(*shown(folder, done)), arguments


READS = (
    ("mail", "inbox", "--json"),
    ("mail", "thread", THREAD, "--json"),
    ("mail", "search", "type:DELTA", "--json"),
    ("session", "status", THREAD, "--json"),
    ("session", "export", THREAD, "--output", "-"),
    ("mail", "export"),
)


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


def test_watch(tmp_path: Path) -> None:
    """R33: the live view of an agent shows new contributions as sealed, and v1 unseals them."""
    from brenner.services.watch import WatchOptions, watch
    from brenner.services.workspace import workspace_in

    with started(tmp_path / "project") as here:
        agent = workspace_in(here.project, READER, create=False)
        events = watch(agent, WatchOptions(THREAD))
        seen = [str(next(events))]
        sent = contributed(here)
        while not seen[-1].count(f"id={sent[-1].id},"):
            seen.append(str(next(events)))
        assert not leaks(*seen)
        here.compile(THREAD)
        following = ""
        while "COMPILED" not in following:
            following = str(next(events))
        assert "zqclaim" in following
        assert "STORE_REPLACED" not in following
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
    roles = ("--to", AUTHOR, "--role", "hypothesis_generator", "--to", READER)
    roles = (*roles, "--role", "test_designer")
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
