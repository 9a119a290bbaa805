"""Move and merge modules of src/brenner, and change every import of them.

    python tools/move_modules.py MOVES [PREFIX ...]

MOVES has a line for each new file, `new/path.py ← old/module LINES, old/module LINES`, both below
src/brenner. With PREFIX only new files whose path begins so are made. Names that clash in a new
file get the name of their old file as a prefix; they are listed at the end, for better ones. The
docstrings of all old files but the first become comments, each before its part.
Afterwards run `ruff check --fix` and `ruff format`. `tools/moved_code.py` shows what else changed.
"""

import ast
import re
import shutil
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "brenner"
SOURCE = Path("src") / PACKAGE
EVERYWHERE = ("src", "tests", "benchmarks", "tools")
CODES = f"{PACKAGE}.diagnostics.codes"  # its modules are imported whole, mostly as `codes`


class Edit(NamedTuple):
    """A part of a text and what replaces it."""

    start: int
    end: int
    text: str


class Move(NamedTuple):
    """A new module and the old ones that it is made of, in their order."""

    new: str
    old: tuple[str, ...]


def module_of(path: str) -> str:
    """Return the dotted name of a file below the package."""
    return ".".join([PACKAGE, *Path(path).with_suffix("").parts])


def file_of(module: str) -> Path:
    """Return the file of a module that is no package."""
    return SOURCE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def path_of(module: str) -> Path:
    """Return where a module is now."""
    package = file_of(module).with_suffix("") / "__init__.py"
    return package if package.exists() else file_of(module)


def read_moves(text: str, prefixes: Iterable[str]) -> list[Move]:
    """Read the table."""
    wanted = tuple(prefixes) or ("",)
    moves = []
    for line in filter(None, map(str.strip, text.splitlines())):
        new, _, old = line.partition(" ← ")
        if new.startswith(wanted):
            names = tuple(module_of(each.strip().split()[0]) for each in old.split(","))
            there = tuple(each for each in names if path_of(each).exists())
            moves += [Move(module_of(new), there)] if there else []
    return moves


class Text:
    """A source file: its text, its tree, and edits by the places of the tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._bytes = text.encode()
        self.edits: list[Edit] = []

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def replace(self, node: ast.AST, text: str) -> None:
        self.edits.append(Edit(*self.span(node), text))

    def delete_statement(self, node: ast.stmt) -> None:
        start = self._starts[node.lineno - 1]
        end = self._starts[min(node.end_lineno or node.lineno, len(self._starts) - 1)]
        self.edits.append(Edit(start, end, ""))

    def done(self) -> str:
        result = self._bytes
        for edit in sorted(set(self.edits), reverse=True):
            result = result[: edit.start] + edit.text.encode() + result[edit.end :]
        return result.decode()


# Names and scopes


def bound_in(node: ast.AST) -> set[str]:
    """Return the names that a function or comprehension binds itself."""
    found: set[str] = set()
    if isinstance(node, FUNCTIONS):
        found |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    stack = list(ast.iter_child_nodes(node))
    outer: set[str] = set()
    while stack:
        each = stack.pop()
        found |= names_bound_by(each)
        if isinstance(each, ast.Global):
            outer |= set(each.names)
        if not isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            stack += ast.iter_child_nodes(each)
    return found - outer


def names_bound_by(node: ast.AST) -> set[str]:
    """Return the names that a node binds where it is."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store | ast.Del) else set()
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, NAMED):
        return {node.name} if node.name else set()
    return set()


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
NAMED = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler),
    *(ast.MatchAs, ast.MatchStar),
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def global_names(node: ast.AST, hidden: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Yield every use of a name that means the module's own one."""
    if isinstance(node, ast.Name):
        yield from [node] if node.id not in hidden else []
        return
    inside = hidden
    outside: list[ast.AST] = []
    if isinstance(node, FUNCTIONS + COMPREHENSIONS):
        inside = hidden | bound_in(node)
    if isinstance(node, FUNCTIONS):  # what is computed where the function is defined
        outside = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        arguments = (each for each in ast.walk(node.args) if isinstance(each, ast.arg))
        outside += [each.annotation for each in arguments if each.annotation]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        outside += [*node.decorator_list, *([node.returns] if node.returns else [])]
    for each in outside:
        yield from global_names(each, hidden)
    fields = class_fields(node) if isinstance(node, ast.ClassDef) else ()
    for each in ast.iter_child_nodes(node):
        if each not in outside and not isinstance(each, ast.arguments):
            yield from (use for use in global_names(each, inside) if use not in fields)


def class_fields(node: ast.ClassDef) -> list[ast.Name]:
    """Return the names that the body of a class assigns: attributes, not names of the module."""
    targets: list[ast.AST] = []
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            targets.append(each.target)
        elif isinstance(each, ast.Assign):
            targets += each.targets
    return [each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def string_annotations(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the annotations that are written as texts."""
    places: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            places.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            places.append(node.returns)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "cast"
        ):
            places += node.args[:1]
        elif isinstance(node, ast.ClassDef):
            places += node.bases
    for place in filter(None, places):
        for node in ast.walk(place):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node


def rename(text: Text, names: dict[str, str]) -> None:
    """Rename names of the module wherever they are used in it."""
    if not names:
        return
    for use in global_names(text.tree):
        if use.id in names:
            text.replace(use, names[use.id])
    rename_definitions(text, names)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
    for constant in string_annotations(text.tree):
        new = pattern.sub(lambda found: names[found[0]], str(constant.value))
        if new != constant.value:
            text.replace(constant, f'"{new}"')


def rename_definitions(text: Text, names: dict[str, str]) -> None:
    """Rename functions, classes and `global` statements of the module."""
    for node in text.tree.body:
        name = getattr(node, "name", None)
        if name in names and type(node) in _KEYWORDS:
            start = text.offset(node.lineno, node.col_offset) + len(_KEYWORDS[type(node)])
            text.edits.append(Edit(start, start + len(name), names[name]))
    for each in ast.walk(text.tree):
        if isinstance(each, ast.Global):
            text.replace(each, f"global {', '.join(names.get(name, name) for name in each.names)}")


_KEYWORDS: dict[type[ast.stmt], str] = {
    ast.FunctionDef: "def ",
    ast.AsyncFunctionDef: "async def ",
    ast.ClassDef: "class ",
}


def defined(tree: ast.Module) -> set[str]:
    """Return the names that a module defines, imports left out."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            for each in ast.walk(node):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    found.add(each.id)
    return found


# Imports


class Imported(NamedTuple):
    """What a file imports: `from module import name as bound`; a whole module has no name."""

    module: str
    name: str | None
    bound: str
    for_types: bool


class Names:
    """Where every module has gone, and what its names are called there."""

    def __init__(self, moves: list[Move]) -> None:
        self.new_of = {old: move.new for move in moves for old in move.old}
        self.renamed: dict[str, dict[str, str]] = {old: {} for old in self.new_of}

    def target(self, module: str, name: str) -> tuple[str, str]:
        """Return the module and the name under which something is found now."""
        as_module = f"{module}.{name}"
        if as_module in self.new_of:
            package, _, last = self.new_of[as_module].rpartition(".")
            return package, last
        return self.new_of.get(module, module), self.renamed.get(module, {}).get(name, name)


def top_imports(tree: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the import statements at the top of a module, and whether only types need them."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, False
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                yield each, True


def imported_by(tree: ast.Module) -> list[Imported]:
    """Return what a module imports at its top."""
    found = []
    for node, for_types in top_imports(tree):
        if isinstance(node, ast.ImportFrom):
            found += [
                Imported(node.module or "", alias.name, alias.asname or alias.name, for_types)
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            found += [
                Imported(alias.name, None, alias.asname or alias.name, for_types)
                for alias in node.names
            ]
    return found


def rewritten(node: ast.ImportFrom, names: Names, own: str | None = None) -> str:
    """Return an import statement with the new places; empty where all of it is in the own file.

    What has another name there is given the old one, for the function that imported it.
    """
    lines: dict[str, list[str]] = {}
    given = []
    for alias in node.names:
        module, name = names.target(node.module or "", alias.name)
        bound = alias.asname or alias.name
        if own in (module, f"{module}.{name}"):
            given += [f"{bound} = {name}"] if bound != name and own == module else []
        else:
            lines.setdefault(module, []).append(name if name == bound else f"{name} as {bound}")
    imports = [f"from {module} import {', '.join(each)}" for module, each in lines.items()]
    return f"\n{' ' * node.col_offset}".join([*imports, *given])


def update_imports(text: Text, names: Names) -> None:
    """Change the imports of a file that itself stays where it is."""
    for node in ast.walk(text.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            rename_attributes(text, node, names)
            old = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            if not old.isdisjoint(names.new_of):
                text.replace(node, rewritten(node, names))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in names.new_of:
                    text.replace(
                        alias,
                        names.new_of[alias.name] + (f" as {alias.asname}" if alias.asname else ""),
                    )
    update_strings(text, names)


def rename_attributes(
    text: Text, node: ast.ImportFrom, names: Names, own: Container[str] = ()
) -> None:
    """Change what is used as an attribute of a module and has another name now."""
    for alias in node.names:
        module = f"{node.module}.{alias.name}"
        renamed = {} if module in own else names.renamed.get(module, {})
        bound = alias.asname or alias.name
        for use in ast.walk(text.tree) if renamed else ():
            if (
                isinstance(use, ast.Attribute)
                and isinstance(use.value, ast.Name)
                and use.value.id == bound
                and use.attr in renamed
            ):
                text.replace(use, f"{bound}.{renamed[use.attr]}")


_DOTTED = re.compile(rf"^{PACKAGE}(?:\.\w+)+$")


def update_strings(text: Text, names: Names) -> None:
    """Change texts that name a module, or something in it: tables of commands, patches of tests."""
    for node in ast.walk(text.tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        if not _DOTTED.match(node.value):
            continue
        parts = node.value.split(".")
        for size in range(len(parts), 1, -1):
            module, rest = ".".join(parts[:size]), parts[size:]
            if module in names.new_of:
                rest[:1] = [names.renamed[module].get(each, each) for each in rest[:1]]
                text.replace(node, f'"{".".join([names.new_of[module], *rest])}"')
                break


# Merging


def clashes(sources: list[tuple[str, ast.Module]], names: Names) -> dict[str, dict[str, str]]:
    """Return the new names, by module, of what would clash in one file."""
    own = {module for module, _ in sources}
    taken: dict[str, object] = {}
    renames: dict[str, dict[str, str]] = {}
    for module, tree in sources:
        stem = module.rpartition(".")[2]
        mine: dict[str, object] = {}
        for each in imported_by(tree):
            if each.module in own or f"{each.module}.{each.name}" in own:
                if f"{each.module}.{each.name}" in own:
                    continue
                mine[each.bound] = ("defined", each.module, each.name)
            else:
                mine[each.bound] = (
                    names.target(each.module, each.name) if each.name else each.module
                )
        for name in defined(tree):
            mine[name] = ("defined", module, name)
        for name, origin in mine.items():
            if name in taken and taken[name] != origin:
                new = other_name(name, stem, origin)
                renames.setdefault(module, {})[name] = new
                taken[new] = origin
            else:
                taken[name] = origin
    return renames


def other_name(name: str, stem: str, origin: object) -> str:
    """Return a name for what would clash: of the module that is imported, or of the old file."""
    if isinstance(origin, tuple) and origin[0] == CODES:
        return f"{origin[1]}_codes"
    prefix = "_" if name.startswith("_") else ""
    bare = name.strip("_")
    if bare[:1].isupper() and not bare.isupper():
        return f"{prefix}{stem.title().replace('_', '')}{bare}"
    return f"{prefix}{stem.upper() if bare.isupper() else stem}_{bare}"


def in_order(sources: list[tuple[str, ast.Module]]) -> list[tuple[str, ast.Module]]:
    """Put modules after those that they import at their top."""
    own = dict(sources)
    done: dict[str, ast.Module] = {}

    def take(module: str) -> None:
        if module in done:
            return
        for each in imported_by(own[module]):
            for name in (each.module, f"{each.module}.{each.name}"):
                if name in own and name != module and not each.for_types:
                    take(name)
        done.setdefault(module, own[module])

    for module, _ in sources:
        take(module)
    return list(done.items())


class Merging:
    """One new file while it is put together."""

    def __init__(self, move: Move, texts: dict[str, str], names: Names) -> None:
        self._move = move
        self._texts = texts
        self._names = names
        parsed = [(module, ast.parse(texts[module])) for module in move.old]
        self._sources = in_order(parsed)
        self._own = {module for module, _ in parsed}
        self._renames = clashes(self._sources, names)
        self._docstring = ""
        self._runtime: dict[str, None] = {}
        self._for_types: dict[str, None] = {}

    def text(self) -> str:
        """Return the text of the new file."""
        bodies = [self._read_body(module, tree) for module, tree in self._sources]
        self._for_types = {line: None for line in self._for_types if line not in self._runtime}
        head = [self._docstring, "", *self._runtime]
        if self._for_types:
            head += ["", "from typing import TYPE_CHECKING", "if TYPE_CHECKING:"]
            head += [f"    {line}" for line in self._for_types]
        return "\n".join(head) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"

    def _read_body(self, module: str, tree: ast.Module) -> str:
        """Return an old file without its imports, with the names of the new one."""
        text = Text(self._texts[module])
        local = dict(self._renames.get(module, {}))
        objects: dict[str, str] = {}
        for each in imported_by(tree):
            whole = f"{each.module}.{each.name}"
            if whole in self._own:
                objects[each.bound] = whole
            elif each.module in self._own and each.name:
                called = self._names.renamed[each.module].get(each.name, each.name)
                local |= {each.bound: called} if called != each.bound else {}
            else:
                self._take(each, local.get(each.bound, each.bound))
        rename(text, local)
        for node in text.tree.body:
            if isinstance(node, ast.ImportFrom):
                rename_attributes(text, node, self._names, self._own)
        self._without_prefix(text, objects)
        for node in text.tree.body:
            self._drop_head(text, node, module)
        _inner_imports(text, self._names, self._move.new)
        update_strings(text, self._names)
        said = "" if module == self._move.old[0] else ast.get_docstring(tree) or ""
        about = "".join(f"# {line}".rstrip() + "\n" for line in said.splitlines())
        return (f"{about}\n\n" if about else "") + text.done().strip("\n")

    def _take(self, each: Imported, bound: str) -> None:
        """Import something in the new file."""
        if each.name is None:
            line = f"import {each.module}" + (f" as {bound}" if bound != each.module else "")
        else:
            place, name = self._names.target(each.module, each.name)
            line = f"from {place} import {name}" + (f" as {bound}" if bound != name else "")
        (self._for_types if each.for_types else self._runtime)[line] = None

    def _without_prefix(self, text: Text, objects: dict[str, str]) -> None:
        """Call by its name what was an attribute of a module that is in the same file now."""
        for node in ast.walk(text.tree):
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if node.value.id in objects:
                renamed = self._names.renamed[objects[node.value.id]]
                text.replace(node, renamed.get(node.attr, node.attr))

    def _drop_head(self, text: Text, node: ast.stmt, module: str) -> None:
        is_first = node is text.tree.body[0]
        if is_first and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if module == self._move.old[0]:
                self._docstring = ast.get_source_segment(text.text, node) or ""
            text.delete_statement(node)
        elif isinstance(node, ast.Import | ast.ImportFrom) or _is_for_types(node):
            text.delete_statement(node)


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _inner_imports(text: Text, names: Names, own: str) -> None:
    """Change the imports inside functions; drop those of the own file."""
    top = {id(node) for node, _ in top_imports(text.tree)}
    for node in ast.walk(text.tree):
        if (
            isinstance(node, ast.ImportFrom)
            and id(node) not in top
            and (node.module or "").startswith(PACKAGE)
        ):
            new = rewritten(node, names, own)
            if new:
                text.replace(node, new)
            else:
                text.delete_statement(node)


def main(arguments: list[str]) -> int:
    """Do it, and list the names that clashed."""
    moves = read_moves(Path(arguments[0]).read_text("utf-8"), arguments[1:])
    names = Names(moves)
    texts = {old: path_of(old).read_text("utf-8") for old in names.new_of}
    for move in moves:  # what clashes is known before anything refers to it
        sources = in_order([(module, ast.parse(texts[module])) for module in move.old])
        for module, new in clashes(sources, names).items():
            mine = defined(dict(sources)[module])
            names.renamed[module] |= {old: each for old, each in new.items() if old in mine}
    made = {file_of(move.new): Merging(move, texts, names).text() for move in moves}
    for old in names.new_of:
        path_of(old).unlink()
    remove_empty_packages()
    for path, text in made.items():
        make_package(path.parent)
        path.write_text(text, "utf-8")
    for folder in EVERYWHERE:
        for path in set(Path(folder).rglob("*.py")) - made.keys():
            update_file(path, names)
    for module, renames in names.renamed.items():
        for name in sorted(renames):
            print(module, name, renames[name])
    return 0


def make_package(folder: Path) -> None:
    """Make a folder and those above it packages."""
    folder.mkdir(parents=True, exist_ok=True)
    while folder != SOURCE:
        if not (folder / "__init__.py").exists():
            (folder / "__init__.py").touch()
        folder = folder.parent


def remove_empty_packages() -> None:
    """Remove packages in which no module is left."""
    for init in sorted(SOURCE.rglob("__init__.py"), reverse=True):
        left = [each for each in init.parent.iterdir() if each.name != "__pycache__"]
        if left == [init] and not init.read_text("utf-8"):
            shutil.rmtree(init.parent)


def update_file(path: Path, names: Names) -> None:
    """Change the imports of a file that stays where it is."""
    text = Text(path.read_text("utf-8"))
    update_imports(text, names)
    if text.edits:
        path.write_text(text.done(), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
