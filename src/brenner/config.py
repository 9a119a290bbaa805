"""Find a project: its folder, its settings in `brenner.toml`, and the address of its mail store.

The folder is the given one; else the nearest folder, from the current one upwards, that contains
`.brenner/` or `brenner.toml`; else the current one. Finding a project writes nothing.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, UnavailableError
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BODY_BYTES, MOST_SENT_KIB, MOST_SENT_KIB_AT_LEAST
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import AGENT_NAME
from brenner.store_url import (
    AgentMailAddress,
    AgentMailSettings,
    SqliteAddress,
    StoreAddress,
    StoreAddressError,
    parse_store,
    parse_store_strict,
    redact_address,
    unknown_option,
)
from brenner.text import closest, did_you_mean, escape_control

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brenner.program_settings import ProgramSettings

# For folders without permission os.path returns False, but pathlib raises.
# ruff: noqa: PTH109, PTH110, PTH111, PTH112, PTH113, PTH117, PTH118


OPERATOR = "Operator"
ACK_DEADLINE = timedelta(hours=24)
OWN_FOLDER = ".brenner"
SETTINGS_FILE = "brenner.toml"
STORE_FILE = "mail.sqlite3"
_SQLITE = "sqlite:///"
_OPTION_AT_END = lazy_pattern(r"\?([A-Za-z]\w*=[^/]*)\Z")
_DEFAULT_STORE = f"{_SQLITE}{OWN_FOLDER}/{STORE_FILE}"
# Other modules read these, so they are not unknown settings.
_SETTINGS_READ_ELSEWHERE = ("roster", "presets")
_SLASHES_FIX = (
    "For the file `/{path}` write four slashes: `sqlite:////{path}`. For a file below this folder "
    "write `./{path}`."
)
_ENVIRONMENT_FIX = (
    "Set `AGENT_MAIL_BASE_URL` to the server's address, as in `http://127.0.0.1:8765`, and "
    "`AGENT_MAIL_PATH` to its path, as in `/mcp/`. Put a token in `AGENT_MAIL_BEARER_TOKEN`."
)
_MOST_HOURS = 10 * 366 * 24  # ten years; beyond that dates overflow
_MOST_BYTES = 1024 * 1024


class PersistSettings(NamedTuple):
    """When and how versions are persisted automatically.

    `every` is the interval in versions. Nothing is persisted automatically unless the operator
    configures it (R19).
    """

    every: int | None = None
    on_complete: bool = False
    commit: bool = False
    push: bool = False
    archive: bool = False


class Project(NamedTuple):
    """A research group's folder and settings.

    A file in `store` has an absolute path, unless its address is ambiguous; `store_address` refuses
    that. `programs` are the configured programs of
    the agents. `max_message_kib` limits messages that are sent; stored, imported and
    generated mail may be longer. `folder_from` and `store_from` explain in words why this folder
    and this store were chosen. `is_found` is false if no folder was named and none was found, so
    that the folder is only the current one.
    """

    folder: Path
    store: str | None = None
    operator: str = OPERATOR
    ack_deadline: timedelta = ACK_DEADLINE
    source_text: str | None = None
    evidence_pack: str | None = None
    persist: PersistSettings = PersistSettings()
    agent_mail: AgentMailSettings = AgentMailSettings()
    programs: tuple[tuple[str, ProgramSettings], ...] = ()
    max_message_kib: int = MOST_SENT_KIB
    diagnostics: tuple[Diagnostic, ...] = ()
    folder_from: str = ""
    store_from: str = "the default"
    is_found: bool = True

    @property
    def is_known(self) -> bool:
        """Whether a project was found, or a project or a store was named."""
        return self.is_found or self.store is not None

    @property
    def most_message_bytes(self) -> int:
        """The maximum size in bytes of a message that is sent or checked."""
        return self.max_message_kib * 1024


def find_project(
    explicit: str | None, environ: Mapping[str, str], store: str | None = None
) -> Project:
    """Return the project; raise RequestError for a missing folder or invalid settings.

    `explicit` and `store` are the values of the command line, if given.
    """
    project = inspect_project(explicit, environ, store)
    for found in project.diagnostics:
        if found.severity is ERROR:
            raise RequestError(found)
    return project


def inspect_project(
    explicit: str | None, environ: Mapping[str, str], store: str | None = None
) -> Project:
    """Return the project with all problems of its settings as diagnostics.

    An invalid setting gets its default. A folder that does not exist raises RequestError.
    """
    project = _nearest_project() if explicit is None else _explicit_project(explicit)
    project = project._replace(agent_mail=_agent_mail_settings(environ))
    file = project.folder / SETTINGS_FILE
    if os.path.lexists(file):
        project = _with_settings(project, file)
    if store is not None:
        return project._replace(store=_absolute_store(store), store_from="--store")
    if environ.get("BRENNER_STORE"):
        return project._replace(
            store=_absolute_store(environ["BRENNER_STORE"]), store_from="BRENNER_STORE"
        )
    return project


def store_address(project: Project) -> StoreAddress:
    """Return the address of the mail store; complete that of an Agent Mail server."""
    store = _DEFAULT_STORE if project.store is None else project.store
    try:
        address = parse_store_strict(store)
    except StoreAddressError as error:
        found = codes.UNKNOWN_STORE.at(url=redact_address(store), reason=str(error))
        raise RequestError(found) from None
    if isinstance(address, AgentMailAddress):
        return _complete_address(project, address)
    if isinstance(address, SqliteAddress) and project.store is not None:
        _check_file(address.path, store)
    return address


def _check_file(path: str, store: str) -> None:
    """Raise RequestError for a file that was probably not meant."""
    option = _OPTION_AT_END.search(path)
    if not os.path.isabs(path):
        first = path.partition("/")[0]
        reason = f"three slashes make the path relative, but `/{first}` exists"
        found = codes.UNKNOWN_STORE.at(url=store, reason=reason)
        fix = _SLASHES_FIX.format(path=escape_control(path, len(path) + 1))
        raise RequestError(found._replace(fix=fix))
    if option and not os.path.lexists(path):
        reason = f"{unknown_option(option[1])}; a SQLite file has no options"
        raise RequestError(codes.UNKNOWN_STORE.at(url=store, reason=reason))


def _complete_address(project: Project, address: AgentMailAddress) -> AgentMailAddress:
    """Complete the address with the environment's settings, which must be valid too."""
    url = project.agent_mail.url_of(address)
    try:
        parse_store_strict(f"agent-mail+{url}")
    except StoreAddressError as error:
        found = codes.UNKNOWN_STORE.at(url=redact_address(f"agent-mail+{url}"), reason=str(error))
        raise RequestError(found._replace(fix=_ENVIRONMENT_FIX)) from None
    key = address.project or str(project.folder)
    try:
        key.encode()
    except UnicodeEncodeError:
        reason = "the project's path is not UTF-8; add `?project=KEY` to the address"
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=url, reason=reason)) from None
    return AgentMailAddress(url, key)


def store_file(project: Project, address: SqliteAddress) -> Path:
    file = project.folder / os.path.expanduser(address.path)
    try:
        str(file).encode()
    except UnicodeEncodeError:
        reason = "its path is not UTF-8, which SQLite needs"
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=str(file), reason=reason)) from None
    return file


def _agent_mail_settings(environ: Mapping[str, str]) -> AgentMailSettings:
    """Return the environment's settings for an Agent Mail server."""
    defaults = AgentMailSettings()
    return AgentMailSettings(
        environ.get("AGENT_MAIL_BASE_URL") or defaults.base_url,
        environ.get("AGENT_MAIL_PATH") or defaults.path,
        environ.get("AGENT_MAIL_BEARER_TOKEN", "").strip() or None,
    )


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed, or it is not accessible
        reason = "the current folder does not exist any more"
        raise RequestError(codes.NO_SUCH_PROJECT.at(path=".", reason=reason)) from None


def _explicit_project(explicit: str) -> Project:
    if not os.path.isdir(explicit):
        reason = "it is not a folder" if os.path.exists(explicit) else "there is no such folder"
        raise RequestError(codes.NO_SUCH_PROJECT.at(path=explicit, reason=reason))
    path = explicit if os.path.isabs(explicit) else os.path.join(_current_folder(), explicit)
    return Project(Path(os.path.realpath(path)), folder_from="--project")


def _nearest_project() -> Project:
    here = Path(_current_folder())
    for folder in (here, *here.parents):
        if os.path.lexists(folder / SETTINGS_FILE):
            return Project(folder, folder_from=f"it contains `{SETTINGS_FILE}`")
        own = folder / OWN_FOLDER
        if os.path.isdir(own) or own.is_symlink():  # a link to a disk that is not mounted counts
            return Project(folder, folder_from=f"it contains `{OWN_FOLDER}/`")
    reason = "neither this folder nor one above it is a project"
    return Project(here, folder_from=reason, is_found=False)


def _absolute_store(url: str, base: Path | None = None) -> str:
    """Make a relative path absolute, relative to `base` or the current folder.

    `sqlite:///data/x` stays as it is if there is no such file, but a folder `/data`.
    """
    address = parse_store(url)
    if not isinstance(address, SqliteAddress):
        return url
    path = os.path.expanduser(address.path)
    if os.path.isabs(path):
        return _SQLITE + path
    whole = os.path.join(base or _current_folder(), path)
    is_ambiguous = url.startswith(_SQLITE) and looks_absolute(path) and not os.path.lexists(whole)
    return url if is_ambiguous else _SQLITE + whole


def looks_absolute(path: str) -> bool:
    """Return whether a relative path begins with the name of a folder in `/`."""
    first, slash, _ = path.partition("/")
    return bool(slash) and first not in ("", ".", "..") and os.path.isdir(f"/{first}")


def _with_settings(project: Project, file: Path) -> Project:
    """Return the project with the settings of `brenner.toml` and their diagnostics."""
    text = _read_text(file)
    if isinstance(text, Diagnostic):
        return project._replace(diagnostics=(text,))
    settings = _decode_toml(text, file)
    if isinstance(settings, Diagnostic):
        return project._replace(diagnostics=(settings,))
    lines = _setting_lines(text)
    found: list[Diagnostic] = []
    for name, value in settings.items():
        if name in _SETTERS:
            try:
                project = _SETTERS[name](project, value)
            except ValueError as error:
                line = next((lines[key] for key in (*error.args[1:], name) if key in lines), None)
                found.append(_invalid(file, f"`{name}` must be {error.args[0]}", line))
        elif name not in _SETTINGS_READ_ELSEWHERE:
            near = did_you_mean(closest(name, (*_SETTERS, *_SETTINGS_READ_ELSEWHERE)))
            words = {"path": str(file), "name": name, "suggestion": near}
            found.append(codes.UNKNOWN_SETTING.at(lines.get(name), **words))
    return project._replace(diagnostics=tuple(found))


def _invalid(file: Path, reason: str, line: int | None = None) -> Diagnostic:
    return codes.INVALID_SETTINGS.at(line, path=str(file), reason=reason)


def _read_text(file: Path) -> str | Diagnostic:
    if not os.path.isfile(file):
        return _invalid(file, "it is not a file")
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        return _invalid(file, (error.strerror or type(error).__name__).lower())
    if len(raw) > _MOST_BYTES:
        return _invalid(file, f"it is larger than {_MOST_BYTES} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _invalid(file, "it is not UTF-8", raw.count(b"\n", 0, error.start) + 1)


def _decode_toml(text: str, file: Path) -> dict[str, object] | Diagnostic:
    import tomllib  # imported only if there are settings

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return _invalid(file, *toml_fault(text, error))


def toml_fault(text: str, error: ValueError | RecursionError) -> tuple[str, int | None]:
    """Return why a text is not TOML, and the line."""
    # `… (at line 3, column 5)`, `… (at end of document)`, or neither
    reason, _, place = str(error).rpartition(" (at ")
    number = place.removeprefix("line ").partition(",")[0]
    last = text.rstrip().count("\n") + 1 if reason else None
    reason = reason or str(error)
    line = int(number) if number.isdecimal() else last
    return reason[:1].lower() + reason[1:], line


def _setting_lines(text: str) -> dict[str, int | None]:
    """Return the line of each setting; None if several lines look like it."""
    found: dict[str, int | None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        start = line.strip()
        key = start.strip("[]") if start.startswith("[") else start.partition("=")[0]
        name = key.strip(" \t\"'")
        found[name] = None if name in found else number
    return found


def _require(condition: object, expected: str) -> None:
    if not condition:
        raise ValueError(expected)


def _set_store(project: Project, value: Any) -> Project:
    _require(isinstance(value, str) and value, f'a text such as "{_SQLITE}{STORE_FILE}"')
    where = _absolute_store(value, project.folder)
    return project._replace(store=where, store_from=f"`{SETTINGS_FILE}`")


def _set_operator(project: Project, value: Any) -> Project:
    expected = 'a name such as "Anna": a letter, then letters, digits, `_` or `-`, at most 64'
    _require(isinstance(value, str) and AGENT_NAME.fullmatch(value), expected)
    return project._replace(operator=value)


def _set_ack_deadline(project: Project, value: Any) -> Project:
    hours = value if isinstance(value, int | float) and value is not True else 0
    _require(0 < hours <= _MOST_HOURS, f"a number of hours above 0, {_MOST_HOURS} at most")
    return project._replace(ack_deadline=timedelta(hours=hours))


def _set_max_message_kib(project: Project, value: Any) -> Project:
    least, most = MOST_SENT_KIB_AT_LEAST, MOST_BODY_BYTES // 1024
    is_valid = type(value) is int and least <= value <= most
    _require(is_valid, f"a whole number of KiB from {least} to {most}")
    return project._replace(max_message_kib=value)


def _set_source_text(project: Project, value: Any) -> Project:
    is_valid = isinstance(value, str) and value.strip() and "\0" not in value
    _require(is_valid, 'the path of a Markdown file, such as "source.md"')
    return project._replace(source_text=value)


def _set_evidence_pack(project: Project, value: Any) -> Project:
    is_valid = isinstance(value, str) and value.strip() and "\0" not in value
    _require(is_valid, 'the path of a TOML or JSON file, such as "evidence.toml"')
    return project._replace(evidence_pack=value)


def _set_persist(project: Project, value: Any) -> Project:
    """Read the table `[persist]`; its switches are true or false."""
    _require(isinstance(value, dict), "a table such as `[persist]` with `every = 5`")
    known = PersistSettings._fields
    for name in value:
        near = did_you_mean(closest(name, known))
        _require(name in known, f"without `{name}`.{near} Known settings: {', '.join(known)}")
    every = value.get("every")
    is_number = every is None or (type(every) is int and every >= 1)
    _require(is_number, "a table in which `every` is a number above 0")
    for name, each in value.items():
        is_switch = name == "every" or type(each) is bool
        _require(is_switch, f"a table in which `{name}` is true or false")
    return project._replace(persist=PersistSettings(**value))


def _set_programs(project: Project, value: Any) -> Project:
    """Read the tables `[programs]` and `[programs.NAME]`."""
    from brenner.program_settings import parse_programs  # imported only if there are programs

    return project._replace(programs=parse_programs(value))


_SETTERS = {
    "store": _set_store,
    "operator": _set_operator,
    "ack_deadline_hours": _set_ack_deadline,
    "source_text": _set_source_text,
    "evidence_pack": _set_evidence_pack,
    "max_message_kib": _set_max_message_kib,
    "persist": _set_persist,
    "programs": _set_programs,
}
