"""Laws of the difference: nothing from nothing, all that changed, nothing else."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact_pairs import artifact_pairs, values_of
from artifacts import artifacts
from brenner.artifact.diff import ChangeKind, FieldChange, changed_ids, diff, rank_tests, summary
from brenner.artifact.model import (
    NO_FIELDS,
    Artifact,
    Item,
    Metadata,
    item_sort_key,
    make_fields,
    total_score,
)
from brenner.protocol.delta.schema import DISCRIMINATIVE_TESTS, RESEARCH_THREAD, SECTIONS, Section

pytestmark = pytest.mark.fuzz

# An independent way to the same answer: everything taken apart into single values.


def flat(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """The single values in a value; nulls and empty maps say nothing."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, (*path, key))
    elif value is not None and value != ():
        yield path, value


def keyed(artifact: Artifact) -> dict[tuple[str, str, int], Item]:
    """The items by section, ID and occurrence."""
    found: dict[tuple[str, str, int], Item] = {}
    for section, item in artifact.all_items():
        number = 1
        while (section.id, item.id, number) in found:
            number += 1
        found[section.id, item.id, number] = item
    return found


def is_silent(*both: Artifact) -> bool:
    """Whether the research thread says nothing: then nobody counts it."""
    return not any(values_in(each.research_thread) for each in both)


def values_in(item: Item | None) -> dict[tuple[str, ...], object]:
    """All values of an item by path."""
    if item is None:
        return {}
    killed = item.killed._asdict() if item.killed else None
    return dict(flat(item.fields, ())) | dict(flat(killed, ("killed",)))


def metadata_values(metadata: Metadata) -> dict[tuple[str, ...], object]:
    """All values of the metadata by path, without the one that is not compared (R18)."""
    known = metadata._asdict()
    del known["agent_mail_message_id"]
    return dict(flat(known, ()))


def is_other(old: object, new: object) -> bool:
    """Whether two JSON values differ, 1 and true and 1.0 included."""
    return repr(_ordered(old)) != repr(_ordered(new))


def _ordered(value: object) -> object:
    if isinstance(value, Mapping):
        return sorted((key, repr(_ordered(inner))) for key, inner in value.items())
    return [_ordered(inner) for inner in value] if isinstance(value, list) else value


def different(
    old: dict[tuple[str, ...], object], new: dict[tuple[str, ...], object]
) -> dict[tuple[str, ...], tuple[object, object]]:
    """The paths whose values differ, with both values."""
    return {
        path: (old.get(path), new.get(path))
        for path in old.keys() | new.keys()
        if is_other(old.get(path), new.get(path))
    }


def told(found: tuple[FieldChange, ...]) -> dict[tuple[str, ...], tuple[object, object]]:
    """The same from a difference; no path stands twice."""
    assert len({change.path for change in found}) == len(found)
    return {change.path: (change.old, change.new) for change in found}


_DEAR = settings(max_examples=settings().max_examples // 4)  # artifacts take long to draw


@_DEAR
@given(artifacts())
def test_nothing_from_nothing(artifact: Artifact) -> None:
    """`diff(a, a)` is empty, and says so; from nothing to `a` is all of `a`, whatever it holds."""
    found = diff(artifact, artifact)
    assert found.is_empty
    assert (found.items, found.metadata) == ((), ())
    assert found.unchanged == len(keyed(artifact)) - is_silent(artifact, artifact)
    assert summary(found) == "Nothing changed."
    whole = diff(Artifact(Metadata()), artifact)
    values = {(item.section, item.id): told(item.fields) for item in whole.items}
    for (section, item_id, _), item in keyed(artifact).items():
        expected = {path: (None, value) for path, value in values_in(item).items()}
        assert values.get((section, item_id), {}) == expected
    assert told(whole.metadata) == different({}, metadata_values(artifact.metadata))


@given(artifact_pairs())
def test_everything_that_changed_and_nothing_else(pair: tuple[Artifact, Artifact]) -> None:
    """Compared with taking both apart into single values."""
    old, new = pair
    before, after = keyed(old), keyed(new)
    found = diff(old, new)
    changed = {(item.section, item.id, item.occurrence): item for item in found.items}
    assert len(changed) == len(found.items)
    for key in before.keys() | after.keys():
        expected = different(values_in(before.get(key)), values_in(after.get(key)))
        assert told(changed[key].fields if key in changed else ()) == expected
        is_new_or_gone = (key in before) != (key in after)
        assert (key in changed) == (bool(expected) or is_new_or_gone)
    assert told(found.metadata) == different(
        metadata_values(old.metadata), metadata_values(new.metadata)
    )
    both = before.keys() & after.keys()
    assert found.unchanged == len(both - changed.keys()) - is_silent(old, new)


@given(artifact_pairs())
def test_kinds(pair: tuple[Artifact, Artifact]) -> None:
    """Each kind says exactly what happened; no item without one; they stand in artifact order."""
    old, new = pair
    before, after = keyed(old), keyed(new)
    found = diff(old, new)
    for item in found.items:
        key = (item.section, item.id, item.occurrence)
        one, other = before.get(key), after.get(key)
        was_active, is_active = one is None or one.is_active, other is None or other.is_active
        paths = [change.path[0] for change in item.fields]
        ended = was_active != is_active
        expected = {
            ChangeKind.ADDED: one is None,
            ChangeKind.REMOVED: other is None,
            ChangeKind.KILLED: was_active and not is_active,
            ChangeKind.REVIVED: one is not None
            and other is not None
            and not was_active
            and is_active,
            ChangeKind.MODIFIED: bool(
                one and other and [path for path in paths if path != "killed" or not ended]
            ),
            ChangeKind.RE_RANKED: item.rank is not None,
        }
        assert set(item.kinds) == {kind for kind, holds in expected.items() if holds}
        assert item.kinds
    order = list(SECTIONS)
    places = [(order.index(item.section), item_sort_key(item.id), item.id) for item in found.items]
    assert places == sorted(places)


@given(artifact_pairs())
def test_re_ranked(pair: tuple[Artifact, Artifact]) -> None:
    """A test moved if its own score changed and it stands elsewhere among those of both."""
    old, new = pair
    section = DISCRIMINATIVE_TESTS.id
    before = {key: item for key, item in keyed(old).items() if key[0] == section}
    after = {key: item for key, item in keyed(new).items() if key[0] == section}
    common = sorted(before.keys() & after.keys(), key=lambda key: (item_sort_key(key[1]), key))

    def place(tests: dict[tuple[str, str, int], Item], key: tuple[str, str, int]) -> int:
        own = (-total_score(tests[key]), common.index(key))
        return 1 + sum((-total_score(tests[k]), common.index(k)) < own for k in common)

    expected = {
        key: (place(before, key), place(after, key))
        for key in common
        if total_score(before[key]) != total_score(after[key])
        and place(before, key) != place(after, key)
    }
    found = diff(old, new).items
    assert {(t.section, t.id, t.occurrence): t.rank for t in found if t.rank} == expected


@given(st.data(), artifact_pairs())
def test_one_known_change(data: st.DataObject, pair: tuple[Artifact, Artifact]) -> None:
    """One field of one item is altered: that one is told, with both values, and no other."""
    artifact = pair[0]
    section = data.draw(st.sampled_from(list(SECTIONS.values())))
    is_thread = section is RESEARCH_THREAD
    items = [artifact.research_thread] if is_thread else list(artifact.sections[section.id])
    if not items:
        items = [Item(f"{section.prefix}1", NO_FIELDS)]
    index = data.draw(st.integers(0, len(items) - 1))
    name = data.draw(st.sampled_from(list(section.fields)))
    first, second = (
        items[index]._replace(fields=make_fields({**items[index].fields, name: value}))
        for value in data.draw(st.lists(values_of(section, name), min_size=2, max_size=2))
    )
    old, new = (_with(artifact, section, items, index, each) for each in (first, second))
    found = diff(old, new)
    assert found.metadata == ()
    assert len(found.items) == (first != second)
    for item in found.items:
        assert (item.id, item.section) == (first.id, section.id)
        assert {change.path[0] for change in item.fields} == {name}


def _with(
    artifact: Artifact, section: Section, items: list[Item], index: int, item: Item
) -> Artifact:
    changed = (*items[:index], item, *items[index + 1 :])
    if section is RESEARCH_THREAD:
        return artifact._replace(research_thread=item)
    return artifact._replace(sections=MappingProxyType({**artifact.sections, section.id: changed}))


@given(artifact_pairs())
def test_patching_old_gives_new(pair: tuple[Artifact, Artifact]) -> None:
    """The difference holds all that is needed to make the one from the other."""
    old, new = pair
    found = diff(old, new)
    items = {key: values_in(item) for key, item in keyed(old).items()}
    for item in found.items:
        key = (item.section, item.id, item.occurrence)
        if ChangeKind.REMOVED in item.kinds:
            del items[key]
        else:
            items[key] = patched(items.get(key, {}), item.fields)
    assert items == {key: values_in(item) for key, item in keyed(new).items()}
    metadata = patched(metadata_values(old.metadata), found.metadata)
    assert not different(metadata, metadata_values(new.metadata))


def patched(
    values: dict[tuple[str, ...], object], found: tuple[FieldChange, ...]
) -> dict[tuple[str, ...], object]:
    """The values after the changes."""
    result = dict(values)
    for change in found:
        assert not is_other(result.pop(change.path, None), change.old)
        if change.new is not None:
            result[change.path] = change.new
    return result


@given(artifact_pairs())
def test_lists_say_what_came_and_went(pair: tuple[Artifact, Artifact]) -> None:
    """Old elements without the removed ones are the new ones without the added."""
    found = diff(*pair)
    for change in (*found.metadata, *(c for item in found.items for c in item.fields)):
        lists = [v for v in (change.old, change.new) if isinstance(v, list | tuple)]
        if not lists:
            assert (change.added, change.removed) == ((), ())
            continue
        before = list(change.old) if isinstance(change.old, list | tuple) else []
        after = list(change.new) if isinstance(change.new, list | tuple) else []
        kept = sorted(map(repr, map(_ordered, before)))
        for gone in change.removed:
            kept.remove(repr(_ordered(gone)))
        for came in change.added:
            kept.append(repr(_ordered(came)))
        assert sorted(kept) == sorted(map(repr, map(_ordered, after)))
        names = {repr(_ordered(each)) for each in change.added}
        assert names.isdisjoint(repr(_ordered(each)) for each in change.removed)


_MIRRORED = {
    ChangeKind.ADDED: ChangeKind.REMOVED,
    ChangeKind.REMOVED: ChangeKind.ADDED,
    ChangeKind.KILLED: ChangeKind.REVIVED,
    ChangeKind.REVIVED: ChangeKind.KILLED,
}


@given(artifact_pairs())
def test_the_other_way_round(pair: tuple[Artifact, Artifact]) -> None:
    """Going back undoes it: the same items and fields, old and new exchanged."""
    there, back = diff(*pair), diff(*reversed(pair))
    assert [item.id for item in there.items] == [item.id for item in back.items]
    for one, other in zip(there.items, back.items, strict=True):
        assert {c.path: (c.old, c.new, c.added, c.removed) for c in one.fields} == {
            c.path: (c.new, c.old, c.removed, c.added) for c in other.fields
        }
        assert one.rank == (other.rank and other.rank[::-1])
        if ChangeKind.ADDED not in one.kinds and ChangeKind.REMOVED not in one.kinds:
            assert {_MIRRORED.get(kind, kind) for kind in one.kinds} == set(other.kinds)


@given(artifact_pairs())
def test_summary_is_one_short_sentence(pair: tuple[Artifact, Artifact]) -> None:
    """Whatever the IDs and keys are: one line that ends in a full stop and runs no control code."""
    found = diff(*pair)
    sentence = summary(found)
    assert sentence.isprintable()
    assert len(sentence) < 2_000
    assert sentence.endswith(".")
    assert (sentence == "Nothing changed.") == found.is_empty
    lists = changed_ids(found)
    assert set(lists["modified"]) <= {item.id for item in found.items}
    counted = [
        item for item in found.items if set(item.kinds) & {ChangeKind.ADDED, ChangeKind.KILLED}
    ]
    assert len(lists["modified"]) + len(counted) <= len(found.items)


@given(st.lists(st.dictionaries(st.sampled_from(["cost", "speed"]), st.integers(0, 3))))
def test_ranks_are_a_permutation(scores: list[dict[str, int]]) -> None:
    """Every test has its own place, also one that stands in a file twice."""
    tests = [Item("T1", make_fields({"score": score})) for score in scores] * 2
    places = rank_tests(tests)
    assert sorted(places) == list(range(1, len(tests) + 1))
    by_place = [test for _, test in sorted(zip(places, tests, strict=True), key=lambda p: p[0])]
    totals = [total_score(test) for test in by_place]
    assert totals == sorted(totals, reverse=True)
