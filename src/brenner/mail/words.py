"""The words of a text: what every home indexes, and what a search is compared with.

A word holds letters and digits only, or is a section number such as `§42`. Nothing in it is a
blank, a separator or syntax to any index. What does not count in reading does not count here:
case, accents and other marks, hidden characters, the width and the style of a letter.
"""

import re
from functools import lru_cache
from unicodedata import category, normalize

from brenner.protocol.grammar import ITEM_IN_MAIL

_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_BEYOND_ASCII = re.compile(r"([^\x00-\x7f]+)")
_SECTION_SIGN = re.compile(r"§([0-9]*)")
# Scripts without blanks between words: each letter is a word, so that any part of a text is found
# as a phrase. Thai, Lao, Burmese, Khmer, ideographs, kana.
_ALONE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f\u3005-\u3007\u3021-\u303c"
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U000116d0-\U000116ff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
_DROPPED = ("Mn", "Mc", "Me", "Cf")  # marks, and characters that only steer how others are shown
_ZERO_WIDTH_SPACE = "\u200b"  # the one hidden character that parts words
_IOTA_BELOW = "\u0345"  # a mark that would become a letter with its case
_FILLERS = "\u115f\u1160"  # letters by their category; nothing is seen of them
# Of what is longer (keys, images as text) each part is a word, and all of it a phrase: some indexes
# cut words of thousands of bytes, others refuse them.
_MOST_LETTERS = 500
_MOST_REMEMBERED = 1 << 14


def words_of(text: str) -> list[str]:
    """The words of a text, in order, repeated ones repeated. Linear in its length."""
    words = (text.translate(_ASCII) if text.isascii() else _folded(text)).split()
    if max(map(len, words), default=0) > _MOST_LETTERS:
        words = [part for word in words for part in _parts(word)]
    return words


def _parts(word: str) -> list[str]:
    return [word[at : at + _MOST_LETTERS] for at in range(0, len(word), _MOST_LETTERS)]


def items_of(text: str) -> list[str]:
    """The item IDs that stand in a text as whole words, each once, by name."""
    return sorted(set(ITEM_IN_MAIL.findall(text)))


def _folded(text: str) -> str:
    """The words with blanks between them, and nothing else."""
    runs = _BEYOND_ASCII.split(text)
    runs[::2] = [run.translate(_ASCII) for run in runs[::2]]
    runs[1::2] = ["".join(map(_folded_character, run)) for run in runs[1::2]]
    folded = "".join(runs)
    if "§" in folded:
        folded = _SECTION_SIGN.sub(lambda sign: f" {sign[0]} " if sign[1] else " ", folded)
    return folded


@lru_cache(_MOST_REMEMBERED)
def _folded_character(character: str) -> str:
    """What is left of a character that is not ASCII.

    Taken one by one, characters give what the whole text gives: only the order of marks depends on
    what stands beside them, and marks are dropped. Ordering long runs of them is what makes the
    normal form of a whole text take more than linear time.
    """
    letters = normalize("NFKD", character).replace(_IOTA_BELOW, "")
    return "".join(map(_compared, letters.casefold()))


def _compared(character: str) -> str:
    """A letter or a digit as it is; of everything else at most that it parts words."""
    if character in _FILLERS:
        return ""
    if character.isalnum():
        return f" {character} " if _ALONE.match(character) else character
    if character == "§":
        return character
    is_dropped = category(character) in _DROPPED and character != _ZERO_WIDTH_SPACE
    return "" if is_dropped else " "
