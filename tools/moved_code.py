"""Check that a change only moves code: the same statements, in whatever files, but for renames.

    python tools/moved_code.py REVISION [RENAMES]

compares all statements at module level under src/ in that revision with those in the work tree.
Imports, docstrings of modules, comments and the order do not count. RENAMES is a file with three
words on each line: an old module, a name in it, and the new name. Differences are printed, and the
exit code is 1.
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

_SHOWN = 100  # characters of a statement


def main(arguments: list[str]) -> int:
    """Compare, print what differs, and return the exit code."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    renames = _renames(Path(arguments[1]).read_text("utf-8")) if arguments[1:] else {}
    before = Counter(
        _renamed(each, renames.get(module, {}))
        for module, text in _in(arguments[0])
        for each in statements(text)
    )
    now = Counter(each for text in _in_tree() for each in statements(text))
    for sign, left in (("-", before - now), ("+", now - before)):
        for statement in sorted(left.elements()):
            print(sign, statement[:_SHOWN].replace("\n", "⏎"))
    return int(before != now)


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a file in one form, imports and the module's docstring left out."""
    tree = ast.parse(text)
    modules = set(_code_modules(tree))
    for number, node in enumerate(tree.body):
        is_docstring = (
            number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        if not is_docstring and not _only_imports([node]):
            yield ast.unparse(ast.fix_missing_locations(_Normalised(modules).visit(node)))


def _code_modules(tree: ast.Module) -> Iterator[str]:
    """Yield what a file calls the modules of the codes, which are imported whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and "diagnostics.codes" in (node.module or ""):
            yield from (alias.asname or alias.name for alias in node.names)


class _Normalised(ast.NodeTransformer):
    """Drops the imports inside functions, and the names of the modules of the codes."""

    def __init__(self, modules: set[str]) -> None:
        self._modules = modules

    def visit_ImportFrom(self, _: ast.ImportFrom) -> None:
        return None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        is_code = isinstance(node.value, ast.Name) and node.value.id in self._modules
        return ast.Name(node.attr, node.ctx) if is_code else node


def _only_imports(nodes: Iterable[ast.stmt]) -> bool:
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.If) and _only_imports([*node.body, *node.orelse]))
        for node in nodes
    )


def _renames(text: str) -> dict[str, dict[str, str]]:
    """Read the new names, by module."""
    found: dict[str, dict[str, str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        module, old, new = line.split()
        found.setdefault(module, {})[old] = new
    return found


def _renamed(statement: str, renames: dict[str, str]) -> str:
    if not renames:
        return statement
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, renames))})\b")
    return words.sub(lambda found: renames[found[0]], statement)


def _in(revision: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of every module under src/ in a revision."""
    packed = subprocess.run(
        ["git", "archive", "--format=tar", revision, "src"], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file:
                name = member.name.removeprefix("src/").removesuffix(".py").replace("/", ".")
                yield name, file.read().decode()


def _in_tree() -> Iterator[str]:
    for path in sorted(Path("src").rglob("*.py")):
        yield path.read_text("utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
