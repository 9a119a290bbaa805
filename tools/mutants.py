"""Measure which mutants of the pure core the fast tests notice.

    python tools/mutants.py [--record] [--renames FILE] [ID ...]

reads `tests/mutation/sample.toml`, writes one mutant after the other into a copy of the tree, and
runs the tests that execute the mutated statement. The exit code is 1 if the score is lower than in
`tests/mutation/baseline.toml`. `--record` writes that file. With IDs only those mutants run.

A mutant is found by its function and its statement, in whatever file. Line breaks do not count. A
renamed symbol is followed if only one statement of the function has the same form. In a statement
of several lines only the mutated ones must be the same. For all other renames, `--renames` takes a
file whose lines end with an old and a new name, and updates the sample. A mutant that is not found
is `gone`: it never counts as killed.
"""

import argparse
import ast
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "tests" / "mutation" / "sample.toml"
BASELINE = SAMPLE.with_name("baseline.toml")
SCRATCH = Path(tempfile.gettempdir()) / (
    "brenner-mutants-" + hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
)
WORKERS = 2
FIRST = 60  # tests in the first run of a mutant
MOST_SECONDS = 60  # of tests per mutant, as measured without mutants
LONG = 60  # characters of a statement that are enough to know it in a renamed function

KILLED, SURVIVED, NOT_COVERED = "killed", "survived", "not covered"
EQUIVALENT, GONE, BROKEN = "equivalent", "gone", "broken"
STATUSES = (KILLED, SURVIVED, NOT_COVERED, EQUIVALENT, GONE, BROKEN)
COUNTED = (KILLED, SURVIVED, NOT_COVERED)

# Part of the copies only: record which test executes which mutated statement.
PROBE = """
import os
_seen = set()
def hit(mutant):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (mutant, test) not in _seen:
        _seen.add((mutant, test))
        with open({file!r}, "a", encoding="utf-8") as hits:
            hits.write(f"{{mutant}} {{test}}\\n")
"""


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


class Coverage(NamedTuple):
    """How long each test takes, and which tests execute each mutant."""

    seconds: dict[str, float]
    covering: dict[str, list[str]]


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


class Runner:
    """Copies of the tree, and the tests that run in them."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.tests: dict[str, Any] = settings["tests"]
        self.plain = SCRATCH / "plain"
        self.copies = [SCRATCH / str(number) for number in range(WORKERS)]
        self.free: queue.Queue[Path] = queue.Queue()
        for copy in self.copies:
            self.free.put(copy)

    def prepare(self) -> None:
        """Copy the tree."""
        for folder in (self.plain, *self.copies):
            shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"],
            capture_output=True,
            check=True,
            cwd=ROOT,
        ).stdout.decode()
        for name in sorted(filter(None, listed.split("\0"))):
            if (ROOT / name).is_file():
                (self.plain / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.plain / name)
        command = [sys.executable, "-m", "compileall", "-q", "src"]
        subprocess.run(command, check=True, cwd=self.plain)
        for copy in self.copies:
            shutil.copytree(self.plain, copy)

    def coverage(self, places: Mapping[str, Statement]) -> Coverage:
        """Return which tests execute which mutants, from the last run if nothing has changed."""
        key = self._key()
        file = SCRATCH / "coverage.json"
        if file.exists() and (stored := json.loads(file.read_text("utf-8")))["key"] == key:
            return Coverage(stored["seconds"], stored["covering"])
        print("running the fast tests once to see which of them execute each mutant …", flush=True)
        with ThreadPoolExecutor(WORKERS) as pool:
            parts = range(WORKERS)
            results = list(pool.map(lambda part: self._measure(part, places), parts))
        seconds = {test: spent for found, _ in results for test, spent in found.items()}
        covering: dict[str, list[str]] = {mutant: [] for mutant in places}
        for mutant, test in sorted({hit for _, hits in results for hit in hits}):
            if test in seconds:
                covering[mutant].append(test)
        file.write_text(json.dumps({"key": key, "seconds": seconds, "covering": covering}), "utf-8")
        return Coverage(seconds, covering)

    def _key(self) -> str:
        files = [
            path for name in ("src", "tests", "tools") for path in (self.plain / name).rglob("*")
        ]
        digest = hashlib.sha256()
        for path in sorted(files):
            if path.is_file() and path.suffix != ".pyc" and path.name != BASELINE.name:
                digest.update(f"{path}\0".encode() + path.read_bytes())
        return digest.hexdigest()

    def _measure(
        self, part: int, places: Mapping[str, Statement]
    ) -> tuple[dict[str, float], list[tuple[str, str]]]:
        """Run a part of the tests with probes; return the seconds and the hits."""
        copy, hits, report = (SCRATCH / f"{part}{end}" for end in ("", ".hits", ".report"))
        hits.write_text("", "utf-8")
        (copy / "src" / "mutants_probe.py").write_text(PROBE.format(file=str(hits)), "utf-8")
        paths = sorted({place.path for place in places.values()})
        for path in paths:
            probes = [(name, place) for name, place in places.items() if place.path == path]
            text = (self.plain / path).read_text("utf-8")
            self._write(copy, path, probed_file(text, probes))
        folders = [name for name in self.tests["folders"] if (copy / name).exists()]
        environment = {"BRENNER_MUTANTS_PART": f"{part} {WORKERS}"}
        self._pytest(copy, folders, environment | {"BRENNER_MUTANTS_REPORT": str(report)}, None)
        for path in paths:
            self._restore(copy, path)
        pairs = (line.split(" ", 1) for line in hits.read_text("utf-8").splitlines())
        return json.loads(report.read_text("utf-8")), [(name, test) for name, test in pairs]

    def run(self, place: Statement, mutated: str, coverage: Coverage, name: str) -> tuple[str, str]:
        """Return the status of a mutant, and the test that failed or why there is none."""
        chosen = self._choose(coverage, name)
        if not chosen:
            return NOT_COVERED, ""
        text = mutated_file((self.plain / place.path).read_text("utf-8"), place, mutated)
        try:
            compile(text, place.path, "exec")
        except SyntaxError as error:
            return BROKEN, str(error)
        copy = self.free.get()
        try:
            self._write(copy, place.path, text)
            for tests in filter(None, (chosen[:FIRST], chosen[FIRST:])):
                status, why = self._noticed(copy, tests, coverage)
                if status != SURVIVED:
                    return status, why
            return SURVIVED, f"{len(chosen)} tests"
        finally:
            self._restore(copy, place.path)
            self.free.put(copy)

    @staticmethod
    def _choose(coverage: Coverage, name: str) -> list[str]:
        """Return the tests for a mutant: quick ones first, then others of the same files.

        Those count because tests share cached results, which only the first of them computes.
        """
        direct = set(coverage.covering.get(name, []))
        files = {test.partition("::")[0] for test in direct}
        near = {test for test in coverage.seconds if test.partition("::")[0] in files}
        chosen: list[str] = []
        left = float(MOST_SECONDS)
        for tests in (direct, near - direct):
            for test in sorted(tests, key=lambda test: (coverage.seconds[test], test)):
                left -= coverage.seconds[test]
                if left >= 0 or not chosen:
                    chosen.append(test)
        return chosen

    def _noticed(self, copy: Path, tests: list[str], coverage: Coverage) -> tuple[str, str]:
        order = SCRATCH / f"{copy.name}.order"
        order.write_text(json.dumps({test: coverage.seconds[test] for test in tests}), "utf-8")
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        limit = 120 + 10 * sum(coverage.seconds[test] for test in tests)
        environment = {"BRENNER_MUTANTS_ORDER": str(order), "PYTHONDONTWRITEBYTECODE": "1"}
        code, out = self._pytest(copy, files, environment, limit)
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", out, re.MULTILINE)
        if code == 0:
            return SURVIVED, ""
        if code is None or code < 0:
            return KILLED, "timeout"
        if failed and code in (1, 2):
            return KILLED, failed[1]
        return BROKEN, f"pytest ended with {code}: {out[-300:]}"

    def _pytest(
        self, copy: Path, paths: list[str], environment: dict[str, str], limit: float | None
    ) -> tuple[int | None, str]:
        """Run tests; return the exit code, None after the time limit, and the output."""
        path = os.pathsep.join([str(copy / "src"), str(ROOT / "tools")])
        ours = {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "BRENNER_HYPOTHESIS_PROFILE": "mutants"}
        ours["BRENNER_MUTANTS_EXCLUDE"] = self.tests["exclude"]
        options = ["-p", "mutants_plugin", "-p", "no:cacheprovider", "-p", "no:xdist", "-qq"]
        options += [f"--basetemp={SCRATCH / copy.name}.tmp", "--tb=no"]
        output = SCRATCH / f"{copy.name}.out"
        with output.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *paths],
                cwd=copy,
                env={**os.environ, **ours, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code: int | None = None
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(limit)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return code, output.read_text("utf-8", errors="replace")

    @staticmethod
    def _write(copy: Path, path: str, text: str) -> None:
        """Write a file with a time of its own, so that no bytecode of another text fits it."""
        (copy / path).write_text(text, "utf-8")
        os.utime(copy / path, (time.time() - 10**8,) * 2)

    def _restore(self, copy: Path, path: str) -> None:
        shutil.copy2(self.plain / path, copy / path)


def score(statuses: Mapping[str, str]) -> float:
    """Return killed mutants / all but those that are equivalent, gone or broken."""
    counts = Counter(statuses.values())
    return counts[KILLED] / max(1, sum(counts[each] for each in COUNTED))


def expected(baseline: Mapping[str, Any], statuses: Mapping[str, str]) -> float:
    """Return the score that the baseline had for the mutants that count now."""
    alive = {*baseline["survived"], *baseline["not_covered"]}
    counted = {name for name, status in statuses.items() if status in COUNTED}
    return score({name: SURVIVED if name in alive else KILLED for name in counted})


def run_all(mutants: Sequence[Mutant], settings: Mapping[str, Any]) -> dict[str, str]:
    """Run the mutants and return their statuses."""
    runner = Runner(settings)
    runner.prepare()
    core = core_of(runner.plain, settings["packages"])
    statuses: dict[str, str] = {}
    places: dict[str, tuple[Statement, str]] = {}
    for mutant in mutants:
        found = find(mutant, core)
        if len(found) != 1:
            statuses[mutant.id] = GONE
            why = "ambiguous" if found else "no such statement"
            print(f"{mutant.id} GONE ({why}): {mutant.module}.{mutant.function}: {mutant.original}")
        elif mutant.equivalent:
            statuses[mutant.id] = EQUIVALENT
        else:
            places[mutant.id] = found[0]
    coverage = runner.coverage({name: place for name, (place, _) in places.items()})

    def one(name: str) -> None:
        start = time.monotonic()
        statuses[name], why = runner.run(*places[name], coverage, name)
        count = f"{len(statuses)}/{len(mutants)}"
        spent = f"{time.monotonic() - start:.1f} s"
        print(f"{count:>9}  {name}  {statuses[name]:<11} {spent:>7}  {why}", flush=True)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, places))
    return {mutant.id: statuses[mutant.id] for mutant in mutants}


def report(mutants: Iterable[Mutant], statuses: Mapping[str, str], before: set[str]) -> None:
    """Print the mutants that were not killed, and the table."""
    for mutant in mutants:
        status = statuses[mutant.id]
        if status not in (KILLED, EQUIVALENT):
            mark = "" if mutant.id in before or status not in COUNTED else "  NEW"
            print(f"\n{mutant.id} {status}{mark}: {mutant.module}.{mutant.function}")
            print(textwrap.indent(mutant.original, "  - "))
            print(textwrap.indent(mutant.mutated, "  + "))
    counts = Counter(statuses.values())
    print()
    for status in STATUSES:
        print(f"{status:<12}{counts[status]:>5}")
    print(f"{'score':<12}{score(statuses):>9.3f}")


def baseline_text(statuses: Mapping[str, str]) -> str:
    """Return the file that later runs are compared with."""
    lines = ["# Written by `python tools/mutants.py --record`.", f"score = {score(statuses):.4f}"]
    for status in STATUSES:
        names = [name for name, each in statuses.items() if each == status]
        key = status.replace(" ", "_")
        lines.append(f"{key} = {len(names) if status == KILLED else json.dumps(names)}")
    return "\n".join(lines) + "\n"


def follow_renames(text: str, renames: str) -> str:
    """Return the sample with other names in those mutants that are found only then."""
    settings, mutants = read_sample(text)
    core = core_of(ROOT, settings["packages"])
    names = {line.split()[-2]: line.split()[-1] for line in renames.splitlines() if line.strip()}
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")

    def now(mutant: Mutant) -> Mutant:
        fields = ("function", "original", "mutated")
        changes = {
            field: words.sub(lambda word: names[word[0]], getattr(mutant, field))
            for field in fields
        }
        other = mutant._replace(**changes)
        is_found = len(find(mutant, core)) == 1 or len(find(other, core)) != 1
        return mutant if is_found else other

    return write_sample(text, map(now, mutants))


def main() -> int:
    """Run the mutants, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write the baseline")
    parser.add_argument("--renames", type=Path, help="update the sample with these renames")
    parser.add_argument("ids", nargs="*", metavar="ID")
    given = parser.parse_args()
    if given.renames:
        text = follow_renames(SAMPLE.read_text("utf-8"), given.renames.read_text("utf-8"))
        SAMPLE.write_text(text, "utf-8")
        return 0
    settings, mutants = read_sample(SAMPLE.read_text("utf-8"))
    chosen = [mutant for mutant in mutants if not given.ids or mutant.id in given.ids]
    baseline = tomllib.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else None
    statuses = run_all(chosen, settings)
    before = {*baseline["survived"], *baseline["not_covered"]} if baseline else set()
    report(chosen, statuses, before)
    if given.record:
        BASELINE.write_text(baseline_text(statuses), "utf-8")
    elif baseline and score(statuses) < expected(baseline, statuses):
        print(f"The score is lower than the baseline: {expected(baseline, statuses):.3f}.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
