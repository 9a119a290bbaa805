"""Excerpts by section numbers: what is asked for, what is found, what is missing."""

import pytest

from brenner.diagnostics.model import Diagnostic
from brenner.session.excerpts import (
    MOST_EXCERPT_CHARACTERS,
    excerpt_of,
    parse_section_ranges,
    passages_of,
    within_limit,
)

SOURCE = """\
# Conversations

Not numbered.

## §41 On counting

Cells count.

### An aside

It belongs to the section above.

## §42. Choosing — the worm

> "We chose the worm."

```
# §99 is code
```

# Second day

Between the sections.

Section 3
---------

## §44

## §45: Last

The end.
"""


def text(found: str | Diagnostic) -> str:
    """The excerpt, which there must be."""
    assert isinstance(found, str)
    return found


def code(found: object) -> tuple[str, str]:
    """The code and the words, of which there must be some."""
    assert isinstance(found, Diagnostic)
    return found.id, found.message


@pytest.mark.parametrize(
    ("wish", "ranges"),
    [
        ("42", [(42, 42)]),
        ("§42", [(42, 42)]),
        ("42,45-47", [(42, 42), (45, 47)]),
        (" §42 ; §45–§47 ", [(42, 42), (45, 47)]),
        ("§ 42 - § 45, 7", [(42, 45), (7, 7)]),
        ("§§42-45", [(42, 45)]),
        ("1-999999999", [(1, 999_999_999)]),
        ("007", [(7, 7)]),
    ],
)
def test_wishes(wish: str, ranges: list[tuple[int, int]]) -> None:
    """Numbers and ranges, with or without the sign, as people write them."""
    assert parse_section_ranges(wish) == tuple(ranges)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ("", "it names no section"),
        (" , ", "it names no section"),
        ("all", "`all` is neither a number nor a range"),
        ("4.2", "`4.2` is neither a number nor a range"),
        ("42-", "`42-` is neither a number nor a range"),
        ("٤٢", "`٤٢` is neither a number nor a range"),
        ("1234567890", "`1234567890` is neither a number nor a range"),
        ("47-45", "the range `47-45` ends before it begins"),
        ("1," * 1_001, "it has 1001 parts (at most 1000)"),
    ],
)
def test_wishes_that_cannot_be_read(wish: str, reason: str) -> None:
    """Each is refused with what is wrong in it."""
    found, message = code(parse_section_ranges(wish))
    assert found == "INVALID_SECTIONS"
    assert message.endswith(f" is not a valid list of sections: {reason}.")
    assert code(excerpt_of(SOURCE, "s.md", wish)) == (found, message)


def test_passages() -> None:
    """A section goes on to the next number, or to the end of its chapter."""
    aside = "### An aside\n\nIt belongs to the section above."
    worm = '> "We chose the worm."\n\n```\n# §99 is code\n```'
    assert list(passages_of(SOURCE)) == [
        (41, "On counting", f"Cells count.\n\n{aside}"),
        (42, "Choosing — the worm", worm),
        (44, "", ""),
        (45, "Last", "The end."),
    ]


def test_plain_numbers_and_line_ends() -> None:
    """Without any sign plain numbers count; lines may end in any way."""
    source = "# 1. One\r\ntext\r\n# Section 2\rmore\r# Appendix\r\nno number\r\n"
    assert list(passages_of(source)) == [(1, "One", "text"), (2, "", "more")]
    assert excerpt_of(source, "s.md", "2") == "**§2**\n\nmore"


def test_excerpt_cites_each_passage() -> None:
    """In the order of the numbers, each once, under its own number."""
    assert text(excerpt_of(SOURCE, "s.md", "44-45, 42, 45")) == (
        "**§42** Choosing — the worm\n\n"
        '> "We chose the worm."\n\n```\n# §99 is code\n```\n\n'
        "**§44**\n\n"
        "**§45** Last\n\nThe end."
    )


def test_first_of_two_sections_of_one_number() -> None:
    """A number means the section that has it first."""
    assert excerpt_of("# §1 a\nx\n# §1 b\ny\n", "s.md", "1") == "**§1** a\n\nx"


@pytest.mark.parametrize(
    ("wish", "missing"),
    [
        ("43", "§43"),
        ("40-42", "§40 (of §40-42)"),
        ("41-45", "§43 (of §41-45)"),
        ("1-999999999", "§1 (of §1-999999999)"),
        ("42, 46, 99", "§46, §99"),
        ("1,2,3,4,5,6,7,42", "§1, §2, §3, §4, §5, 2 more"),
    ],
)
def test_missing_sections_are_named(wish: str, missing: str) -> None:
    """One that is missing is an error, never left out; a range costs nothing, however long."""
    found, message = code(excerpt_of(SOURCE, "talks.md", wish))
    assert found == "UNKNOWN_SECTION_NUMBER"
    assert message == f"`talks.md` does not contain {missing}. It contains §41-42, §44-45."


def test_many_runs_are_told_briefly() -> None:
    """The sections that there are, up to a few runs of them."""
    source = "".join(f"# §{2 * number}\n" for number in range(1, 9))
    _, message = code(excerpt_of(source, "s.md", "1"))
    assert message.endswith("It contains §2, §4, §6, §8, §10, ….")


def test_source_without_numbers() -> None:
    """The file is at fault, not the wish."""
    assert code(excerpt_of("# On counting\n", "s.md", "42"))[0] == "NO_SECTION_NUMBERS"


def test_limit() -> None:
    """What nobody would read is refused, whether it is given or built."""
    assert within_limit("x" * MOST_EXCERPT_CHARACTERS) == "x" * MOST_EXCERPT_CHARACTERS
    found, message = code(within_limit("x" * (MOST_EXCERPT_CHARACTERS + 1)))
    assert found == "EXCERPT_TOO_LONG"
    assert message == "The excerpt has 200001 characters, and at most 200000 are allowed."
    source = f"# §1\n{'word ' * 30_000}\n# §2\n{'word ' * 30_000}\n"
    assert text(excerpt_of(source, "s.md", "1")).startswith("**§1**")
    assert code(excerpt_of(source, "s.md", "1-2"))[0] == "EXCERPT_TOO_LONG"
