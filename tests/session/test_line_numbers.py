"""One fault has one line: that of the file in a file, that of the body in a message."""

import json
import re
from pathlib import Path

import pytest

from program import Run, brenner, call, inside
from serving.calls import FOLDER, place

THREAD = "COORD-one-line-everywhere"
GOOD = """\
```delta
{"operation": "ADD", "section": "hypothesis_slate",
 "payload": {"name": "A", "claim": "c", "mechanism": "m", "anchors": ["[inference]"]},
 "rationale": "r"}
```
"""
# The trailing comma is on line 11 of the body.
BODY = f"""\
Words.

{GOOD}
```delta
{{"operation": "ADD", "section": "hypothesis_slate",
 "payload": {{"name": "B", "claim": "c", "mechanism": "m", "anchors": ["[inference]"],}},
 "rationale": "r"}}
```
"""
IN_BODY = 11
HEADERS = f"""\
Thread: {THREAD}
From: BlueLake
To: Operator
Subject: DELTA[opus]: Two hypotheses
Ack-Required: false

"""
IN_FILE = IN_BODY + HEADERS.count("\n")
CODE = "JSON_TRAILING_COMMA"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with an agent, and the message in a file."""
    assert brenner("init", cwd=tmp_path).code == 0
    assert brenner("mail", "register", "BlueLake", cwd=tmp_path).code == 0
    (tmp_path / "m.md").write_text(HEADERS + BODY, "utf-8")
    return tmp_path


def line_with_code(run: Run) -> str:
    """The line of the output that has the fault; there is only one."""
    (line,) = [each for each in (run.out + run.err).splitlines() if CODE in each]
    return line


def lines_in_json(violations: list[dict[str, object]]) -> list[object]:
    """The lines of the fault."""
    return [each["line"] for each in violations if each["id"] == CODE]


def test_in_a_file(folder: Path) -> None:
    """`check` and `mail send` count in the file, in words and in JSON."""
    place_of = f":{IN_FILE}  error {CODE}  "
    assert (HEADERS + BODY).splitlines()[IN_FILE - 1].endswith(",},")
    assert line_with_code(brenner("check", "m.md", cwd=folder)).startswith(f"m.md{place_of}")
    sent = brenner("mail", "send", "m.md", cwd=folder)
    assert line_with_code(sent).startswith(f"m.md{place_of}")
    with inside(folder, {}):
        piped = call("check", "-", stdin=(HEADERS + BODY).encode())
    assert line_with_code(piped).startswith(f"<stdin>{place_of}")
    for command in (("check",), ("mail", "send")):
        told = brenner(*command, "--json", "m.md", cwd=folder).json
        assert lines_in_json(told["violations"]) == [IN_FILE]
    # The reply goes to the author of a message, so its lines count in the body.
    reply = brenner("check", "--reply", "m.md", cwd=folder).out
    assert f"\n- body line {IN_BODY}: {CODE}: " in reply


def test_in_a_stored_message(folder: Path) -> None:
    """Everything that shows stored mail counts in the body, and says so."""
    assert BODY.splitlines()[IN_BODY - 1].endswith(",},")
    assert brenner("mail", "send", "--no-check", "m.md", cwd=folder).code == 0
    place_of = f"message 1, body line {IN_BODY}  error {CODE}  "
    checked = brenner("check", "--thread", THREAD, cwd=folder)
    assert line_with_code(checked).startswith(place_of)
    told = brenner("check", "--json", "--thread", THREAD, cwd=folder).json
    assert lines_in_json(told["results"][0]["violations"]) == [IN_BODY]
    told = brenner("compile", "--dry-run", "--json", THREAD, cwd=folder).json
    assert lines_in_json(told["ledger"]["entries"][1]["violations"]) == [IN_BODY]
    compiled = brenner("compile", "--notify", THREAD, cwd=folder)
    assert line_with_code(compiled).startswith(place_of)
    assert "\n    Corrected block:\n      ```delta\n" in compiled.out
    ledger = brenner("artifact", "ledger", THREAD, cwd=folder)
    assert line_with_code(ledger).startswith(f"      body line {IN_BODY}: {CODE}  ")
    assert "\n      Corrected block:\n      ```delta\n" in ledger.out
    told = brenner("artifact", "ledger", "--json", THREAD, cwd=folder).json
    (refused,) = [each for each in told["entries"] if each["state"] == "refused"]
    assert lines_in_json(refused["violations"]) == [IN_BODY]
    published, reply = (
        brenner("mail", "show", number, "--raw", cwd=folder).out for number in ("2", "3")
    )
    assert f"\n  - {CODE} (line {IN_BODY}): " in published
    assert f"\n- Block 2, body line {IN_BODY}: {CODE}: " in reply
    shown = re.findall(r"\bline ([0-9]+)", published.partition("## Full Artifact")[0] + reply)
    assert set(shown) == {str(IN_BODY)}


def test_in_a_composed_message(folder: Path) -> None:
    """What is made from options counts in the body, also inside of a message."""
    options = ("--thread", THREAD, "--to", "Operator", "--as", "BlueLake")
    body = ("--subject", "DELTA[opus]: Two", "--body", BODY)
    sent = brenner("mail", "send", *options, *body, cwd=folder)
    assert line_with_code(sent).startswith(f"--body:{IN_BODY}  error {CODE}  ")
    told = brenner("mail", "send", "--json", *options, *body, cwd=folder).json
    assert lines_in_json(told["violations"]) == [IN_BODY]
    left = ("--subject", "INFO: x", "--body", "a\nb\n[[fill in: c]]\nd\n[[fill in: e]]\n")
    sent = brenner("mail", "send", *options, *left, cwd=folder)
    assert sent.err.startswith("--body:3  error TEMPLATE_NOT_FILLED_IN  ")
    assert ": line 3, line 5." in sent.err


def test_over_mcp() -> None:
    """A call has a body and no file."""
    here = place()
    for name in ("BlueLake", "RedSky"):
        here.knows(name)
    answer = here.ask(
        "send_message",
        project_key=str(FOLDER),
        sender_name="BlueLake",
        to=["RedSky"],
        subject="DELTA[opus]: Two",
        body_md=BODY,
        thread_id=THREAD,
    )
    assert answer.text is not None
    assert f"\n{CODE} body line {IN_BODY}: " in answer.text
    assert lines_in_json(json.loads(json.dumps(answer.value))["violations"]) == [IN_BODY]
