"""Rosters and presets as JSON, or as the tables of a TOML file, which say the same.

Keys have the document's names. A value of the wrong kind is an error. A key that nobody knows is a
warning, found apart, because the roster can be read all the same.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.roster import (
    Mode,
    PresetEntry,
    Roster,
    RosterEntry,
    RosterPreset,
    Stated,
    is_sound,
    meant,
    role_faults,
)
from brenner.protocol.roster_resolve import Layer, Origin, Source
from brenner.text import did_you_mean, escape_control

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
        self.refuse(f"{where}`{key}` is missing; `{escape_control(instead)}` is not it")
        found = self.found[-1]
        near = did_you_mean(key)
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
            key=str(key), source=source, suggestion=did_you_mean(meant(str(key), known))
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


# The text of a roster, in JSON or TOML, as plain values.


_TOO_DEEP = "it is nested too deeply"


def decode_json(text: str, source: str) -> object:
    """The value, or a `Diagnostic` with the reason why it is none."""
    try:
        return json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_refuse)
    except RecursionError:
        return _malformed(source, _TOO_DEEP)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        return _malformed(source, f"it is not JSON, {_begun_small(error.msg)} ({place})")
    except ValueError as error:
        return _malformed(source, str(error))


def decode_toml(text: str, source: str) -> dict[str, object] | Diagnostic:
    """The tables, or a `Diagnostic` with the reason why there are none."""
    import tomllib  # only who has such a file pays

    try:
        return tomllib.loads(text)
    except RecursionError:
        return _malformed(source, _TOO_DEEP)
    except ValueError as error:
        return _malformed(source, f"it is not TOML, {_begun_small(str(error))}")


def decode_either(text: str, source: str) -> object:
    """JSON or TOML, whichever it is. What begins as JSON does, and is not TOML, is wrong JSON."""
    value = decode_json(text, source)
    if not isinstance(value, Diagnostic):
        return value
    tables = decode_toml(text, source)
    if not isinstance(tables, Diagnostic):
        return tables
    return value if text.lstrip()[:1] in ("{", "[") else tables


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """To take the last of two values, as JSON readers do, would lose the first in silence."""
    value: dict[str, object] = {}
    for key, each in pairs:
        if key in value:
            message = f"the key `{key}` stands twice in one object"
            raise ValueError(message)
        value[key] = each
    return value


def _refuse(word: str) -> NoReturn:
    message = f"`{word}` is not JSON"
    raise ValueError(message)


def _begun_small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _malformed(source: str, reason: str) -> Diagnostic:
    return codes.MALFORMED_ROSTER.at(source=source, reason=reason)


# On which line of a file a key of a roster stands, where that can be told without doubt.


_KEY = re.compile(r"""(?<![A-Za-z0-9_-])([A-Za-z0-9_-]++)["']?\s*+[=:]""")
_MOST_PLACED = 20  # each is looked for in the whole text


def in_the_file(found: Sequence[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    """What was found, each with its line in the file that was read."""
    return tuple(each._replace(line=line or each.line) for each, line in _placed(found, text))


def in_words(found: Sequence[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    """What was found, with the line in its message: whoever shows it names another file."""
    return tuple(
        each._replace(message=f"{each.message.removesuffix('.')} (line {line}).") if line else each
        for each, line in _placed(found, text)
    )


def _placed(found: Sequence[Diagnostic], text: str) -> Iterator[tuple[Diagnostic, int | None]]:
    for number, each in enumerate(found):
        yield each, line_of(each.field, text) if number < _MOST_PLACED else None


def line_of(field: str | None, text: str) -> int | None:
    """The line of a key that is named as in `entries.2.agent`; None where several may be it."""
    if not field:
        return None
    *tables, key = field.split(".")
    lines = text.split("\n")
    start, end = _table(tables, lines)
    at = [number for number in range(start, end) if key in _KEY.findall(lines[number])]
    return at[0] + 1 if len(at) == 1 else None


def _table(tables: list[str], lines: list[str]) -> tuple[int, int]:
    """Where the table of TOML goes that is named as in `entries.2`; else the whole text."""
    numbers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    if len(tables) == len(("entries", "2")):
        name, place = tables
        heads = [at for at in numbers if _is_head(lines[at], name)]
        if place.isdecimal() and int(place) <= len(heads):
            start = heads[int(place) - 1]
            return start, min((at for at in numbers if at > start), default=len(lines))
    return 0, len(lines)


def _is_head(line: str, name: str) -> bool:
    """`[[roster.entries]]`, `[[tool.brenner.roster.presets]]`, `[[presets]]`."""
    head = line.partition("#")[0].strip()
    is_list = head.startswith("[[") and head.endswith("]]")
    return is_list and head.strip("[] \t").rpartition(".")[2].strip(" \t\"'") == name


# What a project's file says of rosters: a part of a roster, presets, and which is the default.


_SETTINGS_ROSTER, _PRESETS, _DEFAULT = "roster", *PRESETS_AND_DEFAULT


class RosterSettings(NamedTuple):
    """`label` is the file, in words; `found` is what is wrong or odd in it."""

    label: str
    stated: Stated = Stated()
    presets: tuple[RosterPreset, ...] = ()
    default: str | None = None
    found: tuple[Diagnostic, ...] = ()


def has_roster(tables: object) -> bool:
    """Whether a file's tables say anything of rosters."""
    return isinstance(tables, Mapping) and (_SETTINGS_ROSTER in tables or _PRESETS in tables)


def read_settings(tables: Mapping[str, object], label: str) -> RosterSettings:
    """What the tables say under `roster`, and under `presets` beside it."""
    said = tables.get(_SETTINGS_ROSTER, {})
    found: list[Diagnostic] = []
    stated = read_stated(said, label)
    if not isinstance(stated, Stated):
        found += stated
        stated = Stated()
    found += unread_keys(said, label, PRESETS_AND_DEFAULT)
    if is_empty(said, stated):
        found.append(codes.EMPTY_ROSTER.at(source=f" from {label}"))
    inner = said if isinstance(said, Mapping) else {}
    presets: list[RosterPreset] = []
    for value in (inner.get(_PRESETS), tables.get(_PRESETS)):
        presets += _presets(value, label, found)
    found += _twice(presets, label)
    default = inner.get(_DEFAULT)
    if default is not None and not isinstance(default, str):
        reason = f"`{_DEFAULT}` is not the id of a preset"
        found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        default = None
    return RosterSettings(label, stated, tuple(presets), default or None, tuple(found))


def is_empty(said: object, stated: Stated) -> bool:
    """Whether it has a list of entries with nobody in it, which only heuristic mode has a use for.

    A file may leave the entries out, and give a mode or presets only.
    """
    entries = said.get("entries") if isinstance(said, Mapping) else said
    is_list = isinstance(entries, list | tuple)
    return is_list and not entries and stated.mode != Mode.HEURISTIC


def _presets(value: object, label: str, found: list[Diagnostic]) -> list[RosterPreset]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        reason = f"`{_PRESETS}` is not a list"
        found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        return []
    presets = []
    for number, each in enumerate(value, 1):
        place = f"{label}, preset {number}"
        preset = read_preset(each, place)
        odd = [*unread_preset_keys(each, place)]
        if isinstance(preset, RosterPreset):
            presets.append(preset)
        else:
            odd += preset
        found += (
            one._replace(field=f"{_PRESETS}.{number}.{one.field}") if one.field else one
            for one in odd
        )
    return presets


def _twice(presets: Sequence[RosterPreset], label: str) -> list[Diagnostic]:
    """Of two presets with one id nobody knows which is meant."""
    seen: set[str] = set()
    found = []
    for preset in presets:
        if preset.id in seen:
            reason = f"two presets have the id `{preset.id}`"
            found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        seen.add(preset.id)
    return found


# The roles that a command line gives, agent by agent.


Recipient = tuple[str, str | None]  # `--to NAME`, and the `--role` after it


class _Given(NamedTuple):
    """A role as it was typed."""

    name: str
    role: str
    words: str


def flag_layers(
    recipients: Iterable[Recipient], agent_roles: Iterable[str], *, unified: bool
) -> tuple[tuple[Layer, ...], tuple[Diagnostic, ...]]:
    """What the flags say, highest first, and what is wrong with them.

    `--to NAME --role ROLE` and `--agent-role NAME=ROLE` say the same; neither beats the other.
    """
    by_role = [_Given(n, role, f"--to {n} --role {role}") for n, role in recipients if role]
    pairs, found = _pairs(agent_roles)
    mode = Stated(mode=Mode.UNIFIED.value) if unified else Stated()
    layers = (
        _layer("`--role`", Stated(_entries(by_role)))._replace(names="`--to`"),
        _layer("`--agent-role`", Stated(_entries(pairs))),
        _layer("`--unified`", mode),
    )
    said = tuple(layer for layer in layers if layer.stated != Stated())
    return said, (*found, *_contradictions([*by_role, *pairs]))


def _layer(label: str, stated: Stated) -> Layer:
    return Layer(Origin(Source.FLAGS, label), stated, Source.FLAGS)


def _pairs(agent_roles: Iterable[str]) -> tuple[list[_Given], list[Diagnostic]]:
    pairs, found = [], []
    for text in agent_roles:
        name, equals, role = text.partition("=")
        if equals:
            pairs.append(_Given(name.strip(), role.strip(), f"--agent-role {text}"))
        else:
            reason = f"`{text}` is not of the form NAME=ROLE"
            found.append(codes.MALFORMED_ROSTER.at(source="`--agent-role`", reason=reason))
    return pairs, found


def _entries(given: Iterable[_Given]) -> tuple[RosterEntry, ...]:
    """One entry for each agent: to say the same twice is no fault."""
    first: dict[str, RosterEntry] = {}
    for each in given:
        first.setdefault(each.name, RosterEntry(each.name, each.role))
    return tuple(first.values())


def _contradictions(given: Sequence[_Given]) -> list[Diagnostic]:
    """Each role that is not the first one that was given to its agent."""
    first: dict[str, _Given] = {}
    for each in given:
        first.setdefault(each.name, each)
    return [
        codes.CONTRADICTING_ROLES.at(
            name=each.name, first=first[each.name].words, second=each.words
        )
        for each in given
        if each.role != first[each.name].role
    ]
