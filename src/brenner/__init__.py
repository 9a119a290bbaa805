"""Brenner: a research group of AI coding agents and one operator, working by mail.

The public interface: pure functions on frozen values, those values, and `open`, which alone reads
files and the mailbox. A name is imported when it is first used, so that `import brenner` is cheap.
"""

TYPE_CHECKING = False  # `typing.TYPE_CHECKING`; importing `typing` costs as much as the interpreter
if TYPE_CHECKING:
    from brenner.artifact.diff import Diff as Diff
    from brenner.artifact.diff import diff as diff
    from brenner.artifact.diff import summary as summary
    from brenner.artifact.format import ParsedArtifact as ParsedArtifact
    from brenner.artifact.merge.engine import Merge as Merge
    from brenner.artifact.merge.engine import merge as merge
    from brenner.artifact.model import Artifact as Artifact
    from brenner.artifact.model import Item as Item
    from brenner.artifact.model import Metadata as Metadata
    from brenner.artifact.parse import parse_artifact as parse_artifact
    from brenner.artifact.render import render_artifact as render_artifact
    from brenner.artifact.serialize import artifact_json as artifact_json
    from brenner.artifact.state import Change as Change
    from brenner.artifact.state import Conflict as Conflict
    from brenner.artifact.state import Entry as Entry
    from brenner.artifact.state import Source as Source
    from brenner.artifact.state import State as State
    from brenner.artifact.state import empty_state as empty_state
    from brenner.diagnostics.catalogue import CATALOGUE as CATALOGUE
    from brenner.diagnostics.catalogue import find_code as find_code
    from brenner.diagnostics.model import BrennerError as BrennerError
    from brenner.diagnostics.model import Code as Code
    from brenner.diagnostics.model import Diagnostic as Diagnostic
    from brenner.diagnostics.model import RequestError as RequestError
    from brenner.diagnostics.model import Severity as Severity
    from brenner.diagnostics.model import Summary as Summary
    from brenner.diagnostics.model import UnavailableError as UnavailableError
    from brenner.lint.linter import LintReport as LintReport
    from brenner.lint.linter import lint as lint
    from brenner.lint.linter import lint_text as lint_text
    from brenner.mail.mailbox import Mailbox as Mailbox
    from brenner.mail.model import Profile as Profile
    from brenner.mail.search import Query as Query
    from brenner.mail.search import parse_query as parse_query
    from brenner.protocol.delta.parse import read_deltas as read_deltas
    from brenner.protocol.delta.parse import render_delta as render_delta
    from brenner.protocol.delta.schema import Delta as Delta
    from brenner.protocol.delta.schema import DeltaBlock as DeltaBlock
    from brenner.protocol.delta.schema import Operation as Operation
    from brenner.protocol.messages import Message as Message
    from brenner.protocol.messages import MessageFile as MessageFile
    from brenner.protocol.messages import StoredMessage as StoredMessage
    from brenner.protocol.messages import content_hash as content_hash
    from brenner.protocol.messages import parse_message_file as parse_message_file
    from brenner.protocol.messages import render_message_file as render_message_file
    from brenner.protocol.roster import Mode as Mode
    from brenner.protocol.roster import Role as Role
    from brenner.protocol.roster import Roster as Roster
    from brenner.protocol.roster import RosterEntry as RosterEntry
    from brenner.protocol.roster import RosterPreset as RosterPreset
    from brenner.protocol.roster import validate_roster as validate_roster
    from brenner.protocol.roster import validate_roster_coverage as validate_roster_coverage
    from brenner.protocol.subjects import Subject as Subject
    from brenner.protocol.subjects import check_subject as check_subject
    from brenner.protocol.subjects import compose_subject as compose_subject
    from brenner.protocol.subjects import parse_subject as parse_subject
    from brenner.protocol.thread_ids import CrossReference as CrossReference
    from brenner.protocol.thread_ids import ThreadKind as ThreadKind
    from brenner.protocol.thread_ids import check_thread_id as check_thread_id
    from brenner.protocol.thread_ids import classify_thread_id as classify_thread_id
    from brenner.protocol.thread_ids import cross_reference as cross_reference
    from brenner.protocol.thread_ids import generate_thread_id as generate_thread_id
    from brenner.protocol.thread_ids import suggest_thread_id as suggest_thread_id
    from brenner.protocol.validate import CheckedDelta as CheckedDelta
    from brenner.protocol.validate import Report as Report
    from brenner.protocol.validate import check_message as check_message
    from brenner.services.compile import CompileOptions as CompileOptions
    from brenner.services.compile import CompileResult as CompileResult
    from brenner.services.persist import PersistOptions as PersistOptions
    from brenner.services.send import Outcome as Outcome
    from brenner.services.send import SendOptions as SendOptions
    from brenner.services.start_session import Started as Started
    from brenner.services.start_session import StartOptions as StartOptions
    from brenner.services.versions import LoadedVersion as LoadedVersion
    from brenner.services.versions import Verification as Verification
    from brenner.services.workspace import Workspace as Workspace
    from brenner.session.model import VersionRecord as VersionRecord
    from brenner.session.model import read_record as read_record

    Compiled = CompileResult
    Desk = Workspace
    Posted = StoredMessage
    PostedMessage = StoredMessage
    Refused = RequestError
    Stored = StoredMessage
    Unavailable = UnavailableError

__version__ = "0.1.0"

_MODULES = {
    "brenner.artifact.diff": "Diff diff summary",
    "brenner.artifact.format": "ParsedArtifact",
    "brenner.artifact.merge.engine": "Merge merge",
    "brenner.artifact.model": "Artifact Item Metadata",
    "brenner.artifact.parse": "parse_artifact",
    "brenner.artifact.render": "render_artifact",
    "brenner.artifact.serialize": "artifact_json",
    "brenner.artifact.state": "Change Conflict Entry Source State empty_state",
    "brenner.diagnostics.catalogue": "CATALOGUE find_code",
    "brenner.diagnostics.model": "BrennerError Code Diagnostic RequestError "
    "Severity Summary UnavailableError",
    "brenner.lint.linter": "LintReport lint lint_text",
    "brenner.mail.mailbox": "Mailbox",
    "brenner.mail.model": "Profile",
    "brenner.mail.search": "Query parse_query",
    "brenner.protocol.delta.parse": "read_deltas render_delta",
    "brenner.protocol.delta.schema": "Delta DeltaBlock Operation",
    "brenner.protocol.messages": "Message MessageFile StoredMessage content_hash "
    "parse_message_file render_message_file",
    "brenner.protocol.roster": "Mode Role Roster RosterEntry "
    "RosterPreset validate_roster validate_roster_coverage",
    "brenner.protocol.subjects": "Subject check_subject compose_subject parse_subject",
    "brenner.protocol.thread_ids": "CrossReference ThreadKind check_thread_id classify_thread_id "
    "cross_reference generate_thread_id suggest_thread_id",
    "brenner.protocol.validate": "CheckedDelta Report check_message",
    "brenner.services.compile": "CompileOptions CompileResult",
    "brenner.services.persist": "PersistOptions",
    "brenner.services.send": "Outcome SendOptions",
    "brenner.services.start_session": "StartOptions Started",
    "brenner.services.versions": "LoadedVersion Verification",
    "brenner.services.workspace": "Workspace",
    "brenner.session.model": "VersionRecord read_record",
}
_ALIASES = {  # names of 0.1.0
    "Compiled": "CompileResult",
    "Desk": "Workspace",
    "Posted": "StoredMessage",
    "PostedMessage": "StoredMessage",
    "Refused": "RequestError",
    "Stored": "StoredMessage",
    "Unavailable": "UnavailableError",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [*_MODULE_OF, *_ALIASES, "__version__", "open"]  # noqa: PLE0604


def open(  # noqa: A001  (`brenner.open` is what one types)
    project: str | None = None, store: str | None = None, actor: str | None = None
) -> "Workspace":
    """Open the project of a folder: the given one, or the one of the current folder.

    Creates the mailbox if there is none. `actor` is the sender, the operator by default.
    """
    from brenner.services.workspace import open_workspace

    return open_workspace(project, store, actor)


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    real = _ALIASES.get(name, name)
    if real not in _MODULE_OF:
        message = f"module 'brenner' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # paid on first use only

    return getattr(import_module(_MODULE_OF[real]), real)
