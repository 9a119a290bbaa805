"""Choose the mutants of `tests/mutation/sample.toml`, at random with a fixed seed.

    python tools/sample_mutants.py COUNT

replaces the mutants below the settings of that file. The same code and the same seed give the same
mutants. A new sample needs a new baseline, so keep the old one unless most of it is gone.
"""

import ast
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from mutant_sample import (
    ROOT,
    SAMPLE,
    Mutant,
    Statement,
    core_of,
    parsed,
    read_sample,
    write_sample,
)

_COMPARISONS = {"==": "!=", "<=": "<", ">=": ">", "<": "<=", ">": ">="}
_COMPARISONS |= {"is not": "is", "is": "is not", "not in": "in", "in": "not in"}
_COMPARISONS |= {"!=": "=="}
_CALLS = {"any": "all", "min": "max", "startswith": "endswith", "lstrip": "rstrip"}
_CALLS |= {"partition": "rpartition", "find": "rfind", "sorted": "list"}
_CALLS |= {new: old for old, new in _CALLS.items() if new != "list"}
_ARITHMETIC = {"+": "-", "-": "+", "*": "+", "//": "*", "%": "*", "|": "&", "&": "|"}
_PER_FUNCTION = 2


class Change(NamedTuple):
    """A part of a statement, by offset, and what replaces it."""

    kind: str
    start: int
    end: int
    text: str


class Source:
    """The text of a statement, with the nodes of its tree by offset."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.prefix = 2 if code.startswith("elif") else 0
        self.is_head = False
        rest = code[self.prefix :]
        for tail in ("", "\n    pass", "\n    case _:\n        pass"):
            try:
                self.tree = ast.parse(rest + tail).body[0]
            except SyntaxError:
                continue
            self.is_head = bool(tail)
            break
        self.starts = [0]
        for line in rest.split("\n"):
            self.starts.append(self.starts[-1] + len(line.encode()) + 1)

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Return where a node is in the text, in bytes."""
        first = self.starts[node.lineno - 1] + node.col_offset + self.prefix
        last = self.starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0) + self.prefix
        return first, last

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node."""
        first, last = self.span(node)
        return self.code.encode()[first:last].decode()

    def between(self, left: ast.expr, right: ast.expr) -> tuple[int, int, str]:
        """Return what is between two nodes."""
        first, last = self.span(left)[1], self.span(right)[0]
        return first, last, self.code.encode()[first:last].decode()


def _in_comparison(source: Source, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        first, last, gap = source.between(node.left, node.comparators[0])
        for old, new in _COMPARISONS.items():
            if gap.strip() == old:
                yield Change("comparison", first, last, gap.replace(old, new, 1))


def _in_condition(source: Source, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            first, last, gap = source.between(left, right)
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield Change("and or", first, last, gap.replace(old, new, 1))
            yield Change("operand dropped", first, source.span(right)[1], gap.partition(old)[0])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield Change("negation", *source.span(node), source.of(node.operand))
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and not _is_negated(node.test):
        yield Change("negation", *source.span(node.test), f"(not ({source.of(node.test)}))")
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield Change("filter dropped", *source.span(node.ifs[0]), "True")


def _is_negated(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _in_constant(source: Source, node: ast.AST) -> Iterator[Change]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield Change("constant", *source.span(node), str(not node.value))
    elif isinstance(node.value, int):
        yield Change("constant", *source.span(node), str(node.value + 1))
    elif isinstance(node.value, str) and source.of(node)[:1] in ("'", '"'):
        text = source.of(node)
        yield Change("string", *source.span(node), f"{text[0]}XX{text[1:]}")


def _in_operation(source: Source, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp):
        first, last, gap = source.between(node.left, node.right)
        if gap.strip() in _ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
            new = gap.replace(gap.strip(), _ARITHMETIC[gap.strip()])
            yield Change("arithmetic", first, last, new)
    elif isinstance(node, ast.Call):
        name = node.func
        word = name.attr if isinstance(name, ast.Attribute) else source.of(name)
        if word in _CALLS:
            end = source.span(name)[1]
            yield Change("function", end - len(word), end, _CALLS[word])
        yield from _without_argument(source, node)


def _is_text(node: ast.expr) -> bool:
    """Return whether the operation would only raise TypeError with another operator."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text or isinstance(node, ast.JoinedStr | ast.Dict | ast.List | ast.Tuple)


def _without_argument(source: Source, call: ast.Call) -> Iterator[Change]:
    keywords = {source.span(each) for each in call.keywords}
    given = sorted([*map(source.span, call.args), *keywords])
    for before, last in pairwise(given):
        if last in keywords:
            yield Change("argument", before[1], last[1], "")


def _in_statement(source: Source, node: ast.AST) -> Iterator[Change]:
    if node is not source.tree:
        return
    whole = 0, len(source.code.encode())
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if is_call or isinstance(node, ast.AugAssign | ast.Continue | ast.Break | ast.Raise):
        yield Change("statement", *whole, "pass")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        yield Change("statement", *whole, "yield from ()")
    elif isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple):
        yield Change("statement", *whole, "pass")
    elif isinstance(node, ast.Return) and node.value is not None:
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        yield Change("return", *source.span(node.value), "0" if is_none else "None")
    elif isinstance(node, ast.For):
        yield Change("iteration", *source.span(node.iter), f"list({source.of(node.iter)})[1:]")


_FINDERS: tuple[Callable[[Source, ast.AST], Iterator[Change]], ...] = (
    *(_in_comparison, _in_condition, _in_constant, _in_operation, _in_statement),
)


def changes(code: str) -> list[Change]:
    """Return every change of a statement that the operators can make."""
    source = Source(code)
    inner = [node for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr)]
    # In Python 3.11 the parts of an f-string have no true positions.
    hidden = {part for text in inner for part in ast.walk(text)}
    nodes = [node for node in ast.walk(source.tree) if node not in hidden]
    return [change for node in nodes for find in _FINDERS for change in find(source, node)]


def mutants_of(statement: Statement) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each mutant of a statement."""
    raw = statement.text.encode()
    for change in changes(statement.text):
        mutated = (raw[: change.start] + change.text.encode() + raw[change.end :]).decode()
        try:
            is_other = parsed(mutated) != parsed(statement.text)
        except SyntaxError:
            continue
        if is_other:
            yield change.kind, mutated


def choose(core: list[Statement], count: int, seed: int) -> Iterator[Mutant]:
    """Yield mutants: statements by their lines, then the kind of which there are fewest."""
    chance = random.Random(seed)  # noqa: S311
    known = Counter((each.function, parsed(each.text)) for each in core)
    lines = [each for each in core for _ in range(each.first, each.end)]
    chance.shuffle(lines)
    per_function, kinds = Counter[tuple[str, str]](), Counter[str]()
    done: set[Statement] = set()
    number = 0
    for each in lines:
        where = each.module, each.function
        is_clear = known[each.function, parsed(each.text)] == 1 and "'''" not in each.text
        if each in done or not is_clear or '"""' in each.text:
            continue
        if per_function[where] >= _PER_FUNCTION:
            continue
        done.add(each)
        found = list(mutants_of(each))
        if not found:
            continue
        fewest = min(kinds[kind] for kind, _ in found)
        kind, mutated = chance.choice([pair for pair in found if kinds[pair[0]] == fewest])
        kinds[kind] += 1
        per_function[where] += 1
        number += 1
        yield Mutant(f"M{number:03}", *where, kind, each.text, mutated)
        if number == count:
            return


def _in_order(mutants: Iterable[Mutant]) -> list[Mutant]:
    ordered = sorted(mutants, key=lambda mutant: (mutant.module, mutant.function, mutant.id))
    return [mutant._replace(id=f"M{number:03}") for number, mutant in enumerate(ordered, 1)]


def main(arguments: list[str]) -> int:
    """Write a new sample."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    text = SAMPLE.read_text("utf-8")
    settings, _ = read_sample(text)
    core = core_of(ROOT, settings["packages"])
    chosen = _in_order(choose(core, int(arguments[0]), settings["seed"]))
    SAMPLE.write_text(write_sample(text, chosen), "utf-8")
    print(Counter(mutant.kind for mutant in chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
