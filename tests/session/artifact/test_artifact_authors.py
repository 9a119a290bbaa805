"""Who set what, and what became of every block: `artifact blame` and `artifact ledger`."""

import re
from pathlib import Path
from typing import Any

from brenner.artifact.state import ledger_json
from mail_shell import Shell
from replayed_histories import Played, on, play

# blame


def test_blame(shell: Shell, conflict: Played) -> None:
    """A row for every field, in the order of the artifact; under it what it replaced."""
    out = on(shell, conflict)("artifact", "blame", f"{conflict.thread_id}@v3").out
    lines = out.splitlines()
    assert lines[0] == f"{conflict.thread_id}@v3: who set what"
    assert lines[2].split() == ["Field", "Set", "by", "Message", "In", "Value"]
    place = lines.index("T1.feasibility             GreenHill        7  v3  A year, to be sure")
    assert lines[place + 1] == (
        "    replaced the value of RedSky (message 5, v2): Two weeks with a morpholino"
    )
    names = [line.split()[0] for line in lines[4:] if not line.startswith(" ")]
    assert names[:3] == ["RT.statement", "RT.context", "H1.name"]
    assert names.index("H1.anchors.§31") < names.index("H1.anchors.§35")
    gone = next(line for line in lines if line.startswith("H1.anchors.§32"))
    assert gone.endswith("(removed)")


def test_blame_of_one_field(shell: Shell, conflict: Played) -> None:
    """Whole, with its history where asked for."""
    here = on(shell, conflict)
    out = here("artifact", "blame", conflict.thread_id, "T1.feasibility", "--history").out
    assert re.findall(
        r"^    (\w+)  (\w+), message (\d), block \d, in (v\d)$", out, re.MULTILINE
    ) == [
        ("BlueLake", "EDIT", "9", "v4"),
        ("GreenHill", "EDIT", "7", "v3"),
        ("RedSky", "EDIT", "5", "v2"),
        ("BlueLake", "EDIT", "4", "v2"),
        ("GreenHill", "ADD", "2", "v1"),
    ]
    short = here("artifact", "blame", conflict.thread_id, "T1.feasibility").out
    assert "Replaced the value of GreenHill (message 7, v3):\n      A year, to be sure\n" in short
    killed = here("artifact", "blame", conflict.thread_id, "H2.killed").out
    assert "RedSky  KILL, message 10, block 1, in v4\n      Single cells oscillate" in killed
    for place in ("H9", "H1.clam", "H1.predictions"):
        done = here("artifact", "blame", conflict.thread_id, place, "--json")
        assert (done.code, done.codes) == (1, ["NO_SUCH_ITEM"])
    near = here("artifact", "blame", conflict.thread_id, "H1.clam", "--json").json
    assert near["violations"][0]["suggestion"] == "H1.claim"


def test_blame_as_json(shell: Shell, conflict: Played) -> None:
    """Every field of the artifact has its author; maps and lists element by element."""
    here = on(shell, conflict)
    document = here("artifact", "blame", f"{conflict.thread_id}@v2", "--json").json
    by_name = {f"{each['item_id']}.{each['field']}": each for each in document["fields"]}
    cell = by_name["P1.predictions.H1"]
    assert "history" not in cell
    assert (cell["agent"], cell["message_id"], cell["version"]) == ("RedSky", 5, 2)
    assert (cell["value"], cell["replaced"]) == ("30 minutes, never less", "30 minutes")
    assert all(each["agent"] for each in document["fields"])
    whole = here(
        "artifact", "blame", f"{conflict.thread_id}@v2", "P1.predictions", "--history", "--json"
    ).json
    assert [each["path"] for each in whole["fields"]] == [
        ["predictions", "H1"],
        ["predictions", "H2"],
    ]
    assert [each["version"] for each in whole["fields"][0]["history"]] == [2, 1]


def test_blame_of_a_file(shell: Shell, conflict: Played, tmp_path: Path) -> None:
    """One that equals a version has its authors; one that does not has none."""
    here, path = on(shell, conflict), tmp_path / "v2.md"
    text = conflict.versions[1].text
    path.write_text(text.replace("status:", "agent_mail_message_id: 6\nstatus:"), "utf-8")
    same = here("artifact", "blame", str(path)).out
    assert same == here("artifact", "blame", f"{conflict.thread_id}@v2").out
    path.write_text(text.replace("one loop", "two loops"), "utf-8")
    done = here("artifact", "blame", str(path))
    assert (done.code, done.out) == (1, "")
    assert "it differs from v2 of" in done.err
    path.write_text("## 6. Anomaly Register\n\nNone registered\n", "utf-8")
    assert "AUTHORS_NOT_KNOWN" in here("artifact", "ledger", str(path)).err


# ledger


def test_ledger(shell: Shell, at_once: Played) -> None:
    """Refused first with the fix and the ready blocks, then what was applied and rewritten."""
    out = on(shell, at_once)("artifact", "ledger", at_once.thread_id).out
    assert out.startswith(
        f"{at_once.thread_id}@v2, 8 blocks: 7 applied, 1 rejected, 0 duplicate\n\nRejected\n"
        "  message 7, block 1  BlueLake  KILL H4 hypothesis_slate\n"
        "      body line 11: AMBIGUOUS_TARGET  "
    )
    assert out.count('        "target_id": "H') == 2
    assert "      5      2  BlueLake   ADD discriminative_tests  T2\n" in out
    assert "      rewritten  discriminates: H4 became H5\n" in out


def test_ledger_of_all_versions(shell: Shell, at_once: Played) -> None:
    """In one list, each block with its version; duplicates stand for an item."""
    here = on(shell, at_once)
    document = here("artifact", "ledger", at_once.thread_id, "--all", "--json").json
    entries = [entry for each in at_once.versions for entry in each.ledger]
    expected = ledger_json(tuple(entries))
    without = [
        {key: value for key, value in entry.items() if key not in ("version", "trust", "altered")}
        for entry in document["entries"]
    ]
    assert without == expected["entries"]
    assert {entry["trust"] for entry in document["entries"]} == {"local"}
    assert document["versions"] == [1, 2]
    assert [document[key] for key in ("applied", "refused", "duplicate")] == [
        expected[key] for key in ("applied", "refused", "duplicate")
    ]
    one: Any = here("artifact", "ledger", f"{at_once.thread_id}@v1", "--json").json
    assert [each["version"] for each in one["entries"]] == [1] * len(at_once.versions[0].ledger)
    assert here("artifact", "ledger", f"{at_once.thread_id}@v1", "--all").code == 2
    out = here("artifact", "ledger", at_once.thread_id, "--all").out
    assert re.search(r"^v1 +2 +1 ", out, re.MULTILINE)


def test_duplicates_in_the_ledger(shell: Shell, tmp_path: Path) -> None:
    """Each with the item that it stands for."""
    played = play("resent_message", tmp_path / "own")
    out = on(shell, played)("artifact", "ledger", f"{played.thread_id}@v1").out
    assert "  message 3, block 1, body line 7  BlueLake  ADD hypothesis_slate  same as H1\n" in out
