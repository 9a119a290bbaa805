"""`brenner mail export` and `import`, and files that are written whole or not at all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from archive_samples import record
from brenner.mail.archive import jsonl
from mail_shell import HOSTILE, QUESTION, THREAD, Shell


def test_export_and_import(office: Shell, tmp_path: Path) -> None:
    """Everything comes back, with ids, times and hashes; a second time nothing is added."""
    office.send("QUESTION: x?", QUESTION + HOSTILE, "--as", "BlueLake", to="Operator,RedCreek")
    office.mail("ack", "1", "--as", "RedCreek")
    file = tmp_path / "mail.jsonl"
    done = office.mail("export", str(file))
    size = file.stat().st_size
    assert done.out.startswith(f"Wrote {file}: 2 messages, {size:,} bytes of jsonl.\n")
    assert office.mail("export", str(file), "--force", "--json").json == {
        "file": str(file),
        "format": "jsonl",
        "messages": 2,
        "bytes": size,
        "empty": False,
    }
    assert office.mail("export", "--format", "jsonl").raw == file.read_bytes()
    other = Shell(tmp_path / "other", office.patch)
    other.folder.mkdir()
    taken = other.mail("import", str(file))
    assert taken.out.splitlines()[:2] == [
        "Imported 2 messages.",
        "  New agents: BlueLake and RedCreek.",
    ]
    assert "Imported 0 messages; 2 were already here." in other.mail("import", str(file)).out
    here, there = (each.mail("thread", THREAD, "--json").json for each in (office, other))
    for page in (here, there):
        for message in page["messages"]:
            message["local"], message["trust"] = None, None
    assert here == there
    assert "imported" in other.mail("thread", THREAD).out
    piped = other.mail("import", "-", "--json", stdin=file.read_bytes()).json
    nothing = {"added": 0, "renumbered": [], "new_agents": [], "accepted": 0}
    assert piped == nothing | {"skipped": 2}


@pytest.mark.parametrize("name", ["", "link/"])
def test_an_export_replaces_plain_files_only(office: Shell, tmp_path: Path, name: str) -> None:
    """An empty name is the folder here; a slash does not hide that a link is replaced."""
    office.patch.chdir(tmp_path)
    Path("link").symlink_to("file.jsonl")
    Path("file.jsonl").write_text("mine")
    for options, reason in (["--force"], "is not a regular file"), ([], "exists. Use --force"):
        refused = office("mail", "export", name, *options)
        assert (refused.code, reason in refused.err) == (2, True)
    assert Path("link").is_symlink()
    assert Path("file.jsonl").read_text() == "mine"


def test_import_says_new_numbers(office: Shell, tmp_path: Path) -> None:
    """Ids that are taken here are told with the new ones."""
    office.send("INFO: theirs", "x", to="BlueLake")
    file = tmp_path / "mail.jsonl"
    office.mail("export", str(file))
    other = Shell(tmp_path / "other", office.patch)
    other.folder.mkdir()
    other.mail("register", "BlueLake")
    other.send("INFO: ours", "x", to="BlueLake")
    assert "Changed message IDs: 1 → 2." in other.mail("import", str(file)).out


def test_a_far_id_is_no_end(office: Shell, tmp_path: Path) -> None:
    """An archive with the last id that there is leaves the next ones to this store."""
    file = tmp_path / "mail.jsonl"
    file.write_text("".join(jsonl.encode([], [record(2**53 - 1)])), "utf-8")
    assert f"{2**53 - 1} → 1." in office.mail("import", str(file)).out
    assert office.send("INFO: ours", "x", to="BlueLake") == 2


@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_nobody_waits_for_a_slow_pipe(office: Shell, source: str) -> None:
    """While an archive is still coming in, others send mail; then it is imported."""
    records = [record(number, body="x" * 5_000) for number in range(1, 201)]
    *most, end = jsonl.encode([], records)
    command = ["-m", "brenner", "--project", str(office.folder), "mail", "import", source, "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *command], stdin=pipe, stdout=pipe) as importing:
        assert importing.stdin
        # More than the pipe holds: when it is written, the program has read nearly all of it.
        importing.stdin.write("".join(most).encode())
        importing.stdin.flush()
        assert office.send("INFO: ours", "x", to="BlueLake") == 1
        out, _ = importing.communicate(end.encode(), timeout=120)
    assert importing.returncode == 0
    assert json.loads(out)["added"] == 200


def test_a_pipe_that_brings_no_archive(office: Shell) -> None:
    """It is not awaited: the first line says enough."""
    command = ["-m", "brenner", "--project", str(office.folder), "mail", "import", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *command], stdin=pipe, stderr=pipe) as importing:
        assert importing.stdin
        assert importing.stderr
        importing.stdin.write(b"\nroot:x:0:0\n")
        importing.stdin.flush()
        assert importing.wait(60) == 2  # with the pipe still open
        assert b"NOT_AN_ARCHIVE" in importing.stderr.read()


def test_an_archive_cut_short_is_not_imported(office: Shell, tmp_path: Path) -> None:
    """Also between two messages; what was wrong and where is told."""
    for subject in ("INFO: one", "INFO: two"):
        office.send(subject, "x", to="BlueLake")
    whole = office.mail("export").raw
    file = tmp_path / "cut.jsonl"
    other = Shell(tmp_path / "other", office.patch)
    other.folder.mkdir()
    file.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    done = other("mail", "import", str(file))
    assert (done.code, done.out) == (1, "")
    assert "INVALID_RECORD" in done.err
    assert "the file was probably cut short" in done.err
    assert "Nothing was imported: 1 error." in done.err
    assert other.mail("thread", "--json").json == {"threads": []}


def test_an_mbox_is_written_and_not_read(office: Shell, tmp_path: Path) -> None:
    """The refusal names JSON lines, whether the file or the option says that it is an mbox."""
    office.send("INFO: one", "x", to="BlueLake")
    file = tmp_path / "mail.mbox"
    done = office.mail("export", str(file))
    assert f"{file.stat().st_size:,} bytes of mbox.\n" in done.out
    assert "mail import" not in done.out
    for options in ((), ("--format", "mbox")):
        refused = office("mail", "import", str(file), *options)
        assert (refused.code, refused.out) == (2, "")
        assert "NOT_AN_ARCHIVE" in refused.err
        assert "JSON lines" in refused.err
    piped = office("mail", "import", "-", "--json", stdin=file.read_bytes())
    assert (piped.code, piped.codes) == (2, ["NOT_AN_ARCHIVE"])
