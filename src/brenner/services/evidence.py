"""The project's evidence pack (R31): read it, add a record, check it against files and sessions."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from brenner.config import SETTINGS_FILE
from brenner.diagnostics.codes import evidence as codes
from brenner.diagnostics.codes.evidence import EVIDENCE_PACK_UNREADABLE
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError
from brenner.limits import MOST_BODY_BYTES
from brenner.named_tuple import NamedTuple
from brenner.protocol.evidence_pack import (
    EvidencePack,
    EvidenceRecord,
    ParsedPack,
    body_faults,
    citation_faults,
    cited_anchors,
    describe_fault,
    is_json_pack,
    parse_pack,
    texts_in,
)
from brenner.protocol.message_types import COMPILED
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.text import is_encodable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.artifact.model import Artifact
    from brenner.config import Project
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import Message
    from brenner.services.workspace import Workspace

MOST_PACK_BYTES = 4 * MOST_BODY_BYTES
DEFAULT_PACK = "evidence.toml"
_SETTING = "evidence_pack"
_LOCK = "evidence-pack"
_CHUNK = 2**20
_parse = lru_cache(maxsize=4)(parse_pack)


# Reading the pack


def read_pack(project: Project) -> ParsedPack | None:
    """Return the project's evidence pack with its faults, or None if the project has none."""
    name = project.evidence_pack
    if name is None:
        return None
    text = _read_text(project.folder / name)
    if isinstance(text, str):
        return _parse(text.removeprefix("\ufeff"), name)
    reason = text.args[0]
    found = EVIDENCE_PACK_UNREADABLE.at(path=name, reason=reason)
    return ParsedPack(EvidencePack(name, {}), (found,))


def _read_text(file: Path) -> str | ValueError:
    """Return the text of a file, or why it cannot be read."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_PACK_BYTES + 1)
        if len(raw) <= MOST_PACK_BYTES:
            return raw.decode("utf-8")
    except UnicodeDecodeError:
        return ValueError("it is not UTF-8")
    except OSError as error:
        return ValueError((error.strerror or type(error).__name__).lower())
    return ValueError(f"it is larger than {MOST_PACK_BYTES} bytes")


def require_pack(project: Project) -> ParsedPack:
    """Return the project's pack. Raise RequestError if it has none, or if it cannot be read."""
    parsed = read_pack(project)
    if parsed is None:
        raise RequestError(codes.NO_EVIDENCE_PACK.at())
    unreadable = unreadable_reason(parsed)
    if unreadable:
        raise RequestError(unreadable)
    return parsed


def unreadable_reason(parsed: ParsedPack) -> Diagnostic | None:
    """Return why a pack cannot be read, or None if it can."""
    return next(
        (each for each in parsed.diagnostics if each.code is EVIDENCE_PACK_UNREADABLE), None
    )


def readable_pack(project: Project) -> EvidencePack | None:
    """Return the project's pack, or None if it has none or it cannot be read."""
    parsed = read_pack(project)
    return parsed.pack if parsed and not unreadable_reason(parsed) else None


def pack_text(project: Project) -> str | None:
    """Return the text of the pack's file, or None if it has none or it cannot be read."""
    text = _read_text(project.folder / project.evidence_pack) if project.evidence_pack else None
    return text if isinstance(text, str) else None


def message_faults(project: Project | None, message: Message) -> Iterator[Diagnostic]:
    """Yield what a message cites wrongly. Line numbers count in the body.

    COMPILED messages repeat what agents wrote, so they are not checked. A pack that cannot be read
    is a warning: agents cannot correct it.
    """
    is_new = message.type != COMPILED.name
    may_cite = "EV-" in message.body or "\\u" in message.body
    parsed = read_pack(project) if project and is_new and may_cite else None
    if parsed is None:
        return
    unreadable = unreadable_reason(parsed)
    if unreadable:
        yield _not_checked(unreadable)
    else:
        yield from body_faults(message.body, message.thread_id, parsed.pack)


def unchecked_notes(project: Project) -> tuple[Diagnostic, ...]:
    """Return a warning if the project's pack cannot be read, so that nothing is checked."""
    parsed = read_pack(project)
    unreadable = unreadable_reason(parsed) if parsed else None
    return (_not_checked(unreadable),) if unreadable else ()


def _not_checked(unreadable: Diagnostic) -> Diagnostic:
    return codes.EVIDENCE_NOT_CHECKED.at(reason=unreadable.message)


# Adding a record


class NewRecord(NamedTuple):
    """A record to add. `file` is the path of a local file, whose SHA-256 is recorded."""

    title: str
    source: str
    accessed: str
    excerpts: tuple[str, ...] = ()
    file: str | None = None


class AddedRecord(NamedTuple):
    """The record that was added, and what was created for it."""

    record: EvidenceRecord
    path: str
    is_new_pack: bool
    is_new_setting: bool


def add_record(project: Project, new: NewRecord) -> AddedRecord:
    """Add a record to the project's pack under the next number.

    Without a pack, create `evidence.toml` and name it in `brenner.toml`. Every other byte of both
    files stays. Raise RequestError if the record or the pack is faulty; then nothing is written.
    """
    from brenner.persist.files import hold_lock, write_atomically

    with hold_lock(project, _LOCK, "lock", 5) as holder:
        if holder is not None:
            reason = f"another process ({holder}) changes the evidence pack"
            raise RequestError(codes.EVIDENCE_NOT_ADDED.at(reason=reason))
        name = project.evidence_pack or DEFAULT_PACK
        file = project.folder / name
        is_new_pack = not (file.exists() or file.is_symlink())
        old = "" if is_new_pack else _text_to_edit(file, name)
        known = _sound_pack(old, name) if not is_new_pack else EvidencePack(name, {})
        record = _record(project, new, _next_id(known))
        text = _with_record(old, name, record)
        _require_added(text, name, known, record)
        settings = None if project.evidence_pack else _with_setting(project, name)
        write_atomically(file, text.encode())
        if settings is not None:
            write_atomically(project.folder / SETTINGS_FILE, settings.encode())
    return AddedRecord(record, name, is_new_pack, settings is not None)


def _text_to_edit(file: Path, name: str) -> str:
    text = _read_text(file)
    if isinstance(text, str):
        return text
    raise RequestError(EVIDENCE_PACK_UNREADABLE.at(path=name, reason=text.args[0]))


def _sound_pack(text: str, name: str) -> EvidencePack:
    """Return the pack of a text; raise its first error."""
    pack, found = parse_pack(text.removeprefix("\ufeff"), name)
    error = next((each for each in found if each.severity is ERROR), None)
    if error:
        raise RequestError(error)
    return pack


def _next_id(pack: EvidencePack) -> str:
    numbers = [int(each.removeprefix("EV-")) for each in pack.records]
    return f"EV-{max(numbers, default=0) + 1:03}"


def _record(project: Project, new: NewRecord, record_id: str) -> EvidenceRecord:
    """Return the record with the path and the SHA-256 of its file. Raise if a part is missing."""
    texts = (new.title, new.source, new.accessed, *new.excerpts)
    if not all(map(is_encodable, texts)):
        raise RequestError(codes.EVIDENCE_NOT_ADDED.at(reason="a text is not UTF-8"))
    path = None if new.file is None else _path_in_project(project, new.file)
    source = new.source.strip() or path or ""
    for name, value in (("title", new.title), ("source", source)):
        if not value.strip():
            raise RequestError(codes.EVIDENCE_NOT_ADDED.at(reason=f"it has no {name}"))
    return EvidenceRecord(
        record_id,
        new.title.strip(),
        source,
        new.accessed.strip(),
        None if new.file is None else _hash_of(Path(new.file)),
        None if path == source else path,
        {f"E{number}": text for number, text in enumerate(new.excerpts, 1)},
    )


def _path_in_project(project: Project, path: str) -> str:
    """Return a path relative to the project's folder; of a file elsewhere the absolute path."""
    whole = Path(path).resolve()
    folder = project.folder.resolve()
    return whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else str(whole)


def _hash_of(file: Path) -> str:
    found = file_hash(file)
    if isinstance(found, ValueError):
        reason = f"cannot read `{file}`: {found.args[0]}"
        raise RequestError(codes.EVIDENCE_NOT_ADDED.at(reason=reason))
    return found


def file_hash(file: Path) -> str | ValueError:
    """Return the SHA-256 of a file, or why it cannot be read."""
    digest = sha256()
    try:
        with file.open("rb") as opened:
            while part := opened.read(_CHUNK):
                digest.update(part)
    except (OSError, ValueError) as error:
        return ValueError((getattr(error, "strerror", None) or str(error)).lower())
    return digest.hexdigest()


def _with_record(text: str, name: str, record: EvidenceRecord) -> str:
    """Return the text of a pack with one more record."""
    from brenner.services.json_edits import EditError, add
    from brenner.services.toml_edits import add_table

    values = {
        key: value
        for key, value in record._asdict().items()
        if key != "id" and value is not None and value != {}
    }
    try:
        if is_json_pack(name):
            return add(text or "{\n}\n", [record.id], values, is_item=False)
        table = _toml_table(record.id, values)
        return add_table(text, [record.id], table) if text else table
    except EditError as error:
        found = codes.EVIDENCE_NOT_ADDED.at(error.line, reason=error.reason)
        raise RequestError(found) from None


def _toml_table(record_id: str, values: dict[str, object]) -> str:
    excerpts = values.pop("excerpts", {})
    lines = [f"[{record_id}]", *(f"{key} = {_toml_text(str(values[key]))}" for key in values)]
    if isinstance(excerpts, dict) and excerpts:
        lines += ["", f"[{record_id}.excerpts]"]
        lines += [f"{key} = {_toml_text(text)}" for key, text in excerpts.items()]
    return "\n".join(lines) + "\n"


def _toml_text(text: str) -> str:
    """Return a TOML string; one with line breaks in several lines."""
    lines = [json.dumps(line, ensure_ascii=False)[1:-1] for line in text.split("\n")]
    quote = '"""' if len(lines) > 1 else '"'
    start = f"{quote}\n" if len(lines) > 1 else quote
    return (start + "\n".join(lines) + quote).replace("\x7f", "\\u007f")


def _require_added(text: str, name: str, known: EvidencePack, record: EvidenceRecord) -> None:
    """Raise unless the new text has the old records, the new one, and no fault."""
    pack, found = parse_pack(text.removeprefix("\ufeff"), name)
    error = next((each for each in found if each.severity is ERROR), None)
    if error:
        reason = str(dict(error.parameters)["reason"])
        raise RequestError(codes.EVIDENCE_NOT_ADDED.at(reason=reason))
    if pack.records != {**known.records, record.id: record}:
        reason = "the file would not contain the same records"
        raise RequestError(codes.EVIDENCE_NOT_ADDED.at(reason=reason))


def _with_setting(project: Project, name: str) -> str:
    """Return the text of `brenner.toml` with the name of the pack."""
    from brenner.services.json_edits import EditError
    from brenner.services.toml_edits import add_setting

    file = project.folder / SETTINGS_FILE
    text = _text_to_edit(file, SETTINGS_FILE) if file.exists() else ""
    try:
        return add_setting(text, _SETTING, name)
    except EditError as error:
        reason = f"cannot change `{SETTINGS_FILE}`: {error.reason}"
        raise RequestError(codes.EVIDENCE_NOT_ADDED.at(error.line, reason=reason)) from None


# Checking


def check_pack(workspace: Workspace) -> tuple[ParsedPack, tuple[Diagnostic, ...]]:
    """Return the pack, and all that is wrong in it, in its files and in the sessions' citations."""
    parsed = require_pack(workspace.project)
    cited: set[str] = set()
    found = [*parsed.diagnostics, *_file_faults(workspace.project, parsed.pack)]
    for thread in workspace.mailbox.threads():
        if is_valid_thread_id(thread.thread_id):
            cited |= cited_in_thread(workspace.mailbox, thread.thread_id)
            found += _session_faults(workspace, thread.thread_id, parsed.pack)
    found += _uncited(parsed.pack, cited)
    return parsed, tuple(found)


def _file_faults(project: Project, pack: EvidencePack) -> Iterator[Diagnostic]:
    """Yield the files that are not as recorded."""
    for record in pack.records.values():
        if record.sha256 is None:
            continue
        if record.path is None:
            yield codes.EVIDENCE_FILE_UNKNOWN.at(name=record.id)
            continue
        actual = file_hash(project.folder / record.path)
        words = {"name": record.id, "file": record.path}
        if isinstance(actual, ValueError):
            yield codes.EVIDENCE_FILE_MISSING.at(None, reason=actual.args[0], **words)
        elif actual != record.sha256:
            yield codes.EVIDENCE_FILE_CHANGED.at(None, actual=actual, **words)


def _session_faults(
    workspace: Workspace, thread_id: str, pack: EvidencePack
) -> Iterator[Diagnostic]:
    """Yield the wrong citations of the latest version, and of the messages after it."""
    from brenner.services.version_store import load_history

    try:
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    except BrennerError as error:
        yield error.diagnostic
        return
    for name, texts in _item_texts(history.state.artifact):
        faults = (fault for text in texts for fault in citation_faults(text, pack))
        for fault in dict.fromkeys(faults):
            yield describe_fault(f"`{name}` of `{thread_id}`", fault, pack)
    for stored in history.unread:
        if stored.type != COMPILED.name:
            for found in body_faults(stored.message.body, thread_id, pack):
                yield found._replace(message_id=stored.id)


def _item_texts(artifact: Artifact) -> Iterator[tuple[str, list[str]]]:
    for _, item in artifact.all_items():
        if item.killed is None:
            yield item.id, list(texts_in(item.fields))


def _uncited(pack: EvidencePack, cited: set[str]) -> Iterator[Diagnostic]:
    for record in pack.records.values():
        for excerpt in record.excerpts:
            anchor = f"{record.id}#{excerpt}"
            if anchor not in cited:
                yield codes.UNCITED_EXCERPT.at(anchor=anchor)


def cited_in_thread(mailbox: Mailbox, thread_id: str) -> set[str]:
    """Return all anchors of evidence in the messages of a thread."""
    messages = mailbox.thread_arrivals(thread_id, 0)
    return {anchor for each in messages for anchor in cited_anchors(each.message.body)}


def items_citing(artifact: Artifact) -> dict[str, list[str]]:
    """Return the items that cite each anchor, killed ones included."""
    found: dict[str, list[str]] = {}
    for _, item in artifact.all_items():
        for anchor in dict.fromkeys(
            a for text in texts_in(item.fields) for a in cited_anchors(text)
        ):
            found.setdefault(anchor, []).append(item.id)
    return found
