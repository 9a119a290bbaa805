"""How results look in a terminal, in a pipe, and as JSON."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, TextIO

import click

from brenner.diagnostics.model import Diagnostic, Severity, Summary, worst_first
from brenner.text import escape_control

_COLOURS = {Severity.ERROR: "magenta", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_WIDEST = 140
_DONE = "brenner.done"


def write_json(document: object) -> None:
    """One JSON document on the standard output. What a terminal would obey is spelled out."""
    lines = json.dumps(document, ensure_ascii=False, indent=2).split("\n")
    sys.stdout.writelines(f"{_spelled_out(line)}\n" for line in lines)


def _spelled_out(line: str) -> str:
    """Only texts have such characters, and in a text the escape is the same character."""
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)


def failure(found: Diagnostic, context: click.Context | None = None) -> dict[str, object]:
    """The JSON of a command that could not do its work, with the keys that it always has."""
    always = context.command if context else None
    kept = always.always if isinstance(always, Reporting) else {}
    summary = Summary.of([found])._asdict()
    return {**kept, "valid": False, "summary": summary, "violations": [found.to_json()]}


class Reporting(click.Command):
    """A command whose document has some keys always; `always` is what they say if it failed."""

    def __init__(self, *arguments: Any, always: Mapping[str, object], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.always = always


def note_done() -> None:
    """From here on the command has changed something: only its report can still fail."""
    click.get_current_context().meta[_DONE] = True


def is_done(context: click.Context) -> bool:
    """Whether the command has changed something."""
    return _DONE in context.meta


def is_terminal(stream: TextIO) -> bool:
    """Whether people look at it, in colour: not a pipe, not NO_COLOR, not a dumb terminal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def styled(text: str, stream: TextIO, **style: object) -> str:
    """The text in a style where the stream shows one."""
    return click.style(text, **style) if is_terminal(stream) else text  # type: ignore[arg-type]


def width_of(stream: TextIO) -> int:
    """How wide to write: the terminal's width within reason."""
    if not stream.isatty():
        return 0
    from shutil import get_terminal_size  # not needed in a pipe

    return min(get_terminal_size().columns, _WIDEST)


def write_diagnostics(found: Iterable[Diagnostic], name: str, stream: TextIO) -> None:
    """`file:line  severity CODE  what  → fix`, worst first; folded where there is a terminal."""
    shown_name = escape_control(name)
    for diagnostic in sorted(found, key=worst_first):
        place = f"{shown_name}:{diagnostic.line}" if diagnostic.line else shown_name
        severity = styled(
            f"{diagnostic.severity} {diagnostic.id}",
            stream,
            fg=_COLOURS[diagnostic.severity],
            bold=True,
        )
        width = width_of(stream)
        if width:
            stream.write(f"{place}  {severity}\n")
            stream.write(folded(diagnostic.message, "    ", "    ", width))
            stream.write(folded(diagnostic.fix, "    → ", "      ", width))
        else:
            stream.write(f"{place}  {severity}  {diagnostic.message}  → {diagnostic.fix}\n")


def folded(text: str, first: str, rest: str, width: int) -> str:
    """The text in lines of that width, with the indentation of the first and of the others."""
    from textwrap import wrap  # not needed in a pipe

    lines = wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def counted(summary: Summary) -> str:
    """`2 errors, 1 warning`: what is zero is left out."""
    words = [
        f"{count} {word if count == 1 or word == 'info' else word + 's'}"
        for count, word in zip(summary, ("error", "warning", "info"), strict=True)
        if count
    ]
    return ", ".join(words) or "no problems"


# Progress of long work on the standard error, for who watches it.


_SHOWN_AFTER = 1.0
_SHOWN_EVERY = 0.2
_MEGABYTE = 1_000_000


def watched(portions: Iterable[bytes], doing: str) -> Iterator[bytes]:
    """The portions as they are; after a second, how many megabytes went by. The end state stays."""
    if not sys.stderr.isatty():
        yield from portions
        return
    size, following = 0, time.monotonic() + _SHOWN_AFTER
    is_shown = False
    for portion in portions:
        size += len(portion)
        if time.monotonic() >= following:
            sys.stderr.write(f"\r{doing} {size / _MEGABYTE:.1f} MB")
            sys.stderr.flush()
            is_shown, following = True, time.monotonic() + _SHOWN_EVERY
        yield portion
    if is_shown:
        sys.stderr.write(f"\r{doing} {size / _MEGABYTE:.1f} MB\n")


class Progress:
    """`Sending 12 of 32` while something is counted, once it has taken a second."""

    def __init__(self) -> None:
        self._following = time.monotonic() + _SHOWN_AFTER
        self._width = 0  # of what is shown now

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        """So far so many are done."""
        if time.monotonic() < self._following or not sys.stderr.isatty():
            return
        said = f"{doing} {done:,}" + (f" of {total:,}" if total is not None else "")
        sys.stderr.write(f"\r{said:<{self._width}}")
        sys.stderr.flush()
        self._width, self._following = len(said), time.monotonic() + _SHOWN_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """What comes next begins on a line of its own."""
        if self._width:
            sys.stderr.write("\n")
