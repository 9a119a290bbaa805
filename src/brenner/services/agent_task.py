"""What an agent has to do in a session, and in which sessions somebody waits for it."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from brenner.artifact.diff import Diff, FieldChange, ItemChange, diff
from brenner.artifact.model import LAYOUT, Artifact, Item
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import artifact_json, diff_json, plain
from brenner.artifact.state import Blame, Change, Source, State, empty_state
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    RESEARCH_THREAD,
    SECTIONS,
    Section,
    section_named,
)
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import PostedMessage
from brenner.protocol.roster import Mode
from brenner.services.next_round import earlier_kickoffs
from brenner.services.sessions import load_status, overviews
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.services.workspace import Workspace
from brenner.session import prompts as unified
from brenner.session.kickoff import PROMPTS
from brenner.session.model import (
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
    Turn,
)
from brenner.session.overview import Overview
from brenner.session.prompts import Prompt
from brenner.session.rebuild import ThreadMessage
from brenner.text import closest, did_you_mean

# The most urgent first: what was sent and is lost unless it is corrected, then what nobody has
# heard anything of, then what is only to be done.
_URGENCY = (Turn.TO_CORRECT, Turn.OWES_ACK, Turn.OWES_DELTA)


class Critique(NamedTuple):
    """A critique that is open; `of` are the agent's own items that it names.

    `source` is where its attack comes from, where the mail tells.
    """

    item: OpenCritique
    attack: str
    of: tuple[str, ...]
    source: Source | None


class Task(NamedTuple):
    """What is hers in a session.

    `prompt` is that of her role; None where the session gives her none. `own` are the items that
    she has added. `letters` wait for her; `attacks` are CRITIQUE messages that wait for others.
    `asked` is where the question comes from, where a version tells. `kickoff` is what asks her.
    """

    status: SessionStatus
    me: Participant | None
    prompt: Prompt | None
    own: tuple[str, ...]
    acks: tuple[OpenAck, ...]
    refusals: tuple[Refusal, ...]
    critiques: tuple[Critique, ...]
    letters: tuple[OpenMessage, ...]
    attacks: tuple[OpenMessage, ...]
    asked: Source | None = None
    kickoff: PostedMessage | None = None


class Waiting(NamedTuple):
    """A session that waits for somebody, and for what: her turn, or only ACKs."""

    overview: Overview
    turn: Turn | None
    acks: tuple[int, ...]


def task_in(workspace: Workspace, agent: str, thread_id: str) -> Task:
    """Her task in a thread; one that nobody has written to is refused."""
    status, history, messages, *_ = load_status(workspace, thread_id)
    me = next((each for each in status.participants if each.name == agent), None)
    own = _own(history.state.blame, agent)
    roster = earlier_kickoffs(messages).roster
    is_unified = roster is not None and roster.mode == Mode.UNIFIED
    role = (me.role if me else None) or ""
    critiques = _critiques(status, history.state, own)
    return Task(
        status=status,
        me=me,
        prompt=unified.UNIFIED_PROMPT if is_unified else PROMPTS.get(role),
        own=own,
        acks=tuple(each for each in status.open_acks if each.debtor == agent),
        refusals=tuple(each for each in status.refusals if each.agent == agent),
        critiques=tuple(sorted(critiques, key=lambda each: not each.of)),
        letters=tuple(each for each in status.messages if agent in each.waiting_for),
        attacks=tuple(
            each
            for each in status.of_type(CRITIQUE.name)
            if agent not in each.waiting_for and each.sender != agent
        ),
        asked=_source(history.state, "RT", "statement"),
        kickoff=_kickoff(me, messages),
    )


def waiting_for(workspace: Workspace, agent: str) -> tuple[Waiting, ...]:
    """The sessions that wait for her, the most urgent first, and of equals the oldest."""
    found = []
    for overview in overviews(workspace).values():
        turn = next((each.turn for each in overview.awaited if each.name == agent), None)
        acks = tuple(each.message_id for each in overview.owed if each.debtor == agent)
        if turn is None and agent in overview.to_correct and overview.phase is not Phase.COMPLETE:
            turn = Turn.TO_CORRECT  # also after the round in which it was refused
        if turn or acks:
            found.append(Waiting(overview, turn, acks))
    return tuple(sorted(found, key=_urgent_first))


def unread_of(mailbox: Mailbox, agent: str) -> int | None:
    """How many messages she has not read; None where the home does not tell."""
    mailbox.agent(agent)
    return None if Capability.READ_MARKS in mailbox.lacks else mailbox.unread(agent)


def _urgent_first(each: Waiting) -> tuple[int, datetime, str]:
    rank = _URGENCY.index(each.turn) if each.turn in _URGENCY else len(_URGENCY)
    return rank, each.overview.last_at, each.overview.thread_id


def _kickoff(me: Participant | None, messages: Iterable[ThreadMessage]) -> PostedMessage | None:
    number = me.kickoff if me else None
    return next((each.posted for each in messages if each.posted.id == number), None)


def _own(blame: Blame, agent: str) -> tuple[str, ...]:
    """The items that she has added: whose oldest change is hers."""
    found = []
    for item_id, changes in blame.items():
        firsts = [list(change.history())[-1].source for change in changes.values()]
        if firsts and min(firsts, key=lambda each: each.message_id).agent == agent:
            found.append(item_id)
    return tuple(found)


def _critiques(status: SessionStatus, state: State, own: tuple[str, ...]) -> Iterator[Critique]:
    items = {item.id: item for item in state.artifact.sections[ADVERSARIAL_CRITIQUE.id]}
    for each in status.critiques:
        item = items.get(each.item)
        attack = item.text("attack") if item else ""
        named = ITEM_ID_IN_PROSE.findall(f"{each.name} {attack}")
        of = tuple(dict.fromkeys(name for name in named if name in own))
        yield Critique(each, attack, of, _source(state, each.item, "attack"))


def _source(state: State, item_id: str, field: str) -> Source | None:
    change = state.blame.get(item_id, {}).get((field,))
    return change.source if change else None


# A version of an artifact, or a part of it: one section, one item, or what changed since.


_HEADING = "\n## "


class Part(NamedTuple):
    """What to show; nothing given is everything."""

    section: Section | None = None
    item_id: str = ""


class Changed(NamedTuple):
    """What changed in an item, and which messages did it: ids and authors, field by field."""

    change: ItemChange
    by: tuple[tuple[FieldChange, Change | None], ...]


def part_of(artifact: Artifact, thread_id: str, section: str, item_id: str) -> Part:
    """The part that somebody names; what the artifact does not have is refused."""
    wanted = _section(section) if section else None
    if not item_id:
        return Part(wanted)
    known = {item.id: (where, item) for where, item in artifact.all_items()}
    meant = item_id.strip().upper()
    found = known.get(item_id) or known.get(meant)
    if found is None or (wanted and found[0] is not wanted):
        near = did_you_mean(closest(meant, list(known)))
        refused = NO_SUCH_ITEM.at(name=thread_id, item=item_id, or_field="", suggestion=near)
        if wanted:
            message = f"`{wanted.id}` of {thread_id} has no `{item_id}`."
            refused = refused._replace(message=message)
        raise RequestError(refused)
    return Part(found[0], found[1].id)


def _section(name: str) -> Section:
    found = section_named(name)
    if found is None:
        known = ", ".join(f"`{each}`" for each in SECTIONS)
        near = did_you_mean(closest(name, SECTIONS))
        raise RequestError(INVALID_SECTION.at(value=name, known=known, suggestion=near))
    return found


def items_in(artifact: Artifact, part: Part) -> Iterator[Item]:
    """The items that are shown."""
    for section, item in artifact.all_items():
        if part.section in (None, section) and part.item_id in ("", item.id):
            yield item


def as_markdown(loaded: LoadedVersion, part: Part) -> str:
    """The whole as it was published, or the part as it stands there."""
    if part.section is None:
        return loaded.text
    artifact = loaded.artifact
    if part.item_id and part.section is not RESEARCH_THREAD:
        shown = tuple(items_in(artifact, part))
        artifact = artifact._replace(sections={**artifact.sections, part.section.id: shown})
    # No text of an item can make a heading (R16), so that a section ends where the next begins.
    place = [layout.section for layout in LAYOUT].index(part.section)
    text = render_artifact(artifact).split(_HEADING)[place + 1].rstrip("\n")
    return f"{_HEADING.lstrip()}{text}\n"


def as_json(loaded: LoadedVersion, part: Part) -> str:
    """The same as JSON, with the keys of `artifact show --json`."""
    document: dict[str, Any] = artifact_json(loaded.artifact)
    if part.section:
        found = document[part.section.id]
        items = found if isinstance(found, list) else [found]
        one = [item for item in items if item["id"] == part.item_id]
        document = {part.section.id: one[0] if part.item_id else found}
    return json.dumps(document, ensure_ascii=False)


# What changed


def earlier(workspace: Workspace, thread_id: str, number: int) -> Artifact:
    """An earlier version; v0 is the empty artifact before the first (R11)."""
    if number == 0:
        return empty_state(thread_id).artifact
    return load_version(workspace, Target(thread_id, number)).artifact


def changes_since(old: Artifact, new: LoadedVersion, part: Part) -> Diff:
    """What changed in that part."""
    found = diff(old, new.artifact)
    if part.section is None:
        return found
    kept = [
        change
        for change in found.items
        if change.section == part.section.id and part.item_id in ("", change.id)
    ]
    return Diff(tuple(kept))


def who_changed(found: Diff, blame: Blame) -> tuple[Changed, ...]:
    """Each item that changed, with the change of every field; None where the mail does not say."""
    return tuple(Changed(item, tuple(_by(item, blame))) for item in found.items)


def _by(item: ItemChange, blame: Blame) -> Iterator[tuple[FieldChange, Change | None]]:
    changes = blame.get(item.id, {})
    for field in item.fields:
        inside = [each for path, each in changes.items() if path[:1] == field.path[:1]]
        exact = changes.get(field.path) or changes.get(field.path[:1])
        latest = max(inside, key=lambda each: each.source.message_id, default=None)
        yield field, exact or latest


def changes_markdown(changed: tuple[Changed, ...]) -> str:
    """Item by item and field by field: what it was, what it is, who has changed it."""
    lines = []
    for item, by in changed:
        kinds = ", ".join(kind.value for kind in item.kinds)
        lines.append(f"{item.id} ({item.section}): {kinds}{_rank(item)}")
        for field, change in by:
            source = change.source if change else None
            who = f" [{source.agent}, message {source.message_id}]" if source else ""
            was = "" if field.old is None else f"\n    was: {_shown(field.old)}"
            lines.append(f"  {field.field}{who}: {_shown(field.new)}{was}")
    return "\n".join(lines)


def changes_json(found: Diff, old: Artifact, new: Artifact) -> str:
    """The same as JSON, with the keys of `artifact diff --json`."""
    return json.dumps(diff_json(found, old.metadata, new.metadata), ensure_ascii=False)


def _rank(item: ItemChange) -> str:
    return f", rank {item.rank[0]} → {item.rank[1]}" if item.rank else ""


def _shown(value: object) -> str:
    if value is None:
        return "(taken away)"
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
