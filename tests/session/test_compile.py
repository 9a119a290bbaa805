"""Compiling a thread: what is published, when nothing is, and what stops it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brenner.artifact.merge.draft import OtherSessions, SessionItem
from brenner.artifact.merge.engine import merge
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state
from brenner.config import PersistSettings, Project
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.persist.artifact_file import same_version
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import Message, StoredMessage, iso
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.persist import PersistOptions
from brenner.services.version_store import load_history, load_ledger, replay_history
from brenner.services.versions import (
    Target,
    load_version,
    load_version_list,
    not_versions,
    parse_target,
    verify,
)
from brenner.services.workspace import Workspace
from brenner.session import compiler as proposing
from brenner.session.model import CompiledMessageRef, VersionRecord, render_record
from brenner.session.rebuild import CompiledCandidate, message_ref
from brenner.session.versions import candidate_of, ignore_version
from session.workspaces import (
    ANN,
    BEA,
    THREAD,
    add,
    contribute,
    edit,
    kickoff,
    new_workspace,
    write,
)

PLAIN = CompileOptions()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with new_workspace(tmp_path) as here:
        yield here


def compiled(workspace: Workspace, **options: object) -> CompileResult:
    return compile_thread(workspace, THREAD, CompileOptions(**options))  # type: ignore[arg-type]


def error_code(call: Callable[[], object]) -> str:
    with pytest.raises(BrennerError) as raised:
        call()
    return raised.value.diagnostic.id


def names(done: CompileResult) -> list[str]:
    return [item.title for item in done.artifact.sections["hypothesis_slate"]]


def test_rounds_build_on_each_other(workspace: Workspace) -> None:
    kickoff(workspace)
    contribute(workspace, ANN, add("Gradient"))
    first = compiled(workspace)
    contribute(workspace, BEA, add("Lineage"), edit("H1", claim="Steep"))
    second = compiled(workspace)
    assert [(done.version, done.previous_version) for done in (first, second)] == [
        (1, None),
        (2, 1),
    ]
    assert names(second) == ["Gradient", "Lineage"]
    assert first.message
    assert first.message.message.recipients == (ANN,)
    assert second.message
    assert second.message.message.recipients == (ANN, BEA)
    assert read_compiled(first.message.message).inline == first.text
    assert verify(workspace, THREAD).ok
    assert load_version(workspace, Target(THREAD, 1)).text == first.text
    assert load_version(workspace, Target(THREAD)).text == second.text


def test_nothing_to_compile(workspace: Workspace) -> None:
    """Refused blocks are listed, and stay unread for the next version."""
    kickoff(workspace)
    before = workspace.mailbox.position()
    assert compiled(workspace).status is CompileStatus.NOTHING
    contribute(workspace, ANN, edit("H7", claim="No such item"))
    assert compiled(workspace, notify=True, dry_run=True).notified == ()
    done = compiled(workspace, notify=True)
    assert (done.status, done.version, len(done.ledger)) == (CompileStatus.NOTHING, None, 1)
    assert len(done.notified) == 1
    assert compiled(workspace, notify=True).notified == ()
    assert workspace.mailbox.position() == before + 2
    contribute(workspace, ANN, add("Gradient"))
    assert [entry.state.value for entry in compiled(workspace).ledger] == ["refused", "applied"]


def test_unknown_and_invalid_threads(workspace: Workspace) -> None:
    assert error_code(lambda: compile_thread(workspace, THREAD, PLAIN)) == "UNKNOWN_THREAD"
    assert (
        error_code(lambda: compile_thread(workspace, "RS-2025-x", PLAIN)) == "INVALID_RS_THREAD_ID"
    )


def test_strict_publishes_nothing(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    before = workspace.mailbox.position()
    assert compiled(workspace, strict=True).status is CompileStatus.REFUSED
    assert workspace.mailbox.position() == before


def test_dry_run_shows_what_would_be_published(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    before = workspace.mailbox.position()
    shown = compiled(workspace, dry_run=True)
    assert (shown.status, workspace.mailbox.position()) == (CompileStatus.DRY_RUN, before)
    real = compiled(workspace)
    assert names(real) == names(shown)


def test_closing_and_reopening(workspace: Workspace) -> None:
    assert error_code(lambda: compiled(workspace, close=True)) == "UNKNOWN_THREAD"
    contribute(workspace, ANN, add("Gradient"))
    assert error_code(lambda: compiled(workspace, close=True)) == "NO_VERSION_TO_CLOSE"
    compiled(workspace)
    contribute(workspace, BEA, add("Lineage"))
    closed = compiled(workspace, close=True)
    assert (closed.version, closed.artifact.metadata.status) == (2, "closed")
    assert names(closed) == ["Gradient", "Lineage"]  # nothing that was sent before is left out
    assert compiled(workspace, close=True).status is CompileStatus.NOTHING
    assert compiled(workspace).status is CompileStatus.NOTHING
    contribute(workspace, ANN, add("Late"))
    assert error_code(lambda: compiled(workspace)) == "SESSION_CLOSED"
    again = compiled(workspace, reopen=True)
    assert (again.version, again.artifact.metadata.status) == (3, "draft")
    assert verify(workspace, THREAD).ok


def first_version(
    workspace: Workspace, message: StoredMessage | None = None
) -> tuple[StoredMessage, VersionRecord]:
    """The first COMPILED message of the thread, or this one, and its record."""
    compiled = [
        each for each in workspace.mailbox.thread(THREAD).messages if each.type == "COMPILED"
    ]
    first = message or compiled[0]
    found = candidate_of(first)
    assert isinstance(found, CompiledCandidate)
    assert found.record
    return first, found.record


def forged(workspace: Workspace, sender: str = BEA, **changes: object) -> StoredMessage:
    """A copy of v1 with another record, as v2 unless said otherwise."""
    first, record = first_version(workspace)
    other = record._replace(version=2, compiled_by=sender)._replace(**changes)  # type: ignore[arg-type]
    body = first.message.body.replace(render_record(record), render_record(other))
    return write(workspace, sender, f"COMPILED: v{other.version} mine", body)


def test_a_closed_version_is_saved_whatever_came_later(workspace: Workspace) -> None:
    """A late delta stays unread and is named; it neither stops the file nor gets into it."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    compiled(workspace, close=True)
    contribute(workspace, ANN, add("Late"))
    for options in ({}, {"close": True}):
        done = compiled(workspace, persist=PersistOptions(), **options)
        assert (done.status, [each.id for each in done.notes]) == (
            CompileStatus.NOTHING,
            ["LATE_DELTAS"],
        )
        assert done.persisted
        assert done.persisted.words == "Written"
    file = workspace.project.folder / "artifacts" / f"{THREAD}.md"
    assert 'status: "closed"' in file.read_text("utf-8")
    assert "Late" not in file.read_text("utf-8")
    assert compiled(workspace, reopen=True).diff.items


def test_a_version_that_does_not_rebuild_stops_everything_until_it_is_void(
    workspace: Workspace,
) -> None:
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    contribute(workspace, BEA, add("Lineage"))
    bad = forged(workspace)
    before = workspace.mailbox.position()
    assert error_code(lambda: compiled(workspace)) == "RECORD_MISMATCH"
    assert workspace.mailbox.position() == before
    assert not verify(workspace, THREAD).ok
    assert load_version(workspace, Target(THREAD)).number == 1
    agent = workspace._replace(actor=BEA)
    assert error_code(lambda: void_version(agent, THREAD, 2, "")) == "ONLY_THE_OPERATOR"
    done = void_version(workspace, THREAD, 2, "It does not follow")
    assert (done.void_message_id, done.unread) == (bad.id, 1)
    assert error_code(lambda: void_version(workspace, THREAD, 2, "")) == "CANNOT_VOID"
    second = compiled(workspace)
    assert (second.version, names(second)) == (2, ["Gradient", "Lineage"])
    assert verify(workspace, THREAD).ok
    history, _ = load_version_list(workspace, THREAD)
    assert [found.id for found in not_versions(history)] == ["VOID_VERSION"]


def test_only_the_latest_version_can_be_voided(workspace: Workspace) -> None:
    for name in ("Gradient", "Lineage"):
        contribute(workspace, ANN, add(name))
        compiled(workspace)
    assert error_code(lambda: void_version(workspace, THREAD, 1, "")) == "CANNOT_VOID"
    void_version(workspace, THREAD, 2, "")
    void_version(workspace, THREAD, 1, "")
    done = compiled(workspace)
    assert (done.version, names(done)) == (1, ["Gradient", "Lineage"])


FOREIGN = """# Compiled Artifact v4

## Contributors
- opus

## Full Artifact

```markdown
{artifact}```
"""


def test_a_thread_of_another_program_is_adopted(workspace: Workspace) -> None:
    """Its artifact is taken as it is, the deltas before it as read, those after it as unread."""
    contribute(workspace, ANN, add("Gradient"))
    artifact = compiled(workspace, dry_run=True).artifact
    metadata = artifact.metadata._replace(version=4, compiled_by="other")
    text = render_artifact(artifact._replace(metadata=metadata))
    other = write(workspace, BEA, "COMPILED: v4 all of it", FOREIGN.format(artifact=text))
    contribute(workspace, BEA, add("Lineage"))
    assert [found.id for found in compiled(workspace, dry_run=True).notes] == [
        "COMPILED_WITHOUT_RECORD"
    ]
    version, *_ = adopt_thread(workspace, THREAD)
    adopted = version.record.adopted
    assert adopted
    assert (version.number, len(version.record.messages)) == (5, 1)
    assert (adopted.version, adopted.id) == (4, other.id)
    after = compiled(workspace)
    assert (after.version, names(after)) == (6, ["Gradient", "Lineage"])
    assert [entry.assigned_id for entry in after.ledger] == ["H2"]
    assert verify(workspace, THREAD).ok
    assert error_code(lambda: adopt_thread(workspace, THREAD)) == "CANNOT_ADOPT"


def test_a_version_that_does_not_rebuild_can_be_adopted(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    forged(workspace)
    version, *_ = adopt_thread(workspace, THREAD)
    assert version.record.adopted
    assert (version.number, version.record.adopted.version) == (3, 2)
    assert verify(workspace, THREAD).ok
    contribute(workspace, BEA, add("Lineage"))
    assert compiled(workspace).version == 4


@pytest.mark.parametrize("body", ["# v2\n", "# v2\n\n## Full Artifact\n\nsee artifacts/x.md\n"])
def test_what_holds_no_artifact_is_not_adopted(workspace: Workspace, body: str) -> None:
    write(workspace, BEA, "COMPILED: v2 x", body)
    assert error_code(lambda: adopt_thread(workspace, THREAD)) == "CANNOT_ADOPT"


def test_damaged_memory_is_worked_out_again(workspace: Workspace) -> None:
    """What was kept is never trusted blindly."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    operator = workspace.project.operator
    name = f"chain of {operator} for {THREAD}"
    kept = workspace.mailbox.kept(name)
    assert kept
    for damaged in ("", "x", kept[:-9], kept.replace("Gradient", "Gradjent"), "[]"):
        workspace.mailbox.keep({name: damaged})
        assert load_history(workspace.mailbox, THREAD, operator).number == 1
    contribute(workspace, BEA, add("Lineage"))
    assert names(compiled(workspace)) == ["Gradient", "Lineage"]
    assert verify(workspace, THREAD).ok


def test_odd_text_in_a_refused_block(workspace: Workspace) -> None:
    """Half of a surrogate pair is kept with the refusal, and stops nobody."""
    head = '"operation": "ADD", "section": "hypothesis_slate"'
    block = f'{{{head}, "payload": {{"name": "\\ud800 x\\u0000"}}}}'
    write(workspace, ANN, "DELTA[opus]: Odd", f"```delta\n{block}\n```\n")
    contribute(workspace, ANN, add("Gradient"))
    assert names(compiled(workspace)) == ["Gradient"]
    operator = workspace.project.operator
    assert workspace.mailbox.kept(f"chain of {operator} for {THREAD}")
    kept = load_history(workspace.mailbox, THREAD, operator)
    replayed = replay_history(workspace.mailbox, THREAD, operator, lambda *_: None)
    assert kept.refused == replayed.refused
    assert [each.name for each in kept.refused] == ["\ud800 x\0"]


def test_authors_are_told_of_what_is_still_refused(workspace: Workspace) -> None:
    """What was corrected before the compile is no fault of theirs any more."""
    contribute(workspace, ANN, {**add("Gradient"), "section": "hypotheses"})
    contribute(workspace, ANN, add("Gradient"))
    contribute(workspace, BEA, {**add("Lineage"), "section": "hypotheses"})
    told = compiled(workspace, notify=True).notified
    assert [each.stored.message.recipients for each in told] == [(BEA,)]


def test_more_messages_than_a_version_takes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is left for the next one, in its order."""
    monkeypatch.setattr(proposing, "MOST_MESSAGES_OF_A_VERSION", 2)
    for number in range(5):
        contribute(workspace, ANN, add(f"Name {number}"))
    lefts = []
    while (done := compiled(workspace)).status is CompileStatus.PUBLISHED:
        lefts.append(done.left)
    assert lefts == [3, 1, 0]
    assert len(names(done)) == 5
    assert verify(workspace, THREAD).ok


def test_what_fails_after_publishing_is_told_beside_it(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    (workspace.project.folder / "artifacts").write_text("in the way", "utf-8")
    before = workspace.mailbox.position()
    wish = PersistOptions()
    assert error_code(lambda: compiled(workspace, persist=wish)) == "BAD_ARTIFACT_PATH"
    assert workspace.mailbox.position() == before  # what can be known to fail is known before
    (workspace.project.folder / "artifacts").unlink()
    done = compiled(workspace, persist=wish)
    assert (done.status, done.persistence.status) == (CompileStatus.PUBLISHED, "Pending")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (THREAD, Target(THREAD)),
        (f"{THREAD}@v3", Target(THREAD, 3)),
        (f"{THREAD}@3", Target(THREAD, 3)),
        (f"{THREAD}@03", None),
        (f"{THREAD}@", None),
        ("-x", Target("-x")),
        ("a/b", None),
        ("", None),
    ],
)
def test_targets(text: str, target: Target | None) -> None:
    assert parse_target(text) == target


def test_versions_that_are_not_there(workspace: Workspace) -> None:
    assert error_code(lambda: load_version(workspace, Target(THREAD))) == "UNKNOWN_THREAD"
    contribute(workspace, ANN, add("Gradient"))
    assert error_code(lambda: load_version(workspace, Target(THREAD))) == "NO_VERSION_YET"
    compiled(workspace)
    assert error_code(lambda: load_version(workspace, Target(THREAD, 2))) == "UNKNOWN_VERSION"


def test_a_persisted_session_is_read_from_its_file(workspace: Workspace, tmp_path: Path) -> None:
    """Where its mail is not at hand (dual-source rule); an archive verifies it all the same."""
    contribute(workspace, ANN, add("Gradient"))
    done = compiled(workspace, persist=PersistOptions(archive=True))
    with new_workspace(tmp_path / "elsewhere") as other:
        (tmp_path / "artifacts").rename(tmp_path / "elsewhere" / "artifacts")
        loaded = load_version(other, Target(THREAD))
        assert (loaded.source, loaded.number) == ("file", 1)
        assert loaded.artifact.sections == done.artifact.sections
        assert [found.id for found in loaded.notes] == ["SHOWN_FROM_FILE"]
        archive = tmp_path / "elsewhere" / "artifacts" / f"{THREAD}.mail.jsonl"
        assert verify(other, THREAD, archive).ok
        with pytest.raises(RequestError):
            verify(other, THREAD)


def test_delta_blocks_that_are_nobodys_contribution_are_listed(workspace: Workspace) -> None:
    """In other types of messages, and outside of the blocks of a DELTA."""
    contribute(workspace, ANN, add("Gradient"))
    block = '```delta\n{"operation": "KILL"}\n```\n'
    write(workspace, BEA, "CRITIQUE: Weak", f"## Target\nH1\n\n## Attack\nNo.\n\n{block}")
    write(workspace, BEA, "Re: KICKOFF: x", block)
    write(
        workspace, BEA, "DELTA[opus]: Loose", '{"operation": "KILL", "section": "hypothesis_slate"}'
    )
    done = compiled(workspace)
    assert [found.id for found in done.not_contributed] == [
        "DELTA_NOT_CONTRIBUTED",
        "DELTA_NOT_CONTRIBUTED",
        "MB-004",
        "INLINE_DELTA",
    ]
    contribute(workspace, ANN, add("Lineage"))
    assert compiled(workspace).not_contributed == ()


# Found by reading; each was a fault once.


def test_a_version_that_is_compiled_in_the_second_of_its_void_counts(workspace: Workspace) -> None:
    """It may be the same message to the byte: a void is about what stands before it."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    for _ in range(3):
        void_version(workspace, THREAD, 1, "")
        assert compiled(workspace).version == 1
        found = verify(workspace, THREAD)
        assert (found.ok, [each.number for each in found.versions]) == (True, [1])


def test_nothing_is_published_over_a_message_that_waits_for_its_turn(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    first = compiled(workspace, dry_run=True)
    assert first.version == 1
    body = (
        '# Compiled Artifact v2\n\n```brenner-record\n{"artifact_sha256":"","messages":[]}\n```\n'
    )
    write(workspace, BEA, "COMPILED: v2 before its time", body)
    before = workspace.mailbox.position()
    assert error_code(lambda: compiled(workspace)) == "VERSION_MISSING"
    assert workspace.mailbox.position() == before
    void_version(workspace, THREAD, 2, "It was posted before v1.")
    assert compiled(workspace).version == 1


def test_nobody_but_the_operator_adopts(workspace: Workspace) -> None:
    """A forged adoption would count everybody's deltas as read."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    contribute(workspace, ANN, add("Lineage"))
    empty = write(workspace, BEA, "COMPILED: v2 nothing", FOREIGN.format(artifact="# Artifact\n"))
    unread = load_history(workspace.mailbox, THREAD, "Operator").unread
    taken = CompiledMessageRef(2, empty.content_hash, empty.id, iso(empty.at))
    forged(workspace, version=3, adopted=taken, messages=tuple(map(message_ref, unread)))
    done = compiled(workspace)
    assert (done.version, names(done)) == (2, ["Gradient", "Lineage"])
    assert {found.id for found in done.notes} == {"COMPILED_WITHOUT_RECORD", "VOID_VERSION"}


def test_an_adoption_reads_nothing_that_came_after_what_it_adopts(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Not even where the operator posts it: a delta would count as read that nobody has read."""
    foreign = FOREIGN.format(artifact=ARTIFACT)
    with new_workspace(tmp_path / "twin") as twin:
        write(twin, BEA, "COMPILED: v4 all of it", foreign)
        adoption = adopt_thread(twin, THREAD)[1]
        _, record = first_version(twin, adoption)
    write(workspace, BEA, "COMPILED: v4 all of it", foreign)
    late = contribute(workspace, ANN, add("Lineage"))
    greedy = record._replace(messages=(message_ref(late),))
    body = adoption.message.body.replace(render_record(record), render_record(greedy))
    write(workspace, "Operator", adoption.message.subject, body)
    assert error_code(lambda: compiled(workspace)) == "RECORD_MISMATCH"
    void_version(workspace, THREAD, 5, "It takes too much as read")
    adopt_thread(workspace, THREAD)
    assert [entry.state.value for entry in compiled(workspace).ledger] == ["applied"]


ARTIFACT = "---\nsession_id: x\nversion: 4\n---\n\n# Brenner Protocol Artifact: x\n"


@pytest.mark.parametrize("change", [('"format":1', '"format":2'), (',"', ',\n"'), ("}]", "}")])
def test_the_number_of_a_record_that_cannot_be_read_is_not_reused(
    workspace: Workspace, change: tuple[str, str]
) -> None:
    """It may be a newer release's, or damaged on its way."""
    contribute(workspace, ANN, add("Gradient"))
    first = compiled(workspace, dry_run=True)
    with new_workspace(workspace.project.folder / "twin") as twin:
        contribute(twin, ANN, add("Gradient"))
        posted = compiled(twin).message
    assert first.version == 1
    assert posted
    body = posted.message.body
    start = body.index("```brenner-record")
    damaged = body[:start] + body[start:].replace(*change)
    write(workspace, BEA, "COMPILED: v1 mine", damaged)
    assert error_code(lambda: compiled(workspace)) == "RECORD_MISMATCH"
    assert error_code(lambda: load_version(workspace, Target(THREAD))) == "RECORD_MISMATCH"
    void_version(workspace, THREAD, 1, "It cannot be read")
    assert compiled(workspace).version == 1


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00", "now"])
def test_times_that_nobody_can_write(workspace: Workspace, at: str) -> None:
    """End in a refusal, and the operator can void them."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    contribute(workspace, ANN, add("Lineage"))
    forged(workspace, compiled_at=at)
    assert error_code(lambda: compiled(workspace)) == "RECORD_MISMATCH"
    void_version(workspace, THREAD, 2, "")
    assert compiled(workspace).version == 2


def test_a_configured_milestone_that_was_interrupted_is_finished(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)  # as if it had been killed right after posting
    settings = PersistSettings(every=1)
    here = workspace._replace(project=workspace.project._replace(persist=settings))
    done = compiled(here)
    assert (done.status, done.persistence.status) == (CompileStatus.NOTHING, "Pending")


def test_the_file_of_a_void_version_is_in_nobodys_way(workspace: Workspace) -> None:
    """Neither where its number is given again, nor where an earlier version is the latest now."""
    wish = PersistOptions()
    file = workspace.project.folder / "artifacts" / f"{THREAD}.md"
    contribute(workspace, ANN, add("Gradient"))
    first = compiled(workspace, persist=wish)
    contribute(workspace, ANN, add("Lineage"))
    compiled(workspace, persist=wish)
    void_version(workspace, THREAD, 2, "")
    again = compiled(workspace, persist=wish)
    assert (again.version, again.persistence.status) == (2, "Pending")
    assert same_version(file.read_text("utf-8"), again.text)
    closed = compiled(workspace, close=True, persist=wish)
    void_version(workspace, THREAD, 3, "")
    back = compiled(workspace, persist=wish)
    assert (back.status, back.version, back.persistence.status) == (
        CompileStatus.NOTHING,
        2,
        "Pending",
    )
    assert same_version(file.read_text("utf-8"), again.text)
    assert len({first.text, again.text, closed.text}) == 3


def test_messages_of_which_none_applies_hold_up_nobody(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposing, "MOST_MESSAGES_OF_A_VERSION", 2)
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    for _ in range(5):
        contribute(workspace, ANN, edit("H7", claim="No such item"))
    contribute(workspace, BEA, add("Lineage"))
    assert names(compiled(workspace)) == ["Gradient", "Lineage"]
    assert verify(workspace, THREAD).ok


def test_a_source_text_that_is_not_there_is_found_out_before_posting(workspace: Workspace) -> None:
    contribute(workspace, ANN, add("Gradient"))
    here = workspace._replace(project=workspace.project._replace(source_text="gone.md"))
    before = workspace.mailbox.position()
    assert error_code(lambda: compiled(here)) == "INVALID_SETTINGS"
    assert workspace.mailbox.position() == before


def test_an_imported_thread_knows_its_own_operator(workspace: Workspace, tmp_path: Path) -> None:
    """Her voids count there; an agent does not become one by saying so in a record."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    void_version(workspace, THREAD, 1, "")
    contribute(workspace, BEA, add("Lineage"))
    compiled(workspace)
    other = MemoryMailbox()
    other.restore(workspace.mailbox.agents(), workspace.mailbox.records())
    elsewhere = workspace._replace(
        mailbox=other, project=Project(tmp_path, operator="Anna"), actor="Anna"
    )
    found = verify(elsewhere, THREAD)
    assert (found.ok, [each.number for each in found.versions]) == (True, [1])
    assert (
        load_version(elsewhere, Target(THREAD)).text == load_version(workspace, Target(THREAD)).text
    )
    agent = workspace._replace(project=workspace.project._replace(operator=BEA), actor=BEA)
    void_version(agent, THREAD, 1, "I am the operator now")
    assert load_version_list(workspace, THREAD)[1]  # nobody else hears of it


def test_an_import_that_renumbers_shows_the_ids_of_this_store(
    workspace: Workspace, tmp_path: Path
) -> None:
    """In the ledger, in blame and in conflicts; a version is rebuilt with those of its record."""
    first = contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    second = contribute(workspace, ANN, edit("H1", claim="Steep"), base="v1")
    third = contribute(workspace, BEA, edit("H1", claim="Flat"), base="v1")
    compiled(workspace)
    other = MemoryMailbox()
    other.register(Profile("Operator"))
    for _ in range(9):
        other.send(Message("RS-20251230-elsewhere", "Operator", ("Operator",), "INFO: x", "x"))
    moved = dict(other.restore(workspace.mailbox.agents(), workspace.mailbox.records()).renumbered)
    here = workspace._replace(mailbox=other)
    state = load_version(here, Target(THREAD), with_state=True).state
    assert state
    claims = [each.source.message_id for each in state.blame["H1"]["claim",].history()]
    assert claims == [moved[each.id] for each in (third, second, first)]
    (conflict,) = state.conflicts
    assert conflict.source.message_id == moved[third.id]
    assert [each.source.message_id for each in conflict.displaced] == [moved[second.id]]
    assert {entry.message_id for entry in load_ledger(here, THREAD, 1)} == {moved[first.id]}
    assert verify(here, THREAD).ok


def test_a_reference_that_other_sessions_keep_out_is_left_out_again(workspace: Workspace) -> None:
    """Who rebuilds a version knows no other session: the record says what was left out."""
    reference = {"session": "RS-20251228-initial", "item": "H1", "relation": "refines"}
    posted = [contribute(workspace, ANN, add("Gradient", references=[reference])).posted]
    there = {SessionItem("RS-20251228-initial", "H1"): [SessionItem(THREAD, "H1")]}
    first = merge(empty_state(THREAD), posted, elsewhere=OtherSessions(there))
    assert [each.item for each in first.left_out] == ["H1"]
    again = merge(
        empty_state(THREAD), posted, elsewhere=OtherSessions(left_out=frozenset(first.left_out))
    )
    assert render_artifact(again.artifact) == render_artifact(first.artifact)
    without = merge(empty_state(THREAD), posted)
    assert render_artifact(without.artifact) != render_artifact(first.artifact)


def test_contributions_after_the_end(workspace: Workspace) -> None:
    """Whoever sends one is told; a kickoff of a later round takes the end back."""
    contribute(workspace, ANN, add("Gradient"))
    compiled(workspace)
    compiled(workspace, close=True)
    block = json.dumps(add("Lineage"))
    text = (
        f"Thread: {THREAD}\nFrom: {ANN}\nTo: Operator\nSubject: DELTA[opus]: Late\n\n"
        f"# Delta Contribution\n\n```delta\n{block}\n```\n"
    )
    late = new_workspace(workspace.project.folder, ANN)
    assert [each.id for each in late.send(text).report.violations].count("AFTER_THE_END") == 1
    kickoff(workspace)
    assert "AFTER_THE_END" not in [each.id for each in late.send(text).report.violations]
    late.close()


def test_a_refused_block_with_many_problems_is_cached_as_it_was(workspace: Workspace) -> None:
    """Also the diagnostic that counts those which are left out."""
    problems = {f"field{number}": "x" for number in range(80)}
    contribute(workspace, ANN, add("Gradient"), {**add("Lineage", **problems), "rationale": 3})
    compiled(workspace)
    kept = load_history(workspace.mailbox, THREAD, "Operator").refused
    assert kept == replay_history(workspace.mailbox, THREAD, "Operator", ignore_version).refused
    assert any(found.left_out for refused in kept for found in refused.diagnostics)
