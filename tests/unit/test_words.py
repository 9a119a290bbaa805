"""Keep the words of the old dialect out of everything that a user reads.

Counted as whole words: `python tests/unit/test_words.py [FOLDER]` prints how often each occurs in
messages, output (with help), templates and docs of a checkout.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The word, and what to write instead
INSTEAD = {
    r"stands?|stood|standing": "is, contains",
    r"mend|mends|mended|mending|mendable": "fix, fixable",
    r"told": "reported, showed",
    r"whoever": "the sender, the agent that",
    r"nobody": "no agent, not one",
    r"somebody|anybody": "an agent, another user",
    r"everybody": "all agents",
    r"neighbours?": "integrations, external tools",
    r"worked out": "computed",
    r"blanks": "spaces",
    r"bears?": "contains, has",
    r"home|homes": "store",
}
DIALECT = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)
# Where such a word is the right one
ALLOWED = re.compile(
    r"""
    \bhome\ (?:page|folder|directory)\b | /home/
    # pigeons, in the examples of prompts
    | \bbirds\ home\b | \bfind\ home\b | \bgo(?:es)?\ home\b | \bthat\ home\b | "home\ as
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What a reader does not see, or what is a name: markup, expressions, code
_MARKUP = re.compile(r"\{[{%#].*?[}%#]\}|<[^>]*>")
_CODE = re.compile(r"`[^`]*`")
_PROSE = re.compile(r"\w [\w`{]")
_GENERATED = {"codes.md", "commands.md"}
_MAIL_OF_THE_DEMO = "demo_project"  # written by agents, as any mail


def _docstrings(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that are docstrings."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = (node.body[0] for node in ast.walk(tree) if isinstance(node, holders) and node.body)
    return {id(each.value) for each in first if isinstance(each, ast.Expr)}


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the prose among the strings of a Python file.

    Commands show their docstrings as help, so those of `cli/` count; other docstrings do not.
    """
    tree = ast.parse(path.read_text("utf-8"))
    skipped = set() if "cli" in path.parts else _docstrings(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in skipped:
            continue
        if isinstance(node.value, str) and _PROSE.search(node.value):
            yield node.lineno, node.value


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, without what its readers do not see."""
    hidden = {".html": _MARKUP, ".md": _CODE}.get(path.suffix)
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        yield number, hidden.sub(" ", line) if hidden else line


def _files(root: Path, kind: str) -> list[Path]:
    """Return the files of a checkout with texts of one kind."""
    source = root / "src" / "brenner"
    codes = source / "diagnostics" / "codes"
    if kind == "messages":
        return [*codes.glob("*.py"), source / "diagnostics" / "catalogue.toml"]
    if kind == "output":
        return [path for path in source.rglob("*.py") if path.parent != codes]
    if kind == "templates":
        found = [path for end in ("html", "toml", "md") for path in source.rglob(f"*.{end}")]
        skipped = {"diagnostics", _MAIL_OF_THE_DEMO}
        return [path for path in found if skipped.isdisjoint(path.relative_to(source).parts)]
    pages = [path for path in root.glob("docs/**/*.md") if path.name not in _GENERATED]
    return [*(root / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")), *pages]


def texts(root: Path, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of one kind in a checkout, each with the file and line that it is from."""
    for path in sorted(_files(root, kind)):
        read = _strings if path.suffix == ".py" else _lines
        yield from ((f"{path.relative_to(root)}:{line}", text) for line, text in read(path))


def dialect(text: str) -> list[str]:
    """Return the words of the dialect in a text."""
    return [match[0] for match in DIALECT.finditer(ALLOWED.sub(" ", text))]


def found(parts: Iterable[tuple[str, str]]) -> list[str]:
    """Return each word of the dialect, with its place."""
    return [f"{place}: {word}" for place, text in parts for word in dialect(text)]


KINDS = ("messages", "output", "templates", "docs")


@pytest.mark.parametrize("kind", KINDS)
def test_plain_words(kind: str) -> None:
    """No text that a user reads has a word of the list; `INSTEAD` says what to write."""
    assert found(texts(ROOT, kind)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_each_kind_are_read(kind: str) -> None:
    assert sum(len(text) for _, text in texts(ROOT, kind)) > 10_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A comma stands before `}`.", ["stands"]),
        ("Nobody was told.", ["Nobody", "told"]),
        ("Mail has another home.", ["home"]),
        ("The home page lists the sessions.", []),
        ("Understands blankets; bearing.", []),
    ],
)
def test_whole_words_count(text: str, words: list[str]) -> None:
    assert dialect(text) == words


if __name__ == "__main__":
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    for each in KINDS:
        counts = Counter(
            word.lower() for _, text in texts(checkout, each) for word in dialect(text)
        )
        listed = ", ".join(f"{word} {count}" for word, count in counts.most_common())
        print(f"{each}: {counts.total()} ({listed})")  # noqa: T201
