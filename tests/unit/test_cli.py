"""The command line from the outside: its output, its exit code."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from brenner.__main__ import main as program
from program import call, inside

GOOD = """\
Thread: RS-20251230-cell-fate-dichotomy
From: BlueLake
To: Operator
Subject: DELTA[opus]: H2 is refuted

# Delta Contribution

```delta
{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H2",
 "payload": {"reason": "refuted by T1"}, "rationale": "T1 came out negative"}
```
"""
BAD = GOOD.replace('"}\n```', '",}\n```')
HOPELESS = GOOD.replace('"target_id": "H2",', "")


def brenner(
    *arguments: str, stdin: str | bytes = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    raw = stdin.encode() if isinstance(stdin, str) else stdin
    with inside(Path.cwd(), env or {}):
        done = call(*arguments, stdin=raw)
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


def check_json(*arguments: str, stdin: str | bytes = "") -> tuple[int, Any]:
    """Run `check --json`; the exit code and the document."""
    done = brenner("check", "--json", *arguments, stdin=stdin)
    return done.returncode, json.loads(done.stdout)


def test_version() -> None:
    """The version, and nothing else."""
    assert brenner("--version").stdout.startswith("brenner ")
    assert brenner("--json", "--version").returncode == 0


def test_valid_message() -> None:
    """Exit code 0, one line."""
    done = brenner("check", stdin=GOOD)
    assert (done.returncode, done.stderr) == (0, "")
    expected = "<stdin>: valid: no problems (DELTA, 1 delta block)\n"
    assert done.stdout == expected


def test_invalid_message() -> None:
    """Exit code 1; `file:line  severity CODE  what  → fix`, then a count, then what to do next."""
    done = brenner("check", stdin=BAD)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("<stdin>:10  error JSON_TRAILING_COMMA  Trailing comma before `}`.")
    assert "  → Remove the comma." in lines[0]
    assert lines[1] == "<stdin>: not valid: 1 error (DELTA, 1 delta block)"
    assert "--fix" in lines[2]


def test_json_document() -> None:
    """The keys of the stable interface."""
    code, document = check_json(stdin=BAD)
    assert code == 1
    assert document["valid"] is False
    assert document["type"] == "DELTA"
    assert document["thread_id"] == "RS-20251230-cell-fate-dichotomy"
    assert document["summary"] == {"errors": 1, "warnings": 0, "info": 0}
    (violation,) = document["violations"]
    assert {"id", "severity", "message", "fix", "line"} <= violation.keys()
    assert (violation["id"], violation["also"], violation["block"]) == (
        "JSON_TRAILING_COMMA",
        ["MB-005"],
        1,
    )
    assert violation["repaired"].startswith("```delta\n{")
    assert document["deltas"] == [
        {
            "block": 1,
            "line": 8,
            "operation": "KILL",
            "section": "hypothesis_slate",
            "target_id": "H2",
            "valid": False,
            "code": "JSON_TRAILING_COMMA",
        }
    ]
    assert document["corrected"] == GOOD
    assert document["cross_reference"]["artifact_path"] == (
        "artifacts/RS-20251230-cell-fate-dichotomy.md"
    )


def test_json_before_or_after(tmp_path: Path) -> None:
    """Common options are accepted before and after the command's name."""
    path = tmp_path / "m.md"
    path.write_text(GOOD, "utf-8")
    before = brenner("--json", "--as", "BlueLake", "check", str(path))
    after = brenner("check", str(path), "--as", "BlueLake", "--json")
    assert before.stdout == after.stdout
    assert json.loads(before.stdout)["valid"]


def test_several_files(tmp_path: Path) -> None:
    """`results`, one per file, in order; the worst exit code counts."""
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(GOOD, "utf-8")
    bad.write_text(BAD, "utf-8")
    code, document = check_json(str(good), str(bad))
    assert code == 1
    assert [result["valid"] for result in document["results"]] == [True, False]
    assert [result["file"] for result in document["results"]] == [str(good), str(bad)]
    code, document = check_json(str(good), str(tmp_path / "none.md"), str(bad))
    assert code == 2
    assert len(document["results"]) == 3


def test_fix() -> None:
    """`--fix` prints the corrected message and nothing else, and says so on the other stream."""
    done = brenner("check", "--fix", stdin=BAD)
    assert (done.returncode, done.stdout) == (0, GOOD)
    assert "corrected" in done.stderr
    done = brenner("check", "--fix", stdin=GOOD)
    assert (done.returncode, done.stdout) == (0, GOOD)
    done = brenner("check", "--fix", stdin=HOPELESS)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Cannot fix automatically: line 9 (MISSING_TARGET) needs a decision." in done.stderr
    assert brenner("check", "--fix", "--json", stdin=BAD).returncode == 0
    assert brenner("check", "--fix", "--json", stdin=HOPELESS).returncode == 1


def test_errors_that_block_the_fix_are_named() -> None:
    """By line and code; the fixable ones are counted."""
    block = GOOD.partition("```delta")
    bad = "".join(BAD.partition("```delta")[1:])
    hopeless = "".join(HOPELESS.partition("```delta")[1:])
    fix = "fixable: `brenner check --fix --partial -`."
    done = brenner("check", stdin=block[0] + bad + bad + hopeless + bad)
    said = "Cannot fix automatically: line 17 (MISSING_TARGET) needs a decision. "
    assert done.stdout.splitlines()[-1] == f"  {said}The other 3 errors are {fix}"
    done = brenner("check", stdin=block[0] + hopeless + bad + hopeless)
    said = "Cannot fix automatically: lines 9 and 17 (MISSING_TARGET) need a decision. "
    assert done.stdout.splitlines()[-1] == f"  {said}The other error is {fix}"


def test_fix_in_part(tmp_path: Path) -> None:
    """The certain corrections are printed; what is left is listed with its line there."""
    text = BAD + "\n" + "".join(HOPELESS.partition("```delta")[1:]).replace('"}\n```', '",}\n```')
    file = tmp_path / "m.md"
    file.write_text(text, "utf-8")
    listed = brenner("check", str(file)).stdout.splitlines()
    assert [line.endswith("(fixable)") for line in listed[:3]] == [True, False, True]
    assert listed[-1].endswith(
        f"The other 2 errors are fixable: `brenner check --fix --partial {file}`."
    )
    done = brenner("check", "--fix", "--partial", str(file))
    assert done.returncode == 1
    assert done.stdout == text.replace('",}', '"}')
    first, last = done.stderr.splitlines()
    assert first.startswith("printed message:14  error MISSING_TARGET  KILL needs")
    assert last == f"{file}: fixed 2 errors; 1 error remains in the printed message"
    again = brenner("check", "--fix", "--partial", stdin=done.stdout)
    assert (again.returncode, again.stdout) == (1, done.stdout)
    assert "fixed 0 errors; 1 error remains" in again.stderr
    assert brenner("check", "--fix", "--partial", stdin=BAD).stdout == GOOD


def test_fix_in_part_as_json() -> None:
    """Each violation says whether it is fixable; the partly corrected text has a key of its own."""
    text = BAD + "\n" + "".join(HOPELESS.partition("```delta")[1:])
    code, document = check_json(stdin=text)
    assert (code, document["corrected"]) == (1, None)
    assert "partly_corrected" not in document
    found = {each["id"]: each["fixable"] for each in document["violations"]}
    assert found == {"JSON_TRAILING_COMMA": True, "MISSING_TARGET": False}
    code, document = check_json("--fix", "--partial", stdin=text)
    assert (code, document["corrected"]) == (1, None)
    assert document["partly_corrected"] == text.replace('",}', '"}')
    code, document = check_json("--fix", "--partial", stdin=BAD)
    assert (code, document["corrected"], document["partly_corrected"]) == (0, GOOD, None)


def test_nothing_is_fixed_in_json_that_cannot_be_read() -> None:
    """A quotation mark inside a text: what comes after it may mean anything."""
    text = GOOD.replace("refuted by T1", "refuted by \"T1\", 'too'").replace('"}\n```', '",}\n```')
    code, document = check_json("--fix", "--partial", stdin=text)
    assert (code, document["partly_corrected"]) == (1, None)
    assert not any(each["fixable"] for each in document["violations"])


def test_the_error_without_a_fix_is_named_not_one_like_it() -> None:
    """Two errors have the same message, and only one of them has a certain correction."""
    edit = GOOD.replace("KILL", "EDIT").replace(
        '{"reason": "refuted by T1"}', '{"anchors": "§1, or"}'
    )
    certain = edit.replace("§1, or", "§1").partition("```delta")
    done = brenner("check", stdin=edit + "".join(certain[1:]))
    assert done.stdout.count("WRONG_TYPE  `payload.anchors` is") == 2
    said = "Cannot fix automatically: line 10 (WRONG_TYPE) needs a decision. "
    then = "The other error is fixable: `brenner check --fix --partial -`."
    assert done.stdout.splitlines()[-1] == f"  {said}{then}"


def test_reply() -> None:
    """`--reply` prints the Validation Error reply as a message file that passes the check.

    It comes from who runs the command, and complains of the message, not of its sender.
    """
    done = brenner("check", "--reply", "--as", "RedCreek", stdin=BAD)
    assert done.returncode == 1
    assert "# Validation Error" in done.stdout
    assert "From: RedCreek\nTo: BlueLake\n" in done.stdout
    assert "SENDER_MISMATCH" not in done.stdout
    assert GOOD in done.stdout
    assert brenner("check", stdin=done.stdout).returncode == 0
    assert brenner("check", "--reply", stdin=GOOD).stdout == ""
    document = json.loads(brenner("check", "--reply", "--json", stdin=BAD).stdout)
    assert document["reply"].startswith("Thread: ")
    assert "Cannot write a reply" in brenner("check", "--reply", stdin="hello").stderr


def test_sender_must_be_the_actor() -> None:
    """A From that is not the `--as`, or AGENT_NAME, is an error."""
    assert brenner("check", "--as", "BlueLake", stdin=GOOD).returncode == 0
    done = brenner("check", "--as", "RedCreek", stdin=GOOD)
    assert done.returncode == 1
    assert "SENDER_MISMATCH" in done.stdout
    done = brenner("check", stdin=GOOD, env={"AGENT_NAME": "RedCreek"})
    assert "SENDER_MISMATCH" in done.stdout
    env = {"AGENT_NAME": "RedCreek"}
    assert brenner("--as", "BlueLake", "check", stdin=GOOD, env=env).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("chek",),
        ("check", "--nonsense"),
        ("check", "-", "-"),
        ("check", "--fix", "--reply"),
        ("check", "--partial"),
        ("check", "--partial", "--reply"),
        ("mail", "send", "--fix", "--no-check", "message.md"),
        ("new", "INFO", "--to", "Blue Lake"),
        ("new", "INFO", "--as", "A\nSubject: INFO: forged"),
        ("new", "INFO", "--question", "Why?"),
        ("new", "INFO", "--role", "opus"),
        ("new",),
        ("new", "LETTER"),
        ("new", "DELTA", "--thread", "RS-x"),
        ("new", "DELTA", "--section", "research_thread", "--operation", "KILL"),
        ("explain", "NO_SUCH_CODE_AT_ALL"),
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    """Exit code 2, a code and a way out; with --json one JSON document and nothing else."""
    done = brenner(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "WRONG_USAGE" in done.stderr or "UNKNOWN_CODE" in done.stderr
    done = brenner("--json", *arguments)
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert document["valid"] is False
    assert document["violations"][0]["id"] in ("WRONG_USAGE", "UNKNOWN_CODE")


def test_fix_takes_one_file() -> None:
    """Two corrected messages in one output could not be told apart; as JSON they can."""
    done = brenner("check", "--fix", "a", "b")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(json.loads(brenner("check", "--json", "--fix", "a", "b").stdout)["results"]) == 2


def test_without_a_command() -> None:
    """The help, and no complaint."""
    done = brenner()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: brenner")


def test_suggestions_are_data() -> None:
    """What was probably meant is a key of its own, for programs."""
    text = GOOD.replace("hypothesis_slate", "hypotheses").replace("dichotomy", "Dichotomy")
    _, document = check_json(stdin=text)
    found = {each["id"]: each.get("suggestion") for each in document["violations"]}
    assert found["INVALID_SECTION"] == "hypothesis_slate"
    assert found["INVALID_RS_THREAD_ID"] == "RS-20251230-cell-fate-dichotomy"


@pytest.mark.parametrize(
    ("settings", "operator"),
    [
        ('operator = "Ada"\n', "Ada"),
        ('operator = "Ada"\nack_deadline_hours = "never"\n', "Ada"),
        ('operator = "not a name"\n', "Operator"),
        ("operator = \n", "Operator"),
        ("", "Operator"),
    ],
)
def test_operator_of_the_project(tmp_path: Path, settings: str, operator: str) -> None:
    """New messages go to the operator, replies come from her; bad settings stop neither."""
    (tmp_path / "brenner.toml").write_text(settings, "utf-8")
    here = ("--project", str(tmp_path))
    for kind in ("INFO", "HANDOFF"):
        new = brenner("new", kind, *here)
        assert (new.returncode, new.stderr) == (0, "")
        assert f"\nTo: {operator}\n" in new.stdout
    assert "## To\nFillInName\n" in new.stdout  # work is not handed to the operator unasked
    assert "\nTo: BlueLake\n" in brenner("new", "INFO", "--to", "BlueLake", *here).stdout
    assert f"\nFrom: {operator}\n" in brenner("check", "--reply", *here, stdin=BAD).stdout
    document = json.loads(brenner("check", "--reply", "--json", *here, stdin=BAD).stdout)
    assert f"\nFrom: {operator}\n" in document["reply"]


def test_empty_actor() -> None:
    """`--as ""` is a variable that was not filled in; AGENT_NAME="" is as unset."""
    done = brenner("new", "INFO", "--as", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--as needs a NAME" in done.stderr
    assert "From: FillInName" in brenner("new", "INFO", env={"AGENT_NAME": ""}).stdout


def test_suggestions() -> None:
    """A misspelt command or code gets the nearest one."""
    assert "`check`" in brenner("chekc").stderr
    assert "MB-004" in brenner("explain", "MB-04").stderr
    assert "EH-003" in brenner("explain", "eh3").stderr


@pytest.mark.parametrize("code", ["MB-004", "ET-002", "AP-003", "INVALID_JSON", "invalid_bead_id"])
def test_explain(code: str) -> None:
    """What it means, why, how to mend it, where it comes from, an example."""
    done = brenner("explain", code)
    assert done.returncode == 0
    for part in (code.upper(), "fix", "why", "spec", "wrong", "right", "since"):
        assert part in done.stdout
    document = json.loads(brenner("explain", code, "--json").stdout)
    assert document["id"] == code.upper()
    assert {"severity", "message", "fix", "why", "spec", "example", "since"} <= document.keys()


def test_explain_lists_everything() -> None:
    """Without a code: all of them."""
    listed = brenner("explain").stdout
    codes = json.loads(brenner("explain", "--json").stdout)["codes"]
    assert all(code["id"] in listed for code in codes)
    assert len(codes) > 150


@pytest.mark.parametrize(
    "name",
    [
        *("KICKOFF", "DELTA", "COMPILED", "CRITIQUE", "ACK", "CLAIM", "HANDOFF", "BLOCKED"),
        *("QUESTION", "INFO"),
    ],
)
def test_new(name: str) -> None:
    """Every template passes the check; the only complaints are about what is to be filled in."""
    made = brenner("new", name.lower(), "--as", "BlueLake", "--to", "RedCreek")
    assert made.returncode == 0
    code, document = check_json(stdin=made.stdout)
    assert (code, document["type"]) == (0, name)
    left = {violation["id"] for violation in document["violations"]}
    assert left <= {"PLACEHOLDER_LEFT", "EXCERPT_WITHOUT_CITATION", "MALFORMED_VERSION"}


@pytest.mark.parametrize("operation", ["ADD", "EDIT", "KILL"])
@pytest.mark.parametrize(
    "section",
    [
        *("hypothesis_slate", "predictions_table", "discriminative_tests", "assumption_ledger"),
        *("anomaly_register", "adversarial_critique"),
    ],
)
def test_new_delta(section: str, operation: str) -> None:
    """A delta to fill in for every section and operation."""
    made = brenner("new", "DELTA", "--section", section, "--operation", operation)
    code, document = check_json(stdin=made.stdout)
    assert code == 0
    assert [(d["operation"], d["section"]) for d in document["deltas"]] == [(operation, section)]


def test_new_kickoff_names_its_thread() -> None:
    """The question is in the body, and the thread ID is made from it."""
    done = brenner("new", "KICKOFF", "--question", "How do cells decide their fate?")
    assert "-cells-decide-fate\n" in done.stdout.splitlines(keepends=True)[0]
    assert "## Research Question\nHow do cells decide their fate?\n" in done.stdout


def test_escape_sequences_are_shown() -> None:
    """Nobody's text moves the cursor: not in a subject, not in JSON, not in a file's name."""
    text = GOOD.replace("DELTA[opus]:", "\x1b[2JDELTA:").replace('"H2"', '"\\u001b[31mH2"')
    done = brenner("check", stdin=text)
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J" in done.stdout
    assert "\x1b" not in brenner("check", "\x1b[31mname").stdout


@pytest.mark.parametrize(
    ("argument", "is_hinted"), [("-odd.id", True), ("-x-1", True), ("-z", False)]
)
def test_an_id_that_begins_with_a_hyphen(argument: str, is_hinted: bool) -> None:
    """It is taken for options; what to write instead is said, whatever the command."""
    for command in (("session", "status"), ("artifact", "show")):
        done = brenner(*command, argument)
        assert done.returncode == 2
        assert (f"`-- {argument}`" in done.stderr) == is_hinted


def test_an_interrupt_outside_of_a_command_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while the program starts, or after its command."""

    def interrupted(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["brenner", "check"])
    monkeypatch.setattr("brenner.cli.main.run", interrupted)
    monkeypatch.setattr("brenner.__main__._exit_at_once", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        program()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("tests", "discriminative_tests"), ("Hypotheses", "hypothesis_slate"), ("zzz", None)],
)
def test_new_delta_for_another_name_of_a_section(name: str, meant: str | None) -> None:
    """Suggested as `check` does."""
    done = brenner("new", "DELTA", "--section", name)
    assert (done.returncode, len(done.stdout)) == (2, 0)
    assert (f"`{name}` is not a section. Did you mean `{meant}`?" in str(done.stderr)) is bool(
        meant
    )
    assert bool(meant) or "'hypothesis_slate'" in str(done.stderr)
