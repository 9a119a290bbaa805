"""Bad input ends in a named code and an exit code, never in a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brenner.limits import MOST_BLOCKS, MOST_BODY_BYTES, MOST_JSON_DEPTH
from brenner.protocol.validate import check_message
from parts import need
from program import call

HEADERS = b"Thread: RS-20251230-cell-fate-dichotomy\nFrom: A\nTo: B\nSubject: DELTA[opus]: x\n\n"
KILL = '"operation":"KILL","section":"anomaly_register","target_id":"X1","rationale":"r"'
SMALL = f"```delta\n{{{KILL}}}\n```\n"


def block(text: str) -> bytes:
    """A DELTA with one block."""
    return HEADERS + f"```delta\n{text}\n```\n".encode()


def check(raw: bytes, *arguments: str) -> tuple[int, list[str]]:
    """Run `check --json` on these bytes; the exit code and the codes."""
    done = call("check", "--json", *arguments, stdin=raw)
    assert "Traceback" not in done.err
    return done.code, done.codes


CASES = {
    "not UTF-8": (b"Subject: caf\xe9\n", 2, "NOT_UTF8"),
    "UTF-16": ("Subject: INFO: x\n\nx".encode("utf-16"), 2, "NOT_UTF8"),
    "a NUL byte": (HEADERS + b"a\0b", 1, "NUL_CHARACTER"),
    "only NUL bytes": (b"\0" * 1000, 1, "NUL_CHARACTER"),
    "50 MB": (HEADERS + b"x" * 50_000_000, 1, "MESSAGE_TOO_LARGE"),
    "empty": (b"", 1, "EMPTY_MESSAGE"),
    "only blank lines": (b"\n \n\t\n", 1, "EMPTY_MESSAGE"),
    "only a byte order mark": (b"\xef\xbb\xbf", 1, "EMPTY_MESSAGE"),
    "100,000 blocks": (HEADERS + b"```delta\n{}\n```\n" * 100_000, 1, "TOO_MANY_BLOCKS"),
    "JSON 100,000 deep": (block("[" * 100_000 + "]" * 100_000), 1, "JSON_TOO_DEEP"),
    "objects 30,000 deep": (block('{"a":' * 30_000 + "1" + "}" * 30_000), 1, "JSON_TOO_DEEP"),
    "unclosed 100,000 deep": (block("[" * 100_000), 1, "JSON_TOO_DEEP"),
    "duplicate keys": (block('{"a": 1, "a": 2}'), 1, "JSON_DUPLICATE_KEY"),
    "a number of 5,000 digits": (block('{"a": ' + "1" * 5000 + "}"), 1, "JSON_NUMBER_TOO_LONG"),
    "a float of 5,000 digits": (block('{"a": 0.' + "1" * 5000 + "}"), 1, "JSON_NUMBER_TOO_LONG"),
    "an exponent of 5,000 digits": (
        block('{"a": 1e' + "1" * 5000 + "}"),
        1,
        "JSON_NUMBER_TOO_LONG",
    ),
    "a block of 300 KB": (block('{"a": "' + "x" * 300_000 + '"}'), 1, "BLOCK_TOO_LARGE"),
    "30,000 values and no name": (
        block(
            '{"operation":"ADD","section":"hypothesis_slate","payload":{"anchors":['
            + ",".join(['"§1"'] * 30_000)
            + "]}}"
        ),
        1,
        "INVALID_JSON",
    ),
    "a megabyte of backticks": (HEADERS + b"`" * 1_000_000, 1, "MB-004"),
    "a megabyte of fences": (HEADERS + b"```\n" * 250_000, 1, "MB-004"),
    "fences of falling length": (
        HEADERS + b"\n".join(b"`" * n for n in range(1400, 2, -1)),
        1,
        "MB-004",
    ),
    "a megabyte of quotations": (HEADERS + b"> " * 500_000, 1, "MB-004"),
    "a megabyte of lists": (HEADERS + b"- " * 500_000, 1, "MB-004"),
    "a megabyte of braces": (HEADERS + b"{" * 1_000_000, 1, "MB-004"),
    "a megabyte of half objects": (HEADERS + b'{"operation":' * 70_000, 1, "MB-004"),
    "a megabyte of comments": (HEADERS + b"{/*" * 300_000, 1, "MB-004"),
    "a megabyte of brackets": (HEADERS + b"[" * 1_000_000, 1, "MB-004"),
    "a subject of a megabyte": (HEADERS.replace(b" x\n", b" " * 1_000_000 + b"\n"), 1, "MB-004"),
    "12,000 unknown fields": (
        block('{"a":1,' + ",".join(f'"k{n}":1' for n in range(12_000)) + "}"),
        1,
        "MISSING_REQUIRED_FIELD",
    ),
}


@pytest.mark.parametrize(("raw", "code", "expected"), CASES.values(), ids=CASES)
def test_bad_input(raw: bytes, code: int, expected: str, tmp_path: Path) -> None:
    """It ends in the named code, also where a project takes messages of every length."""
    (tmp_path / "brenner.toml").write_text("max_message_kib = 4096\n")
    found, ids = check(raw, "--project", str(tmp_path))
    assert expected in ids
    assert found == code


def test_limits_are_exact() -> None:
    """What is just within a limit passes, what is just beyond does not."""
    headers = HEADERS.decode()
    assert check_message(headers + SMALL * 10).valid
    many = headers + SMALL * (MOST_BLOCKS + 1)
    assert "TOO_MANY_BLOCKS" in {found.id for found in check_message(many).violations}
    assert len(check_message(many).deltas) == MOST_BLOCKS + 1
    most = headers + SMALL + "x" * (MOST_BODY_BYTES - len(headers) - len(SMALL))
    assert check_message(most).valid
    assert [found.id for found in check_message(most + "x").violations] == ["MESSAGE_TOO_LARGE"]
    for depth, expected in (
        (MOST_JSON_DEPTH - 1, "UNKNOWN_FIELD"),
        (MOST_JSON_DEPTH, "JSON_TOO_DEEP"),
    ):
        text = f'{{{KILL},"x":{"[" * depth}{"]" * depth}}}'
        ids = {found.id for found in check_message(block(text).decode()).violations}
        assert ids == {expected}


def test_digits_in_the_name_of_a_source() -> None:
    """A range in the name of an external source is only a name, however long its numbers."""
    anchor = f"[external: §{'9' * 5000}-1 x]"
    delta = (
        '{"operation": "EDIT", "section": "research_thread", "target_id": "RT", '
        f'"payload": {{"anchors": ["{anchor}"]}}, "rationale": "r"}}'
    )
    assert check(block(delta)) == (0, [])


def test_a_directory(tmp_path: Path) -> None:
    """A directory, a missing file, a name that no file can have: unreadable, exit code 2."""
    for name in (str(tmp_path), str(tmp_path / "none"), "a\0b"[:1] + "/" * 5000):
        code, ids = check(b"", name)
        assert (code, ids) == (2, ["UNREADABLE_INPUT"])


def test_closed_input() -> None:
    """The standard input is closed."""
    command = f"'{sys.executable}' -m brenner check --json - <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == 2
    assert json.loads(done.stdout)["violations"][0]["id"] == "UNREADABLE_INPUT"


def test_closed_output(tmp_path: Path) -> None:
    """The reader of the output goes away: exit code 3, no message, no traceback."""
    path = tmp_path / "many.md"
    path.write_bytes(HEADERS + b"```delta\n{}\n```\n" * 1500)
    command = f"'{sys.executable}' -m brenner check '{path}'; echo $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"{{ {command}; }} | true"], capture_output=True, check=False
    )
    assert done.stderr.decode() == "3\n"


def test_full_disk() -> None:
    """The output has no room: exit code 3, and it is said."""
    need(Path("/dev/full").exists(), "there is no /dev/full, so a full disk is not tested")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "brenner", "explain"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert b"OUTPUT_CLOSED" in done.stderr
    assert b"Traceback" not in done.stderr


def test_plain_encoding() -> None:
    """A terminal that claims to know only ASCII gets UTF-8 all the same, never a traceback."""
    env = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "brenner", "explain", "MOJIBAKE_ANCHOR"],
        capture_output=True,
        check=True,
        env=env,
    )
    assert "¬ß42" in done.stdout.decode()
