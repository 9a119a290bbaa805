"""Compiling a thread: what is published, when nothing is, and what stops it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brenner.artifact.merge.draft import Elsewhere, Node
from brenner.artifact.merge.engine import merge
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state
from brenner.config import PersistSettings, Project
from brenner.diagnostics.model import BrennerError, Refused
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, Stored
from brenner.persist.artifact_file import same_version
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import Message, iso
from brenner.services.compile import Compiled, CompileOptions, Status, compile_thread
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.persist import PersistOptions
from brenner.services.version_store import filed, ledger_of, load_chain, replay_chain
from brenner.services.versions import Target, history, load_version, parse_target, verify
from brenner.services.workspace import Desk
from brenner.session import compiler as proposing
from brenner.session.model import CompiledMessage, VersionRecord, render_record
from brenner.session.rebuild import Candidate, read_message
from brenner.session.versions import candidate_of, unwatched
from session.desks import ANN, BEA, THREAD, a_desk, add, contribute, edit, kickoff, write

PLAIN = CompileOptions()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with a_desk(tmp_path) as here:
        yield here


def compiled(desk: Desk, **options: object) -> Compiled:
    return compile_thread(desk, THREAD, CompileOptions(**options))  # type: ignore[arg-type]


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(BrennerError) as raised:
        call()
    return raised.value.diagnostic.id


def names(done: Compiled) -> list[str]:
    return [item.title for item in done.artifact.sections["hypothesis_slate"]]


def test_rounds_build_on_each_other(desk: Desk) -> None:
    kickoff(desk)
    contribute(desk, ANN, add("Gradient"))
    first = compiled(desk)
    contribute(desk, BEA, add("Lineage"), edit("H1", claim="Steep"))
    second = compiled(desk)
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
    assert verify(desk, THREAD).ok
    assert load_version(desk, Target(THREAD, 1)).text == first.text
    assert load_version(desk, Target(THREAD)).text == second.text


def test_nothing_to_compile(desk: Desk) -> None:
    """Refused blocks are listed, and stay unread for the next version."""
    kickoff(desk)
    before = desk.mailbox.position()
    assert compiled(desk).status is Status.NOTHING
    contribute(desk, ANN, edit("H7", claim="No such item"))
    done = compiled(desk, notify=True)
    assert (done.status, done.version, len(done.ledger)) == (Status.NOTHING, None, 1)
    assert len(done.notified) == 1
    assert compiled(desk, notify=True).notified == ()
    assert desk.mailbox.position() == before + 2
    contribute(desk, ANN, add("Gradient"))
    assert [entry.state.value for entry in compiled(desk).ledger] == ["refused", "applied"]


def test_unknown_and_invalid_threads(desk: Desk) -> None:
    assert refusal(lambda: compile_thread(desk, THREAD, PLAIN)) == "UNKNOWN_THREAD"
    assert refusal(lambda: compile_thread(desk, "RS-2025-x", PLAIN)) == "INVALID_RS_THREAD_ID"


def test_strict_publishes_nothing(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    before = desk.mailbox.position()
    assert compiled(desk, strict=True).status is Status.REFUSED
    assert desk.mailbox.position() == before


def test_dry_run_shows_what_would_be_published(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    before = desk.mailbox.position()
    shown = compiled(desk, dry_run=True)
    assert (shown.status, desk.mailbox.position()) == (Status.DRY_RUN, before)
    real = compiled(desk)
    assert names(real) == names(shown)


def test_closing_and_reopening(desk: Desk) -> None:
    assert refusal(lambda: compiled(desk, close=True)) == "UNKNOWN_THREAD"
    contribute(desk, ANN, add("Gradient"))
    assert refusal(lambda: compiled(desk, close=True)) == "NO_VERSION_TO_CLOSE"
    compiled(desk)
    contribute(desk, BEA, add("Lineage"))
    closed = compiled(desk, close=True)
    assert (closed.version, closed.artifact.metadata.status) == (2, "closed")
    assert names(closed) == ["Gradient", "Lineage"]  # nothing that was sent before is left out
    assert compiled(desk, close=True).status is Status.NOTHING
    assert compiled(desk).status is Status.NOTHING
    contribute(desk, ANN, add("Late"))
    assert refusal(lambda: compiled(desk)) == "SESSION_CLOSED"
    again = compiled(desk, reopen=True)
    assert (again.version, again.artifact.metadata.status) == (3, "draft")
    assert verify(desk, THREAD).ok


def first_version(desk: Desk, message: Stored | None = None) -> tuple[Stored, VersionRecord]:
    """The first COMPILED message of the thread, or this one, and its record."""
    compiled = [each for each in desk.mailbox.thread(THREAD).messages if each.type == "COMPILED"]
    first = message or compiled[0]
    found = candidate_of(filed(first))
    assert isinstance(found, Candidate)
    assert found.record
    return first, found.record


def forged(desk: Desk, sender: str = BEA, **changes: object) -> Stored:
    """A copy of v1 with another record, as v2 unless said otherwise."""
    first, record = first_version(desk)
    other = record._replace(version=2, compiled_by=sender)._replace(**changes)  # type: ignore[arg-type]
    body = first.message.body.replace(render_record(record), render_record(other))
    return write(desk, sender, f"COMPILED: v{other.version} mine", body)


def test_a_version_that_does_not_rebuild_stops_everything_until_it_is_void(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    contribute(desk, BEA, add("Lineage"))
    bad = forged(desk)
    before = desk.mailbox.position()
    assert refusal(lambda: compiled(desk)) == "RECORD_MISMATCH"
    assert desk.mailbox.position() == before
    assert not verify(desk, THREAD).ok
    assert load_version(desk, Target(THREAD)).number == 1
    agent = desk._replace(actor=BEA)
    assert refusal(lambda: void_version(agent, THREAD, 2, "")) == "ONLY_THE_OPERATOR"
    done = void_version(desk, THREAD, 2, "It does not follow")
    assert (done.void_message_id, done.unread) == (bad.id, 1)
    assert refusal(lambda: void_version(desk, THREAD, 2, "")) == "CANNOT_VOID"
    second = compiled(desk)
    assert (second.version, names(second)) == (2, ["Gradient", "Lineage"])
    assert verify(desk, THREAD).ok
    assert [found.id for found in history(desk, THREAD).others] == ["VOID_VERSION"]


def test_only_the_latest_version_can_be_voided(desk: Desk) -> None:
    for name in ("Gradient", "Lineage"):
        contribute(desk, ANN, add(name))
        compiled(desk)
    assert refusal(lambda: void_version(desk, THREAD, 1, "")) == "CANNOT_VOID"
    void_version(desk, THREAD, 2, "")
    void_version(desk, THREAD, 1, "")
    done = compiled(desk)
    assert (done.version, names(done)) == (1, ["Gradient", "Lineage"])


FOREIGN = """# Compiled Artifact v4

## Contributors
- opus

## Full Artifact

```markdown
{artifact}```
"""


def test_a_thread_of_another_program_is_adopted(desk: Desk) -> None:
    """Its artifact is taken as it is, the deltas before it as read, those after it as unread."""
    contribute(desk, ANN, add("Gradient"))
    artifact = compiled(desk, dry_run=True).artifact
    metadata = artifact.metadata._replace(version=4, compiled_by="other")
    text = render_artifact(artifact._replace(metadata=metadata))
    other = write(desk, BEA, "COMPILED: v4 all of it", FOREIGN.format(artifact=text))
    contribute(desk, BEA, add("Lineage"))
    assert [found.id for found in compiled(desk, dry_run=True).notes] == ["COMPILED_WITHOUT_RECORD"]
    done = adopt_thread(desk, THREAD)
    assert (done.version, done.adopted_version, done.taken_as_read) == (5, 4, 1)
    assert done.adopted_message_id == other.id
    after = compiled(desk)
    assert (after.version, names(after)) == (6, ["Gradient", "Lineage"])
    assert [entry.assigned_id for entry in after.ledger] == ["H2"]
    assert verify(desk, THREAD).ok
    assert refusal(lambda: adopt_thread(desk, THREAD)) == "CANNOT_ADOPT"


def test_a_version_that_does_not_rebuild_can_be_adopted(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    forged(desk)
    done = adopt_thread(desk, THREAD)
    assert (done.version, done.adopted_version) == (3, 2)
    assert verify(desk, THREAD).ok
    contribute(desk, BEA, add("Lineage"))
    assert compiled(desk).version == 4


@pytest.mark.parametrize("body", ["# v2\n", "# v2\n\n## Full Artifact\n\nsee artifacts/x.md\n"])
def test_what_holds_no_artifact_is_not_adopted(desk: Desk, body: str) -> None:
    write(desk, BEA, "COMPILED: v2 x", body)
    assert refusal(lambda: adopt_thread(desk, THREAD)) == "CANNOT_ADOPT"


def test_damaged_memory_is_worked_out_again(desk: Desk) -> None:
    """What was kept is never trusted blindly."""
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    operator = desk.project.operator
    name = f"chain of {operator} for {THREAD}"
    kept = desk.mailbox.kept(name)
    assert kept
    for damaged in ("", "x", kept[:-9], kept.replace("Gradient", "Gradjent"), "[]"):
        desk.mailbox.keep({name: damaged})
        assert load_chain(desk.mailbox, THREAD, operator).chain.number == 1
    contribute(desk, BEA, add("Lineage"))
    assert names(compiled(desk)) == ["Gradient", "Lineage"]
    assert verify(desk, THREAD).ok


def test_odd_text_in_a_refused_block(desk: Desk) -> None:
    """Half of a surrogate pair is kept with the refusal, and stops nobody."""
    head = '"operation": "ADD", "section": "hypothesis_slate"'
    block = f'{{{head}, "payload": {{"name": "\\ud800 x\\u0000"}}}}'
    write(desk, ANN, "DELTA[opus]: Odd", f"```delta\n{block}\n```\n")
    contribute(desk, ANN, add("Gradient"))
    assert names(compiled(desk)) == ["Gradient"]
    operator = desk.project.operator
    assert desk.mailbox.kept(f"chain of {operator} for {THREAD}")
    kept = load_chain(desk.mailbox, THREAD, operator).chain
    replayed = replay_chain(desk.mailbox, THREAD, operator, lambda *_: None)
    assert kept.refused == replayed.refused
    assert [each.name for each in kept.refused] == ["\ud800 x\0"]


def test_authors_are_told_of_what_is_still_refused(desk: Desk) -> None:
    """What was corrected before the compile is no fault of theirs any more."""
    contribute(desk, ANN, {**add("Gradient"), "section": "hypotheses"})
    contribute(desk, ANN, add("Gradient"))
    contribute(desk, BEA, {**add("Lineage"), "section": "hypotheses"})
    told = compiled(desk, notify=True).notified
    assert [each.stored.message.recipients for each in told] == [(BEA,)]


def test_more_messages_than_a_version_takes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is left for the next one, in its order."""
    monkeypatch.setattr(proposing, "MOST_MESSAGES_OF_A_VERSION", 2)
    for number in range(5):
        contribute(desk, ANN, add(f"Name {number}"))
    lefts = []
    while (done := compiled(desk)).status is Status.PUBLISHED:
        lefts.append(done.left)
    assert lefts == [3, 1, 0]
    assert len(names(done)) == 5
    assert verify(desk, THREAD).ok


def test_what_fails_after_publishing_is_told_beside_it(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    (desk.project.folder / "artifacts").write_text("in the way", "utf-8")
    before = desk.mailbox.position()
    wish = PersistOptions()
    assert refusal(lambda: compiled(desk, persist=wish)) == "BAD_ARTIFACT_PATH"
    assert desk.mailbox.position() == before  # what can be known to fail is known before
    (desk.project.folder / "artifacts").unlink()
    done = compiled(desk, persist=wish)
    assert (done.status, done.persistence.status) == (Status.PUBLISHED, "Pending")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (THREAD, Target(THREAD)),
        (f"{THREAD}@v3", Target(THREAD, 3)),
        (f"{THREAD}@3", None),
        (f"{THREAD}@", None),
        ("-x", Target("-x")),
        ("a/b", None),
        ("", None),
    ],
)
def test_targets(text: str, target: Target | None) -> None:
    assert parse_target(text) == target


def test_versions_that_are_not_there(desk: Desk) -> None:
    assert refusal(lambda: load_version(desk, Target(THREAD))) == "UNKNOWN_THREAD"
    contribute(desk, ANN, add("Gradient"))
    assert refusal(lambda: load_version(desk, Target(THREAD))) == "NO_VERSION_YET"
    compiled(desk)
    assert refusal(lambda: load_version(desk, Target(THREAD, 2))) == "UNKNOWN_VERSION"


def test_a_persisted_session_is_read_from_its_file(desk: Desk, tmp_path: Path) -> None:
    """Where its mail is not at hand (dual-source rule); an archive verifies it all the same."""
    contribute(desk, ANN, add("Gradient"))
    done = compiled(desk, persist=PersistOptions(archive=True))
    with a_desk(tmp_path / "elsewhere") as other:
        (tmp_path / "artifacts").rename(tmp_path / "elsewhere" / "artifacts")
        loaded = load_version(other, Target(THREAD))
        assert (loaded.source, loaded.number) == ("file", 1)
        assert loaded.artifact.sections == done.artifact.sections
        assert [found.id for found in loaded.notes] == ["SHOWN_FROM_FILE"]
        archive = tmp_path / "elsewhere" / "artifacts" / f"{THREAD}.mail.jsonl"
        assert verify(other, THREAD, archive).ok
        with pytest.raises(Refused):
            verify(other, THREAD)


def test_delta_blocks_that_are_nobodys_contribution_are_listed(desk: Desk) -> None:
    """In other types of messages, and outside of the blocks of a DELTA."""
    contribute(desk, ANN, add("Gradient"))
    block = '```delta\n{"operation": "KILL"}\n```\n'
    write(desk, BEA, "CRITIQUE: Weak", f"## Target\nH1\n\n## Attack\nNo.\n\n{block}")
    write(desk, BEA, "Re: KICKOFF: x", block)
    write(desk, BEA, "DELTA[opus]: Loose", '{"operation": "KILL", "section": "hypothesis_slate"}')
    done = compiled(desk)
    assert [found.id for found in done.not_contributed] == [
        "DELTA_NOT_CONTRIBUTED",
        "DELTA_NOT_CONTRIBUTED",
        "MB-004",
        "INLINE_DELTA",
    ]
    contribute(desk, ANN, add("Lineage"))
    assert compiled(desk).not_contributed == ()


# Found by reading; each was a fault once.


def test_a_version_that_is_compiled_in_the_second_of_its_void_counts(desk: Desk) -> None:
    """It may be the same message to the byte: a void is about what stands before it."""
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    for _ in range(3):
        void_version(desk, THREAD, 1, "")
        assert compiled(desk).version == 1
        found = verify(desk, THREAD)
        assert (found.ok, [each.number for each in found.versions]) == (True, [1])


def test_nothing_is_published_over_a_message_that_waits_for_its_turn(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    first = compiled(desk, dry_run=True)
    assert first.version == 1
    body = (
        '# Compiled Artifact v2\n\n```brenner-record\n{"artifact_sha256":"","messages":[]}\n```\n'
    )
    write(desk, BEA, "COMPILED: v2 before its time", body)
    before = desk.mailbox.position()
    assert refusal(lambda: compiled(desk)) == "VERSION_MISSING"
    assert desk.mailbox.position() == before
    void_version(desk, THREAD, 2, "It was posted before v1.")
    assert compiled(desk).version == 1


def test_nobody_but_the_operator_adopts(desk: Desk) -> None:
    """A forged adoption would count everybody's deltas as read."""
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    contribute(desk, ANN, add("Lineage"))
    empty = write(desk, BEA, "COMPILED: v2 nothing", FOREIGN.format(artifact="# Artifact\n"))
    unread = load_chain(desk.mailbox, THREAD, "Operator").chain.unread
    taken = CompiledMessage(2, empty.content_hash, empty.id, iso(empty.at))
    forged(desk, version=3, adopted=taken, messages=tuple(map(read_message, unread)))
    done = compiled(desk)
    assert (done.version, names(done)) == (2, ["Gradient", "Lineage"])
    assert {found.id for found in done.notes} == {"COMPILED_WITHOUT_RECORD", "VOID_VERSION"}


def test_an_adoption_reads_nothing_that_came_after_what_it_adopts(
    desk: Desk, tmp_path: Path
) -> None:
    """Not even where the operator posts it: a delta would count as read that nobody has read."""
    foreign = FOREIGN.format(artifact=ARTIFACT)
    with a_desk(tmp_path / "twin") as twin:
        write(twin, BEA, "COMPILED: v4 all of it", foreign)
        adoption = adopt_thread(twin, THREAD).message
        _, record = first_version(twin, adoption)
    write(desk, BEA, "COMPILED: v4 all of it", foreign)
    late = contribute(desk, ANN, add("Lineage"))
    greedy = record._replace(messages=(read_message(filed(late)),))
    body = adoption.message.body.replace(render_record(record), render_record(greedy))
    write(desk, "Operator", adoption.message.subject, body)
    assert refusal(lambda: compiled(desk)) == "RECORD_MISMATCH"
    void_version(desk, THREAD, 5, "It takes too much as read")
    adopt_thread(desk, THREAD)
    assert [entry.state.value for entry in compiled(desk).ledger] == ["applied"]


ARTIFACT = "---\nsession_id: x\nversion: 4\n---\n\n# Brenner Protocol Artifact: x\n"


@pytest.mark.parametrize("change", [('"format":1', '"format":2'), (',"', ',\n"'), ("}]", "}")])
def test_the_number_of_a_record_that_cannot_be_read_is_not_reused(
    desk: Desk, change: tuple[str, str]
) -> None:
    """It may be a newer release's, or damaged on its way."""
    contribute(desk, ANN, add("Gradient"))
    first = compiled(desk, dry_run=True)
    with a_desk(desk.project.folder / "twin") as twin:
        contribute(twin, ANN, add("Gradient"))
        posted = compiled(twin).message
    assert first.version == 1
    assert posted
    body = posted.message.body
    start = body.index("```brenner-record")
    damaged = body[:start] + body[start:].replace(*change)
    write(desk, BEA, "COMPILED: v1 mine", damaged)
    assert refusal(lambda: compiled(desk)) == "RECORD_MISMATCH"
    assert refusal(lambda: load_version(desk, Target(THREAD))) == "RECORD_MISMATCH"
    void_version(desk, THREAD, 1, "It cannot be read")
    assert compiled(desk).version == 1


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00", "now"])
def test_times_that_nobody_can_write(desk: Desk, at: str) -> None:
    """End in a refusal, and the operator can void them."""
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    contribute(desk, ANN, add("Lineage"))
    forged(desk, compiled_at=at)
    assert refusal(lambda: compiled(desk)) == "RECORD_MISMATCH"
    void_version(desk, THREAD, 2, "")
    assert compiled(desk).version == 2


def test_a_configured_milestone_that_was_interrupted_is_finished(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)  # as if it had been killed right after posting
    settings = PersistSettings(every=1)
    here = desk._replace(project=desk.project._replace(persist=settings))
    done = compiled(here)
    assert (done.status, done.persistence.status) == (Status.NOTHING, "Pending")


def test_the_file_of_a_void_version_is_in_nobodys_way(desk: Desk) -> None:
    """Neither where its number is given again, nor where an earlier version is the latest now."""
    wish = PersistOptions()
    file = desk.project.folder / "artifacts" / f"{THREAD}.md"
    contribute(desk, ANN, add("Gradient"))
    first = compiled(desk, persist=wish)
    contribute(desk, ANN, add("Lineage"))
    compiled(desk, persist=wish)
    void_version(desk, THREAD, 2, "")
    again = compiled(desk, persist=wish)
    assert (again.version, again.persistence.status) == (2, "Pending")
    assert same_version(file.read_text("utf-8"), again.text)
    closed = compiled(desk, close=True, persist=wish)
    void_version(desk, THREAD, 3, "")
    back = compiled(desk, persist=wish)
    assert (back.status, back.version, back.persistence.status) == (Status.NOTHING, 2, "Pending")
    assert same_version(file.read_text("utf-8"), again.text)
    assert len({first.text, again.text, closed.text}) == 3


def test_messages_of_which_none_applies_hold_up_nobody(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposing, "MOST_MESSAGES_OF_A_VERSION", 2)
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    for _ in range(5):
        contribute(desk, ANN, edit("H7", claim="No such item"))
    contribute(desk, BEA, add("Lineage"))
    assert names(compiled(desk)) == ["Gradient", "Lineage"]
    assert verify(desk, THREAD).ok


def test_a_source_text_that_is_not_there_is_found_out_before_posting(desk: Desk) -> None:
    contribute(desk, ANN, add("Gradient"))
    here = desk._replace(project=desk.project._replace(source_text="gone.md"))
    before = desk.mailbox.position()
    assert refusal(lambda: compiled(here)) == "INVALID_SETTINGS"
    assert desk.mailbox.position() == before


def test_an_imported_thread_knows_its_own_operator(desk: Desk, tmp_path: Path) -> None:
    """Her voids count there; an agent does not become one by saying so in a record."""
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    void_version(desk, THREAD, 1, "")
    contribute(desk, BEA, add("Lineage"))
    compiled(desk)
    other = MemoryMailbox()
    other.restore(desk.mailbox.agents(), desk.mailbox.records())
    elsewhere = desk._replace(
        mailbox=other, project=Project(tmp_path, operator="Anna"), actor="Anna"
    )
    found = verify(elsewhere, THREAD)
    assert (found.ok, [each.number for each in found.versions]) == (True, [1])
    assert load_version(elsewhere, Target(THREAD)).text == load_version(desk, Target(THREAD)).text
    agent = desk._replace(project=desk.project._replace(operator=BEA), actor=BEA)
    void_version(agent, THREAD, 1, "I am the operator now")
    assert history(desk, THREAD).versions  # nobody else hears of it


def test_an_import_that_renumbers_shows_the_ids_of_this_store(desk: Desk, tmp_path: Path) -> None:
    """In the ledger, in blame and in conflicts; a version is rebuilt with those of its record."""
    first = contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    second = contribute(desk, ANN, edit("H1", claim="Steep"), base="v1")
    third = contribute(desk, BEA, edit("H1", claim="Flat"), base="v1")
    compiled(desk)
    other = MemoryMailbox()
    other.register(Profile("Operator"))
    for _ in range(9):
        other.send(Message("RS-20251230-elsewhere", "Operator", ("Operator",), "INFO: x", "x"))
    moved = dict(other.restore(desk.mailbox.agents(), desk.mailbox.records()).renumbered)
    here = desk._replace(mailbox=other)
    state = load_version(here, Target(THREAD), with_state=True).state
    assert state
    claims = [each.source.message_id for each in state.blame["H1"]["claim",].history()]
    assert claims == [moved[each.id] for each in (third, second, first)]
    (conflict,) = state.conflicts
    assert conflict.source.message_id == moved[third.id]
    assert [each.source.message_id for each in conflict.displaced] == [moved[second.id]]
    assert {entry.message_id for entry in ledger_of(here, THREAD, 1)} == {moved[first.id]}
    assert verify(here, THREAD).ok


def test_a_reference_that_other_sessions_keep_out_is_left_out_again(desk: Desk) -> None:
    """Who rebuilds a version knows no other session: the record says what was left out."""
    reference = {"session": "RS-20251228-initial", "item": "H1", "relation": "refines"}
    posted = [contribute(desk, ANN, add("Gradient", references=[reference])).posted]
    there = {Node("RS-20251228-initial", "H1"): [Node(THREAD, "H1")]}
    first = merge(empty_state(THREAD), posted, elsewhere=Elsewhere(there))
    assert [each.item for each in first.left_out] == ["H1"]
    again = merge(
        empty_state(THREAD), posted, elsewhere=Elsewhere(left_out=frozenset(first.left_out))
    )
    assert render_artifact(again.artifact) == render_artifact(first.artifact)
    without = merge(empty_state(THREAD), posted)
    assert render_artifact(without.artifact) != render_artifact(first.artifact)


def test_contributions_after_the_end(desk: Desk) -> None:
    """Whoever sends one is told; a kickoff of a later round takes the end back."""
    contribute(desk, ANN, add("Gradient"))
    compiled(desk)
    compiled(desk, close=True)
    block = json.dumps(add("Lineage"))
    text = (
        f"Thread: {THREAD}\nFrom: {ANN}\nTo: Operator\nSubject: DELTA[opus]: Late\n\n"
        f"# Delta Contribution\n\n```delta\n{block}\n```\n"
    )
    late = a_desk(desk.project.folder, ANN)
    assert [each.id for each in late.send(text).report.violations].count("AFTER_THE_END") == 1
    kickoff(desk)
    assert "AFTER_THE_END" not in [each.id for each in late.send(text).report.violations]
    late.close()


def test_a_refused_block_with_many_problems_is_cached_as_it_was(desk: Desk) -> None:
    """Also the diagnostic that counts those which are left out."""
    problems = {f"field{number}": "x" for number in range(80)}
    contribute(desk, ANN, add("Gradient"), {**add("Lineage", **problems), "rationale": 3})
    compiled(desk)
    kept = load_chain(desk.mailbox, THREAD, "Operator").chain.refused
    assert kept == replay_chain(desk.mailbox, THREAD, "Operator", unwatched).refused
    assert any(found.left_out for refusal in kept for found in refusal.diagnostics)
