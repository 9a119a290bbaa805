"""The help teaches: commands in the order of work, a sentence, an example, short options."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from brenner.cli.help import epilog_lines
from brenner.cli.main import COMMANDS, cli
from brenner.cli.options import Command
from brenner.protocol.grammar import MESSAGE_TYPES
from commands import unknown
from parts import need
from program import brenner

ROOT = Path(__file__).parents[2]
# Scripts for several shells; the same command as `session start`
_OTHER_EXAMPLES = ("completion", "orchestrate start")
SECTIONS = ("Set up", "Run a session", "Write", "Read", "Connect agents and browsers")


def all_commands() -> dict[str, click.Command]:
    """Every command by its words, the groups included."""
    found: dict[str, click.Command] = {"": cli}
    todo: list[tuple[str, click.Command]] = [("", cli)]
    while todo:
        path, command = todo.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                found[f"{path} {name}".strip()] = below
                todo.append((f"{path} {name}".strip(), below))
    return found


EVERY = all_commands()


def shown(tmp_path: Path, *arguments: str) -> str:
    done = brenner(*arguments, cwd=tmp_path, COLUMNS="80")
    assert (done.code, done.err) == (0, "")
    return done.out


def test_the_top_lists_commands_in_the_order_of_work(tmp_path: Path) -> None:
    text = shown(tmp_path, "--help")
    places = [text.index(f"\n{section}:\n") for section in SECTIONS]
    assert places == sorted(places)
    for name, (_, _, _, about) in COMMANDS.items():
        assert len(re.findall(rf"^  {name} +{re.escape(about)}$", text, re.MULTILINE)) == 1
    assert "First time? `brenner demo`, then `brenner docs tutorial`.\n" in text
    assert "Exit codes:\n" in text


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path or "brenner")
def test_help_of_a_command(tmp_path: Path, path: str) -> None:
    """It fits into 80 columns, begins with a sentence and has an example that can be run."""
    command = EVERY[path]
    text = shown(tmp_path, *path.split(), "--help")
    assert max(map(len, text.splitlines())) <= 80
    assert isinstance(command, Command)
    assert (command.help or "").split("\n\n", 1)[0].rstrip().endswith(".")
    if not path:
        return
    title, lines = epilog_lines(command)
    assert title == "Examples"
    ours = [line for line in lines if line.startswith("brenner ")]
    assert any(line.startswith(f"brenner {path}") for line in lines) or path in _OTHER_EXAMPLES
    for line in ours:
        typed = re.split(r" [|>]+ ", line.removesuffix(" \\"))[0].removeprefix("brenner ")
        assert list(unknown(typed)) == []
    assert "Exit code" not in text or path == "demo"
    assert "Also: --json, --as NAME, --project DIR, --store URL (see `brenner --help`)." in text


@pytest.mark.parametrize("path", ["", "check", "mail", "mail send", "session start"])
def test_help_command(tmp_path: Path, path: str) -> None:
    words = path.split()
    assert shown(tmp_path, "help", *words) == shown(tmp_path, *words, "--help")
    document = brenner("help", *words, "--json", cwd=tmp_path).json
    assert document["command"] == " ".join(["brenner", *words])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("chek",), "Unknown command `chek`. Did you mean `check`?"),
        (("help", "mail", "sned"), "Unknown command `sned`. Did you mean `send`?"),
        (("inbox",), "Did you mean `brenner mail inbox`?"),
        (("send",), "Did you mean `brenner mail send`?"),
        (("help", "check", "all"), "`brenner check` has no commands."),
        (("nonsense",), "Unknown command `nonsense`.  → See `brenner --help`."),
    ],
)
def test_unknown_commands(tmp_path: Path, words: tuple[str, ...], hint: str) -> None:
    done = brenner(*words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err


def test_short_version(tmp_path: Path) -> None:
    assert shown(tmp_path, "-V") == shown(tmp_path, "--version")


def test_new_names_every_type() -> None:
    text = EVERY["new"].help or ""
    assert set(re.findall(r"\b[A-Z]{3,}\b", text)) - {"TYPE"} == set(MESSAGE_TYPES)


# The pages that are generated from the help


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/command_pages.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 0)


def test_manual_pages_are_well_formed() -> None:
    from shutil import which

    need(which("mandoc"), "mandoc is not there")
    pages = sorted((ROOT / "man").glob("*.1"))
    done = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", *pages], capture_output=True, text=True, check=False
    )
    # The pages have no date: they would differ from day to day.
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
