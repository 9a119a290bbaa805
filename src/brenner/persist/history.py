"""Which versions of a file the history of a repository holds, and in which commits."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from brenner.persist.git import Repository, literal

_AT_ONCE = 50  # contents in memory


class Held(NamedTuple):
    """A content that a file has had, and the commit that brought it in."""

    commit: str
    content: bytes


def contents(repository: Repository, path: str) -> Iterator[Held]:
    """Every content that a file has had in what is checked out and in all that led to it.

    The newest comes first, each content once. Of several commits with the same one it is the
    newest that is not a merge.
    """
    commits = _commits(repository, path)
    if not commits:
        return
    asked = "".join(f"{commit}:{path}\n" for commit, _ in commits)
    check = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    answers = repository.ask(*check, stdin=os.fsencode(asked)).out.splitlines()
    chosen: dict[bytes, tuple[str, bool]] = {}
    for (commit, is_merge), answer in zip(commits, answers, strict=False):
        blob, _, kind = answer.partition(b" ")
        if kind == b"blob" and (blob not in chosen or (chosen[blob][1] and not is_merge)):
            chosen[blob] = (commit, is_merge)
    found = _read(repository, path, list(chosen))
    yield from (Held(chosen[blob][0], content) for blob, content in found)


def _commits(repository: Repository, path: str) -> list[tuple[str, bool]]:
    """The commits that have changed the file, the newest first, and whether they are merges."""
    if "\n" in path:  # one to a line is how git is asked
        return []
    walk = ("rev-list", "--full-history", "--topo-order", "--format=%H %P", "HEAD")
    done = repository.ask_commits(*walk, "--", literal(path))
    found = [line.split() for line in done.text.split("\n") if not line.startswith("commit ")]
    return [(commit, len(parents) > 1) for commit, *parents in filter(None, found)]


def _read(repository: Repository, path: str, blobs: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The contents of blobs: as they would be checked out, where a filter keeps them otherwise."""
    attribute = repository.ask("check-attr", "-z", "filter", "--", path).out.split(b"\0")
    is_filtered = attribute[_VALUE : _VALUE + 1] not in ([b"unspecified"], [b"unset"], [])
    name = b" " + os.fsencode(path) if is_filtered else b""
    batch = ("cat-file", "--batch", *(["--filters"] if is_filtered else []))
    for first in range(0, len(blobs), _AT_ONCE):
        portion = blobs[first : first + _AT_ONCE]
        out = repository.ask(*batch, stdin=b"".join(blob + name + b"\n" for blob in portion)).out
        yield from zip(portion, _split(out), strict=False)


_VALUE = 2  # path, attribute, value


def _split(out: bytes) -> Iterator[bytes]:
    """The contents in `ID TYPE SIZE<line feed>CONTENT<line feed>`, one after the other."""
    start = 0
    while start < len(out):
        content = out.index(b"\n", start) + 1
        end = content + int(out[start:content].rpartition(b" ")[2])
        yield out[content:end]
        start = end + 1
