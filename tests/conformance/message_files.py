"""The message file of a `file` case: a text of its own, or messages/*.md with changes."""

from pathlib import Path
from typing import Any

from conformance.lint_kind import ARTIFACTS
from conformance.mail_shorthand import THREAD_ID

MESSAGES = Path(__file__).parent / "messages"


def message_text(name: str) -> str:
    """A message of the folder; `<<artifact>>` in it is the artifact that breaks no rule."""
    text = (MESSAGES / f"{name}.md").read_text("utf-8")
    return text.replace("<<artifact>>", valid_artifact())


def valid_artifact() -> str:
    """The artifact that breaks no rule, of the thread whose ID breaks no advice."""
    text = (ARTIFACTS / "valid.md").read_text("utf-8")
    return text.replace("RS-20251230-cell-fate", THREAD_ID).rstrip("\n")


def changed_message(case: dict[str, Any]) -> str:
    """The base with what the case replaces, cuts off from a place on, and adds at the end."""
    text = message_text(case["base"])
    for old, new in case.get("replace", []):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    if "cut" in case:
        assert text.count(case["cut"]) == 1, case["cut"]
        text = text[: text.index(case["cut"])]
    return text + str(case.get("add", ""))
