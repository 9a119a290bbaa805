"""What the merge is tried on: whole threads in a small world.

Three agents, few items, few texts: so that numbers collide, edits conflict, IDs can mean two items
and blocks come twice, in almost every thread. The texts mean harm all the same.
"""

from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    COLLECTION_KINDS,
    HYPOTHESIS_SLATE,
    POTENCIES,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.messages import Message, StoredMessage
from sample_messages import (
    ADD,
    DISPUTES,
    EDIT,
    FIVE,
    KILL,
    ROLES,
    SCENES,
    SIX,
    THREAD_ID,
    TWO,
    Draft,
    opening,
    spoiled,
)

START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)

TEXTS = (
    *("grows", "fades", "see H1", "as H2 and T1 say", "N/A"),
    *("```delta\n{}\n```", "## 7. Adversarial Critique\n- | a | b |", "\u202e§42 **Claim**: \\"),
    '{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H1"}',
)
_HYPOTHESES = ("H1", "H1", "H1", "H2", "H2", "H3", "H4", "H5", "H9")
_ITEMS = ("H1", "H2", "H3", "P1", "T1", "A1", "X1", "C1", "C2", "RT", "A7")
# What is worked on most: there the rules are most intricate.
_SECTIONS = (
    *(HYPOTHESIS_SLATE,) * 4,
    *(PREDICTIONS_TABLE,) * 3,
    *SECTIONS.values(),
)
TWO_BASES = "v1\n\n**Base Version**: v2"  # of two that a message states the first is taken
_BASES = ("",) * 10 + ("v0", "v0", "v1", "v1", "v1", "v2", "v3", "v9", "2", TWO_BASES)
_OPERATIONS = (ADD, ADD, ADD, EDIT, EDIT, EDIT, KILL)


class Names(NamedTuple):
    """The local names of a message: those of hypotheses, and all."""

    hypotheses: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


class Thread(NamedTuple):
    """The messages of each round as drafts or kickoffs, stored; and the COMPILED messages."""

    rounds: list[list[StoredMessage]]
    compiled: list[tuple[int, datetime]]


def kickoff(number: int, at: datetime, question: str, context: str) -> StoredMessage:
    """A KICKOFF. Its title counts where it asks nothing else; without one it asks nothing."""
    is_title = question.startswith("# ")
    body = f"\n## Research Question\n{question}\n" if question and not is_title else question + "\n"
    body += f"\n## Context\n{context}\n" if context else ""
    message = Message(THREAD_ID, "Operator", tuple(ROLES), "KICKOFF: Cell fate", body)
    return StoredMessage(number, at, message)


def remark(draft: Draft, subject: str, number: int, at: datetime) -> StoredMessage:
    """A message of another type with delta blocks in it."""
    return StoredMessage(number, at, draft.posted(number, at).message._replace(subject=subject))


agents = st.sampled_from(tuple(ROLES))
numbers = st.integers(1, 8)
_bases = st.sampled_from(_BASES)
texts = st.sampled_from(TEXTS)
_anchors = st.lists(st.sampled_from(("§1", "§2", "§3", "inference")), min_size=1, max_size=2)
_keys = st.sampled_from(("old", "new"))  # of declared outcomes
_score = st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3), max_size=3)


@cache  # to build a strategy takes longer than to draw from it
def _values(kind: Field, names: Names) -> st.SearchStrategy[Any]:
    """Values of a payload's field that the reader accepts; the IDs in them need not exist."""
    hypotheses = st.sampled_from((*_HYPOTHESES, *names.hypotheses * 2))
    items = st.sampled_from((*_ITEMS, *names.items * 2))
    if kind.name == "discriminates":
        return st.builds("{0} vs {1}, by H3K27me3".format, hypotheses, hypotheses)
    kinds: dict[FieldKind, st.SearchStrategy[Any]] = {
        FieldKind.TEXT: texts,
        FieldKind.FLAG: st.booleans(),
        FieldKind.CHOICE: st.sampled_from(kind.choices or ("",)),
        FieldKind.ANCHORS: _anchors,
        FieldKind.ITEMS: st.lists(items, min_size=1, max_size=2),
        FieldKind.OUTCOMES: st.dictionaries(
            hypotheses, st.one_of(texts, _keys), min_size=1, max_size=3
        ),
        FieldKind.SCORE: _score,
        FieldKind.REFERENCES: st.lists(_references(items), max_size=2),
        FieldKind.DESCRIPTIONS: st.dictionaries(_keys, texts, min_size=1),
        FieldKind.RESULTS: st.lists(_results(hypotheses), min_size=1, max_size=2),
    }
    return kinds[kind.kind]


def _results(hypotheses: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, object]]:
    """Results of a test, with a verdict about one side or without."""
    seen = {"outcome": st.one_of(_keys, texts), "potency": st.sampled_from(POTENCIES)}
    listed = st.lists(hypotheses, min_size=1, max_size=2, unique=True)
    return st.one_of(
        st.fixed_dictionaries(seen),
        st.fixed_dictionaries(seen | {"contradicts": listed}),
        st.fixed_dictionaries(seen | {"supports": listed, "note": texts}),
    )


def _references(items: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(
        {
            "session": st.sampled_from((THREAD_ID, THREAD_ID, "RS-20251228-initial")),
            "item": items,
            "relation": st.sampled_from(("refines", "extends")),
        }
    )


# Texts that an ADD must have and no rule looks at
_SAME = ("mechanism", "procedure", "load", "test", "attack", "evidence", "current_status")


@st.composite
def _payload(
    draw: st.DrawFn, section: Section, operation: Operation, names: Names
) -> dict[str, object]:
    """A sound payload, small; now and then an optional field is blanked, or a list replaced."""
    if operation is KILL:
        return {"reason": draw(texts)}
    known = list(section.fields.values())
    if operation is EDIT:
        chosen = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
    else:
        extra = draw(st.lists(st.sampled_from(known), max_size=1))
        chosen = [kind for kind in known if kind.required or kind in extra]
    payload: dict[str, object] = {}
    for kind in chosen:
        is_dull = operation is ADD and kind.name in _SAME
        payload[kind.name] = "x" if is_dull else draw(_values(kind, names))
        if operation is EDIT and not kind.required and draw(st.integers(0, 7)) == 0:
            payload[kind.name] = _BLANK.get(kind.kind, payload[kind.name])
    if operation is EDIT and draw(st.integers(0, 2)) == 0:
        flags = [f"{kind.name}_replace" for kind in chosen if kind.kind in COLLECTION_KINDS]
        payload[draw(st.sampled_from((*flags, "replace")))] = True
    return payload


_BLANK: dict[FieldKind, object] = {
    FieldKind.TEXT: " ",
    FieldKind.ANCHORS: [],
    FieldKind.SCORE: {},
    FieldKind.REFERENCES: [],
}


@st.composite
def edit_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two EDITs of one item that have no field in common, or no key of a map."""
    section = draw(st.sampled_from(tuple(SECTIONS.values())))
    # What a result means depends on the outcomes at its moment, so these do not commute.
    apart = {"results"} if draw(st.booleans()) else {"outcomes", "expected_outcomes"}
    kinds = [
        each
        for each in section.fields.values()
        if each.name not in apart and not each.operator_only
    ]
    one, other = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=2, unique=True))
    payloads = [{kind.name: draw(_values(kind, Names()))} for kind in (one, other)]
    if section is PREDICTIONS_TABLE and draw(st.booleans()):
        payloads = [{"predictions": {key: draw(texts)}} for key in ("H1", "H2")]
    deltas = [Delta(EDIT, section.id, section.example_id, each, "why") for each in payloads]
    return render_delta(deltas[0]), render_delta(deltas[1])


_local_names = st.sampled_from((None, None, "a", "b"))
_rationales = st.sampled_from(("why", "why not H2"))


@st.composite
def _blocks(draw: st.DrawFn) -> tuple[str, ...]:
    """The blocks of a message; those that add an item may give it a name that all may use."""
    plan: list[tuple[Operation, Section, str | None]] = []
    for _ in range(draw(st.integers(1, 4))):
        section, operation = draw(st.sampled_from(_SECTIONS)), draw(st.sampled_from(_OPERATIONS))
        operation = EDIT if section is RESEARCH_THREAD else operation
        name = draw(_local_names) if operation is ADD else None
        plan.append((operation, section, None if name in [other for *_, other in plan] else name))
    blocks = []
    for operation, section, name in plan:
        names = tuple(f"@{other}" for *_, other in plan if other)
        hypotheses = tuple(f"@{each}" for _, at, each in plan if each and at is HYPOTHESIS_SLATE)
        here = tuple(f"@{each}" for _, at, each in plan if each and at is section)
        delta = Delta(
            operation,
            section.id,
            None if operation is ADD else draw(_targets(section, here)),
            draw(_payload(section, operation, Names(hypotheses, names))),
            draw(_rationales),
            name,
        )
        block = render_delta(delta)
        how = draw(st.integers(0, 60))
        blocks.append(spoiled(block, how) if how <= 5 else block)
    return tuple(blocks)


@cache
def _targets(section: Section, names: tuple[str, ...]) -> st.SearchStrategy[str]:
    if section is RESEARCH_THREAD:
        return st.just("RT")
    numbers = (1, 1, 1, 1, 2, 2, 3, 8)
    return st.sampled_from((*(f"{section.prefix}{number}" for number in numbers), *names * 3))


openings = st.builds(opening, agents, st.sampled_from((TWO, FIVE, SIX)))
_disputes = st.one_of(*map(st.sampled_from, DISPUTES)).map(lambda block: (block,))
_scenes = st.builds(lambda scene, number: scene(f"H{number}"), st.sampled_from(SCENES), numbers)
drafts = st.builds(
    Draft,
    agents,
    _bases,
    st.one_of(_blocks(), _disputes, _scenes),
)
_about = [st.builds(Draft, agents, _bases, st.tuples(st.sampled_from(each))) for each in DISPUTES]
# Two to four messages about one field, from several agents at about the same time
quarrels = st.one_of(*(st.lists(each, min_size=2, max_size=4) for each in _about))
questions = st.sampled_from(("", "# Cell fate", "Do cells count?", "Do they read? | **RT**: `x`"))
contexts = st.sampled_from(("", "Two camps.", "Three \\| camps <b>"))
# Minutes before or after the clock; and the offset in which the same instant is written
skews = st.integers(-6, 4)
offsets = st.sampled_from((0, 0, -7, 2))


def moment(minute: int, offset: int = 0) -> datetime:
    """An instant of the small world, written in some time zone."""
    return (START + timedelta(minutes=minute)).astimezone(timezone(timedelta(hours=offset)))


def _next_draft(sent: list[Draft], what: int) -> st.SearchStrategy[Draft]:
    """Most threads open with items to work on; one message in ten was sent before."""
    if not sent and what < 8:
        return openings
    return st.sampled_from(sent) if what == 1 and sent else drafts


@st.composite
def threads(draw: st.DrawFn, most_rounds: int = 3, most_messages: int = 4) -> Thread:
    """Rounds of messages, some late, some with skewed clocks, some sent twice."""
    rounds: list[list[StoredMessage]] = []
    compiled: list[tuple[int, datetime]] = []
    sent: list[Draft] = []
    number = 0
    for _ in range(draw(st.integers(1, most_rounds))):
        messages = []
        for _ in range(draw(st.integers(1, most_messages))):
            number += 1
            at = moment(number + draw(skews), draw(offsets))
            what = draw(st.integers(0, 9))
            if what == 0:
                messages.append(kickoff(number, at, draw(questions), draw(contexts)))
                continue
            for draft in draw(quarrels) if what == 2 else [draw(_next_draft(sent, what))]:
                sent.append(draft)
                messages.append(draft.posted(number, at))
                number += 1
        number += 1
        rounds.append(messages)
        compiled.append((number, moment(number + draw(skews))))
    return Thread(rounds, compiled)
