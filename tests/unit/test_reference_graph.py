"""The graph of references, and what is said of them."""

import pytest

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import KillRecord, Reference
from brenner.session.references import (
    Edge,
    ItemStatus,
    ReferenceGraph,
    SessionReferences,
    cycle_diagnostic,
    dangling_diagnostic,
    killed_target_diagnostic,
    merge_session_references,
    session_finder,
)

A, B = "RS-20260101-one-idea", "RS-20260102-next-idea"


def known(session: str, items: str, *references: str, **killed: str) -> SessionReferences:
    """A session: `known(A, "H1 H2", "H1 extends B H1", H2="why it was killed")`."""
    found: dict[str, list[Reference]] = {}
    for each in references:
        item, relation, target, name = each.split()
        place = {"A": A, "B": B}.get(target, target)
        found.setdefault(item, []).append(Reference(place, name, relation))
    kills = {
        item: KillRecord("BlueLake", "2026-01-01T00:00:00Z", why) for item, why in killed.items()
    }
    return SessionReferences(session, frozenset(items.split()), found, kills)


def test_edges_both_ways() -> None:
    """What an item refers to, and what refers to it, in the order of the names."""
    graph = ReferenceGraph(
        [known(B, "H1", "H1 refines A H1"), known(A, "H1 H2", "H2 extends A H1")]
    )
    assert list(graph.sessions) == [A, B]
    assert [str(edge) for edge in graph.into(SessionItem(A, "H1"))] == [
        f"{A} H2 extends {A} H1",
        f"{B} H1 refines {A} H1",
    ]
    assert [edge.target for edge in graph.out_of(SessionItem(B, "H1"))] == [SessionItem(A, "H1")]
    assert graph.into(SessionItem(B, "H1")) == graph.out_of(SessionItem("no", "H1")) == ()
    assert set(graph.nodes) == {SessionItem(A, "H1"), SessionItem(A, "H2"), SessionItem(B, "H1")}


def test_where_references_lead() -> None:
    """To an item, to a killed one, to none, to no session."""
    references = ("H1 extends A H1", "H1 extends A H2", "H1 extends A H3", "H1 extends C H1")
    graph = ReferenceGraph([known(A, "H1 H2", H2="No"), known(B, "H1", *references)])
    assert [graph.status(edge.target) for edge in graph.edges] == [
        ItemStatus.ACTIVE,
        ItemStatus.KILLED,
        ItemStatus.UNKNOWN_ITEM,
        ItemStatus.UNKNOWN_SESSION,
    ]


def test_mail_and_file_together() -> None:
    """What the mail says of an item holds; the file adds items, with what they say."""
    mail = known(A, "H1", "H1 extends B H1", H1="Mail")
    file = known(A, "H1 H2", "H1 extends B H9", "H2 refines B H2", H1="File", H2="File")
    both = merge_session_references(mail, file)
    assert both.items == {"H1", "H2"}
    assert [some[0].item for some in both.references.values()] == ["H1", "H2"]
    assert {item: kill.reason for item, kill in both.killed.items()} == {"H1": "Mail", "H2": "File"}


@pytest.mark.parametrize(
    ("held", "item", "said"),
    [
        ("", "H1", "has no version yet"),
        ("H1 T1 H2 H10", "H3", "has no `H3` (it has `H1` to `H10`)"),
        ("H1 T1", "H3", "has no `H3` (it has `H1`)"),
        ("T1", "H3", "has no `H3` (it has no item of that kind)"),
        ("H1", "Test 3", "is not a valid item ID"),
    ],
)
def test_an_item_that_is_not_there(held: str, item: str, said: str) -> None:
    """What there is instead is told."""
    edge = Edge(SessionItem(B, "H4"), SessionItem(A, item), "informed_by")
    found = dangling_diagnostic(edge, known(A, held), session_finder(tuple))
    assert said in found.message
    assert found.message.startswith(f"`H4` is informed by `{A} {item}`, but ")
    assert (found.item, found.field) == ("H4", "references")
    assert found.also == (("UNKNOWN_REFERENCE",) if " " in item else ())


def test_a_session_that_is_not_there() -> None:
    """The one that was probably meant, among many; what is no ID is told as the check does."""
    others = [known(f"RS-20260101-idea-number-{each}", "") for each in range(500)]
    misspelt = known(B, "H1", "H1 extends RS-20260101-one-idae H1", "H1 extends RS-2026-x H1")
    graph = ReferenceGraph([*others, known(A, "H1"), misspelt])
    find = session_finder(lambda: graph.sessions)
    first, second = (dangling_diagnostic(edge, None, find) for edge in graph.edges)
    assert (first.suggestion, first.also) == (A, ())
    assert second.also == ("UNKNOWN_REFERENCE",)


def test_a_circle_in_words() -> None:
    """Every step with its relation; of a long one the beginning and the end."""
    graph = ReferenceGraph([known(A, "", "H1 extends B H1"), known(B, "", "H1 informed_by A H1")])
    [way] = graph.circles()
    assert cycle_diagnostic(way).message == (
        f"The references form a cycle: `{A} H1` extends `{B} H1`, which is informed by `{A} H1`."
    )
    steps = [f"H{each} refines A H{each % 90 + 1}" for each in range(1, 91)]
    [way] = ReferenceGraph([known(A, "", *steps)]).circles()
    assert len(way) == 90
    said = cycle_diagnostic(way).message
    assert "which leads through 78 more items" in said
    assert said.endswith("which refines `RS-20260101-one-idea H1`.")


def test_a_long_reason_is_cut() -> None:
    """Reasons come from mail, and may be of any length."""
    edge = Edge(SessionItem(B, "H1"), SessionItem(A, "H1"), "extends")
    said = killed_target_diagnostic(edge, KillRecord("BlueLake", "", "why " * 1000)).message
    assert len(said) < 500
    assert "which BlueLake killed: why why" in said
    assert "no reason given" in killed_target_diagnostic(edge, KillRecord("", "", " ")).message
