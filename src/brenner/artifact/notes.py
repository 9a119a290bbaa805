"""What reading an artifact's text has to say about it, gathered in the order of the lines."""

from brenner.diagnostics.model import Code, Diagnostic


class Notes:
    """Diagnostics in the making.

    A form that is read all the same is told once, with how often it occurs: a program that writes
    one field in its own way writes them all so. What is not read is told every time.
    """

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._forms: dict[tuple[str, str], tuple[Code, int, dict[str, str], str | None]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, code: Code, line: int, item: str | None = None, **words: str) -> None:
        """Something that is told every time."""
        self._found.append(code.at(line, **words)._replace(item=item))

    def form(self, code: Code, kind: str, line: int, item: str | None = None, **words: str) -> None:
        """Something that is told once per kind."""
        key = (code.id, kind)
        self._forms.setdefault(key, (code, line, words, item))
        self._counts[key] = self._counts.get(key, 0) + 1

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All of them, by line."""
        forms = [
            code.at(line, more=_more(self._counts[key]), **words)._replace(item=item)
            for key, (code, line, words, item) in self._forms.items()
        ]
        return tuple(sorted([*self._found, *forms], key=lambda found: found.line or 0))


def _more(count: int) -> str:
    return "" if count == 1 else f" The same holds in {count} places."
