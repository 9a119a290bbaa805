"""What an artifact command is about: a file, the standard input, or a version of a thread.

A TARGET with `@vN` is always a thread. Without it a file that exists comes before a thread of the
same name.
"""
# pathlib costs 5 ms at every start.
# ruff: noqa: PTH110, PTH112

import os
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple, Self

import click

from brenner.cli.artifact.files import read_artifact, shown_name
from brenner.cli.options import Settings
from brenner.cli.reading import STANDARD_INPUT
from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.codes.stores import HASH_MISMATCH
from brenner.diagnostics.model import ERROR, Diagnostic, Refused, Summary, worst_first
from brenner.text import visible

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.model import Artifact
    from brenner.artifact.state import Conflict
    from brenner.services.versions import LoadedVersion, Target
    from brenner.services.workspace import Desk

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
        self._desk: Desk | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.resources.close()

    @property
    def desk(self) -> "Desk":
        """Where the threads are."""
        if self._desk is None:
            from brenner.cli.mail.desk import desk  # who reads a file needs no mail

            self._desk = self.resources.enter_context(desk(self.settings))
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
        except Refused as refused:
            is_unknown = refused.diagnostic.id == codes.UNKNOWN_THREAD.id
            if is_unknown and name.endswith(_MARKDOWN):
                return _from_file(name)  # which says that there is no such file
            raise

    def version(self, target: "Target", given: str, *, with_state: bool = False) -> Loaded:
        """A version of a thread."""
        from brenner.services.versions import load_version

        loaded = load_version(self.desk, target, with_state=with_state)
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
        message = f"`{visible(name)}` is not a thread."
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
            raise Refused(found)


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
