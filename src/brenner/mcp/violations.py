"""Violations in the answers of our own tools.

What is wrong with the caller's own text is told in plain words. What follows from the mail may
quote the work of others, and is framed: so is whatever is not known to be the caller's own.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from brenner.diagnostics.codes import artifacts as artifacts_codes
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.diagnostics.codes.messages import (
    INVALID_BEAD_ID,
    INVALID_COORD_THREAD_ID,
    INVALID_RS_THREAD_ID,
    TEMPLATE_NOT_FILLED_IN,
    THREAD_ID_TOO_LONG,
)
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.mcp.fixes import IN_TOOLS, in_words_of_tools
from brenner.mcp.framing import Foreign
from brenner.mcp.sentences import our_fix, our_message
from brenner.mcp.told import in_tools, line_of

# Codes that quote nothing but what the caller has given, numbers, and the word that is suggested.
_OWN = frozenset(
    {
        *serving_codes.CONTRIBUTING_CODES,
        *serving_codes.IDENTITY_CODES,
        *(
            mail_codes.UNKNOWN_SENDER,
            mail_codes.UNKNOWN_RECIPIENT,
            mail_codes.NO_SUCH_AGENT,
            mail_codes.SENT_TO_NOBODY,
        ),
        *(mail_codes.UNKNOWN_THREAD, mail_codes.UNKNOWN_MESSAGE, mail_codes.KEY_REUSED),
        *(INVALID_BEAD_ID, INVALID_COORD_THREAD_ID, INVALID_RS_THREAD_ID, THREAD_ID_TOO_LONG),
        *(serving_codes.NO_THREAD_NAMED, serving_codes.NOT_COMPILED, serving_codes.NO_SESSION_YET),
        *(serving_codes.UNUSABLE_THREAD_ID, TEMPLATE_NOT_FILLED_IN),
        *(artifacts_codes.UNKNOWN_VERSION, NO_SUCH_ITEM, INVALID_SECTION),
    }
)
# A name, an ID, a section: no sentence. What is suggested is often what somebody else has chosen.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,79}", re.ASCII)
_QUOTING = frozenset({"repaired", "readings", "suggestion", "item", "field"})


def is_own(found: Diagnostic, known: Collection[Diagnostic] = ()) -> bool:
    """Whether it holds only words of ours and the caller's; `known` are those of a check alone."""
    return found in known or (found.code in _OWN and _is_plain(found.suggestion))


def told_json(found: Diagnostic, known: Collection[Diagnostic] = ()) -> dict[str, object]:
    """A violation, framed unless it is the caller's own."""
    return in_tools(found).to_json() if is_own(found, known) else thread_json(found)


def thread_json(found: Diagnostic) -> dict[str, object]:
    """A violation that the mail tells of."""
    document = in_tools(found).to_json()
    message, fix = _message(found), _fix(found)
    quoted = {"message_in_full": message.in_full, "fix_in_full": fix.in_full}
    return {
        **document,
        "message": message.ours,
        "fix": fix.ours,
        **{name: text for name, text in quoted.items() if text},
        **{name: _foreign(document[name]) for name in _QUOTING & document.keys()},
    }


def refusal(
    violations: Iterable[Diagnostic], known: Collection[Diagnostic] = ()
) -> dict[str, object]:
    """The structured form of an error, as other tools have it."""
    found = sorted(violations, key=worst_first)
    documents = [told_json(each, known) for each in found]
    return {
        "error": documents[0] if documents else None,
        "violations": documents,
        "summary": Summary.of(found)._asdict(),
        "corrected": None,
    }


def told_lines(
    violations: Iterable[Diagnostic], known: Collection[Diagnostic] = ()
) -> Iterator[str | Foreign]:
    """Each as other tools have it, framed unless it is the caller's own."""
    for found in violations:
        if is_own(found, known):
            yield f"- {found.severity.value} {line_of(in_tools(found))}"
        else:
            yield from thread_lines(found)


def thread_lines(found: Diagnostic) -> Iterator[str | Foreign]:
    """The same for one that the mail tells of."""
    message, fix = _message(found), _fix(found)
    yield f"- {found.severity.value} {found.id}: {message.ours} Fix: {fix.ours}"
    yield from (each.in_full for each in (message, fix) if each.in_full)


def in_delta(found: Diagnostic) -> Diagnostic:
    """A violation in a composed message, told by the number of the delta instead of a line."""
    if found.block is None:
        return found._replace(line=None)
    where = f" (`{found.field}`)" if found.field else ""
    said = f"Delta {found.block}{where}: {found.message}"
    return found._replace(line=None, message=said, repaired=None)


class _Said(NamedTuple):
    """A sentence in our words; and whole, where it has words of others in it."""

    ours: str
    in_full: Foreign | None = None


def _message(found: Diagnostic) -> _Said:
    """What is wrong; the title of the code where no word of the sentence is surely ours."""
    ours = our_message(found) or f"{found.code.title}."
    return _Said(ours, None if ours == found.message else Foreign(found.message))


def _fix(found: Diagnostic) -> _Said:
    fix = in_tools(found).fix
    if found.code in IN_TOOLS and _is_plain(found.suggestion):
        return _Said(fix)
    ours = in_words_of_tools(found.code, our_fix(found))
    return _Said(ours or "see below.", None if ours == fix else Foreign(fix))


def _is_plain(suggestion: str | None) -> bool:
    return suggestion is None or _WORD.fullmatch(suggestion) is not None


def _foreign(value: object) -> object:
    if isinstance(value, list):
        return [Foreign(str(each)) for each in value]
    return Foreign(str(value))
