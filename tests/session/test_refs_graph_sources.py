"""`brenner refs graph` where sessions come from: files, archives, imports, races, every home."""

import json
import shutil
from pathlib import Path

import pytest

import brenner
from brenner.protocol.messages import Message, render_message_file
from brenner.session.genealogy import MOST_BRANCHES
from mail_shell import HOSTILE, Shell
from session.backends import HOUSINGS, OPERATOR, ProjectBackend, housed
from session.programme import (
    ANN,
    BEA,
    FATE,
    GRADIENT,
    OLD,
    Programme,
    add_test,
    old_notebook,
    play_programme,
    refers,
)
from session.round_play import THREAD, asked, first_round
from session.test_refs_graph import graph, names, node, relations
from session.workspaces import add, edit


@pytest.fixture
def world(tmp_path: Path) -> Programme:
    """A project in which nothing is yet."""
    return Programme(tmp_path / "project")


@pytest.fixture
def shell(world: Programme, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands on it."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    return Shell(world.folder, monkeypatch)


def test_a_session_that_waits_for_acks(world: Programme, shell: Shell) -> None:
    """Its phase has the words that it has everywhere."""
    with brenner.open(str(world.folder)) as workspace:
        first_round(workspace)
        asked(workspace)
    assert f"{THREAD}  v1, awaiting ACKs\n" in graph(shell, THREAD).out


def test_the_archive_beside_a_file_knows_who(
    world: Programme, shell: Shell, tmp_path: Path
) -> None:
    """A clone of the repository has files and archives, and no mail."""
    play_programme(world.folder)
    assert shell("compile", FATE, "--persist", "--archive").code == 0
    clone = Programme(tmp_path / "clone")
    shutil.copytree(world.folder / "artifacts", clone.folder / "artifacts")
    there = Shell(clone.folder, shell.patch)
    document = graph(there, FATE, "H1", "--json").json
    assert document["sessions"][1]["source"] == "archive"
    assert document["first_proposed"]["earliest"][0]["agent"] == BEA
    killed = graph(there, FATE, "H2", "--json").json["nodes"][0]
    assert (killed["proposed"]["agent"], killed["killed"]["version"]) == (BEA, 2)
    archive = clone.folder / "artifacts" / f"{FATE}.mail.jsonl"
    archive.write_text(archive.read_text("utf-8")[:-20], "utf-8")
    document = graph(there, FATE, "H1", "--json").json
    assert document["sessions"][1]["source"] == "file"
    assert node(document, FATE, "H1")["proposed"] is None


def test_messages_are_named_as_this_store_has_them(
    world: Programme, shell: Shell, tmp_path: Path
) -> None:
    """Imported mail gets other ids than its records name."""
    play_programme(world.folder)
    exported = tmp_path / "mail.jsonl"
    shell.mail("export", str(exported))
    other = Programme(tmp_path / "other")
    other.ask("RS-20251231-something-else", "2025-12-31", "What else?")
    there = Shell(other.folder, shell.patch)
    there.mail("import", str(exported))
    before = node(graph(shell, GRADIENT, "H1", "--json").json, GRADIENT, "H1")
    after = node(graph(there, GRADIENT, "H1", "--json").json, GRADIENT, "H1")
    moved = after["proposed"]["message_id"]
    assert moved == before["proposed"]["message_id"] + 1
    assert there("mail", "show", str(moved), "--json").json["from"] == ANN
    assert after["killed"]["message_id"] == before["killed"]["message_id"] + 1


def test_a_circle_is_followed_once_and_told(world: Programme, shell: Shell) -> None:
    """Two sessions that were compiled at once, or a file, may have closed one."""
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    world.tell(FATE, "2026-01-05", BEA, add("A gradient", **refers((OLD, "H1", "refines"))))
    world.file(old_notebook((FATE, "H1", "extends")))
    document = graph(shell, FATE, "H1", "--json").json
    assert names(document["ancestors"]) == names(document["descendants"]) == {(OLD, "H1")}
    assert relations(document) == {
        (FATE, "H1", "refines", OLD, "H1"),
        (OLD, "H1", "extends", FATE, "H1"),
    }
    assert [len(circle) for circle in document["circles"]] == [2]
    assert [each["id"] for each in document["violations"]] == ["CIRCLE_OF_REFERENCES"]
    said = graph(shell, FATE, "H1").out
    assert f"    └── ← extends {FATE} H1  (see above)\n" in said
    assert f"A circle: {OLD} H1 extends {FATE} H1 refines {OLD} H1\n" in said


def test_a_file_that_cannot_be_read_is_told(world: Programme, shell: Shell) -> None:
    """What it holds is missing in the answer, and nothing else is."""
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    world.tell(FATE, "2026-01-05", BEA, add("A gradient", **refers((OLD, "H1", "refines"))))
    (world.folder / "artifacts").mkdir()
    (world.folder / "artifacts" / f"{OLD}.md").write_bytes(b"\xff\xfe")
    done = graph(shell, FATE, "H1")
    assert "SESSION_FILE_UNREADABLE" in done.err
    assert "[UNKNOWN SESSION] not found in mail or artifacts/" in done.out
    found = [each["id"] for each in graph(shell, FATE, "H1", "--json").json["violations"]]
    assert found == ["SESSION_FILE_UNREADABLE"]


def test_names_are_shown_and_not_obeyed(world: Programme, shell: Shell) -> None:
    """Neither by the terminal nor by Mermaid."""
    name = f'"] click n1 {HOSTILE}\n%%'
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    world.tell(FATE, "2026-01-05", BEA, add(name, **refers((OLD, "H1", "refines"))))
    for said in (graph(shell, FATE, "H1").out, graph(shell, FATE, "H1", "--mermaid").out):
        assert all(line.isprintable() for line in said.split("\n"))
    chart = graph(shell, FATE, "H1", "--mermaid").out
    assert 'n2["H1  #34;#93; click n1 ' in chart
    assert "%%" not in chart


def test_a_thread_may_begin_with_a_hyphen(world: Programme, shell: Shell) -> None:
    thread = "-brenner_bot-5so.1"
    world.ask(thread, "2026-01-05", "Which engine?")
    world.tell(
        thread, "2026-01-05", BEA, add("Steam"), add("Water", **refers((thread, "H1", "refutes")))
    )
    done = shell("refs", "graph", "--json", "--", thread, "H2")
    assert done.code == 0
    assert names(done.json["ancestors"]) == {(thread, "H1")}
    assert f"← refutes {thread} H1  Steam" in shell("refs", "graph", "--", thread, "H2").out


def test_a_reference_that_was_taken_back_is_gone(world: Programme, shell: Shell) -> None:
    """The latest version counts, and a thread that has grown is read again."""
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    world.tell(FATE, "2026-01-05", BEA, add("A gradient", **refers((OLD, "H1", "refines"))))
    assert len(graph(shell, FATE, "H1", "--json").json["edges"]) == 1
    other = {**refers((OLD, "H2", "extends")), "references_replace": True}
    world.tell(FATE, "2026-01-06", ANN, edit("H1", **other))
    document = graph(shell, FATE, "H1", "--json").json
    assert relations(document) == {(FATE, "H1", "extends", OLD, "H2")}
    assert node(document, FATE, "H1")["proposed"]["agent"] == BEA  # who edits proposes nothing


def test_a_depth_holds_where_branches_are_left_out(world: Programme, shell: Shell) -> None:
    """What is not drawn for want of room is not found by a longer way either."""
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    world.tell(FATE, "2026-01-05", BEA, add("One"))
    world.ask(GRADIENT, "2026-01-12", "How steep?")
    ways = [
        *((FATE, "H1", "informed_by"),),
        *((GRADIENT, f"T{number}", "extends") for number in range(1, MOST_BRANCHES + 2)),
    ]
    tests = [add_test(f"No. {number}", *ways[:number]) for number in range(1, MOST_BRANCHES + 3)]
    world.tell(GRADIENT, "2026-01-12", ANN, add("A"), add("B"), *tests)
    said = graph(shell, FATE, "H1", "--depth", "1").out
    assert said.count("├── → informed") == MOST_BRANCHES
    assert "└── … and 2 more (`--json` lists all)\n" in said
    assert "extended by" not in said
    assert f"{GRADIENT} T{MOST_BRANCHES + 2}  " in graph(shell, FATE, "H1").out


@pytest.mark.parametrize("housing", HOUSINGS, ids=lambda each: each.home.name)
def test_in_every_home(
    housing: ProjectBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answer wherever the mail lives."""
    folder = tmp_path / "project"
    with housed(housing, folder, monkeypatch):
        shell = Shell(folder, monkeypatch)
        start = ("--context", "Cells differ.", "--to", ANN, "--unified", "--register")
        for thread in (FATE, GRADIENT):
            ask = ("session", "start", "--thread-id", thread, "--question", "Where is a cell?")
            assert shell(*ask, *start).code == 0
        _compiled(shell, FATE, add("One"))
        _compiled(shell, GRADIENT, add("Two", **refers((FATE, "H1", "refines"))))
        document = graph(shell, FATE, "H1", "--json").json
    assert names(document["descendants"]) == {(GRADIENT, "H1")}
    assert {each["proposed"]["agent"] for each in document["nodes"]} == {ANN}


def _compiled(shell: Shell, thread: str, block: dict[str, object]) -> None:
    """A version with what that block says."""
    body = f"```delta\n{json.dumps(block)}\n```\n"
    message = Message(thread, ANN, (OPERATOR,), "DELTA[opus]: News", body)
    given = render_message_file(message).encode()
    sent = shell("mail", "send", "-", "--as", ANN, stdin=given)
    assert sent.code == 0, sent.err
    assert shell("compile", thread).code == 0
