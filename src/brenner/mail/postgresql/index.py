"""The index of words in PostgreSQL: a `tsvector` finds candidates, the folded text decides.

PostgreSQL's own phrases forget where words stand in long texts, and its vectors hold no more than
a megabyte. So neither is asked for more than it can do.
"""

from brenner.mail.model import Stored
from brenner.mail.query import Query
from brenner.mail.sql.database import Look, Numbers, Statements
from brenner.mail.sql.tags import asked_tags, tags_of
from brenner.mail.words import words_of

_MOST_BYTES = 1_000_000  # of the words of one vector
_MOST_WORDS = 50  # of a query that the index is asked for
# Tags begin with a sign that no word has.
_SIGN = ":"
_LONG = f"{_SIGN}long"  # which words such a message has is not in the index
# A long text is stored compressed: it is unpacked once, not for every term.
_TERMS = """
    SELECT 1 FROM (SELECT f.folded || '' AS text OFFSET 0) whole
    CROSS JOIN unnest(string_to_array(?, chr(10))) term WHERE strpos(whole.text, term)
"""
_EACH = f"NOT EXISTS ({_TERMS} = 0)"
_ANY = f"EXISTS ({_TERMS} > 0)"


class WordIndex:
    """The table `search`."""

    def __init__(self, database: Statements) -> None:
        self._database = database

    def add(self, stored: Stored, thread: int, sender: int) -> None:
        """Make a message findable."""
        message = stored.message
        tags = [f"{_SIGN}{tag}" for tag in tags_of(stored, thread, sender)]
        lines = (words_of(message.subject), words_of(message.body), tags)
        words = {word for line in lines for word in line}
        if sum(len(word.encode()) for word in words) > _MOST_BYTES:
            words = {_LONG}
        self._database.execute(
            "INSERT INTO search VALUES (?, array_to_tsvector(string_to_array(?, chr(32))), ?)",
            (stored.arrival, " ".join(words), "\n".join(map(_apart, lines))),
        )

    def look(self, query: Query, numbers: Numbers) -> Look | None:
        """Candidates by their words, then every phrase and every tag in the text itself."""
        groups = [[f"{_SIGN}{tag}" for tag in tags] for tags in asked_tags(query, numbers)]
        asked = [("words @@ ?::tsquery", _candidates(query, groups))]
        asked += [(_EACH, "\n".join(map(_apart, query.phrases)))]
        asked += [(_ANY, "\n".join(f" {tag} " for tag in tags)) for tags in groups]
        asked = [(condition, value) for condition, value in asked if value]
        if not asked:
            return None
        return Look(
            "search f CROSS JOIN messages m",
            "f.arrival",
            ("m.arrival = f.arrival", *(condition for condition, _ in asked)),
            tuple(value for _, value in asked),
        )


def _apart(words: tuple[str, ...] | list[str]) -> str:
    """Words with a blank around each, so that no word is found inside of another."""
    return f" {' '.join(words)} "


def _candidates(query: Query, groups: list[list[str]]) -> str:
    """What the index is asked: the longest words, which are the rarest, and tags if not too many.

    Words and tags hold no quotation mark, so nothing in them can be taken for an operator.
    """
    words = sorted({word for phrase in query.phrases for word in phrase}, key=len)
    asked = [[word] for word in words[-_MOST_WORDS:]]
    asked += [tags for tags in groups if len(tags) <= _MOST_WORDS]
    terms = [" | ".join(f"'{term}'" for term in alternatives) for alternatives in asked]
    exact = " & ".join(f"({term})" for term in terms)
    return f"'{_LONG}' | ({exact})" if exact else ""
