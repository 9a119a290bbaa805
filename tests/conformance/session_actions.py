"""What a `session` case may do: one function for each kind of line."""

import io
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout

from brenner.cli.main import run
from brenner.mail.model import RestoreResult
from brenner.protocol.messages import Message, StoredMessage, parse_message_file
from brenner.protocol.validate import check_message
from brenner.services.archive import ArchiveExport, import_archive
from brenner.services.compile import CompileOptions, compile_thread
from conformance.mail_shorthand import LETTER, THREAD_ID, letter, matched
from conformance.session_compile import adopt, compile_, start, void
from conformance.session_scene import SessionScene
from conformance.session_shorthand import (
    foreign_version,
    numbers_in,
    reposted,
    time_of,
    written,
)

Found = re.Match[str]
_WITH_A_TRACE = " and a trace"
_ADDED = re.compile(r"added (\d+), skipped (\d+)")


# Mail


def write(scene: SessionScene, step: list[str]) -> None:
    posted = written(step)
    scene.clock.now = posted.at
    _store(scene, posted.id, posted.message)


def _store(scene: SessionScene, number: int, message: Message) -> None:
    """Store it as mail of other programs arrives: unchecked."""
    stored = scene.mailbox.send(scene.addressed(message)).stored
    assert stored.arrival == number, "messages are numbered as they arrive"


def _letter(scene: SessionScene, found: Found, _: str, lines: Sequence[str]) -> None:
    scene.mailbox.send(letter(found.string, tuple(lines) or None).message)


def _post_foreign(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    number = int(found["number"])
    scene.clock.now = time_of(number)
    _store(scene, number, foreign_version(found["sender"], int(found["version"])))


def _repost(scene: SessionScene, found: Found, _: str, lines: Sequence[str]) -> None:
    number = int(found["number"])
    scene.clock.now = time_of(number)
    stored = scene.message(int(found["other"]))
    _store(scene, number, reposted(stored, found["sender"], found["version"], lines))


def _go(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    scene.here = found["where"]


def _import(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    archive = io.BytesIO(b"".join(ArchiveExport(scene.other, "jsonl")))
    accepts = found["accepting"] is not None
    operator = scene.workspace().project.operator
    restored = import_archive(
        scene.mailbox, archive, "mail.jsonl", operator=operator, accept_decisions=accepts
    )
    if not isinstance(restored, RestoreResult):
        assert outcome == f"stopped {' '.join(each.id for each in restored)}"
        return
    added, skipped = matched(_ADDED, outcome).groups()
    assert (restored.added, restored.skipped) == (int(added), int(skipped))


def _take(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    """Take over some of the other store's messages, as if the rest had been lost."""
    wanted = numbers_in(found["which"])
    records = [each for each in scene.other.records() if each.stored.arrival in wanted]
    scene.mailbox.restore(scene.other.agents(), records)


def _send_corrected(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    """What the last refusal gave as a message to send."""
    assert scene.corrected
    assert check_message(scene.corrected).valid
    number = int(found["number"])
    scene.clock.now = time_of(number)
    _store(scene, number, parse_message_file(scene.corrected).message)


def _meanwhile(scene: SessionScene, found: Found, _: str, lines: Sequence[str]) -> None:
    """What happens while the next version is on its way: somebody writes, or compiles, too."""
    number, who = int(found["number"]), found["who"]
    if found["compiles"]:
        workspace = scene.workspace(who)
        scene.meanwhile.append(
            lambda: _arrived(compile_thread(workspace, THREAD_ID, CompileOptions()).message, number)
        )
    else:
        message = written([f"{number} {who}{found['subject'] or ''}", *lines]).message
        scene.meanwhile.append(lambda: _store(scene, number, message))


def _arrived(stored: StoredMessage | None, number: int) -> None:
    assert stored
    assert stored.arrival == number, "messages are numbered as they arrive"


def _rename_operator(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    scene.configure(f'operator = "{found["name"]}"\n')


# Files, git, commands


def _write_file(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    scene.write(found["path"], found["text"])


def _edit_file(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    text = (scene.folder / found["path"]).read_bytes().decode()
    assert text.count(found["old"]) == 1
    scene.write(found["path"], text.replace(found["old"], found["new"]))


def _remove_file(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    (scene.folder / found["path"]).unlink()


def _link(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    (scene.folder / found["to"]).mkdir()
    (scene.folder / found["path"]).symlink_to(found["to"])


def _git(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    """`init`, `remote` (a bare one to push to), `add PATH`, `commit PATH`."""
    what, _, path = found["what"].partition(" ")
    if what == "init":
        scene.git_init()
    elif what == "remote":
        scene.git("init", "--quiet", "--bare", "../remote.git")
        scene.git("remote", "add", "origin", "../remote.git")
        scene.git("config", "push.autoSetupRemote", "true")
    else:
        scene.git("add", path)
        if what == "commit":
            scene.git("commit", "--quiet", "--message", "By hand", "--", path)


def _command(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    """Run a command as another process would see the mail; it says `--json`."""
    words = ["--project", str(scene.folder), *scene.options(), "--json"]
    command = found["command"].replace("FOLDER", str(scene.folder))
    ending, _, text = outcome.partition(", ")
    position = scene.mailbox.position()
    raw_out, raw_err = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(each, "utf-8", write_through=True) for each in (raw_out, raw_err))
    with redirect_stdout(out), redirect_stderr(err):
        code = run([*words, *shlex.split(command)])
    scene.said = "".join(each.getvalue().decode() for each in (raw_out, raw_err))
    assert f"exit {code}" == ending.removesuffix(_WITH_A_TRACE), scene.said
    assert text in scene.said, scene.said
    came = [stored.arrival for stored in scene.mailbox.arrivals(position)]
    assert came == numbers_in(found["numbers"]), scene.said


def only_looks(done: str, outcome: str) -> bool:
    """Whether it is a command that fails, which leaves no trace unless the case says so."""
    is_failing = outcome.startswith(("exit 1", "exit 2", "exit 3"))
    return done.startswith("$ ") and is_failing and _WITH_A_TRACE not in outcome


_N = r"(?:(?P<numbers>\d+(?:, \d+)*) )?"
_AS = r"(?: as (?P<actor>\w+))?"
Action = Callable[[SessionScene, Found, str, Sequence[str]], None]
ACTIONS: tuple[tuple[re.Pattern[str], Action], ...] = (
    (
        re.compile(
            rf"{_N}(?P<what>compile|publish|complete)(?P<options>(?: --[a-z-]+)*?)"
            rf"(?: --conclusion '(?P<conclusion>[^']*)')?{_AS}(?: at (?P<at>\S+))?"
        ),
        compile_,
    ),
    (re.compile(rf"{_N}void v(?P<version>\d+){_AS}"), void),
    (re.compile(rf"{_N}adopt{_AS}"), adopt),
    (re.compile(rf"{_N}start(?P<flags> .*)"), start),
    (re.compile(rf"{_N}\$ (?P<command>(?s:.*))"), _command),
    (
        re.compile(r"(?P<number>\d+) (?P<sender>[A-Za-z]+) posts v(?P<version>\d+)"),
        _post_foreign,
    ),
    (
        re.compile(
            r"(?P<number>\d+) (?P<sender>[A-Za-z]+) reposts (?P<other>\d+)"
            r"(?: as v(?P<version>\d+))?"
        ),
        _repost,
    ),
    (re.compile(r"(?P<number>\d+) send corrected"), _send_corrected),
    (
        re.compile(
            r"meanwhile (?P<number>\d+) (?P<who>\w+)(?P<compiles> compiles)?"
            r"(?P<subject> [A-Z]+: .+)?"
        ),
        _meanwhile,
    ),
    (re.compile("(?P<where>home|elsewhere)"), _go),
    (re.compile("import jsonl(?P<accepting>, accepting decisions)?"), _import),
    (re.compile(r"the operator is (?P<name>\w+)"), _rename_operator),
    (re.compile(r"take (?P<which>\d[\d, ]*)"), _take),
    (re.compile(r"write (?P<path>\S+): (?P<text>(?s:.*))"), _write_file),
    (re.compile(r"edit (?P<path>\S+): (?P<old>.*) → (?P<new>.*)"), _edit_file),
    (re.compile(r"remove (?P<path>\S+)"), _remove_file),
    (re.compile(r"link (?P<path>\S+): (?P<to>\S+)"), _link),
    (re.compile(r"git (?P<what>init|remote|(?:add|commit) \S+)"), _git),
    (LETTER, _letter),
)
