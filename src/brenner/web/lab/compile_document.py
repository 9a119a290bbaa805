"""What a compile would do, or has done, for a page: bounded, however large the session is."""

from collections.abc import Iterable, Sequence
from typing import cast

from brenner.artifact.diff import block_words, outcome_words, summary
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.model import Stored
from brenner.services.compile import Compiled, Status, compiled_json, refused_in, what_happened
from brenner.text import counted, joined
from brenner.web.pages.diff_items import changed_items

MOST_ITEMS, MOST_BLOCKS, MOST_FOUND, MOST_NEWS = 100, 200, 50, 50


def compiled_document(done: Compiled, *, is_done: bool, notify: bool = False) -> dict[str, object]:
    """The keys of `brenner compile --json` without the whole text, and what stands beside them.

    `notify` is whether authors of refused blocks will be told.
    """
    whole = compiled_json(done)
    refused = refused_in(done)
    others = [entry for entry in done.ledger if entry.state is not Outcome.REFUSED]
    shown = [*refused, *others][:MOST_BLOCKS]
    del whole["artifact_markdown"]
    return whole | {
        "says": what_happened(done),
        "would": _would(done, notify=notify),
        "can_act": _can_act(done, notify=notify),
        "summary_of_changes": summary(done.diff),
        "items": changed_items(done.diff.items[:MOST_ITEMS], done.ledger),
        "more_items": max(0, len(done.diff.items) - MOST_ITEMS),
        "ledger": [_block(entry, is_done=is_done) for entry in shown],
        "more_blocks": max(0, len(done.ledger) - MOST_BLOCKS),
        "blocks": len(done.ledger),
        "refused": len(refused),
        "lint": _lint(done),
        "conflicts": cast("list[object]", whole["conflicts"])[:MOST_FOUND],
        "more_conflicts": max(0, len(done.conflicts) - MOST_FOUND),
        "not_contributed": _some(done.not_contributed),
        "warnings": _some(done.warnings),
        "violations": _some(done.notes),
        "status_of_artifact": done.artifact.metadata.status,
    }


def _would(done: Compiled, *, notify: bool) -> str:
    """Everything that the button will do."""
    if done.status is Status.REFUSED:
        return what_happened(done).replace("(--strict)", "(“Strict” is ticked)")
    if done.status is not Status.DRY_RUN:
        return what_happened(done) + _keeps(done) + (_TELLS_OTHERS if notify else "")
    closes = ", and closes the session" if done.artifact.metadata.status == "closed" else ""
    published = f"Publishes v{done.version} of {done.thread_id} in its thread{closes}."
    return f"{published}{_keeps(done)}{_refuses(done, notify=notify)}"


_TELLS_OTHERS = " Authors of blocks that are still refused are told what is wrong, each once."


def _refuses(done: Compiled, *, notify: bool) -> str:
    """How many blocks will be refused, and who will be told."""
    refused = refused_in(done)
    if not refused:
        return ""
    said = f" {counted(len(refused), 'block')} will be refused"
    names = joined(dict.fromkeys(entry.agent for entry in refused))
    return f"{said}; a message tells {names} what is wrong." if notify else f"{said}."


def _can_act(done: Compiled, *, notify: bool) -> bool:
    """Whether the button does anything. Keeping that was interrupted is finished by it."""
    if done.status is Status.NOTHING:
        return notify or (done.wish is not None and done.version is not None)
    return done.status is Status.DRY_RUN


def _keeps(done: Compiled) -> str:
    """What becomes of the version after that: as it is ticked, or as the project has it."""
    wish = done.wish
    is_kept = done.status is Status.NOTHING and done.persistence.status == "Persisted"
    if wish is None or (is_kept and not (wish.archive or wish.push)):
        return ""
    does = [f"writes v{done.version} to {done.persistence.path}"]
    if wish.archive:
        does.append("puts the mail beside it")
    if wish.commit:
        does.append("commits that alone")
    if wish.push:
        does.append("pushes the branch")
    does.append("says so in the thread, in an INFO message")
    return f" Then it {joined(does)}."


def _block(entry: Entry, *, is_done: bool) -> dict[str, object]:
    words = {"words": block_words(entry), "outcome": outcome_words(entry, is_read=is_done)}
    return entry.to_json() | words


def _lint(done: Compiled) -> dict[str, object]:
    found = done.lint.violations
    return {
        "valid": done.lint.valid,
        "summary": done.lint.summary._asdict(),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)[:MOST_FOUND]],
        "more": max(0, len(found) - MOST_FOUND),
    }


def _some(found: Iterable[Diagnostic]) -> list[dict[str, object]]:
    return [each.to_json() for each in sorted(found, key=worst_first)[:MOST_FOUND]]


def news_document(arrived: Sequence[Stored]) -> list[dict[str, object]]:
    """What came in since somebody looked; the latest, where there is more."""
    return [
        {
            "message_id": each.id,
            "type": each.type,
            "from": each.message.sender,
            "subject": each.message.subject,
            "at": each.at.isoformat(),
        }
        for each in arrived[-MOST_NEWS:]
    ]
