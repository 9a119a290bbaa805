"""Refused blocks: open until their author corrects them, or the operator dismisses them."""

import json

import pytest

from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.messages import StoredMessage
from brenner.session.decisions import DISMISSAL_FENCE
from brenner.session.status import compute_status
from brenner.session.versions import VersionHistory, decode_history, encode_history
from sample_messages import ADD, EDIT, THREAD_ID, kill, row
from status_sessions import ANN, BEA, Sitting, add, edit
from version_threads import OPERATOR

BAD_EDIT = edit("H9", "x")


@pytest.fixture
def sitting() -> Sitting:
    """A session with H1, of Ann."""
    sitting = Sitting()
    sitting.kickoff(ANN, BEA)
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    return sitting


def blank(name: str) -> str:
    """An ADD that is refused: its claim is missing."""
    return add(name, claim=" ")


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize(
    ("refused", "corrected"),
    [
        (edit("H1", " "), edit("H1", "y")),
        (kill("hypothesis_slate", "H3"), kill("hypothesis_slate", "H3")),
        (blank("Time"), add("Time")),
        (blank("Time"), add(" time  ")),
        (row({"H9": "grows"}), row({"H1": "grows"})),
        (add("Time").replace("ADD", "add"), add("Time")),
        (add("Time").replace("hypothesis_slate", "hypotheses"), add("Time")),
        (add("Time").replace('"why"\n}', '"why",\n}'), add("Time")),
    ],
    ids=["edit", "kill", "add", "name", "condition", "case", "alias", "comma"],
)
def test_a_later_block_of_the_same_kind_corrects(
    sitting: Sitting, refused: str, corrected: str, *, is_compiled: bool
) -> None:
    """The same operation on the same item; whether or not a version has read the first."""
    number = sitting.delta(ANN, refused, add("Chance")).id
    if is_compiled:
        sitting.compile()
    assert sitting.refused() == [(number, 1)]
    (found,) = sitting.status().refusals
    assert (found.version, found.agent) == (2 if is_compiled else None, ANN)
    sitting.delta(BEA, add("Luck"))  # H3, to be killed
    sitting.delta(ANN, corrected)
    assert sitting.refused() == []
    sitting.compile()
    assert sitting.refused() == []


@pytest.mark.parametrize(
    ("sender", "block"),
    [
        (BEA, add("Time")),
        (ANN, add("Luck")),
        (ANN, edit("H1", "Time")),
        (ANN, row({"H1": "Time"})),
        (ANN, blank("Time")),
    ],
    ids=["of somebody else", "of another name", "an edit", "a section", "refused"],
)
def test_nothing_else_corrects(sitting: Sitting, sender: str, block: str) -> None:
    """What is not surely the same contribution leaves the refused one open."""
    number = sitting.delta(ANN, blank("Time")).id
    sitting.delta(sender, block)
    assert (number, 1) in sitting.refused()
    sitting.compile()
    assert (number, 1) in sitting.refused()


def test_two_blocks_of_one_message_do_not_correct_each_other(sitting: Sitting) -> None:
    """She wrote both at once: the second is not what she made of the first."""
    number = sitting.delta(ANN, edit("H1", " "), edit("H1", "y")).id
    assert sitting.refused() == [(number, 1)]
    sitting.again(sitting.mailbox.message(number))
    assert sitting.refused() == [(number, 1), (number + 1, 1)]


def test_an_add_without_a_name_is_only_dismissed(sitting: Sitting) -> None:
    """Nobody can tell which later block it was to be."""
    stored = sitting.delta(ANN, add(" "))
    sitting.delta(ANN, add("Time"))
    assert sitting.refused() == [(stored.id, 1)]
    (found,) = sitting.status().refusals
    assert (found.operation, found.section, found.name) == ("ADD", "hypothesis_slate", " ")
    sitting.dismiss(stored, 1)
    assert sitting.refused() == []


def test_a_target_is_that_item_whatever_its_author_called_it(sitting: Sitting) -> None:
    """She counted P1, and it became P2; later she calls it as the version does."""
    sitting.delta(BEA, row({"H1": "grows"}))
    number = sitting.delta(ANN, row({"H1": "fades"}), cell("P1", "H99"), base="v1").id
    (found,) = sitting.status().refusals
    assert (found.message_id, found.block, found.target_id) == (number, 2, "P2")
    sitting.compile()
    sitting.delta(ANN, cell("P1", "H1"))  # Bea's
    assert sitting.refused() == [(number, 2)]
    sitting.delta(ANN, cell("P2", "H1"))
    assert sitting.refused() == []


def test_she_may_go_on_calling_it_as_she_did(sitting: Sitting) -> None:
    """With the same base the same ID is the same item."""
    sitting.delta(BEA, row({"H1": "grows"}))
    sitting.delta(ANN, row({"H1": "fades"}), cell("P1", "H99"), base="v1")
    sitting.delta(ANN, cell("P1", "H1"), base="v1")
    assert sitting.refused() == []


def test_the_same_number_is_not_the_same_item(sitting: Sitting) -> None:
    """By H2 she meant Bea's; then she adds one herself, and counts it as H2 too: it is H3."""
    sitting.delta(BEA, add("Luck"))
    number = sitting.delta(ANN, edit("H2", " ")).id
    sitting.delta(ANN, add("Time"), edit("H2", "Mine"), base="v1")
    assert sitting.refused() == [(number, 1)]
    sitting.compile()
    assert sitting.refused() == [(number, 1)]
    sitting.delta(ANN, edit("H2", "Luck decides"))
    assert sitting.refused() == []


def test_what_was_counted_otherwise_is_no_answer_to_what_was_written(sitting: Sitting) -> None:
    """Her H2 is H3; the H3 that she wrote before that was none of hers."""
    number = sitting.delta(ANN, edit("H3", " ")).id
    sitting.delta(BEA, add("Luck"))
    sitting.delta(ANN, add("Time"), edit("H2", "Mine"), base="v1")
    assert sitting.refused() == [(number, 1)]


def test_what_depended_on_a_refused_block_is_corrected_with_it(sitting: Sitting) -> None:
    """Its target never was an item: it is compared as it was written."""
    number = sitting.delta(ANN, blank("Time"), edit("H2", "t"), base="v1").id
    assert sitting.refused() == [(number, 1), (number, 2)]
    sitting.delta(ANN, add("Time"), edit("H2", "t"), base="v1")
    assert sitting.refused() == []


def cell(target: str, hypothesis: str) -> str:
    """An EDIT of one cell of the predictions table."""
    payload: dict[str, object] = {"predictions": {hypothesis: f"{target} says so"}}
    return render_delta(Delta(EDIT, "predictions_table", target, payload, "why"))


def test_either_reading_of_an_ambiguous_target_corrects_it() -> None:
    """The refusal offers two ready blocks: what she meant by H2 only she knows."""
    for which in (0, 1):
        sitting = Sitting()
        sitting.kickoff(ANN, BEA)
        sitting.delta(ANN, add("Place"))
        sitting.compile()
        sitting.delta(BEA, add("Luck"))
        number = sitting.delta(ANN, add("Time"), edit("H2", "Which?")).id
        sitting.compile()
        (found,) = sitting.status().refusals
        assert (found.message_id, found.block) == (number, 2)
        sitting.delta(ANN, found.diagnostics[0].readings[which])
        assert sitting.refused() == []


# Dismissing


def test_only_an_operator_dismisses(sitting: Sitting) -> None:
    """And only by a block of an INFO message that is not quoted."""
    stored = sitting.delta(ANN, BAD_EDIT, BAD_EDIT)
    sitting.dismiss(stored, 1, sender=ANN)
    said = sitting.dismiss(stored, 2)
    assert sitting.refused() == [(stored.id, 1)]
    fence = said.message.body[said.message.body.index("```") :]
    one = fence.replace('"block":2', '"block":1')
    quoted = "\n".join(f"> {line}" for line in one.splitlines())
    sitting.send(OPERATOR, "INFO: x", quoted)
    sitting.send(OPERATOR, "CLAIM: x", one)
    for wrong in ("{", "[]", '{"block":1}', '{"block":true,"content_hash":"' + "0" * 64 + '"}'):
        sitting.send(OPERATOR, "INFO: x", f"```{DISMISSAL_FENCE}\n{wrong}\n```\n")
    assert sitting.refused() == [(stored.id, 1)]
    sitting.send(OPERATOR, "INFO: x", one)
    assert sitting.refused() == []


def test_a_dismissal_is_about_what_stands_before_it(sitting: Sitting) -> None:
    """Sent again, it is a new attempt; the earlier copies stay dismissed."""
    stored = sitting.delta(ANN, BAD_EDIT)
    copy = sitting.again(stored)
    sitting.dismiss(stored, 1)
    assert sitting.refused() == []
    again = sitting.again(stored)
    assert sitting.refused() == [(again.id, 1)]
    assert copy.id < again.id


def test_what_is_refused_later_stays_dismissed(sitting: Sitting) -> None:
    """It was dismissed before any version had read it."""
    stored = sitting.delta(ANN, BAD_EDIT, add("Time"))
    sitting.dismiss(stored, 1)
    sitting.compile()
    assert sitting.refused() == []


# What is kept of a chain


def test_refusals_survive_being_kept(sitting: Sitting) -> None:
    """With their diagnostics, repaired blocks and all."""
    spoiled = add("Time").replace('"why"\n}', '"why",\n}')
    sitting.delta(ANN, BAD_EDIT, spoiled, "```delta\n{\n```\n", add("Chance"))
    sitting.compile()
    history, messages = sitting.history(), sitting.messages()
    assert len(history.refused) == 3
    known = {each.id: each for each in messages}
    kept = decode_history(encode_history(history), THREAD_ID, known.__getitem__)
    assert kept == history
    assert _status(kept, messages) == _status(history, messages)


def _status(history: VersionHistory, messages: list[StoredMessage]) -> object:
    return compute_status(history, messages, OPERATOR)


def test_the_ledger_says_what_an_add_calls_its_item(sitting: Sitting) -> None:
    """Also where the block was refused, as far as it could be read."""
    nameless = render_delta(Delta(ADD, "predictions_table", None, {"condition": "warm"}, "why"))
    sitting.delta(ANN, nameless, BAD_EDIT, blank("Time"))
    names = [each.name for each in sitting.status().refusals]
    assert names == ["warm", None, "Time"]


def test_an_add_that_refers_to_the_killed_item_corrects_an_edit_of_it(sitting: Sitting) -> None:
    """The fix of TARGET_KILLED, done as it says: a reference to the item, in its section or not."""
    sitting.delta(BEA, kill("hypothesis_slate", "H1"))
    number = sitting.delta(ANN, edit("H1", "Mine")).id
    sitting.compile()
    assert sitting.refused() == [(number, 1)]
    (found,) = sitting.status().refusals[0].diagnostics
    form = f'"references": [{{"session": "{THREAD_ID}", "item": "H1", "relation": "refines"}}]'
    assert f"`{form}`. It counts as the correction" in found.fix
    assert "Do not send this EDIT again." in found.fix
    sitting.delta(BEA, add("Other", **json.loads(f"{{{form}}}")))  # another agent's
    sitting.delta(ANN, add("Unrelated"))
    assert sitting.refused() == [(number, 1)]
    sitting.delta(ANN, add("Time", **json.loads(f"{{{form}}}")))
    assert sitting.refused() == []
    sitting.compile()
    assert sitting.refused() == []


def test_a_row_about_a_killed_hypothesis_is_sent_without_it(sitting: Sitting) -> None:
    """A cell is not an EDIT of the killed item: the row is corrected, not replaced by an ADD."""
    sitting.delta(BEA, kill("hypothesis_slate", "H1"))
    number = sitting.delta(ANN, row({"H1": "grows"})).id
    (found,) = sitting.status().refusals[0].diagnostics
    assert "Send this block again without the killed item." in found.fix
    assert "counts as the correction" not in found.fix
    reference = {"session": THREAD_ID, "item": "H1", "relation": "refines"}
    sitting.delta(ANN, add("Time", references=[reference]))
    assert sitting.refused() == [(number, 1)]
