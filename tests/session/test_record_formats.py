"""Record formats: versions of the first one stay what they were, whatever fields came later (R26).

`published/format_1.jsonl` is a thread that a program wrote before there were results, declared
outcomes and a conclusion. Its messages have fields with these names, which were unknown then.
`published/format_1.ledger.json` is what that program said of its second version.
"""

import json
from pathlib import Path

import pytest

from brenner.artifact.parse import parse_artifact
from brenner.session import model
from program import brenner

PUBLISHED = Path(__file__).parent / "published"
THREAD = "RS-20260105-phage-proteins"
HEADERS = f"Thread: {THREAD}\nFrom: BlueLake\nTo: Operator\nSubject: DELTA[gpt]: x\n\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the thread of the earlier program."""
    assert brenner("init", cwd=tmp_path).code == 0
    archive = str(PUBLISHED / "format_1.jsonl")
    assert brenner("mail", "import", archive, cwd=tmp_path).code == 0
    return tmp_path


def send(project: Path, payload: dict[str, object]) -> None:
    delta = {
        "operation": "EDIT",
        "section": "discriminative_tests",
        "target_id": "T1",
        "payload": payload,
        "rationale": "Seen",
    }
    message = f"{HEADERS}```delta\n{json.dumps(delta)}\n```\n"
    (project / "message.md").write_text(message, "utf-8")
    assert brenner("mail", "send", "--no-check", "message.md", cwd=project).code == 0


def formats(project: Path) -> dict[int, int]:
    """The record format of each version."""
    found = {}
    for message in brenner("mail", "thread", THREAD, "--bodies", "--json", cwd=project).json[
        "messages"
    ]:
        record = message["body"].partition("```brenner-record\n")[2].partition("\n")[0]
        if record:
            found[json.loads(record)["version"]] = json.loads(record)["format"]
    return found


def test_earlier_versions_rebuild(project: Path) -> None:
    """Byte for byte, with the same ledger: the later fields stay unknown there."""
    verified = brenner("artifact", "verify", THREAD, "--json", cwd=project).json
    assert [(each["version"], each["ok"]) for each in verified["versions"]] == [
        (1, True),
        (2, True),
    ]
    ledger = brenner("artifact", "ledger", f"{THREAD}@v2", "--json", cwd=project).json["entries"]
    before = json.loads((PUBLISHED / "format_1.ledger.json").read_text("utf-8"))["entries"]
    imported = {"trust": "unverified"}
    assert ledger == [each | imported for each in before]
    test = brenner("artifact", "show", THREAD, "--json", cwd=project).json["discriminative_tests"][
        0
    ]
    assert (test["results"], test["outcomes"]) == ([], {})


def test_a_version_has_format_2_only_if_it_needs_it(project: Path) -> None:
    send(project, {"feasibility": "Three weeks"})
    brenner("compile", THREAD, cwd=project)
    # Rejected, but with the fields of format 1 it would be applied.
    send(project, {"feasibility": "Four weeks", "results": [{"outcome": "old"}]})
    send(project, {"feasibility": "Five weeks"})
    brenner("compile", THREAD, cwd=project)
    send(project, {"feasibility": "Six weeks"})
    brenner("compile", THREAD, cwd=project)
    send(project, {"results": [{"outcome": "old", "potency": "passed", "supports": ["H1"]}]})
    brenner("compile", THREAD, cwd=project)
    send(project, {"feasibility": "Seven weeks"})
    brenner("compile", THREAD, cwd=project)
    assert formats(project) == {1: 1, 2: 1, 3: 1, 4: 2, 5: 1, 6: 2, 7: 2}
    verified = brenner("artifact", "verify", THREAD, "--json", cwd=project).json
    assert verified["ok"]


def test_a_program_that_knows_format_1_stops(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(project, {"results": [{"outcome": "old", "potency": "passed", "supports": ["H1"]}]})
    brenner("compile", THREAD, cwd=project)
    with monkeypatch.context() as older:
        older.setattr(model, "RECORD_FORMAT", 1)
        found = brenner("artifact", "verify", THREAD, "--json", cwd=project)
        shown = brenner("artifact", "verify", THREAD, cwd=project)
    version = found.json["versions"][-1]
    assert (found.code, version["version"], version["ok"]) == (1, 3, False)
    assert "format 2 is newer than this program's 1" in json.dumps(found.json)
    # Neither voiding nor adopting is advised: the version is sound.
    (newer,) = (each for each in found.json["violations"] if each["severity"] == "error")
    assert newer["id"] == "RECORD_NEWER"
    assert "pip install --upgrade brenner" in newer["fix"]
    assert "session void" not in shown.out + shown.err
    assert brenner("artifact", "verify", THREAD, cwd=project).code == 0


def test_an_artifact_of_format_1_has_no_results() -> None:
    """Labels that came later stay text, so that an adopted artifact is read as it was."""
    text = "## 4. Discriminative Tests\n\n### T1: Graft\n\n**Procedure**: Graft.\nResults: later.\n"
    (before,) = parse_artifact(text, 1).artifact.sections["discriminative_tests"]
    assert before.fields["procedure"] == "Graft.\nResults: later."
    parsed = parse_artifact(text)
    (now,) = parsed.artifact.sections["discriminative_tests"]
    assert now.fields["procedure"] == "Graft."
    assert "UNREADABLE_VALUE" in {found.id for found in parsed.diagnostics}
