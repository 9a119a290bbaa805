"""Edges of rendered artifacts and graphs that other tests pass by."""

from types import MappingProxyType

from brenner.artifact.html import LinkTargets, artifact_html, prose_html, value_html
from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Item, make_fields
from brenner.artifact.text_diff import side_by_side
from brenner.protocol.delta.schema import SECTIONS
from brenner.session.genealogy import ItemInfo, _box_label, mermaid_label
from brenner.session.references import ItemStatus
from unit.test_lint import VALID

TARGETS = LinkTargets("RS-1", MappingProxyType({"H2": "#H2"}), links_in_prose=True)


def test_a_mention_in_prose_is_linked_and_nothing_around_it_is_lost() -> None:
    found = prose_html("Unlike <H2>, as H7 says.", targets=TARGETS)
    assert 'Unlike &lt;<a href="#H2">H2</a>&gt;, as H7 says.' in found


def test_a_flag_says_yes() -> None:
    field = SECTIONS["assumption_ledger"].fields["scale_check"]
    assert value_html(field, True, TARGETS, is_killed=False) == "<p>yes</p>"
    assert value_html(field, True, TARGETS, is_killed=True) == "<p><s>yes</s></p>"


def test_a_prediction_about_no_hypothesis_has_its_column() -> None:
    """A file may name what is not there; the words are shown."""
    row = Item("P9", make_fields({"condition": "Cold", "predictions": {"H77": "It stops"}}), None)
    sections = MappingProxyType({**VALID.sections, "predictions_table": (row,)})
    page = artifact_html(VALID._replace(sections=sections))
    assert "H77" in page
    assert "It stops" in page


def test_letters_of_every_script_stay_in_a_graph() -> None:
    assert mermaid_label("Zürich 7, (細胞)") == "Zürich 7, (細胞)"
    assert mermaid_label('a"b') != 'a"b'


def test_a_box_has_a_line_for_each_thing_known() -> None:
    info = ItemInfo(SessionItem("RS-1", "H1"), ItemStatus.ACTIVE, "Gradient")
    assert _box_label(info) == "H1  Gradient"


def test_similar_lines_stand_side_by_side() -> None:
    """Whatever was put before, between and after them."""
    before = ["one two three", "four five six", "seven eight nine"]
    after = ["zero", "one two tree", "new", "four five sex", "seven eight ten", "last"]
    pairs, _ = side_by_side(before, after)
    found = [tuple(each)[:2] for each in pairs]
    assert [pair for pair in found if None not in pair] == [(0, 1), (1, 3), (2, 4)]
