"""Anchors one by one: whether they are well formed, what was meant, which sections they cite."""

import re
from collections.abc import Iterator

from brenner.protocol.delta.validate import ascends, is_blank
from brenner.protocol.grammar import ANCHOR, CITED_SECTIONS, MOJIBAKE_SECTION_SIGN

LABEL = "[inference]"
INFERENCES = frozenset({"inference", LABEL})

_BEYOND = 10**9  # no section has a number of ten digits
_LONGEST_MENDED = 1_000  # what is longer is no slip of the pen
_DASHES = re.compile("[‐‑‒–—−]")
_BLANK_AFTER_SIGN = re.compile(r"§{1,2}[ \xa0\u202f]*(?=[0-9])")
_BARE_NUMBERS = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?")
_SPELLED_SIGN = re.compile(
    r"(?:[Ss]ec(?:t(?:ion|\.)?|s?\.|tions)? ?|[S$] ?)([0-9]{1,9}(?:[-–][0-9]{1,9})?)"
)
_LONG_RANGE = re.compile(r"(§[0-9]+-)§")
_SHORT_RANGE = re.compile(r"§[0-9]+-[0-9]")
_LABELS = ("inference", LABEL, "[axiomatic]")


def cited(text: str) -> Iterator[tuple[str, int, int]]:
    """What a text cites, as written, and the first and last section of it."""
    if "§" not in text:
        return
    for match in CITED_SECTIONS.finditer(text):
        first = _number(match[1])
        last = _number(match[2]) if match[2] else first
        yield match[0], first, max(first, last)


def _number(digits: str) -> int:
    """A number that nobody needs to compute where it is longer than any section's."""
    return int(digits) if len(digits) < len(str(_BEYOND)) else _BEYOND


def what_is_wrong(anchor: str) -> str | None:
    """Why an anchor is not well formed; None for one that is."""
    if ANCHOR.fullmatch(anchor):
        return None if ascends(anchor) else "its range does not ascend"
    if is_blank(anchor):
        return "it is blank"
    if MOJIBAKE_SECTION_SIGN.search(anchor):
        return "its section sign was garbled by a wrong encoding"
    return "it is of no known form"


def mended(anchor: str) -> str | None:
    """The well-formed anchor that a malformed one certainly stands for, ranges in one form."""
    if len(anchor) > _LONGEST_MENDED:
        return None
    tidy = MOJIBAKE_SECTION_SIGN.sub("§", anchor).strip()
    tidy = _BLANK_AFTER_SIGN.sub("§", tidy)
    if not tidy.startswith("["):
        tidy = _DASHES.sub("-", tidy)
    if _BARE_NUMBERS.fullmatch(tidy):
        tidy = f"§{tidy}"
    if tidy.lower() in _LABELS:
        tidy = tidy.lower()
    tidy = in_short_form(tidy)
    return tidy if what_is_wrong(tidy) is None else None


def suggested(anchor: str) -> str | None:
    """What a malformed anchor stands for, or probably does: `sec. 3`, or `S3` for want of a §.

    A page is no section, and any other letter may be the prefix of an item.
    """
    spelled = _SPELLED_SIGN.fullmatch(anchor.strip()) if len(anchor) <= _LONGEST_MENDED else None
    return mended(f"§{spelled[1]}") if spelled else mended(anchor)


def in_short_form(anchor: str) -> str:
    """`§42-§45` as `§42-45`."""
    return _LONG_RANGE.sub(r"\1", anchor) if has_long_range(anchor) else anchor


def has_long_range(anchor: str) -> bool:
    """Whether it says `§42-§45`; what an external source is called does not count."""
    return not anchor.startswith("[") and _LONG_RANGE.search(anchor) is not None


def has_short_range(anchor: str) -> bool:
    """Whether it says `§42-45`."""
    return not anchor.startswith("[") and _SHORT_RANGE.search(anchor) is not None
