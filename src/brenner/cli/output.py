"""Output of commands: JSON documents, diagnostics, styles, and progress on the standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TextIO

import click

from brenner.cli.options import Command
from brenner.diagnostics.model import Diagnostic, Severity, Summary, is_error, worst_first
from brenner.lazy_pattern import lazy_pattern
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from brenner.diagnostics.repeats import Repeats

_COLOURS = {Severity.ERROR: "magenta", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_MAX_WIDTH = 140
_CHANGES_MADE_KEY = "brenner.done"


def write_json(document: object) -> None:
    """Write one JSON document to the standard output.

    Escape characters that a terminal would interpret.
    """
    lines = json.dumps(document, ensure_ascii=False, indent=2).split("\n")
    sys.stdout.writelines(f"{_escape_unprintable(line)}\n" for line in lines)


def _escape_unprintable(line: str) -> str:
    """Escape unprintable characters as JSON does.

    They occur only inside strings, so the value is the same.
    """
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)


def failure_json(*found: Diagnostic, context: click.Context | None = None) -> dict[str, object]:
    """Return the JSON document of a failed command, with the keys that it always has.

    The context is by default that of the command which runs.
    """
    context = context or click.get_current_context(silent=True)
    command = context.command if context else None
    defaults = command.json_defaults if isinstance(command, JsonCommand) else {}
    violations = [each.to_json() for each in found]
    summary = Summary.of(found)._asdict()
    return {**defaults, "valid": False, "summary": summary, "violations": violations}


class JsonCommand(Command):
    """A command whose JSON document always has certain keys.

    `json_defaults` are their values on failure.
    """

    def __init__(
        self, *arguments: Any, json_defaults: Mapping[str, object], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.json_defaults = json_defaults


def note_changes_made() -> None:
    """Record that the command has changed something. From now on only its report can fail."""
    click.get_current_context().meta[_CHANGES_MADE_KEY] = True


def were_changes_made(context: click.Context) -> bool:
    return _CHANGES_MADE_KEY in context.meta


def supports_styles(stream: TextIO) -> bool:
    """Return whether the stream shows styles: a terminal, without NO_COLOR, and not a dumb one."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def styled(text: str, stream: TextIO, **style: object) -> str:
    """Return the text in a style, or unchanged if the stream supports no styles."""
    return click.style(text, **style) if supports_styles(stream) else text  # type: ignore[arg-type]


def terminal_width(stream: TextIO) -> int:
    """Return the width of the terminal in columns, at most 140. Return 0 for a pipe or a file."""
    if not stream.isatty():
        return 0
    from shutil import get_terminal_size  # not needed in a pipe

    return min(get_terminal_size().columns, _MAX_WIDTH)


def write_diagnostics(found: Iterable[Diagnostic], name: str, stream: TextIO) -> None:
    """Write `file:line  severity CODE  message  → fix`, worst first.

    Repeats are one entry with a count. Wrap the text in a terminal.
    """
    stream.writelines(diagnostic_lines(found, name, stream))


def write_placed_diagnostics(found: Iterable[tuple[str, Diagnostic]], stream: TextIO) -> None:
    """Write diagnostics in the given order, each with the name of its file or message."""
    for group in grouped_diagnostics(found):
        stream.writelines(repeats_lines(group, stream))


def diagnostic_lines(found: Iterable[Diagnostic], name: str, stream: TextIO) -> Iterator[str]:
    """Yield what `write_diagnostics` writes to the stream."""
    for group in grouped_diagnostics((name, each) for each in sorted(found, key=worst_first)):
        yield from repeats_lines(group, stream)


def grouped_diagnostics(found: Iterable[tuple[str, Diagnostic]]) -> list[Repeats]:
    """Group repeated diagnostics, each given with the name of its file or message."""
    placed = list(found)
    if not placed:
        return []
    from brenner.diagnostics.repeats import group_repeats  # most commands find nothing

    return group_repeats((each for _, each in placed), (name for name, _ in placed))


def repeats_lines(group: Repeats, stream: TextIO, about: str = "") -> Iterator[str]:
    """Yield the lines of one entry. `about` comes before its message."""
    from brenner.diagnostics.repeats import place_text

    first, width = group.first, terminal_width(stream)
    style: dict[str, object] = {"fg": _COLOURS[first.severity], "bold": True}
    severity = styled(f"{first.severity} {group.code_text}", stream, **style)
    fix = f"{first.fix} (fixable)" if first.fixable else first.fix
    message = " ".join(filter(None, (about, first.message, group.other_places())))
    location = place_text(group.places[0], first.line)
    if width:
        yield f"{location}  {severity}\n"
        yield wrap_text(message, "    ", "    ", width)
        yield wrap_text(fix, "    → ", "      ", width)
    else:
        yield f"{location}  {severity}  {message}  → {fix}\n"


# A command in backquotes
_COMMAND = lazy_pattern(r"`(?:brenner|git) [^`]*`")


def wrap_text(text: str, first: str, rest: str, width: int) -> str:
    """Wrap a text to the width. `first` indents the first line, `rest` the others.

    A command that fits on a line is not wrapped, so that it can be copied.
    """
    from textwrap import wrap  # not needed in a pipe

    room = width - len(rest)
    text = _COMMAND.sub(
        lambda found: found[0].replace(" ", "\0") if len(found[0]) <= room else found[0], text
    )
    lines = wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ") + "\n"


def write_wrapped(text: str, indent: str, stream: TextIO) -> None:
    """Write an indented text, wrapped on a terminal."""
    width = terminal_width(stream)
    stream.write(wrap_text(text, indent, indent, width) if width else f"{indent}{text}\n")


def count_by_severity(summary: Summary) -> str:
    """Return a count such as `2 errors, 1 warning`. Zero counts are left out."""
    words = [
        f"{count} {word if count == 1 or word == 'info' else word + 's'}"
        for count, word in zip(summary, ("error", "warning", "info"), strict=True)
        if count
    ]
    return ", ".join(words) or "no problems"


_MOST_CODES = 4


def cannot_fix_text(found: Iterable[Diagnostic], command: str) -> str:
    """Return which errors keep a message from being fixed automatically.

    `command` fixes the others; empty if there is no file that it could name.
    """
    from brenner.diagnostics.repeats import listed, numbered

    errors = list(filter(is_error, found))
    by_code: dict[str, list[Diagnostic]] = {}
    for each in errors:
        if not each.fixable:
            by_code.setdefault(each.id, []).append(each)
    places = []
    for code, alike in by_code.items():
        lines = [each.line for each in alike if each.line]
        places.append(f"{numbered('line', lines)} ({code})" if lines else code)
    need = "needs" if len(places) == 1 and not places[0].startswith("lines ") else "need"
    text = f"Cannot fix automatically: {listed(places, _MOST_CODES)} {need} a decision."
    others = Summary.of(each for each in errors if each.fixable).errors
    if not others:
        return text
    are = "error is" if others == 1 else f"{others:,} errors are"
    return f"{text} The other {are} fixable{f': `{command}`' if command else ' with `--fix`'}."


def fix_command(name: str, *, is_partial: bool = False) -> str:
    """Return the command that prints a corrected message file."""
    from shlex import quote

    separator = "-- " if name.startswith("-") and name != "-" else ""
    partial = "--partial " if is_partial else ""
    return f"brenner check --fix {partial}{separator}{quote(escape_control(name))}"


# Progress on the standard error, only on a terminal


_PROGRESS_DELAY = 1.0
_PROGRESS_INTERVAL = 0.2
_MEGABYTE = 1_000_000


def with_progress(portions: Iterable[bytes], doing: str) -> Iterator[bytes]:
    """Yield the portions unchanged.

    After a second, show on a terminal how many megabytes have passed.
    """
    if not sys.stderr.isatty():
        yield from portions
        return
    size, next_update = 0, time.monotonic() + _PROGRESS_DELAY
    is_shown = False
    for portion in portions:
        size += len(portion)
        if time.monotonic() >= next_update:
            sys.stderr.write(f"\r{doing} {size / _MEGABYTE:.1f} MB")
            sys.stderr.flush()
            is_shown, next_update = True, time.monotonic() + _PROGRESS_INTERVAL
        yield portion
    if is_shown:
        sys.stderr.write(f"\r{doing} {size / _MEGABYTE:.1f} MB\n")


@contextmanager
def slow_notice(text: str) -> Iterator[None]:
    """Print a notice on a terminal if the block takes longer than a second."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Timer  # not needed in a pipe

    timer = Timer(_PROGRESS_DELAY, lambda: sys.stderr.write(f"{text} …\n"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """A progress line such as `Sending 12 of 32`, shown on a terminal after one second."""

    def __init__(self) -> None:
        self._next_update = time.monotonic() + _PROGRESS_DELAY
        self._width = 0  # of the text that is shown now

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        """Show how many are done."""
        if time.monotonic() < self._next_update or not sys.stderr.isatty():
            return
        text = f"{doing} {done:,}" + (f" of {total:,}" if total is not None else "")
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width, self._next_update = len(text), time.monotonic() + _PROGRESS_INTERVAL

    def clear(self) -> None:
        """Remove the progress line, because other output follows. The next one waits a second."""
        if self._width:
            sys.stderr.write(f"\r{'':<{self._width}}\r")
            sys.stderr.flush()
        self._width, self._next_update = 0, time.monotonic() + _PROGRESS_DELAY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the progress line, so that later output begins on a new line."""
        if self._width:
            sys.stderr.write("\n")
