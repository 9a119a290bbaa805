"""Whether git is told to ignore a file, by which rule, and which lines take it out of that."""

import os
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from brenner.persist.git_process import ask

_IGNORE = ".gitignore"
_SPECIAL = re.compile(r"([\\*?\[])")


class Rule(NamedTuple):
    """A rule, as it is written, and where: the path of the file is as git gives it."""

    source: str
    line: str
    pattern: str


def rule_against(top: Path, path: str, *options: str) -> Rule | None:
    """The rule by which git ignores a file; None where it does not, or has committed it before."""
    asked = os.fsencode(path) + b"\0"
    done = ask(top, "check-ignore", "--verbose", "-z", *options, "--stdin", stdin=asked)
    if done.code:
        return None
    found = Rule(*os.fsdecode(done.out).split("\0")[:3])
    return None if found.pattern.startswith("!") else found  # such a rule has let it pass


class Exemption(NamedTuple):
    """Lines, and the file at the end of which they let one file pass."""

    file: str
    lines: tuple[str, ...]


def exemption_from(top: Path, path: str, rule: Rule) -> Exemption:
    """How a file is not ignored any more, and all else is as before.

    Git looks at nothing in a folder that is ignored. So the folders on the way are let pass, each
    without what else is in it. Rules of the work tree win over those that hold for all of them.
    """
    source = PurePosixPath(rule.source)
    is_own = source.name == _IGNORE and not source.is_absolute()
    file = source if is_own else PurePosixPath(_IGNORE)
    lines = []
    way = [each for each in reversed(PurePosixPath(path).parents) if each.name]
    ignored = [number for number, each in enumerate(way) if _is_ignored(top, str(each))]
    for folder in way[ignored[0] :] if ignored else []:
        name = _pattern(folder, file)
        lines += [f"!{name}/", f"{name}/*"]
    return Exemption(str(file), (*lines, f"!{_pattern(PurePosixPath(path), file)}"))


def _is_ignored(top: Path, folder: str) -> bool:
    """Whether a folder as a whole is ignored, also one that is not there yet."""
    named = rule_against(top, folder, "--no-index")
    if (top / folder).is_dir():
        return named is not None
    # With a slash git takes it for a folder, but also for what is in it: `artifacts/*` matches.
    meant = rule_against(top, f"{folder}/", "--no-index")
    return meant is not None and (meant == named or meant.pattern.endswith("/"))


def _pattern(path: PurePosixPath, file: PurePosixPath) -> str:
    """A path as a rule in that file has it; nothing in it is a wildcard."""
    return "/" + _SPECIAL.sub(r"\\\1", path.relative_to(file.parent).as_posix())
