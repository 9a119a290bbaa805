"""An agent's task in a session, the sessions that wait for it, and parts of a version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from brenner.artifact.diff import Diff, FieldChange, ItemChange, diff
from brenner.artifact.evidence import evidence_matrix
from brenner.artifact.model import LAYOUT, Artifact, Item, list_active
from brenner.artifact.next_test import NextTests, next_tests
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import artifact_json, diff_json, plain_json
from brenner.artifact.state import Blame, Change, Source, State, empty_state
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    RESEARCH_THREAD,
    SECTIONS,
    Section,
    section_by_name,
)
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.roster import Mode, Role
from brenner.services.next_round import earlier_kickoffs
from brenner.services.session_status import load_status
from brenner.services.sessions import overviews
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.session.model import (
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    RefusedBlock,
    SessionStatus,
    Turn,
)
from brenner.session.overview import Overview
from brenner.session.prompts import PROMPTS, UNIFIED_PROMPT
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.prompts import Prompt
    from brenner.session.unanswered import UnansweredItem

# The most urgent first: rejected contributions, which are lost unless corrected; then missing ACKs;
# then missing contributions.
_URGENCY = (Turn.TO_CORRECT, Turn.OWES_ACK, Turn.OWES_DELTA)


# An open critique, its attack, the agent's own items that it names, and its origin, if known
TaskCritique = tuple[OpenCritique, str, tuple[str, ...], Source | None]
# A session that waits for an agent, what it waits for, and the messages that lack an ACK
WaitingSession = tuple[Overview, Turn | None, tuple[int, ...]]


class AgentTask(NamedTuple):
    """What an agent has to do in a session.

    `prompt` is that of its role; None if the session assigns none. `own` are the items that it
    added. `letters` are messages that wait for it; `attacks` are CRITIQUE messages that wait for
    others. `asked` is the origin of the question, if a version has it. `kickoff` is the message
    that asks it. `next_tests` is for agents who design tests, once there is a version.
    `unanswered` are the items that the agent was the last to change, and that ask for an answer.
    """

    status: SessionStatus
    me: Participant | None
    prompt: Prompt | None
    own: tuple[str, ...]
    acks: tuple[OpenAck, ...]
    refusals: tuple[RefusedBlock, ...]
    critiques: tuple[TaskCritique, ...]
    letters: tuple[OpenMessage, ...]
    attacks: tuple[OpenMessage, ...]
    asked: Source | None = None
    kickoff: StoredMessage | None = None
    next_tests: NextTests | None = None
    unanswered: tuple[UnansweredItem, ...] = ()


def load_task(workspace: Workspace, agent: str, thread_id: str) -> AgentTask:
    """Return the agent's task in a thread. Raise if the thread has no messages."""
    status, history, messages, *_ = load_status(workspace, thread_id)
    me = next((each for each in status.participants if each.name == agent), None)
    own = _own_items(history.state.blame, agent)
    roster, *_ = earlier_kickoffs(messages)
    is_unified = roster is not None and roster.mode == Mode.UNIFIED
    role = (me.role if me else None) or ""
    critiques = () if status.is_over else _critiques(status, history.state, own)
    blocks = (*(() if status.is_over else status.refusals), *status.needed_misplaced)
    is_cancelled = status.cancelled is not None
    designs_tests = (is_unified or role == Role.TEST_DESIGNER) and not status.is_over
    return AgentTask(
        status=status,
        me=me,
        prompt=UNIFIED_PROMPT if is_unified else PROMPTS.get(role),
        own=own,
        acks=tuple(each for each in status.open_acks if each.debtor == agent and not is_cancelled),
        refusals=tuple(each for each in blocks if each.agent == agent),
        critiques=tuple(sorted(critiques, key=lambda each: not each[2])),
        letters=tuple(
            each for each in status.messages if agent in each.waiting_for and not is_cancelled
        ),
        attacks=tuple(
            each
            for each in status.of_type(CRITIQUE.name)
            if agent not in each.waiting_for and each.sender != agent and not is_cancelled
        ),
        asked=_source(history.state, "RT", "statement"),
        kickoff=next((each for each in messages if me and each.id == me.kickoff), None),
        next_tests=(
            next_tests(evidence_matrix(history.state.artifact))
            if designs_tests and status.version
            else None
        ),
        unanswered=tuple(
            each for each in status.unanswered if each.agent == agent and not status.is_over
        ),
    )


def sessions_waiting_for(workspace: Workspace, agent: str) -> tuple[WaitingSession, ...]:
    """Return the sessions that wait for the agent, the most urgent first, then the oldest."""
    found: list[WaitingSession] = []
    for overview in overviews(workspace).values():
        if overview.phase is Phase.CANCELLED:
            continue
        turn = next((turn for name, turn in overview.awaited if name == agent), None)
        acks = tuple(each.message_id for each in overview.owed if each.debtor == agent)
        if turn is None and agent in overview.to_correct and overview.phase is not Phase.COMPLETE:
            turn = Turn.TO_CORRECT  # also after the round in which it was rejected
        is_asked = agent in overview.to_answer and overview.phase is not Phase.COMPLETE
        if turn or acks or is_asked:
            found.append((overview, turn, acks))
    return tuple(sorted(found, key=_urgent_first))


def unread_count(mailbox: Mailbox, agent: str) -> int | None:
    """Return the number of unread messages; None if the store has no read marks."""
    mailbox.agent(agent)
    return None if Capability.READ_MARKS in mailbox.lacks else mailbox.unread(agent)


def _urgent_first(waiting: WaitingSession) -> tuple[int, datetime, str]:
    overview, turn, _ = waiting
    rank = _URGENCY.index(turn) if turn in _URGENCY else len(_URGENCY)
    return rank, overview.last_at, overview.thread_id


def _own_items(blame: Blame, agent: str) -> tuple[str, ...]:
    """Return the items that the agent added: those whose oldest change it made."""
    found = []
    for item_id, changes in blame.items():
        firsts = [list(change.history())[-1].source for change in changes.values()]
        if firsts and min(firsts, key=lambda each: each.message_id).agent == agent:
            found.append(item_id)
    return tuple(found)


def _critiques(status: SessionStatus, state: State, own: tuple[str, ...]) -> Iterator[TaskCritique]:
    items = {item.id: item for item in state.artifact.sections[ADVERSARIAL_CRITIQUE.id]}
    for each in status.critiques:
        item = items.get(each.item)
        attack = item.text("attack") if item else ""
        named = ITEM_ID_IN_PROSE.findall(f"{each.name} {attack}")
        of = tuple(dict.fromkeys(name for name in named if name in own))
        yield each, attack, of, _source(state, each.item, "attack")


def _source(state: State, item_id: str, field: str) -> Source | None:
    change = state.blame.get(item_id, {}).get((field,))
    return change.source if change else None


# A version of an artifact, or a part of it: a section or an item


_HEADING = "\n## "


# The part of an artifact to show: an item with its section, a section, or everything
ArtifactPart = tuple[Section | None, str]
# The change of an item, with the latest change of each field: its message and author
ChangedItem = tuple[ItemChange, list[tuple[FieldChange, Change | None]]]


def find_part(artifact: Artifact, thread_id: str, section: str, item_id: str) -> ArtifactPart:
    """Return the named part. Raise if the artifact does not have it."""
    wanted = _require_section(section) if section else None
    if not item_id:
        return wanted, ""
    known = {item.id: (where, item) for where, item in artifact.all_items()}
    normalised = item_id.strip().upper()
    found = known.get(item_id) or known.get(normalised)
    if found is None or (wanted and found[0] is not wanted):
        refused = NO_SUCH_ITEM.at(
            name=thread_id,
            item=item_id,
            or_field="",
            suggestion="",
            known=list_active(artifact, normalised),
            known_ids=list_active(artifact, normalised, are_named=False),
        )
        if wanted:
            message = f"`{wanted.id}` of {thread_id} has no `{item_id}`."
            refused = refused._replace(message=message)
        raise RequestError(refused)
    return found[0], found[1].id


def _require_section(name: str) -> Section:
    found = section_by_name(name)
    if found is None:
        known = ", ".join(f"`{each}`" for each in SECTIONS)
        near = did_you_mean(closest(name, SECTIONS))
        raise RequestError(INVALID_SECTION.at(value=name, known=known, suggestion=near))
    return found


def items_in(artifact: Artifact, part: ArtifactPart) -> Iterator[Item]:
    """Yield the items of the part."""
    wanted, item_id = part
    for section, item in artifact.all_items():
        if wanted in (None, section) and item_id in ("", item.id):
            yield item


def part_markdown(loaded: LoadedVersion, part: ArtifactPart) -> str:
    """Return the version's text as published, or the part as it is there."""
    section, item_id = part
    if section is None:
        return loaded.text
    artifact = loaded.artifact
    if item_id and section is not RESEARCH_THREAD:
        shown = tuple(items_in(artifact, part))
        artifact = artifact._replace(sections={**artifact.sections, section.id: shown})
    # No text of an item can contain a heading (R16), so a section ends where the next begins.
    place = [layout.section for layout in LAYOUT].index(section)
    text = render_artifact(artifact).split(_HEADING)[place + 1].rstrip("\n")
    return f"{_HEADING.lstrip()}{text}\n"


def part_json(loaded: LoadedVersion, part: ArtifactPart) -> dict[str, Any]:
    """Return the part as a JSON document, with the keys of `artifact show --json`."""
    document: dict[str, Any] = artifact_json(loaded.artifact)
    section, item_id = part
    if section:
        found = document[section.id]
        items = found if isinstance(found, list) else [found]
        one = [item for item in items if item["id"] == item_id]
        document = {section.id: one[0] if item_id else found}
    return document


# Changes since an earlier version


def load_earlier(workspace: Workspace, thread_id: str, number: int) -> Artifact:
    """Return an earlier version; v0 is the empty artifact before the first (R11)."""
    if number == 0:
        return empty_state(thread_id).artifact
    return load_version(workspace, Target(thread_id, number)).artifact


def changes_since(old: Artifact, new: LoadedVersion, part: ArtifactPart) -> Diff:
    found = diff(old, new.artifact)
    section, item_id = part
    if section is None:
        return found
    kept = [
        change
        for change in found.items
        if change.section == section.id and item_id in ("", change.id)
    ]
    return Diff(tuple(kept))


def find_change_sources(found: Diff, blame: Blame) -> list[ChangedItem]:
    """Return each changed item with the source of every field; None if it is unknown."""
    return [(item, list(_field_sources(item, blame))) for item in found.items]


def _field_sources(item: ItemChange, blame: Blame) -> Iterator[tuple[FieldChange, Change | None]]:
    changes = blame.get(item.id, {})
    for field in item.fields:
        inside = [each for path, each in changes.items() if path[:1] == field.path[:1]]
        exact = changes.get(field.path) or changes.get(field.path[:1])
        latest = max(inside, key=lambda each: each.source.message_id, default=None)
        yield field, exact or latest


def changes_markdown(changed: list[ChangedItem]) -> str:
    """Return the changes item by item and field by field: old and new value, author."""
    lines = []
    for item, by in changed:
        kinds = ", ".join(kind.value for kind in item.kinds)
        rank = f", rank {item.rank[0]} → {item.rank[1]}" if item.rank else ""
        lines.append(f"{item.id} ({item.section}): {kinds}{rank}")
        for field, change in by:
            source = change.source if change else None
            who = f" [{source.agent}, message {source.message_id}]" if source else ""
            was = "" if field.old is None else f"\n    was: {_value_text(field.old)}"
            lines.append(f"  {field.field}{who}: {_value_text(field.new)}{was}")
    return "\n".join(lines)


def changes_json(found: Diff, old: Artifact, new: Artifact) -> dict[str, Any]:
    """Return the changes as a JSON document, with the keys of `artifact diff --json`."""
    return diff_json(found, old.metadata, new.metadata)


def _value_text(value: object) -> str:
    if value is None:
        return "(removed)"
    return value if isinstance(value, str) else json.dumps(plain_json(value), ensure_ascii=False)
