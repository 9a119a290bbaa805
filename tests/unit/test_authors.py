"""What a merge remembers of an author."""

from brenner.artifact.merge.engine import merge
from brenner.artifact.state import empty_state
from histories import moment
from sample_messages import THREAD_ID, TWO, Draft, edit, opening


def test_to_say_a_list_in_another_order_is_no_change() -> None:
    """So the first block, sent again, repeats what she still says (R8)."""
    lists = (["§2", "§3"], ["§3", "§2"], ["§2", "§3"])
    blocks = [edit("hypothesis_slate", "H1", anchors=each) for each in lists]
    drafts = (opening("BlueLake", TWO), *(Draft("BlueLake", "v0", (block,)) for block in blocks))
    messages = [draft.posted(number, moment(number)) for number, draft in enumerate(drafts, 1)]
    ledger = merge(empty_state(THREAD_ID), messages).ledger
    assert [entry.state for entry in ledger[-3:]] == ["applied", "applied", "duplicate"]
