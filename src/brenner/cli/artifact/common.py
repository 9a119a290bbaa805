"""How items and their fields look in a terminal: styles, columns."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO

import click

from brenner.artifact.diff import diff
from brenner.artifact.model import LAYOUT_OF, Item, Layout
from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.options import Settings
from brenner.cli.output import counted, failure, write_diagnostics, write_json
from brenner.cli.terminal import Span, Style, fold
from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes.stores import HASH_MISMATCH
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, Summary, worst_first
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.linter import LintReport, lint_parsed
from brenner.protocol.thread_ids import is_valid
from brenner.text import closest, did_you_mean, escape_control

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.model import Artifact
    from brenner.artifact.state import Conflict
    from brenner.lint.context import SourceText
    from brenner.services.versions import LoadedVersion, Target
    from brenner.services.workspace import Workspace


BOLD: Style = MappingProxyType({"bold": True})
DIM: Style = MappingProxyType({"dim": True})
STRUCK: Style = MappingProxyType({"dim": True, "strikethrough": True})
POSITIVE: Style = MappingProxyType({"fg": "green", "bold": True})

INDENT = "  "
_ID_COLUMNS = 4
VALUES = INDENT + " " * _ID_COLUMNS  # what stands before all that is said of an item
_MOST_LABEL_COLUMNS = 32  # of labels that no layout has: keys of the front matter, odd columns


def heading(item_id: str, pieces: Iterable[Span], stream: TextIO) -> str:
    """The line that begins an item: its ID, then what is said of it."""
    gap = " " * max(1, _ID_COLUMNS - len(item_id))
    start = [Span(INDENT), Span(item_id, BOLD), Span(gap)]
    return fold(start, pieces, VALUES, stream)


def lines(fields: Sequence[tuple[str, Iterable[Span]]], stream: TextIO) -> Iterator[str]:
    """Fields, each its label and its value; the values begin in one column where labels allow."""
    column = min(_MOST_LABEL_COLUMNS, max((len(label) for label, _ in fields), default=0) + 2)
    for label, pieces in fields:
        gap = " " * max(2, column - len(label))
        start = [Span(VALUES), Span(label, DIM), Span(gap)]
        yield fold(start, pieces, VALUES + " " * column, stream)


# One item of an artifact, found by its ID.


_OR_FIELD = ", or an ID and a field such as `H2.claim`"


def find_item(loaded: "Loaded", item_id: str) -> tuple[Layout, Item]:
    """The item of that ID, or a refusal. Where a file has the ID twice, it is the first one."""
    for section, item in loaded.artifact.all_items():
        if item.id == item_id:
            return LAYOUT_OF[section.id], item
    raise no_such(loaded.name, item_id, (item.id for _, item in loaded.artifact.all_items()))


def no_such(name: str, wanted: str, known: "Iterable[str]") -> RequestError:
    """That an item or a field is not there, and which one was probably meant."""
    near = did_you_mean(closest(wanted, list(known)))
    return RequestError(
        artifacts_codes.NO_SUCH_ITEM.at(name=name, item=wanted, or_field=_OR_FIELD, suggestion=near)
    )


# Artifacts read from files, and what to say where that fails.


FINE, CONTENT, UNREADABLE = 0, 1, 2


def read_file(name: str) -> str | Diagnostic:
    """The text of a file that is no message, or why it cannot be had."""
    text = read_text(name)
    if isinstance(text, str) or text.id != messages_codes.MESSAGE_TOO_LARGE.id:
        return text
    return messages_codes.FILE_TOO_LARGE.at(path=shown_name(name), most=MOST_BODY_BYTES)


def read_artifact(name: str) -> "ParsedArtifact | Diagnostic":
    """The artifact in a file, or why there is none."""
    text = read_file(name)
    if isinstance(text, Diagnostic):
        return text
    from brenner.artifact.parse import parse_artifact

    parsed = parse_artifact(text)
    outline, artifact = parsed.outline, parsed.artifact
    if outline.headings or outline.front_matter is not None or any(artifact.sections.values()):
        return parsed
    # An empty or quite another file: to show nothing would look like success.
    reason = "neither front matter that can be read nor any of the seven sections is in it"
    if not text.strip():
        reason = "it is empty"
    return messages_codes.NO_ARTIFACT.at(path=shown_name(name), reason=reason)


def write_unreadable(found: Diagnostic, name: str, *, as_json: bool) -> int:
    """Say why a file cannot be read; the exit code."""
    if as_json:
        document = {"file": name} | failure(found, click.get_current_context(silent=True))
        write_json(document | {"file": name})
    else:
        write_diagnostics([found], shown_name(name), sys.stderr)
    return UNREADABLE


def shown_name(name: str) -> str:
    """The file as messages call it."""
    return "<stdin>" if name == STANDARD_INPUT else name


# What an artifact command is about: a file, the standard input, or a version of a thread.
#
# A TARGET with `@vN` is always a thread. Without it a file that exists comes before a thread of the
# same name.


# pathlib costs 5 ms at every start.
# ruff: noqa: PTH110, PTH112


FILE = "file"
_AT = "@"
# How the IDs of research and coordination threads begin; what is wrong in one should be said
_THREADS = ("RS-", "COORD-")
_MARKDOWN = (".md", ".markdown", ".txt")


class Loaded(NamedTuple):
    """An artifact to work with.

    `text` is its Markdown: of a version the exact bytes, of a file as we write it. `parsed` is
    what reading a file gave, `version` what the mail gave.
    """

    name: str
    given: str
    artifact: "Artifact"
    text: str
    parsed: "ParsedArtifact | None" = None
    version: "LoadedVersion | None" = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What reading it had to say."""
        if self.version:
            return self.version.notes
        return self.parsed.diagnostics if self.parsed else ()

    @property
    def altered(self) -> frozenset[int]:
        """The ids of the messages that, as far as was looked, do not match their hash."""
        found = (each for each in self.diagnostics if each.id == HASH_MISMATCH.id)
        return frozenset(each.message_id for each in found if each.message_id)

    @property
    def conflicts(self) -> "tuple[Conflict, ...]":
        """The open conflicts, where the state of the version is known."""
        state = self.version.state if self.version else None
        return state.conflicts if state else ()

    @property
    def thread_id(self) -> str | None:
        """The thread of a version; a file may name one."""
        return self.version.thread_id if self.version else self.artifact.metadata.session_id

    @property
    def number(self) -> int | None:
        """Which version it is."""
        return self.version.number if self.version else self.artifact.metadata.version

    def to_json(self) -> dict[str, object]:
        """Where it comes from; keys are only ever added."""
        version = self.version
        return {
            "thread_id": self.thread_id,
            "version": self.number,
            "source": version.source if version else FILE,
            "message_id": version.message.id if version and version.message else None,
        }


class Reader:
    """Reads what was named; the mailbox is opened for the first that is a thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.resources = ExitStack()
        self._desk: Workspace | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.resources.close()

    @property
    def workspace(self) -> "Workspace":
        """Where the threads are."""
        if self._desk is None:
            from brenner.cli.workspace import workspace_of  # who reads a file needs no mail

            self._desk = self.resources.enter_context(workspace_of(self.settings))
        return self._desk

    def read(self, name: str, *, with_state: bool = False) -> Loaded | Diagnostic:
        """The artifact of that name, or why a file cannot be read.

        Of a version `with_state` also who set what, and the open conflicts.
        """
        target = target_of(name)
        if target is None:
            return _from_file(name)
        try:
            return self.version(target, name, with_state=with_state)
        except RequestError as refused:
            is_unknown = refused.diagnostic.id == mail_codes.UNKNOWN_THREAD.id
            if is_unknown and name.endswith(_MARKDOWN):
                return _from_file(name)  # which says that there is no such file
            raise

    def version(self, target: "Target", given: str, *, with_state: bool = False) -> Loaded:
        """A version of a thread."""
        from brenner.services.versions import load_version

        loaded = load_version(self.workspace, target, with_state=with_state)
        name = version_name(loaded.thread_id, loaded.number)
        return Loaded(name, given, loaded.artifact, loaded.text, version=loaded)


def version_name(thread_id: str, number: int | None) -> str:
    """A version as one types it."""
    return thread_id if number is None else f"{thread_id}@v{number}"


def target_of(name: str) -> "Target | None":
    """The thread that is meant; None where it is a file, there or not."""
    if name == STANDARD_INPUT or "/" in name or (_AT not in name and _is_file(name)):
        return None
    from brenner.services.versions import parse_target

    target = parse_target(name)
    if target is None:
        _check_thread(name)
    return target


def _is_file(name: str) -> bool:
    """Whether something is there that can be read, a pipe among others."""
    return os.path.exists(name) and not os.path.isdir(name)


def thread_of(name: str) -> str:
    """The thread that a command about all of its versions was given."""
    target = target_of(name)
    if target is None:
        message = f"`{escape_control(name)}` is not a thread."
        raise click.UsageError(message)
    if target.version is not None:
        message = f"This is about all versions: give `{target.thread_id}` without `@v…`."
        raise click.UsageError(message)
    return target.thread_id


def _check_thread(name: str) -> None:
    """What can only be a misspelt thread ID is no missing file."""
    thread_id = name.partition(_AT)[0]
    if not thread_id.startswith(_THREADS) or _is_file(name):
        return
    from brenner.protocol.thread_ids import check_thread_id

    for found in check_thread_id(thread_id):
        if found.severity is ERROR:
            raise RequestError(found)


def _from_file(name: str) -> Loaded | Diagnostic:
    parsed = read_artifact(name)
    if isinstance(parsed, Diagnostic):
        return parsed
    from brenner.artifact.render import render_artifact

    text = render_artifact(parsed.artifact)
    return Loaded(shown_name(name), name, parsed.artifact, text, parsed=parsed)


def notes_json(read: Iterable[Loaded]) -> dict[str, object]:
    """What reading had to say: how much, and what, the worst first in each."""
    found = [
        ({"file": each.given} if each.parsed else {"target": each.name}, note)
        for each in read
        for note in sorted(each.diagnostics, key=worst_first)
    ]
    return {
        "violations": [place | note.to_json() for place, note in found],
        "summary": Summary.of(note for _, note in found)._asdict(),
    }


# What the rules say of an artifact that was read, with the source text that the project names.


class Source(NamedTuple):
    """The section numbers to look anchors up in, where there are any; and why there are none."""

    text: "SourceText | None" = None
    notes: tuple[Diagnostic, ...] = ()


NO_SOURCE = Source()


def project_source(reader: Reader, loaded: Loaded) -> Source:
    """The source text of the project that a version belongs to; a file belongs to none."""
    if loaded.version is None:
        return NO_SOURCE
    from brenner.services.compile import source_text_of

    try:
        return Source(source_text_of(reader.workspace.project), ())
    except RequestError as refused:
        return Source(None, (refused.diagnostic,))


def report_of(loaded: Loaded, source: Source = NO_SOURCE) -> LintReport:
    """The report, with the lines of the artifact's Markdown."""
    parsed = loaded.parsed
    if parsed is None:
        from brenner.artifact.parse import parse_artifact

        parsed = parse_artifact(loaded.text)
    return lint_parsed(parsed, source.text)


def verdict_of(report: LintReport) -> str:
    """`not valid: 2 errors, 1 warning`."""
    return f"{'valid' if report.valid else 'not valid'}: {counted(report.summary)}"


# A file whose authors are known: the one that equals a version of the mail.


def with_authors(reader: Reader, loaded: Loaded) -> Loaded:
    """The version itself, with its state and ledger; for a file the version that it equals.

    Its notes name every message of the thread that was altered: the sender may be another one.
    """
    if loaded.version and loaded.version.state:
        return _with_altered(reader, loaded)
    if loaded.version:
        raise _not_known(loaded, "it comes from its file, and its mail is not here")
    return _with_altered(reader, _version_of(reader, loaded))


def _with_altered(reader: Reader, loaded: Loaded) -> Loaded:
    from brenner.services.version_store import altered_in_thread

    if loaded.version is None:
        return loaded
    found = altered_in_thread(reader.workspace.mailbox, loaded.version.thread_id)
    new = (each for each in found if each.message_id not in loaded.altered)
    return loaded._replace(version=loaded.version._replace(notes=(*loaded.version.notes, *new)))


def _version_of(reader: Reader, loaded: Loaded) -> Loaded:
    from brenner.services.versions import Target

    session, number = loaded.thread_id, loaded.number
    if not session or number is None or not is_valid(session):
        raise _not_known(
            loaded, "its front matter does not say which version of which thread it is"
        )
    version = reader.version(Target(session, number), loaded.given, with_state=True)
    if version.version is None or version.version.state is None:
        raise _not_known(loaded, f"the mail of {session} is not here")
    # The file has its message's id besides, which a difference leaves out.
    if not diff(version.artifact, loaded.artifact).is_empty:
        raise _not_known(loaded, f"it is not what v{number} of {session} says")
    return version


def _not_known(loaded: Loaded, reason: str) -> RequestError:
    return RequestError(artifacts_codes.AUTHORS_NOT_KNOWN.at(name=loaded.name, reason=reason))
