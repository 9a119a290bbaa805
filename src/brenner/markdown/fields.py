"""`**Name**: value` lines, as documents written for people and programs alike use them."""

import re
from typing import NamedTuple

from brenner.markdown.blocks import Block, Kind

# The colon may stand inside or outside the bold: writers do both.
_FIELD = re.compile(r"\*\*([^*:\n]+)(?::\*\*|\*\*:)[ \t]*(.*)")


class Field(NamedTuple):
    """A field and the line that it stands on."""

    name: str
    value: str
    line: int


def fields(blocks: list[Block]) -> list[Field]:
    """The fields in the paragraphs and list items of a text, quotations aside."""
    found = []
    for block in blocks:
        if block.kind is not Kind.PARAGRAPH or block.quoted or "**" not in block.text:
            continue
        for number, line in enumerate(block.text.split("\n"), block.line):
            match = _FIELD.match(line.strip())
            if match:
                found.append(Field(match[1].strip(), match[2].strip(), number))
    return found
