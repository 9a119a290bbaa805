"""`brenner artifact diff`: what changed between two artifacts."""

import sys

import click

from brenner.artifact.diff import diff as compare
from brenner.cli.artifact.files import FINE, write_unreadable
from brenner.cli.artifact.targets import Loaded, Reader, notes_json, target_of, version_name
from brenner.cli.help_text import examples
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.cli.reading import STANDARD_INPUT
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.protocol.grammar import VERSION
from brenner.text import visible

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
        message = f"`{visible(new)}` is a version of what? OLD is not a thread."
        raise click.UsageError(message)
    return new


def _before(reader: Reader, new: Loaded) -> Loaded:
    """The version before that one; before the first there is only the empty artifact."""
    if new.version is None:
        message = f"Give two artifacts to compare; `{visible(new.name)}` alone is a file."
        raise click.UsageError(message)
    thread_id, number = new.version.thread_id, (new.number or 1) - 1
    try:
        old = _version(reader, thread_id, number)
    except Refused as refused:
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

    return unified(old.text, new.text, visible(old.name), visible(new.name))


def _write(old: Loaded, new: Loaded, *, as_text: bool, pager: bool) -> None:
    from brenner.cli.artifact.changes import change_lines, text_lines

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
