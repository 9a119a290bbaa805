"""Recognise, on the screen of an agent's program, an empty prompt that a line may be typed into.

A program is typed to only if its cursor is at an empty prompt. Everything else counts as a dialog:
Enter would answer a question that is meant for the operator, such as "Do you trust this folder?".
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALOG = "its screen shows a dialog; answer it first"
UNSENT_TEXT = "its prompt contains text that was not sent"
NO_PROMPT = "its screen shows no empty prompt"

# `tmux capture-pane -e` returns colours, links and character sets as escape sequences.
_ESCAPE = lazy_pattern(r"\x1b\[([0-9;:]*+)m|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)|[\x0e\x0f]")
_FRAME = " \t\u00a0│┃|"
# The prompts of Claude Code, Codex and Gemini, also in a frame. `>>>` belongs to an interpreter.
_PROMPT = lazy_pattern(rf"[{_FRAME}]*+[❯›>][ \t\u00a0]*+")
_CHOICE = lazy_pattern(rf"[{_FRAME}]*+[❯›>●][ \t\u00a0]*+[0-9]{{1,2}}[.)] .*+", re.DOTALL)
_YES_OR_NO = lazy_pattern(r"[\[(](?:y|yes)/(?:n|no)[\])]", re.IGNORECASE)
_FAR_LINES, _NEAR_LINES = 20, 3
# A hint that is shown in an empty prompt, by a program that does not dim it
_HINTS = ("Type your message or @path/to/file",)
_NORMAL, _DIM, _NOT_DIM = 0, 2, 22
_COLOURS = (38, 48, 58)  # the numbers after them are a colour


def prompt_obstacle(screen: str, column: int, row: int) -> str:
    """Return why no line may be typed, empty if the cursor is at an empty prompt.

    `screen` is the text of a pane with its escape sequences, `column` and `row` its cursor.
    """
    raw = screen.split("\n")
    lines = [_ESCAPE.sub("", line) for line in raw]
    if row >= len(lines):
        return NO_PROMPT
    if not _PROMPT.fullmatch(lines[row][:column]):
        return DIALOG if _shows_dialog(lines, row, _FAR_LINES) else NO_PROMPT
    if _shows_dialog(lines, row, _NEAR_LINES):
        return DIALOG
    after = lines[row][column:].strip(_FRAME)
    is_hint = not after or after in _HINTS or _is_dim(raw[row], column)
    return "" if is_hint else UNSENT_TEXT


def enter_obstacle(screen: str, row: int, text: str) -> str:
    """Return why Enter may not be pressed, empty if the prompt shows the text that was typed."""
    lines = [_ESCAPE.sub("", line) for line in screen.split("\n")]
    typed = [number for number, line in enumerate(lines) if _is_typed(line, text)]
    if not typed:
        return DIALOG if _shows_dialog(lines, row, _FAR_LINES) else NO_PROMPT
    return DIALOG if _shows_dialog(lines, typed[-1], 0) else ""


def _is_typed(line: str, text: str) -> bool:
    """Return whether a prompt begins with the text; a narrow pane wraps the rest."""
    prompt = _PROMPT.match(line)
    shown = line[prompt.end() :].strip(_FRAME) if prompt else ""
    return bool(shown) and text.startswith(shown)


def _shows_dialog(lines: list[str], row: int, most: int) -> bool:
    """Return whether there is a choice, or a question that takes yes or no, from the row on.

    At most so many lines with text above the row count: a dialog that was answered may stay there.
    """
    above = [line for line in lines[:row] if line.strip(_FRAME)]
    near = [*above[len(above) - min(most, len(above)) :], *lines[row:]]
    return any(_CHOICE.fullmatch(line) or _YES_OR_NO.search(line) for line in near)


def _is_dim(line: str, column: int) -> bool:
    """Return whether the first character from the column on is dimmed, as hints are."""
    dimmed = (is_dim for character, is_dim in _characters(line))
    characters = [character for character, _ in _characters(line)]
    spaces = len(characters[column:]) - len("".join(characters[column:]).lstrip(_FRAME))
    return next(islice(dimmed, column + spaces, None), False)


def _characters(line: str) -> Iterator[tuple[str, bool]]:
    """Yield each character of a line, and whether it is dimmed."""
    is_dim, start = False, 0
    for escape in _ESCAPE.finditer(line):
        yield from ((character, is_dim) for character in line[start : escape.start()])
        start = escape.end()
        if escape[1] is not None:
            is_dim = _dim_after(escape[1], is_dim=is_dim)
    yield from ((character, is_dim) for character in line[start:])


def _dim_after(parameters: str, *, is_dim: bool) -> bool:
    numbers = iter([int(each or 0) for each in parameters.replace(":", ";").split(";")])
    for number in numbers:
        if number in _COLOURS:
            kind = next(numbers, 0)
            list(islice(numbers, 1 if kind == 5 else 3))  # noqa: PLR2004  (a number, or a triple)
        elif number in (_NORMAL, _NOT_DIM):
            is_dim = False
        elif number == _DIM:
            is_dim = True
    return is_dim
