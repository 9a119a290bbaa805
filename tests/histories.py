"""What the merge is tried on: whole threads in a small world.

Three agents, few items, few texts: so that numbers collide, edits conflict, IDs can mean two items
and blocks come twice, in almost every thread. The texts mean harm all the same.
"""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

from hypothesis import strategies as st

from brenner.delta.model import Delta
from brenner.delta.render import render_delta
from brenner.delta.schema import (
    COLLECTIONS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.thread.messages import Message
from brenner.thread.posted import Posted

THREAD_ID = "RS-20251230-cell-fate"
ROLES = {"BlueLake": "opus", "RedSky": "gpt", "GreenHill": "gemini"}
START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
ADD, EDIT, KILL = Operation

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
_BASES = (
    "",
    "",
    "",
    "",
    "v0",
    "v0",
    "v1",
    "v1",
    "v2",
    "v3",
    "v9",
    "2",
    "v1\n\n**Base Version**: v2",
)


_OPERATIONS = (ADD, ADD, ADD, EDIT, EDIT, EDIT, KILL)


class Draft(NamedTuple):
    """A DELTA message before it is sent: its blocks as text, and the base as it states it."""

    sender: str
    base: str
    blocks: tuple[str, ...]

    def body(self, prose: str = "") -> str:
        """The Markdown of the message; `prose` stands around every block."""
        base = f"**Base Version**: {self.base}\n\n" if self.base else ""
        parts = [f"# Delta Contribution\n\n{base}## Deltas\n", *self.blocks]
        return f"\n{prose}\n".join([*parts, ""])

    def posted(self, number: int, at: datetime, prose: str = "") -> Posted:
        """The message as a store has it."""
        subject = f"DELTA[{ROLES[self.sender]}]: a contribution"
        to = ("Operator",)
        return Posted(number, at, Message(THREAD_ID, self.sender, to, subject, self.body(prose)))


class Thread(NamedTuple):
    """The messages of each round as drafts or kickoffs, stored; and the COMPILED messages."""

    rounds: list[list[Posted]]
    compiled: list[tuple[int, datetime]]


def kickoff(number: int, at: datetime, question: str, context: str) -> Posted:
    """A KICKOFF; without a question its title counts, and without that it asks nothing."""
    body = f"\n## Research Question\n{question}\n" if question else "\n"
    body += f"\n## Context\n{context}\n" if context else ""
    message = Message(THREAD_ID, "Operator", tuple(ROLES), "KICKOFF: Cell fate", body)
    return Posted(number, at, message)


texts = st.sampled_from(TEXTS)
_anchors = st.lists(st.sampled_from(("§1", "§2", "§3", "inference")), min_size=1, max_size=2)
_score = st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3), max_size=3)


def _values(kind: Field, names: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Values of a payload's field that the reader accepts; the IDs in them need not exist."""
    hypotheses = st.sampled_from((*_HYPOTHESES, *names, *names))
    items = st.sampled_from((*_ITEMS, *names))
    if kind.name == "discriminates":
        return st.builds("{0} vs {1}, by H3K27me3".format, hypotheses, hypotheses)
    kinds: dict[FieldKind, st.SearchStrategy[Any]] = {
        FieldKind.TEXT: texts,
        FieldKind.FLAG: st.booleans(),
        FieldKind.CHOICE: st.sampled_from(kind.choices or ("",)),
        FieldKind.ANCHORS: _anchors,
        FieldKind.ITEMS: st.lists(items, min_size=1, max_size=2),
        FieldKind.OUTCOMES: st.dictionaries(hypotheses, texts, min_size=1, max_size=3),
        FieldKind.SCORE: _score,
        FieldKind.REFERENCES: st.lists(_reference(names), max_size=2),
    }
    return kinds[kind.kind]


def _reference(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(
        {
            "session": st.sampled_from((THREAD_ID, THREAD_ID, "RS-20251228-initial")),
            "item": st.sampled_from((*_ITEMS, *names)),
            "relation": st.sampled_from(("refines", "extends")),
        }
    )


# Texts that an ADD must have and no rule looks at
_SAME = ("mechanism", "procedure", "load", "test", "attack", "evidence", "current_status")


@st.composite
def _payload(
    draw: st.DrawFn, section: Section, operation: Operation, names: tuple[str, ...]
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
        flags = [f"{kind.name}_replace" for kind in chosen if kind.kind in COLLECTIONS]
        payload[draw(st.sampled_from((*flags, "replace")))] = True
    return payload


_BLANK: dict[FieldKind, object] = {
    FieldKind.TEXT: " ",
    FieldKind.ANCHORS: [],
    FieldKind.SCORE: {},
    FieldKind.REFERENCES: [],
}


def _spoiled(block: str, how: int) -> str:
    """A block that is refused when it is read, each for another reason; or one that is not."""
    if how == 0:
        return block[: block.rindex("}")].rstrip() + ",\n}" + block[block.rindex("}") + 1 :]
    if how == 1:
        return block.replace('"payload": {', '"payload": {"strength": 3, "name_": "x",', 1)
    if how == 2:
        return block.replace('"operation": "', '"operation": "RE', 1)
    if how == 3:
        return block.replace('"payload"', '"contents"', 1)
    if how == 4:
        return block.replace('_slate"', '"', 1)
    return block.replace("{", "{ // why\n", 1)


@st.composite
def _blocks(draw: st.DrawFn) -> tuple[str, ...]:
    """The blocks of a message; those that add an item may give it a name that all may use."""
    operations = draw(
        st.lists(st.sampled_from((ADD, ADD, EDIT, EDIT, KILL)), min_size=1, max_size=4)
    )
    sections = [draw(st.sampled_from(_SECTIONS)) for _ in operations]
    local = [draw(st.sampled_from((None, None, "a", "b"))) for _ in operations]
    for index, section in enumerate(sections):
        if section is RESEARCH_THREAD:
            operations[index] = EDIT
        if operations[index] is not ADD or local[index] in local[:index]:
            local[index] = None
    blocks = []
    for operation, section, name in zip(operations, sections, local, strict=True):
        hypotheses = tuple(
            f"@{other}"
            for other, where in zip(local, sections, strict=True)
            if other and (where is HYPOTHESIS_SLATE)
        )
        delta = Delta(
            operation,
            section.id,
            None if operation is ADD else draw(_target(section, local, sections)),
            draw(_payload(section, operation, hypotheses)),
            draw(st.sampled_from(("why", "why not H2"))),
            name,
        )
        block = render_delta(delta)
        how = draw(st.integers(0, 60))
        blocks.append(_spoiled(block, how) if how <= 5 else block)
    return tuple(blocks)


def _target(
    section: Section, local: list[str | None], sections: list[Section]
) -> st.SearchStrategy[str]:
    if section is RESEARCH_THREAD:
        return st.just("RT")
    names = [
        f"@{name}" for name, where in zip(local, sections, strict=True) if name and where is section
    ]
    numbers = (1, 1, 1, 2, 2, 3, 4, 8)
    return st.sampled_from((*(f"{section.prefix}{number}" for number in numbers), *names * 2))


def _opening(sender: str, texts_: tuple[str, ...]) -> Draft:
    """A message that adds several hypotheses and one item of each other section."""
    added: list[tuple[Section, dict[str, object]]] = [
        (HYPOTHESIS_SLATE, {"name": text, "claim": "c", "mechanism": "m", "anchors": ["§1"]})
        for text in texts_
    ]
    for section in SECTIONS.values():
        payload = {
            kind.name: _OPENING.get(kind.name, kind.choices[0] if kind.choices else "x")
            for kind in section.fields.values()
            if kind.required
        }
        if section not in (RESEARCH_THREAD, HYPOTHESIS_SLATE):
            added.append((section, payload))
    deltas = [Delta(ADD, section.id, None, payload, "why") for section, payload in added]
    return Draft(sender, "", tuple(map(render_delta, deltas)))


_OPENING: dict[str, object] = {
    "predictions": {"H1": "grows", "H2": "fades"},
    "expected_outcomes": {"H1": "grows"},
    "discriminates": "H1 vs H2",
    "conflicts_with": ["H1"],
}
openings = st.builds(
    _opening,
    st.sampled_from(tuple(ROLES)),
    st.sampled_from((("one", "two"), ("one", "two", "three", "four", "five"), ("two", "three"))),
)
# Edits of a few fields that all want to edit: disputes
_DISPUTED: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("research_thread", "RT", {"context": "one"}),
    ("research_thread", "RT", {"context": "two"}),
    ("research_thread", "RT", {"context": " "}),
    ("research_thread", "RT", {"anchors": ["§1"]}),
    ("research_thread", "RT", {"anchors": ["§2", "§3"]}),
    ("research_thread", "RT", {"anchors": ["§3"], "anchors_replace": True}),
    ("research_thread", "RT", {"anchors": [], "replace": True}),
    ("hypothesis_slate", "H1", {"claim": "one"}),
    ("hypothesis_slate", "H1", {"claim": "two", "third_alternative": True}),
    ("hypothesis_slate", "H1", {"third_alternative": False}),
    ("predictions_table", "P1", {"predictions": {"H1": "one", "H2": "two"}}),
    ("predictions_table", "P1", {"predictions": {"H1": "two"}}),
    ("predictions_table", "P1", {"predictions": {"H2": "one"}, "replace": True}),
    ("discriminative_tests", "T1", {"score": {"cost": 1, "speed": 0}}),
    ("discriminative_tests", "T1", {"score": {"cost": 2}, "score_replace": True}),
)
_disputes = st.lists(st.sampled_from(_DISPUTED), min_size=1, max_size=2).map(
    lambda edits: tuple(
        render_delta(Delta(EDIT, section, target, payload, "why"))
        for section, target, payload in edits
    )
)
drafts = st.builds(
    Draft,
    st.sampled_from(tuple(ROLES)),
    st.sampled_from(_BASES),
    st.one_of(_blocks(), _disputes),
)
questions = st.sampled_from(("", "Do cells count?", "Do cells read? | **RT**: `x`"))
contexts = st.sampled_from(("", "Two camps.", "Three \\| camps <b>"))
# Minutes before or after the clock; and the offset in which the same instant is written
skews = st.integers(-4, 4)
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
    rounds: list[list[Posted]] = []
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
            draft = draw(_next_draft(sent, what))
            sent.append(draft)
            messages.append(draft.posted(number, at))
        number += 1
        rounds.append(messages)
        compiled.append((number, moment(number + draw(skews))))
    return Thread(rounds, compiled)
