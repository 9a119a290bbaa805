"""Codes for evidence packs, and for what messages cite of them (R31)."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_SPEC = "R31"
_CITE_SPEC = "companion, Anchors; R31"

NO_EVIDENCE_PACK = error(
    "NO_EVIDENCE_PACK",
    "The project has no evidence pack.",
    "Add the first record: `brenner evidence add --title TITLE --source URL --excerpt TEXT`. Or "
    'name an existing file in `brenner.toml`: `evidence_pack = "evidence.toml"`.',
    _SPEC,
)
EVIDENCE_PACK_UNREADABLE = error(
    "EVIDENCE_PACK_UNREADABLE",
    "Cannot read the evidence pack `{path}`: {reason}.",
    "Correct the file, or name another one in `brenner.toml` as `evidence_pack`.",
    _SPEC,
)
INVALID_EVIDENCE_RECORD = error(
    "INVALID_EVIDENCE_RECORD",
    "The record `{name}` in the evidence pack `{path}` is faulty: {reason}.",
    "Correct the record. It needs `title`, `source` and `accessed`. Optional are `sha256`, `file` "
    "and `excerpts`.",
    _SPEC,
)
UNKNOWN_EVIDENCE_KEY = warning(
    "UNKNOWN_EVIDENCE_KEY",
    "The record `{name}` in the evidence pack `{path}` has the unknown key `{key}`.{suggestion}",
    "Rename or remove the key. Known keys: `title`, `source`, `accessed`, `sha256`, `file`, "
    "`excerpts`.",
    _SPEC,
)
EVIDENCE_FILE_CHANGED = error(
    "EVIDENCE_FILE_CHANGED",
    "The file `{file}` of `{name}` is not the one that was recorded: its SHA-256 is {actual}.",
    "Restore the file. Or check the excerpts in the new file, then write its SHA-256 into the "
    "record.",
    _SPEC,
)
EVIDENCE_FILE_MISSING = error(
    "EVIDENCE_FILE_MISSING",
    "Cannot read the file `{file}` of `{name}`: {reason}.",
    "Restore the file, correct its path in the record, or remove `sha256` from the record.",
    _SPEC,
)
EVIDENCE_FILE_UNKNOWN = info(
    "EVIDENCE_FILE_UNKNOWN",
    "`{name}` has a `sha256`, but names no file, so it cannot be compared.",
    'Add the path of your copy to the record, relative to the project: `file = "PATH"`.',
    _SPEC,
)
EVIDENCE_NOT_CHECKED = warning(
    "EVIDENCE_NOT_CHECKED",
    "Anchors of evidence were not checked: {reason}",
    "The operator corrects the evidence pack: `brenner evidence check`.",
    _SPEC,
)
UNCITED_EXCERPT = info(
    "UNCITED_EXCERPT",
    "No session cites `{anchor}`.",
    "No action is needed. To use it in a kickoff: `--evidence {anchor}`.",
    _SPEC,
)
UNKNOWN_EVIDENCE = error(
    "UNKNOWN_EVIDENCE",
    "{what} cites `{anchor}`, which is not in the evidence pack `{path}`. {known}",
    "Cite what is there. For a source outside the pack write `[external: source]`, or ask the "
    "operator to add it.",
    _CITE_SPEC,
)
MISQUOTED_EXCERPT = error(
    "MISQUOTED_EXCERPT",
    "{what} quotes `{anchor}`, but these words are not in the excerpt: “{quotation}”",
    "Quote it letter for letter, or leave out the quotation marks. The excerpt: “{excerpt}”",
    _CITE_SPEC,
)
EVIDENCE_NOT_ADDED = error(
    "EVIDENCE_NOT_ADDED",
    "The record was not added: {reason}.",
    "Correct that, then repeat the command. Nothing was written.",
    _SPEC,
)
