"""The evidence's page: who agrees, which pairs nothing separates, tests by score."""

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import expect

from brenner.diagnostics.model import RequestError
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta, Operation
from brenner.services.decisions import adopt_thread
from brenner.services.versions import Target, load_version
from brenner.web.rendering import environment
from brenner.web.views import evidence
from brenner.web.views import versions as ledger
from integrations.terminals import eventually
from web.browsing import PHONE, Show, window
from web.browsing import THREAD as DEMO
from web.hostile import BIDI, HOSTILE
from web.mail_scene import ANN, BEA, THREAD, Scene, added

NAMED = {"thread": THREAD}
LONG = "More than twice as many, at each of the three times, in every strain that was tried so far"
SVG = "{http://www.w3.org/2000/svg}"


def test_block(name: str, expected: dict[str, str], **also: object) -> str:
    """An ADD of a test."""
    payload: dict[str, object] = {
        "name": name,
        "procedure": "p",
        "discriminates": "H1 vs H2",
        "expected_outcomes": expected,
        **also,
    }
    return render_delta(Delta(Operation.ADD, "discriminative_tests", None, payload, "why"))


test_block.__test__ = False  # type: ignore[attr-defined]


def prediction(condition: str, outcomes: dict[str, str]) -> str:
    """An ADD of a prediction."""
    payload: dict[str, object] = {"condition": condition, "predictions": outcomes}
    return render_delta(Delta(Operation.ADD, "predictions_table", None, payload, "why"))


def kill(section: str, target: str) -> str:
    """A KILL."""
    payload: dict[str, object] = {"reason": "It predicts nothing"}
    return render_delta(Delta(Operation.KILL, section, target, payload, "why"))


def scene_of(*blocks: str, hypotheses: int = 3) -> Scene:
    """A compiled session with hypotheses, and what these blocks bring."""
    scene = Scene()
    scene.kickoff(ANN)
    slate = [added(f"Name {number}") for number in range(1, hypotheses + 1)]
    scene.delta(ANN, *slate, *blocks)
    scene.compile()
    return scene


def look(scene: Scene, **asked: str) -> tuple[dict[str, Any], str]:
    """The document and the page."""
    document, page = scene.look(evidence.page, NAMED, **asked)
    assert json.loads(json.dumps(document)) == document
    return document, page


def words(page: str) -> str:
    """The text of a page, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page.split("<main")[1]))


def test_cells_that_agree_share_a_letter_and_a_tint() -> None:
    outcomes = {"H1": "It grows.", "H2": "it  grows", "H3": LONG}
    document, page = look(scene_of(test_block("Weigh", outcomes)))
    (column,) = document["columns"]
    assert [cell["letter"] for cell in column["cells"]] == ["a", "a", "b"]
    assert column["groups"] == {"a": ["H1", "H2"], "b": ["H3"]}
    tints = re.findall(r'<td class="expects agrees-(\d)">', page)
    assert tints[0] == tints[1] != tints[2]
    assert page.count('<b class="same">a</b>') == 3  # two cells, and who is told apart
    assert re.search(rf'<span class="said" id="cell-T1-H3" tabindex="0">{LONG}</span>', page)


def test_the_pairs_that_nothing_separates_are_said_in_a_sentence() -> None:
    same = {"H1": "grows", "H2": "Grows", "H3": "fades"}
    scene = scene_of(test_block("Weigh", same), prediction("Cold", {"H1": "x", "H2": "y"}))
    document, page = look(scene)
    by_prediction, by_test = document["unseparated"]
    assert by_test["pairs"] == [["H1", "H2"]]
    assert by_prediction["pairs"] == [["H1", "H3"], ["H2", "H3"]]
    assert "No test separates H1 from H2." in words(page)
    assert "No prediction separates H3 from H1 or H2." in words(page)
    assert "T1 claims to discriminate “H1 vs H2”, but expects the same outcome" in words(page)


def test_the_test_that_tells_most_comes_first() -> None:
    """By bits, not by score; with what it tells apart in words; what has a verdict comes last."""
    keys = {"a": "Alpha", "b": "Beta", "c": "Gamma"}
    all_apart = {"H1": "a", "H2": "b", "H3": "c"}
    result = {"outcome": "a", "potency": "passed"}
    scene = scene_of(
        test_block("Two groups", {"H1": "x", "H2": "y", "H3": "y"}, score={"likelihood_ratio": 3}),
        test_block("All apart", all_apart, outcomes=keys, score={"cost": 2, "speed": 3}),
        test_block("Done", all_apart, outcomes=keys, results=[result]),
    )
    document, page = look(scene)
    ranked = document["next_tests"]
    assert [each["id"] for each in ranked["tests"]] == ["T2", "T1", "T3"]
    assert [each["bits"] and round(each["bits"], 3) for each in ranked["tests"]] == [
        *(1.585, 0.918, None)
    ]
    chosen = {"tests": ["T2"], "basis": "declared", "is_exact": True}
    assert ranked["separating_set"] == chosen
    said = words(page)
    assert "T2 All apart 1.585 0.528 3.17 H1, H2 and H3 from each other declared outcomes" in said
    assert "T1 Two groups 0.918 – – H1 from H2 and H3 wording" in said
    assert "T3 Done has a result" in said
    assert "that a test tells apart, by declared outcomes: T2." in said


def test_when_all_are_separated_that_is_said() -> None:
    expected, declared = {"H1": "a", "H2": "b", "H3": "c"}, {"a": "One", "b": "Two", "c": "Three"}
    document, page = look(scene_of(test_block("Weigh", expected, outcomes=declared)))
    assert document["unkept"] == []
    assert [cell["declared"] for cell in document["columns"][0]["cells"]] == [True] * 3
    assert "Every two active hypotheses are separated by at least one test." in words(page)
    assert "No prediction yet" in words(page)
    assert "words differently" not in words(page)


def test_texts_that_differ_are_only_worded_differently() -> None:
    """Nothing calls them separated, but the pairs of before stay what they were (R27)."""
    expected = {"H1": "a", "H2": "b", "H3": "indeterminate"}
    worded = {"H1": "grows", "H2": "fades", "H3": "fades"}
    keys = test_block("Weigh", expected, outcomes={"a": "One", "b": "Two"})
    document, page = look(scene_of(keys, test_block("Count", worded)))
    by_test = document["unseparated"][1]
    assert (by_test["pairs"], by_test["worded_differently"]) == ([["H2", "H3"]], [["H1", "H3"]])
    said = "No test separates by declared outcomes, but one words differently H1 from H3."
    assert said in words(page)
    assert words(page).count("worded differently") == 2  # what the letters mean, and one column


def test_what_is_killed_is_struck_and_separates_nothing() -> None:
    scene = scene_of(test_block("Weigh", {"H1": "1", "H2": "2", "H3": "3"}))
    scene.delta(ANN, kill("discriminative_tests", "T1"), kill("hypothesis_slate", "H3"))
    scene.compile()
    document, page = look(scene)
    assert "No test yet, so no two hypotheses are separated by one." in words(page)
    assert "<s>Name 3</s>" in page
    assert "<s>Weigh</s>" in page
    assert "killed: It predicts nothing" in words(page)
    assert document["hypotheses"][2]["killed"]["agent"] == ANN
    before, _ = look(scene, version="1")
    assert before["version"] == 1
    assert before["unseparated"][1]["pairs"] == []


FOREIGN = "# Compiled\n\n## Full Artifact\n\n~~~~markdown\n{}~~~~\n"


def adopted() -> Scene:
    """Another program has compiled what ours would have refused."""
    scene = scene_of(test_block("Weigh", {"H1": "1", "H2": "2", "H3": "surprise"}))
    scene.delta(ANN, added("Only read elsewhere"))
    theirs = load_version(scene.workspace, Target(THREAD)).text
    theirs = theirs.replace("version: 1", "version: 2").replace("- H3: surprise", "- H9: surprise")
    scene.send(BEA, "COMPILED: v2 theirs", FOREIGN.format(theirs))
    adopt_thread(scene.workspace, THREAD)
    return scene


def test_an_outcome_for_nobody_is_not_lost() -> None:
    document, page = look(adopted())
    assert document["strangers"] == [{"id": "T1", "hypothesis": "H9", "outcome": "surprise"}]
    assert "H9, which is not a hypothesis of this version: “surprise”" in words(page)


def test_blocks_that_an_adopted_version_counts_as_read_are_told() -> None:
    document, page = adopted().look(ledger.ledger_page, NAMED)
    (number,) = document["taken_as_read"]
    assert f"Blocks of message {number} are not listed" in words(page)


def test_many_columns_have_pages() -> None:
    """Each is on one of them."""
    scene = scene_of(*(prediction(f"Cold {number}", {"H1": "x"}) for number in range(45)))
    found = []
    for number in (1, 2, 3):
        document, page = look(scene, page=str(number))
        found += [column["id"] for column in document["columns"]]
        assert "of 45 predictions and tests" in page
    assert found == [f"P{number}" for number in range(1, 46)]


def test_before_the_first_version_and_of_one_that_is_not_there() -> None:
    scene = Scene()
    scene.kickoff(ANN)
    document, page = look(scene)
    assert document["version"] is None
    assert f"brenner new DELTA --thread {THREAD}" in page
    scene.delta(ANN, added("Memory"))
    assert f"brenner compile {THREAD}" in look(scene)[1]
    with pytest.raises(RequestError):
        look(scene_of(), version="7")


def test_tests_are_charted_by_score() -> None:
    score = {"likelihood_ratio": 1, "cost": 0}
    best = {"likelihood_ratio": 3, "cost": 3, "speed": 3, "ambiguity": 3}
    outcomes = {"H1": "1", "H2": "2"}
    blocks = [test_block("Weak", outcomes, score=score), test_block("Best", outcomes, score=best)]
    document, page = look(scene_of(*blocks))
    assert [(each["id"], each["total"]) for each in document["tests"]] == [("T2", 12), ("T1", 1)]
    assert document["tests"][1]["score"]["speed"] is None
    assert "T1, 1 of 12: likelihood ratio 1, cost 0, speed not given" in page
    assert 'role="group"' in page
    assert f'<a href="/sessions/{THREAD}/items/T2"><text class="name"' in page


# Charts


CHARTS: Any = environment().get_template("macros/charts.html").module


def score_chart(*tests: tuple[str, str, int | None, int | None]) -> str:
    """Tests with an ID, a name and two parts of a score."""
    documents = [
        {"id": name, "name": text, "killed": False, "score": {"likelihood_ratio": one, "cost": two}}
        for name, text, one, two in tests
    ]
    return str(CHARTS.scores(documents, "RS-1", 6))


def test_whatever_is_in_a_name_a_chart_is_well_formed() -> None:
    """It is XML, in which the name is only text; nothing in it is a style or a script."""
    rounds = [{"round": 1, "applied": 0, "refused": 1}, {"round": 2, "applied": 4, "refused": 0}]
    for text in HOSTILE:
        bars = score_chart((text, text, 3, None), ("T2", "x" * 500, 0, 0))
        courses = str(CHARTS.courses([{"name": text, "rounds": rounds}], [1, 2]))
        for svg, role in ((bars, "group"), (courses, "img")):
            assert not set(BIDI) & set(svg)
            named = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
            root = ET.fromstring(named)  # noqa: S314  we have written it
            assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
                *("svg", "title", "desc", "g", "text", "tspan", "rect", "path", "a"),
            }
            names = {name for each in root.iter() for name in each.attrib}
            assert not {name for name in names if name.startswith("on") or name == "style"}
            for link in root.iter(f"{SVG}a"):  # whatever is in a name, it is one address
                assert link.attrib.keys() == {"href"}
                assert link.attrib["href"].startswith("/sessions/RS-1/items/")
            assert root.attrib["role"] == role  # who does not see it can follow its links


def test_bars_are_as_long_as_their_parts() -> None:
    svg = score_chart(("T1", "x", 3, 1), ("T2", "y", None, 2), ("T3", "z", None, None))
    widths = [float(each) for each in re.findall(r'class="part part-\d" .*?width="([\d.]+)"', svg)]
    assert widths == [150, 50, 100]
    assert [*re.findall(r'class="figure on-\d".*?>(\w+)<', svg)] == ["L3", "C1", "C2"]
    assert re.findall(r'class="total".*?>([\w/]+)<', svg) == ["4/6", "2/6", "none"]
    assert "T2, 2 of 6: likelihood ratio not given, cost 2; T3: no score" in svg


def test_only_the_best_are_drawn() -> None:
    outcomes = {"H1": "1", "H2": "2"}
    blocks = [test_block(f"Test {n}", outcomes, score={"cost": 1}) for n in range(14)]
    assert look(scene_of(*blocks))[1].count('class="total"') == 12


# In a browser


def test_a_cell_is_whole_on_focus_and_the_matrix_scrolls_by_itself(
    browser: Any, site: Show
) -> None:
    with window(browser, site.base, PHONE) as opened:
        page = opened.open(f"/sessions/{DEMO}/evidence")
        said = page.locator(".matrix .said[tabindex]").first
        cut = _height(said)
        said.focus()
        eventually(lambda: _height(said) > cut + 1)
        frame = page.locator(".matrix-frame")
        frame.focus()
        page.keyboard.press("ArrowRight")
        eventually(lambda: frame.evaluate("each => each.scrollLeft") > 1)
        eventually(lambda: abs(frame.evaluate(_FROM_EDGE)) < 2)  # it stays
        page.locator("#score-figures summary").press("Enter")
        expect(page.get_by_role("cell", name="9/12")).to_be_visible()


# Both are measured at once, for the keys may still be scrolling the frame.
_FROM_EDGE = """frame => frame.querySelector("tbody th").getBoundingClientRect().x
    - frame.getBoundingClientRect().x"""


def _height(said: Any) -> float:
    return float(said.evaluate("each => each.getBoundingClientRect().height"))


def test_what_separates_comes_first_and_the_rest_says_so() -> None:
    """Active hypotheses before killed ones; a column that separates nothing is dimmed."""
    scene = scene_of(
        prediction("Nothing differs", {"H1": "same", "H2": "same", "H3": "same"}),
        prediction("Words differ", {"H1": "up", "H2": "down"}),
        test_block("Declared", {"H1": "up", "H3": "down"}, outcomes={"up": "Up", "down": "Down"}),
        test_block("Only a killed one differs", {"H1": "same", "H2": "other", "H3": "same"}),
    )
    scene.delta(ANN, kill("hypothesis_slate", "H2"))
    scene.compile()
    document, page = scene.look(evidence.page, NAMED)
    assert [each["id"] for each in document["hypotheses"]] == ["H1", "H3", "H2"]
    found = [(each["name"], each["separates"]) for each in document["columns"]]
    assert found[0] == ("Declared", "declared")
    assert {each for each, how in found if how == "nothing"} == {
        "Nothing differs",
        "Words differ",
        "Only a killed one differs",
    }
    cells = [each["outcome"] for each in document["columns"][0]["cells"]]
    assert cells[:2] == ["up", "down"]
    assert "<strong>separated</strong>" in page
    assert page.count('<td class="idle">separates no active hypotheses') == 3
    assert page.count('class="prediction idle"') == 2
