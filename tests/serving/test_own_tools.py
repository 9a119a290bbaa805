"""`brenner_check`, `brenner_artifact` and `brenner_explain`: what they answer."""

import json
import re
from string import Formatter

import pytest

from brenner.artifact.diff import diff
from brenner.artifact.model import ITEM_SECTIONS
from brenner.artifact.serialize import artifact_json, diff_json
from brenner.artifact.state import empty_state
from brenner.cli.artifact.common import LoadedArtifact
from brenner.cli.artifact.show import item_document
from brenner.diagnostics.catalogue import CATALOGUE
from brenner.mcp.tool import ToolResult
from brenner.protocol.delta.parse import read_deltas
from serving.calls import Place, place
from serving.frames import split_frames
from serving.sessions import (
    ADD,
    ANN,
    BEA,
    EDIT,
    HYPOTHESIS,
    codes,
    fine,
    in_session,
    inside,
    post,
    value,
)
from session.round_play import THREAD, published

DELTA_BODY = f"# Delta Contribution\n\n```delta\n{json.dumps(EDIT)}\n```\n"


@pytest.fixture(scope="module")
def two_versions() -> Place:
    """A session with v1 and v2, by two agents."""
    here = in_session()
    test = {
        "operation": "ADD",
        "section": "discriminative_tests",
        "payload": {
            "name": "Block it",
            "procedure": "Block the gradient",
            "discriminates": "H1 vs H2",
            "expected_outcomes": {"H1": "No fate", "H2": "No change"},
        },
        "rationale": "It tells them apart",
    }
    second = {**ADD, "payload": {**HYPOTHESIS, "name": "Counting"}}
    fine(post(here, ANN, ADD, second, test))
    published(here.workspace)
    fine(post(here, BEA, EDIT, base=1))
    published(here.workspace)
    return here


# The artifact


def shown(here: Place, **arguments: object) -> ToolResult:
    """What the tool shows of the session."""
    return here.ask("brenner_artifact", thread_id=THREAD, **arguments)


def test_the_whole_is_what_was_published(two_versions: Place) -> None:
    """Byte for byte, with its number, its size, and who wrote it."""
    answer = shown(two_versions)
    version = two_versions.workspace.version(THREAD)
    document = fine(answer)
    assert inside(answer, "artifact") == version.text
    assert (document["version"], document["characters"]) == (2, len(version.text))
    assert version.message is not None
    assert document["message_id"] == version.message.id
    head = document["artifact"].split("\n")[0]
    assert head.endswith(f"by Operator (local), {ANN} (unverified), {BEA} (unverified)")


def test_as_json_it_is_the_document_of_the_command(two_versions: Place) -> None:
    """Whole, by section and by item: with the keys of `artifact show --json`."""
    version = two_versions.workspace.version(THREAD)
    known = artifact_json(version.artifact)
    assert json.loads(inside(shown(two_versions, format="json"), "artifact")) == known
    for section in ("research_thread", *(each.id for each in ITEM_SECTIONS)):
        answer = shown(two_versions, section=section, format="json")
        assert json.loads(inside(answer, "artifact")) == {section: known[section]}
    loaded = LoadedArtifact("", "", version.artifact, version.text, version=version)
    for item in ("RT", "H1", "H2", "T1"):
        document = item_document(loaded, item)
        answer = shown(two_versions, item=item, format="json")
        assert json.loads(inside(answer, "artifact")) == {document["section"]: document["item"]}


def test_a_section_is_that_part_of_the_text(two_versions: Place) -> None:
    """All sections together are the text behind its title; one item is part of its section."""
    whole = inside(shown(two_versions), "artifact")
    names = ("research_thread", *(each.id for each in ITEM_SECTIONS))
    parts = [inside(shown(two_versions, section=name), "artifact") for name in names]
    assert whole.endswith("\n".join(parts))
    item = inside(shown(two_versions, section="Hypothesis Slate", item="h2"), "artifact")
    assert item.startswith("## 2. Hypothesis Slate\n\n### H2: Counting\n")
    assert "H1" not in item
    assert item.removeprefix("## 2. Hypothesis Slate\n\n") in parts[1]


def test_what_changed_is_the_difference_of_the_versions(two_versions: Place) -> None:
    """By item and field as `artifact diff` has it, with who changed it."""
    old, new = (two_versions.workspace.version(THREAD, number).artifact for number in (1, 2))
    answer = shown(two_versions, since=1, format="json")
    found = diff_json(diff(old, new), old.metadata, new.metadata)
    assert json.loads(inside(answer, "changes")) == found
    words = inside(shown(two_versions, since=1), "changes").split("\n")
    message = two_versions.workspace.version(THREAD).state
    assert message is not None
    number = message.blame["H1"]["claim",].source.message_id
    assert words == [
        "H1 (hypothesis_slate): modified",
        f"  claim [{BEA}, message {number}]: A steep gradient decides",
        "    was: A gradient decides",
    ]
    empty = empty_state(THREAD).artifact
    since_0 = json.loads(inside(shown(two_versions, since=0, format="json"), "changes"))
    assert since_0 == diff_json(diff(empty, new), empty.metadata, new.metadata)


def test_changes_of_a_part(two_versions: Place) -> None:
    """Only of the section or item that was asked for; none is said to be none."""
    assert fine(shown(two_versions, since=1, section="tests"))["changes"] is None
    assert fine(shown(two_versions, since=2))["changed_items"] == 0
    assert fine(shown(two_versions, since=0, item="T1"))["changed_items"] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"since": 9}, "UNKNOWN_VERSION"),
        ({"item": "H9"}, "NO_SUCH_ITEM"),
        ({"section": "tests", "item": "H1"}, "NO_SUCH_ITEM"),
        ({"section": "conclusions"}, "INVALID_SECTION"),
        ({"format": "html"}, "NOT_A_CHOICE"),
    ],
)
def test_what_is_not_there(two_versions: Place, arguments: dict[str, object], code: str) -> None:
    """Each is told with what to do instead."""
    answer = shown(two_versions, **arguments)
    assert answer.is_error
    assert codes(answer) == [code]


def test_without_a_version_it_says_what_to_do() -> None:
    """That is no error, and no base is noted."""
    here = in_session()
    answer = shown(here, agent=ANN)
    assert fine(answer)["version"] is None
    assert "brenner_post" in (answer.text or "")
    assert fine(post(here, ANN, ADD))["base"] is None
    assert here.ask("brenner_artifact", thread_id="RS-20251230-nothing").is_error


# The check


def checked(here: Place, subject: str, body: str, **more: object) -> ToolResult:
    """What the check says of a message to the session."""
    arguments = {"thread_id": THREAD, "subject": subject, "body_md": body, **more}
    return here.ask("brenner_check", **arguments)


def test_a_sound_message_is_valid_and_not_sent(two_versions: Place) -> None:
    """Nothing is stored; what the thread would refuse is told, too."""
    before = two_versions.mailbox.position()
    document = fine(checked(two_versions, "DELTA[opus]: News", DELTA_BODY, to=["Operator"]))
    assert (document["valid"], [each["id"] for each in document["violations"]]) == (
        True,
        ["BASE_ASSUMED"],
    )
    answer = checked(two_versions, "DELTA[opus]: News", DELTA_BODY.replace("H1", "H9"))
    assert not fine(answer)["valid"]
    assert set(codes(answer)) == {"EVERY_BLOCK_REFUSED", "WOULD_BE_REFUSED", "BASE_ASSUMED"}
    assert two_versions.mailbox.position() == before


def test_errors_are_the_result_of_a_check(two_versions: Place) -> None:
    """With lines of the body, and the arguments that are right."""
    body = DELTA_BODY.replace("hypothesis_slate", "hypotheses")
    answer = checked(two_versions, "delta[opus]: News", body, to=["Operator"])
    document = fine(answer)
    assert not document["valid"]
    lines = {each["id"]: each["line"] for each in document["violations"]}
    assert lines == {"INVALID_SUBJECT_PREFIX": None, "INVALID_SECTION": 4}
    corrected = document["corrected"]
    again = fine(two_versions.ask("brenner_check", **corrected))
    assert (again["valid"], again["corrected"]) == (True, None)
    assert [each["id"] for each in again["violations"]] == ["BASE_ASSUMED"]
    (block,) = read_deltas(corrected["body_md"])
    assert block.value == EDIT
    assert corrected["body_md"] in (answer.text or "")


def test_what_only_its_author_can_mend(two_versions: Place) -> None:
    """No correction is made up; who is not known is told of."""
    document = fine(checked(two_versions, "DELTA[opus]: News", "# News\n\nH1 is wrong.\n"))
    assert (document["valid"], document["corrected"]) == (False, None)
    answer = checked(two_versions, "INFO: News", "# News\n\nNone.\n", to=["BleuLake"])
    assert (fine(answer)["valid"], codes(answer)) == (False, ["UNKNOWN_RECIPIENT"])


# Messages of all kinds; what is wrong with them, if anything is
INFO, LEFT = "# Information\n\nx\n", "# Information\n\n[[fill in: what there is to tell]]\n"
ANY: dict[str, dict[str, object]] = {
    "sound": {},
    "a form that was not filled in": {"body_md": LEFT},
    "an unknown sender": {"sender_name": "Nobody"},
    "to nobody": {"to": []},
    "to somebody unknown": {"to": ["BleuLake"]},
    "without a thread": {"thread_id": ""},
    "plain mail": {"subject": "hello"},
    "plain mail without a thread": {"subject": "hello", "thread_id": ""},
    "plain mail to nobody": {"subject": "hello", "to": []},
    "plain mail under a strange name": {"subject": "hello", "thread_id": "lunch\nat noon"},
    "an answer with deltas": {"subject": "Re: KICKOFF: x", "body_md": DELTA_BODY},
    "a DELTA": {"subject": "DELTA[opus]: x", "body_md": DELTA_BODY},
    "a DELTA without a shorthand": {"subject": "DELTA: x", "body_md": DELTA_BODY},
    "a DELTA that is no JSON": {"subject": "DELTA[opus]: x", "body_md": "```delta\n{\n```\n"},
    "a malformed thread": {"thread_id": THREAD.upper()},
    "a subject that is too long": {"subject": "INFO: " + "x" * 500},
}


@pytest.mark.parametrize("name", ANY)
def test_the_check_says_what_becomes_of_a_message(two_versions: Place, name: str) -> None:
    """Valid is what is sent; what is refused is refused for the same reasons."""
    sound = {"sender_name": ANN, "to": [BEA], "thread_id": THREAD, "subject": "INFO: hello"}
    arguments = {**sound, "body_md": INFO, **ANY[name]}
    answer = two_versions.ask("brenner_check", **arguments)
    said = fine(answer)
    sent = two_versions.ask("send_message", **arguments)
    assert said["valid"] is not sent.is_error
    assert codes(answer) == [each["id"] for each in value(sent).get("violations", [])]
    assert said["not_looked_at"] == ["sender_token"]
    corrected = value(sent).get("corrected") or {}
    assert bool(said["corrected"]) is bool(corrected)
    for key in said["corrected"] or ():
        assert said["corrected"][key] == corrected[key]


def test_who_is_not_named_is_not_looked_at(two_versions: Place) -> None:
    """That is said, and is no fault."""
    answer = checked(two_versions, "INFO: News", INFO)
    assert (fine(answer)["valid"], codes(answer)) == (True, [])
    assert value(answer)["not_looked_at"] == ["to", "sender_name", "sender_token"]
    assert "Not checked, because not given: `to` and `sender_name`." in (answer.text or "")
    empty = place()
    assert codes(checked(empty, "INFO: News", INFO)) == ["UNKNOWN_THREAD"]


# Codes


def test_every_code_is_explained() -> None:
    """As the catalogue has it."""
    here = in_session()
    for code_id, code in CATALOGUE.items():
        document = fine(here.ask("brenner_explain", code=code_id))
        assert (document["id"], document["why"]) == (code_id, code.why)


def test_no_open_place_is_explained() -> None:
    """What a message is filled in with is shown as such, or left out; addresses keep theirs."""
    here = in_session()
    for code_id, code in CATALOGUE.items():
        answer = here.ask("brenner_explain", code=code_id)
        document = fine(answer)
        assert f"Message: {document['message']}\nFix: {document['fix']}\n" in (answer.text or "")
        shown = re.sub(r"resource://[a-z]+/\{\w+\}", "", document["message"] + document["fix"])
        meant = {name for _, name, _, _ in Formatter().parse(code.message + code.fix) if name}
        literal = "".join(part for part, *_ in Formatter().parse(code.message + code.fix))
        left = {name for name in meant if f"{{{name}}}" in shown}
        assert not {name for name in left if f"{{{name}}}" not in literal}, code_id
    told = fine(here.ask("brenner_explain", code="NOT_COMPILED"))
    assert "<held>" in told["message"]


def test_a_code_is_found_however_it_is_written() -> None:
    """An unknown one gets the nearest."""
    here = in_session()
    assert fine(here.ask("brenner_explain", code="mb_004"))["id"] == "MB-004"
    answer = here.ask("brenner_explain", code="INVALID_SECTON")
    assert codes(answer) == ["UNKNOWN_CODE"]
    assert value(answer)["error"]["suggestion"] == "INVALID_SECTION"


def test_what_is_no_session_has_no_artifact() -> None:
    """Nor a kickoff to read."""
    here = in_session()
    arguments = {"to": [ANN], "sender_name": ANN, "subject": "Hello", "body_md": "x"}
    fine(here.ask("send_message", **arguments, thread_id="lunch"))
    document = fine(here.ask("brenner_artifact", thread_id="lunch"))
    assert document["next"].startswith("lunch is not a session: ")
    assert "Read the kickoff" in fine(here.ask("brenner_artifact", thread_id=THREAD))["next"]


def test_unframed_is_what_a_program_needs(two_versions: Place) -> None:
    """The token of an answer takes its frames apart; outside of them is only what is ours."""
    answer = shown(two_versions)
    token = value(answer)["frame"]["token"]
    outside, (text,) = split_frames(answer.text or "", token)
    assert text == two_versions.workspace.version(THREAD).text
    assert "Gradient" not in outside
