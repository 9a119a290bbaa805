"""The sections of a COMPILED body that the publish document lists, in its order.

Whatever others wrote is escaped and cut. Long lists end with how many more there are, and the
command that shows all.
"""

from brenner.artifact.diff import KILLED, ItemChange, Kind, summary
from brenner.artifact.model import NO_RESEARCH_THREAD, Artifact
from brenner.artifact.state import counts
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lint.linter import LintReport
from brenner.markdown.escape import escape, render_table
from brenner.protocol.body import quoted, quoted_cell
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS
from brenner.session.compiled_lines import (
    MOST_ID,
    MOST_LISTED,
    MOST_NAME,
    MOST_TITLE,
    bounded,
    command,
    fault,
    section,
    target,
)
from brenner.session.publication import Contributor, Publication, is_first
from brenner.text import counted

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
    return section("Metadata", lines)


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
    return section("Summary", [" ".join(words)])


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
    return section("Contributors", [*lines, *_unverified(of)])


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


def changes(of: Publication) -> str:
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
    return section(f"Changes from v{before}", lines)


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
    return section("Statistics", [f"- {label}: {number}" for label, number in held.items()])


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
    return section("Validation Status", lines)


def _lint_error(found: Diagnostic) -> str:
    item = f"{quoted(found.item, MOST_ID)}: " if found.item else ""
    return f"- {found.id}: {item}{fault(found)}"


def persistence(of: Publication) -> str:
    """Where the file will stand. At publication a version is always a draft (R19)."""
    path = f"`artifacts/{of.thread_id}.md`"
    return section("Persistence", [f"- **Artifact Path**: {path}", "- **Status**: Draft"])
