"""What a person sees of a thread's versions: 80 and 140 columns, colour, none, odd text, pages."""

import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from brenner.cli.main import run
from brenner.cli.terminal import display_width
from replayed_histories import Played, play
from terminal import at_terminal, in_terminal

Look = Callable[..., str]

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
STRUCK = "\x1b[2m\x1b[9m"
COMMANDS = [
    ["show"],
    ["show", "--item", "H1"],
    ["history"],
    ["diff"],
    ["blame"],
    ["blame", "H1"],
    ["blame", "--history"],
    ["ledger"],
    ["ledger", "--all"],
    ["verify"],
    ["lint"],
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A thread whose texts mean harm."""
    return play("hostile_text", tmp_path_factory.mktemp("hostile"))


class Screen(io.TextIOWrapper):
    """An output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """Run a command in this process on a screen of that width; what it wrote."""

    def looked(width: int, *arguments: str, **environment: str) -> str:
        raw = io.BytesIO()
        screen = Screen(raw, "utf-8")
        with monkeypatch.context() as patch:
            for name in ("NO_COLOR", "AGENT_NAME", "BRENNER_STORE"):
                patch.delenv(name, raising=False)
            for name, value in {"TERM": "xterm", "COLUMNS": str(width), **environment}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", screen)
            patch.setattr(sys, "stdin", io.StringIO())
            run(list(arguments))
        screen.flush()
        return raw.getvalue().decode()

    return looked


def arguments(played: Played, command: list[str], version: str = "") -> list[str]:
    """The command on the thread, or on one version of it."""
    name, *rest = command
    target = f"{played.thread_id}{version}"
    return ["--project", str(played.folder), "artifact", name, target, *rest]


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_fits_and_nothing_is_obeyed(
    hostile: Played, look: Look, command: list[str], width: int
) -> None:
    """No line is wider than the terminal; with colour and without the same words; our own styles
    and line ends are all that the terminal obeys.
    """
    coloured = look(width, *arguments(hostile, command))
    plain = look(width, *arguments(hostile, command), NO_COLOR="1")
    assert ESCAPE.search(coloured)
    assert not ESCAPE.search(plain)
    for shown in (ESCAPE.sub("", coloured), plain):
        assert max(map(display_width, shown.splitlines())) <= width
        assert all(each == "\n" or each.isprintable() for each in shown)
    if command[0] != "diff":  # which has signs for words where there is no colour
        assert ESCAPE.sub("", coloured) == plain


def test_show_tells_what_matters_at_the_top(conflict: Played, look: Look) -> None:
    """Version, verdict and contributors in one line; open conflicts under it."""
    shown = look(140, *arguments(conflict, ["show"], "@v2"), NO_COLOR="1").splitlines()
    assert shown[0] == f"Brenner Protocol Artifact: {conflict.thread_id}"
    assert shown[1].startswith(
        "v2 · draft · not valid: 6 errors, 4 warnings, 1 info · from GreenHill, BlueLake, RedSky · "
        "compiled 20"
    )
    assert shown[2] == (
        "2 open conflicts: H1.anchors, T1.feasibility. To resolve each, send an EDIT of the "
        "field with `**Base Version**: v2`."
    )


def test_conflicts_stand_side_by_side(conflict: Played, look: Look) -> None:
    """Both values with their authors on one line where there is room; else one under the other."""
    wide = look(80, *arguments(conflict, ["show"], "@v2"), NO_COLOR="1")
    assert (
        "      Open conflict: Feasibility\n"
        "      RedSky, message 5, v2 (current)       BlueLake, message 4, v2\n"
        "      Two weeks with a morpholino           Two months with CRISPR knock-in\n"
    ) in wide
    narrow = look(50, *arguments(conflict, ["show"], "@v2"), NO_COLOR="1")
    assert (
        "      RedSky, message 5, v2 (current)\n"
        "        Two weeks with a morpholino\n"
        "      BlueLake, message 4, v2\n"
    ) in narrow


def test_what_is_killed_is_struck(conflict: Played, look: Look) -> None:
    """And dimmed, its reason at full strength."""
    shown = look(80, *arguments(conflict, ["show"]))
    assert f"{STRUCK}Coupling\x1b[0m" in shown
    assert f"{STRUCK}Notch between cells sets the period\x1b[0m" in shown
    assert "  Single cells oscillate with the period of the tissue\n" in shown


def test_columns_of_blame_line_up(conflict: Played, look: Look) -> None:
    """Values begin in one column; a wide terminal shows more of them."""
    rows = {}
    for width in (80, 140):
        shown = look(width, *arguments(conflict, ["blame"], "@v3"), NO_COLOR="1")
        lines = [line for line in shown.splitlines()[4:] if not line.startswith(" ")]
        starts = {re.match(r".*? v\d  ", line).end() for line in lines}  # type: ignore[union-attr]
        assert len(starts) == 1
        rows[width] = next(line for line in lines if line.startswith("RT.statement"))
    assert rows[80].endswith("…")
    assert rows[140].startswith(rows[80][:-1])
    assert len(rows[140]) > len(rows[80])


def test_a_real_terminal_shows_the_same(conflict: Played, look: Look) -> None:
    """What is said above holds of real ones."""
    asked = arguments(conflict, ["show"])
    assert in_terminal(80, *asked) == look(80, *asked)


@pytest.mark.parametrize("command", [["show"], ["blame", "--history"], ["lint"]], ids=" ".join)
def test_long_ones_are_paged(conflict: Played, command: list[str], tmp_path: Path) -> None:
    """Through the reader's pager, where somebody sits; not with --no-pager."""
    pager = tmp_path / "pager.sh"
    pager.write_text("#!/bin/sh\nsed 's/^/PAGED /'\n", "utf-8")
    pager.chmod(0o755)
    asked = arguments(conflict, command)
    paged = at_terminal(40, *asked, PAGER=shlex.quote(str(pager)), NO_COLOR="1")
    assert paged.startswith("PAGED ")
    assert "PAGED" not in at_terminal(40, *asked, "--no-pager", PAGER=str(pager), NO_COLOR="1")
