"""`brenner mail export` and `import`, and files that are written whole or not at all."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from archive_samples import record
from brenner.cli.io import write_atomically
from brenner.diagnostics.model import UnavailableError
from brenner.mail.archive import jsonl
from mail_shell import HOSTILE, QUESTION, THREAD, Shell


@pytest.mark.parametrize("form", ["jsonl", "mbox"])
def test_export_and_import(office: Shell, tmp_path: Path, form: str) -> None:
    """Everything comes back, with ids, times and hashes; a second time nothing is added."""
    office.send("QUESTION: x?", QUESTION + HOSTILE, "--as", "BlueLake", to="Operator,RedCreek")
    office.mail("ack", "1", "--as", "RedCreek")
    file = tmp_path / f"mail.{form}"
    done = office.mail("export", str(file))
    size = file.stat().st_size
    assert done.out.startswith(f"Wrote {file}: 2 messages, {size:,} bytes of {form}.\n")
    assert office.mail("export", str(file), "--force", "--json").json == {
        "file": str(file),
        "format": form,
        "messages": 2,
        "bytes": size,
        "empty": False,
    }
    assert office.mail("export", "--format", form).raw == file.read_bytes()
    other = Shell(tmp_path / "other", office.patch)
    other.folder.mkdir()
    taken = other.mail("import", str(file))
    assert taken.out.splitlines()[:2] == [
        "Imported 2 messages.",
        "  New here: BlueLake and RedCreek.",
    ]
    assert "Imported 0 messages; 2 were here already." in other.mail("import", str(file)).out
    here, there = (each.mail("thread", THREAD, "--json").json for each in (office, other))
    for page in (here, there):
        for message in page["messages"]:
            message["local"], message["trust"] = None, None
    assert here == there
    assert "imported" in other.mail("thread", THREAD).out
    piped = other.mail("import", "-", "--json", stdin=file.read_bytes()).json
    nothing = {"added": 0, "renumbered": [], "new_agents": [], "accepted": 0}
    assert piped == nothing | {"skipped": 2}


def test_import_says_new_numbers(office: Shell, tmp_path: Path) -> None:
    """Ids that are taken here are told with the new ones."""
    office.send("INFO: theirs", "x", to="BlueLake")
    file = tmp_path / "mail.jsonl"
    office.mail("export", str(file))
    other = Shell(tmp_path / "other", office.patch)
    other.folder.mkdir()
    other.mail("register", "BlueLake")
    other.send("INFO: ours", "x", to="BlueLake")
    assert "Ids that could not stay as they were: 1 → 2." in other.mail("import", str(file)).out


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
    for form in ("jsonl", "mbox"):
        office.send(f"INFO: {form}", "x", to="BlueLake")
    for form, borders in {"jsonl": b"\n", "mbox": b"\nFrom "}.items():
        whole = office.mail("export", "--format", form).raw
        file = tmp_path / f"cut.{form}"
        other = Shell(tmp_path / f"other-{form}", office.patch)
        other.folder.mkdir()
        file.write_bytes(whole[: whole.rindex(borders, 0, -1) + 1])
        done = other("mail", "import", str(file))
        assert (done.code, done.out) == (1, "")
        assert "INVALID_RECORD" in done.err
        assert "the file was probably cut short" in done.err
        assert "Nothing was imported: 1 error." in done.err
        assert other.mail("thread", "--json").json == {"threads": []}


def test_export_never_over_a_file(office: Shell, tmp_path: Path) -> None:
    """Not without --force; never over what is no file; a failure leaves nothing behind."""
    file = tmp_path / "out" / "mail.jsonl"
    missing = office("mail", "export", str(file))
    assert (missing.code, missing.out) == (3, "")
    assert "OUTPUT_CLOSED" in missing.err
    file.parent.mkdir()
    file.write_text("mine", "utf-8")
    refused = office("mail", "export", str(file))
    assert (refused.code, file.read_text("utf-8")) == (2, "mine")
    assert "--force" in refused.err
    assert office.mail("export", str(file), "--force", "--json").json["format"] == "jsonl"
    assert file.read_text("utf-8").startswith('{"format"')
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for other in (file.parent, pipe):
        assert office("mail", "export", str(other), "--force").code == 2
    assert pipe.is_fifo()
    assert list(file.parent.iterdir()) == [file]
    assert office("mail", "export", "--json").code == 2


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A file that cannot be finished is not there; the one that was there before still is."""

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError(28, "No space left on device")

    file = tmp_path / "mail.jsonl"
    with pytest.raises(UnavailableError, match="no space left"):
        write_atomically(str(file), broken(), replace=False)
    assert list(tmp_path.iterdir()) == []
    file.write_bytes(b"old")
    with pytest.raises(UnavailableError):
        write_atomically(str(file), broken(), replace=True)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_export_of_nothing_is_told(shell: Shell, tmp_path: Path) -> None:
    """An empty archive from the wrong folder must not look like a copy of the mail."""
    done = shell.mail("export", str(tmp_path / "mail.jsonl"))
    assert "There is no mail in this project" in done.err


@pytest.mark.parametrize(
    ("text", "code", "exit_code"),
    [
        (b"root:x:0:0\n", "NOT_AN_ARCHIVE", 2),
        (b"", "NOT_AN_ARCHIVE", 2),
        (b'{"format":"brenner-mail","version":99}\n', "ARCHIVE_TOO_NEW", 2),
        (b'{"format":"brenner-mail","version":1}\n{"id": 1}\n', "INVALID_RECORD", 1),
    ],
)
def test_import_faults(
    office: Shell, tmp_path: Path, text: bytes, code: str, exit_code: int
) -> None:
    """What is wrong, and that nothing came in."""
    file = tmp_path / "mail.jsonl"
    file.write_bytes(text)
    done = office("mail", "import", str(file))
    assert (done.code, done.out) == (exit_code, "")
    assert code in done.err
    assert "othing was imported" in done.err
    assert office("mail", "import", str(file), "--json").codes == [code]
    assert office("mail", "import", str(tmp_path / "none"), "--json").codes == ["UNREADABLE_INPUT"]
