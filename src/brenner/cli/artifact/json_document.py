"""An artifact as one JSON document: where it comes from, what it says, what is said of it."""

from typing import Any

from brenner.artifact.model import ITEM_SECTIONS
from brenner.artifact.serialize import artifact_json
from brenner.cli.artifact.items import find_item
from brenner.cli.artifact.targets import Loaded, notes_json
from brenner.lint.linter import LintReport
from brenner.protocol.delta.schema import RESEARCH_THREAD

_NOWHERE = ("thread_id", "version", "source", "message_id")
# The keys that the document always has, with what they say where there is no artifact
ALWAYS: dict[str, object] = {
    **dict.fromkeys((*_NOWHERE, "metadata", RESEARCH_THREAD.id)),
    **{section.id: [] for section in ITEM_SECTIONS},
    "conflicts": [],
    "lint": None,
}


def artifact_document(loaded: Loaded, report: LintReport) -> dict[str, object]:
    """The whole artifact."""
    return {
        **loaded.to_json(),
        **artifact_json(loaded.artifact),
        "conflicts": [conflict.to_json() for conflict in loaded.conflicts],
        "lint": {"valid": report.valid, "summary": report.summary._asdict()},
        **notes_json([loaded]),
    }


def item_document(loaded: Loaded, item_id: str) -> dict[str, object]:
    """One item."""
    layout, _ = find_item(loaded, item_id)
    found: Any = artifact_json(loaded.artifact)[layout.section.id]
    items = found if isinstance(found, list) else [found]
    return {
        **loaded.to_json(),
        "section": layout.section.id,
        "item": next(item for item in items if item["id"] == item_id),
        "conflicts": [each.to_json() for each in loaded.conflicts if each.item_id == item_id],
        **notes_json([loaded]),
    }
