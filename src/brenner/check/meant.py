"""Whether a subject was meant for the protocol, though its prefix is not as it must be.

Before sending, `brenner check` says so of every subject. In a mailbox that takes other mail, too,
it decides what is refused: a contribution under a malformed prefix would be lost as plain mail,
and plain mail must not be refused because its first word is `Question`.
"""

import re
from unicodedata import category, normalize

from brenner.text import surely
from brenner.thread.subjects import ROLE_SHORTHANDS, parse_subject, repair_subject
from brenner.thread.types import COMPILED, CRITIQUE, DELTA, KICKOFF, TYPES, MessageType

_MEANT_FOR_A_DELTA = re.compile(r"\W*DELTA\s*[\[:]", re.IGNORECASE)
# Types whose loss is a loss to the artifact. Nobody begins other mail with one and a colon.
_OURS = (KICKOFF.name, DELTA.name, COMPILED.name)
_CONTRIBUTIONS = (*_OURS, CRITIQUE.name)
# The first word in capitals, and what follows it: `[KICKOFF] …`, `KICK-OFF: …`, `DELTA - …`
_FIRST_WORD = re.compile(r"[\W_]*([A-Z][A-Z-]{2,}[A-Z])(?![A-Za-z0-9])[\W_]*?([:\[]?)", re.ASCII)
# `DELTA(gpt): …`, `DELTA gpt-5: …`
_DELTA_OF_A_MODEL = re.compile(
    rf"[\W_]*DELTA[\W_]*(?:{'|'.join(ROLE_SHORTHANDS)})[\w.-]*\W*:", re.IGNORECASE
)
# What some copy with the subject
_HEADER = re.compile(r"\A\s*subject\s*:\s*(?=\S)", re.IGNORECASE)
_MARKS = ("Cf", "Cc")
_LONGEST = 500  # a prefix stands at the beginning


def meant_type(subject: str) -> MessageType | None:
    """The type; also of a subject whose prefix is malformed, so that the body is checked too."""
    parsed = parse_subject(subject) or parse_subject(repair_subject(subject) or "")
    if parsed:
        return TYPES[parsed.type]
    return DELTA if _MEANT_FOR_A_DELTA.match(subject) else None


def is_meant(subject: str, *, in_session: bool) -> bool:
    """Whether a subject was meant to have a prefix, in a session's thread or elsewhere.

    In a session's thread `Question: …` is; elsewhere it is how people write.
    """
    if parse_subject(subject):
        return True
    shown = _HEADER.sub("", _as_shown(subject[:_LONGEST])[:_LONGEST], count=1)
    repaired = parse_subject(repair_subject(shown) or "") or parse_subject(shown)
    if repaired:
        is_written_so = shown.lstrip().startswith(repaired.type)
        return in_session or is_written_so or repaired.type in _OURS
    is_a_delta = meant_type(shown) is not None or _DELTA_OF_A_MODEL.match(shown) is not None
    return is_a_delta or _is_nearly(shown, in_session)


def _is_nearly(shown: str, in_session: bool) -> bool:
    """Whether the first word is a type's, or that but for a slip, and stands there as a prefix."""
    first = _FIRST_WORD.match(shown)
    if first is None:
        return False
    word, follows = first.groups()
    if in_session:
        return word in _CONTRIBUTIONS or bool(follows and surely(word, _CONTRIBUTIONS))
    return bool(follows and surely(word, (KICKOFF.name, DELTA.name)))


def _as_shown(subject: str) -> str:
    """The subject as a reader sees it: no hidden characters, no letters of another width."""
    if subject.isascii():
        return subject
    plain = normalize("NFKC", subject)
    return "".join(each for each in plain if category(each) not in _MARKS)
