"""`brenner artifact diff`: what changed between two artifacts, by item and word or line by line."""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

import click

from brenner.artifact.diff import (
    ChangeKind,
    Diff,
    ItemChange,
    TextSpans,
    field_spans,
    item_spans,
    summary,
    unchanged_sentence,
)
from brenner.artifact.diff import diff as compare
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state
from brenner.artifact.text_diff import Mark, unified_diff
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    INDENT,
    STRUCK,
    ArtifactReader,
    LoadedArtifact,
    field_lines,
    is_version_word,
    item_heading,
    join_target,
    notes_json,
    version_name,
    write_unreadable,
)
from brenner.cli.io import STANDARD_INPUT
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, styled, supports_styles, write_diagnostics, write_json
from brenner.cli.terminal import PLAIN, Span, Style, fold, pager_option, write_lines
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.text import escape_control, escape_control_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.artifact.model import Metadata

_JSON_DEFAULTS: dict[str, object] = {"old": None, "new": None, "sentence": None, "changes": None}
_JSON_DEFAULTS |= {"unchanged": None, "items": [], "metadata": []}


@click.command(
    "diff",
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples(
        "brenner artifact diff RS-20251230-cell-fate",
        "brenner artifact diff RS-20251230-cell-fate v1 v3",
        "brenner artifact diff v1 v3",
        "brenner artifact diff RS-20251230-cell-fate@v1 v3 --text",
        "brenner artifact diff artifacts/RS-20251230-cell-fate.md RS-20251230-cell-fate",
    ),
)
@click.argument("old", required=False, metavar="[OLD]")
@click.argument("new", required=False, metavar="[NEW]")
@click.argument("third", required=False, metavar="[vN]")
@click.option("--text", "as_text", is_flag=True, help="Compare the Markdown line by line.")
@pager_option
@common_options
def diff(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    old: str | None,
    new: str | None,
    third: str | None,
    as_text: bool,
    pager: bool,
) -> int:
    """Compare two artifacts by item and field.

    OLD and NEW are a THREAD (its latest version), THREAD@vN, a file, or -. `THREAD v1 v3` compares
    two versions; the thread is optional if only one session is open. v0 is the empty artifact. With
    OLD alone, that version is compared with the version before it. The exit code does not depend on
    the differences.
    """
    if old == new == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    old, new = _old_and_new(old, new, third)
    with ArtifactReader(settings) as reader:
        names = [old] if new is None else [old, _expand_new(reader, new, old)]
        read: list[LoadedArtifact] = []
        for name in names:
            loaded = _read(reader, name)
            if isinstance(loaded, Diagnostic):
                return write_unreadable(loaded, name, as_json=settings.as_json)
            read.append(loaded)
        both = (_previous_version(reader, read[0]), read[0]) if new is None else (read[0], read[1])
    if settings.as_json:
        write_json(_document(*both, as_text=as_text))
        return EXIT_OK
    for loaded in both:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
    _write(*both, as_text=as_text, pager=pager)
    return EXIT_OK


# Choosing the two artifacts


def _old_and_new(old: str | None, new: str | None, third: str | None) -> tuple[str, str | None]:
    """Return OLD and NEW from the arguments `THREAD v1 v3`, `v1 v3` or `OLD NEW`."""
    if third is not None:
        name, _ = join_target(old, new)
        if not is_version_word(new) or not is_version_word(third):
            message = f"Unexpected argument `{escape_control(third)}`. Write OLD NEW."
            raise click.UsageError(message)
        return name, third
    return join_target(old)[0], new


def _expand_new(reader: ArtifactReader, new: str, old: str) -> str:
    """Expand `v3` or `@v3` to a version of OLD's thread."""
    if not is_version_word(new):
        return new
    target = reader.target(old)
    if target is not None:
        return f"{target.thread_id}@{new.removeprefix('@')}"
    if new.startswith("@"):
        message = f"`{escape_control(new)}` needs a thread as OLD, but OLD is not a thread ID."
        raise click.UsageError(message)
    return new


def _previous_version(reader: ArtifactReader, new: LoadedArtifact) -> LoadedArtifact:
    """Return the version before `new`. Before the first version it is the empty artifact."""
    if new.version is None:
        message = f"Give two artifacts to compare: `{escape_control(new.name)}` is a single file."
        raise click.UsageError(message)
    thread_id, number = new.version.thread_id, (new.number or 1) - 1
    try:
        old = _load_version(reader, thread_id, number)
    except RequestError as refused:
        # An adopted thread may begin with a higher version number.
        if refused.diagnostic.id != codes.UNKNOWN_VERSION.id:
            raise
        old = _load_version(reader, thread_id, 0)
    # Warnings about the thread are printed only once, with `new`.
    return old._replace(version=old.version and old.version._replace(notes=()))


def _read(reader: ArtifactReader, name: str) -> LoadedArtifact | Diagnostic:
    target = reader.target(name)
    if target is not None and target.version == 0:
        return _load_version(reader, target.thread_id, 0)
    return reader.read(name)


def _load_version(reader: ArtifactReader, thread_id: str, number: int) -> LoadedArtifact:
    """Load a version of the thread. v0 is the empty artifact before the first one (R11)."""
    from brenner.services.versions import Target

    name = version_name(thread_id, number)
    if number:
        return reader.version(Target(thread_id, number), name)
    nothing = empty_state(thread_id).artifact
    return LoadedArtifact(name, name, nothing, render_artifact(nothing))


# Output


def _document(old: LoadedArtifact, new: LoadedArtifact, *, as_text: bool) -> dict[str, object]:
    from brenner.artifact.serialize import diff_json

    found = compare(old.artifact, new.artifact)
    text = {"text": _unified(old, new)} if as_text else {}
    document = diff_json(found, old.artifact.metadata, new.artifact.metadata)
    return document | text | notes_json([old, new])


def _unified(old: LoadedArtifact, new: LoadedArtifact) -> str:
    return unified_diff(old.text, new.text, escape_control(old.name), escape_control(new.name))


def _write(old: LoadedArtifact, new: LoadedArtifact, *, as_text: bool, pager: bool) -> None:
    out = sys.stdout
    if as_text and not out.isatty():
        out.write(_unified(old, new))  # exact, so that `patch` accepts it
    elif as_text:
        write_lines(text_lines(_unified(old, new), out), pager=pager)
    else:
        found = compare(old.artifact, new.artifact)
        both = old.artifact.metadata, new.artifact.metadata
        title = f"{_title(old)} → {_title(new)}"
        write_lines(change_lines(found, title, both, out), pager=pager)


def _title(loaded: LoadedArtifact) -> str:
    number = loaded.number
    has_no_version = loaded.parsed is None or number is None
    return loaded.name if has_no_version else f"{loaded.name} (v{number})"


# Changes as text: item by item, word by word


_REMOVED: Style = MappingProxyType({"fg": "red", "strikethrough": True})
_INSERTED: Style = MappingProxyType({"fg": "green", "underline": True})
# The style, and the signs to use if there are no styles
_MARKS = {
    Mark.SAME: (PLAIN, "", ""),
    Mark.REMOVED: (_REMOVED, "[-", "-]"),
    Mark.INSERTED: (_INSERTED, "{+", "+}"),
}
_WARNING_STYLE: Style = MappingProxyType({"fg": "yellow"})
_KIND_STYLES: dict[ChangeKind, Style] = {
    ChangeKind.ADDED: MappingProxyType({"fg": "green", "bold": True}),
    ChangeKind.REMOVED: MappingProxyType({"fg": "red", "bold": True}),
    ChangeKind.KILLED: MappingProxyType({"fg": "magenta", "bold": True}),
    ChangeKind.REVIVED: MappingProxyType({"fg": "cyan", "bold": True}),
    ChangeKind.MODIFIED: MappingProxyType({"fg": "cyan"}),
    ChangeKind.RE_RANKED: MappingProxyType({"fg": "cyan"}),
}


def change_lines(
    found: Diff, title: str, both: tuple[Metadata, Metadata], out: TextIO
) -> Iterator[str]:
    """Yield the title, a summary, every changed item, and the metadata."""
    yield fold([], [Span(title, BOLD)], INDENT, out)
    warning = _pair_warning(*both)
    if warning:
        yield fold([], [Span(warning, _WARNING_STYLE)], "", out)
    yield fold([], [Span(summary(found))], "", out)
    for change in found.items:
        yield "\n" + "".join(_item_lines(change, out))
    if found.metadata:
        yield "\n" + fold([Span(INDENT)], [Span("Metadata", BOLD)], INDENT, out)
        fields = [(field.field, _change_spans(field_spans(field), out)) for field in found.metadata]
        yield from field_lines(fields, out)
    yield "\n" + fold([], [Span(unchanged_sentence(found.unchanged), DIM)], "", out)


_LINE_STYLES: dict[str, Style] = {"+": {"fg": "green"}, "-": {"fg": "red"}, "@": {"fg": "cyan"}}


def text_lines(text: str, out: TextIO) -> Iterator[str]:
    """Yield the lines of a unified diff, coloured and escaped for a terminal."""
    for each in escape_control_lines(text).split("\n")[:-1]:
        yield styled(each, out, **_LINE_STYLES.get(each[:1], PLAIN)) + "\n"


def _pair_warning(old: Metadata, new: Metadata) -> str:
    """Return a warning if the two artifacts look mixed up: two sessions, or NEW is older."""
    if old.session_id and new.session_id and old.session_id != new.session_id:
        return f"These are different sessions: {old.session_id} and {new.session_id}."
    if old.version is not None and new.version is not None and new.version < old.version:
        return f"NEW (v{new.version}) is older than OLD (v{old.version})."
    return ""


def _item_lines(change: ItemChange, out: TextIO) -> Iterator[str]:
    """Yield the heading with the kinds of change, then the fields.

    An added or removed item has them all.
    """
    is_gone = ChangeKind.REMOVED in change.kinds or ChangeKind.KILLED in change.kinds
    spans = [Span(change.title, STRUCK if is_gone else BOLD), Span("  ")]
    spans = spans if change.title != change.id else []
    for number, kind in enumerate(change.kinds):
        spans += [Span(", " * bool(number)), Span(kind.value, _KIND_STYLES[kind])]
    if change.rank:
        spans.append(
            Span(f": {change.rank[0]} → {change.rank[1]}", _KIND_STYLES[ChangeKind.RE_RANKED])
        )
    yield item_heading(change.id, spans, out)
    yield from field_lines(
        [(label, _change_spans(marks, out)) for label, marks in item_spans(change)], out
    )


def _change_spans(spans: TextSpans, out: TextIO) -> Iterator[Span]:
    """Return old and new text merged, with the differences marked."""
    for number, span in enumerate(spans):
        # Without an arrow, old and new text that share nothing would read as one, even in colour.
        if number == 1 == len(spans) - 1 and spans[0].mark is Mark.REMOVED and supports_styles(out):
            yield Span(" → ", DIM)
        yield from _marked_spans(span.mark, span.text, out)


def _marked_spans(mark: Mark, text: str, out: TextIO) -> Iterator[Span]:
    r"""Yield the text in its style, or between signs without styles.

    A changed line feed is shown as `\n`.
    """
    if not text:
        return
    style, before, after = _MARKS[mark]
    if mark is Mark.SAME:
        yield Span(text)
        return
    spelled = text.replace("\n", "\\n\n")
    is_solid = not text.strip(" ")
    if supports_styles(out):
        yield Span(spelled, style, is_solid)
    else:
        yield from (Span(before), Span(spelled, is_unbreakable=is_solid), Span(after))
