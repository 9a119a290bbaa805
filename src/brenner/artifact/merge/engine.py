"""Merge unread messages into the latest published state, which gives the next version.

Merging is a pure function: the same input gives the same output, byte for byte. Messages are sorted
by the order of R9 and processed one after the other.
"""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from brenner.artifact.merge.decide import (
    MAX_REPORTED,
    BlockDecision,
    block_diagnostic,
    decide,
    finalise_blocks,
)
from brenner.artifact.merge.draft import (
    NO_OTHER_SESSIONS,
    ArtifactDraft,
    CycleFinder,
    LeftOutReference,
    OtherSessions,
    SessionItem,
    format_cycle,
    is_list,
)
from brenner.artifact.merge.resolve import (
    DeltaMessage,
    JsonPath,
    KickoffMessage,
    ResolvedIds,
    base_version,
    ids_in_prose,
    parse_posted,
    resolve_ids,
)
from brenner.artifact.model import (
    LAYOUT,
    Artifact,
    KillRecord,
    Reference,
    Result,
    uses_new_fields,
)
from brenner.artifact.results import result_from_payload, with_verdict
from brenner.artifact.state import (
    APPLIED,
    KICKOFF,
    AuthorHistoryBuilder,
    Blame,
    BlockPlace,
    Conflict,
    Entry,
    ProseReading,
    Source,
    State,
    Version,
    block_key,
    edited_fields,
    is_replaced,
    latest_version_before,
    updated_mapping,
)
from brenner.diagnostics.codes import lint_sections as lint_sections_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.codes.deltas import UNDECLARED_OUTCOME
from brenner.diagnostics.codes.messages import QUESTION_FROM_TITLE
from brenner.diagnostics.codes.publishing import AP_009
from brenner.diagnostics.truncate import truncate_for_blocks, truncate_for_message
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import read_blocks, render_delta
from brenner.protocol.delta.schema import (
    ADD,
    ADVERSARIAL_CRITIQUE,
    ASSUMPTION_LEDGER,
    EDIT,
    HYPOTHESIS_SLATE,
    KILL,
    OUTCOME_FIELDS,
    POTENCY_FAILED,
    RECORD_FORMAT,
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    DeltaBlock,
    Section,
    undeclared_outcomes,
)
from brenner.protocol.delta.validate import undeclared_words
from brenner.protocol.messages import StoredMessage, iso, thread_order_key
from brenner.protocol.roster_config import roster_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import datetime

    from brenner.diagnostics.model import Diagnostic

# Operation, section, target and name of a block, for the ledger

BlockHeader = tuple[str | None, str | None, str | None, str | None]


def delta_header(delta: Delta) -> BlockHeader:
    """Return operation, section, target and name of a valid block."""
    operation = delta.operation
    name = _payload_name(delta.payload) if operation is ADD else None
    return operation.value, delta.section, delta.target_id, name


def block_header(block: DeltaBlock) -> BlockHeader:
    """Return the same of an invalid block: from its repaired form, or as far as it can be read."""
    for found in block.diagnostics:
        for repaired in read_blocks(parse_blocks(found.repaired)) if found.repaired else ():
            return delta_header(repaired.delta) if repaired.delta else _header_as_written(repaired)
    return _header_as_written(block)


def _header_as_written(block: DeltaBlock) -> BlockHeader:
    operation = block.written("operation")
    payload = block.value.get("payload") if isinstance(block.value, dict) else None
    is_add = operation == ADD
    name = _payload_name(payload) if is_add and isinstance(payload, dict) else None
    return operation, block.written("section"), block.written("target_id"), name


def _payload_name(payload: Mapping[str, object]) -> str | None:
    """Return the name of an item, or the condition of a prediction."""
    name = payload.get("name") or payload.get("condition")
    return name if isinstance(name, str) else None


# The merge of the messages since the last version

_MAX_REPORTED_EDITS = 10
# Their texts say which items depend on an assumption, and why an item is kept (R28).
_SECTIONS_WITH_READINGS = frozenset({ASSUMPTION_LEDGER.id, ADVERSARIAL_CRITIQUE.id})


class MergeRun:
    """A merge in progress: the messages since the last version are applied to a draft."""

    def __init__(self, state: State, elsewhere: OtherSessions, operator: str) -> None:
        metadata = state.artifact.metadata
        self.ledger: list[Entry] = []
        self.warnings: list[Diagnostic] = []
        self.senders: dict[str, int] = {}
        self.left_out: list[LeftOutReference] = []
        self.uses_new_fields = False
        self._readings: dict[BlockPlace, ProseReading] = {}
        self._operator = operator
        self._state = state
        self._version = (metadata.version or 0) + 1
        self._draft = ArtifactDraft(state)
        self._authors: dict[str, AuthorHistoryBuilder] = {}
        self._references = CycleFinder(state.artifact, elsewhere)
        self._known_left_out = elsewhere.left_out
        self._roster = metadata.roster
        self._contributors = dict.fromkeys(metadata.contributors)
        self._created_at = metadata.created_at
        self._updated = state.updated
        self._has_question = state.has_question
        # None until the first kickoff of the thread is known: it decides for the whole thread.
        has_kickoff = len(state.versions) > 1
        self._is_independent = state.is_independent if has_kickoff else None

    def take(self, message: DeltaMessage | KickoffMessage) -> None:
        self._created_at = self._created_at or iso(message.posted.at)
        if isinstance(message, KickoffMessage):
            self._take_kickoff(message)
        else:
            self._take_delta_message(message)

    def finish(self) -> State:
        """Return the next state. No more messages can be taken."""
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
            conflicts=self._draft.open_conflicts.to_conflicts(artifact),
            counts=MappingProxyType(self._draft.counts),
            authors=updated_mapping(
                self._state.authors, {n: a.build() for n, a in self._authors.items()}
            ),
            added=MappingProxyType(self._draft.added),
            has_question=self._has_question,
            updated=self._updated,
            is_independent=bool(self._is_independent),
            readings=updated_mapping(self._state.readings, self._readings),
        )

    # Kickoffs (R15)

    def _take_kickoff(self, kickoff: KickoffMessage) -> None:
        """Fill the empty fields from the first kickoff with a question, the roster from each."""
        if self._is_independent is None:
            self._is_independent = kickoff.is_independent
        if kickoff.roster:
            self._roster = MappingProxyType(roster_json(kickoff.roster))
        if not kickoff.question:
            return
        posted = kickoff.posted
        if not self._has_question:
            self._has_question = True
            if kickoff.is_from_title:
                found = QUESTION_FROM_TITLE.at(title=kickoff.question)
                self.warnings.append(found._replace(message_id=posted.id))
            self._fill_field("statement", kickoff.question, posted)
            self._fill_field("context", kickoff.context, posted)
        current = self._question()
        if _comparable_words(current) != _comparable_words(kickoff.question):
            found = question_differs(kickoff.question, current)
            self.warnings.append(found._replace(message_id=posted.id))

    def _question(self) -> str:
        value = self._draft.mutable_item(RESEARCH_THREAD.prefix)[0].get("statement")
        return value if isinstance(value, str) else ""

    def _fill_field(self, name: str, text: str, posted: StoredMessage) -> None:
        by = Source(posted.id, posted.message.sender, 0, self._version, KICKOFF)
        if text:
            self._draft.fill(RESEARCH_THREAD.prefix, name, text, by)

    # Delta messages

    def _take_delta_message(self, message: DeltaMessage) -> None:
        posted = message.posted
        sender = posted.message.sender
        self.senders.setdefault(sender, posted.id)
        self.uses_new_fields |= any(map(_has_new_fields, message.blocks))
        base = self._base(message)
        author = self._authors.setdefault(
            sender, AuthorHistoryBuilder(self._state.authors.get(sender))
        )
        draft = self._draft
        is_sealed = bool(self._is_independent) and self._is_before_first_version(posted)
        resolved = resolve_ids(message, base, draft, author, is_sealed=is_sealed)
        decisions, numbers = decide(resolved, draft, author, self._operator)
        final = list(finalise_blocks(resolved, decisions, numbers, draft))
        lines = {each.block.number: each.block.fence.line for each in final}
        diagnostics = truncate_for_blocks(self._apply_all(final, posted, base), lines)
        self.ledger += [
            _ledger_entry(each, diagnostics[each.block.number], posted) for each in final
        ]
        applied = [each for each in final if each.outcome is APPLIED]
        if applied:
            self._contributors[message.shorthand] = None
            self._updated = max(self._updated or posted.at, posted.at)
            _remember(author, applied, resolved)
            self._readings |= self._prose_readings(applied, resolved, numbers)

    def _prose_readings(
        self, applied: list[BlockDecision], resolved: ResolvedIds, numbers: Mapping[int, str]
    ) -> Iterator[tuple[BlockPlace, ProseReading]]:
        """Yield the reading of each applied block about an assumption or a critique (R28).

        A block whose IDs mean the items of those numbers has none.
        """
        for each in applied:
            delta = cast("Delta", each.block.delta)
            if delta.section not in _SECTIONS_WITH_READINGS:
                continue
            meant = {written: resolved.view.resolve(written) for _, written in ids_in_prose(delta)}
            items = {
                written: numbers.get(target) if isinstance(target, int) else target
                for written, target in meant.items()
            }
            moved = {written: item for written, item in items.items() if item != written}
            if moved:
                place = (self._version, resolved.message.posted.id, each.block.number)
                yield place, moved

    def _is_before_first_version(self, posted: StoredMessage) -> bool:
        """Return whether no version was published when the message was sent."""
        before = latest_version_before((posted.at, posted.id), self._state.versions)
        return before.number == 0

    def _base(self, message: DeltaMessage) -> Version:
        versions = self._state.versions
        base = base_version(message.posted, message.stated_base, versions)
        stated = message.stated_base
        self.warnings += truncate_for_message(
            found._replace(message_id=message.posted.id) for found in message.warnings
        )
        if stated is not None and stated != base.number:
            found = AP_009.at(version=stated, latest=versions[-1].number)
            self.warnings.append(found._replace(message_id=message.posted.id))
        return base

    def _apply_all(
        self, final: list[BlockDecision], posted: StoredMessage, base: Version
    ) -> dict[int, tuple[Diagnostic, ...]]:
        """Apply the accepted blocks. Return all diagnostics by block number."""
        diagnostics = {each.block.number: each.diagnostics for each in final}
        waiting: dict[str, list[BlockDecision]] = {}  # for a later block that adds the item
        for each in final:
            if each.outcome is not APPLIED:
                continue
            item_id = each.item_id or ""
            is_add = each.block.delta is not None and each.block.delta.target_id is None
            if not is_add and item_id not in self._draft.items:
                waiting.setdefault(item_id, []).append(each)
                continue
            for ready in (each, *(waiting.pop(item_id, ()) if is_add else ())):
                found = self._apply(ready, posted, base)
                if found:
                    diagnostics[ready.block.number] += tuple(found)
        return diagnostics

    def _apply(
        self, final: BlockDecision, posted: StoredMessage, base: Version
    ) -> list[Diagnostic]:
        """Apply one accepted block. Return its diagnostics."""
        delta, item_id = cast("Delta", final.block.delta), final.item_id or ""
        section = SECTIONS[delta.section]
        sender = posted.message.sender
        by = Source(posted.id, sender, final.block.number, self._version, delta.operation.value)
        payload = final.payload
        if delta.operation is KILL:
            found = list(self._unseen_edits(final, sender, base))
            killed = KillRecord(sender, iso(posted.at), str(payload["reason"]))
            self._draft.kill(item_id, section, killed, by)
            return found
        found = []
        if "references" in payload:
            payload, found = self._without_cycles(final, posted)
        if "outcomes" in section.fields:
            payload, more = self._with_results(final._replace(payload=payload), section)
            found += more
        if delta.operation is ADD:
            self._draft.add(item_id, section, payload, by, (posted.at, posted.id))
            return found
        self._draft.edit(item_id, section, payload, by, base.number)
        for path, agent in self._draft.open_conflicts.pop_displaced_agents():
            conflict = block_diagnostic(
                final.block,
                merging_codes.CONFLICTING_EDIT,
                ("payload", *path),
                label=".".join(path),
                id=item_id,
                name=agent,
                version=base.number,
            )
            found.append(conflict)
        return found

    def _with_results(
        self, final: BlockDecision, section: Section
    ) -> tuple[Mapping[str, object], list[Diagnostic]]:
        """Return the payload with a verdict in each result (R26), and warnings about outcomes.

        Outcomes are those that the item has once the payload is applied.
        """
        item_id, payload, name = final.item_id or "", final.payload, OUTCOME_FIELDS[section]
        item = self._draft.fields_of(item_id)
        outcomes = merged_map(item, "outcomes", payload), merged_map(item, name, payload)
        found = list(_outcome_warnings(final, section, item, outcomes))
        if "results" not in payload:
            return payload, found
        known = list(cast("Iterable[Result]", item.get("results", ())))
        given = map(result_from_payload, cast("list[dict[str, object]]", payload["results"]))
        results = [with_verdict(each, known, *outcomes) for each in given]
        found += _results_without_verdict(final, results, outcomes[0])
        return {**payload, "results": results}, found

    def _without_cycles(
        self, final: BlockDecision, posted: StoredMessage
    ) -> tuple[Mapping[str, object], list[Diagnostic]]:
        """Return the payload without the references that would close a reference cycle (R21)."""
        item_id, payload = final.item_id or "", final.payload
        given = [Reference(**each) for each in cast("list[dict[str, str]]", payload["references"])]
        existing = set()
        if item_id in self._draft.items:
            existing = set(self._draft.references_of(item_id))
            if is_replaced("references", payload):
                for reference in existing - set(given):
                    self._references.remove(item_id, reference)
        kept, found = [], []
        for reference in dict.fromkeys(given):
            here = LeftOutReference(posted.id, final.block.number, *reference)
            cycle = reference not in existing and self._references.find_cycle(item_id, reference)
            if cycle or here in self._known_left_out:
                self.left_out.append(here)
                found.append(_circular_reference(final, reference, cycle or []))
                continue
            kept.append(reference._asdict())
            if reference not in existing:
                self._references.add(item_id, reference)
        return {**payload, "references": kept}, found

    def _unseen_edits(
        self, final: BlockDecision, sender: str, base: Version
    ) -> Iterator[Diagnostic]:
        """Warn about edits of the item that the author of the kill cannot have seen (R12)."""
        item_id = final.item_id or ""
        if self._draft.is_killed(item_id):
            return
        unseen: dict[str, None] = {}
        for path, last in self._draft.blame.get(item_id, {}).items():
            label = path[0] if is_list(item_id, path[0]) else ".".join(path)
            for change in last.history():
                source = change.source
                if source.version <= base.number:
                    break
                if source.operation == EDIT and source.agent != sender:
                    edit = f"`{label}` by {source.agent}, message {source.message_id}"
                    unseen[edit] = None
        if unseen:
            edits = "; ".join(list(unseen)[:_MAX_REPORTED_EDITS])
            more = len(unseen) - _MAX_REPORTED_EDITS
            edits += f"; and {more} more" if more > 0 else ""
            words = {"name": sender, "id": item_id, "edits": edits}
            yield block_diagnostic(
                final.block, merging_codes.KILL_OVER_UNSEEN_EDITS, ("target_id",), **words
            )


def _has_new_fields(block: DeltaBlock) -> bool:
    """Return whether a block has a field that only the newest record format knows (R26).

    A rejected one counts too: with the earlier fields it might be applied.
    """
    section = SECTIONS.get(block.written("section") or "")
    payload = block.value.get("payload") if isinstance(block.value, dict) else None
    if section is None or not isinstance(payload, dict):
        return False
    return not section.new_keys.isdisjoint(payload)


def merged_map(
    item: Mapping[str, object], name: str, payload: Mapping[str, object]
) -> dict[str, str]:
    """Return a map of an item once a payload is applied."""
    current = cast("dict[str, str]", item.get(name, {}))
    if name not in payload:
        return dict(current)
    given = cast("dict[str, str]", payload[name])
    return dict(given) if is_replaced(name, payload) else {**current, **given}


def _outcome_warnings(
    final: BlockDecision,
    section: Section,
    item: Mapping[str, object],
    outcomes: tuple[dict[str, str], dict[str, str]],
) -> Iterator[Diagnostic]:
    """Warn of an EDIT of outcomes after a result (R26), and of outcomes not declared (R27).

    `item` has the fields before the block, `outcomes` are the declared and the stated ones after
    it. For an ADD, the check of the block has reported undeclared outcomes.
    """
    if final.block.delta is None or final.block.delta.operation is ADD:
        return
    declared, stated = outcomes
    payload, item_id, name = final.payload, final.item_id or "", OUTCOME_FIELDS[section]
    for field, now in (("outcomes", declared), (name, stated)):
        if item.get("results") and field in payload and now != dict(_as_map(item.get(field))):
            path: JsonPath = ("payload", field)
            code = merging_codes.OUTCOME_AFTER_RESULT
            yield block_diagnostic(final.block, code, path, id=item_id, where=field)
    given = _as_map(payload.get(name)) if "outcomes" not in payload else stated
    undeclared = undeclared_outcomes(declared, given) if declared else ()
    for hypothesis, outcome in islice(undeclared, MAX_REPORTED):
        path = ("payload", name, hypothesis) if name in payload else ("payload", "outcomes")
        words = undeclared_words(outcome, declared)
        where = f"payload.{name}.{hypothesis}"
        yield block_diagnostic(final.block, UNDECLARED_OUTCOME, path, name=where, **words)


def _as_map(value: object) -> Mapping[str, str]:
    return cast("Mapping[str, str]", value or {})


def _results_without_verdict(
    final: BlockDecision, results: list[Result], declared: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Warn of results that say nothing about any hypothesis although their test worked (R26)."""
    for index, result in enumerate(results[:MAX_REPORTED]):
        if result.has_verdict or result.potency == POTENCY_FAILED:
            continue
        words = {"value": result.outcome, "id": final.item_id or "", "known": "", "suggestion": ""}
        if declared and result.outcome not in declared:
            near = undeclared_words(result.outcome, declared)
            words |= {"known": f" Declared outcomes: {near['known']}."}
            words |= {"suggestion": near["suggestion"]}
        code, path = merging_codes.RESULT_WITHOUT_VERDICT, ("payload", "results", index)
        yield block_diagnostic(final.block, code, path, **words)


def _ledger_entry(
    final: BlockDecision, diagnostics: tuple[Diagnostic, ...], posted: StoredMessage
) -> Entry:
    block, delta = final.block, final.block.delta
    operation, section, target_id, name = delta_header(delta) if delta else block_header(block)
    return Entry(
        posted.id,
        block.number,
        block.fence.line,
        posted.message.sender,
        operation,
        section,
        target_id,
        final.outcome,
        final.item_id if delta and delta.target_id is None else None,
        final.item_id,
        final.rewrites,
        tuple([each._replace(message_id=posted.id) for each in diagnostics]) if diagnostics else (),
        name,
        final.meant_id,
        _referred_items(final, posted.message.thread_id),
    )


def _referred_items(final: BlockDecision, thread_id: str) -> tuple[str, ...]:
    """Return the items of this thread that the references of an applied ADD name."""
    if final.outcome is not APPLIED or "references" not in final.payload:
        return ()
    given = cast("list[dict[str, str]]", final.payload["references"])
    return tuple(each["item"] for each in given if each["session"] == thread_id)


def _remember(
    author: AuthorHistoryBuilder, applied: list[BlockDecision], resolved: ResolvedIds
) -> None:
    """Store the applied blocks in the author's history, to detect duplicates later."""
    message_id, base = resolved.message.posted.id, resolved.base.number
    for each in applied:
        delta, item_id = cast("Delta", each.block.delta), each.item_id or ""
        here = author.next_applied(message_id, each.block.number, item_id)
        author.remember(each.key or block_key(delta, item_id, each.payload, base), here)
        if delta.operation is ADD:
            author.remember_add(base, SECTIONS[delta.section].prefix, here)
            meanings = resolved.block_meanings(each.block.number).values()
            if any(isinstance(target, int) for target in meanings):
                author.remember_as_written(block_key(delta, None, delta.payload, base), here)
        elif delta.operation is EDIT:
            author.remember_edit(here, edited_fields(delta, each.payload))


def _circular_reference(
    final: BlockDecision, reference: Reference, cycle: list[SessionItem]
) -> Diagnostic:
    # When a version is rebuilt, the references of the other sessions at that time are unknown.
    chain = format_cycle(cycle) or "through other sessions, as they were at that time"
    words = {"value": str(reference), "id": final.item_id or "", "chain": chain}
    return block_diagnostic(
        final.block, merging_codes.CIRCULAR_REFERENCE, ("payload", "references"), **words
    )


def question_differs(question: str, current: str) -> Diagnostic:
    """Return a warning that a later kickoff has a different question, with the EDIT to send."""
    delta = Delta(
        EDIT,
        RESEARCH_THREAD.id,
        RESEARCH_THREAD.prefix,
        {"statement": question},
        "The question of a later kickoff",
    )
    found = merging_codes.QUESTION_DIFFERS.at(value=question, other=current)
    return found._replace(repaired=render_delta(delta))


def _comparable_words(text: str) -> list[str]:
    """Return a question for comparison: ignore line breaks and escapes.

    A kickoff escapes Markdown structure, and an EDIT may contain the same text unescaped.
    """
    return text.replace("\\", "").split()


# Warnings about an incomplete artifact (companion, Merging)


# The lint rule with the same minimum
_MINIMUM_RULES = {
    "hypothesis_slate": lint_sections_codes.EH_001,
    "predictions_table": lint_sections_codes.EP_001,
    "discriminative_tests": lint_sections_codes.ET_001,
    "assumption_ledger": lint_sections_codes.EA_001,
    "adversarial_critique": lint_sections_codes.EC_001,
}


def completeness_warnings(artifact: Artifact, has_question: bool) -> Iterator[Diagnostic]:
    """Warn of a missing question, too few items, no third alternative, no scale check."""
    if not has_question and not artifact.research_thread.text("statement"):
        yield merging_codes.NO_KICKOFF.at(thread_id=artifact.metadata.session_id or "")
    for layout in LAYOUT:
        if layout.section is RESEARCH_THREAD:
            continue
        count = len(artifact.active(layout.section))
        if count < layout.least:
            section = layout.section.id
            found = merging_codes.BELOW_MINIMUM.at(section=section, count=count, least=layout.least)
            yield found._replace(also=(_MINIMUM_RULES[section].id,))
    hypotheses = artifact.active(HYPOTHESIS_SLATE)
    if not any("third_alternative" in item.fields for item in hypotheses):
        yield merging_codes.NO_THIRD_ALTERNATIVE.at()
    if not any("scale_check" in item.fields for item in artifact.active(ASSUMPTION_LEDGER)):
        yield merging_codes.NO_SCALE_CHECK.at()


def unknown_agents(
    senders: Mapping[str, int], roster: Collection[str] | None, operator: str
) -> Iterator[Diagnostic]:
    """Yield a warning for each sender who is not in the session's roster, at its first message."""
    if roster is None:
        return
    for name, message_id in senders.items():
        if name not in roster and name != operator:
            yield merging_codes.UNKNOWN_AGENT.at(name=name)._replace(message_id=message_id)


# The merge and its result

OPERATOR = "Operator"


class Merge(NamedTuple):
    """The next version, not yet published, with the ledger and the warnings.

    `record_format` is the earliest record format in which the version is the same (R26).
    """

    state: State
    ledger: tuple[Entry, ...]
    warnings: tuple[Diagnostic, ...]
    left_out: tuple[LeftOutReference, ...] = ()
    record_format: int = 1

    @property
    def artifact(self) -> Artifact:
        return self.state.artifact

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Return all open conflicts."""
        return self.state.conflicts

    @property
    def blame(self) -> Blame:
        return self.state.blame

    def publish(self, message_id: int, at: datetime) -> State:
        """Return the state after the COMPILED message of this version was posted."""
        number = self.artifact.metadata.version or 0
        version = Version(number, at, message_id, self.state.counts)
        return self.state._replace(versions=(*self.state.versions, version))


def merge(  # noqa: PLR0913  (one parameter per fact that is not in the mail)
    state: State,
    messages: Iterable[StoredMessage],
    roster: Collection[str] | None = None,
    operator: str = OPERATOR,
    elsewhere: OtherSessions = NO_OTHER_SESSIONS,
    *,
    record_format: int = RECORD_FORMAT,
) -> Merge:
    """Merge KICKOFF and DELTA messages. Ignore messages of other types.

    All messages must belong to the state's thread. `roster` are the session's agents, if they are
    known from another source than its kickoffs. `elsewhere` are the references of other sessions,
    through which no reference cycle may be closed. A version is rebuilt with its record format.
    """
    in_order = sorted(messages, key=thread_order_key)
    read = (parse_posted(each, record_format) for each in in_order)
    parsed = [each for each in read if each is not None]
    return merge_parsed(state, parsed, roster, operator, elsewhere)


def merge_parsed(
    state: State,
    parsed: Iterable[DeltaMessage | KickoffMessage],
    roster: Collection[str] | None = None,
    operator: str = OPERATOR,
    elsewhere: OtherSessions = NO_OTHER_SESSIONS,
) -> Merge:
    """Merge messages that are already parsed and sorted."""
    current = MergeRun(state, elsewhere, operator)
    for each in parsed:
        current.take(each)
    after = current.finish()
    agents = after.artifact.metadata.agents or None if roster is None else roster
    warnings = (
        *current.warnings,
        *unknown_agents(current.senders, agents, operator),
        *completeness_warnings(after.artifact, after.has_question),
    )
    uses_new = current.uses_new_fields or uses_new_fields(after.artifact)
    needed = RECORD_FORMAT if uses_new else 1
    return Merge(after, tuple(current.ledger), warnings, tuple(current.left_out), needed)
