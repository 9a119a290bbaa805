"""Read rosters from JSON, TOML files and command-line flags, and write them as JSON.

Keys are those of the roster document. A value of the wrong type is an error. An unknown key is only
a warning, collected separately, since the roster is still readable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NoReturn

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.roster import (
    Mode,
    PartialRoster,
    Roster,
    RosterEntry,
    RosterPreset,
    check_role,
    closest_or_containing,
    full_role,
)
from brenner.protocol.roster_resolve import RosterLayer, RosterOrigin, RosterSource
from brenner.text import did_you_mean, escape_control, is_encodable

if TYPE_CHECKING:
    from brenner.markdown.front_matter import JSON


# The document's name of each field, and ours
_ENTRY_KEYS = {
    "agentName": "agent_name",
    "role": "role",
    "program": "program",
    "model": "model",
    "notes": "notes",
}
_NEEDED, _NEEDED_IN_PRESET_ENTRY = ("agentName", "role"), ("role",)
_PRESET_ENTRY_KEYS = {key: name for key, name in _ENTRY_KEYS.items() if key != "agentName"}
_HEADER_KEYS = {"mode": "mode", "name": "name", "createdAt": "created_at"}
_PRESET_TEXT_KEYS = {"id": "id", "name": "name", "description": "description"}
_ENTRIES, _PLACEHOLDERS = "entries", "placeholderNames"
ROSTER_KEYS = (*_HEADER_KEYS, _ENTRIES)
PRESET_KEYS = (*_PRESET_TEXT_KEYS, _ENTRIES, _PLACEHOLDERS)
PRESETS_AND_DEFAULT = ("presets", "defaultPreset")  # next to a roster in a project's file

FieldTexts = dict[str, str | None]


# Writing JSON


def roster_json(roster: Roster) -> dict[str, JSON]:
    """Return the roster in the JSON form of the artifact's metadata, without absent fields."""
    return {
        **_present_fields(_HEADER_KEYS, roster._asdict()),
        _ENTRIES: [entry_json(entry) for entry in roster.entries],
    }


def preset_json(preset: RosterPreset) -> dict[str, JSON]:
    """Return the preset with its entries, without absent fields."""
    value: dict[str, JSON] = {
        **_present_fields(_PRESET_TEXT_KEYS, preset._asdict()),
        _ENTRIES: [
            _present_fields(_PRESET_ENTRY_KEYS, entry._asdict()) for entry in preset.entries
        ],
    }
    if preset.placeholder_names:
        value[_PLACEHOLDERS] = list(preset.placeholder_names)
    return value


def entry_json(entry: RosterEntry) -> dict[str, JSON]:
    """Return one entry, without absent fields."""
    return _present_fields(_ENTRY_KEYS, entry._asdict())


def _present_fields(keys: Mapping[str, str], values: Mapping[str, object]) -> dict[str, JSON]:
    return {key: str(values[name]) for key, name in keys.items() if values[name] is not None}


# Reading decoded JSON or TOML


def read_roster(value: object, source: str) -> Roster | tuple[Diagnostic, ...]:
    """Parse a whole roster, or return the errors. `source` names its origin in error messages."""
    stated = read_partial_roster(value, source)
    if not isinstance(stated, PartialRoster):
        return stated
    mode = stated.mode or Mode.ROLE_SEPARATED.value
    return Roster(stated.entries, mode, stated.name, stated.created_at)


def read_partial_roster(value: object, source: str) -> PartialRoster | tuple[Diagnostic, ...]:
    """Parse what a source states of a roster: an object, or only the list of its entries."""
    reading = _RosterReader(source)
    fields = {_ENTRIES: value} if isinstance(value, list | tuple) else value
    if not isinstance(fields, Mapping):
        reading.refuse(f"it is {_json_type_name(value)}, not a list of entries or an object")
        return tuple(reading.found)
    texts = reading.texts(fields, _HEADER_KEYS)
    entries = reading.entries(fields.get(_ENTRIES), _ENTRY_KEYS, _NEEDED)
    if reading.found:
        return tuple(reading.found)
    return PartialRoster(tuple(_entry_from_texts(each) for each in entries), **texts)


def read_preset(value: object, source: str) -> RosterPreset | tuple[Diagnostic, ...]:
    """Parse a preset, or return the errors."""
    reading = _RosterReader(source)
    if not isinstance(value, Mapping):
        reading.refuse(f"a preset is {_json_type_name(value)}, not an object")
        return tuple(reading.found)
    texts = reading.texts(value, _PRESET_TEXT_KEYS, ("id", "name"))
    entries = reading.entries(value.get(_ENTRIES), _PRESET_ENTRY_KEYS, _NEEDED_IN_PRESET_ENTRY)
    names = reading.names(value.get(_PLACEHOLDERS))
    preset_entries = tuple(_entry_from_texts({"agent_name": "", **each}) for each in entries)
    if value.get(_ENTRIES) in (None, [], ()):
        reading.found.append(codes.EMPTY_ROSTER.at(source=f" from {source}"))
    if not reading.found:
        for number, entry in enumerate(preset_entries, 1):
            reading.found += check_role(f"entry {number} of {source}", entry.role)
    if reading.found:
        return tuple(reading.found)
    named = (texts["id"] or "", texts["name"] or "", texts["description"])
    return RosterPreset(*named, preset_entries, names)


def _entry_from_texts(texts: FieldTexts) -> RosterEntry:
    """Return the entry. Required fields are present here: otherwise it was rejected before."""
    needed = (texts["agent_name"] or "", full_role(texts["role"] or ""))
    return RosterEntry(*needed, texts["program"], texts["model"], texts["notes"])


class _RosterReader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def refuse(self, reason: str) -> None:
        self.found.append(codes.MALFORMED_ROSTER.at(source=self.source, reason=reason))

    def missing(self, key: str, instead: str | None, number: int | None) -> None:
        """Report a missing key, with the unknown key that was probably meant for it."""
        where = f"entry {number}: " if number else ""
        if instead is None:
            self.refuse(f"{where}`{key}` is missing")
            return
        self.refuse(f"{where}`{key}` is missing; `{escape_control(instead)}` is unknown")
        found = self.found[-1]
        near = did_you_mean(key)
        place = f"{_ENTRIES}.{number}.{instead}" if number else instead
        self.found[-1] = found._replace(fix=f"{found.fix}{near}", suggestion=key, field=place)

    def entries(
        self, value: object, keys: Mapping[str, str], needed: Sequence[str]
    ) -> list[FieldTexts]:
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            self.refuse(f"`{_ENTRIES}` is {_json_type_name(value)}, not a list")
            return []
        read = []
        for number, entry in enumerate(value, 1):
            if isinstance(entry, Mapping):
                read.append(self.texts(entry, keys, needed, number))
            else:
                self.refuse(f"entry {number} is {_json_type_name(entry)}, not an object")
        return read

    def texts(
        self,
        fields: Mapping[str, object],
        keys: Mapping[str, str],
        needed: Sequence[str] = (),
        number: int | None = None,
    ) -> FieldTexts:
        """Return each field as text, None if it is absent or empty.

        `number` is the entry's number.
        """
        texts: FieldTexts = {}
        where = f"entry {number}: " if number else ""
        for key, name in keys.items():
            value = fields.get(key)
            if value in (None, "") and key in needed:
                self.missing(key, _misspelt_key(key, fields, tuple(keys)), number)
            texts[name] = self.text(value, f"{where}`{key}`") or None
        return texts

    def text(self, value: object, where: str) -> str | None:
        if value is None:
            return None
        if isinstance(value, date):  # TOML has a type for times
            return value.isoformat()
        if not isinstance(value, str):
            self.refuse(f"{where} is {_json_type_name(value)}, not text")
            return None
        if not is_encodable(value):
            self.refuse(f"{where} contains half of a character (a lone surrogate)")
            return None
        return value

    def names(self, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.refuse(f"`{_PLACEHOLDERS}` is {_json_type_name(value)}, not a list of names")
            return ()
        read = [self.text(each, f"a name in `{_PLACEHOLDERS}`") for each in value]
        if None in value:
            self.refuse(f"a name in `{_PLACEHOLDERS}` is {_json_type_name(None)}, not text")
        return tuple(name for name in read if name is not None)


def _misspelt_key(key: str, fields: Mapping[str, object], keys: Sequence[str]) -> str | None:
    """Return the unknown key that was probably meant for a missing one."""
    if fields.get(key) not in (None, ""):
        return None
    others = (str(other) for other in fields if other not in keys)
    return next((other for other in others if closest_or_containing(other, keys) == key), None)


def _json_type_name(value: object) -> str:
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


# Unknown keys


def unknown_roster_keys(
    value: object, source: str, also: tuple[str, ...] = ()
) -> tuple[Diagnostic, ...]:
    """Return a warning for each unknown key of a roster; `also` are keys that other readers use."""
    fields = {_ENTRIES: value} if isinstance(value, list | tuple) else value
    return _unknown_keys_and_entry_keys(
        fields, (*ROSTER_KEYS, *also), (tuple(_ENTRY_KEYS), _NEEDED), source
    )


def unknown_preset_keys(value: object, source: str) -> tuple[Diagnostic, ...]:
    return _unknown_keys_and_entry_keys(
        value, PRESET_KEYS, (tuple(_PRESET_ENTRY_KEYS), _NEEDED_IN_PRESET_ENTRY), source
    )


def unknown_keys(
    value: Mapping[str, object], known: Sequence[str], source: str, within: str = ""
) -> tuple[Diagnostic, ...]:
    """Return a warning for each unknown key, with the one that was probably meant."""
    return tuple(
        codes.UNKNOWN_ROSTER_KEY.at(
            key=str(key),
            source=source,
            suggestion=did_you_mean(closest_or_containing(str(key), known)),
        )._replace(field=f"{within}{key}")
        for key in value
        if key not in known
    )


def _unknown_keys_and_entry_keys(
    value: object,
    known: Sequence[str],
    of_entries: tuple[Sequence[str], Sequence[str]],
    source: str,
) -> tuple[Diagnostic, ...]:
    """Return warnings for an object and its entries.

    `of_entries` are the keys that an entry may have, and those that it must have.
    """
    if not isinstance(value, Mapping):
        return ()
    known_there, needed = of_entries
    entries = value.get(_ENTRIES)
    found: list[Diagnostic] = []
    for number, entry in enumerate(entries if isinstance(entries, list | tuple) else (), 1):
        if isinstance(entry, Mapping):
            # A misspelt required key was reported as missing already.
            reported = {_misspelt_key(key, entry, known_there) for key in needed}
            rest = {key: each for key, each in entry.items() if key not in reported}
            place = f"{source}, entry {number}"
            found += unknown_keys(rest, known_there, place, f"{_ENTRIES}.{number}.")
    return (*unknown_keys(value, known, source), *found)


# Decoding the text of a roster, in JSON or TOML


_TOO_DEEP = "it is nested too deeply"


def decode_json(text: str, source: str) -> object:
    """Decode JSON, or return a `Diagnostic` with the reason."""
    try:
        return json.loads(
            text, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant
        )
    except RecursionError:
        return _malformed(source, _TOO_DEEP)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        return _malformed(source, f"it is not valid JSON: {_lower_first(error.msg)} ({place})")
    except ValueError as error:
        return _malformed(source, str(error))


def decode_toml(text: str, source: str) -> dict[str, object] | Diagnostic:
    """Decode TOML, or return a `Diagnostic` with the reason."""
    import tomllib  # imported only if there is such a file

    try:
        return tomllib.loads(text)
    except RecursionError:
        return _malformed(source, _TOO_DEEP)
    except ValueError as error:
        return _malformed(source, f"it is not valid TOML: {_lower_first(str(error))}")


def decode_json_or_toml(text: str, source: str) -> object:
    """Decode JSON or TOML. If neither works, a text that begins like JSON gets the JSON error."""
    value = decode_json(text, source)
    if not isinstance(value, Diagnostic):
        return value
    tables = decode_toml(text, source)
    if not isinstance(tables, Diagnostic):
        return tables
    return value if text.lstrip()[:1] in ("{", "[") else tables


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Raise ValueError for a repeated key: JSON decoders silently drop the first value."""
    value: dict[str, object] = {}
    for key, each in pairs:
        if key in value:
            message = f"the key `{key}` occurs twice in one object"
            raise ValueError(message)
        value[key] = each
    return value


def _reject_constant(word: str) -> NoReturn:
    message = f"`{word}` is not valid JSON"
    raise ValueError(message)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _malformed(source: str, reason: str) -> Diagnostic:
    return codes.MALFORMED_ROSTER.at(source=source, reason=reason)


# Line numbers of keys in a file, if they are unambiguous


_KEY = lazy_pattern(r"""(?<![A-Za-z0-9_-])([A-Za-z0-9_-]++)["']?\s*+[=:]""")
_MOST_LOCATED = 20  # each one is searched for in the whole text


def add_lines(found: Sequence[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    return tuple(each._replace(line=line or each.line) for each, line in _with_lines(found, text))


def add_lines_to_messages(found: Sequence[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with line numbers in their messages.

    Use it if the caller shows the diagnostics under another file's name.
    """
    return tuple(
        each._replace(message=f"{each.message.removesuffix('.')} (line {line}).") if line else each
        for each, line in _with_lines(found, text)
    )


def _with_lines(found: Sequence[Diagnostic], text: str) -> Iterator[tuple[Diagnostic, int | None]]:
    for number, each in enumerate(found):
        yield each, find_key_line(each.field, text) if number < _MOST_LOCATED else None


def find_key_line(field: str | None, text: str) -> int | None:
    """Return the line of a key given as in `entries.2.agent`; None if several lines match."""
    if not field:
        return None
    *tables, key = field.split(".")
    lines = text.split("\n")
    start, end = _table_range(tables, lines)
    at = [number for number in range(start, end) if key in _KEY.findall(lines[number])]
    return at[0] + 1 if len(at) == 1 else None


def _table_range(tables: list[str], lines: list[str]) -> tuple[int, int]:
    """Return the line range of a TOML table given as in `entries.2`, or of the whole text."""
    numbers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    if len(tables) == len(("entries", "2")):
        name, place = tables
        heads = [at for at in numbers if _is_table_header(lines[at], name)]
        if place.isdecimal() and int(place) <= len(heads):
            start = heads[int(place) - 1]
            return start, min((at for at in numbers if at > start), default=len(lines))
    return 0, len(lines)


def _is_table_header(line: str, name: str) -> bool:
    """Match `[[roster.entries]]`, `[[tool.brenner.roster.presets]]`, `[[presets]]`."""
    head = line.partition("#")[0].strip()
    is_list = head.startswith("[[") and head.endswith("]]")
    return is_list and head.strip("[] \t").rpartition(".")[2].strip(" \t\"'") == name


# A project's file: a part of a roster, presets, and the default preset


_SETTINGS_ROSTER, _PRESETS, _DEFAULT = "roster", *PRESETS_AND_DEFAULT


class RosterSettings(NamedTuple):
    """The roster settings of a project's file. `label` names the file; `found` are its problems."""

    label: str
    stated: PartialRoster = PartialRoster()
    presets: tuple[RosterPreset, ...] = ()
    default: str | None = None
    found: tuple[Diagnostic, ...] = ()


def has_roster(tables: object) -> bool:
    """Return whether a file's tables contain roster settings."""
    return isinstance(tables, Mapping) and (_SETTINGS_ROSTER in tables or _PRESETS in tables)


def read_roster_settings(tables: Mapping[str, object], label: str) -> RosterSettings:
    """Parse the tables under `roster`, and the `presets` inside or next to it."""
    table = tables.get(_SETTINGS_ROSTER, {})
    found: list[Diagnostic] = []
    stated = read_partial_roster(table, label)
    if not isinstance(stated, PartialRoster):
        found += stated
        stated = PartialRoster()
    found += unknown_roster_keys(table, label, PRESETS_AND_DEFAULT)
    if has_empty_entries(table, stated):
        found.append(codes.EMPTY_ROSTER.at(source=f" from {label}"))
    inner = table if isinstance(table, Mapping) else {}
    presets: list[RosterPreset] = []
    for value in (inner.get(_PRESETS), tables.get(_PRESETS)):
        presets += _read_presets(value, label, found)
    found += _check_duplicate_presets(presets, label)
    default = inner.get(_DEFAULT)
    if default is not None and not isinstance(default, str):
        reason = f"`{_DEFAULT}` is not the ID of a preset"
        found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        default = None
    return RosterSettings(label, stated, tuple(presets), default or None, tuple(found))


def has_empty_entries(table: object, stated: PartialRoster) -> bool:
    """Return whether the list of entries is empty, which is only useful in heuristic mode.

    A file may omit the entries and give only a mode or presets.
    """
    entries = table.get("entries") if isinstance(table, Mapping) else table
    is_list = isinstance(entries, list | tuple)
    return is_list and not entries and stated.mode != Mode.HEURISTIC


def _read_presets(value: object, label: str, found: list[Diagnostic]) -> list[RosterPreset]:
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
        problems = [*unknown_preset_keys(each, place)]
        if isinstance(preset, RosterPreset):
            presets.append(preset)
        else:
            problems += preset
        found += (
            one._replace(field=f"{_PRESETS}.{number}.{one.field}") if one.field else one
            for one in problems
        )
    return presets


def _check_duplicate_presets(presets: Sequence[RosterPreset], label: str) -> list[Diagnostic]:
    """Report presets with the same ID: a reference to it would be ambiguous."""
    seen: set[str] = set()
    found = []
    for preset in presets:
        if preset.id in seen:
            reason = f"two presets have the ID `{preset.id}`"
            found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        seen.add(preset.id)
    return found


# Roles from command-line flags


RecipientFlag = tuple[str, str | None]  # `--to NAME`, and the `--role` after it


# An agent, its role given on the command line, and the flag as typed
_RoleFlag = tuple[str, str, str]


def flag_layers(
    recipients: Sequence[RecipientFlag], agent_roles: Iterable[str], *, unified: bool
) -> tuple[tuple[RosterLayer, ...], tuple[Diagnostic, ...]]:
    """Return the layers that the flags state, highest first, and the errors in them.

    `--to NAME --role ROLE` and `--agent-role NAME=ROLE` have the same precedence.
    """
    by_role = [(n, full_role(role), f"--to {n} --role {role}") for n, role in recipients if role]
    pairs, found = _parse_agent_roles(agent_roles)
    mode = PartialRoster(mode=Mode.UNIFIED.value) if unified else PartialRoster()
    layers = (
        _flag_layer("`--role`", PartialRoster(_entries_from_flags(by_role)))._replace(
            names="`--to`"
        ),
        _flag_layer("`--agent-role`", PartialRoster(_entries_from_flags(pairs))),
        _flag_layer("`--unified`", mode),
    )
    stated = tuple(layer for layer in layers if layer.stated != PartialRoster())
    without_role = [(name, "", f"--to {name}") for name, role in recipients if not role]
    return stated, (*found, *_check_repeated(recipients, [*by_role, *pairs], without_role))


def _flag_layer(label: str, stated: PartialRoster) -> RosterLayer:
    return RosterLayer(RosterOrigin(RosterSource.FLAGS, label), stated, RosterSource.FLAGS)


def _parse_agent_roles(agent_roles: Iterable[str]) -> tuple[list[_RoleFlag], list[Diagnostic]]:
    pairs, found = [], []
    for text in agent_roles:
        name, equals, role = text.partition("=")
        if equals:
            pairs.append((name.strip(), full_role(role.strip()), f"--agent-role {text}"))
        else:
            reason = f"`{text}` does not have the form NAME=ROLE"
            found.append(codes.MALFORMED_ROSTER.at(source="`--agent-role`", reason=reason))
    return pairs, found


def _entries_from_flags(flags: Iterable[_RoleFlag]) -> tuple[RosterEntry, ...]:
    """Return one entry per agent. A second one for an agent is reported."""
    first: dict[str, RosterEntry] = {}
    for name, role, _ in flags:
        first.setdefault(name, RosterEntry(name, role))
    return tuple(first.values())


def _check_repeated(
    recipients: Sequence[RecipientFlag],
    with_role: Sequence[_RoleFlag],
    without_role: Sequence[_RoleFlag],
) -> list[Diagnostic]:
    """Report each agent that the flags name or give a role more than once, as in a file.

    `--agent-role` may give a role to an agent that `--to` names without one.
    """
    named = [name for name, _ in recipients]
    found = []
    for agent in dict.fromkeys([*named, *(name for name, *_ in with_role)]):
        roles = [flag for flag in with_role if flag[0] == agent]
        flags = roles if len(roles) > 1 else [*roles, *(f for f in without_role if f[0] == agent)]
        if len(roles) > 1 or named.count(agent) > 1:
            words = " and ".join(dict.fromkeys(f"`{flag[2]}`" for flag in flags))
            one = codes.DUPLICATE_AGENT.at(name=agent)
            also = (codes.CONTRADICTING_ROLES.id,) * (len({role for _, role, _ in roles}) > 1)
            found.append(one._replace(fix=f"{one.fix} It comes from {words}.", also=also))
    return found
