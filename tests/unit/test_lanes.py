"""Lanes of hypotheses and their pairs, from artifacts and blame that are written down here."""

from itertools import pairwise
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.evidence import evidence_matrix
from brenner.artifact.lanes import Attack, Lane, LaneMark, MarkKind, lanes_of
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Result,
    make_fields,
)
from brenner.artifact.next_test import next_tests
from brenner.artifact.pairs import PairCell, active_tests, describe_state, pair_rows
from brenner.artifact.state import NO_BLAME, Blame, Change, Source
from brenner.web.views.overview import critique_targets, spread

KEYS = {"fast": "Within an hour", "slow": "After a day"}


def item(item_id: str, killed: str = "", **fields: object) -> Item:
    record = KillRecord("GreenDog", "2026-01-03T11:12:13Z", killed) if killed else None
    return Item(item_id, make_fields({"name": f"Name of {item_id}", **fields}), record)


def artifact(*items: Item) -> Artifact:
    sections = {
        section.id: tuple(each for each in items if each.id.startswith(section.prefix))
        for section in ITEM_SECTIONS
    }
    return Artifact(Metadata("RS-20251230-cell-fate", 3), sections=MappingProxyType(sections))


def change(message: int, operation: str, version: int, **more: object) -> Change:
    """A change of BlueLake; `agent`, `value` and `before` may be others."""
    said: dict[str, object] = {"agent": "BlueLake", "value": "x", "before": None, **more}
    source = Source(message, str(said["agent"]), 1, version, operation)
    return Change(source, said["value"], None, said["before"])  # type: ignore[arg-type]


def kinds(lane: Lane) -> list[tuple[str, int, str | None]]:
    return [(mark.kind.value, mark.message_id, mark.item) for mark in lane.marks]


def test_a_lane_has_what_happened_to_a_hypothesis() -> None:
    born = change(2, "ADD", 1)
    result = Result("fast", "passed", contradicts=("H1",), supports=("H2",))
    failed = Result("slow", "failed", contradicts=("H1",))
    blame: Blame = {
        "H1": {
            ("name",): born,
            ("claim",): change(5, "EDIT", 2, agent="RedSky", before=born),
            ("mechanism",): change(5, "EDIT", 2, agent="RedSky", before=born),
            ("killed",): change(9, "KILL", 3, agent="GreenDog"),
        },
        "H2": {("name",): change(3, "ADD", 1)},
        "C1": {("attack",): change(6, "ADD", 2)},
        "X1": {("conflicts_with", "H1"): change(7, "EDIT", 2, value="H1")},
        "T1": {
            ("results", "one"): change(8, "EDIT", 3, value=result),
            ("results", "two"): change(8, "EDIT", 3, value=failed),
        },
    }
    found = lanes_of(
        artifact(
            item("H1", "T1 contradicts it"),
            item("H2"),
            item("C1", attack="H1 may hold beside H3", evidence="none"),
            item("X1", conflicts_with=("H1", "A1")),
            item("T1", results=(result, failed)),
        ),
        blame,
        [1, 2],
        [Attack(4, "RedSky", 2, ("H2", "T1"))],
    )
    one, two = found.lanes
    assert kinds(one) == [
        ("born", 2, None),
        ("changed", 5, None),
        ("attacked", 6, "C1"),
        ("anomaly", 7, "X1"),
        ("contradicted", 8, "T1"),
        ("killed", 9, None),
    ]
    assert one.marks[1].fields == ("claim", "mechanism")
    assert kinds(two) == [("born", 3, None), ("attacked", 4, None), ("supported", 8, "T1")]
    # A version that is not published yet makes one more column.
    assert [column.version for column in found.columns] == [1, 2, 3]
    assert found.columns[-1].end == 1.0
    assert (one.start, one.end) == (one.marks[0].place, one.marks[-1].place)
    assert two.end == 1.0


def test_marks_stand_in_the_column_of_their_version() -> None:
    blame: Blame = {
        "H1": {
            ("name",): change(2, "ADD", 1),
            ("claim",): change(7, "EDIT", 3, before=change(5, "EDIT", 2)),
        }
    }
    found = lanes_of(artifact(item("H1")), blame, [1, 2, 3])
    ends = [0.0, *(column.end for column in found.columns)]
    for mark in found.lanes[0].marks:
        assert ends[mark.version - 1] < mark.place < ends[mark.version]


def test_an_adopted_hypothesis_lives_from_the_start() -> None:
    found = lanes_of(artifact(item("H1"), item("H2", "Refuted")), NO_BLAME, [5])
    assert [(lane.start, lane.end, lane.marks) for lane in found.lanes] == [(0.0, 1.0, ())] * 2
    assert lanes_of(artifact(), NO_BLAME, []).lanes == ()


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0.001, 0.2))
def test_marks_are_moved_apart(places: list[float], least: float) -> None:
    """They keep their order and stay on the line, and are apart as far as there is room."""
    found = spread(sorted(places), least)
    assert found == sorted(found)
    assert all(-1e-9 <= place <= 1 for place in found)
    room = min(least, 1 / (len(places) + 1))
    assert all(two - one >= room - 1e-9 for one, two in pairwise(found))


def test_what_a_critique_targets() -> None:
    assert critique_targets("# Critique\n\n## Target\nH1 and H3, not h2\n\n## Attack\nH4\n") == (
        "H1",
        "H3",
    )
    assert critique_targets("## Target\n**Item**: H12") == ("H12",)
    assert critique_targets("") == critique_targets("H1 is vague") == ()


# Pairs


def slate(*tests: Item) -> Artifact:
    return artifact(item("H1"), item("H2"), item("H3"), item("H4", "Refuted"), *tests)


def cells(of: Artifact) -> list[tuple[str, str, str | None, str | None]]:
    def shown(cell: PairCell) -> tuple[str, str, str | None, str | None]:
        return cell.first, cell.second, cell.test.item.id if cell.test else None, cell.basis

    return [shown(cell) for row in pair_rows(next_tests(evidence_matrix(of)), 10) for cell in row]


def test_a_pair_has_the_best_test_that_separates_it() -> None:
    """Keys come before wording, however good the other test is."""
    by_words = item("T1", expected_outcomes={"H1": "grows", "H2": "stays", "H4": "fades"})
    by_keys = item("T2", expected_outcomes={"H1": "fast", "H2": "slow"}, outcomes=KEYS)
    assert cells(slate(by_words)) == [
        ("H1", "H2", "T1", "wording"),
        ("H1", "H3", None, None),
        ("H2", "H3", None, None),
    ]
    assert cells(slate(by_words, by_keys))[0] == ("H1", "H2", "T2", "declared")
    assert pair_rows(next_tests(evidence_matrix(slate(by_keys))), 2)[0][0].second == "H2"
    assert cells(artifact(item("H1"))) == []


def test_the_state_in_one_sentence() -> None:
    by_words = item("T1", expected_outcomes={"H2": "grows", "H3": "stays"})
    by_keys = item("T2", expected_outcomes={"H1": "fast", "H2": "slow"}, outcomes=KEYS)

    def state(of: Artifact, versions: int = 3) -> str:
        return describe_state(of, versions, next_tests(evidence_matrix(of)))

    assert state(slate(by_words, by_keys)) == (
        "3 of 4 hypotheses alive after 3 versions; 1 of 3 pairs separated, 1 only worded "
        "differently; best next test T1 Name of T1 (0.667 bits by wording)"
    )
    assert state(slate(), 0) == "3 of 4 hypotheses alive; 0 of 3 pairs separated"
    assert state(artifact(item("H1")), 1) == "1 of 1 hypothesis alive after 1 version"
    assert state(artifact()) == ""


def test_counts_agree_with_the_pairs() -> None:
    tests = (
        item("T1", expected_outcomes={"H1": "fast", "H2": "slow", "H3": "fast"}, outcomes=KEYS),
        item("T2", expected_outcomes={"H1": "a", "H2": "b", "H3": "c"}),
    )
    found = next_tests(evidence_matrix(slate(*tests)))
    assert active_tests(slate(*tests)) == found
    every = {("H1", "H2"), ("H1", "H3"), ("H2", "H3")}
    assert found.count_separated() == len(every - set(found.unseparated())) == 2
    assert found.count_only_worded_differently() == len(list(found.only_worded_differently())) == 1


def test_marks_have_stable_kinds() -> None:
    """The page's JSON and style name them."""
    assert [kind.value for kind in MarkKind] == [
        *("born", "changed", "attacked", "anomaly", "contradicted", "supported", "killed")
    ]
    assert LaneMark._fields[:2] == ("kind", "version")
