"""Versions ready to be published, made from a merge or from a golden history."""

from hashlib import sha256
from pathlib import Path

from brenner.artifact.diff import diff
from brenner.artifact.merge.engine import Merge
from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state
from brenner.lint.linter import lint
from brenner.protocol.messages import Message
from brenner.session.compiled_message import CompiledVersion, compose_compiled, contributors_of
from brenner.session.model import VersionRecord
from golden.history import versions

GOLDEN = Path(__file__).parent / "golden"
COMPILED_AT = "2025-12-30T14:00:00Z"


def publication(
    before: Artifact, merged: Merge, artifact: Artifact | None = None
) -> CompiledVersion:
    """The version that a merge makes of the artifact before it."""
    new = artifact or merged.artifact
    text = render_artifact(new)
    version = new.metadata.version or 0
    at, digest = new.metadata.compiled_at or COMPILED_AT, sha256(text.encode()).hexdigest()
    return CompiledVersion(
        thread_id=new.metadata.session_id or "",
        previous_version=version - 1 or None,
        artifact=new,
        text=text,
        diff=diff(before, new),
        ledger=merged.ledger,
        contributors=contributors_of(merged.ledger, new),
        lint=lint(new),
        conflicts=merged.conflicts,
        not_contributed=(),
        warnings=merged.warnings,
        record=VersionRecord(version, None, (), digest, at, "Operator", "Operator", "active"),
    )


def compose(version: CompiledVersion) -> Message:
    """Return its COMPILED message."""
    return compose_compiled(version, ("BlueLake",))[0]


def golden(history: str) -> list[CompiledVersion]:
    """The versions of a golden history."""
    found: list[CompiledVersion] = []
    before = None
    for version in versions(GOLDEN / history):
        thread_id = version.artifact.metadata.session_id or ""
        before = before or empty_state(thread_id).artifact
        found.append(publication(before, version.merged, version.artifact))
        before = version.artifact
    return found
