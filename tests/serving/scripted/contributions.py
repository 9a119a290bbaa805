"""What the critic wants to contribute, and how a message with it is written by hand."""

import json
from typing import Any

Delta = dict[str, Any]

_FIELDS: dict[str, dict[str, Any]] = {
    "hypothesis_slate": {
        "claim": "Fate is what {name} makes of it",
        "mechanism": "{name} acts on every division",
        "anchors": ["§42", "inference"],
    },
    "predictions_table": {"predictions": {"H1": "early", "H2": "late"}},
    "discriminative_tests": {
        "procedure": "Graft cells and look for {name}",
        "discriminates": "H1 vs H2",
        "expected_outcomes": {"H1": "old fate", "H2": "new fate"},
        "potency_check": "A graft that is known to take",
    },
    "assumption_ledger": {
        "statement": "Cells divide as {name} says",
        "load": "H1 falls if not",
        "test": "Count divisions",
        "status": "unchecked",
    },
    "anomaly_register": {
        "observation": "Some cells show {name}",
        "conflicts_with": ["H1"],
        "status": "active",
    },
    "adversarial_critique": {
        "attack": "{name} would explain everything",
        "evidence": "Cells that ignore both signals",
        "current_status": "Open",
    },
}


def add(section: str, name: str, **more: Any) -> Delta:
    """The ADD of an item with this name; a prediction has a condition instead."""
    fields = {
        key: value.format(name=name) if isinstance(value, str) else value
        for key, value in _FIELDS[section].items()
    }
    named = "condition" if section == "predictions_table" else "name"
    return _delta("ADD", section, None, {named: name, **fields, **more})


def critique(name: str, **more: Any) -> Delta:
    """The ADD of a critique: what most of the critic's messages contribute."""
    return add("adversarial_critique", name, **more)


def edit(item: str, section: str = "adversarial_critique", **payload: Any) -> Delta:
    """The EDIT of an item."""
    return _delta("EDIT", section, item, payload)


def kill(item: str, reason: str, section: str = "adversarial_critique") -> Delta:
    """The KILL of an item."""
    return _delta("KILL", section, item, {"reason": reason})


def _delta(operation: str, section: str, target: str | None, payload: dict[str, Any]) -> Delta:
    return {
        "operation": operation,
        "section": section,
        "target_id": target,
        "payload": payload,
        "rationale": "The framing was not attacked there yet",
    }


def fenced(text: str, tag: str = "delta", fence: str = "```") -> str:
    """A text in a block."""
    return f"{fence}{tag}\n{text}\n{fence}"


def body(*blocks: str, base: int | None = None) -> str:
    """A body with something under `## Deltas`."""
    stated = [f"**Base Version**: v{base}"] if base is not None else []
    parts = ["# Delta Contribution", *stated, "An attack on the framing.", "## Deltas", *blocks]
    return "\n\n".join(parts) + "\n"


def written(delta: Delta) -> str:
    """The JSON of a delta, as it should be written."""
    return json.dumps(delta, ensure_ascii=False, indent=2)


def proper(*deltas: Delta, base: int | None = None) -> str:
    """The body of a message that is as it should be."""
    return body(*(fenced(written(each)) for each in deltas), base=base)
