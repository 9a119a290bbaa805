"""What fields are called, and their values in words; terminal and pages say the same."""

from collections.abc import Mapping

from brenner.artifact.blame import Path
from brenner.artifact.layout import KILLED_BY, LAYOUT_OF, REASON, SCORE_LABELS
from brenner.artifact.model import Killed, Reference

_NOT_SAID = "not said"
_KILL_LABELS = {"agent": KILLED_BY, "at": "Killed at", "reason": REASON}
_MAP_LABELS = {"predictions": "", "expected_outcomes": "Expected "}


def label_of(section: str, path: Path) -> str:
    """What the artifact calls a field; what is nested also by its key."""
    name, *keys = path
    if name == "killed":
        return _KILL_LABELS.get(keys[-1], keys[-1]) if keys else "Killed"
    if name == "score" and keys:
        return f"Score {SCORE_LABELS.get(keys[-1], keys[-1])}"
    if name in _MAP_LABELS and keys:
        return _MAP_LABELS[name] + keys[-1]
    return LAYOUT_OF[section].labels.get(name) or name.replace("_", " ").capitalize()


def value_text(value: object) -> str:
    """A value in words."""
    if isinstance(value, Reference):
        return f"{value.relation} {value.session} {value.item}"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(each) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={value_text(each)}" for key, each in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def kill_texts(killed: Killed) -> tuple[tuple[str, str], ...]:
    """Who killed it and when, and why: labels and texts."""
    who = f"{killed.agent or 'agent not said'}, {killed.at or 'time not said'}"
    is_said = killed.agent or killed.at
    return ((KILLED_BY, who if is_said else _NOT_SAID), (REASON, killed.reason or _NOT_SAID))
