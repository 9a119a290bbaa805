"""One round: the messages since the last version, taken one after the other into a draft."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

from brenner.artifact.blame import KICKOFF, Source
from brenner.artifact.kept import updated
from brenner.artifact.ledger import Entry, Outcome
from brenner.artifact.merging.annotate import Settled, settle
from brenner.artifact.merging.authors import Author, block_key, edited_fields, is_replaced
from brenner.artifact.merging.circles import Elsewhere, LeftOut, Node, References, shown
from brenner.artifact.merging.contribution import Contribution, Kickoff
from brenner.artifact.merging.decide import decide
from brenner.artifact.merging.draft import Draft, Step
from brenner.artifact.merging.numbering import base_of
from brenner.artifact.merging.opened import is_list
from brenner.artifact.merging.reading import Reading, read_message
from brenner.artifact.merging.refusals import told
from brenner.artifact.merging.written import meant_by, written
from brenner.artifact.model import Killed, Reference
from brenner.artifact.state import State, Version
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.codes.messages import QUESTION_FROM_TITLE
from brenner.diagnostics.codes.publishing import AP_009
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.truncate import of_blocks, of_message
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, Delta, Operation
from brenner.protocol.messages import Posted, iso
from brenner.protocol.roster_config import roster_json

_MOST_EDITS_TOLD = 10


class Round:
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

    def _fill(self, name: str, text: str, posted: Posted) -> None:
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
        self, settled: list[Settled], posted: Posted, base: Version
    ) -> dict[int, tuple[Diagnostic, ...]]:
        """Apply what is to be applied; everything that is to be said, by block."""
        said = {each.block.number: each.diagnostics for each in settled}
        waiting: dict[str, list[Settled]] = {}  # for the block further down that adds their item
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

    def _apply(self, settled: Settled, posted: Posted, base: Version) -> Iterator[Diagnostic]:
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
                codes.CONFLICTING_EDIT,
                ("payload", *noted.path),
                label=".".join(noted.path),
                id=item_id,
                name=noted.agent,
                version=base.number,
            )

    def _without_circles(
        self, settled: Settled, posted: Posted
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

    def _unseen_edits(self, settled: Settled, sender: str, base: Version) -> Iterator[Diagnostic]:
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
            yield told(settled.block, codes.KILL_OVER_UNSEEN_EDITS, ("target_id",), **words)


def _entry(settled: Settled, said: tuple[Diagnostic, ...], posted: Posted) -> Entry:
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


def _remember(author: Author, applied: list[Settled], reading: Reading) -> None:
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


def _circular(settled: Settled, reference: Reference, circle: list[Node]) -> Diagnostic:
    value = f"{reference.relation} {reference.session} {reference.item}"
    # Who rebuilds a version knows that it was left out, and not what other sessions said then.
    chain = shown(circle) or "through other sessions, as they stood then"
    words = {"value": value, "id": settled.item_id or "", "chain": chain}
    return told(settled.block, codes.CIRCULAR_REFERENCE, ("payload", "references"), **words)


def question_differs(question: str, standing: str) -> Diagnostic:
    """That a later kickoff asks another question than the artifact, with the EDIT to send."""
    delta = Delta(
        Operation.EDIT,
        RESEARCH_THREAD.id,
        RESEARCH_THREAD.prefix,
        {"statement": question},
        "The question of a later kickoff",
    )
    found = codes.QUESTION_DIFFERS.at(value=question, other=standing)
    return found._replace(repaired=render_delta(delta))


def _words(text: str) -> list[str]:
    """A question as compared: how its lines are broken does not matter, nor what is escaped.

    A kickoff escapes what would be structure in it, and an EDIT may have said just that.
    """
    return text.replace("\\", "").split()
