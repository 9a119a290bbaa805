"""What a version says of itself, and who contributed to it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from brenner.artifact.diff import KILLED, Diff, FieldChange, ItemChange, Kind, changes, summary
from brenner.artifact.merge.engine import OPERATOR
from brenner.artifact.model import NO_RESEARCH_THREAD, Artifact, Reference, order_of
from brenner.artifact.state import Conflict, Entry, Outcome, counts
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.diagnostics.codes.publishing import ARTIFACT_TOO_LARGE_TO_INLINE
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.diagnostics.truncate import how_many
from brenner.limits import MOST_BODY_BYTES, MOST_INLINE_ARTIFACT_BYTES
from brenner.lint.linter import LintReport
from brenner.markdown.escape import escape, render_table
from brenner.protocol.body import in_fence, quoted, quoted_cell, short
from brenner.protocol.compiled import RECORD_INFO
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.message_types import COMPILED
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.text import counted

_MOST_DESCRIPTION = 70  # `v12 ` and this are within what a subject's description should be
_RANK = {section.prefix: number for number, section in enumerate(SECTIONS.values())}


class Contributor(NamedTuple):
    """An agent, how many of her delta blocks this version applied, and the items they ended on."""

    agent: str
    deltas: int
    items: tuple[str, ...]


class Publication(NamedTuple):
    """Everything that a version says of itself. `text` is the rendered artifact; `unresolved` are
    its references that lead nowhere. `unverified` are messages with blocks that it applied, whose
    senders nobody vouches for.
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
    """Who contributed to this version, in the order of the ledger.

    A version that applies nothing lists those of the versions before it, with no delta each: a
    closing or an adopted one has contributors, too.
    """
    applied: dict[str, list[str]] = {}
    for entry in ledger:
        if entry.state is Outcome.APPLIED:
            applied.setdefault(entry.agent, []).append(entry.item_id or "")
    if applied:
        return tuple(
            Contributor(agent, len(items), _in_order(items)) for agent, items in applied.items()
        )
    metadata = artifact.metadata
    names = dict.fromkeys(filter(str.strip, metadata.contributors))
    names = names or {metadata.compiled_by or OPERATOR: None}
    return tuple(Contributor(name, 0, ()) for name in names)


def _in_order(items: list[str]) -> tuple[str, ...]:
    """The items, each once, in the order of the artifact."""
    return tuple(sorted(set(items) - {""}, key=_by_section))


def _by_section(item_id: str) -> tuple[int, tuple[int, str]]:
    match = ITEM_ID.fullmatch(item_id)
    return (_RANK[match[1] or item_id] if match else len(_RANK), order_of(item_id))


def description_of(diff: Diff, ledger: tuple[Entry, ...]) -> str:
    """What is new, in the few words that a subject has room for."""
    if is_first(diff):
        return _initial(diff)
    if diff.items:
        told = summary(diff).rstrip(".")
        words = (f"{told[0].lower()}{told[1:]}", _ids(diff), _counts(diff))
        return next((each for each in words if len(each) <= _MOST_DESCRIPTION), words[-1])
    status = next((change for change in diff.metadata if change.path == ("status",)), None)
    if status and "closed" in (status.old, status.new):
        return "session closed" if status.new == "closed" else "session reopened"
    applied = sum(entry.state is Outcome.APPLIED for entry in ledger)
    return f"no item changed, {counted(applied, 'delta')} applied" if ledger else "no item changed"


def is_first(diff: Diff) -> bool:
    """Whether this is the difference to the empty artifact before the first version."""
    return any(_is_first_number(change) for change in diff.metadata)


def _is_first_number(change: FieldChange) -> bool:
    return change.path == ("version",) and change.new == 1 and not change.old


def _initial(diff: Diff) -> str:
    active = [change for change in diff.items if _is_added(change)]
    hypotheses = sum(change.section == HYPOTHESIS_SLATE.id for change in active)
    if hypotheses:
        return f"initial artifact with {counted(hypotheses, 'hypothesis', 'hypotheses')}"
    items = sum(change.section != RESEARCH_THREAD.id for change in active)
    return f"initial artifact with {counted(items, 'item')}" if items else "initial artifact"


def _is_added(change: ItemChange) -> bool:
    return Kind.ADDED in change.kinds and Kind.KILLED not in change.kinds


def _ids(diff: Diff) -> str:
    """`added H4, T2; modified H1, H2; killed H3`."""
    return "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in changes(diff).items() if ids)


def _counts(diff: Diff) -> str:
    """`12 added, 3 modified, 1 killed`."""
    told = [f"{len(ids)} {verb}" for verb, ids in changes(diff).items() if ids]
    return ", ".join(told) or counted(len(diff.items), "item") + " changed"


# Lines of a COMPILED body: lists that are never long, and the commands that show the rest.


MOST_LISTED = 50
MOST_TITLE = 120
MOST_NAME = 64
MOST_ID = 24

_Each = TypeVar("_Each")


def compiled_lines_section(name: str, lines: Iterable[str]) -> str:
    """A section of the body."""
    text = "\n".join(lines)
    return f"## {name}\n{text}\n"


def bounded(found: Sequence[_Each], line: Callable[[_Each], str], command: str) -> list[str]:
    """A line for each of them; of too many for the first ones, and the command that shows all."""
    lines = [line(each) for each in found[:MOST_LISTED]]
    more = how_many(found[MOST_LISTED:])
    return lines if more <= 0 else [*lines, f"- and {more} more: `{command}`"]


def fault(found: Diagnostic) -> str:
    """What is wrong, and how to mend it."""
    return f"{quoted(found.message)} {quoted(found.fix)}"


def command(name: str, of: Publication) -> str:
    """A command of `brenner artifact` on this version."""
    return f"brenner artifact {name} {target(of, of.version)}"


def target(of: Publication, version: int | None = None) -> str:
    """The thread, or a version of it, as commands take it."""
    return _thread(of) + (f"@v{version}" if version is not None else "")


def _thread(of: Publication) -> str:
    """The thread as commands take it. Its ID may begin with `-` and is no option then."""
    return f"-- {of.thread_id}" if of.thread_id.startswith("-") else of.thread_id


# The sections of a COMPILED body that are there only where there is something to say.


_MOST_FAULTS = 3  # of one block, and values of one conflict


def refused_blocks(of: Publication) -> str:
    """Every refused block with its place, its faults and how to mend them (R7)."""
    entries = [entry for entry in of.ledger if entry.state is Outcome.REFUSED]
    return _if_any("Refused Blocks", bounded(entries, _refused, command("ledger", of)))


def _refused(entry: Entry) -> str:
    """One block: its head, and a line for each of its faults."""
    about = (entry.operation, entry.section, entry.target_id)
    said = ", ".join(quoted(word, MOST_NAME) for word in about if word)
    head = f"- Message {entry.message_id}, block {entry.block}, line {entry.line}, "
    head += f"{quoted(entry.agent, MOST_NAME)}{': ' if said else ''}{said}"
    faults = [found for found in entry.diagnostics if found.severity is ERROR]
    lines = [f"  {_on_line(found, entry.line)}" for found in faults[:_MOST_FAULTS]]
    more = Summary.of(entry.diagnostics).errors - len(lines)
    if more > 0:
        lines.append(f"  - and {counted(more, 'fault')} more")
    return "\n".join([head, *lines])


def _on_line(found: Diagnostic, line: int) -> str:
    place = f" (line {found.line})" if found.line and found.line != line else ""
    return f"- {found.id}{place}: {fault(found)}"


def warnings(of: Publication) -> str:
    """What merging had to remark, and the linter does not say as well."""
    told = {found.id for found in of.lint.violations}
    left = [found for found in of.warnings if told.isdisjoint(found.also)]
    return _if_any("Warnings", bounded(left, _placed, command("ledger", of)))


def left_out(of: Publication) -> str:
    """References that would have closed a circle: their blocks are applied without them (R21)."""
    found = [
        each
        for entry in of.ledger
        if entry.state is Outcome.APPLIED
        for each in entry.diagnostics
        if each.code is CIRCULAR_REFERENCE
    ]
    return _if_any("References Left Out", bounded(found, _placed, command("ledger", of)))


def unresolved(of: Publication) -> str:
    """References that lead nowhere: listed with every version until they do (R21)."""
    shows_all = f"brenner refs check {target(of)}"
    return _if_any("Unresolved References", bounded(of.unresolved, _placed, shows_all))


def open_conflicts(of: Publication) -> str:
    """Both sides of every field on which authors disagree (R12)."""
    return _if_any("Open Conflicts", bounded(of.conflicts, _conflict, command("show", of)))


def _conflict(conflict: Conflict) -> str:
    field = f"{quoted(conflict.item_id, MOST_ID)} {quoted(conflict.field, MOST_NAME)}"
    stands = f"  - stands: {_said(conflict.value, conflict.source.agent)}"
    shown = conflict.displaced[:_MOST_FAULTS]
    lost = [f"  - displaced: {_said(each.value, each.source.agent)}" for each in shown]
    lines = [f"- {field}, since v{conflict.version}", stands, *lost]
    more = len(conflict.displaced) - len(shown)
    if more > 0:
        lines.append(f"  - and {counted(more, 'value')} more")
    return "\n".join(lines)


def _said(value: object, agent: str) -> str:
    return f"{quoted(_plain(value)) or 'nothing'} ({quoted(agent, MOST_NAME)})"


def _plain(value: object) -> str:
    """A value of a field in one text."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(" ".join(each) if isinstance(each, Reference) else each for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {each}" for key, each in value.items())
    return str(value)


def not_contributed(of: Publication) -> str:
    """What looks like a contribution and is none (R4)."""
    shows_all = f"brenner check --thread={of.thread_id}"
    return _if_any("Not Contributed", bounded(of.not_contributed, _placed, shows_all))


def _placed(found: Diagnostic) -> str:
    words = [f"message {found.message_id}"] if found.message_id is not None else []
    words += [f"line {found.line}"] if found.line else []
    place = f" ({', '.join(words)})" if words else ""
    return f"- {found.id}{place}: {fault(found)}"


def _if_any(name: str, lines: list[str]) -> str:
    return compiled_lines_section(name, lines) if lines else ""


# The sections of a COMPILED body that the publish document lists, in its order.
#
# Whatever others wrote is escaped and cut. Long lists end with how many more there are, and the
# command that shows all.


_MOST_ITEMS = 30  # of one contributor
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
    Kind.ADDED: "Added",
    Kind.MODIFIED: "Modified",
    Kind.KILLED: "Killed",
    Kind.REVIVED: "Revived",
    Kind.REMOVED: "Removed",
    Kind.RE_RANKED: "Re-ranked",
}


def metadata(of: Publication) -> str:
    """Thread, version, time, compiler."""
    lines = [f"- **Thread ID**: {escape(of.thread_id)}", f"- **Version**: v{of.version}"]
    if of.previous is not None:
        lines.append(f"- **Previous Version**: v{of.previous}")
    lines.append(f"- **Compiled At**: {quoted(of.compiled_at, MOST_NAME)}")
    lines.append(f"- **Compiler**: {quoted(of.sender, MOST_NAME)}")
    return compiled_lines_section("Metadata", lines)


def summary_section(of: Publication) -> str:
    """What changed, and what became of the blocks."""
    changed = f"Initial artifact: {_held(of.artifact)}." if is_first(of.diff) else summary(of.diff)
    words = [quoted(changed, _MOST_SUMMARY)]
    if of.adopted:
        words = [f"The artifact of message {of.adopted}, which another program compiled, as it is."]
    if of.ledger:
        became = counts(of.ledger)
        words.append(
            f"{counted(became['applied'], 'delta block')} applied, {became['refused']} refused, "
            f"{counted(became['duplicate'], 'duplicate')}."
        )
    return compiled_lines_section("Summary", [" ".join(words)])


def _held(artifact: Artifact) -> str:
    numbers = list(statistics(artifact).values())[1:]
    held = zip(numbers, _NOUNS, strict=True)
    return ", ".join(counted(number, *noun) for number, noun in held if number) or "no item yet"


def contributors(of: Publication) -> str:
    """The table of agents, with the number of their deltas and their items."""
    header = ("Agent", "Delta Count", "Items Added/Modified")
    rows = [_contributor_row(each) for each in of.contributors[:MOST_LISTED]]
    lines = [render_table(header, rows)]
    more = len(of.contributors) - MOST_LISTED
    if more > 0:
        lines += ["", f"And {more} more: `{command('ledger', of)}`."]
    return compiled_lines_section("Contributors", [*lines, *_unverified(of)])


def _unverified(of: Publication) -> list[str]:
    """What anybody may have sent in the name of a contributor; readers rely on that table."""
    if not of.unverified:
        return []
    agents = {entry.message_id: quoted(entry.agent, MOST_NAME) for entry in of.ledger}
    told = [f"message {each} ({agents.get(each, '')})" for each in of.unverified[:MOST_LISTED]]
    more = len(of.unverified) - MOST_LISTED
    rest = f" and {more} more: `{command('ledger', of)}`" if more > 0 else ""
    return ["", f"Unverified, so that anybody may have sent it: {', '.join(told)}{rest}."]


def _contributor_row(contributor: Contributor) -> tuple[str, str, str]:
    items = [quoted_cell(item, MOST_ID) for item in contributor.items[:_MOST_ITEMS]]
    more = len(contributor.items) - _MOST_ITEMS
    listed = ", ".join(items) + (f" and {more} more" if more > 0 else "")
    return quoted_cell(contributor.agent, MOST_NAME), str(contributor.deltas), listed


def compiled_sections_changes(of: Publication) -> str:
    """New, modified and killed items. The first version is told from v0, the empty artifact."""
    before = of.previous or 0
    told = of.diff.items if before else map(_as_first, of.diff.items)
    found = sorted(told, key=_by_kind)
    shows_all = f"brenner artifact diff {target(of, before)} {of.thread_id}@v{of.version}"
    lines = bounded(found, _change, shows_all)
    fields = dict.fromkeys(change.path[0] for change in of.diff.metadata)
    if not found:
        rest = f" Metadata: {', '.join(quoted(name, MOST_ID) for name in fields)}."
        lines.append(f"No item changed.{rest if fields else ''}")
    return compiled_lines_section(f"Changes from v{before}", lines)


def _as_first(change: ItemChange) -> ItemChange:
    """The research thread is always there, even in v0; its question is new all the same."""
    is_question = change.section == RESEARCH_THREAD.id
    return change._replace(kinds=(Kind.ADDED,)) if is_question else change


def _by_kind(change: ItemChange) -> int:
    """New items first, then modified ones, then those that are gone; else in artifact order."""
    if Kind.KILLED in change.kinds or Kind.REMOVED in change.kinds:
        return 2
    return 0 if Kind.ADDED in change.kinds else 1


def _change(change: ItemChange) -> str:
    """One item: what happened to it, what it is called, which fields, why it was killed."""
    new = {each.path: each.new for each in change.fields}
    title = change.title
    if change.section == RESEARCH_THREAD.id:
        title = str(new.get(("statement",)) or change.id)
    words = f"- **{' and '.join(_VERBS[kind] for kind in change.kinds).capitalize()}** "
    words += quoted(change.id, MOST_ID) or "an item without an ID"
    if title != change.id:
        words += f": {quoted(title, MOST_TITLE)}"
    if Kind.MODIFIED in change.kinds:
        words += f" ({_fields(change)})"
    reason = new.get((KILLED, "reason"))
    if Kind.KILLED in change.kinds and isinstance(reason, str):
        words += f" (reason: {quoted(reason, MOST_TITLE)})"
    return words


def _fields(change: ItemChange) -> str:
    """The names of the fields that changed; of predictions, the hypotheses."""
    paths = [each.path for each in change.fields]
    told = [path for path in paths if path[0] != KILLED] or paths
    names = list(dict.fromkeys(path[-1] if path[0] == "predictions" else path[0] for path in told))
    shown = [quoted(name, MOST_ID) for name in names[:_MOST_FIELDS]]
    more = len(names) - _MOST_FIELDS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def statistics(artifact: Artifact) -> dict[str, int]:
    """How many active items each section holds, under the publish document's names."""
    numbers = [int(artifact.research_thread != NO_RESEARCH_THREAD)]
    numbers += [len(artifact.active(section)) for section in list(SECTIONS.values())[1:]]
    return dict(zip(_LABELS, numbers, strict=True))


def statistics_section(of: Publication) -> str:
    """The seven counts."""
    held = statistics(of.artifact)
    return compiled_lines_section(
        "Statistics", [f"- {label}: {number}" for label, number in held.items()]
    )


def has_third_alternative(artifact: Artifact) -> bool:
    """Whether an active hypothesis is marked as one."""
    return any("third_alternative" in item.fields for item in artifact.active(HYPOTHESIS_SLATE))


def third_alternative(artifact: Artifact) -> str:
    """The publish document's word for that."""
    return "Present" if has_third_alternative(artifact) else "MISSING"


def schema_verdict(report: LintReport) -> str:
    """By the rules about the front matter and the structure: what every reader relies on."""
    faults = (found.id for found in report.violations if found.severity is ERROR)
    return "FAIL" if any(each.startswith(("EM-", "ES-")) for each in faults) else "PASS"


def validation(of: Publication) -> str:
    """What the linter says; its errors are named, for they are the next thing to do."""
    errors = [found for found in of.lint.violations if found.severity is ERROR]
    lines = [
        f"- Schema: {schema_verdict(of.lint)}",
        f"- Linter: {of.lint.summary.warnings} warnings, {of.lint.summary.errors} errors",
        f"- Third Alternative: {third_alternative(of.artifact)}",
    ]
    named = bounded(errors, _lint_error, command("lint", of))
    lines[2:2] = [f"  {line}" for line in named]
    return compiled_lines_section("Validation Status", lines)


def _lint_error(found: Diagnostic) -> str:
    item = f"{quoted(found.item, MOST_ID)}: " if found.item else ""
    return f"- {found.id}: {item}{fault(found)}"


def persistence(of: Publication) -> str:
    """Where the file will stand. At publication a version is always a draft (R19)."""
    path = f"`artifacts/{of.thread_id}.md`"
    return compiled_lines_section(
        "Persistence", [f"- **Artifact Path**: {path}", "- **Status**: Draft"]
    )


# The COMPILED message that publishes a version: its subject and the extended body, whole.
#
# Reading it gives back thread, version, path, the exact artifact and the exact record, whatever the
# artifact and the mail hold (R10, R22).


__all__ = [
    "Contributor",
    "Publication",
    "compose_compiled",
    "contributors_of",
    "description_of",
    "size_note",
]

_MARGIN = 16 * 1024  # for the headers of a message file
_SECTIONS = (
    metadata,
    summary_section,
    contributors,
    compiled_sections_changes,
    statistics_section,
    validation,
    persistence,
    refused_blocks,
    warnings,
    left_out,
    unresolved,
    open_conflicts,
    not_contributed,
)


def compose_compiled(publication: Publication) -> Message:
    """The message."""
    of = publication
    adopted = f"takes over the artifact of message {of.adopted}" if of.adopted else ""
    about = short(f"v{of.version} {adopted or description_of(of.diff, of.ledger)}")
    return Message(
        thread_id=of.thread_id,
        sender=of.sender,
        recipients=of.recipients,
        subject=compose_subject(COMPILED.name, about),
        body=_body(of),
    )


def size_note(publication: Publication) -> Diagnostic | None:
    """That the artifact does not fit into its message, where it does not."""
    return _size_note(publication, _before_artifact(publication), _record(publication))


def _body(of: Publication) -> str:
    before, record = _before_artifact(of), _record(of)
    note = _size_note(of, before, record)
    full = _link(of, note) if note else in_fence(of.text, "markdown")
    return f"{before}\n## Full Artifact\n{full}\n{record}"


def _before_artifact(of: Publication) -> str:
    parts = [f"# Compiled Artifact v{of.version}\n", *(section(of) for section in _SECTIONS)]
    return "\n".join(filter(None, parts))


def _record(of: Publication) -> str:
    return f"## Record\n{in_fence(of.record, RECORD_INFO)}"


def _size_note(of: Publication, before: str, record: str) -> Diagnostic | None:
    size = len(of.text.encode())
    room = MOST_BODY_BYTES - _MARGIN - len(before.encode()) - len(record.encode())
    most = min(MOST_INLINE_ARTIFACT_BYTES, max(room, 0))
    if size <= most:
        return None
    return ARTIFACT_TOO_LARGE_TO_INLINE.at(
        size=size, most=most, thread_id=of.thread_id, version=of.version
    )


def _link(of: Publication, note: Diagnostic) -> str:
    path = f"artifacts/{of.thread_id}.md"
    linked = f"[{escape(path)}]({path}), SHA-256 `{of.artifact_sha256}`"
    return f"{linked}\n\n{quoted(note.message)} {quoted(note.fix)}\n"
