"""Rosters and presets as JSON, or as the tables of a TOML file, which say the same.

Keys have the document's names. A value of the wrong kind is an error. A key that nobody knows is a
warning, found apart, because the roster can be read all the same.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.roster.meant import meant
from brenner.roster.model import Mode, PresetEntry, Roster, RosterEntry, RosterPreset, Stated
from brenner.roster.validate import is_sound, role_faults
from brenner.text import perhaps, visible

if TYPE_CHECKING:
    from brenner.markdown.front_matter import JSON

# The document's name of each field, and ours
_ENTRY = {
    "agentName": "agent_name",
    "role": "role",
    "program": "program",
    "model": "model",
    "notes": "notes",
}
_NEEDED, _NEEDED_OF_A_PLACE = ("agentName", "role"), ("role",)
_PLACE = {key: name for key, name in _ENTRY.items() if key != "agentName"}
_ROSTER = {"mode": "mode", "name": "name", "createdAt": "created_at"}
_PRESET = {"id": "id", "name": "name", "description": "description"}
_ENTRIES, _PLACEHOLDERS = "entries", "placeholderNames"
ROSTER_KEYS = (*_ROSTER, _ENTRIES)
PRESET_KEYS = (*_PRESET, _ENTRIES, _PLACEHOLDERS)
PRESETS_AND_DEFAULT = ("presets", "defaultPreset")  # stand beside a roster in a project's file

Texts = dict[str, str | None]


# Writing


def roster_json(roster: Roster) -> "dict[str, JSON]":
    """The roster as the artifact's metadata has it; what is absent is left out."""
    return {
        **_said(_ROSTER, roster._asdict()),
        _ENTRIES: [entry_json(entry) for entry in roster.entries],
    }


def preset_json(preset: RosterPreset) -> "dict[str, JSON]":
    """The preset with its places; what is absent is left out."""
    said: dict[str, JSON] = {
        **_said(_PRESET, preset._asdict()),
        _ENTRIES: [_said(_PLACE, place._asdict()) for place in preset.entries],
    }
    if preset.placeholder_names:
        said[_PLACEHOLDERS] = list(preset.placeholder_names)
    return said


def entry_json(entry: RosterEntry) -> "dict[str, JSON]":
    """One entry; what is absent is left out."""
    return _said(_ENTRY, entry._asdict())


def _said(keys: Mapping[str, str], values: Mapping[str, object]) -> "dict[str, JSON]":
    return {key: str(values[name]) for key, name in keys.items() if values[name] is not None}


# Reading


def read_roster(value: object, source: str) -> Roster | tuple[Diagnostic, ...]:
    """A whole roster, or why there is none. `source` says in words where it comes from."""
    stated = read_stated(value, source)
    if not isinstance(stated, Stated):
        return stated
    mode = stated.mode or Mode.ROLE_SEPARATED.value
    return Roster(stated.entries, mode, stated.name, stated.created_at)


def read_stated(value: object, source: str) -> Stated | tuple[Diagnostic, ...]:
    """What a source says of a roster: an object, or only the list of its entries."""
    reading = _Reading(source)
    said = {_ENTRIES: value} if isinstance(value, list | tuple) else value
    if not isinstance(said, Mapping):
        reading.refuse(f"it is {_kind(value)}, not a list of entries or an object")
        return tuple(reading.found)
    texts = reading.texts(said, _ROSTER)
    entries = reading.entries(said.get(_ENTRIES), _ENTRY, _NEEDED)
    if reading.found:
        return tuple(reading.found)
    return Stated(tuple(_entry(each) for each in entries), **texts)


def read_preset(value: object, source: str) -> RosterPreset | tuple[Diagnostic, ...]:
    """A preset, or why there is none."""
    reading = _Reading(source)
    if not isinstance(value, Mapping):
        reading.refuse(f"a preset is {_kind(value)}, not an object")
        return tuple(reading.found)
    texts = reading.texts(value, _PRESET, ("id", "name"))
    entries = reading.entries(value.get(_ENTRIES), _PLACE, _NEEDED_OF_A_PLACE)
    names = reading.names(value.get(_PLACEHOLDERS))
    places = tuple(PresetEntry(*_entry({"agent_name": "", **each})[1:]) for each in entries)
    if value.get(_ENTRIES) in (None, [], ()):
        reading.found.append(codes.EMPTY_ROSTER.at(source=f" from {source}"))
    if not reading.found:
        for number, place in enumerate(places, 1):
            reading.found += role_faults(f"entry {number} of {source}", place.role)
    if reading.found:
        return tuple(reading.found)
    named = (texts["id"] or "", texts["name"] or "", texts["description"])
    return RosterPreset(*named, places, names)


def _entry(texts: Texts) -> RosterEntry:
    """The fields that must be there are there: without one it was refused."""
    needed = (texts["agent_name"] or "", texts["role"] or "")
    return RosterEntry(*needed, texts["program"], texts["model"], texts["notes"])


class _Reading:
    """What was wrong so far in the roster of a source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def refuse(self, reason: str) -> None:
        self.found.append(codes.MALFORMED_ROSTER.at(source=self.source, reason=reason))

    def missing(self, key: str, instead: str | None, number: int | None) -> None:
        """That a key is missing, with the one that stands there in its place."""
        where = f"entry {number}: " if number else ""
        if instead is None:
            self.refuse(f"{where}`{key}` is missing")
            return
        self.refuse(f"{where}`{key}` is missing; `{visible(instead)}` is not it")
        found = self.found[-1]
        near = perhaps(key)
        place = f"{_ENTRIES}.{number}.{instead}" if number else instead
        self.found[-1] = found._replace(fix=f"{found.fix}{near}", suggestion=key, field=place)

    def entries(self, value: object, keys: Mapping[str, str], needed: Sequence[str]) -> list[Texts]:
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            self.refuse(f"`{_ENTRIES}` is {_kind(value)}, not a list")
            return []
        read = []
        for number, entry in enumerate(value, 1):
            if isinstance(entry, Mapping):
                read.append(self.texts(entry, keys, needed, number))
            else:
                self.refuse(f"entry {number} is {_kind(entry)}, not an object")
        return read

    def texts(
        self,
        said: Mapping[str, object],
        keys: Mapping[str, str],
        needed: Sequence[str] = (),
        number: int | None = None,
    ) -> Texts:
        """Each field as text, None where it is absent or empty; `number` is that of an entry."""
        texts: Texts = {}
        where = f"entry {number}: " if number else ""
        for key, name in keys.items():
            value = said.get(key)
            if value in (None, "") and key in needed:
                self.missing(key, _instead(key, said, tuple(keys)), number)
            texts[name] = self.text(value, f"{where}`{key}`") or None
        return texts

    def text(self, value: object, where: str) -> str | None:
        if value is None:
            return None
        if isinstance(value, date):  # in TOML a time is a value of its own
            return value.isoformat()
        if not isinstance(value, str):
            self.refuse(f"{where} is {_kind(value)}, not text")
            return None
        if not is_sound(value):
            self.refuse(f"{where} holds half of a character")
            return None
        return value

    def names(self, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.refuse(f"`{_PLACEHOLDERS}` is {_kind(value)}, not a list of names")
            return ()
        read = [self.text(each, f"a name in `{_PLACEHOLDERS}`") for each in value]
        if None in value:
            self.refuse(f"a name in `{_PLACEHOLDERS}` is {_kind(None)}, not text")
        return tuple(name for name in read if name is not None)


def _instead(key: str, said: Mapping[str, object], keys: Sequence[str]) -> str | None:
    """The key that somebody wrote for the one that is missing."""
    if said.get(key) not in (None, ""):
        return None
    others = (str(other) for other in said if other not in keys)
    return next((other for other in others if meant(other, keys) == key), None)


def _kind(value: object) -> str:
    """What a value is, in the words of JSON."""
    if value is None:
        return "null"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "text"),
        (bool, "true or false"),
        ((int, float), "a number"),
        (Mapping, "an object"),
        ((list, tuple), "a list"),
    )
    return next((word for kind, word in kinds if isinstance(value, kind)), type(value).__name__)


# Keys that nobody reads


def unread_keys(value: object, source: str, also: tuple[str, ...] = ()) -> tuple[Diagnostic, ...]:
    """A warning for each key of a roster that is not known; `also` are read by others."""
    said = {_ENTRIES: value} if isinstance(value, list | tuple) else value
    return _unread(said, (*ROSTER_KEYS, *also), (tuple(_ENTRY), _NEEDED), source)


def unread_preset_keys(value: object, source: str) -> tuple[Diagnostic, ...]:
    """A warning for each key of a preset that is not known."""
    return _unread(value, PRESET_KEYS, (tuple(_PLACE), _NEEDED_OF_A_PLACE), source)


def unknown_keys(
    value: Mapping[str, object], known: Sequence[str], source: str, within: str = ""
) -> tuple[Diagnostic, ...]:
    """A warning for each key that is not known, with the one that was probably meant."""
    return tuple(
        codes.UNKNOWN_ROSTER_KEY.at(
            key=str(key), source=source, suggestion=perhaps(meant(str(key), known))
        )._replace(field=f"{within}{key}")
        for key in value
        if key not in known
    )


def _unread(
    value: object,
    known: Sequence[str],
    of_entries: tuple[Sequence[str], Sequence[str]],
    source: str,
) -> tuple[Diagnostic, ...]:
    """`of_entries` are the keys that an entry may have, and those that it must have."""
    if not isinstance(value, Mapping):
        return ()
    known_there, needed = of_entries
    entries = value.get(_ENTRIES)
    found: list[Diagnostic] = []
    for number, entry in enumerate(entries if isinstance(entries, list | tuple) else (), 1):
        if isinstance(entry, Mapping):
            # What stands for a key that is missing was told with it.
            told = {_instead(key, entry, known_there) for key in needed}
            rest = {key: each for key, each in entry.items() if key not in told}
            place = f"{source}, entry {number}"
            found += unknown_keys(rest, known_there, place, f"{_ENTRIES}.{number}.")
    return (*unknown_keys(value, known, source), *found)
