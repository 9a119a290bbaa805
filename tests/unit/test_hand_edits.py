"""Convert manual edits of an artifact's file to deltas, and report the rest."""

import pytest

from brenner.artifact.manual_edits import HandEdits, contains_edits, hand_edits, render_edit_message
from brenner.artifact.merge.engine import merge
from brenner.artifact.model import Artifact, KillRecord
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import State, empty_state
from brenner.protocol.delta.schema import Delta, Operation
from brenner.protocol.messages import StoredMessage, parse_message_file
from brenner.protocol.validate import check_message
from histories import moment
from sample_messages import SIX, THREAD_ID, TWO, Draft, edit, hypothesis, kill, opening

_H, _P, _T = "hypothesis_slate", "predictions_table", "discriminative_tests"
_WORK = (
    edit(_H, "H1", anchors=["§2"], third_alternative=True),
    edit("research_thread", "RT", statement="Lineage or position?", context="Two camps."),
    edit(_T, "T1", score={"cost": 1, "speed": 2}, potency_check="A second dye."),
    kill(_H, "H2"),
)


def published(names: tuple[str, ...] = TWO) -> State:
    """A thread of one version: some hypotheses, of which the second is killed, and one of each."""
    drafts = (opening("BlueLake", names), Draft("RedSky", "", _WORK))
    messages = [draft.posted(number, moment(number)) for number, draft in enumerate(drafts, 1)]
    return merge(empty_state(THREAD_ID), messages).publish(9, moment(9))


STATE = published()
FILE = render_artifact(STATE.artifact)


def read(text: str) -> Artifact:
    """The artifact that a file holds."""
    return parse_artifact(text).artifact


def edits_of(*replacements: tuple[str, str], file: str = FILE) -> HandEdits:
    """What comes of replacing something in the file."""
    edited = file
    for old, new in replacements:
        assert edited.count(old) == 1, old
        edited = edited.replace(old, new)
    return hand_edits(read(file), read(edited))


def only(edits: HandEdits) -> Delta:
    """The one delta of edits that are all made by it."""
    assert edits.other == ()
    (delta,) = edits.deltas
    return delta


def sent(edits: HandEdits, number: int = 20) -> StoredMessage:
    """The message of the edits, as a store has it."""
    text = render_edit_message(edits, THREAD_ID, 1, "Operator", ("BlueLake", "RedSky"))
    return StoredMessage(number, moment(number), parse_message_file(text).message)


_RT = "research_thread"


_SCORE = "\n**Evidence-per-week score**: Cost=1, Speed=2\n"


@pytest.mark.parametrize(
    ("old", "new", "section", "target", "payload"),
    [
        ("Two camps.", "Three.", _RT, "RT", {"context": "Three."}),
        ("\n**Context**: Two camps.\n", "", _RT, "RT", {"context": ""}),
        ("**RT**: L", "**Anchors**: §4\n\n**RT**: L", _RT, "RT", {"anchors": ["§4"]}),
        ("§1, §2", "§1, §2, §3-5", _H, "H1", {"anchors": ["§3-5"]}),
        ("§1, §2", "§2, §1", _H, "H1", {"anchors": ["§2", "§1"], "anchors_replace": True}),
        ("§1, §2", "§2", _H, "H1", {"anchors": ["§2"], "anchors_replace": True}),
        ("| x | grows |", "| x | dies |", _P, "P1", {"predictions": {"H1": "dies"}}),
        ("Speed=2", "Speed=3", _T, "T1", {"score": {"speed": 3}}),
        (", Speed=2", "", _T, "T1", {"score": {"cost": 1}, "score_replace": True}),
        (_SCORE, "", _T, "T1", {"score": {}, "score_replace": True}),
        (
            "- H1: grows",
            "- H1: a\n- H2: b",
            _T,
            "T1",
            {"expected_outcomes": {"H1": "a", "H2": "b"}},
        ),
        ("### C1: x", "### C1: Other", "adversarial_critique", "C1", {"name": "Other"}),
        ("unchecked", "verified", "assumption_ledger", "A1", {"status": "verified"}),
    ],
)
def test_a_changed_field_is_an_edit(
    old: str, new: str, section: str, target: str, payload: dict[str, object]
) -> None:
    """With exactly what gives the field the value that it has in the file."""
    edits = edits_of((old, new))
    delta = only(edits)
    assert (delta.operation, delta.section, delta.target_id) == (Operation.EDIT, section, target)
    assert delta.payload == payload
    assert contains_edits(edits, merge(STATE, [sent(edits)]).artifact)
    assert not contains_edits(edits, STATE.artifact)


def test_the_fields_of_an_item_are_one_edit() -> None:
    """A flag that is taken away among them."""
    flag = "\n**Third alternative**: true\n"
    edits = edits_of(("**Claim**: c", "**Claim**: d"), (flag, ""), (" (Third Alternative)", ""))
    assert only(edits).payload == {"claim": "d", "third_alternative": False}


NEW_HYPOTHESIS = """### H3: three

**Claim**: c

**Mechanism**: m

**Anchors**: inference

"""


def test_a_new_item_is_an_add() -> None:
    """What names it goes by its local name, which holds whatever number it gets."""
    edits = edits_of(
        ("## 3. P", f"{NEW_HYPOTHESIS}## 3. P"),
        ("| H1 | H2 |\n| --- |", "| H1 | H2 | H3 |\n| --- | --- |"),
        ("| grows | N/A |", "| grows | N/A | dies |"),
        ("H1 vs H2", "H1 vs H3-like"),
        ("with**: H1", "with**: H1, H3"),
    )
    assert edits.other == ()
    row, test, anomaly, added = edits.deltas
    assert row.payload == {"predictions": {"@new_H3": "dies"}}
    assert test.payload == {"discriminates": "H1 vs H3-like"}
    assert anomaly.payload == {"conflicts_with": ["@new_H3"]}
    assert (added.operation, added.target_id, added.local_id) == ("ADD", None, "new_H3")
    assert added.payload == {
        "name": "three",
        "claim": "c",
        "mechanism": "m",
        "anchors": ["inference"],
    }
    others = Draft("RedSky", "", (hypothesis("of another"),)).posted(19, moment(19))
    after = merge(STATE, [others, sent(edits)]).artifact
    assert [item.title for item in after.sections[_H]] == ["one", "two", "of another", "three"]
    assert after.sections[_P][0].mapped("predictions")["H4"] == "dies"
    assert after.sections[_T][0].text("discriminates") == "H1 vs H4-like"
    assert contains_edits(edits, after)


def test_a_killed_item_is_a_kill() -> None:
    """Who and when come with the message; the cells of the hypothesis become N/A by it."""
    mark = ("### H1: one (Third Alternative)", "### ~~H1: one~~ (Third Alternative) [KILLED]")
    edits = edits_of(mark, ("alternative**: true", "alternative**: true\n\n**Reason**: Refuted"))
    delta = only(edits)
    assert (delta.operation, delta.target_id) == (Operation.KILL, "H1")
    assert delta.payload == {"reason": "Refuted"}
    after = merge(STATE, [sent(edits)]).artifact
    assert after.sections[_P][0].mapped("predictions") == {"H1": "N/A", "H2": "N/A"}
    assert contains_edits(edits, after)
    assert not contains_edits(edits, STATE.artifact)
    other = after.sections[_H][0]._replace(killed=KillRecord("RedSky", "", "Dull"))
    sections = {**after.sections, _H: (other, *after.sections[_H][1:])}
    assert not contains_edits(edits, after._replace(sections=sections))


ROW = "| P1 | x | grows | N/A |"
KILLED_ROW = "| ~~P1~~ | ~~x~~ | ~~grows~~ | ~~N/A~~ |\n\n**P1 Reason**: Idle"


def test_an_item_is_edited_before_it_is_killed() -> None:
    """And a row before the hypotheses, so that its cells stay."""
    edits = edits_of(
        ("### H1: one (Third Alternative)", "### ~~H1: uno~~ (Third Alternative) [KILLED]"),
        ("alternative**: true", "alternative**: true\n\n**Reason**: Refuted"),
        (ROW, KILLED_ROW),
    )
    assert edits.other == ()
    assert [(delta.operation, delta.target_id) for delta in edits.deltas] == [
        ("EDIT", "H1"),
        ("KILL", "P1"),
        ("KILL", "H1"),
    ]
    after = merge(STATE, [sent(edits)]).artifact
    assert after.sections[_P][0].mapped("predictions") == {"H1": "grows", "H2": "N/A"}
    assert contains_edits(edits, after)


def test_a_kill_needs_no_edit_of_its_cells() -> None:
    """It sets them to N/A by itself, whether the person did or not."""
    kill = (
        ("### H1: one (Third Alternative)", "### ~~H1: one~~ (Third Alternative) [KILLED]"),
        ("alternative**: true", "alternative**: true\n\n**Reason**: Refuted"),
    )
    assert only(edits_of(*kill)) == only(edits_of(*kill, (ROW, "| P1 | x | N/A | N/A |")))


def test_new_killed_item_is_an_add_and_a_kill() -> None:
    killed = (
        NEW_HYPOTHESIS.replace("### H3: three", "### ~~H3: three~~ [KILLED]") + "**Reason**: no\n\n"
    )
    edits = edits_of(("## 3. P", f"{killed}## 3. P"))
    assert edits.other == ()
    assert [(delta.operation, delta.target_id) for delta in edits.deltas] == [
        ("ADD", None),
        ("KILL", "@new_H3"),
    ]


_NOT = "will not be what the file says:"
_CHOICES = "`unchecked`, `verified`, `falsified`"
_MISSING = "`statement` is missing. `test` is missing. `status` is missing."


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\n**Claim**: c\n", "", f"`claim` of H1 {_NOT} `claim` cannot be made empty."),
        (
            "unchecked",
            "perhaps",
            f"`status` of A1 {_NOT} `status` is `perhaps`, which is not one of {_CHOICES}.",
        ),
        (
            "with**: H1",
            "with**: H1, H7",
            f"`conflicts_with` of X1 {_NOT} it refers to `H7`, which does not exist.",
        ),
        (
            "| grows | N/A |",
            "| grows | lives |",
            f"`predictions` of P1 {_NOT} the cell of a killed hypothesis is always N/A.",
        ),
        (
            "**Mechanism**: ~~m~~",
            "**Mechanism**: ~~n~~",
            f"`mechanism` of H2 {_NOT} RedSky killed `H2`. A killed item cannot be changed.",
        ),
        (
            "**Reason**: no",
            "**Reason**: why not",
            "H2 has another kill record than before: a kill cannot be changed.",
        ),
        ("### C1: x", "### C4: x", "C1 is now C4: the ID of an item never changes."),
        (
            "### C1: x",
            "### ~~C1: x~~ [KILLED]",
            "C1 is marked as killed, but stays active: it has no reason.",
        ),
        (
            "## 6. A",
            "### A2: new\n\n**Load**: all\n\n## 6. A",
            f"A2 is new and cannot be added: {_MISSING}",
        ),
        (
            "**Current status**: x\n",
            "**Current status**: x\n\n### C1: y\n",
            "C1 occurs 2 times: an ID can be used only once.",
        ),
        (
            "**Current status**: x\n",
            "**Current status**: x\n\n### C1: y\n\n### C1: z\n",
            "C1 occurs 3 times: an ID can be used only once.",
        ),
        (
            "**Current status**: x\n",
            "**Current status**: x\n\n### C1: y\n\n### C1: y\n",
            "C1 occurs 3 times: an ID can be used only once.",
        ),
        (
            'status: "draft"',
            'status: "closed"',
            "`status` in the front matter: the compiler writes it.",
        ),
        (
            '"gpt"\n',
            '"gpt"\nmood: calm\n',
            "`extra.mood` in the front matter: the compiler writes it.",
        ),
    ],
)
def test_edit_without_a_delta_is_reported(old: str, new: str, words: str) -> None:
    """The file stays an obstacle until a version contains the edit."""
    edits = edits_of((old, new))
    assert edits.other == (words,)
    assert edits.deltas == ()
    assert render_edit_message(edits, THREAD_ID, 1, "Operator", ("BlueLake",)) == ""
    assert not contains_edits(edits, STATE.artifact)
    assert contains_edits(edits, edits.edited)


def test_a_repeated_id_is_counted_in_the_whole_file() -> None:
    """Not only up to the item that was edited."""
    status = "**Current status**: x\n"
    thrice = FILE.replace(status, f"{status}\n### C1: y\n\n### C1: z\n")
    edits = edits_of(("### C1: y", "### C1: w"), file=thrice)
    assert edits.other == ("C1 occurs 3 times: an ID can be used only once.",)


def test_a_killed_item_is_not_revived() -> None:
    """However well it is disguised."""
    start, end = FILE.index("### ~~H2"), FILE.index("## 3. P")
    alive = FILE[start:end].replace("~~", "").replace(" [KILLED]", "")
    edits = edits_of((FILE[start:end], alive[: alive.index("**Killed by")]))
    assert edits.deltas == ()
    assert edits.other == ("H2 is no longer marked as killed: a killed item cannot be restored.",)


def test_removed_item_is_reported_with_kill_as_the_fix() -> None:
    edits = edits_of((FILE[FILE.index("### C1") :], ""))
    assert edits.other == ("C1 is missing: an item cannot be removed. Kill it, with a reason.",)


def test_item_with_an_unexpected_number_is_added() -> None:
    """References to it follow, and the number is reported."""
    new = NEW_HYPOTHESIS.replace("H3", "H9")
    edits = edits_of(("## 3. P", f"{new}## 3. P"), ("with**: H1", "with**: H9"))
    assert edits.other == ("H9 will be H3: the compiler assigns the numbers.",)
    after = merge(STATE, [sent(edits)]).artifact
    assert after.sections["anomaly_register"][0].listed("conflicts_with") == ("H3",)
    assert contains_edits(edits, after)


def test_edits_that_depend_on_a_rejected_item_are_omitted() -> None:
    file = render_artifact(published(SIX).artifact)
    new = "".join(
        NEW_HYPOTHESIS.replace("H3: three", f"{name}: new {name}") for name in ("H7", "H8")
    )
    edits = edits_of(
        ("## 3. P", f"{new}## 3. P"),
        ("with**: H1", "with**: H1, H8"),
        ("Expected outcomes**:\n", "Expected outcomes**:\n\n- H7: dies"),
        ("**Observation**: x", "**Observation**: y"),
        file=file,
    )
    full = "`hypothesis_slate` already has 6 active items, the maximum. The ADD is rejected."
    assert edits.other == (
        f"H8 is new and cannot be added: {full}",
        f"`conflicts_with` of X1 {_NOT} it refers to `H8`, which does not exist.",
    )
    test, anomaly, added = edits.deltas
    assert test.payload == {"expected_outcomes": {"@new_H7": "dies"}}
    assert anomaly.payload == {"observation": "y"}
    assert added.payload["name"] == "new H7"


def test_message_states_its_base_and_is_valid() -> None:
    edits = edits_of(
        ("Two camps.", 'See ``` {"operation": "ADD"}'), ("**Claim**: c", "**Claim**: d")
    )
    text = render_edit_message(edits, THREAD_ID, 1, "Operator", ("BlueLake", "RedSky"))
    report = check_message(text, "Operator")
    assert report.valid
    assert [delta.target_id for delta in report.deltas] == ["RT", "H1"]
    assert text.startswith(
        "Thread: RS-20251230-cell-fate\nFrom: Operator\nTo: BlueLake, RedSky\n"
        "Subject: DELTA[human]: Edits of the file of v1\n\n"
        "# Delta Contribution\n\n**Base Version**: v1\n\n## Deltas\n"
    )
