"""`brenner refs graph` on a real store: ancestors, descendants, who was first, in three forms."""

import re
from pathlib import Path
from typing import Any

import pytest

from brenner.session.genealogy import (
    MOST_BRANCHES,
    MOST_CHARACTERS,
    MOST_EDGES,
    MOST_LEVELS,
    RELATION_PHRASES,
)
from mail_shell import Shell
from program import Run
from session.programme import (
    ALONE,
    ANN,
    BEA,
    CAT,
    FATE,
    GRADIENT,
    LOST,
    NOISE,
    OLD,
    WHY_KILLED,
    Programme,
    old_notebook,
    play_programme,
)
from terminal import in_terminal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programme. Nobody may write there."""
    place = tmp_path_factory.mktemp("programme")
    play_programme(place)
    return place


@pytest.fixture
def shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands on the programme."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    return Shell(folder, monkeypatch)


def graph(shell: Shell, *arguments: str) -> Run:
    """The command, which must be fine."""
    done = shell("refs", "graph", *arguments)
    assert done.code == 0, done.err
    return done


def names(entries: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Items by session and ID."""
    return {(each["session"], each["item"]) for each in entries}


def node(document: dict[str, Any], session: str, item: str) -> dict[str, Any]:
    """One item of the document."""
    [found] = [e for e in document["nodes"] if (e["session"], e["item"]) == (session, item)]
    return dict(found)


def relations(document: dict[str, Any]) -> set[tuple[str, ...]]:
    """All references of the document."""
    return {
        (*each["from"].values(), each["relation"], *each["to"].values())
        for each in document["edges"]
    }


# JSON


def test_an_item_has_ancestors_and_descendants(shell: Shell) -> None:
    """R21: followed over all sessions, through what was killed and to what only a file tells of."""
    document = graph(shell, GRADIENT, "H1", "--json").json
    assert document["target"] == {"session": GRADIENT, "item": "H1"}
    assert names(document["ancestors"]) == {(FATE, "H1"), (FATE, "T1"), (OLD, "H1")}
    assert names(document["descendants"]) == {(NOISE, "H1"), (NOISE, "H2")}
    assert {each["steps"] for each in document["ancestors"] if each["session"] == OLD} == {2}
    assert relations(document) == {
        (GRADIENT, "H1", "refines", FATE, "H1"),
        (GRADIENT, "H1", "informed_by", FATE, "T1"),
        (FATE, "H1", "extends", OLD, "H1"),
        (NOISE, "H1", "refines", GRADIENT, "H1"),
        (NOISE, "H2", "supersedes", NOISE, "H1"),
    }
    assert document["violations"] == []


def test_an_item_has_an_agent_and_a_fate(shell: Shell) -> None:
    document = graph(shell, GRADIENT, "H1", "--json").json
    killed = node(document, GRADIENT, "H1")
    assert (killed["title"], killed["section"]) == ("A ratio is read", "hypothesis_slate")
    assert killed["fate"] == "killed"
    assert killed["killed"]["agent"] == CAT
    assert killed["killed"]["reason"] == WHY_KILLED
    assert killed["killed"]["version"] == 2
    assert killed["killed"]["at"].startswith("2026-01-13T10:00")
    proposed = killed["proposed"]
    assert (proposed["agent"], proposed["version"], proposed["block"]) == (ANN, 1, 1)
    assert proposed["at"] == "2026-01-12T10:00:00Z"
    message = shell("mail", "show", str(proposed["message_id"]), "--json").json
    assert (message["from"], message["thread_id"]) == (ANN, GRADIENT)
    active = node(document, FATE, "H1")
    assert (active["fate"], active["killed"], active["proposed"]["agent"]) == ("active", None, BEA)
    stored = node(document, OLD, "H1")
    assert (stored["fate"], stored["proposed"]) == ("active", None)


def test_the_first_proposer_is_named(shell: Shell) -> None:
    """By the line of refines and extends; that the file's author is not known is said."""
    first = graph(shell, NOISE, "H1", "--json").json["first_proposed"]
    [earliest] = first["earliest"]
    assert (earliest["session"], earliest["item"], earliest["agent"]) == (FATE, "H1", BEA)
    assert earliest["at"] == "2026-01-05T10:00:00Z"
    assert names(first["not_known"]) == {(OLD, "H1")}
    assert first["is_certain"] is False
    sure = graph(shell, GRADIENT, "T1", "--json").json["first_proposed"]
    assert (sure["earliest"][0]["session"], sure["earliest"][0]["item"]) == (FATE, "T1")
    assert sure["is_certain"] is True


def test_what_is_not_there_is_unknown(shell: Shell) -> None:
    """An unknown session and an unknown item are told apart, and warned of."""
    document = graph(shell, NOISE, "H2", "--json").json
    assert node(document, LOST, "H1")["fate"] == "unknown_session"
    assert [each["id"] for each in document["violations"]] == ["UNKNOWN_REFERENCED_SESSION"]
    document = graph(shell, GRADIENT, "T1", "--json").json
    assert node(document, FATE, "T9")["fate"] == "unknown_item"
    assert [each["id"] for each in document["violations"]] == ["UNKNOWN_REFERENCED_ITEM"]


def test_a_session_is_about_all_of_its_items(shell: Shell) -> None:
    document = graph(shell, GRADIENT, "--json").json
    assert document["target"] == {"session": GRADIENT, "item": None}
    assert names(document["ancestors"]) == {
        *((FATE, item) for item in ("H1", "H2", "T1", "T9")),
        (OLD, "H1"),
    }
    assert names(document["descendants"]) == {(NOISE, "H1"), (NOISE, "H2")}
    sums = {(each["from"], each["to"]): each["relations"] for each in document["between"]}
    assert sums == {
        (FATE, OLD): {"extends": 1},
        (GRADIENT, FATE): {
            "refines": 1,
            "informed_by": 2,
            "extends": 1,
            "refutes": 1,
            "replicates": 1,
        },
        (NOISE, GRADIENT): {"refines": 1, "extends": 1},
    }
    sessions = {each["session"]: each for each in document["sessions"]}
    assert sessions[OLD] | {"question": None} == {
        "session": OLD,
        "source": "file",
        "version": 3,
        "status": "closed",
        "phase": None,
        "question": None,
    }
    assert sessions[GRADIENT]["phase"] == "in_critique"
    assert sessions[GRADIENT]["question"] == "How steep must a gradient be?"
    assert document["first_proposed"] is None
    assert {each["item"] for each in document["items"]} == {"H1", "H2", "T1"}


def test_one_direction_leaves_the_other_null(shell: Shell) -> None:
    up = graph(shell, GRADIENT, "H1", "--ancestors", "--json").json
    assert up["descendants"] is None
    assert up["first_proposed"]
    down = graph(shell, GRADIENT, "H1", "--descendants", "--json").json
    assert down["ancestors"] is None
    assert down["first_proposed"] is None
    assert relations(up) | relations(down) == relations(graph(shell, GRADIENT, "H1", "--json").json)


def test_a_depth_leaves_the_rest_out_and_counts_it(shell: Shell) -> None:
    document = graph(shell, GRADIENT, "H1", "--depth", "1", "--json").json
    assert names(document["ancestors"]) == {(FATE, "H1"), (FATE, "T1")}
    assert document["left_out"] == {"ancestors": 1, "descendants": 1}
    said = graph(shell, GRADIENT, "H1", "--depth", "1").out
    assert said.count("1 more item not shown. Without `--depth` all are.") == 2


# Text


def test_the_tree_is_read_from_top_to_bottom(shell: Shell) -> None:
    """Without colour in a pipe, each line whole."""
    assert graph(shell, GRADIENT, "H1").out.split("\n") == [
        f"{GRADIENT} H1  A ratio is read",
        f"  hypothesis by {ANN}, 2026-01-12, message 7, in v1",
        f"  [KILLED] in v2 by {CAT}, 2026-01-13: {WHY_KILLED}",
        (
            f"  First proposed by {BEA} on 2026-01-05, as {FATE} H1 (message 2). It may be older: "
            f"it comes from {OLD} H1, whose author is unknown."
        ),
        "",
        "Comes from",
        f"├── ← refines {FATE} H1  A gradient tells where",
        f"│   hypothesis by {BEA}, 2026-01-05, message 2, in v1",
        f"│   └── ← extends {OLD} H1  Something in the egg is unequal",
        "│       hypothesis, author unknown",
        f"└── ← informed by {FATE} T1  Graft",
        f"    test by {BEA}, 2026-01-05, message 2, in v1",
        "",
        "Led to",
        f"└── → refined by {NOISE} H1  Both are read",
        f"    hypothesis by {CAT}, 2026-02-01, message 12, in v1",
        f"    └── → superseded by {NOISE} H2  Late is right",
        f"        hypothesis by {CAT}, 2026-02-01, message 12, in v1",
        "",
    ]


def test_a_session_names_sessions_first_proposers_and_trees(shell: Shell) -> None:
    said = graph(shell, GRADIENT).out
    assert f"    ← refines, informed by ×2, extends, refutes, replicates {FATE}\n" in said
    assert re.search(rf"{OLD} +v3, closed, from its file only\n", said)
    assert f"  T1  {BEA} on 2026-01-05, as {FATE} T1 (message 2)\n" in said
    assert f"└── ← refutes {FATE} H2  Cells count\n" in said
    assert "[KILLED] in v2 by GreenDog, 2026-01-06: Blocked cells count as well" in said
    assert "[UNKNOWN ITEM] its session does not contain it" in said
    assert f"├── ← extends {FATE} H1  (see above)\n" in said


@pytest.mark.parametrize("width", [60, 80, 140])
def test_it_fits_the_terminal(folder: Path, width: int) -> None:
    """And a killed item is struck through, with its reason at full strength."""
    said = in_terminal(width, "--project", str(folder), "refs", "graph", GRADIENT)
    assert "\x1b[2m\x1b[9mA ratio is read\x1b[0m" in said
    assert "\x1b[35m\x1b[1m[KILLED]" in said
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert max(map(len, plain.split("\n"))) <= width


def test_an_item_without_references_says_how_they_are_written(shell: Shell) -> None:
    said = graph(shell, ALONE, "H1").out
    assert f"{ALONE} H1 refers to no other item and no other item refers to it." in said
    assert '"references": [{"session": "RS-…", "item": "H2", "relation": "refines"}]' in said
    assert (
        f"No item of {ALONE} refers to another item or is referred to." in graph(shell, ALONE).out
    )
    assert graph(shell, ALONE, "--json").json["edges"] == []


# Mermaid


def test_a_chart_has_a_box_for_each_session(shell: Shell) -> None:
    said = graph(shell, GRADIENT, "H1", "--mermaid").out
    assert said.startswith("flowchart BT\n")
    assert re.findall(r"subgraph s\d+\[\"(.*)\"\]", said) == [OLD, FATE, GRADIENT, NOISE]
    assert f'["H1  A ratio is read<br/>{ANN} 2026-01-12<br/>KILLED"]' in said
    boxes = dict(re.findall(r'(n\d+)\["(\w+)  (?:A ratio|A gradient|Both)', said))
    assert list(boxes.values()) == ["H1", "H1", "H1"]
    fate, ratio, both = boxes
    assert f'  {ratio} -->|"refines"| {fate}\n' in said
    assert f'  {both} -->|"refines"| {ratio}\n' in said
    assert f"  class {ratio} killed\n" in said


# What is refused


def test_an_unknown_thread_is_refused_with_the_nearest(shell: Shell) -> None:
    done = shell("refs", "graph", GRADIENT.replace("gradient", "gradeint"), "--json")
    assert done.code == 1
    assert done.codes == ["UNKNOWN_THREAD"]
    assert done.json["violations"][0]["suggestion"] == GRADIENT
    assert done.json["nodes"] == []


def test_an_unknown_item_is_refused_with_those_that_exist(shell: Shell) -> None:
    done = shell("refs", "graph", GRADIENT, "H22", "--json")
    assert (done.code, done.codes) == (1, ["NO_SUCH_ITEM"])
    (found,) = done.json["violations"]
    assert "Hypotheses there: H1, H2." in found["message"]
    assert "suggestion" not in found, "a wrong number says nothing about the right one"


@pytest.mark.parametrize(
    "options",
    [
        (GRADIENT, "H1", "--ancestors", "--descendants"),
        (GRADIENT, "--mermaid", "--json"),
        (GRADIENT, "--depth", "0"),
        (GRADIENT, "--depth", "x"),
        (f"{GRADIENT}@v1",),
        (f"{GRADIENT}@v1", "--store", "postgresql://127.0.0.1:9/away"),  # not 3: no store is opened
        (GRADIENT, "H1", "H2"),
        (),
    ],
)
def test_wrong_usage(shell: Shell, options: tuple[str, ...]) -> None:
    assert shell("refs", "graph", *options).code == 2


# Other worlds


def test_a_file_counts_with_its_references(tmp_path: Path, shell: Shell) -> None:
    """A project of which only the files are left still knows who came from whom."""
    world = Programme(tmp_path)
    world.ask(FATE, "2026-01-05", "What tells a cell where it is?")
    world.file(old_notebook((FATE, "RT", "informed_by"), (LOST, "H1", "refutes")))
    here = Shell(tmp_path, shell.patch)
    document = graph(here, OLD, "H1", "--json").json
    assert node(document, FATE, "RT")["fate"] == "unknown_item"  # no version yet
    assert node(document, LOST, "H1")["fate"] == "unknown_session"
    assert graph(here, FATE).out.startswith(f"{FATE}  no version yet, ")
    assert here("refs", "graph", FATE, "H1", "--json").codes == ["NO_VERSION_YET"]


def test_a_session_without_a_version_has_no_graph(tmp_path: Path, shell: Shell) -> None:
    Programme(tmp_path).ask(FATE, "2026-01-05", "What tells a cell where it is?")
    done = Shell(tmp_path, shell.patch)("refs", "graph", FATE, "--json")
    assert (done.code, done.codes) == (1, ["NO_VERSION_YET"])


def test_an_unknown_item_is_asked_for_without_its_fields(shell: Shell) -> None:
    """A graph is of items; only other commands know of `H2.claim`."""
    told = shell("refs", "graph", FATE, "H99").err
    assert "NO_SUCH_ITEM" in told
    assert "H2.claim" not in told
    assert "H2.claim" in shell("artifact", "blame", FATE, "H99").err


# The page


def test_the_page_names_every_key_and_word(shell: Shell) -> None:
    """What the document has stands in the table, and so do the words for relations."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "references.md").read_text("utf-8")
    for key in graph(shell, GRADIENT, "--json").json:
        assert f"`{key}`" in page
    for relation, (up, down) in RELATION_PHRASES.items():
        assert f"| `{relation}` | `← {up}` | `→ {down}` |" in page
    assert f"deeper than {MOST_LEVELS} levels" in page
    assert f"more than {MOST_BRANCHES} branches" in page
    assert f"at most {MOST_EDGES} references and {MOST_CHARACTERS:,} characters" in page
