"""Find mutants in the source: statements of the pure core and their mutated text.

A mutant is found by its function and its statement, in whatever file. Line breaks do not count. A
renamed symbol is followed if only one statement of the function has the same form. In a statement
of several lines only the mutated ones must be the same.
"""

import ast
import json
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "tests" / "mutation" / "sample.toml"
LONG = 60  # characters of a statement that are enough to know it in a renamed function


class Mutant(NamedTuple):
    """A change of one statement of the core."""

    id: str
    module: str
    function: str
    kind: str
    original: str
    mutated: str
    equivalent: str = ""


class Statement(NamedTuple):
    """A statement, or the head of a compound one, with its lines counted from 0.

    A probe can be inserted before line `before`.
    """

    path: str
    module: str
    function: str
    first: int
    end: int
    before: int
    text: str


def statements(path: str, text: str) -> Iterator[Statement]:
    """Yield the statements in the functions of a file."""
    module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    lines = text.split("\n")
    functions: set[tuple[str, ...]] = set()

    def walk(nodes: Iterable[ast.stmt], scope: tuple[str, ...], before: int) -> Iterator[Statement]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*scope, node.name)
                if not isinstance(node, ast.ClassDef):
                    functions.add(inner)
                yield from walk(node.body, inner, 0)
                continue
            first = node.lineno - 1
            place = before if lines[first].lstrip().startswith("elif ") else first
            blocks = list(_blocks(node))
            end = _end_of_head(node, blocks, lines) if blocks else node.end_lineno or node.lineno
            if scope in functions and not isinstance(node, ast.Try):
                code = textwrap.dedent("\n".join(lines[first:end]))
                yield Statement(path, module, ".".join(scope), first, end, place, code)
            for block in blocks:
                yield from walk(block, scope, place)

    yield from walk(ast.parse(text).body, (), 0)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the statements inside a compound statement, block by block."""
    for name in ("body", "cases", "handlers", "orelse", "finalbody"):
        inner = getattr(node, name, [])
        if name in ("cases", "handlers"):
            yield from (each.body for each in inner)
        elif inner:
            yield inner


def _end_of_head(node: ast.stmt, blocks: list[list[ast.stmt]], lines: list[str]) -> int:
    """Return the line after the one with the colon."""
    first = blocks[0][0]
    inner: list[Any] = [first, *getattr(first, "decorator_list", [])]
    inner += [case.pattern for case in getattr(node, "cases", [])]
    end = min(int(each.lineno) for each in inner) - 1
    while lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return end


@cache
def parsed(code: str) -> str:
    """Return a form of a statement that does not depend on line breaks and parentheses."""
    return ast.dump(_parse(code))


def _parse(code: str) -> ast.Module:
    code = re.sub(r"\Aelif\b", "if", code)
    for rest in ("", "\n    pass", "\n    case _:\n        pass"):
        with suppress(SyntaxError):
            return ast.parse(code + rest)
    message = f"not a statement: {code}"
    raise SyntaxError(message)


_NAMES = re.compile(r"\b(id|attr|arg|name)='(\w+)'")


def renames_between(old: str, new: str) -> dict[str, str] | None:
    """Return which names differ, or None if more differs, or more than half of the names."""
    if _NAMES.sub(r"\1", parsed(old)) != _NAMES.sub(r"\1", parsed(new)):
        return None
    names = [[name for _, name in _NAMES.findall(parsed(code))] for code in (old, new)]
    pairs = set(zip(*names, strict=True))
    renames = dict(pairs)
    is_consistent = len(renames) == len(pairs)
    changed = {old: new for old, new in renames.items() if old != new}
    return changed if is_consistent and len(changed) * 2 <= len(renames) else None


def renamed(code: str, names: Mapping[str, str]) -> str:
    """Return a statement with other names."""
    if not names:
        return code
    tree = _parse(code)
    for node in ast.walk(tree):
        for field in {"id", "attr", "arg"} & set(node._fields):
            name = getattr(node, field)
            setattr(node, field, names.get(name, name))
    lines = ast.unparse(tree).split("\n")
    if isinstance(tree.body[0], ast.Match):
        lines = lines[:1]
    elif hasattr(tree.body[0], "body"):
        lines = lines[:-1]
    return ("el" if code.startswith("elif") else "") + "\n".join(lines)


def find(mutant: Mutant, core: Sequence[Statement]) -> list[tuple[Statement, str]]:
    """Return the statements that the mutant can mean, each with its mutated text.

    There is one if the mutant is found, none if it is gone, and more if it is ambiguous.
    """
    inside = [each for each in core if each.function == mutant.function]
    ways = [_exactly, _with_renames, _by_lines]
    class_name, _, method = mutant.function.rpartition(".")
    if not inside and class_name:  # the class has another name
        inside = [each for each in core if each.function.endswith(f".{method}")]
        ways = [_exactly, _by_lines]
    if not inside and len(mutant.original) >= LONG:
        inside, ways = list(core), [_exactly]
    for way in ways:
        tried = [(each, way(mutant, each.text)) for each in inside]
        found = [(each, mutated) for each, mutated in tried if mutated is not None]
        if found:
            hinted = [pair for pair in found if pair[0].module == mutant.module]
            return hinted if len(found) > 1 and hinted else found
    return []


def _exactly(mutant: Mutant, code: str) -> str | None:
    is_same = code == mutant.original or parsed(code) == parsed(mutant.original)
    return mutant.mutated if is_same else None


def _with_renames(mutant: Mutant, code: str) -> str | None:
    names = renames_between(mutant.original, code)
    return None if names is None else renamed(mutant.mutated, names)


def _by_lines(mutant: Mutant, code: str) -> str | None:
    """Mutate a long statement of which other lines have changed."""
    old, new = mutant.original.split("\n"), mutant.mutated.split("\n")
    if len(old) == 1:
        return None
    for end in (0, -1):
        while old and new and old[end] == new[end]:
            old.pop(end)
            new.pop(end)
    lines = code.split("\n")
    wanted = [line.strip() for line in old]
    starts = [
        start
        for start in range(len(lines))
        if wanted and [line.strip() for line in lines[start : start + len(old)]] == wanted
    ]
    if len(starts) != 1:
        return None
    lines[starts[0] : starts[0] + len(old)] = new
    return "\n".join(lines)


def mutated_file(text: str, statement: Statement, mutated: str) -> str:
    """Return the text of a file with the mutated statement."""
    lines = text.split("\n")
    first = lines[statement.first]
    indent = first[: len(first) - len(first.lstrip())]
    lines[statement.first : statement.end] = textwrap.indent(mutated, indent).split("\n")
    return "\n".join(lines)


def probed_file(text: str, probes: Iterable[tuple[str, Statement]]) -> str:
    """Return the text of a file that records when the statements are executed."""
    lines = text.split("\n")
    for mutant, statement in sorted(probes, key=lambda each: -each[1].before):
        line = lines[statement.before]
        indent = line[: len(line) - len(line.lstrip())]
        lines.insert(statement.before, f"{indent}__import__('mutants_probe').hit({mutant!r})")
    return "\n".join(lines)


def read_sample(text: str) -> tuple[dict[str, Any], list[Mutant]]:
    """Return the settings and the mutants of a sample."""
    settings = tomllib.loads(text)
    return settings, [Mutant(**row) for row in settings.pop("mutant", [])]


def write_sample(text: str, mutants: Iterable[Mutant]) -> str:
    """Return the sample with other mutants below its settings."""
    parts = [text.partition("\n[[mutant]]")[0].rstrip("\n") + "\n"]
    for mutant in mutants:
        rows = [f"{key} = {_quoted(value)}" for key, value in mutant._asdict().items() if value]
        parts.append("\n".join(["[[mutant]]", *rows]) + "\n")
    return "\n".join(parts)


def _quoted(value: str) -> str:
    if "\n" in value:
        return f"'''\n{value}'''"
    is_literal = "'" not in value and ('"' in value or "\\" in value)
    return f"'{value}'" if is_literal else json.dumps(value, ensure_ascii=False)


def core_of(tree: Path, packages: Iterable[str]) -> list[Statement]:
    """Return the statements of the pure core."""
    source = tree / "src" / "brenner"
    paths = [path for name in packages for path in (source / name).rglob("*.py")]
    paths += [path for name in packages if (path := source / f"{name}.py").exists()]
    return [
        statement
        for path in sorted(paths)
        for statement in statements(path.relative_to(tree).as_posix(), path.read_text("utf-8"))
    ]
