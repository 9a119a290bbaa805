"""What one kind of recipient is told: how to think, what to deliver, what to write where."""

import re
from typing import NamedTuple

from brenner.protocol.delta.schema import Delta, Section


class Example(NamedTuple):
    """A delta block that shows how it is done, and the sentence before it."""

    about: str
    delta: Delta


class Prompt(NamedTuple):
    """The part of a kickoff that is the same for every session.

    `role` is the section on the role; `outputs` are requested where the operator asks for nothing
    else; `sections` are those that it writes; `subject` describes the examples as a subject does.
    """

    role: str
    outputs: str
    sections: tuple[Section, ...]
    subject: str
    examples: tuple[Example, ...]


_GOES_ON = re.compile(r"(?<=[^\n|])\n[ ]*(?![ \n]|- |\||[0-9]\. |#|\{)")


def flowing(text: str) -> str:
    """The text with one line for each paragraph and list item, however it is wrapped here.

    Whoever shows it folds it to a width of her own.
    """
    return _GOES_ON.sub(" ", text)
