"""`brenner artifact lint` from the outside: a real process, its output, its exit code."""

import json
import subprocess
from pathlib import Path

import pytest

from brenner.limits import MOST_BODY_BYTES
from brenner.lint.rules_cross import QUESTIONS
from brenner.protocol.delta.parse import read_deltas
from program import call, inside
from terminal import in_terminal

TEXT = (Path(__file__).parents[1] / "conformance" / "artifacts" / "valid.md").read_text("utf-8")
BROKEN = TEXT.replace("**Claim**: Cells read their position in a gradient.\n\n", "").replace(
    "| mixed fate |", "| |"
)


def lint(*arguments: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
    """Run the command."""
    raw = stdin.encode() if isinstance(stdin, str) else stdin
    with inside(Path.cwd(), {}):
        done = call("artifact", "lint", *arguments, stdin=raw)
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


def test_valid_file(tmp_path: Path) -> None:
    """Exit code 0: the verdict, and one quiet line about what people must judge."""
    path = tmp_path / "a.md"
    path.write_text(TEXT, "utf-8")
    done = lint(str(path))
    assert (done.returncode, done.stderr) == (0, "")
    verdict, questions = done.stdout.splitlines()
    assert verdict == f"{path}: valid: no problems"
    assert questions == (
        f"  {len(QUESTIONS)} questions need a reviewer. To list them: add `--questions`."
    )


def test_invalid_file() -> None:
    """Exit code 1; `file:line  severity CODE  what  → fix`, worst first, with the item."""
    done = lint("-", stdin=BROKEN)
    assert done.returncode == 1
    first, second, verdict, fix, _ = done.stdout.splitlines()
    claim = (
        "<stdin>:36  error EH-004 (hypothesis without claim)  `H2` has no claim.  → Send an EDIT"
    )
    assert first.startswith(claim)
    assert second.startswith("<stdin>:64  info IP-001 (missing prediction)  `P1.H3` contains no")
    assert verdict == "<stdin>: not valid: 1 error, 1 info"
    assert fix == "  To print 1 delta that fixes what can be fixed: add `--fix`."


def test_file_that_is_nearly_no_artifact() -> None:
    """With any of its parts the rules say what it lacks: front matter, and each section once."""
    done = lint("--json", "-", stdin="## 6. Anomaly Register\n\nNone registered.\n")
    found = [each["id"] for each in json.loads(done.stdout)["violations"]]
    assert done.returncode == 1
    assert sorted(found) == ["EM-001", *["ES-001"] * 6]


@pytest.mark.parametrize("text", ["", " \n", "# Shopping list\n", "---\na: [\n---\n"])
def test_file_that_is_no_artifact(text: str) -> None:
    """Without any of them it is unreadable, as for the other commands."""
    done = lint("--json", "-", stdin=text)
    (found,) = json.loads(done.stdout)["violations"]
    assert (done.returncode, found["id"]) == (2, "NO_ARTIFACT")


def test_warnings_are_valid() -> None:
    """Only errors make an artifact invalid."""
    done = lint("-", stdin=TEXT.replace("**Load**: H2 and T1 fall.\n\n", ""))
    assert done.returncode == 0
    assert "<stdin>: valid: 1 warning" in done.stdout


def test_questions() -> None:
    """All of them, each with its section."""
    done = lint("--questions", "-", stdin=TEXT)
    lines = done.stdout.splitlines()[1:]
    assert lines == [f"  {section}: {question}" for section, _, question in QUESTIONS]


def test_fix_prints_deltas() -> None:
    """The standard output holds delta blocks and nothing else."""
    done = lint("--fix", "-", stdin=BROKEN)
    assert done.returncode == 1
    assert "EH-004" in done.stderr
    (block,) = read_deltas(done.stdout)
    assert block.delta
    assert block.delta.payload == {"predictions": {"H3": "indeterminate"}}
    assert done.stdout.startswith("```delta\n")
    done = lint("--fix", "-", stdin=TEXT)
    assert (done.stdout, done.stderr) == ("", "<stdin>: no problems\n")


def test_no_fix_is_certain() -> None:
    """Where there is something to mend and no delta for it, that is said."""
    done = lint("--fix", "-", stdin=TEXT.replace("**Load**: H2 and T1 fall.\n\n", ""))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("  Cannot fix automatically: every problem needs a decision.\n")


@pytest.mark.parametrize(
    "forms",
    [
        *(("--sarif", "--fix"), ("--json", "--sarif"), ("--json", "--fix")),
        *(("--fix", "--questions"), ("--sarif", "--questions")),
    ],
)
def test_forms_that_clash(forms: tuple[str, str]) -> None:
    """None is ignored in silence."""
    done = lint(*forms, "-", stdin=TEXT)
    assert done.returncode == 2
    assert f"{' and '.join(forms)} cannot be used together" in done.stdout + done.stderr


def test_questions_in_json() -> None:
    """The document has them in any case."""
    both, alone = (lint("--json", *more, "-", stdin=TEXT) for more in (["--questions"], []))
    assert (both.returncode, both.stdout) == (0, alone.stdout)


def test_json_document() -> None:
    """The keys of the stable interface, before or after the subcommand."""
    done = lint("--json", "-", stdin=BROKEN)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert list(document) == [
        *("file", "thread_id", "version", "source", "message_id"),
        *("valid", "summary", "violations", "judgement", "notes"),
    ]
    assert document["summary"] == {"errors": 1, "warnings": 0, "info": 1}
    error, info = document["violations"]
    assert (error["id"], error["item"], error["field"]) == ("EH-004", "H2", "claim")
    assert (info["field"], info["line"]) == ("predictions.H3", 64)
    assert "indeterminate" in info["repaired"]
    assert len(document["judgement"]) == len(QUESTIONS)


def test_sarif_log(tmp_path: Path) -> None:
    """A log with the file as a URI."""
    path = tmp_path / "a b.md"
    path.write_text(BROKEN, "utf-8")
    done = lint("--sarif", str(path))
    (run,) = json.loads(done.stdout)["runs"]
    assert done.returncode == 1
    assert [result["ruleId"] for result in run["results"]] == ["EH-004", "IP-001"]
    uri = run["artifacts"][0]["location"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("/a%20b.md")
    (run,) = json.loads(lint("--sarif", "-", stdin=TEXT).stdout)["runs"]
    assert run["results"] == []


@pytest.mark.parametrize("form", [(), ("--json",), ("--sarif",), ("--fix",)])
def test_unreadable(tmp_path: Path, form: tuple[str, ...]) -> None:
    """Exit code 2: missing, not UTF-8, too large; with the reason as JSON where that is asked."""
    large = tmp_path / "large.md"
    large.write_bytes(b"x" * (MOST_BODY_BYTES + 1))
    empty = tmp_path / "empty.md"
    empty.write_bytes(b"")
    latin = tmp_path / "latin.md"
    latin.write_bytes("§".encode("latin-1"))
    expected = {str(tmp_path / "none.md"): "UNREADABLE_INPUT", str(latin): "NOT_UTF8"}
    expected |= {str(large): "FILE_TOO_LARGE", str(empty): "NO_ARTIFACT"}
    for name, code in expected.items():
        done = lint(*form, name)
        assert done.returncode == 2
        if form == ("--sarif",):
            (run,) = json.loads(done.stdout)["runs"]
            (invocation,) = run["invocations"]
            (told,) = invocation["toolExecutionNotifications"]
            assert (invocation["executionSuccessful"], run["results"]) == (False, [])
            assert (told["descriptor"]["id"], told["level"]) == (code, "error")
            uri = told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert uri == f"file://{name}"
        elif form == ("--json",):
            document = json.loads(done.stdout)
            assert (document["file"], document["violations"][0]["id"]) == (name, code)
        else:
            assert code in done.stderr


def test_source_text(tmp_path: Path) -> None:
    """Every §n is looked up in the file; one without numbers, or none at all, is unreadable."""
    artifact, source = tmp_path / "a.md", tmp_path / "talks.md"
    artifact.write_text(TEXT, "utf-8")
    source.write_text("".join(f"## §{n} Title\n\n" for n in (42, 50, 51, 52, 53, 57)), "utf-8")
    done = lint("--source-text", str(source), str(artifact))
    assert done.returncode == 1
    assert f"`X1` cites §61, which does not exist in the source text `{source}`." in done.stdout
    source.write_text("# Talks\n", "utf-8")
    done = lint("--source-text", str(source), str(artifact))
    assert done.returncode == 2
    assert "error NO_SECTION_NUMBERS  No heading of" in done.stderr
    assert lint("--source-text", str(tmp_path / "none.md"), str(artifact)).returncode == 2
    assert lint("--source-text", "-", "-", stdin=TEXT).returncode == 2


def test_nothing_of_a_file_is_obeyed() -> None:
    """Control characters of the file are shown, not sent to the terminal."""
    done = lint("-", stdin=TEXT.replace("**Status**: verified", "**Status**: \x1b[31mred"))
    assert "\x1b" not in done.stdout
    assert "\\x1b[31mred" in done.stdout


def test_in_a_terminal(tmp_path: Path) -> None:
    """Folded to the width, the fix under what is wrong."""
    path = tmp_path / "a.md"
    path.write_text(BROKEN, "utf-8")
    shown = in_terminal(80, "artifact", "lint", str(path), NO_COLOR="1")
    assert "\n    `H2` has no claim.\n    → Send an EDIT (`hypothesis_slate`, `H2`)" in shown
