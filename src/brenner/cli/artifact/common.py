"""Shared by the artifact commands: reading a TARGET, linting, finding items, layout of fields."""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, TextIO

import click

from brenner.artifact.diff import diff
from brenner.artifact.model import LAYOUT_BY_SECTION, Item, SectionLayout, list_active
from brenner.artifact.parse import parse_artifact
from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.options import EXIT_USAGE
from brenner.cli.output import count_by_severity, failure_json, write_diagnostics, write_json
from brenner.cli.terminal import Span, Style, fold
from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes.stores import HASH_MISMATCH
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, Summary, worst_first
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.linter import LintReport, lint_parsed
from brenner.named_tuple import NamedTuple
from brenner.protocol.thread_ids import check_thread_id, is_valid_thread_id
from brenner.text import closest, did_you_mean, escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.model import Artifact
    from brenner.artifact.state import Conflict
    from brenner.cli.options import Settings
    from brenner.lint.context import SourceText
    from brenner.protocol.evidence_pack import EvidencePack
    from brenner.services.versions import LoadedVersion, Target
    from brenner.services.workspace import Workspace


BOLD: Style = MappingProxyType({"bold": True})
DIM: Style = MappingProxyType({"dim": True})
STRUCK: Style = MappingProxyType({"dim": True, "strikethrough": True})
POSITIVE: Style = MappingProxyType({"fg": "green", "bold": True})

INDENT = "  "
_ID_COLUMNS = 4
VALUE_INDENT = INDENT + " " * _ID_COLUMNS  # before the fields of an item
_MAX_LABEL_COLUMNS = 32  # limits labels that no layout defines, such as front matter keys


def item_heading(item_id: str, spans: Iterable[Span], stream: TextIO) -> str:
    """Return the first line of an item: its ID, then the spans."""
    gap = " " * max(1, _ID_COLUMNS - len(item_id))
    start = [Span(INDENT), Span(item_id, BOLD), Span(gap)]
    return fold(start, spans, VALUE_INDENT, stream)


def field_lines(fields: Sequence[tuple[str, Iterable[Span]]], stream: TextIO) -> Iterator[str]:
    """Yield fields with their labels.

    The values are aligned in one column if the labels are short enough.
    """
    column = min(_MAX_LABEL_COLUMNS, max((len(label) for label, _ in fields), default=0) + 2)
    for label, spans in fields:
        gap = " " * max(2, column - len(label))
        start = [Span(VALUE_INDENT), Span(label, DIM), Span(gap)]
        yield fold(start, spans, VALUE_INDENT + " " * column, stream)


# Finding an item by its ID


_OR_FIELD = ", or an ID and a field such as `H2.claim`"


def find_item(loaded: LoadedArtifact, item_id: str) -> tuple[SectionLayout, Item]:
    """Return the item of that ID, whatever its case; the first if a file has it twice.

    Raise RequestError if there is none.
    """
    wanted = item_id.upper()
    for section, item in loaded.artifact.all_items():
        if item.id == wanted:
            return LAYOUT_BY_SECTION[section.id], item
    found = artifacts_codes.NO_SUCH_ITEM.at(
        name=loaded.name,
        item=item_id,
        or_field=_OR_FIELD,
        suggestion="",
        known=list_active(loaded.artifact, item_id),
    )
    raise RequestError(found)


def no_such_field(name: str, wanted: str, known: Iterable[str]) -> RequestError:
    """Return the error that a field of an item does not exist, with the closest name."""
    suggestion = did_you_mean(closest(wanted, list(known)))
    return RequestError(
        artifacts_codes.NO_SUCH_ITEM.at(
            name=name, item=wanted, or_field=_OR_FIELD, suggestion=suggestion
        )
    )


# Reading files


def read_file(name: str) -> str | Diagnostic:
    """Return the text of a file that is not a message, or a diagnostic."""
    text = read_text(name)
    if isinstance(text, str) or text.id != messages_codes.MESSAGE_TOO_LARGE.id:
        return text
    return messages_codes.FILE_TOO_LARGE.at(path=display_name(name), most=MOST_BODY_BYTES)


def read_artifact(name: str) -> ParsedArtifact | Diagnostic:
    """Return the artifact in a file, or a diagnostic."""
    text = read_file(name)
    if isinstance(text, Diagnostic):
        return text
    parsed = parse_artifact(text)
    outline, artifact = parsed.outline, parsed.artifact
    if outline.headings or outline.front_matter is not None or any(artifact.sections.values()):
        return parsed
    # An empty or unrelated file: showing an empty artifact would look like success.
    reason = "it contains no readable front matter and none of the seven sections"
    if not text.strip():
        reason = "it is empty"
    return messages_codes.NO_ARTIFACT.at(path=display_name(name), reason=reason)


def write_unreadable(found: Diagnostic, name: str, *, as_json: bool) -> int:
    """Report why a file cannot be read, and return the exit code."""
    if as_json:
        write_json({"file": name} | failure_json(found) | {"file": name})
    else:
        write_diagnostics([found], display_name(name), sys.stderr)
    return EXIT_USAGE


def display_name(name: str) -> str:
    """Return the name of a file as messages show it."""
    return "<stdin>" if name == STANDARD_INPUT else name


# Reading a TARGET: a file, the standard input, or a version of a thread


# pathlib costs 5 ms at every start.
# ruff: noqa: PTH110, PTH112


FILE_SOURCE = "file"
# The keys of `LoadedArtifact.to_json`, with their values if there is no artifact
ORIGIN_DEFAULTS: dict[str, object] = dict.fromkeys(("thread_id", "version", "source", "message_id"))
_VERSION_SEPARATOR = "@"
# Prefixes of research and coordination threads: such a name is checked as a thread ID
_THREAD_PREFIXES = ("RS-", "COORD-")
_MARKDOWN_SUFFIXES = (".md", ".markdown", ".txt")


class LoadedArtifact(NamedTuple):
    """An artifact that a command works on.

    `text` is its Markdown: the exact bytes of a version; a file is rendered again. `parsed` is the
    result of parsing a file, `version` that of loading a version from the mail. `given` is the name
    as typed.
    """

    name: str
    given: str
    artifact: Artifact
    text: str
    parsed: ParsedArtifact | None = None
    version: LoadedVersion | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        if self.version:
            return self.version.notes
        return self.parsed.diagnostics if self.parsed else ()

    @property
    def altered(self) -> frozenset[int]:
        """Return the IDs of the checked messages that do not match their hash."""
        found = (each for each in self.diagnostics if each.id == HASH_MISMATCH.id)
        return frozenset(each.message_id for each in found if each.message_id)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Return the open conflicts, if the state of the version is known."""
        state = self.version.state if self.version else None
        return state.conflicts if state else ()

    @property
    def thread_id(self) -> str | None:
        """Return the thread of the version, or the one that the file names."""
        return self.version.thread_id if self.version else self.artifact.metadata.session_id

    @property
    def number(self) -> int | None:
        return self.version.number if self.version else self.artifact.metadata.version

    def to_json(self) -> dict[str, object]:
        """Return where the artifact comes from. Keys are only ever added."""
        version = self.version
        return {
            "thread_id": self.thread_id,
            "version": self.number,
            "source": version.source if version else FILE_SOURCE,
            "message_id": version.message.id if version and version.message else None,
        }


class ArtifactReader:
    """Reads artifacts by name. It opens the mailbox only when a name is a thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.resources = ExitStack()
        self._workspace: Workspace | None = None
        self._targets: dict[str, Target | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.resources.close()

    @property
    def workspace(self) -> Workspace:
        """Return the workspace. Open it on first use."""
        if self._workspace is None:
            from brenner.cli.workspace import workspace_of  # a file needs no mailbox

            self._workspace = self.resources.enter_context(workspace_of(self.settings))
        return self._workspace

    def read(self, name: str, *, with_state: bool = False) -> LoadedArtifact | Diagnostic:
        """Return the artifact of that name, or a diagnostic if a file cannot be read.

        With `with_state` a version also has its blame and its open conflicts.
        """
        target = self.target(name)
        if target is None:
            return _load_file(name)
        try:
            return self.version(target, name, with_state=with_state)
        except RequestError as refused:
            is_unknown = refused.diagnostic.id == mail_codes.UNKNOWN_THREAD.id
            if is_unknown and name.endswith(_MARKDOWN_SUFFIXES):
                return _load_file(name)  # reports that there is no such file
            raise

    def target(self, name: str) -> Target | None:
        """Return the thread that a name refers to, or None for a file, whether or not it exists.

        A name with `@` is always a thread; without one, a file that exists comes before a thread of
        the same name. Nothing before the `@` means the only open session.
        """
        if name not in self._targets:
            self._targets[name] = self._find_target(name)
        return self._targets[name]

    def _find_target(self, name: str) -> Target | None:
        text, at, written = name.partition(_VERSION_SEPARATOR)
        if "/" in name or name == STANDARD_INPUT or (not at and name and _is_file(name)):
            return None
        from brenner.cli.threads import find_thread
        from brenner.services.versions import Target, parse_target, version_number

        number = version_number(written)
        if at and number is None:
            return None
        if parse_target(name) is None and text.endswith(_MARKDOWN_SUFFIXES):
            return None
        thread_id = find_thread(self.workspace, text or None)
        if not is_valid_thread_id(thread_id):
            _check_misspelt_thread_id(name)
            return None
        return Target(thread_id, number)

    def thread(self, name: str | None) -> str:
        """Return the thread for a command about all versions. Refuse a file or a single version."""
        thread, at, _ = (name or "").partition(_VERSION_SEPARATOR)
        if at:
            message = (
                f"Give `{escape_control(thread)}` without `@v…`: the command covers all versions."
            )
            raise click.UsageError(message)
        target = self.target(thread)
        if target is None:
            message = f"`{escape_control(thread)}` is not a thread ID."
            raise click.UsageError(message)
        return target.thread_id

    def version(self, target: Target, given: str, *, with_state: bool = False) -> LoadedArtifact:
        from brenner.services.versions import load_version

        loaded = load_version(self.workspace, target, with_state=with_state)
        name = version_name(loaded.thread_id, loaded.number)
        return LoadedArtifact(name, given, loaded.artifact, loaded.text, version=loaded)


# Natural forms of arguments: `THREAD v2`, `v2`, `h2.claim`


_VERSION_WORD = lazy_pattern(r"(?:@v?|v)(?:0|[1-9][0-9]{0,8})")
_PLACE = lazy_pattern(r"(?:[hptaxc][1-9][0-9]{0,8}|rt)(?:\..+)?", re.IGNORECASE | re.ASCII)


def is_version_word(word: str | None) -> bool:
    """Return whether an argument of its own is a version, such as `v2` or `@2`, and no file."""
    return bool(word and _VERSION_WORD.fullmatch(word)) and not _is_file(word or "")


def join_target(*words: str | None, takes_place: bool = False) -> tuple[str, str | None]:
    """Return the name of an artifact, and the place in it, from the arguments of a command.

    A version may follow the thread as an argument of its own. Without a thread, the name means the
    only open session.
    """
    left = [word for word in words if word is not None]
    index = next((i for i, word in enumerate(left[:2]) if is_version_word(word)), None)
    version = None if index is None else left.pop(index).removeprefix(_VERSION_SEPARATOR)
    place = None
    if takes_place and left and (len(left) > 1 or _is_place(left[0])):
        place = left.pop()
    target = left.pop(0) if left else ""
    if left or (version and _VERSION_SEPARATOR in target):
        message = f"Unexpected argument `{escape_control(left[-1] if left else version or '')}`."
        raise click.UsageError(message)
    return f"{target}{_VERSION_SEPARATOR}{version}" if version else target, place


def _is_place(word: str) -> bool:
    """Return whether a word that could be a target is an item or a field instead."""
    return _PLACE.fullmatch(word) is not None and not _is_file(word)


def version_name(thread_id: str, number: int | None) -> str:
    """Return a version as it is typed: THREAD@vN."""
    return thread_id if number is None else f"{thread_id}@v{number}"


def _is_file(name: str) -> bool:
    """Return whether the name is something readable, which includes a pipe."""
    return os.path.exists(name) and not os.path.isdir(name)


def _check_misspelt_thread_id(name: str) -> None:
    """Raise RequestError if the name can only be a misspelt thread ID, not a missing file."""
    thread_id = name.partition(_VERSION_SEPARATOR)[0]
    if not thread_id.startswith(_THREAD_PREFIXES) or _is_file(name):
        return
    for found in check_thread_id(thread_id):
        if found.severity is ERROR:
            raise RequestError(found)


def _load_file(name: str) -> LoadedArtifact | Diagnostic:
    parsed = read_artifact(name)
    if isinstance(parsed, Diagnostic):
        return parsed
    from brenner.artifact.render import render_artifact

    text = render_artifact(parsed.artifact)
    return LoadedArtifact(display_name(name), name, parsed.artifact, text, parsed=parsed)


def notes_json(read: Iterable[LoadedArtifact]) -> dict[str, object]:
    """Return the diagnostics of reading and their counts, the worst of each artifact first."""
    found = [
        ({"file": each.given} if each.parsed else {"target": each.name}, note)
        for each in read
        for note in sorted(each.diagnostics, key=worst_first)
    ]
    return {
        "violations": [place | note.to_json() for place, note in found],
        "summary": Summary.of(note for _, note in found)._asdict(),
    }


# Linting, with the source text of the project


def project_source(
    reader: ArtifactReader, loaded: LoadedArtifact
) -> tuple[SourceText | None, tuple[Diagnostic, ...]]:
    """Return the source text that anchors (§n) refer to, or notes about why it cannot be read.

    A file belongs to no project and has none.
    """
    if loaded.version is None:
        return None, ()
    from brenner.services.compile import load_source_text

    try:
        return load_source_text(reader.workspace.project), ()
    except RequestError as refused:
        return None, (refused.diagnostic,)


def project_pack(reader: ArtifactReader, loaded: LoadedArtifact) -> EvidencePack | None:
    """Return the evidence pack that anchors (EV-001) refer to. A file belongs to no project."""
    if loaded.version is None or reader.workspace.project.evidence_pack is None:
        return None
    from brenner.services.evidence import readable_pack  # only with an evidence pack

    return readable_pack(reader.workspace.project)


def lint_loaded(
    loaded: LoadedArtifact, source: SourceText | None = None, pack: EvidencePack | None = None
) -> LintReport:
    """Return the lint report, with line numbers in the artifact's Markdown."""
    return lint_parsed(loaded.parsed or parse_artifact(loaded.text), source, pack)


def lint_verdict(report: LintReport) -> str:
    """Return a verdict such as `not valid: 2 errors, 1 warning`."""
    return f"{'valid' if report.valid else 'not valid'}: {count_by_severity(report.summary)}"


# Authors: a file has them if it equals a version of the mail


def with_authors(reader: ArtifactReader, loaded: LoadedArtifact) -> LoadedArtifact:
    """Return the version with its state. For a file return the version that it equals.

    Raise RequestError if the authors are unknown. The notes name every altered message of the
    thread, because the sender of such a message may be wrong.
    """
    if loaded.version and loaded.version.state:
        return _note_altered_messages(reader, loaded)
    if loaded.version:
        raise _authors_unknown(loaded, "it comes from its file, and its mail is not in this store")
    return _note_altered_messages(reader, _matching_version(reader, loaded))


def _note_altered_messages(reader: ArtifactReader, loaded: LoadedArtifact) -> LoadedArtifact:
    from brenner.services.version_store import altered_in_thread

    if loaded.version is None:
        return loaded
    found = altered_in_thread(reader.workspace.mailbox, loaded.version.thread_id)
    new = (each for each in found if each.message_id not in loaded.altered)
    return loaded._replace(version=loaded.version._replace(notes=(*loaded.version.notes, *new)))


def _matching_version(reader: ArtifactReader, loaded: LoadedArtifact) -> LoadedArtifact:
    from brenner.services.versions import Target

    session, number = loaded.thread_id, loaded.number
    if not session or number is None or not is_valid_thread_id(session):
        raise _authors_unknown(loaded, "its front matter does not name its thread and version")
    version = reader.version(Target(session, number), loaded.given, with_state=True)
    if version.version is None or version.version.state is None:
        raise _authors_unknown(loaded, f"the mail of {session} is not in this store")
    # The file also contains its message ID, which `diff` ignores.
    if not diff(version.artifact, loaded.artifact).is_empty:
        raise _authors_unknown(loaded, f"it differs from v{number} of {session}")
    return version


def _authors_unknown(loaded: LoadedArtifact, reason: str) -> RequestError:
    return RequestError(artifacts_codes.AUTHORS_NOT_KNOWN.at(name=loaded.name, reason=reason))
