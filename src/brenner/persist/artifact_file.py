"""The artifact as a file: the version's text and the id of its message; what a file there is."""

import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.model import Metadata
from brenner.protocol.thread_ids import cross_reference

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.manual_edits import HandEdits

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
    from brenner.persist.remarks import unread

    before = parse_artifact(base)
    edits = hand_edits(before.artifact, found.artifact)
    lost = unread(before, found)
    if not lost and are_contained(edits, parse_artifact(version.text).artifact):
        return None
    name = cross_reference(version.thread_id).artifact_path
    difference = unified(plain(base), plain(text), f"v{number}", name)
    return Edited(number, edits, difference, (*edits.other, *lost))
