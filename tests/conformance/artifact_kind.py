"""The case kind `artifact`: what reading the text of an artifact gives, written back, too."""

from collections.abc import Mapping
from typing import Any

from brenner.artifact.model import Artifact, Item
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.diagnostics.model import Diagnostic
from conformance.lint_kind import text_of

Case = dict[str, Any]


def check_artifact(case: Case) -> list[Diagnostic]:
    """Read it, and check what only such cases state: fields, places, and the text written back."""
    text = text_of(case)
    parsed = parse_artifact(text)
    for path, value in case.get("fields", {}).items():
        assert _plain(_value(parsed.artifact, path)) == value, path
    for path in case.get("absent", []):
        assert _value(parsed.artifact, path) is None, path
    for path, line in case.get("places", {}).items():
        assert parsed.lines[tuple(path.split("."))] == line, path
    written = render_artifact(parsed.artifact)
    assert parse_artifact(written).artifact == parsed.artifact
    for part in case.get("renders", []):
        assert part in written, part
    for part in case.get("never", []):
        assert part not in written, part
    if case.get("same"):
        assert written == text
    return list(parsed.diagnostics)


def _value(artifact: Artifact, path: str) -> object:
    """`H1.claim`, `P1.predictions.H2`, `H2.killed.agent`, `RT.statement`, `metadata.version`."""
    first, *names = path.split(".")
    items = {item.id: item for _, item in artifact.all_items()}
    value: object = artifact.metadata if first == "metadata" else items.get(first)
    for name in names:
        if isinstance(value, Item) and name != "killed":
            value = value.fields.get(name)
        else:
            value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if value is None:
        return ""  # TOML has no null
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
