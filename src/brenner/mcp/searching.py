"""A search as agents write it: our grammar, and what they know from Agent Mail."""

import re
from collections.abc import Iterator
from itertools import islice

from brenner.diagnostics.codes.serving import SEARCH_OPERATOR
from brenner.diagnostics.model import Diagnostic
from brenner.mail.search import Query, parse_query, query_too_long

_QUOTED = re.compile(r'("(?:[^"]++|"")*+"?)')
_WORD = re.compile(r"\S+")
_MOST_FAULTS = 50  # whoever made so many did not write a query
_AND = "AND"  # all words must be there anyhow
_INSTEAD = {
    "OR": "Search twice, once for each side.",
    "NOT": "Leave out what is not to be there, and read on.",
    "NEAR": 'Use a "phrase", or the words alone.',
    "*": "Write the whole word.",
}


def asked_for(text: str) -> Query | tuple[Diagnostic, ...]:
    """What a query asks for, or everything that is wrong with it."""
    too_long = query_too_long(text)
    if too_long:
        return (too_long,)
    parts = _QUOTED.split(text)
    bare = parts[::2]
    faults = tuple(dict.fromkeys(islice(_faults(" ".join(bare)), _MOST_FAULTS)))
    if faults:
        return faults
    parts[::2] = [_without_and(part) for part in bare]
    return parse_query("".join(parts))


def _faults(bare: str) -> Iterator[Diagnostic]:
    """Operators that we do not have."""
    for word in _WORD.findall(bare):
        plain = word.strip("()")
        name = plain.split("(")[0]
        if word.rstrip(")").endswith("*"):
            yield SEARCH_OPERATOR.at(operator=word, instead=_INSTEAD["*"])
        elif name in _INSTEAD:
            yield SEARCH_OPERATOR.at(operator=name, instead=_INSTEAD[name])


def _without_and(part: str) -> str:
    return _WORD.sub(lambda word: "" if word[0].strip("()") == _AND else word[0], part)
