"""Thread IDs: classify, check, correct, generate and map them to other systems (ruling R1)."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as codes
from brenner.limits import MOST_FILE_NAME_BYTES
from brenner.named_tuple import NamedTuple
from brenner.protocol import grammar
from brenner.text import did_you_mean, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from brenner.diagnostics.model import Diagnostic


class ThreadKind(StrEnum):
    """The purpose of a thread, given by the prefix of its ID."""

    RESEARCH = "research"
    COORDINATION = "coordination"
    ENGINEERING = "engineering"


_PATTERN_AND_CODE = {
    ThreadKind.RESEARCH: (grammar.RESEARCH_THREAD_ID, codes.INVALID_RS_THREAD_ID),
    ThreadKind.COORDINATION: (grammar.COORDINATION_THREAD_ID, codes.INVALID_COORD_THREAD_ID),
    ThreadKind.ENGINEERING: (grammar.ENGINEERING_THREAD_ID, codes.INVALID_BEAD_ID),
}
LONGEST_THREAD_ID = MOST_FILE_NAME_BYTES - len(".md")
# Recommendations for slugs: generated IDs follow them; other IDs get a warning.
SHORTEST_SLUG, LONGEST_SLUG = 10, 40
FEWEST_WORDS, MOST_WORDS = 2, 5


def classify_thread_id(thread_id: str) -> ThreadKind:
    """Return the kind that the ID's prefix claims, whether or not the ID is valid."""
    if thread_id.startswith("RS-"):
        return ThreadKind.RESEARCH
    if thread_id.startswith("COORD-"):
        return ThreadKind.COORDINATION
    return ThreadKind.ENGINEERING


def check_thread_id(thread_id: str, line: int | None = None) -> list[Diagnostic]:
    """Return why the ID is invalid, or the recommendations that a valid ID does not follow."""
    kind = classify_thread_id(thread_id)
    pattern, code = _PATTERN_AND_CODE[kind]
    if not pattern.fullmatch(thread_id):
        suggestion = did_you_mean(suggest_thread_id(thread_id))
        reason = _first_violation(thread_id, kind)
        return [code.at(line, thread_id=thread_id, reason=reason, suggestion=suggestion)]
    if len(thread_id) > LONGEST_THREAD_ID:
        length = len(thread_id)
        return [codes.THREAD_ID_TOO_LONG.at(line, length=length, most=MOST_FILE_NAME_BYTES)]
    return [
        codes.THREAD_ID_ADVICE.at(line, thread_id=thread_id, reason=reason)
        for reason in _advice_violations(thread_id)
    ]


def without_id_advice(violations: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Drop the recommendations for IDs: a message in an existing thread cannot follow them."""
    return tuple(found for found in violations if found.code is not codes.THREAD_ID_ADVICE)


def is_valid_thread_id(thread_id: str) -> bool:
    """Return whether the ID may be used as a key: in mail, as a file name, as a session's name."""
    pattern, _ = _PATTERN_AND_CODE[classify_thread_id(thread_id)]
    return len(thread_id) <= LONGEST_THREAD_ID and pattern.fullmatch(thread_id) is not None


def _first_violation(thread_id: str, kind: ThreadKind) -> str:
    """Return the first reason, in words, why the ID does not match its pattern."""
    if not thread_id:
        return "it is empty"
    if thread_id != thread_id.strip() or re.search(r"\s", thread_id):
        return "it contains a space or a line break"
    if kind is ThreadKind.ENGINEERING:
        return _character_violation(thread_id, "._-") or "its parts must be joined by single dots"
    tail = thread_id.split("-", 1)[1]
    if kind is ThreadKind.RESEARCH:
        day, _, tail = tail.partition("-")
        if not re.fullmatch(r"[0-9]{8}", day):
            return "a date of eight digits must follow `RS-`"
    wrong_characters = _character_violation(tail, "-")
    if wrong_characters:
        return wrong_characters
    word, most = ("slug", 40) if kind is ThreadKind.RESEARCH else ("topic", 30)
    return f"its {word} has {len(tail)} characters (allowed: 2 to {most})"


def _character_violation(text: str, punctuation: str) -> str | None:
    if re.search(r"[A-Z]", text):
        return "capital letters are not allowed"
    wrong = re.search(f"[^a-z0-9{re.escape(punctuation)}]", text)
    return f"`{wrong[0]}` is not allowed" if wrong else None


def _advice_violations(thread_id: str) -> list[str]:
    match = grammar.RESEARCH_THREAD_ID.fullmatch(thread_id)
    if not match:
        if grammar.RESEARCH_THREAD_ID.fullmatch("RS" + thread_id[2:]) and thread_id[:2] == "rs":
            return ["with a lower-case `rs-` it is an engineering thread, not a research session"]
        return []
    day, slug = match.groups()
    words = len([word for word in slug.split("-") if word])
    reasons = {
        f"`{day}` is not a calendar date": not _is_calendar_date(day),
        f"its slug has {len(slug)} characters (recommended: 10 to 40)": len(slug) < SHORTEST_SLUG,
        f"its slug has {plural(words, 'word')} (recommended: 2 to 5)": not FEWEST_WORDS
        <= words
        <= MOST_WORDS,
    }
    return [reason for reason, holds in reasons.items() if holds]


def _is_calendar_date(digits: str) -> bool:
    try:
        date.fromisoformat(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
    except ValueError:
        return False
    return True


def suggest_thread_id(thread_id: str) -> str | None:
    """Return the valid ID that the author of an invalid one clearly meant, if there is one."""
    tidy = thread_id.strip()
    research = re.fullmatch(
        r"(?i)rs[-_ ]([0-9]{4})-?([0-9]{2})-?([0-9]{2})[-_ ](.+)", tidy, re.ASCII
    )
    coordination = re.fullmatch(r"(?i)coord[-_ ](.+)", tidy, re.ASCII)
    if research:
        year, month, day, slug = research.groups()
        candidate = f"RS-{year}{month}{day}-{_hyphenated(slug)}"
    elif coordination:
        candidate = f"COORD-{_hyphenated(coordination[1])}"
    elif classify_thread_id(tidy) is ThreadKind.ENGINEERING:
        candidate = re.sub(r"\.{2,}", ".", re.sub(r" +", "-", tidy.lower())).strip(".")
    else:
        return None
    return candidate if is_valid_thread_id(candidate) and candidate != thread_id else None


def _hyphenated(text: str) -> str:
    return re.sub(r"[\s_]+", "-", text.lower()).strip("-")


# Generating research thread IDs from the question (ruling R1)


# Only the first words are needed; normalising a long run of combining marks takes quadratic time.
_MOST_QUESTION_CHARACTERS = 1_000
_LONGEST_WORD = 18  # so that two words always fit
# Words without information about the topic
_STOP_WORDS = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "it", "its", "they", "them", "their", "we"),
        *("is", "are", "was", "were", "be", "do", "does", "has", "have", "can", "could", "will"),
        *("would", "should", "how", "what", "when", "where", "whether", "which", "who", "why"),
        *("and", "or", "as", "at", "by", "for", "from", "in", "into", "of", "on", "so", "than"),
        *("there", "to", "with"),
    )
)


def generate_thread_id(question: str, on: date, taken: Collection[str] = ()) -> str:
    """Return a research thread ID for the question.

    It follows all recommendations and is not one of `taken`.
    """
    stem = f"RS-{on:%Y%m%d}-"
    slug = _slug_from_question(question)
    if stem + slug not in taken:
        return stem + slug
    for number in range(2, len(taken) + 3):
        suffix = f"-{number}"
        words = "-".join(slug.split("-")[: MOST_WORDS - 1])
        shorter = words[: LONGEST_SLUG - len(suffix)].rstrip("-")
        if stem + shorter + suffix not in taken:
            return stem + shorter + suffix
    message = "a number up to the count of taken IDs is always free"
    raise AssertionError(message)


def _slug_from_question(question: str) -> str:
    """Return two to five significant words of the question, in their order.

    A question with too few Latin letters gets a word and the first digits of its hash. That is hard
    to remember, but unique and always the same.
    """
    start = question[:_MOST_QUESTION_CHARACTERS].replace("'", "")
    plain = unicodedata.normalize("NFKD", start).encode("ascii", "ignore").decode()
    words = [word[:_LONGEST_WORD] for word in re.findall(r"[a-z0-9]+", plain.lower())]
    significant = [word for word in words if word not in _STOP_WORDS]
    for choice in (significant, words):
        slug = _join_words(choice)
        if len(slug) >= SHORTEST_SLUG and slug.count("-") >= FEWEST_WORDS - 1:
            return slug
    from hashlib import sha256  # loads OpenSSL; only a new thread needs it

    digits = sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return _join_words([*significant[:1], "question", digits])


def _join_words(words: list[str]) -> str:
    """Join the first words with hyphens, at most five, as long as each fits whole into a slug."""
    slug = ""
    for word in words[:MOST_WORDS]:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > LONGEST_SLUG:
            break
        slug = longer
    return slug


# The Cross-Reference Contract: one thread ID is the key in every system


class CrossReference(NamedTuple):
    """The name of a thread in each system. Every system uses the ID unchanged.

    Only tmux renames by itself: it stores `.` and `:` in a session's name as `_`, and a lookup of
    the dotted name fails. `tmux_session` is therefore the name to look up.
    """

    thread_id: str
    kind: ThreadKind
    artifact_path: str
    front_matter: str
    ntm_session: str
    tmux_session: str
    bead: str | None


def cross_reference(thread_id: str) -> CrossReference:
    """Return the names of a valid thread ID in all systems."""
    kind = classify_thread_id(thread_id)
    return CrossReference(
        thread_id=thread_id,
        kind=kind,
        artifact_path=f"artifacts/{thread_id}.md",
        front_matter=f'session_id: "{thread_id}"',
        ntm_session=thread_id,
        tmux_session=thread_id.replace(".", "_").replace(":", "_"),
        bead=thread_id if kind is ThreadKind.ENGINEERING else None,
    )
