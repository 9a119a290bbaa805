"""The case kind `lint`: what the linter finds in the text of an artifact (companion, Lint)."""

from pathlib import Path
from typing import Any

from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import read_source_text
from brenner.lint.linter import lint_text
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.evidence_pack import EvidencePack, parse_pack

Case = dict[str, Any]
ARTIFACTS = Path(__file__).parent / "artifacts"


def text_of(case: Case) -> str:
    """The artifact of a case: a base with the changes that the case shows, or its own text."""
    if "base" not in case:
        return str(case["input"])
    text = (ARTIFACTS / f"{case['base']}.md").read_text("utf-8")
    for old, new in case.get("replace", []):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def pack_of(case: Case) -> EvidencePack | None:
    """The evidence pack of a case, without a fault, if it has one."""
    if "evidence_pack" not in case:
        return None
    pack, found = parse_pack(case["evidence_pack"], "evidence.toml")
    assert not found
    return pack


def check_lint(case: Case) -> list[Diagnostic]:
    """Lint it, and check what only such cases state: the items, and the deltas ready to send."""
    source = read_source_text(case["source_text"], "talks.md") if "source_text" in case else None
    found = list(lint_text(text_of(case), source, pack_of(case)).violations)
    for code, items in case.get("items", {}).items():
        assert sorted(each.item or "" for each in found if each.id == code) == items
    blocks = [block for each in found for block in read_deltas(each.repaired or "")]
    assert all(block.delta and not block.diagnostics for block in blocks)
    for text in case.get("ready", []):
        assert any(text in (each.repaired or "") for each in found), text
    for text in case.get("unready", []):
        assert not any(text in (each.repaired or "") for each in found), text
    return found
