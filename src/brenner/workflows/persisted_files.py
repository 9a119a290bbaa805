"""Compare the persisted file and the commits of a thread with the versions that they name."""

# os.path answers "no" for a folder that may not be read; pathlib raises.
# ruff: noqa: PTH112

import os
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from brenner.artifact.parse import parse_artifact
from brenner.config import Project
from brenner.diagnostics.codes.artifacts import FILE_DIFFERS
from brenner.diagnostics.model import Diagnostic
from brenner.persist.artifact_file import ARTIFACTS, Foreign, is_in_repository, plain, read_file
from brenner.protocol.thread_ids import cross_reference
from brenner.session.rebuild import text_hash
from brenner.session.versions import Chain
from brenner.text import visible

_MOST_SHOWN = 60  # characters of a line that differs
_SHORT_HASH = 7

TextOf = Callable[[int], str | None]


class ComparedFile(NamedTuple):
    """A file, or its content in a commit, and the version that it says it is.

    `difference` says how it differs from that version, or why it is none.
    """

    path: str
    commit: str | None
    version: int | None
    ok: bool
    difference: str = ""


def compared_files(project: Project, chain: Chain, text_of: TextOf) -> tuple[ComparedFile, ...]:
    """Compare the file, and every content that the history of its repository has of it.

    Without a file or a repository there is nothing to compare. The message id in the front matter
    is not compared (R18). Raise what git raises: a comparison that failed must not look like one
    that found no difference.
    """
    return tuple(_compared(project, _Known(chain, text_of)))


def _compared(project: Project, known: "_Known") -> Iterator[ComparedFile]:
    path = cross_reference(known.chain.thread_id).artifact_path
    file = Path(os.path.realpath(project.folder / ARTIFACTS)) / Path(path).name
    text = read_file(file)
    if isinstance(text, Foreign):
        yield ComparedFile(path, None, None, ok=False, difference=text.reason)
    elif text is not None:
        yield known.compare(path, None, text)
    for commit, content in _committed(file):
        try:
            yield known.compare(path, commit, content.decode())
        except UnicodeDecodeError:
            yield ComparedFile(path, commit, None, ok=False, difference="it is not UTF-8")


def _committed(file: Path) -> Iterator[tuple[str, bytes]]:
    folder = file.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if not is_in_repository(folder):
        return
    from brenner.persist.git import Repository, contents

    repository = Repository.find(folder)
    yield from contents(repository, repository.path_of(file))


class _Known:
    """The versions of a thread, by the hash of their text.

    A file may also be a version that the operator voided after it was persisted. Other COMPILED
    messages that are no version do not count: any agent can post one.
    """

    def __init__(self, chain: Chain, text_of: TextOf) -> None:
        self.chain = chain
        self._text_of = text_of
        void = [each for each in chain.spare if each.record and chain.is_declared_void(each)]
        self._numbers = {
            each.record.artifact_sha256: each.number for each in void if each.record
        } | {each.artifact_sha256: each.number for each in chain.versions}

    def compare(self, path: str, commit: str | None, text: str) -> ComparedFile:
        """Compare one content with the version that its front matter names."""
        text = plain(text)
        number = self._numbers.get(text_hash(text))
        if number is not None:
            return ComparedFile(path, commit, number, ok=True)
        metadata = parse_artifact(text).artifact.metadata
        difference = self._difference(text, metadata.version, metadata.session_id)
        return ComparedFile(path, commit, metadata.version, ok=False, difference=difference)

    def _difference(self, text: str, number: int | None, session: str | None) -> str:
        if number is None:
            return "it has no front matter that gives a version"
        if session != self.chain.thread_id:
            return f"it belongs to the session `{visible(session or '')}`"
        version = self._text_of(number)
        broken = self.chain.broken
        if version is None and broken and number >= broken.number:
            return f"v{broken.number} cannot be rebuilt, so that v{number} cannot be compared"
        if version is None:
            return f"it says that it is v{number}, which is not in the mail"
        return _first_difference(text, version, number)


def _first_difference(text: str, version: str, number: int) -> str:
    pairs = zip_longest(text.split("\n"), version.split("\n"))
    for line, (here, there) in enumerate(pairs, 1):
        if here != there:
            return f"line {line} is {_shown(here)}, and {_shown(there)} in v{number}"
    return "its bytes differ"


def _shown(line: str | None) -> str:
    return "missing" if line is None else f"`{visible(line, _MOST_SHOWN)}`"


def file_note(found: ComparedFile, thread_id: str) -> Diagnostic:
    """Return the warning for a file or a commit that differs."""
    place = f"`{found.path}`"
    if found.commit:
        place += f" in commit {found.commit[:_SHORT_HASH]}"
    return FILE_DIFFERS.at(place=place, difference=found.difference, thread_id=thread_id)
