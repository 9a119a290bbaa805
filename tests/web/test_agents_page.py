"""The agents' page: what each has contributed, what stands, what each owes."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from brenner.config import OPERATOR
from brenner.limits import MOST_PROFILE_BYTES
from brenner.mail.model import Profile
from brenner.protocol.messages import Envelope, Trust
from brenner.web.views import project as agents
from brenner.web.views import versions as ledger
from web.hostile import BIDI, HOSTILE
from web.mail_scene import ANN, BEA, CYD, THREAD, Scene, added
from web.test_evidence_page import kill, words

NAMED = {"thread": THREAD}
NO_TARGET = """```delta
{"operation": "EDIT", "section": "hypothesis_slate", "target_id": "%s",
 "payload": {"claim": "%s"}, "rationale": "Why not"}
```
"""


@pytest.fixture
def scene() -> Scene:
    """Two versions: one agent adds, one edits and kills and is refused, one owes everything."""
    made = Scene()
    made.mailbox.register(Profile(ANN, "claude-code", "Opus 4.5"), update=True)
    for name in (ANN, BEA, CYD):
        made.kickoff(name)
    made.delta(ANN, added("Gradient"), added("Clock"), added("Luck"))
    made.compile()
    made.delta(
        BEA, NO_TARGET % ("H1", "Better"), kill("hypothesis_slate", "H3"), NO_TARGET % ("H9", "x")
    )
    made.send(BEA, "INFO: me again", "x", envelope=Envelope(trust=Trust.UNVERIFIED))
    made.compile()
    return made


def look(scene: Scene, **asked: str) -> tuple[dict[str, Any], str]:
    """The document and the page."""
    document, page = scene.look(agents.agents_page, NAMED, **asked)
    assert json.loads(json.dumps(document)) == document
    return document, page


def agent(document: dict[str, Any], name: str) -> dict[str, Any]:
    """One of them."""
    found: dict[str, Any] = next(each for each in document["agents"] if each["name"] == name)
    return found


def test_what_each_has_contributed_and_what_stands(scene: Scene) -> None:
    document, page = look(scene)
    ann, bea, operator = (agent(document, name) for name in (ANN, BEA, OPERATOR))
    assert ann["added"]["ids"] == ["H1", "H2", "H3"]
    assert ann["active"]["ids"] == ["H1", "H2"]
    assert ann["lost"]["ids"] == ["H3"]
    # Of each hypothesis the name, the claim, the mechanism and an anchor
    assert ann["fields_set"] == 12
    assert ann["fields_standing"] == 7  # without those of H3, and the claim of H1
    assert (bea["edited"]["ids"], bea["killed"]["ids"]) == (["H1"], ["H3"])
    assert (bea["fields_set"], bea["fields_standing"]) == (1, 1)
    assert operator["blocks"] == 0
    assert operator["fields_standing"] >= 1  # the question
    assert "2 of 3 added items active (killed: H3), 7 of 12 values in use" in words(page)


def test_what_was_refused_and_why(scene: Scene) -> None:
    """The link leads to just those blocks."""
    bea = agent(look(scene)[0], BEA)
    assert (bea["blocks"], bea["applied"], bea["refused"], bea["duplicate"]) == (3, 2, 1, 0)
    assert bea["refused_for"] == [{"code": "INVALID_TARGET", "blocks": 1}]
    asked = dict(re.findall(r"[?&](\w+)=(\w+)", bea["refused_at"]))
    there, _ = scene.look(ledger.ledger_page, NAMED, **asked)
    assert there["found"] == 1


def test_blocks_of_all_agents_are_those_of_the_ledger(scene: Scene) -> None:
    scene.delta(CYD, added("Late"), NO_TARGET % ("H77", "y"))
    document, _ = look(scene)
    there, _ = scene.look(ledger.ledger_page, NAMED)
    for count in ("blocks", "applied", "refused", "duplicate"):
        assert sum(each[count] for each in document["agents"]) == there[count]
    assert agent(document, CYD)["rounds"] == [
        {"round": 3, "applied": 1, "refused": 1, "duplicate": 0}
    ]
    assert document["rounds"] == [1, 2, 3]


def test_what_each_owes(scene: Scene) -> None:
    """An ACK becomes overdue; a refused block is a correction."""
    number = scene.send(
        OPERATOR, "QUESTION: What now?", "# Question\n\n## Question\nWhat now?\n", to=(CYD,)
    )
    document, page = look(scene)
    assert [each["message_id"] for each in agent(document, CYD)["owes"]["acks"]][-1] == number
    assert agent(document, BEA)["owes"]["number_of_corrections"] == 1
    assert agent(document, ANN)["owes"]["number_of_corrections"] == 0
    assert "1 correction" in words(page)
    scene.now += timedelta(days=30)
    document, page = look(scene)
    assert agent(document, CYD)["owes"]["overdue"] >= 1
    assert "overdue" in words(page)


def test_who_they_are(scene: Scene) -> None:
    document, page = look(scene)
    ann = agent(document, ANN)
    assert (ann["program"], ann["model"]) == ("claude-code", "Opus 4.5")
    assert ann["registered_at"]
    assert agent(document, BEA)["unverified"] == 1
    assert "1 unverified" in words(page)
    assert agent(document, ANN)["last_at"]
    assert [each["name"] for each in document["agents"]] == [ANN, BEA, CYD, OPERATOR]


def test_the_course_of_rounds_is_drawn(scene: Scene) -> None:
    """A round that is not compiled yet is told to be none."""
    assert "BlueLake: 1 3, 2 0; RedSky: 1 0, 2 2 and 1 rejected" in look(scene)[1]
    scene.delta(CYD, added("Late"))
    assert "Round 3 is not compiled yet." in look(scene)[1]


def test_what_is_said_of_the_chart_is_in_it(scene: Scene) -> None:
    """Where nothing was refused, refusals are not explained."""
    page = look(scene)[1]
    assert "rejected ones hollow. 2+1 means 2 applied and 1 rejected." in page
    assert ">2+1</text>" in page
    calm = Scene()
    calm.kickoff(ANN)
    calm.delta(ANN, added("Gradient"))
    assert "Blocks by round: applied ones solid. Round 1" in look(calm)[1]


def test_of_each_only_what_there_is(scene: Scene) -> None:
    """The table has the zeros; in words they would say nothing."""
    ann = look(scene)[1].split('id="name-1"')[1].split("</section>")[0]
    assert "<dt>Added</dt>" in ann
    for word in ("Edited", "Killed", "Refused"):
        assert f"<dt>{word}</dt>" not in ann


def test_before_anybody_has_contributed() -> None:
    scene = Scene()
    scene.kickoff(ANN)
    document, page = look(scene)
    assert agent(document, ANN)["blocks"] == 0
    assert document["rounds"] == []
    assert "<svg" not in page


def test_many_agents_have_pages() -> None:
    scene = Scene()
    scene.kickoff(ANN)
    names = [f"Agent{number}" for number in range(70)]
    for name in names:
        scene.mailbox.register(Profile(name))
        scene.send(name, "INFO: hello", "x")
    found = [each["name"] for n in ("1", "2") for each in look(scene, page=n)[0]["agents"]]
    assert sorted(found) == sorted([ANN, *names])


def test_hostile_names(scene: Scene) -> None:
    texts = [each for each in HOSTILE if len(each.encode()) <= MOST_PROFILE_BYTES]
    while texts:
        for name in (ANN, BEA, CYD):
            profile = Profile(name, *(texts.pop() if texts else "" for _ in range(2)))
            scene.mailbox.register(profile, update=True)
        _, page = look(scene)
        assert "<script>" not in page
        assert not set(BIDI) & set(page)
