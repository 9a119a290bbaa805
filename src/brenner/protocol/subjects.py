"""Subject lines, `PREFIX: description`: parse, compose, check and repair them (ruling R2)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_SUBJECT_CHARACTERS
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import MESSAGE_TYPES, SUBJECT
from brenner.text import closest, cut, did_you_mean, escape_control

if TYPE_CHECKING:
    from brenner.diagnostics.model import Diagnostic

# thread_subject_conventions, Role Shorthand for DELTA: shorthand and the program that runs it
ROLE_SHORTHANDS = {
    "opus": "claude-code",
    "gpt": "codex-cli",
    "gemini": "gemini-cli",
    "claude": "claude-code",
    "human": None,
}
_ADVISED_DESCRIPTION = 80
_LONGEST_REPAIRED = 4 * MOST_SUBJECT_CHARACTERS
_LOOSE_SUBJECT = lazy_pattern(
    r"\s*+([A-Za-z]++)\s*+(?:\[\s*+([A-Za-z]++)\s*+\])?+\s*+[:：]\s*+(.*+)"
)


class Subject(NamedTuple):
    """A parsed subject. The description has no spaces around it; only DELTA has a `role`."""

    type: str
    role: str | None
    description: str

    @property
    def prefix(self) -> str:
        """The prefix with its colon."""
        return f"{self.type}[{self.role}]:" if self.role else f"{self.type}:"

    def render(self) -> str:
        """Return the subject line."""
        return f"{self.prefix} {self.description}".rstrip()


def parse_subject(text: str) -> Subject | None:
    """Parse a subject. Return None only if its prefix is invalid."""
    # A longer one cannot be stored, so it must not fill the cache.
    parse = _parse_cached if len(text) <= MOST_SUBJECT_CHARACTERS else _parse_cached.__wrapped__
    return parse(text)


@lru_cache(maxsize=2048)
def _parse_cached(text: str) -> Subject | None:
    match = SUBJECT.fullmatch(text)
    if not match:
        return None
    delta, role, other, description = match.groups()
    return Subject(delta or other, role, description.strip())


def compose_subject(subject_type: str, description: str, role: str | None = None) -> str:
    """Return a valid subject on one line, cut to the maximum length."""
    words = escape_control(" ".join(description.split()))
    line = Subject(subject_type, role, words).render()
    most = MOST_SUBJECT_CHARACTERS
    return cut(line, most)


def check_subject(text: str, line: int | None = None) -> list[Diagnostic]:
    subject = parse_subject(text)
    found = [_invalid_prefix(text, line)] if subject is None else _check_parts(subject, line)
    description = len(subject.description) if subject else 0
    if len(text) > MOST_SUBJECT_CHARACTERS:
        most = MOST_SUBJECT_CHARACTERS
        found.append(codes.SUBJECT_TOO_LONG.at(line, length=len(text), most=most))
    elif description > _ADVISED_DESCRIPTION:
        most = _ADVISED_DESCRIPTION
        found.append(codes.SUBJECT_DESCRIPTION_LONG.at(line, length=description, most=most))
    return found


def _check_parts(subject: Subject, line: int | None) -> list[Diagnostic]:
    found = []
    if not subject.description:
        found.append(codes.EMPTY_SUBJECT_DESCRIPTION.at(line, prefix=subject.prefix))
    if subject.role is not None and subject.role not in ROLE_SHORTHANDS:
        near = closest(subject.role, ROLE_SHORTHANDS)
        found.append(
            codes.UNKNOWN_ROLE_SHORTHAND.at(
                line,
                role=subject.role,
                known=", ".join(f"`{role}`" for role in ROLE_SHORTHANDS),
                suggestion=did_you_mean(near),
            )
        )
    return found


def repair_subject(text: str) -> str | None:
    """Return the subject with a correct prefix if only its case, spaces or width are wrong."""
    if len(text) > _LONGEST_REPAIRED:
        return None
    loose = _LOOSE_SUBJECT.fullmatch(text)
    if not loose:
        return None
    word, role, description = loose.groups()
    repaired = Subject(word.upper(), role.lower() if role else None, description.rstrip()).render()
    return repaired if parse_subject(repaired) and repaired != text else None


_DELTA_REASON = "DELTA needs the model's shorthand in brackets, in lower case"


def _invalid_prefix(text: str, line: int | None) -> Diagnostic:
    reason, suggestion = _explain_prefix(text)
    found = codes.INVALID_SUBJECT_PREFIX.at(
        line, subject=text, reason=reason, suggestion=suggestion
    )
    return found._replace(fix=suggestion.strip()) if reason == _DELTA_REASON else found


def _explain_prefix(text: str) -> tuple[str, str]:
    """Return why the prefix is invalid, and what to write instead."""
    repaired = repair_subject(text)
    if repaired:
        reason = "case, spaces and colon must be exactly as in the list"
        return reason, f" Write `{repaired}`."
    reply = re.match(r"(?i)\s*(re|fwd?|aw)\s*:", text)
    if reply:
        reason = f"it begins with `{reply[0].strip()}`"
        return reason, " A reply needs its own prefix. Refer to the original message in the body."
    word = re.match(r"\W*([A-Za-z]*)", text)
    known = closest(word[1], MESSAGE_TYPES) if word else None
    if known == "DELTA":
        return _DELTA_REASON, f" {_delta_example(text)}"
    if known:
        return "the prefix is misspelt or its colon is missing", f" Did you mean `{known}: …`?"
    return "its first word is not one of the ten prefixes", ""


def _delta_example(text: str) -> str:
    """Return how to write the prefix. Keep the shorthand of a malformed one such as `opus-4.5`."""
    known = ", ".join(f"`{each}`" for each in ROLE_SHORTHANDS)
    written = re.search(r"\[\s*([A-Za-z]+)", text)
    shorthand = written[1].lower() if written else ""
    if shorthand in ROLE_SHORTHANDS:
        return f"Write `DELTA[{shorthand}]: …`. The brackets take one of {known}."
    return f"Write the shorthand of your model, not your role, in the brackets: {known}."
