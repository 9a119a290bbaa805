"""The COMPILED message that publishes a version: its subject and the extended body, whole.

Reading it gives back thread, version, path, the exact artifact and the exact record, whatever the
artifact and the mail hold (R10, R22).
"""

from brenner.diagnostics.codes.publishing import ARTIFACT_TOO_LARGE_TO_INLINE
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES, MOST_INLINE_ARTIFACT_BYTES
from brenner.markdown.escape import escape
from brenner.protocol.body import in_fence, quoted, short
from brenner.protocol.compiled import RECORD_INFO
from brenner.protocol.message_types import COMPILED
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.session import compiled_remarks as remarks
from brenner.session import compiled_sections as sections
from brenner.session.publication import (
    Contributor,
    Publication,
    contributors_of,
    description_of,
)

__all__ = [
    "Contributor",
    "Publication",
    "compose_compiled",
    "contributors_of",
    "description_of",
    "size_note",
]

_MARGIN = 16 * 1024  # for the headers of a message file
_SECTIONS = (
    sections.metadata,
    sections.summary_section,
    sections.contributors,
    sections.changes,
    sections.statistics_section,
    sections.validation,
    sections.persistence,
    remarks.refused_blocks,
    remarks.warnings,
    remarks.left_out,
    remarks.unresolved,
    remarks.open_conflicts,
    remarks.not_contributed,
)


def compose_compiled(publication: Publication) -> Message:
    """The message."""
    of = publication
    adopted = f"takes over the artifact of message {of.adopted}" if of.adopted else ""
    about = short(f"v{of.version} {adopted or description_of(of.diff, of.ledger)}")
    return Message(
        thread_id=of.thread_id,
        sender=of.sender,
        recipients=of.recipients,
        subject=compose_subject(COMPILED.name, about),
        body=_body(of),
    )


def size_note(publication: Publication) -> Diagnostic | None:
    """That the artifact does not fit into its message, where it does not."""
    return _size_note(publication, _before_artifact(publication), _record(publication))


def _body(of: Publication) -> str:
    before, record = _before_artifact(of), _record(of)
    note = _size_note(of, before, record)
    full = _link(of, note) if note else in_fence(of.text, "markdown")
    return f"{before}\n## Full Artifact\n{full}\n{record}"


def _before_artifact(of: Publication) -> str:
    parts = [f"# Compiled Artifact v{of.version}\n", *(section(of) for section in _SECTIONS)]
    return "\n".join(filter(None, parts))


def _record(of: Publication) -> str:
    return f"## Record\n{in_fence(of.record, RECORD_INFO)}"


def _size_note(of: Publication, before: str, record: str) -> Diagnostic | None:
    size = len(of.text.encode())
    room = MOST_BODY_BYTES - _MARGIN - len(before.encode()) - len(record.encode())
    most = min(MOST_INLINE_ARTIFACT_BYTES, max(room, 0))
    if size <= most:
        return None
    return ARTIFACT_TOO_LARGE_TO_INLINE.at(
        size=size, most=most, thread_id=of.thread_id, version=of.version
    )


def _link(of: Publication, note: Diagnostic) -> str:
    path = f"artifacts/{of.thread_id}.md"
    linked = f"[{escape(path)}]({path}), SHA-256 `{of.artifact_sha256}`"
    return f"{linked}\n\n{quoted(note.message)} {quoted(note.fix)}\n"
