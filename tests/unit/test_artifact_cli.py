"""`brenner artifact show` and `diff` from the outside: files, pipes, terminals, exit codes."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from brenner.artifact.diff import diff
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, KillRecord, Metadata, make_fields
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import artifact_json, diff_json
from brenner.artifact.text_diff import unified_diff
from brenner.cli.terminal import display_width
from program import call, inside
from terminal import in_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
BOLD, STRUCK = "\x1b[1m", "\x1b[2m\x1b[9m"
REASON = "T1 came out the other way in all three replicates, and every control was as expected."


def item(item_id: str, killed: KillRecord | None = None, **values: object) -> Item:
    """An item with some fields."""
    return Item(item_id, make_fields(values), killed)


def artifact(version: int, *items: Item) -> Artifact:
    """An artifact with these items, each in the section of its prefix."""
    sections = {
        section.id: tuple(each for each in items if each.id.startswith(section.prefix))
        for section in ITEM_SECTIONS
    }
    metadata = Metadata("RS-20251230-cell-fate", version, compiled_at="2026-01-02T10:00:00Z")
    thread = item("RT", statement="Lineage or position?", context="Since 1985.\n\nTwo schools.")
    return Artifact(metadata, thread, MappingProxyType(sections))


OLD = artifact(
    2,
    item("H1", name="Lineage", claim="Ancestry alone settles the fate of a cell", anchors=["§42"]),
    item("H2", name="Gradient", claim="Position decides " * 12 + "\x1b[31mred\x07 細胞"),
    item("P1", condition="A cut", predictions={"H1": "heals", "H2": "dies"}),
    item("T1", name="Transplant", score={"cost": 3}),
    item("T2", name="Ablation", score={"cost": 1}),
)
NEW = artifact(
    3,
    item("H1", name="Lineage", claim="Ancestry settles the fate of a cell", anchors=["§42", "§50"]),
    OLD.sections["hypothesis_slate"][1]._replace(
        killed=KillRecord("RedCreek", "2026-01-03T11:12:13Z", REASON)
    ),
    item("H3", name="Memory", claim="Marks decide"),
    item("P1", condition="A cut", predictions={"H1": "heals", "H2": "N/A", "H3": "heals"}),
    item("T1", name="Transplant", score={"cost": 3}),
    item("T2", name="Ablation", score={"cost": 3, "speed": 2}),
)


NOTHING_SAID = {"violations": [], "summary": {"errors": 0, "warnings": 0, "info": 0}}
ODD = render_artifact(NEW).replace("## 6. Anomaly Register", "## 6. Anomalies")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The two artifacts as files."""
    paths = tmp_path / "old.md", tmp_path / "new.md"
    for path, each in zip(paths, (OLD, NEW), strict=True):
        path.write_text(render_artifact(each), "utf-8")
    return str(paths[0]), str(paths[1])


def brenner(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run the program."""
    with inside(Path.cwd(), {}):
        done = call(*arguments, stdin=stdin)
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


def test_show_in_a_pipe(files: tuple[str, str]) -> None:
    """The Markdown as we write it, and nothing else."""
    done = brenner("artifact", "show", files[1])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == render_artifact(NEW)


def test_show_as_json(files: tuple[str, str]) -> None:
    """One document; the option may stand in front of each command as well."""
    for before in (
        ["--json", "artifact", "show"],
        ["artifact", "--json", "show"],
        ["artifact", "show", "--json"],
    ):
        done = brenner(*before, files[1])
        document = json.loads(done.stdout)
        assert done.returncode == 0
        assert document.pop("lint")["valid"] is False
        told = {key: document.pop(key) for key in ("thread_id", "version", "source", "message_id")}
        assert list(told.values()) == ["RS-20251230-cell-fate", 3, "file", None]
        assert document.pop("conflicts") == []
        assert document == artifact_json(NEW) | NOTHING_SAID


def test_what_departs_from_the_format_is_told_aside() -> None:
    """Warnings go to the standard error; the document stays whole."""
    done = brenner("artifact", "show", "-", stdin=ODD.encode())
    assert (done.returncode, done.stdout) == (0, render_artifact(NEW))
    assert "<stdin>:" in done.stderr
    assert "Anomalies" in done.stderr


@pytest.mark.parametrize("command", ["show", "diff"])
def test_a_program_is_told_what_was_not_read(files: tuple[str, str], command: str) -> None:
    """In JSON what the reader had to say is in the document, with file and line, and only there."""
    text = ODD.replace("**Claim**: Marks", "**Clam**: Marks")
    names = [files[0], "-"] if command == "diff" else ["-"]
    done = brenner("artifact", command, *names, "--json", stdin=text.encode())
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert document["summary"] == {"errors": 0, "warnings": 2, "info": 0}
    label, heading = document["violations"]
    assert (label["id"], heading["id"]) == ("UNKNOWN_LABEL", "HEADING_FORM")
    lines = text.splitlines()
    assert lines[label["line"] - 1].startswith("**Clam**")
    assert lines[heading["line"] - 1] == "## 6. Anomalies"
    assert {label["file"], heading["file"]} == {"-"}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (None, "no such file"),
        (b"caf\xe9", "not UTF-8"),
        (b"x" * (4 * 1024 * 1024 + 1), "larger than"),
        (b"", "it is empty"),
        (b"# Notes\n\nNot an artifact.\n", "is not an artifact"),
    ],
    ids=["missing", "latin-1", "large", "empty", "other"],
)
@pytest.mark.parametrize("command", ["show", "diff", "lint"])
def test_unreadable(tmp_path: Path, command: str, raw: bytes | None, words: str) -> None:
    """Exit code 2 and the reason, as JSON where that was asked for; nothing is shown."""
    path = tmp_path / "a.md"
    if raw is not None:
        path.write_bytes(raw)
    names = [str(path)] * (1 + (command == "diff"))
    done = brenner("artifact", command, *names)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert ("Check the path" in done.stderr) is (raw is None)
    done = brenner("artifact", command, *names, "--json")
    assert (done.returncode, done.stderr) == (2, "")
    document = json.loads(done.stdout)
    assert document["file"] == str(path)
    assert words in document["violations"][0]["message"]


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("command", ["show", "diff"])
def test_fits_the_terminal(files: tuple[str, str], command: str, width: int) -> None:
    """Every line, wide letters counted twice; the same words with and without colour."""
    names = files if command == "diff" else files[1:]
    coloured = in_terminal(width, "artifact", command, *names)
    plain = in_terminal(width, "artifact", command, *names, NO_COLOR="1")
    assert ESCAPE.search(coloured)
    assert not ESCAPE.search(plain)
    for shown in (ESCAPE.sub("", coloured), plain):
        named = [line for line in shown.splitlines() if "/" not in line.split(" ")[0]]
        assert max(map(display_width, named)) <= width
        assert "\x1b" not in shown
        assert "\x07" not in shown


def test_show_in_a_terminal(files: tuple[str, str]) -> None:
    """IDs bold; what is killed struck and dimmed, its reason not; controls spelled out."""
    shown = in_terminal(140, "artifact", "show", files[1])
    assert f"{BOLD}H1\x1b[0m  {BOLD}Lineage\x1b[0m" in shown
    struck = re.findall(re.escape(STRUCK) + r"([^\x1b]*)", shown)
    assert struck[0] == "Gradient"
    assert any("\\x1b[31mred\\x07 細胞" in text for text in struck)
    assert not any("T1 came out" in text for text in struck)
    plain = ESCAPE.sub("", shown)
    assert f"      Killed by  RedCreek, 2026-01-03T11:12:13Z\n      Reason     {REASON}\n" in plain
    assert plain == in_terminal(140, "artifact", "show", files[1], NO_COLOR="1")
    assert plain.index("T2  Ablation  5/12") < plain.index("T1  Transplant  3/12")
    assert "None yet. Template: `brenner new DELTA --section adversarial_critique`" in plain


PLAIN_DIFF = """\
{old} (v2) → {new} (v3)
Added H3; changed H1 (claim, anchors), P1 (H2, H3) and T2 (score); killed H2; \
T2 moved from rank 2 to 1.

  H1  Lineage  modified
      Claim    Ancestry [-alone -]settles the fate of a cell
      Anchors  §42, {{+§50+}}

  H2  Gradient  killed
      Killed by  RedCreek, 2026-01-03T11:12:13Z
      Reason     {reason}

  H3  Memory  added
      Claim  Marks decide

  P1  A cut  modified
      H2  [-dies-]{{+N/A+}}
      H3  {{+heals+}}

  T2  Ablation  modified, re-ranked: 2 → 1
      Score Cost   [-1-]{{+3+}}
      Score Speed  {{+2+}}

  Metadata
      version  [-2-]{{+3+}}

2 items are the same in both.
"""


def test_diff_in_a_pipe(files: tuple[str, str]) -> None:
    """Items in artifact order, word marks, what is the same only counted; exit code 0."""
    old, new = files
    done = brenner("artifact", "diff", old, new)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PLAIN_DIFF.format(old=old, new=new, reason=REASON)


def test_diff_of_the_same(files: tuple[str, str]) -> None:
    """Nothing is said to be nothing; one of the two may come from a pipe."""
    done = brenner("artifact", "diff", "-", files[0], stdin=render_artifact(OLD).encode())
    assert done.returncode == 0
    assert done.stdout.endswith("Nothing changed.\n\n6 items are the same in both.\n")
    assert brenner("artifact", "diff", files[0], files[0], "--text").stdout == ""
    twice = brenner("artifact", "diff", "-", "-")
    assert (twice.returncode, twice.stdout) == (2, "")
    assert "only once" in twice.stderr


def test_two_files_that_were_mixed_up(files: tuple[str, str]) -> None:
    """An older version as NEW, or another session, is said at the top."""
    old, new = files
    lines = brenner("artifact", "diff", new, old).stdout.splitlines()
    assert lines[1] == "NEW (v2) is older than OLD (v3)."
    other = render_artifact(OLD).replace("RS-20251230-cell-fate", "RS-20251230-other")
    lines = brenner("artifact", "diff", new, "-", stdin=other.encode()).stdout.splitlines()
    assert lines[1] == "These are different sessions: RS-20251230-cell-fate and RS-20251230-other."


def test_labels_make_one_column(tmp_path: Path) -> None:
    """Values begin in one column, however long a label of the layout is; what a kill leaves out is
    said to be left out.
    """
    critique = item("C1", name="Framing", attack="Both", real_third_alternative=True)
    dead = item("C2", KillRecord("", "", ""), name="Gone")
    alone = item("C3", KillRecord("RedCreek", "", "No."), name="Alone")
    path = tmp_path / "a.md"
    path.write_text(render_artifact(artifact(2, critique, dead, alone)), "utf-8")
    shown = brenner("artifact", "diff", "-", str(path), stdin=render_artifact(artifact(1)).encode())
    assert (
        "      Attack                  Both\n      Real third alternative  true\n" in shown.stdout
    )
    assert "      Killed by  not stated\n      Reason     not stated\n" in shown.stdout
    assert "      Killed by  RedCreek, time not stated\n" in shown.stdout


def test_diff_as_json(files: tuple[str, str]) -> None:
    """The stable document; the text only where it was asked for."""
    document: Any = json.loads(brenner("artifact", "diff", *files, "--json").stdout)
    assert document == diff_json(diff(OLD, NEW), OLD.metadata, NEW.metadata) | NOTHING_SAID
    with_text = json.loads(brenner("artifact", "diff", *files, "--json", "--text").stdout)
    text = with_text.pop("text")
    assert with_text == document
    assert text == unified_diff(render_artifact(OLD), render_artifact(NEW), *files)


def test_diff_as_text(files: tuple[str, str]) -> None:
    """A unified diff of both as we write them, however they were written."""
    old, new = files
    expected = unified_diff(render_artifact(OLD), render_artifact(NEW), old, new)
    Path(old).write_text(Path(old).read_text("utf-8").replace("\n", "\r\n"), "utf-8")
    done = brenner("artifact", "diff", old, new, "--text")
    assert (done.returncode, done.stdout) == (0, expected)
    shown = in_terminal(80, "artifact", "diff", old, new, "--text")
    assert ESCAPE.sub("", shown) == expected
    assert "\x1b[31m-**Claim**: Ancestry alone settles" in shown


def test_marks_are_more_than_colour(files: tuple[str, str]) -> None:
    """Struck through and underlined in colour; signs where there is none."""
    coloured = in_terminal(80, "artifact", "diff", *files)
    assert "\x1b[31m\x1b[9malone \x1b[0m" in coloured
    assert "\x1b[32m\x1b[4m§50\x1b[0m" in coloured
    assert "dies → N/A" in ESCAPE.sub("", coloured)
    assert "[-" not in ESCAPE.sub("", coloured)
    plain = in_terminal(80, "artifact", "diff", *files, TERM="dumb")
    assert "[-alone -]" in plain
    assert "{+§50+}" in plain


def test_group() -> None:
    """The group lists its commands, knows what was meant, and answers usage errors in JSON."""
    shown = brenner("artifact", "--help").stdout
    listed = shown.partition("Commands:")[2].partition("Examples:")[0]
    names = ["show", "history", "diff", "blame", "ledger", "tests", "lint", "verify", "export"]
    assert re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE) == names
    assert brenner("artifact").stdout == shown
    wrong = brenner("artifact", "shw")
    assert wrong.returncode == 2
    assert "Did you mean `show`?" in wrong.stderr
    document = json.loads(brenner("artifact", "diff", "--nonsense", "--json").stdout)
    assert document["violations"][0]["id"] == "WRONG_USAGE"


def test_help_of_the_group_imports_no_command() -> None:
    """Listing is cheap: neither the parser nor the linter is loaded."""
    script = (
        "import sys\nfrom brenner.cli.main import run\nrun(['artifact', '--help'])\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = done.stderr.decode().split()
    assert "brenner.cli.artifact" in loaded
    assert not [name for name in loaded if name.startswith(("brenner.artifact", "brenner.lint"))]
