"""An evidence pack: records of sources with exact excerpts, and what texts cite of it (R31).

A pack is a TOML or JSON file with a table for each record:

    [EV-001]
    title = "Title"
    source = "https://example.org/paper"
    accessed = 2026-11-19

    [EV-001.excerpts]
    E1 = "exact text"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes import evidence as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.lenient_json import NotJSON, decode_strict, scan
from brenner.protocol.delta.parse import is_delta_fence, line_at, read_blocks
from brenner.protocol.grammar import (
    EVIDENCE_ANCHOR,
    EVIDENCE_EXCERPT,
    EVIDENCE_RECORD,
    ISO_TIME,
    QUOTED_EXCERPT,
)
from brenner.text import closest, cut, did_you_mean, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.delta.schema import DeltaBlock

MOST_RECORDS = 10_000
RECORD_KEYS = ("title", "source", "accessed", "sha256", "file", "excerpts")
_REQUIRED = ("title", "source", "accessed")
_SHA256 = lazy_pattern(r"[0-9a-f]{64}")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WEB_SCHEME = lazy_pattern(r"https?://\S+", re.IGNORECASE)
_DOI = lazy_pattern(r"(?:doi:\s?)?(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)
_EXTERNAL = lazy_pattern(r"\[external:[^\[\]]*\]")  # the anchor of another source
_BACKTICKS = lazy_pattern("`+")
_MOST_LISTED, _MOST_SHOWN = 8, 300


class EvidenceRecord(NamedTuple):
    """A source with exact excerpts. `file` is a local copy of it, relative to the project."""

    id: str
    title: str
    source: str
    accessed: str
    sha256: str | None = None
    file: str | None = None
    excerpts: Mapping[str, str] = {}

    @property
    def doi(self) -> str | None:
        """The source's DOI, or None."""
        found = _DOI.fullmatch(self.source.strip())
        return found[1] if found else None

    @property
    def url(self) -> str | None:
        """The source's address on the web, or None."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return self.source if _WEB_SCHEME.fullmatch(self.source) else None

    @property
    def path(self) -> str | None:
        """The file that `sha256` is about: the local copy, or a source that is a path."""
        is_path = not (self.doi or _SCHEME.match(self.source))
        return self.file or (self.source if is_path else None)

    def anchors(self) -> Iterator[str]:
        """Yield the anchors of the record and of its excerpts."""
        yield self.id
        yield from (f"{self.id}#{each}" for each in self.excerpts)


class EvidencePack(NamedTuple):
    """The records of a pack in the order of its file, and its path as shown.

    A record with a faulty key exists: its other keys can be cited.
    """

    path: str
    records: Mapping[str, EvidenceRecord]

    def find(self, anchor: str) -> tuple[EvidenceRecord, str | None] | None:
        """Return the record of an anchor, with the text of its excerpt if it names one."""
        name, sign, excerpt = anchor.partition("#")
        record = self.records.get(name)
        if record is None or (sign and excerpt not in record.excerpts):
            return None
        return record, record.excerpts[excerpt] if sign else None

    def describe_known(self, anchor: str) -> str:
        """Return what exists: the excerpts of the anchor's record, or the records."""
        record = self.records.get(anchor.partition("#")[0])
        if record:
            excerpts = _listed(record.excerpts)
            return f"`{record.id}` has {excerpts}." if excerpts else f"`{record.id}` has none."
        known = _listed(self.records)
        near = did_you_mean(closest(anchor.partition("#")[0], self.records))
        return f"Records: {known}.{near}" if known else "The pack is empty."


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = [f"{len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
    return ", ".join([*(f"`{each}`" for each in names[:_MOST_LISTED]), *more])


# Reading a pack


class ParsedPack(NamedTuple):
    """The readable part of a pack, and all faults of its file."""

    pack: EvidencePack
    diagnostics: tuple[Diagnostic, ...]


def is_json_pack(path: str) -> bool:
    return path.lower().endswith(".json")


def parse_pack(text: str, path: str) -> ParsedPack:
    """Read a pack. The ending `.json` means JSON; any other means TOML."""
    value, found = (_decode_json if is_json_pack(path) else _decode_toml)(text, path)
    if not isinstance(value, dict):
        return ParsedPack(EvidencePack(path, {}), tuple(found))
    reader = _PackReader(text, path)
    records = {}
    for name, content in list(value.items())[:MOST_RECORDS]:
        record = reader.read(name, content)
        if record:
            records[name] = record
    if len(value) > MOST_RECORDS:
        reason = f"it has {plural(len(value), 'record')}, at most {MOST_RECORDS} are allowed"
        reader.found.append(codes.EVIDENCE_PACK_UNREADABLE.at(path=path, reason=reason))
    return ParsedPack(EvidencePack(path, records), tuple(reader.found))


def _decode_toml(text: str, path: str) -> tuple[object, list[Diagnostic]]:
    import tomllib  # imported only if there is a pack

    try:
        return tomllib.loads(text), []
    except (ValueError, RecursionError) as error:
        said, _, place = str(error).rpartition(" (at ")
        number = place.removeprefix("line ").partition(",")[0]
        at_end = text.rstrip().count("\n") + 1
        line = int(number) if number.isdecimal() else at_end
        reason = f"it is not TOML ({(said or str(error)).rstrip('.')})"
        return None, [codes.EVIDENCE_PACK_UNREADABLE.at(line, path=path, reason=reason)]


def _decode_json(text: str, path: str) -> tuple[object, list[Diagnostic]]:
    try:
        value = decode_strict(text)
    except NotJSON:
        offset = next((each.offset for each in scan(text).faults), 0)
        line = text.count("\n", 0, offset) + 1
        return None, [codes.EVIDENCE_PACK_UNREADABLE.at(line, path=path, reason="it is not JSON")]
    if isinstance(value, dict):
        return value, []
    reason = "it is not a JSON object with a key for each record"
    return None, [codes.EVIDENCE_PACK_UNREADABLE.at(1, path=path, reason=reason)]


class _PackReader:
    """Reads the records of one pack, and collects their faults."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.found: list[Diagnostic] = []

    def read(self, name: str, content: object) -> EvidenceRecord | None:
        """Return a record with what can be read of it, or None if it has no valid name."""
        if not EVIDENCE_RECORD.fullmatch(name):
            self._report((name,), f"`{name}` is not the name of a record, such as `EV-001`")
            return None
        if not isinstance(content, dict):
            self._report((name,), "it is not a table with `title`, `source` and `accessed`")
            return EvidenceRecord(name, "", "", "")
        texts = {key: self._text(name, key, content) for key in RECORD_KEYS[:-1]}
        for key in content:
            if key not in RECORD_KEYS:
                near = did_you_mean(closest(key, RECORD_KEYS))
                line = self._line((name, key))
                words = {"path": self.path, "name": name, "key": key, "suggestion": near}
                self.found.append(codes.UNKNOWN_EVIDENCE_KEY.at(line, **words))
        return EvidenceRecord(
            name,
            texts["title"] or "",
            texts["source"] or "",
            texts["accessed"] or "",
            texts["sha256"],
            texts["file"],
            self._excerpts(name, content.get("excerpts", {})),
        )

    def _text(self, name: str, key: str, content: dict[str, Any]) -> str | None:
        """Return the text of a key, None if it is missing or faulty. TOML has dates, too."""
        if key not in content:
            if key in _REQUIRED:
                self._report((name,), f"it has no `{key}`")
            return None
        value = content[key]
        if key == "accessed" and hasattr(value, "isoformat"):
            value = value.isoformat()
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            self._report((name, key), f"`{key}` is not a text")
            return None
        if key == "sha256":
            value = value.lower()
        fault = _CHECKS.get(key, _no_fault)(value)
        if fault:
            self._report((name, key), f"`{key}` is {fault}")
            return None
        return value.strip()

    def _excerpts(self, name: str, value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            self._report((name, "excerpts"), '`excerpts` is not a table such as `E1 = "text"`')
            return {}
        found = {}
        for key, text in value.items():
            if not EVIDENCE_EXCERPT.fullmatch(key):
                self._report((name, key), f"`{key}` is not the name of an excerpt, such as `E1`")
            elif not isinstance(text, str) or not text.strip():
                self._report((name, key), f"the excerpt `{key}` is not a text")
            else:
                found[key] = text
        return found

    def _report(self, where: tuple[str, ...], reason: str) -> None:
        words = {"path": self.path, "name": where[0], "reason": reason}
        self.found.append(codes.INVALID_EVIDENCE_RECORD.at(self._line(where), **words))

    def _line(self, where: tuple[str, ...]) -> int | None:
        """Return the line of a record, or of one of its keys, if it is written as usual."""
        start = -1
        for key in where:
            name = rf"[\"']?{re.escape(key)}[\"']?"
            pattern = rf"^[ \t{{,]*(?:\[+[ \t]*)?{name}[ \t]*(?=[\]=:.])"
            match = re.compile(pattern, re.MULTILINE).search(self.text, start + 1)
            if match is None:
                break
            start = match.end()
        return self.text.count("\n", 0, start) + 1 if start >= 0 else None


def _no_fault(_: str) -> str:
    return ""


def _date_fault(text: str) -> str:
    return "" if ISO_TIME.fullmatch(text) else "not a date such as `2026-11-19`"


def _hash_fault(text: str) -> str:
    return "" if _SHA256.fullmatch(text) else "not the 64 hexadecimal digits of a SHA-256"


_CHECKS: dict[str, Callable[[str], str]] = {"accessed": _date_fault, "sha256": _hash_fault}


# What a text cites


class CitationFault(NamedTuple):
    """An anchor that leads nowhere, or a quotation that is not in its excerpt."""

    is_quotation: bool
    value: str  # the anchor; for a quotation its words
    anchor: str
    excerpt: str = ""


def cited_anchors(text: str) -> Iterator[str]:
    """Yield the anchors of records and excerpts in a text, as written."""
    if "EV-" in text:
        yield from EVIDENCE_ANCHOR.findall(_EXTERNAL.sub("", text))


def citation_faults(text: str, pack: EvidencePack) -> Iterator[CitationFault]:
    """Yield the faults of a text: unknown anchors, then wrong quotations."""
    if "EV-" not in text:
        return
    text = _EXTERNAL.sub("", text)
    for anchor in dict.fromkeys(EVIDENCE_ANCHOR.findall(text)):
        if pack.find(anchor) is None:
            yield CitationFault(is_quotation=False, value=anchor, anchor=anchor)
    for match in QUOTED_EXCERPT.finditer(text):
        quotation = match["straight"] if match["curly"] is None else match["curly"]
        known = pack.find(match["anchor"])
        if known and known[1] is not None and not is_part(quotation, known[1]):
            yield CitationFault(
                is_quotation=True, value=quotation, anchor=match["anchor"], excerpt=known[1]
            )


def is_part(quotation: str, excerpt: str) -> bool:
    """Return whether a quotation is in an excerpt letter for letter; white space is normalised."""
    return " ".join(quotation.split()) in " ".join(excerpt.split())


def describe_fault(what: str, fault: CitationFault, pack: EvidencePack) -> Diagnostic:
    """Return the diagnostic of a fault in a message."""
    words = {"what": what, "anchor": fault.anchor, "path": pack.path}
    if fault.is_quotation:
        excerpt = cut(" ".join(fault.excerpt.split()), _MOST_SHOWN)
        shown = cut(" ".join(fault.value.split()), _MOST_SHOWN)
        return codes.MISQUOTED_EXCERPT.at(None, quotation=shown, excerpt=excerpt, **words)
    return codes.UNKNOWN_EVIDENCE.at(None, known=pack.describe_known(fault.anchor), **words)


def body_faults(body: str, thread_id: str, pack: EvidencePack) -> Iterator[Diagnostic]:
    """Yield the errors of a message's body: in its delta blocks, and in its own prose.

    Block quotations, code and other blocks are other people's words or examples. Line numbers count
    in the body.
    """
    if "EV-" not in body and "\\u" not in body:
        return
    blocks = parse_blocks(body)
    if any(map(is_delta_fence, blocks)):
        yield from _block_faults(read_blocks(blocks, thread_id), pack)
    for block in blocks:
        if block.kind in (BlockKind.HEADING, BlockKind.PARAGRAPH) and not block.quoted:
            for fault in citation_faults(_without_code(block.text), pack):
                before = block.text[: max(0, block.text.find(fault.value))]
                line = block.line + before.count("\n")
                yield describe_fault("The message", fault, pack)._replace(line=line)


def _without_code(text: str) -> str:
    """Return a text of Markdown without its code spans."""
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    closing: dict[int, int] = {}  # by the length of a run: where the next such run ends
    ends = [0] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        start, end = runs[index]
        ends[index] = closing.get(end - start, 0)
        closing[end - start] = end
    parts, reached = [], 0
    for (start, _), end in zip(runs, ends, strict=True):
        if end and start >= reached:
            parts.append(text[reached:start])
            reached = end
    return "".join([*parts, text[reached:]])


def _block_faults(blocks: Iterable[DeltaBlock], pack: EvidencePack) -> Iterator[Diagnostic]:
    for block in blocks:
        delta = block.delta
        for key, value in delta.payload.items() if delta else ():
            faults = (fault for text in texts_in(value) for fault in citation_faults(text, pack))
            for fault in dict.fromkeys(faults):
                found = describe_fault(f"Block {block.number}", fault, pack)
                line = line_at(block, ("payload", key))
                yield found._replace(line=line).in_block(block.number, field=f"payload.{key}")


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts of a value: a text, a list or an object of texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
