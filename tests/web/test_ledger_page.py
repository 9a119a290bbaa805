"""The ledger's page: every block is there, and the counts add up."""

import json
import re
from typing import Any

import pytest

from brenner.artifact.state import BlockOutcome
from brenner.config import OPERATOR
from brenner.protocol.messages import Envelope, Trust
from brenner.services.decisions import dismiss
from brenner.services.version_store import load_ledgers
from brenner.web.views import versions as ledger
from web.hostile import BIDI, HOSTILE
from web.mail_scene import ANN, BEA, THREAD, Scene, added

NAMED = {"thread": THREAD}
NO_TARGET = """```delta
{"operation": "EDIT", "section": "hypothesis_slate", "target_id": "H77",
 "payload": {"claim": "Nobody knows that one"}, "rationale": "Why not"}
```
"""
BROKEN = '```delta\n{"operation": "ADD", <script>alert(1)</script>\n```\n'


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A session that is only read."""
    return played()


def played() -> Scene:
    """Two versions, blocks of every outcome, and one that no version has read."""
    made = Scene()
    made.kickoff(ANN, BEA)
    made.delta(ANN, added("Gradient"), NO_TARGET, BROKEN)
    made.compile()
    made.delta(ANN, added("Gradient"), added("Clock"))
    made.send(
        BEA,
        "DELTA[gpt]: x",
        "# Delta Contribution\n\n## Deltas\n\n" + added("Wrong", section="hypotheses"),
        envelope=Envelope(trust=Trust.UNVERIFIED),
    )
    made.compile()
    made.delta(BEA, added("Wrong"), added("Late"))
    return made


def look(scene: Scene, **asked: str) -> tuple[dict[str, Any], str]:
    """The document and the page; the counts of every page of it add up."""
    document, page = scene.look(ledger.ledger_page, NAMED, **asked)
    assert json.loads(json.dumps(document)) == document
    assert document["blocks"] == sum(document[outcome.value] for outcome in BlockOutcome)
    for group in document["groups"]:
        assert group["blocks"] == sum(group[outcome.value] for outcome in BlockOutcome)
    return document, page


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows of a page."""
    return [entry for group in document["groups"] for entry in group["entries"]]


def told(document: dict[str, Any]) -> list[tuple[int | None, int, str]]:
    """Version, block and outcome of every row."""
    return [(entry["version"], entry["block"], entry["outcome"]) for entry in rows(document)]


def test_every_block_of_every_version_the_newest_first(scene: Scene) -> None:
    """And before them those that no version has read, with what would become of them."""
    document, page = look(scene)
    assert told(document) == [
        (None, 1, "would be applied as H3"),
        (None, 2, "would be applied as H4"),
        (2, 1, "duplicate, same as H1"),
        (2, 2, "applied as H2"),
        (2, 1, "rejected"),
        (1, 1, "applied as H1"),
        (1, 2, "rejected"),
        (1, 3, "rejected"),
    ]
    assert (document["applied"], document["refused"], document["duplicate"]) == (4, 3, 1)
    assert "Not compiled yet" in page


def test_entries_are_those_of_the_command_line(scene: Scene) -> None:
    """`Entry.to_json`, with the version and the trust beside it."""
    shown = {(each["message_id"], each["block"]): each for each in rows(look(scene)[0])}
    for version in load_ledgers(scene.workspace, THREAD):
        for entry in version.entries:
            row = shown[entry.message_id, entry.block]
            expected = entry.to_json()
            assert {key: row[key] for key in expected} == expected
            assert row["version"] == version.number
    assert {row["trust"] for row in shown.values()} == {"local", "unverified"}


def test_a_refused_block_is_told_with_what_was_sent_and_the_fix(scene: Scene) -> None:
    document, page = look(scene, outcome="refused")
    wrong, target, broken = rows(document)
    newest = rows(look(scene)[0])[0]["message_id"]
    assert wrong["settled"] == {"how": "corrected", "message_id": newest}
    assert target["settled"] is None
    assert target["sent"]["text"].startswith('{"operation": "EDIT"')
    assert "H77" in target["violations"][0]["message"]
    assert target["violations"][0]["fix"]
    assert "INVALID_TARGET" in page
    assert broken["operation"] == "ADD"
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "corrected in" in page


def test_a_dismissed_one_says_so() -> None:
    scene = played()
    number = rows(look(scene, outcome="refused")[0])[1]["message_id"]
    dismiss(scene.workspace, THREAD, number, 2)
    settled = rows(look(scene, outcome="refused")[0])[1]["settled"]
    assert settled["how"] == "dismissed"
    assert scene.mailbox.message(settled["message_id"]).message.sender == OPERATOR


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"outcome": "applied"}, 4),
        ({"agent": BEA}, 3),
        ({"version": "1"}, 3),
        ({"version": "v1"}, 3),
        ({"version": "unread"}, 2),
        ({"version": "1", "outcome": "refused"}, 2),
        ({"version": "2", "agent": BEA}, 1),
        ({"outcome": "nonsense"}, 0),
        ({"agent": "<b>"}, 0),
        ({"version": "9" * 400}, 0),
    ],
)
def test_filters(scene: Scene, asked: dict[str, str], found: int) -> None:
    """What the links of a filter promise is what one finds there."""
    document, page = look(scene, **asked)
    assert document["found"] == len(rows(document)) == found
    assert document["blocks"] == 8
    assert "<b>" not in page.replace("<b class", "")
    for name, choices in document["filters"].items():
        others = {key: value for key, value in asked.items() if key != name}
        for choice in choices:
            there, _ = look(scene, **others, **{name: choice["value"]})
            assert there["found"] == choice["blocks"]
            assert choice["is_chosen"] == (asked.get(name, "").lstrip("v") == choice["value"])


def test_long_ledgers_have_pages() -> None:
    """Each block is on one of them, and a version that is cut says so."""
    scene = Scene()
    scene.kickoff(ANN)
    for number in range(9):
        scene.delta(ANN, *(NO_TARGET for _ in range(50)), words=f"try {number}")
    found = []
    for number in (1, 2, 3):
        document, page = look(scene, page=str(number))
        found += [(each["message_id"], each["block"]) for each in rows(document)]
        assert (document["page"], document["pages"]) == (number, 3)
        assert (document["next"] is None) == (number == 3)
        assert sum(len(each["sent"]["text"]) for each in rows(document)) <= 60_000
        assert "of 450" in page
    assert len(found) == len(set(found)) == 450
    assert look(scene, page="99")[0]["page"] == 3


def test_a_long_block_is_cut_and_its_message_named() -> None:
    scene = Scene()
    scene.kickoff(ANN)
    number = scene.delta(ANN, f'```delta\n{{"{"x" * 9_000}": 1}}\n```\n')
    document, page = look(scene)
    assert rows(document)[0]["sent"]["is_cut"]
    assert len(rows(document)[0]["sent"]["text"]) == 4_000
    link = f'<a class="id" href="/messages/{number}">message {number}</a>'
    assert f"Shortened. {link} is complete." in page


def test_equal_errors_are_shown_once() -> None:
    """One row with a count; the other blocks are folded below it, and JSON lists all of them."""
    scene = Scene()
    scene.kickoff(ANN)
    number = scene.delta(ANN, *[NO_TARGET] * 4, added("Gradient"))
    document, page = look(scene)
    found = rows(document)
    assert [each["same_as"] for each in found] == [None, 1, 1, 1, None]
    assert (found[0]["same"], found[0]["repeats"]) == ("blocks 2–4", 4)
    assert page.count('<p class="fix">') == 1
    assert "×4" in page
    assert "3 more blocks with the same error: blocks 2–4" in page
    for block in (1, 2, 3, 4):
        assert page.count(f'id="block-{number}-{block}"') == 1
        assert f"dismiss {THREAD} {number}.{block}<" in page


def test_before_the_first_block() -> None:
    scene = Scene()
    scene.kickoff(ANN)
    document, page = look(scene)
    assert document["groups"] == []
    assert "No DELTA has arrived yet" in page
    assert f"brenner new DELTA --thread {THREAD}" in page


def test_a_block_in_a_message_of_another_type_is_told() -> None:
    """It is nobody's contribution, and stands in no ledger: not in silence."""
    scene = Scene()
    scene.kickoff(ANN)
    scene.send(ANN, "INFO: a thought", added("Gradient"))
    document, page = look(scene)
    assert len(document["aside"]) == 1
    assert "Ignored blocks" in page


def test_hostile_texts() -> None:
    """Whatever stands in a block and in an agent's name is text."""
    scene = Scene()
    scene.kickoff(ANN)
    for text in HOSTILE:
        scene.delta(ANN, f"```delta\n{text}\n```\n", added("x", section=text.replace('"', "'")))
    _, page = look(scene)
    assert "<script>" not in page
    assert "<img" not in page
    assert not set(BIDI) & set(page)


def test_blocks_are_told_in_words() -> None:
    """By message, the newest first; what would be applied, was applied, and was rejected."""
    scene = played()
    document, page = look(scene)
    said = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))
    assert "adds H4 Late" in said
    assert "added H2 Clock" in said
    assert "wanted to change H77" in said
    newest, *_, oldest = (each["message_id"] for each in rows(document))
    assert page.index(f'id="ledger-{newest}"') < page.index(f'id="ledger-{oldest}"')
    edit = NO_TARGET.replace("H77", "H1")
    number = scene.delta(ANN, edit)
    scene.compile()
    row = next(each for each in rows(look(scene)[0]) if each["message_id"] == number)
    assert (row["state"], row["fields"]) == ("applied", ["claim"])
    assert '/items/H1">H1</a>’s claim' in look(scene)[1]
