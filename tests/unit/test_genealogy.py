"""Genealogies: who had an idea first, trees of any size, words for relations."""

from datetime import UTC, datetime

import pytest

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.state import Source
from brenner.protocol.delta.schema import RELATIONS, SECTIONS
from brenner.session.genealogy import (
    LINEAGE,
    MOST_BRANCHES,
    MOST_LEVELS,
    RELATION_PHRASES,
    SECTION_LABELS,
    Describe,
    Direction,
    ItemInfo,
    Tree,
    TreeRow,
    describe_first_proposal,
    find_first_proposal,
    first_proposal_line,
    genealogy,
    mermaid,
    relation_counts_text,
    relation_text,
    session_links,
)
from brenner.session.references import ItemStatus, ReferenceGraph
from genealogies import chain_of, graph_of, name_only

UP, DOWN = Direction.ANCESTORS, Direction.DESCENDANTS
OLD, MID, NEW = (SessionItem(f"RS-2026010{day}-idea", "H1") for day in (1, 2, 3))
OTHER = SessionItem("RS-20251201-other", "H4")


def told(**days: int | None) -> Describe:
    """Items whose proposals are known by day; one without a day is not known."""
    names = {"old": OLD, "mid": MID, "new": NEW, "other": OTHER}
    by_node = {names[name]: day for name, day in days.items()}

    def describe(node: SessionItem) -> ItemInfo:
        day = by_node.get(node)
        if day is None:
            return ItemInfo(node, ItemStatus.UNKNOWN_SESSION)
        at = datetime(2026, 1, day, 9, tzinfo=UTC)
        return name_only(node)._replace(
            proposal=Source(day, f"Agent{day}", 1, 1, "ADD"), proposed_at=at
        )

    return describe


# Who had the idea first


def test_the_earliest_in_the_line_had_the_idea() -> None:
    graph = graph_of([(NEW, "refines", MID), (MID, "extends", OLD)], [OLD])
    first = find_first_proposal(graph, NEW, told(old=1, mid=2, new=3))
    assert [each.node for each in first.earliest] == [OLD]
    assert first.not_known == ()
    assert describe_first_proposal(first) == (
        "First proposed by Agent1 on 2026-01-01, as RS-20260101-idea H1 (message 1)."
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_idea_lives_on_by_four_relations(relation: str) -> None:
    """What refutes an idea, or only knew of it, is another idea."""
    graph = graph_of([(NEW, relation, OLD)], [OLD])
    [first] = find_first_proposal(graph, NEW, told(old=1, new=3)).earliest
    assert first.node == (OLD if relation in LINEAGE else NEW)
    assert {"extends", "refines", "supersedes", "replicates"} == LINEAGE


def test_time_decides_and_not_the_references() -> None:
    """What is referred to may have been proposed later: an EDIT can refer to anything."""
    graph = graph_of([(NEW, "refines", OLD)], [OLD])
    [first] = find_first_proposal(graph, NEW, told(old=5, new=3)).earliest
    assert first.node == NEW


def test_several_at_the_same_instant_are_all_named() -> None:
    graph = graph_of([(NEW, "refines", OLD), (NEW, "extends", MID)], [OLD, MID])
    first = find_first_proposal(graph, NEW, told(old=1, mid=1, new=3))
    assert {each.node for each in first.earliest} == {OLD, MID}
    said = describe_first_proposal(first)
    assert "several at the same time" in said
    assert str(OLD) in said
    assert str(MID) in said


def test_of_one_message_the_first_block_was_first() -> None:
    """An author may replace her own idea in one breath."""
    again = NEW._replace(item="H2")
    graph = graph_of([(again, "supersedes", NEW)])
    at = datetime(2026, 1, 1, tzinfo=UTC)
    blocks = {NEW: 1, again: 2}

    def describe(node: SessionItem) -> ItemInfo:
        return name_only(node)._replace(
            proposal=Source(7, "BlueLake", blocks[node], 1, "ADD"), proposed_at=at
        )

    [first] = find_first_proposal(graph, again, describe).earliest
    assert first.node == NEW


def test_what_nobody_knows_may_be_older() -> None:
    graph = graph_of([(NEW, "refines", MID), (MID, "extends", OTHER)])
    first = find_first_proposal(graph, NEW, told(mid=2, new=3))
    assert [each.node for each in first.earliest] == [MID]
    assert first.not_known == (OTHER,)
    assert describe_first_proposal(first).endswith(
        "It may be older: it comes from RS-20251201-other H4, whose author is unknown."
    )
    assert first_proposal_line(first).endswith("; perhaps earlier as RS-20251201-other H4")


def test_nobody_knows_anything() -> None:
    graph = graph_of([(NEW, "refines", OTHER)])
    first = find_first_proposal(graph, NEW, told())
    assert first.earliest == ()
    assert first.not_known == (NEW, OTHER)
    assert describe_first_proposal(first).startswith("It comes from RS-20251201-other H4")
    alone = find_first_proposal(graph_of([], [NEW]), NEW, told())
    assert describe_first_proposal(alone) == "Its author is unknown."
    assert first_proposal_line(alone) == "author unknown"


def test_of_which_item_nobody_knows_it() -> None:
    """The idea has a first author; it is the item itself that nobody can tell of."""
    graph = graph_of([(NEW, "refines", MID)])
    first = find_first_proposal(graph, NEW, told(mid=2))
    sentence = describe_first_proposal(first)
    assert sentence.startswith("First proposed by ")
    assert sentence.endswith(f" The author of {NEW} itself is unknown.")


def test_a_circle_has_a_first_as_well() -> None:
    graph = graph_of([(NEW, "refines", OLD), (OLD, "refines", NEW)])
    [first] = find_first_proposal(graph, NEW, told(old=1, new=3)).earliest
    assert first.node == OLD


# Words


def test_every_relation_has_words_in_both_directions() -> None:
    """And the words are told apart: which way a reference goes is never in doubt."""
    assert tuple(RELATION_PHRASES) == RELATIONS
    assert SECTION_LABELS.keys() == SECTIONS.keys()
    words = [word for said in RELATION_PHRASES.values() for word in said]
    assert len(set(words)) == len(words) == 2 * len(RELATIONS)
    assert relation_text(["refines", "informed_by"], UP) == "refines, informed by"
    assert relation_text(["refines", "informed_by"], DOWN) == "refined by, informed"


def test_a_relation_of_another_program_is_quoted() -> None:
    assert relation_text(["inspired"], UP) == '"inspired"'
    assert relation_text(["inspired"], DOWN) == '"inspired" by'


def test_references_between_sessions_are_summed_up() -> None:
    more = MID._replace(item="H2")
    graph = graph_of(
        [
            (MID, "refines", OLD),
            (more, "refines", OLD),
            (more, "extends", MID),
            (NEW, "refutes", OLD),
        ]
    )
    assert session_links(graph.edges) == {
        (MID.session, OLD.session): {"refines": 2},
        (NEW.session, OLD.session): {"refutes": 1},
    }
    assert relation_counts_text({"refines": 2, "informed_by": 1}) == "refines ×2, informed by"


# Trees


def rows(graph: ReferenceGraph, node: SessionItem) -> list[TreeRow]:
    """All rows of the tree of what an item comes from."""
    return list(Tree(graph, [node], UP).rows())


def test_a_very_long_line_stays_within_the_page() -> None:
    """Ten thousand ideas, each from the one before: no recursion, no line that runs away."""
    graph, nodes = chain_of(10_000)
    found = genealogy(graph, *nodes[0])
    assert found.ancestors
    assert len(found.ancestors.found) == len(nodes) - 1
    drawn = rows(graph, nodes[0])
    assert max(len(row.trunk) for row in drawn) == MOST_LEVELS - 1
    full = [row.node for row in drawn if row.shown in ("root", "in_full")]
    assert full == nodes
    parts = [row.part for row in drawn if row.shown == "part"]
    assert parts == [row.part for row in drawn if row.shown == "in_full" and row.part]
    assert mermaid(found, name_only).count("-->") == len(nodes) - 1
    first = find_first_proposal(graph, nodes[0], name_only)
    assert first.not_known == tuple(nodes)


def test_very_many_branches_are_counted_and_not_drawn() -> None:
    children = [
        SessionItem(f"RS-20260105-try-{number:04}", "H1") for number in range(MOST_BRANCHES + 7)
    ]
    graph = graph_of([(child, "refines", OLD) for child in children], [OLD])
    drawn = list(Tree(graph, [OLD], DOWN).rows())
    assert [row.node for row in drawn if row.shown == "in_full"] == children[:MOST_BRANCHES]
    last = drawn[-1]
    assert (last.shown, last.left_out, last.is_last) == ("more", 7, True)
    assert sum(row.is_last for row in drawn if row.shown != "root") == 1


def test_an_item_is_shown_where_it_is_nearest() -> None:
    """Both ways lead to the oldest one: it stands under the item itself."""
    graph = graph_of(
        [(NEW, "refines", MID), (MID, "extends", OLD), (NEW, "informed_by", OLD)], [OLD]
    )
    drawn = [(row.node, row.relations, row.shown, len(row.trunk)) for row in rows(graph, NEW)]
    assert drawn == [
        (NEW, (), "root", 0),
        (OLD, ("informed_by",), "in_full", 0),
        (MID, ("refines",), "in_full", 0),
        (OLD, ("extends",), "above", 1),
    ]


def test_a_circle_is_drawn_once_round() -> None:
    graph = graph_of([(NEW, "refines", OLD), (OLD, "refines", NEW)])
    drawn = [(row.node, row.shown) for row in rows(graph, NEW)]
    assert drawn == [(NEW, "root"), (OLD, "in_full"), (NEW, "above")]
    found = genealogy(graph, *NEW)
    assert [len(circle) for circle in found.circles] == [2]


def test_items_stand_by_session_section_and_number() -> None:
    named = [SessionItem("RS-20260101-idea", item) for item in ("T1", "H10", "H2")]
    graph = graph_of([(NEW, "informed_by", node) for node in named], named)
    drawn = [row.node.item for row in rows(graph, NEW)]
    assert drawn == ["H1", "H2", "H10", "T1"]
