"""The metadata as front matter, and front matter, whoever wrote it, as metadata (R18)."""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from brenner.artifact.model import JSON, Metadata
from brenner.artifact.notes import Notes
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.front_matter import FrontMatter, render_front_matter

_TEXTS = ("session_id", "created_at", "updated_at", "compiled_at", "compiled_by", "status")
_MAPS = ("roster", "research_program")
# Rules of the linter speak of what these may hold (EM-002 to EM-004, IM-002).
_LINTED = frozenset({"session_id", "version", "created_at", "status"})
# Under which keys other programs name a contributor, the best first.
_NAMES = ("shorthand", "model", "agent", "name")
_NUMBER = re.compile(r"v?([0-9]{1,9})")


def render_metadata(metadata: Metadata) -> str:
    """The front matter: known keys in their order, then all others by name."""
    known = metadata._asdict()
    extra = known.pop("extra")
    entries = {key: value for key, value in known.items() if _is_there(value)}
    entries |= {key: extra[key] for key in sorted(extra) if key not in entries}
    return render_front_matter(entries.items())


def _is_there(value: object) -> bool:
    return value is not None and value not in ("", (), {})


def read_metadata(matter: FrontMatter, notes: Notes) -> Metadata:
    """The metadata that front matter holds. What has another form than ours is read if it can be;
    what cannot is kept under `extra`.
    """
    known: dict[str, Any] = {}
    extra: dict[str, JSON] = {}
    for key, value in (matter.values or {}).items():
        read = _READERS.get(key)
        if value is None and read:
            continue
        content, words = read(value) if read else (None, "")
        if content is None:
            extra[key] = value
        else:
            known[key] = content
        if words and key not in _LINTED:
            notes.add(codes.FRONT_MATTER_FORM, matter.lines.get(key, 1), key=key, words=words)
    return Metadata(**known, extra=MappingProxyType(extra))


# Each reader gives the value, or None where it cannot be used, and what was odd about it.
_KEPT = "it was kept as it is, and says nothing to this program"


def _text(value: JSON) -> tuple[str | None, str]:
    if isinstance(value, str):
        return (value or None), ""
    if isinstance(value, list | dict):
        return None, f"is not a text; {_KEPT}"
    text = json.dumps(value)
    return text, f"is not a text in quotes; it was read as `{text}`"


def _number(value: JSON) -> tuple[int | None, str]:
    if type(value) is int:
        return value, ""
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        return int(match[1]), f"is a text; it was read as the number {int(match[1])}"
    return None, f"is not a whole number; {_KEPT}"


def _map(value: JSON) -> tuple[Mapping[str, JSON] | None, str]:
    if isinstance(value, dict):
        return MappingProxyType(value), ""
    return None, f"is not a list of `key: value`; {_KEPT}"


def _contributors(value: JSON) -> tuple[tuple[str, ...] | None, str]:
    if isinstance(value, str):
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        return names, f"is one text; it was read as {_listed(names)}"
    if isinstance(value, dict):
        names = tuple(value)
        return names, f"is not a list; its keys were read: {_listed(names)}"
    if not isinstance(value, list):
        return None, f"is not a list; {_KEPT}"
    names = tuple(map(_contributor, value))
    if all(isinstance(each, str) for each in value):
        return names, ""
    return names, f"does not list texts alone; it was read as {_listed(names)}"


def _contributor(value: JSON) -> str:
    if isinstance(value, dict):
        named = (value[key] for key in _NAMES if isinstance(value.get(key), str) and value[key])
        return str(next(named, json.dumps(value, ensure_ascii=False)))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nobody"


_READERS: dict[str, Callable[[JSON], tuple[Any, str]]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_MAPS, _map),
    "version": _number,
    "agent_mail_message_id": _number,
    "contributors": _contributors,
}
