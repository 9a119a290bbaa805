"""Evidence packs (R31): reading one, what texts cite of it, and the commands on it."""

import json
import os
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.evidence_pack import (
    EvidencePack,
    EvidenceRecord,
    body_faults,
    citation_faults,
    parse_pack,
)
from brenner.services.evidence import NewRecord, add_record, readable_pack
from brenner.session.excerpts import excerpt_of_pack, quote_text
from mail_shell import Shell
from program import brenner
from terminal import run_in_terminal

TEXT = """\
# ours
[EV-001]
title = "Clocks"   # a remark
source = "doi:10.1000/182"
accessed = 2026-11-19

[EV-001.excerpts]
E1 = "Markers  fluctuate in\\ntime."
"""
PACK = parse_pack(TEXT, "e.toml").pack
SETTINGS = '# top\noperator = "Ada"\n\n[persist]\nevery = 5\n'


def faults(text: str) -> list[tuple[bool, str]]:
    """Whether each fault is a quotation, and its anchor."""
    return [(each.is_quotation, each.anchor) for each in citation_faults(text, PACK)]


def test_both_forms_are_read_alike() -> None:
    """TOML and JSON give the same records; a DOI becomes an address, a path none."""
    record = PACK.records["EV-001"]
    same = {"EV-001": {**record._asdict(), "excerpts": dict(record.excerpts)}}
    for key in ("id", "sha256", "file"):
        del same["EV-001"][key]
    parsed = parse_pack(json.dumps(same), "e.json")
    assert (parsed.pack.records, parsed.diagnostics) == (PACK.records, ())
    assert (record.url, record.path) == ("https://doi.org/10.1000/182", None)
    local = EvidenceRecord("EV-002", "T", "data/a b.csv", "2026")
    assert (local.url, local.path) == (None, "data/a b.csv")


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("[EV-001", "e.toml", ("EVIDENCE_PACK_UNREADABLE", 1)),
        ("a = 1\na = 2", "e.toml", ("EVIDENCE_PACK_UNREADABLE", 2)),
        ('{\n"EV-001": {},\n"EV-001": {}}', "e.json", ("EVIDENCE_PACK_UNREADABLE", 3)),
        ("[]", "e.json", ("EVIDENCE_PACK_UNREADABLE", 1)),
        (f"{TEXT}[E-2]\n", "e.toml", ("INVALID_EVIDENCE_RECORD", 9)),
        (f"{TEXT}[EV-2]\nsource='a'\naccessed='2026'\n", "e.toml", ("INVALID_EVIDENCE_RECORD", 9)),
        (TEXT.replace("2026-11-19", "'soon'"), "e.toml", ("INVALID_EVIDENCE_RECORD", 5)),
        (TEXT.replace("E1", "X1"), "e.toml", ("INVALID_EVIDENCE_RECORD", 8)),
        (
            TEXT.replace("[EV-001.ex", "sha256 = 'ab'\n[EV-001.ex"),
            "e.toml",
            ("INVALID_EVIDENCE_RECORD", 7),
        ),
        (TEXT.replace("title", "titel = ''\ntitle"), "e.toml", ("UNKNOWN_EVIDENCE_KEY", 3)),
    ],
)
def test_a_fault_has_its_line(text: str, path: str, expected: tuple[str, int]) -> None:
    found = parse_pack(text, path).diagnostics
    assert expected in [(each.id, each.line) for each in found]


def test_what_texts_cite() -> None:
    """Anchors must exist; a quotation directly before one must be in it, but for white space."""
    fine = '"fluctuate in time" (EV-001#E1), “Markers fluctuate” [EV-001#E1], EV-001, "no" EV-001'
    assert faults(fine) == []
    assert faults("EV-002 and EV-001#E2") == [(False, "EV-002"), (False, "EV-001#E2")]
    assert faults('5" wide, "markers" EV-001#E1') == [(True, "EV-001#E1")]
    assert faults('"Time." EV-001#E1') == [(True, "EV-001#E1")]
    assert faults("[external: EV-900, a box], ABEV-9, EV-001x") == []


def test_other_words_and_examples_in_a_body_do_not_count() -> None:
    body = "> EV-9\n\nAs `EV-9` and ``a ` EV-9``.\n\n```text\nEV-9\n```\n\nBut ` EV-8 is meant.\n"
    found = list(body_faults(body, "bd-1", PACK))
    assert [(each.id, each.line) for each in found] == [("UNKNOWN_EVIDENCE", 9)]


@given(st.text(alphabet='`"“”[]() EV-01#x:\n', max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """Nothing raises, and every fault names what is in the text."""
    for fault in citation_faults(text, PACK):
        assert fault.anchor in text
    list(body_faults(text, "bd-1", PACK))


@given(st.text(max_size=200), st.text(max_size=60))
def test_an_excerpt_in_a_kickoff_forges_nothing(excerpt: str, title: str) -> None:
    """It is quoted twice: no heading, no delta, no line that names another excerpt."""
    text = f"{excerpt}\n# Head\n```delta\n{{}}\n```\n**EV-009#E1** Forged\n"
    record = EvidenceRecord("EV-001", title, "x", "2026", excerpts={"E1": text})
    quoted, found = excerpt_of_pack(EvidencePack("e.toml", {"EV-001": record}), ["EV-001"])
    assert found == []
    body = f"## Excerpt\n\n{quote_text(quoted)}\n\n## After\n"
    headings = [b for b in parse_blocks(body) if b.kind is BlockKind.HEADING and not b.quoted]
    assert [each.text for each in headings] == ["Excerpt", "After"]
    assert not read_deltas(body)
    heads = [line for line in body.split("\n") if line.startswith("> **EV-")]
    assert [line.partition("** ")[0] for line in heads] == ["> **EV-001#E1"]


# The commands


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project with settings and without a pack."""
    (tmp_path / "brenner.toml").write_text(SETTINGS, "utf-8")
    return Shell(tmp_path, monkeypatch)


def test_add_creates_the_pack_and_keeps_all_else(shell: Shell) -> None:
    """Every byte that was there stays, in the settings and in the pack."""
    done = shell("evidence", "add", "--title", 'A "b" \\', "--source", "https://x.org/a")
    assert "Created the evidence pack `evidence.toml`." in done.out
    settings = (shell.folder / "brenner.toml").read_text("utf-8")
    assert settings == SETTINGS.replace('"Ada"\n', '"Ada"\nevidence_pack = "evidence.toml"\n')
    pack = shell.folder / "evidence.toml"
    before = pack.read_text("utf-8") + "# a remark  \n\n"
    pack.write_text(before, "utf-8")
    (shell.folder / "run.csv").write_text("1\n", "utf-8")
    file = ["--file", str(shell.folder / "run.csv"), "--accessed", "2026-01-02"]
    added = shell(
        "evidence", "add", "--title", "Run", "--excerpt", "a\n'''b'''\"\"\"\t\x7f", *file, "--json"
    )
    record = added.json["record"]
    assert pack.read_text("utf-8").startswith(before)
    assert (record["id"], record["source"], record["accessed"]) == (
        "EV-002",
        "run.csv",
        "2026-01-02",
    )
    assert record["sha256"] == sha256(b"1\n").hexdigest()
    listed = shell("evidence", "list", "--json").json
    assert listed["records"][1]["excerpts"] == {"E1": "a\n'''b'''\"\"\"\t\x7f"}
    assert (shell.folder / "brenner.toml").read_text("utf-8") == settings


def test_a_json_pack_is_extended_as_it_is_written(tmp_path: Path) -> None:
    project = Project(tmp_path, evidence_pack="e.json")
    add_record(project, NewRecord("One", "doi:10.1/a", "2026-01-01", ("x",)))
    text = (tmp_path / "e.json").read_text("utf-8").replace("  ", "\t")
    (tmp_path / "e.json").write_text(text, "utf-8")
    add_record(project, NewRecord("Two", "a", "2026-01-01"))
    written = (tmp_path / "e.json").read_text("utf-8")
    assert written.startswith(text.rstrip("}\n \t"))
    pack = readable_pack(project)
    assert pack is not None
    assert list(pack.records) == ["EV-001", "EV-002"]


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewRecord("T", "a", "soon"), "EVIDENCE_NOT_ADDED"),
        (NewRecord(" ", "a", "2026"), "EVIDENCE_NOT_ADDED"),
        (NewRecord("T", "a", "2026-01-01", ("",)), "EVIDENCE_NOT_ADDED"),
        (NewRecord("T", "a", "2026-01-01", ("\udc80",)), "EVIDENCE_NOT_ADDED"),
        (NewRecord("T", "a", "2026-01-01", file="/nowhere/x"), "EVIDENCE_NOT_ADDED"),
    ],
)
def test_nothing_is_written_for_a_faulty_record(tmp_path: Path, new: NewRecord, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        add_record(Project(tmp_path), new)
    assert caught.value.diagnostic.id == code
    assert [each.name for each in tmp_path.iterdir()] == [".brenner"]


def test_a_faulty_pack_is_not_extended(shell: Shell) -> None:
    (shell.folder / "brenner.toml").write_text('evidence_pack = "e.toml"\n', "utf-8")
    (shell.folder / "e.toml").write_text("[EV-001]\n", "utf-8")
    done = shell("evidence", "add", "--title", "T", "--source", "a")
    assert (done.code, "INVALID_EVIDENCE_RECORD" in done.err) == (1, True)
    assert (shell.folder / "e.toml").read_text("utf-8") == "[EV-001]\n"
    assert shell("evidence", "add", "--title", "T", "--source", "a", "--as", "Bob").code == 1
    assert shell("evidence", "add", "--title", "T").code == 2


def test_a_terminal_is_asked_for_what_is_missing(tmp_path: Path) -> None:
    brenner("init", cwd=tmp_path)
    shown = run_in_terminal(
        [sys.executable, "-m", "brenner", "--project", str(tmp_path), "evidence", "add"],
        {**os.environ, "TERM": "xterm"},
        80,
        typed="Clocks\ndoi:10.1000/182\n2026-01-02\nMarkers fluctuate.\n\n",
        has_keyboard=True,
        has_errors=True,
    )
    assert "Added `EV-001` with 1 excerpt" in shown
    pack = parse_pack((tmp_path / "evidence.toml").read_text("utf-8"), "evidence.toml").pack
    assert pack.find("EV-001#E1") == (pack.records["EV-001"], "Markers fluctuate.")


def test_an_unreadable_pack_stops_no_mail(shell: Shell) -> None:
    """Agents cannot correct it: sending warns, and so does the linter."""
    shell("init")
    (shell.folder / "brenner.toml").write_text('evidence_pack = "gone.toml"\n', "utf-8")
    done = shell(
        *("mail", "send", "--json", "--to", "Operator", "--thread", "bd-1"),
        *("--subject", "QUESTION: Which?", "--body", "## Question\nEV-001?\n\n## Urgency\nSoon\n"),
    )
    assert done.code == 0
    assert [each["id"] for each in done.json["violations"]] == ["EVIDENCE_NOT_CHECKED"]
