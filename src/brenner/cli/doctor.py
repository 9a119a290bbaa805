"""`brenner doctor`: check programs, settings, store and server, and say how to fix problems."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_UNAVAILABLE,
    Command,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import slow_notice, write_json
from brenner.cli.serve import serve_url
from brenner.cli.terminal import Span, Style, code_spans, fold
from brenner.config import inspect_project
from brenner.program_settings import TOKEN
from brenner.services.doctor.checks import run_checks
from brenner.services.doctor.stores import (
    OK,
    PROBLEM,
    WARNING,
    Check,
    CheckStatus,
    DoctorContext,
)
from brenner.text import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

_STYLES: dict[CheckStatus, Style] = {
    OK: MappingProxyType({"fg": "green"}),
    WARNING: MappingProxyType({"fg": "yellow", "bold": True}),
    PROBLEM: MappingProxyType({"fg": "magenta", "bold": True}),
}
_STATUS_COLUMNS, _NAME_COLUMNS = 9, 13
_REST = " " * (_STATUS_COLUMNS + _NAME_COLUMNS)


@click.command(
    cls=Command, epilog=examples("brenner doctor", "brenner doctor --url http://127.0.0.1:8765")
)
@click.option("--url", metavar="URL", help="Server that agents use (or BRENNER_SERVE_URL).")
@click.option("--verbose", "is_verbose", is_flag=True, help="Show the checks that passed, too.")
@common_options
def command(settings: Settings, *, url: str | None, is_verbose: bool) -> int:
    """Check everything that the project needs, with a fix for each problem.

    Use it when something does not work. It checks programs, settings, the store, the clock and the
    server. A server gets a test request. Without --url, it is not a problem that no `brenner serve`
    runs. Nothing is created or changed.
    """
    project = inspect_project(settings.project, os.environ, settings.store)
    context = DoctorContext(
        project,
        settings.actor,
        datetime.now(UTC),
        serve_url(url),
        os.environ.get(TOKEN) or None,
        is_url_requested=url is not None,
    )
    checks = []
    for check in _with_slow_notice(run_checks(context)):
        checks.append(check)
        if not settings.as_json and (is_verbose or check.status is not OK):
            _write(check)
    problems = [check for check in checks if check.status is PROBLEM]
    if settings.as_json:
        write_json({"ok": not problems, "checks": [_to_json(each) for each in checks]})
    else:
        _write_summary(checks, is_verbose=is_verbose)
    if all(check.is_content for check in problems):
        return EXIT_INVALID if problems else EXIT_OK
    return EXIT_UNAVAILABLE


def _with_slow_notice(checks: Iterator[Check]) -> Iterator[Check]:
    """Yield each check as it comes, and print a notice on a terminal if one is slow."""
    while True:
        with slow_notice("Still checking: the store or an agent's program is slow"):
            check = next(checks, None)
        if check is None:
            return
        yield check


def _write(check: Check) -> None:
    out = sys.stdout
    start = [
        Span(f"{check.status:<{_STATUS_COLUMNS}}", _STYLES[check.status]),
        Span(f"{check.name.replace('_', ' '):<{_NAME_COLUMNS - 2}}  "),
    ]
    text = [Span(check.detail)]
    if check.id:
        text = [Span(check.id, _STYLES[check.status]), Span("  "), *text]
    out.write(fold(start, text, _REST, out))
    if check.fix:
        out.write(fold([Span(f"{_REST}→ ")], [Span(check.fix)], f"{_REST}  ", out))
    out.flush()


def _write_summary(checks: list[Check], *, is_verbose: bool) -> None:
    """Write `18 checks passed, 1 problem, 2 warnings.`, and how to see the checks that passed."""
    out = sys.stdout
    counts = {
        status: sum(check.status is status for check in checks) for status in (PROBLEM, WARNING)
    }
    passed = grouped(len(checks) - sum(counts.values()), "check") + " passed"
    words = [passed, *(grouped(count, status) for status, count in counts.items() if count)]
    worst = next((status for status, count in counts.items() if count), OK)
    hint = "" if is_verbose else " `brenner doctor --verbose` shows them all."
    out.write(fold([], [Span(f"{', '.join(words)}.", _STYLES[worst]), *code_spans(hint)], "", out))


def _to_json(check: Check) -> dict[str, object]:
    """Return the stable JSON form. `fix` and `id` are included only if there are any."""
    document: dict[str, object] = {
        "name": check.name,
        "status": str(check.status),
        "detail": check.detail,
    }
    known = {"fix": check.fix, "id": check.id}
    return document | {key: value for key, value in known.items() if value is not None}
