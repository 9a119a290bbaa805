"""Brenner: a research group of AI coding agents and one operator, working by mail.

This is the public surface: pure functions on frozen values, such values, and `open`, which alone
meets the world. Each is imported when it is first asked for, so that `import brenner` costs
nothing.
"""

TYPE_CHECKING = False  # as `typing` has it; importing that costs as much as the interpreter
if TYPE_CHECKING:
    from brenner.artifact.diff import Diff, diff, summary
    from brenner.artifact.format import ParsedArtifact
    from brenner.artifact.merge.engine import Merge, merge
    from brenner.artifact.model import Artifact, Item, Metadata
    from brenner.artifact.parse import parse_artifact
    from brenner.artifact.render import render_artifact
    from brenner.artifact.serialize import artifact_json
    from brenner.artifact.state import Change, Conflict, Entry, Source, State, empty_state
    from brenner.diagnostics.catalogue import CATALOGUE, find_code
    from brenner.diagnostics.model import (
        BrennerError,
        Code,
        Diagnostic,
        Refused,
        Severity,
        Summary,
        Unavailable,
    )
    from brenner.lint.linter import LintReport, lint, lint_text
    from brenner.mail.mailbox import Mailbox
    from brenner.mail.model import Profile, Stored
    from brenner.mail.search import Query, parse_query
    from brenner.protocol.delta.parse import read_deltas, render_delta
    from brenner.protocol.delta.schema import Delta, DeltaBlock, Operation
    from brenner.protocol.messages import (
        Message,
        MessageFile,
        Posted,
        content_hash,
        parse_message_file,
        render_message_file,
    )
    from brenner.protocol.roster import (
        Mode,
        Role,
        Roster,
        RosterEntry,
        RosterPreset,
        validate_roster,
        validate_roster_coverage,
    )
    from brenner.protocol.subjects import Subject, check_subject, compose_subject, parse_subject
    from brenner.protocol.thread_ids import (
        CrossReference,
        ThreadKind,
        check_thread_id,
        classify_thread_id,
        cross_reference,
        generate_thread_id,
        suggest_thread_id,
    )
    from brenner.protocol.validate import CheckedDelta, Report, check_message
    from brenner.services.compile import Compiled, CompileOptions
    from brenner.services.persist import PersistOptions
    from brenner.services.send import Outcome, SendOptions
    from brenner.services.start_session import Started, StartOptions
    from brenner.services.versions import LoadedVersion, Verification
    from brenner.services.workspace import Desk
    from brenner.session.model import VersionRecord, read_record

__version__ = "0.1.0"

_HOMES = {
    "brenner.artifact.diff": (
        "Diff",
        "diff",
        "summary",
    ),
    "brenner.artifact.format": ("ParsedArtifact",),
    "brenner.artifact.merge.engine": (
        "Merge",
        "merge",
    ),
    "brenner.artifact.model": (
        "Artifact",
        "Item",
        "Metadata",
    ),
    "brenner.artifact.parse": ("parse_artifact",),
    "brenner.artifact.render": ("render_artifact",),
    "brenner.artifact.serialize": ("artifact_json",),
    "brenner.artifact.state": (
        "Change",
        "Conflict",
        "Entry",
        "Source",
        "State",
        "empty_state",
    ),
    "brenner.diagnostics.catalogue": (
        "CATALOGUE",
        "find_code",
    ),
    "brenner.diagnostics.model": (
        "BrennerError",
        "Code",
        "Diagnostic",
        "Refused",
        "Severity",
        "Summary",
        "Unavailable",
    ),
    "brenner.lint.linter": (
        "LintReport",
        "lint",
        "lint_text",
    ),
    "brenner.mail.mailbox": ("Mailbox",),
    "brenner.mail.model": (
        "Profile",
        "Stored",
    ),
    "brenner.mail.search": (
        "Query",
        "parse_query",
    ),
    "brenner.protocol.delta.parse": (
        "read_deltas",
        "render_delta",
    ),
    "brenner.protocol.delta.schema": (
        "Delta",
        "DeltaBlock",
        "Operation",
    ),
    "brenner.protocol.messages": (
        "Message",
        "MessageFile",
        "Posted",
        "content_hash",
        "parse_message_file",
        "render_message_file",
    ),
    "brenner.protocol.roster": (
        "Mode",
        "Role",
        "Roster",
        "RosterEntry",
        "RosterPreset",
        "validate_roster",
        "validate_roster_coverage",
    ),
    "brenner.protocol.subjects": (
        "Subject",
        "check_subject",
        "compose_subject",
        "parse_subject",
    ),
    "brenner.protocol.thread_ids": (
        "CrossReference",
        "ThreadKind",
        "check_thread_id",
        "classify_thread_id",
        "cross_reference",
        "generate_thread_id",
        "suggest_thread_id",
    ),
    "brenner.protocol.validate": (
        "CheckedDelta",
        "Report",
        "check_message",
    ),
    "brenner.services.compile": (
        "CompileOptions",
        "Compiled",
    ),
    "brenner.services.persist": ("PersistOptions",),
    "brenner.services.send": (
        "Outcome",
        "SendOptions",
    ),
    "brenner.services.start_session": (
        "StartOptions",
        "Started",
    ),
    "brenner.services.versions": (
        "LoadedVersion",
        "Verification",
    ),
    "brenner.services.workspace": ("Desk",),
    "brenner.session.model": (
        "VersionRecord",
        "read_record",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOGUE",
    "Artifact",
    "BrennerError",
    "Change",
    "CheckedDelta",
    "Code",
    "CompileOptions",
    "Compiled",
    "Conflict",
    "CrossReference",
    "Delta",
    "DeltaBlock",
    "Desk",
    "Diagnostic",
    "Diff",
    "Entry",
    "Item",
    "LintReport",
    "LoadedVersion",
    "Mailbox",
    "Merge",
    "Message",
    "MessageFile",
    "Metadata",
    "Mode",
    "Operation",
    "Outcome",
    "ParsedArtifact",
    "PersistOptions",
    "Posted",
    "Profile",
    "Query",
    "Refused",
    "Report",
    "Role",
    "Roster",
    "RosterEntry",
    "RosterPreset",
    "SendOptions",
    "Severity",
    "Source",
    "StartOptions",
    "Started",
    "State",
    "Stored",
    "Subject",
    "Summary",
    "ThreadKind",
    "Unavailable",
    "Verification",
    "VersionRecord",
    "__version__",
    "artifact_json",
    "check_message",
    "check_subject",
    "check_thread_id",
    "classify_thread_id",
    "compose_subject",
    "content_hash",
    "cross_reference",
    "diff",
    "empty_state",
    "find_code",
    "generate_thread_id",
    "lint",
    "lint_text",
    "merge",
    "open",
    "parse_artifact",
    "parse_message_file",
    "parse_query",
    "parse_subject",
    "read_deltas",
    "read_record",
    "render_artifact",
    "render_delta",
    "render_message_file",
    "suggest_thread_id",
    "summary",
    "validate_roster",
    "validate_roster_coverage",
]


def open(  # noqa: A001  (`brenner.open` is what one types)
    project: str | None = None, store: str | None = None, actor: str | None = None
) -> "Desk":
    """Sit down in a project: the one of that folder, or of the folder we are in.

    The mailbox is made where there is none. `actor` is who sends; the operator, if nobody is named.
    """
    from brenner.services.workspace import open_desk

    return open_desk(project, store, actor)


def __getattr__(name: str) -> object:
    """Import a public name from its home."""
    if name not in _HOME_OF:
        message = f"module 'brenner' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # only who asks for a name pays

    return getattr(import_module(_HOME_OF[name]), name)
