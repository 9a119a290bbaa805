"""Measure which mutants of the pure core the tests of `make test` notice.

    python tools/mutants.py [--record] [--renames FILE] [ID ...]

reads `tests/mutation/sample.toml`, writes one mutant after the other into a copy of the tree, and
runs the tests that execute the mutated statement. The exit code is 1 if the score is lower than in
`tests/mutation/baseline.toml`. `--record` writes that file. With IDs only those mutants run.

`tools/mutant_sample.py` describes how a mutant is found. A mutant that is not found is `gone` and
never counts as killed. For renames that are not followed, `--renames` takes a file whose lines end
with an old and a new name, and updates the sample.
"""

import argparse
import fcntl
import hashlib
import itertools
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
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mutant_sample import (
    ROOT,
    SAMPLE,
    Mutant,
    Statement,
    core_of,
    find,
    mutated_file,
    probed_file,
    read_sample,
    write_sample,
)

BASELINE = SAMPLE.with_name("baseline.toml")
SCRATCH = Path(tempfile.gettempdir()) / (
    "brenner-mutants-" + hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
)
WORKERS = 2
FIRST = 60  # tests in the first run of a mutant
# Of the seconds of all tests, for each mutant: those that execute it, others of the same files.
# Shares do not depend on how busy the machine is.
MOST, MOST_NEAR = 0.15, 0.04

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


class Coverage(NamedTuple):
    """How long each test takes, and which tests execute each mutant."""

    seconds: dict[str, float]
    covering: dict[str, list[str]]


class Runner:
    """Copies of the tree, and the tests that run in them."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.tests: dict[str, Any] = settings["tests"]
        self.plain = SCRATCH / "plain"
        self.copies = [SCRATCH / str(number) for number in range(WORKERS)]
        self.times = itertools.count(10**9)
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
        key = self._key(places)
        file = SCRATCH / "coverage.json"
        if file.exists() and (stored := json.loads(file.read_text("utf-8")))["key"] == key:
            return Coverage(stored["seconds"], stored["covering"])
        print("running the fast tests once to see which of them execute each mutant …", flush=True)
        with ThreadPoolExecutor(WORKERS) as pool:
            parts = range(WORKERS)
            results = list(pool.map(lambda part: self._measure(part, places), parts))
        seconds = {test: spent for found, _ in results for test, spent in found["passed"].items()}
        failed = [test for found, _ in results for test in found["failed"]]
        print(f"{len(seconds)} tests pass; without mutants these fail and do not count: {failed}")
        covering: dict[str, list[str]] = {mutant: [] for mutant in places}
        for mutant, test in sorted({hit for _, hits in results for hit in hits}):
            if test in seconds:
                covering[mutant].append(test)
        file.write_text(json.dumps({"key": key, "seconds": seconds, "covering": covering}), "utf-8")
        return Coverage(seconds, covering)

    def _key(self, places: Mapping[str, Statement]) -> str:
        """Return a hash of the code, the tests and the places of the mutants."""
        digest = hashlib.sha256(repr(sorted(places.items())).encode())
        for path in sorted(
            path for name in ("src", "tests") for path in (self.plain / name).rglob("*")
        ):
            if path.is_file() and path.suffix != ".pyc" and SAMPLE.parent.name not in path.parts:
                digest.update(f"{path}\0".encode() + path.read_bytes())
        return digest.hexdigest()

    def _measure(
        self, part: int, places: Mapping[str, Statement]
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Run a part of the tests with probes; return the report of the plug-in and the hits."""
        copy, hits, report = (SCRATCH / f"{part}{end}" for end in ("", ".hits", ".report"))
        hits.write_text("", "utf-8")
        report.unlink(missing_ok=True)
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
        for tests, most in ((direct, MOST), (near - direct, MOST_NEAR)):
            left = most * sum(coverage.seconds.values())
            for test in sorted(tests, key=lambda test: (coverage.seconds[test], test)):
                left -= coverage.seconds[test]
                if left >= 0 or not chosen:
                    chosen.append(test)
        return chosen

    def _noticed(self, copy: Path, tests: list[str], coverage: Coverage) -> tuple[str, str]:
        order = SCRATCH / f"{copy.name}.order"
        order.write_text(json.dumps({test: coverage.seconds[test] for test in tests}), "utf-8")
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        limit = 600 + 20 * sum(coverage.seconds[test] for test in tests)  # CPU time ends sooner
        code, out = self._pytest(copy, files, {"BRENNER_MUTANTS_ORDER": str(order)}, limit)
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
        options += [] if limit else ["--continue-on-collection-errors"]
        output = SCRATCH / f"{copy.name}.out"
        with output.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *paths],
                cwd=copy,
                env={**_environment(), **ours, **environment},
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

    def _write(self, copy: Path, path: str, text: str) -> None:
        """Write a file with a time of its own, so that no bytecode of another text fits it."""
        (copy / path).write_text(text, "utf-8")
        os.utime(copy / path, (next(self.times),) * 2)

    def _restore(self, copy: Path, path: str) -> None:
        shutil.copy2(self.plain / path, copy / path)


def _environment() -> dict[str, str]:
    """Return the environment without what would select other tests than `make test` does."""
    return {name: value for name, value in os.environ.items() if name != "BRENNER_THOROUGH"}


def score(statuses: Mapping[str, str]) -> float:
    """Return killed mutants / all but those that are equivalent, gone or broken."""
    counts = Counter(statuses.values())
    return counts[KILLED] / max(1, sum(counts[each] for each in COUNTED))


def expected(baseline: Mapping[str, Any], statuses: Mapping[str, str]) -> float:
    """Return the score that the baseline had for the mutants that count now."""
    alive = {*baseline["survived"], *baseline["not_covered"]}
    counted = {name for name, status in statuses.items() if status in COUNTED}
    return score({name: SURVIVED if name in alive else KILLED for name in counted})


def run_all(
    mutants: Sequence[Mutant], chosen: Sequence[Mutant], settings: Mapping[str, Any]
) -> dict[str, str]:
    """Run the chosen mutants and return their statuses."""
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
        else:
            places[mutant.id] = found[0]
        if len(found) == 1 and mutant.equivalent:
            statuses[mutant.id] = EQUIVALENT
    coverage = runner.coverage({name: place for name, (place, _) in places.items()})

    def one(name: str) -> None:
        start = time.monotonic()
        statuses[name], why = runner.run(*places[name], coverage, name)
        count = f"{next(counter)}/{len(wanted)}"
        spent = f"{time.monotonic() - start:.1f} s"
        print(f"{count:>9}  {name}  {statuses[name]:<11} {spent:>7}  {why}", flush=True)

    wanted = [mutant.id for mutant in chosen if mutant.id not in statuses]
    counter = itertools.count(1)
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, wanted))
    return {mutant.id: statuses[mutant.id] for mutant in chosen}


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
    unknown = set(given.ids) - {mutant.id for mutant in mutants}
    if unknown or (given.record and given.ids):
        parser.error(f"unknown IDs: {unknown}" if unknown else "--record needs all mutants")
    chosen = [mutant for mutant in mutants if not given.ids or mutant.id in given.ids]
    SCRATCH.mkdir(exist_ok=True)
    with (SCRATCH / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        statuses = run_all(mutants, chosen, settings)
    baseline = tomllib.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else None
    before = {*baseline["survived"], *baseline["not_covered"]} if baseline else set()
    report(chosen, statuses, before)
    if given.record:
        BASELINE.write_text(baseline_text(statuses), "utf-8")
    elif baseline:
        print(f"{'baseline':<12}{expected(baseline, statuses):>9.3f}  (of the same mutants)")
        return int(score(statuses) < expected(baseline, statuses))
    return 0


if __name__ == "__main__":
    sys.exit(main())
