"""The artifact as a file: the version's text and the id of its message; what a file there is."""

import os
import re
from collections import Counter
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from brenner.artifact.model import Metadata
from brenner.config import Project
from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.limits import MOST_FILE_NAME_BYTES
from brenner.protocol.thread_ids import cross_reference, is_valid

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.manual_edits import HandEdits
    from brenner.diagnostics.model import Diagnostic


MOST_FILE_BYTES = 64 * 1024 * 1024
_ID = "agent_mail_message_id"
_ID_LINE = re.compile(rf"^{_ID}:.*\n", re.MULTILINE)
_KNOWN_ID = re.compile(rf"^{_ID}: ([0-9]{{1,18}})\n", re.MULTILINE)
_BEFORE_ID = Metadata._fields[: Metadata._fields.index(_ID)]
_FENCE = "---\n"
_BYTE_ORDER_MARK = "\ufeff"

Versions = Callable[[int], str | None]


class VersionText(NamedTuple):
    """The version to persist. Its message has no id (0) as long as it is not posted.

    `void` are the texts of messages that the operator declared void: nobody's edits.
    """

    thread_id: str
    number: int
    message_id: int
    text: str
    summary: str
    void: tuple[str, ...] = ()


# The text


def with_message_id(text: str, message_id: int) -> str:
    """The text of a version with the id of its message, where the front matter has its place."""
    text = plain(text)
    end = _end_of_matter(text)
    if not end:  # it is no artifact of ours
        return text
    lines = text[:end].split("\n")[:-1]
    is_before = (line.startswith("  - ") or _key(line) in _BEFORE_ID for line in lines[1:])
    place = 1 + sum(takewhile(bool, is_before))
    lines.insert(place, f"{_ID}: {message_id}")
    return "\n".join(lines) + "\n" + text[end:]


def _key(line: str) -> str:
    return line.partition(":")[0]


def plain(text: str) -> str:
    """The text of a version: line ends as we write them, and no id of a message (R18)."""
    text = _with_our_line_ends(text)
    end = _end_of_matter(text)
    return _ID_LINE.sub("", text[:end], count=1) + text[end:]


def filed(file: Path, version: VersionText) -> str:
    """The text that the file of a version has.

    One that is there already keeps the id that it has: the same mail has other ids in another
    store, and that is no reason to write the file, and commit it, again.
    """
    there = read_file(file)
    if isinstance(there, str) and same_version(there, version.text):
        there = _with_our_line_ends(there)
        known = _KNOWN_ID.search(there, 0, _end_of_matter(there))
        if known:
            return with_message_id(version.text, int(known[1]))
    return with_message_id(version.text, version.message_id)


def _with_our_line_ends(text: str) -> str:
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")


def same_version(one: str, other: str) -> bool:
    """Whether two texts are the same version; the id of the message may differ."""
    return plain(one) == plain(other)


def _end_of_matter(text: str) -> int:
    """Where the line that closes the front matter begins; 0 where there is none."""
    if not text.startswith(_FENCE):
        return 0
    return text.find(f"\n{_FENCE}") + 1


# The file


class Newer(NamedTuple):
    """The file is a later version than the one to be written."""

    number: int


class Edited(NamedTuple):
    """Somebody has changed the file, which was version `base`.

    `difference` is what `diff -u` would say; `others` are changes that no delta can make.
    """

    base: int
    edits: "HandEdits"
    difference: str
    others: tuple[str, ...]


class Foreign(NamedTuple):
    """The file is no version of this thread."""

    reason: str


Obstacle = Newer | Edited | Foreign


def obstacle(file: Path, version: VersionText, versions: Versions) -> Obstacle | None:
    """Why the version should not be written over what is there; None where it can be."""
    text = read_file(file)
    if text is None or isinstance(text, Foreign):
        return text
    if any(same_version(text, each) for each in (version.text, *version.void)):
        return None
    from brenner.artifact.parse import parse_artifact

    found = parse_artifact(plain(text))
    number = found.artifact.metadata.version
    if number is None:
        return Foreign("it has no front matter that gives a version")
    if found.artifact.metadata.session_id != version.thread_id:
        return Foreign(f"it belongs to the session `{found.artifact.metadata.session_id or ''}`")
    if number > version.number:
        return Newer(number)
    return _edited(text, found, version, versions)


def read_file(file: Path) -> str | Foreign | None:
    """Return the text of a file, why it cannot be read, or None where there is none."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_FILE_BYTES + 1)
        text = raw.decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        return Foreign((error.strerror or type(error).__name__).lower())
    except UnicodeDecodeError:
        return Foreign("it is not UTF-8")
    if len(raw) > MOST_FILE_BYTES:
        return Foreign(f"it is larger than {MOST_FILE_BYTES:,} bytes")
    return text


def _edited(
    text: str, found: "ParsedArtifact", version: VersionText, versions: Versions
) -> Edited | Foreign | None:
    """What a person has changed, unless the new version has all of it."""
    number = found.artifact.metadata.version or 0
    base = version.text if number == version.number else versions(number)
    if base is None:
        return Foreign(f"it says that it is v{number}, which is not in this mailbox")
    if same_version(text, base):
        return None
    from brenner.artifact.manual_edits import are_contained, hand_edits
    from brenner.artifact.parse import parse_artifact
    from brenner.artifact.text_diff import unified

    before = parse_artifact(base)
    edits = hand_edits(before.artifact, found.artifact)
    lost = unread(before, found)
    if not lost and are_contained(edits, parse_artifact(version.text).artifact):
        return None
    name = cross_reference(version.thread_id).artifact_path
    difference = unified(plain(base), plain(text), f"v{number}", name)
    return Edited(number, edits, difference, (*edits.other, *lost))


# Where an artifact and its archive are written, and what is in the way there.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH112, PTH113, PTH114


ARTIFACTS = "artifacts"
_ARCHIVE = ".mail.jsonl"


class Place(NamedTuple):
    """The files of a thread: their real paths, in `folder`, and what they are called."""

    folder: Path
    file: Path
    archive: Path
    name: str
    archive_name: str


def place_of(project: Project, thread_id: str) -> Place:
    """Where the artifact of a thread belongs. A bad path is refused; nothing is made."""
    name = cross_reference(thread_id).artifact_path
    if not is_valid(thread_id):
        _bad(name, "the thread ID is not valid")
    own = Path(os.path.realpath(project.folder))
    named = own / ARTIFACTS
    folder = Path(os.path.realpath(named))
    if not folder.is_relative_to(own):
        _bad(name, f"`{ARTIFACTS}` is a link that leads out of the project, to `{folder}`")
    if os.path.islink(named) and not os.path.isdir(named):
        _bad(name, f"`{ARTIFACTS}` is a link to `{folder}`, and there is no such folder")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        _bad(name, f"`{ARTIFACTS}` is not a folder")
    archive = f"{thread_id}{_ARCHIVE}"
    return Place(
        folder, folder / f"{thread_id}.md", folder / archive, name, f"{ARTIFACTS}/{archive}"
    )


def check_writable(file: Path, name: str) -> None:
    """Refuse what can be known not to be writable as a file of that name."""
    if len(os.fsencode(file.name)) > MOST_FILE_NAME_BYTES:
        _bad(name, f"its name is longer than {MOST_FILE_NAME_BYTES} bytes")
    if os.path.islink(file):
        _bad(name, "it is a symbolic link, not a file")
    if os.path.isdir(file):
        _bad(name, "a folder has that name")
    if os.path.lexists(file) and not os.path.isfile(file):
        _bad(name, "it is not a file")
    if os.path.lexists(file) and not os.access(file, os.R_OK | os.W_OK):
        _forbidden(name, "you may not read and write it")
    folder = file.parent if os.path.isdir(file.parent) else file.parent.parent
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        _forbidden(name, f"you may not write to `{folder}`")


def typed(path: Path) -> str:
    """A path as one types it where one is: from here, or else whole."""
    try:
        here = Path(os.path.realpath(os.getcwd()))  # noqa: PTH109
        return str(Path(os.path.realpath(path)).relative_to(here))
    except (OSError, ValueError):
        return str(path)


def is_in_repository(folder: Path) -> bool:
    """Whether a folder seems to be in a repository; git itself is not asked."""
    return any(os.path.lexists(each / ".git") for each in (folder, *folder.parents))


def _bad(path: str, reason: str) -> NoReturn:
    raise RequestError(publishing_codes.BAD_ARTIFACT_PATH.at(path=path, reason=reason))


def _forbidden(path: str, reason: str) -> NoReturn:
    raise UnavailableError(publishing_codes.BAD_ARTIFACT_PATH.at(path=path, reason=reason))


# What reading an edited file has to say that matters here: what is not read would be lost.
#
# Much of it is about forms: a label in lower case, a text in two paragraphs. That is read all the
# same, a delta can bring it in, and nothing of it is lost with the next version.


_ONLY_FORMS = {
    artifacts_codes.FIELD_FORM.id,
    artifacts_codes.FRONT_MATTER_FORM.id,
    artifacts_codes.MISPLACED_ITEM.id,
}
_NOT_READ = "not read"
_WORD = re.compile(r"\w+")
_AS_READ = " was read as "


def unread(before: "ParsedArtifact", after: "ParsedArtifact") -> tuple[str, ...]:
    """What stands in the file now and is in no field, so that no artifact would have it."""
    known = Counter(found.message for found in before.diagnostics)
    lossy = (found.message for found in after.diagnostics if not _loses_nothing(found))
    return tuple(Counter(lossy) - known)


def _loses_nothing(found: "Diagnostic") -> bool:
    if found.id == artifacts_codes.HEADING_FORM.id:
        written, _, meant = found.message.partition(_AS_READ)
        return _words(written) <= {*_words(meant), "the", "heading"}
    if found.id == artifacts_codes.KILLED_FORM.id:
        return _NOT_READ not in found.message
    return found.id in _ONLY_FORMS


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
