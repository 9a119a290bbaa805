"""What reading an artifact's text has to say about it, gathered in the order of the lines."""

from brenner.diagnostics.model import Code, Diagnostic
from brenner.text import counted

MOST_LINES = 10


class Note:
    """A diagnostic in the making. What else was not read for the same reason is counted in it."""

    def __init__(self, code: Code, line: int, item: str | None, words: dict[str, str]) -> None:
        self.code = code
        self.line = line
        self.item = item
        self.words = words
        self.headings = 0
        self.blocks = 0

    def diagnostic(self) -> Diagnostic:
        """The diagnostic, as far as it is known."""
        more = _UNREAD.get(self.code.id, _further)(self)
        return self.code.at(self.line, more=more, **self.words)._replace(item=self.item)


def _further(note: Note) -> str:
    """What follows the text that is quoted."""
    count = note.headings + note.blocks
    return f" (and {counted(count, 'more block')} below it)" if count else ""


def _under(note: Note) -> str:
    """What stands under the heading that is quoted."""
    both = [("heading", note.headings), ("block", note.blocks)]
    parts = [counted(count, word) for word, count in both if count]
    return f" Not read: {' and '.join(parts)}." if parts else ""


_UNREAD = {"UNKNOWN_SECTION": _under}


class Notes:
    """All that was found.

    A form that is read all the same is told once, with the lines where it occurs: a program that
    writes one field in its own way writes them all so. What is not read is told every time.
    """

    def __init__(self) -> None:
        self._found: list[Note] = []
        self._forms: dict[tuple[str, str], tuple[Note, list[int]]] = {}

    def add(self, code: Code, line: int, item: str | None = None, **words: str) -> Note:
        """Something that is told every time."""
        note = Note(code, line, item, words)
        self._found.append(note)
        return note

    def form(self, code: Code, kind: str, line: int, item: str | None = None, **words: str) -> None:
        """Something that is told once per kind."""
        found = self._forms.setdefault((code.id, kind), (Note(code, line, item, words), []))
        found[1].append(line)

    def drop(self, note: Note) -> None:
        """Take back what turned out to be nothing."""
        self._found.remove(note)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All of them, by line."""
        found = [note.diagnostic() for note in self._found]
        for note, lines in self._forms.values():
            told = note.code.at(note.line, more=_places(lines), **note.words)
            found.append(told._replace(item=note.item))
        return tuple(sorted(found, key=lambda each: each.line or 0))


def _places(lines: list[int]) -> str:
    """Where else a form occurs."""
    if len(lines) == 1:
        return ""
    numbers = sorted(set(lines))
    shown = ", ".join(map(str, numbers[:MOST_LINES]))
    more = f" and {len(numbers) - MOST_LINES} more" if len(numbers) > MOST_LINES else ""
    word = "line" if len(numbers) == 1 else "lines"
    return f" The same holds in {len(lines)} places: {word} {shown}{more}."
