"""The artifact as a file: its text with the message id, its paths, and what blocks writing it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from brenner.artifact.model import Metadata
from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_FILE_NAME_BYTES
from brenner.named_tuple import NamedTuple
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.manual_edits import HandEdits
    from brenner.config import Project
    from brenner.diagnostics.model import Diagnostic


MOST_FILE_BYTES = 64 * 1024 * 1024
_ID = "agent_mail_message_id"
_ID_LINE = lazy_pattern(rf"^{_ID}:.*\n", re.MULTILINE)
_ID_VALUE_LINE = lazy_pattern(rf"^{_ID}: ([0-9]{{1,18}})\n", re.MULTILINE)
_FIELDS_BEFORE_ID = Metadata._fields[: Metadata._fields.index(_ID)]
_FENCE = "---\n"
_BYTE_ORDER_MARK = "\ufeff"

Versions = Callable[[int], str | None]


class VersionText(NamedTuple):
    """The version to persist. `message_id` is 0 before its message is posted.

    `void` are the texts of messages that the operator declared void; they are not manual edits.
    """

    thread_id: str
    number: int
    message_id: int
    text: str
    summary: str
    void: tuple[str, ...] = ()


# The text


def with_message_id(text: str, message_id: int) -> str:
    """Insert the message id into the front matter, at its place in the order of fields."""
    text = canonical_text(text)
    end = _front_matter_end(text)
    if not end:  # not an artifact of ours
        return text
    lines = text[:end].split("\n")[:-1]
    is_before = (
        line.startswith("  - ") or line.partition(":")[0] in _FIELDS_BEFORE_ID for line in lines[1:]
    )
    position = 1 + sum(takewhile(bool, is_before))
    lines.insert(position, f"{_ID}: {message_id}")
    return "\n".join(lines) + "\n" + text[end:]


def canonical_text(text: str) -> str:
    """Return the text of a version with our line ends and without the message id (R18)."""
    text = _normalize_line_ends(text)
    end = _front_matter_end(text)
    return _ID_LINE.sub("", text[:end], count=1) + text[end:]


def file_text(file: Path, version: VersionText) -> str:
    """Return the content of the file of a version.

    An existing file of the same version keeps its message id. Another store has other ids for the
    same mail, which is no reason to write and commit the file again.
    """
    with suppress(ForeignFileError):
        existing = _normalize_line_ends(read_file(file) or "")
        known = _ID_VALUE_LINE.search(existing, 0, _front_matter_end(existing))
        if known and same_version(existing, version.text):
            return with_message_id(version.text, int(known[1]))
    return with_message_id(version.text, version.message_id)


def _normalize_line_ends(text: str) -> str:
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")


def same_version(one: str, other: str) -> bool:
    """Return whether two texts are the same version, apart from the message id."""
    return canonical_text(one) == canonical_text(other)


def _front_matter_end(text: str) -> int:
    """Return where the closing line of the front matter begins, or 0 if there is none."""
    if not text.startswith(_FENCE):
        return 0
    return text.find(f"\n{_FENCE}") + 1


# The file


class ForeignFileError(Exception):
    """A file is not the artifact of its session, or cannot be read; the text is the reason."""


def read_file(file: Path, opener: Callable[[str, int], int] | None = None) -> str | None:
    """Return the text of a file; None if it does not exist. Raise ForeignFileError otherwise."""
    try:
        with open(file, "rb", opener=opener) as opened:
            raw = opened.read(MOST_FILE_BYTES + 1)
        text = raw.decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        _reject_file((error.strerror or type(error).__name__).lower())
    except UnicodeDecodeError:
        _reject_file("it is not UTF-8")
    if len(raw) > MOST_FILE_BYTES:
        _reject_file(f"it is larger than {MOST_FILE_BYTES:,} bytes")
    return text


def _reject_file(reason: str) -> NoReturn:
    raise ForeignFileError(reason) from None


def find_hand_edits(
    file: Path, version: VersionText, versions: Versions
) -> tuple[HandEdits, str] | None:
    """Return edits of the file that the version would overwrite, and their unified diff.

    Raise RequestError if the file is a later version, and ForeignFileError if it is none.
    """
    text = read_file(file)
    if text is None or any(same_version(text, each) for each in (version.text, *version.void)):
        return None
    from brenner.artifact.parse import parse_artifact

    found = parse_artifact(canonical_text(text))
    metadata, name = found.artifact.metadata, cross_reference(version.thread_id).artifact_path
    number = metadata.version
    if number is None:
        _reject_file("it has no front matter with a version")
    if metadata.session_id != version.thread_id:
        _reject_file(f"it belongs to the session `{metadata.session_id or ''}`")
    if number > version.number:
        words = {"path": name, "value": str(number), "version": str(version.number)}
        raise RequestError(publishing_codes.ARTIFACT_FILE_NEWER.at(None, **words))
    base = version.text if number == version.number else versions(number)
    if base is None:
        _reject_file(f"it says v{number}, which is not in this store")
    if same_version(text, base):
        return None
    from brenner.artifact.manual_edits import contains_edits, hand_edits
    from brenner.artifact.text_diff import unified_diff

    before = parse_artifact(base)
    edits = hand_edits(before.artifact, found.artifact)
    lost = unread_content(before, found)
    if not lost and contains_edits(edits, parse_artifact(version.text).artifact):
        return None
    difference = unified_diff(canonical_text(base), canonical_text(text), f"v{number}", name)
    return edits._replace(other=(*edits.other, *lost)), difference


# Paths of an artifact and its archive


# Without permission, os.path returns False and pathlib raises.
# ruff: noqa: PTH112, PTH113, PTH114


ARTIFACTS = "artifacts"
_ARCHIVE_SUFFIX = ".mail.jsonl"


class ArtifactPaths(NamedTuple):
    """The files of a thread: their real paths, and their names relative to the project."""

    folder: Path
    file: Path
    archive: Path
    name: str
    archive_name: str


def artifact_paths(project: Project, thread_id: str) -> ArtifactPaths:
    """Return the paths of a thread's files. Raise RequestError for a bad path; create nothing."""
    name = cross_reference(thread_id).artifact_path
    if not is_valid_thread_id(thread_id):
        _reject_path(name, "the thread ID is not valid")
    own = Path(os.path.realpath(project.folder))
    named = own / ARTIFACTS
    folder = Path(os.path.realpath(named))
    if not folder.is_relative_to(own):
        _reject_path(name, f"`{ARTIFACTS}` is a link that leads out of the project, to `{folder}`")
    if os.path.islink(named) and not os.path.isdir(named):
        _reject_path(name, f"`{ARTIFACTS}` is a link to `{folder}`, which does not exist")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        _reject_path(name, f"`{ARTIFACTS}` is not a folder")
    archive = f"{thread_id}{_ARCHIVE_SUFFIX}"
    return ArtifactPaths(
        folder, folder / f"{thread_id}.md", folder / archive, name, f"{ARTIFACTS}/{archive}"
    )


def check_writable(file: Path, name: str) -> None:
    """Raise an error if the file certainly cannot be written."""
    if len(os.fsencode(file.name)) > MOST_FILE_NAME_BYTES:
        _reject_path(name, f"its name is longer than {MOST_FILE_NAME_BYTES} bytes")
    if os.path.islink(file):
        _reject_path(name, "it is a symbolic link, not a file")
    if os.path.isdir(file):
        _reject_path(name, "a folder has that name")
    if os.path.lexists(file) and not os.path.isfile(file):
        _reject_path(name, "it is not a file")
    if os.path.lexists(file) and not os.access(file, os.R_OK | os.W_OK):
        _reject_unwritable(name, "you may not read and write it")
    folder = file.parent if os.path.isdir(file.parent) else file.parent.parent
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        _reject_unwritable(name, f"you may not write to `{folder}`")


def relative_to_cwd(path: Path) -> str:
    """Return a path relative to the current folder, or unchanged if it is elsewhere."""
    try:
        here = Path(os.path.realpath(os.getcwd()))  # noqa: PTH109
        return str(Path(os.path.realpath(path)).relative_to(here))
    except (OSError, ValueError):
        return str(path)


def is_in_repository(folder: Path) -> bool:
    """Return whether a folder seems to be in a git repository, without running git."""
    return any(os.path.lexists(each / ".git") for each in (folder, *folder.parents))


def _reject_path(path: str, reason: str) -> NoReturn:
    raise RequestError(publishing_codes.BAD_ARTIFACT_PATH.at(path=path, reason=reason))


def _reject_unwritable(path: str, reason: str) -> NoReturn:
    raise UnavailableError(publishing_codes.BAD_ARTIFACT_PATH.at(path=path, reason=reason))


# Content of an edited file that the parser does not read, and that would be lost
#
# Many diagnostics are about form only: a label in lower case, a text in two paragraphs. That
# content is read, a delta can add it, and nothing of it is lost with the next version.


_HARMLESS_CODES = {
    artifacts_codes.FIELD_FORM.id,
    artifacts_codes.FRONT_MATTER_FORM.id,
    artifacts_codes.MISPLACED_ITEM.id,
}
_NOT_READ = "not read"
_WORD = lazy_pattern(r"\w+")
_READ_AS = " was read as "


def unread_content(before: ParsedArtifact, after: ParsedArtifact) -> tuple[str, ...]:
    """Return the new parse diagnostics about content that would be lost with the next version."""
    known = Counter(found.message for found in before.diagnostics)
    lossy = (found.message for found in after.diagnostics if not _is_harmless(found))
    return tuple(Counter(lossy) - known)


def _is_harmless(found: Diagnostic) -> bool:
    if found.id == artifacts_codes.HEADING_FORM.id:
        written, _, read_as = found.message.partition(_READ_AS)
        return _words(written) <= {*_words(read_as), "the", "heading"}
    if found.id == artifacts_codes.KILLED_FORM.id:
        return _NOT_READ not in found.message
    return found.id in _HARMLESS_CODES


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
