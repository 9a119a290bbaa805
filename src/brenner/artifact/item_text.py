"""The values of an item's fields as text, and back: each form is written and read here."""

import re
from collections.abc import Mapping

from brenner.artifact.kill_marks import escape_status
from brenner.artifact.layout import SCORE_LABELS
from brenner.artifact.model import Killed, Reference, order_of
from brenner.markdown.escape import (
    escape,
    escape_also,
    escape_word,
    split_key,
    split_list,
    unescape,
)
from brenner.protocol.delta.schema import MOST_SCORE
from brenner.protocol.grammar import ANCHOR, ITEM_ID

TRUE = "true"
_COMMA = re.compile(r"\\.|,", re.DOTALL)
_COMMA_OR_BRACKET = re.compile(r"\\.|[,\[]", re.DOTALL)


# Texts


def text_text(label: str, text: str) -> str:
    """Any text. A status that says `KILLED` is how other programs mark a killed item."""
    return escape_status(escape(text)) if is_status(label) else escape(text)


def is_status(label: str) -> bool:
    """Whether a label is that of some status."""
    return label.casefold().endswith("status")


# Lists on one line: §42, §45-47, [external: Smith, 2020]


def list_text(values: tuple[str, ...]) -> str:
    """Anchors or item IDs, joined by commas."""
    return ", ".join(map(_element, values))


def _element(value: str) -> str:
    if value.isalnum():
        return value
    if not ANCHOR.fullmatch(value):
        return escape_also(escape(value), _COMMA_OR_BRACKET)
    # A comma in the brackets of `[external: Smith, 2020]` parts nothing.
    return escape(value) if value[0] == "[" else escape_also(escape(value), _COMMA)


def read_list(raw: str) -> tuple[str, ...]:
    """The values that are joined by commas."""
    return tuple(unescape(part) for part in split_list(raw) if part)


_OUTCOME = re.compile(rf"(?:\*\*)?{ITEM_ID.pattern}(?:\*\*)?[ \t]*:")

# Lists with an entry to a line: H1: text; refines RS-20251228-initial H2


def outcome_text(key: str, outcome: str) -> str:
    """An entry of expected outcomes."""
    return f"{escape_word(key)}: {escape(outcome, '  ')}"


def in_order(outcomes: Mapping[str, str]) -> list[tuple[str, str]]:
    """Outcomes by the number of their hypothesis."""
    return sorted(outcomes.items(), key=lambda pair: order_of(pair[0]))


def read_outcome(raw: str) -> tuple[str, str] | None:
    """The hypothesis and the outcome. Others put the hypothesis in bold."""
    bold = re.match(r"\*\*([^*:\s]+)(?::\*\*|\*\*:)[ \t]*", raw)
    parts = (bold[1], raw[bold.end() :]) if bold else split_key(raw)
    if parts is None or not parts[0] or not parts[1]:
        return None
    return unescape(parts[0]), unescape(parts[1])


def split_outcomes(raw: str) -> list[str]:
    """`H1: stays; H2: changes` as two, where each begins with an ID; else the text as one."""
    parts = [part.strip() for part in re.split(r"[;\n]", raw)]
    said = [part for part in parts if part]
    return said if all(map(_OUTCOME.match, said)) else [raw]


def reference_text(reference: Reference) -> str:
    """An entry of references."""
    words = (reference.relation, reference.session, reference.item)
    return " ".join(map(escape_word, words))


def read_reference(raw: str) -> Reference | None:
    """The relation, the session and the item."""
    words = raw.split()
    if len(words) != len(Reference._fields):
        return None
    relation, session, item = (unescape(word) for word in words)
    return Reference(session, item, relation)


# Scores: LR=3, Cost=2, Speed=2, Ambiguity=3

_PART = re.compile(r"([A-Za-z_* -]{1,40})[=:][ \t*]*(-?[0-9]{1,9})(?:[ \t]*/[ \t]*3)?")
_PARTS = {label.casefold(): part for part, label in SCORE_LABELS.items()} | {
    part.replace("_", " "): part for part in SCORE_LABELS
}


def score_text(score: Mapping[str, int]) -> str:
    """The parts that were given, in the order of the layout."""
    given = ((label, score[part]) for part, label in SCORE_LABELS.items() if part in score)
    return ", ".join(f"{label}={number}" for label, number in given)


def read_score(raw: str) -> tuple[dict[str, int], list[str]]:
    """The parts of a score, and what cannot be read as one."""
    score: dict[str, int] = {}
    unread = []
    for written in filter(None, split_list(raw.replace(";", ","))):
        match = _PART.fullmatch(written)
        word = re.sub(r"[_* -]+", " ", match[1]).strip() if match else ""
        part = _PARTS.get(word.casefold())
        if match and part and part not in score and 0 <= int(match[2]) <= MOST_SCORE:
            score[part] = int(match[2])
        else:
            unread.append(written)
    return score, unread


# Who killed an item, and when: BlueLake, 2025-12-30T10:00:00Z

_TIME_OF_OTHERS = re.compile(r"(?:\bat\b|\bon\b|\()[ \t]*+([0-9]{4}-[0-9]{2}-[0-9]{2}[^()]*)\)?\Z")


def killed_by_text(killed: Killed) -> str:
    """The agent and the time; a time that is not known is left out."""
    agent, at = (escape_also(escape(part), _COMMA) for part in (killed.agent, killed.at))
    return f"{agent}, {at}" if at else agent


def read_killed_by(raw: str) -> tuple[str, str, bool]:
    """The agent, the time, and whether they are written as we write them."""
    *agents, at = split_list(raw, brackets="")
    if agents:
        return unescape(", ".join(agents)), unescape(at), len(agents) == 1
    other = _TIME_OF_OTHERS.search(raw)
    if other:
        return unescape(raw[: other.start()].rstrip()), unescape(other[1].rstrip()), False
    return unescape(raw), "", True
