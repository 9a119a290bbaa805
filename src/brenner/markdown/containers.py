"""The chain of open containers: block quotations and list items, each inside the one before."""

from brenner.markdown.lines import CODE_INDENT, Line

QUOTATION = 0  # in place of the indent of a list item, which is never 0


class _Container:
    __slots__ = ("children", "indent")

    def __init__(self, indent: int) -> None:
        self.indent = indent  # the columns that continue a list item, or QUOTATION
        self.children = 0


class Containers:
    """What is open, from the outermost container to the innermost."""

    __slots__ = ("_chain", "_quotations")

    def __init__(self) -> None:
        self._chain: list[_Container] = []
        self._quotations: list[int] = []  # where in the chain they are

    def __len__(self) -> int:
        return len(self._chain)

    @property
    def quoted(self) -> bool:
        """There is a block quotation among them."""
        return bool(self._quotations)

    def match(self, line: Line) -> int:
        """Eat the prefixes of the containers; how many of them the line continues."""
        for index, container in enumerate(self._chain):
            if container.indent == QUOTATION:
                if not at_quotation_marker(line):
                    return index
                skip_quotation_marker(line)
            elif line.indent >= container.indent:
                line.skip(container.indent)
            elif line.blank:
                return self._match_blank(line, index)
            else:
                return index
        return len(self._chain)

    def _match_blank(self, line: Line, index: int) -> int:
        """A blank rest continues list items, but neither quotations nor an item yet empty.

        It does not ask the items one by one: many blank lines may follow a deep list. Only the
        innermost container can be empty.
        """
        line.skip(line.indent)
        for quotation in self._quotations:
            if quotation > index:
                return quotation
        return len(self._chain) - (self._chain[-1].children == 0)

    def enter(self, indent: int) -> None:
        """Open a list item of that indent, or a QUOTATION."""
        self.count_child(1)
        if indent == QUOTATION:
            self._quotations.append(len(self._chain))
        self._chain.append(_Container(indent))

    def leave(self, depth: int) -> None:
        """Close all but the first `depth`."""
        del self._chain[depth:]
        while self._quotations and self._quotations[-1] >= depth:
            self._quotations.pop()

    def count_child(self, more: int) -> None:
        """The innermost container got a block more, or one less."""
        if self._chain:
            self._chain[-1].children += more


def at_quotation_marker(line: Line) -> bool:
    """The rest of the line begins with the marker of a block quotation."""
    return line.indent < CODE_INDENT and line.text.startswith(">", line.start)


def skip_quotation_marker(line: Line) -> None:
    """Go behind the marker, which includes one blank after it if there is one."""
    line.skip_marker(1)
    if line.indent:
        line.skip(1)
