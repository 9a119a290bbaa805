"""Deltas as arguments, with every mistake that is made in them: taken, asked about, or refused."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.diagnostics.codes.serving import NOT_SURELY_MEANT
from brenner.mcp.tool import ToolResult
from brenner.protocol.delta.arguments import read_delta_arguments
from brenner.protocol.delta.lenient_json import decode_strict
from brenner.protocol.delta.schema import section_by_name
from serving.calls import Place
from serving.sessions import (
    ADD,
    ANN,
    BEA,
    EDIT,
    HYPOTHESIS,
    KILL,
    codes,
    fine,
    in_session,
    post,
    stored,
    value,
)
from session.round_play import THREAD, published

FENCED = f"```delta\n{json.dumps(ADD)}\n```"
SECOND = {**ADD, "payload": {**HYPOTHESIS, "name": "Counting"}}
ODD: tuple[object, ...] = (
    *(None, 1, "", "x", [], {}, [[]], [[1]], {"a": []}, "{", "[", "```delta\n```"),
)
FLAT = {"operation": "ADD", "section": "hypothesis_slate", "rationale": "r", **HYPOTHESIS}


def without(delta: Mapping[str, object], *keys: str) -> dict[str, object]:
    """The delta without some of its keys."""
    return {key: content for key, content in delta.items() if key not in keys}


# What is certain


# What was given, what was posted, how often something was said of it
TAKEN: dict[str, tuple[object, dict[str, object], int]] = {
    "as it should be": (ADD, ADD, 0),
    "op": ({**without(ADD, "operation"), "op": "ADD"}, ADD, 1),
    "capitals in a key": ({**without(ADD, "section"), "Section": ADD["section"]}, ADD, 1),
    "small letters": ({**ADD, "operation": "add"}, ADD, 1),
    "failure mode 2: another section": ({**ADD, "section": "hypotheses"}, ADD, 1),
    "a heading for a section": ({**ADD, "section": "## 2. Hypothesis Slate"}, ADD, 1),
    "a misspelt section": ({**ADD, "section": "hypothesis_slat"}, ADD, 1),
    "no section, but a target": (without(EDIT, "section"), EDIT, 1),
    "target for target_id": ({**without(EDIT, "target_id"), "target": "H1"}, EDIT, 1),
    "a target in small letters": ({**EDIT, "target_id": "h1"}, EDIT, 1),
    "an empty target of an ADD": ({**ADD, "target_id": ""}, {**ADD, "target_id": None}, 0),
    "the word null as target": ({**ADD, "target_id": "null"}, {**ADD, "target_id": None}, 1),
    "fields beside the payload": (FLAT, {**ADD, "rationale": "r"}, 1),
    "reason beside the payload": ({**without(KILL, "payload"), "reason": "Refuted by T1"}, KILL, 1),
    "data for payload": ({**without(ADD, "payload"), "data": HYPOTHESIS}, ADD, 1),
    "the payload as a text": ({**ADD, "payload": json.dumps(HYPOTHESIS)}, ADD, 1),
    "an anchor without a list": ({**ADD, "payload": {**HYPOTHESIS, "anchors": "§42"}}, ADD, 1),
    "a misspelt field": (
        {**ADD, "payload": {**without(HYPOTHESIS, "mechanism"), "mechanisms": "It acts"}},
        ADD,
        1,
    ),
    "a list in the list": ([ADD], ADD, 1),
    **{
        f"a list under {name}": ({name: [ADD]}, ADD, 1)
        for name in ("deltas", "Items", "contributions", "operations")
    },
    "a text": (json.dumps(ADD), ADD, 1),
    "a text with a fence": (FENCED, ADD, 1),
    "a text in a text": (json.dumps(FENCED), ADD, 2),
    "several lists in the list": ([[ADD]], ADD, 2),
    "twice the same": ({**ADD, "name": "Gradient"}, ADD, 1),
    "a payload as a text with single quotes": ({**ADD, "payload": str(HYPOTHESIS)}, ADD, 2),
    "failure mode 4: a comma too much": (json.dumps(ADD)[:-1] + ",}", ADD, 2),
    "failure mode 4: single quotes": (str(ADD), ADD, 2),
    "failure mode 4: a comment": (json.dumps(ADD)[:-1] + " // mine\n}", ADD, 2),
    "failure mode 4: keys without quotes": (
        json.dumps(ADD).replace('"operation"', "operation"),
        ADD,
        2,
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_certain_is_taken_and_told(name: str) -> None:
    """It is posted as it was meant, and never without a word."""
    here = in_session()
    post(here, BEA, ADD)
    published(here.workspace)
    given, meant, said = TAKEN[name]
    answer = post(here, ANN, given)
    posted = fine(answer)
    (found,) = stored(here, posted["message_id"])
    assert isinstance(found, dict)
    assert {"target_id": None, **found} == {"target_id": None, **meant}
    told = [each["what"] for each in posted["corrections"]]
    assert len(told) >= said if said > 1 else len(told) == said
    assert all(each in (answer.text or "") for each in told)
    assert [each["state"] for each in posted["expected"]] == ["applied"]


@pytest.mark.parametrize(
    "given", [ADD, FENCED, json.dumps([ADD]), str([ADD]), f"\n\n{json.dumps(ADD)}\n"]
)
def test_deltas_need_not_stand_in_a_list(given: object) -> None:
    """One delta, or a text that holds it, is taken for the list."""
    here = in_session()
    posted = fine(here.ask("brenner_post", thread_id=THREAD, agent=ANN, deltas=given))
    assert stored(here, posted["message_id"]) == [ADD]
    assert bool(posted["corrections"]) is isinstance(given, str)


# What is not

REFUSED: dict[str, tuple[object, list[str]]] = {
    "failure mode 3: no target": ({**EDIT, "target_id": None}, ["MISSING_TARGET"]),
    "failure mode 3: a KILL without": (without(KILL, "target_id"), ["MISSING_TARGET"]),
    "failure mode 5: an empty payload": ({**ADD, "payload": {}}, ["MISSING_REQUIRED_FIELD"] * 4),
    "another word for an operation": ({**ADD, "operation": "CREATE"}, ["INVALID_OPERATION"]),
    "the same under op": (
        {**without(ADD, "operation"), "op": "create"},
        ["INVALID_OPERATION"],
    ),
    "an unknown section": ({**ADD, "section": "conclusions"}, ["INVALID_SECTION"]),
    "the research thread": (
        {**ADD, "section": "research_thread", "payload": {"statement": "What decides?"}},
        ["OPERATION_NOT_ALLOWED"],
    ),
    "a part of the research thread": (
        {**ADD, "section": "research_thread", "payload": {"context": "Cells decide early."}},
        ["OPERATION_NOT_ALLOWED"],
    ),
    "an ADD with a number": ({**ADD, "target_id": "H4"}, ["UNEXPECTED_TARGET"]),
    "a text that is no JSON": ("I think that H1 is wrong.", ["INVALID_JSON"]),
    "a number": (12, ["DELTA_NOT_AN_OBJECT"]),
    "a section of blanks": ({**ADD, "section": " " * 1000 + "a\nb"}, ["INVALID_SECTION"]),
    "two keys that would be one": (
        {**without(ADD, "operation"), "Operation": "ADD", "OPERATION": "KILL"},
        ["MISSING_REQUIRED_FIELD"],
    ),
    "a form that was not filled in": (
        {**ADD, "payload": {**HYPOTHESIS, "claim": "[[fill in: one-sentence claim]]"}},
        ["TEMPLATE_NOT_FILLED_IN"],
    ),
    "an unknown local name": ({**EDIT, "target_id": "@epi"}, ["UNKNOWN_LOCAL_ID"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_bad_delta_refuses_the_whole_post(name: str) -> None:
    """Nothing is stored; every violation is told by the number of its delta (R5)."""
    here = in_session()
    before = here.mailbox.position()
    given, expected = REFUSED[name]
    answer = post(here, ANN, ADD, given)
    assert answer.is_error
    assert here.mailbox.position() == before
    errors = [each for each in value(answer)["violations"] if each["severity"] == "error"]
    assert [each["id"] for each in errors] == expected
    assert all(each["line"] is None for each in errors if each["id"] != "TEMPLATE_NOT_FILLED_IN")
    assert "Nothing was posted." in (answer.text or "")
    if expected != ["TEMPLATE_NOT_FILLED_IN"]:
        assert {each["block"] for each in errors} == {2}
        assert value(answer)["still_wrong"] == [2]


def test_a_refusal_gives_the_other_deltas_as_they_can_be_sent() -> None:
    """What could be corrected is; the author mends the rest and sends all of it again."""
    here = in_session()
    answer = post(
        here,
        ANN,
        {**ADD, "section": "hypothesis_slat", "operation": "add"},
        {**EDIT, "target_id": None},
    )
    document = value(answer)
    assert document["deltas"][0]["section"] == "hypothesis_slate"
    mended = [document["deltas"][0], {**document["deltas"][1], "target_id": "@new"}]
    mended[0]["local_id"] = "new"
    again = fine(post(here, ANN, *mended))
    assert again["corrections"] == []
    assert [each["item"] for each in again["expected"]] == ["H1", "H1"]


def test_nothing_to_post() -> None:
    """An empty contribution is told of."""
    assert codes(post(in_session(), ANN)) == ["NO_DELTAS"]


# What may be meant otherwise: what was given, and the deltas that are shown for it

TWO = f"{FENCED}\nand\n\n{json.dumps(SECOND)}\n"
RENAMED = {**EDIT, "payload": {"claim": "A steep gradient decides", "name": "typo fix"}}
DOUBTFUL: dict[str, tuple[object, list[object]]] = {
    "a name beside the payload of an EDIT": ({**EDIT, "name": "typo fix"}, [RENAMED]),
    "another value beside the payload": ({**EDIT, "claim": "A wave decides"}, [EDIT]),
    "some beside, some in it": (
        {**ADD, "payload": {"name": "Gradient"}, **without(HYPOTHESIS, "name")},
        [ADD],
    ),
    "an empty payload, and fields": ({**ADD, "payload": {}, **HYPOTHESIS}, [ADD]),
    "a reason beside the payload": ({**KILL, "payload": {}, "reason": "Refuted by T1"}, [KILL]),
    "an object with a list of its own": ({"withdrawn_do_not_post": [ADD]}, [ADD]),
    "failure mode 1: JSON in prose": (f"Here is my hypothesis:\n\n{json.dumps(ADD)}", [ADD]),
    "words after a fence": (f"{FENCED}\n\nThis I have given up.", [ADD]),
    "a fence, words, and JSON": (TWO, [ADD, SECOND]),
    "words and a comma too much": (f"Mine: {json.dumps(ADD)[:-1]},}}", [ADD]),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_may_be_meant_otherwise_is_asked_about(name: str) -> None:
    """Nothing is stored; what it would be is shown, and can be posted as it is shown."""
    here = in_session()
    fine(post(here, BEA, ADD))
    published(here.workspace)
    before = here.mailbox.position()
    wanted, shown = DOUBTFUL[name]
    answer = post(here, ANN, wanted)
    assert answer.is_error
    assert here.mailbox.position() == before
    assert codes(answer) == [NOT_SURELY_MEANT.id]
    document = value(answer)
    assert (document["deltas"], document["still_wrong"]) == (shown, [])
    again = fine(post(here, ANN, *document["deltas"]))
    assert (again["corrections"], stored(here, again["message_id"])) == ([], shown)


# Texts with more than one delta in them

SEVERAL = {
    "two fences": f"{FENCED}\n\n```json\n{json.dumps(SECOND)}\n```",
    "a fence and JSON": f"{FENCED}\n\n{json.dumps(SECOND)}\n",
    "a fence of another kind, and JSON": f"~~~\n{json.dumps(ADD)}\n~~~\n{json.dumps(SECOND)}",
    "one after the other": f"{json.dumps(ADD)}\n{json.dumps(SECOND)}",
    "with a comma between": f"{json.dumps(ADD)},\n{json.dumps(SECOND)}",
    "a list in a fence": f"```json\n{json.dumps([ADD, SECOND])}\n```",
    "under a name in a fence": "```\n" + json.dumps({"deltas": [ADD, SECOND]}) + "\n```",
}


@pytest.mark.parametrize("name", SEVERAL)
def test_all_deltas_of_a_text_are_taken(name: str) -> None:
    """Whatever stands around each of them."""
    here = in_session()
    posted = fine(here.ask("brenner_post", thread_id=THREAD, agent=ANN, deltas=SEVERAL[name]))
    assert stored(here, posted["message_id"]) == [ADD, SECOND]


def around(kind: str, number: int) -> str:
    """A delta with that number in a text, somehow."""
    text = json.dumps({**ADD, "rationale": f"number {number}"})
    return {
        "bare": text,
        "in prose": f"And {text} too",
        "indented": f"    {text}",
        "in a list": f"- {text}",
        "quoted": f"> {text}",
        "in a quoted fence": f"> ```delta\n> {text}\n> ```",
        "in a nested fence": f"- ```delta\n  {text}\n  ```",
        "in HTML": f"<div>\n{text}\n</div>",
        "on the line of a fence": f"```delta {text}\n```",
        "wrapped": json.dumps({"more": [json.loads(text)]}),
        "under other keys": text.replace('"operation"', '"op"').replace('"section"', '"where"'),
        "cut off": text[:-1],
        "twice a key": text[:-1] + ', "operation": "KILL"}',
    }.get(kind, f"```{kind}\n{text}\n```")


KINDS = (
    *("delta", "json", "", "DELTA", "bare", "in prose", "indented", "in a list", "quoted"),
    *("in a quoted fence", "in a nested fence", "in HTML", "on the line of a fence", "wrapped"),
    *("under other keys", "cut off", "twice a key"),
)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4), st.sampled_from(("", "And so ")))
def test_no_delta_of_a_text_is_lost(kinds: list[str], words: str) -> None:
    """Each is posted, or is shown in a refusal that posts nothing."""
    text = "\n\n".join([words, *(around(kind, number) for number, kind in enumerate(kinds))])
    answer = posted_to(SESSION, text)
    if answer.is_error:
        kept = json.dumps(value(answer)["deltas"])
    else:
        kept = json.dumps(stored(SESSION, value(answer)["message_id"]))
        assert not words
    for number in range(len(kinds)):
        assert f"number {number}" in kept


def posted_to(here: Place, text: str) -> ToolResult:
    """What becomes of a text that is given for the deltas."""
    return here.ask("brenner_post", thread_id=THREAD, agent=ANN, deltas=text)


SESSION = in_session()


def test_given_deltas_are_none_lost() -> None:
    """Each value becomes at least one block, whatever it is."""
    for each in ODD:
        assert read_delta_arguments([each]), each


def test_keys_that_would_become_one_stay_apart() -> None:
    """No value displaces another."""
    odd = {"Section": "a", "SECTION": "b", "op": "ADD", "Operation": "EDIT", "action": "KILL"}
    ((text, _, _),) = read_delta_arguments([odd])
    assert decode_strict(text) == odd


@pytest.mark.parametrize(
    "written",
    [
        *("hypothesis_slate", "Hypothesis Slate", "## 2. Hypothesis Slate", "hypothesis-slate"),
        *("2. Hypothesis Slate:", "hypotheses", " Hypotheses ", "# hypothesis"),
    ],
)
def test_a_section_is_named_in_one_way_only(written: str) -> None:
    """What a contribution may call it, a reader may, too."""
    named = section_by_name(written)
    assert named is not None
    assert named.id == "hypothesis_slate"
    here = in_session()
    fine(post(here, ANN, {**ADD, "section": written}))
    published(here.workspace)
    shown = fine(here.ask("brenner_artifact", thread_id=THREAD, section=written))
    assert shown["section"] == named.id


@pytest.mark.parametrize(
    "written", ["", "#", "12", "12.", "²", "conclusions", " " * 5000, "2" * 99]
)
def test_what_names_no_section(written: str) -> None:
    """However long it is."""
    assert section_by_name(written) is None
