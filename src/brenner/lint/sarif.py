"""Lint reports as SARIF 2.1.0, the format that code hosts and editors read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.catalogue import chapters
from brenner.diagnostics.labels import LABELS
from brenner.diagnostics.model import Code, Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brenner.lint.linter import LintReport

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_CHAPTER = "Linting the artifact"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def to_sarif(report: LintReport, uri: str, program_version: str) -> dict[str, object]:
    """Return the SARIF log of one file. `uri` is its path, encoded as a URI."""
    codes = {
        code.id: code
        for code in (*chapters()[_CHAPTER], *(found.code for found in report.violations))
    }
    places = {code_id: index for index, code_id in enumerate(codes)}
    return _log(
        codes.values(),
        program_version,
        invocations=[{"executionSuccessful": True}],
        artifacts=[{"location": {"uri": uri}}],
        results=[_result(found, places[found.id], uri) for found in report.violations],
    )


def failure_to_sarif(found: Diagnostic, uri: str, program_version: str) -> dict[str, object]:
    """Return the SARIF log of an unreadable file: no results, and the reason."""
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if found.line:
        place["region"] = {"startLine": found.line}
    notification = {
        "descriptor": {"id": found.id},
        "level": _LEVELS[found.severity],
        "message": {"text": f"{found.message} {found.fix}"},
        "locations": [{"physicalLocation": place}],
    }
    failed = {"executionSuccessful": False, "toolExecutionNotifications": [notification]}
    return _log((), program_version, invocations=[failed], results=[])


def _log(rules: Iterable[Code], program_version: str, **run: object) -> dict[str, object]:
    driver = {
        "name": "brenner",
        "version": program_version,
        "rules": [_rule(code) for code in rules],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, **run}],
    }


def _rule(code: Code) -> dict[str, object]:
    return {
        "id": code.id,
        **({"name": label} if (label := LABELS.get(code.id)) else {}),
        "shortDescription": {"text": f"{code.title}."},
        "fullDescription": {"text": code.why},
        "help": {"text": f"{code.why} See `brenner explain {code.id}`."},
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
        "properties": {"spec": code.spec},
    }


def _result(found: Diagnostic, rule: int, uri: str) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": uri, "index": 0}}
    if found.line:
        place["region"] = {"startLine": found.line}
    location: dict[str, object] = {"physicalLocation": place}
    name = ".".join(filter(None, (found.item, found.field)))
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    known = {"item": found.item, "field": found.field, "repaired": found.repaired}
    also = {"also": list(found.also)} if found.also else {}
    return {
        "ruleId": found.id,
        "ruleIndex": rule,
        "level": _LEVELS[found.severity],
        "message": {"text": f"{found.message} {found.fix}"},
        "locations": [location],
        "properties": {
            "fix": found.fix,
            **{key: value for key, value in known.items() if value is not None},
            **also,
        },
    }
