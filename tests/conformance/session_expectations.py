"""What a `session` case may say that it sees: one function for each kind of line."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from brenner.artifact.model import Artifact
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.limits import MOST_SUBJECT_CHARACTERS
from brenner.protocol.messages import StoredMessage, iso
from brenner.services.compile import CompileResult
from brenner.services.versions import load_version_list, not_versions, verify
from conformance.mail_shorthand import THREAD_ID, listed
from conformance.session_scene import SessionScene, record_of, sections
from conformance.thread_kind import UNFINISHED, conflict_line, entry_line, value_at

Found = re.Match[str]


# The last compile


def _result(scene: SessionScene) -> CompileResult:
    assert scene.result, "nothing was compiled"
    return scene.result


def _ledger(scene: SessionScene, line: Found) -> None:
    entries = _result(scene).ledger
    numbered = [each._replace(message_id=scene.number_of(each.message_id)) for each in entries]
    if line["number"]:
        numbered = [each for each in numbered if f"{each.message_id}" == line["number"]]
    assert [entry_line(each) for each in numbered] == listed(line["rest"])


def _conflicts(scene: SessionScene, line: Found) -> None:
    found = [conflict_line(each, scene.number_of) for each in _result(scene).conflicts]
    assert found == listed(line["rest"])


def _warnings(scene: SessionScene, line: Found) -> None:
    found = [each.id for each in _result(scene).warnings if each.id not in UNFINISHED]
    assert sorted(found) == sorted(listed(line["rest"]))


def _not_contributed(scene: SessionScene, line: Found) -> None:
    assert _of(scene, _result(scene).not_contributed) == listed(line["rest"])


def _lint(scene: SessionScene, line: Found) -> None:
    assert line["rest"] in [each.id for each in _result(scene).lint.violations]


def _notes(scene: SessionScene, line: Found) -> None:
    assert _of(scene, scene.notes) == listed(line["rest"])


def _of(scene: SessionScene, found: Iterable[Diagnostic]) -> list[str]:
    """`VOID_VERSION of 5`, or the code alone where it is about no message."""
    return [
        f"{each.id} of {scene.number_of(each.message_id)}" if each.message_id else each.id
        for each in found
    ]


# Versions


def _versions(scene: SessionScene, line: Found) -> None:
    found = load_version_list(scene.workspace(), THREAD_ID)[1]
    assert [f"{each.number} by {each.message.arrival}" for each in found] == listed(line["rest"])


def _others(scene: SessionScene, line: Found) -> None:
    found = not_versions(load_version_list(scene.workspace(), THREAD_ID)[0])
    assert sorted(_of(scene, found)) == sorted(listed(line["rest"]))


def _verify(scene: SessionScene, line: Found) -> None:
    archive = scene.folder / line["path"] if line["path"] else None
    done = verify(scene.workspace(), THREAD_ID, archive)
    found = [f"{each.number} {'ok' if each.ok else 'differs'}" for each in done.versions]
    assert found == listed(line["rest"])
    assert done.ok == all(each.ok for each in done.versions)


def _latest(scene: SessionScene, line: Found) -> None:
    """`latest: v2 from mail`, `latest: refused NO_VERSION_YET`, `v7: refused UNKNOWN_VERSION`."""
    number = int(line["version"]) if line["version"] else None
    try:
        loaded = scene.version(number)
    except RequestError as refused:
        scene.found = (refused.diagnostic,)
        seen = f"refused {refused.diagnostic.id}"
    else:
        scene.notes = loaded.notes
        seen = f"v{loaded.number} from {loaded.source}"
    assert seen == line["rest"]


def _artifact(scene: SessionScene, line: Found) -> Artifact:
    return scene.version(int(line["version"]) if line["version"] else None).artifact


def _value(scene: SessionScene, line: Found) -> None:
    found = value_at(_artifact(scene, line), line["path"])
    assert _shown(found) == line["rest"]


def _metadata(scene: SessionScene, line: Found) -> None:
    metadata = _artifact(scene, line).metadata
    for part in line["rest"].split("; "):
        name, _, value = part.partition(" ")
        assert _shown(getattr(metadata, name)) == value, part


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _roster(scene: SessionScene, line: Found) -> None:
    wanted = {} if line["rest"] == "nothing" else json.loads(line["rest"])
    assert _plain(_artifact(scene, line).metadata.roster) == wanted


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


# Records


def _record(scene: SessionScene, line: Found) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(record_of(scene.message(int(line["number"]))))
    return record


def _reads(scene: SessionScene, line: Found) -> None:
    """What it read, by hash; id and time stand beside each hash, as this store has them."""
    read = [scene.message(int(number)) for number in listed(line["rest"])]
    found = _record(scene, line)["messages"]
    assert sorted((each["content_hash"], each["id"], each["at"]) for each in found) == sorted(
        (each.content_hash, each.id, iso(each.at)) for each in read
    )


def _holds(scene: SessionScene, line: Found) -> None:
    record = _record(scene, line)
    base = record["base"]["version"] if record["base"] else 0
    shown = record | {"base": base}
    for part in line["rest"].split("; "):
        name, _, value = part.partition(" ")
        assert str(shown[name]) == value, part
    assert isinstance(record["format"], int)


def _mentions(scene: SessionScene, line: Found) -> None:
    text = record_of(scene.message(int(line["number"])))
    assert (line["rest"] in text) == (not line["never"]), text


# Messages


def _body(scene: SessionScene, line: Found) -> str:
    return scene.message(int(line["number"])).message.body


def _subject(scene: SessionScene, line: Found) -> None:
    subject = scene.message(int(line["number"])).message.subject
    start, cut, _ = line["rest"].partition("…")
    assert subject.startswith(start) if cut else subject == line["rest"]
    assert subject.strip() == subject
    assert len(start) < len(subject) <= MOST_SUBJECT_CHARACTERS if cut else True


def _begins(scene: SessionScene, line: Found) -> None:
    assert _body(scene, line).startswith(line["rest"] + "\n")


def _section(scene: SessionScene, line: Found) -> None:
    texts = [text for name, text in sections(_body(scene, line)) if name == line["name"]]
    assert len(texts) == 1, texts
    text = re.sub(r" *\| *", " | ", texts[0])
    if line["rest"] is None:
        assert text.strip()
    else:
        assert (line["rest"].strip() in text) == (not line["never"]), text


def _once_each(scene: SessionScene, line: Found) -> None:
    names = [name for name, _ in sections(_body(scene, line))]
    assert len(names) == len(set(names)), names


def _contributors(scene: SessionScene, line: Found) -> None:
    """The rows of the table: who, how many deltas, and the items in any order."""
    (text,) = [text for name, text in sections(_body(scene, line)) if name == "Contributors"]
    _, _, *rows = [row for row in text.splitlines() if row.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    found = {(name, count, *sorted(items.split(", "))) for name, count, items in cells}
    wanted = [part.split() for part in line["rest"].split("; ")]
    assert found == {(name, count, *sorted(items)) for name, count, *items in wanted}


def _prompt(scene: SessionScene, line: Found) -> None:
    text = _without_roster(scene.message(int(line["number"]))).casefold()
    for word in line["rest"].split(", "):
        assert word in text, word


def _differ(scene: SessionScene, line: Found) -> None:
    messages = [scene.message(int(number)) for number in listed(line["rest"])]
    assert len({_without_roster(each) for each in messages}) == len(messages)


def _without_roster(stored: StoredMessage) -> str:
    parts = sections(stored.message.body)
    return "".join(text for name, text in parts if name != "Session Configuration")


# Who and where


def _agents(scene: SessionScene, line: Found) -> None:
    assert [each.name for each in scene.mailbox.agents()] == listed(line["rest"])


def _threads(scene: SessionScene, line: Found) -> None:
    start, cut, _ = line["rest"].partition("…")
    (thread,) = scene.mailbox.threads()
    assert thread.thread_id.startswith(start) if cut else thread.thread_id == start


# Files and git


def _files(scene: SessionScene, line: Found) -> None:
    assert scene.files() == listed(line["rest"])


def _file_is(scene: SessionScene, line: Found) -> None:
    """A file is the version of that message: its bytes, but for the line with the message's id."""
    text = (
        scene.git("show", f"{line['revision']}:{line['path']}")
        if line["revision"]
        else scene.file or ""
    )
    stored = scene.message(int(line["number"]))
    assert scene.version(int(line["version"])).message == stored
    own = f"agent_mail_message_id: {stored.id}\n"
    assert text.count(own) == 1
    assert text.replace(own, "") == scene.version(int(line["version"])).text


def _file_has(scene: SessionScene, line: Found) -> None:
    text = (scene.folder / line["path"]).read_bytes().decode()
    assert (line["rest"] in text) == (not line["never"]), text


def _persistence(scene: SessionScene, line: Found) -> None:
    found = load_version_list(scene.workspace(), THREAD_ID)[1]
    states = {each.number: each.persistence.status for each in found}
    assert states[int(line["version"])] == line["rest"]


def _commits(scene: SessionScene, line: Found) -> None:
    assert len(scene.commits()) == int(line["rest"])


def _commit_begins(scene: SessionScene, line: Found) -> None:
    subject = scene.commits()[0]
    assert subject.startswith(line["rest"])
    assert len(subject) > len(line["rest"])


def _commit_holds(scene: SessionScene, line: Found) -> None:
    found = scene.git("show", "--name-only", "--format=", "HEAD").splitlines()
    assert sorted(found) == listed(line["rest"])


def _git_status(scene: SessionScene, line: Found) -> None:
    wanted = [] if line["rest"] == "clean" else line["rest"].split(", ")
    assert scene.git_status() == sorted(wanted)


def _remote(scene: SessionScene, line: Found) -> None:
    log = scene.git("log", "--all", "--format=%H", folder=scene.folder.parent / "remote.git")
    assert any(each.startswith(line["rest"]) for each in log.splitlines())


_REST = "(?P<rest>(?s:.*))"
_OF = r"of (?P<number>\d+)"
_WHICH = r"(?:latest|v(?P<version>\d+))"
EXPECTATIONS: tuple[tuple[re.Pattern[str], Callable[[SessionScene, Found], None]], ...] = (
    (re.compile(rf"ledger(?: {_OF})?: {_REST}"), _ledger),
    (re.compile(f"conflicts: {_REST}"), _conflicts),
    (re.compile(f"warnings: {_REST}"), _warnings),
    (re.compile(f"not contributed: {_REST}"), _not_contributed),
    (re.compile(f"lint has: {_REST}"), _lint),
    (re.compile(f"notes: {_REST}"), _notes),
    (re.compile(f"versions: {_REST}"), _versions),
    (re.compile(f"others: {_REST}"), _others),
    (re.compile(rf"verify(?: from (?P<path>\S+))?: {_REST}"), _verify),
    (re.compile(f"{_WHICH}: {_REST}"), _latest),
    (re.compile(f"{_WHICH} metadata: {_REST}"), _metadata),
    (re.compile(f"{_WHICH} roster: {_REST}"), _roster),
    (re.compile(rf"{_WHICH} (?P<path>[A-Z]+\d*(?:\.\w+)*): {_REST}"), _value),
    (re.compile(f"record {_OF} reads: {_REST}"), _reads),
    (re.compile(f"record {_OF} holds: {_REST}"), _holds),
    (re.compile(f"record {_OF} (?P<never>never )?mentions: {_REST}"), _mentions),
    (re.compile(f"subject {_OF}: {_REST}"), _subject),
    (re.compile(f"body {_OF} begins: {_REST}"), _begins),
    (
        re.compile(
            rf"section (?P<name>[A-Z][\w ]+?) {_OF} (?P<never>never )?has(?: text|: {_REST})"
        ),
        _section,
    ),
    (re.compile(f"sections {_OF}: once each"), _once_each),
    (re.compile(f"contributors {_OF}: {_REST}"), _contributors),
    (re.compile(f"prompt {_OF} mentions: {_REST}"), _prompt),
    (re.compile("prompts of (?P<rest>[0-9, ]+) differ"), _differ),
    (re.compile(f"agents: {_REST}"), _agents),
    (re.compile(f"threads: {_REST}"), _threads),
    (re.compile(f"files: {_REST}"), _files),
    (
        re.compile(
            r"(?:file|(?P<path>\S+) at (?P<revision>\S+)) is: v(?P<version>\d+) of (?P<number>\d+)"
        ),
        _file_is,
    ),
    (re.compile(rf"(?P<path>\S+\.\w+) (?P<never>never )?has: {_REST}"), _file_has),
    (re.compile(rf"persistence of v(?P<version>\d+): {_REST}"), _persistence),
    (re.compile(f"commits: {_REST}"), _commits),
    (re.compile(f"last commit begins: {_REST}"), _commit_begins),
    (re.compile(f"last commit holds: {_REST}"), _commit_holds),
    (re.compile(f"git status: {_REST}"), _git_status),
    (re.compile(f"remote has: {_REST}"), _remote),
)
