"""`brenner artifact diff`: what changed between two artifacts."""

import sys
from collections.abc import Iterator
from types import MappingProxyType
from typing import TextIO

import click

from brenner.artifact.diff import (
    Diff,
    ItemChange,
    Kind,
    Marks,
    field_marks,
    item_marks,
    same_words,
    summary,
)
from brenner.artifact.diff import diff as compare
from brenner.artifact.model import Metadata
from brenner.artifact.text_diff import Mark
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    FINE,
    INDENT,
    STRUCK,
    Loaded,
    Reader,
    heading,
    lines,
    notes_json,
    target_of,
    version_name,
    write_unreadable,
)
from brenner.cli.io import STANDARD_INPUT
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, is_terminal, styled, write_diagnostics, write_json
from brenner.cli.terminal import PLAIN, Span, Style, fold, pager_option, write_lines
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.protocol.grammar import VERSION
from brenner.text import escape_control, escape_control_lines

_ALWAYS: dict[str, object] = {"old": None, "new": None, "sentence": None, "changes": None}
_ALWAYS |= {"unchanged": None, "items": [], "metadata": []}


@click.command(
    "diff",
    cls=Reporting,
    always=_ALWAYS,
    epilog=examples(
        "brenner artifact diff RS-20251230-cell-fate",
        "brenner artifact diff RS-20251230-cell-fate@v1 v3",
        "brenner artifact diff RS-20251230-cell-fate@v1 v3 --text",
        "brenner artifact diff artifacts/RS-20251230-cell-fate.md RS-20251230-cell-fate",
    ),
)
@click.argument("old", metavar="OLD")
@click.argument("new", required=False, metavar="[NEW]")
@click.option("--text", "as_text", is_flag=True, help="Compare the texts, line by line.")
@pager_option
@common_options
def diff(settings: Settings, old: str, new: str | None, as_text: bool, pager: bool) -> int:
    """Say what changed from OLD to NEW, by item and field.

    Each is a THREAD (its latest version), THREAD@vN, a file, or -, the standard input. After a
    thread NEW may be v3 alone; v0 is the empty artifact before the first version. With OLD alone
    that version is compared with the one before it. With --text both are compared as Markdown as
    we write it; with --json as well, the document has it as `text`. Exit code 0, whether they
    differ or not; 1: there is no such thread or version; 2: a file cannot be read.
    """
    if old == new == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    with Reader(settings) as reader:
        names = [old] if new is None else [old, _in_full(new, old)]
        read: list[Loaded] = []
        for name in names:
            loaded = _read(reader, name)
            if isinstance(loaded, Diagnostic):
                return write_unreadable(loaded, name, as_json=settings.as_json)
            read.append(loaded)
        both = (_before(reader, read[0]), read[0]) if new is None else (read[0], read[1])
    if settings.as_json:
        write_json(_document(*both, as_text=as_text))
        return FINE
    for loaded in both:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
    _write(*both, as_text=as_text, pager=pager)
    return FINE


# Which two


def _in_full(new: str, old: str) -> str:
    """`v3` and `@v3` are versions of the first one's thread."""
    number = new.removeprefix("@")
    if not VERSION.fullmatch(number):
        return new
    target = target_of(old)
    if target is not None and (new.startswith("@") or target_of(new) is not None):
        return f"{target.thread_id}@{number}"
    if new.startswith("@"):
        message = f"`{escape_control(new)}` is a version of what? OLD is not a thread."
        raise click.UsageError(message)
    return new


def _before(reader: Reader, new: Loaded) -> Loaded:
    """The version before that one; before the first there is only the empty artifact."""
    if new.version is None:
        message = f"Give two artifacts to compare; `{escape_control(new.name)}` alone is a file."
        raise click.UsageError(message)
    thread_id, number = new.version.thread_id, (new.number or 1) - 1
    try:
        old = _version(reader, thread_id, number)
    except RequestError as refused:
        # The first version that is known may have a higher number: it was adopted.
        if refused.diagnostic.id != codes.UNKNOWN_VERSION.id:
            raise
        old = _version(reader, thread_id, 0)
    # What is odd about the thread is said once.
    return old._replace(version=old.version and old.version._replace(notes=()))


def _read(reader: Reader, name: str) -> Loaded | Diagnostic:
    target = target_of(name)
    if target is not None and target.version == 0:
        return _version(reader, target.thread_id, 0)
    return reader.read(name)


def _version(reader: Reader, thread_id: str, number: int) -> Loaded:
    """A version of the thread; v0 is the empty artifact before the first one (R11)."""
    from brenner.services.versions import Target

    name = version_name(thread_id, number)
    if number:
        return reader.version(Target(thread_id, number), name)
    from brenner.services.versions import side_of_nothing

    nothing = side_of_nothing(thread_id)
    return Loaded(name, name, nothing.artifact, nothing.text)


# How it looks


def _document(old: Loaded, new: Loaded, *, as_text: bool) -> dict[str, object]:
    from brenner.artifact.serialize import diff_json

    found = compare(old.artifact, new.artifact)
    text = {"text": _unified(old, new)} if as_text else {}
    document = diff_json(found, old.artifact.metadata, new.artifact.metadata)
    return document | text | notes_json([old, new])


def _unified(old: Loaded, new: Loaded) -> str:
    from brenner.artifact.text_diff import unified

    return unified(old.text, new.text, escape_control(old.name), escape_control(new.name))


def _write(old: Loaded, new: Loaded, *, as_text: bool, pager: bool) -> None:

    out = sys.stdout
    if as_text and not out.isatty():
        out.write(_unified(old, new))  # exact, so that `patch` takes it
    elif as_text:
        write_lines(text_lines(_unified(old, new), out), pager=pager)
    else:
        found = compare(old.artifact, new.artifact)
        both = old.artifact.metadata, new.artifact.metadata
        title = f"{_titled(old)} → {_titled(new)}"
        write_lines(change_lines(found, title, both, out), pager=pager)


def _titled(loaded: Loaded) -> str:
    """A file with its version; the name of a version says it."""
    number = loaded.number
    is_said = loaded.parsed is None or number is None
    return loaded.name if is_said else f"{loaded.name} (v{number})"


# What changed between two artifacts, for people: item by item, word by word.


_REMOVED: Style = MappingProxyType({"fg": "red", "strikethrough": True})
_INSERTED: Style = MappingProxyType({"fg": "green", "underline": True})
# The style where there is colour, and the signs around it where there is none
_MARKS = {
    Mark.SAME: (PLAIN, "", ""),
    Mark.REMOVED: (_REMOVED, "[-", "-]"),
    Mark.INSERTED: (_INSERTED, "{+", "+}"),
}
_ODD: Style = MappingProxyType({"fg": "yellow"})
_KINDS: dict[Kind, Style] = {
    Kind.ADDED: MappingProxyType({"fg": "green", "bold": True}),
    Kind.REMOVED: MappingProxyType({"fg": "red", "bold": True}),
    Kind.KILLED: MappingProxyType({"fg": "magenta", "bold": True}),
    Kind.REVIVED: MappingProxyType({"fg": "cyan", "bold": True}),
    Kind.MODIFIED: MappingProxyType({"fg": "cyan"}),
    Kind.RE_RANKED: MappingProxyType({"fg": "cyan"}),
}


def change_lines(
    found: Diff, title: str, both: tuple[Metadata, Metadata], out: TextIO
) -> Iterator[str]:
    """Which two, in one sentence, then every item that changed, then the metadata."""
    yield fold([], [Span(title, BOLD)], INDENT, out)
    odd = _odd_pair(*both)
    if odd:
        yield fold([], [Span(odd, _ODD)], "", out)
    yield fold([], [Span(summary(found))], "", out)
    for change in found.items:
        yield "\n" + "".join(_item(change, out))
    if found.metadata:
        yield "\n" + fold([Span(INDENT)], [Span("Metadata", BOLD)], INDENT, out)
        told = [(field.field, _pieces(field_marks(field), out)) for field in found.metadata]
        yield from lines(told, out)
    yield from _unchanged(found, out)


_LINE_STYLES: dict[str, Style] = {"+": {"fg": "green"}, "-": {"fg": "red"}, "@": {"fg": "cyan"}}


def text_lines(text: str, out: TextIO) -> Iterator[str]:
    """A unified diff, safe to look at in a terminal."""
    for each in escape_control_lines(text).split("\n")[:-1]:
        yield styled(each, out, **_LINE_STYLES.get(each[:1], PLAIN)) + "\n"


def _odd_pair(old: Metadata, new: Metadata) -> str:
    """What one should know before reading the difference of two files that were mixed up."""
    if old.session_id and new.session_id and old.session_id != new.session_id:
        return f"These are two sessions: {old.session_id} and {new.session_id}."
    if old.version is not None and new.version is not None and new.version < old.version:
        return f"NEW is the older version: v{new.version} after v{old.version}."
    return ""


def _unchanged(found: Diff, out: TextIO) -> Iterator[str]:
    yield "\n" + fold([], [Span(same_words(found.unchanged), DIM)], "", out)


def _item(change: ItemChange, out: TextIO) -> Iterator[str]:
    """Its heading with what happened, then its fields: all of them where it came or went."""
    is_gone = Kind.REMOVED in change.kinds or Kind.KILLED in change.kinds
    pieces = [Span(change.title, STRUCK if is_gone else BOLD), Span("  ")]
    pieces = pieces if change.title != change.id else []
    for number, kind in enumerate(change.kinds):
        pieces += [Span(", " * bool(number)), Span(kind.value, _KINDS[kind])]
    if change.rank:
        pieces.append(Span(f": {change.rank[0]} → {change.rank[1]}", _KINDS[Kind.RE_RANKED]))
    yield heading(change.id, pieces, out)
    yield from lines([(label, _pieces(marks, out)) for label, marks in item_marks(change)], out)


def _pieces(spans: Marks, out: TextIO) -> Iterator[Span]:
    """Old and new in one, with marks."""
    for number, span in enumerate(spans):
        # Two that stand side by side and share nothing are easily read as one, also in colour.
        if number == 1 == len(spans) - 1 and spans[0].mark is Mark.REMOVED and is_terminal(out):
            yield Span(" → ", DIM)
        yield from _marked(span.mark, span.text, out)


def _marked(mark: Mark, text: str, out: TextIO) -> Iterator[Span]:
    """The text in its style, or between signs; a line feed that came or went is spelled out."""
    if not text:
        return
    style, before, after = _MARKS[mark]
    if mark is Mark.SAME:
        yield Span(text)
        return
    spelled = text.replace("\n", "\\n\n")
    is_solid = not text.strip(" ")
    if is_terminal(out):
        yield Span(spelled, style, is_solid)
    else:
        yield from (Span(before), Span(spelled, is_solid=is_solid), Span(after))
