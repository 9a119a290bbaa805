"""What was edited by hand comes in by the deltas that are made of it, or is told of in words."""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from artifact_pairs import artifact_pairs
from artifacts import FORMS, artifacts
from brenner.artifact.manual_edits import HandEdits, contains_edits, hand_edits, render_edit_message
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    KillRecord,
    Reference,
    Result,
    item_sort_key,
    make_fields,
)
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome, State, empty_state
from brenner.protocol.delta.field_checks import WHITE_SPACE
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    POTENCIES,
    PREDICTIONS_TABLE,
    RELATIONS,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Field,
    FieldKind,
    Section,
)
from brenner.protocol.messages import StoredMessage, parse_message_file
from brenner.protocol.validate import check_message
from histories import TEXTS, Thread, moment, threads
from sample_messages import (
    FIVE,
    SIX,
    THREAD_ID,
    TWO,
    Draft,
    edit,
    hypothesis,
    kill,
    opening,
    row,
    to,
)
from strategies import HOSTILE

pytestmark = pytest.mark.fuzz
HALF = settings(max_examples=settings().max_examples // 2)  # artifacts are large examples
LATER = 90  # minutes: after everything that a thread of `histories` holds
_H, _P, _T = "hypothesis_slate", "predictions_table", "discriminative_tests"
_SECTIONS = (RESEARCH_THREAD, *ITEM_SECTIONS, HYPOTHESIS_SLATE, PREDICTIONS_TABLE)
_WORKED_ON = (
    (),
    (kill(_H, "H2"), edit(_H, "H1", references=to("H3"), third_alternative=True)),
    (edit(_T, "T1", score={"cost": 1, "speed": 0}), kill(_P, "P1"), row({"H1": "a", "H2": "b"})),
    (kill(_H, "H1"), edit("research_thread", "RT", statement="Why?", anchors=["§1", "§2", "§3"])),
)


def a_state(names: tuple[str, ...], blocks: tuple[str, ...]) -> State:
    """A thread that was opened, and then worked on."""
    drafts = (opening("BlueLake", names), opening("RedSky", TWO), Draft("RedSky", "", blocks))
    messages = [draft.posted(number, moment(number)) for number, draft in enumerate(drafts, 1)]
    return merge(empty_state(THREAD_ID), messages).publish(9, moment(9))


STATES = tuple(a_state(names, blocks) for names in (TWO, FIVE, SIX) for blocks in _WORKED_ON)
states = st.sampled_from(STATES)


def reread(artifact: Artifact) -> Artifact:
    """As the file says it."""
    return parse_artifact(render_artifact(artifact)).artifact


# A person's hands

_SAID = tuple(text for text in (*TEXTS, *FORMS, *HOSTILE) if text.strip(WHITE_SPACE))
_texts = st.sampled_from(_SAID)
_hypotheses = st.sampled_from(("H1", "H1", "H3", "H3", "H2", "H5"))
_sessions = st.sampled_from((THREAD_ID, THREAD_ID, "RS-20251228-initial", "elsewhere"))
_references = st.builds(
    Reference, _sessions, st.sampled_from(("H1", "H3", "P1")), st.sampled_from(RELATIONS)
)


_results = st.builds(
    Result,
    st.one_of(st.sampled_from(("old", "new")), _texts),
    st.sampled_from(POTENCIES),
    st.sampled_from(((), ("H1",), ("H3", "H1"))),
    st.sampled_from(((), ("H2",))),
    st.sampled_from((None, "2025-12-30")),
    st.sampled_from(((), ("§1",), ("somewhere",))),
    st.one_of(st.none(), _texts),
    st.booleans(),
)


def _value(field: Field) -> st.SearchStrategy[Any]:
    """What a field may hold."""
    if field.names_items:
        return st.builds("{}-like vs {}".format, _hypotheses, _hypotheses)
    anchors = st.sampled_from(("§1", "§2", "§3", "§4-6", "inference"))
    kinds: dict[FieldKind, st.SearchStrategy[Any]] = {
        FieldKind.TEXT: _texts,
        FieldKind.FLAG: st.booleans(),
        FieldKind.CHOICE: st.sampled_from(field.choices or ("",)),
        FieldKind.ANCHORS: st.lists(anchors, min_size=1, max_size=3),
        FieldKind.ITEMS: st.lists(st.sampled_from(("H1", "P1", "C1")), min_size=1, max_size=3),
        FieldKind.OUTCOMES: st.dictionaries(_hypotheses, _texts, min_size=1, max_size=3),
        FieldKind.SCORE: st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3)),
        FieldKind.REFERENCES: st.lists(_references, max_size=2),
        FieldKind.DESCRIPTIONS: st.dictionaries(st.sampled_from(("old", "new")), _texts),
        FieldKind.RESULTS: st.lists(_results, max_size=2),
    }
    return kinds[field.kind]


# What no delta may say, or what names items that may come to be or that are not there
_ODD: dict[FieldKind, tuple[Any, ...]] = {
    FieldKind.TEXT: ("", "H8 vs H1, @once", "H77-like"),
    FieldKind.FLAG: (False,),
    FieldKind.CHOICE: ("", "perhaps"),
    FieldKind.ANCHORS: ((), ("§1", "?"), ("§9-1",)),
    FieldKind.ITEMS: ((), ("H1", "so"), ("H8", "P5"), ("H77",)),
    FieldKind.OUTCOMES: ({}, {"H1": "a", "H8": "b"}, {"H77": "c"}, {"so": "d"}),
    FieldKind.SCORE: ({},),
    FieldKind.REFERENCES: ((), (Reference(THREAD_ID, "H8", "refines"),)),
    FieldKind.DESCRIPTIONS: ({}, {"Not a key": "x"}),
    FieldKind.RESULTS: ((), (Result("x", "failed", ("H1",)),), (Result("x", "passed", ("H77",)),)),
}


def _changed(draw: st.DrawFn, field: Field, value: Any) -> Any:
    """Another value; or a list or a map with some elements, others, or in another order."""
    what = draw(st.integers(0, 12))
    new = draw(st.sampled_from(_ODD[field.kind]) if what == 7 else _value(field))
    if isinstance(value, tuple) and what < 7:
        return draw(st.sampled_from(((*value, *new), value[1:], value[::-1], (*new, *value))))
    if isinstance(value, Mapping) and what < 7:
        kept = {key: each for key, each in value.items() if what != 3 or key != min(value)}
        return {**kept, **new}
    return None if what == 11 and not field.required else new


_reasons = st.sampled_from((*_SAID, ""))


def _touched(draw: st.DrawFn, section: Section, item: Item) -> Item:
    """An item with a field changed, or marked as killed, or not any more."""
    if section is RESEARCH_THREAD or draw(st.integers(0, 4)):
        field = draw(st.sampled_from(list(section.fields.values())))
        value = _changed(draw, field, item.fields.get(field.name))
        return item._replace(fields=make_fields({**item.fields, field.name: value}))
    killed = None if item.killed else KillRecord("", "", draw(_reasons))
    return item._replace(killed=killed)


def _with_new(draw: st.DrawFn, section: Section, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """One more item, mostly with the number that comes next and with all that it must have."""
    number = len(items) + draw(st.sampled_from((*[1] * 12, 2)))
    extra = draw(st.lists(st.sampled_from(list(section.fields.values())), max_size=2))
    wanted = [field for field in section.fields.values() if field.required or field in extra]
    new = Item(
        f"{section.prefix}{number}", make_fields({f.name: _changed(draw, f, None) for f in wanted})
    )
    is_killed = draw(st.integers(0, 6)) == 4
    return (*items, new._replace(killed=KillRecord("", "", "no")) if is_killed else new)


def _with_damage(draw: st.DrawFn, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """An item taken away, called otherwise, or there twice."""
    index = draw(st.integers(0, len(items) - 1))
    item = items[index]
    called = item._replace(id=f"{item.id[0]}9")
    other = draw(st.sampled_from(((), (called,), (item, item), (item, called))))
    left = (*items[:index], *other, *items[index + 1 :])
    return tuple(sorted(left, key=lambda each: item_sort_key(each.id)))


@st.composite
def edited(draw: st.DrawFn, artifact: Artifact, odd: bool = True) -> Artifact:
    """The artifact as its file reads after somebody was at it."""
    for _ in range(draw(st.integers(1, 3))):
        section = draw(st.sampled_from(_SECTIONS))
        if section is RESEARCH_THREAD:
            thread = _touched(draw, section, artifact.research_thread)
            artifact = artifact._replace(research_thread=thread)
            continue
        items = artifact.sections[section.id]
        what = draw(st.integers(0, 20))
        if what < 6:
            items = _with_new(draw, section, items)
        elif (what != 10 or not odd) and items:
            index = draw(st.integers(0, len(items) - 1))
            touched = _touched(draw, section, items[index])
            items = (*items[:index], touched, *items[index + 1 :])
        elif items:
            items = _with_damage(draw, items)
        sections = MappingProxyType({**artifact.sections, section.id: items})
        artifact = artifact._replace(sections=sections)
    if odd and draw(st.integers(0, 20)) == 7:
        artifact = artifact._replace(metadata=artifact.metadata._replace(status="closed"))
    return reread(artifact)


# What becomes of it


def sent(edits: HandEdits, version: Artifact, number: int = LATER) -> list[StoredMessage]:
    """The message of the edits, if there is one; it passes the check."""
    base = version.metadata.version or 0
    text = render_edit_message(edits, THREAD_ID, base, "Operator", ("BlueLake",))
    assert bool(text) == bool(edits.deltas)
    if not text:
        return []
    report = check_message(text, "Operator")
    assert report.valid, report.violations
    assert len(report.deltas) == len(edits.deltas)
    return [StoredMessage(number, moment(number), parse_message_file(text).message)]


def merged(state: State, edits: HandEdits) -> Merge:
    """The version after the message; every block of it is applied."""
    result = merge(state, sent(edits, state.artifact))
    assert {entry.state for entry in result.ledger} <= {BlockOutcome.APPLIED}, result.ledger
    return result


def contents(artifact: Artifact, version: Artifact) -> dict[str, Any]:
    """What an artifact says. A new kill counts by its reason, an element of a list once, and in
    the cell of a killed hypothesis a row has N/A that is active or new.
    """
    found: dict[str, Any] = {}
    there = {item.id: item for _, item in version.all_items()}
    killed = [item.id for item in artifact.sections[HYPOTHESIS_SLATE.id] if item.killed]
    for section, item in artifact.all_items():
        values: dict[str, Any] = {
            name: tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value
            for name, value in item.fields.items()
        }
        if section is PREDICTIONS_TABLE and (item.is_active or item.id not in there):
            values["predictions"] = {**values["predictions"], **dict.fromkeys(killed, "N/A")}
        was = there[item.id].killed if item.id in there else None
        found[item.id] = (values, item.killed if was else item.killed and item.killed.reason)
    return found


def assert_brought_in(state: State, data: st.DataObject) -> None:
    """Edit the file of a state by hand, and send what is made of that."""
    version = reread(state.artifact)
    after = data.draw(edited(version))
    edits = hand_edits(version, after)
    result = merged(state, edits).artifact
    event("told in words" if edits.other else "made by deltas")
    if not edits.other:
        assert contents(result, version) == contents(after, version)
        assert contains_edits(edits, result)
    if edits.deltas or edits.other:
        assert not contains_edits(edits, version)
    if any("will be" not in words for words in edits.other):
        assert not contains_edits(edits, result)


@given(states, st.data())
def test_the_deltas_make_the_edited_artifact(state: State, data: st.DataObject) -> None:
    """Wherever nothing is left to be told in words; and what is told of is not there."""
    assert_brought_in(state, data)


@settings(max_examples=settings().max_examples // 8)
@given(threads(2, 3), st.data())
def test_so_they_do_in_any_thread(thread: Thread, data: st.DataObject) -> None:
    """Whatever was said in it before, and by whom."""
    state = a_state(FIVE, ())
    for messages, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        later = [each._replace(id=each.id + 9) for each in messages]
        state = merge(state, later).publish(number + 9, at + timedelta(minutes=9))
    assert_brought_in(state, data)


@HALF
@given(states, st.data())
def test_they_come_in_beside_what_others_send(state: State, data: st.DataObject) -> None:
    """A new item is the same under another number: somebody else was first."""
    version = reread(state.artifact)
    edits = hand_edits(version, data.draw(edited(version, odd=False)))
    blocks = (hypothesis("of another"), row({"H1": "of another"}))
    other = Draft("RedSky", "", blocks).posted(LATER - 1, moment(LATER - 1))
    result = merge(state, [other, *sent(edits, version)])
    if not edits.other and all(entry.state is BlockOutcome.APPLIED for entry in result.ledger):
        event("all applied")
        assert contains_edits(edits, result.artifact)


@HALF
@given(states)
def test_where_nothing_was_edited_there_is_nothing(state: State) -> None:
    """A file as it was written, its message id aside."""
    artifact = state.artifact
    file = reread(artifact._replace(metadata=artifact.metadata._replace(agent_mail_message_id=9)))
    edits = hand_edits(reread(artifact), file)
    assert (edits.deltas, edits.other) == ((), ())
    assert contains_edits(edits, artifact)
    assert sent(edits, artifact) == []


@HALF
@given(artifact_pairs())
def test_any_two_artifacts_can_be_compared(pair: tuple[Artifact, Artifact]) -> None:
    """Also those that no merge makes: an ID twice, or made up."""
    version, after = (each._replace(metadata=each.metadata._replace(version=1)) for each in pair)
    edits = hand_edits(version, after)
    sent(edits, version)
    assert contains_edits(edits, after)
    assert bool(edits.deltas or edits.other) == (not contains_edits(edits, version))


@settings(max_examples=settings().max_examples // 8)
@given(artifacts(), artifacts())
def test_whatever_stands_in_them(version: Artifact, after: Artifact) -> None:
    """No text in any field makes a message that does not pass the check."""
    sent(hand_edits(version, after), version)
