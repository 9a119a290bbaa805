"""Compose the COMPILED message that publishes a version: subject and extended body.

Parsing the message returns thread, version, path, the exact artifact and the exact record, whatever
the artifact and the mail contain (R10, R22).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from brenner.artifact.diff import KILLED, ChangeKind, Diff, ItemChange, changed_ids, summary
from brenner.artifact.merge.engine import OPERATOR
from brenner.artifact.model import NO_RESEARCH_THREAD, Artifact, Reference, item_sort_key
from brenner.artifact.state import BlockOutcome, Conflict, Entry, count_outcomes
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.diagnostics.codes.publishing import ARTIFACT_TOO_LARGE_TO_INLINE
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.diagnostics.truncate import count_with_omitted
from brenner.limits import MOST_BODY_BYTES, MOST_INLINE_ARTIFACT_BYTES
from brenner.markdown.escape import escape, render_table
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import quote, quote_cell, quote_in_fence, short_description
from brenner.protocol.compiled import RECORD_INFO
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.message_types import COMPILED
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.session.model import has_third_alternative, render_record
from brenner.text import plural

if TYPE_CHECKING:
    from brenner.lint.linter import LintReport
    from brenner.protocol.messages import StoredMessage
    from brenner.session.model import VersionRecord
    from brenner.session.unanswered import UnansweredItem

_MOST_DESCRIPTION = 70  # with `v12 ` within the advised length of a subject
_SECTION_ORDER = {section.prefix: number for number, section in enumerate(SECTIONS.values())}


class Contributor(NamedTuple):
    """An agent, the number of its applied delta blocks, and the items that they changed."""

    agent: str
    deltas: int
    items: tuple[str, ...]


class CompiledVersion(NamedTuple):
    """A version, compiled and not yet published, with everything that its message contains.

    `text` is the rendered artifact. `read` are the messages that it includes, and `left` counts the
    unread ones that it leaves for later. `unresolved` are its dangling references. `unverified` are
    the messages with applied blocks whose sender is not authenticated. `unanswered` are the items
    that still ask for an answer when the version closes the session (R28).
    """

    thread_id: str
    previous_version: int | None
    artifact: Artifact
    text: str
    diff: Diff
    ledger: tuple[Entry, ...]
    contributors: tuple[Contributor, ...]
    lint: LintReport
    conflicts: tuple[Conflict, ...]
    not_contributed: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    record: VersionRecord
    read: tuple[StoredMessage, ...] = ()
    left: int = 0
    unresolved: tuple[Diagnostic, ...] = ()
    unverified: tuple[int, ...] = ()
    unanswered: tuple[UnansweredItem, ...] = ()

    @property
    def number(self) -> int:
        return self.record.version


def contributors_of(ledger: tuple[Entry, ...], artifact: Artifact) -> tuple[Contributor, ...]:
    """Return the contributors to this version, in the order of the ledger.

    If a version applies nothing, return those of the earlier versions with a count of 0: a closing
    or an adopted version has contributors, too.
    """
    applied: dict[str, list[str]] = {}
    for entry in ledger:
        if entry.state is BlockOutcome.APPLIED:
            applied.setdefault(entry.agent, []).append(entry.item_id or "")
    if applied:
        return tuple(
            Contributor(agent, len(items), tuple(sorted(set(items) - {""}, key=_artifact_order)))
            for agent, items in applied.items()
        )
    metadata = artifact.metadata
    names = dict.fromkeys(filter(str.strip, metadata.contributors))
    names = names or {metadata.compiled_by or OPERATOR: None}
    return tuple(Contributor(name, 0, ()) for name in names)


def _artifact_order(item_id: str) -> tuple[int, tuple[int, str]]:
    match = ITEM_ID.fullmatch(item_id)
    return (
        _SECTION_ORDER[match[1] or item_id] if match else len(_SECTION_ORDER),
        item_sort_key(item_id),
    )


def describe_changes(diff: Diff, ledger: tuple[Entry, ...]) -> str:
    """Describe the changes in the few words that fit into a subject."""
    if is_first_version(diff):
        return _describe_first_version(diff)
    if diff.items:
        text = summary(diff).rstrip(".")
        by_verb = {verb: ids for verb, ids in changed_ids(diff).items() if ids}
        listed = "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in by_verb.items())
        counted = ", ".join(f"{len(ids)} {verb}" for verb, ids in by_verb.items())
        counted = counted or plural(len(diff.items), "item") + " changed"
        words = (f"{text[0].lower()}{text[1:]}", listed, counted)
        return next((each for each in words if len(each) <= _MOST_DESCRIPTION), words[-1])
    status = next((change for change in diff.metadata if change.path == ("status",)), None)
    if status and "closed" in (status.old, status.new):
        return "session closed" if status.new == "closed" else "session reopened"
    applied = sum(entry.state is BlockOutcome.APPLIED for entry in ledger)
    return f"no item changed, {plural(applied, 'delta')} applied" if ledger else "no item changed"


def is_first_version(diff: Diff) -> bool:
    """Return whether this is the difference to the empty artifact before the first version."""
    changes = [change for change in diff.metadata if change.path == ("version",)]
    return any(change.new == 1 and not change.old for change in changes)


def _describe_first_version(diff: Diff) -> str:
    active = [
        change
        for change in diff.items
        if ChangeKind.ADDED in change.kinds and ChangeKind.KILLED not in change.kinds
    ]
    hypotheses = sum(change.section == HYPOTHESIS_SLATE.id for change in active)
    if hypotheses:
        return f"initial artifact with {plural(hypotheses, 'hypothesis', 'hypotheses')}"
    items = sum(change.section != RESEARCH_THREAD.id for change in active)
    return f"initial artifact with {plural(items, 'item')}" if items else "initial artifact"


# Lines of a COMPILED body: lists of limited length, and the commands that show the rest


MOST_LISTED = 50
MOST_TITLE = 120
MOST_NAME = 64
MOST_ID = 24

_Each = TypeVar("_Each")


def render_section(name: str, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f"## {name}\n{text}\n"


def limited_lines(found: Sequence[_Each], line: Callable[[_Each], str], command: str) -> list[str]:
    """Return a line for each value. If there are too many, add the command that shows all."""
    lines = [line(each) for each in found[:MOST_LISTED]]
    more = count_with_omitted(found[MOST_LISTED:])
    return lines if more <= 0 else [*lines, f"- and {more} more: `{command}`"]


def message_and_fix(found: Diagnostic) -> str:
    return f"{quote(found.message)} {quote(found.fix)}"


def artifact_command(name: str, content: CompiledVersion) -> str:
    """Return a command of `brenner artifact` for this version."""
    return f"brenner artifact {name} {version_argument(content, content.number)}"


def version_argument(content: CompiledVersion, version: int | None = None) -> str:
    """Return the thread, or a version of it, as a command argument."""
    end_of_options = "-- " if content.thread_id.startswith("-") else ""
    return f"{end_of_options}{content.thread_id}" + (f"@v{version}" if version is not None else "")


# Optional sections of a COMPILED body


_MOST_ERRORS = 3  # per block; also values per conflict


def _optional_sections(content: CompiledVersion) -> list[str]:
    applied = (each for each in content.ledger if each.state is BlockOutcome.APPLIED)
    notes = (found for entry in applied for found in entry.diagnostics)
    left_out = [found for found in notes if found.code is CIRCULAR_REFERENCE]
    refused = [entry for entry in content.ledger if entry.state is BlockOutcome.REFUSED]
    reported = {found.id for found in content.lint.violations}
    warnings = [found for found in content.warnings if reported.isdisjoint(found.also)]
    ledger, show = artifact_command("ledger", content), artifact_command("show", content)
    check_references = f"brenner refs check {version_argument(content)}"
    check_thread = f"brenner check --thread={content.thread_id}"
    unresolved, stray = content.unresolved, content.not_contributed
    lists = {
        # each with its location, its errors and their fixes (R7)
        "Rejected Blocks": limited_lines(refused, _refused_block_lines, ledger),
        # those of the merge that the linter does not report as well
        "Warnings": limited_lines(warnings, _diagnostic_line, ledger),
        # they would close a cycle: their blocks are applied without them (R21)
        "References Left Out": limited_lines(left_out, _diagnostic_line, ledger),
        # every version lists them until they resolve (R21)
        "Unresolved References": limited_lines(unresolved, _diagnostic_line, check_references),
        # both sides of every field on which authors disagree (R12)
        "Open Conflicts": limited_lines(content.conflicts, _conflict_lines, show),
        # what a result or a false assumption asks, if the session ends without an answer (R28)
        "Left Unanswered": limited_lines(content.unanswered, _unanswered_line, show),
        # what looks like a contribution but does not count (R4)
        "Not Contributed": limited_lines(stray, _diagnostic_line, check_thread),
    }
    return [render_section(name, lines) for name, lines in lists.items() if lines]


def _unanswered_line(each: UnansweredItem) -> str:
    return f"- {each.fact} (message {each.message_id})"


def _refused_block_lines(entry: Entry) -> str:
    """Render one block: a head line, and a line for each of its errors."""
    about = (entry.operation, entry.section, entry.target_id)
    description = ", ".join(quote(word, MOST_NAME) for word in about if word)
    head = f"- Message {entry.message_id}, block {entry.block}, "
    head += f"{quote(entry.agent, MOST_NAME)}{': ' if description else ''}{description}"
    errors = [found for found in entry.diagnostics if found.severity is ERROR]
    lines = []
    for found in errors[:_MOST_ERRORS]:
        place = f"line {found.line or entry.line}"
        lines.append(f"  - {found.id} ({place}): {message_and_fix(found)}")
    more = Summary.of(entry.diagnostics).errors - len(lines)
    if more > 0:
        lines.append(f"  - and {plural(more, 'error')} more")
    return "\n".join([head, *lines])


def _conflict_lines(conflict: Conflict) -> str:
    field = f"{quote(conflict.item_id, MOST_ID)} {quote(conflict.field, MOST_NAME)}"
    current = f"  - current: {_value_and_author(conflict.value, conflict.source.agent)}"
    shown = conflict.displaced[:_MOST_ERRORS]
    lost = [f"  - displaced: {_value_and_author(each.value, each.source.agent)}" for each in shown]
    lines = [f"- {field}, since v{conflict.version}", current, *lost]
    more = len(conflict.displaced) - len(shown)
    if more > 0:
        lines.append(f"  - and {plural(more, 'value')} more")
    return "\n".join(lines)


def _value_and_author(value: object, agent: str) -> str:
    return f"{quote(_value_text(value)) or 'nothing'} ({quote(agent, MOST_NAME)})"


def _value_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(
            " ".join(each) if isinstance(each, Reference) else str(each) for each in value
        )
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {each}" for key, each in value.items())
    return str(value)


def _diagnostic_line(found: Diagnostic) -> str:
    words = [f"message {found.message_id}"] if found.message_id is not None else []
    words += [f"line {found.line}"] if found.line else []
    place = f" ({', '.join(words)})" if words else ""
    return f"- {found.id}{place}: {message_and_fix(found)}"


# Sections of a COMPILED body that the publish document lists, in its order
#
# Text of agents is escaped and truncated. Long lists end with the number of further entries and the
# command that shows all.


_MOST_ITEMS = 30  # per contributor
_MOST_FIELDS = 6
_MOST_SUMMARY = 1000

# The publish document's names for the sections of the artifact, in its order
_LABELS = (
    *("Research Thread", "Hypotheses", "Predictions", "Tests"),
    *("Assumptions", "Anomalies", "Critiques"),
)
_NOUNS = (
    *(("hypothesis", "hypotheses"), ("prediction", ""), ("test", "")),
    *(("assumption", ""), ("anomaly", "anomalies"), ("critique", "")),
)


def metadata_section(content: CompiledVersion) -> str:
    """Render thread, version, time and compiler."""
    lines = [f"- **Thread ID**: {escape(content.thread_id)}", f"- **Version**: v{content.number}"]
    if content.previous_version is not None:
        lines.append(f"- **Previous Version**: v{content.previous_version}")
    lines.append(f"- **Compiled At**: {quote(content.record.compiled_at, MOST_NAME)}")
    lines.append(f"- **Compiler**: {quote(content.record.compiled_by, MOST_NAME)}")
    return render_section("Metadata", lines)


def summary_section(content: CompiledVersion) -> str:
    """Render a summary of the changes and of the outcomes of the blocks."""
    changed = (
        f"Initial artifact: {_item_counts(content.artifact)}."
        if is_first_version(content.diff)
        else summary(content.diff)
    )
    words = [quote(changed, _MOST_SUMMARY)]
    adopted = content.record.adopted
    if adopted:
        words = [f"The unchanged artifact of message {adopted.id}, which another program compiled."]
    if content.ledger:
        outcomes = count_outcomes(content.ledger)
        words.append(
            f"{plural(outcomes['applied'], 'delta block')} applied, "
            f"{outcomes['refused']} rejected, "
            f"{plural(outcomes['duplicate'], 'duplicate')}."
        )
    return render_section("Summary", [" ".join(words)])


def _item_counts(artifact: Artifact) -> str:
    numbers = list(statistics(artifact).values())[1:]
    counts_by_section = zip(numbers, _NOUNS, strict=True)
    return (
        ", ".join(plural(number, *noun) for number, noun in counts_by_section if number)
        or "no items yet"
    )


def contributors_section(content: CompiledVersion) -> str:
    """Render the table of agents, with the number of their deltas and their items."""
    header = ("Agent", "Delta Count", "Items Added/Modified")
    rows = [_contributor_row(each) for each in content.contributors[:MOST_LISTED]]
    lines = [render_table(header, rows)]
    more = len(content.contributors) - MOST_LISTED
    if more > 0:
        lines += ["", f"And {more} more: `{artifact_command('ledger', content)}`."]
    return render_section("Contributors", [*lines, *_unverified_lines(content)])


def _unverified_lines(content: CompiledVersion) -> list[str]:
    """Name the messages whose sender is not authenticated, since readers rely on the table."""
    if not content.unverified:
        return []
    agents = {entry.message_id: quote(entry.agent, MOST_NAME) for entry in content.ledger}
    senders = [
        f"message {each} ({agents.get(each, '')})" for each in content.unverified[:MOST_LISTED]
    ]
    more = len(content.unverified) - MOST_LISTED
    rest = f" and {more} more: `{artifact_command('ledger', content)}`" if more > 0 else ""
    return ["", f"Unverified (any client may have sent it): {', '.join(senders)}{rest}."]


def _contributor_row(contributor: Contributor) -> tuple[str, str, str]:
    listed = _joined([quote_cell(item, MOST_ID) for item in contributor.items], _MOST_ITEMS)
    return quote_cell(contributor.agent, MOST_NAME), str(contributor.deltas), listed


def changes_section(content: CompiledVersion) -> str:
    """Render new, modified and killed items. The first version is compared with the empty v0."""
    before = content.previous_version or 0
    changes_shown = content.diff.items if before else map(_question_as_added, content.diff.items)
    found = sorted(changes_shown, key=_kind_order)
    shows_all = (
        f"brenner artifact diff {version_argument(content, before)} "
        f"{content.thread_id}@v{content.number}"
    )
    lines = limited_lines(found, _change_line, shows_all)
    fields = dict.fromkeys(change.path[0] for change in content.diff.metadata)
    if not found:
        rest = f" Metadata: {', '.join(quote(name, MOST_ID) for name in fields)}."
        lines.append(f"No item changed.{rest if fields else ''}")
    return render_section(f"Changes from v{before}", lines)


def _question_as_added(change: ItemChange) -> ItemChange:
    """Mark the research question as added: its item exists even in v0, but the question is new."""
    is_question = change.section == RESEARCH_THREAD.id
    return change._replace(kinds=(ChangeKind.ADDED,)) if is_question else change


def _kind_order(change: ItemChange) -> int:
    """Sort new items first, then modified ones, then killed or removed ones."""
    if ChangeKind.KILLED in change.kinds or ChangeKind.REMOVED in change.kinds:
        return 2
    return 0 if ChangeKind.ADDED in change.kinds else 1


def _change_line(change: ItemChange) -> str:
    """Render one item: kind of change, ID, title, changed fields, reason for a kill."""
    new = {each.path: each.new for each in change.fields}
    title = change.title
    if change.section == RESEARCH_THREAD.id:
        title = str(new.get(("statement",)) or change.id)
    words = f"- **{' and '.join(change.kinds).capitalize()}** "
    words += quote(change.id, MOST_ID) or "an item without an ID"
    if title != change.id:
        words += f": {quote(title, MOST_TITLE)}"
    if ChangeKind.MODIFIED in change.kinds:
        words += f" ({_changed_fields(change)})"
    reason = new.get((KILLED, "reason"))
    if ChangeKind.KILLED in change.kinds and isinstance(reason, str):
        words += f" (reason: {quote(reason, MOST_TITLE)})"
    return words


def _changed_fields(change: ItemChange) -> str:
    paths = [each.path for each in change.fields]
    changed = [path for path in paths if path[0] != KILLED] or paths
    names = dict.fromkeys(path[-1] if path[0] == "predictions" else path[0] for path in changed)
    return _joined([quote(name, MOST_ID) for name in names], _MOST_FIELDS)


def _joined(words: Sequence[str], most: int) -> str:
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def statistics(artifact: Artifact) -> dict[str, int]:
    """Count the active items of each section, under the publish document's names."""
    numbers = [int(artifact.research_thread != NO_RESEARCH_THREAD)]
    numbers += [len(artifact.active(section)) for section in list(SECTIONS.values())[1:]]
    return dict(zip(_LABELS, numbers, strict=True))


def statistics_section(content: CompiledVersion) -> str:
    held = statistics(content.artifact)
    return render_section("Statistics", [f"- {label}: {number}" for label, number in held.items()])


def third_alternative(artifact: Artifact) -> str:
    """Return the publish document's word for `has_third_alternative`."""
    return "Present" if has_third_alternative(artifact) else "MISSING"


def schema_verdict(report: LintReport) -> str:
    """Return PASS or FAIL by the rules on front matter and structure."""
    error_ids = (found.id for found in report.violations if found.severity is ERROR)
    return "FAIL" if any(each.startswith(("EM-", "ES-")) for each in error_ids) else "PASS"


def validation_section(content: CompiledVersion) -> str:
    """Render the result of the linter. List its errors, because they are the next thing to fix."""
    errors = [found for found in content.lint.violations if found.severity is ERROR]
    lines = [
        f"- Schema: {schema_verdict(content.lint)}",
        f"- Linter: {content.lint.summary.warnings} warnings, {content.lint.summary.errors} errors",
        f"- Third Alternative: {third_alternative(content.artifact)}",
    ]
    named = limited_lines(errors, _lint_error, artifact_command("lint", content))
    lines[2:2] = [f"  {line}" for line in named]
    return render_section("Validation Status", lines)


def _lint_error(found: Diagnostic) -> str:
    item = f"{quote(found.item, MOST_ID)}: " if found.item else ""
    return f"- {found.shown_id}: {item}{message_and_fix(found)}"


def persistence_section(content: CompiledVersion) -> str:
    """Render the path of the artifact file. At publication a version is always a draft (R19)."""
    path = f"`artifacts/{content.thread_id}.md`"
    return render_section("Persistence", [f"- **Artifact Path**: {path}", "- **Status**: Draft"])


# The whole message


_MARGIN = 16 * 1024  # bytes for the headers of a message file
_SECTIONS = (
    *(metadata_section, summary_section, contributors_section, changes_section),
    *(statistics_section, validation_section, persistence_section),
)


def compose_compiled(
    content: CompiledVersion, recipients: tuple[str, ...]
) -> tuple[Message, Diagnostic | None]:
    """Compose the COMPILED message. Return a diagnostic, too, if the artifact does not fit in."""
    adopted = content.record.adopted
    about = (
        f"takes over the artifact of message {adopted.id}"
        if adopted
        else describe_changes(content.diff, content.ledger)
    )
    subject = compose_subject(COMPILED.name, short_description(f"v{content.number} {about}"))
    sections = (*(each(content) for each in _SECTIONS), *_optional_sections(content))
    before = "\n".join((f"# Compiled Artifact v{content.number}\n", *sections))
    record = f"## Record\n{quote_in_fence(render_record(content.record), RECORD_INFO)}"
    note = _size_note(content, before, record)
    full = _artifact_link(content, note) if note else quote_in_fence(content.text, "markdown")
    body = f"{before}\n## Full Artifact\n{full}\n{record}"
    return Message(content.thread_id, content.record.compiled_by, recipients, subject, body), note


def _size_note(content: CompiledVersion, before: str, record: str) -> Diagnostic | None:
    size = len(content.text.encode())
    room = MOST_BODY_BYTES - _MARGIN - len(before.encode()) - len(record.encode())
    most = min(MOST_INLINE_ARTIFACT_BYTES, max(room, 0))
    if size <= most:
        return None
    return ARTIFACT_TOO_LARGE_TO_INLINE.at(
        size=size, most=most, thread_id=content.thread_id, version=content.number
    )


def _artifact_link(content: CompiledVersion, note: Diagnostic) -> str:
    path = f"artifacts/{content.thread_id}.md"
    linked = f"[{escape(path)}]({path}), SHA-256 `{content.record.artifact_sha256}`"
    return f"{linked}\n\n{quote(note.message)} {quote(note.fix)}\n"
