"""What a compile did, as JSON: for scripts at the command line, and for the page."""

from brenner.artifact.diff import changes
from brenner.artifact.model import ITEM_SECTIONS, Artifact
from brenner.artifact.state import ledger_json
from brenner.diagnostics.model import Summary, worst_first
from brenner.diagnostics.truncate import of_messages
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.session.compiled_message import statistics, third_alternative
from brenner.workflows.compile import Compiled, Status


def compiled_json(done: Compiled) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    of_mail = [*done.notes, *done.warnings, *done.not_contributed]
    of_mail += [each for entry in done.ledger for each in entry.diagnostics]
    found = [*of_messages(of_mail), *([done.failed.diagnostic] if done.failed else [])]
    return {
        "thread_id": done.thread_id,
        "status": done.status.value,
        "version": done.version,
        "previous_version": done.previous_version,
        "message_id": done.message.id if done.message else None,
        "artifact_sha256": done.artifact_sha256 if done.version else None,
        "artifact_markdown": done.text if done.version else None,
        "counts": section_counts(done.artifact),
        "changes": changes(done.diff),
        "ledger": ledger_json(done.ledger),
        "not_contributed": [each.to_json() for each in done.not_contributed],
        "conflicts": [conflict.to_json() for conflict in done.conflicts],
        "contributors": [
            {"agent": each.agent, "deltas": each.deltas, "items": list(each.items)}
            for each in done.contributors
        ],
        "lint": done.lint.to_json(),
        "third_alternative": third_alternative(done.artifact),
        "persistence": done.persistence._asdict(),
        "persisted": _persisted(done),
        "notified": [
            {"message_id": sent.stored.id, "to": list(sent.stored.message.recipients)}
            for sent in done.notified
        ],
        "left_unread": done.left,
        "unverified": list(done.unverified),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)],
        "summary": Summary.of(found)._asdict(),
        "valid": done.status is not Status.REFUSED and done.failed is None,
    }


def _persisted(done: Compiled) -> dict[str, object] | None:
    if done.persisted is None:
        return None
    info = done.persisted.info
    return {
        "words": done.persisted.words,
        "version": done.persisted.version,
        "message_id": info.id if info else None,
        "commit": done.persisted.commit,
        "archive": done.persisted.archive,
    }


def section_counts(artifact: Artifact) -> dict[str, int]:
    """How many active items each section has."""
    sections = (RESEARCH_THREAD, *ITEM_SECTIONS)
    numbers = statistics(artifact).values()
    return {section.id: number for section, number in zip(sections, numbers, strict=True)}
