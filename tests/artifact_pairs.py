"""Pairs of artifacts that have much in common: few IDs, few values, so that many are the same."""

from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Result,
    item_sort_key,
    make_fields,
)
from brenner.protocol.delta.schema import RESEARCH_THREAD, SCORE_PARTS, FieldKind, Section

_TEXTS = st.sampled_from(["A cell divides.", "A cell\ndies.", "x", "H4", "\x1b[31m", "## 7. é"])
_REFERENCES = [
    {"session": "RS-20251230-a", "item": "H1", "relation": "refines"},
    {"session": "RS-20251230-b", "item": "H1", "relation": "refines"},
]
_VALUES: dict[FieldKind, st.SearchStrategy[Any]] = {
    FieldKind.TEXT: _TEXTS,
    FieldKind.CHOICE: _TEXTS,
    FieldKind.FLAG: st.booleans(),
    FieldKind.ANCHORS: st.lists(st.sampled_from(["§1", "§2", "inference"]), max_size=3),
    FieldKind.ITEMS: st.lists(st.sampled_from(["H1", "H2"]), max_size=3),
    FieldKind.OUTCOMES: st.dictionaries(st.sampled_from(["H1", "H2", "H10"]), _TEXTS, max_size=2),
    FieldKind.SCORE: st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3), max_size=2),
    FieldKind.REFERENCES: st.lists(st.sampled_from(_REFERENCES), max_size=2),
    FieldKind.DESCRIPTIONS: st.dictionaries(st.sampled_from(["old", "new"]), _TEXTS, max_size=2),
    FieldKind.RESULTS: st.lists(
        st.builds(Result, _TEXTS, st.just("passed"), st.sampled_from([(), ("H1",)])), max_size=2
    ),
}
_KILLS = st.builds(
    KillRecord, st.sampled_from(["BlueLake", "RedCreek"]), st.just("2026-01-02T03:04:05Z"), _TEXTS
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 1, 1.0, "1", "x", float("nan")]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["a", "b", ""]), inner, max_size=2),
    ),
    max_leaves=4,
)
_JSON_MAPS = st.dictionaries(st.sampled_from(["a", "b", "H1"]), _JSON, max_size=2)


def values_of(section: Section, name: str) -> st.SearchStrategy[Any]:
    """Values of a field; it may also say nothing."""
    return _VALUES[section.fields[name].kind]


def items_of(section: Section, numbers: st.SearchStrategy[str]) -> st.SearchStrategy[Item]:
    """Items with any of their fields, killed or not."""
    optional = {name: values_of(section, name) for name in section.fields}
    return st.builds(
        Item,
        numbers,
        st.fixed_dictionaries({}, optional=optional).map(make_fields),
        st.sampled_from([False, False, True]).flatmap(lambda dead: _KILLS if dead else st.none()),
    )


def _by_number(items: list[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: item_sort_key(item.id)))


_KNOWN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "session_id": st.sampled_from([None, "RS-20251230-a"]),
        "version": st.integers(0, 2),
        "status": st.just("draft"),
        "contributors": st.lists(st.sampled_from(["opus", "gpt"]), max_size=2).map(tuple),
        "agent_mail_message_id": st.integers(7, 8),
        "roster": _JSON_MAPS,
        "extra": _JSON_MAPS,
    },
)
_METADATA = _KNOWN.map(lambda known: Metadata(**known))
_THREADS = items_of(RESEARCH_THREAD, st.just(RESEARCH_THREAD.prefix))
# Four IDs, of which a file may have one twice; and one that a person made up.
_SECTIONS = {
    section.id: st.lists(
        items_of(section, st.sampled_from([f"{section.prefix}{n}" for n in (1, 2, 3, 10)] + ["?"])),
        max_size=4,
    ).map(_by_number)
    for section in ITEM_SECTIONS
}


@st.composite
def artifact_pairs(draw: st.DrawFn) -> tuple[Artifact, Artifact]:
    """Two artifacts; what is not drawn anew is the same in both."""
    drawn = draw(st.lists(st.sampled_from(list(_SECTIONS)), max_size=2, unique=True))
    old = {name: draw(_SECTIONS[name]) if name in drawn else () for name in _SECTIONS}
    new = {name: draw(_later(name, old[name])) if name in drawn else () for name in _SECTIONS}
    before, after = draw(_METADATA), draw(_METADATA)
    thread = draw(_THREADS)
    return (
        Artifact(before, thread, MappingProxyType(old)),
        Artifact(after, draw(st.just(thread) | _THREADS), MappingProxyType(new)),
    )


def _later(name: str, items: tuple[Item, ...]) -> st.SearchStrategy[tuple[Item, ...]]:
    """The items some time later: each may be kept; others may be there."""
    keeps = st.lists(st.booleans(), min_size=len(items), max_size=len(items))
    return st.builds(
        lambda kept, others: _by_number(
            [*(item for item, is_kept in zip(items, kept, strict=True) if is_kept), *others]
        ),
        keeps,
        _SECTIONS[name],
    )
