"""The sections of a COMPILED body that are there only where there is something to say."""

from collections.abc import Mapping

from brenner.artifact.model import Reference
from brenner.artifact.state import Conflict, Entry, Outcome
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.protocol.body import quoted
from brenner.session.compiled_lines import (
    MOST_ID,
    MOST_NAME,
    bounded,
    command,
    fault,
    section,
    target,
)
from brenner.session.publication import Publication
from brenner.text import counted

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
    return section(name, lines) if lines else ""
