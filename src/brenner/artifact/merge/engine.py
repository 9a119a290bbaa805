"""Merging: a published state and the messages that no version has read yet make the next version.

A pure function: the same input gives the same output, byte for byte. Messages are put into the
order of R9 and taken one after the other, whatever order they come in.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.merge.decide import FinalBlock, decide, settle, told
from brenner.artifact.merge.draft import (
    NOWHERE,
    Draft,
    Elsewhere,
    LeftOut,
    Node,
    References,
    Step,
    is_list,
)
from brenner.artifact.merge.draft import circles_shown as shown
from brenner.artifact.merge.resolve import (
    Contribution,
    Kickoff,
    ResolvedIds,
    base_of,
    read_message,
    read_posted,
)
from brenner.artifact.model import LAYOUT, Artifact, Killed, Reference
from brenner.artifact.state import (
    KICKOFF,
    Author,
    Blame,
    Conflict,
    Entry,
    Outcome,
    Source,
    State,
    Version,
    block_key,
    edited_fields,
    is_replaced,
    updated,
)
from brenner.diagnostics.codes import lint_sections as lint_sections_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.codes.messages import QUESTION_FROM_TITLE
from brenner.diagnostics.codes.publishing import AP_009
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.truncate import of_blocks, of_message
from brenner.markdown.blocks import blocks
from brenner.protocol.delta.parse import read_blocks, render_delta
from brenner.protocol.delta.schema import (
    ASSUMPTION_LEDGER,
    HYPOTHESIS_SLATE,
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    DeltaBlock,
    Operation,
)
from brenner.protocol.messages import PostedMessage, in_thread_order, iso
from brenner.protocol.roster_config import roster_json

# What a block is to do: its operation, section and target, and what an ADD calls its item.


Written = tuple[str | None, str | None, str | None, str | None]


def written(delta: Delta) -> Written:
    """What a sound block says."""
    operation = delta.operation
    name = _name(delta.payload) if operation is Operation.ADD else None
    return operation.value, delta.section, delta.target_id, name


def meant_by(block: DeltaBlock) -> Written:
    """What a block says that is not sound: its repaired form, or else as far as it can be read."""
    for found in block.diagnostics:
        for repaired in read_blocks(blocks(found.repaired)) if found.repaired else ():
            return written(repaired.delta) if repaired.delta else _as_written(repaired)
    return _as_written(block)


def _as_written(block: DeltaBlock) -> Written:
    operation = block.written("operation")
    payload = block.value.get("payload") if isinstance(block.value, dict) else None
    is_add = operation == Operation.ADD
    name = _name(payload) if is_add and isinstance(payload, dict) else None
    return operation, block.written("section"), block.written("target_id"), name


def _name(payload: Mapping[str, object]) -> str | None:
    """The name of an item; a prediction has a condition instead."""
    name = payload.get("name") or payload.get("condition")
    return name if isinstance(name, str) else None


# One round: the messages since the last version, taken one after the other into a draft.


_MOST_EDITS_TOLD = 10


class MergeRun:
    """A merge under way."""

    def __init__(self, state: State, elsewhere: Elsewhere) -> None:
        metadata = state.artifact.metadata
        self.ledger: list[Entry] = []
        self.warnings: list[Diagnostic] = []
        self.senders: dict[str, int] = {}
        self.left_out: list[LeftOut] = []
        self._state = state
        self._version = (metadata.version or 0) + 1
        self._draft = Draft(state)
        self._authors: dict[str, Author] = {}
        self._references = References(state.artifact, elsewhere)
        self._known_left_out = elsewhere.left_out
        self._roster = metadata.roster
        self._contributors = dict.fromkeys(metadata.contributors)
        self._created_at = metadata.created_at
        self._updated = state.updated
        self._has_question = state.has_question

    def take(self, brought: Contribution | Kickoff) -> None:
        """Take the next message."""
        self._created_at = self._created_at or iso(brought.posted.at)
        if isinstance(brought, Kickoff):
            self._take_kickoff(brought)
        else:
            self._take_contribution(brought)

    def end(self) -> State:
        """The next version; nothing more is taken."""
        question, sections, blame = self._draft.freeze()
        before = self._state.artifact
        metadata = before.metadata._replace(
            version=self._version,
            created_at=self._created_at,
            updated_at=iso(self._updated) if self._updated else before.metadata.updated_at,
            compiled_at=None,
            compiled_by=None,
            status="draft",  # until it is published
            contributors=tuple(self._contributors),
            agent_mail_message_id=None,
            roster=self._roster,
        )
        artifact = before._replace(metadata=metadata, research_thread=question, sections=sections)
        return self._state._replace(
            artifact=artifact,
            blame=blame,
            conflicts=self._draft.disputes.still_open(artifact),
            counts=MappingProxyType(self._draft.counts),
            authors=updated(self._state.authors, {n: a.memory() for n, a in self._authors.items()}),
            added=MappingProxyType(self._draft.added),
            has_question=self._has_question,
            updated=self._updated,
        )

    # Kickoffs (R15).

    def _take_kickoff(self, kickoff: Kickoff) -> None:
        """The first one with a question fills the empty fields; later ones change nothing but the
        roster.
        """
        if kickoff.roster:
            self._roster = MappingProxyType(roster_json(kickoff.roster))
        if not kickoff.question:
            return
        posted = kickoff.posted
        if not self._has_question:
            self._has_question = True
            if kickoff.is_titled:
                found = QUESTION_FROM_TITLE.at(title=kickoff.question)
                self.warnings.append(found._replace(message_id=posted.id))
            self._fill("statement", kickoff.question, posted)
            self._fill("context", kickoff.context, posted)
        standing = self._question()
        if _words(standing) != _words(kickoff.question):
            found = question_differs(kickoff.question, standing)
            self.warnings.append(found._replace(message_id=posted.id))

    def _question(self) -> str:
        value = self._draft.touched(RESEARCH_THREAD.prefix).fields.get("statement")
        return value if isinstance(value, str) else ""

    def _fill(self, name: str, text: str, posted: PostedMessage) -> None:
        by = Source(posted.id, posted.message.sender, 0, self._version, KICKOFF)
        if text:
            self._draft.fill(RESEARCH_THREAD.prefix, name, text, by)

    # Contributions.

    def _take_contribution(self, contribution: Contribution) -> None:
        posted = contribution.posted
        sender = posted.message.sender
        self.senders.setdefault(sender, posted.id)
        base = self._base(contribution)
        author = self._author(sender)
        draft = self._draft
        reading = read_message(contribution, base, draft, author)
        verdict = decide(reading, draft, author)
        settled = list(settle(reading, verdict, draft))
        lines = {each.block.number: each.block.fence.line for each in settled}
        said = of_blocks(self._apply_all(settled, posted, base), lines)
        self.ledger += [_entry(each, said[each.block.number], posted) for each in settled]
        applied = [each for each in settled if each.outcome is Outcome.APPLIED]
        if applied:
            self._contributors[contribution.shorthand] = None
            self._updated = max(self._updated or posted.at, posted.at)
            _remember(author, applied, reading)

    def _base(self, contribution: Contribution) -> Version:
        versions = self._state.versions
        base = base_of(contribution.posted, contribution.stated_base, versions)
        stated = contribution.stated_base
        self.warnings += of_message(
            found._replace(message_id=contribution.posted.id) for found in contribution.warnings
        )
        if stated is not None and stated != base.number:
            found = AP_009.at(version=stated, latest=versions[-1].number)
            self.warnings.append(found._replace(message_id=contribution.posted.id))
        return base

    def _author(self, sender: str) -> Author:
        if sender not in self._authors:
            self._authors[sender] = Author(self._state.authors.get(sender))
        return self._authors[sender]

    def _apply_all(
        self, settled: list[FinalBlock], posted: PostedMessage, base: Version
    ) -> dict[int, tuple[Diagnostic, ...]]:
        """Apply what is to be applied; everything that is to be said, by block."""
        said = {each.block.number: each.diagnostics for each in settled}
        waiting: dict[str, list[FinalBlock]] = {}  # for the block further down that adds their item
        for each in settled:
            if each.outcome is not Outcome.APPLIED:
                continue
            item_id = each.item_id or ""
            is_add = each.block.delta is not None and each.block.delta.target_id is None
            if not is_add and item_id not in self._draft.items:
                waiting.setdefault(item_id, []).append(each)
                continue
            for ready in (each, *(waiting.pop(item_id, ()) if is_add else ())):
                said[ready.block.number] += tuple(self._apply(ready, posted, base))
        return said

    def _apply(
        self, settled: FinalBlock, posted: PostedMessage, base: Version
    ) -> Iterator[Diagnostic]:
        delta, item_id = cast("Delta", settled.block.delta), settled.item_id or ""
        section = SECTIONS[delta.section]
        sender = posted.message.sender
        by = Source(posted.id, sender, settled.block.number, self._version, delta.operation.value)
        payload = settled.payload
        if delta.operation is Operation.KILL:
            yield from self._unseen_edits(settled, sender, base)
            killed = Killed(sender, iso(posted.at), str(payload["reason"]))
            self._draft.kill(item_id, section, killed, by)
            return
        if "references" in payload:
            payload, found = self._without_circles(settled, posted)
            yield from found
        if delta.operation is Operation.ADD:
            self._draft.add(item_id, section, payload, by, (posted.at, posted.id))
            return
        self._draft.edit(item_id, section, payload, Step(by, base.number))
        for noted in self._draft.disputes.take_noted():
            yield told(
                settled.block,
                merging_codes.CONFLICTING_EDIT,
                ("payload", *noted.path),
                label=".".join(noted.path),
                id=item_id,
                name=noted.agent,
                version=base.number,
            )

    def _without_circles(
        self, settled: FinalBlock, posted: PostedMessage
    ) -> tuple[Mapping[str, object], list[Diagnostic]]:
        """The payload without the references that would close a circle (R21)."""
        item_id, payload = settled.item_id or "", settled.payload
        given = [Reference(**each) for each in cast("list[dict[str, str]]", payload["references"])]
        standing = set()
        if item_id in self._draft.items:
            standing = set(self._draft.references_of(item_id))
            if is_replaced("references", payload):
                for reference in standing - set(given):
                    self._references.forget(item_id, reference)
        kept, found = [], []
        for reference in dict.fromkeys(given):
            here = LeftOut(posted.id, settled.block.number, *reference)
            circle = reference not in standing and self._references.circle(item_id, reference)
            if circle or here in self._known_left_out:
                self.left_out.append(here)
                found.append(_circular(settled, reference, circle or []))
                continue
            kept.append(reference._asdict())
            if reference not in standing:
                self._references.add(item_id, reference)
        return {**payload, "references": kept}, found

    def _unseen_edits(
        self, settled: FinalBlock, sender: str, base: Version
    ) -> Iterator[Diagnostic]:
        """The edits of the item that its killer cannot have seen (R12)."""
        item_id = settled.item_id or ""
        if self._draft.is_killed(item_id):
            return
        unseen: dict[str, None] = {}
        for path, last in self._draft.blame.get(item_id, {}).items():
            label = path[0] if is_list(item_id, path[0]) else ".".join(path)
            for change in last.history():
                source = change.source
                if source.version <= base.number:
                    break
                if source.operation == Operation.EDIT and source.agent != sender:
                    edit = f"`{label}` by {source.agent}, message {source.message_id}"
                    unseen[edit] = None
        if unseen:
            edits = "; ".join(list(unseen)[:_MOST_EDITS_TOLD])
            more = len(unseen) - _MOST_EDITS_TOLD
            edits += f"; and {more} more" if more > 0 else ""
            words = {"name": sender, "id": item_id, "edits": edits}
            yield told(settled.block, merging_codes.KILL_OVER_UNSEEN_EDITS, ("target_id",), **words)


def _entry(settled: FinalBlock, said: tuple[Diagnostic, ...], posted: PostedMessage) -> Entry:
    block, delta = settled.block, settled.block.delta
    operation, section, target_id, name = written(delta) if delta else meant_by(block)
    return Entry(
        posted.id,
        block.number,
        block.fence.line,
        posted.message.sender,
        operation,
        section,
        target_id,
        settled.outcome,
        settled.item_id if delta and delta.target_id is None else None,
        settled.item_id,
        settled.rewrites,
        tuple([each._replace(message_id=posted.id) for each in said]) if said else (),
        name,
        settled.meant_id,
    )


def _remember(author: Author, applied: list[FinalBlock], reading: ResolvedIds) -> None:
    """What later messages of this author are compared with."""
    message_id, base = reading.contribution.posted.id, reading.base.number
    for each in applied:
        delta, item_id = cast("Delta", each.block.delta), each.item_id or ""
        here = author.next_applied(message_id, each.block.number, item_id)
        author.remember(each.key or block_key(delta, item_id, each.payload, base), here)
        if delta.operation is Operation.ADD:
            author.remember_add(base, SECTIONS[delta.section].prefix, here)
            meant = reading.meant(each.block.number).values()
            if any(isinstance(target, int) for target in meant):
                author.remember_as_written(block_key(delta, None, delta.payload, base), here)
        elif delta.operation is Operation.EDIT:
            author.remember_edit(here, edited_fields(delta, each.payload))


def _circular(settled: FinalBlock, reference: Reference, circle: list[Node]) -> Diagnostic:
    value = f"{reference.relation} {reference.session} {reference.item}"
    # Who rebuilds a version knows that it was left out, and not what other sessions said then.
    history = shown(circle) or "through other sessions, as they stood then"
    words = {"value": value, "id": settled.item_id or "", "chain": history}
    return told(settled.block, merging_codes.CIRCULAR_REFERENCE, ("payload", "references"), **words)


def question_differs(question: str, standing: str) -> Diagnostic:
    """That a later kickoff asks another question than the artifact, with the EDIT to send."""
    delta = Delta(
        Operation.EDIT,
        RESEARCH_THREAD.id,
        RESEARCH_THREAD.prefix,
        {"statement": question},
        "The question of a later kickoff",
    )
    found = merging_codes.QUESTION_DIFFERS.at(value=question, other=standing)
    return found._replace(repaired=render_delta(delta))


def _words(text: str) -> list[str]:
    """A question as compared: how its lines are broken does not matter, nor what is escaped.

    A kickoff escapes what would be structure in it, and an EDIT may have said just that.
    """
    return text.replace("\\", "").split()


# What an artifact still lacks after a merge, as warnings (companion, Merging).


# The lint rule that says the same of the section
_LEAST_RULES = {
    "hypothesis_slate": lint_sections_codes.EH_001,
    "predictions_table": lint_sections_codes.EP_001,
    "discriminative_tests": lint_sections_codes.ET_001,
    "assumption_ledger": lint_sections_codes.EA_001,
    "adversarial_critique": lint_sections_codes.EC_001,
}


def shortcomings(artifact: Artifact, has_question: bool) -> Iterator[Diagnostic]:
    """No question, too few items, no third alternative, no scale check."""
    if not has_question and not artifact.research_thread.text("statement"):
        yield merging_codes.NO_KICKOFF.at(thread_id=artifact.metadata.session_id or "")
    for layout in LAYOUT:
        if layout.section is RESEARCH_THREAD:
            continue
        count = len(artifact.active(layout.section))
        if count < layout.least:
            section = layout.section.id
            found = merging_codes.BELOW_MINIMUM.at(section=section, count=count, least=layout.least)
            yield found._replace(also=(_LEAST_RULES[section].id,))
    hypotheses = artifact.active(HYPOTHESIS_SLATE)
    if not any("third_alternative" in item.fields for item in hypotheses):
        yield merging_codes.NO_THIRD_ALTERNATIVE.at()
    if not any("scale_check" in item.fields for item in artifact.active(ASSUMPTION_LEDGER)):
        yield merging_codes.NO_SCALE_CHECK.at()


def unknown_agents(
    senders: Mapping[str, int], roster: Collection[str] | None, operator: str
) -> Iterator[Diagnostic]:
    """The senders, each with her first message, who are not in the session's roster."""
    if roster is None:
        return
    for name, message_id in senders.items():
        if name not in roster and name != operator:
            yield merging_codes.UNKNOWN_AGENT.at(name=name)._replace(message_id=message_id)


OPERATOR = "Operator"


class Merge(NamedTuple):
    """The next version, not yet published, with the account of how it came about."""

    state: State
    ledger: tuple[Entry, ...]
    warnings: tuple[Diagnostic, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def artifact(self) -> Artifact:
        """The artifact of the next version."""
        return self.state.artifact

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All conflicts that are open now."""
        return self.state.conflicts

    @property
    def blame(self) -> Blame:
        """Who set what."""
        return self.state.blame

    def publish(self, message_id: int, at: datetime) -> State:
        """The state after the COMPILED message of this version was posted."""
        number = self.artifact.metadata.version or 0
        version = Version(number, at, message_id, self.state.counts)
        return self.state._replace(versions=(*self.state.versions, version))


def merge(
    state: State,
    messages: Iterable[PostedMessage],
    roster: Collection[str] | None = None,
    operator: str = OPERATOR,
    elsewhere: Elsewhere = NOWHERE,
) -> Merge:
    """Merge what KICKOFF and DELTA messages bring; messages of other types bring nothing.

    All must be messages of the state's thread. `roster` are the session's agents, where that is
    known from elsewhere than its kickoffs. `elsewhere` is what no circle of references is to be
    closed through.
    """
    read = map(read_posted, sorted(messages, key=in_thread_order))
    brought = [each for each in read if each is not None]
    return merge_read(state, brought, roster, operator, elsewhere)


def merge_read(
    state: State,
    brought: Iterable[Contribution | Kickoff],
    roster: Collection[str] | None = None,
    operator: str = OPERATOR,
    elsewhere: Elsewhere = NOWHERE,
) -> Merge:
    """Merge messages that were read already and stand in their order."""
    current = MergeRun(state, elsewhere)
    for each in brought:
        current.take(each)
    after = current.end()
    agents = after.artifact.metadata.agents or None if roster is None else roster
    warnings = (
        *current.warnings,
        *unknown_agents(current.senders, agents, operator),
        *shortcomings(after.artifact, after.has_question),
    )
    return Merge(after, tuple(current.ledger), warnings, tuple(current.left_out))
