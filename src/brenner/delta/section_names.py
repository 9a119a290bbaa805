"""Which section somebody names: by its ID, by its heading, or as writers call it."""

from brenner.delta.schema import SECTION_ALIASES, SECTIONS, Section

_LONGEST = 100  # no heading of ours is nearly as long


def section_named(written: str) -> Section | None:
    """The section that `## 2. Hypothesis Slate`, `Hypothesis-Slate:` or `hypotheses` stands for."""
    if len(written) > _LONGEST:
        return None
    words = written.strip().lstrip("#").strip().rstrip(":").split()
    if len(words) > 1 and _is_number(words[0]):
        del words[0]
    folded = "_".join(words).lower().replace("-", "_")
    return SECTIONS.get(SECTION_ALIASES.get(folded, folded))


def _is_number(word: str) -> bool:
    digits = word.removesuffix(".")
    return digits.isascii() and digits.isdigit()
