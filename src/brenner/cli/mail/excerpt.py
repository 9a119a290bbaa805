"""The place in a body where the words of a search stand, on one line, with the words marked."""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple, TextIO

from brenner.cli.folding import Piece, Style
from brenner.cli.marks import QUIET
from brenner.cli.output import is_terminal
from brenner.mail.words import words_of

_INDENT = "      "
_MOST_LOOKED_AT = 50_000  # of a body; what stands beyond that has no excerpt
_MOST_COMPARED = 20  # words of a phrase
_BEFORE, _LONGEST = 30, 160
_BEFORE_CUT, _AFTER_CUT = "… ", " …"
# Underlined, so that it is no matter of colour; between signs where there are no styles
_FOUND: Style = MappingProxyType({"bold": True, "underline": True})
_OPEN, _CLOSE = "«", "»"
_BLANKS = str.maketrans("\t\r", "  ")
_TOKEN = re.compile(r"(?:[^\W_]|[\u0300-\u036f]|§(?=[0-9]))+")


class _Word(NamedTuple):
    """A word as a search compares it, and where it stands."""

    word: str
    start: int
    end: int


def excerpt(body: str, phrases: Sequence[tuple[str, ...]], out: TextIO) -> list[Piece]:
    """The line, or nothing where none of the words stands in the body (or far down in it)."""
    text = body[:_MOST_LOOKED_AT].translate(_BLANKS)
    found = _found(list(_words(text)), [phrase for phrase in phrases if phrase])
    if not found:
        return []
    first, last = found[0]
    line = text.rfind("\n", 0, first) + 1
    start = line if first - line <= _BEFORE else text.rfind(" ", 0, first - _BEFORE + 1) + 1
    start = start if start >= line else first
    following = text.find("\n", last)
    end = min(len(text) if following < 0 else following, max(last, start + _LONGEST))
    pieces = [Piece(_INDENT + _BEFORE_CUT * (start > line), QUIET)]
    place = start
    for one, other in found:
        if one < place or other > end:
            continue
        pieces += [Piece(text[place:one], QUIET), *_marked(text[one:other], out)]
        place = other
    is_cut = end < len(text) and text[end] != "\n"
    pieces.append(Piece(text[place:end] + _AFTER_CUT * is_cut, QUIET))
    return [piece._replace(text=piece.text.replace("\n", " ")) for piece in pieces]


def _marked(text: str, out: TextIO) -> Iterable[Piece]:
    return [Piece(text, _FOUND)] if is_terminal(out) else [Piece(f"{_OPEN}{text}{_CLOSE}")]


def _words(text: str) -> Iterable[_Word]:
    """The words with their places. A token of several words has one place for them all."""
    for token in _TOKEN.finditer(text):
        words = words_of(token[0])
        if len(words) == len(token[0]):
            places = [(token.start() + n, token.start() + n + 1) for n in range(len(words))]
        else:
            places = [token.span()] * len(words)
        yield from (_Word(word, *place) for word, place in zip(words, places, strict=True))


def _found(words: Sequence[_Word], phrases: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Where the phrases stand, from first to last; a long one by its first words."""
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for phrase in phrases:
        wanted.setdefault(phrase[0], set()).add(phrase[:_MOST_COMPARED])
    places = set()
    for number, word in enumerate(words):
        for phrase in wanted.get(word.word, ()):
            run = words[number : number + len(phrase)]
            if tuple(each.word for each in run) == phrase:
                places.add((word.start, run[-1].end))
    return sorted(places)
