"""The place in a body where the words of a search stand, on one line, with the words marked."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from brenner.mail.words import words_of

_MOST_LOOKED_AT = 50_000  # of a body; what stands beyond that has no excerpt
_MOST_COMPARED = 20  # words of a phrase
_BEFORE, _LONGEST = 30, 160
_BEFORE_CUT, _AFTER_CUT = "… ", " …"
_BLANKS = str.maketrans("\t\r", "  ")
_SESSION = re.compile(r"(?:RS|COORD)-[A-Za-z0-9-]+")
_TOKEN = re.compile(r"(?:[^\W_]|[\u0300-\u036f]|§(?=[0-9]))+")


class Part(NamedTuple):
    """A piece of a text, and whether it is what was looked for."""

    text: str
    is_found: bool = False


class _Word(NamedTuple):
    """A word as a search compares it, and where it stands."""

    word: str
    start: int
    end: int


def excerpt(body: str, phrases: Sequence[tuple[str, ...]]) -> list[Part]:
    """The line, or nothing where none of the words stands in the body (or far down in it)."""
    text = body[:_MOST_LOOKED_AT].translate(_BLANKS)
    found = _found(text, phrases)
    if not found:
        return []
    first, last = next((each for each in found if not _is_in_id(text, each)), found[0])
    line = text.rfind("\n", 0, first) + 1
    start = line if first - line <= _BEFORE else text.rfind(" ", 0, first - _BEFORE + 1) + 1
    start = start if start >= line else first
    following = text.find("\n", last)
    end = min(len(text) if following < 0 else following, max(last, start + _LONGEST))
    is_cut = end < len(text) and text[end] != "\n"
    *parts, rest = _parts(text, found, start, end)
    parts = [Part(_BEFORE_CUT * (start > line)), *parts, Part(rest.text + _AFTER_CUT * is_cut)]
    return [part._replace(text=part.text.replace("\n", " ")) for part in parts]


def _is_in_id(text: str, place: tuple[int, int]) -> bool:
    """Whether it is a word of the name of a session, which tells nothing of what is said."""
    start = max(text.rfind(each, 0, place[0]) for each in " \n") + 1
    name = _SESSION.search(text, start, place[1] + _LONGEST)
    return name is not None and name.start() <= place[0] and place[1] <= name.end()


def marked(line: str, phrases: Sequence[tuple[str, ...]]) -> list[Part]:
    """A whole line, such as a subject, with the words marked that stand in it."""
    text = line[:_MOST_LOOKED_AT]
    *parts, rest = _parts(text, _found(text, phrases), 0, len(text))
    parts.append(Part(rest.text + line[_MOST_LOOKED_AT:]))
    return [part for part in parts if part.text]


def _parts(text: str, found: Iterable[tuple[int, int]], start: int, end: int) -> list[Part]:
    """The text from one place to another; what stands before, between and after what was found."""
    parts = []
    place = start
    for one, other in found:
        if one < place or other > end:
            continue
        parts += [Part(text[place:one]), Part(text[one:other], is_found=True)]
        place = other
    return [*parts, Part(text[place:end])]


def _found(text: str, phrases: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Where the phrases stand, from first to last; a long one by its first words."""
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for phrase in filter(None, phrases):
        wanted.setdefault(phrase[0], set()).add(phrase[:_MOST_COMPARED])
    words = list(_words(text))
    places = set()
    for number, word in enumerate(words):
        for phrase in wanted.get(word.word, ()):
            run = words[number : number + len(phrase)]
            if tuple(each.word for each in run) == phrase:
                places.add((word.start, run[-1].end))
    return sorted(places)


def _words(text: str) -> Iterable[_Word]:
    """The words with their places. A token of several words has one place for them all."""
    for token in _TOKEN.finditer(text):
        words = words_of(token[0])
        if len(words) == len(token[0]):
            places = [(token.start() + n, token.start() + n + 1) for n in range(len(words))]
        else:
            places = [token.span()] * len(words)
        yield from (_Word(word, *place) for word, place in zip(words, places, strict=True))
