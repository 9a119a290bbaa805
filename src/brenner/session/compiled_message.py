"""Compose the COMPILED message that publishes a version: subject and extended body.

Parsing the message returns thread, version, path, the exact artifact and the exact record, whatever
the artifact and the mail contain (R10, R22).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from brenner.artifact.diff import (
    KILLED,
    ChangeKind,
    Diff,
    FieldChange,
    ItemChange,
    changed_ids,
    summary,
)
from brenner.artifact.merge.engine import OPERATOR
from brenner.artifact.model import NO_RESEARCH_THREAD, Artifact, Reference, item_sort_key
from brenner.artifact.state import BlockOutcome, Conflict, Entry, count_outcomes
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.diagnostics.codes.publishing import ARTIFACT_TOO_LARGE_TO_INLINE
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.diagnostics.truncate import count_with_omitted
from brenner.limits import MOST_BODY_BYTES, MOST_INLINE_ARTIFACT_BYTES
from brenner.lint.linter import LintReport
from brenner.markdown.escape import escape, render_table
from brenner.protocol.body import quote, quote_cell, quote_in_fence, short_description
from brenner.protocol.compiled import RECORD_INFO
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.message_types import COMPILED
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.text import plural

_MOST_DESCRIPTION = 70  # with `v12 ` within the advised length of a subject
_SECTION_ORDER = {section.prefix: number for number, section in enumerate(SECTIONS.values())}


class Contributor(NamedTuple):
    """An agent, the number of its applied delta blocks, and the items that they changed."""

    agent: str
    deltas: int
    items: tuple[str, ...]


class CompiledContent(NamedTuple):
    """Everything that the COMPILED message of a version contains.

    `text` is the rendered artifact. `unresolved` are its dangling references. `unverified` are the
    messages with applied blocks whose sender is not authenticated.
    """

    thread_id: str
    sender: str
    recipients: tuple[str, ...]
    version: int
    previous: int | None
    compiled_at: str
    artifact: Artifact
    text: str
    diff: Diff
    ledger: tuple[Entry, ...]
    contributors: tuple[Contributor, ...]
    lint: LintReport
    conflicts: tuple[Conflict, ...]
    not_contributed: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    record: str
    artifact_sha256: str
    adopted: int | None = None
    unresolved: tuple[Diagnostic, ...] = ()
    unverified: tuple[int, ...] = ()


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
            Contributor(agent, len(items), _in_artifact_order(items))
            for agent, items in applied.items()
        )
    metadata = artifact.metadata
    names = dict.fromkeys(filter(str.strip, metadata.contributors))
    names = names or {metadata.compiled_by or OPERATOR: None}
    return tuple(Contributor(name, 0, ()) for name in names)


def _in_artifact_order(items: list[str]) -> tuple[str, ...]:
    """Return the items without duplicates, in the order of the artifact."""
    return tuple(sorted(set(items) - {""}, key=_artifact_order))


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
        words = (f"{text[0].lower()}{text[1:]}", _changed_ids(diff), _change_counts(diff))
        return next((each for each in words if len(each) <= _MOST_DESCRIPTION), words[-1])
    status = next((change for change in diff.metadata if change.path == ("status",)), None)
    if status and "closed" in (status.old, status.new):
        return "session closed" if status.new == "closed" else "session reopened"
    applied = sum(entry.state is BlockOutcome.APPLIED for entry in ledger)
    return f"no item changed, {plural(applied, 'delta')} applied" if ledger else "no item changed"


def is_first_version(diff: Diff) -> bool:
    """Return whether this is the difference to the empty artifact before the first version."""
    return any(_is_first_number(change) for change in diff.metadata)


def _is_first_number(change: FieldChange) -> bool:
    return change.path == ("version",) and change.new == 1 and not change.old


def _describe_first_version(diff: Diff) -> str:
    active = [change for change in diff.items if _is_added(change)]
    hypotheses = sum(change.section == HYPOTHESIS_SLATE.id for change in active)
    if hypotheses:
        return f"initial artifact with {plural(hypotheses, 'hypothesis', 'hypotheses')}"
    items = sum(change.section != RESEARCH_THREAD.id for change in active)
    return f"initial artifact with {plural(items, 'item')}" if items else "initial artifact"


def _is_added(change: ItemChange) -> bool:
    return ChangeKind.ADDED in change.kinds and ChangeKind.KILLED not in change.kinds


def _changed_ids(diff: Diff) -> str:
    """Return `added H4, T2; modified H1, H2; killed H3`."""
    return "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in changed_ids(diff).items() if ids)


def _change_counts(diff: Diff) -> str:
    """Return `12 added, 3 modified, 1 killed`."""
    parts = [f"{len(ids)} {verb}" for verb, ids in changed_ids(diff).items() if ids]
    return ", ".join(parts) or plural(len(diff.items), "item") + " changed"


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


def artifact_command(name: str, content: CompiledContent) -> str:
    """Return a command of `brenner artifact` for this version."""
    return f"brenner artifact {name} {version_argument(content, content.version)}"


def version_argument(content: CompiledContent, version: int | None = None) -> str:
    """Return the thread, or a version of it, as a command argument."""
    return _thread_argument(content) + (f"@v{version}" if version is not None else "")


def _thread_argument(content: CompiledContent) -> str:
    """Return the thread as a command argument, after `--` if its ID begins with `-`."""
    return f"-- {content.thread_id}" if content.thread_id.startswith("-") else content.thread_id


# Optional sections of a COMPILED body


_MOST_ERRORS = 3  # per block; also values per conflict


def refused_blocks_section(content: CompiledContent) -> str:
    """Render every refused block with its location, its errors and their fixes (R7)."""
    entries = [entry for entry in content.ledger if entry.state is BlockOutcome.REFUSED]
    return _render_if_any(
        "Refused Blocks",
        limited_lines(entries, _refused_block_lines, artifact_command("ledger", content)),
    )


def _refused_block_lines(entry: Entry) -> str:
    """Render one block: a head line, and a line for each of its errors."""
    about = (entry.operation, entry.section, entry.target_id)
    description = ", ".join(quote(word, MOST_NAME) for word in about if word)
    head = f"- Message {entry.message_id}, block {entry.block}, line {entry.line}, "
    head += f"{quote(entry.agent, MOST_NAME)}{': ' if description else ''}{description}"
    errors = [found for found in entry.diagnostics if found.severity is ERROR]
    lines = [f"  {_error_line(found, entry.line)}" for found in errors[:_MOST_ERRORS]]
    more = Summary.of(entry.diagnostics).errors - len(lines)
    if more > 0:
        lines.append(f"  - and {plural(more, 'fault')} more")
    return "\n".join([head, *lines])


def _error_line(found: Diagnostic, line: int) -> str:
    place = f" (line {found.line})" if found.line and found.line != line else ""
    return f"- {found.id}{place}: {message_and_fix(found)}"


def warnings_section(content: CompiledContent) -> str:
    """Render the warnings of the merge that the linter does not report as well."""
    reported = {found.id for found in content.lint.violations}
    left = [found for found in content.warnings if reported.isdisjoint(found.also)]
    return _render_if_any(
        "Warnings", limited_lines(left, _diagnostic_line, artifact_command("ledger", content))
    )


def left_out_references_section(content: CompiledContent) -> str:
    """Render references that would close a cycle: their blocks are applied without them (R21)."""
    found = [
        each
        for entry in content.ledger
        if entry.state is BlockOutcome.APPLIED
        for each in entry.diagnostics
        if each.code is CIRCULAR_REFERENCE
    ]
    return _render_if_any(
        "References Left Out",
        limited_lines(found, _diagnostic_line, artifact_command("ledger", content)),
    )


def unresolved_references_section(content: CompiledContent) -> str:
    """Render dangling references; every version lists them until they resolve (R21)."""
    shows_all = f"brenner refs check {version_argument(content)}"
    return _render_if_any(
        "Unresolved References", limited_lines(content.unresolved, _diagnostic_line, shows_all)
    )


def open_conflicts_section(content: CompiledContent) -> str:
    """Render both sides of every field on which authors disagree (R12)."""
    return _render_if_any(
        "Open Conflicts",
        limited_lines(content.conflicts, _conflict_lines, artifact_command("show", content)),
    )


def _conflict_lines(conflict: Conflict) -> str:
    field = f"{quote(conflict.item_id, MOST_ID)} {quote(conflict.field, MOST_NAME)}"
    current = f"  - stands: {_value_and_author(conflict.value, conflict.source.agent)}"
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
    """Return the value of a field as text."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(" ".join(each) if isinstance(each, Reference) else each for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {each}" for key, each in value.items())
    return str(value)


def not_contributed_section(content: CompiledContent) -> str:
    """Render what looks like a contribution and is none (R4)."""
    shows_all = f"brenner check --thread={content.thread_id}"
    return _render_if_any(
        "Not Contributed", limited_lines(content.not_contributed, _diagnostic_line, shows_all)
    )


def _diagnostic_line(found: Diagnostic) -> str:
    words = [f"message {found.message_id}"] if found.message_id is not None else []
    words += [f"line {found.line}"] if found.line else []
    place = f" ({', '.join(words)})" if words else ""
    return f"- {found.id}{place}: {message_and_fix(found)}"


def _render_if_any(name: str, lines: list[str]) -> str:
    return render_section(name, lines) if lines else ""


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
_VERBS = {
    ChangeKind.ADDED: "Added",
    ChangeKind.MODIFIED: "Modified",
    ChangeKind.KILLED: "Killed",
    ChangeKind.REVIVED: "Revived",
    ChangeKind.REMOVED: "Removed",
    ChangeKind.RE_RANKED: "Re-ranked",
}


def metadata_section(content: CompiledContent) -> str:
    """Render thread, version, time and compiler."""
    lines = [f"- **Thread ID**: {escape(content.thread_id)}", f"- **Version**: v{content.version}"]
    if content.previous is not None:
        lines.append(f"- **Previous Version**: v{content.previous}")
    lines.append(f"- **Compiled At**: {quote(content.compiled_at, MOST_NAME)}")
    lines.append(f"- **Compiler**: {quote(content.sender, MOST_NAME)}")
    return render_section("Metadata", lines)


def summary_section(content: CompiledContent) -> str:
    """Render a summary of the changes and of the outcomes of the blocks."""
    changed = (
        f"Initial artifact: {_item_counts(content.artifact)}."
        if is_first_version(content.diff)
        else summary(content.diff)
    )
    words = [quote(changed, _MOST_SUMMARY)]
    if content.adopted:
        words = [
            f"The artifact of message {content.adopted}, which another program compiled, as it is."
        ]
    if content.ledger:
        outcomes = count_outcomes(content.ledger)
        words.append(
            f"{plural(outcomes['applied'], 'delta block')} applied, "
            f"{outcomes['refused']} refused, "
            f"{plural(outcomes['duplicate'], 'duplicate')}."
        )
    return render_section("Summary", [" ".join(words)])


def _item_counts(artifact: Artifact) -> str:
    numbers = list(statistics(artifact).values())[1:]
    counts_by_section = zip(numbers, _NOUNS, strict=True)
    return (
        ", ".join(plural(number, *noun) for number, noun in counts_by_section if number)
        or "no item yet"
    )


def contributors_section(content: CompiledContent) -> str:
    """Render the table of agents, with the number of their deltas and their items."""
    header = ("Agent", "Delta Count", "Items Added/Modified")
    rows = [_contributor_row(each) for each in content.contributors[:MOST_LISTED]]
    lines = [render_table(header, rows)]
    more = len(content.contributors) - MOST_LISTED
    if more > 0:
        lines += ["", f"And {more} more: `{artifact_command('ledger', content)}`."]
    return render_section("Contributors", [*lines, *_unverified_lines(content)])


def _unverified_lines(content: CompiledContent) -> list[str]:
    """Name the messages whose sender is not authenticated, since readers rely on the table."""
    if not content.unverified:
        return []
    agents = {entry.message_id: quote(entry.agent, MOST_NAME) for entry in content.ledger}
    senders = [
        f"message {each} ({agents.get(each, '')})" for each in content.unverified[:MOST_LISTED]
    ]
    more = len(content.unverified) - MOST_LISTED
    rest = f" and {more} more: `{artifact_command('ledger', content)}`" if more > 0 else ""
    return ["", f"Unverified, so that anybody may have sent it: {', '.join(senders)}{rest}."]


def _contributor_row(contributor: Contributor) -> tuple[str, str, str]:
    items = [quote_cell(item, MOST_ID) for item in contributor.items[:_MOST_ITEMS]]
    more = len(contributor.items) - _MOST_ITEMS
    listed = ", ".join(items) + (f" and {more} more" if more > 0 else "")
    return quote_cell(contributor.agent, MOST_NAME), str(contributor.deltas), listed


def changes_section(content: CompiledContent) -> str:
    """Render new, modified and killed items. The first version is compared with the empty v0."""
    before = content.previous or 0
    changes_shown = content.diff.items if before else map(_question_as_added, content.diff.items)
    found = sorted(changes_shown, key=_kind_order)
    shows_all = (
        f"brenner artifact diff {version_argument(content, before)} "
        f"{content.thread_id}@v{content.version}"
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
    words = f"- **{' and '.join(_VERBS[kind] for kind in change.kinds).capitalize()}** "
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
    """Return the names of the changed fields; for predictions, the hypotheses."""
    paths = [each.path for each in change.fields]
    changed = [path for path in paths if path[0] != KILLED] or paths
    names = list(
        dict.fromkeys(path[-1] if path[0] == "predictions" else path[0] for path in changed)
    )
    shown = [quote(name, MOST_ID) for name in names[:_MOST_FIELDS]]
    more = len(names) - _MOST_FIELDS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def statistics(artifact: Artifact) -> dict[str, int]:
    """Count the active items of each section, under the publish document's names."""
    numbers = [int(artifact.research_thread != NO_RESEARCH_THREAD)]
    numbers += [len(artifact.active(section)) for section in list(SECTIONS.values())[1:]]
    return dict(zip(_LABELS, numbers, strict=True))


def statistics_section(content: CompiledContent) -> str:
    held = statistics(content.artifact)
    return render_section("Statistics", [f"- {label}: {number}" for label, number in held.items()])


def has_third_alternative(artifact: Artifact) -> bool:
    """Return whether an active hypothesis is marked as a third alternative."""
    return any("third_alternative" in item.fields for item in artifact.active(HYPOTHESIS_SLATE))


def third_alternative(artifact: Artifact) -> str:
    """Return the publish document's word for `has_third_alternative`."""
    return "Present" if has_third_alternative(artifact) else "MISSING"


def schema_verdict(report: LintReport) -> str:
    """Return PASS or FAIL by the rules on front matter and structure."""
    error_ids = (found.id for found in report.violations if found.severity is ERROR)
    return "FAIL" if any(each.startswith(("EM-", "ES-")) for each in error_ids) else "PASS"


def validation_section(content: CompiledContent) -> str:
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
    return f"- {found.id}: {item}{message_and_fix(found)}"


def persistence_section(content: CompiledContent) -> str:
    """Render the path of the artifact file. At publication a version is always a draft (R19)."""
    path = f"`artifacts/{content.thread_id}.md`"
    return render_section("Persistence", [f"- **Artifact Path**: {path}", "- **Status**: Draft"])


# The whole message


_MARGIN = 16 * 1024  # bytes for the headers of a message file
_SECTIONS = (
    metadata_section,
    summary_section,
    contributors_section,
    changes_section,
    statistics_section,
    validation_section,
    persistence_section,
    refused_blocks_section,
    warnings_section,
    left_out_references_section,
    unresolved_references_section,
    open_conflicts_section,
    not_contributed_section,
)


def compose_compiled(publication: CompiledContent) -> Message:
    """Compose the COMPILED message."""
    content = publication
    adopted = f"takes over the artifact of message {content.adopted}" if content.adopted else ""
    about = short_description(
        f"v{content.version} {adopted or describe_changes(content.diff, content.ledger)}"
    )
    return Message(
        thread_id=content.thread_id,
        sender=content.sender,
        recipients=content.recipients,
        subject=compose_subject(COMPILED.name, about),
        body=_body(content),
    )


def size_note(publication: CompiledContent) -> Diagnostic | None:
    """Return a diagnostic if the artifact does not fit into its message."""
    return _size_note(publication, _before_artifact(publication), _record_section(publication))


def _body(content: CompiledContent) -> str:
    before, record = _before_artifact(content), _record_section(content)
    note = _size_note(content, before, record)
    full = _artifact_link(content, note) if note else quote_in_fence(content.text, "markdown")
    return f"{before}\n## Full Artifact\n{full}\n{record}"


def _before_artifact(content: CompiledContent) -> str:
    parts = [
        f"# Compiled Artifact v{content.version}\n",
        *(section(content) for section in _SECTIONS),
    ]
    return "\n".join(filter(None, parts))


def _record_section(content: CompiledContent) -> str:
    return f"## Record\n{quote_in_fence(content.record, RECORD_INFO)}"


def _size_note(content: CompiledContent, before: str, record: str) -> Diagnostic | None:
    size = len(content.text.encode())
    room = MOST_BODY_BYTES - _MARGIN - len(before.encode()) - len(record.encode())
    most = min(MOST_INLINE_ARTIFACT_BYTES, max(room, 0))
    if size <= most:
        return None
    return ARTIFACT_TOO_LARGE_TO_INLINE.at(
        size=size, most=most, thread_id=content.thread_id, version=content.version
    )


def _artifact_link(content: CompiledContent, note: Diagnostic) -> str:
    path = f"artifacts/{content.thread_id}.md"
    linked = f"[{escape(path)}]({path}), SHA-256 `{content.artifact_sha256}`"
    return f"{linked}\n\n{quote(note.message)} {quote(note.fix)}\n"
