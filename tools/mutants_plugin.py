"""The part of `tools/mutants.py` that runs inside pytest: choose tests, measure and limit them."""

import json
import os
import re
import resource
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

_MOST_BYTES = 4 * 1024**3
_ORDER: dict[str, float] = {}
_SECONDS: dict[str, float] = {}
_FAILED: set[str] = set()


def pytest_configure() -> None:
    """Read the chosen tests, and limit the memory: a mutant may loop."""
    _ORDER.update(_chosen())
    if _ORDER:
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))


def _chosen() -> dict[str, float]:
    path = os.environ.get("BRENNER_MUTANTS_ORDER")
    found: dict[str, float] = json.loads(Path(path).read_text("utf-8")) if path else {}
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests in their order, or one part of all fast tests."""
    if _ORDER:
        config.option.maxfail = 1
        known = {item.nodeid: item for item in items}
        items[:] = [known[name] for name in _ORDER if name in known]
        return
    part, parts = map(int, os.environ["BRENNER_MUTANTS_PART"].split())
    exclude = re.compile(os.environ["BRENNER_MUTANTS_EXCLUDE"])
    items[:] = [item for item in items if not exclude.search(item.nodeid)][part::parts]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process if a test uses much more CPU time than without a mutant.

    Real time would also end tests on a busy machine, and their mutants would count as killed.
    """
    if _ORDER:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, 10 + 20 * _ORDER[item.nodeid])
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Sum up how long a test takes."""
    _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0) + report.duration
    if report.failed:
        _FAILED.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Remember a file that cannot be collected."""
    if report.failed:
        _FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write how long each test takes that passes, and which tests fail."""
    path = os.environ.get("BRENNER_MUTANTS_REPORT")
    if path:
        passed = {name: round(s, 4) for name, s in _SECONDS.items() if name not in _FAILED}
        found = {"passed": passed, "failed": sorted(_FAILED)}
        Path(path).write_text(json.dumps(found), "utf-8")
