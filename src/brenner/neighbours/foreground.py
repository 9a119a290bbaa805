"""What runs in the front of a terminal: the programs that would read what is typed there.

The kernel tells it where there is `/proc`; elsewhere nobody does.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

Words = tuple[str, ...]

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "ash", "busybox"})
# What runs a program that is a text: `node /usr/bin/gemini` is gemini
_INTERPRETER = re.compile(rf"(?:node|bun|deno|python|ruby|perl|{'|'.join(sorted(_SHELLS))})[\d.]*")
_PROCESSES = Path("/proc")
_GROUP, _GROUP_IN_FRONT = 2, 5  # fields of `/proc/PID/stat` after the name


def in_front(pid: str) -> tuple[Words, ...]:
    """The programs in front of the terminal of a process, each with its arguments.

    Empty where it cannot be told.
    """
    status = _status(_PROCESSES / pid)
    return tuple(_of_group(status[_GROUP_IN_FRONT])) if status else ()


def is_only_shell(programs: Iterable[Words]) -> bool:
    """Whether nothing is there but a shell that waits for commands: `bash`, `-zsh`, `sh -i`."""
    return all(
        _name(words[0]) in _SHELLS
        and all(each.startswith("-") for each in words[1:])
        and "-c" not in words
        for words in programs
    )


def runs(programs: Iterable[Words], command: str) -> bool:
    """Whether one of them is this command, itself or by way of an interpreter."""
    wanted = _name(command)
    return any(wanted in _names(words) for words in programs)


def name_of(programs: Iterable[Words]) -> str:
    """What they are called, for people: not the shell that only waits for the other."""
    names = [_name(words[0]) for words in programs]
    return next((each for each in names if each not in _SHELLS), names[0])


def _names(words: Words) -> Iterator[str]:
    name = _name(words[0])
    yield name
    if _INTERPRETER.fullmatch(name):
        yield _name(next((each for each in words[1:] if not each.startswith("-")), ""))


def _name(word: str) -> str:
    return word.rpartition("/")[2].lstrip("-")


def _of_group(group: str) -> Iterator[Words]:
    for process in _PROCESSES.iterdir():
        if not process.name.isdigit():
            continue
        status = _status(process)
        words = _words(process) if status and status[_GROUP] == group else ()
        if words:
            yield words


def _status(process: Path) -> list[str]:
    """What stands after the name, which may be any text in parentheses; empty where it is gone."""
    return _read(process / "stat").rpartition(")")[2].split()


def _words(process: Path) -> Words:
    """The arguments; a program that has renamed itself leaves empty ones behind."""
    return tuple(filter(None, _read(process / "cmdline").split("\0")))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
