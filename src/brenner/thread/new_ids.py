"""New research thread IDs, made from the question (ruling R1)."""

import re
import unicodedata
from collections.abc import Collection
from datetime import date
from hashlib import sha256

from brenner.thread.ids import FEWEST_WORDS, LONGEST_SLUG, MOST_WORDS, SHORTEST_SLUG

# Five words stand at the start; a long run of marks takes the square of its length to normalise.
_MOST_LOOKED_AT = 1_000
_LONGEST_WORD = 18  # so that two always fit
# Words that say nothing about a question's topic.
_FILLERS = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "it", "its", "they", "them", "their", "we"),
        *("is", "are", "was", "were", "be", "do", "does", "has", "have", "can", "could", "will"),
        *("would", "should", "how", "what", "when", "where", "whether", "which", "who", "why"),
        *("and", "or", "as", "at", "by", "for", "from", "in", "into", "of", "on", "so", "than"),
        *("there", "to", "with"),
    )
)


def generate_thread_id(question: str, on: date, taken: Collection[str] = ()) -> str:
    """A research thread ID for the question that keeps all of the advice and is not `taken`."""
    stem = f"RS-{on:%Y%m%d}-"
    slug = _slug(question)
    if stem + slug not in taken:
        return stem + slug
    for number in range(2, len(taken) + 3):
        suffix = f"-{number}"
        shorter = _cut("-".join(slug.split("-")[: MOST_WORDS - 1]), LONGEST_SLUG - len(suffix))
        if stem + shorter + suffix not in taken:
            return stem + shorter + suffix
    message = "a number up to the count of taken IDs is always free"
    raise AssertionError(message)


def _slug(question: str) -> str:
    """Two to five telling words of the question, in its order.

    A question with too few Latin letters for that gets a word and the first digits of its hash:
    not memorable, but the same every time and its own.
    """
    start = question[:_MOST_LOOKED_AT].replace("'", "")
    plain = unicodedata.normalize("NFKD", start).encode("ascii", "ignore").decode()
    words = [word[:_LONGEST_WORD] for word in re.findall(r"[a-z0-9]+", plain.lower())]
    telling = [word for word in words if word not in _FILLERS]
    for choice in (telling, words):
        slug = _joined(choice)
        if len(slug) >= SHORTEST_SLUG and slug.count("-") >= FEWEST_WORDS - 1:
            return slug
    digits = sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return _joined([*telling[:1], "question", digits])


def _joined(words: list[str]) -> str:
    """As many of the words, up to five, as fit whole into a slug."""
    slug = ""
    for word in words[:MOST_WORDS]:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > LONGEST_SLUG:
            break
        slug = longer
    return slug


def _cut(slug: str, most: int) -> str:
    return slug[:most].rstrip("-")
