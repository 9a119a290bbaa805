"""Find texts that share words with a text, the most similar first (R30).

Words are compared without case and ending, and a rare word counts more than a common one. A measure
of words cannot tell a text from its negation, so no decision may follow from it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from math import log, sqrt
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# Words


_WORD = lazy_pattern(r"[^\W_]+(?:['’][^\W_]+)*")
_IN_MOST_TEXTS = (
    "a about after against all also although an and any are as at be because been before being "
    "between both but by can cannot could did do does due during each either for from had has "
    "have he hence her his how however if in into is it its itself may might more most much "
    "must neither never no nor not of on one only onto or other our out over own same she "
    "should since so some such than that the their them then there therefore these they this "
    "those through thus to too under until up upon very via was we were what when where whether "
    "which while who whom whose why will with within without would yet you your "
)
_STOP_WORDS = frozenset(_IN_MOST_TEXTS.split())
_MOST_STEMMED = 100_000  # words that are remembered with their stems
_STEM_LENGTH = 6  # letters; `resists` and `resistance` differ only after them
_SHORTEST_STEM = 3
_ENDINGS = (("ies", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""), ("es", "e"), ("s", ""))


def content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without those that nearly every text has."""
    lower = unicodedata.normalize("NFKC", text).casefold()
    return [word for word in _WORD.findall(lower) if word not in _STOP_WORDS]


@lru_cache(_MOST_STEMMED)
def stem(word: str) -> str:
    """Return what a word in lower case has in common with its other forms.

    It is only for comparing: the endings of plurals and verbs are cut off, and then all but the
    first letters.
    """
    word = word.partition("'")[0].partition("’")[0]
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and not word.endswith("ss"):
            shorter = word.removesuffix(ending) + instead
            if len(shorter) >= _SHORTEST_STEM:
                word = shorter
                break
    if len(word) > _SHORTEST_STEM + 1:
        word = word.removesuffix("e")
        word = word[:-1] if word[-1] == word[-2] else word
    return word[:_STEM_LENGTH]


# The index


class WordMatch(NamedTuple):
    """A text that shares words with another.

    `place` is its position among the indexed texts, and `score` is between 0 and 1. `words` are
    the shared ones as in the text that was looked for, the rarest first.
    """

    place: int
    score: float
    words: tuple[str, ...]


class WordIndex:
    """An inverted index of texts: which of them have a word.

    How rare a word is follows from the texts and from `others`, which are never found themselves.
    """

    def __init__(self, texts: Iterable[str], others: Iterable[str] = ()) -> None:
        self._stems = [_stems(text) for text in texts]
        self._places: dict[str, list[int]] = {}
        for index, stems in enumerate(self._stems):
            for each in stems:
                self._places.setdefault(each, []).append(index)
        self._common: dict[str, int] = {}
        other_stems = [_stems(text) for text in others]
        for each in (stem for stems in other_stems for stem in stems):
            self._common[each] = self._common.get(each, 0) + 1
        self._total = len(self._stems) + len(other_stems)

    def matches(self, text: str, least: float) -> list[WordMatch]:
        """Return the texts with at least this score, the most similar first.

        The score is the cosine of the weighted words. `least` must be above 0.
        """
        words = _words_by_stem(text)
        weights = {each: self._weight(each) for each in words}
        norm = sqrt(sum(weights.values()))
        found = []
        for index in self._candidates(weights, least):
            shared = [each for each in weights if each in self._stems[index]]
            own = sum(map(self._weight, self._stems[index]))
            score = sum(weights[each] for each in shared) / (norm * sqrt(own))
            if score >= least:
                shared.sort(key=lambda each: -weights[each])
                found.append(WordMatch(index, score, tuple(words[each] for each in shared)))
        return sorted(found, key=lambda each: (-each.score, each.place))

    def _candidates(self, weights: Mapping[str, float], least: float) -> set[int]:
        """Return all texts that can reach the score, and others.

        A text has at least the words that it shares, so their weights must reach `least` squared
        of all. A text that shares only the most common words cannot, and is not looked up.
        """
        left = sum(weights.values())
        needed = least * least * left * _ROUNDING
        found: set[int] = set()
        for each in sorted(weights, key=weights.__getitem__, reverse=True):
            if left < needed:
                break
            found.update(self._places.get(each, ()))
            left -= weights[each]
        return found

    def _weight(self, each: str) -> float:
        """Return the weight of a stem. One in no text weighs as much as one in a single text."""
        count = len(self._places.get(each, ())) + self._common.get(each, 0)
        rarity = 1 + log((self._total + 1) / (max(count, 1) + 1))
        return rarity * rarity


_ROUNDING = 1 - 1e-9


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, content_words(text)))


def _words_by_stem(text: str) -> dict[str, str]:
    """Return the stems of a text, each with the first word that has it."""
    found: dict[str, str] = {}
    for word in content_words(text):
        found.setdefault(stem(word), word)
    return found
