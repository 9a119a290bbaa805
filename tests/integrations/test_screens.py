"""Real screens of Claude Code 2.1, Codex 0.169 and Gemini 0.61: where a line may be typed.

Each file of `screens/` has the cursor's column and row, then the screen with its colours.
"""

from pathlib import Path
from types import MappingProxyType

import pytest

from brenner.integrations.screens import (
    DIALOG,
    NO_PROMPT,
    UNSENT_TEXT,
    enter_obstacle,
    prompt_obstacle,
)

SCREENS = Path(__file__).parent / "screens"
LINE = "BlueLake: there is mail for you in the thread RS-20260105-phage-proteins. Call the tool x."
# What each program shows, by the end of the file's name: trust, a key and a model are asked for at
# the start; permission while it works; unsent text has the cursor at its end, or at its beginning.
WANTED = MappingProxyType(
    {
        "trust": DIALOG,
        "key": DIALOG,
        "model": DIALOG,
        "restarting": DIALOG,
        "permission": DIALOG,
        "unsent": NO_PROMPT,
        "home": UNSENT_TEXT,
        "empty": "",
    }
)
FILES = sorted(SCREENS.glob("*.txt"))


def read(file: Path) -> tuple[str, int, int]:
    cursor, _, screen = file.read_text("utf-8").partition("\n")
    column, row = map(int, cursor.split())
    return screen, column, row


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_real_screens(file: Path) -> None:
    kind = file.stem.partition("-")[2]
    assert prompt_obstacle(*read(file)) == WANTED[kind]


def test_all_programs_are_shown() -> None:
    programs = ("claude", "codex", "gemini")
    kinds = ("trust", "permission", "unsent", "home", "empty")
    assert {f"{a}-{b}" for a in programs for b in kinds} <= {file.stem for file in FILES}


@pytest.mark.parametrize(
    ("screen", "column", "wanted"),
    [
        (">", 2, ""),
        ("❯ ", 2, ""),
        ("│ > │", 4, ""),
        ("› \x1b[2mAsk anything", 2, ""),
        ("› \x1b[2;38;5;244mAsk anything", 2, ""),
        ("› \x1b[38;5;2mred, not dim", 2, UNSENT_TEXT),
        ("› \x1b[2mdim\x1b[22m no more", 2, ""),
        ("› \x1b[2m \x1b[0mtext", 2, UNSENT_TEXT),
        ("> text", 2, UNSENT_TEXT),
        ("> text", 6, NO_PROMPT),
        ("", 0, NO_PROMPT),
        (">>> ", 4, NO_PROMPT),
        ("$ ", 2, NO_PROMPT),
        ("name> ", 6, NO_PROMPT),
        ("Proceed? [y/N] ", 15, DIALOG),
        ("Proceed? (yes/no)\n> ", 2, DIALOG),
        ("❯ 1. Yes\n  2. No\n\n>", 2, DIALOG),
        ("┃ ● 2) No\n>", 2, DIALOG),
        (">\n❯ 1. Yes", 2, DIALOG),
        ("❯ 1. Yes" + "\n." * 30 + "\n>", 2, ""),
        ("1. First, 2. second\n>", 2, ""),
    ],
)
def test_made_up_screens(screen: str, column: int, wanted: str) -> None:
    lines = screen.split("\n")
    row = next((n for n, each in enumerate(lines) if each == ">"), len(lines) - 1)
    assert prompt_obstacle(screen, column, row) == wanted


def test_a_cursor_outside_the_screen() -> None:
    assert prompt_obstacle("> ", 2, 5) == NO_PROMPT


@pytest.mark.parametrize(
    ("screen", "wanted"),
    [
        (f"❯ {LINE}", ""),
        (f"│ > {LINE[:40]} │\n│   {LINE[40:]} │", ""),
        (f"❯ x{LINE}", NO_PROMPT),
        ("❯ ", NO_PROMPT),
        ("Connecting …", NO_PROMPT),
        (f"❯ {LINE}\nDo you want to proceed?\n❯ 1. Yes\n  2. No", DIALOG),
    ],
)
def test_enter(screen: str, wanted: str) -> None:
    """Pressed only where the prompt shows what was typed, and no dialog has opened since."""
    assert enter_obstacle(screen, screen.count("\n"), LINE) == wanted
