"""The difference of two artifacts by example: kinds, paths, ranks, sentences, JSON."""

import json
from types import MappingProxyType
from typing import Any

from brenner.artifact.diff import (
    ChangeKind,
    Diff,
    FieldChange,
    ItemChange,
    changed_ids,
    diff,
    summary,
)
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, KillRecord, Metadata, make_fields
from brenner.artifact.serialize import artifact_json, diff_json
from brenner.protocol.delta.schema import SECTIONS

NO_CHANGES: dict[str, list[str]] = {
    kind: [] for kind in ("added", "modified", "killed", "removed", "revived")
}
KILL = KillRecord("RedCreek", "2026-01-03T11:12:13Z", "T1 came out negative")


def item(item_id: str, killed: KillRecord | None = None, **values: object) -> Item:
    """An item with some fields."""
    return Item(item_id, make_fields(values), killed)


def artifact(*items: Item, thread: Item | None = None, **metadata: Any) -> Artifact:
    """An artifact with these items, each in the section of its prefix."""
    sections = {
        section.id: tuple(each for each in items if each.id.startswith(section.prefix))
        for section in ITEM_SECTIONS
    }
    return Artifact(Metadata(**metadata), thread or Item("RT"), MappingProxyType(sections))


def only(found: Diff) -> ItemChange:
    """The one item that changed."""
    assert len(found.items) == 1
    return found.items[0]


H1 = item("H1", name="Lineage", claim="Ancestry decides", anchors=["§42", "inference"])
P1 = item("P1", condition="A cut", predictions={"H1": "heals", "H2": "dies"})


def score(item_id: str, *parts: int, **values: object) -> Item:
    """A test with a score."""
    names = ("likelihood_ratio", "cost", "speed", "ambiguity")
    return Item(item_id, make_fields({"score": dict(zip(names, parts, strict=False)), **values}))


def test_added_item_lists_all_its_fields() -> None:
    """The fields are in the order of the schema, without old values."""
    change = only(diff(artifact(), artifact(H1)))
    assert change == ItemChange(
        "H1",
        "hypothesis_slate",
        "Lineage",
        (ChangeKind.ADDED,),
        (
            FieldChange(("name",), None, "Lineage"),
            FieldChange(("claim",), None, "Ancestry decides"),
            FieldChange(("anchors",), None, ("§42", "inference"), ("§42", "inference")),
        ),
    )


def test_item_added_and_killed_is_in_both_lists() -> None:
    change = only(diff(artifact(), artifact(H1._replace(killed=KILL))))
    assert change.kinds == (ChangeKind.ADDED, ChangeKind.KILLED)


def test_single_cell() -> None:
    """Of a map only the keys that changed; ten comes after two."""
    after = item("P1", condition="A cut", predictions={"H1": "heals", "H10": "x", "H2": "N/A"})
    change = only(diff(artifact(P1), artifact(after)))
    assert change.kinds == (ChangeKind.MODIFIED,)
    assert change.fields == (
        FieldChange(("predictions", "H2"), "dies", "N/A"),
        FieldChange(("predictions", "H10"), None, "x"),
    )
    assert [field.field for field in change.fields] == ["predictions.H2", "predictions.H10"]


def test_part_of_a_score() -> None:
    """In the order of the protocol."""
    change = only(diff(artifact(score("T1", 1, 2)), artifact(score("T1", 2, 2, 0))))
    assert [(field.path, field.old, field.new) for field in change.fields] == [
        (("score", "likelihood_ratio"), 1, 2),
        (("score", "speed"), None, 0),
    ]


def test_list_elements() -> None:
    """What came and what went; of an element that stood twice, one."""
    old = item("H1", anchors=["§1", "§1", "§2"])
    new = item("H1", anchors=["§2", "§1", "§3"])
    (field,) = only(diff(artifact(old), artifact(new))).fields
    assert (field.added, field.removed) == (("§3",), ("§1",))


def test_order_of_a_list() -> None:
    """Nothing came, nothing went, and yet it changed."""
    old, new = item("H1", anchors=["§1", "§2"]), item("H1", anchors=["§2", "§1"])
    (field,) = only(diff(artifact(old), artifact(new))).fields
    assert (field.old, field.new) == (("§1", "§2"), ("§2", "§1"))
    assert (field.added, field.removed) == ((), ())


def test_killed_with_who_when_why() -> None:
    """A kill alone is no modification."""
    change = only(diff(artifact(H1), artifact(H1._replace(killed=KILL))))
    assert change.kinds == (ChangeKind.KILLED,)
    assert {field.path[-1]: field.new for field in change.fields} == KILL._asdict()


def test_killed_and_modified_item_and_its_revival() -> None:
    later = item("H1", KILL, name="Lineage", claim="Nothing decides", anchors=["§42", "inference"])
    there, back = diff(artifact(H1), artifact(later)), diff(artifact(later), artifact(H1))
    assert only(there).kinds == (ChangeKind.MODIFIED, ChangeKind.KILLED)
    assert only(back).kinds == (ChangeKind.MODIFIED, ChangeKind.REVIVED)


def test_another_reason_for_a_kill() -> None:
    """The item stays killed: it is modified."""
    one, other = H1._replace(killed=KILL), H1._replace(killed=KILL._replace(reason="Other"))
    change = only(diff(artifact(one), artifact(other)))
    assert change.kinds == (ChangeKind.MODIFIED,)
    assert [field.path for field in change.fields] == [("killed", "reason")]


def test_removed() -> None:
    """No delta does it, but a file may lack an item."""
    change = only(diff(artifact(H1), artifact()))
    assert (change.kinds, change.title) == ((ChangeKind.REMOVED,), "Lineage")


def test_only_tests_with_a_changed_score_are_re_ranked() -> None:
    """T3 overtakes T1 and T2, whose scores stay: they are not modified (R14)."""
    old = artifact(score("T1", 3), score("T2", 2), score("T3", 1))
    new = artifact(score("T1", 3), score("T2", 2), score("T3", 3, 3))
    change = only(diff(old, new))
    assert (change.id, change.kinds) == ("T3", (ChangeKind.MODIFIED, ChangeKind.RE_RANKED))
    assert change.rank == (3, 1)


def test_another_score_at_the_same_place() -> None:
    """Modified, not re-ranked; nor where the parts changed and the sum did not."""
    old = artifact(score("T1", 3), score("T2", 1, 0))
    assert only(diff(old, artifact(score("T1", 3), score("T2", 2, 0)))).kinds == (
        ChangeKind.MODIFIED,
    )
    overtaken = artifact(score("T1", 0, 3), score("T2", 3, 3))
    first, second = diff(old, overtaken).items
    assert (first.kinds, second.kinds) == (
        (ChangeKind.MODIFIED,),
        (ChangeKind.MODIFIED, ChangeKind.RE_RANKED),
    )


def test_new_tests_do_not_re_rank_others() -> None:
    """Ranks are counted among the tests that both versions contain."""
    old = artifact(score("T1", 1))
    new = artifact(score("T1", 1), score("T2", 3))
    assert [change.kinds for change in diff(old, new).items] == [(ChangeKind.ADDED,)]


def test_a_test_without_a_score_is_last() -> None:
    """It moves when it gets one, even a 0."""
    old = artifact(item("T1", name="x"), score("T2", 0))
    new = artifact(score("T1", 0, name="x"), score("T2", 0))
    assert only(diff(old, new)).rank == (2, 1)


def test_duplicate_ids_go_by_occurrence() -> None:
    """The n-th of an ID with the n-th: a file that a person wrote is compared, too."""
    old = artifact(item("H1", claim="a"), item("H1", claim="b"))
    new = artifact(item("H1", claim="a"), item("H1", claim="c"), item("H1", claim="d"))
    second, third = diff(old, new).items
    assert (second.occurrence, second.kinds) == (2, (ChangeKind.MODIFIED,))
    assert (third.occurrence, third.kinds) == (3, (ChangeKind.ADDED,))


def test_changes_are_in_artifact_order() -> None:
    old = artifact(item("T2"), item("H10"), item("H2"), item("C1"))
    new = artifact(item("T10"), item("H3"), item("Hx"), item("A1"), thread=item("RT", context="c"))
    found = [change.id for change in diff(old, new).items]
    assert found == ["RT", "H2", "H3", "H10", "Hx", "T2", "T10", "A1", "C1"]


def test_metadata() -> None:
    """Field by field, maps key by key; the message id of the file is not compared (R18)."""
    old = artifact(version=0, agent_mail_message_id=4, extra={"a": {"b": 1, "c": [1]}, "n": None})
    new = artifact(version=1, contributors=("opus",), extra={"a": {"b": True, "c": [True]}})
    assert diff(old, new).metadata == (
        FieldChange(("version",), 0, 1),
        FieldChange(("contributors",), None, ("opus",), ("opus",)),
        FieldChange(("extra", "a", "b"), 1, True),
        FieldChange(("extra", "a", "c"), [1], [True], (True,), (1,)),
    )


def test_a_value_that_becomes_a_map() -> None:
    """The value goes, the keys come."""
    old, new = artifact(extra={"a": "x"}), artifact(extra={"a": {"b": "y"}})
    assert diff(old, new).metadata == (
        FieldChange(("extra", "a"), "x", None),
        FieldChange(("extra", "a", "b"), None, "y"),
    )


def test_summary_of_all_kinds() -> None:
    """One sentence, as a COMPILED message needs it."""
    old = artifact(H1, item("H2", claim="a"), P1, score("T1", 3), score("T2", 2), score("T3", 1))
    new = artifact(
        H1._replace(killed=KILL),
        item("H2", claim="b", anchors=["§1"]),
        item("H4"),
        item("P1", condition="A cut", predictions={"H1": "N/A", "H2": "dies", "H4": "x"}),
        *(score("T1", 3), score("T2", 2), score("T3", 3, 3), item("T4")),
    )
    found = diff(old, new)
    assert summary(found) == (
        "Added H4 and T4; changed H2 (claim, anchors), P1 (H1, H4) and T3 (score); killed H1; "
        "T3 moved from rank 3 to 1."
    )
    expected = {"added": ["H4", "T4"], "modified": ["H2", "P1", "T3"], "killed": ["H1"]}
    assert changed_ids(found) == expected | {"removed": [], "revived": []}


def test_summary_of_nothing_and_of_metadata() -> None:
    """Nothing is said to be nothing; what is not in an item is named."""
    assert summary(diff(artifact(), artifact())) == "Nothing changed."
    closed = diff(artifact(version=3), artifact(version=4, status="closed"))
    assert summary(closed) == "Only the metadata changed (version, status)."


def test_summary_is_bounded() -> None:
    """However many items, however many fields, whatever they are called."""
    many = [item(f"H{number}", claim="x") for number in range(1, 1001)]
    assert summary(diff(artifact(), artifact(*many))) == (
        "Added H1, H2, H3, H4, H5 and 995 others."
    )
    hostile = "H\x1b[31m" + "x" * 999
    keys = {f"H{number}": "x" for number in range(1, 100)}
    sentence = summary(
        diff(artifact(item("P1"), item(hostile)), artifact(item("P1", predictions=keys)))
    )
    assert sentence == "Changed P1 (H1, H2, H3 and 96 others); removed H\\x1b[31m" + "x" * 17 + "…."


def test_killed_item_that_was_edited() -> None:
    """The item counts as killed; the summary also mentions the edit."""
    later = item("H1", KILL, name="Lineage", claim="b", anchors=["§42", "inference"])
    found = diff(artifact(H1), artifact(later))
    assert summary(found) == "Changed H1 (claim); killed H1."
    assert changed_ids(found) == NO_CHANGES | {"killed": ["H1"]}


def test_lists_of_what_files_alone_can_do() -> None:
    """Removed and revived items have lists, and are not modified besides; an item that came and
    was killed at once is in both of those lists and in no other.
    """
    old = artifact(H1._replace(killed=KILL), item("H2", claim="a"))
    new = artifact(item("H1", claim="b"), item("H3", KILL, claim="c"))
    expected = {"added": ["H3"], "killed": ["H3"], "removed": ["H2"], "revived": ["H1"]}
    assert changed_ids(diff(old, new)) == NO_CHANGES | expected


def test_items_without_an_id() -> None:
    """The sentence calls them by their title."""
    old = artifact()
    slate = {"hypothesis_slate": (item("", name="Two"), item("", claim="c"))}
    new = old._replace(sections=MappingProxyType(dict(old.sections) | slate))
    assert summary(diff(old, new)) == "Added “Two” and an item without an ID."


def test_artifact_json() -> None:
    """Every field of every schema; what is not there is null, false, [] or {}."""
    reference = {"session": "RS-20251230-a", "item": "H1", "relation": "refines"}
    document = artifact_json(
        artifact(
            item("H2", KILL, name="Gone", references=[reference], third_alternative=True),
            item("C1", name="Framing"),
            *(item("T1", name="a"), score("T2", 1, 2)),
            thread=item("RT", statement="Why?"),
            session_id="RS-20251230-a",
            contributors=("opus",),
            extra=MappingProxyType({"a": [1]}),
        )
    )
    assert list(document) == ["metadata", *SECTIONS]
    assert document == json.loads(json.dumps(document))
    assert document["research_thread"] == {
        "id": "RT",
        "statement": "Why?",
        "context": None,
        "why_it_matters": None,
        "anchors": [],
        "conclusion": None,
        "killed": None,
    }
    assert document["hypothesis_slate"] == [
        {
            "id": "H2",
            "name": "Gone",
            "claim": None,
            "mechanism": None,
            "anchors": [],
            "third_alternative": True,
            "how_this_could_be_true": None,
            "references": [reference],
            "killed": KILL._asdict(),
        }
    ]
    critiques: Any = document["adversarial_critique"]
    assert critiques[0]["real_third_alternative"] is False
    tests: Any = document["discriminative_tests"]
    ranked = [(test["id"], test["score"], test["score_total"], test["rank"]) for test in tests]
    assert ranked == [("T1", {}, None, 2), ("T2", {"likelihood_ratio": 1, "cost": 2}, 3, 1)]
    metadata: Any = document["metadata"]
    assert list(metadata) == list(Metadata._fields)
    assert (metadata["contributors"], metadata["extra"]) == (["opus"], {"a": [1]})


def test_diff_json() -> None:
    """Versions, a sentence, IDs, and every change with its path; words where texts changed."""
    old = artifact(item("H1", claim="a b c", anchors=["§1"]), item("H2"), version=1)
    new = artifact(item("H1", claim="a x c", anchors=["§2"], name="n"), item("H2"), version=2)
    document: Any = diff_json(diff(old, new), old.metadata, new.metadata)
    assert document == json.loads(json.dumps(document))
    assert (document["old"]["version"], document["new"]["version"]) == (1, 2)
    assert document["sentence"] == "Changed H1 (name, claim, anchors)."
    assert document["changes"] == NO_CHANGES | {"modified": ["H1"]}
    assert document["unchanged"] == 1
    (change,) = document["items"]
    assert {key: change[key] for key in ("id", "section", "title", "kinds", "rank")} == {
        "id": "H1",
        "section": "hypothesis_slate",
        "title": "n",
        "kinds": ["modified"],
        "rank": None,
    }
    name, claim, anchors = change["fields"]
    assert name == {"field": "name", "path": ["name"], "old": None, "new": "n"}
    assert claim["words"] == [
        {"mark": "same", "text": "a "},
        {"mark": "removed", "text": "b"},
        {"mark": "inserted", "text": "x"},
        {"mark": "same", "text": " c"},
    ]
    assert (anchors["added"], anchors["removed"]) == (["§2"], ["§1"])
    assert document["metadata"] == [
        {"field": "version", "path": ["version"], "old": 1, "new": 2},
    ]


def test_diff_json_of_a_rank() -> None:
    """Old and new place by name."""
    old, new = artifact(score("T1", 1), score("T2", 0)), artifact(score("T1", 1), score("T2", 3))
    document: Any = diff_json(diff(old, new), old.metadata, new.metadata)
    assert document["items"][0]["rank"] == {"old": 2, "new": 1}
