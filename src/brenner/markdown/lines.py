"""One line of a text and how far the block structure has eaten into it, counted in columns.

CommonMark measures indentation in columns, with tab stops every four. A container may end in the
middle of a tab; what is left of the tab then counts as blanks of the content. `Line` therefore
remembers a column, and the text is cut only when somebody asks for the `content`.

Everything between two markers is one run of blanks. It is measured once, however many list items
take their share of it: a line of a million blanks inside a hundred items stays cheap.
"""

import re

TAB_STOP = 4
CODE_INDENT = 4  # the columns of blanks that make a line code

_NO_BLANK = re.compile(r"[^ \t]")


def _width(blanks: str, column: int) -> int:
    """The columns that a run of blanks takes, if it begins at this column."""
    if "\t" not in blanks:
        return len(blanks)
    into_stop = column % TAB_STOP
    return len((" " * into_stop + blanks).expandtabs(TAB_STOP)) - into_stop


class Line:
    """A line without its ending, and the place in it that has been reached."""

    __slots__ = ("_run", "_run_column", "blank", "column", "indent", "start", "text", "unbroken")

    text: str
    column: int  # where we are; the rest of the line begins here
    start: int  # the offset of the first character that is no blank, at or after that column
    indent: int  # the columns of blanks before it
    blank: bool  # there is no such character
    unbroken: int  # no thematic break begins before this offset

    def __init__(self, text: str) -> None:
        self.text = text
        self.unbroken = 0
        self._measure(0, 0)

    def _measure(self, offset: int, column: int) -> None:
        self._run = self.start = offset
        self._run_column = self.column = column
        self.indent = 0
        text = self.text
        if text.startswith((" ", "\t"), offset):
            found = _NO_BLANK.search(text, offset)
            self.start = found.start() if found else len(text)
            self.indent = _width(text[offset : self.start], column)
        self.blank = self.start == len(text)

    def skip(self, columns: int) -> None:
        """Take columns out of the blanks before `start`; there must be as many."""
        self.column += columns
        self.indent -= columns

    def skip_marker(self, length: int) -> None:
        """Go behind a marker of that many characters at `start`."""
        self._measure(self.start + length, self.column + self.indent + length)

    def stripped(self) -> str:
        """What is left of the line, without the blanks before it."""
        return self.text[self.start :]

    def content(self) -> str:
        """What is left of the line, the rest of a half eaten tab as blanks."""
        offset, columns = self._reached()
        return " " * columns + self.text[offset:]

    def characters(self) -> int:
        """How many characters the `indent` is made of; a half eaten tab is one."""
        offset, columns = self._reached()
        return self.start - offset + (columns > 0)

    def _reached(self) -> tuple[int, int]:
        """The offset of the first character not eaten, and the columns left of a tab before it."""
        offset, column = self._run, self._run_column
        while column < self.column:
            column += TAB_STOP - column % TAB_STOP if self.text[offset] == "\t" else 1
            offset += 1
        return offset, column - self.column
