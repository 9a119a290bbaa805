"""The files that rosters stand in: those that are named, and those of a project."""
# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH113, PTH118

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from brenner.config import SETTINGS_FILE
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.roster_config import (
    RosterSettings,
    decode_either,
    decode_json,
    decode_toml,
    has_roster,
    in_words,
    read_settings,
    unknown_keys,
)

CONFIG_TS = "brenner.config.ts"
_PYPROJECT, _RC = "pyproject.toml", ".brennerrc"
_TOP = ("roster", "presets")
_MOST_BYTES = 1024 * 1024


def read_value(said: str, source: str) -> object:
    """A roster as a flag or a variable gives it: JSON, or `@` and the name of a file.

    A `Diagnostic` where it cannot be read.
    """
    if said.startswith("@"):
        named = f"{source} (`{said}`)"
        text = text_of(said[1:], named)
        return text if isinstance(text, Diagnostic) else decode_either(text, named)
    value = decode_json(said, source)
    if isinstance(value, Diagnostic) and said.lstrip()[:1] not in ("[", "{"):
        reason = f"`{said}` is neither a list nor an object; a file is written as `@FILE`"
        return codes.MALFORMED_ROSTER.at(source=source, reason=reason)
    return value


def text_of(path: str, source: str) -> str | Diagnostic:
    """The text of a file."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (a name may be no path at all)
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            return _malformed(source, f"it is larger than {_MOST_BYTES:,} bytes")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _malformed(source, f"it is not UTF-8 (line {line})")
    except OSError as error:
        return _malformed(source, (error.strerror or type(error).__name__).lower())
    except ValueError:
        return _malformed(source, "that is not the name of a file")


def project_settings(folder: Path) -> RosterSettings | None:
    """What the project says of rosters: the first of its three files that says anything."""
    for name, decode in _FILES.items():
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        label = f"`{name}`"
        text = text_of(path, label)
        tables = text if isinstance(text, Diagnostic) else decode(text, label)
        if isinstance(tables, Diagnostic):
            return RosterSettings(label, found=(tables,))
        if isinstance(tables, Mapping) and has_roster(tables):
            odd = () if name == SETTINGS_FILE else unknown_keys(tables, _TOP, label)
            settings = read_settings(tables, label)
            found = in_words((*settings.found, *odd), text if isinstance(text, str) else "")
            return settings._replace(found=found)
    return None


def has_config_ts(folder: Path) -> bool:
    """Whether there is a program that other implementations would take the roster from."""
    return os.path.lexists(os.path.join(folder, CONFIG_TS))


def _in_pyproject(text: str, label: str) -> object:
    """`[tool.brenner]`. A file that does not name us is not read: it may be anything."""
    tables = decode_toml(text, label) if "brenner" in text else {}
    if isinstance(tables, Diagnostic):
        return tables
    tool = tables.get("tool")
    return tool.get("brenner") if isinstance(tool, Mapping) else None


_FILES: dict[str, Callable[[str, str], object]] = {
    SETTINGS_FILE: decode_toml,
    _PYPROJECT: _in_pyproject,
    _RC: decode_either,
}


def _malformed(source: str, reason: str) -> Diagnostic:
    return codes.MALFORMED_ROSTER.at(source=source, reason=reason)
