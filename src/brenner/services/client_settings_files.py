"""Changes to the files of a client: plan them, show them, write them, or compare the files.

A plan has the whole new content of each file, and was checked: apart from our settings, the new
content means what the old one does.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from brenner.artifact.text_diff import unified_diff
from brenner.diagnostics.codes.serving import (
    CLIENT_SETTINGS_NOT_CHANGED,
    CLIENT_SETTINGS_NOT_WRITTEN,
)
from brenner.diagnostics.codes.stores import NO_SUCH_PROJECT
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.named_tuple import NamedTuple
from brenner.persist.files import replace_file
from brenner.services import json_edits, toml_edits
from brenner.services.client_settings import TOML, Setting, SettingsFile, settings_for
from brenner.services.json_edits import EditError
from brenner.text import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brenner.config import Project
    from brenner.services.client_settings import ClientConnection, ClientSettings

_BYTE_ORDER_MARK = "\ufeff"
_NO_FILE = "/dev/null"  # the name of a missing file in a diff


class ChangeStatus(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


class FileChange(NamedTuple):
    """The old and the new content of a file; None if it does not exist."""

    path: str
    old: str | None
    new: str | None

    @property
    def status(self) -> ChangeStatus:
        if self.old == self.new:
            return ChangeStatus.UNCHANGED
        if self.old is None:
            return ChangeStatus.CREATED
        return ChangeStatus.REMOVED if self.new is None else ChangeStatus.CHANGED

    @property
    def diff(self) -> str:
        """Return the change as a unified diff."""
        names = (_NO_FILE if each is None else self.path for each in (self.old, self.new))
        return unified_diff(self.old or "", self.new or "", *names)


# Planning


_WRITE_BY_HAND = "add by hand what the command prints without `--write`"
_REMOVE_BY_HAND = "remove {} by hand"


def plan_changes(settings: ClientSettings, *, is_removal: bool) -> tuple[FileChange, ...]:
    """Return what would change in the files of a client.

    Raise RequestError for a file that cannot be changed safely.
    """
    return tuple(_plan(each, is_removal=is_removal) for each in settings.files)


def _plan(file: SettingsFile, *, is_removal: bool) -> FileChange:
    _check_not_of_user(file.path)
    try:
        old = _read(file.path)
        new = changed_text(file, old, is_removal=is_removal)
    except EditError as error:
        names = joined([f"`{'.'.join(each.path)}`" for each in file.settings])
        by_hand = _REMOVE_BY_HAND.format(names) if is_removal else _WRITE_BY_HAND
        raise _not_changed(file, error, by_hand) from None
    return FileChange(file.path, old, new)


def _not_changed(file: SettingsFile, error: EditError, by_hand: str) -> RequestError:
    words = {"path": file.path, "reason": error.reason, "by_hand": by_hand}
    place = f", line {error.line}" if error.line else ""
    return RequestError(CLIENT_SETTINGS_NOT_CHANGED.at(error.line, **words, place=place))


def _check_not_of_user(path: str) -> None:
    """Raise RequestError for a file of the user's own settings, such as in the home folder."""
    home = Path.home()
    own = {home / ".claude/settings.json", home / ".codex/config.toml"}
    own.add(home / ".gemini/settings.json")
    for variable, name in (("CLAUDE_CONFIG_DIR", "settings.json"), ("CODEX_HOME", "config.toml")):
        if os.environ.get(variable):
            own.add(Path(os.environ[variable], name))
    real = os.path.realpath(path)
    if real in {os.path.realpath(each) for each in own}:
        reason = f"`{path}` has your own settings, for all projects"
        raise RequestError(NO_SUCH_PROJECT.at(path=str(Path(path).parents[1]), reason=reason))


def _read(path: str) -> str | None:
    """Return the text of a file; None if it does not exist."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EditError((error.strerror or type(error).__name__).lower()) from None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        reason = "it is not UTF-8"
        raise EditError(reason, raw.count(b"\n", 0, error.start) + 1) from None


def changed_text(file: SettingsFile, old: str | None, *, is_removal: bool) -> str | None:
    """Return the content of a file with our settings, or without them; None if nothing is left.

    Raise EditError if it cannot be changed safely.
    """
    new = _without(file, old) if is_removal else _with(file, old)
    _check_same_otherwise(file, old, new, is_removal=is_removal)
    return new


def _with(file: SettingsFile, old: str | None) -> str:
    if old is None:
        return file.text
    mark, text = _split_mark(old)
    for path, value, is_item in file.settings:
        if file.form == TOML:
            is_there = _value_at(_decoded(file, old), path) == value
            text = text if is_there else toml_edits.add_table(text, path, file.text)
        else:
            options = {"is_item": is_item, "has_comments": file.has_comments}
            text = json_edits.add(text, path, value, **options)
    return mark + text


def _without(file: SettingsFile, old: str | None) -> str | None:
    if old is None:
        return None
    mark, text = _split_mark(old)
    for path, value, is_item in reversed(file.settings):
        item = str(value) if is_item else None
        if file.form == TOML:
            left = toml_edits.remove_table(text, path)
        else:
            left = json_edits.remove(text, path, item, has_comments=file.has_comments)
        if left is None:
            return None
        text = left
    return mark + text


def _split_mark(text: str) -> tuple[str, str]:
    """Return a byte order mark, if there is one, and the rest of the text."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    return mark, text[len(mark) :]


def _check_same_otherwise(
    file: SettingsFile, old: str | None, new: str | None, *, is_removal: bool
) -> None:
    """Raise EditError if anything but our settings changed, or if these are not as they should."""
    before, after = _decoded(file, old), _decoded(file, new)
    is_same = _pruned(before, file.settings) == _pruned(after, file.settings)
    for each in file.settings:
        is_there = _is_there(after, each)
        is_same = is_same and is_there is not is_removal
    if not is_same:
        reason = "the change would affect other settings in it"
        raise EditError(reason)


def _decoded(file: SettingsFile, text: str | None) -> object:
    if text is None:
        return {}
    _, text = _split_mark(text)
    if file.form == TOML:
        return toml_edits.decode_toml(text)
    return json_edits.decode_json(text, has_comments=file.has_comments)


def _value_at(document: object, path: Sequence[str]) -> object:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _is_there(document: object, setting: Setting) -> bool:
    found = _value_at(document, setting.path)
    if setting.is_item:
        return isinstance(found, list) and setting.value in found
    return found == setting.value


def _pruned(document: object, settings: Sequence[Setting]) -> object:
    """Return a decoded file without our settings, and without containers that are then empty."""
    for each in settings:
        document = _prune(document, each.path, each)
    return document


def _prune(value: object, path: Sequence[str], setting: Setting) -> object:
    if not path and isinstance(value, list):
        return [each for each in value if each != setting.value]
    if not isinstance(value, dict) or not path or path[0] not in value:
        return value
    is_ours = len(path) == 1 and not setting.is_item
    left = None if is_ours else _prune(value[path[0]], path[1:], setting)
    others = {key: each for key, each in value.items() if key != path[0]}
    return others if left in (None, [], {}) else {**others, path[0]: left}


# Writing


def write_changes(changes: Sequence[FileChange]) -> None:
    """Write the planned changes, each file whole or not at all.

    Raise an error that says which files were written if one cannot be.
    """
    written: list[str] = []
    needed = [each for each in changes if each.status is not ChangeStatus.UNCHANGED]
    try:
        for path, old, _ in needed:
            if _read(path) != old:
                reason = "it has changed since"
                raise _not_written(path, reason, written)
        for each in needed:
            _write(each)
            written.append(each.path)
    except (OSError, EditError) as error:
        path = needed[len(written)].path
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise _not_written(path, reason, written) from None


def _write(change: FileChange) -> None:
    """Write one file, through a symbolic link; remove it and its folder if nothing is left."""
    target = Path(os.path.realpath(change.path))
    if change.new is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, [change.new.encode()])
        return
    target.unlink()
    folder = Path(change.path).parent
    if folder.name.startswith("."):  # the client's own, such as `.codex`
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def _not_written(path: str, reason: str, written: Sequence[str]) -> UnavailableError:
    before = f"{joined([f'`{each}`' for each in written])} was written before" if written else ""
    words = {"path": path, "reason": reason, "before": before or "Nothing was written"}
    return UnavailableError(CLIENT_SETTINGS_NOT_WRITTEN.at(None, **words))


# Comparing


class SettingsState(StrEnum):
    MISSING = "missing"
    CURRENT = "current"
    DIFFERENT = "different"


class SettingsDifference(NamedTuple):
    """Whether the project's files hold our settings; `keys` are those that are not as needed."""

    state: SettingsState
    keys: tuple[str, ...] = ()


_HOW_TO_START = ("type", "command", "args")
_PER_TRANSPORT = (
    *("url", "httpUrl", "headers", "env_http_headers", "bearer_token_env_var"),
    *("env", "env_vars"),
)


def settings_difference(
    client: str, connection: ClientConnection, project: Project
) -> SettingsDifference:
    """Compare the project's files with the settings for one of `CLIENTS`.

    Only what makes a connection work counts. HTTP or stdio is the operator's choice, and so are
    further keys. A URL and its headers count if the entry has a URL. Raise RequestError if a file
    cannot be read.
    """
    settings = settings_for(client, connection, project.folder)
    keys: list[str] = []
    is_missing = False
    for file in settings.files:
        document = _document_of(file)
        for each in file.settings:
            found = _value_at(document, each.path)
            name = ".".join(each.path)
            if each.is_item:
                keys += [] if _is_there(document, each) else [name]
            elif isinstance(found, dict) and isinstance(each.value, dict):
                keys += [f"{name}.{key}" for key in _lacking(each.value, found)]
            else:
                is_missing = True
    if is_missing:
        return SettingsDifference(SettingsState.MISSING)
    state = SettingsState.DIFFERENT if keys else SettingsState.CURRENT
    return SettingsDifference(state, tuple(keys))


def _document_of(file: SettingsFile) -> object:
    try:
        return _decoded(file, _read(file.path))
    except EditError as error:
        raise _not_changed(file, error, _WRITE_BY_HAND) from None


def _lacking(wanted: dict[str, object], found: dict[str, object]) -> list[str]:
    """Return the keys of our entry that are missing or different in the entry that was found."""
    is_same_transport = ("command" in wanted) == ("command" in found)
    skipped = _HOW_TO_START if is_same_transport else (*_HOW_TO_START, *_PER_TRANSPORT)
    return [
        key
        for key, value in wanted.items()
        if key not in skipped and not _contains(found.get(key), value)
    ]


def _contains(found: object, wanted: object) -> bool:
    """Return whether a value is the wanted one, or has all members or items of it."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            _contains(found.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and all(each in found for each in wanted)
    if isinstance(wanted, str) and isinstance(found, str):
        return found.rstrip("/") == wanted.rstrip("/")
    return found == wanted
